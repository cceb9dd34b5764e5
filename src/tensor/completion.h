/* Completion: the parts of a completion model in addition to weights and factors
 * (tensor/ktensor.h), and how the model was made.
 *
 * value(i) = mean + scale * (sum over modes m of bias_m[i_m]
 *                            + sum over components r of weight_r * product of factor_m[i_m, r])
 *
 * All terms in the parentheses are in units of the centred and scaled values that the solver sees.
 * Columns may have any length. Results have columns normalised as in tensor/ktensor.h, and also
 * keep the earlier lengths, which the penalty needs. Host memory. All arrays come from amped_alloc
 * and belong to the struct. */
#ifndef AMPED_COMPLETION_H
#define AMPED_COMPLETION_H

#include <stdbool.h>

#include "tensor/ktensor.h"

/* Largest value of entries with a reported error: larger squares might overflow their sum. */
#define AMPED_ERROR_MOST 1e150

/* The error after each sweep: value s - 1 after sweep s. count 0: the set has no entries. */
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
  uint8_t *observed[AMPED_MAX_ORDER]; /* [dims[m]] 1: the row had a training entry; NULL: not stated
                                         in the file */
  double *gap_rmse[AMPED_MAX_ORDER]; /* [dims[m]] rmse that is expected at the missing cells of each
                                        index, in the values' units; 0: it has none, or no known
                                        cell. NULL: not measured */
  bool context[AMPED_MAX_ORDER];     /* rows of this mode are pulled to 1, not to 0 */
  int ncomps;                        /* components of lengths; 0: unknown */
  double *lengths;     /* [order][ncomps] lengths of the columns before normalisation */
  double reg;          /* lambda in the best sweep */
  double implicit;     /* A: cells without an entry counted as 0, entries as 1 with weight 1 + A *
                          value; 0: not an implicit fit */
  uint64_t input_hash; /* hash of the completed tensor (sptensor.h); 0: unknown */
  uint64_t split_seed; /* seed of the hold-out */
  double holdout;      /* held-out share of the entries, 0 to 1 */
  bool fibres[AMPED_MAX_ORDER]; /* modes whose indices decided what was held out; all false: all
                                   modes */
  uint64_t best_sweep; /* sweep of this model, at least 1. Every stored list of errors has at least
                          this many values */
  amped_completion_errors errors[AMPED_COMPLETION_SETS];
} amped_completion;

/* Make zeros, except scale = 1 and best_sweep = 1; biases if biased. free accepts a zeroed or freed
 * object. */
amped_status amped_completion_create(amped_completion *c, int order, const uint64_t *dims,
                                     bool biased);
void amped_completion_free(amped_completion *c);

/* Allocate `observed` of all modes, all false. */
amped_status amped_completion_begin_observed(amped_completion *c);

/* Replace the errors of a set by a copy of values[0 .. count). */
amped_status amped_completion_set_errors(amped_completion *c, amped_completion_set set,
                                         const double *values, uint64_t count);

/* Normalise k, whose weights must be 1, and store the lengths of its columns: over rows that have a
 * learnt entry, if c->observed states them. kept: bit m: columns of mode m stay as they are, and
 * count as length 1. */
amped_status amped_completion_normalise(amped_completion *c, uint64_t kept, amped_ktensor *k);

/* Undo amped_completion_normalise, so that sweeps can continue from k: columns absorb the weights,
 * which become 1.
 *
 * If c has lengths, columns get them. If not (order 0: c is no model), the columns of a component
 * get equal lengths. In context modes they get the mean 1 instead, if their entries have mostly one
 * sign. If all weights are 1 already, k does not change. by: [order][ncomps] gets the multipliers
 * of columns; NULL: not wanted. */
void amped_completion_stretch(const amped_completion *c, const bool *context, amped_ktensor *k,
                              double *by);

/* Multiply the weights by the scale, so that they are in the values' own units: the sizes of
 * components, which top, plot and compare show. Order 0: k stays as it is. */
void amped_completion_weigh(const amped_completion *c, amped_ktensor *k);

/* Number of rows of a mode that have no learnt entry; 0 if the file does not say. */
uint64_t amped_completion_unlearnt(const amped_completion *c, int mode);

/* Set these rows of all modes to zeros, so that they take no part in lengths and products. Columns
 * then are shorter than 1. */
void amped_completion_blank(const amped_completion *c, amped_ktensor *k);

/* Turn model and biases into the values' own units: weights and biases absorb the scale, which
 * becomes 1. */
void amped_completion_unscale(amped_completion *c, amped_ktensor *k);

/* Are the components negligible? True if together they change no value by more than a thousandth of
 * the range of the biases: biases alone then decide on the order of values. Without biases: of
 * `scale`. Without a completion (order 0): if they are all 0. */
bool amped_completion_is_additive(const amped_completion *c, const amped_ktensor *k);

/* The error of the model, after its best sweep; NaN if unknown. */
double amped_completion_error(const amped_completion *c, amped_completion_set set);

#endif
