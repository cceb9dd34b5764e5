/* Buffers of a struct (base/buffers.h), some of them device or pinned memory.
 *
 * As amped_buffers_allocate and amped_buffers_free, for all kinds of buffers. New memory of a GPU
 * has any contents. Host memory is allocated first. The calling thread is bound to the GPU. */
#ifndef AMPED_BUFFERS_CUDA_H
#define AMPED_BUFFERS_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "base/buffers.h"

amped_status amped_buffers_cuda_allocate(amped_buffers b);
void amped_buffers_cuda_free(amped_buffers b);

#ifdef __cplusplus
}
#endif

#endif
