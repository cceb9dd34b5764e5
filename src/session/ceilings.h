/* Ceilings: peak rates of the ranks' devices for this run's sizes: random row gathers from tables
 * as large as the factors, sequential memory reads, and multiply-adds. They bound MTTKRP, the work
 * on factor rows, and row fits. */
#ifndef AMPED_CEILINGS_H
#define AMPED_CEILINGS_H

#include "session/session.h"

/* Gather rate of the slowest rank. The rate is 0 if some rank has no memory for the table. */
typedef struct amped_gather_ceiling {
  uint64_t rows; /* rows of the table */
  double rows_per_sec;
} amped_gather_ceiling;

typedef struct amped_ceilings {
  int count;
  amped_gather_ceiling gather[AMPED_MAX_ORDER]; /* [count], one per distinct dimension */
  double read_rate;                             /* bytes per second */
} amped_ceilings;

/* Collective, after the plan is made; the status is agreed. *out is the same on every rank. Before
 * the worker is prepared, all memory of the device counts as free. */
amped_status amped_ceilings_measure(const amped_session *session, amped_ceilings *out);

/* Collective; the status is agreed. Sequential read rate of the slowest rank, in bytes per second;
 * 0 if some rank has no memory for the table. */
amped_status amped_ceilings_read(const amped_session *session, double *per_sec);

/* Collective; the status is agreed. Multiply-adds per second of the slowest rank, in the run's
 * precision; 0 if some rank has no memory for the matrices. */
amped_status amped_ceilings_multiply(const amped_session *session, double *per_sec);

/* Collective. Seconds that the rank with most nonzeros needs to gather all input rows of mode's
 * MTTKRP; 0 if a gather rate is not known. */
double amped_ceilings_mttkrp(const amped_session *session, const amped_ceilings *ceilings,
                             int mode);

/* Seconds that the slowest rank needs for a sweep over a dense tensor: to read its memory, and to
 * do its multiply-adds. 0: the rate is 0. */
typedef struct amped_sweep_ceiling {
  double bytes; /* this rank's */
  double bytes_sec, multiply_sec;
} amped_sweep_ceiling;

/* Collective. The ceiling at these rates. */
amped_sweep_ceiling amped_ceilings_sweep(const amped_session *session, double read_rate,
                                         double multiply_rate);

#endif
