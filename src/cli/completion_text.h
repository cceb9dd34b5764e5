/* Completion text: a completion model's facts (tensor/completion.h), as lines and JSON. */
#ifndef AMPED_COMPLETION_TEXT_H
#define AMPED_COMPLETION_TEXT_H

#include <jansson.h>

#include "tensor/completion.h"

/* Format the errors of the best sweep: "0.5 train, 0.75 validate in the best sweep, 2 of 3".
 * Returns the buffer, of AMPED_COMPLETION_TEXT bytes. */
#define AMPED_COMPLETION_TEXT 192
const char *amped_completion_errors_text(const amped_completion *c, char *buffer);

/* Print the model's lines for info. metric: name of the errors. */
void amped_completion_say(const amped_completion *c, const char *metric);

/* Add the model's facts to a JSON object. Returns false if memory is short. */
bool amped_completion_json(const amped_completion *c, json_t *object);

#endif
