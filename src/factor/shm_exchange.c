/* Shared-memory exchange: pieces of rows pass through two slots of a node's shared memory. */
#include "factor/shm_exchange.h"

#include <string.h>

#include "mpi/allgather.h"
#include "base/log.h"
#include "base/mem.h"

/* Number and total size of slots. One slot is filled while the other is emptied. Pieces of a few
 * MiB keep a device's link busy, and containers often have at most 64 MiB of shared memory. */
#define SLOTS 2
#define STAGE_BYTES (UINT64_C(16) << 20)

struct amped_shm_exchange {
  const amped_comm *comm;
  const amped_worker *worker;
  const amped_plan *plan;
  const int *rank_at; /* [nranks] rank at each place in the ring */
  int place;          /* this rank's place */
  MPI_Win window;
  char *memory; /* SLOTS slots with rows of all ranks, in the ring's order, without gaps */
  bool pinned;  /* memory is registered with the backend */
  uint64_t row_bytes;
  uint64_t slot_rows;
  int slot;                /* slot to fill next */
  amped_host_copy *copies; /* [nranks] */
  int rails;               /* ranks of each node that send rows to other nodes: its first ones */
  /* only on these ranks */
  amped_allgather *between; /* all-gather of rows between nodes */
  uint64_t *first, *count;  /* [nodes] rows of a slot that each node fills */
  uint64_t *ranks;          /* [nodes] number of ranks on each node */
};

/* Rows per rank in a slot: all of them, or the number that fits. */
static uint64_t slot_rows(const amped_plan *plan) {
  uint64_t most = amped_plan_output_rows(plan);
  uint64_t fit = STAGE_BYTES / (SLOTS * amped_plan_row_bytes(plan) * (uint64_t)plan->nranks);
  if (fit < 1)
    fit = 1;
  return fit < most ? fit : most;
}

uint64_t amped_shm_exchange_bytes(const amped_plan *plan) {
  return SLOTS * slot_rows(plan) * (uint64_t)plan->nranks * amped_plan_row_bytes(plan);
}

/* Address of a rank's rows in a slot that has `rows` rows per rank. */
static char *slot_at(const amped_shm_exchange *s, int slot, int place, uint64_t rows) {
  uint64_t row = (uint64_t)slot * (uint64_t)s->comm->nranks * s->slot_rows + (uint64_t)place * rows;
  return s->memory + row * s->row_bytes;
}

/* Barrier after which all ranks of the node see the bytes that any of them wrote before it. */
static void node_barrier(amped_shm_exchange *s) {
  AMPED_MPI(s->comm, MPI_Win_sync(s->window));
  AMPED_MPI(s->comm, MPI_Barrier(s->comm->node));
  AMPED_MPI(s->comm, MPI_Win_sync(s->window));
}

/* Collective: allocate the shared window. Aborts on failure: a rank without a window cannot take
 * part in the collective calls on it, and MPI has no way to give up the window. */
static void share_memory(amped_shm_exchange *s) {
  MPI_Aint bytes = (MPI_Aint)amped_shm_exchange_bytes(s->plan);
  MPI_Aint size = 0;
  void *mine = NULL;
  int unit = 0;
  char text[32];
  if (MPI_Win_allocate_shared(s->comm->local_rank == 0 ? bytes : 0, 1, MPI_INFO_NULL, s->comm->node,
                              &mine, &s->window) != MPI_SUCCESS)
    amped_comm_abort(
        s->comm,
        amped_error(AMPED_FAILED, NULL,
                    "rank %d: MPI finds no %s of shared memory for the exchange of rows; enlarge "
                    "/dev/shm (of a container: --shm-size), or use an MPI that takes device memory",
                    s->comm->rank, amped_format_bytes(text, (uint64_t)bytes)));
  AMPED_MPI(s->comm, MPI_Win_set_errhandler(s->window, MPI_ERRORS_RETURN));
  AMPED_MPI(s->comm, MPI_Win_shared_query(s->window, 0, &size, &unit, &s->memory));
  AMPED_MPI(s->comm, MPI_Win_lock_all(MPI_MODE_NOCHECK, s->window));
  /* Memory is placed near the rank that touches it first. */
  for (int slot = 0; slot < SLOTS; slot++)
    memset(slot_at(s, slot, s->place, s->slot_rows), 0, s->slot_rows * s->row_bytes);
  node_barrier(s);
}

/* On a rank of a rail: prepare the all-gather between nodes. */
static amped_status join_nodes(amped_shm_exchange *s) {
  uint64_t nodes = (uint64_t)s->comm->nodes;
  static const char what[] = "the exchange between nodes";
  AMPED_TRY(amped_alloc(&s->first, nodes, sizeof *s->first, what));
  AMPED_TRY(amped_alloc(&s->count, nodes, sizeof *s->count, what));
  AMPED_TRY(amped_alloc(&s->ranks, nodes, sizeof *s->ranks, what));
  return amped_allgather_create(s->comm, s->comm->rail, s->row_bytes, &s->between);
}

static void count_ranks(amped_shm_exchange *s) {
  uint64_t mine = (uint64_t)s->comm->local_size;
  AMPED_MPI(s->comm,
            MPI_Allgather(&mine, 1, MPI_UINT64_T, s->ranks, 1, MPI_UINT64_T, s->comm->rail));
}

