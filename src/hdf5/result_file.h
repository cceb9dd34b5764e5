/* Result file: weights, factors and the record of a run, as docs/file-format.md describes.
 *
 * Untrusted on reading, like a tensor file; a temporary name, flush and rename on writing. Not
 * collective. */
#ifndef AMPED_RESULT_FILE_H
#define AMPED_RESULT_FILE_H

#include <stdbool.h>

#include "hdf5/hdf5_file.h"
#include "tensor/ktensor.h"

/* The starts of which a result is the best; count 0: there was one. */
typedef struct amped_run_starts {
  uint64_t count;
  uint64_t *seeds, *sweeps; /* [count] */
  double *fits;             /* [count] */
  const double *match;      /* [count][count] factor match scores */
} amped_run_starts;

/* The record that goes with a result; strings are borrowed. Written as attributes of the root:
 * input, input_norm (f64), input_dims comes from the ktensor, options (JSON text), seed (u64),
 * version, stop_reason, corcondia (f64) where computed. */
typedef struct amped_run_record {
  const char *input;
  double input_norm;
  uint64_t input_hash;
  const char *options;
  uint64_t seed;
  const char *stop_reason; /* "tolerance", "iterations" */
  const char *metric;      /* name of the number that sweeps improve: its dataset is "/NAME" */
  const double *history;   /* [sweeps] the metric */
  uint64_t sweeps;
  amped_run_starts starts;
  const double *corcondia; /* NULL: not computed */
} amped_run_record;

/* Components are written in order of descending weight (ties keep their order). */
amped_status amped_result_file_write(const char *path, const amped_ktensor *k,
                                     const amped_run_record *record);

/* Parts of that, for checkpoints too. The factors of a file that is being written, components in
 * this order (NULL: as they are), as elements of `type`; and: can weights and factors of what was
 * written under a temporary name be opened again? */
amped_status amped_result_put_factors(amped_hdf5 *file, const amped_ktensor *k, const int *order,
                                      amped_vtype type);
amped_status amped_result_check_written(const char *temporary, const char *path, int order);

/* /weights, /factors/k and, where present, /labels; any float class. Nothing else is asked of the
 * file, so that any h5py script can write one. Every value must be finite. */
amped_status amped_result_file_read(const char *path, amped_ktensor *out);

/* Is this HDF5 file a result (or a start for --init, or a checkpoint), and not a tensor? */
amped_status amped_result_file_is(const char *path, bool *out);

/* A list of numbers of a result, "/fit" or "/starts/fit" (amped_alloc'd; *count 0 where the file
 * has none); a number that is an attribute of the root (NaN where absent); a text attribute (""
 * where absent; truncated to the buffer). For info and top. */
amped_status amped_result_file_list(const char *path, const char *name, double **list,
                                    uint64_t *count);
amped_status amped_result_file_number(const char *path, const char *name, double *out);
amped_status amped_result_file_text(const char *path, const char *name, char *buffer,
                                    uint64_t size);

#endif
