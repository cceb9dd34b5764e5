/* Batch cut: batches out of one input, by slices of a mode or by boxes. */
#include "load/batch_cut.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/heartbeat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/option.h"
#include "base/printable.h"
#include "base/system_memory.h"
#include "tensor/format.h"
#include "tensor/label_order.h"
#include "text/index_match.h"
#include "text/intern.h"

/* Nonzeros read at a time. */
#define PIECE (UINT64_C(1) << 16)

/* No box: for an entry outside of all boxes, or after the last box. */
#define NO_BOX UINT64_MAX

/* Kinds of indices of the mode of slices. KNOWN: skipped. BARE: within the dims of the first fit,
 * but without a learnt entry outside of cuts. */
enum { NEW, BARE, KNOWN };

struct amped_batch_cut {
  amped_input *input;
  amped_batch_indices *x;
  const amped_tensor_info *info;
  int mode; /* -1: boxes */
  uint64_t batch;
  amped_boxes boxes;
  const amped_labels *earlier;   /* until the cut is open */
  const uint64_t *const *learnt; /* bits of each mode's rows; NULL: all have learnt an entry */
  uint64_t *cuts;                /* [dims[mode]] earlier batch of an index; 0: none. NULL: of all */
  unsigned char *kinds;          /* slices: [dims[mode]] kind of an index */
  amped_labels labels[AMPED_MAX_ORDER];
  /* The nonzeros: in memory, in the order of mode; or read from a copy, a piece at a time. */
  amped_sptensor sorted;
  int copy;
  void *raw[AMPED_MAX_ORDER], *raw_values; /* a piece in the input's types */
  uint64_t *indices[AMPED_MAX_ORDER];
  double *values;
  uint64_t first, count; /* range of the piece */
  uint64_t at;           /* slices: the next nonzero */
  uint64_t box;          /* boxes: the next one; NO_BOX: none */
  uint64_t known_nnz;    /* entries of the state's first fit, and of batches that were no cuts */
  const amped_known_list *known; /* cells of the state; NULL: unknown */
  uint64_t passed;               /* entries skipped because the first fit had their indices */
  uint64_t unlearnt;             /* such entries whose cell the state has certainly not learnt */
  uint64_t bare;                 /* boxes: such entries with a row that has learnt nothing */
  bool told;
  /* Per label: the state's row plus 2, 1 if it had none when it was looked up, 0 before that. */
  uint64_t *rows[AMPED_MAX_ORDER];
};

/* --- boxes ------------------------------------------------------------------------------------ */

/* Parses "D0xD1..", up to `end`. */
static bool parse_dims(const char *text, const char *end, bool zeros, int *order, uint64_t *dims) {
  for (*order = 0; *order < AMPED_MAX_ORDER && text < end; ++*order) {
    char number[32];
    const size_t n = strcspn(text, "x,");
    if (n == 0 || n >= sizeof number)
      return false;
    memcpy(number, text, n);
    number[n] = '\0';
    if (!amped_parse_count(number, &dims[*order]) || (dims[*order] == 0 && !zeros) ||
        dims[*order] > AMPED_MAX_DIM)
      return false;
    text += n + 1; /* skip the separator, or the end */
  }
  return text == end + 1;
}

bool amped_boxes_parse(const char *text, amped_boxes *out) {
  const char *comma = strchr(text, ',');
  int steps = 0;
  uint64_t sum = 0;
  memset(out, 0, sizeof *out);
  if (comma == NULL || comma[1] != '+' ||
      !parse_dims(text, comma, false, &out->order, out->first) ||
      !parse_dims(comma + 2, text + strlen(text), true, &steps, out->step))
    return false;
  for (int m = 0; m < steps; m++)
    sum |= out->step[m];
  return out->order >= AMPED_MIN_ORDER && steps == out->order && sum > 0;
}

