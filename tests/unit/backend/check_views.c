/* Views of some columns of a factor set, on every backend: each operation has the bits that it has
 * on a set of these columns alone, and leaves all other columns as they are. */
#include "tests/lib/testing_backend.h"

enum { MODE = 1, ALL = 13, OWN = 5, FIRST = 3 };

typedef struct views {
  problem wide, narrow;
  bench of, alone; /* sets of ALL and of OWN columns */
  amped_plan plan; /* of the view */
  amped_factor_set *view;
  uint64_t rows; /* of all ranks */
  uint64_t own;  /* rows of the rank's block */
} views;

static const amped_factor_ops *ops(const views *v) {
  return v->of.w.backend->factors;
}

static void views_open(views *v, amped_vtype type, int rank, int nranks) {
  static const uint64_t dims[] = {5, 701, 4};
  setup how = alone();
  how.rank = rank;
  how.nranks = nranks;
  memset(v, 0, sizeof *v);
  /* No tensor: resize needs one that is complete. */
  problem_create(&v->wide, 3, dims, 0, ALL, type);
  problem_create(&v->narrow, 3, dims, 0, OWN, type);
  bench_plan(&v->of, &v->wide, &how);
  bench_plan(&v->alone, &v->narrow, &how);
  check_ok(amped_worker_prepare(&v->of.w, &v->of.plan));
  check_ok(amped_worker_prepare(&v->alone.w, &v->alone.plan));
  v->plan = v->of.plan;
  amped_plan_set_ncomps(&v->plan, OWN);
  const memory before = memory_now();
  uint64_t device = 0;
  uint64_t host = 0;
  ops(v)->require_view(v->of.w.device, &v->plan, &device, &host);
  check_ok(ops(v)->view(v->of.w.factors, &v->plan, FIRST, &v->view));
  memory_within("a view", before, device, host);
  v->rows = amped_plan_factor_rows(&v->plan, MODE);
  v->own = v->plan.modes[MODE].rows.block_rows;
}

static void views_close(views *v) {
  ops(v)->destroy(v->view);
  bench_close(&v->of);
  bench_close(&v->alone);
  problem_free(&v->wide);
  problem_free(&v->narrow);
}

/* Fill both sets: the view's columns are those of the other set. */
static void fill(views *v) {
  double *all = random_rows(v->rows, ALL, v->wide.value_type, 1);
  double *own = random_rows(v->rows, OWN, v->wide.value_type, 2);
  double *output = random_rows(v->own, OWN, v->wide.value_type, 3);
  check_ok(ops(v)->put_rows(v->of.w.factors, MODE, 0, v->rows, all));
  check_ok(ops(v)->put_output(v->of.w.factors, MODE, 0, v->own, all));
  check_ok(ops(v)->put_rows(v->view, MODE, 0, v->rows, own));
  check_ok(ops(v)->put_output(v->view, MODE, 0, v->own, output));
  check_ok(ops(v)->put_rows(v->alone.w.factors, MODE, 0, v->rows, own));
  check_ok(ops(v)->put_output(v->alone.w.factors, MODE, 0, v->own, output));
  amped_free(all);
  amped_free(own);
  amped_free(output);
}

static void same(const double *got, const double *want, uint64_t count, const char *what) {
  for (uint64_t i = 0; i < count; i++)
    ck_assert_msg(got[i] == want[i], "%s: %.17g at %d, not %.17g", what, got[i], (int)i, want[i]);
}

/* The model's value at the first cells along MODE. */
static void check_models(views *v) {
  static const uint64_t first[] = {0, 1, 2, 3};
  const uint64_t *const positions[] = {first, first, first};
  const double *const instead[AMPED_MAX_ORDER] = {NULL};
  double got[4];
  double want[4];
  check_ok(ops(v)->models_at(v->view, 4, positions, instead, true, got));
  check_ok(ops(v)->models_at(v->alone.w.factors, 4, positions, instead, true, want));
  same(got, want, 4, "a model's value");
}

