/* FROSTT text: parallel parsing of nonzeros, and a first line that may be a header. */
#include "text/io_tns.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "text/cut_values.h"
#include "text/io_number.h"
#include "text/io_rows.h"
#include "text/io_tns_dense.h"
#include "text/io_tns_header.h"
#include "base/mem.h"

typedef struct reader {
  const char *path;
  const amped_read_options *options;
  amped_tns_header header;
  amped_rows rows;
  amped_cut_values cut;
  amped_tns_dense dense;
  uint64_t base;
  bool bounded; /* dimensions are given, in limit */
  uint64_t limit[AMPED_MAX_ORDER];
  amped_piece *pieces;
  uint64_t (*maxima)[AMPED_MAX_ORDER]; /* per piece: largest index + 1 - base so far */
  uint64_t first[AMPED_MAX_ORDER];     /* index + 1 - base of the line that header.claim is about */
  amped_overflow overflow;             /* settles the claim, then passes rows on to the user's
                                          overflow */
} reader;

/* ---- one line ---- */

/* Is the word begin .. end, used as a value, a name such as "nan" or "inf"? */
static bool names_not_finite(const char *begin, const char *end) {
  static const char *const names[] = {"nan", "inf", "infinity"};
  if (begin < end && (*begin == '-' || *begin == '+'))
    begin++;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if ((size_t)(end - begin) == strlen(names[i]) &&
        strncasecmp(begin, names[i], (size_t)(end - begin)) == 0)
      return true;
  return false;
}

static void explain_index(const reader *r, amped_piece *piece, int m, const char *begin,
                          const char *end) {
  char excerpt[AMPED_EXCERPT_BYTES];
  uint64_t v = 0;
  const char *digits = begin + (*begin == '-');
  const char *stop = digits;
  while (*stop >= '0' && *stop <= '9')
    stop++;
  (void)amped_number_excerpt(excerpt, begin, end);
  if (stop != end || stop == digits)
    amped_piece_fail(piece, begin, "field %d: \"%s\" is not a whole number; correct the line",
                     m + 1, excerpt);
  else if (*begin == '-')
    amped_piece_fail(piece, begin, "field %d: negative index %s; indices are counted from %d",
                     m + 1, excerpt, (int)r->base);
  else if (amped_number_u64(begin, &v) == NULL || v > AMPED_MAX_DIM - 1 + r->base)
    amped_piece_fail(piece, begin, "field %d: index %s is above 2^63; correct the line", m + 1,
                     excerpt);
  else if (v < r->base)
    amped_piece_fail(piece, begin,
                     "field %d: index 0, but indices are counted from 1; if this file counts from "
                     "0, give --index-base=0",
                     m + 1);
  else
    amped_piece_fail(piece, begin,
                     "field %d: index %s is too large for dimension %" PRIu64
                     " of %s; correct the line or the dimensions",
                     m + 1, excerpt, r->limit[m],
                     r->options->dims_order > 0 ? "--dims" : "the header");
}

/* Explain why the line is not a nonzero. Slow, and separate from the fast parser. */
static void explain(const reader *r, amped_piece *piece, const char *begin) {
  const char *fields[AMPED_MAX_ORDER + 1][2];
  int order = r->header.order;
  int count = amped_tns_fields(begin, fields, order + 1);
  if (count != order + 1) {
    amped_piece_fail(piece, begin, "%d fields, not %d (%d indices and a value); correct the line",
                     count, order + 1, order);
    return;
  }
  for (int m = 0; m < order; m++) {
    uint64_t v = 0;
    const char *end = amped_number_u64(fields[m][0], &v);
    if (end != fields[m][1] || v < r->base || v - r->base >= r->limit[m]) {
      explain_index(r, piece, m, fields[m][0], fields[m][1]);
      return;
    }
  }
  char excerpt[AMPED_EXCERPT_BYTES];
  double x = 0.0;
  const char *end = amped_number_decimal(fields[order][0], &x);
  (void)amped_number_excerpt(excerpt, fields[order][0], fields[order][1]);
  if (end == fields[order][1] || names_not_finite(fields[order][0], fields[order][1]))
    amped_piece_fail(piece, begin, "field %d: value %s is not finite; correct or remove the line",
                     order + 1, excerpt);
  else
    amped_piece_fail(piece, begin, "field %d: \"%s\" is not a number; correct the line", order + 1,
                     excerpt);
}

