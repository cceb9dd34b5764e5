/* Fuzz targets: each fuzz_NAME.c is one entry point, which libFuzzer or driver.c calls.
 *
 * A target accepts any bytes. The reader under test must end with a status and free all memory, and
 * any tensor or model that it accepts must be valid. A broken promise aborts. */
#ifndef AMPED_FUZZ_H
#define AMPED_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#define fuzz_require(condition)                                                                    \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      (void)fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition);        \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

#endif
