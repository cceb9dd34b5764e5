/* Row fits of every backend against slow, obvious sums: dense equations of every row in long
 * double. The test plays all ranks of a plan, and adds up what they share by hand. */
#include "tests/lib/testing_backend.h"

#define MOST_RANKS 4

/* Some row fits of a problem by all ranks. */
typedef struct team {
  problem *p;
  int nranks;
  bench ranks[MOST_RANKS];
  amped_row_fit fit;
  uint64_t seed, below; /* of what is held out */
} team;

static const amped_row_fit_ops *ops_of(const bench *s) {
  ck_assert_ptr_nonnull(s->w.format->row_fit);
  return s->w.format->row_fit;
}

static uint64_t components_of(const team *t) {
  return (uint64_t)t->p->ncomps - (t->fit.biased ? 1 : 0);
}

static amped_row_fit fit_of(bool biased) {
  amped_row_fit fit = {
      .biased = biased, .mean = 0.75, .scale = 1.25, .reg = 0.3, .reg_power = 0.5, .reg_bias = 3.0};
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    fit.pull[m] = m == 2 ? 10.0 : 1.0;
    fit.prior[m] = m == 2 ? 1.0 : 0.0;
  }
  return fit;
}

static bool is_held(const team *t, uint64_t k) {
  uint64_t index[AMPED_MAX_ORDER];
  for (int m = 0; m < t->p->t.order; m++)
    index[m] = t->p->t.indices[m][k];
  return amped_held_out(t->p->t.order, index, t->seed, t->below);
}

static uint64_t count_held(const team *t) {
  uint64_t count = 0;
  for (uint64_t k = 0; k < t->p->t.nnz; k++)
    count += is_held(t, k);
  return count;
}

static void team_open(team *t, problem *p, int nranks, setup how, const amped_row_fit *fit,
                      uint64_t below) {
  uint64_t held = 0;
  *t = (team){.p = p, .nranks = nranks, .fit = *fit, .seed = 5, .below = below};
  how.nranks = nranks;
  how.needs.whole_rows = true;
  for (int r = 0; r < nranks; r++) {
    bench *s = &t->ranks[r];
    uint64_t own = 0;
    how.rank = r;
    bench_plan(s, p, &how);
    bench_load(s);
    check_ok(ops_of(s)->prepare(s->w.tensor));
    check_ok(ops_of(s)->hold_out(s->w.tensor, t->seed, below, &own));
    held += own;
  }
  ck_assert_uint_eq(held, count_held(t));
}

static void team_close(team *t) {
  for (int r = 0; r < t->nranks; r++)
    bench_close(&t->ranks[r]);
}

/* --- slow equations ----------------------------------------------------------------------------*/

/* Of one row: components and the bias are n unknowns. */
typedef struct slow_row {
  uint64_t count;
  long double *m; /* [n][n] sums of products, where the bias counts as a component whose p is 1 */
  long double *right;
  long double squares;
} slow_row;

typedef struct slow {
  uint64_t n, rows;
  slow_row *row; /* by index */
} slow;

static void *long_doubles(uint64_t count) {
  long double *out = NULL;
  check_ok(amped_calloc(&out, count, sizeof *out, "a test"));
  return out;
}

static double target_of(const team *t, int mode, uint64_t k) {
  const problem *p = t->p;
  double y = (rounded(p->t.values[k], p->value_type) - t->fit.mean) / t->fit.scale;
  for (int m = 0; m < p->t.order && t->fit.biased; m++)
    if (m != mode)
      y -= p->factors[m][p->t.indices[m][k] * (uint64_t)p->ncomps + components_of(t)];
  return y;
}

static void products_of(const team *t, int mode, uint64_t k, long double *out) {
  const problem *p = t->p;
  for (uint64_t c = 0; c < (uint64_t)p->ncomps; c++) {
    out[c] = 1.0L;
    for (int m = 0; m < p->t.order && c < components_of(t); m++)
      if (m != mode)
        out[c] *= p->factors[m][p->t.indices[m][k] * (uint64_t)p->ncomps + c];
  }
}

static slow slow_create(const team *t, int mode) {
  const uint64_t n = (uint64_t)t->p->ncomps;
  slow s = {.n = n, .rows = t->p->t.dims[mode]};
  long double *p = long_doubles(n);
  check_ok(amped_calloc(&s.row, s.rows, sizeof *s.row, "a test"));
  for (uint64_t i = 0; i < s.rows; i++) {
    s.row[i].m = long_doubles(n * n);
    s.row[i].right = long_doubles(n);
  }
  for (uint64_t k = 0; k < t->p->t.nnz; k++) {
    slow_row *row = &s.row[t->p->t.indices[mode][k]];
    const long double y = (long double)target_of(t, mode, k);
    if (is_held(t, k))
      continue;
    products_of(t, mode, k, p);
    for (uint64_t i = 0; i < n; i++) {
      for (uint64_t c = 0; c < n; c++)
        row->m[i * n + c] += p[i] * p[c];
      row->right[i] += y * p[i];
    }
    row->squares += y * y;
    row->count++;
  }
  amped_free(p);
  return s;
}

