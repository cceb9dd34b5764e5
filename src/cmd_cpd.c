#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "checkpoint_file.h"
#include "commands.h"
#include "describe.h"
#include "file.h"
#include "file_lock.h"
#include "log.h"
#include "mem.h"
#include "report.h"
#include "result_file.h"
#include "run.h"
#include "timer.h"
#include "trace.h"

/* Where rank 0 writes, "STEM.cpd.h5" in the current folder unless the user says otherwise. */
static amped_status output_path(const amped_options *o, char **out) {
  if (o->output != NULL)
    return amped_strdup(out, o->output);
  const char *name = strrchr(o->args[0], '/');
  name = name != NULL ? name + 1 : o->args[0];
  if (strcmp(name, "-") == 0)
    name = "stdin";
  uint64_t length = amped_io_stem(name);
  AMPED_TRY(amped_alloc(out, length + sizeof ".cpd.h5", 1, "the output's name"));
  memcpy(*out, name, length);
  memcpy(*out + length, ".cpd.h5", sizeof ".cpd.h5");
  return AMPED_OK;
}

/* Rank 0, before anything is read: can the result be written, and by nobody else meanwhile? */
static amped_status check_output(const amped_options *o, char **path, amped_file_lock *lock) {
  char *temporary = NULL;
  amped_format format = AMPED_FORMAT_HDF5;
  AMPED_TRY(output_path(o, path));
  if (amped_io_format(*path, &format) != AMPED_OK)
    amped_status_clear(); /* a name without a suffix that says otherwise */
  if (format != AMPED_FORMAT_HDF5)
    return amped_error(AMPED_USAGE, *path,
                       "results are HDF5 files; name it .h5, and amped_mpi convert turns it into "
                       "text or .npy");
  if (amped_file_same(*path, o->args[0]) || (o->init != NULL && amped_file_same(*path, o->init)))
    return amped_error(AMPED_FAILED, *path,
                       "is an input of this run and would be overwritten; name another file with "
                       "-o");
  if (o->checkpoint != NULL &&
      (strcmp(*path, o->checkpoint) == 0 || amped_file_same(*path, o->checkpoint)))
    return amped_error(AMPED_USAGE, *path,
                       "is named for the result and for the checkpoint; name another file with "
                       "--checkpoint");
  AMPED_TRY(amped_file_temporary(*path, &temporary));
  amped_free(temporary);
  return amped_file_lock_take(*path, lock);
}

/* Rank 0: read --init=FILE and compare its shape with the tensor's. */
static amped_status read_start(const amped_options *o, const amped_plan *plan,
                               amped_ktensor *start) {
  AMPED_TRY(amped_result_file_read(o->init, start));
  if (start->order != plan->order || start->ncomps != plan->ncomps)
    return amped_error(AMPED_BAD_INPUT, o->init,
                       "has order %d and %d components, the run has order %d and %d; use "
                       "--rank=%d or another start",
                       start->order, start->ncomps, plan->order, plan->ncomps, start->ncomps);
  for (int m = 0; m < plan->order; m++)
    if (start->dims[m] != plan->dims[m])
      return amped_error(AMPED_BAD_INPUT, o->init,
                         "factor %d has %" PRIu64 " rows, the tensor has dimension %" PRIu64
                         "; it belongs to another tensor",
                         m, start->dims[m], plan->dims[m]);
  return AMPED_OK;
}

static amped_status set_start(const amped_run_state *run, const amped_options *o) {
  const amped_run_parts parts = amped_run_parts_of(run);
  amped_ktensor start;
  amped_status status = AMPED_OK;
  if (o->init == NULL) {
    amped_say("start: random, seed %" PRIu64, o->seed);
    return amped_factors_random(&parts, o->seed);
  }
  memset(&start, 0, sizeof start);
  if (run->comm.rank == 0)
    status = read_start(o, &run->plan, &start);
  status = amped_comm_agree(&run->comm, status);
  if (status == AMPED_OK) {
    amped_say("start: %s", o->init);
    status = amped_factors_put(&parts, &start);
  }
  amped_ktensor_free(&start);
  return status;
}

