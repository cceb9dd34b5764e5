/* Blocks of a dense tensor in host memory. With fewer blocks than threads, all threads work on one
 * block after another; else each thread works on blocks of its own. */
#include "cpu/dense/dense_block_cpu.h"

#include <cblas.h>
#include <omp.h>
#include <string.h>

#include "backend/block_sizes.h"
#include "base/mem.h"
#include "cpu/device/device_cpu.h"
#include "base/buffers.h"
#include "cpu/factor/row_descent_cpu.h"
#include "cpu/dense/dense_products_cpu.h"
#include "cpu/dense/slab_cpu.h"

/* Rows that a thread solves at a time. */
#define CHUNK_ROWS UINT64_C(64)

static const char what[] = "blocks of the tensor";

struct amped_dense_blocks {
  amped_dense_part_cpu part;
  const amped_plan *plan;
  amped_block_shape shape;
  amped_dense_plan largest; /* dimensions of the largest block of the shape */
  uint64_t count;           /* current number of blocks */
  amped_dense_plan *dense;  /* [shape.count] each block's dimensions */
  amped_slab_cpu *slabs;    /* [shape.count] */
  const uint64_t *indices[AMPED_MAX_ORDER];
  uint64_t *first[AMPED_MAX_ORDER]; /* [shape.count + 1] start of each block's indices */
  void *cells;                      /* all blocks' cells */
  void *rows[AMPED_MAX_ORDER];      /* all blocks' rows, ld elements each */
  void *sums;
  void *t;
  void *workspace;       /* for contractions */
  uint64_t thread_bytes; /* a thread's share of workspace, if threads have blocks of their own */
  double *dense_rows;    /* per thread: old rows, new rows, sums */
  amped_rows_moved *moved;
  int mode; /* mode of the sums */
  uint64_t versions[AMPED_MAX_ORDER];
  uint64_t clock;
};

/* --- sizes ------------------------------------------------------------------------------------ */

/* Workspace bytes of a contraction by one thread, in whole cache lines. */
static uint64_t thread_bytes(const amped_plan *plan, const amped_block_shape *shape) {
  const amped_dense_plan d = amped_block_largest(plan, shape);
  return amped_ceil_div(amped_slab_cpu_workspace(plan, &d, 1), 64) * 64;
}

/* Workspace bytes: enough for one block per thread, and for all threads on one block. */
static uint64_t workspace_bytes(const amped_plan *plan, const amped_block_shape *shape,
                                int threads) {
  const amped_dense_plan d = amped_block_largest(plan, shape);
  const uint64_t one = (uint64_t)threads * thread_bytes(plan, shape);
  const uint64_t all = amped_slab_cpu_workspace(plan, &d, threads);
  return one > all ? one : all;
}

static uint64_t dense_elements(const amped_plan *plan) {
  return 3 * CHUNK_ROWS * (uint64_t)plan->ncomps;
}

static uint64_t chunks_of(const amped_block_shape *shape, int mode) {
  return amped_ceil_div(shape->dims[mode], CHUNK_ROWS);
}

/* Upper bound on the chunks of rows of all blocks in a mode. */
static uint64_t most_chunks(const amped_plan *plan, const amped_block_shape *shape) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    most = chunks_of(shape, m) > most ? chunks_of(shape, m) : most;
  return shape->count * most;
}

static amped_buffers buffers(amped_dense_blocks *o, const amped_plan *plan,
                             const amped_block_shape *shape, int threads) {
  amped_buffers b = {.what = what, .threads = threads};
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  amped_block_sizes s = {0};
  (void)amped_block_sizes_find(plan, shape, &s); /* cpu_require has checked the sizes */
  AMPED_BUFFER(&b, ZEROED, o->dense, shape->count);
  AMPED_BUFFER(&b, ZEROED, o->slabs, shape->count);
  AMPED_BUFFER_OF(&b, SPREAD, o->cells, shape->given ? 0 : s.cells,
                  amped_cell_bytes(plan->dense.type));
  AMPED_BUFFER_OF(&b, SPREAD, o->t, s.t, (uint64_t)plan->value_type);
  AMPED_BUFFER_OF(&b, SPREAD, o->sums, s.most_rows, row_bytes);
  for (int m = 0; m < plan->order; m++) {
    AMPED_BUFFER(&b, ZEROED, o->first[m], shape->count + 1);
    AMPED_BUFFER_OF(&b, SPREAD, o->rows[m], s.rows[m], row_bytes);
  }
  AMPED_BUFFER(&b, HOST, o->dense_rows, (uint64_t)threads * dense_elements(plan));
  AMPED_BUFFER(&b, HOST, o->moved, most_chunks(plan, shape));
  AMPED_BUFFER_OF(&b, LARGE, o->workspace, workspace_bytes(plan, shape, threads), 1);
  return b;
}

