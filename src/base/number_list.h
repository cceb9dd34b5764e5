/* Number list: whole numbers as a user lists them, "1,4-6", in the given order, each once.
 *
 * For lists of components: numbers are from 1 to AMPED_MAX_NCOMPS. An option of type CUSTOM keeps
 * one as a field of its struct; count 0 means that the option was not given. */
#ifndef AMPED_NUMBER_LIST_H
#define AMPED_NUMBER_LIST_H

#include <stdbool.h>

#include "base/types.h"

typedef struct amped_number_list {
  int count;
  int numbers[AMPED_MAX_NCOMPS];
} amped_number_list;

/* Text for messages about wrong lists: the expected form. */
#define AMPED_NUMBER_LIST_EXPECTED "a list of numbers and ranges such as 1,4-6, each number once"

/* Parse numbers and ranges FIRST-LAST (FIRST <= LAST), separated by commas. Returns false, with an
 * undefined list, if the text is malformed, or if a number is repeated or not from 1 to
 * AMPED_MAX_NCOMPS. */
bool amped_number_list_parse(const char *text, amped_number_list *out);

/* The first number of the list that is above `most`; 0 if there is none. */
int amped_number_list_above(const amped_number_list *list, int most);

#endif
