/* Format choice: seconds of a sweep with a copy for each mode, with one, and with mixtures. */
#include "plan/format_choice.h"
#include "tests/lib/testing.h"

typedef struct choice_case {
  uint64_t dims[AMPED_MAX_ORDER];
  int order;
  uint64_t nnz;
  double all_bytes, one_bytes; /* a nonzero */
  double memory;               /* for copies, of all copies' bytes */
  bool one;                    /* is faster */
} choice_case;

/* The shapes of the papers. Copies that fit are never given up; one copy wins where a good part of
 * them would be streamed. */
static const choice_case cases[] = {
    {.dims = {4821207, 1774269, 1805187},
     .order = 3,
     .nnz = 500000000,
     .all_bytes = 30.6,
     .one_bytes = 10.2,
     .memory = 1.0,
     .one = false},
    {.dims = {4821207, 1774269, 1805187},
     .order = 3,
     .nnz = 500000000,
     .all_bytes = 30.6,
     .one_bytes = 10.2,
     .memory = 0.9,
     .one = false},
    {.dims = {4821207, 1774269, 1805187},
     .order = 3,
     .nnz = 500000000,
     .all_bytes = 30.6,
     .one_bytes = 10.2,
     .memory = 0.5,
     .one = true},
    {.dims = {4821207, 1774269, 1805187},
     .order = 3,
     .nnz = 500000000,
     .all_bytes = 30.6,
     .one_bytes = 10.2,
     .memory = 0.34,
     .one = true},
    {.dims = {4821207, 1774269, 1805187},
     .order = 3,
     .nnz = 500000000,
     .all_bytes = 30.6,
     .one_bytes = 10.2,
     .memory = 0.3,
     .one = true},
    {.dims = {8211298, 176962, 8116559},
     .order = 3,
     .nnz = 500000000,
     .all_bytes = 30.6,
     .one_bytes = 10.2,
     .memory = 0.4,
     .one = true},
    {.dims = {8211298, 176962, 8116559},
     .order = 3,
     .nnz = 500000000,
     .all_bytes = 30.6,
     .one_bytes = 10.2,
     .memory = 1.0,
     .one = false},
    {.dims = {46, 239172, 239172},
     .order = 3,
     .nnz = 500000000,
     .all_bytes = 14.3,
     .one_bytes = 4.2,
     .memory = 0.95,
     .one = false},
    {.dims = {46, 239172, 239172},
     .order = 3,
     .nnz = 500000000,
     .all_bytes = 14.3,
     .one_bytes = 4.2,
     .memory = 0.4,
     .one = true},
    {.dims = {12092, 9184, 28818},
     .order = 3,
     .nnz = 77000000,
     .all_bytes = 24.3,
     .one_bytes = 8.1,
     .memory = 0.4,
     .one = true},
    {.dims = {320000, 28000000, 1600000, 731},
     .order = 4,
     .nnz = 50000000,
     .all_bytes = 44.0,
     .one_bytes = 12.2,
     .memory = 0.4,
     .one = true},
    {.dims = {320000, 28000000, 1600000, 731},
     .order = 4,
     .nnz = 50000000,
     .all_bytes = 44.0,
     .one_bytes = 12.2,
     .memory = 1.0,
     .one = false},
};

/* A plan of one rank, which has all nonzeros. */
static void make_plan(amped_plan *plan, const choice_case *c, bool one, uint64_t *nnz) {
  memset(plan, 0, sizeof *plan);
  plan->order = c->order;
  plan->nranks = 1;
  plan->value_type = AMPED_F32;
  plan->ld = 32;
  plan->own = one ? 0 : amped_plan_all_own(c->order);
  plan->boxed = one ? 0 : -1;
  for (int m = 0; m < c->order; m++) {
    plan->dims[m] = c->dims[m];
    plan->modes[m].copy.rank_nnz = nnz;
    plan->boxed = one && c->dims[m] > c->dims[plan->boxed] ? m : plan->boxed;
  }
  if (one) {
    ck_assert(amped_linear_make(&plan->linear, c->order, c->dims));
    amped_linear_cut_best(&plan->linear, 0, AMPED_F32, *nnz);
  }
}

