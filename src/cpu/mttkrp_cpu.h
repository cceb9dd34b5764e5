/* MTTKRP on CPU cores over a packed copy, the twin of cuda/sorted/mttkrp_cuda.h.
 *
 * The nonzeros are cut into equal strips (iSMps) that threads take in turn. The strip that holds a
 * row's first nonzero stores the row; partial sums of strips that only continue a row go to a
 * fix-up buffer, added afterwards in order: no atomics, and the same bits for any number of
 * threads. Sums of floats are carried in double beyond a block of nonzeros (mttkrp_block.h), so
 * that the error of an output element stays below 1e-5 of the sum of |x| prod |a| for rows of any
 * length. */
#ifndef AMPED_MTTKRP_CPU_H
#define AMPED_MTTKRP_CPU_H

#include "cpu/pack_cpu.h"

/* Nonzeros of a strip (a multiple of the packing's), and strips of a copy. Not a function of the
 * number of threads. */
uint64_t amped_cpu_strip_nnz(const amped_packing *p, uint64_t nnz);
uint64_t amped_cpu_strips(const amped_packing *p, uint64_t nnz);

/* out, `rows` rows of ld elements, gets the rows that occur, and zeros elsewhere. factors[i]
 * belongs to input i and has the same ld; fetch[i]: it is too large for a core's cache. dictionary
 * holds values of value_type. fixup is a workspace of amped_cpu_strips(nnz) * ld doubles. */
typedef struct amped_cpu_mttkrp {
  const amped_cpu_copy *copy;
  amped_vtype value_type;
  const void *dictionary;
  const void *factors[AMPED_MAX_ORDER - 1];
  bool fetch[AMPED_MAX_ORDER - 1];
  uint64_t rows;
  uint64_t ld;
  double *fixup;
  void *out;
} amped_cpu_mttkrp;

void amped_mttkrp_cpu(const amped_cpu_mttkrp *m, int threads);

#endif
