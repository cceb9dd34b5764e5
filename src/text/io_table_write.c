/* Tables out: quoting, distinct column names, and rows of tensors, rankings and results. */
#include "text/io_table_write.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "text/io_format.h"
#include "text/io_number.h"
#include "text/io_stream.h"

#define BUFFER_BYTES 65536

/* Rows between two updates of the progress. */
#define PROGRESS_ROWS (UINT64_C(1) << 16)

static bool has_suffix(const char *path, const char *suffix) {
  return strncasecmp(path + amped_io_stem(path), suffix, strlen(suffix)) == 0;
}

bool amped_table_named(const char *path) {
  return has_suffix(path, ".csv") || has_suffix(path, ".tsv");
}

/* ---- cells --------------------------------------------------------------------------------- */

/* Table being written, with buffered text. */
typedef struct sheet {
  const char *path;
  amped_stream *stream;
  bool tabs;
  bool begun; /* the current row has a cell */
  uint64_t used;
  char buffer[BUFFER_BYTES];
} sheet;

static amped_status sheet_open(const char *path, sheet **out) {
  AMPED_TRY(amped_calloc(out, 1, sizeof **out, "a table"));
  (*out)->path = path;
  (*out)->tabs = has_suffix(path, ".tsv");
  return amped_stream_create(path, &(*out)->stream);
}

static void sheet_discard(sheet *s) {
  if (s != NULL && s->stream != NULL)
    amped_stream_discard(s->stream);
  amped_free(s);
}

static amped_status flush(sheet *s) {
  uint64_t used = s->used;
  s->used = 0;
  return amped_stream_write(s->stream, s->buffer, used);
}

static amped_status sheet_finish(sheet *s) {
  amped_status status = flush(s);
  if (status == AMPED_OK) {
    status = amped_stream_finish(s->stream);
    s->stream = NULL;
  }
  sheet_discard(s);
  return status;
}

static amped_status put(sheet *s, const char *text, uint64_t length) {
  while (length > 0) {
    uint64_t n = BUFFER_BYTES - s->used < length ? BUFFER_BYTES - s->used : length;
    memcpy(s->buffer + s->used, text, n);
    s->used += n;
    text += n;
    length -= n;
    if (s->used == BUFFER_BYTES)
      AMPED_TRY(flush(s));
  }
  return AMPED_OK;
}

static bool has_any(const char *text, uint64_t length, const char *bytes) {
  for (; *bytes != '\0'; bytes++)
    if (length > 0 && memchr(text, *bytes, length) != NULL)
      return true;
  return false;
}

static amped_status put_quoted(sheet *s, const char *text, uint64_t length) {
  AMPED_TRY(put(s, "\"", 1));
  for (const char *quote; length > 0 && (quote = memchr(text, '"', length)) != NULL;) {
    uint64_t n = (uint64_t)(quote - text) + 1;
    AMPED_TRY(put(s, text, n));
    AMPED_TRY(put(s, "\"", 1));
    text += n;
    length -= n;
  }
  AMPED_TRY(put(s, text, length));
  return put(s, "\"", 1);
}

/* Does the text begin or end with a blank? Readers remove blanks around a cell without quotes. */
static bool has_blank_ends(const char *text, uint64_t length) {
  return length > 0 && (strchr(" \t", text[0]) != NULL || strchr(" \t", text[length - 1]) != NULL);
}

/* A byte-order mark at the start of a row is none of the cell's when it is read. */
static bool begins_with_mark(const char *text, uint64_t length) {
  return length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
}

static amped_status cell(sheet *s, const char *text, uint64_t length) {
  const bool marked = !s->begun && begins_with_mark(text, length);
  if (s->begun)
    AMPED_TRY(put(s, s->tabs ? "\t" : ",", 1));
  s->begun = true;
  if (!s->tabs &&
      (length == 0 || marked || has_any(text, length, ",\"\r\n") || has_blank_ends(text, length)))
    return put_quoted(s, text, length);
  if (marked)
    return amped_error(
        AMPED_BAD_INPUT, s->path,
        "the label '%.*s' begins with a byte-order mark, which TSV cannot keep; name "
        "OUT.csv",
        (int)(length < 200 ? length : 200), text);
  if (s->tabs && has_any(text, length, "\t\r\n"))
    return amped_error(AMPED_BAD_INPUT, s->path,
                       "the label '%.*s' holds a tab or a line end, which TSV cannot; name OUT.csv",
                       (int)(length < 200 ? length : 200), text);
  if (s->tabs && has_blank_ends(text, length))
    return amped_error(AMPED_BAD_INPUT, s->path,
                       "the label '%.*s' begins or ends with a blank, which TSV cannot keep; name "
                       "OUT.csv",
                       (int)(length < 200 ? length : 200), text);
  return put(s, text, length);
}

