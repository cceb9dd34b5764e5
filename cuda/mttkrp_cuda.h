/* MTTKRP of a run of nonzeros on the GPU: twin of ../src/mttkrp.h.
 *
 * Adds to the output, which the caller zeroed: a mode's copy may come in any number of runs, each
 * sorted by output row. All pointers are device memory; everything is enqueued on `stream` and not
 * waited for. */
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
  amped_run run;                            /* pointers into device memory */
  const void *factors[AMPED_MAX_ORDER - 1]; /* of the input modes, ascending */
  void *output;
  int multiprocessors;
  cudaStream_t stream;
} amped_mttkrp_cuda_args;

amped_status amped_mttkrp_cuda(const amped_mttkrp_cuda_args *args, amped_kernel kernel);

/* Do the program's kernels exist for the current device? AMPED_FAILED with a remedy where not. */
amped_status amped_mttkrp_cuda_probe(void);

#ifdef __cplusplus
}
#endif

#endif
