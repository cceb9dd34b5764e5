/* A list part in device memory: the table amped_list_ops of the CUDA backend. Twin of
 * src/cpu/list_part_cpu.c.
 *
 * Windows are dealt by two stable radix sorts: of nonzeros of split iDps by split, which gives them
 * their numbers, and of all nonzeros by rank. What MPI sends and receives lies in device memory
 * where MPI takes it, else in pinned host memory, which kernels write across the link. */
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
