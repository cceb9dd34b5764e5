/* CSV and TSV tables: parallel parsing of rows, and numbering of labels in order of first
 * appearance. */
#include "text/io_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/column_kinds.h"
#include "text/intern.h"
#include "text/io_csv.h"
#include "text/cut_values.h"
#include "text/io_number.h"
#include "text/label_forms.h"
#include "text/io_rows.h"
#include "text/io_table_header.h"
#include "text/respelt.h"
#include "base/scan.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "tensor/label_order.h"

/* Flag of an index that is the number of a new string within its piece: no mode has 2^63 labels. */
#define FRESH (UINT64_C(1) << 63)
/* Number of strings whose slots are prefetched while earlier strings are added. */
#define AHEAD 16
/* Bytes for the list of columns in a message. */
#define LIST_BYTES 800

typedef struct reader reader;

/* Parser of one piece of a chunk. All threads look up strings in the tables of the whole file,
 * which change only between chunks. A parser keeps the few strings that are not there yet. They get
 * their final numbers after the chunk: piece by piece, in order of first appearance. */
typedef struct parser {
  const reader *reader;
  amped_piece *piece;
  amped_intern fresh[AMPED_MAX_ORDER]; /* new strings of the piece, per set */
  uint64_t skipped[AMPED_ROLES];       /* rows left out, by the first role that is missing */
  uint64_t worded[AMPED_MAX_ORDER];    /* rows whose key is a word for a missing value */
  uint64_t emptied[AMPED_MAX_ORDER];   /* rows whose key is empty, and gets the label of --empty */
  uint64_t so_named[AMPED_MAX_ORDER];  /* rows whose key is that label as written */
  char *scratch;                       /* keys, with doubled quotes made single */
  uint64_t scratch_bytes;
} parser;

struct reader {
  const char *path;
  const amped_read_options *options;
  bool quoted;
  amped_table_header header;
  amped_rows rows;
  amped_cut_values cut;
  amped_intern labels[AMPED_MAX_ORDER]; /* one table per set, at the first mode of the set */
  amped_piece *pieces;                  /* [AMPED_MAX_PIECES] pieces of the current chunk */
  parser *parsers;                      /* [AMPED_MAX_PIECES] */
};

/* ---- one row ---- */

/* Key in the form of its label, and its hash. */
typedef struct key {
  const char *string;
  uint64_t length;
  uint64_t hash;
} key;

/* Make scratch large enough for a row's keys that have doubled quotes. Returns false, with
 * piece->status, on failure. */
static bool reserve_scratch(parser *p, const amped_cell *cells) {
  uint64_t need = 0;
  for (int m = 0; m < p->reader->header.order; m++)
    if (cells[m].doubled)
      need += (uint64_t)(cells[m].end - cells[m].begin);
  if (need <= p->scratch_bytes)
    return true;
  p->scratch_bytes = 0;
  amped_free(p->scratch);
  p->piece->status = amped_alloc(&p->scratch, need, 1, "a label");
  if (p->piece->status != AMPED_OK)
    return false;
  p->scratch_bytes = need;
  return true;
}

/* Give an empty key its label, and count keys of that label. */
static void name_empty(parser *p, int m, key *k) {
  const char *label = p->reader->options->empty;
  const uint64_t length = strlen(label);
  p->emptied[m] += k->length == 0;
  p->so_named[m] += k->length == length && memcmp(k->string, label, length) == 0;
  if (k->length == 0)
    *k = (key){.string = label, .length = length};
}

/* Set keys[m] to the text of mode m's cell, or to the label of empty keys. Returns false, with
 * piece->status, on failure. */
static bool take_keys(parser *p, const amped_cell *cells, key *keys) {
  const reader *r = p->reader;
  if (!reserve_scratch(p, cells))
    return false;
  char *scratch = p->scratch;
  for (int m = 0; m < r->header.order; m++) {
    key *k = &keys[m];
    *k = (key){.string = cells[m].begin, .length = (uint64_t)(cells[m].end - cells[m].begin)};
    if (cells[m].doubled) {
      k->length = amped_csv_unquote(&cells[m], scratch);
      k->string = scratch;
      scratch += k->length;
    }
    if (r->options->empty != NULL)
      name_empty(p, m, k);
  }
  return true;
}

/* Texts of a row's periods. */
typedef char period_texts[AMPED_MAX_ORDER][AMPED_PERIOD_BYTES];

/* Does a text stand for an empty key: is it empty, or the label of empty keys, as in tables of
 * predict? */
