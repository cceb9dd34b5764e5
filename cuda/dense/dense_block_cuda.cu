/* Blocks of a dense tensor on a GPU: gathers cells, then makes MTTKRP, grams and new rows of
 * blocks. */
#include "cuda/dense/dense_block_cuda.h"

#include <cstring>

#include "cuda/dense/block_cells_cuda.h"
#include "cuda/dense/block_rows_cuda.h"
#include "cuda/dense/cell_block_cuda.h"
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

/* Bytes of the blocks' device memory. */
struct room {
  uint64_t cells, t; /* per block */
  uint64_t rows[AMPED_MAX_ORDER], indices[AMPED_MAX_ORDER];
  uint64_t sums, numbers, wide, matrices, partials, vectors, moved, places, first, pieces;
  amped_cell_room_bytes_cuda contraction;
};

} // namespace

struct amped_dense_blocks {
  amped_dense_part_cuda part;
  const amped_plan *plan;
  amped_block_shape shape;
  room bytes;
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

amped_status find_room(const amped_device *device, const amped_plan *plan,
                       const amped_block_shape *shape, room *r) {
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t order = (uint64_t)plan->order;
  const amped_dense_plan largest = amped_block_largest(plan, shape);
  const uint64_t longest = longest_of(plan->dims, plan->order);
  amped_block_sizes s = {};
  *r = {};
  if (!amped_block_sizes_find(plan, shape, &s))
    return amped_block_sizes_refuse(plan);
  r->cells = aligned(s.cells / shape->count * amped_cell_bytes(plan->dense.type));
  r->t = aligned(s.t / shape->count * plan->value_type);
  for (int m = 0; m < plan->order; m++) {
    r->rows[m] = s.rows[m] * row_bytes;
    r->indices[m] = shape->brought ? 0 : s.rows[m] * sizeof(uint64_t);
    r->partials = larger(r->partials,
                         amped_block_grams_cuda_room(shape->count, shape->dims[m], plan->ncomps) *
                             sizeof(double));
  }
  r->sums = s.most_rows * row_bytes;
  r->numbers = larger(larger(longest, s.most_rows), order * most_cells) * sizeof(uint64_t);
  r->wide = larger(larger(longest, s.most_rows) * n, most_cells) * sizeof(double);
  r->matrices = 2 * shape->count * n * n * sizeof(double);
  r->vectors = (shape->count + 2 * n) * sizeof(double);
  r->moved =
      2 *
      larger(amped_block_rows_cuda_most_parts(shape->count), amped_misfit_cuda_parts(most_cells)) *
      sizeof(double);
  r->places = shape->count * sizeof(amped_block_place_cuda);
  r->first = (shape->count + 1) * sizeof(uint64_t);
  r->contraction = amped_cell_block_cuda_room(device, plan, &largest);
  return AMPED_OK;
}

uint64_t device_bytes_of(const room *r, const amped_plan *plan, const amped_block_shape *shape) {
  uint64_t bytes = shape->count * (r->cells + r->t) + 2 * r->sums + r->numbers + r->wide +
                   r->matrices + r->partials + r->vectors + r->moved + r->places + r->pieces +
                   r->contraction.sums + r->contraction.operand + r->contraction.split;
  for (int m = 0; m < plan->order; m++)
    bytes += r->rows[m] + r->indices[m] + r->first;
  return bytes;
}

amped_status require(const amped_device *device, const amped_plan *plan,
                     const amped_block_shape *shape, uint64_t *device_bytes, uint64_t *host_bytes) {
  room r;
  AMPED_TRY(find_room(device, plan, shape, &r));
  *device_bytes += device_bytes_of(&r, plan, shape);
  *host_bytes += r.numbers + r.places + r.moved + shape->count * sizeof(amped_dense_plan) +
                 (uint64_t)plan->order * r.first;
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
  void *const blocks[] = {b->d_cells,
                          b->d_t,
                          b->d_sums,
                          b->d_before,
                          b->d_numbers,
                          b->d_wide,
                          b->d_matrices,
                          b->d_partials,
                          b->d_vectors,
                          b->d_moved,
                          b->d_places,
                          b->d_pieces,
                          b->contraction.d_sums,
                          b->contraction.d_operand,
                          b->contraction.d_split};
  for (void *d_block : blocks)
    amped_cuda_free(d_block);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_cuda_free(b->d_rows[m]);
    amped_cuda_free(b->d_indices[m]);
    amped_cuda_free(b->d_first[m]);
    amped_free(b->first[m]);
  }
  amped_free(b->dense);
  amped_free(b->numbers);
  amped_free(b->places);
  amped_free(b->moved);
  amped_free(b);
}

template <typename T> amped_status take_memory(T **out, uint64_t bytes) {
  return amped_cuda_malloc((void **)out, bytes, what);
}

