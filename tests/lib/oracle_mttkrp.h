/* Oracle: the slow and obvious MTTKRP, nonzero by nonzero in double. Tests compare every fast
 * kernel with it.
 *
 * out[i][r] = sum over nonzeros x with index i in `mode` of x * prod over the other modes m of
 * factors[m][index in m][r]. Kolda & Bader 2009, section 2.6. All arrays are host arrays in file
 * order, row-major, with ncomps columns. out is dims[mode] x ncomps and is overwritten. bound (may
 * be NULL, same shape) gets the sums of the absolute terms, from which tests derive tolerances.
 * count (may be NULL, [dims[mode]]) gets the number of nonzeros of each row. */
#ifndef AMPED_ORACLE_MTTKRP_H
#define AMPED_ORACLE_MTTKRP_H

#include "tensor/sptensor.h"

void amped_mttkrp(const amped_sptensor *t, int mode, const double *const *factors, int ncomps,
                  double *out, double *bound, uint64_t *count);

#endif
