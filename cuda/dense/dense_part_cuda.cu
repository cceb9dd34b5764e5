/* The format "dense" on a GPU: a rank's slab, resident or streamed, its contractions, MTTKRP and
 * fit. */
#include "cuda/dense/dense_part_cuda.h"

#include <cstring>

#include "cuda/dense/cell_block_cuda.h"
#include "cuda/dense/dense_block_cuda.h"
#include "cuda/dense/dense_products_cuda.h"
#include "cuda/factor/factor_set_cuda.h"

extern "C" {
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "plan/dense_kept.h"
#include "tensor/overflow.h"
}

/* Bytes that a part allocates in addition to its cells. */
struct room {
  uint64_t t, sums, operand, split, partial, gathered[AMPED_MAX_ORDER];
};

struct amped_tensor_part {
  amped_device *device;
  amped_factor_set *factors;
  const amped_plan *plan;
  room bytes;
  amped_slab_cuda slab;
  uint64_t filled;                     /* number of cells inserted so far */
  void *d_t;                           /* the last contraction */
  amped_dense_kept kept;               /* modes and factor versions of d_t */
  double *d_sums;                      /* partial sums, in a contraction and in rows */
  void *d_operand;                     /* rows of factors, multiplied for a contraction */
  void *d_split;                       /* the operand split for tensor cores */
  void *d_partial, *d_arriving;        /* memory of partial_rows: this rank's sums, and partial
                                          sums from other ranks */
  void *d_gathered[AMPED_MAX_ORDER];   /* factors in the order of indices, if the blocks of
                                          several ranks are padded; W in that order */
  const void *d_rows[AMPED_MAX_ORDER]; /* factors in the order of the slab's indices */
  amped_products_room_cuda *d_products;
  cudaEvent_t begin, stop; /* times of the last MTTKRP */
  bool passed;             /* the last MTTKRP made a pass over the slab */
};

/* --- sizes ------------------------------------------------------------------------------------ */

/* True for modes whose factor has to be gathered. The rows of the slab mode are this rank's own
 * block, which is contiguous. */
static bool is_gathered(const amped_plan *plan, int mode) {
  return plan->nranks > 1 && mode != plan->dense.slab_mode;
}

/* Arguments of the contraction of modes layout[from] .. layout[end - 1] over `rows` rows of the
 * slab. Memory is not set. */
static amped_contract_cuda_args contraction_of(const amped_device *device, const amped_plan *plan,
                                               uint64_t rows, int from, int end) {
  return amped_contraction_cuda_of(device, plan, &plan->dense, rows, from, end);
}

/* Returns the doubles for the sums of a contraction, and in *parts the most parts of a call. If the
 * contraction includes the slowest mode, the calls of all visits add to the same sums. Visits have
 * at most four sizes, which the first two and the last two visits have. */
static uint64_t sums_of(const amped_device *device, const amped_plan *plan,
                        const amped_slab_layout_cuda *layout, int from, int end, uint64_t *parts) {
  const uint64_t visits = amped_slab_visits_cuda(layout);
  const uint64_t which[] = {0, 1, visits - 2, visits - 1};
  uint64_t most = 0;
  uint64_t elements = 0;
  *parts = 1;
  for (uint64_t i : which) {
    if (i >= visits)
      continue;
    const amped_slab_visit_cuda v = amped_slab_visit_cuda_at(layout, i);
    const amped_contract_cuda_args c = contraction_of(device, plan, v.end - v.first, from, end);
    const uint64_t here = amped_contract_cuda_parts(&c);
    elements = c.lead * c.trail * (uint64_t)c.ncomps;
    *parts = here > *parts ? here : *parts;
    if (amped_contract_cuda_needs_sums(&c) && here * elements > most)
      most = here * elements;
  }
  return from == 0 && visits > 1 ? *parts * elements : most;
}

static void keep_larger(uint64_t *most, uint64_t bytes) {
  *most = bytes > *most ? bytes : *most;
}

/* Find the workspace that is enough for any contraction of the plan's tree, and for the rows from
 * it: of each buffer the largest size. */
