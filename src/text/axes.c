/* Axes: reads names and values of modes, and makes labels of them. */
#include "text/axes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/printable.h"
#include "tensor/format.h"
#include "tensor/mode_names.h"
#include "text/intern.h"
#include "text/io_csv.h"
#include "text/io_number.h"
#include "text/io_stream.h"

/* Most bytes of a line of an axis's file. */
#define LINE_BYTES 4096

/* Digits of an evenly spaced value: enough for an error below ERROR of a step. */
#define DIGITS_LEAST 6
#define DIGITS_MOST 17
#define ERROR 1e-3

/* Values below this share of the range are a rest of rounding. */
#define REST 1e-15

/* Bytes for the list of the names of all modes. */
#define NAMES_BYTES 512

amped_status amped_axes_refuse(const amped_axis_options *o, const char *path) {
  if (!amped_axes_given(o))
    return AMPED_OK;
  return amped_error(AMPED_USAGE, path,
                     "is no dense array, and --%s is for the modes of one; leave it out",
                     o->modes != NULL ? "modes" : "axis");
}

/* --- names ------------------------------------------------------------------------------------ */

static amped_status set_name(const char *text, size_t length, amped_labels *labels) {
  char *name = NULL;
  AMPED_TRY(amped_alloc(&name, length + 1, 1, "the name of a mode"));
  memcpy(name, text, length);
  name[length] = '\0';
  amped_free(labels->name);
  labels->name = name;
  return AMPED_OK;
}

static int count_names(const char *text) {
  int count = 1;
  for (; *text != '\0'; text++)
    count += *text == ',';
  return count;
}

static amped_status set_names(const char *list, const char *path, int order, amped_labels *labels) {
  const int count = count_names(list);
  const char *at = list;
  if (count != order)
    return amped_error(AMPED_USAGE, path, "has %d modes, and --modes=%s names %d; name each", order,
                       list, count);
  for (int m = 0; m < order; m++) {
    const size_t n = strcspn(at, ",");
    if (n == 0)
      return amped_error(AMPED_USAGE, path, "--modes=%s: the name of mode %d is empty; name each",
                         list, m + 1);
    if (!amped_csv_is_utf8(at, at + n))
      return amped_error(AMPED_USAGE, path, "--modes: the name of mode %d is not UTF-8 text",
                         m + 1);
    AMPED_TRY(set_name(at, n, &labels[m]));
    for (int k = 0; k < m; k++)
      if (strcmp(labels[k].name, labels[m].name) == 0)
        return amped_error(AMPED_USAGE, path,
                           "--modes=%s: modes %d and %d have one name; name each "
                           "in its own way",
                           list, k + 1, m + 1);
    at += n + 1;
  }
  return AMPED_OK;
}

/* --- modes of axes ---------------------------------------------------------------------------- */

static amped_status no_mode(const char *axis, const char *path, int order,
                            const amped_labels *labels) {
  char names[NAMES_BYTES] = "";
  char name[128];
  size_t used = 0;
  for (int m = 0; m < order; m++)
    if (labels[m].name != NULL && used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                               amped_format_name(name, sizeof name, &labels[m]));
  if (used == 0)
    return amped_error(AMPED_USAGE, path,
                       "--axis=%s: its modes have no names; name them with --modes, or number them "
                       "from 1 to %d",
                       axis, order);
  return amped_error(AMPED_USAGE, path, "--axis=%s: it has no mode of that name; its modes are %s",
                     axis, names);
}

/* Split MODE:VALUES. A name may contain colons: the first colon that ends a mode counts. */
static amped_status find_mode(const char *axis, const char *path, int order,
                              const amped_labels *labels, int *mode, const char **values) {
  *mode = AMPED_MODE_NONE;
  for (const char *at = strchr(axis, ':'); *mode < 0 && at != NULL; at = strchr(at + 1, ':')) {
    *mode = amped_mode_find(labels, order, axis, (size_t)(at - axis));
    *values = at + 1;
  }
  return *mode >= 0 ? AMPED_OK : no_mode(axis, path, order, labels);
}

/* --- evenly spaced values --------------------------------------------------------------------- */

