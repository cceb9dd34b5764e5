#include "base/blas.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/system_memory.h"

#ifdef HAVE_OPENBLAS_SET_NUM_THREADS
#define THREAD_BYTES (UINT64_C(128) << 20)

/* Memory of one thread: a stack of usually 8 MiB, and an arena of the C library. */
#define ARENA_BYTES (UINT64_C(72) << 20)

extern void openblas_set_num_threads(int count);

static bool is_limited(int resource) {
  struct rlimit limit;
  return getrlimit((__rlimit_resource_t)resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void amped_blas_before_all(char **argv) {
  static const char variable[] = "OPENBLAS_NUM_THREADS";
  const char *threads = getenv(variable);
  if ((!is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA)) ||
      (threads != NULL && strcmp(threads, "1") == 0))
    return;
  if (setenv(variable, "1", 1) == 0)
    (void)execv("/proc/self/exe", argv);
}

void amped_blas_one_thread(void) {
  openblas_set_num_threads(1);
}
#else
#define THREAD_BYTES UINT64_C(0)
#define ARENA_BYTES UINT64_C(0)

void amped_blas_before_all(char **argv) {
  (void)argv;
}

void amped_blas_one_thread(void) {
}
#endif

uint64_t amped_blas_bytes(int threads) {
  return (uint64_t)threads * (THREAD_BYTES + ARENA_BYTES);
}

amped_status amped_blas_check_room(void) {
  uint64_t left = amped_mem_limit_left();
  char need[32];
  char have[32];
  if (THREAD_BYTES <= left)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, NULL,
                     "BLAS needs %s of address space and the limit of this process leaves %s; "
                     "raise it (ulimit -v, ulimit -d)",
                     amped_format_bytes(need, THREAD_BYTES), amped_format_bytes(have, left));
}
