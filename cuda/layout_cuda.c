#include "layout_cuda.h"

#include <string.h>

#include "log.h"

/* A streamed piece: long enough that its transfer hides launches and its start-up (a millisecond or
 * two on PCIe 5), short enough that two of them are little memory. */
#define PIECE_BYTES (UINT64_C(128) << 20)
#define PIECE_MIN 1024 /* nonzeros */

static uint64_t aligned(uint64_t bytes) {
  return amped_ceil_div(bytes, AMPED_CUDA_ALIGNMENT) * AMPED_CUDA_ALIGNMENT;
}

static amped_status lay_out(amped_arrays_cuda *a, const amped_plan *plan, uint64_t count) {
  uint64_t bytes = 0;
  memset(a, 0, sizeof *a);
  if (!amped_mul(count, amped_plan_nonzero_bytes(plan), &bytes) || bytes > UINT64_C(1) << 60)
    return amped_error(AMPED_FAILED, NULL,
                       "%" PRIu64 " nonzeros are too many for any machine's memory; use more "
                       "processes",
                       count);
  uint64_t index_bytes = aligned(count * plan->index_type);
  a->bytes = index_bytes;
  for (int m = 0; m < plan->order - 1; m++, a->bytes += index_bytes)
    a->inputs[m] = a->bytes;
  a->values = a->bytes;
  a->bytes += aligned(count * plan->value_type);
  return AMPED_OK;
}

static amped_status does_not_fit(const char *what, uint64_t need, uint64_t budget,
                                 const char *remedy) {
  char needed[32];
  char allowed[32];
  return amped_error(AMPED_FAILED, NULL, "%s %s of device memory, of which %s may be used; %s",
                     what, amped_format_bytes(needed, need), amped_format_bytes(allowed, budget),
                     remedy);
}

/* The largest piece, at most `most` nonzeros, that takes no more than `bytes`. */
static uint64_t piece_within(const amped_plan *plan, uint64_t most, uint64_t bytes) {
  uint64_t slack = ((uint64_t)plan->order + 1) * AMPED_CUDA_ALIGNMENT;
  uint64_t each = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
  uint64_t piece = each > slack ? (each - slack) / amped_plan_nonzero_bytes(plan) : 0;
  return piece < most ? piece : most;
}

static uint64_t largest_copy(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    if (plan->modes[m].rank_nnz[plan->rank] > most)
      most = plan->modes[m].rank_nnz[plan->rank];
  return most;
}

static uint64_t resident_bytes(const amped_layout_cuda *l, const amped_plan *plan) {
  uint64_t bytes = 0;
  for (int m = 0; m < plan->order; m++)
    bytes += l->copies[m].bytes;
  return bytes;
}

static void keep_all(amped_layout_cuda *l, const amped_plan *plan) {
  for (int m = 0; m < plan->order; m++)
    l->resident[m] = true;
  l->device_bytes += resident_bytes(l, plan);
}

/* Two buffers first; what is left is for whole copies where AUTO asks for them: the buffers then
 * take an eighth of the room at most. */
static amped_status stream(amped_layout_cuda *l, const amped_plan *plan, bool keep_some,
                           uint64_t budget) {
  uint64_t most = largest_copy(plan);
  uint64_t least = most < PIECE_MIN ? most : PIECE_MIN;
  uint64_t left = budget - l->device_bytes;
  l->piece = piece_within(plan, most, left / (keep_some ? 16 : 2));
  l->piece = l->piece > least ? l->piece : least;
  AMPED_TRY(lay_out(&l->piece_arrays, plan, l->piece));
  l->device_bytes += 2 * l->piece_arrays.bytes;
  if (l->device_bytes > budget)
    return does_not_fit("the factors, the workspace and two buffers to stream through need",
                        l->device_bytes, budget,
                        "use fewer components (--rank), --precision=float, or more "
                        "--device-memory");
  for (int m = 0; m < plan->order; m++) {
    uint64_t bytes = l->copies[m].bytes;
    l->resident[m] = keep_some && bytes <= budget - l->device_bytes;
    if (l->resident[m])
      l->device_bytes += bytes;
    else
      l->host_bytes += bytes;
  }
  return AMPED_OK;
}

amped_status amped_layout_cuda_make(amped_layout_cuda *out, const amped_plan *plan,
                                    amped_residency residency, uint64_t budget_bytes,
                                    uint64_t other_bytes) {
  memset(out, 0, sizeof *out);
  out->device_bytes = other_bytes;
  if (other_bytes > budget_bytes)
    return does_not_fit("the factors and the workspace need", other_bytes, budget_bytes,
                        "use fewer components (--rank), --precision=float, or more "
                        "--device-memory");
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(lay_out(&out->copies[m], plan, plan->modes[m].rank_nnz[plan->rank]));
  uint64_t all_bytes = resident_bytes(out, plan);
  bool fits = all_bytes <= budget_bytes - other_bytes;
  if (residency == AMPED_RESIDENCY_STREAM || (residency == AMPED_RESIDENCY_AUTO && !fits))
    return stream(out, plan, residency == AMPED_RESIDENCY_AUTO, budget_bytes);
  keep_all(out, plan);
  if (!fits)
    return does_not_fit("the factors and this process's tensor copies need", out->device_bytes,
                        budget_bytes, "use more GPUs, or --residency=auto");
  return AMPED_OK;
}

static const void *at(const void *block, uint64_t offset, uint64_t first, uint64_t size) {
  return (const char *)block + offset + first * size;
}

amped_run amped_layout_cuda_run(const amped_plan *plan, const amped_arrays_cuda *arrays,
                                const void *block, uint64_t first) {
  amped_run run = {0};
  if (block == NULL)
    return run;
  run.rows = at(block, arrays->rows, first, plan->index_type);
  for (int m = 0; m < plan->order - 1; m++)
    run.inputs[m] = at(block, arrays->inputs[m], first, plan->index_type);
  run.values = at(block, arrays->values, first, plan->value_type);
  return run;
}
