/* Ratios on CPU cores: the part's memory, and its traversals. */
#include "cpu/counts/ratio_cpu.h"

#include "base/buffers.h"
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"

static const char what[] = "the sums of counts";

struct amped_ratio_part_cpu {
  const amped_plan *plan;
  int ncomps;               /* components that there is memory for */
  char *weights;            /* [ld] of the value type */
  amped_ratio_sums *strips; /* sums of the strips of a traversal */
  amped_ratio_sums sums;    /* found by the last begin */
};

static amped_buffers buffers(amped_ratio_part_cpu *p, const amped_plan *plan, uint64_t strips) {
  amped_buffers b = {.what = what};
  AMPED_BUFFER(&b, ZEROED, p->weights, amped_plan_row_bytes(plan));
  AMPED_BUFFER(&b, HOST, p->strips, strips);
  return b;
}

void amped_ratio_part_cpu_free(amped_ratio_part_cpu *part) {
  if (part == NULL)
    return;
  amped_buffers_free(buffers(part, part->plan, 0));
  amped_free(part);
}

static void require(const amped_device *device, const amped_plan *plan, uint64_t *device_bytes,
                    uint64_t *host_bytes) {
  (void)device;
  const uint64_t strips = amped_tensor_part_cpu_most_strips(plan, NULL);
  amped_buffers_require(buffers(&(amped_ratio_part_cpu){0}, plan, strips), device_bytes,
                        host_bytes);
}

static amped_status prepare(amped_tensor_part *part) {
  const uint64_t strips = amped_tensor_part_cpu_most_strips(part->plan, part->tilings);
  if (part->ratio != NULL && part->ratio->ncomps == part->plan->ncomps)
    return AMPED_OK;
  amped_ratio_part_cpu_free(part->ratio);
  part->ratio = NULL;
  AMPED_TRY(amped_calloc(&part->ratio, 1, sizeof *part->ratio, what));
  part->ratio->plan = part->plan;
  part->ratio->ncomps = part->plan->ncomps;
  const amped_status status = amped_buffers_allocate(buffers(part->ratio, part->plan, strips));
  if (status != AMPED_OK) {
    amped_ratio_part_cpu_free(part->ratio);
    part->ratio = NULL;
  }
  return status;
}

static amped_status begin(amped_tensor_part *part, int mode, const amped_ratio *ratio) {
  const amped_plan *plan = part->plan;
  amped_ratio_part_cpu *const p = part->ratio;
  const double began = amped_time();
  for (int r = 0; r < plan->ncomps; r++)
    amped_value_put(p->weights, plan->value_type, (uint64_t)r, ratio->weights[r]);
  const amped_ratio_cpu work = {.plan = plan,
                                .mode = mode,
                                .rows = amped_factor_set_cpu_rows(part->factors, mode),
                                .own_first =
                                    (uint64_t)plan->rank * plan->modes[mode].rows.block_rows,
                                .own_rows = plan->modes[mode].rows.block_rows,
                                .weights = p->weights,
                                .least = ratio->least,
                                .sums = ratio->sums ? p->strips : NULL};
  p->sums = (amped_ratio_sums){.values = 0.0};
  amped_tensor_part_cpu_traverse(part, mode, &work, &p->sums);
  part->mttkrp_sec = amped_time() - began;
  amped_trace_span(AMPED_LANE_KERNELS, AMPED_PHASE_KERNEL, mode, began, began + part->mttkrp_sec);
  return AMPED_OK;
}

static amped_status wait(amped_tensor_part *part, int mode, int block_part,
                         amped_mttkrp_times *times, amped_ratio_sums *sums) {
  times->copy_sec = 0.0;
  times->compute_sec = part->mttkrp_sec;
  if (block_part + 1 >= part->plan->modes[mode].rows.parts)
    amped_ratio_cpu_add(&part->ratio->sums, 1, sums);
  return AMPED_OK;
}

const amped_ratio_ops amped_ratio_cpu_ops = {
    .require = require,
    .prepare = prepare,
    .begin = begin,
    .wait = wait,
};
