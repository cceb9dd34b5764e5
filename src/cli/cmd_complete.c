/* complete: fits a model to the observed entries of a tensor, and writes the best one. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/launcher.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/trace.h"
#include "cli/commands.h"
#include "cli/complete_files.h"
#include "cli/complete_init.h"
#include "cli/cpd_outputs.h"
#include "hdf5/hdf5_probe.h"
#include "session/checkpoint.h"
#include "session/completion_report.h"
#include "session/completion_result.h"
#include "session/prepare.h"
#include "session/report.h"
#include "session/stream_begin.h"
#include "session/summary.h"
#include "session/checkpoint_file.h"
#include "solver/complete/complete_baselines.h"
#include "solver/complete/gap_errors.h"
#include "solver/complete/row_counts.h"
#include "solver/complete/whole_gaps.h"
#include "tensor/label_order.h"
#include "text/io.h"

/* The data of the command, for the functions below. */
typedef struct job {
  amped_options own;                     /* the user's options, with what --init says */
  const amped_options *o;                /* the same */
  amped_session_options session_options; /* the user's options, with the column of biases */
  amped_complete_files files;
  amped_complete_init init;
  bool has_labels;      /* `labels` are taken */
  amped_status unsaved; /* agreed: the first failure of a checkpoint, which loses no best model */
  amped_session *session;
  amped_cpd_outputs outputs;
  amped_labels labels[AMPED_MAX_ORDER]; /* on rank 0 */
  amped_complete_problem problem;
  amped_complete_start start;
  amped_complete_baselines baselines;
  amped_summary_row rows[AMPED_MAX_NCOMPS_COUNT];
  int finished;                 /* rows that are filled */
  amped_checkpoint *checkpoint; /* NULL: none */
  amped_state_file *state;      /* the state of --state, on rank 0; locked until it is written */
} job;

static const amped_row_fit_ops *row_fit_of(const job *j) {
  return j->session->worker.format->row_fit;
}

/* --- checks before a nonzero is read --------------------------------------------------------- */

/* Check the options against the worker and the plan. The tensor's hash is known now:
 * refuse to replace results of another tensor. */
static amped_status check_plan(const amped_worker *worker, const amped_plan *plan,
                               const void *context) {
  const job *j = context;
  amped_complete_named named;
  if (worker->format->row_fit == NULL)
    return amped_error(AMPED_USAGE, NULL,
                       "complete does not run on --backend=%s; use --backend=cpu",
                       worker->backend->name);
  if (j->o->stream.state != NULL && worker->backend->row_stores == NULL)
    return amped_error(AMPED_USAGE, NULL,
                       "--state does not run on --backend=%s; use --backend=cpu, or leave it out",
                       worker->backend->name);
  if (j->o->stream.history == AMPED_HISTORY_MODEL && worker->format->row_history == NULL)
    return amped_error(AMPED_USAGE, NULL,
                       "--history=model does not run on --backend=%s; use --backend=cpu",
                       worker->backend->name);
  AMPED_TRY(amped_complete_search_check(worker, &j->o->complete));
  AMPED_TRY(amped_complete_modes_find(&j->o->complete, j->o->recommend.of, plan, NULL, &named));
  if (j->o->clip.to_data && plan->dictionary->count == 0)
    return amped_error(AMPED_USAGE, NULL,
                       "--clip=data needs a tensor of few distinct values, at most %d; give a "
                       "range, --clip=LO:HI",
                       AMPED_MAX_CODES);
  return amped_cpd_outputs_compare(j->o, &j->outputs, amped_session_info(j->session));
}

/* Are the errors of gaps found, for all numbers of components? */
static bool measures_gaps(const job *j, const amped_plan *plan) {
  const amped_session_options *o = &j->o->session;
  int most = o->ncomps;
  for (int i = 0; i < o->ncomps_count; i++)
    most = o->ncomps_list[i] > most ? o->ncomps_list[i] : most;
  return amped_gap_errors_apply(plan, &j->o->complete, most, j->session_options.biased);
}