static bool is_empty_key(const reader *r, const char *text, uint64_t length) {
  const char *label = r->options->empty;
  return length == 0 ||
         (label != NULL && strlen(label) == length && memcmp(label, text, length) == 0);
}

/* The remedy for a key that is no time stamp: "" if there is none. A word may be the label that
 * another table has for empty keys. */
static const char *remedy_of(const amped_cell *cell, const key *k) {
  if (amped_csv_is_missing(cell))
    return "; --missing=skip leaves out rows without one";
  for (uint64_t i = 0; i < k->length; i++)
    if (amped_is_digit(k->string[i]))
      return "";
  return "; if it is a label for empty keys, give it as --empty=LABEL";
}

/* Replace time stamps by their periods, in modes that have some. `texts` holds them. Returns false,
 * with piece->status, on failure. */
static bool take_periods(parser *p, const amped_cell *cells, key *keys, period_texts texts) {
  const amped_table_header *h = &p->reader->header;
  char excerpt[AMPED_EXCERPT_BYTES];
  for (int m = 0; m < h->order; m++) {
    key *k = &keys[m];
    if (h->periods[m] == AMPED_PERIOD_NONE || is_empty_key(p->reader, k->string, k->length))
      continue;
    const char *wrong = amped_period_label(h->periods[m], k->string, k->length, texts[m]);
    if (wrong != NULL) {
      amped_piece_fail(p->piece, cells[m].begin, "column \"%.100s\": \"%s\" %s%s", h->columns[m],
                       amped_number_excerpt(excerpt, k->string, k->string + k->length), wrong,
                       remedy_of(&cells[m], k));
      return false;
    }
    k->string = texts[m];
    k->length = strlen(texts[m]);
  }
  return true;
}

/* Count keys such as NaN or None. They are labels, but may mean a missing key. */
static void count_words(parser *p, const key *keys) {
  for (int m = 0; m < p->reader->header.order; m++) {
    const char *s = keys[m].string;
    const amped_cell cell = {.begin = s, .end = s + keys[m].length};
    /* The first character rules out most keys. */
    if (keys[m].length > 0 && strchr("#-<Nn\\", *s) != NULL && amped_csv_is_missing(&cell))
      p->worded[m]++;
  }
}

static void hash_keys(const reader *r, key *keys) {
  for (int m = 0; m < r->header.order; m++) {
    keys[m].hash = amped_intern_hash(keys[m].string, keys[m].length);
    amped_intern_prefetch(&r->labels[r->header.sets[m]], keys[m].hash);
  }
}

/* Refuse an empty key. A table with another number of keys than the known modes probably has
 * columns that are no keys, and the empty one is among them. */
static void refuse_empty(parser *p, int m, const amped_cell *cell) {
  const reader *r = p->reader;
  const int known = r->options->known_order;
  if (known > 0 && r->header.order != known)
    amped_piece_fail(p->piece, cell->begin,
                     "column \"%.100s\": the key is empty; the table has %d keys, but the other "
                     "file has %d modes: name the columns of these with --keys",
                     r->header.columns[m], r->header.order, known);
  else
    amped_piece_fail(p->piece, cell->begin,
                     "column \"%.100s\": the key is empty; fill it in, name a label for empty "
                     "keys with --empty=LABEL, or leave such rows out with --missing=skip",
                     r->header.columns[m]);
}

/* Set *index to the number of a key, with FRESH if the string is new. Returns false, with
 * piece->status, on failure. */
static bool key_index(parser *p, int m, const amped_cell *cell, const key *k, uint64_t *index) {
  const reader *r = p->reader;
  const int set = r->header.sets[m];
  *index = amped_intern_find(&r->labels[set], k->hash, k->string, k->length);
  if (*index != AMPED_INTERN_NONE)
    return true;
  if (k->length == 0) {
    refuse_empty(p, m, cell);
    return false;
  }
  uint64_t before = p->fresh[set].count;
  p->piece->status = amped_intern_add(&p->fresh[set], k->hash, k->string, k->length, index);
  if (p->piece->status != AMPED_OK)
    return false;
  if (p->fresh[set].count > before && !amped_csv_is_utf8(k->string, k->string + k->length)) {
    char excerpt[AMPED_EXCERPT_BYTES];
    amped_piece_fail(
        p->piece, cell->begin, "column \"%.100s\": \"%s\" is not UTF-8 text; convert the file",
        r->header.columns[m], amped_number_excerpt(excerpt, k->string, k->string + k->length));
    return false;
  }
  *index |= FRESH;
  return true;
}

