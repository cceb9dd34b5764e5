/* Every backend against the slow, obvious oracle: one test for all twins. Small random tensors; the
 * test plays every rank of a plan in turn. */
#include "tests/lib/testing_backend.h"

/* --- MTTKRP ------------------------------------------------------------------------------------*/

static const uint64_t odd_dims[AMPED_MAX_ORDER] = {13, 7, 29, 1, 5, 3, 11, 19};

static void orders_and_widths(amped_vtype type) {
  static const int widths[] = {1, 7, 16, 33, 64, 100};
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

/* Rows of an input that a core's caches do not hold, and dense output rows: CPUs cut the copies. */
static const uint64_t dense_dims[] = {13, 1501, 7, 6};

static void cut_copies_are_right(int order, int ncomps, amped_vtype type, int nranks) {
  problem p;
  setup how = alone();
  how.index_type = ncomps % 2 == 0 ? AMPED_U64 : AMPED_U32;
  problem_create(&p, order, dense_dims, 10000, ncomps, type);
  all_ranks_are_right(&p, nranks, how);
  problem_free(&p);
}

START_TEST(mttkrp_of_large_inputs_and_dense_rows) {
  cut_copies_are_right(3, 65, AMPED_F32, 1);
  cut_copies_are_right(3, 64, AMPED_F32, 2);
  cut_copies_are_right(3, 100, AMPED_F64, 1);
  cut_copies_are_right(4, 50, AMPED_F64, 2);
  cut_copies_are_right(4, 1, AMPED_F32, 1); /* whole */
  check_no_leak();
}

START_TEST(mttkrp_has_the_same_bits_on_any_number_of_threads) {
  problem p;
  problem_create(&p, 3, dense_dims, 20000, 64, AMPED_F32);
  bits_are_those_of_one_thread(&p, alone());
  problem_free(&p);
  check_no_leak();
}

/* Whatever was in the output before is gone, however few rows are stored to. */
static void stale_output_is_overwritten(problem *p, const setup *how) {
  bench s;
  amped_mttkrp_times times;
  bench_plan(&s, p, how);
  bench_load(&s);
  for (int m = 0; m < p->t.order; m++) {
    uint64_t rows = s.plan.modes[m].copy.output_rows;
    double *stale = random_rows(rows, p->ncomps, AMPED_F32, 9);
    check_ok(mttkrp_whole(&s.w, m, &times));
    double *want = get_output(&s, m);
    check_ok(s.w.backend->factors->put_output(s.w.factors, m, 0, rows, stale));
    check_ok(mttkrp_whole(&s.w, m, &times));
    double *got = get_output(&s, m);
    ck_assert_mem_eq(got, want, rows * (uint64_t)p->ncomps * sizeof *got);
    amped_free(got);
    amped_free(want);
    amped_free(stale);
  }
  bench_close(&s);
}

START_TEST(rows_without_nonzeros_are_zero) {
  static const uint64_t dims[][3] = {{10007, 33000, 5}, {4096, 8193, 1}};
  static const uint64_t nnz[] = {3, 60, 9000};
  for (int i = 0; i < 6; i++) {
    problem p;
    setup how = alone();
    problem_create(&p, 3, dims[i % 2], nnz[i / 2], 16 + i, i % 2 == 0 ? AMPED_F32 : AMPED_F64);
    how.index_type = i / 2 == 1 ? AMPED_U64 : AMPED_U32;
    all_ranks_are_right(&p, 2, how);
    stale_output_is_overwritten(&p, &how);
    if (backend()->device_pointers) {
      how.options.residency = AMPED_RESIDENCY_STREAM;
      stale_output_is_overwritten(&p, &how);
      how.options.residency = AMPED_RESIDENCY_AUTO;
      how.options.tile_bytes = 1 << 14;
      stale_output_is_overwritten(&p, &how);
    }
    problem_free(&p);
  }
  check_no_leak();
}

/* --- rows and dense work -----------------------------------------------------------------------*/

/* Rows come from positions in any order; AMPED_NO_ROW is a row of zeros. want: all rows. */
static void rows_come_from_positions(const bench *s, int mode, const double *want) {
  const uint64_t n = (uint64_t)s->p->ncomps;
  const uint64_t rows = amped_plan_factor_rows(&s->plan, mode);
  const uint64_t count = 3 * rows + 1;
  uint64_t *positions = NULL;
  double *got = doubles(count * n);
  check_ok(amped_alloc(&positions, count, sizeof *positions, "positions"));
  for (uint64_t i = 0; i < count; i++)
    positions[i] = i % 7 == 3 ? AMPED_NO_ROW : i * 5 % rows;
  check_ok(s->w.backend->factors->get_rows_at(s->w.factors, mode, count, positions, got));
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t r = 0; r < n; r++)
      near(got[i * n + r], positions[i] == AMPED_NO_ROW ? 0.0 : want[positions[i] * n + r], 0.0,
           "a row at a position", i, r);
  check_ok(s->w.backend->factors->get_rows_at(s->w.factors, mode, 0, positions, got));
  amped_free(positions);
  amped_free(got);
}

