/* Stream published: grams, row updates and exchange of cuSTC's recursion. */
#include "solver/stream/stream_published.h"

#include <cblas.h>
#include <string.h>

#include "base/blas.h"
#include "base/buffers.h"
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "mpi/allgather.h"
#include "mpi/large_sum.h"
#include "plan/touched.h"
#include "solver/normal_equations.h"
#include "solver/stream/stream_entries.h"

/* Rows that are processed together. */
#define PIECE UINT64_C(256)

/* Slices of a rank's rows, on which threads work. Most of them, and most numbers in their grams. */
#define SLICES UINT64_C(64)
#define SLICE_NUMBERS (UINT64_C(1) << 22)

/* R x R matrices per mode. NOW: gram of all rows. OLD: gram of the old rows' current values.
 * BEFORE: product of the old rows before the batch and now. */
enum { NOW, OLD, BEFORE, GRAMS };

typedef struct work {
  const amped_comm *comm;
  const amped_state_head *head;
  amped_stream_rows *rows;
  const uint64_t *old_dims;
  int components;
  const amped_stream_batch *batch;
  amped_allgather *gather;       /* rows of all ranks, in the order of comm->ring */
  int *rank_at;                  /* [nranks] rank at each place of comm->ring */
  uint64_t *firsts;              /* [nranks] first row of the rank at each place, and its rows */
  uint64_t *counts;              /* [nranks] */
  void *now[AMPED_MAX_ORDER];    /* [dims][components] of the rows' type: all rows */
  void *before[AMPED_MAX_ORDER]; /* [old_dims][components] rows before the batch */
  double *grams[GRAMS][AMPED_MAX_ORDER];
  double *sums;     /* [longest mode][components] MTTKRP of the current mode */
  double *output;   /* [most own rows of the batch][components] this rank's rows of it */
  double *parts;    /* [slices][GRAMS][R][R] grams of slices */
  double *pieces;   /* [slices][2][PIECE][components] */
  double *product;  /* a denominator */
  double *history;  /* [R][R] matrix by which ~A is multiplied */
  double *of[2][2]; /* for old and new rows: inverse of the denominator; projection on the part that
                       stays */
} work;

static const char what[] = "a batch, with all rows of the stream";

/* Number of slices. It depends on R alone, so results do not depend on the number of threads. */
static uint64_t slices_of(uint64_t components) {
  const uint64_t most = SLICE_NUMBERS / (GRAMS * components * components);
  return most < 1 ? 1 : most < SLICES ? most : SLICES;
}

static amped_buffers buffers(work *w) {
  amped_buffers b = {.what = what};
  const amped_context *context = amped_stream_batch_context(w->batch);
  const uint64_t n = (uint64_t)w->components;
  uint64_t most = 0;
  uint64_t own = 0;
  for (int m = 0; m < w->rows->order; m++) {
    const uint64_t bytes = w->rows->ncomps * w->rows->type;
    const uint64_t of_rank = context->plan->modes[m].rows.rank_rows[context->plan->rank];
    most = w->rows->dims[m] > most ? w->rows->dims[m] : most;
    own = of_rank > own ? of_rank : own;
    AMPED_BUFFER_OF(&b, HOST, w->now[m], w->rows->dims[m], bytes);
    AMPED_BUFFER_OF(&b, HOST, w->before[m], w->old_dims[m], bytes);
    for (int g = 0; g < GRAMS; g++)
      AMPED_BUFFER(&b, ZEROED, w->grams[g][m], n * n);
  }
  AMPED_BUFFER_OF(&b, HOST, w->sums, most, n * sizeof *w->sums);
  AMPED_BUFFER_OF(&b, HOST, w->output, own, n * sizeof *w->output);
  AMPED_BUFFER_OF(&b, HOST, w->parts, slices_of(n), GRAMS * n * n * sizeof *w->parts);
  AMPED_BUFFER_OF(&b, HOST, w->pieces, slices_of(n), 2 * PIECE * n * sizeof *w->pieces);
  AMPED_BUFFER(&b, HOST, w->rank_at, (uint64_t)w->comm->nranks);
  AMPED_BUFFER(&b, HOST, w->firsts, (uint64_t)w->comm->nranks);
  AMPED_BUFFER(&b, HOST, w->counts, (uint64_t)w->comm->nranks);
  AMPED_BUFFER(&b, HOST, w->product, n * n);
  AMPED_BUFFER(&b, HOST, w->history, n * n);
  for (int i = 0; i < 4; i++)
    AMPED_BUFFER(&b, HOST, w->of[i / 2][i % 2], n * n);
  return b;
}

