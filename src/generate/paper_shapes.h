/* Shapes of the tensors that the papers measure, by name.
 *
 * A scaled shape has scale times the nonzeros and scale times the indices of every mode, so that
 * the nonzeros per index, which decide how the time of a sweep divides, stay. Modes do not shrink
 * below 46 indices (or what they have); and where more than 1 % of the cells would be nonzeros, all
 * dimensions are doubled until they are not (but not beyond the original). */
#ifndef AMPED_PAPER_SHAPES_H
#define AMPED_PAPER_SHAPES_H

#include "base/status.h"
#include "base/types.h"

typedef struct amped_shape {
  const char *name;
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  uint64_t codes; /* synthetic.h: values are counts 1 .. codes, 0: real */
} amped_shape;

#define AMPED_SHAPE_CODES 256

/* The exponent of the power law (synth.h) that these shapes are drawn with by default. */
#define AMPED_SHAPE_POWER 3.0

/* A named shape; AMPED_USAGE lists the names where there is none of this name, or tells where the
 * scale is out of range. nnz (0: the shape's own, scaled) replaces the number of nonzeros. */
amped_status amped_shape_get(const char *name, double scale, uint64_t nnz, amped_shape *out);

#endif
