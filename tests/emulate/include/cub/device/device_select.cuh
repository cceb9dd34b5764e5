#ifndef EMULATED_SELECT_H
#define EMULATED_SELECT_H

#include "cuda_runtime_api.h"

namespace cub {

struct DeviceSelect {
  template <typename In, typename Out, typename Count, typename N, typename F>
  static cudaError_t If(void *temporary, size_t &bytes, In in, Out out, Count *selected, N count,
                        F is_wanted, cudaStream_t = nullptr) {
    if (temporary == nullptr) {
      bytes = 256;
      return cudaSuccess;
    }
    Count found = 0;
    for (N i = 0; i < count; i++) {
      const auto x = in[i];
      if (is_wanted(x))
        out[found++] = x;
    }
    *selected = found;
    return cudaSuccess;
  }
};

} // namespace cub

#endif
