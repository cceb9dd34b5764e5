/* Poisson CP: sweeps, steps, their refusal, and the final measurement. */
#include "solver/cpd/cpd_poisson.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buffers.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "solver/cpd/acceleration.h"
#include "solver/cpd/count_model.h"
#include "solver/fit.h"
#include "solver/mode_update.h"
#include "solver/outcome.h"
#include "tensor/format.h"

/* Numbers of a checkpoint. The model before follows: its weights, and its columns' sums; then the
 * current columns' sums. */
enum {
  INDEPENDENT,
  TOTAL,
  DEVIANCE,
  PACE,
  ACCEPTED,
  REFUSED,
  LAST_REFUSED,
  PAUSE,       /* sweeps without raised entries after the next refusal of some */
  NEXT_RAISES, /* first sweep that may raise entries again */
  ARRAYS
};

/* More sweeps than any run makes. */
#define MOST_SWEEPS 0x1p53

/* Most sweeps between attempts to raise entries. */
#define LONGEST_PAUSE 64.0

/* Rounding of a deviance, in units of the sum of all values. A ratio is rounded to the type of the
 * factors, as each factor of the model's value is, and the product. Sums over nonzeros are rounded
 * to double, and their error grows with the square root of the number of terms. A deviance below
 * LEAST times the larger error, or below LEAST_SHARE, is taken as rounding. */
#define RATIO_ROUNDINGS 2.0 /* beside one for each mode */
#define SUM_ROUNDINGS 16.0
#define LEAST 4.0
#define LEAST_SHARE 1e-12

/* A violation of the conditions of an optimum by the model of independent modes. It has none beyond
 * rounding, unless model values are too small for the precision. */
#define LOST_VALUES 0.01
/* Share of the deviance above which a line reports its rounding. */
#define TOLD_NOISE 0.001

static const char what[] = "a model of counts";

/* Numbers that are summed over ranks after a mode's update: sums and squares of columns, raised
 * entries, sums of ratios. */
enum { RAISES, VALUES, LOGS, NEGATIVE, FRACTIONS, LOW, SUMMED };

typedef struct poisson {
  const amped_context *context;
  const amped_cpd_options *how;
  amped_solver_result *result;
  double tol;
  amped_count_model model;
  amped_factor_history *history;
  double *numbers;
  double *summed;        /* [2 ncomps + SUMMED] */
  double *ratio;         /* [ncomps] workspace of a step */
  amped_ratio_sums sums; /* from the last mode's ratios: this rank's, then all ranks' */
  double violation;      /* largest of this rank since the sweep began */
  double worst;          /* the largest over all ranks, for the last sweep or the final model */
  uint64_t raised;       /* entries in this sweep, of all ranks */
  bool raises, measures; /* for the current sweep */
  int last;              /* mode whose ratios have sums; -1: none */
  double beta;           /* step of the current sweep; 0: none */
  bool refused;
  amped_status own; /* this rank's first failure on which the ranks have not agreed yet */
  bool failed;      /* the ranks have agreed on a failure */
} poisson;

/* The numbers, the arrays after them, and the last sweep's violation. */
static uint64_t number_count(const amped_plan *plan) {
  return ARRAYS + (2 * (uint64_t)plan->order + 1) * (uint64_t)plan->ncomps + 1;
}

static double *last_violation(const poisson *p) {
  return p->numbers + number_count(p->context->plan) - 1;
}

static double *weights_before(const poisson *p) {
  return p->numbers + ARRAYS;
}

static double *sums_before(const poisson *p) {
  return weights_before(p) + p->context->plan->ncomps;
}

static uint64_t sum_count(const poisson *p) {
  return (uint64_t)p->context->plan->order * (uint64_t)p->context->plan->ncomps;
}

static const amped_factor_history_ops *history_of(const poisson *p) {
  return p->context->worker->backend->factor_histories;
}

static const amped_factor_ops *factors_of(const poisson *p) {
  return p->context->worker->backend->factors;
}

static const amped_ratio_ops *ratios_of(const poisson *p) {
  return p->context->worker->format->ratio;
}

/* --- life ------------------------------------------------------------------------------------- */

