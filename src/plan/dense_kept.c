/* Kept contraction of a dense tensor: reuse of a rank's last one, or choice of the next. */
#include "plan/dense_kept.h"

#include <string.h>

static bool holds(const amped_dense_kept *kept, const amped_dense_plan *plan, int place,
                  const uint64_t *versions) {
  if (kept->end == kept->from || (place >= kept->from && place < kept->end))
    return false;
  for (int k = kept->from; k < kept->end; k++)
    if (kept->versions[plan->layout[k]] != versions[plan->layout[k]])
      return false;
  return true;
}

/* The mode to contract for MTTKRP of mode. */
static int newest_mode(amped_dense_kept *kept, int order, int mode, const uint64_t *versions) {
  int newest = mode == 0 ? 1 : 0;
  if (kept->goes_on && kept->next != mode)
    return kept->next;
  for (int m = 0; m < order; m++)
    if (m != mode && versions[m] > versions[newest])
      newest = m;
  return newest;
}

static int place_of(const amped_dense_plan *plan, int mode) {
  int k = 0;
  while (plan->layout[k] != mode)
    k++;
  return k;
}

bool amped_dense_serves(amped_dense_kept *kept, const amped_dense_plan *plan, int order, int mode,
                        const uint64_t *versions) {
  const int place = place_of(plan, mode);
  const int half = order / 2;
  if (holds(kept, plan, place, versions))
    return true;
  if (plan->tree == AMPED_TREE_SPLIT) {
    kept->from = place < half ? half : 0;
    kept->end = place < half ? order : half;
  } else {
    kept->from = place_of(plan, newest_mode(kept, order, mode, versions));
    kept->end = kept->from + 1;
  }
  kept->goes_on = false;
  for (int k = kept->from; k < kept->end; k++)
    kept->versions[plan->layout[k]] = versions[plan->layout[k]];
  return false;
}

static bool is_fixed(uint64_t fixed, int mode) {
  return (fixed >> mode & 1) != 0;
}

/* Versions of the factors that a run begins with: set in the order of modes. */
static void begin_versions(int order, uint64_t *versions, uint64_t *clock) {
  for (int m = 0; m < order && *clock < (uint64_t)order; m++)
    versions[m] = ++*clock;
}

uint64_t amped_dense_follow(amped_dense_kept *kept, const amped_dense_plan *plan, int order,
                            uint64_t fixed, uint64_t *versions, uint64_t *clock) {
  uint64_t contractions = 0;
  begin_versions(order, versions, clock);
  for (int m = 0; m < order; m++)
    if (!is_fixed(fixed, m)) {
      contractions += !amped_dense_serves(kept, plan, order, m, versions);
      versions[m] = ++*clock;
    }
  return contractions;
}

/* The sweeps so far are followed, and then one update more: it keeps the contraction that the
 * interrupted run would use. */
void amped_dense_go_on(amped_dense_kept *kept, const amped_dense_plan *plan, int order,
                       uint64_t fixed, uint64_t sweeps) {
  amped_dense_kept followed = {.from = 0};
  uint64_t versions[AMPED_MAX_ORDER] = {0};
  uint64_t clock = 0;
  int first = 0;
  while (is_fixed(fixed, first))
    first++;
  begin_versions(order, versions, &clock);
  for (uint64_t s = 0; s < sweeps; s++)
    (void)amped_dense_follow(&followed, plan, order, fixed, versions, &clock);
  (void)amped_dense_serves(&followed, plan, order, first, versions);
  memset(kept, 0, sizeof *kept);
  kept->goes_on = true;
  kept->next = plan->layout[followed.from];
}
