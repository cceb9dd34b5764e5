/* Numbers in text: strict, fast, and exact in both directions.
 *
 * A reader parses a number at the start of the text and returns a pointer to the first character
 * after it. It returns NULL if the text is not such a number. The caller checks the character that
 * follows. In memory the number must be followed by a character that cannot be part of one: a
 * blank, a separator or a line end. Pure functions, no allocation; the C locale is assumed. */
#ifndef AMPED_IO_NUMBER_H
#define AMPED_IO_NUMBER_H

#include "base/types.h"

/* Read decimal digits only: no sign, no blanks. NULL also for numbers beyond 64 bits. */
static inline const char *amped_number_u64(const char *p, uint64_t *out) {
  const char *begin = p;
  uint64_t v = 0;
  unsigned d;
  while ((d = (unsigned)(unsigned char)*p - '0') <= 9) {
    /* Nineteen digits always fit; the rare twentieth digit is checked. */
    if (p - begin >= 19 && v > (UINT64_MAX - d) / 10)
      return NULL;
    v = v * 10 + d;
    p++;
  }
  *out = v;
  return p > begin ? p : NULL;
}

/* Read [+-] digits [. digits] [e [+-] digits], correctly rounded; infinite if the number is too
 * large for a double. No names ("nan", "inf"), no hexadecimal. */
const char *amped_number_decimal(const char *p, double *out);

/* Numbers of this many characters are held exactly if they are whole. */
#define AMPED_EXACT_DIGITS 15

/* Is begin .. end, a number as amped_number_decimal reads it, a whole number without an exponent
 * that no double equals? */
bool amped_number_is_cut(const char *begin, const char *end);

/* Is begin .. end, which amped_number_decimal reads as 0, another number? It is too near 0. */
bool amped_number_is_gone(const char *begin, const char *end);

/* Buffer size for either writer, with the final null. */
#define AMPED_NUMBER_BYTES 32

/* Write a number and return its length. A double becomes the shortest text of 15, 16 or 17 digits
 * that reads back exactly. Whole numbers below 2^53 have neither point nor exponent. v must be
 * finite. */
int amped_number_print_u64(char *buffer, uint64_t v);
int amped_number_print(char *buffer, double v);

/* Write the text begin .. end for a message: at most 32 of its characters, in printable form
 * (base/printable.h). */
#define AMPED_EXCERPT_BYTES 400
const char *amped_number_excerpt(char *buffer, const char *begin, const char *end);

#endif
