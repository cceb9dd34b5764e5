/* Report: the start, the plan and the sweeps of a run, as lines for the user and as JSON lines.
 *
 * All functions but amped_report_part are collective, because they gather from all ranks. The
 * status is agreed. */
#ifndef AMPED_REPORT_H
#define AMPED_REPORT_H

#include "solver/iterate.h"
#include "session/session.h"
#include "tensor/dense_stats.h"

/* A JSON key that tells something of a metric (iterate.h): "fit_noise". */
typedef struct amped_metric_key {
  char text[64];
} amped_metric_key;

amped_metric_key amped_metric_key_of(const char *metric, const char *what);

/* Bytes that one rank needs, and bytes that it may use. */
typedef struct amped_memory_need {
  uint64_t device_bytes, device_budget;
  uint64_t host_bytes, host_budget; /* the budget is the whole node's */
} amped_memory_need;

amped_status amped_report_start(amped_session *session);
amped_status amped_report_plan(amped_session *session, const amped_memory_need *need);
/* Measures the links between the ranks (link_rate.h) and warns where they are slow. Before the
 * factors are filled. */
amped_status amped_report_exchange(amped_session *session);
/* Collective: of a dense tensor, with what was counted of its cells. */
void amped_report_cells(amped_session *session, const amped_dense_stats *stats);
void amped_report_distributed(amped_session *session);
/* For -v: the largest host memory of rank 0, and of the other ranks, so far. */
void amped_report_memory(amped_session *session);
/* A line for every `every` sweeps; 0: for each, in a log for fewer and fewer. JSON has them all. */
amped_status amped_report_sweep(amped_session *session, const amped_sweep *sweep, uint64_t every);
/* Has a sweep such a line? Tells why lines are missing, where the first is. */
bool amped_report_has_line(uint64_t sweep, uint64_t every);
/* Seconds of a part of a sweep as lines show them: cut, not rounded, to four digits after the
 * point. So the parts of a line never exceed its sum, which is rounded. */
double amped_report_part(double seconds);

#endif