static uint64_t box_of(const amped_boxes *b, const uint64_t *index) {
  uint64_t box = 0;
  for (int m = 0; m < b->order; m++) {
    if (index[m] < b->first[m])
      continue;
    if (b->step[m] == 0)
      return NO_BOX;
    const uint64_t k = (index[m] - b->first[m]) / b->step[m] + 1;
    box = k > box ? k : box;
  }
  return box;
}

/* --- nonzeros --------------------------------------------------------------------------------- */

/* Finds the natural order of the labels of c->mode, in which slices come whatever the order of the
 * rows. *order: the label that comes k-th, freed by the caller; NULL if it is the order of the
 * indices, or without labels. */
static amped_status find_order(const amped_batch_cut *c, uint64_t **order) {
  const amped_labels *labels = &c->labels[c->mode];
  char name[80];
  char of[96];
  bool same = true;
  *order = NULL;
  if (labels->count == 0)
    return AMPED_OK;
  if (amped_label_kind_of(labels) == AMPED_LABELS_TEXT)
    amped_warn("%s: labels of %s are not numbers, dates or times: batches come in alphabetical "
               "order, which may not be the order of time",
               amped_input_path(c->input), amped_format_mode(name, sizeof name, c->mode, labels));
  (void)snprintf(of, sizeof of, " of %s", amped_format_mode(name, sizeof name, c->mode, labels));
  AMPED_TRY(amped_label_order_warn(labels, amped_input_path(c->input), of));
  AMPED_TRY(amped_alloc(order, labels->count, sizeof **order, "the order of labels"));
  amped_status status = amped_label_order(labels, *order);
  for (uint64_t k = 0; k < labels->count && same && status == AMPED_OK; k++)
    same = (*order)[k] == k;
  if (status == AMPED_OK && !same)
    return AMPED_OK;
  amped_free(*order);
  *order = NULL;
  return status;
}

/* indices[k] = the place of indices[k] in `order`. */
static amped_status to_places(const uint64_t *order, uint64_t labels, uint64_t nnz,
                              uint64_t *indices) {
  uint64_t *place = NULL;
  AMPED_TRY(amped_alloc(&place, labels, sizeof *place, "the order of labels"));
  for (uint64_t k = 0; k < labels; k++)
    place[order[k]] = k;
  for (uint64_t k = 0; k < nnz; k++)
    indices[k] = place[indices[k]];
  amped_free(place);
  return AMPED_OK;
}

/* Reads and sorts all nonzeros, by the indices of a mode, or by the order of its labels. */
static amped_status sort_list(amped_batch_cut *c, const uint64_t *order) {
  const uint64_t nnz = c->info->nnz;
  amped_sptensor *t = &c->sorted;
  const uint64_t bytes = (uint64_t)c->info->order + 1 + AMPED_SORT_SCRATCH / sizeof(uint64_t);
  AMPED_TRY(amped_mem_check(amped_input_path(c->input), "its nonzeros, in the order of a mode,",
                            nnz * bytes * sizeof(uint64_t)));
  AMPED_TRY(amped_sptensor_create(t, c->info->order, nnz));
  memcpy(t->dims, c->info->dims, sizeof t->dims);
  for (uint64_t first = 0; first < nnz; first += PIECE) {
    const uint64_t n = nnz - first < PIECE ? nnz - first : PIECE;
    AMPED_TRY(amped_input_read(c->input, c->copy, first, n, c->raw, c->raw_values));
    for (int m = 0; m < t->order; m++)
      amped_indices_get(c->raw[m], c->info->index_types[m], 0, n, t->indices[m] + first);
    amped_values_get(c->raw_values, c->info->value_type, 0, n, t->values + first);
  }
  if (order == NULL)
    return amped_sptensor_sort(t, c->mode);
  uint64_t *indices = t->indices[c->mode];
  AMPED_TRY(to_places(order, c->labels[c->mode].count, nnz, indices));
  AMPED_TRY(amped_sptensor_sort(t, c->mode));
  for (uint64_t k = 0; k < nnz; k++)
    indices[k] = order[indices[k]];
  return AMPED_OK;
}

