/* Placement of one mode's iDps on ranks: the rank that owns the rows of an iDp, and the rank that
 * computes with each nonzero. A pure function of the counts and the number of ranks; host memory.
 *
 * GREEDY is AMPED's balancer (section 4), Graham's longest-processing-time rule (1969). iDps are
 * placed in descending order of nonzeros, each on the rank with the fewest nonzeros so far. Ties go
 * to the rank with the fewest iDps (and so rows), then to the lowest. Empty iDps go to the rank
 * with the fewest iDps. No rank gets more than `limit` iDps. If the ranks' nonzeros then differ by
 * more than 1/AMPED_SPLIT_SHARE of their mean, the largest iDps are split, about as few as needed:
 * their nonzeros fill up the ranks with the fewest. A difference of AMPED_SPLIT_LEAST nonzeros
 * costs less than adding up the parts.
 *
 * Given owners stay, whatever the placement; GREEDY's splits make ranks even.
 *
 * BLOCK gives every rank consecutive iDps, such that the largest number of nonzeros of a rank is
 * minimal; it splits no iDp. EQUAL (AMPED's baseline, section 5.4) gives every rank the same number
 * of consecutive nonzeros, and splits each iDp that contains a bound. BLOCK and EQUAL ignore the
 * number of rows. */
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

/* The user's names, in the order of the enum; NULL-ended. */
extern const char *const amped_placement_names[];

/* Host memory, owned by the struct. */
typedef struct amped_balance {
  int *owner; /* [idp_count] rank of the rows and, if the iDp is not split, of its nonzeros */
  uint64_t split_count;
  uint64_t *splits; /* [split_count] iDps that are split, ascending */
  /* [nranks + 1] Shares of split iDps: their nonzeros are numbered, iDp after iDp, and rank p gets
   * numbers cuts[p] .. cuts[p + 1]. */
  uint64_t *cuts;
  uint64_t unsplit_spread; /* most minus fewest nonzeros of a rank before GREEDY split any iDp */
} amped_balance;

/* Requires limit * nranks >= idp_count. owners: [idp_count], or NULL. On failure there is nothing
 * to free. */
amped_status amped_balance_create(amped_balance *b, amped_placement placement,
                                  const uint64_t *idp_nnz, uint64_t idp_count, int nranks,
                                  uint64_t limit, const int *owners);
void amped_balance_free(amped_balance *b);

/* Place iDps by rows only: every rank gets the same number of consecutive iDps, and none is split.
 * On failure there is nothing to free. */
amped_status amped_balance_rows(amped_balance *b, uint64_t idp_count, int nranks);

/* Most iDps of a rank: 1.25 times the even share of the iDps, or the even share rounded up if it is
 * larger. */
uint64_t amped_balance_limit(uint64_t idp_count, int nranks);

#endif
