#include "layout_cuda.h"

#include <string.h>

#include "log.h"

/* A streamed piece: long enough that its transfer hides launches and its start-up (a millisecond or
 * two on PCIe 5), short enough that two of them are little memory and that pinning one does not
 * hold up others for long. */
#define PIECE_BYTES (UINT64_C(128) << 20)
#define PIECE_MIN (4 * AMPED_LONG_RUN) /* nonzeros */

/* Arrays of whole runs need no padding, whatever the bytes of their elements. */
_Static_assert(AMPED_LONG_RUN % AMPED_CUDA_ALIGNMENT == 0, "runs are aligned");

static uint64_t aligned(uint64_t bytes) {
  return amped_ceil_div(bytes, AMPED_CUDA_ALIGNMENT) * AMPED_CUDA_ALIGNMENT;
}

static void list_arrays(amped_arrays_cuda *a, const amped_plan *plan, int mode, bool plain) {
  const amped_packing *p = &plan->modes[mode].packing;
  if (plain) {
    for (int i = 0; i < plan->order; i++)
      a->element_bytes[a->arrays++] = plan->index_type;
    a->element_bytes[a->arrays++] = plan->value_type;
    return;
  }
  for (int i = 0; i < p->planes; i++)
    a->element_bytes[a->arrays++] = p->plane_bytes[i];
  if (!p->coded)
    a->element_bytes[a->arrays++] = plan->value_type;
}

