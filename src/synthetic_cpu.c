#include "synthetic_cpu.h"

#include <omp.h>
#include <string.h>

#include "mem.h"
#include "order_cpu.h"
#include "timer.h"

/* Bytes gathered in one timing, and the timings of which the best counts. */
#define GATHER_BYTES (UINT64_C(1) << 29)
#define GATHER_REPEATS 3

/* Rows in flight; 64-bit words of a cache line. */
#define GATHER_AHEAD 16
#define LINE_WORDS 8

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
  amped_synthetic_share share;
  const amped_plan *plan;
} loader;

static amped_status count_bare(void *context, const amped_synthetic *t, int mode, uint64_t width,
                               uint64_t first, uint64_t count, uint64_t *idp_nnz) {
  (void)context;
  return amped_synthetic_cpu_count(t, mode, width, first, count, idp_nnz, NULL);
}

static bool row_of(const void *from, uint64_t k, uint64_t *row) {
  const loader *l = from;
  return amped_synthetic_row(&l->share, k, row);
}

static uint64_t word_of(const void *from, int word, uint64_t row, uint64_t k) {
  const loader *l = from;
  (void)word;
  return amped_synthetic_key(&l->share, row, k);
}

static void store(const void *from, uint64_t k, uint64_t row, uint64_t at,
                  const amped_order_arrays *to) {
  const loader *l = from;
  const amped_plan *plan = l->plan;
  int input = 0;
  amped_index_put(to->rows, plan->index_type, at, row);
  for (int m = 0; m < plan->order; m++)
    if (m != l->share.mode)
      amped_index_put(to->inputs[input++], plan->index_type, at,
                      amped_synthetic_position(&l->share, m, k));
  amped_value_put(to->values, plan->value_type, at, amped_synthetic_value(&l->share.tensor, k));
}

amped_status amped_synthetic_cpu_load(const amped_synthetic *t, const amped_plan *plan, int mode,
                                      amped_status (*upload)(amped_context *ctx, int mode,
                                                             uint64_t offset, const amped_run *run),
                                      amped_context *ctx) {
  loader l = {.plan = plan};
  AMPED_TRY(amped_synthetic_share_make(&l.share, t, plan, mode, count_bare, NULL));
  const uint8_t key_bits = (uint8_t)l.share.key_bits;
  const amped_order order = {.plan = plan,
                             .mode = mode,
                             .total = t->nnz,
                             .words = 1,
                             .word_bits = &key_bits,
                             .from = &l,
                             .row = row_of,
                             .word = word_of,
                             .store = store,
                             .upload = upload,
                             .ctx = ctx};
  return amped_order_cpu(&order, NULL);
}

uint64_t amped_synthetic_cpu_bytes(const amped_plan *plan) {
  return amped_order_cpu_bytes(plan, 1, false);
}

/* --- gather ------------------------------------------------------------------------------------*/

static const uint64_t *random_row(const uint64_t *table, uint64_t rows, uint64_t words,
                                  uint64_t k) {
  return table + ((amped_mix64(k) >> 32) * rows >> 32) * words;
}

static void prefetch_row(const uint64_t *row, uint64_t words) {
  for (uint64_t c = 0; c < words; c += LINE_WORDS)
    __builtin_prefetch(row + c);
}

/* Rows are asked for well before they are read, and read as integers, which add up without waiting
 * for each other as doubles would. */
static uint64_t gather_some(const uint64_t *table, uint64_t rows, uint64_t words, uint64_t first,
                            uint64_t count) {
  const uint64_t *ahead[GATHER_AHEAD];
  uint64_t sum[4] = {0, 0, 0, 0};
  for (uint64_t i = 0; i < GATHER_AHEAD; i++)
    ahead[i] = random_row(table, rows, words, first + i);
  for (uint64_t k = 0; k < count; k++) {
    const uint64_t *row = ahead[k % GATHER_AHEAD];
    const uint64_t *next = random_row(table, rows, words, first + k + GATHER_AHEAD);
    uint64_t c = 0;
    ahead[k % GATHER_AHEAD] = next;
    prefetch_row(next, words);
    for (; c + 4 <= words; c += 4)
      for (uint64_t i = 0; i < 4; i++)
        sum[i] += row[c + i];
    for (; c < words; c++)
      sum[c % 4] += row[c];
  }
  return sum[0] + sum[1] + sum[2] + sum[3];
}

/* Gather `count` rows, an equal part on every thread. */
static uint64_t gather_all(const uint64_t *table, uint64_t rows, uint64_t words, uint64_t count) {
  uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    uint64_t each = count / (uint64_t)omp_get_num_threads();
    sum += gather_some(table, rows, words, each * (uint64_t)omp_get_thread_num(), each);
  }
  return sum;
}

/* First touched by the threads that will gather. */
static void fill_table(uint64_t *table, uint64_t words) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < words; i++)
    table[i] = 1;
}

amped_status amped_synthetic_cpu_gather(const amped_plan *plan, uint64_t rows,
                                        double *rows_per_sec) {
  uint64_t row_bytes = plan->ld * plan->value_type;
  uint64_t bytes = 0;
  uint64_t available = amped_mem_available();
  double best = 0.0;
  uint64_t *table = NULL;
  *rows_per_sec = 0.0;
  /* A row is drawn with 32 random bits. */
  if (rows == 0 || rows > AMPED_SYNTHETIC_MAX_DIM || !amped_mul(rows, row_bytes, &bytes) ||
      (available > 0 && bytes > available / 2))
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&table, bytes, 1, "a table to gather from"));
  fill_table(table, bytes / sizeof *table);
  uint64_t threads = (uint64_t)omp_get_max_threads();
  uint64_t count = amped_ceil_div(GATHER_BYTES / row_bytes + 1, threads) * threads;
  for (int i = 0; i < GATHER_REPEATS; i++) {
    double began = amped_time();
    uint64_t sum = gather_all(table, rows, row_bytes / sizeof *table, count);
    double rate = (double)count / (amped_time() - began);
    if (sum > 0 && rate > best)
      best = rate;
  }
  amped_free(table);
  *rows_per_sec = best;
  return AMPED_OK;
}
