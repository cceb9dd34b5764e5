/* Acceleration: steps along the last change of the model, their tests, and their refusal. */
#include "solver/cpd/acceleration.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/buffers.h"
#include "base/mem.h"
#include "base/trace.h"
#include "solver/outcome.h"
#include "solver/unit_model.h"
#include "tensor/format.h"

/* Numbers of a checkpoint; the weights of x' follow. */
enum { LENGTH, ACCEPTED, REFUSED, LAST_REFUSED, WEIGHTS };

/* First sweep that can begin with a step: x and x' both exist by then. */
#define FIRST 3

/* More sweeps than any run makes. */
#define MOST_SWEEPS 0x1p53

struct amped_acceleration {
  const amped_context *context;
  amped_accelerate how;
  amped_acceleration_model model;
  amped_factor_history *history;
  double *numbers;                /* [WEIGHTS + ncomps] */
  double *grams[AMPED_MAX_ORDER]; /* grams of x, while y is the current model */
  double *now, *then, *lengths;   /* [ncomps] */
  double *v, *zero, *identity;    /* [ncomps][ncomps] */
  double beta;                    /* 0: no step */
  bool refused;
  uint64_t repeated;
};

static const char what[] = "an accelerated step";

static uint64_t number_count(const amped_plan *plan) {
  return WEIGHTS + (uint64_t)plan->ncomps;
}

static const amped_factor_history_ops *ops_of(const amped_acceleration *a) {
  return a->context->worker->backend->factor_histories;
}

static double *history_weights(amped_acceleration *a) {
  return a->numbers + WEIGHTS;
}

