/* Shape options: the user's description of a synthetic tensor. */
#ifndef AMPED_SHAPE_OPTIONS_H
#define AMPED_SHAPE_OPTIONS_H

#include "base/option.h"
#include "base/types.h"

typedef enum amped_value_kind {
  AMPED_VALUES_AS_SHAPE, /* not given by the user */
  AMPED_VALUES_REAL,
  AMPED_VALUES_COUNTS,
  AMPED_VALUES_RATINGS
} amped_value_kind;

typedef struct amped_shape_options {
  const char *name; /* name in paper_shapes.h, or NULL */
  double scale;     /* factor for the shape's nonzeros and dimensions */
  uint64_t nnz;     /* 0: not given */
  int skew_count;
  double skew[AMPED_MAX_ORDER]; /* Zipf exponents; a single one applies to all modes */
  amped_value_kind values;
} amped_shape_options;

extern const amped_option_group amped_shape_option_rows;  /* --shape, --nnz, --scale, --skew */
extern const amped_option_group amped_values_option_rows; /* --values */

#endif
