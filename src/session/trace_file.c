/* Gathers the ranks' events on rank 0 and writes them as Chrome trace JSON. */
#include "session/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tensor/format.h"
#include "base/draft.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"

#define ROUND_TRIPS 16
#define PLACE_BYTES 192
/* Most bytes in the file of an event, and of the names of a rank's rows. */
#define EVENT_BYTES 128
#define RANK_BYTES 4096

#define TAG_CLOCK 41
#define TAG_TRACE 42

/* Digits that jansson prints: enough for nanoseconds of a week, in microseconds. */
#define DIGITS 15

struct amped_trace_file {
  const amped_comm *comm;
  const char *path;
  amped_draft draft; /* on rank 0 */
  FILE *stream;
  double offset_sec; /* this rank's clock minus rank 0's */
  double error_sec;  /* bound of the offset's error */
  bool first;        /* no object was written yet */
};

/* A rank sends this before its events. */
typedef struct header {
  char place[PLACE_BYTES];
  uint64_t count, dropped;
  double offset_sec;
} header;

/* Find this rank's clock offset. Rank 0 answers with its clock. A message takes at most the whole
 * round trip in either direction. */
static void compare_clock(amped_trace_file *f) {
  const amped_comm *comm = f->comm;
  f->error_sec = INFINITY;
  for (int i = 0; i < ROUND_TRIPS; i++) {
    double theirs = 0.0;
    double sent = amped_time();
    AMPED_MPI(comm, MPI_Sendrecv(&sent, 1, MPI_DOUBLE, 0, TAG_CLOCK, &theirs, 1, MPI_DOUBLE, 0,
                                 TAG_CLOCK, comm->mpi, MPI_STATUS_IGNORE));
    double got = amped_time();
    if (0.5 * (got - sent) < f->error_sec) {
      f->error_sec = 0.5 * (got - sent);
      f->offset_sec = 0.5 * (sent + got) - theirs;
    }
  }
  /* Ranks of one node read the same clock. */
  if (fabs(f->offset_sec) <= f->error_sec)
    f->offset_sec = 0.0;
}

static void answer_clock(const amped_comm *comm, int rank) {
  for (int i = 0; i < ROUND_TRIPS; i++) {
    double theirs = 0.0;
    AMPED_MPI(comm,
              MPI_Recv(&theirs, 1, MPI_DOUBLE, rank, TAG_CLOCK, comm->mpi, MPI_STATUS_IGNORE));
    double now = amped_time();
    AMPED_MPI(comm, MPI_Send(&now, 1, MPI_DOUBLE, rank, TAG_CLOCK, comm->mpi));
  }
}

amped_status amped_trace_file_open(const amped_comm *comm, const char *path,
                                   amped_trace_file **out) {
  amped_trace_file *f = NULL;
  *out = NULL;
  amped_status status = amped_calloc(&f, 1, sizeof *f, "the trace file");
  if (status == AMPED_OK && comm->rank == 0)
    status = amped_file_check_writable(path);
  status = amped_comm_agree(comm, status);
  if (status != AMPED_OK) {
    amped_trace_file_close(f);
    return status;
  }
  f->comm = comm;
  f->path = path;
  f->first = true;
  if (comm->rank > 0)
    compare_clock(f);
  else
    for (int p = 1; p < comm->nranks; p++)
      answer_clock(comm, p);
  *out = f;
  return AMPED_OK;
}

uint64_t amped_trace_file_bytes(int nranks) {
  return (uint64_t)nranks * (AMPED_TRACE_EVENTS * EVENT_BYTES + RANK_BYTES);
}

void amped_trace_file_close(amped_trace_file *f) {
  if (f == NULL)
    return;
  amped_free(f);
}

static amped_status failed(const amped_trace_file *f) {
  return amped_error_errno(AMPED_FAILED, errno, f->path,
                           "cannot be written; free disk space or leave --trace out");
}

