/* Iterate: the loop over sweeps, and the result that it fills. */
#include "solver/iterate.h"

#include <math.h>
#include <string.h>

#include "base/buffers.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metric.h"
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
  return amped_metric_rises(a->metric) ? left > right : left < right;
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

/* Models that still sweep, and their place among all. */
typedef struct active_set {
  const amped_solver *solver;
  const amped_iterate_model *all;
  const amped_iterate_hooks *hooks;
  int count;
  double began;               /* amped_time of the first sweep */
  int *numbers;               /* [count] ascending */
  void **selves;              /* workspace, [count] */
  double **values;            /* workspace, [count] */
  bool *ends;                 /* [count] has a reason to stop */
  amped_sweep *sweeps;        /* [count] */
  amped_solver_state *states; /* [count] after these sweeps */
} active_set;

static const amped_iterate_model *model_of(const active_set *a, int i) {
  return &a->all[a->numbers[i]];
}

static amped_buffers buffers(active_set *a, int count) {
  amped_buffers b = {.what = "the models side by side"};
  AMPED_BUFFER(&b, HOST, a->numbers, (uint64_t)count);
  AMPED_BUFFER(&b, HOST, a->selves, (uint64_t)count);
  AMPED_BUFFER(&b, HOST, a->values, (uint64_t)count);
  AMPED_BUFFER(&b, HOST, a->ends, (uint64_t)count);
  AMPED_BUFFER(&b, ZEROED, a->sweeps, (uint64_t)count);
  AMPED_BUFFER(&b, ZEROED, a->states, (uint64_t)count);
  return b;
}

static amped_solver_state state_of(const amped_solver *solver, const amped_iterate_model *m) {
  amped_solver_state state = {.order = m->context->plan->order,
                              .ncomps = m->context->plan->ncomps,
                              .sweeps = m->result->sweeps,
                              .metric = solver->metric,
                              .history = m->result->history};
  solver->view(m->self, &state);
  return state;
}

/* Record a sweep of a model, and report it. */
static amped_status take_sweep(const amped_solver *solver, const amped_iterate_model *m,
                               amped_solver_state *state, amped_sweep *s) {
  amped_solver_result *const r = m->result;
  amped_status status = AMPED_OK;
  r->history[r->sweeps++] = s->value;
  r->objective = s->objective;
  add_times(&r->times, &s->times);
  if (s->number > 1)
    s->change = s->value - r->history[s->number - 2];
  *state = state_of(solver, m);
  s->state = state;
  amped_trace_begin(AMPED_PHASE_REPORT, AMPED_NO_NUMBER);
  if (m->options->after_sweep != NULL)
    status = m->options->after_sweep(m->options->context, s);
  tell_noise(m->context, m->options, s);
  amped_trace_end();
  return status;
}

/* A sweep of all active models. Factors in float may fade to subnormal numbers, which many
 * processors compute 20 times slower than others. In double such numbers are squares of tiny
 * values, too, and count. */
static amped_status compute_sweep(active_set *a) {
  const amped_context *context = a->all[0].context;
  const amped_device_ops *device = context->worker->backend->device;
  const bool flushes = context->plan->value_type == AMPED_F32;
  amped_status status = AMPED_OK;
  if (flushes)
    device->flush_subnormals(context->worker->device, true);
  status = a->solver->sweep_all != NULL ? a->solver->sweep_all(a->selves, a->count, a->sweeps)
                                        : a->solver->sweep(a->selves[0], a->sweeps);
  if (flushes)
    device->flush_subnormals(context->worker->device, false);
  return status;
}

/* Collective; the status is agreed. A sweep of all active models. */
static amped_status next_sweep(active_set *a) {
  const amped_comm *comm = a->all[0].context->comm;
  amped_status status = AMPED_OK;
  for (int i = 0; i < a->count; i++) {
    a->sweeps[i] = (amped_sweep){.number = model_of(a, i)->result->sweeps + 1,
                                 .metric = a->solver->metric,
                                 .facts_name = a->solver->facts_name,
                                 .change = (double)NAN,
                                 .objective = (double)NAN};
    amped_facts_begin(&a->sweeps[i].facts, NULL);
    a->selves[i] = model_of(a, i)->self;
  }
  amped_trace_begin(AMPED_PHASE_SWEEP, (int64_t)a->sweeps[0].number);
  AMPED_GO(done, amped_comm_agree(comm, compute_sweep(a)));
  amped_trace_end();
  for (int i = 0; i < a->count; i++)
    AMPED_GO(done, take_sweep(a->solver, model_of(a, i), &a->states[i], &a->sweeps[i]));
  if (a->hooks->swept != NULL)
    status = a->hooks->swept(a->hooks->context, a->numbers, a->count, a->sweeps);
done:
  for (int i = 0; i < a->count; i++)
    amped_facts_free(&a->sweeps[i].facts);
  return status;
}

