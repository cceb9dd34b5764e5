/* Row fits of every backend against slow, obvious sums: dense equations of every row in long
 * double. The test plays all ranks of a plan, and adds up what they share by hand. */
#include "tests/lib/testing_fits.h"

/* The history of a rank's own rows, in the backend's memory. */
typedef struct history {
  amped_row_history rows;
  amped_list_part *places, *equations; /* which have it */
} history;

static const amped_row_fit_ops *ops_of(const bench *s) {
  ck_assert_ptr_nonnull(s->w.format->row_fit);
  return s->w.format->row_fit;
}

static bool repeats_last(const team *t, uint64_t k) {
  bool same = k > 0;
  for (int m = 0; m < t->p->t.order; m++)
    same = same && t->p->t.indices[m][k] == t->p->t.indices[m][k - 1];
  return same;
}

/* All nonzeros, whatever their ranks, some at a time, and coordinates that the tensor lacks: odd
 * modes have nothing at index 2. The nonzeros are sorted. Returns those of mode 0's copy. */
static uint64_t weigh_all(const team *t, const bench *s) {
  enum { PIECE = 100 };
  const amped_sptensor *x = &t->p->t;
  uint64_t index[AMPED_MAX_ORDER][PIECE];
  const uint64_t *indices[AMPED_MAX_ORDER];
  double weights[PIECE];
  uint64_t placed = 0;
  uint64_t count = 0;
  for (int m = 0; m < x->order; m++)
    indices[m] = index[m];
  for (uint64_t k = 0; k < x->nnz; k++) {
    const bool strange = x->dims[1] > 2 && k % 9 == 0;
    for (int copy = 0; copy < (repeats_last(t, k) ? 0 : strange ? 2 : 1); copy++) {
      for (int m = 0; m < x->order; m++)
        index[m][count] = copy == 1 && m == 1 ? 2 : x->indices[m][k];
      weights[count++] = copy == 1 ? 1e9 : weight_at(t, k);
    }
    if (count + 2 > PIECE || k + 1 == x->nnz) {
      check_ok(ops_of(s)->weigh(s->w.tensor, count, indices, weights, &placed));
      count = 0;
    }
  }
  return placed;
}

static void team_open_weighted(team *t, problem *p, int nranks, setup how, const amped_row_fit *fit,
                               uint64_t below, bool weighted) {
  uint64_t placed = 0;
  team_load(t, p, nranks, how, fit, below, weighted);
  for (int r = 0; r < nranks && weighted; r++)
    placed += weigh_all(t, &t->ranks[r]);
  ck_assert_uint_eq(placed, weighted ? p->t.nnz : 0);
  team_hold_out(t);
}

static void team_open(team *t, problem *p, int nranks, setup how, const amped_row_fit *fit,
                      uint64_t below) {
  team_open_weighted(t, p, nranks, how, fit, below, false);
}

/* --- history -----------------------------------------------------------------------------------*/

/* Row i of mode has a history, and this remains of it. */
static double keep_of(uint64_t i) {
  return i % 4 == 3 ? 0.0 : i % 4 == 0 ? 1.0 : 0.25 * (double)(i % 4);
}

static uint64_t length_of(const team *t) {
  return amped_equation_length((int)components_of(t), t->fit.biased);
}

/* Number k of row i's history, as it is kept: H and n of p = k + 1 ... twice, and others. */
static double history_number(const team *t, uint64_t i, uint64_t k) {
  const uint64_t n = components_of(t);
  uint64_t row = 0;
  uint64_t at = 0;
  while (row < n && at + row + 1 <= k)
    at += ++row;
  const double x = 0.3 * (double)((i * 7 + k * 13) % 11) - 1.2;
  const bool diagonal = row < n && k == at + row;
  const bool count = k == n * (n + 1) / 2 + (t->fit.biased ? n : 0);
  const bool squares = k + 1 == length_of(t);
  return rounded(diagonal || count || squares ? 40.0 * (double)n + x : x, t->p->value_type);
}

/* Own rows of every rank, in the opposite order. */
static void histories_open(team *t, int mode) {
  const uint64_t length = length_of(t);
  check_ok(amped_calloc(&t->histories, (uint64_t)t->nranks, sizeof *t->histories, "a test"));
  for (int r = 0; r < t->nranks; r++) {
    const bench *b = &t->ranks[r];
    const amped_plan *plan = &b->plan;
    const uint64_t rows = plan->modes[mode].rows.block_rows;
    history *h = &t->histories[r];
    amped_nonzeros places;
    amped_nonzeros numbers;
    uint64_t *at = NULL;
    void *equations = NULL;
    double *keep = doubles(rows);
    const uint64_t all = amped_ceil_div(rows * length, 4) * 4; /* a multiple of 16 bytes */
    check_ok(amped_calloc(&at, all, sizeof *at, "a test"));
    check_ok(amped_calloc(&equations, all, t->p->value_type, "a test"));
    for (uint64_t i = 0; i < plan->dims[mode]; i++) {
      const uint64_t row = amped_plan_position(plan, mode, i) - block_first(plan, mode);
      if (plan->modes[mode].rows.owner[i / plan->modes[mode].rows.width] != r)
        continue;
      at[row] = rows - 1 - row;
      keep[row] = keep_of(i);
      for (uint64_t k = 0; k < length; k++)
        amped_value_put(equations, t->p->value_type, at[row] * length + k, history_number(t, i, k));
    }
    h->places = put_numbers(b, rows, at, keep, AMPED_F64, &places);
    h->equations = put_numbers(b, all, at, equations, t->p->value_type, &numbers);
    h->rows.equations = (void *)(uintptr_t)numbers.values;
    h->rows.at = places.indices[0];
    h->rows.keep = places.values;
    amped_free(at);
    amped_free(keep);
    amped_free(equations);
  }
}

/* A rank's equations of mode's row i. */
static double *get_history(const team *t, int rank, int mode, uint64_t i) {
  const bench *b = &t->ranks[rank];
  const uint64_t length = length_of(t);
  const amped_vtype type = t->p->value_type;
  const uint64_t row = b->plan.modes[mode].rows.block_rows - 1 -
                       (amped_plan_position(&b->plan, mode, i) - block_first(&b->plan, mode));
  double *raw = doubles(length);
  double *out = doubles(length);
  check_ok(b->w.backend->lists->fetch(
      t->histories[rank].equations,
      (const char *)t->histories[rank].rows.equations + row * length * type, length * type, raw));
  for (uint64_t k = 0; k < length; k++)
    out[k] = amped_value_get(raw, type, k);
  amped_free(raw);
  return out;
}

static void histories_close(team *t) {
  for (int r = 0; r < t->nranks; r++) {
    t->ranks[r].w.backend->lists->destroy(t->histories[r].places);
    t->ranks[r].w.backend->lists->destroy(t->histories[r].equations);
  }
  amped_free(t->histories);
  t->histories = NULL;
}

/* --- slow equations ----------------------------------------------------------------------------*/

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

