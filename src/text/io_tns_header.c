/* Header of a .tns file: recognising dialects, line by line. */
#include "text/io_tns_header.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include "text/io_number.h"

/* Fields in the longest correct line: order, dims and nnz. */
#define MOST_FIELDS (AMPED_MAX_ORDER + 2)

typedef struct line {
  const char *path;
  uint64_t number;
  const char *fields[MOST_FIELDS][2];
  int count;      /* number of fields, including fields that are not stored */
  bool is_data;   /* the line is the first nonzero, which stays in the chunk */
  int next_count; /* fields in the next line that has any; 0: none in this chunk */
  uint64_t next_number;
} line;

int amped_tns_fields(const char *p, const char *(*fields)[2], int most) {
  int count = 0;
  for (;;) {
    p = amped_tns_skip_blanks(p);
    if (*p == '\n' || *p == '#')
      return count;
    const char *begin = p;
    while (!amped_tns_blank(p) && *p != '\n')
      p++;
    if (count < most) {
      fields[count][0] = begin;
      fields[count][1] = p;
    }
    if (count < INT_MAX)
      count++;
  }
}

static bool field_is(const line *l, int field, const char *word) {
  size_t length = (size_t)(l->fields[field][1] - l->fields[field][0]);
  return length == strlen(word) && memcmp(l->fields[field][0], word, length) == 0;
}

/* Read a whole field as a number 0 .. 2^63. */
static amped_status number_of(const line *l, int field, const char *what, uint64_t *out) {
  const char *end = amped_number_u64(l->fields[field][0], out);
  char excerpt[AMPED_EXCERPT_BYTES];
  if (end == l->fields[field][1] && *out <= AMPED_MAX_DIM)
    return AMPED_OK;
  return amped_text_error(
      l->path, l->number, "\"%s\" is not %s (a whole number up to 2^63); correct the header",
      amped_number_excerpt(excerpt, l->fields[field][0], l->fields[field][1]), what);
}

static amped_status check_order(const line *l, uint64_t order) {
  if (order >= AMPED_MIN_ORDER && order <= AMPED_MAX_ORDER)
    return AMPED_OK;
  return amped_text_error(l->path, l->number,
                          "a tensor of order %" PRIu64
                          "; orders %d to %d are supported, and a line has "
                          "the indices of a cell and its value",
                          order, AMPED_MIN_ORDER, AMPED_MAX_ORDER);
}

/* Read fields first .. first+order-1 as the dimensions. */
static amped_status take_dims(amped_tns_header *h, const line *l, int first) {
  for (int m = 0; m < h->order; m++) {
    AMPED_TRY(number_of(l, first + m, "a dimension", &h->dims[m]));
    if (h->dims[m] == 0)
      return amped_text_error(l->path, l->number, "dimension %d is 0; correct the header", m + 1);
  }
  h->has_dims = true;
  return AMPED_OK;
}

static amped_status take_nnz(amped_tns_header *h, const line *l, int field) {
  AMPED_TRY(number_of(l, field, "a number of nonzeros", &h->nnz));
  h->nnz_line = l->number;
  return AMPED_OK;
}

/* Our own comments: "# dims: 3 4 5", "# nnz: 4" and "# base: 0". Any other comment is ignored. */
static amped_status take_comment(amped_tns_header *h, line *l, const char *p) {
  while (*p == '#')
    p++;
  l->count = amped_tns_fields(p, l->fields, MOST_FIELDS);
  if (l->count < 1)
    return AMPED_OK;
  if (field_is(l, 0, "dims:")) {
    AMPED_TRY(check_order(l, (uint64_t)(l->count - 1)));
    h->order = l->count - 1;
    return take_dims(h, l, 1);
  }
  if (field_is(l, 0, "nnz:")) {
    if (l->count != 2)
      return amped_text_error(l->path, l->number,
                              "\"nnz:\" needs one number; correct or remove this comment");
    return take_nnz(h, l, 1);
  }
  if (l->count == 2 && field_is(l, 0, "base:") && (field_is(l, 1, "0") || field_is(l, 1, "1"))) {
    h->base_said = true;
    h->base = field_is(l, 1, "1") ? 1 : 0;
  }
  return AMPED_OK;
}

