#include "plan/format_choice.h"

const amped_choice_rates amped_choice_rates_gpu = {
    .cache_bytes = UINT64_C(30) << 20,
    .hit_rate = 9.6e12,
    .miss_rate = 4.9e12,
    .add_rate = 3.7e12,
    .stream_rate = 55.5e9,
};

/* A row takes as long as one of so many bytes (docs/decisions/042-requests-not-bytes.md). */
#define LEAST_BYTES 64.0

/* Nonzeros of a bundle of sorted nonzeros (cuda/boxes), whose rows come again in it. */
#define BUNDLE_NNZ 4096.0

/* Additions to rows that one of a mode's nonzeros takes. */
static double additions(const amped_plan *plan, int mode) {
  const int bits = plan->linear.low_bits[mode];
  const double rows = bits < 12 ? (double)(UINT64_C(1) << bits) : BUNDLE_NNZ;
  return rows < BUNDLE_NNZ ? rows / BUNDLE_NNZ : 1.0;
}

static double kernel_seconds(const amped_plan *plan, int mode, const amped_choice_rates *rates) {
  const double bytes_read = (double)amped_plan_row_bytes(plan);
  const double row_bytes = bytes_read > LEAST_BYTES ? bytes_read : LEAST_BYTES;
  double sec = 0.0;
  for (int m = 0; m < plan->order; m++) {
    const double bytes = (double)plan->dims[m] * bytes_read;
    if (m != mode)
      sec += row_bytes / (bytes <= (double)rates->cache_bytes ? rates->hit_rate : rates->miss_rate);
  }
  if (plan->copies == 1)
    sec += row_bytes * additions(plan, mode) / rates->add_rate;
  return sec;
}

double amped_choice_seconds(const amped_plan *plan, uint64_t streamed_bytes,
                            const amped_choice_rates *rates) {
  const double transfers = (double)streamed_bytes / rates->stream_rate;
  double kernels = 0.0;
  for (int m = 0; m < plan->order; m++) {
    const int copy = amped_plan_has_copy(plan, m) ? m : plan->first_copy;
    kernels += (double)plan->modes[copy].copy.rank_nnz[plan->rank] * kernel_seconds(plan, m, rates);
  }
  return transfers > kernels ? transfers : kernels;
}
