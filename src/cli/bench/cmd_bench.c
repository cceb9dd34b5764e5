/* bench: times MTTKRP and the exchange of each mode, and compares them with the devices' peak
 * rates. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "cli/bench/bench_dense.h"
#include "cli/bench/bench_passes.h"
#include "cli/commands.h"
#include "session/ceilings.h"
#include "session/prepare.h"
#include "session/report.h"
#include "solver/mode_update.h"
#include "tensor/format.h"

/* Results of one mode, the same on every rank. */
typedef struct result {
  amped_spread copy, compute, exchange, wall;
  double gnnz_per_sec;
  double gathered_gb_per_sec;
  double bytes_per_nonzero; /* bytes that the kernel reads per nonzero */
  double ceiling_sec;       /* gather time of the rank that needs most; 0: not known */
  double moved_sec;         /* seconds of sequential access to the kernel's bytes; 0: not known */
  uint64_t exchange_bytes;  /* bytes that every rank receives */
  double exchange_gb_per_sec;
  double streamed_bytes; /* bytes of nonzeros that are not resident */
  double norm;           /* norm of MTTKRP's result, to compare kernels and backends */
  const double *ranks;   /* [nranks][FIELDS] on rank 0 */
} result;

/* Members of a sample that are reported for every rank, in this order. */
static const struct {
  size_t member;
  const char *key;
} fields[] = {{AMPED_BENCH_MEMBER(copy), "host_to_device_ms"},
              {AMPED_BENCH_MEMBER(compute), "compute_ms"},
              {AMPED_BENCH_MEMBER(exchange), "exchange_ms"},
              {AMPED_BENCH_MEMBER(wall), "all_ms"}};
#define FIELDS ((int)(sizeof fields / sizeof fields[0]))

/* Bytes that a pass over mode accesses on this rank, cached or not: nonzeros, factor rows and the
 * result. */
static double moved_bytes(const amped_session *session, int mode) {
  const amped_plan *plan = &session->plan;
  const amped_mode_plan *m = &plan->modes[mode];
  double row_bytes = (double)(amped_plan_row_bytes(plan));
  double rows =
      (double)m->copy.rank_nnz[plan->rank] * (plan->order - 1) + (double)m->rows.block_rows;
  return (double)session->required.read_bytes[mode] + rows * row_bytes;
}

/* Collective. Results of a mode; its per-rank times are gathered into `ranks` on rank 0. */
static result result_of(amped_session *session, const amped_bench_passes *passes, int mode,
                        const amped_ceilings *ceilings, double *ranks) {
  const amped_plan *plan = &session->plan;
  uint64_t bytes = session->required.read_bytes[mode];
  uint64_t streamed = session->required.streamed_bytes[mode];
  double row_bytes = (double)(amped_plan_row_bytes(plan));
  double mine[FIELDS];
  amped_spread s[FIELDS];
  result r;
  for (int f = 0; f < FIELDS; f++) {
    mine[f] = amped_bench_median(passes, mode, fields[f].member);
    s[f] = amped_comm_spread(&session->comm, mine[f]);
  }
  AMPED_MPI(&session->comm,
            MPI_Gather(mine, FIELDS, MPI_DOUBLE, ranks, FIELDS, MPI_DOUBLE, 0, session->comm.mpi));
  amped_comm_sum_u64(&session->comm, &bytes, 1);
  amped_comm_sum_u64(&session->comm, &streamed, 1);
  r.copy = s[0];
  r.compute = s[1];
  r.exchange = s[2];
  r.wall = s[3];
  r.gnnz_per_sec = amped_bench_per((double)plan->nnz * 1e-9, r.wall.max);
  r.gathered_gb_per_sec =
      amped_bench_per((double)plan->nnz * (plan->order - 1) * row_bytes * 1e-9, r.compute.max);
  r.bytes_per_nonzero = amped_bench_per((double)bytes, (double)plan->nnz);
  r.ceiling_sec = amped_ceilings_mttkrp(session, ceilings, mode);
  r.exchange_bytes = amped_exchange_bytes(session->exchange, plan->modes[mode].rows.block_rows);
  /* The last rank to arrive does not wait, so its time is the time of the exchange. Parts travel
   * while the kernel runs, and each may have another last rank, so they give no rate. */
  r.exchange_gb_per_sec = plan->modes[mode].rows.parts == 1
                              ? amped_bench_per((double)r.exchange_bytes * 1e-9, r.exchange.min)
                              : 0.0;
  r.streamed_bytes = (double)streamed;
  r.ranks = ranks;
  r.moved_sec = amped_comm_spread(&session->comm,
                                  amped_bench_per(moved_bytes(session, mode), ceilings->read_rate))
                    .max;
  return r;
}

