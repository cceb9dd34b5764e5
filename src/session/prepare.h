/* Prepare: all steps between the start of a session and the first sweep.
 *
 * It opens the backend on every rank and the input on the ranks that read. It makes the plan and
 * compares the memory that the plan needs with the free memory. Then it loads the tensor. Where the
 * options name a shape, there is no input: every rank makes its shard of a synthetic tensor. */
#ifndef AMPED_PREPARE_H
#define AMPED_PREPARE_H

#include "session/session.h"

/* The needs and checks of a command, which prepare takes into account. */
typedef struct amped_demand {
  /* Bytes of rank 0's host memory for every element of the factors, for the command's result. */
  uint64_t result_bytes;
  /* Adds the bytes that the solver takes of every rank's device and host memory; NULL: none. */
  void (*solver_bytes)(const amped_plan *plan, const void *context, uint64_t *device_bytes,
                       uint64_t *host_bytes);
  /* A row's nonzeros lie together: copies get no tiles. */
  bool whole_rows;
  /* The option that visits nonzeros in any order, so that none may be streamed; NULL: none does. */
  const char *resident;
  /* Values are centred before they are rounded (tensor/value_map.h): the plan has a map. */
  bool centres;
  /* session->negative_squares is wanted. */
  bool watches_negative;
  /* The command takes dense tensors, too. */
  bool takes_cells;
  /* The command can leave a dense tensor's cells in their file; NULL: it cannot. Collective, with
   * the bytes that this rank takes with its slab: are they more than fits, or than the user allows,
   * on any rank? The same on every rank. */
  bool (*left_outside)(const amped_session *session, const amped_requirement *required,
                       const void *context);
  /* The command asks nothing of copies but MTTKRP and products, so that one may serve all modes. */
  bool takes_one_copy;
  /* What of the command asks for this, such as "--whole"; NULL: all of it. */
  const char *part;
  /* The command's own check of its options against the plan and the worker's operations, before a
   * nonzero is read. It gives the same on every rank. NULL: none. */
  amped_status (*check)(const amped_worker *worker, const amped_plan *plan, const void *context);
  const void *context;
} amped_demand;

/* Collective, after start; the status is agreed. Prints its steps and writes the JSON lines "start"
 * and "plan". With options->plan_only it returns after the plan. AMPED_FAILED with a remedy where
 * memory is too small. */
amped_status amped_session_prepare(amped_session *session, const amped_demand *demand);

/* AMPED_USAGE where the session's tensor is dense; the same on every rank. `part` as in the demand.
 */
amped_status amped_session_refuse_cells(const amped_session *session, const char *part);

#endif
