#include "solver/stream.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/timer.h"
#include "plan/touched.h"
#include "solver/complete_start.h"
#include "solver/stream_batch.h"
#include "solver/stream_entries.h"
#include "solver/stream_published.h"

void amped_learnt_free(amped_learnt *l) {
  amped_sptensor_free(&l->held_out);
  amped_stream_change_free(&l->change);
  memset(l, 0, sizeof *l);
}

/* A batch in hand. */
typedef struct work {
  const amped_stream *s;
  amped_input *input;
  uint64_t old_dims[AMPED_MAX_ORDER];
  amped_sptensor all, learn; /* rank 0 */
  amped_sptensor mine;       /* this rank's part of all */
  amped_stream_batch *batch; /* NULL where nothing is learnt, and of a published history */
  amped_learnt *out;
} work;

static bool is_published(const work *w) {
  return w->s->head->history == AMPED_HISTORY_PUBLISHED;
}

/* --- entries -----------------------------------------------------------------------------------
 */

/* Rank 0: the input's list. */
static amped_status read_all(work *w) {
  const amped_tensor_info *info = amped_input_info(w->input);
  void *arrays[AMPED_MAX_ORDER] = {NULL};
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_sptensor_create(&w->all, info->order, info->nnz));
  memcpy(w->all.dims, info->dims, sizeof w->all.dims);
  for (int m = 0; m < info->order; m++)
    AMPED_GO(done, amped_alloc(&arrays[m], info->nnz, info->index_types[m], "a batch"));
  AMPED_GO(done, amped_input_read(w->input, AMPED_INPUT_LIST, 0, info->nnz, arrays, w->all.values));
  for (int m = 0; m < info->order; m++)
    amped_indices_get(arrays[m], info->index_types[m], 0, info->nnz, w->all.indices[m]);
done:
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(arrays[m]);
  return status;
}

static void copy_entry(const amped_sptensor *from, uint64_t k, amped_sptensor *to, uint64_t at) {
  for (int m = 0; m < from->order; m++)
    to->indices[m][at] = from->indices[m][k];
  to->values[at] = from->values[k];
}

/* What becomes of an entry. */
enum { LEARN, HOLD, DROP };

static int fate_of(const work *w, uint64_t k) {
  bool inside = is_published(w);
  if (amped_stream_entry_is_held(w->s->head, &w->all, k))
    return HOLD;
  for (int m = 0; m < w->all.order && inside; m++)
    inside = w->all.indices[m][k] < w->old_dims[m];
  return inside ? DROP : LEARN;
}

/* Rank 0: those that are learnt, and those that are held out. */
static amped_status part_entries(work *w) {
  const amped_sptensor *all = &w->all;
  amped_sptensor *to[2] = {&w->learn, &w->out->held_out};
  uint64_t at[2] = {0, 0};
  for (uint64_t k = 0; k < all->nnz; k++) {
    w->out->held += fate_of(w, k) == HOLD;
    w->out->dropped += fate_of(w, k) == DROP;
  }
  w->out->learnt = all->nnz - w->out->held - w->out->dropped;
  AMPED_TRY(amped_sptensor_create(&w->learn, all->order, w->out->learnt));
  AMPED_TRY(amped_sptensor_create(&w->out->held_out, all->order, w->out->held));
  for (uint64_t k = 0; k < all->nnz; k++) {
    const int fate = fate_of(w, k);
    if (fate != DROP)
      copy_entry(all, k, to[fate], at[fate]++);
  }
  w->learn.duplicates = AMPED_DUPLICATES_SUM; /* none comes twice */
  return AMPED_OK;
}

/* Rank 0: the first mode of which all entries lie in new rows. */
static int find_growing(const work *w) {
  for (int m = 0; m < w->all.order; m++) {
    uint64_t k = 0;
    while (k < w->all.nnz && w->all.indices[m][k] >= w->old_dims[m])
      k++;
    if (k == w->all.nnz)
      return m;
  }
  return -1;
}

