/* The runtime of an emulated GPU, and its kernels' threads as fibers. See README.md. */
#include "cuda_runtime.h"

#include <cstdlib>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cuda.h"

/* --- fibers ---------------------------------------------------------------------------------- */

dim3 threadIdx, blockIdx, blockDim, gridDim;
unsigned long emulated_blocks;

namespace {

constexpr size_t stack_bytes = 256 << 10;
constexpr unsigned most_threads = 1024;

/* The place that a fiber, or the scheduler, goes on from: of the compiler's own jumps, which save no
 * signals and take a tenth of the time of setjmp's. */
typedef void *place[5];

struct fiber {
  place at;
  void *stack = nullptr;
  /* It waits until this number is no longer `turn`; NULL: it may run. */
  const unsigned *awaited = nullptr;
  unsigned turn = 0;
  bool is_begun = false; /* it has a place to go on from */
  bool has_work = false; /* the kernel has not returned */
  dim3 thread;
};

/* Lanes of one mask that wait for each other. Two tables, as a lane may be one ahead. */
struct meeting {
  unsigned arrived = 0;
  unsigned turn = 0;
  alignas(16) char tables[2][32][16];
};

/* All threads of the block wait. */
struct barrier {
  unsigned arrived = 0;
  unsigned turn = 0;
  int sums[2] = {0, 0};
};

std::recursive_mutex launching;
std::vector<fiber> fibers(most_threads);
unsigned current; /* fiber */
place scheduler;
const std::function<void()> *kernel_in_hand;
unsigned threads_in_hand;
unsigned alive;
bool runs_up;  /* the direction in which threads follow each other */
unsigned naps; /* since a thread ended */
barrier block_barrier;
meeting whole_warps[most_threads / 32];         /* of all lanes */
std::map<unsigned long long, meeting> meetings; /* of some, by warp and mask */
unsigned long long draws = 1;                   /* for the order of threads */
std::vector<char> shared_memory;

[[noreturn]] void die(const char *why) {
  fprintf(stderr, "emulated GPU: %s\n", why);
  abort();
}

void fiber_main();

/* May it run? At the block's barrier also if all others have ended. */
inline bool may_run(fiber &f) {
  if (!f.has_work)
    return false;
  if (f.awaited != nullptr && *f.awaited == f.turn &&
      (f.awaited != &block_barrier.turn || block_barrier.arrived < alive))
    return false;
  f.awaited = nullptr;
  return true;
}

/* Begin the current fiber. */
[[noreturn]] void begin() {
  fiber &f = fibers[current];
  f.is_begun = true;
  if (f.stack == nullptr && (f.stack = malloc(stack_bytes)) == nullptr)
    die("no memory for a thread");
  ucontext_t context;
  getcontext(&context);
  /* Stacks begin at different lines of a cache: else they would take each other's place there. */
  context.uc_stack.ss_sp = f.stack;
  context.uc_stack.ss_size = stack_bytes - current % 61 * 320;
  context.uc_link = nullptr;
  makecontext(&context, fiber_main, 0);
  setcontext(&context);
  die("a thread does not begin");
}

/* Go on with the next fiber that may run, or with the scheduler after the last.
 *
 * The compiler does not look into these functions (noipa): a jump changes registers that their text
 * does not, and no function may jump to a place of its own. */
[[noreturn, gnu::noipa]] void go_on() {
  unsigned i = current;
  for (unsigned steps = 0; alive > 0; steps++) {
    if (runs_up)
      i = i + 1 < threads_in_hand ? i + 1 : 0;
    else
      i = i > 0 ? i - 1 : threads_in_hand - 1;
    if (may_run(fibers[i])) {
      current = i;
      threadIdx = fibers[i].thread;
      if (!fibers[i].is_begun)
        begin();
      __builtin_longjmp(fibers[i].at, 1);
    }
    if (steps > threads_in_hand)
      die("all threads of a block wait");
  }
  __builtin_longjmp(scheduler, 1);
}

/* Let the others run. */
[[gnu::noipa]] void yield() {
  if (__builtin_setjmp(fibers[current].at) == 0)
    go_on();
}

/* Let the others run until the number is another one. */
void yield_until_changed(const unsigned *number, unsigned turn) {
  fibers[current].awaited = number;
  fibers[current].turn = turn;
  yield();
}

void fiber_main() {
  for (;;) {
    (*kernel_in_hand)();
    fibers[current].has_work = false;
    alive--;
    naps = 0;
    yield();
  }
}

[[gnu::noipa]] void run_fibers() {
  if (__builtin_setjmp(scheduler) == 0)
    go_on();
}

void run_block() {
  emulated_blocks++;
  alive = threads_in_hand;
  block_barrier = barrier();
  meetings.clear();
  for (meeting &m : whole_warps)
    m.arrived = 0;
  for (unsigned i = 0; i < threads_in_hand; i++) {
    fibers[i].has_work = true;
    fibers[i].awaited = nullptr;
    fibers[i].thread =
        dim3(i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y);
  }
  /* Threads run up or down from any of them on: a kernel that forgets to wait shows it. */
  draws = draws * 6364136223846793005ULL + 1442695040888963407ULL;
  runs_up = draws >> 63;
  current = (unsigned)(draws >> 33) % threads_in_hand;
  naps = 0;
  run_fibers();
}

/* Threads that wait at the block's barrier: all that are alive. */
int meet_block(int x) {
  barrier &b = block_barrier;
  const unsigned turn = b.turn;
  if (b.arrived++ == 0)
    b.sums[turn % 2] = 0;
  b.sums[turn % 2] += x;
  while (b.turn == turn && b.arrived < alive)
    yield_until_changed(&b.turn, turn);
  if (b.turn == turn) {
    b.turn++;
    b.arrived = 0;
  }
  return b.sums[turn % 2];
}

} // namespace

