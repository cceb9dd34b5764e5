/* Placement of one mode's iDps on processes: AMPED's greedy balancer (section 4), which is Graham's
 * longest-processing-time rule (1969): at most 4/3 - 1/(3 nranks) of the optimum while no row limit
 * is hit.
 *
 * A pure function of the counts and the number of ranks. iDps go in descending order of nonzeros to
 * the rank with the fewest nonzeros so far; ties to the rank with the fewest iDps (= rows), then to
 * the lowest rank. Empty iDps go to the rank with the fewest iDps. No rank gets more than 1.25
 * times the even share of iDps (rounded up where the share is less than one apart), so that rows
 * stay near even too.
 *
 * owner[i] is the rank of iDp i. Host memory of the caller. */
#ifndef AMPED_BALANCE_H
#define AMPED_BALANCE_H

#include "status.h"
#include "types.h"

/* No rank gets more than `limit` iDps; limit * nranks >= idp_count. */
amped_status amped_balance(const uint64_t *idp_nnz, uint64_t idp_count, int nranks, uint64_t limit,
                           int *owner);

/* 1.25 times the even share of iDps, or the even share rounded up where that is more. */
uint64_t amped_balance_limit(uint64_t idp_count, int nranks);

#endif
