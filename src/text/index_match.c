/* Index match: comparing names of modes, and finding indices by label or number. */
#include "text/index_match.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/types.h"
#include "tensor/format.h"
#include "text/io_number.h"
#include "text/label_join.h"
#include "text/respelt.h"

/* --- names of modes --------------------------------------------------------------------------- */

static bool same_name(const amped_labels *a, const amped_labels *b) {
  return a->name != NULL && b->name != NULL && strcmp(a->name, b->name) == 0;
}

/* Is the mode called by its column's place in a table without a header? */
static bool has_place(const amped_labels *labels) {
  return labels->name != NULL && !amped_labels_are_named(labels);
}

/* Are the modes of both sides the same columns of tables without headers, in any order? */
static bool are_same_places(const amped_index_side *a, const amped_index_side *b) {
  for (int m = 0; m < a->order; m++) {
    bool found = false;
    for (int k = 0; k < b->order && has_place(&a->labels[m]); k++)
      found = found || same_name(&a->labels[m], &b->labels[k]);
    if (!found)
      return false;
  }
  return true;
}

/* Refuse a mode named like another mode of the known side: indices would be read from the wrong
 * column, unnoticed. */
static amped_status check_name(const amped_index_side *known, const amped_index_side *file,
                               int mode) {
  char theirs[128];
  char ours[128];
  const amped_labels *labels = &file->labels[mode];
  if (same_name(labels, &known->labels[mode]) ||
      !(amped_labels_are_named(labels) || are_same_places(file, known)))
    return AMPED_OK;
  for (int other = 0; other < known->order; other++)
    if (same_name(labels, &known->labels[other]))
      return amped_error(
          AMPED_BAD_INPUT, file->path,
          "mode %d is called %s, but that is mode %d of %s, whose mode %d is %s; "
          "name the columns in that order with --keys%s",
          mode + 1, amped_format_name(theirs, sizeof theirs, labels), other + 1, known->path,
          mode + 1,
          known->labels[mode].name != NULL
              ? amped_format_name(ours, sizeof ours, &known->labels[mode])
              : "without name",
          amped_labels_are_named(labels) ? "" : ", or say --keys=1,2,... if they stand in order");
  return AMPED_OK;
}

amped_status amped_index_match_check(const amped_index_side *known, const amped_index_side *file) {
  if (file->order != known->order)
    return amped_error(AMPED_BAD_INPUT, file->path,
                       "has %d modes, but %s has %d; name its columns with --keys, or another file",
                       file->order, known->path, known->order);
  for (int m = 0; m < file->order; m++)
    AMPED_TRY(check_name(known, file, m));
  return AMPED_OK;
}

static bool has_label(const amped_labels *labels, const char *text) {
  const uint64_t bytes = strlen(text);
  for (uint64_t i = 0; i < labels->count; i++) {
    uint64_t length = 0;
    const char *label = amped_label(labels, i, &length);
    if (length == bytes && memcmp(label, text, bytes) == 0)
      return true;
  }
  return false;
}

amped_status amped_index_match_refuse_header(const amped_index_side *known,
                                             const amped_index_side *file, const bool *is_label) {
  char name[128];
  int lost = -1;
  for (int m = 0; m < file->order; m++) {
    if (same_name(&file->labels[m], &known->labels[m]))
      return AMPED_OK;
    if (lost < 0 && is_label[m] && file->labels[m].of_header)
      lost = m;
  }
  if (lost < 0)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, file->path,
                     "its first row is taken for the header, but %s is a label of %s; if the table "
                     "has no header, give --no-header, so that this row counts; if it has one, "
                     "name the keys with --keys",
                     amped_format_name(name, sizeof name, &file->labels[lost]), known->path);
}

static amped_status check_header(const amped_index_side *known, const amped_index_side *file) {
  bool is_label[AMPED_MAX_ORDER] = {false};
  for (int m = 0; m < file->order; m++)
    is_label[m] = amped_labels_are_named(&file->labels[m]) &&
                  has_label(&known->labels[m], file->labels[m].name);
  return amped_index_match_refuse_header(known, file, is_label);
}

