/* Iterate: the loop of every iterative solver: sweeps, the stop rule, a hook after each sweep.
 *
 * A solver gives the function of a sweep, and its metric: the number that sweeps improve, such as
 * "fit". The loop, reports and checkpoints know the metric by its name only.
 *
 * The loop improves one model, or several models side by side (factor/columns.h) if the solver can.
 * Each of them has its own sweeps, stop rule and result, and leaves the others when it ends. */
#ifndef AMPED_ITERATE_H
#define AMPED_ITERATE_H

#include "base/facts.h"
#include "factor/context.h"
#include "solver/solver_state.h"

/* The reason to stop of a run that reached its goal. */
#define AMPED_GOAL "stop-fit"

/* The reason to stop of a run whose time was over. */
#define AMPED_TIME "time"

/* Wall seconds of this rank in one sweep. */
typedef struct amped_sweep_times {
  double mttkrp, copy, solve, exchange, total;
} amped_sweep_times;

/* Wall seconds of one mode in a sweep, if the solver goes mode by mode. */
typedef struct amped_sweep_mode {
  double mttkrp, compute, copy, exchange, total;
} amped_sweep_mode;

typedef struct amped_sweep {
  uint64_t number;        /* from 1 */
  const char *metric;     /* name of the metric */
  double value;           /* value of the metric */
  double change;          /* change of the value; NaN in the first sweep */
  double noise;           /* rounding error of the value; smaller changes mean nothing */
  double objective;       /* residual and penalties (row_rule.h); NaN: nothing is penalised */
  amped_facts facts;      /* the solver's own numbers of this sweep */
  const char *facts_name; /* name of the facts in JSON */
  amped_sweep_times times;
  amped_sweep_mode modes[AMPED_MAX_ORDER];
  const amped_solver_state *state; /* after this sweep */
} amped_sweep;

typedef struct amped_solver {
  const char *metric;
  const char *facts_name; /* name of a sweep's facts in JSON */
  bool has_grams;         /* grams are part of its state */
  bool has_numbers;       /* numbers are part of its state */
  bool keeps_second;      /* its state has a second set of factors */
  /* Collective; the status is this rank's own. Sets value, noise and times, and adds facts; number
   * is already set. NULL: the solver has sweep_all. */
  amped_status (*sweep)(void *self, amped_sweep *sweep);
  /* The same for `count` models side by side, at least one: one traversal of the tensor for all.
   * NULL: the solver takes one model at a time. */
  amped_status (*sweep_all)(void *const *models, int count, amped_sweep *sweeps);
  /* Set the state from which the next sweep begins: weights and, if the solver has them, grams and
   * numbers. They are borrowed. */
  void (*view)(const void *self, amped_solver_state *state);
  /* The solver's own stop rule, which replaces options->tol. Returns the reason to stop after the
   * sweeps so far (static text), or NULL to go on. Collective; the same on every rank. NULL: the
   * loop's rule. */
  const char *(*stop)(const void *self);
  /* Called after the last sweep. *value = metric of the final model, if the sweeps' metrics are
   * less exact. Collective; the status is this rank's own. NULL: they are exact. */
  amped_status (*finish)(void *self, double *value);
  /* The same for models that end together, side by side. values[i] is the metric of models[i]. */
  amped_status (*finish_all)(void *const *models, int count, double *const *values);
  /* Other models have left, and columns may have moved: this model, one of those that go on, makes
   * the tensor format keep what it kept before. Not collective. NULL: nothing to do. */
  void (*go_on)(const void *self);
  /* Add the solver's facts of the result, after finish; '\n' ends a line of words. NULL: none. */
  void (*tell)(const void *self, amped_facts *facts);
} amped_solver;

