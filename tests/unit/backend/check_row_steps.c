/* Row steps of every backend against a slow, obvious descent: every piece of every row, one nonzero
 * after the other, in long double. The test plays all ranks of a plan, and adds up what they share
 * by hand. */
#include "tests/lib/testing_fits.h"

static const amped_row_step_ops *ops_of(const bench *s) {
  ck_assert_ptr_nonnull(s->w.format->row_steps);
  return s->w.format->row_steps;
}

/* Split rows: all ranks learn how many nonzeros each has. */
static void share_counts(team *t, int mode) {
  const amped_copy_plan *copy = &t->ranks[0].plan.modes[mode].copy;
  for (uint64_t s = 0; s < copy->split_count; s++) {
    const uint64_t rows = copy->splits[s + 1].row - copy->splits[s].row;
    uint64_t *sum = doubles(rows);
    uint64_t *part = doubles(rows);
    for (int put = 0; put < 2; put++)
      for (int r = 0; r < t->nranks; r++) {
        const bench *b = &t->ranks[r];
        const uint64_t row = b->plan.modes[mode].copy.row[copy->splits[s].idp];
        uint64_t first = 0;
        uint64_t end = 0;
        amped_plan_shared_idps(&b->plan.modes[mode], r, &first, &end);
        if (s < first || s >= end)
          continue;
        if (put == 1) {
          check_ok(ops_of(b)->put_counts(b->w.tensor, mode, row, rows, sum));
          continue;
        }
        check_ok(ops_of(b)->get_counts(b->w.tensor, mode, row, rows, part));
        for (uint64_t i = 0; i < rows; i++)
          sum[i] += part[i];
      }
    amped_free(sum);
    amped_free(part);
  }
}

static void team_open(team *t, problem *p, int nranks, setup how, const amped_row_fit *fit,
                      uint64_t below) {
  team_load(t, p, nranks, how, fit, below, false);
  t->step = 0.7;
  t->epoch = 3;
  for (int r = 0; r < 2 * nranks; r++) /* twice: nothing is left to prepare */
    check_ok(ops_of(&t->ranks[r / 2])->prepare(t->ranks[r / 2].w.tensor));
  team_hold_out(t);
  for (int m = 0; m < p->t.order; m++)
    share_counts(t, m);
}

/* --- a slow descent ----------------------------------------------------------------------------*/

/* What is known of a row, in long double. */
typedef struct descent {
  uint64_t count;     /* nonzeros that take part, of all ranks */
  long double weight; /* L / n */
  long double *sum;   /* [n] of results times their nonzeros */
  long double error;  /* how far floating point may be off, in all entries together */
} descent;

static const double *row_of(const team *t, int mode, uint64_t index) {
  return t->p->factors[mode] + index * (uint64_t)t->p->ncomps;
}

static long double target_of(const team *t, int mode, uint64_t k) {
  const problem *p = t->p;
  long double y =
      ((long double)rounded(p->t.values[k], p->value_type) - t->fit.mean) / t->fit.scale;
  for (int m = 0; m < p->t.order && t->fit.biased; m++)
    if (m != mode)
      y -= row_of(t, m, p->t.indices[m][k])[components_of(t)];
  return y;
}

static void product_of(const team *t, int mode, uint64_t k, long double *out) {
  for (uint64_t c = 0; c < components_of(t); c++) {
    out[c] = 1.0L;
    for (int m = 0; m < t->p->t.order; m++)
      if (m != mode)
        out[c] *= row_of(t, m, t->p->t.indices[m][k])[c];
  }
}

static long double weight_of(const team *t, int mode, uint64_t count) {
  return t->fit.reg * t->fit.pull[mode] * pow((double)count, t->fit.reg_power);
}

