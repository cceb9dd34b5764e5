/* Checkpoint file: a run between two sweeps, in two generations: FILE, and FILE.prev, the one
 * before. HDF5, as docs/file-format.md describes.
 *
 * Written under a temporary name and flushed; then FILE becomes FILE.prev, and the new one FILE: at
 * any moment one of them is whole. Untrusted on reading, like a result. Not collective; one thread
 * at a time uses HDF5. */
#ifndef AMPED_CHECKPOINT_FILE_H
#define AMPED_CHECKPOINT_FILE_H

#include <stdbool.h>

#include "solver/solver_state.h"
#include "tensor/ktensor.h"

/* What a run must have in common with a checkpoint to go on from it; strings are borrowed. */
typedef struct amped_checkpoint_key {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  uint64_t hash; /* of the tensor */
  int ncomps;
  amped_vtype precision;
  uint64_t seed;
  const char *init;   /* "random" or a file's name */
  const char *metric; /* of the solver; static text */
} amped_checkpoint_key;

/* Which generation a checkpoint was read from. */
typedef enum amped_generation {
  AMPED_GENERATION_NONE, /* there is no checkpoint */
  AMPED_GENERATION_LATEST,
  AMPED_GENERATION_PREVIOUS
} amped_generation;

/* `k` holds the factors (its weights are ignored: they are state's). keep_previous: FILE, if there
 * is one, is damaged and is replaced, so that FILE.prev stays. */
amped_status amped_checkpoint_file_write(const char *path, bool keep_previous,
                                         const amped_checkpoint_key *key, const amped_ktensor *k,
                                         const amped_solver_state *state);

/* The latest generation that is whole; a warning where that is not FILE. AMPED_BAD_INPUT where both
 * are damaged, or where the one that is whole has another key: the line says what differs. */
amped_status amped_checkpoint_file_read(const char *path, const amped_checkpoint_key *key,
                                        amped_ktensor *k, amped_solver_state *state,
                                        amped_generation *generation);

/* Probe what is there before MPI starts, so that reading it forks no more; what is wrong with it is
 * left to amped_checkpoint_file_read. */
void amped_checkpoint_file_probe(const char *path);

#endif
