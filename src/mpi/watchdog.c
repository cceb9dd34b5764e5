/* The watchdog's thread: looks for steps of the node's ranks, and ends the job if there are
 * none. */
#include "mpi/watchdog.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/heartbeat.h"
#include "base/launcher.h"
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"

/* Looks within the allowed seconds without a step, and the most seconds between two looks. */
#define LOOKS 8
#define LOOK_SEC 1.0

/* A node whose ranks all arrived waits NODE_SEC x (1 + the node's number) seconds before it
 * reports. So nodes with missing ranks report first, then the other nodes in order. */
#define NODE_SEC 2.0

/* RANK_SEC: seconds by which a rank reports later than the rank before it, while ranks cannot agree
 * on one report. MOST_RANK_SEC: most seconds of this delay. */
#define RANK_SEC 3.0
#define MOST_RANK_SEC 15.0

/* Seconds after which the process ends if MPI_Abort itself hangs. */
#define ABORT_SEC 20

/* Most missing ranks that the line names. */
#define NAMED 8

typedef struct shared_heartbeat {
  _Atomic int spoken; /* on the node's first rank: a rank reports and ends the job */
  int rank;
  amped_heartbeat heartbeat;
} shared_heartbeat;

/* Stages of a run, by the processes that the thread watches. */
typedef enum stage {
  STARTING, /* this process only: others may not have reached MPI's start */
  RUNNING,  /* the ranks of the node */
  ENDING    /* this process only: others may not reach MPI's end */
} stage;

struct amped_watchdog {
  const amped_comm *comm; /* NULL before watch */
  double seconds;
  stage stage; /* protected by the lock */
  int rank;    /* MPI's rank; before watch, the launcher's; -1: unknown */
  int place;   /* number of the node among all nodes */
  MPI_Win window;
  shared_heartbeat **node; /* [local_size] heartbeats of all ranks of the node */
  shared_heartbeat *own;
  uint64_t *beats; /* [local_size] beats of each rank at the last look that found a new step */
  uint64_t steps;  /* steps of all ranks at that time */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool stop; /* protected by the lock, as all members above while the thread runs */
};

/* Describe a rank's phase, such as "mttkrp (mode 1)". Modes are counted from 1 for users, from 0 in
 * traces. */
static const char *describe(char *text, size_t size, const amped_heartbeat *p) {
  int phase = atomic_load(&p->phase);
  int number = atomic_load(&p->number);
  if (phase < 0 || phase >= AMPED_PHASES)
    (void)snprintf(text, size, "between phases");
  else if (number < 0)
    (void)snprintf(text, size, "%s", amped_phase_name((amped_phase)phase));
  else {
    const char *kind = amped_phase_number((amped_phase)phase);
    (void)snprintf(text, size, "%s (%s %d)", amped_phase_name((amped_phase)phase), kind,
                   strcmp(kind, "mode") == 0 ? number + 1 : number);
  }
  return text;
}

/* Writes "; rank 1 does not answer (stopped or dead), last in read; rank 3 is still in read".
 * Returns the number of ranks that did not arrive; the text names at most NAMED of them. */
static int list_missing(const amped_watchdog *w, char *text, size_t size) {
  char phase[64];
  size_t used = 0;
  int missing = 0;
  text[0] = '\0';
  for (int i = 0; i < w->comm->local_size; i++) {
    const shared_heartbeat *s = w->node[i];
    bool stopped = s != w->own && atomic_load(&s->heartbeat.beats) <= w->beats[i] + 1;
    if (!stopped && atomic_load(&s->heartbeat.waits))
      continue;
    describe(phase, sizeof phase, &s->heartbeat);
    if (missing++ < NAMED && used < size)
      used += (size_t)snprintf(text + used, size - used,
                               stopped ? "; rank %d does not answer (stopped or dead), last in %s"
                                       : "; rank %d is still in %s",
                               s->rank, phase);
  }
  if (missing > NAMED && used < size)
    (void)snprintf(text + used, size - used, "; and %d more", missing - NAMED);
  return missing;
}

/* End the job; its error is recorded already. */
static void end_now(const amped_watchdog *w) {
  (void)signal(SIGALRM, SIG_DFL);
  (void)alarm(ABORT_SEC);
  if (w->comm != NULL)
    amped_comm_abort(w->comm, AMPED_FAILED);
  amped_status_report();
  _exit(AMPED_FAILED); /* MPI has not started, or has ended; the launcher ends the other ranks */
}

