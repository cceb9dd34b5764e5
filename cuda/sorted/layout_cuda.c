/* Divides a rank's tensor copies between the GPU and pinned host memory. */
#include "cuda/sorted/layout_cuda.h"

#include <string.h>

#include "base/log.h"
#include "cuda/sorted/schedule_cuda.h"
#include "cuda/sorted/tile_choice_cuda.h"

/* Bytes of a streamed piece. Its transfer takes a millisecond or two on PCIe 5, which hides
 * launches and the start of a transfer. Two pieces need little memory, and pinning one takes little
 * time. */
#define PIECE_BYTES (UINT64_C(128) << 20)
#define PIECE_MIN (4 * AMPED_LONG_PACK) /* nonzeros */

/* Arrays of whole packs need no padding, for any size of their elements. */
_Static_assert(AMPED_LONG_PACK % AMPED_CUDA_ALIGNMENT == 0, "packs are aligned");

static uint64_t aligned(uint64_t bytes) {
  return amped_ceil_div(bytes, AMPED_CUDA_ALIGNMENT) * AMPED_CUDA_ALIGNMENT;
}

static void list_packed(amped_arrays_cuda *a, const amped_plan *plan, int mode) {
  const amped_packing *p = &plan->modes[mode].copy.packing;
  for (int i = 0; i < p->planes; i++)
    a->element_bytes[a->arrays++] = p->plane_bytes[i];
  if (!p->coded)
    a->element_bytes[a->arrays++] = plan->value_type;
}

static void list_plain(amped_arrays_cuda *a, const amped_plan *plan, int mode) {
  (void)mode;
  for (int i = 0; i < plan->order; i++)
    a->element_bytes[a->arrays++] = plan->index_type;
  a->element_bytes[a->arrays++] = plan->value_type;
}

amped_status amped_arrays_cuda_make(amped_arrays_cuda *a, const amped_plan *plan, int mode,
                                    const amped_storage_cuda *storage, uint64_t count) {
  memset(a, 0, sizeof *a);
  storage->list_arrays(a, plan, mode);
  if (count > UINT64_C(1) << 56)
    return amped_error(AMPED_FAILED, NULL,
                       "%" PRIu64 " nonzeros are too many for any machine's memory; use more "
                       "processes",
                       count);
  for (int i = 0; i < a->arrays; i++) {
    a->offsets[i] = a->bytes;
    a->bytes += aligned(count * a->element_bytes[i]);
  }
  return AMPED_OK;
}

void *amped_arrays_cuda_at(const amped_arrays_cuda *a, void *block, int i, uint64_t first) {
  return block == NULL ? NULL : (char *)block + a->offsets[i] + first * a->element_bytes[i];
}

static uint64_t nonzero_bytes(const amped_arrays_cuda *a) {
  uint64_t bytes = 0;
  for (int i = 0; i < a->arrays; i++)
    bytes += a->element_bytes[i];
  return bytes;
}

static amped_status does_not_fit(const char *what, uint64_t need, uint64_t budget,
                                 const char *remedy) {
  char needed[32];
  char allowed[32];
  return amped_error(AMPED_FAILED, NULL, "%s %s of device memory, of which %s may be used; %s",
                     what, amped_format_bytes(needed, need), amped_format_bytes(allowed, budget),
                     remedy);
}

/* Set the length of a piece: whole packs, in every mode at most `bytes` and PIECE_BYTES, but at
 * least PIECE_MIN nonzeros. The longest copy, rounded up to whole packs, is the upper limit. */
static void size_pieces(amped_layout_cuda *l, int order, uint64_t bytes) {
  uint64_t each = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
  uint64_t widest = 1;
  uint64_t most = 0;
  for (int m = 0; m < order; m++) {
    widest = nonzero_bytes(&l->copies[m]) > widest ? nonzero_bytes(&l->copies[m]) : widest;
    most = l->nnz[m] > most ? l->nnz[m] : most;
  }
  most = amped_ceil_div(most, AMPED_LONG_PACK) * AMPED_LONG_PACK;
  l->piece = each / widest / AMPED_LONG_PACK * AMPED_LONG_PACK;
  l->piece = l->piece > PIECE_MIN ? l->piece : PIECE_MIN;
  l->piece = l->piece < most ? l->piece : most;
  l->piece_bytes = l->piece * widest;
  l->device_bytes += 2 * l->piece_bytes;
}

