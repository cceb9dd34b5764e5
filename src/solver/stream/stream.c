/* Stream: choice of training entries, starts of new rows, and learning of a batch. */
#include "solver/stream/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/system_memory.h"
#include "base/timer.h"
#include "base/trace.h"
#include "plan/touched.h"
#include "solver/complete/entry_set.h"
#include "solver/stream/stream_batch.h"
#include "solver/stream/stream_published.h"
#include "tensor/format.h"
#include "tensor/label_order.h"

void amped_learnt_free(amped_learnt *l) {
  amped_sptensor_free(&l->held_out);
  amped_stream_change_free(&l->change);
  memset(l, 0, sizeof *l);
}

/* Bytes of new rows that are stored together. */
#define PIECE (UINT64_C(1) << 20)

/* Ascending rows of a mode. */
typedef struct row_list {
  uint64_t count;
  uint64_t *rows; /* amped_alloc'd */
} row_list;

/* The current batch. */
typedef struct work {
  const amped_stream *s;
  amped_input *input;
  uint64_t old_dims[AMPED_MAX_ORDER];
  const amped_sptensor *all; /* rank 0: entries of the input; elsewhere NULL */
  const amped_sptensor
      *mine; /* this rank's part of the entries: `all` on one rank, else `distributed` */
  amped_sptensor distributed;
  const amped_sptensor *learn; /* this rank's training entries: `mine`, or `some` if not all are
                                  learnt */
  amped_sptensor some;
  bool *held;       /* marks of held-out entries: rank 0's of all, others' of theirs; NULL: none */
  uint64_t *learnt; /* bits of the growing mode's old rows: which have learnt an entry; NULL: there
                       is no such mode */
  /* Old rows with entries in the batch that have learnt nothing, except in the mode that grows:
   * rows with training entries, and rows whose entries are all held out. Published history: none.
   */
  row_list first_learnt[AMPED_MAX_ORDER], first_held[AMPED_MAX_ORDER];
  uint64_t *order;           /* rows of that mode by the values of labels; NULL: by indices */
  uint64_t like;             /* row that new rows of that mode copy */
  uint64_t *likes;           /* the row that each new row copies; NULL: all copy `like` */
  amped_stream_batch *batch; /* NULL if nothing is learnt */
  amped_learnt *out;
} work;

/* --- a batch ---------------------------------------------------------------------------------- */

static amped_status load(work *w, int growing);
static amped_status find_errors(const work *w, bool held, amped_errors *out);
static amped_status find_forecasts(const work *w);
static amped_status fit(work *w);
static amped_status find_change(const work *w);

/* A batch, function by function:
 *   load         its entries go to their owners; rows for new indices; the batch's tensor.
 *   find_errors  errors of the model that has not seen the batch.
 *   fit          starts of rows that have learnt nothing; sweeps over the rows that the batch
 * touches. find_errors  errors after them, also at the entries that are held out. find_change  the
 * rows that the state must store. Collective; the status is agreed. */
static amped_status learn(work *w, int growing) {
  const amped_stream *s = w->s;
  AMPED_TRY(load(w, growing));
  AMPED_TRY(find_errors(w, false, &w->out->before));
  AMPED_TRY(find_forecasts(w));
  if (w->out->learnt > 0)
    AMPED_TRY(fit(w));
  AMPED_TRY(find_errors(w, false, &w->out->after));
  AMPED_TRY(find_errors(w, true, &w->out->held_after));
  const double learnt = amped_time();
  amped_trace_begin(AMPED_PHASE_ROWS, AMPED_NO_NUMBER);
  const amped_status status = amped_comm_agree(s->comm, find_change(w));
  amped_trace_end();
  w->out->times.end = amped_time() - learnt;
  return status;
}

static bool is_published(const work *w) {
  return w->s->head->history == AMPED_HISTORY_PUBLISHED;
}

/* --- entries ---------------------------------------------------------------------------------- */

static void copy_entry(const amped_sptensor *from, uint64_t k, amped_sptensor *to, uint64_t at) {
  for (int m = 0; m < from->order; m++)
    to->indices[m][at] = from->indices[m][k];
  to->values[at] = from->values[k];
}

/* Use of an entry of `mine`, or of `all`, of which rank 0's `mine` is the beginning: learn it, hold
 * it out, or drop it. */
enum { LEARN, HOLD, DROP, FATES };

static int fate_of(const work *w, const amped_sptensor *list, uint64_t k) {
  bool inside = is_published(w);
  if (w->held != NULL && w->held[k])
    return HOLD;
  for (int m = 0; m < list->order && inside; m++)
    inside = list->indices[m][k] < w->old_dims[m];
  return inside ? DROP : LEARN;
}

/* Entries per piece of a list; one thread counts or copies a piece. */
#define TEAM_ENTRIES (UINT64_C(1) << 14)

static uint64_t end_of_piece(const amped_sptensor *list, uint64_t piece) {
  const uint64_t end = (piece + 1) * TEAM_ENTRIES;
  return end < list->nnz ? end : list->nnz;
}

/* counts[i] = numbers of entries of each fate in the pieces before piece i. */
static void count_fates(const work *w, const amped_sptensor *list, uint64_t pieces,
                        uint64_t (*counts)[FATES]) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < pieces; i++) {
    const uint64_t end = end_of_piece(list, i);
    uint64_t own[FATES] = {0};
    for (uint64_t k = i * TEAM_ENTRIES; k < end; k++)
      own[fate_of(w, list, k)]++;
    memcpy(counts[i + 1], own, sizeof own);
  }
  for (uint64_t i = 0; i < pieces; i++)
    for (int f = 0; f < FATES; f++)
      counts[i + 1][f] += counts[i][f];
}

