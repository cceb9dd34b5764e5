/* Backend table of the CPU: devices, rates and the list of operations. */
#include <stdio.h>

#include "base/blas.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "cpu/device/arithmetic_cpu.h"
#include "cpu/device/bandwidth_cpu.h"
#include "cpu/device/device_cpu.h"
#include "cpu/device/subnormals.h"
#include "cpu/complete/row_store_cpu.h"
#include "cpu/load/synthetic_cpu.h"

static bool cpu_available(const char **reason) {
  (void)reason;
  return true;
}

static void cpu_before_mpi(int local_rank) {
  (void)local_rank;
}

static amped_status cpu_open(const amped_backend_options *options, amped_device **out) {
  amped_device *device = NULL;
  *out = NULL;
  if (options->residency == AMPED_RESIDENCY_STREAM || options->device_memory != 0 ||
      options->tile_bytes != 0)
    return amped_error(
        AMPED_USAGE, NULL,
        "--residency=stream, --device-memory and --tiles are for GPUs; leave them out or use "
        "--backend=cuda");
  if (options->tf32)
    return amped_error(AMPED_USAGE, NULL,
                       "--products=tf32 is for GPUs; leave it out or use --backend=cuda");
  AMPED_TRY(amped_calloc(&device, 1, sizeof *device, "the CPU context"));
  device->threads = options->threads;
  amped_blas_warn_of_kernels();
  (void)snprintf(device->description, sizeof device->description, "CPU, %d thread%s",
                 device->threads, device->threads == 1 ? "" : "s");
  *out = device;
  return AMPED_OK;
}

static const char *cpu_describe(const amped_device *device) {
  return device->description;
}

static const char *cpu_identity(const amped_device *device) {
  (void)device;
  return "";
}

static uint64_t cpu_memory(const amped_device *device) {
  (void)device;
  return amped_mem_available();
}

static void cpu_close(amped_device *device) {
  amped_free(device);
}

static amped_status cpu_host_alloc(amped_device *device, uint64_t bytes, void **out) {
  (void)device;
  return amped_alloc(out, bytes, 1, "a transfer buffer");
}

static void cpu_host_free(amped_device *device, void *block) {
  (void)device;
  amped_free(block);
}

static amped_status cpu_count_synthetic(amped_device *device, const amped_synthetic *t, int mode,
                                        uint64_t width, uint64_t first, uint64_t count,
                                        uint64_t *idp_nnz, double *sum_of_squares) {
  (void)device;
  return amped_synthetic_cpu_count(t, mode, width, first, count, idp_nnz, sum_of_squares);
}

/* Typical rates of a server: caches, memory, and ranks that share memory or a network. On CPUs,
 * blocks are cut into parts only if --overlap requests it. */
static void cpu_rates(const amped_device *device, amped_rates *out) {
  (void)device;
  *out = (amped_rates){UINT64_C(32) << 20, 400e9, 100e9, 10e9, 50e-6};
}

static amped_status cpu_gather_rate(amped_device *device, const amped_plan *plan,
                                    uint64_t spare_bytes, uint64_t rows, double *rows_per_sec) {
  (void)spare_bytes;
  return amped_bandwidth_cpu(plan, rows, device->threads, rows_per_sec);
}

static amped_status cpu_read_rate(amped_device *device, uint64_t spare_bytes,
                                  double *bytes_per_sec) {
  (void)spare_bytes;
  return amped_read_cpu(device->threads, bytes_per_sec);
}

static amped_status cpu_multiply_rate(amped_device *device, amped_vtype type, uint64_t spare_bytes,
                                      double *per_sec) {
  (void)spare_bytes;
  return amped_arithmetic_cpu(type, device->threads, per_sec);
}

/* OpenMP keeps its threads from one region to the next. */
static void cpu_flush_subnormals(amped_device *device, bool on) {
#pragma omp parallel num_threads(device->threads)
  (void)amped_subnormals_flush(on);
}

static const amped_device_ops device_ops = {
    .available = cpu_available,
    .before_mpi = cpu_before_mpi,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .identity = cpu_identity,
    .memory = cpu_memory,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
    .count_synthetic = cpu_count_synthetic,
    .flush_subnormals = cpu_flush_subnormals,
    .rates = cpu_rates,
    .gather_rate = cpu_gather_rate,
    .read_rate = cpu_read_rate,
    .multiply_rate = cpu_multiply_rate,
};

static const amped_format_ops *const formats[] = {&amped_sorted_cpu, &amped_boxes_cpu,
                                                  &amped_dense_cpu, NULL};

/* `bench --shape=nell2 --nnz=2M --threads=1 --rank=R`, float and double. Rows longer than 256 bytes
 * leave the cores' caches. */
static const amped_width_cost widths[] = {
    {.bytes = 16, .sec = 0.35}, {.bytes = 32, .sec = 0.75}, {.bytes = 64, .sec = 0.8},
    {.bytes = 128, .sec = 1.0}, {.bytes = 256, .sec = 2.2}, {.bytes = 512, .sec = 8.0},
};

const amped_backend amped_backend_cpu = {
    .name = "cpu",
    .device_pointers = false,
    .concurrent = false,
    .shares_cores = true,
    .streams = false,
    .orders_lists = false,
    .one_copy_is_exact = true,
    .width_costs = {.table = widths, .count = sizeof widths / sizeof widths[0]},
    .device = &device_ops,
    .factors = &amped_factor_set_cpu,
    .factor_histories = &amped_factor_history_cpu,
    .row_vectors = &amped_row_vectors_cpu,
    .lists = &amped_list_part_cpu,
    .row_stores = &amped_row_store_cpu,
    .formats = formats,
};
