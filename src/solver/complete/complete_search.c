/* Search: runs, choice of the best sweep, and the search's state as numbers of a checkpoint. */
#include "solver/complete/complete_search.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/timer.h"
#include "base/trace.h"
#include "solver/complete/complete_errors.h"
#include "solver/complete/complete_baselines.h"
#include "solver/complete/complete_methods.h"
#include "solver/complete/complete_race.h"
#include "solver/mode_order.h"

/* Initial penalties of --reg=auto, one per run. The likeliest one is first, and its neighbours are
 * next, so that other runs end early (complete_race.h). */
static const double firsts[] = {2.0, 4.0, 1.0, 0.5, 0.25, 0.06, 0.01, 0.001};
#define FIRSTS ((int)(sizeof firsts / sizeof firsts[0]))

static int regs_of(const amped_complete_options *o) {
  return o->reg_count > 0 ? o->reg_count : FIRSTS;
}

int amped_complete_runs(const amped_complete_problem *p) {
  return p->starts * regs_of(p->options);
}

double amped_complete_reg(const amped_complete_options *o, int run, uint64_t sweep) {
  const int k = run % regs_of(o);
  if (o->reg_count > 0)
    return o->reg[k];
  return sweep <= AMPED_COMPLETE_HELD
             ? firsts[k]
             : firsts[k] * pow(AMPED_COMPLETE_FALL, (double)(sweep - AMPED_COMPLETE_HELD));
}

/* Least held-out entries by which runs end early; of implicit fits, least ranked ones. The errors
 * of the first sweeps at fewer entries say too little, and so small a search costs next to nothing.
 */
#define RACE_HELD 256
#define RACE_RANKED 1024

/* Error of the validation entries without components; NaN: it was not measured, or says too
 * little. */
static double error_of_zero(const amped_complete_problem *p) {
  const amped_complete_baselines *b = p->baselines;
  if (p->validate_ranks != NULL)
    return amped_rank_set_count(p->validate_ranks) >= RACE_RANKED ? 0.0 : (double)NAN;
  if (b == NULL)
    return (double)NAN;
  const amped_errors *e = p->fit.biased ? &b->biases.validate.all : &b->mean.validate.all;
  return e->count >= RACE_HELD ? amped_errors_rmse(e) : (double)NAN;
}

/* Do runs of this search end early? */
static bool races(const amped_complete_problem *p) {
  return !p->options->full_runs && amped_complete_runs(p) > 1 && !isnan(error_of_zero(p));
}

/* The search and its current run. */
typedef struct search {
  const amped_context *context;
  const amped_complete_problem *problem;
  const amped_complete_hooks *hooks;
  amped_complete_best *best;
  const amped_solver *solver;
  const amped_complete_method *method;
  void *made;        /* the method's object */
  amped_row_fit fit; /* fit of the current sweep */
  double *ones;      /* [ncomps] weights of saved factors */
  double began;      /* time at which the first sweep began */
  double lowest;     /* the lowest objective of the run's sweeps, and its sweep; 0: none yet */
  uint64_t lowest_sweep;
  bool out_of_time;
  bool told_unsure;

  amped_complete_sweep sweep;
  uint64_t sweeps;                       /* sweeps of the current run so far */
  double mark;                           /* number by which sweeps are compared, at its last
                                            improvement */
  int stale;                             /* sweeps since the mark improved */
  bool races;                            /* runs may end early */
  double *errors[AMPED_COMPLETION_SETS]; /* [iters] errors after each sweep of the run */

  const amped_solver_state *resume; /* state to resume; NULL after its run has continued */
  double *numbers;                  /* [number_count] state after this sweep */
  uint64_t number_count;
} search;

amped_status amped_complete_search_check(const amped_worker *worker,
                                         const amped_complete_options *options) {
  const amped_complete_method *method = amped_complete_method_find(options);
  return method->check != NULL ? method->check(worker) : AMPED_OK;
}

void amped_complete_search_require(const amped_comm *comm, const amped_worker *worker,
                                   const amped_plan *plan, const amped_complete_options *options,
                                   bool biased, uint64_t *device_bytes, uint64_t *host_bytes) {
  const uint64_t sets = options->implicit > 0.0 ? 1 + (options->test.count > 0) : 0;
  *host_bytes += amped_saved_factors_bytes(plan) + sets * amped_rank_set_bytes(plan);
  amped_complete_method_find(options)->require(comm, worker, plan, options, biased, device_bytes,
                                               host_bytes);
}

