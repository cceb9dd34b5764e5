/* Probe: the child that opens an untrusted HDF5 file, the parent that judges it, and the names that
 * passed. */
#include "hdf5/hdf5_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/timer.h"
#include "hdf5/hdf5_arrays.h"
#include "hdf5/hdf5_prober.h"

/* CPU time limits. Reading metadata takes milliseconds; in the worst valid files (smallest chunks),
 * less than a second per 256 MiB. Waiting for slow network file systems takes no CPU time. */
#define CPU_LIMIT_SEC 5
#define CPU_LIMIT_MOST_SEC 60
#define BYTES_PER_CPU_SEC (UINT64_C(1) << 28)
#define WALL_LIMIT_SEC 120
#define MEMORY_LIMIT_BYTES (UINT64_C(1) << 30)

/* Datasets up to this size are read whole in the child, so that damage is found there. */
#define SMALL_BYTES (UINT64_C(1) << 20)

/* More memory than opening an undamaged file needs: two of the largest chunks. */
#define ROOM_BYTES (UINT64_C(1) << 29)

#define REMEMBERED 64

/* Wait for the time stamp. Time stamps of files advance with the system's coarse clock, in ticks of
 * up to 10 ms. A file written in the current tick could be written again unnoticed, so the probe
 * waits for the next tick. */
#define STEP_NSEC 1000000
#define MOST_STEPS 20

/* Open file being probed. */
typedef struct subject {
  int fd;
  const char *path;
  amped_file_stamp stamp;
} subject;

/* --- in the child ---------------------------------------------------------------------------- */

/* Drop errors of our own checks: a later caller that opens the object reports them. */
static amped_status library_error(const amped_hdf5 *file, amped_status status) {
  if (status == AMPED_OK || file->library_failed)
    return status;
  amped_status_clear();
  return AMPED_OK;
}

static amped_status touch_text(amped_hdf5 *file, const char *group, const char *name) {
  bool exists = false;
  char *text = NULL;
  AMPED_TRY(library_error(file, amped_hdf5_has_attribute(file, group, name, &exists)));
  if (!exists)
    return AMPED_OK;
  amped_status status = library_error(file, amped_hdf5_get_text(file, group, name, &text));
  amped_free(text);
  return status;
}

static amped_status touch_numbers(amped_hdf5 *file, const char *group, const char *name) {
  bool exists = false;
  uint64_t numbers[AMPED_MAX_ORDER];
  double real = 0.0;
  AMPED_TRY(library_error(file, amped_hdf5_has_attribute(file, group, name, &exists)));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(library_error(file, amped_hdf5_get_double(file, group, name, &real)));
  for (uint64_t count = 1; count <= AMPED_MAX_ORDER; count++)
    AMPED_TRY(library_error(file, amped_hdf5_get_u64(file, group, name, count, numbers)));
  return AMPED_OK;
}

static amped_status read_small(amped_hdf5_dataset *d) {
  void *buffer = NULL;
  amped_hdf5_type type = d->type;
  /* The sizes were checked against the stored data when the dataset was opened. */
  uint64_t elements = d->dims[0] * d->dims[1];
  if (elements * 8 > SMALL_BYTES)
    return AMPED_OK;
  if (type.number == AMPED_FLOAT)
    type.bytes = AMPED_F64;
  AMPED_TRY(amped_alloc(&buffer, elements, 8, "a small dataset"));
  amped_status status = amped_hdf5_dataset_read(d, type, 0, d->dims[0], buffer);
  amped_free(buffer);
  return status;
}

static amped_status touch_dataset(amped_hdf5 *file, const char *name, int ndims) {
  amped_hdf5_dataset d;
  bool exists = false;
  AMPED_TRY(library_error(file, amped_hdf5_exists(file, name, &exists)));
  if (!exists)
    return AMPED_OK;
  amped_status status = amped_hdf5_dataset_open(file, name, ndims, &d);
  if (status == AMPED_OK)
    status = read_small(&d);
  amped_hdf5_dataset_close(&d);
  return library_error(file, status);
}

static amped_status touch_nonzeros(amped_hdf5 *file, const char *folder) {
  char name[AMPED_HDF5_NAME];
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    (void)snprintf(name, sizeof name, "%s/indices_%d", folder, m);
    AMPED_TRY(touch_dataset(file, name, 1));
  }
  (void)snprintf(name, sizeof name, "%s/values", folder);
  return touch_dataset(file, name, 1);
}