/* What after_sweep needs. */
typedef struct cpd_context {
  amped_run_state *run;
  amped_checkpoint *checkpoint; /* NULL: none */
} cpd_context;

static amped_status after_sweep(void *context, const amped_sweep *sweep) {
  cpd_context *c = context;
  AMPED_TRY(amped_report_sweep(c->run, sweep));
  return c->checkpoint != NULL ? amped_checkpoint_sweep(c->checkpoint, sweep) : AMPED_OK;
}

/* The options that determine a result, as JSON text (free() by the caller). */
static char *options_text(const amped_run_state *run, const amped_options *o) {
  const char *init = o->init != NULL ? o->init : "random";
  json_t *object = json_pack(
      "{s:i, s:I, s:f, s:o, s:o, s:s, s:s, s:i, s:s, s:s}", "rank", o->ncomps, "iters",
      (json_int_t)o->iters, "tol", o->tol, "seed", amped_json_count(o->seed), "init",
      amped_json_text(init, strlen(init)), "backend", run->backend->name, "precision",
      amped_vtype_name(o->precision), "nranks", run->comm.nranks, "read",
      o->read_parallel ? "parallel" : "root", "placement", amped_placement_names[o->placement]);
  char *text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
  json_decref(object);
  return text;
}

/* Rank 0: labels, record, file. */
static amped_status write_result(amped_run_state *run, const amped_options *o,
                                 const amped_als_result *als, amped_ktensor *k, const char *path) {
  amped_status status = AMPED_OK;
  char *text = options_text(run, o);
  if (text == NULL)
    return amped_error(AMPED_FAILED, path, "out of memory for the run's record");
  for (int m = 0; m < k->order; m++)
    AMPED_GO(done, amped_source_labels(run->source, m, &k->labels[m]));
  memcpy(k->weights, als->weights, (size_t)k->ncomps * sizeof *k->weights);
  amped_run_record record = {
      .input = o->args[0],
      .input_norm = sqrt(run->plan.norm_squared),
      .input_hash = amped_run_info(run)->hash,
      .options = text,
      .seed = o->seed,
      .stop_reason = als->stop_reason,
      .fit = als->fit,
      .sweeps = als->sweeps,
  };
  AMPED_GO(done, amped_result_file_write(path, k, &record));
done:
  free(text);
  return status;
}

/* Collective: the factors to rank 0, and there to the file. */
static amped_status save(amped_run_state *run, const amped_options *o, const amped_als_result *als,
                         const char *path) {
  const amped_run_parts parts = amped_run_parts_of(run);
  amped_ktensor k;
  amped_status status = AMPED_OK;
  amped_trace_begin(AMPED_PHASE_WRITE, AMPED_NO_NUMBER);
  memset(&k, 0, sizeof k);
  if (run->comm.rank == 0)
    status = amped_ktensor_create(&k, run->plan.order, run->plan.dims, run->plan.ncomps);
  status = amped_comm_agree(&run->comm, status);
  if (status == AMPED_OK)
    status = amped_factors_get(&parts, &k);
  if (status == AMPED_OK) {
    if (run->comm.rank == 0)
      status = write_result(run, o, als, &k, path);
    status = amped_comm_agree(&run->comm, status);
  }
  amped_trace_end();
  amped_ktensor_free(&k);
  return status;
}