/* One step at nonzero k: x is the row, e the length. Returns the size of what is added up. */
static long double step_at(const team *t, int mode, uint64_t k, const descent *row,
                           const long double *p, long double e, long double *x) {
  const uint64_t n = components_of(t);
  const long double prior = t->fit.prior[mode];
  const long double keep = 1.0L / (1.0L + e * row->weight);
  const long double keep_bias = 1.0L / (1.0L + e * t->fit.reg_bias / row->count);
  long double off = target_of(t, mode, k);
  long double curvature = 0.0L;
  long double size = fabsl(off);
  long double most = 0.0L;
  for (uint64_t c = 0; c < n; c++) {
    x[c] = prior + keep * (x[c] - prior);
    off -= p[c] * x[c];
    curvature += p[c] * p[c];
    size += fabsl(p[c]) * (fabsl(x[c]) + 2 * fabsl(prior));
  }
  long double below = 1.0L + e * keep * curvature;
  if (t->fit.biased) {
    x[n] *= keep_bias;
    off -= x[n];
    below += e * keep_bias;
    size += fabsl(x[n]);
  }
  for (uint64_t c = 0; c < n; c++) {
    x[c] += e * keep * off / below * p[c];
    if (t->fit.nonnegative && x[c] < 0.0L)
      x[c] = 0.0L;
    most += fabsl(x[c]) + fabsl(prior);
  }
  if (t->fit.biased)
    x[n] += e * keep_bias * off / below;
  /* the gain times what |p| adds up to is at most 1 over the least of |p| and sqrt(1 / e) */
  return most + size * sqrtl(e + 1.0L);
}

/* Nonzeros of a row on one rank, in the copy's order: one piece. */
static void traverse_piece(const team *t, int mode, uint64_t index, const uint64_t *list,
                           uint64_t count, uint64_t pieces, uint64_t piece, descent *row) {
  const uint64_t n = (uint64_t)t->p->ncomps;
  const uint64_t length = (count - piece + pieces - 1) / pieces;
  const amped_step_order order = amped_step_order_of(t->epoch);
  long double *x = long_doubles(n);
  long double *tail = long_doubles(n);
  long double *p = long_doubles(n);
  long double curvatures = 0.0L;
  long double size = 0.0L;
  uint64_t taken = 0;
  uint64_t in_tail = 0;
  for (uint64_t c = 0; c < n; c++)
    x[c] = row_of(t, mode, index)[c];
  for (uint64_t u = 0; u < length; u++) {
    const uint64_t at = (order.start % length + u * (order.stride % length)) % length;
    const uint64_t k = list[piece + at * pieces];
    if (is_held(t, k))
      continue;
    product_of(t, mode, k, p);
    for (uint64_t c = 0; c < components_of(t); c++)
      curvatures += p[c] * p[c];
    taken++;
    const long double mean = curvatures / taken + (t->fit.biased ? 1.0L : 0.0L);
    size = fmaxl(size, step_at(t, mode, k, row, p, mean > 0.0L ? t->step / mean : 0.0L, x));
    for (uint64_t c = 0; c < n && u >= length / 2; c++)
      tail[c] += x[c];
    in_tail += u >= length / 2;
  }
  for (uint64_t c = 0; c < n; c++)
    row->sum[c] += taken * (in_tail > 0 ? tail[c] / in_tail : x[c]);
  /* A step brings two rows no farther apart, so errors of steps add up. */
  row->error += taken * (taken + 4.0L) * (2.0L * n + 16.0L) * t->p->eps * size;
  amped_free(x);
  amped_free(tail);
  amped_free(p);
}

/* A rank's part of the rows of mode. */
static void traversal_rank(const team *t, int mode, int rank, descent *rows) {
  const problem *p = t->p;
  char *part = mark_shard(&t->ranks[rank], mode); /* orders the nonzeros as the copy is ordered */
  uint64_t *list = doubles(p->t.nnz);
  for (uint64_t k = 0; k < p->t.nnz;) {
    const uint64_t index = p->t.indices[mode][k];
    uint64_t count = 0;
    for (; k < p->t.nnz && p->t.indices[mode][k] == index; k++)
      if (part[k] != 0)
        list[count++] = k;
    for (uint64_t q = 0; q < amped_step_pieces(count) && rows[index].count > 0; q++)
      traverse_piece(t, mode, index, list, count, amped_step_pieces(count), q, &rows[index]);
  }
  amped_free(list);
  amped_free(part);
}

static descent *descents_create(const team *t, int mode) {
  const uint64_t dim = t->p->t.dims[mode];
  descent *rows = NULL;
  check_ok(amped_calloc(&rows, dim, sizeof *rows, "a test"));
  for (uint64_t i = 0; i < dim; i++)
    rows[i].sum = long_doubles((uint64_t)t->p->ncomps);
  for (uint64_t k = 0; k < t->p->t.nnz; k++)
    rows[t->p->t.indices[mode][k]].count += !is_held(t, k);
  for (uint64_t i = 0; i < dim; i++)
    rows[i].weight = weight_of(t, mode, rows[i].count) / fmaxl(1.0L, rows[i].count);
  for (int r = 0; r < t->nranks; r++)
    traversal_rank(t, mode, r, rows);
  return rows;
}