/* The sum of p p^T over all cells, cell by cell. */
static void find_base(team *t, int mode) {
  const problem *p = t->p;
  const uint64_t n = (uint64_t)p->ncomps;
  uint64_t cells = 1;
  amped_free(t->base);
  t->base = doubles(n * n);
  for (int m = 0; m < p->t.order; m++)
    cells *= m == mode ? 1 : p->t.dims[m];
  for (uint64_t cell = 0; cell < cells; cell++)
    for (uint64_t i = 0; i < n * n; i++) {
      uint64_t rest = cell;
      double product = 1.0;
      for (int m = 0; m < p->t.order; m++)
        if (m != mode) {
          const double *row = p->factors[m] + rest % p->t.dims[m] * n;
          product *= row[i / n] * row[i % n];
          rest /= p->t.dims[m];
        }
      t->base[i] += product;
    }
  t->fit.base = t->base;
}

/* weight * p p^T, target * p and square of a nonzero. */
typedef struct slow_term {
  long double weight, target, square;
} slow_term;

static slow_term term_of(const team *t, int mode, uint64_t k) {
  const long double y = (long double)target_of(t, mode, k);
  const long double w = (long double)weight_at(t, k);
  if (t->fit.implicit > 0.0)
    return (slow_term){t->fit.implicit * y, 1.0L + t->fit.implicit * y, 1.0L + t->fit.implicit * y};
  return (slow_term){w, w * y, w * y * y};
}

static slow slow_create(const team *t, int mode) {
  const uint64_t n = (uint64_t)t->p->ncomps;
  slow s = slow_alloc(n, t->p->t.dims[mode]);
  long double *p = long_doubles(n);
  for (uint64_t i = 0; i < s.rows; i++)
    for (uint64_t c = 0; c < n * n && t->fit.implicit > 0.0; c++)
      s.row[i].m[c] = (long double)t->base[c];
  for (uint64_t k = 0; k < t->p->t.nnz; k++) {
    slow_row *row = &s.row[t->p->t.indices[mode][k]];
    const slow_term term = term_of(t, mode, k);
    if (is_held(t, k))
      continue;
    products_of(t, mode, k, p);
    slow_add(&s, row, p, term.weight, term.target);
    row->squares += term.square;
    row->count++;
    row->n += weight_at(t, k);
  }
  amped_free(p);
  return s;
}

/* Rows with nonzeros have their history, too. */
static void slow_add_histories(const team *t, slow *s) {
  const uint64_t comps = components_of(t);
  for (uint64_t i = 0; i < s->rows; i++) {
    slow_row *row = &s->row[i];
    const long double keep = keep_of(i);
    uint64_t k = 0;
    if (!(row->n > 0.0))
      continue;
    for (uint64_t a = 0; a < comps; a++)
      for (uint64_t b = 0; b <= a; b++) {
        const long double x = keep * (long double)history_number(t, i, k++);
        row->m[a * s->n + b] += x;
        row->m[b * s->n + a] += b < a ? x : 0.0L;
      }
    for (uint64_t a = 0; a < comps && t->fit.biased; a++) {
      const long double x = keep * (long double)history_number(t, i, k++);
      row->m[a * s->n + comps] += x;
      row->m[comps * s->n + a] += x;
    }
    const double n = history_number(t, i, k++);
    row->n += (double)keep * n;
    row->m[s->n * s->n - 1] += t->fit.biased ? keep * (long double)n : 0.0L;
    for (uint64_t a = 0; a < s->n; a++)
      row->right[a] += keep * (long double)history_number(t, i, k++);
    row->squares += keep * (long double)history_number(t, i, k++);
    row->count += keep > 0.0L ? s->n : 0; /* it has no dual */
  }
}

static double weight_of(const team *t, int mode, const slow_row *row) {
  return t->fit.reg * t->fit.pull[mode] * pow(row->n, t->fit.reg_power);
}

/* A row that is its prior. */
static bool is_empty(const team *t, const slow_row *row) {
  return !(row->n > 0.0) && !(t->fit.implicit > 0.0);
}

/* Half the gradient of the objective in x_i. */
static long double gradient(const team *t, int mode, const slow *s, const slow_row *row,
                            const double *x, uint64_t i) {
  const double weight = weight_of(t, mode, row);
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
    sum += (long double)weight_of(t, mode, row) * (x[c] - t->fit.prior[mode]) *
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
  const double weight = weight_of(t, mode, row);
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
  const double weight = weight_of(t, mode, row);
  double trace = 0.0;
  if (is_empty(t, row)) {
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

static amped_status get_equations(const team *t, int rank, int mode, uint64_t row, uint64_t rows,
                                  double *out) {
  const bench *b = &t->ranks[rank];
  return ops_of(b)->get_equations(b->w.tensor, mode, row, rows, out);
}

static amped_status put_equations(const team *t, int rank, int mode, uint64_t row, uint64_t rows,
                                  double *in) {
  const bench *b = &t->ranks[rank];
  return ops_of(b)->put_equations(b->w.tensor, mode, row, rows, in);
}

/* New rows of mode on all ranks. */
static amped_row_fit_sums fit_mode(team *t, int mode) {
  amped_row_fit_sums sums = {0};
  if (t->fit.implicit > 0.0)
    find_base(t, mode);
  for (int r = 0; r < t->nranks; r++) {
    const bench *b = &t->ranks[r];
    amped_mttkrp_times times = {-1.0, -1.0};
    t->fit.history = t->histories != NULL ? &t->histories[r].rows : NULL;
    check_ok(ops_of(b)->begin(b->w.tensor, mode, &t->fit));
    for (int part = 0; part < b->plan.modes[mode].rows.parts; part++)
      check_ok(ops_of(b)->wait(b->w.tensor, mode, part, &times, &sums));
    ck_assert(times.copy_sec >= 0.0 && times.compute_sec >= 0.0);
  }
  reduce_shared(t, mode, amped_equation_length((int)components_of(t), t->fit.biased), get_equations,
                put_equations);
  for (int r = 0; r < t->nranks; r++)
    check_ok(ops_of(&t->ranks[r])->solve_shared(t->ranks[r].w.tensor, mode, &sums));
  return sums;
}

static void sums_are_right(const team *t, int mode, const slow *s, const double *rows,
                           const amped_row_fit_sums *got) {
  long double squares = 0.0L;
  long double penalty = 0.0L;
  double bound = 0.0;
  double count = 0.0;
  for (uint64_t i = 0; i < s->rows; i++) {
    const slow_row *row = &s->row[i];
    const double *x = rows + i * s->n;
    double trace = 0.0;
    if (is_empty(t, row))
      continue;
    const double size = size_of(t, mode, s, row, x, &trace);
    squares += squares_at(s, row, x);
    penalty += penalty_at(t, mode, row, x);
    count += row->n;
    bound += relative_error(t, s, row, 0.0, 0.0) * size * size;
  }
  ck_assert(got->count == count);
  near(got->squares, (double)squares, bound, "sum of squares", 0, 0);
  near(got->penalty, (double)penalty,
       (double)s->rows * (double)s->n * 4 * DBL_EPSILON * (double)(penalty + 1.0L), "penalty", 0,
       0);
}

/* All modes, each from the factors of the problem. */
static void modes_are_right(team *t) {
  for (int m = 0; m < t->p->t.order; m++) {
    const amped_row_fit_sums sums = fit_mode(t, m);
    slow s = slow_create(t, m);
    double *rows = gather_rows(t, m);
    for (uint64_t i = 0; i < s.rows; i++)
      row_is_right(t, m, &s, i, rows + i * s.n);
    sums_are_right(t, m, &s, rows, &sums);
    ck_assert_msg(sums.unsure == 0, "%d columns, mode %d: %d rows are unsure",
                  t->ranks[0].plan.ncomps, m, (int)sums.unsure);
    for (int r = 0; r < t->nranks; r++)
      put_factor(&t->ranks[r], m);
    amped_free(rows);
    slow_free(&s);
  }
}

static void moments_are_right(const team *t) {
  amped_moments got = {.least = INFINITY, .least_weight = INFINITY};
  amped_moments want = got;
  for (int r = 0; r < t->nranks; r++)
    check_ok(ops_of(&t->ranks[r])->moments(t->ranks[r].w.tensor, &got));
  for (uint64_t k = 0; k < t->p->t.nnz; k++) {
    const double x = rounded(t->p->t.values[k], t->p->value_type);
    const double w = weight_at(t, k);
    want.least = w > 0.0 ? fmin(want.least, x) : want.least;
    want.least_weight = fmin(want.least_weight, w);
    if (is_held(t, k))
      continue;
    want.count += w > 0.0;
    want.weight += w;
    want.sum += w * x;
    want.squares += w * x * x;
  }
  ck_assert_uint_eq(got.count, want.count);
  ck_assert(got.weight == want.weight && got.least == want.least);
  ck_assert(got.least_weight == want.least_weight);
  near(got.sum, want.sum, (double)t->p->t.nnz * DBL_EPSILON * want.squares, "sum", 0, 0);
  near(got.squares, want.squares, (double)t->p->t.nnz * DBL_EPSILON * want.squares, "squares", 0,
       0);
}

/* A sum of hashes of nonzeros by file indices, who is held out, weights (halves) and values. */
static uint64_t hash_of(int order, const uint64_t *index, bool held, double weight, double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  uint64_t hash = amped_mix64(bits) + held + (uint64_t)(4.0 * weight);
  for (int m = 0; m < order; m++)
    hash = amped_hash_index(hash, index[m]);
  return hash;
}

/* A value as it is in memory. */
static double stored(const team *t, double value) {
  return t->p->value_type == AMPED_F32 ? (double)(float)value : value;
}

static uint64_t hash_view(const bench *b, uint64_t first, uint64_t count,
                          uint64_t *const *indices_of) {
  const int order = b->plan.order;
  uint64_t *positions[AMPED_MAX_ORDER] = {NULL};
  bool held[64];
  double weights[64];
  double values[64];
  uint64_t sum = 0;
  for (int m = 0; m < order; m++)
    positions[m] = doubles(count);
  check_ok(ops_of(b)->view(b->w.tensor, first, count, positions, held, weights, values));
  for (uint64_t i = 0; i < count; i++) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0; m < order; m++)
      index[m] = indices_of[m][positions[m][i]];
    sum += hash_of(order, index, held[i], weights[i], values[i]);
  }
  for (int m = 0; m < order; m++)
    amped_free(positions[m]);
  return sum;
}