typedef struct amped_iterate_options {
  uint64_t iters; /* maximum number of sweeps */
  double tol;     /* stop when |change of the metric| < tol; 0: never */
  double goal;    /* stop when the metric, of which higher is better, is at least this; 0: never */
  double seconds; /* begin no sweep this many seconds after the first began; 0: no limit */
  /* First sweeps whose metric is an estimate: goal and tol are about later sweeps only. */
  uint64_t estimated;
  /* State to resume; the context has the factors that belong to it. NULL: a new run. */
  const amped_solver_state *start;
  bool *noise_reported; /* set with the warning that tol is below the noise, which is given once */
  /* Called on every rank after each sweep; collective, the status is agreed. NULL: no call. */
  amped_status (*after_sweep)(void *context, const amped_sweep *sweep);
  /* Called when the model has a reason to stop, before its result is finished; collective, the
   * status is agreed. NULL: no call. */
  amped_status (*after_last)(void *context, const amped_solver_state *state);
  void *context;
} amped_iterate_options;

typedef struct amped_solver_result {
  const char *metric;
  double *weights; /* [ncomps]; 0 until a sweep or options->start sets them */
  double *history; /* [sweeps] metric; the last one after finish */
  double moved;    /* change of the last metric by finish */
  uint64_t sweeps;
  uint64_t earlier;        /* sweeps of options->start, included in `sweeps` */
  uint64_t estimated;      /* first sweeps whose metric is an estimate, as in the options */
  const char *stop_reason; /* "tolerance", "iterations", AMPED_GOAL or the solver's; static text */
  uint64_t residuals;      /* passes over all nonzeros only for the metric, in this run */
  bool singular;           /* a gram matrix was singular, within rounding */
  double objective;        /* objective after the last sweep, if there are penalties; else NaN */
  amped_facts facts;       /* the solver's own numbers of the result; a line of words or more */
  amped_sweep_times times; /* sums over the sweeps of this run */
} amped_solver_result;

/* Allocate a result for options->iters sweeps, and copy options->start into it. free accepts a
 * zeroed or freed result. */
amped_status amped_solver_result_create(const amped_context *context, const amped_solver *solver,
                                        const amped_iterate_options *options,
                                        amped_solver_result *result);
void amped_solver_result_free(amped_solver_result *result);

/* value: the metric after the last sweep; 0 before the first. is_better: true if a's metric is
 * better than b's; if both have objectives, true if a's is lower. */
double amped_solver_result_value(const amped_solver_result *result);
bool amped_solver_result_is_better(const amped_solver_result *a, const amped_solver_result *b);

/* The loop's own stop rule: the last sweep changed the metric by less than tol, and neither value
 * is an estimate. */
bool amped_solver_result_has_converged(const amped_solver_result *result, double tol);

/* True if there is a goal, and the metric of the last sweep reaches it. This rule comes before
 * the rules of the loop and of the solver. */
bool amped_solver_result_has_reached(const amped_solver_result *result, double goal);

/* Collective; the status is agreed; a status from after_sweep is passed on. The caller has created
 * the result. */
amped_status amped_iterate(const amped_context *context, const amped_solver *solver, void *self,
                           const amped_iterate_options *options, amped_solver_result *result);

/* A model of a loop over several; borrowed members. */
typedef struct amped_iterate_model {
  const amped_context *context;
  void *self; /* the solver's model */
  const amped_iterate_options *options;
  amped_solver_result *result; /* created */
} amped_iterate_model;

/* Hooks of a loop over several models, which have the numbers 0, 1, .. Zeroes: none. */
typedef struct amped_iterate_hooks {
  /* Collective; the status is agreed. The result of this model is complete, and so are its
   * factors. */
  amped_status (*ended)(void *context, int model);
  /* Collective; the status is agreed. Called after after_sweep of all `count` models with these
   * numbers, with their sweeps. */
  amped_status (*swept)(void *context, const int *models, int count, const amped_sweep *sweeps);
  /* After a sweep in which a model ended: is this model still wanted? If not, it leaves without a
   * result. The same on every rank; not collective. */
  bool (*is_wanted)(void *context, int model);
  /* Collective; the status is agreed. Only these models go on; the columns of the others are free.
   * Called after each sweep in which a model left, unless none goes on. */
  amped_status (*close_up)(void *context, const int *models, int count);
  void *context;
} amped_iterate_hooks;

/* Collective, like amped_iterate. The solver has sweep_all, or there is one model. */
amped_status amped_iterate_all(const amped_solver *solver, int count,
                               const amped_iterate_model *models, const amped_iterate_hooks *hooks);

#endif
