/* Stream batch: numbering of touched rows, loading, and learning. */
#include "solver/stream/stream_batch.h"

#include <string.h>

#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "factor/exchange.h"
#include "load/input.h"
#include "load/list_stats.h"
#include "load/load_list.h"
#include "mpi/allgather.h"
#include "solver/complete/complete_als.h"
#include "solver/stream/stream_model.h"

struct amped_stream_batch {
  const amped_comm *comm;
  amped_batch_times *times;
  amped_worker worker; /* its device is borrowed */
  amped_touched touched[AMPED_MAX_ORDER];
  amped_input *input;
  amped_tensor_info info;
  amped_plan plan;
  amped_exchange *exchange;
  amped_row_fit fit;
  void *als;
  uint64_t *positions[AMPED_MAX_ORDER]; /* positions of touched rows in the batch's factors */
  amped_row_history histories[AMPED_MAX_ORDER];
  amped_stream_model *model; /* for a model history, while the batch is learnt */
  amped_context context;
};

const amped_touched *amped_stream_batch_touched(const amped_stream_batch *b, int mode) {
  return &b->touched[mode];
}

const uint64_t *amped_stream_batch_positions(const amped_stream_batch *b, int mode) {
  return b->positions[mode];
}

const amped_context *amped_stream_batch_context(const amped_stream_batch *b) {
  return &b->context;
}

/* --- numbers of rows -------------------------------------------------------------------------- */

/* Collective; the status is agreed. Find the touched rows of a mode by bits. Each rank marks the
 * rows of its entries. */
static amped_status mark_rows(const amped_comm *comm, const amped_sptensor *mine, int mode,
                              amped_touched *out) {
  const uint64_t words = amped_touched_words(mine->dims[mode]);
  uint64_t *bits = NULL;
  amped_status status = amped_touched_mark(mine->indices[mode], mine->nnz, mine->dims[mode], &bits);
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK) {
    amped_comm_or_u64(comm, bits, words);
    status =
        amped_comm_agree(comm, amped_touched_of_bits(out, bits, mine->dims[mode], comm->nranks));
  }
  amped_free(bits);
  return status;
}

/* Collective; the status is agreed. all = indices of all ranks' entries, [total]. */
static amped_status gather_indices(const amped_comm *comm, const amped_sptensor *mine, int mode,
                                   uint64_t *all) {
  const uint64_t nranks = (uint64_t)comm->nranks;
  amped_allgather *gather = NULL;
  uint64_t *counts = NULL;
  amped_status status = AMPED_OK;
  AMPED_GO(agree, amped_calloc(&counts, 2 * nranks, sizeof *counts, "the rows of a batch"));
  AMPED_GO(agree, amped_allgather_create(comm, comm->mpi, sizeof *all, &gather));
agree:
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK) {
    uint64_t *firsts = counts + nranks;
    AMPED_MPI(comm, MPI_Allgather(&mine->nnz, 1, MPI_UINT64_T, counts, 1, MPI_UINT64_T, comm->mpi));
    for (uint64_t p = 1; p < nranks; p++)
      firsts[p] = firsts[p - 1] + counts[p - 1];
    if (mine->nnz > 0)
      memcpy(all + firsts[comm->rank], mine->indices[mode], mine->nnz * sizeof *all);
    amped_allgather_parts(gather, all, firsts, counts);
  }
  amped_allgather_destroy(gather);
  amped_free(counts);
  return status;
}

/* Collective; the status is agreed. Find the touched rows of a mode by sorting all indices on every
 * rank. This is for far fewer entries than rows. */
static amped_status sort_rows(const amped_comm *comm, const amped_sptensor *mine, uint64_t total,
                              int mode, amped_touched *out) {
  uint64_t *all = NULL;
  amped_status status = AMPED_OK;
  if (comm->nranks == 1)
    return amped_touched_of_indices(out, mine->indices[mode], mine->nnz, 1);
  status = amped_alloc(&all, total, sizeof *all, "the rows of a batch");
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK)
    status = gather_indices(comm, mine, mode, all);
  if (status == AMPED_OK)
    status = amped_comm_agree(comm, amped_touched_of_indices(out, all, total, comm->nranks));
  amped_free(all);
  return status;
}

