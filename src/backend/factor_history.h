/* Previous factors of a solver, in the backend's memory: whole, as in a factor set. A part of a
 * backend, with its own table of operations.
 *
 * A solver's step from one model to the next combines the previous and the current factors column
 * by column: linearly, or in the logarithm. Every rank has all rows of both, so no communication is
 * needed. Products and sums are in double, and rounded once to the factors' type.
 *
 * The CPU and GPU versions (src/cpu/factor/factor_history_cpu.c,
 * cuda/factor/factor_history_cuda.cu) share this contract and one test,
 * tests/unit/backend/check_factor_history.c. Not collective. */
#ifndef AMPED_FACTOR_HISTORY_H
#define AMPED_FACTOR_HISTORY_H

#include <math.h>

#include "plan/plan.h"

typedef struct amped_factor_history amped_factor_history;

struct amped_device;
struct amped_factor_set;

/* Returns x (ratio x / before)^by, within the bounds of `power` below. */
AMPED_BOTH static inline double amped_powered(double x, double before, double ratio, double by) {
  if (!(x > 0.0 && before > 0.0))
    return x;
  const double growth = ratio * x / before;
  return x * pow(growth < 0x1p-30 ? 0x1p-30 : growth > 0x1p30 ? 0x1p30 : growth, by);
}

typedef struct amped_factor_history_ops {
  /* Adds the bytes that create takes. */
  void (*require)(const struct amped_device *device, const amped_plan *plan, uint64_t *device_bytes,
                  uint64_t *host_bytes);
  /* Make previous factors of zeros. Device, factors and plan outlive them; the number of components
   * stays. destroy accepts NULL. */
  amped_status (*create)(struct amped_device *device, struct amped_factor_set *factors,
                         const amped_plan *plan, amped_factor_history **out);
  void (*destroy)(amped_factor_history *history);

  /* For all rows of mode: column c of the factor = now[c] * current + then[c] * previous column c;
   * the old current factor becomes the previous factor. A term with coefficient 0 is left out. So
   * (1, 0) saves the factor, and (0, 1) swaps the two, to the bit. nonnegative: negative results
   * become 0. now and then: [ncomps], host memory. */
  amped_status (*step)(amped_factor_history *history, int mode, const double *now,
                       const double *then, bool nonnegative);

  /* For all rows of mode: with x = the current and b = the previous entry of column c, the factor's
   * entry becomes x (ratio[c] x / b)^by, where ratio[c] x / b counts as at most 2^30 and at least
   * 2^-30. It stays x if x or b is 0. The old current factor becomes the previous factor. ratio:
   * [ncomps], host memory. */
  amped_status (*power)(amped_factor_history *history, int mode, const double *ratio, double by);

  /* squares[c] += sum over own rows of mode of (now[c] * current - then[c] * previous)^2 in column
   * c. The order of additions depends on sizes and threads only. */
  amped_status (*distance)(amped_factor_history *history, int mode, const double *now,
                           const double *then, double *squares);
} amped_factor_history_ops;

#endif
