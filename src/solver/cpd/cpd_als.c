/* CP-ALS: row updates, unit columns, the fit, and accelerated sweeps. */
#include "solver/cpd/cpd_als.h"

#include <math.h>
#include <string.h>

#include "base/buffers.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "plan/dense_passes.h"
#include "solver/fit.h"
#include "solver/mode_update.h"
#include "solver/normal_equations.h"
#include "solver/outcome.h"
#include "solver/cpd/ruled_rows.h"
#include "solver/unit_model.h"

struct als_set;

/* A model. */
typedef struct als {
  struct als_set *set;
  const amped_context *context;
  amped_solver_result *result;
  double *grams[AMPED_MAX_ORDER]; /* grams of unit columns after the mode's update; then <X, M> */
  double *v;                      /* Hadamard product of grams */
  amped_row_matrices matrices;    /* matrices of the current mode's update */
  double inner;                   /* <X, M> of the mode that was updated last */
  amped_row_sums sums;            /* sums over this rank's rows of the current mode */
  amped_fit fit;
  amped_acceleration *acceleration; /* NULL: none */
  const amped_row_rule *rule;
  amped_ruled_rows *ruled; /* NULL: the rule is plain */
  const amped_fixed_modes *fixed;
  amped_mode_order free; /* modes that are updated; the first of them begins a sweep */
  bool is_random;        /* the start is random */
  double tol;
} als;

/* The models side by side that the current sweep improves. */
typedef struct als_set {
  als **models;
  int count;
  double *sums;     /* grams and <X, M> of all models, to be summed over ranks */
  double *scale;    /* [columns], also of models that have left */
  amped_status own; /* this rank's first failure on which the ranks have not agreed yet */
  bool failed;      /* the ranks have agreed on a failure */
} als_set;

/* --- the loop --------------------------------------------------------------------------------- */

static als_set *gather_models(void *const *models, int count);
static bool fits_signed_first(const als *a);
static amped_status take_steps(als_set *set, const amped_sweep *sweeps, amped_mode_work *work,
                               amped_mode_times *times);
static amped_status check_grams(als *a, int mode);
static amped_status begin_mode(void *self, int mode);
static amped_status make_rows(void *self, int mode, uint64_t first, uint64_t end);
static amped_status finish_mode(void *self, int mode, bool arrived, amped_status status);
static amped_sweep_mode since(const amped_mode_times *t, const amped_mode_times *before,
                              double seconds);
static amped_status find_fits(als_set *set, amped_sweep *sweeps);
static amped_status judge_step(als *a, amped_sweep *s);
static double share_of(const als_set *set, const als *a);
static amped_sweep_mode share_mode(const amped_sweep_mode *all, double share);

/* Collective. Update a mode of all models. */
static amped_status update_mode(als_set *set, int mode, const amped_row_update *update,
                                amped_mode_times *times) {
  for (int k = 0; k < set->count; k++)
    AMPED_TRY(check_grams(set->models[k], mode));
  const amped_status status =
      amped_mode_update(set->models[0]->context, mode, set->own, update, times);
  if (!set->failed)
    AMPED_NEXT(set->own, status);
  return set->failed ? status : AMPED_OK;
}

/* Collective. Before the first sweep: fit the modes of both signs to the start of nonnegative ones.
 * The first of these would be fitted to random columns else, of which many are best zero, and stay
 * so. A dense tensor is contracted anew afterwards, as it would be without. */
static amped_status fit_signed(als_set *set, const amped_row_update *update,
                               amped_mode_times *times) {
  const als *const first = set->models[0];
  const amped_worker *worker = first->context->worker;
  for (int i = 0; i < first->free.count; i++)
    if (!amped_row_rule_is_nonnegative(first->rule, first->free.modes[i]))
      AMPED_TRY(update_mode(set, first->free.modes[i], update, times));
  if (worker->format->go_on != NULL)
    worker->format->go_on(worker->tensor, first->fixed->modes, 0);
  return AMPED_OK;
}

