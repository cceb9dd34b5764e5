/* Starts and stops a session: probes, MPI, the backend, the trace and the watchdog. */
#include "session/session.h"

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/launcher.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "generate/paper_shapes.h"
#include "hdf5/hdf5_probe.h"
#include "hdf5/hdf5_prober.h"
#include "session/init_file.h"
#include "session/output_guard.h"
#include "text/io_format.h"

#define IDENTITY_BYTES 64
#define PLACE_BYTES 192

/* Collective: find the backend that the options name. auto: the first backend that every rank
 * has. */
static amped_status choose_backend(amped_session *session, const amped_session_options *o) {
  amped_status status = AMPED_OK;
  if (strcmp(o->backend.name, "auto") != 0) {
    const char *reason = "";
    session->worker.backend = amped_backend_find(o->backend.name);
    if (session->worker.backend == NULL)
      status = amped_error(AMPED_USAGE, NULL,
                           "--backend=%s: this program was built without it; configure with CUDA "
                           "or use --backend=cpu",
                           o->backend.name);
    else if (!session->worker.backend->device->available(&reason))
      status = amped_error(AMPED_FAILED, NULL, "--backend=%s: %s on rank %d; use --backend=cpu",
                           o->backend.name, reason, session->comm.rank);
    return amped_comm_agree(&session->comm, status);
  }
  for (int i = 0; (session->worker.backend = amped_backend_list(i)) != NULL; i++) {
    const char *reason = "";
    uint64_t have = session->worker.backend->device->available(&reason) ? 1 : 0;
    amped_comm_sum_u64(&session->comm, &have, 1);
    if (have == (uint64_t)session->comm.nranks)
      return AMPED_OK;
    if (have > 0)
      return amped_comm_agree(
          &session->comm, amped_error(AMPED_FAILED, NULL,
                                      "only %" PRIu64 " of %d ranks have a GPU; start the others "
                                      "elsewhere, or use --backend=cpu",
                                      have, session->comm.nranks));
    amped_say_verbose("backend %s: %s", session->worker.backend->name, reason);
  }
  return amped_error(AMPED_FAILED, NULL, "no backend is available");
}

/* Collective: refuse two ranks on one GPU, unless the user gave --share-gpus. */
static amped_status check_identities(amped_session *session, bool share) {
  amped_status status = AMPED_OK;
  char mine[IDENTITY_BYTES] = "";
  char(*all)[IDENTITY_BYTES] = NULL;
  const char *identity = session->worker.backend->device->identity(session->worker.device);
  strncpy(mine, identity, sizeof mine - 1);
  status = amped_alloc(&all, (uint64_t)session->comm.nranks, sizeof *all, "the GPUs' identities");
  status = amped_comm_agree(&session->comm, status);
  if (status == AMPED_OK) {
    AMPED_MPI(&session->comm, MPI_Allgather(mine, IDENTITY_BYTES, MPI_CHAR, all, IDENTITY_BYTES,
                                            MPI_CHAR, session->comm.mpi));
    for (int p = 0; p < session->comm.rank && !share && mine[0] != '\0' && status == AMPED_OK; p++)
      if (strcmp(all[p], mine) == 0)
        status =
            amped_error(AMPED_FAILED, NULL,
                        "ranks %d and %d share GPU %s; start fewer ranks, or pass --share-gpus", p,
                        session->comm.rank, mine);
    status = amped_comm_agree(&session->comm, status);
  }
  amped_free(all);
  return status;
}

int amped_session_threads(const amped_comm *comm, int wanted) {
  int cores = omp_get_num_procs();
  if (wanted > 0)
    return wanted;
  if (getenv("OMP_NUM_THREADS") != NULL)
    return omp_get_max_threads();
  if (cores >= (int)sysconf(_SC_NPROCESSORS_ONLN))
    cores /= comm->local_size;
  return cores > 0 ? cores : 1;
}

/* Refuse options of sparse tensors and of text input; else set the format of dense tensors. */
static amped_status take_dense_format(const amped_session_options *o,
                                      amped_backend_options *options) {
  if (o->sparse_option[0] != '\0')
    return amped_error(AMPED_USAGE, o->input,
                       "is a dense tensor, and %s is for sparse ones; leave it out",
                       o->sparse_option);
  options->format = "dense";
  return AMPED_OK;
}

