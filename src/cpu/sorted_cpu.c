/* Tensor format "sorted" in host memory: sorted copies of the modes that have a copy of their own.
 * Twin of cuda/sorted_cuda.cu. */
#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "cpu/sorted/products_cpu.h"
#include "cpu/counts/ratio_cpu.h"
#include "cpu/complete/block_fit_cpu.h"
#include "cpu/complete/row_fit_cpu.h"
#include "cpu/complete/row_history_cpu.h"
#include "cpu/complete/row_steps_cpu.h"
#include "cpu/load/synthetic_cpu.h"
#include "cpu/sorted/tensor_part_cpu.h"

static uint64_t output_bytes(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t bytes = amped_cpu_tiling_output_bytes(plan, m);
    most = bytes > most ? bytes : most;
  }
  return most;
}

static amped_status cpu_require(const amped_device *device, const amped_plan *plan,
                                uint64_t factor_bytes, amped_requirement *out) {
  (void)device;
  (void)factor_bytes;
  out->host_bytes = amped_tensor_part_cpu_most_strips(plan, NULL) * plan->ld * sizeof(double) +
                    output_bytes(plan) + amped_codebook_cpu_bytes(plan);
  uint64_t most = 0; /* memory for cutting, one copy at a time */
  for (int m = 0; m < plan->order; m++) {
    uint64_t cutting = amped_cpu_cutting_bytes(plan, m);
    out->copy_bytes[m] = out->read_bytes[m] = amped_cpu_tiling_bytes(plan, m);
    out->host_bytes += out->copy_bytes[m];
    most = cutting > most ? cutting : most;
  }
  out->passing_bytes = most;
  out->host_bytes += most;
  return AMPED_OK;
}

static void cpu_destroy(amped_tensor_part *part) {
  if (part == NULL)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_cpu_copy_free(&part->copies[m]);
    amped_free(part->tiles[m]);
  }
  amped_coo_buffer_cpu_free(&part->coo_buffer);
  amped_codebook_cpu_free(&part->codebook);
  amped_free(part->fixup);
  amped_free(part->outputs);
  amped_row_fit_cpu_free(part->row_fit, part->plan);
  amped_row_history_cpu_free(part->row_history, part->plan);
  amped_row_steps_cpu_free(part->row_steps, part->plan);
  amped_ratio_part_cpu_free(part->ratio);
  amped_free(part);
}

static amped_status allocate(amped_tensor_part *part) {
  const amped_plan *plan = part->plan;
  AMPED_TRY(amped_codebook_cpu_create(&part->codebook, plan));
  for (int m = 0; m < plan->order; m++) {
    part->tilings[m] = amped_cpu_tiling_choose(plan, m);
    AMPED_TRY(amped_cpu_copy_create(&part->copies[m], plan, m,
                                    plan->modes[m].copy.rank_nnz[plan->rank],
                                    amped_plan_copy_rows(plan, m)));
  }
  AMPED_TRY(amped_alloc(&part->outputs, output_bytes(plan), 1, "the outputs of tiles"));
  return amped_alloc(&part->fixup,
                     amped_tensor_part_cpu_most_strips(plan, part->tilings) * plan->ld,
                     sizeof(double), "the fix-up buffer");
}

static amped_status cpu_create(amped_device *device, amped_factor_set *factors,
                               const amped_plan *plan, uint64_t factor_bytes,
                               amped_tensor_part **out) {
  amped_tensor_part *part = NULL;
  (void)factor_bytes;
  *out = NULL;
  AMPED_TRY(amped_calloc(&part, 1, sizeof *part, "the tensor copies"));
  part->plan = plan;
  part->factors = factors;
  part->threads = device->threads;
  amped_status status = allocate(part);
  if (status == AMPED_OK)
    *out = part;
  else
    cpu_destroy(part);
  return status;
}

/* Uses fewer threads if the reader has some of them (load/slab_reader.h). */
static amped_status cpu_insert(amped_tensor_part *part, int mode, uint64_t offset,
                               const amped_batch *batch) {
  int threads = omp_get_max_threads();
  return amped_cpu_copy_add(&part->copies[mode], part->plan, mode, part->codebook.dictionary,
                            offset, batch, threads < part->threads ? threads : part->threads);
}