static void room_of_contractions(const amped_device *device, const amped_plan *plan,
                                 const amped_slab_layout_cuda *layout, room *r) {
  const int half = plan->order / 2;
  const bool is_split = plan->dense.tree == AMPED_TREE_SPLIT;
  const uint64_t columns = amped_contract_cuda_columns(plan->value_type, plan->ncomps);
  for (int k = 0; k < plan->order; k++) {
    const int from = !is_split ? k : k < half ? 0 : half;
    const int end = !is_split ? k + 1 : k < half ? half : plan->order;
    const amped_contract_cuda_args c =
        contraction_of(device, plan, amped_slab_most_rows_cuda(layout), from, end);
    uint64_t parts = 0;
    keep_larger(&r->sums, sums_of(device, plan, layout, from, end, &parts) * sizeof(double));
    keep_larger(&r->operand,
                amped_contraction_cuda_operand_rows(c.mid) * columns * plan->value_type);
    keep_larger(&r->split, amped_contract_cuda_split(&c));
    keep_larger(&r->sums, amped_rows_cuda_most_sums(plan->dense.dims[k], plan->ncomps,
                                                    device->gpu.caches.multiprocessors) *
                              sizeof(double));
  }
}

static amped_status room_of(const amped_device *device, const amped_plan *plan,
                            const amped_slab_layout_cuda *layout, room *r) {
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  *r = {};
  if (plan->dense.outside)
    return AMPED_OK;
  r->t = amped_dense_largest(&plan->dense, plan->order, plan->ncomps);
  if (!amped_mul(r->t, sizeof(double), &r->t) || r->t > INT64_MAX)
    return amped_error(AMPED_FAILED, nullptr,
                       "the tensor times %d components is too large for any machine; use fewer "
                       "components, or more GPUs",
                       plan->ncomps);
  r->t = r->t / sizeof(double) * plan->value_type;
  room_of_contractions(device, plan, layout, r);
  for (int m = 0; m < plan->order; m++)
    if (is_gathered(plan, m)) {
      keep_larger(&r->partial, amped_plan_factor_rows(plan, m) * row_bytes);
      r->gathered[m] = plan->dims[m] * row_bytes;
    }
  return AMPED_OK;
}

static uint64_t all_bytes(const room *r, const amped_slab_layout_cuda *layout) {
  uint64_t bytes = amped_slab_resident_bytes_cuda(layout) + amped_slab_buffer_bytes_cuda(layout) +
                   r->t + r->sums + r->operand + r->split + 2 * r->partial +
                   sizeof(amped_products_room_cuda);
  for (uint64_t gathered : r->gathered)
    bytes += gathered;
  return bytes;
}

/* Make the layout of the plan's slab with `resident` resident rows. *bytes: all device memory that
 * it needs. */
static amped_status lay_out(const amped_device *device, const amped_plan *plan, uint64_t resident,
                            amped_slab_layout_cuda *layout, uint64_t *bytes) {
  const amped_dense_plan *d = &plan->dense;
  const uint64_t rows = d->cells > 0 ? d->dims[d->layout[0]] : 0;
  const uint64_t row_bytes = rows > 0 ? d->cells / rows * amped_cell_bytes(d->type) : 0;
  const int contracted = d->tree == AMPED_TREE_SPLIT ? plan->order / 2 : 1;
  const amped_contract_cuda_args c = contraction_of(device, plan, 1, 0, contracted);
  room r;
  *layout = amped_slab_layout_cuda_make(rows, row_bytes, resident < rows ? resident : rows,
                                        c.trail * (uint64_t)c.ncomps * sizeof(double));
  AMPED_TRY(room_of(device, plan, layout, &r));
  *bytes = all_bytes(&r, layout);
  return AMPED_OK;
}

/* Choose the number of resident rows. AUTO: all rows if they fit; else the most rows that fit in
 * addition to the buffers for the rest. Sums may grow with the number of resident rows, so the
 * number is reduced until all fits. */
