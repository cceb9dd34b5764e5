/* Mode update: new rows of one mode's factor, from MTTKRP to the last rank that needs them.
 *
 * MTTKRP of the rank's nonzeros; shared rows of split iDps made whole; new rows out of them, by a
 * row update that the caller gives; their exchange. Where a block of rows is cut into parts
 * (plan.h) a part's rows travel while later parts are computed. AMPED, Algorithm 1. */
#ifndef AMPED_MODE_UPDATE_H
#define AMPED_MODE_UPDATE_H

#include "factor/context.h"

/* What makes new rows of a factor out of MTTKRP's rows. A function may be NULL: nothing is done. */
typedef struct amped_row_update {
  /* While MTTKRP goes on. */
  amped_status (*begin)(void *self, int mode);
  /* Rows first .. end of this rank's block: MTTKRP's rows are finished, the factor's become new. */
  amped_status (*rows)(void *self, int mode, uint64_t first, uint64_t end);
  /* All own rows are new. `arrived`: so are all other ranks' rows, which have travelled already;
   * else this rank's block travels afterwards. */
  amped_status (*finish)(void *self, int mode, bool arrived);
  void *self;
} amped_row_update;

/* Wall seconds of this rank. Where rows travel in parts, mttkrp is the time that no exchange or row
 * update of earlier parts hides. copy and compute are what the tensor format tells. */
typedef struct amped_mode_times {
  double mttkrp, copy, compute, solve, exchange;
} amped_mode_times;

/* Collective. Adds to *times. The status is this rank's own; after a failure, which is inside a
 * collective phase, the caller ends the job. */
amped_status amped_mode_update(const amped_context *context, int mode,
                               const amped_row_update *update, amped_mode_times *times);

#endif
