/* Hostile cases in bulk. Cases have numbers; each case makes one bad file and reads it. Forked
 * workers divide the cases among them.
 *
 * The test fails, with the case's number, where a worker crashes, computes for more than
 * HOSTILE_CASE_SEC in one case, or tries to allocate more than HOSTILE_BYTES.
 * AMPED_HOSTILE_STRIDE=N in the environment takes every N-th case (1: all); this limits the time of
 * make check. */
#ifndef AMPED_TESTING_HOSTILE_H
#define AMPED_TESTING_HOSTILE_H

#include <omp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "tensor/labels.h"
#include "tests/lib/testing_hdf5.h"

/* Of processor time, as machines may be busy. A case that sleeps for ever ends with its test. */
#define HOSTILE_CASE_SEC 60
#define HOSTILE_BYTES (UINT64_C(3) << 30)
#define HOSTILE_WORKERS 2

typedef enum hostile_end { HOSTILE_REFUSED, HOSTILE_EXACT, HOSTILE_ABSENT } hostile_end;

/* Makes and reads the file of case `number`, in a worker. HOSTILE_ABSENT: there is no such case, or
 * this HDF5 library cannot make the file. Every other error is a failed assertion. */
typedef hostile_end (*hostile_case)(void *context, const char *path, uint64_t number);

typedef struct hostile_tally {
  uint64_t at[HOSTILE_WORKERS]; /* the current case of each worker */
  uint64_t counts[HOSTILE_WORKERS][3];
} hostile_tally;

/* The step from a case to the next that is run: `otherwise`, or AMPED_HOSTILE_STRIDE if the user
 * sets it. Under sanitizers a case takes four times as long, so the step is 2 * otherwise + 1. An
 * odd step meets every kind of damage. */
static inline uint64_t hostile_stride(uint64_t otherwise) {
#ifdef __SANITIZE_ADDRESS__
  otherwise = 2 * otherwise + 1;
#endif
  const char *text = getenv("AMPED_HOSTILE_STRIDE");
  uint64_t stride = text != NULL ? strtoull(text, NULL, 10) : otherwise;
  return stride > 0 ? stride : 1;
}

static inline void hostile_confine(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL)
    return;
  if (fscanf(file, "%lu", &pages) == 1) {
    rlim_t most = pages * (uint64_t)sysconf(_SC_PAGESIZE) + HOSTILE_BYTES;
    (void)setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
  }
  (void)fclose(file);
}

/* SIGPROF ends the worker after so many seconds of its processor time; 0: not any more. */
static inline void hostile_clock(long seconds) {
  const struct itimerval timer = {{0, 0}, {seconds, 0}};
  ck_assert_int_eq(setitimer(ITIMER_PROF, &timer, NULL), 0);
}

static inline void hostile_work(hostile_case run, void *context, uint64_t cases, uint64_t stride,
                                int worker, hostile_tally *tally) {
  const char *path = testing_path("hostile.h5");
  omp_set_num_threads(1); /* a fork does not copy the parent's threads */
  (void)signal(SIGALRM, SIG_DFL);
  hostile_confine();
  for (uint64_t i = (uint64_t)worker * stride; i < cases; i += HOSTILE_WORKERS * stride) {
    tally->at[worker] = i;
    hostile_clock(HOSTILE_CASE_SEC);
    hostile_end end = run(context, path, i);
    hostile_clock(0);
    tally->counts[worker][end]++;
    check_no_leak();
  }
  (void)remove(path);
}

/* Take all cases, or every stride-th; prints and returns the number of each outcome. */
static inline hostile_tally hostile_run(const char *what, hostile_case run, void *context,
                                        uint64_t cases, uint64_t stride) {
  hostile_tally *tally =
      mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert(tally != MAP_FAILED);
  pid_t pids[HOSTILE_WORKERS];
  for (int w = 0; w < HOSTILE_WORKERS; w++) {
    pids[w] = check_fork();
    if (pids[w] == 0) {
      hostile_work(run, context, cases, stride, w, tally);
      _exit(0);
    }
  }
  for (int w = 0; w < HOSTILE_WORKERS; w++) {
    int how = 0;
    ck_assert_int_eq(waitpid(pids[w], &how, 0), pids[w]);
    ck_assert_msg(!WIFSIGNALED(how), "%s: case %" PRIu64 " ends with signal %d", what, tally->at[w],
                  WTERMSIG(how));
    ck_assert_msg(WEXITSTATUS(how) == 0, "%s: case %" PRIu64 " fails", what, tally->at[w]);
  }
  hostile_tally sum = *tally;
  for (int w = 1; w < HOSTILE_WORKERS; w++)
    for (int e = 0; e < 3; e++)
      sum.counts[0][e] += sum.counts[w][e];
  (void)munmap(tally, sizeof *tally);
  (void)printf("%s: %" PRIu64 " refused, %" PRIu64 " exact, %" PRIu64 " cannot be made\n", what,
               sum.counts[0][HOSTILE_REFUSED], sum.counts[0][HOSTILE_EXACT],
               sum.counts[0][HOSTILE_ABSENT]);
  return sum;
}

/* Labels of two letters each; freed with amped_labels_free. */
static inline void give_labels(amped_labels *l, uint64_t count) {
  l->count = count;
  check_ok(amped_strdup(&l->name, "words"));
  check_ok(amped_alloc(&l->bytes, 2 * count, 1, "labels"));
  check_ok(amped_alloc(&l->offsets, count + 1, sizeof *l->offsets, "labels"));
  for (uint64_t i = 0; i <= count; i++)
    l->offsets[i] = 2 * i;
  for (uint64_t i = 0; i < 2 * count; i++)
    l->bytes[i] = (char)('a' + i % 26);
}

#endif
