/* Every backend against the slow, obvious oracle: one test for all twins. Small random tensors; the
 * test plays every rank of a plan in turn. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "testing_backend.h"

/* --- MTTKRP ------------------------------------------------------------------------------------*/

static const uint64_t odd_dims[AMPED_MAX_ORDER] = {13, 7, 29, 1, 5, 3, 11, 19};

static void orders_and_widths(amped_vtype type) {
  static const int widths[] = {1, 7, 16, 33, 100};
  for (int order = AMPED_MIN_ORDER; order <= AMPED_MAX_ORDER; order++)
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
      problem p;
      problem_create(&p, order, odd_dims, 700, widths[w], type);
      all_ranks_are_right(&p, 1 + (order + (int)w) % 3, alone());
      problem_free(&p);
    }
  check_no_leak();
}

START_TEST(mttkrp_in_float_for_all_orders_and_widths) {
  orders_and_widths(AMPED_F32);
}

START_TEST(mttkrp_in_double_for_all_orders_and_widths) {
  orders_and_widths(AMPED_F64);
}

START_TEST(mttkrp_with_64_bit_positions) {
  setup how = alone();
  how.index_type = AMPED_U64;
  for (int order = AMPED_MIN_ORDER; order <= AMPED_MAX_ORDER; order++)
    for (int w = 4; w <= 256; w *= 4) {
      problem p;
      problem_create(&p, order, odd_dims, 300, w, w == 16 ? AMPED_F64 : AMPED_F32);
      all_ranks_are_right(&p, 2, how);
      problem_free(&p);
    }
  check_no_leak();
}