static void view_is_right(const team *t) {
  const amped_sptensor *x = &t->p->t;
  uint64_t got = 0;
  uint64_t want = 0;
  for (uint64_t k = 0; k < x->nnz; k++) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0; m < x->order; m++)
      index[m] = x->indices[m][k];
    want += hash_of(x->order, index, is_held(t, k), weight_at(t, k), stored(t, x->values[k]));
  }
  for (int r = 0; r < t->nranks; r++) {
    const bench *b = &t->ranks[r];
    const uint64_t nnz = b->plan.modes[0].copy.rank_nnz[r];
    uint64_t *indices_of[AMPED_MAX_ORDER] = {NULL};
    for (int m = 0; m < x->order; m++) {
      indices_of[m] = doubles(amped_plan_factor_rows(&b->plan, m));
      for (uint64_t i = 0; i < x->dims[m]; i++)
        indices_of[m][amped_plan_position(&b->plan, m, i)] = i;
    }
    for (uint64_t first = 0; first < nnz; first += 50)
      got += hash_view(b, first, nnz - first < 50 ? nnz - first : 50, indices_of);
    for (int m = 0; m < x->order; m++)
      amped_free(indices_of[m]);
  }
  ck_assert_uint_eq(got, want);
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

static void fit_is_right_weighted(problem *p, int nranks, setup how, const amped_row_fit *fit,
                                  uint64_t below, bool weighted) {
  team t;
  team_open_weighted(&t, p, nranks, how, fit, below, weighted);
  moments_are_right(&t);
  view_is_right(&t);
  modes_are_right(&t);
  errors_are_right(&t, true);
  errors_are_right(&t, false);
  team_close(&t);
}

static void fit_is_right(problem *p, int nranks, setup how, const amped_row_fit *fit,
                         uint64_t below) {
  fit_is_right_weighted(p, nranks, how, fit, below, false);
}

static void orders_and_widths(amped_vtype type) {
  static const int widths[] = {1, 3, 8, 17, 32, 33};
  for (int order = AMPED_MIN_ORDER; order <= 6; order++)
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

/* --- weights, and cells that are not observed --------------------------------------------------*/

START_TEST(rows_with_weights) {
  static const int widths[] = {1, 3, 8, 17, 32, 33};
  for (int order = AMPED_MIN_ORDER; order <= 6; order++)
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
      for (int type = 0; type < 2; type++) {
        problem p;
        const bool biased = (order + (int)w + type) % 2 > 0;
        const amped_row_fit fit = fit_of(biased);
        problem_create(&p, order, odd_dims, 700, widths[w] + biased,
                       type == 0 ? AMPED_F32 : AMPED_F64);
        fit_is_right_weighted(&p, 1 + (order + (int)w) % 4, alone(), &fit, biased ? TENTH : 0,
                              true);
        problem_free(&p);
      }
  check_no_leak();
}

static const uint64_t small_dims[AMPED_MAX_ORDER] = {7, 5, 9, 1, 4, 2, 2, 2};

/* Of no coordinate twice, without negative values: sums over all cells are sums of squares only
 * then. The last index of even modes is empty. */
static void problem_create_implicit(problem *p, int order, const uint64_t *dims, uint64_t nnz,
                                    int ncomps, amped_vtype type) {
  problem_create(p, order, dims, nnz, ncomps, type);
  for (uint64_t k = 0; k < nnz; k++) {
    uint64_t rest = k * 37; /* which has no divisor in common with the cells */
    for (int m = 0; m < order; m++) {
      const uint64_t dim = m % 2 == 0 && dims[m] > 2 ? dims[m] - 1 : dims[m];
      p->t.indices[m][k] = rest % dim;
      rest /= dim;
    }
    p->t.values[k] = k % 11 == 0 ? 0.0 : fabs(p->t.values[k]);
  }
  for (int m = 0; m < p->t.order; m++)
    sort_again(p, m);
}

static amped_row_fit implicit_fit(void) {
  amped_row_fit fit = fit_of(false);
  fit.mean = 0.0;
  fit.scale = 1.0;
  fit.implicit = 2.5;
  return fit;
}

/* Power 0: rows without nonzeros have a penalty, too. */
START_TEST(rows_of_implicit_fits) {
  static const int widths[] = {1, 3, 8, 17, 32, 33};
  for (int order = AMPED_MIN_ORDER; order <= 6; order++)
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
      for (int type = 0; type < 2; type++) {
        problem p;
        amped_row_fit fit = implicit_fit();
        fit.reg_power = (order + (int)w) % 2 == 0 ? 0.0 : 0.5;
        problem_create_implicit(&p, order, small_dims, order > 2 ? 60 : 24, widths[w],
                                type == 0 ? AMPED_F32 : AMPED_F64);
        fit_is_right(&p, 1 + (order + (int)w) % 4, alone(), &fit, w % 2 > 0 ? TENTH : 0);
        problem_free(&p);
      }
  check_no_leak();
}

/* --- rows of every length ----------------------------------------------------------------------*/

START_TEST(rows_of_every_length) {
  static const int widths[] = {1, 8, 33};
  for (int w = 0; w < 3; w++)
    for (int type = 0; type < 2; type++) {
      const uint64_t n = (uint64_t)widths[w];
      const uint64_t lengths[] = {0,   1,   n - 1, n, n + 1, 2, 0, w == 1 ? 100000 : 17000,
                                  127, 128, 129,   0};
      problem p;
      amped_row_fit fit = fit_of(type > 0);
      rows_problem(&p, lengths, sizeof lengths / sizeof lengths[0], widths[w] + type,
                   type == 0 ? AMPED_F32 : AMPED_F64);
      fit_is_right(&p, 1, alone(), &fit, 0);
      fit_is_right_weighted(&p, 2, alone(), &fit, TENTH, w < 2);
      problem_free(&p);
    }
  check_no_leak();
}

/* Rows of fewer nonzeros than components, which GPUs fit by as many unknowns as nonzeros. */
START_TEST(rows_of_few_nonzeros) {
  static const int widths[] = {17, 20, 32, 33, 48, 64};
  static const uint64_t lengths[] = {1,  2,  3, 4, 5,  7,  8,  9,  11, 12, 13, 14,
                                     15, 16, 0, 0, 17, 20, 24, 25, 28, 31, 32, 33};
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int biased = 0; biased < 2; biased++) {
      problem p;
      amped_row_fit fit = fit_of(biased > 0);
      fit.prior[0] = w % 2 > 0 ? 0.0 : 0.7;
      if (w > 2) /* little for float, and too little */
        fit.reg = w == 3 ? 1e-6 : w == 4 ? 1e-2 : 1e-4;
      rows_problem(&p, lengths, sizeof lengths / sizeof lengths[0], widths[w] + biased, AMPED_F32);
      fit_is_right(&p, 1 + (int)w % 2, alone(), &fit, w % 3 > 0 ? TENTH : 0);
      problem_free(&p);
    }
  check_no_leak();
}

