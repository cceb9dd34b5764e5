/* bench --complete: times a sweep of completion without its evaluation of errors, mode by mode if
 * the method works so. The same call times MTTKRP with the same number of components. It also
 * measures what the machine needs for the same rows and multiply-adds. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/bench/bench_passes.h"
#include "cli/commands.h"
#include "session/ceilings.h"
#include "session/prepare.h"
#include "solver/complete/complete_methods.h"
#include "solver/complete/complete_problem.h"
#include "solver/complete/complete_start.h"
#include "tensor/format.h"

/* A penalty that makes every row's fit unique. */
#define REG 1.0

typedef struct epoch {
  const amped_options *o;
  amped_session_options session_options; /* the user's options, with the column of biases */
  amped_bias bias;
  amped_session session;
  const amped_complete_method *method;
  void *made; /* the method's object */
  amped_row_fit fit;
  amped_complete_start start;
} epoch;

/* Times of a step, which is one mode or all, the same on every rank. NaN or infinite: not known. */
typedef struct result {
  amped_spread rows, exchange, wall;
  double assembly_sec, solve_sec; /* slowest rank's, timed separately in a second set of passes */
  double mttkrp_sec;
  double gather_sec, multiply_sec; /* lower bounds */
  double nnz;                      /* nonzeros that the step visits */
  double made_rows;                /* all rows of the mode, with or without nonzeros */
} result;

static const amped_row_fit_ops *row_fit_of(const epoch *e) {
  return e->session.worker.format->row_fit;
}

static int components_of(const epoch *e) {
  return e->o->session.ncomps;
}

/* --- what the run takes ---------------------------------------------------------------------- */

static amped_status check_plan(const amped_worker *worker, const amped_plan *plan,
                               const void *context) {
  (void)plan;
  (void)context;
  if (worker->format->row_fit != NULL)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL,
                     "--complete does not run with --backend=%s and --kernel=%s, which cannot fit "
                     "rows; leave out one of them",
                     worker->backend->name, worker->format->name);
}

static void solver_rows(const amped_plan *plan, const void *context, amped_memory_rows *rows) {
  const epoch *e = context;
  const amped_worker *worker = &e->session.worker;
  amped_memory_row *fits = amped_memory_row_add(rows, "row fits");
  row_fit_of(e)->require(worker->device, plan, false, &fits->device_bytes, &fits->host_bytes);
  amped_memory_row *solver = amped_memory_row_add(rows, "solver");
  e->method->require(&e->session.comm, worker, plan, &e->o->complete, e->session_options.biased,
                     &solver->device_bytes, &solver->host_bytes);
}

/* Nonnegative modes, as bits: all or none. */
static uint64_t modes_of(const amped_complete_options *c) {
  return c->nonnegative != NULL ? UINT64_MAX : 0;
}

/* Collective: set the mean and scale of all values, as complete does. */
static amped_status set_fit(epoch *e) {
  const amped_context context = amped_session_context(&e->session);
  const amped_complete_options *c = &e->o->complete;
  amped_moments m;
  AMPED_TRY(
      amped_comm_agree(context.comm, row_fit_of(e)->prepare(e->session.worker.tensor, false)));
  AMPED_TRY(amped_complete_moments_find(&context, &m));
  const amped_complete_scale s =
      amped_complete_scale_of(&m, context.plan->map, e->bias != AMPED_BIAS_NONE);
  e->fit = (amped_row_fit){.biased = e->session_options.biased,
                           .nonnegative = c->nonnegative != NULL,
                           .mean = s.mean,
                           .scale = s.scale,
                           .reg = REG,
                           .reg_power = c->reg_power,
                           .reg_bias = c->reg_bias};
  for (int k = 0; k < e->session.plan.order; k++)
    e->fit.pull[k] = 1.0;
  e->start = (amped_complete_start){.centred = e->bias != AMPED_BIAS_NONE,
                                    .biased = e->session_options.biased,
                                    .nonnegative = modes_of(c)};
  return AMPED_OK;
}

