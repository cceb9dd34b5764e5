/* Known cells: the entries of a file of --exclude, as indices of a model. */
#ifndef AMPED_KNOWN_CELLS_H
#define AMPED_KNOWN_CELLS_H

#include "cli/options.h"
#include "tensor/completion.h"
#include "tensor/sptensor.h"

/* Does entry i of a tensor that was read from `path` stand for an event? With a model of --implicit
 * a value of 0 does not. */
bool amped_known_cells_event(const amped_options *o, const amped_completion *c, amped_format format,
                             const amped_sptensor *t, uint64_t i);

/* Read the file, and keep the events whose indices in the needed modes ([order]) are in the model;
 * lines count the others. An option for reading that is for a second argument alone does not apply.
 * Indices of other modes may be AMPED_PREDICTOR_COLD. o->args[0] is the file of the model.
 * AMPED_BAD_INPUT if the model has none of the indices of a needed mode. Free the tensor with
 * amped_sptensor_free. */
amped_status amped_known_cells_read(const amped_options *o, const char *path,
                                    const amped_ktensor *k, const amped_completion *c,
                                    const bool *needed, amped_sptensor *out);

#endif