START_TEST(mttkrp_with_the_most_components) {
  static const uint64_t dims[] = {5, 3, 9};
  for (int i = 0; i < 2; i++) {
    problem p;
    problem_create(&p, 3, dims, 200, AMPED_MAX_NCOMPS, i == 0 ? AMPED_F32 : AMPED_F64);
    all_ranks_are_right(&p, 1, alone());
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(mttkrp_of_one_nonzero_with_more_ranks_than_indices) {
  static const uint64_t dims[] = {2, 1, 40};
  problem p;
  problem_create(&p, 3, dims, 1, 7, AMPED_F32);
  all_ranks_are_right(&p, 1, alone());
  all_ranks_are_right(&p, 3, alone());
  problem_free(&p);
  check_no_leak();
}

/* Rows of every length: from one nonzero to all of them, over many runs and thread blocks. */
START_TEST(mttkrp_of_long_and_short_rows) {
  static const uint64_t dims[][4] = {{40001, 3, 1001, 0}, {1, 60013, 301, 7}};
  for (int i = 0; i < 2; i++) {
    problem p;
    problem_create(&p, 3 + i, dims[i], 150000, i == 0 ? 33 : 8, i == 0 ? AMPED_F32 : AMPED_F64);
    all_ranks_are_right(&p, 2, alone());
    problem_free(&p);
  }
  check_no_leak();
}

/* --- rows and dense work -----------------------------------------------------------------------*/

static void factors_come_back(const bench *s) {
  for (int m = 0; m < s->plan.order; m++) {
    uint64_t rows = amped_plan_factor_rows(&s->plan, m);
    double *want = positioned(s, m);
    double *got = doubles(rows * (uint64_t)s->p->ncomps);
    check_ok(s->b->get_rows(s->ctx, m, 0, rows, got));
    ck_assert_mem_eq(got, want, rows * (uint64_t)s->p->ncomps * sizeof *got);
    check_ok(s->b->get_rows(s->ctx, m, rows - 1, 1, got));
    ck_assert_mem_eq(got, want + (rows - 1) * (uint64_t)s->p->ncomps,
                     (size_t)s->p->ncomps * sizeof *got);
    ck_assert_ptr_nonnull(s->b->factor(s->ctx, m));
    amped_free(got);
    amped_free(want);
  }
}

/* The factor as it lies in memory: padding columns are zero. */
static void padding_columns_are_zero(const bench *s, int mode, const void *factor) {
  uint64_t elements = amped_plan_factor_rows(&s->plan, mode) * s->plan.ld;
  for (uint64_t i = 0; i < elements; i++)
    if (i % s->plan.ld >= (uint64_t)s->p->ncomps)
      near(amped_value_get(factor, s->plan.value_type, i), 0.0, 0.0, "padding", i / s->plan.ld,
           i % s->plan.ld);
}

/* The bytes of the factors go out to the host and come in again unchanged, also in halves. */
static void staging_keeps_bytes(const bench *s) {
  for (int m = 0; m < s->plan.order; m++) {
    uint64_t bytes = amped_plan_factor_rows(&s->plan, m) * s->plan.ld * s->plan.value_type;
    uint64_t half = bytes / 2;
    void *host = NULL;
    void *again = NULL;
    if (!s->b->device_pointers) {
      padding_columns_are_zero(s, m, s->b->factor(s->ctx, m));
      continue;
    }
    check_ok(s->b->host_alloc(s->ctx, bytes, &host));
    check_ok(s->b->host_alloc(s->ctx, bytes, &again));
    check_ok(s->b->stage_out(s->ctx, m, 0, bytes, host));
    padding_columns_are_zero(s, m, host);
    memset(again, 255, bytes);
    check_ok(s->b->stage_in(s->ctx, m, 0, bytes, again));
    check_ok(s->b->stage_in(s->ctx, m, half, bytes - half, (char *)host + half));
    check_ok(s->b->stage_in(s->ctx, m, 0, half, host));
    check_ok(s->b->stage_out(s->ctx, m, half, bytes - half, (char *)again + half));
    check_ok(s->b->stage_out(s->ctx, m, 0, half, again));
    ck_assert_mem_eq(again, host, bytes);
    s->b->host_free(s->ctx, again);
    s->b->host_free(s->ctx, host);
  }
}

static double *own_rows(const bench *s, int mode) {
  uint64_t rows = s->plan.modes[mode].block_rows;
  double *out = doubles(rows * (uint64_t)s->p->ncomps);
  check_ok(s->b->get_rows(s->ctx, mode, block_first(&s->plan, mode), rows, out));
  return out;
}

/* Products of doubles, added up in double by either side. */
static double sum_tolerance(uint64_t terms, double bound) {
  return 2.0 * (double)(terms + 2) * DBL_EPSILON * bound;
}

static void solve_is_right(const bench *s, int mode) {
  uint64_t n = (uint64_t)s->p->ncomps;
  uint64_t rows = s->plan.modes[mode].rank_rows[s->plan.rank];
  double *p = random_rows(n, (int)n, AMPED_F64, 55);
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t j = 0; j < i; j++)
      p[i * n + j] = p[j * n + i];
  double *output = get_output(s, mode);
  check_ok(s->b->solve(s->ctx, mode, p));
  double *got = own_rows(s, mode);
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t c = 0; c < n; c++) {
      double want = 0.0;
      double bound = 0.0;
      for (uint64_t k = 0; k < n; k++) {
        want += output[i * n + k] * p[k * n + c];
        bound += fabs(output[i * n + k] * p[k * n + c]);
      }
      near(got[i * n + c], want, s->p->eps * fabs(want) + sum_tolerance(n, bound), "solve", i, c);
    }
  padding_is_zero(s, mode, got);
  amped_free(got);
  amped_free(output);
  amped_free(p);
}

static void gram_is_right(const bench *s, int mode) {
  uint64_t n = (uint64_t)s->p->ncomps;
  uint64_t rows = s->plan.modes[mode].rank_rows[s->plan.rank];
  double *a = own_rows(s, mode);
  double *got = doubles(n * n);
  double *want = doubles(n * n);
  double *bound = doubles(n * n);
  check_ok(s->b->gram(s->ctx, mode, got));
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t r = 0; r < n; r++)
      for (uint64_t c = 0; c < n; c++) {
        want[r * n + c] += a[i * n + r] * a[i * n + c];
        bound[r * n + c] += fabs(a[i * n + r] * a[i * n + c]);
      }
  for (uint64_t e = 0; e < n * n; e++)
    near(got[e], want[e], sum_tolerance(rows, bound[e]), "gram", e / n, e % n);
  amped_free(bound);
  amped_free(want);
  amped_free(got);
  amped_free(a);
}

