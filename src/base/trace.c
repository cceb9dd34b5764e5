/* Trace: names of phases, and the ring of recorded events. */
#include "base/trace.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef AMPED_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

#include "base/mem.h"
#include "base/heartbeat.h"
#include "base/timer.h"

#define MAX_DEPTH 32

static const struct {
  const char *name;
  const char *number;
} phases[AMPED_PHASES] = {
    [AMPED_PHASE_RUN] = {"run", ""},
    [AMPED_PHASE_START] = {"start", ""},
    [AMPED_PHASE_PLAN] = {"plan", ""},
    [AMPED_PHASE_PREPARE] = {"prepare", ""},
    [AMPED_PHASE_DISTRIBUTE] = {"distribute", "mode"},
    [AMPED_PHASE_READ] = {"read", "mode"},
    [AMPED_PHASE_UPLOAD] = {"upload", "mode"},
    [AMPED_PHASE_COUNT] = {"count", ""},
    [AMPED_PHASE_DEAL] = {"deal", "mode"},
    [AMPED_PHASE_SEND] = {"send", "mode"},
    [AMPED_PHASE_COLLECT] = {"collect", "mode"},
    [AMPED_PHASE_SORT] = {"sort", "mode"},
    [AMPED_PHASE_MAKE] = {"make", "mode"},
    [AMPED_PHASE_INIT] = {"init", ""},
    [AMPED_PHASE_BATCH] = {"batch", "batch"},
    [AMPED_PHASE_LOAD] = {"load", ""},
    [AMPED_PHASE_ROWS] = {"rows", ""},
    [AMPED_PHASE_SWEEP] = {"sweep", "sweep"},
    [AMPED_PHASE_PASS] = {"pass", ""},
    [AMPED_PHASE_WAIT] = {"wait", "mode"},
    [AMPED_PHASE_MTTKRP] = {"mttkrp", "mode"},
    [AMPED_PHASE_COPY] = {"copy", "mode"},
    [AMPED_PHASE_KERNEL] = {"kernel", "mode"},
    [AMPED_PHASE_SOLVE] = {"solve", "mode"},
    [AMPED_PHASE_GRAM] = {"gram", "mode"},
    [AMPED_PHASE_NORMALISE] = {"normalise", "mode"},
    [AMPED_PHASE_EXCHANGE] = {"exchange", "mode"},
    [AMPED_PHASE_FIT] = {"fit", "sweep"},
    [AMPED_PHASE_ABSORB] = {"absorb", ""},
    [AMPED_PHASE_FREE] = {"free", ""},
    [AMPED_PHASE_ERRORS] = {"errors", ""},
    [AMPED_PHASE_REPORT] = {"report", ""},
    [AMPED_PHASE_CEILING] = {"gather ceiling", ""},
    [AMPED_PHASE_BOUND] = {"bound", ""},
    [AMPED_PHASE_WRITE] = {"write", ""},
};

static const char *const lanes[AMPED_LANES] = {"phases", "reader", "host to device", "kernels"};

typedef struct open_phase {
  double begin_sec;
  int32_t number;
  amped_phase phase;
} open_phase;

/* State of each thread. */
static _Thread_local open_phase stack[MAX_DEPTH];
static _Thread_local unsigned depth;
static _Thread_local amped_lane thread_lane;

/* State of the program. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool on;
static amped_trace_event *ring;
static uint64_t ring_capacity;
static uint64_t recorded; /* events since open; the next goes to recorded % ring_capacity */

amped_status amped_trace_open(uint64_t capacity) {
  amped_trace_close();
  AMPED_TRY(amped_alloc(&ring, capacity, sizeof *ring, "the trace"));
  ring_capacity = capacity;
  on = true;
  return AMPED_OK;
}

void amped_trace_close(void) {
  on = false;
  amped_free(ring);
  ring = NULL;
  ring_capacity = 0;
  recorded = 0;
  depth = 0;
}

bool amped_trace_is_on(void) {
  return on;
}

static int32_t short_number(int64_t number) {
  return number >= 0 && number <= INT32_MAX ? (int32_t)number : AMPED_NO_NUMBER;
}

static void record(amped_trace_event event) {
  (void)pthread_mutex_lock(&lock);
  ring[recorded % ring_capacity] = event;
  recorded++;
  (void)pthread_mutex_unlock(&lock);
}

void amped_trace_begin(amped_phase phase, int64_t number) {
#ifdef AMPED_HAVE_NVTX
  (void)nvtxRangePushA(phases[phase].name);
#endif
  amped_heartbeat_begin((int)phase, short_number(number));
  if (!on)
    return;
  assert(depth < MAX_DEPTH);
  stack[depth++] = (open_phase){amped_time(), short_number(number), phase};
}

void amped_trace_end(void) {
#ifdef AMPED_HAVE_NVTX
  (void)nvtxRangePop();
#endif
  amped_heartbeat_end();
  if (!on)
    return;
  assert(depth > 0);
  const open_phase *p = &stack[--depth];
  record((amped_trace_event){p->begin_sec, amped_time(), p->number, (uint8_t)p->phase,
                             (uint8_t)thread_lane, (uint16_t)depth});
}

void amped_trace_in_lane(amped_lane lane) {
  thread_lane = lane;
}

void amped_trace_span(amped_lane lane, amped_phase phase, int64_t number, double begin_sec,
                      double end_sec) {
  if (on)
    record((amped_trace_event){begin_sec, end_sec, short_number(number), (uint8_t)phase,
                               (uint8_t)lane, 0});
}

/* Order by begin; if equal, the longer event first, then the outer one. */
static int by_begin(const void *left, const void *right) {
  const amped_trace_event *a = left;
  const amped_trace_event *b = right;
  if (a->begin_sec != b->begin_sec)
    return a->begin_sec < b->begin_sec ? -1 : 1;
  if (a->end_sec != b->end_sec)
    return a->end_sec > b->end_sec ? -1 : 1;
  return (int)a->depth - (int)b->depth;
}

void amped_trace_take(const amped_trace_event **events, uint64_t *count, uint64_t *dropped) {
  on = false;
  *events = ring;
  *count = recorded < ring_capacity ? recorded : ring_capacity;
  *dropped = recorded - *count;
  if (*count > 0)
    qsort(ring, (size_t)*count, sizeof *ring, by_begin);
}

const char *amped_phase_name(amped_phase phase) {
  return phases[phase].name;
}

const char *amped_phase_number(amped_phase phase) {
  return phases[phase].number;
}

const char *amped_lane_name(amped_lane lane) {
  return lanes[lane];
}