static amped_status read_piece(amped_batch_cut *c, uint64_t first) {
  const uint64_t left = c->info->nnz - first;
  c->first = first;
  c->count = left < PIECE ? left : PIECE;
  amped_heartbeat_step();
  if (c->sorted.nnz > 0)
    return AMPED_OK;
  AMPED_TRY(amped_input_read(c->input, c->copy, first, c->count, c->raw, c->raw_values));
  for (int m = 0; m < c->info->order; m++)
    amped_indices_get(c->raw[m], c->info->index_types[m], 0, c->count, c->indices[m]);
  amped_values_get(c->raw_values, c->info->value_type, 0, c->count, c->values);
  return AMPED_OK;
}

/* Gets nonzero k. */
static amped_status get(amped_batch_cut *c, uint64_t k, uint64_t *index, double *value) {
  const bool sorted = c->sorted.nnz > 0;
  if (k < c->first || k >= c->first + c->count)
    AMPED_TRY(read_piece(c, k));
  const uint64_t i = sorted ? k : k - c->first;
  for (int m = 0; m < c->info->order; m++)
    index[m] = sorted ? c->sorted.indices[m][i] : c->indices[m][i];
  *value = sorted ? c->sorted.values[i] : c->values[i];
  return AMPED_OK;
}

/* A growable batch. */
typedef struct gathered {
  amped_sptensor *t;
  uint64_t room;
} gathered;

static amped_status append(gathered *g, const uint64_t *index, double value) {
  amped_sptensor *t = g->t;
  if (t->nnz == g->room) {
    const uint64_t room = g->room > 0 ? 2 * g->room : PIECE;
    for (int m = 0; m < t->order; m++)
      AMPED_TRY(amped_realloc(&t->indices[m], room, sizeof *t->indices[m], "a batch"));
    AMPED_TRY(amped_realloc(&t->values, room, sizeof *t->values, "a batch"));
    g->room = room;
  }
  for (int m = 0; m < t->order; m++)
    t->indices[m][t->nnz] = index[m];
  t->values[t->nnz++] = value;
  return AMPED_OK;
}

/* --- life ------------------------------------------------------------------------------------- */

static amped_status make_room(amped_batch_cut *c) {
  const uint64_t n = c->info->nnz < PIECE ? c->info->nnz : PIECE;
  for (int m = 0; m < c->info->order; m++) {
    AMPED_TRY(amped_alloc(&c->raw[m], n, c->info->index_types[m], "a piece of a batch"));
    AMPED_TRY(amped_alloc(&c->indices[m], n, sizeof *c->indices[m], "a piece of a batch"));
    AMPED_TRY(amped_input_labels(c->input, m, &c->labels[m]));
    AMPED_TRY(
        amped_calloc(&c->rows[m], c->labels[m].count, sizeof *c->rows[m], "labels of a batch"));
  }
  AMPED_TRY(amped_alloc(&c->raw_values, n, c->info->value_type, "a piece of a batch"));
  return amped_alloc(&c->values, n, sizeof *c->values, "a piece of a batch");
}

/* --- earlier slices ----------------------------------------------------------------------------
 */

/* Space for the text of a label in the name of a batch. */
#define LABEL_BYTES 80

const char *amped_batch_cut_behind_file(const char *name, const char *path) {
  const char *folder_end = strrchr(path, '/');
  const char *file = folder_end != NULL ? folder_end + 1 : path;
  const size_t length = strlen(file);
  for (const char *at = strstr(name, file); at != NULL; at = strstr(at + 1, file))
    if ((at == name || at[-1] == '/') && strncmp(at + length, " (", 2) == 0)
      return at + length;
  return NULL;
}

bool amped_batch_cut_is(const char *name, const char *beginning) {
  const size_t length = strlen(name);
  return length > 0 && name[length - 1] == ')' && strstr(name, beginning) != NULL;
}

