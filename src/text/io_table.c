#include "text/io_table.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "text/intern.h"
#include "text/io_csv.h"
#include "text/io_number.h"
#include "text/io_rows.h"
#include "text/io_table_header.h"
#include "base/mem.h"

/* Marks an index as a number of the piece's new strings: no mode has 2^63 labels. */
#define FRESH (UINT64_C(1) << 63)
/* Strings whose slots are prefetched while the strings before them are added. */
#define AHEAD 16

/* Data of the parser of one piece: strings that are new in this block. All threads look strings up
 * in the tables of the whole file, which change between blocks only. New strings are few. They get
 * their final numbers piece by piece, in order of first appearance. */
typedef struct share {
  amped_intern fresh[AMPED_MAX_ORDER];
  char *scratch; /* a key after its doubled quotes became single */
  uint64_t scratch_bytes;
} share;

typedef struct reader {
  const char *path;
  const amped_read_options *options;
  bool tabs;
  amped_table_header header;
  amped_rows rows;
  amped_intern labels[AMPED_MAX_ORDER];
  amped_piece *pieces;
  share *shares;
} reader;

/* ---- one row ---- */

/* A key in the form of its label, and its hash. */
typedef struct key {
  const char *string;
  uint64_t length;
  uint64_t hash;
} key;

/* Read the keys of all modes from their cells. false, with piece->status, on failure. */
static bool take_keys(const reader *r, amped_piece *piece, share *s, const amped_cell *cells,
                      key *keys) {
  uint64_t need = 0;
  for (int m = 0; m < r->header.order; m++)
    if (cells[m].doubled)
      need += (uint64_t)(cells[m].end - cells[m].begin);
  if (need > s->scratch_bytes) {
    s->scratch_bytes = 0;
    amped_free(s->scratch);
    piece->status = amped_alloc(&s->scratch, need, 1, "a label");
    if (piece->status != AMPED_OK)
      return false;
    s->scratch_bytes = need;
  }
  char *scratch = s->scratch;
  for (int m = 0; m < r->header.order; m++) {
    key *k = &keys[m];
    k->string = cells[m].begin;
    k->length = (uint64_t)(cells[m].end - cells[m].begin);
    if (cells[m].doubled) {
      k->length = amped_csv_unquote(&cells[m], scratch);
      k->string = scratch;
      scratch += k->length;
    }
    k->hash = amped_intern_hash(k->string, k->length);
    amped_intern_prefetch(&r->labels[m], k->hash);
  }
  return true;
}

/* The number of a key, with FRESH set where the key is new. false, with piece->status, on
 * failure. */
static bool key_index(const reader *r, amped_piece *piece, share *s, int m, const amped_cell *cell,
                      const key *k, uint64_t *index) {
  *index = amped_intern_find(&r->labels[m], k->hash, k->string, k->length);
  if (*index != AMPED_INTERN_NONE)
    return true;
  uint64_t before = s->fresh[m].count;
  piece->status = amped_intern_add(&s->fresh[m], k->hash, k->string, k->length, index);
  if (piece->status != AMPED_OK)
    return false;
  if (s->fresh[m].count > before && !amped_csv_is_utf8(k->string, k->string + k->length)) {
    char excerpt[AMPED_EXCERPT_BYTES];
    amped_piece_fail(
        piece, cell->begin, "column \"%.100s\": \"%s\" is not UTF-8 text; convert the file",
        r->header.modes[m], amped_number_excerpt(excerpt, k->string, k->string + k->length));
    return false;
  }
  *index |= FRESH;
  return true;
}

