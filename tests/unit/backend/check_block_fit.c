/* Block fits of every backend against slow, obvious sums: residuals from whole factors, dense
 * equations of every row, in long double. The test plays all ranks of a plan: it adds up what they
 * share, and exchanges columns, by hand. */
#include "tests/lib/testing_fits.h"

static const amped_block_fit_ops *ops_of(const team *t) {
  ck_assert_ptr_nonnull(t->ranks[0].w.format->block_fit);
  return t->ranks[0].w.format->block_fit;
}

static void team_open(team *t, problem *p, int nranks, setup how, const amped_row_fit *fit,
                      uint64_t below, int width) {
  team_load(t, p, nranks, how, fit, below, false);
  team_hold_out(t);
  t->width = width;
  for (int r = 0; r < nranks; r++) {
    const bench *s = &t->ranks[r];
    t->columns[r] = s->plan;
    amped_plan_set_ncomps(&t->columns[r], amped_block_row_length(width));
    check_ok(s->w.backend->factors->create(s->w.device, &t->columns[r], &t->sets[r]));
    check_ok(ops_of(t)->create(s->w.tensor, t->sets[r], &t->columns[r], width, &t->fits[r]));
  }
}

static void blocks_close(team *t) {
  for (int r = 0; r < t->nranks; r++) {
    ops_of(t)->destroy(t->fits[r]);
    t->ranks[r].w.backend->factors->destroy(t->sets[r]);
  }
  team_close(t);
}

/* --- slow equations ----------------------------------------------------------------------------*/

static double entry(const team *t, int mode, uint64_t index, uint64_t c) {
  return t->p->factors[mode][index * (uint64_t)t->p->ncomps + c];
}

/* Over the inputs of mode. */
static long double product(const team *t, int mode, uint64_t k, uint64_t c) {
  long double p = 1.0L;
  for (int m = 0; m < t->p->t.order; m++)
    if (m != mode)
      p *= entry(t, m, t->p->t.indices[m][k], c);
  return p;
}

static long double target_of(const team *t, int mode, uint64_t k, long double *size) {
  const problem *p = t->p;
  long double y = (rounded(p->t.values[k], p->value_type) - t->fit.mean) / t->fit.scale;
  *size = fabsl(y);
  for (uint64_t c = 0; c < components_of(t); c++) {
    const bool in_hand = c >= (uint64_t)t->first && c < (uint64_t)(t->first + t->count);
    const long double x = product(t, mode, k, c) * entry(t, mode, p->t.indices[mode][k], c);
    y -= in_hand ? 0.0L : x;
    *size += fabsl(x);
  }
  for (int m = 0; m < p->t.order && t->fit.biased; m++) {
    const double bias = entry(t, m, p->t.indices[m][k], components_of(t));
    y -= m == mode ? 0.0 : bias;
    *size += fabs(bias);
  }
  return y;
}

static slow slow_create(const team *t, int mode) {
  slow s = slow_alloc((uint64_t)t->count + (t->fit.biased ? 1 : 0), t->p->t.dims[mode]);
  long double *x = long_doubles(s.n);
  for (uint64_t k = 0; k < t->p->t.nnz; k++) {
    slow_row *row = &s.row[t->p->t.indices[mode][k]];
    long double size = 0.0L;
    const long double y = target_of(t, mode, k, &size);
    if (is_held(t, k))
      continue;
    for (uint64_t i = 0; i < s.n; i++)
      x[i] = i < (uint64_t)t->count ? product(t, mode, k, (uint64_t)t->first + i) : 1.0L;
    slow_add(&s, row, x, 1.0L, y);
    row->squares += y * y;
    row->size = size > row->size ? size : row->size;
    row->count++;
  }
  amped_free(x);
  return s;
}

static double weight_of(const team *t, int mode, uint64_t count) {
  return t->fit.reg * t->fit.pull[mode] * pow((double)count, t->fit.reg_power);
}

static bool is_bias(const team *t, uint64_t i) {
  return i == (uint64_t)t->count;
}

