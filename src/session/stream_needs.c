/* Checks a stream's needs against the backend and the memory of the ranks. */
#include "session/stream_needs.h"

#include "base/log.h"
#include "base/system_memory.h"
#include "factor/stream_rows.h"
#include "solver/stream/stream_published.h"

amped_status amped_stream_needs_backend(const amped_session *session, const char *what) {
  const amped_worker *worker = &session->worker;
  if (worker->backend->row_stores != NULL && worker->format->row_fit != NULL)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL, "%s does not run on --backend=%s; use --backend=cpu", what,
                     worker->backend->name);
}

amped_status amped_stream_needs_history(const amped_session *session, amped_history history,
                                        const char *path) {
  const amped_worker *worker = &session->worker;
  if (history != AMPED_HISTORY_MODEL || worker->format->row_history != NULL)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, path,
                     "has a model history, which does not run on --backend=%s; use --backend=cpu",
                     worker->backend->name);
}

/* Compare the need of this rank's rows, in bytes, with its device's memory. The status is this
 * rank's own. */
static amped_status check_device(const amped_session *session, const char *name, uint64_t need) {
  const amped_worker *worker = &session->worker;
  const uint64_t budget = worker->backend->device->memory(worker->device);
  char a[32];
  char b[32];
  if (need <= budget)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, name,
                     "rank %d needs %s of GPU memory for its rows and %s are free; use more GPUs, "
                     "or --backend=cpu, or begin a state of fewer components (--rank) or of "
                     "--history=model",
                     session->comm.rank, amped_format_bytes(a, need),
                     amped_format_bytes(b, budget));
}

amped_status amped_stream_needs_memory(const amped_session *session, const amped_state_head *head,
                                       const char *name) {
  const amped_comm *comm = &session->comm;
  const uint64_t budget = amped_mem_node_available();
  uint64_t device_bytes = 0;
  uint64_t host_bytes = 0;
  char a[32];
  char b[32];
  amped_stream_rows_require(&session->worker, head, comm->rank, comm->nranks, &device_bytes,
                            &host_bytes);
  const uint64_t need = amped_comm_node_sum(comm, host_bytes + amped_stream_published_bytes(head));
  AMPED_TRY(check_device(session, name, device_bytes));
  if (budget == 0 || need <= budget)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, name,
                     "rank %d: the ranks of this node need %s of host memory for its rows and %s "
                     "are free; use more nodes",
                     comm->rank, amped_format_bytes(a, need), amped_format_bytes(b, budget));
}