static amped_status make_room(work *w) {
  AMPED_TRY(amped_blas_check_room());
  return amped_buffers_allocate(buffers(w));
}

uint64_t amped_stream_published_bytes(const amped_state_head *head) {
  const uint64_t n = (uint64_t)head->ncomps;
  uint64_t rows = 0;
  uint64_t most = 0;
  if (head->history != AMPED_HISTORY_PUBLISHED)
    return 0;
  for (int m = 0; m < head->order; m++) {
    rows += 2 * head->dims[m] * n * head->type;
    most = head->dims[m] > most ? head->dims[m] : most;
  }
  return rows + (2 * most + GRAMS * (uint64_t)head->order * n + 6 * n +
                 slices_of(n) * (GRAMS * n + 2 * PIECE)) *
                    n * sizeof(double);
}

/* --- grams ------------------------------------------------------------------------------------ */

/* Convert rows of an array, of the rows' type, to doubles. */
static void get_rows(const work *w, const void *from, uint64_t first, uint64_t count, double *to) {
  const uint64_t n = (uint64_t)w->components;
  amped_values_get(from, w->rows->type, first * n, count * n, to);
}

/* to += a^T b of `count` rows. */
static void add_gram(const work *w, uint64_t count, const double *a, const double *b, double *to) {
  const int n = w->components;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, (int)count, 1.0, a, n, b, n, 1.0, to,
              n);
}

/* Range of this rank's share of a mode's rows. */
typedef struct range {
  uint64_t first, end;
} range;

/* A slice of this rank's share of a mode's rows. */
static range slice_of(const work *w, int mode, uint64_t slice) {
  const uint64_t dim = w->rows->dims[mode];
  const uint64_t slices = slices_of((uint64_t)w->components);
  const uint64_t first = amped_stream_share(dim, w->comm->rank, w->comm->nranks);
  const uint64_t count = amped_stream_share(dim, w->comm->rank + 1, w->comm->nranks) - first;
  return (range){.first = first + amped_stream_share(count, (int)slice, (int)slices),
                 .end = first + amped_stream_share(count, (int)slice + 1, (int)slices)};
}

/* grams: [GRAMS][R][R] of a slice of rows. now, before: buffers of PIECE rows. */
static void find_slice(const work *w, int mode, range slice, double *grams, double *now,
                       double *before) {
  const uint64_t old = w->old_dims[mode];
  const uint64_t square = (uint64_t)w->components * (uint64_t)w->components;
  memset(grams, 0, GRAMS * square * sizeof *grams);
  for (uint64_t i = slice.first; i < slice.end; i += PIECE) {
    const uint64_t count = slice.end - i < PIECE ? slice.end - i : PIECE;
    const uint64_t olds = i >= old ? 0 : old - i < count ? old - i : count;
    get_rows(w, w->now[mode], i, count, now);
    add_gram(w, count, now, now, grams + NOW * square);
    if (olds == 0)
      continue;
    get_rows(w, w->before[mode], i, olds, before);
    add_gram(w, olds, now, now, grams + OLD * square);
    add_gram(w, olds, before, now, grams + BEFORE * square);
  }
}

/* Collective. Find the grams of a mode. */
static void find_grams(const work *w, int mode) {
  const uint64_t n = (uint64_t)w->components;
  const uint64_t slices = slices_of(n);
#pragma omp parallel for schedule(dynamic)
  for (uint64_t i = 0; i < slices; i++) {
    double *pieces = w->pieces + i * 2 * PIECE * n;
    find_slice(w, mode, slice_of(w, mode, i), w->parts + i * GRAMS * n * n, pieces,
               pieces + PIECE * n);
  }
  for (uint64_t g = 0; g < GRAMS; g++) {
    memset(w->grams[g][mode], 0, n * n * sizeof(double));
    for (uint64_t i = 0; i < slices; i++)
      cblas_daxpy((int)(n * n), 1.0, w->parts + (i * GRAMS + g) * n * n, 1, w->grams[g][mode], 1);
    amped_comm_sum(w->comm, w->grams[g][mode], (int)(n * n));
  }
}

/* The recursion has no penalty: it divides by the gram of a component that has almost vanished. */
static amped_status check_product(const work *w) {
  return amped_gram_is_finite(w->components, w->product)
             ? AMPED_OK
             : amped_error(AMPED_FAILED, NULL,
                           "the rows of a published history overflowed in a batch, as they do "
                           "after a component that has almost vanished; begin the state with "
                           "fewer components, a lower --reg or --precision=double");
}

