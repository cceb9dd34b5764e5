/* The all-gather: a ring of nonblocking messages, or MPI_Allgatherv. */
#include "mpi/allgather.h"

#include "base/mem.h"

/* With more ranks than comm->ring_ranks, parts of at least this size still use the ring: sending
 * one takes longer than the latency of a step. 64 KiB take 5 us at 12.5 GB/s. */
#define RING_BYTES (UINT64_C(64) << 10)

/* Pieces of each part in flight, so that links do not wait for answers between steps. */
#define PIECES 2

struct amped_allgather {
  const amped_comm *comm;
  MPI_Comm mpi;
  int rank;
  int nranks;
  uint64_t unit_bytes;
  MPI_Datatype unit;
  int *counts;           /* [nranks] for MPI_Allgatherv */
  int *displs;           /* [nranks] for MPI_Allgatherv */
  MPI_Request *requests; /* [2 * PIECES * nranks] for the ring */
};

amped_status amped_allgather_create(const amped_comm *comm, MPI_Comm mpi, uint64_t unit_bytes,
                                    amped_allgather **out) {
  amped_status status = AMPED_OK;
  amped_allgather *g = NULL;
  static const char what[] = "the all-gather";
  *out = NULL;
  AMPED_TRY(amped_calloc(&g, 1, sizeof *g, what));
  g->comm = comm;
  g->mpi = mpi;
  g->unit_bytes = unit_bytes;
  g->unit = MPI_DATATYPE_NULL;
  AMPED_MPI(comm, MPI_Comm_rank(mpi, &g->rank));
  AMPED_MPI(comm, MPI_Comm_size(mpi, &g->nranks));
  AMPED_MPI(comm, MPI_Type_contiguous(amped_comm_count(comm, unit_bytes), MPI_BYTE, &g->unit));
  AMPED_MPI(comm, MPI_Type_commit(&g->unit));
  AMPED_GO(failed, amped_alloc(&g->counts, (uint64_t)g->nranks, sizeof *g->counts, what));
  AMPED_GO(failed, amped_alloc(&g->displs, (uint64_t)g->nranks, sizeof *g->displs, what));
  AMPED_GO(failed, amped_alloc(&g->requests, UINT64_C(2) * PIECES * (uint64_t)g->nranks,
                               sizeof *g->requests, what));
  *out = g;
  return AMPED_OK;
failed:
  amped_allgather_destroy(g);
  return status;
}

void amped_allgather_destroy(amped_allgather *g) {
  if (g == NULL)
    return;
  if (g->unit != MPI_DATATYPE_NULL)
    AMPED_MPI(g->comm, MPI_Type_free(&g->unit));
  amped_free(g->counts);
  amped_free(g->displs);
  amped_free(g->requests);
  amped_free(g);
}

bool amped_allgather_rings(const amped_allgather *g, uint64_t units) {
  if (g->comm->chosen[0] != '\0')
    return false;
  return g->nranks <= g->comm->ring_ranks || units >= RING_BYTES / g->unit_bytes;
}

/* Units of each part for one turn of the ring: from unit `skip` on, in pieces of at most `most`
 * units. Pieces after the end of a shorter part are empty. */
typedef struct slice {
  char *array;
  const uint64_t *first;
  const uint64_t *count;
  uint64_t skip, most;
} slice;

/* The rank `steps` before this one in the ring. */
static int before(const amped_allgather *g, int steps) {
  return (g->rank - steps + g->nranks) % g->nranks;
}

/* Piece j of rank q's part: its address and its number of units. */
static void *slice_at(const amped_allgather *g, const slice *s, int j, int q, int *units) {
  uint64_t skip = s->skip + (uint64_t)j * s->most;
  skip = skip < s->count[q] ? skip : s->count[q];
  uint64_t left = s->count[q] - skip;
  *units = amped_comm_count(g->comm, left < s->most ? left : s->most);
  return s->array + (s->first[q] + skip) * g->unit_bytes;
}

/* In step k every rank passes on the part that it received in step k - 1, piece by piece. All
 * receives are posted first, so that no sender waits for its neighbour. */
static void ring(amped_allgather *g, const slice *s, int pieces) {
  int count = (g->nranks - 1) * pieces;
  int units = 0;
  MPI_Request *receives = g->requests;
  MPI_Request *sends = g->requests + count;
  for (int i = 0; i < count; i++) {
    int j = i % pieces;
    void *to = slice_at(g, s, j, before(g, i / pieces + 1), &units);
    AMPED_MPI(g->comm, MPI_Irecv(to, units, g->unit, before(g, 1), j, g->mpi, &receives[i]));
  }
  for (int i = 0; i < count; i++) {
    int j = i % pieces;
    void *from = slice_at(g, s, j, before(g, i / pieces), &units);
    if (i >= pieces)
      AMPED_MPI(g->comm, MPI_Wait(&receives[i - pieces], MPI_STATUS_IGNORE));
    AMPED_MPI(g->comm, MPI_Isend(from, units, g->unit, before(g, -1), j, g->mpi, &sends[i]));
  }
  AMPED_MPI(g->comm, MPI_Waitall(2 * count, g->requests, MPI_STATUSES_IGNORE));
}

static void with_mpi(amped_allgather *g, void *array, const uint64_t *first,
                     const uint64_t *count) {
  for (int q = 0; q < g->nranks; q++) {
    g->counts[q] = amped_comm_count(g->comm, count[q]);
    g->displs[q] = amped_comm_count(g->comm, first[q]);
  }
  AMPED_MPI(g->comm, MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, array, g->counts, g->displs,
                                    g->unit, g->mpi));
}

void amped_allgather_parts(amped_allgather *g, void *array, const uint64_t *first,
                           const uint64_t *count) {
  uint64_t largest = 0;
  uint64_t end = 0;
  for (int q = 0; q < g->nranks; q++) {
    largest = count[q] > largest ? count[q] : largest;
    end = first[q] + count[q] > end ? first[q] + count[q] : end;
  }
  if (g->nranks == 1 || largest == 0)
    return;
  if (end <= g->comm->most_count && !amped_allgather_rings(g, largest)) {
    with_mpi(g, array, first, count);
    return;
  }
  int pieces = largest >= g->comm->piece_bytes / g->unit_bytes ? PIECES : 1;
  uint64_t piece = amped_ceil_div(largest, (uint64_t)pieces);
  uint64_t most = g->comm->message_bytes / g->unit_bytes;
  most = most > 0 ? most : 1;
  slice s = {array, first, count, 0, piece < most ? piece : most};
  for (; s.skip < largest; s.skip += (uint64_t)pieces * s.most)
    ring(g, &s, pieces);
}
