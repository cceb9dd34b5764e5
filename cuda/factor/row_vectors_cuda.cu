/* Vectors of a rank's rows of all modes: combinations and products. */
#include "cuda/factor/row_vectors_cuda.h"

#include "cuda/device/buffers_cuda.h"
#include "cuda/device/cublas_cuda.h"
#include "cuda/device/grid_cuda.cuh"
#include "cuda/device/rank_device_cuda.h"
#include "cuda/factor/factor_set_cuda.h"

extern "C" {
#include "base/mem.h"
}

static const char what[] = "vectors of rows";

struct amped_row_vectors {
  amped_device *device;
  const amped_plan *plan;
  amped_factor_set *factors;
  int count;
  uint64_t length;                  /* doubles per vector */
  uint64_t begins[AMPED_MAX_ORDER]; /* first element of each mode's rows in a vector */
  uint64_t chunk;                   /* rows that are widened at once */
  int parts;                        /* number of partial products */
  void *d_block;                    /* memory of the next arrays */
  double *d_rows;                   /* [count][length] */
  double *d_wide;                   /* [chunk][ncomps], twice */
  double *d_matrix;                 /* [ncomps][ncomps] */
  double *d_partials;               /* [parts][ncomps][ncomps] */
  double *d_dots;                   /* [dot_blocks] */
};

