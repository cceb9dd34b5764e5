/* Common parts of the tests of all backends: random problems, one rank of a plan, comparisons.
 *
 * AMPED_TEST_BACKEND names the backend ("cpu" unless set). A backend that this program or machine
 * lacks is a failure. */
#ifndef AMPED_TESTING_BACKEND_H
#define AMPED_TESTING_BACKEND_H

#include <float.h>
#include <math.h>

#include "backend/backend.h"
#include "plan/overlap.h"
#include "tests/lib/oracle_mttkrp.h"
#include "base/random.h"
#include "tests/lib/testing.h"
#include "tests/lib/testing_rates.h"

/* A tensor, its info for the plan, and factors in file order, exact in value_type. */
typedef struct problem {
  amped_sptensor t;
  amped_tensor_info info;
  double *factors[AMPED_MAX_ORDER];
  int ncomps;
  amped_vtype value_type;
  double eps;
  bool as_made; /* nonzeros stay in their order; else they are sorted by the current mode */
} problem;

typedef struct setup {
  int rank, nranks;
  amped_itype index_type; /* 0: the plan's type */
  amped_placement placement;
  int parts;     /* 0: blocks are whole */
  double travel; /* above 0: replaces the plan's estimate */
  amped_copy_needs needs;
  amped_backend_options options;
} setup;

/* One rank with its shard of a problem. */
typedef struct bench {
  problem *p;
  amped_plan plan;
  amped_worker w;
} bench;

static inline const amped_backend *backend(void) {
  const char *name = getenv("AMPED_TEST_BACKEND");
  const char *reason = "";
  if (name == NULL || name[0] == '\0')
    name = "cpu";
  const amped_backend *b = amped_backend_find(name);
  ck_assert_msg(b != NULL, "AMPED_TEST_BACKEND=%s: this program has no such backend", name);
  ck_assert_msg(b->device->available(&reason), "AMPED_TEST_BACKEND=%s: %s", name, reason);
  return b;
}

static inline void *doubles(uint64_t count) {
  double *out = NULL;
  check_ok(amped_calloc(&out, count, sizeof *out, "a test"));
  return out;
}

static inline double rounded(double x, amped_vtype type) {
  return type == AMPED_F32 ? (double)(float)x : x;
}

/* Numbers in [-1, 1), exact in `type`. */
static inline double *random_rows(uint64_t rows, int ncomps, amped_vtype type, uint64_t seed) {
  double *out = doubles(rows * (uint64_t)ncomps);
  for (uint64_t i = 0; i < rows * (uint64_t)ncomps; i++)
    out[i] = rounded(2.0 * amped_random_double(seed, 99, i) - 1.0, type);
  return out;
}

/* In odd modes every third index is empty; in the last mode half of the nonzeros are in row 0. */
static inline uint64_t random_index(const problem *p, int mode, uint64_t k) {
  uint64_t i = amped_random_u64(7, (uint64_t)mode, k) % p->t.dims[mode];
  if (mode == p->t.order - 1 && amped_random_u64(8, 0, k) % 2 == 0)
    return 0;
  return mode % 2 == 1 && i % 3 == 2 ? i - 1 : i;
}

static inline void problem_create(problem *p, int order, const uint64_t *dims, uint64_t nnz,
                                  int ncomps, amped_vtype type) {
  memset(p, 0, sizeof *p);
  p->ncomps = ncomps;
  p->value_type = type;
  p->eps = type == AMPED_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
  check_ok(amped_sptensor_create(&p->t, order, nnz));
  memcpy(p->t.dims, dims, (size_t)order * sizeof *dims);
  for (uint64_t k = 0; k < nnz; k++) {
    for (int m = 0; m < order; m++)
      p->t.indices[m][k] = random_index(p, m, k);
    p->t.values[k] = rounded(4.0 * amped_random_double(9, 0, k) - 1.0, type);
  }
  p->info.order = order;
  p->info.nnz = nnz;
  p->info.value_type = type;
  p->info.has_copies = true;
  for (int m = 0; m < order; m++) {
    p->info.dims[m] = dims[m];
    p->info.index_types[m] = amped_itype_for(dims[m]);
    p->factors[m] = random_rows(dims[m], ncomps, type, (uint64_t)m);
    check_ok(amped_sptensor_sort(&p->t, m));
    check_ok(amped_partition_create(&p->info.partitions[m], dims[m], p->t.indices[m], nnz));
  }
}

