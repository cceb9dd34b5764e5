/* bench --whole: times a run of cpd from the start of the process to the result on disk, part by
 * part. After the run it measures a bound for each part: the time that the machine needs for the
 * same bytes or rows and nothing else. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/draft.h"
#include "base/file.h"
#include "base/file_timing.h"
#include "base/launcher.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "cli/bench/bench_passes.h"
#include "cli/commands.h"
#include "cli/cpd_outputs.h"
#include "factor/link_rate.h"
#include "load/slab_reader.h"
#include "session/ceilings.h"
#include "session/prepare.h"
#include "session/report.h"
#include "session/run_result.h"
#include "solver/cpd/cpd_als.h"
#include "solver/residual.h"
#include "tensor/format.h"

enum { START, LOAD, INPUT, LINK, INIT, SWEEPS, MTTKRP, REST, RESULT, WHOLE, PARTS };

/* Names of the parts, in the table and in JSON. inside: a part of the part above it, indented. */
static const struct {
  const char *name;
  bool inside;
} names[PARTS] = {
    [START] = {.name = "start", .inside = false},
    [LOAD] = {.name = "load", .inside = false},
    [INPUT] = {.name = "input file", .inside = true},
    [LINK] = {.name = "link to device", .inside = true},
    [INIT] = {.name = "random start", .inside = false},
    [SWEEPS] = {.name = "sweeps", .inside = false},
    [MTTKRP] = {.name = "mttkrp", .inside = true},
    [REST] = {.name = "all else", .inside = true},
    [RESULT] = {.name = "result", .inside = false},
    [WHOLE] = {.name = "whole", .inside = false},
};

/* Times of one part. A number that is not finite is not known. */
typedef struct part {
  double seconds; /* on the slowest rank */
  double bytes;   /* sum over all ranks */
  double bound_sec;
} part;

typedef struct whole {
  const amped_options *o;
  amped_session session;
  amped_cpd_outputs outputs;            /* rank 0: path of the result */
  amped_labels labels[AMPED_MAX_ORDER]; /* on rank 0 */
  bool noise_reported;
  amped_solver_result solved;
  uint64_t result_bytes; /* on rank 0 */
  /* Ends of the parts: amped_time() on this rank, after a collective call. */
  double loaded_at, begun_at, swept_at, written_at;
  part parts[PARTS]; /* the same on every rank */
} whole;

/* --- the run --------------------------------------------------------------------------------- */

static void solver_rows(const amped_plan *plan, const void *context, amped_memory_rows *rows) {
  (void)context;
  amped_memory_row_add(rows, "residual of a fit near 1")->host_bytes +=
      amped_residual_host_bytes(plan);
}

/* Do all that cpd does before the first sweep. */
static amped_status load(whole *w) {
  amped_session *session = &w->session;
  const amped_demand demand = {.result_bytes = sizeof(double),
                               .solver_rows = solver_rows,
                               .takes_one_copy = true,
                               .part = "--whole"};
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_session_prepare(session, &demand));
  AMPED_TRY(amped_session_labels(session, w->labels));
  if (session->comm.rank == 0)
    status = amped_cpd_outputs_room(w->o, &w->outputs, &session->plan, w->labels);
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  w->loaded_at = amped_time();
  return AMPED_OK;
}

static amped_status after_sweep(void *context, const amped_sweep *sweep) {
  whole *w = context;
  return amped_report_sweep(&w->session, sweep, w->o->cpd.every);
}

static amped_status decompose(whole *w) {
  const amped_context context = amped_session_context(&w->session);
  const amped_iterate_options options = {.iters = (uint64_t)w->o->repeat,
                                         .noise_reported = &w->noise_reported,
                                         .after_sweep = after_sweep,
                                         .context = w};
  amped_trace_begin(AMPED_PHASE_INIT, AMPED_NO_NUMBER);
  amped_status status = amped_factors_random(&context, w->o->seed);
  amped_trace_end();
  AMPED_TRY(status);
  w->begun_at = amped_time();
  AMPED_TRY(amped_cpd_als(&context, &options, &w->solved));
  w->swept_at = amped_time();
  return AMPED_OK;
}

