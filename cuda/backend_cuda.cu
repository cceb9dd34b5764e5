#include <cassert>
#include <cstring>

#include "cuda/sorted/copies_cuda.h"
#include "cuda/factor/dense_cuda.h"
#include "cuda/device/bandwidth_cuda.h"
#include "cuda/device/gpus_cuda.h"
#include "cuda/load/coo_buffer_cuda.h"
#include "cuda/load/synthetic_cuda.h"

extern "C" {
#include "base/mem.h"
#include "base/system_memory.h"
#ifndef AMPED_HAVE_CUDA
extern const amped_backend amped_backend_cuda;
#endif
}

struct amped_backend_context {
  amped_backend_options options;
  amped_device_cuda device;
  cudaStream_t stream;                /* MTTKRP, and all that is not named next */
  cudaStream_t stream_dense;          /* dense work, which goes first where MTTKRP still runs */
  cudaStream_t stream_in, stream_out; /* staged rows */
  amped_dense_cuda dense;
  const amped_plan *plan;
  amped_copies_cuda copies;
  amped_coo_buffer_cuda buffer; /* of the copy that is collected */
  void *d_factors[AMPED_MAX_ORDER];
  void *d_output;
};

static uint64_t row_bytes(const amped_plan *plan) {
  return plan->ld * plan->value_type;
}

static uint64_t own_rows(const amped_backend_context *ctx, int mode) {
  return ctx->plan->modes[mode].rank_rows[ctx->plan->rank];
}

static void *row_at(void *d_rows, const amped_plan *plan, uint64_t row) {
  return (char *)d_rows + row * row_bytes(plan);
}

/* The first of this rank's own rows of mode's factor. */
static void *own_block(const amped_backend_context *ctx, int mode) {
  const amped_plan *plan = ctx->plan;
  return row_at(ctx->d_factors[mode], plan, (uint64_t)plan->rank * plan->modes[mode].block_rows);
}

static void close_context(amped_backend_context *ctx) {
  if (ctx == nullptr)
    return;
  if (ctx->stream != nullptr)
    (void)cudaStreamSynchronize(ctx->stream);
  amped_copies_cuda_destroy(&ctx->copies);
  amped_coo_buffer_cuda_free(&ctx->buffer);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_cuda_free(ctx->d_factors[m]);
  amped_cuda_free(ctx->d_output);
  amped_dense_cuda_destroy(&ctx->dense);
  if (ctx->stream != nullptr)
    (void)cudaStreamDestroy(ctx->stream);
  if (ctx->stream_dense != nullptr)
    (void)cudaStreamDestroy(ctx->stream_dense);
  if (ctx->stream_in != nullptr)
    (void)cudaStreamDestroy(ctx->stream_in);
  if (ctx->stream_out != nullptr)
    (void)cudaStreamDestroy(ctx->stream_out);
  amped_free(ctx);
}

static amped_status open_device(amped_backend_context *ctx) {
  int least = 0;
  int greatest = 0;
  AMPED_TRY(amped_device_cuda_open(&ctx->device, &ctx->options));
  AMPED_TRY(amped_mttkrp_cuda_probe());
  AMPED_CUDA(cudaStreamCreateWithFlags(&ctx->stream, cudaStreamNonBlocking));
  AMPED_CUDA(cudaStreamCreateWithFlags(&ctx->stream_in, cudaStreamNonBlocking));
  AMPED_CUDA(cudaStreamCreateWithFlags(&ctx->stream_out, cudaStreamNonBlocking));
  AMPED_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  AMPED_CUDA(cudaStreamCreateWithPriority(&ctx->stream_dense, cudaStreamNonBlocking, greatest));
  return amped_dense_cuda_create(&ctx->dense, ctx->stream_dense);
}