/* The name of a mode in names of slices. */
static void print_mode(int mode, const amped_labels *labels, char text[LABEL_BYTES]) {
  (void)snprintf(text, LABEL_BYTES, "mode %d", mode + 1);
  if (labels->name != NULL)
    (void)amped_printable_text(text, LABEL_BYTES, labels->name);
}

void amped_batch_cut_begin(int mode, const amped_labels *labels,
                           char text[AMPED_BATCH_CUT_BEGINNING]) {
  char name[LABEL_BYTES] = "box";
  if (mode >= 0)
    print_mode(mode, labels, name);
  (void)snprintf(text, AMPED_BATCH_CUT_BEGINNING, " (%s ", name);
}

/* Between the first label of a slice and its last. */
static const char between[] = " to ";

/* The name of a label in names of slices: its text. A hash follows if the text may be another
 * label's, too: if it is cut or printed in another way, or reads like a slice of several. */
static const char *name_label(const amped_labels *labels, uint64_t i, char text[LABEL_BYTES]) {
  uint64_t length = 0;
  char cut[LABEL_BYTES - 20];
  const char *name = amped_label_text(labels, i, text, LABEL_BYTES);
  if (labels->count == 0)
    return name;
  const char *label = amped_label(labels, i, &length);
  if (strlen(name) == length && memcmp(name, label, length) == 0 && strstr(name, between) == NULL)
    return name;
  (void)snprintf(text, LABEL_BYTES, "%s #%08" PRIx64, amped_label_text(labels, i, cut, sizeof cut),
                 amped_label_key(labels, i));
  return text;
}

/* Names of labels as batches have them, and the index of each. */
typedef struct label_names {
  const amped_labels *labels;
  uint64_t dim;
  amped_intern texts;
  uint64_t *index; /* plus 1; UINT64_MAX: of several labels. NULL: there are no labels, and names
                      are numbers */
} label_names;

/* Add the name of index i. Names before the first-th are certain. */
static amped_status add_name(label_names *n, const char *name, uint64_t i, uint64_t first) {
  const uint64_t length = strlen(name);
  const uint64_t count = n->texts.count;
  uint64_t id = 0;
  AMPED_TRY(amped_intern_add(&n->texts, amped_intern_hash(name, length), name, length, &id));
  if (id == count)
    n->index[id] = i + 1;
  else if (id >= first && n->index[id] != i + 1)
    n->index[id] = UINT64_MAX;
  return AMPED_OK;
}

static amped_status list_names(const amped_batch_cut *c, label_names *n) {
  const uint64_t dim = c->info->dims[c->mode];
  char text[LABEL_BYTES];
  n->labels = &c->labels[c->mode];
  n->dim = dim;
  if (n->labels->count == 0)
    return AMPED_OK; /* numbers */
  AMPED_TRY(amped_calloc(&n->index, 2 * dim, sizeof *n->index, "the names of slices"));
  for (uint64_t i = 0; i < dim; i++)
    AMPED_TRY(add_name(n, name_label(n->labels, i, text), i, 0));
  /* Older versions have the text alone, which several labels may have. */
  const uint64_t names = n->texts.count;
  for (uint64_t i = 0; i < dim; i++)
    AMPED_TRY(add_name(n, amped_label_text(n->labels, i, text, sizeof text), i, names));
  return AMPED_OK;
}

static bool find_name(const label_names *n, const char *text, size_t length, uint64_t *index) {
  if (n->index == NULL) {
    *index = amped_index_of_number(n->labels, n->dim, text, length);
    return *index != AMPED_INDEX_UNKNOWN;
  }
  const uint64_t id = amped_intern_find(&n->texts, amped_intern_hash(text, length), text, length);
  if (id == AMPED_INTERN_NONE || n->index[id] == UINT64_MAX)
    return false;
  *index = n->index[id] - 1;
  return true;
}

