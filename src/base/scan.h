/* Scan: reads a short text from left to right, character by character. Pure functions. */
#ifndef AMPED_SCAN_H
#define AMPED_SCAN_H

#include <stdbool.h>
#include <string.h>

static inline bool amped_is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* True if the next character is one of `any`; *at then moves behind it. */
static inline bool amped_take_char(const char **at, const char *any) {
  if (**at == '\0' || strchr(any, **at) == NULL)
    return false;
  (*at)++;
  return true;
}

#endif
