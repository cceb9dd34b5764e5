/* A slab of a dense tensor in host memory: twin of cuda/dense/dense_part_cuda.cu.
 *
 * The slab stays in its file's type and order. T, the last contraction (dense_plan.h), is kept with
 * the versions of the factors in it. */
#include <string.h>

#include "base/timer.h"
#include "base/trace.h"
#include "cpu/factor/partial_rows_cpu.h"
#include "cpu/dense/dense_block_cpu.h"
#include "cpu/dense/dense_products_cpu.h"
#include "cpu/device/device_cpu.h"
#include "base/buffers.h"
#include "cpu/dense/slab_cpu.h"

/* Bytes of cells that a thread copies at a time. */
#define PIECE (UINT64_C(1) << 20)

struct amped_tensor_part {
  const amped_plan *plan;
  amped_factor_set *factors;
  int threads;
  void *cells, *t, *workspace;
  amped_slab_cpu slab;             /* refers to the arrays above */
  uint64_t filled;                 /* number of cells inserted */
  void *sums, *arriving;           /* arrays of amped_partial_rows */
  void *gathered[AMPED_MAX_ORDER]; /* rows of the factor in index order, without padding between
                                      ranks; NULL: not needed */
  double mttkrp_sec;               /* time of the last MTTKRP */
};

/* --- sizes ------------------------------------------------------------------------------------ */

/* True if mode's factor must be gathered. The slab mode is not: its own rows are contiguous. */
static bool is_gathered(const amped_plan *plan, int mode) {
  return plan->nranks > 1 && mode != plan->dense.slab_mode && !plan->dense.outside;
}

/* Rows of the largest array of partial sums. */
static uint64_t partial_rows(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    if (is_gathered(plan, m) && amped_plan_factor_rows(plan, m) > most)
      most = amped_plan_factor_rows(plan, m);
  return most;
}

static uint64_t slab_bytes(const amped_plan *plan) {
  return plan->dense.cells * amped_cell_bytes(plan->dense.type);
}

static amped_buffers buffers(amped_tensor_part *part, const amped_plan *plan, int threads) {
  amped_buffers b = {.threads = threads};
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  if (plan->dense.outside)
    return b;
  b.what = "the cells of the tensor";
  AMPED_BUFFER_OF(&b, SPREAD, part->cells, plan->dense.cells, amped_cell_bytes(plan->dense.type));
  b.what = "a contraction of the tensor";
  AMPED_BUFFER_OF(&b, SPREAD, part->t, amped_dense_largest(&plan->dense, plan->order, plan->ncomps),
                  (uint64_t)plan->value_type);
  b.what = "sums for other ranks";
  AMPED_BUFFER_OF(&b, SPREAD, part->sums, partial_rows(plan), row_bytes);
  b.what = "sums of other ranks";
  AMPED_BUFFER_OF(&b, SPREAD, part->arriving, partial_rows(plan), row_bytes);
  b.what = "a factor in index order";
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER_OF(&b, SPREAD, part->gathered[m], is_gathered(plan, m) ? plan->dims[m] : 0,
                    row_bytes);
  b.what = "the workspace of contractions";
  AMPED_BUFFER_OF(&b, LARGE, part->workspace, amped_slab_cpu_workspace(plan, &plan->dense, threads),
                  1);
  return b;
}

static amped_status cpu_require(const amped_device *device, const amped_plan *plan,
                                uint64_t factor_bytes, amped_requirement *out) {
  uint64_t t = amped_dense_largest(&plan->dense, plan->order, plan->ncomps);
  (void)factor_bytes;
  if (plan->dense.outside)
    return AMPED_OK;
  if (!amped_mul(t, (uint64_t)plan->value_type, &t) || t > INT64_MAX)
    return amped_error(AMPED_FAILED, NULL,
                       "the tensor times %d components is too large for any machine; use fewer "
                       "components or ranks with memory for a part each",
                       plan->ncomps);
  out->copy_bytes[0] = out->read_bytes[0] = slab_bytes(plan);
  out->host_bytes = amped_buffers_bytes(buffers(&(amped_tensor_part){0}, plan, device->threads));
  return AMPED_OK;
}

/* --- creation and destruction ----------------------------------------------------------------- */

static void cpu_destroy(amped_tensor_part *part) {
  if (part == NULL)
    return;
  amped_buffers_free(buffers(part, part->plan, 0));
  amped_free(part);
}

static amped_status cpu_create(amped_device *device, amped_factor_set *factors,
                               const amped_plan *plan, uint64_t factor_bytes,
                               amped_tensor_part **out) {
  amped_tensor_part *part = NULL;
  (void)factor_bytes;
  *out = NULL;
  AMPED_TRY(amped_calloc(&part, 1, sizeof *part, "the dense tensor"));
  part->plan = plan;
  part->factors = factors;
  part->threads = device->threads;
  amped_status status = amped_buffers_allocate(buffers(part, plan, device->threads));
  part->slab = (amped_slab_cpu){.plan = plan,
                                .dense = &plan->dense,
                                .threads = device->threads,
                                .cells = part->cells,
                                .t = part->t,
                                .workspace = part->workspace};
  if (status == AMPED_OK)
    *out = part;
  else
    cpu_destroy(part);
  return status;
}