static void slow_free(slow *s) {
  for (uint64_t i = 0; i < s->rows; i++) {
    amped_free(s->row[i].m);
    amped_free(s->row[i].right);
  }
  amped_free(s->row);
}

static double weight_of(const team *t, int mode, uint64_t count) {
  return t->fit.reg * t->fit.pull[mode] * pow((double)count, t->fit.reg_power);
}

/* Half the gradient of the objective in x_i. */
static long double gradient(const team *t, int mode, const slow *s, const slow_row *row,
                            const double *x, uint64_t i) {
  const double weight = weight_of(t, mode, row->count);
  const bool bias = i == components_of(t);
  long double sum = -row->right[i];
  for (uint64_t c = 0; c < s->n; c++)
    sum += row->m[i * s->n + c] * (long double)x[c];
  return sum + (bias ? (long double)t->fit.reg_bias * x[i]
                     : (long double)weight * (x[i] - t->fit.prior[mode]));
}

static long double squares_at(const slow *s, const slow_row *row, const double *x) {
  long double sum = row->squares;
  for (uint64_t i = 0; i < s->n; i++) {
    for (uint64_t c = 0; c < s->n; c++)
      sum += row->m[i * s->n + c] * (long double)x[i] * (long double)x[c];
    sum -= 2.0L * row->right[i] * (long double)x[i];
  }
  return sum;
}

static long double penalty_at(const team *t, int mode, const slow_row *row, const double *x) {
  long double sum = 0.0L;
  for (uint64_t c = 0; c < components_of(t); c++)
    sum += (long double)weight_of(t, mode, row->count) * (x[c] - t->fit.prior[mode]) *
           (x[c] - t->fit.prior[mode]);
  if (t->fit.biased)
    sum += (long double)t->fit.reg_bias * x[components_of(t)] * x[components_of(t)];
  return sum;
}

/* Sums may be off by 1e-5 of sqrt(H_ii H_jj) where factors are floats (row_equations_cpu.h), and
 * rows are rounded to them; in double by a rounding error a nonzero and an unknown. Cholesky adds
 * one an unknown. That of the dual is seen through P, at most sqrt(trace) over the penalty. */
static double relative_error(const team *t, const slow *s, const slow_row *row, double trace,
                             double weight) {
  const double dual = row->count < s->n && weight > 0.0 ? 1.0 + trace / weight : 1.0;
  if (t->p->value_type == AMPED_F32)
    return 1e-5 + (double)s->n * DBL_EPSILON * dual;
  return (double)(row->count + 4 * s->n + 16) * DBL_EPSILON * dual;
}

/* The sizes of what gradient(i) adds up: sqrt(M_ii) times this. */
static double size_of(const team *t, int mode, const slow *s, const slow_row *row, const double *x,
                      double *trace) {
  const double weight = weight_of(t, mode, row->count);
  double sum = sqrt((double)row->squares);
  *trace = 0.0;
  for (uint64_t c = 0; c < s->n; c++) {
    const bool bias = c == components_of(t);
    const double own = bias ? t->fit.reg_bias : weight;
    sum += sqrt((double)row->m[c * s->n + c] + own) * fabs(x[c]) +
           (bias ? 0.0 : sqrt(weight) * fabs(t->fit.prior[mode]));
    *trace += (double)row->m[c * s->n + c];
  }
  return sum;
}

static void row_is_right(const team *t, int mode, const slow *s, uint64_t index, const double *x) {
  const slow_row *row = &s->row[index];
  const double weight = weight_of(t, mode, row->count);
  double trace = 0.0;
  if (row->count == 0) {
    for (uint64_t c = 0; c < s->n; c++)
      near(x[c], c < components_of(t) ? rounded(t->fit.prior[mode], t->p->value_type) : 0.0, 0.0,
           "an empty row", index, c);
    return;
  }
  const double size = size_of(t, mode, s, row, x, &trace);
  const double error = relative_error(t, s, row, trace, weight);
  for (uint64_t i = 0; i < s->n; i++) {
    const bool bias = i == components_of(t);
    const double diagonal = (double)row->m[i * s->n + i] + (bias ? t->fit.reg_bias : weight);
    near((double)gradient(t, mode, s, row, x, i), 0.0, error * sqrt(diagonal) * size, "gradient",
         index, i);
  }
}

/* --- all rows of all ranks ---------------------------------------------------------------------*/

