/* Tensor format "boxes" in host memory: one copy for all modes that have no copy of their own.
 *
 * The nonzeros are the longest mode's copy (plan->boxed). MTTKRP of that mode is complete except
 * for split iDps, as with sorted copies. For the other modes every rank has partial sums of all
 * rows (amped_partial_rows). */
#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "cpu/factor/partial_rows_cpu.h"
#include "cpu/boxes/box_mttkrp_cpu.h"
#include "cpu/load/coo_buffer_cpu.h"
#include "cpu/device/device_cpu.h"
#include "base/buffers.h"
#include "cpu/load/synthetic_cpu.h"

struct amped_tensor_part {
  const amped_plan *plan;
  amped_factor_set *factors;
  int threads;
  amped_codebook_cpu codebook;
  amped_box_copy copy;
  amped_box_traversal traversals[AMPED_MAX_ORDER];
  amped_coo_buffer_cpu coo_buffer;
  double *slots; /* slots, own and own_bytes have the size of the largest traversal */
  char *own;
  uint64_t own_bytes;
  void *shared;          /* shared rows of the copy's mode, copied from the factor */
  void *sums, *arriving; /* arrays of amped_partial_rows */
  double mttkrp_sec;     /* time of the last MTTKRP */
};

/* --- sizes ------------------------------------------------------------------------------------ */

/* True if every rank has partial sums of mode's rows. */
static bool is_partial(const amped_plan *plan, int mode) {
  return plan->nranks > 1 && mode != plan->boxed;
}

typedef uint64_t size_of_mode(const amped_plan *plan, int mode);

static uint64_t largest(const amped_plan *plan, size_of_mode *size) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    most = size(plan, m) > most ? size(plan, m) : most;
  return most;
}

static uint64_t partial_rows(const amped_plan *plan, int mode) {
  return is_partial(plan, mode) ? amped_plan_factor_rows(plan, mode) : 0;
}

static uint64_t shared_rows(const amped_plan *plan) {
  const amped_mode_plan *m = &plan->modes[plan->boxed];
  return m->copy.output_rows - m->rows.block_rows;
}

static amped_buffers buffers(amped_tensor_part *part, const amped_plan *plan, int threads) {
  amped_buffers b = {.threads = threads};
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  const uint64_t partial = largest(plan, partial_rows);
  b.what = "the sums of parts of tiles";
  AMPED_BUFFER(&b, LARGE, part->slots, largest(plan, amped_box_traversal_slot_rows) * plan->ld);
  b.what = "the sums of threads";
  AMPED_BUFFER_OF(&b, LARGE, part->own, (uint64_t)threads,
                  largest(plan, amped_box_mttkrp_own_bytes));
  b.what = "shared rows";
  AMPED_BUFFER_OF(&b, LARGE, part->shared, shared_rows(plan), row_bytes);
  b.what = "sums for other ranks";
  AMPED_BUFFER_OF(&b, SPREAD, part->sums, partial, row_bytes);
  b.what = "sums of other ranks";
  AMPED_BUFFER_OF(&b, SPREAD, part->arriving, partial, row_bytes);
  return b;
}

static amped_status cpu_require(const amped_device *device, const amped_plan *plan,
                                uint64_t factor_bytes, amped_requirement *out) {
  uint64_t making = amped_box_copy_making_bytes(plan, device->threads);
  (void)factor_bytes;
  out->copy_bytes[plan->boxed] = amped_box_copy_bytes(plan);
  for (int m = 0; m < plan->order; m++) {
    const uint64_t walking = amped_box_traversal_making_bytes(plan, m, device->threads);
    making = walking > making ? walking : making;
    out->read_bytes[m] = amped_box_copy_bytes(plan);
    out->copy_bytes[plan->boxed] += amped_box_traversal_bytes(plan, m);
  }
  out->passing_bytes = making;
  out->host_bytes = out->copy_bytes[plan->boxed] + making + amped_codebook_cpu_bytes(plan) +
                    amped_buffers_bytes(buffers(&(amped_tensor_part){0}, plan, device->threads));
  return AMPED_OK;
}

/* --- creation and destruction ----------------------------------------------------------------- */

static void cpu_destroy(amped_tensor_part *part) {
  if (part == NULL)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_box_traversal_free(&part->traversals[m]);
  amped_box_copy_free(&part->copy);
  amped_codebook_cpu_free(&part->codebook);
  amped_coo_buffer_cpu_free(&part->coo_buffer);
  amped_buffers_free(buffers(part, part->plan, 0));
  amped_free(part);
}

static amped_status allocate(amped_tensor_part *part) {
  const amped_plan *plan = part->plan;
  AMPED_TRY(amped_codebook_cpu_create(&part->codebook, plan));
  AMPED_TRY(amped_box_copy_create(&part->copy, plan));
  part->own_bytes = largest(plan, amped_box_mttkrp_own_bytes);
  return amped_buffers_allocate(buffers(part, plan, part->threads));
}

