/* Blocks of a dense tensor on a GPU: gathers cells, then makes MTTKRP, grams and new rows of
 * blocks. */
#include "cuda/dense/dense_block_cuda.h"

#include <cstring>

#include "cuda/dense/block_cells_cuda.h"
#include "cuda/dense/block_rows_cuda.h"
#include "cuda/dense/cell_block_cuda.h"
#include "cuda/dense/dense_products_cuda.h"
#include "cuda/device/buffers_cuda.h"
#include "cuda/factor/factor_set_cuda.h"
#include "cuda/factor/row_descent_cuda.h"

extern "C" {
#include "backend/block_sizes.h"
#include "base/mem.h"
#include "plan/dense_kept.h"
}

namespace {

const char what[] = "blocks of the tensor";

/* Single cells that are read at a time. */
constexpr uint64_t most_cells = UINT64_C(1) << 16;
/* Alignment in bytes of cells and of contractions. */
constexpr uint64_t alignment = 256;

uint64_t aligned(uint64_t bytes) {
  return amped_ceil_div(bytes, alignment) * alignment;
}

} // namespace

struct amped_dense_blocks {
  amped_dense_part_cuda part;
  const amped_plan *plan;
  amped_block_shape shape;
  uint64_t cell_bytes, t_bytes;     /* sizes of d_cells and d_t, per block */
  uint64_t sums_bytes;              /* size of contraction.d_sums */
  uint64_t count;                   /* number of current blocks */
  amped_dense_plan *dense;          /* [shape.count] dimensions of each block */
  uint64_t *first[AMPED_MAX_ORDER]; /* [shape.count + 1] first row of each block among all
                                       blocks' rows */
  uint64_t *numbers;                /* host copy of d_numbers */
  amped_block_place_cuda *places;   /* host copy of d_places */
  double *moved;                    /* host copy of d_moved */
  amped_slab_cells_cuda slab;
  amped_dense_kept kept; /* the contraction that d_t holds, of all blocks */
  int mode;              /* mode of the sums */
  uint64_t versions[AMPED_MAX_ORDER];
  uint64_t clock;

  char *d_cells, *d_t;
  char *d_rows[AMPED_MAX_ORDER];        /* rows of all blocks */
  uint64_t *d_indices[AMPED_MAX_ORDER]; /* indices in the slab, of all blocks */
  uint64_t *d_first[AMPED_MAX_ORDER];   /* device copy of first */
  char *d_sums, *d_before;              /* each: rows of the longest mode */
  uint64_t *d_numbers;                  /* indices or positions, temporary */
  double *d_wide;                       /* rows, or single cells, in double */
  double *d_matrices;                   /* [2 shape.count][ncomps][ncomps] */
  double *d_partials;
  double *d_vectors; /* one number per block, then ncomps ones, then ncomps zeros */
  double *d_moved;
  amped_block_place_cuda *d_places;
  const char **d_pieces;
  amped_products_room_cuda *d_products;
  amped_cell_room_cuda contraction;
};

