/* Checkpoint file: factors and state of a solver between two sweeps, in HDF5 (docs/file-format.md).
 * There are two generations: FILE, and the earlier FILE.prev.
 *
 * A checkpoint is written under a temporary name and flushed. Then FILE is renamed to FILE.prev,
 * and the new file to FILE. So one of them is complete at any moment. A file is untrusted on
 * reading, like a result. No function is collective; one thread at a time uses HDF5. */
#ifndef AMPED_CHECKPOINT_FILE_H
#define AMPED_CHECKPOINT_FILE_H

#include <stdbool.h>

#include "solver/solver_state.h"
#include "tensor/ktensor.h"

/* Key: a run can resume from a checkpoint only if both have the same key. Texts are borrowed. */
typedef struct amped_checkpoint_key {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  uint64_t hash; /* hash of the tensor */
  int ncomps;
  amped_vtype precision;
  uint64_t seed;
  const char *init;        /* "random" or a file's name */
  const char *metric;      /* name of the solver's metric; static text */
  bool has_grams;          /* the solver's state has grams, and so does the file */
  bool has_numbers;        /* the same for numbers */
  bool keeps_second;       /* the same for a second set of factors */
  const char *method;      /* name, if several methods have this metric; NULL: the first one */
  const char *loss;        /* NULL: squares */
  const char *accelerate;  /* how the solver is accelerated; NULL: not */
  const char *rows;        /* key of the row rule (row_rule.h); NULL: plain */
  const char *fixed;       /* fixed modes, and the hash of their factors; NULL: none */
  const char *last_column; /* "biases"; NULL: a component */
} amped_checkpoint_key;

/* The generation from which a checkpoint was read. */
typedef enum amped_generation {
  AMPED_GENERATION_NONE, /* there is no checkpoint */
  AMPED_GENERATION_LATEST,
  AMPED_GENERATION_PREVIOUS
} amped_generation;

/* Write a checkpoint. k: the factors; state: weights and the rest. keep_previous: FILE is damaged,
 * so the new file replaces it and FILE.prev stays. */
amped_status amped_checkpoint_file_write(const char *path, bool keep_previous,
                                         const amped_checkpoint_key *key, const amped_ktensor *k,
                                         const amped_solver_state *state);

/* Maximum number of bytes that a run's checkpoints take beyond FILE and FILE.prev as they are now:
 * two generations, and the next one while it is written. */
uint64_t amped_checkpoint_file_bytes(const char *path, int order, const uint64_t *dims, int ncomps,
                                     amped_vtype precision);

/* Read the latest generation that is complete, with a warning if it is FILE.prev. The caller frees
 * k and state. Returns AMPED_BAD_INPUT if both files are damaged, or if the complete file has
 * another key; the message names the difference. */
amped_status amped_checkpoint_file_read(const char *path, const amped_checkpoint_key *key,
                                        amped_ktensor *k, amped_solver_state *state,
                                        amped_generation *generation);

#endif
