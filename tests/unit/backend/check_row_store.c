/* Row store: rows go into a batch's factors and come back, histories lie where the batch is told,
 * and errors are those of a slow sum. The test plays all ranks. */
#include "plan/touched.h"
#include "tests/lib/testing_backend.h"

enum { NCOMPS = 5, LENGTH = 7, ORDER = 3 };

static const uint64_t first_dims[AMPED_MAX_ORDER] = {900, 3, 500};
static const uint64_t last_dims[AMPED_MAX_ORDER] = {1100, 3, 777};

typedef struct fixture {
  amped_worker w;
  const amped_row_store_ops *ops;
  amped_row_store *store;
  amped_row_shape shape;
  uint64_t dims[AMPED_MAX_ORDER];
} fixture;

/* Number c of a row, of its history, and of the batch that touched it; exact in float. */
static double number(int mode, uint64_t row, uint64_t c) {
  return (double)(mode * 100000 + (int)row * 16 + (int)c) / 1024.0;
}
static uint64_t touched_by(int mode, uint64_t row) {
  return (row + (uint64_t)mode) % 4;
}

static bool is_own(const fixture *f, uint64_t row) {
  return amped_stream_owner(row, f->shape.nranks) == f->shape.rank;
}

/* Rows below the first dims come from a state; those behind are made. */
static void fill(fixture *f, int mode) {
  const uint64_t count = first_dims[mode];
  const uint64_t more = last_dims[mode] - count;
  double *factors = doubles(last_dims[mode] * NCOMPS);
  double *histories = doubles(count * LENGTH);
  uint64_t *touched = doubles(count);
  for (uint64_t i = 0; i < count; i++) {
    touched[i] = touched_by(mode, i);
    for (uint64_t c = 0; c < NCOMPS; c++)
      amped_value_put(factors, f->shape.type, i * NCOMPS + c, number(mode, i, c));
    for (uint64_t c = 0; c < f->shape.length; c++)
      amped_value_put(histories, f->shape.type, i * f->shape.length + c, -number(mode, i, c));
  }
  check_ok(f->ops->put(f->store, mode, 0, count, factors, histories, touched));
  check_ok(f->ops->grow(f->store, f->dims));
  for (uint64_t i = 0; i < more; i++)
    for (uint64_t c = 0; c < NCOMPS; c++)
      amped_value_put(factors, f->shape.type, i * NCOMPS + c, number(mode, count + i, c));
  check_ok(f->ops->put_factors(f->store, mode, count, more, factors));
  amped_free(factors);
  amped_free(histories);
  amped_free(touched);
}

static void open_store(fixture *f, amped_vtype type, uint64_t length, int rank, int nranks) {
  const setup how = alone();
  memset(f, 0, sizeof *f);
  check_ok(amped_worker_open(&f->w, backend(), &how.options));
  f->shape = (amped_row_shape){ORDER, NCOMPS, length, type, rank, nranks};
  f->ops = f->w.backend->row_stores;
  memcpy(f->dims, first_dims, sizeof f->dims);
  check_ok(f->ops->create(f->w.device, &f->shape, f->dims, &f->store));
  for (int m = 0; m < ORDER; m++) {
    f->dims[m] = last_dims[m];
    fill(f, m);
  }
}

static void close_store(fixture *f) {
  f->ops->destroy(f->store);
  amped_worker_close(&f->w);
}

/* The factor of a row is `times` what it was made with. */
static void factor_is(const fixture *f, int mode, uint64_t row, double times) {
  double factor[NCOMPS];
  check_ok(f->ops->get_factors(f->store, mode, row, 1, factor));
  for (uint64_t c = 0; c < NCOMPS; c++)
    near(amped_value_get(factor, f->shape.type, c), times * number(mode, row, c), 0.0, "a factor",
         row, c);
}

/* --- a batch -----------------------------------------------------------------------------------
 */