/* Are the values FIRST:LAST? */
static bool is_range(const char *values, double *first, double *last) {
  const char *at = amped_number_decimal(values, first);
  if (at == NULL || at == values || *at != ':')
    return false;
  const char *end = amped_number_decimal(at + 1, last);
  return end != NULL && end != at + 1 && *end == '\0';
}

/* Value i of an axis. A rest of rounding near 0 is 0, without a sign. */
static double value_of(double first, double last, uint64_t dim, uint64_t i) {
  const double part = dim > 1 ? (double)i / (double)(dim - 1) : 0.0;
  const double value = first * (1.0 - part) + last * part;
  return fabs(value) < REST * fabs(last - first) ? 0.0 : value + 0.0;
}

static double rounded(double value, int digits) {
  char text[AMPED_NUMBER_BYTES];
  double out = value;
  (void)snprintf(text, sizeof text, "%.*g", digits, value);
  (void)amped_number_decimal(text, &out);
  return out;
}

/* Digits with which the values of an axis differ. */
static int digits_of(double first, double last, uint64_t dim) {
  const double step = dim > 1 ? fabs(last - first) / (double)(dim - 1) : 0.0;
  int digits = DIGITS_LEAST;
  for (uint64_t i = 0; i < dim; i++) {
    const double value = value_of(first, last, dim, i);
    while (digits < DIGITS_MOST && fabs(rounded(value, digits) - value) > ERROR * step)
      digits++;
  }
  return digits;
}

/* Add a label. *is_new: no label of the mode was equal. */
static amped_status add(amped_intern *in, const char *text, uint64_t length, bool *is_new) {
  const uint64_t before = in->count;
  uint64_t id = 0;
  AMPED_TRY(amped_intern_add(in, amped_intern_hash(text, length), text, length, &id));
  *is_new = in->count > before;
  return AMPED_OK;
}

static amped_status space_evenly(const char *axis, const char *path, double first, double last,
                                 uint64_t dim, amped_intern *in) {
  bool is_new = true;
  if (dim == 1 && fabs(last - first) > 0.0)
    return amped_error(
        AMPED_USAGE, path,
        "--axis=%s: the mode has one index; give its value as the first and the last", axis);
  if (!isfinite(first) || !isfinite(last) || (dim > 1 && !(fabs(last - first) > 0.0)))
    return amped_error(
        AMPED_USAGE, path,
        "--axis=%s: the first and the last value must be two different, finite numbers", axis);
  const int digits = digits_of(first, last, dim);
  for (uint64_t i = 0; i < dim && is_new; i++) {
    char text[AMPED_NUMBER_BYTES];
    const int n = snprintf(text, sizeof text, "%.*g", digits, value_of(first, last, dim, i));
    AMPED_TRY(add(in, text, (uint64_t)n, &is_new));
  }
  return is_new ? AMPED_OK
                : amped_error(AMPED_USAGE, path,
                              "--axis=%s: %" PRIu64 " values between these are not all different",
                              axis, dim);
}

/* --- values of a file ------------------------------------------------------------------------- */

typedef struct lines {
  const char *file;
  amped_intern *in;
  uint64_t dim, count;
  char line[LINE_BYTES];
  size_t length;
  bool open; /* the last line has no end yet */
} lines;

/* Take the line that was read, without blanks around it. More lines than indices are only counted.
 */
static amped_status take(lines *l) {
  const char *from = l->line;
  const char *end = from + l->length;
  bool is_new = true;
  if (l->count == 0 && l->length >= 3 && memcmp(from, "\xef\xbb\xbf", 3) == 0)
    from += 3; /* a byte-order mark */
  while (end > from && (unsigned char)end[-1] <= ' ')
    end--;
  while (end > from && (unsigned char)*from <= ' ')
    from++;
  l->length = 0;
  l->open = false;
  if (l->count++ >= l->dim)
    return AMPED_OK;
  if (from == end)
    return amped_error(AMPED_BAD_INPUT, l->file, "line %" PRIu64 " is empty; give it a value",
                       l->count);
  if (!amped_csv_is_utf8(from, end))
    return amped_error(AMPED_BAD_INPUT, l->file,
                       "line %" PRIu64 " is not UTF-8 text; convert the "
                       "file",
                       l->count);
  AMPED_TRY(add(l->in, from, (uint64_t)(end - from), &is_new));
  return is_new ? AMPED_OK
                : amped_error(AMPED_BAD_INPUT, l->file,
                              "line %" PRIu64 " repeats an earlier value; give each index its own",
                              l->count);
}