static amped_status open_context(const amped_backend_options *options,
                                 amped_backend_context **out) {
  amped_backend_context *ctx = nullptr;
  *out = nullptr;
  AMPED_TRY(amped_calloc(&ctx, 1, sizeof *ctx, "the CUDA backend"));
  ctx->options = *options;
  amped_status status = open_device(ctx);
  if (status == AMPED_OK)
    *out = ctx;
  else
    close_context(ctx);
  return status;
}

static const char *describe(const amped_backend_context *ctx) {
  return ctx->device.line;
}

static const char *identity(const amped_backend_context *ctx) {
  return ctx->device.identity;
}

static uint64_t memory(const amped_backend_context *ctx) {
  return ctx->device.budget_bytes;
}

static amped_status make_layout(const amped_backend_context *ctx, const amped_plan *plan,
                                amped_layout_cuda *layout) {
  uint64_t packer = 0;
  AMPED_TRY(amped_copies_cuda_bytes(plan, &packer));
  amped_layout_wish_cuda wish = {};
  wish.plain = ctx->options.kernel == AMPED_KERNEL_ATOMIC;
  wish.residency = ctx->options.residency;
  wish.budget_bytes = memory(ctx);
  wish.other_bytes = amped_plan_factor_bytes(plan) + amped_dense_cuda_bytes(plan) + packer;
  wish.caches = ctx->device.caches;
  wish.tile_bytes = ctx->options.tile_bytes;
  return amped_layout_cuda_make(layout, plan, &wish);
}