/* Format a share: "87.5 %", or "-" if the ceiling is not known. */
static const char *percent(char *text, size_t size, double ceiling_sec, double compute_sec) {
  (void)snprintf(text, size, ceiling_sec > 0.0 ? "%.1f %%" : "-",
                 100.0 * amped_bench_per(ceiling_sec, compute_sec));
  return text;
}

static json_t *json_percent(double ceiling_sec, double compute_sec) {
  return amped_bench_json_known(ceiling_sec > 0.0,
                                100.0 * amped_bench_per(ceiling_sec, compute_sec));
}

static void spread_fact(amped_facts *row, const char *key, amped_spread s) {
  amped_fact(row, key, amped_bench_json_spread(s), "  %8.3f %8.3f %8.3f", 1e3 * s.min, 1e3 * s.mean,
             1e3 * s.max);
}

static void times_facts(const amped_session *session, const amped_options *o, const result *results,
                        amped_facts *modes) {
  amped_say("milliseconds, median of %d passes, least / mean / most over %d rank%s:", o->repeat,
            session->comm.nranks, session->comm.nranks == 1 ? "" : "s");
  amped_say("mode  %-26s  %-26s  %-26s  %10s", "host to device", "compute", "exchange",
            "all (most)");
  for (int m = 0; m < session->plan.order; m++) {
    const result *r = &results[m];
    amped_facts *row = &modes[m];
    amped_fact(row, "mode", json_integer(m), "%4d", m + 1);
    spread_fact(row, "host_to_device_ms", r->copy);
    spread_fact(row, "compute_ms", r->compute);
    spread_fact(row, "exchange_ms", r->exchange);
    amped_fact(row, "all_ms", amped_bench_json_spread(r->wall), "  %10.3f\n", 1e3 * r->wall.max);
  }
}

static void exchange_facts(const amped_session *session, const result *results,
                           amped_facts *modes) {
  const bool several = session->comm.nranks > 1;
  char text[32];
  if (several)
    amped_say("mode  exchange: a rank receives          ms            GB/s");
  for (int m = 0; m < session->plan.order; m++) {
    const result *r = &results[m];
    const double gb = r->exchange_gb_per_sec;
    amped_fact_json(&modes[m], "exchange_bytes", amped_json_count(r->exchange_bytes));
    amped_fact_json(&modes[m], "exchange_gb_per_second", amped_bench_json_known(gb > 0.0, gb));
    if (!several)
      continue;
    amped_fact_words(&modes[m], "%4d  %26s  %10.3f", m + 1,
                     amped_format_bytes(text, r->exchange_bytes), 1e3 * r->exchange.min);
    if (session->plan.modes[m].rows.parts == 1)
      amped_fact_words(&modes[m], "  %14.3f\n", gb);
    else
      amped_fact_words(&modes[m], "  %14s\n", "beside compute");
  }
}

static void rates_facts(const amped_session *session, const result *results, amped_facts *modes) {
  char text[32];
  amped_say("mode    Gnnz/s  gathered GB/s  bytes/nnz  ceiling ms  of the gather ceiling"
            "  of memory bandwidth");
  for (int m = 0; m < session->plan.order; m++) {
    const result *r = &results[m];
    amped_facts *row = &modes[m];
    const double ceiling = 1e3 * r->ceiling_sec;
    amped_fact_words(row, "%4d", m + 1);
    amped_bench_cell(row, "gnnz_per_second", r->gnnz_per_sec, 1.0, 8, 3);
    amped_bench_cell(row, "gathered_gb_per_second", r->gathered_gb_per_sec, 1.0, 13, 1);
    amped_bench_cell(row, "bytes_per_nonzero", r->bytes_per_nonzero, 1.0, 9, 2);
    amped_fact(row, "ceiling_ms", amped_bench_json_known(ceiling > 0.0, ceiling), "  %10.3f",
               ceiling);
    amped_fact(row, "ceiling_percent", json_percent(r->ceiling_sec, r->compute.max), "  %21s",
               percent(text, sizeof text, r->ceiling_sec, r->compute.max));
    amped_fact(row, "bandwidth_percent", json_percent(r->moved_sec, r->compute.max), "  %19s\n",
               percent(text, sizeof text, r->moved_sec, r->compute.max));
  }
}

