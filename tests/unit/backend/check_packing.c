/* Packed copies: how small they are, that nothing is lost in them, and MTTKRP over them, on CPU
 * cores. check_backends holds the same kernels against the oracle for all shapes. */
#include "cpu/sorted/pack_cpu.h"
#include "tests/lib/testing_backend.h"

/* --- sizes -------------------------------------------------------------------------------------*/

/* Bytes per nonzero of mode's copy, all arrays of it, on one rank. */
static double copy_bytes(int order, const uint64_t *dims, int mode, uint64_t codes, uint64_t nnz) {
  uint64_t positions[AMPED_MAX_ORDER];
  amped_packing p;
  int inputs = 0;
  for (int m = 0; m < order; m++)
    if (m != mode)
      positions[inputs++] = dims[m];
  amped_packing_make(&p, inputs, positions, codes, AMPED_F32, nnz);
  uint64_t bytes = nnz * amped_packing_nonzero_bytes(&p, AMPED_F32) +
                   4 * (amped_packing_bit_words(nnz) + amped_packing_list_rows(nnz, dims[mode]) +
                        amped_packing_packs(&p, nnz));
  return (double)bytes / (double)nnz;
}

START_TEST(copies_are_as_small_as_promised) {
  static const uint64_t patents[] = {46, 239172, 239172};
  static const uint64_t amazon[] = {4821207, 1774269, 1805187};
  static const uint64_t nnz = 500000000;
  for (int m = 0; m < 3; m++) {
    double more = m == 0 ? 2.0 : 0.0;
    ck_assert_double_le(copy_bytes(3, patents, m, 200, nnz), 4.3 + more);
    ck_assert_double_le(copy_bytes(3, patents, m, 0, nnz), 8.3 + more);
    ck_assert_double_le(copy_bytes(3, amazon, m, 0, nnz), 10.4);
  }
}

START_TEST(a_word_may_have_ten_bytes) {
  static const uint64_t twitch[] = {15524309, 6161666, 783865, 6103, 6103};
  for (int mode = 0; mode < 5; mode++) {
    uint64_t positions[AMPED_MAX_ORDER];
    amped_packing p;
    int inputs = 0;
    for (int m = 0; m < 5; m++)
      if (m != mode)
        positions[inputs++] = twitch[m];
    amped_packing_make(&p, 4, positions, 0, AMPED_F32, 500000000);
    ck_assert_uint_eq(amped_packing_plane_bytes(&p), 10);
    ck_assert(!p.coded);
  }
}

START_TEST(values_are_coded_where_that_is_smaller) {
  static const uint64_t positions[] = {UINT64_C(1) << 16, UINT64_C(1) << 12};
  amped_packing p;
  amped_packing_make(&p, 2, positions, 16, AMPED_F32, 10);
  ck_assert(p.coded && p.value_bits == 4 && amped_packing_plane_bytes(&p) == 4);
  amped_packing_make(&p, 2, positions, 1, AMPED_F32, 10);
  ck_assert(p.coded && p.value_bits == 0);
  amped_packing_make(&p, 2, positions, AMPED_MAX_CODES, AMPED_F32, 10);
  ck_assert(p.coded && amped_packing_plane_bytes(&p) == 6);
  amped_packing_make(&p, 2, positions, AMPED_MAX_CODES + 1, AMPED_F32, 10);
  ck_assert(!p.coded);
  amped_packing_make(&p, 2, positions, 0, AMPED_F64, 10);
  ck_assert(!p.coded && amped_packing_nonzero_bytes(&p, AMPED_F64) == 12);
}

/* --- numbers and planes ------------------------------------------------------------------------*/

#define NUMBERS 67

static uint64_t random_field(uint64_t seed, uint64_t k, unsigned bits) {
  uint64_t v = amped_random_u64(seed, bits, k);
  if (k % 5 == 0)
    v = UINT64_MAX; /* neighbours must not feel it */
  return bits == 0 ? 0 : v >> (64 - bits);
}