static amped_status cpu_require(const amped_device *device, const amped_plan *plan,
                                const amped_block_shape *shape, uint64_t *device_bytes,
                                uint64_t *host_bytes) {
  amped_block_sizes s;
  if (!amped_block_sizes_find(plan, shape, &s))
    return amped_block_sizes_refuse(plan);
  amped_buffers_require(buffers(&(amped_dense_blocks){0}, plan, shape, device->threads),
                        device_bytes, host_bytes);
  return AMPED_OK;
}

/* --- creation and destruction ----------------------------------------------------------------- */

static void cpu_destroy(amped_dense_blocks *b) {
  if (b == NULL)
    return;
  amped_buffers_free(buffers(b, b->plan, &b->shape, b->part.threads));
  amped_free(b);
}

static amped_status cpu_create(amped_tensor_part *part, const amped_block_shape *shape,
                               amped_dense_blocks **out) {
  amped_dense_blocks *b = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&b, 1, sizeof *b, what));
  b->part = amped_dense_part_cpu_of(part);
  b->plan = b->part.plan;
  b->shape = *shape;
  b->largest = amped_block_largest(b->plan, shape);
  b->thread_bytes = thread_bytes(b->plan, shape);
  amped_status status = amped_buffers_allocate(buffers(b, b->plan, shape, b->part.threads));
  if (status == AMPED_OK)
    *out = b;
  else
    cpu_destroy(b);
  return status;
}

/* --- taking blocks ---------------------------------------------------------------------------- */

static uint64_t dim_of(const amped_dense_blocks *b, uint64_t block, int mode) {
  return b->first[mode][block + 1] - b->first[mode][block];
}

static const uint64_t *indices_of(const amped_dense_blocks *b, uint64_t block, int mode) {
  return b->indices[mode] + b->first[mode][block];
}

/* First row of a block among all blocks' rows. */
static uint64_t row_of(const amped_dense_blocks *b, uint64_t block, int mode) {
  return b->first[mode][block] - b->first[mode][0];
}

static uint64_t rows_of(const amped_dense_blocks *b, int mode) {
  return row_of(b, b->count, mode);
}

static char *at(const amped_dense_blocks *b, void *rows, uint64_t row) {
  return (char *)rows + row * amped_plan_row_bytes(b->plan);
}

/* Index in the slab of an index of the tensor. */
static uint64_t slab_index(const amped_dense_plan *d, int mode, uint64_t index) {
  return mode == d->slab_mode ? index - d->first : index;
}

/* Copy a fibre's cells along the fastest mode, at these indices. */
static void copy_fibre(const char *from, const uint64_t *indices, uint64_t offset, uint64_t count,
                       uint64_t bytes, char *to) {
  if (indices[count - 1] - indices[0] == count - 1) {
    memcpy(to, from + (indices[0] - offset) * bytes, count * bytes);
    return;
  }
#define COPY(TYPE)                                                                                 \
  for (uint64_t i = 0; i < count; i++)                                                             \
  ((TYPE *)(void *)to)[i] = ((const TYPE *)(const void *)from)[indices[i] - offset]
  switch (bytes) {
  case 1:
    COPY(uint8_t);
    break;
  case 2:
    COPY(uint16_t);
    break;
  case 4:
    COPY(uint32_t);
    break;
  default:
    COPY(uint64_t);
  }
#undef COPY
}