static amped_buffers buffers(poisson *p, const amped_plan *plan) {
  amped_buffers b = {.what = what};
  const uint64_t n = (uint64_t)plan->ncomps;
  AMPED_BUFFER(&b, ZEROED, p->numbers, number_count(plan));
  AMPED_BUFFER(&b, ZEROED, p->summed, 2 * n + SUMMED);
  AMPED_BUFFER(&b, HOST, p->ratio, n);
  return b;
}

void amped_cpd_poisson_require(const amped_worker *worker, const amped_plan *plan,
                               const amped_cpd_options *how, uint64_t *device_bytes,
                               uint64_t *host_bytes) {
  poisson none = {.last = -1};
  (void)how;
  amped_buffers_require(buffers(&none, plan), device_bytes, host_bytes);
  amped_buffers_require(amped_count_model_buffers(&none.model, plan), device_bytes, host_bytes);
  worker->backend->factor_histories->require(worker->device, plan, device_bytes, host_bytes);
  if (worker->format->ratio != NULL)
    worker->format->ratio->require(worker->device, plan, device_bytes, host_bytes);
}

static amped_status allocate(poisson *p) {
  const amped_context *context = p->context;
  AMPED_TRY(amped_buffers_allocate(buffers(p, context->plan)));
  AMPED_TRY(amped_buffers_allocate(amped_count_model_buffers(&p->model, context->plan)));
  p->model.plan = context->plan;
  p->model.weights = p->result->weights;
  p->model.sums = sums_before(p) + sum_count(p);
  AMPED_TRY(ratios_of(p)->prepare(context->worker->tensor));
  return history_of(p)->create(context->worker->device, context->worker->factors, context->plan,
                               &p->history);
}

static void release(poisson *p) {
  history_of(p)->destroy(p->history);
  amped_buffers_free(amped_count_model_buffers(&p->model, p->context->plan));
  amped_buffers_free(buffers(p, p->context->plan));
}

/* --- the update of a mode --------------------------------------------------------------------- */

static amped_status begin_ratios(void *self, int mode) {
  poisson *p = self;
  const amped_ratio ratio = amped_count_model_ratio(&p->model, mode == p->last);
  return ratios_of(p)->begin(p->context->worker->tensor, mode, &ratio);
}

static amped_status wait_ratios(void *self, int mode, int part, amped_mttkrp_times *times) {
  poisson *p = self;
  return ratios_of(p)->wait(p->context->worker->tensor, mode, part, times, &p->sums);
}

static amped_status reduce_ratios(void *self, int mode) {
  const poisson *p = self;
  return amped_exchange_reduce(p->context->exchange, mode);
}

static amped_mode_work work_of(poisson *p) {
  return (amped_mode_work){
      .begin = begin_ratios, .wait = wait_ratios, .reduce = reduce_ratios, .self = p};
}

static void clear_sums(poisson *p) {
  memset(p->summed, 0, (2 * (uint64_t)p->context->plan->ncomps + SUMMED) * sizeof *p->summed);
  p->sums = (amped_ratio_sums){.values = 0.0};
}

/* Multiply rows, and add up their columns. */
static amped_status make_rows(void *self, int mode, uint64_t first, uint64_t end) {
  poisson *p = self;
  const uint64_t n = (uint64_t)p->context->plan->ncomps;
  const amped_row_product product = amped_count_model_product(&p->model, p->raises, p->measures);
  amped_row_product_sums sums = {
      .sums = p->summed, .squares = p->summed + n, .violation = p->violation};
  amped_trace_begin(AMPED_PHASE_SOLVE, mode);
  AMPED_TRY(
      factors_of(p)->multiply(p->context->worker->factors, mode, first, end, &product, &sums));
  p->violation = sums.violation;
  p->summed[2 * n + RAISES] += (double)sums.raised;
  amped_trace_end();
  return AMPED_OK;
}

/* Collective. Sum over ranks what the update of mode added up. status: this rank's own so far. The
 * returned status is agreed. */
static amped_status sum_over_ranks(poisson *p, int mode, amped_status status) {
  const int n = p->context->plan->ncomps;
  double *const more = p->summed + 2 * n;
  amped_trace_begin(AMPED_PHASE_WAIT, mode);
  more[VALUES] = p->sums.values;
  more[LOGS] = p->sums.logs;
  more[NEGATIVE] = p->sums.negative;
  more[FRACTIONS] = p->sums.fractions;
  more[LOW] = p->sums.low;
  status = amped_comm_sum_agreed(p->context->comm, status, p->summed, 2 * n + SUMMED);
  p->sums = (amped_ratio_sums){.values = more[VALUES],
                               .logs = more[LOGS],
                               .negative = more[NEGATIVE],
                               .fractions = more[FRACTIONS],
                               .low = more[LOW]};
  p->failed = status != AMPED_OK;
  amped_trace_end();
  return status;
}

