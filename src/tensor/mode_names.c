/* Mode names: lookup of modes by name or number. */
#include "tensor/mode_names.h"

#include <stdlib.h>
#include <string.h>

/* Most digits of a mode's number. */
#define DIGITS 8

static bool is_named(const amped_labels *labels, const char *text, size_t length) {
  return labels->name != NULL && strlen(labels->name) == length &&
         memcmp(labels->name, text, length) == 0;
}

/* The number from 1 to order; 0: no such number. */
static int number_of(int order, const char *text, size_t length) {
  int number = 0;
  if (length > DIGITS)
    return 0;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9')
      return 0;
    number = 10 * number + (text[i] - '0');
  }
  return number <= order ? number : 0;
}

int amped_mode_find(const amped_labels *labels, int order, const char *text, size_t length) {
  for (int m = 0; labels != NULL && m < order; m++)
    if (is_named(&labels[m], text, length))
      return m;
  const int number = number_of(order, text, length);
  if (number > 0)
    return number - 1;
  return labels == NULL && length > 0 ? AMPED_MODE_LATER : AMPED_MODE_NONE;
}

amped_status amped_mode_list_find(const char *option, const char *list, const amped_labels *labels,
                                  int order, bool *chosen) {
  for (;; list++) {
    const size_t n = strcspn(list, ",");
    const int shown = n < 64 ? (int)n : 64;
    const int mode = amped_mode_find(labels, order, list, n);
    if (mode == AMPED_MODE_NONE)
      return amped_error(AMPED_USAGE, NULL,
                         "%s: the tensor has no mode %.*s; name modes, or number them from 1 to %d",
                         option, shown, list, order);
    if (mode >= 0 && chosen[mode])
      return amped_error(AMPED_USAGE, NULL, "%s: mode %.*s is named twice; leave out one", option,
                         shown, list);
    if (mode >= 0)
      chosen[mode] = true;
    list += n;
    if (*list == '\0')
      return AMPED_OK;
  }
}