static amped_status choose_layout(const amped_device *device, const amped_plan *plan,
                                  uint64_t budget, amped_slab_layout_cuda *layout,
                                  uint64_t *bytes) {
  const amped_residency residency = device->options.residency;
  if (residency != AMPED_RESIDENCY_STREAM)
    AMPED_TRY(lay_out(device, plan, UINT64_MAX, layout, bytes));
  if (residency == AMPED_RESIDENCY_RESIDENT ||
      (residency == AMPED_RESIDENCY_AUTO && *bytes <= budget))
    return AMPED_OK;
  AMPED_TRY(lay_out(device, plan, 0, layout, bytes));
  if (residency == AMPED_RESIDENCY_STREAM || *bytes > budget)
    return AMPED_OK;
  uint64_t resident = (budget - *bytes) / layout->row_bytes;
  while (resident > 0) {
    if (resident >= layout->rows)
      resident = layout->rows - 1;
    AMPED_TRY(lay_out(device, plan, resident, layout, bytes));
    if (*bytes <= budget)
      return AMPED_OK;
    const uint64_t less = amped_ceil_div(*bytes - budget, layout->row_bytes);
    resident = resident > less ? resident - less : 0;
  }
  return lay_out(device, plan, 0, layout, bytes);
}

static uint64_t budget_of(const amped_device *device, uint64_t factor_bytes) {
  const uint64_t budget = device->gpu.budget_bytes;
  return budget > factor_bytes ? budget - factor_bytes : 0;
}

static amped_status require(const amped_device *device, const amped_plan *plan,
                            uint64_t factor_bytes, amped_requirement *out) {
  const uint64_t budget = budget_of(device, factor_bytes);
  amped_slab_layout_cuda layout;
  AMPED_TRY(choose_layout(device, plan, budget, &layout, &out->device_bytes));
  out->copy_bytes[0] = out->read_bytes[0] = layout.rows * layout.row_bytes;
  out->streamed_bytes[0] = out->host_bytes = amped_slab_streamed_bytes_cuda(&layout);
  if (out->device_bytes <= budget)
    return AMPED_OK;
  const uint64_t cells =
      amped_slab_resident_bytes_cuda(&layout) + amped_slab_buffer_bytes_cuda(&layout);
  return amped_error(AMPED_FAILED, nullptr,
                     "the %s of the tensor, %" PRIu64 " MiB, contractions of %" PRIu64
                     " MiB and factors of %" PRIu64 " MiB are more than the %" PRIu64
                     " MiB of a GPU; use more GPUs, fewer components%s, or --backend=cpu",
                     layout.piece > 0 ? "buffers for cells" : "cells", cells >> 20,
                     (out->device_bytes - cells) >> 20, factor_bytes >> 20,
                     device->gpu.budget_bytes >> 20, layout.piece > 0 ? "" : ", --residency=auto");
}

/* --- life ------------------------------------------------------------------------------------- */

static void destroy(amped_tensor_part *part) {
  if (part == nullptr)
    return;
  (void)cudaStreamSynchronize(part->device->stream);
  for (void *d_gathered : part->d_gathered)
    amped_cuda_free(d_gathered);
  amped_slab_cuda_destroy(&part->slab);
  void *const blocks[] = {part->d_t,       part->d_sums,     part->d_operand, part->d_split,
                          part->d_partial, part->d_arriving, part->d_products};
  for (void *d_block : blocks)
    amped_cuda_free(d_block);
  if (part->begin != nullptr)
    (void)cudaEventDestroy(part->begin);
  if (part->stop != nullptr)
    (void)cudaEventDestroy(part->stop);
  amped_free(part);
}

