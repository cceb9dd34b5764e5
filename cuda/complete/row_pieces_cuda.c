/* Cuts the rows of a copy into pieces, strips and runs, for row fits on a GPU. */
#include "cuda/complete/row_pieces_cuda.h"

#include <string.h>

#include "base/mem.h"

/* PIECES: number of pieces that fills any GPU about ten times. LEAST_LENGTH, MOST_LENGTH: bounds of
 * a piece's length, in nonzeros. */
#define PIECES UINT64_C(32768)
#define LEAST_LENGTH UINT64_C(128)
#define MOST_LENGTH (UINT64_C(1) << 30)

/* Bytes of all pieces' sums, at most, roughly. */
#define MOST_SLOT_BYTES (UINT64_C(1) << 30)

/* Work of a strip, and work of solving for a row, in nonzeros. */
#define STRIP_WORK 2048
#define SOLVE_WORK 128

/* Pieces of a run begin between two neighbouring multiples of this number, because kernels number
 * the run's nonzeros with 32 bits. */
#define RUN_NNZ (UINT64_C(1) << 30)

/* Nonzeros of a chunk, a multiple of 32: one thread cuts the rows that begin in it. A strip ends at
 * the chunk's end. */
#define CHUNK_NNZ (UINT64_C(1) << 15)

static const char what[] = "the rows of a copy";

uint64_t amped_row_pieces_cuda_length(uint64_t nnz, uint64_t slot_bytes) {
  const uint64_t of_memory = MOST_SLOT_BYTES / slot_bytes > 0 ? MOST_SLOT_BYTES / slot_bytes : 1;
  const uint64_t pieces = of_memory < PIECES ? of_memory : PIECES;
  uint64_t length = LEAST_LENGTH;
  while (length < MOST_LENGTH && length < nnz / pieces)
    length *= 2;
  return length;
}

static uint64_t spans_of(const amped_layout_cuda *layout, int mode) {
  return 2 * (layout->first_block[mode + 1] - layout->first_block[mode]) + 1;
}

amped_row_pieces_limits_cuda amped_row_pieces_cuda_limits(const amped_plan *plan,
                                                          const amped_layout_cuda *layout, int mode,
                                                          uint64_t slot_bytes) {
  const amped_mode_plan *m = &plan->modes[mode];
  const uint64_t nnz = m->copy.rank_nnz[plan->rank];
  const uint64_t rows = amped_packing_list_rows(nnz, amped_plan_copy_rows(plan, mode));
  const uint64_t cuts =
      nnz / amped_row_pieces_cuda_length(nnz, slot_bytes) + spans_of(layout, mode);
  const uint64_t shared = m->copy.output_rows - m->rows.block_rows;
  const uint64_t of_rows = shared < rows ? shared : rows;
  amped_row_pieces_limits_cuda limits = {rows + cuts, 2 * cuts + of_rows, cuts + of_rows};
  limits.slots = limits.slots < limits.pieces ? limits.slots : limits.pieces;
  return limits;
}

/* --- a chunk's rows --------------------------------------------------------------------------- */

/* State of amped_row_pieces_cuda_make, which threads share. */
typedef struct maker {
  const amped_plan *plan;
  const amped_mode_plan *m;
  const uint32_t *bits;
  const void *rows;
  uint64_t nnz, length;
  uint64_t spans;
  uint64_t *span_ends; /* [spans] */
  amped_row_pieces_cuda *out;
} maker;

/* Counts of all that is cut; at a chunk's start: of all chunks before it. */
typedef struct tally {
  uint64_t rows, pieces, strips, long_rows, slots, runs;
} tally;

/* State of the thread that cuts a chunk. */
typedef struct cutter {
  const maker *w;
  bool writes; /* false: only count */
  tally at;
  uint64_t span;  /* span of the last piece */
  uint64_t block; /* first nonzero of the last piece / RUN_NNZ */
  int part;
  bool has_run;
  /* Rows below end_row whose nonzeros end by end_nonzero belong to the current run. */
  uint64_t end_row, end_nonzero;
  uint64_t opened; /* pieces before the open strip */
  uint64_t work;   /* work of the open strip */
} cutter;

/* Part of a row that follows a row of part `from`. */
static int part_of(const maker *w, int from, uint64_t row) {
  int part = from;
  while (part + 1 < w->m->rows.parts && row >= w->m->rows.part_rows[part + 1])
    part++;
  return part;
}