static void inner_is_right(const bench *s, int mode) {
  uint64_t elements = s->plan.modes[mode].rank_rows[s->plan.rank] * (uint64_t)s->p->ncomps;
  double *a = own_rows(s, mode);
  double *b = get_output(s, mode);
  double got = 0.0;
  double want = 0.0;
  double bound = 0.0;
  check_ok(s->b->inner(s->ctx, mode, &got));
  for (uint64_t i = 0; i < elements; i++) {
    want += a[i] * b[i];
    bound += fabs(a[i] * b[i]);
  }
  near(got, want, sum_tolerance(elements, bound), "inner product", 0, 0);
  amped_free(b);
  amped_free(a);
}

static void scale_is_right(const bench *s, int mode) {
  uint64_t n = (uint64_t)s->p->ncomps;
  uint64_t rows = s->plan.modes[mode].rank_rows[s->plan.rank];
  double *by = random_rows(1, (int)n, AMPED_F64, 77);
  double *before = own_rows(s, mode);
  check_ok(s->b->scale(s->ctx, mode, by));
  double *after = own_rows(s, mode);
  for (uint64_t i = 0; i < rows * n; i++) {
    double want = before[i] * by[i % n];
    near(after[i], want, s->p->eps * fabs(want), "scale", i / n, i % n);
  }
  padding_is_zero(s, mode, after);
  amped_free(after);
  amped_free(before);
  amped_free(by);
}

/* The other ranks' rows of mode's factor are as they were put. */
static void others_are_untouched(const bench *s, int mode) {
  uint64_t n = (uint64_t)s->p->ncomps;
  uint64_t block = s->plan.modes[mode].block_rows * n;
  double *want = positioned(s, mode);
  double *got = doubles(amped_plan_factor_rows(&s->plan, mode) * n);
  check_ok(s->b->get_rows(s->ctx, mode, 0, amped_plan_factor_rows(&s->plan, mode), got));
  for (int r = 0; r < s->plan.nranks; r++)
    if (r != s->plan.rank)
      ck_assert_mem_eq(got + (uint64_t)r * block, want + (uint64_t)r * block, block * sizeof *got);
  amped_free(got);
  amped_free(want);
}

static void dense_work_is_right(problem *p, const setup *how) {
  bench s;
  bench_plan(&s, p, how);
  bench_load(&s, p);
  factors_come_back(&s);
  staging_keeps_bytes(&s);
  for (int m = 0; m < p->t.order; m++) {
    amped_mttkrp_times times;
    check_ok(s.b->mttkrp(s.ctx, m, &times));
    inner_is_right(&s, m);
    solve_is_right(&s, m);
    gram_is_right(&s, m);
    scale_is_right(&s, m);
    gram_is_right(&s, m);
    others_are_untouched(&s, m);
  }
  staging_keeps_bytes(&s);
  bench_close(&s);
}

START_TEST(dense_work_of_every_width) {
  static const uint64_t dims[] = {2003, 1, 30};
  static const int widths[] = {1, 7, 16, 33, 100};
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int type = 0; type < 2; type++) {
      problem p;
      problem_create(&p, 3, dims, 3000, widths[w], type == 0 ? AMPED_F32 : AMPED_F64);
      setup how = alone();
      how.nranks = 1 + (int)w % 3;
      for (how.rank = 0; how.rank < how.nranks; how.rank++)
        dense_work_is_right(&p, &how);
      problem_free(&p);
    }
  check_no_leak();
}

/* More rows than any workspace holds at a time. */
START_TEST(dense_work_of_many_rows) {
  static const uint64_t dims[] = {70001, 2, 3};
  problem p;
  problem_create(&p, 3, dims, 5000, 65, AMPED_F32);
  setup how = alone();
  dense_work_is_right(&p, &how);
  problem_free(&p);
  check_no_leak();
}