/* Read the labels of a mode. */
static amped_status touch_labels(amped_hdf5 *file, int m) {
  char folder[AMPED_HDF5_NAME / 2];
  char name[AMPED_HDF5_NAME];
  (void)snprintf(folder, sizeof folder, "/labels/mode_%d", m);
  AMPED_TRY(touch_text(file, folder, "name"));
  (void)snprintf(name, sizeof name, "%s/bytes", folder);
  AMPED_TRY(touch_dataset(file, name, 1));
  (void)snprintf(name, sizeof name, "%s/offsets", folder);
  return touch_dataset(file, name, 1);
}

/* Read a small array whole; of a large array, the first and the last cell. */
static amped_status read_cells(amped_hdf5_dataset *d) {
  uint64_t first[AMPED_MAX_ORDER];
  uint64_t count[AMPED_MAX_ORDER];
  void *buffer = NULL;
  amped_hdf5_type type = d->type;
  type.bytes = type.bytes > 8 ? AMPED_F64 : type.bytes;
  const uint64_t cells = d->rows * d->columns; /* bounded by the stored data */
  const bool small = cells <= SMALL_BYTES / 8;
  AMPED_TRY(amped_alloc(&buffer, small ? cells : 1, 8, "a small array"));
  for (int m = 0; m < d->ndims; m++) {
    first[m] = 0;
    count[m] = small ? d->dims[m] : 1;
  }
  amped_status status = amped_hdf5_array_read(d, type, first, count, buffer);
  for (int m = 0; m < d->ndims; m++)
    first[m] = d->dims[m] - 1;
  if (!small && status == AMPED_OK)
    status = amped_hdf5_array_read(d, type, first, count, buffer);
  amped_free(buffer);
  return status;
}

static amped_status touch_array(void *self, amped_hdf5 *file, const char *name, int ndims) {
  amped_hdf5_dataset d;
  amped_hdf5_convention convention;
  bool exists = false;
  (void)self;
  (void)ndims;
  amped_status status = amped_hdf5_array_open(file, name, &d);
  if (status == AMPED_OK)
    status = read_cells(&d);
  if (status == AMPED_OK)
    status = amped_hdf5_array_convention(&d, &convention);
  amped_hdf5_dataset_close(&d);
  AMPED_TRY(library_error(file, status));
  return library_error(file, amped_hdf5_has_attribute(file, name, "MATLAB_class", &exists));
}

/* A path, and the file that has it. */
typedef struct place {
  amped_hdf5 *file;
  const char *path;
  amped_status status;
} place;

static herr_t touch_attribute(hid_t id, const char *name, const H5A_info_t *info, void *self) {
  place *at = self;
  (void)id;
  (void)info;
  at->status = touch_text(at->file, at->path, name);
  if (at->status == AMPED_OK)
    at->status = touch_numbers(at->file, at->path, name);
  return at->status != AMPED_OK;
}

static amped_status touch_attributes(amped_hdf5 *file, const char *path) {
  place at = {.file = file, .path = path, .status = AMPED_OK};
  const herr_t done = H5Aiterate_by_name(file->id, path, H5_INDEX_NAME, H5_ITER_NATIVE, NULL,
                                         touch_attribute, &at, H5P_DEFAULT);
  AMPED_TRY(at.status);
  return done < 0 ? amped_hdf5_failed(file, "the attributes of", path) : AMPED_OK;
}

static amped_status touch_object(void *self, amped_hdf5 *file, const char *name, int ndims) {
  const char *last = strrchr(name, '/');
  if (strcmp(last, "/heavy_rows") == 0) /* files of earlier builds have it; nothing reads it */
    return AMPED_OK;
  AMPED_TRY(touch_attributes(file, name));
  const bool is_factor = ndims == 2 && strcmp(name, "/dense") != 0;
  if (ndims == 1 || is_factor)
    return touch_dataset(file, name, ndims);
  return ndims >= AMPED_MIN_ORDER && ndims <= AMPED_MAX_ORDER ? touch_array(self, file, name, ndims)
                                                              : AMPED_OK;
}

/* Open everything in a file of this program, and in a start for --init. In a file of others open
 * what is read there: nonzeros in binsparse's format and labels, or else arrays of any name. */