typedef struct batch {
  amped_touched touched[ORDER];
  problem p;
  amped_plan plan;
  amped_row_list lists[ORDER];
  uint64_t *positions[ORDER];
} batch;

/* Is the row one that the batch touches? */
static bool is_touched(int mode, uint64_t row) {
  return amped_random_u64(3, (uint64_t)mode, row) % 3 == 0 || row == 2;
}

static void touch_mode(const fixture *f, batch *b, int mode) {
  uint64_t *rows = doubles(f->dims[mode]);
  uint64_t count = 0;
  for (uint64_t i = 0; i < f->dims[mode]; i++)
    if (is_touched(mode, i))
      rows[count++] = i;
  check_ok(amped_touched_of_indices(&b->touched[mode], rows, count, f->shape.nranks));
  amped_free(rows);
}

static void open_batch(fixture *f, batch *b) {
  amped_plan_request request = {.ncomps = NCOMPS,
                                .value_type = f->shape.type,
                                .placement = AMPED_PLACEMENT_GREEDY,
                                .rank = f->shape.rank,
                                .nranks = f->shape.nranks};
  uint64_t dims[ORDER];
  for (int m = 0; m < ORDER; m++) {
    touch_mode(f, b, m);
    dims[m] = b->touched[m].dim;
    request.owners[m] = b->touched[m].owners;
  }
  problem_create(&b->p, ORDER, dims, 1000, NCOMPS, f->shape.type);
  check_ok(amped_plan_create(&b->plan, &b->p.info, &request));
  check_ok(amped_worker_prepare(&f->w, &b->plan));
  for (int m = 0; m < ORDER; m++) {
    const amped_touched *t = &b->touched[m];
    b->positions[m] = doubles(t->count);
    for (uint64_t k = 0; k < t->count; k++)
      b->positions[m][k] = amped_plan_position(&b->plan, m, amped_touched_number(t, k));
    b->lists[m] = (amped_row_list){t->count, t->rows, b->positions[m]};
  }
  check_ok(f->ops->begin(f->store, &b->plan, b->lists));
}

static void close_batch(batch *b) {
  for (int m = 0; m < ORDER; m++) {
    amped_touched_free(&b->touched[m]);
    amped_free(b->positions[m]);
  }
  problem_free(&b->p);
  amped_plan_destroy(&b->plan);
}

/* Memory of the backend to the host: a list part reads any. */
static void fetch(const fixture *f, const void *from, uint64_t bytes, void *to) {
  const amped_list_shape shape = {.order = 1,
                                  .dims = {1},
                                  .index_types = {AMPED_U8},
                                  .value_type = AMPED_F64,
                                  .capacity = 1,
                                  .nranks = 1,
                                  .window = 1,
                                  .arriving = 1};
  amped_list_part *part = NULL;
  check_ok(f->w.backend->lists->create(f->w.device, &shape, &part));
  check_ok(f->w.backend->lists->fetch(part, from, bytes, to));
  f->w.backend->lists->destroy(part);
}

/* The history of own row `row` of the batch's block. */
static void history_is(const fixture *f, const amped_row_history *h, int mode, uint64_t row,
                       uint64_t at) {
  const uint64_t bytes = f->shape.length * f->shape.type;
  double numbers[LENGTH] = {0.0};
  if (bytes > 0)
    fetch(f, (const char *)h->equations + at * bytes, bytes, numbers);
  for (uint64_t c = 0; c < f->shape.length; c++)
    near(amped_value_get(numbers, f->shape.type, c), -number(mode, row, c), 0.0, "a history", row,
         c);
}