/* --- memory and kernels ------------------------------------------------------------------------*/

/* What a set-up requires; the context is closed again. */
static amped_status requirement(problem *p, const setup *how, uint64_t *device, uint64_t *host,
                                bool *resident) {
  bench s;
  bench_plan(&s, p, how);
  amped_status status = s.b->require(s.ctx, &s.plan, device, host, resident);
  ck_assert_uint_gt(s.b->memory(s.ctx), 0);
  ck_assert_ptr_nonnull(s.b->identity(s.ctx));
  ck_assert_uint_gt(strlen(s.b->describe(s.ctx)), 0);
  bench_close(&s);
  return status;
}

START_TEST(requirements_are_said) {
  static const uint64_t dims[] = {50, 60, 70};
  uint64_t device = 0;
  uint64_t host = 0;
  bool resident[AMPED_MAX_ORDER] = {false};
  problem p;
  problem_create(&p, 3, dims, 10000, 16, AMPED_F32);
  setup how = alone();
  check_ok(requirement(&p, &how, &device, &host, resident));
  uint64_t copies = 3 * 10000 * (sizeof(uint32_t) + sizeof(float)); /* packed */
  ck_assert_uint_ge(device + host, copies + (50 + 60 + 70 + 70) * 16 * sizeof(float));
  for (int m = 0; m < 3; m++)
    ck_assert(resident[m]);
  problem_free(&p);
  ck_assert_ptr_null(amped_backend_find("no such backend"));
  check_no_leak();
}

/* A limit under which a third of all copies is more than fits beside the rest. */
static uint64_t tight_limit(problem *p, setup how, uint64_t device_bytes) {
  bench s;
  bench_plan(&s, p, &how);
  uint64_t copy = amped_plan_copy_bytes(&s.plan, 0);
  bench_close(&s);
  return device_bytes - copy * 2 / 3;
}

/* Streamed in one piece, streamed in several, and some modes each way. */
START_TEST(residency_changes_no_result) {
  static const uint64_t dims[] = {1501, 3, 77};
  uint64_t device = 0;
  uint64_t host = 0;
  bool resident[AMPED_MAX_ORDER] = {false};
  if (!backend()->device_pointers)
    return;
  problem p;
  problem_create(&p, 3, dims, 60000, 16, AMPED_F32);
  setup how = alone();
  how.options.residency = AMPED_RESIDENCY_RESIDENT;
  check_ok(requirement(&p, &how, &device, &host, resident));
  ck_assert_uint_eq(host, 0);
  uint64_t all_resident = device;

  how.options.residency = AMPED_RESIDENCY_STREAM;
  check_ok(requirement(&p, &how, &device, &host, resident));
  ck_assert(!resident[0] && !resident[1] && !resident[2] && host > 0);
  all_modes_are_right(&p, &how);
  /* Two buffers of a whole copy each were counted: take away most of them. */
  how.options.device_memory = tight_limit(&p, how, tight_limit(&p, how, device));
  check_ok(requirement(&p, &how, &device, &host, resident));
  ck_assert_uint_le(device, how.options.device_memory);
  all_modes_are_right(&p, &how);

  how.options.residency = AMPED_RESIDENCY_AUTO;
  how.options.device_memory = tight_limit(&p, alone(), all_resident);
  check_ok(requirement(&p, &how, &device, &host, resident));
  ck_assert_uint_le(device, how.options.device_memory);
  ck_assert(resident[0] != resident[2]);
  all_ranks_are_right(&p, 1, how);
  problem_free(&p);
  check_no_leak();
}

