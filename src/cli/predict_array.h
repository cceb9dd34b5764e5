/* Predicted array: the values of a model at all cells, written as a dense tensor (.npy, .h5). */
#ifndef AMPED_PREDICT_ARRAY_H
#define AMPED_PREDICT_ARRAY_H

#include "base/facts.h"
#include "cli/options.h"
#include "session/output_guard.h"
#include "tensor/predictor.h"

/* Is -o a name for a dense tensor? AMPED_USAGE if not. */
amped_status amped_predict_array_check(const amped_options *options);

/* Write -o piece by piece, in C's order; the memory does not grow with the cells. Predictions are
 * cut to --clip. Cells of --observed that are not missing are kept as they are; --observed must
 * have been probed if it is HDF5. found: the file that the output would replace. Adds numbers of
 * cells, and the errors at observed cells.
 *
 * AMPED_BAD_INPUT: --observed has other dimensions than the model, an infinite cell, or an integer
 * that no float holds. AMPED_USAGE: --type cannot hold its cells. AMPED_FAILED: a prediction is not
 * finite in the type of the cells. */
amped_status amped_predict_array(const amped_options *options, const amped_predictor *predictor,
                                 const amped_output *found, amped_facts *facts);

#endif
