/* One copy for all modes: MTTKRP of every mode, and products, against the slow oracle; on several
 * ranks each one's parts of sums, and what the owners add up. */
#include "tests/lib/testing_boxes.h"

static setup boxed(void) {
  setup how = alone();
  how.needs.one_copy = true;
  how.options.copies = AMPED_COPIES_ONE;
  return how;
}

/* On GPUs sums have the same bits on demand. */
static setup deterministic(void) {
  setup how = boxed();
  how.options.deterministic = true;
  if (backend()->device_pointers) /* less than is free while tests share a GPU */
    how.options.device_memory = UINT64_C(1) << 28;
  return how;
}

/* --- tests -------------------------------------------------------------------------------------*/

static void all_orders(amped_vtype type) {
  static const int widths[] = {1, 4, 5, 16, 20, 32, 33, 64, 100};
  const uint64_t *const shapes[] = {odd_dims, long_dims, flat_dims};
  int n = 0;
  for (int order = AMPED_MIN_ORDER; order <= AMPED_MAX_ORDER; order++)
    for (int shape = 0; shape < 3; shape++, n++) {
      problem p;
      setup how = boxed();
      how.index_type = n % 4 == 3 ? AMPED_U64 : 0;
      problem_create(&p, order, shapes[shape], 9000, widths[n % 9], type);
      team_is_right(&p, 1 + n % MOST_RANKS, how);
      problem_free(&p);
    }
  check_no_leak();
}

START_TEST(every_mode_in_float) {
  all_orders(AMPED_F32);
}

START_TEST(every_mode_in_double) {
  all_orders(AMPED_F64);
}

/* No nonzero on most ranks; one box; a nonzero that is repeated. */
START_TEST(few_nonzeros) {
  static const uint64_t counts[] = {1, 2, 63, 1023, 1024};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    for (int nranks = 1; nranks <= MOST_RANKS; nranks++) {
      problem p;
      problem_create(&p, 3, i % 2 == 0 ? odd_dims : long_dims, counts[i], 6, AMPED_F32);
      team_is_right(&p, nranks, boxed());
      problem_free(&p);
    }
  check_no_leak();
}

static void to_one_row(problem *p, int mode) {
  for (uint64_t k = 0; k < p->t.nnz; k++)
    p->t.indices[mode][k] = p->t.dims[mode] / 2;
  amped_partition_free(&p->info.partitions[mode]);
  check_ok(amped_partition_create(&p->info.partitions[mode], p->t.dims[mode], p->t.indices[mode],
                                  p->t.nnz));
}

/* All nonzeros in one row of a mode, which several ranks share where it is the longest; and all of
 * them at one coordinate. */
START_TEST(one_row_has_all) {
  for (int mode = 0; mode < 4; mode++)
    for (int nranks = 1; nranks <= 3; nranks += 2) {
      problem p;
      problem_create(&p, 3, long_dims, 30000, 8, mode % 2 == 0 ? AMPED_F32 : AMPED_F64);
      for (int m = 0; m < 3; m++)
        if (m == mode || mode == 3)
          to_one_row(&p, m);
      team_is_right(&p, nranks, boxed());
      problem_free(&p);
    }
  check_no_leak();
}

/* Few distinct values are coded, in fields of the numbers. */
START_TEST(coded_values) {
  static const uint64_t distinct[] = {1, 7, 600};
  for (size_t i = 0; i < sizeof distinct / sizeof *distinct; i++) {
    problem p;
    problem_create(&p, 4, long_dims, 20000, 16, AMPED_F32);
    for (uint64_t k = 0; k < p.t.nnz; k++)
      p.t.values[k] = 1.0 + (double)(amped_random_u64(11, 0, k) % distinct[i]) / (i == 2 ? 3 : 1);
    for (uint64_t k = 0; k < p.t.nnz; k++)
      p.t.values[k] = rounded(p.t.values[k], AMPED_F32);
    check_ok(amped_dictionary_find(&p.info.dictionary, p.t.values, p.t.nnz));
    bench s;
    const setup how = boxed();
    bench_plan(&s, &p, &how);
    ck_assert(s.plan.linear.packing.coded);
    bench_close(&s);
    team_is_right(&p, 2, boxed());
    amped_dictionary_free(&p.info.dictionary);
    problem_free(&p);
  }
  check_no_leak();
}