amped_status allocate(amped_dense_blocks *b) {
  const uint64_t count = b->shape.count;
  const room *r = &b->bytes;
  AMPED_TRY(amped_calloc(&b->dense, count, sizeof *b->dense, what));
  AMPED_TRY(amped_alloc(&b->numbers, r->numbers, 1, what));
  AMPED_TRY(amped_calloc(&b->places, count, sizeof *b->places, what));
  AMPED_TRY(amped_alloc(&b->moved, r->moved, 1, what));
  for (int m = 0; m < b->plan->order; m++) {
    AMPED_TRY(amped_calloc(&b->first[m], count + 1, sizeof *b->first[m], what));
    AMPED_TRY(take_memory(&b->d_rows[m], r->rows[m]));
    AMPED_TRY(take_memory(&b->d_indices[m], r->indices[m]));
    AMPED_TRY(take_memory(&b->d_first[m], r->first));
    AMPED_CUDA(cudaMemsetAsync(b->d_rows[m], 0, r->rows[m], b->part.device->stream));
  }
  AMPED_TRY(take_memory(&b->d_cells, count * r->cells));
  AMPED_TRY(take_memory(&b->d_t, count * r->t));
  AMPED_TRY(take_memory(&b->d_sums, r->sums));
  AMPED_TRY(take_memory(&b->d_before, r->sums));
  AMPED_TRY(take_memory(&b->d_numbers, r->numbers));
  AMPED_TRY(take_memory(&b->d_wide, r->wide));
  AMPED_TRY(take_memory(&b->d_matrices, r->matrices));
  AMPED_TRY(take_memory(&b->d_partials, r->partials));
  AMPED_TRY(take_memory(&b->d_vectors, r->vectors));
  AMPED_TRY(take_memory(&b->d_moved, r->moved));
  AMPED_TRY(take_memory(&b->d_places, r->places));
  AMPED_TRY(take_memory(&b->contraction.d_sums, r->contraction.sums));
  AMPED_TRY(take_memory(&b->contraction.d_operand, r->contraction.operand));
  AMPED_TRY(take_memory(&b->contraction.d_split, r->contraction.split));
  AMPED_CUDA(cudaMemsetAsync(b->d_sums, 0, r->sums, b->part.device->stream));
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
  b->bytes.pieces = pieces * sizeof *blocks;
  AMPED_TRY(take_memory(&b->d_pieces, b->bytes.pieces));
  AMPED_TRY(amped_alloc(&blocks, pieces, sizeof *blocks, what));
  for (uint64_t i = 0; i < pieces && status == AMPED_OK; i++)
    status = amped_pinned_cuda_wait(&slab->pinned, i, (void **)&blocks[i]);
  if (status == AMPED_OK)
    status = to_device(b, b->d_pieces, blocks, b->bytes.pieces);
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
  amped_status status = find_room(b->part.device, b->plan, shape, &b->bytes);
  if (status == AMPED_OK)
    status = allocate(b);
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
  p->begin = block * b->bytes.cells;
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
  if (r.sums <= b->bytes.contraction.sums)
    return AMPED_OK;
  AMPED_TRY(wait(b));
  amped_cuda_free(b->contraction.d_sums);
  b->contraction.d_sums = nullptr;
  b->bytes.contraction.sums = r.sums;
  return take_memory(&b->contraction.d_sums, r.sums);
}

amped_status sum_block(amped_dense_blocks *b, uint64_t block, int place, bool contracts) {
  amped_cell_block_cuda cells = {};
  cells.device = b->part.device;
  cells.plan = b->plan;
  cells.dense = &b->dense[block];
  cells.d_cells = b->d_cells + b->places[block].begin;
  for (int m = 0; m < b->plan->order; m++)
    cells.d_rows[m] = at(b, b->d_rows[m], b->first[m][block]);
  cells.d_t = b->d_t + block * b->bytes.t;
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

amped_status add_misfit(amped_dense_blocks *b, const amped_model_cuda *model, uint64_t count,
                        double *squares) {
  const uint64_t parts = amped_misfit_cuda_parts(count);
  AMPED_TRY(
      amped_misfit_cuda(model, count, b->d_numbers, b->d_wide, b->d_moved, b->part.device->stream));
  AMPED_TRY(to_host(b, b->moved, b->d_moved, parts * sizeof(double)));
  for (uint64_t i = 0; i < parts; i++)
    *squares += b->moved[i];
  return AMPED_OK;
}

amped_status misfit(amped_dense_blocks *b, uint64_t count, const uint64_t *const *indices,
                    const double *cells, const double *weights, double *squares) {
  amped_model_cuda model = {};
  model.value_type = b->plan->value_type;
  model.order = b->plan->order;
  model.ncomps = b->plan->ncomps;
  model.ld = b->plan->ld;
  for (int m = 0; m < b->plan->order; m++)
    model.d_rows[m] = amped_factor_set_cuda_rows(b->part.factors, m);
  model.d_weights = b->d_matrices;
  *squares = 0.0;
  AMPED_TRY(to_device(b, b->d_matrices, weights, (uint64_t)b->plan->ncomps * sizeof *weights));
  for (uint64_t i = 0; i < count; i += most_cells) {
    const uint64_t some = cells_from(i, count);
    for (int m = 0; m < b->plan->order; m++)
      AMPED_TRY(put_positions(b, m, some, indices[m] + i, (uint64_t)m * some));
    AMPED_TRY(to_device(b, b->d_wide, cells + i, some * sizeof *cells));
    AMPED_TRY(add_misfit(b, &model, some, squares));
  }
  return AMPED_OK;
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
    .misfit = misfit,
};
