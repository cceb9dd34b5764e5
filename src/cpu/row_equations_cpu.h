/* Row equations: the sums of a row fit (backend/row_fit.h) on CPU cores, in two steps. First the
 * products p and the targets t of some nonzeros are written down, then their sums are added to the
 * equations of the row. In between, targets may get weights.
 *
 * Float factors: products of floats are added up in float over AMPED_ROW_CHUNK nonzeros at most,
 * then carried in double. So an element of H is off by less than 1e-5 sqrt(H_ii H_jj). Wide: all of
 * it is in double. */
#ifndef AMPED_ROW_EQUATIONS_CPU_H
#define AMPED_ROW_EQUATIONS_CPU_H

#include "cpu/mttkrp_bundle.h"

/* Products are added up so many at a time. */
#define AMPED_ROW_CHUNK 128

/* Doubles in which rows of products, and of H, are padded with zeros: whole vectors. */
#define AMPED_ROW_PADDING 16

typedef struct amped_row_equations {
  uint64_t width;   /* components, padded */
  double *products; /* [width][width] H: its upper triangle; what is below has no meaning */
  bool biased;      /* else h is not added up */
  double *sum;      /* [width] h */
  double *targets;  /* [width] g */
  double count;     /* n */
  double target;    /* tau */
  double squares;   /* tt */
} amped_row_equations;

/* What nonzeros add beside their products p: H has p p^T times weights, h has p times these, g has
 * p times targets, tau has targets and tt has squares. Arrays of the products' type. */
typedef struct amped_row_terms {
  void *targets;
  void *weights; /* NULL: all are 1, and squares are those of targets */
  void *squares;
} amped_row_terms;

/* What the first step reads beside a bundle. */
typedef struct amped_row_source {
  int inputs;
  uint64_t components;
  uint64_t ld;    /* elements of a factor's row */
  uint64_t width; /* of a row of products */
  bool biased;
  double mean, per_scale; /* y = (x - mean) per_scale */
} amped_row_source;

/* Write p and t of the bundle's nonzeros `take` (one bit each) to rows of s->width elements, and to
 * t. They are of the factors' type, or double where wide. */
typedef void amped_row_products(const amped_row_source *s, const amped_bundle *b, uint64_t take,
                                void *products, void *targets);

/* Add `count` rows of products, at most AMPED_ROW_CHUNK, to e, but for its count. */
typedef void amped_row_sums_add(const void *products, const amped_row_terms *terms, uint64_t count,
                                amped_row_equations *e);

/* The best instances for this processor. */
typedef struct amped_row_kernels {
  amped_row_products *products;
  amped_row_sums_add *add;
} amped_row_kernels;

amped_row_kernels amped_row_kernels_find(amped_vtype factor_type, bool wide);

/* Equations of n components as they travel (backend/row_fit.h). */
void amped_row_equations_pack(const amped_row_equations *e, uint64_t n, double *out);
void amped_row_equations_unpack(const double *in, uint64_t n, amped_row_equations *e);

/* e += keep times equations that are kept as numbers of that type; and e as such numbers. */
void amped_row_equations_recall(const void *kept, amped_vtype type, double keep, uint64_t n,
                                amped_row_equations *e);
void amped_row_equations_keep(const amped_row_equations *e, uint64_t n, amped_vtype type,
                              void *kept);

#endif
