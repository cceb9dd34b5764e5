/* Model cells: translate the indices of another tensor to a model's indices, by the rules of
 * text/index_match.h. Functions of host memory. */
#ifndef AMPED_MODEL_CELLS_H
#define AMPED_MODEL_CELLS_H

#include "tensor/ktensor.h"
#include "tensor/predictor.h"
#include "tensor/sptensor.h"

/* Find the index with a label; in a mode without labels, the text is the number of an index below
 * `dim`. *index is AMPED_PREDICTOR_COLD if there is none. `labels` must be distinct. */
void amped_model_index(const amped_labels *labels, uint64_t dim, const char *text, uint64_t length,
                       uint64_t *index);

/* Replace the tensor's indices by the model's; indices unknown to the model become
 * AMPED_PREDICTOR_COLD. Labels and dimensions stay. Messages say how labels and indices were
 * interpreted.
 *
 * AMPED_BAD_INPUT, with both files' names, if the modes differ, if an index is ambiguous, or if the
 * model has none of the indices of a needed mode. needed: [order], or NULL: no mode is needed.
 * keys_named: the user named the columns in order, so that other names than the model's are no
 * reason for a warning. */
amped_status amped_model_cells_translate(const char *model_path, const amped_ktensor *model,
                                         const char *path, bool keys_named, const bool *needed,
                                         amped_sptensor *t);

#endif