void amped_complete_best_free(amped_complete_best *b) {
  amped_saved_factors_free(&b->factors);
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    amped_free(b->errors[s].values);
  memset(b, 0, sizeof *b);
}

/* --- one sweep -------------------------------------------------------------------------------- */

/* The free modes, in their order in this sweep: a random permutation by the run's seed, or
 * ascending. */
static void find_modes(const search *s, amped_complete_modes *modes) {
  amped_mode_order free = amped_fixed_modes_free(&s->problem->fixed, s->context->plan->order);
  free.random = s->problem->options->random_order;
  free.seed = s->problem->seed + (uint64_t)s->sweep.start;
  free.stream = AMPED_MAX_ORDER;
  modes->count = free.count;
  modes->fixed = &s->problem->fixed;
  modes->nonnegative = s->problem->nonnegative;
  amped_mode_order_of(&free, s->sweeps, modes->order);
}

/* Metric for a set of entries: NDCG for implicit fits, else the root mean square error. NaN without
 * entries. */
static double number_of(const search *s, const amped_entry_errors *e,
                        const amped_rank_sums *ranks) {
  return s->problem->fit.implicit > 0.0 ? amped_rank_ndcg(ranks) : amped_errors_rmse(&e->all);
}

static amped_status find_ranks(search *s) {
  const amped_complete_problem *p = s->problem;
  amped_complete_sweep *w = &s->sweep;
  if (p->validate_ranks != NULL)
    AMPED_TRY(amped_rank_set_find(s->context, p->validate_ranks, &s->fit, &w->validate_ranks,
                                  &w->validate_cold));
  if (p->test_ranks != NULL)
    AMPED_TRY(
        amped_rank_set_find(s->context, p->test_ranks, &s->fit, &w->test_ranks, &w->test_cold));
  return AMPED_OK;
}

static amped_status find_errors(search *s) {
  amped_complete_errors errors;
  AMPED_TRY(amped_complete_errors_find(s->context, s->problem, &s->fit, &errors));
  s->sweep.validate = errors.validate;
  s->sweep.test = errors.test;
  return AMPED_OK;
}

/* Collective; the status is agreed. Replace the sum of squares by the sum over a pass, if it is
 * small and in float. Weighted sums stay, because the pass has no weights. */
static amped_status refine_squares(search *s) {
  const amped_complete_problem *p = s->problem;
  const amped_context *context = s->context;
  const amped_worker *worker = context->worker;
  amped_complete_sums *sums = &s->sweep.sums;
  amped_errors e = {.count = 0};
  if (context->plan->value_type != AMPED_F32 || p->fit.implicit > 0.0 || p->weights_hash != 0 ||
      sums->squares > AMPED_COMPLETE_NEAR * AMPED_COMPLETE_NEAR * sums->count)
    return AMPED_OK;
  const amped_status status =
      worker->format->row_fit->errors(worker->tensor, 0, false, &s->fit, -INFINITY, INFINITY, &e);
  AMPED_TRY(amped_comm_agree(context->comm, status));
  amped_errors_sum(context->comm, &e);
  const double squares = e.squares / (s->fit.scale * s->fit.scale);
  sums->objective += squares - sums->squares;
  sums->squares = squares;
  return AMPED_OK;
}

static amped_status evaluate(search *s) {
  const amped_complete_problem *p = s->problem;
  const bool implicit = p->fit.implicit > 0.0;
  const double began = amped_time();
  amped_complete_sweep *w = &s->sweep;
  memset(&w->validate, 0, sizeof w->validate);
  memset(&w->test, 0, sizeof w->test);
  memset(&w->validate_ranks, 0, sizeof w->validate_ranks);
  memset(&w->test_ranks, 0, sizeof w->test_ranks);
  memset(&w->validate_cold, 0, sizeof w->validate_cold);
  memset(&w->test_cold, 0, sizeof w->test_cold);
  AMPED_TRY(refine_squares(s));
  w->train = s->context->plan->map.unit * p->fit.scale *
             sqrt(w->sums.squares / (implicit ? p->cells : w->sums.count));
  AMPED_TRY(implicit ? find_ranks(s) : find_errors(s));
  w->evaluate_sec = amped_time() - began;
  s->errors[AMPED_COMPLETION_TRAIN][s->sweeps - 1] = w->train;
  s->errors[AMPED_COMPLETION_VALIDATE][s->sweeps - 1] =
      number_of(s, &w->validate, &w->validate_ranks);
  s->errors[AMPED_COMPLETION_TEST][s->sweeps - 1] = number_of(s, &w->test, &w->test_ranks);
  return AMPED_OK;
}

