/* Dense blocks: MTTKRP, grams and new rows of blocks against the oracle and the definitions, for
 * all orders, layouts, slab modes and cell types; single cells; rows that go back to the factors.
 */
#include "tests/lib/testing_slabs.h"

/* Indices of each block: every third of the rank's own, from the block's number on, and random ones
 * of the other modes. The last block has none of mode 0 where `empty`. */
typedef struct sets {
  amped_block_sets sets;
  uint64_t *indices[AMPED_MAX_ORDER], *first[AMPED_MAX_ORDER];
  amped_block_shape shape;
} sets;

static bool is_in(const amped_plan *plan, int mode, uint64_t block, uint64_t index, bool empty) {
  const amped_dense_plan *d = &plan->dense;
  if (empty && mode == 0 && block == 2)
    return false;
  if (mode == d->slab_mode)
    return index >= d->first && index - d->first < d->count && index % 3 == block;
  return amped_random_u64(11 + block, (uint64_t)mode, index) % 2 == 0;
}

static void sets_create(sets *s, const amped_plan *plan, uint64_t count, bool empty) {
  memset(s, 0, sizeof *s);
  s->sets.count = s->shape.count = count;
  s->shape.kept = count == 1 ? plan->dense.slab_mode : -1;
  for (int m = 0; m < plan->order; m++) {
    uint64_t n = 0;
    check_ok(amped_calloc(&s->indices[m], count * plan->dims[m], sizeof(uint64_t), "a test"));
    check_ok(amped_calloc(&s->first[m], count + 1, sizeof(uint64_t), "a test"));
    for (uint64_t b = 0; b < count; b++) {
      s->first[m][b] = n;
      for (uint64_t i = 0; i < plan->dims[m]; i++)
        if (is_in(plan, m, b, i, empty))
          s->indices[m][n++] = i;
      if (n - s->first[m][b] > s->shape.dims[m])
        s->shape.dims[m] = n - s->first[m][b];
    }
    s->first[m][count] = n;
    s->sets.indices[m] = s->indices[m];
    s->sets.first[m] = s->first[m];
  }
}

static void sets_free(sets *s) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(s->indices[m]);
    amped_free(s->first[m]);
  }
}

static uint64_t size_of(const sets *s, int mode, uint64_t block) {
  return s->first[mode][block + 1] - s->first[mode][block];
}

/* A block as a tensor of its own, with its rows of the factors. */
typedef struct small {
  amped_sptensor t;
  double *factors[AMPED_MAX_ORDER];
} small;

static void small_create(small *b, const dense *x, const sets *s, uint64_t block,
                         double *const *rows) {
  const int order = x->dense.order;
  uint64_t cells = 1;
  memset(b, 0, sizeof *b);
  for (int m = 0; m < order; m++)
    cells *= size_of(s, m, block);
  check_ok(amped_sptensor_create(&b->t, order, cells));
  for (int m = 0; m < order; m++) {
    b->t.dims[m] = size_of(s, m, block);
    b->factors[m] = rows[m] + s->first[m][block] * (uint64_t)x->ncomps;
  }
  for (uint64_t i = 0; i < cells; i++) {
    uint64_t rest = i;
    uint64_t number = 0;
    for (int m = order - 1; m >= 0; m--) {
      b->t.indices[m][i] = rest % b->t.dims[m];
      rest /= b->t.dims[m];
    }
    for (int m = 0; m < order; m++)
      number = number * x->dense.dims[m] + s->indices[m][s->first[m][block] + b->t.indices[m][i]];
    b->t.values[i] = x->t.values[number];
  }
}

/* One rank, with rows of all blocks as the test follows them. */
typedef struct rank_blocks {
  const dense *x;
  const amped_plan *plan;
  const amped_worker *w;
  const amped_dense_block_ops *ops;
  sets s;
  amped_dense_blocks *blocks;
  double *rows[AMPED_MAX_ORDER];
} rank_blocks;

static uint64_t all_rows(const rank_blocks *r, int mode) {
  return r->s.first[mode][r->s.sets.count];
}