static void solver_rows(const amped_plan *plan, const void *context, amped_memory_rows *rows) {
  const job *j = context;
  const amped_worker *worker = &j->session->worker;
  amped_memory_row *fits = amped_memory_row_add(rows, "row fits");
  row_fit_of(j)->require(worker->device, plan, j->files.weights != NULL, &fits->device_bytes,
                         &fits->host_bytes);
  amped_memory_row *weights = amped_memory_row_add(rows, "weights in memory");
  weights->host_bytes = amped_complete_files_weight_bytes(&j->files, plan, &weights->held_bytes);
  amped_memory_row_add(rows, "nonzeros per row")->host_bytes += amped_row_counts_bytes(plan);
  amped_memory_row *solver = amped_memory_row_add(rows, "solver");
  amped_complete_search_require(&j->session->comm, worker, plan, &j->o->complete,
                                j->session_options.biased, &solver->device_bytes,
                                &solver->host_bytes);
  amped_memory_row *fixed = amped_memory_row_add(rows, "fixed factors");
  for (int m = 0; m < plan->order && plan->rank == 0 && j->o->session.fix != NULL; m++)
    fixed->host_bytes += 2 * plan->dims[m] * (uint64_t)plan->ncomps * sizeof(double);
  amped_memory_row *gaps = amped_memory_row_add(rows, "errors of gaps");
  if (measures_gaps(j, plan))
    amped_gap_errors_require(worker, plan, j->session_options.biased, &gaps->device_bytes,
                             &gaps->host_bytes);
  amped_memory_row *state = amped_memory_row_add(rows, "equations for a state");
  if (j->o->stream.state != NULL)
    amped_stream_begin_require(worker, plan, j->session_options.biased, j->files.weights != NULL,
                               j->o->stream.history, &state->device_bytes, &state->host_bytes);
  if (j->o->stream.state != NULL && plan->rank == 0)
    amped_memory_row_add(rows, "entries for a state")->host_bytes += amped_stream_begin_entry_bytes(
        plan->order, plan->nnz, j->o->stream.keep, j->files.weights != NULL);
}

/* --- the problem ----------------------------------------------------------------------------- */

/* Collective: the labels of the tensor, which the session gives once. */
static amped_status take_labels(job *j) {
  if (j->has_labels)
    return AMPED_OK;
  j->has_labels = true;
  return amped_session_labels(j->session, j->labels);
}

/* Collective, when the plan is made: open the weights, and take values of entries that have one, if
 * others have weight 0. */
static amped_status sample_learnt(const amped_session *session, double *values, uint64_t *count,
                                  void *context) {
  job *j = context;
  AMPED_TRY(take_labels(j));
  return amped_complete_files_sample(&j->files, session, j->labels, values, count);
}

/* The same on all ranks. */
static amped_status set_clip(job *j) {
  const amped_clip_option *c = &j->o->clip;
  const amped_dictionary *d = &amped_session_info(j->session)->dictionary;
  if (c->given && c->to_data && j->problem.ignored > 0)
    return amped_error(AMPED_USAGE, NULL,
                       "--clip=data: the range of the data would be that of the %" PRIu64
                       " entries of weight 0, too; give a range, --clip=LO:HI",
                       j->problem.ignored);
  j->problem.least = !c->given ? -INFINITY : c->to_data ? d->values[0] : c->least;
  j->problem.most = !c->given ? INFINITY : c->to_data ? d->values[d->count - 1] : c->most;
  return AMPED_OK;
}

/* Warn if all training values are equal. Lists of events often have only ones, and some lists omit
 * their zeros. */
static void warn_of_constant(const job *j) {
  if (j->problem.constant)
    amped_warn("%s: all %" PRIu64 " training values are %.9g, and equal values teach nothing; if "
               "an entry means that something happened, use --implicit; if "
               "cells without an entry are zeros, use amped_mpi cpd",
               j->session->options->input, j->problem.learnt, j->start.level * j->problem.scale);
}

/* Means beyond this number of spreads are rounded by more than 1e-4 of a spread. */
#define FAR_SPREADS 1e12

/* Warn if values are so far from 0 that the result cannot hold their mean as well as the run has
 * it. */