static amped_status tell_end(amped_run_state *run, const amped_als_result *als, const char *path) {
  const amped_sweep_times *t = &als->times;
  double n = als->sweeps > als->earlier ? (double)(als->sweeps - als->earlier) : 1.0;
  double fit = als->sweeps > 0 ? als->fit[als->sweeps - 1] : 0.0;
  amped_status status = AMPED_OK;
  amped_say("fit %.8f after %" PRIu64 " sweeps (%s); %.4f s a sweep: mttkrp %.4f, solve %.4f, "
            "exchange %.4f",
            fit, als->sweeps,
            strcmp(als->stop_reason, "tolerance") == 0 ? "the change of fit fell below --tol"
                                                       : "--iters reached",
            t->total / n, t->mttkrp / n, t->solve / n, t->exchange / n);
  if (path != NULL)
    amped_say("result: %s (amped_mpi top %s shows it)", path, path);
  if (run->json != NULL)
    status = amped_json_line(
        run->json,
        json_pack("{s:s, s:s, s:f, s:I, s:f, s:f, s:f, s:f, s:o}", "event", "end", "reason",
                  als->stop_reason, "fit", fit, "sweeps", (json_int_t)als->sweeps, "seconds",
                  t->total, "mttkrp_seconds", t->mttkrp, "solve_seconds", t->solve,
                  "exchange_seconds", t->exchange, "output",
                  path != NULL ? amped_json_text(path, strlen(path)) : json_null()));
  return status;
}

/* The sweeps, from the start or from the last checkpoint. */
static amped_status sweep(amped_run_state *run, const amped_options *o, amped_als_result *als) {
  const amped_run_parts parts = amped_run_parts_of(run);
  cpd_context context = {run, NULL};
  amped_als_state state = {.order = 0};
  amped_als_options als_options = {
      .iters = o->iters, .tol = o->tol, .after_sweep = after_sweep, .context = &context};
  bool resumed = false;
  amped_status status = AMPED_OK;
  amped_trace_begin(AMPED_PHASE_INIT, AMPED_NO_NUMBER);
  AMPED_GO(done, amped_checkpoint_open(run, o, &context.checkpoint));
  if (o->resume)
    AMPED_GO(done, amped_checkpoint_resume(context.checkpoint, &state, &resumed));
  if (!resumed)
    AMPED_GO(done, set_start(run, o));
  amped_trace_end();
  als_options.start = resumed ? &state : NULL;
  AMPED_GO(done, amped_cpd_als(&parts, &als_options, als));
  if (context.checkpoint != NULL)
    status = amped_checkpoint_wait(context.checkpoint);
  if (status != AMPED_OK)
    amped_als_result_free(als);
done:
  amped_checkpoint_close(context.checkpoint);
  amped_als_state_free(&state);
  return status;
}

static amped_status decompose(amped_run_state *run, const amped_options *o, const char *path) {
  amped_als_result als;
  AMPED_TRY(sweep(run, o, &als));
  amped_status status = o->nowrite ? AMPED_OK : save(run, o, &als, path);
  amped_report_memory(run);
  if (status == AMPED_OK)
    status = amped_comm_agree(&run->comm, tell_end(run, &als, o->nowrite ? NULL : path));
  amped_als_result_free(&als);
  return status;
}

/* Stopped on a signal is an end as good as another: the trace is written then, too. */
static amped_status finish(amped_run_state *run, amped_status status) {
  if (status != AMPED_OK && status != AMPED_STOPPED)
    return status;
  amped_status finished = amped_run_finish(run);
  return finished != AMPED_OK ? finished : status;
}

amped_status amped_cmd_cpd(const amped_options *o) {
  amped_run_state run;
  char *path = NULL;
  amped_file_lock lock = {NULL, -1};
  /* Rank 0 holds all factors once more while a checkpoint or the result is written. */
  const uint64_t result_bytes = o->nowrite && o->checkpoint == NULL ? 0 : sizeof(double);
  if (o->resume && amped_launcher_rank() <= 0)
    amped_checkpoint_file_probe(o->checkpoint);
  amped_status status = amped_run_start(&run, o);
  if (status == AMPED_OK) {
    /* Before anything is read: an output that cannot be written costs the user nothing then. */
    if (run.comm.rank == 0 && !o->nowrite && !o->plan_only)
      status = check_output(o, &path, &lock);
    status = amped_comm_agree(&run.comm, status);
  }
  if (status == AMPED_OK)
    status = amped_run_open(&run, o, result_bytes);
  if (status == AMPED_OK && !o->plan_only)
    status = decompose(&run, o, path);
  status = finish(&run, status);
  amped_file_lock_release(&lock);
  amped_run_close(&run);
  amped_free(path);
  return status;
}
