/* Signs: the search for leading entries of columns. */
#include "tensor/signs.h"

#include <math.h>
#include <string.h>

#include "base/heartbeat.h"

/* ROWS_A_STEP: rows per heartbeat step. ROWS_A_THREAD: rows that a thread searches at a time. */
#define ROWS_A_STEP (UINT64_C(1) << 18)
#define ROWS_A_THREAD (UINT64_C(1) << 12)

/* State of the search after some rows: the largest magnitude of each column, and the sign of its
 * first entry of this magnitude. */
typedef struct leading {
  double most[AMPED_MAX_NCOMPS];
  bool negative[AMPED_MAX_NCOMPS];
} leading;

static void look_at_rows(const double *rows, uint64_t count, uint64_t n, leading *out) {
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t r = 0; r < n; r++) {
      const double x = rows[i * n + r];
      if (fabs(x) > out->most[r]) {
        out->most[r] = fabs(x);
        out->negative[r] = x < 0.0;
      }
    }
}

/* Merges next, whose rows follow all's, into all. */
static void append(leading *all, const leading *next, uint64_t n) {
  for (uint64_t r = 0; r < n; r++)
    if (next->most[r] > all->most[r]) {
      all->most[r] = next->most[r];
      all->negative[r] = next->negative[r];
    }
}

/* Searches equal parts of the rows in parallel; results are merged in the rows' order. */
static void look_by_threads(const double *rows, uint64_t count, uint64_t n, leading *all) {
#pragma omp parallel for ordered schedule(static, 1) if (count > ROWS_A_THREAD)
  for (uint64_t first = 0; first < count; first += ROWS_A_THREAD) {
    leading own = {.most = {0.0}};
    look_at_rows(rows + first * n, count - first < ROWS_A_THREAD ? count - first : ROWS_A_THREAD, n,
                 &own);
#pragma omp ordered
    append(all, &own, n);
  }
}

/* Sets negated[r] if the leading entry of column r is negative. */
static void find_negative(const amped_ktensor *k, int mode, bool *negated) {
  const uint64_t n = (uint64_t)k->ncomps;
  leading all = {.most = {0.0}};
  for (uint64_t i = 0; i < k->dims[mode]; i += ROWS_A_STEP) {
    const uint64_t left = k->dims[mode] - i;
    look_by_threads(k->factors[mode] + i * n, left < ROWS_A_STEP ? left : ROWS_A_STEP, n, &all);
    amped_heartbeat_step();
  }
  for (uint64_t r = 0; r < n; r++)
    negated[r] = all.negative[r];
}

void amped_signs_find_but(const amped_ktensor *k, const bool *kept, amped_signs *out) {
  int longest = -1;
  memset(out, 0, sizeof *out);
  for (int m = 0; m < k->order; m++) {
    if (kept[m])
      continue;
    find_negative(k, m, out->negated[m]);
    longest = longest < 0 || k->dims[m] > k->dims[longest] ? m : longest;
  }
  for (int r = 0; r < k->ncomps && longest >= 0; r++) {
    bool odd = false;
    for (int m = 0; m < k->order; m++)
      odd = odd != out->negated[m][r];
    if (odd)
      out->negated[longest][r] = !out->negated[longest][r];
  }
}

void amped_signs_find(const amped_ktensor *k, amped_signs *out) {
  static const bool none[AMPED_MAX_ORDER] = {false};
  amped_signs_find_but(k, none, out);
}
