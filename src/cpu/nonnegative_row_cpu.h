/* Nonnegative row on a CPU: the rule of backend/nonnegative_row.h. */
#ifndef AMPED_NONNEGATIVE_ROW_CPU_H
#define AMPED_NONNEGATIVE_ROW_CPU_H

/* row, of n numbers, is the old row and becomes the new one. v is n x n, symmetric; w is the row of
 * MTTKRP. No memory is allocated. */
void amped_nonnegative_row_cpu(int n, const double *v, const double *w, double *row);

#endif