/* Find the matrices of an update; they are the same on every rank. */
static amped_status invert(const work *w, int mode) {
  const int n = w->components;
  const double forget = w->head->forget;
  bool singular = false;
  amped_hadamard(w->rows->order, n, (const double *const *)w->grams[NOW], mode, w->product);
  AMPED_TRY(check_product(w));
  AMPED_TRY(amped_inverse(n, w->head->type, w->product, w->of[1][0], w->of[1][1], &singular));
  amped_hadamard(w->rows->order, n, (const double *const *)w->grams[OLD], mode, w->history);
  for (int i = 0; i < n * n; i++)
    w->product[i] -= (1.0 - forget) * w->history[i];
  AMPED_TRY(check_product(w));
  AMPED_TRY(amped_inverse(n, w->head->type, w->product, w->of[0][0], w->of[0][1], &singular));
  amped_hadamard(w->rows->order, n, (const double *const *)w->grams[BEFORE], mode, w->product);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, forget, w->product, n,
              w->of[0][0], n, 0.0, w->history, n);
  return AMPED_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* sums = this rank's rows of the MTTKRP; 0 in other rows. */
static amped_status take_sums(const work *w, int mode) {
  const amped_context *context = amped_stream_batch_context(w->batch);
  const amped_row_plan *rows = &context->plan->modes[mode].rows;
  const amped_touched *t = amped_stream_batch_touched(w->batch, mode);
  const uint64_t *positions = amped_stream_batch_positions(w->batch, mode);
  const uint64_t n = (uint64_t)w->components;
  const uint64_t first = (uint64_t)context->plan->rank * rows->block_rows;
  const uint64_t own = rows->rank_rows[context->plan->rank];
  memset(w->sums, 0, w->rows->dims[mode] * n * sizeof *w->sums);
  AMPED_TRY(context->worker->backend->factors->get_output(context->worker->factors, mode, 0, own,
                                                          w->output));
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < t->count; k++)
    if (positions[k] >= first && positions[k] - first < own)
      memcpy(w->sums + t->rows[k] * n, w->output + (positions[k] - first) * n, n * sizeof *w->sums);
  return AMPED_OK;
}

/* Collective; the status is agreed. sums = MTTKRP of all ranks' entries. */
static amped_status find_sums(const work *w, int mode) {
  const uint64_t numbers = w->rows->dims[mode] * (uint64_t)w->components;
  amped_mttkrp_times times;
  AMPED_TRY(amped_mode_mttkrp(amped_stream_batch_context(w->batch), mode, &times));
  amped_trace_begin(AMPED_PHASE_EXCHANGE, mode);
  AMPED_TRY(amped_comm_agree(w->comm, take_sums(w, mode)));
  amped_large_sum(w->comm, w->sums, numbers);
  amped_trace_end();
  return AMPED_OK;
}

/* Update `count` rows from row i on, which are all old or all new. row, out: buffers of PIECE
 * rows. */
static void solve_piece(const work *w, int mode, uint64_t i, uint64_t count, double *row,
                        double *out) {
  const int n = w->components;
  const int rows = (int)count;
  const bool is_new = i >= w->old_dims[mode];
  const uint64_t numbers = (uint64_t)n;
  get_rows(w, w->now[mode], i, count, row);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, n, n, 1.0, row, n, w->of[is_new][1],
              n, 0.0, out, n);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, n, n, 1.0, w->sums + i * numbers, n,
              w->of[is_new][0], n, 1.0, out, n);
  if (!is_new) {
    get_rows(w, w->before[mode], i, count, row);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, n, n, 1.0, row, n, w->history, n,
                1.0, out, n);
  }
  amped_values_put(w->now[mode], w->rows->type, i * numbers, count * numbers, out);
}

/* Update a slice of rows. row, out: buffers, [PIECE][components]. */
static void solve_slice(const work *w, int mode, range slice, double *row, double *out) {
  const uint64_t old = w->old_dims[mode];
  for (uint64_t i = slice.first; i < slice.end;) {
    const uint64_t last = i < old && old < slice.end ? old : slice.end;
    const uint64_t count = last - i < PIECE ? last - i : PIECE;
    solve_piece(w, mode, i, count, row, out);
    i += count;
  }
}

/* Update this rank's share of the rows. */
static void solve_share(const work *w, int mode) {
  const uint64_t n = (uint64_t)w->components;
#pragma omp parallel for schedule(dynamic)
  for (uint64_t i = 0; i < slices_of(n); i++) {
    double *pieces = w->pieces + i * 2 * PIECE * n;
    solve_slice(w, mode, slice_of(w, mode, i), pieces, pieces + PIECE * n);
  }
}

