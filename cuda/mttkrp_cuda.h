/* MTTKRP on the GPU: twin of ../src/mttkrp_cpu.h.
 *
 * All pointers are device memory; everything is enqueued on `stream` and not waited for. The output
 * is zeroed by the caller; a mode's copy may come in several pieces, in order: rows that begin in a
 * piece are stored, what goes on in later ones is added, in a fixed order. No atomics: the same
 * bits in every run. */
#ifndef AMPED_MTTKRP_CUDA_H
#define AMPED_MTTKRP_CUDA_H

#include "device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_mttkrp_cuda_args {
  amped_vtype value_type;
  amped_itype index_type;
  int inputs; /* order - 1 */
  int ncomps;
  uint64_t ld;
  const void *factors[AMPED_MAX_ORDER - 1]; /* of the input modes, ascending */
  void *output;
  void *workspace; /* of amped_mttkrp_cuda_workspace bytes */
  int multiprocessors;
  cudaStream_t stream;

  uint64_t first; /* number of the piece's first nonzero in the copy, a multiple of packing.run */
  uint64_t count;
  /* packed: the piece's planes and values, the copy's dictionary, row bits, list and table */
  amped_packing packing;
  const void *planes[AMPED_MAX_PLANES];
  const void *values;
  const void *dictionary; /* of value_type */
  const uint32_t *bits;
  const void *rows;
  const void *starts;
  /* plain, for the published kernel */
  amped_run run;
} amped_mttkrp_cuda_args;

amped_status amped_mttkrp_cuda(const amped_mttkrp_cuda_args *args, amped_kernel kernel);

/* Bytes of the fix-up buffer for this rank's largest copy. */
uint64_t amped_mttkrp_cuda_workspace(const amped_plan *plan, int multiprocessors);

/* Do the program's kernels exist for the current device? AMPED_FAILED with a remedy where not. */
amped_status amped_mttkrp_cuda_probe(void);

#ifdef __cplusplus
}
#endif

#endif
