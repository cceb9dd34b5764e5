/* The GPU of a rank with the streams of its work: struct amped_device of the CUDA backend. */
#ifndef AMPED_RANK_DEVICE_CUDA_H
#define AMPED_RANK_DEVICE_CUDA_H

#include "cuda/device/device_cuda.h"

struct amped_device {
  amped_backend_options options;
  amped_device_cuda gpu;
  cudaStream_t stream;                /* MTTKRP, and all work not named next */
  cudaStream_t stream_dense;          /* dense work, of high priority: overtakes MTTKRP */
  cudaStream_t stream_in, stream_out; /* rows from and to the host */
  struct cublasContext *blas; /* cublasHandle_t on stream_dense; NULL before its first use */
};

#endif
