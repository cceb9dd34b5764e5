/* Starts and ends MPI, agrees on statuses, and wraps the reductions of the program. */
#include "mpi/comm.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(AMPED_HAVE_MPI_EXT)
#include <mpi-ext.h>
#endif

#include "base/draft.h"
#include "base/file_lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"

/* Most bytes of one message, far below the limit of MPI's int counts. */
#define MESSAGE_BYTES (UINT64_C(1) << 30)

/* Least bytes of a part that travels in two pieces: on any link, half of it takes longer than a
 * message's latency. */
#define PIECE_BYTES (UINT64_C(1) << 20)

/* A ring of n ranks takes n - 1 steps, the best all-gather log2(n). Up to this number the
 * difference is small. */
#define RING_RANKS 8

/* The variable that chooses MPI's all-gather algorithm; NULL if none is set. Other variables for
 * collectives, which many clusters set, do not count. */
static const char *allgather_variable(void) {
  static const char *const families[] = {"OMPI_MCA_coll_", "MPIR_CVAR_", "I_MPI_ADJUST_"};
  for (char **entry = environ; *entry != NULL; entry++)
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
      const char *found = strcasestr(*entry, "allgather");
      const char *equals = strchr(*entry, '=');
      if (strncmp(*entry, families[f], strlen(families[f])) == 0 && found != NULL && found < equals)
        return *entry;
    }
  return NULL;
}

/* Get the library's name: the first words of a text that may have several lines. */
static void name_library(amped_comm *comm) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
  int length = 0;
  AMPED_MPI(comm, MPI_Get_library_version(text, &length));
  text[strcspn(text, ",\n")] = '\0';
  (void)snprintf(comm->library, sizeof comm->library, "%.*s", (int)sizeof comm->library - 1, text);
  for (char *c = comm->library; *c != '\0'; c++)
    if ((unsigned char)*c < 0x20)
      *c = ' ';
}

static void ask_about_device_pointers(amped_comm *comm) {
  comm->cuda_built = comm->cuda_now = -1;
#if defined(AMPED_HAVE_MPI_EXT)
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  comm->cuda_built = 1;
#else
  comm->cuda_built = 0;
#endif
  comm->cuda_now = MPIX_Query_cuda_support() == 1;
  comm->cuda_aware = comm->cuda_built == 1 && comm->cuda_now == 1;
#elif defined(AMPED_ASSUME_CUDA_AWARE)
  comm->cuda_aware = true;
#endif
}

/* The number that a launcher put into this environment variable; 0 if there is none. */
static long launcher_says(const char *variable) {
  const char *text = getenv(variable);
  return text != NULL ? strtol(text, NULL, 10) : 0;
}

/* Does the job run on one node? Before MPI starts only the launcher knows this. If it does not say
 * so, the answer is no. */
static bool starts_on_one_node(void) {
  long nranks = launcher_says("OMPI_COMM_WORLD_SIZE");
  if (nranks > 0)
    return nranks == launcher_says("OMPI_COMM_WORLD_LOCAL_SIZE");
  return launcher_says("SLURM_STEP_NUM_NODES") == 1 && launcher_says("SLURM_STEP_NUM_TASKS") > 1;
}

/* Choose UCX's fastest scheme for large messages on one node with GPUs: the sender writes them
 * (benchmarks.md: Exchange). UCX chooses between nodes. A choice of the user is not changed. */
static void prefer_puts(void) {
  if (starts_on_one_node())
    (void)setenv("UCX_RNDV_SCHEME", "put_zcopy", 0);
}

/* Numbers that the ranks of a node share. `TOLD`: a rank reports why the job ends, so a rank that
 * the launcher ends stays silent. `LINE`: state of the error line of an abort. */
enum { TOLD, LINE, NUMBERS };
enum { NO_LINE, PRINTING, PRINTED };

/* In memory of the node's first rank, or of this rank if memory is not shared. */
static volatile int numbers_here[NUMBERS];
static volatile int *numbers = numbers_here;

/* Seconds for which a rank that aborts waits for another rank's error line; nanoseconds between
 * looks. */
#define LINE_SEC 2.0
#define LOOK_NSEC 10000000L

/* Share `numbers` among the ranks of this node. If a rank fails, the launcher ends the other ranks,
 * which must not print a second error line. Without shared memory a second line may appear. */
static void share_numbers(amped_comm *comm) {
  const int bytes = (int)(NUMBERS * sizeof *numbers);
  MPI_Aint size = comm->local_rank == 0 ? bytes : 0;
  int unit = 1;
  int *own = NULL;
  int *first = NULL;
  comm->told = MPI_WIN_NULL;
  if (comm->local_size == 1 ||
      MPI_Win_allocate_shared(size, (int)sizeof *numbers, MPI_INFO_NULL, comm->node, &own,
                              &comm->told) != MPI_SUCCESS)
    return;
  if (MPI_Win_shared_query(comm->told, 0, &size, &unit, &first) != MPI_SUCCESS)
    return;
  if (comm->local_rank == 0)
    memset(first, 0, (size_t)bytes);
  (void)MPI_Barrier(comm->node);
  numbers = first;
  amped_signals_silence(&numbers[TOLD]);
}