/* The model's value at a cell, and the size of its terms. */
static double slow_model(const bench *s, double *const *rows, uint64_t *const *positions,
                         double *const *instead, bool biased, uint64_t i, double *size) {
  const uint64_t n = (uint64_t)s->p->ncomps;
  double model = 0.0;
  *size = 0.0;
  for (uint64_t r = 0; r < n; r++) {
    const bool adds = biased && r == n - 1;
    double x = adds ? 0.0 : 1.0;
    for (int m = 0; m < s->plan.order; m++) {
      const uint64_t at = positions[m][i];
      const double y = at == AMPED_NO_ROW ? instead[m][r] : rows[m][at * n + r];
      x = adds ? x + y : x * y;
      *size += adds ? fabs(y) : 0.0;
    }
    model += x;
    *size += fabs(x);
  }
  return model;
}

static void models_are_right(const bench *s) {
  enum { CELLS = 301 };
  double *rows[AMPED_MAX_ORDER] = {NULL};
  double *instead[AMPED_MAX_ORDER] = {NULL};
  uint64_t *positions[AMPED_MAX_ORDER] = {NULL};
  double models[CELLS];
  for (int m = 0; m < s->plan.order; m++) {
    rows[m] = positioned(s, m);
    instead[m] = m == 1 ? NULL : random_rows(1, s->p->ncomps, AMPED_F64, (uint64_t)m);
    check_ok(amped_alloc(&positions[m], CELLS, sizeof *positions[m], "positions"));
    for (uint64_t i = 0; i < CELLS; i++)
      positions[m][i] = m != 1 && (i + (uint64_t)m) % 5 == 0
                            ? AMPED_NO_ROW
                            : i * 7 % amped_plan_factor_rows(&s->plan, m);
  }
  for (int biased = 0; biased < 2; biased++) {
    check_ok(s->w.backend->factors->models_at(s->w.factors, CELLS,
                                              (const uint64_t *const *)positions,
                                              (const double *const *)instead, biased == 1, models));
    for (uint64_t i = 0; i < CELLS; i++) {
      double size = 0.0;
      const double want = slow_model(s, rows, positions, instead, biased == 1, i, &size);
      near(models[i], want, 64 * DBL_EPSILON * (1.0 + size), "a model's value", i,
           (uint64_t)biased);
    }
  }
  for (int m = 0; m < s->plan.order; m++) {
    amped_free(rows[m]);
    amped_free(instead[m]);
    amped_free(positions[m]);
  }
}

static void factors_come_back(const bench *s) {
  for (int m = 0; m < s->plan.order; m++) {
    uint64_t rows = amped_plan_factor_rows(&s->plan, m);
    double *want = positioned(s, m);
    double *got = doubles(rows * (uint64_t)s->p->ncomps);
    check_ok(s->w.backend->factors->get_rows(s->w.factors, m, 0, rows, got));
    ck_assert_mem_eq(got, want, rows * (uint64_t)s->p->ncomps * sizeof *got);
    check_ok(s->w.backend->factors->get_rows(s->w.factors, m, rows - 1, 1, got));
    ck_assert_mem_eq(got, want + (rows - 1) * (uint64_t)s->p->ncomps,
                     (size_t)s->p->ncomps * sizeof *got);
    rows_come_from_positions(s, m, want);
    ck_assert_ptr_nonnull(s->w.backend->factors->rows(s->w.factors, m));
    amped_free(got);
    amped_free(want);
  }
  models_are_right(s);
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
    if (!s->w.backend->device_pointers) {
      padding_columns_are_zero(s, m, s->w.backend->factors->rows(s->w.factors, m));
      continue;
    }
    check_ok(s->w.backend->device->host_alloc(s->w.device, bytes, &host));
    check_ok(amped_alloc(&again, bytes, 1, "a test"));
    check_ok(s->w.backend->device->host_register(s->w.device, again, bytes));
    amped_host_copy out = {.offset = 0, .bytes = bytes, .host = host, .in = false};
    check_ok(s->w.backend->factors->stage(s->w.factors, m, &out, 1));
    padding_columns_are_zero(s, m, host);
    memset(again, 255, bytes);
    amped_host_copy garbage = {.offset = 0, .bytes = bytes, .host = again, .in = true};
    check_ok(s->w.backend->factors->stage(s->w.factors, m, &garbage, 1));
    /* Half by half, in and out at once: the second goes out after it came in. */
    amped_host_copy halves[] = {
        {.offset = half, .bytes = bytes - half, .host = (char *)host + half, .in = true},
        {.offset = 0, .bytes = half, .host = host, .in = true},
        {.offset = half, .bytes = bytes - half, .host = (char *)again + half, .in = false},
    };
    check_ok(s->w.backend->factors->stage(s->w.factors, m, halves, 1));
    check_ok(s->w.backend->factors->stage(s->w.factors, m, halves + 1, 2));
    out = (amped_host_copy){.offset = 0, .bytes = half, .host = again, .in = false};
    check_ok(s->w.backend->factors->stage(s->w.factors, m, &out, 1));
    check_ok(s->w.backend->factors->stage(s->w.factors, m, NULL, 0));
    ck_assert_mem_eq(again, host, bytes);
    s->w.backend->device->host_unregister(s->w.device, again);
    amped_free(again);
    s->w.backend->device->host_free(s->w.device, host);
  }
}