static void histories_are_right(fixture *f, const batch *b, int mode) {
  const uint64_t block = b->plan.modes[mode].rows.block_rows;
  const uint64_t before = (uint64_t)f->shape.rank * block;
  uint64_t *at = doubles(block);
  double *keep = doubles(block);
  char *has = NULL;
  amped_row_history h;
  check_ok(amped_calloc(&has, block, 1, "a test"));
  check_ok(f->ops->history(f->store, mode, 20, 0.5, &h));
  fetch(f, h.at, block * sizeof *at, at);
  fetch(f, h.keep, block * sizeof *keep, keep);
  for (uint64_t k = 0; k < b->lists[mode].count; k++) {
    const uint64_t row = b->lists[mode].rows[k];
    const uint64_t place = b->lists[mode].positions[k] - before;
    const uint64_t last = row < first_dims[mode] ? touched_by(mode, row) : 0;
    if (!is_own(f, row))
      continue;
    ck_assert_uint_lt(place, block);
    has[place] = 1;
    near(keep[place], last > 0 ? ldexp(1.0, -(20 - (int)last)) : 0.0,
         last > 0 ? ldexp(1.0, -(20 - (int)last) - 50) : 0.0, "keep", row, 0); /* of a power */
    if (last > 0 && k % 50 == 0)
      history_is(f, &h, mode, row, at[place]);
  }
  for (uint64_t i = 0; i < block; i++)
    if (has[i] == 0)
      near(keep[i], 0.0, 0.0, "keep of a gap", i, 0);
  amped_free(at);
  amped_free(keep);
  amped_free(has);
}

/* The factor of the batch has the touched rows, and zeros. All numbers become twice as large. */
static void factors_are_right(const fixture *f, const batch *b, int mode) {
  const amped_factor_ops *ops = f->w.backend->factors;
  const uint64_t rows = amped_plan_factor_rows(&b->plan, mode);
  double *got = doubles(rows * NCOMPS);
  double *want = doubles(rows * NCOMPS);
  check_ok(ops->get_rows(f->w.factors, mode, 0, rows, got));
  for (uint64_t k = 0; k < b->lists[mode].count; k++)
    for (uint64_t c = 0; c < NCOMPS; c++)
      want[b->lists[mode].positions[k] * NCOMPS + c] = number(mode, b->lists[mode].rows[k], c);
  for (uint64_t i = 0; i < rows * NCOMPS; i++) {
    near(got[i], want[i], 0.0, "a factor of the batch", i / NCOMPS, i % NCOMPS);
    got[i] *= 2.0;
  }
  check_ok(ops->put_rows(f->w.factors, mode, 0, rows, got));
  amped_free(got);
  amped_free(want);
}

/* Rows that were touched are twice as large, and know the batch. */
static void rows_are_right(fixture *f, int mode) {
  for (uint64_t i = 0; i < f->dims[mode]; i++) {
    double factor[NCOMPS];
    double history[LENGTH];
    uint64_t touched = 99;
    factor_is(f, mode, i, is_touched(mode, i) ? 2.0 : 1.0);
    if (!is_own(f, i) || i % 7 != 0)
      continue;
    check_ok(f->ops->get(f->store, mode, 1, &i, factor, history, &touched));
    ck_assert_uint_eq(touched, is_touched(mode, i)    ? 20
                               : i < first_dims[mode] ? touched_by(mode, i)
                                                      : 0);
  }
  uint64_t count = 0;
  uint64_t *own = doubles(f->dims[mode] + 1);
  uint64_t *all = doubles(f->dims[mode] + 1);
  for (uint64_t i = 0; i < f->dims[mode]; i++)
    if (is_own(f, i))
      own[count++] = i;
  check_ok(f->ops->get_touched(f->store, mode, count, own, all));
  for (uint64_t k = 0; k < count; k++)
    ck_assert_uint_eq(all[k], is_touched(mode, own[k])    ? 20
                              : own[k] < first_dims[mode] ? touched_by(mode, own[k])
                                                          : 0);
  amped_free(own);
  amped_free(all);
}

