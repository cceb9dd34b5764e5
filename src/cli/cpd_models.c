/* Models of cpd: starts, checkpoints, groups, and the report of each. */
#include "cli/cpd_models.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/timer.h"
#include "base/trace.h"
#include "cli/cpd_outputs.h"
#include "cli/cpd_rows.h"
#include "cli/cpd_sampling.h"
#include "cli/option_rules.h"
#include "factor/columns.h"
#include "session/checkpoint.h"
#include "session/fixed_model.h"
#include "session/init_file.h"
#include "session/lines.h"
#include "session/report.h"
#include "session/run_result.h"
#include "session/session.h"
#include "session/summary.h"
#include "solver/cpd/corcondia.h"
#include "solver/cpd/cpd_methods.h"
#include "solver/degeneracy.h"
#include "solver/outcome.h"
#include "tensor/format.h"

typedef amped_cpd_job job;

bool amped_cpd_is_several(const amped_options *o) {
  return o->session.ncomps_count > 1 || o->session.starts > 1;
}

/* Does a decomposition print one line, in place of lines for its sweeps? */
static bool is_brief(const amped_options *o) {
  return amped_cpd_is_several(o) && o->cpd.every == 0;
}

/* Rank 0: read the start of --init. Its columns are balanced: only their directions count, and long
 * columns may not fit in --precision. */
static amped_status read_start(const amped_options *o, const amped_plan *plan,
                               const amped_labels *labels, amped_ktensor *start) {
  AMPED_TRY(amped_init_file_read(&o->session, plan, labels, plan->ncomps, NULL, start, NULL));
  amped_ktensor_balance(start);
  return amped_cpd_rows_check_start(&o->cpd, start, o->session.init);
}

/* Is start `number`, from 1, normal? If --init does not say so, uniform and normal starts
 * alternate, because neither is better for all tensors. Starts of a nonnegative model are uniform.
 * If some modes alone are nonnegative, they are normal: beside others of one sign, the first update
 * may find that all columns of such a mode are best zero, and stay so. */
static bool is_normal(const amped_options *o, int order, int number) {
  const uint64_t all = (UINT64_C(1) << order) - 1;
  const uint64_t nonnegative = o->cpd.rule.nonnegative & all;
  if (amped_option_rules_hold(o, "init"))
    return o->session.init_normal;
  return nonnegative != 0 ? nonnegative != all : number % 2 == 0;
}

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
  return is_normal(m->j->o, m->context.plan->order, m->number);
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

/* Warn if the result of --nonnegative has components that are zero. During a run its columns of
 * other modes may bring back a component, except under a penalty, whose warning comes at once. */
static void warn_of_zeros(const job *j, const double *weights) {
  const amped_row_rule *rule = &j->o->cpd.rule;
  const int n = j->session->plan.ncomps;
  int zero = 0;
  if (rule->nonnegative == 0 || amped_row_rule_penalises(rule))
    return;
  for (int c = 0; c < n; c++)
    zero += !(weights[c] > 0.0);
  if (zero > 0)
    amped_warn("%d of %d components %s become zero; try fewer components or another --seed", zero,
               n, zero == 1 ? "has" : "have");
}

/* Collective, after a signal or a lost checkpoint between two sweeps: save the model so far. */
static amped_status save_partial(job *j, const char *reason, const amped_solver_state *state) {
  const amped_comm *comm = &j->session->comm;
  const char *path = j->outputs.partial.path;
  amped_run_record record = {.seed = j->o->seed,
                             .init = start_name(j, is_normal(j->o, j->session->plan.order, 1)),
                             .stop_reason = reason,
                             .metric = state->metric,
                             .history = state->history,
                             .sweeps = state->sweeps};
  amped_facts f;
  AMPED_TRY(save(j, &record, state->weights, path));
  if (comm->rank == 0)
    warn_of_zeros(j, state->weights);
  amped_facts_begin(&f, "partial");
  amped_fact_json(&f, "sweep", amped_json_count(state->sweeps));
  amped_fact_json(&f, "output", amped_json_string(path));
  return amped_comm_agree(comm, amped_facts_write(&f, j->session->json));
}

/* Collective: has a signal reached any rank? False if the run does not catch signals. A checkpoint
 * of a single decomposition has asked before: a signal that came since then stops the next sweep,
 * so that both the checkpoint and the result are of it. */
static bool is_stopped(const model *m) {
  const job *j = m->j;
  uint64_t caught = amped_signals_caught() != NULL;
  if (!amped_cpd_is_several(j->o) && (m->checkpoint != NULL || !j->o->checkpoint.result_on_signal))
    return false;
  amped_comm_sum_u64(&j->session->comm, &caught, 1);
  return caught > 0;
}

/* Collective, after a signal: save the checkpoints of these models after these sweeps, and stop. */
static amped_status stop_models(const model *models, const int *numbers, int count,
                                const amped_sweep *sweeps) {
  const job *j = models->j;
  const bool saves = amped_cpd_is_several(j->o) && j->o->checkpoint.file != NULL;
  amped_status status = AMPED_STOPPED;
  for (int k = 0; k < count && saves; k++)
    AMPED_TRY(amped_checkpoint_save_model(models[numbers[k]].checkpoint, sweeps[k].state));
  if (saves && j->session->comm.rank == 0)
    status = amped_error(AMPED_STOPPED, j->o->checkpoint.file,
                         "names the checkpoint%s of %d model%s that had not ended; a signal "
                         "stopped the run; continue with --resume",
                         count > 1 ? "s" : "", count, count > 1 ? "s" : "");
  return amped_comm_agree(&j->session->comm, status);
}

