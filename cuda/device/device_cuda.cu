/* Opens a rank's GPU, checks CUDA calls, and allocates device and pinned memory. */
#include "cuda/device/device_cuda.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sched.h>

#include "cuda/device/cublas_cuda.h"

extern "C" {
#include "base/log.h"
#include "base/mem.h"
}

/* Memory left free for MPI's contexts, cuBLAS's own tables, and allocation granularity:
 * margin_bytes or 1 / margin_share of the free memory, whichever is more. */
static const uint64_t margin_bytes = UINT64_C(512) << 20;
static const uint64_t margin_share = 50;

static const char *remedy(cudaError_t code) {
  switch (code) {
  case cudaErrorMemoryAllocation:
    return "use more GPUs, fewer components (--rank), or --residency=stream";
  case cudaErrorNoKernelImageForDevice:
  case cudaErrorUnsupportedPtxVersion:
    return "configure with --with-cuda-arch for this GPU and build again";
  case cudaErrorDevicesUnavailable:
    return "another program holds the GPU; see nvidia-smi";
  default:
    return "see nvidia-smi and the system log, or use --backend=cpu";
  }
}

/* Returns the length of the function's name in the text of a call. */
static int name_length(const char *call) {
  return (int)strcspn(call, "(");
}

amped_status amped_cuda_check(cudaError_t code, const char *call) {
  if (code == cudaSuccess)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, "CUDA", "%.*s failed: %s; %s", name_length(call), call,
                     cudaGetErrorString(code), remedy(code));
}

amped_status amped_cublas_check(cublasStatus_t code, const char *call) {
  if (code == CUBLAS_STATUS_SUCCESS)
    return AMPED_OK;
  if (amped_cublas_problem() != NULL)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%s; install cuBLAS of the CUDA Toolkit that this program was built with, "
                       "or name its folder in LD_LIBRARY_PATH",
                       amped_cublas_problem());
  return amped_error(AMPED_FAILED, "CUDA", "%.*s failed: %s; %s", name_length(call), call,
                     cublasGetStatusString(code),
                     remedy(code == CUBLAS_STATUS_ALLOC_FAILED    ? cudaErrorMemoryAllocation
                            : code == CUBLAS_STATUS_ARCH_MISMATCH ? cudaErrorNoKernelImageForDevice
                                                                  : cudaErrorUnknown));
}

bool amped_device_cuda_available(const char **reason) {
  int count = 0;
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0)
    return true;
  (void)cudaGetLastError();
  if (code == cudaErrorInsufficientDriver)
    *reason = "the NVIDIA driver is missing or older than this program's CUDA";
  else if (code == cudaErrorNoDevice || code == cudaSuccess)
    *reason = "no NVIDIA GPU is visible";
  else
    *reason = cudaGetErrorString(code);
  return false;
}

/* Returns the number of a local rank's GPU. If a launcher hides the other GPUs, every rank sees one
 * GPU, and any local rank takes it. The session compares the GPUs' identities to find ranks that
 * share a GPU. */
int amped_device_cuda_ordinal(int local_rank, int visible) {
  return local_rank % visible;
}

void amped_device_cuda_before_mpi(int local_rank) {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0 && (local_rank >= 0 || count == 1) &&
      cudaSetDevice(count == 1 ? 0 : amped_device_cuda_ordinal(local_rank, count)) == cudaSuccess)
    (void)cudaFree(nullptr);
  (void)cudaGetLastError();
}

static amped_status choose(const amped_backend_options *options, int *ordinal, int *count) {
  const char *reason = "";
  if (!amped_device_cuda_available(&reason))
    return amped_error(AMPED_FAILED, "CUDA", "%s; see nvidia-smi, or use --backend=cpu", reason);
  AMPED_CUDA(cudaGetDeviceCount(count));
  if (*count > 1 && options->local_rank >= *count && !options->share_gpus)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%d processes on a node of %d visible GPUs; start %d, or allow several on "
                       "one GPU with --share-gpus",
                       options->local_size, *count, *count);
  *ordinal = amped_device_cuda_ordinal(options->local_rank, *count);
  return AMPED_OK;
}

/* Set a budget that does not depend on free memory: the user's limit, or this rank's part of 15/16
 * of the device. Fails if less is free. */
static amped_status fix_budget(amped_device_cuda *device, const amped_backend_options *options,
                               uint64_t total, int count) {
  uint64_t wanted = options->device_memory > 0 ? options->device_memory : total / 16 * 15;
  if (options->device_memory == 0 && options->share_gpus && options->local_size > count)
    wanted /= amped_ceil_div((uint64_t)options->local_size, (uint64_t)count);
  if (wanted > device->budget_bytes)
    return amped_error(AMPED_FAILED, nullptr,
                       "--deterministic plans with %" PRIu64 " MiB of GPU memory, of which %" PRIu64
                       " MiB are free; set less with --device-memory, in all runs to be compared",
                       wanted >> 20, device->budget_bytes >> 20);
  device->budget_bytes = wanted;
  return AMPED_OK;
}

/* Set the budget. Ranks with --share-gpus get equal parts of the free memory. If each rank sees a
 * GPU of its own, these parts are smaller than necessary, but never too large. */