/* Read a value. Returns false, with piece->status, if the cell has no finite number. */
static bool cell_value(parser *p, const amped_cell *cell, double *out) {
  const reader *r = p->reader;
  const char *begin = cell->begin;
  const char *end = cell->end;
  char excerpt[AMPED_EXCERPT_BYTES];
  while (begin < end && (*begin == ' ' || *begin == '\t'))
    begin++;
  while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
    end--;
  if (begin == end)
    amped_piece_fail(p->piece, cell->begin,
                     "column \"%.100s\": the value is empty; fill it in, or leave such rows out "
                     "with --missing=skip",
                     r->header.value);
  else if (amped_csv_is_missing(&(amped_cell){.begin = begin, .end = end}))
    amped_piece_fail(p->piece, cell->begin,
                     "column \"%.100s\": the value is %s; fill it in, or leave such rows out with "
                     "--missing=skip",
                     r->header.value, amped_number_excerpt(excerpt, begin, end));
  else if (amped_number_decimal(begin, out) != end || !isfinite(*out))
    amped_piece_fail(p->piece, cell->begin,
                     "column \"%.100s\": \"%s\" is not a finite number; correct or remove the row",
                     r->header.value, amped_number_excerpt(excerpt, begin, end));
  else
    amped_cut_values_note(p->piece, begin, end, *out);
  return p->piece->status == AMPED_OK;
}

/* Split the row at `begin`; cells[role] = its wanted cells. Returns the start of the next row;
 * NULL, with piece->status, on failure. */
static const char *cut_row(parser *p, const char *begin, amped_cell *cells) {
  const amped_table_header *header = &p->reader->header;
  const char *at = begin;
  uint64_t c = 0;
  amped_cell cell = {0};
  for (; !cell.last; c++) {
    at = amped_csv_cell(p->piece, at, header->form, &cell);
    if (at == NULL)
      return NULL;
    if (c < header->count && header->roles[c] != AMPED_ROLE_NONE)
      cells[header->roles[c]] = cell;
  }
  if ((uint64_t)(at - begin) > AMPED_TEXT_ROW_BYTES) {
    amped_piece_fail(p->piece, begin, "a row of more than 1 MiB; is a quote left open?");
    return NULL;
  }
  if (header->trailing && c == header->count && cell.end > cell.begin) {
    amped_piece_fail(p->piece, cell.begin,
                     "cell %" PRIu64 " is not empty, but its column has no name; name it, or "
                     "choose columns with --keys",
                     c);
    return NULL;
  }
  if (c != header->count) {
    amped_piece_fail(p->piece, begin,
                     "%" PRIu64 " cells, but the header has %" PRIu64 "; correct the row", c,
                     header->count);
    return NULL;
  }
  for (int m = 1; m < header->order; m++)
    if (header->shares[m])
      cells[m] = cells[m - 1];
  return at;
}

/* Is every key the name of its column, as in files that were joined with their headers? Names that
 * are numbers may be keys, and so may names beside a value that is a number. */
static bool repeats_header(const reader *r, const amped_cell *cells, const key *keys) {
  const amped_cell *value = &cells[AMPED_ROLE_VALUE];
  bool repeats = !r->options->no_header;
  double number = 0.0;
  for (int m = 0; m < r->header.order && repeats; m++) {
    const char *name = r->header.columns[m];
    repeats = strlen(name) == keys[m].length && memcmp(name, keys[m].string, keys[m].length) == 0 &&
              amped_number_decimal(name, &number) == NULL;
  }
  return repeats &&
         (r->header.value == NULL || amped_number_decimal(value->begin, &number) != value->end);
}

/* The first role whose cell is missing, with --missing=skip; AMPED_ROLE_NONE: none. A key is
 * missing if it is empty and empty keys have no label; so is a word such as NA that is no time
 * stamp. */
static int missing_role(const reader *r, const amped_cell *cells) {
  if (!r->options->skips_missing)
    return AMPED_ROLE_NONE;
  for (int m = 0; m < r->header.order; m++) {
    const uint64_t length = (uint64_t)(cells[m].end - cells[m].begin);
    if (is_empty_key(r, cells[m].begin, length)
            ? r->options->empty == NULL
            : r->header.periods[m] != AMPED_PERIOD_NONE && amped_csv_is_missing(&cells[m]))
      return m;
  }
  if (r->header.value != NULL && amped_csv_is_missing(&cells[AMPED_ROLE_VALUE]))
    return AMPED_ROLE_VALUE;
  if (r->header.other != NULL && amped_csv_is_missing(&cells[AMPED_ROLE_OTHER]))
    return AMPED_ROLE_OTHER;
  return AMPED_ROLE_NONE;
}

