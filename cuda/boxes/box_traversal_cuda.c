/* Cuts a box copy into pieces, and orders the pieces of each mode's traversal into bundles. */
#include "cuda/boxes/box_traversal_cuda.h"

#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

static const char what[] = "the traversal of boxes";

uint64_t amped_box_rows_cuda(const amped_plan *plan, int mode) {
  return mode == plan->boxed ? plan->modes[mode].copy.output_rows
                             : amped_plan_factor_rows(plan, mode);
}

static bool has_shared(const amped_plan *plan) {
  const amped_mode_plan *m = &plan->modes[plan->boxed];
  return m->copy.output_rows > m->rows.block_rows;
}

uint64_t amped_box_slots_cuda(const amped_plan *plan) {
  return (has_shared(plan) ? UINT64_C(2) : UINT64_C(1)) << plan->linear.prefix;
}

uint64_t amped_box_most_pieces_cuda(const amped_plan *plan, uint64_t spans) {
  const uint64_t nnz = plan->modes[plan->boxed].copy.rank_nnz[plan->rank];
  const uint64_t slots = amped_box_slots_cuda(plan);
  return nnz / AMPED_BOX_PIECE + (slots < nnz ? slots : nnz) + spans;
}

/* --- pieces ----------------------------------------------------------------------------------- */

void amped_box_pieces_cuda_free(amped_box_pieces_cuda *p) {
  amped_free(p->firsts);
  amped_free(p->counts);
  amped_free(p->tiles);
  amped_free(p->of_span);
  memset(p, 0, sizeof *p);
}

/* State while pieces are cut. span: holds the next nonzero. */
typedef struct cutter {
  amped_box_pieces_cuda *p;
  const amped_plan *plan;
  const amped_layout_cuda *layout;
  amped_span_cuda span;
} cutter;

static amped_status next_span(cutter *c, uint64_t first) {
  if (first < c->span.first + c->span.count)
    return AMPED_OK;
  c->p->of_span[++c->p->spans] = c->p->count;
  return amped_layout_cuda_span(c->layout, c->plan, c->plan->boxed, first, &c->span);
}

/* Cut nonzeros first .. end of a slot into pieces. Within a span all have about the same length. */
static amped_status cut_slot(cutter *c, uint64_t slot, uint64_t first, uint64_t end) {
  const amped_plan *plan = c->plan;
  const bool shared = has_shared(plan);
  uint64_t base[AMPED_MAX_ORDER];
  amped_linear_base(&plan->linear, shared ? slot / 2 : slot, base);
  while (first < end) {
    AMPED_TRY(next_span(c, first));
    const uint64_t behind = c->span.first + c->span.count;
    const uint64_t part_end = end < behind ? end : behind;
    const uint64_t left = amped_ceil_div(part_end - first, (uint64_t)AMPED_BOX_PIECE);
    const uint64_t i = c->p->count++;
    const uint64_t count = amped_ceil_div(part_end - first, left);
    c->p->firsts[i] = first;
    c->p->counts[i] = (uint32_t)count | (shared && slot % 2 == 1 ? AMPED_BOX_SHARED : 0U);
    for (int m = 0; m < plan->order; m++)
      c->p->tiles[i * (uint64_t)plan->order + (uint64_t)m] =
          (uint32_t)(base[m] >> plan->linear.low_bits[m]);
    first += count;
  }
  return AMPED_OK;
}

static uint64_t count_spans(const amped_layout_cuda *layout, int mode) {
  return 2 * (layout->first_block[mode + 1] - layout->first_block[mode]) + 1;
}

amped_status amped_box_pieces_cuda_make(amped_box_pieces_cuda *p, const amped_plan *plan,
                                        const amped_layout_cuda *layout, const uint64_t *starts,
                                        uint64_t slots) {
  const int mode = plan->boxed;
  const uint64_t nnz = layout->nnz[mode];
  const uint64_t spans = count_spans(layout, mode);
  const uint64_t most = amped_box_most_pieces_cuda(plan, spans);
  cutter c = {.p = p, .plan = plan, .layout = layout};
  memset(p, 0, sizeof *p);
  AMPED_TRY(amped_alloc(&p->firsts, most, sizeof *p->firsts, what));
  AMPED_TRY(amped_alloc(&p->counts, most, sizeof *p->counts, what));
  AMPED_TRY(amped_alloc(&p->tiles, most * (uint64_t)plan->order, sizeof *p->tiles, what));
  AMPED_TRY(amped_calloc(&p->of_span, spans + 2, sizeof *p->of_span, what));
  if (nnz == 0)
    return AMPED_OK;
  AMPED_TRY(amped_layout_cuda_span(layout, plan, mode, 0, &c.span));
  for (uint64_t slot = 0; slot < slots;) {
    const uint64_t first = starts[slot];
    const uint64_t of = slot++;
    if (first == UINT64_MAX)
      continue;
    while (slot < slots && starts[slot] == UINT64_MAX)
      slot++;
    AMPED_TRY(cut_slot(&c, of, first, slot < slots ? starts[slot] : nnz));
  }
  p->of_span[++p->spans] = p->count;
  return AMPED_OK;
}

