/* Cut share: a sum, and a broadcast of the first rank's. */
#include "load/cut_share.h"

void amped_cut_share_warn(const amped_comm *comm, const amped_cut_integers *own, int order,
                          const char *path) {
  amped_cut_integers out = *own;
  int first = own->count > 0 ? comm->rank : comm->nranks;
  uint64_t all = own->count;
  amped_comm_sum_u64(comm, &all, 1);
  AMPED_MPI(comm, MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm->mpi));
  if (first < comm->nranks)
    AMPED_MPI(comm, MPI_Bcast(&out, sizeof out, MPI_BYTE, first, comm->mpi));
  out.count = all;
  if (comm->rank == 0)
    amped_cut_integers_warn(&out, order, path);
}
