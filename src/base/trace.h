/* Trace: what this rank did when, in memory. (trace_file.h turns it into a file.)
 *
 * amped_trace_begin opens a phase on the calling thread, amped_trace_end closes the last one
 * opened: phases nest. Off, which is the default, a call is one test. Built with NVTX the same
 * calls also open and close ranges for a profiler that is attached, on or off; so do they show a
 * rank's heartbeat (heartbeat.h) where a watchdog looks.
 *
 * Events are recorded as they end, in a ring of fixed size: the newest stay, those that fell out
 * are counted. A run that fails may leave phases open; its trace is never taken. Any thread, but
 * for open, take and close. */
#ifndef AMPED_TRACE_H
#define AMPED_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Events of a rank in a run: 1.5 MiB. */
#define AMPED_TRACE_EVENTS (UINT64_C(1) << 16)

typedef enum amped_phase {
  AMPED_PHASE_RUN, /* all of it */
  AMPED_PHASE_START,
  AMPED_PHASE_PLAN,
  AMPED_PHASE_PREPARE,
  AMPED_PHASE_DISTRIBUTE,
  AMPED_PHASE_READ,
  AMPED_PHASE_UPLOAD,
  AMPED_PHASE_MAKE,
  AMPED_PHASE_INIT,
  AMPED_PHASE_SWEEP, /* numbered by sweep; so is fit */
  AMPED_PHASE_PASS,
  AMPED_PHASE_WAIT,
  AMPED_PHASE_MTTKRP, /* from here to exchange numbered by mode, as are distribute to make */
  AMPED_PHASE_COPY,
  AMPED_PHASE_KERNEL,
  AMPED_PHASE_SOLVE,
  AMPED_PHASE_GRAM,
  AMPED_PHASE_NORMALISE,
  AMPED_PHASE_EXCHANGE,
  AMPED_PHASE_FIT,
  AMPED_PHASE_REPORT,
  AMPED_PHASE_CEILING,
  AMPED_PHASE_WRITE,
  AMPED_PHASES
} amped_phase;

/* Where an event is shown: what runs at the same time lies in different lanes. */
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
  int32_t number; /* mode or sweep, AMPED_NO_NUMBER: none */
  uint8_t phase;
  uint8_t lane;
  uint16_t depth; /* open phases of the thread around it */
} amped_trace_event;

/* Record from now on, at most `capacity` events. close forgets them; without open it does nothing.
 */
amped_status amped_trace_open(uint64_t capacity);
void amped_trace_close(void);
bool amped_trace_is_on(void);

void amped_trace_begin(amped_phase phase, int64_t number);
void amped_trace_end(void);

/* The lane of the calling thread's phases from now on; a thread begins in the main one. */
void amped_trace_in_lane(amped_lane lane);

/* An event whose times are known otherwise, such as a GPU's work. */
void amped_trace_span(amped_lane lane, amped_phase phase, int64_t number, double begin_sec,
                      double end_sec);

/* Stop recording. The events, ordered by begin and those around others first, stay until close;
 * *count is 0 and *dropped is 0 where nothing was recorded. */
void amped_trace_take(const amped_trace_event **events, uint64_t *count, uint64_t *dropped);

/* Static texts: a phase's name, what its number is ("mode", "sweep"; "" where it has none), a
 * lane's name. */
const char *amped_phase_name(amped_phase phase);
const char *amped_phase_number(amped_phase phase);
const char *amped_lane_name(amped_lane lane);

#endif
