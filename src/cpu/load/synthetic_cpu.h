/* Synthetic tensors (backend/synthetic.h) on CPU cores: the backend's count_synthetic and
 * make_synthetic, by all OpenMP threads. Twin of cuda/load/synthetic_cuda.h. Not collective. */
#ifndef AMPED_SYNTHETIC_CPU_H
#define AMPED_SYNTHETIC_CPU_H

#include "backend/backend.h"

/* Count nonzeros per iDp: idp_nnz[i] = nonzeros among the counters first .. first + count in iDp i,
 * a range of `width` indices of mode. *sum_of_squares = sum of their squared values; NULL: not
 * wanted. */
amped_status amped_synthetic_cpu_count(const amped_synthetic *t, int mode, uint64_t width,
                                       uint64_t first, uint64_t count, uint64_t *idp_nnz,
                                       double *sum_of_squares);

/* Make the rank's shard of mode's copy in pieces, in the order of the copy, and pass each piece to
 * `insert` (backend.h) with part. */
amped_status amped_synthetic_cpu_load(const amped_synthetic *t, const amped_plan *plan, int mode,
                                      amped_status (*insert)(amped_tensor_part *part, int mode,
                                                             uint64_t offset,
                                                             const amped_batch *batch),
                                      amped_tensor_part *part);

/* Upper bound on the host memory that load takes on the plan's rank, in bytes. */
uint64_t amped_synthetic_cpu_bytes(const amped_plan *plan);

#endif