/* Copy the entries of each piece behind the entries of earlier pieces. This changes counts. */
static void copy_entries(const work *w, const amped_sptensor *list, uint64_t pieces,
                         uint64_t (*counts)[FATES], amped_sptensor *const *to) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < pieces; i++) {
    const uint64_t end = end_of_piece(list, i);
    for (uint64_t k = i * TEAM_ENTRIES; k < end; k++) {
      const int fate = fate_of(w, list, k);
      if (to[fate] != NULL)
        copy_entry(list, k, to[fate], counts[i][fate]++);
    }
  }
}

/* Split the list by fate: found = numbers of entries. Entries are copied to the lists of their
 * fates; NULL: not copied. If all entries are learnt, none is copied. */
static amped_status part_entries(const work *w, const amped_sptensor *list,
                                 amped_sptensor *const *to, uint64_t *found) {
  const uint64_t pieces = amped_ceil_div(list->nnz, TEAM_ENTRIES);
  uint64_t(*counts)[FATES] = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_calloc(&counts, pieces + 1, sizeof *counts, "the entries of a batch"));
  count_fates(w, list, pieces, counts);
  memcpy(found, counts[pieces], sizeof counts[pieces]);
  if (found[LEARN] == list->nnz)
    goto done;
  for (int f = 0; f < FATES; f++)
    if (to[f] != NULL) {
      AMPED_GO(done, amped_sptensor_create(to[f], list->order, found[f]));
      memcpy(to[f]->dims, list->dims, sizeof to[f]->dims);
    }
  copy_entries(w, list, pieces, counts, to);
done:
  amped_free(counts);
  return status;
}

/* Collective; the status is agreed. *out: has none of these old rows of a mode learnt an entry?
 * count, rows: rank 0's, ascending and distinct. */
static amped_status have_learnt_none(const work *w, int mode, uint64_t count, const uint64_t *rows,
                                     bool *out) {
  static const char what[] = "rows that have learnt something";
  const amped_comm *comm = w->s->comm;
  uint64_t *list = NULL;
  uint64_t *bits = NULL;
  amped_comm_broadcast(comm, &count, sizeof count);
  amped_status status = amped_alloc(&list, count, sizeof *list, what);
  AMPED_NEXT(status, amped_alloc(&bits, count / 64 + 1, sizeof *bits, what));
  AMPED_GO(done, amped_comm_agree(comm, status));
  if (comm->rank == 0)
    memcpy(list, rows, count * sizeof *list);
  amped_comm_broadcast(comm, list, count * sizeof *list);
  AMPED_GO(done, amped_stream_rows_touched(comm, w->s->rows, mode, count, list, bits));
  *out = true;
  for (uint64_t k = 0; k < count; k += 64)
    *out = *out && bits[k / 64] == 0;
done:
  amped_free(bits);
  amped_free(list);
  return status;
}

/* Rank 0: list the old rows of a mode that have entries. */
static amped_status list_old(const work *w, int mode, amped_touched *out) {
  uint64_t *old = NULL;
  uint64_t count = 0;
  AMPED_TRY(amped_alloc(&old, w->all->nnz, sizeof *old, "the rows of a batch"));
  for (uint64_t k = 0; k < w->all->nnz; k++)
    if (w->all->indices[mode][k] < w->old_dims[mode])
      old[count++] = w->all->indices[mode][k];
  const amped_status status = amped_touched_of_indices(out, old, count, 1);
  amped_free(old);
  return status;
}

/* Collective; the status is agreed. *out: do all entries lie in new rows of a mode? Old rows that
 * have learnt no entry are new. The first old row decides in most batches, so it is asked alone. */
static amped_status lies_in_new(const work *w, int mode, bool *out) {
  const amped_comm *comm = w->s->comm;
  amped_touched t = {.count = 0};
  amped_status status = AMPED_OK;
  uint64_t row = UINT64_MAX;
  for (uint64_t k = 0; comm->rank == 0 && k < w->all->nnz && row == UINT64_MAX; k++)
    if (w->all->indices[mode][k] < w->old_dims[mode])
      row = w->all->indices[mode][k];
  amped_comm_broadcast(comm, &row, sizeof row);
  *out = row == UINT64_MAX;
  if (*out)
    return AMPED_OK;
  AMPED_TRY(have_learnt_none(w, mode, 1, &row, out));
  if (!*out)
    return AMPED_OK;
  if (comm->rank == 0)
    status = list_old(w, mode, &t);
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK)
    status = have_learnt_none(w, mode, t.count, t.rows, out);
  amped_touched_free(&t);
  return status;
}

/* An order in time, by a mode's labels. UNSAID: nothing, as indices and numbers without a
 * name. NO_TIME: texts, and numbers under a name that is no word for a time, such as ids of users.
 */
typedef enum time_kind { NO_TIME, UNSAID, NUMBERS_OF_TIME, DATES } time_kind;

static time_kind time_kind_of(const amped_labels *labels) {
  const amped_label_kind kind =
      labels->count > 0 ? amped_label_kind_of(labels) : AMPED_LABELS_NUMBERS;
  if (kind != AMPED_LABELS_NUMBERS)
    return kind == AMPED_LABELS_TEXT ? NO_TIME : DATES;
  if (amped_label_numbers_are_of_time(labels))
    return NUMBERS_OF_TIME;
  return labels->count == 0 || !amped_labels_are_named(labels) ? UNSAID : NO_TIME;
}

/* Collective; the status is agreed. *out: does a mode grow? One of time does with any new row.
 * Another does if all entries lie in new rows: else they may be new users among known ones. */