/* Collective; the status is agreed. */
static amped_status take_entries(work *w, int growing) {
  const amped_comm *comm = w->s->comm;
  amped_learnt *out = w->out;
  uint64_t shared[4] = {0};
  amped_status status = AMPED_OK;
  out->growing = growing;
  if (comm->rank == 0) {
    status = read_all(w);
    if (status == AMPED_OK)
      status = part_entries(w);
    if (status == AMPED_OK && growing < 0)
      out->growing = find_growing(w);
    memcpy(shared, (uint64_t[]){out->learnt, out->held, (uint64_t)(out->growing + 1), out->dropped},
           sizeof shared);
  }
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, shared, sizeof shared);
  out->learnt = shared[0];
  out->held = shared[1];
  out->growing = (int)shared[2] - 1;
  out->dropped = shared[3];
  return amped_stream_entries_deal(comm, &w->all, &w->mine);
}

/* --- new rows ----------------------------------------------------------------------------------
 */

static void set_prior(const work *w, int mode, uint64_t row) {
  const amped_stream_rows *rows = w->s->rows;
  const uint64_t components = rows->ncomps - (w->s->head->biased ? 1 : 0);
  for (uint64_t c = 0; c < rows->ncomps; c++)
    amped_value_put(amped_stream_row(rows, mode, row), rows->type, c,
                    c < components ? w->s->head->prior[mode] : 0.0);
}

static void set_start(const work *w, int mode, uint64_t row) {
  const amped_state_head *head = w->s->head;
  const amped_stream_rows *rows = w->s->rows;
  const int components = head->ncomps - (head->biased ? 1 : 0);
  void *to = amped_stream_row(rows, mode, row);
  if (mode == w->out->growing) {
    memcpy(to, amped_stream_row(rows, mode, w->old_dims[mode] - 1), rows->ncomps * rows->type);
    return;
  }
  for (int c = 0; c < components; c++) {
    const double x =
        head->prior[mode] + amped_complete_start_noise(components, head->seed, mode, row, c);
    amped_value_put(to, rows->type, (uint64_t)c, head->nonnegative ? fabs(x) : x);
  }
}

/* A published history: do all rows change? */
static bool changes_all(const work *w) {
  return is_published(w) && w->out->learnt > 0;
}

/* Modes grow, and rows that are new and learnt get their start. */
static amped_status grow(work *w) {
  amped_stream_rows *rows = w->s->rows;
  AMPED_TRY(amped_stream_rows_grow(rows, amped_input_info(w->input)->dims));
  for (int m = 0; m < rows->order; m++) {
    for (uint64_t i = w->old_dims[m]; i < rows->dims[m]; i++)
      if (changes_all(w))
        set_start(w, m, i);
      else
        set_prior(w, m, i);
    const amped_touched *t = w->batch != NULL ? amped_stream_batch_touched(w->batch, m) : NULL;
    for (uint64_t k = t != NULL ? t->count : 0; k > 0 && t->rows[k - 1] >= w->old_dims[m]; k--)
      set_start(w, m, t->rows[k - 1]);
    w->out->touched[m] = changes_all(w) ? rows->dims[m] : t != NULL ? t->count : 0;
  }
  return AMPED_OK;
}

/* --- what changed ------------------------------------------------------------------------------
 */

static bool is_own(const amped_stream_rows *rows, uint64_t row) {
  return amped_stream_owner(row, rows->nranks) == rows->rank;
}

