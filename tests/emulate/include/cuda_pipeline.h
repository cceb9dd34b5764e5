#ifndef EMULATED_CUDA_PIPELINE_H
#define EMULATED_CUDA_PIPELINE_H

#include <deque>
#include <string.h>
#include <vector>

#include "emulated_kernels.h"

/* A thread's copies that have not been done. Every other block does them at once, the rest when the
 * thread waits for them: so both a read before the wait and a copy over what is still read are
 * found. */
struct emulated_copies {
  struct copy {
    void *to;
    const void *from;
    size_t bytes, zeros;
  };
  unsigned long block = 0;
  std::vector<copy> open;
  std::deque<std::vector<copy>> groups;
};
inline std::vector<emulated_copies> emulated_copies_of(1024);

inline emulated_copies &emulated_own_copies() {
  emulated_copies &own =
      emulated_copies_of[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)];
  if (own.block != emulated_blocks) {
    own.open.clear();
    own.groups.clear();
    own.block = emulated_blocks;
  }
  return own;
}
inline void emulated_copy(const emulated_copies::copy &c) {
  memcpy(c.to, c.from, c.bytes - c.zeros);
  memset(static_cast<char *>(c.to) + c.bytes - c.zeros, 0, c.zeros);
}

inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0) {
  const emulated_copies::copy c = {to, from, bytes, zeros};
  if (emulated_blocks % 2 > 0)
    emulated_copy(c);
  else
    emulated_own_copies().open.push_back(c);
}
inline void __pipeline_commit() {
  emulated_copies &own = emulated_own_copies();
  own.groups.push_back(std::move(own.open));
  own.open.clear();
}
inline void __pipeline_wait_prior(size_t count) {
  emulated_copies &own = emulated_own_copies();
  while (own.groups.size() > count) {
    for (const auto &c : own.groups.front())
      emulated_copy(c);
    own.groups.pop_front();
  }
}

#endif
