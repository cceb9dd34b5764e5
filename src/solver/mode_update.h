/* Mode update: makes the new rows of one mode's factor on all ranks. AMPED, Algorithm 1.
 *
 * The steps: MTTKRP of the rank's nonzeros; row reduce of shared rows; the caller's row update;
 * exchange of the new rows. Where a block of rows is cut into parts (plan.h), the rows of a part
 * travel while later parts are computed. */
#ifndef AMPED_MODE_UPDATE_H
#define AMPED_MODE_UPDATE_H

#include "factor/context.h"

/* Row update: makes new rows of a factor from MTTKRP's rows. A function may be NULL. */
typedef struct amped_row_update {
  /* Called while MTTKRP goes on. */
  amped_status (*begin)(void *self, int mode);
  /* Rows first .. end of this rank's block: MTTKRP's rows are finished, the factor's become new. */
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
