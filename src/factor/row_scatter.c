/* Row scatter: sends each owner the partial sums of its rows, and adds them there. */
#include "factor/row_scatter.h"

#include "base/mem.h"
#include "base/trace.h"

/* Bytes of host memory for outgoing rows; incoming rows have the same. */
#define STAGE_BYTES (UINT64_C(16) << 20)

struct amped_row_scatter {
  const amped_comm *comm;
  const amped_worker *worker;
  const amped_plan *plan;
  MPI_Request *requests;   /* [2 nranks] */
  amped_host_copy *copies; /* [nranks] copies of a piece, if rows pass through the host */
  char *leaving, *coming;  /* a piece of every rank's block, in the order of ranks, if rows pass
                              through the host */
};

static bool has_parts(const amped_comm *comm, const amped_worker *worker) {
  return comm->nranks > 1 && worker->format->partial_rows != NULL;
}

static bool is_staged(const amped_comm *comm, const amped_worker *worker) {
  return worker->backend->device_pointers && !comm->cuda_aware;
}

/* Rows of a block that pass through the host at a time. */
static uint64_t stage_rows(const amped_plan *plan) {
  const uint64_t rows = STAGE_BYTES / (uint64_t)plan->nranks / amped_plan_row_bytes(plan);
  return rows > 0 ? rows : 1;
}

static uint64_t stage_bytes(const amped_plan *plan) {
  return stage_rows(plan) * (uint64_t)plan->nranks * amped_plan_row_bytes(plan);
}

uint64_t amped_row_scatter_host_bytes(const amped_comm *comm, const amped_worker *worker,
                                      const amped_plan *plan) {
  return has_parts(comm, worker) && is_staged(comm, worker) ? 2 * stage_bytes(plan) : 0;
}

static amped_status allocate(amped_row_scatter *s) {
  static const char what[] = "the sums over ranks";
  const uint64_t nranks = (uint64_t)s->comm->nranks;
  const amped_device_ops *device = s->worker->backend->device;
  void *pinned = NULL;
  AMPED_TRY(amped_alloc(&s->requests, 2 * nranks, sizeof(MPI_Request), what));
  if (!is_staged(s->comm, s->worker))
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&s->copies, nranks, sizeof *s->copies, what));
  AMPED_TRY(device->host_alloc(s->worker->device, stage_bytes(s->plan), &pinned));
  s->leaving = pinned;
  AMPED_TRY(device->host_alloc(s->worker->device, stage_bytes(s->plan), &pinned));
  s->coming = pinned;
  return AMPED_OK;
}

amped_status amped_row_scatter_create(const amped_comm *comm, const amped_worker *worker,
                                      const amped_plan *plan, amped_row_scatter **out) {
  amped_row_scatter *s = NULL;
  *out = NULL;
  if (!has_parts(comm, worker))
    return AMPED_OK;
  AMPED_TRY(amped_calloc(&s, 1, sizeof *s, "the sums over ranks"));
  s->comm = comm;
  s->worker = worker;
  s->plan = plan;
  amped_status status = allocate(s);
  if (status == AMPED_OK)
    *out = s;
  else
    amped_row_scatter_destroy(s);
  return status;
}

void amped_row_scatter_destroy(amped_row_scatter *s) {
  if (s == NULL)
    return;
  if (s->leaving != NULL)
    s->worker->backend->device->host_free(s->worker->device, s->leaving);
  if (s->coming != NULL)
    s->worker->backend->device->host_free(s->worker->device, s->coming);
  amped_free(s->copies);
  amped_free(s->requests);
  amped_free(s);
}

/* Collective: send each rank p `bytes` from leaving + p * leaving_step, and receive its bytes at
 * coming + p * coming_step. */
static void send_all(const amped_row_scatter *s, char *leaving, uint64_t leaving_step, char *coming,
                     uint64_t coming_step, uint64_t bytes) {
  const amped_comm *comm = s->comm;
  const int count = amped_comm_count(comm, bytes);
  int n = 0;
  for (int i = 0; i < comm->nranks; i++) {
    const int p = (comm->rank + i) % comm->nranks;
    AMPED_MPI(comm, MPI_Irecv(coming + (uint64_t)p * coming_step, count, MPI_BYTE, p, 0, comm->mpi,
                              &s->requests[n++]));
  }
  for (int i = 0; i < comm->nranks; i++) {
    const int p = (comm->rank + i) % comm->nranks;
    AMPED_MPI(comm, MPI_Isend(leaving + (uint64_t)p * leaving_step, count, MPI_BYTE, p, 0,
                              comm->mpi, &s->requests[n++]));
  }
  AMPED_MPI(comm, MPI_Waitall(n, s->requests, MPI_STATUSES_IGNORE));
}

/* Copy a piece of every rank's block to the host, or from the host if `in` is set. */
static amped_status stage(amped_row_scatter *s, int mode, uint64_t first, uint64_t rows, bool in) {
  const uint64_t row_bytes = amped_plan_row_bytes(s->plan);
  const uint64_t block = s->plan->modes[mode].rows.block_rows;
  for (int p = 0; p < s->comm->nranks; p++)
    s->copies[p] =
        (amped_host_copy){.offset = ((uint64_t)p * block + first) * row_bytes,
                          .bytes = rows * row_bytes,
                          .host = (in ? s->coming : s->leaving) + (uint64_t)p * rows * row_bytes,
                          .in = in};
  return s->worker->format->stage_partial(s->worker->tensor, mode, s->copies, s->comm->nranks);
}

/* Rows of a block that are sent at a time. */
static uint64_t piece_rows(const amped_row_scatter *s) {
  const uint64_t rows = s->comm->message_bytes / amped_plan_row_bytes(s->plan);
  const uint64_t least = rows > 0 ? rows : 1;
  if (!is_staged(s->comm, s->worker))
    return least;
  return least < stage_rows(s->plan) ? least : stage_rows(s->plan);
}

static amped_status send_rows(amped_row_scatter *s, int mode, const amped_partial_rows *parts) {
  const uint64_t row_bytes = amped_plan_row_bytes(s->plan);
  const uint64_t block = s->plan->modes[mode].rows.block_rows;
  const uint64_t most = piece_rows(s);
  amped_status status = AMPED_OK;
  for (uint64_t first = 0; first < block; first += most) {
    const uint64_t rows = block - first < most ? block - first : most;
    const uint64_t bytes = rows * row_bytes;
    if (is_staged(s->comm, s->worker)) {
      AMPED_NEXT(status, stage(s, mode, first, rows, false));
      send_all(s, s->leaving, bytes, s->coming, bytes, bytes);
      AMPED_NEXT(status, stage(s, mode, first, rows, true));
    } else {
      send_all(s, (char *)parts->sums + first * row_bytes, block * row_bytes,
               (char *)parts->arriving + first * row_bytes, block * row_bytes, bytes);
    }
  }
  return status;
}

amped_status amped_row_scatter_sum(amped_row_scatter *s, int mode) {
  if (s == NULL)
    return AMPED_OK;
  const amped_format_ops *format = s->worker->format;
  const amped_partial_rows parts = format->partial_rows(s->worker->tensor, mode);
  if (parts.sums == NULL) /* NULL on all ranks or none */
    return AMPED_OK;
  amped_trace_begin(AMPED_PHASE_EXCHANGE, mode);
  AMPED_TRY(send_rows(s, mode, &parts));
  AMPED_TRY(format->add_incoming(s->worker->tensor, mode));
  amped_trace_end();
  return AMPED_OK;
}
