/* Report: the start, the plan and the sweeps of a run, as lines for the user and as JSON lines.
 *
 * All functions are collective, because they gather from all ranks, except amped_metric_key_of,
 * amped_report_has_line, amped_report_part and the parts of a sweep's facts. Statuses are
 * agreed. */
#ifndef AMPED_REPORT_H
#define AMPED_REPORT_H

#include "solver/iterate.h"
#include "session/memory_rows.h"
#include "session/session.h"
#include "tensor/dense_stats.h"

/* A JSON key about a metric (iterate.h), such as "fit_noise". */
typedef struct amped_metric_key {
  char text[64];
} amped_metric_key;

amped_metric_key amped_metric_key_of(const char *metric, const char *what);

/* Bytes that one rank needs, the sum of its rows, and bytes that it may use. */
typedef struct amped_memory_need {
  amped_memory_rows rows;
  uint64_t device_bytes, device_budget;
  uint64_t host_bytes;
  uint64_t held_bytes;             /* part of them that is allocated already */
  uint64_t node_ranks, node_bytes; /* ranks of this rank's node, and what they need together */
  uint64_t node_held;              /* part of them that is allocated already */
  uint64_t node_budget; /* bytes that the node has free, and node_held; with one rank also its own
                           limit */
  char lacking[512];    /* with --plan: the line about memory that is too small, or "" */
} amped_memory_need;

amped_status amped_report_start(amped_session *session);
amped_status amped_report_plan(amped_session *session, const amped_memory_need *need);
/* Warns if --exchange has no effect. */
void amped_report_way(const amped_session *session);
/* Measures the links between the ranks (link_rate.h), and warns if they are slow. Call before the
 * factors are filled. */
amped_status amped_report_exchange(amped_session *session);
/* Reports the loaded cells of a dense tensor, with their statistics. */
void amped_report_cells(amped_session *session, const amped_dense_stats *stats);
void amped_report_distributed(amped_session *session);
/* With -v: reports the peak host memory of rank 0, and of the other ranks, so far. */
void amped_report_memory(amped_session *session);
/* Reports a sweep. every: print each `every`-th sweep; 0: print all on a terminal, and fewer and
 * fewer in a log. JSON has all of them. */
amped_status amped_report_sweep(amped_session *session, const amped_sweep *sweep, uint64_t every);
/* Collective. The facts of such a report, for the caller to say and write; no words: no line. */
void amped_report_sweep_facts(const amped_session *session, const amped_sweep *sweep,
                              uint64_t every, amped_facts *out);
/* The first facts of a sweep; and times that only JSON has. */
void amped_report_sweep_head(amped_facts *facts, const amped_sweep *sweep);
void amped_report_sweep_times(amped_facts *facts, const amped_spread *mttkrp, double solve,
                              double exchange);
/* `every` of sweeps without a line. */
#define AMPED_NO_LINES UINT64_MAX
/* Is a line printed for this sweep? In a log with `every` 0, a note is printed at sweep 21, the
 * first without a line. */
bool amped_report_has_line(uint64_t sweep, uint64_t every);
/* Seconds of a part of a sweep, as lines show them: cut to four digits after the point, not
 * rounded. So the printed parts of a sweep never add up to more than its total, which is
 * rounded. */
double amped_report_part(double seconds);

#endif