/* Write an object of the list of events. Takes the reference. */
static amped_status put(amped_trace_file *f, json_t *object) {
  amped_status status = AMPED_OK;
  if (object == NULL)
    return amped_error(AMPED_FAILED, f->path, "out of memory for an event of the trace");
  if (fputs(f->first ? "\n" : ",\n", f->stream) == EOF ||
      amped_json_put(object, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS), f->stream) != 0)
    status = failed(f);
  f->first = false;
  json_decref(object);
  return status;
}

/* Write the names of a rank's rows. */
static amped_status put_names(amped_trace_file *f, int rank, const header *h) {
  char name[PLACE_BYTES + 32];
  (void)snprintf(name, sizeof name, "rank %d (%s)", rank, h->place);
  AMPED_TRY(put(f, json_pack("{s:s, s:s, s:i, s:{s:o}}", "ph", "M", "name", "process_name", "pid",
                             rank, "args", "name", amped_json_string(name))));
  AMPED_TRY(put(f, json_pack("{s:s, s:s, s:i, s:{s:i}}", "ph", "M", "name", "process_sort_index",
                             "pid", rank, "args", "sort_index", rank)));
  for (int lane = 0; lane < AMPED_LANES; lane++)
    AMPED_TRY(
        put(f, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", "thread_name", "pid",
                         rank, "tid", lane, "args", "name", amped_lane_name((amped_lane)lane))));
  return AMPED_OK;
}

/* Write an event in whole nanoseconds: so an event inside another stays inside after rounding. */
static amped_status put_event(amped_trace_file *f, int rank, const amped_trace_event *e,
                              double origin_sec) {
  double begin = round(1e9 * (e->begin_sec - origin_sec));
  double end = round(1e9 * (e->end_sec - origin_sec));
  const char *number = amped_phase_number((amped_phase)e->phase);
  json_t *object = json_pack("{s:s, s:s, s:i, s:i, s:f, s:f}", "ph", "X", "name",
                             amped_phase_name((amped_phase)e->phase), "pid", rank, "tid",
                             (int)e->lane, "ts", 1e-3 * begin, "dur", 1e-3 * (end - begin));
  if (object != NULL && *number != '\0' && e->number != AMPED_NO_NUMBER)
    (void)json_object_set_new(object, "args", json_pack("{s:i}", number, (int)e->number));
  return put(f, object);
}

static amped_status put_rank(amped_trace_file *f, int rank, const header *h,
                             const amped_trace_event *events, double origin_sec) {
  AMPED_TRY(put_names(f, rank, h));
  for (uint64_t i = 0; i < h->count; i++)
    AMPED_TRY(put_event(f, rank, &events[i], origin_sec + h->offset_sec));
  return AMPED_OK;
}

/* Open a stream with its own file descriptor; the draft keeps its own. */
static FILE *open_stream(const amped_draft *draft) {
  int fd = fcntl(draft->fd, F_DUPFD_CLOEXEC, 0);
  FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (stream == NULL && fd >= 0)
    (void)close(fd);
  return stream;
}

/* Rank 0: write the file up to the list of events. */
static amped_status begin_file(amped_trace_file *f, double error_sec, uint64_t dropped) {
  AMPED_TRY(amped_draft_open(f->path, false, &f->draft));
  f->stream = open_stream(&f->draft);
  if (f->stream == NULL)
    return failed(f);
  json_t *other = json_pack("{s:s, s:i, s:f, s:I}", "program", "amped_mpi", "ranks",
                            f->comm->nranks, "clock_error_us", 1e-3 * ceil(1e9 * error_sec),
                            "dropped_events", (json_int_t)dropped);
  amped_status status = AMPED_OK;
  if (other == NULL)
    status = amped_error(AMPED_FAILED, f->path, "out of memory for the trace");
  else if (fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":", f->stream) == EOF ||
           amped_json_put(other, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS), f->stream) != 0 ||
           fputs(",\"traceEvents\":[", f->stream) == EOF)
    status = failed(f);
  json_decref(other);
  return status;
}