/* Half the gradient of the objective in x_i. */
static long double gradient(const team *t, int mode, const slow *s, const slow_row *row,
                            const double *x, uint64_t i) {
  long double sum = -row->right[i];
  for (uint64_t c = 0; c < s->n; c++)
    sum += row->m[i * s->n + c] * (long double)x[c];
  return sum + (is_bias(t, i)
                    ? (long double)t->fit.reg_bias * x[i]
                    : (long double)weight_of(t, mode, row->count) * (x[i] - t->fit.prior[mode]));
}

/* Sums as in row fits (check_row_fit.c); and each target is rounded once a pass, with as many terms
 * as there are products. */
static double error_of(const team *t, const slow_row *row) {
  return t->p->value_type == AMPED_F32
             ? 1e-5 + 32 * DBL_EPSILON
             : (double)(row->count + 4 * (uint64_t)t->count + 16) * DBL_EPSILON;
}

static double target_error(const team *t, const slow_row *row) {
  return (2.0 * t->visits + (double)components_of(t) + 8.0) * t->p->eps * (double)row->size;
}

static void row_is_right(const team *t, int mode, const slow *s, uint64_t index, const double *x) {
  const slow_row *row = &s->row[index];
  const double weight = weight_of(t, mode, row->count);
  double size = sqrt((double)row->squares);
  double trace = 0.0;
  if (row->count == 0) {
    for (uint64_t c = 0; c < s->n; c++)
      near(x[c], is_bias(t, c) ? 0.0 : rounded(t->fit.prior[mode], t->p->value_type), 0.0,
           "an empty row", index, c);
    return;
  }
  for (uint64_t c = 0; c < s->n; c++) {
    const double diagonal = (double)row->m[c * s->n + c];
    size += sqrt(diagonal + (is_bias(t, c) ? t->fit.reg_bias : weight)) * fabs(x[c]) +
            (is_bias(t, c) ? 0.0 : sqrt(weight) * fabs(t->fit.prior[mode]));
    trace += diagonal;
  }
  const double dual = row->count < s->n ? 1.0 + trace / weight : 1.0; /* seen through it */
  const double error = t->p->value_type == AMPED_F32 ? error_of(t, row) + dual * 32 * DBL_EPSILON
                                                     : error_of(t, row) * dual;
  for (uint64_t i = 0; i < s->n; i++) {
    const double diagonal =
        (double)row->m[i * s->n + i] + (is_bias(t, i) ? t->fit.reg_bias : weight);
    near((double)gradient(t, mode, s, row, x, i), 0.0,
         sqrt(diagonal) * (error * size + sqrt((double)row->count) * target_error(t, row)),
         "gradient", index, i);
  }
}

/* The residual of the optimality conditions of nonnegative rows is small (row_fit.h). */
static void row_is_nonnegative(const team *t, int mode, const slow *s, uint64_t index,
                               const double *x) {
  const slow_row *row = &s->row[index];
  const double weight = weight_of(t, mode, row->count);
  double most = 0.0;
  double size = 0.0;
  for (uint64_t i = 0; i < s->n && row->count > 0; i++) {
    const double diagonal =
        (double)row->m[i * s->n + i] + (is_bias(t, i) ? t->fit.reg_bias : weight);
    const double right =
        (double)row->right[i] + (is_bias(t, i) ? 0.0 : weight * t->fit.prior[mode]);
    const double off = (double)gradient(t, mode, s, row, x, i);
    ck_assert(is_bias(t, i) || x[i] >= 0.0);
    size = fmax(size, fabs(right) / sqrt(diagonal));
    if (is_bias(t, i) || x[i] > 0.0 || off < 0.0)
      most = fmax(most, fabs(off) / sqrt(diagonal));
  }
  near(most, 0.0, 1.5e-4 * size, "residual", index, 0);
}

/* --- all ranks ---------------------------------------------------------------------------------*/

static amped_status get_equations(const team *t, int rank, int mode, uint64_t row, uint64_t rows,
                                  double *out) {
  return ops_of(t)->get_equations(t->fits[rank], mode, row, rows, out);
}

static amped_status put_equations(const team *t, int rank, int mode, uint64_t row, uint64_t rows,
                                  double *in) {
  return ops_of(t)->put_equations(t->fits[rank], mode, row, rows, in);
}

