/* Checkpoints of a run: the copy on rank 0, the thread that writes it, and resuming from the
 * file. */
#include "session/checkpoint.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "session/checkpoint_file.h"
#include "tensor/format.h"
#include "base/file_lock.h"
#include "base/facts.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/heartbeat.h"
#include "base/signals.h"
#include "base/timer.h"
#include "base/trace.h"

#define DEFAULT_SWEEPS 10

struct amped_checkpoint {
  amped_session *session;
  const amped_checkpoint_options *options;
  const amped_checkpoint_model *model; /* NULL: the only one */
  const char *file;
  amped_file_lock lock; /* lock of the file, on rank 0 */
  amped_checkpoint_key key;
  uint64_t sweeps, last_sweep; /* sweeps so far; their number at the last checkpoint */
  double last_time;
  bool keep_previous; /* FILE is damaged: replace it, and keep FILE.prev */

  /* Rank 0: the checkpoint being written. The thread reads these members until it is done. */
  bool writing;
  pthread_t thread;
  amped_heartbeat *heartbeat; /* the rank's: shows the watchdog that this thread works */
  amped_ktensor k;
  amped_solver_state state;
  amped_status written;
  double write_sec;
  atomic_bool done;
};

static amped_context context_of(const amped_checkpoint *c) {
  return c->model != NULL ? *c->model->context : amped_session_context(c->session);
}

static amped_checkpoint_key key_of(const amped_session *session, const amped_solver *solver,
                                   const amped_checkpoint_recipe *recipe,
                                   const amped_checkpoint_model *model) {
  const amped_tensor_info *info = amped_session_info(session);
  const amped_session_options *o = session->options;
  amped_checkpoint_key key = {.order = info->order,
                              .nnz = info->nnz,
                              .hash = info->hash,
                              .ncomps = model != NULL ? model->context->plan->ncomps
                                                      : session->plan.ncomps,
                              .last_column = o->biased ? "biases" : NULL,
                              .precision = o->precision,
                              .seed = model != NULL ? model->seed : o->seed,
                              .metric = solver->metric,
                              .has_grams = solver->has_grams,
                              .has_numbers = solver->has_numbers,
                              .keeps_second = solver->keeps_second,
                              .method = recipe->method,
                              .loss = recipe->loss,
                              .accelerate = recipe->accelerate,
                              .rows = recipe->rows,
                              .fixed = recipe->fixed,
                              .init = recipe->init};
  memcpy(key.dims, info->dims, sizeof key.dims);
  return key;
}

amped_status amped_checkpoint_open_model(amped_session *session, const amped_checkpoint_options *o,
                                         const amped_solver *solver,
                                         const amped_checkpoint_recipe *recipe,
                                         const amped_checkpoint_model *model,
                                         amped_checkpoint **out) {
  amped_checkpoint *c = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  if (o->file == NULL)
    return AMPED_OK;
  AMPED_GO(agree, amped_calloc(&c, 1, sizeof *c, "the checkpoint"));
  c->session = session;
  c->options = o;
  c->model = model;
  c->file = model != NULL ? model->file : o->file;
  c->key = key_of(session, solver, recipe, model);
  c->last_time = amped_time();
  if (session->comm.rank == 0)
    AMPED_GO(agree, amped_file_lock_take(c->file, &c->lock));
  status = amped_signals_catch();
agree:
  status = amped_comm_agree(&session->comm, status);
  if (status != AMPED_OK)
    amped_checkpoint_close(c);
  else
    *out = c;
  return status;
}

amped_status amped_checkpoint_open(amped_session *session, const amped_checkpoint_options *o,
                                   const amped_solver *solver,
                                   const amped_checkpoint_recipe *recipe, amped_checkpoint **out) {
  return amped_checkpoint_open_model(session, o, solver, recipe, NULL, out);
}

/* --- resuming -------------------------------------------------------------------------------- */

