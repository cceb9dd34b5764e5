/* cpd: decomposes a sparse or dense tensor, for one or more numbers of components and starts. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/hdf5_probe.h"
#include "session/checkpoint.h"
#include "session/prepare.h"
#include "cli/commands.h"
#include "cli/cpd_outputs.h"
#include "cli/cpd_rows.h"
#include "cli/cpd_sampling.h"
#include "cli/option_rules.h"
#include "plan/dense_passes.h"
#include "session/fixed_model.h"
#include "session/init_file.h"
#include "solver/cpd/corcondia.h"
#include "solver/cpd/cpd_methods.h"
#include "solver/degeneracy.h"
#include "solver/outcome.h"
#include "solver/residual.h"
#include "tensor/form.h"
#include "tensor/format.h"
#include "base/launcher.h"
#include "base/log.h"
#include "base/mem.h"
#include "session/report.h"
#include "session/run_result.h"
#include "session/session.h"
#include "base/signals.h"
#include "session/summary.h"
#include "base/timer.h"
#include "base/trace.h"

/* Share of nonzeros above which the user is advised to use the dense form. */
#define HINT_DENSITY 0.1

/* Does the run make several decompositions: of several numbers of components, or starts? */
static bool is_several(const amped_options *o) {
  return o->session.ncomps_count > 1 || o->session.starts > 1;
}

/* Does a decomposition print one line, in place of lines for its sweeps? */
static bool is_brief(const amped_options *o) {
  return is_several(o) && o->cpd.every == 0;
}

/* Rank 0: read the start of --init. Its columns are balanced: only their directions count, and long
 * columns may not fit in --precision. */
static amped_status read_start(const amped_options *o, const amped_plan *plan,
                               const amped_labels *labels, amped_ktensor *start) {
  AMPED_TRY(amped_init_file_read(&o->session, plan, labels, plan->ncomps, NULL, start, NULL));
  amped_ktensor_balance(start);
  return amped_cpd_rows_check_start(&o->cpd.rule, start, o->session.init);
}

/* Is start `number`, from 1, normal? Uniform and normal starts alternate, because neither is better
 * for all tensors. Starts of a nonnegative model are uniform. */
static bool is_normal(const amped_options *o, int number) {
  return o->session.init_normal || (number % 2 == 0 && o->cpd.rule.nonnegative == 0);
}

/* Set random factors. Report the number of the start if there are several. */
static amped_status set_random(amped_session *session, const amped_options *o, int number) {
  const amped_context context = amped_session_context(session);
  const bool normal = is_normal(o, number);
  const char *kind = amped_init_word(normal);
  const uint64_t seed = o->seed + (uint64_t)number - 1;
  amped_status status = AMPED_OK;
  if (is_several(o) && !is_brief(o))
    amped_say("R = %d, start %d of %d: %s, seed %" PRIu64, session->plan.ncomps, number,
              o->session.starts, kind, seed);
  else if (!is_several(o))
    amped_say("start: %s, seed %" PRIu64, kind, seed);
  if (session->json != NULL && is_several(o))
    status = amped_json_line(session->json, json_pack("{s:s, s:i, s:i, s:i, s:s, s:o}", "event",
                                                      "init", "rank", session->plan.ncomps, "start",
                                                      number, "starts", o->session.starts, "init",
                                                      kind, "seed", amped_json_count(seed)));
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  return normal ? amped_factors_normal(&context, seed) : amped_factors_random(&context, seed);
}

/* Set random factors, or the factors of --init. number: of the start, from 1. labels: the tensor's,
 * on rank 0. */
static amped_status set_start(amped_session *session, const amped_options *o,
                              const amped_labels *labels, int number) {
  const amped_context context = amped_session_context(session);
  amped_ktensor start;
  amped_status status = AMPED_OK;
  if (o->session.init == NULL)
    return set_random(session, o, number);
  memset(&start, 0, sizeof start);
  if (session->comm.rank == 0)
    status = read_start(o, &session->plan, labels, &start);
  status = amped_comm_agree(&session->comm, status);
  if (status == AMPED_OK) {
    amped_say("start: %s", o->session.init);
    status = amped_factors_put(&context, &start);
  }
  amped_ktensor_free(&start);
  return status;
}

/* The data of the command, for the functions below. */
typedef struct job {
  amped_session *session;
  amped_options *own; /* the same options; modes of row rules are filled in later */
  const amped_options *o;
  amped_cpd_outputs outputs;
  amped_labels *labels;    /* [AMPED_MAX_ORDER], on rank 0 */
  bool *has_labels;        /* labels are read */
  amped_rbs_settings rbs;  /* settings of --method=rbs for the current R */
  amped_fixed_model fixed; /* factors of --fix */
  amped_ktensor start;     /* rank 0: start of --fix, until the first sweep */
  bool noise_reported;
  bool fractions_reported;
  char rows_text[AMPED_ROW_RULE_TEXT];
  const char *rows_key;         /* key of the row rule, for checkpoints */
  amped_checkpoint *checkpoint; /* NULL: none */
  amped_summary_row rows[AMPED_MAX_NCOMPS_COUNT];
  int finished; /* rows that are filled */
} job;

