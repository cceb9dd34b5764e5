/* Mode names: lookup of modes by name or number. */
#include "tensor/mode_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/format.h"

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

const char *amped_mode_names(char *buffer, const amped_labels *labels, int order) {
  char name[96];
  int used = 0;
  int named = 0;
  for (int m = 0; m < order && labels != NULL; m++)
    named += labels[m].name != NULL && *labels[m].name != '\0';
  if (named == 0) {
    (void)snprintf(buffer, AMPED_MODES_TEXT, "name modes, or number them from 1 to %d", order);
    return buffer;
  }
  used = snprintf(buffer, AMPED_MODES_TEXT, "its modes are ");
  for (int m = 0; m < order && used < AMPED_MODES_TEXT - 96; m++)
    if (labels[m].name != NULL && *labels[m].name != '\0')
      used += snprintf(buffer + used, AMPED_MODES_TEXT - (size_t)used, "%s, ",
                       amped_format_name(name, sizeof name, &labels[m]));
  (void)snprintf(buffer + used, AMPED_MODES_TEXT - (size_t)used, "or 1 to %d", order);
  return buffer;
}

amped_status amped_mode_list_find(const char *option, const char *list, const amped_labels *labels,
                                  int order, bool *chosen) {
  char names[AMPED_MODES_TEXT];
  for (;; list++) {
    const size_t n = strcspn(list, ",");
    const int shown = n < 64 ? (int)n : 64;
    const int mode = amped_mode_find(labels, order, list, n);
    if (mode == AMPED_MODE_NONE)
      return amped_error(AMPED_USAGE, NULL, "%s: the tensor has no mode %.*s; %s", option, shown,
                         list, amped_mode_names(names, labels, order));
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
