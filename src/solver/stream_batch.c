#include "solver/stream_batch.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "factor/exchange.h"
#include "load/list_stats.h"
#include "load/load_list.h"
#include "solver/complete_als.h"

/* Elements of a buffer that rows pass through. */
#define BUFFER_ELEMENTS (UINT64_C(1) << 18)

/* The history of a mode's own rows, of the batch's plan. */
typedef struct history {
  uint64_t *at;
  double *keep;
  amped_row_history rows;
} history;

struct amped_stream_batch {
  const amped_comm *comm;
  amped_worker worker; /* the device is another's */
  amped_touched touched[AMPED_MAX_ORDER];
  amped_input *input;
  amped_tensor_info info;
  amped_plan plan;
  amped_exchange *exchange;
  amped_row_fit fit;
  void *als;
  history histories[AMPED_MAX_ORDER];
  amped_context context;
};

const amped_touched *amped_stream_batch_touched(const amped_stream_batch *b, int mode) {
  return &b->touched[mode];
}

/* --- numbers of rows -------------------------------------------------------------------------- */

/* Rank 0: the different indices of a mode, ascending. */
static amped_status find_rows(const amped_sptensor *list, int mode, uint64_t **out,
                              uint64_t *count) {
  uint64_t *rows = NULL;
  *count = 0;
  AMPED_TRY(amped_alloc(&rows, list->nnz, sizeof *rows, "the rows of a batch"));
  *out = rows;
  memcpy(rows, list->indices[mode], list->nnz * sizeof *rows);
  const amped_sort_field key = {rows, amped_sort_bits(rows, list->nnz)};
  void *const arrays[] = {rows};
  AMPED_TRY(amped_sort(list->nnz, &key, 1, 0, arrays, 1));
  for (uint64_t k = 0; k < list->nnz; k++)
    if (k == 0 || rows[k] != rows[*count - 1])
      rows[(*count)++] = rows[k];
  return AMPED_OK;
}

/* Collective; the status is agreed. */
static amped_status share_rows(amped_stream_batch *b, const amped_sptensor *list, int mode) {
  uint64_t *rows = NULL;
  uint64_t count = 0;
  amped_status status = AMPED_OK;
  if (b->comm->rank == 0)
    status = find_rows(list, mode, &rows, &count);
  AMPED_GO(failed, amped_comm_agree(b->comm, status));
  amped_comm_broadcast(b->comm, &count, sizeof count);
  if (b->comm->rank != 0)
    status = amped_alloc(&rows, count, sizeof *rows, "the rows of a batch");
  AMPED_GO(failed, amped_comm_agree(b->comm, status));
  amped_comm_broadcast(b->comm, rows, count * sizeof *rows);
  return amped_comm_agree(b->comm,
                          amped_touched_create(&b->touched[mode], rows, count, b->comm->nranks));
failed:
  amped_free(rows);
  return status;
}

/* Rank 0: the list has the numbers of rows in place of indices. */
static void number_list(const amped_stream_batch *b, amped_sptensor *list) {
  for (int m = 0; m < list->order; m++) {
    uint64_t *indices = list->indices[m];
#pragma omp parallel for schedule(static)
    for (uint64_t k = 0; k < list->nnz; k++)
      indices[k] = amped_touched_number(&b->touched[m], indices[k]);
    list->dims[m] = b->touched[m].dim;
  }
}

/* --- life ------------------------------------------------------------------------------------ */

static amped_row_fit fit_of(const amped_state_head *head) {
  amped_row_fit fit = {.biased = head->biased,
                       .nonnegative = head->nonnegative,
                       .mean = head->mean,
                       .scale = head->scale,
                       .reg = head->reg,
                       .reg_power = head->reg_power,
                       .reg_bias = head->reg_bias};
  memcpy(fit.pull, head->pull, sizeof fit.pull);
  memcpy(fit.prior, head->prior, sizeof fit.prior);
  return fit;
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
  return amped_plan_create(&b->plan, &b->info, &request);
}

