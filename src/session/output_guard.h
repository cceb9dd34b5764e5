/* Output guard: decides which files a run may replace.
 *
 * A run may write to a free name, an empty file, a pipe or a device. It may replace a file that is
 * marked as this program's result or tensor of the same input. Any other file is replaced only if
 * the user gives --overwrite. The table in output_guard.c has a row for each kind of output: what a
 * file of that kind must look like.
 *
 * There are two steps: a look before the work begins, and a comparison as soon as the run knows the
 * hash of its tensor. Host memory; not collective. A refusal is AMPED_FAILED. */
#ifndef AMPED_OUTPUT_GUARD_H
#define AMPED_OUTPUT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "tensor/sptensor.h"

typedef enum amped_output_kind {
  AMPED_OUTPUT_RESULT,
  AMPED_OUTPUT_TENSOR,
  AMPED_OUTPUT_CHECKPOINT, /* no --resume: both generations are checked */
  AMPED_OUTPUT_STATE,      /* new stream: all files of the state are checked */
  AMPED_OUTPUT_LINES,      /* the file of --json */
  AMPED_OUTPUT_TRACE,
  AMPED_OUTPUT_PLOT, /* a picture, its data and its script, with AMPED_OUTPUT_PLOT_MARK in each */
  AMPED_OUTPUT_PLAIN /* text and arrays, which have no mark of the program that made them */
} amped_output_kind;

/* Mark near the beginning or the end of each file of a plot. */
#define AMPED_OUTPUT_PLOT_MARK "made by amped_mpi plot"

/* The file that an output would replace. */
typedef struct amped_output {
  const char *path; /* borrowed */
  bool compared;    /* the file is this program's result or tensor; amped_output_compare decides */
  uint64_t hash;    /* hash of the file's input */
  uint64_t ncomps;  /* components of a result */
  int order;        /* order of a result's input; 0: not known */
  uint64_t dims[AMPED_MAX_ORDER];
} amped_output;

/* Dimensions and labels, in which tensors of the same nonzeros may differ. labels: [order]; NULL:
 * none. */
typedef struct amped_output_shape {
  int order;
  const uint64_t *dims;
  const amped_labels *labels;
} amped_output_shape;

/* Refuses a file that this program did not make, or that is of another kind. overwrite: nothing is
 * refused. Opens HDF5 files: call before MPI starts (hdf5/hdf5_probe.h). */
amped_status amped_output_look(const char *path, amped_output_kind kind, bool overwrite,
                               amped_output *out);

/* Refuses PATH.prev if it is not a checkpoint or state, as `kind` says: a run that resumes from
 * PATH would replace it. A damaged checkpoint or state is accepted. */
amped_status amped_output_look_previous(const char *path, amped_output_kind kind);

/* Refuses a result of another input, or with another number of components. dims: the input's; NULL:
 * they may differ. Prints a line if a file will be replaced. */
amped_status amped_output_compare_result(const amped_output *output, uint64_t hash, int order,
                                         const uint64_t *dims, int ncomps);

/* Refuses a tensor, a list or an array, of other nonzeros, dimensions or labels. hash: the
 * nonzeros'. Prints a line if a file will be replaced. Not after MPI has started. */
amped_status amped_output_compare_tensor(const amped_output *output, uint64_t hash,
                                         const amped_output_shape *shape);

/* amped_output_look, then amped_json_open. path: may be NULL or "-". */
amped_status amped_output_json(const char *path, bool overwrite, amped_json **out);

#endif