START_TEST(too_little_device_memory_is_an_error_with_a_remedy) {
  static const uint64_t dims[] = {50, 60, 70};
  uint64_t device = 0;
  uint64_t host = 0;
  bool resident[AMPED_MAX_ORDER];
  if (!backend()->device_pointers)
    return;
  problem p;
  problem_create(&p, 3, dims, 10000, 16, AMPED_F32);
  setup how = alone();
  how.options.residency = AMPED_RESIDENCY_RESIDENT;
  check_ok(requirement(&p, &how, &device, &host, resident));
  how.options.device_memory = device - 1;
  check_fails(AMPED_FAILED, "--residency=auto", requirement(&p, &how, &device, &host, resident));
  how.options.residency = AMPED_RESIDENCY_AUTO;
  how.options.device_memory = 100000;
  check_fails(AMPED_FAILED, "--rank", requirement(&p, &how, &device, &host, resident));
  problem_free(&p);
  check_no_leak();
}

START_TEST(published_kernel_gives_the_same) {
  static const int widths[] = {1, 7, 32, 100, 1024};
  if (!backend()->device_pointers)
    return;
  setup how = alone();
  how.options.kernel = AMPED_KERNEL_PUBLISHED;
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
    problem p;
    int order = AMPED_MIN_ORDER + (int)w;
    problem_create(&p, order, odd_dims, 500, widths[w], w % 2 == 0 ? AMPED_F32 : AMPED_F64);
    how.index_type = w % 3 == 0 ? AMPED_U64 : AMPED_U32;
    all_ranks_are_right(&p, 2, how);
    problem_free(&p);
  }
  check_no_leak();
}

/* --- nonzeros in any order ---------------------------------------------------------------------*/

/* The nonzeros of p in another order, which sorting keeps for equal coordinates. */
static void shuffle(problem *p, uint64_t seed) {
  amped_sptensor *t = &p->t;
  for (uint64_t k = t->nnz - 1; k > 0; k--) {
    uint64_t other = amped_random_u64(seed, 0, k) % (k + 1);
    double value = t->values[k];
    for (int m = 0; m < t->order; m++) {
      uint64_t index = t->indices[m][k];
      t->indices[m][k] = t->indices[m][other];
      t->indices[m][other] = index;
    }
    t->values[k] = t->values[other];
    t->values[other] = value;
  }
}

/* This rank's nonzeros of mode as a file has them, in the tensor's order. */
static amped_nonzeros own_nonzeros(const bench *s, const amped_sptensor *t, int mode,
                                   void **blocks) {
  const amped_plan *plan = &s->plan;
  uint64_t nnz = plan->modes[mode].rank_nnz[plan->rank];
  amped_nonzeros own = {0};
  for (int m = 0; m < t->order; m++)
    check_ok(amped_calloc(&blocks[m], nnz, amped_itype_for(t->dims[m]), "a test"));
  check_ok(amped_calloc(&blocks[t->order], nnz, plan->value_type, "a test"));
  for (uint64_t k = 0; k < t->nnz; k++) {
    if (!owns(plan, mode, t->indices[mode][k]))
      continue;
    for (int m = 0; m < t->order; m++)
      amped_index_put(blocks[m], amped_itype_for(t->dims[m]), own.count, t->indices[m][k]);
    amped_value_put(blocks[t->order], plan->value_type, own.count++, t->values[k]);
  }
  ck_assert_uint_eq(own.count, nnz);
  return own;
}

static void collect_part(const bench *s, int mode, void **blocks, uint64_t first, uint64_t end) {
  const amped_plan *plan = &s->plan;
  amped_nonzeros part = {.count = end - first};
  for (int m = 0; m < plan->order; m++)
    part.indices[m] = at(blocks[m], first, amped_itype_for(plan->dims[m]));
  part.values = at(blocks[plan->order], first, plan->value_type);
  check_ok(s->b->collect(s->ctx, mode, &part));
}

/* Collect in uneven parts, one of them empty; returns the repeats. */
static uint64_t collect_mode(const bench *s, const amped_sptensor *t, int mode) {
  void *blocks[AMPED_MAX_ORDER + 1] = {NULL};
  uint64_t repeats = UINT64_MAX;
  amped_nonzeros own = own_nonzeros(s, t, mode, blocks);
  uint64_t cuts[] = {0, own.count > 0 ? 1 : 0, own.count / 3, own.count / 3, own.count};
  for (size_t i = 1; i < sizeof cuts / sizeof cuts[0]; i++)
    if (cuts[i] >= cuts[i - 1])
      collect_part(s, mode, blocks, cuts[i - 1], cuts[i]);
    else
      cuts[i] = cuts[i - 1];
  for (int a = 0; a <= t->order; a++)
    amped_free(blocks[a]);
  check_ok(s->b->order(s->ctx, mode, &repeats));
  check_ok(s->b->loaded(s->ctx, mode));
  return repeats;
}

