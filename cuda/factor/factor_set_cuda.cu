/* The factors of one rank in device memory, and the operations on them. */
#include "cuda/factor/factor_set_cuda.h"

#include <cassert>

#include "base/random.h"
#include "cuda/device/rank_device_cuda.h"
#include "cuda/factor/columns_cuda.h"
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
  amped_factor_set *of; /* the set whose memory a view uses; else NULL */
  uint64_t first, ld;   /* first column; elements from row to row */
  void *d_room;         /* workspace of all views: rows of their own, twice */
  uint64_t room_bytes;  /* bytes of both halves */
  amped_dense_cuda dense;
  void *d_factors[AMPED_MAX_ORDER];
  void *d_output;
  uint64_t clock;                     /* counts the changes of all modes */
  uint64_t versions[AMPED_MAX_ORDER]; /* amped_factor_ops.version */
};

/* Record that mode's factor is about to change. */
static void change(amped_factor_set *f, int mode) {
  amped_factor_set *const owner = f->of != nullptr ? f->of : f;
  owner->versions[mode] = ++owner->clock;
}

static uint64_t own_rows(const amped_factor_set *f, int mode) {
  return f->plan->modes[mode].rows.rank_rows[f->plan->rank];
}

/* --- views ------------------------------------------------------------------------------------
 *
 * Kernels of short rows that solve, and sum grams, work in place on a view's columns. Else a
 * view's columns are copied to rows of their own, on which all kernels work as on a set's rows, and
 * back. */

enum { FACTOR_ROOM, OUTPUT_ROOM };

/* Returns the bytes of half the views' workspace: the rows of a rank's largest block. */
static uint64_t half_bytes(const amped_plan *plan) {
  uint64_t rows = 1;
  for (int m = 0; m < plan->order; m++)
    if (plan->modes[m].rows.block_rows > rows)
      rows = plan->modes[m].rows.block_rows;
  return rows * amped_plan_row_bytes(plan);
}

/* Rows that a view works on at a time. */
static uint64_t piece_rows(const amped_factor_set *f, uint64_t left) {
  const uint64_t room = half_bytes(f->plan) / amped_plan_row_bytes(f->plan);
  return f->of == nullptr || left < room ? left : room;
}

static void *column_at(const amped_factor_set *f, void *d_all, uint64_t row) {
  return (char *)d_all + (row * f->ld + f->first) * f->plan->value_type;
}

/* True if solve and gram work on rows in place. */
static bool is_in_place(const amped_factor_set *f) {
  return f->of == nullptr || f->dense.is_short;
}

static uint64_t stride_of(const amped_factor_set *f) {
  return f->of == nullptr ? 0 : f->ld;
}

/* *d_rows = rows `row` .. row + count of d_all. A view gets a copy of its columns, or zeros
 * unless it reads them. */
static amped_status take_rows(const amped_factor_set *f, int room, void *d_all, uint64_t row,
                              uint64_t count, bool reads, void **d_rows) {
  const amped_plan *plan = f->plan;
  const cudaStream_t stream = f->device->stream_dense;
  *d_rows = column_at(f, d_all, row);
  if (f->of == nullptr)
    return AMPED_OK;
  *d_rows = (char *)f->of->d_room + (room == OUTPUT_ROOM ? f->of->room_bytes / 2 : 0);
  if (!reads)
    AMPED_CUDA(cudaMemsetAsync(*d_rows, 0, count * amped_plan_row_bytes(plan), stream));
  return reads ? amped_columns_cuda_copy(plan->value_type, count, plan->ncomps,
                                         column_at(f, d_all, row), f->ld, *d_rows, plan->ld,
                                         (int)plan->ld, stream)
               : AMPED_OK;
}