static amped_status check_array(const amped_index_side *known, const amped_index_side *file) {
  char name[128];
  for (int m = 0; m < file->order; m++)
    if (file->labels[m].of_array && file->labels[m].count == 0 && !known->labels[m].are_indices &&
        file->dims[m] != known->dims[m])
      return amped_error(AMPED_BAD_INPUT, file->path,
                         "is an array of %" PRIu64 " indices in %s, without labels, but %s has "
                         "%" PRIu64 ": where its first cell lies is unknown; name an array of the "
                         "same shape, or a list of its cells",
                         file->dims[m], amped_format_mode(name, sizeof name, m, &known->labels[m]),
                         known->path, known->dims[m]);
  return AMPED_OK;
}

amped_status amped_index_match_check_cells(const amped_index_side *known,
                                           const amped_index_side *file) {
  AMPED_TRY(amped_index_match_check(known, file));
  AMPED_TRY(check_header(known, file));
  return check_array(known, file);
}

void amped_index_match_warn_names(const amped_index_side *known, const amped_index_side *file) {
  char theirs[128];
  char ours[128];
  for (int m = 0; m < file->order; m++) {
    const amped_labels *a = &file->labels[m];
    const amped_labels *b = &known->labels[m];
    if (same_name(a, b) || b->name == NULL ||
        amped_labels_are_named(a) != amped_labels_are_named(b))
      continue;
    (void)snprintf(theirs, sizeof theirs, "%d", m + 1); /* a column's place */
    if (a->name != NULL)
      (void)amped_format_name(theirs, sizeof theirs, a);
    else if (strcmp(theirs, b->name) == 0)
      continue;
    amped_warn("%s: %s%s is taken for %s%s of %s, by its place; check that they are the same",
               file->path, amped_labels_are_named(a) ? "" : "mode ", theirs,
               amped_labels_are_named(b) ? "" : "column ", amped_format_name(ours, sizeof ours, b),
               known->path);
  }
}

/* --- numbers ---------------------------------------------------------------------------------- */

uint64_t amped_index_of_number(const amped_labels *labels, uint64_t dim, const char *text,
                               uint64_t length) {
  const uint64_t first = labels->from_zero ? 0 : 1;
  char digits[AMPED_NUMBER_BYTES];
  uint64_t n = 0;
  if (length == 0 || length >= sizeof digits)
    return AMPED_INDEX_UNKNOWN;
  memcpy(digits, text, length);
  digits[length] = '\0';
  /* 007 is a name, not a number. */
  const char *end = amped_number_u64(digits, &n);
  if (end != digits + length || (digits[0] == '0' && length > 1))
    return AMPED_INDEX_UNKNOWN;
  return n >= first && n - first < dim ? n - first : AMPED_INDEX_UNKNOWN;
}

bool amped_index_is_number(const amped_labels *labels, const char *text, uint64_t length) {
  return amped_index_of_number(labels, AMPED_MAX_DIM, text, length) != AMPED_INDEX_UNKNOWN;
}

static amped_status no_number(const amped_index_side *known, const amped_index_side *file, int mode,
                              uint64_t i) {
  char text[128];
  char name[128];
  return amped_error(AMPED_BAD_INPUT, file->path,
                     "label %s of %s is not an index from %d, and %s has no labels there; put "
                     "indices into that column",
                     amped_label_text(&file->labels[mode], i, text, sizeof text),
                     amped_format_mode(name, sizeof name, mode, &file->labels[mode]),
                     known->labels[mode].from_zero ? 0 : 1, known->path);
}

