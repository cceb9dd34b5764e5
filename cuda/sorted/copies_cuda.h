/* Copies: a rank's nonzeros of every mode, packed, on the GPU or in pinned host memory as
 * layout_cuda.h says, and MTTKRP over them. (Plain instead of packed where the atomic kernel is
 * asked for.)
 *
 * Row bits, row list and row table are always on the device. Streamed pieces of planes and values
 * go through two device buffers: while kernels work on a resident part and on one piece, the next
 * piece is transferred on a stream of its own. The first pieces of the mode that follows are
 * transferred as soon as a mode's last pieces are done with the buffers. */
#ifndef AMPED_COPIES_CUDA_H
#define AMPED_COPIES_CUDA_H

#include "cuda/sorted/layout_cuda.h"
#include "cuda/sorted/mttkrp_cuda.h"
#include "cuda/sorted/pack_cuda.h"
#include "cuda/device/pinned_cuda.h"
#include "cuda/sorted/work_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_clock_cuda {
  cudaEvent_t begin, end;
} amped_clock_cuda;

/* One of the two buffers, with the clocks of a step: a resident part, then a piece. */
typedef struct amped_buffer_cuda {
  void *d_block;
  int mode; /* of the piece in it or on its way, -1: none */
  amped_part_cuda piece;
  amped_clock_cuda resident, transfer, compute;
  bool resident_runs, piece_runs; /* kernels were launched and not waited for */
} amped_buffer_cuda;

typedef struct amped_copy_cuda {
  void *d_block; /* what is resident */
  void *d_index; /* what the next three lie in */
  uint32_t *d_bits;
  void *d_rows;
  void *d_starts;
  uint64_t nnz;      /* appended so far, gaps before tiles included */
  uint64_t rows;     /* entries of the row list so far */
  uint64_t last_row; /* UINT64_MAX before the first nonzero, also of a tile */
  uint64_t rows_capacity;
  amped_parts_cuda parts; /* as in the plan, of the nonzeros as they are ordered */
  amped_copy_work_cuda work;
} amped_copy_cuda;

/* Where pieces are packed. */
typedef struct amped_packer_cuda {
  void *d_plain;  /* AMPED_PACK_NNZ plain nonzeros */
  void *d_packed; /* the same number of packed ones, for copies in host memory */
  uint32_t *d_ordinals;
  void *d_scan;
  amped_pack_result *d_result;
  amped_pack_result *result; /* pinned */
} amped_packer_cuda;

typedef struct amped_copies_cuda {
  const amped_plan *plan;
  const amped_device_cuda *device; /* borrowed */
  amped_layout_cuda layout;
  amped_copy_cuda copies[AMPED_MAX_ORDER];
  double *d_dictionary; /* rounded to value_type, for packing */
  void *d_values;       /* the same as value_type, for the kernels */
  amped_ruler ruler;    /* where values need not be looked up */
  amped_packer_cuda packer;
  amped_pinned_cuda pinned; /* what is streamed */
  amped_buffer_cuda buffers[2];
  int turn;                 /* the buffer of the next piece */
  amped_mttkrp_times times; /* of the MTTKRP in hand */
  cudaEvent_t anchor;       /* recorded when an MTTKRP begins, on an idle stream; for the trace */
  double anchor_sec;        /* amped_time() then */
  double transferred_sec;   /* when the last transfer ended */
  cudaStream_t stream;      /* borrowed */
  cudaStream_t transfers;
} amped_copies_cuda;

/* Allocate for a layout. On failure, as after use, destroy frees what there is. */
amped_status amped_copies_cuda_create(amped_copies_cuda *copies, const amped_plan *plan,
                                      const amped_layout_cuda *layout,
                                      const amped_device_cuda *device, cudaStream_t stream);
void amped_copies_cuda_destroy(amped_copies_cuda *copies);

/* Between create and the first MTTKRP: free the two buffers while something else needs their
 * memory, and allocate them again. */
void amped_copies_cuda_lend(amped_copies_cuda *copies);
amped_status amped_copies_cuda_take_back(amped_copies_cuda *copies);

/* Device memory that create takes beside the layout's own: the packer and the dictionary. */
amped_status amped_copies_cuda_bytes(const amped_plan *plan, uint64_t *bytes);

/* As struct amped_backend's upload; nonzeros of a mode come in order, without gaps. */
amped_status amped_copies_cuda_upload(amped_copies_cuda *copies, int mode, uint64_t offset,
                                      const amped_batch *batch);

/* The same for a run that lies in device memory, behind what mode's copy holds so far. */
amped_status amped_copies_cuda_append(amped_copies_cuda *copies, int mode,
                                      const amped_batch *d_batch);

/* After the last nonzero of mode: put them in the order of the layout's tiles, and make the
 * schedule of MTTKRP. Waits. */
amped_status amped_copies_cuda_loaded(amped_copies_cuda *copies, int mode);

/* After loaded: the plan has another number of components; mode's schedule is made for it. Tiles
 * stay. Waits. */
amped_status amped_copies_cuda_resize(amped_copies_cuda *copies, int mode);

/* MTTKRP over mode's copy into args->output, of output_bytes; args are complete but for the
 * nonzeros. begin returns when all kernels are enqueued: what is streamed is by then all but done.
 * wait returns when the rows of that part, but the last, and of those before it are finished;
 * finish, when all are. */
amped_status amped_copies_cuda_begin(amped_copies_cuda *copies, int mode, amped_kernel kernel,
                                     const amped_mttkrp_cuda_args *args, uint64_t output_bytes);
amped_status amped_copies_cuda_wait(amped_copies_cuda *copies, int mode, int part);
amped_status amped_copies_cuda_finish(amped_copies_cuda *copies, int mode,
                                      amped_mttkrp_times *times);

#ifdef __cplusplus
}
#endif

#endif
