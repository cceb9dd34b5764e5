/* Faults on request: a library that tests/faults/faults*.sh preload into the program; never linked.
 *
 * AMPED_FAULT="ACTION CALL NAME N RANK" causes ACTION at call number N (from 0) of CALL on a rank
 * (-1: any). It counts calls on files whose path contains NAME, or messages of that tag ("-": any).
 *
 *   CALL    alloc      malloc, calloc or realloc called from the program itself, inside main
 *           library    the same, called from libraries whose name contains NAME ("libhdf5")
 *           read       read, pread           write   write, pwrite         sync   fsync
 *           lock       flock                 flush  fflush: once a line of --json
 *           rename     rename, renameat; NAME is in the old path or in the new one
 *           send       MPI_Isend             receive MPI_Irecv           reduce MPI_Allreduce
 *           solve      dpotrf_: once in every mode of every sweep
 *           init       MPI_Init_thread       finalize MPI_Finalize
 *   ACTION  ENOMEM     this one allocation fails
 *           ENOSPC EIO ENOLCK: this call and all later ones fail; of a write, half is written first
 *           KILL TERM INT USR1 STOP: the signal to this process
 *           PAUSE      the call waits until AMPED_FAULT_MARK is removed, half an hour at most
 *           SLOW       this call and all later ones, of a MiB or more, take half a second longer
 * AMPED_FAULT_MEMINFO=FILE: the program finds FILE where it opens /proc/meminfo, so that a test
 * says how much memory is free.
 *
 * AMPED_FAULT=clock: at each look the time of day jumps an hour, forwards or backwards.
 *
 * The file AMPED_FAULT_MARK is made when the fault happens. At its end the process appends a line
 * "fault RANK FIRED LIVE ABORTED CALLS" to AMPED_FAULT_REPORT. FIRED: did the fault happen? LIVE:
 * blocks of the program that were not freed. ABORTED: was MPI_Abort called? CALLS: the number of
 * calls of that kind. Allocations of forked children count, too; their other calls do not change.
 * Needs glibc. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_SEC 1800
#define JUMP_SEC 3600

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

/* AddressSanitizer's, in a program that has it: blocks must all be of one allocator. */
#pragma weak __interceptor_malloc
#pragma weak __interceptor_calloc
#pragma weak __interceptor_realloc
#pragma weak __interceptor_free
extern void *__interceptor_malloc(size_t);
extern void *__interceptor_calloc(size_t, size_t);
extern void *__interceptor_realloc(void *, size_t);
extern void __interceptor_free(void *);

static struct {
  bool on;
  bool clock;
  char action[16], call[16], name[64];
  long number;
  int rank, own_rank;
  pid_t process;
  uintptr_t begin, end; /* addresses of the program in memory */
  uintptr_t library_begin, library_end;
} fault;

/* Memory shared with forked children. */
static struct shared {
  _Atomic long calls;
  _Atomic int fired;
} * shared;
static _Atomic int aborted;

/* --- blocks of the program -------------------------------------------------------------------- */