/* Parse the row at `begin` into nonzero *row of the tensor, which advances unless the row is left
 * out. Returns the start of the next row; NULL, with piece->status, on failure. */
static const char *parse_row(parser *p, const char *begin, uint64_t *row) {
  const reader *r = p->reader;
  const amped_sptensor *t = r->rows.tensor;
  amped_cell cells[AMPED_ROLES];
  key keys[AMPED_MAX_ORDER];
  period_texts texts;
  uint64_t index[AMPED_MAX_ORDER];
  double value = 1.0;
  const char *next = cut_row(p, begin, cells);
  if (next == NULL)
    return NULL;
  const int missing = missing_role(r, cells);
  if (missing != AMPED_ROLE_NONE) {
    p->skipped[missing]++;
    return next;
  }
  if (!take_keys(p, cells, keys))
    return NULL;
  if (repeats_header(r, cells, keys)) {
    amped_piece_fail(p->piece, begin, "the row has the names of the columns again; remove it");
    return NULL;
  }
  if (!take_periods(p, cells, keys, texts))
    return NULL;
  hash_keys(r, keys);
  for (int m = 0; m < t->order; m++)
    if (!key_index(p, m, &cells[m], &keys[m], &index[m]))
      return NULL;
  if (r->header.value != NULL && !cell_value(p, &cells[AMPED_ROLE_VALUE], &value))
    return NULL;
  /* Store complete rows only: memory is reserved for no others. */
  for (int m = 0; m < t->order; m++)
    t->indices[m][*row] = index[m];
  t->values[(*row)++] = value;
  count_words(p, keys);
  return next;
}

static bool is_blank_line(const char *at) {
  return *at == '\n' || (at[0] == '\r' && at[1] == '\n');
}

static void parse_piece(parser *p, const reader *r, amped_piece *piece) {
  uint64_t row = piece->row;
  p->reader = r;
  p->piece = piece;
  for (int m = 0; m < r->header.order; m++)
    amped_intern_clear(&p->fresh[m]);
  for (const char *at = piece->begin; at < piece->end;) {
    at = amped_text_skip_marks(at);
    if (is_blank_line(at)) {
      at += *at == '\r' ? 2 : 1;
      continue;
    }
    at = parse_row(p, at, &row);
    if (at == NULL)
      return;
  }
  piece->rows = row - piece->row;
}

/* ---- one chunk ---- */

/* Find the numbers of a piece's new strings in the table of the whole file: numbers[k] for string
 * k. */
static amped_status number_strings(amped_intern *labels, const amped_intern *fresh,
                                   uint64_t *numbers) {
  uint64_t hashes[AHEAD];
  for (uint64_t next = 0; next < fresh->count + AHEAD; next++) {
    uint64_t *hash = &hashes[next % AHEAD];
    if (next >= AHEAD) {
      uint64_t k = next - AHEAD;
      AMPED_TRY(amped_intern_add(labels, *hash, fresh->bytes + fresh->offsets[k],
                                 fresh->offsets[k + 1] - fresh->offsets[k], &numbers[k]));
    }
    if (next < fresh->count) {
      *hash = amped_intern_hash(fresh->bytes + fresh->offsets[next],
                                fresh->offsets[next + 1] - fresh->offsets[next]);
      amped_intern_prefetch(labels, *hash);
    }
  }
  return AMPED_OK;
}

/* Give the rows of a piece the final numbers of their new strings, in the modes of a set. */
static void renumber(const reader *r, int set, const amped_piece *piece, const uint64_t *numbers) {
  for (int m = set; m < r->header.order; m++) {
    uint64_t *indices = r->rows.tensor->indices[m];
    for (uint64_t row = piece->row; row < piece->row + piece->rows && r->header.sets[m] == set;
         row++)
      if ((indices[row] & FRESH) != 0)
        indices[row] = numbers[indices[row] & ~FRESH];
  }
}

/* Number the new strings of a set for the whole file and store the numbers in the rows. */
static amped_status number_set(reader *r, int set, int count) {
  uint64_t *numbers = NULL;
  amped_status status = AMPED_OK;
  for (int i = 0; i < count; i++) {
    const amped_intern *fresh = &r->parsers[i].fresh[set];
    if (fresh->count == 0)
      continue;
    amped_free(numbers);
    AMPED_GO(end, amped_alloc(&numbers, fresh->count, sizeof *numbers, "labels"));
    AMPED_GO(end, number_strings(&r->labels[set], fresh, numbers));
    renumber(r, set, &r->pieces[i], numbers);
  }
end:
  amped_free(numbers);
  return status;
}

