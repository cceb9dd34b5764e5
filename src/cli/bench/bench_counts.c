/* bench --loss=poisson: times the ratios of each mode, which a sweep of cpd --loss=poisson makes,
 * beside MTTKRP. */
#include <stdio.h>

#include "base/log.h"
#include "cli/bench/bench_passes.h"
#include "cli/commands.h"
#include "session/prepare.h"
#include "solver/mode_update.h"
#include "tensor/format.h"

typedef struct counts {
  amped_session session;
  const amped_options *o;
  double weights[AMPED_MAX_NCOMPS];
  amped_ratio_sums sums; /* from the last pass; not reported */
} counts;

static const amped_ratio_ops *ratios_of(const counts *c) {
  return c->session.worker.format->ratio;
}

/* The ratios of the last mode have sums, as in a sweep. */
static amped_status begin_ratios(void *self, int mode) {
  counts *c = self;
  const amped_ratio ratio = {
      .weights = c->weights, .least = 1e-20, .sums = mode + 1 == c->session.plan.order};
  return ratios_of(c)->begin(c->session.worker.tensor, mode, &ratio);
}

static amped_status wait_ratios(void *self, int mode, int part, amped_mttkrp_times *times) {
  counts *c = self;
  return ratios_of(c)->wait(c->session.worker.tensor, mode, part, times, &c->sums);
}

static amped_status reduce_ratios(void *self, int mode) {
  return amped_exchange_reduce(((counts *)self)->session.exchange, mode);
}

/* Steps 0, 1, ...: MTTKRP of each mode; then the ratios of each mode. No rows are made. */
static amped_status step(void *self, int number, amped_bench_sample *out) {
  counts *c = self;
  const amped_context context = amped_session_context(&c->session);
  const int order = c->session.plan.order;
  const amped_mode_work ratios = {
      .begin = begin_ratios, .wait = wait_ratios, .reduce = reduce_ratios, .self = c};
  const amped_row_update nothing = {.work = number < order ? amped_mttkrp_work(&context) : ratios};
  amped_mode_times t = {0.0, 0.0, 0.0, 0.0, 0.0};
  const amped_status status = amped_mode_update(&context, number % order, AMPED_OK, &nothing, &t);
  *out = (amped_bench_sample){.copy = t.copy, .compute = t.compute, .exchange = t.exchange};
  return status;
}

/* Add a row of the table. */
static void row_facts(const char *name, double mttkrp, double ratios, amped_facts *row) {
  amped_fact_words(row, "%4s", name);
  amped_bench_cell(row, "mttkrp_ms", 1e3 * mttkrp, 1.0, 10, 3);
  amped_bench_cell(row, "ratios_ms", 1e3 * ratios, 1.0, 10, 3);
  amped_bench_cell(row, "ratios_over_mttkrp", ratios / mttkrp, 1.0, 6, 2);
}

/* Collective. Report the medians of the slowest rank. */
static amped_status tell(counts *c, const amped_bench_passes *passes) {
  const int order = c->session.plan.order;
  double all[2] = {0.0, 0.0};
  char name[16];
  amped_facts f;
  amped_facts row;
  amped_facts_begin(&f, "counts");
  amped_say("milliseconds, median of %d passes over %d rank%s, with the exchange of rows:",
            c->o->repeat, c->session.comm.nranks, c->session.comm.nranks == 1 ? "" : "s");
  amped_say("mode      mttkrp      ratios   ratio");
  for (int m = 0; m < order; m++) {
    const double mttkrp = amped_bench_spread(passes, m, AMPED_BENCH_MEMBER(wall)).max;
    const double ratios = amped_bench_spread(passes, order + m, AMPED_BENCH_MEMBER(wall)).max;
    (void)snprintf(name, sizeof name, "%d", m + 1);
    amped_facts_begin(&row, NULL);
    amped_fact_json(&row, "mode", json_integer(m));
    row_facts(name, mttkrp, ratios, &row);
    amped_facts_say(&row);
    amped_facts_row(&f, "modes", &row);
    all[0] += mttkrp;
    all[1] += ratios;
  }
  amped_fact_json(&f, "nnz", amped_json_count(c->session.plan.nnz));
  amped_fact_json(&f, "rank", json_integer(c->session.plan.ncomps));
  amped_fact_json(&f, "passes", json_integer(c->o->repeat));
  row_facts("all", all[0], all[1], &f);
  amped_facts_say(&f);
  return amped_facts_write(&f, c->session.json);
}

static amped_status measure(counts *c) {
  const amped_comm *comm = &c->session.comm;
  const amped_context context = amped_session_context(&c->session);
  const amped_bench_work work = {.steps = 2 * c->session.plan.order, .step = step, .self = c};
  amped_bench_passes passes = {.passes = 0};
  AMPED_TRY(amped_comm_agree(comm, ratios_of(c)->prepare(c->session.worker.tensor)));
  AMPED_TRY(amped_factors_random(&context, c->o->seed));
  for (int r = 0; r < c->session.plan.ncomps; r++)
    c->weights[r] = 1.0;
  amped_status status = amped_bench_passes_run(&c->session, c->o->repeat, &work, &passes);
  if (status == AMPED_OK)
    status = amped_comm_agree(comm, tell(c, &passes));
  amped_bench_passes_free(&passes);
  return status;
}

static void solver_rows(const amped_plan *plan, const void *context, amped_memory_rows *rows) {
  const counts *c = context;
  amped_memory_row *solver = amped_memory_row_add(rows, "solver");
  ratios_of(c)->require(c->session.worker.device, plan, &solver->device_bytes, &solver->host_bytes);
}

amped_status amped_cmd_counts(const amped_options *o) {
  counts c = {.o = o};
  const amped_demand demand = {.solver_rows = solver_rows, .part = "--loss", .context = &c};
  amped_status status = amped_session_start(&c.session, &o->session, AMPED_OK);
  if (status == AMPED_OK)
    status = amped_session_prepare(&c.session, &demand);
  if (status == AMPED_OK)
    status = measure(&c);
  status = amped_session_finish(&c.session, status);
  amped_session_close(&c.session);
  return status;
}
