/* Numbers in text: our readers agree with the C library, and writing is exact. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "text/io_number.h"

static void check_u64(const char *text) {
  uint64_t found = 0;
  char *stop = NULL;
  char buffer[AMPED_NUMBER_BYTES];
  const char *end = amped_number_u64(text, &found);
  errno = 0;
  unsigned long long expected = strtoull(text, &stop, 10);
  if (end == NULL) {
    fuzz_require(text[0] < '0' || text[0] > '9' || errno == ERANGE);
    return;
  }
  fuzz_require(errno == 0 && end == stop && found == expected);
  int n = amped_number_print_u64(buffer, found);
  fuzz_require(n > 0 && (size_t)n == strlen(buffer) && strtoull(buffer, NULL, 10) == found);
}

static void check_decimal(const char *text) {
  double found = 0.0;
  double back = 0.0;
  char *stop = NULL;
  char buffer[AMPED_NUMBER_BYTES];
  const char *end = amped_number_decimal(text, &found);
  if (end == NULL)
    return;
  double expected = strtod(text, &stop);
  /* "0x1" is a zero for us, followed by other text. */
  bool hexadecimal = end < stop && (*end == 'x' || *end == 'X');
  fuzz_require(hexadecimal || (end == stop && memcmp(&found, &expected, sizeof found) == 0));
  if (!isfinite(found))
    return;
  int n = amped_number_print(buffer, found);
  fuzz_require(n > 0 && n < AMPED_NUMBER_BYTES && (size_t)n == strlen(buffer));
  fuzz_require(amped_number_decimal(buffer, &back) == buffer + n);
  fuzz_require(memcmp(&found, &back, sizeof found) == 0);
}

/* Print and read the double that the bytes encode. */
static void check_print(const uint8_t *bytes, size_t count) {
  double v = 0.0;
  double back = 0.0;
  char buffer[AMPED_NUMBER_BYTES];
  memcpy(&v, bytes, count < sizeof v ? count : sizeof v);
  if (!isfinite(v))
    return;
  int n = amped_number_print(buffer, v);
  fuzz_require(amped_number_decimal(buffer, &back) == buffer + n);
  fuzz_require(memcmp(&v, &back, sizeof v) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char excerpt[AMPED_EXCERPT_BYTES];
  char *text = malloc(count + 1);
  fuzz_require(text != NULL);
  memcpy(text, bytes, count);
  text[count] = '\0';
  check_u64(text);
  check_decimal(text);
  check_print(bytes, count);
  (void)amped_number_excerpt(excerpt, text, text + count);
  fuzz_require(strlen(excerpt) < sizeof excerpt);
  free(text);
  return 0;
}
