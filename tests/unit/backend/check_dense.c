/* Dense formats: MTTKRP of a slab's cells against the oracle, for all orders, layouts, modes,
 * trees, slab modes and cell types; whatever has changed the factors before. */
#include "tests/lib/testing_slabs.h"

/* --- the exchange of partial sums ------------------------------------------------------------- */

/* Bytes of the partial rows to host memory, or from it to the arriving ones. */
static void copy_partial(const amped_worker *w, int mode, uint64_t offset, uint64_t bytes,
                         void *host, bool in) {
  const amped_partial_rows rows = w->format->partial_rows(w->tensor, mode);
  const amped_host_copy copy = {.offset = offset, .bytes = bytes, .host = host, .in = in};
  if (w->backend->device_pointers)
    check_ok(w->format->stage_partial(w->tensor, mode, &copy, 1));
  else if (in)
    memcpy((char *)rows.arriving + offset, host, bytes);
  else
    memcpy(host, (const char *)rows.sums + offset, bytes);
}

/* Every rank gets the parts of its own rows. */
static void exchange(const team *s, int mode) {
  const uint64_t bytes =
      s->plans[0].modes[mode].rows.block_rows * amped_plan_row_bytes(&s->plans[0]);
  char *host = NULL;
  check_ok(amped_alloc(&host, bytes, 1, "a test"));
  for (int from = 0; from < s->nranks; from++)
    for (int to = 0; to < s->nranks; to++) {
      copy_partial(&s->workers[from], mode, (uint64_t)to * bytes, bytes, host, false);
      copy_partial(&s->workers[to], mode, (uint64_t)from * bytes, bytes, host, true);
    }
  amped_free(host);
}

/* MTTKRP of all ranks, until own rows are whole. */
static void mttkrp(const team *s, int mode) {
  amped_mttkrp_times times = {-1.0, -1.0};
  for (int p = 0; p < s->nranks; p++) {
    const amped_worker *w = &s->workers[p];
    check_ok(mttkrp_whole(w, mode, &times));
    ck_assert(times.copy_sec >= 0.0 && times.compute_sec >= 0.0);
    const bool whole = w->format->partial_rows(w->tensor, mode).sums == NULL;
    ck_assert(whole == (s->nranks == 1 || mode == s->plans[p].dense.slab_mode));
  }
  if (s->workers[0].format->partial_rows(s->workers[0].tensor, mode).sums != NULL)
    exchange(s, mode);
  for (int p = 0; p < s->nranks; p++)
    check_ok(s->workers[p].format->add_incoming(
        s->workers[p].tensor, mode, (amped_row_sum){.count = s->nranks, .to = AMPED_TO_OUTPUT}));
}

/* --- comparisons ------------------------------------------------------------------------------ */

/* Of a sum of n products of N numbers: N - 1 and n - 1 roundings of half an eps, in any order. A
 * cell, T, a part of a rank and the result are rounded once each, ranks' parts are summed in
 * double. The tolerance is twice the sum of these, and on GPUs what products of floats leave out
 * (contract_group.cu); for any n it is what the program promises. */
static double tolerance(const dense *x, uint64_t count) {
  const bool cuts = x->value_type == AMPED_F32 && backend()->device_pointers;
  const double own =
      (double)(count + (uint64_t)x->dense.order + 6) * x->eps + (cuts ? 0x1p-17 : 0.0);
  const double promised = x->value_type == AMPED_F32 ? 1e-5 : 1e-12;
  return own < promised ? own : promised;
}

static void output_is_right(const team *s, int p, int mode, const double *want, const double *bound,
                            const uint64_t *count) {
  const amped_plan *plan = &s->plans[p];
  const amped_worker *w = &s->workers[p];
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t rows = plan->modes[mode].copy.output_rows;
  const uint64_t begin = (uint64_t)p * plan->modes[mode].rows.block_rows;
  double *got = doubles(rows * n);
  bool *named = NULL;
  check_ok(amped_calloc(&named, rows, sizeof *named, "a test"));
  check_ok(w->backend->factors->get_output(w->factors, mode, 0, rows, got));
  for (uint64_t i = 0; i < plan->dims[mode]; i++) {
    const uint64_t position = amped_plan_position(plan, mode, i);
    if (position < begin || position >= begin + plan->modes[mode].rows.block_rows)
      continue;
    named[position - begin] = true;
    for (uint64_t c = 0; c < n; c++)
      near(got[(position - begin) * n + c], want[i * n + c],
           tolerance(s->x, count[i]) * bound[i * n + c], "MTTKRP", i, c);
  }
  for (uint64_t i = 0; i < rows * n; i++)
    if (!named[i / n])
      near(got[i], 0.0, 0.0, "padding", i / n, i % n);
  amped_free(named);
  amped_free(got);
}

