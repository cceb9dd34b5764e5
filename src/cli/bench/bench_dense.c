/* Times sweeps of CP-ALS on a dense tensor, and compares them with the machine's rates. */
#include "cli/bench/bench_dense.h"

#include <math.h>

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
  bool noise_reported = true;
  const amped_iterate_options options = {.iters = count_of(w),
                                         .noise_reported = &noise_reported,
                                         .after_sweep = after_sweep,
                                         .context = w};
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
  const amped_context context = amped_session_context(session);
  const double streamed = r->passes * (double)session->required.streamed_bytes[0];
  double link = 0.0;
  AMPED_TRY(amped_ceilings_read(session, &r->read_rate));
  AMPED_TRY(amped_ceilings_multiply(session, &r->multiply_rate));
  if (r->streamed_bytes > 0.0)
    AMPED_TRY(amped_link_rate_device(&context, &link));
  const amped_sweep_ceiling sweep = amped_ceilings_sweep(session, r->read_rate, r->multiply_rate);
  r->bytes_sec = sweep.bytes_sec;
  r->multiply_sec = sweep.multiply_sec;
  r->link_sec = amped_comm_spread(comm, amped_bench_per(streamed, link)).max;
  r->moved_bytes = sweep.bytes;
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

static void modes_facts(const sweeps *w, const result *r, amped_facts *f) {
  amped_say("milliseconds of the slowest rank, medians over %d sweeps:", w->repeat * w->period);
  amped_say("mode  contracting the tensor  GB/s of its cells  from a contraction    exchange");
  for (int m = 0; m < w->order; m++) {
    const mode_result *of = &r->modes[m];
    const double rate = pass_rate(r, m);
    amped_facts row;
    amped_facts_begin(&row, NULL);
    amped_fact(&row, "mode", json_integer(m), "%4d", m + 1);
    amped_bench_cell(&row, "contracts_ms", 1e3 * of->contracts_sec, 1.0, 22, 3);
    amped_bench_cell(&row, "contracts_gb_per_second", rate > 0.0 ? 1e-9 * rate : (double)NAN, 1.0,
                     17, 3);
    amped_bench_cell(&row, "reads_ms", 1e3 * of->reads_sec, 1.0, 18, 3);
    amped_bench_cell(&row, "exchange_ms", 1e3 * of->exchange_sec, 1.0, 10, 3);
    amped_facts_row(f, "modes", &row);
  }
}

static void sweep_facts(const result *r, amped_facts *f) {
  const double read = r->passes * r->tensor_bytes;
  const double rate = 1e-9 * amped_bench_per(read, r->sweep_sec);
  char a[32];
  char b[32];
  amped_fact(f, "sweep_ms", amped_json_number(1e3 * r->sweep_sec), "a sweep: %.3f ms",
             1e3 * r->sweep_sec);
  amped_fact(f, "mttkrp_ms", amped_json_number(1e3 * r->mttkrp_sec), ", mttkrp %.3f",
             1e3 * r->mttkrp_sec);
  amped_fact(f, "compute_ms", amped_json_number(1e3 * r->compute_sec), " (kernels %.3f)",
             1e3 * r->compute_sec);
  amped_fact(f, "passes_a_sweep", amped_json_number(r->passes), "; %.4g passes", r->passes);
  amped_fact(f, "sweep_bytes_read", amped_json_number(read), " read %s",
             amped_format_bytes(a, (uint64_t)read));
  amped_fact(f, "gb_per_second", amped_json_number(rate), ", %.1f GB/s\n", rate);
  amped_fact_json(f, "streamed_bytes", amped_json_number(r->streamed_bytes));
  amped_fact_json(f, "tensor_bytes", amped_json_number(r->tensor_bytes));
  if (r->streamed_bytes > 0.0)
    amped_fact_words(f, "%s of the tensor's %s are streamed in every pass\n",
                     amped_format_bytes(a, (uint64_t)r->streamed_bytes),
                     amped_format_bytes(b, (uint64_t)r->tensor_bytes));
}

static void ceiling_facts(const result *r, amped_facts *f) {
  const double ceiling = ceiling_of(r);
  const double percent = 100.0 * amped_bench_per(ceiling, r->sweep_sec);
  const bool known = ceiling > 0.0;
  char bytes[32];
  amped_fact_json(f, "ms", amped_bench_json_known(known, 1e3 * ceiling));
  amped_fact_json(f, "of", json_string(ceiling_name(r)));
  amped_fact_json(f, "percent", amped_bench_json_known(known, percent));
  amped_fact_json(f, "memory_ms", amped_json_number(1e3 * r->bytes_sec));
  amped_fact_json(f, "arithmetic_ms", amped_json_number(1e3 * r->multiply_sec));
  amped_fact_json(f, "link_ms", amped_json_number(1e3 * r->link_sec));
  amped_fact_json(f, "read_bytes_per_second",
                  amped_bench_json_known(r->read_rate > 0.0, r->read_rate));
  amped_fact_json(f, "multiply_adds_per_second",
                  amped_bench_json_known(r->multiply_rate > 0.0, r->multiply_rate));
  if (known)
    amped_fact_words(
        f,
        "ceiling: %.3f ms a sweep (%s), of which this is %.1f %%; %s with contractions "
        "at %.1f GB/s, and multiply-adds at %.1f G/s, of the slowest rank\n",
        1e3 * ceiling, ceiling_name(r), percent,
        amped_format_bytes(bytes, (uint64_t)r->moved_bytes), 1e-9 * r->read_rate,
        1e-9 * r->multiply_rate);
  else
    amped_fact_words(f, "ceiling: not known, because no memory is left to measure it\n");
}

static amped_status tell(const sweeps *w, const result *r) {
  const amped_plan *plan = &w->session->plan;
  amped_facts f;
  amped_facts ceiling;
  amped_facts_begin(&f, "bench");
  amped_fact_json(&f, "dims", amped_json_counts(plan->dims, plan->order));
  amped_fact_json(&f, "cell_type", json_string(amped_cell_name(plan->dense.type)));
  amped_fact_json(&f, "contracts", json_string(amped_dense_tree_name(plan->dense.tree)));
  amped_fact_json(&f, "slab_mode", json_integer(plan->dense.slab_mode));
  amped_fact_json(&f, "products", json_string(w->session->worker.tf32 ? "tf32" : "exact"));
  amped_fact_json(&f, "repeat", json_integer(w->repeat));
  amped_fact_json(&f, "distribute_seconds", amped_json_number(w->session->distribute_sec));
  amped_fact_json(&f, "sweep_bytes_moved", amped_json_number(r->moved_bytes));
  modes_facts(w, r, &f);
  sweep_facts(r, &f);
  amped_facts_begin(&ceiling, NULL);
  ceiling_facts(r, &ceiling);
  amped_facts_take(&f, "ceiling", &ceiling);
  return amped_facts_write(&f, w->session->json);
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