/* Number by which sweeps are compared: the metric on validation or, without validation, the
 * objective. The training error cannot choose: it rises again while the penalty shapes the
 * model. */
static double choice_of(const search *s, const amped_complete_sweep *w) {
  const double number = number_of(s, &w->validate, &w->validate_ranks);
  return isnan(number) ? w->sums.objective : number;
}

/* Save the factors if this sweep is the best so far. value: the sweep's metric. */
static amped_status keep_best(search *s, double value) {
  amped_complete_best *b = s->best;
  const double mine = choice_of(s, &s->sweep);
  const double best = choice_of(s, &b->sweep);
  s->sweep.is_best =
      !b->found || (amped_metric_rises(s->solver->metric) ? mine > best : mine < best);
  if (!s->sweep.is_best)
    return AMPED_OK;
  AMPED_TRY(amped_saved_factors_take(s->context, s->ones, &b->factors));
  b->found = true;
  b->value = value;
  b->sweep = s->sweep;
  b->number = s->sweeps;
  return AMPED_OK;
}

/* Note the best sweep of the run, if the objective chooses. */
static void note_lowest(search *s) {
  const double mine = choice_of(s, &s->sweep);
  if (s->lowest_sweep > 0 && mine >= s->lowest)
    return;
  s->lowest = mine;
  s->lowest_sweep = s->sweeps;
}

/* Number of the run's best sweep, from 1. */
static uint64_t best_sweep_of(const search *s, const amped_solver_result *r) {
  uint64_t best = 0;
  if (isnan(number_of(s, &s->sweep.validate, &s->sweep.validate_ranks)) && s->lowest_sweep > 0)
    return s->lowest_sweep;
  for (uint64_t i = 1; i < r->sweeps; i++)
    if (amped_metric_rises(r->metric) ? r->history[i] > r->history[best]
                                      : r->history[i] < r->history[best])
      best = i;
  return best + 1;
}

/* Does the run wait for its penalty to fall? While the penalty is high, components may be almost
 * zero: then nothing moves, until it is low enough for them to grow. */
static bool waits_for_penalty(const search *s) {
  const double *train = s->errors[AMPED_COMPLETION_TRAIN];
  const uint64_t n = s->sweeps;
  if (s->problem->options->reg_count > 0)
    return false;
  return n <= AMPED_COMPLETE_HELD ||
         (n <= AMPED_COMPLETE_WAIT &&
          fabs(train[n - 1] - train[n - 2]) <= s->problem->tol * train[n - 2]);
}

static void count_stale(search *s) {
  const double value = choice_of(s, &s->sweep);
  const double tol = s->problem->tol;
  const bool fell = amped_metric_rises(s->solver->metric) ? value > s->mark * (1.0 + tol)
                                                          : value < s->mark * (1.0 - tol);
  if (fell)
    s->mark = value;
  s->stale = fell || waits_for_penalty(s) ? 0 : s->stale + 1;
}

/* --- runs that end early ---------------------------------------------------------------------- */

/* The race of the current run with the runs before it. */
static amped_race race_of(const search *s) {
  const amped_complete_best *b = s->best;
  return (amped_race){.zero = error_of_zero(s->problem),
                      .higher = amped_metric_rises(s->solver->metric),
                      .patience = s->problem->options->patience,
                      .tol = s->problem->tol,
                      .best = {.found = b->found && b->sweep.run != s->sweep.run,
                               .error = b->value,
                               .sweep = b->number,
                               .errors = b->errors[AMPED_COMPLETION_VALIDATE].values,
                               .training = b->errors[AMPED_COMPLETION_TRAIN].values}};
}

/* Does another run begin at half this run's penalty or more, but lower? */
static bool has_lower_neighbour(const search *s) {
  if (s->problem->options->reg_count > 0)
    return false;
  const double mine = firsts[s->sweep.run % FIRSTS];
  for (int k = 0; k < FIRSTS; k++)
    if (firsts[k] < mine && firsts[k] >= 0.5 * mine)
      return true;
  return false;
}

