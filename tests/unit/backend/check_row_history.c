/* The history of a batch's rows, on every backend: equations and sums against their slow formulas,
 * for widths of all paddings, with and without bias, of a rank among others. */
#include "tests/lib/testing_fits.h"

enum { MODE = 1 };

/* A history of MODE's own rows, whose numbers lie in the opposite order. */
typedef struct history {
  bench b;
  bool biased;
  uint64_t count, ncomps;
  double *n, *before; /* [count], [count][ncomps] */
  double *left, *right;
  amped_list_part *places, *numbers; /* which have `counts` */
  amped_row_history counts;
} history;

static double some(uint64_t a, uint64_t b) {
  return amped_random_double(3, a, b) - 0.4;
}

/* Of row i. */
static double keep_of(uint64_t i) {
  return i % 5 == 2 ? 0.0 : i % 5 == 3 ? 0.5 : 1.0;
}
static double number_of(uint64_t i) {
  return 0.75 * (double)i + 2.0;
}
static double more_of(uint64_t i) {
  return (double)(i % 3);
}

/* --- life --------------------------------------------------------------------------------------
 */

static void put_counts(history *p) {
  amped_nonzeros places;
  amped_nonzeros numbers;
  uint64_t *at = doubles(p->count);
  double *keep = doubles(p->count);
  void *values = doubles(p->count);
  for (uint64_t i = 0; i < p->count; i++) {
    at[i] = p->count - 1 - i;
    keep[i] = keep_of(i);
    amped_value_put(values, p->b.plan.value_type, at[i], number_of(i));
    p->n[i] = keep[i] * number_of(i);
  }
  p->places = put_numbers(&p->b, p->count, at, keep, AMPED_F64, &places);
  p->numbers = put_numbers(&p->b, p->count, at, values, p->b.plan.value_type, &numbers);
  p->counts =
      (amped_row_history){(void *)(uintptr_t)numbers.values, places.indices[0], places.values};
  amped_free(at);
  amped_free(keep);
  amped_free(values);
}

static void get_rows(const history *p, double *rows) {
  check_ok(p->b.w.backend->factors->get_rows(p->b.w.factors, MODE, block_first(&p->b.plan, MODE),
                                             p->count, rows));
}

/* The bench is loaded; *p is zero but for it. */
static void history_begin(history *p, bool biased) {
  const amped_plan *plan = &p->b.plan;
  p->biased = biased;
  p->count = plan->modes[MODE].rows.rank_rows[plan->rank];
  p->ncomps = (uint64_t)plan->ncomps;
  const uint64_t triangle = p->ncomps * (p->ncomps + 1) / 2;
  p->n = doubles(p->count);
  p->before = doubles(p->count * p->ncomps);
  p->left = doubles(triangle);
  p->right = doubles(p->ncomps * (p->ncomps + 1));
  for (uint64_t i = 0; i < triangle; i++)
    p->left[i] = biased && i + 1 == triangle ? 1.0 : some(2, i);
  for (uint64_t i = 0; i < p->ncomps * (p->ncomps + 1); i++)
    p->right[i] = some(3, i);
  put_counts(p);
  get_rows(p, p->before);
  check_ok(p->b.w.format->row_fit->prepare(p->b.w.tensor, false));
  uint64_t device = 0;
  uint64_t host = 0;
  const memory before_begin = memory_now();
  p->b.w.format->row_history->require(plan, &device, &host);
  check_ok(p->b.w.format->row_history->begin(p->b.w.tensor, MODE, &p->counts));
  memory_within("rows before a batch", before_begin, device, host);
}

static void history_end(history *p) {
  amped_free(p->n);
  amped_free(p->before);
  amped_free(p->left);
  amped_free(p->right);
  p->b.w.backend->lists->destroy(p->places);
  p->b.w.backend->lists->destroy(p->numbers);
}

/* Rows move: e is another one than before. Returns them. */
static double *move_rows(const history *p) {
  double *rows = doubles(p->count * p->ncomps);
  for (uint64_t i = 0; i < p->count * p->ncomps; i++)
    rows[i] = rounded(p->before[i] + 0.3 * some(4, i), p->b.plan.value_type);
  check_ok(p->b.w.backend->factors->put_rows(p->b.w.factors, MODE, block_first(&p->b.plan, MODE),
                                             p->count, rows));
  return rows;
}

static void fetch(const history *p, const void *from, uint64_t bytes, void *to) {
  check_ok(p->b.w.backend->lists->fetch(p->numbers, from, bytes, to));
}

