/* Completion report: runs and sweeps of a completion, as lines for the user and as JSON lines.
 * Collective; the statuses are agreed. */
#ifndef AMPED_COMPLETION_REPORT_H
#define AMPED_COMPLETION_REPORT_H

#include "session/session.h"
#include "solver/complete/complete_search.h"
#include "solver/complete/gap_errors.h"

/* Report the training, validation and test entries, once before the runs. labels: [order], the
 * tensor's on rank 0; names of the modes are read. */
amped_status amped_completion_report_problem(amped_session *session,
                                             const amped_complete_problem *problem,
                                             const amped_labels *labels);
/* Rank 0: warn that missing cells are whole fibres (solver/complete/whole_gaps.h), and name the
 * option that holds out such fibres. */
void amped_completion_report_gaps(const amped_session *session, const bool *fibres,
                                  const amped_labels *labels);
/* Report that a run begins. init: the source of its start; NULL: random. shows: as a line, too, not
 * in JSON only. */
amped_status amped_completion_report_run(amped_session *session,
                                         const amped_complete_problem *problem, int run, int start,
                                         double reg, const char *init, bool shows);
/* Report that a run has ended. best: number of the run with the best sweep so far. sweep: number of
 * this run's best sweep, from 1. shows: as a line, too, in place of lines for its sweeps; a run
 * that ended early has a line in any case. */
amped_status amped_completion_report_run_end(amped_session *session,
                                             const amped_complete_problem *problem, int run,
                                             int start, double reg, const char *init, int best,
                                             uint64_t sweep, const amped_solver_result *result,
                                             bool shows);
/* Report a sweep. every: print each `every`-th sweep; 0: print all on a terminal, and fewer and
 * fewer in a log. JSON has all of them. */
amped_status amped_completion_report_sweep(amped_session *session, const amped_sweep *sweep,
                                           const amped_complete_sweep *details, uint64_t every);
/* Report the best model of all runs. Warn of gaps that it does not know: of indices without a known
 * cell, and of indices with a larger expected error than the reported one. labels: as above. gaps:
 * empty if they were not measured. path: its file; NULL: none is written. */
amped_status amped_completion_report_end(amped_session *session,
                                         const amped_complete_problem *problem,
                                         const amped_complete_best *best,
                                         const amped_labels *labels, const amped_gap_errors *gaps,
                                         double seconds, const char *path);

#endif