/* With factors in file order. */
static void mttkrp_equals_oracle(const team *s, int mode, double *const *factors) {
  const int n = s->plans[0].ncomps;
  const uint64_t dim = s->plans[0].dims[mode];
  double *want = doubles(dim * (uint64_t)n);
  double *bound = doubles(dim * (uint64_t)n);
  uint64_t *count = NULL;
  check_ok(amped_calloc(&count, dim, sizeof *count, "a test"));
  amped_mttkrp(&s->x->t, mode, (const double *const *)factors, n, want, bound, count);
  mttkrp(s, mode);
  for (int p = 0; p < s->nranks; p++)
    output_is_right(s, p, mode, want, bound, count);
  amped_free(count);
  amped_free(bound);
  amped_free(want);
}

/* Twice each: a second time from T, and in descending order, which needs other T. */
static void all_modes_equal_oracle(dense *x, const ways *how) {
  team s;
  team_open(&s, x, how);
  for (int turn = 0; turn < 2; turn++)
    for (int m = 0; m < x->dense.order; m++)
      mttkrp_equals_oracle(&s, turn == 0 ? m : x->dense.order - 1 - m, x->factors);
  team_close(&s);
}

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST(one_rank_equals_the_oracle) {
  for (size_t s = 0; s < SHAPES; s++)
    for (int kind = 0; kind < 3; kind++)
      for (int tree = 0; tree < 2; tree++)
        for (int wide = 0; wide < 2; wide++) {
          dense x;
          shape_create(&x, s, kind, AMPED_CELL_F32, NCOMPS(s + (size_t)kind),
                       wide > 0 ? AMPED_F64 : AMPED_F32);
          all_modes_equal_oracle(&x, &(ways){.nranks = 1, .slab_mode = -1, .tree = tree});
          dense_free(&x);
        }
  check_no_leak();
}
END_TEST

START_TEST(ranks_equal_the_oracle_with_any_slab_mode) {
  for (size_t s = 0; s < SHAPES; s++)
    for (int nranks = 2; nranks <= MOST_RANKS; nranks++)
      for (int slab = 0; slab < shapes[s].order; slab++)
        for (int tree = 0; tree < 2; tree++) {
          dense x;
          shape_create(&x, s, (slab + nranks) % 3, AMPED_CELL_F32, NCOMPS(s),
                       nranks == 3 ? AMPED_F64 : AMPED_F32);
          all_modes_equal_oracle(&x, &(ways){.nranks = nranks, .slab_mode = slab, .tree = tree});
          dense_free(&x);
        }
  check_no_leak();
}
END_TEST

START_TEST(cells_of_all_types_equal_the_oracle) {
  for (int type = 0; type < AMPED_CELL_TYPES; type++)
    for (int kind = 0; kind < 3; kind++)
      for (int wide = 0; wide < 2; wide++) {
        dense x;
        shape_create(&x, 3 + 3 * (size_t)wide, kind, (amped_cell_type)type, NCOMPS((size_t)type),
                     wide > 0 ? AMPED_F64 : AMPED_F32);
        all_modes_equal_oracle(&x, &(ways){.nranks = 1 + kind, .slab_mode = -1, .tree = -1});
        dense_free(&x);
      }
  check_no_leak();
}
END_TEST