/* Was the last sweep taken back? It then says nothing about the run. */
static bool is_undone(const search *s) {
  const double *train = s->errors[AMPED_COMPLETION_TRAIN];
  return s->problem->options->method == AMPED_COMPLETE_SGD && s->sweeps > 1 &&
         train[s->sweeps - 1] == train[s->sweeps - 2];
}

static const char *reason_to_end_early(const search *s) {
  const amped_race race = race_of(s);
  const double *errors = s->errors[AMPED_COMPLETION_VALIDATE];
  const double *training = s->errors[AMPED_COMPLETION_TRAIN];
  if (is_undone(s) || s->sweeps == s->problem->iters)
    return NULL; /* a run of all its sweeps is a full one */
  if (amped_race_is_behind(&race, errors, training, s->sweeps))
    return AMPED_RACE_BEHIND;
  const bool vanished = amped_race_has_vanished(&race, errors, training, s->sweeps);
  return vanished && has_lower_neighbour(s) ? AMPED_RACE_VANISHED : NULL;
}

/* --- the state as numbers --------------------------------------------------------------------- */

/* Serialiser of the search's state: writes or reads numbers one by one. The same calls in the same
 * order do both. */
typedef struct tape {
  double *numbers; /* NULL: only count the numbers */
  uint64_t at, count;
  bool reads;
  bool short_of; /* reading: there are too few numbers */
} tape;

static void turn(tape *t, double *x) {
  const uint64_t at = t->at++;
  if (t->numbers == NULL)
    return;
  t->short_of = t->short_of || at >= t->count;
  if (t->short_of)
    return;
  if (t->reads)
    *x = t->numbers[at];
  else
    t->numbers[at] = isfinite(*x) ? *x : 0.0; /* NaN is the error of a set without entries */
}

static void turn_u64(tape *t, uint64_t *n) {
  double x = (double)*n;
  turn(t, &x);
  *n = x >= 0.0 && x < 0x1p53 ? (uint64_t)x : 0;
}

static void turn_int(tape *t, int *n) {
  double x = *n;
  turn(t, &x);
  *n = fabs(x) < 0x1p30 ? (int)x : 0;
}

static void turn_errors(tape *t, amped_entry_errors *e) {
  amped_errors *const both[] = {&e->all, &e->cold};
  for (int i = 0; i < 2; i++) {
    turn_u64(t, &both[i]->count);
    turn(t, &both[i]->squares);
    turn(t, &both[i]->absolute);
    turn(t, &both[i]->clipped);
  }
}

static void turn_ranks(tape *t, amped_rank_sums *r) {
  turn_u64(t, &r->count);
  for (int i = 0; i < AMPED_RANK_TOP; i++)
    turn_u64(t, &r->at[i]);
}

static void turn_sweep(tape *t, amped_complete_sweep *w) {
  turn_int(t, &w->run);
  turn_int(t, &w->start);
  turn(t, &w->reg);
  turn(t, &w->sums.count);
  turn_u64(t, &w->sums.unsure);
  turn(t, &w->sums.squares);
  turn(t, &w->sums.objective);
  turn(t, &w->train);
  turn_errors(t, &w->validate);
  turn_errors(t, &w->test);
  turn_ranks(t, &w->validate_ranks);
  turn_ranks(t, &w->test_ranks);
}

/* older: the number of earlier versions, which is accepted as well. follows: another option may
 * have changed it. */
typedef struct option_number {
  const char *option;
  double number, older;
  bool follows;
} option_number;

/* A set of modes as a whole number; 0: none. */
static double modes_of(const bool modes[AMPED_MAX_ORDER]) {
  double number = 0.0;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    number += modes[m] ? ldexp(1.0, m) : 0.0;
  return number;
}

static option_number number_of_option(const char *option, double number) {
  return (option_number){.option = option, .number = number, .older = number};
}

static option_number following(option_number of) {
  of.follows = true;
  return of;
}

/* A set of entries as a number; 0 without a set. Earlier versions stored the number of entries. */
static option_number number_of_entries(const char *option, const amped_entry_set *set) {
  return set == NULL ? number_of_option(option, 0.0)
                     : (option_number){.option = option,
                                       .number = (double)(set->hash >> 11),
                                       .older = (double)set->total};
}

/* Options that differ: the first one, and the first of those that may follow from another option,
 * as entries that --weights leaves out are not held out. */
typedef struct differences {
  const char *option, *following;
} differences;

