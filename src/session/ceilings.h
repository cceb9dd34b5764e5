/* Ceilings: the rates of the ranks' devices, measured when a run's sizes are known: rows gathered
 * at random from tables as large as the factors, memory read in order, and multiply-adds. They
 * bound MTTKRP, the work on factor rows, and row fits. */
#ifndef AMPED_CEILINGS_H
#define AMPED_CEILINGS_H

#include "session/session.h"

/* Of the slowest rank. A rate is 0 where some rank has no room for the table. */
typedef struct amped_gather_ceiling {
  uint64_t rows; /* of the table */
  double rows_per_sec;
} amped_gather_ceiling;

typedef struct amped_ceilings {
  int count;
  amped_gather_ceiling gather[AMPED_MAX_ORDER]; /* [count] one for each distinct dimension */
  double read_rate;                             /* bytes a second */
} amped_ceilings;

/* Collective, after prepare; the status is agreed. The same on every rank. */
amped_status amped_ceilings_measure(const amped_session *session, amped_ceilings *out);

/* Collective; the status is agreed. Bytes a second in order, of the slowest rank; 0 where some rank
 * has no room for the table. */
amped_status amped_ceilings_read(const amped_session *session, double *per_sec);

/* Collective; the status is agreed. Multiply-adds a second of the slowest rank, in the run's
 * precision; 0 where some rank has no room for the matrices. */
amped_status amped_ceilings_multiply(const amped_session *session, double *per_sec);

/* Collective. Seconds in which the rank that has most to do gathers all input rows of mode's
 * MTTKRP; 0 where not known. */
double amped_ceilings_mttkrp(const amped_session *session, const amped_ceilings *ceilings,
                             int mode);

#endif