/* Keep the part of mode's copy that fits in `bytes` on the device. */
static amped_status keep(amped_layout_cuda *l, const amped_plan *plan, int mode, uint64_t bytes) {
  const amped_arrays_cuda *copy = &l->copies[mode];
  l->device_bytes -= l->device[mode].bytes;
  l->resident[mode] = copy->bytes <= bytes
                          ? l->nnz[mode]
                          : bytes / nonzero_bytes(copy) / AMPED_LONG_PACK * AMPED_LONG_PACK;
  AMPED_TRY(amped_arrays_cuda_make(&l->device[mode], plan, mode, l->storage, l->resident[mode]));
  l->device_bytes += l->device[mode].bytes;
  return AMPED_OK;
}

/* Keep the same share of every copy. Then give the rest, which rounding left, to the first copies
 * that can use a pack of it. */
static amped_status fill(amped_layout_cuda *l, const amped_plan *plan, uint64_t budget,
                         uint64_t all_bytes) {
  double share = (double)(budget - l->device_bytes) / (double)all_bytes;
  for (int m = 0; m < plan->order; m++) {
    uint64_t bytes = (uint64_t)(share * (double)l->copies[m].bytes);
    uint64_t left = budget - l->device_bytes;
    AMPED_TRY(keep(l, plan, m, bytes < left ? bytes : left));
  }
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(keep(l, plan, m, budget - l->device_bytes + l->device[m].bytes));
  return AMPED_OK;
}

/* Returns the bytes of the schedule of mode's copy. Its segments are tiles, or pieces and the
 * resident spans between them, or the whole copy if `piece` is 0. With one piece, the other half
 * may be resident. */
static uint64_t schedule_bytes(const amped_plan *plan, int mode, const amped_tiles_cuda *tiles,
                               int multiprocessors, uint64_t piece) {
  const uint64_t nnz = plan->modes[mode].copy.rank_nnz[plan->rank];
  uint64_t segments = 1;
  uint64_t segment = nnz;
  if (tiles->count > 1) {
    segments = amped_tiles_cuda_ranges(tiles);
    segment = amped_tiles_cuda_segment(tiles, nnz);
  } else if (piece > 0) {
    segments = 2 * amped_ceil_div(nnz, piece) + 1;
    segment = piece < nnz / 2 ? piece : nnz / 2;
  }
  return amped_schedule_cuda_bytes(plan, mode, segment, segments, tiles, multiprocessors);
}

/* Returns the bytes of mode's row bits, row list, row table and schedule. */
static uint64_t index_bytes(const amped_plan *plan, int mode, const amped_tiles_cuda *tiles,
                            const amped_layout_wish_cuda *wish, uint64_t piece) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t nnz = m->copy.rank_nnz[plan->rank];
  uint64_t room = amped_tiles_cuda_room(tiles, nnz, m->copy.packing.pack);
  uint64_t rows = amped_tiles_cuda_list_rows(tiles, nnz, amped_plan_copy_rows(plan, mode));
  return amped_packing_bit_words(room) * sizeof(uint32_t) + rows * plan->index_type +
         amped_packing_packs(&m->copy.packing, room) * plan->index_type + 3 * AMPED_CUDA_ALIGNMENT +
         schedule_bytes(plan, mode, tiles, wish->caches.multiprocessors, piece);
}

/* Count the index bytes again, for the current piece length. */
static void count_indices(amped_layout_cuda *l, const amped_plan *plan,
                          const amped_layout_wish_cuda *wish) {
  for (int m = 0; m < plan->order; m++) {
    l->device_bytes -= l->index_bytes[m];
    l->index_bytes[m] = l->storage->index_bytes(plan, m, l, wish);
    l->device_bytes += l->index_bytes[m];
  }
}

/* Choose the size of the two buffers. Shorter pieces need more thread blocks, whose memory leaves
 * less for pieces. Repeat until both fit, or pieces get no shorter. */
