/* Completion options: the user's options of tensor completion. Strings are borrowed from argv. */
#ifndef AMPED_COMPLETE_OPTIONS_H
#define AMPED_COMPLETE_OPTIONS_H

#include "base/option.h"
#include "base/status.h"

/* Most values of --reg. */
#define AMPED_MAX_REGS 64

/* How a sweep makes new factors. */
typedef enum amped_complete_kind {
  AMPED_COMPLETE_ALS,
  AMPED_COMPLETE_CCD,
  AMPED_COMPLETE_SGD
} amped_complete_kind;

/* What a model has beside its components. */
typedef enum amped_bias {
  AMPED_BIAS_AUTO, /* until options are checked */
  AMPED_BIAS_FULL,
  AMPED_BIAS_MEAN,
  AMPED_BIAS_NONE
} amped_bias;

typedef struct amped_complete_options {
  amped_complete_kind method;
  int block;      /* columns of a block; 0: those of the method */
  int patience;   /* sweeps in which the error may fall by less than --tol (cpd_options.h) */
  double seconds; /* of all sweeps; 0: no limit */
  int reg_count;  /* 0: auto */
  double reg[AMPED_MAX_REGS];
  double reg_power, reg_bias;
  amped_bias bias;
  const char *context_modes; /* "auto", "none", or names and numbers, separated by commas */
  bool nonnegative;
  double holdout; /* share of the nonzeros, below 1 */
  bool holdout_given;
  uint64_t split_seed;
  const char *validate, *test; /* files, or NULL */
  const char *weights;         /* a file, or a column of INPUT; or NULL */
  double implicit;             /* 0: observed entries alone */
  bool random_order;           /* of modes, anew in each sweep */
} amped_complete_options;

/* --method, --block, --bias, --nonnegative */
extern const amped_option_group amped_complete_model_option_rows;
/* --reg, --reg-power, --reg-bias, --context, --holdout, --split-seed, --validate, --test,
 * --weights, --implicit, --order, --patience, --time */
extern const amped_option_group amped_complete_option_rows;

/* AMPED_USAGE where options contradict each other. Sets what was not given. The first looks at
 * --method and --block alone. */
amped_status amped_complete_method_check(amped_complete_options *options);
amped_status amped_complete_options_check(amped_complete_options *options);

#endif