static void open_blocks(rank_blocks *r, const team *t, int p, uint64_t count, bool empty) {
  uint64_t bytes[2] = {0, 0};
  *r = (rank_blocks){.x = t->x, .plan = &t->plans[p], .w = &t->workers[p]};
  const uint64_t n = (uint64_t)r->plan->ncomps;
  r->ops = r->w->format->dense_blocks;
  sets_create(&r->s, r->plan, count, empty);
  check_ok(r->ops->require(r->w->device, r->plan, &r->s.shape, &bytes[0], &bytes[1]));
  ck_assert(bytes[0] + bytes[1] > 0);
  const memory before = memory_now();
  check_ok(r->ops->create(r->w->tensor, &r->s.shape, &r->blocks));
  memory_within("dense blocks", before, bytes[0], bytes[1]);
  for (int m = 0; m < r->plan->order; m++) {
    r->rows[m] = doubles(all_rows(r, m) * n + 1);
    for (uint64_t i = 0; i < all_rows(r, m); i++)
      memcpy(r->rows[m] + i * n, t->x->factors[m] + r->s.indices[m][i] * n, n * sizeof(double));
  }
}

static void close_blocks(rank_blocks *r) {
  for (int m = 0; m < r->plan->order; m++)
    amped_free(r->rows[m]);
  r->ops->destroy(r->blocks);
  sets_free(&r->s);
}

/* As in check_dense.c: a sum of n products of N numbers, in float at most what is promised; on GPUs
 * with what products of floats leave out. */
static double tolerance(const dense *x, uint64_t count) {
  const bool cuts = x->value_type == AMPED_F32 && backend()->device_pointers;
  const double own =
      (double)(count + (uint64_t)x->dense.order + 6) * x->eps + (cuts ? 0x1p-17 : 0.0);
  const double promised = x->value_type == AMPED_F32 ? 1e-5 : 1e-12;
  return own < promised ? own : promised;
}

static void sums_are_right(const rank_blocks *r, int mode) {
  const uint64_t n = (uint64_t)r->plan->ncomps;
  double *got = doubles(all_rows(r, mode) * n + 1);
  check_ok(r->ops->mttkrp(r->blocks, mode));
  check_ok(r->ops->get_sums(r->blocks, got));
  for (uint64_t b = 0; b < r->s.sets.count; b++) {
    const uint64_t rows = size_of(&r->s, mode, b);
    small block;
    uint64_t *count = NULL;
    double *want = doubles(rows * n + 1);
    double *bound = doubles(rows * n + 1);
    check_ok(amped_calloc(&count, rows + 1, sizeof *count, "a test"));
    small_create(&block, r->x, &r->s, b, r->rows);
    amped_mttkrp(&block.t, mode, (const double *const *)block.factors, (int)n, want, bound, count);
    for (uint64_t i = 0; i < rows * n; i++)
      near(got[r->s.first[mode][b] * n + i], want[i], tolerance(r->x, count[i / n]) * bound[i],
           "sums", i / n, i % n);
    amped_sptensor_free(&block.t);
    amped_free(count);
    amped_free(want);
    amped_free(bound);
  }
  amped_free(got);
}

static void grams_are_right(const rank_blocks *r, int mode) {
  const uint64_t n = (uint64_t)r->plan->ncomps;
  double *got = doubles(r->s.sets.count * n * n);
  check_ok(r->ops->grams(r->blocks, mode, got));
  for (uint64_t b = 0; b < r->s.sets.count; b++)
    for (uint64_t i = 0; i < n * n; i++) {
      double want = 0.0;
      double bound = 0.0;
      for (uint64_t k = r->s.first[mode][b]; k < r->s.first[mode][b + 1]; k++) {
        const double term = r->rows[mode][k * n + i / n] * r->rows[mode][k * n + i % n];
        want += term;
        bound += fabs(term);
      }
      near(got[b * n * n + i], want, (double)(all_rows(r, mode) + 2) * DBL_EPSILON * bound, "gram",
           i / n, i % n);
    }
  amped_free(got);
}

/* Element (i, c) of sums * p + old * keep, and the sum of the terms' sizes. */
static double solved(const rank_blocks *r, const double *sums, const double *old, const double *p,
                     const double *keep, uint64_t c, double *bound) {
  const uint64_t n = (uint64_t)r->plan->ncomps;
  double sum = 0.0;
  *bound = 0.0;
  for (uint64_t k = 0; k < n; k++) {
    sum += sums[k] * p[k * n + c] + old[k] * keep[k * n + c];
    *bound += fabs(sums[k] * p[k * n + c]) + fabs(old[k] * keep[k * n + c]);
  }
  return sum;
}