static amped_status allocate(amped_tensor_part *part) {
  const room *r = &part->bytes;
  AMPED_TRY(amped_cuda_malloc(&part->d_t, r->t, "a contraction of the tensor"));
  AMPED_TRY(amped_cuda_malloc((void **)&part->d_sums, r->sums, "sums of contractions"));
  AMPED_TRY(amped_cuda_malloc(&part->d_operand, r->operand, "rows for contractions"));
  AMPED_TRY(amped_cuda_malloc(&part->d_split, r->split, "split rows for contractions"));
  AMPED_TRY(amped_cuda_malloc_pages(&part->d_partial, r->partial, "sums for other ranks"));
  AMPED_TRY(amped_cuda_malloc_pages(&part->d_arriving, r->partial, "sums of other ranks"));
  AMPED_TRY(amped_cuda_malloc((void **)&part->d_products, sizeof *part->d_products,
                              "the sums of the fit"));
  for (int m = 0; m < part->plan->order; m++)
    AMPED_TRY(amped_cuda_malloc(&part->d_gathered[m], r->gathered[m], "a factor in index order"));
  AMPED_CUDA(cudaEventCreate(&part->begin));
  AMPED_CUDA(cudaEventCreate(&part->stop));
  return AMPED_OK;
}

static amped_status create(amped_device *device, amped_factor_set *factors, const amped_plan *plan,
                           uint64_t factor_bytes, amped_tensor_part **out) {
  amped_tensor_part *part = nullptr;
  amped_slab_layout_cuda layout;
  uint64_t bytes = 0;
  *out = nullptr;
  AMPED_TRY(choose_layout(device, plan, budget_of(device, factor_bytes), &layout, &bytes));
  AMPED_TRY(amped_calloc(&part, 1, sizeof *part, "the dense tensor"));
  part->device = device;
  part->factors = factors;
  part->plan = plan;
  amped_status status = room_of(device, plan, &layout, &part->bytes);
  if (status == AMPED_OK)
    status = amped_slab_cuda_create(&part->slab, device, &layout);
  if (status == AMPED_OK)
    status = allocate(part);
  if (status == AMPED_OK)
    *out = part;
  else
    destroy(part);
  return status;
}

/* Returns the bytes that the user's limit leaves free. */
static uint64_t spare(const amped_tensor_part *part) {
  const uint64_t limit = part->device->options.device_memory;
  const uint64_t taken = all_bytes(&part->bytes, &part->slab.layout);
  if (limit == 0)
    return UINT64_MAX;
  return limit > taken ? limit - taken : 0;
}

static amped_status insert_cells(amped_tensor_part *part, uint64_t first, uint64_t count,
                                 const void *cells) {
  const amped_dense_plan *d = &part->plan->dense;
  const uint64_t size = amped_cell_bytes(d->type);
  if (first != part->filled || count > d->cells - first)
    return amped_error(AMPED_FAILED, nullptr,
                       "cells %" PRIu64 " to %" PRIu64 " do not follow the %" PRIu64 " of %" PRIu64
                       " that this rank has; please report this",
                       first, first + count, part->filled, d->cells);
  AMPED_TRY(amped_slab_cuda_insert(&part->slab, cells, count * size));
  part->filled += count;
  return AMPED_OK;
}

static amped_status finish(amped_tensor_part *part, int mode) {
  (void)mode;
  if (part->filled < part->plan->dense.cells)
    return amped_error(AMPED_FAILED, nullptr,
                       "this rank has %" PRIu64 " cells of %" PRIu64 "; please report this",
                       part->filled, part->plan->dense.cells);
  return AMPED_OK;
}

/* Keep the memory, which was sized for more components. Only the sums may need more, because their
 * number of parts may change. */
static amped_status resize(amped_tensor_part *part) {
  room r;
  part->kept = {};
  AMPED_TRY(room_of(part->device, part->plan, &part->slab.layout, &r));
  if (r.sums <= part->bytes.sums)
    return AMPED_OK;
  amped_cuda_free(part->d_sums);
  part->d_sums = nullptr;
  part->bytes.sums = r.sums;
  return amped_cuda_malloc((void **)&part->d_sums, r.sums, "sums of contractions");
}

amped_dense_part_cuda amped_dense_part_cuda_of(amped_tensor_part *part) {
  return {part->device, part->plan, part->factors, &part->slab};
}

/* --- MTTKRP ----------------------------------------------------------------------------------- */