/* A sweep of models side by side, function by function:
 *   fit_signed     in the first sweep of a start with some nonnegative modes alone.
 *   take_steps     with --accelerate: go beyond the current models, with a test by the first
 * MTTKRP. amped_mode_update, for each free mode; it computes MTTKRP of all columns and calls:
 *     begin_mode   per model: V = Hadamard product of the other grams, matrices of the row update.
 *     make_rows    per model: own rows, part by part, and their gram.
 *     finish_mode  grams summed over ranks; columns to unit length, their lengths as weights.
 *   find_fits      per model: the fit, from the last MTTKRP and the grams.
 *   judge_step     with --accelerate, per model: go back if the fit fell.
 * A model's share of the seconds is its share of the columns. Collective. A failure is agreed, or
 * is this rank's own; the caller agrees after the sweep. */
static amped_status sweep_all(void *const *models, int count, amped_sweep *sweeps) {
  als_set *const set = gather_models(models, count);
  const als *const first = set->models[0];
  const amped_mode_work work = amped_mttkrp_work(first->context);
  amped_row_update update = {
      .work = work, .begin = begin_mode, .rows = make_rows, .finish = finish_mode, .self = set};
  amped_mode_times t = {0.0, 0.0, 0.0, 0.0, 0.0};
  const double began = amped_time();
  if (sweeps[0].number == 1 && fits_signed_first(first))
    AMPED_TRY(fit_signed(set, &update, &t));
  if (first->acceleration != NULL)
    AMPED_TRY(take_steps(set, sweeps, &update.work, &t));
  for (int i = 0; i < first->free.count; i++) {
    const int m = first->free.modes[i];
    const amped_mode_times before = t;
    const double mode_began = amped_time();
    AMPED_TRY(update_mode(set, m, &update, &t));
    const amped_sweep_mode all = since(&t, &before, amped_time() - mode_began);
    for (int k = 0; k < count; k++)
      sweeps[k].modes[m] = share_mode(&all, share_of(set, set->models[k]));
    update.work = work;
  }
  amped_trace_begin(AMPED_PHASE_FIT, (int64_t)sweeps[0].number);
  amped_status status = find_fits(set, sweeps);
  for (int k = 0; k < count && first->acceleration != NULL; k++)
    AMPED_NEXT(status, judge_step(set->models[k], &sweeps[k]));
  amped_trace_end();
  const double total = amped_time() - began;
  for (int k = 0; k < count; k++) {
    const double share = share_of(set, set->models[k]);
    sweeps[k].times = (amped_sweep_times){share * t.mttkrp, share * t.copy, share * t.solve,
                                          share * t.exchange, share * total};
  }
  return status;
}

/* Does a random start begin with a nonnegative mode, while another one has both signs? */
static bool fits_signed_first(const als *a) {
  bool any = false;
  for (int i = 1; i < a->free.count; i++)
    any = any || !amped_row_rule_is_nonnegative(a->rule, a->free.modes[i]);
  return a->is_random && any && amped_row_rule_is_nonnegative(a->rule, a->free.modes[0]);
}

static als_set *gather_models(void *const *models, int count) {
  als_set *const set = ((als *)models[0])->set;
  for (int k = 0; k < count; k++)
    set->models[k] = models[k];
  set->count = count;
  return set;
}

static double share_of(const als_set *set, const als *a) {
  int columns = 0;
  for (int k = 0; k < set->count; k++)
    columns += set->models[k]->context->plan->ncomps;
  return (double)a->context->plan->ncomps / columns;
}

static amped_sweep_mode share_mode(const amped_sweep_mode *all, double share) {
  return (amped_sweep_mode){share * all->mttkrp, share * all->compute, share * all->copy,
                            share * all->exchange, share * all->total};
}

/* --- life ------------------------------------------------------------------------------------- */

static amped_status allocate(als *a) {
  uint64_t n = (uint64_t)a->context->plan->ncomps;
  for (int m = 0; m < a->context->plan->order; m++)
    AMPED_TRY(amped_alloc(&a->grams[m], n * n + 1, sizeof(double), "a gram matrix"));
  AMPED_TRY(amped_alloc(&a->v, n * n, sizeof(double), "a gram matrix"));
  return amped_row_matrices_create(a->context->plan->ncomps, &a->matrices);
}

static void release(als *a) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(a->grams[m]);
  amped_free(a->v);
  amped_row_matrices_free(&a->matrices);
}

/* --- parts of a sweep ------------------------------------------------------------------------- */

static int gram_elements(const als *a) {
  return a->context->plan->ncomps * a->context->plan->ncomps;
}

/* Collective. Sum the grams of mode's factors, and <X, M>, over all ranks. Both then belong to the
 * mode that was updated last. status: this rank's own so far. The returned status is agreed. */
