/* Growable device memory, with the driver's functions for virtual memory. */
#include "cuda/device/growable_cuda.h"

#include <cuda.h>

extern "C" {
#include "base/log.h"
#include "base/mem.h"
}

/* Memory comes in multiples of this size, which is a multiple of every GPU's own page. */
static const uint64_t page_bytes = UINT64_C(2) << 20;

namespace {

/* The driver's functions. The runtime finds them, so that the program need not link the driver. */
struct driver {
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) give_back;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;
};

template <typename F> bool find(const char *name, F *out) {
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  void *entry = nullptr;
#if CUDART_VERSION >= 12050
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion(name, &entry, 11000, cudaEnableDefault, &found);
#elif CUDART_VERSION >= 12000
  const cudaError_t code = cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &found);
#else
  const cudaError_t code = cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault);
  found = cudaDriverEntryPointSuccess;
#endif
  *out = reinterpret_cast<F>(entry);
  return code == cudaSuccess && found == cudaDriverEntryPointSuccess && entry != nullptr;
}

bool find_all(driver *d) {
  return find("cuMemAddressReserve", &d->reserve) && find("cuMemAddressFree", &d->give_back) &&
         find("cuMemCreate", &d->create) && find("cuMemRelease", &d->release) &&
         find("cuMemMap", &d->map) && find("cuMemUnmap", &d->unmap) &&
         find("cuMemSetAccess", &d->set_access);
}

CUmemLocation location_of(const amped_growable_cuda *g) {
  CUmemLocation location = {};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = g->ordinal;
  return location;
}

CUdeviceptr address_of(const amped_growable_cuda *g, uint64_t at) {
  return reinterpret_cast<CUdeviceptr>(g->d_block) + at;
}

uint64_t whole_pages(uint64_t bytes) {
  return amped_ceil_div(bytes, page_bytes) * page_bytes;
}

/* Map `bytes` more, after the existing memory. */
CUresult add(const driver *d, const amped_growable_cuda *g, uint64_t bytes) {
  CUmemAllocationProp kind = {};
  CUmemAccessDesc access = {};
  CUmemGenericAllocationHandle memory = 0;
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = access.location = location_of(g);
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUresult code = d->create(&memory, bytes, &kind, 0);
  if (code != CUDA_SUCCESS)
    return code;
  code = d->map(address_of(g, g->bytes), bytes, 0, memory, 0);
  (void)d->release(memory); /* mapped memory stays */
  if (code != CUDA_SUCCESS)
    return code;
  code = d->set_access(address_of(g, g->bytes), bytes, &access, 1);
  if (code != CUDA_SUCCESS)
    (void)d->unmap(address_of(g, g->bytes), bytes);
  return code;
}

amped_status no_driver() {
  return amped_error(AMPED_FAILED, "CUDA",
                     "the driver has no memory that grows where it lies; use --backend=cpu, or a "
                     "newer driver");
}

} // namespace

amped_status amped_growable_cuda_create(amped_growable_cuda *g, const amped_device_cuda *device) {
  driver d = {};
  size_t now_free = 0;
  size_t total = 0;
  CUdeviceptr address = 0;
  *g = {};
  g->ordinal = device->ordinal;
  AMPED_CUDA(cudaMemGetInfo(&now_free, &total));
  if (!find_all(&d) || d.reserve(&address, whole_pages(total), 0, 0, 0) != CUDA_SUCCESS)
    return no_driver();
  g->d_block = reinterpret_cast<void *>(address);
  g->reserved = whole_pages(total);
  return AMPED_OK;
}

uint64_t amped_growable_cuda_bytes(uint64_t bytes) {
  return bytes > 0 ? whole_pages(bytes + bytes / 16) : 0;
}

amped_status amped_growable_cuda_grow(amped_growable_cuda *g, uint64_t bytes, const char *what) {
  const uint64_t want = amped_growable_cuda_bytes(bytes);
  driver d = {};
  char text[2][32];
  if (bytes <= g->bytes)
    return AMPED_OK;
  if (!find_all(&d))
    return no_driver();
  CUresult code = CUDA_ERROR_OUT_OF_MEMORY;
  if (want <= g->reserved)
    code = add(&d, g, want - g->bytes);
  if (code != CUDA_SUCCESS)
    return amped_error(AMPED_FAILED, "CUDA",
                       "no %s more of device memory for %s, which have %s (driver's code %d); use "
                       "more GPUs, fewer components (--rank), or --backend=cpu",
                       amped_format_bytes(text[0], want - g->bytes), what,
                       amped_format_bytes(text[1], g->bytes), (int)code);
  amped_mem_count(AMPED_MEM_DEVICE, (int64_t)(want - g->bytes));
  g->bytes = want;
  return AMPED_OK;
}

void amped_growable_cuda_free(amped_growable_cuda *g) {
  driver d = {};
  amped_mem_count(AMPED_MEM_DEVICE, -(int64_t)g->bytes);
  if (g->d_block != nullptr && find_all(&d)) {
    if (g->bytes > 0)
      (void)d.unmap(address_of(g, 0), g->bytes);
    (void)d.give_back(address_of(g, 0), g->reserved);
  }
  *g = {};
}