/* Finds the first and the last index of a slice from "A" or "A to B". */
static bool find_slice(const label_names *n, const char *text, size_t length, uint64_t *begin,
                       uint64_t *end) {
  if (find_name(n, text, length, begin)) {
    *end = *begin;
    return true;
  }
  for (const char *at = strstr(text, between); at != NULL && at < text + length;
       at = strstr(at + 1, between)) {
    const char *last = at + strlen(between);
    if (last < text + length && find_name(n, text, (size_t)(at - text), begin) &&
        find_name(n, last, (size_t)(text + length - last), end))
      return true;
  }
  return false;
}

/* Returns the part of a name behind FILE if a slice of this mode has it, for a slice of this input
 * (own), or of another; otherwise NULL. beginning: of that part. */
static const char *behind_slice(const amped_batch_cut *c, const char *name, const char *beginning,
                                bool own) {
  const char *same = amped_batch_cut_behind_file(name, amped_input_path(c->input));
  const char *behind = own ? same : NULL;
  for (const char *at = own || same != NULL ? NULL : strstr(name, beginning); at != NULL;
       at = strstr(at + 1, beginning))
    behind = at;
  const size_t length = behind != NULL ? strlen(behind) : 0;
  const size_t skipped = strlen(beginning);
  return length >= skipped + 2 && strncmp(behind, beginning, skipped) == 0 &&
                 behind[length - 1] == ')'
             ? behind
             : NULL;
}

/* Is an index within the dims of the first fit? Slices have either such indices or others. */
static bool is_old(const amped_batch_cut *c, uint64_t i) {
  return c->kinds[i] != NEW;
}

/* Marks the indices of earlier slices, of this input (own) or of others, and returns their number.
 * order: the index that comes k-th; NULL: k. */
static uint64_t mark_slices(amped_batch_cut *c, const uint64_t *order, const uint64_t *place,
                            const label_names *n, bool own) {
  char beginning[AMPED_BATCH_CUT_BEGINNING];
  uint64_t slices = 0;
  amped_batch_cut_begin(c->mode, &c->labels[c->mode], beginning);
  for (uint64_t k = 1; k < c->earlier->count; k++) { /* the first fit is no slice */
    const char *name = behind_slice(c, c->earlier->bytes + c->earlier->offsets[k], beginning, own);
    const char *text = name != NULL ? name + strlen(beginning) : NULL;
    uint64_t begin = 0;
    uint64_t end = 0;
    if (name == NULL || !find_slice(n, text, strlen(text) - 1, &begin, &end))
      continue;
    slices++;
    for (uint64_t p = place[begin]; p <= place[end]; p++) {
      const uint64_t i = order != NULL ? order[p] : p;
      if (is_old(c, i) == is_old(c, begin))
        c->cuts[i] = k + 1;
    }
  }
  return slices;
}

/* Finds out which indices earlier slices had, by the names of their batches. */
static amped_status find_earlier(amped_batch_cut *c, const uint64_t *order) {
  const uint64_t dim = c->info->dims[c->mode];
  label_names n = {.index = NULL};
  uint64_t *place = NULL;
  amped_status status = AMPED_OK;
  if (c->earlier == NULL || c->earlier->count < 2)
    return AMPED_OK;
  AMPED_GO(done, amped_calloc(&c->cuts, dim, sizeof *c->cuts, "the slices of earlier batches"));
  AMPED_GO(done, amped_alloc(&place, dim, sizeof *place, "the slices of earlier batches"));
  for (uint64_t k = 0; k < dim; k++)
    place[order != NULL ? order[k] : k] = k;
  AMPED_GO(done, list_names(c, &n));
  const uint64_t others = mark_slices(c, order, place, &n, false);
  if (mark_slices(c, order, place, &n, true) == 0 && others > 0)
    amped_say("%s: its slices come as earlier batches were cut, so that those that were learnt are "
              "recognised",
              amped_input_path(c->input));
  for (uint64_t i = 0; i < dim; i++)
    if (c->kinds[i] == KNOWN && c->cuts[i] > 0)
      c->kinds[i] = BARE;
done:
  amped_intern_free(&n.texts);
  amped_free(n.index);
  amped_free(place);
  return status;
}

