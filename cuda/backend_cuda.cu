/* The CUDA backend: its tables of operations, and a rank's device. */
#include "cuda/boxes/boxes_cuda.h"
#include "cuda/complete/row_store_cuda.h"
#include "cuda/dense/dense_part_cuda.h"
#include "cuda/device/arithmetic_cuda.h"
#include "cuda/device/bandwidth_cuda.h"
#include "cuda/device/cublas_cuda.h"
#include "cuda/device/gpus_cuda.h"
#include "cuda/device/rank_device_cuda.h"
#include "cuda/factor/factor_history_cuda.h"
#include "cuda/factor/row_vectors_cuda.h"
#include "cuda/factor/factor_set_cuda.h"
#include "cuda/load/list_part_cuda.h"
#include "cuda/load/synthetic_cuda.h"
#include "cuda/sorted/mttkrp_cuda.h"
#include "cuda/sorted_cuda.h"

extern "C" {
#include "base/mem.h"
#ifndef AMPED_HAVE_CUDA
extern const amped_backend amped_backend_cuda;
#endif
}

static void close_device(amped_device *device) {
  if (device == nullptr)
    return;
  if (device->blas != nullptr)
    (void)cublasDestroy(device->blas);
  const cudaStream_t streams[] = {device->stream, device->stream_dense, device->stream_in,
                                  device->stream_out};
  for (cudaStream_t stream : streams)
    if (stream != nullptr)
      (void)cudaStreamDestroy(stream);
  amped_free(device);
}

static amped_status start(amped_device *device) {
  int least = 0;
  int greatest = 0;
  AMPED_TRY(amped_device_cuda_open(&device->gpu, &device->options));
  AMPED_TRY(amped_mttkrp_cuda_probe());
  AMPED_CUDA(cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking));
  AMPED_CUDA(cudaStreamCreateWithFlags(&device->stream_in, cudaStreamNonBlocking));
  AMPED_CUDA(cudaStreamCreateWithFlags(&device->stream_out, cudaStreamNonBlocking));
  AMPED_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  AMPED_CUDA(cudaStreamCreateWithPriority(&device->stream_dense, cudaStreamNonBlocking, greatest));
  return AMPED_OK;
}

static amped_status open_device(const amped_backend_options *options, amped_device **out) {
  amped_device *device = nullptr;
  *out = nullptr;
  AMPED_TRY(amped_calloc(&device, 1, sizeof *device, "the CUDA backend"));
  device->options = *options;
  amped_status status = start(device);
  if (status == AMPED_OK)
    *out = device;
  else
    close_device(device);
  return status;
}

static const char *describe(const amped_device *device) {
  return device->gpu.line;
}

static const char *identity(const amped_device *device) {
  return device->gpu.identity;
}

static uint64_t memory(const amped_device *device) {
  return device->gpu.budget_bytes;
}

static amped_status host_register(amped_device *device, void *block, uint64_t bytes) {
  (void)device;
  AMPED_CUDA(cudaHostRegister(block, bytes, cudaHostRegisterDefault));
  return AMPED_OK;
}

static void host_unregister(amped_device *device, void *block) {
  (void)device;
  (void)cudaHostUnregister(block);
}

static amped_status host_alloc(amped_device *device, uint64_t bytes, void **out) {
  (void)device;
  return amped_cuda_host_alloc(out, bytes, "transfer buffers");
}

static void host_free(amped_device *device, void *block) {
  (void)device;
  amped_cuda_host_free(block);
}

static amped_status count_synthetic(amped_device *device, const amped_synthetic *t, int mode,
                                    uint64_t width, uint64_t first, uint64_t count,
                                    uint64_t *idp_nnz, double *sum_of_squares) {
  return amped_synthetic_cuda_count(t, mode, width, first, count, idp_nnz, sum_of_squares,
                                    device->stream);
}

/* Rates of an H200 with NVLink (docs/benchmarks.md). Other GPUs have other rates, but nearly the
 * same ratios. */
static void rates(const amped_device *, amped_rates *out) {
  *out = {UINT64_C(48) << 20, 17e12, 5e12, 350e9, 50e-6};
}

static amped_status gather_rate(amped_device *device, const amped_plan *plan, uint64_t spare_bytes,
                                uint64_t rows, double *rows_per_sec) {
  return amped_bandwidth_cuda(plan, rows, spare_bytes, device->gpu.caches.multiprocessors,
                              device->stream, rows_per_sec);
}

static amped_status read_rate(amped_device *device, uint64_t spare_bytes, double *bytes_per_sec) {
  return amped_read_cuda(spare_bytes, device->gpu.caches.multiprocessors, device->stream,
                         bytes_per_sec);
}

static amped_status multiply_rate(amped_device *device, amped_vtype type, uint64_t spare_bytes,
                                  double *per_sec) {
  return amped_arithmetic_cuda(type, device->options.tf32, spare_bytes, device->stream, per_sec);
}

static amped_status link_rate(amped_device *device, uint64_t spare_bytes, double *bytes_per_sec) {
  return amped_link_cuda(spare_bytes, device->stream_in, bytes_per_sec);
}

/* Subnormal numbers cost a GPU no time. */
static void flush_subnormals(amped_device *, bool) {
}

static const amped_device_ops device_ops = {
    .available = amped_device_cuda_available,
    .before_mpi = amped_device_cuda_before_mpi,
    .gpus = amped_gpus_cuda,
    .open = open_device,
    .close = close_device,
    .describe = describe,
    .identity = identity,
    .memory = memory,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .host_register = host_register,
    .host_unregister = host_unregister,
    .count_synthetic = count_synthetic,
    .flush_subnormals = flush_subnormals,
    .rates = rates,
    .gather_rate = gather_rate,
    .read_rate = read_rate,
    .multiply_rate = multiply_rate,
    .link_rate = link_rate,
};

static const amped_format_ops *const formats[] = {
    &amped_sorted_cuda, &amped_atomic_cuda, &amped_dense_format_cuda, &amped_boxes_cuda, nullptr};

/* docs/benchmarks.md, "Other R": means over the papers' shapes. */
static const amped_width_cost widths[] = {
    {.bytes = 32, .sec = 0.67},  {.bytes = 64, .sec = 0.77},  {.bytes = 128, .sec = 1.0},
    {.bytes = 160, .sec = 1.57}, {.bytes = 256, .sec = 1.95}, {.bytes = 512, .sec = 3.9},
};

const amped_backend amped_backend_cuda = {
    .name = "cuda",
    .device_pointers = true,
    .concurrent = true,
    .shares_cores = false,
    .streams = true,
    .orders_lists = true,
    .one_copy_is_exact = false,
    .width_costs = {.table = widths, .count = sizeof widths / sizeof widths[0]},
    .device = &device_ops,
    .factors = &amped_factor_set_cuda,
    .factor_histories = &amped_factor_history_cuda,
    .row_vectors = &amped_row_vectors_cuda,
    .lists = &amped_list_part_cuda,
    .row_stores = &amped_row_store_cuda,
    .formats = formats,
};