/* Rank 0: collect the results of several starts for the record. Empty for a single start. */
static amped_status record_starts(const amped_multistart *s, amped_run_starts *out) {
  memset(out, 0, sizeof *out);
  if (s->asked == 1)
    return AMPED_OK;
  const uint64_t n = (uint64_t)s->count;
  AMPED_TRY(amped_alloc(&out->seeds, n, sizeof *out->seeds, "the record of starts"));
  AMPED_TRY(amped_alloc(&out->sweeps, n, sizeof *out->sweeps, "the record of starts"));
  AMPED_TRY(amped_alloc(&out->normal, n, sizeof *out->normal, "the record of starts"));
  AMPED_TRY(amped_alloc(&out->values, n, sizeof *out->values, "the record of starts"));
  out->count = n;
  out->match = s->match;
  for (int i = 0; i < s->count; i++) {
    out->seeds[i] = s->all[i].seed;
    out->normal[i] = s->all[i].normal;
    out->sweeps[i] = s->all[i].result.sweeps;
    out->values[i] = amped_start_value(&s->all[i]);
  }
  return AMPED_OK;
}

static void free_starts_record(amped_run_starts *r) {
  amped_free(r->seeds);
  amped_free(r->sweeps);
  amped_free(r->normal);
  amped_free(r->values);
}

/* Collective: bring the factors to rank 0, which writes them with these weights and the record. */
static amped_status save(job *j, const amped_run_record *record, const double *weights,
                         const char *path) {
  amped_session *session = j->session;
  amped_run_result result;
  amped_trace_begin(AMPED_PHASE_WRITE, AMPED_NO_NUMBER);
  amped_status status =
      amped_run_result_gather(session, &j->o->cpd, &j->fixed, record, weights, j->labels, &result);
  if (status == AMPED_OK) {
    if (session->comm.rank == 0)
      status = amped_cpd_outputs_write(path, &result.model, &result.record);
    status = amped_comm_agree(&session->comm, status);
  }
  amped_trace_end();
  amped_run_result_free(&result);
  return status;
}

/* The start of a model, as --init names it. normal: of a random start. */
static const char *start_name(const job *j, bool normal) {
  const char *file = j->o->session.init;
  return file != NULL ? file : amped_init_word(normal);
}

/* Collective: save the best of the starts. */
static amped_status save_best(job *j, const amped_multistart *starts, double corcondia,
                              const char *path) {
  amped_start *best = &starts->all[starts->best];
  amped_run_record record = {.seed = best->seed,
                             .init = start_name(j, best->normal),
                             .stop_reason = best->result.stop_reason,
                             .metric = best->result.metric,
                             .history = best->result.history,
                             .sweeps = best->result.sweeps,
                             .corcondia = isnan(corcondia) ? NULL : &corcondia};
  amped_status status = amped_comm_agree(&j->session->comm, record_starts(starts, &record.starts));
  if (status == AMPED_OK)
    status = save(j, &record, best->result.weights, path);
  free_starts_record(&record.starts);
  return status;
}

/* Collective, after a signal between two sweeps: save the model so far. */
static amped_status save_partial(job *j, const amped_solver_state *state) {
  const amped_comm *comm = &j->session->comm;
  const char *path = j->outputs.partial.path;
  amped_run_record record = {.seed = j->o->seed,
                             .init = start_name(j, is_normal(j->o, 1)),
                             .stop_reason = "signal",
                             .metric = state->metric,
                             .history = state->history,
                             .sweeps = state->sweeps};
  amped_facts f;
  AMPED_TRY(save(j, &record, state->weights, path));
  amped_facts_begin(&f, "partial");
  amped_fact_json(&f, "sweep", amped_json_count(state->sweeps));
  amped_fact_json(&f, "output", amped_json_string(path));
  return amped_comm_agree(comm, amped_facts_write(&f, j->session->json));
}

/* Collective: has a signal reached any rank? False if the run does not catch signals. */
static bool is_stopped(const job *j) {
  uint64_t caught = amped_signals_caught() != NULL;
  if (!is_several(j->o) && !j->o->checkpoint.result_on_signal)
    return false;
  amped_comm_sum_u64(&j->session->comm, &caught, 1);
  return caught > 0;
}

/* Report a sweep, and stop after a signal. A single decomposition stops only if it has a checkpoint
 * or --on-signal=result; several decompositions always do. */
