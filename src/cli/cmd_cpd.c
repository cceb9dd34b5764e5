/* cpd: decomposes a sparse or dense tensor, for one or more numbers of components and starts. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/checkpoint.h"
#include "session/prepare.h"
#include "cli/commands.h"
#include "cli/cpd_outputs.h"
#include "cli/cpd_rows.h"
#include "cli/cpd_sampling.h"
#include "cli/option_rules.h"
#include "factor/columns.h"
#include "plan/dense_passes.h"
#include "session/fixed_model.h"
#include "session/init_file.h"
#include "session/lines.h"
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
  const char *rows_key;     /* key of the row rule, for checkpoints */
  amped_checkpoint *writer; /* several models: the one whose checkpoint is being written */
  amped_file_lock lock;     /* several models: of --checkpoint's FILE, on rank 0 */
  amped_lines *lines;       /* lines of the models, in their order */
  amped_multistart *starts; /* [ncomps_count] */
  amped_summary_row rows[AMPED_MAX_NCOMPS_COUNT];
  int finished; /* rows that are filled */
} job;

/* A model of the run: one number of components, one start. */
typedef struct model {
  job *j;
  int index;                /* among all models of the run */
  int ncomps, number;       /* components; number of the start, from 1 */
  amped_multistart *starts; /* collects its result */
  amped_columns columns;    /* if it is one of several side by side */
  amped_context context;
  bool is_alone; /* no model is beside it */
  amped_iterate_options options;
  amped_solver_result result;
  char *file;                   /* file of its checkpoint */
  amped_checkpoint *checkpoint; /* NULL: none */
  amped_checkpoint_model one;   /* if there are several models */
  amped_solver_state state;     /* state of the checkpoint from which it goes on, and the second */
  amped_saved_factors before;   /* set of factors there */
} model;

static uint64_t seed_of(const model *m) {
  return m->j->o->seed + (uint64_t)m->number - 1;
}

/* The kind of the model's random start. */
static bool is_normal_start(const model *m) {
  return is_normal(m->j->o, m->number);
}

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

/* Collective, after a signal: save the checkpoints of these models after these sweeps, and stop. */
static amped_status stop_models(const model *models, const int *numbers, int count,
                                const amped_sweep *sweeps) {
  const job *j = models->j;
  const bool saves = is_several(j->o) && j->o->checkpoint.file != NULL;
  amped_status status = AMPED_STOPPED;
  for (int k = 0; k < count && saves; k++)
    AMPED_TRY(amped_checkpoint_save_model(models[numbers[k]].checkpoint, sweeps[k].state));
  if (saves && j->session->comm.rank == 0)
    status = amped_error(AMPED_STOPPED, j->o->checkpoint.file,
                         "names the checkpoints of %d models that had not ended; a signal stopped "
                         "them; continue with --resume",
                         count);
  return amped_comm_agree(&j->session->comm, status);
}

/* Report a sweep, and stop after a signal. A single decomposition stops only if it has a checkpoint
 * or --on-signal=result; several decompositions always do. */