/* Split iDps: equations of shared rows are added up on their owners. */
static void reduce_equations(team *t, int mode) {
  const uint64_t length = amped_equation_length((int)components_of(t), t->fit.biased);
  const amped_mode_plan *m = &t->ranks[0].plan.modes[mode];
  for (uint64_t s = 0; s < m->copy.split_count; s++) {
    const uint64_t rows = m->copy.splits[s + 1].row - m->copy.splits[s].row;
    const int owner = m->rows.owner[m->copy.splits[s].idp];
    double *sum = doubles(rows * length);
    double *part = doubles(rows * length);
    for (int r = 0; r < t->nranks; r++) {
      const bench *b = &t->ranks[r];
      uint64_t first = 0;
      uint64_t end = 0;
      amped_plan_shared_idps(&b->plan.modes[mode], r, &first, &end);
      if (s < first || s >= end)
        continue;
      check_ok(ops_of(b)->get_equations(
          b->w.tensor, mode, b->plan.modes[mode].copy.row[m->copy.splits[s].idp], rows, part));
      for (uint64_t i = 0; i < rows * length; i++)
        sum[i] += part[i];
    }
    check_ok(ops_of(&t->ranks[owner])
                 ->put_equations(t->ranks[owner].w.tensor, mode,
                                 m->rows.position[m->copy.splits[s].idp] -
                                     (uint64_t)owner * m->rows.block_rows,
                                 rows, sum));
    amped_free(part);
    amped_free(sum);
  }
}

/* New rows of mode on all ranks. */
static amped_row_fit_sums fit_mode(team *t, int mode) {
  amped_row_fit_sums sums = {0};
  for (int r = 0; r < t->nranks; r++) {
    const bench *b = &t->ranks[r];
    amped_mttkrp_times times = {-1.0, -1.0};
    check_ok(ops_of(b)->begin(b->w.tensor, mode, &t->fit));
    for (int part = 0; part < b->plan.modes[mode].rows.parts; part++)
      check_ok(ops_of(b)->wait(b->w.tensor, mode, part, &times, &sums));
    ck_assert(times.copy_sec >= 0.0 && times.compute_sec >= 0.0);
  }
  reduce_equations(t, mode);
  for (int r = 0; r < t->nranks; r++)
    check_ok(ops_of(&t->ranks[r])->solve_shared(t->ranks[r].w.tensor, mode, &sums));
  return sums;
}

/* Rows of mode by index, from their owners. The owners' padding rows are still zero. */
static double *gather_rows(const team *t, int mode) {
  const uint64_t n = (uint64_t)t->p->ncomps;
  double *out = doubles(t->p->t.dims[mode] * n);
  for (int r = 0; r < t->nranks; r++) {
    const bench *b = &t->ranks[r];
    const amped_mode_plan *m = &b->plan.modes[mode];
    double *block = doubles(m->rows.block_rows * n);
    check_ok(b->w.backend->factors->get_rows(b->w.factors, mode, block_first(&b->plan, mode),
                                             m->rows.block_rows, block));
    padding_is_zero(b, mode, block);
    for (uint64_t i = 0; i < m->rows.dim; i++)
      if (m->rows.owner[i / m->rows.width] == r)
        memcpy(out + i * n,
               block + (amped_plan_position(&b->plan, mode, i) - block_first(&b->plan, mode)) * n,
               n * sizeof *out);
    amped_free(block);
  }
  return out;
}

static void sums_are_right(const team *t, int mode, const slow *s, const double *rows,
                           const amped_row_fit_sums *got) {
  long double squares = 0.0L;
  long double penalty = 0.0L;
  double bound = 0.0;
  uint64_t count = 0;
  for (uint64_t i = 0; i < s->rows; i++) {
    const slow_row *row = &s->row[i];
    const double *x = rows + i * s->n;
    double trace = 0.0;
    if (row->count == 0)
      continue;
    const double size = size_of(t, mode, s, row, x, &trace);
    squares += squares_at(s, row, x);
    penalty += penalty_at(t, mode, row, x);
    count += row->count;
    bound += relative_error(t, s, row, 0.0, 0.0) * size * size;
  }
  ck_assert_uint_eq(got->count, count);
  near(got->squares, (double)squares, bound, "sum of squares", 0, 0);
  near(got->penalty, (double)penalty,
       (double)s->rows * (double)s->n * 4 * DBL_EPSILON * (double)(penalty + 1.0L), "penalty", 0,
       0);
}

/* All modes, each from the factors of the problem. */
static void modes_are_right(team *t) {
  for (int m = 0; m < t->p->t.order; m++) {
    slow s = slow_create(t, m);
    const amped_row_fit_sums sums = fit_mode(t, m);
    double *rows = gather_rows(t, m);
    for (uint64_t i = 0; i < s.rows; i++)
      row_is_right(t, m, &s, i, rows + i * s.n);
    sums_are_right(t, m, &s, rows, &sums);
    ck_assert_uint_eq(sums.unsure, 0);
    for (int r = 0; r < t->nranks; r++)
      put_factor(&t->ranks[r], m);
    amped_free(rows);
    slow_free(&s);
  }
}

