/* Synthetic tensors: their law, and every backend's making of them against the same functions
 * evaluated one by one on the host. AMPED_TEST_BACKEND names the backend, as in check_backends. */
#include "backend/synthetic.h"
#include "tests/lib/testing_backend.h"

static amped_synthetic make(int order, const uint64_t *dims, uint64_t nnz, int power,
                            uint64_t codes) {
  amped_synthetic t;
  check_ok(amped_synthetic_make(&t, order, dims, nnz, power, codes, 11));
  return t;
}

/* --- the law -----------------------------------------------------------------------------------*/

START_TEST(scatter_is_a_bijection) {
  static const uint64_t dims[] = {1, 2, 3, 46, 97, 1000, 4096, 30030};
  for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++) {
    uint64_t three[] = {dims[d], 5, 5};
    amped_synthetic t = make(3, three, 10, 1, 0);
    bool *seen = NULL;
    check_ok(amped_calloc(&seen, dims[d], sizeof *seen, "a test"));
    for (uint64_t i = 0; i < dims[d]; i++) {
      uint64_t at = i * t.strides[0] % dims[d];
      ck_assert(!seen[at]);
      seen[at] = true;
    }
    amped_free(seen);
  }
  check_no_leak();
}

/* P(index < x dim before scattering) = x^(1/power). A count of n draws has a standard deviation of
 * at most sqrt(n)/2; six of them are exceeded once in 5e8 times. */
START_TEST(draws_follow_the_power_law) {
  uint64_t n = 100000;
  for (int power = 1; power <= 3; power += 2)
    for (double x = 0.1; x < 1.0; x += 0.2) {
      uint64_t below = 0;
      for (uint64_t k = 0; k < n; k++)
        below += (double)amped_synthetic_draw(1000000, power, 77, k) < x * 1e6;
      near((double)below, (double)n * pow(x, 1.0 / power), 3.0 * sqrt((double)n), "draws",
           (uint64_t)power, (uint64_t)(x * 10));
    }
}

START_TEST(indices_and_values_are_in_range) {
  static const uint64_t dims[] = {46, 1, AMPED_SYNTHETIC_MAX_DIM, 7};
  for (uint64_t codes = 0; codes <= AMPED_MAX_CODES; codes = codes == 0 ? 1 : codes * 256) {
    amped_synthetic t = make(4, dims, 20000, 3, codes);
    double least = 1e9;
    for (uint64_t k = 0; k < t.nnz; k++) {
      double v = amped_synthetic_value(&t, k);
      for (int m = 0; m < t.order; m++)
        if (amped_synthetic_index(&t, m, k) >= dims[m])
          ck_abort_msg("index out of range");
      if (!(v > 0.0 && v <= (codes > 0 ? (double)codes : 1.0)) || (double)(float)v != v)
        ck_abort_msg("value %.17g", v);
      least = v < least ? v : least;
    }
    ck_assert(codes == 0 ? least < 1e-3 : least == 1.0);
  }
}

START_TEST(what_cannot_be_made_is_refused) {
  static const uint64_t huge[] = {5, AMPED_SYNTHETIC_MAX_DIM + 1, 5};
  static const uint64_t good[] = {5, 5, 5};
  amped_synthetic t;
  check_fails(AMPED_USAGE, "--scale", amped_synthetic_make(&t, 3, huge, 10, 1, 0, 1));
  check_fails(AMPED_USAGE, "nonzeros", amped_synthetic_make(&t, 3, good, 0, 1, 0, 1));
  check_fails(AMPED_USAGE, "nonzeros", amped_synthetic_make(&t, 3, good, UINT64_MAX, 1, 0, 1));
}

START_TEST(parts_cover_all_counters) {
  static const uint64_t dims[] = {5, 5, 5};
  for (uint64_t nnz = 1; nnz < 12; nnz++)
    for (int nranks = 1; nranks < 15; nranks++) {
      amped_synthetic t = make(3, dims, nnz, 1, 0);
      uint64_t next = 0;
      for (int p = 0; p < nranks; p++) {
        uint64_t first = 0;
        uint64_t count = 0;
        amped_synthetic_part(&t, p, nranks, &first, &count);
        ck_assert_uint_eq(first, next);
        next += count;
      }
      ck_assert_uint_eq(next, nnz);
    }
}

/* --- backends ----------------------------------------------------------------------------------*/