/* Report a sweep, and stop after a signal. A single decomposition stops only if it has a checkpoint
 * or --on-signal=result; several decompositions always do. If a checkpoint cannot be written, the
 * result so far still can. */
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
  if (m->checkpoint != NULL && amped_cpd_is_several(j->o))
    status = amped_checkpoint_sweep_model(m->checkpoint, sweep->state);
  else if (m->checkpoint != NULL)
    status = amped_checkpoint_sweep(m->checkpoint, sweep);
  if (status == AMPED_OK && m->is_alone && is_stopped(m))
    status = stop_models(m, &(int){0}, 1, sweep);
  if (status == AMPED_OK || !j->o->checkpoint.result_on_signal)
    return status;
  AMPED_TRY(
      save_partial(j, status == AMPED_STOPPED ? "signal" : AMPED_CHECKPOINT_LOST, sweep->state));
  if (m->checkpoint != NULL) { /* its line ends the run */
    amped_say("result so far: %s", j->outputs.partial.path);
    return status;
  }
  if (j->session->comm.rank == 0)
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
  if (amped_cpd_is_several(j->o))
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
  warn_of_zeros(j, r->weights);
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
  if (!amped_cpd_is_several(j->o)) {
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
  return is_normal_start(m)
             ? amped_factors_normal(&m->context, seed_of(m), m->j->o->cpd.rule.nonnegative)
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
  const amped_checkpoint_recipe recipe = {
      .method = o->cpd.method == AMPED_CPD_ALS ? NULL : method->name,
      .loss = amped_loss_name(&o->cpd),
      .accelerate = amped_accelerate_name(o->cpd.accelerate),
      .rows = j->rows_key,
      .fixed = j->fixed.modes != 0 ? j->fixed.key : NULL,
      .init = o->session.init != NULL ? o->session.init : amped_init_word(is_normal_start(m))};
  *resumed = false;
  if (o->checkpoint.file == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_comm_agree(&j->session->comm,
                             amped_cpd_outputs_checkpoint(o, m->ncomps, m->number, &m->file)));
  m->one = (amped_checkpoint_model){.context = &m->context,
                                    .file = m->file,
                                    .seed = seed_of(m),
                                    .is_quiet = is_brief(o),
                                    .writer = &j->writer};
  AMPED_TRY(amped_checkpoint_open_model(j->session, &o->checkpoint, method->solver(&o->cpd),
                                        &recipe, amped_cpd_is_several(o) ? &m->one : NULL,
                                        &m->checkpoint));
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
  return m->checkpoint != NULL && amped_cpd_is_several(m->j->o)
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
  how.input = o->session.input;
  how.start_file = o->session.init;
  how.values_reported = &j->values_reported;
  begin_progress(m, 1);
  amped_status status =
      amped_cpd_method_of(&o->cpd)->run(&m->context, &how, &m->before, &m->options, &m->result);
  if (is_brief(o))
    amped_progress_end();
  AMPED_TRY(status);
  if (m->checkpoint != NULL) /* the result can still be written if this cannot */
    AMPED_ALSO(j->unsaved, amped_checkpoint_wait(m->checkpoint));
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
  return is_stopped(g->models) ? stop_models(g->models, numbers, count, sweeps) : AMPED_OK;
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
                                               .best = best->result.sweeps,
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
  if (session->comm.rank == 0 && amped_cpd_is_several(j->o) && j->o->checkpoint.file != NULL)
    AMPED_TRY(amped_file_lock_take(j->o->checkpoint.file, &j->lock));
  AMPED_TRY(
      amped_lines_open(session->groups.models, session->comm.rank == 0, session->json, &j->lines));
  AMPED_TRY(amped_calloc(&j->starts, (uint64_t)o->ncomps_count, sizeof *j->starts, "the starts"));
  AMPED_TRY(amped_lines_allow(j->lines, o->starts));
  for (int i = 0; i < o->ncomps_count; i++) {
    AMPED_TRY(amped_multistart_create(o->starts, session->groups.largest > 1, &j->starts[i]));
    j->starts[i].sums = j->o->cpd.loss == AMPED_LOSS_POISSON;
  }
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

amped_status amped_cpd_models_run(amped_cpd_job *j) {
  const amped_comm *comm = &j->session->comm;
  const amped_groups *groups = &j->session->groups;
  int finished = 0; /* numbers of components */
  amped_status status = amped_comm_agree(comm, create_starts(j));
  for (int first = 0; first < groups->models && status == AMPED_OK; first = groups->ends[first]) {
    status = run_group(j, first);
    const bool stopped =
        status == AMPED_STOPPED && amped_cpd_is_several(j->o) && j->o->checkpoint.file == NULL;
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
  return status == AMPED_OK ? j->unsaved : status;
}
