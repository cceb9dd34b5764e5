#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "session/session.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/blas.h"
#include "load/list_stats.h"
#include "load/load_list.h"
#include "load/load_copies.h"
#include "hdf5/hdf5_probe.h"
#include "factor/saved_factors.h"
#include "base/launcher.h"
#include "base/log.h"
#include "base/mem.h"
#include "session/report.h"
#include "generate/paper_shapes.h"
#include "cpu/synthetic_cpu.h"
#include "base/timer.h"
#include "base/trace.h"

#define IDENTITY_BYTES 64
#define PLACE_BYTES 192

/* More than any node has; so much of each of its ranks still adds up in 64 bits. */
#define MOST_HOST_BYTES (UINT64_C(1) << 50)

/* Collective. --backend=auto: the first backend that every rank has. */
static amped_status choose_backend(amped_run_state *run, const amped_options *o) {
  amped_status status = AMPED_OK;
  if (strcmp(o->backend, "auto") != 0) {
    const char *reason = "";
    run->backend = amped_backend_find(o->backend);
    if (run->backend == NULL)
      status = amped_error(AMPED_USAGE, NULL,
                           "--backend=%s: this program was built without it; configure with CUDA "
                           "or use --backend=cpu",
                           o->backend);
    else if (!run->backend->available(&reason))
      status = amped_error(AMPED_FAILED, NULL, "--backend=%s: %s on rank %d; use --backend=cpu",
                           o->backend, reason, run->comm.rank);
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

static amped_status open_backend(amped_run_state *run, const amped_options *o) {
  amped_backend_options options = {
      .threads = amped_run_threads(&run->comm, o->threads),
      .local_rank = run->comm.local_rank,
      .local_size = run->comm.local_size,
      .share_gpus = o->share_gpus,
      .deterministic = o->deterministic,
      .residency = o->residency,
      .device_memory = o->device_memory,
      .tile_bytes = o->tile_bytes,
      .kernel = o->kernel,
  };
  AMPED_TRY(choose_backend(run, o));
  omp_set_num_threads(options.threads);
  amped_status status = run->backend->open(&options, &run->ctx);
  AMPED_TRY(amped_comm_agree(&run->comm, status));
  return check_identities(run, o->share_gpus);
}

/* Does the input hold one list that is yet to be ordered? */
static bool is_list(const amped_run_state *run) {
  return run->source != NULL && !amped_source_info(run->source)->has_copies;
}

const amped_tensor_info *amped_run_info(const amped_run_state *run) {
  return run->source == NULL || is_list(run) ? &run->made : amped_source_info(run->source);
}

/* A value of the usual size times entries of unit columns, 1/sqrt(dim) each where they are even, in
 * all modes but the shortest: is that still a number in this precision? */
static void warn_of_underflow(const amped_tensor_info *info, const amped_options *o) {
  double size = sqrt(info->norm_squared) / sqrt((double)info->nnz);
  double term = size;
  uint64_t shortest = UINT64_MAX;
  for (int m = 0; m < info->order; m++) {
    term /= sqrt((double)info->dims[m]);
    shortest = info->dims[m] < shortest ? info->dims[m] : shortest;
  }
  term *= sqrt((double)shortest);
  if (term < (o->precision == AMPED_F32 ? (double)FLT_MIN : DBL_MIN) ||
      info->norm_squared < DBL_MIN / DBL_EPSILON)
    amped_warn("%s: values of about %.0e are so small that sums lose digits, or all, in %s; scale "
               "them%s",
               o->args[0], size, o->precision == AMPED_F32 ? "float" : "double",
               o->precision == AMPED_F32 ? ", or use --precision=double" : "");
}

static amped_status check_tensor(const amped_run_state *run, const amped_options *o) {
  const amped_tensor_info *info = amped_run_info(run);
  if (!(info->norm_squared > 0.0) || !isfinite(info->norm_squared))
    return amped_error(
        AMPED_BAD_INPUT, o->args[0],
        "its norm is %s: there is nothing to decompose; check the values, or scale them",
        info->norm_squared == 0.0 ? "zero" : "not finite");
  return AMPED_OK;
}

static amped_status add_collect_need(const amped_run_state *run, bool reads, bool parallel,
                                     amped_memory_need *need) {
  uint64_t device = 0;
  uint64_t host = 0;
  AMPED_TRY(amped_collect_bytes(&run->made, &run->plan, run->backend, run->ctx, reads, parallel,
                                &device, &host));
  need->device_bytes += device;
  need->host_bytes += host;
  return AMPED_OK;
}

/* The end of a remedy: what makes factors smaller. */
static const char *narrower(const amped_plan *plan) {
  return plan->value_type == AMPED_F64 ? ", fewer components or --precision=float"
                                       : " or fewer components";
}

/* Compare it with the limits of this process, which cover what threads and BLAS map, too. */
static amped_status check_limit(const amped_run_state *run, const amped_options *o,
                                uint64_t host_bytes) {
  uint64_t left = amped_mem_limit_left();
  uint64_t need = host_bytes + amped_blas_bytes(run->backend->device_pointers
                                                    ? 1
                                                    : amped_run_threads(&run->comm, o->threads));
  char a[32];
  char b[32];
  if (need <= left)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, o->args[0],
                     "rank %d: needs %s of host memory and the limit of the process leaves %s; "
                     "raise it (ulimit -v, ulimit -d), or use more ranks, fewer --threads%s",
                     run->comm.rank, amped_format_bytes(a, need), amped_format_bytes(b, left),
                     narrower(&run->plan));
}

/* --tiles=SIZE is for copies that stay on the GPU. */
static void warn_of_tiles(const amped_run_state *run, const amped_options *o) {
  uint64_t streamed = 0;
  for (int m = 0; m < run->plan.order; m++)
    streamed += run->required.streamed_bytes[m];
  if (o->tile_bytes != 0 && o->tile_bytes != UINT64_MAX && streamed > 0)
    amped_warn(
        "no copy is put in tiles (--tiles), as part of the tensor is streamed; use more GPUs "
        "or leave out --tiles");
}

/* Collective: compare what the plan takes with what there is, on the host of every node. */
static amped_status check_memory(amped_run_state *run, const amped_options *o,
                                 uint64_t result_bytes, amped_memory_need *need) {
  const amped_plan *plan = &run->plan;
  const amped_tensor_info *info = amped_run_info(run);
  bool reads = run->comm.rank == 0 || o->read_parallel;
  char a[32];
  char b[32];
  amped_status status = run->backend->require(run->ctx, plan, &run->required);
  if (status == AMPED_OK)
    warn_of_tiles(run, o);
  need->device_bytes = run->required.device_bytes;
  need->host_bytes = run->required.host_bytes;
  if (status == AMPED_OK && is_list(run))
    status = add_collect_need(run, reads, o->read_parallel, need);
  else if (run->source != NULL)
    need->host_bytes += amped_distribute_host_bytes(info, plan, reads, o->read_parallel);
  else if (!run->backend->device_pointers)
    need->host_bytes += amped_synthetic_cpu_bytes(plan);
  /* Of several starts all are kept; the core consistency keeps one. */
  need->host_bytes +=
      amped_kept_bytes(plan) * ((o->starts > 1 ? (uint64_t)o->starts : 0) + (o->corcondia ? 1 : 0));
  need->host_bytes += amped_exchange_host_bytes(&run->comm, run->backend, plan);
  if (run->comm.rank == 0)
    for (int m = 0; m < plan->order; m++)
      need->host_bytes += plan->dims[m] * (uint64_t)plan->ncomps * result_bytes;
  need->device_budget = run->backend->memory(run->ctx);
  need->host_budget = amped_mem_available();
  if (status == AMPED_OK)
    status = check_limit(run, o, need->host_bytes);
  uint64_t node_budget = amped_mem_node_available();
  uint64_t own = need->host_bytes < MOST_HOST_BYTES ? need->host_bytes : MOST_HOST_BYTES;
  uint64_t node_bytes = amped_comm_node_sum(&run->comm, own);
  if (status == AMPED_OK && node_budget > 0 && node_bytes > node_budget)
    status = amped_error(AMPED_FAILED, o->args[0],
                         "rank %d: the ranks of this node need %s of host memory and %s are free; "
                         "use more nodes%s",
                         run->comm.rank, amped_format_bytes(a, node_bytes),
                         amped_format_bytes(b, node_budget), narrower(plan));
  return amped_comm_agree(&run->comm, status);
}

static amped_status set_synthetic(amped_synthetic *t, const amped_options *o) {
  amped_shape shape = {.order = 0};
  AMPED_TRY(amped_shape_get(o->shape, o->scale, o->nnz, &shape));
  if (o->values != AMPED_VALUES_AS_SHAPE)
    shape.codes = o->values == AMPED_VALUES_COUNTS ? AMPED_SHAPE_CODES : 0;
  return amped_synthetic_make(t, shape.order, shape.dims, shape.nnz,
                              o->skew_count > 0 ? AMPED_SYNTHETIC_UNIFORM : AMPED_SYNTHETIC_SKEWED,
                              shape.codes, o->seed);
}

/* Collective: the iDp tables and the norm of a synthetic tensor, counted by all ranks together. */
static amped_status count_synthetic(amped_run_state *run) {
  const amped_synthetic *t = &run->synthetic;
  amped_tensor_info *info = &run->made;
  uint64_t first = 0;
  uint64_t count = 0;
  AMPED_TRY(amped_comm_agree(&run->comm, amped_synthetic_info(t, info)));
  amped_synthetic_part(t, run->comm.rank, run->comm.nranks, &first, &count);
  for (int m = 0; m < t->order; m++) {
    amped_partition *p = &info->partitions[m];
    amped_status status = run->backend->count_synthetic(
        run->ctx, t, m, p->width, first, count, p->idp_nnz, m == 0 ? &info->norm_squared : NULL);
    AMPED_TRY(amped_comm_agree(&run->comm, status));
    amped_comm_sum_u64(&run->comm, p->idp_nnz, amped_comm_count(&run->comm, p->idp_count));
  }
  amped_comm_sum(&run->comm, &info->norm_squared, 1);
  return AMPED_OK;
}

/* Collective: every rank makes its share of every copy. */
static amped_status load_synthetic(amped_run_state *run) {
  double began = amped_time();
  for (int m = 0; m < run->plan.order; m++) {
    amped_trace_begin(AMPED_PHASE_MAKE, m);
    amped_status status = run->backend->load_synthetic(run->ctx, &run->synthetic, m);
    if (status == AMPED_OK)
      status = run->backend->loaded(run->ctx, m);
    AMPED_TRY(amped_comm_agree(&run->comm, status));
    amped_trace_end();
  }
  run->distribute_sec = amped_time() - began;
  amped_spread s = amped_comm_spread(&run->comm, run->distribute_sec);
  amped_say("made %d copies in %.2f s", run->plan.order, s.max);
  if (amped_log_is_verbose())
    amped_report_memory(run);
  return AMPED_OK;
}

/* Collective: every rank gets its nonzeros of a file's one list, and orders them. */
static amped_status collect(amped_run_state *run, const amped_options *o) {
  double norm_squared = run->made.norm_squared;
  AMPED_TRY(amped_collect(&run->comm, run->source, o->read_parallel, &run->made, &run->plan,
                          run->backend, run->ctx, &norm_squared, &run->distribute_sec));
  run->made.norm_squared = norm_squared;
  run->plan.norm_squared = norm_squared;
  return amped_comm_agree(&run->comm, check_tensor(run, o));
}

static amped_status fill(amped_run_state *run, const amped_options *o) {
  amped_trace_begin(AMPED_PHASE_PREPARE, AMPED_NO_NUMBER);
  amped_status status = run->backend->prepare(run->ctx, &run->plan);
  AMPED_TRY(amped_comm_agree(&run->comm, status));
  AMPED_TRY(amped_exchange_create(&run->comm, run->backend, run->ctx, &run->plan, &run->exchange));
  AMPED_TRY(amped_report_exchange(run));
  amped_trace_end();
  if (run->source == NULL)
    return load_synthetic(run);
  if (is_list(run))
    AMPED_TRY(collect(run, o));
  else
    AMPED_TRY(amped_distribute(&run->comm, run->source, o->read_parallel, &run->plan, run->backend,
                               run->ctx, &run->distribute_sec));
  amped_report_distributed(run);
  return AMPED_OK;
}

void amped_run_before_mpi(const char *name) {
  const amped_backend *backend = NULL;
  for (int i = 0; (backend = amped_backend_list(i)) != NULL; i++)
    if (strcmp(name, "auto") == 0 || strcmp(name, backend->name) == 0)
      backend->before_mpi(amped_launcher_local_rank());
}

amped_status amped_run_start(amped_run_state *run, const amped_options *o) {
  amped_format format = AMPED_FORMAT_TNS;
  bool reads = o->read_parallel || amped_launcher_rank() <= 0;
  memset(run, 0, sizeof *run);
  amped_status status = o->trace != NULL ? amped_trace_open(AMPED_TRACE_EVENTS) : AMPED_OK;
  amped_trace_begin(AMPED_PHASE_RUN, AMPED_NO_NUMBER);
  amped_trace_begin(AMPED_PHASE_START, AMPED_NO_NUMBER);
  if (status == AMPED_OK)
    status =
        o->shape != NULL ? set_synthetic(&run->synthetic, o) : amped_io_format(o->args[0], &format);
  if (status == AMPED_OK && format == AMPED_FORMAT_HDF5 && reads)
    status = amped_hdf5_probe(o->args[0]);
  if (status == AMPED_OK && o->init != NULL && amped_launcher_rank() <= 0)
    status = amped_hdf5_probe(o->init);
  amped_run_before_mpi(o->backend);
  AMPED_TRY(amped_comm_start(&run->comm));
  run->comm.in_order = o->deterministic;
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

/* Collective. What a list lacks is counted. */
static amped_status open_source(amped_run_state *run, const amped_options *o) {
  AMPED_TRY(amped_source_open(&run->comm, o->args[0], o->read_parallel, &run->source));
  if (!is_list(run))
    return AMPED_OK;
  amped_say("%s has no ordered copies: its nonzeros are counted, dealt out and ordered in memory",
            o->args[0]);
  return amped_census_take(&run->comm, run->source, o->read_parallel, &run->made);
}

amped_status amped_run_open(amped_run_state *run, const amped_options *o, uint64_t result_bytes,
                            amped_run_check *check) {
  amped_memory_need need = {0, 0, 0, 0};
  amped_status status = AMPED_OK;
  amped_trace_begin(AMPED_PHASE_START, AMPED_NO_NUMBER);
  AMPED_TRY(open_backend(run, o));
  AMPED_TRY(amped_report_start(run, o));
  amped_trace_end();
  amped_trace_begin(AMPED_PHASE_PLAN, AMPED_NO_NUMBER);
  double began = amped_time();
  if (o->shape != NULL)
    AMPED_TRY(count_synthetic(run));
  else
    AMPED_TRY(open_source(run, o));
  AMPED_TRY(amped_comm_agree(&run->comm, check_tensor(run, o)));
  if (run->source != NULL)
    warn_of_underflow(amped_run_info(run), o);
  double known = amped_time();
  run->tables_sec = known - began;
  status = amped_plan_create(&run->plan, amped_run_info(run), o->ncomps, o->precision, o->placement,
                             run->comm.rank, run->comm.nranks);
  if (status == AMPED_OK && (run->backend->concurrent || o->parts > 1))
    status = amped_plan_cut(&run->plan, o->parts);
  AMPED_TRY(amped_comm_agree(&run->comm, status));
  run->plan_sec = amped_time() - known;
  if (check != NULL)
    AMPED_TRY(amped_comm_agree(&run->comm, check(run, o)));
  AMPED_TRY(check_memory(run, o, result_bytes, &need));
  AMPED_TRY(amped_report_plan(run, o, &need));
  amped_trace_end();
  return o->plan_only ? AMPED_OK : fill(run, o);
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
