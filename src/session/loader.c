/* The loaders: synthetic tensors, dense tensors, and files of nonzeros (as one list or ordered
 * copies). */
#include "session/loader.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "load/list_stats.h"
#include "load/load_copies.h"
#include "load/load_dense.h"
#include "load/load_list.h"
#include "session/report.h"

/* --- a synthetic tensor ----------------------------------------------------------------------- */

static bool is_synthetic(const amped_session *session) {
  return session->options->shape.name != NULL;
}

/* Each rank counts its part of the iDp tables and the norm; the parts are summed over all ranks. */
static amped_status count_synthetic(amped_session *session) {
  const amped_synthetic *t = &session->synthetic;
  amped_tensor_info *info = &session->made;
  uint64_t first = 0;
  uint64_t count = 0;
  AMPED_TRY(amped_comm_agree(&session->comm, amped_synthetic_info(t, info)));
  amped_synthetic_part(t, session->comm.rank, session->comm.nranks, &first, &count);
  for (int m = 0; m < t->order; m++) {
    amped_partition *p = &info->partitions[m];
    amped_status status = session->worker.backend->device->count_synthetic(
        session->worker.device, t, m, p->width, first, count, p->idp_nnz,
        m == 0 ? &info->norm_squared : NULL);
    AMPED_TRY(amped_comm_agree(&session->comm, status));
    amped_comm_sum_u64(&session->comm, p->idp_nnz, p->idp_count);
  }
  amped_comm_sum(&session->comm, &info->norm_squared, 1);
  return AMPED_OK;
}

static amped_status need_synthetic(amped_session *session, uint64_t *device_bytes,
                                   uint64_t *host_bytes) {
  (void)device_bytes;
  if (session->worker.format->make_synthetic == NULL)
    return amped_error(AMPED_USAGE, NULL,
                       "--kernel=%s takes no synthetic tensor; write one with amped_mpi generate",
                       session->worker.format->name);
  if (session->worker.format->require_synthetic != NULL)
    *host_bytes += session->worker.format->require_synthetic(&session->plan);
  return AMPED_OK;
}

/* Every rank generates its shard of every copy. */
static amped_status make_synthetic(amped_session *session) {
  const amped_worker *worker = &session->worker;
  double began = amped_time();
  for (int m = 0; m < session->plan.order; m++) {
    if (!amped_plan_has_copy(&session->plan, m))
      continue;
    amped_trace_begin(AMPED_PHASE_MAKE, m);
    amped_status status = worker->format->make_synthetic(worker->tensor, &session->synthetic, m);
    if (status == AMPED_OK)
      status = worker->format->finish(worker->tensor, m);
    AMPED_TRY(amped_comm_agree(&session->comm, status));
    amped_trace_end();
  }
  session->distribute_sec = amped_time() - began;
  amped_spread s = amped_comm_spread(&session->comm, session->distribute_sec);
  amped_note("made %d cop%s in %.2f s", amped_plan_copies(&session->plan),
             amped_plan_copies(&session->plan) == 1 ? "y" : "ies", s.max);
  if (amped_log_is_verbose())
    amped_report_memory(session);
  return AMPED_OK;
}

/* --- a dense tensor --------------------------------------------------------------------------- */

static bool is_dense(const amped_session *session) {
  return session->is_dense;
}

static bool is_same(const amped_dense_info *a, const amped_dense_info *b) {
  bool same = a->order == b->order && a->type == b->type && a->has_stats == b->has_stats &&
              a->hash == b->hash;
  for (int m = 0; m < a->order && same; m++)
    same = a->dims[m] == b->dims[m] && a->layout[m] == b->layout[m];
  return same;
}

/* Create the generator of cells. Every rank can generate any cell. */
static amped_status open_cells(amped_session *session) {
  const amped_cells_options *c = &session->options->cells;
  amped_generated_spec spec = {.order = c->order, .seed = session->options->seed};
  memcpy(spec.dims, c->dims, sizeof spec.dims);
  spec.type = c->type == AMPED_F32 ? AMPED_CELL_F32 : AMPED_CELL_F64;
  AMPED_TRY(amped_generated_cells_create(&spec, &session->cells));
  session->dense_info = session->cells.info;
  return amped_tensor_info_of_cells(&session->dense_info, &session->made);
}