/* Stop sharing numbers. If a launcher ends this rank afterwards, another rank has the reason. */
static void keep_numbers(amped_comm *comm) {
  numbers_here[TOLD] = comm->nranks > 1;
  numbers = numbers_here;
  amped_signals_silence(&numbers[TOLD]);
  if (comm->told != MPI_WIN_NULL)
    (void)MPI_Win_free(&comm->told);
}

#ifdef __SANITIZE_ADDRESS__
/* Leaks are not searched for after MPI was started. MPI unloads plug-ins that keep memory until the
 * end, so a report cannot name the code that allocated it. The tracer also crashes in threads that
 * plug-ins leave behind. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
  int started = 0;
  return MPI_Initialized(&started) == MPI_SUCCESS && started != 0;
}
#endif

amped_status amped_comm_start(amped_comm *comm) {
  int provided = MPI_THREAD_SINGLE;
  const char *variable = allgather_variable();
  MPI_Comm node = MPI_COMM_NULL;
  memset(comm, 0, sizeof *comm);
  comm->mpi = MPI_COMM_NULL;
  comm->ring_ranks = RING_RANKS;
  comm->message_bytes = MESSAGE_BYTES;
  comm->piece_bytes = PIECE_BYTES;
  comm->most_count = INT_MAX;
  comm->node = comm->ring = comm->rail = MPI_COMM_NULL;
  if (variable != NULL)
    (void)snprintf(comm->chosen, sizeof comm->chosen, "%.*s", (int)strcspn(variable, "="),
                   variable);
  prefer_puts();
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return amped_error(AMPED_FAILED, NULL, "MPI did not start; check the MPI installation");
  comm->mpi = MPI_COMM_WORLD;
  AMPED_MPI(comm, MPI_Comm_set_errhandler(comm->mpi, MPI_ERRORS_RETURN));
  AMPED_MPI(comm, MPI_Comm_rank(comm->mpi, &comm->rank));
  AMPED_MPI(comm, MPI_Comm_size(comm->mpi, &comm->nranks));
  AMPED_MPI(comm,
            MPI_Comm_split_type(comm->mpi, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &node));
  amped_comm_set_node(comm, node);
  amped_signals_silence(&numbers[TOLD]);
  share_numbers(comm);
  name_library(comm);
  ask_about_device_pointers(comm);
  amped_log_speaker(comm->rank == 0);
  if (provided < MPI_THREAD_FUNNELED)
    return amped_error(AMPED_FAILED, NULL,
                       "this MPI has no thread support (MPI_THREAD_FUNNELED); use another MPI");
  return AMPED_OK;
}

static void free_comm(MPI_Comm *mpi) {
  if (*mpi != MPI_COMM_NULL)
    (void)MPI_Comm_free(mpi);
}

void amped_comm_set_node(amped_comm *comm, MPI_Comm node) {
  int first = comm->rank;
  free_comm(&comm->node);
  free_comm(&comm->ring);
  free_comm(&comm->rail);
  comm->node = node;
  AMPED_MPI(comm, MPI_Comm_rank(node, &comm->local_rank));
  AMPED_MPI(comm, MPI_Comm_size(node, &comm->local_size));
  comm->nodes = comm->local_rank == 0;
  AMPED_MPI(comm, MPI_Allreduce(MPI_IN_PLACE, &comm->nodes, 1, MPI_INT, MPI_SUM, comm->mpi));
  AMPED_MPI(comm, MPI_Bcast(&first, 1, MPI_INT, 0, node));
  AMPED_MPI(comm, MPI_Comm_split(comm->mpi, 0, first, &comm->ring));
  AMPED_MPI(comm, MPI_Allreduce(&comm->local_size, &comm->rails, 1, MPI_INT, MPI_MIN, comm->mpi));
  AMPED_MPI(comm, MPI_Comm_split(comm->mpi,
                                 comm->local_rank < comm->rails ? comm->local_rank : MPI_UNDEFINED,
                                 first, &comm->rail));
}

/* Collective. Print an error on which the ranks did not agree: the lowest rank that has one prints
 * it. The barrier lets it finish, because a launcher may end all ranks as soon as one ends with an
 * error. */