static amped_status by_number(const amped_index_side *known, const amped_index_side *file, int mode,
                              amped_index_match *out) {
  const amped_labels *labels = &file->labels[mode];
  out->rule = AMPED_INDEX_BY_NUMBER;
  AMPED_TRY(amped_alloc(&out->rows, labels->count, sizeof *out->rows, "the rows of labels"));
  for (uint64_t i = 0; i < labels->count; i++) {
    char buffer[AMPED_LABEL_DIGITS];
    const char *text = NULL;
    const uint64_t length =
        amped_label_as_counted(labels, i, known->labels[mode].from_zero, buffer, &text);
    if (!amped_index_is_number(&known->labels[mode], text, length))
      return no_number(known, file, mode, i);
    out->rows[i] = amped_index_of_number(&known->labels[mode], out->dim, text, length);
    out->shared += out->rows[i] != AMPED_INDEX_UNKNOWN;
  }
  return AMPED_OK;
}

/* --- labels ----------------------------------------------------------------------------------- */

bool amped_index_value_of(const char *text, uint64_t length, double *value) {
  char digits[64];
  if (length == 0 || length >= sizeof digits)
    return false;
  memcpy(digits, text, length);
  digits[length] = '\0';
  return amped_number_decimal(digits, value) == digits + length;
}

/* Fewest and most significant digits of numbers on an axis. */
#define DIGITS_LEAST 6
#define DIGITS_MOST 17

/* Significant digits of a number: without zeros before the first other one, and its exponent. */
static int digits_in(const char *text, uint64_t length) {
  int digits = 0;
  for (uint64_t i = 0; i < length && text[i] != 'e' && text[i] != 'E'; i++)
    digits += text[i] >= '0' && text[i] <= '9' && (digits > 0 || text[i] != '0');
  return digits;
}

int amped_index_axis_digits(const amped_labels *axis) {
  int most = DIGITS_LEAST;
  double value = 0.0;
  for (uint64_t i = 0; i < axis->count; i++) {
    uint64_t length = 0;
    const char *text = amped_label(axis, i, &length);
    const int digits = amped_index_value_of(text, length, &value) ? digits_in(text, length) : 0;
    most = digits > most ? digits : most;
  }
  return most < DIGITS_MOST ? most : DIGITS_MOST;
}

double amped_index_rounded(double value, int digits) {
  char text[AMPED_NUMBER_BYTES];
  double out = value;
  (void)snprintf(text, sizeof text, "%.*g", digits, value);
  (void)amped_number_decimal(text, &out);
  return out;
}

/* A value of an axis, and its index. */
typedef struct axis_value {
  double value;
  uint64_t index;
} axis_value;

static int compare_values(const void *x, const void *y) {
  const axis_value *a = x;
  const axis_value *b = y;
  return a->value < b->value ? -1 : a->value > b->value;
}

/* Sort the labels that are numbers by value. Returns how many, or 0 if two have one value, which
 * then identifies no index. */
static uint64_t sort_axis(const amped_labels *labels, axis_value *axis) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < labels->count; i++) {
    uint64_t length = 0;
    const char *text = amped_label(labels, i, &length);
    axis[count].index = i;
    count += amped_index_value_of(text, length, &axis[count].value);
  }
  qsort(axis, count, sizeof *axis, compare_values);
  for (uint64_t k = 1; k < count; k++)
    if (axis[k - 1].value == axis[k].value)
      return 0;
  return count;
}

static const axis_value *find_value(const axis_value *axis, uint64_t count, double value) {
  const axis_value key = {.value = value};
  return bsearch(&key, axis, count, sizeof *axis, compare_values);
}

/* Match the file's labels that no label of the axis equals by their value: 352.0 is 352, and
 * 1.142857 is 1.14286 if no label of the axis has more digits. */
static amped_status by_value(const amped_labels *ours, const amped_labels *theirs,
                             amped_index_match *out) {
  axis_value *axis = NULL;
  AMPED_TRY(amped_alloc(&axis, ours->count, sizeof *axis, "the values of an axis"));
  const uint64_t count = sort_axis(ours, axis);
  const int digits = amped_index_axis_digits(ours);
  for (uint64_t i = 0; i < theirs->count; i++) {
    uint64_t length = 0;
    double value = 0.0;
    const char *text = amped_label(theirs, i, &length);
    if (out->rows[i] != AMPED_INDEX_UNKNOWN || !amped_index_value_of(text, length, &value))
      continue;
    const axis_value *found = find_value(axis, count, value);
    if (found == NULL)
      found = find_value(axis, count, amped_index_rounded(value, digits));
    out->rows[i] = found != NULL ? found->index : AMPED_INDEX_UNKNOWN;
    out->shared += found != NULL;
  }
  amped_free(axis);
  return AMPED_OK;
}