static inline void problem_free(problem *p) {
  for (int m = 0; m < p->t.order; m++) {
    amped_free(p->factors[m]);
    amped_partition_free(&p->info.partitions[m]);
  }
  amped_sptensor_free(&p->t);
}

/* --- memory ------------------------------------------------------------------------------------*/

typedef struct memory {
  int64_t bytes[AMPED_MEM_KINDS], blocks;
} memory;

static inline memory memory_now(void) {
  amped_mem_keep(); /* the C library would round blocks to pages */
  return (memory){{amped_mem_bytes(AMPED_MEM_HOST), amped_mem_bytes(AMPED_MEM_DEVICE)},
                  amped_mem_live()};
}

/* An object that was made since `before` takes at most what its require said. The object's own
 * record is not counted: 4 KiB; nor is the rounding of a block of host memory: 96 bytes. */
static inline void memory_within(const char *object, memory before, uint64_t device_bytes,
                                 uint64_t host_bytes) {
  const memory now = memory_now();
  const int64_t host = now.bytes[AMPED_MEM_HOST] - before.bytes[AMPED_MEM_HOST] - 4096 -
                       96 * (now.blocks - before.blocks);
  const int64_t device = now.bytes[AMPED_MEM_DEVICE] - before.bytes[AMPED_MEM_DEVICE];
  ck_assert_msg(host <= (int64_t)host_bytes && device <= (int64_t)device_bytes,
                "%s: %" PRId64 " bytes of host and %" PRId64
                " of device memory are more than %" PRIu64 " and %" PRIu64,
                object, host, device, host_bytes, device_bytes);
}

/* --- one rank ----------------------------------------------------------------------------------*/

static inline uint64_t block_first(const amped_plan *plan, int mode) {
  return (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
}

/* The row of an index in the rank's MTTKRP result; AMPED_NO_ROW where the rank has no part of its
 * iDp. */
static inline uint64_t output_row(const amped_plan *plan, int mode, uint64_t index) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t first = m->copy.row[index / m->rows.width];
  return first == AMPED_NO_ROW ? first : first + index % m->rows.width;
}

/* part[k] tells where nonzero k is, in the order for mode: 0, not in the rank's shard; 1, in an iDp
 * of the rank; 2, in a split iDp. */
static inline char *mark_shard(const bench *s, int mode) {
  const amped_mode_plan *m = &s->plan.modes[mode];
  amped_sptensor *t = &s->p->t;
  char *part = NULL;
  uint64_t *seen = NULL;
  if (!s->p->as_made)
    check_ok(amped_sptensor_sort(t, mode));
  check_ok(amped_calloc(&part, t->nnz, 1, "a test"));
  check_ok(amped_calloc(&seen, m->copy.split_count + 1, sizeof *seen, "a test"));
  for (uint64_t k = 0; k < t->nnz; k++) {
    uint64_t idp = t->indices[mode][k] / m->rows.width;
    uint64_t split = amped_plan_split_of(m, idp);
    if (split == m->copy.split_count)
      part[k] = m->rows.owner[idp] == s->plan.rank ? 1 : 0;
    else if (amped_plan_split_rank(m, s->plan.nranks,
                                   m->copy.splits[split].first + seen[split]++) == s->plan.rank)
      part[k] = 2;
  }
  amped_free(seen);
  return part;
}

static inline void add_to_batch(const bench *s, int mode, uint64_t k, void **blocks,
                                amped_batch *batch) {
  const amped_plan *plan = &s->plan;
  const amped_sptensor *t = &s->p->t;
  amped_index_put(blocks[0], plan->index_type, batch->count,
                  output_row(plan, mode, t->indices[mode][k]));
  for (int m = 0, input = 0; m < plan->order; m++)
    if (m != mode)
      amped_index_put(blocks[1 + input++], plan->index_type, batch->count,
                      amped_plan_position(plan, m, t->indices[m][k]));
  amped_value_put(blocks[plan->order], plan->value_type, batch->count, t->values[k]);
  batch->count++;
}