void *emulated_shared() {
  return shared_memory.data() + (64 - reinterpret_cast<uintptr_t>(shared_memory.data()) % 64) % 64;
}

unsigned emulated_lane() {
  return current % 32;
}

unsigned __activemask() {
  return 0xffffffffU;
}

void __nanosleep(unsigned) {
  if (++naps > 50000000U)
    die("a thread block does not end");
  yield();
}

void emulated_launch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t,
                     const std::function<void()> &kernel) {
  const std::lock_guard<std::recursive_mutex> guard(launching);
  const unsigned threads = block.x * block.y * block.z;
  if (threads == 0 || threads > most_threads || grid.x == 0)
    die("a launch of no threads, or of too many");
  if (shared_memory.size() < shared_bytes + 64)
    shared_memory.resize(shared_bytes + 64);
  memset(shared_memory.data(), 0xa5, shared_memory.size());
  kernel_in_hand = &kernel;
  threads_in_hand = threads;
  blockDim = block;
  gridDim = grid;
  for (unsigned z = 0; z < grid.z; z++)
    for (unsigned y = 0; y < grid.y; y++)
      for (unsigned x = 0; x < grid.x; x++) {
        blockIdx = dim3(x, y, z);
        run_block();
      }
}

void __syncthreads() {
  (void)meet_block(0);
}
int __syncthreads_count(int x) {
  return meet_block(x != 0);
}
int __syncthreads_or(int x) {
  return meet_block(x != 0) > 0;
}
int __syncthreads_and(int x) {
  return meet_block(x == 0) == 0;
}

void emulated_exchange(unsigned mask, const void *own, unsigned bytes, const void **table) {
  const unsigned warp = current / 32;
  const unsigned lanes_left = threads_in_hand - warp * 32;
  const unsigned there = lanes_left >= 32 ? mask : mask & ((1U << lanes_left) - 1U);
  meeting &m =
      mask == 0xffffffffU ? whole_warps[warp] : meetings[(unsigned long long)warp << 32 | mask];
  const unsigned turn = m.turn;
  if (bytes > 16 || (mask >> emulated_lane() & 1U) == 0)
    die("a lane that is not in its mask, or too many bytes");
  memcpy(m.tables[turn % 2][emulated_lane()], own, bytes);
  m.arrived++;
  if (m.arrived == (unsigned)__builtin_popcount(there)) {
    m.arrived = 0;
    m.turn++;
  }
  while (m.turn == turn)
    yield_until_changed(&m.turn, turn);
  *table = m.tables[turn % 2];
}