/* Take the new columns of mode, and scale them, in `rows` rows from `position` on. The status is
 * this rank's own. */
static amped_status take_columns(poisson *p, int mode, uint64_t position, uint64_t rows,
                                 bool weighs) {
  const uint64_t n = (uint64_t)p->context->plan->ncomps;
  amped_status status = AMPED_OK;
  amped_trace_begin(AMPED_PHASE_NORMALISE, mode);
  if (amped_count_model_take(&p->model, mode, p->summed, p->summed + n, weighs))
    status =
        factors_of(p)->scale(p->context->worker->factors, mode, position, rows, p->model.scale);
  amped_trace_end();
  return status;
}

static amped_status finish_mode(void *self, int mode, bool arrived, amped_status status) {
  poisson *p = self;
  const amped_plan *plan = p->context->plan;
  const uint64_t block = plan->modes[mode].rows.block_rows;
  AMPED_TRY(sum_over_ranks(p, mode, status));
  if (mode == p->last)
    p->numbers[DEVIANCE] = amped_count_model_deviance(&p->model, &p->sums);
  p->raised += (uint64_t)p->summed[2 * plan->ncomps + RAISES];
  if (arrived)
    p->own = take_columns(p, mode, 0, amped_plan_factor_rows(plan, mode), true);
  else
    p->own = take_columns(p, mode, (uint64_t)plan->rank * block, block, true);
  return AMPED_OK;
}

/* Collective. The status is agreed if p->failed, else this rank's own. */
static amped_status update_mode(poisson *p, int mode, amped_mode_times *times) {
  const amped_row_update update = {
      .work = work_of(p), .rows = make_rows, .finish = finish_mode, .self = p};
  clear_sums(p);
  amped_count_model_prepare(&p->model, mode);
  return amped_mode_update(p->context, mode, p->own, &update, times);
}

static amped_sweep_mode since(const amped_mode_times *t, const amped_mode_times *before,
                              double seconds) {
  return (amped_sweep_mode){.mttkrp = t->mttkrp - before->mttkrp,
                            .compute = t->compute - before->compute,
                            .copy = t->copy - before->copy,
                            .exchange = t->exchange - before->exchange,
                            .total = seconds};
}

/* Collective, as update_mode. Update all modes. modes: times of each; NULL: not asked for. */
static amped_status update_modes(poisson *p, amped_mode_times *t, amped_sweep_mode *modes) {
  p->raised = 0;
  p->violation = 0.0;
  p->measures = false;
  p->last = p->context->plan->order - 1;
  for (int m = 0; m <= p->last; m++) {
    const amped_mode_times before = *t;
    const double began = amped_time();
    const amped_status status = update_mode(p, m, t);
    if (p->failed)
      return status;
    AMPED_NEXT(p->own, status);
    if (modes != NULL)
      modes[m] = since(t, &before, amped_time() - began);
  }
  return AMPED_OK;
}

/* --- measurements ----------------------------------------------------------------------------- */

/* Collective; the status is agreed. Ratios of mode at the current model, whose sums are asked for;
 * the rows do not change, and p->violation is raised by theirs. */
static amped_status measure_mode(poisson *p, int mode, amped_mode_times *times) {
  const amped_mode_work work = work_of(p);
  amped_mttkrp_times t = {0.0, 0.0};
  const double began = amped_time();
  clear_sums(p);
  amped_count_model_prepare(&p->model, mode);
  p->measures = true;
  p->last = mode;
  amped_status status = p->own;
  p->own = AMPED_OK;
  AMPED_NEXT(status, work.begin(p, mode));
  if (status == AMPED_OK)
    status = work.wait(p, mode, AMPED_MAX_PARTS, &t);
  AMPED_ALSO(status, work.reduce(p, mode));
  AMPED_NEXT(status, make_rows(p, mode, 0, p->context->plan->modes[mode].rows.block_rows));
  times->mttkrp += amped_time() - began;
  times->copy += t.copy_sec;
  times->compute += t.compute_sec;
  AMPED_TRY(sum_over_ranks(p, mode, status));
  p->numbers[DEVIANCE] = amped_count_model_deviance(&p->model, &p->sums);
  return AMPED_OK;
}

