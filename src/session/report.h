/* What a run tells: its start, its plan, its sweeps; as lines for people and as JSON lines.
 *
 * All functions are collective (they gather from all ranks); the status is agreed. */
#ifndef AMPED_REPORT_H
#define AMPED_REPORT_H

#include "solver/iterate.h"
#include "session/session.h"

/* Bytes that one rank needs and has. */
typedef struct amped_memory_need {
  uint64_t device_bytes, device_budget;
  uint64_t host_bytes, host_budget; /* the budget is the whole node's */
} amped_memory_need;

amped_status amped_report_start(amped_session *session);
amped_status amped_report_plan(amped_session *session, const amped_memory_need *need);
/* Tests the links between the ranks; warns where they are slow. Before factors are filled. */
amped_status amped_report_exchange(amped_session *session);
void amped_report_distributed(amped_session *session);
/* With -v: the most host memory that rank 0 and the others have held. */
void amped_report_memory(amped_session *session);
amped_status amped_report_sweep(amped_session *session, const amped_sweep *sweep);

#endif
