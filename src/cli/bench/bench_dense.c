/* Times sweeps of CP-ALS on a dense tensor, and compares them with the machine's rates. */
#include "cli/bench/bench_dense.h"

#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "cli/bench/bench_passes.h"
#include "factor/link_rate.h"
#include "plan/dense_passes.h"
#include "session/ceilings.h"
#include "solver/cpd/cpd_als.h"
#include "solver/residual.h"
#include "tensor/format.h"

/* The timed sweeps and their times. */
typedef struct sweeps {
  amped_session *session;
  int order, period, repeat; /* groups of `period` sweeps; the first group warms up */
  amped_sweep_mode *modes;   /* [sweep][order] times on this rank */
  double *totals;            /* [sweep] seconds on this rank */
  double *scratch;           /* [sweep] scratch for medians */
} sweeps;

/* Median seconds of one mode on the slowest rank; the same on every rank. NaN: the sweeps have no
 * such update. */
typedef struct mode_result {
  double contracts_sec, reads_sec, exchange_sec;
} mode_result;

typedef struct result {
  mode_result modes[AMPED_MAX_ORDER];
  double sweep_sec, mttkrp_sec, compute_sec;
  double tensor_bytes, streamed_bytes; /* sum over all ranks */
  double passes;                       /* passes over the tensor per sweep */
  double moved_bytes;                  /* bytes of cells and of T per sweep, sum over all ranks */
  double read_rate, multiply_rate;     /* rates of the slowest rank */
  double bytes_sec, multiply_sec, link_sec;
} result;

void amped_bench_dense_bytes(const amped_plan *plan, const void *context, uint64_t *device_bytes,
                             uint64_t *host_bytes) {
  (void)context;
  (void)device_bytes;
  *host_bytes += amped_residual_host_bytes(plan);
}

/* --- sweeps ----------------------------------------------------------------------------------- */

static uint64_t count_of(const sweeps *w) {
  return (uint64_t)w->period * ((uint64_t)w->repeat + 1);
}

static amped_status after_sweep(void *context, const amped_sweep *s) {
  sweeps *w = context;
  const uint64_t i = s->number - 1;
  w->totals[i] = s->times.total;
  for (int m = 0; m < w->order; m++)
    w->modes[i * (uint64_t)w->order + (uint64_t)m] = s->modes[m];
  return AMPED_OK;
}

static amped_status run(sweeps *w, uint64_t seed) {
  const amped_context context = amped_session_context(w->session);
  bool noise_told = true;
  const amped_iterate_options options = {
      .iters = count_of(w), .noise_told = &noise_told, .after_sweep = after_sweep, .context = w};
  amped_solver_result solved;
  amped_trace_begin(AMPED_PHASE_INIT, AMPED_NO_NUMBER);
  AMPED_TRY(amped_factors_random(&context, seed));
  amped_trace_end();
  AMPED_TRY(amped_cpd_als(&context, &options, &solved));
  amped_solver_result_free(&solved);
  return AMPED_OK;
}

static amped_status allocate(sweeps *w) {
  const uint64_t n = count_of(w);
  AMPED_TRY(amped_calloc(&w->modes, n * (uint64_t)w->order, sizeof *w->modes, "the timings"));
  AMPED_TRY(amped_calloc(&w->totals, n, sizeof *w->totals, "the timings"));
  return amped_calloc(&w->scratch, n, sizeof *w->scratch, "the timings");
}

static void release(sweeps *w) {
  amped_free(w->modes);
  amped_free(w->totals);
  amped_free(w->scratch);
}

/* --- medians ---------------------------------------------------------------------------------- */

/* Collective: median seconds of one kind of mode's updates, on the slowest rank. contracts: updates
 * that contract the tensor; else the other updates. NaN if there are none. */
