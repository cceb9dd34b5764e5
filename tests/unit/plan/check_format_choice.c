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
  plan->sorted = !one;
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

TESTING_MAIN("format_choice", one_copy_is_chosen_where_it_is_faster,
             one_copy_takes_longer_where_nothing_is_streamed, transfers_take_their_time,
             a_mode_waits_for_its_own_transfers)
