/* Match: which components of two models belong together, and how well.
 *
 * A pure function of two ktensors in host memory. As Tensor Toolbox's score: the congruence of two
 * components is the product over modes of the absolute cosines of their columns; their score is
 * that times the penalty 1 - |w - v| / max(w, v) of their weights, which have the norms of columns
 * in them; pairs are taken greedily, the highest score first (of equal ones the lower component of
 * b, then of a). Neither scale nor signs of columns count; a component that is zero has congruence
 * 0 with all. */
#ifndef AMPED_MATCH_H
#define AMPED_MATCH_H

#include "tensor/ktensor.h"

typedef struct amped_match_pair {
  int a, b;                        /* components, as their models number them */
  double weight_a, weight_b;       /* absolute, with the norms of columns */
  double cosines[AMPED_MAX_ORDER]; /* with signs, one a mode */
  double congruence;
  double penalty;
  double score;
} amped_match_pair;

typedef struct amped_match {
  int count;               /* the lesser number of components */
  amped_match_pair *pairs; /* [count], in the order in which they were taken */
  double score;            /* mean of the pairs' scores: 1 where the models are the same */
  double congruence;       /* mean of the pairs' congruences: the same without weights */
} amped_match;

/* Models of other order or dimensions are AMPED_BAD_INPUT. */
amped_status amped_match_find(const amped_ktensor *a, const amped_ktensor *b, amped_match *out);

/* A model whose columns lie elsewhere: lengths[m] of mode m's, [ncomps]. */
typedef struct amped_match_side {
  int ncomps;
  const double *weights;
  const double *lengths[AMPED_MAX_ORDER];
} amped_match_side;

/* The same from inner products of columns: products[m], of mode m, is a's ncomps x b's ncomps,
 * row-major, and becomes cosines. */
amped_status amped_match_of_products(int order, const amped_match_side *a,
                                     const amped_match_side *b, double *const *products,
                                     amped_match *out);
void amped_match_free(amped_match *match);

#endif