/* Span of nonzero k, which is not before span `from`. */
static uint64_t span_of(const maker *w, uint64_t from, uint64_t k) {
  while (k >= w->span_ends[from])
    from++;
  return from;
}

static void close_strip(cutter *c) {
  if (c->at.pieces > c->opened) {
    if (c->writes) {
      c->w->out->strip_ends[c->at.strips] = c->at.pieces;
      c->w->out->run[c->at.runs - 1].strips++;
    }
    c->at.strips++;
  }
  c->opened = c->at.pieces;
  c->work = 0;
}

/* Enter the run of the next piece, which begins at nonzero k. Opens a run if span, part or block
 * changes. */
static void enter_run(cutter *c, uint64_t k, uint64_t span, int part) {
  const uint64_t block = k / RUN_NNZ;
  if (c->has_run && span == c->span && part == c->part && block == c->block)
    return;
  close_strip(c);
  if (c->writes)
    c->w->out->run[c->at.runs] =
        (amped_row_run_cuda){c->at.strips, 0, k / AMPED_LONG_PACK * AMPED_LONG_PACK, part};
  c->at.runs++;
  c->has_run = true;
  c->span = span;
  c->part = part;
  c->block = block;
  c->end_row = c->w->m->rows.part_rows[part + 1];
  c->end_nonzero = c->w->span_ends[span];
  if (c->end_nonzero > (block + 1) * RUN_NNZ)
    c->end_nonzero = (block + 1) * RUN_NNZ;
}

static inline void add_piece(cutter *c, const amped_row_piece_cuda *piece) {
  const uint64_t work = piece->count + (piece->slot == AMPED_NO_SLOT ? SOLVE_WORK : 0);
  if (c->work > 0 && c->work + work > STRIP_WORK)
    close_strip(c);
  if (c->writes)
    c->w->out->pieces[c->at.pieces] = *piece;
  c->at.pieces++;
  c->work += work;
}

/* Add the pieces of a row's nonzeros first .. end and, if the row is long, its long_rows entry. */
static void add_row(cutter *c, uint64_t row, uint64_t first, uint64_t end) {
  const maker *w = c->w;
  const bool shared = row >= w->m->rows.block_rows;
  const int part = shared ? w->m->rows.parts - 1 : part_of(w, c->has_run ? c->part : 0, row);
  uint64_t span = span_of(w, c->has_run ? c->span : 0, first);
  const bool whole = !shared && end - first <= w->length && end <= w->span_ends[span];
  const uint64_t slots = c->at.slots;
  for (uint64_t k = first; k < end;) {
    span = span_of(w, span, k);
    uint64_t count = end - k < w->length ? end - k : w->length;
    count = count < w->span_ends[span] - k ? count : w->span_ends[span] - k;
    enter_run(c, k, span, part);
    add_piece(c, &(amped_row_piece_cuda){k, row, (uint32_t)count,
                                         whole ? AMPED_NO_SLOT : (uint32_t)c->at.slots});
    c->at.slots += whole ? 0 : 1;
    k += count;
  }
  if (whole)
    return;
  if (c->writes)
    w->out->long_rows[c->at.long_rows] =
        (amped_long_row_cuda){row, (uint32_t)slots, (uint32_t)(c->at.slots - slots)};
  c->at.long_rows++;
}

/* Cut the rows of a chunk, and advance *at by their counts. */
static void cut_chunk(const maker *w, uint64_t chunk, bool writes, tally *at) {
  const uint64_t end = (chunk + 1) * CHUNK_NNZ < w->nnz ? (chunk + 1) * CHUNK_NNZ : w->nnz;
  cutter c = {.w = w, .writes = writes, .at = *at, .opened = at->pieces};
  uint64_t k = amped_packing_next_row(w->bits, end, chunk * CHUNK_NNZ);
  while (k < end) {
    const uint64_t next = amped_packing_next_row(w->bits, w->nnz, k + 1);
    const uint64_t row = amped_index_get(w->rows, w->plan->index_type, c.at.rows++);
    if (row < c.end_row && next <= c.end_nonzero && next - k <= w->length) /* most rows */
      add_piece(&c, &(amped_row_piece_cuda){k, row, (uint32_t)(next - k), AMPED_NO_SLOT});
    else
      add_row(&c, row, k, next);
    k = next;
  }
  if (c.has_run)
    close_strip(&c);
  *at = c.at;
}

/* --- all chunks ------------------------------------------------------------------------------- */