/* Has a row of the state learnt an entry? */
static bool has_learnt(const amped_batch_cut *c, int mode, uint64_t row) {
  const uint64_t *bits = c->learnt != NULL ? c->learnt[mode] : NULL;
  return bits == NULL || (bits[row / 64] >> row % 64 & 1) != 0;
}

/* Finds the kinds of the indices of c->mode, before earlier slices are known. */
static amped_status find_kinds(amped_batch_cut *c) {
  const uint64_t dim = c->info->dims[c->mode];
  const uint64_t known = c->x->known[c->mode];
  AMPED_TRY(amped_calloc(&c->kinds, dim, 1, "the indices of a batch"));
  for (uint64_t i = 0; i < dim; i++) {
    const uint64_t row = amped_batch_indices_of(c->x, c->mode, &c->labels[c->mode], i);
    if (row < known)
      c->kinds[i] = has_learnt(c, c->mode, row) ? KNOWN : BARE;
  }
  return AMPED_OK;
}

static amped_status begin(amped_batch_cut *c) {
  AMPED_TRY(make_room(c));
  AMPED_TRY(amped_batch_indices_check(c->x, amped_input_path(c->input), c->info->order, c->labels));
  c->copy = !c->info->has_copies ? AMPED_INPUT_LIST : c->mode < 0 ? 0 : c->mode;
  if (c->mode < 0)
    return AMPED_OK; /* the first box makes a pass over all nonzeros, which checks them */
  uint64_t *order = NULL;
  AMPED_TRY(find_kinds(c));
  AMPED_TRY(find_order(c, &order));
  amped_status status = find_earlier(c, order);
  if (status == AMPED_OK && c->info->has_copies)
    status = amped_input_check(c->input, c->copy);
  if (status == AMPED_OK && (order != NULL || !c->info->has_copies))
    status = sort_list(c, order);
  amped_free(order);
  return status;
}

amped_status amped_batch_cut_open(amped_input *input, amped_batch_indices *x,
                                  const amped_batch_cut_request *request, amped_batch_cut **out) {
  amped_batch_cut *c = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&c, 1, sizeof *c, "the batches of an input"));
  c->input = input;
  c->x = x;
  c->info = amped_input_info(input);
  c->mode = request->mode;
  c->batch = request->batch;
  c->boxes = *request->boxes;
  c->known_nnz = request->known_nnz;
  c->known = request->known;
  c->earlier = request->earlier;
  c->learnt = request->learnt;
  amped_status status = begin(c);
  c->earlier = NULL;
  if (status != AMPED_OK) {
    amped_batch_cut_close(c);
    return status;
  }
  *out = c;
  return AMPED_OK;
}

void amped_batch_cut_close(amped_batch_cut *c) {
  if (c == NULL)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_labels_free(&c->labels[m]);
    amped_free(c->raw[m]);
    amped_free(c->indices[m]);
    amped_free(c->rows[m]);
  }
  amped_free(c->cuts);
  amped_free(c->kinds);
  amped_free(c->raw_values);
  amped_free(c->values);
  amped_sptensor_free(&c->sorted);
  amped_free(c);
}

const amped_labels *amped_batch_cut_labels(const amped_batch_cut *c) {
  return c->labels;
}

/* --- batches ---------------------------------------------------------------------------------- */

/* The state's row of an index, or AMPED_INDEX_UNKNOWN. */
static uint64_t row_of(amped_batch_cut *c, int mode, uint64_t i) {
  if (c->labels[mode].count == 0)
    return amped_batch_indices_of(c->x, mode, &c->labels[mode], i);
  uint64_t *row = &c->rows[mode][i];
  if (*row == 0) {
    const uint64_t found = amped_batch_indices_of(c->x, mode, &c->labels[mode], i);
    *row = found == AMPED_INDEX_UNKNOWN ? 1 : found + 2;
  }
  return *row == 1 ? AMPED_INDEX_UNKNOWN : *row - 2;
}