static amped_status touch_all(amped_hdf5 *file) {
  bool ours = false, weights = false, described = false;
  AMPED_TRY(library_error(file, amped_hdf5_has_attribute(file, "/", "amped_format", &ours)));
  AMPED_TRY(library_error(file, amped_hdf5_has_attribute(file, "/", "binsparse", &described)));
  AMPED_TRY(library_error(file, amped_hdf5_exists(file, "/weights", &weights)));
  AMPED_TRY(touch_text(file, "/", "binsparse"));
  if (ours || weights) {
    AMPED_TRY(touch_attributes(file, "/"));
    return library_error(file, amped_hdf5_objects(file, touch_object, NULL));
  }
  AMPED_TRY(touch_nonzeros(file, ""));
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    AMPED_TRY(touch_labels(file, m));
  return described ? AMPED_OK : library_error(file, amped_hdf5_arrays(file, touch_array, NULL));
}

typedef enum outcome {
  PASSED,
  REFUSED,   /* with the child's status and line */
  NO_MEMORY, /* the line says what HDF5 had no memory for */
  CRASHED,   /* the line says how */
  HUNG,
  UNPROBED /* no child could be started; status is errno */
} outcome;

/* Outcome of a child. Shorter than PIPE_BUF, so that one write sends it whole. */
typedef struct verdict {
  outcome outcome;
  int status;
  char line[1024];
} verdict;

static void limit(int resource, rlim_t value) {
  struct rlimit old;
  if (getrlimit((__rlimit_resource_t)resource, &old) != 0 || old.rlim_cur <= value)
    return;
  const struct rlimit fresh = {value, old.rlim_max};
  (void)setrlimit((__rlimit_resource_t)resource, &fresh);
}

/* Bytes of address space in use. Devices or sanitizers may have mapped far more than is
 * allocated. */
static uint64_t mapped_bytes(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL)
    return 0;
  if (fscanf(file, "%lu", &pages) != 1)
    pages = 0;
  (void)fclose(file);
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Set limits of the child and remove signal handlers of other libraries (MPI, sanitizers), which
 * would report an expected crash. */
static void confine(uint64_t file_bytes) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT,
                                SIGTERM, SIGINT, SIGHUP, SIGUSR1};
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    (void)signal(signals[i], SIG_DFL);
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0)
    (void)dup2(null, STDERR_FILENO);
  uint64_t mapped = mapped_bytes();
  if (mapped > 0)
    limit(RLIMIT_AS, mapped + MEMORY_LIMIT_BYTES);
  uint64_t sec = CPU_LIMIT_SEC + file_bytes / BYTES_PER_CPU_SEC;
  limit(RLIMIT_CPU, sec < CPU_LIMIT_MOST_SEC ? sec : CPU_LIMIT_MOST_SEC);
  limit(RLIMIT_CORE, 0);
}

static void child(const subject *s, int answers) {
  verdict v;
  amped_hdf5 file;
  memset(&v, 0, sizeof v);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a child has the parent's locks, and ends with it */
  confine(s->stamp.bytes);
  omp_set_num_threads(1); /* a fork does not copy the parent's threads */
  amped_status_clear();
  amped_status status = amped_hdf5_open_trusted(s->fd, s->path, &s->stamp, &file);
  if (status == AMPED_OK)
    status = touch_all(&file);
  v.outcome = status == AMPED_OK ? PASSED : file.no_memory ? NO_MEMORY : REFUSED;
  amped_hdf5_close(&file);
  v.status = (int)status;
  (void)snprintf(v.line, sizeof v.line, "%s", amped_status_message());
  ssize_t written = write(answers, &v, sizeof v);
  _exit(written == (ssize_t)sizeof v ? 0 : 1);
}

/* --- in the parent --------------------------------------------------------------------------- */

/* Wait for the child's verdict. Returns false if none comes: the child ended without one, or
 * *timed_out. */
static bool receive(int fd, verdict *v, bool *timed_out) {
  double deadline = amped_time() + WALL_LIMIT_SEC;
  *timed_out = false;
  for (;;) {
    struct pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
    double left = deadline - amped_time();
    int ready = left > 0.0 ? poll(&waiting, 1, (int)(left * 1e3) + 1) : 0;
    if (ready > 0)
      return read(fd, v, sizeof *v) == (ssize_t)sizeof *v;
    if (ready == 0) {
      *timed_out = true;
      return false;
    }
    if (errno != EINTR)
      return false;
  }
}