static void warn_of_far(const job *j) {
  const amped_complete_problem *p = &j->problem;
  const double spreads = fabs(p->mean) / p->scale;
  if (!p->constant && spreads > FAR_SPREADS)
    amped_warn(
        "%s: the mean of its values is %.2g times their spread, so that a result holds it to "
        "%.1g of the spread, and predict differs from the errors here; subtract a constant "
        "from the values",
        j->session->options->input, spreads, spreads * DBL_EPSILON / 2.0);
}

/* Warn if the weights are the values themselves: INPUT is named twice, or --value chooses the same
 * column in both tables. Equal values may be weights of 1. */
static void warn_of_own_weights(const job *j) {
  const amped_tensor_info *info = amped_session_info(j->session);
  if (j->files.weights != NULL && !j->problem.constant && j->problem.weights_hash == info->hash)
    amped_warn("%s: its weights are the values of the entries themselves, so that small values "
               "hardly count; for a column of INPUT, which is a table, give --weights=COLUMN",
               amped_io_name(j->files.weights));
}

/* Warn if INPUT has all cells of its dimensions. With --implicit every cell is known anyway, and a
 * weight of 0 makes a cell unknown. */
static void warn_of_whole(const job *j) {
  const amped_tensor_info *info = amped_session_info(j->session);
  uint64_t cells = 1;
  bool fits = true;
  for (int m = 0; m < info->order; m++)
    fits = fits && amped_mul(cells, info->dims[m], &cells);
  if (fits && info->nnz == cells && info->duplicates != AMPED_DUPLICATES_KEEP &&
      !(j->o->complete.implicit > 0.0) && j->problem.ignored == 0)
    amped_warn("%s: no cell is missing, so that there is nothing to fill in; amped_mpi cpd fits "
               "all cells, and faster",
               j->session->options->input);
}

/* Collective: warn if entries are held out one by one, but gaps are whole fibres. */
static amped_status warn_of_gaps(const job *j) {
  const amped_context context = amped_session_context(j->session);
  bool fibres[AMPED_MAX_ORDER];
  bool any = false;
  if (j->problem.held == 0 || j->o->complete.holdout_by != NULL || j->o->complete.implicit > 0.0 ||
      amped_session_info(j->session)->duplicates == AMPED_DUPLICATES_KEEP)
    return AMPED_OK;
  AMPED_TRY(amped_whole_gaps_find(&context, &j->problem, fibres));
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    any = any || fibres[m];
  if (any && j->session->comm.rank == 0)
    amped_completion_report_gaps(j->session, fibres, j->labels);
  return AMPED_OK;
}

/* Collective: count held-out entries that repeat a learnt one at another time, such as a user's
 * ratings of an item in two months. Their error is too low for new pairs. */
static amped_status count_repeats(job *j) {
  const amped_comm *comm = &j->session->comm;
  const amped_context context = amped_session_context(j->session);
  amped_complete_problem *p = &j->problem;
  const int order = j->session->plan.order;
  int count = 0;
  if (p->held == 0 || j->o->complete.holdout_by != NULL || p->fit.implicit > 0.0)
    return AMPED_OK;
  for (int m = 0; comm->rank == 0 && m < order; m++) {
    p->lasting[m] = !j->labels[m].of_array && !amped_labels_are_of_time(&j->labels[m]);
    count += p->lasting[m];
  }
  amped_comm_broadcast(comm, p->lasting, sizeof p->lasting);
  amped_comm_broadcast(comm, &count, sizeof count);
  if (count >= 2 && count < order)
    return amped_whole_gaps_repeated(&context, p->lasting, &p->repeated);
  memset(p->lasting, 0, sizeof p->lasting);
  return AMPED_OK;
}

