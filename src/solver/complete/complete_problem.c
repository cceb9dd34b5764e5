/* Completion problem: context modes, ranked mode, held-out nonzeros, mean and scale. */
#include "solver/complete/complete_problem.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/mode_names.h"

/* Penalty of context modes, whose rows are pulled to 1, relative to other modes, pulled to 0. */
#define CONTEXT_PULL 10.0

/* A variance below this share of the mean square is rounding error. Values in memory are
 * differences from a typical value (tensor/value_map.h), so their mean is at most a few standard
 * deviations. */
#define LEAST_VARIANCE 1e-14

/* --- modes ------------------------------------------------------------------------------------ */

/* Number of modes longer than this one. If modes are equally long, the earlier one counts as
 * longer. */
static int place_by_length(const amped_plan *plan, int mode) {
  int longer = 0;
  for (int k = 0; k < plan->order; k++)
    longer += plan->dims[k] > plan->dims[mode] || (k < mode && plan->dims[k] == plan->dims[mode]);
  return longer;
}

/* Find the mode to rank. Default: the shorter of the two longest modes. It is likely to hold the
 * items that recommend is asked for, because most data have more users than items. */
static amped_status find_ranked(const char *of, const amped_plan *plan, const amped_labels *labels,
                                int *ranked) {
  char names[AMPED_MODES_TEXT];
  *ranked = 0;
  while (place_by_length(plan, *ranked) != 1)
    (*ranked)++;
  if (of == NULL)
    return AMPED_OK;
  *ranked = amped_mode_find(labels, plan->order, of, strlen(of));
  if (*ranked != AMPED_MODE_NONE)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL, "--of: the tensor has no mode %.64s; %s", of,
                     amped_mode_names(names, labels, plan->order));
}

/* Find the context modes. auto, with biases: all modes except the two longest. If modes are
 * equally long, the earlier one counts as longer. */
static amped_status find_contexts(const amped_complete_options *c, const amped_plan *plan,
                                  const amped_labels *labels, bool *context) {
  const bool chooses = strcmp(c->context_modes, "auto") == 0;
  memset(context, 0, AMPED_MAX_ORDER * sizeof *context);
  for (int m = 0; m < plan->order && chooses && c->bias == AMPED_BIAS_FULL; m++)
    context[m] = place_by_length(plan, m) >= 2;
  return chooses || strcmp(c->context_modes, "none") == 0
             ? AMPED_OK
             : amped_mode_list_find("--context", c->context_modes, labels, plan->order, context);
}

/* Find the modes of --holdout-by. */
static amped_status find_fibres(const amped_complete_options *c, const amped_plan *plan,
                                const amped_labels *labels, bool *fibres) {
  const char *list = c->holdout_by;
  int count = 1;
  memset(fibres, 0, AMPED_MAX_ORDER * sizeof *fibres);
  if (list == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_mode_list_find("--holdout-by", list, labels, plan->order, fibres));
  for (const char *at = list; *at != '\0'; at++)
    count += *at == ',';
  if (count == 1)
    return amped_error(AMPED_USAGE, NULL,
                       "--holdout-by=%s would hold out all entries of an index, which then has "
                       "learnt nothing; name two modes or more. To measure lost indices, make "
                       "some of them missing in INPUT, and give their cells with --test=FILE",
                       list);
  if (count >= plan->order)
    return amped_error(
        AMPED_USAGE, NULL,
        "--holdout-by=%s names all modes, which hold out each entry by itself; leave "
        "it out, or name fewer modes",
        list);
  return AMPED_OK;
}

/* Find the modes of --nonnegative, as bits. */
static amped_status find_nonnegative(const amped_complete_options *c, const amped_plan *plan,
                                     const amped_labels *labels, uint64_t *modes) {
  bool chosen[AMPED_MAX_ORDER] = {false};
  const bool all = c->nonnegative != NULL && strcmp(c->nonnegative, "all") == 0;
  *modes = 0;
  if (c->nonnegative != NULL && !all)
    AMPED_TRY(amped_mode_list_find("--nonnegative", c->nonnegative, labels, plan->order, chosen));
  for (int m = 0; m < plan->order; m++)
    *modes |= (uint64_t)(all || chosen[m]) << m;
  return AMPED_OK;
}