static void rows_are_right(rank_blocks *r, int mode) {
  const uint64_t n = (uint64_t)r->plan->ncomps;
  const uint64_t rows = all_rows(r, mode);
  double *p = random_rows(r->s.sets.count * n, (int)n, AMPED_F64, 21);
  double *keep = random_rows(r->s.sets.count * n, (int)n, AMPED_F64, 22);
  double *sums = doubles(rows * n + 1);
  double *got = doubles(rows * n + 1);
  amped_rows_moved moved = {1.0, 2.0};
  double want_moved = 1.0;
  double want_size = 2.0;
  check_ok(r->ops->get_sums(r->blocks, sums));
  check_ok(r->ops->put_sums(r->blocks, sums));
  check_ok(r->ops->solve(r->blocks, mode, p, keep, &moved));
  check_ok(r->ops->get_rows(r->blocks, mode, got));
  for (uint64_t b = 0; b < r->s.sets.count; b++)
    for (uint64_t i = r->s.first[mode][b]; i < r->s.first[mode][b + 1]; i++)
      for (uint64_t c = 0; c < n; c++) {
        const double *old = r->rows[mode] + i * n;
        double bound = 0.0;
        const double want =
            solved(r, sums + i * n, old, p + b * n * n, keep + b * n * n, c, &bound);
        near(got[i * n + c], want, ((double)n * DBL_EPSILON + r->x->eps) * bound, "row", i, c);
        want_moved += (want - old[c]) * (want - old[c]);
        want_size += old[c] * old[c];
      }
  near(moved.moved, want_moved, 1e-10 * want_moved, "moved", 0, 0);
  near(moved.size, want_size, 1e-10 * want_size, "size", 0, 0);
  memcpy(r->rows[mode], got, rows * n * sizeof *got);
  amped_free(p);
  amped_free(keep);
  amped_free(sums);
  amped_free(got);
}

/* What was taken is worked on; then the rows of the slab mode go back to the factors, and no other
 * row changes. */
static void rows_go_back(const rank_blocks *r) {
  const int mode = r->plan->dense.slab_mode;
  const uint64_t n = (uint64_t)r->plan->ncomps;
  const uint64_t rows = all_rows(r, mode);
  double *got = doubles(n);
  check_ok(r->ops->put_rows(r->blocks, mode, rows, r->s.indices[mode], r->rows[mode]));
  for (uint64_t i = 0; i < r->plan->dims[mode]; i++) {
    const double *want = r->x->factors[mode] + i * n;
    for (uint64_t k = 0; k < rows; k++)
      if (r->s.indices[mode][k] == i)
        want = r->rows[mode] + k * n;
    check_ok(r->w->backend->factors->get_rows(r->w->factors, mode,
                                              amped_plan_position(r->plan, mode, i), 1, got));
    for (uint64_t c = 0; c < n; c++)
      near(got[c], want[c], 0.0, "factor", i, c);
  }
  amped_free(got);
}

static void blocks_are_right(dense *x, const ways *how, uint64_t count, bool empty) {
  team t;
  team_open(&t, x, how);
  for (int p = 0; p < t.nranks; p++) {
    rank_blocks r;
    open_blocks(&r, &t, p, count, empty);
    for (int turn = 0; turn < 2; turn++) {
      check_ok(r.ops->take(r.blocks, &r.s.sets, NULL));
      for (int m = 0; m < x->dense.order; m++) {
        sums_are_right(&r, m);
        grams_are_right(&r, m);
        rows_are_right(&r, m);
        grams_are_right(&r, m);
      }
      for (int m = 0; m < x->dense.order; m++) /* a second take begins from the factors again */
        for (uint64_t i = 0; i < all_rows(&r, m) && turn == 0; i++)
          memcpy(r.rows[m] + i * (uint64_t)x->ncomps,
                 x->factors[m] + r.s.indices[m][i] * (uint64_t)x->ncomps,
                 (size_t)x->ncomps * sizeof(double));
    }
    rows_go_back(&r);
    close_blocks(&r);
  }
  team_close(&t);
}

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST(blocks_equal_the_oracle) {
  for (size_t s = 0; s < SHAPES; s++)
    for (int kind = 0; kind < 3; kind++)
      for (int nranks = 1; nranks <= MOST_RANKS; nranks += 1 + (int)s % 2) {
        dense x;
        shape_create(&x, s, kind, AMPED_CELL_F32, NCOMPS(s + (size_t)kind),
                     nranks % 2 == 1 ? AMPED_F64 : AMPED_F32);
        blocks_are_right(&x,
                         &(ways){.nranks = nranks,
                                 .slab_mode = (nranks + kind) % shapes[s].order,
                                 .tree = kind % 2},
                         1 + (s + (size_t)nranks) % 3, s % 4 == 1);
        dense_free(&x);
      }
  check_no_leak();
}
END_TEST