/* --- equations ---------------------------------------------------------------------------------
 */

/* A sum of ncomps + 1 products, in double, which then is rounded. */
static void number_is_right(const history *p, double got, long double want, long double size,
                            uint64_t row, uint64_t k) {
  const double eps = p->b.plan.value_type == AMPED_F32 ? FLT_EPSILON : DBL_EPSILON;
  near(got, (double)want,
       (double)(fabsl(want) * eps + size * (long double)(p->ncomps + 3) * DBL_EPSILON), "equations",
       row, k);
}

/* The penalties of its rows. */
static amped_row_recipe recipe_of(const history *p) {
  return (amped_row_recipe){.biased = p->biased,
                            .left = p->left,
                            .right = p->right,
                            .reg = 0.7,
                            .reg_power = p->biased ? 0.5 : 1.0,
                            .prior = 0.25,
                            .reg_bias = 3.0};
}

/* What they took from number i of the row. */
static long double taken(const history *p, uint64_t row, uint64_t i) {
  const amped_row_recipe r = recipe_of(p);
  const long double before = p->before[row * p->ncomps + i];
  return p->biased && i + 1 == p->ncomps
             ? r.reg_bias * before
             : r.reg * powl(p->n[row], r.reg_power) * (before - r.prior);
}

static void row_is_right(const history *p, uint64_t row, const void *equations) {
  const uint64_t n = p->ncomps;
  const uint64_t triangle = n * (n + 1) / 2;
  const double *before = p->before + row * n;
  uint64_t k = 0;
#define NUMBER(want, size)                                                                         \
  number_is_right(p, amped_value_get(equations, p->b.plan.value_type, k), want, size, row, k)
  for (; k < triangle; k++)
    NUMBER((long double)p->n[row] * p->left[k], 0.0L);
  if (!p->biased) {
    NUMBER((long double)p->n[row], 0.0L);
    k++;
  }
  for (uint64_t i = 0; i < n; i++, k++) {
    long double sum = p->right[i * (n + 1) + n];
    long double size = fabsl(sum);
    for (uint64_t c = 0; c < n; c++) {
      const long double x = (long double)p->right[i * (n + 1) + c] * before[c];
      sum += x;
      size += fabsl(x);
    }
    NUMBER(p->n[row] * sum + taken(p, row, i), p->n[row] * size + fabsl(taken(p, row, i)));
  }
  NUMBER(0.0L, 0.0L);
#undef NUMBER
  ck_assert_uint_eq(k + 1, amped_equation_length((int)n - (p->biased ? 1 : 0), p->biased));
}

static void equations_are_right(const history *p) {
  const amped_row_recipe recipe = recipe_of(p);
  const uint64_t length = amped_equation_length((int)p->ncomps - (p->biased ? 1 : 0), p->biased);
  const uint64_t bytes = length * p->b.plan.value_type;
  uint64_t *at = doubles(p->count);
  double *keep = doubles(p->count);
  void *equations = doubles(length);
  amped_row_history got;
  check_ok(p->b.w.format->row_history->recall(p->b.w.tensor, MODE, &recipe, &got));
  fetch(p, got.at, p->count * sizeof *at, at);
  fetch(p, got.keep, p->count * sizeof *keep, keep);
  for (uint64_t i = 0; i < p->count; i++) {
    ck_assert(keep[i] == (p->n[i] > 0.0 ? 1.0 : 0.0));
    if (!(keep[i] > 0.0))
      continue;
    fetch(p, (const char *)got.equations + at[i] * bytes, bytes, equations);
    row_is_right(p, i, equations);
  }
  amped_free(at);
  amped_free(keep);
  amped_free(equations);
}

/* --- sums --------------------------------------------------------------------------------------
 */

/* Element c of a row with a 1 behind it. */
static long double element(const history *p, const double *rows, uint64_t i, uint64_t c) {
  return c < p->ncomps ? (long double)rows[i * p->ncomps + c] : 1.0L;
}

/* A sum over rows, in double. */
static void sum_is_right(const history *p, double got, long double want, long double size,
                         uint64_t a, uint64_t b) {
  near(got, (double)want, (double)(size * (long double)(p->count + 4) * DBL_EPSILON), "sums", a, b);
}