/* Parse the line at p; *row advances if it holds a nonzero. NULL, with piece->error, on failure. */
static inline const char *parse_line(const reader *r, amped_piece *piece, const char *p,
                                     uint64_t *row, uint64_t *maxima) {
  const amped_sptensor *t = r->rows.tensor;
  const char *begin = p;
  uint64_t index[AMPED_MAX_ORDER];
  double value = 0.0;
  int order = r->header.order;
  p = amped_tns_skip_blanks(amped_text_skip_marks(p));
  if (*p != '\n' && *p != '#') {
    for (int m = 0; m < order; m++) {
      uint64_t v = 0;
      p = amped_number_u64(p, &v);
      if (p == NULL || !amped_tns_blank(p) || v < r->base || v - r->base >= r->limit[m])
        goto bad;
      index[m] = v - r->base;
      p = amped_tns_skip_blanks(p);
    }
    const char *number = p;
    p = amped_number_decimal(p, &value);
    if (p == NULL || (!amped_tns_blank(p) && *p != '\n') || !isfinite(value))
      goto bad;
    amped_cut_values_note(piece, number, p, value);
    p = amped_tns_skip_blanks(p);
    if (*p != '\n' && *p != '#')
      goto bad;
    /* Store complete lines only: memory is reserved for no others. */
    for (int m = 0; m < order; m++) {
      t->indices[m][*row] = index[m];
      if (index[m] >= maxima[m])
        maxima[m] = index[m] + 1;
    }
    t->values[(*row)++] = value;
  }
  if (*p != '\n')
    p = memchr(p, '\n', (size_t)(piece->end - p));
  return p + 1;
bad:
  begin = amped_text_skip_marks(begin);
  if (*amped_tns_skip_blanks(begin) == '%')
    return (const char *)memchr(begin, '\n', (size_t)(piece->end - begin)) + 1;
  explain(r, piece, begin);
  return NULL;
}

static void parse_piece(const reader *r, amped_piece *piece, uint64_t *maxima) {
  uint64_t row = piece->row;
  for (const char *p = piece->begin; p < piece->end;) {
    const char *next = parse_line(r, piece, p, &row, maxima);
    if (next == NULL)
      return;
    if ((uint64_t)(next - p) > AMPED_TEXT_ROW_BYTES) {
      amped_piece_fail(piece, p, "longer than 1 MiB; is this the right file?");
      return;
    }
    p = next;
  }
  piece->rows = row - piece->row;
}

/* ---- the file ---- */

/* Prepare for a dense tensor, whose header has all numbers. */
static amped_status settle_dense(reader *r) {
  const amped_tns_header *h = &r->header;
  amped_sptensor *t = r->rows.tensor;
  if (r->options->index_base != AMPED_BASE_AUTO || r->options->dims_order > 0)
    return amped_error(
        AMPED_USAGE, r->path,
        "is a dense tensor, which has no indices; leave out --index-base and --dims");
  t->order = h->order;
  memcpy(t->dims, h->dims, sizeof t->dims);
  memcpy(r->limit, h->dims, sizeof r->limit);
  r->bounded = true;
  r->rows.least_bytes = 2;
  return amped_tns_dense_begin(&r->dense, r->path, h->order, h->dims);
}

/* Choose index base and limits, once the order is known. */
static amped_status settle(reader *r) {
  const amped_read_options *o = r->options;
  const amped_tns_header *h = &r->header;
  amped_sptensor *t = r->rows.tensor;
  r->base = h->base_said ? h->base : o->from_zero ? 0 : 1;
  if (o->index_base != AMPED_BASE_AUTO)
    r->base = o->index_base == AMPED_BASE_0 ? 0 : 1;
  if (h->base_said && r->base != h->base)
    amped_warn(
        "%s: its header says that indices count from %d, and --index-base=%d counts them from "
        "%d; check which is right",
        r->path, (int)h->base, (int)r->base, (int)r->base);
  if (o->dims_order > 0 && o->dims_order != h->order)
    return amped_error(
        AMPED_USAGE, r->path,
        "--dims has %d dimensions, but the tensor has order %d; give one for each mode",
        o->dims_order, h->order);
  for (int m = 0; m < h->order; m++) {
    r->limit[m] = o->dims_order > 0 ? o->dims[m] : h->has_dims ? h->dims[m] : AMPED_MAX_DIM;
    if (r->limit[m] == 0 || r->limit[m] > AMPED_MAX_DIM)
      return amped_error(AMPED_USAGE, NULL, "--dims: dimension %d is not 1 to 2^63", m + 1);
  }
  r->bounded = o->dims_order > 0 || h->has_dims;
  for (int m = 0; m < h->order; m++)
    t->labels[m].from_zero = r->base == 0;
  t->order = h->order;
  /* The shortest line has one digit and one blank or line end per field. */
  r->rows.least_bytes = 2 * ((uint64_t)h->order + 1);
  return AMPED_OK;
}