/* Of a tensor sorted by mode. */
static uint64_t own_repeats(const bench *s, const amped_sptensor *t, int mode) {
  uint64_t repeats = 0;
  for (uint64_t k = 1; k < t->nnz; k++) {
    bool same = owns(&s->plan, mode, t->indices[mode][k]);
    for (int m = 0; m < t->order; m++)
      same = same && t->indices[m][k] == t->indices[m][k - 1];
    repeats += same;
  }
  return repeats;
}

/* What is collected gives MTTKRP the same bits as what is uploaded in order. `how` may differ in
 * memory from `uploaded`. */
static void collected_is_uploaded(problem *p, const setup *uploaded, const setup *how) {
  bench a;
  bench b;
  amped_mttkrp_times times;
  bench_plan(&a, p, uploaded);
  bench_plan(&b, p, how);
  check_ok(b.b->prepare(b.ctx, &b.plan));
  for (int m = 0; m < p->t.order; m++) {
    shuffle(p, (uint64_t)m);
    uint64_t repeats = collect_mode(&b, &p->t, m);
    put_factor(&b, m);
    if (m == 0)
      check_ok(a.b->prepare(a.ctx, &a.plan));
    upload(&a, p, m); /* sorts */
    put_factor(&a, m);
    ck_assert_uint_eq(repeats, own_repeats(&b, &p->t, m));
  }
  for (int m = 0; m < p->t.order; m++) {
    mttkrp_is_right(&b, m);
    check_ok(a.b->mttkrp(a.ctx, m, &times));
    double *want = get_output(&a, m);
    double *got = get_output(&b, m);
    ck_assert_mem_eq(got, want, a.plan.modes[m].block_rows * (uint64_t)p->ncomps * sizeof *got);
    amped_free(got);
    amped_free(want);
  }
  bench_close(&b);
  bench_close(&a);
}

static void all_ranks_collect(problem *p, int nranks, setup how) {
  how.nranks = nranks;
  for (how.rank = 0; how.rank < nranks; how.rank++)
    collected_is_uploaded(p, &how, &how);
}

START_TEST(collected_nonzeros_of_all_orders_and_types) {
  for (int order = AMPED_MIN_ORDER; order <= AMPED_MAX_ORDER; order++)
    for (int i = 0; i < 4; i++) {
      problem p;
      setup how = alone();
      how.index_type = i < 2 ? AMPED_U32 : AMPED_U64;
      problem_create(&p, order, odd_dims, 700, 3 + i, i % 2 == 0 ? AMPED_F32 : AMPED_F64);
      all_ranks_collect(&p, 1 + (order + i) % 3, how);
      problem_free(&p);
    }
  check_no_leak();
}

