/* The all-gather: nonblocking messages round a ring or by rails, or MPI_Allgatherv. */
#include "mpi/allgather.h"

#include "base/mem.h"
#include "mpi/routes.h"

/* With more ranks than comm->ring_ranks, parts of at least this size still use the ring: sending
 * one takes longer than the latency of a step. 64 KiB take 5 us at 12.5 GB/s. */
#define RING_BYTES (UINT64_C(64) << 10)

/* Pieces of each part in flight, so that links do not wait for answers between steps. */
#define PIECES 2

/* Messages that a rank sends of a piece at most: to the next node, and inside its node. */
#define SENDS 2

/* MPI's least limit of tags. A piece of a part has its own tag on the rails, because pieces of
 * different parts may overtake each other. More ranks use the ring. */
#define LAST_TAG 32767

struct amped_allgather {
  const amped_comm *comm;
  MPI_Comm mpi;
  int rank;
  int nranks;
  uint64_t unit_bytes;
  MPI_Datatype unit;
  int *counts;           /* [nranks] for MPI_Allgatherv */
  int *displs;           /* [nranks] for MPI_Allgatherv */
  MPI_Request *requests; /* [(1 + SENDS) * PIECES * nranks] receives, then sends */
  int *done;             /* [PIECES * nranks] receives that have ended, for the rails */
  amped_places places;   /* the places of mpi's ranks; none: there are no rails */
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
  AMPED_GO(failed, amped_alloc(&g->requests, (uint64_t)(1 + SENDS) * PIECES * (uint64_t)g->nranks,
                               sizeof *g->requests, what));
  AMPED_GO(failed, amped_alloc(&g->done, PIECES * (uint64_t)g->nranks, sizeof *g->done, what));
  *out = g;
  return AMPED_OK;
failed:
  amped_allgather_destroy(g);
  return status;
}

static bool has_tags(const amped_comm *comm) {
  return PIECES * comm->nranks <= LAST_TAG;
}

amped_status amped_allgather_find_rails(amped_allgather *g) {
  if (!has_tags(g->comm))
    return AMPED_OK;
  AMPED_MPI(g->comm,
            MPI_Allgather(&g->comm->local_rank, 1, MPI_INT, g->counts, 1, MPI_INT, g->mpi));
  return amped_places_create(g->counts, g->nranks, g->comm->rails, &g->places);
}

void amped_allgather_destroy(amped_allgather *g) {
  if (g == NULL)
    return;
  if (g->unit != MPI_DATATYPE_NULL)
    AMPED_MPI(g->comm, MPI_Type_free(&g->unit));
  amped_free(g->counts);
  amped_free(g->displs);
  amped_free(g->requests);
  amped_free(g->done);
  amped_places_free(&g->places);
  amped_free(g);
}

amped_way amped_allgather_way_of(const amped_comm *comm) {
  const amped_way far = has_tags(comm) && comm->nodes > 1 ? AMPED_WAY_RAILS : AMPED_WAY_RING;
  if (comm->way != AMPED_WAY_AUTO)
    return comm->way == AMPED_WAY_RAILS ? far : comm->way;
  if (comm->chosen[0] != '\0')
    return AMPED_WAY_ALLGATHERV;
  return comm->nranks > comm->nodes ? far : AMPED_WAY_RING;
}

bool amped_allgather_sums_inside(const amped_comm *comm) {
  return !comm->in_order && comm->nranks > comm->nodes &&
         amped_allgather_way_of(comm) == AMPED_WAY_RAILS;
}

amped_way amped_allgather_way(const amped_allgather *g, uint64_t units) {
  const amped_comm *comm = g->comm;
  const amped_way way = amped_allgather_way_of(comm);
  if (comm->way == AMPED_WAY_AUTO && g->nranks > comm->ring_ranks &&
      units < RING_BYTES / g->unit_bytes)
    return AMPED_WAY_ALLGATHERV;
  return way == AMPED_WAY_RAILS && g->places.count == 0 ? AMPED_WAY_RING : way;
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

/* Send piece j of rank q's part on to those that get it from here. Returns the number of sends. */
static int pass_on(const amped_allgather *g, const slice *s, int pieces, int q, int j,
                   MPI_Request *sends) {
  const amped_route route = amped_route_of(&g->places, q, g->rank);
  int units = 0;
  int n = 0;
  const void *from = slice_at(g, s, j, q, &units);
  for (int k = 0; k < SENDS; k++)
    if (route.to[k] >= 0)
      AMPED_MPI(g->comm,
                MPI_Isend(from, units, g->unit, route.to[k], q * pieces + j, g->mpi, &sends[n++]));
  return n;
}

/* Every rank passes on what has come, piece by piece, in any order. All receives are posted first.
 */
static void rails(amped_allgather *g, const slice *s, int pieces) {
  const int all = g->nranks * pieces;
  MPI_Request *receives = g->requests; /* receive q * pieces + j: piece j of rank q's part */
  MPI_Request *sends = g->requests + all;
  int units = 0;
  int sent = 0;
  int ended = 0;
  for (int i = 0; i < all; i++) {
    const int q = before(g, i / pieces);
    const int at = q * pieces + i % pieces;
    void *to = slice_at(g, s, i % pieces, q, &units);
    receives[at] = MPI_REQUEST_NULL;
    if (q != g->rank)
      AMPED_MPI(g->comm, MPI_Irecv(to, units, g->unit, amped_route_of(&g->places, q, g->rank).from,
                                   at, g->mpi, &receives[at]));
  }
  for (int j = 0; j < pieces; j++)
    sent += pass_on(g, s, pieces, g->rank, j, sends + sent);
  for (int left = all - pieces; left > 0; left -= ended) {
    AMPED_MPI(g->comm, MPI_Waitsome(all, receives, &ended, g->done, MPI_STATUSES_IGNORE));
    for (int i = 0; i < ended; i++)
      sent += pass_on(g, s, pieces, g->done[i] / pieces, g->done[i] % pieces, sends + sent);
  }
  AMPED_MPI(g->comm, MPI_Waitall(sent, sends, MPI_STATUSES_IGNORE));
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
  const amped_way way = amped_allgather_way(g, largest);
  if (end <= g->comm->most_count && way == AMPED_WAY_ALLGATHERV) {
    with_mpi(g, array, first, count);
    return;
  }
  int pieces = largest >= g->comm->piece_bytes / g->unit_bytes ? PIECES : 1;
  uint64_t piece = amped_ceil_div(largest, (uint64_t)pieces);
  uint64_t most = g->comm->message_bytes / g->unit_bytes;
  most = most > 0 ? most : 1;
  slice s = {array, first, count, 0, piece < most ? piece : most};
  for (; s.skip < largest; s.skip += (uint64_t)pieces * s.most)
    way == AMPED_WAY_RAILS ? rails(g, &s, pieces) : ring(g, &s, pieces);
}
