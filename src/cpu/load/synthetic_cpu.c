/* Synthetic tensors on CPU cores: count nonzeros per iDp, and make a rank's shard. */
#include "cpu/load/synthetic_cpu.h"

#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "cpu/load/sort_copy_cpu.h"

/* --- count -------------------------------------------------------------------------------------*/

static void count_part(const amped_synthetic *t, int mode, uint64_t width, uint64_t first,
                       uint64_t count, uint64_t *bins) {
#pragma omp for schedule(static)
  for (uint64_t k = first; k < first + count; k++)
    bins[amped_synthetic_index(t, mode, k) / width]++;
}

static double sum_squares(const amped_synthetic *t, uint64_t first, uint64_t count) {
  uint64_t high = 0;
  uint64_t low = 0;
#pragma omp parallel for schedule(static) reduction(+ : high, low)
  for (uint64_t k = first; k < first + count; k++) {
    amped_synthetic_squares s = {0, 0};
    amped_synthetic_square(&s, amped_synthetic_units(t, k));
    high += s.high;
    low += s.low;
  }
  return amped_synthetic_sum(t, (amped_synthetic_squares){high, low});
}

amped_status amped_synthetic_cpu_count(const amped_synthetic *t, int mode, uint64_t width,
                                       uint64_t first, uint64_t count, uint64_t *idp_nnz,
                                       double *sum_of_squares) {
  uint64_t idps = amped_ceil_div(t->dims[mode], width);
  uint64_t threads = (uint64_t)omp_get_max_threads();
  uint64_t *bins = NULL;
  uint64_t all = 0;
  if (!amped_mul(idps, threads, &all))
    return amped_error(AMPED_FAILED, NULL, "too many iDps to count: %" PRIu64, idps);
  AMPED_TRY(amped_calloc(&bins, all, sizeof *bins, "the iDp tables"));
#pragma omp parallel num_threads((int)threads)
  count_part(t, mode, width, first, count, bins + (uint64_t)omp_get_thread_num() * idps);
  memset(idp_nnz, 0, idps * sizeof *idp_nnz);
  for (uint64_t p = 0; p < threads; p++)
    for (uint64_t i = 0; i < idps; i++)
      idp_nnz[i] += bins[p * idps + i];
  amped_free(bins);
  if (sum_of_squares != NULL)
    *sum_of_squares = sum_squares(t, first, count);
  return AMPED_OK;
}

/* --- load --------------------------------------------------------------------------------------*/

typedef struct loader {
  amped_synthetic_shard shard;
  const amped_plan *plan;
} loader;

static amped_status count_bare(void *context, const amped_synthetic *t, int mode, uint64_t width,
                               uint64_t first, uint64_t count, uint64_t *idp_nnz) {
  (void)context;
  return amped_synthetic_cpu_count(t, mode, width, first, count, idp_nnz, NULL);
}

static bool row_of(const void *from, uint64_t k, uint64_t *row) {
  const loader *l = from;
  return amped_synthetic_row(&l->shard, k, row);
}

static uint64_t word_of(const void *from, int word, uint64_t row, uint64_t k) {
  const loader *l = from;
  (void)word;
  return amped_synthetic_key(&l->shard, row, k);
}

static void store(const void *from, uint64_t k, uint64_t row, uint64_t at,
                  const amped_sort_copy_arrays *to) {
  const loader *l = from;
  const amped_plan *plan = l->plan;
  int input = 0;
  amped_index_put(to->rows, plan->index_type, at, row);
  for (int m = 0; m < plan->order; m++)
    if (m != l->shard.mode)
      amped_index_put(to->inputs[input++], plan->index_type, at,
                      amped_synthetic_position(&l->shard, m, k));
  amped_value_put(to->values, plan->value_type, at, amped_synthetic_value(&l->shard.tensor, k));
}

amped_status amped_synthetic_cpu_load(const amped_synthetic *t, const amped_plan *plan, int mode,
                                      amped_status (*insert)(amped_tensor_part *part, int mode,
                                                             uint64_t offset,
                                                             const amped_batch *batch),
                                      amped_tensor_part *part) {
  loader l = {.plan = plan};
  AMPED_TRY(amped_synthetic_shard_make(&l.shard, t, plan, mode, count_bare, NULL));
  const uint8_t key_bits = (uint8_t)l.shard.key_bits;
  const amped_sort_copy sort = {.plan = plan,
                                .mode = mode,
                                .total = t->nnz,
                                .words = 1,
                                .word_bits = &key_bits,
                                .from = &l,
                                .row = row_of,
                                .word = word_of,
                                .store = store,
                                .insert = insert,
                                .part = part};
  return amped_sort_copy_cpu(&sort, NULL);
}

uint64_t amped_synthetic_cpu_bytes(const amped_plan *plan) {
  return amped_sort_copy_cpu_bytes(plan, 1, false);
}
