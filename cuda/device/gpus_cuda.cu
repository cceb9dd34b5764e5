/* Lists the GPUs that a process sees, with versions and links. */
#include "cuda/device/gpus_cuda.h"

#include <cctype>
#include <cstdio>
#include <cstring>

#include "cuda/device/device_cuda.h"

/* Write 13000 as "13.0". */
static void format_version(char *out, size_t size, int version) {
  (void)snprintf(out, size, "%d.%d", version / 1000, version % 1000 / 10);
}

/* Read the version of the NVIDIA kernel module. CUDA itself does not report it. */
static void read_driver(char *out, int size) {
  FILE *const file = fopen("/sys/module/nvidia/version", "re");
  if (file == nullptr)
    return;
  if (fgets(out, size, file) == nullptr)
    out[0] = '\0';
  out[strcspn(out, "\n")] = '\0';
  (void)fclose(file);
}

static amped_status describe(amped_gpu *gpu, int ordinal) {
  cudaDeviceProp properties;
  AMPED_CUDA(cudaGetDeviceProperties(&properties, ordinal));
  (void)snprintf(gpu->name, sizeof gpu->name, "%.*s", (int)sizeof gpu->name - 1, properties.name);
  amped_device_cuda_identity(gpu->identity, sizeof gpu->identity, &properties.uuid);
  AMPED_CUDA(cudaDeviceGetPCIBusId(gpu->address, (int)sizeof gpu->address, ordinal));
  for (char *c = gpu->address; *c != '\0'; c++)
    *c = (char)tolower((unsigned char)*c);
  (void)snprintf(gpu->capability, sizeof gpu->capability, "%d.%d", properties.major,
                 properties.minor);
  gpu->memory_bytes = properties.totalGlobalMem;
  return AMPED_OK;
}

static amped_status link_of(int from, int to, uint8_t *link) {
  int reaches = 0;
  int atomic = 0;
  AMPED_CUDA(cudaDeviceCanAccessPeer(&reaches, from, to));
  if (reaches != 0)
    AMPED_CUDA(cudaDeviceGetP2PAttribute(&atomic, cudaDevP2PAttrNativeAtomicSupported, from, to));
  *link = (uint8_t)(reaches == 0  ? AMPED_LINK_NONE
                    : atomic == 0 ? AMPED_LINK_PEER
                                  : AMPED_LINK_ATOMIC);
  return AMPED_OK;
}

/* Find the free memory of this process's own GPU only, because the query makes a context, which
 * uses memory. */
static amped_status look_at_own(amped_gpus *gpus) {
  size_t now_free = 0;
  size_t total = 0;
  AMPED_CUDA(cudaSetDevice(gpus->own));
  AMPED_CUDA(cudaMemGetInfo(&now_free, &total));
  gpus->own_free_bytes = now_free;
  return AMPED_OK;
}

amped_status amped_gpus_cuda(int local_rank, amped_gpus *out) {
  int newest = 0;
  int runtime = 0;
  memset(out, 0, sizeof *out);
  AMPED_CUDA(cudaDriverGetVersion(&newest));
  AMPED_CUDA(cudaRuntimeGetVersion(&runtime));
  format_version(out->newest, sizeof out->newest, newest);
  format_version(out->runtime, sizeof out->runtime, runtime);
  read_driver(out->driver, (int)sizeof out->driver);
  AMPED_CUDA(cudaGetDeviceCount(&out->visible));
  out->count = out->visible < AMPED_MAX_GPUS ? out->visible : AMPED_MAX_GPUS;
  for (int i = 0; i < out->count; i++)
    AMPED_TRY(describe(&out->gpu[i], i));
  for (int i = 0; i < out->count; i++)
    for (int j = 0; j < out->count; j++)
      if (i != j)
        AMPED_TRY(link_of(i, j, &out->gpu[i].links[j]));
  out->own = amped_device_cuda_ordinal(local_rank, out->visible);
  return look_at_own(out);
}