static amped_status sum_over_ranks(als_set *set, int mode, amped_status status) {
  int count = 0;
  amped_trace_begin(AMPED_PHASE_WAIT, mode);
  for (int k = 0; k < set->count; k++) {
    const als *a = set->models[k];
    memcpy(set->sums + count, a->grams[mode], (size_t)gram_elements(a) * sizeof(double));
    count += gram_elements(a);
    set->sums[count++] = a->sums.inner;
  }
  status = amped_comm_sum_agreed(set->models[0]->context->comm, status, set->sums, count);
  for (int k = set->count - 1; k >= 0; k--) {
    als *a = set->models[k];
    a->inner = set->sums[--count];
    count -= gram_elements(a);
    memcpy(a->grams[mode], set->sums + count, (size_t)gram_elements(a) * sizeof(double));
  }
  set->failed = status != AMPED_OK;
  amped_trace_end();
  return status;
}

static amped_status find_gram(als *a, int mode) {
  const amped_worker *worker = a->context->worker;
  amped_trace_begin(AMPED_PHASE_GRAM, mode);
  amped_status status = worker->backend->factors->gram(worker->factors, mode, a->grams[mode]);
  status = amped_comm_sum_agreed(a->context->comm, status, a->grams[mode], gram_elements(a));
  amped_fixed_modes_add(a->fixed, mode, a->context->plan->ncomps, a->grams[mode]);
  amped_trace_end();
  return status;
}

/* Columns of the loaded factors, of which the model has some. */
static int all_columns(const amped_context *context) {
  const amped_worker *worker = context->worker;
  return worker->columns_before + context->plan->ncomps + worker->columns_after;
}

/* Scale all models' columns of mode's factor to unit length, in `rows` rows from `position` on, in
 * one pass. Their lengths become weights; the grams are scaled with them. A zero column stays zero
 * and gets weight 0. */
static amped_status normalise(als_set *set, int mode, uint64_t position, uint64_t rows) {
  const amped_context *context = set->models[0]->context;
  const amped_worker *worker = context->worker;
  const amped_worker *whole = worker->whole != NULL ? worker->whole : worker;
  amped_trace_begin(AMPED_PHASE_NORMALISE, mode);
  for (int r = 0; r < all_columns(context); r++)
    set->scale[r] = 1.0;
  for (int k = 0; k < set->count; k++) {
    als *a = set->models[k];
    amped_unit_lengths(a->context->plan->ncomps, a->grams[mode], a->result->weights,
                       set->scale + a->context->worker->columns_before);
  }
  const amped_status status =
      whole->backend->factors->scale(whole->factors, mode, position, rows, set->scale);
  amped_trace_end();
  return status;
}

/* Collective. status: this rank's own so far. The returned status is agreed, or this rank's own. */
static amped_status find_fit(als *a, amped_status status, amped_sweep *s) {
  double part = 0.0;
  AMPED_TRY(amped_fit_find(&a->fit, s->number, (const double *const *)a->grams, a->inner, status,
                           &part, &s->noise));
  s->value = amped_fit_of_part(part);
  if (amped_row_rule_penalises(a->rule))
    s->objective = part * a->context->plan->norm_squared / 2.0 + amped_ruled_rows_penalty(a->ruled);
  return amped_fit_check("the fit", part, "sweep", s->number);
}

/* Collective. A pass over nonzeros for one model's fit is made by all ranks. */
static amped_status find_fits(als_set *set, amped_sweep *sweeps) {
  amped_status status = set->own;
  for (int k = 0; k < set->count; k++)
    status = find_fit(set->models[k], status, &sweeps[k]);
  return status;
}

/* Find the matrices of the row update. keep has the part that V does not resolve, and includes the
 * weights, because old rows have unit columns. Before the first update there is no model: all
 * weights are 0. */
static amped_status invert(als *a, int mode) {
  const amped_plan *plan = a->context->plan;
  const size_t n = (size_t)plan->ncomps;
  amped_row_matrices *const x = &a->matrices;
  AMPED_TRY(amped_row_matrices_find(x, plan->value_type, a->v));
  if (a->ruled != NULL)
    amped_ruled_rows_drop(a->ruled, x->turns ? x->turn : x->p);
  for (size_t r = 0; r < n; r++)
    for (size_t s = 0; s < n; s++)
      x->keep[r * n + s] *= a->result->weights[r];
  if (x->keeps && !a->result->singular)
    amped_warn(
        "mode %d: the gram matrix is singular (components are collinear or zero); directions that "
        "it does not determine stay unchanged, here and in later sweeps; try fewer components",
        mode + 1);
  a->result->singular = a->result->singular || x->keeps;
  return AMPED_OK;
}