static amped_status cell_text(sheet *s, const char *text) {
  return cell(s, text, strlen(text));
}

static amped_status cell_count(sheet *s, uint64_t n) {
  char text[AMPED_NUMBER_BYTES];
  return cell(s, text, (uint64_t)amped_number_print_u64(text, n));
}

static amped_status cell_number(sheet *s, double x) {
  char text[AMPED_NUMBER_BYTES];
  return cell(s, text, (uint64_t)amped_number_print(text, x));
}

static amped_status cell_label(sheet *s, const amped_labels *labels, uint64_t i) {
  uint64_t length = 0;
  if (labels->count == 0)
    return cell_count(s, amped_label_number(labels, i));
  const char *text = amped_label(labels, i, &length);
  return cell(s, text, length);
}

static amped_status end_row(sheet *s) {
  s->begun = false;
  return put(s, "\n", 1);
}

/* ---- names --------------------------------------------------------------------------------- */

/* Distinct names of columns or modes, made from names that may repeat. */
typedef struct names {
  int count;
  char *texts[AMPED_MAX_ORDER + 1];
} names;

static void names_free(names *n) {
  for (int i = 0; i < n->count; i++)
    amped_free(n->texts[i]);
}

static bool is_taken(const names *n, const char *text) {
  for (int i = 0; i < n->count; i++)
    if (strcmp(n->texts[i], text) == 0)
      return true;
  return false;
}

/* Add a name. If the text is taken, append the first of _2, _3, ... that is free. */
static amped_status names_add(names *n, const char *text) {
  char *name = NULL;
  uint64_t bytes = strlen(text) + 16;
  AMPED_TRY(amped_alloc(&name, bytes, 1, "the name of a column"));
  (void)snprintf(name, bytes, "%s", text);
  for (int i = 2; is_taken(n, name); i++)
    (void)snprintf(name, bytes, "%s_%d", text, i);
  n->texts[n->count++] = name;
  return AMPED_OK;
}

/* Add the names of all modes; a mode without a name is `prefix` and its number. */
static amped_status names_of(int order, const amped_labels *labels, const char *prefix, names *n) {
  for (int m = 0; m < order; m++) {
    char numbered[32];
    (void)snprintf(numbered, sizeof numbered, "%s%d", prefix, m + 1);
    bool known = labels[m].name != NULL && *labels[m].name != '\0';
    AMPED_TRY(names_add(n, known ? labels[m].name : numbered));
  }
  return AMPED_OK;
}

/* ---- tensors ------------------------------------------------------------------------------- */

struct amped_table_writer {
  sheet *sheet;
  int order;
  const amped_labels *labels;
  uint64_t done; /* nonzeros written */
};

static amped_status write_header(sheet *s, int order, const amped_labels *labels) {
  names n = {.count = 0};
  amped_status status = AMPED_OK;
  AMPED_GO(done, names_of(order, labels, "mode", &n));
  AMPED_GO(done, names_add(&n, "value"));
  for (int i = 0; i < n.count; i++)
    AMPED_GO(done, cell_text(s, n.texts[i]));
  status = end_row(s);
done:
  names_free(&n);
  return status;
}

amped_status amped_table_writer_create(const char *path, int order, const amped_labels *labels,
                                       uint64_t nnz, amped_table_writer **out) {
  amped_table_writer *w = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&w, 1, sizeof *w, "a table"));
  amped_progress_begin("writing", nnz, "nonzeros");
  w->order = order;
  w->labels = labels;
  AMPED_GO(fail, sheet_open(path, &w->sheet));
  AMPED_GO(fail, write_header(w->sheet, order, labels));
  *out = w;
  return AMPED_OK;
fail:
  amped_table_writer_discard(w);
  return status;
}

amped_status amped_table_writer_append(amped_table_writer *w, const amped_sptensor *t) {
  for (uint64_t k = 0; k < t->nnz; k++) {
    for (int m = 0; m < w->order; m++)
      AMPED_TRY(cell_label(w->sheet, &w->labels[m], t->indices[m][k]));
    AMPED_TRY(cell_number(w->sheet, t->values[k]));
    AMPED_TRY(end_row(w->sheet));
    if (++w->done % PROGRESS_ROWS == 0)
      amped_progress_update(w->done);
  }
  return AMPED_OK;
}

amped_status amped_table_writer_finish(amped_table_writer *w) {
  amped_status status = sheet_finish(w->sheet);
  w->sheet = NULL;
  amped_table_writer_discard(w);
  return status;
}