static amped_status does_grow(const work *w, int mode, time_kind kind, bool *out) {
  *out = kind > UNSAID && amped_input_info(w->input)->dims[mode] > w->old_dims[mode];
  return *out || kind == NO_TIME ? AMPED_OK : lies_in_new(w, mode, out);
}

/* Collective; the status is agreed. Refuse entries that a published update cannot learn: if they
 * lie in new rows of every mode, these rows make each other zero. */
static amped_status check_joined(const work *w) {
  bool apart = is_published(w) && amped_input_info(w->input)->nnz > 0;
  for (int m = 0; m < w->s->rows->order && apart; m++)
    AMPED_TRY(lies_in_new(w, m, &apart));
  if (!apart)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, amped_input_path(w->input),
                     "none of its entries has a label or an index that the model has learnt, and "
                     "--history=published can learn no such batch; add entries that have one, or "
                     "use a state of --history=equations");
}

/* Collective; the status is agreed. Find the first mode that grows and whose rows have an order in
 * time; modes whose labels are dates or times come first. -1: none. */
static amped_status find_growing(const work *w, int *growing) {
  const amped_labels *labels = w->s->labels.all;
  int kinds[AMPED_MAX_ORDER] = {0};
  *growing = -1;
  for (int m = 0; m < w->s->rows->order; m++)
    kinds[m] = (int)(labels != NULL ? time_kind_of(&labels[m]) : UNSAID);
  amped_comm_broadcast(w->s->comm, kinds, sizeof kinds);
  for (int dates = 1; dates >= 0; dates--)
    for (int m = 0; m < w->s->rows->order; m++) {
      bool is = false;
      if ((kinds[m] == DATES) == (dates == 1))
        AMPED_TRY(does_grow(w, m, (time_kind)kinds[m], &is));
      if (is) {
        *growing = m;
        return AMPED_OK;
      }
    }
  return AMPED_OK;
}

/* Choose this rank's training entries. Rank 0 also lists the held-out entries of all ranks. */
static amped_status choose_entries(work *w, uint64_t *found) {
  const bool is_root = w->s->comm->rank == 0;
  const bool is_alone = w->s->comm->nranks == 1;
  amped_sptensor *hold = &w->out->held_out;
  uint64_t of_all[FATES];
  AMPED_TRY(part_entries(
      w, w->mine, (amped_sptensor *[FATES]){[LEARN] = &w->some, [HOLD] = is_alone ? hold : NULL},
      found));
  w->learn = found[LEARN] == w->mine->nnz ? w->mine : &w->some;
  if (is_root && !is_alone && w->s->head->holdout > 0.0)
    AMPED_TRY(part_entries(w, w->all, (amped_sptensor *[FATES]){[HOLD] = hold}, of_all));
  hold->order = w->mine->order;
  return AMPED_OK;
}

/* Collective; the status is agreed. Find the growing mode, distribute the entries, and count their
 * fates. */
static amped_status take_entries(work *w, int growing) {
  const amped_comm *comm = w->s->comm;
  amped_learnt *out = w->out;
  uint64_t found[FATES] = {0};
  out->growing = growing;
  if (comm->rank == 0)
    w->all = amped_input_list(w->input);
  if (growing < 0)
    AMPED_TRY(find_growing(w, &out->growing));
  AMPED_TRY(check_joined(w));
  AMPED_TRY(amped_stream_entries_distribute(comm, w->all, &w->distributed, &w->mine));
  memcpy(w->distributed.dims, amped_input_info(w->input)->dims, sizeof w->distributed.dims);
  AMPED_TRY(
      amped_stream_entries_hold(comm, w->s->head, &w->s->labels, w->all, w->mine->nnz, &w->held));
  AMPED_TRY(amped_comm_agree(comm, choose_entries(w, found)));
  amped_comm_sum_u64(comm, found, FATES);
  out->learnt = found[LEARN];
  out->held = found[HOLD];
  out->dropped = found[DROP];
  return AMPED_OK;
}

/* --- new rows --------------------------------------------------------------------------------- */

/* Set a row, of the rows' type, to its mode's prior; a bias becomes 0. */
static void set_prior(const work *w, int mode, void *to) {
  const amped_stream_rows *rows = w->s->rows;
  const uint64_t components = rows->ncomps - (w->s->head->biased ? 1 : 0);
  for (uint64_t c = 0; c < rows->ncomps; c++)
    amped_value_put(to, rows->type, c, c < components ? w->s->head->prior[mode] : 0.0);
}

/* Published history: set a new row to its start. like: the row that is copied in the growing mode.
 */
static void set_start(const work *w, int mode, uint64_t row, const void *like, void *to) {
  const amped_stream_rows *rows = w->s->rows;
  const amped_row_start start = amped_stream_batch_start_of(w->s->head, mode);
  const uint64_t components = rows->ncomps - (start.biased ? 1 : 0);
  if (mode == w->out->growing)
    memcpy(to, like, rows->ncomps * rows->type);
  for (uint64_t c = 0; c < components && mode != w->out->growing; c++)
    amped_value_put(to, rows->type, c, amped_row_start_entry(&start, components, mode, row, c));
}

/* True if all rows change: a published history learns entries. */
static bool changes_all(const work *w) {
  return is_published(w) && w->out->learnt > 0;
}

/* Decay the sums of a model history by `forget`. A row's own n decays when the row is touched. */
static void forget_sums(const work *w) {
  const amped_stream_rows *rows = w->s->rows;
  for (int m = 0; m < rows->order; m++)
    for (uint64_t i = 0; i < rows->width * rows->width; i++)
      rows->sums[m][i] *= w->s->head->forget;
}