/* Copy a block's cells at index `slow` of its slowest mode from the slab. */
static void pack(const amped_dense_blocks *b, uint64_t block, uint64_t slow, char *to) {
  const amped_dense_plan *d = &b->plan->dense;
  const int order = b->plan->order;
  const int fastest = d->layout[order - 1];
  const uint64_t bytes = amped_cell_bytes(d->type);
  const uint64_t length = dim_of(b, block, fastest);
  uint64_t fibres = 1;
  for (int k = 1; k < order - 1; k++)
    fibres *= dim_of(b, block, d->layout[k]);
  for (uint64_t f = 0; f < fibres && length > 0; f++) {
    uint64_t rest = f;
    uint64_t stride = d->dims[fastest];
    uint64_t cell = 0;
    for (int k = order - 2; k >= 0; k--) {
      const int m = d->layout[k];
      const uint64_t dim = k > 0 ? dim_of(b, block, m) : 1;
      const uint64_t i = k > 0 ? rest % dim : slow;
      cell += slab_index(d, m, indices_of(b, block, m)[i]) * stride;
      stride *= d->dims[m];
      rest /= dim;
    }
    copy_fibre((const char *)b->part.cells + cell * bytes, indices_of(b, block, fastest),
               fastest == d->slab_mode ? d->first : 0, length, bytes, to + f * length * bytes);
  }
}

/* Copy all blocks' cells. Each index of the slowest mode is one task. */
static void pack_all(amped_dense_blocks *b) {
  const int slowest = b->plan->dense.layout[0];
  const uint64_t bytes = amped_cell_bytes(b->plan->dense.type);
  const uint64_t most = b->shape.dims[slowest];
#pragma omp parallel for schedule(dynamic) num_threads(b->part.threads)
  for (uint64_t i = 0; i < b->count * most; i++) {
    const uint64_t block = i / most;
    const amped_dense_plan *d = &b->dense[block];
    if (i % most < dim_of(b, block, slowest))
      pack(b, block, i % most,
           (char *)b->cells +
               (block * b->largest.cells + i % most * (d->cells / d->dims[slowest])) * bytes);
  }
}

/* Copy all blocks' rows of mode from the factor. */
static void take_rows(amped_dense_blocks *b, int mode) {
  const uint64_t row_bytes = amped_plan_row_bytes(b->plan);
  const char *from = amped_factor_set_cpu_rows(b->part.factors, mode);
  const uint64_t *indices = indices_of(b, 0, mode);
  const uint64_t rows = rows_of(b, mode);
#pragma omp parallel for schedule(static) num_threads(b->part.threads)
  for (uint64_t i = 0; i < rows; i++)
    memcpy(at(b, b->rows[mode], i),
           from + amped_plan_position(b->plan, mode, indices[i]) * row_bytes, row_bytes);
  b->versions[mode] = ++b->clock;
}

static void describe(amped_dense_blocks *b, uint64_t block, const void *cells) {
  amped_dense_plan *d = &b->dense[block];
  const uint64_t bytes = amped_cell_bytes(b->largest.type);
  *d = b->largest;
  d->cells = 1;
  for (int m = 0; m < b->plan->order; m++) {
    d->dims[m] = dim_of(b, block, m);
    d->cells *= d->dims[m];
  }
  b->slabs[block] = (amped_slab_cpu){
      .plan = b->plan,
      .dense = d,
      .cells = cells != NULL ? cells : (char *)b->cells + block * b->largest.cells * bytes,
      .t = (char *)b->t +
           block * (uint64_t)b->plan->value_type * amped_block_contracted(b->plan, &b->shape)};
  for (int m = 0; m < b->plan->order; m++)
    b->slabs[block].rows[m] = at(b, b->rows[m], row_of(b, block, m));
}