namespace {

constexpr uint64_t wide_bytes = UINT64_C(32) << 20;
constexpr uint64_t part_bytes = UINT64_C(16) << 20;
constexpr uint64_t most_parts = 256;
constexpr unsigned dot_blocks = 256;

uint64_t own_rows(const amped_plan *plan, int mode) {
  return plan->modes[mode].rows.rank_rows[plan->rank];
}

uint64_t area_of(const amped_plan *plan) {
  return (uint64_t)plan->ncomps * (uint64_t)plan->ncomps;
}

uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Returns the sizes, without device memory. */
amped_row_vectors sized(const amped_plan *plan, int count) {
  amped_row_vectors v = {};
  const uint64_t n = (uint64_t)plan->ncomps;
  uint64_t most = 1;
  v.plan = plan;
  v.count = count;
  for (int m = 0; m < plan->order; m++) {
    v.begins[m] = v.length;
    v.length += own_rows(plan, m) * n;
    most = own_rows(plan, m) > most ? own_rows(plan, m) : most;
  }
  v.chunk = least(most, wide_bytes / (n * sizeof(double)));
  v.parts = (int)least(most_parts, part_bytes / (area_of(plan) * sizeof(double)));
  v.parts = v.parts > 0 ? v.parts : 1;
  return v;
}

amped_buffers buffers(amped_row_vectors *v) {
  amped_buffers b = {};
  const uint64_t n = (uint64_t)v->plan->ncomps;
  b.what = what;
  AMPED_BUFFER_OF(&b, ARENA, v->d_block, 0, 1);
  AMPED_BUFFER(&b, PART, v->d_rows, (uint64_t)v->count * v->length);
  AMPED_BUFFER(&b, PART, v->d_wide, 2 * v->chunk * n);
  AMPED_BUFFER(&b, PART, v->d_matrix, n * n);
  AMPED_BUFFER(&b, PART, v->d_partials, (uint64_t)v->parts * n * n);
  AMPED_BUFFER(&b, PART, v->d_dots, dot_blocks);
  return b;
}

void vectors_require(const amped_device *, const amped_plan *plan, int count,
                     uint64_t *device_bytes, uint64_t *host_bytes) {
  amped_row_vectors v = sized(plan, count);
  amped_buffers_require(buffers(&v), device_bytes, host_bytes);
}

void vectors_destroy(amped_row_vectors *v) {
  if (v == nullptr)
    return;
  amped_buffers_cuda_free(buffers(v));
  amped_free(v);
}

amped_status wait_for(const amped_row_vectors *v) {
  AMPED_CUDA(cudaStreamSynchronize(v->device->stream_dense));
  return AMPED_OK;
}

amped_status allocate(amped_row_vectors *v) {
  AMPED_TRY(amped_buffers_cuda_allocate(buffers(v)));
  AMPED_CUDA(cudaMemsetAsync(v->d_rows, 0, (uint64_t)v->count * v->length * sizeof(double),
                             v->device->stream_dense));
  return wait_for(v);
}

amped_status vectors_create(amped_device *device, amped_factor_set *factors, const amped_plan *plan,
                            int count, amped_row_vectors **out) {
  amped_row_vectors *v = nullptr;
  *out = nullptr;
  AMPED_TRY(amped_calloc(&v, 1, sizeof *v, what));
  *v = sized(plan, count);
  v->device = device;
  v->factors = factors;
  const amped_status status = allocate(v);
  if (status == AMPED_OK)
    *out = v;
  else
    vectors_destroy(v);
  return status;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* to = old * to + by * from. Rows of `from` have ld elements, rows of `to` ncomps. */
template <typename T>
__global__ void add_rows(const T *from, uint64_t ld, uint64_t rows, uint64_t ncomps, double by,
                         double old, double *to) {
  for (uint64_t e = thread_number(); e < rows * ncomps; e += grid_threads()) {
    const double x = by * (double)from[e / ncomps * ld + e % ncomps];
    to[e] = old == 0.0 ? x : old * to[e] + x;
  }
}

template <typename T>
__global__ void put_rows(const double *from, uint64_t rows, uint64_t ld, uint64_t ncomps, T *to) {
  for (uint64_t e = thread_number(); e < rows * ncomps; e += grid_threads())
    to[e / ncomps * ld + e % ncomps] = (T)from[e];
}

/* Rows of a mode of one vector. */
struct rows_of {
  const void *d_rows;
  bool is_float;
  uint64_t ld;
};

rows_of rows_at(const amped_row_vectors *v, int mode, int vector) {
  const amped_plan *plan = v->plan;
  const uint64_t begin =
      (uint64_t)plan->rank * plan->modes[mode].rows.block_rows * amped_plan_row_bytes(plan);
  const bool is_float = plan->value_type == AMPED_F32;
  if (vector == AMPED_ROWS_FACTOR)
    return {.d_rows =
                static_cast<const char *>(amped_factor_set_cuda_rows(v->factors, mode)) + begin,
            .is_float = is_float,
            .ld = plan->ld};
  if (vector == AMPED_ROWS_OUTPUT)
    return {
        .d_rows = amped_factor_set_cuda_output(v->factors), .is_float = is_float, .ld = plan->ld};
  return {.d_rows = v->d_rows + (uint64_t)vector * v->length + v->begins[mode],
          .is_float = false,
          .ld = (uint64_t)plan->ncomps};
}

amped_status add(const amped_row_vectors *v, const rows_of *from, uint64_t first, uint64_t count,
                 double by, double old, double *d_to) {
  const uint64_t n = (uint64_t)v->plan->ncomps;
  const uint64_t at = first * from->ld;
  cudaStream_t stream = v->device->stream_dense;
  if (from->is_float)
    add_rows<<<blocks_for(count * n), block_threads, 0, stream>>>(
        static_cast<const float *>(from->d_rows) + at, from->ld, count, n, by, old, d_to);
  else
    add_rows<<<blocks_for(count * n), block_threads, 0, stream>>>(
        static_cast<const double *>(from->d_rows) + at, from->ld, count, n, by, old, d_to);
  AMPED_CUDA_LAUNCHED("the kernel that adds rows");
  return AMPED_OK;
}

/* *d_rows = `count` rows from `first` on, as doubles without padding: the rows themselves, or a
 * copy in d_room. */
amped_status get(const amped_row_vectors *v, const rows_of *from, uint64_t first, uint64_t count,
                 double *d_room, const double **d_rows) {
  const uint64_t n = (uint64_t)v->plan->ncomps;
  *d_rows = d_room;
  if (from->is_float || from->ld != n)
    return add(v, from, first, count, 1.0, 0.0, d_room);
  *d_rows = static_cast<const double *>(from->d_rows) + first * n;
  return AMPED_OK;
}

/* --- combinations ----------------------------------------------------------------------------- */

amped_status add_term(amped_row_vectors *v, int mode, const amped_row_term *t, uint64_t first,
                      uint64_t count, double old, double *d_to) {
  const int n = v->plan->ncomps;
  const rows_of from = rows_at(v, mode, t->vector);
  const double *d_rows = nullptr;
  if (t->matrix == nullptr)
    return add(v, &from, first, count, t->by, old, d_to);
  AMPED_TRY(get(v, &from, first, count, v->d_wide, &d_rows));
  AMPED_CUDA(cudaMemcpyAsync(v->d_matrix, t->matrix, area_of(v->plan) * sizeof(double),
                             cudaMemcpyHostToDevice, v->device->stream_dense));
  AMPED_CUBLAS(cublasDgemm(v->device->blas, CUBLAS_OP_N, CUBLAS_OP_N, n, (int)count, n, &t->by,
                           v->d_matrix, n, d_rows, n, &old, d_to, n));
  return AMPED_OK;
}

/* Compute rows of the sum of the terms in d_to. If the first term is the vector `to` itself, its
 * rows are in d_to already, and are only scaled. */
amped_status add_terms(amped_row_vectors *v, int mode, int to, const amped_row_term *terms,
                       int count, uint64_t first, uint64_t rows, double *d_to) {
  double old = 0.0;
  if (count == 0)
    AMPED_CUDA(cudaMemsetAsync(d_to, 0, rows * (uint64_t)v->plan->ncomps * sizeof(double),
                               v->device->stream_dense));
  for (int k = 0; k < count; k++) {
    const bool is_there = k == 0 && terms[0].vector == to && to != AMPED_ROWS_FACTOR;
    if (is_there)
      old = terms[0].by;
    else
      AMPED_TRY(add_term(v, mode, &terms[k], first, rows, old, d_to));
    if (!is_there)
      old = 1.0;
    else if (count == 1) /* the only term, which is scaled */
      AMPED_TRY(add_term(v, mode, &terms[0], first, rows, 0.0, d_to));
  }
  return AMPED_OK;
}

amped_status put(amped_row_vectors *v, int mode, uint64_t first, uint64_t rows,
                 const double *d_from, void *d_factor) {
  const amped_plan *plan = v->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t at = ((uint64_t)plan->rank * plan->modes[mode].rows.block_rows + first) * plan->ld;
  cudaStream_t stream = v->device->stream_dense;
  if (plan->value_type == AMPED_F32)
    put_rows<<<blocks_for(rows * n), block_threads, 0, stream>>>(
        d_from, rows, plan->ld, n, static_cast<float *>(d_factor) + at);
  else
    put_rows<<<blocks_for(rows * n), block_threads, 0, stream>>>(
        d_from, rows, plan->ld, n, static_cast<double *>(d_factor) + at);
  AMPED_CUDA_LAUNCHED("the kernel that stores rows");
  return AMPED_OK;
}

amped_status vectors_combine(amped_row_vectors *v, int mode, int to, const amped_row_term *terms,
                             int count) {
  const uint64_t rows = own_rows(v->plan, mode);
  const uint64_t n = (uint64_t)v->plan->ncomps;
  void *const d_factor =
      to == AMPED_ROWS_FACTOR ? amped_factor_set_cuda.rows(v->factors, mode) : nullptr;
  for (uint64_t first = 0; first < rows; first += v->chunk) {
    const uint64_t some = least(v->chunk, rows - first);
    double *const d_to = to == AMPED_ROWS_FACTOR
                             ? v->d_wide + v->chunk * n
                             : v->d_rows + (uint64_t)to * v->length + v->begins[mode] + first * n;
    AMPED_TRY(add_terms(v, mode, to, terms, count, first, some, d_to));
    if (d_factor != nullptr)
      AMPED_TRY(put(v, mode, first, some, d_to, d_factor));
  }
  return wait_for(v);
}

/* --- products --------------------------------------------------------------------------------- */

__global__ void add_up(const double *partials, unsigned count, uint64_t elements, double *sums) {
  for (uint64_t e = thread_number(); e < elements; e += grid_threads()) {
    double sum = 0.0;
    for (unsigned k = 0; k < count; k++)
      sum += partials[k * elements + e];
    sums[e] = sum;
  }
}

/* Add a product of tall, thin matrices. Such a product is one tile, which only one multiprocessor
 * would compute. Rows are therefore cut into slabs with a partial product each. Rows left over are
 * added to the first partial product. */
amped_status add_products(amped_row_vectors *v, const double *d_a, const double *d_b,
                          uint64_t rows) {
  const int n = v->plan->ncomps;
  const double one = 1.0;
  const uint64_t slab = rows / (uint64_t)v->parts;
  const uint64_t done = slab * (uint64_t)v->parts;
  const long long step = (long long)slab * n;
  if (slab > 0)
    AMPED_CUBLAS(cublasDgemmStridedBatched(v->device->blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n,
                                           (int)slab, &one, d_b, n, step, d_a, n, step, &one,
                                           v->d_partials, n, (long long)n * n, v->parts));
  if (done < rows)
    AMPED_CUBLAS(cublasDgemm(v->device->blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, (int)(rows - done),
                             &one, d_b + done * (uint64_t)n, n, d_a + done * (uint64_t)n, n, &one,
                             v->d_partials, n));
  return AMPED_OK;
}

amped_status vectors_cross(amped_row_vectors *v, int mode, int a, int b, double *product) {
  const uint64_t rows = own_rows(v->plan, mode);
  const uint64_t n = (uint64_t)v->plan->ncomps;
  const uint64_t bytes = n * n * sizeof(double);
  const rows_of left = rows_at(v, mode, a);
  const rows_of right = rows_at(v, mode, b);
  cudaStream_t stream = v->device->stream_dense;
  AMPED_CUDA(cudaMemsetAsync(v->d_partials, 0, (uint64_t)v->parts * bytes, stream));
  for (uint64_t first = 0; first < rows; first += v->chunk) {
    const uint64_t some = least(v->chunk, rows - first);
    const double *d_a = nullptr;
    const double *d_b = nullptr;
    AMPED_TRY(get(v, &left, first, some, v->d_wide, &d_a));
    AMPED_TRY(get(v, &right, first, some, v->d_wide + v->chunk * n, &d_b));
    AMPED_TRY(add_products(v, d_a, d_b, some));
  }
  add_up<<<blocks_for(n * n), block_threads, 0, stream>>>(v->d_partials, (unsigned)v->parts, n * n,
                                                          v->d_matrix);
  AMPED_CUDA_LAUNCHED("the kernel that adds up products");
  AMPED_CUDA(cudaMemcpyAsync(product, v->d_matrix, bytes, cudaMemcpyDeviceToHost, stream));
  return wait_for(v);
}

__global__ void add_dots(const double *a, const double *b, uint64_t count, double *sums) {
  __shared__ double parts[block_threads];
  double sum = 0.0;
  for (uint64_t i = thread_number(); i < count; i += grid_threads())
    sum += a[i] * b[i];
  parts[threadIdx.x] = sum;
  for (unsigned half = block_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = parts[0];
}

amped_status vectors_dot(amped_row_vectors *v, int a, int b, double *sum) {
  double sums[dot_blocks];
  cudaStream_t stream = v->device->stream_dense;
  add_dots<<<dot_blocks, block_threads, 0, stream>>>(v->d_rows + (uint64_t)a * v->length,
                                                     v->d_rows + (uint64_t)b * v->length, v->length,
                                                     v->d_dots);
  AMPED_CUDA_LAUNCHED("the kernel of a product of vectors");
  AMPED_CUDA(cudaMemcpyAsync(sums, v->d_dots, sizeof sums, cudaMemcpyDeviceToHost, stream));
  AMPED_TRY(wait_for(v));
  for (unsigned k = 0; k < dot_blocks; k++)
    *sum += sums[k];
  return AMPED_OK;
}

} // namespace

const amped_row_vector_ops amped_row_vectors_cuda = {
    .require = vectors_require,
    .create = vectors_create,
    .destroy = vectors_destroy,
    .combine = vectors_combine,
    .cross = vectors_cross,
    .dot = vectors_dot,
};
