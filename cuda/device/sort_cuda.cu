/* Stable sorts of pairs by key, by CUB's radix sort. */
#include "cuda/device/sort_cuda.h"

#include <cassert>
#include <climits>
#include <cub/device/device_radix_sort.cuh>

#include "cuda/device/device_cuda.h"

namespace {

/* C: type in which CUB counts the pairs. */
template <typename K, typename N, typename C>
amped_status sort_pairs(amped_sort_cuda *s, void *d_temporary, size_t *bytes, cudaStream_t stream) {
  cub::DoubleBuffer<K> keys((K *)s->d_keys[0], (K *)s->d_keys[1]);
  cub::DoubleBuffer<N> numbers((N *)s->d_numbers[0], (N *)s->d_numbers[1]);
  AMPED_CUDA(cub::DeviceRadixSort::SortPairs(d_temporary, *bytes, keys, numbers, (C)s->count, 0,
                                             s->bits, stream));
  if (d_temporary == nullptr)
    return AMPED_OK;
  s->d_keys[0] = keys.Current();
  s->d_keys[1] = keys.Alternate();
  s->d_numbers[0] = numbers.Current();
  s->d_numbers[1] = numbers.Alternate();
  return AMPED_OK;
}

/* d_temporary: NULL, to find *bytes. */
amped_status sort_of_types(amped_sort_cuda *s, void *d_temporary, size_t *bytes,
                           cudaStream_t stream) {
  assert(s->key_bytes == 2 || (s->key_bytes == s->number_bytes && s->count <= INT_MAX));
  switch (s->key_bytes) {
  case 8:
    return sort_pairs<uint64_t, uint64_t, int>(s, d_temporary, bytes, stream);
  case 4:
    return sort_pairs<uint32_t, uint32_t, int>(s, d_temporary, bytes, stream);
  default:
    return s->number_bytes == 4
               ? sort_pairs<uint16_t, uint32_t, uint64_t>(s, d_temporary, bytes, stream)
               : sort_pairs<uint16_t, uint64_t, uint64_t>(s, d_temporary, bytes, stream);
  }
}

void exchange(void **pair) {
  void *const first = pair[0];
  pair[0] = pair[1];
  pair[1] = first;
}

} // namespace

amped_status amped_sort_cuda_bytes(const amped_sort_cuda *sort, size_t *bytes) {
  amped_sort_cuda s = *sort;
  *bytes = 0;
  return sort_of_types(&s, nullptr, bytes, nullptr);
}

amped_status amped_sort_cuda_run(amped_sort_cuda *sort, void *d_temporary, size_t bytes,
                                 cudaStream_t stream) {
  return sort_of_types(sort, d_temporary, &bytes, stream);
}

void amped_sort_cuda_exchange(amped_sort_cuda *sort) {
  exchange(sort->d_keys);
  exchange(sort->d_numbers);
}