static void ceilings_facts(const amped_session *session, const amped_ceilings *c, amped_facts *f) {
  amped_fact_json(f, "ceilings", json_array());
  for (int i = 0; i < c->count; i++) {
    const double rate = c->gather[i].rows_per_sec;
    amped_facts row;
    amped_facts_begin(&row, NULL);
    amped_fact_json(&row, "rows", amped_json_count(c->gather[i].rows));
    amped_fact_json(&row, "rows_per_second", amped_bench_json_known(rate > 0.0, rate));
    if (rate > 0.0)
      amped_fact_words(
          &row, "gather ceiling: %.3f Grow/s from a table of %" PRIu64 " rows of %" PRIu64 " bytes",
          1e-9 * rate, c->gather[i].rows, amped_plan_row_bytes(&session->plan));
    amped_facts_row(f, "ceilings", &row);
  }
  amped_fact_json(f, "read_bytes_per_second",
                  amped_bench_json_known(c->read_rate > 0.0, c->read_rate));
  if (c->read_rate > 0.0)
    amped_fact_words(f, "memory bandwidth: %.1f GB/s read in order%s; caches can beat it\n",
                     1e-9 * c->read_rate, session->comm.nranks > 1 ? " on the slowest rank" : "");
}

/* Multiplications and additions of MTTKRP in one mode: `order` per nonzero and component. */
static double flops_of(const amped_plan *plan) {
  return (double)plan->nnz * plan->order * plan->ncomps;
}

static void run_facts(const amped_session *session, const amped_options *o, amped_facts *f) {
  amped_fact_json(f, "flops", amped_json_number(session->plan.order * flops_of(&session->plan)));
  amped_fact_json(f, "tables_seconds", amped_json_number(session->tables_sec));
  amped_fact_json(f, "plan_seconds", amped_json_number(session->plan_sec));
  amped_fact_json(f, "distribute_seconds", amped_json_number(session->distribute_sec));
  amped_fact_json(f, "kernel", json_string(session->worker.format->name));
  amped_fact_json(f, "shape", amped_json_string(o->session.shape.name));
  amped_fact_json(f, "passes", json_integer(o->repeat));
  amped_fact_json(f, "nnz", amped_json_count(session->plan.nnz));
}

static void sum_facts(const amped_session *session, const result *results, amped_facts *f) {
  const int order = session->plan.order;
  double total = 0.0;
  double compute = 0.0;
  double bound = 0.0;
  bool known = true;
  char text[32];
  for (int m = 0; m < order; m++) {
    total += results[m].wall.max;
    compute += results[m].compute.max;
    bound += results[m].ceiling_sec;
    known = known && results[m].ceiling_sec > 0.0;
  }
  bound = known ? bound : 0.0;
  amped_fact(f, "all_modes_ms", amped_json_number(1e3 * total), "all modes: %.3f ms", 1e3 * total);
  amped_fact(f, "all_modes_compute_ms", amped_json_number(1e3 * compute), " (compute %.3f)",
             1e3 * compute);
  amped_fact_words(f, ", %.3f Gnnz/s",
                   amped_bench_per((double)session->plan.nnz * order * 1e-9, total));
  amped_fact(f, "all_modes_ceiling_percent", json_percent(bound, compute),
             ", %s of the gather ceiling\n", percent(text, sizeof text, bound, compute));
}

/* Rank 0: add a mode's median times on every rank. */
static void ranks_facts(const amped_session *session, const result *r, amped_facts *f) {
  for (int p = 0; p < session->comm.nranks; p++) {
    amped_facts rank;
    amped_facts_begin(&rank, NULL);
    for (int i = 0; i < FIELDS; i++)
      amped_fact_json(&rank, fields[i].key, amped_json_number(1e3 * r->ranks[p * FIELDS + i]));
    amped_facts_row(f, "ranks", &rank);
  }
}

/* Print the results of all modes, and write them as JSON. */
static amped_status tell(amped_session *session, const amped_options *o, const result *results,
                         const amped_ceilings *ceilings) {
  const int order = session->plan.order;
  amped_facts f;
  amped_facts modes[AMPED_MAX_ORDER];
  amped_facts_begin(&f, "bench");
  for (int m = 0; m < order; m++)
    amped_facts_begin(&modes[m], NULL);
  run_facts(session, o, &f);
  times_facts(session, o, results, modes);
  rates_facts(session, results, modes);
  ceilings_facts(session, ceilings, &f);
  exchange_facts(session, results, modes);
  sum_facts(session, results, &f);
  for (int m = 0; m < order; m++) {
    amped_fact_json(&modes[m], "result_norm", amped_json_number(results[m].norm));
    amped_fact_json(&modes[m], "host_to_device_bytes",
                    amped_json_number(results[m].streamed_bytes));
    if (session->json != NULL)
      ranks_facts(session, &results[m], &modes[m]);
    amped_facts_row(&f, "modes", &modes[m]);
  }
  return amped_facts_write(&f, session->json);
}

