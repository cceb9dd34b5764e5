/* Search: runs of completion from several starts, with several penalties. Validation chooses the
 * best sweep of all runs.
 *
 * A run begins with a start's factors and a penalty lambda. With --reg=auto, lambda stays constant
 * for AMPED_COMPLETE_HELD sweeps, then falls by a twentieth per sweep. Otherwise it stays constant.
 * One lambda is not enough: if it is too high, the factors collapse for good; if it is too low,
 * they fit the noise.
 *
 * After each sweep the error is measured at the validation entries or, if there are none, at the
 * training entries. For implicit fits the metric is NDCG instead (rank_set.h): higher is better.
 * The factors of the best sweep of all runs are kept: the best metric on validation or, without
 * validation, the lowest objective. A run stops if this number has not improved by the share `tol`
 * in `patience` sweeps. With --reg=auto these sweeps do not count: sweeps before lambda begins to
 * fall; and, until lambda is a quarter of its first value, sweeps in which the training error stays
 * the same, up to `tol`.
 *
 * If validation entries give errors, runs that are not expected to give the best sweep end early
 * (complete_race.h), unless the options ask for full runs. The sweeps that a run makes have the
 * same bits as in a full run. */
#ifndef AMPED_COMPLETE_SEARCH_H
#define AMPED_COMPLETE_SEARCH_H

#include "factor/saved_factors.h"
#include "solver/complete/complete_method.h"
#include "solver/complete/complete_problem.h"
#include "solver/cpd/cpd_options.h"
#include "solver/iterate.h"
#include "tensor/completion.h"

/* Number of sweeps before lambda falls, and its factor per sweep from then on. */
#define AMPED_COMPLETE_HELD 10
#define AMPED_COMPLETE_FALL 0.95
/* Last sweep in which patience waits for the penalty, which is then a quarter of its first. */
#define AMPED_COMPLETE_WAIT 37

/* Training error, relative to the scale, below which sums of float equations lose its digits: they
 * subtract numbers of the size of the scale's square, each exact to about 1e-7, so that the error
 * has four digits at this share, as --tol needs. A pass over the entries then finds the error,
 * unless they have weights, as in implicit fits. */
#define AMPED_COMPLETE_NEAR 3e-2

/* Results of a sweep, in addition to amped_sweep. Its value is the metric on validation or, without
 * validation, the training error. */
typedef struct amped_complete_sweep {
  int run;   /* number of the run, from 0 */
  int start; /* number of the start, from 0; its seed is the problem's seed plus this number */
  double reg;
  amped_complete_sums sums;
  double train;                      /* root mean square error of training, in the values' units */
  amped_entry_errors validate, test; /* count 0: no such entries */
  amped_rank_sums validate_ranks, test_ranks;
  amped_rank_sums validate_cold, test_cold; /* ranks of cold entries (entry_set.h) alone */
  double evaluate_sec;
  bool is_best; /* best of all sweeps so far */
} amped_complete_sweep;

typedef struct amped_complete_best {
  bool found;
  amped_complete_sweep sweep;
  uint64_t number; /* number of the sweep in its run, from 1 */
  double value;
  amped_saved_factors factors;
  /* Errors after each sweep of the best sweep's run, and the reason why this run stopped. */
  amped_completion_errors errors[AMPED_COMPLETION_SETS];
  const char *stop_reason;
} amped_complete_best;

/* Collective callbacks of the command; their statuses are agreed. reg: penalty of the first
 * sweep. */
typedef struct amped_complete_hooks {
  /* Fill the context's factors with the start's, and report the run in one line. */
  amped_status (*begin)(void *context, int run, int start, double reg);
  /* Called when a run has ended by itself, with its sweeps' metrics and the reason. best: number of
   * the run with the best sweep so far. sweep: number of this run's best sweep, from 1, which need
   * not have the best metric: without validation the objective chooses. */
  amped_status (*end)(void *context, int run, int start, double reg, int best, uint64_t sweep,
                      const amped_solver_result *result);
  /* Called after each sweep. AMPED_STOPPED ends the search; the best sweep so far is kept. */
  amped_status (*after_sweep)(void *context, const amped_sweep *sweep,
                              const amped_complete_sweep *details);
  /* After AMPED_STOPPED: what stopped the search; static text. */
  const char *(*stopped_by)(const void *context);
  void *context;
} amped_complete_hooks;

/* Returns the solver; static memory. Its metric is "rmse", or "ndcg" if validation entries are
 * ranked. Its state has numbers and the best sweep's factors. */
const amped_solver *amped_complete_solver_of(const amped_complete_problem *problem);

/* Number of runs of a search; and the penalty in a sweep, counted from 1, of a run. */
int amped_complete_runs(const amped_complete_problem *problem);
double amped_complete_reg(const amped_complete_options *options, int run, uint64_t sweep);

/* Returns AMPED_USAGE if this worker cannot run the options' method. */
amped_status amped_complete_search_check(const amped_worker *worker,
                                         const amped_complete_options *options);

/* Adds the bytes of device and host memory of the search on this rank, for the plan's number of
 * components or fewer. */
void amped_complete_search_require(const amped_comm *comm, const amped_worker *worker,
                                   const amped_plan *plan, const amped_complete_options *options,
                                   bool biased, uint64_t *device_bytes, uint64_t *host_bytes);

/* Collective; the status is agreed; AMPED_STOPPED from after_sweep is passed on. resume: state of a
 * checkpoint; the context's factors belong to its last sweep, best->factors to its best one. NULL:
 * begin a new search. Returns AMPED_BAD_INPUT if the checkpoint's search had other options. If a
 * best model was found, its factors become the context's. *seconds: time of all sweeps. The caller
 * frees *best; free accepts a zeroed struct. */
amped_status amped_complete_search(const amped_context *context,
                                   const amped_complete_problem *problem,
                                   const amped_complete_hooks *hooks,
                                   const amped_solver_state *resume, amped_complete_best *best,
                                   double *seconds);
void amped_complete_best_free(amped_complete_best *best);

#endif
