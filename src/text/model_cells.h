/* Model cells: what the indices of another tensor are in a model.
 *
 * By the rules of text/index_match.h. Functions of host memory. */
#ifndef AMPED_MODEL_CELLS_H
#define AMPED_MODEL_CELLS_H

#include "tensor/ktensor.h"
#include "tensor/predictor.h"
#include "tensor/sptensor.h"

/* *index = that of a label, or of the number of an index where there are no labels; its mode has
 * `dim` indices. AMPED_PREDICTOR_COLD: there is no such index. `labels` repeat none. */
void amped_model_index(const amped_labels *labels, uint64_t dim, const char *text, uint64_t length,
                       uint64_t *index);

/* Turn the tensor's indices into the model's; those that the model lacks become
 * AMPED_PREDICTOR_COLD. Labels and dimensions stay. Lines say what was taken for what.
 * AMPED_BAD_INPUT, with both files' names: the modes differ, an index tells no row, or the model
 * has none of the indices of a mode that is needed. needed: [order], or NULL: none is. */
amped_status amped_model_cells_translate(const char *model_path, const amped_ktensor *model,
                                         const char *path, const bool *needed, amped_sptensor *t);

#endif
