#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "comm.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(AMPED_HAVE_MPI_EXT)
#include <mpi-ext.h>
#endif

#include "log.h"

/* Bytes of one broadcast: well inside MPI's int counts. */
#define BROADCAST_BYTES (UINT64_C(1) << 28)

/* Open MPI's default all-gather of uneven blocks packs device data through the host, and is some
 * hundred times slower than its ring (measured, docs/benchmarks.md). A setting of the user's wins.
 */
static void prefer_ring_allgather(void) {
  (void)setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
  (void)setenv("OMPI_MCA_coll_tuned_allgatherv_algorithm", "3", 0);
}

static bool mpi_takes_device_pointers(void) {
#if defined(AMPED_HAVE_MPI_EXT) && defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#elif defined(AMPED_ASSUME_CUDA_AWARE)
  return true;
#else
  return false;
#endif
}

amped_status amped_comm_start(amped_comm *comm) {
  int provided = MPI_THREAD_SINGLE;
  int first_on_node = 0;
  memset(comm, 0, sizeof *comm);
  comm->mpi = MPI_COMM_NULL;
  prefer_ring_allgather();
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return amped_error(AMPED_FAILED, NULL, "MPI did not start; check the MPI installation");
  comm->mpi = MPI_COMM_WORLD;
  AMPED_MPI(comm, MPI_Comm_set_errhandler(comm->mpi, MPI_ERRORS_RETURN));
  AMPED_MPI(comm, MPI_Comm_rank(comm->mpi, &comm->rank));
  AMPED_MPI(comm, MPI_Comm_size(comm->mpi, &comm->nranks));
  AMPED_MPI(comm, MPI_Comm_split_type(comm->mpi, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL,
                                      &comm->node));
  AMPED_MPI(comm, MPI_Comm_rank(comm->node, &comm->local_rank));
  AMPED_MPI(comm, MPI_Comm_size(comm->node, &comm->local_size));
  first_on_node = comm->local_rank == 0;
  AMPED_MPI(comm, MPI_Allreduce(&first_on_node, &comm->nodes, 1, MPI_INT, MPI_SUM, comm->mpi));
  comm->cuda_aware = mpi_takes_device_pointers();
  amped_log_speaker(comm->rank == 0);
  if (provided < MPI_THREAD_FUNNELED)
    return amped_error(AMPED_FAILED, NULL,
                       "this MPI has no thread support (MPI_THREAD_FUNNELED); use another MPI");
  return AMPED_OK;
}

void amped_comm_stop(amped_comm *comm) {
  if (comm->mpi != MPI_COMM_NULL) {
    (void)MPI_Comm_free(&comm->node);
    (void)MPI_Finalize();
  }
  comm->mpi = MPI_COMM_NULL;
}

amped_status amped_comm_agree(const amped_comm *comm, amped_status status) {
  struct {
    int status;
    int rank;
  } mine = {(int)status, comm->rank}, worst = {0, 0};
  AMPED_MPI(comm, MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, comm->mpi));
  if (worst.status != AMPED_OK && worst.rank == comm->rank)
    amped_status_report();
  return (amped_status)worst.status;
}

void amped_comm_abort(const amped_comm *comm, amped_status status) {
  amped_status_report();
  (void)MPI_Abort(comm->mpi, (int)status);
  _Exit((int)status);
}

void amped_comm_check(const amped_comm *comm, int code, const char *call) {
  char reason[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  if (code == MPI_SUCCESS)
    return;
  (void)MPI_Error_string(code, reason, &length);
  amped_comm_abort(comm, amped_error(AMPED_FAILED, NULL, "rank %d: %.*s: %s; check the MPI set-up",
                                     comm->rank, (int)strcspn(call, "("), call, reason));
}

void amped_comm_sum(const amped_comm *comm, double *values, int count) {
  AMPED_MPI(comm, MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, comm->mpi));
}

void amped_comm_sum_u64(const amped_comm *comm, uint64_t *values, int count) {
  AMPED_MPI(comm, MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_UINT64_T, MPI_SUM, comm->mpi));
}

void amped_comm_broadcast(const amped_comm *comm, void *data, uint64_t bytes) {
  char *at = data;
  while (bytes > 0) {
    uint64_t part = bytes < BROADCAST_BYTES ? bytes : BROADCAST_BYTES;
    AMPED_MPI(comm, MPI_Bcast(at, (int)part, MPI_BYTE, 0, comm->mpi));
    at += part;
    bytes -= part;
  }
}

uint64_t amped_comm_node_sum(const amped_comm *comm, uint64_t value) {
  AMPED_MPI(comm, MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, comm->node));
  return value;
}

amped_spread amped_comm_spread(const amped_comm *comm, double value) {
  struct {
    double value;
    int rank;
  } mine = {value, comm->rank}, most = {0.0, 0};
  amped_spread s = {value, value, value, 0};
  AMPED_MPI(comm, MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm->mpi));
  AMPED_MPI(comm, MPI_Allreduce(&value, &s.min, 1, MPI_DOUBLE, MPI_MIN, comm->mpi));
  AMPED_MPI(comm, MPI_Allreduce(&value, &s.mean, 1, MPI_DOUBLE, MPI_SUM, comm->mpi));
  s.max = most.value;
  s.max_rank = most.rank;
  s.mean /= comm->nranks;
  return s;
}

int amped_comm_count(const amped_comm *comm, uint64_t n) {
  if (n > INT_MAX)
    amped_comm_abort(comm, amped_error(AMPED_FAILED, NULL,
                                       "a message of %" PRIu64 " elements is too long for MPI", n));
  return (int)n;
}