/* Collective; the status is agreed. Find the touched rows of a mode, and replace the indices of
 * this rank's entries by numbers of rows. */
static amped_status number_mode(amped_stream_batch *b, const amped_sptensor *mine, uint64_t total,
                                int mode, amped_input_part *numbered) {
  amped_touched *t = &b->touched[mode];
  AMPED_TRY(amped_touched_has_bits(total, mine->dims[mode])
                ? mark_rows(b->comm, mine, mode, t)
                : sort_rows(b->comm, mine, total, mode, t));
  const amped_itype type = amped_itype_for(t->dim);
  AMPED_TRY(amped_comm_agree(
      b->comm, amped_alloc(&numbered->indices[mode], mine->nnz, type, "the entries of a batch")));
  amped_touched_number_all(t, mine->indices[mode], mine->nnz, type, numbered->indices[mode]);
  return AMPED_OK;
}

/* Collective; the status is agreed. Make the batch's input, whose indices are numbers of rows. */
static amped_status number_rows(amped_stream_batch *b, const char *name,
                                const amped_sptensor *mine) {
  amped_input_part numbered = {.count = mine->nnz, .values = mine->values};
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t total = mine->nnz;
  amped_status status = AMPED_OK;
  amped_comm_sum_u64(b->comm, &total, 1);
  for (int m = 0; m < mine->order && status == AMPED_OK; m++) {
    status = number_mode(b, mine, total, m, &numbered);
    dims[m] = b->touched[m].dim;
  }
  if (status == AMPED_OK)
    return amped_input_of_parts(b->comm, name, mine->order, dims, &numbered, &b->input);
  for (int m = 0; m < mine->order; m++)
    amped_free(numbered.indices[m]);
  return status;
}

/* --- life ------------------------------------------------------------------------------------- */

/* Map of the values in memory: they are stored as the model uses them, with mean 0 and scale 1. */
static amped_value_map map_of(const amped_state_head *head) {
  return (amped_value_map){.centre = head->mean, .unit = head->scale};
}

static amped_row_fit fit_of(const amped_state_head *head) {
  amped_row_fit fit = {.biased = head->biased,
                       .nonnegative = head->nonnegative,
                       .mean = 0.0,
                       .scale = 1.0,
                       .reg = head->reg,
                       .reg_power = head->reg_power,
                       .reg_bias = head->reg_bias};
  memcpy(fit.pull, head->pull, sizeof fit.pull);
  memcpy(fit.prior, head->prior, sizeof fit.prior);
  return fit;
}

/* Are rows fitted, each by its own equations? A published history needs MTTKRP alone. */
static bool fits_rows(const amped_state_head *head) {
  return head->history != AMPED_HISTORY_PUBLISHED;
}

static amped_status make_plan(amped_stream_batch *b, const amped_state_head *head) {
  amped_plan_request request = {.ncomps = head->ncomps,
                                .value_type = head->type,
                                .placement = AMPED_PLACEMENT_GREEDY,
                                .rank = b->comm->rank,
                                .nranks = b->comm->nranks,
                                .needs = b->worker.format->needs};
  request.needs.whole_rows = true;
  for (int m = 0; m < head->order; m++)
    request.owners[m] = b->touched[m].owners;
  AMPED_TRY(amped_plan_create(&b->plan, &b->info, &request));
  return amped_plan_map_values(&b->plan, map_of(head));
}

/* Add the seconds since *at, and set *at to now. */
static void lap(double *at, double *seconds) {
  const double began = *at;
  *at = amped_time();
  *seconds += *at - began;
}

/* Collective; the status is agreed. Make the plan, the factors and the copies. The source is
 * open. */