START_TEST(rows_travel_with_a_batch) {
  for (int nranks = 1; nranks <= 3; nranks++)
    for (int rank = 0; rank < nranks; rank++) {
      fixture f;
      batch b = {0};
      open_store(&f, rank % 2 == 0 ? AMPED_F32 : AMPED_F64, nranks == 3 ? 0 : LENGTH, rank, nranks);
      open_batch(&f, &b);
      for (int m = 0; m < ORDER; m++) {
        if (f.shape.length > 0)
          histories_are_right(&f, &b, m);
        check_ok(f.ops->move(f.store, f.w.factors, m, true));
        factors_are_right(&f, &b, m);
        check_ok(f.ops->touch(f.store, m, 20));
        check_ok(f.ops->move(f.store, f.w.factors, m, false));
        rows_are_right(&f, m);
      }
      close_store(&f);
      close_batch(&b);
    }
  check_no_leak();
}

/* Touched rows that are at their prior start; row 2 is one, but in the first mode it has learnt
 * entries, and in the last mode its bias is not 0. */
START_TEST(rows_that_have_learnt_nothing_start) {
  for (int type = AMPED_F32; type <= AMPED_F64; type += AMPED_F64 - AMPED_F32) {
    const amped_row_start start = {.prior = 0.25, .seed = 11, .biased = true, .nonnegative = true};
    fixture f;
    batch b = {0};
    open_store(&f, (amped_vtype)type, LENGTH, 0, 2);
    open_batch(&f, &b);
    for (int m = 0; m < ORDER; m++) {
      double row[NCOMPS];
      for (uint64_t c = 0; c < NCOMPS; c++)
        amped_value_put(row, f.shape.type, c, c + 1 < NCOMPS ? 0.25 : m == ORDER - 1 ? 1.0 : 0.0);
      for (uint64_t i = 1; i < 3; i++)
        check_ok(f.ops->put_factors(f.store, m, i, 1, row));
      uint64_t learnt[32] = {0}; /* bits of at most 1100 rows */
      for (uint64_t k = 0; k < b.touched[m].count; k++)
        learnt[k / 64] |= (uint64_t)(b.touched[m].rows[k] == 2) << (k % 64);
      check_ok(f.ops->start(f.store, m, &start, m == 0 ? learnt : NULL));
      for (uint64_t i = 0; i < f.dims[m]; i++) {
        const bool stays = m == 0 && i == 2;
        const bool starts = i > 0 && i < 3 && is_touched(m, i) && m < ORDER - 1 && !stays;
        if (i == 0 || i > 2) {
          factor_is(&f, m, i, 1.0);
          continue;
        }
        check_ok(f.ops->get_factors(f.store, m, i, 1, row));
        for (uint64_t c = 0; c + 1 < NCOMPS; c++)
          near(amped_value_get(row, f.shape.type, c),
               starts ? amped_row_start_entry(&start, NCOMPS - 1, m, i, c) : 0.25, 1e-7, "a start",
               i, c);
        near(amped_value_get(row, f.shape.type, NCOMPS - 1), m == ORDER - 1 ? 1.0 : 0.0, 0.0,
             "a bias", i, NCOMPS - 1);
      }
    }
    close_store(&f);
    close_batch(&b);
  }
  check_no_leak();
}

START_TEST(all_rows_are_touched) {
  fixture f;
  open_store(&f, AMPED_F32, 0, 1, 2);
  check_ok(f.ops->touch_all(f.store, 0, 31));
  for (uint64_t i = 0; i < f.dims[0]; i++) {
    double factor[NCOMPS];
    uint64_t touched = 99;
    if (!is_own(&f, i))
      continue;
    check_ok(f.ops->get(f.store, 0, 1, &i, factor, NULL, &touched));
    ck_assert_uint_eq(touched, 31);
  }
  close_store(&f);
  check_no_leak();
}

/* --- errors ------------------------------------------------------------------------------------
 */

