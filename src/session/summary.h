/* Tally: what several starts and several numbers of components came to, as tables and JSON lines.
 */
#ifndef AMPED_SUMMARY_H
#define AMPED_SUMMARY_H

#include "session/session.h"
#include "solver/multistart.h"

/* What one number of components came to. */
typedef struct amped_summary_row {
  int ncomps;
  const char *metric; /* its name (iterate.h) */
  double value;       /* of the best start, as is sweeps */
  uint64_t sweeps;
  double seconds;   /* in sweeps of all starts */
  double corcondia; /* in per cent, NaN where it was not computed */
  const char *path; /* borrowed; NULL: no file */
} amped_summary_row;

/* Collective; the status is agreed. After amped_multistart_choose. */
amped_status amped_summary_starts(amped_session *session, const amped_multistart *starts);

/* Likewise, at the end of the run. */
amped_status amped_summary_ranks(amped_session *session, const amped_summary_row *rows, int count);

#endif