void amped_table_writer_discard(amped_table_writer *w) {
  if (w == NULL)
    return;
  sheet_discard(w->sheet);
  amped_free(w);
  amped_progress_end();
}

amped_status amped_table_write_tensor(const char *path, const amped_sptensor *t) {
  amped_table_writer *w = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_table_writer_create(path, t->order, t->labels, t->nnz, &w));
  AMPED_GO(fail, amped_table_writer_append(w, t));
  return amped_table_writer_finish(w);
fail:
  amped_table_writer_discard(w);
  return status;
}

/* ---- recommendations ----------------------------------------------------------------------- */

struct amped_table_ranking {
  sheet *sheet;
  const amped_labels *target, *of;
};

/* Add the name of a mode; labels: its own. */
static amped_status names_add_mode(names *n, const amped_labels *labels, int mode) {
  char numbered[32];
  (void)snprintf(numbered, sizeof numbered, "mode%d", mode + 1);
  const char *name = labels->name;
  return names_add(n, name != NULL && *name != '\0' ? name : numbered);
}

static amped_status write_names(sheet *s, const names *n) {
  for (int i = 0; i < n->count; i++)
    AMPED_TRY(cell_text(s, n->texts[i]));
  return end_row(s);
}

static amped_status write_ranking_header(sheet *s, const amped_labels *labels, int target, int of) {
  names n = {.count = 0};
  amped_status status = AMPED_OK;
  AMPED_GO(done, names_add_mode(&n, &labels[target], target));
  AMPED_GO(done, names_add(&n, "rank"));
  AMPED_GO(done, names_add_mode(&n, &labels[of], of));
  AMPED_GO(done, names_add(&n, "value"));
  status = write_names(s, &n);
done:
  names_free(&n);
  return status;
}

amped_status amped_table_ranking_create(const char *path, const amped_labels *labels, int target,
                                        int of, amped_table_ranking **out) {
  amped_table_ranking *w = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&w, 1, sizeof *w, "a table"));
  w->target = &labels[target];
  w->of = &labels[of];
  AMPED_GO(fail, sheet_open(path, &w->sheet));
  AMPED_GO(fail, write_ranking_header(w->sheet, labels, target, of));
  *out = w;
  return AMPED_OK;
fail:
  amped_table_ranking_discard(w);
  return status;
}

amped_status amped_table_ranking_row(amped_table_ranking *w, uint64_t target, uint64_t rank,
                                     uint64_t index, double value) {
  AMPED_TRY(cell_label(w->sheet, w->target, target));
  AMPED_TRY(cell_count(w->sheet, rank));
  AMPED_TRY(cell_label(w->sheet, w->of, index));
  AMPED_TRY(cell_number(w->sheet, value));
  return end_row(w->sheet);
}

amped_status amped_table_ranking_finish(amped_table_ranking *w) {
  amped_status status = sheet_finish(w->sheet);
  w->sheet = NULL;
  amped_table_ranking_discard(w);
  return status;
}

void amped_table_ranking_discard(amped_table_ranking *w) {
  if (w != NULL)
    sheet_discard(w->sheet);
  amped_free(w);
}

/* ---- errors by label ------------------------------------------------------------------------ */

struct amped_table_errors {
  sheet *sheet;
  const amped_labels *labels;
};

static amped_status write_errors_header(sheet *s, const amped_labels *labels, int mode) {
  names n = {.count = 0};
  amped_status status = AMPED_OK;
  AMPED_GO(done, names_add_mode(&n, labels, mode));
  AMPED_GO(done, names_add(&n, "cells"));
  AMPED_GO(done, names_add(&n, "rmse"));
  AMPED_GO(done, names_add(&n, "mae"));
  status = write_names(s, &n);
done:
  names_free(&n);
  return status;
}

amped_status amped_table_errors_create(const char *path, const amped_labels *labels, int mode,
                                       amped_table_errors **out) {
  amped_table_errors *w = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&w, 1, sizeof *w, "a table"));
  w->labels = labels;
  AMPED_GO(fail, sheet_open(path, &w->sheet));
  AMPED_GO(fail, write_errors_header(w->sheet, labels, mode));
  *out = w;
  return AMPED_OK;
fail:
  amped_table_errors_discard(w);
  return status;
}

amped_status amped_table_errors_row(amped_table_errors *w, uint64_t index, uint64_t cells,
                                    double rmse, double mae) {
  AMPED_TRY(cell_label(w->sheet, w->labels, index));
  AMPED_TRY(cell_count(w->sheet, cells));
  AMPED_TRY(cell_number(w->sheet, rmse));
  AMPED_TRY(cell_number(w->sheet, mae));
  return end_row(w->sheet);
}

