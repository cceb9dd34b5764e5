/* MTTKRP on the GPU: twin of src/cpu/mttkrp_cpu.h.
 *
 * All pointers are device memory; everything is enqueued on `stream` and not waited for. A mode's
 * copy may come in several pieces, in order: rows that begin in a piece are stored, what goes on in
 * later ones is added, in a fixed order: the same bits every time. Before the first piece the
 * caller zeroes what is not stored: rows without nonzeros; all rows where copies are in tiles or
 * the kernel is the published one. */
#ifndef AMPED_MTTKRP_CUDA_H
#define AMPED_MTTKRP_CUDA_H

#include "cuda/sorted/pack_cuda.h"
#include "cuda/sorted/schedule_cuda.h"
#include "cuda/sorted/tile_choice_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks of one launch begin within so many nonzeros of the first: kernels number them by 32 bits.
 */
#define AMPED_LAUNCH_NNZ (UINT64_C(1) << 31)

/* The work on one copy, and what its thread blocks tell one another. Zero but for what the caller
 * sets; d_arrived, d_finished and d_ticket zeroed once. */
typedef struct amped_work_cuda {
  amped_cut_cuda cut;
  uint64_t blocks;
  bool tiled; /* rows come again in later tiles: sums are added to the output */
  amped_hint_cuda hints[AMPED_MAX_ORDER - 1];
  uint64_t output_bytes;
  void *d_outputs; /* cut.outputs of so many bytes where there are several; zeroed by the caller */
  const amped_block_cuda *d_blocks;
  void *d_carries;     /* a factor row for each block */
  uint32_t *d_arrived; /* these two have `blocks` times cut.columns elements */
  uint32_t *d_finished;
  uint32_t *d_ticket; /* one */
  /* Parts of the rows (plan.h), whose end the host can wait for: the first block behind each; of
   * each, counters of blocks that are done, zeroed once, and in pinned host memory, which starts
   * out zeroed, the turn in which all were. One part where only the end of all work tells. */
  int parts;
  uint32_t part_ends[AMPED_MAX_PARTS];
  uint32_t *d_done;
  uint32_t *turns;
  uint32_t tickets; /* drawn in earlier launches */
  uint32_t turn;    /* of MTTKRPs over this copy, from 1 */
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

  /* packed: these blocks of the work, whose nonzeros are here, from the first block's on */
  const amped_work_cuda *work;
  uint32_t first_block;
  uint32_t blocks;
  amped_packed_cuda packed;
  /* plain, for the atomic kernel */
  amped_batch batch;
} amped_mttkrp_cuda_args;

/* Zero the output's rows that have no nonzeros: all but those in the copy's row list, of so many
 * entries, which has to ascend. */
amped_status amped_mttkrp_cuda_zero_gaps(const amped_mttkrp_cuda_args *args,
                                         const amped_packed_cuda *copy, uint64_t listed,
                                         uint64_t output_bytes);

/* Behind the last blocks of a copy with several outputs: their sum is the output. */
amped_status amped_mttkrp_cuda_sum(const amped_mttkrp_cuda_args *args);

amped_status amped_mttkrp_cuda(const amped_mttkrp_cuda_args *args, amped_kernel kernel);

/* Do the program's kernels exist for the current device? AMPED_FAILED with a remedy where not. */
amped_status amped_mttkrp_cuda_probe(void);

#ifdef __cplusplus
}
#endif

#endif