/* Refuse some nonnegative modes if a method or a state knows only all modes or none. */
static amped_status check_nonnegative(const job *j) {
  const amped_options *o = j->o;
  const bool some = j->problem.nonnegative != 0 && !j->problem.fit.nonnegative;
  if (some && o->complete.method == AMPED_COMPLETE_SGD)
    return amped_error(AMPED_USAGE, NULL,
                       "--nonnegative=%s: --method=sgd moves all modes at once, and keeps all of "
                       "them nonnegative or none; use another method, or --nonnegative",
                       o->complete.nonnegative);
  if (some && o->stream.state != NULL)
    return amped_error(AMPED_USAGE, NULL,
                       "--nonnegative=%s: a state keeps all modes nonnegative or none; leave out "
                       "--state, or use --nonnegative",
                       o->complete.nonnegative);
  return AMPED_OK;
}

/* Collective: prepare row fits, with weights if there are some. */
static amped_status prepare(job *j) {
  const amped_session *session = j->session;
  const amped_status status =
      row_fit_of(j)->prepare(session->worker.tensor, j->files.weights != NULL);
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  return amped_complete_files_weigh(&j->files, &j->problem);
}

/* Collective: set everything that the runs have in common. */
static amped_status set_problem(job *j) {
  const amped_options *o = j->o;
  const amped_context context = amped_session_context(j->session);
  const char *input = j->session->options->input;
  amped_complete_problem *p = &j->problem;
  *p = (amped_complete_problem){.options = &o->complete,
                                .iters = o->cpd.iters,
                                .tol = o->cpd.tol,
                                .seed = o->seed,
                                .starts = o->session.starts,
                                .checkpoint = o->checkpoint.file,
                                .fit = {.biased = j->session_options.biased,
                                        .implicit = o->complete.implicit,
                                        .reg_power = o->complete.reg_power,
                                        .reg_bias = o->complete.reg_bias}};
  j->start = (amped_complete_start){.centred = o->complete.bias != AMPED_BIAS_NONE,
                                    .biased = j->session_options.biased};
  AMPED_TRY(amped_complete_problem_set_modes(&context, o->recommend.of, j->labels, p, &j->start));
  AMPED_TRY(amped_comm_agree(&j->session->comm, check_nonnegative(j)));
  AMPED_TRY(amped_complete_init_fix(&j->init, j->session, o, j->labels, &j->start, p));
  AMPED_TRY(prepare(j));
  AMPED_TRY(amped_complete_problem_hold_out(&context, input, j->labels, p));
  AMPED_TRY(amped_complete_problem_set_scale(&context, input, j->files.weights, p, &j->start));
  warn_of_constant(j);
  warn_of_far(j);
  warn_of_own_weights(j);
  warn_of_whole(j);
  AMPED_TRY(warn_of_gaps(j));
  AMPED_TRY(count_repeats(j));
  AMPED_TRY(amped_comm_agree(&j->session->comm, set_clip(j)));
  AMPED_TRY(amped_complete_files_load(&j->files, j->session, j->labels,
                                      measures_gaps(j, context.plan), p));
  return amped_completion_report_problem(j->session, p, j->labels);
}

/* --- runs ------------------------------------------------------------------------------------ */

/* Does a run print one line, in place of lines for its sweeps? */
static bool is_brief(const job *j) {
  return j->o->cpd.every == 0 &&
         (j->o->session.ncomps_count > 1 || amped_complete_runs(&j->problem) > 1);
}

static amped_status begin_run(void *context, int run, int start, double reg) {
  job *j = context;
  const amped_context here = amped_session_context(j->session);
  const char *init = j->session_options.init;
  AMPED_TRY(
      amped_completion_report_run(j->session, &j->problem, run, start, reg, init, !is_brief(j)));
  if (init == NULL)
    return amped_complete_start_fill(&here, &j->start, j->problem.seed + (uint64_t)start);
  return amped_complete_init_start(&j->init, j->session, j->labels, &j->start, &j->problem);
}

static amped_status end_run(void *context, int run, int start, double reg, int best, uint64_t sweep,
                            const amped_solver_result *result) {
  job *j = context;
  return amped_completion_report_run_end(j->session, &j->problem, run, start, reg,
                                         j->session_options.init, best, sweep, result, is_brief(j));
}

