/* Checkpoint: saves a decomposition between sweeps, stops it on a signal, and resumes it.
 *
 * Every rank holds all factors. So rank 0 alone copies them out, and a thread of rank 0 writes them
 * while all ranks go on with the next sweeps. While the thread writes, no other checkpoint begins;
 * a due checkpoint waits for a later sweep. Statuses are agreed. */
#ifndef AMPED_CHECKPOINT_H
#define AMPED_CHECKPOINT_H

#include "session/checkpoint_options.h"
#include "session/session.h"
#include "solver/iterate.h"

typedef struct amped_checkpoint amped_checkpoint;

/* What a run has to have in common with the one before it, beside tensor and solver; texts are
 * borrowed. */
typedef struct amped_checkpoint_recipe {
  const char *method;     /* NULL: the first of those with its metric */
  const char *accelerate; /* NULL: not */
  const char *rows;       /* key of the row rule; NULL: plain */
} amped_checkpoint_recipe;

/* Collective, after the tensor is loaded. solver: its metric and grams are in the file. *out is
 * NULL without options->file. Fails where the file could not be written. From here on SIGTERM and
 * SIGUSR1 are caught. */
amped_status amped_checkpoint_open(amped_session *session, const amped_checkpoint_options *options,
                                   const amped_solver *solver,
                                   const amped_checkpoint_recipe *recipe, amped_checkpoint **out);

/* Collective: reads the factors and the state of the last checkpoint on every rank; of a solver
 * that keeps a second set of factors, also these (else NULL). Without a checkpoint, a line
 * tells the user and *found is false. The caller frees the state, and *best. */
amped_status amped_checkpoint_resume(amped_checkpoint *checkpoint, amped_solver_state *state,
                                     amped_saved_factors *best, bool *found);

/* Collective, after each sweep: begins a checkpoint if it is due. After a signal to any rank it
 * writes a checkpoint, waits for it and returns AMPED_STOPPED with its line. */
amped_status amped_checkpoint_sweep(amped_checkpoint *checkpoint, const amped_sweep *sweep);

/* Collective: wait until the thread has written the checkpoint. */
amped_status amped_checkpoint_wait(amped_checkpoint *checkpoint);

/* Waits as well, and frees. NULL is allowed. */
void amped_checkpoint_close(amped_checkpoint *checkpoint);

#endif
