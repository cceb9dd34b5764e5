/* Tally: what several starts and several numbers of components came to, as tables and JSON lines.
 */
#ifndef AMPED_TALLY_H
#define AMPED_TALLY_H

#include "session/session.h"
#include "solver/multistart.h"

/* What one number of components came to. */
typedef struct amped_tally_row {
  int ncomps;
  double fit; /* of the best start, as is sweeps */
  uint64_t sweeps;
  double seconds;   /* in sweeps of all starts */
  double corcondia; /* in per cent, NaN where it was not computed */
  const char *path; /* borrowed; NULL: no file */
} amped_tally_row;

/* Collective; the status is agreed. After amped_starts_choose. */
amped_status amped_tally_starts(amped_run_state *run, const amped_starts *starts);

/* Likewise, at the end of the run. */
amped_status amped_tally_ranks(amped_run_state *run, const amped_tally_row *rows, int count);

#endif
