/* Completion text: a completion model's facts (tensor/completion.h), for info and top. */
#ifndef AMPED_COMPLETION_TEXT_H
#define AMPED_COMPLETION_TEXT_H

#include "base/facts.h"
#include "tensor/completion.h"
#include "tensor/labels.h"

/* Format the errors of the best sweep: "0.5 train, 0.75 validate in the best sweep, 2 of 3".
 * Returns the buffer, of AMPED_COMPLETION_TEXT bytes. */
#define AMPED_COMPLETION_TEXT 192
const char *amped_completion_errors_text(const amped_completion *c, char *buffer);

/* Add the model's facts, with lines for info. labels: [order], of which names are read. metric:
 * name of the errors. */
void amped_completion_facts(const amped_completion *c, const amped_labels *labels,
                            const char *metric, amped_facts *facts);

#endif