static double *own_rows(const bench *s, int mode) {
  uint64_t rows = s->plan.modes[mode].rows.block_rows;
  double *out = doubles(rows * (uint64_t)s->p->ncomps);
  check_ok(
      s->w.backend->factors->get_rows(s->w.factors, mode, block_first(&s->plan, mode), rows, out));
  return out;
}

/* Products of doubles, added up in double by either side. */
static double sum_tolerance(uint64_t terms, double bound) {
  return 2.0 * (double)(terms + 2) * DBL_EPSILON * bound;
}

/* The gram of rows: sums begin with `begin`. */
static void check_gram(const double *a, uint64_t rows, uint64_t n, const double *got,
                       double begin) {
  double *want = doubles(n * n);
  double *bound = doubles(n * n);
  for (uint64_t e = 0; e < n * n; e++)
    want[e] = bound[e] = begin;
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t r = 0; r < n; r++)
      for (uint64_t c = 0; c < n; c++) {
        want[r * n + c] += a[i * n + r] * a[i * n + c];
        bound[r * n + c] += fabs(a[i * n + r] * a[i * n + c]);
      }
  for (uint64_t e = 0; e < n * n; e++) {
    near(got[e], want[e], sum_tolerance(rows + 1, bound[e]), "gram", e / n, e % n);
    ck_assert(got[e] == got[e % n * n + e / n]);
  }
  amped_free(bound);
  amped_free(want);
}

/* The inner product of rows: the sum begins with `begin`. */
static void check_inner(const double *a, const double *b, uint64_t elements, double got,
                        double begin) {
  double want = begin;
  double bound = begin;
  for (uint64_t i = 0; i < elements; i++) {
    want += a[i] * b[i];
    bound += fabs(a[i] * b[i]);
  }
  near(got, want, sum_tolerance(elements + 1, bound), "inner product", 0, 0);
}

/* output * p, neither symmetric, and where `with_keep` is set what another matrix keeps of old
 * rows; and the sums over the new rows, where asked. */
static void solve_is_right(const bench *s, int mode, bool with_keep, bool with_sums) {
  uint64_t n = (uint64_t)s->p->ncomps;
  uint64_t rows = s->plan.modes[mode].rows.rank_rows[s->plan.rank];
  double *p = random_rows(n, (int)n, AMPED_F64, 55);
  amped_row_sums sums = {doubles(n * n), 0.5};
  for (uint64_t e = 0; e < n * n; e++)
    sums.gram[e] = 0.25;
  double *keep = random_rows(n, (int)n, AMPED_F64, 66);
  double *output = get_output(s, mode);
  double *old = own_rows(s, mode);
  const amped_mode_plan *m = &s->plan.modes[mode];
  for (int part = m->rows.parts; part-- > 0;)
    check_ok(s->w.backend->factors->solve(s->w.factors, mode, m->rows.part_rows[part],
                                          m->rows.part_rows[part + 1], p, with_keep ? keep : NULL,
                                          with_sums ? &sums : NULL));
  double *got = own_rows(s, mode);
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t c = 0; c < n; c++) {
      double want = 0.0;
      double bound = 0.0;
      for (uint64_t k = 0; k < n; k++) {
        double kept = with_keep ? old[i * n + k] * keep[k * n + c] : 0.0;
        want += output[i * n + k] * p[k * n + c] + kept;
        bound += fabs(output[i * n + k] * p[k * n + c]) + fabs(kept);
      }
      near(got[i * n + c], want, s->p->eps * fabs(want) + sum_tolerance(2 * n, bound), "solve", i,
           c);
    }
  padding_is_zero(s, mode, got);
  check_gram(got, with_sums ? rows : 0, n, sums.gram, 0.25);
  check_inner(got, output, with_sums ? rows * n : 0, sums.inner, 0.5);
  amped_free(sums.gram);
  amped_free(got);
  amped_free(old);
  amped_free(output);
  amped_free(keep);
  amped_free(p);
}

static void gram_is_right(const bench *s, int mode) {
  const uint64_t n = (uint64_t)s->p->ncomps;
  double *a = own_rows(s, mode);
  double *got = doubles(n * n);
  check_ok(s->w.backend->factors->gram(s->w.factors, mode, got));
  check_gram(a, s->plan.modes[mode].rows.rank_rows[s->plan.rank], n, got, 0.0);
  amped_free(got);
  amped_free(a);
}

/* Own rows in two pieces. */
static void scale_is_right(const bench *s, int mode) {
  uint64_t n = (uint64_t)s->p->ncomps;
  uint64_t rows = s->plan.modes[mode].rows.rank_rows[s->plan.rank];
  uint64_t first = block_first(&s->plan, mode);
  uint64_t cut = s->plan.modes[mode].rows.block_rows / 3;
  double *by = random_rows(1, (int)n, AMPED_F64, 77);
  double *before = own_rows(s, mode);
  check_ok(s->w.backend->factors->scale(s->w.factors, mode, first, cut, by));
  check_ok(s->w.backend->factors->scale(s->w.factors, mode, first + cut,
                                        s->plan.modes[mode].rows.block_rows - cut, by));
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
  uint64_t block = s->plan.modes[mode].rows.block_rows * n;
  double *want = positioned(s, mode);
  double *got = doubles(amped_plan_factor_rows(&s->plan, mode) * n);
  check_ok(s->w.backend->factors->get_rows(s->w.factors, mode, 0,
                                           amped_plan_factor_rows(&s->plan, mode), got));
  for (int r = 0; r < s->plan.nranks; r++)
    if (r != s->plan.rank)
      ck_assert_mem_eq(got + (uint64_t)r * block, want + (uint64_t)r * block, block * sizeof *got);
  amped_free(got);
  amped_free(want);
}