static const char *reason_to_stop(const amped_solver *solver, const amped_iterate_model *m) {
  const amped_iterate_options *options = m->options;
  const amped_solver_result *result = m->result;
  const char *reason = NULL;
  if (result->sweeps > options->estimated && amped_solver_result_has_reached(result, options->goal))
    reason = AMPED_GOAL;
  else if (solver->stop != NULL)
    reason = solver->stop(m->self);
  else if (amped_solver_result_has_converged(result, options->tol))
    reason = "tolerance";
  return reason == NULL && result->sweeps >= options->iters ? "iterations" : reason;
}

/* Collective: is the time of these models over, by rank 0's clock? */
static bool is_late(const active_set *a) {
  const double limit = a->all[0].options->seconds;
  double seconds = amped_time() - a->began;
  if (!(limit > 0.0))
    return false;
  amped_comm_broadcast(a->all[0].context->comm, &seconds, sizeof seconds);
  return seconds >= limit;
}

/* Collective; the status is agreed. Finish the first `count` of a->selves, which made sweeps. */
static amped_status finish(const active_set *a, int count) {
  const amped_comm *comm = a->all[0].context->comm;
  if (count > 0 && a->solver->finish_all != NULL)
    return amped_comm_agree(comm, a->solver->finish_all(a->selves, count, a->values));
  for (int i = 0; i < count && a->solver->finish != NULL; i++)
    AMPED_TRY(amped_comm_agree(comm, a->solver->finish(a->selves[i], a->values[i])));
  return AMPED_OK;
}

/* Collective; the status is agreed. Give their results to the models that have a reason to stop. */
static amped_status end_models(active_set *a) {
  int ending = 0;
  for (int i = 0; i < a->count; i++) {
    const amped_iterate_model *m = model_of(a, i);
    const amped_solver_state state = state_of(a->solver, m);
    if (a->ends[i] && m->result->sweeps > 0 && m->options->after_last != NULL)
      AMPED_TRY(m->options->after_last(m->options->context, &state));
  }
  for (int i = 0; i < a->count; i++) {
    amped_solver_result *const r = model_of(a, i)->result;
    if (!a->ends[i] || r->sweeps == 0)
      continue;
    a->selves[ending] = model_of(a, i)->self;
    a->values[ending++] = &r->history[r->sweeps - 1];
    r->moved = -amped_solver_result_value(r);
  }
  AMPED_TRY(finish(a, ending));
  for (int i = 0; i < a->count; i++) {
    const amped_iterate_model *m = model_of(a, i);
    if (!a->ends[i])
      continue;
    m->result->moved += amped_solver_result_value(m->result);
    if (a->solver->tell != NULL)
      a->solver->tell(m->self, &m->result->facts);
    if (a->hooks->ended != NULL)
      AMPED_TRY(a->hooks->ended(a->hooks->context, a->numbers[i]));
  }
  return AMPED_OK;
}

/* Collective; the status is agreed. Let models leave that have ended or are not wanted. late: their
 * time is over. */
static amped_status leave(active_set *a, bool late) {
  const amped_iterate_hooks *h = a->hooks;
  bool is_any = false;
  int left = 0;
  for (int i = 0; i < a->count; i++) {
    amped_solver_result *const r = model_of(a, i)->result;
    r->stop_reason = reason_to_stop(a->solver, model_of(a, i));
    if (r->stop_reason == NULL && late)
      r->stop_reason = AMPED_TIME;
    a->ends[i] = r->stop_reason != NULL;
    is_any = is_any || a->ends[i];
  }
  if (!is_any)
    return AMPED_OK;
  AMPED_TRY(end_models(a));
  for (int i = 0; i < a->count; i++)
    if (!a->ends[i] && (h->is_wanted == NULL || h->is_wanted(h->context, a->numbers[i])))
      a->numbers[left++] = a->numbers[i];
  a->count = left;
  if (left > 0 && h->close_up != NULL)
    AMPED_TRY(h->close_up(h->context, a->numbers, left));
  if (left > 0 && a->solver->go_on != NULL)
    a->solver->go_on(model_of(a, 0)->self);
  return AMPED_OK;
}

amped_status amped_iterate_all(const amped_solver *solver, int count,
                               const amped_iterate_model *models,
                               const amped_iterate_hooks *hooks) {
  active_set a = {
      .solver = solver, .all = models, .hooks = hooks, .count = count, .began = amped_time()};
  amped_status status =
      amped_comm_agree(models[0].context->comm, amped_buffers_allocate(buffers(&a, count)));
  for (int i = 0; i < count && status == AMPED_OK; i++) {
    a.numbers[i] = i;
    models[i].result->estimated = models[i].options->estimated;
  }
  if (status == AMPED_OK)
    status = leave(&a, false);
  while (status == AMPED_OK && a.count > 0) {
    status = next_sweep(&a);
    if (status == AMPED_OK)
      status = leave(&a, is_late(&a));
  }
  amped_buffers_free(buffers(&a, count));
  return status;
}

amped_status amped_iterate(const amped_context *context, const amped_solver *solver, void *self,
                           const amped_iterate_options *options, amped_solver_result *result) {
  const amped_iterate_hooks none = {.context = NULL};
  const amped_iterate_model one = {
      .context = context, .self = self, .options = options, .result = result};
  return amped_iterate_all(solver, 1, &one, &none);
}