/* All of them, about a half, few. */
START_TEST(streamed_cells_equal_the_oracle) {
  static const amped_cell_type types[] = {AMPED_CELL_F32, AMPED_CELL_U8, AMPED_CELL_F16,
                                          AMPED_CELL_F64};
  for (size_t s = 0; s < SHAPES; s++)
    for (int kind = 0; kind < 3; kind++)
      for (int streams = 2; streams <= 8; streams += 3) {
        dense x;
        shape_create(&x, s, kind, types[(s + (size_t)kind) % 4], NCOMPS(s + (size_t)streams),
                     streams == 5 ? AMPED_F64 : AMPED_F32);
        for (int tree = 0; tree < 2; tree++)
          all_modes_equal_oracle(
              &x, &(ways){.nranks = 1 + kind, .slab_mode = -1, .tree = tree, .streams = streams});
        dense_free(&x);
      }
  check_no_leak();
}
END_TEST

/* Positive numbers alone: their rounding errors add up. */
START_TEST(long_sums_are_as_good_as_promised) {
  static const uint64_t dims[][AMPED_MAX_ORDER] = {
      {3, 2, 30011}, {30011, 2, 3}, {5, 20011, 2}, {70, 70, 70}};
  for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
    for (int kind = 0; kind < 3; kind++) {
      dense x;
      int layout[AMPED_MAX_ORDER];
      make_layout(kind, 3, layout);
      dense_create(&x, 3, dims[d], layout, AMPED_CELL_U8, 16, AMPED_F32);
      for (int m = 0; m < 3; m++)
        for (uint64_t i = 0; i < dims[d][m] * 16; i++)
          x.factors[m][i] = rounded(fabs(x.factors[m][i]) + 0.5, AMPED_F32);
      for (int tree = 0; tree < 2; tree++)
        for (int streams = 0; streams < 8; streams += 5)
          all_modes_equal_oracle(
              &x, &(ways){.nranks = 1, .slab_mode = -1, .tree = tree, .streams = streams});
      dense_free(&x);
    }
  check_no_leak();
}
END_TEST

/* --- factors that change ---------------------------------------------------------------------- */

static double random_at(uint64_t step, uint64_t i) {
  return 2.0 * amped_random_double(11, step, i) - 1.0;
}

/* Some rows of mode's factor get new numbers on every rank; own rows alone by solve and
 * fill_random, so that one rank holds the tensor then. */
static void change(const team *s, int mode, uint64_t step) {
  const uint64_t n = (uint64_t)s->plans[0].ncomps;
  const uint64_t rows = amped_plan_factor_rows(&s->plans[0], mode);
  const uint64_t index = amped_random_u64(12, step, 0) % s->plans[0].dims[mode];
  const uint64_t first = amped_plan_position(&s->plans[0], mode, index);
  const uint64_t count = 1 + amped_random_u64(12, step, 1) % (rows - first);
  const uint64_t what = amped_random_u64(12, step, 2) % (s->nranks == 1 ? 4 : 2);
  double *numbers = doubles(rows * n > n * n ? rows * n : n * n);
  for (uint64_t i = 0; i < rows * n || i < n * n; i++)
    numbers[i] = rounded(random_at(step, i), s->x->value_type);
  for (int p = 0; p < s->nranks; p++) {
    const amped_worker *w = &s->workers[p];
    const amped_factor_ops *factors = w->backend->factors;
    const uint64_t before = factors->version(w->factors, mode);
    if (what == 0)
      for (uint64_t i = 0; i < s->plans[p].dims[mode]; i++) {
        const uint64_t at = amped_plan_position(&s->plans[p], mode, i);
        if (at >= first && at < first + count)
          check_ok(factors->put_rows(w->factors, mode, at, 1, numbers + i * n));
      }
    else if (what == 1)
      check_ok(factors->scale(w->factors, mode, first, count, numbers));
    else if (what == 2)
      check_ok(factors->fill_random(w->factors, mode, step));
    else
      check_ok(factors->solve(w->factors, mode, first, first + count, numbers, NULL, NULL));
    ck_assert_uint_gt(factors->version(w->factors, mode), before);
    for (int m = 0; m < s->x->dense.order; m++)
      ck_assert(m == mode || factors->version(w->factors, m) < factors->version(w->factors, mode));
  }
  amped_free(numbers);
}

/* Factors as rank 0 has them; where several ranks do, they have the same. */
static void get_factors(const team *s, double **factors) {
  const amped_plan *plan = &s->plans[0];
  const amped_worker *w = &s->workers[0];
  const uint64_t n = (uint64_t)plan->ncomps;
  for (int m = 0; m < plan->order; m++)
    for (uint64_t i = 0; i < plan->dims[m]; i++)
      check_ok(w->backend->factors->get_rows(w->factors, m, amped_plan_position(plan, m, i), 1,
                                             factors[m] + i * n));
}

