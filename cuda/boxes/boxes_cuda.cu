/* The format "boxes" on a GPU: a rank's part of a tensor with one copy for all modes. */
#include "cuda/boxes/boxes_cuda.h"

#include <cstring>

#include "cuda/boxes/box_incoming_cuda.h"
#include "cuda/boxes/box_form_cuda.h"
#include "cuda/boxes/box_mttkrp_cuda.h"
#include "cuda/dense/factor_rows_cuda.h"
#include "cuda/device/rank_device_cuda.h"
#include "cuda/factor/factor_set_cuda.h"
#include "cuda/load/coo_buffer_cuda.h"
#include "cuda/load/synthetic_cuda.h"

extern "C" {
#include "base/mem.h"
#include "base/system_memory.h"
}

struct amped_tensor_part {
  amped_device *device;
  amped_factor_set *factors;
  const amped_plan *plan;
  amped_copies_cuda copies;
  amped_coo_buffer_cuda buffer;    /* during collect: nonzeros in any order */
  amped_box_incoming_cuda arrived; /* during insert: nonzeros in the copy's order */
  void *d_sums, *d_arriving;       /* memory of partial_rows: this rank's sums, and partial sums
                                      from other ranks */
};

/* --- sizes ------------------------------------------------------------------------------------ */

/* True if every rank has a part of the sums of mode's rows. */
static bool is_partial(const amped_plan *plan, int mode) {
  return plan->nranks > 1 && mode != plan->boxed;
}

static uint64_t partial_bytes(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    if (is_partial(plan, m) && amped_plan_factor_rows(plan, m) > most)
      most = amped_plan_factor_rows(plan, m);
  return most * amped_plan_row_bytes(plan);
}

static const amped_copy_form_cuda *form_of(const amped_device *device) {
  return device->options.deterministic ? &amped_box_fixed_cuda_form : &amped_box_cuda_form;
}

static amped_status make_layout(const amped_device *device, const amped_plan *plan,
                                uint64_t factor_bytes, amped_layout_cuda *layout) {
  const amped_copy_form_cuda *form = form_of(device);
  amped_layout_wish_cuda wish = {};
  uint64_t packer = 0;
  AMPED_TRY(form->bytes(plan, &packer));
  wish.storage = form->storage;
  wish.residency = device->options.residency;
  wish.budget_bytes = device->gpu.budget_bytes;
  wish.other_bytes = factor_bytes + packer + sizeof(amped_products_room_cuda) +
                     amped_box_sums_cuda_bytes(plan, device->options.deterministic) +
                     2 * partial_bytes(plan);
  wish.caches = device->gpu.caches;
  return amped_layout_cuda_make(layout, plan, &wish);
}

static amped_status check_plan(const amped_device *device, const amped_plan *plan) {
  if (device->options.deterministic && plan->value_type == AMPED_F64)
    return amped_error(AMPED_USAGE, nullptr,
                       "--copies=one adds in whatever order comes on GPUs, so with "
                       "--precision=double it cannot be --deterministic; leave out one of them");
  return amped_box_cuda_check(plan);
}

static amped_status require(const amped_device *device, const amped_plan *plan,
                            uint64_t factor_bytes, amped_requirement *out) {
  const int mode = plan->boxed;
  amped_layout_cuda layout;
  AMPED_TRY(check_plan(device, plan));
  AMPED_TRY(make_layout(device, plan, factor_bytes, &layout));
  out->device_bytes = layout.device_bytes - factor_bytes;
  out->host_bytes = layout.host_bytes;
  out->copy_bytes[mode] = layout.copies[mode].bytes + layout.index_bytes[mode];
  for (int m = 0; m < plan->order; m++) {
    out->read_bytes[m] = form_of(device)->read_bytes(plan, m);
    out->streamed_bytes[m] = amped_layout_cuda_streamed(&layout, mode);
    out->tiles[m] = 1;
  }
  /* All ranks of a node ask at the same time, and each needs about as much memory. */
  const uint64_t ranks = device->options.local_size > 0 ? (uint64_t)device->options.local_size : 1;
  const uint64_t node = amped_mem_node_available() / ranks;
  const uint64_t own = amped_mem_limit_left();
  const uint64_t available = node > 0 && node < own ? node : own;
  if (layout.host_bytes > available)
    return amped_error(AMPED_FAILED, nullptr,
                       "the streamed tensor copy needs %" PRIu64
                       " MiB of host memory a process, of "
                       "which %" PRIu64 " MiB are free; use more nodes or GPUs",
                       layout.host_bytes >> 20, available >> 20);
  return AMPED_OK;
}