amped_status amped_table_errors_finish(amped_table_errors *w) {
  amped_status status = sheet_finish(w->sheet);
  w->sheet = NULL;
  amped_table_errors_discard(w);
  return status;
}

void amped_table_errors_discard(amped_table_errors *w) {
  if (w != NULL)
    sheet_discard(w->sheet);
  amped_free(w);
}

/* ---- results ------------------------------------------------------------------------------- */

amped_status amped_table_weights_name(const char *path, char **out) {
  int stem = (int)amped_io_stem(path);
  uint64_t bytes = strlen(path) + 16;
  AMPED_TRY(amped_alloc(out, bytes, 1, "a path"));
  (void)snprintf(*out, bytes, "%.*s.weights%s", stem, path, path + stem);
  return AMPED_OK;
}

static amped_status write_weights(sheet *s, const amped_ktensor *k, const amped_completion *c,
                                  const int *order) {
  AMPED_TRY(cell_text(s, "component"));
  AMPED_TRY(cell_text(s, "weight"));
  AMPED_TRY(end_row(s));
  for (int i = 0; i < k->ncomps; i++) {
    AMPED_TRY(cell_count(s, (uint64_t)i + 1));
    AMPED_TRY(cell_number(s, k->weights[order[i]]));
    AMPED_TRY(end_row(s));
  }
  if (c != NULL) {
    AMPED_TRY(cell_text(s, "mean"));
    AMPED_TRY(cell_number(s, c->mean));
    AMPED_TRY(end_row(s));
  }
  return AMPED_OK;
}

/* Write the rows of component r, whose number for users is `place`. */
static amped_status write_component(sheet *s, const amped_ktensor *k, const names *modes, int place,
                                    int r) {
  for (int m = 0; m < k->order; m++)
    for (uint64_t i = 0; i < k->dims[m]; i++) {
      AMPED_TRY(cell_count(s, (uint64_t)place));
      AMPED_TRY(cell_text(s, modes->texts[m]));
      AMPED_TRY(cell_label(s, &k->labels[m], i));
      AMPED_TRY(cell_number(s, k->factors[m][i * (uint64_t)k->ncomps + (uint64_t)r]));
      AMPED_TRY(end_row(s));
    }
  return AMPED_OK;
}

static amped_status write_biases(sheet *s, const amped_ktensor *k, const amped_completion *c,
                                 const names *modes) {
  for (int m = 0; m < k->order; m++)
    for (uint64_t i = 0; i < k->dims[m]; i++) {
      AMPED_TRY(cell_text(s, "bias"));
      AMPED_TRY(cell_text(s, modes->texts[m]));
      AMPED_TRY(cell_label(s, &k->labels[m], i));
      AMPED_TRY(cell_number(s, c->bias[m][i]));
      AMPED_TRY(end_row(s));
    }
  return AMPED_OK;
}

static amped_status write_entries(sheet *s, const amped_ktensor *k, const amped_completion *c,
                                  const int *order) {
  static const char *const columns[] = {"component", "mode", "label", "weight"};
  names modes = {.count = 0};
  amped_status status = AMPED_OK;
  for (int i = 0; i < 4; i++)
    AMPED_TRY(cell_text(s, columns[i]));
  AMPED_TRY(end_row(s));
  AMPED_GO(done, names_of(k->order, k->labels, "", &modes));
  for (int i = 0; i < k->ncomps; i++)
    AMPED_GO(done, write_component(s, k, &modes, i + 1, order[i]));
  if (c != NULL && c->biased)
    status = write_biases(s, k, c, &modes);
done:
  names_free(&modes);
  return status;
}

amped_status amped_table_write_result(const char *path, const amped_ktensor *k,
                                      const amped_completion *c) {
  int order[AMPED_MAX_NCOMPS];
  char *weights = NULL;
  sheet *sheets[2] = {NULL, NULL};
  amped_status status = AMPED_OK;
  amped_ktensor_order(k, order);
  AMPED_GO(done, amped_table_weights_name(path, &weights));
  AMPED_GO(done, sheet_open(weights, &sheets[0]));
  AMPED_GO(done, write_weights(sheets[0], k, c, order));
  AMPED_GO(done, sheet_open(path, &sheets[1]));
  AMPED_GO(done, write_entries(sheets[1], k, c, order));
  for (int i = 0; i < 2; i++) {
    sheet *complete = sheets[i];
    sheets[i] = NULL;
    AMPED_GO(done, sheet_finish(complete));
  }
done:
  sheet_discard(sheets[0]);
  sheet_discard(sheets[1]);
  amped_free(weights);
  return status;
}