/* Verdict on a child that ended without sending one. */
static verdict died(bool timed_out, bool known, int how) {
  bool hung = timed_out || (known && WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU);
  verdict v = {.outcome = hung ? HUNG : CRASHED};
  (void)snprintf(v.line, sizeof v.line, "%s", hung ? "hangs" : "crashes");
  if (!hung && known && WIFSIGNALED(how))
    (void)snprintf(v.line, sizeof v.line, "crashes (signal %d)", WTERMSIG(how));
  return v;
}

static verdict probe_in_child(const subject *s) {
  int ends[2];
  verdict v = {.outcome = UNPROBED};
  bool timed_out = false;
  int how = 0;
  pid_t ended = 0;
  if (pipe2(ends, O_CLOEXEC) != 0) {
    v.status = errno;
    return v;
  }
  pid_t pid = fork();
  if (pid < 0) {
    v.status = errno;
    (void)close(ends[0]);
    (void)close(ends[1]);
    return v;
  }
  if (pid == 0)
    child(s, ends[1]);
  (void)close(ends[1]);
  bool told = receive(ends[0], &v, &timed_out);
  (void)close(ends[0]);
  if (timed_out)
    (void)kill(pid, SIGKILL);
  do
    ended = waitpid(pid, &how, 0);
  while (ended < 0 && errno == EINTR);
  if (!told)
    return died(timed_out, ended == pid, how);
  v.line[sizeof v.line - 1] = '\0';
  return v;
}

/* Record the child's line without the program's name, which amped_error adds. */
static amped_status repeat(const verdict *v) {
  return amped_error((amped_status)v->status, NULL, "%s", amped_status_bare(v->line));
}

static amped_status short_of_memory(const char *path, const verdict *v) {
  if (v->outcome == NO_MEMORY)
    return repeat(v);
  return amped_error(AMPED_FAILED, path,
                     "out of memory: opening it %s the HDF5 library; use a machine with more "
                     "memory, or allow more (ulimit -v)",
                     v->line);
}

/* Probe a second time after a failure. HDF5 without memory reports an error or crashes; the same
 * happens on damaged files, which may request any amount. A file counts as damaged if that happens
 * twice although memory is free. */
static amped_status look_again(const subject *s, const verdict *first, verdict *v) {
  *v = probe_in_child(s);
  bool again = v->outcome == NO_MEMORY || v->outcome == CRASHED;
  if (v->outcome == PASSED || (again && !amped_mem_has(ROOM_BYTES)))
    return short_of_memory(s->path, first);
  return AMPED_OK;
}

static amped_status probe_file(const subject *s) {
  const char *path = s->path;
  verdict v = probe_in_child(s);
  if (v.outcome == NO_MEMORY || v.outcome == CRASHED) {
    const verdict first = v;
    AMPED_TRY(look_again(s, &first, &v));
  }
  switch (v.outcome) {
  case PASSED:
    return AMPED_OK;
  case REFUSED:
    return repeat(&v);
  case NO_MEMORY:
    return amped_error(
        AMPED_BAD_INPUT, path,
        "opening it takes more memory than any valid file; the file is damaged, make it again");
  case UNPROBED:
    return amped_error_errno(AMPED_FAILED, v.status, path,
                             v.status == ENOMEM ? "out of memory: it cannot be probed"
                                                : "cannot be probed");
  case CRASHED:
  case HUNG:
    break;
  }
  return amped_error(AMPED_BAD_INPUT, path,
                     "opening it %s the HDF5 library; the file is damaged, make it again", v.line);
}

