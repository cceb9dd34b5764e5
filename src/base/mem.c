/* Host memory: allocation, the counts of live blocks and bytes, and the test hook. */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/types.h"

static _Atomic int64_t live_blocks;
static struct { _Atomic int64_t bytes, peak; } counts[AMPED_MEM_KINDS];
static _Atomic int64_t fail_after = -1;

/* Does the test hook make this allocation fail? */
static int must_fail(void) {
  int64_t k = atomic_load(&fail_after);
  while (k >= 0)
    if (atomic_compare_exchange_weak(&fail_after, &k, k - 1))
      return k == 0;
  return 0;
}

static amped_status out_of_memory(uint64_t count, size_t size, const char *what) {
  return amped_error(AMPED_FAILED, NULL,
                     "out of memory: %" PRIu64 " x %zu bytes for %s; use a machine with "
                     "more memory, for cpd more ranks or fewer components, or for convert less "
                     "--memory",
                     count, size, what);
}

/* Least bytes of a block that asks for large pages, which are touched and given back faster. The
 * system may decline. */
#define LARGE_BYTES (UINT64_C(64) << 20)

/* Advises all pages of the block: a mapping with advice on a part becomes two, which realloc cannot
 * move. */
static void advise(void *block, uint64_t bytes) {
  const uint64_t skipped = (uintptr_t)block % (uint64_t)sysconf(_SC_PAGESIZE);
  if (bytes >= LARGE_BYTES)
    (void)madvise((char *)block - skipped, bytes + skipped, MADV_HUGEPAGE);
}

void amped_mem_count(amped_mem_kind kind, int64_t bytes) {
  const int64_t now = atomic_fetch_add(&counts[kind].bytes, bytes) + bytes;
  int64_t peak = atomic_load(&counts[kind].peak);
  while (now > peak && !atomic_compare_exchange_weak(&counts[kind].peak, &peak, now))
    continue;
}

/* Bytes of a block as the C library rounds them; 0 if it is not GNU's. */
static int64_t bytes_of(void *block) {
#ifdef __GLIBC__
  return (int64_t)malloc_usable_size(block);
#else
  (void)block;
  return 0;
#endif
}

static amped_status allocate(void *out, uint64_t count, size_t size, const char *what, int zero) {
  uint64_t bytes = 0;
  void *block = NULL;
  memcpy(out, &block, sizeof block);
  if (!amped_mul(count, size, &bytes) || bytes > PTRDIFF_MAX)
    return out_of_memory(count, size, what);
  if (bytes == 0)
    return AMPED_OK;
  if (!must_fail())
    block = zero ? calloc(1, bytes) : malloc(bytes);
  if (block == NULL)
    return out_of_memory(count, size, what);
  advise(block, bytes);
  atomic_fetch_add(&live_blocks, 1);
  amped_mem_count(AMPED_MEM_HOST, bytes_of(block));
  memcpy(out, &block, sizeof block);
  return AMPED_OK;
}

amped_status amped_alloc(void *out, uint64_t count, size_t size, const char *what) {
  return allocate(out, count, size, what, 0);
}

amped_status amped_calloc(void *out, uint64_t count, size_t size, const char *what) {
  return allocate(out, count, size, what, 1);
}

amped_status amped_realloc(void *inout, uint64_t count, size_t size, const char *what) {
  uint64_t bytes = 0;
  void *old = NULL;
  memcpy(&old, inout, sizeof old);
  if (old == NULL)
    return amped_alloc(inout, count, size, what);
  if (!amped_mul(count, size, &bytes) || bytes > PTRDIFF_MAX)
    return out_of_memory(count, size, what);
  const int64_t before = bytes_of(old);
  void *block = must_fail() ? NULL : realloc(old, bytes > 0 ? bytes : 1);
  if (block == NULL)
    return out_of_memory(count, size, what);
  amped_mem_count(AMPED_MEM_HOST, bytes_of(block) - before);
  advise(block, bytes);
  memcpy(inout, &block, sizeof block);
  return AMPED_OK;
}

void amped_free(void *block) {
  if (block == NULL)
    return;
  atomic_fetch_sub(&live_blocks, 1);
  amped_mem_count(AMPED_MEM_HOST, -bytes_of(block));
  free(block);
}

/* Bytes that a thread copies at a time. */
#define COPIED_BYTES (UINT64_C(64) << 10)

void amped_mem_copy(void *to, const void *from, uint64_t bytes) {
#pragma omp parallel for schedule(static)
  for (uint64_t at = 0; at < bytes; at += COPIED_BYTES)
    memcpy((char *)to + at, (const char *)from + at,
           bytes - at < COPIED_BYTES ? bytes - at : COPIED_BYTES);
}

amped_status amped_strdup(char **out, const char *s) {
  size_t bytes = strlen(s) + 1;
  AMPED_TRY(amped_alloc(out, bytes, 1, "a string"));
  memcpy(*out, s, bytes);
  return AMPED_OK;
}

bool amped_mem_has(uint64_t bytes) {
  void *volatile block = must_fail() ? NULL : malloc(bytes); /* compilers might remove the calls */
  bool has = block != NULL;
  free(block);
  return has;
}

/* The library takes larger blocks from the system one by one, whatever its settings. */
#define KEPT_BLOCK_BYTES (32 << 20)
#define KEPT_BYTES (512 << 20)

void amped_mem_keep(void) {
#ifdef __GLIBC__
  (void)mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES);
  (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
#endif
}

int64_t amped_mem_live(void) {
  return atomic_load(&live_blocks);
}

int64_t amped_mem_bytes(amped_mem_kind kind) {
  return atomic_load(&counts[kind].bytes);
}

int64_t amped_mem_peak(amped_mem_kind kind) {
  return atomic_load(&counts[kind].peak);
}

void amped_mem_fail_at(int64_t k) {
  atomic_store(&fail_after, k);
}