static amped_status after_sweep(void *context, const amped_sweep *sweep) {
  job *j = context;
  amped_status status = AMPED_OK;
  const bool brief = is_brief(j->o);
  AMPED_TRY(amped_report_sweep(j->session, sweep, brief ? AMPED_NO_LINES : j->o->cpd.every));
  if (brief)
    amped_progress_update(sweep->number);
  if (j->checkpoint != NULL)
    status = amped_checkpoint_sweep(j->checkpoint, sweep);
  else if (is_stopped(j))
    status = AMPED_STOPPED;
  if (status != AMPED_STOPPED || !j->o->checkpoint.result_on_signal)
    return status;
  AMPED_TRY(save_partial(j, sweep->state));
  if (j->session->comm.rank > 0)
    return amped_comm_agree(&j->session->comm, AMPED_STOPPED);
  if (j->checkpoint != NULL) /* the checkpoint's error ends the run */
    amped_say("result so far: %s", j->outputs.partial.path);
  else
    (void)amped_error(AMPED_STOPPED, j->outputs.partial.path,
                      "holds the result after sweep %" PRIu64
                      "; a signal stopped the run; --init continues from it, with another -o",
                      sweep->number);
  return amped_comm_agree(&j->session->comm, AMPED_STOPPED);
}

/* Collective: set the factors of --fix and the start of the others. */
static amped_status set_fixed_start(job *j) {
  const amped_context context = amped_session_context(j->session);
  amped_say("start: %s", j->o->session.init);
  const amped_status status = amped_factors_put(&context, &j->start);
  amped_ktensor_free(&j->start);
  return status;
}

/* --- reports --------------------------------------------------------------------------------- */

/* The number of a column's component in the result: its weights descend, unless modes are fixed. */
static int component_of(const job *j, const double *weights, int column) {
  int number = 1;
  if (j->fixed.modes != 0)
    return column + 1;
  for (int r = 0; r < j->session->plan.ncomps; r++)
    number += weights[r] > weights[column] || (weights[r] == weights[column] && r < column);
  return number;
}

/* Note that components cancel each other. */
static void note_degeneracy(const job *j, const double *weights, const amped_degeneracy *d) {
  if (!(d->congruence < AMPED_DEGENERATE))
    return;
  const int a = component_of(j, weights, d->first);
  const int b = component_of(j, weights, d->second);
  amped_say("note: components %d and %d cancel each other (congruence %.3f), and neither means "
            "anything alone; use fewer components, --nonnegative or --ridge",
            a < b ? a : b, a < b ? b : a, d->congruence);
}

/* Add the times of a sweep. */
static void add_times(const amped_solver_result *r, amped_facts *f) {
  const amped_sweep_times *t = &r->times;
  const double n = r->sweeps > r->earlier ? (double)(r->sweeps - r->earlier) : 1.0;
  amped_fact_words(f, "; %.4f s a sweep: mttkrp %.4f, solve %.4f, exchange %.4f", t->total / n,
                   amped_report_part(t->mttkrp / n), amped_report_part(t->solve / n),
                   amped_report_part(t->exchange / n));
  amped_fact_json(f, "seconds", amped_json_number(t->total));
  amped_fact_json(f, "mttkrp_seconds", amped_json_number(t->mttkrp));
  amped_fact_json(f, "solve_seconds", amped_json_number(t->solve));
  amped_fact_json(f, "exchange_seconds", amped_json_number(t->exchange));
}

static amped_status tell_end(job *j, amped_start *best, double corcondia,
                             const amped_degeneracy *degeneracy, const char *path) {
  amped_solver_result *r = &best->result;
  /* with samples, --tol is not about the fit */
  const amped_outcome outcome =
      amped_outcome_of(r, amped_cpd_samples(j->o) ? 0.0 : j->o->cpd.tol, j->o->cpd.stop_fit);
  char text[AMPED_CORCONDIA_TEXT];
  amped_facts f;
  const bool one_line =
      is_brief(j->o) && j->o->session.ncomps_count > 1; /* the table has the rest */
  amped_facts_begin(&f, "end");
  f.waits = one_line;
  amped_fact_json(&f, "rank", json_integer(j->session->plan.ncomps));
  if (is_several(j->o))
    amped_fact_words(&f, "R = %d: ", j->session->plan.ncomps);
  amped_fact_json(&f, "seed", amped_json_count(best->seed));
  amped_fact_json(&f, "init", amped_json_string(start_name(j, best->normal)));
  amped_fact_json(&f, "reason", json_string(r->stop_reason));
  amped_fact_json(&f, r->metric, amped_json_number(amped_start_value(best)));
  amped_fact(&f, "sweeps", amped_json_count(r->sweeps), "%s", outcome.text);
  amped_say_quiet("%s%s%s", f.words, path != NULL ? "; result: " : "", path != NULL ? path : "");
  add_times(r, &f);
  amped_facts_say(&f);
  amped_facts_join(&f, &r->facts);
  amped_fact_json(&f, "corcondia", amped_json_number(corcondia));
  if (!isnan(corcondia))
    amped_fact_words(&f, "core consistency %s\n", amped_corcondia_text(text, corcondia));
  amped_fact_json(&f, "congruence", amped_json_number(degeneracy->congruence));
  amped_fact_json(&f, "output", amped_json_string(path));
  if (path != NULL)
    amped_fact_words(&f, "result: %s%s (amped_mpi top %s shows it)", path,
                     j->o->output == NULL ? " in the current folder" : "", path);
  if (one_line)
    amped_facts_silence(&f);
  amped_facts_say(&f);
  note_degeneracy(j, r->weights, degeneracy);
  return amped_facts_write(&f, j->session->json);
}

