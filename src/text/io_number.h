/* Numbers in text: strict, fast, and exact both ways.
 *
 * The readers take a number from its first character and return a pointer behind its last, or NULL
 * where the text is not such a number; the caller decides what may follow. Some character that
 * cannot be part of a number (a blank, a separator, a line end) must stand behind it in memory.
 * Pure functions, no allocation; the C locale is assumed. */
#ifndef AMPED_IO_NUMBER_H
#define AMPED_IO_NUMBER_H

#include "base/types.h"

/* Decimal digits only: no sign, no blanks. NULL also beyond 64 bits. */
static inline const char *amped_number_u64(const char *p, uint64_t *out) {
  const char *begin = p;
  uint64_t v = 0;
  unsigned d;
  while ((d = (unsigned)(unsigned char)*p - '0') <= 9) {
    /* Nineteen digits always fit; the rare twentieth is checked. */
    if (p - begin >= 19 && v > (UINT64_MAX - d) / 10)
      return NULL;
    v = v * 10 + d;
    p++;
  }
  *out = v;
  return p > begin ? p : NULL;
}

/* [+-] digits [. digits] [e [+-] digits], correctly rounded; infinite where a double cannot hold
 * it. No names ("nan", "inf"), no hexadecimal. */
const char *amped_number_decimal(const char *p, double *out);

/* Enough for either writer, with the final null. */
#define AMPED_NUMBER_BYTES 32

/* Write, and return the length. Doubles become the shortest of 15, 16 or 17 digits that reads back
 * exactly; whole numbers below 2^53 have neither point nor exponent. v is finite. */
int amped_number_print_u64(char *buffer, uint64_t v);
int amped_number_print(char *buffer, double v);

/* The text begin .. end for a message: at most 32 characters of it, unprintable ones as '?'. */
#define AMPED_EXCERPT_BYTES 40
const char *amped_number_excerpt(char *buffer, const char *begin, const char *end);

#endif
