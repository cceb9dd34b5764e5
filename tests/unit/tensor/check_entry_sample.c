/* Held entries: a bounded sample that depends on the entries alone, against the slow obvious one.
 */
#include "tensor/entry_sample.h"

#include "backend/row_fit.h"
#include "tests/lib/testing.h"

#define ORDER 4
#define SEED 77

/* Entries first .. first + count; cells repeat after 50 of them. */
static void make_entries(uint64_t first, uint64_t count, amped_sptensor *t) {
  check_ok(amped_sptensor_create(t, ORDER, count));
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t cell = (first + i) * 7 % 50;
    for (int m = 0; m < ORDER; m++)
      t->indices[m][i] = amped_mix64(cell + 100 * (uint64_t)m) % (m == 0 ? UINT64_MAX : 3);
    t->values[i] = (double)(first + i);
  }
}

static void index_of(const amped_sptensor *t, uint64_t i, uint64_t index[ORDER]) {
  for (int m = 0; m < ORDER; m++)
    index[m] = t->indices[m][i];
}

/* Of all entries: how many distinct cells have a lesser hash, and what is the cell's last value? */
static void check_sample(const amped_sptensor *all, const amped_sptensor *kept, uint64_t most) {
  uint64_t cells = 0;
  for (uint64_t i = 0; i < all->nnz; i++) {
    uint64_t index[ORDER];
    uint64_t below = 0;
    bool is_last = true;
    index_of(all, i, index);
    const uint64_t hash = amped_entry_sample_hash(ORDER, index, SEED);
    for (uint64_t k = 0; k < all->nnz; k++) {
      uint64_t other[ORDER];
      bool later = false;
      index_of(all, k, other);
      for (uint64_t l = k + 1; l < all->nnz; l++) {
        uint64_t third[ORDER];
        index_of(all, l, third);
        later = later || memcmp(third, other, sizeof third) == 0;
      }
      below += !later && amped_entry_sample_hash(ORDER, other, SEED) < hash;
      is_last = is_last && (k <= i || memcmp(other, index, sizeof index) != 0);
    }
    cells += is_last;
    if (!is_last || below >= most)
      continue;
    uint64_t found[ORDER];
    ck_assert_uint_lt(below, kept->nnz);
    index_of(kept, below, found);
    ck_assert_mem_eq(found, index, sizeof index);
    ck_assert(kept->values[below] == all->values[i]);
  }
  ck_assert_uint_eq(kept->nnz, cells < most ? cells : most);
}

START_TEST(the_sample_depends_on_the_entries_alone) {
  static const uint64_t mosts[] = {0, 1, 7, 49, 50, 51, 1000};
  for (size_t k = 0; k < sizeof mosts / sizeof mosts[0]; k++)
    for (uint64_t step = 1; step <= 60; step += step < 4 ? 1 : 28) {
      amped_sptensor all;
      amped_sptensor kept = {.order = ORDER};
      make_entries(0, 60, &all);
      for (uint64_t first = 0; first < all.nnz; first += step) {
        amped_sptensor more;
        make_entries(first, all.nnz - first < step ? all.nnz - first : step, &more);
        check_ok(amped_entry_sample_add(&kept, &more, SEED, mosts[k]));
        amped_sptensor_free(&more);
      }
      check_sample(&all, &kept, mosts[k]);
      amped_sptensor_free(&kept);
      amped_sptensor_free(&all);
    }
  check_no_leak();
}
END_TEST

