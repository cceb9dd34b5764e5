/* Incoming partial sums from all ranks, added up on CPU cores. */
#include "cpu/factor/partial_rows_cpu.h"

void amped_partial_rows_cpu(const amped_plan *plan, int mode, amped_row_sum sum,
                            const amped_partial_rows *parts, void *output, int threads) {
  const uint64_t elements = plan->modes[mode].rows.block_rows * plan->ld;
  const uint64_t first = (uint64_t)sum.first * elements;
  void *out = sum.to == AMPED_TO_OUTPUT ? output : parts->sums;
  const uint64_t at = sum.to == AMPED_TO_OUTPUT ? 0 : (uint64_t)sum.to * elements;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (uint64_t e = 0; e < elements; e++) {
    double total = 0.0;
    for (int k = 0; k < sum.count; k++)
      total +=
          amped_value_get(parts->arriving, plan->value_type, first + (uint64_t)k * elements + e);
    amped_value_put(out, plan->value_type, at + e, total);
  }
}