static void change_is_right(const history *p, const double *rows) {
  const uint64_t width = p->ncomps + 1;
  double *got = doubles(2 * width * width);
  check_ok(p->b.w.format->row_history->change(p->b.w.tensor, MODE, got));
  for (uint64_t a = 0; a < width; a++)
    for (uint64_t c = 0; c < 2 * width; c++) {
      long double sum = 0.0L;
      long double size = 0.0L;
      for (uint64_t i = 0; i < p->count; i++) {
        const long double d = element(p, rows, i, a) - element(p, p->before, i, a);
        const uint64_t b = c % width;
        const long double x = c < width ? element(p, p->before, i, b)
                                        : element(p, rows, i, b) - element(p, p->before, i, b);
        sum += p->n[i] * d * x;
        size += fabsl(p->n[i] * d * x);
      }
      sum_is_right(p, got[a * 2 * width + c], sum, size, a, c);
    }
  amped_free(got);
}

static void growth_is_right(history *p, const double *rows) {
  const uint64_t width = p->ncomps + 1;
  const amped_vtype type = p->b.plan.value_type;
  double *more = doubles(p->count);
  double *got = doubles(width * width);
  double *grown = doubles(p->count);
  void *numbers = doubles(p->count);
  for (uint64_t i = 0; i < p->count; i++)
    more[i] = more_of(i);
  check_ok(p->b.w.format->row_history->grow(p->b.w.tensor, MODE, &p->counts, more, got));
  fetch(p, p->counts.equations, p->count * type, numbers);
  for (uint64_t i = 0; i < p->count; i++) {
    const double now = amped_value_get(numbers, type, p->count - 1 - i);
    ck_assert(now == rounded(more[i] > 0.0 ? p->n[i] + more[i] : number_of(i), type));
    grown[i] = more[i] > 0.0 ? now - p->n[i] : 0.0;
  }
  for (uint64_t a = 0; a < width; a++)
    for (uint64_t b = 0; b < width; b++) {
      long double sum = 0.0L;
      long double size = 0.0L;
      for (uint64_t i = 0; i < p->count; i++) {
        const long double x = grown[i] * element(p, rows, i, a) * element(p, rows, i, b);
        sum += x;
        size += fabsl(x);
      }
      sum_is_right(p, got[a * width + b], sum, size, a, b);
    }
  amped_free(more);
  amped_free(got);
  amped_free(grown);
  amped_free(numbers);
}

/* --- cases -------------------------------------------------------------------------------------
 */

static void history_is_right(problem *p, const setup *how, bool biased) {
  history s;
  memset(&s, 0, sizeof s);
  bench_plan(&s.b, p, how);
  bench_load(&s.b);
  if (s.b.w.format->row_history != NULL) {
    history_begin(&s, biased);
    equations_are_right(&s);
    double *rows = move_rows(&s);
    change_is_right(&s, rows);
    equations_are_right(&s); /* of what the rows were */
    growth_is_right(&s, rows);
    amped_free(rows);
    history_end(&s);
  }
  bench_close(&s.b);
}

START_TEST(a_history_has_its_equations_and_sums) {
  static const int widths[] = {1, 5, 16, 33, 64, 130};
  static const uint64_t dims[] = {30, 1500, 20};
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int kind = 0; kind < 4; kind++) {
      const bool biased = kind % 2 == 1;
      problem p;
      setup how = alone();
      how.nranks = 1 + kind;
      how.rank = kind / 2;
      how.needs.whole_rows = true;
      problem_create(&p, 3, dims, 300, widths[w] + biased, kind < 2 ? AMPED_F32 : AMPED_F64);
      history_is_right(&p, &how, biased);
      problem_free(&p);
    }
  check_no_leak();
}
END_TEST

START_TEST(short_memory_is_an_error) {
  static const uint64_t dims[] = {30, 71, 20};
  problem p;
  history s;
  setup how = alone();
  how.needs.whole_rows = true;
  problem_create(&p, 3, dims, 200, 5, AMPED_F32);
  memset(&s, 0, sizeof s);
  bench_plan(&s.b, &p, &how);
  bench_load(&s.b);
  if (s.b.w.format->row_history != NULL) {
    amped_status status = AMPED_FAILED;
    history_begin(&s, false);
    for (int64_t k = 0; status != AMPED_OK; k++) {
      amped_mem_fail_at(k);
      status = s.b.w.format->row_history->begin(s.b.w.tensor, 2, &s.counts);
      amped_mem_fail_at(-1);
      amped_status_clear();
    }
    equations_are_right(&s);
    history_end(&s);
  }
  bench_close(&s.b);
  problem_free(&p);
  check_no_leak();
}
END_TEST

TESTING_MAIN("row_history", a_history_has_its_equations_and_sums, short_memory_is_an_error)