static amped_status after_sweep(void *context, const amped_sweep *sweep,
                                const amped_complete_sweep *details) {
  job *j = context;
  uint64_t caught = amped_signals_caught() != NULL;
  AMPED_TRY(amped_completion_report_sweep(j->session, sweep, details,
                                          is_brief(j) ? AMPED_NO_LINES : j->o->cpd.every));
  if (j->checkpoint != NULL) {
    const amped_status status = amped_checkpoint_sweep(j->checkpoint, sweep);
    if (status == AMPED_OK || status == AMPED_STOPPED)
      return status;
    j->unsaved = status;
    return AMPED_STOPPED; /* the best model so far can still be written */
  }
  amped_comm_sum_u64(&j->session->comm, &caught, 1);
  return caught > 0 ? AMPED_STOPPED : AMPED_OK;
}

static const char *stopped_by(const void *context) {
  return ((const job *)context)->unsaved != AMPED_OK ? AMPED_CHECKPOINT_LOST : "signal";
}

/* --- results --------------------------------------------------------------------------------- */

/* Rank 0: warn if the components of a model have vanished, unless equal values leave none. */
static void warn_of_zeros(const job *j, const amped_completion_result *result) {
  const amped_completion *c = &result->completion;
  if (!j->problem.constant && amped_completion_is_additive(c, &result->model))
    amped_warn(
        "the components are almost zero: the model is %s; a smaller --reg or a larger --rank "
        "may find more",
        c->biased        ? "mean and biases alone"
        : c->mean != 0.0 ? "its mean alone"
                         : "zero everywhere");
}

/* Collective: find the errors that the best model is expected to have in gaps. Empty if the
 * tensor's gaps are not measured. */
static amped_status find_gap_errors(const job *j, const amped_complete_best *best,
                                    amped_gap_errors *out) {
  const amped_context context = amped_session_context(j->session);
  memset(out, 0, sizeof *out);
  if (!measures_gaps(j, context.plan) || j->problem.constant ||
      amped_session_info(j->session)->duplicates == AMPED_DUPLICATES_KEEP)
    return AMPED_OK;
  return amped_gap_errors_find(&context, &j->problem, best->value, out);
}

/* Copy the errors of gaps into a result. A fixed mode has none. */
static amped_status put_gap_errors(const job *j, const amped_gap_errors *gaps,
                                   amped_completion *c) {
  for (int m = 0; m < c->order; m++) {
    if (gaps->rmse[m] == NULL || amped_fixed_modes_has(&j->problem.fixed, m))
      continue;
    AMPED_TRY(
        amped_alloc(&c->gap_rmse[m], c->dims[m], sizeof *c->gap_rmse[m], "the errors of gaps"));
    memcpy(c->gap_rmse[m], gaps->rmse[m], c->dims[m] * sizeof *c->gap_rmse[m]);
  }
  return AMPED_OK;
}

/* Collective: write the best model. */
static amped_status save(job *j, const amped_complete_best *best, const amped_gap_errors *gaps,
                         const char *path) {
  amped_completion_result result;
  amped_trace_begin(AMPED_PHASE_WRITE, AMPED_NO_NUMBER);
  amped_status status = amped_completion_result_gather(j->session, &j->init.fixed, &j->problem,
                                                       best, j->labels, &result);
  if (status == AMPED_OK && j->session->comm.rank == 0) {
    warn_of_zeros(j, &result);
    status = put_gap_errors(j, gaps, &result.completion);
    AMPED_NEXT(status, amped_cpd_outputs_write(path, &result.model, &result.record));
  }
  status = amped_comm_agree(&j->session->comm, status);
  amped_trace_end();
  amped_completion_result_free(&result);
  return status;
}

/* Collective: write the first state of a stream, from the best model. */
static amped_status save_state(job *j, const amped_complete_best *best) {
  const amped_stream_options *o = &j->o->stream;
  amped_status status =
      amped_stream_begin(j->session, &j->problem, best, j->labels, j->state, o->keep, o->history);
  amped_state_file_close(j->state);
  j->state = NULL;
  return status;
}

/* Sweeps of the run with the best sweep. */
static uint64_t sweeps_of(const amped_complete_best *best) {
  uint64_t most = best->number;
  for (int k = 0; k < AMPED_COMPLETION_SETS; k++)
    most = best->errors[k].count > most ? best->errors[k].count : most;
  return most;
}