static void dense_work_is_right(problem *p, const setup *how) {
  bench s;
  bench_plan(&s, p, how);
  bench_load(&s);
  factors_come_back(&s);
  staging_keeps_bytes(&s);
  for (int m = 0; m < p->t.order; m++) {
    amped_mttkrp_times times;
    check_ok(mttkrp_whole(&s.w, m, &times));
    solve_is_right(&s, m, true, true);
    solve_is_right(&s, m, false, true);
    solve_is_right(&s, m, false, false);
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
  static const int widths[] = {1, 7, 16, 33, 64, 100};
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int type = 0; type < 2; type++) {
      problem p;
      problem_create(&p, 3, dims, 3000, widths[w], type == 0 ? AMPED_F32 : AMPED_F64);
      setup how = alone();
      how.nranks = 1 + (int)w % 3;
      how.parts = 1 + (int)w;
      for (how.rank = 0; how.rank < how.nranks; how.rank++)
        dense_work_is_right(&p, &how);
      problem_free(&p);
    }
  check_no_leak();
}

/* --- another number of components --------------------------------------------------------------*/

/* The copies of `most` components serve fewer, in any order. */
static void fewer_components_are_right(const setup *how, int most, amped_vtype type) {
  static const uint64_t dims[] = {9001, 37, 301};
  static const int widths[] = {4, 33, 1, 7, 16};
  problem p;
  bench s;
  problem_create(&p, 3, dims, 20000, most, type);
  bench_plan(&s, &p, how);
  bench_load(&s);
  for (size_t w = 0; w <= sizeof widths / sizeof widths[0]; w++) {
    set_ncomps(&s, w < sizeof widths / sizeof widths[0] ? widths[w] : most);
    for (int m = 0; m < p.t.order; m++) {
      mttkrp_is_right(&s, m);
      products_are_right(&s, m);
    }
    for (int m = 0; m < p.t.order; m++) {
      amped_mttkrp_times times;
      check_ok(mttkrp_whole(&s.w, m, &times));
      solve_is_right(&s, m, true, true);
      solve_is_right(&s, m, false, true);
      gram_is_right(&s, m);
    }
  }
  bench_close(&s);
  problem_free(&p);
}

START_TEST(copies_serve_fewer_components) {
  for (int type = 0; type < 2; type++) {
    setup how = alone();
    how.nranks = 2;
    fewer_components_are_right(&how, 100, type == 0 ? AMPED_F32 : AMPED_F64);
    if (!backend()->device_pointers)
      continue;
    how.options.residency = AMPED_RESIDENCY_STREAM;
    fewer_components_are_right(&how, 40, type == 0 ? AMPED_F32 : AMPED_F64);
    how.options.residency = AMPED_RESIDENCY_AUTO;
    how.options.tile_bytes = 4096;
    fewer_components_are_right(&how, 40, type == 0 ? AMPED_F32 : AMPED_F64);
  }
  check_no_leak();
}

/* --- split iDps --------------------------------------------------------------------------------*/

/* Three fifths of the nonzeros in row 0 of mode 0, half in row 0 of the last; mode 1 has three
 * rows. */
static void split_problem(problem *p, int ncomps, amped_vtype type) {
  static const uint64_t dims[] = {70001, 3, 300, 41};
  problem_create(p, 4, dims, 20000, ncomps, type);
  for (uint64_t k = 0; k < p->t.nnz; k++)
    if (k % 5 < 3)
      p->t.indices[0][k] = 0;
  check_ok(amped_sptensor_sort(&p->t, 0));
  amped_partition_free(&p->info.partitions[0]);
  check_ok(amped_partition_create(&p->info.partitions[0], dims[0], p->t.indices[0], p->t.nnz));
}

START_TEST(mttkrp_of_split_idps) {
  for (int type = 0; type < 2; type++) {
    problem p;
    split_problem(&p, 5 + 3 * type, type == 0 ? AMPED_F32 : AMPED_F64);
    for (int nranks = 2; nranks <= 4; nranks++) {
      setup how = alone();
      how.placement = nranks == 4 ? AMPED_PLACEMENT_EQUAL : AMPED_PLACEMENT_GREEDY;
      how.index_type = nranks == 3 ? AMPED_U64 : AMPED_U32;
      all_ranks_are_right(&p, nranks, how);
    }
    problem_free(&p);
  }
  check_no_leak();
}

