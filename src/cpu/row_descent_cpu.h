/* Row descent on a CPU: the rule of backend/row_descent.h. */
#ifndef AMPED_ROW_DESCENT_CPU_H
#define AMPED_ROW_DESCENT_CPU_H

#include "backend/row_descent.h"

/* row, of n numbers, is the old row, scaled already, and becomes the new one. w is the row of
 * MTTKRP, and becomes w - a V. No memory is allocated. */
void amped_row_descent_cpu(int n, const amped_row_descent *d, double *w, double *row);

#endif