/* Collective: find the Frobenius norm of MTTKRP's result in mode. */
static amped_status norm_of(const amped_session *session, int mode, double *norm) {
  enum { ROWS = 4096 };
  const amped_context context = amped_session_context(session);
  const amped_plan *plan = &session->plan;
  const amped_factor_ops *factors = session->worker.backend->factors;
  const uint64_t own = plan->modes[mode].rows.rank_rows[plan->rank];
  amped_mttkrp_times times;
  double *rows = NULL;
  double sum = 0.0;
  AMPED_TRY(amped_mode_mttkrp(&context, mode, &times));
  amped_status status =
      amped_alloc(&rows, (uint64_t)ROWS * (uint64_t)plan->ncomps, sizeof *rows, "the norms");
  for (uint64_t row = 0; row < own && status == AMPED_OK; row += ROWS) {
    const uint64_t count = own - row < ROWS ? own - row : ROWS;
    status = factors->get_output(session->worker.factors, mode, row, count, rows);
    for (uint64_t i = 0; i < count * (uint64_t)plan->ncomps && status == AMPED_OK; i++)
      sum += rows[i] * rows[i];
  }
  amped_free(rows);
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  amped_comm_sum(&session->comm, &sum, 1);
  *norm = sqrt(sum);
  return AMPED_OK;
}

/* Collective: find and report medians over passes, spread over ranks. */
static amped_status conclude(amped_session *session, const amped_options *o,
                             const amped_bench_passes *passes) {
  amped_ceilings ceilings;
  result results[AMPED_MAX_ORDER];
  double *ranks = NULL;
  const uint64_t length = (uint64_t)session->comm.nranks * FIELDS;
  amped_status status =
      amped_alloc(&ranks, length * (uint64_t)session->plan.order, sizeof *ranks, "the timings");
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  status = amped_ceilings_measure(session, &ceilings);
  for (int m = 0; m < session->plan.order && status == AMPED_OK; m++) {
    results[m] = result_of(session, passes, m, &ceilings, ranks + (uint64_t)m * length);
    status = norm_of(session, m, &results[m].norm);
  }
  if (status == AMPED_OK)
    status = amped_comm_agree(&session->comm, tell(session, o, results, &ceilings));
  amped_free(ranks);
  return status;
}

static amped_status measure(amped_session *session, const amped_options *o) {
  const amped_context context = amped_session_context(session);
  const amped_bench_work work = amped_bench_mttkrp(session);
  amped_bench_passes passes = {.passes = 0};
  amped_trace_begin(AMPED_PHASE_INIT, AMPED_NO_NUMBER);
  amped_status status = amped_factors_random(&context, o->seed);
  amped_trace_end();
  if (status == AMPED_OK)
    status = amped_bench_passes_run(session, o->repeat, &work, &passes);
  if (status == AMPED_OK)
    status = conclude(session, o, &passes);
  amped_bench_passes_free(&passes);
  return status;
}

/* Adds the bytes that the benchmark takes. Only a dense tensor needs some: MTTKRP alone takes
 * none. */
static void solver_rows(const amped_plan *plan, const void *context, amped_memory_rows *rows) {
  const amped_session *session = context;
  amped_memory_row *solver = amped_memory_row_add(rows, "solver");
  if (session->is_dense)
    amped_bench_dense_bytes(plan, context, &solver->device_bytes, &solver->host_bytes);
}

amped_status amped_cmd_bench(const amped_options *o) {
  amped_session session;
  const amped_demand demand = {
      .solver_rows = solver_rows, .context = &session, .takes_cells = true, .takes_one_copy = true};
  if (o->complete.nonnegative != NULL && strcmp(o->complete.nonnegative, "all") != 0)
    return amped_error(AMPED_USAGE, NULL,
                       "--nonnegative=%s: bench keeps all modes nonnegative or none; use "
                       "--nonnegative",
                       o->complete.nonnegative);
  if (o->whole)
    return amped_cmd_whole(o);
  if (o->epoch)
    return amped_cmd_epoch(o);
  if (o->batch_nnz > 0)
    return amped_cmd_batches(o);
  if (o->loss == AMPED_LOSS_POISSON)
    return amped_cmd_counts(o);
  amped_status status = amped_session_start(&session, &o->session, AMPED_OK);
  if (status == AMPED_OK)
    status = amped_session_prepare(&session, &demand);
  if (status == AMPED_OK)
    status = session.is_dense ? amped_bench_dense(&session, o) : measure(&session, o);
  status = amped_session_finish(&session, status);
  amped_session_close(&session);
  return status;
}