/* The largest violation over ranks. Collective. */
static double worst_violation(const poisson *p) {
  return amped_comm_spread(p->context->comm, p->violation).max;
}

/* The largest logarithm in the sum over nonzeros, about. A column in memory has a root mean square
 * of about 1, so its sum lies between the dimension and the square root of the dimension. The ratio
 * of a value to a product in memory is about the sum of all values divided by these sums. The
 * estimate depends on the tensor only, so that all sweeps compare with the same number. */
static double largest_logarithm(const poisson *p) {
  const amped_plan *plan = p->context->plan;
  const double total = log(p->model.total);
  double cells = 0.0;
  for (int m = 0; m < plan->order; m++)
    cells += log((double)plan->dims[m]);
  return fmax(fabs(total - cells), fabs(total - cells / 2.0));
}

static double rounding_of(const poisson *p) {
  const amped_plan *plan = p->context->plan;
  const double unit = plan->value_type == AMPED_F32 ? 0x1p-24 : 0x1p-52;
  const double sums = (SUM_ROUNDINGS + sqrt((double)plan->nnz)) * (1.0 + largest_logarithm(p));
  return p->model.total * fmax((plan->order + RATIO_ROUNDINGS) * unit, sums * 0x1p-52);
}

/* Are the modes independent of each other, up to rounding? Nothing is then left to explain. */
static bool are_independent(const poisson *p) {
  return p->numbers[INDEPENDENT] < fmax(LEAST * rounding_of(p), LEAST_SHARE * p->model.total);
}

/* The number to which deviances are compared: the deviance of independent modes; if that is only
 * rounding, the sum of all values. */
static double whole_of(const poisson *p) {
  return are_independent(p) ? p->model.total : p->numbers[INDEPENDENT];
}

/* The share that the model explains: at most 1, since rounding may take a deviance below 0. NaN if
 * the deviance is. */
static double explained(const poisson *p) {
  const double d = p->numbers[DEVIANCE];
  return d < 0.0 ? 1.0 : 1.0 - d / whole_of(p);
}

/* --- steps ------------------------------------------------------------------------------------ */

static amped_status step_all(poisson *p, double now, double then) {
  const amped_plan *plan = p->context->plan;
  double *const coefficients = p->summed; /* unused between updates */
  for (int r = 0; r < plan->ncomps; r++) {
    coefficients[r] = now;
    coefficients[plan->ncomps + r] = then;
  }
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(history_of(p)->step(p->history, m, coefficients, coefficients + plan->ncomps, false));
  return AMPED_OK;
}

/* Save the weights and sums of the current model: it becomes the model before. */
static void keep_numbers(poisson *p) {
  memcpy(weights_before(p), p->model.weights,
         (size_t)p->context->plan->ncomps * sizeof *p->model.weights);
  memcpy(sums_before(p), p->model.sums, sum_count(p) * sizeof *p->model.sums);
}

/* Collective; the status is agreed. Find the columns' sums and scales of factors that are not from
 * an update. weighs: multiply the weights by the columns' growth. */
static amped_status take_factors(poisson *p, bool weighs) {
  const amped_plan *plan = p->context->plan;
  amped_status status = p->own;
  p->own = AMPED_OK;
  p->measures = true;
  p->raises = false;
  for (int m = 0; m < plan->order; m++) {
    clear_sums(p);
    amped_count_model_prepare(&p->model, m);
    AMPED_NEXT(status, make_rows(p, m, 0, plan->modes[m].rows.block_rows));
    AMPED_TRY(sum_over_ranks(p, m, status));
    status = take_columns(p, m, 0, amped_plan_factor_rows(plan, m), weighs);
  }
  return amped_comm_agree(p->context->comm, status);
}

/* Nesterov's step: beta = (t - 1) / t', t' = (1 + sqrt(1 + 4 t^2)) / 2. t begins at 1, and again
 * after a refusal. */
