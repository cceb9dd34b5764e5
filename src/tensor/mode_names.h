/* Mode names: the modes named in options, by a column's name or by number from 1.
 *
 * All options with modes share this rule: a name first, then a number. labels NULL: names are not
 * known yet, and a text that is no number from 1 to order is accepted. Pure functions. */
#ifndef AMPED_MODE_NAMES_H
#define AMPED_MODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "tensor/labels.h"

#define AMPED_MODE_NONE (-1)  /* there is no such mode */
#define AMPED_MODE_LATER (-2) /* perhaps a name: names are not known yet */

/* Find a mode. labels: [order], of which only names are read; a mode without one has NULL. */
int amped_mode_find(const amped_labels *labels, int order, const char *text, size_t length);

/* The modes there are, for a message about a mode that does not exist: "its modes are user, item,
 * week, or 1 to 3". Without names, or if they are not known yet: "name modes, or number them from 1
 * to 3". Returns the buffer, of AMPED_MODES_TEXT bytes. */
#define AMPED_MODES_TEXT 512
const char *amped_mode_names(char *buffer, const amped_labels *labels, int order);

/* Set chosen[m] for the modes of a list with commas. AMPED_USAGE, with the option's name and a
 * remedy, if a mode does not exist, or is named twice. */
amped_status amped_mode_list_find(const char *option, const char *list, const amped_labels *labels,
                                  int order, bool *chosen);

#endif
