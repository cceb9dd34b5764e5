/* Summary: the results of several starts, and of several numbers of components, as tables and JSON
 * lines. */
#ifndef AMPED_SUMMARY_H
#define AMPED_SUMMARY_H

#include "session/session.h"
#include "solver/cpd/multistart.h"

/* The result of one number of components. */
typedef struct amped_summary_row {
  int ncomps;
  const char *metric; /* name of the metric (iterate.h) */
  double value;       /* value of the best start */
  uint64_t sweeps;    /* sweeps of the best start */
  double seconds;     /* seconds of all sweeps of all starts */
  double corcondia;   /* core consistency in per cent; NaN if it was not computed */
  const char *path;   /* borrowed; NULL: no file */
} amped_summary_row;

/* Collective; the status is agreed. Reports all starts; call after amped_multistart_choose. */
amped_status amped_summary_starts(amped_session *session, const amped_multistart *starts);

/* Collective; the status is agreed. Reports all numbers of components, at the end of the run. */
amped_status amped_summary_ranks(amped_session *session, const amped_summary_row *rows, int count);

#endif