static void all_fields_come_back(const amped_packing *p, uint64_t seed) {
  void *planes[AMPED_MAX_PLANES] = {NULL};
  uint64_t w[AMPED_MAX_PLANES];
  for (int i = 0; i < p->planes; i++)
    check_ok(amped_calloc(&planes[i], NUMBERS, p->plane_bytes[i], "a test"));
  for (uint64_t n = 0; n < NUMBERS; n++) {
    uint64_t k = n * 29 % NUMBERS; /* in any order */
    memset(w, 0, sizeof w);
    for (int i = 0; i < p->inputs; i++)
      amped_packed_set(w, p->shifts[i], p->bits[i],
                       random_field(seed, k * 8 + (uint64_t)i, p->bits[i]));
    if (p->coded)
      amped_packed_set(w, p->value_shift, p->value_bits, random_field(seed, k, p->value_bits));
    amped_packed_put(p, planes, k, w);
  }
  for (uint64_t k = 0; k < NUMBERS; k++) {
    memset(w, 0xa5, sizeof w);
    amped_packed_get(p, (const void *const *)planes, k, w);
    for (int i = 0; i < p->inputs; i++)
      if (amped_packed_field(w, p->shifts[i], p->bits[i]) !=
          random_field(seed, k * 8 + (uint64_t)i, p->bits[i]))
        ck_abort_msg("input %d of %d, shift %u, bits %u", i, p->inputs, p->shifts[i], p->bits[i]);
    if (p->coded)
      ck_assert_uint_eq(amped_packed_field(w, p->value_shift, p->value_bits),
                        random_field(seed, k, p->value_bits));
  }
  for (int i = 0; i < p->planes; i++)
    amped_free(planes[i]);
}

START_TEST(fields_of_any_width_come_back) {
  uint64_t seen = 0; /* numbers of so many bytes */
  for (uint64_t seed = 0; seed < 3000; seed++) {
    uint64_t positions[AMPED_MAX_ORDER - 1];
    amped_packing p;
    int inputs = 2 + (int)(seed % 6);
    uint64_t widest = 1 + amped_random_u64(seed, 1, 0) % 63;
    for (int i = 0; i < inputs; i++)
      positions[i] = UINT64_C(1) << amped_random_u64(seed, 2, (uint64_t)i) % (widest + 1);
    uint64_t codes = seed % 3 == 0 ? 0 : UINT64_C(1) << amped_random_u64(seed, 3, 0) % 17;
    amped_packing_make(&p, inputs, positions, codes, seed % 2 == 0 ? AMPED_F32 : AMPED_F64, 1);
    seen |= UINT64_C(1) << amped_packing_plane_bytes(&p);
    all_fields_come_back(&p, seed);
  }
  static const int sizes[] = {4, 6, 8, 10, 12, 16, 24, 32, 40, 48};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    ck_assert_msg((seen >> sizes[i] & 1) != 0, "no number of %d bytes was tried", sizes[i]);
  check_no_leak();
}

START_TEST(codes_are_places_in_the_dictionary) {
  static const double few[] = {-3.0, -0.5, 0.0, 1.0, 1.0, 7.0};
  static const uint64_t first[] = {0, 1, 2, 3, 3, 5};
  for (uint64_t i = 0; i < 6; i++)
    ck_assert_uint_eq(amped_packed_code(few, 6, few[i]), first[i]);
  ck_assert_uint_eq(amped_packed_code(few, 6, -0.0), 2);
  ck_assert_uint_eq(amped_packed_code(few, 6, -4.0), 6);
  ck_assert_uint_eq(amped_packed_code(few, 6, 0.25), 6);
  ck_assert_uint_eq(amped_packed_code(few, 6, 8.0), 6);
  ck_assert_uint_eq(amped_packed_code(few, 1, -3.0), 0);
  ck_assert_uint_eq(amped_packed_code(few, 0, -3.0), 0);
}

