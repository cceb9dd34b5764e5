/* Rank bound: the smaller of the numbers of fibres and nonzeros. */
#include "tensor/rank_bound.h"

amped_rank_bound amped_rank_bound_of(int order, const uint64_t *dims, uint64_t nnz) {
  int longest = 0;
  uint64_t fibres = 1;
  for (int m = 1; m < order; m++)
    longest = dims[m] > dims[longest] ? m : longest;
  for (int m = 0; m < order; m++)
    if (m != longest && !amped_mul(fibres, dims[m], &fibres))
      fibres = UINT64_MAX;
  return nnz < fibres ? (amped_rank_bound){.ncomps = nnz, .by_nonzeros = true}
                      : (amped_rank_bound){.ncomps = fibres, .by_nonzeros = false};
}
