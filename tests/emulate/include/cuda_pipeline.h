#ifndef EMULATED_CUDA_PIPELINE_H
#define EMULATED_CUDA_PIPELINE_H

#include <string.h>

inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0) {
  memcpy(to, from, bytes - zeros);
  memset(static_cast<char *>(to) + bytes - zeros, 0, zeros);
}
inline void __pipeline_commit() {
}
inline void __pipeline_wait_prior(size_t) {
}

#endif