static amped_status begin_model(als *a, int mode) {
  const amped_plan *plan = a->context->plan;
  amped_hadamard(plan->order, plan->ncomps, (const double *const *)a->grams, mode, a->v);
  if (a->ruled != NULL)
    amped_ruled_rows_prepare(a->ruled, mode, a->v);
  if (!amped_row_rule_descends(a->rule, mode))
    AMPED_TRY(invert(a, mode));
  a->sums = (amped_row_sums){a->grams[mode], 0.0};
  memset(a->grams[mode], 0, (size_t)gram_elements(a) * sizeof(double));
  return AMPED_OK;
}

static amped_status begin_mode(void *self, int mode) {
  const als_set *set = self;
  amped_trace_begin(AMPED_PHASE_SOLVE, mode);
  for (int k = 0; k < set->count; k++)
    AMPED_TRY(begin_model(set->models[k], mode));
  amped_trace_end();
  return AMPED_OK;
}

/* Rows that solve made coordinates are turned by a second solve, in which the output takes no
 * part. */
static amped_status solve_rows(als *a, int mode, uint64_t first, uint64_t end) {
  const amped_worker *worker = a->context->worker;
  const amped_factor_ops *factors = worker->backend->factors;
  const amped_row_matrices *x = &a->matrices;
  AMPED_TRY(factors->solve(worker->factors, mode, first, end, x->p, x->keeps ? x->keep : NULL,
                           x->turns ? NULL : &a->sums));
  return x->turns ? factors->solve(worker->factors, mode, first, end, x->zero, x->turn, &a->sums)
                  : AMPED_OK;
}

static amped_status make_rows(void *self, int mode, uint64_t first, uint64_t end) {
  const als_set *set = self;
  amped_trace_begin(AMPED_PHASE_SOLVE, mode);
  for (int k = 0; k < set->count; k++) {
    als *a = set->models[k];
    AMPED_TRY(amped_row_rule_descends(a->rule, mode)
                  ? amped_ruled_rows_descend(a->ruled, mode, first, end, a->v, &a->sums)
                  : solve_rows(a, mode, first, end));
  }
  amped_trace_end();
  return AMPED_OK;
}

/* Every rank normalises all rows if they have arrived; otherwise only its own rows. A failure after
 * the sum waits for the next agreement. */
static amped_status finish_mode(void *self, int mode, bool arrived, amped_status status) {
  als_set *set = self;
  const amped_plan *plan = set->models[0]->context->plan;
  const uint64_t block = plan->modes[mode].rows.block_rows;
  const uint64_t position = arrived ? 0 : (uint64_t)plan->rank * block;
  const uint64_t rows = arrived ? amped_plan_factor_rows(plan, mode) : block;
  AMPED_TRY(sum_over_ranks(set, mode, status));
  set->own = normalise(set, mode, position, rows);
  for (int k = 0; k < set->count && set->models[k]->ruled != NULL; k++)
    set->own = amped_ruled_rows_finish(set->models[k]->ruled, mode, set->own);
  return AMPED_OK;
}

/* Check that V is finite, before any rank waits for another. The result is the same on every rank,
 * because the grams are. */
static amped_status check_grams(als *a, int mode) {
  const amped_plan *plan = a->context->plan;
  amped_hadamard(plan->order, plan->ncomps, (const double *const *)a->grams, mode, a->v);
  return amped_gram_check(plan->ncomps, a->v);
}

/* Times of one mode's update: the increase of the sums *t. */
static amped_sweep_mode since(const amped_mode_times *t, const amped_mode_times *before,
                              double seconds) {
  return (amped_sweep_mode){.mttkrp = t->mttkrp - before->mttkrp,
                            .compute = t->compute - before->compute,
                            .copy = t->copy - before->copy,
                            .exchange = t->exchange - before->exchange,
                            .total = seconds};
}

/* --- accelerated sweeps ----------------------------------------------------------------------- */