/* solve takes the output, which must stay small: the mode's MTTKRP times tiny numbers would shrink
 * to nothing, and large ones overflow. Columns are scaled back by the caller's fill. */
static void changes_in_any_order(dense *x, const ways *how, uint64_t seed) {
  const uint64_t order = (uint64_t)x->dense.order;
  team s;
  team_open(&s, x, how);
  for (uint64_t step = seed; step < seed + 120; step++) {
    const int mode = (int)(amped_random_u64(13, step, 0) % order);
    if (step % 8 == 0) /* numbers of usual size again */
      for (int p = 0; p < s.nranks; p++)
        for (int m = 0; m < x->dense.order; m++)
          put_mode(&s, p, m, x->factors[m]);
    double *now[AMPED_MAX_ORDER] = {NULL};
    change(&s, mode, step);
    for (int m = 0; m < x->dense.order; m++)
      now[m] = doubles(x->dense.dims[m] * (uint64_t)x->ncomps);
    get_factors(&s, now);
    mttkrp_equals_oracle(&s, (int)(amped_random_u64(13, step, 1) % order), now);
    for (int m = 0; m < x->dense.order; m++)
      amped_free(now[m]);
  }
  team_close(&s);
}

START_TEST(mttkrp_is_of_the_factors_as_they_are) {
  const size_t which[] = {3, 7, 9, 11};
  for (size_t i = 0; i < sizeof which / sizeof *which; i++)
    for (int tree = 0; tree < 2; tree++)
      for (int nranks = 1; nranks <= 2; nranks++) {
        dense x;
        shape_create(&x, which[i], (int)i % 3, AMPED_CELL_F32, 5, AMPED_F64);
        changes_in_any_order(&x, &(ways){.nranks = nranks, .slab_mode = -1, .tree = tree},
                             1000 * i);
        dense_free(&x);
      }
  check_no_leak();
}
END_TEST

START_TEST(rows_that_are_given_away_may_have_changed) {
  dense x;
  team s;
  shape_create(&x, 3, 0, AMPED_CELL_F32, 4, AMPED_F32);
  team_open(&s, &x, &(ways){.nranks = 1, .slab_mode = -1, .tree = -1});
  const amped_worker *w = &s.workers[0];
  for (int m = 0; m < 3; m++) {
    const uint64_t before = w->backend->factors->version(w->factors, m);
    ck_assert_uint_ge(before, 1);
    (void)w->backend->factors->rows(w->factors, m);
    ck_assert_uint_gt(w->backend->factors->version(w->factors, m), before);
  }
  team_close(&s);
  dense_free(&x);
  check_no_leak();
}
END_TEST

START_TEST(fewer_components_need_another_contraction) {
  for (int nranks = 1; nranks <= 3; nranks++) {
    dense x;
    team s;
    shape_create(&x, 9, nranks - 1, AMPED_CELL_I16, 41, AMPED_F32);
    team_open(&s, &x, &(ways){.nranks = nranks, .slab_mode = -1, .tree = -1});
    mttkrp_equals_oracle(&s, 0, x.factors);
    for (int p = 0; p < nranks; p++) {
      amped_plan_set_ncomps(&s.plans[p], 6);
      check_ok(amped_worker_resize(&s.workers[p]));
      for (int m = 0; m < 4; m++) /* the same numbers, in rows of 6 */
        put_mode(&s, p, m, x.factors[m]);
    }
    for (int m = 0; m < 4; m++)
      mttkrp_equals_oracle(&s, m, x.factors);
    team_close(&s);
    dense_free(&x);
  }
  check_no_leak();
}
END_TEST

/* --- bits ------------------------------------------------------------------------------------- */

