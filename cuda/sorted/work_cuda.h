/* Work: the schedule of one copy on the GPU. Its memory holds the blocks, their carry rows, and the
 * flags by which thread blocks signal each other that work is done. */
#ifndef AMPED_WORK_CUDA_H
#define AMPED_WORK_CUDA_H

#include "cuda/sorted/mttkrp_cuda.h"
#include "cuda/sorted/reorder_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_copy_work_cuda {
  amped_work_cuda work;
  amped_block_cuda *blocks; /* the same blocks in host memory */
  void *d_memory;           /* memory of the work's arrays */
} amped_copy_work_cuda;

/* Ends of the parts of the rows (plan.h), as numbers of a copy's nonzeros. */
typedef struct amped_parts_cuda {
  int count;
  uint64_t shared;                /* number of nonzeros, at the beginning, that belong to all
                                     parts */
  uint64_t ends[AMPED_MAX_PARTS]; /* the first nonzero after each part */
} amped_parts_cuda;

/* The copy whose schedule is made. Its row bits, row list and row table are complete. */
typedef struct amped_work_cuda_args {
  const amped_plan *plan;
  int mode;
  const amped_packed_cuda *copy;
  const amped_segment_cuda *segments;
  uint64_t segment_count;
  const amped_parts_cuda *parts;
  const amped_tiles_cuda *tiles;
  const amped_caches_cuda *caches;
  cudaStream_t stream;
} amped_work_cuda_args;

/* Make the schedule of a copy and upload it. Waits. destroy frees the memory, also after a
 * failure. */
amped_status amped_work_cuda_create(amped_copy_work_cuda *out, const amped_work_cuda_args *args);
void amped_work_cuda_destroy(amped_copy_work_cuda *schedule);

/* Returns the number of blocks of a part. */
uint32_t amped_work_cuda_part(const amped_work_cuda *work, int part);

/* Returns the first block that begins at nonzero k of the copy or later. */
uint32_t amped_work_cuda_block(const amped_copy_work_cuda *schedule, uint64_t k);

#ifdef __cplusplus
}
#endif

#endif