static amped_status parse_chunk(reader *r, const amped_text_chunk *chunk) {
  int order = r->header.order;
  amped_status statuses[AMPED_MAX_ORDER] = {AMPED_OK};
  int count = amped_text_split(chunk, r->quoted, r->pieces);
  AMPED_TRY(amped_rows_reserve(&r->rows, r->pieces, count));
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < count; i++)
    parse_piece(&r->parsers[i], r, &r->pieces[i]);
  AMPED_TRY(amped_text_check(r->path, chunk, r->pieces, count));
#pragma omp parallel for schedule(dynamic, 1)
  for (int m = 0; m < order; m++)
    statuses[m] = number_set(r, m, count);
  for (int m = 0; m < order; m++)
    AMPED_TRY(statuses[m]);
  amped_cut_values_add(&r->cut, chunk, r->pieces, count);
  amped_rows_close(&r->rows, r->pieces, count, chunk->fraction);
  return AMPED_OK;
}

/* ---- the file ---- */

static amped_status read_chunks(reader *r, amped_text *text) {
  amped_text_chunk chunk;
  for (;;) {
    AMPED_TRY(amped_text_next(text, &chunk));
    if (chunk.begin == chunk.end)
      return AMPED_OK;
    if (chunk.cut)
      return amped_text_error(r->path, chunk.line,
                              "a row of more than 1 MiB; is a quote left open?");
    if (r->header.count == 0) {
      AMPED_TRY(amped_table_header_read(&r->header, r->path, r->quoted, r->options, &chunk));
      amped_table_header_tell(&r->header, r->path);
      r->rows.tensor->order = r->header.order;
      /* The shortest row has empty cells: only separators and the line end. */
      r->rows.least_bytes = r->header.count;
    }
    AMPED_TRY(parse_chunk(r, &chunk));
  }
}

/* The labels of mode m, without a copy. */
static amped_labels labels_of(const reader *r, int m) {
  const amped_intern *in = &r->labels[r->header.sets[m]];
  return (amped_labels){.count = in->count, .bytes = in->bytes, .offsets = in->offsets};
}

/* Does mode m have text or ids, and are all others, two or more, columns of whole numbers? Then
 * these may be values: a wide table. A row number without a name is no id. */
static bool is_wide(const reader *r, int m) {
  bool wide = r->header.order > 2 && !amped_column_has_no_name(r->header.modes[m]);
  for (int k = 0; k < r->header.order && wide; k++) {
    const amped_labels labels = labels_of(r, k);
    const amped_column_kind kind = amped_column_kind_of(&labels);
    wide = r->header.periods[k] == AMPED_PERIOD_NONE &&
           (kind == AMPED_COLUMN_WHOLE || (k == m && kind == AMPED_COLUMN_TEXT));
  }
  return wide;
}

/* Numbers from here on look like seconds since 1970. */
#define EPOCH 1e8

/* Are the labels times, dates or seconds since 1970? */
static bool are_times(const amped_labels *labels) {
  char first[32];
  uint64_t length = 0;
  const amped_label_kind kind = amped_label_kind_of(labels);
  if (kind != AMPED_LABELS_NUMBERS)
    return kind != AMPED_LABELS_TEXT;
  const char *text = amped_label(labels, 0, &length);
  (void)snprintf(first, sizeof first, "%.*s", length < 31 ? (int)length : 31, text);
  return strtod(first, NULL) >= EPOCH;
}

/* Warn of key columns that look like row numbers, or times of which each comes once. Columns that
 * the user chose, and modes that exist already, are accepted. */
static void warn_of_row_numbers(const reader *r, uint64_t rows) {
  if (r->options->keys != NULL || r->options->known_modes)
    return;
  for (int m = 0; m < r->header.order; m++)
    if (r->header.sets[m] == m && r->labels[m].count == rows) {
      const amped_labels labels = labels_of(r, m);
      amped_table_header_warn(&r->header, r->path, m, rows, rows, are_times(&labels),
                              is_wide(r, m));
    }
}

/* Refuse a key column whose numbers have fractions, if the header's check saw none: it looks at the
 * first rows only. */
static amped_status refuse_fractions(const reader *r) {
  const amped_read_options *o = r->options;
  if (o->keys != NULL || o->value != NULL || o->weights != NULL || o->known_modes)
    return AMPED_OK;
  for (int m = 0; m < r->header.order; m++) {
    const amped_labels labels = labels_of(r, m);
    if (r->header.periods[m] == AMPED_PERIOD_NONE &&
        amped_column_kind_of(&labels) == AMPED_COLUMN_FRACTIONS)
      return amped_table_header_refuse(&r->header, r->path, r->header.columns[m]);
  }
  return AMPED_OK;
}

