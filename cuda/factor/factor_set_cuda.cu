/* The factors of one rank in device memory, and the operations on them. */
#include "cuda/factor/factor_set_cuda.h"

#include <cassert>

#include "base/random.h"
#include "cuda/device/rank_device_cuda.h"
#include "cuda/factor/row_algebra_cuda.h"

extern "C" {
#include "base/mem.h"
}

namespace {

/* Arguments of fill_random_rows: the iDps of a mode, of which a rank fills its own. A warp works on
 * one iDp at a time. */
struct random_rows {
  uint64_t idps;
  uint64_t width;
  uint64_t dim;
  int rank;
  const int *owner;
  const uint64_t *position;
  unsigned ncomps;
  uint64_t ld;
  uint64_t seed;
  uint64_t mode;
};

template <typename T> __global__ void fill_random_rows(const random_rows r, T *factor) {
  const uint64_t warps = (uint64_t)gridDim.x * (blockDim.x / 32);
  const uint64_t warp = (uint64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  for (uint64_t i = warp; i < r.idps; i += warps) {
    if (r.owner[i] != r.rank)
      continue;
    const uint64_t first = i * r.width;
    const uint64_t count = r.dim - first < r.width ? r.dim - first : r.width;
    for (uint64_t e = threadIdx.x % 32; e < count * r.ncomps; e += 32)
      factor[(r.position[i] + e / r.ncomps) * r.ld + e % r.ncomps] =
          (T)amped_random_double(r.seed, r.mode, first * r.ncomps + e);
  }
}

} // namespace

struct amped_factor_set {
  amped_device *device;
  const amped_plan *plan;
  amped_dense_cuda dense;
  void *d_factors[AMPED_MAX_ORDER];
  void *d_output;
  uint64_t clock;                     /* counts the changes of all modes */
  uint64_t versions[AMPED_MAX_ORDER]; /* amped_factor_ops.version */
};

/* Record that mode's factor is about to change. */
static void change(amped_factor_set *f, int mode) {
  f->versions[mode] = ++f->clock;
}

static uint64_t own_rows(const amped_factor_set *f, int mode) {
  return f->plan->modes[mode].rows.rank_rows[f->plan->rank];
}

static void *row_at(void *d_rows, const amped_plan *plan, uint64_t row) {
  return (char *)d_rows + row * amped_plan_row_bytes(plan);
}

/* Returns the first of this rank's own rows of mode's factor. */
static void *own_block(const amped_factor_set *f, int mode) {
  const amped_plan *plan = f->plan;
  return row_at(f->d_factors[mode], plan, (uint64_t)plan->rank * plan->modes[mode].rows.block_rows);
}

static void require(const amped_device *, const amped_plan *plan, uint64_t *device_bytes,
                    uint64_t *host_bytes) {
  *device_bytes = amped_plan_factor_bytes(plan) + amped_dense_cuda_bytes(plan);
  *host_bytes = 0;
}

static amped_status zero_factors(amped_factor_set *f) {
  const amped_plan *plan = f->plan;
  for (int m = 0; m < plan->order; m++) {
    change(f, m);
    AMPED_CUDA(cudaMemsetAsync(f->d_factors[m], 0,
                               amped_plan_factor_rows(plan, m) * amped_plan_row_bytes(plan),
                               f->device->stream));
  }
  return AMPED_OK;
}

static amped_status create_factors(amped_factor_set *f) {
  const amped_plan *plan = f->plan;
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(amped_cuda_malloc_pages(&f->d_factors[m],
                                      amped_plan_factor_rows(plan, m) * amped_plan_row_bytes(plan),
                                      "a factor"));
  AMPED_TRY(zero_factors(f));
  uint64_t bytes = amped_plan_output_rows(plan) * amped_plan_row_bytes(plan);
  AMPED_TRY(amped_cuda_malloc(&f->d_output, bytes, "the MTTKRP result"));
  AMPED_CUDA(cudaMemsetAsync(f->d_output, 0, bytes, f->device->stream));
  AMPED_CUDA(cudaStreamSynchronize(f->device->stream));
  return AMPED_OK;
}

static void destroy(amped_factor_set *f) {
  if (f == nullptr)
    return;
  (void)cudaStreamSynchronize(f->device->stream);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_cuda_free(f->d_factors[m]);
  amped_cuda_free(f->d_output);
  amped_dense_cuda_destroy(&f->dense);
  amped_free(f);
}

static amped_status allocate(amped_factor_set *f) {
  AMPED_TRY(create_factors(f));
  AMPED_TRY(amped_dense_cuda_create(&f->dense, f->device));
  return amped_dense_cuda_prepare(&f->dense, f->plan);
}

static amped_status create(amped_device *device, const amped_plan *plan, amped_factor_set **out) {
  amped_factor_set *f = nullptr;
  *out = nullptr;
  AMPED_TRY(amped_calloc(&f, 1, sizeof *f, "the factors"));
  f->device = device;
  f->plan = plan;
  amped_status status = allocate(f);
  if (status == AMPED_OK)
    *out = f;
  else
    destroy(f);
  return status;
}

static amped_status resize(amped_factor_set *f) {
  AMPED_TRY(zero_factors(f));
  AMPED_CUDA(cudaStreamSynchronize(f->device->stream));
  return amped_dense_cuda_prepare(&f->dense, f->plan);
}

static amped_status put_rows(amped_factor_set *f, int mode, uint64_t position, uint64_t count,
                             const double *rows) {
  assert(position + count <= amped_plan_factor_rows(f->plan, mode));
  change(f, mode);
  return amped_dense_cuda_put(&f->dense, row_at(f->d_factors[mode], f->plan, position), count,
                              rows);
}

static amped_status get_rows(amped_factor_set *f, int mode, uint64_t position, uint64_t count,
                             double *rows) {
  assert(position + count <= amped_plan_factor_rows(f->plan, mode));
  return amped_dense_cuda_get(&f->dense, row_at(f->d_factors[mode], f->plan, position), count,
                              rows);
}

static amped_status launch_random(amped_factor_set *f, int mode, uint64_t seed, char *d_tables) {
  const amped_plan *plan = f->plan;
  const amped_row_plan *rows = &plan->modes[mode].rows;
  const cudaStream_t stream = f->device->stream_dense;
  const uint64_t idps = rows->idp_count;
  random_rows r = {idps, rows->width, rows->dim, plan->rank};
  r.position = (const uint64_t *)d_tables;
  r.owner = (const int *)(d_tables + idps * sizeof *rows->position);
  r.ncomps = (unsigned)plan->ncomps;
  r.ld = plan->ld;
  r.seed = seed;
  r.mode = (uint64_t)mode;
  AMPED_CUDA(cudaMemcpyAsync((void *)r.position, rows->position, idps * sizeof *rows->position,
                             cudaMemcpyHostToDevice, stream));
  AMPED_CUDA(cudaMemcpyAsync((void *)r.owner, rows->owner, idps * sizeof *rows->owner,
                             cudaMemcpyHostToDevice, stream));
  if (plan->value_type == AMPED_F32)
    fill_random_rows<<<1024, 256, 0, stream>>>(r, static_cast<float *>(f->d_factors[mode]));
  else
    fill_random_rows<<<1024, 256, 0, stream>>>(r, static_cast<double *>(f->d_factors[mode]));
  AMPED_CUDA_LAUNCHED("the kernel of random rows");
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

static amped_status fill_random(amped_factor_set *f, int mode, uint64_t seed) {
  const amped_row_plan *rows = &f->plan->modes[mode].rows;
  void *d_tables = nullptr;
  change(f, mode);
  AMPED_TRY(amped_cuda_malloc(&d_tables,
                              rows->idp_count * (sizeof *rows->position + sizeof *rows->owner),
                              "the plan's tables"));
  amped_status status = launch_random(f, mode, seed, static_cast<char *>(d_tables));
  amped_cuda_free(d_tables);
  return status;
}

static amped_status get_output(amped_factor_set *f, int mode, uint64_t row, uint64_t count,
                               double *rows) {
  assert(row + count <= f->plan->modes[mode].copy.output_rows);
  (void)mode;
  return amped_dense_cuda_get(&f->dense, row_at(f->d_output, f->plan, row), count, rows);
}

static amped_status put_output(amped_factor_set *f, int mode, uint64_t row, uint64_t count,
                               const double *rows) {
  assert(row + count <= f->plan->modes[mode].copy.output_rows);
  (void)mode;
  return amped_dense_cuda_put(&f->dense, row_at(f->d_output, f->plan, row), count, rows);
}

static amped_status solve(amped_factor_set *f, int mode, uint64_t first, uint64_t end,
                          const double *p, const double *keep, amped_row_sums *sums) {
  change(f, mode);
  return amped_dense_cuda_solve(&f->dense, row_at(f->d_output, f->plan, first), end - first, p,
                                keep, row_at(own_block(f, mode), f->plan, first), sums);
}

static amped_status descend(amped_factor_set *f, int mode, uint64_t first, uint64_t end,
                            const amped_row_descent *descent, amped_row_sums *sums) {
  change(f, mode);
  return amped_dense_cuda_descend(&f->dense, row_at(f->d_output, f->plan, first), end - first,
                                  descent, row_at(own_block(f, mode), f->plan, first), sums);
}

static amped_status multiply(amped_factor_set *f, int mode, uint64_t first, uint64_t end,
                             const amped_row_product *product, amped_row_product_sums *sums) {
  if (!product->measures)
    change(f, mode);
  return amped_dense_cuda_multiply(&f->dense, row_at(f->d_output, f->plan, first), end - first,
                                   product, row_at(own_block(f, mode), f->plan, first), sums);
}

static amped_status absolute(amped_factor_set *f, int mode, double *sums) {
  return amped_dense_cuda_absolute(&f->dense, own_block(f, mode), own_rows(f, mode), sums);
}

static amped_status gram(amped_factor_set *f, int mode, double *out) {
  return amped_dense_cuda_gram(&f->dense, own_block(f, mode), own_rows(f, mode), out);
}

static amped_status scale(amped_factor_set *f, int mode, uint64_t position, uint64_t count,
                          const double *by) {
  assert(position + count <= amped_plan_factor_rows(f->plan, mode));
  change(f, mode);
  return amped_dense_cuda_scale(&f->dense, row_at(f->d_factors[mode], f->plan, position), count,
                                by);
}

static void *rows(amped_factor_set *f, int mode) {
  change(f, mode);
  return f->d_factors[mode];
}

static uint64_t version(const amped_factor_set *f, int mode) {
  return f->versions[mode];
}

amped_status amped_stage_cuda(const amped_device *device, void *d_in, const void *d_out,
                              const amped_host_copy *copies, int count) {
  for (int i = 0; i < count; i++) {
    const amped_host_copy *c = &copies[i];
    if (c->in)
      AMPED_CUDA(cudaMemcpyAsync(static_cast<char *>(d_in) + c->offset, c->host, c->bytes,
                                 cudaMemcpyHostToDevice, device->stream_in));
    else
      AMPED_CUDA(cudaMemcpyAsync(c->host, static_cast<const char *>(d_out) + c->offset, c->bytes,
                                 cudaMemcpyDeviceToHost, device->stream_out));
  }
  AMPED_CUDA(cudaStreamSynchronize(device->stream_out));
  AMPED_CUDA(cudaStreamSynchronize(device->stream_in));
  return AMPED_OK;
}

static amped_status stage(amped_factor_set *f, int mode, const amped_host_copy *copies, int count) {
  change(f, mode);
  return amped_stage_cuda(f->device, f->d_factors[mode], f->d_factors[mode], copies, count);
}

void *amped_factor_set_cuda_rows(const amped_factor_set *f, int mode) {
  return f->d_factors[mode];
}

void *amped_factor_set_cuda_output(const amped_factor_set *f) {
  return f->d_output;
}

const amped_factor_ops amped_factor_set_cuda = {
    .require = require,
    .create = create,
    .destroy = destroy,
    .resize = resize,
    .put_rows = put_rows,
    .get_rows = get_rows,
    .fill_random = fill_random,
    .get_output = get_output,
    .put_output = put_output,
    .solve = solve,
    .descend = descend,
    .multiply = multiply,
    .absolute = absolute,
    .gram = gram,
    .scale = scale,
    .rows = rows,
    .version = version,
    .stage = stage,
};
