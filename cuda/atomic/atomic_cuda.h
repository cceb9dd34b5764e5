/* The atomic kernel: AMPED's Algorithm 2, kept for comparison (--kernel=published). Nonzeros stay
 * in the order of their batches, with an atomic add per nonzero and column. A form of the
 * copies. */
#ifndef AMPED_ATOMIC_CUDA_H
#define AMPED_ATOMIC_CUDA_H

#include "cuda/sorted/copies_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_copy_form_cuda amped_atomic_cuda_form;

#ifdef __cplusplus
}
#endif

#endif
