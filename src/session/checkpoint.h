/* Checkpoint: saves a decomposition between sweeps, stops it on a signal, and resumes it.
 *
 * Every rank holds all factors. Rank 0 alone copies them to host memory, and a thread of rank 0
 * writes them while all ranks continue with the next sweeps. While the thread writes, no other
 * checkpoint begins; a due checkpoint waits for a later sweep. Statuses are agreed. */
#ifndef AMPED_CHECKPOINT_H
#define AMPED_CHECKPOINT_H

#include "session/checkpoint_options.h"
#include "session/session.h"
#include "solver/iterate.h"

typedef struct amped_checkpoint amped_checkpoint;

/* Options that must be the same when a run is resumed, in addition to tensor and solver. Texts are
 * borrowed. */
typedef struct amped_checkpoint_recipe {
  const char *method;     /* NULL: the first method with its metric */
  const char *loss;       /* NULL: squares */
  const char *accelerate; /* NULL: no acceleration */
  const char *rows;       /* key of the row rule; NULL: plain */
  const char *fixed;      /* key of the fixed modes; NULL: none */
} amped_checkpoint_recipe;

/* Collective, after the tensor is loaded. solver: its metric and grams are stored in the file. *out
 * is NULL without options->file. Fails if the file cannot be written. From this call on, SIGTERM
 * and SIGUSR1 are caught. */
amped_status amped_checkpoint_open(amped_session *session, const amped_checkpoint_options *options,
                                   const amped_solver *solver,
                                   const amped_checkpoint_recipe *recipe, amped_checkpoint **out);

/* Collective: read the factors and the state of the last checkpoint on every rank. *best gets the
 * solver's second set of factors; best may be NULL if the solver keeps none. Without a checkpoint,
 * the user gets a line and *found is false. The caller frees the state and *best. */
amped_status amped_checkpoint_resume(amped_checkpoint *checkpoint, amped_solver_state *state,
                                     amped_saved_factors *best, bool *found);

/* Collective, after each sweep: begin a checkpoint if one is due. After a signal to any rank, write
 * a checkpoint, wait for it, and return AMPED_STOPPED with a message. */
amped_status amped_checkpoint_sweep(amped_checkpoint *checkpoint, const amped_sweep *sweep);

/* Collective: wait until the thread has written the checkpoint. */
amped_status amped_checkpoint_wait(amped_checkpoint *checkpoint);

/* Waits for the thread, and frees. NULL is allowed. */
void amped_checkpoint_close(amped_checkpoint *checkpoint);

#endif