/* Print an error that waits for the agreement of all ranks: it would hide the watchdog's. */
static void tell_earlier_error(void) {
  amped_status_report();
  amped_status_clear();
}

static void end_running(const amped_watchdog *w, const char *missing) {
  char phase[64];
  const char *all = w->comm->nodes > 1
                        ? "; all ranks of this node arrived, those of other nodes did not"
                        : "; all ranks wait for messages that do not come: check the network";
  tell_earlier_error();
  (void)amped_error(AMPED_FAILED, NULL,
                    "rank %d: nothing happened for %g s in %s%s; look at these processes, or raise "
                    "--hang-timeout if they were only slow",
                    w->own->rank, w->seconds, describe(phase, sizeof phase, &w->own->heartbeat),
                    missing[0] != '\0' ? missing : all);
  end_now(w);
}

/* End this process while MPI starts or ends: no rank can know here which rank is missing. */
static void end_alone(const amped_watchdog *w) {
  tell_earlier_error();
  (void)amped_error(
      AMPED_FAILED, NULL,
      "rank %d: nothing happened for %g s while MPI %s: a rank does not answer (stopped or dead); "
      "look at the ranks' processes, or raise --hang-timeout if they were only slow%s",
      w->rank > 0 ? w->rank : 0, w->seconds, w->stage == STARTING ? "started" : "ended",
      w->stage == STARTING ? "" : "; the files that it wrote are complete");
  end_now(w);
}

/* --- watching --------------------------------------------------------------------------------- */

/* Did any rank of the node make a step since the last look? */
static bool is_alive(amped_watchdog *w) {
  uint64_t steps = 0;
  for (int i = 0; i < w->comm->local_size; i++)
    steps += atomic_load(&w->node[i]->heartbeat.steps);
  if (steps == w->steps)
    return false;
  w->steps = steps;
  for (int i = 0; i < w->comm->local_size; i++)
    w->beats[i] = atomic_load(&w->node[i]->heartbeat.beats);
  return true;
}

static void look_at_node(amped_watchdog *w, double still_sec) {
  char missing[1024];
  if (still_sec < w->seconds || !atomic_load(&w->own->heartbeat.waits))
    return;
  if (list_missing(w, missing, sizeof missing) == 0 &&
      still_sec < w->seconds + NODE_SEC * (1 + w->place))
    return;
  if (atomic_exchange(&w->node[0]->spoken, 1) == 0)
    end_running(w, missing);
}

static void look_alone(const amped_watchdog *w, double still_sec) {
  double later = w->rank > 0 ? RANK_SEC * w->rank : 0.0;
  if (still_sec >= w->seconds + (later < MOST_RANK_SEC ? later : MOST_RANK_SEC))
    end_alone(w);
}

/* Wait until the next look, under the lock. Returns false if the watchdog stops. */
static bool wait_for_look(amped_watchdog *w, double sec) {
  struct timespec until;
  (void)clock_gettime(CLOCK_MONOTONIC, &until);
  long nsec = until.tv_nsec + (long)(1e9 * sec);
  until.tv_sec += nsec / 1000000000;
  until.tv_nsec = nsec % 1000000000;
  while (!w->stop && pthread_cond_timedwait(&w->changed, &w->lock, &until) == 0)
    ;
  return !w->stop;
}

/* The thread. It holds the lock except while it waits, so that nothing changes while it looks. */
static void *watch(void *argument) {
  amped_watchdog *w = argument;
  double every = w->seconds / LOOKS < LOOK_SEC ? w->seconds / LOOKS : LOOK_SEC;
  double still = 0.0;
  double before = amped_time();
  stage last = STARTING;
  (void)pthread_mutex_lock(&w->lock);
  while (wait_for_look(w, every)) {
    double now = amped_time();
    double passed =
        now - before < 2.0 * every ? now - before : 2.0 * every; /* the process was stopped */
    before = now;
    bool alive = w->stage != last;
    last = w->stage;
    if (w->stage == RUNNING) {
      (void)atomic_fetch_add(&w->own->heartbeat.beats, 1);
      alive = is_alive(w) || alive;
    }
    still = alive ? 0.0 : still + passed;
    if (w->stage == RUNNING)
      look_at_node(w, still);
    else
      look_alone(w, still);
  }
  (void)pthread_mutex_unlock(&w->lock);
  return NULL;
}