static void turn_option(tape *t, option_number mine, differences *d) {
  double x = mine.number;
  const char **first = mine.follows ? &d->following : &d->option;
  turn(t, &x);
  if (x != mine.number && x != mine.older && mine.option != NULL && *first == NULL)
    *first = mine.option;
}

/* Options that a resumed search must share with the interrupted one. */
static void turn_options(tape *t, const search *s, differences *d) {
  const amped_complete_problem *p = s->problem;
  const amped_complete_options *o = p->options;
  turn_option(t, number_of_option("--reg", o->reg_count), d);
  for (int i = 0; i < AMPED_MAX_REGS; i++)
    turn_option(t, number_of_option("--reg", i < o->reg_count ? o->reg[i] : 0.0), d);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    turn_option(t, number_of_option("--context", p->fit.prior[m]), d);
  const option_number others[] = {
      number_of_option("--reg-power", o->reg_power),
      number_of_option("--reg-bias", o->reg_bias),
      number_of_option("--bias", o->bias),
      number_of_option("--nonnegative", p->fit.nonnegative ? 1.0 : 2.0 * (double)p->nonnegative),
      following(number_of_option("--holdout or --holdout-by", o->holdout + modes_of(p->fibres))),
      number_of_option("--split-seed", (double)o->split_seed),
      number_of_option("--order", o->random_order),
      number_of_option("--method", o->method),
      number_of_option("--block", o->block),
      number_of_option("--patience", o->patience),
      number_of_option("--tol", p->tol),
      number_of_option("--starts", p->starts),
      following(number_of_option("--holdout", (double)p->held)),
      number_of_entries("--validate", p->validate),
      number_of_entries("--test", p->test),
      number_of_option(NULL, p->mean), /* stored but not compared: sums over tensor and weights,
                          whose rounding depends on the ranks */
      number_of_option(NULL, p->scale),
      number_of_option("--weights", (double)(p->weights_hash >> 11)),
      number_of_option("--implicit", p->fit.implicit),
      number_of_option("--of", p->ranked)};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    turn_option(t, others[i], d);
}

static const char *const reasons[] = {"patience", "iterations", "time", AMPED_RACE_VANISHED};
#define REASONS ((int)(sizeof reasons / sizeof reasons[0]))

/* End of the best sweep's run, if it has ended: the reason, and the errors after each sweep. */
static amped_status turn_end(tape *t, amped_complete_best *b) {
  int reason = -1;
  for (int i = 0; i < REASONS && b->stop_reason != NULL; i++)
    reason = strcmp(reasons[i], b->stop_reason) == 0 ? i : reason;
  turn_int(t, &reason);
  b->stop_reason = reason >= 0 && reason < REASONS ? reasons[reason] : NULL;
  for (int k = 0; k < AMPED_COMPLETION_SETS; k++) {
    amped_completion_errors *e = &b->errors[k];
    turn_u64(t, &e->count);
    if (t->reads && (t->short_of || e->count > t->count - t->at))
      e->count = 0;
    if (t->reads && e->count > 0)
      AMPED_TRY(amped_alloc(&e->values, e->count, sizeof *e->values, "the errors of sweeps"));
    for (uint64_t i = 0; i < e->count; i++)
      turn(t, &e->values[i]);
  }
  return AMPED_OK;
}

/* Has a tape been read to its end? A checkpoint of an older version ends before the tail, or in it.
 */
static bool has_ended(const tape *t) {
  return t->reads && t->at == t->count;
}

/* The clip: errors of the best sweep are measured with it. */
static void turn_clip(tape *t, const amped_complete_problem *p, differences *d) {
  const double bounds[] = {p->least, p->most};
  for (int i = 0; i < 2; i++) {
    const bool clips = isfinite(bounds[i]);
    turn_option(t, number_of_option("--clip", clips), d);
    turn_option(t, number_of_option("--clip", clips ? bounds[i] : 0.0), d);
  }
}

/* Numbers that later versions have added. */
static void turn_tail(tape *t, search *s, differences *d) {
  amped_complete_best *b = s->best;
  if (s->problem->fit.implicit > 0.0 && !has_ended(t)) {
    turn_ranks(t, &b->sweep.validate_cold);
    turn_ranks(t, &b->sweep.test_cold);
  }
  if (t->reads && b->sweep.run == s->sweep.run) {
    s->lowest = choice_of(s, &b->sweep);
    s->lowest_sweep = b->number;
  }
  if (has_ended(t))
    return;
  turn(t, &s->lowest);
  turn_u64(t, &s->lowest_sweep);
  if (!has_ended(t))
    turn_clip(t, s->problem, d);
}

