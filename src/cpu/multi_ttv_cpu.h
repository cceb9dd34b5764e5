/* MTTKRP of one mode from T, the result of a contraction (contract_cpu.h), on CPU cores:
 *
 *   out[i][r] = sum over T's elements with index i in mode `keep` of T[..][r] times the other
 *               modes' rows
 *
 * T is a row-major array of its modes and of ncomps components. Sums are in double: an element is
 * off by some 2^-50 of the sum of |T prod a|, and rounded once. Any number of threads gives the
 * same bits. */
#ifndef AMPED_MULTI_TTV_CPU_H
#define AMPED_MULTI_TTV_CPU_H

#include "base/types.h"

typedef struct amped_multi_ttv {
  const void *t;
  int modes; /* of T, at least 1 */
  uint64_t dims[AMPED_MAX_ORDER];
  const void *factors[AMPED_MAX_ORDER]; /* rows in the order of indices, ld elements each; that of
                                           keep is not read */
  int keep;
  amped_vtype value_type; /* of T, factors and out */
  int ncomps;
  uint64_t ld;
} amped_multi_ttv;

/* Bytes of workspace that any of these takes with so many threads. */
uint64_t amped_multi_ttv_bytes(int ncomps, int threads);

/* out = rows first .. first + count, of ld elements, padded with zeros. workspace: begins at a
 * cache line. Cannot fail. */
void amped_multi_ttv_cpu(const amped_multi_ttv *m, uint64_t first, uint64_t count, void *out,
                         int threads, void *workspace);

#endif
