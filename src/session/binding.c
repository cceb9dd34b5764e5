/* Idle cores: the node's ranks combine their CPU sets with MPI_BOR and compare them with mpirun's
 * set. */
#include "session/binding.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/launcher.h"

/* Get the cores that a process may use: an empty set if the kernel does not report them. */
static void get_cores(pid_t process, cpu_set_t *cores) {
  CPU_ZERO(cores);
  if (sched_getaffinity(process, sizeof *cores, cores) != 0)
    CPU_ZERO(cores);
}

/* Did the user choose a number of threads for which this rank has the cores? */
static bool is_chosen(const amped_session *session, const cpu_set_t *cores) {
  const int wanted = session->options->backend.threads;
  return (wanted > 0 || getenv("OMP_NUM_THREADS") != NULL) &&
         amped_session_threads(&session->comm, wanted) <= CPU_COUNT(cores);
}

void amped_binding_find(const amped_session *session, amped_binding *out) {
  const amped_comm *comm = &session->comm;
  struct {
    cpu_set_t used, all;
  } node;
  struct {
    int idle, rank;
  } mine, most;
  memset(out, 0, sizeof *out);
  CPU_ZERO(&node.used);
  CPU_ZERO(&node.all);
  if (amped_launcher_is_mpirun() && session->worker.backend->shares_cores) {
    get_cores(0, &node.used);
    get_cores(getppid(), &node.all); /* mpirun or its daemon on this node */
    if (is_chosen(session, &node.used))
      node.used = node.all;
  }
  AMPED_MPI(comm,
            MPI_Allreduce(MPI_IN_PLACE, &node, (int)sizeof node, MPI_BYTE, MPI_BOR, comm->node));
  CPU_AND(&node.used, &node.used, &node.all);
  out->cores = CPU_COUNT(&node.all);
  mine.idle = out->cores - CPU_COUNT(&node.used);
  mine.rank = comm->rank;
  AMPED_MPI(comm, MPI_Allreduce(&mine, &most, 1, MPI_2INT, MPI_MAXLOC, comm->mpi));
  out->idle = mine.idle;
  AMPED_MPI(comm, MPI_Bcast(out, (int)sizeof *out, MPI_BYTE, most.rank, comm->mpi));
}
