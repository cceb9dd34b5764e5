/* The factors before those in hand, on every backend: steps and their lengths against the obvious
 * loops, for widths of all paddings, of a rank among others. */
#include "tests/lib/testing_backend.h"

enum { MODE = 1, LARGEST = 40 };

typedef struct history {
  bench b;
  uint64_t rows; /* of all ranks */
  uint64_t ncomps;
  double *now, *then; /* [rows][ncomps] what the factor and the history ought to be */
  amped_factor_history *history;
} history;

static const amped_factor_history_ops *ops(const history *p) {
  return p->b.w.backend->factor_histories;
}

static void put(const history *p, const double *rows) {
  check_ok(p->b.w.backend->factors->put_rows(p->b.w.factors, MODE, 0, p->rows, rows));
}

static double *get(const history *p) {
  double *rows = doubles(p->rows * p->ncomps);
  check_ok(p->b.w.backend->factors->get_rows(p->b.w.factors, MODE, 0, p->rows, rows));
  return rows;
}

/* Columns 0, 3, .. of by are 0. */
static void fill(double *by, uint64_t ncomps, uint64_t seed) {
  for (uint64_t c = 0; c < ncomps; c++)
    by[c] = c % 3 == 0 ? 0.0 : 2.0 * amped_random_double(seed, 0, c) - 1.0;
}

static void history_open(history *p, problem *tensor, const setup *how) {
  memset(p, 0, sizeof *p);
  bench_plan(&p->b, tensor, how);
  check_ok(amped_worker_prepare(&p->b.w, &p->b.plan));
  p->rows = amped_plan_factor_rows(&p->b.plan, MODE);
  p->ncomps = (uint64_t)tensor->ncomps;
  p->now = random_rows(p->rows, tensor->ncomps, tensor->value_type, 5);
  p->then = doubles(p->rows * p->ncomps);
  put(p, p->now);
  check_ok(ops(p)->create(p->b.w.device, p->b.w.factors, &p->b.plan, &p->history));
}

static void history_close(history *p) {
  ops(p)->destroy(p->history);
  bench_close(&p->b);
  amped_free(p->now);
  amped_free(p->then);
}

/* The factor, and by a change of places the history, are what they ought to be: to the rounding of
 * two products and a sum of numbers below 4, and of the result. */
static void check_rows(const history *p, const char *what) {
  const double tolerance = 16.0 * p->b.p->eps;
  double *got = get(p);
  for (uint64_t e = 0; e < p->rows * p->ncomps; e++)
    near(got[e], p->now[e], tolerance, what, e / p->ncomps, e % p->ncomps);
  amped_free(got);
}

static void step(history *p, const double *now, const double *then, bool nonnegative) {
  const uint64_t version = p->b.w.backend->factors->version(p->b.w.factors, MODE);
  check_ok(ops(p)->step(p->history, MODE, now, then, nonnegative));
  ck_assert_uint_gt(p->b.w.backend->factors->version(p->b.w.factors, MODE), version);
  for (uint64_t e = 0; e < p->rows * p->ncomps; e++) {
    const double x = p->now[e];
    const double y = now[e % p->ncomps] * x + then[e % p->ncomps] * p->then[e];
    p->now[e] = rounded(nonnegative ? fmax(0.0, y) : y, p->b.p->value_type);
    p->then[e] = x;
  }
}

/* Own rows alone count, and sums are added. Terms are at most 64, as those of rows in float have
 * their rounding. */
static void check_distance(const history *p, const double *now, const double *then) {
  const uint64_t first = block_first(&p->b.plan, MODE);
  const uint64_t own = p->b.plan.modes[MODE].rows.rank_rows[p->b.plan.rank];
  const double tolerance = 128.0 * (double)own * p->b.p->eps;
  double got[LARGEST];
  for (uint64_t c = 0; c < p->ncomps; c++)
    got[c] = 100.0;
  check_ok(ops(p)->distance(p->history, MODE, now, then, got));
  for (uint64_t c = 0; c < p->ncomps; c++) {
    double want = 100.0;
    for (uint64_t i = first; i < first + own; i++) {
      const double d = now[c] * p->now[i * p->ncomps + c] - then[c] * p->then[i * p->ncomps + c];
      want += d * d;
    }
    near(got[c], want, tolerance, "a distance", 0, c);
  }
}

