/* Placement of one mode's iDps on processes: which rank owns the rows of an iDp, and which nonzeros
 * each rank computes with. A pure function of the counts and the number of ranks.
 *
 * GREEDY is AMPED's balancer (section 4), Graham's longest-processing-time rule (1969): iDps go in
 * descending order of nonzeros to the rank with the fewest so far, ties to the rank with the fewest
 * iDps (= rows), then to the lowest; empty iDps to the rank with the fewest iDps. No rank gets more
 * than `limit` iDps. Where the ranks' nonzeros then differ by more than 1/AMPED_SPLIT_SHARE of
 * their mean, the largest iDps are split, about as few as help: their nonzeros fill up the ranks
 * that have fewest. A difference of AMPED_SPLIT_LEAST nonzeros costs less than adding up the parts.
 *
 * BLOCK gives every rank consecutive iDps, so that the largest number of nonzeros of a rank is the
 * smallest possible; nothing is split. EQUAL (AMPED's baseline, section 5.4) gives every rank the
 * same number of consecutive nonzeros; the iDps that a bound falls into are split. Neither looks at
 * rows. */
#ifndef AMPED_PLACEMENT_H
#define AMPED_PLACEMENT_H

#include "base/status.h"
#include "base/types.h"

#define AMPED_SPLIT_SHARE 200
#define AMPED_SPLIT_LEAST 1024

typedef enum amped_placement {
  AMPED_PLACEMENT_GREEDY,
  AMPED_PLACEMENT_EQUAL,
  AMPED_PLACEMENT_BLOCK
} amped_placement;

/* As the user calls them, in the order of the enum; NULL-ended. */
extern const char *const amped_placement_names[];

/* Host memory, owned by the struct. */
typedef struct amped_balance {
  int *owner; /* [idp_count] rank of the rows and, unless the iDp is split, of its nonzeros */
  uint64_t split_count;
  uint64_t *splits; /* [split_count] iDps that are split, ascending */
  /* [nranks + 1] The nonzeros of all split iDps are numbered, one iDp behind the other; rank p gets
   * those from cuts[p] to cuts[p + 1]. */
  uint64_t *cuts;
  uint64_t unsplit_spread; /* most less fewest nonzeros of a rank, had GREEDY split nothing */
} amped_balance;

/* limit * nranks >= idp_count. On failure nothing is left to free. */
amped_status amped_balance_create(amped_balance *b, amped_placement placement,
                                  const uint64_t *idp_nnz, uint64_t idp_count, int nranks,
                                  uint64_t limit);
void amped_balance_free(amped_balance *b);

/* 1.25 times the even share of iDps, or the even share rounded up where that is more. */
uint64_t amped_balance_limit(uint64_t idp_count, int nranks);

#endif