static uint64_t chunks_of(const maker *w) {
  return amped_ceil_div(w->nnz, CHUNK_NNZ);
}

/* Set before[i].rows to the place in the row list at which chunk i begins. */
static void count_rows(const maker *w, tally *before) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < chunks_of(w); i++) {
    const uint64_t end = (i + 1) * CHUNK_NNZ < w->nnz ? (i + 1) * CHUNK_NNZ : w->nnz;
    uint64_t rows = 0;
    for (uint64_t k = i * CHUNK_NNZ; k < end; k += 32) {
      const uint32_t of_end = end - k < 32 ? (UINT32_C(1) << (end - k)) - 1 : UINT32_MAX;
      rows += (uint64_t)__builtin_popcount(w->bits[k / 32] & of_end);
    }
    before[i + 1].rows = rows;
  }
  for (uint64_t i = 0; i < chunks_of(w); i++)
    before[i + 1].rows += before[i].rows;
}

/* Count the pieces of all chunks. before: [chunks + 1], zeroed; becomes the counts before each
 * chunk, and the totals. */
static void count_pieces(const maker *w, tally *before) {
  count_rows(w, before);
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < chunks_of(w); i++) {
    tally own = {.rows = before[i].rows};
    cut_chunk(w, i, false, &own);
    own.rows = before[i + 1].rows;
    before[i + 1] = own;
  }
  for (uint64_t i = 0; i < chunks_of(w); i++) {
    before[i + 1].pieces += before[i].pieces;
    before[i + 1].strips += before[i].strips;
    before[i + 1].long_rows += before[i].long_rows;
    before[i + 1].slots += before[i].slots;
    before[i + 1].runs += before[i].runs;
  }
}

/* Merge a chunk's first run into the last run of the chunk before, if both are of the same run. */
static void join_runs(const maker *w) {
  amped_row_pieces_cuda *out = w->out;
  uint64_t kept = 0;
  uint64_t last_span = 0;
  for (uint64_t i = 0; i < out->runs; i++) {
    const amped_row_run_cuda run = out->run[i];
    const uint64_t piece = run.first_strip > 0 ? out->strip_ends[run.first_strip - 1] : 0;
    const uint64_t first = out->pieces[piece].first;
    const uint64_t span = span_of(w, last_span, first);
    amped_row_run_cuda *last = kept > 0 ? &out->run[kept - 1] : NULL;
    if (last != NULL && span == last_span && run.part == last->part &&
        first / RUN_NNZ == last->nonzero / RUN_NNZ)
      last->strips += run.strips;
    else
      out->run[kept++] = run;
    last_span = span;
  }
  out->runs = kept;
}