/* Values (first + i) / per_unit, as text would give them, but for number `hole`. */
static amped_ruler ruler_of(int first, double per_unit, uint64_t count, uint64_t hole,
                            amped_vtype type) {
  amped_dictionary d = {0};
  check_ok(amped_alloc(&d.values, count, sizeof *d.values, "values"));
  for (uint64_t i = 0; i < count; i++)
    if (i != hole)
      d.values[d.count++] = (double)(first + (int)i) / per_unit;
  amped_ruler r = amped_dictionary_ruler(&d, type);
  for (uint64_t i = 0; i < d.count && r.step != 0.0; i++) {
    double value = (double)(r.first + (int32_t)i) * r.step;
    if (type == AMPED_F32)
      ck_assert((float)value == (float)d.values[i]);
    else
      ck_assert(value == d.values[i]);
  }
  amped_dictionary_free(&d);
  return r;
}

START_TEST(values_at_equal_distances_are_a_ruler) {
  static const double per_unit[] = {1, 2, 4, 8, 10, 100, 1e3, 1e4, 1e5};
  for (size_t i = 0; i < sizeof per_unit / sizeof per_unit[0]; i++)
    for (int first = -70000; first <= 1000; first += 71000 / 4) {
      amped_ruler r = ruler_of(first, per_unit[i], 65536, UINT64_MAX, AMPED_F32);
      ck_assert(r.step == 1.0 / per_unit[i]);
      ck_assert_int_eq(r.first, first);
    }
  ck_assert(ruler_of(1, 1.0, 46, UINT64_MAX, AMPED_F64).step == 1.0);
  ck_assert(ruler_of(1, 2.0, 10, UINT64_MAX, AMPED_F64).step == 0.5);
  ck_assert(ruler_of(0, 1.0 / 3.0, 10, UINT64_MAX, AMPED_F64).step == 3.0);
}

START_TEST(other_values_are_looked_up) {
  ck_assert(ruler_of(1, 1.0, 46, 7, AMPED_F32).step == 0.0); /* one number is missing */
  ck_assert(ruler_of(1, 1e4, 65536, 1, AMPED_F32).step == 0.0);
  ck_assert(ruler_of(1, 1.0, 1, UINT64_MAX, AMPED_F32).step == 0.0);
  ck_assert(ruler_of(1, 1.0, 1, 0, AMPED_F32).step == 0.0);            /* none at all */
  ck_assert(ruler_of(1, 10.0, 40, UINT64_MAX, AMPED_F64).step == 0.0); /* 3 * 0.1 is not 0.3 */
  ck_assert(ruler_of(2000000000, 1.0, 100, UINT64_MAX, AMPED_F64).step == 1.0);
  ck_assert(ruler_of(2147480000, 1.0, 100, UINT64_MAX, AMPED_F64).step == 0.0); /* beyond 32 bits */
}

/* --- packing -----------------------------------------------------------------------------------*/

/* Small integers in place of a problem's values; all the same where `distinct` is 1. */
static void few_values(problem *p, uint64_t distinct) {
  for (uint64_t k = 0; k < p->t.nnz; k++)
    p->t.values[k] = 1.0 + (double)(amped_random_u64(11, 0, k) % distinct);
  check_ok(amped_dictionary_find(&p->info.dictionary, p->t.values, p->t.nnz));
}

static void free_all(problem *p) {
  amped_dictionary_free(&p->info.dictionary);
  problem_free(p);
}

static amped_batch part_of(const amped_batch *all, const amped_plan *plan, uint64_t first,
                           uint64_t count) {
  amped_batch part = {.count = count};
  part.rows = (const char *)all->rows + first * plan->index_type;
  for (int i = 0; i + 1 < plan->order; i++)
    part.inputs[i] = (const char *)all->inputs[i] + first * plan->index_type;
  part.values = (const char *)all->values + first * plan->value_type;
  return part;
}

/* The whole share in one run; blocks are to be freed. */
static amped_batch whole_run(const bench *s, int mode, void **blocks) {
  amped_batch all = make_batch(s, mode, blocks);
  all.rows = blocks[0];
  for (int i = 0; i + 1 < s->plan.order; i++)
    all.inputs[i] = blocks[1 + i];
  all.values = blocks[s->plan.order];
  return all;
}

