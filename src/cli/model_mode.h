/* Model mode: a mode of a model, or one of its labels, as an option names it: MODE or MODE:LABEL.
 *
 * MODE is a name or a number from 1, by the rule of tensor/mode_names.h. A label of a mode without
 * labels is the number of an index. The error lines name the option and the model's file,
 * and for a mode that does not exist the modes there are. */
#ifndef AMPED_MODEL_MODE_H
#define AMPED_MODEL_MODE_H

#include "tensor/ktensor.h"

typedef struct amped_model_mode {
  const char *path; /* file of the model, for messages */
  const amped_ktensor *k;
  const char *option; /* such as --for */
} amped_model_mode;

/* Find a mode. AMPED_USAGE if the model has no such mode. */
amped_status amped_model_mode_find(const amped_model_mode *m, const char *text, int *mode);

/* Split MODE:LABEL. MODE may contain colons: the first colon that ends a mode's name or number
 * counts. *label is NULL if the whole text names a mode; otherwise it points into the text.
 * AMPED_USAGE if the model has no such mode. */
amped_status amped_model_mode_split(const amped_model_mode *m, const char *text, int *mode,
                                    const char **label);

/* Find the index of a label. AMPED_BAD_INPUT if the mode has no such label or index. */
amped_status amped_model_mode_index(const amped_model_mode *m, int mode, const char *label,
                                    uint64_t *index);

#endif
