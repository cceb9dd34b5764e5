#include "text/io_tns_header.h"

#include <limits.h>
#include <string.h>

#include "text/io_number.h"

/* Fields of the longest correct line. */
#define MOST_FIELDS (AMPED_MAX_ORDER + 1)

typedef struct line {
  const char *path;
  uint64_t number;
  const char *fields[MOST_FIELDS][2];
  int count; /* all fields, also fields that are not stored */
} line;

int amped_tns_fields(const char *p, const char *(*fields)[2], int most) {
  int count = 0;
  for (;;) {
    p = amped_tns_skip_blanks(p);
    if (*p == '\n' || *p == '#')
      return count;
    const char *begin = p;
    while (!amped_tns_blank(*p) && *p != '\n')
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
  size_t length = (size_t)(l->fields[field][1] - l->fields[field][0]);
  bool comma = memchr(l->fields[field][0], ',', length) != NULL;
  return amped_text_error(l->path, l->number, "\"%s\" is not %s (a whole number up to 2^63); %s",
                          amped_number_excerpt(excerpt, l->fields[field][0], l->fields[field][1]),
                          what,
                          comma ? "name a table .csv, or give --format=csv" : "correct the header");
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

/* Our own comments: "# dims: 3 4 5" and "# nnz: 4". Any other comment is ignored. */
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
  return AMPED_OK;
}

/* "sptensor", perhaps followed by GenTen's word for the index base. */
static amped_status take_sptensor(amped_tns_header *h, const line *l) {
  char excerpt[AMPED_EXCERPT_BYTES];
  h->sptensor = true;
  h->expect = AMPED_TNS_ORDER;
  if (l->count == 1)
    return AMPED_OK;
  h->base_said = true;
  h->base = field_is(l, 1, "indices-start-at-one") ? 1 : 0;
  if (l->count == 2 && (h->base == 1 || field_is(l, 1, "indices-start-at-zero")))
    return AMPED_OK;
  return amped_text_error(l->path, l->number,
                          "\"%s\" behind sptensor; indices-start-at-one and indices-start-at-zero "
                          "are known",
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
  return amped_text_error(l->path, l->number, "%d fields where the header has %d (%s); correct it",
                          l->count, count, what);
}

/* The first line with fields: a keyword, ParTI's order, or the first nonzero. */
static amped_status take_first(amped_tns_header *h, const line *l) {
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
  if (l->count == 1)
    return take_order(h, l); /* ParTI: no nonzero is a single field */
  if (h->order == 0) {
    AMPED_TRY(check_order(l, (uint64_t)(l->count - 1)));
    h->order = l->count - 1;
  }
  h->expect = AMPED_TNS_DATA;
  return AMPED_OK;
}

/* Take a line with fields in it. */
static amped_status take_line(amped_tns_header *h, const line *l) {
  switch (h->expect) {
  case AMPED_TNS_FIRST:
    return take_first(h, l);
  case AMPED_TNS_ORDER:
    AMPED_TRY(expect_fields(l, 1, "the order"));
    return take_order(h, l);
  case AMPED_TNS_DIMS:
    AMPED_TRY(expect_fields(l, h->order, "one dimension a mode"));
    h->expect = h->sptensor ? AMPED_TNS_NNZ : AMPED_TNS_DATA;
    return take_dims(h, l, 0);
  case AMPED_TNS_NNZ:
    AMPED_TRY(expect_fields(l, 1, "the number of nonzeros"));
    h->expect = AMPED_TNS_DATA;
    return take_nnz(h, l, 0);
  case AMPED_TNS_DATA:
    break;
  }
  return AMPED_OK;
}

amped_status amped_tns_header_read(amped_tns_header *header, const char *path,
                                   amped_text_chunk *chunk) {
  while (header->expect != AMPED_TNS_DATA && chunk->begin < chunk->end) {
    line l = {.path = path, .number = chunk->line};
    bool first = header->expect == AMPED_TNS_FIRST;
    const char *p = amped_tns_skip_blanks(chunk->begin);
    if (*p == '#')
      AMPED_TRY(take_comment(header, &l, p));
    l.count = amped_tns_fields(p, l.fields, MOST_FIELDS);
    if (l.count > 0)
      AMPED_TRY(take_line(header, &l));
    if (first && header->expect == AMPED_TNS_DATA)
      break; /* this line is the first nonzero */
    const char *end = memchr(p, '\n', (size_t)(chunk->end - p));
    chunk->begin = end + 1;
    chunk->line++;
  }
  return AMPED_OK;
}
