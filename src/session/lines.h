/* Lines: what models side by side report, in the order in which they would run one by one.
 *
 * The lines of the first model that has not ended appear at once. Lines of later models wait until
 * all models before them have ended, and until the caller allows them. Functions of a rank without
 * output (every rank but 0) do nothing. Not collective; statuses are this rank's own. */
#ifndef AMPED_LINES_H
#define AMPED_LINES_H

#include "base/facts.h"

typedef struct amped_lines amped_lines;

/* Lines of `models` models, numbered from 0. json: stream of JSON lines, or NULL. close accepts
 * NULL, and drops what waits. */
amped_status amped_lines_open(int models, bool has_output, amped_json *json, amped_lines **out);
void amped_lines_close(amped_lines *lines);

/* Report facts of a model: their words, if any, and the JSON line. Frees the facts. */
amped_status amped_lines_facts(amped_lines *lines, int model, amped_facts *facts);
/* Report words of a model without a JSON line. */
amped_status amped_lines_say(amped_lines *lines, int model, const char *words);

/* Allow the lines of the first `models` models; at first none. */
amped_status amped_lines_allow(amped_lines *lines, int models);

/* The model has ended. drop: forget its lines that wait. */
amped_status amped_lines_end(amped_lines *lines, int model);
void amped_lines_drop(amped_lines *lines, int model);

#endif