/* Sums of all modes, whose contractions have one strip, or several. */
static double *all_outputs(dense *x, int threads, uint64_t *elements) {
  team s;
  double *out = NULL;
  *elements = 0;
  for (int m = 0; m < x->dense.order; m++)
    *elements += x->dense.dims[m] * (uint64_t)x->ncomps;
  out = doubles(*elements);
  uint64_t at = 0;
  team_open(&s, x, &(ways){.nranks = 1, .slab_mode = -1, .tree = -1, .threads = threads});
  for (int m = 0; m < x->dense.order; m++) {
    mttkrp(&s, m);
    check_ok(s.workers[0].backend->factors->get_output(s.workers[0].factors, m, 0, x->dense.dims[m],
                                                       out + at));
    at += x->dense.dims[m] * (uint64_t)x->ncomps;
  }
  team_close(&s);
  return out;
}

START_TEST(any_number_of_threads_gives_the_same_bits) {
  static const uint64_t dims[][AMPED_MAX_ORDER] = {{61, 53, 47}, {3, 2, 9001}};
  static const int layout[AMPED_MAX_ORDER] = {0, 1, 2};
  for (size_t d = 0; d < 2; d++) {
    dense x;
    uint64_t elements = 0;
    dense_create(&x, 3, dims[d], layout, AMPED_CELL_F32, 20, AMPED_F32);
    double *one = all_outputs(&x, 1, &elements);
    double *again = all_outputs(&x, 1, &elements);
    double *three = all_outputs(&x, 3, &elements);
    ck_assert_int_eq(memcmp(one, again, elements * sizeof *one), 0);
    ck_assert_int_eq(memcmp(one, three, elements * sizeof *one), 0);
    amped_free(one);
    amped_free(again);
    amped_free(three);
    dense_free(&x);
  }
  check_no_leak();
}
END_TEST

/* --- sums for an exact fit -------------------------------------------------------------------- */

static void sums_are_exact(const team *s, double scale) {
  const dense *x = s->x;
  const uint64_t n = (uint64_t)x->ncomps;
  double *weights = random_rows(n, 1, AMPED_F64, 77);
  quad xx = 0;
  quad xm = 0;
  quad bound = 0;
  amped_products all = {{0.0, 0.0}, {0.0, 0.0}};
  for (uint64_t i = 0; i < x->t.nnz; i++) {
    const quad value = (quad)x->t.values[i] * (quad)scale;
    xx += value * value;
    for (uint64_t r = 0; r < n; r++) {
      quad term = value * (quad)weights[r];
      for (int m = 0; m < x->dense.order; m++)
        term *= (quad)x->factors[m][x->t.indices[m][i] * n + r];
      xm += term;
      bound += term < 0 ? -term : term;
    }
  }
  for (int p = 0; p < s->nranks; p++) {
    amped_products own;
    check_ok(s->workers[p].format->products(s->workers[p].tensor, 0, scale, weights, &own));
    all.xx = amped_dd_add(all.xx, own.xx);
    all.xm = amped_dd_add(all.xm, own.xm);
  }
  const uint64_t operations = x->t.nnz * n + (uint64_t)x->dense.order + 8;
  product_is_right(all.xx, xx, xx, operations, "x x");
  product_is_right(all.xm, xm, bound, operations, "x m");
  amped_free(weights);
}

START_TEST(products_of_cells_are_exact_to_double_doubles) {
  const size_t which[] = {3, 6, 8, 10, 12};
  for (size_t i = 0; i < sizeof which / sizeof *which; i++)
    for (int nranks = 1; nranks <= 3; nranks++) {
      dense x;
      team s;
      shape_create(&x, which[i], (int)i % 3, nranks == 2 ? AMPED_CELL_F64 : AMPED_CELL_I16,
                   NCOMPS(i + 1), nranks == 3 ? AMPED_F64 : AMPED_F32);
      team_open(&s, &x,
                &(ways){.nranks = nranks, .slab_mode = -1, .tree = -1, .streams = (int)i % 2 * 5});
      sums_are_exact(&s, 0x1p-5);
      team_close(&s);
      dense_free(&x);
    }
  check_no_leak();
}
END_TEST

TESTING_MAIN("dense", one_rank_equals_the_oracle, ranks_equal_the_oracle_with_any_slab_mode,
             cells_of_all_types_equal_the_oracle, streamed_cells_equal_the_oracle,
             long_sums_are_as_good_as_promised, mttkrp_is_of_the_factors_as_they_are,
             rows_that_are_given_away_may_have_changed, fewer_components_need_another_contraction,
             any_number_of_threads_gives_the_same_bits,
             products_of_cells_are_exact_to_double_doubles)