static amped_status tell_resumed(amped_checkpoint *c, const amped_solver_state *state) {
  const char *file = c->file;
  amped_facts f;
  if (state->sweeps == 0 && c->model != NULL && c->model->is_quiet)
    return AMPED_OK;
  amped_facts_begin(&f, "resume");
  amped_fact_json(&f, "sweep", amped_json_count(state->sweeps));
  amped_fact_json(&f, "file", amped_json_string(file));
  if (state->sweeps > 0)
    amped_fact_words(&f, "resume: %s, after sweep %" PRIu64 ", %s %.8f\n", file, state->sweeps,
                     state->metric, state->history[state->sweeps - 1]);
  else
    amped_fact_words(&f, "resume: there is no %s yet; starting from the beginning\n", file);
  return amped_facts_write(&f, c->session->json);
}

static amped_status read_file(amped_checkpoint *c, amped_ktensor *k, amped_solver_state *state) {
  amped_generation generation = AMPED_GENERATION_NONE;
  AMPED_TRY(amped_checkpoint_file_read(c->file, &c->key, k, state, &generation));
  c->keep_previous = generation == AMPED_GENERATION_PREVIOUS;
  return tell_resumed(c, state);
}

/* Collective: send rank 0's state, from `file`, to all ranks. */
static amped_status share_state(const amped_comm *comm, const char *file,
                                const amped_checkpoint_key *key, amped_solver_state *state) {
  const uint64_t n = (uint64_t)key->ncomps;
  uint64_t sweeps = state->sweeps;
  amped_status status = AMPED_OK;
  amped_comm_broadcast(comm, &sweeps, sizeof sweeps);
  if (comm->rank != 0 && sweeps > 0)
    status = amped_solver_state_create(state, key->order, key->ncomps, sweeps, key->has_grams);
  state->metric = key->metric;
  state->file = file;
  AMPED_TRY(amped_comm_agree(comm, status));
  if (sweeps == 0)
    return AMPED_OK;
  amped_comm_broadcast(comm, state->history, sweeps * sizeof *state->history);
  amped_comm_broadcast(comm, state->weights, n * sizeof *state->weights);
  for (int m = 0; key->has_grams && m < key->order; m++)
    amped_comm_broadcast(comm, state->grams[m], n * n * sizeof *state->grams[m]);
  amped_comm_broadcast(comm, &state->number_count, sizeof state->number_count);
  if (comm->rank != 0 && state->number_count > 0)
    status =
        amped_alloc(&state->numbers, state->number_count, sizeof(double), "the solver's state");
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, state->numbers, state->number_count * sizeof(double));
  return AMPED_OK;
}

amped_status amped_checkpoint_resume(amped_checkpoint *c, amped_solver_state *state,
                                     amped_saved_factors *best, bool *found) {
  const amped_comm *comm = &c->session->comm;
  const amped_context context = context_of(c);
  amped_ktensor k;
  amped_status status = AMPED_OK;
  memset(&k, 0, sizeof k);
  memset(state, 0, sizeof *state);
  *found = false;
  if (comm->rank == 0)
    status = read_file(c, &k, state);
  AMPED_GO(done, amped_comm_agree(comm, status));
  AMPED_GO(done, share_state(comm, c->file, &c->key, state));
  *found = state->sweeps > 0;
  if (!*found)
    goto done;
  if (c->key.keeps_second) {
    AMPED_GO(done, amped_factors_put(&context, &state->kept));
    amped_ktensor_free(&state->kept);
    AMPED_GO(done, amped_saved_factors_take(&context, state->weights, best));
  }
  for (int r = 0; r < k.ncomps; r++)
    k.weights[r] = 1.0; /* the weights are in the state: factor 0 stays as it is */
  status = amped_factors_put(&context, &k);
done:
  amped_ktensor_free(&k);
  if (status != AMPED_OK)
    amped_solver_state_free(state);
  return status;
}

/* --- saving ---------------------------------------------------------------------------------- */

static void *write_in_thread(void *argument) {
  amped_checkpoint *c = argument;
  double began = amped_time();
  amped_heartbeat_join(c->heartbeat);
  omp_set_num_threads(1); /* the other threads compute */
  c->written = amped_checkpoint_file_write(c->file, c->keep_previous, &c->key, &c->k, &c->state);
  c->write_sec = amped_time() - began;
  atomic_store(&c->done, true);
  return NULL;
}

