/* Contraction: removes one mode, or several that are adjacent in memory, from a slab of cells, with
 * a matrix that has one row for each of their indices:
 *
 *   T[l, t][r] = sum over k of X[l, k, t] F[k][r]
 *
 * X is lead x mid x trail cells, read once and never moved. Products are exact: for tensor cores,
 * floats are split into a high and a low part. The product of the low parts is left out. Tensor
 * cores truncate their sums, which are therefore added up every few steps of AMPED_CONTRACT_STEP.
 * Ranges of AMPED_CONTRACT_RANGE are added in double. The error of an element is below 1e-5 of the
 * sum of its terms' magnitudes. The order of additions depends on the sizes and on the number of
 * multiprocessors. All pointers are device memory. Nothing waits. */
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
  amped_vtype value_type; /* type of F and T; cells that do not fit are rounded */
  const void *cells;
  uint64_t lead, mid, trail;
  uint64_t first, end; /* range of mid: first is 0 or a multiple of AMPED_CONTRACT_ROWS, end at
                          most AMPED_CONTRACT_ROWS more */
  bool again;          /* sums hold what earlier calls added up */
  bool more;           /* later calls add to the sums: T is not made yet */
  uint64_t parts;      /* maximum of amped_contract_cuda_parts over the calls that make one T */
  int ncomps;
  const void *factor; /* rows first .. end, amped_contract_cuda_columns elements per row, then
                         zeros up to a multiple of AMPED_CONTRACT_STEP rows */
  void *split;        /* workspace of amped_contract_cuda_split bytes; NULL if 0 */
  bool tf32;          /* round floats to TF32 and take one product, not three */
  double *sums;       /* parts times the elements of T; NULL if amped_contract_cuda_needs_sums is
                         false and one call makes T */
  void *out;          /* T: lead x trail rows of ncomps */
  amped_caches_cuda caches;
  cudaStream_t stream;
} amped_contract_cuda_args;

/* Returns ncomps, padded to whole tiles. */
uint64_t amped_contract_cuda_columns(amped_vtype type, int ncomps);

/* Returns the bytes of rows first .. end of F split for tensor cores; 0 if the device does not need
 * them. */
uint64_t amped_contract_cuda_split(const amped_contract_cuda_args *args);

/* Returns the number of parts of mid that thread blocks share if rows are few. `first` and all
 * members after it, except ncomps and caches, are not read. */
uint64_t amped_contract_cuda_parts(const amped_contract_cuda_args *args);

/* True if `sums` is needed, in double: mid is longer than AMPED_CONTRACT_RANGE, or there are
 * several parts. */
bool amped_contract_cuda_needs_sums(const amped_contract_cuda_args *args);

/* Enqueue the contraction of indices first .. end of mid. If this call has fewer parts than
 * `parts`, the caller has zeroed the sums and set `again`. T is complete after the call without
 * `more`. */
amped_status amped_contract_cuda(const amped_contract_cuda_args *args);

#ifdef __cplusplus
}
#endif

#endif