static void tell_what_is_left(const amped_comm *comm) {
  const int mine = amped_status_is_unreported() ? comm->rank : comm->nranks;
  int teller = mine;
  if (MPI_Allreduce(&mine, &teller, 1, MPI_INT, MPI_MIN, comm->mpi) != MPI_SUCCESS)
    teller = mine;
  if (teller == comm->rank)
    amped_status_report();
  else if (teller < comm->nranks)
    amped_status_settle();
  if (teller < comm->nranks)
    (void)MPI_Barrier(comm->mpi);
}

const char *amped_comm_chooser(const amped_comm *comm) {
  if (comm->way != AMPED_WAY_AUTO && (comm->way != AMPED_WAY_RAILS || comm->nodes > 1))
    return "--exchange";
  return comm->chosen[0] != '\0' ? comm->chosen : NULL;
}

void amped_comm_stop(amped_comm *comm) {
  if (comm->mpi != MPI_COMM_NULL) {
    tell_what_is_left(comm);
    keep_numbers(comm);
    free_comm(&comm->node);
    free_comm(&comm->ring);
    free_comm(&comm->rail);
    (void)MPI_Finalize();
  }
  comm->mpi = MPI_COMM_NULL;
}

/* Statuses, the worst last. */
static const amped_status by_gravity[] = {AMPED_OK, AMPED_STOPPED, AMPED_FAILED, AMPED_USAGE,
                                          AMPED_BAD_INPUT};
enum { STATUSES = sizeof by_gravity / sizeof by_gravity[0] };

/* Among ranks of one status: no error line is known, a line waits, a line was printed. */
enum { UNKNOWN, WAITING, PRINTED_BEFORE, LINES };

static int weigh(amped_status status) {
  int gravity = 0;
  while (gravity < STATUSES - 1 && by_gravity[gravity] != status)
    gravity++;
  const int line = amped_status_is_unreported()        ? WAITING
                   : amped_status_message()[0] != '\0' ? PRINTED_BEFORE
                                                       : UNKNOWN;
  return gravity * LINES + (gravity > 0 ? line : UNKNOWN);
}

amped_status amped_comm_agree(const amped_comm *comm, amped_status status) {
  struct {
    int weight;
    int rank;
  } mine = {weigh(status), comm->rank}, worst = {0, 0};
  AMPED_MPI(comm, MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, comm->mpi));
  const amped_status agreed = by_gravity[worst.weight / LINES];
  if (agreed != AMPED_OK)
    numbers[TOLD] = 1;
  if (worst.weight % LINES == WAITING && worst.rank == comm->rank)
    amped_status_report();
  else if (worst.weight % LINES != UNKNOWN)
    amped_status_settle();
  return agreed;
}

/* Print this rank's error line, unless another rank of the node prints one. In that case wait for
 * it, because the job may end as soon as a rank aborts. */
static void tell_of_abort(void) {
  const struct timespec look = {0, LOOK_NSEC};
  int none = NO_LINE;
  if (!amped_status_is_unreported())
    return;
  if (__atomic_compare_exchange_n(&numbers[LINE], &none, PRINTING, false, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST)) {
    amped_status_report();
    numbers[LINE] = PRINTED;
    return;
  }
  for (int i = 0; i < (int)(1e9 * LINE_SEC / LOOK_NSEC) && numbers[LINE] != PRINTED; i++)
    (void)nanosleep(&look, NULL);
  amped_status_settle();
}

void amped_comm_abort(const amped_comm *comm, amped_status status) {
  numbers[TOLD] = AMPED_JOB_ENDS;
  tell_of_abort();
  amped_draft_abandon();
  amped_file_lock_abandon();
  (void)MPI_Abort(comm->mpi, (int)status);
  _Exit((int)status);
}

void amped_comm_check(const amped_comm *comm, int code, const char *call) {
  char reason[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  amped_heartbeat_wait(false);
  if (code == MPI_SUCCESS)
    return;
  (void)MPI_Error_string(code, reason, &length);
  amped_comm_abort(comm, amped_error(AMPED_FAILED, NULL, "rank %d: %.*s: %s; check the MPI set-up",
                                     comm->rank, (int)strcspn(call, "("), call, reason));
}

/* Elements that every rank sends at a time. This bounds the memory of the ranks, each of which
 * receives all. A rank without that memory aborts: it cannot receive what the others send in the
 * same call. */
#define ORDERED_SUM 1024

static void sum_in_order(const amped_comm *comm, double *values, int count) {
  double *all = NULL;
  amped_status status =
      amped_alloc(&all, (uint64_t)comm->nranks * ORDERED_SUM, sizeof *all, "a sum over ranks");
  if (status != AMPED_OK)
    amped_comm_abort(comm, status);
  for (int first = 0; first < count; first += ORDERED_SUM) {
    int n = count - first < ORDERED_SUM ? count - first : ORDERED_SUM;
    AMPED_MPI(comm, MPI_Allgather(values + first, n, MPI_DOUBLE, all, n, MPI_DOUBLE, comm->mpi));
    for (int i = 0; i < n; i++) {
      double sum = all[i];
      for (int p = 1; p < comm->nranks; p++)
        sum += all[(size_t)p * (size_t)n + (size_t)i];
      values[first + i] = sum;
    }
  }
  amped_free(all);
}

void amped_comm_sum(const amped_comm *comm, double *values, int count) {
  if (comm->in_order && comm->nranks > 1)
    sum_in_order(comm, values, count);
  else
    AMPED_MPI(comm, MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, comm->mpi));
}

