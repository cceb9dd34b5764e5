/* Makes the first state of a stream: head, row histories, rows and lists of entries. */
#include "session/stream_begin.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "factor/state_rows.h"
#include "state/state_base.h"
#include "solver/complete/learnt_cells.h"
#include "solver/complete/own_rows.h"
#include "solver/stream/stream_entries.h"
#include "solver/stream/stream_model.h"

/* Entries that are read at a time. */
#define SLAB (UINT64_C(1) << 16)

/* Most entries in a state's sample. It has all entries if there are no more. */
#define SAMPLE (UINT64_C(1) << 16)

/* Workspace. Rows are numbered by their place in this rank's block. */
typedef struct work {
  const amped_session *session;
  amped_state_head head;
  amped_own_rows own;
  uint64_t *piece;               /* places of rows that go to the file together */
  double *sums[AMPED_MAX_ORDER]; /* [width][width] sums, for a model history */
  amped_state_rows rows;
  uint64_t *indices[AMPED_MAX_ORDER];
  amped_stream_labels labels;                /* on rank 0 */
  amped_sptensor entries[AMPED_STATE_LISTS]; /* on rank 0 */
  amped_sptensor cells[AMPED_STATE_LISTS];   /* on rank 0, with weights: the lists' cells */
} work;

static const char what[] = "the state of a stream";

static uint64_t length_of(const amped_plan *plan, bool biased, amped_history history) {
  switch (history) {
  case AMPED_HISTORY_EQUATIONS:
    return amped_own_rows_equations(plan, biased);
  case AMPED_HISTORY_MODEL:
    return 1;
  case AMPED_HISTORY_PUBLISHED:
    return 0;
  }
  return 0;
}

/* Does each row's history consist of its normal equations? */
static bool has_equations(const work *w) {
  return w->head.history == AMPED_HISTORY_EQUATIONS;
}

void amped_stream_begin_require(const amped_worker *worker, const amped_plan *plan, bool biased,
                                bool weighted, amped_history history, uint64_t *device_bytes,
                                uint64_t *host_bytes) {
  uint64_t device = 0;
  uint64_t host = 0;
  amped_own_rows_require(worker, plan, length_of(plan, biased, history), &device, &host);
  if (history == AMPED_HISTORY_MODEL)
    amped_stream_model_require(worker, plan, &device, &host);
  *device_bytes += device;
  *host_bytes += host + (weighted ? amped_learnt_cells_bytes(plan) : 0);
  for (int m = 0; m < plan->order; m++)
    *host_bytes += plan->modes[m].rows.rank_rows[plan->rank] * sizeof(uint64_t);
}

uint64_t amped_stream_begin_entry_bytes(int order, uint64_t nnz, uint64_t keep, bool weighted) {
  const uint64_t sample = nnz < SAMPLE ? nnz : SAMPLE;
  const uint64_t held = nnz < keep ? nnz : keep;
  /* Read: as the file has them, as indices and values, and those that are held out. */
  const uint64_t lists = (sample + held) * (weighted ? 3 : 1); /* cells; cells of another rank */
  return (lists + 3 * SLAB) * ((uint64_t)order + 1) * sizeof(uint64_t);
}

uint64_t amped_stream_begin_bytes(const amped_plan *plan, bool biased, amped_history history) {
  amped_state_head head = {.order = plan->order,
                           .ncomps = plan->ncomps,
                           .type = plan->value_type,
                           .history = history,
                           .history_length = length_of(plan, biased, history),
                           .biased = biased};
  memcpy(head.dims, plan->dims, sizeof head.dims);
  return amped_state_base_bytes(&head);
}

/* --- the head ----------------------------------------------------------------------------------
 */

