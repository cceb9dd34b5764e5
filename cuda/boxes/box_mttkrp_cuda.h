/* MTTKRP over a box copy on the GPU. Twin of src/cpu/boxes/box_mttkrp_cpu.h.
 *
 * Persistent thread blocks draw bundles in the order of a traversal (box_traversal_cuda.h). Sums
 * are added to the output atomically, in no fixed order; the caller zeroes the output. All pointers
 * except the plan are device memory. Work is enqueued on `stream`.
 *
 * Frequent ("frequent") rows get many additions. Such a row has several partial sums, its parts, in
 * a buffer next to the output, and groups of lanes alternate between them. Thread blocks therefore
 * do not all wait for one address, and no sum of floats gets too many terms. amped_box_end_cuda
 * adds the parts in double, and stores the row.
 *
 * Additions per part. A row with A additions has S = A / AMPED_BOX_PART parts, rounded down, so a
 * part gets 256 .. 383 on average. The stretches of a tile are numbered bundle by bundle. Stretch t
 * adds to part floor(S * frac(t * golden ratio)). If the stretches that add are consecutive, or
 * have the same place in each bundle, every part gets an even share and a few more. Other choices
 * spread like random ones. A stretch adds to a row for every second nonzero at most. This is at
 * most 64 times if a bundle has 1024 nonzeros and 8 groups, and once or twice if bundles are
 * sorted. A part therefore gets fewer than 1024 additions. The error of an output element stays
 * below 1e-5 of the sum of |x| prod |a|, for rows of any length.
 *
 * With `fixed` all sums, parts included, are 64-bit integers, in units of 1 / scales[column]. An
 * integer sum does not depend on the order, so all runs give the same bits. A row of fixed sums has
 * the first elements of all its vectors, then the second elements, and so on. */
#ifndef AMPED_BOX_MTTKRP_CUDA_H
#define AMPED_BOX_MTTKRP_CUDA_H

#include "cuda/boxes/box_traversal_cuda.h"
#include "cuda/device/device_cuda.h"
#include "cuda/sorted/pack_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row with more additions is frequent: a thousand equal terms lose 1e-5 of a sum of floats. */
#define AMPED_BOX_TERMS 512

/* A frequent row has one part for each AMPED_BOX_PART additions. AMPED_BOX_TERMS is a multiple. */
#define AMPED_BOX_PART 256

/* A frequent row with more parts than this is added up by a thread block of its own. */
#define AMPED_BOX_LONG 32

/* Most counters (buckets) by which a bundle is sorted. */
#define AMPED_BOX_BUCKETS 4096

/* Rows with many additions. All zero: none. */
typedef struct amped_box_frequent_cuda {
  uint64_t count;
  uint64_t parts;           /* number of parts, over all frequent rows */
  uint64_t long_rows;       /* number of rows with more than AMPED_BOX_LONG parts */
  const uint32_t *d_bits;   /* one bit per output row */
  const uint32_t *d_before; /* frequent rows before each word of d_bits */
  const uint64_t *d_rows;   /* [count] the frequent rows */
  const uint32_t *d_firsts; /* [count + 1] parts before each frequent row */
  const uint32_t *d_longs;  /* [long_rows] index in d_rows */
} amped_box_frequent_cuda;

/* Task of a launch, for the consecutive nonzeros of a row. */
typedef enum amped_box_job {
  AMPED_BOX_ADD,        /* add their terms to the row */
  AMPED_BOX_COUNT_ADDS, /* count one addition */
  AMPED_BOX_COUNT_NNZ   /* count the nonzeros */
} amped_box_job;

typedef struct amped_box_mttkrp_args {
  const amped_plan *plan;
  int mode;
  amped_box_job job;
  const void *factors[AMPED_MAX_ORDER]; /* factors' rows, of every mode except `mode` */
  void *output;                         /* amped_box_rows_cuda rows */
  const uint64_t *shared_positions;     /* factor positions of shared rows */
  int multiprocessors;
  cudaStream_t stream;

  /* Nonzeros of a span, packed.first the first of them, and the span's bundles. */
  amped_packed_cuda packed;
  const uint64_t *firsts;
  const uint32_t *counts;
  const uint32_t *tiles;
  const uint32_t *turns;
  const uint32_t *bundle_firsts;
  uint64_t bundle, bundles; /* the span's first bundle, counted over all spans, and the number of
                               bundles */
  uint64_t most;            /* nonzeros of the largest bundle */
  bool sorts;               /* sort bundles by rows before adding */

  amped_box_frequent_cuda frequent;
  void *parts;      /* frequent.parts rows of ld elements of the sums' type */
  uint32_t *adds;   /* [rows] counters of the counting jobs, saturating at UINT32_MAX */
  uint32_t *ticket; /* a counter for each 32 vectors of a row */
  int64_t *fixed;   /* integer sums, in place of the output; NULL: sums are floating point */
  const double *scales;
} amped_box_mttkrp_args;

/* Shared memory in bytes of a thread block, for bundles of at most `most` nonzeros. */
uint64_t amped_box_shared_bytes(const amped_plan *plan, int mode, uint64_t most, bool sorts);

/* Launch over the bundles of a span. */
amped_status amped_box_mttkrp_cuda(const amped_box_mttkrp_args *args);
amped_status amped_box_mttkrp_f32(const amped_box_mttkrp_args *args);
amped_status amped_box_mttkrp_f64(const amped_box_mttkrp_args *args);

/* Store the frequent rows in the output; with `fixed` (integer sums), all rows. Call after the last
 * span. */
amped_status amped_box_end_cuda(const amped_box_mttkrp_args *args);

/* Make the scales of mode's fixed sums, so that most_nnz terms do not overflow. largest: as in
 * amped_box_found. */
amped_status amped_box_scales_cuda(const amped_box_mttkrp_args *args, const uint64_t *largest,
                                   uint64_t most_nnz, uint32_t *maxima, double *scales);

#ifdef __cplusplus
}
#endif

#endif