/* All nonzeros of the rank's shard of mode's copy, in host memory, in ascending rows. */
static inline amped_batch make_batch(const bench *s, int mode, void **blocks) {
  const amped_plan *plan = &s->plan;
  uint64_t nnz = plan->modes[mode].copy.rank_nnz[plan->rank];
  uint64_t last = 0;
  amped_batch batch = {0};
  char *part = mark_shard(s, mode);
  for (int a = 0; a < plan->order; a++)
    check_ok(amped_calloc(&blocks[a], nnz, plan->index_type, "a test"));
  check_ok(amped_calloc(&blocks[plan->order], nnz, plan->value_type, "a test"));
  for (char traversal = 1; traversal <= 2; traversal++)
    for (uint64_t k = 0; k < s->p->t.nnz; k++)
      if (part[k] == traversal)
        add_to_batch(s, mode, k, blocks, &batch);
  ck_assert_uint_eq(batch.count, nnz);
  for (uint64_t k = 0; k < nnz; k++) {
    uint64_t row = amped_index_get(blocks[0], plan->index_type, k);
    if (row < last || row >= plan->modes[mode].copy.output_rows)
      ck_abort_msg("row %" PRIu64 " of a copy is out of order", row);
    last = row;
  }
  amped_free(part);
  return batch;
}

static inline const void *at(void *block, uint64_t element, int size) {
  return block == NULL ? NULL : (char *)block + element * (uint64_t)size;
}

/* Upload in pieces of different sizes; the first has one nonzero, and one piece is empty. */
static inline void upload(const bench *s, int mode) {
  const amped_plan *plan = &s->plan;
  void *blocks[AMPED_MAX_ORDER + 1] = {NULL};
  amped_batch all = make_batch(s, mode, blocks);
  uint64_t ends[] = {all.count > 0 ? 1 : 0, all.count / 3, all.count / 3, all.count};
  uint64_t offset = 0;
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    if (ends[i] < offset)
      continue;
    amped_batch piece = {.count = ends[i] - offset};
    piece.rows = at(blocks[0], offset, plan->index_type);
    for (int m = 0; m < plan->order - 1; m++)
      piece.inputs[m] = at(blocks[1 + m], offset, plan->index_type);
    piece.values = at(blocks[plan->order], offset, plan->value_type);
    check_ok(s->w.format->insert(s->w.tensor, mode, offset, &piece));
    offset = ends[i];
  }
  for (int a = 0; a <= plan->order; a++)
    amped_free(blocks[a]);
  check_ok(s->w.format->finish(s->w.tensor, mode));
}

/* Mode's factor in position order; padding rows are zero. */
static inline double *positioned(const bench *s, int mode) {
  uint64_t ncomps = (uint64_t)s->p->ncomps;
  double *out = doubles(amped_plan_factor_rows(&s->plan, mode) * ncomps);
  for (uint64_t i = 0; i < s->plan.dims[mode]; i++)
    memcpy(out + amped_plan_position(&s->plan, mode, i) * ncomps, s->p->factors[mode] + i * ncomps,
           ncomps * sizeof *out);
  return out;
}

static inline void put_factor(const bench *s, int mode) {
  uint64_t rows = amped_plan_factor_rows(&s->plan, mode);
  uint64_t cut = rows / 3;
  double *all = positioned(s, mode);
  check_ok(s->w.backend->factors->put_rows(s->w.factors, mode, 0, cut, all));
  check_ok(s->w.backend->factors->put_rows(s->w.factors, mode, cut, rows - cut,
                                           all + cut * (uint64_t)s->p->ncomps));
  amped_free(all);
}

static inline void bench_plan(bench *s, problem *p, const setup *how) {
  memset(s, 0, sizeof *s);
  s->p = p;
  const amped_plan_request request = {.ncomps = p->ncomps,
                                      .value_type = p->value_type,
                                      .placement = how->placement,
                                      .rank = how->rank,
                                      .nranks = how->nranks,
                                      .needs = how->needs};
  check_ok(amped_plan_create(&s->plan, &p->info, &request));
  if (how->parts > 0)
    check_ok(amped_plan_cut(&s->plan, how->parts, &h200_rates));
  for (int m = 0; m < s->plan.order && how->travel > 0.0; m++)
    s->plan.modes[m].copy.travel = how->travel;
  if (how->index_type != 0)
    s->plan.index_type = how->index_type;
  check_ok(amped_worker_open(&s->w, backend(), &how->options));
}

