/* Model cells: what the indices of another tensor are in a model.
 *
 * Where both have labels in a mode, indices of the same label are the same. Where the tensor alone
 * has labels, they are the model's indices, counted from 1. Elsewhere indices are the same. Pure
 * functions of host memory. */
#ifndef AMPED_MODEL_CELLS_H
#define AMPED_MODEL_CELLS_H

#include "tensor/ktensor.h"
#include "tensor/predictor.h"
#include "tensor/sptensor.h"

/* *index = that of a label, or of an index counted from 1 where there are no labels; its mode has
 * `dim` indices. AMPED_PREDICTOR_COLD: there is no such index. `labels` repeat none. */
void amped_model_index(const amped_labels *labels, uint64_t dim, const char *text, uint64_t length,
                       uint64_t *index);

/* Turn the tensor's indices into the model's; those that the model lacks become
 * AMPED_PREDICTOR_COLD. Labels and dimensions stay. AMPED_BAD_INPUT, with both files' names, where
 * the orders differ, modes have the names of others, or labels of a mode of the model repeat. */
amped_status amped_model_cells_translate(const char *model_path, const amped_ktensor *model,
                                         const char *path, amped_sptensor *t);

#endif
