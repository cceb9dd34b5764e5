/* Prepare: all steps between the start of a session and the first sweep.
 *
 * It opens the backend on every rank and the input on the ranks that read. It makes the plan and
 * compares the memory that the plan needs with the free memory. Then it loads the tensor. If the
 * options name a shape, there is no input: every rank makes its shard of a synthetic tensor. */
#ifndef AMPED_PREPARE_H
#define AMPED_PREPARE_H

#include "session/memory_rows.h"
#include "session/session.h"

/* Demand: the needs and checks of a command, which prepare takes into account. */
typedef struct amped_demand {
  /* Bytes of rank 0's host memory per element of the factors, for the command's result. */
  uint64_t result_bytes;
  /* Adds rows of the memory that the solver takes on this rank; NULL: none. */
  void (*solver_rows)(const amped_plan *plan, const void *context, amped_memory_rows *rows);
  /* All nonzeros of a row must lie together: copies get no tiles. */
  bool whole_rows;
  /* Name of the option that visits nonzeros in any order, so that none may be streamed; NULL:
   * none. */
  const char *resident;
  /* Values are centred before they are rounded (tensor/value_map.h): the plan has a map. */
  bool centres;
  /* Collective, with `centres`; the status is agreed. If some entries have weight 0, values of
   * others on rank 0, at most AMPED_VALUE_SAMPLE, and their number on every rank; else *count = 0.
   * NULL: there are no weights. */
  amped_status (*sample)(const amped_session *session, double *values, uint64_t *count,
                         void *context);
  void *sample_context;
  /* The command needs session->negative_squares. */
  bool watches_negative;
  /* The command also accepts dense tensors. */
  bool takes_cells;
  /* Collective: must a dense tensor's cells stay in their file? True if, on any rank, a slab needs
   * more bytes than fit or than the user allows. `required`: bytes that this rank takes with its
   * slab. The same on every rank. NULL: the command cannot work from the file. */
  bool (*left_outside)(const amped_session *session, const amped_requirement *required,
                       const void *context);
  /* The command makes a model for each number of components and start: at most this number side by
   * side; 0: the number that costs the least time. The session gets the groups. */
  bool has_models;
  int side_by_side;
  /* MTTKRPs of each mode in a sweep, for the expected time that --plan prints, and most sweeps; 0:
   * no time is expected. */
  double sweep_passes;
  uint64_t sweeps;
  /* The command needs only MTTKRP and products of copies, so that one copy may serve all modes. */
  bool takes_one_copy;
  /* The part of the command that has this demand, such as "--whole"; NULL: the whole command. */
  const char *part;
  /* Checks the command's options against the plan and the worker's operations, before any nonzero
   * is read. Must return the same on every rank. NULL: no check. */
  amped_status (*check)(const amped_worker *worker, const amped_plan *plan, const void *context);
  const void *context;
} amped_demand;

/* Collective, after start; the status is agreed. Prints its steps and writes the JSON lines "start"
 * and "plan". With options->plan_only it returns after the plan, with a warning if memory is
 * too small. Otherwise AMPED_FAILED, with a remedy, if it is. */
amped_status amped_session_prepare(amped_session *session, const amped_demand *demand);

/* Returns AMPED_USAGE if the session's tensor is dense; the same on every rank. part: option that
 * refuses it, such as "--whole", for the message; NULL: the whole command. */
amped_status amped_session_refuse_cells(const amped_session *session, const char *part);

#endif
