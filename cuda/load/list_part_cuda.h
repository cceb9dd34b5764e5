/* A list part in device memory: the table amped_list_ops of the CUDA backend. Twin of
 * src/cpu/load/list_part_cpu.c.
 *
 * Two stable radix sorts distribute a window: the first sorts nonzeros of split iDps by split,
 * which numbers them; the second sorts all nonzeros by rank. Buffers that MPI sends and receives
 * lie in device memory if MPI accepts it. Otherwise they lie in pinned host memory, which kernels
 * write across the link. */
#ifndef AMPED_LIST_PART_CUDA_H
#define AMPED_LIST_PART_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

extern const amped_list_ops amped_list_part_cuda;

#ifdef __cplusplus
}
#endif

#endif