/* Rank 0: wait until the thread is done, and join it. Does nothing if no checkpoint is being
 * written. */
static amped_status end_writing(amped_checkpoint *c) {
  const char *file = c->file;
  amped_facts f;
  if (!c->writing)
    return AMPED_OK;
  (void)pthread_join(c->thread, NULL);
  c->writing = false;
  if (c->model != NULL)
    *c->model->writer = NULL;
  const uint64_t sweep = c->state.sweeps;
  amped_solver_state_free(&c->state);
  AMPED_TRY(c->written);
  c->keep_previous = false;
  amped_facts_begin(&f, "checkpoint");
  f.waits = true;
  amped_fact(&f, "file", amped_json_string(file), "checkpoint: %s", file);
  amped_fact(&f, "sweep", amped_json_count(sweep), " holds sweep %" PRIu64, sweep);
  amped_fact(&f, "seconds", amped_json_number(c->write_sec), ", written in %.2f s\n", c->write_sec);
  if (c->model == NULL || !c->model->is_quiet)
    amped_facts_say(&f);
  return amped_facts_write(&f, c->session->json);
}

/* Rank 0: wait until no other model is being written. */
static amped_status end_others(const amped_checkpoint *c) {
  return c->model != NULL && *c->model->writer != NULL ? end_writing(*c->model->writer) : AMPED_OK;
}

/* Collective: copy the second set on rank 0, for a solver that can swap its two sets in place. */
static amped_status get_in_place(amped_checkpoint *c, const amped_context *context,
                                 const amped_solver_state *state) {
  AMPED_TRY(amped_comm_agree(context->comm, state->change_places(state->change_places_of)));
  AMPED_TRY(amped_factors_get(context, &c->state.kept));
  return amped_comm_agree(context->comm, state->change_places(state->change_places_of));
}

/* Collective: copy the solver's second set of factors to rank 0. Meanwhile it replaces the current
 * factors, which are restored afterwards. */
static amped_status copy_second(amped_checkpoint *c, const amped_solver_state *state) {
  const amped_context context = context_of(c);
  const amped_plan *plan = context.plan;
  amped_saved_factors here = {0};
  amped_status status = AMPED_OK;
  if (state->best == NULL && state->change_places == NULL)
    return AMPED_OK;
  if (context.comm->rank == 0)
    status = amped_ktensor_create(&c->state.kept, plan->order, plan->dims, plan->ncomps);
  AMPED_TRY(amped_comm_agree(context.comm, status));
  if (state->change_places != NULL)
    return get_in_place(c, &context, state);
  AMPED_TRY(amped_saved_factors_take(&context, state->weights, &here));
  status = amped_saved_factors_restore(&context, state->best);
  if (status == AMPED_OK)
    status = amped_factors_get(&context, &c->state.kept);
  if (status == AMPED_OK)
    status = amped_saved_factors_restore(&context, &here);
  amped_saved_factors_free(&here);
  return status;
}

/* Collective: copy the factors and the state on rank 0, and start its thread. */
static amped_status begin_writing(amped_checkpoint *c, const amped_solver_state *state) {
  const amped_context context = context_of(c);
  const amped_plan *plan = context.plan;
  const bool writes = context.comm->rank == 0;
  amped_status status = AMPED_OK;
  if (writes && c->k.order == 0)
    status = amped_ktensor_create(&c->k, plan->order, plan->dims, plan->ncomps);
  if (writes)
    AMPED_NEXT(status, end_others(c));
  if (writes && status == AMPED_OK)
    status = amped_solver_state_copy(&c->state, state);
  AMPED_TRY(amped_comm_agree(context.comm, status));
  AMPED_TRY(amped_factors_get(&context, &c->k));
  AMPED_TRY(copy_second(c, state));
  c->last_sweep = c->sweeps;
  c->last_time = amped_time();
  if (writes) {
    atomic_store(&c->done, false);
    c->heartbeat = amped_heartbeat_shown();
    int failed = pthread_create(&c->thread, NULL, write_in_thread, c);
    c->writing = failed == 0;
    if (c->writing && c->model != NULL)
      *c->model->writer = c;
    if (failed != 0)
      status = amped_error_errno(AMPED_FAILED, failed, c->file,
                                 "cannot be written: no thread can be started");
  }
  return amped_comm_agree(context.comm, status);
}

