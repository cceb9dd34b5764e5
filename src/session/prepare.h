/* Prepare: everything between the start of a session and the first sweep.
 *
 * Opens the backend on every rank and the input on those that read, makes the plan, compares the
 * memory that it needs with what there is, and (unless that was all) distributes the tensor. Where
 * the options name a shape there is no input: every rank makes its share of a synthetic tensor. */
#ifndef AMPED_PREPARE_H
#define AMPED_PREPARE_H

#include "session/session.h"

/* What a command asks of the session that is prepared for it. */
typedef struct amped_demand {
  /* Bytes of rank 0's host memory for every element of the factors, beside all else. */
  uint64_t result_bytes;
  /* Bytes of every rank's host memory that the solver takes; NULL: none. */
  uint64_t (*solver_bytes)(const amped_plan *plan, const void *context);
  /* The command's own check of its options against the plan, before a nonzero is read, the same on
   * every rank; NULL: none. */
  amped_status (*check)(const amped_plan *plan, const void *context);
  const void *context;
} amped_demand;

/* Collective, after start; the status is agreed. Says what it does, and writes the JSON lines
 * "start" and "plan". With options->plan_only it returns after the plan. */
amped_status amped_session_prepare(amped_session *session, const amped_demand *demand);

#endif