static amped_status turn_all(tape *t, search *s, differences *d) {
  amped_complete_best *b = s->best;
  double elapsed = amped_time() - s->began;
  turn_options(t, s, d);
  for (int i = 0; i < s->method->number_count; i++)
    turn(t, &s->method->numbers(s->made)[i]);
  turn(t, &elapsed);
  if (t->reads)
    s->began = amped_time() - elapsed;
  turn_int(t, &s->sweep.run);
  turn(t, &s->mark);
  turn_int(t, &s->stale);
  for (int k = 0; k < AMPED_COMPLETION_SETS; k++)
    for (uint64_t i = 0; i < s->sweeps; i++)
      turn(t, &s->errors[k][i]);
  turn_sweep(t, &b->sweep);
  turn_u64(t, &b->number);
  turn(t, &b->value);
  AMPED_TRY(turn_end(t, b));
  turn_tail(t, s, d);
  return AMPED_OK;
}

/* Write the state after a sweep to s->numbers. */
static amped_status find_numbers(search *s) {
  differences d = {.option = NULL};
  tape t = {.numbers = NULL};
  AMPED_TRY(turn_all(&t, s, &d));
  s->number_count = t.at;
  AMPED_TRY(amped_realloc(&s->numbers, t.at, sizeof *s->numbers, "the solver's state"));
  t = (tape){.numbers = s->numbers, .count = t.at};
  return turn_all(&t, s, &d);
}

/* Restore the state from the numbers of a checkpoint. */
static amped_status take_numbers(search *s) {
  const amped_solver_state *from = s->resume;
  tape t = {.numbers = from->numbers, .count = from->number_count, .reads = true};
  differences d = {.option = NULL};
  const char *file = s->problem->checkpoint;
  if (from->sweeps > s->problem->iters)
    return amped_error(AMPED_BAD_INPUT, file,
                       "holds %" PRIu64 " sweeps of a run already; use --iters=%" PRIu64
                       " or more, or name another file with --checkpoint",
                       from->sweeps, from->sweeps);
  s->sweeps = from->sweeps;
  AMPED_TRY(turn_all(&t, s, &d));
  s->best->found = true;
  const char *differs = d.option != NULL ? d.option : d.following;
  if (differs != NULL && !t.short_of)
    return amped_error(AMPED_BAD_INPUT, file,
                       "is from a run with other options: %s differs; give the same options, or "
                       "name another file with --checkpoint",
                       differs);
  const amped_complete_sweep *best = &s->best->sweep;
  if (!t.short_of &&
      amped_complete_reg(s->problem->options, best->run, s->best->number) != best->reg)
    return amped_error(AMPED_BAD_INPUT, file,
                       "is from a version that tried the penalties of --reg=auto in another order; "
                       "begin anew, with another file for --checkpoint");
  if (t.short_of || t.at != t.count || s->sweep.run < 0 ||
      s->sweep.run >= amped_complete_runs(s->problem))
    return amped_error(AMPED_BAD_INPUT, file,
                       "is from a run with other options; give the same options, or name another "
                       "file with --checkpoint");
  return AMPED_OK;
}

/* Warn if the best run so far has ended on a smaller --iters: resuming does not make it longer. */
static void tell_limited(const search *s) {
  const amped_complete_best *b = s->best;
  uint64_t sweeps = 0;
  for (int k = 0; k < AMPED_COMPLETION_SETS; k++)
    sweeps = b->errors[k].count > sweeps ? b->errors[k].count : sweeps;
  if (b->stop_reason == NULL || strcmp(b->stop_reason, "iterations") != 0 ||
      b->sweep.run == s->sweep.run || sweeps >= s->problem->iters)
    return;
  amped_warn("%s: run %d, the best so far, ended on --iters=%" PRIu64
             " and stays so: only run %d and later ones go on to --iters=%" PRIu64
             "; to make all runs longer, begin anew, with another file for --checkpoint",
             s->problem->checkpoint, b->sweep.run + 1, sweeps, s->sweep.run + 1,
             (uint64_t)s->problem->iters);
}

/* --- one sweep, as a step of the loop --------------------------------------------------------- */