/* --- life ------------------------------------------------------------------------------------- */

static void destroy(amped_tensor_part *part) {
  if (part == nullptr)
    return;
  (void)cudaStreamSynchronize(part->device->stream);
  amped_copies_cuda_destroy(&part->copies);
  amped_coo_buffer_cuda_free(&part->buffer);
  amped_box_incoming_cuda_free(&part->arrived);
  amped_cuda_free(part->d_sums);
  amped_cuda_free(part->d_arriving);
  amped_free(part);
}

static amped_status allocate(amped_tensor_part *part, const amped_layout_cuda *layout) {
  const uint64_t partial = partial_bytes(part->plan);
  AMPED_TRY(amped_cuda_malloc_pages(&part->d_sums, partial, "sums for other ranks"));
  AMPED_TRY(amped_cuda_malloc_pages(&part->d_arriving, partial, "sums of other ranks"));
  return amped_copies_cuda_create(&part->copies, part->plan, form_of(part->device), layout,
                                  &part->device->gpu, part->device->stream);
}

static amped_status create(amped_device *device, amped_factor_set *factors, const amped_plan *plan,
                           uint64_t factor_bytes, amped_tensor_part **out) {
  amped_layout_cuda layout;
  amped_tensor_part *part = nullptr;
  *out = nullptr;
  AMPED_TRY(make_layout(device, plan, factor_bytes, &layout));
  AMPED_TRY(amped_calloc(&part, 1, sizeof *part, "the tensor copy"));
  part->device = device;
  part->factors = factors;
  part->plan = plan;
  amped_status status = allocate(part, &layout);
  if (status == AMPED_OK)
    *out = part;
  else
    destroy(part);
  return status;
}

/* Returns the bytes of the user's limit that factors, workspaces and copies leave free; UINT64_MAX
 * without a limit. */
static uint64_t spare(const amped_tensor_part *part) {
  const uint64_t limit = part->device->options.device_memory;
  const uint64_t taken = part->copies.layout.device_bytes;
  if (limit == 0)
    return UINT64_MAX;
  return limit > taken ? limit - taken : 0;
}

static amped_status resize(amped_tensor_part *part) {
  return amped_copies_cuda_resize(&part->copies, part->plan->boxed);
}

/* --- loading ---------------------------------------------------------------------------------- */

/* Returns the device memory in bytes that a layout leaves free. The buffers for streaming are lent
 * while nonzeros are sorted, and count as free. */
static uint64_t room(const amped_device *device, const amped_layout_cuda *layout) {
  const uint64_t budget = device->gpu.budget_bytes;
  const uint64_t taken = layout->device_bytes - 2 * layout->piece_bytes;
  return budget > taken ? budget - taken : 0;
}

static uint64_t room_of(const amped_tensor_part *part) {
  return room(part->device, &part->copies.layout);
}

static amped_status insert(amped_tensor_part *part, int mode, uint64_t offset,
                           const amped_batch *batch) {
  (void)mode;
  amped_copies_cuda_lend(&part->copies);
  return amped_box_incoming_cuda_add(&part->arrived, part->plan, offset, batch, room_of(part),
                                     part->device->stream);
}

static amped_status finish(amped_tensor_part *part, int mode) {
  if (part->arrived.count > 0) {
    AMPED_TRY(amped_box_incoming_cuda_sort(&part->arrived, part->plan, room_of(part), &part->copies,
                                           part->device->stream));
    AMPED_TRY(amped_copies_cuda_take_back(&part->copies));
  }
  return amped_copies_cuda_loaded(&part->copies, mode);
}