/* Collective; the status is agreed. The source is open. */
static amped_status load(amped_stream_batch *b, const amped_state_head *head,
                         amped_list_source *source) {
  double norm_squared = 0.0;
  double seconds = 0.0;
  AMPED_TRY(amped_list_stats_take(b->comm, b->input, false, &b->worker, source, &b->info));
  AMPED_TRY(amped_comm_agree(b->comm, make_plan(b, head)));
  AMPED_TRY(amped_comm_agree(b->comm, amped_worker_prepare(&b->worker, &b->plan)));
  AMPED_TRY(amped_exchange_create(b->comm, &b->worker, &b->plan, &b->exchange));
  const amped_list_load job = {.comm = b->comm,
                               .input = b->input,
                               .source = source,
                               .info = &b->info,
                               .plan = &b->plan,
                               .worker = &b->worker};
  AMPED_TRY(amped_load_list(&job, &norm_squared, &seconds));
  return amped_comm_agree(b->comm, b->worker.format->row_fit->prepare(b->worker.tensor, false));
}

/* Collective; the status is agreed. */
static amped_status open_batch(amped_stream_batch *b, const amped_state_head *head,
                               const char *name, amped_sptensor *list) {
  amped_list_source *source = NULL;
  amped_status status = AMPED_OK;
  for (int m = 0; m < head->order; m++)
    AMPED_GO(failed, share_rows(b, list, m));
  if (b->comm->rank == 0)
    number_list(b, list);
  AMPED_TRY(amped_input_of_list(b->comm, name, b->comm->rank == 0 ? list : NULL, &b->input));
  AMPED_TRY(amped_list_source_open(b->comm, b->input, false, &b->worker, &source));
  status = load(b, head, source);
  amped_list_source_close(source);
  AMPED_TRY(status);
  b->context = (amped_context){b->comm, &b->plan, &b->worker, b->exchange};
  return amped_complete_als.create(&b->context, NULL, &b->fit, &b->als);
failed:
  if (b->comm->rank == 0)
    amped_sptensor_free(list);
  return status;
}

amped_status amped_stream_batch_create(const amped_comm *comm, const amped_worker *worker,
                                       const amped_state_head *head, const char *name,
                                       amped_sptensor *list, amped_stream_batch **out) {
  amped_stream_batch *b = NULL;
  *out = NULL;
  amped_status status = amped_comm_agree(comm, amped_calloc(&b, 1, sizeof *b, "a batch"));
  if (status != AMPED_OK) {
    if (comm->rank == 0)
      amped_sptensor_free(list);
    amped_free(b);
    return status;
  }
  b->comm = comm;
  b->worker = *worker;
  b->fit = fit_of(head);
  status = open_batch(b, head, name, list);
  if (status == AMPED_OK)
    *out = b;
  else
    amped_stream_batch_destroy(b);
  return status;
}

void amped_stream_batch_destroy(amped_stream_batch *b) {
  if (b == NULL)
    return;
  amped_complete_als.destroy(b->als);
  amped_exchange_destroy(b->exchange);
  b->worker.device = NULL; /* not its own */
  amped_worker_close(&b->worker);
  amped_plan_destroy(&b->plan);
  amped_tensor_info_free(&b->info);
  amped_input_close(b->input);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_touched_free(&b->touched[m]);
    amped_free(b->histories[m].at);
    amped_free(b->histories[m].keep);
  }
  amped_free(b);
}

/* --- rows in and out -------------------------------------------------------------------------- */

/* Rows of the batch's factor that lie one behind the other. */
typedef struct run {
  uint64_t position; /* of the first */
  uint64_t first;    /* touched row */
  uint64_t count;
} run;

/* The run from touched row `first` on, of at most `most`, where numbers follow one another. */
static run run_from(const amped_stream_batch *b, int mode, uint64_t first, uint64_t most) {
  const amped_touched *t = &b->touched[mode];
  run r = {amped_plan_position(&b->plan, mode, t->numbers[first]), first, 1};
  while (r.count < most && first + r.count < t->count &&
         amped_plan_position(&b->plan, mode, t->numbers[first + r.count]) == r.position + r.count)
    r.count++;
  return r;
}