/* Own rows that were touched, then all own ones that are new. */
static amped_status list_change(const work *w, int mode, const amped_touched *t) {
  const amped_stream_rows *rows = w->s->rows;
  const uint64_t old = changes_all(w) ? 0 : w->old_dims[mode];
  amped_stream_change *c = &w->out->change;
  const uint64_t most = (t != NULL ? t->count : 0) + rows->dims[mode] - old;
  AMPED_TRY(amped_alloc(&c->indices[mode], most, sizeof *c->indices[mode], "the rows of a batch"));
  for (uint64_t k = 0; t != NULL && k < t->count && t->rows[k] < old; k++)
    if (is_own(rows, t->rows[k]))
      c->indices[mode][c->count[mode]++] = t->rows[k];
  for (uint64_t i = old; i < rows->dims[mode]; i++)
    if (is_own(rows, i))
      c->indices[mode][c->count[mode]++] = i;
  return AMPED_OK;
}

static amped_status find_change(const work *w) {
  w->out->change.rows = w->s->rows;
  for (int m = 0; m < w->s->rows->order; m++)
    AMPED_TRY(list_change(w, m, w->batch != NULL ? amped_stream_batch_touched(w->batch, m) : NULL));
  return AMPED_OK;
}

/* --- a batch -----------------------------------------------------------------------------------
 */

static void find_errors(const work *w, bool held, amped_errors *out) {
  const double began = amped_time();
  amped_stream_entries_errors(w->s->comm, w->s->rows, w->s->head, &w->mine, held, out);
  w->out->evaluate_sec += amped_time() - began;
}

/* Collective; the status is agreed. */
static amped_status fit(work *w) {
  const amped_stream *s = w->s;
  amped_mode_times times = {0.0, 0.0, 0.0, 0.0, 0.0};
  int order[AMPED_MAX_ORDER];
  int n = 0;
  if (w->out->growing >= 0)
    order[n++] = w->out->growing;
  for (int m = 0; m < s->rows->order; m++)
    if (m != w->out->growing)
      order[n++] = m;
  const uint64_t number = s->head->batches + 1;
  const amped_status status =
      is_published(w)
          ? amped_stream_published_learn(s->comm, s->head, s->rows, w->old_dims, &w->learn, number,
                                         s->sweeps, order, &times)
          : amped_stream_batch_learn(w->batch, s->head, s->rows, number, s->sweeps, order, &times);
  w->out->rows_sec = times.mttkrp + times.solve;
  w->out->exchange_sec = times.exchange;
  return status;
}

/* Collective; the status is agreed. */
static amped_status learn(work *w, int growing) {
  const amped_stream *s = w->s;
  const double began = amped_time();
  AMPED_TRY(take_entries(w, growing));
  if (w->out->learnt > 0 && !is_published(w))
    AMPED_TRY(amped_stream_batch_create(s->comm, s->worker, s->head, amped_input_path(w->input),
                                        &w->learn, &w->batch));
  AMPED_TRY(amped_comm_agree(s->comm, grow(w)));
  w->out->load_sec = amped_time() - began;
  find_errors(w, false, &w->out->before);
  if (w->out->learnt > 0)
    AMPED_TRY(fit(w));
  find_errors(w, false, &w->out->after);
  find_errors(w, true, &w->out->held_after);
  return amped_comm_agree(s->comm, find_change(w));
}

amped_status amped_stream_learn(const amped_stream *stream, amped_input *batch, int growing,
                                amped_learnt *out) {
  work w = {.s = stream, .input = batch, .out = out};
  memset(out, 0, sizeof *out);
  memcpy(w.old_dims, stream->rows->dims, sizeof w.old_dims);
  const amped_status status = learn(&w, growing);
  amped_stream_batch_destroy(w.batch);
  amped_sptensor_free(&w.all);
  amped_sptensor_free(&w.learn);
  amped_sptensor_free(&w.mine);
  return status;
}

amped_status amped_stream_errors(const amped_stream *stream, const amped_sptensor *entries,
                                 amped_errors *out) {
  amped_sptensor mine;
  AMPED_TRY(amped_stream_entries_deal(stream->comm, entries, &mine));
  amped_stream_entries_errors(stream->comm, stream->rows, stream->head, &mine, false, out);
  amped_sptensor_free(&mine);
  return AMPED_OK;
}