amped_status amped_arrays_cuda_make(amped_arrays_cuda *a, const amped_plan *plan, int mode,
                                    bool plain, uint64_t count) {
  memset(a, 0, sizeof *a);
  list_arrays(a, plan, mode, plain);
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

/* A piece of at most `bytes` in every mode: whole runs. */
static void size_pieces(amped_layout_cuda *l, int order, uint64_t bytes) {
  uint64_t each = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
  uint64_t widest = 1;
  uint64_t most = 0;
  for (int m = 0; m < order; m++) {
    widest = nonzero_bytes(&l->copies[m]) > widest ? nonzero_bytes(&l->copies[m]) : widest;
    most = l->nnz[m] > most ? l->nnz[m] : most;
  }
  most = amped_ceil_div(most, AMPED_LONG_RUN) * AMPED_LONG_RUN;
  l->piece = each / widest / AMPED_LONG_RUN * AMPED_LONG_RUN;
  l->piece = l->piece > PIECE_MIN ? l->piece : PIECE_MIN;
  l->piece = l->piece < most ? l->piece : most;
  l->piece_bytes = l->piece * widest;
  l->device_bytes += 2 * l->piece_bytes;
}

/* Keep on the device as much of mode's copy as fits in `bytes`. */
static amped_status keep(amped_layout_cuda *l, const amped_plan *plan, int mode, uint64_t bytes) {
  const amped_arrays_cuda *copy = &l->copies[mode];
  l->device_bytes -= l->device[mode].bytes;
  l->resident[mode] = copy->bytes <= bytes
                          ? l->nnz[mode]
                          : bytes / nonzero_bytes(copy) / AMPED_LONG_RUN * AMPED_LONG_RUN;
  AMPED_TRY(amped_arrays_cuda_make(&l->device[mode], plan, mode, l->plain, l->resident[mode]));
  l->device_bytes += l->device[mode].bytes;
  return AMPED_OK;
}

/* The same share of every copy; then what rounding left to the first copies that can take a run of
 * it. */
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

/* Two buffers first; what is left is for resident parts where AUTO asks for them: the buffers then
 * take an eighth of the room at most. */
static amped_status stream(amped_layout_cuda *l, const amped_plan *plan, bool keep_some,
                           uint64_t budget, uint64_t all_bytes) {
  size_pieces(l, plan->order, (budget - l->device_bytes) / (keep_some ? 16 : 2));
  if (l->device_bytes > budget)
    return does_not_fit("the factors, the workspace and two buffers to stream through need",
                        l->device_bytes, budget,
                        "use fewer components (--rank), --precision=float, or more "
                        "--device-memory");
  if (keep_some)
    AMPED_TRY(fill(l, plan, budget, all_bytes));
  for (int m = 0; m < plan->order; m++) {
    l->host_bytes += amped_layout_cuda_streamed(l, m);
    l->first_block[m + 1] =
        l->first_block[m] + amped_ceil_div(l->nnz[m] - l->resident[m], l->piece);
  }
  return AMPED_OK;
}

static amped_status count_copies(amped_layout_cuda *l, const amped_plan *plan,
                                 uint64_t *all_bytes) {
  for (int m = 0; m < plan->order; m++) {
    uint64_t nnz = plan->modes[m].rank_nnz[plan->rank];
    l->nnz[m] = nnz;
    AMPED_TRY(amped_arrays_cuda_make(&l->copies[m], plan, m, l->plain, nnz));
    *all_bytes += l->copies[m].bytes;
    if (!l->plain)
      l->index_bytes[m] =
          amped_plan_copy_bytes(plan, m) -
          nnz * amped_packing_nonzero_bytes(&plan->modes[m].packing, plan->value_type) +
          3 * AMPED_CUDA_ALIGNMENT;
    l->device_bytes += l->index_bytes[m];
  }
  return AMPED_OK;
}

amped_status amped_layout_cuda_make(amped_layout_cuda *out, const amped_plan *plan, bool plain,
                                    amped_residency residency, uint64_t budget_bytes,
                                    uint64_t other_bytes) {
  uint64_t all_bytes = 0;
  memset(out, 0, sizeof *out);
  out->plain = plain;
  out->device_bytes = other_bytes;
  AMPED_TRY(count_copies(out, plan, &all_bytes));
  if (out->device_bytes > budget_bytes)
    return does_not_fit("the factors, the workspace and the row lists need", out->device_bytes,
                        budget_bytes,
                        "use fewer components (--rank), --precision=float, or more "
                        "--device-memory");
  bool fits = all_bytes <= budget_bytes - out->device_bytes;
  if (residency == AMPED_RESIDENCY_STREAM || (residency == AMPED_RESIDENCY_AUTO && !fits))
    return stream(out, plan, residency == AMPED_RESIDENCY_AUTO, budget_bytes, all_bytes);
  if (!fits)
    return does_not_fit("the factors and this process's tensor copies need",
                        out->device_bytes + all_bytes, budget_bytes,
                        "use more GPUs, or --residency=auto");
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(keep(out, plan, m, out->copies[m].bytes));
  return AMPED_OK;
}

uint64_t amped_layout_cuda_streamed(const amped_layout_cuda *l, int mode) {
  return l->copies[mode].bytes - l->device[mode].bytes;
}

/* A copy of n pieces is n times a resident part and a piece. The first resident part takes what
 * does not divide evenly; the last piece is what is left. */
amped_status amped_layout_cuda_part(const amped_layout_cuda *l, const amped_plan *plan, int mode,
                                    uint64_t k, amped_part_cuda *out) {
  uint64_t pieces = l->first_block[mode + 1] - l->first_block[mode];
  uint64_t each = pieces > 0 ? l->resident[mode] / pieces / AMPED_LONG_RUN * AMPED_LONG_RUN : 0;
  uint64_t begin = pieces > 0 ? l->resident[mode] - (pieces - 1) * each : l->resident[mode];
  uint64_t i = k < begin ? 0 : (k - begin) / (l->piece + each);
  memset(out, 0, sizeof *out);
  out->first = begin + i * (l->piece + each);
  if (k >= begin && k < out->first + l->piece) {
    uint64_t left = l->nnz[mode] - out->first;
    out->count = left < l->piece ? left : l->piece;
    out->block = l->first_block[mode] + i;
    return amped_arrays_cuda_make(&out->arrays, plan, mode, l->plain, out->count);
  }
  out->resident = true;
  out->arrays = l->device[mode];
  out->at = k < begin ? 0 : begin + i * each;
  out->first = k < begin ? 0 : out->first + l->piece;
  out->count = k < begin ? begin : each;
  return AMPED_OK;
}
