/* Work of a model of counts on every backend: ratios, row products and steps in the logarithm
 * against the obvious loops, for orders, widths of all paddings, shared rows and rows in parts. */
#include "tests/lib/testing_backend.h"

enum { LARGEST = 150 };

/* Numbers in [0.25, 1.25), exact in `type`. */
static void make_positive(problem *p) {
  for (int m = 0; m < p->t.order; m++)
    for (uint64_t i = 0; i < p->t.dims[m] * (uint64_t)p->ncomps; i++)
      p->factors[m][i] = rounded(fabs(p->factors[m][i]) + 0.25, p->value_type);
}

static void make_weights(const problem *p, double *weights) {
  for (int r = 0; r < p->ncomps; r++)
    weights[r] = rounded(0.5 + amped_random_double(3, 0, (uint64_t)r), p->value_type);
}

/* The model's value at nonzero k. */
static double model_at(const problem *p, const amped_sptensor *t, uint64_t k,
                       const double *weights) {
  double sum = 0.0;
  for (int r = 0; r < p->ncomps; r++) {
    double product = weights[r];
    for (int m = 0; m < t->order; m++)
      product *= p->factors[m][t->indices[m][k] * (uint64_t)p->ncomps + (uint64_t)r];
    sum += product;
  }
  return sum;
}

/* Change the values of the shard to ratios, and find the sums. */
static amped_ratio_sums take_ratios(const problem *p, amped_sptensor *shard,
                                    const amped_ratio *how) {
  amped_ratio_sums sums = {.values = 0.0};
  for (uint64_t k = 0; k < shard->nnz; k++) {
    const double x = shard->values[k];
    const double m = fmax(model_at(p, shard, k, how->weights), how->least);
    sums.values += x;
    sums.logs += x > 0.0 ? x * log(x / m) : 0.0;
    sums.negative += x < 0.0;
    sums.fractions += x != floor(x);
    sums.low += x > 0.0 && m <= how->least;
    shard->values[k] = x / m;
  }
  return sums;
}

static double *ratios_by_parts(const bench *s, int mode, const amped_ratio *how,
                               amped_ratio_sums *sums) {
  const amped_mode_plan *m = &s->plan.modes[mode];
  const uint64_t n = (uint64_t)s->p->ncomps;
  double *out = doubles(m->copy.output_rows * n);
  amped_mttkrp_times times = {-1.0, -1.0};
  check_ok(s->w.format->ratio->begin(s->w.tensor, mode, how));
  for (int part = 0; part < m->rows.parts; part++) {
    const uint64_t first = m->rows.part_rows[part];
    const uint64_t end =
        part + 1 < m->rows.parts ? m->rows.part_rows[part + 1] : m->copy.output_rows;
    check_ok(s->w.format->ratio->wait(s->w.tensor, mode, part, &times, sums));
    check_ok(
        s->w.backend->factors->get_output(s->w.factors, mode, first, end - first, out + first * n));
  }
  ck_assert(times.copy_sec >= 0.0 && times.compute_sec >= 0.0);
  return out;
}

static void check_sums(const bench *s, const amped_ratio_sums *got, const amped_ratio_sums *want,
                       uint64_t nnz) {
  const double tolerance = 32.0 * (double)(nnz + (uint64_t)s->p->ncomps) * s->p->eps;
  near(got->values, want->values, tolerance, "the sum of values", 0, 0);
  near(got->logs, want->logs, tolerance, "the sum of logarithms", 0, 0);
  near(got->negative, want->negative, 0.0, "the number of negative values", 0, 0);
  near(got->fractions, want->fractions, 0.0, "the number of fractions", 0, 0);
  near(got->low, want->low, 0.0, "the number of low models", 0, 0);
}

/* Sums of positive terms have relative errors only. */
static void ratios_are_right(const bench *s, int mode, double least) {
  const amped_plan *plan = &s->plan;
  const uint64_t n = (uint64_t)s->p->ncomps;
  const uint64_t dim = plan->dims[mode];
  double weights[LARGEST];
  double *want = doubles(dim * n);
  double *bound = doubles(dim * n);
  uint64_t *count = NULL;
  amped_sptensor shard;
  amped_ratio_sums sums = {.values = 0.0};
  make_weights(s->p, weights);
  const amped_ratio how = {.weights = weights, .least = least, .sums = mode != 1};
  check_ok(amped_calloc(&count, dim, sizeof *count, "a test"));
  shard_of(s, mode, &shard);
  const amped_ratio_sums expected = take_ratios(s->p, &shard, &how);
  amped_mttkrp(&shard, mode, (const double *const *)s->p->factors, s->p->ncomps, want, bound,
               count);
  double *got = ratios_by_parts(s, mode, &how, &sums);
  for (uint64_t i = 0; i < dim; i++) {
    const uint64_t row = output_row(plan, mode, i);
    const double share = (double)(count[i] + n + 2 * (uint64_t)plan->order + 6) * s->p->eps;
    for (uint64_t c = 0; c < n && row != AMPED_NO_ROW; c++)
      near(got[row * n + c], want[i * n + c], share * bound[i * n + c], "a ratio's sum", i, c);
  }
  other_rows_are_zero(s, mode, got);
  if (how.sums)
    check_sums(s, &sums, &expected, shard.nnz);
  amped_free(got);
  amped_free(count);
  amped_free(bound);
  amped_free(want);
  amped_sptensor_free(&shard);
}

