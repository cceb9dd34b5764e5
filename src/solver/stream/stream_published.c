/* Stream published: grams, row updates and exchange of cuSTC's recursion. */
#include "solver/stream/stream_published.h"

#include <cblas.h>
#include <string.h>

#include "base/blas.h"
#include "base/buffers.h"
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "plan/touched.h"
#include "solver/stream/stream_entries.h"
#include "solver/normal_equations.h"

/* Rows that are processed together. */
#define PIECE UINT64_C(256)

/* Bytes or numbers per message; MPI counts them in an int. */
#define MESSAGE (UINT64_C(1) << 24)

/* R x R matrices per mode. NOW: gram of all rows. OLD: gram of the old rows' current values.
 * BEFORE: product of the old rows before the batch and now. */
enum { NOW, OLD, BEFORE, GRAMS };

typedef struct work {
  const amped_comm *comm;
  const amped_state_head *head;
  amped_stream_rows *rows;
  const uint64_t *old_dims;
  int components;
  const amped_sptensor *mine;    /* this rank's part of the entries */
  void *now[AMPED_MAX_ORDER];    /* [dims][components] of the rows' type: all rows */
  void *before[AMPED_MAX_ORDER]; /* [old_dims][components] rows before the batch */
  double *grams[GRAMS][AMPED_MAX_ORDER];
  double *sums;     /* [longest mode][components] MTTKRP of the current mode */
  double *product;  /* a denominator */
  double *history;  /* [R][R] matrix by which ~A is multiplied */
  double *of[2][2]; /* for old and new rows: inverse of the denominator; projection on the part that
                       stays */
} work;

static const char what[] = "a batch, with all rows of the stream";

