/* Shape options: a synthetic tensor as a user describes it. */
#ifndef AMPED_SHAPE_OPTIONS_H
#define AMPED_SHAPE_OPTIONS_H

#include "base/option.h"
#include "base/types.h"

typedef enum amped_value_kind {
  AMPED_VALUES_AS_SHAPE, /* not said */
  AMPED_VALUES_REAL,
  AMPED_VALUES_COUNTS,
  AMPED_VALUES_RATINGS
} amped_value_kind;

typedef struct amped_shape_options {
  const char *name; /* of paper_shapes.h, or NULL */
  double scale;     /* nonzeros and dimensions of the shape, times this */
  uint64_t nnz;     /* 0: not given */
  int skew_count;
  double skew[AMPED_MAX_ORDER]; /* Zipf exponents; one value counts for all modes */
  amped_value_kind values;
} amped_shape_options;

extern const amped_option_group amped_shape_option_rows;  /* --shape, --nnz, --scale, --skew */
extern const amped_option_group amped_values_option_rows; /* --values */

#endif