static void moments_are_right(const team *t) {
  amped_moments got = {0};
  amped_moments want = {0};
  for (int r = 0; r < t->nranks; r++)
    check_ok(ops_of(&t->ranks[r])->moments(t->ranks[r].w.tensor, &got));
  for (uint64_t k = 0; k < t->p->t.nnz; k++) {
    const double x = rounded(t->p->t.values[k], t->p->value_type);
    if (is_held(t, k))
      continue;
    want.count++;
    want.sum += x;
    want.squares += x * x;
  }
  ck_assert_uint_eq(got.count, want.count);
  near(got.sum, want.sum, (double)t->p->t.nnz * DBL_EPSILON * want.squares, "sum", 0, 0);
  near(got.squares, want.squares, (double)t->p->t.nnz * DBL_EPSILON * want.squares, "squares", 0,
       0);
}

/* The model at a nonzero, with the problem's factors. */
static long double model_at(const team *t, uint64_t k) {
  const problem *p = t->p;
  long double sum = 0.0L;
  for (uint64_t c = 0; c < components_of(t); c++) {
    long double product = 1.0L;
    for (int m = 0; m < p->t.order; m++)
      product *= p->factors[m][p->t.indices[m][k] * (uint64_t)p->ncomps + c];
    sum += product;
  }
  for (int m = 0; m < p->t.order && t->fit.biased; m++)
    sum += p->factors[m][p->t.indices[m][k] * (uint64_t)p->ncomps + components_of(t)];
  return sum;
}

static void errors_are_right(const team *t, bool held) {
  const double least = 0.25;
  const double most = 1.5;
  amped_errors want = {0};
  for (uint64_t k = 0; k < t->p->t.nnz; k++) {
    if (is_held(t, k) != held)
      continue;
    const double x = rounded(t->p->t.values[k], t->p->value_type);
    const double value = (double)(t->fit.mean + t->fit.scale * model_at(t, k));
    const double clipped = fmin(fmax(value, least), most);
    want.count++;
    want.squares += (x - value) * (x - value);
    want.absolute += fabs(x - value);
    want.clipped += (x - clipped) * (x - clipped);
  }
  for (int m = 0; m < t->p->t.order; m++) {
    amped_errors got = {0};
    for (int r = 0; r < t->nranks; r++)
      check_ok(
          ops_of(&t->ranks[r])->errors(t->ranks[r].w.tensor, m, held, &t->fit, least, most, &got));
    /* entries are below 4 in size, and so are terms; models below 4 (n + N) */
    const double size = 4.0 * (t->p->ncomps + AMPED_MAX_ORDER);
    const double off = (double)(want.count + 64) * DBL_EPSILON * size;
    ck_assert_uint_eq(got.count, want.count);
    near(got.squares, want.squares, off * (want.squares + size), "squares", (uint64_t)m, 0);
    near(got.absolute, want.absolute, off * (want.absolute + size), "absolute", (uint64_t)m, 0);
    near(got.clipped, want.clipped, off * (want.clipped + size), "clipped", (uint64_t)m, 0);
  }
}

static void fit_is_right(problem *p, int nranks, setup how, const amped_row_fit *fit,
                         uint64_t below) {
  team t;
  team_open(&t, p, nranks, how, fit, below);
  moments_are_right(&t);
  modes_are_right(&t);
  errors_are_right(&t, true);
  errors_are_right(&t, false);
  team_close(&t);
}

#define TENTH (UINT64_MAX / 10)

static const uint64_t odd_dims[AMPED_MAX_ORDER] = {13, 7, 29, 1, 5, 3, 11, 19};

static void orders_and_widths(amped_vtype type) {
  static const int widths[] = {1, 3, 8, 17, 32, 33};
  for (int order = 3; order <= 6; order++)
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
      for (int biased = 0; biased < 2; biased++) {
        problem p;
        const amped_row_fit fit = fit_of(biased > 0);
        problem_create(&p, order, odd_dims, 700, widths[w] + biased, type);
        fit_is_right(&p, 1 + (order + (int)w) % 4, alone(), &fit, biased > 0 ? TENTH : 0);
        problem_free(&p);
      }
  check_no_leak();
}

START_TEST(rows_in_float_of_all_orders_and_widths) {
  orders_and_widths(AMPED_F32);
}

START_TEST(rows_in_double_of_all_orders_and_widths) {
  orders_and_widths(AMPED_F64);
}

TESTING_MAIN("row_fit", rows_in_float_of_all_orders_and_widths,
             rows_in_double_of_all_orders_and_widths)
