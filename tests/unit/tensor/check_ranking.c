/* Rankings and predictors: against values that are computed one by one; blocks, tiles, ties, what
 * was seen, average rows, any number of threads. */
#include <omp.h>

#include "base/random.h"
#include "tensor/ranking.h"
#include "tests/lib/testing.h"
#include "tests/lib/testing_models.h"

enum { ORDER = 3, NCOMPS = 3 };
static const uint64_t dims[ORDER] = {70, 131, 4};

static void make_model(amped_ktensor *k, amped_completion *c, bool biased) {
  testing_model(k, c, ORDER, dims, NCOMPS, biased);
}

/* Rows of zeros were never observed, in a completion that does not list its observed rows. */
static bool is_observed(const amped_ktensor *k, const amped_completion *c, int mode, uint64_t i) {
  bool any = c == NULL || (c->biased && c->bias[mode][i] != 0.0);
  for (int r = 0; r < NCOMPS; r++)
    any = any || k->factors[mode][i * NCOMPS + (uint64_t)r] != 0.0;
  return any;
}

/* Mean of every step-th number of a column with a number for each row of the mode: of observed
 * rows. */
static double mean_of(const amped_ktensor *k, const amped_completion *c, int mode,
                      const double *column, uint64_t step) {
  double sum = 0.0;
  uint64_t count = 0;
  for (uint64_t i = 0; i < dims[mode]; i++)
    if (is_observed(k, c, mode, i)) {
      sum += column[i * step];
      count++;
    }
  return sum / (double)count;
}

static double value_of(const amped_ktensor *k, const amped_completion *c, const uint64_t *index) {
  double y = 0.0;
  for (int r = 0; r < NCOMPS; r++) {
    double product = k->weights[r];
    for (int m = 0; m < ORDER; m++)
      product *= index[m] == AMPED_PREDICTOR_COLD ? mean_of(k, c, m, k->factors[m] + r, NCOMPS)
                                                  : k->factors[m][index[m] * NCOMPS + (uint64_t)r];
    y += product;
  }
  for (int m = 0; m < ORDER && c != NULL && c->biased; m++)
    y += index[m] == AMPED_PREDICTOR_COLD ? mean_of(k, c, m, c->bias[m], 1) : c->bias[m][index[m]];
  return c != NULL ? c->mean + c->scale * y : y;
}

START_TEST(values_are_those_of_the_model) {
  enum { CELLS = 3000 };
  static uint64_t cells[ORDER][CELLS];
  static double values[CELLS];
  for (int what = 0; what < 3; what++) { /* biased, not biased, a plain decomposition */
    amped_ktensor k;
    amped_completion c;
    amped_predictor p;
    uint64_t *const indices[AMPED_MAX_ORDER] = {cells[0], cells[1], cells[2]};
    make_model(&k, &c, what == 0);
    for (int m = 0; m < ORDER; m++)
      for (uint64_t i = 0; i < CELLS; i++)
        cells[m][i] = amped_random_u64(3, (uint64_t)m, i) % 9 == 0
                          ? AMPED_PREDICTOR_COLD
                          : amped_random_u64(4, (uint64_t)m, i) % dims[m];
    check_ok(amped_predictor_create(&k, what < 2 ? &c : NULL, &p));
    amped_predictor_values(&p, indices, CELLS, values);
    for (uint64_t i = 0; i < CELLS; i++) {
      const uint64_t index[ORDER] = {cells[0][i], cells[1][i], cells[2][i]};
      ck_assert_double_eq_tol(values[i], value_of(&k, what < 2 ? &c : NULL, index), 1e-12);
    }
    amped_predictor_free(&p);
    amped_completion_free(&c);
    amped_ktensor_free(&k);
  }
  check_no_leak();
}

/* Is item i of the target what a search of all values gives? `taken` marks those before it. */
static void check_item(const amped_ranking *q, uint64_t target, const amped_best_item *item,
                       bool *taken) {
  uint64_t best = AMPED_PREDICTOR_COLD;
  double most = 0.0;
  for (uint64_t j = 0; j < dims[q->of]; j++) {
    uint64_t index[ORDER] = {q->at[0], q->at[1], q->at[2]};
    index[q->target] = target;
    index[q->of] = j;
    const double value = value_of(q->p->k, q->p->c, index);
    bool seen = false;
    for (uint64_t s = q->seen_begin != NULL ? q->seen_begin[target] : 0;
         q->seen_begin != NULL && s < q->seen_begin[target + 1]; s++)
      seen = seen || q->seen[s] == j;
    if (!taken[j] && !seen && amped_predictor_knows(q->p, q->of, j) &&
        (best == AMPED_PREDICTOR_COLD || value > most)) {
      best = j;
      most = value;
    }
  }
  ck_assert_uint_eq(item->index, best);
  ck_assert(item->value == most);
  taken[best] = true;
}