void amped_comm_sum_dd(const amped_comm *comm, amped_dd *values, uint64_t count) {
  amped_dd *all = NULL;
  amped_status status =
      amped_alloc(&all, (uint64_t)comm->nranks * ORDERED_SUM, sizeof *all, "a sum over ranks");
  if (status != AMPED_OK)
    amped_comm_abort(comm, status);
  for (uint64_t first = 0; first < count; first += ORDERED_SUM) {
    int n = count - first < ORDERED_SUM ? (int)(count - first) : ORDERED_SUM;
    AMPED_MPI(comm,
              MPI_Allgather(values + first, 2 * n, MPI_DOUBLE, all, 2 * n, MPI_DOUBLE, comm->mpi));
    for (int i = 0; i < n; i++) {
      amped_dd sum = all[i];
      for (int p = 1; p < comm->nranks; p++)
        sum = amped_dd_add(sum, all[(size_t)p * (size_t)n + (size_t)i]);
      values[first + (uint64_t)i] = sum;
    }
  }
  amped_free(all);
}

amped_status amped_comm_sum_agreed(const amped_comm *comm, amped_status status, double *values,
                                   int count) {
  if (status != AMPED_OK)
    values[0] = (double)NAN;
  amped_comm_sum(comm, values, count);
  return isnan(values[0]) ? amped_comm_agree(comm, status) : AMPED_OK;
}

/* Reduce numbers in place, message by message. */
static void reduce_u64(const amped_comm *comm, uint64_t *values, uint64_t count, MPI_Op op) {
  const uint64_t most = comm->message_bytes / sizeof *values;
  for (uint64_t at = 0; at < count && comm->nranks > 1; at += most)
    AMPED_MPI(comm,
              MPI_Allreduce(MPI_IN_PLACE, values + at, (int)(count - at < most ? count - at : most),
                            MPI_UINT64_T, op, comm->mpi));
}

void amped_comm_sum_u64(const amped_comm *comm, uint64_t *values, uint64_t count) {
  reduce_u64(comm, values, count, MPI_SUM);
}

void amped_comm_or_u64(const amped_comm *comm, uint64_t *words, uint64_t count) {
  reduce_u64(comm, words, count, MPI_BOR);
}

void amped_comm_broadcast(const amped_comm *comm, void *data, uint64_t bytes) {
  char *at = data;
  while (bytes > 0) {
    uint64_t part = bytes < comm->message_bytes ? bytes : comm->message_bytes;
    AMPED_MPI(comm, MPI_Bcast(at, (int)part, MPI_BYTE, 0, comm->mpi));
    at += part;
    bytes -= part;
  }
}

uint64_t amped_comm_node_sum(const amped_comm *comm, uint64_t value) {
  AMPED_MPI(comm, MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, comm->node));
  return value;
}

void amped_comm_spreads(const amped_comm *comm, int count, const double *values,
                        amped_spread *spreads) {
  struct {
    double value;
    int rank;
  } ends[2 * AMPED_MAX_SPREADS];
  double sums[AMPED_MAX_SPREADS];
  for (int i = 0; i < count; i++) {
    sums[i] = values[i];
    ends[2 * i].value = values[i];
    ends[2 * i + 1].value = -values[i]; /* the maximum of negated values is minus the least */
    ends[2 * i].rank = ends[2 * i + 1].rank = comm->rank;
  }
  AMPED_MPI(comm,
            MPI_Allreduce(MPI_IN_PLACE, ends, 2 * count, MPI_DOUBLE_INT, MPI_MAXLOC, comm->mpi));
  amped_comm_sum(comm, sums, count);
  for (int i = 0; i < count; i++)
    spreads[i] = (amped_spread){-ends[2 * i + 1].value, sums[i] / comm->nranks, ends[2 * i].value,
                                ends[2 * i].rank};
}

amped_spread amped_comm_spread(const amped_comm *comm, double value) {
  amped_spread s;
  amped_comm_spreads(comm, 1, &value, &s);
  return s;
}

int amped_comm_count(const amped_comm *comm, uint64_t n) {
  if (n > comm->most_count)
    amped_comm_abort(comm, amped_error(AMPED_FAILED, NULL,
                                       "a message of %" PRIu64 " elements is too long for MPI", n));
  return (int)n;
}
