/* Completion: what a completion model has beside weights and factors (tensor/ktensor.h), and how it
 * came about.
 *
 * value(i) = mean + scale * (sum over modes m of bias_m[i_m]
 *                            + sum over components r of weight_r * product of factor_m[i_m, r])
 *
 * All terms in the parentheses are in units of the centred and scaled values that the solver sees.
 * Columns may have any length; results keep that of tensor/ktensor.h's normalise, and the lengths
 * of before beside them: the penalty needs them. Host memory. All arrays come from amped_alloc and
 * belong to the struct. */
#ifndef AMPED_COMPLETION_H
#define AMPED_COMPLETION_H

#include <stdbool.h>

#include "tensor/ktensor.h"

/* Values of entries whose error is told are at most so large: their squares have sums. */
#define AMPED_ERROR_MOST 1e150

/* The error after each sweep: value s - 1 after sweep s. count 0: there were no such entries. */
typedef struct amped_completion_errors {
  uint64_t count;
  double *values;
} amped_completion_errors;

typedef enum amped_completion_set {
  AMPED_COMPLETION_TRAIN,
  AMPED_COMPLETION_VALIDATE,
  AMPED_COMPLETION_TEST,
  AMPED_COMPLETION_SETS
} amped_completion_set;
extern const char *const amped_completion_set_names[AMPED_COMPLETION_SETS];

typedef struct amped_completion {
  int order; /* 0: no completion model, and all else is 0 */
  uint64_t dims[AMPED_MAX_ORDER];
  double mean, scale;                 /* scale > 0 */
  bool biased;                        /* false: no bias arrays */
  double *bias[AMPED_MAX_ORDER];      /* [dims[m]] */
  uint8_t *observed[AMPED_MAX_ORDER]; /* [dims[m]] 1: a row had an entry that was learnt; NULL: the
                                         file does not say */
  bool context[AMPED_MAX_ORDER];      /* rows of this mode are pulled to 1, not to 0 */
  int ncomps;                         /* of lengths; 0: these are not known */
  double *lengths;                    /* [order][ncomps] of columns, before they got unit length */
  double reg;                         /* lambda in the best sweep */
  double implicit; /* cells without an entry were zeros, and entries ones of weight 1 + this times
                      their value; 0: not so */
  uint64_t input_hash; /* of the tensor that was completed (sptensor.h); 0: not known */
  uint64_t split_seed; /* of the hold-out */
  double holdout;      /* its share of the entries, 0 to 1 */
  uint64_t best_sweep; /* whose model this is; at least 1. No list that is there is
                          shorter */
  amped_completion_errors errors[AMPED_COMPLETION_SETS];
} amped_completion;

/* Zeros, but for scale = 1 and best_sweep = 1; biases where asked for. Free with the second, which
 * takes a zeroed or freed object, too. */
amped_status amped_completion_create(amped_completion *c, int order, const uint64_t *dims,
                                     bool biased);
void amped_completion_free(amped_completion *c);

/* Room for `observed` of all modes, all false. */
amped_status amped_completion_begin_observed(amped_completion *c);

/* Replace the errors of a set by a copy of values[0 .. count). */
amped_status amped_completion_set_errors(amped_completion *c, amped_completion_set set,
                                         const double *values, uint64_t count);

/* Normalise k, whose weights are 1, and keep the lengths of its columns. */
amped_status amped_completion_normalise(amped_completion *c, amped_ktensor *k);

/* The other way: weights become 1, and columns take them in, so that sweeps can go on from k.
 * Columns get the lengths that c has. Where it has none (order 0: c is no model), those of a
 * component get equal ones, but in context modes the mean 1, if their entries have mostly one sign.
 * Weights that are 1 already leave k as it is. */
void amped_completion_stretch(const amped_completion *c, const bool *context, amped_ktensor *k);

/* Turn model and biases into the values' own units: weights and biases take the scale in, which
 * becomes 1. */
void amped_completion_unscale(amped_completion *c, amped_ktensor *k);

/* The error of the model: after its best sweep. NaN: there is none. */
double amped_completion_error(const amped_completion *c, amped_completion_set set);

#endif