/* Rank 0: write the result in place of a draft. The file is removed with the draft. */
static amped_status write_result(whole *w, const amped_run_result *result, amped_draft *draft) {
  char *path = NULL;
  AMPED_TRY(amped_draft_open(w->outputs.results[0].path, false, draft));
  AMPED_TRY(amped_draft_path(draft, &path));
  amped_status status = amped_result_file_write(path, &result->model, &result->record);
  if (status == AMPED_OK)
    status = amped_file_check_readable(path, &w->result_bytes);
  amped_free(path);
  return status;
}

static amped_status save(whole *w) {
  const amped_cpd_options options = {.iters = (uint64_t)w->o->repeat};
  const amped_run_record record = {.seed = w->o->seed,
                                   .init = AMPED_INIT_RANDOM,
                                   .stop_reason = w->solved.stop_reason,
                                   .metric = w->solved.metric,
                                   .history = w->solved.history,
                                   .sweeps = w->solved.sweeps};
  const amped_fixed_model none = {.modes = 0};
  amped_run_result result;
  amped_draft draft = {.open = false};
  amped_trace_begin(AMPED_PHASE_WRITE, AMPED_NO_NUMBER);
  amped_status status = amped_run_result_gather(&w->session, &options, &none, &record,
                                                w->solved.weights, w->labels, &result);
  if (status == AMPED_OK) {
    if (w->session.comm.rank == 0)
      status = write_result(w, &result, &draft);
    status = amped_comm_agree(&w->session.comm, status);
  }
  w->written_at = amped_time();
  amped_trace_end();
  amped_draft_close(&draft);
  amped_run_result_free(&result);
  return status;
}

/* --- its times and bounds -------------------------------------------------------------------- */

/* Collective. Find the seconds of each part. */
static void find_times(whole *w) {
  const double began = amped_time_of_process();
  const double opened = w->session.opened_at;
  const double mine[] = {opened - began,
                         w->loaded_at - opened,
                         w->begun_at - w->loaded_at,
                         w->swept_at - w->begun_at,
                         w->solved.times.mttkrp,
                         w->written_at - w->swept_at,
                         w->written_at - began};
  static const int of[] = {START, LOAD, INIT, SWEEPS, MTTKRP, RESULT, WHOLE};
  enum { COUNT = sizeof of / sizeof of[0] };
  amped_spread s[COUNT];
  amped_comm_spreads(&w->session.comm, COUNT, mine, s);
  for (int i = 0; i < COUNT; i++)
    w->parts[of[i]].seconds = s[i].max;
  w->parts[REST].seconds = w->parts[SWEEPS].seconds - w->parts[MTTKRP].seconds;
}

/* Collective; the status is agreed. Time reading the input again by the ranks that read it, each an
 * equal part. A pipe cannot be read again and has no bound. */
static amped_status bound_input(whole *w) {
  const amped_session *session = &w->session;
  const amped_comm *comm = &session->comm;
  const char *path = session->options->input;
  const bool parallel = session->read_parallel;
  uint64_t bytes = 0;
  double seconds = 0.0;
  amped_status status = AMPED_OK;
  if (comm->rank == 0 && session->input != NULL && strcmp(path, "-") != 0 &&
      !amped_file_is_special(path))
    status = amped_file_check_readable(path, &bytes);
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, &bytes, sizeof bytes);
  if (bytes == 0)
    return AMPED_OK;
  const uint64_t each = amped_ceil_div(bytes, parallel ? (uint64_t)comm->nranks : 1);
  const uint64_t first = each * (uint64_t)comm->rank < bytes ? each * (uint64_t)comm->rank : bytes;
  const uint64_t end = bytes - first < each ? bytes : first + each;
  AMPED_MPI(comm, MPI_Barrier(comm->mpi));
  if (parallel || comm->rank == 0)
    status = amped_file_timing_read(path, first, end, &seconds);
  AMPED_TRY(amped_comm_agree(comm, status));
  w->parts[INPUT].bytes = w->parts[LOAD].bytes = (double)bytes;
  w->parts[INPUT].bound_sec = amped_comm_spread(comm, seconds).max;
  return AMPED_OK;
}

