/* Trace: phases that this rank executed and their times, in host memory. (trace_file.h writes them
 * to a file.)
 *
 * amped_trace_begin opens a phase on the calling thread, amped_trace_end closes the last open
 * phase: phases nest. The trace is off by default, and then a call costs one test. If built with
 * NVTX, the same calls also open and close ranges for an attached profiler, whether the trace is on
 * or off. If a watchdog runs, the calls also update the rank's heartbeat (heartbeat.h).
 *
 * An event is recorded when it ends, in a ring of fixed size. The ring keeps the newest events and
 * counts the older events that it dropped. A run that fails may leave phases open; its trace is
 * never taken. Any thread may call; only one thread calls open, take and close. */
#ifndef AMPED_TRACE_H
#define AMPED_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Events of a rank in a run: 1.5 MiB. */
#define AMPED_TRACE_EVENTS (UINT64_C(1) << 16)

typedef enum amped_phase {
  AMPED_PHASE_RUN, /* the whole run */
  AMPED_PHASE_START,
  AMPED_PHASE_PLAN,
  AMPED_PHASE_PREPARE,
  AMPED_PHASE_DISTRIBUTE,
  AMPED_PHASE_READ,
  AMPED_PHASE_UPLOAD,
  AMPED_PHASE_COUNT, /* no mode: all modes in one pass */
  AMPED_PHASE_DEAL,
  AMPED_PHASE_SEND,
  AMPED_PHASE_COLLECT,
  AMPED_PHASE_SORT,
  AMPED_PHASE_MAKE,
  AMPED_PHASE_INIT,
  AMPED_PHASE_BATCH, /* a batch of a stream, with its number */
  AMPED_PHASE_LOAD,
  AMPED_PHASE_ROWS,
  AMPED_PHASE_SWEEP, /* number: the sweep, as for fit */
  AMPED_PHASE_PASS,
  AMPED_PHASE_WAIT,
  AMPED_PHASE_MTTKRP, /* number: the mode, for this phase to exchange, and for distribute to make */
  AMPED_PHASE_COPY,
  AMPED_PHASE_KERNEL,
  AMPED_PHASE_SOLVE,
  AMPED_PHASE_GRAM,
  AMPED_PHASE_NORMALISE,
  AMPED_PHASE_EXCHANGE,
  AMPED_PHASE_FIT,
  AMPED_PHASE_ABSORB,
  AMPED_PHASE_FREE,
  AMPED_PHASE_ERRORS,
  AMPED_PHASE_REPORT,
  AMPED_PHASE_CEILING,
  AMPED_PHASE_BOUND,
  AMPED_PHASE_WRITE,
  AMPED_PHASES
} amped_phase;

/* Row of the display for an event: events that overlap in time are in different lanes. */
typedef enum amped_lane {
  AMPED_LANE_MAIN,
  AMPED_LANE_READER,    /* the thread that reads the input */
  AMPED_LANE_TRANSFERS, /* host to device */
  AMPED_LANE_KERNELS,
  AMPED_LANES
} amped_lane;

#define AMPED_NO_NUMBER INT32_MIN

/* Seconds are amped_time()'s. */
typedef struct amped_trace_event {
  double begin_sec, end_sec;
  int32_t number; /* mode, sweep or batch; AMPED_NO_NUMBER: none */
  uint8_t phase;
  uint8_t lane;
  uint16_t depth; /* open phases of the thread that enclose the event */
} amped_trace_event;

/* Record from now on, at most `capacity` events. close frees the events; without open it has no
 * effect. */
amped_status amped_trace_open(uint64_t capacity);
void amped_trace_close(void);
bool amped_trace_is_on(void);

void amped_trace_begin(amped_phase phase, int64_t number);
void amped_trace_end(void);

/* Set the lane of the calling thread's phases from now on; a thread starts in the main lane. */
void amped_trace_in_lane(amped_lane lane);

/* Record an event whose times the caller knows, such as work of a GPU. */
void amped_trace_span(amped_lane lane, amped_phase phase, int64_t number, double begin_sec,
                      double end_sec);

/* Stop recording. The events stay valid until close. They are ordered by begin; an outer event
 * comes before its inner events. *count and *dropped are 0 if no event was recorded. */
void amped_trace_take(const amped_trace_event **events, uint64_t *count, uint64_t *dropped);

/* Static texts: the name of a phase; the kind of its number ("mode", "sweep", "batch"; "" if it has
 * none); the name of a lane. */
const char *amped_phase_name(amped_phase phase);
const char *amped_phase_number(amped_phase phase);
const char *amped_lane_name(amped_lane lane);

#endif