/* Rank 0: the error after a signal that stopped several decompositions. */
static amped_status tell_stopped(const job *j, int ncomps, int starts_done) {
  const amped_options *o = j->o;
  if (starts_done > 0)
    return amped_error(
        AMPED_STOPPED, NULL,
        "a signal stopped the run at R = %d after %d of %d starts, the best of which is its "
        "result; run the missing values and starts with other --rank and --seed",
        ncomps, starts_done, o->session.starts);
  return amped_error(AMPED_STOPPED, NULL,
                     "a signal stopped the run at R = %d before a start was finished; %d of %d "
                     "values of --rank are done; run the others again",
                     ncomps, j->finished, o->session.ncomps_count);
}

/* --- running --------------------------------------------------------------------------------- */

/* Show the sweeps of a start that have no lines. */
static void begin_progress(const job *j, int number) {
  const amped_options *o = j->o;
  char label[64];
  (void)snprintf(label, sizeof label, "R = %d, start %d of %d", j->session->plan.ncomps, number,
                 o->session.starts);
  if (is_brief(o))
    amped_progress_begin(label, amped_cpd_samples(o) ? 0 : o->cpd.iters, "sweeps");
}

/* The line of a start, if its sweeps have none. One start has the line of its result. */
static void tell_run(const job *j, int number, const amped_solver_result *r) {
  const amped_options *o = j->o;
  const amped_outcome outcome =
      amped_outcome_of(r, amped_cpd_samples(o) ? 0.0 : o->cpd.tol, o->cpd.stop_fit);
  if (is_brief(o) && o->session.starts > 1)
    amped_say("R = %d, start %d of %d: %s, seed %" PRIu64 ": %s, %.3f s", j->session->plan.ncomps,
              number, o->session.starts, amped_init_word(is_normal(o, number)),
              o->seed + (uint64_t)number - 1, outcome.text, r->times.total);
}

/* Run the sweeps of one start, from its beginning or from the last checkpoint. */
static amped_status sweep(job *j, int number, amped_solver_result *result) {
  amped_session *session = j->session;
  const amped_options *o = j->o;
  const amped_context context = amped_session_context(session);
  const amped_cpd_method *method = amped_cpd_method_of(&o->cpd);
  const amped_checkpoint_recipe recipe = {.method =
                                              o->cpd.method == AMPED_CPD_ALS ? NULL : method->name,
                                          .loss = amped_loss_name(&o->cpd),
                                          .accelerate = amped_accelerate_name(o->cpd.accelerate),
                                          .rows = j->rows_key,
                                          .fixed = j->fixed.modes != 0 ? j->fixed.key : NULL};
  const amped_cpd_sampling sampling = {&j->rbs, session->outside ? session->dense : NULL,
                                       o->seed + (uint64_t)number - 1};
  amped_cpd_options how = o->cpd;
  amped_solver_state state = {.order = 0};
  amped_saved_factors before = {.order = 0};
  amped_iterate_options als_options = {.iters = o->cpd.iters,
                                       .tol = o->cpd.tol,
                                       .goal = o->cpd.stop_fit,
                                       .seconds = o->cpd.seconds,
                                       .noise_reported = &j->noise_reported,
                                       .after_sweep = after_sweep,
                                       .context = j};
  bool resumed = false;
  amped_status status = AMPED_OK;
  amped_trace_begin(AMPED_PHASE_INIT, AMPED_NO_NUMBER);
  AMPED_GO(done, amped_checkpoint_open(session, &o->checkpoint, method->solver(&o->cpd), &recipe,
                                       &j->checkpoint));
  if (o->checkpoint.resume)
    AMPED_GO(done, amped_checkpoint_resume(j->checkpoint, &state, &before, &resumed));
  if (!resumed)
    AMPED_GO(done,
             j->fixed.modes != 0 ? set_fixed_start(j) : set_start(session, o, j->labels, number));
  if (o->checkpoint.result_on_signal)
    AMPED_GO(done, amped_comm_agree(&session->comm, amped_signals_catch()));
  amped_trace_end();
  als_options.start = resumed ? &state : NULL;
  how.sampling = &sampling;
  how.from_model = o->session.init != NULL;
  how.fractions_reported = &j->fractions_reported;
  begin_progress(j, number);
  status = method->run(&context, &how, &before, &als_options, result);
  if (is_brief(o))
    amped_progress_end();
  AMPED_GO(done, status);
  if (j->checkpoint != NULL)
    status = amped_checkpoint_wait(j->checkpoint);
  if (status != AMPED_OK)
    amped_solver_result_free(result);
done:
  amped_checkpoint_close(j->checkpoint);
  j->checkpoint = NULL;
  amped_saved_factors_free(&before);
  amped_solver_state_free(&state);
  return status;
}