static void place_buffers(amped_layout_cuda *l, const amped_plan *plan,
                          const amped_layout_wish_cuda *wish) {
  const uint64_t parts = wish->residency == AMPED_RESIDENCY_AUTO ? 16 : 2;
  uint64_t before = UINT64_MAX;
  do {
    before = l->piece > 0 ? l->piece : before;
    l->device_bytes -= 2 * l->piece_bytes;
    uint64_t room = wish->budget_bytes > l->device_bytes ? wish->budget_bytes - l->device_bytes : 0;
    size_pieces(l, plan->order, room / parts);
    count_indices(l, plan, wish);
  } while (l->device_bytes > wish->budget_bytes && l->piece < before);
}

static amped_status count_copies(amped_layout_cuda *l, const amped_plan *plan,
                                 const amped_layout_wish_cuda *wish, uint64_t *all_bytes) {
  for (int m = 0; m < plan->order; m++) {
    const bool holds = !l->storage->in_boxes || m == plan->boxed;
    const uint64_t nnz = holds ? plan->modes[m].copy.rank_nnz[plan->rank] : 0;
    l->nnz[m] = nnz;
    l->tiles[m] = amped_tiles_cuda_none();
    AMPED_TRY(amped_arrays_cuda_make(&l->copies[m], plan, m, l->storage, nnz));
    *all_bytes += l->copies[m].bytes;
  }
  count_indices(l, plan, wish);
  return AMPED_OK;
}

/* Allocate two buffers first. With AUTO, the buffers get at most an eighth of the memory, and
 * resident spans get the rest. */
static amped_status stream(amped_layout_cuda *l, const amped_plan *plan,
                           const amped_layout_wish_cuda *wish, uint64_t all_bytes) {
  const uint64_t budget = wish->budget_bytes;
  const bool keep_some = wish->residency == AMPED_RESIDENCY_AUTO;
  place_buffers(l, plan, wish);
  if (l->device_bytes > budget)
    return does_not_fit("the factors, the workspace and two buffers to stream through need",
                        l->device_bytes, budget,
                        "use fewer components (--rank), --precision=float, or more "
                        "--device-memory");
  if (keep_some)
    AMPED_TRY(fill(l, plan, budget, all_bytes));
  for (int m = 0; m < plan->order; m++) {
    l->host_bytes += amped_layout_cuda_streamed(l, m);
    l->first_block[m + 1] = l->first_block[m];
    if (l->resident[m] < l->nnz[m])
      l->first_block[m + 1] += amped_ceil_div(l->nnz[m] - l->resident[m], l->piece);
  }
  return AMPED_OK;
}

uint64_t amped_layout_cuda_reorder_bytes(const amped_layout_cuda *l, int mode) {
  if (l->tiles[mode].count < 2)
    return 0;
  return l->device[mode].bytes + l->index_bytes[mode] + amped_tiles_cuda_sort_bytes(l->nnz[mode]);
}

uint64_t amped_layout_cuda_most_reorder_bytes(const amped_layout_cuda *l) {
  uint64_t most = 0;
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    uint64_t bytes = amped_layout_cuda_reorder_bytes(l, m);
    most = bytes > most ? bytes : most;
  }
  return most;
}

/* Choose tiles for every copy. Copies are sorted by tiles one after the other, when all copies have
 * their memory. */
static amped_status choose_tiles(amped_layout_cuda *l, const amped_plan *plan,
                                 const amped_layout_wish_cuda *wish) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++) {
    const amped_layout_cuda before = *l;
    amped_tiles_cuda_choose(&l->tiles[m], plan, m, &wish->caches, wish->tile_bytes);
    if (l->tiles[m].count == 1)
      continue;
    AMPED_TRY(amped_arrays_cuda_make(
        &l->device[m], plan, m, l->storage,
        amped_tiles_cuda_room(&l->tiles[m], l->nnz[m], plan->modes[m].copy.packing.pack)));
    l->index_bytes[m] = index_bytes(plan, m, &l->tiles[m], wish, 0);
    l->device_bytes +=
        l->device[m].bytes - before.device[m].bytes + l->index_bytes[m] - before.index_bytes[m];
    uint64_t reorder = amped_layout_cuda_reorder_bytes(l, m);
    reorder = reorder > most ? reorder : most;
    if (l->device_bytes + reorder > wish->budget_bytes)
      *l = before;
    else
      most = reorder;
  }
  return AMPED_OK;
}

