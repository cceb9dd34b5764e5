/* MTTKRP on the GPU. Twin of src/cpu/sorted/mttkrp_cpu.h.
 *
 * All pointers are device memory. Functions enqueue their work on `stream` and do not wait for it.
 *
 * A mode's copy may come in several pieces, in order. The piece in which a row begins stores the
 * row; later pieces add to it. The order of additions is fixed: the same bits every time. The
 * sorted kernel does not store rows without nonzeros: before the first piece the caller zeroes
 * these rows. If copies are in tiles, and for the atomic kernel (AMPED Algorithm 2), the caller
 * zeroes all rows. */
#ifndef AMPED_MTTKRP_CUDA_H
#define AMPED_MTTKRP_CUDA_H

#include "cuda/sorted/pack_cuda.h"
#include "cuda/sorted/schedule_cuda.h"
#include "cuda/sorted/tile_choice_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks of a launch begin within this number of nonzeros of the first block, because kernels
 * number nonzeros by 32 bits. */
#define AMPED_LAUNCH_NNZ (UINT64_C(1) << 31)

/* The work on one copy, and the flags by which its thread blocks signal each other that work is
 * done. d_incoming, d_finished, d_ticket and d_done are zeroed once. */
typedef struct amped_work_cuda {
  amped_cut_cuda cut;
  uint64_t blocks;
  bool tiled; /* rows repeat in later tiles: the kernel adds sums to the output */
  amped_hint_cuda hints[AMPED_MAX_ORDER - 1];
  uint64_t output_bytes;
  void *d_outputs; /* cut.outputs of output_bytes each, if there are several; the caller zeroes
                      them */
  const amped_block_cuda *d_blocks;
  void *d_carries;      /* one carry row per block */
  uint32_t *d_incoming; /* [blocks * cut.columns] */
  uint32_t *d_finished; /* [blocks * cut.columns] */
  uint32_t *d_ticket;   /* one counter */
  /* Parts of the rows (plan.h): the host can wait for the end of each. One part if the host can
   * only wait for the end of all work. */
  int parts;
  uint32_t part_ends[AMPED_MAX_PARTS]; /* the first block after each part */
  uint32_t *d_done;                    /* [parts] number of finished blocks */
  uint32_t *turns;                     /* [parts] pinned host memory, zeroed once: number of the
                                          last MTTKRP in which all blocks of the part were
                                          finished */
  uint32_t tickets;                    /* number drawn in earlier launches */
  uint32_t turn;                       /* number of the MTTKRP over this copy, from 1 */
} amped_work_cuda;

/* Ratios in place of values (backend/ratio.h): numbers of a launch. */
typedef struct amped_ratio_cuda_args {
  const void *rows;    /* mode's whole factor */
  uint64_t first;      /* position of the rank's first own row */
  uint64_t own;        /* own rows of the output, padding included */
  const void *shared;  /* positions of the output's other rows, of the index type */
  const void *weights; /* [ld] of the value type */
  uint64_t row_count;  /* entries of the copy's row list; set with the nonzeros */
  double least;
  amped_ratio_sums *sums; /* [blocks of the work]; NULL: not asked for */
} amped_ratio_cuda_args;

typedef struct amped_mttkrp_cuda_args {
  amped_vtype value_type;
  amped_itype index_type;
  int inputs; /* order - 1 */
  int ncomps;
  uint64_t ld;
  const void *factors[AMPED_MAX_ORDER - 1]; /* rows of the input modes' factors, ascending */
  void *output;
  const amped_ratio_cuda_args *ratio; /* NULL: values stay as they are */
  cudaStream_t stream;

  /* Blocks of the work; `packed` begins with the first block's nonzeros. */
  const amped_work_cuda *work;
  uint32_t first_block;
  uint32_t blocks;
  amped_packed_cuda packed;
} amped_mttkrp_cuda_args;

/* Zero the output's rows that are not in the copy's row list. listed: number of entries of the
 * list, whose rows ascend. */
amped_status amped_mttkrp_cuda_zero_empty_rows(const amped_mttkrp_cuda_args *args,
                                               const amped_packed_cuda *copy, uint64_t listed,
                                               uint64_t output_bytes);

/* Add up the several outputs of a copy, after its last blocks. */
amped_status amped_mttkrp_cuda_sum(const amped_mttkrp_cuda_args *args);

/* Launch the sorted kernel over these nonzeros. */
amped_status amped_mttkrp_cuda(const amped_mttkrp_cuda_args *args);

/* Check that the program's kernels exist for the current device. Returns AMPED_FAILED with a remedy
 * if they do not. */
amped_status amped_mttkrp_cuda_probe(void);

#ifdef __cplusplus
}
#endif

#endif