static amped_status cpu_take(amped_dense_blocks *b, const amped_block_sets *sets,
                             const void *cells) {
  b->count = sets->count;
  b->largest.cells = 1;
  for (int m = 0; m < b->plan->order; m++) {
    b->largest.cells *= b->shape.dims[m];
    b->indices[m] = sets->indices[m];
    memcpy(b->first[m], sets->first[m], (sets->count + 1) * sizeof *b->first[m]);
    take_rows(b, m);
  }
  for (uint64_t i = 0; i < b->count; i++)
    describe(b, i, cells);
  if (cells == NULL)
    pack_all(b);
  return AMPED_OK;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* MTTKRP of one block by `threads` threads; `thread` selects the share of the workspace. */
static void sum_block(amped_dense_blocks *b, uint64_t block, int mode, int threads, int thread) {
  amped_slab_cpu *slab = &b->slabs[block];
  uint64_t versions[AMPED_MAX_ORDER];
  memcpy(versions, b->versions, sizeof versions);
  if (slab->dense->tree == AMPED_TREE_ONE && b->shape.kept >= 0)
    versions[b->shape.kept] = 0; /* mark as the oldest, so that T contracts another mode */
  slab->threads = threads;
  slab->workspace = (char *)b->workspace + (uint64_t)thread * b->thread_bytes;
  if (slab->dense->cells == 0) {
    memset(at(b, b->sums, row_of(b, block, mode)), 0,
           dim_of(b, block, mode) * amped_plan_row_bytes(b->plan));
    return;
  }
  amped_slab_cpu_contract(slab, mode, versions);
  amped_slab_cpu_rows(slab, mode, 0, dim_of(b, block, mode),
                      at(b, b->sums, row_of(b, block, mode)));
}

static amped_status cpu_mttkrp(amped_dense_blocks *b, int mode) {
  const int threads = b->part.threads;
  b->mode = mode;
  if (b->count < (uint64_t)threads) {
    for (uint64_t i = 0; i < b->count; i++)
      sum_block(b, i, mode, threads, 0);
    return AMPED_OK;
  }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (uint64_t i = 0; i < b->count; i++)
    sum_block(b, i, mode, 1, omp_get_thread_num());
  return AMPED_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* A thread's array `number` of rows in double: 0 to 2. */
static double *thread_rows(const amped_dense_blocks *b, int number) {
  const uint64_t size = CHUNK_ROWS * (uint64_t)b->plan->ncomps;
  return b->dense_rows + (3 * (uint64_t)omp_get_thread_num() + (uint64_t)number) * size;
}

static void rows_to_double(const amped_plan *plan, const void *rows, uint64_t first, uint64_t count,
                           double *to) {
  const uint64_t n = (uint64_t)plan->ncomps;
  for (uint64_t i = 0; i < count; i++)
    amped_values_get(rows, plan->value_type, (first + i) * plan->ld, n, to + i * n);
}

static void rows_from_double(const amped_plan *plan, void *rows, uint64_t first, uint64_t count,
                             const double *from) {
  const uint64_t n = (uint64_t)plan->ncomps;
  for (uint64_t i = 0; i < count; i++)
    amped_values_put(rows, plan->value_type, (first + i) * plan->ld, n, from + i * n);
}

static amped_status cpu_get_sums(amped_dense_blocks *b, double *sums) {
  rows_to_double(b->plan, b->sums, 0, rows_of(b, b->mode), sums);
  return AMPED_OK;
}

static amped_status cpu_put_sums(amped_dense_blocks *b, const double *sums) {
  rows_from_double(b->plan, b->sums, 0, rows_of(b, b->mode), sums);
  return AMPED_OK;
}

static amped_status cpu_get_rows(amped_dense_blocks *b, int mode, double *rows) {
  rows_to_double(b->plan, b->rows[mode], 0, rows_of(b, mode), rows);
  return AMPED_OK;
}

static amped_status cpu_put_rows(amped_dense_blocks *b, int mode, uint64_t count,
                                 const uint64_t *indices, const double *rows) {
  const uint64_t n = (uint64_t)b->plan->ncomps;
  for (uint64_t i = 0; i < count; i++)
    AMPED_TRY(amped_factor_set_cpu.put_rows(
        b->part.factors, mode, amped_plan_position(b->plan, mode, indices[i]), 1, rows + i * n));
  return AMPED_OK;
}

static void block_gram(const amped_dense_blocks *b, uint64_t block, int mode, double *gram) {
  const int n = b->plan->ncomps;
  const size_t size = (size_t)n;
  const uint64_t rows = dim_of(b, block, mode);
  double *in = thread_rows(b, 0);
  memset(gram, 0, size * size * sizeof *gram);
  for (uint64_t i = 0; i < rows; i += CHUNK_ROWS) {
    const uint64_t count = rows - i < CHUNK_ROWS ? rows - i : CHUNK_ROWS;
    rows_to_double(b->plan, b->rows[mode], row_of(b, block, mode) + i, count, in);
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, n, (int)count, 1.0, in, n, 1.0, gram, n);
  }
  for (size_t r = 0; r < size; r++)
    for (size_t s = 0; s < r; s++)
      gram[s * size + r] = gram[r * size + s];
}

static amped_status cpu_grams(amped_dense_blocks *b, int mode, double *grams) {
  const uint64_t n = (uint64_t)b->plan->ncomps;
#pragma omp parallel for schedule(dynamic) num_threads(b->part.threads)
  for (uint64_t i = 0; i < b->count; i++)
    block_gram(b, i, mode, grams + i * n * n);
  return AMPED_OK;
}

/* Rule of the update: new rows by p and keep, or by row descent if p is NULL. One matrix per
 * block. */
typedef struct row_rule {
  const double *p, *keep;
  const double *v, *weight;
} row_rule;

static void descend_rows(const amped_dense_blocks *b, uint64_t count, const row_rule *rule,
                         uint64_t block, const double *in, double *sums, double *out) {
  const int n = b->plan->ncomps;
  const size_t size = (size_t)n;
  const double zeros[AMPED_MAX_NCOMPS] = {0.0};
  const amped_row_descent d = {
      .nonnegative = true, .v = rule->v + block * size * size, .shrink = zeros};
  cblas_daxpy((int)count * n, rule->weight[block], in, 1, sums, 1);
  memcpy(out, in, count * size * sizeof *out);
  for (uint64_t i = 0; i < count; i++)
    amped_row_descent_cpu(n, &d, sums + i * size, out + i * size);
}

static void solve_rows(const amped_dense_blocks *b, uint64_t count, const row_rule *rule,
                       uint64_t block, const double *in, const double *sums, double *out) {
  const int n = b->plan->ncomps;
  const uint64_t at_matrix = block * (uint64_t)n * (uint64_t)n;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, n, n, 1.0, sums, n,
              rule->p + at_matrix, n, 0.0, out, n);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, n, n, 1.0, in, n,
              rule->keep + at_matrix, n, 1.0, out, n);
}