static bool cell_value(const reader *r, amped_piece *piece, const amped_cell *cell, double *out) {
  const char *begin = cell->begin;
  const char *end = cell->end;
  char excerpt[AMPED_EXCERPT_BYTES];
  while (begin < end && (*begin == ' ' || *begin == '\t'))
    begin++;
  while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
    end--;
  if (begin == end)
    amped_piece_fail(piece, cell->begin,
                     "column \"%.100s\": the value is empty; fill it in or remove the row",
                     r->header.value);
  else if (amped_number_decimal(begin, out) != end || !isfinite(*out))
    amped_piece_fail(piece, cell->begin,
                     "column \"%.100s\": \"%s\" is not a finite number; correct or remove the row",
                     r->header.value, amped_number_excerpt(excerpt, begin, end));
  return piece->status == AMPED_OK;
}

/* Cut the row at p into the wanted cells, by role. Returns the begin of the next row. */
static const char *cut_row(const reader *r, amped_piece *piece, const char *p, amped_cell *cells) {
  const char *begin = p;
  uint64_t c = 0;
  amped_cell cell = {0};
  for (; !cell.last; c++) {
    p = amped_csv_cell(piece, p, r->tabs, &cell);
    if (p == NULL)
      return NULL;
    if (c < r->header.count && r->header.roles[c] != AMPED_ROLE_NONE)
      cells[r->header.roles[c]] = cell;
  }
  if ((uint64_t)(p - begin) > AMPED_TEXT_ROW_BYTES) {
    amped_piece_fail(piece, begin, "a row of more than 1 MiB; is a quote left open?");
    return NULL;
  }
  if (c != r->header.count) {
    amped_piece_fail(piece, begin,
                     "%" PRIu64 " cells, but the header has %" PRIu64 "; correct the row", c,
                     r->header.count);
    return NULL;
  }
  return p;
}

static bool is_blank_line(const char *p) {
  return *p == '\n' || (p[0] == '\r' && p[1] == '\n');
}

static void parse_piece(const reader *r, amped_piece *piece, share *s) {
  const amped_sptensor *t = r->rows.tensor;
  uint64_t row = piece->row;
  for (int m = 0; m < t->order; m++)
    amped_intern_clear(&s->fresh[m]);
  for (const char *p = piece->begin; p < piece->end;) {
    amped_cell cells[AMPED_MAX_ORDER + 1];
    key keys[AMPED_MAX_ORDER];
    uint64_t index[AMPED_MAX_ORDER];
    double value = 1.0;
    if (is_blank_line(p)) {
      p += *p == '\r' ? 2 : 1;
      continue;
    }
    p = cut_row(r, piece, p, cells);
    if (p == NULL)
      return;
    if (!take_keys(r, piece, s, cells, keys))
      return;
    for (int m = 0; m < t->order; m++)
      if (!key_index(r, piece, s, m, &cells[m], &keys[m], &index[m]))
        return;
    if (r->header.value != NULL && !cell_value(r, piece, &cells[AMPED_ROLE_VALUE], &value))
      return;
    /* Store only a complete row: room is reserved for complete rows alone. */
    for (int m = 0; m < t->order; m++)
      t->indices[m][row] = index[m];
    t->values[row++] = value;
  }
  piece->rows = row - piece->row;
}

/* ---- one block ---- */

/* Numbers of a piece's new strings in the tables of the whole file. */
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

/* Number the new strings of mode m for the whole file and store the numbers in the rows. */
static amped_status number_mode(reader *r, int m, int count) {
  uint64_t *indices = r->rows.tensor->indices[m];
  uint64_t *numbers = NULL;
  amped_status status = AMPED_OK;
  for (int i = 0; i < count; i++) {
    const amped_piece *piece = &r->pieces[i];
    const amped_intern *fresh = &r->shares[i].fresh[m];
    if (fresh->count == 0)
      continue;
    amped_free(numbers);
    AMPED_GO(end, amped_alloc(&numbers, fresh->count, sizeof *numbers, "labels"));
    AMPED_GO(end, number_strings(&r->labels[m], fresh, numbers));
    for (uint64_t row = piece->row; row < piece->row + piece->rows; row++)
      if ((indices[row] & FRESH) != 0)
        indices[row] = numbers[indices[row] & ~FRESH];
  }
end:
  amped_free(numbers);
  return status;
}

