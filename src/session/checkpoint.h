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

/* Reason to stop: a checkpoint cannot be written. The result so far still can. */
#define AMPED_CHECKPOINT_LOST "lost checkpoint"

/* Options that must be the same when a run is resumed, in addition to tensor and solver. Texts are
 * borrowed. */
typedef struct amped_checkpoint_recipe {
  const char *method;     /* NULL: the first method with its metric */
  const char *loss;       /* NULL: squares */
  const char *accelerate; /* NULL: no acceleration */
  const char *rows;       /* key of the row rule; NULL: plain */
  const char *fixed;      /* key of the fixed modes; NULL: none */
  const char *init;       /* kind of the start, or the file of --init */
} amped_checkpoint_recipe;

/* Collective, after the tensor is loaded. solver: its metric and grams are stored in the file. *out
 * is NULL without options->file. Fails if the file cannot be written. From this call on, SIGTERM
 * and SIGUSR1 are caught. */
amped_status amped_checkpoint_open(amped_session *session, const amped_checkpoint_options *options,
                                   const amped_solver *solver,
                                   const amped_checkpoint_recipe *recipe, amped_checkpoint **out);

/* One of several models, each of which has a file of its own. */
typedef struct amped_checkpoint_model {
  const amped_context *context; /* borrowed, and read anew at every use */
  const char *file;             /* borrowed; the caller also holds the lock of options->file */
  uint64_t seed;
  bool is_quiet; /* no lines about files that are written or missing */
  /* The model that is writing, of all that share this: one thread at a time uses HDF5. */
  amped_checkpoint **writer;
} amped_checkpoint_model;

/* The same for one of several models. `model` is borrowed. */
amped_status
amped_checkpoint_open_model(amped_session *session, const amped_checkpoint_options *options,
                            const amped_solver *solver, const amped_checkpoint_recipe *recipe,
                            const amped_checkpoint_model *model, amped_checkpoint **out);

/* Collective: read the factors and the state of the last checkpoint on every rank. *best gets the
 * solver's second set of factors; best may be NULL if the solver keeps none. Without a checkpoint,
 * the user gets a line and *found is false. The caller frees the state and *best. */
amped_status amped_checkpoint_resume(amped_checkpoint *checkpoint, amped_solver_state *state,
                                     amped_saved_factors *best, bool *found);

/* Collective, after each sweep: begin a checkpoint if one is due. After a signal to any rank, write
 * a checkpoint, wait for it, and return AMPED_STOPPED with a message. */
amped_status amped_checkpoint_sweep(amped_checkpoint *checkpoint, const amped_sweep *sweep);

/* Collective, for one of several models: after its sweep, begin a checkpoint if one is due; or save
 * this state in any case, and wait until it is written. Signals are the caller's. */
amped_status amped_checkpoint_sweep_model(amped_checkpoint *checkpoint,
                                          const amped_solver_state *state);
amped_status amped_checkpoint_save_model(amped_checkpoint *checkpoint,
                                         const amped_solver_state *state);

/* Collective: wait until the thread has written the checkpoint. */
amped_status amped_checkpoint_wait(amped_checkpoint *checkpoint);

/* Waits for the thread, and frees. NULL is allowed. */
void amped_checkpoint_close(amped_checkpoint *checkpoint);

#endif
