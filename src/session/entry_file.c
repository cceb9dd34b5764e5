/* Rank 0 reads a file of entries slab by slab and broadcasts each; every rank takes its own
 * entries. */
#include "session/entry_file.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/sort.h"
#include "load/input.h"
#include "load/value_sample.h"
#include "tensor/completion.h"
#include "tensor/format.h"
#include "tensor/sptensor.h"
#include "text/index_match.h"
#include "text/intern.h"

/* Entries that are read and sent at a time. */
#define SLAB (UINT64_C(1) << 16)

typedef struct entry_file {
  const amped_session *session;
  amped_input *input;
  bool weighs;                             /* values are weights, from 0 to most */
  double most;                             /* the largest valid magnitude of a value */
  amped_index_match rows[AMPED_MAX_ORDER]; /* rank 0: the file's indices -> indices of the tensor */
  uint64_t found[AMPED_MAX_ORDER];         /* rank 0: entries whose index the tensor has */
  const amped_labels *of_tensor;           /* rank 0: labels of the tensor */
  void *read_indices[AMPED_MAX_ORDER];     /* rank 0: a slab, in the file's index types */
  void *read_values;
  amped_labels labels[AMPED_MAX_ORDER]; /* rank 0: labels of the file */
  uint64_t *indices;                    /* [order][SLAB] indices of the tensor, or AMPED_NO_ROW */
  double *values;                       /* [SLAB] */
} entry_file;

static amped_index_side tensor_side(const entry_file *f) {
  const amped_plan *plan = &f->session->plan;
  return (amped_index_side){f->session->options->input, plan->order, plan->dims, f->of_tensor};
}

static amped_index_side file_side(const entry_file *f) {
  const amped_tensor_info *info = amped_input_info(f->input);
  return (amped_index_side){amped_input_path(f->input), info->order, info->dims, f->labels};
}

/* Rank 0: allocate a slab in the file's types, read the labels, and match them. */
static amped_status begin(entry_file *f) {
  const amped_tensor_info *info = amped_input_info(f->input);
  const amped_index_side known = tensor_side(f);
  const amped_index_side file = file_side(f);
  for (int m = 0; m < info->order; m++) {
    AMPED_TRY(amped_alloc(&f->read_indices[m], SLAB, info->index_types[m], "a slab of entries"));
    AMPED_TRY(amped_input_labels(f->input, m, &f->labels[m]));
  }
  AMPED_TRY(amped_index_match_check_cells(&known, &file));
  amped_index_match_warn_names(&known, &file);
  for (int m = 0; m < info->order; m++) {
    AMPED_TRY(amped_index_match_create(&known, &file, m, &f->rows[m]));
    amped_index_match_say(&known, &file, m, &f->rows[m]);
  }
  return amped_alloc(&f->read_values, SLAB, info->value_type, "a slab of entries");
}

static void end(entry_file *f) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_index_match_free(&f->rows[m]);
    amped_labels_free(&f->labels[m]);
    amped_free(f->read_indices[m]);
  }
  amped_free(f->read_values);
  amped_free(f->indices);
  amped_free(f->values);
  amped_input_close(f->input);
}

/* An index that the tensor does not have, as a number of its own, so that cells can be compared: of
 * the file's label or index. */
#define UNKNOWN (UINT64_C(1) << 63)
static uint64_t unknown_of(const entry_file *f, int mode, uint64_t index) {
  char number[64];
  const amped_labels *labels = &f->labels[mode];
  const char *text = number;
  uint64_t length = 0;
  if (labels->count > 0)
    text = amped_label(labels, index, &length);
  else
    length = strlen(amped_label_text(labels, index, number, sizeof number));
  return UNKNOWN | amped_intern_hash(text, length);
}

static bool is_unknown(uint64_t index) {
  return index >= UNKNOWN;
}