static amped_status finish_search(job *j, int i, const amped_complete_best *best, double seconds) {
  const char *path = j->outputs.results[i].path;
  amped_gap_errors gaps;
  AMPED_TRY(find_gap_errors(j, best, &gaps));
  amped_status status = j->o->nowrite ? AMPED_OK : save(j, best, &gaps, path);
  if (status == AMPED_OK && j->o->stream.state != NULL)
    status = save_state(j, best);
  if (status != AMPED_OK)
    goto done;
  amped_report_memory(j->session);
  j->rows[j->finished++] =
      (amped_summary_row){.ncomps = j->o->session.ncomps_list[i],
                          .metric = amped_complete_solver_of(&j->problem)->metric,
                          .value = best->value,
                          .sweeps = sweeps_of(best),
                          .best = best->number,
                          .reason = best->stop_reason,
                          .match = (double)NAN,
                          .seconds = seconds,
                          .corcondia = (double)NAN,
                          .path = path};
  status =
      amped_completion_report_end(j->session, &j->problem, best, j->labels, &gaps, seconds, path);
done:
  amped_gap_errors_free(&gaps);
  return status;
}

/* Collective: report that a signal stopped the run. */
static amped_status tell_stopped(const job *j, int i, const amped_complete_best *best) {
  const char *path = j->outputs.results[i].path;
  const int ncomps = j->o->session.ncomps_list[i];
  amped_status status = AMPED_STOPPED;
  if (j->session->comm.rank == 0 && best->found && !j->o->nowrite)
    status = amped_error(AMPED_STOPPED, path,
                         "holds the best model of R = %d so far; a signal stopped the run; --init "
                         "continues from it, with another -o",
                         ncomps);
  else if (j->session->comm.rank == 0)
    status = amped_error(AMPED_STOPPED, NULL, "a signal stopped the run at R = %d; run it again",
                         ncomps);
  return amped_comm_agree(&j->session->comm, status);
}

/* Collective: search from the beginning, or from the last checkpoint. */
static amped_status search(job *j, amped_complete_best *best, double *seconds) {
  const amped_checkpoint_options *o = &j->o->checkpoint;
  const amped_complete_hooks hooks = {.begin = begin_run,
                                      .end = end_run,
                                      .after_sweep = after_sweep,
                                      .stopped_by = stopped_by,
                                      .context = j};
  const amped_context context = amped_session_context(j->session);
  const amped_checkpoint_recipe recipe = {.fixed =
                                              j->init.fixed.modes != 0 ? j->init.fixed.key : NULL,
                                          .init = amped_init_name(j->session->options)};
  amped_solver_state state = {.order = 0};
  bool resumed = false;
  amped_status status = AMPED_OK;
  memset(best, 0, sizeof *best);
  AMPED_GO(done, amped_checkpoint_open(j->session, o, amped_complete_solver_of(&j->problem),
                                       &recipe, &j->checkpoint));
  if (o->resume)
    AMPED_GO(done, amped_checkpoint_resume(j->checkpoint, &state, &best->factors, &resumed));
  AMPED_GO(done, amped_complete_search(&context, &j->problem, &hooks, resumed ? &state : NULL, best,
                                       seconds));
  if (j->checkpoint != NULL)
    AMPED_ALSO(j->unsaved, amped_checkpoint_wait(j->checkpoint));
done:
  amped_checkpoint_close(j->checkpoint);
  j->checkpoint = NULL;
  amped_solver_state_free(&state);
  return status;
}

/* Complete with one number of components. */
static amped_status complete(job *j, int i) {
  const int biases = j->session_options.biased ? 1 : 0;
  amped_complete_best best;
  double seconds = 0.0;
  AMPED_TRY(amped_session_set_ncomps(j->session, j->o->session.ncomps_list[i] + biases));
  amped_status status = search(j, &best, &seconds);
  if (best.found && (status == AMPED_OK || status == AMPED_STOPPED)) {
    amped_status finished = finish_search(j, i, &best, seconds);
    status = finished != AMPED_OK ? finished : status;
  }
  if (status == AMPED_STOPPED && j->unsaved == AMPED_OK)
    status = tell_stopped(j, i, &best);
  else if (status == AMPED_STOPPED && best.found && !j->o->nowrite)
    amped_say("the best model so far: %s", j->outputs.results[i].path);
  amped_complete_best_free(&best);
  return j->unsaved != AMPED_OK ? j->unsaved : status;
}

