/* Counters are first dealt out to the output rows (a counting sort, in which the order inside a row
 * is left to chance), then groups of rows are sorted one after another by key and counter, which
 * restores the order. */
#include "synthetic_cpu.h"

#include <omp.h>
#include <string.h>

#include "mem.h"
#include "sort.h"

/* Nonzeros that are sorted at a time; a single row may have more. */
#define PIECE (UINT64_C(1) << 20)

/* Bytes of a nonzero of a piece: key, counter, and the sort's own. */
#define PIECE_BYTES (8 + 8 + 24)

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
  uint64_t rows;
  uint64_t *ends;     /* [rows] end of each row among counters */
  uint64_t *counters; /* of the share, row by row */
  uint64_t capacity;  /* nonzeros of the piece's arrays */
  uint64_t *keys;
  void *run_rows;
  void *run_inputs[AMPED_MAX_ORDER - 1];
  void *run_values;
} loader;

static amped_status count_bare(void *context, const amped_synthetic *t, int mode, uint64_t width,
                               uint64_t first, uint64_t count, uint64_t *idp_nnz) {
  (void)context;
  return amped_synthetic_cpu_count(t, mode, width, first, count, idp_nnz, NULL);
}

/* ends[row] becomes the number of nonzeros before row, then each counter takes the next place of
 * its row. */
static void deal_out(loader *l) {
  const amped_synthetic_share *s = &l->share;
  uint64_t sum = 0;
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < s->tensor.nnz; k++) {
    uint64_t row = 0;
    if (amped_synthetic_row(s, k, &row)) {
#pragma omp atomic
      l->ends[row]++;
    }
  }
  for (uint64_t row = 0; row < l->rows; row++) {
    uint64_t n = l->ends[row];
    l->ends[row] = sum;
    sum += n;
  }
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < s->tensor.nnz; k++) {
    uint64_t row = 0;
    uint64_t place = 0;
    if (amped_synthetic_row(s, k, &row)) {
#pragma omp atomic capture
      place = l->ends[row]++;
      l->counters[place] = k;
    }
  }
}

/* Nonzeros of rows first .. *end, as many whole rows as fit in a piece, at least one. */
static uint64_t next_piece(const loader *l, uint64_t first, uint64_t *end) {
  uint64_t begin = first > 0 ? l->ends[first - 1] : 0;
  *end = first + 1;
  while (*end < l->rows && l->ends[*end] - begin <= PIECE)
    (*end)++;
  return l->ends[*end - 1] - begin;
}

static amped_status sort_piece(const loader *l, uint64_t *counters, uint64_t count) {
  const amped_synthetic_share *s = &l->share;
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++) {
    uint64_t row = 0;
    (void)amped_synthetic_row(s, counters[i], &row);
    l->keys[i] = amped_synthetic_key(s, row, counters[i]);
  }
  amped_sort_field fields[] = {{l->keys, s->key_bits},
                               {counters, amped_sort_bits(counters, count)}};
  return amped_sort(count, fields, 2, 0, (void *const[]){counters}, 1);
}

static amped_run make_run(const loader *l, const uint64_t *counters, uint64_t count) {
  const amped_synthetic_share *s = &l->share;
  const amped_plan *plan = l->plan;
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++) {
    uint64_t k = counters[i];
    uint64_t row = 0;
    int input = 0;
    (void)amped_synthetic_row(s, k, &row);
    amped_index_put(l->run_rows, plan->index_type, i, row);
    for (int m = 0; m < plan->order; m++)
      if (m != s->mode)
        amped_index_put(l->run_inputs[input++], plan->index_type, i,
                        amped_synthetic_position(s, m, k));
    amped_value_put(l->run_values, plan->value_type, i, amped_synthetic_value(&s->tensor, k));
  }
  amped_run run = {.count = count, .rows = l->run_rows, .values = l->run_values};
  for (int i = 0; i < plan->order - 1; i++)
    run.inputs[i] = l->run_inputs[i];
  return run;
}

static uint64_t largest_piece(const loader *l) {
  uint64_t most = 0;
  uint64_t end = 0;
  for (uint64_t first = 0; first < l->rows; first = end) {
    uint64_t count = next_piece(l, first, &end);
    most = count > most ? count : most;
  }
  return most;
}

static amped_status alloc_piece(loader *l) {
  const amped_plan *plan = l->plan;
  l->capacity = largest_piece(l);
  AMPED_TRY(amped_alloc(&l->keys, l->capacity, sizeof *l->keys, "a piece of the tensor"));
  AMPED_TRY(amped_alloc(&l->run_rows, l->capacity, plan->index_type, "a piece of the tensor"));
  for (int i = 0; i < plan->order - 1; i++)
    AMPED_TRY(
        amped_alloc(&l->run_inputs[i], l->capacity, plan->index_type, "a piece of the tensor"));
  return amped_alloc(&l->run_values, l->capacity, plan->value_type, "a piece of the tensor");
}

static void free_loader(loader *l) {
  amped_free(l->ends);
  amped_free(l->counters);
  amped_free(l->keys);
  amped_free(l->run_rows);
  for (int i = 0; i < AMPED_MAX_ORDER - 1; i++)
    amped_free(l->run_inputs[i]);
  amped_free(l->run_values);
}

amped_status amped_synthetic_cpu_load(const amped_synthetic *t, const amped_plan *plan, int mode,
                                      amped_status (*upload)(amped_context *ctx, int mode,
                                                             uint64_t offset, const amped_run *run),
                                      amped_context *ctx) {
  const amped_mode_plan *m = &plan->modes[mode];
  loader l = {.plan = plan, .rows = m->output_rows};
  amped_status status = AMPED_OK;
  uint64_t offset = 0;
  uint64_t end = 0;
  AMPED_TRY(amped_synthetic_share_make(&l.share, t, plan, mode, count_bare, NULL));
  AMPED_GO(done, amped_calloc(&l.ends, l.rows, sizeof *l.ends, "the tensor's rows"));
  AMPED_GO(done, amped_alloc(&l.counters, m->rank_nnz[plan->rank], sizeof *l.counters,
                             "a share of the tensor"));
  deal_out(&l);
  AMPED_GO(done, alloc_piece(&l));
  for (uint64_t first = 0; first < l.rows; first = end) {
    uint64_t count = next_piece(&l, first, &end);
    AMPED_GO(done, sort_piece(&l, l.counters + offset, count));
    amped_run run = make_run(&l, l.counters + offset, count);
    AMPED_GO(done, upload(ctx, mode, offset, &run));
    offset += count;
  }
done:
  free_loader(&l);
  return status;
}

uint64_t amped_synthetic_cpu_bytes(const amped_synthetic *t, const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < t->order; m++) {
    const amped_mode_plan *mode = &plan->modes[m];
    uint64_t nnz = mode->rank_nnz[plan->rank];
    uint64_t piece = PIECE < nnz ? PIECE : nnz;
    /* A row is in one iDp: no row has more nonzeros than the fullest of them. */
    for (uint64_t i = 0; i < mode->idp_count; i++)
      if (mode->row[i] != AMPED_NO_ROW && mode->idp_nnz[i] > piece)
        piece = mode->idp_nnz[i];
    piece = piece < nnz ? piece : nnz;
    uint64_t bytes = (nnz + mode->output_rows) * sizeof(uint64_t) +
                     piece * (PIECE_BYTES + amped_plan_nonzero_bytes(plan));
    most = bytes > most ? bytes : most;
  }
  return most;
}