static double median_of_updates(const sweeps *w, int mode, bool contracts) {
  const amped_dense_plan *plan = &w->session->plan.dense;
  int count = 0;
  for (uint64_t i = (uint64_t)w->period; i < count_of(w); i++) {
    const uint64_t update = i * (uint64_t)w->order + (uint64_t)mode;
    if (amped_dense_contracts(plan, w->order, update) == contracts)
      w->scratch[count++] = w->modes[update].compute;
  }
  if (count == 0)
    return (double)NAN;
  return amped_comm_spread(&w->session->comm, amped_bench_median_of(w->scratch, count)).max;
}

/* Collective: median seconds of the exchange of mode's rows. */
static double median_of_exchange(const sweeps *w, int mode) {
  int count = 0;
  for (uint64_t i = (uint64_t)w->period; i < count_of(w); i++)
    w->scratch[count++] = w->modes[i * (uint64_t)w->order + (uint64_t)mode].exchange;
  return amped_comm_spread(&w->session->comm, amped_bench_median_of(w->scratch, count)).min;
}

/* Seconds of one member of a sweep's times: summed over all modes, or of the whole sweep for
 * `total`. */
static double of_sweep(const sweeps *w, uint64_t i, size_t member) {
  double sum = 0.0;
  if (member == offsetof(amped_sweep_mode, total))
    return w->totals[i];
  for (int m = 0; m < w->order; m++)
    sum +=
        *(const double *)((const char *)&w->modes[i * (uint64_t)w->order + (uint64_t)m] + member);
  return sum;
}

/* Collective: median over the groups of a sweep's mean seconds in its group. */
static double median_of_sweeps(const sweeps *w, size_t member) {
  for (int g = 0; g < w->repeat; g++) {
    w->scratch[g] = 0.0;
    for (int k = 0; k < w->period; k++)
      w->scratch[g] +=
          of_sweep(w, (uint64_t)(g + 1) * (uint64_t)w->period + (uint64_t)k, member) / w->period;
  }
  return amped_comm_spread(&w->session->comm, amped_bench_median_of(w->scratch, w->repeat)).max;
}

/* --- ceilings --------------------------------------------------------------------------------- */

/* Collective; the status is agreed. Find the time in which the machine reads, multiplies and
 * streams what a sweep needs on each rank. */
static amped_status find_ceiling(const sweeps *w, result *r) {
  const amped_session *session = w->session;
  const amped_comm *comm = &session->comm;
  const amped_plan *plan = &session->plan;
  const amped_context context = amped_session_context(session);
  const double moved = amped_dense_sweep_bytes(&plan->dense, plan->order, plan->ncomps,
                                               (uint64_t)plan->value_type, plan->dense.tree);
  const double products = r->passes * (double)plan->dense.cells * plan->ncomps;
  const double streamed = r->passes * (double)session->required.streamed_bytes[0];
  double link = 0.0;
  AMPED_TRY(amped_ceilings_read(session, &r->read_rate));
  AMPED_TRY(amped_ceilings_multiply(session, &r->multiply_rate));
  if (r->streamed_bytes > 0.0)
    AMPED_TRY(amped_link_rate_device(&context, &link));
  r->bytes_sec = amped_comm_spread(comm, amped_bench_per(moved, r->read_rate)).max;
  r->multiply_sec = amped_comm_spread(comm, amped_bench_per(products, r->multiply_rate)).max;
  r->link_sec = amped_comm_spread(comm, amped_bench_per(streamed, link)).max;
  r->moved_bytes = moved;
  amped_comm_sum(comm, &r->moved_bytes, 1);
  return AMPED_OK;
}

