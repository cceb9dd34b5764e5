/* Factor past: the factors as they were before those in hand, in the backend's memory: whole, as a
 * factor set has them. A part of a backend, with its own table of operations.
 *
 * Steps of a solver from one model to the next are sums of the two, column by column. As every rank
 * has all rows of both, no row travels. Products and sums are in double, and rounded once to the
 * factors' type.
 *
 * The twins (src/cpu/factor_past_cpu.c, cuda/factor/factor_past_cuda.cu) share this contract and
 * one test, tests/unit/backend/check_factor_past.c. Not collective. */
#ifndef AMPED_FACTOR_PAST_H
#define AMPED_FACTOR_PAST_H

#include "plan/plan.h"

typedef struct amped_factor_past amped_factor_past;

struct amped_device;
struct amped_factor_set;

typedef struct amped_factor_past_ops {
  /* Adds the bytes that create takes. */
  void (*require)(const amped_plan *plan, uint64_t *device_bytes, uint64_t *host_bytes);
  /* The past is zero. Device, factors and plan outlive it; the number of components stays. destroy
   * takes NULL, too. */
  amped_status (*create)(struct amped_device *device, struct amped_factor_set *factors,
                         const amped_plan *plan, amped_factor_past **out);
  void (*destroy)(amped_factor_past *past);

  /* Of all rows of mode: column c of the factor becomes now[c] times itself plus then[c] times that
   * of the past, and the past becomes the factor as it was. A term of 0 is left out. So (1, 0)
   * keeps the factor in the past, and (0, 1) lets the two change places, to the bit. nonnegative:
   * what would be less than 0 becomes 0. now and then: [ncomps], host memory. */
  amped_status (*step)(amped_factor_past *past, int mode, const double *now, const double *then,
                       bool nonnegative);

  /* squares[c] += the squares of now[c] times column c of the factor minus then[c] times that of
   * the past, over own rows of mode. The order of additions depends on sizes and threads alone. */
  amped_status (*distance)(amped_factor_past *past, int mode, const double *now, const double *then,
                           double *squares);
} amped_factor_past_ops;

#endif
