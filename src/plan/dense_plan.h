/* Dense plan: the slab of a dense tensor that each rank holds, and how MTTKRP contracts it.
 *
 * A slab is the tensor with the indices of one mode, the slab mode, restricted to a range of a
 * rank's own: first .. first + count. The slab mode is the first mode where dims[0] >= 8 ranks and
 * dims[0] >= a quarter of the largest; else the largest. Rows of every mode are placed as BLOCK
 * places them, so a rank's slab is that of its own rows of the slab mode.
 *
 * A contraction takes one or several modes that lie together in memory out of the slab: its result
 * T has a value for each index of the other modes and component. T serves MTTKRP of these other
 * modes as long as the factors in it do not change. Trees:
 *
 *   ONE    the factor that changed last alone is contracted: N / (N - 1) passes over the slab a
 * sweep (Ma and Solomonik 2021) SPLIT  the slower half of the modes in memory, or the faster half:
 * 2 passes a sweep
 *
 * The tree with fewer bytes a sweep is taken: a pass reads the slab and writes T; every other
 * update reads T. Pure functions of the arguments, the same on every rank. */
#ifndef AMPED_DENSE_PLAN_H
#define AMPED_DENSE_PLAN_H

#include "base/status.h"
#include "tensor/dense_info.h"

typedef enum amped_dense_tree { AMPED_TREE_ONE, AMPED_TREE_SPLIT } amped_dense_tree;

typedef struct amped_dense_plan {
  amped_cell_type type;
  int layout[AMPED_MAX_ORDER]; /* of dense_info.h */
  int slab_mode;
  uint64_t first, count;          /* indices of the slab mode on this rank; count may be 0 */
  uint64_t dims[AMPED_MAX_ORDER]; /* of the slab: those of the tensor, but count in slab_mode */
  uint64_t cells;                 /* of the slab */
  amped_dense_tree tree;
  bool outside; /* cells stay in their file: no rank has any, and count is 0 */
} amped_dense_plan;

int amped_dense_slab_mode(const amped_dense_info *info, int nranks);

/* Elements of T of a contraction of modes layout[from] .. layout[end - 1]; UINT64_MAX where 64 bits
 * do not hold them. */
uint64_t amped_dense_contracted(const amped_dense_plan *plan, int order, int ncomps, int from,
                                int end);

/* The most elements of a T of the plan's tree. */
uint64_t amped_dense_largest(const amped_dense_plan *plan, int order, int ncomps);

/* Bytes that a sweep moves with this tree: cells as they are, elements of T of value_bytes. */
double amped_dense_sweep_bytes(const amped_dense_plan *plan, int order, int ncomps,
                               uint64_t value_bytes, amped_dense_tree tree);

/* Cells stay outside. The slab mode becomes the one that is slowest in the file. */
void amped_dense_plan_leave(amped_dense_plan *plan, const amped_dense_info *info);

/* The slab first .. first + count of the slab mode; its tree. The sizes fit as info's do. */
void amped_dense_plan_make(amped_dense_plan *plan, const amped_dense_info *info, int nranks,
                           int ncomps, uint64_t value_bytes, uint64_t first, uint64_t count);

#endif
