/* Row descent on a CPU: one row by coordinate descent (rule: backend/row_descent.h). */
#include "cpu/factor/row_descent_cpu.h"

#include <math.h>
#include <stddef.h>

/* w -= by * v, for n numbers. */
static void subtract(int n, double by, const double *restrict v, double *restrict w) {
#pragma omp simd
  for (int k = 0; k < n; k++)
    w[k] -= by * v[k];
}

static double shrunk(const amped_row_descent *d, double x, double t) {
  if (d->nonnegative)
    return x > t ? x - t : 0.0;
  return x > t ? x - t : x < -t ? x + t : 0.0;
}

/* One pass over all coordinates. Returns the squared norm of the change. */
static double pass(int n, const amped_row_descent *d, double *w, double *row) {
  double change = 0.0;
  for (int r = 0; r < n; r++) {
    const double *column = d->v + (size_t)r * (size_t)n;
    const double v = column[r];
    const double x = v > 0.0 ? shrunk(d, row[r] + w[r] / v, d->shrink[r] / v) : 0.0;
    const double by = x - row[r];
    if (by == 0.0)
      continue;
    subtract(n, by, column, w);
    change += by * by;
    row[r] = x;
  }
  return change;
}

void amped_row_descent_cpu(int n, const amped_row_descent *d, double *w, double *row) {
  const double share = AMPED_DESCENT_SHARE * AMPED_DESCENT_SHARE;
  for (int r = 0; r < n; r++)
    if (row[r] != 0.0)
      subtract(n, row[r], d->v + (size_t)r * (size_t)n, w);
  const double enough = share * pass(n, d, w, row);
  for (int i = 1; i < AMPED_DESCENT_PASSES; i++)
    if (!(pass(n, d, w, row) > enough))
      break;
}
