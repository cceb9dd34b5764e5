/* Mean rows: sums over own rows, then over ranks. */
#include "solver/complete/mean_rows.h"

#include <string.h>

#include "base/mem.h"

/* Rows that are copied together. */
#define ROWS UINT64_C(512)

bool amped_row_is_known(const amped_fixed_modes *fixed, int mode, uint64_t position, double count) {
  if (!amped_fixed_modes_has(fixed, mode))
    return count > 0.0;
  return fixed->unlearnt[mode] == NULL || !fixed->unlearnt[mode][position];
}

/* Add own rows that are known, and their number, to sums[0 .. ncomps]. */
static amped_status add_own(const amped_context *context, const amped_row_counts *counts,
                            const amped_fixed_modes *fixed, int mode, double *room, double *sums) {
  const amped_plan *plan = context->plan;
  const amped_row_plan *rows = &plan->modes[mode].rows;
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t begin = (uint64_t)plan->rank * rows->block_rows;
  const uint64_t end = begin + rows->rank_rows[plan->rank];
  for (uint64_t first = begin; first < end; first += ROWS) {
    const uint64_t count = end - first < ROWS ? end - first : ROWS;
    AMPED_TRY(context->worker->backend->factors->get_rows(context->worker->factors, mode, first,
                                                          count, room));
    for (uint64_t i = 0; i < count; i++) {
      const double *row = room + i * n;
      if (!amped_row_is_known(fixed, mode, first + i, counts->all[mode][first + i]))
        continue;
      for (uint64_t r = 0; r < n; r++)
        sums[r] += row[r];
      sums[n] += 1.0;
    }
  }
  return AMPED_OK;
}

static amped_status allocate(const amped_plan *plan, const uint64_t *asked, amped_mean_rows *out,
                             double **room) {
  const uint64_t n = (uint64_t)plan->ncomps;
  AMPED_TRY(amped_alloc(room, ROWS * n, sizeof **room, "mean rows"));
  for (int m = 0; m < plan->order; m++)
    if (asked[m] > 0)
      AMPED_TRY(amped_calloc(&out->rows[m], n + 1, sizeof *out->rows[m], "mean rows"));
  return AMPED_OK;
}

amped_status amped_mean_rows_find(const amped_context *context, const amped_row_counts *counts,
                                  const amped_fixed_modes *fixed,
                                  const uint64_t asked[AMPED_MAX_ORDER], amped_mean_rows *out) {
  const amped_plan *plan = context->plan;
  double *room = NULL;
  memset(out, 0, sizeof *out);
  amped_status status = amped_comm_agree(context->comm, allocate(plan, asked, out, &room));
  for (int m = 0; m < plan->order && status == AMPED_OK; m++) {
    double *sums = out->rows[m];
    if (sums == NULL)
      continue;
    status = amped_comm_sum_agreed(context->comm, add_own(context, counts, fixed, m, room, sums),
                                   sums, plan->ncomps + 1);
    for (int r = 0; r < plan->ncomps && sums[plan->ncomps] > 0.0; r++)
      sums[r] /= sums[plan->ncomps];
  }
  amped_free(room);
  if (status != AMPED_OK)
    amped_mean_rows_free(out);
  return status;
}

void amped_mean_rows_free(amped_mean_rows *means) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(means->rows[m]);
  memset(means, 0, sizeof *means);
}
