/* Ruled rows: penalties in V, row descent, and measures of the final model. */
#include "solver/cpd/ruled_rows.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/buffers.h"
#include "base/mem.h"
#include "base/trace.h"
#include "solver/mode_update.h"
#include "solver/normal_equations.h"
#include "solver/unit_model.h"
#include "tensor/format.h"

/* Rows that are measured at a time. */
#define ROWS 4096

/* Sums over rows. */
enum { GRADIENT, OUTPUT, ZEROS, SUMS };

struct amped_ruled_rows {
  const amped_context *context;
  const amped_row_rule *rule;
  const amped_fixed_modes *fixed;
  amped_mode_order free;
  double *weights;
  double *grams[AMPED_MAX_ORDER];
  double *sizes[AMPED_MAX_ORDER]; /* [ncomps] sums of absolute values in unit columns */
  double *shrink;                 /* [ncomps] */
  double *others;                 /* [ncomps] length of a component without the mode's own column */
  bool *gone;                     /* [ncomps] */
  double *room;                   /* workspace, [2 ncomps] */
  double *v;                      /* [ncomps][ncomps] */
  double *rows, *output;          /* [ROWS][ncomps] */
  double *sums;                   /* [ROWS][SUMS] */
  bool reported_gone;
  bool is_measured;
  double zeros[AMPED_MAX_ORDER]; /* share of zeros among a factor's entries */
  double optimality;
};

static const char what[] = "the rows' rule";

/* --- life ------------------------------------------------------------------------------------- */

static amped_buffers buffers(amped_ruled_rows *r, const amped_plan *plan) {
  amped_buffers b = {.what = what};
  const uint64_t n = (uint64_t)plan->ncomps;
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER(&b, ZEROED, r->sizes[m], n);
  AMPED_BUFFER(&b, ZEROED, r->shrink, n);
  AMPED_BUFFER(&b, ZEROED, r->others, n);
  AMPED_BUFFER(&b, ZEROED, r->gone, n);
  AMPED_BUFFER(&b, HOST, r->room, 2 * n);
  AMPED_BUFFER(&b, HOST, r->v, n * n);
  AMPED_BUFFER(&b, HOST, r->rows, ROWS * n);
  AMPED_BUFFER(&b, HOST, r->output, ROWS * n);
  AMPED_BUFFER(&b, HOST, r->sums, ROWS * SUMS);
  return b;
}

uint64_t amped_ruled_rows_bytes(const amped_plan *plan) {
  return amped_buffers_bytes(buffers(&(amped_ruled_rows){0}, plan));
}

void amped_ruled_rows_destroy(amped_ruled_rows *r) {
  if (r == NULL)
    return;
  amped_buffers_free(buffers(r, r->context->plan));
  amped_free(r);
}

amped_status amped_ruled_rows_create(const amped_context *context, const amped_row_rule *rule,
                                     const amped_fixed_modes *fixed, double *weights,
                                     double *const *grams, amped_ruled_rows **out) {
  amped_ruled_rows *r = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&r, 1, sizeof *r, what));
  r->context = context;
  r->rule = rule;
  r->fixed = fixed;
  r->free = amped_fixed_modes_free(fixed, context->plan->order);
  r->weights = weights;
  memcpy(r->grams, grams, (size_t)context->plan->order * sizeof *grams);
  const amped_status status = amped_buffers_allocate(buffers(r, context->plan));
  if (status == AMPED_OK)
    *out = r;
  else
    amped_ruled_rows_destroy(r);
  return status;
}

/* --- sizes of columns ------------------------------------------------------------------------- */

/* Collective; the status is agreed. */
static amped_status find_sizes(amped_ruled_rows *r, int mode, amped_status status) {
  const amped_worker *worker = r->context->worker;
  AMPED_NEXT(status, worker->backend->factors->absolute(worker->factors, mode, r->sizes[mode]));
  return amped_comm_sum_agreed(r->context->comm, status, r->sizes[mode], r->context->plan->ncomps);
}

