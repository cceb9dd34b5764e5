#include "mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "types.h"

static _Atomic int64_t live_blocks;
static _Atomic int64_t fail_after = -1;

/* True where the test hook wants this allocation to fail. */
static int must_fail(void) {
  int64_t k = atomic_load(&fail_after);
  while (k >= 0)
    if (atomic_compare_exchange_weak(&fail_after, &k, k - 1))
      return k == 0;
  return 0;
}

static amped_status out_of_memory(uint64_t count, size_t size, const char *what) {
  return amped_error(AMPED_FAILED, NULL,
                     "out of memory: %" PRIu64 " x %zu bytes for %s; use more processes, fewer "
                     "components or a machine with more memory",
                     count, size, what);
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
  atomic_fetch_add(&live_blocks, 1);
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
  void *block = must_fail() ? NULL : realloc(old, bytes > 0 ? bytes : 1);
  if (block == NULL)
    return out_of_memory(count, size, what);
  memcpy(inout, &block, sizeof block);
  return AMPED_OK;
}

void amped_free(void *block) {
  if (block == NULL)
    return;
  atomic_fetch_sub(&live_blocks, 1);
  free(block);
}

amped_status amped_strdup(char **out, const char *s) {
  size_t bytes = strlen(s) + 1;
  AMPED_TRY(amped_alloc(out, bytes, 1, "a string"));
  memcpy(*out, s, bytes);
  return AMPED_OK;
}

int64_t amped_mem_live(void) {
  return atomic_load(&live_blocks);
}

void amped_mem_fail_at(int64_t k) {
  atomic_store(&fail_after, k);
}

/* The number in a one-number file ("max" and absence read as "no limit"). */
static uint64_t number_in(const char *path) {
  FILE *file = fopen(path, "re");
  uint64_t value = UINT64_MAX;
  if (file == NULL)
    return UINT64_MAX;
  if (fscanf(file, "%" SCNu64, &value) != 1)
    value = UINT64_MAX;
  (void)fclose(file);
  return value;
}

static uint64_t mem_available_of_system(void) {
  FILE *file = fopen("/proc/meminfo", "re");
  char line[256];
  uint64_t kib = 0;
  if (file == NULL)
    return 0;
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
      break;
  (void)fclose(file);
  return kib * 1024;
}

uint64_t amped_mem_available(void) {
  static const char *const groups[][2] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
       "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
  };
  uint64_t available = mem_available_of_system();
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
    uint64_t limit = number_in(groups[i][0]);
    uint64_t used = number_in(groups[i][1]);
    if (limit == UINT64_MAX || used == UINT64_MAX)
      continue;
    uint64_t left = limit > used ? limit - used : 0;
    if (available == 0 || left < available)
      available = left;
  }
  return available;
}