/* Collective; the status is agreed. Bound the transfer of nonzeros to the devices: in the input's
 * format, of each copy in it, an equal part for each rank. */
static amped_status bound_link(whole *w) {
  const amped_context context = amped_session_context(&w->session);
  const amped_input *input = w->session.input;
  double rate = 0.0;
  AMPED_TRY(amped_link_rate_device(&context, &rate));
  if (input == NULL || rate == 0.0)
    return AMPED_OK;
  const amped_tensor_info *info = amped_input_info(input);
  const double copies = info->has_copies ? amped_plan_copies(context.plan) : 1.0;
  const double bytes = copies * (double)info->nnz * (double)amped_slab_nonzero_bytes(info);
  w->parts[LINK].bytes = bytes;
  w->parts[LINK].bound_sec = bytes / context.comm->nranks / rate;
  return AMPED_OK;
}

/* Collective; the status is agreed. Time writing the bytes of the result. */
static amped_status bound_result(whole *w) {
  const amped_comm *comm = &w->session.comm;
  double seconds = 0.0;
  amped_status status = AMPED_OK;
  if (comm->rank == 0)
    status = amped_file_timing_write(w->outputs.results[0].path, w->result_bytes, &seconds);
  AMPED_TRY(amped_comm_agree(comm, status));
  w->parts[RESULT].bytes = amped_comm_spread(comm, (double)w->result_bytes).max;
  w->parts[RESULT].bound_sec = amped_comm_spread(comm, seconds).max;
  return AMPED_OK;
}

/* The most rows of all modes together that a rank owns. */
static double most_rows(const amped_plan *plan) {
  uint64_t most = 0;
  for (int p = 0; p < plan->nranks; p++) {
    uint64_t rows = 0;
    for (int m = 0; m < plan->order; m++)
      rows += plan->modes[m].rows.rank_rows[p];
    most = rows > most ? rows : most;
  }
  return (double)most;
}

/* Collective; the status is agreed. Bound the random start and the sweeps. Every rank gets all rows
 * of the start. Owners read and write their rows once per sweep. A rate of 0, not known, gives
 * infinite seconds. */
static amped_status bound_sweeps(whole *w) {
  const amped_plan *plan = &w->session.plan;
  const double row_bytes = (double)amped_plan_row_bytes(plan);
  const double sweeps = (double)w->solved.sweeps;
  amped_ceilings ceilings;
  double gather = 0.0;
  double rows = 0.0;
  AMPED_TRY(amped_ceilings_measure(&w->session, &ceilings));
  for (int m = 0; m < plan->order; m++) {
    const double seconds = amped_ceilings_mttkrp(&w->session, &ceilings, m);
    gather += seconds > 0.0 ? seconds : INFINITY;
    rows += (double)plan->dims[m];
  }
  part *parts = w->parts;
  parts[INIT].bytes = rows * row_bytes * plan->nranks;
  parts[INIT].bound_sec = rows * row_bytes / ceilings.read_rate;
  parts[MTTKRP].bytes = sweeps * (double)plan->nnz * plan->order * (plan->order - 1) * row_bytes;
  parts[MTTKRP].bound_sec = sweeps * gather;
  parts[REST].bytes = sweeps * 2.0 * rows * row_bytes;
  parts[REST].bound_sec = sweeps * 2.0 * most_rows(plan) * row_bytes / ceilings.read_rate;
  return AMPED_OK;
}

/* Collective; the status is agreed. Find all bounds. Call after the run, as measuring the link
 * overwrites a factor. Reading the file overlaps transfers to the device, so the larger bound
 * counts; the parts of a sweep follow each other. */