/* Of one entry, times `sign`. Returns the size of what was added. */
static double add_error(const amped_row_model *model, const amped_sptensor *t, uint64_t k,
                        amped_errors *out) {
  double sum = 0.0;
  double size = 0.0;
  for (uint64_t c = 0; c < NCOMPS; c++) {
    const bool is_bias = model->biased && c == NCOMPS - 1;
    double x = is_bias ? 0.0 : 1.0;
    for (int m = 0; m < t->order; m++)
      x = is_bias ? x + number(m, t->indices[m][k], c) : x * number(m, t->indices[m][k], c);
    sum += x;
    size += fabs(x);
  }
  const double value = model->mean + model->scale * sum;
  const double error = t->values[k] - value;
  const double clipped = t->values[k] - fmin(fmax(value, model->least), model->most);
  out->count++;
  out->squares += error * error;
  out->absolute += fabs(error);
  out->clipped += clipped * clipped;
  return fabs(model->scale) * size + fabs(model->mean) + fabs(t->values[k]);
}

/* A model's value has 6 roundings a component and its sum NCOMPS; an error's square twice that. The
 * sums of n entries have n more. */
static void errors_are_right(fixture *f, const amped_sptensor *t, const amped_row_model *model,
                             const bool *held) {
  const double n = (double)t->nnz;
  amped_errors want = {0};
  amped_errors got;
  double sizes = 0.0;
  double squares = 0.0;
  for (uint64_t k = 0; k < t->nnz; k++) {
    if (held != NULL && !held[k])
      continue;
    const double size = add_error(model, t, k, &want);
    sizes += size;
    squares += size * size;
  }
  check_ok(f->ops->errors(f->store, model, held != NULL, &got));
  const double tolerance = 2.0 * (n + 7.0 * NCOMPS + 4.0) * DBL_EPSILON;
  ck_assert_uint_eq(got.count, want.count);
  near(got.absolute, want.absolute, tolerance * sizes, "the sum of errors", 0, 0);
  near(got.squares, want.squares, 2.0 * tolerance * squares, "the sum of squares", 0, 0);
  near(got.clipped, want.clipped, 2.0 * tolerance * squares, "the clipped sum", 0, 0);
}

START_TEST(errors_are_those_of_a_slow_sum) {
  const uint64_t counts[] = {0, 1, 31, 33, 5000};
  static bool held[5000];
  amped_errors none;
  for (int kind = 0; kind < 2; kind++) {
    fixture f;
    open_store(&f, kind == 0 ? AMPED_F32 : AMPED_F64, LENGTH, 0, 1);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
      const uint64_t *indices[ORDER];
      problem p;
      amped_row_model model = {
          .biased = kind == 0, .mean = 0.5, .scale = 0.25, .least = -3.0, .most = 40.0};
      problem_create(&p, ORDER, last_dims, counts[i], NCOMPS, f.shape.type);
      for (int m = 0; m < ORDER; m++)
        indices[m] = p.t.indices[m];
      for (uint64_t k = 0; k < p.t.nnz; k++)
        held[k] = amped_random_u64(12, 0, k) % 4 == 0;
      check_ok(f.ops->enter(f.store, p.t.nnz, indices, p.t.values, held));
      errors_are_right(&f, &p.t, &model, NULL);
      errors_are_right(&f, &p.t, &model, held);
      model.least = -HUGE_VAL;
      model.most = HUGE_VAL;
      errors_are_right(&f, &p.t, &model, NULL);
      check_ok(f.ops->enter(f.store, p.t.nnz, indices, p.t.values, NULL)); /* none is held out */
      check_ok(f.ops->errors(f.store, &model, true, &none));
      ck_assert(none.count == 0 && none.squares == 0.0);
      problem_free(&p);
    }
    close_store(&f);
  }
  check_no_leak();
}

TESTING_MAIN("row_store", rows_travel_with_a_batch, rows_that_have_learnt_nothing_start,
             all_rows_are_touched, errors_are_those_of_a_slow_sum)