static void check_all(const amped_ranking *q, uint64_t block) {
  static amped_best_item items[131 * 131];
  static uint64_t counts[131];
  for (uint64_t first = 0; first < dims[q->target]; first += block) {
    const uint64_t left = dims[q->target] - first;
    const uint64_t count = left < block ? left : block;
    check_ok(amped_ranking_find(q, first, count, items, counts));
    for (uint64_t i = 0; i < count; i++) {
      bool taken[131] = {false};
      uint64_t allowed = 0;
      for (uint64_t j = 0; j < dims[q->of]; j++)
        allowed += amped_predictor_knows(q->p, q->of, j);
      for (uint64_t s = q->seen_begin != NULL ? q->seen_begin[first + i] : 0;
           q->seen_begin != NULL && s < q->seen_begin[first + i + 1]; s++)
        allowed -= amped_predictor_knows(q->p, q->of, q->seen[s]);
      ck_assert_uint_eq(counts[i], allowed < q->most ? allowed : q->most);
      for (uint64_t x = 0; x < counts[i]; x++)
        check_item(q, first + i, &items[i * q->most + x], taken);
    }
  }
}

START_TEST(the_best_are_found_with_ties_by_index) {
  static const uint64_t mosts[] = {1, 6, 131};
  for (int threads = 1; threads <= 3; threads++)
    for (int m = 0; m < 3; m++)
      for (int biased = 0; biased < 2; biased++) {
        amped_ktensor k;
        amped_completion c;
        amped_predictor p;
        make_model(&k, &c, biased != 0);
        check_ok(amped_predictor_create(&k, &c, &p));
        omp_set_num_threads(threads);
        const amped_ranking q = {.p = &p, .target = 0, .of = 1, .at = {0, 0, 2}, .most = mosts[m]};
        ck_assert_uint_le(amped_ranking_block(&q), dims[0]);
        check_all(&q, m == 1 ? 7 : amped_ranking_block(&q));
        amped_predictor_free(&p);
        amped_completion_free(&c);
        amped_ktensor_free(&k);
      }
  check_no_leak();
}

START_TEST(what_was_seen_is_left_out) {
  static uint64_t begin[71], seen[70 * 131];
  uint64_t count = 0;
  amped_ktensor k;
  amped_completion c;
  amped_predictor p;
  make_model(&k, &c, true);
  check_ok(amped_predictor_create(&k, &c, &p));
  for (uint64_t i = 0; i < 70; i++) {
    begin[i] = count;
    for (uint64_t j = 0; j < 131; j++)
      if (i == 9 || amped_random_u64(5, i, j) % 2 == 0) /* target 9 has seen all */
        seen[count++] = j;
  }
  begin[70] = count;
  const amped_ranking q = {.p = &p,
                           .target = 0,
                           .of = 1,
                           .at = {0, 0, 3},
                           .most = 80,
                           .seen_begin = begin,
                           .seen = seen};
  check_all(&q, amped_ranking_block(&q));
  amped_predictor_free(&p);
  amped_completion_free(&c);
  amped_ktensor_free(&k);
  check_no_leak();
}

START_TEST(want_of_memory_leaks_nothing) {
  amped_best_item items[3];
  uint64_t counts[1];
  amped_ktensor k;
  amped_completion c;
  amped_predictor p;
  make_model(&k, &c, true);
  for (int64_t at = 0;; at++) {
    amped_mem_fail_at(at);
    amped_status status = amped_predictor_create(&k, &c, &p);
    if (status == AMPED_OK) {
      const amped_ranking q = {.p = &p, .target = 1, .of = 0, .most = 3};
      status = amped_ranking_find(&q, 5, 1, items, counts);
    }
    amped_mem_fail_at(-1);
    amped_predictor_free(&p);
    amped_status_clear();
    if (status == AMPED_OK)
      break;
    ck_assert_int_eq(status, AMPED_FAILED);
    ck_assert_int_lt(at, 100);
  }
  amped_completion_free(&c);
  amped_ktensor_free(&k);
  check_no_leak();
}

TESTING_MAIN("ranking", values_are_those_of_the_model, the_best_are_found_with_ties_by_index,
             what_was_seen_is_left_out, want_of_memory_leaks_nothing)