/* Format a cell of the slab as the file has it, by labels or by indices from 1: "(u1, v7, 12)". */
static void cell_text(const entry_file *f, uint64_t i, char *text, size_t size) {
  const amped_tensor_info *info = amped_input_info(f->input);
  char label[64];
  size_t at = 0;
  text[0] = '\0';
  for (int m = 0; m < info->order && at < size; m++) {
    const uint64_t index = amped_index_get(f->read_indices[m], info->index_types[m], i);
    at += (size_t)snprintf(text + at, size - at, "%s%s%s", m > 0 ? ", " : "(",
                           amped_label_text(&f->labels[m], index, label, sizeof label),
                           m + 1 < info->order ? "" : ")");
  }
}

/* Rank 0: is this entry of the slab valid? */
static amped_status check_entry(const entry_file *f, uint64_t i) {
  const char *path = amped_input_path(f->input);
  const double value = f->values[i];
  const int order = f->session->plan.order;
  int beyond = 0;
  char cell[AMPED_MAX_ORDER * 68];
  char mode[128];
  while (f->weighs && beyond < order && !is_unknown(f->indices[(uint64_t)beyond * SLAB + i]))
    beyond++;
  const bool known = !f->weighs || beyond == order;
  if (known && value >= (f->weighs ? 0.0 : -f->most) && value <= f->most)
    return AMPED_OK;
  cell_text(f, i, cell, sizeof cell);
  if (!known)
    return amped_error(AMPED_BAD_INPUT, path,
                       "has a weight whose index in %s is outside %s: cell %s; give each "
                       "entry of that tensor one weight, and no other cell",
                       amped_format_mode(mode, sizeof mode, beyond, &f->of_tensor[beyond]),
                       f->session->options->input, cell);
  if (f->weighs)
    return amped_error(
        AMPED_BAD_INPUT, path,
        "cell %s has a weight of %g; give weights from 0 to %g; an entry of weight 0 is not learnt",
        cell, value, f->most);
  return amped_error(AMPED_BAD_INPUT, path,
                     "cell %s has the value %g, and the square of its error would overflow; remove "
                     "it, or scale all values to at most %g",
                     cell, value, f->most);
}

/* Rank 0: read a slab, and find its indices in the tensor. */
static amped_status read_slab(entry_file *f, uint64_t first, uint64_t count) {
  const amped_tensor_info *info = amped_input_info(f->input);
  AMPED_TRY(amped_input_read(f->input, info->has_copies ? 0 : AMPED_INPUT_LIST, first, count,
                             f->read_indices, f->read_values));
  amped_values_get(f->read_values, info->value_type, 0, count, f->values);
  for (int m = 0; m < info->order; m++) {
    uint64_t *indices = f->indices + (uint64_t)m * SLAB;
    amped_indices_get(f->read_indices[m], info->index_types[m], 0, count, indices);
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t found = amped_index_match_find(&f->rows[m], indices[i]);
      f->found[m] += found != AMPED_INDEX_UNKNOWN;
      indices[i] = found != AMPED_INDEX_UNKNOWN ? found : unknown_of(f, m, indices[i]);
    }
  }
  for (uint64_t i = 0; i < count; i++)
    AMPED_TRY(check_entry(f, i));
  return AMPED_OK;
}

/* Rank 0, after all slabs: refuse a file that shares no index of two modes with the tensor, or none
 * of one mode in which it spells labels of the tensor otherwise. Entries of a new month, or of new
 * users, share no index of one mode. */
static amped_status check_found(const entry_file *f) {
  const amped_index_side known = tensor_side(f);
  const amped_index_side file = file_side(f);
  const uint64_t nnz = amped_input_info(f->input)->nnz;
  int cold = -1; /* the first mode of which no index is shared */
  int count = 0;
  for (int m = file.order - 1; m >= 0; m--)
    if (f->found[m] == 0) {
      cold = m;
      count++;
    }
  bool refused = count > 1;
  if (count == 1)
    AMPED_TRY(amped_index_match_respelt(&known, &file, cold, &refused));
  return refused ? amped_index_match_refuse(&known, &file, cold, nnz) : AMPED_OK;
}