/* Warn of times of which most come once. */
static void warn_of_times(const reader *r, const amped_sptensor *t, uint64_t rows) {
  if (r->options->keys != NULL || r->options->known_modes)
    return;
  for (int m = 0; m < t->order; m++)
    if (r->header.sets[m] == m && t->labels[m].count < rows && 2 * t->labels[m].count > rows &&
        are_times(&t->labels[m]))
      amped_table_header_warn(&r->header, r->path, m, t->labels[m].count, rows, true, false);
}

/* Warn if the first row, taken as the header, looks like one of the facts: a column has its own
 * name as a label. Then the first fact is lost. A user who names columns knows the header. */
static void warn_of_header(const reader *r) {
  if (r->options->keys != NULL || r->options->value != NULL)
    return;
  for (int m = 0; m < r->header.order && !r->options->no_header; m++) {
    const char *name = r->header.columns[m];
    const amped_intern *labels = &r->labels[r->header.sets[m]];
    const uint64_t length = strlen(name);
    if (amped_intern_find(labels, amped_intern_hash(name, length), name, length) !=
        AMPED_INTERN_NONE) {
      amped_warn(
          "%s: its first row is taken for the header, and column %.200s has its own name as a "
          "label; if the table has no header, this row is lost: use --no-header",
          amped_io_name(r->path), name);
      return;
    }
  }
}

/* Find the first label of mode m that is a word for a missing value. */
static const char *first_word(const reader *r, int m, char *buffer, uint64_t size) {
  const amped_labels labels = labels_of(r, m);
  for (uint64_t i = 0; i < labels.count; i++) {
    uint64_t length = 0;
    const char *s = amped_label(&labels, i, &length);
    if (amped_csv_is_missing(&(amped_cell){.begin = s, .end = s + length}))
      return amped_label_text(&labels, i, buffer, size);
  }
  return "";
}

/* Warn of rows whose key is a word for a missing value: pandas writes nan for a missing name. Such
 * a word may be a name (NA is Namibia), so that it stays a label. The user's --empty is one. */
static void warn_of_words(const reader *r) {
  const char *empty = r->options->empty;
  char word[32];
  char name[LIST_BYTES];
  for (int m = 0; m < r->header.order && !r->options->reads_weights; m++) {
    uint64_t count = 0;
    for (int i = 0; i < AMPED_MAX_PIECES; i++)
      count += r->parsers[i].worded[m];
    if (count == 0 || (empty != NULL && amped_csv_is_missing(&(amped_cell){
                                            .begin = empty, .end = empty + strlen(empty)})))
      continue;
    amped_warn("%s: %" PRIu64 " row%s of column %s %s a word for a missing key (%s), which is a "
               "label as any other; if no key is meant, make the cell empty: --missing=skip leaves "
               "out rows with an empty key only",
               amped_io_name(r->path), count, count == 1 ? "" : "s",
               amped_printable_text(name, sizeof name, r->header.modes[m]),
               count == 1 ? "has" : "have", first_word(r, m, word, sizeof word));
  }
}

/* Warn if the label of empty keys is one that other rows have: these rows become one thing. */
static void warn_of_empty(const reader *r) {
  char name[LIST_BYTES];
  char label[128];
  for (int m = 0; m < r->header.order && r->options->empty != NULL; m++) {
    uint64_t emptied = 0;
    uint64_t so_named = 0;
    for (int i = 0; i < AMPED_MAX_PIECES; i++) {
      emptied += r->parsers[i].emptied[m];
      so_named += r->parsers[i].so_named[m];
    }
    if (emptied > 0 && so_named > 0)
      amped_warn("%s: %" PRIu64 " empty keys of column %s and %" PRIu64 " keys that are %s in the "
                 "file get one label; give --empty a label that no key is",
                 amped_io_name(r->path), emptied,
                 amped_printable_text(name, sizeof name, r->header.modes[m]), so_named,
                 amped_printable_text(label, sizeof label, r->options->empty));
  }
}

/* Warn if all time stamps of a column are in the years that follow 1970: days of a spreadsheet and
 * minutes, read as seconds, are. */