/* What was put is there, and nothing else has changed. */
START_TEST(output_rows_are_put) {
  problem p;
  bench s;
  setup how = alone();
  amped_mttkrp_times times;
  split_problem(&p, 7, AMPED_F32);
  how.nranks = 3;
  how.rank = 1;
  bench_plan(&s, &p, &how);
  bench_load(&s);
  ck_assert(s.plan.modes[0].copy.output_rows > s.plan.modes[0].rows.block_rows);
  for (int m = 0; m < p.t.order; m++) {
    uint64_t n = (uint64_t)p.ncomps;
    uint64_t last = s.plan.modes[m].copy.output_rows - 1;
    check_ok(mttkrp_whole(&s.w, m, &times));
    double *want = get_output(&s, m);
    double *row = random_rows(2, p.ncomps, AMPED_F32, 3);
    check_ok(s.w.backend->factors->put_output(s.w.factors, m, 0, 1, row));
    check_ok(s.w.backend->factors->put_output(s.w.factors, m, last, 1, row + n));
    memcpy(want, row, n * sizeof *row);
    memcpy(want + last * n, row + n, n * sizeof *row);
    double *got = get_output(&s, m);
    ck_assert_mem_eq(got, want, (last + 1) * n * sizeof *got);
    amped_free(got);
    amped_free(row);
    amped_free(want);
  }
  bench_close(&s);
  problem_free(&p);
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

/* --- parts -------------------------------------------------------------------------------------*/

/* Finished parts are right while later ones are still computed; nothing changes in the end. */
START_TEST(parts_are_right_when_they_are_finished) {
  static const uint64_t dims[][5] = {{20001, 1200, 77}, {300, 5000, 30, 11}, {9, 8, 2000, 60, 5}};
  static const int widths[] = {16, 33, 130};
  for (int i = 0; i < 3; i++)
    for (int parts = 2; parts <= AMPED_MAX_PARTS; parts += 3) {
      problem p;
      setup how = alone();
      problem_create(&p, 3 + i, dims[i], 20000, widths[i], i == 1 ? AMPED_F64 : AMPED_F32);
      how.parts = parts;
      all_ranks_are_right(&p, 1, how);
      all_ranks_are_right(&p, 3, how);
      if (backend()->device_pointers) {
        how.options.residency = AMPED_RESIDENCY_STREAM;
        all_ranks_are_right(&p, 2, how);
      }
      problem_free(&p);
    }
  check_no_leak();
}

/* --- memory and kernels ------------------------------------------------------------------------*/

/* What a set-up requires; the context is closed again. */
static amped_status requirement(problem *p, const setup *how, amped_requirement *r) {
  bench s;
  bench_plan(&s, p, how);
  amped_status status = amped_worker_require(&s.w, &s.plan, r);
  ck_assert_uint_gt(s.w.backend->device->memory(s.w.device), 0);
  ck_assert_ptr_nonnull(s.w.backend->device->identity(s.w.device));
  ck_assert_uint_gt(strlen(s.w.backend->device->describe(s.w.device)), 0);
  bench_close(&s);
  return status;
}

START_TEST(requirements_are_said) {
  static const uint64_t dims[] = {50, 60, 70};
  amped_requirement r;
  problem p;
  problem_create(&p, 3, dims, 10000, 16, AMPED_F32);
  setup how = alone();
  check_ok(requirement(&p, &how, &r));
  uint64_t copy = 10000 * (sizeof(uint32_t) + sizeof(float)); /* packed */
  ck_assert_uint_ge(r.device_bytes + r.host_bytes,
                    3 * copy + (50 + 60 + 70 + 70) * 16 * sizeof(float));
  for (int m = 0; m < 3; m++) {
    ck_assert_uint_ge(r.copy_bytes[m], copy);
    ck_assert_uint_eq(r.streamed_bytes[m], 0);
  }
  problem_free(&p);
  ck_assert_ptr_null(amped_backend_find("no such backend"));
  check_no_leak();
}

static uint64_t all_streamed(const amped_requirement *r) {
  uint64_t bytes = 0;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    bytes += r->streamed_bytes[m];
  return bytes;
}

/* Streamed through two buffers of whole copies, and through small ones. */
START_TEST(streaming_changes_no_result) {
  static const uint64_t dims[] = {1501, 3, 77};
  amped_requirement r;
  if (!backend()->device_pointers)
    return;
  problem p;
  problem_create(&p, 3, dims, 60000, 16, AMPED_F32);
  setup how = alone();
  how.options.residency = AMPED_RESIDENCY_STREAM;
  for (int i = 0; i < 2; i++) {
    check_ok(requirement(&p, &how, &r));
    if (i == 1)
      ck_assert_uint_le(r.device_bytes, how.options.device_memory);
    for (int m = 0; m < 3; m++)
      ck_assert_uint_ge(r.streamed_bytes[m], 60000 * (sizeof(uint32_t) + sizeof(float)));
    ck_assert_uint_eq(r.host_bytes, all_streamed(&r));
    all_modes_are_right(&p, &how);
    how.options.device_memory = r.device_bytes - r.copy_bytes[0] * 5 / 3;
  }
  problem_free(&p);
  check_no_leak();
}

/* Budgets from all but a byte downwards, as far as two small buffers leave room: nearly everything
 * resident, a half, nothing. Launches are of other nonzeros than where all is resident, so sums are
 * grouped in another way: results are held against the oracle, not against each other's bits. */
static void budgets_change_no_result(problem *p, setup how) {
  amped_requirement r;
  how.options.residency = AMPED_RESIDENCY_RESIDENT;
  check_ok(requirement(p, &how, &r));
  ck_assert_uint_eq(r.host_bytes, 0);
  uint64_t all = r.device_bytes;
  uint64_t copies = r.copy_bytes[0] + r.copy_bytes[1] + r.copy_bytes[2];
  uint64_t before = 0;
  int budgets = 0;
  how.options.residency = AMPED_RESIDENCY_AUTO;
  for (uint64_t less = 1; less < copies; less += copies / 9, budgets++) {
    how.options.device_memory = all - less;
    if (requirement(p, &how, &r) != AMPED_OK)
      break;
    ck_assert_uint_le(r.device_bytes, how.options.device_memory);
    ck_assert_uint_gt(all_streamed(&r), before);
    before = all_streamed(&r);
    all_modes_are_right(p, &how);
  }
  amped_status_clear();
  ck_assert_int_ge(budgets, 7);
  how.options.device_memory = all;
  check_ok(requirement(p, &how, &r));
  ck_assert_uint_eq(all_streamed(&r), 0);
}

START_TEST(partial_residency_changes_no_result) {
  static const uint64_t dims[] = {1501, 3, 77};
  if (!backend()->device_pointers)
    return;
  for (int i = 0; i < 3; i++) {
    problem p;
    setup how = alone();
    how.options.format = i == 2 ? "published" : "sorted";
    problem_create(&p, 3, dims, 60000 + 256 * 7, i == 0 ? 16 : 33, i == 0 ? AMPED_F32 : AMPED_F64);
    budgets_change_no_result(&p, how);
    problem_free(&p);
  }
  check_no_leak();
}

/* The first pieces of the mode that follows in a sweep are transferred early: in vain where another
 * mode is asked for. */
START_TEST(streamed_modes_come_in_any_order) {
  static const uint64_t dims[] = {1501, 3, 77, 20};
  static const int modes[] = {3, 3, 0, 1, 0, 2, 3, 1, 1, 2, 0};
  amped_requirement r;
  if (!backend()->device_pointers)
    return;
  problem p;
  problem_create(&p, 4, dims, 40000, 8, AMPED_F32);
  setup how = alone();
  check_ok(requirement(&p, &how, &r));
  for (int i = 0; i < 2; i++) {
    bench s;
    how.options.residency = i == 0 ? AMPED_RESIDENCY_STREAM : AMPED_RESIDENCY_AUTO;
    how.options.device_memory = r.device_bytes - r.copy_bytes[0];
    bench_plan(&s, &p, &how);
    bench_load(&s);
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++)
      mttkrp_is_right(&s, modes[m]);
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
      products_are_right(&s, modes[m]);
      if (m % 2 == 1)
        mttkrp_is_right(&s, modes[m]);
    }
    bench_close(&s);
  }
  problem_free(&p);
  check_no_leak();
}