/* The view has the other set's rows, and the columns around it have theirs. */
static void check_rows(views *v, const char *what) {
  double *all = doubles(v->rows * ALL);
  double *kept = random_rows(v->rows, ALL, v->wide.value_type, 1);
  double *got = doubles(v->rows * OWN);
  double *want = doubles(v->rows * OWN);
  check_ok(ops(v)->get_rows(v->of.w.factors, MODE, 0, v->rows, all));
  check_ok(ops(v)->get_rows(v->view, MODE, 0, v->rows, got));
  check_ok(ops(v)->get_rows(v->alone.w.factors, MODE, 0, v->rows, want));
  same(got, want, v->rows * OWN, what);
  for (uint64_t i = 0; i < v->rows; i += 3) {
    check_ok(ops(v)->get_rows_at(v->view, MODE, 1, &i, got));
    same(got, &want[i * OWN], OWN, what);
  }
  check_models(v);
  check_ok(ops(v)->get_rows(v->view, MODE, 0, v->rows, got));
  for (uint64_t i = 0; i < v->rows; i++)
    for (uint64_t c = 0; c < ALL; c++)
      if (c < FIRST || c >= FIRST + OWN)
        same(&all[i * ALL + c], &kept[i * ALL + c], 1, what);
      else
        same(&all[i * ALL + c], &got[i * OWN + c - FIRST], 1, what);
  amped_free(all);
  amped_free(kept);
  amped_free(got);
  amped_free(want);
}

/* A symmetric matrix whose diagonal outweighs the rest. */
static void set_matrix(double *a, uint64_t seed) {
  for (int i = 0; i < OWN; i++)
    for (int k = 0; k <= i; k++)
      a[i * OWN + k] = a[k * OWN + i] =
          (i == k ? OWN : 0.0) + amped_random_double(seed, 0, (uint64_t)(i * OWN + k));
}

static void check_updates(views *v, const double *keep, const amped_row_descent *descent) {
  double p[OWN * OWN];
  double grams[2][OWN * OWN] = {{0.0}};
  amped_factor_set *const sets[] = {v->view, v->alone.w.factors};
  amped_row_sums sums[] = {{grams[0], 0.0}, {grams[1], 0.0}};
  const uint64_t version = ops(v)->version(v->of.w.factors, MODE);
  uint8_t *chosen = NULL;
  check_ok(amped_alloc(&chosen, v->own, sizeof *chosen, "chosen rows"));
  set_matrix(p, 4);
  fill(v);
  for (int k = 0; k < 2; k++)
    check_ok(descent != NULL ? ops(v)->descend(sets[k], MODE, 0, v->own, descent, &sums[k])
                             : ops(v)->solve(sets[k], MODE, 0, v->own, p, keep, &sums[k]));
  ck_assert_uint_gt(ops(v)->version(v->of.w.factors, MODE), version);
  check_rows(v, descent != NULL ? "descent" : "solve");
  same(grams[0], grams[1], OWN * OWN, "a gram of new rows");
  same(&sums[0].inner, &sums[1].inner, 1, "an inner product");
  check_ok(ops(v)->gram(sets[0], MODE, grams[0]));
  check_ok(ops(v)->gram(sets[1], MODE, grams[1]));
  same(grams[0], grams[1], OWN * OWN, "a gram");
  check_ok(ops(v)->absolute(sets[0], MODE, grams[0]));
  check_ok(ops(v)->absolute(sets[1], MODE, grams[1]));
  same(grams[0], grams[1], OWN, "sizes");
  memset(chosen, 1, v->own);
  for (int k = 0; k < 2; k++)
    check_ok(ops(v)->sum_chosen(sets[k], MODE, chosen, grams[k]));
  same(grams[0], grams[1], OWN, "sums of rows");
  amped_free(chosen);
  for (int k = 0; k < 2; k++)
    check_ok(ops(v)->scale(sets[k], MODE, 0, v->rows, p));
  check_rows(v, "scale");
}

