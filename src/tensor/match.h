/* Match: pairs of corresponding components of two models, and a score of each pair.
 *
 * A pure function of two ktensors in host memory, after the score of Tensor Toolbox. The congruence
 * of two components is the product over modes of the absolute cosines of their columns. Their score
 * is the congruence times the penalty 1 - |w - v| / max(w, v) of their weights, which include the
 * norms of the columns. Pairs are chosen greedily, the highest score first; ties go to the lower
 * component of b, then of a. Scale and signs of columns do not count. A zero component has
 * congruence 0 with every component that is not zero. Two zero components are a pair, which takes
 * no part in the means: such pairs say nothing of the others. */
#ifndef AMPED_MATCH_H
#define AMPED_MATCH_H

#include "tensor/ktensor.h"

typedef struct amped_match_pair {
  int a, b;                        /* numbers of the components in their models */
  double weight_a, weight_b;       /* absolute, times the norms of the columns */
  double cosines[AMPED_MAX_ORDER]; /* signed, one for each mode */
  double congruence;
  double penalty;
  double score;
  bool is_zero; /* both components are zero */
} amped_match_pair;

typedef struct amped_match {
  int count;               /* number of components of the smaller model */
  amped_match_pair *pairs; /* [count], in the order of choice */
  int zeros;               /* pairs of zero components */
  double score;            /* mean score of the other pairs: 1 if the models are equal; NaN: none */
  double congruence;       /* mean congruence of the other pairs: ignores the weights */
} amped_match;

/* Correspondence of indices, if the models' indices differ: rows[m][i] is the index of b that
 * corresponds to index i of a in mode m, no two of them the same. A row without counterpart counts
 * as a row of zeros in the other model. */
#define AMPED_MATCH_NO_ROW UINT64_MAX

/* Match two models. rows NULL, or rows[m] NULL: an index means the same in both. AMPED_BAD_INPUT if
 * the orders of the models differ, or the dimensions of a mode without rows[m]. Free with
 * amped_match_free. */
amped_status amped_match_find(const amped_ktensor *a, const amped_ktensor *b,
                              const uint64_t *const *rows, amped_match *out);

/* A model without its columns: lengths[m] has the lengths of the columns of mode m, [ncomps]. */
typedef struct amped_match_side {
  int ncomps;
  const double *weights;
  const double *lengths[AMPED_MAX_ORDER];
} amped_match_side;

/* amped_match_find from inner products of columns. products[m], for mode m, has a's ncomps rows and
 * b's ncomps columns, row-major; the call turns it into cosines. */
amped_status amped_match_of_products(int order, const amped_match_side *a,
                                     const amped_match_side *b, double *const *products,
                                     amped_match *out);
void amped_match_free(amped_match *match);

#endif