START_TEST(too_little_device_memory_is_an_error_with_a_remedy) {
  static const uint64_t dims[] = {50, 60, 70};
  amped_requirement r;
  if (!backend()->device_pointers)
    return;
  problem p;
  problem_create(&p, 3, dims, 10000, 16, AMPED_F32);
  setup how = alone();
  how.options.residency = AMPED_RESIDENCY_RESIDENT;
  check_ok(requirement(&p, &how, &r));
  how.options.device_memory = r.device_bytes - 1;
  check_fails(AMPED_FAILED, "--residency=auto", requirement(&p, &how, &r));
  how.options.residency = AMPED_RESIDENCY_AUTO;
  how.options.device_memory = 100000;
  check_fails(AMPED_FAILED, "--rank", requirement(&p, &how, &r));
  problem_free(&p);
  check_no_leak();
}

START_TEST(atomic_kernel_gives_the_same) {
  static const int widths[] = {1, 7, 32, 100, 1024};
  if (!backend()->device_pointers)
    return;
  setup how = alone();
  how.options.format = "published";
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

typedef struct ticket {
  uint64_t key, number;
} ticket;

static int by_key(const void *left, const void *right) {
  const ticket *a = left;
  const ticket *b = right;
  if (a->key != b->key)
    return a->key < b->key ? -1 : 1;
  return a->number < b->number ? -1 : 1;
}

/* A random order in which equal coordinates stay one behind the other. */
static ticket *draw_order(const amped_sptensor *t) {
  ticket *order = NULL;
  check_ok(amped_calloc(&order, t->nnz, sizeof *order, "a test"));
  for (uint64_t k = 0; k < t->nnz; k++) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0; m < t->order; m++)
      index[m] = t->indices[m][k];
    order[k] = (ticket){amped_nonzero_hash(t->order, index, 0.0), k};
  }
  if (t->nnz > 0)
    qsort(order, t->nnz, sizeof *order, by_key);
  return order;
}