/* Touched rows of a mode; NULL: no rows, or all rows. */
static const amped_touched *touched_of(const work *w, int mode) {
  return w->batch != NULL && !changes_all(w) ? amped_stream_batch_touched(w->batch, mode) : NULL;
}

/* Number of touched rows below `row`. */
static uint64_t touched_before(const amped_touched *t, uint64_t row) {
  return t != NULL ? amped_sort_find(t->rows, t->count, row) : 0;
}

/* Fill `piece` with the starts of new rows first .. first + count of a mode. like: the row that is
 * copied in the growing mode. */
static void set_piece(const work *w, int mode, uint64_t first, uint64_t count, const void *like,
                      char *piece) {
  const amped_touched *t = touched_of(w, mode);
  const uint64_t bytes = w->s->rows->ncomps * w->s->rows->type;
  const uint64_t end = touched_before(t, first + count);
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++) {
    set_prior(w, mode, piece + i * bytes);
    if (changes_all(w))
      set_start(w, mode, first + i, like, piece + i * bytes);
  }
#pragma omp parallel for schedule(static)
  for (uint64_t k = mode == w->out->growing ? touched_before(t, first) : end; k < end; k++)
    memcpy(piece + (t->rows[k] - first) * bytes, like, bytes);
}

/* Has an old row of the growing mode learnt an entry? */
static bool has_learnt(const work *w, uint64_t row) {
  return (w->learnt[row / 64] >> row % 64 & 1) != 0;
}

/* Old row number k of the growing mode, in its order. */
static uint64_t row_at(const work *w, uint64_t k) {
  return w->order != NULL ? w->order[k] : k;
}

/* Rank 0: *order = rows in order of the values of their labels; NULL: that is the order of
 * indices. */
static amped_status order_rows(const work *w, const amped_labels *labels, uint64_t **order) {
  double *values = NULL;
  amped_status status = AMPED_OK;
  bool ascends = true;
  AMPED_TRY(amped_calloc(&values, labels->count, sizeof *values, "the values of labels"));
  status = amped_label_values(labels, values);
  for (uint64_t k = 1; k < labels->count; k++)
    ascends = ascends && values[k - 1] <= values[k];
  amped_free(values);
  if (status != AMPED_OK || ascends)
    return status;
  AMPED_TRY(amped_label_order_warn(labels, amped_input_path(w->input), ""));
  AMPED_TRY(amped_alloc(order, labels->count, sizeof **order, "the order of labels"));
  return amped_label_order(labels, *order);
}

/* Collective; the status is agreed. Find the order of the growing mode's old rows. Labels that are
 * numbers, dates or times are ordered by their values, as a table may have its rows in any order.
 */
static amped_status find_order(work *w) {
  const amped_comm *comm = w->s->comm;
  const int m = w->out->growing;
  const amped_labels *labels = w->s->labels.all;
  const uint64_t count = w->old_dims[m];
  amped_status status = AMPED_OK;
  if (labels != NULL && labels[m].count == count &&
      amped_label_kind_of(&labels[m]) != AMPED_LABELS_TEXT)
    status = order_rows(w, &labels[m], &w->order);
  AMPED_TRY(amped_comm_agree(comm, status));
  bool has_order = w->order != NULL;
  amped_comm_broadcast(comm, &has_order, sizeof has_order);
  if (!has_order)
    return AMPED_OK;
  if (w->order == NULL)
    status = amped_alloc(&w->order, count, sizeof *w->order, "the order of labels");
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, w->order, count * sizeof *w->order);
  return AMPED_OK;
}

/* Collective; the status is agreed. Find the old rows of the growing mode that have learnt an
 * entry, their order, and the row that new rows copy: the last one of them, or the last one if
 * there is none. */
static amped_status find_like(work *w) {
  const int m = w->out->growing;
  const uint64_t count = m >= 0 ? w->old_dims[m] : 0;
  uint64_t last = count - 1;
  if (count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_comm_agree(w->s->comm, amped_alloc(&w->learnt, count / 64 + 1, sizeof *w->learnt,
                                                     "rows that have learnt something")));
  AMPED_TRY(amped_stream_rows_learnt(w->s->comm, w->s->rows, w->s->head, m, count, w->learnt));
  AMPED_TRY(find_order(w));
  while (last > 0 && !has_learnt(w, row_at(w, last)))
    last--;
  w->like = row_at(w, has_learnt(w, row_at(w, last)) ? last : count - 1);
  return AMPED_OK;
}

/* An old row of the growing mode that has learnt an entry, and the value of its label. */
typedef struct place {
  double value;
  uint64_t row;
} place;