/* Copy the blocks of all ranks between padded and contiguous memory. */
static amped_status copy_blocks(const amped_tensor_part *part, int mode, char *d_padded,
                                char *d_dense, bool to_dense) {
  const amped_plan *plan = part->plan;
  const amped_row_plan *rows = &plan->modes[mode].rows;
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  for (int p = 0; p < plan->nranks; p++) {
    const uint64_t bytes = rows->rank_rows[p] * row_bytes;
    if (bytes > 0)
      AMPED_CUDA(cudaMemcpyAsync(to_dense ? d_dense : d_padded, to_dense ? d_padded : d_dense,
                                 bytes, cudaMemcpyDeviceToDevice, part->device->stream));
    d_dense += bytes;
    d_padded += rows->block_rows * row_bytes;
  }
  return AMPED_OK;
}

/* d_rows[mode] = mode's factor in the order of the slab's indices. */
static amped_status put_in_order(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  char *const from = static_cast<char *>(amped_factor_set_cuda_rows(part->factors, mode));
  if (!is_gathered(plan, mode)) {
    part->d_rows[mode] = from + (uint64_t)plan->rank * plan->modes[mode].rows.block_rows *
                                    amped_plan_row_bytes(plan);
    return AMPED_OK;
  }
  part->d_rows[mode] = part->d_gathered[mode];
  return copy_blocks(part, mode, from, static_cast<char *>(part->d_gathered[mode]), true);
}

static int place_of(const amped_plan *plan, int mode) {
  int k = 0;
  while (plan->dense.layout[k] != mode)
    k++;
  return k;
}

/* True if every visit adds to all of T; false if every visit makes rows of its own. */
static bool adds_visits(const amped_tensor_part *part) {
  return part->kept.from == 0 && amped_slab_visits_cuda(&part->slab.layout) > 1;
}

/* Contract a visit's cells. */
static amped_status contract_visit(amped_tensor_part *part, const amped_slab_visit_cuda *visit,
                                   const void *d_cells, void *arguments) {
  (void)arguments;
  const amped_slab_layout_cuda *layout = &part->slab.layout;
  const amped_dense_kept *kept = &part->kept;
  const uint64_t rows = visit->end - visit->first;
  const bool adds = adds_visits(part);
  const amped_factor_rows_cuda f = amped_contraction_cuda_operand(
      part->plan, &part->plan->dense, part->d_rows, kept->from, kept->end);
  amped_contract_cuda_args c =
      contraction_of(part->device, part->plan, rows, kept->from, kept->end);
  const uint64_t first_k = adds ? c.mid / rows * visit->first : 0;
  const uint64_t first_row = adds ? 0 : c.lead / rows * visit->first * c.trail;
  c.cells = d_cells;
  c.factor = part->d_operand;
  c.split = part->d_split;
  c.parts = amped_contract_cuda_parts(&c);
  c.sums = adds || amped_contract_cuda_needs_sums(&c) ? part->d_sums : nullptr;
  if (adds)
    (void)sums_of(part->device, part->plan, layout, kept->from, kept->end, &c.parts);
  c.out = static_cast<char *>(part->d_t) + first_row * (uint64_t)c.ncomps * c.value_type;
  for (c.first = 0; c.first < c.mid; c.first = c.end) {
    const uint64_t left = c.mid - c.first;
    c.end = c.first + (left < AMPED_CONTRACT_ROWS ? left : AMPED_CONTRACT_ROWS);
    c.again = c.first > 0 || adds;
    c.more = c.end < c.mid || (adds && visit->end < layout->rows);
    AMPED_TRY(amped_factor_rows_cuda_make(&f, first_k + c.first, first_k + c.end,
                                          amped_contraction_cuda_operand_rows(c.end - c.first),
                                          part->d_operand, c.stream));
    AMPED_TRY(amped_contract_cuda(&c));
  }
  return AMPED_OK;
}

typedef amped_status visit_cells(amped_tensor_part *part, const amped_slab_visit_cuda *visit,
                                 const void *d_cells, void *arguments);

