/* Completion file: what the result file of a completion model has in addition to weights and
 * factors (docs/file-format.md). This is: attributes of the root, /bias/k, /observed/k, /lengths,
 * and the lists /METRIC/train, validate and test.
 *
 * Reading trusts nothing: every number must be finite, and every size must match the model. Host
 * memory; not collective. */
#ifndef AMPED_COMPLETION_FILE_H
#define AMPED_COMPLETION_FILE_H

#include "hdf5/hdf5_metric.h"
#include "tensor/completion.h"

/* For the writer of results: write the completion's part into a result without one. order:
 * component r of the file is component order[r] of c. */
amped_status amped_completion_put(amped_hdf5 *file, const amped_hdf5_metric *metric,
                                  const amped_completion *c, const int *order);
/* Upper bound on the file bytes of the completion's part. */
uint64_t amped_completion_file_bytes(int order, const uint64_t *dims, int ncomps, uint64_t sweeps);

/* Is the result a completion model? AMPED_BAD_INPUT if it is another model, unknown to this
 * build. */
amped_status amped_completion_is(amped_hdf5 *file, bool *out);

/* Read the completion's part from a result with these dimensions; out->order is 0 if the result is
 * a plain decomposition. whole: with biases and observed rows; otherwise these are NULL.
 * AMPED_FAILED if free memory is too small. Free with amped_completion_free. */
amped_status amped_completion_file_read(const char *path, int order, const uint64_t *dims,
                                        bool whole, amped_completion *out);

#endif