static double next_beta(poisson *p, uint64_t sweep) {
  const double t = p->numbers[PACE] >= 1.0 ? p->numbers[PACE] : 1.0;
  const double next = (1.0 + sqrt(1.0 + 4.0 * t * t)) / 2.0;
  if (p->how->accelerate != AMPED_ACCELERATE_MOMENTUM || sweep < 2)
    return 0.0;
  p->numbers[PACE] = next;
  return (t - 1.0) / next;
}

/* Collective; the status is agreed. Step in the logarithm. The model before is then the one from
 * which the step was made. */
static amped_status extrapolate(poisson *p) {
  const amped_plan *plan = p->context->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
  for (int m = 0; m < plan->order; m++) {
    const double *now = p->model.sums + (uint64_t)m * n;
    const double *then = sums_before(p) + (uint64_t)m * n;
    for (uint64_t r = 0; r < n; r++)
      p->ratio[r] = now[r] > 0.0 && then[r] > 0.0 ? then[r] / now[r] : 1.0;
    AMPED_NEXT(p->own, history_of(p)->power(p->history, m, p->ratio, p->beta));
  }
  memcpy(p->ratio, weights_before(p), n * sizeof *p->ratio);
  keep_numbers(p);
  for (uint64_t r = 0; r < n; r++)
    p->model.weights[r] = amped_powered(p->model.weights[r], p->ratio[r], 1.0, p->beta);
  amped_count_model_normalise(&p->model);
  return take_factors(p, false);
}

/* Collective. Begin a sweep: step from the current model, or only save it. The status is agreed if
 * there is a step; else this rank's own failure waits in p->own. */
static amped_status begin_sweep(poisson *p, uint64_t number) {
  p->beta = p->numbers[LAST_REFUSED] > 0.0 ? 0.0 : next_beta(p, number);
  p->refused = false;
  if (p->beta > 0.0)
    AMPED_TRY(extrapolate(p));
  else {
    keep_numbers(p);
    AMPED_NEXT(p->own, step_all(p, 1.0, 0.0));
  }
  p->raises = !(p->numbers[LAST_REFUSED] > 0.0 || (double)number < p->numbers[NEXT_RAISES]);
  return AMPED_OK;
}

