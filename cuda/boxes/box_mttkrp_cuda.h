/* MTTKRP over a box copy on the GPU: twin of src/cpu/box_mttkrp_cpu.h.
 *
 * Persistent thread blocks take bundles of a walk in turn (box_walk_cuda.h). Sums are added to the
 * output atomically, in whatever order comes; the caller zeroes it. All pointers but the plan are
 * device memory. Work is enqueued on `stream`.
 *
 * Rows that get many additions are hot: a hot row has several sums, its parts, in a buffer beside
 * the output. Groups of lanes take turns with them. So no address of memory is waited for by all
 * thread blocks, and no sum of floats gets too many terms. amped_box_end_cuda adds the parts up, in
 * double, and stores the row.
 *
 * How many additions a part gets. A row with A additions has A / AMPED_BOX_PART parts, each for
 * 256 .. 383. All stretches of a tile are numbered one after the other, bundle by bundle, and
 * stretch t adds to part floor(S * frac(t * golden ratio)). Of stretches that follow each other, or
 * that have the same place in each bundle, a part gets its even share and some few more; those of
 * any other choice are spread as by chance. A stretch adds to a row every second nonzero at most:
 * 64 times where a bundle has 1024 nonzeros and 8 groups, and once or twice where bundles are
 * sorted. So a part gets below 1024 additions, and the error of an output element stays below 1e-5
 * of the sum of |x| prod |a|, for rows of any length.
 *
 * With `fixed` all sums are 64-bit integers, of multiples of 1 / scales[column], parts too.
 * Integers have the same sum in any order, so all runs give the same bits. Of each row of these the
 * first elements of its vectors come first, then the second ones. */
#ifndef AMPED_BOX_MTTKRP_CUDA_H
#define AMPED_BOX_MTTKRP_CUDA_H

#include "cuda/boxes/box_walk_cuda.h"
#include "cuda/device/device_cuda.h"
#include "cuda/sorted/pack_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row with more additions is hot: a thousand equal terms lose 1e-5 of a sum of floats. */
#define AMPED_BOX_TERMS 512

/* Additions for which a hot row has a part; AMPED_BOX_TERMS is a multiple. */
#define AMPED_BOX_PART 256

/* Hot rows of more parts are added up by a thread block each. */
#define AMPED_BOX_LONG 32

/* Counters of the buckets by which a bundle is sorted, at most. */
#define AMPED_BOX_BUCKETS 4096

/* Rows with many additions. All zero: there are none. */
typedef struct amped_box_hot_cuda {
  uint64_t count;
  uint64_t parts;           /* of all of them */
  uint64_t long_rows;       /* those with more than AMPED_BOX_LONG parts */
  const uint32_t *d_bits;   /* a bit a row */
  const uint32_t *d_before; /* hot rows before each word of them */
  const uint64_t *d_rows;   /* [count] */
  const uint32_t *d_firsts; /* [count + 1] parts before each */
  const uint32_t *d_longs;  /* [long_rows] their numbers among the hot rows */
} amped_box_hot_cuda;

/* What a launch does with the nonzeros of a row that lie together. */
typedef enum amped_box_job {
  AMPED_BOX_ADD,        /* add their terms to the row */
  AMPED_BOX_COUNT_ADDS, /* count the addition */
  AMPED_BOX_COUNT_NNZ   /* count them */
} amped_box_job;

typedef struct amped_box_mttkrp_args {
  const amped_plan *plan;
  int mode;
  amped_box_job job;
  const void *factors[AMPED_MAX_ORDER]; /* all but mode's */
  void *output;                         /* amped_box_rows_cuda rows */
  const uint64_t *shared_positions;     /* in the factor, of shared rows */
  int multiprocessors;
  cudaStream_t stream;

  /* The nonzeros of a span, packed.first the first of them; its bundles. */
  amped_packed_cuda packed;
  const uint64_t *firsts;
  const uint32_t *counts;
  const uint32_t *tiles;
  const uint32_t *turns;
  const uint32_t *bundle_firsts;
  uint64_t bundle, bundles; /* the first of them, among those of all spans */
  uint64_t most;            /* nonzeros of a bundle */
  bool sorts;               /* bundles are sorted by rows before they are added up */

  amped_box_hot_cuda hot;
  void *parts;      /* hot.parts rows of ld, of the sums' type */
  uint32_t *adds;   /* [rows] for the counting jobs; what is more stays UINT32_MAX */
  uint32_t *ticket; /* a number for each 32 vectors of a row */
  int64_t *fixed;   /* in place of the output; NULL: floats */
  const double *scales;
} amped_box_mttkrp_args;

/* Shared memory of a thread block, and the most nonzeros of a bundle that fit in it. */
uint64_t amped_box_shared_bytes(const amped_plan *plan, int mode, uint64_t most, bool sorts);

/* Launch over the bundles of a span. */
amped_status amped_box_mttkrp_cuda(const amped_box_mttkrp_args *args);
amped_status amped_box_mttkrp_f32(const amped_box_mttkrp_args *args);
amped_status amped_box_mttkrp_f64(const amped_box_mttkrp_args *args);

/* Behind the last span: store hot rows, or all rows of fixed sums. */
amped_status amped_box_end_cuda(const amped_box_mttkrp_args *args);

/* scales of mode's fixed sums, so that none of most_nnz terms overflows. largest as in
 * amped_box_found. */
amped_status amped_box_scales_cuda(const amped_box_mttkrp_args *args, const uint64_t *largest,
                                   uint64_t most_nnz, uint32_t *maxima, double *scales);

#ifdef __cplusplus
}
#endif

#endif
