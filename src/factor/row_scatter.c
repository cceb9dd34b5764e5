/* Row scatter: sends each owner the partial sums of its rows, and adds them there. */
#include "factor/row_scatter.h"

#include "base/buffers.h"
#include "base/mem.h"
#include "base/trace.h"

/* Bytes of host memory for outgoing rows; incoming rows have the same. */
#define STAGE_BYTES (UINT64_C(16) << 20)

/* A block to a rank, and a block from it. Several with one rank have different tags. */
typedef struct move {
  int peer;    /* the rank */
  int leaving; /* block of `sums` that goes to it */
  int coming;  /* block of `arriving` that comes from it */
  int tag;
} move;

struct amped_row_scatter {
  const amped_comm *comm;
  const amped_worker *worker;
  const amped_plan *plan;
  const int *rank_at;      /* [nranks] rank at each place of the ring; borrowed */
  bool by_rails;           /* sums inside the nodes come first */
  int place;               /* this rank's place */
  move *moves;             /* [nranks] blocks that travel together, piece by piece */
  int count;               /* number of moves */
  MPI_Request *requests;   /* [2 nranks] */
  amped_host_copy *copies; /* [nranks] copies of a piece, if rows pass through the host */
  char *leaving, *coming;  /* a piece of every block that travels, if rows pass through the host */
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

static amped_buffers lists(amped_row_scatter *s, uint64_t nranks) {
  amped_buffers b = {.what = "the sums over ranks"};
  AMPED_BUFFER(&b, HOST, s->requests, 2 * nranks);
  AMPED_BUFFER(&b, HOST, s->copies, nranks);
  AMPED_BUFFER(&b, HOST, s->moves, nranks);
  return b;
}

static amped_status allocate(amped_row_scatter *s) {
  const amped_device_ops *device = s->worker->backend->device;
  void *pinned = NULL;
  AMPED_TRY(amped_buffers_allocate(lists(s, (uint64_t)s->comm->nranks)));
  if (!is_staged(s->comm, s->worker))
    return AMPED_OK;
  AMPED_TRY(device->host_alloc(s->worker->device, stage_bytes(s->plan), &pinned));
  s->leaving = pinned;
  AMPED_TRY(device->host_alloc(s->worker->device, stage_bytes(s->plan), &pinned));
  s->coming = pinned;
  return AMPED_OK;
}

/* Do sums inside the nodes save messages between them? All nodes have the same number of ranks. In
 * the order of ranks, sums do not depend on which nodes the ranks are on. */
static bool sums_inside(const amped_comm *comm) {
  const bool chosen =
      comm->way == AMPED_WAY_RAILS || (comm->way == AMPED_WAY_AUTO && comm->chosen[0] == '\0');
  return chosen && !comm->in_order && comm->nodes > 1 && comm->rails > 1 &&
         comm->nodes * comm->rails == comm->nranks;
}

amped_status amped_row_scatter_create(const amped_comm *comm, const amped_worker *worker,
                                      const amped_plan *plan, const int *rank_at,
                                      amped_row_scatter **out) {
  amped_row_scatter *s = NULL;
  *out = NULL;
  if (!has_parts(comm, worker))
    return AMPED_OK;
  AMPED_TRY(amped_calloc(&s, 1, sizeof *s, "the sums over ranks"));
  s->comm = comm;
  s->worker = worker;
  s->plan = plan;
  s->rank_at = rank_at;
  s->by_rails = sums_inside(comm);
  AMPED_MPI(comm, MPI_Comm_rank(comm->ring, &s->place));
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
  amped_buffers_free(lists(s, 0));
  amped_free(s);
}

/* All blocks go to their owners. */
static void to_owners(amped_row_scatter *s) {
  const int n = s->comm->nranks;
  s->count = 0;
  for (int i = 0; i < n; i++) {
    const int p = (s->comm->rank + i) % n;
    s->moves[s->count++] = (move){.peer = p, .leaving = p, .coming = p};
  }
}

/* The blocks of each rail's owners go to the rank of this rail on this node. They come as blocks of
 * one owner after another, in the order of nodes, of all ranks of the node. The tag is the owner's
 * node. */
static void to_rails(amped_row_scatter *s) {
  const int size = s->comm->rails;
  const int here = s->place - s->place % size;
  s->count = 0;
  for (int node = 0; node < s->comm->nodes; node++)
    for (int i = 0; i < size; i++) {
      const int local = (s->place + i) % size;
      s->moves[s->count++] = (move){.peer = s->rank_at[here + local],
                                    .leaving = s->rank_at[node * size + local],
                                    .coming = node * size + local,
                                    .tag = node};
    }
}

/* The sums of this node go to their owners, along this rank's rail. */
static void along_rail(amped_row_scatter *s) {
  const int size = s->comm->rails;
  const int node = s->place / size;
  s->count = 0;
  for (int i = 0; i < s->comm->nodes; i++) {
    const int other = (node + i) % s->comm->nodes;
    const int peer = s->rank_at[other * size + s->place % size];
    s->moves[s->count++] = (move){.peer = peer, .leaving = peer, .coming = other};
  }
}

/* Send `bytes` bytes of each block that leaves, and receive as many of each that comes. Blocks lie
 * leaving_step and coming_step bytes apart: all of them, or on the host those that travel. */
static void send_all(const amped_row_scatter *s, char *leaving, uint64_t leaving_step, char *coming,
                     uint64_t coming_step, uint64_t bytes) {
  const amped_comm *comm = s->comm;
  const bool staged = is_staged(comm, s->worker);
  const int count = amped_comm_count(comm, bytes);
  int n = 0;
  for (int k = 0; k < s->count; k++) {
    const move *m = &s->moves[k];
    char *to = coming + (uint64_t)(staged ? k : m->coming) * coming_step;
    AMPED_MPI(comm, MPI_Irecv(to, count, MPI_BYTE, m->peer, m->tag, comm->mpi, &s->requests[n++]));
  }
  for (int k = 0; k < s->count; k++) {
    const move *m = &s->moves[k];
    const char *from = leaving + (uint64_t)(staged ? k : m->leaving) * leaving_step;
    AMPED_MPI(comm,
              MPI_Isend(from, count, MPI_BYTE, m->peer, m->tag, comm->mpi, &s->requests[n++]));
  }
  AMPED_MPI(comm, MPI_Waitall(n, s->requests, MPI_STATUSES_IGNORE));
}

/* Copy a piece of every block that travels to the host, or from the host if `in` is set. */
static amped_status stage(amped_row_scatter *s, int mode, uint64_t first, uint64_t rows, bool in) {
  const uint64_t row_bytes = amped_plan_row_bytes(s->plan);
  const uint64_t block = s->plan->modes[mode].rows.block_rows;
  for (int k = 0; k < s->count; k++) {
    const uint64_t at = (uint64_t)(in ? s->moves[k].coming : s->moves[k].leaving);
    s->copies[k] =
        (amped_host_copy){.offset = (at * block + first) * row_bytes,
                          .bytes = rows * row_bytes,
                          .host = (in ? s->coming : s->leaving) + (uint64_t)k * rows * row_bytes,
                          .in = in};
  }
  return s->worker->format->stage_partial(s->worker->tensor, mode, s->copies, s->count);
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

/* Sum inside the nodes: a block of each of this rail's owners. */
static amped_status sum_inside(amped_row_scatter *s, int mode, const amped_partial_rows *parts) {
  const int size = s->comm->rails;
  amped_status status = AMPED_OK;
  to_rails(s);
  AMPED_NEXT(status, send_rows(s, mode, parts));
  for (int node = 0; node < s->comm->nodes; node++)
    AMPED_NEXT(status, s->worker->format->add_incoming(
                           s->worker->tensor, mode,
                           (amped_row_sum){.first = node * size,
                                           .count = size,
                                           .to = s->rank_at[node * size + s->place % size]}));
  return status;
}

amped_status amped_row_scatter_sum(amped_row_scatter *s, int mode) {
  if (s == NULL)
    return AMPED_OK;
  const amped_format_ops *format = s->worker->format;
  const amped_partial_rows parts = format->partial_rows(s->worker->tensor, mode);
  amped_status status = AMPED_OK;
  if (parts.sums == NULL) /* NULL on all ranks or none */
    return AMPED_OK;
  amped_trace_begin(AMPED_PHASE_EXCHANGE, mode);
  if (s->by_rails) {
    AMPED_ALSO(status, sum_inside(s, mode, &parts));
    along_rail(s);
  } else {
    to_owners(s);
  }
  AMPED_ALSO(status, send_rows(s, mode, &parts));
  AMPED_NEXT(status,
             format->add_incoming(s->worker->tensor, mode,
                                  (amped_row_sum){.count = s->count, .to = AMPED_TO_OUTPUT}));
  amped_trace_end();
  return status;
}