/* Work without steps, if the output already has mode's MTTKRP. */
static amped_status begin_none(void *self, int mode) {
  (void)self;
  (void)mode;
  return AMPED_OK;
}

static amped_status wait_none(void *self, int mode, int part, amped_mttkrp_times *times) {
  (void)self;
  (void)mode;
  (void)part;
  *times = (amped_mttkrp_times){0.0, 0.0};
  return AMPED_OK;
}

static amped_status reduce_none(void *self, int mode) {
  (void)self;
  (void)mode;
  return AMPED_OK;
}

static double last_value(const als *a) {
  return amped_solver_result_value(a->result);
}

/* Collective. Step from the current models. *is_tested: a step's first MTTKRP decides about it. */
static void propose_steps(als_set *set, const amped_sweep *sweeps, bool *is_tested) {
  *is_tested = false;
  set->own = AMPED_OK;
  for (int k = 0; k < set->count; k++) {
    amped_acceleration *step = set->models[k]->acceleration;
    AMPED_ALSO(set->own, amped_acceleration_propose(step, sweeps[k].number));
    *is_tested = *is_tested || amped_acceleration_is_tested(step);
  }
}

/* Collective. Test steps by the first mode's MTTKRP. */
static void test_steps(als_set *set, bool *is_refused) {
  *is_refused = false;
  for (int k = 0; k < set->count; k++) {
    const als *a = set->models[k];
    const double miss = 1.0 - last_value(a);
    bool refused = false;
    if (amped_acceleration_is_tested(a->acceleration))
      AMPED_ALSO(set->own, amped_acceleration_test(a->acceleration, miss * miss, &refused));
    *is_refused = *is_refused || refused;
  }
}

/* Collective; the status is agreed. Step from the current models. If steps were tested and none was
 * refused, *work becomes the empty work, because the first mode's MTTKRP exists already. Other
 * failures wait in set->own. */
static amped_status take_steps(als_set *set, const amped_sweep *sweeps, amped_mode_work *work,
                               amped_mode_times *times) {
  const als *const first = set->models[0];
  double began = amped_time();
  bool flag = false;
  amped_mttkrp_times t = {0.0, 0.0};
  propose_steps(set, sweeps, &flag);
  times->solve += amped_time() - began;
  if (!flag)
    return AMPED_OK;
  AMPED_TRY(amped_comm_agree(first->context->comm, set->own));
  began = amped_time();
  AMPED_TRY(amped_mode_mttkrp(first->context, first->free.modes[0], &t));
  times->mttkrp += amped_time() - began;
  times->copy += t.copy_sec;
  times->compute += t.compute_sec;
  began = amped_time();
  test_steps(set, &flag);
  times->solve += amped_time() - began;
  if (!flag)
    *work = (amped_mode_work){
        .begin = begin_none, .wait = wait_none, .reduce = reduce_none, .self = NULL};
  return AMPED_OK;
}

static amped_status judge_step(als *a, amped_sweep *s) {
  const amped_status status = amped_acceleration_judge(a->acceleration, last_value(a), &s->value);
  amped_acceleration_tell_step(a->acceleration, &s->facts);
  return status;
}

static const char *stop(const void *self) {
  const als *a = self;
  return !amped_acceleration_is_undone(a->acceleration) &&
                 amped_solver_result_has_converged(a->result, a->tol)
             ? "tolerance"
             : NULL;
}

static void view(const void *self, amped_solver_state *state) {
  const als *a = self;
  state->weights = a->result->weights;
  memcpy(state->grams, a->grams, sizeof state->grams);
  if (a->acceleration != NULL)
    amped_acceleration_view(a->acceleration, state);
}

/* Sweeps that are accelerated contract a dense tensor anew; others go on with what they kept. */
static void go_on_after(const als *a, uint64_t sweeps) {
  const amped_worker *worker = a->context->worker;
  if (a->acceleration == NULL && worker->format->go_on != NULL)
    worker->format->go_on(worker->tensor, a->fixed->modes, sweeps);
}

static void go_on(const void *self) {
  const als *a = self;
  go_on_after(a, a->result->sweeps);
}

/* Set the grams: from the state if there is one, because new sums would have other bits. Otherwise
 * from the factors, except for the mode that is updated before its gram is read. */
