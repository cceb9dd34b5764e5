/* Dense form of Tensor Toolbox text: one value per line, of which nonzeros are kept. */
#include "text/io_tns_dense.h"

#include <math.h>
#include <string.h>

#include "text/cut_values.h"
#include "text/io_number.h"
#include "text/io_tns_header.h"
#include "base/mem.h"

amped_status amped_tns_dense_begin(amped_tns_dense *dense, const char *path, int order,
                                   const uint64_t *dims) {
  dense->elements = 1;
  dense->seen = 0;
  for (int m = 0; m < order; m++)
    if (!amped_mul(dense->elements, dims[m], &dense->elements))
      return amped_error(AMPED_BAD_INPUT, path,
                         "a dense tensor of more than 2^64 elements; correct the dimensions");
  return AMPED_OK;
}

static bool is_empty(const char *p) {
  p = amped_tns_skip_blanks(p);
  return *p == '\n' || *p == '#';
}

static const char *next_line(const char *p, const char *end) {
  return (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
}

static uint64_t count_values(const amped_piece *piece) {
  uint64_t values = 0;
  for (const char *p = piece->begin; p < piece->end; p = next_line(p, piece->end))
    values += !is_empty(amped_text_skip_marks(p));
  return values;
}

static bool parse_value(amped_piece *piece, const char *begin, double *value) {
  const char *number = amped_tns_skip_blanks(begin);
  const char *p = amped_number_decimal(number, value);
  if (p != NULL && isfinite(*value) && (amped_tns_blank(p) || *p == '\n') && is_empty(p)) {
    amped_cut_values_note(piece, number, p, *value);
    return true;
  }
  amped_piece_fail(piece, begin,
                   "not one finite number, as each line of a dense tensor is; correct the line");
  return false;
}

static void store(amped_sptensor *t, uint64_t row, uint64_t element, double value) {
  for (int m = 0; m < t->order; m++) {
    t->indices[m][row] = element % t->dims[m];
    element /= t->dims[m];
  }
  t->values[row] = value;
}

/* Parse the values of a piece; the first belongs to element `at`. */
static void parse_piece(const amped_tns_dense *dense, amped_sptensor *t, amped_piece *piece,
                        uint64_t at) {
  uint64_t row = piece->row;
  for (const char *p = piece->begin, *next = p; p < piece->end; p = next) {
    double value = 0.0;
    next = next_line(p, piece->end);
    p = amped_text_skip_marks(p);
    if ((uint64_t)(next - p) > AMPED_TEXT_ROW_BYTES) {
      amped_piece_fail(piece, p, "longer than 1 MiB; is this the right file?");
      return;
    }
    if (is_empty(p))
      continue;
    if (at == dense->elements) {
      amped_piece_fail(piece, p, "more values than the dimensions have elements; correct them");
      return;
    }
    if (!parse_value(piece, p, &value))
      return;
    if (value != 0.0)
      store(t, row++, at, value);
    at++;
  }
  piece->rows = row - piece->row;
}

amped_status amped_tns_dense_parse(amped_tns_dense *dense, amped_rows *rows, amped_piece *pieces,
                                   int count) {
  uint64_t *first = NULL;
  AMPED_TRY(amped_alloc(&first, (uint64_t)count + 1, sizeof *first, "a parser"));
  first[0] = dense->seen;
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < count; i++)
    first[i + 1] = count_values(&pieces[i]);
  for (int i = 0; i < count; i++)
    first[i + 1] += first[i];
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < count; i++)
    parse_piece(dense, rows->tensor, &pieces[i], first[i]);
  dense->seen = first[count];
  amped_free(first);
  return AMPED_OK;
}