/* This rank's nonzeros of mode as a file has them, in a random order; *repeats of them. */
static amped_nonzeros own_nonzeros(const bench *s, int mode, void **blocks, uint64_t *repeats) {
  const amped_plan *plan = &s->plan;
  amped_sptensor share;
  shard_of(s, mode, &share);
  ticket *order = draw_order(&share);
  for (int m = 0; m < share.order; m++)
    check_ok(amped_calloc(&blocks[m], share.nnz, amped_itype_for(share.dims[m]), "a test"));
  check_ok(amped_calloc(&blocks[share.order], share.nnz, plan->value_type, "a test"));
  *repeats = 0;
  for (uint64_t i = 0; i < share.nnz; i++) {
    uint64_t k = order[i].number;
    bool same = k > 0;
    for (int m = 0; m < share.order; m++) {
      amped_index_put(blocks[m], amped_itype_for(share.dims[m]), i, share.indices[m][k]);
      same = same && share.indices[m][k] == share.indices[m][k - 1];
    }
    amped_value_put(blocks[share.order], plan->value_type, i, share.values[k]);
    *repeats += same;
  }
  amped_nonzeros own = {.count = share.nnz};
  amped_free(order);
  amped_sptensor_free(&share);
  return own;
}

static void collect_part(const bench *s, int mode, void **blocks, uint64_t first, uint64_t end) {
  const amped_plan *plan = &s->plan;
  amped_nonzeros part = {.count = end - first};
  for (int m = 0; m < plan->order; m++)
    part.indices[m] = at(blocks[m], first, amped_itype_for(plan->dims[m]));
  part.values = at(blocks[plan->order], first, plan->value_type);
  part.value_type = plan->value_type;
  check_ok(s->w.format->collect(s->w.tensor, mode, &part));
}

/* Collect in uneven parts, one of them empty. */
static void collect_mode(const bench *s, int mode) {
  const int order = s->plan.order;
  void *blocks[AMPED_MAX_ORDER + 1] = {NULL};
  uint64_t repeats = UINT64_MAX;
  uint64_t want = 0;
  amped_nonzeros own = own_nonzeros(s, mode, blocks, &want);
  uint64_t cuts[] = {0, own.count > 0 ? 1 : 0, own.count / 3, own.count / 3, own.count};
  for (size_t i = 1; i < sizeof cuts / sizeof cuts[0]; i++)
    if (cuts[i] >= cuts[i - 1])
      collect_part(s, mode, blocks, cuts[i - 1], cuts[i]);
    else
      cuts[i] = cuts[i - 1];
  for (int a = 0; a <= order; a++)
    amped_free(blocks[a]);
  check_ok(s->w.format->sort(s->w.tensor, mode, &repeats));
  check_ok(s->w.format->finish(s->w.tensor, mode));
  ck_assert_uint_eq(repeats, want);
}

/* What is collected gives MTTKRP the same bits as what is uploaded in order. */
static void collected_is_uploaded(problem *p, const setup *how) {
  bench a;
  bench b;
  amped_mttkrp_times times;
  bench_plan(&a, p, how);
  bench_load(&a);
  bench_plan(&b, p, how);
  check_ok(amped_worker_prepare(&b.w, &b.plan));
  for (int m = 0; m < p->t.order; m++) {
    if (amped_plan_has_copy(&b.plan, m))
      collect_mode(&b, m);
    put_factor(&b, m);
  }
  for (int m = 0; m < p->t.order; m++) {
    if (how->nranks > 1 && !amped_plan_has_copy(&b.plan, m))
      continue; /* each rank has parts of sums */
    mttkrp_is_right(&b, m);
    check_ok(mttkrp_whole(&a.w, m, &times));
    double *want = get_output(&a, m);
    double *got = get_output(&b, m);
    ck_assert_mem_eq(got, want,
                     a.plan.modes[m].copy.output_rows * (uint64_t)p->ncomps * sizeof *got);
    amped_free(got);
    amped_free(want);
  }
  bench_close(&b);
  bench_close(&a);
}