static bool is_word(const line *l, int field, const char *word) {
  const size_t length = (size_t)(l->fields[field][1] - l->fields[field][0]);
  return length == strlen(word) && strncasecmp(l->fields[field][0], word, length) == 0;
}

static bool has_word(const line *l, int from, const char *word) {
  for (int i = from; i < l->count && i < MOST_FIELDS; i++)
    if (is_word(l, i, word))
      return true;
  return false;
}

/* Read a comment that begins with %. Only Matrix Market's banner has a meaning, in capitals or not,
 * and with one % or two. */
static amped_status take_percent(amped_tns_header *h, line *l, const char *p) {
  static const char *const unknown[] = {"array",     "pattern",        "complex",
                                        "symmetric", "skew-symmetric", "hermitian"};
  l->count = amped_tns_fields(p, l->fields, MOST_FIELDS);
  if (!is_word(l, 0, "%%MatrixMarket") && !is_word(l, 0, "%MatrixMarket"))
    return AMPED_OK;
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
    if (has_word(l, 1, unknown[i]))
      return amped_text_error(l->path, l->number,
                              "a Matrix Market file of kind %s; write it as coordinate, real or "
                              "integer, general: all indices and a value in a line",
                              unknown[i]);
  h->market = true;
  h->base_said = true;
  h->base = 1;
  return AMPED_OK;
}

/* Read "sptensor", perhaps followed by GenTen's word for the index base. */
static amped_status take_sptensor(amped_tns_header *h, const line *l) {
  char excerpt[AMPED_EXCERPT_BYTES];
  h->sptensor = true;
  h->expect = AMPED_TNS_ORDER;
  h->base_said = true;
  h->base = 1;
  if (l->count == 1)
    return AMPED_OK;
  h->base = field_is(l, 1, "indices-start-at-one") ? 1 : 0;
  if (l->count == 2 && (h->base == 1 || field_is(l, 1, "indices-start-at-zero")))
    return AMPED_OK;
  return amped_text_error(
      l->path, l->number,
      "\"%s\" after sptensor; indices-start-at-one and indices-start-at-zero are known",
      amped_number_excerpt(excerpt, l->fields[1][0], l->fields[1][1]));
}

static amped_status take_order(amped_tns_header *h, const line *l) {
  uint64_t order = 0;
  AMPED_TRY(number_of(l, 0, "the order of a tensor", &order));
  AMPED_TRY(check_order(l, order));
  h->order = (int)order;
  h->expect = AMPED_TNS_DIMS;
  return AMPED_OK;
}

static amped_status expect_fields(const line *l, int count, const char *what) {
  if (l->count == count)
    return AMPED_OK;
  return amped_text_error(l->path, l->number, "%d fields, but the header has %d (%s); correct it",
                          l->count, count, what);
}

/* Are the stored fields whole numbers? */
static bool is_whole(const line *l, uint64_t *numbers) {
  for (int i = 0; i < l->count && i < MOST_FIELDS; i++)
    if (amped_number_u64(l->fields[i][0], &numbers[i]) != l->fields[i][1])
      return false;
  return l->count <= MOST_FIELDS;
}

/* Read dims, and nnz if `nnz` is set, starting with field `first`. */
static amped_status take_dims_nnz(amped_tns_header *h, const line *l, int first, bool nnz) {
  const int order = l->count - first - nnz;
  AMPED_TRY(check_order(l, (uint64_t)order));
  h->order = order;
  h->expect = AMPED_TNS_DATA;
  AMPED_TRY(take_dims(h, l, first));
  return nnz ? take_nnz(h, l, l->count - 1) : AMPED_OK;
}

/* Start a claim if the line may be dims and nnz; the following lines decide. */
static void find_claim(amped_tns_header *h, const line *l, const uint64_t *numbers) {
  amped_tns_claim *c = &h->claim;
  if (h->form != AMPED_HEADER_AUTO || h->has_dims || h->nnz_line > 0)
    return;
  c->order = h->order;
  c->nnz = numbers[h->order];
  for (int m = 0; m < h->order; m++) {
    c->dims[m] = numbers[m];
    if (c->dims[m] == 0 || c->dims[m] > AMPED_MAX_DIM)
      return;
  }
  c->line = c->nnz > 0 ? l->number : 0;
}

