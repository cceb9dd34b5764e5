/* MTTKRP on CPU cores over sorted nonzeros, the twin of ../cuda/mttkrp_cuda.h.
 *
 * The nonzeros are cut into equal runs (iSMps); a thread accumulates each output row in double and
 * stores it once. The run that holds a row's first nonzero stores the row; partial sums of runs that
 * only continue a row go to a fix-up buffer, added afterwards in order: no atomics, and the same
 * bits for any number of threads. */
#ifndef AMPED_MTTKRP_CPU_H
#define AMPED_MTTKRP_CPU_H

#include "types.h"

/* One rank's share of a copy: arrays of `nnz` elements in host memory. */
typedef struct amped_cpu_copy {
  uint64_t nnz;
  void *rows;
  void *inputs[AMPED_MAX_ORDER - 1];
  void *values;
} amped_cpu_copy;

/* Nonzeros of a run, and runs of a copy. Not a function of the number of threads. */
uint64_t amped_cpu_run_nnz(uint64_t nnz);
uint64_t amped_cpu_runs(uint64_t nnz);

/* out (zeroed by the caller) gets the rows that occur; factors[i] belongs to inputs[i], all with ld
 * elements between rows. fixup is a workspace of amped_cpu_runs(nnz) * ld doubles. */
void amped_mttkrp_cpu(const amped_cpu_copy *copy, amped_itype index_type, amped_vtype value_type,
                      int ninputs, const void *const *factors, uint64_t ld, int threads,
                      double *fixup, void *out);

#endif
