/* Completion text: a completion model's facts (tensor/completion.h), for info and top; and its rows
 * without a learnt entry, for convert and plot. */
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

/* Set the rows and biases of indices without a learnt entry to the mean of the mode's others, which
 * predict counts for them, and say how many there are. path: the result. Order 0: nothing is set.
 */
amped_status amped_completion_fill(const char *path, amped_completion *c, amped_ktensor *k);

#endif