/* More than 64 components, of which 65 to 128 have a kernel of their own on GPUs. */
START_TEST(rows_of_many_components) {
  static const int widths[] = {65, 80, 96, 100, 127, 128, 129};
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int biased = 0; biased < 2; biased++) {
      const uint64_t n = (uint64_t)widths[w];
      const uint64_t lengths[] = {0, 1, 7, 8, 9, n - 1, n, n + 1, 95, 97, 0, 700, 127, 128, 129, 0};
      problem p;
      amped_row_fit fit = fit_of(biased > 0);
      fit.reg_power = w % 2 > 0 ? 0.5 : 1.0;
      fit.reg = w == 2 || w == 3 ? 1e-6 : 0.3; /* too little for float where rows are short */
      rows_problem(&p, lengths, sizeof lengths / sizeof lengths[0], widths[w] + biased, AMPED_F32);
      fit_is_right_weighted(&p, 1 + (int)w % 2, alone(), &fit, biased > 0 ? TENTH : 0, w % 3 == 1);
      problem_free(&p);
    }
  check_no_leak();
}

START_TEST(rows_of_many_components_of_all_orders) {
  static const int widths[] = {70, 121};
  for (int order = AMPED_MIN_ORDER; order <= 6; order++)
    for (int w = 0; w < 2; w++)
      for (int implicit = 0; implicit < 2; implicit++) {
        problem p;
        setup how = alone();
        amped_row_fit fit = implicit ? implicit_fit() : fit_of(true);
        how.index_type = (order + w) % 2 > 0 ? AMPED_U64 : AMPED_U32;
        if (implicit)
          problem_create_implicit(&p, order, small_dims, order > 2 ? 60 : 24, widths[w], AMPED_F32);
        else
          problem_create(&p, order, odd_dims, 400, widths[w] + 1, AMPED_F32);
        fit_is_right_weighted(&p, 1, how, &fit, TENTH, !implicit && order % 2 > 0);
        problem_free(&p);
      }
  check_no_leak();
}

