/* Completion report: runs and sweeps of a completion, as lines for the user and as JSON lines.
 * Collective; the statuses are agreed. */
#ifndef AMPED_COMPLETION_REPORT_H
#define AMPED_COMPLETION_REPORT_H

#include "session/session.h"
#include "solver/complete_search.h"

/* What is learnt and what validates, once. */
amped_status amped_completion_report_problem(amped_session *session,
                                             const amped_complete_problem *problem);
/* A run begins. init: its start; NULL: random. */
amped_status amped_completion_report_run(amped_session *session,
                                         const amped_complete_problem *problem, int run, int start,
                                         double reg, const char *init);
/* A line for every `every` sweeps; 0: for each, in a log for fewer and fewer. JSON has them all. */
amped_status amped_completion_report_sweep(amped_session *session, const amped_sweep *sweep,
                                           const amped_complete_sweep *details, uint64_t every);
/* The best of all. path NULL: no file. */
amped_status amped_completion_report_end(amped_session *session,
                                         const amped_complete_problem *problem,
                                         const amped_complete_best *best, double seconds,
                                         const char *path);

#endif