static void check_all_modes(problem *p, const setup *how) {
  bench s;
  bench_plan(&s, p, how);
  bench_load(&s);
  const memory before = memory_now();
  uint64_t device = 0;
  uint64_t host = 0;
  s.w.format->ratio->require(s.w.device, &s.plan, &device, &host);
  check_ok(s.w.format->ratio->prepare(s.w.tensor));
  check_ok(s.w.format->ratio->prepare(s.w.tensor));
  memory_within("ratios", before, device, host);
  for (int m = 0; m < p->t.order; m++) {
    ratios_are_right(&s, m, 1e-20);
    ratios_are_right(&s, m, 0.4 * p->ncomps); /* some model values are below it */
    mttkrp_is_right(&s, m);                   /* values are unchanged */
  }
  bench_close(&s);
}

START_TEST(ratios_take_the_place_of_values) {
  static const uint64_t dims[] = {40, 31, 23, 7, 5, 3};
  static const int widths[] = {1, 3, 8, 16, 33, 64, 130};
  for (int order = 2; order <= 6; order++)
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
      problem p;
      setup how = alone();
      problem_create(&p, order, dims, 900, widths[w], w % 2 == 0 ? AMPED_F32 : AMPED_F64);
      make_positive(&p);
      check_all_modes(&p, &how);
      how.nranks = 3;
      how.rank = 1;
      how.placement = AMPED_PLACEMENT_EQUAL;
      check_all_modes(&p, &how);
      how.parts = 3;
      how.index_type = AMPED_U64;
      check_all_modes(&p, &how);
      problem_free(&p);
    }
  check_no_leak();
}

/* --- row products and steps ------------------------------------------------------------------- */

/* Rows of mode 1, as the backend has them: of the factor, and of the output. */
static void check_product(problem *p, const setup *how, bool raises, bool measures) {
  bench s;
  double numbers[4][LARGEST];
  double sums[2][LARGEST];
  double wanted[2][LARGEST];
  bench_plan(&s, p, how);
  check_ok(amped_worker_prepare(&s.w, &s.plan));
  const amped_factor_ops *ops = s.w.backend->factors;
  const uint64_t n = (uint64_t)p->ncomps;
  const uint64_t rows = s.plan.modes[1].rows.rank_rows[s.plan.rank];
  const uint64_t at = block_first(&s.plan, 1);
  double *old = random_rows(rows, p->ncomps, p->value_type, 1);
  double *output = random_rows(rows, p->ncomps, p->value_type, 2);
  double *got = doubles(rows * n);
  for (uint64_t e = 0; e < rows * n; e++) {
    old[e] = e % 7 == 0 ? 0.0 : fabs(old[e]);
    output[e] = fabs(output[e]);
  }
  for (uint64_t c = 0; c < n; c++) {
    numbers[0][c] = 1.0 + (double)(c % 3);
    numbers[1][c] = 0.05;
    numbers[2][c] = 0.25;
    numbers[3][c] = 2.0;
    sums[0][c] = sums[1][c] = wanted[0][c] = wanted[1][c] = 10.0;
  }
  check_ok(ops->put_rows(s.w.factors, 1, at, rows, old));
  check_ok(ops->put_output(s.w.factors, 1, 0, rows, output));
  const amped_row_product product = {.by = numbers[0],
                                     .least = raises ? numbers[1] : NULL,
                                     .raised = numbers[2],
                                     .weight = numbers[3],
                                     .measures = measures};
  amped_row_product_sums found = {.sums = sums[0], .squares = sums[1]};
  check_ok(ops->multiply(s.w.factors, 1, 0, s.plan.modes[1].rows.block_rows, &product, &found));
  check_ok(ops->get_rows(s.w.factors, 1, at, rows, got));
  double violation = 0.0;
  uint64_t raised = 0;
  for (uint64_t e = 0; e < rows * n; e++) {
    const uint64_t c = e % n;
    const double t = numbers[0][c] * output[e];
    const bool lifted = raises && old[e] < numbers[1][c] && t > 1.0;
    const double entry = rounded(lifted ? numbers[2][c] : old[e] * t, p->value_type);
    violation = fmax(violation, fabs(fmin(2.0 * old[e], 1.0 - t)));
    raised += lifted;
    near(got[e], measures ? old[e] : entry, 0.0, "a row product", e / n, c);
    wanted[0][c] += got[e];
    wanted[1][c] += got[e] * got[e];
  }
  near(found.violation, violation, 1e-14, "the violation", 0, 0); /* a product may be fused */
  ck_assert_uint_eq(found.raised, raised);
  for (uint64_t c = 0; c < n; c++) {
    near(sums[0][c], wanted[0][c], 1e-12 * (double)(rows + 10), "a column's sum", 0, c);
    near(sums[1][c], wanted[1][c], 1e-12 * (double)(rows + 10), "a column's squares", 0, c);
  }
  amped_free(got);
  amped_free(output);
  amped_free(old);
  bench_close(&s);
}

