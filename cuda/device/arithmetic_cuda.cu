/* Measurement of arithmetic, by large cuBLAS products: of floats in float, and on tensor cores in
 * TF32. Three TF32 products count as one product in float, which they can replace without loss. */
#include "cuda/device/arithmetic_cuda.h"

#include "cuda/device/cublas_cuda.h"

#include "base/random.h"

/* Sides of the matrices. They grow until a product takes enough_msec. */
static const int least_side = 256;
static const int most_side = 4096;
static const float enough_msec = 20.0F;
static const int repeats = 5;

/* A kind of multiplication. */
typedef struct way {
  cublasComputeType_t compute;
  double products; /* products that replace one of the type's precision */
} way;

typedef struct matrices {
  cublasHandle_t blas;
  amped_vtype type;
  bool tf32;
  void *data[3];
  cudaEvent_t begin, end;
  cudaStream_t stream;
} matrices;

/* Fill with random numbers from 1 to 2. Zeros would be multiplied faster, because they take less
 * power. */
static __global__ void fill(void *data, uint64_t count, bool is_double) {
  const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const double x = 1.0 + (double)(amped_mix64(i) >> 11) * 0x1.0p-53;
    if (is_double)
      static_cast<double *>(data)[i] = x;
    else
      static_cast<float *>(data)[i] = (float)x;
  }
}

static amped_status multiply(const matrices *m, cublasComputeType_t compute, int side) {
  const float one = 1.0F;
  const float zero = 0.0F;
  const double one_f64 = 1.0;
  const double zero_f64 = 0.0;
  const bool is_double = m->type == AMPED_F64;
  const cudaDataType_t type = is_double ? CUDA_R_64F : CUDA_R_32F;
  AMPED_CUBLAS(cublasGemmEx(m->blas, CUBLAS_OP_N, CUBLAS_OP_N, side, side, side,
                            is_double ? (const void *)&one_f64 : (const void *)&one, m->data[0],
                            type, side, m->data[1], type, side,
                            is_double ? (const void *)&zero_f64 : (const void *)&zero, m->data[2],
                            type, side, compute, CUBLAS_GEMM_DEFAULT));
  return AMPED_OK;
}

/* Find the multiply-adds per second, the best of several timings. The first timing does not
 * count. */
static amped_status time_products(const matrices *m, const way *w, int side, float *milliseconds,
                                  double *per_sec) {
  for (int i = 0; i <= repeats; i++) {
    AMPED_CUDA(cudaEventRecord(m->begin, m->stream));
    AMPED_TRY(multiply(m, w->compute, side));
    AMPED_CUDA(cudaEventRecord(m->end, m->stream));
    AMPED_CUDA(cudaEventSynchronize(m->end));
    AMPED_CUDA(cudaEventElapsedTime(milliseconds, m->begin, m->end));
    const double rate = (double)side * side * side / w->products / ((double)*milliseconds * 1e-3);
    if (i > 0 && rate > *per_sec)
      *per_sec = rate;
  }
  return AMPED_OK;
}

static amped_status time_way(const matrices *m, const way *w, double *per_sec) {
  float milliseconds = 0.0F;
  for (int side = least_side; side <= most_side && milliseconds < enough_msec; side *= 2)
    AMPED_TRY(time_products(m, w, side, &milliseconds, per_sec));
  return AMPED_OK;
}

static amped_status measure(matrices *m, double *per_sec) {
  static const way floats[] = {{CUBLAS_COMPUTE_32F, 1.0}, {CUBLAS_COMPUTE_32F_FAST_TF32, 3.0}};
  static const way rough[] = {{CUBLAS_COMPUTE_32F_FAST_TF32, 1.0}};
  static const way doubles[] = {{CUBLAS_COMPUTE_64F, 1.0}};
  const bool is_double = m->type == AMPED_F64;
  for (void *data : m->data) {
    fill<<<1024, 256, 0, m->stream>>>(data, (uint64_t)most_side * most_side, is_double);
    AMPED_CUDA_LAUNCHED("matrices to multiply");
  }
  AMPED_CUDA(cudaEventCreate(&m->begin));
  AMPED_CUDA(cudaEventCreate(&m->end));
  AMPED_CUBLAS(cublasCreate(&m->blas));
  AMPED_CUBLAS(cublasSetStream(m->blas, m->stream));
  const way *ways = is_double ? doubles : m->tf32 ? rough : floats;
  for (int i = 0; i < (ways == floats ? 2 : 1); i++)
    AMPED_TRY(time_way(m, &ways[i], per_sec));
  return AMPED_OK;
}

/* Allocate the matrices; false if memory is short. Ranks that share a GPU allocate at the same
 * time, so another rank may have taken the memory. */
static bool allocate(matrices *m, uint64_t most_bytes) {
  const uint64_t bytes = (uint64_t)most_side * most_side * m->type;
  if (most_bytes < 3 * bytes)
    return false;
  for (void *&data : m->data)
    if (cudaMalloc(&data, bytes) != cudaSuccess) {
      (void)cudaGetLastError();
      return false;
    }
  return true;
}

amped_status amped_arithmetic_cuda(amped_vtype type, bool tf32, uint64_t most_bytes,
                                   cudaStream_t stream, double *per_sec) {
  matrices m = {};
  m.type = type;
  m.tf32 = tf32;
  m.stream = stream;
  *per_sec = 0.0;
  amped_status status = allocate(&m, most_bytes) ? measure(&m, per_sec) : AMPED_OK;
  (void)cudaStreamSynchronize(stream);
  if (m.blas != nullptr)
    (void)cublasDestroy(m.blas);
  if (m.begin != nullptr)
    (void)cudaEventDestroy(m.begin);
  if (m.end != nullptr)
    (void)cudaEventDestroy(m.end);
  for (void *data : m.data)
    amped_cuda_free(data);
  return status;
}
