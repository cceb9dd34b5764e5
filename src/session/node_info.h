/* System: what every rank of a job finds where it runs: node, cores, memory, GPUs. */
#ifndef AMPED_NODE_INFO_H
#define AMPED_NODE_INFO_H

#include "mpi/comm.h"
#include "backend/gpu_info.h"

/* Of one rank. Plain data, sent as bytes; text that is not known is "", a number 0. */
typedef struct amped_node_info {
  int node; /* the lowest rank of this rank's node */
  int local_rank;
  int local_size;
  int cores;            /* that this rank may use */
  int threads;          /* that it would compute with */
  char core_list[256];  /* "0-7,16-23" */
  uint64_t free_bytes;  /* of host memory, control groups' limits applied */
  uint64_t total_bytes; /* of the machine */
  uint64_t limit_bytes; /* of the control group; 0: none */
  uint64_t lock_bytes;  /* that may be locked (networks register memory); UINT64_MAX: any */
  char host[64];
  char chosen[128];  /* CUDA_VISIBLE_DEVICES */
  char no_gpus[128]; /* why there are none */
  amped_gpus gpus;
} amped_node_info;

/* Is this program built with a backend that has GPUs? */
bool amped_node_info_has_gpus(void);

/* Collective; the status is agreed. On rank 0 *places holds one of every rank (amped_free), on
 * others NULL. */
amped_status amped_node_info_gather(const amped_comm *comm, amped_node_info **places);

#endif