/* --- start and stop --------------------------------------------------------------------------- */

static amped_status start_thread(amped_watchdog *w) {
  pthread_condattr_t attributes;
  (void)pthread_mutex_init(&w->lock, NULL);
  (void)pthread_condattr_init(&attributes);
  (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&w->changed, &attributes);
  (void)pthread_condattr_destroy(&attributes);
  int failed = pthread_create(&w->thread, NULL, watch, w);
  if (failed == 0)
    return AMPED_OK;
  (void)pthread_cond_destroy(&w->changed);
  (void)pthread_mutex_destroy(&w->lock);
  return amped_error_errno(AMPED_FAILED, failed, NULL, "no thread for --hang-timeout");
}

amped_status amped_watchdog_start(double seconds, amped_watchdog **out) {
  amped_watchdog *w = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&w, 1, sizeof *w, "the watchdog"));
  w->seconds = seconds;
  w->rank = amped_launcher_rank();
  w->window = MPI_WIN_NULL;
  amped_status status = start_thread(w);
  if (status == AMPED_OK)
    *out = w;
  else
    amped_free(w);
  return status;
}

static amped_status allocate(amped_watchdog *w, const amped_comm *comm) {
  uint64_t ranks = (uint64_t)comm->local_size;
  static const char what[] = "the watchdog";
  AMPED_TRY(amped_calloc(&w->node, ranks, sizeof(shared_heartbeat *), what));
  return amped_calloc(&w->beats, ranks, sizeof *w->beats, what);
}

static void share_memory(amped_watchdog *w, const amped_comm *comm) {
  MPI_Aint size = 0;
  int unit = 0;
  AMPED_MPI(comm, MPI_Win_allocate_shared((MPI_Aint)sizeof *w->own, 1, MPI_INFO_NULL, comm->node,
                                          &w->own, &w->window));
  memset(w->own, 0, sizeof *w->own);
  w->own->rank = comm->rank;
  for (int i = 0; i < comm->local_size; i++)
    AMPED_MPI(comm, MPI_Win_shared_query(w->window, i, &size, &unit, &w->node[i]));
  /* Nodes are numbered by their first ranks. */
  if (comm->local_rank == 0)
    AMPED_MPI(comm, MPI_Comm_rank(comm->rail, &w->place));
  AMPED_MPI(comm, MPI_Bcast(&w->place, 1, MPI_INT, 0, comm->node));
  AMPED_MPI(comm, MPI_Barrier(comm->mpi));
}

static void enter(amped_watchdog *w, stage next, const amped_comm *comm) {
  (void)pthread_mutex_lock(&w->lock);
  w->stage = next;
  w->comm = comm;
  if (comm != NULL)
    w->rank = comm->rank;
  (void)pthread_mutex_unlock(&w->lock);
}

amped_status amped_watchdog_watch(amped_watchdog *w, const amped_comm *comm) {
  AMPED_TRY(amped_comm_agree(comm, allocate(w, comm)));
  share_memory(w, comm);
  amped_heartbeat_show(&w->own->heartbeat);
  enter(w, RUNNING, comm);
  return AMPED_OK;
}

void amped_watchdog_leave(amped_watchdog *w) {
  if (w == NULL)
    return;
  if (w->comm != NULL)
    AMPED_MPI(w->comm, MPI_Barrier(w->comm->mpi));
  amped_heartbeat_show(NULL);
  enter(w, ENDING, NULL);
  if (w->window != MPI_WIN_NULL)
    (void)MPI_Win_free(&w->window);
}

void amped_watchdog_stop(amped_watchdog *w) {
  if (w == NULL)
    return;
  (void)pthread_mutex_lock(&w->lock);
  w->stop = true;
  (void)pthread_cond_broadcast(&w->changed);
  (void)pthread_mutex_unlock(&w->lock);
  (void)pthread_join(w->thread, NULL);
  (void)pthread_cond_destroy(&w->changed);
  (void)pthread_mutex_destroy(&w->lock);
  amped_free(w->node);
  amped_free(w->beats);
  amped_free(w);
}