/* Store new rows that take_rows gave. */
static amped_status store_rows(const amped_factor_set *f, void *d_all, uint64_t row, uint64_t count,
                               const void *d_rows) {
  const amped_plan *plan = f->plan;
  const cudaStream_t stream = f->device->stream_dense;
  if (f->of == nullptr)
    return AMPED_OK;
  AMPED_TRY(amped_columns_cuda_copy(plan->value_type, count, plan->ncomps, d_rows, plan->ld,
                                    column_at(f, d_all, row), f->ld, plan->ncomps, stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

/* Returns the position of the first of this rank's own rows of mode's factor. */
static uint64_t own_position(const amped_factor_set *f, int mode) {
  return (uint64_t)f->plan->rank * f->plan->modes[mode].rows.block_rows;
}

/* The plan's tables of a mode's rows, which fill_random has on the device. */
static uint64_t table_bytes(const amped_row_plan *rows) {
  return rows->idp_count * (sizeof *rows->position + sizeof *rows->owner);
}

static void require(const amped_device *, const amped_plan *plan, uint64_t *device_bytes,
                    uint64_t *host_bytes) {
  uint64_t tables = 0;
  for (int m = 0; m < plan->order; m++)
    tables =
        table_bytes(&plan->modes[m].rows) > tables ? table_bytes(&plan->modes[m].rows) : tables;
  *device_bytes = amped_plan_factor_bytes(plan) + amped_dense_cuda_bytes(plan) + tables;
  *host_bytes = 0;
}

static void require_view(const amped_device *, const amped_plan *plan, uint64_t *device_bytes,
                         uint64_t *) {
  *device_bytes += 2 * half_bytes(plan);
}

static amped_status zero_factors(amped_factor_set *f) {
  const amped_plan *plan = f->plan;
  f->ld = plan->ld;
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
  for (int m = 0; m < AMPED_MAX_ORDER && f->of == nullptr; m++)
    amped_cuda_free(f->d_factors[m]);
  if (f->of == nullptr) {
    amped_cuda_free(f->d_output);
    amped_cuda_free(f->d_room);
    amped_dense_cuda_destroy(&f->dense);
  }
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

static void place(amped_factor_set *f, int first) {
  f->first = (uint64_t)first;
  f->ld = f->of->plan->ld;
  amped_dense_cuda_borrow(&f->dense, &f->of->dense, f->plan);
}

/* Make the views' workspace large enough for this view. */
static amped_status widen_room(amped_factor_set *of, const amped_plan *plan) {
  const uint64_t bytes = 2 * half_bytes(plan);
  if (bytes <= of->room_bytes)
    return AMPED_OK;
  amped_cuda_free(of->d_room);
  of->d_room = nullptr;
  of->room_bytes = 0;
  AMPED_TRY(amped_cuda_malloc(&of->d_room, bytes, "rows of models side by side"));
  of->room_bytes = bytes;
  return AMPED_OK;
}

static amped_status view(amped_factor_set *of, const amped_plan *plan, int first,
                         amped_factor_set **out) {
  *out = nullptr;
  AMPED_TRY(widen_room(of, plan));
  AMPED_TRY(amped_calloc(out, 1, sizeof **out, "the factors"));
  **out = *of;
  (*out)->plan = plan;
  (*out)->of = of;
  place(*out, first);
  return AMPED_OK;
}

/* Copy doubles to rows of d_all. */
static amped_status put(amped_factor_set *f, void *d_all, uint64_t row, uint64_t count,
                        const double *rows) {
  void *d_rows = nullptr;
  for (uint64_t done = 0, n = 0; done < count; done += n) {
    n = piece_rows(f, count - done);
    AMPED_TRY(take_rows(f, FACTOR_ROOM, d_all, row + done, n, false, &d_rows));
    AMPED_TRY(amped_dense_cuda_put(&f->dense, d_rows, n, rows + done * (uint64_t)f->plan->ncomps));
    AMPED_TRY(store_rows(f, d_all, row + done, n, d_rows));
  }
  return AMPED_OK;
}

/* Copy rows of d_all to doubles. */
static amped_status get(amped_factor_set *f, void *d_all, uint64_t row, uint64_t count,
                        double *rows) {
  void *d_rows = nullptr;
  for (uint64_t done = 0, n = 0; done < count; done += n) {
    n = piece_rows(f, count - done);
    AMPED_TRY(take_rows(f, FACTOR_ROOM, d_all, row + done, n, true, &d_rows));
    AMPED_TRY(amped_dense_cuda_get(&f->dense, d_rows, n, rows + done * (uint64_t)f->plan->ncomps));
  }
  return AMPED_OK;
}

static amped_status put_rows(amped_factor_set *f, int mode, uint64_t position, uint64_t count,
                             const double *rows) {
  assert(position + count <= amped_plan_factor_rows(f->plan, mode));
  change(f, mode);
  return put(f, f->d_factors[mode], position, count, rows);
}

static amped_status get_rows(amped_factor_set *f, int mode, uint64_t position, uint64_t count,
                             double *rows) {
  assert(position + count <= amped_plan_factor_rows(f->plan, mode));
  return get(f, f->d_factors[mode], position, count, rows);
}

static amped_status get_rows_at(amped_factor_set *f, int mode, uint64_t count,
                                const uint64_t *positions, double *rows) {
  return amped_dense_cuda_get_at(&f->dense, column_at(f, f->d_factors[mode], 0), f->ld, count,
                                 positions, rows);
}

static amped_status models_at(amped_factor_set *f, uint64_t count, const uint64_t *const *positions,
                              const double *const *instead, bool biased, double *models) {
  amped_model_rows_cuda rows = {};
  rows.order = f->plan->order;
  rows.ld = f->ld;
  rows.biased = biased;
  for (int m = 0; m < rows.order; m++)
    rows.factors[m] = column_at(f, f->d_factors[m], 0);
  return amped_dense_cuda_models_at(&f->dense, &rows, count, positions, instead, models);
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
  r.ld = f->ld;
  r.seed = seed;
  r.mode = (uint64_t)mode;
  AMPED_CUDA(cudaMemcpyAsync((void *)r.position, rows->position, idps * sizeof *rows->position,
                             cudaMemcpyHostToDevice, stream));
  AMPED_CUDA(cudaMemcpyAsync((void *)r.owner, rows->owner, idps * sizeof *rows->owner,
                             cudaMemcpyHostToDevice, stream));
  if (plan->value_type == AMPED_F32)
    fill_random_rows<<<1024, 256, 0, stream>>>(
        r, static_cast<float *>(column_at(f, f->d_factors[mode], 0)));
  else
    fill_random_rows<<<1024, 256, 0, stream>>>(
        r, static_cast<double *>(column_at(f, f->d_factors[mode], 0)));
  AMPED_CUDA_LAUNCHED("the kernel of random rows");
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

static amped_status fill_random(amped_factor_set *f, int mode, uint64_t seed) {
  const amped_row_plan *rows = &f->plan->modes[mode].rows;
  void *d_tables = nullptr;
  change(f, mode);
  AMPED_TRY(amped_cuda_malloc(&d_tables, table_bytes(rows), "the plan's tables"));
  amped_status status = launch_random(f, mode, seed, static_cast<char *>(d_tables));
  amped_cuda_free(d_tables);
  return status;
}

static amped_status get_output(amped_factor_set *f, int mode, uint64_t row, uint64_t count,
                               double *rows) {
  assert(row + count <= f->plan->modes[mode].copy.output_rows);
  (void)mode;
  return get(f, f->d_output, row, count, rows);
}

static amped_status put_output(amped_factor_set *f, int mode, uint64_t row, uint64_t count,
                               const double *rows) {
  assert(row + count <= f->plan->modes[mode].copy.output_rows);
  (void)mode;
  return put(f, f->d_output, row, count, rows);
}

static amped_status solve(amped_factor_set *f, int mode, uint64_t first, uint64_t end,
                          const double *p, const double *keep, amped_row_sums *sums) {
  void *const d_factor = f->d_factors[mode];
  const uint64_t position = own_position(f, mode) + first;
  const uint64_t count = end - first;
  void *d_output = nullptr;
  void *d_rows = nullptr;
  change(f, mode);
  if (is_in_place(f))
    return amped_dense_cuda_solve(&f->dense, stride_of(f), column_at(f, f->d_output, first), count,
                                  p, keep, column_at(f, d_factor, position), sums);
  AMPED_TRY(take_rows(f, OUTPUT_ROOM, f->d_output, first, count, true, &d_output));
  AMPED_TRY(take_rows(f, FACTOR_ROOM, d_factor, position, count, keep != nullptr, &d_rows));
  AMPED_TRY(amped_dense_cuda_solve(&f->dense, 0, d_output, count, p, keep, d_rows, sums));
  return store_rows(f, d_factor, position, count, d_rows);
}

static amped_status descend(amped_factor_set *f, int mode, uint64_t first, uint64_t end,
                            const amped_row_descent *descent, amped_row_sums *sums) {
  void *const d_factor = f->d_factors[mode];
  const uint64_t position = own_position(f, mode) + first;
  const uint64_t count = end - first;
  void *d_output = nullptr;
  void *d_rows = nullptr;
  change(f, mode);
  AMPED_TRY(take_rows(f, OUTPUT_ROOM, f->d_output, first, count, true, &d_output));
  AMPED_TRY(take_rows(f, FACTOR_ROOM, d_factor, position, count, true, &d_rows));
  AMPED_TRY(amped_dense_cuda_descend(&f->dense, d_output, count, descent, d_rows, sums));
  return store_rows(f, d_factor, position, count, d_rows);
}

static amped_status multiply(amped_factor_set *f, int mode, uint64_t first, uint64_t end,
                             const amped_row_product *product, amped_row_product_sums *sums) {
  void *const d_factor = f->d_factors[mode];
  const uint64_t position = own_position(f, mode) + first;
  const uint64_t count = end - first;
  void *d_output = nullptr;
  void *d_rows = nullptr;
  if (!product->measures)
    change(f, mode);
  AMPED_TRY(take_rows(f, OUTPUT_ROOM, f->d_output, first, count, true, &d_output));
  AMPED_TRY(take_rows(f, FACTOR_ROOM, d_factor, position, count, true, &d_rows));
  AMPED_TRY(amped_dense_cuda_multiply(&f->dense, d_output, count, product, d_rows, sums));
  return product->measures ? AMPED_OK : store_rows(f, d_factor, position, count, d_rows);
}

/* *d_rows = own rows of mode's factor. */
static amped_status take_own(const amped_factor_set *f, int mode, void **d_rows) {
  return take_rows(f, FACTOR_ROOM, f->d_factors[mode], own_position(f, mode), own_rows(f, mode),
                   true, d_rows);
}

static amped_status absolute(amped_factor_set *f, int mode, double *sums) {
  void *d_rows = nullptr;
  AMPED_TRY(take_own(f, mode, &d_rows));
  return amped_dense_cuda_absolute(&f->dense, d_rows, own_rows(f, mode), sums);
}

static amped_status sum_chosen(amped_factor_set *f, int mode, const uint8_t *chosen, double *sums) {
  void *d_rows = nullptr;
  AMPED_TRY(take_own(f, mode, &d_rows));
  return amped_dense_cuda_sum_chosen(&f->dense, d_rows, own_rows(f, mode), chosen, sums);
}

static amped_status gram(amped_factor_set *f, int mode, double *out) {
  const uint64_t count = own_rows(f, mode);
  void *d_rows = column_at(f, f->d_factors[mode], own_position(f, mode));
  if (is_in_place(f))
    return amped_dense_cuda_gram(&f->dense, stride_of(f), d_rows, count, out);
  AMPED_TRY(take_own(f, mode, &d_rows));
  return amped_dense_cuda_gram(&f->dense, 0, d_rows, count, out);
}

static amped_status scale(amped_factor_set *f, int mode, uint64_t position, uint64_t count,
                          const double *by) {
  void *const d_factor = f->d_factors[mode];
  void *d_rows = nullptr;
  assert(position + count <= amped_plan_factor_rows(f->plan, mode));
  change(f, mode);
  for (uint64_t done = 0, n = 0; done < count; done += n) {
    n = piece_rows(f, count - done);
    AMPED_TRY(take_rows(f, FACTOR_ROOM, d_factor, position + done, n, true, &d_rows));
    AMPED_TRY(amped_dense_cuda_scale(&f->dense, d_rows, n, by));
    AMPED_TRY(store_rows(f, d_factor, position + done, n, d_rows));
  }
  return AMPED_OK;
}

static void *rows(amped_factor_set *f, int mode) {
  change(f, mode);
  return f->d_factors[mode];
}

static uint64_t version(const amped_factor_set *f, int mode) {
  return f->of != nullptr ? f->of->versions[mode] : f->versions[mode];
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

uint64_t amped_factor_set_cuda_at(const amped_factor_set *f, uint64_t row) {
  return row * f->ld + f->first;
}

uint64_t amped_factor_set_cuda_ld(const amped_factor_set *f) {
  return f->ld;
}

void *amped_factor_set_cuda_output(const amped_factor_set *f) {
  return f->d_output;
}

const amped_factor_ops amped_factor_set_cuda = {
    .require = require,
    .create = create,
    .destroy = destroy,
    .resize = resize,
    .require_view = require_view,
    .view = view,
    .place = place,
    .put_rows = put_rows,
    .get_rows = get_rows,
    .get_rows_at = get_rows_at,
    .models_at = models_at,
    .fill_random = fill_random,
    .get_output = get_output,
    .put_output = put_output,
    .solve = solve,
    .descend = descend,
    .multiply = multiply,
    .absolute = absolute,
    .sum_chosen = sum_chosen,
    .gram = gram,
    .scale = scale,
    .rows = rows,
    .version = version,
    .stage = stage,
};
