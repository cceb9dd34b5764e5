#include "tensor/signs.h"

#include <math.h>
#include <string.h>

#include "base/heartbeat.h"

/* Rows between two signs of life. */
#define ROWS_A_STEP (UINT64_C(1) << 16)

/* Set negated[r] where the leading entry of column r is negative. */
static void find_negative(const amped_ktensor *k, int mode, bool *negated) {
  const uint64_t n = (uint64_t)k->ncomps;
  double most[AMPED_MAX_NCOMPS] = {0.0};
  for (uint64_t i = 0; i < k->dims[mode]; i++) {
    const double *row = k->factors[mode] + i * n;
    for (uint64_t r = 0; r < n; r++)
      if (fabs(row[r]) > most[r]) {
        most[r] = fabs(row[r]);
        negated[r] = row[r] < 0.0;
      }
    if (i % ROWS_A_STEP == 0)
      amped_heartbeat_step();
  }
}

void amped_signs_find(const amped_ktensor *k, amped_signs *out) {
  int longest = 0;
  memset(out, 0, sizeof *out);
  for (int m = 0; m < k->order; m++) {
    find_negative(k, m, out->negated[m]);
    longest = k->dims[m] > k->dims[longest] ? m : longest;
  }
  for (int r = 0; r < k->ncomps; r++) {
    bool odd = false;
    for (int m = 0; m < k->order; m++)
      odd = odd != out->negated[m][r];
    if (odd)
      out->negated[longest][r] = !out->negated[longest][r];
  }
}