/* All touched rows of a mode: from the stream into the batch's factor, or back. */
static amped_status move_rows(const amped_stream_batch *b, const amped_stream_rows *rows, int mode,
                              bool in, double *buffer) {
  const amped_touched *t = &b->touched[mode];
  const amped_factor_ops *factors = b->worker.backend->factors;
  const uint64_t n = rows->ncomps;
  for (uint64_t k = 0; k < t->count;) {
    const run r = run_from(b, mode, k, BUFFER_ELEMENTS / n);
    if (!in)
      AMPED_TRY(factors->get_rows(b->worker.factors, mode, r.position, r.count, buffer));
    for (uint64_t i = 0; i < r.count; i++) {
      void *row = amped_stream_row(rows, mode, t->rows[k + i]);
      if (in)
        amped_values_get(row, rows->type, 0, n, buffer + i * n);
      else
        amped_values_put(row, rows->type, 0, n, buffer + i * n);
    }
    if (in)
      AMPED_TRY(factors->put_rows(b->worker.factors, mode, r.position, r.count, buffer));
    k += r.count;
  }
  return AMPED_OK;
}

static amped_status move_all(const amped_stream_batch *b, const amped_stream_rows *rows, bool in) {
  double *buffer = NULL;
  amped_status status = amped_alloc(&buffer, BUFFER_ELEMENTS, sizeof *buffer, "a buffer of rows");
  for (int m = 0; m < rows->order && status == AMPED_OK; m++)
    status = move_rows(b, rows, m, in, buffer);
  amped_free(buffer);
  return status;
}

/* --- histories -------------------------------------------------------------------------------- */

static amped_status find_histories(amped_stream_batch *b, const amped_state_head *head,
                                   const amped_stream_rows *rows, uint64_t number) {
  for (int m = 0; m < rows->order; m++) {
    const amped_touched *t = &b->touched[m];
    const uint64_t block = b->plan.modes[m].rows.block_rows;
    history *h = &b->histories[m];
    AMPED_TRY(amped_calloc(&h->at, block, sizeof *h->at, "the histories of rows"));
    AMPED_TRY(amped_calloc(&h->keep, block, sizeof *h->keep, "the histories of rows"));
    h->rows = (amped_row_history){rows->history[m], h->at, h->keep};
    for (uint64_t k = 0; k < t->count; k++) {
      const uint64_t slot = amped_stream_slot(t->rows[k], rows->nranks);
      if (amped_stream_owner(t->rows[k], rows->nranks) != rows->rank)
        continue;
      const uint64_t row =
          amped_plan_position(&b->plan, m, t->numbers[k]) - (uint64_t)b->plan.rank * block;
      const uint64_t last = rows->touched[m][slot];
      h->at[row] = slot;
      h->keep[row] = last > 0 ? pow(head->forget, (double)(number - last)) : 0.0;
    }
  }
  return AMPED_OK;
}

static void mark_touched(const amped_stream_batch *b, amped_stream_rows *rows, uint64_t number) {
  for (int m = 0; m < rows->order; m++)
    for (uint64_t k = 0; k < b->touched[m].count; k++) {
      const uint64_t row = b->touched[m].rows[k];
      if (amped_stream_owner(row, rows->nranks) == rows->rank)
        rows->touched[m][amped_stream_slot(row, rows->nranks)] = number;
    }
}

/* --- learning --------------------------------------------------------------------------------- */

static void work(amped_stream_batch *b, int mode, amped_mode_times *times) {
  double solve_sec = 0.0;
  b->fit.history = &b->histories[mode].rows;
  amped_complete_als.update(b->als, &b->fit, mode, times, &solve_sec);
}

amped_status amped_stream_batch_learn(amped_stream_batch *b, const amped_state_head *head,
                                      amped_stream_rows *rows, uint64_t number, int sweeps,
                                      const int *order, amped_mode_times *times) {
  amped_status status = find_histories(b, head, rows, number);
  if (status == AMPED_OK)
    status = move_all(b, rows, true);
  AMPED_TRY(amped_comm_agree(b->comm, status));
  for (int s = 0; s < sweeps; s++)
    for (int k = 0; k < rows->order; k++)
      work(b, order[k], times);
  b->fit.absorb = true;
  for (int m = 0; m < rows->order; m++)
    work(b, m, times);
  b->fit.absorb = false;
  mark_touched(b, rows, number);
  return amped_comm_agree(b->comm, move_all(b, rows, false));
}