amped_status amped_session_open_backend(amped_session *session) {
  const amped_session_options *o = session->options;
  amped_backend_options options = o->backend;
  options.threads = amped_session_threads(&session->comm, o->backend.threads);
  options.local_rank = session->comm.local_rank;
  options.local_size = session->comm.local_size;
  if (session->is_dense)
    AMPED_TRY(take_dense_format(o, &options));
  else if (options.tf32)
    return amped_error(AMPED_USAGE, o->input,
                       "is a sparse tensor, and --products=tf32 is for dense ones; leave it out");
  AMPED_TRY(choose_backend(session, o));
  omp_set_num_threads(options.threads);
  amped_status status = amped_worker_open(&session->worker, session->worker.backend, &options);
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  return check_identities(session, o->backend.share_gpus);
}

const amped_tensor_info *amped_session_info(const amped_session *session) {
  return session->input == NULL || session->is_list ? &session->made
                                                    : amped_input_info(session->input);
}

/* Rank 0: is the input, which was probed, loaded as a dense tensor? */
static amped_status look_for_dense(const amped_session_options *o, bool *is_dense) {
  *is_dense = o->cells.made;
  if (o->own_input || o->shape.name != NULL || o->cells.made || o->lists_cells)
    return AMPED_OK;
  return amped_dense_source_is(o->input, o->dataset, is_dense);
}

/* Collective; the status is agreed. Find out whether the input is dense, and so which ranks read
 * it. */
static amped_status find_dense(amped_session *session) {
  const amped_session_options *o = session->options;
  amped_status status = AMPED_OK;
  if (session->comm.rank == 0)
    status = look_for_dense(o, &session->is_dense);
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  amped_comm_broadcast(&session->comm, &session->is_dense, sizeof session->is_dense);
  session->read_parallel =
      o->readers == AMPED_READERS_ALL || (session->is_dense && o->readers == AMPED_READERS_AUTO);
  if (!session->is_dense)
    amped_hdf5_prober_stop();
  return AMPED_OK;
}

static amped_status set_synthetic(amped_synthetic *t, const amped_session_options *o) {
  amped_shape shape = {.order = 0};
  AMPED_TRY(amped_shape_get(o->shape.name, o->shape.scale, o->shape.nnz, &shape));
  if (o->shape.values == AMPED_VALUES_REAL)
    shape.codes = 0;
  else if (o->shape.values == AMPED_VALUES_COUNTS && shape.codes == 0)
    shape.codes = AMPED_SHAPE_CODES;
  else if (o->shape.values == AMPED_VALUES_RATINGS)
    shape.codes = AMPED_SHAPE_RATINGS;
  return amped_synthetic_make(t, shape.order, shape.dims, shape.nnz,
                              o->shape.skew_count > 0 ? AMPED_SYNTHETIC_UNIFORM
                                                      : AMPED_SYNTHETIC_SKEWED,
                              shape.codes, o->seed);
}

void amped_session_before_mpi(const char *name) {
  const amped_backend *backend = NULL;
  for (int i = 0; (backend = amped_backend_list(i)) != NULL; i++)
    if (strcmp(name, "auto") == 0 || strcmp(name, backend->name) == 0)
      backend->device->before_mpi(amped_launcher_local_rank());
}

/* Rank 0, before any output is opened: check that the files of --json and --trace may be
 * replaced. */
static amped_status check_outputs(const amped_session_options *o) {
  amped_output found;
  if (o->json != NULL && strcmp(o->json, "-") != 0)
    AMPED_TRY(amped_output_look(o->json, AMPED_OUTPUT_LINES, o->overwrite, &found));
  if (o->trace != NULL)
    AMPED_TRY(amped_output_look(o->trace, AMPED_OUTPUT_TRACE, o->overwrite, &found));
  return AMPED_OK;
}

