/* GPUs as one process sees them: which there are, and which reach each other's memory.
 *
 * Plain data, sent between ranks as bytes. Filled by a backend that has devices (backend.h: gpus);
 * the lists of a node's ranks, which may each see other GPUs, are joined by amped_gpus_join. */
#ifndef AMPED_GPU_INFO_H
#define AMPED_GPU_INFO_H

#include <stdint.h>

/* GPUs of a node that are listed. */
#define AMPED_MAX_GPUS 32

typedef enum amped_gpu_link {
  AMPED_LINK_UNKNOWN, /* no process sees both */
  AMPED_LINK_NONE,    /* neither reaches the other: bytes go through the host */
  AMPED_LINK_PEER,    /* reached directly, without atomic operations, as over PCI Express */
  AMPED_LINK_ATOMIC   /* reached directly, with atomic operations, as over NVLink */
} amped_gpu_link;

typedef struct amped_gpu {
  char name[64];
  char identity[48];   /* "GPU-" and the UUID: the same in every process */
  char address[16];    /* "0000:1b:00.0" on the PCI bus */
  char capability[16]; /* compute capability, "9.0" */
  uint64_t memory_bytes;
  uint8_t links[AMPED_MAX_GPUS]; /* amped_gpu_link to the others, by their place in the list */
} amped_gpu;

typedef struct amped_gpus {
  int visible; /* to this process */
  int count;   /* of these, in the list */
  int own;     /* the one that this rank computes on, -1: none */
  uint64_t own_free_bytes;
  char driver[32];  /* of the kernel, "580.65.06", or "" where it does not tell */
  char newest[16];  /* CUDA version up to which that driver serves */
  char runtime[16]; /* CUDA version that this program holds */
  amped_gpu gpu[AMPED_MAX_GPUS];
} amped_gpus;

/* Add the GPUs of `from` that `to` lacks, as far as the list has room, and the links that it does
 * not know. `to` is zeroed before the first; visible, own and versions stay as they are. */
void amped_gpus_join(amped_gpus *to, const amped_gpus *from);

/* Place of a GPU in a list, -1 where it is not there. */
int amped_gpus_find(const amped_gpus *gpus, const char *identity);

#endif