/* Each mode transfers as much. */
static double seconds(const choice_case *c, bool one, double streamed) {
  uint64_t nnz = c->nnz;
  uint64_t of_mode[AMPED_MAX_ORDER];
  amped_plan plan;
  make_plan(&plan, c, one, &nnz);
  for (int m = 0; m < c->order; m++)
    of_mode[m] = (uint64_t)(streamed / c->order);
  return amped_choice_seconds(&plan, of_mode, &amped_choice_rates_gpu);
}

static double above(double bytes) {
  return bytes > 0.0 ? bytes : 0.0;
}

START_TEST(one_copy_is_chosen_where_it_is_faster) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const choice_case *c = &cases[i];
    const double nnz = (double)c->nnz;
    const double memory = c->memory * nnz * c->all_bytes;
    const double all = seconds(c, false, above(nnz * c->all_bytes - memory));
    const double one = seconds(c, true, c->order * above(nnz * c->one_bytes - memory));
    ck_assert_msg((one < all) == c->one, "case %zu: %.3g s for all, %.3g for one", i, all, one);
  }
}
END_TEST

START_TEST(one_copy_takes_longer_where_nothing_is_streamed) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_double_ge(seconds(&cases[i], true, 0.0), seconds(&cases[i], false, 0.0));
}
END_TEST

START_TEST(transfers_take_their_time) {
  const double streamed = 55.5e9;
  ck_assert_double_ge(seconds(&cases[0], true, streamed), 1.0);
  ck_assert_double_ge(seconds(&cases[0], false, 2.0 * streamed), 2.0);
}
END_TEST

/* Kernels of other modes do not hide what one transfers. */
START_TEST(a_mode_waits_for_its_own_transfers) {
  const uint64_t streamed[AMPED_MAX_ORDER] = {UINT64_C(55500000000)};
  uint64_t nnz = cases[0].nnz;
  amped_plan plan;
  make_plan(&plan, &cases[0], false, &nnz);
  ck_assert_double_eq_tol(amped_choice_seconds(&plan, streamed, &amped_choice_rates_gpu),
                          1.0 + amped_choice_mode_seconds(&plan, 1, &amped_choice_rates_gpu) +
                              amped_choice_mode_seconds(&plan, 2, &amped_choice_rates_gpu),
                          1e-9);
}
END_TEST

/* --- mixtures --------------------------------------------------------------------------------- */

/* Amazon's shape: copies of 10 GB, of modes that gain 30, 20 and 10 ms each; mode 1 has the shared
 * one. */
static amped_choice_sizes made_up(double room, bool streams) {
  amped_choice_sizes s = {.order = 4, .boxed = 1, .boxed_bytes = 10e9, .room = room};
  s.streams = streams;
  for (int m = 0; m < 4; m++) {
    s.own_bytes[m] = m == 3 ? 4e9 : 10e9;
    s.own_sec[m] = 0.02;
    s.boxed_sec[m] = 0.02 + 0.01 * (m == 0 ? 3 : m == 2 ? 2 : 1);
  }
  return s;
}

typedef struct mixture_case {
  double room;
  bool streams;
  int count;    /* mixtures that are possible */
  unsigned own; /* of the fastest */
} mixture_case;

/* Modes 0, 2 and 3 may have copies: those that save most and fit. Of streamed ones transfers may
 * hide behind their own kernels. */
static const mixture_case mixtures[] = {
    {.room = -1.0, .streams = true, .count = 0, .own = 0},
    {.room = 0.0, .streams = false, .count = 0, .own = 0},
    {.room = 3.9e9, .streams = false, .count = 0, .own = 0},
    {.room = 4.1e9, .streams = false, .count = 1, .own = 8},
    {.room = 9.9e9, .streams = false, .count = 1, .own = 8},
    {.room = 10.1e9, .streams = false, .count = 3, .own = 1},
    {.room = 14.1e9, .streams = false, .count = 5, .own = 9},
    {.room = 20.1e9, .streams = false, .count = 6, .own = 5},
    {.room = 24.1e9, .streams = false, .count = 7, .own = 13},
    {.room = 1e12, .streams = false, .count = 7, .own = 13},
    {.room = 4.1e9, .streams = true, .count = 7, .own = 8},
    {.room = 10.1e9, .streams = true, .count = 7, .own = 1},
    {.room = 14.1e9, .streams = true, .count = 7, .own = 9},
    {.room = 24.1e9, .streams = true, .count = 7, .own = 13},
    {.room = 23.9e9, .streams = true, .count = 7, .own = 13},
};

