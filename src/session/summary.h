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
  uint64_t best;      /* the sweep whose value it is, from 1 */
  const char *reason; /* reason to stop of the best start (iterate.h) */
  double match;       /* mean factor match score of two starts; NaN: there was one start */
  double seconds;     /* seconds of all sweeps of all starts */
  double corcondia;   /* core consistency in per cent; NaN if it was not computed */
  const char *path;   /* borrowed; NULL: no file */
} amped_summary_row;

/* Mean factor match score of two starts, after amped_multistart_choose. NaN: there is one start. */
double amped_summary_match(const amped_multistart *starts);

/* Collective; the status is agreed. Reports all starts; call after amped_multistart_choose. shows:
 * as a table, too, not in JSON only. */
amped_status amped_summary_starts(amped_session *session, const amped_multistart *starts,
                                  bool shows);

/* Collective; the status is agreed. Reports all numbers of components, at the end of the run, also
 * with -q. compares: with columns of agreement and core consistency. */
amped_status amped_summary_ranks(amped_session *session, const amped_summary_row *rows, int count,
                                 bool compares);

#endif