static int compare_places(const void *x, const void *y) {
  const place *a = x;
  const place *b = y;
  if (a->value != b->value)
    return a->value < b->value ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* The last place whose value is not above this one, or the first place. count > 0. */
static uint64_t place_before(const place *places, uint64_t count, double value) {
  uint64_t from = 0;
  uint64_t to = count;
  while (from < to) {
    const uint64_t middle = from + (to - from) / 2;
    if (places[middle].value <= value)
      from = middle + 1;
    else
      to = middle;
  }
  return places[from > 0 ? from - 1 : 0].row;
}

/* Rank 0: values of the growing mode's labels, old and added ones, in one form. *values = NULL:
 * there is no such form, or there are no labels. */
static amped_status value_labels(const work *w, double **values) {
  const int m = w->out->growing;
  const amped_labels *of[] = {&w->s->labels.all[m], &w->s->labels.added[m]};
  amped_labels both = {.count = 0};
  amped_status status = AMPED_OK;
  if (of[0]->count != w->old_dims[m] || of[0]->count + of[1]->count != w->s->rows->dims[m])
    return AMPED_OK;
  AMPED_GO(done, amped_labels_join(of[0], of[1], &both));
  if (amped_label_kind_of(&both) == AMPED_LABELS_TEXT)
    goto done;
  AMPED_GO(done, amped_calloc(values, both.count, sizeof **values, "the values of labels"));
  status = amped_label_values(&both, *values);
done:
  amped_labels_free(&both);
  return status;
}

/* Rank 0: likes[i] = the last row before new row i, by the values of labels, that has learnt an
 * entry; the first row that has, if none is before it. *late: some such row is not w->like. */
static amped_status list_likes(const work *w, uint64_t count, uint64_t *likes, bool *late) {
  const uint64_t old = w->old_dims[w->out->growing];
  double *values = NULL;
  place *places = NULL;
  uint64_t known = 0;
  amped_status status = AMPED_OK;
  AMPED_GO(done, value_labels(w, &values));
  if (values == NULL)
    goto done;
  AMPED_GO(done, amped_alloc(&places, old, sizeof *places, "rows that have learnt something"));
  for (uint64_t i = 0; i < old; i++)
    if (has_learnt(w, i))
      places[known++] = (place){values[i], i};
  if (known == 0)
    goto done;
  qsort(places, known, sizeof *places, compare_places);
  for (uint64_t i = 0; i < count; i++) {
    likes[i] = place_before(places, known, values[old + i]);
    *late = *late || likes[i] != w->like;
  }
done:
  amped_free(values);
  amped_free(places);
  return status;
}

/* Collective; the status is agreed. Find the row that each new row of the growing mode copies, if
 * some of these have labels before the last row that has learnt an entry: a month that comes late.
 */
static amped_status find_likes(work *w) {
  const amped_comm *comm = w->s->comm;
  const int m = w->out->growing;
  const uint64_t count = m >= 0 ? w->s->rows->dims[m] - w->old_dims[m] : 0;
  bool late = false;
  if (count == 0 || w->learnt == NULL)
    return AMPED_OK;
  amped_status status = amped_alloc(&w->likes, count, sizeof *w->likes, "the rows that are copied");
  if (status == AMPED_OK && comm->rank == 0 && w->s->labels.all != NULL &&
      w->s->labels.added != NULL)
    status = list_likes(w, count, w->likes, &late);
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, &late, sizeof late);
  w->out->late = late;
  if (late) {
    amped_comm_broadcast(comm, w->likes, count * sizeof *w->likes);
    return AMPED_OK;
  }
  amped_free(w->likes);
  w->likes = NULL;
  return AMPED_OK;
}

/* Note a row that rows with entries copy. */
static void note_like(amped_learnt *out, uint64_t like) {
  out->likes += out->likes == 0 || like != out->like;
  out->like = like;
}

/* Is an old row touched that has learnt nothing so far? */
static bool is_first(const work *w, const amped_touched *t, uint64_t row) {
  const uint64_t at = has_learnt(w, row) ? t->count : touched_before(t, row);
  return at < t->count && t->rows[at] == row;
}

/* Set touched old rows of the growing mode that have learnt nothing so far to the last row before
 * them, in the mode's order, that has, or to the first one. buffer: memory for most + 1 rows. */
static amped_status set_first(work *w, uint64_t most, char *buffer) {
  const amped_stream_rows *r = w->s->rows;
  const int m = w->out->growing;
  const uint64_t count = w->old_dims[m];
  const amped_touched *t = touched_of(w, m);
  const uint64_t bytes = r->ncomps * r->type;
  uint64_t first = 0;
  if (touched_before(t, count) == 0)
    return AMPED_OK;
  while (row_at(w, first) != w->like && !has_learnt(w, row_at(w, first)))
    first++;
  uint64_t like = row_at(w, first);
  for (uint64_t k = 0, n = 1; k < count; k += n) {
    const uint64_t row = row_at(w, k);
    n = 1;
    like = has_learnt(w, row) ? row : like;
    if (!is_first(w, t, row))
      continue;
    while (k + n < count && n < most && row_at(w, k + n) == row + n && is_first(w, t, row + n))
      n++;
    AMPED_TRY(r->ops->get_factors(r->store, m, like, 1, buffer));
    for (uint64_t i = 0; i < n; i++)
      memcpy(buffer + (i + 1) * bytes, buffer, bytes);
    AMPED_TRY(r->ops->put_factors(r->store, m, row, n, buffer + bytes));
    w->out->first += n;
    note_like(w->out, like);
  }
  return AMPED_OK;
}

/* --- old rows that have learnt nothing ------------------------------------------------------- */

/* Collective; the status is agreed. *out = the rows that have learnt no entry, of old rows of a
 * mode: ascending and distinct, the same on every rank. */
static amped_status list_unlearnt(const work *w, int mode, const uint64_t *rows, uint64_t count,
                                  row_list *out) {
  static const char what[] = "rows that have learnt nothing";
  const amped_comm *comm = w->s->comm;
  uint64_t *bits = NULL;
  amped_status status = amped_alloc(&bits, count / 64 + 1, sizeof *bits, what);
  uint64_t learnt = 0;
  AMPED_GO(done, amped_comm_agree(comm, status));
  AMPED_GO(done, amped_stream_rows_touched(comm, w->s->rows, mode, count, rows, bits));
  for (uint64_t i = 0; i < count / 64 + 1; i++)
    learnt += (uint64_t)__builtin_popcountll(bits[i]);
  if (learnt == count)
    goto done;
  AMPED_GO(done, amped_comm_agree(
                     comm, amped_alloc(&out->rows, count - learnt, sizeof *out->rows, what)));
  for (uint64_t i = 0; i < count; i++)
    if (!(bits[i / 64] >> i % 64 & 1))
      out->rows[out->count++] = rows[i];
done:
  amped_free(bits);
  return status;
}