amped_status amped_ruled_rows_begin(amped_ruled_rows *r, bool is_start, int first) {
  const amped_plan *plan = r->context->plan;
  double *const lengths = r->room;
  amped_status status = AMPED_OK;
  for (int i = first; i < r->free.count; i++) {
    const int m = r->free.modes[i];
    if (is_start)
      AMPED_NEXT(status, amped_unit_columns(r->context, m, 0, amped_plan_factor_rows(plan, m),
                                            r->grams[m], lengths, lengths + plan->ncomps));
    if (r->rule->l1 > 0.0) {
      status = find_sizes(r, m, status);
      AMPED_TRY(status);
    }
  }
  return status;
}

static double scale_of(const amped_ruled_rows *r, int c) {
  return r->fixed->scale != NULL ? r->fixed->scale[c] : 1.0;
}

/* Is a component zero, or shorter than the rounding of the tensor's norm? A ridge shortens such a
 * component in every sweep, so that it is not zero for a long time. */
static bool is_gone(const amped_ruled_rows *r, int c) {
  const double length = scale_of(r, c) * r->weights[c];
  return !(length > 0.0) || length <= DBL_EPSILON * sqrt(r->context->plan->norm_squared);
}

/* Warn once, with the first of the components that have become zero under a penalty, and so stay
 * zero. It has no number here: the result has its components in order of weight. */
static void tell_gone(amped_ruled_rows *r) {
  for (int c = 0; c < r->context->plan->ncomps && !r->reported_gone; c++)
    if (amped_row_rule_penalises(r->rule) && is_gone(r, c)) {
      amped_warn("a component has become zero and stays zero; others may follow; try fewer "
                 "components, a smaller penalty or another --seed");
      r->reported_gone = true;
    }
}

amped_status amped_ruled_rows_finish(amped_ruled_rows *r, int mode, amped_status status) {
  tell_gone(r);
  return r->rule->l1 > 0.0 ? find_sizes(r, mode, status) : status;
}

/* --- updates ---------------------------------------------------------------------------------- */

/* Find the lengths of a component's columns, and their sums of absolute values, in the order of the
 * free modes. */
static void share(const amped_ruled_rows *r, int c, double *lengths, double *sizes) {
  for (int i = 0; i < r->free.count; i++)
    sizes[i] = r->sizes[r->free.modes[i]][c];
  amped_row_rule_share(r->rule, r->free.count, scale_of(r, c) * r->weights[c], sizes, lengths);
}

/* Place of mode among the free modes. */
static int place_of(const amped_ruled_rows *r, int mode) {
  int place = 0;
  while (r->free.modes[place] != mode)
    place++;
  return place;
}

static bool has_model(const amped_ruled_rows *r) {
  for (int c = 0; c < r->context->plan->ncomps; c++)
    if (r->weights[c] > 0.0)
      return true;
  return false;
}

/* Set row and column c of v to zeros. If v will be inverted, its diagonal entry becomes 1. */
static void forget(const amped_ruled_rows *r, int mode, int c, double *v) {
  const int n = r->context->plan->ncomps;
  for (int k = 0; k < n; k++)
    v[k * n + c] = v[c * n + k] = 0.0;
  if (!amped_row_rule_descends(r->rule, mode))
    v[c * n + c] = 1.0;
}