static amped_status parse_block(reader *r, const amped_block *block) {
  int order = r->header.order;
  amped_status statuses[AMPED_MAX_ORDER] = {AMPED_OK};
  int count = amped_text_split(block, !r->tabs, r->pieces);
  AMPED_TRY(amped_rows_reserve(&r->rows, r->pieces, count));
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < count; i++)
    parse_piece(r, &r->pieces[i], &r->shares[i]);
  AMPED_TRY(amped_text_check(r->path, block, r->pieces, count));
#pragma omp parallel for schedule(dynamic, 1)
  for (int m = 0; m < order; m++)
    statuses[m] = number_mode(r, m, count);
  for (int m = 0; m < order; m++)
    AMPED_TRY(statuses[m]);
  amped_rows_close(&r->rows, r->pieces, count, block->part);
  return AMPED_OK;
}

/* ---- the file ---- */

static amped_status read_blocks(reader *r, amped_text *text) {
  amped_block block;
  for (;;) {
    AMPED_TRY(amped_text_next(text, &block));
    if (block.begin == block.end)
      return AMPED_OK;
    if (block.cut)
      return amped_text_error(r->path, block.line,
                              "a row of more than 1 MiB; is a quote left open?");
    if (r->header.count == 0) {
      AMPED_TRY(amped_table_header_read(&r->header, r->path, r->tabs, r->options, &block));
      r->rows.tensor->order = r->header.order;
      /* The shortest row: separators between empty cells, and the line end. */
      r->rows.least_bytes = r->header.count;
    }
    AMPED_TRY(parse_block(r, &block));
  }
}

static amped_status conclude(reader *r) {
  amped_sptensor *t = r->rows.tensor;
  if (r->rows.taken + t->nnz == 0)
    return amped_error(AMPED_BAD_INPUT, r->path,
                       "holds no rows below its header; is this the right file?");
  for (int m = 0; m < t->order; m++) {
    t->dims[m] = r->labels[m].count;
    AMPED_TRY(amped_intern_take(&r->labels[m], &t->labels[m]));
    AMPED_TRY(amped_strdup(&t->labels[m].name, r->header.modes[m]));
  }
  return amped_rows_finish(&r->rows);
}

/* Is the table split at tabs? Its name decides, as for all formats. */
static bool has_tabs(const char *path) {
  return strncasecmp(path + amped_io_stem(path), ".tsv", 4) == 0;
}

static void free_reader(reader *r) {
  for (int i = 0; i < AMPED_MAX_PIECES && r->shares != NULL; i++) {
    for (int m = 0; m < AMPED_MAX_ORDER; m++)
      amped_intern_free(&r->shares[i].fresh[m]);
    amped_free(r->shares[i].scratch);
  }
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_intern_free(&r->labels[m]);
  amped_free(r->shares);
  amped_free(r->pieces);
  amped_table_header_free(&r->header);
}

amped_status amped_table_read(const char *path, const amped_read_options *options,
                              amped_sptensor *out) {
  reader r = {.path = path,
              .options = options,
              .tabs = has_tabs(path),
              .rows = {.tensor = out, .overflow = options->overflow}};
  amped_text *text = NULL;
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  AMPED_GO(end, amped_alloc(&r.pieces, AMPED_MAX_PIECES, sizeof *r.pieces, "a parser"));
  AMPED_GO(end, amped_calloc(&r.shares, AMPED_MAX_PIECES, sizeof *r.shares, "a parser"));
  AMPED_GO(end, amped_text_open(path, !r.tabs, options->overflow, &text));
  AMPED_GO(end, read_blocks(&r, text));
  AMPED_GO(end, conclude(&r));
end:
  amped_text_close(text);
  free_reader(&r);
  if (status != AMPED_OK)
    amped_sptensor_free(out);
  return status;
}