START_TEST(row_products_are_sums_and_products) {
  static const uint64_t dims[] = {5, 301, 4};
  static const int widths[] = {1, 2, 3, 5, 8, 13, 33, LARGEST};
  for (int type = 0; type < 2; type++)
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
      for (int how = 0; how < 4; how++) {
        problem p;
        setup s = alone();
        problem_create(&p, 3, dims, 200, widths[w], type == 0 ? AMPED_F32 : AMPED_F64);
        s.nranks = how % 2 == 0 ? 1 : 3;
        s.rank = how % 2;
        check_product(&p, &s, how < 2, how == 3);
        problem_free(&p);
      }
  check_no_leak();
}

START_TEST(steps_in_the_logarithm_are_powers) {
  static const uint64_t dims[] = {5, 301, 4};
  const double one[] = {1.0, 1.0, 1.0, 1.0, 1.0};
  const double zero[] = {0.0, 0.0, 0.0, 0.0, 0.0};
  const double ratio[] = {1.0, 0.5, 2.0, 0x1p40, 1.0};
  for (int type = 0; type < 2; type++) {
    problem p;
    bench s;
    amped_factor_history *history = NULL;
    const setup how = alone();
    problem_create(&p, 3, dims, 200, 5, type == 0 ? AMPED_F32 : AMPED_F64);
    bench_plan(&s, &p, &how);
    check_ok(amped_worker_prepare(&s.w, &s.plan));
    const amped_factor_ops *ops = s.w.backend->factors;
    const amped_factor_history_ops *steps = s.w.backend->factor_histories;
    const uint64_t rows = amped_plan_factor_rows(&s.plan, 1);
    double *then = random_rows(rows, 5, p.value_type, 1);
    double *now = random_rows(rows, 5, p.value_type, 2);
    double *got = doubles(rows * 5);
    for (uint64_t e = 0; e < rows * 5; e++) {
      then[e] = e % 11 == 0 ? 0.0 : fabs(then[e]);
      now[e] = e % 7 == 0 ? 0.0 : fabs(now[e]);
    }
    check_ok(steps->create(s.w.device, s.w.factors, &s.plan, &history));
    check_ok(ops->put_rows(s.w.factors, 1, 0, rows, then));
    check_ok(steps->step(history, 1, one, zero, false));
    check_ok(ops->put_rows(s.w.factors, 1, 0, rows, now));
    check_ok(steps->power(history, 1, ratio, 0.75));
    check_ok(ops->get_rows(s.w.factors, 1, 0, rows, got));
    for (uint64_t e = 0; e < rows * 5; e++) {
      const double growth =
          then[e] > 0.0 ? fmax(fmin(ratio[e % 5] * now[e] / then[e], 0x1p30), 0x1p-30) : 1.0;
      const double want = then[e] > 0.0 && now[e] > 0.0 ? now[e] * pow(growth, 0.75) : now[e];
      near(got[e], want, 16.0 * p.eps * want, "a power", e / 5, e % 5);
    }
    check_ok(steps->step(history, 1, zero, one, false));
    check_ok(ops->get_rows(s.w.factors, 1, 0, rows, got));
    for (uint64_t e = 0; e < rows * 5; e++)
      near(got[e], now[e], 0.0, "the factor before the step", e / 5, e % 5);
    amped_free(got);
    amped_free(now);
    amped_free(then);
    steps->destroy(history);
    bench_close(&s);
    problem_free(&p);
  }
  check_no_leak();
}

TESTING_MAIN("ratios", ratios_take_the_place_of_values, row_products_are_sums_and_products,
             steps_in_the_logarithm_are_powers)
