/* Row scatter: sends each owner the partial sums of its rows, and adds them there. */
#include "factor/row_scatter.h"

#include "base/buffers.h"
#include "base/mem.h"
#include "base/trace.h"
#include "mpi/allgather.h"
#include "mpi/routes.h"

/* Bytes of host memory for outgoing rows; incoming rows have the same. */
#define STAGE_BYTES (UINT64_C(16) << 20)

/* A block to a rank, and a block from it. Several with one rank have different tags. */
typedef struct move {
  int peer;    /* the rank */
  int leaving; /* block of `sums` that goes to it; -1: none */
  int coming;  /* block of `arriving` that comes from it; -1: none */
  int tag;
} move;

struct amped_row_scatter {
  const amped_comm *comm;
  const amped_worker *worker;
  const amped_plan *plan;
  const int *rank_at;      /* [nranks] rank at each place of the ring; borrowed */
  amped_places places;     /* if sums inside the nodes come first; else 0 places */
  int place;               /* this rank's place */
  int *locals;             /* [nranks] local rank at each place */
  move *moves;             /* [2 nranks] blocks that travel together, piece by piece */
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
  AMPED_BUFFER(&b, HOST, s->moves, 2 * nranks);
  AMPED_BUFFER(&b, HOST, s->locals, nranks);
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
  AMPED_MPI(comm, MPI_Comm_rank(comm->ring, &s->place));
  amped_status status = allocate(s);
  if (status == AMPED_OK)
    *out = s;
  else
    amped_row_scatter_destroy(s);
  return status;
}

amped_status amped_row_scatter_find_nodes(amped_row_scatter *s) {
  if (s == NULL || !amped_allgather_sums_inside(s->comm))
    return AMPED_OK;
  AMPED_MPI(s->comm,
            MPI_Allgather(&s->comm->local_rank, 1, MPI_INT, s->locals, 1, MPI_INT, s->comm->ring));
  return amped_places_create(s->locals, s->comm->nranks, s->comm->rails, &s->places);
}