static inline void bench_load(bench *s) {
  check_ok(amped_worker_prepare(&s->w, &s->plan));
  for (int m = 0; m < s->plan.order; m++) {
    if (amped_plan_has_copy(&s->plan, m))
      upload(s, m);
    put_factor(s, m);
  }
}

/* MTTKRP of mode from its beginning to its end. */
static inline amped_status mttkrp_whole(const amped_worker *worker, int mode,
                                        amped_mttkrp_times *times) {
  AMPED_TRY(worker->format->mttkrp_begin(worker->tensor, mode));
  return worker->format->mttkrp_wait(worker->tensor, mode, AMPED_MAX_PARTS, times);
}

static inline void bench_close(bench *s) {
  amped_worker_close(&s->w);
  amped_plan_destroy(&s->plan);
}

static inline setup alone(void) {
  return (setup){.rank = 0, .nranks = 1, .options = {.threads = 2, .local_size = 1}};
}

/* --- comparisons -------------------------------------------------------------------------------*/

static inline void near(double got, double want, double tolerance, const char *what, uint64_t row,
                        uint64_t column) {
  if (!(fabs(got - want) <=
        tolerance)) /* an assertion writes to a pipe, which is too slow for each element */
    ck_abort_msg("%s, row %" PRIu64 ", column %" PRIu64 ": %.17g, not %.17g within %.3g", what, row,
                 column, got, want, tolerance);
}

/* The padding rows of a block, which has block_rows rows, are zero. */
static inline void padding_is_zero(const bench *s, int mode, const double *block) {
  const amped_mode_plan *m = &s->plan.modes[mode];
  uint64_t ncomps = (uint64_t)s->p->ncomps;
  for (uint64_t i = m->rows.rank_rows[s->plan.rank] * ncomps; i < m->rows.block_rows * ncomps; i++)
    near(block[i], 0.0, 0.0, "padding", i / ncomps, i % ncomps);
}

static inline double *get_output(const bench *s, int mode) {
  uint64_t rows = s->plan.modes[mode].copy.output_rows;
  uint64_t cut = rows / 2;
  double *out = doubles(rows * (uint64_t)s->p->ncomps);
  check_ok(s->w.backend->factors->get_output(s->w.factors, mode, 0, cut, out));
  check_ok(s->w.backend->factors->get_output(s->w.factors, mode, cut, rows - cut,
                                             out + cut * (uint64_t)s->p->ncomps));
  return out;
}

/* The rank's shard of mode's copy as a tensor. */
static inline void shard_of(const bench *s, int mode, amped_sptensor *shard) {
  const amped_sptensor *t = &s->p->t;
  char *part = mark_shard(s, mode);
  uint64_t at = 0;
  check_ok(amped_sptensor_create(shard, t->order, s->plan.modes[mode].copy.rank_nnz[s->plan.rank]));
  memcpy(shard->dims, t->dims, sizeof t->dims);
  for (uint64_t k = 0; k < t->nnz; k++) {
    if (part[k] == 0)
      continue;
    for (int m = 0; m < t->order; m++)
      shard->indices[m][at] = t->indices[m][k];
    shard->values[at++] = t->values[k];
  }
  amped_free(part);
}

/* Output rows without an index are zero. */
static inline void other_rows_are_zero(const bench *s, int mode, const double *got) {
  uint64_t ncomps = (uint64_t)s->p->ncomps;
  uint64_t rows = s->plan.modes[mode].copy.output_rows;
  bool *named = NULL;
  check_ok(amped_calloc(&named, rows, sizeof *named, "a test"));
  for (uint64_t i = 0; i < s->plan.dims[mode]; i++)
    if (output_row(&s->plan, mode, i) != AMPED_NO_ROW)
      named[output_row(&s->plan, mode, i)] = true;
  for (uint64_t i = 0; i < rows * ncomps; i++)
    if (!named[i / ncomps])
      near(got[i], 0.0, 0.0, "padding", i / ncomps, i % ncomps);
  amped_free(named);
}

