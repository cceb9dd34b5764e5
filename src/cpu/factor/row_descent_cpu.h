/* Row descent on a CPU: the rule of backend/row_descent.h. */
#ifndef AMPED_ROW_DESCENT_CPU_H
#define AMPED_ROW_DESCENT_CPU_H

#include "backend/row_descent.h"

/* Update a row of n numbers in place; on entry it is the old row, already scaled. w is the row of
 * the MTTKRP result, and becomes w - row V. Allocates no memory. */
void amped_row_descent_cpu(int n, const amped_row_descent *d, double *w, double *row);

#endif
