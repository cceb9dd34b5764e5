/* Node info: node, cores, memory and GPUs of each rank of a job. */
#ifndef AMPED_NODE_INFO_H
#define AMPED_NODE_INFO_H

#include "mpi/comm.h"
#include "backend/gpu_info.h"

/* Facts that one rank finds. Plain data, sent as bytes. Unknown text is "", an unknown number 0. */
typedef struct amped_node_info {
  int node; /* lowest rank on this rank's node */
  int local_rank;
  int local_size;
  int cores;            /* cores that this rank may use */
  int threads;          /* threads of a computation on this rank */
  char core_list[256];  /* "0-7,16-23" */
  uint64_t free_bytes;  /* free host memory, within the limits of control groups */
  uint64_t total_bytes; /* host memory of the machine */
  uint64_t limit_bytes; /* limit of the control group; 0: none */
  uint64_t lock_bytes;  /* limit of locked memory, which networks need; UINT64_MAX: none */
  char host[64];
  char chosen[128];  /* CUDA_VISIBLE_DEVICES */
  char no_gpus[128]; /* why the rank has no GPU; "" if it has one */
  amped_gpus gpus;
} amped_node_info;

/* Is this program built with a backend that has GPUs? */
bool amped_node_info_has_gpus(void);

/* Collective; the status is agreed. On rank 0 *places is an array [nranks], which the caller frees
 * with amped_free. On other ranks it is NULL. */
amped_status amped_node_info_gather(const amped_comm *comm, amped_node_info **places);

#endif