/* Rank 0: list the old rows of a mode that have held-out entries, and no training entries. */
static amped_status list_held(const work *w, int mode, amped_touched *out) {
  const amped_sptensor *held = &w->out->held_out;
  const amped_touched *t = touched_of(w, mode);
  uint64_t *old = NULL;
  uint64_t count = 0;
  AMPED_TRY(amped_alloc(&old, held->nnz, sizeof *old, "the rows of a batch"));
  for (uint64_t k = 0; k < held->nnz; k++) {
    const uint64_t row = held->indices[mode][k];
    const uint64_t at = touched_before(t, row);
    if (row < w->old_dims[mode] && (t == NULL || at == t->count || t->rows[at] != row))
      old[count++] = row;
  }
  const amped_status status = count > 0 ? amped_touched_of_indices(out, old, count, 1) : AMPED_OK;
  amped_free(old);
  return status;
}

/* Collective; the status is agreed. Find the old rows of a mode that have held-out entries, no
 * training entries, and have learnt nothing. */
static amped_status find_first_held(work *w, int mode) {
  const amped_comm *comm = w->s->comm;
  amped_touched t = {.count = 0};
  amped_status status = comm->rank == 0 ? list_held(w, mode, &t) : AMPED_OK;
  AMPED_GO(done, amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, &t.count, sizeof t.count);
  if (t.count == 0)
    goto done;
  if (comm->rank != 0)
    status = amped_alloc(&t.rows, t.count, sizeof *t.rows, "the rows of a batch");
  AMPED_GO(done, amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, t.rows, t.count * sizeof *t.rows);
  status = list_unlearnt(w, mode, t.rows, t.count, &w->first_held[mode]);
done:
  amped_touched_free(&t);
  return status;
}

/* Collective; the status is agreed. Find old rows that have entries in the batch and have learnt
 * nothing: a header declared them, or their entries were held out or had weight 0. The mode that
 * grows is left out. */
static amped_status find_first(work *w) {
  for (int m = 0; m < w->s->rows->order && !is_published(w); m++) {
    const amped_touched *t = touched_of(w, m);
    const uint64_t old = touched_before(t, w->old_dims[m]);
    if (m == w->out->growing)
      continue;
    if (old > 0)
      AMPED_TRY(list_unlearnt(w, m, t->rows, old, &w->first_learnt[m]));
    AMPED_TRY(find_first_held(w, m));
    w->out->firsts[m] = w->first_learnt[m].count + w->first_held[m].count;
  }
  return AMPED_OK;
}

static bool has_row(const row_list *list, uint64_t row) {
  if (list->count == 0)
    return false;
  const uint64_t at = amped_sort_find(list->rows, list->count, row);
  return at < list->count && list->rows[at] == row;
}

/* Is a row of a mode new, or has it learnt nothing so far? */
static bool is_new_row(const work *w, int mode, uint64_t row) {
  return row >= w->old_dims[mode] || has_row(&w->first_learnt[mode], row) ||
         has_row(&w->first_held[mode], row);
}

/* --- starts ---------------------------------------------------------------------------------- */

/* The row that new row `first` of the growing mode copies. *count, at least 1: new rows from there
 * on; becomes the number of these that copy the same row. */
static uint64_t like_of(const work *w, uint64_t first, uint64_t *count) {
  const uint64_t at = first - w->old_dims[w->out->growing];
  uint64_t n = 1;
  if (w->likes == NULL)
    return w->like;
  while (n < *count && w->likes[at + n] == w->likes[at])
    n++;
  *count = n;
  return w->likes[at];
}

/* Store the starts of all new rows of a mode. buffer: memory for most + 1 rows. */
static amped_status set_new(work *w, int mode, uint64_t most, char *buffer) {
  const amped_stream_rows *r = w->s->rows;
  const uint64_t dim = r->dims[mode];
  const amped_touched *t = touched_of(w, mode);
  char *piece = buffer + r->ncomps * r->type;
  if (mode == w->out->growing && w->learnt != NULL)
    AMPED_TRY(set_first(w, most, buffer));
  for (uint64_t i = w->old_dims[mode], count = 0; i < dim; i += count) {
    count = dim - i < most ? dim - i : most;
    if (mode == w->out->growing) {
      const uint64_t like = like_of(w, i, &count);
      AMPED_TRY(r->ops->get_factors(r->store, mode, like, 1, buffer));
      if (changes_all(w) || touched_before(t, i + count) > touched_before(t, i))
        note_like(w->out, like);
    }
    set_piece(w, mode, i, count, buffer, piece);
    AMPED_TRY(r->ops->put_factors(r->store, mode, i, count, piece));
  }
  return AMPED_OK;
}

/* Set new rows to their prior, or, in the growing mode, to the row that they copy; for a published
 * history to their starts. Old rows of the growing mode that learn their first entries are copies,
 * too. */
static amped_status set_rows(work *w) {
  amped_stream_rows *rows = w->s->rows;
  const uint64_t bytes = rows->ncomps * rows->type;
  const uint64_t most = bytes < PIECE ? PIECE / bytes : 1;
  char *buffer = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_alloc(&buffer, most + 1, bytes, "new rows"));
  for (int m = 0; m < rows->order && status == AMPED_OK; m++) {
    const amped_touched *t = touched_of(w, m);
    w->out->touched[m] = changes_all(w) ? rows->dims[m] : t != NULL ? t->count : 0;
    status = set_new(w, m, most, buffer);
  }
  amped_free(buffer);
  return status;
}