static void descents_free(const team *t, int mode, descent *rows) {
  for (uint64_t i = 0; i < t->p->t.dims[mode]; i++)
    amped_free(rows[i].sum);
  amped_free(rows);
}

/* --- a pass of all ranks -----------------------------------------------------------------------*/

static amped_status get_shared(const team *t, int rank, int mode, uint64_t row, uint64_t rows,
                               double *out) {
  const bench *b = &t->ranks[rank];
  return ops_of(b)->get_rows(b->w.tensor, mode, row, rows, out);
}

static amped_status put_shared(const team *t, int rank, int mode, uint64_t row, uint64_t rows,
                               double *in) {
  const bench *b = &t->ranks[rank];
  return ops_of(b)->put_rows(b->w.tensor, mode, row, rows, in);
}

static amped_row_step_sums pass(team *t, int mode) {
  amped_row_step_sums sums = {0};
  for (int r = 0; r < t->nranks; r++) {
    const bench *b = &t->ranks[r];
    amped_mttkrp_times times = {-1.0, -1.0};
    check_ok(ops_of(b)->begin(b->w.tensor, mode, &t->fit, t->step, t->epoch));
    for (int part = 0; part < b->plan.modes[mode].rows.parts; part++)
      check_ok(ops_of(b)->wait(b->w.tensor, mode, part, &times, &sums));
    ck_assert(times.copy_sec >= 0.0 && times.compute_sec >= 0.0);
  }
  reduce_shared(t, mode, amped_step_row_length(&t->ranks[0].plan), get_shared, put_shared);
  for (int r = 0; r < t->nranks; r++)
    check_ok(ops_of(&t->ranks[r])->finish(t->ranks[r].w.tensor, mode, &sums));
  return sums;
}

static void rows_are_right(const team *t, int mode, const descent *rows, const double *got) {
  const uint64_t n = (uint64_t)t->p->ncomps;
  for (uint64_t i = 0; i < t->p->t.dims[mode]; i++)
    for (uint64_t c = 0; c < n; c++) {
      const descent *row = &rows[i];
      const bool stays = row->count > 0 && !(t->step > 0.0);
      const double prior = c < components_of(t) ? t->fit.prior[mode] : 0.0;
      const long double count = (long double)row->count;
      near(got[i * n + c],
           stays            ? row_of(t, mode, i)[c]
           : row->count > 0 ? (double)(row->sum[c] / count)
                            : prior,
           row->count > 0 && !stays ? (double)(row->error / count) : 0.0, "row", i, c);
    }
}

static void sums_are_right(const team *t, int mode, const descent *rows, const double *got,
                           const amped_row_step_sums *sums) {
  const uint64_t n = (uint64_t)t->p->ncomps;
  uint64_t count = 0;
  double penalty = 0.0;
  double bias_penalty = 0.0;
  for (uint64_t i = 0; i < t->p->t.dims[mode]; i++) {
    count += rows[i].count;
    for (uint64_t c = 0; c < components_of(t) && rows[i].count > 0; c++)
      penalty += (double)weight_of(t, mode, rows[i].count) * (got[i * n + c] - t->fit.prior[mode]) *
                 (got[i * n + c] - t->fit.prior[mode]);
    if (t->fit.biased && rows[i].count > 0)
      bias_penalty += t->fit.reg_bias * got[i * n + n - 1] * got[i * n + n - 1];
  }
  const double off = (double)(n * t->p->t.dims[mode] + 16) * DBL_EPSILON;
  ck_assert_uint_eq(sums->count, count);
  near(sums->penalty, penalty, off * penalty, "penalty", 0, 0);
  near(sums->bias_penalty, bias_penalty, off * bias_penalty, "penalty of biases", 0, 0);
}

/* Passes over all modes, each from the factors of the problem. */
static void passes_are_right(team *t) {
  for (int m = 0; m < t->p->t.order; m++) {
    descent *rows = descents_create(t, m);
    const amped_row_step_sums sums = pass(t, m);
    double *got = gather_rows(t, m);
    rows_are_right(t, m, rows, got);
    sums_are_right(t, m, rows, got, &sums);
    for (int r = 0; r < t->nranks; r++)
      put_factor(&t->ranks[r], m);
    amped_free(got);
    descents_free(t, m, rows);
    t->epoch++;
  }
}

