/* Copies: a rank's nonzeros of every mode, and MTTKRP over them. They lie on the GPU or in pinned
 * host memory (layout_cuda.h). They are packed, or in another form, as
 * for the atomic kernel (cuda/atomic).
 *
 * Row bits, row list and row table are always on the device. Streamed pieces of planes and values
 * go through two device buffers. While kernels work on a resident span and a piece, a second stream
 * transfers the next piece. When a mode's last pieces leave the buffers, the first pieces of the
 * next mode follow at once (docs/decisions/015-streaming-layout.md). Where one copy serves all
 * modes, a mode goes back from there instead. */
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

/* Times a kernel or a transfer. */
typedef struct amped_clock_cuda {
  cudaEvent_t begin, end;
} amped_clock_cuda;

/* One of the two buffers, with the clocks of a step: kernels over a resident span, then over the
 * piece in the buffer. */
typedef struct amped_buffer_cuda {
  void *d_block;
  int mode; /* of the piece that is in the buffer or on its way to it; -1: none */
  amped_span_cuda piece;
  amped_clock_cuda resident, transfer, compute;
  bool resident_busy, piece_busy; /* kernels were launched and not waited for */
  bool timed;                     /* the piece's transfer was added to some pass' times */
} amped_buffer_cuda;

typedef struct amped_copy_cuda {
  void *d_block; /* resident nonzeros */
  void *d_index; /* holds the next three arrays */
  uint32_t *d_bits;
  void *d_rows;
  void *d_starts;
  uint64_t nnz;      /* appended until now, gaps before tiles included */
  uint64_t rows;     /* entries of the row list until now */
  uint64_t last_row; /* UINT64_MAX before the first nonzero, also of a tile */
  uint64_t rows_capacity;
  amped_parts_cuda parts; /* the plan's parts in the order of these nonzeros */
  amped_copy_work_cuda work;
} amped_copy_cuda;

/* Buffers in which pieces are packed. */
typedef struct amped_packer_cuda {
  void *d_plain;  /* AMPED_PACK_NNZ plain nonzeros */
  void *d_packed; /* as many packed nonzeros, for copies in host memory */
  uint32_t *d_ordinals;
  void *d_scan;
  amped_pack_result *d_result;
  amped_pack_result *result; /* pinned */
} amped_packer_cuda;

typedef struct amped_copies_cuda amped_copies_cuda;

/* An MTTKRP. */
typedef struct amped_mttkrp_task_cuda {
  amped_copies_cuda *copies;
  int mode;
  const amped_mttkrp_cuda_args *args;
  uint64_t output_bytes;
} amped_mttkrp_task_cuda;

/* Enqueues work on consecutive nonzeros, from number `first` of the copy on: plain, in device
 * memory, valid until the next call's work begins on the stream. Batches without a nonzero of
 * begin .. end are passed over. */
typedef struct amped_visitor_cuda {
  amped_status (*batch)(void *self, uint64_t first, const amped_batch *d_batch);
  void *self;
  uint64_t begin, end;
} amped_visitor_cuda;

/* One way over a copy, as an MTTKRP goes: streamed pieces are transferred while kernels work. All
 * of it is enqueued on the stream of the copies. */
typedef struct amped_pass_cuda {
  amped_status (*begin)(void *self); /* before the first span */
  /* The span lies in d_block. */
  amped_status (*span)(void *self, const amped_span_cuda *span, void *d_block);
  void *self;
} amped_pass_cuda;

/* The form of the nonzeros: how they are stored, and which kernel goes over them. Memory, pinning
 * and streaming are the same for every form. */
typedef struct amped_copy_form_cuda {
  const amped_storage_cuda *storage;
  bool turns_round; /* passes go over the spans to and fro: the pieces that one leaves in the
                       buffers are the first of the next */
  /* Bytes of mode's nonzeros on this rank, as MTTKRP reads them. */
  uint64_t (*read_bytes)(const amped_plan *plan, int mode);
  /* Device memory that `create` takes, beside the layout. */
  amped_status (*bytes)(const amped_plan *plan, uint64_t *bytes);
  amped_status (*create)(amped_copies_cuda *copies);
  void (*destroy)(amped_copies_cuda *copies); /* NULL: `own` is not used */
  /* Make the arrays that a copy keeps beside its block. */
  amped_status (*create_index)(amped_copies_cuda *copies, int mode, const amped_tiles_cuda *tiles,
                               amped_copy_cuda *copy);
  /* Append a host batch. */
  amped_status (*upload)(amped_copies_cuda *copies, int mode, const amped_batch *batch);
  /* Append the first *count nonzeros of a device batch, at most to the end of a span. */
  amped_status (*append)(amped_copies_cuda *copies, int mode, const amped_batch *d_batch,
                         uint64_t *count);
  /* After the last nonzero of mode, and for another number of components. */
  amped_status (*schedule)(amped_copies_cuda *copies, int mode);
  /* Zero the rows of the output that MTTKRP does not store. */
  amped_status (*zero)(const amped_copies_cuda *copies, const amped_mttkrp_task_cuda *task);
  /* Launch the kernel over a span, which lies in d_block. */
  amped_status (*launch)(amped_copies_cuda *copies, const amped_mttkrp_task_cuda *task,
                         const amped_span_cuda *span, void *d_block);
  /* Hand a span's nonzeros, which lie in d_block, to the visitor. */
  amped_status (*visit)(amped_copies_cuda *copies, int mode, const amped_visitor_cuda *visitor,
                        const amped_span_cuda *span, void *d_block);
} amped_copy_form_cuda;