static void free_blocks(void **blocks) {
  for (int i = 0; i <= AMPED_MAX_ORDER; i++)
    amped_free(blocks[i]);
}

/* What a copy says of every nonzero is what went in. */
static void copy_is_the_run(const amped_cpu_copy *copy, const amped_plan *plan,
                            const amped_batch *all) {
  const amped_packing *p = copy->packing;
  uint64_t entries = 0;
  uint64_t w[AMPED_MAX_PLANES];
  ck_assert_uint_eq(copy->filled, all->count);
  for (uint64_t k = 0; k < all->count; k++) {
    uint64_t row = amped_index_get(all->rows, plan->index_type, k);
    bool begins = k == 0 || amped_index_get(all->rows, plan->index_type, k - 1) != row;
    entries += begins;
    if ((copy->row_bits[k / 32] >> k % 32 & 1) != begins)
      ck_abort_msg("row bit %" PRIu64, k);
    if (amped_index_get(copy->row_list, plan->index_type, entries - 1) != row)
      ck_abort_msg("row list entry %" PRIu64, entries - 1);
    if (k % p->pack == 0 &&
        amped_index_get(copy->row_table, plan->index_type, k / p->pack) != entries - 1)
      ck_abort_msg("row table entry %" PRIu64, k / p->pack);
    amped_packed_get(p, (const void *const *)copy->planes, k, w);
    for (int i = 0; i < p->inputs; i++)
      if (amped_packed_field(w, p->shifts[i], p->bits[i]) !=
          amped_index_get(all->inputs[i], plan->index_type, k))
        ck_abort_msg("nonzero %" PRIu64 ", input %d", k, i);
    double value =
        p->coded ? plan->dictionary->values[amped_packed_field(w, p->value_shift, p->value_bits)]
                 : amped_value_get(copy->values, plan->value_type, k);
    near(value, amped_value_get(all->values, plan->value_type, k), 0.0, "value", k, 0);
  }
  ck_assert_uint_eq(copy->rows, entries);
}

static void pack_in_pieces(problem *p, setup how, uint64_t longest) {
  bench s;
  bench_plan(&s, p, &how);
  for (int m = 0; m < s.plan.order; m++) {
    void *blocks[AMPED_MAX_ORDER + 1] = {NULL};
    amped_batch all = whole_run(&s, m, blocks);
    amped_cpu_copy copy = {0};
    check_ok(amped_cpu_copy_create(&copy, &s.plan, m, s.plan.modes[m].copy.rank_nnz[s.plan.rank],
                                   amped_plan_copy_rows(&s.plan, m)));
    for (int round = 0; round < 2; round++) { /* from the start again */
      for (uint64_t at = 0, n = 0; at < all.count; at += n) {
        n = 1 + amped_random_u64(12, longest + (uint64_t)round, at) % longest;
        n = n < all.count - at ? n : all.count - at;
        amped_batch part = part_of(&all, &s.plan, at, n);
        check_ok(amped_cpu_copy_add(&copy, &s.plan, m, s.plan.dictionary->values, at, &part,
                                    how.options.threads));
      }
      copy_is_the_run(&copy, &s.plan, &all);
    }
    amped_cpu_copy_free(&copy);
    free_blocks(blocks);
  }
  bench_close(&s);
}

START_TEST(pieces_of_any_length_make_one_copy) {
  static const uint64_t dims[] = {300, 17, 1, 90};
  static const uint64_t longest[] = {1, 3, 31, 100, 1000, 5000};
  for (int order = AMPED_MIN_ORDER; order <= 4; order++)
    for (int coded = 0; coded < 2; coded++) {
      problem p;
      problem_create(&p, order, dims, 2500, 1, AMPED_F64);
      if (coded)
        few_values(&p, 9);
      for (size_t i = 0; i < sizeof longest / sizeof longest[0]; i++) {
        setup how = alone();
        how.options.threads = 1 + (int)i % 5;
        how.nranks = 1 + (int)i % 2;
        how.index_type = i % 3 == 0 ? AMPED_U64 : AMPED_U32;
        pack_in_pieces(&p, how, longest[i]);
      }
      free_all(&p);
    }
  check_no_leak();
}