static void squares_are_right(const team *t) {
  const problem *p = t->p;
  long double want = 0.0L;
  long double size = 0.0L;
  long double *product = long_doubles((uint64_t)p->ncomps);
  for (uint64_t k = 0; k < p->t.nnz; k++) {
    long double off = target_of(t, 0, k);
    long double most = fabsl(off) + 1.0L;
    if (is_held(t, k))
      continue;
    product_of(t, 0, k, product);
    for (uint64_t c = 0; c < (uint64_t)p->ncomps; c++) {
      const long double x = c < components_of(t) ? product[c] : 1.0L;
      off -= x * row_of(t, 0, p->t.indices[0][k])[c];
      most += fabsl(x);
    }
    want += off * off;
    size += most * most;
  }
  for (int m = 0; m < p->t.order; m++) {
    double got = 0.0;
    for (int r = 0; r < t->nranks; r++)
      check_ok(ops_of(&t->ranks[r])->squares(t->ranks[r].w.tensor, m, &t->fit, &got));
    near(got, (double)want,
         (double)size *
             ((p->ncomps + 2 * AMPED_MAX_ORDER) * p->eps + (double)p->t.nnz * DBL_EPSILON),
         "squares", (uint64_t)m, 0);
  }
  amped_free(product);
}

static void steps_are_right(problem *p, int nranks, setup how, const amped_row_fit *fit,
                            uint64_t below) {
  team t;
  team_open(&t, p, nranks, how, fit, below);
  passes_are_right(&t);
  squares_are_right(&t);
  t.step = 0.0;
  passes_are_right(&t);
  team_close(&t);
}