/* Update a block's rows from `first` on, at most CHUNK_ROWS. */
static amped_rows_moved solve_chunk(amped_dense_blocks *b, uint64_t block, int mode, uint64_t first,
                                    const row_rule *rule) {
  const int n = b->plan->ncomps;
  const uint64_t left = dim_of(b, block, mode) - first;
  const uint64_t count = left < CHUNK_ROWS ? left : CHUNK_ROWS;
  const uint64_t row = row_of(b, block, mode) + first;
  double *in = thread_rows(b, 0);
  double *out = thread_rows(b, 1);
  amped_rows_moved moved = {0.0, 0.0};
  double *sums = thread_rows(b, 2);
  rows_to_double(b->plan, b->rows[mode], row, count, in);
  rows_to_double(b->plan, b->sums, row, count, sums);
  if (rule->p != NULL)
    solve_rows(b, count, rule, block, in, sums, out);
  else
    descend_rows(b, count, rule, block, in, sums, out);
  rows_from_double(b->plan, b->rows[mode], row, count, out);
  for (uint64_t i = 0; i < count * (uint64_t)n; i++) {
    moved.moved += (out[i] - in[i]) * (out[i] - in[i]);
    moved.size += in[i] * in[i];
  }
  return moved;
}

static void make_rows(amped_dense_blocks *b, int mode, const row_rule *rule,
                      amped_rows_moved *moved) {
  const uint64_t chunks = chunks_of(&b->shape, mode);
#pragma omp parallel for schedule(dynamic) num_threads(b->part.threads)
  for (uint64_t i = 0; i < b->count * chunks; i++) {
    const uint64_t block = i / chunks;
    const uint64_t first = i % chunks * CHUNK_ROWS;
    b->moved[i] = (amped_rows_moved){0.0, 0.0};
    if (first < dim_of(b, block, mode))
      b->moved[i] = solve_chunk(b, block, mode, first, rule);
  }
  for (uint64_t i = 0; i < b->count * chunks; i++) {
    moved->moved += b->moved[i].moved;
    moved->size += b->moved[i].size;
  }
  b->versions[mode] = ++b->clock;
}

