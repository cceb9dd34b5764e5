/* Shapes of the tensors in the papers' measurements, by name.
 *
 * A scaled shape has scale times the nonzeros and scale times the indices of every mode. The
 * nonzeros per index stay the same; they decide how the time of a sweep divides among its steps.
 * Modes do not shrink below 46 indices, or below their own size if that is smaller. At most 1 % of
 * the cells become nonzeros: dimensions are doubled until this holds, but not beyond the
 * original. */
#ifndef AMPED_PAPER_SHAPES_H
#define AMPED_PAPER_SHAPES_H

#include "base/status.h"
#include "base/types.h"

typedef struct amped_shape {
  const char *name;
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  uint64_t codes; /* synthetic.h: values are counts or ratings 1 .. codes; 0: real values */
} amped_shape;

/* Number of distinct values of a shape with counts, and of a shape with ratings. */
#define AMPED_SHAPE_CODES 256
#define AMPED_SHAPE_RATINGS 5

/* Default exponent of these shapes' power law (random_tensor.h). */
#define AMPED_SHAPE_POWER 3.0

/* Get a named shape. nnz replaces the number of nonzeros; 0: the shape's own number, scaled.
 * AMPED_USAGE for an unknown name, with a list of the names, or for a scale out of range. */
amped_status amped_shape_get(const char *name, double scale, uint64_t nnz, amped_shape *out);

#endif