START_TEST(cells_of_all_types_are_packed) {
  for (int type = 0; type < AMPED_CELL_TYPES; type++)
    for (int kind = 0; kind < 3; kind++) {
      dense x;
      shape_create(&x, 3 + 6 * (size_t)(type % 2), kind, (amped_cell_type)type,
                   NCOMPS((size_t)type), AMPED_F64);
      blocks_are_right(&x, &(ways){.nranks = 1 + kind, .slab_mode = -1, .tree = -1}, 3, false);
      dense_free(&x);
    }
  check_no_leak();
}
END_TEST

/* Cells that the caller brings, of one block; the part's are not looked at. */
START_TEST(cells_may_be_brought) {
  dense x;
  team t;
  rank_blocks r;
  float *cells = NULL;
  small block;
  shape_create(&x, 3, 0, AMPED_CELL_F32, 5, AMPED_F64);
  team_open(&t, &x, &(ways){.nranks = 1, .slab_mode = -1, .tree = -1});
  open_blocks(&r, &t, 0, 1, false);
  small_create(&block, &x, &r.s, 0, r.rows);
  check_ok(amped_alloc(&cells, block.t.nnz, sizeof *cells, "a test"));
  for (uint64_t i = 0; i < block.t.nnz; i++)
    cells[i] = (float)block.t.values[i];
  memset(x.cells, 0, x.dense.cells * sizeof(float));
  check_ok(r.ops->take(r.blocks, &r.s.sets, cells));
  for (int m = 0; m < 3; m++)
    sums_are_right(&r, m);
  amped_free(cells);
  amped_sptensor_free(&block.t);
  close_blocks(&r);
  team_close(&t);
  dense_free(&x);
  check_no_leak();
}
END_TEST

/* Rows near the least that are nonnegative: slopes are 0, or not below 0 where the entry is 0. */
START_TEST(descended_rows_are_nonnegative_and_least) {
  dense x;
  team t;
  rank_blocks r;
  const uint64_t n = 3;
  shape_create(&x, 3, 0, AMPED_CELL_F32, (int)n, AMPED_F64);
  team_open(&t, &x, &(ways){.nranks = 1, .slab_mode = -1, .tree = -1});
  open_blocks(&r, &t, 0, 3, false);
  double *v = doubles(3 * n * n);
  double *rows = doubles(all_rows(&r, 0) * n);
  double *sums = doubles(all_rows(&r, 0) * n);
  const double weight[] = {0.5, 2.0, 1e-3};
  amped_rows_moved moved = {0.0, 0.0};
  for (uint64_t b = 0; b < 3; b++)
    for (uint64_t i = 0; i < n * n; i++)
      v[b * n * n + i] = i % (n + 1) == 0 ? 2.0 + (double)b : 0.25;
  check_ok(r.ops->take(r.blocks, &r.s.sets, NULL));
  check_ok(r.ops->mttkrp(r.blocks, 0));
  check_ok(r.ops->get_sums(r.blocks, sums));
  check_ok(r.ops->descend(r.blocks, 0, v, weight, &moved));
  check_ok(r.ops->get_rows(r.blocks, 0, rows));
  ck_assert(moved.moved > 0.0 && moved.size > 0.0);
  for (uint64_t b = 0; b < 3; b++)
    for (uint64_t i = r.s.first[0][b]; i < r.s.first[0][b + 1]; i++)
      for (uint64_t c = 0; c < n; c++) {
        double slope = -sums[i * n + c] - weight[b] * r.rows[0][i * n + c];
        double size = fabs(slope);
        for (uint64_t k = 0; k < n; k++)
          slope += rows[i * n + k] * v[b * n * n + k * n + c];
        ck_assert(rows[i * n + c] >= 0.0);
        /* A pass changes by a hundredth of the first; off the diagonal is an eighth, at most. */
        near(rows[i * n + c] > 0.0 ? slope : fmin(slope, 0.0), 0.0, 0.02 * (size + 1.0), "slope", i,
             c);
      }
  amped_free(v);
  amped_free(rows);
  amped_free(sums);
  close_blocks(&r);
  team_close(&t);
  dense_free(&x);
  check_no_leak();
}
END_TEST

