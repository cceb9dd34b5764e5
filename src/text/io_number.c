/* Numbers in text: reading decimals with exact powers of ten, and printing the shortest exact
 * text. */
#include "text/io_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "tensor/cell_type.h"

/* Most characters of an excerpt. EXCERPT * AMPED_PRINTABLE_UNIT, and dots, fit in
 * AMPED_EXCERPT_BYTES. */
#define EXCERPT 32

/* A significand below 2^53 and a power of ten up to 10^22 are exact doubles. Their product or
 * quotient is therefore rounded once, correctly. */
#define EXACT_POWER 22
#define EXACT_SIGNIFICAND (UINT64_C(1) << 53)
/* Number of decimal digits that always fit in 64 bits. */
#define SAFE_DIGITS 19

/* Digits of the largest double. */
#define MOST_DIGITS 309

static const double powers_of_ten[EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static unsigned digit(char c) {
  return (unsigned)(unsigned char)c - '0';
}

/* Add digits to the significand. The count leaves out leading zeros, and stops just above
 * SAFE_DIGITS. */
static const char *take_digits(const char *p, uint64_t *significand, int *count) {
  unsigned d;
  while ((d = digit(*p)) <= 9) {
    if (*significand != 0 || d != 0)
      (*count)++;
    if (*count <= SAFE_DIGITS)
      *significand = *significand * 10 + d;
    else
      *count = SAFE_DIGITS + 1;
    p++;
  }
  return p;
}

/* Read an exponent such as "e-12" after a significand. Returns p if there is none; NULL if it is
 * malformed. */
static const char *take_exponent(const char *p, long *exponent) {
  bool negative = false;
  *exponent = 0;
  if (*p != 'e' && *p != 'E')
    return p;
  p++;
  if (*p == '+' || *p == '-')
    negative = *p++ == '-';
  if (digit(*p) > 9)
    return NULL;
  for (; digit(*p) <= 9; p++)
    if (*exponent < 1000000)
      *exponent = *exponent * 10 + (long)digit(*p);
  if (negative)
    *exponent = -*exponent;
  return p;
}

const char *amped_number_decimal(const char *p, double *out) {
  const char *begin = p;
  uint64_t significand = 0;
  int count = 0;
  long exponent = 0;
  bool negative = *p == '-';
  if (*p == '-' || *p == '+')
    p++;
  const char *whole = p;
  p = take_digits(p, &significand, &count);
  ptrdiff_t digits = p - whole;
  ptrdiff_t decimals = 0;
  if (*p == '.') {
    const char *point = p + 1;
    p = take_digits(point, &significand, &count);
    decimals = p - point;
  }
  if (digits + decimals == 0)
    return NULL;
  p = take_exponent(p, &exponent);
  if (p == NULL)
    return NULL;
  /* strtod reads numbers with many decimals, so that no difference of exponents can overflow
   * here. */
  if (count <= SAFE_DIGITS && significand < EXACT_SIGNIFICAND && decimals <= 1000) {
    long power = exponent - (long)decimals;
    if (power >= -EXACT_POWER && power <= EXACT_POWER) {
      double v = (double)significand;
      v = power < 0 ? v / powers_of_ten[-power] : v * powers_of_ten[power];
      *out = negative ? -v : v;
      return p;
    }
  }
  /* The text is checked, so strtod reads exactly these characters. */
  *out = strtod(begin, NULL);
  return p;
}

bool amped_number_is_cut(const char *begin, const char *end) {
  char exact[MOST_DIGITS + 2];
  while (begin < end && (*begin == '-' || *begin == '+' || *begin == '0'))
    begin++;
  const char *whole = begin;
  while (whole < end && digit(*whole) <= 9)
    whole++;
  const ptrdiff_t digits = whole - begin;
  const char *rest = whole + (whole < end && *whole == '.');
  while (rest < end && *rest == '0')
    rest++;
  if (rest < end || digits <= AMPED_EXACT_DIGITS || digits > MOST_DIGITS)
    return false;
  uint64_t value = 0;
  if (digits <= SAFE_DIGITS && amped_number_u64(begin, &value) != NULL)
    return amped_integer_is_cut(value);
  (void)snprintf(exact, sizeof exact, "%.0f", strtod(begin, NULL));
  return strncmp(exact, begin, (size_t)digits) != 0;
}

bool amped_number_is_gone(const char *begin, const char *end) {
  for (; begin < end && *begin != 'e' && *begin != 'E'; begin++)
    if (*begin >= '1' && *begin <= '9')
      return true;
  return false;
}

int amped_number_print_u64(char *buffer, uint64_t v) {
  char digits[AMPED_NUMBER_BYTES];
  int n = 0;
  do {
    digits[n++] = (char)('0' + v % 10);
    v /= 10;
  } while (v > 0);
  for (int i = 0; i < n; i++)
    buffer[i] = digits[n - 1 - i];
  buffer[n] = '\0';
  return n;
}

int amped_number_print(char *buffer, double v) {
  if (fabs(v) < (double)EXACT_SIGNIFICAND && v == trunc(v)) {
    int sign = signbit(v) ? 1 : 0;
    buffer[0] = '-';
    return sign + amped_number_print_u64(buffer + sign, (uint64_t)fabs(v));
  }
  int n = 0;
  for (int precision = 15; precision <= 17; precision++) {
    n = snprintf(buffer, AMPED_NUMBER_BYTES, "%.*g", precision, v);
    if (strtod(buffer, NULL) == v)
      break;
  }
  return n;
}

const char *amped_number_excerpt(char *buffer, const char *begin, const char *end) {
  char unit[AMPED_PRINTABLE_UNIT];
  size_t used = 0;
  for (int n = 0; n < EXCERPT && begin < end; n++) {
    begin += amped_printable_next(begin, (uint64_t)(end - begin), unit);
    used += (size_t)snprintf(buffer + used, AMPED_EXCERPT_BYTES - used, "%s", unit);
  }
  (void)snprintf(buffer + used, AMPED_EXCERPT_BYTES - used, "%s", begin < end ? "..." : "");
  return buffer;
}