static amped_status sweep(void *self, amped_sweep *out) {
  search *s = self;
  amped_complete_modes modes;
  amped_mode_times t = {0.0, 0.0, 0.0, 0.0, 0.0};
  const double began = amped_time();
  find_modes(s, &modes);
  s->sweeps = out->number;
  s->sweep.reg = s->fit.reg = amped_complete_reg(s->problem->options, s->sweep.run, out->number);
  AMPED_TRY(s->method->sweep(s->made, &s->fit, &modes, &s->sweep.sums, &t));
  amped_trace_begin(AMPED_PHASE_FIT, (int64_t)out->number);
  amped_status status = evaluate(s);
  amped_trace_end();
  AMPED_TRY(status);
  out->value = number_of(s, &s->sweep.validate, &s->sweep.validate_ranks);
  if (isnan(out->value))
    out->value = s->sweep.train;
  out->times = (amped_sweep_times){t.mttkrp, t.copy, t.solve, t.exchange, amped_time() - began};
  if (!isfinite(out->value) || !isfinite(s->sweep.sums.objective))
    return amped_error(
        AMPED_FAILED, NULL,
        "the error is not a number after sweep %" PRIu64
        " with --reg=%g; try a higher --reg, another --seed, or --precision=double in place of "
        "float",
        out->number, s->sweep.reg);
  if (s->sweep.sums.unsure > 0 && !s->told_unsure) {
    s->told_unsure = true;
    amped_warn(
        "--reg=%g leaves rows of few entries without a unique solution (%" PRIu64
        " in a sweep); the solution of least norm is taken; to avoid this, use a higher --reg",
        s->sweep.reg, s->sweep.sums.unsure);
  }
  count_stale(s);
  note_lowest(s);
  AMPED_TRY(keep_best(s, out->value));
  return find_numbers(s);
}

static void view(const void *self, amped_solver_state *state) {
  const search *s = self;
  state->weights = s->ones;
  state->numbers = s->numbers;
  state->number_count = s->number_count;
  state->best = &s->best->factors;
}

static const char *stop(const void *self) {
  const search *s = self;
  if (s->out_of_time)
    return "time";
  if (s->stale >= s->problem->options->patience)
    return "patience";
  return s->races ? reason_to_end_early(s) : NULL;
}

static const amped_solver by_error = {.metric = "rmse",
                                      .has_numbers = true,
                                      .keeps_second = true,
                                      .sweep = sweep,
                                      .view = view,
                                      .stop = stop};
static const amped_solver by_ranks = {.metric = "ndcg",
                                      .has_numbers = true,
                                      .keeps_second = true,
                                      .sweep = sweep,
                                      .view = view,
                                      .stop = stop};

const amped_solver *amped_complete_solver_of(const amped_complete_problem *problem) {
  return problem->validate_ranks != NULL ? &by_ranks : &by_error;
}

/* --- runs ------------------------------------------------------------------------------------- */

/* Copy the run's errors, if the best sweep belongs to this run. */
static amped_status keep_errors(search *s, const char *reason) {
  const amped_complete_problem *p = s->problem;
  const bool ranks = s->solver == &by_ranks; /* all lists have the same metric */
  const bool errors = !(p->fit.implicit > 0.0);
  const bool has[] = {!ranks, ranks || (errors && (p->validate != NULL || p->held > 0)),
                      ranks ? p->test_ranks != NULL : errors && p->test != NULL};
  amped_complete_best *b = s->best;
  if (!b->found || b->sweep.run != s->sweep.run)
    return AMPED_OK;
  b->stop_reason = reason;
  for (int k = 0; k < AMPED_COMPLETION_SETS; k++) {
    amped_completion_errors *e = &b->errors[k];
    amped_free(e->values);
    *e = (amped_completion_errors){0, NULL};
    if (!has[k])
      continue;
    AMPED_TRY(amped_alloc(&e->values, s->sweeps, sizeof *e->values, "the errors of sweeps"));
    memcpy(e->values, s->errors[k], (size_t)s->sweeps * sizeof *e->values);
    e->count = s->sweeps;
  }
  return AMPED_OK;
}

static amped_status after_sweep(void *context, const amped_sweep *sweep) {
  search *s = context;
  const double limit = s->problem->options->seconds;
  bool over = limit > 0.0 && amped_time() - s->began >= limit;
  amped_comm_broadcast(s->context->comm, &over, sizeof over);
  s->out_of_time = over;
  return s->hooks->after_sweep(s->hooks->context, sweep, &s->sweep);
}