/* --- changed rows ----------------------------------------------------------------------------- */

static bool is_own(const amped_stream_rows *rows, uint64_t row) {
  return rows->nranks == 1 || amped_stream_owner(row, rows->nranks) == rows->rank;
}

/* List own rows among the first `count` touched rows, and return their number. An owner's rows have
 * consecutive numbers, so a row's number gives its place in `out`. */
static uint64_t list_touched(const amped_stream_rows *rows, const amped_touched *t, uint64_t count,
                             uint64_t *out) {
  uint64_t first = UINT64_MAX;
  uint64_t own = 0;
#pragma omp parallel for schedule(static) reduction(min : first) reduction(+ : own)
  for (uint64_t k = 0; k < count; k++)
    if (is_own(rows, t->rows[k])) {
      first = amped_touched_number(t, k) < first ? amped_touched_number(t, k) : first;
      own++;
    }
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < count; k++)
    if (is_own(rows, t->rows[k]))
      out[amped_touched_number(t, k) - first] = t->rows[k];
  return own;
}

/* List a mode's changed own rows: touched old rows, then all new rows. */
static amped_status list_change(const work *w, int mode, const amped_touched *t) {
  const amped_stream_rows *rows = w->s->rows;
  const uint64_t old = changes_all(w) ? 0 : w->old_dims[mode];
  const uint64_t before = amped_stream_own_rows(old, rows->rank, rows->nranks);
  const uint64_t own = amped_stream_own_rows(rows->dims[mode], rows->rank, rows->nranks);
  const uint64_t touched = touched_before(t, old);
  amped_stream_change *c = &w->out->change;
  AMPED_TRY(amped_alloc(&c->indices[mode], touched + own - before, sizeof *c->indices[mode],
                        "the rows of a batch"));
  if (t != NULL)
    c->count[mode] = list_touched(rows, t, touched, c->indices[mode]);
#pragma omp parallel for schedule(static)
  for (uint64_t slot = before; slot < own; slot++)
    c->indices[mode][c->count[mode] + slot - before] =
        amped_stream_index(slot, rows->rank, rows->nranks);
  c->count[mode] += own - before;
  return AMPED_OK;
}

static amped_status find_change(const work *w) {
  w->out->change.rows = w->s->rows;
  for (int m = 0; m < w->s->rows->order; m++)
    AMPED_TRY(list_change(w, m, touched_of(w, m)));
  return AMPED_OK;
}

/* --- parts of a batch ------------------------------------------------------------------------- */

/* Collective; the status is agreed. Errors at all entries; held: only at held-out entries. */
static amped_status find_errors(const work *w, bool held, amped_errors *out) {
  const double began = amped_time();
  amped_trace_begin(AMPED_PHASE_ERRORS, AMPED_NO_NUMBER);
  const amped_status status =
      amped_stream_entries_errors(w->s->comm, w->s->rows, w->s->head, held, out);
  amped_trace_end();
  w->out->evaluate_sec += amped_time() - began;
  return status;
}

/* Mark own entries with a row that is new or has learnt nothing, not counting the mode that grows,
 * and return their number. */
static uint64_t mark_new(const work *w, bool *is_new) {
  const amped_sptensor *mine = w->mine;
  uint64_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
  for (uint64_t k = 0; k < mine->nnz; k++) {
    is_new[k] = false;
    for (int m = 0; m < mine->order; m++)
      is_new[k] = is_new[k] || (m != w->out->growing && is_new_row(w, m, mine->indices[m][k]));
    count += is_new[k];
  }
  return count;
}

/* Collective; the status is agreed. Find the errors at marked entries. */
static amped_status find_errors_at(const work *w, const bool *marks, amped_errors *out) {
  AMPED_TRY(amped_stream_entries_enter(w->s->comm, w->s->rows, w->mine, marks));
  return find_errors(w, true, out);
}

/* Collective; the status is agreed. Find the errors before learning at entries with a new row, and
 * at the others: a difference of sums would lose small errors beside a large one. These are
 * forecasts of different kinds: a new user is an average one. */
static amped_status find_forecasts(const work *w) {
  const amped_comm *comm = w->s->comm;
  amped_learnt *out = w->out;
  bool *is_new = NULL;
  uint64_t count = 0;
  amped_status status = amped_alloc(&is_new, w->mine->nnz > 0 ? w->mine->nnz : 1, sizeof *is_new,
                                    "the marks of entries with new rows");
  AMPED_GO(done, amped_comm_agree(comm, status));
  count = mark_new(w, is_new);
  amped_comm_sum_u64(comm, &count, 1);
  out->before_known = out->before;
  if (count > 0) {
    AMPED_GO(done, find_errors_at(w, is_new, &out->before_new));
    for (uint64_t k = 0; k < w->mine->nnz; k++)
      is_new[k] = !is_new[k];
    AMPED_GO(done, find_errors_at(w, is_new, &out->before_known));
    AMPED_GO(done, amped_stream_entries_enter(comm, w->s->rows, w->mine, w->held));
  }
done:
  amped_free(is_new);
  return status;
}

/* The order of modes in the sweeps over batch `number`. Starts of rows take the streams of random
 * numbers below AMPED_MAX_ORDER, and batches the others. */
static amped_mode_order order_of(const work *w, uint64_t number) {
  amped_mode_order order = {
      .random = w->s->random_order, .seed = w->s->head->seed, .stream = AMPED_MAX_ORDER + number};
  if (w->out->growing >= 0)
    order.modes[order.count++] = w->out->growing;
  for (int m = 0; m < w->s->rows->order; m++)
    if (m != w->out->growing)
      order.modes[order.count++] = m;
  return order;
}