/* --- bundles ---------------------------------------------------------------------------------- */

void amped_box_bundles_cuda_free(amped_box_bundles_cuda *b) {
  amped_free(b->turns);
  amped_free(b->firsts);
  amped_free(b->of_span);
  memset(b, 0, sizeof *b);
}

/* Sort b->turns by span, tile, and range of the longest other mode; the range descends in every odd
 * tile. */
static amped_status sort_turns(amped_box_bundles_cuda *b, const amped_plan *plan,
                               const amped_box_pieces_cuda *p, int mode) {
  const uint64_t order = (uint64_t)plan->order;
  const uint64_t other = (uint64_t)amped_plan_longest_other(plan, mode);
  amped_status status = AMPED_OK;
  uint64_t *keys[4] = {NULL, NULL, NULL, NULL}; /* span, tile, range; piece */
  uint64_t last = 0;
  for (int i = 0; i < 4; i++)
    AMPED_GO(done, amped_alloc(&keys[i], p->count, sizeof *keys[i], what));
  for (uint64_t s = 0; s < p->spans; s++)
    for (uint64_t i = p->of_span[s]; i < p->of_span[s + 1]; i++)
      keys[0][i] = s;
  for (uint64_t i = 0; i < p->count; i++) {
    keys[1][i] = p->tiles[i * order + (uint64_t)mode];
    keys[2][i] = p->tiles[i * order + other];
    keys[3][i] = i;
    last = keys[2][i] > last ? keys[2][i] : last;
  }
  for (uint64_t i = 0; i < p->count; i++)
    keys[2][i] = keys[1][i] % 2 == 0 ? keys[2][i] : last - keys[2][i];
  amped_sort_field fields[3];
  for (int i = 0; i < 3; i++)
    fields[i] = (amped_sort_field){keys[i], amped_sort_bits(keys[i], p->count)};
  if (p->count > 0)
    status = amped_sort(p->count, fields, 3, 0, (void *const[]){keys[3]}, 1);
  for (uint64_t i = 0; i < p->count; i++)
    b->turns[i] = (uint32_t)keys[3][i];
done:
  for (int i = 0; i < 4; i++)
    amped_free(keys[i]);
  return status;
}

/* Make the bundles of a span, whose pieces are turns[first] .. turns[end - 1]. */
static void bundle_span(amped_box_bundles_cuda *b, const amped_plan *plan,
                        const amped_box_pieces_cuda *p, int mode, uint64_t first, uint64_t end,
                        uint64_t most) {
  const uint64_t order = (uint64_t)plan->order;
  uint64_t begin = first;
  uint64_t nnz = 0;
  for (uint64_t t = first; t < end; t++) {
    const uint64_t piece = b->turns[t];
    const uint64_t count = p->counts[piece] & AMPED_BOX_COUNT;
    const uint64_t tile = p->tiles[piece * order + (uint64_t)mode];
    if (t == first || nnz + count > most || t - begin == AMPED_BOX_BUNDLE_PIECES ||
        tile != p->tiles[b->turns[begin] * order + (uint64_t)mode]) {
      b->firsts[b->count++] = (uint32_t)t;
      begin = t;
      nnz = 0;
    }
    nnz += count;
  }
}

amped_status amped_box_bundles_cuda_make(amped_box_bundles_cuda *b, const amped_plan *plan,
                                         const amped_box_pieces_cuda *p, int mode, uint64_t most) {
  memset(b, 0, sizeof *b);
  AMPED_TRY(amped_alloc(&b->turns, p->count, sizeof *b->turns, what));
  AMPED_TRY(amped_alloc(&b->firsts, p->count + 1, sizeof *b->firsts, what));
  AMPED_TRY(amped_calloc(&b->of_span, p->spans + 1, sizeof *b->of_span, what));
  AMPED_TRY(sort_turns(b, plan, p, mode));
  for (uint64_t s = 0; s < p->spans; s++) {
    bundle_span(b, plan, p, mode, p->of_span[s], p->of_span[s + 1], most);
    b->of_span[s + 1] = b->count;
  }
  b->firsts[b->count] = (uint32_t)p->count;
  return AMPED_OK;
}