/* Visit the whole slab: call `act` for the cells of each visit. */
static amped_status over_slab(amped_tensor_part *part, visit_cells *act, void *arguments) {
  amped_slab_cuda *slab = &part->slab;
  const uint64_t visits = amped_slab_visits_cuda(&slab->layout);
  AMPED_TRY(amped_slab_cuda_begin(slab));
  for (uint64_t i = 0; i < visits; i++) {
    const amped_slab_visit_cuda v = amped_slab_visit_cuda_at(&slab->layout, i);
    const void *d_cells = nullptr;
    if (v.first == v.end)
      continue;
    AMPED_TRY(amped_slab_cuda_cells(slab, &v, &d_cells));
    AMPED_TRY(act(part, &v, d_cells, arguments));
    AMPED_TRY(amped_slab_cuda_done(slab, &v));
  }
  return AMPED_OK;
}

static amped_status contract_modes(amped_tensor_part *part) {
  uint64_t parts = 0;
  const uint64_t sums = sums_of(part->device, part->plan, &part->slab.layout, part->kept.from,
                                part->kept.end, &parts);
  if (adds_visits(part))
    AMPED_CUDA(cudaMemsetAsync(part->d_sums, 0, sums * sizeof(double), part->device->stream));
  part->passed = true;
  return over_slab(part, contract_visit, nullptr);
}

/* T = the contraction of the modes in part->kept. */
static amped_status contract(amped_tensor_part *part) {
  const amped_status status = contract_modes(part);
  if (status != AMPED_OK)
    part->kept = {};
  return status;
}

/* Make the slab's rows of the mode at `place`, from T, in d_out. */
static amped_status make_rows(const amped_tensor_part *part, int place, void *d_out) {
  amped_cell_block_cuda slab = {part->device, part->plan, &part->plan->dense,
                                nullptr,      {},         part->d_t};
  const amped_cell_room_cuda room = {part->d_sums, part->d_operand, part->d_split};
  memcpy(slab.d_rows, part->d_rows, sizeof slab.d_rows);
  return amped_cell_block_cuda_rows(&slab, part->kept.from, part->kept.end, place, &room, d_out);
}

/* Store own rows of the output, or partial sums of all rows. Rows outside the slab are zero. */
static amped_status put_rows(amped_tensor_part *part, int mode, int place) {
  const amped_plan *plan = part->plan;
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  const uint64_t block_bytes = plan->modes[mode].rows.block_rows * row_bytes;
  const bool gathered = is_gathered(plan, mode);
  char *const d_to =
      static_cast<char *>(gathered ? part->d_partial : amped_factor_set_cuda_output(part->factors));
  AMPED_CUDA(cudaMemsetAsync(d_to, 0, gathered ? block_bytes * (uint64_t)plan->nranks : block_bytes,
                             part->device->stream));
  if (plan->dense.cells == 0)
    return AMPED_OK;
  if (!gathered)
    return make_rows(part, place, d_to);
  AMPED_CUDA(cudaMemsetAsync(part->d_gathered[mode], 0, plan->dims[mode] * row_bytes,
                             part->device->stream));
  AMPED_TRY(make_rows(part, place, part->d_gathered[mode]));
  return copy_blocks(part, mode, d_to, static_cast<char *>(part->d_gathered[mode]), false);
}

static amped_status mttkrp_begin(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  uint64_t versions[AMPED_MAX_ORDER] = {};
  AMPED_CUDA(cudaEventRecord(part->begin, part->device->stream));
  part->passed = false;
  for (int m = 0; m < plan->order; m++)
    if (m != mode) {
      AMPED_TRY(put_in_order(part, m));
      versions[m] = amped_factor_set_cuda.version(part->factors, m);
    }
  if (plan->dense.cells > 0 &&
      !amped_dense_serves(&part->kept, &plan->dense, plan->order, mode, versions))
    AMPED_TRY(contract(part));
  AMPED_TRY(put_rows(part, mode, place_of(plan, mode)));
  AMPED_CUDA(cudaEventRecord(part->stop, part->device->stream));
  return AMPED_OK;
}