static amped_status probe_open(const subject *s) {
  amped_status status =
      amped_hdf5_prober_runs() ? amped_hdf5_prober_ask(s->path, &s->stamp) : probe_file(s);
  const amped_file_stamp now = amped_file_stamp_take(s->fd);
  return amped_file_stamp_same(&now, &s->stamp) ? status : amped_file_changed(s->path);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Files that passed the probe. A file with a name is remembered by that name; the others only save
 * a second probe. */
static struct {
  struct {
    char *path;
    amped_file_stamp stamp;
  } files[REMEMBERED];
  int count;
} passed;

static const amped_file_stamp *recall(const char *path) {
  for (int i = 0; i < passed.count; i++)
    if (passed.files[i].path != NULL && strcmp(passed.files[i].path, path) == 0)
      return &passed.files[i].stamp;
  return NULL;
}

static bool has_passed(const subject *s) {
  for (int i = 0; i < passed.count; i++)
    if (amped_file_stamp_equal(&passed.files[i].stamp, &s->stamp))
      return true;
  return false;
}

static void note(const subject *s, char *path) {
  if (passed.count == REMEMBERED)
    return;
  passed.files[passed.count].path = path;
  passed.files[passed.count++].stamp = s->stamp;
}

/* Remember a file by its name, until the process ends. */
static amped_status remember(const subject *s) {
  for (int i = 0; i < passed.count; i++)
    if (passed.files[i].path != NULL && strcmp(passed.files[i].path, s->path) == 0) {
      passed.files[i].stamp = s->stamp;
      return AMPED_OK;
    }
  char *path = strdup(s->path);
  if (path == NULL || passed.count == REMEMBERED) {
    free(path);
    return amped_error(AMPED_FAILED, s->path,
                       "out of memory: its name cannot be remembered; use a machine with more");
  }
  note(s, path);
  return AMPED_OK;
}

static bool is_settled(int fd) {
  const amped_file_stamp s = amped_file_stamp_take(fd);
  struct timespec now;
  return clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0 || now.tv_sec != s.sec ||
         now.tv_nsec > s.nsec;
}

/* Open the file, and wait until a later write would change its stamp. */
static amped_status open_subject(const char *path, subject *s) {
  static const struct timespec step = {0, STEP_NSEC};
  struct stat st;
  AMPED_TRY(amped_file_check_readable(path, NULL));
  *s = (subject){.fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), .path = path};
  if (s->fd < 0)
    return amped_error_errno(AMPED_BAD_INPUT, errno, path, "cannot be read; check its name");
  if (fstat(s->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    (void)close(s->fd);
    return amped_error(AMPED_BAD_INPUT, path, "is not a regular file; name an HDF5 file");
  }
  for (int i = 0; i < MOST_STEPS && !is_settled(s->fd); i++)
    (void)nanosleep(&step, NULL);
  s->stamp = amped_file_stamp_take(s->fd);
  return AMPED_OK;
}

/* Probe the file, unless it has passed already. */
static amped_status probe_once(const subject *s) {
  if (has_passed(s))
    return AMPED_OK;
  AMPED_TRY(probe_open(s));
  note(s, NULL);
  return AMPED_OK;
}

amped_status amped_hdf5_probe(const char *path) {
  subject s;
  AMPED_TRY(open_subject(path, &s));
  amped_status status = probe_open(&s);
  if (status == AMPED_OK)
    status = remember(&s);
  (void)close(s.fd);
  return status;
}

/* Probe a file in the prober's process. */
static amped_status probe_for_another(const char *path, amped_file_stamp *stamp) {
  subject s;
  AMPED_TRY(open_subject(path, &s));
  amped_status status = probe_open(&s);
  *stamp = s.stamp;
  (void)close(s.fd);
  return status;
}

static void probe_if_there(const char *path) {
  if (access(path, F_OK) == 0 && amped_hdf5_probe(path) != AMPED_OK)
    amped_status_clear();
}

void amped_hdf5_probe_with_previous(const char *path) {
  char *previous = NULL;
  probe_if_there(path);
  if (amped_file_previous(path, &previous) != AMPED_OK)
    amped_status_clear();
  else
    probe_if_there(previous);
  amped_free(previous);
}

amped_status amped_hdf5_probe_later(void) {
  return amped_hdf5_prober_start(probe_for_another);
}

amped_status amped_hdf5_open(const char *path, amped_hdf5 *out) {
  const amped_file_stamp *stamp = recall(path);
  subject s;
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  AMPED_TRY(open_subject(path, &s));
  if (stamp == NULL)
    status = probe_once(&s);
  else if (!amped_file_stamp_equal(stamp, &s.stamp))
    status = amped_file_changed(path);
  if (status == AMPED_OK)
    status = amped_hdf5_open_trusted(s.fd, path, &s.stamp, out);
  out->owns_fd = true;
  out->io.fd = s.fd;
  if (status != AMPED_OK)
    amped_hdf5_close(out);
  return status;
}
