/* Synthetic tensors on CPU cores: struct amped_backend's count_synthetic and
 * load_synthetic. Twin of cuda/load/synthetic_cuda.h. */
#ifndef AMPED_SYNTHETIC_CPU_H
#define AMPED_SYNTHETIC_CPU_H

#include "backend/backend.h"

amped_status amped_synthetic_cpu_count(const amped_synthetic *t, int mode, uint64_t width,
                                       uint64_t first, uint64_t count, uint64_t *idp_nnz,
                                       double *sum_of_squares);

/* Made in order, in pieces, each handed to `insert` (backend.h) of part. */
amped_status amped_synthetic_cpu_load(const amped_synthetic *t, const amped_plan *plan, int mode,
                                      amped_status (*insert)(amped_tensor_part *part, int mode,
                                                             uint64_t offset,
                                                             const amped_batch *batch),
                                      amped_tensor_part *part);

/* Host memory that load takes at most on the plan's rank. */
uint64_t amped_synthetic_cpu_bytes(const amped_plan *plan);

#endif