static amped_row_fit_sums fit_mode(team *t, int mode) {
  amped_row_fit_sums sums = {0};
  for (int r = 0; r < t->nranks; r++) {
    amped_mttkrp_times times = {-1.0, -1.0};
    check_ok(ops_of(t)->begin(t->fits[r], mode, &t->fit));
    for (int part = 0; part < t->ranks[r].plan.modes[mode].rows.parts; part++)
      check_ok(ops_of(t)->wait(t->fits[r], mode, part, &times, &sums));
    ck_assert(times.copy_sec >= 0.0 && times.compute_sec >= 0.0);
  }
  reduce_shared(t, mode, amped_equation_length(t->count, t->fit.biased), get_equations,
                put_equations);
  for (int r = 0; r < t->nranks; r++)
    check_ok(ops_of(t)->solve_shared(t->fits[r], mode, &sums));
  return sums;
}

/* Owners' rows of columns reach all ranks, and the problem's factors. */
static void exchange(team *t, int mode) {
  const uint64_t length = (uint64_t)amped_block_row_length(t->width);
  const uint64_t n = (uint64_t)t->p->ncomps;
  const uint64_t block = t->ranks[0].plan.modes[mode].rows.block_rows;
  double *rows = doubles(block * length);
  for (int r = 0; r < t->nranks; r++) {
    const amped_factor_ops *ops = t->ranks[r].w.backend->factors;
    const amped_mode_plan *m = &t->ranks[r].plan.modes[mode];
    check_ok(ops->get_rows(t->sets[r], mode, (uint64_t)r * block, block, rows));
    for (int other = 0; other < t->nranks; other++)
      check_ok(ops->put_rows(t->sets[other], mode, (uint64_t)r * block, block, rows));
    for (uint64_t i = m->rows.rank_rows[r] * length; i < block * length; i++)
      near(rows[i], 0.0, 0.0, "padding", i / length, i % length);
    for (uint64_t i = 0; i < m->rows.dim; i++) {
      const double *row =
          rows + (amped_plan_position(&t->ranks[r].plan, mode, i) - (uint64_t)r * block) * length;
      if (m->rows.owner[i / m->rows.width] != r)
        continue;
      for (uint64_t c = 0; c < (uint64_t)t->count; c++)
        t->p->factors[mode][i * n + (uint64_t)t->first + c] = row[c];
      if (t->fit.biased)
        t->p->factors[mode][i * n + n - 1] = row[t->count];
    }
  }
  amped_free(rows);
}

static void take(team *t, int first, int count) {
  for (int r = 0; r < t->nranks; r++)
    check_ok(ops_of(t)->take(t->fits[r], t->fit.biased, first, count));
  t->first = first;
  t->count = count;
}

/* Row i of mode in the factors: the columns in hand, and the bias. */
static void unknowns(const team *t, int mode, uint64_t i, double *x) {
  for (uint64_t c = 0; c < (uint64_t)t->count; c++)
    x[c] = entry(t, mode, i, (uint64_t)t->first + c);
  if (t->fit.biased)
    x[t->count] = entry(t, mode, i, components_of(t));
}

/* Put the solution that row x overstepped from `old` in x. */
static void find_solution(const team *t, double *x, const double *old) {
  for (int c = 0; c < t->count + (t->fit.biased ? 1 : 0); c++)
    x[c] = (x[c] + t->fit.overstep * old[c]) / (1.0 + t->fit.overstep);
}

static long double objective(const team *t) {
  const problem *p = t->p;
  long double sum = 0.0L;
  for (uint64_t k = 0; k < p->t.nnz; k++) {
    long double size = 0.0L;
    long double off = 0.0L;
    team whole = *t;
    whole.first = whole.count = 0;
    off = target_of(&whole, 0, k, &size);
    off -= t->fit.biased ? entry(t, 0, p->t.indices[0][k], components_of(t)) : 0.0;
    sum += is_held(t, k) ? 0.0L : off * off;
  }
  for (int m = 0; m < p->t.order; m++) {
    uint64_t *counts = NULL;
    check_ok(amped_calloc(&counts, p->t.dims[m], sizeof *counts, "a test"));
    for (uint64_t k = 0; k < p->t.nnz; k++)
      counts[p->t.indices[m][k]] += !is_held(t, k);
    for (uint64_t i = 0; i < p->t.dims[m]; i++) {
      for (uint64_t c = 0; c < components_of(t) && counts[i] > 0; c++)
        sum += weight_of(t, m, counts[i]) * powl(entry(t, m, i, c) - t->fit.prior[m], 2.0L);
      sum += t->fit.biased ? t->fit.reg_bias * powl(entry(t, m, i, components_of(t)), 2.0L) : 0.0L;
    }
    amped_free(counts);
  }
  return sum;
}