static amped_status cpu_solve(amped_dense_blocks *b, int mode, const double *p, const double *keep,
                              amped_rows_moved *moved) {
  const row_rule rule = {.p = p, .keep = keep};
  make_rows(b, mode, &rule, moved);
  return AMPED_OK;
}

static amped_status cpu_descend(amped_dense_blocks *b, int mode, const double *v,
                                const double *weight, amped_rows_moved *moved) {
  const row_rule rule = {.v = v, .weight = weight};
  make_rows(b, mode, &rule, moved);
  return AMPED_OK;
}

/* --- single cells ----------------------------------------------------------------------------- */

static amped_status cpu_get_cells(amped_dense_blocks *b, uint64_t count,
                                  const uint64_t *const *indices, double *cells) {
  const amped_dense_plan *d = &b->plan->dense;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t cell = 0;
    for (int k = 0; k < b->plan->order; k++) {
      const int m = d->layout[k];
      cell = cell * d->dims[m] + slab_index(d, m, indices[m][i]);
    }
    amped_cells_get(b->part.cells, d->type, cell, 1, &cells[i]);
  }
  return AMPED_OK;
}

static double model_value(const amped_dense_blocks *b, const uint64_t *const *indices, uint64_t i,
                          const double *weights) {
  const amped_plan *plan = b->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
  double products[AMPED_MAX_NCOMPS];
  double row[AMPED_MAX_NCOMPS];
  double sum = 0.0;
  memcpy(products, weights, n * sizeof *products);
  for (int m = 0; m < plan->order; m++) {
    amped_values_get(amped_factor_set_cpu_rows(b->part.factors, m), plan->value_type,
                     amped_plan_position(plan, m, indices[m][i]) * plan->ld, n, row);
    for (uint64_t r = 0; r < n; r++)
      products[r] *= row[r];
  }
  for (uint64_t r = 0; r < n; r++)
    sum += products[r];
  return sum;
}

static amped_status cpu_misses(amped_dense_blocks *b, uint64_t count,
                               const uint64_t *const *indices, const double *cells,
                               const double *weights, double *misses) {
#pragma omp parallel for schedule(static) num_threads(b->part.threads)
  for (uint64_t i = 0; i < count; i++)
    misses[i] = cells[i] - model_value(b, indices, i, weights);
  return AMPED_OK;
}

/* --- exact sums ------------------------------------------------------------------------------- */

static amped_status block_products(amped_dense_blocks *b, uint64_t block, double scale,
                                   const double *weights, amped_products *out) {
  const amped_plan *plan = b->plan;
  const amped_slab_cpu *slab = &b->slabs[block];
  amped_dense_products p = amped_dense_products_of(plan, scale, weights);
  p.cells = slab->cells;
  for (int k = 0; k < plan->order; k++) {
    p.dims[k] = slab->dense->dims[slab->dense->layout[k]];
    p.factors[k] = slab->rows[slab->dense->layout[k]];
  }
  return amped_dense_products_cpu(&p, b->part.threads, out);
}

static amped_status cpu_products(amped_dense_blocks *b, double scale, const double *weights,
                                 amped_products *out) {
  *out = (amped_products){.xx = {0.0, 0.0}};
  for (uint64_t i = 0; i < b->count; i++) {
    amped_products one = {.xx = {0.0, 0.0}};
    if (b->slabs[i].dense->cells > 0)
      AMPED_TRY(block_products(b, i, scale, weights, &one));
    out->xx = amped_dd_add(out->xx, one.xx);
    out->xm = amped_dd_add(out->xm, one.xm);
  }
  return AMPED_OK;
}

const amped_dense_block_ops amped_dense_block_cpu = {
    .require = cpu_require,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .take = cpu_take,
    .mttkrp = cpu_mttkrp,
    .get_sums = cpu_get_sums,
    .put_sums = cpu_put_sums,
    .grams = cpu_grams,
    .solve = cpu_solve,
    .descend = cpu_descend,
    .get_rows = cpu_get_rows,
    .put_rows = cpu_put_rows,
    .get_cells = cpu_get_cells,
    .misses = cpu_misses,
    .products = cpu_products,
};