static amped_status labels_repeat(const amped_index_side *known, const amped_index_side *file,
                                  int mode) {
  char name[128];
  return amped_error(AMPED_BAD_INPUT, file->path,
                     "labels of %s repeat, here or in %s, and do not identify an index; give each "
                     "index its own label",
                     amped_format_mode(name, sizeof name, mode, &known->labels[mode]), known->path);
}

static bool is_whole(const amped_labels *labels, uint64_t i) {
  const char *plain = NULL;
  uint64_t length = 0;
  const char *label = amped_label(labels, i, &length);
  return amped_respelt_plain(label, length, &plain) > 0;
}

/* Warn if most labels that the known side has not are its labels in another spelling. ours: its
 * labels. */
static void warn_of_respelt(const amped_index_side *known, const amped_index_side *file, int mode,
                            const amped_index_match *match, const amped_intern *ours) {
  const amped_labels *theirs = &file->labels[mode];
  const amped_respelt r = amped_respelt_compare(theirs, match->rows, AMPED_INDEX_UNKNOWN, ours);
  char text[2][128];
  char name[128];
  if (amped_respelt_are_most(&r))
    amped_warn("%s: %" PRIu64 " of %" PRIu64
               " labels of %s that %s does not have are its labels in "
               "another spelling, such as %s for %s, and count as unknown; " AMPED_RESPELT_REMEDY,
               file->path, r.count, r.asked,
               amped_format_mode(name, sizeof name, mode, &known->labels[mode]), known->path,
               amped_label_text(theirs, r.new_label, text[0], sizeof text[0]),
               amped_label_text(&known->labels[mode], r.known_label, text[1], sizeof text[1]));
}

/* Look for other spellings, if some unknown labels are whole numbers. */
static amped_status check_spelling(const amped_index_side *known, const amped_index_side *file,
                                   int mode, const amped_index_match *match) {
  const amped_labels *ours = &known->labels[mode];
  amped_intern in = {0};
  amped_status status = AMPED_OK;
  bool whole = false;
  for (uint64_t i = 0; i < file->labels[mode].count && !whole; i++)
    whole = match->rows[i] == AMPED_INDEX_UNKNOWN && is_whole(&file->labels[mode], i);
  if (!whole)
    return AMPED_OK;
  for (uint64_t i = 0; i < ours->count && status == AMPED_OK; i++) {
    uint64_t id = 0;
    uint64_t length = 0;
    const char *label = amped_label(ours, i, &length);
    status = amped_intern_add(&in, amped_intern_hash(label, length), label, length, &id);
  }
  if (status == AMPED_OK)
    warn_of_respelt(known, file, mode, match, &in);
  amped_intern_free(&in);
  return status;
}

static amped_status by_label(const amped_index_side *known, const amped_index_side *file, int mode,
                             amped_index_match *out) {
  amped_label_join join = {NULL, 0};
  _Static_assert(AMPED_INDEX_UNKNOWN == AMPED_MATCH_NO_ROW, "one number for no index");
  out->rule = AMPED_INDEX_BY_LABEL;
  AMPED_TRY(amped_label_join_find(&file->labels[mode], &known->labels[mode], &join));
  out->rows = join.rows;
  out->shared = join.shared;
  if (join.rows == NULL)
    return labels_repeat(known, file, mode);
  if (known->labels[mode].of_array && out->shared < file->labels[mode].count)
    return by_value(&known->labels[mode], &file->labels[mode], out);
  return check_spelling(known, file, mode, out);
}

/* Indices of both sides are from 0 in memory, however they are counted; labels are counted as on
 * the known side. */
