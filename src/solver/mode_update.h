/* Mode update: makes the new rows of one mode's factor on all ranks. AMPED, Algorithm 1.
 *
 * The steps: work over the rank's nonzeros, which is MTTKRP in CP-ALS; row reduce of shared rows;
 * the caller's row update; exchange of the new rows. Where a block of rows is cut into parts
 * (plan.h), the rows of a part travel while later parts are computed. */
#ifndef AMPED_MODE_UPDATE_H
#define AMPED_MODE_UPDATE_H

#include "factor/context.h"

/* Work: one way over this rank's nonzeros, from which the rows of a mode follow. */
typedef struct amped_mode_work {
  /* Starts the work of mode; it may go on after the return. */
  amped_status (*begin)(const amped_context *context, int mode);
  /* Returns when rows of this part, and of all earlier parts, are there. Sets *times with the last
   * part. Called for all parts in ascending order. */
  amped_status (*wait)(const amped_context *context, int mode, int part, amped_mttkrp_times *times);
  /* Collective, after the last part: shared rows become whole on their owners. */
  void (*reduce)(const amped_context *context, int mode);
} amped_mode_work;

/* MTTKRP into the factor set's output. */
extern const amped_mode_work amped_mttkrp_work;

/* Row update: makes new rows of a factor from the rows of the work. begin, rows and finish may be
 * NULL. */
typedef struct amped_row_update {
  const amped_mode_work *work;
  /* Called while the work goes on. */
  amped_status (*begin)(void *self, int mode);
  /* Rows first .. end of this rank's block: the work's rows are there, the factor's become new. */
  amped_status (*rows)(void *self, int mode, uint64_t first, uint64_t end);
  /* Called when all own rows are new. arrived: the other ranks' new rows are here, too. Else the
   * exchange follows. */
  amped_status (*finish)(void *self, int mode, bool arrived);
  void *self;
} amped_row_update;

/* Wall seconds of this rank. Where rows travel in parts, mttkrp is the time that no exchange or row
 * update of earlier parts hides. copy and compute come from the tensor format. */
typedef struct amped_mode_times {
  double mttkrp, copy, compute, solve, exchange;
} amped_mode_times;

/* Collective. Adds to *times. The status is this rank's own. After a failure the caller ends the
 * job, because other ranks may wait. */
amped_status amped_mode_update(const amped_context *context, int mode,
                               const amped_row_update *update, amped_mode_times *times);

#endif