static void go_on(amped_tensor_part *part, uint64_t fixed, uint64_t sweeps) {
  amped_dense_go_on(&part->kept, &part->plan->dense, part->plan->order, fixed, sweeps);
}

/* Wait for rows of a part of the block. The kernels finish all rows at the same time. */
static amped_status mttkrp_wait(amped_tensor_part *part, int mode, int block_part,
                                amped_mttkrp_times *times) {
  float ms = 0.0F;
  AMPED_CUDA(cudaEventSynchronize(part->stop));
  if (block_part + 1 < part->plan->modes[mode].rows.parts)
    return AMPED_OK;
  AMPED_CUDA(cudaEventElapsedTime(&ms, part->begin, part->stop));
  *times = {0.0, (double)ms * 1e-3};
  if (part->passed)
    AMPED_TRY(amped_slab_cuda_copy_seconds(&part->slab, &times->copy_sec));
  const double now = amped_time();
  amped_trace_span(AMPED_LANE_KERNELS, AMPED_PHASE_KERNEL, mode, now - times->compute_sec, now);
  return AMPED_OK;
}

static amped_partial_rows partial_rows(amped_tensor_part *part, int mode) {
  if (!is_gathered(part->plan, mode))
    return {nullptr, nullptr};
  return {part->d_partial, part->d_arriving};
}

static amped_status add_incoming(amped_tensor_part *part, int mode, amped_row_sum sum) {
  const amped_partial_rows parts = partial_rows(part, mode);
  if (parts.sums == nullptr)
    return AMPED_OK;
  AMPED_TRY(amped_factor_rows_cuda_add(part->plan, mode, sum, &parts,
                                       amped_factor_set_cuda_output(part->factors),
                                       part->device->stream));
  AMPED_CUDA(cudaStreamSynchronize(part->device->stream));
  return AMPED_OK;
}

static amped_status stage_partial(amped_tensor_part *part, int mode, const amped_host_copy *copies,
                                  int count) {
  (void)mode;
  return amped_stage_cuda(part->device, part->d_arriving, part->d_partial, copies, count);
}

/* --- the exact fit ---------------------------------------------------------------------------- */

static amped_status add_products(amped_tensor_part *part, const amped_slab_visit_cuda *visit,
                                 const void *d_cells, void *arguments) {
  const amped_plan *plan = part->plan;
  amped_products_slab_cuda slab = {plan->dense.type, d_cells, plan->order};
  for (int k = 0; k < plan->order; k++) {
    slab.dims[k] = plan->dense.dims[plan->dense.layout[k]];
    slab.factors[k] = part->d_rows[plan->dense.layout[k]];
  }
  slab.dims[0] = visit->end - visit->first;
  slab.factors[0] =
      static_cast<const char *>(slab.factors[0]) + visit->first * amped_plan_row_bytes(plan);
  return amped_dense_products_cuda(static_cast<amped_products_cuda_args *>(arguments), &slab);
}

static amped_status products(amped_tensor_part *part, int mode, double scale, const double *weights,
                             amped_products *out) {
  const amped_plan *plan = part->plan;
  amped_products_cuda_args args =
      amped_products_cuda_of(plan, scale, weights, part->d_products, part->device->stream);
  (void)mode;
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(put_in_order(part, m));
  AMPED_TRY(amped_products_cuda_begin(&args));
  AMPED_TRY(over_slab(part, add_products, &args));
  return amped_products_cuda_end(&args, out);
}

const amped_format_ops amped_dense_format_cuda = {
    .name = "dense",
    .needs = {.cells = true},
    .require = require,
    .create = create,
    .destroy = destroy,
    .spare = spare,
    .finish = finish,
    .insert_cells = insert_cells,
    .resize = resize,
    .mttkrp_begin = mttkrp_begin,
    .mttkrp_wait = mttkrp_wait,
    .go_on = go_on,
    .partial_rows = partial_rows,
    .add_incoming = add_incoming,
    .stage_partial = stage_partial,
    .products = products,
    .dense_blocks = &amped_dense_block_cuda,
};
