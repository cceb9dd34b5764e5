/* Completion options: the user's options of tensor completion. Strings are borrowed from argv. */
#ifndef AMPED_COMPLETE_OPTIONS_H
#define AMPED_COMPLETE_OPTIONS_H

#include "base/option.h"
#include "base/status.h"

/* Maximum number of values of --reg. */
#define AMPED_MAX_REGS 64

/* How a sweep makes new factors. */
typedef enum amped_complete_kind {
  AMPED_COMPLETE_ALS,
  AMPED_COMPLETE_CCD,
  AMPED_COMPLETE_SGD
} amped_complete_kind;

/* Terms of a model in addition to its components. */
typedef enum amped_bias {
  AMPED_BIAS_AUTO, /* until options are checked */
  AMPED_BIAS_FULL,
  AMPED_BIAS_MEAN,
  AMPED_BIAS_NONE
} amped_bias;

typedef struct amped_complete_options {
  amped_complete_kind method;
  int block;      /* columns per block; 0: the method's default */
  int patience;   /* sweeps without an improvement by --tol (cpd_options.h), after which a run
                     stops */
  double seconds; /* time limit for all sweeps; 0: none */
  int reg_count;  /* 0: auto */
  double reg[AMPED_MAX_REGS];
  bool full_runs; /* runs that cannot win go on to their end */
  double reg_power, reg_bias;
  amped_bias bias;
  const char *context_modes; /* "auto", "none", or names and numbers, separated by commas */
  const char *nonnegative;   /* modes as named by the user, or "all"; NULL: none */
  double holdout;            /* held-out share of the nonzeros, below 1 */
  bool holdout_given;
  uint64_t split_seed;
  const char *holdout_by; /* modes of --holdout-by, separated by commas; NULL: none */
  const char *validate;   /* a file, or NULL */
  amped_text_list test;   /* files */
  const char *weights;    /* a file, or a column of INPUT; or NULL */
  double implicit;        /* A of implicit fits (row_fit.h); 0: only observed entries count */
  bool random_order;      /* modes in a new random order in each sweep */
} amped_complete_options;

/* --method, --block, --bias, --nonnegative */
extern const amped_option_group amped_complete_model_option_rows;
/* --reg, --race, --reg-power, --reg-bias, --context, --holdout, --split-seed, --holdout-by,
 * --validate,
 * --test, --weights, --implicit, --order, --patience, --time */
extern const amped_option_group amped_complete_option_rows;

/* Set the components that a method updates at a time: CCD++ one. */
void amped_complete_options_block(amped_complete_options *options);
/* Set the defaults that depend on other options. AMPED_USAGE if --reg is chosen by validation, and
 * no entries validate. cli/option_rules.h has all rules of two options. */
amped_status amped_complete_options_check(amped_complete_options *options);

#endif