/* Run all starts, or those until the first that reaches --stop-fit. Returns AMPED_STOPPED if a
 * signal came before the last start was done. */
static amped_status run_starts(job *j, amped_multistart *starts) {
  const amped_context context = amped_session_context(j->session);
  const int asked = j->o->session.starts;
  bool is_enough = false;
  for (int number = 1; number <= asked && !is_enough; number++) {
    amped_solver_result result;
    AMPED_TRY(sweep(j, number, &result));
    tell_run(j, number, &result);
    is_enough = amped_solver_result_has_reached(&result, j->o->cpd.stop_fit);
    AMPED_TRY(amped_multistart_add(&context, starts, j->o->seed + (uint64_t)number - 1,
                                   is_normal(j->o, number), &result));
    if (is_enough && number < asked)
      amped_say("start %d of %d reached --stop-fit; no other start is made", number, asked);
  }
  return AMPED_OK;
}

/* Find the core consistency in per cent. NaN if it is not asked for, or takes too many MTTKRPs. */
static amped_status find_corcondia(job *j, const amped_start *best, double *percent) {
  const amped_context context = amped_session_context(j->session);
  const amped_plan *plan = context.plan;
  int dependent = -1;
  *percent = (double)NAN;
  if (!j->o->cpd.corcondia)
    return AMPED_OK;
  if (amped_corcondia_passes(plan->order, plan->ncomps) > AMPED_CORCONDIA_PASSES) {
    amped_warn("R = %d: no core consistency, which would take more than %d MTTKRPs", plan->ncomps,
               AMPED_CORCONDIA_PASSES);
    return AMPED_OK;
  }
  AMPED_TRY(amped_corcondia(&context, best->result.weights, percent, &dependent));
  if (dependent >= 0)
    amped_warn(
        "R = %d: the columns of mode %d's factor (%" PRIu64
        " rows) are not independent; the core consistency means little, use fewer components",
        plan->ncomps, dependent + 1, plan->dims[dependent]);
  return AMPED_OK;
}

/* Choose the best of the finished starts, save it and report it. */
static amped_status finish_starts(job *j, const char *path, amped_multistart *starts,
                                  bool stopped) {
  const amped_context context = amped_session_context(j->session);
  double corcondia = (double)NAN;
  double seconds = 0.0;
  amped_degeneracy degeneracy;
  AMPED_TRY(amped_multistart_choose(&context, starts));
  AMPED_TRY(amped_degeneracy_find(&context, &j->o->cpd.fixed, &degeneracy));
  amped_start *best = &starts->all[starts->best];
  if (starts->asked > 1)
    AMPED_TRY(amped_summary_starts(j->session, starts,
                                   j->o->session.ncomps_count == 1 || !is_brief(j->o)));
  if (!stopped)
    AMPED_TRY(find_corcondia(j, best, &corcondia));
  if (!j->o->nowrite)
    AMPED_TRY(save_best(j, starts, corcondia, path));
  amped_report_memory(j->session);
  for (int i = 0; i < starts->count; i++)
    seconds += starts->all[i].result.times.total;
  j->rows[j->finished++] = (amped_summary_row){.ncomps = context.plan->ncomps,
                                               .metric = best->result.metric,
                                               .value = amped_start_value(best),
                                               .sweeps = best->result.sweeps,
                                               .reason = best->result.stop_reason,
                                               .match = amped_summary_match(starts),
                                               .seconds = seconds,
                                               .corcondia = corcondia,
                                               .path = path};
  return amped_comm_agree(&j->session->comm, tell_end(j, best, corcondia, &degeneracy, path));
}