static void warn_of_early(const reader *r, const amped_sptensor *t) {
  for (int m = 0; m < t->order; m++) {
    const amped_period period = r->header.periods[m];
    bool early = period != AMPED_PERIOD_NONE && period != AMPED_PERIOD_WEEKDAY &&
                 period != AMPED_PERIOD_HOUR_OF_DAY && t->labels[m].count > 0;
    for (uint64_t i = 0; i < t->labels[m].count && early; i++) {
      uint64_t bytes = 0;
      const char *label = amped_label(&t->labels[m], i, &bytes);
      early = bytes >= 4 && memcmp(label, "197", 3) == 0 && label[3] <= '3';
    }
    if (early)
      amped_warn("%s: all time stamps of %s are in the years 1970 to 1973; numbers are read as "
                 "seconds since 1970: if they count days or minutes, write dates (2024-05-17)",
                 amped_io_name(r->path), r->header.columns[m]);
  }
}

/* Name of the column with this role. */
static const char *column_of(const amped_table_header *h, int role) {
  return role == AMPED_ROLE_VALUE   ? h->value
         : role == AMPED_ROLE_OTHER ? h->other
                                    : h->columns[role];
}

/* Count the rows that were left out, by column: "stars 10, user 2". */
static uint64_t count_skipped(const reader *r, char list[LIST_BYTES]) {
  uint64_t all = 0;
  size_t used = 0;
  list[0] = '\0';
  for (int role = 0; role < AMPED_ROLES; role++) {
    uint64_t count = 0;
    for (int i = 0; i < AMPED_MAX_PIECES; i++)
      count += r->parsers[i].skipped[role];
    if (count > 0 && used < LIST_BYTES)
      used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s%.60s %" PRIu64,
                               all > 0 ? ", " : "", column_of(&r->header, role), count);
    all += count;
  }
  return all;
}

static amped_status tell_skipped(const reader *r, uint64_t rows) {
  char list[LIST_BYTES];
  char text[LIST_BYTES];
  const uint64_t skipped = count_skipped(r, list);
  if (skipped == 0)
    return AMPED_OK;
  (void)amped_printable_text(text, sizeof text, list);
  if (rows == 0 && !r->options->may_be_empty)
    return amped_error(AMPED_BAD_INPUT, amped_io_name(r->path),
                       "has a missing cell in each of its %" PRIu64
                       " rows (%s), and --missing=skip leaves no row",
                       skipped, text);
  amped_note("%s: %" PRIu64 " of %" PRIu64
             " rows have a missing cell and are left out (first one: %s)",
             amped_io_name(r->path), skipped, rows + skipped, text);
  return AMPED_OK;
}

static amped_status conclude(reader *r) {
  amped_sptensor *t = r->rows.tensor;
  AMPED_TRY(tell_skipped(r, r->rows.taken + t->nnz));
  if (r->rows.taken + t->nnz == 0 && !r->options->may_be_empty)
    return amped_error(AMPED_BAD_INPUT, amped_io_name(r->path),
                       "holds no rows below its header; is this the right file?");
  const uint64_t rows = r->rows.taken + t->nnz;
  AMPED_TRY(refuse_fractions(r));
  amped_cut_values_warn(&r->cut, r->path);
  warn_of_row_numbers(r, rows);
  warn_of_header(r);
  warn_of_words(r);
  warn_of_empty(r);
  for (int m = 0; m < t->order; m++) {
    const int set = r->header.sets[m];
    if (set == m && !r->options->known_modes)
      amped_respelt_warn(&r->labels[m], amped_io_name(r->path), r->header.modes[m]);
    if (set == m)
      AMPED_TRY(amped_intern_take(&r->labels[m], &t->labels[m]));
    else
      AMPED_TRY(amped_labels_copy(&t->labels[set], &t->labels[m]));
    t->dims[m] = t->labels[m].count;
    t->labels[m].period = r->header.periods[m];
    t->labels[m].of_header = !r->options->no_header && r->options->keys == NULL;
    if (!r->options->no_header || !amped_table_header_in_place(&r->header) ||
        (r->options->known_modes && r->options->keys == NULL))
      AMPED_TRY(amped_strdup(&t->labels[m].name, r->header.modes[m]));
    if (set == m && !r->options->known_modes)
      AMPED_TRY(
          amped_respelt_warn_times(&t->labels[m], 0, amped_io_name(r->path), r->header.modes[m]));
    if (set == m)
      AMPED_TRY(amped_label_forms_warn(amped_io_name(r->path), m, &t->labels[m]));
  }
  warn_of_times(r, t, rows);
  warn_of_early(r, t);
  return amped_rows_finish(&r->rows);
}

/* May cells be quoted? Decided by the user or by the file's name. */
static bool has_quotes(const char *path, const amped_read_options *o) {
  return o->format == AMPED_READ_AUTO ? !amped_io_is_tsv(path) : o->format == AMPED_READ_CSV;
}

