#include "cpu/nonnegative_row_cpu.h"

#include <stddef.h>

#include "backend/nonnegative_row.h"

static double dot(int n, const double *a, const double *b) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (int k = 0; k < n; k++)
    sum += a[k] * b[k];
  return sum;
}

/* The square of the change. */
static double pass(int n, const double *v, const double *w, double *row) {
  double change = 0.0;
  for (int r = 0; r < n; r++) {
    const double *column = v + (size_t)r * (size_t)n;
    double x = 0.0;
    if (column[r] > 0.0)
      x = row[r] + (w[r] - dot(n, row, column)) / column[r];
    x = x > 0.0 ? x : 0.0;
    change += (x - row[r]) * (x - row[r]);
    row[r] = x;
  }
  return change;
}

void amped_nonnegative_row_cpu(int n, const double *v, const double *w, double *row) {
  const double share = AMPED_NONNEGATIVE_SHARE * AMPED_NONNEGATIVE_SHARE;
  const double enough = share * pass(n, v, w, row);
  for (int i = 1; i < AMPED_NONNEGATIVE_PASSES; i++)
    if (!(pass(n, v, w, row) > enough))
      break;
}
