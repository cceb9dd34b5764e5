/* Heartbeat: updates of the counters, and the stack of open phases. */
#include "base/heartbeat.h"

#include <stddef.h>

#define MAX_DEPTH 32

/* Heartbeat of this thread; its open phases, outermost first. */
static _Thread_local amped_heartbeat *shown;
static _Thread_local unsigned depth;
static _Thread_local struct { int phase, number; } open_phases[MAX_DEPTH];

void amped_heartbeat_show(amped_heartbeat *heartbeat) {
  shown = heartbeat;
  depth = 0;
  if (heartbeat != NULL)
    atomic_store(&heartbeat->phase, AMPED_HEARTBEAT_NO_PHASE);
}

void amped_heartbeat_join(amped_heartbeat *heartbeat) {
  shown = heartbeat;
}

amped_heartbeat *amped_heartbeat_shown(void) {
  return shown;
}

void amped_heartbeat_step(void) {
  if (shown != NULL)
    (void)atomic_fetch_add(&shown->steps, 1);
}

void amped_heartbeat_wait(bool waits) {
  if (shown == NULL)
    return;
  atomic_store(&shown->waits, waits);
  (void)atomic_fetch_add(&shown->steps, 1);
}

static void show_innermost(void) {
  bool any = depth > 0 && depth <= MAX_DEPTH;
  atomic_store(&shown->number, any ? open_phases[depth - 1].number : 0);
  atomic_store(&shown->phase, any ? open_phases[depth - 1].phase : AMPED_HEARTBEAT_NO_PHASE);
  (void)atomic_fetch_add(&shown->steps, 1);
}

void amped_heartbeat_begin(int phase, int number) {
  if (shown == NULL)
    return;
  if (depth < MAX_DEPTH) {
    open_phases[depth].phase = phase;
    open_phases[depth].number = number;
  }
  depth++;
  show_innermost();
}

/* Phases that were open before amped_heartbeat_show may end here, too. */
void amped_heartbeat_end(void) {
  if (shown == NULL)
    return;
  depth -= depth > 0;
  show_innermost();
}