/* Cells in common, against a search of all pairs. */
START_TEST(common_cells_are_counted) {
  static const uint64_t mosts[] = {0, 1, 7, 20, 1000};
  static const uint64_t firsts[] = {0, 10, 19, 40};
  for (size_t k = 0; k < sizeof mosts / sizeof mosts[0]; k++)
    for (size_t f = 0; f < 2 * sizeof firsts / sizeof firsts[0]; f++) {
      const double t = (double)(f % 2);
      amped_sptensor kept = {.order = ORDER};
      amped_sptensor old;
      amped_sptensor more;
      amped_known_cells found;
      amped_known_cells want = {.compared = 0};
      make_entries(0, 20, &old);
      make_entries(firsts[f / 2], 30, &more);
      check_ok(amped_entry_sample_add(&kept, &old, SEED, mosts[k]));
      check_ok(amped_entry_sample_compare(&kept, &more, SEED, mosts[k], t * 1.5, &found));
      uint64_t last = 0;
      for (uint64_t i = 0; i < kept.nnz; i++) {
        uint64_t index[ORDER];
        index_of(&kept, i, index);
        last = amped_entry_sample_hash(ORDER, index, SEED);
      }
      for (uint64_t n = 0; n < more.nnz && mosts[k] > 0; n++) {
        uint64_t index[ORDER];
        uint64_t other[ORDER];
        bool repeats = false;
        bool is_kept = false;
        bool is_same = false;
        index_of(&more, n, index);
        for (uint64_t i = 0; i < n; i++) {
          index_of(&more, i, other);
          repeats = repeats || memcmp(index, other, sizeof index) == 0;
        }
        for (uint64_t i = 0; i < kept.nnz; i++) {
          index_of(&kept, i, other);
          is_kept = is_kept || memcmp(index, other, sizeof index) == 0;
          for (uint64_t e = 0; e < more.nnz; e++) {
            uint64_t third[ORDER];
            index_of(&more, e, third);
            is_same = is_same || (memcmp(index, other, sizeof index) == 0 &&
                                  memcmp(index, third, sizeof index) == 0 &&
                                  fabs(kept.values[i] - more.values[e]) <= t * 1.5);
          }
        }
        const bool in_range =
            kept.nnz < mosts[k] || amped_entry_sample_hash(ORDER, index, SEED) <= last;
        ck_assert(amped_entry_sample_has(&kept, index, SEED) == is_kept);
        ck_assert(amped_entry_sample_lacks(&kept, index, SEED, mosts[k]) == (in_range && !is_kept));
        if (repeats || (kept.nnz == mosts[k] && amped_entry_sample_hash(ORDER, index, SEED) > last))
          continue;
        want.compared++;
        want.known += is_kept;
        want.same += is_same;
      }
      ck_assert_uint_eq(found.compared, want.compared);
      ck_assert_uint_eq(found.known, want.known);
      ck_assert_uint_eq(found.same, want.same);
      amped_sptensor_free(&more);
      amped_sptensor_free(&old);
      amped_sptensor_free(&kept);
    }
  check_no_leak();
}
END_TEST

/* What is held out has a hash below a bound. */
START_TEST(the_hash_is_that_of_the_hold_out) {
  const uint64_t index[ORDER] = {5, 0, UINT64_MAX, 17};
  const uint64_t hash = amped_entry_sample_hash(ORDER, index, SEED);
  ck_assert(!amped_held_out(ORDER, index, SEED, hash));
  ck_assert(amped_held_out(ORDER, index, SEED, hash + 1));
}
END_TEST

START_TEST(a_failure_changes_nothing) {
  amped_sptensor kept = {.order = ORDER};
  amped_sptensor more;
  amped_status status = AMPED_FAILED;
  make_entries(0, 20, &more);
  check_ok(amped_entry_sample_add(&kept, &more, SEED, 10));
  const double first = kept.values[0];
  for (int64_t k = 0; status != AMPED_OK; k++) {
    amped_mem_fail_at(k);
    status = amped_entry_sample_add(&kept, &more, SEED, 10);
    amped_mem_fail_at(-1);
    ck_assert_uint_eq(kept.nnz, 10);
    ck_assert(kept.values[0] == first);
    amped_status_clear();
  }
  amped_sptensor_free(&kept);
  amped_sptensor_free(&more);
  check_no_leak();
}
END_TEST

TESTING_MAIN("entry_sample", the_sample_depends_on_the_entries_alone, common_cells_are_counted,
             the_hash_is_that_of_the_hold_out, a_failure_changes_nothing)
