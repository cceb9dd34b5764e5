/* Measurement of gathers and reads of device memory, and of the link to the host. A warp draws 32
 * rows, one for each lane, and gathers them as MTTKRP does: groups of lanes load a row, 16 bytes
 * per lane. If all lanes of a group drew their row, drawing would need more instructions than the
 * gather that is measured. */
#include "cuda/device/bandwidth_cuda.h"

#include <cfloat>

#include "base/random.h"

extern "C" {
#include "base/timer.h"
}

static const uint64_t vector_bytes = 16;
static const uint64_t gathered_bytes = UINT64_C(1) << 35;
static const uint64_t least_rows = UINT64_C(1) << 20;
static const double most_sec = 10.0; /* no GPU takes as long: it is emulated */
static const uint64_t margin_bytes = UINT64_C(64) << 20;
static const int block_threads = 256;
static const int blocks_per_multiprocessor = 16;
static const uint64_t read_bytes = UINT64_C(1) << 30; /* far larger than a GPU's L2 cache */
static const int repeats = 5;
static const uint64_t link_bytes = UINT64_C(64) << 20;

static __global__ void fill(uint4 *table, uint64_t count) {
  uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    uint64_t low = amped_mix64(2 * i);
    uint64_t high = amped_mix64(2 * i + 1);
    table[i] =
        make_uint4((unsigned)low, (unsigned)(low >> 32), (unsigned)high, (unsigned)(high >> 32));
  }
}

static __device__ unsigned sum_of(uint4 x) {
  return x.x + x.y + x.z + x.w;
}

/* Gather 32 * batches rows of `width` vectors per warp, with `lanes` lanes on a row. If there are
 * more lanes than vectors, lanes read the last vector twice, which costs no memory access. */
template <int lanes, bool wide>
static __global__ void gather(const uint4 *__restrict__ table, uint64_t rows, unsigned width,
                              uint64_t batches, uint64_t seed, unsigned *sums) {
  uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  unsigned lane = threadIdx.x % lanes;
  unsigned column = wide || lane < width ? lane : width - 1;
  int group = (int)(threadIdx.x % 32) / lanes;
  uint64_t counter = seed + thread * batches;
  unsigned sum = 0;
#pragma unroll(lanes < 4 ? 4 : 1)
  for (uint64_t b = 0; b < batches; b++) {
    uint64_t drawn = __umul64hi(amped_mix64(counter + b), rows) * width;
#pragma unroll(wide ? 1 : lanes < 8 ? lanes : 8)
    for (int round = 0; round < lanes; round++) {
      const uint4 *row =
          table + __shfl_sync(0xffffffffU, drawn, round * (32 / lanes) + group) + column;
      if (!wide) {
        sum += sum_of(__ldg(row));
      } else {
#pragma unroll 4
        for (unsigned v = lane; v < width; v += lanes, row += lanes)
          sum += sum_of(__ldg(row));
      }
    }
  }
  sums[thread] = sum;
}

static __global__ void read_in_order(const uint4 *__restrict__ table, uint64_t count,
                                     unsigned *sums) {
  uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
  unsigned sum = 0;
#pragma unroll 4
  for (uint64_t i = thread; i < count; i += stride)
    sum += sum_of(__ldg(table + i));
  sums[thread] = sum;
}

/* Arguments of a launch. A launch with 0 batches reads the table once from end to end. */
typedef struct gather_launch {
  const uint4 *table;
  uint64_t rows;
  uint64_t most_bytes; /* limit of the table's bytes */
  unsigned width;
  uint64_t batches;
  unsigned blocks;
  unsigned *sums;
  cudaStream_t stream;
} gather_launch;

template <int lanes, bool wide = false>
static void launch_with(const gather_launch *g, uint64_t seed) {
  gather<lanes, wide><<<g->blocks, block_threads, 0, g->stream>>>(g->table, g->rows, g->width,
                                                                  g->batches, seed, g->sums);
}