/* Every rank's count, added up, against one loop; sets info's counts and norm. */
static void counts_are_right(const amped_synthetic *t, amped_worker *w, int nranks,
                             amped_tensor_info *info) {
  for (int m = 0; m < t->order; m++) {
    amped_partition *p = &info->partitions[m];
    uint64_t *part = NULL;
    double squares = 0.0;
    double want = 0.0;
    check_ok(amped_calloc(&part, p->idp_count, sizeof *part, "a test"));
    memset(p->idp_nnz, 0, p->idp_count * sizeof *p->idp_nnz);
    for (int r = 0; r < nranks; r++) {
      uint64_t first = 0;
      uint64_t count = 0;
      double sum = -1.0;
      amped_synthetic_part(t, r, nranks, &first, &count);
      check_ok(
          w->backend->device->count_synthetic(w->device, t, m, p->width, first, count, part, &sum));
      for (uint64_t i = 0; i < p->idp_count; i++)
        p->idp_nnz[i] += part[i];
      squares += sum;
    }
    check_ok(w->backend->device->count_synthetic(w->device, t, m, p->width, 0, t->nnz, part, NULL));
    memset(part, 0, p->idp_count * sizeof *part);
    for (uint64_t k = 0; k < t->nnz; k++) {
      part[amped_synthetic_index(t, m, k) / p->width]++;
      want += amped_synthetic_value(t, k) * amped_synthetic_value(t, k);
    }
    ck_assert_mem_eq(part, p->idp_nnz, p->idp_count * sizeof *part);
    near(squares, want, (double)t->nnz * DBL_EPSILON * want, "sum of squares", 0, 0);
    info->norm_squared = squares;
    amped_free(part);
  }
}

/* The same tensor as a coordinate list, with random factors. */
static void problem_of(problem *p, const amped_synthetic *t, const setup *how, int ncomps,
                       amped_vtype type) {
  amped_worker w = {0};
  memset(p, 0, sizeof *p);
  p->as_made = true;
  p->ncomps = ncomps;
  p->value_type = type;
  p->eps = type == AMPED_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
  check_ok(amped_sptensor_create(&p->t, t->order, t->nnz));
  memcpy(p->t.dims, t->dims, (size_t)t->order * sizeof *t->dims);
  for (uint64_t k = 0; k < t->nnz; k++) {
    for (int m = 0; m < t->order; m++)
      p->t.indices[m][k] = amped_synthetic_index(t, m, k);
    p->t.values[k] = amped_synthetic_value(t, k);
  }
  for (int m = 0; m < t->order; m++)
    p->factors[m] = random_rows(t->dims[m], ncomps, type, (uint64_t)m);
  check_ok(amped_synthetic_info(t, &p->info));
  check_ok(amped_worker_open(&w, backend(), &how->options));
  counts_are_right(t, &w, how->nranks, &p->info);
  amped_worker_close(&w);
}

static void problem_of_free(problem *p) {
  for (int m = 0; m < p->t.order; m++)
    amped_free(p->factors[m]);
  amped_tensor_info_free(&p->info);
  amped_sptensor_free(&p->t);
}

static void loaded_is_right(const amped_synthetic *t, problem *p, const setup *how) {
  bench s;
  bench_plan(&s, p, how);
  check_ok(amped_worker_prepare(&s.w, &s.plan));
  for (int m = 0; m < s.plan.order; m++) {
    put_factor(&s, m);
    if (!amped_plan_has_copy(&s.plan, m))
      continue;
    check_ok(s.w.format->make_synthetic(s.w.tensor, t, m));
    check_ok(s.w.format->finish(s.w.tensor, m));
  }
  for (int m = 0; m < s.plan.order; m++)
    if (how->nranks == 1 || amped_plan_has_copy(&s.plan, m)) /* else ranks have parts of sums */
      mttkrp_is_right(&s, m);
  bench_close(&s);
}

static void all_is_right(const amped_synthetic *t, int nranks, int ncomps, amped_vtype type,
                         setup how) {
  problem p;
  how.nranks = nranks;
  problem_of(&p, t, &how, ncomps, type);
  for (how.rank = 0; how.rank < nranks; how.rank++)
    loaded_is_right(t, &p, &how);
  problem_of_free(&p);
}

START_TEST(all_orders_ranks_and_types) {
  static const uint64_t dims[AMPED_MAX_ORDER] = {13, 7, 290, 1, 5, 3, 11, 19};
  for (int order = AMPED_MIN_ORDER; order <= AMPED_MAX_ORDER; order++)
    for (int i = 0; i < 4; i++) {
      amped_synthetic t =
          make(order, dims, 900, i % 2 == 0 ? 1 : 3, (uint64_t)(order % 3 == 0 ? 0 : 1 + 40 * i));
      setup how = alone();
      how.index_type = i < 2 ? AMPED_U32 : AMPED_U64;
      all_is_right(&t, 1 + i % 3, 4 + i, i % 2 == 0 ? AMPED_F32 : AMPED_F64, how);
    }
  check_no_leak();
}

START_TEST(one_nonzero_on_more_ranks_than_indices) {
  static const uint64_t dims[] = {2, 1, 3};
  amped_synthetic t = make(3, dims, 1, 3, 0);
  all_is_right(&t, 5, 3, AMPED_F32, alone());
  check_no_leak();
}

START_TEST(more_indices_than_idps) {
  static const uint64_t dims[] = {200000, 70001, 65537};
  amped_synthetic t = make(3, dims, 5000, 3, 256);
  all_is_right(&t, 3, 2, AMPED_F32, alone());
  check_no_leak();
}

