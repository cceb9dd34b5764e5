/* Iterate: the loop of every iterative solver: sweeps, the stop rule, a hook after each sweep.
 *
 * A solver gives the function of a sweep, and its metric: the number that sweeps improve, such as
 * "fit". The loop, reports and checkpoints know the metric by its name only. */
#ifndef AMPED_ITERATE_H
#define AMPED_ITERATE_H

#include "factor/context.h"
#include "solver/ruled_rows.h"
#include "solver/solver_state.h"

/* Wall seconds of this rank in one sweep. */
typedef struct amped_sweep_times {
  double mttkrp, copy, solve, exchange, total;
} amped_sweep_times;

/* Of one mode in it, where the solver goes mode by mode. */
typedef struct amped_sweep_mode {
  double mttkrp, compute, copy, exchange, total;
} amped_sweep_mode;

/* Of a solver that takes steps, between sweeps or as sweeps, which may be refused: acceleration.h,
 * cpd_lm.h. */
typedef struct amped_sweep_step {
  bool is_asked; /* the solver takes steps */
  bool refused;
  double beta;         /* of a step between sweeps: its length; 0: this sweep had none */
  double damping;      /* of a damped one; 0: it is none */
  uint64_t iterations; /* that found it */
} amped_sweep_step;

/* Of a solver whose sweeps visit samples of the tensor: cpd_rbs.h. */
typedef struct amped_sweep_sampling {
  bool is_asked;
  double lambda; /* the weight of the proximal term at its end */
  double change; /* of rows, relative to their size */
} amped_sweep_sampling;

/* Steps of all sweeps so far. */
typedef struct amped_steps {
  uint64_t accepted, refused;
  uint64_t repeated; /* MTTKRPs that were made again after a refusal, in this run */
} amped_steps;

typedef struct amped_sweep {
  uint64_t number;    /* from 1 */
  const char *metric; /* its name */
  double value;       /* of the metric */
  double change;      /* of it; NaN in the first sweep */
  double noise;       /* its rounding error; smaller changes mean nothing */
  double objective;   /* residual and penalties (row_rule.h); NaN: nothing is penalised */
  amped_sweep_step step;
  amped_sweep_sampling sampling;
  amped_sweep_times times;
  amped_sweep_mode modes[AMPED_MAX_ORDER];
  const amped_solver_state *state; /* after this sweep */
} amped_sweep;

typedef struct amped_solver {
  const char *metric;
  bool higher_is_better;
  bool has_grams;    /* as part of its state */
  bool has_numbers;  /* likewise */
  bool keeps_second; /* its state has factors beside those in hand */
  /* Collective; the status is this rank's own. Sets value, noise and times; number is set. */
  amped_status (*sweep)(void *self, amped_sweep *sweep);
  /* Set the state's weights and, where it has them, grams, which the next sweep begins from;
   * borrowed. */
  void (*view)(const void *self, amped_solver_state *state);
  /* The solver's own stop rule, in place of options->tol: the reason to stop after the sweeps so
   * far (static text), or NULL. Collective; the same on every rank. NULL: the loop's rule. */
  const char *(*stop)(const void *self);
  /* After the last sweep: the metric of the model that stands, where those of sweeps are rougher.
   * Collective; the status is this rank's own. NULL: they are not. */
  amped_status (*finish)(void *self, double *value);
} amped_solver;

typedef struct amped_iterate_options {
  uint64_t iters; /* sweeps at most */
  double tol;     /* stop when |change of the metric| < tol; 0: never */
  /* Go on from this state, and the factors that belong to it; NULL: from the beginning. */
  const amped_solver_state *start;
  bool *noise_told; /* true after the warning of a tol below the noise, which comes once */
  /* Called on every rank after each sweep; collective, the status is agreed. NULL: not. */
  amped_status (*after_sweep)(void *context, const amped_sweep *sweep);
  void *context;
} amped_iterate_options;

typedef struct amped_solver_result {
  const char *metric;
  bool higher_is_better;
  double *weights; /* [ncomps]; 0 until a sweep or options->start sets them */
  double *history; /* [sweeps] the metric; the last as finish gives it */
  double moved;    /* by so much finish moved that */
  uint64_t sweeps;
  uint64_t earlier;        /* of them, the sweeps that options->start brought */
  const char *stop_reason; /* "tolerance", "iterations" or the solver's; static text */
  uint64_t residuals;      /* passes over all nonzeros for the metric alone, in this run */
  uint64_t passes;         /* over a dense tensor in this run, where the solver counts them */
  amped_steps steps;       /* of a solver that takes any */
  bool singular;           /* a gram matrix was, to rounding */
  double objective;        /* after the last sweep, where penalties count; else NaN */
  amped_rows_end rows;     /* the model at the end, where a row rule is not plain */
  amped_sweep_times times; /* sums over the sweeps of this run */
} amped_solver_result;

/* Allocate a result with room for options->iters sweeps, and copy options->start into it. free
 * takes a zeroed or freed result, too. */
amped_status amped_solver_result_create(const amped_context *context, const amped_solver *solver,
                                        const amped_iterate_options *options,
                                        amped_solver_result *result);
void amped_solver_result_free(amped_solver_result *result);

/* value: the metric after the last sweep, 0 before the first. is_better: is a's better than b's;
 * where both have objectives, is that of a less? */
double amped_solver_result_value(const amped_solver_result *result);
bool amped_solver_result_is_better(const amped_solver_result *a, const amped_solver_result *b);

/* The loop's own stop rule: the last sweep changed the metric by less than tol. */
bool amped_solver_result_has_converged(const amped_solver_result *result, double tol);

/* Collective; the status is agreed; a status of after_sweep is passed on. The caller has created
 * the result. */
amped_status amped_iterate(const amped_context *context, const amped_solver *solver, void *self,
                           const amped_iterate_options *options, amped_solver_result *result);

#endif