/* Collective. Every rank sends its share of the rows to all ranks. */
static void exchange(const work *w, int mode) {
  const uint64_t dim = w->rows->dims[mode];
  const int nranks = w->comm->nranks;
  for (int i = 0; i < nranks; i++) {
    w->firsts[i] = amped_stream_share(dim, w->rank_at[i], nranks);
    w->counts[i] = amped_stream_share(dim, w->rank_at[i] + 1, nranks) - w->firsts[i];
  }
  amped_allgather_parts(w->gather, w->now[mode], w->firsts, w->counts);
}

/* Give the stream's rows of a mode, and the batch's factor, their current values. */
static amped_status show_rows(const work *w, int mode) {
  const amped_stream_rows *r = w->rows;
  AMPED_TRY(r->ops->put_factors(r->store, mode, 0, r->dims[mode], w->now[mode]));
  return r->ops->move(r->store, amped_stream_batch_context(w->batch)->worker->factors, mode, true);
}

/* Collective; the status is agreed. */
static amped_status update(const work *w, int mode, amped_mode_times *times) {
  const double began = amped_time();
  AMPED_TRY(find_sums(w, mode));
  amped_trace_begin(AMPED_PHASE_SOLVE, mode);
  const double summed = amped_time();
  AMPED_TRY(amped_comm_agree(w->comm, invert(w, mode)));
  solve_share(w, mode);
  amped_trace_end();
  const double solved = amped_time();
  amped_trace_begin(AMPED_PHASE_EXCHANGE, mode);
  exchange(w, mode);
  amped_trace_end();
  const double exchanged = amped_time();
  AMPED_TRY(amped_comm_agree(w->comm, show_rows(w, mode)));
  find_grams(w, mode);
  times->mttkrp += summed - began;
  times->exchange += exchanged - solved;
  times->solve += solved - summed + amped_time() - exchanged;
  return AMPED_OK;
}

/* Copy the stream's rows, also to the batch's factors, before the first sweep. */
static amped_status bring_rows(const work *w) {
  const amped_stream_rows *r = w->rows;
  amped_factor_set *factors = amped_stream_batch_context(w->batch)->worker->factors;
  for (int m = 0; m < r->order; m++) {
    AMPED_TRY(r->ops->get_factors(r->store, m, 0, r->dims[m], w->now[m]));
    memcpy(w->before[m], w->now[m], w->old_dims[m] * r->ncomps * r->type);
    AMPED_TRY(r->ops->move(r->store, factors, m, true));
  }
  return AMPED_OK;
}

static amped_status touch_rows(const work *w, uint64_t number) {
  const amped_stream_rows *r = w->rows;
  for (int m = 0; m < r->order; m++)
    AMPED_TRY(r->ops->touch_all(r->store, m, number));
  return AMPED_OK;
}

static amped_status prepare(work *w) {
  AMPED_TRY(make_room(w));
  AMPED_TRY(
      amped_allgather_create(w->comm, w->comm->ring, w->rows->ncomps * w->rows->type, &w->gather));
  return bring_rows(w);
}

/* Collective; the status is agreed. */
static amped_status find_ways(work *w) {
  AMPED_MPI(w->comm,
            MPI_Allgather(&w->comm->rank, 1, MPI_INT, w->rank_at, 1, MPI_INT, w->comm->ring));
  return amped_comm_agree(w->comm, amped_allgather_find_rails(w->gather));
}

amped_status amped_stream_published_learn(const amped_stream_batch *batch,
                                          const amped_state_head *head, amped_stream_rows *rows,
                                          const uint64_t *old_dims, uint64_t number, int sweeps,
                                          const amped_mode_order *order, amped_mode_times *times,
                                          double *sweep_sec) {
  const amped_comm *comm = amped_stream_batch_context(batch)->comm;
  work w = {.comm = comm,
            .head = head,
            .rows = rows,
            .old_dims = old_dims,
            .components = head->ncomps,
            .batch = batch};
  int modes[AMPED_MAX_ORDER];
  double began = 0.0;
  amped_status status = AMPED_OK;
  AMPED_GO(done, amped_comm_agree(comm, prepare(&w)));
  AMPED_GO(done, find_ways(&w));
  for (int m = 0; m < rows->order; m++)
    find_grams(&w, m);
  began = amped_time();
  for (int s = 0; s < sweeps; s++) {
    amped_trace_begin(AMPED_PHASE_SWEEP, s + 1);
    amped_mode_order_of(order, (uint64_t)s, modes);
    for (int k = 0; k < rows->order; k++)
      AMPED_GO(done, update(&w, modes[k], times));
    amped_trace_end();
  }
  *sweep_sec = (amped_time() - began) / sweeps;
  status = amped_comm_agree(comm, touch_rows(&w, number));
done:
  amped_allgather_destroy(w.gather);
  amped_buffers_free(buffers(&w));
  return status;
}
