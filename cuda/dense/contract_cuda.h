/* Contraction: one mode, or several that lie together in memory, taken out of a slab of cells with
 * a matrix of a row for each of their indices:
 *
 *   T[l, t][r] = sum over k of X[l, k, t] F[k][r]
 *
 * X is lead x mid x trail cells, read once and never moved. Products are exact: floats are split
 * into a high and a low part for products on tensor cores, the low parts' product left out; sums of
 * tensor cores, which cut, are added up every few steps of AMPED_CONTRACT_STEP, and these by ranges
 * of AMPED_CONTRACT_RANGE in double. The error of an element is below 1e-5 of the sum of its terms'
 * magnitudes. The order of additions depends on the sizes and on the
 * number of multiprocessors. All pointers are device memory. Nothing waits. */
#ifndef AMPED_CONTRACT_CUDA_H
#define AMPED_CONTRACT_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AMPED_CONTRACT_STEP 32
#define AMPED_CONTRACT_RANGE 4096
/* Rows of F that are made at a time. */
#define AMPED_CONTRACT_ROWS (UINT64_C(1) << 16)

typedef struct amped_contract_cuda_args {
  amped_cell_type type;
  amped_vtype value_type; /* of F and T; cells that it does not hold are rounded */
  const void *cells;
  uint64_t lead, mid, trail;
  uint64_t first, end; /* of mid: first is 0 or a multiple of AMPED_CONTRACT_ROWS, end at most as
                          much more */
  bool again;          /* sums hold what earlier calls added up */
  bool more;           /* later calls add to the sums: T is not made yet */
  uint64_t parts;      /* the most amped_contract_cuda_parts of the calls that make one T */
  int ncomps;
  const void *factor; /* rows first .. end, amped_contract_cuda_columns elements each, behind them
                         zeros up to a multiple of AMPED_CONTRACT_STEP */
  void *split;        /* room of amped_contract_cuda_split bytes; NULL where that is 0 */
  bool tf32;          /* floats are rounded to TF32, one product: no longer exact */
  double *sums;       /* parts times the elements of T; NULL where amped_contract_cuda_needs_sums is
                         false and one call makes T */
  void *out;          /* T: lead x trail rows of ncomps */
  amped_caches_cuda caches;
  cudaStream_t stream;
} amped_contract_cuda_args;

/* ncomps, padded to whole tiles. */
uint64_t amped_contract_cuda_columns(amped_vtype type, int ncomps);

/* Bytes for rows first .. end of F as tensor cores take them, where the device takes them so. */
uint64_t amped_contract_cuda_split(const amped_contract_cuda_args *args);

/* Parts of mid that blocks share where rows are few: first, end and what follows is not asked for.
 */
uint64_t amped_contract_cuda_parts(const amped_contract_cuda_args *args);

/* Are there sums of ranges, or of parts, in double? */
bool amped_contract_cuda_needs_sums(const amped_contract_cuda_args *args);

/* Enqueue rows first .. end of mid. Where calls have fewer parts than `parts`, the caller has set
 * the sums to zero, and `again`. T is there after the call that has no `more`. */
amped_status amped_contract_cuda(const amped_contract_cuda_args *args);

#ifdef __cplusplus
}
#endif

#endif
