/* Format choice: predicted seconds of a sweep with all copies, or with one. */
#include "plan/format_choice.h"

const amped_choice_rates amped_choice_rates_gpu = {
    .levels = {{.bytes = UINT64_C(64) << 10, .gather_rate = 28e12, .add_rate = 3.7e12},
               {.bytes = UINT64_C(30) << 20, .gather_rate = 9.6e12, .add_rate = 3.7e12},
               {.bytes = UINT64_MAX, .gather_rate = 4.9e12, .add_rate = 1.2e12}},
    .least_row_bytes = 64.0,
    .bundle_nnz = 4096.0,
    .stream_rate = 55.5e9,
};

/* Nearest level of the memory hierarchy that holds `rows` rows. */
static const amped_choice_level *level_of(const amped_choice_rates *rates, double row_bytes,
                                          double rows) {
  const amped_choice_level *level = rates->levels;
  while (level->bytes < UINT64_MAX && rows * row_bytes > (double)level->bytes)
    level++;
  return level;
}

/* Seconds of the additions for one nonzero of a mode. They go to the rows of a tile. */
static double add_seconds(const amped_plan *plan, int mode, const amped_choice_rates *rates) {
  const double bytes = (double)amped_plan_row_bytes(plan);
  const unsigned bits = plan->linear.low_bits[mode];
  const double dim = (double)plan->dims[mode];
  const double tile =
      bits < 63 && (double)(UINT64_C(1) << bits) < dim ? (double)(UINT64_C(1) << bits) : dim;
  const double share = tile < rates->bundle_nnz ? tile / rates->bundle_nnz : 1.0;
  const double each = bytes > rates->least_row_bytes ? bytes : rates->least_row_bytes;
  return share * each / level_of(rates, bytes, tile)->add_rate;
}

/* Kernel seconds of one nonzero. */
static double kernel_seconds(const amped_plan *plan, int mode, const amped_choice_rates *rates) {
  const double bytes = (double)amped_plan_row_bytes(plan);
  const double each = bytes > rates->least_row_bytes ? bytes : rates->least_row_bytes;
  double sec = plan->boxed >= 0 ? add_seconds(plan, mode, rates) : 0.0;
  for (int m = 0; m < plan->order; m++)
    if (m != mode)
      sec += each / level_of(rates, bytes, (double)plan->dims[m])->gather_rate;
  return sec;
}

double amped_choice_mode_seconds(const amped_plan *plan, int mode,
                                 const amped_choice_rates *rates) {
  const amped_mode_plan *copy = &plan->modes[amped_plan_copy_of(plan, mode)];
  return (double)copy->copy.rank_nnz[plan->rank] * kernel_seconds(plan, mode, rates);
}

static double longer(double kernels, double streamed_bytes, const amped_choice_rates *rates) {
  const double transfers = streamed_bytes / rates->stream_rate;
  return transfers > kernels ? transfers : kernels;
}

double amped_choice_seconds(const amped_plan *plan, const uint64_t streamed_bytes[AMPED_MAX_ORDER],
                            const amped_choice_rates *rates) {
  double sec = 0.0;
  for (int m = 0; m < plan->order; m++)
    sec += longer(amped_choice_mode_seconds(plan, m, rates), (double)streamed_bytes[m], rates);
  return sec;
}