static amped_status after_sweep(void *context, const amped_sweep *sweep) {
  const model *m = context;
  job *j = m->j;
  amped_status status = AMPED_OK;
  amped_facts f;
  const bool brief = is_brief(j->o);
  amped_report_sweep_facts(j->session, sweep, brief ? AMPED_NO_LINES : j->o->cpd.every, &f);
  AMPED_TRY(amped_comm_agree(&j->session->comm, amped_lines_facts(j->lines, m->index, &f)));
  if (brief)
    amped_progress_update(sweep->number);
  if (m->checkpoint != NULL && is_several(j->o))
    status = amped_checkpoint_sweep_model(m->checkpoint, sweep->state);
  else if (m->checkpoint != NULL)
    status = amped_checkpoint_sweep(m->checkpoint, sweep);
  if (status == AMPED_OK && m->is_alone && is_stopped(j))
    status = stop_models(m, &(int){0}, 1, sweep);
  if (status != AMPED_STOPPED || !j->o->checkpoint.result_on_signal)
    return status;
  AMPED_TRY(save_partial(j, sweep->state));
  if (j->session->comm.rank > 0)
    return amped_comm_agree(&j->session->comm, AMPED_STOPPED);
  if (m->checkpoint != NULL) /* the checkpoint's error ends the run */
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

/* Report a random start, if it is one of several. */
static amped_status tell_random(const model *m) {
  const job *j = m->j;
  const char *kind = amped_init_word(is_normal_start(m));
  amped_facts f;
  if (!is_several(j->o)) {
    amped_say("start: %s, seed %" PRIu64, kind, seed_of(m));
    return AMPED_OK;
  }
  amped_facts_begin(&f, "init");
  if (!is_brief(j->o))
    amped_fact_words(&f, "R = %d, start %d of %d: %s, seed %" PRIu64, m->ncomps, m->number,
                     j->o->session.starts, kind, seed_of(m));
  amped_fact_json(&f, "rank", json_integer(m->ncomps));
  amped_fact_json(&f, "start", json_integer(m->number));
  amped_fact_json(&f, "starts", json_integer(j->o->session.starts));
  amped_fact_json(&f, "init", json_string(kind));
  amped_fact_json(&f, "seed", amped_json_count(seed_of(m)));
  return amped_lines_facts(j->lines, m->index, &f);
}

/* Set random factors. */
static amped_status set_random(const model *m) {
  AMPED_TRY(amped_comm_agree(m->context.comm, tell_random(m)));
  return is_normal_start(m) ? amped_factors_normal(&m->context, seed_of(m))
                            : amped_factors_random(&m->context, seed_of(m));
}

/* Set random factors, or the factors of --init or --fix. */
static amped_status set_start(const model *m) {
  job *j = m->j;
  amped_ktensor start;
  amped_status status = AMPED_OK;
  if (j->fixed.modes != 0)
    return set_fixed_start(j);
  if (j->o->session.init == NULL)
    return set_random(m);
  memset(&start, 0, sizeof start);
  if (m->context.comm->rank == 0)
    status = read_start(j->o, m->context.plan, j->labels, &start);
  status = amped_comm_agree(m->context.comm, status);
  if (status == AMPED_OK) {
    amped_say("start: %s", j->o->session.init);
    status = amped_factors_put(&m->context, &start);
  }
  amped_ktensor_free(&start);
  return status;
}

/* Show the sweeps of models that have no lines. */
static void begin_progress(const model *models, int count) {
  const amped_options *o = models->j->o;
  char label[64];
  if (count == 1)
    (void)snprintf(label, sizeof label, "R = %d, start %d of %d", models->ncomps, models->number,
                   o->session.starts);
  else
    (void)snprintf(label, sizeof label, "%d models side by side", count);
  if (is_brief(o))
    amped_progress_begin(label, amped_cpd_samples(o) ? 0 : o->cpd.iters, "sweeps");
}

/* The line of a start, if its sweeps have none. One start has the line of its result. */
static amped_status tell_run(const model *m) {
  const amped_options *o = m->j->o;
  const amped_outcome outcome =
      amped_outcome_of(&m->result, amped_cpd_samples(o) ? 0.0 : o->cpd.tol, o->cpd.stop_fit);
  char words[sizeof outcome.text + 128];
  if (!is_brief(o) || o->session.starts == 1)
    return AMPED_OK;
  (void)snprintf(words, sizeof words, "R = %d, start %d of %d: %s, seed %" PRIu64 ": %s, %.3f s",
                 m->ncomps, m->number, o->session.starts, amped_init_word(is_normal_start(m)),
                 seed_of(m), outcome.text, m->result.times.total);
  return amped_lines_say(m->j->lines, m->index, words);
}

/* Rank 0: the line of a start that makes later starts of its R needless. */
static amped_status tell_enough(const model *m) {
  char words[128];
  (void)snprintf(words, sizeof words, "start %d of %d reached --stop-fit; no other start is made",
                 m->number, m->starts->asked);
  return m->number < m->starts->asked ? amped_lines_say(m->j->lines, m->index, words) : AMPED_OK;
}

/* The models of a group that are side by side. */
typedef struct group {
  job *j;
  int count;
  model *models;
} group;

/* Are later starts of this model's R needless, because this one reached --stop-fit? Then they
 * leave no line and no result. */
static amped_status forget_later(const group *g, const model *m) {
  amped_multistart_keep(m->starts, m->number);
  for (int k = 0; k < g->count; k++)
    if (g->models[k].starts == m->starts && g->models[k].number > m->number) {
      amped_lines_drop(g->j->lines, g->models[k].index);
      AMPED_TRY(amped_lines_end(g->j->lines, g->models[k].index));
    }
  return AMPED_OK;
}

/* A model has ended: report it, and add it to the starts of its R. A start after one that reached
 * --stop-fit is forgotten. */
static amped_status end_model(void *context, int number) {
  const group *g = context;
  model *m = &g->models[number];
  amped_lines *lines = g->j->lines;
  amped_status status = AMPED_OK;
  if (m->number > m->starts->enough) {
    amped_solver_result_free(&m->result);
    return AMPED_OK;
  }
  const bool is_enough = amped_solver_result_has_reached(&m->result, g->j->o->cpd.stop_fit);
  AMPED_GO(agree, tell_run(m));
  if (is_enough)
    AMPED_GO(agree, tell_enough(m));
  if (is_enough)
    AMPED_GO(agree, forget_later(g, m));
  AMPED_GO(agree, amped_lines_end(lines, m->index));
agree:
  AMPED_TRY(amped_comm_agree(m->context.comm, status));
  if (is_enough)
    m->starts->enough = m->number;
  return amped_multistart_add(&m->context, m->starts, m->number, seed_of(m), is_normal_start(m),
                              &m->result);
}

static bool is_wanted(void *context, int number) {
  const model *m = &((const group *)context)->models[number];
  return m->number <= m->starts->enough;
}

/* Collective: open the model's checkpoint, and read it if the run resumes. *resumed: there was
 * one. */
static amped_status open_checkpoint(model *m, bool *resumed) {
  job *j = m->j;
  const amped_options *o = j->o;
  const amped_cpd_method *method = amped_cpd_method_of(&o->cpd);
  const amped_checkpoint_recipe recipe = {.method =
                                              o->cpd.method == AMPED_CPD_ALS ? NULL : method->name,
                                          .loss = amped_loss_name(&o->cpd),
                                          .accelerate = amped_accelerate_name(o->cpd.accelerate),
                                          .rows = j->rows_key,
                                          .fixed = j->fixed.modes != 0 ? j->fixed.key : NULL};
  *resumed = false;
  if (o->checkpoint.file == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_comm_agree(&j->session->comm,
                             amped_cpd_outputs_checkpoint(o, m->ncomps, m->number, &m->file)));
  m->one = (amped_checkpoint_model){.context = &m->context,
                                    .file = m->file,
                                    .seed = seed_of(m),
                                    .init = amped_init_word(is_normal_start(m)),
                                    .is_quiet = is_brief(o),
                                    .writer = &j->writer};
  AMPED_TRY(amped_checkpoint_open_model(j->session, &o->checkpoint, method->solver(&o->cpd),
                                        &recipe, is_several(o) ? &m->one : NULL, &m->checkpoint));
  if (o->checkpoint.resume)
    AMPED_TRY(amped_checkpoint_resume(m->checkpoint, &m->state, &m->before, resumed));
  m->options.start = *resumed ? &m->state : NULL;
  return AMPED_OK;
}

/* Collective: set the model's factors, at its beginning or as its checkpoint has them. */
static amped_status begin_model(model *m) {
  bool resumed = false;
  AMPED_TRY(open_checkpoint(m, &resumed));
  return resumed ? AMPED_OK : set_start(m);
}

/* Collective: the model has a reason to stop; keep it, so that a run that resumes has its result.
 */
static amped_status after_last(void *context, const amped_solver_state *state) {
  const model *m = context;
  return m->checkpoint != NULL && is_several(m->j->o)
             ? amped_checkpoint_save_model(m->checkpoint, state)
             : AMPED_OK;
}

static void close_model(model *m) {
  amped_checkpoint_close(m->checkpoint);
  amped_saved_factors_free(&m->before);
  amped_solver_state_free(&m->state);
  amped_columns_close(&m->columns);
  amped_free(m->file);
}

/* Run one model by itself. */
static amped_status run_alone(group *g) {
  model *m = g->models;
  job *j = m->j;
  amped_session *session = j->session;
  const amped_options *o = j->o;
  const amped_cpd_sampling sampling = {&j->rbs, session->outside ? session->dense : NULL,
                                       seed_of(m)};
  amped_cpd_options how = o->cpd;
  amped_trace_begin(AMPED_PHASE_INIT, AMPED_NO_NUMBER);
  AMPED_TRY(begin_model(m));
  if (o->checkpoint.result_on_signal)
    AMPED_TRY(amped_comm_agree(&session->comm, amped_signals_catch()));
  amped_trace_end();
  how.sampling = &sampling;
  how.from_model = o->session.init != NULL;
  how.fractions_reported = &j->fractions_reported;
  begin_progress(m, 1);
  amped_status status =
      amped_cpd_method_of(&o->cpd)->run(&m->context, &how, &m->before, &m->options, &m->result);
  if (is_brief(o))
    amped_progress_end();
  AMPED_TRY(status);
  if (m->checkpoint != NULL)
    status = amped_checkpoint_wait(m->checkpoint);
  if (status == AMPED_OK)
    status = end_model(g, 0);
  if (status != AMPED_OK)
    amped_solver_result_free(&m->result);
  return status;
}

/* Collective; the status is agreed. Make each model a block of the loaded columns, in order. */
static amped_status open_columns(group *g) {
  const amped_context whole = amped_session_context(g->j->session);
  amped_status status = AMPED_OK;
  for (int k = 0, first = 0; k < g->count; first += g->models[k++].ncomps) {
    AMPED_NEXT(status,
               amped_columns_open(&whole, first, g->models[k].ncomps, &g->models[k].columns));
    g->models[k].context = g->models[k].columns.context;
  }
  return amped_comm_agree(whole.comm, status);
}

/* Columns of these models. */
static int width_of(const group *g, const int *numbers, int count) {
  int columns = 0;
  for (int k = 0; k < count; k++)
    columns += g->models[numbers[k]].ncomps;
  return columns;
}

/* Fewer columns are worth copying the factors through the host if they are at most this share. */
#define WORTH_CLOSING 0.75

/* Collective; the status is agreed. The models that go on close up, if that makes rows much
 * shorter. Their factors keep the same bits. */
static amped_status close_up(void *context, const int *numbers, int count) {
  const group *g = context;
  amped_session *session = g->j->session;
  const int columns = width_of(g, numbers, count);
  amped_saved_factors *saved = NULL;
  if (columns > WORTH_CLOSING * session->plan.ncomps)
    return AMPED_OK;
  amped_status status = amped_comm_agree(
      &session->comm, amped_calloc(&saved, (uint64_t)count, sizeof *saved, "the models' factors"));
  for (int k = 0; k < count && status == AMPED_OK; k++) {
    const model *m = &g->models[numbers[k]];
    status = amped_saved_factors_take(&m->context, m->result.weights, &saved[k]);
  }
  if (status == AMPED_OK)
    status = amped_session_set_ncomps(session, columns);
  for (int k = 0, first = 0; k < count && status == AMPED_OK; k++) {
    model *m = &g->models[numbers[k]];
    const amped_context whole = amped_session_context(session);
    amped_columns_place(&m->columns, &whole, first);
    m->context = m->columns.context;
    first += m->ncomps;
    status = amped_saved_factors_restore(&m->context, &saved[k]);
  }
  for (int k = 0; k < count && saved != NULL; k++)
    amped_saved_factors_free(&saved[k]);
  amped_free(saved);
  return status;
}

/* Collective, after a sweep: stop after a signal. */
static amped_status swept(void *context, const int *numbers, int count, const amped_sweep *sweeps) {
  const group *g = context;
  return is_stopped(g->j) ? stop_models(g->models, numbers, count, sweeps) : AMPED_OK;
}

/* Run several models side by side. */
static amped_status run_together(group *g) {
  const job *j = g->j;
  const amped_iterate_hooks hooks = {.ended = end_model,
                                     .swept = swept,
                                     .is_wanted = is_wanted,
                                     .close_up = close_up,
                                     .context = g};
  amped_cpd_model list[AMPED_MAX_NCOMPS]; /* a model has a column at least */
  amped_trace_begin(AMPED_PHASE_INIT, AMPED_NO_NUMBER);
  amped_status status = open_columns(g);
  for (int k = 0; k < g->count && status == AMPED_OK; k++) {
    model *m = &g->models[k];
    status = begin_model(m);
    list[k] = (amped_cpd_model){
        .context = &m->context, .before = &m->before, .options = &m->options, .result = &m->result};
  }
  amped_trace_end();
  if (status == AMPED_OK) {
    begin_progress(g->models, g->count);
    status = amped_cpd_method_of(&j->o->cpd)->run_all(&j->o->cpd, g->count, list, &hooks);
    if (is_brief(j->o))
      amped_progress_end();
  }
  return status;
}

/* Run the models from `first` on that are a group, except needless starts. Returns AMPED_STOPPED if
 * a signal came before all had ended. */
static amped_status run_group(job *j, int first) {
  const amped_options *o = j->o;
  const int end = j->session->groups.ends[first];
  const amped_iterate_options options = {.iters = o->cpd.iters,
                                         .tol = o->cpd.tol,
                                         .goal = o->cpd.stop_fit,
                                         .seconds = o->cpd.seconds,
                                         .noise_reported = &j->noise_reported,
                                         .after_sweep = after_sweep,
                                         .after_last = after_last};
  group g = {.j = j};
  int columns = 0;
  amped_status status =
      amped_comm_agree(&j->session->comm, amped_calloc(&g.models, (uint64_t)(end - first),
                                                       sizeof *g.models, "the models"));
  for (int i = first; i < end && status == AMPED_OK; i++) {
    model *m = &g.models[g.count];
    *m = (model){.j = j,
                 .index = i,
                 .ncomps = j->session->groups.ncomps[i],
                 .number = i % o->session.starts + 1,
                 .starts = &j->starts[i / o->session.starts],
                 .options = options};
    m->options.context = m;
    if (m->number > m->starts->enough) {
      status = amped_comm_agree(&j->session->comm, amped_lines_end(j->lines, i));
      continue;
    }
    columns += m->ncomps;
    g.count++;
  }
  if (status == AMPED_OK && g.count > 0)
    status = amped_session_set_ncomps(j->session, columns);
  for (int k = 0; k < g.count; k++) {
    g.models[k].context = amped_session_context(j->session);
    g.models[k].is_alone = g.count == 1;
  }
  if (status == AMPED_OK && g.count == 1)
    status = amped_cpd_sampling_set(j->session, o, &j->rbs);
  if (status == AMPED_OK && g.count > 0)
    status = g.count == 1 ? run_alone(&g) : run_together(&g);
  for (int k = 0; k < g.count; k++)
    close_model(&g.models[k]);
  amped_free(g.models);
  return status;
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

/* Make the starts of every R, and the lines of all models. */
static amped_status create_starts(job *j) {
  const amped_session *session = j->session;
  const amped_session_options *o = &j->o->session;
  if (session->comm.rank == 0 && is_several(j->o) && j->o->checkpoint.file != NULL)
    AMPED_TRY(amped_file_lock_take(j->o->checkpoint.file, &j->lock));
  AMPED_TRY(
      amped_lines_open(session->groups.models, session->comm.rank == 0, session->json, &j->lines));
  AMPED_TRY(amped_calloc(&j->starts, (uint64_t)o->ncomps_count, sizeof *j->starts, "the starts"));
  AMPED_TRY(amped_lines_allow(j->lines, o->starts));
  for (int i = 0; i < o->ncomps_count; i++)
    AMPED_TRY(amped_multistart_create(o->starts, session->groups.largest > 1, &j->starts[i]));
  return AMPED_OK;
}

static void free_starts(job *j) {
  for (int i = 0; j->starts != NULL && i < j->o->session.ncomps_count; i++)
    amped_multistart_free(&j->starts[i]);
  amped_free(j->starts);
  amped_lines_close(j->lines);
  amped_file_lock_release(&j->lock);
}

/* Show the lines of the starts of the number of components i. They have ended, or the run stops. */
static amped_status show_lines(job *j, int i) {
  const int starts = j->o->session.starts;
  AMPED_TRY(amped_lines_allow(j->lines, (i + 1) * starts));
  for (int k = i * starts; k < (i + 1) * starts; k++)
    AMPED_TRY(amped_lines_end(j->lines, k));
  return AMPED_OK;
}

/* Finish the results of numbers of components i, i + 1, .. whose starts are all among the first
 * `models` models; or, if the run is stopped, the results with at least one start. */
static amped_status finish_results(job *j, int models, bool stopped, int *i) {
  const amped_session_options *o = &j->o->session;
  for (; *i < o->ncomps_count && (stopped || (*i + 1) * o->starts <= models); ++*i) {
    amped_multistart *starts = &j->starts[*i];
    AMPED_TRY(amped_comm_agree(&j->session->comm, show_lines(j, *i)));
    if (starts->count > 0) {
      AMPED_TRY(amped_session_set_ncomps(j->session, o->ncomps_list[*i]));
      AMPED_TRY(finish_starts(j, j->outputs.results[*i].path, starts, stopped));
    }
    amped_multistart_free(starts);
  }
  return amped_comm_agree(&j->session->comm, amped_lines_allow(j->lines, (*i + 1) * o->starts));
}

/* Decompose with all numbers of components and starts, in the user's order, group by group. */
static amped_status decompose(job *j) {
  const amped_comm *comm = &j->session->comm;
  const amped_groups *groups = &j->session->groups;
  int finished = 0; /* numbers of components */
  amped_status status = amped_comm_agree(comm, create_starts(j));
  for (int first = 0; first < groups->models && status == AMPED_OK; first = groups->ends[first]) {
    status = run_group(j, first);
    const bool stopped =
        status == AMPED_STOPPED && is_several(j->o) && j->o->checkpoint.file == NULL;
    const int at = finished; /* if the run stops: the first number that is not complete */
    const int done = stopped ? j->starts[at].count : 0;
    if (status == AMPED_OK || stopped) {
      const amped_status made = finish_results(j, groups->ends[first], stopped, &finished);
      status = made != AMPED_OK ? made : status;
    }
    if (stopped && status == AMPED_STOPPED)
      status = amped_comm_agree(
          comm, comm->rank == 0 ? tell_stopped(j, j->o->session.ncomps_list[at], done) : status);
  }
  free_starts(j);
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
  status = decompose(j);
  if (o->session.ncomps_count > 1 && j->finished > 0 &&
      (status == AMPED_OK || status == AMPED_STOPPED)) {
    amped_status told = amped_summary_ranks(j->session, j->rows, j->finished, true);
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

/* Sets of the plan's columns that saved starts take: while a group runs, the starts of its first R
 * from the first on, and the starts of later R in the group. */
static int saved_sets(const amped_options *o, const amped_groups *groups, int ncomps) {
  uint64_t most = 0;
  for (int first = 0; first < groups->models; first = groups->ends[first]) {
    uint64_t columns = 0;
    for (int k = first - first % o->session.starts; k < groups->ends[first]; k++)
      columns += (uint64_t)groups->ncomps[k];
    most = columns > most ? columns : most;
  }
  return (int)amped_ceil_div(most, (uint64_t)ncomps);
}

/* Add the bytes of the group that takes the most. */
static void require_models(const job *j, const amped_plan *plan, uint64_t *device_bytes,
                           uint64_t *host_bytes) {
  const amped_worker *worker = &j->session->worker;
  const amped_cpd_options *how = &j->o->cpd;
  const amped_groups *groups = &j->session->groups;
  uint64_t device = 0;
  uint64_t host = 0;
  int widest = 0;
  for (int first = 0; first < groups->models; first = groups->ends[first]) {
    uint64_t sum[2] = {0, 0};
    for (int k = first; k < groups->ends[first]; k++) {
      amped_plan own = *plan;
      amped_plan_set_ncomps(&own, groups->ncomps[k]);
      amped_cpd_method_of(how)->require(worker, &own, how, &sum[0], &sum[1]);
      widest = groups->ncomps[k] > widest ? groups->ncomps[k] : widest;
    }
    device = sum[0] > device ? sum[0] : device;
    host = sum[1] > host ? sum[1] : host;
  }
  *device_bytes += device;
  *host_bytes += host;
  if (groups->largest > 1)
    amped_columns_require(worker, plan, widest, device_bytes, host_bytes);
}

static void solver_rows(const amped_plan *plan, const void *context, amped_memory_rows *rows) {
  const job *j = context;
  const amped_options *o = j->o;
  const amped_groups *groups = &j->session->groups;
  const bool saves = groups->models > 1 && (o->session.starts > 1 || groups->largest > 1);
  amped_memory_row_add(rows, "factors of finished starts")->host_bytes += amped_multistart_bytes(
      plan, saves ? saved_sets(o, groups, plan->ncomps) : 0, o->cpd.corcondia);
  amped_memory_row_add(rows, "residual of a fit near 1")->host_bytes +=
      amped_residual_host_bytes(plan);
  amped_memory_row *fixed = amped_memory_row_add(rows, "fixed factors");
  for (int m = 0; m < plan->order && plan->rank == 0; m++)
    if (amped_fixed_modes_has(&o->cpd.fixed, m))
      fixed->host_bytes += plan->dims[m] * (uint64_t)plan->ncomps * sizeof(double);
  amped_memory_row *solver = amped_memory_row_add(rows, "solver");
  require_models(j, plan, &solver->device_bytes, &solver->host_bytes);
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

/* Most models side by side; 0: the number that costs the least time. A limit of time is about one
 * model's sweeps. */
static int most_side_by_side(const amped_options *o) {
  const bool can = amped_cpd_method_of(&o->cpd)->run_all != NULL && !(o->cpd.seconds > 0.0);
  return can ? o->session.side_by_side : 1;
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
                               .has_models = true,
                               .side_by_side = most_side_by_side(o),
                               .check = check_plan,
                               .context = &j};
  amped_status status = AMPED_OK;
  own.session.keeps_result = !o->nowrite && !o->session.plan_only;
  AMPED_TRY(amped_cpd_outputs_check_names(o));
  take_loss(&own);
  if (!o->checkpoint.result_on_signal && o->checkpoint.file == NULL && !is_several(o))
    amped_signals_advise(" (--checkpoint=FILE or --on-signal=result would save the sweeps)");
  if (amped_launcher_rank() <= 0)
    status = amped_cpd_outputs_look(o, &j.outputs);
  if (status == AMPED_OK && o->checkpoint.resume && amped_launcher_rank() <= 0)
    status = amped_cpd_outputs_probe(o);
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