amped_status amped_complete_modes_find(const amped_complete_options *options, const char *of,
                                       const amped_plan *plan, const amped_labels *labels,
                                       amped_complete_named *out) {
  AMPED_TRY(find_contexts(options, plan, labels, out->context));
  AMPED_TRY(find_fibres(options, plan, labels, out->fibres));
  AMPED_TRY(find_nonnegative(options, plan, labels, &out->nonnegative));
  return find_ranked(of, plan, labels, &out->ranked);
}

amped_status amped_complete_problem_set_modes(const amped_context *context, const char *of,
                                              const amped_labels *labels, amped_complete_problem *p,
                                              amped_complete_start *start) {
  const amped_comm *comm = context->comm;
  amped_complete_named named = {.ranked = 0};
  amped_status status = AMPED_OK;
  if (comm->rank == 0)
    status = amped_complete_modes_find(p->options, of, context->plan, labels, &named);
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, &named, sizeof named);
  memcpy(start->context, named.context, sizeof start->context);
  memcpy(p->fibres, named.fibres, sizeof p->fibres);
  p->ranked = named.ranked;
  p->nonnegative = start->nonnegative = named.nonnegative;
  p->fit.nonnegative = named.nonnegative == (UINT64_C(1) << context->plan->order) - 1;
  for (int m = 0; m < context->plan->order; m++) {
    p->fit.prior[m] = start->context[m] ? 1.0 : 0.0;
    p->fit.pull[m] = start->context[m] ? CONTEXT_PULL : 1.0;
  }
  return AMPED_OK;
}

/* --- held-out nonzeros ----------------------------------------------------------------------- */

/* Does a mode's index decide what is held out? */
static bool decides(const amped_complete_problem *p, int mode) {
  bool any = false;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    any = any || p->fibres[m];
  return !any || p->fibres[mode];
}

/* Collective; the status is agreed. keys[m] = the keys of the indices of mode m, on every rank;
 * NULL: it has no labels. All keys are 0 in a mode that does not decide. The caller frees them. */
static amped_status find_keys(const amped_context *context, const amped_labels *labels,
                              const amped_complete_problem *p, uint32_t *keys[AMPED_MAX_ORDER]) {
  const amped_comm *comm = context->comm;
  const amped_plan *plan = context->plan;
  bool labelled[AMPED_MAX_ORDER] = {false};
  amped_status status = AMPED_OK;
  for (int m = 0; m < plan->order && comm->rank == 0; m++)
    labelled[m] = labels[m].count > 0;
  amped_comm_broadcast(comm, labelled, sizeof labelled);
  for (int m = 0; m < plan->order && status == AMPED_OK; m++)
    if (labelled[m] || !decides(p, m))
      status = amped_calloc(&keys[m], plan->dims[m], sizeof *keys[m], "the keys of labels");
  AMPED_TRY(amped_comm_agree(comm, status));
  for (int m = 0; m < plan->order; m++) {
    if (!labelled[m] || !decides(p, m))
      continue;
    if (comm->rank == 0) {
#pragma omp parallel for schedule(static)
      for (uint64_t i = 0; i < plan->dims[m]; i++)
        keys[m][i] = (uint32_t)amped_label_key(&labels[m], i);
    }
    amped_comm_broadcast(comm, keys[m], plan->dims[m] * sizeof *keys[m]);
  }
  return AMPED_OK;
}

