/* The processes of a run: who this one is, and how all of them agree.
 *
 * Functions marked collective are called by every rank in the same order. A failed MPI call ends
 * the whole job (MPI_Abort) with one line: no rank is left waiting. */
#ifndef AMPED_COMM_H
#define AMPED_COMM_H

#include <mpi.h>
#include <stdbool.h>

#include "base/heartbeat.h"
#include "base/status.h"
#include "base/types.h"

typedef struct amped_comm {
  MPI_Comm mpi;
  int rank;
  int nranks;
  int local_rank; /* among the ranks of this node (shared memory), from 0 */
  int local_size;
  int nodes;
  MPI_Comm node;    /* the ranks of this node */
  MPI_Comm ring;    /* all ranks, node by node, however the launcher numbered them */
  MPI_Comm leaders; /* the first rank of every node, in the ring's order; null on others */
  bool cuda_aware;  /* MPI takes device pointers: compiled in and enabled at run time */
  int cuda_built; /* what its header said of that when this program was compiled: 1, 0; and what */
  int cuda_now;   /* it says now; -1: it was not asked, or cannot tell */
  int ring_ranks; /* up to so many, an all-gather of any size goes round the ring */
  uint64_t message_bytes; /* of one message at most; tests send less */
  uint64_t piece_bytes;   /* a part of so many travels in pieces; likewise */
  uint64_t most_count;    /* that MPI takes: of an int; likewise */
  bool in_order;          /* sums of doubles are made in the order of ranks: false after start */
  char library[64];       /* "Open MPI v5.0.7" */
  char chosen[64]; /* the environment variable by which the user chose MPI's all-gather, or "" */
} amped_comm;

/* Collective. Starts MPI (MPI_THREAD_FUNNELED) and points the log at rank 0. Before it, in a job of
 * one node, sets UCX_RNDV_SCHEME in the environment where it is not set. */
amped_status amped_comm_start(amped_comm *comm);
/* Collective: the ranks of a node are those of `node`, which is taken over. start does this; tests
 * make nodes up. */
void amped_comm_set_node(amped_comm *comm, MPI_Comm node);
void amped_comm_stop(amped_comm *comm);

/* Collective. Every rank gets the worst status of all; the lowest rank that has it prints its line.
 */
amped_status amped_comm_agree(const amped_comm *comm, amped_status status);

/* Print this rank's recorded line (or the given reason) and end the job on all ranks. */
void amped_comm_abort(const amped_comm *comm, amped_status status) __attribute__((noreturn));

/* Collective: element-wise sum over ranks in place (host memory), in MPI's order or, with in_order,
 * in that of ranks; broadcast of any number of bytes from rank 0. */
void amped_comm_sum(const amped_comm *comm, double *values, int count);
void amped_comm_sum_u64(const amped_comm *comm, uint64_t *values, int count);
void amped_comm_broadcast(const amped_comm *comm, void *data, uint64_t bytes);

/* Collective on a node: the sum over its ranks. */
uint64_t amped_comm_node_sum(const amped_comm *comm, uint64_t value);

/* A duration of one phase over all ranks, and the rank of the maximum. Collective; same everywhere.
 */
typedef struct amped_spread {
  double min, mean, max;
  int max_rank;
} amped_spread;
amped_spread amped_comm_spread(const amped_comm *comm, double value);
/* Several at once, in two messages; count <= AMPED_MAX_SPREADS. */
#define AMPED_MAX_SPREADS 8
void amped_comm_spreads(const amped_comm *comm, int count, const double *values,
                        amped_spread *spreads);

/* Abort unless an MPI call succeeded. A watchdog sees that it was called, and that it returned. */
#define AMPED_MPI(comm, call) (amped_heartbeat_wait(true), amped_comm_check((comm), (call), #call))
void amped_comm_check(const amped_comm *comm, int code, const char *call);

/* n as an MPI count, which is an int; aborts where it does not fit (callers split before). */
int amped_comm_count(const amped_comm *comm, uint64_t n);

#endif