/* First long row from `first` on that is not before `row`. */
static uint64_t long_row_at(const amped_row_pieces_cuda *out, uint64_t first, uint64_t row) {
  uint64_t end = out->long_count;
  while (first < end) {
    const uint64_t middle = first + (end - first) / 2;
    if (out->long_rows[middle].row < row)
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

/* Set part_long. Own long rows precede the shared ones. */
static void set_parts(const maker *w) {
  amped_row_pieces_cuda *out = w->out;
  const amped_row_plan *rows = &w->m->rows;
  for (int part = 1; part < rows->parts; part++)
    out->part_long[part] = long_row_at(out, out->part_long[part - 1], rows->part_rows[part]);
  out->part_long[rows->parts] = long_row_at(out, out->part_long[rows->parts - 1], rows->block_rows);
}

static amped_status cut(maker *w, tally *before) {
  amped_row_pieces_cuda *out = w->out;
  count_pieces(w, before);
  const tally all = before[chunks_of(w)];
  AMPED_TRY(amped_alloc(&out->pieces, all.pieces, sizeof *out->pieces, what));
  AMPED_TRY(amped_alloc(&out->strip_ends, all.strips, sizeof *out->strip_ends, what));
  AMPED_TRY(amped_alloc(&out->long_rows, all.long_rows, sizeof *out->long_rows, what));
  AMPED_TRY(amped_alloc(&out->run, all.runs, sizeof *out->run, what));
  out->count = all.pieces;
  out->strips = all.strips;
  out->long_count = all.long_rows;
  out->slots = (uint32_t)all.slots;
  out->runs = all.runs;
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < chunks_of(w); i++) {
    tally at = before[i];
    cut_chunk(w, i, true, &at);
  }
  join_runs(w);
  set_parts(w);
  return AMPED_OK;
}

static amped_status list_spans(maker *w, const amped_layout_cuda *layout, int mode) {
  AMPED_TRY(amped_alloc(&w->span_ends, spans_of(layout, mode), sizeof *w->span_ends, what));
  for (uint64_t k = 0; k < w->nnz; k = w->span_ends[w->spans - 1]) {
    amped_span_cuda span;
    AMPED_TRY(amped_layout_cuda_span(layout, w->plan, mode, k, &span));
    w->span_ends[w->spans++] = span.first + span.count;
  }
  return AMPED_OK;
}

amped_status amped_row_pieces_cuda_make(amped_row_pieces_cuda *out, const amped_plan *plan,
                                        const amped_layout_cuda *layout, int mode,
                                        const uint32_t *bits, const void *rows,
                                        uint64_t slot_bytes) {
  const uint64_t nnz = layout->nnz[mode];
  tally *before = NULL;
  maker w = {.plan = plan,
             .m = &plan->modes[mode],
             .bits = bits,
             .rows = rows,
             .nnz = nnz,
             .length = amped_row_pieces_cuda_length(nnz, slot_bytes),
             .out = out};
  memset(out, 0, sizeof *out);
  amped_status status = AMPED_OK;
  AMPED_GO(done, amped_calloc(&before, chunks_of(&w) + 1, sizeof *before, what));
  AMPED_GO(done, list_spans(&w, layout, mode));
  status = cut(&w, before);
done:
  amped_free(before);
  amped_free(w.span_ends);
  if (status != AMPED_OK)
    amped_row_pieces_cuda_free(out);
  return status;
}

/* Entries of the row list that a thread handles together. */
#define LISTED_ROWS (UINT64_C(1) << 14)

static void take_out(uint32_t *empty_rows, uint64_t word, uint32_t rows) {
#pragma omp atomic
  empty_rows[word] &= ~rows;
}

/* Clear the bits of entries first .. end of the row list. The list ascends, so most rows of a
 * word are neighbours. */
static void take_out_rows(const amped_plan *plan, const void *rows, uint64_t first, uint64_t end,
                          uint64_t block_rows, uint32_t *empty_rows) {
  uint64_t word = 0;
  uint32_t of_word = 0;
  for (uint64_t i = first; i < end; i++) {
    const uint64_t row = amped_index_get(rows, plan->index_type, i);
    if (row >= block_rows)
      break; /* shared rows come last */
    if (row / 32 != word) {
      take_out(empty_rows, word, of_word);
      word = row / 32;
      of_word = 0;
    }
    of_word |= UINT32_C(1) << row % 32;
  }
  if (of_word != 0)
    take_out(empty_rows, word, of_word);
}

uint64_t amped_row_pieces_cuda_empty_rows(const amped_plan *plan, int mode, const void *rows,
                                          uint64_t row_count, uint32_t *empty_rows) {
  const amped_mode_plan *m = &plan->modes[mode];
  const uint64_t block = (uint64_t)plan->rank * m->rows.block_rows;
  const uint64_t own = m->rows.rank_rows[plan->rank];
  uint64_t count = 0;
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < own / 32; i++)
    empty_rows[i] = UINT32_MAX;
  if (own % 32 > 0)
    empty_rows[own / 32] = (UINT32_C(1) << own % 32) - 1;
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < row_count; i += LISTED_ROWS)
    take_out_rows(plan, rows, i, i + LISTED_ROWS < row_count ? i + LISTED_ROWS : row_count,
                  m->rows.block_rows, empty_rows);
  for (uint64_t s = 0; s < m->copy.split_count; s++) {
    const uint64_t idp = m->copy.splits[s].idp;
    if (m->rows.owner[idp] == plan->rank)
      for (uint64_t i = m->copy.splits[s].row; i < m->copy.splits[s + 1].row; i++) {
        const uint64_t row = m->rows.position[idp] - block + i - m->copy.splits[s].row;
        empty_rows[row / 32] &= ~(UINT32_C(1) << row % 32);
      }
  }
#pragma omp parallel for schedule(static) reduction(+ : count)
  for (uint64_t i = 0; i < amped_packing_bit_words(own); i++)
    count += (uint64_t)__builtin_popcount(empty_rows[i]);
  return count;
}

void amped_row_pieces_cuda_free(amped_row_pieces_cuda *p) {
  amped_free(p->pieces);
  amped_free(p->strip_ends);
  amped_free(p->long_rows);
  amped_free(p->run);
  memset(p, 0, sizeof *p);
}