/* Collective; the status is agreed. p->held = number of this rank's held-out nonzeros. */
static amped_status mark_held(const amped_context *context, const amped_labels *labels,
                              amped_complete_problem *p) {
  const amped_worker *worker = context->worker;
  const amped_complete_options *c = p->options;
  uint32_t *keys[AMPED_MAX_ORDER] = {NULL};
  amped_status status = c->holdout > 0.0 ? find_keys(context, labels, p, keys) : AMPED_OK;
  if (status == AMPED_OK)
    status = amped_comm_agree(context->comm,
                              worker->format->row_fit->hold_out(
                                  worker->tensor, (const uint32_t *const *)keys, c->split_seed,
                                  (uint64_t)ldexp(c->holdout, 64), &p->held));
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(keys[m]);
  return status;
}

amped_status amped_complete_problem_hold_out(const amped_context *context, const char *input,
                                             const amped_labels *labels,
                                             amped_complete_problem *p) {
  const amped_complete_options *c = p->options;
  const uint64_t nnz = context->plan->nnz;
  amped_status status = AMPED_OK;
  AMPED_TRY(mark_held(context, labels, p));
  amped_comm_sum_u64(context->comm, &p->held, 1);
  if (c->holdout > 0.0 && p->held == 0 && c->weights != NULL)
    status = amped_error(AMPED_BAD_INPUT, input,
                         "none of its %" PRIu64 " entries is held out to validate, as %s gives "
                         "weight 0 to all or most of them; correct the weights, or use a larger "
                         "--holdout or --validate=FILE",
                         nnz, c->weights);
  else if (c->holdout > 0.0 && p->held == 0)
    status = amped_error(AMPED_BAD_INPUT, input,
                         "none of its %" PRIu64
                         " entries is held out to validate; %s--validate=FILE, or no validation "
                         "(--holdout=0 --reg=L)",
                         nnz, nnz > 1 ? "use a larger --holdout, another --split-seed, " : "use ");
  else if (p->held == nnz)
    status =
        amped_error(AMPED_BAD_INPUT, input,
                    "all of its %" PRIu64
                    " entries are held out, and none is left to train; use a smaller --holdout "
                    "or another --split-seed",
                    nnz);
  return amped_comm_agree(context->comm, status);
}

/* --- mean and scale --------------------------------------------------------------------------- */

amped_moments amped_complete_moments_of(const double *values, uint64_t count, amped_value_map map) {
  amped_moments m = {.count = count, .weight = (double)count};
  for (uint64_t k = 0; k < count; k++) {
    const double x = amped_value_map_to(map, values[k]);
    m.sum += x;
    m.squares += x * x;
  }
  return m;
}

amped_status amped_complete_moments_find(const amped_context *context, amped_moments *out) {
  const amped_worker *worker = context->worker;
  const amped_comm *comm = context->comm;
  amped_moments m = {.least = INFINITY, .least_weight = INFINITY};
  AMPED_TRY(amped_comm_agree(comm, worker->format->row_fit->moments(worker->tensor, &m)));
  double sums[] = {m.weight, m.sum, m.squares};
  amped_comm_sum_u64(comm, &m.count, 1);
  amped_comm_sum(comm, sums, 3);
  *out = (amped_moments){.count = m.count,
                         .weight = sums[0],
                         .sum = sums[1],
                         .squares = sums[2],
                         .least = amped_comm_spread(comm, m.least).min,
                         .least_weight = amped_comm_spread(comm, m.least_weight).min};
  return AMPED_OK;
}

amped_complete_scale amped_complete_scale_of(const amped_moments *m, amped_value_map map,
                                             bool centred) {
  const double mean = m->sum / m->weight;
  const double square = m->squares / m->weight;
  const double variance = square - mean * mean;
  const bool constant = !(variance > LEAST_VARIANCE * square);
  amped_complete_scale s = {.mean = centred ? mean : amped_value_map_to(map, 0.0),
                            .constant = constant};
  const double away = mean - s.mean;
  const double about = (constant ? 0.0 : variance) + away * away;
  s.scale = about > 0.0 ? sqrt(about) : 1.0 / map.unit;
  s.level = amped_value_map_from(map, mean) / (map.unit * s.scale);
  return s;
}