/* Decompose with one number of components. */
static amped_status decompose(job *j, int i) {
  const amped_comm *comm = &j->session->comm;
  const int ncomps = j->o->session.ncomps_list[i];
  amped_multistart starts = {.count = 0};
  AMPED_TRY(amped_session_set_ncomps(j->session, ncomps));
  AMPED_TRY(amped_cpd_sampling_set(j->session, j->o, &j->rbs));
  amped_status status =
      amped_comm_agree(comm, amped_multistart_create(j->o->session.starts, &starts));
  if (status == AMPED_OK)
    status = run_starts(j, &starts);
  const bool stopped = status == AMPED_STOPPED && is_several(j->o);
  const int done = starts.count;
  if (status == AMPED_OK || (stopped && done > 0)) {
    amped_status finished = finish_starts(j, j->outputs.results[i].path, &starts, stopped);
    status = finished != AMPED_OK ? finished : status;
  }
  amped_multistart_free(&starts);
  if (stopped && status == AMPED_STOPPED)
    status = amped_comm_agree(comm, comm->rank == 0 ? tell_stopped(j, ncomps, done) : status);
  return status;
}

/* Collective, before the first sweep: check that there is enough disk space. */
static amped_status check_room(const job *j) {
  const amped_session *session = j->session;
  amped_status status = AMPED_OK;
  if (session->comm.rank == 0)
    status = amped_cpd_outputs_room(j->o, &j->outputs, &session->plan, j->labels);
  return amped_comm_agree(&session->comm, status);
}

/* Collective: read the factors of --fix, and the start of the others. */
static amped_status read_fixed(job *j) {
  const amped_options *o = j->o;
  const amped_comm *comm = &j->session->comm;
  amped_status status = AMPED_OK;
  const amped_fixed_request request = {
      .modes = o->cpd.fixed.modes, .nonnegative = o->cpd.rule.nonnegative, .outside = true};
  AMPED_TRY(amped_fixed_model_read(j->session, &request, j->labels, &j->fixed, &j->start, NULL));
  if (comm->rank == 0)
    status = amped_cpd_rows_check_start(&o->cpd.rule, &j->start, o->session.init);
  j->own->cpd.fixed = amped_fixed_model_modes(&j->fixed);
  return amped_comm_agree(comm, status);
}

/* Decompose with all numbers of components, in the user's order. */
static amped_status decompose_all(job *j) {
  const amped_options *o = j->o;
  amped_status status = AMPED_OK;
  /* Read before the first sweep, so that an error costs no sweep. */
  if ((!o->nowrite || o->session.init != NULL) && !*j->has_labels)
    AMPED_TRY(amped_session_labels(j->session, j->labels));
  if (o->session.fix != NULL)
    AMPED_TRY(read_fixed(j));
  AMPED_TRY(check_room(j));
  if (amped_cpd_method_of(&o->cpd)->described != NULL)
    amped_say("%s", amped_cpd_method_of(&o->cpd)->described);
  if (o->cpd.loss == AMPED_LOSS_SQUARES)
    AMPED_TRY(amped_cpd_rows_tell_start(j->session, &o->cpd.rule));
  if (is_several(o))
    AMPED_TRY(amped_comm_agree(&j->session->comm, amped_signals_catch()));
  for (int i = 0; i < o->session.ncomps_count && status == AMPED_OK; i++)
    status = decompose(j, i);
  if (o->session.ncomps_count > 1 && j->finished > 0 &&
      (status == AMPED_OK || status == AMPED_STOPPED)) {
    amped_status told = amped_summary_ranks(j->session, j->rows, j->finished);
    status = told != AMPED_OK ? told : status;
  }
  return status;
}

/* Check that --corcondia can be computed for some number of components. */
static amped_status check_corcondia(const amped_options *o, const amped_plan *plan) {
  int least = o->session.ncomps;
  for (int i = 0; i < o->session.ncomps_count; i++)
    least = o->session.ncomps_list[i] < least ? o->session.ncomps_list[i] : least;
  if (o->cpd.corcondia && plan->order == 2)
    return amped_error(AMPED_USAGE, NULL,
                       "--corcondia is about 100 %% for any matrix and any R; leave it out");
  if (!o->cpd.corcondia || amped_corcondia_passes(plan->order, least) <= AMPED_CORCONDIA_PASSES)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL,
                     "--corcondia computes R^(order - 2) MTTKRPs, at most %d, and with order %d "
                     "and R = %d there are more; leave it out or use fewer components",
                     AMPED_CORCONDIA_PASSES, plan->order, least);
}

/* Collective: find the modes of --fix. Row rules are about the others. */
static amped_status find_fixed_modes(const job *j) {
  const char *fix = j->o->session.fix;
  const char *nonnegative = j->o->cpd.nonnegative;
  amped_cpd_options *cpd = &j->own->cpd;
  if (fix == NULL)
    return AMPED_OK;
  if (!*j->has_labels)
    AMPED_TRY(amped_session_labels(j->session, j->labels));
  *j->has_labels = true;
  AMPED_TRY(amped_fixed_model_find_modes(j->session, fix, j->labels, &cpd->fixed.modes));
  if (nonnegative != NULL && strcmp(nonnegative, "all") != 0 &&
      (cpd->rule.nonnegative & cpd->fixed.modes) != 0)
    return amped_error(AMPED_USAGE, NULL,
                       "--nonnegative=%s and --fix=%s name the same mode, whose factor stays as it "
                       "is; name it with one of the two",
                       nonnegative, fix);
  cpd->rule.nonnegative &= ~cpd->fixed.modes;
  return AMPED_OK;
}