static amped_status begin(als *a, const amped_solver_state *start) {
  const size_t n = (size_t)a->context->plan->ncomps;
  if (start != NULL)
    go_on_after(a, start->sweeps);
  for (int m = 0; m < a->context->plan->order; m++)
    if (start != NULL)
      memcpy(a->grams[m], start->grams[m], n * n * sizeof *a->grams[m]);
    else if (m != a->free.modes[0] || fits_signed_first(a))
      AMPED_TRY(find_gram(a, m));
  const int known = start != NULL || fits_signed_first(a) ? 0 : 1;
  return a->ruled != NULL ? amped_comm_agree(a->context->comm,
                                             amped_ruled_rows_begin(a->ruled, start == NULL, known))
                          : AMPED_OK;
}

static amped_status finish_all(void *const *models, int count, double *const *values) {
  amped_ruled_rows *ruled[AMPED_MAX_NCOMPS]; /* a model has a column at least */
  for (int k = 0; k < count; k++) {
    als *a = models[k];
    AMPED_TRY(amped_fit_finish(&a->fit, values[k]));
    ruled[k] = a->ruled;
  }
  return ruled[0] != NULL ? amped_ruled_rows_measure(ruled, count) : AMPED_OK;
}

/* Add the passes over a dense tensor. Accelerated sweeps contract it anew. */
static void tell_passes(const als *a, amped_facts *facts) {
  const amped_solver_result *r = a->result;
  const amped_plan *plan = a->context->plan;
  const uint64_t fixed = a->fixed->modes;
  const uint64_t sweeps = r->sweeps - r->earlier;
  uint64_t passes =
      amped_dense_free_passes(&plan->dense, plan->order, fixed, r->earlier, r->sweeps);
  double a_sweep = fixed == 0 ? amped_dense_passes(&plan->dense, plan->order)
                              : (double)passes / (double)(sweeps > 0 ? sweeps : 1);
  if (a->acceleration != NULL) {
    const uint64_t anew = amped_dense_free_passes(&plan->dense, plan->order, fixed, 0, 1);
    passes = sweeps * anew + amped_acceleration_repeated(a->acceleration);
    a_sweep = (double)anew;
  }
  if (r->earlier == 0 && fits_signed_first(a))
    passes +=
        amped_dense_free_passes(&plan->dense, plan->order, fixed | a->rule->nonnegative, 0, 1);
  amped_outcome_passes(facts, r, (double)passes, "a_sweep", a_sweep);
}

static void tell(const void *self, amped_facts *facts) {
  const als *a = self;
  if (a->acceleration != NULL)
    amped_acceleration_tell(a->acceleration, facts);
  if (a->ruled != NULL)
    amped_ruled_rows_tell(a->ruled, a->result->objective, facts);
  if (a->context->worker->format->needs.cells)
    tell_passes(a, facts);
}

const amped_solver amped_cpd_als_solver = {.metric = "fit",
                                           .facts_name = "step",
                                           .has_grams = true,
                                           .sweep_all = sweep_all,
                                           .view = view,
                                           .finish_all = finish_all,
                                           .go_on = go_on,
                                           .tell = tell};

static const amped_solver accelerated = {.metric = "fit",
                                         .facts_name = "step",
                                         .has_grams = true,
                                         .has_numbers = true,
                                         .keeps_second = true,
                                         .sweep_all = sweep_all,
                                         .view = view,
                                         .stop = stop,
                                         .finish_all = finish_all,
                                         .go_on = go_on,
                                         .tell = tell};

const amped_solver *amped_cpd_solver_of(amped_accelerate how) {
  return how == AMPED_ACCELERATE_NONE ? &amped_cpd_als_solver : &accelerated;
}

/* --- running ---------------------------------------------------------------------------------- */

/* Collective; the status is agreed. */
static amped_status prepare(als *a, const amped_cpd_options *how, const amped_solver_state *start,
                            const amped_saved_factors *before) {
  const amped_context *context = a->context;
  const amped_acceleration_model model = {.weights = a->result->weights,
                                          .grams = a->grams,
                                          .nonnegative = how->rule.nonnegative,
                                          .free = a->free};
  amped_status status = allocate(a);
  a->fit = (amped_fit){.context = context, .result = a->result, .fixed = a->fixed, .v = a->v};
  if (status == AMPED_OK && !amped_row_rule_is_plain(a->rule))
    status = amped_ruled_rows_create(context, a->rule, a->fixed, a->result->weights, a->grams,
                                     &a->ruled);
  AMPED_TRY(amped_comm_agree(context->comm, status));
  if (how->accelerate != AMPED_ACCELERATE_NONE)
    AMPED_TRY(amped_acceleration_create(context, how->accelerate, &model, start, before,
                                        &a->acceleration));
  return begin(a, start);
}

