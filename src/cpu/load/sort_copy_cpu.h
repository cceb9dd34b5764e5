/* Sort copy: sorts numbered nonzeros, in any order, into a rank's copy on CPU cores. Twin of
 * cuda/load/sort_copy_cuda.cuh.
 *
 * The caller holds the nonzeros, and gives functions of a nonzero's number: whether it is in the
 * rank's shard, its row of the rank's MTTKRP result, and a key of one or more words. The copy is
 * sorted by row, then key (word 0 first), then number, and goes to `insert` in batches. All OpenMP
 * threads work. The result does not depend on the number of threads or on free memory. Not
 * collective. */
#ifndef AMPED_SORT_COPY_CPU_H
#define AMPED_SORT_COPY_CPU_H

#include "backend/backend.h"

/* Arrays of a batch, in the plan's types, in host memory of the sort. */
typedef struct amped_sort_copy_arrays {
  void *rows;
  void *inputs[AMPED_MAX_ORDER - 1];
  void *values;
} amped_sort_copy_arrays;

typedef struct amped_sort_copy {
  const amped_plan *plan;
  int mode;
  uint64_t total; /* numbers are 0 .. total - 1; the plan's rank_nnz of them are in the shard */
  /* If nonzeros are grouped: group g has the numbers ends[g - 1] .. ends[g], all in the shard, and
   * all in higher rows than group g - 1. NULL: not grouped. */
  const uint64_t *ends;
  uint64_t groups;
  int words;                /* words of a key */
  const uint8_t *word_bits; /* [words] */
  const void *from;         /* first argument of the functions */
  /* returns false if nonzero k is not in the shard; *row: its row */
  bool (*row)(const void *from, uint64_t k, uint64_t *row);
  /* returns a word of the key of nonzero k, which is in `row` */
  uint64_t (*word)(const void *from, int word, uint64_t row, uint64_t k);
  /* writes nonzero k to element `at` of a batch */
  void (*store)(const void *from, uint64_t k, uint64_t row, uint64_t at,
                const amped_sort_copy_arrays *to);
  /* amped_format_ops' insert */
  amped_status (*insert)(amped_tensor_part *part, int mode, uint64_t offset,
                         const amped_batch *batch);
  amped_tensor_part *part;
} amped_sort_copy;

/* Sort. *repeats = number of nonzeros with the row and key of the nonzero before; NULL: not wanted.
 * Returns AMPED_FAILED if the shard does not have rank_nnz nonzeros, or if memory is short. */
amped_status amped_sort_copy_cpu(const amped_sort_copy *sort, uint64_t *repeats);

/* Upper bound on the host memory of sorting on the plan's rank, in bytes, with keys of `words`
 * words. */
uint64_t amped_sort_copy_cpu_bytes(const amped_plan *plan, int words, bool grouped);

#endif