unsigned __ballot_sync(unsigned mask, int x) {
  const void *table = nullptr;
  const char own = x != 0;
  unsigned out = 0;
  emulated_exchange(mask, &own, 1, &table);
  for (unsigned i = 0; i < 32; i++)
    if ((mask >> i & 1U) != 0 && current / 32 * 32 + i < threads_in_hand &&
        static_cast<const char *>(table)[16 * i] != 0)
      out |= 1U << i;
  return out;
}

/* --- runtime --------------------------------------------------------------------------------- */

struct emulated_event {
  double seconds;
};

namespace {

std::mutex counting;
std::map<void *, size_t> blocks;
size_t taken;
size_t most_taken;
constexpr size_t page_bytes = size_t(2) << 20;
constexpr size_t mapped_bytes = size_t(256) << 10; /* blocks from this size on are mapped */

/* Bytes of the emulated GPU. */
size_t total_bytes() {
  const char *text = getenv("EMULATED_GPU_MIB");
  return (size_t)(text != nullptr ? atoi(text) : 2048) << 20;
}

void take(size_t bytes) {
  taken += bytes;
  most_taken = taken > most_taken ? taken : most_taken;
}

/* At the program's end: the most bytes that were taken at once, and those that nobody gave back, to
 * the file $EMULATED_MEMORY.RANK. */
struct memory_report {
  ~memory_report() {
    const char *path = getenv("EMULATED_MEMORY");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    FILE *f = path == nullptr
                  ? nullptr
                  : fopen((std::string(path) + "." + (rank != nullptr ? rank : "0")).c_str(), "w");
    if (f == nullptr)
      return;
    (void)fprintf(f, "%zu %zu\n", most_taken, taken);
    (void)fclose(f);
  }
} report_at_end;

int device_count() {
  const char *text = getenv("EMULATED_GPUS");
  return text != nullptr ? atoi(text) : 1;
}

/* A file in memory of bytes 0xa5, as nobody may count on zeros. */
int poison() {
  static const int file = [] {
    const std::vector<char> bytes(page_bytes, (char)0xa5);
    const int made = memfd_create("poison", MFD_CLOEXEC);
    if (made < 0 || write(made, bytes.data(), bytes.size()) != (ssize_t)bytes.size())
      die("no memory for new memory");
    return made;
  }();
  return file;
}

/* Map bytes 0xa5 at these addresses, whole pages. Memory that is never touched takes no time. */
bool map_poison(void *at, size_t bytes) {
  for (size_t done = 0; done < bytes; done += page_bytes) {
    const size_t part = bytes - done < page_bytes ? bytes - done : page_bytes;
    if (mmap(static_cast<char *>(at) + done, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
             poison(), 0) == MAP_FAILED)
      return false;
  }
  return true;
}

double now() {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

} // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int *count) {
  *count = device_count();
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int device) {
  return device < device_count() ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device) {
  memset(p, 0, sizeof *p);
  (void)snprintf(p->name, sizeof p->name, "emulated GPU");
  p->uuid.bytes[0] = (char)(device + 1);
  p->totalGlobalMem = total_bytes();
  p->major = 9;
  const char *sms = std::getenv("EMULATED_SMS"); /* each has blocks to emulate */
  p->multiProcessorCount = sms != nullptr ? std::atoi(sms) : 132;
  p->l2CacheSize = 50 << 20;
  p->sharedMemPerBlockOptin = 227 << 10;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int) {
  *value = 132;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device) {
  (void)snprintf(id, (size_t)length, "FFFF:%02X:00.0", device & 0xff);
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) {
  *can = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr, int, int) {
  *value = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *most) {
  *least = *most = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = 13000;
  return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorMemoryAllocation ? "out of memory" : "emulated error";
}
cudaError_t cudaGetLastError(void) {
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t bytes) {
  const std::lock_guard<std::mutex> guard(counting);
  if (bytes > total_bytes() - taken)
    return cudaErrorMemoryAllocation;
  if (bytes < mapped_bytes) {
    if (posix_memalign(out, 512, bytes) != 0)
      return cudaErrorMemoryAllocation;
    memset(*out, 0xa5, bytes);
  } else {
    *out = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*out == MAP_FAILED || !map_poison(*out, bytes))
      return cudaErrorMemoryAllocation;
  }
  blocks[*out] = bytes;
  take(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void *block) {
  const std::lock_guard<std::mutex> guard(counting);
  const auto at = blocks.find(block);
  if (block == nullptr)
    return cudaSuccess;
  if (at == blocks.end())
    return cudaErrorUnknown;
  if (at->second < mapped_bytes)
    free(block);
  else
    (void)munmap(block, at->second);
  taken -= at->second;
  blocks.erase(at);
  return cudaSuccess;
}
/* A handle is the number of its bytes; memory comes to addresses when they get access. */
CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t, CUdeviceptr,
                             unsigned long long) {
  void *const at =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *out = reinterpret_cast<CUdeviceptr>(at);
  return at != MAP_FAILED ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return munmap(reinterpret_cast<void *>(address), bytes) == 0 ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes, const CUmemAllocationProp *,
                     unsigned long long) {
  const std::lock_guard<std::mutex> guard(counting);
  if (bytes == 0 || bytes % page_bytes != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes > total_bytes() - taken)
    return CUDA_ERROR_OUT_OF_MEMORY;
  take(bytes);
  *out = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle) {
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle memory, unsigned long long) {
  return bytes == memory && offset == 0 && address % 4096 == 0 ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const std::lock_guard<std::mutex> guard(counting);
  taken -= bytes;
  return mprotect(reinterpret_cast<void *>(address), bytes, PROT_NONE) == 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *, size_t) {
  void *const at = reinterpret_cast<void *>(address);
  return map_poison(at, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *found) {
  const std::map<std::string, void *> all = {
      {"cuMemAddressReserve", reinterpret_cast<void *>(cuMemAddressReserve)},
      {"cuMemAddressFree", reinterpret_cast<void *>(cuMemAddressFree)},
      {"cuMemCreate", reinterpret_cast<void *>(cuMemCreate)},
      {"cuMemRelease", reinterpret_cast<void *>(cuMemRelease)},
      {"cuMemMap", reinterpret_cast<void *>(cuMemMap)},
      {"cuMemUnmap", reinterpret_cast<void *>(cuMemUnmap)},
      {"cuMemSetAccess", reinterpret_cast<void *>(cuMemSetAccess)}};
  const auto at = all.find(name);
  *out = at != all.end() ? at->second : nullptr;
  *found = at != all.end() ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned) {
  return posix_memalign(out, 512, bytes) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFreeHost(void *block) {
  free(block);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void *, size_t, unsigned) {
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void *) {
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *now_free, size_t *total) {
  const std::lock_guard<std::mutex> guard(counting);
  *total = total_bytes();
  *now_free = *total - taken;
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  if (bytes > 0)
    memmove(to, from, bytes);
  return cudaSuccess;
}
/* All host memory is taken for plain. */
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *) {
  attributes->type = cudaMemoryTypeUnregistered;
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t) {
  if (bytes > 0)
    memset(to, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(malloc(1));
  return *stream != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  free(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize(void) {
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
  *event = static_cast<cudaEvent_t>(calloc(1, sizeof **event));
  return *event != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  free(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->seconds = now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
  *milliseconds = (float)(1e3 * (to->seconds - from->seconds));
  return cudaSuccess;
}

} // extern "C"
