/* CPD options: the user's options for sweeps of iterative solvers, and for decompositions. */
#ifndef AMPED_CPD_OPTIONS_H
#define AMPED_CPD_OPTIONS_H

#include "base/option.h"
#include "solver/cpd/row_rule.h"
#include "solver/fixed_modes.h"

/* How sweeps are accelerated: acceleration.h. */
typedef enum amped_accelerate {
  AMPED_ACCELERATE_NONE,
  AMPED_ACCELERATE_LINESEARCH,
  AMPED_ACCELERATE_MOMENTUM
} amped_accelerate;

/* How a model is found: cpd_methods.h. */
typedef enum amped_cpd_method_name {
  AMPED_CPD_ALS,
  AMPED_CPD_LM,
  AMPED_CPD_RBS
} amped_cpd_method_name;

/* The distance between tensor and model that a decomposition makes small. */
typedef enum amped_loss {
  AMPED_LOSS_SQUARES, /* sum of squared differences; `method` says how */
  AMPED_LOSS_POISSON  /* deviance of counts: cpd_poisson.h */
} amped_loss;

typedef struct amped_cpd_options {
  amped_loss loss;
  amped_cpd_method_name method;
  const struct amped_cpd_sampling *sampling; /* for AMPED_CPD_RBS (cpd_rbs.h); set by the command */
  uint64_t iters;                            /* maximum number of sweeps; 0: not given */
  double tol; /* stop when the fit changes by less (completion: when the error falls by a smaller
                 share); 0: never; below 0: not given */
  double stop_fit; /* stop when the fit is at least this; 0: not given */
  double kkt;      /* with AMPED_LOSS_POISSON: stop when the violation is below this; 0: never */
  double seconds;  /* stop after the first sweep that ends this many seconds after the first began;
                      0: never */
  const char *input;      /* name of the tensor, for messages; set by the command */
  const char *start_file; /* the start is this model, with its weights; NULL: random */
  bool *values_reported;  /* set with the notes on the values, which the first start gives */
  amped_accelerate accelerate;
  const char *nonnegative; /* modes as named by the user, or "all"; NULL: none */
  amped_row_rule rule;     /* before the tensor's modes are known: all modes, if any are named */
  amped_fixed_modes fixed; /* set by the command from --fix */
  bool corcondia;          /* also compute the core consistency */
  uint64_t every;          /* sweeps per line; 0: 1, but more in a log */
} amped_cpd_options;

extern const amped_option_group amped_sweep_option_rows; /* --iters, --tol, --every */
extern const amped_option_group
    amped_cpd_option_rows; /* --method, --stop-fit, --accelerate, --nonnegative, .. */

#endif