/* The sum of the hashes of a slab's cells with their values. */
static uint64_t hash_slab(const entry_file *f, uint64_t count) {
  const int order = f->session->plan.order;
  uint64_t hash = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0; m < order; m++)
      index[m] = f->indices[(uint64_t)m * SLAB + i];
    hash += amped_nonzero_hash(order, index, f->values[i]);
  }
  return hash;
}

/* Copy this rank's entries out of a slab: out->count entries of the file, from out->first on. */
static amped_status take_slab(const entry_file *f, uint64_t first, uint64_t count, void *context) {
  amped_entry_set *out = context;
  const amped_plan *plan = &f->session->plan;
  out->hash += hash_slab(f, count);
  for (uint64_t i = 0; i < count; i++) {
    if (first + i < out->first || first + i >= out->first + out->count)
      continue;
    const uint64_t to = first + i - out->first;
    out->values[to] = amped_value_map_to(plan->map, f->values[i]);
    out->cells[to] = amped_mix64((uint64_t)out->order);
    for (int m = 0; m < out->order; m++) {
      const uint64_t index = f->indices[(uint64_t)m * SLAB + i];
      out->cells[to] = amped_hash_index(out->cells[to], index);
      out->positions[m][to] =
          is_unknown(index) ? AMPED_NO_ROW : amped_plan_position(plan, m, index);
    }
  }
  return AMPED_OK;
}

/* Allocate this rank's equal share of the file's entries. */
static amped_status make_room(const entry_file *f, amped_entry_set *out) {
  const amped_comm *comm = &f->session->comm;
  const uint64_t nnz = amped_input_info(f->input)->nnz;
  const uint64_t ranks = (uint64_t)comm->nranks;
  const uint64_t share = nnz / ranks;
  const uint64_t rest = nnz % ranks;
  const uint64_t me = (uint64_t)comm->rank;
  AMPED_TRY(amped_entry_set_create(out, f->session->plan.order, share + (me < rest ? 1 : 0)));
  out->first = me * share + (me < rest ? me : rest);
  return AMPED_OK;
}

/* Processes a slab, which every rank has. Not collective; the status is this rank's own. */
typedef amped_status take_function(const entry_file *f, uint64_t first, uint64_t count,
                                   void *context);

/* Collective; the status is agreed. Read the whole file, and call `take` on every rank for each
 * slab. It can be called again. */
static amped_status read_all(entry_file *f, take_function *take, void *context) {
  const amped_comm *comm = &f->session->comm;
  const uint64_t order = (uint64_t)f->session->plan.order;
  const uint64_t nnz = amped_input_info(f->input)->nnz;
  amped_status status = AMPED_OK;
  if (f->indices == NULL)
    status = amped_alloc(&f->indices, order * SLAB, sizeof *f->indices, "entries");
  if (status == AMPED_OK && f->values == NULL)
    status = amped_alloc(&f->values, SLAB, sizeof *f->values, "entries");
  AMPED_TRY(amped_comm_agree(comm, status));
  for (uint64_t first = 0; first < nnz; first += SLAB) {
    const uint64_t count = nnz - first < SLAB ? nnz - first : SLAB;
    if (comm->rank == 0)
      status = read_slab(f, first, count);
    AMPED_TRY(amped_comm_agree(comm, status));
    for (uint64_t m = 0; m < order; m++)
      amped_comm_broadcast(comm, f->indices + m * SLAB, count * sizeof *f->indices);
    amped_comm_broadcast(comm, f->values, count * sizeof *f->values);
    AMPED_TRY(amped_comm_agree(comm, take(f, first, count, context)));
  }
  return amped_comm_agree(comm, comm->rank == 0 ? check_found(f) : AMPED_OK);
}