/* --- passes ---------------------------------------------------------------------------------- */

/* Every pass is the first sweep from the same start: so all passes do the same work. */
static amped_status begin_pass(void *self) {
  epoch *e = self;
  const amped_context context = amped_session_context(&e->session);
  AMPED_TRY(amped_complete_start_fill(&context, &e->start, e->o->seed));
  return e->method->begin != NULL ? e->method->begin(e->made, &e->fit) : AMPED_OK;
}

static amped_status step_mode(void *self, int mode, amped_bench_sample *out) {
  epoch *e = self;
  amped_mode_times t = {0.0, 0.0, 0.0, 0.0, 0.0};
  double solve_sec = 0.0;
  const amped_status status = e->method->update(e->made, &e->fit, mode, &t, &solve_sec);
  *out = (amped_bench_sample){
      .copy = t.copy, .compute = t.compute, .exchange = t.exchange, .solve = solve_sec};
  return status;
}

static amped_status step_all(void *self, int step, amped_bench_sample *out) {
  epoch *e = self;
  const amped_fixed_modes none = {.modes = 0};
  amped_complete_modes modes = {
      .count = e->session.plan.order, .fixed = &none, .nonnegative = modes_of(&e->o->complete)};
  amped_mode_times t = {0.0, 0.0, 0.0, 0.0, 0.0};
  amped_complete_sums sums;
  (void)step;
  for (int m = 0; m < e->session.plan.order; m++)
    modes.order[m] = m;
  AMPED_TRY(e->method->sweep(e->made, &e->fit, &modes, &sums, &t));
  *out =
      (amped_bench_sample){.copy = t.copy, .compute = t.mttkrp + t.solve, .exchange = t.exchange};
  return AMPED_OK;
}

/* Collective: find the seconds of assembly, before solving, and of solving, each of its slowest
 * rank. */
static void find_parts(const amped_bench_passes *passes, int step, result *r) {
  const double solve = amped_bench_median(passes, step, AMPED_BENCH_MEMBER(solve));
  const double rows = amped_bench_median(passes, step, AMPED_BENCH_MEMBER(compute));
  const double mine[] = {solve, rows - solve};
  amped_spread s[2];
  amped_comm_spreads(passes->comm, 2, mine, s);
  r->solve_sec = s[0].max > 0.0 ? s[0].max : (double)NAN;
  r->assembly_sec = s[0].max > 0.0 ? s[1].max : (double)NAN;
}

/* Collective; the status is agreed. Time the steps. If the method works by mode, time assembly and
 * solving separately in a second set of passes. */
static amped_status time_epochs(epoch *e, result *results, int *steps) {
  const amped_plan *plan = &e->session.plan;
  const bool by_mode = e->method->update != NULL;
  const amped_bench_work work = {.steps = by_mode ? plan->order : 1,
                                 .begin = begin_pass,
                                 .step = by_mode ? step_mode : step_all,
                                 .self = e};
  *steps = work.steps;
  for (int turn = 0; turn < (by_mode ? 2 : 1); turn++) {
    amped_bench_passes passes = {.passes = 0};
    e->fit.timed = turn == 1;
    amped_status status = amped_bench_passes_run(&e->session, e->o->repeat, &work, &passes);
    for (int i = 0; i < work.steps && status == AMPED_OK; i++) {
      if (turn == 1) {
        find_parts(&passes, i, &results[i]);
        continue;
      }
      results[i].rows = amped_bench_spread(&passes, i, AMPED_BENCH_MEMBER(compute));
      results[i].exchange = amped_bench_spread(&passes, i, AMPED_BENCH_MEMBER(exchange));
      results[i].wall = amped_bench_spread(&passes, i, AMPED_BENCH_MEMBER(wall));
    }
    amped_bench_passes_free(&passes);
    AMPED_TRY(status);
  }
  return AMPED_OK;
}