static amped_status by_id(const amped_index_side *known, const amped_index_side *file, int mode,
                          amped_index_match *out) {
  const amped_labels *labels = &known->labels[mode];
  out->rule = AMPED_INDEX_BY_ID;
  out->from_zero = labels->from_zero;
  for (uint64_t i = 0; i < labels->count; i++) {
    uint64_t length = 0;
    uint64_t id = 0;
    const char *text = amped_label(labels, i, &length);
    AMPED_TRY(amped_intern_add(&out->ids, amped_intern_hash(text, length), text, length, &id));
    if (id != i)
      return labels_repeat(known, file, mode);
  }
  return AMPED_OK;
}

bool amped_index_like_labels(const amped_labels *labels) {
  bool numbers = false;
  double value = 0.0;
  for (uint64_t i = 0; i < labels->count && !numbers; i++) {
    uint64_t length = 0;
    const char *text = amped_label(labels, i, &length);
    numbers = amped_index_value_of(text, length, &value);
  }
  return numbers;
}

/* Could an index be mistaken for a label of this mode? True if a label is a number, unless every
 * label is the number of its index. */
static bool is_ambiguous(const amped_labels *labels) {
  return amped_index_like_labels(labels) && !amped_labels_number_indices(labels);
}

static amped_status no_row(const amped_index_side *known, const amped_index_side *file, int mode) {
  char name[128];
  return amped_error(AMPED_BAD_INPUT, file->path,
                     "has only indices in %s, but %s has labels that are numbers, so that a number "
                     "could mean either; name a table, or a tensor file, with labels",
                     amped_format_mode(name, sizeof name, mode, &known->labels[mode]), known->path);
}

amped_status amped_index_match_create(const amped_index_side *known, const amped_index_side *file,
                                      int mode, amped_index_match *out) {
  const amped_labels *ours = &known->labels[mode];
  const amped_labels *theirs = &file->labels[mode];
  amped_status status = AMPED_OK;
  *out = (amped_index_match){.rule = AMPED_INDEX_SAME, .dim = known->dims[mode]};
  if (theirs->count > 0)
    status = ours->count > 0 ? by_label(known, file, mode, out) : by_number(known, file, mode, out);
  else if (ours->count > 0 && ours->are_indices)
    status = by_id(known, file, mode, out);
  else if (ours->of_array && theirs->of_array && file->dims[mode] == known->dims[mode])
    status = AMPED_OK; /* places of two arrays */
  else if (is_ambiguous(ours))
    status = no_row(known, file, mode);
  if (status != AMPED_OK)
    amped_index_match_free(out);
  return status;
}

void amped_index_match_free(amped_index_match *match) {
  amped_free(match->rows);
  amped_intern_free(&match->ids);
  memset(match, 0, sizeof *match);
}

uint64_t amped_index_match_find(const amped_index_match *match, uint64_t index) {
  if (match->rows != NULL)
    return match->rows[index];
  if (match->rule != AMPED_INDEX_BY_ID)
    return index < match->dim ? index : AMPED_INDEX_UNKNOWN;
  char text[AMPED_NUMBER_BYTES];
  const uint64_t length =
      (uint64_t)amped_number_print_u64(text, match->from_zero ? index : index + 1);
  const uint64_t id = amped_intern_find(&match->ids, amped_intern_hash(text, length), text, length);
  return id == AMPED_INTERN_NONE ? AMPED_INDEX_UNKNOWN : id;
}

/* --- spelling --------------------------------------------------------------------------------- */

/* Longest label whose spelling is compared. */
#define SPELT 256

/* The common form of all spellings of a label: a number as %.17g, letters in lower case, without
 * blanks around them. Returns its length; 0: the label is empty or too long. */
static uint64_t common_form(const amped_labels *labels, uint64_t i, char form[SPELT]) {
  uint64_t length = 0;
  double value = 0.0;
  const char *text = amped_label(labels, i, &length);
  while (length > 0 && (*text == ' ' || *text == '\t')) {
    text++;
    length--;
  }
  while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
    length--;
  if (length >= SPELT)
    return 0;
  for (uint64_t k = 0; k < length; k++)
    form[k] = text[k] >= 'A' && text[k] <= 'Z' ? (char)(text[k] + 'a' - 'A') : text[k];
  form[length] = '\0';
  if (length > 0 && amped_number_decimal(form, &value) == form + length)
    length = (uint64_t)snprintf(form, SPELT, "%.17g", value);
  return length;
}

