/* Result file: weights, factors and the record of a run (docs/file-format.md).
 *
 * Untrusted on reading, like a tensor file. Written as a draft (base/draft.h). Host memory; not
 * collective. */
#ifndef AMPED_RESULT_FILE_H
#define AMPED_RESULT_FILE_H

#include <stdbool.h>

#include "hdf5/hdf5_metric.h"
#include "tensor/completion.h"
#include "tensor/ktensor.h"
#include "tensor/signs.h"

/* The starts whose best result is in the file; count 0: there was one start. Arrays are
 * borrowed. */
typedef struct amped_run_starts {
  uint64_t count;
  uint64_t *seeds, *sweeps; /* [count] */
  double *values;           /* [count] the metric */
  const double *match;      /* [count][count] factor match scores */
} amped_run_starts;

/* The record of a result; strings and arrays are borrowed. Written as attributes of the root:
 * input, input_norm (f64), metric, options (JSON text), seed (u64), version, stop_reason, and
 * corcondia (f64) where it was computed. input_dims comes from the ktensor. */
typedef struct amped_run_record {
  const char *input;
  double input_norm;
  uint64_t input_hash;
  const char *options;
  uint64_t seed;
  const char *stop_reason; /* "tolerance", "iterations" */
  const char *metric;      /* name of the number that sweeps improve: hdf5_metric.h */
  const double *history;   /* [sweeps] the metric; of a completion, its lists take the place */
  uint64_t sweeps;
  const amped_completion *completion; /* NULL: a plain decomposition */
  amped_run_starts starts;
  const double *corcondia; /* NULL: not computed */
  uint64_t nonnegative;    /* bit m: mode m has no negative entries, and keeps its signs */
} amped_run_record;

/* Components are written in descending order of weight; equal weights keep their order. Signs are
 * those of tensor/signs.h; context modes and nonnegative ones are kept. */
amped_status amped_result_file_write(const char *path, const amped_ktensor *k,
                                     const amped_run_record *record);

/* The most bytes of such a file, whose factors are elements of `type`; labels may be NULL. A
 * completion's part comes on top (hdf5/completion_file.h). */
uint64_t amped_result_file_bytes(int order, const uint64_t *dims, int ncomps, amped_vtype type,
                                 const amped_labels *labels);

/* Parts of the writer, for checkpoints too. The first writes the factors as elements of `type` to
 * the group /factors or another, components in this order and with these signs (NULL: unchanged).
 * The second checks that weights and factors in the draft can be opened again. */
amped_status amped_result_put_factors(amped_hdf5 *file, const char *group, const amped_ktensor *k,
                                      const int *order, const amped_signs *signs, amped_vtype type);
amped_status amped_result_check_written(int fd, const char *path, int order);

/* Read /weights, /factors/k and, where present, /labels; any float type. Nothing else is required
 * of the file, so any h5py script can write one. Every value must be finite. AMPED_FAILED where
 * free memory does not hold it. Free with amped_ktensor_free. */
amped_status amped_result_file_read(const char *path, amped_ktensor *out);

/* The same for commands that need no factor as a whole, in pieces: `out` has order, dimensions and
 * weights, no factor and no label. visit NULL: no factor is read, though opened. Else `begin` is
 * called with that; then `rows` with rows first .. first + count of each factor, as
 * [count][ncomps], in order. */
typedef struct amped_result_visit {
  amped_status (*begin)(void *context, const amped_ktensor *k);
  amped_status (*rows)(void *context, int mode, uint64_t first, uint64_t count, const double *rows);
  void *context;
} amped_result_visit;
amped_status amped_result_file_scan(const char *path, const amped_result_visit *visit,
                                    amped_ktensor *out);

/* Labels of these indices, which ascend (hdf5/hdf5_labels.h). */
amped_status amped_result_file_labels(const char *path, int mode, uint64_t dim,
                                      const uint64_t *places, uint64_t count, amped_labels *out);

/* The same for a start, which the user may have changed: `changed` names the first dataset that
 * disagrees with its content hash, or is "". The caller decides. */
amped_status amped_result_file_read_start(const char *path, amped_ktensor *out,
                                          char changed[AMPED_HDF5_NAME]);

/* Read every dataset of a result or checkpoint. AMPED_BAD_INPUT where one is damaged. *sealed: has
 * each of them a content hash? */
amped_status amped_result_file_verify(const char *path, bool *sealed);

/* Is this HDF5 file a result (or a start for --init, or a checkpoint) rather than a tensor? */
amped_status amped_result_file_is(const char *path, bool *out);

/* AMPED_BAD_INPUT if this result is a checkpoint of complete: factors without the mean, the scale
 * and the biases of their model. Asked before factors are taken for a model. */
amped_status amped_result_file_check_model(const char *path);

/* A list of numbers in a result. */
typedef struct amped_result_list {
  uint64_t count;
  double last, least, most; /* where count > 0 */
  double *values;           /* [count], or NULL */
} amped_result_list;

/* The metric of a result or checkpoint, as the file holds it: after each sweep, and of each start.
 */
typedef struct amped_result_metric {
  char name[AMPED_METRIC_NAME];
  amped_result_list sweeps, starts;
} amped_result_metric;

/* For commands that show results. A list that the file lacks has count 0; every value is finite.
 * whole: with the values, which are read in pieces otherwise. Free with the second function, which
 * takes a zeroed or freed object, too. */
amped_status amped_result_file_metric(const char *path, bool whole, amped_result_metric *out);
void amped_result_metric_free(amped_result_metric *metric);

/* For info. A number that is an attribute of the root (NaN: missing). A text attribute, truncated
 * to the buffer ("": missing). */
amped_status amped_result_file_number(const char *path, const char *name, double *out);
amped_status amped_result_file_text(const char *path, const char *name, char *buffer,
                                    uint64_t size);

#endif