static amped_status load(amped_stream_batch *b, const amped_state_head *head,
                         amped_list_source *source, double *at) {
  double norm_squared = 0.0;
  double seconds = 0.0;
  amped_trace_begin(AMPED_PHASE_PLAN, AMPED_NO_NUMBER);
  AMPED_TRY(amped_list_stats_take(b->comm, b->input, false, &b->worker, source, &b->info));
  AMPED_TRY(amped_comm_agree(b->comm, make_plan(b, head)));
  amped_trace_end();
  lap(at, &b->times->plan);
  amped_trace_begin(AMPED_PHASE_PREPARE, AMPED_NO_NUMBER);
  AMPED_TRY(amped_comm_agree(b->comm, amped_worker_prepare(&b->worker, &b->plan)));
  AMPED_TRY(amped_exchange_create(b->comm, &b->worker, &b->plan, &b->exchange));
  amped_trace_end();
  lap(at, &b->times->memory);
  const amped_list_load job = {.comm = b->comm,
                               .input = b->input,
                               .source = source,
                               .info = &b->info,
                               .plan = &b->plan,
                               .worker = &b->worker};
  amped_trace_begin(AMPED_PHASE_DISTRIBUTE, AMPED_NO_NUMBER);
  AMPED_TRY(amped_load_list(&job, &norm_squared, &seconds));
  amped_trace_end();
  lap(at, &b->times->copies);
  if (!fits_rows(head))
    return AMPED_OK;
  const amped_status status = b->worker.format->row_fit->prepare(b->worker.tensor, false);
  lap(at, &b->times->fits);
  return amped_comm_agree(b->comm, status);
}

/* Collective; the status is agreed. */
static amped_status open_batch(amped_stream_batch *b, const amped_state_head *head,
                               const char *name, const amped_sptensor *mine) {
  double at = amped_time();
  amped_list_source *source = NULL;
  amped_trace_begin(AMPED_PHASE_ROWS, AMPED_NO_NUMBER);
  AMPED_TRY(number_rows(b, name, mine));
  amped_trace_end();
  lap(&at, &b->times->rows);
  AMPED_TRY(amped_list_source_open(b->comm, b->input, false, &b->worker, &source));
  const amped_status status = load(b, head, source, &at);
  amped_list_source_close(source);
  AMPED_TRY(status);
  b->context = (amped_context){b->comm, &b->plan, &b->worker, b->exchange};
  return fits_rows(head) ? amped_complete_als.create(&b->context, NULL, &b->fit, &b->als)
                         : AMPED_OK;
}

amped_status amped_stream_batch_create(const amped_comm *comm, const amped_worker *worker,
                                       const amped_state_head *head, const amped_stream_rows *rows,
                                       const char *name, const amped_sptensor *mine,
                                       amped_batch_times *times, amped_stream_batch **out) {
  amped_stream_batch *b = NULL;
  *out = NULL;
  amped_status status = amped_comm_agree(comm, amped_calloc(&b, 1, sizeof *b, "a batch"));
  if (status != AMPED_OK) {
    amped_free(b);
    return status;
  }
  b->comm = comm;
  b->times = times;
  b->worker = *worker;
  b->worker.reserved = rows->ops->device_bytes(rows->store);
  b->fit = fit_of(head);
  status = open_batch(b, head, name, mine);
  if (status == AMPED_OK)
    *out = b;
  else
    amped_stream_batch_destroy(b);
  return status;
}

void amped_stream_batch_destroy(amped_stream_batch *b) {
  if (b == NULL)
    return;
  amped_stream_model_destroy(b->model);
  if (b->als != NULL)
    amped_complete_als.destroy(b->als);
  amped_exchange_destroy(b->exchange);
  b->worker.device = NULL; /* borrowed */
  amped_worker_close(&b->worker);
  amped_plan_destroy(&b->plan);
  amped_tensor_info_free(&b->info);
  amped_input_close(b->input);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_touched_free(&b->touched[m]);
    amped_free(b->positions[m]);
  }
  amped_free(b);
}

/* --- rows in and out -------------------------------------------------------------------------- */

