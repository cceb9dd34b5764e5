#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

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
#include "text/io_format.h"

#define IDENTITY_BYTES 64
#define PLACE_BYTES 192

/* Collective. --backend=auto: the first backend that every rank has. */
static amped_status choose_backend(amped_run_state *run, const amped_session_options *o) {
  amped_status status = AMPED_OK;
  if (strcmp(o->backend.name, "auto") != 0) {
    const char *reason = "";
    run->backend = amped_backend_find(o->backend.name);
    if (run->backend == NULL)
      status = amped_error(AMPED_USAGE, NULL,
                           "--backend=%s: this program was built without it; configure with CUDA "
                           "or use --backend=cpu",
                           o->backend.name);
    else if (!run->backend->available(&reason))
      status = amped_error(AMPED_FAILED, NULL, "--backend=%s: %s on rank %d; use --backend=cpu",
                           o->backend.name, reason, run->comm.rank);
    return amped_comm_agree(&run->comm, status);
  }
  for (int i = 0; (run->backend = amped_backend_list(i)) != NULL; i++) {
    const char *reason = "";
    uint64_t have = run->backend->available(&reason) ? 1 : 0;
    amped_comm_sum_u64(&run->comm, &have, 1);
    if (have == (uint64_t)run->comm.nranks)
      return AMPED_OK;
    if (have > 0)
      return amped_comm_agree(&run->comm, amped_error(AMPED_FAILED, NULL,
                                                      "only %" PRIu64
                                                      " of %d ranks have a GPU; start the others "
                                                      "elsewhere, or use --backend=cpu",
                                                      have, run->comm.nranks));
    amped_say_verbose("backend %s: %s", run->backend->name, reason);
  }
  return amped_error(AMPED_FAILED, NULL, "no backend is available");
}

/* Collective. Two ranks on one GPU are a mistake unless asked for. */
static amped_status check_identities(amped_run_state *run, bool share) {
  amped_status status = AMPED_OK;
  char mine[IDENTITY_BYTES] = "";
  char(*all)[IDENTITY_BYTES] = NULL;
  const char *identity = run->backend->identity(run->ctx);
  strncpy(mine, identity, sizeof mine - 1);
  status = amped_alloc(&all, (uint64_t)run->comm.nranks, sizeof *all, "the GPUs' identities");
  status = amped_comm_agree(&run->comm, status);
  if (status == AMPED_OK) {
    AMPED_MPI(&run->comm, MPI_Allgather(mine, IDENTITY_BYTES, MPI_CHAR, all, IDENTITY_BYTES,
                                        MPI_CHAR, run->comm.mpi));
    for (int p = 0; p < run->comm.rank && !share && mine[0] != '\0' && status == AMPED_OK; p++)
      if (strcmp(all[p], mine) == 0)
        status =
            amped_error(AMPED_FAILED, NULL,
                        "ranks %d and %d share GPU %s; start fewer ranks, or pass --share-gpus", p,
                        run->comm.rank, mine);
    status = amped_comm_agree(&run->comm, status);
  }
  amped_free(all);
  return status;
}

int amped_run_threads(const amped_comm *comm, int wanted) {
  int cores = omp_get_num_procs();
  if (wanted > 0)
    return wanted;
  if (getenv("OMP_NUM_THREADS") != NULL)
    return omp_get_max_threads();
  if (cores >= (int)sysconf(_SC_NPROCESSORS_ONLN))
    cores /= comm->local_size;
  return cores > 0 ? cores : 1;
}

amped_status amped_run_open_backend(amped_run_state *run) {
  const amped_session_options *o = run->options;
  amped_backend_options options = o->backend;
  options.threads = amped_run_threads(&run->comm, o->backend.threads);
  options.local_rank = run->comm.local_rank;
  options.local_size = run->comm.local_size;
  AMPED_TRY(choose_backend(run, o));
  omp_set_num_threads(options.threads);
  amped_status status = run->backend->open(&options, &run->ctx);
  AMPED_TRY(amped_comm_agree(&run->comm, status));
  return check_identities(run, o->backend.share_gpus);
}

/* Does the input hold one list that is yet to be ordered? */
bool amped_run_is_list(const amped_run_state *run) {
  return run->source != NULL && !amped_source_info(run->source)->has_copies;
}

const amped_tensor_info *amped_run_info(const amped_run_state *run) {
  return run->source == NULL || amped_run_is_list(run) ? &run->made
                                                       : amped_source_info(run->source);
}