/* MTTKRP whose rows are read as soon as they are reported as finished. */
static inline double *mttkrp_by_parts(const bench *s, int mode) {
  const amped_mode_plan *m = &s->plan.modes[mode];
  uint64_t ncomps = (uint64_t)s->p->ncomps;
  double *out = doubles(m->copy.output_rows * ncomps);
  amped_mttkrp_times times = {-1.0, -1.0};
  check_ok(s->w.format->mttkrp_begin(s->w.tensor, mode));
  for (int part = 0; part < m->rows.parts; part++) {
    uint64_t first = m->rows.part_rows[part];
    uint64_t end = part + 1 < m->rows.parts ? m->rows.part_rows[part + 1] : m->copy.output_rows;
    check_ok(s->w.format->mttkrp_wait(s->w.tensor, mode, part, &times));
    check_ok(s->w.backend->factors->get_output(s->w.factors, mode, first, end - first,
                                               out + first * ncomps));
  }
  ck_assert(times.copy_sec >= 0.0 && times.compute_sec >= 0.0);
  return out;
}

/* A product of `order` numbers has order - 1 rounding errors, a sum of n products, in any order, n
 * - 1. Each is at most half an eps; the tolerance is twice their sum. */
static inline void mttkrp_is_right(const bench *s, int mode) {
  const amped_plan *plan = &s->plan;
  uint64_t ncomps = (uint64_t)s->p->ncomps;
  uint64_t dim = plan->dims[mode];
  double *want = doubles(dim * ncomps);
  double *bound = doubles(dim * ncomps);
  uint64_t *count = NULL;
  amped_sptensor shard;
  check_ok(amped_calloc(&count, dim, sizeof *count, "a test"));
  shard_of(s, mode, &shard);
  amped_mttkrp(&shard, mode, (const double *const *)s->p->factors, s->p->ncomps, want, bound,
               count);
  double *got = mttkrp_by_parts(s, mode);
  for (uint64_t i = 0; i < dim; i++) {
    uint64_t row = output_row(plan, mode, i);
    double share_eps = (double)(count[i] + (uint64_t)plan->order + 2) * s->p->eps;
    if (row == AMPED_NO_ROW)
      continue;
    for (uint64_t c = 0; c < ncomps; c++)
      near(got[row * ncomps + c], want[i * ncomps + c], share_eps * bound[i * ncomps + c], "MTTKRP",
           i, c);
  }
  other_rows_are_zero(s, mode, got);
  amped_free(got);
  amped_free(count);
  amped_free(bound);
  amped_free(want);
  amped_sptensor_free(&shard);
}

/* MTTKRP of every mode of a tensor of order 3 with one to four threads. */
static inline void bits_are_those_of_one_thread(problem *p, setup how) {
  double *want[3] = {NULL};
  for (how.options.threads = 1; how.options.threads <= 4; how.options.threads++) {
    bench s;
    amped_mttkrp_times times;
    bench_plan(&s, p, &how);
    bench_load(&s);
    for (int m = 0; m < 3; m++) {
      check_ok(mttkrp_whole(&s.w, m, &times));
      double *got = get_output(&s, m);
      if (want[m] == NULL) {
        want[m] = got;
        continue;
      }
      ck_assert_mem_eq(got, want[m],
                       s.plan.modes[m].copy.output_rows * (uint64_t)p->ncomps * sizeof *got);
      amped_free(got);
    }
    bench_close(&s);
  }
  for (int m = 0; m < 3; m++)
    amped_free(want[m]);
}

/* --- products ----------------------------------------------------------------------------------*/

__extension__ typedef __float128 quad; /* 113 bits, in software */

/* Multiplications of the slow products of a shard at most: more are not looked at. */
#define MOST_PRODUCTS 3000000