static amped_status require_collect(const amped_device *device, const amped_plan *plan,
                                    uint64_t factor_bytes, uint64_t *device_bytes,
                                    uint64_t *host_bytes) {
  amped_layout_cuda layout;
  AMPED_TRY(make_layout(device, plan, factor_bytes, &layout));
  amped_coo_buffer_cuda_bytes(plan, room(device, &layout), device_bytes, host_bytes);
  const uint64_t lent = 2 * layout.piece_bytes;
  *device_bytes -= *device_bytes < lent ? *device_bytes : lent;
  return AMPED_OK;
}

static amped_status collect(amped_tensor_part *part, int mode, const amped_nonzeros *nonzeros) {
  amped_copies_cuda_lend(&part->copies);
  return amped_coo_buffer_cuda_add(&part->buffer, part->plan, mode, nonzeros, room_of(part),
                                   part->device->stream);
}

static amped_status sort(amped_tensor_part *part, int mode, uint64_t *repeats) {
  amped_copies_cuda_lend(&part->copies);
  AMPED_TRY(amped_coo_buffer_cuda_sort(&part->buffer, part->plan, mode, room_of(part),
                                       &part->copies, part->device->stream, repeats));
  return amped_copies_cuda_take_back(&part->copies);
}

static amped_status make_synthetic(amped_tensor_part *part, const amped_synthetic *t, int mode) {
  return amped_synthetic_cuda_load(t, part->device, part->plan, mode, &part->copies);
}

/* --- MTTKRP ----------------------------------------------------------------------------------- */

static amped_status mttkrp_begin(amped_tensor_part *part, int mode) {
  const void *factors[AMPED_MAX_ORDER];
  for (int m = 0; m < part->plan->order; m++)
    factors[m] = amped_factor_set_cuda_rows(part->factors, m);
  return amped_box_cuda_begin(
      &part->copies, mode, factors,
      is_partial(part->plan, mode) ? part->d_sums : amped_factor_set_cuda_output(part->factors));
}

/* Wait for rows of a part of the block. The kernels finish all rows at the same time. */
static amped_status mttkrp_wait(amped_tensor_part *part, int mode, int block_part,
                                amped_mttkrp_times *times) {
  if (block_part + 1 < part->plan->modes[mode].rows.parts) {
    AMPED_CUDA(cudaStreamSynchronize(part->device->stream));
    return AMPED_OK;
  }
  return amped_copies_cuda_finish(&part->copies, part->plan->boxed, times);
}

static amped_partial_rows partial_rows(amped_tensor_part *part, int mode) {
  if (!is_partial(part->plan, mode))
    return {nullptr, nullptr};
  return {part->d_sums, part->d_arriving};
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
  return amped_stage_cuda(part->device, part->d_arriving, part->d_sums, copies, count);
}

/* --- the exact fit ---------------------------------------------------------------------------- */

/* The factor itself serves as the output, because rows of the copy's mode are factor positions
 * here. */
static amped_status products(amped_tensor_part *part, int mode, double scale, const double *weights,
                             amped_products *out) {
  const amped_plan *plan = part->plan;
  amped_products_cuda_args args =
      amped_products_cuda_of(plan, scale, weights, nullptr, part->device->stream);
  (void)mode;
  for (int m = 0, input = 0; m < plan->order; m++)
    if (m != plan->boxed)
      args.factors[input++] = amped_factor_set_cuda_rows(part->factors, m);
  args.output = amped_factor_set_cuda_rows(part->factors, plan->boxed);
  return amped_copies_cuda_products(&part->copies, plan->boxed, &args, out);
}

const amped_format_ops amped_boxes_cuda = {
    .name = "boxes",
    .needs = {.one_copy = true},
    .require = require,
    .create = create,
    .destroy = destroy,
    .spare = spare,
    .insert = insert,
    .finish = finish,
    .resize = resize,
    .collect = collect,
    .sort = sort,
    .require_collect = require_collect,
    .make_synthetic = make_synthetic,
    .mttkrp_begin = mttkrp_begin,
    .mttkrp_wait = mttkrp_wait,
    .partial_rows = partial_rows,
    .add_incoming = add_incoming,
    .stage_partial = stage_partial,
    .products = products,
};
