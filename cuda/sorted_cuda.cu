/* The formats "sorted" and "published" on a GPU: a rank's part of a tensor with a copy per mode. */
#include "cuda/sorted_cuda.h"

#include <cstring>

#include "cuda/atomic/atomic_cuda.h"
#include "cuda/complete/block_fit_cuda.h"
#include "cuda/complete/row_fit_cuda.h"
#include "cuda/complete/row_history_cuda.h"
#include "cuda/complete/row_steps_cuda.h"
#include "cuda/factor/factor_set_cuda.h"
#include "cuda/load/synthetic_cuda.h"
#include "cuda/load/tensor_part_cuda.h"
#include "cuda/counts/ratio_cuda.h"

extern "C" {
#include "base/mem.h"
#include "base/system_memory.h"
}

static amped_status make_layout(const amped_device *device, const amped_plan *plan,
                                uint64_t factor_bytes, const amped_copy_form_cuda *form,
                                amped_layout_cuda *layout) {
  uint64_t packer = 0;
  AMPED_TRY(form->bytes(plan, &packer));
  amped_layout_wish_cuda wish = {};
  wish.storage = form->storage;
  wish.residency = device->options.residency;
  wish.budget_bytes = device->gpu.budget_bytes;
  wish.other_bytes = factor_bytes + packer + sizeof(amped_products_room_cuda);
  wish.caches = device->gpu.caches;
  wish.tile_bytes = device->options.tile_bytes;
  return amped_layout_cuda_make(layout, plan, &wish);
}

static amped_status require_form(const amped_device *device, const amped_plan *plan,
                                 uint64_t factor_bytes, const amped_copy_form_cuda *form,
                                 amped_requirement *out) {
  amped_layout_cuda layout;
  AMPED_TRY(make_layout(device, plan, factor_bytes, form, &layout));
  out->device_bytes =
      layout.device_bytes - factor_bytes + amped_layout_cuda_most_reorder_bytes(&layout);
  out->host_bytes = layout.host_bytes;
  for (int m = 0; m < plan->order; m++) {
    out->copy_bytes[m] = layout.copies[m].bytes + layout.index_bytes[m];
    out->read_bytes[m] = form->read_bytes(plan, m);
    out->streamed_bytes[m] = amped_layout_cuda_streamed(&layout, m);
    out->tiles[m] = layout.tiles[m].count;
  }
  /* All ranks of a node allocate about the same at the same time, so each may take 1 / ranks. */
  uint64_t ranks = device->options.local_size > 0 ? (uint64_t)device->options.local_size : 1;
  uint64_t node = amped_mem_node_available() / ranks;
  uint64_t own = amped_mem_limit_left();
  uint64_t available = node > 0 && node < own ? node : own;
  if (layout.host_bytes > available)
    return amped_error(AMPED_FAILED, nullptr,
                       "streamed tensor copies need %" PRIu64 " MiB of host memory a process, of "
                       "which %" PRIu64 " MiB are free; use more nodes or GPUs",
                       layout.host_bytes >> 20, available >> 20);
  return AMPED_OK;
}

static amped_status require(const amped_device *device, const amped_plan *plan,
                            uint64_t factor_bytes, amped_requirement *out) {
  return require_form(device, plan, factor_bytes, &amped_packed_cuda_form, out);
}

static amped_status require_atomic(const amped_device *device, const amped_plan *plan,
                                   uint64_t factor_bytes, amped_requirement *out) {
  return require_form(device, plan, factor_bytes, &amped_atomic_cuda_form, out);
}

static void destroy(amped_tensor_part *part) {
  if (part == nullptr)
    return;
  (void)cudaStreamSynchronize(part->device->stream);
  amped_row_fit_cuda_free(part->row_fit);
  amped_row_history_cuda_free(part->row_history, part->plan);
  amped_row_steps_cuda_free(part->row_steps);
  amped_ratio_cuda_free(part->ratio);
  amped_copies_cuda_destroy(&part->copies);
  amped_coo_buffer_cuda_free(&part->buffer);
  amped_free(part);
}

static amped_status create_form(amped_device *device, amped_factor_set *factors,
                                const amped_plan *plan, uint64_t factor_bytes,
                                const amped_copy_form_cuda *form, amped_tensor_part **out) {
  amped_layout_cuda layout;
  amped_tensor_part *part = nullptr;
  *out = nullptr;
  AMPED_TRY(make_layout(device, plan, factor_bytes, form, &layout));
  AMPED_TRY(amped_calloc(&part, 1, sizeof *part, "the tensor copies"));
  part->device = device;
  part->factors = factors;
  part->plan = plan;
  amped_status status =
      amped_copies_cuda_create(&part->copies, plan, form, &layout, &device->gpu, device->stream);
  if (status == AMPED_OK)
    *out = part;
  else
    destroy(part);
  return status;
}

static amped_status create(amped_device *device, amped_factor_set *factors, const amped_plan *plan,
                           uint64_t factor_bytes, amped_tensor_part **out) {
  return create_form(device, factors, plan, factor_bytes, &amped_packed_cuda_form, out);
}