/* Collective; the status is agreed. Open the file, and check its order against the tensor's. */
static amped_status open_file(entry_file *f, const amped_labels *labels, const char *option,
                              const char *path, const amped_read_options *read) {
  const amped_session *session = f->session;
  amped_status status = AMPED_OK;
  amped_read_options known = *read;
  amped_read_options_know(&known, session->plan.order, session->comm.rank == 0 ? labels : NULL);
  f->of_tensor = labels;
  AMPED_TRY(amped_input_open(&session->comm, path, &known, false, &f->input));
  const int order = amped_input_info(f->input)->order;
  if (order != session->plan.order)
    status = amped_error(AMPED_BAD_INPUT, path,
                         "has order %d, the tensor %d; name entries of the "
                         "same tensor with %s",
                         order, session->plan.order, option);
  if (status == AMPED_OK && session->comm.rank == 0)
    status = begin(f);
  return amped_comm_agree(&session->comm, status);
}

/* --- weights ---------------------------------------------------------------------------------- */

/* Largest weight as a multiple of the smallest that leaves digits of both to sums in float. */
#define MOST_SPREAD 1e5

typedef struct weighing {
  uint64_t placed;    /* this rank's nonzeros that got a weight */
  uint64_t hash;      /* sum of the hashes of the cells with their weights */
  double least, most; /* smallest and largest weight above 0 */
} weighing;

static amped_status weigh_slab(const entry_file *f, uint64_t first, uint64_t count, void *context) {
  const amped_worker *worker = &f->session->worker;
  const int order = f->session->plan.order;
  weighing *w = context;
  const uint64_t *indices[AMPED_MAX_ORDER] = {NULL};
  (void)first;
  for (int m = 0; m < order; m++)
    indices[m] = f->indices + (uint64_t)m * SLAB;
  for (uint64_t i = 0; i < count; i++) {
    w->least = f->values[i] > 0.0 ? fmin(w->least, f->values[i]) : w->least;
    w->most = fmax(w->most, f->values[i]);
  }
  w->hash += hash_slab(f, count);
  return worker->format->row_fit->weigh(worker->tensor, count, indices, f->values, &w->placed);
}

/* Collective; the status is agreed. Check that every cell of the file is an entry of the tensor,
 * and is there once. Entries without a weight show in the moments. */
static amped_status check_cells(const entry_file *f, uint64_t placed) {
  const char *path = amped_input_path(f->input);
  const uint64_t nnz = amped_input_info(f->input)->nnz;
  amped_comm_sum_u64(&f->session->comm, &placed, 1);
  amped_status status = AMPED_OK;
  if (placed > f->session->plan.nnz)
    status = amped_error(AMPED_BAD_INPUT, path,
                         "repeats cells; amped_mpi convert adds their weights up");
  else if (placed < nnz)
    status =
        amped_error(AMPED_BAD_INPUT, path,
                    "has %" PRIu64 " weights, but %" PRIu64
                    " of their cells are not entries of %s; remove these (in an array, make them "
                    "NaN)",
                    nnz, nnz - placed, f->session->options->input);
  return amped_comm_agree(&f->session->comm, status);
}

/* Warn if float has no digits for small weights beside large ones. */
static void warn_of_spread(const entry_file *f, const weighing *w) {
  const amped_session *session = f->session;
  if (session->plan.value_type == AMPED_F32 && w->most > MOST_SPREAD * w->least)
    amped_warn("%s: weights from %.3g to %.3g: entries of small weights lose their digits beside "
               "large ones in float; use --precision=double",
               amped_input_path(f->input), w->least, w->most);
}

amped_status amped_entry_file_check_merged(const amped_session *session, const char *path,
                                           amped_duplicates of_weights) {
  const char *input = session->options->input;
  const amped_duplicates d = amped_session_info(session)->duplicates;
  amped_status status = AMPED_OK;
  if (session->comm.rank == 0 && amped_duplicates_merge(d) && amped_duplicates_merge(of_weights))
    status = amped_error(AMPED_BAD_INPUT, path,
                         "has several weights of a cell, of which %s has several rows, and %s "
                         "without the weights; give each cell one row: the weighted mean of its "
                         "values, and the sum of its weights",
                         strcmp(path, input) == 0 ? "it" : input, amped_duplicates_deed(d));
  return amped_comm_agree(&session->comm, status);
}

