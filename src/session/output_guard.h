/* Output guard: decides which files a run may replace.
 *
 * A name that is free, an empty file, a pipe and a device may be written. A file that holds
 * something may be replaced where it says that this program made it, and of which input: a result
 * or a tensor of the same input. Everything else is lost only where the user gives --overwrite.
 * What a file of each kind must look like is a row of the table in output_guard.c.
 *
 * Two steps: a look before the work begins, and a comparison as soon as the run knows the hash of
 * its tensor. Host memory; not collective. A refusal is AMPED_FAILED. */
#ifndef AMPED_OUTPUT_GUARD_H
#define AMPED_OUTPUT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

typedef enum amped_output_kind {
  AMPED_OUTPUT_RESULT,
  AMPED_OUTPUT_TENSOR,
  AMPED_OUTPUT_CHECKPOINT, /* of a run that does not resume: both generations are looked at */
  AMPED_OUTPUT_STATE,      /* of a stream that begins: all its files are looked at */
  AMPED_OUTPUT_LINES,      /* of --json */
  AMPED_OUTPUT_TRACE,
  AMPED_OUTPUT_PLOT, /* a picture, its data and its script: AMPED_OUTPUT_PLOT_MARK is in them */
  AMPED_OUTPUT_PLAIN /* text and arrays, which do not tell who made them */
} amped_output_kind;

/* Near the beginning or the end of each file of a plot. */
#define AMPED_OUTPUT_PLOT_MARK "made by amped_mpi plot"

/* What stands in the place of an output. */
typedef struct amped_output {
  const char *path; /* borrowed */
  bool compared;    /* a result or tensor of this program, which amped_output_compare judges */
  uint64_t hash;    /* of its input */
  uint64_t ncomps;  /* of a result */
} amped_output;

/* Refuse what is not this program's, or of another kind. overwrite: nothing is refused. Opens HDF5
 * files: before MPI starts (hdf5/hdf5_probe.h). */
amped_status amped_output_look(const char *path, amped_output_kind kind, bool overwrite,
                               amped_output *out);

/* Refuse a PATH.prev that is no checkpoint or state, as `kind` says, and not a damaged one either:
 * a run that goes on from PATH would replace it. */
amped_status amped_output_look_previous(const char *path, amped_output_kind kind);

/* Refuse a result or tensor of another input, and a result with another number of components
 * (ncomps 0: a tensor). A line says that a file is replaced. */
amped_status amped_output_compare(const amped_output *output, uint64_t hash, int ncomps);

/* amped_json_open, after a look. path may be NULL or "-". */
amped_status amped_output_json(const char *path, bool overwrite, amped_json **out);

#endif