/* Beside entries of weight 0, values are limited in memory (map.most). A learnt value that was
 * limited makes the mean square at least 2^80 / nnz; other values, at most this. */
#define MOST_SQUARE 0x1p44

/* Check the ranges of values and weights. */
static amped_status check_values(const amped_complete_problem *p, const amped_moments *m,
                                 amped_value_map map, uint64_t nnz, const char *input,
                                 const char *weights) {
  const bool counts = p->fit.implicit > 0.0;
  if (counts && m->least < 0.0)
    return amped_error(AMPED_BAD_INPUT, input,
                       "has a negative value; --implicit needs counts of what happened, from 1");
  if (counts && m->least == 0.0)
    return amped_error(AMPED_BAD_INPUT, input,
                       "has entries with the value 0, which mean that nothing happened; --implicit "
                       "takes every cell without an entry as such a 0: remove these entries");
  if (m->least_weight < 0.0)
    return amped_error(AMPED_BAD_INPUT, weights,
                       "lacks weights of some of the %" PRIu64
                       " entries of %s; give each entry a weight",
                       nnz, input);
  if (!(m->weight > 0.0))
    return amped_error(AMPED_BAD_INPUT, weights,
                       "gives weight 0 to all entries that are not held out, and none is left to "
                       "train; correct the weights");
  if (map.most > 0.0 && !(m->squares / m->weight < MOST_SQUARE))
    return amped_error(AMPED_BAD_INPUT, input,
                       "has learnt values that are more than a million times larger than most "
                       "others; remove them, or give them weight 0");
  return AMPED_OK;
}

/* Implicit fits: sets the total weight of all cells, and scale 1, as values are zeros and ones.
 * sum: sum of the training values. */
static void set_cells(const amped_plan *plan, double sum, amped_complete_problem *p) {
  double cells = 1.0;
  for (int m = 0; m < plan->order; m++)
    cells *= (double)(plan->dims[m] + p->fixed.rows_outside[m]);
  p->cells = cells + p->fit.implicit * sum;
  p->fit.scale = 1.0;
}

/* The value 0 as it is stored in memory. */
static double zero_of(const amped_plan *plan) {
  const double zero = amped_value_map_to(plan->map, 0.0);
  return plan->value_type == AMPED_F32 ? (double)(float)zero : zero;
}

amped_status amped_complete_problem_set_scale(const amped_context *context, const char *input,
                                              const char *weights, amped_complete_problem *p,
                                              amped_complete_start *start) {
  const amped_plan *plan = context->plan;
  amped_row_fit *fit = &p->fit;
  amped_moments m;
  AMPED_TRY(amped_complete_moments_find(context, &m));
  AMPED_TRY(
      amped_comm_agree(context->comm, check_values(p, &m, plan->map, plan->nnz, input, weights)));
  p->learnt = m.count;
  p->ignored = plan->nnz - p->held - m.count;
  p->weight = m.weight;
  if (fit->implicit > 0.0) {
    set_cells(plan, m.sum, p);
  } else {
    const amped_complete_scale s =
        amped_complete_scale_of(&m, plan->map, p->options->bias != AMPED_BIAS_NONE);
    const bool known = p->fixed.modes != 0;
    fit->mean = known ? amped_value_map_to(plan->map, p->mean) : s.mean;
    fit->scale = known ? p->scale / plan->map.unit : s.scale;
    p->constant = s.constant && !known; /* new rows may have equal values */
    start->level = s.level;
    start->positive = !(m.least < zero_of(plan));
  }
  if (p->fixed.modes == 0) {
    p->mean = amped_value_map_from(plan->map, fit->mean);
    p->scale = plan->map.unit * fit->scale;
  }
  return AMPED_OK;
}

amped_errors amped_complete_errors_of(amped_value_map map, const amped_errors *e) {
  return (amped_errors){.count = e->count,
                        .squares = map.unit * map.unit * e->squares,
                        .absolute = map.unit * e->absolute,
                        .clipped = map.unit * map.unit * e->clipped};
}