static void all_ranks_collect(problem *p, int nranks, setup how) {
  how.nranks = nranks;
  for (how.rank = 0; how.rank < nranks; how.rank++)
    collected_is_uploaded(p, &how);
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

START_TEST(collected_nonzeros_of_split_idps) {
  for (int type = 0; type < 2; type++) {
    problem p;
    split_problem(&p, 5 + 3 * type, type == 0 ? AMPED_F32 : AMPED_F64);
    for (int nranks = 2; nranks <= 4; nranks++) {
      setup how = alone();
      how.placement = nranks == 4 ? AMPED_PLACEMENT_EQUAL : AMPED_PLACEMENT_GREEDY;
      how.index_type = nranks == 3 ? AMPED_U64 : AMPED_U32;
      all_ranks_collect(&p, nranks, how);
    }
    problem_free(&p);
  }
  check_no_leak();
}

/* More than a piece; on a GPU with so little device memory that pieces are as small as they may be
 * and the coo_buffer lies in host memory. The last has pieces of one key alone. */
START_TEST(collected_nonzeros_in_many_pieces) {
  static const uint64_t dims[][3] = {{30000, 50, 700}, {46, 5000, 3}, {2, 3, 1}};
  for (size_t i = 0; i < 3; i++) {
    problem p;
    amped_requirement r;
    setup how = alone();
    how.nranks = i == 0 ? 1 : 2;
    how.rank = i == 0 ? 0 : (int)i % 2;
    problem_create(&p, 3, dims[i], 400000, 2, AMPED_F64);
    if (backend()->device_pointers) {
      how.options.residency = AMPED_RESIDENCY_RESIDENT;
      check_ok(requirement(&p, &how, &r));
      how.options.device_memory = r.device_bytes;
    }
    collected_is_uploaded(&p, &how);
    if (backend()->device_pointers) {
      how.options.residency = AMPED_RESIDENCY_AUTO;
      how.options.device_memory -= r.copy_bytes[0];
      collected_is_uploaded(&p, &how);
    }
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
    check_ok(amped_worker_prepare(&s.w, &s.plan));
    amped_nonzeros own = own_nonzeros(&s, 0, blocks, &repeats);
    if (i == 0) {
      collect_part(&s, 0, blocks, 0, own.count);
      own.count = 1;
      own.values = blocks[3];
      for (int m = 0; m < 3; m++)
        own.indices[m] = blocks[m];
      check_fails(AMPED_FAILED, "more nonzeros", s.w.format->collect(s.w.tensor, 0, &own));
    } else {
      collect_part(&s, 0, blocks, 0, own.count - 1);
      check_fails(AMPED_FAILED, "counted", s.w.format->sort(s.w.tensor, 0, &repeats));
    }
    for (int a = 0; a < 4; a++)
      amped_free(blocks[a]);
    bench_close(&s);
    problem_free(&p);
  }
  check_no_leak();
}

/* The same numbers on every rank, in the places where the plan has the rows. */
static void random_is_right(bench *s) {
  const amped_plan *plan = &s->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
  for (int m = 0; m < plan->order; m++) {
    double *rows = doubles(amped_plan_factor_rows(plan, m) * n);
    check_ok(s->w.backend->factors->fill_random(s->w.factors, m, 77));
    check_ok(
        s->w.backend->factors->get_rows(s->w.factors, m, 0, amped_plan_factor_rows(plan, m), rows));
    for (uint64_t i = 0; i < plan->dims[m]; i++) {
      const uint64_t at = amped_plan_position(plan, m, i);
      const bool own = plan->modes[m].rows.owner[i / plan->modes[m].rows.width] == plan->rank;
      for (uint64_t c = 0; c < n; c++) {
        const double want =
            own ? rounded(amped_random_double(77, (uint64_t)m, i * n + c), plan->value_type) : 0.0;
        ck_assert(rows[at * n + c] == want);
      }
    }
    amped_free(rows);
  }
}

START_TEST(random_rows_are_the_same_everywhere) {
  static const uint64_t dims[] = {500, 1, 70000};
  for (int rank = 0; rank < 3; rank++) {
    problem p;
    bench s;
    setup how = alone();
    how.rank = rank;
    how.nranks = 3;
    problem_create(&p, 3, dims, 3000, 5, rank == 1 ? AMPED_F64 : AMPED_F32);
    bench_plan(&s, &p, &how);
    check_ok(amped_worker_prepare(&s.w, &s.plan));
    random_is_right(&s);
    bench_close(&s);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(what_collecting_takes_is_said) {
  static const uint64_t dims[] = {50, 60, 70};
  problem p;
  bench s;
  amped_requirement r;
  uint64_t device = 0;
  uint64_t host = 0;
  setup how = alone();
  problem_create(&p, 3, dims, 10000, 16, AMPED_F32);
  bench_plan(&s, &p, &how);
  check_ok(amped_worker_require(&s.w, &s.plan, &r));
  check_ok(amped_worker_require_collect(&s.w, &s.plan, &device, &host));
  if (s.w.backend->device_pointers)
    device += r.device_bytes; /* which has room that is lent */
  ck_assert_uint_ge(device + host, 10000 * (3 * sizeof(uint8_t) + sizeof(float)));
  bench_close(&s);
  problem_free(&p);
  check_no_leak();
}

TESTING_MAIN("backends", mttkrp_in_float_for_all_orders_and_widths,
             mttkrp_in_double_for_all_orders_and_widths, mttkrp_with_64_bit_positions,
             mttkrp_with_the_most_components, mttkrp_of_one_nonzero_with_more_ranks_than_indices,
             mttkrp_of_long_and_short_rows, mttkrp_of_large_inputs_and_dense_rows,
             mttkrp_has_the_same_bits_on_any_number_of_threads, rows_without_nonzeros_are_zero,
             mttkrp_of_split_idps, output_rows_are_put, dense_work_of_every_width,
             dense_work_of_many_rows, parts_are_right_when_they_are_finished,
             copies_serve_fewer_components, requirements_are_said, streaming_changes_no_result,
             partial_residency_changes_no_result, streamed_modes_come_in_any_order,
             too_little_device_memory_is_an_error_with_a_remedy, atomic_kernel_gives_the_same,
             collected_nonzeros_of_all_orders_and_types, collected_nonzeros_with_long_keys,
             collected_nonzeros_of_one_row_and_of_empty_shares, collected_nonzeros_of_split_idps,
             collected_nonzeros_in_many_pieces, collected_nonzeros_are_those_that_were_counted,
             random_rows_are_the_same_everywhere, what_collecting_takes_is_said)