/* Collective; the status is agreed. Find two bounds of a row fit: gathering the input rows, and the
 * products that make H. */
static amped_status find_bounds(epoch *e, result *results, amped_ceilings *ceilings,
                                double *multiply_rate) {
  const amped_plan *plan = &e->session.plan;
  const double r = components_of(e);
  AMPED_TRY(amped_ceilings_measure(&e->session, ceilings));
  AMPED_TRY(amped_ceilings_multiply(&e->session, multiply_rate));
  for (int m = 0; m < plan->order; m++) {
    const double mine =
        (double)plan->modes[m].copy.rank_nnz[plan->rank] * 0.5 * r * (r + 1.0) / *multiply_rate;
    const double gather = amped_ceilings_mttkrp(&e->session, ceilings, m);
    results[m].gather_sec = gather > 0.0 ? gather : (double)NAN;
    results[m].multiply_sec =
        *multiply_rate > 0.0 ? amped_comm_spread(&e->session.comm, mine).max : (double)NAN;
  }
  return AMPED_OK;
}

/* Collective; the status is agreed. Time MTTKRP without the column of biases. */
static amped_status time_mttkrp(epoch *e, result *results) {
  amped_session *session = &e->session;
  amped_bench_passes passes = {.passes = 0};
  AMPED_TRY(amped_session_set_ncomps(session, components_of(e)));
  const amped_context context = amped_session_context(session);
  const amped_bench_work work = amped_bench_mttkrp(session);
  amped_status status = amped_factors_random(&context, e->o->seed);
  if (status == AMPED_OK)
    status = amped_bench_passes_run(session, e->o->repeat, &work, &passes);
  for (int m = 0; m < session->plan.order && status == AMPED_OK; m++)
    results[m].mttkrp_sec = amped_bench_spread(&passes, m, AMPED_BENCH_MEMBER(compute)).max;
  amped_bench_passes_free(&passes);
  return status;
}

/* --- reports --------------------------------------------------------------------------------- */

/* The larger of the two bounds, in seconds. */
static double bound_of(const result *r) {
  return fmax(r->gather_sec, r->multiply_sec);
}

static amped_spread add_spreads(amped_spread a, amped_spread b) {
  return (amped_spread){a.min + b.min, a.mean + b.mean, a.max + b.max, b.max_rank};
}

/* Sum of all steps. */
static result sum_of(const result *results, int steps) {
  result all = results[0];
  for (int i = 1; i < steps; i++) {
    const result *r = &results[i];
    all.rows = add_spreads(all.rows, r->rows);
    all.exchange = add_spreads(all.exchange, r->exchange);
    all.wall = add_spreads(all.wall, r->wall);
    all.assembly_sec += r->assembly_sec;
    all.solve_sec += r->solve_sec;
    all.mttkrp_sec += r->mttkrp_sec;
    all.gather_sec += r->gather_sec;
    all.multiply_sec += r->multiply_sec;
    all.nnz += r->nnz;
    all.made_rows += r->made_rows;
  }
  return all;
}

/* Print a row of the table of times. */
static void step_facts(const char *name, const result *r, amped_facts *row) {
  amped_fact(row, "rows_ms", amped_bench_json_spread(r->rows), "%4s  %9.3f %9.3f %9.3f", name,
             1e3 * r->rows.min, 1e3 * r->rows.mean, 1e3 * r->rows.max);
  amped_fact(row, "exchange_ms", amped_bench_json_spread(r->exchange), "  %9.3f",
             1e3 * r->exchange.max);
  amped_fact(row, "all_ms", amped_bench_json_spread(r->wall), "  %9.3f", 1e3 * r->wall.max);
  amped_bench_cell(row, "assembly_ms", 1e3 * r->assembly_sec, 1.0, 9, 3);
  amped_bench_cell(row, "solve_ms", 1e3 * r->solve_sec, 1.0, 9, 3);
  amped_bench_cell(row, "mttkrp_ms", 1e3 * r->mttkrp_sec, 1.0, 9, 3);
  amped_bench_cell(row, "assembly_over_mttkrp", r->assembly_sec / r->mttkrp_sec, 1.0, 5, 2);
  amped_bench_cell(row, "gnnz_per_second", 1e-9 * r->nnz / r->wall.max, 1.0, 8, 3);
  amped_fact_json(row, "rows", amped_json_number(r->made_rows));
  amped_bench_cell(row, "solved_rows_per_second", r->made_rows / r->solve_sec, 1e-6, 8, 2);
  amped_facts_say(row);
}