/* Where nonzeros lie has no say in sums: all streamed, and some. On CPUs all is memory. */
START_TEST(streamed_copies) {
  for (int n = 0; n < 6; n++) {
    problem p;
    bench s;
    amped_requirement r;
    setup how = n == 5 ? deterministic() : boxed();
    problem_create(&p, 3 + n % 2, n % 2 == 0 ? long_dims : flat_dims, 60000, 8,
                   n == 2 ? AMPED_F64 : AMPED_F32);
    bench_plan(&s, &p, &how);
    check_ok(amped_worker_require(&s.w, &s.plan, &r));
    const uint64_t copy = r.read_bytes[s.plan.boxed];
    bench_close(&s);
    if (n == 0 && backend()->device_pointers)
      how.options.residency = AMPED_RESIDENCY_STREAM;
    else if (backend()->device_pointers)
      how.options.device_memory = r.device_bytes - copy * (uint64_t)n / 6;
    bench_plan(&s, &p, &how);
    check_ok(amped_worker_require(&s.w, &s.plan, &r));
    ck_assert(r.streamed_bytes[0] > 0 || !backend()->device_pointers);
    bench_close(&s);
    team_is_right(&p, 1, how);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(fewer_components) {
  const setup how = boxed();
  fewer_components_are_right(&how);
}

/* --- accuracy ----------------------------------------------------------------------------------*/

/* Against sums in double, within 1e-5 of the terms' sizes. */
#define BAR 1e-5

/* Terms of one sign and about one size: running sums of floats lose most of these. */
static void even_out(problem *p) {
  for (uint64_t k = 0; k < p->t.nnz; k++)
    p->t.values[k] = rounded(1.1 + 1e-3 * amped_random_double(3, 0, k), AMPED_F32);
  for (int m = 0; m < p->t.order; m++)
    for (uint64_t i = 0; i < p->t.dims[m] * (uint64_t)p->ncomps; i++)
      p->factors[m][i] = rounded(0.9 + 1e-3 * p->factors[m][i], AMPED_F32);
}

static void rows_are_accurate(problem *p, int nranks, setup how) {
  team t;
  team_open(&t, p, nranks, how);
  for (int mode = 0; mode < p->t.order; mode++)
    for (int r = 0; r < nranks; r++) {
      const bench *s = &t.ranks[r];
      const uint64_t n = (uint64_t)p->ncomps;
      amped_mttkrp_times times;
      wanted w = want_of(p, s, s->plan.boxed, mode);
      check_ok(mttkrp_whole(&s->w, mode, &times));
      void *parts = parts_of(s, mode);
      double *output = get_output(s, mode);
      for (uint64_t i = 0; i < p->t.dims[mode]; i++)
        for (uint64_t c = 0; c < n; c++) {
          const uint64_t row = output_row(&s->plan, mode, i);
          if (parts == NULL && row == AMPED_NO_ROW)
            continue;
          const uint64_t position = amped_plan_position(&s->plan, mode, i);
          const double got =
              parts != NULL ? amped_value_get(parts, s->plan.value_type, position * s->plan.ld + c)
                            : output[row * n + c];
          near(got, w.sums[i * n + c], BAR * w.bound[i * n + c], "long row", i, c);
        }
      amped_free(output);
      amped_free(parts);
      wanted_free(&w);
    }
  team_close(&t);
}

/* Half of the nonzeros, some 150 000, lie in one row of the last mode. */
START_TEST(long_rows_are_accurate) {
  static const uint64_t shapes[][3] = {{46, 9000, 300},         /* all rows long */
                                       {400000, 300000, 70000}, /* one frequent row among many */
                                       {3000, 2, 60000}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int nranks = 1; nranks <= 2; nranks++) {
      problem p;
      problem_create(&p, 3, shapes[i], 300000, 2, AMPED_F32);
      even_out(&p);
      rows_are_accurate(&p, nranks, boxed());
      problem_free(&p);
    }
  check_no_leak();
}

/* A quarter of the nonzeros in one row of mode, an eighth in each of two, which come in turn, and
 * an eighth in 20 others. */
static void make_frequent(problem *p, int mode) {
  const uint64_t dim = p->t.dims[mode];
  for (uint64_t k = 0; k < p->t.nnz; k++) {
    uint64_t *i = &p->t.indices[mode][k];
    if (k % 4 == 0)
      *i = dim / 2;
    else if (k % 4 == 1)
      *i = k % 8 < 4 ? 7 : dim - 1;
    else if (k % 8 == 2)
      *i = 30 + amped_random_u64(5, 0, k) % 20;
  }
  amped_partition_free(&p->info.partitions[mode]);
  check_ok(amped_partition_create(&p->info.partitions[mode], dim, p->t.indices[mode], p->t.nnz));
}

/* Hot rows of few parts and of many, in every type of sums, and rows of more than 32 vectors. */
START_TEST(frequent_rows_are_accurate) {
  static const uint64_t dims[] = {90000, 40000, 3000};
  for (int n = 0; n < 6; n++) {
    problem p;
    const bool fixed = n % 3 == 1;
    problem_create(&p, 3, dims, n == 3 ? 60000 : 200000, n == 3 ? 132 : 4,
                   n % 3 == 2 ? AMPED_F64 : AMPED_F32);
    make_frequent(&p, n % 3);
    if (n >= 4)
      make_frequent(&p, (n + 1) % 3);
    even_out(&p);
    rows_are_accurate(&p, 1 + n % 2, fixed ? deterministic() : boxed());
    problem_free(&p);
  }
  check_no_leak();
}

/* --- threads, memory, refusals -----------------------------------------------------------------*/

START_TEST(the_same_bits_on_any_number_of_threads) {
  problem p;
  problem_create(&p, 3, flat_dims, 80000, 32, AMPED_F32);
  bits_are_those_of_one_thread(&p, deterministic());
  problem_free(&p);
  check_no_leak();
}

START_TEST(deterministic_sums_are_right) {
  static const int widths[] = {3, 16, 32, 33, 100};
  for (int n = 0; n < 5; n++) {
    problem p;
    problem_create(&p, 3 + n, n % 2 == 0 ? long_dims : flat_dims, 9000, widths[n], AMPED_F32);
    team_is_right(&p, 1 + n % 3, deterministic());
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(one_copy_takes_less_than_all) {
  problem p;
  bench s;
  amped_requirement one;
  amped_requirement all;
  const setup boxes = boxed();
  const setup copies = alone();
  problem_create(&p, 4, long_dims, 500000, 4, AMPED_F32);
  bench_plan(&s, &p, &boxes);
  check_ok(amped_worker_require(&s.w, &s.plan, &one));
  ck_assert_uint_eq(one.copy_bytes[1] + one.copy_bytes[2] + one.copy_bytes[3], 0);
  bench_close(&s);
  bench_plan(&s, &p, &copies);
  check_ok(amped_worker_require(&s.w, &s.plan, &all));
  bench_close(&s);
  uint64_t sum = 0;
  for (int m = 0; m < 4; m++)
    sum += all.copy_bytes[m];
  ck_assert_uint_lt(one.copy_bytes[0], sum / 3);
  problem_free(&p);
  check_no_leak();
}

START_TEST(short_memory_is_an_error) {
  const setup how = boxed();
  no_allocation_is_trusted(&how);
}

static void insert_fails(problem *p, int wrong, const char *words) {
  const setup how = boxed();
  bench s;
  void *blocks[AMPED_MAX_ORDER + 1] = {NULL};
  bench_plan(&s, p, &how);
  check_ok(amped_worker_prepare(&s.w, &s.plan));
  amped_batch all = make_batch(&s, s.plan.boxed, blocks);
  all.rows = blocks[0];
  for (int i = 0; i < 2; i++)
    all.inputs[i] = blocks[1 + i];
  all.values = blocks[3];
  if (wrong == 0)
    ((float *)blocks[3])[700] = 2.5F;
  if (wrong == 1)
    amped_index_put(blocks[0], s.plan.index_type, 0, s.plan.dims[s.plan.boxed] - 1);
  /* Some formats look at nonzeros when the last one has come. */
  amped_status status = s.w.format->insert(s.w.tensor, s.plan.boxed, 0, &all);
  if (status == AMPED_OK)
    status = s.w.format->finish(s.w.tensor, s.plan.boxed);
  check_fails(AMPED_BAD_INPUT, words, status);
  for (int a = 0; a <= 3; a++)
    amped_free(blocks[a]);
  bench_close(&s);
}

START_TEST(wrong_nonzeros_are_refused) {
  problem p;
  problem_create(&p, 3, odd_dims, 900, 4, AMPED_F32);
  for (uint64_t k = 0; k < p.t.nnz; k++)
    p.t.values[k] = 1.0 + (double)(k % 5);
  check_ok(amped_dictionary_find(&p.info.dictionary, p.t.values, p.t.nnz));
  insert_fails(&p, 0, "dictionary");
  insert_fails(&p, 1, "not in order");
  amped_dictionary_free(&p.info.dictionary);
  problem_free(&p);
  check_no_leak();
}

START_TEST(too_many_bits_are_refused) {
  uint64_t dims[AMPED_MAX_ORDER];
  problem p;
  amped_plan plan;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    dims[m] = 5;
  problem_create(&p, AMPED_MAX_ORDER, dims, 10, 1, AMPED_F32);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    p.info.dims[m] = p.info.partitions[m].dim = UINT64_C(1) << 33;
    p.info.partitions[m].width = (UINT64_C(1) << 33) / 5 + 1;
  }
  const amped_plan_request request = {
      .ncomps = 1, .value_type = AMPED_F32, .nranks = 1, .needs = {.one_copy = true}};
  check_fails(AMPED_FAILED, "--copies=all", amped_plan_create(&plan, &p.info, &request));
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    p.info.dims[m] = p.info.partitions[m].dim = 5;
  problem_free(&p);
  check_no_leak();
}

TESTING_MAIN("boxes", every_mode_in_float, every_mode_in_double, few_nonzeros, one_row_has_all,
             coded_values, streamed_copies, fewer_components, long_rows_are_accurate,
             frequent_rows_are_accurate, the_same_bits_on_any_number_of_threads,
             deterministic_sums_are_right, one_copy_takes_less_than_all, short_memory_is_an_error,
             wrong_nonzeros_are_refused, too_many_bits_are_refused)