static amped_status find_bounds(whole *w) {
  part *parts = w->parts;
  AMPED_TRY(bound_sweeps(w));
  amped_trace_begin(AMPED_PHASE_BOUND, AMPED_NO_NUMBER);
  AMPED_TRY(bound_input(w));
  AMPED_TRY(bound_link(w));
  AMPED_TRY(bound_result(w));
  amped_trace_end();
  parts[LOAD].bound_sec = fmax(parts[INPUT].bound_sec, parts[LINK].bound_sec);
  parts[SWEEPS].bound_sec = parts[MTTKRP].bound_sec + parts[REST].bound_sec;
  return AMPED_OK;
}

/* --- reports --------------------------------------------------------------------------------- */

/* Add a part, with a line unless neither its time nor its bound is known. */
static void part_facts(const part *p, const char *name, bool inside, amped_facts *f) {
  amped_facts row;
  amped_facts_begin(&row, NULL);
  amped_fact(&row, "part", json_string(name), "%s%-*s", inside ? "  " : "", inside ? 14 : 16, name);
  amped_bench_cell(&row, "seconds", p->seconds, 1.0, 10, 4);
  amped_bench_cell(&row, "bytes", p->bytes, 1e-9, 9, 3);
  amped_bench_cell(&row, "bytes_per_second", p->bytes / p->seconds, 1e-9, 9, 3);
  amped_bench_cell(&row, "bound_seconds", p->bound_sec, 1.0, 10, 4);
  amped_bench_cell(&row, "bound_bytes_per_second", p->bytes / p->bound_sec, 1e-9, 10, 3);
  amped_bench_cell(&row, "times_bound", p->seconds / p->bound_sec, 1.0, 11, 2);
  if (!isfinite(p->seconds) && !isfinite(p->bound_sec)) /* no line */
    amped_facts_silence(&row);
  amped_facts_row(f, "parts", &row);
}

static amped_status tell(const whole *w) {
  const part *parts = w->parts;
  const double each = 1e3 / (double)w->solved.sweeps;
  amped_facts f;
  amped_facts_begin(&f, "whole");
  amped_fact_json(&f, "nnz", amped_json_count(w->session.plan.nnz));
  amped_fact(&f, "sweeps", amped_json_count(w->solved.sweeps),
             "a whole run with %" PRIu64
             " sweeps: seconds of the slowest rank, bytes of all ranks\n",
             w->solved.sweeps);
  amped_say("%-16s  %10s  %9s  %9s  %10s  %10s  %11s", "part", "s", "GB", "GB/s", "bound, s",
            "bound GB/s", "times bound");
  for (int i = 0; i < PARTS; i++)
    part_facts(&parts[i], names[i].name, names[i].inside, &f);
  amped_say("a sweep: %.3f ms, mttkrp %.3f, all else %.3f", each * parts[SWEEPS].seconds,
            each * parts[MTTKRP].seconds, each * parts[REST].seconds);
  return amped_facts_write(&f, w->session.json);
}

/* --- the command ----------------------------------------------------------------------------- */

static amped_status run(whole *w) {
  AMPED_TRY(load(w));
  AMPED_TRY(decompose(w));
  AMPED_TRY(save(w));
  find_times(w);
  AMPED_TRY(find_bounds(w));
  AMPED_TRY(amped_comm_agree(&w->session.comm, tell(w)));
  return amped_session_finish(&w->session, AMPED_OK);
}

amped_status amped_cmd_whole(const amped_options *o) {
  whole w = {.o = o};
  amped_status status = AMPED_OK;
  for (int i = 0; i < PARTS; i++)
    w.parts[i] = (part){(double)NAN, (double)NAN, (double)NAN};
  if (amped_launcher_rank() <= 0)
    status = amped_cpd_outputs_place(o, &w.outputs);
  status = amped_session_start(&w.session, &o->session, status);
  if (status == AMPED_OK)
    status = run(&w);
  amped_solver_result_free(&w.solved);
  amped_cpd_outputs_free(&w.outputs);
  amped_session_close(&w.session);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_labels_free(&w.labels[m]);
  return status;
}