static void orders_and_widths(amped_vtype type) {
  static const int widths[] = {1, 7, 16, 33, 64};
  for (int order = AMPED_MIN_ORDER; order <= 6; order++)
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
      for (int biased = 0; biased < 2; biased++) {
        problem p;
        amped_row_fit fit = fit_of(biased > 0);
        fit.nonnegative = (order + (int)w) % 3 == 0;
        problem_create(&p, order, odd_dims, 700, widths[w] + biased, type);
        steps_are_right(&p, 1 + (order + (int)w) % 4, alone(), &fit, biased > 0 ? TENTH : 0);
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

/* --- rows of every length ----------------------------------------------------------------------*/

START_TEST(rows_of_every_length) {
  static const uint64_t lengths[] = {0, 1, 2, 3, 17000, 0, 2047, 2048, 2049, 4096, 4097, 0};
  for (int type = 0; type < 2; type++) {
    problem p;
    const amped_row_fit fit = fit_of(type > 0);
    rows_problem(&p, lengths, sizeof lengths / sizeof lengths[0], 8 + type,
                 type == 0 ? AMPED_F32 : AMPED_F64);
    steps_are_right(&p, 1, alone(), &fit, 0);
    steps_are_right(&p, 2, alone(), &fit, 9 * TENTH);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(rows_of_split_idps) {
  for (int type = 0; type < 2; type++) {
    problem p;
    const amped_row_fit fit = fit_of(type > 0);
    split_problem(&p, 12000, 5 + 3 * type, type == 0 ? AMPED_F32 : AMPED_F64);
    for (int nranks = 2; nranks <= 4; nranks++) {
      const setup how = split_setup(nranks);
      steps_are_right(&p, nranks, how, &fit, nranks == 2 ? 0 : TENTH);
    }
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(penalties_and_steps_of_every_size) {
  static const double steps[] = {1e-6, 0.1, 1.0, 30.0};
  for (int i = 0; i < 8; i++) {
    problem p;
    team t;
    amped_row_fit fit = fit_of(i % 2 > 0);
    fit.reg_power = i / 4 * 1.0;
    fit.reg = i % 4 == 0 ? 0.0 : 4.0;
    fit.reg_bias = i == 5 ? 0.0 : 0.01;
    fit.prior[0] = -0.5;
    problem_create(&p, 3, odd_dims, 900, 9, AMPED_F64);
    team_open(&t, &p, 2, alone(), &fit, TENTH);
    t.step = steps[i % 4];
    passes_are_right(&t);
    team_close(&t);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(rows_have_the_same_bits_on_any_number_of_threads) {
  static const uint64_t lengths[] = {3, 40000, 0, 33000, 900, 20, 5000, 1};
  for (int type = 0; type < 2; type++) {
    problem p;
    double *want = NULL;
    amped_row_step_sums first = {0};
    const amped_row_fit fit = fit_of(true);
    setup how = alone();
    rows_problem(&p, lengths, 8, 17, type == 0 ? AMPED_F32 : AMPED_F64);
    for (how.options.threads = 1; how.options.threads <= 4; how.options.threads++) {
      team t;
      team_open(&t, &p, 1, how, &fit, TENTH);
      const amped_row_step_sums sums = pass(&t, 0);
      double *got = gather_rows(&t, 0);
      team_close(&t);
      if (want == NULL) {
        want = got;
        first = sums;
        continue;
      }
      ck_assert_mem_eq(got, want, 8 * 17 * sizeof *got);
      ck_assert(sums.penalty == first.penalty && sums.bias_penalty == first.bias_penalty);
      amped_free(got);
    }
    amped_free(want);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(copies_serve_fewer_components) {
  problem p;
  team t;
  const amped_row_fit fit = fit_of(true);
  problem_create(&p, 3, odd_dims, 700, 33, AMPED_F32);
  team_open(&t, &p, 1, alone(), &fit, TENTH);
  passes_are_right(&t);
  p.ncomps = 7;
  for (int m = 0; m < 3; m++) {
    amped_free(p.factors[m]);
    p.factors[m] = random_rows(p.t.dims[m], 7, p.value_type, (uint64_t)m);
  }
  amped_plan_set_ncomps(&t.ranks[0].plan, 7);
  check_ok(amped_worker_resize(&t.ranks[0].w));
  for (int m = 0; m < 3; m++)
    put_factor(&t.ranks[0], m);
  passes_are_right(&t);
  squares_are_right(&t);
  team_close(&t);
  problem_free(&p);
  check_no_leak();
}

/* --- descent -----------------------------------------------------------------------------------*/

/* The part of the objective of a row's only nonzero, where the row is x. */
static long double part_at(const team *t, int mode, uint64_t k, const double *x) {
  const uint64_t n = components_of(t);
  long double *p = long_doubles((uint64_t)t->p->ncomps);
  long double off = target_of(t, mode, k);
  long double penalty = 0.0L;
  product_of(t, mode, k, p);
  for (uint64_t c = 0; c < n; c++) {
    off -= p[c] * x[c];
    penalty += weight_of(t, mode, 1) * (x[c] - t->fit.prior[mode]) * (x[c] - t->fit.prior[mode]);
  }
  if (t->fit.biased) {
    off -= x[n];
    penalty += t->fit.reg_bias * x[n] * x[n];
  }
  amped_free(p);
  return off * off + penalty;
}

/* A short step e goes e/2 against the gradient, found by finite differences of a quadratic. */
START_TEST(a_short_step_follows_the_gradient) {
  enum { ROWS = 50, N = 6 };
  const double h = 0x1p-10;
  uint64_t lengths[ROWS];
  problem p;
  team t;
  const amped_row_fit fit = fit_of(true);
  for (int i = 0; i < ROWS; i++)
    lengths[i] = 1;
  rows_problem(&p, lengths, ROWS, N, AMPED_F64);
  team_open(&t, &p, 1, alone(), &fit, 0);
  t.step = 1e-7;
  (void)pass(&t, 0);
  double *got = gather_rows(&t, 0);
  check_ok(amped_sptensor_sort(&p.t, 0));
  for (uint64_t i = 0; i < ROWS; i++) {
    long double product[N] = {0.0L};
    long double curvature = 1.0L;
    product_of(&t, 0, i, product);
    for (int c = 0; c < N - 1; c++)
      curvature += product[c] * product[c];
    const double e = t.step / (double)curvature;
    for (uint64_t c = 0; c < N; c++) {
      double x[N];
      memcpy(x, row_of(&t, 0, i), sizeof x);
      x[c] += h;
      const long double above = part_at(&t, 0, i, x);
      x[c] -= 2.0 * h;
      const double gradient = (double)((above - part_at(&t, 0, i, x)) / (2.0L * h));
      /* the second term of the step is e times the first, sizes are below 100; rounding of the row
       */
      near((got[i * N + c] - row_of(&t, 0, i)[c]) / e, -0.5 * gradient,
           1e4 * e + 4.0 * DBL_EPSILON * 8.0 / e, "gradient", i, c);
    }
  }
  amped_free(got);
  team_close(&t);
  problem_free(&p);
  check_no_leak();
}

START_TEST(rows_come_back) {
  problem p;
  team t;
  const amped_row_fit fit = fit_of(true);
  problem_create(&p, 3, odd_dims, 700, 9, AMPED_F32);
  team_open(&t, &p, 3, alone(), &fit, TENTH);
  for (int r = 0; r < 3; r++)
    check_ok(ops_of(&t.ranks[r])->keep(t.ranks[r].w.tensor));
  for (int m = 0; m < 3; m++)
    (void)pass(&t, m);
  for (int r = 0; r < 3; r++)
    check_ok(ops_of(&t.ranks[r])->restore(t.ranks[r].w.tensor));
  for (int m = 0; m < 3; m++) {
    double *got = gather_rows(&t, m);
    ck_assert_mem_eq(got, p.factors[m], p.t.dims[m] * 9 * sizeof *got);
    amped_free(got);
  }
  team_close(&t);
  problem_free(&p);
  check_no_leak();
}

START_TEST(rows_are_finite) {
  static const double sizes[] = {1e-30, 1e12, 1e19, 1e37, 1e150};
  for (int i = 0; i < 10; i++) {
    problem p;
    team t;
    const double size = sizes[i / 2];
    const amped_vtype type = size > 1e38 || i % 2 > 0 ? AMPED_F64 : AMPED_F32;
    const amped_row_fit fit = fit_of(i % 3 == 0);
    problem_create(&p, 3, odd_dims, 300, 6, type);
    for (int m = 0; m < 3; m++)
      for (uint64_t e = 0; e < p.t.dims[m] * 6; e++)
        p.factors[m][e] = rounded(p.factors[m][e] * size, type);
    team_open(&t, &p, 1, alone(), &fit, 0);
    for (int m = 0; m < 3; m++) {
      (void)pass(&t, m);
      double *rows = gather_rows(&t, m);
      for (uint64_t e = 0; e < p.t.dims[m] * 6; e++)
        if (!isfinite(rows[e]))
          ck_abort_msg("size %g, mode %d: %g", size, m, rows[e]);
      amped_free(rows);
    }
    team_close(&t);
    problem_free(&p);
  }
  check_no_leak();
}

/* A piece's visits are all of its nonzeros, once. */
START_TEST(visits_are_a_permutation) {
  for (uint64_t epoch = 0; epoch < 20; epoch++)
    for (uint64_t count = 1; count < 9000; count = count * 5 / 4 + 1) {
      const uint64_t pieces = amped_step_pieces(count);
      char seen[9000] = {0};
      for (uint64_t q = 0; q < pieces; q++) {
        amped_step_visits v = amped_step_visits_of(amped_step_order_of(epoch), count, pieces, q);
        ck_assert_uint_le(v.length, AMPED_STEP_PIECE);
        for (uint32_t u = 0; u < v.length; u++) {
          seen[amped_step_number(&v, pieces, q)]++;
          amped_step_next(&v);
        }
      }
      for (uint64_t k = 0; k < count; k++)
        ck_assert_int_eq(seen[k], 1);
    }
}

/* --- memory ------------------------------------------------------------------------------------*/

START_TEST(what_row_steps_take_is_said) {
  problem p;
  bench s;
  uint64_t device = 0;
  uint64_t host = 0;
  setup how = alone();
  how.needs.whole_rows = true;
  problem_create(&p, 3, odd_dims, 5000, 33, AMPED_F32);
  bench_plan(&s, &p, &how);
  ops_of(&s)->require(s.w.device, &s.plan, &device, &host);
  ck_assert_uint_ge(device + host, (13 + 7 + 29) * 33 * sizeof(float));
  bench_close(&s);
  problem_free(&p);
  check_no_leak();
}

START_TEST(short_memory_is_an_error) {
  problem p;
  bench s;
  setup how = alone();
  amped_status status = AMPED_FAILED;
  how.needs.whole_rows = true;
  problem_create(&p, 3, odd_dims, 700, 5, AMPED_F32);
  bench_plan(&s, &p, &how);
  bench_load(&s);
  check_ok(s.w.format->row_fit->prepare(s.w.tensor, false));
  int64_t failed = 0;
  for (; status != AMPED_OK; failed++) {
    amped_mem_fail_at(failed);
    status = ops_of(&s)->prepare(s.w.tensor);
    amped_mem_fail_at(-1);
    amped_status_clear();
  }
  ck_assert_int_gt(failed, 3);
  bench_close(&s);
  problem_free(&p);
  check_no_leak();
}

TESTING_MAIN("row_steps", rows_in_float_of_all_orders_and_widths,
             rows_in_double_of_all_orders_and_widths, rows_of_every_length, rows_of_split_idps,
             penalties_and_steps_of_every_size, rows_have_the_same_bits_on_any_number_of_threads,
             copies_serve_fewer_components, a_short_step_follows_the_gradient, rows_come_back,
             rows_are_finite, visits_are_a_permutation, what_row_steps_take_is_said,
             short_memory_is_an_error)