/* Collective; the status is agreed. Find the medians and the ceiling. */
static amped_status find_result(const sweeps *w, result *r) {
  const amped_plan *plan = &w->session->plan;
  uint64_t streamed = w->session->required.streamed_bytes[0];
  for (int m = 0; m < w->order; m++)
    r->modes[m] = (mode_result){median_of_updates(w, m, true), median_of_updates(w, m, false),
                                median_of_exchange(w, m)};
  r->sweep_sec = median_of_sweeps(w, offsetof(amped_sweep_mode, total));
  r->mttkrp_sec = median_of_sweeps(w, offsetof(amped_sweep_mode, mttkrp));
  r->compute_sec = median_of_sweeps(w, offsetof(amped_sweep_mode, compute));
  amped_comm_sum_u64(&w->session->comm, &streamed, 1);
  r->streamed_bytes = (double)streamed;
  r->tensor_bytes = (double)plan->nnz * (double)amped_cell_bytes(plan->dense.type);
  r->passes = amped_dense_passes(&plan->dense, plan->order);
  return find_ceiling(w, r);
}

/* Lower bound of a sweep in seconds; 0 if a rate is not known. */
static double ceiling_of(const result *r) {
  if (r->bytes_sec <= 0.0 || r->multiply_sec <= 0.0)
    return 0.0;
  return fmax(r->link_sec, fmax(r->bytes_sec, r->multiply_sec));
}

static const char *ceiling_name(const result *r) {
  const double ceiling = ceiling_of(r);
  if (ceiling == 0.0)
    return "not known";
  return ceiling == r->link_sec    ? "link to the device"
         : ceiling == r->bytes_sec ? "memory"
                                   : "arithmetic";
}

/* --- reports ---------------------------------------------------------------------------------- */

/* Rate at which a contraction of mode reads the tensor, in bytes per second; 0 if the mode has
 * none. */
static double pass_rate(const result *r, int mode) {
  const double seconds = r->modes[mode].contracts_sec;
  return isnan(seconds) ? 0.0 : amped_bench_per(r->tensor_bytes, seconds);
}

#define CELL 32

static const char *cell(char text[CELL], double x) {
  (void)snprintf(text, CELL, isnan(x) ? "-" : "%.3f", x);
  return text;
}

static void say_modes(const sweeps *w, const result *r) {
  char text[3][CELL];
  amped_say("milliseconds of the slowest rank, medians over %d sweeps:", w->repeat * w->period);
  amped_say("mode  contracting the tensor  GB/s of its cells  from a contraction    exchange");
  for (int m = 0; m < w->order; m++) {
    const mode_result *of = &r->modes[m];
    amped_say("%4d  %22s  %17s  %18s  %10.3f", m + 1, cell(text[0], 1e3 * of->contracts_sec),
              cell(text[1], isnan(of->contracts_sec) ? of->contracts_sec : 1e-9 * pass_rate(r, m)),
              cell(text[2], 1e3 * of->reads_sec), 1e3 * of->exchange_sec);
  }
}

static void say_sweep(const result *r) {
  const double ceiling = ceiling_of(r);
  char a[32];
  char b[32];
  amped_say("a sweep: %.3f ms, mttkrp %.3f (kernels %.3f); %.4g passes read %s, %.1f GB/s",
            1e3 * r->sweep_sec, 1e3 * r->mttkrp_sec, 1e3 * r->compute_sec, r->passes,
            amped_format_bytes(a, (uint64_t)(r->passes * r->tensor_bytes)),
            1e-9 * amped_bench_per(r->passes * r->tensor_bytes, r->sweep_sec));
  if (r->streamed_bytes > 0.0)
    amped_say("%s of the tensor's %s are streamed in every pass",
              amped_format_bytes(a, (uint64_t)r->streamed_bytes),
              amped_format_bytes(b, (uint64_t)r->tensor_bytes));
  if (ceiling > 0.0)
    amped_say("ceiling: %.3f ms a sweep (%s), of which this is %.1f %%; %s with contractions at "
              "%.1f GB/s, and multiply-adds at %.1f G/s, of the slowest rank",
              1e3 * ceiling, ceiling_name(r), 100.0 * amped_bench_per(ceiling, r->sweep_sec),
              amped_format_bytes(a, (uint64_t)r->moved_bytes), 1e-9 * r->read_rate,
              1e-9 * r->multiply_rate);
  else
    amped_say("ceiling: not known, because no memory is left to measure it");
}