/* Mode's factor rows into the rows of the output that have an index. */
static inline void put_factor_into_output(const bench *s, int mode) {
  uint64_t n = (uint64_t)s->p->ncomps;
  uint64_t rows = s->plan.modes[mode].copy.output_rows;
  double *all = doubles(rows * n);
  for (uint64_t i = 0; i < s->plan.dims[mode]; i++) {
    uint64_t row = output_row(&s->plan, mode, i);
    if (row != AMPED_NO_ROW)
      memcpy(all + row * n, s->p->factors[mode] + i * n, n * sizeof *all);
  }
  check_ok(s->w.backend->factors->put_output(s->w.factors, mode, 0, rows, all));
  amped_free(all);
}

/* Double-doubles are off by some 2^-102 in every operation; the tolerance is four times that. */
static inline void product_is_right(amped_dd got, quad want, quad bound, uint64_t operations,
                                    const char *what) {
  quad off = (quad)got.hi + (quad)got.lo - want;
  double tolerance = (double)operations * 0x1p-100 * (double)bound;
  near((double)off, 0.0, tolerance, what, 0, 0);
}

static inline void products_are_right(const bench *s, int mode) {
  const double scale = 0.125;
  uint64_t n = (uint64_t)s->p->ncomps;
  quad xx = 0;
  quad xm = 0;
  quad bound = 0;
  amped_products got = {{9.0, 9.0}, {9.0, 9.0}};
  amped_sptensor shard;
  shard_of(s, mode, &shard);
  double *weights = random_rows(1, s->p->ncomps, AMPED_F64, 41);
  put_factor_into_output(s, mode);
  check_ok(s->w.format->products(s->w.tensor, mode, scale, weights, &got));
  bool few = shard.nnz * n * (uint64_t)shard.order <= MOST_PRODUCTS;
  for (uint64_t k = 0; k < shard.nnz && few; k++) {
    double stored = s->p->value_type == AMPED_F32 ? (float)shard.values[k] : shard.values[k];
    quad x = (quad)(stored * scale);
    xx += x * x;
    for (uint64_t r = 0; r < n; r++) {
      quad term = x * (quad)weights[r];
      for (int m = 0; m < shard.order; m++)
        term *= (quad)s->p->factors[m][shard.indices[m][k] * n + r];
      xm += term;
      bound += term < 0 ? -term : term;
    }
  }
  if (few) {
    product_is_right(got.xx, xx, xx, shard.nnz + 2, "sum of squares");
    product_is_right(got.xm, xm, bound, shard.nnz + n + 2 * (uint64_t)shard.order,
                     "inner product with the model");
  }
  amped_free(weights);
  amped_sptensor_free(&shard);
}

/* Use the same copies for this number of components, with other factors. */
static inline void set_ncomps(bench *s, int ncomps) {
  problem *p = s->p;
  p->ncomps = ncomps;
  amped_plan_set_ncomps(&s->plan, ncomps);
  check_ok(amped_worker_resize(&s->w));
  for (int m = 0; m < p->t.order; m++) {
    uint64_t rows = amped_plan_factor_rows(&s->plan, m);
    double *got = doubles(rows * (uint64_t)ncomps);
    check_ok(s->w.backend->factors->get_rows(s->w.factors, m, 0, rows, got));
    for (uint64_t i = 0; i < rows * (uint64_t)ncomps; i++)
      near(got[i], 0.0, 0.0, "factor", i / (uint64_t)ncomps, i % (uint64_t)ncomps);
    amped_free(got);
    amped_free(p->factors[m]);
    p->factors[m] = random_rows(p->t.dims[m], ncomps, p->value_type, (uint64_t)(m + ncomps));
    put_factor(s, m);
  }
}

static inline void all_modes_are_right(problem *p, const setup *how) {
  bench s;
  bench_plan(&s, p, how);
  bench_load(&s);
  for (int m = 0; m < p->t.order; m++) {
    mttkrp_is_right(&s, m);
    products_are_right(&s, m);
  }
  mttkrp_is_right(&s, 0); /* the last result leaves no trace */
  bench_close(&s);
}

static inline void all_ranks_are_right(problem *p, int nranks, setup how) {
  how.nranks = nranks;
  for (how.rank = 0; how.rank < nranks; how.rank++)
    all_modes_are_right(p, &how);
}

#endif