/* Keys of two and three words; iDps of several indices; indices of 1, 2 and 4 bytes. */
START_TEST(collected_nonzeros_with_long_keys) {
  static const uint64_t dims[AMPED_MAX_ORDER] = {70001, 65537, 90001, 300, 66049, 70003, 7, 65536};
  for (int order = 4; order <= AMPED_MAX_ORDER; order += 2) {
    problem p;
    problem_create(&p, order, dims, 5000, 2, AMPED_F32);
    all_ranks_collect(&p, 3, alone());
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(collected_nonzeros_of_one_row_and_of_empty_shares) {
  static const uint64_t dims[][3] = {{1, 1, 1}, {2, 1, 40}, {1, 300, 1}};
  for (size_t i = 0; i < 3; i++)
    for (uint64_t nnz = 1; nnz <= 65; nnz += 64) {
      problem p;
      problem_create(&p, 3, dims[i], nnz, 5, AMPED_F64);
      all_ranks_collect(&p, 1, alone());
      all_ranks_collect(&p, 3, alone());
      problem_free(&p);
    }
  check_no_leak();
}

/* More than a piece; on a GPU with so little device memory that pieces are as small as they may be
 * and the pile lies in host memory. The last has pieces of one key alone. */
START_TEST(collected_nonzeros_in_many_pieces) {
  static const uint64_t dims[][3] = {{30000, 50, 700}, {46, 5000, 3}, {2, 3, 1}};
  for (size_t i = 0; i < 3; i++) {
    problem p;
    uint64_t device = 0;
    uint64_t host = 0;
    bool resident[AMPED_MAX_ORDER];
    setup how = alone();
    how.nranks = i == 0 ? 1 : 2;
    how.rank = i == 0 ? 0 : (int)i % 2;
    problem_create(&p, 3, dims[i], 400000, 2, AMPED_F64);
    setup tight = how;
    if (backend()->device_pointers) {
      check_ok(requirement(&p, &how, &device, &host, resident));
      tight.options.device_memory = device;
    }
    collected_is_uploaded(&p, &how, &tight);
    problem_free(&p);
  }
  check_no_leak();
}

/* Nonzeros that are another rank's, and too many, are noticed. */
START_TEST(collected_nonzeros_are_those_that_were_counted) {
  static const uint64_t dims[] = {9, 8, 7};
  for (int i = 0; i < 2; i++) {
    problem p;
    bench s;
    void *blocks[AMPED_MAX_ORDER + 1] = {NULL};
    uint64_t repeats = 0;
    setup how = alone();
    how.nranks = 2;
    problem_create(&p, 3, dims, 200, 2, AMPED_F32);
    bench_plan(&s, &p, &how);
    check_ok(s.b->prepare(s.ctx, &s.plan));
    amped_nonzeros own = own_nonzeros(&s, &p.t, 0, blocks);
    if (i == 0) {
      collect_part(&s, 0, blocks, 0, own.count);
      own.count = 1;
      own.values = blocks[3];
      for (int m = 0; m < 3; m++)
        own.indices[m] = blocks[m];
      check_fails(AMPED_FAILED, "more nonzeros", s.b->collect(s.ctx, 0, &own));
    } else {
      collect_part(&s, 0, blocks, 0, own.count - 1);
      check_fails(AMPED_FAILED, "counted", s.b->order(s.ctx, 0, &repeats));
    }
    for (int a = 0; a < 4; a++)
      amped_free(blocks[a]);
    bench_close(&s);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(what_collecting_takes_is_said) {
  static const uint64_t dims[] = {50, 60, 70};
  problem p;
  bench s;
  uint64_t device = 0;
  uint64_t host = 0;
  setup how = alone();
  problem_create(&p, 3, dims, 10000, 16, AMPED_F32);
  bench_plan(&s, &p, &how);
  check_ok(s.b->require_collect(s.ctx, &s.plan, &device, &host));
  ck_assert_uint_ge(device + host, 10000 * (3 * sizeof(uint8_t) + sizeof(float)));
  bench_close(&s);
  problem_free(&p);
  check_no_leak();
}

TESTING_MAIN("backends", mttkrp_in_float_for_all_orders_and_widths,
             mttkrp_in_double_for_all_orders_and_widths, mttkrp_with_64_bit_positions,
             mttkrp_with_the_most_components, mttkrp_of_one_nonzero_with_more_ranks_than_indices,
             mttkrp_of_long_and_short_rows, dense_work_of_every_width, dense_work_of_many_rows,
             requirements_are_said, residency_changes_no_result,
             too_little_device_memory_is_an_error_with_a_remedy, published_kernel_gives_the_same,
             collected_nonzeros_of_all_orders_and_types, collected_nonzeros_with_long_keys,
             collected_nonzeros_of_one_row_and_of_empty_shares, collected_nonzeros_in_many_pieces,
             collected_nonzeros_are_those_that_were_counted, what_collecting_takes_is_said)