static amped_status cpu_insert_cells(amped_tensor_part *part, uint64_t first, uint64_t count,
                                     const void *cells) {
  const uint64_t size = amped_cell_bytes(part->plan->dense.type);
  char *const to = (char *)part->cells + first * size;
  if (first != part->filled || count > part->plan->dense.cells - first)
    return amped_error(AMPED_FAILED, NULL,
                       "cells %" PRIu64 " to %" PRIu64 " do not follow the %" PRIu64 " of %" PRIu64
                       " that this rank has; please report this",
                       first, first + count, part->filled, part->plan->dense.cells);
  const uint64_t bytes = count * size;
#pragma omp parallel for schedule(static) num_threads(part->threads)
  for (uint64_t at = 0; at < bytes; at += PIECE)
    memcpy(to + at, (const char *)cells + at, bytes - at < PIECE ? bytes - at : PIECE);
  part->filled += count;
  return AMPED_OK;
}

static amped_status cpu_finish(amped_tensor_part *part, int mode) {
  (void)mode;
  if (part->filled < part->plan->dense.cells)
    return amped_error(AMPED_FAILED, NULL,
                       "this rank has %" PRIu64 " cells of %" PRIu64 "; please report this",
                       part->filled, part->plan->dense.cells);
  return AMPED_OK;
}

/* Discard T. Memory is sized for the most components. */
static amped_status cpu_resize(amped_tensor_part *part) {
  memset(&part->slab.kept, 0, sizeof part->slab.kept);
  return AMPED_OK;
}

amped_dense_part_cpu amped_dense_part_cpu_of(const amped_tensor_part *part) {
  return (amped_dense_part_cpu){part->plan, part->factors, part->threads, part->cells};
}

/* --- MTTKRP ----------------------------------------------------------------------------------- */

/* Rows of mode's factor in the order of the slab's indices. */
static const void *rows_in_order(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  const amped_row_plan *rows = &plan->modes[mode].rows;
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  const char *const from = amped_factor_set_cpu_rows(part->factors, mode);
  char *to = part->gathered[mode];
  if (!is_gathered(plan, mode))
    return from + (uint64_t)plan->rank * rows->block_rows * row_bytes;
  for (int p = 0; p < plan->nranks; p++) {
    const uint64_t bytes = rows->rank_rows[p] * row_bytes;
    memcpy(to, from + (uint64_t)p * rows->block_rows * row_bytes, bytes);
    to += bytes;
  }
  return part->gathered[mode];
}

/* Write a block of `rows` rows: MTTKRP rows of the slab's indices first .. first + count, then
 * zeros. */
static void put_block(const amped_tensor_part *part, int mode, uint64_t first, uint64_t count,
                      uint64_t rows, char *to) {
  const uint64_t row_bytes = amped_plan_row_bytes(part->plan);
  amped_slab_cpu_rows(&part->slab, mode, first, count, to);
  memset(to + count * row_bytes, 0, (rows - count) * row_bytes);
}

/* Write own rows of the output, or partial sums of all rows. */
static void put_rows(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  const amped_row_plan *rows = &plan->modes[mode].rows;
  uint64_t first = 0;
  if (!is_gathered(plan, mode)) {
    put_block(part, mode, 0, plan->dense.dims[mode], rows->block_rows,
              amped_factor_set_cpu_output(part->factors));
    return;
  }
  for (int p = 0; p < plan->nranks; p++) {
    put_block(part, mode, first, rows->rank_rows[p], rows->block_rows,
              (char *)part->sums + (uint64_t)p * rows->block_rows * amped_plan_row_bytes(plan));
    first += rows->rank_rows[p];
  }
}

static amped_status cpu_mttkrp_begin(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  const double began = amped_time();
  uint64_t versions[AMPED_MAX_ORDER] = {0};
  for (int m = 0; m < plan->order; m++)
    if (m != mode) {
      part->slab.rows[m] = rows_in_order(part, m);
      versions[m] = amped_factor_set_cpu.version(part->factors, m);
    }
  amped_slab_cpu_contract(&part->slab, mode, versions);
  put_rows(part, mode);
  part->mttkrp_sec = amped_time() - began;
  amped_trace_span(AMPED_LANE_KERNELS, AMPED_PHASE_KERNEL, mode, began, began + part->mttkrp_sec);
  return AMPED_OK;
}

static void cpu_go_on(amped_tensor_part *part, uint64_t fixed, uint64_t sweeps) {
  amped_dense_go_on(&part->slab.kept, &part->plan->dense, part->plan->order, fixed, sweeps);
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
  if (!is_gathered(part->plan, mode))
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

/* --- the exact fit ---------------------------------------------------------------------------- */

static amped_status cpu_products(amped_tensor_part *part, int mode, double scale,
                                 const double *weights, amped_products *out) {
  const amped_plan *plan = part->plan;
  amped_dense_products p = amped_dense_products_of(plan, scale, weights);
  p.cells = part->cells;
  (void)mode;
  for (int k = 0; k < plan->order; k++) {
    p.dims[k] = plan->dense.dims[plan->dense.layout[k]];
    p.factors[k] = rows_in_order(part, plan->dense.layout[k]);
  }
  return amped_dense_products_cpu(&p, part->threads, out);
}

const amped_format_ops amped_dense_cpu = {
    .name = "dense",
    .needs = {.cells = true},
    .require = cpu_require,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .insert_cells = cpu_insert_cells,
    .finish = cpu_finish,
    .resize = cpu_resize,
    .go_on = cpu_go_on,
    .mttkrp_begin = cpu_mttkrp_begin,
    .mttkrp_wait = cpu_mttkrp_wait,
    .partial_rows = cpu_partial_rows,
    .add_incoming = cpu_add_incoming,
    .products = cpu_products,
    .dense_blocks = &amped_dense_block_cpu,
};