/* Are all rows of an entry within the dims of the first fit? */
static bool knew_all(amped_batch_cut *c, const uint64_t *index) {
  bool all = true;
  for (int m = 0; m < c->info->order && all; m++)
    all = row_of(c, m, index[m]) < c->x->known[m];
  return all;
}

/* Have all rows of an entry, which the first fit had, learnt an entry? */
static bool has_learnt_all(amped_batch_cut *c, const uint64_t *index) {
  bool all = true;
  for (int m = 0; m < c->info->order && all && c->learnt != NULL; m++)
    all = has_learnt(c, m, row_of(c, m, index[m]));
  return all;
}

/* Is the cell of an entry certainly none that the state has learnt or held out? */
static bool lacks(amped_batch_cut *c, const uint64_t *index) {
  uint64_t rows[AMPED_MAX_ORDER];
  for (int m = 0; m < c->info->order && c->known != NULL; m++) {
    rows[m] = row_of(c, m, index[m]);
    if (rows[m] == AMPED_INDEX_UNKNOWN)
      return true;
  }
  return amped_known_list_lacks(c->known, rows);
}

/* A slice under construction. */
typedef struct slice {
  uint64_t indices;    /* number of them */
  uint64_t begin, end; /* first and last index */
} slice;

/* Does the slice end before index i? The indices of an earlier slice make one slice again. */
static bool ends_before(const amped_batch_cut *c, const slice *s, uint64_t i) {
  const uint64_t cut = c->cuts != NULL && s->indices > 0 ? c->cuts[s->begin] : 0;
  if (s->indices == 0)
    return false;
  if (c->kinds[i] == KNOWN)
    return c->kinds[s->begin] == BARE;
  return c->kinds[i] != c->kinds[s->begin] || (c->cuts != NULL && c->cuts[i] != cut) ||
         (cut == 0 && s->indices == c->batch);
}

/* Gathers the next slice, from nonzero c->at on; nonzeros of an index are consecutive. */
static amped_status gather_slice(amped_batch_cut *c, gathered *g, slice *s) {
  uint64_t index[AMPED_MAX_ORDER];
  double value = 0.0;
  for (uint64_t last = UINT64_MAX; c->at < c->info->nnz; c->at++) {
    AMPED_TRY(get(c, c->at, index, &value));
    const uint64_t i = index[c->mode];
    const bool passes = c->kinds[i] == KNOWN;
    if (i != last && ends_before(c, s, i))
      break;
    if (i != last && !passes) {
      s->begin = s->indices++ == 0 ? i : s->begin;
      s->end = i;
    }
    last = i;
    c->passed += passes;
    if (passes)
      c->unlearnt += lacks(c, index);
    else
      AMPED_TRY(append(g, index, value));
  }
  return AMPED_OK;
}

/* Gathers the entries of box c->box, which then becomes the next box that has entries. */
static amped_status gather_box(amped_batch_cut *c, gathered *g) {
  uint64_t next = NO_BOX;
  for (uint64_t k = 0; k < c->info->nnz; k++) {
    uint64_t index[AMPED_MAX_ORDER];
    double value = 0.0;
    AMPED_TRY(get(c, k, index, &value));
    const uint64_t box = box_of(&c->boxes, index);
    if (box == c->box && knew_all(c, index)) {
      c->passed++;
      c->bare += !has_learnt_all(c, index);
      c->unlearnt += lacks(c, index);
    } else if (box == c->box)
      AMPED_TRY(append(g, index, value));
    else if (box > c->box && box < next)
      next = box;
  }
  c->box = next;
  return AMPED_OK;
}

static amped_status make_name(const amped_batch_cut *c, const char *what, char **out) {
  const char *path = amped_input_path(c->input);
  const uint64_t bytes = strlen(path) + strlen(what) + sizeof " ()";
  AMPED_TRY(amped_alloc(out, bytes, 1, "the name of a batch"));
  (void)snprintf(*out, bytes, "%s (%s)", path, what);
  return AMPED_OK;
}