/* Number of rows whose positions one thread finds together. */
#define FOUND_ROWS (UINT64_C(1) << 14)

/* Find the positions of touched rows first .. end. Most rows lie in the same iDp as the row
 * before. */
static void find_some(const amped_row_plan *rows, const amped_touched *t, uint64_t first,
                      uint64_t end, uint64_t *positions) {
  uint64_t begin = 0; /* range of the current iDp's numbers; none yet */
  uint64_t history = 0;
  uint64_t position = 0;
  for (uint64_t k = first; k < end; k++) {
    const uint64_t number = amped_touched_number(t, k);
    if (number < begin || number >= history) {
      begin = number / rows->width * rows->width;
      history = begin + rows->width;
      position = rows->position[number / rows->width];
    }
    positions[k] = position + (number - begin);
  }
}

static void find_positions(const amped_row_plan *rows, const amped_touched *t,
                           uint64_t *positions) {
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < t->count; k += FOUND_ROWS)
    find_some(rows, t, k, k + FOUND_ROWS < t->count ? k + FOUND_ROWS : t->count, positions);
}

/* Give the stream's rows the list of touched rows, and their positions in the batch's factors. */
static amped_status show_rows(amped_stream_batch *b, const amped_stream_rows *rows) {
  amped_row_list lists[AMPED_MAX_ORDER];
  for (int m = 0; m < rows->order; m++) {
    const amped_touched *t = &b->touched[m];
    AMPED_TRY(amped_alloc(&b->positions[m], t->count, sizeof *b->positions[m], "a batch's rows"));
    find_positions(&b->plan.modes[m].rows, t, b->positions[m]);
    lists[m] = (amped_row_list){t->count, t->rows, b->positions[m]};
  }
  return rows->ops->begin(rows->store, &b->plan, lists);
}

static amped_status move_rows(const amped_stream_batch *b, const amped_stream_rows *rows, bool in) {
  for (int m = 0; m < rows->order; m++)
    AMPED_TRY(rows->ops->move(rows->store, b->worker.factors, m, in));
  return AMPED_OK;
}

static amped_status bring_rows(amped_stream_batch *b, const amped_state_head *head,
                               const amped_stream_rows *rows, uint64_t number) {
  for (int m = 0; m < rows->order; m++)
    AMPED_TRY(rows->ops->history(rows->store, m, number, head->forget, &b->histories[m]));
  return move_rows(b, rows, true);
}

amped_row_start amped_stream_batch_start_of(const amped_state_head *head, int mode) {
  return (amped_row_start){.prior = head->prior[mode],
                           .seed = head->seed,
                           .biased = head->biased,
                           .nonnegative = head->nonnegative};
}

/* Collective; the status is agreed. Set the batch's rows of a mode that have learnt nothing to
 * their start. Only a nonnegative row may equal its prior and have learnt entries: others are asked
 * no further. */
static amped_status start_mode(const amped_stream_batch *b, const amped_state_head *head,
                               const amped_stream_rows *rows, int mode) {
  const amped_row_start start = amped_stream_batch_start_of(head, mode);
  const amped_touched *t = &b->touched[mode];
  uint64_t *learnt = NULL;
  amped_status status = AMPED_OK;
  if (head->nonnegative) {
    status = amped_alloc(&learnt, t->count / 64 + 1, sizeof *learnt, "a batch's rows");
    AMPED_GO(done, amped_comm_agree(b->comm, status));
    AMPED_GO(done, amped_stream_rows_touched(b->comm, rows, mode, t->count, t->rows, learnt));
  }
  status = amped_comm_agree(b->comm, rows->ops->start(rows->store, mode, &start, learnt));
done:
  amped_free(learnt);
  return status;
}

amped_status amped_stream_batch_start(amped_stream_batch *b, const amped_state_head *head,
                                      const amped_stream_rows *rows) {
  AMPED_TRY(amped_comm_agree(b->comm, show_rows(b, rows)));
  for (int m = 0; m < rows->order && fits_rows(head); m++)
    AMPED_TRY(start_mode(b, head, rows, m));
  return AMPED_OK;
}

