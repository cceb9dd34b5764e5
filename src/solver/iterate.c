/* Iterate: the loop over sweeps, and the result that it fills. */
#include "solver/iterate.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"

amped_status amped_solver_result_create(const amped_context *context, const amped_solver *solver,
                                        const amped_iterate_options *options,
                                        amped_solver_result *result) {
  const size_t n = (size_t)context->plan->ncomps;
  const amped_solver_state *start = options->start;
  uint64_t most = options->iters;
  memset(result, 0, sizeof *result);
  result->objective = (double)NAN;
  result->metric = solver->metric;
  result->higher_is_better = solver->higher_is_better;
  if (start != NULL && start->sweeps > most)
    most = start->sweeps;
  amped_facts_begin(&result->facts, NULL);
  result->facts.waits = true; /* until the best start is known */
  AMPED_TRY(amped_calloc(&result->weights, n, sizeof(double), "the weights"));
  AMPED_TRY(amped_alloc(&result->history, most, sizeof(double), "the sweeps' metric"));
  if (start == NULL)
    return AMPED_OK;
  memcpy(result->weights, start->weights, n * sizeof *start->weights);
  memcpy(result->history, start->history, (size_t)start->sweeps * sizeof *start->history);
  result->sweeps = result->earlier = start->sweeps;
  return AMPED_OK;
}

void amped_solver_result_free(amped_solver_result *result) {
  amped_free(result->weights);
  amped_free(result->history);
  amped_facts_free(&result->facts);
  memset(result, 0, sizeof *result);
}

double amped_solver_result_value(const amped_solver_result *result) {
  return result->sweeps > 0 ? result->history[result->sweeps - 1] : 0.0;
}

bool amped_solver_result_is_better(const amped_solver_result *a, const amped_solver_result *b) {
  double left = amped_solver_result_value(a);
  double right = amped_solver_result_value(b);
  if (!isnan(a->objective) && !isnan(b->objective))
    return a->objective < b->objective;
  return a->higher_is_better ? left > right : left < right;
}

/* Warn once, in one line, that --tol asks for changes that rounding hides. */
static void tell_noise(const amped_context *context, const amped_iterate_options *options,
                       const amped_sweep *s) {
  const double tol = options->tol;
  const double change = fabs(s->change);
  const bool single = context->plan->value_type == AMPED_F32;
  const bool tf32 = context->worker->tf32;
  if (*options->noise_reported ||
      !(tol < s->noise && change < s->noise && change >= tol && tol > 0.0))
    return;
  *options->noise_reported = true;
  amped_warn("--tol=%g is too small for the %s here: near %.6f rounding in %s changes it by about "
             "%.0e, so that sweeps may run to --iters in vain; use --tol=%.0e%s",
             tol, s->metric, s->value,
             tf32     ? "TF32"
             : single ? "float"
                      : "double",
             s->noise, 2.0 * s->noise,
             tf32     ? " or --products=exact"
             : single ? " or --precision=double"
                      : "");
}

bool amped_solver_result_has_converged(const amped_solver_result *r, double tol) {
  return r->sweeps > r->estimated + 1 &&
         fabs(r->history[r->sweeps - 1] - r->history[r->sweeps - 2]) < tol;
}

bool amped_solver_result_has_reached(const amped_solver_result *r, double goal) {
  return goal > 0.0 && r->sweeps > 0 && r->history[r->sweeps - 1] >= goal;
}

static void add_times(amped_sweep_times *sum, const amped_sweep_times *t) {
  sum->mttkrp += t->mttkrp;
  sum->copy += t->copy;
  sum->solve += t->solve;
  sum->exchange += t->exchange;
  sum->total += t->total;
}

static amped_status next_sweep(const amped_context *context, const amped_solver *solver, void *self,
                               const amped_iterate_options *options, amped_solver_result *result) {
  const uint64_t i = result->sweeps;
  amped_sweep s = {.number = i + 1,
                   .metric = solver->metric,
                   .facts_name = solver->facts_name,
                   .change = (double)NAN,
                   .objective = (double)NAN};
  amped_status status = AMPED_OK;
  amped_facts_begin(&s.facts, NULL);
  amped_trace_begin(AMPED_PHASE_SWEEP, (int64_t)i + 1);
  AMPED_GO(done, amped_comm_agree(context->comm, solver->sweep(self, &s)));
  amped_trace_end();
  result->history[result->sweeps++] = s.value;
  result->objective = s.objective;
  add_times(&result->times, &s.times);
  if (i > 0)
    s.change = s.value - result->history[i - 1];
  amped_solver_state state = {.order = context->plan->order,
                              .ncomps = context->plan->ncomps,
                              .sweeps = result->sweeps,
                              .metric = solver->metric,
                              .history = result->history};
  solver->view(self, &state);
  s.state = &state;
  amped_trace_begin(AMPED_PHASE_REPORT, AMPED_NO_NUMBER);
  if (options->after_sweep != NULL)
    status = options->after_sweep(options->context, &s);
  tell_noise(context, options, &s);
  amped_trace_end();
done:
  amped_facts_free(&s.facts);
  return status;
}

static const char *reason_to_stop(const amped_solver *solver, const void *self,
                                  const amped_iterate_options *options,
                                  const amped_solver_result *result) {
  if (result->sweeps > options->estimated && amped_solver_result_has_reached(result, options->goal))
    return AMPED_GOAL;
  if (solver->stop != NULL)
    return solver->stop(self);
  return amped_solver_result_has_converged(result, options->tol) ? "tolerance" : NULL;
}

/* Collective: is the time over, by rank 0's clock? */
static bool is_late(const amped_context *context, const amped_iterate_options *options,
                    double began) {
  double seconds = amped_time() - began;
  if (!(options->seconds > 0.0))
    return false;
  amped_comm_broadcast(context->comm, &seconds, sizeof seconds);
  return seconds >= options->seconds;
}

static amped_status finish(const amped_context *context, const amped_solver *solver, void *self,
                           amped_solver_result *result) {
  double *last = &result->history[result->sweeps - 1];
  const double before = *last;
  AMPED_TRY(amped_comm_agree(context->comm, solver->finish(self, last)));
  result->moved = *last - before;
  return AMPED_OK;
}

amped_status amped_iterate(const amped_context *context, const amped_solver *solver, void *self,
                           const amped_iterate_options *options, amped_solver_result *result) {
  const double began = amped_time();
  result->estimated = options->estimated;
  const char *reason = reason_to_stop(solver, self, options, result);
  while (result->sweeps < options->iters && reason == NULL) {
    AMPED_TRY(next_sweep(context, solver, self, options, result));
    reason = reason_to_stop(solver, self, options, result);
    if (is_late(context, options, began) && reason == NULL)
      reason = AMPED_TIME;
  }
  result->stop_reason = reason != NULL ? reason : "iterations";
  if (solver->finish != NULL && result->sweeps > 0)
    AMPED_TRY(finish(context, solver, self, result));
  if (solver->tell != NULL)
    solver->tell(self, &result->facts);
  return AMPED_OK;
}