static void set_head(work *w, const amped_complete_problem *p, const amped_complete_best *best,
                     const amped_labels *labels, uint64_t keep, amped_history history) {
  const amped_plan *plan = &w->session->plan;
  const amped_row_fit *fit = &p->fit;
  w->head = (amped_state_head){.order = plan->order,
                               .ncomps = plan->ncomps,
                               .type = plan->value_type,
                               .history = history,
                               .history_length = length_of(plan, fit->biased, history),
                               .biased = fit->biased,
                               .nonnegative = fit->nonnegative,
                               .mean = p->mean,
                               .scale = p->scale,
                               .reg = best->sweep.reg,
                               .reg_power = fit->reg_power,
                               .reg_bias = fit->reg_bias,
                               .forget = 1.0,
                               .least = p->least,
                               .most = p->most,
                               .seed = p->seed,
                               .split_seed = p->options->split_seed,
                               .holdout = p->options->holdout,
                               .keep = keep,
                               .sample = SAMPLE,
                               .weighted = p->options->weights != NULL,
                               .growing = -1,
                               .squares = plan->norm_squared};
  memcpy(w->head.dims, plan->dims, sizeof w->head.dims);
  memcpy(w->head.prior, fit->prior, sizeof w->head.prior);
  memcpy(w->head.pull, fit->pull, sizeof w->head.pull);
  if (w->session->comm.rank != 0)
    return;
  w->head.zero_based = amped_labels_begin_at_zero(labels, plan->order);
  w->head.duplicates = amped_input_duplicates(w->session->input);
}

/* --- equations ---------------------------------------------------------------------------------
 */

static amped_status make_room(work *w) {
  const amped_context context = amped_session_context(w->session);
  AMPED_TRY(amped_alloc(&w->piece, amped_state_piece_rows(&w->head), sizeof *w->piece, what));
  return amped_own_rows_create(&context, w->head.history_length, &w->own);
}

/* Collective; the status is agreed. Put each row's count into its history, and find the sums. The
 * history was empty before. */
static amped_status find_model(work *w, const amped_row_fit *fit) {
  const amped_context context = amped_session_context(w->session);
  const uint64_t width = amped_state_sums_width(&w->head);
  amped_row_history histories[AMPED_MAX_ORDER];
  amped_stream_model *model = NULL;
  amped_status status = amped_own_rows_histories(&w->own, context.plan, histories);
  for (int m = 0; m < w->head.order && status == AMPED_OK; m++)
    status = amped_calloc(&w->sums[m], width * width, sizeof *w->sums[m], what);
  AMPED_TRY(amped_comm_agree(context.comm, status));
  AMPED_TRY(amped_stream_model_create(&context, fit, histories, w->sums, &model));
  status = amped_stream_model_absorb(model);
  amped_stream_model_destroy(model);
  return status;
}

/* Copy the factors into the store, unchanged. */
static amped_status find_factors(const work *w) {
  for (int m = 0; m < w->head.order; m++)
    AMPED_TRY(w->own.ops->move(w->own.store, w->session->worker.factors, m, false));
  return AMPED_OK;
}

/* --- rows --------------------------------------------------------------------------------------
 */

/* List the indices of this rank's rows, ascending. */
static amped_status list_rows(work *w, int mode) {
  const amped_row_plan *rows = &w->session->plan.modes[mode].rows;
  const int rank = w->session->comm.rank;
  uint64_t count = 0;
  AMPED_TRY(amped_alloc(&w->indices[mode], rows->rank_rows[rank], sizeof *w->indices[mode], what));
  for (uint64_t idp = 0; idp < rows->idp_count; idp++)
    for (uint64_t i = idp * rows->width;
         rows->owner[idp] == rank && i < (idp + 1) * rows->width && i < rows->dim; i++)
      w->indices[mode][count++] = i;
  w->rows.count[mode] = count;
  w->rows.indices[mode] = w->indices[mode];
  return AMPED_OK;
}

