/* Mean rows: sums over own rows, then over ranks. */
#include "solver/complete/mean_rows.h"

#include <string.h>

#include "base/mem.h"

bool amped_row_is_known(const amped_fixed_modes *fixed, int mode, uint64_t position, double count) {
  if (!amped_fixed_modes_has(fixed, mode))
    return count > 0.0;
  return fixed->unlearnt[mode] == NULL || !fixed->unlearnt[mode][position];
}

/* sums[0 .. ncomps] = sum of own rows that are known, and their number. chosen: a byte for each own
 * row, overwritten. */
static amped_status sum_own(const amped_context *context, const amped_row_counts *counts,
                            const amped_fixed_modes *fixed, int mode, uint8_t *chosen,
                            double *sums) {
  const amped_plan *plan = context->plan;
  const amped_worker *worker = context->worker;
  const amped_row_plan *rows = &plan->modes[mode].rows;
  const uint64_t begin = (uint64_t)plan->rank * rows->block_rows;
  uint64_t known = 0;
#pragma omp parallel for schedule(static) reduction(+ : known)
  for (uint64_t i = 0; i < rows->rank_rows[plan->rank]; i++) {
    chosen[i] = amped_row_is_known(fixed, mode, begin + i, counts->all[mode][begin + i]);
    known += chosen[i];
  }
  sums[plan->ncomps] = (double)known;
  return worker->backend->factors->sum_chosen(worker->factors, mode, chosen, sums);
}

static amped_status allocate(const amped_plan *plan, const uint64_t *asked, amped_mean_rows *out,
                             uint8_t **chosen) {
  uint64_t most = 1;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t own = plan->modes[m].rows.rank_rows[plan->rank];
    if (asked[m] == 0)
      continue;
    most = own > most ? own : most;
    AMPED_TRY(
        amped_calloc(&out->rows[m], (uint64_t)plan->ncomps + 1, sizeof *out->rows[m], "mean rows"));
  }
  return amped_alloc(chosen, most, sizeof **chosen, "mean rows");
}

amped_status amped_mean_rows_find(const amped_context *context, const amped_row_counts *counts,
                                  const amped_fixed_modes *fixed,
                                  const uint64_t asked[AMPED_MAX_ORDER], amped_mean_rows *out) {
  const amped_plan *plan = context->plan;
  uint8_t *chosen = NULL;
  memset(out, 0, sizeof *out);
  amped_status status = amped_comm_agree(context->comm, allocate(plan, asked, out, &chosen));
  for (int m = 0; m < plan->order && status == AMPED_OK; m++) {
    double *sums = out->rows[m];
    if (sums == NULL)
      continue;
    status = amped_comm_sum_agreed(context->comm, sum_own(context, counts, fixed, m, chosen, sums),
                                   sums, plan->ncomps + 1);
    for (int r = 0; r < plan->ncomps && sums[plan->ncomps] > 0.0; r++)
      sums[r] /= sums[plan->ncomps];
  }
  amped_free(chosen);
  if (status != AMPED_OK)
    amped_mean_rows_free(out);
  return status;
}

void amped_mean_rows_free(amped_mean_rows *means) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(means->rows[m]);
  memset(means, 0, sizeof *means);
}