static amped_status report_end(const search *s, int number, const amped_solver_result *result) {
  const amped_complete_options *o = s->problem->options;
  return s->hooks->end(s->hooks->context, number, number / regs_of(o),
                       amped_complete_reg(o, number, 1), s->best->sweep.run,
                       best_sweep_of(s, result), result);
}

static amped_status run(search *s, int number) {
  bool noise_reported = true;
  const amped_iterate_options options = {.iters = s->problem->iters,
                                         .noise_reported = &noise_reported,
                                         .start = s->resume,
                                         .after_sweep = after_sweep,
                                         .context = s};
  amped_solver_result result;
  if (s->resume == NULL) {
    memset(&s->sweep, 0, sizeof s->sweep);
    s->sweep.run = number;
    s->sweep.start = number / regs_of(s->problem->options);
    s->sweeps = 0;
    s->lowest_sweep = 0;
    s->stale = 0;
    s->mark = amped_metric_rises(s->solver->metric) ? -INFINITY : INFINITY;
    const double reg = amped_complete_reg(s->problem->options, number, 1);
    for (int i = 0; i < s->method->number_count; i++)
      s->method->numbers(s->made)[i] = 0.0;
    AMPED_TRY(s->hooks->begin(s->hooks->context, number, s->sweep.start, reg));
  }
  amped_status status = amped_comm_agree(
      s->context->comm, amped_solver_result_create(s->context, s->solver, &options, &result));
  s->resume = NULL;
  s->fit.reg = amped_complete_reg(s->problem->options, number, s->sweeps + 1);
  if (status == AMPED_OK && s->method->begin != NULL)
    status = s->method->begin(s->made, &s->fit);
  if (status == AMPED_OK)
    status = amped_iterate(s->context, s->solver, s, &options, &result);
  if (status == AMPED_OK || status == AMPED_STOPPED) {
    const char *reason =
        status == AMPED_OK ? result.stop_reason : s->hooks->stopped_by(s->hooks->context);
    amped_status kept = amped_comm_agree(s->context->comm, keep_errors(s, reason));
    status = kept != AMPED_OK ? kept : status;
  }
  if (status == AMPED_OK)
    status = report_end(s, number, &result);
  amped_solver_result_free(&result);
  return status;
}

static amped_status allocate(search *s) {
  const uint64_t n = (uint64_t)s->context->plan->ncomps;
  for (int k = 0; k < AMPED_COMPLETION_SETS; k++)
    AMPED_TRY(
        amped_alloc(&s->errors[k], s->problem->iters, sizeof(double), "the errors of sweeps"));
  AMPED_TRY(amped_alloc(&s->ones, n, sizeof *s->ones, "the weights"));
  for (uint64_t r = 0; r < n; r++)
    s->ones[r] = 1.0;
  return AMPED_OK;
}

amped_status amped_complete_search(const amped_context *context,
                                   const amped_complete_problem *problem,
                                   const amped_complete_hooks *hooks,
                                   const amped_solver_state *resume, amped_complete_best *best,
                                   double *seconds) {
  search s = {.context = context,
              .problem = problem,
              .hooks = hooks,
              .best = best,
              .solver = amped_complete_solver_of(problem),
              .method = amped_complete_method_find(problem->options),
              .fit = problem->fit,
              .resume = resume,
              .races = races(problem),
              .mark = INFINITY};
  amped_status status = AMPED_OK;
  AMPED_GO(done, amped_comm_agree(context->comm, allocate(&s)));
  AMPED_GO(done, s.method->create(context, problem->options, &s.fit, &s.made));
  s.began = amped_time();
  if (resume != NULL) {
    AMPED_GO(done, amped_comm_agree(context->comm, take_numbers(&s)));
    s.sweep.start = s.sweep.run / regs_of(problem->options);
    tell_limited(&s);
  }
  for (int k = s.sweep.run;
       k < amped_complete_runs(problem) && status == AMPED_OK && !s.out_of_time; k++)
    status = run(&s, k);
  *seconds = amped_time() - s.began;
  if (best->found && (status == AMPED_OK || status == AMPED_STOPPED)) {
    amped_status restored = amped_saved_factors_restore(context, &best->factors);
    status = restored != AMPED_OK ? restored : status;
  }
done:
  s.method->destroy(s.made);
  amped_free(s.ones);
  amped_free(s.numbers);
  for (int k = 0; k < AMPED_COMPLETION_SETS; k++)
    amped_free(s.errors[k]);
  return status;
}
