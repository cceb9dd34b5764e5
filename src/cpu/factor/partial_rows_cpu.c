/* Incoming partial sums from all ranks, added up on CPU cores. */
#include "cpu/factor/partial_rows_cpu.h"

void amped_partial_rows_cpu(const amped_plan *plan, int mode, const void *arriving, void *output,
                            int threads) {
  const uint64_t elements = plan->modes[mode].rows.block_rows * plan->ld;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (uint64_t e = 0; e < elements; e++) {
    double sum = 0.0;
    for (int p = 0; p < plan->nranks; p++)
      sum += amped_value_get(arriving, plan->value_type, (uint64_t)p * elements + e);
    amped_value_put(output, plan->value_type, e, sum);
  }
}