static void factors_are_whole(const team *t) {
  const uint64_t n = (uint64_t)t->p->ncomps;
  for (int r = 0; r < t->nranks; r++)
    for (int m = 0; m < t->p->t.order; m++) {
      const bench *b = &t->ranks[r];
      const uint64_t rows = amped_plan_factor_rows(&b->plan, m);
      double *want = positioned(b, m);
      double *got = doubles(rows * n);
      check_ok(b->w.backend->factors->get_rows(b->w.factors, m, 0, rows, got));
      ck_assert_mem_eq(got, want, rows * n * sizeof *got);
      amped_free(got);
      amped_free(want);
    }
}

static void row_of_sweep(const team *t, int mode, const slow *s, uint64_t i, const double *old) {
  double *x = doubles(s->n + 1);
  unknowns(t, mode, i, x);
  if (s->row[i].count > 0)
    find_solution(t, x, old);
  if (t->fit.nonnegative)
    row_is_nonnegative(t, mode, s, i, x);
  else
    row_is_right(t, mode, s, i, x);
  amped_free(x);
}

/* A sweep: every row of every block and mode is right; what is told is the objective. */
static void sweep_is_right(team *t, bool backwards) {
  const int order = t->p->t.order;
  amped_row_fit_sums last = {0};
  double penalty = 0.0;
  t->visits = 0.0;
  for (int first = 0; first < (int)components_of(t); first += t->width) {
    const int left = (int)components_of(t) - first;
    take(t, first, left < t->width ? left : t->width);
    t->visits += 1.0;
    for (int k = 0; k < order; k++) {
      const int m = backwards ? order - 1 - k : k;
      slow s = slow_create(t, m);
      double *old = doubles(s.rows * s.n);
      for (uint64_t i = 0; i < s.rows; i++)
        unknowns(t, m, i, old + i * s.n);
      last = fit_mode(t, m);
      penalty += last.penalty;
      exchange(t, m);
      for (uint64_t i = 0; i < s.rows; i++)
        row_of_sweep(t, m, &s, i, old + i * s.n);
      amped_free(old);
      slow_free(&s);
    }
  }
  take(t, 0, 0);
  factors_are_whole(t);
  const double want = (double)objective(t);
  near(last.squares + penalty, want,
       (t->p->value_type == AMPED_F32 ? 1e-4 : 1e-11) * (want + (double)t->p->t.nnz), "objective",
       0, 0);
}

/* Sweeps of blocks; of one column also with rows that overstep. */
static void sweeps_are_right(problem *p, int nranks, setup how, const amped_row_fit *fit,
                             uint64_t below, int width) {
  for (int over = 0; over < (width == 1 && !fit->nonnegative ? 2 : 1); over++) {
    team t;
    amped_row_fit further = *fit;
    further.overstep = 0.6 * over;
    team_open(&t, p, nranks, how, &further, below, width);
    sweep_is_right(&t, false);
    sweep_is_right(&t, true);
    blocks_close(&t);
  }
}

/* R and B: whole blocks, a rest, one block. */
static void orders_and_widths(amped_vtype type) {
  static const int shapes[][2] = {{1, 1}, {3, 1}, {5, 2}, {7, 3}, {5, 5}, {33, 16}, {9, 8}};
  for (int order = AMPED_MIN_ORDER; order <= 6; order++)
    for (size_t w = 0; w < sizeof shapes / sizeof shapes[0]; w++)
      for (int biased = 0; biased < 2; biased++) {
        problem p;
        const amped_row_fit fit = fit_of(biased > 0);
        problem_create(&p, order, odd_dims, 250, shapes[w][0] + biased, type);
        sweeps_are_right(&p, 1 + (order + (int)w) % 4, alone(), &fit, biased > 0 ? TENTH : 0,
                         shapes[w][1]);
        problem_free(&p);
      }
  check_no_leak();
}