amped_status amped_session_start(amped_session *session, const amped_session_options *o,
                                 amped_status status) {
  amped_format format = AMPED_FORMAT_TNS; /* format of the input that the session reads */
  const bool reads = o->readers == AMPED_READERS_ALL || amped_launcher_rank() <= 0;
  memset(session, 0, sizeof *session);
  session->options = o;
  if (status == AMPED_OK && o->trace != NULL)
    status = amped_trace_open(AMPED_TRACE_EVENTS);
  amped_trace_begin(AMPED_PHASE_RUN, AMPED_NO_NUMBER);
  amped_trace_begin(AMPED_PHASE_START, AMPED_NO_NUMBER);
  if (status == AMPED_OK && !o->own_input && !o->cells.made)
    status = o->shape.name != NULL ? set_synthetic(&session->synthetic, o)
                                   : amped_io_input_format(o->input, o->read, &format);
  if (status == AMPED_OK && format == AMPED_FORMAT_HDF5 && reads)
    status = amped_hdf5_probe(o->input);
  else if (status == AMPED_OK && format == AMPED_FORMAT_HDF5 && o->readers == AMPED_READERS_AUTO)
    status = amped_hdf5_probe_later(); /* if the input is dense, this rank reads it, too */
  if (status == AMPED_OK && o->init != NULL && amped_launcher_rank() <= 0)
    status = amped_init_file_check(o->init);
  if (status == AMPED_OK && amped_launcher_rank() <= 0)
    status = check_outputs(o);
  amped_session_before_mpi(o->backend.name);
  if (status == AMPED_OK && o->hang_timeout > 0.0)
    status = amped_watchdog_start(o->hang_timeout, &session->watchdog);
  AMPED_TRY(amped_comm_start(&session->comm));
  session->comm.in_order = o->backend.deterministic;
  session->comm.way = o->exchange.way;
  if (status == AMPED_OK && session->comm.rank == 0)
    status = amped_json_open(o->json, &session->json);
  if (o->keeps_result)
    amped_json_may_end(session->json);
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  if (session->watchdog != NULL)
    AMPED_TRY(amped_watchdog_watch(session->watchdog, &session->comm));
  if (o->trace != NULL)
    AMPED_TRY(amped_trace_file_open(&session->comm, o->trace, &session->trace));
  if (!o->own_input)
    AMPED_TRY(find_dense(session));
  amped_trace_end();
  return AMPED_OK;
}

amped_status amped_session_set_ncomps(amped_session *session, int ncomps) {
  if (ncomps == session->plan.ncomps)
    return AMPED_OK;
  amped_exchange_destroy(session->exchange);
  session->exchange = NULL;
  amped_plan_set_ncomps(&session->plan, ncomps);
  AMPED_TRY(amped_comm_agree(&session->comm, amped_worker_resize(&session->worker)));
  return amped_exchange_create(&session->comm, &session->worker, &session->plan,
                               &session->exchange);
}

amped_status amped_session_finish(amped_session *session, amped_status status) {
  char place[PLACE_BYTES];
  char host[64] = "";
  if (session->trace == NULL || (status != AMPED_OK && status != AMPED_STOPPED))
    return status;
  amped_trace_end();
  (void)gethostname(host, sizeof host - 1);
  (void)snprintf(place, sizeof place, "%s, %s", host,
                 session->worker.backend->device->describe(session->worker.device));
  amped_status written = amped_trace_file_write(session->trace, place);
  return written != AMPED_OK ? written : status;
}

void amped_session_close(amped_session *session) {
  amped_trace_close();
  amped_trace_file_close(session->trace);
  if (session->comm.mpi == MPI_COMM_NULL || session->comm.nranks == 0) {
    amped_watchdog_stop(session->watchdog);
    return;
  }
  amped_exchange_destroy(session->exchange);
  amped_list_source_close(session->list);
  amped_dense_source_close(session->dense);
  amped_generated_cells_free(&session->cells);
  amped_worker_close(&session->worker);
  amped_plan_destroy(&session->plan);
  amped_groups_free(&session->groups);
  amped_input_close(session->input);
  amped_tensor_info_free(&session->made);
  for (int m = 0; session->labels != NULL && m < session->dense_info.order; m++)
    amped_labels_free(&session->labels[m]);
  amped_free(session->labels);
  (void)amped_json_close(session->json, AMPED_OK);
  amped_watchdog_leave(session->watchdog);
  amped_comm_stop(&session->comm);
  amped_watchdog_stop(session->watchdog);
}

amped_status amped_session_labels(const amped_session *session,
                                  amped_labels labels[AMPED_MAX_ORDER]) {
  amped_status status = AMPED_OK;
  for (int m = 0; m < session->plan.order && session->labels != NULL; m++) {
    labels[m] = session->labels[m];
    session->labels[m] = (amped_labels){.count = 0};
  }
  if (session->comm.rank == 0 && session->input != NULL)
    for (int m = 0; m < session->plan.order && status == AMPED_OK; m++)
      status = amped_input_labels(session->input, m, &labels[m]);
  return amped_comm_agree(&session->comm, status);
}

amped_context amped_session_context(const amped_session *session) {
  amped_context context = {&session->comm, &session->plan, &session->worker, session->exchange};
  return context;
}