/* Rank 0: read names and labels of the modes now, so that an error costs no sweep. */
static amped_status read_labels(amped_session *session) {
  const amped_read_options *read = session->options->read;
  const uint64_t order = (uint64_t)amped_dense_source_info(session->dense)->order;
  AMPED_TRY(amped_calloc(&session->labels, order, sizeof *session->labels, "labels"));
  return amped_dense_source_labels(session->dense, read != NULL ? read->axes : NULL,
                                   session->labels);
}

/* Get the file's shape. Ranks that do not read get it from rank 0; ranks that read must see the
 * same. */
static amped_status open_dense(amped_session *session) {
  const amped_session_options *o = session->options;
  const amped_comm *comm = &session->comm;
  amped_status status = AMPED_OK;
  amped_dense_info own;
  if (o->cells.made)
    return amped_comm_agree(comm, open_cells(session));
  if (comm->rank == 0 || session->read_parallel)
    status = amped_dense_source_open(o->input, o->dataset, &session->dense);
  if (status == AMPED_OK && comm->rank == 0)
    status = read_labels(session);
  AMPED_TRY(amped_comm_agree(comm, status));
  memset(&own, 0, sizeof own);
  if (session->dense != NULL)
    own = *amped_dense_source_info(session->dense);
  session->dense_info = own;
  amped_comm_broadcast(comm, &session->dense_info, sizeof session->dense_info);
  if (session->dense != NULL && !is_same(&own, &session->dense_info))
    status = amped_error(AMPED_BAD_INPUT, o->input,
                         "rank %d sees another file than rank 0; give all nodes the same file, or "
                         "use --read=root",
                         comm->rank);
  AMPED_TRY(amped_comm_agree(comm, status));
  return amped_comm_agree(comm, amped_tensor_info_of_cells(&session->dense_info, &session->made));
}

static amped_status need_dense(amped_session *session, uint64_t *device_bytes,
                               uint64_t *host_bytes) {
  (void)device_bytes;
  *host_bytes += amped_load_dense_bytes(&session->plan, &session->dense_info);
  return AMPED_OK;
}

static amped_status load_dense(amped_session *session) {
  const amped_dense_load load = {.comm = &session->comm,
                                 .path = session->options->input,
                                 .info = &session->dense_info,
                                 .source = session->dense,
                                 .cells = session->options->cells.made ? &session->cells : NULL,
                                 .parallel = session->read_parallel,
                                 .plan = &session->plan,
                                 .worker = &session->worker};
  amped_dense_stats stats;
  if (session->outside)
    amped_note(session->made.has_hash ? "%s: a pass over it checks its content hash"
                                      : "%s: a pass over it finds its norm",
               session->options->input);
  AMPED_TRY(amped_load_dense(&load, &stats, &session->distribute_sec));
  if (!session->outside) {
    amped_dense_source_close(session->dense);
    session->dense = NULL;
  }
  session->made.norm_squared = amped_kahan_value(&stats.squares);
  session->made.hash = stats.hash;
  session->made.has_hash = true;
  session->negative_squares = stats.negative;
  session->plan.norm_squared = session->made.norm_squared;
  amped_report_cells(session, &stats);
  return AMPED_OK;
}

/* --- a file's one list ------------------------------------------------------------------------ */

static amped_status count_list(amped_session *session) {
  const amped_session_options *o = session->options;
  if (!amped_input_info(session->input)->has_copies)
    amped_note(
        "%s has no ordered copies: its nonzeros are counted, redistributed and ordered in memory",
        o->input);
  else
    amped_say_verbose("%s: one of its copies is read, and ordered in memory for the other modes",
                      o->input);
  amped_input_watch_negative(session->input, session->watches_negative);
  AMPED_TRY(amped_list_stats_take(&session->comm, session->input, session->read_parallel,
                                  &session->worker, session->list, &session->made));
  amped_input_watch_negative(session->input, false); /* load_list may read it again per mode */
  return AMPED_OK;
}

/* Does this rank read the input? */
static bool reads(const amped_session *session) {
  return session->comm.rank == 0 || session->read_parallel;
}

/* Collective. If some device has no memory for the copies, their sorting and the list together, the
 * list is not kept on the device but read again for each mode. */
static amped_status need_list(amped_session *session, uint64_t *device_bytes,
                              uint64_t *host_bytes) {
  const amped_worker *worker = &session->worker;
  uint64_t device = 0;
  uint64_t host = 0;
  amped_status status =
      amped_load_list_bytes(&session->plan, worker, session->list, &device, &host);
  uint64_t full = status == AMPED_OK && device > 0 &&
                  *device_bytes + device > worker->backend->device->memory(worker->device);
  amped_comm_sum_u64(&session->comm, &full, 1);
  if (full > 0) {
    amped_status released = amped_list_source_release(session->list);
    if (status == AMPED_OK)
      status = released;
    if (status == AMPED_OK)
      status = amped_load_list_bytes(&session->plan, worker, session->list, &device, &host);
  }
  *device_bytes += device;
  *host_bytes += host;
  return status;
}

