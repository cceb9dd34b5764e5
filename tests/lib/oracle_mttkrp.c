#include "tests/lib/oracle_mttkrp.h"

#include <math.h>
#include <string.h>

void amped_mttkrp(const amped_sptensor *t, int mode, const double *const *factors, int ncomps,
                  double *out, double *bound, uint64_t *count) {
  uint64_t columns = (uint64_t)ncomps;
  memset(out, 0, t->dims[mode] * columns * sizeof *out);
  if (bound != NULL)
    memset(bound, 0, t->dims[mode] * columns * sizeof *bound);
  if (count != NULL)
    memset(count, 0, t->dims[mode] * sizeof *count);
  for (uint64_t k = 0; k < t->nnz; k++) {
    uint64_t row = t->indices[mode][k];
    if (count != NULL)
      count[row]++;
    for (uint64_t r = 0; r < columns; r++) {
      double term = t->values[k];
      for (int m = 0; m < t->order; m++)
        if (m != mode)
          term *= factors[m][t->indices[m][k] * columns + r];
      out[row * columns + r] += term;
      if (bound != NULL)
        bound[row * columns + r] += fabs(term);
    }
  }
}
