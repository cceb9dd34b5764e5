/* Number list: parser of "1,4-6". */
#include "base/number_list.h"

/* Parses a number without sign or suffix at *text, and moves *text behind it. */
static bool parse_number(const char **text, int *out) {
  const char *at = *text;
  int number = 0;
  for (; *at >= '0' && *at <= '9'; at++) {
    number = 10 * number + (*at - '0');
    if (number > AMPED_MAX_NCOMPS)
      return false;
  }
  if (at == *text || number < 1)
    return false;
  *text = at;
  *out = number;
  return true;
}

static bool parse_range(const char **text, int *first, int *last) {
  if (!parse_number(text, first))
    return false;
  *last = *first;
  if (**text != '-')
    return true;
  (*text)++;
  return parse_number(text, last) && *first <= *last;
}

bool amped_number_list_parse(const char *text, amped_number_list *out) {
  bool taken[AMPED_MAX_NCOMPS + 1] = {false};
  out->count = 0;
  for (;; text++) {
    int first = 0, last = 0;
    if (!parse_range(&text, &first, &last))
      return false;
    for (int n = first; n <= last; n++) {
      if (taken[n])
        return false;
      taken[n] = true;
      out->numbers[out->count++] = n;
    }
    if (*text != ',')
      return *text == '\0';
  }
}

int amped_number_list_above(const amped_number_list *list, int most) {
  for (int i = 0; i < list->count; i++)
    if (list->numbers[i] > most)
      return list->numbers[i];
  return 0;
}
