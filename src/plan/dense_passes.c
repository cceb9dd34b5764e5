/* Dense passes: counting contractions in a sequence of updates. */
#include "plan/dense_passes.h"

#include "plan/dense_kept.h"

const char *amped_dense_tree_name(amped_dense_tree tree) {
  return tree == AMPED_TREE_ONE ? "one mode" : "half of the modes";
}

double amped_dense_passes(const amped_dense_plan *plan, int order) {
  return plan->tree == AMPED_TREE_ONE ? order / (order - 1.0) : 2.0;
}

int amped_dense_period(const amped_dense_plan *plan, int order) {
  return plan->tree == AMPED_TREE_ONE ? order - 1 : 1;
}

/* Is the mode in the slower half of the layout? */
static bool is_slower(const amped_dense_plan *plan, int order, int mode) {
  int place = 0;
  while (plan->layout[place] != mode)
    place++;
  return place < order / 2;
}

bool amped_dense_contracts(const amped_dense_plan *plan, int order, uint64_t update) {
  const int mode = (int)(update % (uint64_t)order);
  const int before = (mode + order - 1) % order;
  if (plan->tree == AMPED_TREE_ONE)
    return update % ((uint64_t)order - 1) == 0;
  return update == 0 || is_slower(plan, order, mode) != is_slower(plan, order, before);
}

uint64_t amped_dense_count_passes(const amped_dense_plan *plan, int order, uint64_t first,
                                  uint64_t end) {
  uint64_t passes = 0;
  for (uint64_t u = first; u < end; u++)
    passes += u == first || amped_dense_contracts(plan, order, u);
  return passes;
}

uint64_t amped_dense_free_passes(const amped_dense_plan *plan, int order, uint64_t fixed,
                                 uint64_t first, uint64_t end) {
  amped_dense_kept kept = {.from = 0};
  uint64_t versions[AMPED_MAX_ORDER] = {0};
  uint64_t clock = 0;
  uint64_t passes = 0;
  if (first > 0)
    amped_dense_go_on(&kept, plan, order, fixed, first);
  for (uint64_t s = first; s < end; s++)
    passes += amped_dense_follow(&kept, plan, order, fixed, versions, &clock);
  return passes;
}