/* Collective; the status is agreed. Start rows that have learnt nothing, and run the sweeps over
 * the batch. */
static amped_status fit(work *w) {
  const amped_stream *s = w->s;
  amped_mode_times times = {0.0, 0.0, 0.0, 0.0, 0.0};
  if (w->batch != NULL)
    AMPED_TRY(amped_stream_batch_start(w->batch, s->head, s->rows));
  const uint64_t number = s->head->batches + 1;
  const amped_mode_order *order = &w->out->order;
  w->out->sweeps = s->sweeps;
  w->out->order = order_of(w, number);
  const amped_status status =
      is_published(w)
          ? amped_stream_published_learn(w->batch, s->head, s->rows, w->old_dims, number, s->sweeps,
                                         order, &times, &w->out->sweep_sec)
          : amped_stream_batch_learn(w->batch, s->head, s->rows, number, s->sweeps, order, &times,
                                     &w->out->sweep_sec);
  w->out->rows_sec = times.mttkrp + times.solve;
  w->out->exchange_sec = times.exchange;
  return status;
}

/* Check that the rows of grown modes fit in memory. Every index up to the largest is a row, so one
 * wrong index can ask for more rows than any memory holds. The status is this rank's own. */
static amped_status check_growth(const work *w) {
  const amped_state_head *h = w->s->head;
  const uint64_t *dims = amped_input_info(w->input)->dims;
  const uint64_t budget = amped_mem_node_available();
  const amped_labels *labels = w->s->labels.all;
  const amped_labels none = {.count = 0};
  char need[32];
  char have[32];
  char mode[128];
  for (int m = 0; m < h->order; m++) {
    uint64_t bytes = UINT64_MAX;
    if (!amped_mul(dims[m], (uint64_t)h->ncomps * h->type, &bytes))
      bytes = UINT64_MAX;
    if (dims[m] > h->dims[m] && bytes > (budget > 0 ? budget : UINT64_MAX - 1))
      return amped_error(
          AMPED_FAILED, amped_input_path(w->input),
          "gives %s %" PRIu64 " rows, and the state has %" PRIu64
          "; they need at least %s of memory and %s are free; correct that index, "
          "or begin a state from a table, whose labels may be any numbers",
          amped_format_mode(mode, sizeof mode, m, labels != NULL ? &labels[m] : &none), dims[m],
          h->dims[m], amped_format_bytes(need, bytes), amped_format_bytes(have, budget));
  }
  return AMPED_OK;
}

/* Collective; the status is agreed. All work before the first sweep: entries, rows, and the batch's
 * tensor. */
static amped_status load(work *w, int growing) {
  const amped_stream *s = w->s;
  const double began = amped_time();
  amped_trace_begin(AMPED_PHASE_LOAD, AMPED_NO_NUMBER);
  AMPED_TRY(take_entries(w, growing));
  w->out->times.entries = amped_time() - began;
  AMPED_TRY(amped_comm_agree(s->comm, check_growth(w)));
  AMPED_TRY(
      amped_comm_agree(s->comm, amped_stream_rows_grow(s->rows, amped_input_info(w->input)->dims)));
  if (w->out->learnt > 0)
    AMPED_TRY(amped_stream_batch_create(s->comm, s->worker, s->head, s->rows,
                                        amped_input_path(w->input), w->learn, &w->out->times,
                                        &w->batch));
  const double loaded = amped_time();
  amped_trace_begin(AMPED_PHASE_INIT, AMPED_NO_NUMBER);
  AMPED_TRY(find_like(w));
  AMPED_TRY(find_likes(w));
  AMPED_TRY(find_first(w));
  AMPED_TRY(amped_comm_agree(s->comm, set_rows(w)));
  forget_sums(w);
  AMPED_TRY(amped_stream_entries_enter(s->comm, s->rows, w->mine, w->held));
  amped_trace_end();
  amped_trace_end();
  w->out->times.start = amped_time() - loaded;
  w->out->load_sec = amped_time() - began;
  return AMPED_OK;
}

amped_status amped_stream_learn(const amped_stream *stream, amped_input *batch, int growing,
                                amped_learnt *out) {
  work w = {.s = stream, .input = batch, .out = out};
  memset(out, 0, sizeof *out);
  memcpy(w.old_dims, stream->rows->dims, sizeof w.old_dims);
  const amped_status status = learn(&w, growing);
  const double learnt = amped_time();
  amped_trace_begin(AMPED_PHASE_FREE, AMPED_NO_NUMBER);
  amped_stream_batch_destroy(w.batch);
  amped_sptensor_free(&w.some);
  amped_free(w.held);
  amped_free(w.learnt);
  amped_free(w.order);
  amped_free(w.likes);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(w.first_learnt[m].rows);
    amped_free(w.first_held[m].rows);
  }
  amped_stream_entries_free(stream->comm, &w.distributed);
  amped_trace_end();
  out->times.end += amped_time() - learnt;
  return status;
}

amped_status amped_stream_errors(const amped_stream *stream, const amped_sptensor *entries,
                                 amped_errors *out) {
  amped_sptensor distributed;
  const amped_sptensor *mine = NULL;
  AMPED_TRY(amped_stream_entries_distribute(stream->comm, entries, &distributed, &mine));
  amped_status status = amped_stream_entries_enter(stream->comm, stream->rows, mine, NULL);
  if (status == AMPED_OK)
    status = amped_stream_entries_errors(stream->comm, stream->rows, stream->head, false, out);
  amped_stream_entries_free(stream->comm, &distributed);
  return status;
}