static amped_status end_file(amped_trace_file *f, amped_status status) {
  if (f->stream != NULL) {
    if (status == AMPED_OK && fputs("\n]}\n", f->stream) == EOF)
      status = failed(f);
    if (fclose(f->stream) != 0 && status == AMPED_OK)
      status = failed(f);
    f->stream = NULL;
  }
  if (status == AMPED_OK)
    return amped_draft_publish(&f->draft, false);
  amped_draft_close(&f->draft);
  return status;
}

/* Rank 0: receive the events of every rank in turn and write them. After a failed write it still
 * receives all of them, because the other ranks wait in their send. */
static amped_status write_all(amped_trace_file *f, header *h, const amped_trace_event *events,
                              double origin_sec) {
  const amped_comm *comm = f->comm;
  amped_trace_event *theirs = NULL;
  amped_status status = amped_alloc(&theirs, AMPED_TRACE_EVENTS, sizeof *theirs, "the trace");
  amped_status have = amped_comm_agree(comm, status);
  if (have != AMPED_OK)
    return have;
  status = put_rank(f, 0, h, events, origin_sec);
  for (int p = 1; p < comm->nranks; p++) {
    AMPED_MPI(comm, MPI_Recv(h, sizeof *h, MPI_BYTE, p, TAG_TRACE, comm->mpi, MPI_STATUS_IGNORE));
    AMPED_MPI(comm, MPI_Recv(theirs, amped_comm_count(comm, h->count * sizeof *theirs), MPI_BYTE, p,
                             TAG_TRACE, comm->mpi, MPI_STATUS_IGNORE));
    if (status == AMPED_OK)
      status = put_rank(f, p, h, theirs, origin_sec);
  }
  amped_free(theirs);
  return status;
}

static amped_status send_all(const amped_trace_file *f, const header *h,
                             const amped_trace_event *events) {
  const amped_comm *comm = f->comm;
  AMPED_TRY(amped_comm_agree(comm, AMPED_OK));
  AMPED_MPI(comm, MPI_Send(h, sizeof *h, MPI_BYTE, 0, TAG_TRACE, comm->mpi));
  AMPED_MPI(comm, MPI_Send(events, amped_comm_count(comm, h->count * sizeof *events), MPI_BYTE, 0,
                           TAG_TRACE, comm->mpi));
  return AMPED_OK;
}

amped_status amped_trace_file_write(amped_trace_file *f, const char *place) {
  const amped_comm *comm = f->comm;
  const amped_trace_event *events = NULL;
  header h = {.offset_sec = f->offset_sec};
  (void)snprintf(h.place, sizeof h.place, "%s", place);
  amped_trace_take(&events, &h.count, &h.dropped);
  /* Begin of the first event, on rank 0's clock. The outermost phase begins first and ends last, so
   * the ring has not dropped it. */
  double first = h.count > 0 ? events[0].begin_sec - f->offset_sec : INFINITY;
  double origin_sec = amped_comm_spread(comm, first).min;
  double error_sec = amped_comm_spread(comm, f->error_sec).max;
  uint64_t sums[2] = {h.count, h.dropped};
  amped_comm_sum_u64(comm, sums, 2);
  amped_status status = AMPED_OK;
  if (comm->rank == 0)
    status = begin_file(f, error_sec, sums[1]);
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK)
    status = comm->rank == 0 ? write_all(f, &h, events, origin_sec) : send_all(f, &h, events);
  if (comm->rank == 0)
    status = end_file(f, status);
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK)
    amped_say("trace: %s (%" PRIu64 " events, %" PRIu64 " older ones dropped; the ranks' clocks "
              "agree to %.1f us)",
              f->path, sums[0], sums[1], 1e6 * error_sec);
  return status;
}
