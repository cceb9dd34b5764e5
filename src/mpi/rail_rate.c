/* Rail rates: messages from node to node. */
#include "mpi/rail_rate.h"

#include <float.h>
#include <string.h>

#include "base/timer.h"

/* Most repeats; if the second takes PATIENCE_SEC, no other follows. The first does not count: it
 * opens connections, and uses up what a limited link lets through at once after it was idle. */
#define TIMES 4
#define PATIENCE_SEC 0.1

/* Seconds of the slowest rank of this rank's rail. */
static double seconds_of(const amped_comm *comm, char *host) {
  const int count = (int)AMPED_RAIL_BYTES;
  double best = 0.0;
  int place = 0;
  int nodes = 0;
  if (comm->rail != MPI_COMM_NULL) {
    AMPED_MPI(comm, MPI_Comm_rank(comm->rail, &place));
    AMPED_MPI(comm, MPI_Comm_size(comm->rail, &nodes));
  }
  double worst = 0.0; /* the slowest rail's, so that every rank repeats as often */
  for (int i = 0; i < TIMES && (i < 2 || worst < PATIENCE_SEC); i++) {
    AMPED_MPI(comm, MPI_Barrier(comm->mpi));
    const double began = amped_time();
    if (nodes > 0)
      AMPED_MPI(comm, MPI_Sendrecv(host, count, MPI_BYTE, (place + 1) % nodes, 0,
                                   host + AMPED_RAIL_BYTES, count, MPI_BYTE,
                                   (place + nodes - 1) % nodes, 0, comm->rail, MPI_STATUS_IGNORE));
    double seconds = amped_time() - began;
    if (nodes > 0)
      AMPED_MPI(comm, MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm->rail));
    best = i <= 1 || seconds < best ? seconds : best;
    worst = amped_comm_spread(comm, best).max;
  }
  return best > 1e-9 ? best : 1e-9;
}

void amped_rail_rates_measure(const amped_comm *comm, char *host, amped_rail_rates *rates) {
  struct {
    double value;
    int rail;
  } slow, fast, least, most;
  memset(rates, 0, sizeof *rates);
  if (comm->nodes == 1)
    return;
  const bool has_rail = comm->rail != MPI_COMM_NULL;
  const double rate = (double)AMPED_RAIL_BYTES / seconds_of(comm, host);
  slow.rail = fast.rail = comm->local_rank;
  slow.value = has_rail ? rate : DBL_MAX;
  fast.value = has_rail ? rate : 0.0;
  AMPED_MPI(comm, MPI_Allreduce(&slow, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm->mpi));
  AMPED_MPI(comm, MPI_Allreduce(&fast, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm->mpi));
  *rates = (amped_rail_rates){.rails = comm->rails,
                              .slowest = least.rail,
                              .fastest = most.rail,
                              .least = least.value,
                              .most = most.value};
  if (has_rail && comm->local_rank < AMPED_TOLD_RAILS)
    rates->rate[comm->local_rank] = rate;
  AMPED_MPI(comm, MPI_Allreduce(MPI_IN_PLACE, rates->rate, AMPED_TOLD_RAILS, MPI_DOUBLE, MPI_MAX,
                                comm->mpi));
}

bool amped_rail_rates_differ(const amped_rail_rates *r) {
  return r->least < 0.25 * r->most;
}
