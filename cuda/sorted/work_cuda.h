/* Work: the schedule of one copy on the GPU, with the memory in which its thread blocks leave parts
 * of rows and tell one another what is done. */
#ifndef AMPED_WORK_CUDA_H
#define AMPED_WORK_CUDA_H

#include "cuda/sorted/mttkrp_cuda.h"
#include "cuda/sorted/reorder_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_copy_work_cuda {
  amped_work_cuda work;
  amped_block_cuda *blocks; /* host memory: the same blocks */
  void *d_memory;           /* what the work's arrays lie in */
} amped_copy_work_cuda;

/* Parts of the rows, which end before these nonzeros; those before `shared` are of all parts. */
typedef struct amped_parts_cuda {
  int count;
  uint64_t shared;
  uint64_t ends[AMPED_MAX_PARTS];
} amped_parts_cuda;

/* The work on a copy, whose row bits, list and table are complete, in `count` segments. Waits.
 * destroy frees what there is, also after a failure. */
amped_status amped_work_cuda_create(amped_copy_work_cuda *out, const amped_plan *plan, int mode,
                                    const amped_packed_cuda *copy,
                                    const amped_segment_cuda *segments, uint64_t count,
                                    const amped_parts_cuda *parts, const amped_tiles_cuda *tiles,
                                    const amped_caches_cuda *caches, cudaStream_t stream);
void amped_work_cuda_destroy(amped_copy_work_cuda *schedule);

/* Blocks of a part. */
uint32_t amped_work_cuda_part(const amped_work_cuda *work, int part);

/* The first block whose nonzeros come at or behind nonzero k of the copy. */
uint32_t amped_work_cuda_block(const amped_copy_work_cuda *schedule, uint64_t k);

#ifdef __cplusplus
}
#endif

#endif