static amped_status create_atomic(amped_device *device, amped_factor_set *factors,
                                  const amped_plan *plan, uint64_t factor_bytes,
                                  amped_tensor_part **out) {
  return create_form(device, factors, plan, factor_bytes, &amped_atomic_cuda_form, out);
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

static amped_status insert(amped_tensor_part *part, int mode, uint64_t offset,
                           const amped_batch *batch) {
  return amped_copies_cuda_upload(&part->copies, mode, offset, batch);
}

/* Returns the device memory in bytes that a layout leaves free. The two buffers for streaming count
 * as free, because they are lent while nonzeros are sorted. */
static uint64_t room(const amped_device *device, const amped_layout_cuda *layout) {
  const uint64_t budget = device->gpu.budget_bytes;
  uint64_t taken = layout->device_bytes - 2 * layout->piece_bytes;
  return budget > taken ? budget - taken : 0;
}

static amped_status require_collect(const amped_device *device, const amped_plan *plan,
                                    uint64_t factor_bytes, uint64_t *device_bytes,
                                    uint64_t *host_bytes) {
  amped_layout_cuda layout;
  AMPED_TRY(make_layout(device, plan, factor_bytes, &amped_packed_cuda_form, &layout));
  amped_coo_buffer_cuda_bytes(plan, room(device, &layout), device_bytes, host_bytes);
  uint64_t lent = 2 * layout.piece_bytes;
  *device_bytes -= *device_bytes < lent ? *device_bytes : lent;
  return AMPED_OK;
}

static amped_status require_collect_atomic(const amped_device *device, const amped_plan *plan,
                                           uint64_t factor_bytes, uint64_t *device_bytes,
                                           uint64_t *host_bytes) {
  amped_layout_cuda layout;
  AMPED_TRY(make_layout(device, plan, factor_bytes, &amped_atomic_cuda_form, &layout));
  amped_coo_buffer_cuda_bytes(plan, room(device, &layout), device_bytes, host_bytes);
  uint64_t lent = 2 * layout.piece_bytes;
  *device_bytes -= *device_bytes < lent ? *device_bytes : lent;
  return AMPED_OK;
}

static amped_status collect(amped_tensor_part *part, int mode, const amped_nonzeros *nonzeros) {
  amped_copies_cuda_lend(&part->copies);
  return amped_coo_buffer_cuda_add(&part->buffer, part->plan, mode, nonzeros,
                                   room(part->device, &part->copies.layout), part->device->stream);
}

static amped_status sort(amped_tensor_part *part, int mode, uint64_t *repeats) {
  amped_copies_cuda_lend(&part->copies);
  AMPED_TRY(amped_coo_buffer_cuda_sort(&part->buffer, part->plan, mode,
                                       room(part->device, &part->copies.layout), &part->copies,
                                       part->device->stream, repeats));
  return amped_copies_cuda_take_back(&part->copies);
}

static amped_status finish(amped_tensor_part *part, int mode) {
  return amped_copies_cuda_loaded(&part->copies, mode);
}

static amped_status resize(amped_tensor_part *part) {
  for (int m = 0; m < part->plan->order; m++)
    AMPED_TRY(amped_copies_cuda_resize(&part->copies, m));
  return AMPED_OK;
}

static amped_status mttkrp_begin(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  amped_mttkrp_cuda_args args = {};
  args.value_type = plan->value_type;
  args.index_type = plan->index_type;
  args.inputs = plan->order - 1;
  args.ncomps = plan->ncomps;
  args.ld = plan->ld;
  for (int m = 0, input = 0; m < plan->order; m++)
    if (m != mode)
      args.factors[input++] = amped_factor_set_cuda_rows(part->factors, m);
  args.output = amped_factor_set_cuda_output(part->factors);
  args.stream = part->device->stream;
  return amped_copies_cuda_begin(&part->copies, mode, &args,
                                 plan->modes[mode].copy.output_rows * amped_plan_row_bytes(plan));
}

static amped_status mttkrp_wait(amped_tensor_part *part, int mode, int block_part,
                                amped_mttkrp_times *times) {
  return block_part + 1 < part->plan->modes[mode].rows.parts
             ? amped_copies_cuda_wait(&part->copies, mode, block_part)
             : amped_copies_cuda_finish(&part->copies, mode, times);
}

static amped_status products(amped_tensor_part *part, int mode, double scale, const double *weights,
                             amped_products *out) {
  const amped_plan *plan = part->plan;
  amped_products_cuda_args args =
      amped_products_cuda_of(plan, scale, weights, nullptr, part->device->stream);
  for (int m = 0, input = 0; m < plan->order; m++)
    if (m != mode)
      args.factors[input++] = amped_factor_set_cuda_rows(part->factors, m);
  args.output = amped_factor_set_cuda_output(part->factors);
  return amped_copies_cuda_products(&part->copies, mode, &args, out);
}

static amped_status make_synthetic(amped_tensor_part *part, const amped_synthetic *t, int mode) {
  return amped_synthetic_cuda_load(t, part->device, part->plan, mode, &part->copies);
}

const amped_format_ops amped_sorted_cuda = {
    .name = "sorted",
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
    .products = products,
    .row_fit = &amped_row_fit_cuda_ops,
    .block_fit = &amped_block_fit_cuda_ops,
    .row_history = &amped_row_history_cuda_ops,
    .row_steps = &amped_row_steps_cuda_ops,
    .ratio = &amped_ratio_cuda_ops,
};

const amped_format_ops amped_atomic_cuda = {
    .name = "published",
    .any_order = true,
    .require = require_atomic,
    .create = create_atomic,
    .destroy = destroy,
    .spare = spare,
    .insert = insert,
    .finish = finish,
    .resize = resize,
    .collect = collect,
    .sort = sort,
    .require_collect = require_collect_atomic,
    .make_synthetic = make_synthetic,
    .mttkrp_begin = mttkrp_begin,
    .mttkrp_wait = mttkrp_wait,
    .products = products,
};