/* Collective, before the first sweep: check that there is enough disk space. */
static amped_status check_room(const job *j) {
  amped_status status = AMPED_OK;
  if (j->session->comm.rank == 0)
    status = amped_cpd_outputs_room(j->o, &j->outputs, &j->session->plan, j->labels);
  return amped_comm_agree(&j->session->comm, status);
}

/* Collective: find the errors without components, with which the model's are compared. */
static amped_status find_baselines(job *j) {
  amped_complete_problem *p = &j->problem;
  const bool judged = p->validate != NULL || p->held > 0 || p->test != NULL;
  if (!judged || p->fit.implicit > 0.0)
    return AMPED_OK;
  AMPED_TRY(amped_session_set_ncomps(j->session, amped_complete_baseline_columns(p)));
  const amped_context context = amped_session_context(j->session);
  AMPED_TRY(amped_complete_baselines_find(&context, p, &j->baselines));
  p->baselines = &j->baselines;
  return AMPED_OK;
}

/* Complete with all numbers of components, in the user's order. */
static amped_status complete_all(job *j) {
  const int count = j->o->session.ncomps_count;
  amped_status status = AMPED_OK;
  AMPED_TRY(take_labels(j));
  AMPED_TRY(check_room(j));
  AMPED_TRY(set_problem(j));
  AMPED_TRY(find_baselines(j));
  AMPED_TRY(amped_comm_agree(&j->session->comm, amped_signals_catch()));
  for (int i = 0; i < count && status == AMPED_OK; i++)
    status = complete(j, i);
  if (count > 1 && j->finished > 0 && (status == AMPED_OK || status == AMPED_STOPPED)) {
    amped_status told = amped_summary_ranks(j->session, j->rows, j->finished, false);
    status = told != AMPED_OK ? told : status;
  }
  return status;
}

/* --- the command ----------------------------------------------------------------------------- */

/* On every rank, before MPI starts: set up the reading and session options. */
static amped_status begin(job *j) {
  const amped_options *o = j->o;
  AMPED_TRY(amped_complete_files_begin(&j->files, o));
  j->session_options = o->session;
  j->session_options.biased = o->complete.bias == AMPED_BIAS_FULL;
  j->session_options.lists_cells = true;
  j->session_options.keeps_result =
      (!o->nowrite || o->stream.state != NULL) && !o->session.plan_only;
  j->session_options.read = &j->files.of_input;
  if (j->session_options.biased && o->session.ncomps == AMPED_MAX_NCOMPS)
    return amped_error(AMPED_USAGE, NULL,
                       "--rank=%d: with biases at most %d components are possible; lower --rank, "
                       "or use --bias=none",
                       o->session.ncomps, AMPED_MAX_NCOMPS - 1);
  return amped_cpd_outputs_check_names(o);
}

static amped_status look_at_state(const amped_options *o) {
  const char *state = o->stream.state;
  amped_output found;
  if (state == NULL || o->session.plan_only)
    return AMPED_OK;
  AMPED_TRY(amped_file_check_writable(state));
  if (amped_file_is_special(state))
    return amped_error(AMPED_USAGE, state,
                       "cannot hold a state, which needs a regular file with a journal in the same "
                       "folder; name a file with --state");
  return amped_output_look(state, AMPED_OUTPUT_STATE, o->overwrite, &found);
}

/* On the launcher's rank 0, before MPI starts: probe the inputs, and check which files the run
 * replaces. */
static amped_status look(job *j) {
  AMPED_TRY(amped_complete_files_probe(&j->files));
  if (j->o->checkpoint.resume)
    amped_hdf5_probe_with_previous(j->o->checkpoint.file);
  AMPED_TRY(look_at_state(j->o));
  return amped_cpd_outputs_look(j->o, &j->outputs);
}