/* Make the model before the current one again; it also stays the model before. */
static amped_status take_back(poisson *p) {
  AMPED_TRY(step_all(p, 0.0, 1.0));
  AMPED_TRY(step_all(p, 1.0, 0.0));
  memcpy(p->model.weights, weights_before(p),
         (size_t)p->context->plan->ncomps * sizeof *p->model.weights);
  memcpy(p->model.sums, sums_before(p), sum_count(p) * sizeof *p->model.sums);
  return AMPED_OK;
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Collective. Accept the sweep, or take it back. last: the deviance of the sweep before; NaN: there
 * is none. The status is this rank's own. */
static amped_status judge(poisson *p, uint64_t number, double last) {
  const bool risked = p->beta > 0.0 || p->raised > 0;
  p->refused = risked && !isnan(last) && !(p->numbers[DEVIANCE] <= last);
  p->numbers[LAST_REFUSED] = p->refused ? 1.0 : 0.0;
  if (p->beta > 0.0)
    p->numbers[p->refused ? REFUSED : ACCEPTED] += 1.0;
  if (!p->refused)
    return AMPED_OK;
  p->numbers[DEVIANCE] = last;
  p->numbers[PACE] = 1.0;
  if (p->raised > 0) {
    p->numbers[PAUSE] = fmin(fmax(2.0 * p->numbers[PAUSE], 1.0), LONGEST_PAUSE);
    p->numbers[NEXT_RAISES] = (double)number + 1.0 + p->numbers[PAUSE];
  }
  return take_back(p);
}

static void tell_sweep(const poisson *p, amped_sweep *s) {
  amped_fact(&s->facts, "deviance", amped_json_number(p->numbers[DEVIANCE]), "  deviance %.6g",
             p->numbers[DEVIANCE]);
  amped_fact_json(&s->facts, "kkt", amped_json_number(p->worst));
  amped_fact_json(&s->facts, "beta", amped_json_number(p->beta));
  amped_fact_json(&s->facts, "raised", amped_json_count(p->raised));
  amped_fact_json(&s->facts, "refused", json_boolean(p->refused));
  if (p->refused)
    amped_fact_words(&s->facts, " taken back");
}

static amped_status sweep(void *self, amped_sweep *s) {
  poisson *p = self;
  const double last = s->number > 1 ? p->numbers[DEVIANCE] : (double)NAN;
  amped_mode_times t = {0.0, 0.0, 0.0, 0.0, 0.0};
  const double began = amped_time();
  AMPED_TRY(begin_sweep(p, s->number));
  t.solve += amped_time() - began;
  AMPED_TRY(update_modes(p, &t, s->modes));
  p->worst = *last_violation(p) = worst_violation(p);
  /* Entries that the last mode raised are not in its ratios. */
  if (p->summed[2 * p->context->plan->ncomps + RAISES] > 0.0)
    AMPED_TRY(measure_mode(p, p->context->plan->order - 1, &t));
  const double judged = amped_time();
  AMPED_NEXT(p->own, judge(p, s->number, last));
  AMPED_NEXT(p->own, amped_fit_check("deviance", p->numbers[DEVIANCE], "sweep", s->number));
  s->value = explained(p);
  s->noise = rounding_of(p) / whole_of(p);
  tell_sweep(p, s);
  t.solve += amped_time() - judged;
  s->times = (amped_sweep_times){t.mttkrp, t.copy, t.solve, t.exchange, amped_time() - began};
  const amped_status status = p->own;
  p->own = AMPED_OK;
  return status;
}

static const char *stop(const void *self) {
  const poisson *p = self;
  if (p->result->sweeps == 0 || p->numbers[LAST_REFUSED] > 0.0)
    return NULL;
  if (p->how->kkt > 0.0 && p->worst < p->how->kkt)
    return "kkt";
  return amped_solver_result_has_converged(p->result, p->tol) ? "tolerance" : NULL;
}

static amped_status change_places(void *self) {
  return step_all(self, 0.0, 1.0);
}

static void view(const void *self, amped_solver_state *state) {
  poisson *p = (poisson *)self;
  state->weights = p->result->weights;
  state->numbers = p->numbers;
  state->number_count = number_count(p->context->plan);
  if (p->how->accelerate != AMPED_ACCELERATE_NONE) {
    state->change_places = change_places;
    state->change_places_of = p;
  }
}

/* Measure the final model: deviance, and the violation of every mode. */
static amped_status finish(void *self, double *value) {
  poisson *p = self;
  amped_mode_times t = {0.0, 0.0, 0.0, 0.0, 0.0};
  p->violation = 0.0;
  for (int m = 0; m < p->context->plan->order; m++)
    AMPED_TRY(measure_mode(p, m, &t));
  p->worst = worst_violation(p);
  *value = explained(p);
  return amped_fit_check("deviance", p->numbers[DEVIANCE], "sweep", p->result->sweeps);
}

static void tell(const void *self, amped_facts *facts) {
  const poisson *p = self;
  const bool is_float = p->context->plan->value_type == AMPED_F32;
  const double d = fmax(p->numbers[DEVIANCE], 0.0); /* rounding may take it below 0 */
  const double all = p->numbers[INDEPENDENT];
  if (p->how->accelerate != AMPED_ACCELERATE_NONE)
    amped_outcome_steps(facts, amped_accelerate_name(p->how->accelerate), p->numbers[ACCEPTED],
                        p->numbers[REFUSED]);
  const double noise = rounding_of(p);
  amped_fact(facts, "deviance", amped_json_number(d), "deviance %.8g", d);
  amped_fact(facts, "independent_deviance", amped_json_number(all), " (of independent modes %.8g)",
             all);
  amped_fact_json(facts, "deviance_noise", amped_json_number(noise));
  if (noise > TOLD_NOISE * d)
    amped_fact_words(facts, ", give or take %.2g: the rounding of the largest values%s", noise,
                     is_float ? " (--precision=double has less)" : "");
  amped_fact(facts, "kkt", amped_json_number(p->worst), "; largest violation of optimality %.2e\n",
             p->worst);
  amped_fact_json(facts, "low", amped_json_count((uint64_t)p->sums.low));
  if (p->sums.low > 0.0)
    amped_warn(
        "at %.0f nonzeros the model is below the least number that %s holds beside the largest "
        "values; the deviance counts that number there, and is too low; %s",
        p->sums.low, is_float ? "float" : "double",
        is_float ? "use --precision=double"
                 : "use more components, or leave out the largest values");
  amped_fact_json(facts, "total", amped_json_number(p->model.total));
}

static const amped_solver plain = {.metric = "explained",
                                   .facts_name = "step",
                                   .has_numbers = true,
                                   .sweep = sweep,
                                   .view = view,
                                   .stop = stop,
                                   .finish = finish,
                                   .tell = tell};

static const amped_solver accelerated = {.metric = "explained",
                                         .facts_name = "step",
                                         .has_numbers = true,
                                         .keeps_second = true,
                                         .sweep = sweep,
                                         .view = view,
                                         .stop = stop,
                                         .finish = finish,
                                         .tell = tell};

const amped_solver *amped_cpd_poisson_solver(const amped_cpd_options *how) {
  return how->accelerate == AMPED_ACCELERATE_NONE ? &plain : &accelerated;
}

/* --- beginning -------------------------------------------------------------------------------- */

/* Check the values, whose sums are in p->sums. The same on every rank. */
static amped_status check_values(const poisson *p) {
  if (p->sums.negative > 0.0)
    return amped_error(AMPED_BAD_INPUT, p->how->input,
                       "%.0f of its values are below 0, and --loss=poisson is for counts; "
                       "leave it out, or remove these values",
                       p->sums.negative);
  if (!(p->sums.values > 0.0) || !isfinite(p->sums.values))
    return amped_error(AMPED_BAD_INPUT, p->how->input,
                       "its values sum to %g, and --loss=poisson is for counts of events; "
                       "leave it out",
                       p->sums.values);
  if (p->sums.fractions > 0.0 && !*p->how->values_reported)
    amped_say(
        "note: %.0f of the values are not whole numbers; --loss=poisson treats them as counts "
        "(a quasi-likelihood)",
        p->sums.fractions);
  return AMPED_OK;
}

/* Collective, for the first start only. Report what the model of independent modes shows. */
static void tell_independent(const poisson *p) {
  const bool is_float = p->context->plan->value_type == AMPED_F32;
  *p->how->values_reported = true;
  if (are_independent(p))
    amped_say("note: the modes are independent of each other, up to rounding in %s: one component "
              "describes the values. explained is therefore 1 - deviance / (sum of the values)",
              is_float ? "float" : "double");
  if (worst_violation(p) > LOST_VALUES || p->sums.low > 0.0)
    amped_warn("the largest values are so large that %s has no digits for the model of rare "
               "labels: their shares and the deviance are wrong; %s",
               is_float ? "float" : "double",
               is_float ? "use --precision=double" : "leave out the largest values");
}

static void make_ones(const void *self, int mode, uint64_t index, double *row) {
  const int *ncomps = self;
  (void)mode;
  (void)index;
  for (int r = 0; r < *ncomps; r++)
    row[r] = 1.0;
}

/* Collective; the status is agreed. The deviance of independent modes: a sweep from equal entries
 * makes that model. The factors are then the model's. */
static amped_status find_independent(poisson *p) {
  const amped_context *context = p->context;
  const int n = context->plan->ncomps;
  amped_mode_times t = {0.0, 0.0, 0.0, 0.0, 0.0};
  AMPED_TRY(amped_factors_make(context, make_ones, &n));
  for (int r = 0; r < n; r++)
    p->model.weights[r] = 1.0;
  for (uint64_t i = 0; i < sum_count(p); i++)
    p->model.sums[i] = 1.0;
  p->model.total = 1.0;
  AMPED_TRY(take_factors(p, false));
  AMPED_TRY(measure_mode(p, 0, &t));
  AMPED_TRY(check_values(p));
  p->model.total = p->numbers[TOTAL] = p->sums.values;
  amped_count_model_normalise(&p->model);
  p->raises = false;
  AMPED_TRY(update_modes(p, &t, NULL));
  p->violation = 0.0;
  /* The deviance comes from mode 0, for all starts. Violations of the other modes are only for a
   * warning, which is given once. */
  for (int m = *p->how->values_reported ? 0 : context->plan->order - 1; m >= 0; m--)
    AMPED_TRY(measure_mode(p, m, &t));
  p->numbers[INDEPENDENT] = fmax(p->numbers[DEVIANCE], 0.0);
  if (!*p->how->values_reported)
    tell_independent(p);
  return AMPED_OK;
}

/* Warn of components of the start that are zero, because no update changes them: products with 0
 * stay 0. Refuse a start that has no others. The same on every rank. */
static amped_status check_zeros(const poisson *p) {
  const int n = p->context->plan->ncomps;
  int zeros = 0;
  for (int r = 0; r < n; r++)
    zeros += !(p->model.weights[r] > 0.0);
  if (zeros == n)
    return amped_error(AMPED_BAD_INPUT, p->how->start_file,
                       "all of its components are zero, and would stay zero; begin with another "
                       "model, or without --init");
  if (zeros > 0)
    amped_warn("%d of %d components of the start are zero and stay zero; begin with another model, "
               "or without --init",
               zeros, n);
  return AMPED_OK;
}

/* Collective; the status is agreed. Set the weights of the start: of random factors all equal, of a
 * model its own, and the sums of its columns. */
static amped_status take_start(poisson *p) {
  for (int r = 0; r < p->context->plan->ncomps; r++)
    p->model.weights[r] = 1.0;
  for (uint64_t i = 0; i < sum_count(p); i++)
    p->model.sums[i] = 1.0;
  AMPED_TRY(take_factors(p, p->how->start_file != NULL));
  amped_count_model_normalise(&p->model);
  return check_zeros(p);
}

/* Collective; the status is agreed. */
static amped_status begin_new(poisson *p) {
  const amped_comm *comm = p->context->comm;
  AMPED_TRY(amped_comm_agree(comm, step_all(p, 0.0, 1.0))); /* put the start aside */
  AMPED_TRY(find_independent(p));
  AMPED_NEXT(p->own, step_all(p, 0.0, 1.0));
  AMPED_TRY(amped_comm_agree(comm, p->own));
  return take_start(p);
}

/* Check the numbers, which come from a file. A file of an earlier version ends before the
 * violation. */
static amped_status check_numbers(const poisson *p, const amped_solver_state *start) {
  const uint64_t count = number_count(p->context->plan);
  bool wrong = start->number_count != count && start->number_count != count - 1;
  for (uint64_t i = 0; i < start->number_count && !wrong; i++)
    wrong = !isfinite(start->numbers[i]) || (i != DEVIANCE && start->numbers[i] < 0.0);
  wrong = wrong || !(start->numbers[ACCEPTED] <= MOST_SWEEPS) ||
          !(start->numbers[REFUSED] <= MOST_SWEEPS) || !(start->numbers[TOTAL] > 0.0);
  return wrong ? amped_error(AMPED_BAD_INPUT, start->file,
                             "does not fit --loss=poisson; name another file with --checkpoint")
               : AMPED_OK;
}

/* Collective; the status is agreed. */
static amped_status resume(poisson *p, const amped_solver_state *start,
                           const amped_saved_factors *before) {
  amped_status status = check_numbers(p, start);
  AMPED_TRY(amped_comm_agree(p->context->comm, status));
  *last_violation(p) = DBL_MAX; /* unless the file has it */
  memcpy(p->numbers, start->numbers, start->number_count * sizeof *p->numbers);
  p->worst = *last_violation(p);
  p->model.total = p->numbers[TOTAL];
  if (p->how->accelerate == AMPED_ACCELERATE_NONE)
    return AMPED_OK;
  status = step_all(p, 1.0, 0.0);
  AMPED_ALSO(status, amped_saved_factors_restore(p->context, before));
  AMPED_NEXT(status, step_all(p, 0.0, 1.0));
  return amped_comm_agree(p->context->comm, status);
}

amped_status amped_cpd_poisson(const amped_context *context, const amped_cpd_options *how,
                               const amped_saved_factors *before,
                               const amped_iterate_options *options, amped_solver_result *result) {
  const amped_solver *solver = amped_cpd_poisson_solver(how);
  poisson p = {.context = context, .how = how, .result = result, .tol = options->tol, .last = -1};
  amped_status status = amped_solver_result_create(context, solver, options, result);
  if (status == AMPED_OK)
    status = allocate(&p);
  status = amped_comm_agree(context->comm, status);
  if (status == AMPED_OK)
    status = options->start != NULL ? resume(&p, options->start, before) : begin_new(&p);
  if (status == AMPED_OK)
    status = amped_iterate(context, solver, &p, options, result);
  release(&p);
  if (status != AMPED_OK)
    amped_solver_result_free(result);
  return status;
}