static amped_status set_budget(amped_device_cuda *device, const amped_backend_options *options,
                               int count, uint64_t *free_bytes) {
  size_t now_free = 0;
  size_t total = 0;
  AMPED_CUDA(cudaMemGetInfo(&now_free, &total));
  *free_bytes = now_free;
  uint64_t margin = now_free / margin_share > margin_bytes ? now_free / margin_share : margin_bytes;
  uint64_t budget = now_free > margin ? now_free - margin : 0;
  if (options->share_gpus && options->local_size > count)
    budget /= amped_ceil_div((uint64_t)options->local_size, (uint64_t)count);
  if (options->device_memory > 0 && options->device_memory < budget)
    budget = options->device_memory;
  device->budget_bytes = budget;
  return options->deterministic ? fix_budget(device, options, total, count) : AMPED_OK;
}

void amped_device_cuda_identity(char *out, size_t size, const cudaUUID_t *uuid) {
  unsigned char b[16];
  memcpy(b, uuid->bytes, sizeof b);
  (void)snprintf(out, size,
                 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                 b[14], b[15]);
}

amped_status amped_device_cuda_open(amped_device_cuda *device,
                                    const amped_backend_options *options) {
  cudaDeviceProp properties;
  int count = 0;
  uint64_t free_bytes = 0;
  char text[32];
  AMPED_TRY(choose(options, &device->ordinal, &count));
  AMPED_CUDA(cudaSetDevice(device->ordinal));
  AMPED_CUDA(cudaGetDeviceProperties(&properties, device->ordinal));
  device->caches.multiprocessors = properties.multiProcessorCount;
  device->caches.l2_bytes = (uint64_t)properties.l2CacheSize;
  device->caches.shared_bytes = (uint64_t)properties.sharedMemPerBlockOptin;
#ifdef AMPED_CUDA_GROUPS
  device->caches.groups = properties.major == 9 && properties.minor == 0;
#else
  device->caches.groups = false;
#endif
  amped_device_cuda_identity(device->identity, sizeof device->identity, &properties.uuid);
  AMPED_TRY(set_budget(device, options, count, &free_bytes));
  (void)snprintf(device->line, sizeof device->line, "GPU %d %s, %s free, UUID %s", device->ordinal,
                 properties.name, amped_format_bytes(text, free_bytes), device->identity);
  return AMPED_OK;
}

/* --- cached memory --------------------------------------------------------------------------- */

namespace {

/* Blocks of one kind of memory: blocks in use, and free blocks by their bytes. */
struct shelf {
  cudaError_t (*get)(void **out, uint64_t bytes);
  cudaError_t (*put)(void *block);
  amped_mem_kind kind;
  std::map<void *, uint64_t> asked; /* bytes of all blocks in use, as requested */
  std::map<void *, uint64_t> lent;
  std::multimap<uint64_t, void *> waiting;
};

cudaError_t get_device(void **out, uint64_t bytes) {
  return cudaMalloc(out, bytes);
}
cudaError_t get_host(void **out, uint64_t bytes) {
  return cudaHostAlloc(out, bytes, cudaHostAllocDefault);
}

std::mutex keeping;
int keepers;
shelf of_device = {.get = get_device,
                   .put = cudaFree,
                   .kind = AMPED_MEM_DEVICE,
                   .asked = {},
                   .lent = {},
                   .waiting = {}};
shelf of_host = {.get = get_host,
                 .put = cudaFreeHost,
                 .kind = AMPED_MEM_HOST,
                 .asked = {},
                 .lent = {},
                 .waiting = {}};

void give_back(shelf *s) {
  for (const auto &block : s->waiting)
    (void)s->put(block.second);
  s->waiting.clear();
}

/* Round bytes up to steps of 1/32 to 1/16, so that blocks of similar size can replace each
 * other. */
uint64_t in_steps(uint64_t bytes) {
  uint64_t step = 256;
  while (step < bytes / 32)
    step *= 2;
  return bytes > UINT64_MAX - step ? bytes : amped_ceil_div(bytes, step) * step;
}

/* Take a free block that is at most a quarter larger than wanted; else allocate one. */
cudaError_t take(shelf *s, void **out, uint64_t bytes) {
  const std::lock_guard<std::mutex> guard(keeping);
  const uint64_t wanted = in_steps(bytes);
  if (keepers == 0)
    return s->get(out, bytes);
  const auto found = s->waiting.lower_bound(wanted);
  if (found != s->waiting.end() && found->first - wanted <= wanted / 4) {
    *out = found->second;
    s->lent[*out] = found->first;
    s->waiting.erase(found);
    return cudaSuccess;
  }
  cudaError_t code = s->get(out, wanted);
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
    give_back(s);
    code = s->get(out, wanted);
  }
  if (code == cudaSuccess)
    s->lent[*out] = wanted;
  return code;
}

/* Take a block and count its bytes. */
cudaError_t take_counted(shelf *s, void **out, uint64_t bytes) {
  const cudaError_t code = take(s, out, bytes);
  const std::lock_guard<std::mutex> guard(keeping);
  if (code == cudaSuccess) {
    s->asked[*out] = bytes;
    amped_mem_count(s->kind, (int64_t)bytes);
  }
  return code;
}