START_TEST(blocks_in_float_of_all_orders_and_widths) {
  orders_and_widths(AMPED_F32);
}

START_TEST(blocks_in_double_of_all_orders_and_widths) {
  orders_and_widths(AMPED_F64);
}

/* Of 65 to 128 columns, which have a kernel of their own on GPUs. */
START_TEST(blocks_of_many_columns) {
  static const int shapes[][2] = {{100, 70}, {130, 128}, {97, 97}};
  for (int i = 0; i < 3; i++) {
    problem p;
    const amped_row_fit fit = fit_of(i > 0);
    problem_create(&p, 3, odd_dims, 250, shapes[i][0] + (i > 0), AMPED_F32);
    sweeps_are_right(&p, 1 + i % 2, alone(), &fit, TENTH, shapes[i][1]);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(rows_of_every_length) {
  static const uint64_t lengths[] = {0, 1, 15, 16, 17, 2, 0, 17000, 64, 63, 65, 0};
  for (int i = 0; i < 4; i++) {
    problem p;
    const amped_row_fit fit = fit_of(i % 2 > 0);
    rows_problem(&p, lengths, sizeof lengths / sizeof lengths[0], 3 + i % 2,
                 i / 2 == 0 ? AMPED_F32 : AMPED_F64);
    sweeps_are_right(&p, 1, alone(), &fit, TENTH, 1);
    sweeps_are_right(&p, 2, alone(), &fit, 0, 2);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(blocks_of_split_idps) {
  for (int type = 0; type < 2; type++) {
    problem p;
    const amped_row_fit fit = fit_of(type > 0);
    split_problem(&p, 9000, 3 + type, type == 0 ? AMPED_F32 : AMPED_F64);
    for (int nranks = 2; nranks <= 4; nranks++) {
      const setup how = split_setup(nranks);
      sweeps_are_right(&p, nranks, how, &fit, TENTH, nranks == 4 ? 2 : 1);
    }
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(blocks_of_streamed_copies) {
  static const uint64_t dims[] = {301, 40, 23};
  for (int width = 1; width <= 2; width++) {
    problem p;
    setup how = alone();
    const amped_row_fit fit = fit_of(width == 1);
    how.options.residency =
        backend()->device_pointers ? AMPED_RESIDENCY_STREAM : AMPED_RESIDENCY_AUTO;
    problem_create(&p, 3, dims, 5000, 4, AMPED_F32);
    sweeps_are_right(&p, 2, how, &fit, TENTH, width);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(penalties_of_every_power) {
  for (int i = 0; i < 4; i++) {
    problem p;
    amped_row_fit fit = fit_of(i % 2 > 0);
    fit.reg_power = i / 2 * 1.0;
    fit.reg = i == 0 ? 4.0 : 0.5;
    fit.reg_bias = i == 3 ? 0.0 : 0.01;
    fit.prior[0] = -0.5;
    problem_create(&p, 3, odd_dims, 900, 5, i < 2 ? AMPED_F32 : AMPED_F64);
    sweeps_are_right(&p, 2, alone(), &fit, TENTH, 1 + i % 2);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(nonnegative_blocks) {
  for (int i = 0; i < 4; i++) {
    problem p;
    amped_row_fit fit = fit_of(i % 2 > 0);
    fit.nonnegative = true;
    fit.reg = 2.0;
    problem_create(&p, 3, odd_dims, 900, 4 + i % 2, i < 2 ? AMPED_F32 : AMPED_F64);
    for (int m = 0; m < 3; m++)
      for (uint64_t e = 0; e < p.t.dims[m] * (uint64_t)p.ncomps; e++)
        p.factors[m][e] = fabs(p.factors[m][e]);
    sweeps_are_right(&p, 2, alone(), &fit, TENTH, 1 + i / 2);
    problem_free(&p);
  }
  check_no_leak();
}

/* Without a penalty, and rows of no more nonzeros than unknowns: finite, and never worse. */
START_TEST(rows_without_a_penalty) {
  for (int i = 0; i < 4; i++) {
    problem p;
    team t;
    amped_row_fit fit = fit_of(i % 2 > 0);
    fit.reg = 0.0;
    fit.overstep = i / 2 == 0 ? 0.6 : 0.0;
    problem_create(&p, 3, odd_dims, 60, 5, i < 2 ? AMPED_F32 : AMPED_F64);
    team_open(&t, &p, 1, alone(), &fit, 0, 1 + i / 2);
    long double last = objective(&t);
    for (int first = 0; first < (int)components_of(&t); first += t.width) {
      const int left = (int)components_of(&t) - first;
      take(&t, first, left < t.width ? left : t.width);
      for (int m = 0; m < 3; m++) {
        (void)fit_mode(&t, m);
        exchange(&t, m);
        const long double now = objective(&t);
        ck_assert(now <= last * (1.0L + (p.value_type == AMPED_F32 ? 1e-4L : 1e-10L)));
        last = now;
      }
    }
    take(&t, 0, 0);
    factors_are_whole(&t);
    blocks_close(&t);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(blocks_have_the_same_bits_on_any_number_of_threads) {
  for (int width = 1; width <= 2; width++) {
    const uint64_t dims[] = {4, 41, 23};
    double *want = NULL;
    for (int threads = 1; threads <= 4; threads++) {
      const amped_row_fit fit = fit_of(true);
      setup how = alone();
      problem p;
      team t;
      how.options.threads = threads;
      problem_create(&p, 3, dims, 90000, 4, AMPED_F32);
      team_open(&t, &p, 1, how, &fit, TENTH, width);
      for (int first = 0; first < 3; first += width) {
        take(&t, first, 3 - first < width ? 3 - first : width);
        for (int m = 0; m < 3; m++) {
          (void)fit_mode(&t, m);
          exchange(&t, m);
        }
      }
      blocks_close(&t);
      if (want == NULL) {
        want = doubles(4 * 4);
        memcpy(want, p.factors[0], 4 * 4 * sizeof *want);
      }
      ck_assert_mem_eq(want, p.factors[0], 4 * 4 * sizeof *want);
      problem_free(&p);
    }
    amped_free(want);
  }
  check_no_leak();
}

/* --- memory ------------------------------------------------------------------------------------*/

START_TEST(what_block_fits_take_is_said) {
  problem p;
  bench s;
  uint64_t device = 0;
  uint64_t host = 0;
  setup how = alone();
  how.needs.whole_rows = true;
  problem_create(&p, 3, odd_dims, 5000, 33, AMPED_F32);
  bench_plan(&s, &p, &how);
  s.w.format->block_fit->require(s.w.device, &s.plan, 4, &device, &host);
  ck_assert_uint_ge(device + host, 3 * 5000 * sizeof(float));
  bench_close(&s);
  problem_free(&p);
  check_no_leak();
}

START_TEST(short_memory_is_an_error) {
  problem p;
  team t;
  const amped_row_fit fit = fit_of(false);
  amped_status status = AMPED_FAILED;
  int64_t failed = 0;
  problem_create(&p, 3, odd_dims, 700, 5, AMPED_F32);
  team_open(&t, &p, 1, alone(), &fit, 0, 1);
  ops_of(&t)->destroy(t.fits[0]);
  for (; status != AMPED_OK; failed++) {
    amped_mem_fail_at(failed);
    status = ops_of(&t)->create(t.ranks[0].w.tensor, t.sets[0], &t.columns[0], 1, &t.fits[0]);
    amped_mem_fail_at(-1);
    amped_status_clear();
  }
  ck_assert_int_gt(failed, 1);
  blocks_close(&t);
  problem_free(&p);
  check_no_leak();
}

TESTING_MAIN("block_fit", blocks_in_float_of_all_orders_and_widths,
             blocks_in_double_of_all_orders_and_widths, blocks_of_many_columns,
             rows_of_every_length, blocks_of_split_idps, blocks_of_streamed_copies,
             penalties_of_every_power, nonnegative_blocks, rows_without_a_penalty,
             blocks_have_the_same_bits_on_any_number_of_threads, what_block_fits_take_is_said,
             short_memory_is_an_error)