static amped_status cpu_create(amped_device *device, amped_factor_set *factors,
                               const amped_plan *plan, uint64_t factor_bytes,
                               amped_tensor_part **out) {
  amped_tensor_part *part = NULL;
  (void)factor_bytes;
  *out = NULL;
  AMPED_TRY(amped_calloc(&part, 1, sizeof *part, "the tensor copy"));
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

/* --- loading ---------------------------------------------------------------------------------- */

/* Uses fewer threads if the reader has some of them (load/slab_reader.h). */
static amped_status cpu_insert(amped_tensor_part *part, int mode, uint64_t offset,
                               const amped_batch *batch) {
  const int threads = omp_get_max_threads();
  (void)mode;
  return amped_box_copy_add(&part->copy, part->codebook.dictionary, offset, batch,
                            threads < part->threads ? threads : part->threads);
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

static amped_status cpu_make_synthetic(amped_tensor_part *part, const amped_synthetic *t,
                                       int mode) {
  return amped_synthetic_cpu_load(t, part->plan, mode, cpu_insert, part);
}

static uint64_t cpu_require_synthetic(const amped_plan *plan) {
  return amped_synthetic_cpu_bytes(plan);
}

static amped_status cpu_finish(amped_tensor_part *part, int mode) {
  (void)mode;
  AMPED_TRY(amped_box_copy_finish(&part->copy, part->threads));
  for (int m = 0; m < part->plan->order; m++)
    AMPED_TRY(amped_box_traversal_create(&part->traversals[m], &part->copy, m, part->threads));
  return AMPED_OK;
}

/* --- MTTKRP ----------------------------------------------------------------------------------- */

/* Collect the shared rows, which the factor stores with their owners, in one array. */
static amped_box_factors factors_of(amped_tensor_part *part) {
  const amped_plan *plan = part->plan;
  const int copied = plan->boxed;
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  const uint64_t block = plan->modes[copied].rows.block_rows;
  amped_box_factors f = {.shared = part->shared};
  uint64_t first = 0;
  uint64_t end = 0;
  for (int m = 0; m < plan->order; m++)
    f.rows[m] = amped_factor_set_cpu_rows(part->factors, m);
  const char *const all = f.rows[copied];
  const amped_split *const splits = plan->modes[copied].copy.splits;
  amped_plan_shared_idps(&plan->modes[copied], plan->rank, &first, &end);
  for (uint64_t s = first; s < end; s++)
    memcpy((char *)part->shared + (splits[s].row - splits[first].row) * row_bytes,
           all + plan->modes[copied].rows.position[splits[s].idp] * row_bytes,
           (splits[s + 1].row - splits[s].row) * row_bytes);
  f.rows[copied] = all + (uint64_t)plan->rank * block * row_bytes;
  return f;
}

static amped_status cpu_mttkrp_begin(amped_tensor_part *part, int mode) {
  const double began = amped_time();
  const amped_box_mttkrp m = {
      .copy = &part->copy,
      .traversal = &part->traversals[mode],
      .mode = mode,
      .codebook = &part->codebook,
      .factors = factors_of(part),
      .out = is_partial(part->plan, mode) ? part->sums : amped_factor_set_cpu_output(part->factors),
      .slots = part->slots,
      .own = part->own,
      .own_bytes = part->own_bytes};
  amped_box_mttkrp_cpu(&m, part->threads);
  part->mttkrp_sec = amped_time() - began;
  amped_trace_span(AMPED_LANE_KERNELS, AMPED_PHASE_KERNEL, mode, began, began + part->mttkrp_sec);
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

static amped_partial_rows cpu_partial_rows(amped_tensor_part *part, int mode) {
  if (!is_partial(part->plan, mode))
    return (amped_partial_rows){NULL, NULL};
  return (amped_partial_rows){part->sums, part->arriving};
}

static amped_status cpu_add_incoming(amped_tensor_part *part, int mode, amped_row_sum sum) {
  const amped_partial_rows parts = cpu_partial_rows(part, mode);
  if (parts.sums != NULL)
    amped_partial_rows_cpu(part->plan, mode, sum, &parts,
                           amped_factor_set_cpu_output(part->factors), part->threads);
  return AMPED_OK;
}

/* Compute the sums of the fit. Rows of mode are read from the factor, which has them all. */
static amped_status cpu_products(amped_tensor_part *part, int mode, double scale,
                                 const double *weights, amped_products *out) {
  amped_box_products p = {.copy = &part->copy,
                          .codebook = &part->codebook,
                          .factors = factors_of(part),
                          .scale = scale,
                          .weights = weights};
  (void)mode;
  AMPED_TRY(
      amped_alloc(&p.pieces, part->copy.piece_count, sizeof *p.pieces, "the sums of the fit"));
  amped_box_products_cpu(&p, part->threads, out);
  amped_free(p.pieces);
  return AMPED_OK;
}

const amped_format_ops amped_boxes_cpu = {
    .name = "boxes",
    .needs = {.one_copy = true},
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
    .partial_rows = cpu_partial_rows,
    .add_incoming = cpu_add_incoming,
    .products = cpu_products,
};