/* Read a first line that has the form of a nonzero. */
static amped_status take_first_data(amped_tns_header *h, line *l) {
  uint64_t numbers[MOST_FIELDS];
  const bool whole = is_whole(l, numbers);
  const bool is_auto = h->form == AMPED_HEADER_AUTO && h->order == 0;
  if (is_auto && whole && l->next_count == l->count - 1 && (uint64_t)l->count == numbers[0] + 2)
    return take_dims_nnz(h, l, 1, true); /* order, dims, nnz in one line */
  if (is_auto && whole && l->count >= AMPED_MIN_ORDER && l->next_count == l->count + 1)
    return amped_text_error(l->path, l->next_number,
                            "%d fields, not %d (%d indices and a value); correct the line, or, if "
                            "line %" PRIu64 " has the dimensions, give --header=dims",
                            l->next_count, l->count, l->count - 1, l->number);
  if (h->order == 0) {
    AMPED_TRY(check_order(l, (uint64_t)(l->count - 1)));
    h->order = l->count - 1;
  }
  h->expect = AMPED_TNS_DATA;
  l->is_data = true;
  if (whole && l->count == h->order + 1)
    find_claim(h, l, numbers);
  return AMPED_OK;
}

/* Is the field a word? Names of values that are not finite are left to the parser. */
static bool is_name(const char *begin, const char *end) {
  static const char *const values[] = {"nan", "inf", "infinity"};
  const size_t length = (size_t)(end - begin);
  const unsigned char first = (unsigned char)*begin;
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
    if (length == strlen(values[i]) && strncasecmp(begin, values[i], length) == 0)
      return false;
  return first == '"' || first == '_' || first >= 0x80 || (first >= 'A' && first <= 'Z') ||
         (first >= 'a' && first <= 'z');
}

/* Is the field several cells of a table? A comma in a value after indices is a decimal comma. */
static bool is_cells(const line *l, int field) {
  const char *begin = l->fields[field][0];
  const size_t length = (size_t)(l->fields[field][1] - begin);
  return (field == 0 || field + 1 < l->count) &&
         (memchr(begin, ',', length) != NULL || memchr(begin, ';', length) != NULL);
}

/* Name of the separator of a line that is the row of a table. */
static const char *separator_of(const char *begin, const char *end) {
  const size_t length = (size_t)(end - begin);
  return memchr(begin, '\t', length) != NULL  ? "tab"
         : memchr(begin, ';', length) != NULL ? "semicolon"
         : memchr(begin, ',', length) != NULL ? "comma"
                                              : "space";
}

/* Refuse a table in a file whose name says text. */
static amped_status refuse_table(const line *l) {
  char excerpt[AMPED_EXCERPT_BYTES];
  const int last = l->count < MOST_FIELDS ? l->count - 1 : MOST_FIELDS - 1;
  for (int i = 0; i <= last; i++)
    if (is_name(l->fields[i][0], l->fields[i][1]) || is_cells(l, i))
      return amped_text_error(l->path, l->number,
                              "\"%s\" is not a number: this is a table, and text (.tns) has only "
                              "indices and a value in "
                              "a line; read it with --format=csv --separator=%s",
                              amped_number_excerpt(excerpt, l->fields[i][0], l->fields[i][1]),
                              separator_of(l->fields[0][0], l->fields[last][1]));
  return AMPED_OK;
}

/* Is it "3 400" of extended FROSTT? No nonzero has two fields. */
static bool is_order_nnz(const line *l) {
  uint64_t numbers[MOST_FIELDS];
  return l->count == 2 && is_whole(l, numbers) && numbers[0] >= AMPED_MIN_ORDER &&
         numbers[0] <= AMPED_MAX_ORDER;
}