static amped_buffers buffers(als_set *set, als **all, const amped_cpd_model *models, int count) {
  amped_buffers b = {.what = "the models side by side"};
  uint64_t sums = 0;
  for (int k = 0; k < count; k++) {
    const uint64_t n = (uint64_t)models[k].context->plan->ncomps;
    sums += n * n + 1;
  }
  AMPED_BUFFER(&b, HOST, set->sums, sums);
  AMPED_BUFFER(&b, HOST, set->scale, (uint64_t)all_columns(models[0].context));
  AMPED_BUFFER(&b, HOST, set->models, (uint64_t)count);
  AMPED_BUFFER(&b, ZEROED, *all, (uint64_t)count);
  return b;
}

/* Collective; the status is agreed. Make the model, which may hold memory even after a failure. */
static amped_status create(als_set *set, const amped_cpd_options *how, const amped_cpd_model *m,
                           als *a) {
  const amped_context *context = m->context;
  *a = (als){.set = set,
             .context = context,
             .result = m->result,
             .tol = m->options->tol,
             .rule = &how->rule,
             .fixed = &how->fixed,
             .is_random = how->start_file == NULL && how->fixed.modes == 0,
             .free = amped_fixed_modes_free(&how->fixed, context->plan->order)};
  AMPED_TRY(amped_comm_agree(
      context->comm, amped_solver_result_create(context, amped_cpd_solver_of(how->accelerate),
                                                m->options, m->result)));
  return prepare(a, how, m->options->start, m->before);
}

static void destroy(als *a) {
  amped_acceleration_destroy(a->acceleration);
  amped_ruled_rows_destroy(a->ruled);
  release(a);
}

amped_status amped_cpd_run_all(const amped_cpd_options *how, int count,
                               const amped_cpd_model *models, const amped_iterate_hooks *hooks) {
  const amped_comm *comm = models[0].context->comm;
  als_set set = {.count = count};
  als *all = NULL;
  amped_iterate_model list[AMPED_MAX_NCOMPS]; /* a model has a column at least */
  for (int k = 0; k < count; k++)
    *models[k].result = (amped_solver_result){.metric = NULL};
  amped_status status =
      amped_comm_agree(comm, amped_buffers_allocate(buffers(&set, &all, models, count)));
  for (int k = 0; k < count && status == AMPED_OK; k++) {
    status = create(&set, how, &models[k], &all[k]);
    list[k] = (amped_iterate_model){.context = models[k].context,
                                    .self = &all[k],
                                    .options = models[k].options,
                                    .result = models[k].result};
  }
  if (status == AMPED_OK)
    status = amped_iterate_all(amped_cpd_solver_of(how->accelerate), count, list, hooks);
  for (int k = 0; k < count && all != NULL; k++)
    destroy(&all[k]);
  amped_buffers_free(buffers(&set, &all, models, count));
  for (int k = 0; k < count && status != AMPED_OK; k++)
    amped_solver_result_free(models[k].result);
  return status;
}

amped_status amped_cpd_run(const amped_context *context, const amped_cpd_options *how,
                           const amped_saved_factors *before, const amped_iterate_options *options,
                           amped_solver_result *result) {
  const amped_iterate_hooks none = {.context = NULL};
  const amped_cpd_model one = {
      .context = context, .before = before, .options = options, .result = result};
  return amped_cpd_run_all(how, 1, &one, &none);
}

void amped_cpd_require(const amped_worker *worker, const amped_plan *plan,
                       const amped_cpd_options *how, uint64_t *device_bytes, uint64_t *host_bytes) {
  if (how->accelerate != AMPED_ACCELERATE_NONE)
    amped_acceleration_require(worker, plan, device_bytes, host_bytes);
  if (!amped_row_rule_is_plain(&how->rule))
    *host_bytes += amped_ruled_rows_bytes(plan);
}

amped_status amped_cpd_als(const amped_context *context, const amped_iterate_options *options,
                           amped_solver_result *result) {
  const amped_cpd_options plain = {.accelerate = AMPED_ACCELERATE_NONE};
  return amped_cpd_run(context, &plain, NULL, options, result);
}