amped_status amped_layout_cuda_make(amped_layout_cuda *out, const amped_plan *plan,
                                    const amped_layout_wish_cuda *wish) {
  uint64_t all_bytes = 0;
  uint64_t budget = wish->budget_bytes;
  memset(out, 0, sizeof *out);
  out->storage = wish->storage;
  out->device_bytes = wish->other_bytes;
  AMPED_TRY(count_copies(out, plan, wish, &all_bytes));
  if (out->device_bytes > budget)
    return does_not_fit("the factors, the workspace and the row lists need", out->device_bytes,
                        budget,
                        "use fewer components (--rank), --precision=float, or more "
                        "--device-memory");
  bool fits = all_bytes <= budget - out->device_bytes;
  if (wish->residency == AMPED_RESIDENCY_STREAM ||
      (wish->residency == AMPED_RESIDENCY_AUTO && !fits))
    return stream(out, plan, wish, all_bytes);
  if (!fits)
    return does_not_fit("the factors and this process's tensor copies need",
                        out->device_bytes + all_bytes, budget,
                        "use more GPUs, or --residency=auto");
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(keep(out, plan, m, out->copies[m].bytes));
  return out->storage->choose_tiles(out, plan, wish);
}

uint64_t amped_layout_cuda_streamed(const amped_layout_cuda *l, int mode) {
  return l->resident[mode] < l->nnz[mode] ? l->copies[mode].bytes - l->device[mode].bytes : 0;
}

/* A copy of n pieces is n pairs of a resident span and a piece. The first resident span is longer
 * by the remainder of the division; the last piece may be shorter. */
amped_status amped_layout_cuda_span(const amped_layout_cuda *l, const amped_plan *plan, int mode,
                                    uint64_t k, amped_span_cuda *out) {
  uint64_t pieces = l->first_block[mode + 1] - l->first_block[mode];
  memset(out, 0, sizeof *out);
  if (pieces == 0) {
    out->resident = true;
    out->count =
        amped_tiles_cuda_room(&l->tiles[mode], l->nnz[mode], plan->modes[mode].copy.packing.pack);
    out->arrays = l->device[mode];
    return AMPED_OK;
  }
  uint64_t each = l->resident[mode] / pieces / AMPED_LONG_PACK * AMPED_LONG_PACK;
  uint64_t begin = l->resident[mode] - (pieces - 1) * each;
  uint64_t i = k < begin ? 0 : (k - begin) / (l->piece + each);
  out->first = begin + i * (l->piece + each);
  if (k >= begin && k < out->first + l->piece) {
    uint64_t left = l->nnz[mode] - out->first;
    out->count = left < l->piece ? left : l->piece;
    out->block = l->first_block[mode] + i;
    return amped_arrays_cuda_make(&out->arrays, plan, mode, l->storage, out->count);
  }
  out->resident = true;
  out->arrays = l->device[mode];
  out->at = k < begin ? 0 : begin + i * each;
  out->first = k < begin ? 0 : out->first + l->piece;
  out->count = k < begin ? begin : each;
  return AMPED_OK;
}

static uint64_t packed_index_bytes(const amped_plan *plan, int mode,
                                   const amped_layout_cuda *layout,
                                   const amped_layout_wish_cuda *wish) {
  return index_bytes(plan, mode, &layout->tiles[mode], wish, layout->piece);
}

static uint64_t no_index_bytes(const amped_plan *plan, int mode, const amped_layout_cuda *layout,
                               const amped_layout_wish_cuda *wish) {
  (void)plan;
  (void)mode;
  (void)layout;
  (void)wish;
  return 0;
}

static amped_status no_tiles(amped_layout_cuda *layout, const amped_plan *plan,
                             const amped_layout_wish_cuda *wish) {
  (void)layout;
  (void)plan;
  (void)wish;
  return AMPED_OK;
}

const amped_storage_cuda amped_storage_packed_cuda = {
    .list_arrays = list_packed, .index_bytes = packed_index_bytes, .choose_tiles = choose_tiles};

const amped_storage_cuda amped_storage_plain_cuda = {
    .list_arrays = list_plain, .index_bytes = no_index_bytes, .choose_tiles = no_tiles};
