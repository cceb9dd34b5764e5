/* Large memory of CPU cores: aligned allocation on large pages. */
#include "base/huge_pages.h"

#include <string.h>
#include <sys/mman.h>

#include "base/types.h"

#define LINE UINT64_C(64)
#define PAGE (UINT64_C(2) << 20)

/* Memory of at least this many bytes is rounded up to whole large pages. */
#define LARGE (PAGE / 4)

/* Stored before the data: address of the block that contains it. */
typedef struct origin {
  void *block;
} origin;

static uint64_t bound_of(uint64_t bytes) {
  return bytes >= LARGE ? PAGE : LINE;
}

/* Bytes of the data; whole large pages, if there are at least LARGE. */
static uint64_t data_bytes(uint64_t bytes) {
  return bytes >= LARGE ? amped_ceil_div(bytes, PAGE) * PAGE : bytes;
}

uint64_t amped_huge_pages_bytes(uint64_t bytes) {
  return bytes > 0 ? data_bytes(bytes) + sizeof(origin) + bound_of(bytes) : 0;
}

amped_status amped_huge_pages_alloc(void *out, uint64_t count, uint64_t size, const char *what) {
  uint64_t bytes = 0;
  char *block = NULL;
  char *data = NULL;
  memcpy(out, &data, sizeof data);
  if (!amped_mul(count, size, &bytes) || bytes > UINT64_MAX - 2 * PAGE)
    return amped_alloc(out, count, size, what); /* fails, and reports the size */
  if (bytes == 0)
    return AMPED_OK;
  const uint64_t bound = bound_of(bytes);
  AMPED_TRY(amped_alloc(&block, amped_huge_pages_bytes(bytes), 1, what));
  data = block + sizeof(origin);
  data += (bound - (uintptr_t)data % bound) % bound;
  ((origin *)data)[-1] = (origin){block};
  if (bound == PAGE)
    (void)madvise(data, data_bytes(bytes), MADV_HUGEPAGE); /* advice, which the system may ignore */
  memcpy(out, &data, sizeof data);
  return AMPED_OK;
}

amped_status amped_huge_pages_calloc(void *out, uint64_t count, uint64_t size, int threads,
                                     const char *what) {
  char *data = NULL;
  AMPED_TRY(amped_huge_pages_alloc(out, count, size, what));
  memcpy(&data, out, sizeof data);
  uint64_t bytes = count * size;
  uint64_t pages = amped_ceil_div(bytes, PAGE);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (uint64_t p = 0; p < pages; p++) {
    uint64_t first = p * PAGE;
    memset(data + first, 0, bytes - first < PAGE ? bytes - first : PAGE);
  }
  return AMPED_OK;
}

void amped_huge_pages_free(void *data) {
  if (data != NULL)
    amped_free(((origin *)data)[-1].block);
}