static amped_status set_synthetic(amped_synthetic *t, const amped_session_options *o) {
  amped_shape shape = {.order = 0};
  AMPED_TRY(amped_shape_get(o->shape.name, o->shape.scale, o->shape.nnz, &shape));
  if (o->shape.values != AMPED_VALUES_AS_SHAPE)
    shape.codes = o->shape.values == AMPED_VALUES_COUNTS ? AMPED_SHAPE_CODES : 0;
  return amped_synthetic_make(t, shape.order, shape.dims, shape.nnz,
                              o->shape.skew_count > 0 ? AMPED_SYNTHETIC_UNIFORM
                                                      : AMPED_SYNTHETIC_SKEWED,
                              shape.codes, o->seed);
}

void amped_run_before_mpi(const char *name) {
  const amped_backend *backend = NULL;
  for (int i = 0; (backend = amped_backend_list(i)) != NULL; i++)
    if (strcmp(name, "auto") == 0 || strcmp(name, backend->name) == 0)
      backend->before_mpi(amped_launcher_local_rank());
}

amped_status amped_run_start(amped_run_state *run, const amped_session_options *o) {
  amped_format format = AMPED_FORMAT_TNS;
  bool reads = o->read_parallel || amped_launcher_rank() <= 0;
  memset(run, 0, sizeof *run);
  run->options = o;
  amped_status status = o->trace != NULL ? amped_trace_open(AMPED_TRACE_EVENTS) : AMPED_OK;
  amped_trace_begin(AMPED_PHASE_RUN, AMPED_NO_NUMBER);
  amped_trace_begin(AMPED_PHASE_START, AMPED_NO_NUMBER);
  if (status == AMPED_OK)
    status = o->shape.name != NULL ? set_synthetic(&run->synthetic, o)
                                   : amped_io_format(o->input, &format);
  if (status == AMPED_OK && format == AMPED_FORMAT_HDF5 && reads)
    status = amped_hdf5_probe(o->input);
  if (status == AMPED_OK && o->init != NULL && amped_launcher_rank() <= 0)
    status = amped_hdf5_probe(o->init);
  amped_run_before_mpi(o->backend.name);
  AMPED_TRY(amped_comm_start(&run->comm));
  run->comm.in_order = o->backend.deterministic;
  if (status == AMPED_OK && run->comm.rank == 0)
    status = amped_json_open(o->json, &run->json);
  AMPED_TRY(amped_comm_agree(&run->comm, status));
  if (o->hang_timeout > 0.0)
    AMPED_TRY(amped_watchdog_start(&run->comm, o->hang_timeout, &run->watchdog));
  if (o->trace != NULL)
    AMPED_TRY(amped_trace_file_open(&run->comm, o->trace, &run->trace));
  amped_trace_end();
  return AMPED_OK;
}

amped_status amped_run_set_ncomps(amped_run_state *run, int ncomps) {
  if (ncomps == run->plan.ncomps)
    return AMPED_OK;
  amped_exchange_destroy(run->exchange);
  run->exchange = NULL;
  amped_plan_set_ncomps(&run->plan, ncomps);
  AMPED_TRY(amped_comm_agree(&run->comm, run->backend->resize(run->ctx)));
  return amped_exchange_create(&run->comm, run->backend, run->ctx, &run->plan, &run->exchange);
}

amped_status amped_run_finish(amped_run_state *run) {
  char place[PLACE_BYTES];
  char host[64] = "";
  if (run->trace == NULL)
    return AMPED_OK;
  amped_trace_end();
  (void)gethostname(host, sizeof host - 1);
  (void)snprintf(place, sizeof place, "%s, %s", host, run->backend->describe(run->ctx));
  return amped_trace_file_write(run->trace, place);
}

void amped_run_close(amped_run_state *run) {
  amped_trace_close();
  amped_trace_file_close(run->trace);
  if (run->comm.mpi == MPI_COMM_NULL || run->comm.nranks == 0)
    return;
  amped_exchange_destroy(run->exchange);
  if (run->ctx != NULL)
    run->backend->close(run->ctx);
  amped_plan_destroy(&run->plan);
  amped_source_close(run->source);
  amped_tensor_info_free(&run->made);
  (void)amped_json_close(run->json, AMPED_OK);
  amped_watchdog_stop(run->watchdog);
  amped_comm_stop(&run->comm);
}

amped_run_parts amped_run_parts_of(const amped_run_state *run) {
  amped_run_parts parts = {&run->comm, &run->plan, run->backend, run->ctx, run->exchange};
  return parts;
}