static amped_status launch(const gather_launch *g, int turn) {
  uint64_t seed = (uint64_t)turn << 56;
  if (g->batches == 0)
    read_in_order<<<g->blocks, block_threads, 0, g->stream>>>(g->table, g->rows * g->width,
                                                              g->sums);
  else if (g->width <= 1)
    launch_with<1>(g, seed);
  else if (g->width <= 2)
    launch_with<2>(g, seed);
  else if (g->width <= 4)
    launch_with<4>(g, seed);
  else if (g->width <= 8)
    launch_with<8>(g, seed);
  else if (g->width <= 16)
    launch_with<16>(g, seed);
  else if (g->width <= 32)
    launch_with<32>(g, seed);
  else
    launch_with<32, true>(g, seed);
  AMPED_CUDA_LAUNCHED("a measurement of memory");
  return AMPED_OK;
}

static amped_status time_launch(const gather_launch *g, int turn, cudaEvent_t begin,
                                cudaEvent_t end, double *seconds) {
  float milliseconds = 0.0F;
  AMPED_CUDA(cudaEventRecord(begin, g->stream));
  AMPED_TRY(launch(g, turn));
  AMPED_CUDA(cudaEventRecord(end, g->stream));
  AMPED_CUDA(cudaEventSynchronize(end));
  AMPED_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
  *seconds = (double)milliseconds * 1e-3;
  return AMPED_OK;
}

/* Find the best of several timings. The first does not count: caches and clocks are cold, and the
 * first launch of all loads the kernel. If all batches would take too long, it is the time of one
 * batch times their number. */
static amped_status time_launches(const gather_launch *g, cudaEvent_t begin, cudaEvent_t end,
                                  double *seconds) {
  gather_launch one = *g;
  one.batches = g->batches > 0;
  for (int i = 0; i < 2; i++)
    AMPED_TRY(time_launch(&one, i, begin, end, seconds));
  *seconds *= g->batches > 0 ? (double)g->batches : 1.0;
  if (*seconds > most_sec)
    return AMPED_OK;
  *seconds = DBL_MAX;
  for (int i = 0; i <= repeats; i++) {
    double sec = 0.0;
    AMPED_TRY(time_launch(g, i, begin, end, &sec));
    if (i > 0 && sec < *seconds)
      *seconds = sec;
  }
  return AMPED_OK;
}

static amped_status time_gather(const gather_launch *g, double *seconds) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  amped_status status = amped_cuda_check(cudaEventCreate(&begin), "cudaEventCreate");
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaEventCreate(&end), "cudaEventCreate");
  if (status == AMPED_OK)
    status = time_launches(g, begin, end, seconds);
  if (begin != nullptr)
    (void)cudaEventDestroy(begin);
  if (end != nullptr)
    (void)cudaEventDestroy(end);
  return status;
}

/* Check if a table fits in `most` bytes and in free device memory. */
static amped_status has_room(uint64_t rows, uint64_t row_bytes, uint64_t most, bool *room) {
  size_t free_bytes = 0;
  size_t total = 0;
  uint64_t bytes = 0;
  AMPED_CUDA(cudaMemGetInfo(&free_bytes, &total));
  *room = amped_mul(rows, row_bytes, &bytes) && bytes <= most && bytes < free_bytes &&
          free_bytes - bytes > margin_bytes;
  return AMPED_OK;
}

/* Measure the seconds of a launch on a table of g->rows rows of g->width vectors; 0 if memory is
 * short. */