struct amped_entry_weights {
  entry_file f;
};

amped_status amped_entry_weights_open(const amped_session *session, const amped_labels *labels,
                                      const char *path, const amped_read_options *read,
                                      amped_entry_weights **out) {
  amped_status status = amped_calloc(out, 1, sizeof **out, "weights");
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  entry_file *f = &(*out)->f;
  f->session = session;
  f->weighs = true;
  f->most = session->plan.value_type == AMPED_F32 ? (double)FLT_MAX : DBL_MAX;
  AMPED_TRY(open_file(f, labels, "--weights", path, read));
  return amped_entry_file_check_merged(
      session, path,
      session->comm.rank == 0 ? amped_input_info(f->input)->duplicates : AMPED_DUPLICATES_UNKNOWN);
}

uint64_t amped_entry_weights_slab_bytes(const amped_plan *plan) {
  return 2 * ((uint64_t)plan->order + 1) * SLAB *
         sizeof(uint64_t); /* indices of the file and of the tensor */
}

uint64_t amped_entry_weights_bytes(const amped_entry_weights *weights) {
  const entry_file *f = &weights->f;
  return amped_input_list_bytes(f->input) + amped_entry_weights_slab_bytes(&f->session->plan);
}

void amped_entry_weights_close(amped_entry_weights *weights) {
  if (weights != NULL)
    end(&weights->f);
  amped_free(weights);
}

amped_status amped_entry_weights_apply(amped_entry_weights *weights, uint64_t *hash) {
  weighing w = {.least = INFINITY};
  *hash = 0;
  AMPED_TRY(read_all(&weights->f, weigh_slab, &w));
  *hash = w.hash;
  AMPED_TRY(check_cells(&weights->f, w.placed));
  warn_of_spread(&weights->f, &w);
  return AMPED_OK;
}

/* --- values of entries that have a weight ----------------------------------------------------- */

/* Cells of weights above 0, chosen at random with equal chances. */
typedef struct learnt_cells {
  uint64_t zeros;                     /* weights that are 0 */
  uint64_t seen;                      /* weights above 0 */
  uint64_t count;                     /* chosen cells */
  uint64_t cells[AMPED_VALUE_SAMPLE]; /* their hashes */
} learnt_cells;

static uint64_t hash_cell(int order, const uint64_t *index) {
  uint64_t hash = amped_mix64((uint64_t)order);
  for (int m = 0; m < order; m++)
    hash = amped_hash_index(hash, index[m]);
  return hash;
}

/* Choose among the cells of a slab: each cell that is seen replaces a random earlier one, with a
 * chance that keeps all chances equal. */
static amped_status choose_slab(const entry_file *f, uint64_t first, uint64_t count,
                                void *context) {
  learnt_cells *c = context;
  const int order = f->session->plan.order;
  (void)first;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t index[AMPED_MAX_ORDER];
    if (!(f->values[i] > 0.0)) {
      c->zeros++;
      continue;
    }
    for (int m = 0; m < order; m++)
      index[m] = f->indices[(uint64_t)m * SLAB + i];
    const uint64_t place =
        c->seen < AMPED_VALUE_SAMPLE ? c->seen : amped_mix64(c->seen) % (c->seen + 1);
    if (place < AMPED_VALUE_SAMPLE)
      c->cells[place] = hash_cell(order, index);
    c->seen++;
  }
  c->count = c->seen < AMPED_VALUE_SAMPLE ? c->seen : AMPED_VALUE_SAMPLE;
  return AMPED_OK;
}