START_TEST(rows_of_the_most_components) {
  static const uint64_t lengths[] = {1, 40, 0};
  for (int type = 0; type < 2; type++) {
    problem p;
    team t;
    const amped_row_fit fit = fit_of(type > 0);
    rows_problem(&p, lengths, 3, AMPED_MAX_NCOMPS, type == 0 ? AMPED_F32 : AMPED_F64);
    team_open(&t, &p, 1, alone(), &fit, 0);
    (void)fit_mode(&t, 0);
    slow s = slow_create(&t, 0);
    double *rows = gather_rows(&t, 0);
    for (uint64_t i = 0; i < s.rows; i++)
      row_is_right(&t, 0, &s, i, rows + i * s.n);
    amped_free(rows);
    slow_free(&s);
    team_close(&t);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(rows_of_split_idps) {
  for (int type = 0; type < 2; type++) {
    problem p;
    amped_row_fit fit = fit_of(type > 0);
    split_problem(&p, 20000, 5 + 3 * type, type == 0 ? AMPED_F32 : AMPED_F64);
    for (int nranks = 2; nranks <= 4; nranks++) {
      const setup how = split_setup(nranks);
      fit_is_right_weighted(&p, nranks, how, &fit, nranks == 2 ? 0 : TENTH, nranks == 3);
    }
    problem_free(&p);
  }
  check_no_leak();
}

/* The equations that a row leaves: right ones, of the size of its own. */
static void history_is_right(const team *t, const slow *s, int rank, int mode, uint64_t i) {
  const slow_row *row = &s->row[i];
  const uint64_t comps = components_of(t);
  const uint64_t n = s->n;
  const double error = relative_error(t, s, row, 0.0, 0.0);
  double *got = get_history(t, rank, mode, i);
  uint64_t k = 0;
  if (!(row->n > 0.0)) {
    for (; k < length_of(t); k++)
      ck_assert(got[k] == history_number(t, i, k));
    amped_free(got);
    return;
  }
  for (uint64_t a = 0; a < n; a++) {
    for (uint64_t b = 0; b <= a; b++, k++)
      near(got[k], a == comps && b == a ? row->n : (double)row->m[a * n + b],
           error * sqrt((double)(row->m[a * n + a] * row->m[b * n + b])), "H, h or n", i, k);
  }
  if (!t->fit.biased)
    near(got[k], row->n, error * row->n, "n", i, comps);
  k += !t->fit.biased;
  for (uint64_t a = 0; a < n; a++, k++)
    near(got[k], (double)row->right[a], error * sqrt((double)(row->m[a * n + a] * row->squares)),
         "right side", i, k);
  near(got[k], (double)row->squares, error * (double)row->squares, "squares", i, k);
  ck_assert_uint_eq(k + 1, length_of(t));
  amped_free(got);
}

static void mode_with_history_is_right(team *t, int mode) {
  slow s = slow_create(t, mode);
  bool *moves = NULL;
  check_ok(amped_calloc(&moves, s.rows, sizeof *moves, "a test"));
  for (uint64_t i = 0; i < s.rows; i++)
    moves[i] = s.row[i].n > 0.0;
  slow_add_histories(t, &s);
  histories_open(t, mode);
  const amped_row_fit_sums sums = fit_mode(t, mode);
  double *rows = gather_rows(t, mode);
  for (uint64_t i = 0; i < s.rows; i++)
    if (moves[i])
      row_is_right(t, mode, &s, i, rows + i * s.n);
    else
      for (uint64_t c = 0; c < s.n; c++)
        near(rows[i * s.n + c], rounded(t->p->factors[mode][i * s.n + c], t->p->value_type), 0.0,
             "a row that stays", i, c);
  ck_assert_uint_eq(sums.unsure, 0);
  for (int r = 0; r < t->nranks; r++)
    put_factor(&t->ranks[r], mode);
  t->fit.absorb = true;
  (void)fit_mode(t, mode);
  t->fit.absorb = false;
  amped_free(rows);
  rows = gather_rows(t, mode);
  for (uint64_t i = 0; i < s.rows * s.n; i++)
    near(rows[i], rounded(t->p->factors[mode][i], t->p->value_type), 0.0,
         "a row while it leaves equations", i / s.n, i % s.n);
  for (uint64_t i = 0; i < s.rows; i++)
    history_is_right(
        t, &s, t->ranks[0].plan.modes[mode].rows.owner[i / t->ranks[0].plan.modes[mode].rows.width],
        mode, i);
  histories_close(t);
  amped_free(moves);
  amped_free(rows);
  slow_free(&s);
}

static void fit_with_history_is_right(problem *p, int nranks, setup how, const amped_row_fit *fit,
                                      bool weighted) {
  team t;
  team_open_weighted(&t, p, nranks, how, fit, TENTH, weighted);
  for (int m = 0; m < p->t.order; m++)
    mode_with_history_is_right(&t, m);
  team_close(&t);
}

START_TEST(rows_with_history) {
  static const int widths[] = {1, 3, 8, 17, 33};
  for (int order = AMPED_MIN_ORDER; order <= 5; order++)
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
      for (int type = 0; type < 2; type++) {
        problem p;
        const bool biased = (order + (int)w + type) % 2 > 0;
        const amped_row_fit fit = fit_of(biased);
        problem_create(&p, order, odd_dims, 300, widths[w] + biased,
                       type == 0 ? AMPED_F32 : AMPED_F64);
        fit_with_history_is_right(&p, 1 + (order + (int)w) % 4, alone(), &fit, w == 2);
        problem_free(&p);
      }
  check_no_leak();
}

START_TEST(rows_with_history_of_every_length) {
  for (int type = 0; type < 2; type++) {
    static const uint64_t lengths[] = {0, 1, 7, 8, 9, 2, 0, 100000, 127, 128, 129, 0};
    problem p;
    const amped_row_fit fit = fit_of(type > 0);
    rows_problem(&p, lengths, sizeof lengths / sizeof lengths[0], 8 + type,
                 type == 0 ? AMPED_F32 : AMPED_F64);
    for (int nranks = 1; nranks <= 3; nranks++) /* of 2 and more the long row is shared */
      fit_with_history_is_right(&p, nranks, alone(), &fit, false);
    problem_free(&p);
  }
  check_no_leak();
}

/* Each width of the kernels of GPUs, less wide rows, and more: resident copies and streamed ones,
 * rows in one part and in some. */
START_TEST(rows_with_history_of_many_widths) {
  static const int widths[] = {5, 16, 24, 32, 48, 64, 96, 128, 130};
  static const uint64_t lengths[] = {3, 1, 0, 700, 128, 2, 1, 140, 33, 1, 0, 1};
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int biased = 0; biased < 2; biased++) {
      problem p;
      setup how = alone();
      amped_row_fit fit = fit_of(biased > 0);
      fit.reg_power = w % 2 > 0 ? 0.5 : 1.0;
      how.index_type = w % 3 == 2 ? AMPED_U64 : AMPED_U32;
      how.parts = w % 2 > 0 ? 4 : 0;
      if (biased > 0 && backend()->device_pointers)
        how.options.residency = AMPED_RESIDENCY_STREAM;
      rows_problem(&p, lengths, sizeof lengths / sizeof lengths[0], widths[w] + biased, AMPED_F32);
      fit_with_history_is_right(&p, 1 + (int)w % 2, how, &fit, w % 3 == 1);
      problem_free(&p);
    }
  check_no_leak();
}

/* Rows of 17 to 32 components that few nonzeros come to, which GPUs fit by a kernel of their own.
 */
START_TEST(rows_with_history_of_few_nonzeros) {
  static const int widths[] = {6, 13, 16, 17, 21, 31, 32};
  uint64_t lengths[70];
  for (uint64_t i = 0; i < 70; i++)
    lengths[i] = i % 23 == 22 ? 20 + i : i % 11;
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int biased = 0; biased < 2; biased++) {
      problem p;
      setup how = alone();
      amped_row_fit fit = fit_of(biased > 0);
      fit.prior[0] = w % 2 > 0 ? 0.7 : 0.0;
      how.parts = w == 2 ? 4 : 0;
      rows_problem(&p, lengths, 70, widths[w] + biased, AMPED_F32);
      fit_with_history_is_right(&p, 1 + (int)w % 2, how, &fit, w == 1);
      problem_free(&p);
    }
  check_no_leak();
}

