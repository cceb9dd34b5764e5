#include "cuda/complete/row_pieces_cuda.h"

#include <string.h>

#include "base/mem.h"

/* Pieces of so many nonzeros fill any GPU some ten times. */
#define PIECES UINT64_C(32768)
#define LEAST_LENGTH UINT64_C(128)
#define MOST_LENGTH (UINT64_C(1) << 30)

/* Sums of pieces take about so much memory at most. */
#define MOST_SLOT_BYTES (UINT64_C(1) << 30)

/* Work of a strip, in nonzeros; to solve for a row counts as so many. */
#define STRIP_WORK 2048
#define SOLVE_WORK 128

/* Nonzeros of a run: kernels number them by 32 bits. */
#define RUN_NNZ (UINT64_C(1) << 31)

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

/* What make has in hand. */
typedef struct maker {
  amped_row_pieces_cuda *out;
  const amped_plan *plan;
  const amped_layout_cuda *layout;
  int mode;
  const amped_mode_plan *m;
  uint64_t length;
  uint64_t span_end; /* of the span in hand */
  bool is_new_span;  /* it has no run yet */
  uint64_t work;     /* of the open strip */
  int part;          /* of the last piece */
} maker;

static int part_of(const maker *w, uint64_t row) {
  int part = w->part;
  while (part + 1 < w->m->rows.parts && row >= w->m->rows.part_rows[part + 1])
    part++;
  return part;
}

static void close_strip(maker *w) {
  amped_row_pieces_cuda *out = w->out;
  const uint64_t before = out->strips > 0 ? out->strip_ends[out->strips - 1] : 0;
  if (out->count > before) {
    out->strip_ends[out->strips++] = out->count;
    out->run[out->runs - 1].strips++;
  }
  w->work = 0;
}

/* Nonzero k is the first of a span, or of the span in hand. */
static amped_status enter_span(maker *w, uint64_t k) {
  amped_span_cuda span;
  if (k < w->span_end)
    return AMPED_OK;
  AMPED_TRY(amped_layout_cuda_span(w->layout, w->plan, w->mode, k, &span));
  w->span_end = span.first + span.count;
  w->is_new_span = true;
  return AMPED_OK;
}

/* A run begins with the next piece. */
static void begin_run(maker *w, uint64_t nonzero, int part) {
  amped_row_pieces_cuda *out = w->out;
  if (out->runs > 0)
    close_strip(w);
  w->is_new_span = false;
  out->run[out->runs++] =
      (amped_row_run_cuda){out->strips, 0, nonzero / AMPED_LONG_PACK * AMPED_LONG_PACK, part};
}

static void add_piece(maker *w, const amped_row_piece_cuda *piece) {
  const uint64_t work = piece->count + (piece->slot == AMPED_NO_SLOT ? SOLVE_WORK : 0);
  if (w->work > 0 && w->work + work > STRIP_WORK)
    close_strip(w);
  w->out->pieces[w->out->count++] = *piece;
  w->work += work;
}

/* The row's nonzeros first .. end, of which the span has all that come before span_end. */
static amped_status add_row(maker *w, uint64_t row, uint64_t first, uint64_t end) {
  amped_row_pieces_cuda *out = w->out;
  const bool shared = row >= w->m->rows.block_rows;
  const bool whole = !shared && end - first <= w->length && end <= w->span_end;
  const int part = shared ? w->m->rows.parts - 1 : part_of(w, row);
  for (; w->part < part; w->part++)
    out->part_long[w->part + 1] = out->long_count;
  if (!whole)
    out->long_rows[out->long_count++] = (amped_long_row_cuda){row, out->slots, 0};
  for (uint64_t k = first; k < end;) {
    AMPED_TRY(enter_span(w, k));
    uint64_t count = end - k < w->length ? end - k : w->length;
    count = count < w->span_end - k ? count : w->span_end - k;
    if (w->is_new_span || out->run[out->runs - 1].part != part ||
        k + count - out->run[out->runs - 1].nonzero > RUN_NNZ)
      begin_run(w, k, part);
    const amped_row_piece_cuda piece = {k, row, (uint32_t)count,
                                        whole ? AMPED_NO_SLOT : out->slots};
    if (!whole) {
      out->long_rows[out->long_count - 1].count++;
      out->slots++;
    }
    add_piece(w, &piece);
    k += count;
  }
  return AMPED_OK;
}

static amped_status cut(maker *w, const uint32_t *bits, const void *rows, uint64_t row_count) {
  amped_row_pieces_cuda *out = w->out;
  const uint64_t nnz = w->layout->nnz[w->mode];
  uint64_t k = 0;
  for (uint64_t entry = 0; entry < row_count; entry++) {
    const uint64_t row = amped_index_get(rows, w->plan->index_type, entry);
    const uint64_t end = amped_packing_next_row(bits, nnz, k + 1);
    AMPED_TRY(enter_span(w, k));
    AMPED_TRY(add_row(w, row, k, end));
    k = end;
  }
  if (out->runs > 0)
    close_strip(w);
  return AMPED_OK;
}

/* Long rows of own rows come before those that are shared. */
static void end_parts(maker *w) {
  amped_row_pieces_cuda *out = w->out;
  uint64_t own = 0;
  while (own < out->long_count && out->long_rows[own].row < w->m->rows.block_rows)
    own++;
  for (; w->part < w->m->rows.parts; w->part++)
    out->part_long[w->part + 1] = own;
}

amped_status amped_row_pieces_cuda_make(amped_row_pieces_cuda *out, const amped_plan *plan,
                                        const amped_layout_cuda *layout, int mode,
                                        const uint32_t *bits, const void *rows, uint64_t row_count,
                                        uint64_t slot_bytes) {
  static const char what[] = "the rows of a copy";
  const uint64_t nnz = layout->nnz[mode];
  const amped_row_pieces_limits_cuda most =
      amped_row_pieces_cuda_limits(plan, layout, mode, slot_bytes);
  maker w = {.out = out,
             .plan = plan,
             .layout = layout,
             .mode = mode,
             .m = &plan->modes[mode],
             .length = amped_row_pieces_cuda_length(nnz, slot_bytes)};
  memset(out, 0, sizeof *out);
  amped_status status = AMPED_OK;
  AMPED_GO(done, amped_alloc(&out->pieces, most.pieces, sizeof *out->pieces, what));
  AMPED_GO(done, amped_alloc(&out->strip_ends, most.pieces, sizeof *out->strip_ends, what));
  AMPED_GO(done, amped_alloc(&out->long_rows, most.long_rows, sizeof *out->long_rows, what));
  AMPED_GO(done,
           amped_alloc(&out->run, spans_of(layout, mode) + AMPED_MAX_PARTS + nnz / RUN_NNZ * 2 + 1,
                       sizeof *out->run, what));
  AMPED_GO(done, cut(&w, bits, rows, row_count));
  end_parts(&w);
done:
  if (status != AMPED_OK)
    amped_row_pieces_cuda_free(out);
  return status;
}

void amped_row_pieces_cuda_free(amped_row_pieces_cuda *p) {
  amped_free(p->pieces);
  amped_free(p->strip_ends);
  amped_free(p->long_rows);
  amped_free(p->run);
  memset(p, 0, sizeof *p);
}