static void check_all(views *v) {
  double keep[OWN * OWN];
  double matrix[OWN * OWN];
  const double scale[OWN] = {1.0, 2.0, 0.5, 1.0, 3.0};
  const double shrink[OWN] = {0.0, 0.1, 0.0, 0.2, 0.0};
  set_matrix(keep, 5);
  set_matrix(matrix, 6);
  check_updates(v, NULL, NULL);
  check_updates(v, keep, NULL);
  for (int sign = 0; sign < 2; sign++)
    check_updates(v, NULL,
                  &(amped_row_descent){
                      .nonnegative = sign == 1, .v = matrix, .scale = scale, .shrink = shrink});
  for (int k = 0; k < 2; k++)
    check_ok(ops(v)->fill_random(k == 0 ? v->view : v->alone.w.factors, MODE, 11));
  check_rows(v, "random rows");
}

START_TEST(operations_have_the_bits_of_a_set_alone) {
  for (int type = 0; type < 2; type++)
    for (int nranks = 1; nranks <= 3; nranks += 2) {
      views v;
      views_open(&v, type == 0 ? AMPED_F32 : AMPED_F64, nranks - 1, nranks);
      check_all(&v);
      views_close(&v);
    }
  check_no_leak();
}

static void resize(views *v, int columns, int first) {
  amped_plan_set_ncomps(&v->of.plan, columns);
  check_ok(amped_worker_resize(&v->of.w));
  ops(v)->place(v->view, first);
}

/* After a resize of the whole set the view takes other columns. */
START_TEST(a_view_is_placed_anew) {
  views v;
  double p[OWN * OWN];
  double *rows = NULL;
  views_open(&v, AMPED_F32, 0, 1);
  fill(&v);
  rows = random_rows(v.rows, OWN, AMPED_F32, 7);
  set_matrix(p, 4);
  resize(&v, OWN + 1, 1);
  check_ok(ops(&v)->put_rows(v.view, MODE, 0, v.rows, rows));
  check_ok(ops(&v)->scale(v.view, MODE, 0, v.rows, p));
  double *got = doubles(v.rows * (OWN + 1));
  check_ok(ops(&v)->get_rows(v.of.w.factors, MODE, 0, v.rows, got));
  for (uint64_t i = 0; i < v.rows; i++) {
    ck_assert(got[i * (OWN + 1)] == 0.0);
    for (uint64_t c = 0; c < OWN; c++)
      ck_assert(got[i * (OWN + 1) + c + 1] == rounded(rows[i * OWN + c] * p[c], AMPED_F32));
  }
  amped_free(got);
  amped_free(rows);
  views_close(&v);
  check_no_leak();
}

START_TEST(histories_are_of_the_view) {
  const double one[OWN] = {1.0, 1.0, 1.0, 1.0, 1.0};
  const double zero[OWN] = {0.0};
  const double by[OWN] = {0.5, -1.0, 2.0, 0.0, 1.5};
  double lengths[2][OWN] = {{0.0}};
  views v;
  amped_factor_history *histories[2];
  views_open(&v, AMPED_F64, 1, 3);
  const amped_factor_history_ops *of = v.of.w.backend->factor_histories;
  check_ok(of->create(v.of.w.device, v.view, &v.plan, &histories[0]));
  check_ok(of->create(v.of.w.device, v.alone.w.factors, &v.alone.plan, &histories[1]));
  fill(&v);
  for (int k = 0; k < 2; k++) {
    check_ok(of->step(histories[k], MODE, one, zero, false));
    check_ok(of->step(histories[k], MODE, by, one, true));
    check_ok(of->distance(histories[k], MODE, one, by, lengths[k]));
  }
  same(lengths[0], lengths[1], OWN, "a distance");
  check_rows(&v, "a step");
  of->destroy(histories[0]);
  of->destroy(histories[1]);
  views_close(&v);
  check_no_leak();
}

START_TEST(views_share_their_memory) {
  views v;
  amped_factor_set *second = NULL;
  views_open(&v, AMPED_F64, 0, 1);
  const memory before = memory_now();
  check_ok(ops(&v)->view(v.of.w.factors, &v.plan, 0, &second));
  memory_within("a second view", before, 0, 0);
  ops(&v)->destroy(second);
  views_close(&v);
  check_no_leak();
}

TESTING_MAIN("views", operations_have_the_bits_of_a_set_alone, a_view_is_placed_anew,
             histories_are_of_the_view, views_share_their_memory)