void amped_row_scatter_destroy(amped_row_scatter *s) {
  if (s == NULL)
    return;
  amped_places_free(&s->places);
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

/* Owners whose sums a node makes at a time: of one node, `count` from place `first` on, the one on
 * rail i after i others. */
typedef struct owner_group {
  int first, count;
} owner_group;

/* The group after `g`, which begins at place 0 after {0, 0}; of 0 owners after the last. */
static owner_group group_after(const amped_places *p, owner_group g) {
  const int first = g.first + g.count;
  if (first == p->count)
    return (owner_group){first, 0};
  const int left = p->first[first] + p->size[first] - first;
  return (owner_group){first, left < p->rails ? left : p->rails};
}

/* The block of each owner of group `g` goes to the rank of its rail on this node. To there blocks
 * of one owner come from all ranks of the node: as group number `number` of those that travel
 * together. */
static void to_rails(amped_row_scatter *s, owner_group g, int number) {
  const int here = s->places.first[s->place];
  const int size = s->places.size[s->place];
  const int local = s->place - here;
  for (int i = 0; i < size; i++) {
    const int other = (local + i) % size;
    s->moves[s->count++] = (move){.peer = s->rank_at[here + other],
                                  .leaving = other < g.count ? s->rank_at[g.first + other] : -1,
                                  .coming = local < g.count ? number * size + other : -1,
                                  .tag = number};
  }
}

/* The sums of this node go to their owners, from the rank of each owner's rail. */
static void along_rails(amped_row_scatter *s) {
  const amped_places *p = &s->places;
  const int n = p->count;
  const int local = s->place - p->first[s->place];
  int node = 0;
  s->count = 0;
  for (int at = 0; at < n; at += p->size[at])
    s->moves[s->count++] =
        (move){.peer = s->rank_at[at + local % p->rails], .leaving = -1, .coming = node++};
  for (int i = 0; i < n; i++) {
    const int owner = (s->place + i) % n;
    if ((owner - p->first[owner]) % p->rails == local)
      s->moves[s->count++] =
          (move){.peer = s->rank_at[owner], .leaving = s->rank_at[owner], .coming = -1};
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
  for (int k = 0, on_host = 0; k < s->count; k++) {
    const move *m = &s->moves[k];
    if (m->coming < 0)
      continue;
    char *to = coming + (uint64_t)(staged ? on_host++ : m->coming) * coming_step;
    AMPED_MPI(comm, MPI_Irecv(to, count, MPI_BYTE, m->peer, m->tag, comm->mpi, &s->requests[n++]));
  }
  for (int k = 0, on_host = 0; k < s->count; k++) {
    const move *m = &s->moves[k];
    if (m->leaving < 0)
      continue;
    const char *from = leaving + (uint64_t)(staged ? on_host++ : m->leaving) * leaving_step;
    AMPED_MPI(comm,
              MPI_Isend(from, count, MPI_BYTE, m->peer, m->tag, comm->mpi, &s->requests[n++]));
  }
  AMPED_MPI(comm, MPI_Waitall(n, s->requests, MPI_STATUSES_IGNORE));
}

/* Copy a piece of every block that travels to the host, or from the host if `in` is set. */
static amped_status stage(amped_row_scatter *s, int mode, uint64_t first, uint64_t rows, bool in) {
  const uint64_t row_bytes = amped_plan_row_bytes(s->plan);
  const uint64_t block = s->plan->modes[mode].rows.block_rows;
  int n = 0;
  for (int k = 0; k < s->count; k++) {
    const int at = in ? s->moves[k].coming : s->moves[k].leaving;
    if (at < 0)
      continue;
    s->copies[n] =
        (amped_host_copy){.offset = ((uint64_t)at * block + first) * row_bytes,
                          .bytes = rows * row_bytes,
                          .host = (in ? s->coming : s->leaving) + (uint64_t)n * rows * row_bytes,
                          .in = in};
    n++;
  }
  return n > 0 ? s->worker->format->stage_partial(s->worker->tensor, mode, s->copies, n) : AMPED_OK;
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

/* Sum inside the nodes: a block of each owner of this rank's rail. As many owners at a time as
 * there is room for: `arriving` has a block for each rank. Nodes of one size do all at once. */
static amped_status sum_inside(amped_row_scatter *s, int mode, const amped_partial_rows *parts) {
  const int size = s->places.size[s->place];
  const int local = s->place - s->places.first[s->place];
  const int most = s->comm->nranks / size;
  amped_status status = AMPED_OK;
  owner_group begin = group_after(&s->places, (owner_group){0, 0});
  while (begin.count > 0) {
    owner_group g = begin;
    s->count = 0;
    for (int number = 0; number < most && g.count > 0; number++) {
      to_rails(s, g, number);
      g = group_after(&s->places, g);
    }
    AMPED_ALSO(status, send_rows(s, mode, parts));
    g = begin;
    for (int number = 0; number < most && g.count > 0; number++) {
      if (local < g.count)
        AMPED_NEXT(status, s->worker->format->add_incoming(
                               s->worker->tensor, mode,
                               (amped_row_sum){.first = number * size,
                                               .count = size,
                                               .to = s->rank_at[g.first + local]}));
      g = group_after(&s->places, g);
    }
    begin = g;
  }
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
  int blocks = s->comm->nranks;
  if (s->places.count > 0) {
    AMPED_ALSO(status, sum_inside(s, mode, &parts));
    along_rails(s);
    blocks = s->comm->nodes;
  } else {
    to_owners(s);
  }
  AMPED_ALSO(status, send_rows(s, mode, &parts));
  AMPED_NEXT(status, format->add_incoming(s->worker->tensor, mode,
                                          (amped_row_sum){.count = blocks, .to = AMPED_TO_OUTPUT}));
  amped_trace_end();
  return status;
}
