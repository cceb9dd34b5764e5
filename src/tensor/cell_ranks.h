/* Cell ranks: the rank of each cell's index of one mode among all candidates of that mode, by the
 * values of a model; the other indices are the cell's. Measures of the ranks.
 *
 * Candidates are the indices of the mode with a learnt entry (tensor/predictor.h). A filter removes
 * candidates that are known to be right, except the cell's own index. The best rank is 1. Equal
 * values share the mean of their ranks: rank = 1 + (higher values) + (other equal values) / 2.
 * Values are equal if they differ by no more than rounding: by the bound of two sums of R + 1
 * products, of the mean and of biases.
 *
 * Values are products of blocks of rows with all candidates. Host memory; all OpenMP threads, whose
 * number changes no rank; not collective. */
#ifndef AMPED_CELL_RANKS_H
#define AMPED_CELL_RANKS_H

#include "tensor/cell_filter.h"
#include "tensor/predictor.h"

typedef struct amped_cell_ranks {
  const amped_predictor *p;
  int of;                             /* the ranked mode */
  uint64_t count;                     /* cells */
  uint64_t *indices[AMPED_MAX_ORDER]; /* [count] borrowed. Mode `of`: candidates. Other modes: below
                                         dims, or AMPED_PREDICTOR_COLD. The average row stands for
                                         cold indices, and for those without a learnt entry */
  const amped_cell_filter *filter;    /* filter of mode `of`; NULL: none */
} amped_cell_ranks;

/* Numbers of candidates. */
typedef struct amped_cell_ranks_found {
  uint64_t candidates; /* indices of the mode with a learnt entry */
  uint64_t removed;    /* candidates that the filter removed, over all cells */
  uint64_t tied;       /* cells with a rank that other candidates share */
} amped_cell_ranks_found;

/* ranks[i] = rank of cell i. AMPED_FAILED if values of the model are not finite. where: the model's
 * file, for messages. */
amped_status amped_cell_ranks_find(const amped_cell_ranks *request, const char *where,
                                   double *ranks, amped_cell_ranks_found *found);

/* ranks[i] = rank of cell i by a number of each candidate in place of the model's values: counts
 * has dims[of] numbers, of which the largest is best. By the number of known cells, it is a ranking
 * by popularity. */
amped_status amped_cell_ranks_by_counts(const amped_cell_ranks *request, const uint64_t *counts,
                                        double *ranks);

/* Means over ranks; NaN without ranks. hit_rate: share of ranks up to `at`. ndcg: 1 / log2(1 +
 * rank), and 0 beyond `at`: normalised discounted cumulative gain, if one index is right. */
double amped_ranks_hit_rate(const double *ranks, uint64_t count, int at);
double amped_ranks_ndcg(const double *ranks, uint64_t count, int at);
double amped_ranks_reciprocal(const double *ranks, uint64_t count);
double amped_ranks_mean(const double *ranks, uint64_t count);

#endif