/* --- what does not fit -------------------------------------------------------------------------*/

static void swap_ends(void *array, amped_itype type, uint64_t n) {
  uint64_t first = amped_index_get(array, type, 0);
  amped_index_put(array, type, 0, amped_index_get(array, type, n - 1));
  amped_index_put(array, type, n - 1, first);
}

enum wrong { NEW_VALUE, ROWS_SWAPPED, ROW_TOO_HIGH };

static void is_refused(problem *p, enum wrong wrong, const char *words) {
  setup how = alone();
  bench s;
  void *blocks[AMPED_MAX_ORDER + 1] = {NULL};
  bench_plan(&s, p, &how);
  check_ok(amped_worker_prepare(&s.w, &s.plan));
  amped_batch all = whole_run(&s, 0, blocks);
  if (wrong == NEW_VALUE)
    ((float *)blocks[3])[700] = 2.5F;
  if (wrong == ROWS_SWAPPED)
    swap_ends(blocks[0], s.plan.index_type, all.count);
  if (wrong == ROW_TOO_HIGH)
    amped_index_put(blocks[0], s.plan.index_type, all.count - 1, 40);
  check_fails(AMPED_BAD_INPUT, words, s.w.format->insert(s.w.tensor, 0, 0, &all));
  free_blocks(blocks);
  bench_close(&s);
}

START_TEST(wrong_nonzeros_are_refused) {
  static const uint64_t dims[] = {40, 30, 20};
  problem p;
  problem_create(&p, 3, dims, 900, 4, AMPED_F32);
  few_values(&p, 5);
  is_refused(&p, NEW_VALUE, "dictionary");
  is_refused(&p, ROWS_SWAPPED, "not in order");
  if (!backend()->device_pointers) /* the GPU's list has room for it; who translates sees it */
    is_refused(&p, ROW_TOO_HIGH, "not in order");
  free_all(&p);
  check_no_leak();
}

/* Two values of the file may be one float. */
START_TEST(dictionaries_are_rounded_with_the_values) {
  static const uint64_t dims[] = {9, 8, 7};
  setup how = alone();
  problem p;
  problem_create(&p, 3, dims, 200, 8, AMPED_F32);
  for (uint64_t k = 0; k < 200; k++)
    p.t.values[k] = (double)(1 + k % 3) + (k % 2 == 0 ? 1e-12 : 0.1);
  check_ok(amped_dictionary_find(&p.info.dictionary, p.t.values, 200));
  all_ranks_are_right(&p, 2, how);
  free_all(&p);
  check_no_leak();
}

/* --- MTTKRP ------------------------------------------------------------------------------------*/

/* Long and short fibres, every specialised row length and its neighbours. */
START_TEST(mttkrp_of_coded_copies) {
  static const uint64_t dims[][6] = {{5, 3, 400, 6, 2, 3}, {400, 90, 7, 5, 3, 2}};
  static const int widths[] = {8, 12, 16, 31, 32, 64, 128, 200};
  for (int shape = 0; shape < 2; shape++)
    for (int order = AMPED_MIN_ORDER; order <= 6; order++)
      for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        problem p;
        problem_create(&p, order, dims[shape], 800, widths[w],
                       (order + (int)w + shape) % 2 == 0 ? AMPED_F32 : AMPED_F64);
        few_values(&p, w % 3 == 0 ? 1 : 50);
        all_ranks_are_right(&p, 1 + (int)w % 2, alone());
        free_all(&p);
      }
  check_no_leak();
}

/* Fields of no bits, of a code or of a mode with one index, lie behind numbers of exactly one and
 * two words. */