/* Rank 0: lock the outputs, so that no other run writes them. */
static amped_status lock(job *j) {
  AMPED_TRY(amped_cpd_outputs_lock(&j->outputs));
  if (j->o->stream.state == NULL || j->o->session.plan_only)
    return AMPED_OK;
  return amped_state_file_reserve(j->o->stream.state, &j->state);
}

/* Collective: refuse repeated cells of which only the values, or each by itself, would count. */
static amped_status check_repeats(const job *j) {
  const char *path = j->o->args[0];
  const amped_duplicates d = amped_session_info(j->session)->duplicates;
  amped_status status = AMPED_OK;
  if (d == AMPED_DUPLICATES_KEEP && (j->files.weights != NULL || j->o->complete.implicit > 0.0))
    status =
        amped_error(AMPED_BAD_INPUT, path,
                    "has cells with several entries, which were all kept, and %s counts a cell "
                    "once; add them up with --duplicates=sum",
                    j->files.weights != NULL ? "--weights" : "--implicit");
  AMPED_TRY(amped_comm_agree(&j->session->comm, j->session->comm.rank == 0 ? status : AMPED_OK));
  return j->files.of_weights.reads_weights ? amped_entry_file_check_merged(j->session, path, d)
                                           : AMPED_OK;
}

/* Warn if repeated coordinates were added up when the tensor file was made: sums are wrong for
 * ratings and measurements. For text, the reader has already warned. */
static void warn_of_sums(const job *j) {
  const char *path = j->o->args[0];
  if (j->session->comm.rank == 0 && amped_io_has_format(path, &j->o->read, AMPED_FORMAT_HDF5) &&
      amped_session_info(j->session)->duplicates == AMPED_DUPLICATES_SUM)
    amped_warn("%s: values at repeated coordinates were added up when it was made; for ratings "
               "make it again with amped_mpi convert --duplicates=mean, or last",
               path);
}

amped_status amped_cmd_complete(const amped_options *given) {
  amped_session session;
  job j = {.session = &session, .own = *given};
  const amped_options *o = j.o = &j.own;
  /* Factor sets that rank 0 holds. A result takes two: whole rows, then components. A checkpoint
   * takes two as well: the current and the best factors. The current ones are kept until the
   * end. */
  const amped_demand demand = {.result_bytes = o->checkpoint.file != NULL ? 3 * sizeof(double)
                                               : o->nowrite               ? 0
                                                                          : 2 * sizeof(double),
                               .solver_rows = solver_rows,
                               .whole_rows = true,
                               .centres = !(o->complete.implicit > 0.0),
                               .sample = o->complete.weights != NULL ? sample_learnt : NULL,
                               .sample_context = &j,
                               .resident =
                                   o->complete.method == AMPED_COMPLETE_SGD ? "--method=sgd" : NULL,
                               .check = check_plan,
                               .context = &j};
  amped_status status = AMPED_OK;
  AMPED_TRY(begin(&j));
  if (amped_launcher_rank() <= 0)
    status = look(&j);
  status = amped_session_start(&session, &j.session_options, status);
  if (status == AMPED_OK)
    status = amped_comm_agree(&session.comm, session.comm.rank == 0 ? lock(&j) : AMPED_OK);
  if (status == AMPED_OK)
    status = amped_complete_init_take(&j.init, &session.comm, &j.own, &j.session_options);
  if (status == AMPED_OK)
    status = amped_session_prepare(&session, &demand);
  if (status == AMPED_OK) {
    warn_of_sums(&j);
    status = check_repeats(&j);
  }
  if (status == AMPED_OK && !o->session.plan_only)
    status = complete_all(&j);
  status = amped_session_finish(&session, status);
  amped_complete_files_free(&j.files);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(j.problem.judged[m]);
    amped_free(j.problem.tested[m]);
  }
  amped_state_file_close(j.state);
  amped_cpd_outputs_free(&j.outputs);
  amped_complete_init_free(&j.init);
  amped_session_close(&session);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_labels_free(&j.labels[m]);
  return status;
}