/* Check that the components of a matrix mean something: any invertible mix of them has the same
 * fit, unless both factors are nonnegative. */
static amped_status check_matrix(const amped_options *o, const amped_plan *plan) {
  const amped_row_rule *rule = &o->cpd.rule;
  if (plan->order > 2 ||
      (amped_row_rule_is_nonnegative(rule, 0) && amped_row_rule_is_nonnegative(rule, 1)))
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL,
                     "the tensor is a matrix, whose components are not unique unless the factors "
                     "of both modes are nonnegative; add --nonnegative");
}

/* Collective; the status is agreed. Check that a dense tensor of counts, which is read as a list,
 * has no missing cells: they would count as 0. */
static amped_status check_missing(const job *j, const amped_plan *plan) {
  const amped_session_options *o = &j->o->session;
  const amped_comm *comm = &j->session->comm;
  amped_status status = AMPED_OK;
  bool is_dense = false;
  uint64_t cells = 1;
  if (j->o->cpd.loss != AMPED_LOSS_POISSON || o->shape.name != NULL)
    return AMPED_OK;
  if (comm->rank == 0)
    status = amped_dense_source_is(o->input, o->dataset, &is_dense);
  for (int m = 0; m < plan->order && is_dense; m++)
    cells *= plan->dims[m];
  if (status == AMPED_OK && is_dense && plan->nnz < cells)
    status = amped_error(AMPED_BAD_INPUT, o->input,
                         "%" PRIu64 " of its cells are missing, and --loss=poisson would take them "
                         "as 0; write 0 there, or fit what is known with amped_mpi complete",
                         cells - plan->nnz);
  return amped_comm_agree(comm, status);
}

/* Check the options against the plan, before any nonzero is read. The tensor's hash is known now:
 * check which files the run replaces. */
static amped_status check_plan(const amped_worker *worker, const amped_plan *plan,
                               const void *context) {
  const job *j = context;
  (void)worker;
  AMPED_TRY(check_corcondia(j->o, plan));
  AMPED_TRY(check_missing(j, plan));
  AMPED_TRY(amped_cpd_sampling_check_plan(j->session, j->o, plan));
  AMPED_TRY(amped_cpd_rows_find_modes(j->session, &j->own->cpd, j->labels, j->has_labels));
  AMPED_TRY(find_fixed_modes(j));
  AMPED_TRY(check_matrix(j->o, plan));
  if (j->session->is_dense && !amped_session_info(j->session)->has_hash)
    return AMPED_OK; /* the hash is known when the cells are read */
  return amped_cpd_outputs_compare(j->o, &j->outputs, amped_session_info(j->session)->hash);
}

static bool left_outside(const amped_session *session, const amped_requirement *required,
                         const void *context) {
  const job *j = context;
  return amped_cpd_sampling_left_outside(session, j->o, required);
}

static void solver_rows(const amped_plan *plan, const void *context, amped_memory_rows *rows) {
  const job *j = context;
  const amped_options *o = j->o;
  amped_memory_row_add(rows, "factors of finished starts")->host_bytes +=
      amped_multistart_bytes(plan, o->session.starts, o->cpd.corcondia);
  amped_memory_row_add(rows, "residual of a fit near 1")->host_bytes +=
      amped_residual_host_bytes(plan);
  amped_memory_row *fixed = amped_memory_row_add(rows, "fixed factors");
  for (int m = 0; m < plan->order && plan->rank == 0; m++)
    if (amped_fixed_modes_has(&o->cpd.fixed, m))
      fixed->host_bytes += plan->dims[m] * (uint64_t)plan->ncomps * sizeof(double);
  amped_memory_row *solver = amped_memory_row_add(rows, "solver");
  amped_cpd_method_of(&o->cpd)->require(&j->session->worker, plan, &o->cpd, &solver->device_bytes,
                                        &solver->host_bytes);
  amped_memory_row *sampling = amped_memory_row_add(rows, "block sampling");
  amped_cpd_sampling_require(&j->session->worker, o, plan, &sampling->device_bytes,
                             &sampling->host_bytes);
}

