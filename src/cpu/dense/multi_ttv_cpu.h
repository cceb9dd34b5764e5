/* MTTKRP of one mode from T, the result of a contraction (contract_cpu.h), on CPU cores:
 *
 *   out[i][r] = sum over T's elements with index i in mode `keep` of T[..][r] times the other
 *               modes' rows
 *
 * T is a row-major array of its modes and of ncomps components. Sums are in double: the error of an
 * element is about 2^-50 of the sum of |T prod a|, plus one rounding. Any number of threads gives
 * the same bits. */
#ifndef AMPED_MULTI_TTV_CPU_H
#define AMPED_MULTI_TTV_CPU_H

#include "base/types.h"

typedef struct amped_multi_ttv {
  const void *t;
  int modes; /* modes of T, at least 1 */
  uint64_t dims[AMPED_MAX_ORDER];
  const void *factors[AMPED_MAX_ORDER]; /* rows in index order, ld elements each; keep's factor is
                                           not read */
  int keep;
  amped_vtype value_type; /* type of T, factors and out */
  int ncomps;
  uint64_t ld;
} amped_multi_ttv;

/* Bytes of workspace that any call with these numbers needs. */
uint64_t amped_multi_ttv_bytes(int ncomps, int threads);

/* out = rows first .. first + count of the result, ld elements each, padded with zeros. workspace
 * must begin at a cache line. Cannot fail. */
void amped_multi_ttv_cpu(const amped_multi_ttv *m, uint64_t first, uint64_t count, void *out,
                         int threads, void *workspace);

#endif
