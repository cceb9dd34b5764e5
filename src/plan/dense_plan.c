/* Dense plan: choice of slab mode and tree, and sizes of contractions. */
#include "plan/dense_plan.h"

#include <string.h>

/* The first mode is the slab mode if it has LEAST_INDICES indices per rank and 1 / LEAST_SHARE of
 * the longest mode's indices. */
#define LEAST_INDICES 8
#define LEAST_SHARE 4

int amped_dense_slab_mode(const amped_dense_info *info, int nranks) {
  int largest = 0;
  for (int m = 1; m < info->order; m++)
    if (info->dims[m] > info->dims[largest])
      largest = m;
  const uint64_t least = LEAST_INDICES * (uint64_t)nranks;
  return info->dims[0] >= least && info->dims[0] >= info->dims[largest] / LEAST_SHARE ? 0 : largest;
}

uint64_t amped_dense_contracted(const amped_dense_plan *plan, int order, int ncomps, int from,
                                int end) {
  uint64_t elements = (uint64_t)ncomps;
  for (int k = 0; k < order; k++)
    if ((k < from || k >= end) && !amped_mul(elements, plan->dims[plan->layout[k]], &elements))
      return UINT64_MAX;
  return elements;
}

uint64_t amped_dense_largest(const amped_dense_plan *plan, int order, int ncomps) {
  uint64_t most = 0;
  for (int k = 0; k < order; k++) {
    uint64_t elements = 0;
    if (plan->tree == AMPED_TREE_ONE)
      elements = amped_dense_contracted(plan, order, ncomps, k, k + 1);
    else
      elements = k < order / 2 ? amped_dense_contracted(plan, order, ncomps, 0, order / 2)
                               : amped_dense_contracted(plan, order, ncomps, order / 2, order);
    most = elements > most ? elements : most;
  }
  return most;
}

double amped_dense_sweep_bytes(const amped_dense_plan *plan, int order, int ncomps,
                               uint64_t value_bytes, amped_dense_tree tree) {
  const double cells = (double)plan->cells * (double)amped_cell_bytes(plan->type);
  double t = 0.0; /* bytes of T per pass */
  if (tree == AMPED_TREE_SPLIT) {
    const int half = order / 2;
    const double slower = (double)amped_dense_contracted(plan, order, ncomps, 0, half);
    const double faster = (double)amped_dense_contracted(plan, order, ncomps, half, order);
    /* Written once; read once for each remaining mode. */
    return 2.0 * cells +
           (double)value_bytes * (slower * (1.0 + order - half) + faster * (1.0 + half));
  }
  for (int k = 0; k < order; k++)
    t +=
        (double)amped_dense_contracted(plan, order, ncomps, k, k + 1) * (double)value_bytes / order;
  return (double)order / (order - 1.0) * (cells + t * order);
}

void amped_dense_plan_leave(amped_dense_plan *plan, const amped_dense_info *info) {
  plan->outside = true;
  plan->slab_mode = info->layout[0];
  plan->first = plan->count = plan->cells = 0;
  memcpy(plan->dims, info->dims, sizeof plan->dims);
  plan->dims[plan->slab_mode] = 0;
}

void amped_dense_plan_make(amped_dense_plan *plan, const amped_dense_info *info, int nranks,
                           int ncomps, uint64_t value_bytes, uint64_t first, uint64_t count) {
  memset(plan, 0, sizeof *plan);
  plan->type = info->type;
  memcpy(plan->layout, info->layout, sizeof plan->layout);
  plan->slab_mode = amped_dense_slab_mode(info, nranks);
  plan->first = first;
  plan->count = count;
  plan->cells = 1;
  for (int m = 0; m < info->order; m++) {
    plan->dims[m] = m == plan->slab_mode ? count : info->dims[m];
    plan->cells *= plan->dims[m];
  }
  /* All ranks use the tree of the whole tensor. */
  amped_dense_plan whole = *plan;
  whole.dims[plan->slab_mode] = info->dims[plan->slab_mode];
  whole.cells = info->cells;
  const double one =
      amped_dense_sweep_bytes(&whole, info->order, ncomps, value_bytes, AMPED_TREE_ONE);
  const double split =
      amped_dense_sweep_bytes(&whole, info->order, ncomps, value_bytes, AMPED_TREE_SPLIT);
  plan->tree = info->order > 3 && split < one ? AMPED_TREE_SPLIT : AMPED_TREE_ONE;
}