namespace {

/* --- sizes ------------------------------------------------------------------------------------ */

uint64_t longest_of(const uint64_t *dims, int order) {
  uint64_t most = 0;
  for (int m = 0; m < order; m++)
    most = dims[m] > most ? dims[m] : most;
  return most;
}

uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

uint64_t cell_bytes_of(const amped_plan *plan, const amped_block_shape *shape,
                       const amped_block_sizes *s) {
  return aligned(s->cells / shape->count * amped_cell_bytes(plan->dense.type));
}

uint64_t t_bytes_of(const amped_plan *plan, const amped_block_shape *shape,
                    const amped_block_sizes *s) {
  return aligned(s->t / shape->count * plan->value_type);
}

/* The sizes have been checked. */
amped_buffers buffers(amped_dense_blocks *o, const amped_device *device, const amped_plan *plan,
                      const amped_block_shape *shape) {
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t count = shape->count;
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  const amped_dense_plan largest = amped_block_largest(plan, shape);
  const amped_cell_room_bytes_cuda room = amped_cell_block_cuda_room(device, plan, &largest);
  amped_block_sizes s = {};
  uint64_t partials = 0;
  amped_buffers b = {};
  (void)amped_block_sizes_find(plan, shape, &s);
  const uint64_t rows = larger(longest_of(plan->dims, plan->order), s.most_rows);
  const uint64_t numbers = larger(rows, (uint64_t)plan->order * most_cells);
  const uint64_t moved = 2 * amped_block_rows_cuda_most_parts(count);
  b.what = what;
  AMPED_BUFFER(&b, ZEROED, o->dense, count);
  AMPED_BUFFER(&b, HOST, o->numbers, numbers);
  AMPED_BUFFER(&b, ZEROED, o->places, count);
  AMPED_BUFFER(&b, HOST, o->moved, moved);
  for (int m = 0; m < plan->order; m++) {
    AMPED_BUFFER(&b, ZEROED, o->first[m], count + 1);
    AMPED_BUFFER_OF(&b, DEVICE, o->d_rows[m], s.rows[m], row_bytes);
    AMPED_BUFFER(&b, DEVICE, o->d_indices[m], shape->given ? 0 : s.rows[m]);
    AMPED_BUFFER(&b, DEVICE, o->d_first[m], count + 1);
    partials = larger(partials, amped_block_grams_cuda_room(count, shape->dims[m], plan->ncomps));
  }
  AMPED_BUFFER(&b, DEVICE, o->d_cells, count * cell_bytes_of(plan, shape, &s));
  AMPED_BUFFER(&b, DEVICE, o->d_t, count * t_bytes_of(plan, shape, &s));
  AMPED_BUFFER_OF(&b, DEVICE, o->d_sums, s.most_rows, row_bytes);
  AMPED_BUFFER_OF(&b, DEVICE, o->d_before, s.most_rows, row_bytes);
  AMPED_BUFFER(&b, DEVICE, o->d_numbers, numbers);
  AMPED_BUFFER(&b, DEVICE, o->d_wide, larger(rows * n, most_cells));
  AMPED_BUFFER(&b, DEVICE, o->d_matrices, 2 * count * n * n);
  AMPED_BUFFER(&b, DEVICE, o->d_partials, partials);
  AMPED_BUFFER(&b, DEVICE, o->d_vectors, count + 2 * n);
  AMPED_BUFFER(&b, DEVICE, o->d_moved, moved);
  AMPED_BUFFER(&b, DEVICE, o->d_places, count);
  AMPED_BUFFER(&b, DEVICE, o->d_products, 1);
  AMPED_BUFFER_OF(&b, DEVICE, o->contraction.d_sums, room.sums, 1);
  AMPED_BUFFER_OF(&b, DEVICE, o->contraction.d_operand, room.operand, 1);
  AMPED_BUFFER_OF(&b, DEVICE, o->contraction.d_split, room.split, 1);
  return b;
}

amped_status require(const amped_device *device, const amped_plan *plan,
                     const amped_block_shape *shape, uint64_t *device_bytes, uint64_t *host_bytes) {
  amped_dense_blocks none = {};
  amped_block_sizes s;
  if (!amped_block_sizes_find(plan, shape, &s))
    return amped_block_sizes_refuse(plan);
  amped_buffers_require(buffers(&none, device, plan, shape), device_bytes, host_bytes);
  return AMPED_OK;
}

/* --- life ------------------------------------------------------------------------------------- */

amped_status wait(const amped_dense_blocks *b) {
  AMPED_CUDA(cudaStreamSynchronize(b->part.device->stream));
  return AMPED_OK;
}

amped_status to_device(const amped_dense_blocks *b, void *d_to, const void *from, uint64_t bytes) {
  if (bytes > 0)
    AMPED_CUDA(cudaMemcpyAsync(d_to, from, bytes, cudaMemcpyHostToDevice, b->part.device->stream));
  return AMPED_OK;
}

/* Copy to the host, and wait. */
amped_status to_host(const amped_dense_blocks *b, void *to, const void *d_from, uint64_t bytes) {
  if (bytes > 0)
    AMPED_CUDA(cudaMemcpyAsync(to, d_from, bytes, cudaMemcpyDeviceToHost, b->part.device->stream));
  return wait(b);
}

void destroy(amped_dense_blocks *b) {
  if (b == nullptr)
    return;
  (void)cudaStreamSynchronize(b->part.device->stream);
  amped_buffers_cuda_free(buffers(b, b->part.device, b->plan, &b->shape));
  amped_cuda_free(b->d_pieces);
  amped_free(b);
}

amped_status allocate(amped_dense_blocks *b) {
  const cudaStream_t stream = b->part.device->stream;
  const uint64_t row_bytes = amped_plan_row_bytes(b->plan);
  const amped_dense_plan largest = amped_block_largest(b->plan, &b->shape);
  amped_block_sizes s;
  if (!amped_block_sizes_find(b->plan, &b->shape, &s))
    return amped_block_sizes_refuse(b->plan);
  b->cell_bytes = cell_bytes_of(b->plan, &b->shape, &s);
  b->t_bytes = t_bytes_of(b->plan, &b->shape, &s);
  b->sums_bytes = amped_cell_block_cuda_room(b->part.device, b->plan, &largest).sums;
  AMPED_TRY(amped_buffers_cuda_allocate(buffers(b, b->part.device, b->plan, &b->shape)));
  for (int m = 0; m < b->plan->order; m++)
    AMPED_CUDA(cudaMemsetAsync(b->d_rows[m], 0, s.rows[m] * row_bytes, stream));
  AMPED_CUDA(cudaMemsetAsync(b->d_sums, 0, s.most_rows * row_bytes, stream));
  return wait(b);
}

/* Upload ones and zeros, for row descent. */
amped_status put_constants(amped_dense_blocks *b) {
  const uint64_t n = (uint64_t)b->plan->ncomps;
  double *constants = nullptr;
  AMPED_TRY(amped_calloc(&constants, 2 * n, sizeof *constants, what));
  for (uint64_t c = 0; c < n; c++)
    constants[c] = 1.0;
  amped_status status =
      to_device(b, b->d_vectors + b->shape.count, constants, 2 * n * sizeof *constants);
  if (status == AMPED_OK)
    status = wait(b);
  amped_free(constants);
  return status;
}

/* Collect the addresses of the slab's cells. */
amped_status find_slab(amped_dense_blocks *b) {
  const amped_dense_plan *d = &b->plan->dense;
  amped_slab_cuda *slab = b->part.slab;
  const uint64_t pieces = amped_slab_pieces_cuda(&slab->layout);
  const char **blocks = nullptr;
  amped_status status = AMPED_OK;
  b->slab.type = d->type;
  b->slab.order = b->plan->order;
  for (int k = 0; k < b->plan->order; k++)
    b->slab.dims[k] = d->dims[d->layout[k]];
  b->slab.row_bytes = slab->layout.row_bytes;
  b->slab.d_resident = slab->d_resident;
  b->slab.resident = slab->layout.resident;
  b->slab.piece = slab->layout.piece;
  if (pieces == 0)
    return AMPED_OK;
  AMPED_TRY(amped_cuda_malloc((void **)&b->d_pieces, pieces * sizeof *blocks, what));
  AMPED_TRY(amped_alloc(&blocks, pieces, sizeof *blocks, what));
  for (uint64_t i = 0; i < pieces && status == AMPED_OK; i++)
    status = amped_pinned_cuda_wait(&slab->pinned, i, (void **)&blocks[i]);
  if (status == AMPED_OK)
    status = to_device(b, b->d_pieces, blocks, pieces * sizeof *blocks);
  if (status == AMPED_OK)
    status = wait(b);
  amped_free(blocks);
  b->slab.d_pieces = b->d_pieces;
  return status;
}

amped_status create(amped_tensor_part *part, const amped_block_shape *shape,
                    amped_dense_blocks **out) {
  amped_dense_blocks *b = nullptr;
  *out = nullptr;
  AMPED_TRY(amped_calloc(&b, 1, sizeof *b, what));
  b->part = amped_dense_part_cuda_of(part);
  b->plan = b->part.plan;
  b->shape = *shape;
  amped_status status = allocate(b);
  if (status == AMPED_OK)
    status = put_constants(b);
  if (status == AMPED_OK)
    status = find_slab(b);
  if (status == AMPED_OK)
    *out = b;
  else
    destroy(b);
  return status;
}

/* --- taking blocks ---------------------------------------------------------------------------- */

uint64_t dim_of(const amped_dense_blocks *b, uint64_t block, int mode) {
  return b->first[mode][block + 1] - b->first[mode][block];
}

uint64_t rows_of(const amped_dense_blocks *b, int mode) {
  return b->first[mode][b->count];
}

char *at(const amped_dense_blocks *b, char *d_rows, uint64_t row) {
  return d_rows + row * amped_plan_row_bytes(b->plan);
}

amped_block_rows_cuda rows_in_hand(const amped_dense_blocks *b, int mode) {
  amped_block_rows_cuda r = {};
  r.value_type = b->plan->value_type;
  r.ncomps = b->plan->ncomps;
  r.ld = b->plan->ld;
  r.count = b->count;
  for (uint64_t i = 0; i < b->count; i++)
    r.most = larger(r.most, dim_of(b, i, mode));
  r.d_first = b->d_first[mode];
  r.d_rows = b->d_rows[mode];
  r.stream = b->part.device->stream;
  return r;
}

/* Upload the positions of rows in mode's factor to d_numbers + at. */
amped_status put_positions(amped_dense_blocks *b, int mode, uint64_t count, const uint64_t *indices,
                           uint64_t at) {
  for (uint64_t i = 0; i < count; i++)
    b->numbers[at + i] = amped_plan_position(b->plan, mode, indices[i]);
  return to_device(b, b->d_numbers + at, b->numbers + at, count * sizeof(uint64_t));
}

/* Upload indices of mode to d_to, counted from the slab's first index. b->numbers from `at` on is
 * the host buffer. */
amped_status put_indices(amped_dense_blocks *b, int mode, uint64_t count, const uint64_t *indices,
                         uint64_t at, uint64_t *d_to) {
  const amped_dense_plan *d = &b->plan->dense;
  const uint64_t offset = mode == d->slab_mode ? d->first : 0;
  for (uint64_t i = 0; i < count; i++)
    b->numbers[at + i] = indices[i] - offset;
  return to_device(b, d_to, b->numbers + at, count * sizeof(uint64_t));
}

amped_status take_rows(amped_dense_blocks *b, const amped_block_sets *sets, int mode, bool packs) {
  const uint64_t begin = sets->first[mode][0];
  const uint64_t *indices = sets->indices[mode] + begin;
  for (uint64_t i = 0; i <= b->count; i++)
    b->first[mode][i] = sets->first[mode][i] - begin;
  AMPED_TRY(to_device(b, b->d_first[mode], b->first[mode], (b->count + 1) * sizeof(uint64_t)));
  const amped_block_rows_cuda rows = rows_in_hand(b, mode);
  AMPED_TRY(put_positions(b, mode, rows_of(b, mode), indices, 0));
  AMPED_TRY(amped_block_rows_cuda_take(
      &rows, rows_of(b, mode), amped_factor_set_cuda_rows(b->part.factors, mode), b->d_numbers));
  AMPED_TRY(wait(b)); /* numbers are reused */
  b->versions[mode] = ++b->clock;
  if (!packs)
    return AMPED_OK;
  AMPED_TRY(put_indices(b, mode, rows_of(b, mode), indices, 0, b->d_indices[mode]));
  return wait(b);
}

void describe(amped_dense_blocks *b, uint64_t block) {
  amped_dense_plan *d = &b->dense[block];
  amped_block_place_cuda *p = &b->places[block];
  *d = amped_block_largest(b->plan, &b->shape);
  d->cells = 1;
  for (int k = 0; k < b->plan->order; k++) {
    const int m = d->layout[k];
    d->dims[m] = p->dims[k] = dim_of(b, block, m);
    p->first[k] = b->first[m][block];
    d->cells *= d->dims[m];
  }
  p->begin = block * b->cell_bytes;
}

amped_status pack(amped_dense_blocks *b) {
  const amped_dense_plan *d = &b->plan->dense;
  const int last = b->plan->order - 1;
  const uint64_t *d_indices[AMPED_MAX_ORDER] = {};
  uint64_t fibres = 0;
  for (uint64_t i = 0; i < b->count; i++)
    if (b->dense[i].cells > 0)
      fibres = larger(fibres, b->dense[i].cells / b->dense[i].dims[d->layout[last]]);
  for (int k = 0; k < b->plan->order; k++)
    d_indices[k] = b->d_indices[d->layout[k]];
  AMPED_TRY(to_device(b, b->d_places, b->places, b->count * sizeof *b->places));
  return amped_block_cells_cuda_pack(&b->slab, b->count, b->d_places, d_indices, fibres, b->d_cells,
                                     b->part.device->stream);
}

amped_status take(amped_dense_blocks *b, const amped_block_sets *sets, const void *cells) {
  b->count = sets->count;
  for (int m = 0; m < b->plan->order; m++)
    AMPED_TRY(take_rows(b, sets, m, cells == nullptr));
  for (uint64_t i = 0; i < b->count; i++)
    describe(b, i);
  if (cells == nullptr)
    AMPED_TRY(pack(b));
  else
    AMPED_TRY(
        to_device(b, b->d_cells, cells, b->dense[0].cells * amped_cell_bytes(b->plan->dense.type)));
  return wait(b);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Enlarge the workspace of sums if needed: a block with other dimensions than the largest may need
 * more. */
amped_status keep_room(amped_dense_blocks *b, const amped_dense_plan *dense) {
  const amped_cell_room_bytes_cuda r = amped_cell_block_cuda_room(b->part.device, b->plan, dense);
  if (r.sums <= b->sums_bytes)
    return AMPED_OK;
  AMPED_TRY(wait(b));
  amped_cuda_free(b->contraction.d_sums);
  b->contraction.d_sums = nullptr;
  b->sums_bytes = r.sums;
  return amped_cuda_malloc((void **)&b->contraction.d_sums, r.sums, what);
}

amped_status sum_block(amped_dense_blocks *b, uint64_t block, int place, bool contracts) {
  amped_cell_block_cuda cells = {};
  cells.device = b->part.device;
  cells.plan = b->plan;
  cells.dense = &b->dense[block];
  cells.d_cells = b->d_cells + b->places[block].begin;
  for (int m = 0; m < b->plan->order; m++)
    cells.d_rows[m] = at(b, b->d_rows[m], b->first[m][block]);
  cells.d_t = b->d_t + block * b->t_bytes;
  AMPED_TRY(keep_room(b, cells.dense));
  if (contracts)
    AMPED_TRY(amped_cell_block_cuda_contract(&cells, b->kept.from, b->kept.end, &b->contraction));
  return amped_cell_block_cuda_rows(&cells, b->kept.from, b->kept.end, place, &b->contraction,
                                    at(b, b->d_sums, b->first[b->mode][block]));
}

int place_of(const amped_plan *plan, int mode) {
  int k = 0;
  while (plan->dense.layout[k] != mode)
    k++;
  return k;
}

amped_status mttkrp(amped_dense_blocks *b, int mode) {
  const amped_dense_plan *d = &b->plan->dense;
  uint64_t versions[AMPED_MAX_ORDER];
  memcpy(versions, b->versions, sizeof versions);
  if (d->tree == AMPED_TREE_ONE && b->shape.kept >= 0)
    versions[b->shape.kept] = 0; /* the oldest: T is of another mode */
  b->mode = mode;
  const bool serves = amped_dense_serves(&b->kept, d, b->plan->order, mode, versions);
  AMPED_CUDA(cudaMemsetAsync(b->d_sums, 0, rows_of(b, mode) * amped_plan_row_bytes(b->plan),
                             b->part.device->stream));
  for (uint64_t i = 0; i < b->count; i++)
    if (b->dense[i].cells > 0)
      AMPED_TRY(sum_block(b, i, place_of(b->plan, mode), !serves));
  return wait(b);
}

amped_status get(const amped_dense_blocks *b, int mode, const void *d_rows, double *to) {
  const amped_block_rows_cuda rows = rows_in_hand(b, mode);
  const uint64_t elements = rows_of(b, mode) * (uint64_t)b->plan->ncomps;
  AMPED_TRY(amped_block_rows_cuda_widen(&rows, rows_of(b, mode), d_rows, b->d_wide));
  return to_host(b, to, b->d_wide, elements * sizeof *to);
}

amped_status get_sums(amped_dense_blocks *b, double *sums) {
  return get(b, b->mode, b->d_sums, sums);
}

amped_status put_sums(amped_dense_blocks *b, const double *sums) {
  const amped_block_rows_cuda rows = rows_in_hand(b, b->mode);
  const uint64_t elements = rows_of(b, b->mode) * (uint64_t)b->plan->ncomps;
  AMPED_TRY(to_device(b, b->d_wide, sums, elements * sizeof *sums));
  AMPED_TRY(amped_block_rows_cuda_narrow(&rows, rows_of(b, b->mode), b->d_wide, b->d_sums));
  return wait(b);
}

/* --- rows ------------------------------------------------------------------------------------- */

uint64_t matrices(const amped_dense_blocks *b) {
  return b->count * (uint64_t)b->plan->ncomps * (uint64_t)b->plan->ncomps;
}

amped_status grams(amped_dense_blocks *b, int mode, double *out) {
  const amped_block_rows_cuda rows = rows_in_hand(b, mode);
  AMPED_TRY(amped_block_grams_cuda(&rows, b->d_matrices, b->d_partials));
  return to_host(b, out, b->d_matrices, matrices(b) * sizeof *out);
}

/* Add the sums over rows that the last kernel left to *moved. */
amped_status add_moved(amped_dense_blocks *b, const amped_block_rows_cuda *rows,
                       amped_rows_moved *moved) {
  const uint64_t parts = amped_block_rows_cuda_parts(rows);
  AMPED_TRY(to_host(b, b->moved, b->d_moved, 2 * parts * sizeof(double)));
  for (uint64_t i = 0; i < parts; i++) {
    moved->moved += b->moved[2 * i];
    moved->size += b->moved[2 * i + 1];
  }
  return AMPED_OK;
}

amped_status solve(amped_dense_blocks *b, int mode, const double *p, const double *keep,
                   amped_rows_moved *moved) {
  const amped_block_rows_cuda rows = rows_in_hand(b, mode);
  const uint64_t elements = matrices(b);
  AMPED_TRY(to_device(b, b->d_matrices, p, elements * sizeof(double)));
  AMPED_TRY(to_device(b, b->d_matrices + elements, keep, elements * sizeof(double)));
  AMPED_TRY(amped_block_rows_cuda_solve(&rows, b->d_sums, b->d_matrices, b->d_matrices + elements,
                                        b->d_moved));
  b->versions[mode] = ++b->clock;
  return add_moved(b, &rows, moved);
}

amped_status descend_block(amped_dense_blocks *b, uint64_t block, int mode) {
  const uint64_t n = (uint64_t)b->plan->ncomps;
  amped_row_descent_cuda d = {};
  d.type = b->plan->value_type;
  d.rows = dim_of(b, block, mode);
  d.ld = b->plan->ld;
  d.ncomps = b->plan->ncomps;
  d.nonnegative = true;
  d.d_output = at(b, b->d_sums, b->first[mode][block]);
  d.d_v = b->d_matrices + block * n * n;
  d.d_scale = b->d_vectors + b->shape.count;
  d.d_shrink = d.d_scale + n;
  d.d_rows = at(b, b->d_rows[mode], b->first[mode][block]);
  return d.rows > 0 ? amped_row_descent_cuda_run(&d, b->part.device->stream) : AMPED_OK;
}

amped_status descend(amped_dense_blocks *b, int mode, const double *v, const double *weight,
                     amped_rows_moved *moved) {
  const amped_block_rows_cuda rows = rows_in_hand(b, mode);
  AMPED_TRY(to_device(b, b->d_matrices, v, matrices(b) * sizeof(double)));
  AMPED_TRY(to_device(b, b->d_vectors, weight, b->count * sizeof(double)));
  AMPED_TRY(amped_block_rows_cuda_pull(&rows, b->d_vectors, b->d_sums));
  AMPED_CUDA(cudaMemcpyAsync(b->d_before, b->d_rows[mode],
                             rows_of(b, mode) * amped_plan_row_bytes(b->plan),
                             cudaMemcpyDeviceToDevice, b->part.device->stream));
  for (uint64_t i = 0; i < b->count; i++)
    AMPED_TRY(descend_block(b, i, mode));
  AMPED_TRY(amped_block_rows_cuda_moved(&rows, b->d_before, b->d_moved));
  b->versions[mode] = ++b->clock;
  return add_moved(b, &rows, moved);
}

amped_status get_rows(amped_dense_blocks *b, int mode, double *rows) {
  return get(b, mode, b->d_rows[mode], rows);
}

amped_status put_rows(amped_dense_blocks *b, int mode, uint64_t count, const uint64_t *indices,
                      const double *rows) {
  const amped_block_rows_cuda in_hand = rows_in_hand(b, mode);
  AMPED_TRY(put_positions(b, mode, count, indices, 0));
  AMPED_TRY(to_device(b, b->d_wide, rows, count * (uint64_t)b->plan->ncomps * sizeof *rows));
  AMPED_TRY(amped_block_rows_cuda_put(&in_hand, count, b->d_wide, b->d_numbers,
                                      amped_factor_set_cuda.rows(b->part.factors, mode)));
  return wait(b);
}

/* --- single cells ----------------------------------------------------------------------------- */

uint64_t cells_from(uint64_t first, uint64_t count) {
  return count - first < most_cells ? count - first : most_cells;
}

amped_status get_cells(amped_dense_blocks *b, uint64_t count, const uint64_t *const *indices,
                       double *cells) {
  for (uint64_t i = 0; i < count; i += most_cells) {
    const uint64_t some = cells_from(i, count);
    for (int k = 0; k < b->plan->order; k++) {
      const int m = b->plan->dense.layout[k];
      const uint64_t at = (uint64_t)k * some;
      AMPED_TRY(put_indices(b, m, some, indices[m] + i, at, b->d_numbers + at));
    }
    AMPED_TRY(amped_block_cells_cuda_get(&b->slab, some, b->d_numbers, b->d_wide,
                                         b->part.device->stream));
    AMPED_TRY(to_host(b, cells + i, b->d_wide, some * sizeof *cells));
  }
  return AMPED_OK;
}

amped_status misses(amped_dense_blocks *b, uint64_t count, const uint64_t *const *indices,
                    const double *cells, const double *weights, double *out) {
  amped_model_cuda model = {};
  model.value_type = b->plan->value_type;
  model.order = b->plan->order;
  model.ncomps = b->plan->ncomps;
  model.ld = b->plan->ld;
  for (int m = 0; m < b->plan->order; m++)
    model.d_rows[m] = amped_factor_set_cuda_rows(b->part.factors, m);
  model.d_weights = b->d_matrices;
  AMPED_TRY(to_device(b, b->d_matrices, weights, (uint64_t)b->plan->ncomps * sizeof *weights));
  for (uint64_t i = 0; i < count; i += most_cells) {
    const uint64_t some = cells_from(i, count);
    for (int m = 0; m < b->plan->order; m++)
      AMPED_TRY(put_positions(b, m, some, indices[m] + i, (uint64_t)m * some));
    AMPED_TRY(to_device(b, b->d_wide, cells + i, some * sizeof *cells));
    AMPED_TRY(amped_misses_cuda(&model, some, b->d_numbers, b->d_wide, b->part.device->stream));
    AMPED_TRY(to_host(b, out + i, b->d_wide, some * sizeof *out));
  }
  return AMPED_OK;
}

/* --- exact sums ------------------------------------------------------------------------------- */

amped_status products(amped_dense_blocks *b, double scale, const double *weights,
                      amped_products *out) {
  const amped_plan *plan = b->plan;
  amped_products_cuda_args args =
      amped_products_cuda_of(plan, scale, weights, b->d_products, b->part.device->stream);
  AMPED_TRY(amped_products_cuda_begin(&args));
  for (uint64_t i = 0; i < b->count; i++) {
    const amped_dense_plan *d = &b->dense[i];
    amped_products_slab_cuda block = {d->type, b->d_cells + b->places[i].begin, plan->order};
    for (int k = 0; k < plan->order; k++) {
      const int m = d->layout[k];
      block.dims[k] = d->dims[m];
      block.factors[k] = at(b, b->d_rows[m], b->first[m][i]);
    }
    AMPED_TRY(amped_dense_products_cuda(&args, &block));
  }
  return amped_products_cuda_end(&args, out);
}

} // namespace

const amped_dense_block_ops amped_dense_block_cuda = {
    .require = require,
    .create = create,
    .destroy = destroy,
    .take = take,
    .mttkrp = mttkrp,
    .get_sums = get_sums,
    .put_sums = put_sums,
    .grams = grams,
    .solve = solve,
    .descend = descend,
    .get_rows = get_rows,
    .put_rows = put_rows,
    .get_cells = get_cells,
    .misses = misses,
    .products = products,
};