amped_status amped_shm_exchange_create(const amped_comm *comm, const amped_worker *worker,
                                       const amped_plan *plan, const int *rank_at,
                                       amped_shm_exchange **out) {
  amped_status status = AMPED_OK;
  amped_shm_exchange *s = NULL;
  uint64_t nranks = (uint64_t)comm->nranks;
  *out = NULL;
  AMPED_GO(agree, amped_calloc(&s, 1, sizeof *s, "the exchange"));
  s->comm = comm;
  s->worker = worker;
  s->plan = plan;
  s->rank_at = rank_at;
  s->window = MPI_WIN_NULL;
  s->row_bytes = amped_plan_row_bytes(plan);
  s->slot_rows = slot_rows(plan);
  AMPED_GO(agree, amped_alloc(&s->copies, nranks, sizeof *s->copies, "the exchange"));
  s->rails = comm->way == AMPED_WAY_RING ? 1 : comm->rails;
  if (comm->local_rank < s->rails)
    AMPED_GO(agree, join_nodes(s));
agree:
  AMPED_GO(failed, amped_comm_agree(comm, status));
  AMPED_MPI(comm, MPI_Comm_rank(comm->ring, &s->place));
  if (comm->local_rank < s->rails)
    count_ranks(s);
  share_memory(s);
  status = worker->backend->device->host_register(worker->device, s->memory,
                                                  amped_shm_exchange_bytes(plan));
  s->pinned = status == AMPED_OK;
  AMPED_GO(failed, amped_comm_agree(comm, status));
  *out = s;
  return AMPED_OK;
failed:
  amped_shm_exchange_destroy(s);
  return status;
}

void amped_shm_exchange_destroy(amped_shm_exchange *s) {
  if (s == NULL)
    return;
  if (s->pinned)
    s->worker->backend->device->host_unregister(s->worker->device, s->memory);
  if (s->window != MPI_WIN_NULL) {
    AMPED_MPI(s->comm, MPI_Win_unlock_all(s->window));
    AMPED_MPI(s->comm, MPI_Win_free(&s->window));
  }
  amped_allgather_destroy(s->between);
  amped_free(s->first);
  amped_free(s->count);
  amped_free(s->ranks);
  amped_free(s->copies);
  amped_free(s);
}

/* On a rank of a rail: send its share of the node's rows in the slot to the other nodes, and
 * receive its share of theirs. */
static void send_between(amped_shm_exchange *s, int slot, uint64_t rows) {
  const uint64_t rail = (uint64_t)s->comm->local_rank;
  const uint64_t rails = (uint64_t)s->rails;
  uint64_t next = 0;
  for (int q = 0; q < s->comm->nodes; q++) {
    const uint64_t all = s->ranks[q] * rows;
    const uint64_t first = all * rail / rails;
    s->first[q] = next + first;
    s->count[q] = all * (rail + 1) / rails - first;
    next += all;
  }
  amped_allgather_parts(s->between, slot_at(s, slot, 0, rows), s->first, s->count);
}

/* Make the slot's rows of all ranks visible on all nodes; this rank's rows are already in the
 * slot. */
static void publish(amped_shm_exchange *s, int slot, uint64_t rows) {
  node_barrier(s);
  if (s->comm->nodes == 1)
    return;
  if (s->between != NULL)
    send_between(s, slot, rows);
  node_barrier(s);
}

/* Rows of a piece, and their slot. */
typedef struct piece {
  uint64_t first, rows;
  int slot;
} piece;

/* Copy this rank's rows of `out` to out's slot, and the other ranks' rows of `in` from in's
 * slot. */
static amped_status move(amped_shm_exchange *s, int mode, const piece *out, const piece *in) {
  uint64_t block = s->plan->modes[mode].rows.block_rows;
  int n = 0;
  for (int i = 0; i < s->comm->nranks; i++) {
    const piece *p = i == s->place ? out : in;
    uint64_t row = (uint64_t)s->rank_at[i] * block + p->first;
    if (p->rows > 0)
      s->copies[n++] = (amped_host_copy){.offset = row * s->row_bytes,
                                         .bytes = p->rows * s->row_bytes,
                                         .host = slot_at(s, p->slot, i, p->rows),
                                         .in = i != s->place};
  }
  return s->worker->backend->factors->stage(s->worker->factors, mode, s->copies, n);
}

/* A slot is filled again two pieces later. No rank passes the barrier in between before it has
 * emptied the slot. The order of slots continues from call to call, so this also holds between
 * calls. */
amped_status amped_shm_exchange_rows(amped_shm_exchange *s, int mode, uint64_t first,
                                     uint64_t end) {
  piece in = {0, 0, 0};
  amped_status status = AMPED_OK;
  while (first < end || in.rows > 0) {
    uint64_t rows = end - first < s->slot_rows ? end - first : s->slot_rows;
    piece out = {first, rows, s->slot};
    AMPED_NEXT(status, move(s, mode, &out, &in));
    if (rows > 0) {
      publish(s, s->slot, rows);
      s->slot = (s->slot + 1) % SLOTS;
    }
    first += rows;
    in = out;
  }
  return status;
}