static amped_status name_slice(const amped_batch_cut *c, uint64_t begin, uint64_t end, char **out) {
  const amped_labels *labels = &c->labels[c->mode];
  char mode[LABEL_BYTES];
  char first[LABEL_BYTES];
  char last[LABEL_BYTES];
  char what[300];
  print_mode(c->mode, labels, mode);
  const char *a = name_label(labels, begin, first);
  const char *b = name_label(labels, end, last);
  (void)snprintf(what, sizeof what, "%s %s%s%s", mode, a, begin == end ? "" : between,
                 begin == end ? "" : b);
  return make_name(c, what, out);
}

static amped_status next_slice(amped_batch_cut *c, gathered *g, char **name) {
  slice s = {.indices = 0};
  AMPED_TRY(gather_slice(c, g, &s));
  return g->t->nnz > 0 ? name_slice(c, s.begin, s.end, name) : AMPED_OK;
}

static amped_status next_box(amped_batch_cut *c, gathered *g, char **name) {
  char what[64];
  uint64_t box = 0;
  while (g->t->nnz == 0 && c->box != NO_BOX) {
    box = c->box;
    AMPED_TRY(gather_box(c, g));
  }
  (void)snprintf(what, sizeof what, "box %" PRIu64, box);
  return g->t->nnz > 0 ? make_name(c, what, name) : AMPED_OK;
}

void amped_batch_cut_recognise(amped_batch_cut *c, uint64_t nnz) {
  c->known_nnz -= nnz < c->known_nnz ? nnz : c->known_nnz;
}

/* Reports the skipped entries once, after the last batch. Two numbers of entries are certainly
 * never learnt: entries whose cells are not among the state's, and entries beyond the number that
 * the first fit and other files had. The warning has the larger number. */
static void tell_passed(amped_batch_cut *c) {
  const char *path = amped_input_path(c->input);
  const char *where = c->mode < 0 ? "in the first box" : "of indices in the first fit";
  const uint64_t more = c->passed > c->known_nnz ? c->passed - c->known_nnz : 0;
  const uint64_t never = more > c->unlearnt ? more : c->unlearnt;
  if (c->passed == 0 || c->told)
    return;
  c->told = true;
  if (never > 0)
    amped_warn("%s: %" PRIu64 " entries %s of %s are skipped, and at least %" PRIu64
               " of them are never learnt%s; stream late entries as a file of their own",
               path, c->passed, where, c->x->path, never,
               c->known != NULL && c->known->weighted ? ": they came late, or had weight 0" : "");
  else if (amped_known_list_is_whole(c->known))
    amped_say("%s: %" PRIu64 " entries %s of %s are skipped; it has learnt their cells", path,
              c->passed, where, c->x->path);
  else
    amped_say("%s: %" PRIu64 " entries %s of %s are skipped; its first fit and other files had "
              "%" PRIu64,
              path, c->passed, where, c->x->path, c->known_nnz);
  if (c->bare > 0)
    amped_warn("%s: %" PRIu64
               " of these entries have an index of which %s has learnt no entry, and "
               "are never learnt; stream them as a file of their own",
               path, c->bare, c->x->path);
}

amped_status amped_batch_cut_next(amped_batch_cut *c, amped_sptensor *out, char **name) {
  gathered g = {.t = out};
  *name = NULL;
  memset(out, 0, sizeof *out);
  out->order = c->info->order;
  amped_status status = c->mode < 0 ? next_box(c, &g, name) : next_slice(c, &g, name);
  out->duplicates = c->info->is_merged ? c->info->duplicates : AMPED_DUPLICATES_KEEP;
  if (out->nnz == 0 && status == AMPED_OK)
    tell_passed(c);
  if (status == AMPED_OK)
    return AMPED_OK;
  amped_sptensor_free(out);
  amped_free(*name);
  *name = NULL;
  return status;
}
