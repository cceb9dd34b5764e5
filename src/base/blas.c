/* BLAS: the check of address space before OpenBLAS is loaded, and its threads and kernels. */
#include "base/blas.h"

#include <stdbool.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/system_memory.h"

#ifdef HAVE_OPENBLAS_SET_NUM_THREADS
#define THREAD_BYTES (UINT64_C(128) << 20)

/* Memory of one thread: a stack of usually 8 MiB, and an arena of the C library. */
#define ARENA_BYTES (UINT64_C(72) << 20)

extern void openblas_set_num_threads(int count);

/* Bytes needed to load OpenBLAS: the first thread's memory, and memory of other libraries. */
#define LOAD_BYTES (THREAD_BYTES + (UINT64_C(16) << 20))

/* Code that runs before the C library, sanitizers and OpenBLAS have started: it only makes system
 * calls, and uses the environment passed to it. */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

EARLY static bool is_limited(int resource) {
  struct rlimit limit;
  return getrlimit((__rlimit_resource_t)resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

EARLY static void *map(uint64_t bytes) {
  void *room =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return room == MAP_FAILED ? NULL : room;
}

EARLY static bool starts_with(const char *text, const char *prefix, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (text[i] != prefix[i])
      return false;
  return true;
}

/* Starts this program once more with this setting. Returns if the start fails. */
EARLY static void restart(char **argv, char **environment, char *setting, size_t name_length) {
  size_t count = 0;
  while (environment[count] != NULL)
    count++;
  char **changed = map((count + 2) * sizeof *changed);
  if (changed == NULL)
    return;
  size_t n = 0;
  for (size_t i = 0; i < count; i++)
    if (!starts_with(environment[i], setting, name_length))
      changed[n++] = environment[i];
  changed[n++] = setting;
  changed[n] = NULL;
  (void)execve("/proc/self/exe", argv, changed);
}

EARLY static void before_openblas(int argc, char **argv, char **environment) {
  static char one_thread[] = "OPENBLAS_NUM_THREADS=1";
  static const char no_room[] =
      "amped_mpi: BLAS needs 144 MiB of address space and the limit of this process leaves less; "
      "raise it (ulimit -v, ulimit -d)\n";
  bool told = false;
  (void)argc;
  if (!is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA))
    return;
  for (char **e = environment; *e != NULL; e++)
    told = told || starts_with(*e, one_thread, sizeof one_thread);
  if (!told)
    restart(argv, environment, one_thread, sizeof one_thread - sizeof "1");
  void *room = map(LOAD_BYTES);
  if (room == NULL) {
    (void)!write(STDERR_FILENO, no_room, sizeof no_room - 1);
    _exit(AMPED_FAILED);
  }
  (void)munmap(room, LOAD_BYTES);
}

/* The loader calls this function before the initialisers of all libraries. */
__attribute__((section(".preinit_array"),
               used)) static void (*const first)(int, char **, char **) = before_openblas;

void amped_blas_one_thread(void) {
  openblas_set_num_threads(1);
}
#else
#define THREAD_BYTES UINT64_C(0)
#define ARENA_BYTES UINT64_C(0)

void amped_blas_one_thread(void) {
}
#endif

#if defined HAVE_OPENBLAS_GET_CORENAME && defined __x86_64__
extern char *openblas_get_corename(void);

/* Is this the name of a kernel set without AVX? */
static bool is_old(const char *name) {
  static const char *const old[] = {"Generic",      "Prescott",  "Core2", "Penryn", "Dunnington",
                                    "Nehalem",      "Atom",      "Nano",  "Athlon", "Opteron",
                                    "Opteron_SSE3", "Barcelona", "Bobcat"};
  for (size_t i = 0; i < sizeof old / sizeof old[0]; i++)
    if (strcasecmp(name, old[i]) == 0)
      return true;
  return false;
}

void amped_blas_warn_of_kernels(void) {
  const char *name = openblas_get_corename();
  if (name != NULL && is_old(name) && __builtin_cpu_supports("avx2") != 0)
    amped_warn("OpenBLAS computes with kernels of an old processor (%s), which is slow; set "
               "OPENBLAS_CORETYPE=%s, or install a newer OpenBLAS",
               name, __builtin_cpu_supports("avx512bw") != 0 ? "SkylakeX" : "Haswell");
}
#else
void amped_blas_warn_of_kernels(void) {
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