static amped_status parse_pieces(reader *r, int count) {
  if (r->header.dense)
    return amped_tns_dense_parse(&r->dense, &r->rows, r->pieces, count);
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < count; i++)
    parse_piece(r, &r->pieces[i], r->maxima[i]);
  return AMPED_OK;
}

static amped_status parse_chunk(reader *r, const amped_text_chunk *chunk) {
  int count = amped_text_split(chunk, false, r->pieces);
  AMPED_TRY(amped_rows_reserve(&r->rows, r->pieces, count));
  AMPED_TRY(parse_pieces(r, count));
  AMPED_TRY(amped_text_check(r->path, chunk, r->pieces, count));
  amped_cut_values_add(&r->cut, chunk, r->pieces, count);
  amped_rows_close(&r->rows, r->pieces, count, chunk->fraction);
  return AMPED_OK;
}

/* ---- a first line that may be a header ---- */

/* Number of nonzeros after the claim's line. The line itself is counted, even if it was removed
 * when memory was full. */
static uint64_t behind_claim(const reader *r) {
  return r->rows.taken + r->rows.tensor->nnz - 1;
}

/* Parse the claim's line as row 0. */
static amped_status read_claim(reader *r, amped_text_chunk *chunk) {
  amped_text_chunk line = *chunk;
  line.end = (const char *)memchr(line.begin, '\n', (size_t)(line.end - line.begin)) + 1;
  chunk->begin = line.end;
  chunk->line++;
  AMPED_TRY(parse_chunk(r, &line));
  memcpy(r->first, r->maxima[0], sizeof r->first);
  memset(r->maxima[0], 0, sizeof r->maxima[0]);
  r->header.claim.open = r->rows.tensor->nnz == 1;
  return AMPED_OK;
}

/* Set maxima[m] to the largest index + 1 - base of all pieces. */
static void gather_maxima(const reader *r, uint64_t *maxima) {
  memset(maxima, 0, AMPED_MAX_ORDER * sizeof *maxima);
  for (int i = 0; i < AMPED_MAX_PIECES; i++)
    for (int m = 0; m < r->header.order; m++)
      maxima[m] = r->maxima[i][m] > maxima[m] ? r->maxima[i][m] : maxima[m];
}

/* Close the claim if an index exceeds its dimensions. The first chunk contradicts most first
 * lines. */
static void look_at_claim(reader *r) {
  amped_tns_claim *c = &r->header.claim;
  uint64_t maxima[AMPED_MAX_ORDER];
  if (!c->open)
    return;
  gather_maxima(r, maxima);
  c->open = !amped_tns_claim_exceeded(c, maxima);
}

/* Overflow callback. If t is only the claim's line, it stays: nothing after it is known yet. */
static amped_status pass_on(void *context, amped_sptensor *t, double fraction) {
  reader *r = context;
  const amped_overflow *to = r->options->overflow;
  if (r->header.claim.open && behind_claim(r) == 0)
    return AMPED_OK;
  if (r->header.claim.open)
    amped_tns_claim_assume(&r->header.claim, t, behind_claim(r));
  return to->take(to->context, t, fraction);
}

/* Settle the claim and find the dimensions. For text without a header, they are the largest
 * indices. */
static amped_status settle_claim(reader *r, uint64_t *nnz) {
  amped_tns_claim *c = &r->header.claim;
  uint64_t maxima[AMPED_MAX_ORDER];
  bool header = false;
  gather_maxima(r, maxima);
  if (c->line > 0)
    AMPED_TRY(amped_tns_claim_settle(c, r->path, behind_claim(r), maxima, r->rows.tensor, &header));
  *nnz = r->rows.taken + r->rows.tensor->nnz - c->assumed;
  for (int m = 0; m < r->header.order && !r->bounded; m++)
    r->limit[m] = header ? c->dims[m] : maxima[m] > r->first[m] ? maxima[m] : r->first[m];
  return AMPED_OK;
}

/* ---- all of it ---- */

static amped_status read_chunks(reader *r, amped_text *text) {
  amped_text_chunk chunk;
  for (;;) {
    AMPED_TRY(amped_text_next(text, &chunk));
    if (chunk.begin == chunk.end)
      return AMPED_OK;
    if (chunk.cut)
      return amped_text_error(r->path, chunk.line, "longer than 1 MiB; is this the right file?");
    if (r->header.expect != AMPED_TNS_DATA) {
      AMPED_TRY(amped_tns_header_read(&r->header, r->path, &chunk));
      if (r->header.expect != AMPED_TNS_DATA)
        continue;
      AMPED_TRY(r->header.dense ? settle_dense(r) : settle(r));
      if (r->header.claim.line > 0)
        AMPED_TRY(read_claim(r, &chunk));
    }
    AMPED_TRY(parse_chunk(r, &chunk));
    look_at_claim(r);
  }
}