void amped_ruled_rows_prepare(amped_ruled_rows *r, int mode, double *v) {
  const int n = r->context->plan->ncomps;
  const int place = place_of(r, mode);
  double lengths[AMPED_MAX_ORDER];
  double sizes[AMPED_MAX_ORDER];
  for (int c = 0; c < n; c++)
    r->others[c] = 1.0;
  if (!amped_row_rule_penalises(r->rule))
    return;
  /* The penalty of a column depends on the lengths of the others: of one free mode on none. */
  const bool begins = !has_model(r);
  if (begins && r->free.count > 1)
    return;
  for (int c = 0; c < n; c++) {
    r->gone[c] = !begins && is_gone(r, c);
    r->shrink[c] = 0.0;
    if (r->gone[c]) {
      forget(r, mode, c, v);
      continue;
    }
    double others = 1.0 / scale_of(r, c);
    if (r->free.count > 1) {
      share(r, c, lengths, sizes);
      others = r->weights[c] / lengths[place];
    }
    v[c * n + c] += r->rule->ridge / (others * others);
    r->shrink[c] = r->rule->l1 / others;
    r->others[c] = others;
  }
}

void amped_ruled_rows_drop(const amped_ruled_rows *r, double *matrix) {
  const int n = r->context->plan->ncomps;
  for (int c = 0; c < n; c++)
    for (int i = 0; r->gone[c] && i < n; i++)
      matrix[i * n + c] = 0.0;
}

static amped_row_descent descent_of(const amped_ruled_rows *r, int mode, const double *v) {
  return (amped_row_descent){.nonnegative = amped_row_rule_is_nonnegative(r->rule, mode),
                             .v = v,
                             .scale = r->weights,
                             .shrink = r->shrink};
}

amped_status amped_ruled_rows_descend(amped_ruled_rows *r, int mode, uint64_t first, uint64_t end,
                                      const double *v, amped_row_sums *sums) {
  const amped_worker *worker = r->context->worker;
  const amped_row_descent d = descent_of(r, mode, v);
  return worker->backend->factors->descend(worker->factors, mode, first, end, &d, sums);
}

