/* GPU info: the GPUs that one process sees, and the pairs that reach each other's memory.
 *
 * Plain data in host memory, sent between ranks as bytes. A backend with devices fills it (gpus in
 * backend.h). Ranks of a node may see different GPUs; amped_gpus_join joins their lists. */
#ifndef AMPED_GPU_INFO_H
#define AMPED_GPU_INFO_H

#include <stdint.h>

/* Most GPUs in a list. */
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
  uint8_t links[AMPED_MAX_GPUS]; /* amped_gpu_link to each other GPU, by its place in the list */
} amped_gpu;

typedef struct amped_gpus {
  int visible; /* GPUs that this process sees */
  int count;   /* GPUs in the list, at most AMPED_MAX_GPUS */
  int own;     /* place of this rank's GPU in the list, -1: none */
  uint64_t own_free_bytes;
  char driver[32];  /* version, "580.65.06", or "" if not known */
  char newest[16];  /* newest CUDA version that the driver supports */
  char runtime[16]; /* CUDA version of this program */
  amped_gpu gpu[AMPED_MAX_GPUS];
} amped_gpus;

/* Add to `to` the GPUs of `from` that it does not have yet, up to AMPED_MAX_GPUS, and their links.
 * The caller zeroes `to` before the first call. visible, own and versions stay unchanged. */
void amped_gpus_join(amped_gpus *to, const amped_gpus *from);

/* Place of a GPU in a list, -1 if it is not in the list. */
int amped_gpus_find(const amped_gpus *gpus, const char *identity);

#endif