/* Add a row of the table of bounds. */
static void bound_facts(const char *name, const result *r, amped_facts *row) {
  amped_fact_words(row, "%4s", name);
  amped_bench_cell(row, "gather_bound_ms", 1e3 * r->gather_sec, 1.0, 10, 3);
  amped_bench_cell(row, "multiply_bound_ms", 1e3 * r->multiply_sec, 1.0, 13, 3);
  amped_bench_cell(row, "times_bound", r->rows.max / bound_of(r), 1.0, 24, 2);
}

static void times_facts(const epoch *e, const result *results, int steps, const result *all,
                        amped_facts *modes, amped_facts *f) {
  char name[16];
  amped_say("milliseconds, median of %d sweeps over %d rank%s%s:", e->o->repeat,
            e->session.comm.nranks, e->session.comm.nranks == 1 ? "" : "s",
            e->o->complete.method == AMPED_COMPLETE_ALS
                ? "; rows are made by assembling and solving"
                : "");
  amped_say("mode  %-29s  %9s  %9s  %9s  %9s  %9s  %5s  %8s  %8s", "rows: least, mean, most",
            "exchange", "all", "assembly", "solve", "mttkrp", "ratio", "Gnnz/s", "Mrows/s");
  for (int m = 0; m < steps && steps > 1; m++) {
    (void)snprintf(name, sizeof name, "%d", m + 1);
    step_facts(name, &results[m], &modes[m]);
  }
  step_facts("all", all, f);
}

static void bounds_facts(const epoch *e, const result *results, const result *all,
                         const amped_ceilings *ceilings, double multiply_rate, amped_facts *modes,
                         amped_facts *f) {
  char name[16];
  amped_say("mode  gathers ms  multiplies ms  rows, times larger bound");
  for (int m = 0; m < e->session.plan.order; m++) {
    (void)snprintf(name, sizeof name, "%d", m + 1);
    bound_facts(name, &results[m], &modes[m]);
    amped_facts_row(f, "modes", &modes[m]);
  }
  bound_facts("all", all, f);
  amped_facts_say(f);
  for (int i = 0; i < ceilings->count; i++)
    if (ceilings->gather[i].rows_per_sec > 0.0)
      amped_say("gather ceiling: %.3f Grow/s from a table of %" PRIu64 " rows of %d elements",
                1e-9 * ceilings->gather[i].rows_per_sec, ceilings->gather[i].rows,
                components_of(e) + (e->fit.biased ? 1 : 0));
  amped_fact_words(f, "arithmetic ceiling: %.1f G multiply-adds/s on the slowest rank\n",
                   1e-9 * multiply_rate);
}

