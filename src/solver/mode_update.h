/* Mode update: makes the new rows of one mode's factor on all ranks. AMPED, Algorithm 1.
 *
 * The steps: work over the rank's nonzeros, which is MTTKRP in CP-ALS; row reduce of shared rows;
 * the caller's row update; exchange of the new rows. Where a block of rows is cut into parts
 * (plan.h), the rows of a part travel while later parts are computed. */
#ifndef AMPED_MODE_UPDATE_H
#define AMPED_MODE_UPDATE_H

#include "factor/context.h"

/* Work: one way over this rank's nonzeros, from which the rows of a mode follow. Statuses are this
 * rank's own. */
typedef struct amped_mode_work {
  /* Starts the work of mode; it may go on after the return. Not collective. */
  amped_status (*begin)(void *self, int mode);
  /* Returns when rows of this part, and of all earlier parts, are there. Sets *times with the last
   * part. Called for all parts in ascending order. Not collective. */
  amped_status (*wait)(void *self, int mode, int part, amped_mttkrp_times *times);
  /* Collective, once a mode, after the last part was waited for: sums of several ranks become whole
   * on their owners. A rank that fails exchanges like the others. Rows of earlier parts are in use
   * by then, so such sums are rows of the last part (plan/overlap.h). */
  amped_status (*reduce)(void *self, int mode);
  void *self;
} amped_mode_work;

/* MTTKRP by the worker's format, into the factor set's output. The context outlives the work. */
amped_mode_work amped_mttkrp_work(const amped_context *context);

/* Collective; the status is agreed. MTTKRP of mode alone: own rows of the output are whole. */
amped_status amped_mode_mttkrp(const amped_context *context, int mode, amped_mttkrp_times *times);

/* Row update: makes new rows of a factor from the rows of the work. begin, rows and finish may be
 * NULL. */
typedef struct amped_row_update {
  amped_mode_work work;
  /* Called while the work goes on. */
  amped_status (*begin)(void *self, int mode);
  /* Rows first .. end of this rank's block: the work's rows are there, the factor's become new. */
  amped_status (*rows)(void *self, int mode, uint64_t first, uint64_t end);
  /* Collective, when all own rows are new. arrived: the other ranks' new rows are here, too. Else
   * the exchange follows. `status` is this rank's own so far; that of the return is agreed, such as
   * by amped_comm_sum_agreed. */
  amped_status (*finish)(void *self, int mode, bool arrived, amped_status status);
  void *self;
} amped_row_update;

/* Wall seconds of this rank. Where rows travel in parts, mttkrp is the time that no exchange or row
 * update of earlier parts hides. copy and compute come from the tensor format. */
typedef struct amped_mode_times {
  double mttkrp, copy, compute, solve, exchange;
} amped_mode_times;

/* Collective. Adds to *times. `status` is this rank's own so far. A rank with a failure does no
 * work of its own, but makes all collective calls, up to a finish that returns a failure: that one
 * is agreed, and all ranks leave. Any other status that is returned is this rank's own; the caller
 * brings it to its next agreement. */
amped_status amped_mode_update(const amped_context *context, int mode, amped_status status,
                               const amped_row_update *update, amped_mode_times *times);

#endif
