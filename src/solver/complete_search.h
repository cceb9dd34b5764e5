/* Search: runs of completion from several starts with several penalties, of which validation
 * chooses the best sweep.
 *
 * A run begins with a start's factors and a penalty lambda. With --reg=auto lambda stays for
 * AMPED_COMPLETE_HELD sweeps and then falls by a twentieth in each; else it stays. One lambda is
 * not enough: too high, and the factors collapse for good; too low, and they fit the noise.
 *
 * After each sweep the error is found: at entries that validate, or, without any, at those that are
 * learnt. Implicit fits have NDCG in its place (rank_set.h), which rises. The factors of the best
 * sweep of all runs are kept: that of the least error on validation, or, without any, of the least
 * objective. A run stops where that has not fallen by its share `tol` in `patience` sweeps, from
 * where lambda begins to fall. */
#ifndef AMPED_COMPLETE_SEARCH_H
#define AMPED_COMPLETE_SEARCH_H

#include "factor/saved_factors.h"
#include "solver/complete_method.h"
#include "solver/complete_problem.h"
#include "solver/cpd_options.h"
#include "solver/iterate.h"
#include "tensor/completion.h"

/* Sweeps before lambda falls, and what remains of it in each. */
#define AMPED_COMPLETE_HELD 10
#define AMPED_COMPLETE_FALL 0.95

/* What a sweep tells beside amped_sweep, whose value is the error that chooses. */
typedef struct amped_complete_sweep {
  int run;   /* from 0 */
  int start; /* from 0; its seed is the problem's plus that */
  double reg;
  amped_complete_sums sums;
  double train;                      /* root mean square errors, in the values' units */
  amped_entry_errors validate, test; /* count 0: there are none */
  amped_rank_sums validate_ranks, test_ranks;
  double evaluate_sec;
  bool is_best; /* of all sweeps so far */
} amped_complete_sweep;

typedef struct amped_complete_best {
  bool found;
  amped_complete_sweep sweep;
  uint64_t number; /* of the sweep in its run, from 1 */
  double value;
  amped_saved_factors factors;
  /* Of the run that has it, up to the sweep in hand or its end. */
  amped_completion_errors errors[AMPED_COMPLETION_SETS];
  const char *stop_reason;
} amped_complete_best;

/* Collective calls into the command; statuses are agreed. */
typedef struct amped_complete_hooks {
  /* The factors of the context become the start's. A line tells the run. */
  amped_status (*begin)(void *context, int run, int start, double reg);
  /* After each sweep. AMPED_STOPPED ends the search; the best so far is kept. */
  amped_status (*after_sweep)(void *context, const amped_sweep *sweep,
                              const amped_complete_sweep *details);
  void *context;
} amped_complete_hooks;

/* Its metric is what chooses: "rmse", or "ndcg" where entries are ranked. Its state has the best
 * sweep's factors, and numbers. */
const amped_solver *amped_complete_solver_of(const amped_complete_problem *problem);

/* Runs of a search, and the penalty in a run's sweep, counted from 1. */
int amped_complete_runs(const amped_complete_problem *problem);
double amped_complete_reg(const amped_complete_options *options, int run, uint64_t sweep);

/* Can this worker do what the options ask for? */
amped_status amped_complete_search_check(const amped_worker *worker,
                                         const amped_complete_options *options);

/* Adds the bytes of device and host memory of the search on this rank, for this number of
 * components or fewer. */
void amped_complete_search_require(const amped_comm *comm, const amped_worker *worker,
                                   const amped_plan *plan, const amped_complete_options *options,
                                   bool biased, uint64_t *device_bytes, uint64_t *host_bytes);

/* Collective; the status is agreed; AMPED_STOPPED of after_sweep is passed on. resume: the state of
 * a checkpoint, to whose sweep the context's factors belong, and best->factors those of its best;
 * NULL: from the beginning. AMPED_BAD_INPUT where that search had other options. The best model's
 * factors become the context's where one was found. *seconds: of all sweeps. free takes a zeroed
 * object, too. */
amped_status amped_complete_search(const amped_context *context,
                                   const amped_complete_problem *problem,
                                   const amped_complete_hooks *hooks,
                                   const amped_solver_state *resume, amped_complete_best *best,
                                   double *seconds);
void amped_complete_best_free(amped_complete_best *best);

#endif
