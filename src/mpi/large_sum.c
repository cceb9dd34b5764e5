/* Large sum: inside nodes, then across them by rails. */
#include "mpi/large_sum.h"

#include "mpi/allgather.h"

/* The share of rail `rail` in a message of `count` numbers: *n numbers from the result on. */
static uint64_t share_of(const amped_comm *comm, int rail, uint64_t count, int *n) {
  const uint64_t rails = (uint64_t)comm->rails;
  const uint64_t first = count * (uint64_t)rail / rails;
  *n = (int)(count * ((uint64_t)rail + 1) / rails - first);
  return first;
}

/* The rank of each rail gets the node's sum of its share. */
static void sum_in_node(const amped_comm *comm, double *values, uint64_t count) {
  for (int rail = 0; rail < comm->rails; rail++) {
    int n = 0;
    double *const share = values + share_of(comm, rail, count, &n);
    const bool is_mine = rail == comm->local_rank;
    AMPED_MPI(comm, MPI_Reduce(is_mine ? MPI_IN_PLACE : share, is_mine ? share : NULL, n,
                               MPI_DOUBLE, MPI_SUM, rail, comm->node));
  }
}

static void sum_across_nodes(const amped_comm *comm, double *values, uint64_t count) {
  int n = 0;
  if (comm->rail == MPI_COMM_NULL)
    return;
  double *const share = values + share_of(comm, comm->local_rank, count, &n);
  AMPED_MPI(comm, MPI_Allreduce(MPI_IN_PLACE, share, n, MPI_DOUBLE, MPI_SUM, comm->rail));
}

static void share_in_node(const amped_comm *comm, double *values, uint64_t count) {
  for (int rail = 0; rail < comm->rails; rail++) {
    int n = 0;
    double *const share = values + share_of(comm, rail, count, &n);
    AMPED_MPI(comm, MPI_Bcast(share, n, MPI_DOUBLE, rail, comm->node));
  }
}

void amped_large_sum(const amped_comm *comm, double *values, uint64_t count) {
  const uint64_t room = comm->message_bytes / sizeof *values;
  const uint64_t most = room > 0 ? room : 1;
  const bool by_rails = amped_allgather_sums_inside(comm);
  for (uint64_t at = 0; at < count && comm->nranks > 1; at += most) {
    const uint64_t n = count - at < most ? count - at : most;
    if (by_rails) {
      sum_in_node(comm, values + at, n);
      sum_across_nodes(comm, values + at, n);
      share_in_node(comm, values + at, n);
    } else
      amped_comm_sum(comm, values + at, (int)n);
  }
}
