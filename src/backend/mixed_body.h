/* Format "mixed" of a backend, as an include body: some modes have sorted copies of their own, the
 * others share one copy in boxes. Its part holds a part of each of the backend's formats
 * MIXED_BOXES and MIXED_SORTED, both with the same plan. An operation on a mode is passed to the
 * part that holds this mode.
 *
 * Boxes are placed on the device first, because a byte of them serves several modes. Sorted copies
 * get the remaining memory, and are streamed if they do not fit. */
#include <string.h>

#include "base/mem.h"

struct amped_tensor_part {
  const amped_plan *plan;
  amped_tensor_part *boxes, *sorted; /* parts of the two formats */
};

/* The operations, and the part, that hold mode's copy or serve mode. */
static const amped_format_ops *ops_of(const amped_plan *plan, int mode) {
  return amped_plan_in_boxes(plan, mode) ? &MIXED_BOXES : &MIXED_SORTED;
}

static amped_tensor_part *part_of(const amped_tensor_part *part, int mode) {
  return amped_plan_in_boxes(part->plan, mode) ? part->boxes : part->sorted;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Memory of the two parts; each part counts the other's bytes as used. If all boxes are on the
 * device, their layout does not depend on the sorted copies. */
typedef struct shares {
  amped_requirement boxes, sorted;
  uint64_t beside_boxes, beside_sorted; /* factor_bytes for each part */
} shares;

static amped_status share_memory(const amped_device *device, const amped_plan *plan,
                                 uint64_t factor_bytes, shares *s) {
  memset(s, 0, sizeof *s);
  AMPED_TRY(MIXED_BOXES.require(device, plan, factor_bytes, &s->boxes));
  s->beside_sorted = factor_bytes + s->boxes.device_bytes;
  AMPED_TRY(MIXED_SORTED.require(device, plan, s->beside_sorted, &s->sorted));
  s->beside_boxes = factor_bytes + s->sorted.device_bytes;
  memset(&s->boxes, 0, sizeof s->boxes);
  return MIXED_BOXES.require(device, plan, s->beside_boxes, &s->boxes);
}

static inline uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

/* passing_bytes is the larger of the two: a copy is finished before the next one begins. */
static amped_status mixed_require(const amped_device *device, const amped_plan *plan,
                                  uint64_t factor_bytes, amped_requirement *out) {
  shares s;
  AMPED_TRY(share_memory(device, plan, factor_bytes, &s));
  out->device_bytes = s.boxes.device_bytes + s.sorted.device_bytes;
  out->host_bytes = s.boxes.host_bytes + s.sorted.host_bytes;
  out->passing_bytes = larger(s.boxes.passing_bytes, s.sorted.passing_bytes);
  out->host_bytes -= s.boxes.passing_bytes + s.sorted.passing_bytes - out->passing_bytes;
  for (int m = 0; m < plan->order; m++) {
    const amped_requirement *of = amped_plan_in_boxes(plan, m) ? &s.boxes : &s.sorted;
    out->copy_bytes[m] = of->copy_bytes[m];
    out->read_bytes[m] = of->read_bytes[m];
    out->streamed_bytes[m] = of->streamed_bytes[m];
    out->tiles[m] = of->tiles[m];
  }
  return AMPED_OK;
}

/* --- life ------------------------------------------------------------------------------------- */

static void mixed_destroy(amped_tensor_part *part) {
  if (part == NULL)
    return;
  MIXED_SORTED.destroy(part->sorted);
  MIXED_BOXES.destroy(part->boxes);
  amped_free(part);
}

static amped_status mixed_create(amped_device *device, amped_factor_set *factors,
                                 const amped_plan *plan, uint64_t factor_bytes,
                                 amped_tensor_part **out) {
  amped_tensor_part *part = NULL;
  shares s;
  *out = NULL;
  AMPED_TRY(share_memory(device, plan, factor_bytes, &s));
  AMPED_TRY(amped_calloc(&part, 1, sizeof *part, "the tensor copies"));
  part->plan = plan;
  amped_status status = MIXED_BOXES.create(device, factors, plan, s.beside_boxes, &part->boxes);
  if (status == AMPED_OK)
    status = MIXED_SORTED.create(device, factors, plan, s.beside_sorted, &part->sorted);
  if (status == AMPED_OK)
    *out = part;
  else
    mixed_destroy(part);
  return status;
}

static uint64_t mixed_spare(const amped_tensor_part *part) {
  const uint64_t boxes = MIXED_BOXES.spare(part->boxes);
  const uint64_t sorted = MIXED_SORTED.spare(part->sorted);
  return boxes < sorted ? boxes : sorted;
}

static amped_status mixed_resize(amped_tensor_part *part) {
  AMPED_TRY(MIXED_BOXES.resize(part->boxes));
  return MIXED_SORTED.resize(part->sorted);
}

/* --- loading ---------------------------------------------------------------------------------- */

static amped_status mixed_insert(amped_tensor_part *part, int mode, uint64_t offset,
                                 const amped_batch *batch) {
  return ops_of(part->plan, mode)->insert(part_of(part, mode), mode, offset, batch);
}

static amped_status mixed_finish(amped_tensor_part *part, int mode) {
  return ops_of(part->plan, mode)->finish(part_of(part, mode), mode);
}

static amped_status mixed_collect(amped_tensor_part *part, int mode,
                                  const amped_nonzeros *nonzeros) {
  return ops_of(part->plan, mode)->collect(part_of(part, mode), mode, nonzeros);
}

static amped_status mixed_sort(amped_tensor_part *part, int mode, uint64_t *repeats) {
  return ops_of(part->plan, mode)->sort(part_of(part, mode), mode, repeats);
}

/* The larger of the two requirements: one mode is collected at a time. */
static amped_status mixed_require_collect(const amped_device *device, const amped_plan *plan,
                                          uint64_t factor_bytes, uint64_t *device_bytes,
                                          uint64_t *host_bytes) {
  uint64_t sorted_device = 0;
  uint64_t sorted_host = 0;
  shares s;
  AMPED_TRY(share_memory(device, plan, factor_bytes, &s));
  AMPED_TRY(MIXED_BOXES.require_collect(device, plan, s.beside_boxes, device_bytes, host_bytes));
  AMPED_TRY(
      MIXED_SORTED.require_collect(device, plan, s.beside_sorted, &sorted_device, &sorted_host));
  *device_bytes = larger(*device_bytes, sorted_device);
  *host_bytes = larger(*host_bytes, sorted_host);
  return AMPED_OK;
}

static amped_status mixed_make_synthetic(amped_tensor_part *part, const amped_synthetic *tensor,
                                         int mode) {
  return ops_of(part->plan, mode)->make_synthetic(part_of(part, mode), tensor, mode);
}

static uint64_t mixed_require_synthetic(const amped_plan *plan) {
  return larger(MIXED_BOXES.require_synthetic(plan), MIXED_SORTED.require_synthetic(plan));
}

/* --- MTTKRP ----------------------------------------------------------------------------------- */

static amped_status mixed_mttkrp_begin(amped_tensor_part *part, int mode) {
  return ops_of(part->plan, mode)->mttkrp_begin(part_of(part, mode), mode);
}

static amped_status mixed_mttkrp_wait(amped_tensor_part *part, int mode, int block_part,
                                      amped_mttkrp_times *times) {
  return ops_of(part->plan, mode)->mttkrp_wait(part_of(part, mode), mode, block_part, times);
}

/* NULL for sorted copies: their sums are complete. */
static amped_partial_rows mixed_partial_rows(amped_tensor_part *part, int mode) {
  return amped_plan_in_boxes(part->plan, mode) ? MIXED_BOXES.partial_rows(part->boxes, mode)
                                               : (amped_partial_rows){NULL, NULL};
}

static amped_status mixed_add_arrived(amped_tensor_part *part, int mode) {
  return amped_plan_in_boxes(part->plan, mode) ? MIXED_BOXES.add_arrived(part->boxes, mode)
                                               : AMPED_OK;
}

/* Only for modes that have partial rows; backends without device_pointers have none to stage. */
static amped_status mixed_stage_partial(amped_tensor_part *part, int mode,
                                        const amped_host_copy *copies, int count) {
  return MIXED_BOXES.stage_partial(part->boxes, mode, copies, count);
}

static amped_status mixed_products(amped_tensor_part *part, int mode, double scale,
                                   const double *weights, amped_products *out) {
  return ops_of(part->plan, mode)->products(part_of(part, mode), mode, scale, weights, out);
}

const amped_format_ops MIXED_FORMAT = {
    .name = "mixed",
    .needs = {.one_copy = true, .mixes = true},
    .require = mixed_require,
    .create = mixed_create,
    .destroy = mixed_destroy,
    .spare = mixed_spare,
    .insert = mixed_insert,
    .finish = mixed_finish,
    .resize = mixed_resize,
    .collect = mixed_collect,
    .sort = mixed_sort,
    .require_collect = mixed_require_collect,
    .make_synthetic = mixed_make_synthetic,
    .require_synthetic = mixed_require_synthetic,
    .mttkrp_begin = mixed_mttkrp_begin,
    .mttkrp_wait = mixed_mttkrp_wait,
    .partial_rows = mixed_partial_rows,
    .add_arrived = mixed_add_arrived,
    .stage_partial = mixed_stage_partial,
    .products = mixed_products,
};
