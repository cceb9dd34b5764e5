/* Completion file: the part of a result file that a completion model has beside weights and factors
 * (docs/file-format.md): attributes of the root, /bias/k, /observed/k, /lengths, and the lists
 * /METRIC/train, validate and test.
 *
 * Untrusted on reading: every number is finite, every size is that of the model. Host memory; not
 * collective. */
#ifndef AMPED_COMPLETION_FILE_H
#define AMPED_COMPLETION_FILE_H

#include "hdf5/hdf5_metric.h"
#include "tensor/completion.h"

/* For the writer of results: all of it, into a result that has none. order: component r of the file
 * is order[r] of c. */
amped_status amped_completion_put(amped_hdf5 *file, const amped_hdf5_metric *metric,
                                  const amped_completion *c, const int *order);
/* The most bytes of a file that it takes, of so many components and sweeps. */
uint64_t amped_completion_file_bytes(int order, const uint64_t *dims, int ncomps, uint64_t sweeps);

/* Is the result a completion model? AMPED_BAD_INPUT where it is another model that this build does
 * not know. */
amped_status amped_completion_is(amped_hdf5 *file, bool *out);

/* Read it from a result with these dimensions; out->order is 0 where the result is a plain
 * decomposition. whole: with biases and observed rows, else these
 * are NULL. AMPED_FAILED where free memory does not
 * hold it. Free with amped_completion_free. */
amped_status amped_completion_file_read(const char *path, int order, const uint64_t *dims,
                                        bool whole, amped_completion *out);

#endif