static amped_status require(const amped_backend_context *ctx, const amped_plan *plan,
                            amped_requirement *out) {
  amped_layout_cuda layout;
  AMPED_TRY(make_layout(ctx, plan, &layout));
  memset(out, 0, sizeof *out);
  out->device_bytes = layout.device_bytes + amped_layout_cuda_most_reorder_bytes(&layout);
  out->host_bytes = layout.host_bytes;
  for (int m = 0; m < plan->order; m++) {
    out->copy_bytes[m] = layout.copies[m].bytes + layout.index_bytes[m];
    out->streamed_bytes[m] = amped_layout_cuda_streamed(&layout, m);
    out->tiles[m] = layout.tiles[m].count;
  }
  /* The ranks of a node ask at the same time, for about the same. */
  uint64_t ranks = ctx->options.local_size > 0 ? (uint64_t)ctx->options.local_size : 1;
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

static amped_status zero_factors(amped_backend_context *ctx) {
  const amped_plan *plan = ctx->plan;
  for (int m = 0; m < plan->order; m++)
    AMPED_CUDA(cudaMemsetAsync(ctx->d_factors[m], 0,
                               amped_plan_factor_rows(plan, m) * row_bytes(plan), ctx->stream));
  return AMPED_OK;
}

static amped_status create_factors(amped_backend_context *ctx) {
  const amped_plan *plan = ctx->plan;
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(amped_cuda_malloc_pages(
        &ctx->d_factors[m], amped_plan_factor_rows(plan, m) * row_bytes(plan), "a factor"));
  AMPED_TRY(zero_factors(ctx));
  uint64_t bytes = amped_plan_output_rows(plan) * row_bytes(plan);
  AMPED_TRY(amped_cuda_malloc(&ctx->d_output, bytes, "the MTTKRP result"));
  AMPED_CUDA(cudaMemsetAsync(ctx->d_output, 0, bytes, ctx->stream));
  AMPED_CUDA(cudaStreamSynchronize(ctx->stream));
  return AMPED_OK;
}

static amped_status prepare(amped_backend_context *ctx, const amped_plan *plan) {
  amped_layout_cuda layout;
  AMPED_TRY(make_layout(ctx, plan, &layout));
  ctx->plan = plan;
  AMPED_TRY(create_factors(ctx));
  AMPED_TRY(amped_dense_cuda_prepare(&ctx->dense, plan));
  return amped_copies_cuda_create(&ctx->copies, plan, &layout, &ctx->device, ctx->stream);
}

static amped_status upload(amped_backend_context *ctx, int mode, uint64_t offset,
                           const amped_batch *batch) {
  return amped_copies_cuda_upload(&ctx->copies, mode, offset, batch);
}

/* Device memory that a layout leaves, with the two buffers for streaming, which are lent while a
 * buffer is ordered. */
static uint64_t room(const amped_backend_context *ctx, const amped_layout_cuda *layout) {
  uint64_t taken = layout->device_bytes - 2 * layout->piece_bytes;
  return memory(ctx) > taken ? memory(ctx) - taken : 0;
}

static amped_status require_collect(const amped_backend_context *ctx, const amped_plan *plan,
                                    uint64_t *device_bytes, uint64_t *host_bytes) {
  amped_layout_cuda layout;
  AMPED_TRY(make_layout(ctx, plan, &layout));
  amped_coo_buffer_cuda_bytes(plan, room(ctx, &layout), device_bytes, host_bytes);
  uint64_t lent = 2 * layout.piece_bytes;
  *device_bytes -= *device_bytes < lent ? *device_bytes : lent;
  return AMPED_OK;
}

static amped_status collect(amped_backend_context *ctx, int mode, const amped_nonzeros *nonzeros) {
  amped_copies_cuda_lend(&ctx->copies);
  return amped_coo_buffer_cuda_add(&ctx->buffer, ctx->plan, mode, nonzeros,
                                   room(ctx, &ctx->copies.layout), ctx->stream);
}

static amped_status order(amped_backend_context *ctx, int mode, uint64_t *repeats) {
  amped_copies_cuda_lend(&ctx->copies);
  AMPED_TRY(amped_coo_buffer_cuda_sort(&ctx->buffer, ctx->plan, mode,
                                       room(ctx, &ctx->copies.layout), &ctx->copies, ctx->stream,
                                       repeats));
  return amped_copies_cuda_take_back(&ctx->copies);
}

static amped_status loaded(amped_backend_context *ctx, int mode) {
  return amped_copies_cuda_loaded(&ctx->copies, mode);
}

static amped_status resize(amped_backend_context *ctx) {
  AMPED_TRY(zero_factors(ctx));
  AMPED_CUDA(cudaStreamSynchronize(ctx->stream));
  AMPED_TRY(amped_dense_cuda_prepare(&ctx->dense, ctx->plan));
  for (int m = 0; m < ctx->plan->order; m++)
    AMPED_TRY(amped_copies_cuda_resize(&ctx->copies, m));
  return AMPED_OK;
}

static amped_status put_rows(amped_backend_context *ctx, int mode, uint64_t position,
                             uint64_t count, const double *rows) {
  assert(position + count <= amped_plan_factor_rows(ctx->plan, mode));
  return amped_dense_cuda_put(&ctx->dense, row_at(ctx->d_factors[mode], ctx->plan, position), count,
                              rows);
}

static amped_status get_rows(amped_backend_context *ctx, int mode, uint64_t position,
                             uint64_t count, double *rows) {
  assert(position + count <= amped_plan_factor_rows(ctx->plan, mode));
  return amped_dense_cuda_get(&ctx->dense, row_at(ctx->d_factors[mode], ctx->plan, position), count,
                              rows);
}

static amped_status mttkrp_begin(amped_backend_context *ctx, int mode) {
  const amped_plan *plan = ctx->plan;
  amped_mttkrp_cuda_args args = {};
  args.value_type = plan->value_type;
  args.index_type = plan->index_type;
  args.inputs = plan->order - 1;
  args.ncomps = plan->ncomps;
  args.ld = plan->ld;
  for (int m = 0, input = 0; m < plan->order; m++)
    if (m != mode)
      args.factors[input++] = ctx->d_factors[m];
  args.output = ctx->d_output;
  args.stream = ctx->stream;
  return amped_copies_cuda_begin(&ctx->copies, mode, ctx->options.kernel, &args,
                                 plan->modes[mode].output_rows * row_bytes(plan));
}

static amped_status mttkrp_wait(amped_backend_context *ctx, int mode, int part,
                                amped_mttkrp_times *times) {
  return part + 1 < ctx->plan->modes[mode].parts
             ? amped_copies_cuda_wait(&ctx->copies, mode, part)
             : amped_copies_cuda_finish(&ctx->copies, mode, times);
}

static amped_status get_output(amped_backend_context *ctx, int mode, uint64_t row, uint64_t count,
                               double *rows) {
  assert(row + count <= ctx->plan->modes[mode].output_rows);
  (void)mode;
  return amped_dense_cuda_get(&ctx->dense, row_at(ctx->d_output, ctx->plan, row), count, rows);
}

static amped_status put_output(amped_backend_context *ctx, int mode, uint64_t row, uint64_t count,
                               const double *rows) {
  assert(row + count <= ctx->plan->modes[mode].output_rows);
  (void)mode;
  return amped_dense_cuda_put(&ctx->dense, row_at(ctx->d_output, ctx->plan, row), count, rows);
}

static amped_status solve(amped_backend_context *ctx, int mode, uint64_t first, uint64_t end,
                          const double *p) {
  return amped_dense_cuda_solve(&ctx->dense, row_at(ctx->d_output, ctx->plan, first), end - first,
                                p, row_at(own_block(ctx, mode), ctx->plan, first));
}

static amped_status gram(amped_backend_context *ctx, int mode, double *out) {
  return amped_dense_cuda_gram(&ctx->dense, own_block(ctx, mode), own_rows(ctx, mode), out);
}

static amped_status inner(amped_backend_context *ctx, int mode, double *out) {
  return amped_dense_cuda_inner(&ctx->dense, ctx->d_output, own_block(ctx, mode),
                                own_rows(ctx, mode), out);
}

static amped_status scale(amped_backend_context *ctx, int mode, uint64_t position, uint64_t count,
                          const double *by) {
  assert(position + count <= amped_plan_factor_rows(ctx->plan, mode));
  return amped_dense_cuda_scale(&ctx->dense, row_at(ctx->d_factors[mode], ctx->plan, position),
                                count, by);
}

static void *factor(amped_backend_context *ctx, int mode) {
  return ctx->d_factors[mode];
}

/* The link to the host carries both directions at once. */
static amped_status stage(amped_backend_context *ctx, int mode, const amped_host_copy *copies,
                          int count) {
  for (int i = 0; i < count; i++) {
    const amped_host_copy *c = &copies[i];
    void *d_rows = (char *)ctx->d_factors[mode] + c->offset;
    if (c->in)
      AMPED_CUDA(
          cudaMemcpyAsync(d_rows, c->host, c->bytes, cudaMemcpyHostToDevice, ctx->stream_in));
    else
      AMPED_CUDA(
          cudaMemcpyAsync(c->host, d_rows, c->bytes, cudaMemcpyDeviceToHost, ctx->stream_out));
  }
  AMPED_CUDA(cudaStreamSynchronize(ctx->stream_out));
  AMPED_CUDA(cudaStreamSynchronize(ctx->stream_in));
  return AMPED_OK;
}

static amped_status host_register(amped_backend_context *ctx, void *block, uint64_t bytes) {
  (void)ctx;
  AMPED_CUDA(cudaHostRegister(block, bytes, cudaHostRegisterDefault));
  return AMPED_OK;
}

static void host_unregister(amped_backend_context *ctx, void *block) {
  (void)ctx;
  (void)cudaHostUnregister(block);
}

static amped_status host_alloc(amped_backend_context *ctx, uint64_t bytes, void **out) {
  (void)ctx;
  return amped_cuda_host_alloc(out, bytes, "transfer buffers");
}

static void host_free(amped_backend_context *ctx, void *block) {
  (void)ctx;
  amped_cuda_host_free(block);
}

static amped_status count_synthetic(amped_backend_context *ctx, const amped_synthetic *t, int mode,
                                    uint64_t width, uint64_t first, uint64_t count,
                                    uint64_t *idp_nnz, double *sum_of_squares) {
  return amped_synthetic_cuda_count(t, mode, width, first, count, idp_nnz, sum_of_squares,
                                    ctx->stream);
}

/* Half of what is free, of which ranks on one GPU take equal parts; within the user's limit. The
 * buffers for streaming are not in use yet: where a budget is full, loading works in their room. */
static amped_status scratch_bytes(const amped_backend_context *ctx, uint64_t *out) {
  const amped_backend_options *o = &ctx->options;
  size_t free_bytes = 0;
  size_t total = 0;
  AMPED_CUDA(cudaMemGetInfo(&free_bytes, &total));
  uint64_t scratch = free_bytes / 2;
  if (o->share_gpus && o->local_size > 1)
    scratch /= (uint64_t)o->local_size;
  const amped_layout_cuda *layout = &ctx->copies.layout;
  uint64_t taken = layout->device_bytes - 2 * layout->piece_bytes;
  if (o->device_memory > 0 && o->device_memory < taken + scratch)
    scratch = o->device_memory > taken ? o->device_memory - taken : 0;
  *out = scratch;
  return AMPED_OK;
}

static amped_status load_synthetic(amped_backend_context *ctx, const amped_synthetic *t, int mode) {
  uint64_t scratch = 0;
  amped_copies_cuda_lend(&ctx->copies);
  AMPED_TRY(scratch_bytes(ctx, &scratch));
  AMPED_TRY(amped_synthetic_cuda_load(t, ctx->plan, mode, scratch, &ctx->copies, ctx->stream));
  return amped_copies_cuda_take_back(&ctx->copies);
}

/* What the user's limit leaves beside the copies. */
static uint64_t spare_bytes(const amped_backend_context *ctx) {
  const uint64_t limit = ctx->options.device_memory;
  const uint64_t taken = ctx->copies.layout.device_bytes;
  if (limit == 0)
    return UINT64_MAX;
  return limit > taken ? limit - taken : 0;
}

static amped_status gather_rate(amped_backend_context *ctx, uint64_t rows, double *rows_per_sec) {
  return amped_bandwidth_cuda(ctx->plan, rows, spare_bytes(ctx), ctx->device.caches.multiprocessors,
                              ctx->stream, rows_per_sec);
}

static amped_status read_rate(amped_backend_context *ctx, double *bytes_per_sec) {
  return amped_read_cuda(spare_bytes(ctx), ctx->device.caches.multiprocessors, ctx->stream,
                         bytes_per_sec);
}

const amped_backend amped_backend_cuda = {
    .name = "cuda",
    .device_pointers = true,
    .concurrent = true,
    .available = amped_device_cuda_available,
    .before_mpi = amped_device_cuda_before_mpi,
    .gpus = amped_gpus_cuda,
    .open = open_context,
    .describe = describe,
    .identity = identity,
    .memory = memory,
    .require = require,
    .prepare = prepare,
    .close = close_context,
    .upload = upload,
    .loaded = loaded,
    .resize = resize,
    .collect = collect,
    .order = order,
    .require_collect = require_collect,
    .put_rows = put_rows,
    .get_rows = get_rows,
    .mttkrp_begin = mttkrp_begin,
    .mttkrp_wait = mttkrp_wait,
    .get_output = get_output,
    .put_output = put_output,
    .solve = solve,
    .gram = gram,
    .inner = inner,
    .scale = scale,
    .factor = factor,
    .stage = stage,
    .host_register = host_register,
    .host_unregister = host_unregister,
    .count_synthetic = count_synthetic,
    .load_synthetic = load_synthetic,
    .gather_rate = gather_rate,
    .read_rate = read_rate,
    .host_alloc = host_alloc,
    .host_free = host_free,
};
