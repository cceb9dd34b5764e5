/* Order: nonzeros that are known by number, in any order, become a rank's copy on CPU cores. Twin
 * of cuda/load/sort_copy_cuda.cuh.
 *
 * Whoever holds the nonzeros says which of them are in the share, and gives for each the row of the
 * rank's MTTKRP result and a key of one or more words. The copy is ordered by row, key (word 0
 * first) and number; it is handed on in runs. All OpenMP threads; neither their number nor memory
 * changes the result. */
#ifndef AMPED_SORT_COPY_CPU_H
#define AMPED_SORT_COPY_CPU_H

#include "backend/backend.h"

/* Where element `at` of a run is stored: arrays of the plan's types. */
typedef struct amped_sort_copy_arrays {
  void *rows;
  void *inputs[AMPED_MAX_ORDER - 1];
  void *values;
} amped_sort_copy_arrays;

typedef struct amped_order {
  const amped_plan *plan;
  int mode;
  uint64_t total; /* numbers are 0 .. total-1; plan's rank_nnz of them are in the share */
  /* Where they are grouped already, else NULL: group g has the numbers ends[g-1] .. ends[g], all of
   * them in the share, in rows above those of group g-1. */
  const uint64_t *ends;
  uint64_t groups;
  int words;
  const uint8_t *word_bits;
  const void *from; /* the functions' first argument */
  bool (*row)(const void *from, uint64_t k, uint64_t *row);
  uint64_t (*word)(const void *from, int word, uint64_t row, uint64_t k);
  void (*store)(const void *from, uint64_t k, uint64_t row, uint64_t at,
                const amped_sort_copy_arrays *to);
  /* Where runs go: a format's insert. */
  amped_status (*insert)(amped_tensor_part *part, int mode, uint64_t offset,
                         const amped_batch *batch);
  amped_tensor_part *part;
} amped_order;

/* *repeats (unless NULL) = nonzeros of which row and key are those of the one before. AMPED_FAILED
 * where other than rank_nnz nonzeros are in the share. */
amped_status amped_sort_copy_cpu(const amped_order *order, uint64_t *repeats);

/* Host memory that this takes at most on the plan's rank, with keys of so many words. */
uint64_t amped_sort_copy_cpu_bytes(const amped_plan *plan, int words, bool grouped);

#endif