/* One row of three, one of two: parts of them go to every rank. */
START_TEST(split_idps) {
  static const uint64_t dims[] = {46, 3, 80001, 2};
  amped_synthetic t = make(4, dims, 30000, 3, 5);
  for (int nranks = 2; nranks <= 5; nranks++) {
    setup how = alone();
    how.placement = nranks % 2 == 0 ? AMPED_PLACEMENT_GREEDY : AMPED_PLACEMENT_EQUAL;
    all_is_right(&t, nranks, 3, nranks == 3 ? AMPED_F64 : AMPED_F32, how);
  }
  check_no_leak();
}

/* Device memory so little that a piece is as small as it may be. */
static setup cramped(problem *p, const setup *how) {
  setup less = *how;
  amped_requirement r;
  bench s;
  if (!backend()->device_pointers)
    return less;
  bench_plan(&s, p, how);
  check_ok(amped_worker_require(&s.w, &s.plan, &r));
  less.options.device_memory = r.device_bytes;
  bench_close(&s);
  return less;
}

/* Keys all different, keys with a popular row, and so few keys that one of them fills pieces. */
START_TEST(many_pieces) {
  static const uint64_t dims[][3] = {{30000, 50, 700}, {46, 5000, 3}, {2, 3, 1}};
  for (size_t i = 0; i < 3; i++) {
    amped_synthetic t = make(3, dims[i], 1500000, 3, 0);
    setup how = alone();
    problem p;
    how.nranks = i == 0 ? 1 : 2;
    how.rank = i == 0 ? 0 : (int)i % 2;
    problem_of(&p, &t, &how, 2, AMPED_F64);
    how = cramped(&p, &how);
    loaded_is_right(&t, &p, &how);
    problem_of_free(&p);
  }
  check_no_leak();
}

START_TEST(gather_rates_are_measured) {
  static const uint64_t dims[] = {50, 60, 70};
  static const int widths[] = {1, 7, 16, 33, 100, 1024};
  amped_synthetic t = make(3, dims, 100, 1, 0);
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (uint64_t rows = 1; rows < 10000; rows = rows * 40 + 1) {
      setup how = alone();
      problem p;
      bench s;
      double rate = 0.0;
      problem_of(&p, &t, &how, widths[w], w % 2 == 0 ? AMPED_F32 : AMPED_F64);
      bench_plan(&s, &p, &how);
      check_ok(amped_worker_prepare(&s.w, &s.plan));
      check_ok(s.w.backend->device->gather_rate(s.w.device, &s.plan, UINT64_MAX, rows, &rate));
      ck_assert(isfinite(rate) && rate > 0.0);
      check_ok(s.w.backend->device->gather_rate(s.w.device, &s.plan, UINT64_MAX, UINT64_C(1) << 50,
                                                &rate));
      ck_assert(rate == 0.0);
      bench_close(&s);
      problem_of_free(&p);
    }
  check_no_leak();
}

START_TEST(the_read_rate_is_measured) {
  static const uint64_t dims[] = {50, 60, 70};
  amped_synthetic t = make(3, dims, 100, 1, 0);
  for (int threads = 1; threads <= 3; threads += 2) {
    setup how = alone();
    problem p;
    bench s;
    double rate = 0.0;
    how.options.threads = threads;
    problem_of(&p, &t, &how, 4, AMPED_F32);
    bench_plan(&s, &p, &how);
    check_ok(amped_worker_prepare(&s.w, &s.plan));
    check_ok(s.w.backend->device->read_rate(s.w.device, UINT64_MAX, &rate));
    ck_assert(isfinite(rate) && rate > 0.0);
    bench_close(&s);
    problem_of_free(&p);
  }
  check_no_leak();
}

START_TEST(the_multiply_rate_is_measured) {
  static const uint64_t dims[] = {50, 60, 70};
  amped_synthetic t = make(3, dims, 100, 1, 0);
  for (int threads = 1; threads <= 3; threads += 2)
    for (int type = 0; type < 2; type++) {
      setup how = alone();
      problem p;
      bench s;
      double rate = 0.0;
      how.options.threads = threads;
      problem_of(&p, &t, &how, 4, AMPED_F32);
      bench_plan(&s, &p, &how);
      check_ok(amped_worker_prepare(&s.w, &s.plan));
      check_ok(s.w.backend->device->multiply_rate(s.w.device, type == 0 ? AMPED_F32 : AMPED_F64,
                                                  UINT64_MAX, &rate));
      ck_assert(isfinite(rate) && rate > 0.0);
      bench_close(&s);
      problem_of_free(&p);
    }
  check_no_leak();
}

TESTING_MAIN("synthetic", scatter_is_a_bijection, draws_follow_the_power_law,
             indices_and_values_are_in_range, what_cannot_be_made_is_refused,
             parts_cover_all_counters, all_orders_ranks_and_types,
             one_nonzero_on_more_ranks_than_indices, split_idps, more_indices_than_idps,
             many_pieces, gather_rates_are_measured, the_read_rate_is_measured,
             the_multiply_rate_is_measured)