START_TEST(single_cells_and_their_misses) {
  enum { CELLS = 3000 };
  dense x;
  team t;
  rank_blocks r;
  shape_create(&x, 9, 1, AMPED_CELL_I16, 5, AMPED_F32);
  team_open(&t, &x, &(ways){.nranks = 2, .slab_mode = 1, .tree = -1});
  open_blocks(&r, &t, 1, 1, false);
  const amped_dense_plan *d = &r.plan->dense;
  uint64_t *indices[AMPED_MAX_ORDER] = {NULL};
  double *cells = doubles(CELLS);
  double *weights = random_rows(1, 5, AMPED_F64, 3);
  double *want = doubles(CELLS);
  double *got = doubles(CELLS);
  for (int m = 0; m < r.plan->order; m++) {
    check_ok(amped_alloc(&indices[m], CELLS, sizeof(uint64_t), "a test"));
    for (uint64_t i = 0; i < CELLS; i++)
      indices[m][i] = (m == 1 ? d->first : 0) + amped_random_u64(2, (uint64_t)m, i) % d->dims[m];
  }
  check_ok(r.ops->get_cells(r.blocks, CELLS, (const uint64_t *const *)indices, cells));
  for (uint64_t i = 0; i < CELLS; i++) {
    uint64_t number = 0;
    double model = 0.0;
    for (int m = 0; m < r.plan->order; m++)
      number = number * x.dense.dims[m] + indices[m][i];
    ck_assert(cells[i] == x.t.values[number]);
    for (uint64_t c = 0; c < 5; c++) {
      double product = weights[c];
      for (int m = 0; m < r.plan->order; m++)
        product *= x.factors[m][indices[m][i] * 5 + c];
      model += product;
    }
    want[i] = cells[i] - model;
  }
  check_ok(r.ops->misses(r.blocks, CELLS, (const uint64_t *const *)indices, cells, weights, got));
  for (uint64_t i = 0; i < CELLS; i++) {
    /* five products of four numbers, and their sum, beside the cell */
    const double size = fabs(cells[i]) + fabs(cells[i] - want[i]) + 5.0;
    near(got[i], want[i], 16 * DBL_EPSILON * size, "a miss", i, 0);
  }
  for (int m = 0; m < r.plan->order; m++)
    amped_free(indices[m]);
  amped_free(cells);
  amped_free(weights);
  amped_free(want);
  amped_free(got);
  close_blocks(&r);
  team_close(&t);
  dense_free(&x);
  check_no_leak();
}
END_TEST

/* Sums over the cells of all blocks, one of which is empty, against a sum in long double. */
static void check_products(amped_vtype value_type, int layout) {
  dense x;
  team t;
  rank_blocks r;
  const int n = 3;
  amped_products got;
  long double want[] = {0.0L, 0.0L};
  const double weights[] = {0.5, -1.25, 2.0};
  shape_create(&x, 3, layout, AMPED_CELL_F32, n, value_type);
  team_open(&t, &x, &(ways){.nranks = 1, .slab_mode = -1, .tree = -1});
  open_blocks(&r, &t, 0, 3, true);
  check_ok(r.ops->take(r.blocks, &r.s.sets, NULL));
  check_ok(r.ops->products(r.blocks, 0.25, weights, &got));
  for (uint64_t b = 0; b < 3; b++) {
    small s;
    small_create(&s, &x, &r.s, b, r.rows);
    for (uint64_t i = 0; i < s.t.nnz; i++) {
      const long double value = 0.25L * (long double)s.t.values[i];
      long double model = 0.0L;
      for (int c = 0; c < n; c++) {
        long double product = (long double)weights[c];
        for (int m = 0; m < r.plan->order; m++)
          product *= (long double)s.factors[m][s.t.indices[m][i] * (uint64_t)n + (uint64_t)c];
        model += product;
      }
      want[0] += value * value;
      want[1] += value * model;
    }
    amped_sptensor_free(&s.t);
  }
  ck_assert(want[0] > 0.0L);
  near(got.xx.hi, (double)want[0], 1e-15 * (double)want[0], "x x", 0, 0);
  near(got.xm.hi, (double)want[1], 1e-15 * (double)(want[0] + 8.0L * fabsl(want[1])), "x m", 0, 0);
  close_blocks(&r);
  team_close(&t);
  dense_free(&x);
}

START_TEST(products_are_exact_sums) {
  for (int layout = 0; layout < 2; layout++) {
    check_products(AMPED_F32, layout);
    check_products(AMPED_F64, layout);
  }
  check_no_leak();
}
END_TEST

TESTING_MAIN("dense_block", blocks_equal_the_oracle, cells_of_all_types_are_packed,
             cells_may_be_brought, descended_rows_are_nonnegative_and_least,
             single_cells_and_their_misses, products_are_exact_sums)
