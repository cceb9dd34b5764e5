/* Mode update: makes the new rows of one mode's factor on all ranks. AMPED, Algorithm 1.
 *
 * The steps: work over the rank's nonzeros, which is MTTKRP in CP-ALS; row reduce of shared rows;
 * the caller's row update; exchange of the new rows. If a block of rows is cut into parts (plan.h),
 * the rows of a part travel while later parts are computed. */
#ifndef AMPED_MODE_UPDATE_H
#define AMPED_MODE_UPDATE_H

#include "factor/context.h"

/* Work: one traversal of this rank's nonzeros, from which the rows of a mode follow. Statuses are
 * this rank's own. */
typedef struct amped_mode_work {
  /* Not collective. Start the work of mode; it may continue after the return. */
  amped_status (*begin)(void *self, int mode);
  /* Not collective. Wait until the rows of this part, and of all earlier parts, are ready. Sets
   * *times with the last part. Called for all parts in ascending order. */
  amped_status (*wait)(void *self, int mode, int part, amped_mttkrp_times *times);
  /* Collective, once per mode, after the wait for the last part. Sum shared rows on their owners. A
   * rank that fails exchanges like the others. Rows of earlier parts are already in use, so shared
   * rows belong to the last part (plan/overlap.h). */
  amped_status (*reduce)(void *self, int mode);
  void *self;
} amped_mode_work;

/* Returns MTTKRP by the worker's format, into the factor set's output. The context outlives the
 * work. */
amped_mode_work amped_mttkrp_work(const amped_context *context);

/* Collective; the status is agreed. Only the MTTKRP of mode: own rows of the output are
 * complete. */
amped_status amped_mode_mttkrp(const amped_context *context, int mode, amped_mttkrp_times *times);

/* Row update: makes new rows of a factor from the rows of the work. begin, rows and finish may be
 * NULL. */
typedef struct amped_row_update {
  amped_mode_work work;
  /* Called while the work goes on. */
  amped_status (*begin)(void *self, int mode);
  /* Make rows first .. end of this rank's block new. The work's rows are ready. */
  amped_status (*rows)(void *self, int mode, uint64_t first, uint64_t end);
  /* Collective, when all own rows are new. arrived: the other ranks' new rows have arrived, too.
   * Otherwise the exchange follows. status: this rank's own so far. The returned status is agreed,
   * for example by amped_comm_sum_agreed. */
  amped_status (*finish)(void *self, int mode, bool arrived, amped_status status);
  void *self;
} amped_row_update;

/* Wall seconds of this rank. If rows travel in parts, mttkrp is the time that no exchange or row
 * update of earlier parts hides. copy and compute come from the tensor format. */
typedef struct amped_mode_times {
  double mttkrp, copy, compute, solve, exchange;
} amped_mode_times;

/* Collective. Adds to *times. status: this rank's own so far. A rank with a failure does no work,
 * but makes all collective calls, up to a finish that returns a failure. This failure is agreed,
 * and all ranks leave. Any other returned status is this rank's own; the caller includes it in its
 * next agreement. */
amped_status amped_mode_update(const amped_context *context, int mode, amped_status status,
                               const amped_row_update *update, amped_mode_times *times);

#endif