static amped_status measure(gather_launch *g, uint64_t threads, double *seconds) {
  bool room = false;
  void *d_table = nullptr;
  void *d_sums = nullptr;
  amped_status status = AMPED_OK;
  uint64_t row_bytes = g->width * vector_bytes;
  *seconds = 0.0;
  AMPED_TRY(has_room(g->rows, row_bytes, g->most_bytes, &room));
  if (g->rows == 0 || !room)
    return AMPED_OK;
  /* Ranks that share a GPU allocate at the same time, so another rank may have taken the memory. */
  if (cudaMalloc(&d_table, g->rows * row_bytes) != cudaSuccess ||
      cudaMalloc(&d_sums, threads * sizeof(unsigned)) != cudaSuccess) {
    (void)cudaGetLastError();
    goto done;
  }
  g->table = (const uint4 *)d_table;
  g->sums = (unsigned *)d_sums;
  fill<<<g->blocks, block_threads, 0, g->stream>>>((uint4 *)d_table, g->rows * g->width);
  status = amped_cuda_check(cudaGetLastError(), "a table to gather from");
  if (status == AMPED_OK)
    status = time_gather(g, seconds);
done:
  (void)cudaStreamSynchronize(g->stream);
  amped_cuda_free(d_table);
  amped_cuda_free(d_sums);
  return status;
}

amped_status amped_bandwidth_cuda(const amped_plan *plan, uint64_t rows, uint64_t most_bytes,
                                  int multiprocessors, cudaStream_t stream, double *rows_per_sec) {
  uint64_t row_bytes = amped_plan_row_bytes(plan);
  uint64_t count =
      gathered_bytes / row_bytes > least_rows ? gathered_bytes / row_bytes : least_rows;
  double seconds = 0.0;
  gather_launch g = {};
  g.blocks = (unsigned)(multiprocessors * blocks_per_multiprocessor);
  uint64_t threads = (uint64_t)g.blocks * (uint64_t)block_threads;
  g.rows = rows;
  g.most_bytes = most_bytes;
  g.width = (unsigned)(row_bytes / vector_bytes);
  g.batches = amped_ceil_div(count, threads);
  g.stream = stream;
  AMPED_TRY(measure(&g, threads, &seconds));
  *rows_per_sec = seconds > 0.0 ? (double)(threads * g.batches) / seconds : 0.0;
  return AMPED_OK;
}

amped_status amped_read_cuda(uint64_t most_bytes, int multiprocessors, cudaStream_t stream,
                             double *bytes_per_sec) {
  double seconds = 0.0;
  gather_launch g = {};
  g.blocks = (unsigned)(multiprocessors * blocks_per_multiprocessor);
  g.rows = read_bytes / vector_bytes;
  g.most_bytes = most_bytes;
  g.width = 1;
  g.stream = stream;
  AMPED_TRY(measure(&g, (uint64_t)g.blocks * (uint64_t)block_threads, &seconds));
  *bytes_per_sec = seconds > 0.0 ? (double)read_bytes / seconds : 0.0;
  return AMPED_OK;
}

/* Find the best of several copies, each long enough to hide its launch. */
static amped_status time_copies(const void *block, void *d_block, cudaStream_t stream,
                                double *seconds) {
  for (int i = 0; i <= repeats; i++) {
    const double began = amped_time();
    AMPED_CUDA(cudaMemcpyAsync(d_block, block, link_bytes, cudaMemcpyHostToDevice, stream));
    AMPED_CUDA(cudaStreamSynchronize(stream));
    const double took = amped_time() - began;
    *seconds = i > 0 && took > *seconds ? *seconds : took;
  }
  return AMPED_OK;
}

amped_status amped_link_cuda(uint64_t most_bytes, cudaStream_t stream, double *bytes_per_sec) {
  void *block = nullptr;
  void *d_block = nullptr;
  double seconds = 0.0;
  bool room = false;
  *bytes_per_sec = 0.0;
  AMPED_TRY(has_room(link_bytes, 1, most_bytes, &room));
  if (!room)
    return AMPED_OK;
  amped_status status = amped_cuda_host_alloc(&block, link_bytes, "a measurement of the link");
  if (status == AMPED_OK)
    status = amped_cuda_malloc(&d_block, link_bytes, "a measurement of the link");
  if (status == AMPED_OK)
    status = time_copies(block, d_block, stream, &seconds);
  amped_cuda_host_free(block);
  amped_cuda_free(d_block);
  *bytes_per_sec = status == AMPED_OK ? (double)link_bytes / seconds : 0.0;
  return status;
}
