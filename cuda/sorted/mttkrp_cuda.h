/* MTTKRP on the GPU: twin of src/cpu/mttkrp_cpu.h.
 *
 * All pointers are device memory. Functions enqueue their work on `stream` and do not wait for it.
 *
 * A mode's copy may come in several pieces, in order. The piece in which a row begins stores it;
 * later pieces add to it. The order of additions is fixed: the same bits every time. The sorted
 * kernel stores no row without nonzeros: before the first piece the caller zeroes these rows. Where
 * copies are in tiles, and for the atomic kernel (AMPED Algorithm 2), the caller zeroes all rows.
 */
#ifndef AMPED_MTTKRP_CUDA_H
#define AMPED_MTTKRP_CUDA_H

#include "cuda/sorted/pack_cuda.h"
#include "cuda/sorted/schedule_cuda.h"
#include "cuda/sorted/tile_choice_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks of a launch begin within so many nonzeros of the first block: kernels number nonzeros by
 * 32 bits. */
#define AMPED_LAUNCH_NNZ (UINT64_C(1) << 31)

/* The work on one copy, and the flags by which its thread blocks tell one another what is done.
 * d_arrived, d_finished, d_ticket and d_done are zeroed once. */
typedef struct amped_work_cuda {
  amped_cut_cuda cut;
  uint64_t blocks;
  bool tiled; /* rows come again in later tiles: the kernel adds sums to the output */
  amped_hint_cuda hints[AMPED_MAX_ORDER - 1];
  uint64_t output_bytes;
  void *d_outputs; /* cut.outputs, if there are several, of so many bytes; the caller zeroes them */
  const amped_block_cuda *d_blocks;
  void *d_carries;      /* a carry row for each block */
  uint32_t *d_arrived;  /* [blocks * cut.columns] */
  uint32_t *d_finished; /* the same */
  uint32_t *d_ticket;   /* one number */
  /* Parts of the rows (plan.h): the host can wait for the end of each. One part where it can only
   * wait for the end of all work. */
  int parts;
  uint32_t part_ends[AMPED_MAX_PARTS]; /* the first block behind each part */
  uint32_t *d_done;                    /* [parts] blocks that are done */
  uint32_t *turns;                     /* [parts] pinned host memory, zeroed once: the last turn */
                                       /* in which all blocks were done */
  uint32_t tickets;                    /* drawn in earlier launches */
  uint32_t turn;                       /* number of the MTTKRP over this copy, from 1 */
} amped_work_cuda;

typedef struct amped_mttkrp_cuda_args {
  amped_vtype value_type;
  amped_itype index_type;
  int inputs; /* order - 1 */
  int ncomps;
  uint64_t ld;
  const void *factors[AMPED_MAX_ORDER - 1]; /* of the input modes, ascending */
  void *output;
  cudaStream_t stream;

  /* Blocks of the work; `packed` begins with the first block's nonzeros. */
  const amped_work_cuda *work;
  uint32_t first_block;
  uint32_t blocks;
  amped_packed_cuda packed;
} amped_mttkrp_cuda_args;

/* Zero the output's rows that are not in the copy's row list. The list has so many entries, which
 * ascend. */
amped_status amped_mttkrp_cuda_zero_gaps(const amped_mttkrp_cuda_args *args,
                                         const amped_packed_cuda *copy, uint64_t listed,
                                         uint64_t output_bytes);

/* Sum up the several outputs of a copy, behind its last blocks. */
amped_status amped_mttkrp_cuda_sum(const amped_mttkrp_cuda_args *args);

/* Launch the sorted kernel over these nonzeros. */
amped_status amped_mttkrp_cuda(const amped_mttkrp_cuda_args *args);

/* Do the program's kernels exist for the current device? AMPED_FAILED with a remedy where not. */
amped_status amped_mttkrp_cuda_probe(void);

#ifdef __cplusplus
}
#endif

#endif