/* Advise the dense form if it would take less time for this sparse tensor. */
static void say_form(const amped_session *session, const amped_cpd_options *cpd) {
  const amped_tensor_info *info = amped_session_info(session);
  const double density = amped_form_density(info->order, info->dims, info->nnz);
  if (cpd->loss == AMPED_LOSS_SQUARES && !session->is_dense &&
      session->options->shape.name == NULL && density > HINT_DENSITY)
    amped_say("note: %.3g %% of the cells are stored; amped_mpi convert --dense makes a dense "
              "tensor of it, which takes less time",
              100.0 * density);
}

/* Are all values whole numbers above 0? False if there are too many distinct ones to know. */
static bool are_counts(const amped_dictionary *d) {
  bool whole = d->count > 1 && d->values[0] > 0.0;
  for (uint64_t i = 0; i < d->count && whole; i++)
    whole = d->values[i] == floor(d->values[i]);
  return whole;
}

/* Advise the loss for counts. */
static void say_counts(const amped_session *session, const amped_cpd_options *cpd) {
  if (!session->is_dense && session->options->shape.name == NULL &&
      amped_row_rule_is_plain(&cpd->rule) && are_counts(&amped_session_info(session)->dictionary))
    amped_say("note: the values are whole numbers; if they are counts, --loss=poisson fits them as "
              "counts, with components that add up to them");
}

/* Take what --loss=poisson implies: no entry is negative, and a dense tensor is read as the list of
 * its cells. */
static void take_loss(amped_options *o) {
  if (o->cpd.loss != AMPED_LOSS_POISSON)
    return;
  o->cpd.rule.nonnegative = AMPED_ALL_MODES;
  o->session.lists_cells = true;
}

amped_status amped_cmd_cpd(const amped_options *options) {
  amped_session session;
  amped_options own = *options;
  const amped_options *o = &own;
  const bool counts = o->cpd.loss == AMPED_LOSS_POISSON;
  amped_labels labels[AMPED_MAX_ORDER] = {{.count = 0}};
  job j = {
      .session = &session, .own = &own, .o = o, .labels = labels, .has_labels = &(bool){false}};
  const bool saves_two = o->checkpoint.file != NULL && o->cpd.accelerate != AMPED_ACCELERATE_NONE;
  /* Factor sets that rank 0 holds while it writes: one for a checkpoint or the result, and a second
   * for checkpoints of accelerated sweeps, which have the factors of the sweep before. */
  const amped_demand demand = {.result_bytes = saves_two ? 2 * sizeof(double)
                                               : o->nowrite && o->checkpoint.file == NULL
                                                   ? 0
                                                   : sizeof(double),
                               .solver_rows = solver_rows,
                               .watches_negative = o->cpd.rule.nonnegative != 0,
                               .takes_cells = true,
                               .left_outside = left_outside,
                               .takes_one_copy = !counts,
                               .check = check_plan,
                               .context = &j};
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_cpd_outputs_check_names(o));
  take_loss(&own);
  if (!o->checkpoint.result_on_signal && o->checkpoint.file == NULL && !is_several(o))
    amped_signals_advise(" (--checkpoint=FILE or --on-signal=result would save the sweeps)");
  if (amped_launcher_rank() <= 0)
    status = amped_cpd_outputs_look(o, &j.outputs);
  if (o->checkpoint.resume && amped_launcher_rank() <= 0)
    amped_hdf5_probe_with_previous(o->checkpoint.file);
  status = amped_session_start(&session, &o->session, status);
  if (status == AMPED_OK)
    status = amped_comm_agree(
        &session.comm, session.comm.rank == 0 ? amped_cpd_outputs_lock(&j.outputs) : AMPED_OK);
  if (status == AMPED_OK)
    status =
        amped_init_file_set_ncomps(&session.comm, amped_option_rules_hold(o, "rank"), &own.session);
  if (status == AMPED_OK)
    status = amped_session_prepare(&session, &demand);
  if (status == AMPED_OK && session.is_dense && !o->session.plan_only)
    status = amped_comm_agree(
        &session.comm,
        amped_cpd_outputs_compare(o, &j.outputs, amped_session_info(&session)->hash));
  if (status == AMPED_OK) {
    say_form(&session, &o->cpd);
    say_counts(&session, &o->cpd);
  }
  j.rows_key = amped_row_rule_key(&o->cpd.rule, session.plan.order, j.rows_text);
  if (status == AMPED_OK && o->session.shape.name != NULL)
    amped_warn("the random tensor like %s has repeated cells, and its norm counts each of them: "
               "fits are too high, up to 1; use this run for its times only",
               o->session.shape.name);
  if (status == AMPED_OK)
    status = o->session.plan_only ? amped_cpd_sampling_set(&session, o, &j.rbs) : decompose_all(&j);
  status = amped_session_finish(&session, status);
  amped_cpd_outputs_free(&j.outputs);
  amped_fixed_model_free(&j.fixed);
  amped_ktensor_free(&j.start);
  amped_session_close(&session);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_labels_free(&labels[m]);
  return status;
}
