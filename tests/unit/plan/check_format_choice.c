/* Format choice: seconds of a sweep with a copy for each mode, and with one. */
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
    {{4821207, 1774269, 1805187}, 3, 500000000, 30.6, 10.2, 1.0, false},
    {{4821207, 1774269, 1805187}, 3, 500000000, 30.6, 10.2, 0.9, false},
    {{4821207, 1774269, 1805187}, 3, 500000000, 30.6, 10.2, 0.5, true},
    {{4821207, 1774269, 1805187}, 3, 500000000, 30.6, 10.2, 0.34, true},
    {{4821207, 1774269, 1805187}, 3, 500000000, 30.6, 10.2, 0.3, true},
    {{8211298, 176962, 8116559}, 3, 500000000, 30.6, 10.2, 0.4, true},
    {{8211298, 176962, 8116559}, 3, 500000000, 30.6, 10.2, 1.0, false},
    {{46, 239172, 239172}, 3, 500000000, 14.3, 4.2, 0.95, false},
    {{46, 239172, 239172}, 3, 500000000, 14.3, 4.2, 0.4, true},
    {{12092, 9184, 28818}, 3, 77000000, 24.3, 8.1, 0.4, true},
    {{320000, 28000000, 1600000, 731}, 4, 50000000, 44.0, 12.2, 0.4, true},
    {{320000, 28000000, 1600000, 731}, 4, 50000000, 44.0, 12.2, 1.0, false},
};

static double seconds(const choice_case *c, bool one, double streamed) {
  amped_plan plan;
  uint64_t nnz = c->nnz;
  memset(&plan, 0, sizeof plan);
  plan.order = c->order;
  plan.nranks = 1;
  plan.value_type = AMPED_F32;
  plan.ld = 32;
  plan.copies = one ? 1 : c->order;
  for (int m = 0; m < c->order; m++) {
    plan.dims[m] = c->dims[m];
    plan.modes[m].copy.rank_nnz = &nnz;
    plan.boxed = one && c->dims[m] > c->dims[plan.boxed] ? m : plan.boxed;
  }
  if (one) {
    ck_assert(amped_linear_make(&plan.linear, c->order, c->dims));
    amped_linear_cut_best(&plan.linear, 0, AMPED_F32, nnz);
  }
  return amped_choice_seconds(&plan, (uint64_t)streamed, &amped_choice_rates_gpu);
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

TESTING_MAIN("format_choice", one_copy_is_chosen_where_it_is_faster,
             one_copy_takes_longer_where_nothing_is_streamed, transfers_take_their_time)