/* After the whole text is read: compare it with the header's claims, and set the dimensions. */
static amped_status conclude(reader *r) {
  amped_sptensor *t = r->rows.tensor;
  const amped_tns_header *h = &r->header;
  const char *where = amped_io_name(r->path);
  uint64_t nnz = 0;
  AMPED_TRY(settle_claim(r, &nnz));
  if (h->nnz_line > 0 && nnz != h->nnz)
    return amped_text_error(
        r->path, h->nnz_line, "%" PRIu64 " nonzeros are announced, but %" PRIu64 " follow; %s",
        h->nnz, nnz, nnz < h->nnz ? "is the file truncated?" : "correct the header");
  if (h->dense && r->dense.seen != r->dense.elements)
    return amped_error(AMPED_BAD_INPUT, where,
                       "%" PRIu64 " values, but the dimensions have %" PRIu64
                       " elements; is the file truncated?",
                       r->dense.seen, r->dense.elements);
  if (nnz == 0 && !r->options->may_be_empty)
    return amped_error(AMPED_BAD_INPUT, where, "holds no nonzeros; is this the right file?");
  amped_cut_values_warn(&r->cut, r->path);
  memcpy(t->dims, r->limit, (size_t)t->order * sizeof *t->dims);
  return amped_rows_finish(&r->rows);
}

amped_status amped_tns_read(const char *path, const amped_read_options *options,
                            amped_sptensor *out) {
  reader r = {.path = path,
              .options = options,
              .header = {.form = options->header},
              .rows = {.tensor = out}};
  amped_text *text = NULL;
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  if (options->overflow != NULL) {
    r.overflow =
        (amped_overflow){.memory = options->overflow->memory, .take = pass_on, .context = &r};
    r.rows.overflow = &r.overflow;
  }
  AMPED_GO(end, amped_alloc(&r.pieces, AMPED_MAX_PIECES, sizeof *r.pieces, "a parser"));
  AMPED_GO(end, amped_calloc(&r.maxima, AMPED_MAX_PIECES, sizeof *r.maxima, "a parser"));
  AMPED_GO(end, amped_text_open(path, false, options->overflow, &text));
  AMPED_GO(end, read_chunks(&r, text));
  AMPED_GO(end, conclude(&r));
end:
  amped_text_close(text);
  amped_free(r.maxima);
  amped_free(r.pieces);
  if (status != AMPED_OK)
    amped_sptensor_free(out);
  return status;
}

/* ---- the line of an index ---- */

/* Find the first line in the chunk with this index; 0: none. */
static uint64_t find_in_chunk(const reader *r, const amped_text_chunk *chunk, int mode,
                              uint64_t written) {
  uint64_t line = chunk->line;
  const char *fields[AMPED_MAX_ORDER + 1][2];
  for (const char *p = chunk->begin; p < chunk->end; line++) {
    uint64_t v = 0;
    p = amped_text_skip_marks(p);
    const int count = amped_tns_fields(p, fields, r->header.order + 1);
    if (count == r->header.order + 1 && amped_number_u64(fields[mode][0], &v) == fields[mode][1] &&
        v == written)
      return line;
    p = (const char *)memchr(p, '\n', (size_t)(chunk->end - p)) + 1;
  }
  return 0;
}

static amped_status find_line(reader *r, amped_text *text, int mode, uint64_t index,
                              uint64_t *line) {
  amped_text_chunk chunk;
  while (*line == 0) {
    AMPED_TRY(amped_text_next(text, &chunk));
    if (chunk.begin == chunk.end)
      return AMPED_OK;
    if (r->header.expect != AMPED_TNS_DATA) {
      AMPED_TRY(amped_tns_header_read(&r->header, r->path, &chunk));
      if (r->header.expect != AMPED_TNS_DATA)
        continue;
      AMPED_TRY(settle(r));
    }
    *line = find_in_chunk(r, &chunk, mode, index + r->base);
  }
  return AMPED_OK;
}

amped_status amped_tns_line(const char *path, const amped_read_options *options, int mode,
                            uint64_t index, uint64_t *line) {
  amped_sptensor unused = {.order = 0};
  reader r = {.path = path,
              .options = options,
              .header = {.form = options->header},
              .rows = {.tensor = &unused}};
  amped_text *text = NULL;
  amped_status status = AMPED_OK;
  *line = 0;
  AMPED_GO(end, amped_text_open(path, false, NULL, &text));
  AMPED_GO(end, find_line(&r, text, mode, index, line));
end:
  amped_text_close(text);
  return status;
}