/* Read the first line with fields: a keyword, a header's numbers, or the first nonzero. */
static amped_status take_first(amped_tns_header *h, line *l) {
  if (h->form == AMPED_HEADER_DIMS || h->form == AMPED_HEADER_DIMS_NNZ || h->market)
    return take_dims_nnz(h, l, 0, h->form != AMPED_HEADER_DIMS);
  if (h->form == AMPED_HEADER_NONE) {
    AMPED_TRY(refuse_table(l));
    return take_first_data(h, l);
  }
  if (field_is(l, 0, "sptensor"))
    return take_sptensor(h, l);
  if (field_is(l, 0, "tensor")) {
    AMPED_TRY(expect_fields(l, 1, "tensor"));
    h->dense = true;
    h->expect = AMPED_TNS_ORDER;
    return AMPED_OK;
  }
  if (field_is(l, 0, "ktensor"))
    return amped_text_error(l->path, l->number,
                            "a ktensor is a model, no tensor; as a start for cpd --init, write "
                            "it with h5py (docs/file-format.md)");
  AMPED_TRY(refuse_table(l));
  if (is_order_nnz(l))
    AMPED_TRY(take_nnz(h, l, 1));
  if (l->count == 1 || is_order_nnz(l))
    return take_order(h, l); /* ParTI: no nonzero has a single field */
  return take_first_data(h, l);
}

/* Read the line after the dimensions. */
static amped_status take_nnz_or_data(amped_tns_header *h, line *l) {
  h->expect = AMPED_TNS_DATA;
  l->is_data = l->count != 1;
  return l->is_data ? AMPED_OK : take_nnz(h, l, 0);
}

/* Read a line that has fields. */
static amped_status take_line(amped_tns_header *h, line *l) {
  switch (h->expect) {
  case AMPED_TNS_FIRST:
    return take_first(h, l);
  case AMPED_TNS_ORDER:
    AMPED_TRY(expect_fields(l, 1, "the order"));
    return take_order(h, l);
  case AMPED_TNS_DIMS:
    AMPED_TRY(expect_fields(l, h->order, "one dimension a mode"));
    h->expect = h->sptensor                   ? AMPED_TNS_NNZ
                : h->dense || h->nnz_line > 0 ? AMPED_TNS_DATA
                                              : AMPED_TNS_NNZ_OR_DATA;
    return take_dims(h, l, 0);
  case AMPED_TNS_NNZ:
    AMPED_TRY(expect_fields(l, 1, "the number of nonzeros"));
    h->expect = AMPED_TNS_DATA;
    return take_nnz(h, l, 0);
  case AMPED_TNS_NNZ_OR_DATA:
    return take_nnz_or_data(h, l);
  case AMPED_TNS_DATA:
    break;
  }
  return AMPED_OK;
}

/* Count the fields in the chunk's next line that has any. */
static void look_ahead(line *l, const amped_text_chunk *chunk, const char *end) {
  l->next_number = l->number;
  for (const char *p = end + 1; p < chunk->end && l->next_count == 0; p = end + 1) {
    const char *begin = amped_tns_skip_blanks(amped_text_skip_marks(p));
    l->next_number++;
    l->next_count = amped_tns_comment(*begin) ? 0 : amped_tns_fields(begin, l->fields, 0);
    end = memchr(begin, '\n', (size_t)(chunk->end - begin));
  }
}

amped_status amped_tns_header_read(amped_tns_header *header, const char *path,
                                   amped_text_chunk *chunk) {
  while (header->expect != AMPED_TNS_DATA && chunk->begin < chunk->end) {
    line l = {.path = path, .number = chunk->line};
    chunk->begin = amped_text_skip_marks(chunk->begin);
    const char *p = amped_tns_skip_blanks(chunk->begin);
    const char *end = memchr(p, '\n', (size_t)(chunk->end - p));
    if (*p == '#')
      AMPED_TRY(take_comment(header, &l, p));
    else if (*p == '%')
      AMPED_TRY(take_percent(header, &l, p));
    else if ((l.count = amped_tns_fields(p, l.fields, MOST_FIELDS)) > 0) {
      if (header->expect == AMPED_TNS_FIRST)
        look_ahead(&l, chunk, end);
      AMPED_TRY(take_line(header, &l));
    }
    if (l.is_data)
      break;
    chunk->begin = end + 1;
    chunk->line++;
  }
  return AMPED_OK;
}
