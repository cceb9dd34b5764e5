/* Residual: |X - M|^2 of the factors as they are stored, where the quick formula of a solver
 * cancels.
 *
 * |X - M|^2 = |X|^2 + |M|^2 - 2 (X, M), each in double-double (base/double_double.h): |M|^2 from
 * the factors' grams over all rows, the other two from a pass over all nonzeros. So what cancels is
 * known to some 2^-80 of its size (docs/numerics.md). The cost: a gram's and an MTTKRP's work, in
 * double-double. */
#ifndef AMPED_RESIDUAL_H
#define AMPED_RESIDUAL_H

#include "factor/context.h"

typedef struct amped_residual {
  double part;  /* |X - M|^2 / |X|^2, at least 0 */
  double error; /* of it, at most */
} amped_residual;

/* Can the context's tensor format do that? */
bool amped_residual_is_possible(const amped_context *context);

/* Collective, between sweeps: the factors of all modes have arrived on every rank, the output is
 * free. Columns have unit length or are zero. The status is agreed. The same result on every rank.
 */
amped_status amped_residual_measure(const amped_context *context, const double *weights,
                                    amped_residual *out);

/* Bytes of host memory that measure takes on every rank. */
uint64_t amped_residual_host_bytes(const amped_plan *plan);

#endif
