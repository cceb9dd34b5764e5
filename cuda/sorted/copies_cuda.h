/* Copies: a rank's nonzeros of every mode, and MTTKRP over them. They lie on the GPU or in pinned
 * host memory (layout_cuda.h). They are packed, or have another form, as for the atomic kernel
 * (cuda/atomic).
 *
 * Row bits, row list and row table are always on the device. Streamed pieces of planes and values
 * go through two device buffers. While kernels work on a resident span and a piece, a second stream
 * transfers the next piece. When a mode's last pieces leave the buffers, the first pieces of the
 * next mode follow at once (docs/decisions/015-streaming-layout.md). If one copy serves all modes,
 * the direction alternates instead: the next mode begins with the pieces in the buffers. */
#ifndef AMPED_COPIES_CUDA_H
#define AMPED_COPIES_CUDA_H

#include "cuda/sorted/layout_cuda.h"
#include "cuda/sorted/mttkrp_cuda.h"
#include "cuda/sorted/pack_cuda.h"
#include "cuda/sorted/products_cuda.h"
#include "cuda/device/pinned_cuda.h"
#include "cuda/sorted/work_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Events that time a kernel or a transfer. */
typedef struct amped_clock_cuda {
  cudaEvent_t begin, end;
} amped_clock_cuda;

/* One of the two buffers, with the clocks of a step: kernels over a resident span, then over the
 * piece in the buffer. */
typedef struct amped_buffer_cuda {
  void *d_block;
  int mode; /* mode of the piece that is in the buffer or on its way to it; -1: none */
  amped_span_cuda piece;
  amped_clock_cuda resident, transfer, compute;
  bool resident_busy, piece_busy; /* kernels were launched, and nobody has waited for them */
  bool timed;                     /* the piece's transfer was added to some pass's times */
} amped_buffer_cuda;

typedef struct amped_copy_cuda {
  void *d_block; /* resident nonzeros */
  void *d_index; /* memory of the next three arrays */
  uint32_t *d_bits;
  void *d_rows;
  void *d_starts;
  uint64_t nnz;      /* appended so far, gaps before tiles included */
  uint64_t rows;     /* entries of the row list so far */
  uint64_t last_row; /* UINT64_MAX before the first nonzero of the copy or of a tile */
  uint64_t rows_capacity;
  amped_parts_cuda parts; /* the plan's parts in the order of these nonzeros */
  amped_copy_work_cuda work;
} amped_copy_cuda;

/* Buffers in which pieces are packed. */
typedef struct amped_packer_cuda {
  void *d_plain;  /* AMPED_PACK_NNZ plain nonzeros */
  void *d_packed; /* AMPED_PACK_NNZ packed nonzeros, on their way to a copy in host memory */
  uint32_t *d_ordinals;
  void *d_scan;
  amped_pack_result *d_result;
  amped_pack_result *result; /* pinned */
} amped_packer_cuda;

typedef struct amped_copies_cuda amped_copies_cuda;

/* Arguments of an MTTKRP. */
typedef struct amped_mttkrp_task_cuda {
  amped_copies_cuda *copies;
  int mode;
  const amped_mttkrp_cuda_args *args;
  uint64_t output_bytes;
} amped_mttkrp_task_cuda;

/* A visitor of nonzeros. `batch` enqueues work on consecutive plain nonzeros, whose first has
 * number `first` in the copy. They are in device memory, valid until the next call's work begins on
 * the stream. Batches without a nonzero of begin .. end - 1 are skipped. */
typedef struct amped_visitor_cuda {
  amped_status (*batch)(void *self, uint64_t first, const amped_batch *d_batch);
  void *self;
  uint64_t begin, end;
} amped_visitor_cuda;

/* One traversal of a copy, as for an MTTKRP: streamed pieces are transferred while kernels work.
 * Everything is enqueued on the stream of the copies. */
typedef struct amped_pass_cuda {
  amped_status (*begin)(void *self); /* called before the first span */
  /* Enqueue work on a span, which lies in d_block. */
  amped_status (*span)(void *self, const amped_span_cuda *span, void *d_block);
  void *self;
} amped_pass_cuda;

/* The form of the nonzeros: their storage, and the kernels that read them. Memory, pinning and
 * streaming are the same for every form. */
typedef struct amped_copy_form_cuda {
  const amped_storage_cuda *storage;
  bool turns_round; /* the direction of passes alternates: the pieces that one leaves in the
                       buffers are the first of the next */
  /* Returns the bytes of mode's nonzeros on this rank, as MTTKRP reads them. */
  uint64_t (*read_bytes)(const amped_plan *plan, int mode);
  /* Find the device memory that `create` allocates in addition to the layout. */
  amped_status (*bytes)(const amped_plan *plan, uint64_t *bytes);
  amped_status (*create)(amped_copies_cuda *copies);
  void (*destroy)(amped_copies_cuda *copies); /* NULL: `own` is not used */
  /* Make the arrays that a copy has in addition to its block. */
  amped_status (*create_index)(amped_copies_cuda *copies, int mode, const amped_tiles_cuda *tiles,
                               amped_copy_cuda *copy);
  /* Append a host batch. */
  amped_status (*upload)(amped_copies_cuda *copies, int mode, const amped_batch *batch);
  /* Append the first *count nonzeros of a device batch, at most to the end of a span. */
  amped_status (*append)(amped_copies_cuda *copies, int mode, const amped_batch *d_batch,
                         uint64_t *count);
  /* Called after the last nonzero of mode, and again for another number of components. */
  amped_status (*schedule)(amped_copies_cuda *copies, int mode);
  /* Zero the rows of the output that MTTKRP does not store. */
  amped_status (*zero)(const amped_copies_cuda *copies, const amped_mttkrp_task_cuda *task);
  /* Launch the kernel over a span, which lies in d_block. */
  amped_status (*launch)(amped_copies_cuda *copies, const amped_mttkrp_task_cuda *task,
                         const amped_span_cuda *span, void *d_block);
  /* Pass a span's nonzeros, which lie in d_block, to the visitor. */
  amped_status (*visit)(amped_copies_cuda *copies, int mode, const amped_visitor_cuda *visitor,
                        const amped_span_cuda *span, void *d_block);
} amped_copy_form_cuda;