amped_status amped_index_match_respelt(const amped_index_side *known, const amped_index_side *file,
                                       int mode, bool *out) {
  const amped_labels *ours = &known->labels[mode];
  const amped_labels *theirs = &file->labels[mode];
  amped_intern forms = {0};
  char form[SPELT];
  amped_status status = AMPED_OK;
  *out = false;
  if (theirs->count == 0)
    return AMPED_OK;
  for (uint64_t i = 0; i < ours->count && status == AMPED_OK; i++) {
    uint64_t id = 0;
    const uint64_t length = common_form(ours, i, form);
    if (length > 0)
      status = amped_intern_add(&forms, amped_intern_hash(form, length), form, length, &id);
  }
  for (uint64_t i = 0; i < theirs->count && status == AMPED_OK && !*out; i++) {
    const uint64_t length = common_form(theirs, i, form);
    *out = length > 0 && amped_intern_find(&forms, amped_intern_hash(form, length), form, length) !=
                             AMPED_INTERN_NONE;
  }
  amped_intern_free(&forms);
  return status;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Warn if both sides have indices in a mode, and count them from 0 and from 1. */
static void warn_of_base(const amped_index_side *known, const amped_index_side *file, int mode,
                         const char *name) {
  const amped_labels *ours = &known->labels[mode];
  const amped_labels *theirs = &file->labels[mode];
  const bool indices =
      (ours->count == 0 || ours->are_indices) && (theirs->count == 0 || theirs->are_indices);
  if (indices && theirs->from_zero != ours->from_zero)
    amped_warn("%s: %s: its first index is called %d, that of %s %d", file->path, name,
               theirs->from_zero ? 0 : 1, known->path, ours->from_zero ? 0 : 1);
}

void amped_index_match_say(const amped_index_side *known, const amped_index_side *file, int mode,
                           const amped_index_match *match) {
  char name[128];
  const bool theirs = match->rule == AMPED_INDEX_BY_NUMBER;
  (void)amped_format_mode(name, sizeof name, mode, &(theirs ? file : known)->labels[mode]);
  if (theirs)
    amped_note(
        "%s: %s: its labels are taken as indices of %s, from %d, because there are no labels",
        file->path, name, known->path,
        (file->labels[mode].are_indices ? file : known)->labels[mode].from_zero ? 0 : 1);
  else if (match->rule == AMPED_INDEX_BY_ID)
    amped_note("%s: %s: its indices are looked up among the labels of %s, which are numbers",
               file->path, name, known->path);
  else if (match->rule == AMPED_INDEX_SAME && known->labels[mode].count > 0) {
    if (known->labels[mode].of_array && file->labels[mode].of_array)
      amped_note("%s: %s: by place, because %s has no labels", file->path, name, file->path);
    else
      amped_warn("%s: %s: by index, because %s has no labels: its first index is taken for "
                 "the first label of %s",
                 file->path, name, file->path, known->path);
  }
  warn_of_base(known, file, mode, name);
}

amped_status amped_index_match_refuse(const amped_index_side *known, const amped_index_side *file,
                                      int mode, uint64_t count) {
  char name[128];
  const bool labels = file->labels[mode].count > 0 && known->labels[mode].count > 0;
  (void)amped_format_mode(name, sizeof name, mode,
                          &(known->labels[mode].count > 0 ? known : file)->labels[mode]);
  return amped_error(AMPED_BAD_INPUT, file->path,
                     "none of its %" PRIu64 " entries has %s of %s that %s has; name entries of "
                     "the same tensor, with the same %s",
                     count, labels ? "a label" : "an index", name, known->path,
                     labels ? "spelling" : "numbering");
}
