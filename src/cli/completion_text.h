/* What commands tell of a completion model (tensor/completion.h). */
#ifndef AMPED_COMPLETION_TEXT_H
#define AMPED_COMPLETION_TEXT_H

#include <jansson.h>

#include "tensor/completion.h"

/* "0.5 train, 0.75 validate in the best sweep, 2 of 3", in a caller's buffer, which is returned. */
#define AMPED_COMPLETION_TEXT 192
const char *amped_completion_errors_text(const amped_completion *c, char *buffer);

/* The lines of info; `metric` names the errors. */
void amped_completion_say(const amped_completion *c, const char *metric);

/* Add its members to a JSON object. false: out of memory. */
bool amped_completion_json(const amped_completion *c, json_t *object);

#endif