static void free_reader(reader *r) {
  for (int i = 0; i < AMPED_MAX_PIECES && r->parsers != NULL; i++) {
    for (int m = 0; m < AMPED_MAX_ORDER; m++)
      amped_intern_free(&r->parsers[i].fresh[m]);
    amped_free(r->parsers[i].scratch);
  }
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_intern_free(&r->labels[m]);
  amped_free(r->parsers);
  amped_free(r->pieces);
  amped_table_header_free(&r->header);
}

amped_status amped_table_read(const char *path, const amped_read_options *options,
                              amped_sptensor *out) {
  reader r = {.path = path,
              .options = options,
              .quoted = has_quotes(path, options),
              .rows = {.tensor = out, .overflow = options->overflow}};
  amped_text *text = NULL;
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  AMPED_GO(end, amped_alloc(&r.pieces, AMPED_MAX_PIECES, sizeof *r.pieces, "a parser"));
  AMPED_GO(end, amped_calloc(&r.parsers, AMPED_MAX_PIECES, sizeof *r.parsers, "a parser"));
  AMPED_GO(end, amped_text_open(path, r.quoted, options->overflow, &text));
  AMPED_GO(end, read_chunks(&r, text));
  AMPED_GO(end, conclude(&r));
end:
  amped_text_close(text);
  free_reader(&r);
  if (status != AMPED_OK)
    amped_sptensor_free(out);
  return status;
}

/* ---- rows of a coordinate ---- */

/* Are these keys the labels of t at `index`? */
static bool has_labels(const key *keys, const amped_sptensor *t, const uint64_t *index) {
  for (int m = 0; m < t->order; m++) {
    uint64_t length = 0;
    const char *label = amped_label(&t->labels[m], index[m], &length);
    if (length != keys[m].length || memcmp(label, keys[m].string, length) != 0)
      return false;
  }
  return true;
}

static amped_status find_in_chunk(parser *p, const amped_text_chunk *chunk, const amped_sptensor *t,
                                  const uint64_t *index, uint64_t lines[2]) {
  amped_cell cells[AMPED_ROLES];
  key keys[AMPED_MAX_ORDER];
  period_texts texts;
  uint64_t line = chunk->line;
  *p->piece = (amped_piece){.begin = chunk->begin, .end = chunk->end};
  for (const char *at = chunk->begin; at < chunk->end && lines[1] == 0;) {
    const char *begin = at;
    at = amped_text_skip_marks(at);
    if (is_blank_line(at))
      at += *at == '\r' ? 2 : 1;
    else {
      at = cut_row(p, at, cells);
      const bool skips = at != NULL && missing_role(p->reader, cells) != AMPED_ROLE_NONE;
      if (at == NULL ||
          (!skips && (!take_keys(p, cells, keys) || !take_periods(p, cells, keys, texts))))
        return amped_text_check(p->reader->path, chunk, p->piece, 1);
      if (!skips && has_labels(keys, t, index))
        lines[lines[0] == 0 ? 0 : 1] = line;
    }
    line += amped_text_count(begin, at, '\n');
  }
  return AMPED_OK;
}

static amped_status find_rows(reader *r, amped_text *text, const amped_sptensor *t,
                              const uint64_t *index, uint64_t lines[2]) {
  amped_text_chunk chunk;
  r->parsers[0].reader = r;
  r->parsers[0].piece = r->pieces;
  while (lines[1] == 0) {
    AMPED_TRY(amped_text_next(text, &chunk));
    if (chunk.begin == chunk.end)
      return AMPED_OK;
    if (r->header.count == 0)
      AMPED_TRY(amped_table_header_read(&r->header, r->path, r->quoted, r->options, &chunk));
    AMPED_TRY(find_in_chunk(&r->parsers[0], &chunk, t, index, lines));
  }
  return AMPED_OK;
}

amped_status amped_table_lines(const char *path, const amped_read_options *options,
                               const amped_sptensor *t, const uint64_t *index, uint64_t lines[2]) {
  reader r = {.path = path, .options = options, .quoted = has_quotes(path, options)};
  amped_text *text = NULL;
  amped_status status = AMPED_OK;
  lines[0] = lines[1] = 0;
  AMPED_GO(end, amped_alloc(&r.pieces, 1, sizeof *r.pieces, "a parser"));
  AMPED_GO(end, amped_calloc(&r.parsers, AMPED_MAX_PIECES, sizeof *r.parsers, "a parser"));
  AMPED_GO(end, amped_text_open(path, r.quoted, options->overflow, &text));
  AMPED_GO(end, find_rows(&r, text, t, index, lines));
end:
  amped_text_close(text);
  free_reader(&r);
  return status;
}
