/* Result file: weights, factors and the record of a run (docs/file-format.md).
 *
 * Reading trusts nothing, as for a tensor file. Written as a draft (base/draft.h). Host memory; not
 * collective. */
#ifndef AMPED_RESULT_FILE_H
#define AMPED_RESULT_FILE_H

#include <stdbool.h>

#include "hdf5/hdf5_metric.h"
#include "tensor/completion.h"
#include "tensor/duplicates.h"
#include "tensor/ktensor.h"
#include "tensor/signs.h"

/* Starts of a run; the file holds the best one's result. count 0: there was one start. Arrays are
 * borrowed. */
typedef struct amped_run_starts {
  uint64_t count;
  uint64_t *seeds, *sweeps; /* [count] */
  uint64_t *normal;         /* [count] 1: begun from normal factors; 0: from uniform ones */
  double *values;           /* [count] metric after the last sweep */
  const double *match;      /* [count][count] factor match scores */
} amped_run_starts;

/* Record of a result; strings and arrays are borrowed. Written as attributes of the root: input,
 * input_norm (f64), metric, options (JSON text), seed (u64), version, stop_reason. corcondia (f64)
 * is written if it was computed, duplicates (text) if there were some, and loss and normalisation
 * (texts) if there is a loss. input_dims is taken from the ktensor. */
typedef struct amped_run_record {
  const char *input;
  double input_norm; /* NaN: unknown, and not written */
  uint64_t input_hash;
  amped_duplicates duplicates; /* rule that made repeated cells of the input one; others are not
                                  written */
  const char *options;
  uint64_t seed;
  const char *init;        /* start of this model: a word or file of --init; part of the options */
  const char *stop_reason; /* "tolerance", "iterations" */
  const char *loss; /* loss that the run made small; NULL: squares. Columns of factors then have sum
                       1, otherwise unit length */
  const char *metric;    /* name of the number that sweeps improve: hdf5_metric.h */
  const double *history; /* [sweeps] metric; unused for a completion, which has its own lists */
  uint64_t sweeps;
  const amped_completion *completion; /* NULL: a plain decomposition */
  amped_run_starts starts;
  const double *corcondia; /* NULL: not computed */
  uint64_t fixed;          /* bit m: mode m's factor is another model's; all signs and the order of
                              components stay if there are such modes */
  uint64_t nonnegative;    /* bit m: mode m has no negative entries, so its signs stay */
} amped_run_record;

/* Write a result. Components are in descending order of weight; equal weights keep their order.
 * With fixed modes they stay in place, and so do signs. Otherwise signs are normalised as in
 * tensor/signs.h, except in context modes and nonnegative modes. */
amped_status amped_result_file_write(const char *path, const amped_ktensor *k,
                                     const amped_run_record *record);

/* Upper bound on the file bytes, with factors of `type`; labels may be NULL. A completion's part is
 * additional (formats/completion_file.h). */
uint64_t amped_result_file_bytes(int order, const uint64_t *dims, int ncomps, amped_vtype type,
                                 const amped_labels *labels);

/* Parts of the writer, also for checkpoints. put_factors writes the factors as elements of `type`
 * to `group` (/factors or another), with components in `order` and with `signs`; NULL: unchanged.
 * check_written checks that weights and factors in the draft can be opened again. */
amped_status amped_result_put_factors(amped_hdf5 *file, const char *group, const amped_ktensor *k,
                                      const int *order, const amped_signs *signs, amped_vtype type);
amped_status amped_result_check_written(int fd, const char *path, int order);

/* Read /weights, /factors/k and, if present, /labels; any float type. Nothing else is required, so
 * any h5py script can write such a file. Every value must be finite. AMPED_FAILED if free memory is
 * too small. Free with amped_ktensor_free. */
amped_status amped_result_file_read(const char *path, amped_ktensor *out);

/* Read a result in pieces, for commands that need no whole factor. `out` has order, dimensions and
 * weights, but no factors or labels. visit NULL: factors are opened but not read. Otherwise `begin`
 * is called with `out`, then `rows` with rows first .. first + count of each factor, as
 * [count][ncomps], in order. */
typedef struct amped_result_visit {
  amped_status (*begin)(void *context, const amped_ktensor *k);
  amped_status (*rows)(void *context, int mode, uint64_t first, uint64_t count, const double *rows);
  void *context;
} amped_result_visit;
amped_status amped_result_file_scan(const char *path, const amped_result_visit *visit,
                                    amped_ktensor *out);

/* Read the labels of the indices in `places`, which ascend (hdf5/hdf5_labels.h). */
amped_status amped_result_file_labels(const char *path, int mode, uint64_t dim,
                                      const uint64_t *places, uint64_t count, amped_labels *out);

/* Read a start, which the user may have changed. `changed` names the first dataset that disagrees
 * with its content hash, or is "". The caller decides whether to accept it. */
amped_status amped_result_file_read_start(const char *path, amped_ktensor *out,
                                          char changed[AMPED_HDF5_NAME]);

/* Read order, dimensions and number of components, or this number alone, and no dataset: damage is
 * reported when they are read. There is nothing to free. */
amped_status amped_result_file_read_shape(const char *path, amped_ktensor *out);
amped_status amped_result_file_read_ncomps(const char *path, int *out);

/* Read every dataset of a result or checkpoint. AMPED_BAD_INPUT if one is damaged. *sealed: every
 * dataset has a content hash. */
amped_status amped_result_file_verify(const char *path, bool *sealed);

/* Is this HDF5 file a result (or a start for --init, or a checkpoint) rather than a tensor? */
amped_status amped_result_file_is(const char *path, bool *out);

/* AMPED_BAD_INPUT if this result is a checkpoint of complete: it has factors without the mean, the
 * scale and the biases of their model. Call before using its factors as a model. */
amped_status amped_result_file_check_model(const char *path);

/* Is it a checkpoint of complete? False also for a file that cannot be read, or was changed: no
 * error is recorded. */
bool amped_result_file_is_part(const char *path);

/* List of numbers in a result. */
typedef struct amped_result_list {
  uint64_t count;
  double last, least, most; /* valid if count > 0 */
  double *values;           /* [count], or NULL */
} amped_result_list;

/* Metric of a result or checkpoint, as stored: after each sweep, and of each start. */
typedef struct amped_result_metric {
  char name[AMPED_METRIC_NAME];
  amped_result_list sweeps, starts;
} amped_result_metric;

/* Read the metric, for commands that show results. A missing list has count 0; every value is
 * finite. whole: with the values; otherwise they are only read in pieces. Free with
 * amped_result_metric_free, which accepts a zeroed or freed object. */
amped_status amped_result_file_metric(const char *path, bool whole, amped_result_metric *out);
void amped_result_metric_free(amped_result_metric *metric);

/* For the command info. number: a number that is an attribute of the root (NaN: missing). text: a
 * text attribute, truncated to the buffer ("": missing). */
amped_status amped_result_file_number(const char *path, const char *name, double *out);
/* *out: do the columns sum to 1, as in a model of counts? Otherwise they have unit length. */
amped_status amped_result_file_has_sums(const char *path, bool *out);
amped_status amped_result_file_text(const char *path, const char *name, char *buffer,
                                    uint64_t size);

#endif
