/* Best: against a sort of all, with ties, and more room than items. */
#include <math.h>

#include "base/best.h"
#include "base/random.h"
#include "tests/lib/testing.h"

enum { COUNT = 500 };

START_TEST(the_best_are_those_of_a_sort) {
  static const uint64_t capacities[] = {1, 2, 7, 499, 500, 600};
  for (size_t c = 0; c < sizeof capacities / sizeof capacities[0]; c++) {
    amped_best_item all[COUNT], kept[600];
    uint64_t count = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
      const double key = floor(20.0 * amped_random_double(4, 0, i)) - 10.0; /* many ties */
      const uint64_t index = i * 7 % COUNT;
      all[i] = (amped_best_item){index, key, -key};
      const bool takes = amped_best_takes(kept, capacities[c], count, key, index);
      const uint64_t before = count;
      const amped_best_item worst = kept[0];
      amped_best_offer(kept, capacities[c], &count, all[i]);
      ck_assert(takes ==
                (count > before || kept[0].index != worst.index || kept[0].key != worst.key));
    }
    /* Slowly: exchange neighbours until all are in order. */
    for (bool sorted = false; !sorted;) {
      sorted = true;
      for (uint64_t i = 1; i < COUNT; i++)
        if (all[i].key > all[i - 1].key ||
            (all[i].key == all[i - 1].key && all[i].index < all[i - 1].index)) {
          const amped_best_item swap = all[i];
          all[i] = all[i - 1];
          all[i - 1] = swap;
          sorted = false;
        }
    }
    amped_best_sort(kept, count);
    ck_assert_uint_eq(count, capacities[c] < COUNT ? capacities[c] : COUNT);
    for (uint64_t i = 0; i < count; i++)
      ck_assert(kept[i].index == all[i].index && kept[i].key == all[i].key &&
                kept[i].value == -kept[i].key);
  }
}

TESTING_MAIN("best", the_best_are_those_of_a_sort)
