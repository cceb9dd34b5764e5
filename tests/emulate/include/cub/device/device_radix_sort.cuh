#ifndef EMULATED_RADIX_SORT_H
#define EMULATED_RADIX_SORT_H

#include <algorithm>
#include <numeric>
#include <vector>

#include "cuda_runtime_api.h"

namespace cub {

template <typename T> struct DoubleBuffer {
  T *d_buffers[2];
  int selector = 0;
  DoubleBuffer() : d_buffers{nullptr, nullptr} {
  }
  DoubleBuffer(T *current, T *alternate) : d_buffers{current, alternate} {
  }
  T *Current() const {
    return d_buffers[selector];
  }
  T *Alternate() const {
    return d_buffers[selector ^ 1];
  }
};

struct DeviceRadixSort {
  template <typename K, typename V, typename N>
  static cudaError_t SortPairs(void *temporary, size_t &bytes, DoubleBuffer<K> &keys,
                               DoubleBuffer<V> &values, N count, int begin = 0,
                               int end = (int)sizeof(K) * 8, cudaStream_t = nullptr) {
    if (temporary == nullptr) {
      bytes = 256;
      return cudaSuccess;
    }
    const K *k = keys.Current();
    const V *v = values.Current();
    const unsigned long long mask = end - begin >= 64 ? ~0ULL : ((1ULL << (end - begin)) - 1ULL);
    std::vector<size_t> order((size_t)count);
    std::iota(order.begin(), order.end(), (size_t)0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return ((unsigned long long)k[a] >> begin & mask) <
             ((unsigned long long)k[b] >> begin & mask);
    });
    for (size_t i = 0; i < order.size(); i++) {
      keys.Alternate()[i] = k[order[i]];
      values.Alternate()[i] = v[order[i]];
    }
    keys.selector ^= 1;
    values.selector ^= 1;
    return cudaSuccess;
  }
};

} // namespace cub

#endif
