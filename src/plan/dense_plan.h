/* Dense plan: the slab of a dense tensor that each rank holds, and how MTTKRP contracts it.
 *
 * A slab is the tensor with the indices of one mode, the slab mode, restricted to this rank's range
 * first .. first + count. The slab mode is the first mode if dims[0] >= 8 * nranks and dims[0] >= a
 * quarter of the largest; else the longest mode. Rows of every mode are placed as BLOCK places
 * them, so a rank's slab belongs to its own rows of the slab mode.
 *
 * A contraction sums one or several modes, consecutive in memory, out of the slab: its result T has
 * a value for each index of the other modes and each component. T serves MTTKRP of these other
 * modes as long as the factors in it do not change. Trees, with their passes over the slab per
 * sweep:
 *
 *     ONE    contract only the mode whose factor changed last: N / (N - 1) passes
 *            (Ma and Solomonik 2021)
 *     SPLIT  contract the slower half of the modes in memory, or the faster half: 2 passes
 *
 * The tree with fewer bytes per sweep is taken: a pass reads the slab and writes T; every other
 * update reads T. Pure functions of the arguments, the same on every rank. */
#ifndef AMPED_DENSE_PLAN_H
#define AMPED_DENSE_PLAN_H

#include "base/status.h"
#include "tensor/dense_info.h"

typedef enum amped_dense_tree { AMPED_TREE_ONE, AMPED_TREE_SPLIT } amped_dense_tree;

typedef struct amped_dense_plan {
  amped_cell_type type;
  int layout[AMPED_MAX_ORDER]; /* order of modes in memory (dense_info.h) */
  int slab_mode;
  uint64_t first, count;          /* indices of the slab mode on this rank; count may be 0 */
  uint64_t dims[AMPED_MAX_ORDER]; /* dims of the slab: the tensor's dims, with count in slab_mode */
  uint64_t cells;                 /* cells of the slab */
  amped_dense_tree tree;
  bool outside; /* cells stay in their file: no rank has any, and count is 0 */
} amped_dense_plan;

int amped_dense_slab_mode(const amped_dense_info *info, int nranks);

/* Elements of T after contracting modes layout[from] .. layout[end - 1]; UINT64_MAX if 64 bits
 * cannot hold them. */
uint64_t amped_dense_contracted(const amped_dense_plan *plan, int order, int ncomps, int from,
                                int end);

/* Most elements of a T of the plan's tree. */
uint64_t amped_dense_largest(const amped_dense_plan *plan, int order, int ncomps);

/* Bytes that a sweep moves with this tree: cells in their own type, elements of T of
 * value_bytes. */
double amped_dense_sweep_bytes(const amped_dense_plan *plan, int order, int ncomps,
                               uint64_t value_bytes, amped_dense_tree tree);

/* Leave the cells outside, in their file. The slab mode becomes the slowest mode in the file. */
void amped_dense_plan_leave(amped_dense_plan *plan, const amped_dense_info *info);

/* Make the plan of slab first .. first + count of the slab mode, and choose its tree. Sizes fit in
 * 64 bits because info's do. */
void amped_dense_plan_make(amped_dense_plan *plan, const amped_dense_info *info, int nranks,
                           int ncomps, uint64_t value_bytes, uint64_t first, uint64_t count);

#endif