static amped_status load_list(amped_session *session) {
  amped_duplicates record = session->made.duplicates;
  const amped_list_load load = {.comm = &session->comm,
                                .input = session->input,
                                .source = session->list,
                                .info = &session->made,
                                .plan = &session->plan,
                                .worker = &session->worker,
                                .record = &record};
  double norm_squared = session->made.norm_squared;
  AMPED_TRY(amped_load_list(&load, &norm_squared, &session->distribute_sec));
  amped_list_source_close(session->list);
  session->list = NULL;
  session->made.norm_squared = norm_squared;
  session->made.duplicates = record;
  session->made.is_searched = true;
  session->plan.norm_squared = norm_squared;
  return AMPED_OK;
}

/* --- a file of nonzeros ----------------------------------------------------------------------- */

static bool is_file(const amped_session *session) {
  (void)session;
  return true;
}

/* Collective; the status is agreed. Decide whether to read one list, which the backends order.
 * Without ordered copies, all of the file is that list. With ordered copies, the first copy is the
 * list if the devices can hold it: they order it faster than the other copies can be read. */
static amped_status choose_list(amped_session *session) {
  const amped_session_options *o = session->options;
  const bool has_copies = amped_input_info(session->input)->has_copies;
  const bool sorts = session->worker.format->collect != NULL;
  if (!has_copies && o->load == AMPED_LOAD_COPIES)
    return amped_comm_agree(
        &session->comm, amped_error(AMPED_USAGE, o->input,
                                    "has no ordered copies for --load=copies; amped_mpi convert "
                                    "makes a file that has them"));
  session->is_list = !has_copies || o->load == AMPED_LOAD_LIST;
  if (!session->is_list &&
      (o->load == AMPED_LOAD_COPIES || !sorts || !session->worker.backend->orders_lists))
    return AMPED_OK;
  AMPED_TRY(amped_list_source_open(&session->comm, session->input, session->read_parallel,
                                   &session->worker, &session->list));
  if (session->is_list || amped_list_source_held(session->list)) {
    session->is_list = true;
    return AMPED_OK;
  }
  amped_list_source_close(session->list);
  session->list = NULL;
  return AMPED_OK;
}

/* Open the file. If its ordered copies are read, the file has the tables; otherwise they are
 * counted. */
static amped_status open_file(amped_session *session) {
  const amped_session_options *o = session->options;
  AMPED_TRY(
      amped_input_open(&session->comm, o->input, o->read, session->read_parallel, &session->input));
  AMPED_TRY(choose_list(session));
  return session->is_list ? count_list(session) : AMPED_OK;
}

static amped_status need_file(amped_session *session, uint64_t *device_bytes,
                              uint64_t *host_bytes) {
  if (session->is_list)
    return need_list(session, device_bytes, host_bytes);
  *host_bytes += amped_load_copies_host_bytes(amped_session_info(session), &session->plan,
                                              reads(session), session->read_parallel);
  return AMPED_OK;
}

static amped_status load_copies(amped_session *session) {
  amped_input_watch_negative(session->input, session->watches_negative);
  return amped_load_copies(&session->comm, session->input, session->read_parallel, &session->plan,
                           &session->worker, &session->distribute_sec);
}

static amped_status load_file(amped_session *session) {
  AMPED_TRY(session->is_list ? load_list(session) : load_copies(session));
  session->negative_squares = amped_input_negative(session->input);
  amped_comm_sum(&session->comm, &session->negative_squares, 1);
  amped_report_distributed(session);
  return AMPED_OK;
}

static const amped_loader loaders[] = {
    {.takes = is_synthetic,
     .tables = count_synthetic,
     .need = need_synthetic,
     .load = make_synthetic},
    {.takes = is_dense, .tables = open_dense, .need = need_dense, .load = load_dense},
    {.takes = is_file, .tables = open_file, .need = need_file, .load = load_file},
};

const amped_loader *amped_loader_of(const amped_session *session) {
  const amped_loader *loader = loaders;
  while (!loader->takes(session)) /* the last loader takes every session */
    loader++;
  return loader;
}