/* Packed nonzeros, for the sorted kernel. */
extern const amped_copy_form_cuda amped_packed_cuda_form;

struct amped_copies_cuda {
  const amped_copy_form_cuda *form; /* static */
  void *own;                        /* state of the form */
  const amped_plan *plan;
  const amped_device_cuda *device; /* borrowed */
  amped_layout_cuda layout;
  amped_copy_cuda copies[AMPED_MAX_ORDER];
  double *d_dictionary; /* rounded to value_type, for packing */
  void *d_values;       /* the same in value_type, for the kernels */
  amped_ruler ruler;    /* zero if kernels look values up */
  amped_packer_cuda packer;
  amped_products_room_cuda *d_products;
  amped_pinned_cuda pinned; /* streamed pieces */
  amped_buffer_cuda buffers[2];
  int turn;                 /* index of the next piece's buffer */
  bool backward;            /* the next pass goes from the last span to the first */
  amped_mttkrp_times times; /* times of the current MTTKRP */
  cudaEvent_t anchor;       /* recorded when an MTTKRP begins, on an idle stream; for the trace */
  double anchor_sec;        /* amped_time() of the anchor */
  double transferred_sec;   /* end of the last transfer */
  cudaStream_t stream;      /* borrowed */
  cudaStream_t transfers;
};

/* Allocate the memory of a layout. destroy frees it, also after a failure. */
amped_status amped_copies_cuda_create(amped_copies_cuda *copies, const amped_plan *plan,
                                      const amped_copy_form_cuda *form,
                                      const amped_layout_cuda *layout,
                                      const amped_device_cuda *device, cudaStream_t stream);
void amped_copies_cuda_destroy(amped_copies_cuda *copies);

/* For forms: make the dictionary's two arrays and the ruler. */
amped_status amped_copies_cuda_create_dictionary(amped_copies_cuda *copies);

/* lend: free the two buffers while something else needs their memory. take_back: allocate them
 * again. Call between create and the first MTTKRP. */
void amped_copies_cuda_lend(amped_copies_cuda *copies);
amped_status amped_copies_cuda_take_back(amped_copies_cuda *copies);

/* Insert as amped_format_ops' insert does. Nonzeros of a mode come in order, without gaps. */
amped_status amped_copies_cuda_upload(amped_copies_cuda *copies, int mode, uint64_t offset,
                                      const amped_batch *batch);

/* Append a batch in device memory to mode's copy. */
amped_status amped_copies_cuda_append(amped_copies_cuda *copies, int mode,
                                      const amped_batch *d_batch);

/* For forms: find the place of a copy's next nonzero. *block: the memory block of its span. *at:
 * nonzeros of the block before it. `room`: nonzeros that fit from there to the end of the span. */
amped_status amped_copies_cuda_next(amped_copies_cuda *copies, int mode, amped_span_cuda *span,
                                    void **block, uint64_t *at, uint64_t *room);

/* Returns array i of a batch: rows, inputs, values, as the plain storage lists them. */
const void *amped_batch_cuda_array(const amped_plan *plan, const amped_batch *batch, int i);

/* After the last nonzero of mode: sort its nonzeros by the layout's tiles, and make the schedule of
 * MTTKRP. Waits. */
amped_status amped_copies_cuda_loaded(amped_copies_cuda *copies, int mode);

/* After loaded, if the plan's number of components has changed: make mode's schedule for it. Tiles
 * stay the same. Waits. */
amped_status amped_copies_cuda_resize(amped_copies_cuda *copies, int mode);

/* A pass over mode's copy. begin returns when all kernels are enqueued; for a streamed copy, only
 * the last pieces are then left. finish waits for everything. */
amped_status amped_copies_cuda_begin_pass(amped_copies_cuda *copies, int mode,
                                          const amped_pass_cuda *pass);
amped_status amped_copies_cuda_finish(amped_copies_cuda *copies, int mode,
                                      amped_mttkrp_times *times);

/* MTTKRP over mode's copy into args->output, of output_bytes: a pass. The caller sets all of args
 * except the nonzeros. wait returns when the rows of `part` and of the parts before it are
 * finished; finish waits for the last part. */
amped_status amped_copies_cuda_begin(amped_copies_cuda *copies, int mode,
                                     const amped_mttkrp_cuda_args *args, uint64_t output_bytes);
amped_status amped_copies_cuda_wait(amped_copies_cuda *copies, int mode, int part);

/* Pass all nonzeros of mode's copy, in its order, to the visitor. Call between passes. */
amped_status amped_copies_cuda_visit(amped_copies_cuda *copies, int mode,
                                     const amped_visitor_cuda *visitor);

/* Returns the packed nonzeros of a span, which lies in d_block, from number `first` of the copy on.
 * `first` begins a pack. */
amped_packed_cuda amped_copies_cuda_packed(const amped_copies_cuda *copies, int mode,
                                           const amped_span_cuda *span, void *d_block,
                                           uint64_t first);

/* Compute the products of mode's copy. The caller sets all of args except d_room. Waits. Call
 * between MTTKRPs. */
amped_status amped_copies_cuda_products(amped_copies_cuda *copies, int mode,
                                        const amped_products_cuda_args *args, amped_products *out);

#ifdef __cplusplus
}
#endif

#endif