static void check_steps(problem *tensor, const setup *how) {
  history p;
  double ones[LARGEST];
  double zeros[LARGEST] = {0.0};
  double now[LARGEST];
  double then[LARGEST];
  history_open(&p, tensor, how);
  for (uint64_t c = 0; c < p.ncomps; c++)
    ones[c] = 1.0;
  step(&p, ones, zeros, false);
  check_rows(&p, "a kept factor");
  for (uint64_t k = 0; k < 3; k++) {
    fill(now, p.ncomps, k);
    fill(then, p.ncomps, 10 + k);
    step(&p, now, then, k == 1);
    check_distance(&p, then, now);
    check_rows(&p, "a step");
  }
  step(&p, zeros, ones, false);
  check_rows(&p, "the history");
  history_close(&p);
}

START_TEST(steps_are_sums_of_two_models) {
  static const uint64_t dims[] = {5, 301, 4};
  static const int widths[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 33, LARGEST};
  for (int type = 0; type < 2; type++)
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
      problem tensor;
      setup how = alone();
      problem_create(&tensor, 3, dims, 200, widths[w], type == 0 ? AMPED_F32 : AMPED_F64);
      check_steps(&tensor, &how);
      how.nranks = 3;
      how.rank = 1;
      check_steps(&tensor, &how);
      problem_free(&tensor);
    }
  check_no_leak();
}

/* To the bit, also where rows are not finite: what a step leaves out does not matter. */
START_TEST(places_are_changed_to_the_bit) {
  static const uint64_t dims[] = {3, 70, 2};
  const double one[] = {1.0, 1.0, 1.0};
  const double zero[] = {0.0, 0.0, 0.0};
  const setup how = alone();
  problem tensor;
  history p;
  problem_create(&tensor, 3, dims, 100, 3, AMPED_F32);
  history_open(&p, &tensor, &how);
  check_ok(ops(&p)->step(p.history, MODE, one, zero, false));
  for (uint64_t e = 0; e < p.rows * p.ncomps; e++)
    p.then[e] = (double)NAN;
  put(&p, p.then);
  check_ok(ops(&p)->step(p.history, MODE, zero, one, false));
  check_ok(ops(&p)->step(p.history, MODE, one, zero, false));
  check_ok(ops(&p)->step(p.history, MODE, zero, one, false));
  double *got = get(&p);
  ck_assert(memcmp(got, p.now, p.rows * p.ncomps * sizeof *got) == 0);
  amped_free(got);
  history_close(&p);
  problem_free(&tensor);
  check_no_leak();
}

START_TEST(its_memory_is_told) {
  static const uint64_t dims[] = {5, 301, 4};
  const setup how = alone();
  problem tensor;
  bench b;
  uint64_t device = 0;
  uint64_t host = 0;
  uint64_t bytes = 0;
  problem_create(&tensor, 3, dims, 200, 9, AMPED_F64);
  bench_plan(&b, &tensor, &how);
  for (int m = 0; m < 3; m++)
    bytes += amped_plan_factor_rows(&b.plan, m) * amped_plan_row_bytes(&b.plan);
  b.w.backend->factor_histories->require(b.w.device, &b.plan, &device, &host);
  ck_assert_uint_ge(device + host, bytes);
  ck_assert_uint_le(device + host, bytes + (UINT64_C(1) << 20));
  bench_close(&b);
  problem_free(&tensor);
}

TESTING_MAIN("factor history", steps_are_sums_of_two_models, places_are_changed_to_the_bit,
             its_memory_is_told)