static amped_status get_rows(void *context, int mode, uint64_t first, uint64_t count, void *factor,
                             void *history, uint64_t *touched) {
  const work *w = context;
  const amped_plan *plan = &w->session->plan;
  const uint64_t before = (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
  const uint64_t length = w->head.history_length;
  const uint64_t components = (uint64_t)w->head.ncomps - (w->head.biased ? 1 : 0);
  const uint64_t count_at =
      has_equations(w) ? components * (components + 1) / 2 + (w->head.biased ? components : 0) : 0;
  for (uint64_t i = 0; i < count; i++)
    w->piece[i] = amped_plan_position(plan, mode, w->indices[mode][first + i]) - before;
  AMPED_TRY(w->own.ops->get(w->own.store, mode, count, w->piece, factor, history, touched));
  for (uint64_t i = 0; i < count; i++)
    touched[i] = length == 0 || amped_value_get(history, w->head.type, i * length + count_at) > 0.0;
  return AMPED_OK;
}

/* --- lists of entries --------------------------------------------------------------------------
 */

/* Does an entry of the input belong to a list? The input has no weights, so the cells of a weighted
 * fit are looked up. */
static bool belongs(const work *w, amped_state_list list, const amped_sptensor *slab, uint64_t k) {
  uint64_t index[AMPED_MAX_ORDER];
  if (!w->head.weighted)
    return list == AMPED_STATE_SAMPLE || amped_stream_entry_is_held(&w->head, &w->labels, slab, k);
  for (int m = 0; m < slab->order; m++)
    index[m] = slab->indices[m][k];
  return amped_entry_sample_has(&w->cells[list], index, w->head.split_seed);
}

/* Add the entries of a slab to the lists. some: room for the entries of one list. */
static amped_status add_slab(work *w, const amped_sptensor *slab, amped_sptensor *some) {
  for (int l = 0; l < AMPED_STATE_LISTS; l++) {
    some->nnz = 0;
    for (uint64_t k = 0; k < slab->nnz; k++) {
      if (!belongs(w, (amped_state_list)l, slab, k))
        continue;
      for (int m = 0; m < slab->order; m++)
        some->indices[m][some->nnz] = slab->indices[m][k];
      some->values[some->nnz++] = slab->values[k];
    }
    AMPED_TRY(amped_entry_sample_add(&w->entries[l], some, w->head.split_seed,
                                     amped_state_list_most(&w->head, (amped_state_list)l)));
  }
  return AMPED_OK;
}

/* Collective; the status is agreed. Find the cells of the lists of a weighted fit: an entry of
 * weight 0 is in none. */
static amped_status find_cells(work *w) {
  const amped_context context = amped_session_context(w->session);
  for (int l = 0; l < AMPED_STATE_LISTS && w->head.weighted; l++)
    AMPED_TRY(amped_learnt_cells_find(&context, l == AMPED_STATE_HELD_OUT, w->head.split_seed,
                                      amped_state_list_most(&w->head, (amped_state_list)l),
                                      &w->cells[l]));
  return AMPED_OK;
}

static amped_status read_slab(work *w, uint64_t first, uint64_t count, void *const *arrays,
                              void *values, amped_sptensor *slab) {
  const amped_tensor_info *info = amped_input_info(w->session->input);
  AMPED_TRY(amped_input_read(w->session->input, info->has_copies ? 0 : AMPED_INPUT_LIST, first,
                             count, arrays, values));
  for (int m = 0; m < info->order; m++)
    amped_indices_get(arrays[m], info->index_types[m], 0, count, slab->indices[m]);
  amped_values_get(values, info->value_type, 0, count, slab->values);
  slab->nnz = count;
  return AMPED_OK;
}

/* Rank 0: read the input again, and keep its held-out entries and a sample of all. */
static amped_status find_entries(work *w) {
  const amped_tensor_info *info = amped_input_info(w->session->input);
  void *arrays[AMPED_MAX_ORDER + 1] = {NULL};
  amped_sptensor slab = {.order = 0};
  amped_sptensor some = {.order = 0};
  amped_status status = AMPED_OK;
  for (int l = 0; l < AMPED_STATE_LISTS; l++)
    w->entries[l].order = info->order;
  AMPED_GO(done, amped_sptensor_create(&slab, info->order, SLAB));
  AMPED_GO(done, amped_sptensor_create(&some, info->order, SLAB));
  for (int m = 0; m < info->order; m++)
    AMPED_GO(done, amped_alloc(&arrays[m], SLAB, info->index_types[m], what));
  AMPED_GO(done, amped_alloc(&arrays[AMPED_MAX_ORDER], SLAB, info->value_type, what));
  for (uint64_t first = 0; first < info->nnz; first += SLAB) {
    AMPED_GO(done, read_slab(w, first, info->nnz - first < SLAB ? info->nnz - first : SLAB, arrays,
                             arrays[AMPED_MAX_ORDER], &slab));
    AMPED_GO(done, add_slab(w, &slab, &some));
  }
done:
  amped_sptensor_free(&slab);
  amped_sptensor_free(&some);
  for (int m = 0; m <= AMPED_MAX_ORDER; m++)
    amped_free(arrays[m]);
  return status;
}

/* --- the file ----------------------------------------------------------------------------------
 */

static amped_status list_all(work *w) {
  w->rows.get = get_rows;
  w->rows.context = w;
  for (int m = 0; m < w->head.order; m++)
    AMPED_TRY(list_rows(w, m));
  return w->session->comm.rank == 0 ? find_entries(w) : AMPED_OK;
}

static amped_status commit(const work *w, amped_state_file *file, const amped_labels *labels) {
  const amped_state_change change = {
      .head = &w->head,
      .added = labels,
      .entries = {&w->entries[AMPED_STATE_HELD_OUT], &w->entries[AMPED_STATE_SAMPLE]},
      .batch = {.name = w->session->options->input,
                .hash = amped_session_info(w->session)->hash,
                .nnz = w->session->plan.nnz},
      .sums = w->sums[0] != NULL ? (const double *const *)w->sums : NULL};
  uint64_t bytes = 0;
  uint64_t journal = 0;
  char text[32];
  AMPED_TRY(amped_state_file_commit(file, &change));
  amped_state_file_sizes(file, &bytes, &journal);
  amped_say("state: %s, for amped_mpi stream", amped_format_bytes(text, bytes));
  return AMPED_OK;
}

amped_status amped_stream_begin(const amped_session *session, const amped_complete_problem *problem,
                                const amped_complete_best *best, const amped_labels *labels,
                                amped_state_file *file, uint64_t keep, amped_history history) {
  const amped_comm *comm = &session->comm;
  work w = {.session = session, .labels = {.all = labels}};
  amped_status status = AMPED_OK;
  set_head(&w, problem, best, labels, keep, history);
  AMPED_GO(done, amped_comm_agree(comm, make_room(&w)));
  if (has_equations(&w)) {
    const amped_context context = amped_session_context(session);
    AMPED_GO(done, amped_own_rows_absorb(&w.own, &context, problem->options, &problem->fit));
  }
  if (history == AMPED_HISTORY_MODEL)
    AMPED_GO(done, find_model(&w, &problem->fit));
  AMPED_GO(done, amped_comm_agree(comm, find_factors(&w)));
  AMPED_GO(done, find_cells(&w));
  AMPED_GO(done, amped_comm_agree(comm, list_all(&w)));
  if (comm->rank == 0)
    status = amped_state_file_begin(file, &w.head);
  AMPED_GO(done, amped_comm_agree(comm, status));
  AMPED_GO(done, amped_state_rows_put(comm, file, &w.head, true, &w.rows));
  if (comm->rank == 0)
    status = commit(&w, file, labels);
  status = amped_comm_agree(comm, status);
done:
  for (int l = 0; l < AMPED_STATE_LISTS; l++) {
    amped_sptensor_free(&w.entries[l]);
    amped_sptensor_free(&w.cells[l]);
  }
  amped_own_rows_free(&w.own);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(w.sums[m]);
    amped_free(w.indices[m]);
  }
  amped_free(w.piece);
  return status;
}