static amped_status tell(const epoch *e, const result *results, int steps, const result *all,
                         const amped_ceilings *ceilings, double multiply_rate) {
  static const char *const biases[] = {
      [AMPED_BIAS_FULL] = "full", [AMPED_BIAS_MEAN] = "mean", [AMPED_BIAS_NONE] = "none"};
  const double ms = 1e3 * all->wall.max;
  amped_facts f;
  amped_facts modes[AMPED_MAX_ORDER];
  amped_facts_begin(&f, "epoch");
  for (int m = 0; m < steps; m++) {
    amped_facts_begin(&modes[m], NULL);
    amped_fact_json(&modes[m], "mode", json_integer(m));
  }
  amped_fact_json(&f, "bias", json_string(biases[e->bias]));
  amped_fact_json(&f, "shape", amped_json_string(e->o->session.shape.name));
  amped_fact_json(&f, "passes", json_integer(e->o->repeat));
  amped_fact_json(&f, "nnz", amped_json_count(e->session.plan.nnz));
  amped_fact_json(&f, "multiply_adds_per_second",
                  amped_bench_json_known(multiply_rate > 0.0, multiply_rate));
  times_facts(e, results, steps, all, modes, &f);
  if (steps > 1)
    bounds_facts(e, results, all, ceilings, multiply_rate, modes, &f);
  else {
    amped_fact_json(&f, "modes", json_array());
    bound_facts("all", all, &f); /* not known: null, and no line */
    amped_facts_silence(&f);
  }
  amped_fact(&f, "method", json_string(e->method->name), "an epoch of %s", e->method->name);
  amped_fact(&f, "components", json_integer(components_of(e)), " with %d components",
             components_of(e));
  amped_fact(&f, "epoch_ms", amped_json_number(ms), ": %.3f ms\n", ms);
  return amped_facts_write(&f, e->session.json);
}

/* --- the command ----------------------------------------------------------------------------- */

static amped_status measure(epoch *e) {
  const amped_plan *plan = &e->session.plan;
  const amped_context context = amped_session_context(&e->session);
  result results[AMPED_MAX_ORDER];
  amped_ceilings ceilings = {.count = 0};
  double multiply_rate = 0.0;
  int steps = 0;
  for (int m = 0; m < plan->order; m++)
    results[m] = (result){.assembly_sec = (double)NAN,
                          .solve_sec = (double)NAN,
                          .mttkrp_sec = (double)NAN,
                          .gather_sec = (double)NAN,
                          .multiply_sec = (double)NAN,
                          .nnz = (double)plan->nnz,
                          .made_rows = (double)plan->dims[m]};
  AMPED_TRY(set_fit(e));
  AMPED_TRY(e->method->create(&context, &e->o->complete, &e->fit, &e->made));
  AMPED_TRY(time_epochs(e, results, &steps));
  for (int m = 1; m < plan->order && steps == 1; m++) { /* one step of all modes */
    results[0].nnz += results[m].nnz;
    results[0].made_rows += results[m].made_rows;
  }
  e->method->destroy(e->made);
  e->made = NULL;
  if (steps > 1) {
    AMPED_TRY(find_bounds(e, results, &ceilings, &multiply_rate));
    AMPED_TRY(time_mttkrp(e, results));
  }
  const result all = sum_of(results, steps);
  return amped_comm_agree(&e->session.comm,
                          tell(e, results, steps, &all, &ceilings, multiply_rate));
}

amped_status amped_cmd_epoch(const amped_options *o) {
  epoch e = {.o = o, .session_options = o->session};
  const amped_demand demand = {.solver_rows = solver_rows,
                               .whole_rows = true,
                               .check = check_plan,
                               .part = "--complete",
                               .context = &e};
  amped_status status = AMPED_OK;
  e.bias = o->complete.bias == AMPED_BIAS_AUTO ? AMPED_BIAS_FULL : o->complete.bias;
  e.session_options.biased = e.bias == AMPED_BIAS_FULL;
  e.method = amped_complete_method_find(&o->complete);
  status = amped_session_start(&e.session, &e.session_options, AMPED_OK);
  if (status == AMPED_OK)
    status = amped_session_prepare(&e.session, &demand);
  if (status == AMPED_OK)
    status = measure(&e);
  status = amped_session_finish(&e.session, status);
  e.method->destroy(e.made);
  amped_session_close(&e.session);
  return status;
}