/* Rank 0: add the values of the slab's chosen cells. `from` has the slab's indices and values. */
static void take_values(const learnt_cells *c, const amped_tensor_info *info, uint64_t count,
                        void *const *indices, const void *from, double *values, uint64_t *taken) {
  for (uint64_t i = 0; i < count && *taken < c->count; i++) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0; m < info->order; m++)
      index[m] = amped_index_get(indices[m], info->index_types[m], i);
    const uint64_t hash = hash_cell(info->order, index);
    if (bsearch(&hash, c->cells, c->count, sizeof hash, amped_compare_counts) != NULL)
      values[(*taken)++] = amped_value_get(from, info->value_type, i);
  }
}

/* Rank 0: read the tensor's input until the values of all chosen cells are found. */
static amped_status find_values(amped_input *input, learnt_cells *c, double *values,
                                uint64_t *taken) {
  const amped_tensor_info *info = amped_input_info(input);
  void *indices[AMPED_MAX_ORDER] = {NULL};
  void *from = NULL;
  amped_status status = AMPED_OK;
  qsort(c->cells, c->count, sizeof *c->cells, amped_compare_counts);
  for (int m = 0; m < info->order; m++)
    AMPED_GO(done, amped_alloc(&indices[m], SLAB, info->index_types[m], "a slab of entries"));
  AMPED_GO(done, amped_alloc(&from, SLAB, info->value_type, "a slab of entries"));
  for (uint64_t first = 0; first < info->nnz && *taken < c->count; first += SLAB) {
    const uint64_t count = info->nnz - first < SLAB ? info->nnz - first : SLAB;
    AMPED_GO(done, amped_input_read(input, info->has_copies ? 0 : AMPED_INPUT_LIST, first, count,
                                    indices, from));
    take_values(c, info, count, indices, from, values, taken);
  }
done:
  for (int m = 0; m < info->order; m++)
    amped_free(indices[m]);
  amped_free(from);
  return status;
}

amped_status amped_entry_weights_sample(amped_entry_weights *weights, double *values,
                                        uint64_t *count) {
  const amped_session *session = weights->f.session;
  learnt_cells c = {.zeros = 0};
  amped_status status = AMPED_OK;
  *count = 0;
  AMPED_TRY(read_all(&weights->f, choose_slab, &c));
  if (c.zeros > 0 && session->comm.rank == 0)
    status = find_values(session->input, &c, values, count);
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  amped_comm_broadcast(&session->comm, count, sizeof *count);
  return AMPED_OK;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Rank 0: warn if the file's repeated cells are there row by row, and the tensor's are not: a part
 * of a sum is then compared with a sum. */
static void warn_of_parts(const entry_file *f) {
  const amped_duplicates d = amped_session_info(f->session)->duplicates;
  const char *path = amped_input_path(f->input);
  if (amped_input_duplicates(f->input) == AMPED_DUPLICATES_KEEP && amped_duplicates_merge(d))
    amped_warn("%s: cells come several times, and each row counts; of the tensor's, %s. To compare "
               "them alike, make such cells one: amped_mpi convert %s FILE.h5 --duplicates=%s",
               path, amped_duplicates_deed(d), path, amped_duplicates_name(d));
}

amped_status amped_entry_file_load(const amped_session *session, const amped_labels *labels,
                                   const char *option, const char *path,
                                   const amped_read_options *read, amped_entry_set *out) {
  const amped_context context = amped_session_context(session);
  entry_file f = {.session = session, .most = AMPED_ERROR_MOST};
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  AMPED_GO(done, open_file(&f, labels, option, path, read));
  if (session->comm.rank == 0)
    warn_of_parts(&f);
  AMPED_GO(done, amped_comm_agree(&session->comm, make_room(&f, out)));
  AMPED_GO(done, read_all(&f, take_slab, out));
  out->given = amped_input_info(f.input)->nnz;
  for (int m = 0; m < out->order; m++)
    out->unknown[m] = out->given - f.found[m]; /* rank 0 has read them */
  amped_comm_broadcast(&session->comm, out->unknown, sizeof out->unknown);
  amped_entry_set_finish(&context, out);
done:
  if (status != AMPED_OK)
    amped_entry_set_free(out);
  end(&f);
  return status;
}