static amped_status take_bytes(lines *l, const char *bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    l->open = true;
    if (bytes[i] == '\n')
      AMPED_TRY(take(l));
    else if (l->length == sizeof l->line)
      return amped_error(AMPED_BAD_INPUT, l->file,
                         "line %" PRIu64 " has more than %d bytes; give one value per line",
                         l->count + 1, LINE_BYTES);
    else
      l->line[l->length++] = bytes[i];
  }
  return AMPED_OK;
}

static amped_status read_lines(lines *l) {
  char buffer[1 << 14];
  amped_stream *stream = NULL;
  uint64_t got = 1;
  AMPED_TRY(amped_stream_open(l->file, &stream));
  amped_status status = AMPED_OK;
  while (status == AMPED_OK && got > 0) {
    status = amped_stream_read(stream, buffer, sizeof buffer, &got);
    if (status == AMPED_OK)
      status = take_bytes(l, buffer, got);
  }
  amped_stream_close(stream);
  return status == AMPED_OK && l->open ? take(l) : status;
}

static amped_status read_file(const char *file, int mode, const amped_labels *labels, uint64_t dim,
                              amped_intern *in) {
  lines l = {.file = file, .in = in, .dim = dim};
  char name[128];
  AMPED_TRY(read_lines(&l));
  return l.count == dim ? AMPED_OK
                        : amped_error(AMPED_BAD_INPUT, file,
                                      "has %" PRIu64 " line%s, and %s has %" PRIu64
                                      " indices; give one line for each index",
                                      l.count, l.count == 1 ? "" : "s",
                                      amped_format_mode(name, sizeof name, mode, labels), dim);
}

/* --- labels ----------------------------------------------------------------------------------- */

static void drop_labels(amped_labels *labels) {
  char *name = labels->name;
  labels->name = NULL;
  amped_labels_free(labels);
  labels->name = name;
}

static amped_status read_axis(const char *axis, const char *path, const char *values, int mode,
                              uint64_t dim, amped_labels *labels) {
  amped_intern in = {.count = 0};
  double first = 0.0;
  double last = 0.0;
  amped_status status = is_range(values, &first, &last)
                            ? space_evenly(axis, path, first, last, dim, &in)
                            : read_file(values, mode, labels, dim, &in);
  if (status == AMPED_OK) {
    drop_labels(labels);
    status = amped_intern_take(&in, labels);
  }
  amped_intern_free(&in);
  return status;
}

/* Label the indices of a mode with their numbers. */
static amped_status number_indices(uint64_t dim, amped_labels *labels) {
  amped_intern in = {.count = 0};
  amped_status status = AMPED_OK;
  for (uint64_t i = 0; i < dim && status == AMPED_OK; i++) {
    char text[AMPED_NUMBER_BYTES];
    bool is_new = true;
    status = add(&in, text, (uint64_t)amped_number_print_u64(text, amped_label_number(labels, i)),
                 &is_new);
  }
  if (status == AMPED_OK)
    status = amped_intern_take(&in, labels);
  amped_intern_free(&in);
  return status;
}

amped_status amped_axes_label(const amped_axis_options *o, const char *path, int order,
                              const uint64_t *dims, amped_labels *labels) {
  bool has_axis[AMPED_MAX_ORDER] = {false};
  if (!amped_axes_given(o))
    return AMPED_OK;
  if (o->modes != NULL)
    AMPED_TRY(set_names(o->modes, path, order, labels));
  for (int i = 0; i < o->count; i++) {
    const char *values = NULL;
    int mode = 0;
    AMPED_TRY(find_mode(o->axes[i], path, order, labels, &mode, &values));
    if (has_axis[mode])
      return amped_error(AMPED_USAGE, path, "--axis=%s: mode %d has an axis already; leave out one",
                         o->axes[i], mode + 1);
    has_axis[mode] = true;
    AMPED_TRY(read_axis(o->axes[i], path, values, mode, dims[mode], &labels[mode]));
  }
  for (int m = 0; m < order; m++)
    if (labels[m].name != NULL && labels[m].count == 0)
      AMPED_TRY(number_indices(dims[m], &labels[m]));
  return AMPED_OK;
}