/* Whatever threads do: rows, and the equations that they leave. */
START_TEST(rows_with_history_have_the_same_bits) {
  static const uint64_t lengths[] = {3, 40000, 0, 900, 20, 1};
  for (int type = 0; type < 2; type++) {
    problem p;
    double *want = NULL;
    const amped_row_fit fit = fit_of(true);
    setup how = alone();
    rows_problem(&p, lengths, 6, 9, type == 0 ? AMPED_F32 : AMPED_F64);
    for (how.options.threads = 1; how.options.threads <= 2; how.options.threads++) {
      team t;
      team_open(&t, &p, 1, how, &fit, TENTH);
      const uint64_t length = length_of(&t);
      double *got = doubles(6 * (9 + length));
      histories_open(&t, 0);
      (void)fit_mode(&t, 0);
      double *rows = gather_rows(&t, 0);
      memcpy(got, rows, UINT64_C(6) * 9 * sizeof *got);
      t.fit.absorb = true;
      (void)fit_mode(&t, 0);
      for (uint64_t i = 0; i < 6; i++) {
        double *left = get_history(&t, 0, 0, i);
        memcpy(got + 6 * 9 + i * length, left, length * sizeof *got);
        amped_free(left);
      }
      histories_close(&t);
      team_close(&t);
      if (want != NULL)
        ck_assert_mem_eq(got, want, 6 * (9 + length) * sizeof *got);
      amped_free(rows);
      amped_free(want);
      want = got;
    }
    amped_free(want);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(implicit_rows_of_split_idps) {
  static const uint64_t dims[] = {40, 30, 20};
  for (int power = 0; power < 2; power++) {
    problem p;
    amped_row_fit fit = implicit_fit();
    fit.reg_power = power;
    problem_create_implicit(&p, 3, dims, 1000, 5, AMPED_F64);
    for (uint64_t k = 0; k < p.t.nnz; k++) { /* 600 of them in one row */
      p.t.indices[0][k] = k < 600 ? 0 : 1 + k % 38;
      p.t.indices[1][k] = k < 600 ? k % 30 : k / 38;
      p.t.indices[2][k] = k < 600 ? k / 30 : 7;
    }
    for (int m = 0; m < p.t.order; m++)
      sort_again(&p, m);
    fit_is_right(&p, 3, alone(), &fit, TENTH);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(penalties_of_every_power) {
  for (int i = 0; i < 6; i++) {
    problem p;
    amped_row_fit fit = fit_of(i % 2 > 0);
    fit.reg_power = i / 3 * 1.0;
    fit.reg = i % 3 == 0 ? 4.0 : 0.5;
    fit.reg_bias = i == 5 ? 0.0 : 0.01;
    fit.prior[0] = -0.5;
    problem_create(&p, 3, odd_dims, 900, 9, i % 2 == 0 ? AMPED_F32 : AMPED_F64);
    fit_is_right(&p, 2, alone(), &fit, TENTH);
    problem_free(&p);
  }
  check_no_leak();
}

/* Other sets follow one another, by indices or by keys of some modes; the last is empty. */
START_TEST(what_is_held_out_may_change) {
  problem p;
  team t;
  const amped_row_fit fit = fit_of(true);
  problem_create(&p, 4, odd_dims, 700, 5, AMPED_F64);
  uint32_t of_mode[2][64];
  const uint32_t *const keys[AMPED_MAX_ORDER] = {NULL, of_mode[0], NULL, of_mode[1]};
  for (uint32_t i = 0; i < 64; i++) {
    of_mode[0][i] = UINT32_MAX - i;
    of_mode[1][i] = (uint32_t)amped_random_u64(9, 0, i);
  }
  ck_assert(odd_dims[1] <= 64 && odd_dims[3] <= 64);
  team_open(&t, &p, 3, alone(), &fit, TENTH);
  for (uint64_t share = 5; share <= 5; share--) {
    uint64_t held = 0;
    t.below = share * TENTH;
    t.seed = 100 + share / 2; /* the same by indices and by keys */
    t.keys = share % 2 == 0 ? keys : NULL;
    for (int r = 0; r < 3; r++) {
      uint64_t own = 0;
      check_ok(ops_of(&t.ranks[r])->hold_out(t.ranks[r].w.tensor, t.keys, t.seed, t.below, &own));
      held += own;
    }
    ck_assert_uint_eq(held, count_held(&t));
    ck_assert((share == 0) == (held == 0));
    errors_are_right(&t, true);
    errors_are_right(&t, false);
  }
  modes_are_right(&t);
  team_close(&t);
  problem_free(&p);
  check_no_leak();
}

START_TEST(rows_have_the_same_bits_on_any_number_of_threads) {
  static const uint64_t lengths[] = {3, 40000, 0, 33000, 900, 20, 5000, 1};
  for (int type = 0; type < 2; type++) {
    problem p;
    double *want = NULL;
    amped_row_fit_sums first = {0};
    const amped_row_fit fit = fit_of(true);
    setup how = alone();
    rows_problem(&p, lengths, 8, 17, type == 0 ? AMPED_F32 : AMPED_F64);
    for (how.options.threads = 1; how.options.threads <= 4; how.options.threads++) {
      team t;
      team_open(&t, &p, 1, how, &fit, TENTH);
      const amped_row_fit_sums sums = fit_mode(&t, 0);
      double *got = gather_rows(&t, 0);
      team_close(&t);
      if (want == NULL) {
        want = got;
        first = sums;
        continue;
      }
      ck_assert_mem_eq(got, want, 8 * 17 * sizeof *got);
      ck_assert(sums.squares == first.squares && sums.penalty == first.penalty);
      amped_free(got);
    }
    amped_free(want);
    problem_free(&p);
  }
  check_no_leak();
}

/* Timing changes no row. A backend that tells solving apart tells a part of compute_sec. */
START_TEST(timed_rows_have_the_same_bits) {
  static const uint64_t lengths[] = {3, 40000, 0, 330, 900, 20, 5, 1};
  for (int type = 0; type < 2; type++)
    for (int nonnegative = 0; nonnegative < 2; nonnegative++) {
      problem p;
      double *want = NULL;
      amped_row_fit fit = fit_of(true);
      fit.nonnegative = nonnegative > 0;
      rows_problem(&p, lengths, 8, 17, type == 0 ? AMPED_F32 : AMPED_F64);
      for (int timed = 0; timed < 2; timed++) {
        team t;
        amped_mttkrp_times times = {-1.0, -1.0};
        amped_row_fit_sums sums = {0};
        fit.timed = timed > 0;
        team_open(&t, &p, 1, alone(), &fit, TENTH);
        const bench *b = &t.ranks[0];
        check_ok(ops_of(b)->begin(b->w.tensor, 0, &t.fit));
        check_ok(ops_of(b)->wait(b->w.tensor, 0, b->plan.modes[0].rows.parts - 1, &times, &sums));
        ck_assert(sums.solve_sec >= 0.0 && sums.solve_sec <= times.compute_sec);
        ck_assert(timed > 0 || sums.solve_sec <= 0.0);
        double *got = gather_rows(&t, 0);
        team_close(&t);
        if (want == NULL) {
          want = got;
          continue;
        }
        ck_assert_mem_eq(got, want, 8 * 17 * sizeof *got);
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
  modes_are_right(&t);
  set_ncomps(&t.ranks[0], 7);
  modes_are_right(&t);
  team_close(&t);
  problem_free(&p);
  check_no_leak();
}

/* --- objective ---------------------------------------------------------------------------------*/

/* The objective of row i of mode where it is x, from the nonzeros themselves. */
static long double objective(const team *t, int mode, uint64_t i, const double *x) {
  const uint64_t n = (uint64_t)t->p->ncomps;
  long double sum = 0.0L;
  double weights = 0.0;
  long double *p = long_doubles(n);
  for (uint64_t k = 0; k < t->p->t.nnz; k++) {
    if (t->p->t.indices[mode][k] != i || is_held(t, k))
      continue;
    long double off = target_of(t, mode, k);
    products_of(t, mode, k, p);
    for (uint64_t c = 0; c < n; c++)
      off -= p[c] * x[c];
    sum += (long double)weight_at(t, k) * off * off;
    weights += weight_at(t, k);
  }
  amped_free(p);
  const slow_row row = {.n = weights};
  return sum + penalty_at(t, mode, &row, x);
}

/* A step in any component makes the objective grow by the same in both directions. */
START_TEST(rows_have_the_least_objective) {
  const double step = 0x1p-10;
  problem p;
  team t;
  const amped_row_fit fit = fit_of(true);
  problem_create(&p, 3, odd_dims, 300, 9, AMPED_F64);
  team_open_weighted(&t, &p, 2, alone(), &fit, TENTH, true);
  for (int m = 0; m < 3; m++) {
    long double sum = 0.0L;
    const amped_row_fit_sums sums = fit_mode(&t, m);
    double *rows = gather_rows(&t, m);
    for (uint64_t i = 0; i < p.t.dims[m]; i++) {
      double *x = rows + i * 9;
      const long double here = objective(&t, m, i, x);
      sum += here;
      for (int c = 0; c < 9; c++) {
        const double old = x[c];
        x[c] = old + step;
        const long double above = objective(&t, m, i, x);
        x[c] = old - step;
        const long double below = objective(&t, m, i, x);
        x[c] = old;
        ck_assert(above >= here && below >= here);
        /* the gradient of a square function, in double's precision of the sums */
        near((double)(above - below), 0.0, 1e-10 * (double)(here + 1.0L), "difference", i,
             (uint64_t)c);
      }
    }
    near(sums.squares + sums.penalty, (double)sum, 1e-12 * (double)sum, "objective", 0, 0);
    for (int r = 0; r < 2; r++)
      put_factor(&t.ranks[r], m);
    amped_free(rows);
  }
  team_close(&t);
  problem_free(&p);
  check_no_leak();
}

/* --- nonnegative -------------------------------------------------------------------------------*/

/* Coordinate descent in long double, until nothing changes. */
static void solve_slowly(const team *t, int mode, const slow *s, const slow_row *row, double *x) {
  for (int pass = 0; pass < 20000; pass++)
    for (uint64_t i = 0; i < s->n; i++) {
      const bool bias = i == components_of(t);
      const long double diagonal =
          row->m[i * s->n + i] + (bias ? t->fit.reg_bias : weight_of(t, mode, row));
      const double next = (double)(x[i] - gradient(t, mode, s, row, x, i) / diagonal);
      x[i] = bias || next > 0.0 ? next : 0.0;
    }
}

/* The residual of the optimality conditions (row_fit.h). */
static double residual_of(const team *t, int mode, const slow *s, const slow_row *row,
                          const double *x) {
  const double weight = weight_of(t, mode, row);
  double most = 0.0;
  double size = 0.0;
  for (uint64_t i = 0; i < s->n; i++) {
    const bool bias = i == components_of(t);
    const double diagonal = (double)row->m[i * s->n + i] + (bias ? t->fit.reg_bias : weight);
    const double right = (double)row->right[i] + (bias ? 0.0 : weight * t->fit.prior[mode]);
    const double off = (double)gradient(t, mode, s, row, x, i);
    size = fmax(size, fabs(right) / sqrt(diagonal));
    if (bias || x[i] > 0.0 || off < 0.0)
      most = fmax(most, fabs(off) / sqrt(diagonal));
  }
  return most / size;
}

/* Where 20 passes are enough the residual is small, and the objective near the least one. */
static void nonnegative_rows_of(bool weighted, bool implicit) {
  static const int widths[] = {1, 3, 8};
  for (int w = 0; w < 3; w++)
    for (int type = 0; type < 2; type++) {
      problem p;
      team t;
      const bool biased = type > 0 && !implicit;
      amped_row_fit fit = implicit ? implicit_fit() : fit_of(biased);
      fit.nonnegative = true;
      fit.reg = 2.0;
      if (implicit)
        problem_create_implicit(&p, 3, small_dims, 200, widths[w],
                                type == 0 ? AMPED_F32 : AMPED_F64);
      else
        problem_create(&p, 3, odd_dims, 900, widths[w] + biased, type == 0 ? AMPED_F32 : AMPED_F64);
      team_open_weighted(&t, &p, 2, alone(), &fit, TENTH, weighted);
      for (int m = 0; m < 3; m++) {
        const amped_row_fit_sums sums = fit_mode(&t, m);
        slow s = slow_create(&t, m);
        double *rows = gather_rows(&t, m);
        for (uint64_t i = 0; i < s.rows; i++) {
          double *x = rows + i * s.n;
          if (!(s.row[i].n > 0.0))
            continue;
          double *best = doubles(s.n);
          memcpy(best, x, s.n * sizeof *x);
          solve_slowly(&t, m, &s, &s.row[i], best);
          for (uint64_t c = 0; c < components_of(&t); c++)
            ck_assert(x[c] >= 0.0);
          near(residual_of(&t, m, &s, &s.row[i], x), 0.0, 1.2e-4, "residual", i, 0);
          const double got =
              (double)(squares_at(&s, &s.row[i], x) + penalty_at(&t, m, &s.row[i], x));
          const double least =
              (double)(squares_at(&s, &s.row[i], best) + penalty_at(&t, m, &s.row[i], best));
          near(got, least, 1e-5 * (least + (double)s.row[i].squares), "objective", i, 0);
          amped_free(best);
        }
        sums_are_right(&t, m, &s, rows, &sums);
        for (int r = 0; r < 2; r++)
          put_factor(&t.ranks[r], m);
        amped_free(rows);
        slow_free(&s);
      }
      team_close(&t);
      problem_free(&p);
    }
  check_no_leak();
}

START_TEST(nonnegative_rows) {
  nonnegative_rows_of(false, false);
}

START_TEST(nonnegative_rows_with_weights) {
  nonnegative_rows_of(true, false);
}

START_TEST(nonnegative_rows_of_implicit_fits) {
  nonnegative_rows_of(false, true);
}

/* Coordinate descent goes from the row as it was. */
START_TEST(nonnegative_rows_with_history) {
  for (int type = 0; type < 2; type++) {
    problem p;
    team t;
    amped_row_fit fit = fit_of(type > 0);
    fit.nonnegative = true;
    fit.reg = 2.0;
    problem_create(&p, 3, odd_dims, 300, 5 + type, type == 0 ? AMPED_F32 : AMPED_F64);
    team_open(&t, &p, 2, alone(), &fit, TENTH);
    for (int m = 0; m < 3; m++) {
      slow s = slow_create(&t, m);
      slow_add_histories(&t, &s);
      histories_open(&t, m);
      (void)fit_mode(&t, m);
      double *rows = gather_rows(&t, m);
      for (uint64_t i = 0; i < s.rows; i++)
        if (s.row[i].n > 0.0) {
          for (uint64_t c = 0; c < components_of(&t); c++)
            ck_assert(rows[i * s.n + c] >= 0.0);
          near(residual_of(&t, m, &s, &s.row[i], rows + i * s.n), 0.0, 1.2e-4, "residual", i, 0);
        }
      for (int r = 0; r < 2; r++)
        put_factor(&t.ranks[r], m);
      t.fit.absorb = true;
      (void)fit_mode(&t, m);
      t.fit.absorb = false;
      for (uint64_t i = 0; i < s.rows; i++)
        history_is_right(
            &t, &s, t.ranks[0].plan.modes[m].rows.owner[i / t.ranks[0].plan.modes[m].rows.width], m,
            i);
      histories_close(&t);
      amped_free(rows);
      slow_free(&s);
    }
    team_close(&t);
    problem_free(&p);
  }
  check_no_leak();
}

/* --- singular rows -----------------------------------------------------------------------------*/

/* With a penalty of next to nothing, by elimination in long double: that is off by some 1e-12 of
 * the trace over the smallest eigenvalue but 0. */
static void solve_nearly(const team *t, const slow *s, const slow_row *row, long double *x) {
  const uint64_t n = s->n;
  long double trace = 0.0L;
  long double *m = long_doubles(n * n);
  memcpy(m, row->m, n * n * sizeof *m);
  memcpy(x, row->right, n * sizeof *x);
  if (t->fit.biased)
    m[n * n - 1] += t->fit.reg_bias;
  for (uint64_t i = 0; i < n; i++)
    trace += m[i * n + i];
  for (uint64_t i = 0; i < n; i++)
    m[i * n + i] += 1e-12L * trace;
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t k = i + 1; k < n; k++) {
      const long double f = m[k * n + i] / m[i * n + i];
      for (uint64_t c = i; c < n; c++)
        m[k * n + c] -= f * m[i * n + c];
      x[k] -= f * x[i];
    }
  for (uint64_t i = n; i-- > 0;) {
    for (uint64_t c = i + 1; c < n; c++)
      x[i] -= m[i * n + c] * x[c];
    x[i] /= m[i * n + i];
  }
  amped_free(m);
}

/* Rows of fewer nonzeros than unknowns, and one whose nonzeros are all at one coordinate. */
START_TEST(rows_of_least_norm) {
  static const uint64_t lengths[] = {1, 4, 7, 0, 40, 3};
  for (int i = 0; i < 6; i++) {
    problem p;
    team t;
    amped_row_fit fit = fit_of(i % 2 > 0);
    fit.reg = 0.0;
    fit.prior[0] = 0.5; /* does not matter, but for empty rows */
    fit.reg_bias = i == 5 ? 0.0 : 3.0;
    rows_problem(&p, lengths, 6, 8 + i % 2, i / 2 == 0 ? AMPED_F32 : AMPED_F64);
    for (uint64_t k = 0; k < p.t.nnz; k++)
      if (p.t.indices[0][k] == 5)
        for (int m = 1; m < 3; m++)
          p.t.indices[m][k] = 2;
    for (int m = 1; m < 3; m++)
      sort_again(&p, m);
    team_open(&t, &p, 1, alone(), &fit, 0);
    const amped_row_fit_sums sums = fit_mode(&t, 0);
    slow s = slow_create(&t, 0);
    double *rows = gather_rows(&t, 0);
    ck_assert_uint_eq(sums.unsure, 4);
    for (uint64_t r = 0; r < s.rows; r++) {
      long double *want = long_doubles(s.n);
      long double size = 0.0L;
      if (s.row[r].count > 0)
        solve_nearly(&t, &s, &s.row[r], want);
      for (uint64_t c = 0; c < components_of(&t) && s.row[r].count == 0; c++)
        want[c] = 0.5L;
      for (uint64_t c = 0; c < s.n; c++)
        size += fabsl(want[c]);
      for (uint64_t c = 0; c < s.n; c++) /* the smallest eigenvalue is above 1e-6 of the trace */
        near(rows[r * s.n + c], (double)want[c], (1e-6 + p.eps) * (double)size, "row", r, c);
      amped_free(want);
    }
    amped_free(rows);
    slow_free(&s);
    team_close(&t);
    problem_free(&p);
  }
  check_no_leak();
}

/* Numbers near the ends of their type: rows are finite, whatever they are worth. */
START_TEST(rows_are_finite) {
  static const double sizes[] = {1e-44, 1e-30, 1e19, 1e37, 1e150, 1e300};
  for (int i = 0; i < 24; i++) {
    problem p;
    team t;
    const double size = sizes[i / 2 % 6];
    const amped_vtype type = size > 1e38 || i % 2 > 0 ? AMPED_F64 : AMPED_F32;
    amped_row_fit fit = fit_of(i / 12 > 0);
    fit.reg = i % 3 == 0 ? 0.0 : 1e-300;
    fit.nonnegative = i % 5 == 4;
    problem_create(&p, 3, odd_dims, 300, 6, type);
    for (int m = 0; m < 3; m++)
      for (uint64_t e = 0; e < p.t.dims[m] * 6; e++)
        p.factors[m][e] = rounded(p.factors[m][e] * size, type);
    for (uint64_t k = 0; k < p.t.nnz; k++)
      p.t.values[k] = rounded(p.t.values[k] * (k % 3 == 0 ? size : 1.0), type);
    team_open(&t, &p, 1, alone(), &fit, 0);
    for (int m = 0; m < 3; m++) {
      const amped_row_fit_sums sums = fit_mode(&t, m);
      double *rows = gather_rows(&t, m);
      for (uint64_t e = 0; e < p.t.dims[m] * 6; e++)
        if (!isfinite(rows[e]))
          ck_abort_msg("size %g, mode %d: %g", size, m, rows[e]);
      ck_assert(!isnan(sums.squares) && !isnan(sums.penalty));
      amped_free(rows);
    }
    team_close(&t);
    problem_free(&p);
  }
  check_no_leak();
}

/* --- memory ------------------------------------------------------------------------------------*/

START_TEST(what_row_fits_take_is_said) {
  problem p;
  bench s;
  uint64_t device = 0;
  uint64_t host = 0;
  setup how = alone();
  how.needs.whole_rows = true;
  problem_create(&p, 3, odd_dims, 5000, 33, AMPED_F32);
  bench_plan(&s, &p, &how);
  ck_assert_ptr_nonnull(s.w.format->row_fit);
  s.w.format->row_fit->require(s.w.device, &s.plan, false, &device, &host);
  ck_assert_uint_ge(device + host, 3 * 5000 / 8 + 33 * 33 * sizeof(double));
  const uint64_t before = device + host;
  s.w.format->row_fit->require(s.w.device, &s.plan, true, &device, &host);
  ck_assert_uint_ge(device + host, before + UINT64_C(3) * 5000 * sizeof(float));
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
  const amped_row_fit_ops *ops = ops_of(&s);
  int64_t failed = 0;
  for (; status != AMPED_OK; failed++) {
    amped_mem_fail_at(failed);
    status = ops->prepare(s.w.tensor, true);
    amped_mem_fail_at(-1);
    amped_status_clear();
  }
  ck_assert_int_gt(failed, 3);
  uint64_t held = 0;
  amped_mem_fail_at(0);
  check_fails(AMPED_FAILED, "indices", ops->hold_out(s.w.tensor, NULL, 1, TENTH, &held));
  amped_mem_fail_at(0);
  check_fails(AMPED_FAILED, "indices", ops->weigh(s.w.tensor, 0, NULL, NULL, &held));
  amped_mem_fail_at(-1);
  bench_close(&s);
  problem_free(&p);
  check_no_leak();
}

TESTING_MAIN("row_fit", rows_in_float_of_all_orders_and_widths,
             rows_in_double_of_all_orders_and_widths, rows_of_every_length, rows_of_few_nonzeros,
             rows_of_many_components, rows_of_many_components_of_all_orders,
             rows_of_the_most_components, rows_of_split_idps, rows_with_history,
             rows_with_history_of_every_length, rows_with_history_of_many_widths,
             rows_with_history_of_few_nonzeros, rows_with_history_have_the_same_bits,
             nonnegative_rows_with_history, penalties_of_every_power, rows_with_weights,
             rows_of_implicit_fits, implicit_rows_of_split_idps, nonnegative_rows_with_weights,
             nonnegative_rows_of_implicit_fits, what_is_held_out_may_change,
             rows_have_the_same_bits_on_any_number_of_threads, timed_rows_have_the_same_bits,
             copies_serve_fewer_components, rows_have_the_least_objective, nonnegative_rows,
             rows_of_least_norm, rows_are_finite, what_row_fits_take_is_said,
             short_memory_is_an_error)
