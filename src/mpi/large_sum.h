/* Large sum: the sum over ranks of more numbers than a matrix of ncomps x ncomps has. */
#ifndef AMPED_LARGE_SUM_H
#define AMPED_LARGE_SUM_H

#include "mpi/comm.h"

/* Collective, host memory. Sum each element over all ranks, in place, in messages of at most
 * comm->message_bytes. With several nodes and rails (comm.h) a node's ranks add up first, each rail
 * sends its share of the numbers across, and the node's ranks get the sums from it: each number
 * leaves a node once. Otherwise (amped_allgather_sums_inside): amped_comm_sum. The order of
 * additions depends on the ranks' nodes, except with in_order. */
void amped_large_sum(const amped_comm *comm, double *values, uint64_t count);

#endif