static json_t *json_modes(const sweeps *w, const result *r) {
  json_t *modes = json_array();
  for (int m = 0; m < w->order; m++) {
    const mode_result *of = &r->modes[m];
    const double rate = pass_rate(r, m);
    (void)json_array_append_new(
        modes,
        json_pack("{s:i, s:o, s:o, s:o, s:f}", "mode", m, "contracts_ms",
                  amped_json_number(1e3 * of->contracts_sec), "contracts_gb_per_second",
                  amped_bench_json_known(rate > 0.0, 1e-9 * rate), "reads_ms",
                  amped_json_number(1e3 * of->reads_sec), "exchange_ms", 1e3 * of->exchange_sec));
  }
  return modes;
}

static json_t *json_ceiling(const result *r) {
  const double ceiling = ceiling_of(r);
  return json_pack(
      "{s:o, s:s, s:o, s:f, s:f, s:f, s:o, s:o}", "ms",
      amped_bench_json_known(ceiling > 0.0, 1e3 * ceiling), "of", ceiling_name(r), "percent",
      amped_bench_json_known(ceiling > 0.0, 100.0 * amped_bench_per(ceiling, r->sweep_sec)),
      "memory_ms", 1e3 * r->bytes_sec, "arithmetic_ms", 1e3 * r->multiply_sec, "link_ms",
      1e3 * r->link_sec, "read_bytes_per_second",
      amped_bench_json_known(r->read_rate > 0.0, r->read_rate), "multiply_adds_per_second",
      amped_bench_json_known(r->multiply_rate > 0.0, r->multiply_rate));
}

static amped_status tell(const sweeps *w, const result *r) {
  const amped_plan *plan = &w->session->plan;
  say_modes(w, r);
  say_sweep(r);
  if (w->session->json == NULL)
    return AMPED_OK;
  return amped_json_line(
      w->session->json,
      json_pack("{s:s, s:o, s:s, s:s, s:i, s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, "
                "s:f, s:o, s:o}",
                "event", "bench", "dims", amped_json_counts(plan->dims, plan->order), "cell_type",
                amped_cell_name(plan->dense.type), "contracts",
                amped_dense_tree_name(plan->dense.tree), "slab_mode", plan->dense.slab_mode,
                "products", w->session->worker.tf32 ? "tf32" : "exact", "repeat", w->repeat,
                "passes_a_sweep", r->passes, "distribute_seconds", w->session->distribute_sec,
                "tensor_bytes", r->tensor_bytes, "streamed_bytes", r->streamed_bytes,
                "sweep_bytes_read", r->passes * r->tensor_bytes, "sweep_bytes_moved",
                r->moved_bytes, "gb_per_second",
                1e-9 * amped_bench_per(r->passes * r->tensor_bytes, r->sweep_sec), "sweep_ms",
                1e3 * r->sweep_sec, "mttkrp_ms", 1e3 * r->mttkrp_sec, "compute_ms",
                1e3 * r->compute_sec, "ceiling", json_ceiling(r), "modes", json_modes(w, r)));
}

/* --- the command ------------------------------------------------------------------------------ */

amped_status amped_bench_dense(amped_session *session, const amped_options *o) {
  const amped_plan *plan = &session->plan;
  sweeps w = {.session = session,
              .order = plan->order,
              .period = amped_dense_period(&plan->dense, plan->order),
              .repeat = o->repeat};
  result r = {.sweep_sec = 0.0};
  amped_status status = amped_comm_agree(&session->comm, allocate(&w));
  if (status == AMPED_OK)
    status = run(&w, o->seed);
  if (status == AMPED_OK)
    status = find_result(&w, &r);
  if (status == AMPED_OK)
    status = amped_comm_agree(&session->comm, tell(&w, &r));
  release(&w);
  return status;
}