#define TABLE 65536
static void *blocks[TABLE];
static long live;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t place_of(const void *block) {
  return (size_t)(((uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48) % TABLE;
}

static void note(void *block) {
  (void)pthread_mutex_lock(&lock);
  size_t i = place_of(block);
  for (size_t k = 0; k < TABLE && blocks[i] != NULL && blocks[i] != (void *)1; k++)
    i = (i + 1) % TABLE;
  blocks[i] = block;
  live++;
  (void)pthread_mutex_unlock(&lock);
}

static void forget(const void *block) {
  (void)pthread_mutex_lock(&lock);
  size_t i = place_of(block);
  for (size_t k = 0; k < TABLE && blocks[i] != NULL && blocks[i] != block; k++)
    i = (i + 1) % TABLE;
  if (blocks[i] == block) {
    blocks[i] = (void *)1;
    live--;
  }
  (void)pthread_mutex_unlock(&lock);
}

/* --- set-up and report ------------------------------------------------------------------------ */

static void take_addresses(const struct dl_phdr_info *info, uintptr_t *begin, uintptr_t *end) {
  *begin = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    uintptr_t first = info->dlpi_addr + p->p_vaddr;
    if (p->p_type != PT_LOAD)
      continue;
    *begin = first < *begin ? first : *begin;
    *end = first + p->p_memsz > *end ? first + p->p_memsz : *end;
  }
}

/* The program is the first object. */
static int find_objects(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size;
  (void)unused;
  if (fault.end == 0)
    take_addresses(info, &fault.begin, &fault.end);
  else if (strcmp(fault.call, "library") == 0 && fault.library_end == 0 &&
           strstr(info->dlpi_name, fault.name) != NULL)
    take_addresses(info, &fault.library_begin, &fault.library_end);
  return 0;
}

/* Faults happen inside main only. Before main CUDA registers its kernels, and after it gcov writes
 * its counts; neither survives a failed allocation. */
static int (*program_main)(int, char **, char **);
static bool in_main;

static int begin_main(int argc, char **argv, char **environment) {
  in_main = true;
  int status = program_main(argc, argv, environment);
  in_main = false;
  return status;
}

int __libc_start_main(int (*entry)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                      void *stack_end) {
  int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
               void (*)(void), void *) = NULL;
  *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  program_main = entry;
  return start(begin_main, argc, argv, init, fini, rtld_fini, stack_end);
}

__attribute__((constructor)) static void set_up(void) {
  const char *text = getenv("AMPED_FAULT");
  const char *own = getenv("OMPI_COMM_WORLD_RANK");
  fault.own_rank = own != NULL ? atoi(own) : 0;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (text == NULL || shared == MAP_FAILED)
    return;
  fault.process = getpid();
  fault.clock = strcmp(text, "clock") == 0;
  fault.on = sscanf(text, "%15s %15s %63s %ld %d", fault.action, fault.call, fault.name,
                    &fault.number, &fault.rank) == 5;
  (void)dl_iterate_phdr(find_objects, NULL);
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("AMPED_FAULT_REPORT");
  char line[96];
  int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
  if (fd < 0 || shared == NULL)
    return;
  int n = snprintf(line, sizeof line, "fault %d %d %ld %d %ld\n", fault.own_rank,
                   atomic_load(&shared->fired), live, atomic_load(&aborted),
                   atomic_load(&shared->calls));
  fault.on = false;
  (void)!write(fd, line, (size_t)n);
  (void)close(fd);
}

/* --- does it happen here? --------------------------------------------------------------------- */

static bool is_meant(const char *call, int fd) {
  char link[64];
  char path[512];
  if (fault.name[0] == '-' && fault.name[1] == '\0')
    return true;
  if (strcmp(call, "rename") == 0) /* is_renamed has told */
    return true;
  if (strcmp(call, "library") == 0) /* the caller's address has told */
    return true;
  if (strcmp(call, "send") == 0 || strcmp(call, "receive") == 0)
    return atoi(fault.name) == fd;
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  path[n > 0 ? n : 0] = '\0';
  return strstr(path, fault.name) != NULL;
}

static void mark(void) {
  const char *path = getenv("AMPED_FAULT_MARK");
  int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (fd >= 0)
    (void)close(fd);
}

static void wait_for_end(void) {
  const char *path = getenv("AMPED_FAULT_MARK");
  for (int i = 0; i < 10 * PAUSE_SEC && path != NULL && access(path, F_OK) == 0; i++)
    (void)usleep(100000);
}