void lay_back(shelf *s, void *block) {
  const std::lock_guard<std::mutex> guard(keeping);
  const auto asked = s->asked.find(block);
  if (asked != s->asked.end()) {
    amped_mem_count(s->kind, -(int64_t)asked->second);
    s->asked.erase(asked);
  }
  const auto lent = s->lent.find(block);
  if (keepers == 0 || lent == s->lent.end() || cudaDeviceSynchronize() != cudaSuccess) {
    if (lent != s->lent.end())
      s->lent.erase(lent);
    (void)s->put(block);
    return;
  }
  s->waiting.emplace(lent->second, block);
  s->lent.erase(lent);
}

} // namespace

void amped_cuda_keep_memory(void) {
  const std::lock_guard<std::mutex> guard(keeping);
  keepers++;
}

bool amped_cuda_keeps_memory(void) {
  const std::lock_guard<std::mutex> guard(keeping);
  return keepers > 0;
}

void amped_cuda_stop_keeping(void) {
  const std::lock_guard<std::mutex> guard(keeping);
  if (--keepers > 0)
    return;
  give_back(&of_device);
  give_back(&of_host);
}

amped_status amped_cuda_malloc(void **out, uint64_t bytes, const char *what) {
  char text[32];
  *out = nullptr;
  cudaError_t code = bytes > 0 ? take_counted(&of_device, out, bytes) : cudaSuccess;
  if (code == cudaSuccess)
    return AMPED_OK;
  *out = nullptr;
  (void)cudaGetLastError();
  return amped_error(AMPED_FAILED, "CUDA", "no %s of device memory for %s: %s; %s",
                     amped_format_bytes(text, bytes), what, cudaGetErrorString(code), remedy(code));
}

/* Bytes of a GPU's page. Other GPUs copy to memory of whole pages at 380 GB/s, and at 280 if it is
 * a few KiB longer. CUDA IPC seems to map the longer one by smaller pages. */
static const uint64_t page_bytes = UINT64_C(2) << 20;

amped_status amped_cuda_malloc_pages(void **out, uint64_t bytes, const char *what) {
  const bool pages = bytes >= page_bytes && bytes <= UINT64_MAX - page_bytes;
  return amped_cuda_malloc(out, pages ? amped_ceil_div(bytes, page_bytes) * page_bytes : bytes,
                           what);
}

amped_status amped_cuda_no_host_memory(cudaError_t code, uint64_t bytes, const char *what) {
  char text[32];
  return amped_error(AMPED_FAILED, "CUDA",
                     "no %s of pinned host memory for %s: %s; use more nodes or a larger limit of "
                     "locked memory",
                     amped_format_bytes(text, bytes), what, cudaGetErrorString(code));
}

amped_status amped_cuda_host_alloc(void **out, uint64_t bytes, const char *what) {
  *out = nullptr;
  cudaError_t code = bytes > 0 ? take_counted(&of_host, out, bytes) : cudaSuccess;
  if (code == cudaSuccess)
    return AMPED_OK;
  *out = nullptr;
  (void)cudaGetLastError();
  return amped_cuda_no_host_memory(code, bytes, what);
}

/* Free a block. Freeing can only report an error of earlier work, and whoever waited for that work
 * has reported it. */
void amped_cuda_free(void *d_block) {
  if (d_block != nullptr)
    lay_back(&of_device, d_block);
}

void amped_cuda_host_free(void *h_block) {
  if (h_block != nullptr)
    lay_back(&of_host, h_block);
}

/* Parse a list like "0-31,64-95" into a set of CPUs; false if it is no such list. */
static bool parse_cpus(const char *list, cpu_set_t *set) {
  CPU_ZERO(set);
  for (const char *at = list; *at != '\0' && *at != '\n';) {
    char *end = nullptr;
    const unsigned long first = strtoul(at, &end, 10);
    unsigned long last = first;
    if (end == at)
      return false;
    if (*end == '-')
      last = strtoul(end + 1, &end, 10);
    for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
      CPU_SET(cpu, set);
    at = *end == ',' ? end + 1 : end;
  }
  return CPU_COUNT(set) > 0;
}

void amped_device_cuda_stay_near(int ordinal) {
  char id[32] = "";
  char path[128];
  char list[4096] = "";
  cpu_set_t near;
  cpu_set_t allowed;
  if (cudaDeviceGetPCIBusId(id, (int)sizeof id, ordinal) != cudaSuccess)
    return;
  for (char *c = id; *c != '\0'; c++)
    *c = (char)tolower((unsigned char)*c);
  (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/local_cpulist", id);
  FILE *const file = fopen(path, "re");
  if (file == nullptr)
    return;
  const bool told = fgets(list, (int)sizeof list, file) != nullptr && parse_cpus(list, &near);
  (void)fclose(file);
  if (!told || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  CPU_AND(&near, &near, &allowed);
  if (CPU_COUNT(&near) > 0)
    (void)sched_setaffinity(0, sizeof near, &near);
}
