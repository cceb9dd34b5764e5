/* Stable sorts of pairs of a key and a number by key, on the GPU: radix sort of CUB.
 *
 * CUB's headers take nvcc ten seconds a unit, and its kernels are compiled in each unit that calls
 * it. So all sorts are here. */
#ifndef AMPED_SORT_CUDA_H
#define AMPED_SORT_CUDA_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <stdint.h>

#include "base/status.h"

/* Pairs that are sorted. All arrays are device memory of the caller, `count` elements each. */
typedef struct amped_sort_cuda {
  int key_bytes;    /* 2, 4 or 8: unsigned keys */
  int number_bytes; /* 4 or 8. Keys of 4 and 8 bytes have numbers of the same size, and a count
                     * below 2^31 */
  int bits;         /* keys differ in this many low bits at most; 1 or more */
  uint64_t count;
  void *d_keys[2]; /* the keys, and memory for as many; a sort exchanges the two as needed, so that
                    * the result is in [0] */
  void *d_numbers[2]; /* likewise */
} amped_sort_cuda;

/* Find the device memory that a sort needs besides its arrays, which may be NULL here. */
amped_status amped_sort_cuda_bytes(const amped_sort_cuda *sort, size_t *bytes);

/* Sort. d_temporary: `bytes` bytes of device memory. Does not wait. */
amped_status amped_sort_cuda_run(amped_sort_cuda *sort, void *d_temporary, size_t bytes,
                                 cudaStream_t stream);

/* Exchange keys and numbers with the memory beside them, after a kernel has written new pairs
 * there. */
void amped_sort_cuda_exchange(amped_sort_cuda *sort);

#ifdef __cplusplus
}
#endif

#endif