/* True, with errno set, where the call has to fail. */
static bool strikes(const char *call, int fd_or_tag) {
  static const struct {
    const char *name;
    int number;
  } signals[] = {
      {"KILL", SIGKILL}, {"TERM", SIGTERM}, {"INT", SIGINT}, {"USR1", SIGUSR1}, {"STOP", SIGSTOP}};
  if (!fault.on || strcmp(call, fault.call) != 0 ||
      (getpid() != fault.process && strcmp(call, "alloc") != 0 && strcmp(call, "library") != 0) ||
      (fault.rank >= 0 && fault.rank != fault.own_rank) || !is_meant(call, fd_or_tag))
    return false;
  long n = atomic_fetch_add(&shared->calls, 1);
  bool stays = strcmp(fault.action, "ENOSPC") == 0 || strcmp(fault.action, "EIO") == 0 ||
               strcmp(fault.action, "ENOLCK") == 0;
  if (n < fault.number || (n > fault.number && !stays))
    return false;
  atomic_store(&shared->fired, 1);
  mark();
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    if (strcmp(fault.action, signals[i].name) == 0)
      (void)kill(getpid(), signals[i].number);
  if (strcmp(fault.action, "PAUSE") == 0)
    wait_for_end();
  errno = strcmp(fault.action, "ENOSPC") == 0   ? ENOSPC
          : strcmp(fault.action, "EIO") == 0    ? EIO
          : strcmp(fault.action, "ENOLCK") == 0 ? ENOLCK
                                                : ENOMEM;
  return stays || strcmp(fault.action, "ENOMEM") == 0;
}

/* --- the calls -------------------------------------------------------------------------------- */

static bool from_program(const void *caller) {
  return (uintptr_t)caller >= fault.begin && (uintptr_t)caller < fault.end;
}

static bool counts(const void *caller) {
  return in_main && from_program(caller);
}

/* Does an allocation by this caller, a library, have to fail? */
static bool fails_in_library(const void *caller) {
  return in_main && (uintptr_t)caller >= fault.library_begin &&
         (uintptr_t)caller < fault.library_end && strikes("library", -1);
}

static void *make(size_t bytes) {
  return __interceptor_malloc != NULL ? __interceptor_malloc(bytes) : __libc_malloc(bytes);
}

static void *make_zeros(size_t count, size_t size) {
  return __interceptor_calloc != NULL ? __interceptor_calloc(count, size)
                                      : __libc_calloc(count, size);
}

static void *make_again(void *old, size_t bytes) {
  return __interceptor_realloc != NULL ? __interceptor_realloc(old, bytes)
                                       : __libc_realloc(old, bytes);
}

void *malloc(size_t bytes) {
  if (!counts(__builtin_return_address(0)))
    return fails_in_library(__builtin_return_address(0)) ? NULL : make(bytes);
  void *block = strikes("alloc", -1) ? NULL : make(bytes);
  if (block != NULL)
    note(block);
  return block;
}

void *calloc(size_t count, size_t size) {
  if (!counts(__builtin_return_address(0)))
    return fails_in_library(__builtin_return_address(0)) ? NULL : make_zeros(count, size);
  void *block = strikes("alloc", -1) ? NULL : make_zeros(count, size);
  if (block != NULL)
    note(block);
  return block;
}

void *realloc(void *old, size_t bytes) {
  if (!counts(__builtin_return_address(0)))
    return fails_in_library(__builtin_return_address(0)) ? NULL : make_again(old, bytes);
  void *block = strikes("alloc", -1) ? NULL : make_again(old, bytes);
  if (block != NULL) {
    if (old != NULL)
      forget(old);
    note(block);
  }
  return block;
}

void free(void *block) {
  if (block != NULL && from_program(__builtin_return_address(0)))
    forget(block);
  if (__interceptor_free != NULL)
    __interceptor_free(block);
  else
    __libc_free(block);
}

/* The original function that this function replaces. */
#define NEXT(name) __typeof__(&name) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t read(int fd, void *buffer, size_t bytes) {
  NEXT(read);
  return strikes("read", fd) ? -1 : next(fd, buffer, bytes);
}

ssize_t pread(int fd, void *buffer, size_t bytes, off_t at) {
  NEXT(pread);
  return strikes("read", fd) ? -1 : next(fd, buffer, bytes, at);
}

ssize_t pread64(int fd, void *buffer, size_t bytes, off_t at) {
  NEXT(pread64);
  return strikes("read", fd) ? -1 : next(fd, buffer, bytes, at);
}