START_TEST(fields_may_lie_behind_the_last_word) {
  static const uint64_t dims[][AMPED_MAX_ORDER] = {
      {512, 512, 512, 512, 512, 512, 1024, 3},
      {2048, 2048, 2048, 2048, 1024, 1024, 3, 1},
      {1 << 18, 1 << 18, 1 << 18, 1 << 18, 1 << 18, 1 << 19, 1 << 19, 3}};
  for (int i = 0; i < 3; i++) {
    problem p;
    problem_create(&p, AMPED_MAX_ORDER, dims[i], 500, 4, i == 1 ? AMPED_F64 : AMPED_F32);
    few_values(&p, 1);
    all_ranks_are_right(&p, 1, alone());
    free_all(&p);
  }
  check_no_leak();
}

static void *output_with(problem *p, int threads, int mode, uint64_t *elements) {
  setup how = alone();
  amped_mttkrp_times times;
  bench s;
  how.options.threads = threads;
  bench_plan(&s, p, &how);
  bench_load(&s);
  check_ok(mttkrp_whole(&s.w, mode, &times));
  void *out = get_output(&s, mode);
  *elements = s.plan.modes[mode].rows.block_rows * (uint64_t)p->ncomps;
  bench_close(&s);
  return out;
}

START_TEST(the_number_of_threads_changes_no_bit) {
  static const uint64_t dims[] = {3, 500, 211};
  problem p;
  problem_create(&p, 3, dims, 40000, 16, AMPED_F32);
  for (int mode = 0; mode < 3; mode++) {
    uint64_t elements = 0;
    double *one = output_with(&p, 1, mode, &elements);
    for (int threads = 2; threads <= 5; threads++) {
      double *many = output_with(&p, threads, mode, &elements);
      ck_assert_int_eq(memcmp(one, many, elements * sizeof *one), 0);
      amped_free(many);
    }
    amped_free(one);
  }
  free_all(&p);
  check_no_leak();
}

/* The bar for floats, for rows of any length: here all nonzeros in one row, half of them in one row
 * of the last mode, and nothing cancels. */
START_TEST(long_rows_stay_accurate) {
  static const uint64_t dims[] = {1, 1009, 701};
  static const uint64_t ncomps = 8;
  problem p;
  bench s;
  setup how = alone();
  amped_mttkrp_times times;
  problem_create(&p, 3, dims, 2000000, (int)ncomps, AMPED_F32);
  for (uint64_t k = 0; k < p.t.nnz; k++)
    p.t.values[k] = fabs(p.t.values[k]);
  for (int m = 0; m < 3; m++)
    for (uint64_t i = 0; i < dims[m] * ncomps; i++)
      p.factors[m][i] = fabs(p.factors[m][i]);
  bench_plan(&s, &p, &how);
  bench_load(&s);
  for (int m = 0; m < 3; m += 2) {
    double *want = doubles(dims[m] * ncomps);
    double *bound = doubles(dims[m] * ncomps);
    uint64_t *count = NULL;
    check_ok(amped_calloc(&count, dims[m], sizeof *count, "a test"));
    amped_mttkrp(&p.t, m, (const double *const *)p.factors, p.ncomps, want, bound, count);
    check_ok(mttkrp_whole(&s.w, m, &times));
    double *got = get_output(&s, m);
    for (uint64_t i = 0; i < dims[m]; i++)
      for (uint64_t c = 0; c < ncomps; c++)
        near(got[amped_plan_position(&s.plan, m, i) * ncomps + c], want[i * ncomps + c],
             1e-5 * bound[i * ncomps + c], "MTTKRP", i, c);
    amped_free(got);
    amped_free(count);
    amped_free(bound);
    amped_free(want);
  }
  bench_close(&s);
  free_all(&p);
  check_no_leak();
}

TESTING_MAIN("packed", copies_are_as_small_as_promised, a_word_may_have_ten_bytes,
             values_are_coded_where_that_is_smaller, fields_of_any_width_come_back,
             codes_are_places_in_the_dictionary, values_at_equal_distances_are_a_ruler,
             other_values_are_looked_up, pieces_of_any_length_make_one_copy,
             wrong_nonzeros_are_refused, dictionaries_are_rounded_with_the_values,
             mttkrp_of_coded_copies, fields_may_lie_behind_the_last_word,
             the_number_of_threads_changes_no_bit, long_rows_stay_accurate)