static amped_status cpu_collect(amped_tensor_part *part, int mode, const amped_nonzeros *nonzeros) {
  return amped_coo_buffer_cpu_add(&part->coo_buffer, part->plan, mode, nonzeros);
}

static amped_status cpu_sort(amped_tensor_part *part, int mode, uint64_t *repeats) {
  return amped_coo_buffer_cpu_sort(&part->coo_buffer, part->plan, mode, cpu_insert, part, repeats);
}

static amped_status cpu_require_collect(const amped_device *device, const amped_plan *plan,
                                        uint64_t factor_bytes, uint64_t *device_bytes,
                                        uint64_t *host_bytes) {
  (void)device;
  (void)factor_bytes;
  *device_bytes = 0;
  *host_bytes = amped_coo_buffer_cpu_bytes(plan);
  return AMPED_OK;
}

static amped_status cpu_finish(amped_tensor_part *part, int mode) {
  if (part->tilings[mode].count == 1)
    return AMPED_OK;
  return amped_cpu_tiles_cut(&part->copies[mode], part->plan, mode, &part->tilings[mode],
                             part->threads, &part->tiles[mode]);
}

static amped_status cpu_mttkrp_begin(amped_tensor_part *part, int mode) {
  double began = amped_time();
  amped_tensor_part_cpu_traverse(part, mode, NULL, NULL);
  part->mttkrp_sec = amped_time() - began;
  amped_trace_span(AMPED_LANE_KERNELS, AMPED_PHASE_KERNEL, mode, began, began + part->mttkrp_sec);
  return AMPED_OK;
}

static amped_status cpu_products(amped_tensor_part *part, int mode, double scale,
                                 const double *weights, amped_products *out) {
  amped_cpu_products p = {.ncomps = part->plan->ncomps, .scale = scale, .weights = weights};
  AMPED_TRY(amped_alloc(&p.strips, amped_tensor_part_cpu_most_strips(part->plan, part->tilings),
                        sizeof *p.strips, "the sums of the fit"));
  *out = (amped_products){{0.0, 0.0}, {0.0, 0.0}};
  for (int t = 0; t < part->tilings[mode].count; t++) {
    amped_products sums;
    p.mttkrp = amped_tensor_part_cpu_traversal(part, mode, t);
    amped_products_cpu(&p, part->threads, &sums);
    out->xx = amped_dd_add(out->xx, sums.xx);
    out->xm = amped_dd_add(out->xm, sums.xm);
  }
  amped_free(p.strips);
  return AMPED_OK;
}

static amped_status cpu_mttkrp_wait(amped_tensor_part *part, int mode, int block_part,
                                    amped_mttkrp_times *times) {
  (void)mode;
  (void)block_part;
  times->copy_sec = 0.0;
  times->compute_sec = part->mttkrp_sec;
  return AMPED_OK;
}

static amped_status cpu_make_synthetic(amped_tensor_part *part, const amped_synthetic *t,
                                       int mode) {
  return amped_synthetic_cpu_load(t, part->plan, mode, cpu_insert, part);
}

static uint64_t cpu_require_synthetic(const amped_plan *plan) {
  return amped_synthetic_cpu_bytes(plan);
}

const amped_format_ops amped_sorted_cpu = {
    .name = "sorted",
    .require = cpu_require,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .insert = cpu_insert,
    .finish = cpu_finish,
    .collect = cpu_collect,
    .sort = cpu_sort,
    .require_collect = cpu_require_collect,
    .make_synthetic = cpu_make_synthetic,
    .require_synthetic = cpu_require_synthetic,
    .mttkrp_begin = cpu_mttkrp_begin,
    .mttkrp_wait = cpu_mttkrp_wait,
    .products = cpu_products,
    .row_fit = &amped_row_fit_cpu_ops,
    .block_fit = &amped_block_fit_cpu_ops,
    .row_history = &amped_row_history_cpu_ops,
    .row_steps = &amped_row_steps_cpu_ops,
    .ratio = &amped_ratio_cpu_ops,
};