/* Rank 0: is a checkpoint due, and is no other being written? */
static bool is_due(const amped_checkpoint *c) {
  const amped_checkpoint_options *o = c->options;
  const uint64_t every = o->every_sweeps > 0 ? o->every_sweeps : DEFAULT_SWEEPS;
  if (c->writing)
    return false;
  return o->every_sec > 0.0 ? amped_time() - c->last_time >= o->every_sec
                            : c->sweeps - c->last_sweep >= every;
}

/* Collective, after a signal: write a checkpoint of this sweep if there is none yet, and stop. */
static amped_status stop(amped_checkpoint *c, const amped_solver_state *state) {
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_checkpoint_wait(c));
  if (c->last_sweep != c->sweeps) {
    AMPED_TRY(begin_writing(c, state));
    AMPED_TRY(amped_checkpoint_wait(c));
  }
  if (c->session->comm.rank == 0)
    status = amped_error(AMPED_STOPPED, c->file,
                         "holds the run after sweep %" PRIu64
                         "; a signal stopped it; continue with --resume",
                         state->sweeps);
  return amped_comm_agree(&c->session->comm, status);
}

amped_status amped_checkpoint_sweep(amped_checkpoint *c, const amped_sweep *sweep) {
  const amped_comm *comm = &c->session->comm;
  amped_status status = AMPED_OK;
  amped_trace_begin(AMPED_PHASE_WRITE, AMPED_NO_NUMBER);
  c->sweeps++;
  if (c->writing && atomic_load(&c->done))
    status = end_writing(c);
  uint64_t votes[] = {status != AMPED_OK, amped_signals_caught() != NULL,
                      comm->rank == 0 && is_due(c)};
  amped_comm_sum_u64(comm, votes, 3);
  if (votes[0] > 0)
    status = amped_comm_agree(comm, status);
  else if (votes[1] > 0)
    status = stop(c, sweep->state);
  else if (votes[2] > 0)
    status = begin_writing(c, sweep->state);
  amped_trace_end();
  return status;
}

amped_status amped_checkpoint_sweep_model(amped_checkpoint *c, const amped_solver_state *state) {
  const amped_comm *comm = &c->session->comm;
  amped_status status = AMPED_OK;
  c->sweeps++;
  amped_checkpoint *const writer = *c->model->writer;
  if (writer != NULL && atomic_load(&writer->done))
    status = end_writing(writer);
  uint64_t votes[] = {status != AMPED_OK,
                      comm->rank == 0 && *c->model->writer == NULL && is_due(c)};
  amped_comm_sum_u64(comm, votes, 2);
  if (votes[0] > 0)
    return amped_comm_agree(comm, status);
  amped_trace_begin(AMPED_PHASE_WRITE, AMPED_NO_NUMBER);
  if (votes[1] > 0)
    status = begin_writing(c, state);
  amped_trace_end();
  return status;
}

amped_status amped_checkpoint_save_model(amped_checkpoint *c, const amped_solver_state *state) {
  if (c->last_sweep == c->sweeps) /* the file has it, or its thread is writing it */
    return amped_checkpoint_wait(c);
  AMPED_TRY(amped_comm_agree(&c->session->comm, end_writing(c)));
  AMPED_TRY(begin_writing(c, state));
  return amped_checkpoint_wait(c);
}

amped_status amped_checkpoint_wait(amped_checkpoint *c) {
  return amped_comm_agree(&c->session->comm, end_writing(c));
}

void amped_checkpoint_close(amped_checkpoint *c) {
  if (c == NULL)
    return;
  (void)end_writing(c);
  amped_file_lock_release(&c->lock);
  amped_ktensor_free(&c->k);
  amped_solver_state_free(&c->state); /* held if copying the factors failed */
  amped_free(c);
}
