/* Checkpoint: saves a decomposition between sweeps, stops it on a signal, and resumes it.
 *
 * Every rank holds all factors, so rank 0 alone copies them out and writes them, in a thread, while
 * all ranks go on with the next sweeps. One checkpoint is written at a time; the next waits until
 * the sweep after. Statuses are agreed. */
#ifndef AMPED_CHECKPOINT_H
#define AMPED_CHECKPOINT_H

#include "session/checkpoint_options.h"
#include "session/session.h"
#include "solver/iterate.h"

typedef struct amped_checkpoint amped_checkpoint;

/* Collective, once the tensor is distributed, for a solver with that metric (iterate.h; static
 * text); *out is NULL without options->file. Fails where
 * the file could not be written. From here on SIGTERM and SIGUSR1 are caught. */
amped_status amped_checkpoint_open(amped_session *session, const amped_checkpoint_options *options,
                                   const char *metric, amped_checkpoint **out);

/* Collective: the factors and state of the last checkpoint, on every rank. Where there is none, a
 * line says so and *found is false. The caller frees the state. */
amped_status amped_checkpoint_resume(amped_checkpoint *checkpoint, amped_solver_state *state,
                                     bool *found);

/* Collective, after each sweep: begins a checkpoint where one is due. After a signal to any rank it
 * is waited for, and AMPED_STOPPED returned, with its line. */
amped_status amped_checkpoint_sweep(amped_checkpoint *checkpoint, const amped_sweep *sweep);

/* Collective: wait for the one that is being written. */
amped_status amped_checkpoint_wait(amped_checkpoint *checkpoint);

/* Waits, too; NULL is allowed. */
void amped_checkpoint_close(amped_checkpoint *checkpoint);

#endif