static void slow_down(size_t bytes) {
  if (fault.on && strcmp(fault.action, "SLOW") == 0 && bytes >= 1U << 20 &&
      (fault.rank < 0 || fault.rank == fault.own_rank))
    (void)usleep(2000000);
}

ssize_t write(int fd, const void *buffer, size_t bytes) {
  NEXT(write);
  slow_down(bytes);
  if (!strikes("write", fd))
    return next(fd, buffer, bytes);
  int error = errno;
  (void)!next(fd, buffer, bytes / 2);
  errno = error;
  return -1;
}

ssize_t pwrite(int fd, const void *buffer, size_t bytes, off_t at) {
  NEXT(pwrite);
  slow_down(bytes);
  if (!strikes("write", fd))
    return next(fd, buffer, bytes, at);
  int error = errno;
  (void)!next(fd, buffer, bytes / 2, at);
  errno = error;
  return -1;
}

ssize_t pwrite64(int fd, const void *buffer, size_t bytes, off_t at) {
  return pwrite(fd, buffer, bytes, at);
}

FILE *fopen(const char *path, const char *mode) {
  NEXT(fopen);
  const char *meminfo = getenv("AMPED_FAULT_MEMINFO");
  return next(meminfo != NULL && strcmp(path, "/proc/meminfo") == 0 ? meminfo : path, mode);
}

int fsync(int fd) {
  NEXT(fsync);
  return strikes("sync", fd) ? -1 : next(fd);
}

int fflush(FILE *file) {
  NEXT(fflush);
  return file != NULL && strikes("flush", fileno(file)) ? EOF : next(file);
}

static bool is_renamed(const char *from, const char *to) {
  return (fault.name[0] == '-' && fault.name[1] == '\0') || strstr(from, fault.name) != NULL ||
         strstr(to, fault.name) != NULL;
}

int rename(const char *from, const char *to) {
  NEXT(rename);
  return is_renamed(from, to) && strikes("rename", -1) ? -1 : next(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  NEXT(renameat);
  return is_renamed(from, to) && strikes("rename", -1) ? -1
                                                       : next(from_folder, from, to_folder, to);
}

int flock(int fd, int operation) {
  NEXT(flock);
  return strikes("lock", fd) ? -1 : next(fd, operation);
}

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info) {
  NEXT(dpotrf_);
  (void)strikes("solve", -1);
  next(uplo, n, a, lda, info);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm mpi,
              MPI_Request *request) {
  NEXT(MPI_Isend);
  (void)strikes("send", tag);
  return next(data, count, type, to, tag, mpi, request);
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm mpi,
              MPI_Request *request) {
  NEXT(MPI_Irecv);
  (void)strikes("receive", tag);
  return next(data, count, type, from, tag, mpi, request);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm mpi) {
  NEXT(MPI_Allreduce);
  (void)strikes("reduce", -1);
  return next(in, out, count, type, op, mpi);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  NEXT(MPI_Init_thread);
  (void)strikes("init", -1);
  return next(argc, argv, required, provided);
}

int MPI_Finalize(void) {
  NEXT(MPI_Finalize);
  (void)strikes("finalize", -1);
  return next();
}

int MPI_Abort(MPI_Comm mpi, int code) {
  NEXT(MPI_Abort);
  atomic_store(&aborted, 1);
  return next(mpi, code);
}

/* --- the clock -------------------------------------------------------------------------------- */

static time_t jump(void) {
  static _Atomic unsigned looks;
  return fault.clock ? (time_t)(atomic_fetch_add(&looks, 1) % 3) * JUMP_SEC - JUMP_SEC : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  NEXT(clock_gettime);
  int code = next(clock, now);
  if (clock == CLOCK_REALTIME)
    now->tv_sec += jump();
  return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  NEXT(gettimeofday);
  int code = next(now, zone);
  now->tv_sec += jump();
  return code;
}

time_t time(time_t *out) {
  NEXT(time);
  time_t now = next(NULL) + jump();
  if (out != NULL)
    *out = now;
  return now;
}