double amped_ruled_rows_penalty(const amped_ruled_rows *r) {
  const amped_plan *plan = r->context->plan;
  double lengths[AMPED_MAX_ORDER];
  double sizes[AMPED_MAX_ORDER];
  double sum = 0.0;
  if (!amped_row_rule_penalises(r->rule))
    return 0.0;
  for (int c = 0; c < plan->ncomps; c++)
    if (r->weights[c] > 0.0) {
      share(r, c, lengths, sizes);
      sum += amped_row_rule_penalty(r->rule, r->free.count, lengths, sizes);
    }
  return sum;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Violation of optimality at entry a, with slope g of the smooth part. 0 if no change of a lowers
 * the objective. */
static double wrong_by(bool nonnegative, double a, double g, double shrink) {
  if (a > 0.0 || (nonnegative && !(a < 0.0)))
    return a > 0.0 ? g + shrink : fmin(0.0, g + shrink);
  if (a < 0.0)
    return g - shrink;
  return g > shrink ? g - shrink : g < -shrink ? g + shrink : 0.0;
}

/* Find the sums of a row. The weights are multiplied into the row. Under a penalty, slopes and
 * MTTKRP are of factors with the lengths that the penalty gives them: in unit columns the slope of
 * a vanishing component would have no bound. */
static void measure_row(const amped_ruled_rows *r, const amped_row_descent *d, double *row,
                        const double *output, double *sums) {
  const size_t n = (size_t)r->context->plan->ncomps;
  memset(sums, 0, SUMS * sizeof *sums);
  for (size_t c = 0; c < n; c++) {
    sums[ZEROS] += row[c] == 0.0 ? 1.0 : 0.0;
    row[c] *= d->scale[c];
  }
  for (size_t c = 0; c < n; c++) {
    if (r->gone[c])
      continue;
    double g = cblas_ddot((int)n, row, 1, d->v + c * n, 1) - output[c];
    g = r->others[c] * wrong_by(d->nonnegative, row[c], g, d->shrink[c]);
    const double size = r->others[c] * output[c];
    sums[GRADIENT] += g * g;
    sums[OUTPUT] += size * size;
  }
}

/* Add the sums of mode's own rows. The output has mode's MTTKRP. */
static amped_status add_rows(amped_ruled_rows *r, int mode, const amped_row_descent *d,
                             double *sums) {
  const amped_plan *plan = r->context->plan;
  const amped_worker *worker = r->context->worker;
  const amped_factor_ops *ops = worker->backend->factors;
  const size_t n = (size_t)plan->ncomps;
  const uint64_t block = (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
  const uint64_t rows = plan->modes[mode].rows.rank_rows[plan->rank];
  for (uint64_t first = 0; first < rows; first += ROWS) {
    const uint64_t count = rows - first < ROWS ? rows - first : ROWS;
    AMPED_TRY(ops->get_rows(worker->factors, mode, block + first, count, r->rows));
    AMPED_TRY(ops->get_output(worker->factors, mode, first, count, r->output));
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
      measure_row(r, d, r->rows + i * n, r->output + i * n, r->sums + i * SUMS);
    for (size_t i = 0; i < count * SUMS; i++)
      sums[i % SUMS] += r->sums[i];
  }
  return AMPED_OK;
}

/* Collective; the status is agreed. The output has mode's MTTKRP. */
static amped_status measure_mode(amped_ruled_rows *r, int mode) {
  const amped_plan *plan = r->context->plan;
  const amped_row_descent d = descent_of(r, mode, r->v);
  const double entries = (double)plan->dims[mode] * plan->ncomps;
  double sums[SUMS] = {0.0};
  amped_hadamard(plan->order, plan->ncomps, (const double *const *)r->grams, mode, r->v);
  amped_ruled_rows_prepare(r, mode, r->v);
  AMPED_TRY(amped_comm_agree(r->context->comm, add_rows(r, mode, &d, sums)));
  amped_comm_sum(r->context->comm, sums, SUMS);
  r->zeros[mode] = sums[ZEROS] / entries;
  if (sums[OUTPUT] > 0.0)
    r->optimality = fmax(r->optimality, sqrt(sums[GRADIENT] / sums[OUTPUT]));
  return AMPED_OK;
}

amped_status amped_ruled_rows_measure(amped_ruled_rows *const *ruled, int count) {
  const amped_context *context = ruled[0]->context;
  const amped_mode_order *free = &ruled[0]->free;
  amped_trace_begin(AMPED_PHASE_FIT, AMPED_NO_NUMBER);
  for (int k = 0; k < count; k++) {
    ruled[k]->optimality = 0.0;
    ruled[k]->is_measured = true;
    for (int m = 0; m < context->plan->order; m++)
      ruled[k]->zeros[m] = (double)NAN;
  }
  for (int i = 0; i < free->count; i++) {
    amped_mttkrp_times times = {0.0, 0.0};
    AMPED_TRY(amped_mode_mttkrp(context, free->modes[i], &times));
    for (int k = 0; k < count; k++)
      AMPED_TRY(measure_mode(ruled[k], free->modes[i]));
  }
  amped_trace_end();
  return AMPED_OK;
}

void amped_ruled_rows_tell(const amped_ruled_rows *r, double objective, amped_facts *facts) {
  const int order = r->context->plan->order;
  amped_facts rows;
  if (!r->is_measured)
    return;
  amped_facts_begin(&rows, NULL);
  rows.waits = true;
  for (int m = 0; m < order; m++) {
    amped_fact_item(&rows, "zeros", amped_json_number(r->zeros[m]));
    amped_fact_words(&rows, "%s", m > 0 ? ", " : "zeros in the factors: ");
    if (isnan(r->zeros[m]))
      amped_fact_words(&rows, "fixed");
    else
      amped_fact_words(&rows, "%.3g %%", 100.0 * r->zeros[m]);
  }
  amped_fact(&rows, "optimality", amped_json_number(r->optimality),
             "; conditions of an optimum hold to %.2e\n", r->optimality);
  if (!isnan(objective))
    amped_fact_words(&rows, "objective: %.9g\n", objective);
  amped_fact_json(&rows, "objective", amped_json_number(objective));
  amped_facts_take(facts, "rows", &rows);
}