static amped_status take_rows(const amped_stream_batch *b, const amped_stream_rows *rows,
                              uint64_t number) {
  for (int m = 0; m < rows->order; m++)
    AMPED_TRY(rows->ops->touch(rows->store, m, number));
  return move_rows(b, rows, false);
}

/* --- learning --------------------------------------------------------------------------------- */

/* Collective. Update mode's rows, or with `absorb` their history. The status is this rank's own: a
 * rank that fails makes only the collective calls. */
static amped_status work(amped_stream_batch *b, int mode, const amped_row_history *history,
                         amped_mode_times *times) {
  double solve_sec = 0.0;
  b->fit.history = history;
  return amped_complete_als.update(b->als, &b->fit, mode, times, &solve_sec);
}

/* Collective. Make new rows of a mode. status: this rank's own so far. The returned status is
 * agreed if there is a model; otherwise it is this rank's own. */
static amped_status solve_rows(amped_stream_batch *b, int mode, amped_status status,
                               amped_mode_times *times) {
  amped_row_history history = b->histories[mode];
  const double began = amped_time();
  if (b->model != NULL)
    AMPED_NEXT(status, amped_stream_model_recall(b->model, mode, &history));
  times->solve += amped_time() - began;
  AMPED_ALSO(status, work(b, mode, status == AMPED_OK ? &history : &b->histories[mode], times));
  const double solved = amped_time();
  if (b->model != NULL)
    status = amped_stream_model_renew(b->model, mode, status);
  times->solve += amped_time() - solved;
  return status;
}

/* Collective. Add the batch's equations to the histories of its rows. Statuses are as in
 * solve_rows. */
static amped_status absorb(amped_stream_batch *b, int order, amped_status status,
                           amped_mode_times *times) {
  if (b->model != NULL)
    return amped_stream_model_absorb(b->model);
  b->fit.absorb = true;
  for (int m = 0; m < order; m++)
    AMPED_ALSO(status, work(b, m, &b->histories[m], times));
  b->fit.absorb = false;
  return status;
}

amped_status amped_stream_batch_learn(amped_stream_batch *b, const amped_state_head *head,
                                      amped_stream_rows *rows, uint64_t number, int sweeps,
                                      const amped_mode_order *order, amped_mode_times *times,
                                      double *sweep_sec) {
  int modes[AMPED_MAX_ORDER];
  amped_status status = AMPED_OK;
  double at = amped_time();
  amped_trace_begin(AMPED_PHASE_ROWS, AMPED_NO_NUMBER);
  AMPED_TRY(amped_comm_agree(b->comm, bring_rows(b, head, rows, number)));
  if (head->history == AMPED_HISTORY_MODEL)
    AMPED_TRY(amped_stream_model_create(&b->context, &b->fit, b->histories, rows->sums, &b->model));
  amped_trace_end();
  lap(&at, &b->times->moves);
  const double began = amped_time();
  for (int s = 0; s < sweeps; s++) {
    amped_trace_begin(AMPED_PHASE_SWEEP, s + 1);
    amped_mode_order_of(order, (uint64_t)s, modes);
    for (int k = 0; k < rows->order; k++) {
      status = solve_rows(b, modes[k], status, times);
      if (b->model != NULL)
        AMPED_TRY(status);
    }
    amped_trace_end();
  }
  *sweep_sec = (amped_time() - began) / sweeps;
  amped_trace_begin(AMPED_PHASE_ABSORB, AMPED_NO_NUMBER);
  status = absorb(b, rows->order, status, times);
  if (b->model != NULL)
    AMPED_TRY(status);
  amped_trace_end();
  at = amped_time();
  amped_trace_begin(AMPED_PHASE_ROWS, AMPED_NO_NUMBER);
  AMPED_NEXT(status, take_rows(b, rows, number));
  amped_trace_end();
  lap(&at, &b->times->moves);
  return amped_comm_agree(b->comm, status);
}
