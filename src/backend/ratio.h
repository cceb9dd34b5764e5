/* Ratios: work over nonzeros for a model of counts (docs/decisions/077-counts-as-counts.md). An
 * optional part of a tensor format, with its own table of operations.
 *
 * A nonzero x with row j of mode's factor, and with the product p of its rows of the other modes'
 * factors, component by component, has the model's value and the sum
 *
 *     m = sum over r of weights[r] a[j][r] p[r]
 *     output[j] = sum over the nonzeros of row j of x / m p
 *
 * so a ratio takes the place of the value in an MTTKRP. m below `least` counts as `least`. Mode's
 * own factor is read, and must not change in rows whose sums are not finished.
 *
 * The CPU and GPU versions (src/cpu/counts/ratio_cpu.c, cuda/counts/ratio_cuda.cu) share this
 * contract and one test, tests/unit/backend/check_ratio.c. Not collective. */
#ifndef AMPED_RATIO_H
#define AMPED_RATIO_H

#include "plan/plan.h"

typedef struct amped_ratio {
  const double *weights; /* [ncomps], the largest about 1; copied by begin */
  double least;          /* above 0 */
  bool sums;             /* also find the sums below, which takes a logarithm per nonzero */
} amped_ratio;

/* Sums over this rank's nonzeros of the copy. The copy's layout fixes the order of additions. */
typedef struct amped_ratio_sums {
  double values;    /* sum of x */
  double logs;      /* sum of x log(x / m); a nonzero of value 0 adds 0 */
  double negative;  /* number of x below 0 */
  double fractions; /* number of x that are not whole */
  double low;       /* number of x above 0 whose m counted as `least` */
} amped_ratio_sums;

struct amped_device;
struct amped_tensor_part;
struct amped_mttkrp_times;

typedef struct amped_ratio_ops {
  /* Adds the bytes that prepare takes. */
  void (*require)(const struct amped_device *device, const amped_plan *plan, uint64_t *device_bytes,
                  uint64_t *host_bytes);
  /* Allocate these bytes, after finish of all copies. They are freed with the part. No effect if
   * they are allocated for the plan's number of components. */
  amped_status (*prepare)(struct amped_tensor_part *part);
  /* The sums of rows, into the factor set's output. Order of calls: as for mttkrp_begin and
   * mttkrp_wait (backend.h). With the last part, wait adds to *sums if begin was asked for them. */
  amped_status (*begin)(struct amped_tensor_part *part, int mode, const amped_ratio *ratio);
  amped_status (*wait)(struct amped_tensor_part *part, int mode, int block_part,
                       struct amped_mttkrp_times *times, amped_ratio_sums *sums);
} amped_ratio_ops;

#endif
