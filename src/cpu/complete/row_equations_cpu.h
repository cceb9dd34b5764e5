/* Row equations: the sums of a row fit (backend/row_fit.h) on CPU cores, in two steps. First the
 * products p and targets t of some nonzeros are written to arrays; then their sums are added to the
 * equations of the row. Between the two steps the caller may apply weights.
 *
 * Float factors: products of floats are summed in float over at most AMPED_ROW_CHUNK nonzeros, then
 * added in double. The error of an element of H is then below 1e-5 sqrt(H_ii H_jj). Wide: all
 * arithmetic is in double. */
#ifndef AMPED_ROW_EQUATIONS_CPU_H
#define AMPED_ROW_EQUATIONS_CPU_H

#include "cpu/sorted/mttkrp_bundle.h"

/* Most nonzeros whose products are summed at a time. */
#define AMPED_ROW_CHUNK 128

/* Rows of products and of H are padded with zeros to a multiple of this many elements: whole
 * vectors. */
#define AMPED_ROW_PADDING 16

typedef struct amped_row_equations {
  uint64_t width;   /* components, rounded up to AMPED_ROW_PADDING */
  double *products; /* [width][width] H: its upper triangle; the rest is undefined */
  bool biased;      /* false: h is not summed */
  double *sum;      /* [width] h */
  double *targets;  /* [width] g */
  double count;     /* n */
  double target;    /* tau */
  double squares;   /* tt */
} amped_row_equations;

/* Terms of nonzeros in addition to their products p. H sums weights p p^T, h sums weights p, g sums
 * targets p, tau sums targets, and tt sums squares. Arrays of the products' type. */
typedef struct amped_row_terms {
  void *targets;
  void *weights; /* NULL: all are 1, and tt sums squared targets */
  void *squares;
} amped_row_terms;

/* Input of the first step in addition to a bundle. */
typedef struct amped_row_source {
  int inputs;
  uint64_t components;
  uint64_t ld;    /* elements of a factor's row */
  uint64_t width; /* elements of a row of products */
  bool biased;
  double mean, per_scale; /* y = (x - mean) per_scale */
} amped_row_source;

/* Write p and t of the bundle's nonzeros `take` (one bit per nonzero) to products, rows of s->width
 * elements, and to targets. Both have the factors' type, or double if wide. */
typedef void amped_row_products(const amped_row_source *s, const amped_bundle *b, uint64_t take,
                                void *products, void *targets);

/* Add `count` rows of products, at most AMPED_ROW_CHUNK, to e. e->count is not changed. */
typedef void amped_row_sums_add(const void *products, const amped_row_terms *terms, uint64_t count,
                                amped_row_equations *e);

/* The best instances for this processor: see amped_row_kernels_find. */
typedef struct amped_row_kernels {
  amped_row_products *products;
  amped_row_sums_add *add;
} amped_row_kernels;

amped_row_kernels amped_row_kernels_find(amped_vtype factor_type, bool wide);

/* Pack and unpack equations of n components, in the order in which they are sent
 * (backend/row_fit.h). */
void amped_row_equations_pack(const amped_row_equations *e, uint64_t n, double *out);
void amped_row_equations_unpack(const double *in, uint64_t n, amped_row_equations *e);

/* recall: e += keep * stored equations, which are numbers of `type`. keep: store e as such
 * numbers. */
void amped_row_equations_recall(const void *kept, amped_vtype type, double keep, uint64_t n,
                                amped_row_equations *e);
void amped_row_equations_keep(const amped_row_equations *e, uint64_t n, amped_vtype type,
                              void *kept);

#endif
