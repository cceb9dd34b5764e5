/* Comm: the processes of a run, the place of this process among them, and agreement of all ranks.
 *
 * Every rank calls the functions marked collective, in the same order. A rank that fails between
 * two of them keeps its status and continues to the next one that agrees: amped_comm_agree or
 * amped_comm_sum_agreed. A failed MPI call ends the whole job (MPI_Abort) with one line, so that no
 * rank is left waiting. */
#ifndef AMPED_COMM_H
#define AMPED_COMM_H

#include <mpi.h>
#include <stdbool.h>

#include "base/double_double.h"
#include "base/heartbeat.h"
#include "base/status.h"
#include "base/types.h"
#include "mpi/way.h"

typedef struct amped_comm {
  MPI_Comm mpi;
  int rank;
  int nranks;
  int local_rank; /* among the ranks of this node (shared memory), from 0 */
  int local_size;
  int nodes;
  MPI_Comm node;   /* the ranks of this node */
  MPI_Comm ring;   /* all ranks, node by node, however the launcher numbered them */
  int rails;       /* ranks of the smallest node: links between nodes that work together */
  MPI_Comm rail;   /* the ranks of all nodes with this rank's local rank, in the ring's order; null
                      on ranks that have no rail. The first ranks of nodes are rail 0 */
  MPI_Win told;    /* numbers shared by the node, so that only one rank reports why the job ends */
  bool cuda_aware; /* MPI takes device pointers: compiled in and enabled at run time */
  int cuda_built;  /* CUDA support in MPI's header at compile time: 1 or 0; -1: unknown */
  int cuda_now;    /* CUDA support that MPI reports now: 1 or 0; -1: unknown */
  int ring_ranks;  /* with at most this many ranks, an all-gather of any size uses the ring */
  uint64_t message_bytes; /* most bytes of one message; tests set less */
  uint64_t piece_bytes;   /* a part of this many bytes travels in pieces; tests set less */
  uint64_t most_count;    /* most elements of an MPI call, an int; tests set less */
  amped_way way;          /* how rows travel; auto after start */
  bool in_order;          /* sum doubles in the order of ranks; false after start */
  char library[64];       /* MPI library, such as "Open MPI v5.0.7" */
  char chosen[64];        /* the environment variable that chooses MPI's all-gather, or "" */
} amped_comm;

/* Collective. Starts MPI (MPI_THREAD_FUNNELED) and lets only rank 0 write the log. In a job of one
 * node it first sets UCX_RNDV_SCHEME in the environment, unless it is set. */
amped_status amped_comm_start(amped_comm *comm);
/* Collective. Makes the ranks of `node` the ranks of this node; comm then owns `node`.
 * amped_comm_start calls it, and tests call it with other nodes. */
void amped_comm_set_node(amped_comm *comm, MPI_Comm node);
/* Who chose how rows travel: "--exchange", or a variable of MPI; NULL: nobody. */
const char *amped_comm_chooser(const amped_comm *comm);
/* Collective. Ends MPI. First, one error that was not printed is printed: the lowest rank's, if
 * several ranks have one. */
void amped_comm_stop(amped_comm *comm);

/* Collective. Returns the worst status of all ranks on every rank; AMPED_STOPPED is the least of
 * failures. The lowest rank with an error line for that status prints it, and the others print
 * none. */
amped_status amped_comm_agree(const amped_comm *comm, amped_status status);

/* Ends the job on all ranks (MPI_Abort). Only for a rank that cannot reach the next agreement.
 * First it prints this rank's recorded error line, unless another rank of the node is printing one,
 * and removes this rank's locks and drafts. */
void amped_comm_abort(const amped_comm *comm, amped_status status) __attribute__((noreturn));

/* Collective, host memory. Sum each element over ranks, in place: in MPI's order or, with in_order,
 * in the order of ranks. */
void amped_comm_sum(const amped_comm *comm, double *values, int count);
/* Collective. The same sum with an agreement, which takes a message of its own only if needed. A
 * rank that failed makes the first sum NaN; if that sum is NaN, the ranks agree. Returns the agreed
 * status. A NaN without a failure is no failure. */
amped_status amped_comm_sum_agreed(const amped_comm *comm, amped_status status, double *values,
                                   int count);
/* Collective. The same sum for double-doubles, always in the order of ranks. */
void amped_comm_sum_dd(const amped_comm *comm, amped_dd *values, uint64_t count);
void amped_comm_sum_u64(const amped_comm *comm, uint64_t *values, uint64_t count);
void amped_comm_or_u64(const amped_comm *comm, uint64_t *words, uint64_t count); /* bit by bit */
void amped_comm_broadcast(const amped_comm *comm, void *data, uint64_t bytes);

/* Collective on a node: the sum over its ranks. */
uint64_t amped_comm_node_sum(const amped_comm *comm, uint64_t value);

/* Least, mean and largest value of one number over all ranks, and the rank of the largest.
 * Collective; the same on every rank. */
typedef struct amped_spread {
  double min, mean, max;
  int max_rank;
} amped_spread;
amped_spread amped_comm_spread(const amped_comm *comm, double value);
/* The spreads of several numbers in two messages; count <= AMPED_MAX_SPREADS. */
#define AMPED_MAX_SPREADS 8
void amped_comm_spreads(const amped_comm *comm, int count, const double *values,
                        amped_spread *spreads);

/* Abort unless an MPI call succeeded. The heartbeat shows a watchdog the call and its return. */
#define AMPED_MPI(comm, call) (amped_heartbeat_wait(true), amped_comm_check((comm), (call), #call))
void amped_comm_check(const amped_comm *comm, int code, const char *call);

/* n as an MPI count, which is an int. Aborts if n does not fit: callers split larger messages. */
int amped_comm_count(const amped_comm *comm, uint64_t n);

#endif