START_TEST(the_mixture_that_saves_most_comes_first) {
  for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++) {
    const mixture_case *c = &mixtures[i];
    const amped_choice_sizes s = made_up(c->room, c->streams);
    amped_choice list[AMPED_CHOICE_MOST];
    const int count = amped_choice_mixtures(&s, &amped_choice_rates_gpu, list);
    ck_assert_msg(count == c->count, "case %zu: %d mixtures", i, count);
    for (int k = 0; k < count; k++) {
      ck_assert_uint_eq(list[k].own & 2U, 0);
      ck_assert(!list[k].planned);
      ck_assert_double_ge(list[k].sec, list[k > 0 ? k - 1 : 0].sec);
      ck_assert(list[k].streamed_bytes <= 0.0 || c->streams);
    }
    if (count > 0)
      ck_assert_msg(list[0].own == c->own, "case %zu: modes %#x", i, list[0].own);
  }
}
END_TEST

/* 400 MB that do not fit: 7 ms, which kernels hide. */
START_TEST(mixtures_are_predicted_from_sizes) {
  const amped_choice_sizes s = made_up(23.6e9, true);
  amped_choice list[AMPED_CHOICE_MOST];
  ck_assert_int_eq(amped_choice_mixtures(&s, &amped_choice_rates_gpu, list), 7);
  ck_assert_uint_eq(list[0].own, 13);
  ck_assert_double_eq_tol(list[0].bytes, 34e9, 1.0);
  ck_assert_double_eq_tol(list[0].streamed_bytes, 0.4e9, 1.0);
  ck_assert_double_eq_tol(list[0].sec, 0.09, 1e-9);
  const amped_choice_sizes less = made_up(1e9, true);
  ck_assert_int_eq(amped_choice_mixtures(&less, &amped_choice_rates_gpu, list), 7);
  ck_assert_uint_eq(list[0].own, 8); /* the shortest transfer */
  ck_assert_double_eq_tol(list[0].streamed_bytes, 3e9, 1.0);
  ck_assert_double_eq_tol(list[0].sec, 0.12 + 3e9 / 55.5e9, 1e-9);
  ck_assert_double_eq_tol(list[6].sec, 0.03 + 23e9 / 55.5e9, 1e-6);
}
END_TEST

START_TEST(equal_choices_take_the_fewest_bytes) {
  amped_choice c[] = {{.own = 1, .bytes = 3.0, .streamed_bytes = 0.0, .sec = 2.0, .planned = false},
                      {.own = 2, .bytes = 2.0, .streamed_bytes = 0.0, .sec = 2.0, .planned = false},
                      {.own = 4, .bytes = 9.0, .streamed_bytes = 0.0, .sec = 1.0, .planned = true}};
  amped_choice_sort(c, 3);
  ck_assert_uint_eq(c[0].own, 4);
  ck_assert_uint_eq(c[1].own, 2);
  ck_assert_uint_eq(c[2].own, 1);
}
END_TEST

/* A mode with a copy of its own takes what it takes where all have one. */
START_TEST(plans_of_mixtures_lie_between) {
  const uint64_t none[AMPED_MAX_ORDER] = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (unsigned own = 1; own < 1U << cases[i].order; own++) {
      const double one = seconds(&cases[i], true, 0.0);
      const double all = seconds(&cases[i], false, 0.0);
      uint64_t nnz = cases[i].nnz;
      amped_plan plan;
      make_plan(&plan, &cases[i], true, &nnz);
      plan.own = own & ~(1U << plan.boxed);
      const double mixed = amped_choice_seconds(&plan, none, &amped_choice_rates_gpu);
      ck_assert_double_le(mixed, one);
      ck_assert_double_ge(mixed, all);
    }
}
END_TEST

TESTING_MAIN("format_choice", the_mixture_that_saves_most_comes_first,
             mixtures_are_predicted_from_sizes, equal_choices_take_the_fewest_bytes,
             plans_of_mixtures_lie_between, one_copy_is_chosen_where_it_is_faster,
             one_copy_takes_longer_where_nothing_is_streamed, transfers_take_their_time,
             a_mode_waits_for_its_own_transfers)