static amped_buffers buffers(work *w) {
  amped_buffers b = {.what = what};
  const uint64_t n = (uint64_t)w->components;
  uint64_t most = 0;
  for (int m = 0; m < w->rows->order; m++) {
    const uint64_t bytes = w->rows->ncomps * w->rows->type;
    most = w->rows->dims[m] > most ? w->rows->dims[m] : most;
    AMPED_BUFFER_OF(&b, HOST, w->now[m], w->rows->dims[m], bytes);
    AMPED_BUFFER_OF(&b, HOST, w->before[m], w->old_dims[m], bytes);
    for (int g = 0; g < GRAMS; g++)
      AMPED_BUFFER(&b, ZEROED, w->grams[g][m], n * n);
  }
  AMPED_BUFFER_OF(&b, HOST, w->sums, most, n * sizeof *w->sums);
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
  return rows + (most + (uint64_t)GRAMS * (uint64_t)head->order * n + 6 * n + 2 * PIECE) * n *
                    sizeof(double);
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

/* Collective. Find the grams of a mode. now, before: buffers of PIECE rows. */
static void find_grams(const work *w, int mode, double *now, double *before) {
  const uint64_t dim = w->rows->dims[mode];
  const uint64_t old = w->old_dims[mode];
  const uint64_t end = amped_stream_share(dim, w->comm->rank + 1, w->comm->nranks);
  const int square = w->components * w->components;
  for (int g = 0; g < GRAMS; g++)
    memset(w->grams[g][mode], 0, (size_t)square * sizeof(double));
  for (uint64_t i = amped_stream_share(dim, w->comm->rank, w->comm->nranks); i < end; i += PIECE) {
    const uint64_t count = end - i < PIECE ? end - i : PIECE;
    const uint64_t olds = i >= old ? 0 : old - i < count ? old - i : count;
    get_rows(w, w->now[mode], i, count, now);
    add_gram(w, count, now, now, w->grams[NOW][mode]);
    if (olds == 0)
      continue;
    get_rows(w, w->before[mode], i, olds, before);
    add_gram(w, olds, now, now, w->grams[OLD][mode]);
    add_gram(w, olds, before, now, w->grams[BEFORE][mode]);
  }
  for (int g = 0; g < GRAMS; g++)
    amped_comm_sum(w->comm, w->grams[g][mode], square);
}

/* Collective; the status is agreed. */
static amped_status renew_grams(const work *w, int mode) {
  const uint64_t numbers = PIECE * (uint64_t)w->components;
  double *now = NULL;
  amped_status status = amped_alloc(&now, 2 * numbers, sizeof *now, what);
  AMPED_TRY(amped_comm_agree(w->comm, status));
  find_grams(w, mode, now, now + numbers);
  amped_free(now);
  return AMPED_OK;
}

/* Find the matrices of an update; they are the same on every rank. */
static amped_status invert(const work *w, int mode) {
  const int n = w->components;
  const double forget = w->head->forget;
  bool singular = false;
  amped_hadamard(w->rows->order, n, (const double *const *)w->grams[NOW], mode, w->product);
  AMPED_TRY(amped_inverse(n, w->head->type, w->product, w->of[1][0], w->of[1][1], &singular));
  amped_hadamard(w->rows->order, n, (const double *const *)w->grams[OLD], mode, w->history);
  for (int i = 0; i < n * n; i++)
    w->product[i] -= (1.0 - forget) * w->history[i];
  AMPED_TRY(amped_inverse(n, w->head->type, w->product, w->of[0][0], w->of[0][1], &singular));
  amped_hadamard(w->rows->order, n, (const double *const *)w->grams[BEFORE], mode, w->product);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, forget, w->product, n,
              w->of[0][0], n, 0.0, w->history, n);
  return AMPED_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Collective. w->sums = MTTKRP of all ranks' entries. */
static void find_sums(const work *w, int mode) {
  const uint64_t n = (uint64_t)w->components;
  const uint64_t numbers = w->rows->dims[mode] * n;
  const amped_sptensor *t = w->mine;
  memset(w->sums, 0, numbers * sizeof *w->sums);
  for (uint64_t k = 0; k < t->nnz; k++) {
    const double y = (t->values[k] - w->head->mean) / w->head->scale;
    double *sum = w->sums + t->indices[mode][k] * n;
    for (uint64_t c = 0; c < n; c++) {
      double p = y;
      for (int m = 0; m < t->order; m++)
        if (m != mode)
          p *= amped_value_get(w->now[m], w->rows->type, t->indices[m][k] * n + c);
      sum[c] += p;
    }
  }
  for (uint64_t i = 0; i < numbers; i += MESSAGE)
    amped_comm_sum(w->comm, w->sums + i, (int)(numbers - i < MESSAGE ? numbers - i : MESSAGE));
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

/* Update this rank's share of the rows. row, out: buffers, [PIECE][components]. */
static void solve_share(const work *w, int mode, double *row, double *out) {
  const uint64_t dim = w->rows->dims[mode];
  const uint64_t old = w->old_dims[mode];
  const uint64_t end = amped_stream_share(dim, w->comm->rank + 1, w->comm->nranks);
  for (uint64_t i = amped_stream_share(dim, w->comm->rank, w->comm->nranks); i < end;) {
    const uint64_t last = i < old && old < end ? old : end;
    const uint64_t count = last - i < PIECE ? last - i : PIECE;
    solve_piece(w, mode, i, count, row, out);
    i += count;
  }
}

/* Collective. Every rank sends its share of the rows to all ranks. */
static void exchange(const work *w, int mode) {
  const uint64_t dim = w->rows->dims[mode];
  const int nranks = w->comm->nranks;
  const uint64_t bytes = w->rows->ncomps * w->rows->type;
  for (int p = 0; p < nranks; p++) {
    const uint64_t end = amped_stream_share(dim, p + 1, nranks) * bytes;
    for (uint64_t at = amped_stream_share(dim, p, nranks) * bytes; at < end; at += MESSAGE) {
      const uint64_t count = end - at < MESSAGE ? end - at : MESSAGE;
      AMPED_MPI(w->comm,
                MPI_Bcast((char *)w->now[mode] + at, (int)count, MPI_BYTE, p, w->comm->mpi));
    }
  }
}

/* Collective; the status is agreed. */
static amped_status update(const work *w, int mode, amped_mode_times *times) {
  const uint64_t numbers = PIECE * (uint64_t)w->components;
  double *row = NULL;
  const double began = amped_time();
  amped_trace_begin(AMPED_PHASE_MTTKRP, mode);
  find_sums(w, mode);
  amped_trace_end();
  amped_trace_begin(AMPED_PHASE_SOLVE, mode);
  const double summed = amped_time();
  amped_status status = invert(w, mode);
  if (status == AMPED_OK)
    status = amped_alloc(&row, 2 * numbers, sizeof *row, what);
  AMPED_TRY(amped_comm_agree(w->comm, status));
  solve_share(w, mode, row, row + numbers);
  amped_free(row);
  amped_trace_end();
  const double solved = amped_time();
  amped_trace_begin(AMPED_PHASE_EXCHANGE, mode);
  exchange(w, mode);
  amped_trace_end();
  times->mttkrp += summed - began;
  times->exchange += amped_time() - solved;
  status = renew_grams(w, mode);
  times->solve += solved - summed;
  return status;
}

/* Copy the stream's rows, before the first sweep. */
static amped_status bring_rows(const work *w) {
  const amped_stream_rows *r = w->rows;
  for (int m = 0; m < r->order; m++) {
    AMPED_TRY(r->ops->get_factors(r->store, m, 0, r->dims[m], w->now[m]));
    memcpy(w->before[m], w->now[m], w->old_dims[m] * r->ncomps * r->type);
  }
  return AMPED_OK;
}

static amped_status take_rows(const work *w, uint64_t number) {
  const amped_stream_rows *r = w->rows;
  for (int m = 0; m < r->order; m++) {
    AMPED_TRY(r->ops->put_factors(r->store, m, 0, r->dims[m], w->now[m]));
    AMPED_TRY(r->ops->touch_all(r->store, m, number));
  }
  return AMPED_OK;
}

static amped_status prepare(work *w) {
  AMPED_TRY(make_room(w));
  return bring_rows(w);
}

amped_status amped_stream_published_learn(const amped_comm *comm, const amped_state_head *head,
                                          amped_stream_rows *rows, const uint64_t *old_dims,
                                          const amped_sptensor *mine, uint64_t number, int sweeps,
                                          const amped_mode_order *order, amped_mode_times *times,
                                          double *sweep_sec) {
  work w = {.comm = comm,
            .head = head,
            .rows = rows,
            .old_dims = old_dims,
            .components = head->ncomps,
            .mine = mine};
  int modes[AMPED_MAX_ORDER];
  double began = 0.0;
  amped_status status = AMPED_OK;
  AMPED_GO(done, amped_comm_agree(comm, prepare(&w)));
  for (int m = 0; m < rows->order; m++)
    AMPED_GO(done, renew_grams(&w, m));
  began = amped_time();
  for (int s = 0; s < sweeps; s++) {
    amped_trace_begin(AMPED_PHASE_SWEEP, s + 1);
    amped_mode_order_of(order, (uint64_t)s, modes);
    for (int k = 0; k < rows->order; k++)
      AMPED_GO(done, update(&w, modes[k], times));
    amped_trace_end();
  }
  *sweep_sec = (amped_time() - began) / sweeps;
  status = amped_comm_agree(comm, take_rows(&w, number));
done:
  amped_buffers_free(buffers(&w));
  return status;
}
