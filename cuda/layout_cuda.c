#include "layout_cuda.h"

#include <string.h>

#include "log.h"

/* A streamed piece: long enough that its transfer hides launches and its start-up (a millisecond or
 * two on PCIe 5), short enough that two of them are little memory. A multiple of both run lengths.
 */
#define PIECE_BYTES (UINT64_C(128) << 20)
#define PIECE_MIN (4 * AMPED_LONG_RUN) /* nonzeros */

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

static uint64_t largest_copy(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    if (plan->modes[m].rank_nnz[plan->rank] > most)
      most = plan->modes[m].rank_nnz[plan->rank];
  return most;
}

/* A piece of at most `bytes` in every mode: whole runs. */
static amped_status size_pieces(amped_layout_cuda *l, const amped_plan *plan, uint64_t bytes) {
  uint64_t slack = AMPED_CUDA_ARRAYS * AMPED_CUDA_ALIGNMENT;
  uint64_t each = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
  uint64_t widest = 1;
  for (int m = 0; m < plan->order; m++)
    if (nonzero_bytes(&l->copies[m]) > widest)
      widest = nonzero_bytes(&l->copies[m]);
  uint64_t piece = each > slack ? (each - slack) / widest : 0;
  uint64_t most = amped_ceil_div(largest_copy(plan), AMPED_LONG_RUN) * AMPED_LONG_RUN;
  piece = piece / AMPED_LONG_RUN * AMPED_LONG_RUN;
  piece = piece > PIECE_MIN ? piece : PIECE_MIN;
  l->piece = piece < most ? piece : most;
  for (int m = 0; m < plan->order; m++) {
    amped_arrays_cuda arrays;
    AMPED_TRY(amped_arrays_cuda_make(&arrays, plan, m, l->plain, l->piece));
    if (arrays.bytes > l->piece_bytes)
      l->piece_bytes = arrays.bytes;
  }
  return AMPED_OK;
}

/* The largest copy that is not yet resident and fits; -1 where there is none. */
static int next_resident(const amped_layout_cuda *l, const amped_plan *plan, uint64_t left) {
  int best = -1;
  for (int m = 0; m < plan->order; m++)
    if (!l->resident[m] && l->copies[m].bytes <= left &&
        (best < 0 || l->copies[m].bytes > l->copies[best].bytes))
      best = m;
  return best;
}

/* Two buffers first; what is left is for whole copies where AUTO asks for them: the buffers then
 * take an eighth of the room at most. */
static amped_status stream(amped_layout_cuda *l, const amped_plan *plan, bool keep_some,
                           uint64_t budget) {
  AMPED_TRY(size_pieces(l, plan, (budget - l->device_bytes) / (keep_some ? 16 : 2)));
  l->device_bytes += 2 * l->piece_bytes;
  if (l->device_bytes > budget)
    return does_not_fit("the factors, the workspace and two buffers to stream through need",
                        l->device_bytes, budget,
                        "use fewer components (--rank), --precision=float, or more "
                        "--device-memory");
  for (int m = 0; keep_some && m >= 0;) {
    m = next_resident(l, plan, budget - l->device_bytes);
    if (m < 0)
      break;
    l->resident[m] = true;
    l->device_bytes += l->copies[m].bytes;
  }
  for (int m = 0; m < plan->order; m++)
    if (!l->resident[m])
      l->host_bytes += l->copies[m].bytes;
  return AMPED_OK;
}

amped_status amped_layout_cuda_make(amped_layout_cuda *out, const amped_plan *plan, bool plain,
                                    amped_residency residency, uint64_t budget_bytes,
                                    uint64_t other_bytes) {
  uint64_t all_bytes = 0;
  memset(out, 0, sizeof *out);
  out->plain = plain;
  out->device_bytes = other_bytes;
  for (int m = 0; m < plan->order; m++) {
    uint64_t nnz = plan->modes[m].rank_nnz[plan->rank];
    AMPED_TRY(amped_arrays_cuda_make(&out->copies[m], plan, m, plain, nnz));
    all_bytes += out->copies[m].bytes;
    if (!plain)
      out->index_bytes[m] =
          amped_plan_copy_bytes(plan, m) -
          nnz * amped_packing_nonzero_bytes(&plan->modes[m].packing, plan->value_type) +
          3 * AMPED_CUDA_ALIGNMENT;
    out->device_bytes += out->index_bytes[m];
  }
  if (out->device_bytes > budget_bytes)
    return does_not_fit("the factors, the workspace and the row lists need", out->device_bytes,
                        budget_bytes,
                        "use fewer components (--rank), --precision=float, or more "
                        "--device-memory");
  bool fits = all_bytes <= budget_bytes - out->device_bytes;
  if (residency == AMPED_RESIDENCY_STREAM || (residency == AMPED_RESIDENCY_AUTO && !fits))
    return stream(out, plan, residency == AMPED_RESIDENCY_AUTO, budget_bytes);
  for (int m = 0; m < plan->order; m++)
    out->resident[m] = true;
  out->device_bytes += all_bytes;
  if (!fits)
    return does_not_fit("the factors and this process's tensor copies need", out->device_bytes,
                        budget_bytes, "use more GPUs, or --residency=auto");
  return AMPED_OK;
}