/* Packed, for the sorted kernel. */
extern const amped_copy_form_cuda amped_packed_cuda_form;

struct amped_copies_cuda {
  const amped_copy_form_cuda *form; /* static */
  void *own;                        /* of the form */
  const amped_plan *plan;
  const amped_device_cuda *device; /* borrowed */
  amped_layout_cuda layout;
  amped_copy_cuda copies[AMPED_MAX_ORDER];
  double *d_dictionary; /* rounded to value_type, for packing */
  void *d_values;       /* the same as value_type, for the kernels */
  amped_ruler ruler;    /* zero where kernels look values up */
  amped_packer_cuda packer;
  amped_products_room_cuda *d_products;
  amped_pinned_cuda pinned; /* streamed pieces */
  amped_buffer_cuda buffers[2];
  int turn;                 /* the buffer of the next piece */
  bool backward;            /* the next pass goes from the last span to the first */
  amped_mttkrp_times times; /* of the current MTTKRP */
  cudaEvent_t anchor;       /* recorded when an MTTKRP begins, on an idle stream; for the trace */
  double anchor_sec;        /* amped_time() then */
  double transferred_sec;   /* when the last transfer ended */
  cudaStream_t stream;      /* borrowed */
  cudaStream_t transfers;
};

/* Allocate for a layout. destroy frees the memory, also after a failure. */
amped_status amped_copies_cuda_create(amped_copies_cuda *copies, const amped_plan *plan,
                                      const amped_copy_form_cuda *form,
                                      const amped_layout_cuda *layout,
                                      const amped_device_cuda *device, cudaStream_t stream);
void amped_copies_cuda_destroy(amped_copies_cuda *copies);

/* For forms: make the dictionary's two arrays and the ruler. */
amped_status amped_copies_cuda_create_dictionary(amped_copies_cuda *copies);

/* Between create and the first MTTKRP: free the two buffers while something else needs their
 * memory, and allocate them again. */
void amped_copies_cuda_lend(amped_copies_cuda *copies);
amped_status amped_copies_cuda_take_back(amped_copies_cuda *copies);

/* As amped_format_ops' insert; nonzeros of a mode come in order, without gaps. */
amped_status amped_copies_cuda_upload(amped_copies_cuda *copies, int mode, uint64_t offset,
                                      const amped_batch *batch);

/* Append a batch in device memory to mode's copy. */
amped_status amped_copies_cuda_append(amped_copies_cuda *copies, int mode,
                                      const amped_batch *d_batch);

/* For forms: the place of a copy's next nonzero. Its span, the span's block, the nonzeros of the
 * block before it, and the room behind it. */
amped_status amped_copies_cuda_next(amped_copies_cuda *copies, int mode, amped_span_cuda *span,
                                    void **block, uint64_t *at, uint64_t *room);

/* Array i of a batch: rows, inputs, values, as the plain storage lists them. */
const void *amped_batch_cuda_array(const amped_plan *plan, const amped_batch *batch, int i);

/* After the last nonzero of mode: order its nonzeros by the layout's tiles, and make the schedule
 * of MTTKRP. Waits. */
amped_status amped_copies_cuda_loaded(amped_copies_cuda *copies, int mode);

/* After loaded, where the plan's number of components has changed: make mode's schedule for it.
 * Tiles stay. Waits. */
amped_status amped_copies_cuda_resize(amped_copies_cuda *copies, int mode);

/* A pass over mode's copy. begin returns when all kernels are enqueued; of a streamed copy only the
 * last pieces are then left. finish waits for all of it. */
amped_status amped_copies_cuda_begin_pass(amped_copies_cuda *copies, int mode,
                                          const amped_pass_cuda *pass);
amped_status amped_copies_cuda_finish(amped_copies_cuda *copies, int mode,
                                      amped_mttkrp_times *times);

/* MTTKRP over mode's copy into args->output, of output_bytes: a pass. The caller sets all of args
 * but the nonzeros. wait returns when the rows of a part, but the last one, and of the parts before
 * it are finished. */
amped_status amped_copies_cuda_begin(amped_copies_cuda *copies, int mode,
                                     const amped_mttkrp_cuda_args *args, uint64_t output_bytes);
amped_status amped_copies_cuda_wait(amped_copies_cuda *copies, int mode, int part);

/* All nonzeros of mode's copy, in its order, to the visitor. Between passes. */
amped_status amped_copies_cuda_visit(amped_copies_cuda *copies, int mode,
                                     const amped_visitor_cuda *visitor);

/* The packed nonzeros of a span, which lies in d_block, from number `first` of the copy on. A pack
 * begins with it. */
amped_packed_cuda amped_copies_cuda_packed(const amped_copies_cuda *copies, int mode,
                                           const amped_span_cuda *span, void *d_block,
                                           uint64_t first);

/* The products of mode's copy, between MTTKRPs. The caller sets all of args but d_room. Waits. */
amped_status amped_copies_cuda_products(amped_copies_cuda *copies, int mode,
                                        const amped_products_cuda_args *args, amped_products *out);

#ifdef __cplusplus
}
#endif

#endif