const char *amped_accelerate_name(amped_accelerate how) {
  return how == AMPED_ACCELERATE_LINESEARCH ? "linesearch"
         : how == AMPED_ACCELERATE_MOMENTUM ? "momentum"
                                            : NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

static amped_buffers buffers(amped_acceleration *a, const amped_plan *plan) {
  amped_buffers b = {.what = what};
  const uint64_t n = (uint64_t)plan->ncomps;
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER(&b, HOST, a->grams[m], n * n);
  AMPED_BUFFER(&b, ZEROED, a->numbers, number_count(plan));
  AMPED_BUFFER(&b, HOST, a->now, n);
  AMPED_BUFFER(&b, HOST, a->then, n);
  AMPED_BUFFER(&b, HOST, a->lengths, n);
  AMPED_BUFFER(&b, HOST, a->v, n * n);
  AMPED_BUFFER(&b, ZEROED, a->zero, n * n);
  AMPED_BUFFER(&b, ZEROED, a->identity, n * n);
  return b;
}

void amped_acceleration_require(const amped_worker *worker, const amped_plan *plan,
                                uint64_t *device_bytes, uint64_t *host_bytes) {
  worker->backend->factor_histories->require(worker->device, plan, device_bytes, host_bytes);
  amped_buffers_require(buffers(&(amped_acceleration){0}, plan), device_bytes, host_bytes);
}

void amped_acceleration_destroy(amped_acceleration *a) {
  if (a == NULL)
    return;
  ops_of(a)->destroy(a->history);
  amped_buffers_free(buffers(a, a->context->plan));
  amped_free(a);
}

static amped_status allocate(amped_acceleration *a) {
  const amped_plan *plan = a->context->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
  AMPED_TRY(amped_buffers_allocate(buffers(a, plan)));
  for (uint64_t r = 0; r < n; r++)
    a->identity[r * n + r] = 1.0;
  return ops_of(a)->create(a->context->worker->device, a->context->worker->factors, plan,
                           &a->history);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Set mode's factor to y: column r becomes a->now[r] * current + a->then[r] * previous. */
static amped_status extrapolate(amped_acceleration *a, int mode) {
  return ops_of(a)->step(a->history, mode, a->now, a->then,
                         (a->model.nonnegative >> mode & 1) != 0);
}

/* Set the coefficients of all columns. */
static void set_both(amped_acceleration *a, double now, double then) {
  for (int r = 0; r < a->context->plan->ncomps; r++) {
    a->now[r] = now;
    a->then[r] = then;
  }
}

static amped_status step_all(amped_acceleration *a, double now, double then) {
  set_both(a, now, then);
  for (int i = 0; i < a->model.free.count; i++)
    AMPED_TRY(ops_of(a)->step(a->history, a->model.free.modes[i], a->now, a->then, false));
  return AMPED_OK;
}

/* Save the current model's grams, for the previous factors. */
static void keep_grams(amped_acceleration *a) {
  const amped_plan *plan = a->context->plan;
  const size_t n = (size_t)plan->ncomps;
  for (int m = 0; m < plan->order; m++)
    memcpy(a->grams[m], a->model.grams[m], n * n * sizeof(double));
}

static void keep_weights(amped_acceleration *a) {
  memcpy(history_weights(a), a->model.weights, (size_t)a->context->plan->ncomps * sizeof(double));
}

/* Collective. Make x the current model again; it also stays in the previous factors. */
static amped_status refuse(amped_acceleration *a) {
  const amped_plan *plan = a->context->plan;
  const size_t n = (size_t)plan->ncomps;
  AMPED_TRY(step_all(a, 0.0, 1.0));
  AMPED_TRY(step_all(a, 1.0, 0.0));
  memcpy(a->model.weights, history_weights(a), n * sizeof(double));
  for (int m = 0; m < plan->order; m++)
    memcpy(a->model.grams[m], a->grams[m], n * n * sizeof(double));
  a->refused = true;
  a->numbers[ACCEPTED]--;
  a->numbers[REFUSED]++;
  return AMPED_OK;
}

/* Collective; the status is agreed. *length = |x - x'|. */
static amped_status find_length(amped_acceleration *a, double *length) {
  const amped_plan *plan = a->context->plan;
  const int n = plan->ncomps;
  amped_status status = AMPED_OK;
  double sum = 0.0;
  memset(a->lengths, 0, (size_t)n * sizeof(double));
  for (int i = 0; i < a->model.free.count; i++) {
    for (int r = 0; r < n; r++) {
      a->now[r] = i == 0 ? a->model.weights[r] : 1.0;
      a->then[r] = i == 0 ? history_weights(a)[r] : 1.0;
    }
    AMPED_NEXT(status, ops_of(a)->distance(a->history, a->model.free.modes[i], a->now, a->then,
                                           a->lengths));
  }
  for (int r = 0; r < n; r++)
    sum += a->lengths[r];
  status = amped_comm_sum_agreed(a->context->comm, status, &sum, 1);
  *length = sqrt(sum);
  return status;
}

/* Length of the step. 0: no step, before x' comes from a sweep, after a refusal, and if sweeps
 * change nothing. The first ratio is unknown and counts as 1. */
static double beta_of(amped_acceleration *a, uint64_t sweep, double length) {
  const double before = a->numbers[LENGTH];
  if (sweep < FIRST || !(length > 0.0) || !isfinite(length))
    return 0.0;
  a->numbers[LENGTH] = length;
  if (a->how == AMPED_ACCELERATE_LINESEARCH)
    return cbrt((double)sweep) - 1.0;
  return before > 0.0 ? fmin(1.0, length / before) : 1.0;
}

/* Collective. Make the free modes of y except the first; a->lengths = product of their columns'
 * lengths. The status is this rank's own, or agreed if *agreed becomes true. */
static amped_status extrapolate_directions(amped_acceleration *a, bool *agreed) {
  const amped_plan *plan = a->context->plan;
  amped_status status = AMPED_OK;
  for (int r = 0; r < plan->ncomps; r++)
    a->lengths[r] = 1.0;
  for (int i = 1; i < a->model.free.count; i++) {
    const int m = a->model.free.modes[i];
    set_both(a, 1.0 + a->beta, -a->beta);
    AMPED_NEXT(status, extrapolate(a, m));
    status = amped_unit_gram(a->context, m, status, a->model.grams[m]);
    *agreed = status != AMPED_OK;
    AMPED_TRY(status);
    status = amped_unit_columns(a->context, m, 0, amped_plan_factor_rows(plan, m),
                                a->model.grams[m], a->now, a->then);
    for (int r = 0; r < plan->ncomps; r++)
      a->lengths[r] *= a->now[r];
  }
  return status;
}

/* Collective. Make the first free mode of y, with entries about as large as in unit columns. All
 * its components get the same weight. status: this rank's own so far. The returned status is
 * agreed. */
static amped_status extrapolate_power(amped_acceleration *a, amped_status status) {
  const int n = a->context->plan->ncomps;
  const int first = a->model.free.modes[0];
  double weight = 0.0;
  for (int r = 0; r < n; r++) {
    a->now[r] = (1.0 + a->beta) * a->model.weights[r] * a->lengths[r];
    a->then[r] = -a->beta * history_weights(a)[r] * a->lengths[r];
    weight = fmax(weight, a->now[r] - a->then[r]);
  }
  keep_weights(a);
  for (int r = 0; r < n; r++) {
    a->now[r] /= weight > 0.0 ? weight : 1.0;
    a->then[r] /= weight > 0.0 ? weight : 1.0;
    a->model.weights[r] = weight;
  }
  AMPED_NEXT(status, extrapolate(a, first));
  return amped_unit_gram(a->context, first, status, a->model.grams[first]);
}

amped_status amped_acceleration_propose(amped_acceleration *a, uint64_t sweep) {
  double length = 0.0;
  bool agreed = false;
  amped_trace_begin(AMPED_PHASE_SOLVE, 0);
  a->beta = 0.0;
  AMPED_TRY(find_length(a, &length));
  a->beta = beta_of(a, sweep, length);
  a->refused = false;
  a->numbers[LAST_REFUSED] = 0.0;
  keep_grams(a);
  if (a->beta > 0.0) {
    const amped_status status = extrapolate_directions(a, &agreed);
    AMPED_TRY(agreed ? status : extrapolate_power(a, status));
    a->numbers[ACCEPTED]++;
  } else {
    AMPED_TRY(step_all(a, 1.0, 0.0));
    keep_weights(a);
  }
  amped_trace_end();
  return AMPED_OK;
}

/* --- acceptance ------------------------------------------------------------------------------- */

bool amped_acceleration_is_tested(const amped_acceleration *a) {
  return a->how == AMPED_ACCELERATE_LINESEARCH && a->beta > 0.0;
}

/* Collective; the status is agreed. *part = |X - y|^2 / |X|^2. Updating rows with zero and identity
 * leaves them unchanged, and sums their inner product with the output. */
static amped_status find_part(amped_acceleration *a, double *part) {
  const amped_context *context = a->context;
  const amped_plan *plan = context->plan;
  const amped_worker *worker = context->worker;
  const int first = a->model.free.modes[0];
  double sizes = 0.0;
  amped_row_sums sums = {a->v, 0.0};
  memset(a->v, 0, (size_t)plan->ncomps * (size_t)plan->ncomps * sizeof(double));
  const amped_status status = worker->backend->factors->solve(
      worker->factors, first, 0, plan->modes[first].rows.block_rows, a->zero, a->identity, &sums);
  AMPED_TRY(amped_comm_sum_agreed(context->comm, status, &sums.inner, 1));
  const double model = amped_unit_norm_squared(plan, a->model.weights,
                                               (const double *const *)a->model.grams, a->v, &sizes);
  *part =
      (plan->norm_squared + model - 2.0 * a->model.weights[0] * sums.inner) / plan->norm_squared;
  return AMPED_OK;
}

amped_status amped_acceleration_test(amped_acceleration *a, double part, bool *is_refused) {
  double found = 0.0;
  amped_trace_begin(AMPED_PHASE_FIT, AMPED_NO_NUMBER);
  AMPED_TRY(find_part(a, &found));
  *is_refused = !(found <= part);
  if (*is_refused) {
    a->repeated++;
    AMPED_TRY(refuse(a));
  }
  amped_trace_end();
  return AMPED_OK;
}

amped_status amped_acceleration_judge(amped_acceleration *a, double last, double *value) {
  if (a->beta == 0.0 || a->refused || *value >= last)
    return AMPED_OK;
  *value = last;
  a->numbers[LAST_REFUSED] = 1.0;
  return refuse(a);
}

bool amped_acceleration_is_undone(const amped_acceleration *a) {
  return a->numbers[LAST_REFUSED] > 0.0;
}

/* --- facts ------------------------------------------------------------------------------------ */

void amped_acceleration_tell_step(const amped_acceleration *a, amped_facts *facts) {
  if (a->beta > 0.0)
    amped_fact_words(facts, "  step %.2f%s", a->beta, a->refused ? " refused" : "");
  amped_fact_json(facts, "beta", amped_json_number(a->beta));
  amped_fact_json(facts, "refused", json_boolean(a->refused));
}

void amped_acceleration_tell(const amped_acceleration *a, amped_facts *facts) {
  amped_outcome_steps(facts, amped_accelerate_name(a->how), a->numbers[ACCEPTED],
                      a->numbers[REFUSED]);
}

uint64_t amped_acceleration_repeated(const amped_acceleration *a) {
  return a->repeated;
}

static amped_status change_places(void *self) {
  return step_all(self, 0.0, 1.0);
}

void amped_acceleration_view(amped_acceleration *a, amped_solver_state *state) {
  state->numbers = a->numbers;
  state->number_count = number_count(a->context->plan);
  state->change_places = change_places;
  state->change_places_of = a;
}

/* --- beginning -------------------------------------------------------------------------------- */

/* Collective. Move x' of a checkpoint to the previous factors. The status is this rank's own. */
static amped_status resume(amped_acceleration *a, const amped_solver_state *start,
                           const amped_saved_factors *before) {
  amped_status status = step_all(a, 1.0, 0.0);
  AMPED_ALSO(status, amped_saved_factors_restore(a->context, before));
  AMPED_NEXT(status, step_all(a, 0.0, 1.0));
  memcpy(a->numbers, start->numbers, number_count(a->context->plan) * sizeof(double));
  return status;
}

/* Check the numbers, which come from a file. */
static amped_status check_numbers(const amped_acceleration *a, const amped_solver_state *start) {
  bool wrong = false;
  if (start == NULL)
    return AMPED_OK;
  wrong = start->number_count != number_count(a->context->plan);
  for (uint64_t i = 0; i < start->number_count && !wrong; i++)
    wrong = !(start->numbers[i] >= 0.0);
  wrong = wrong || !(start->numbers[ACCEPTED] <= MOST_SWEEPS) ||
          !(start->numbers[REFUSED] <= MOST_SWEEPS);
  if (!wrong)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, start->file,
                     "does not fit --accelerate=%s; name another file with --checkpoint",
                     amped_accelerate_name(a->how));
}

amped_status amped_acceleration_create(const amped_context *context, amped_accelerate how,
                                       const amped_acceleration_model *model,
                                       const amped_solver_state *start,
                                       const amped_saved_factors *before,
                                       amped_acceleration **out) {
  amped_acceleration *a = NULL;
  *out = NULL;
  amped_status status = amped_calloc(&a, 1, sizeof *a, what);
  if (status == AMPED_OK) {
    a->context = context;
    a->how = how;
    a->model = *model;
    status = allocate(a);
  }
  if (status == AMPED_OK)
    status = check_numbers(a, start);
  status = amped_comm_agree(context->comm, status);
  if (status == AMPED_OK && start != NULL)
    status = amped_comm_agree(context->comm, resume(a, start, before));
  if (status == AMPED_OK)
    *out = a;
  else
    amped_acceleration_destroy(a);
  return status;
}
