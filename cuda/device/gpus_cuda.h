/* The GPUs that a process sees, for people: names, addresses, versions, links. */
#ifndef AMPED_GPUS_CUDA_H
#define AMPED_GPUS_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/gpu_info.h"
#include "base/status.h"

/* The function of amped_device_ops: gpus. */
amped_status amped_gpus_cuda(int local_rank, amped_gpus *out);

#ifdef __cplusplus
}
#endif

#endif
