/* The binsparse descriptor: JSON in an attribute. */
#include <string.h>

#include "formats/binsparse.h"
#include "tests/fuzz/fuzz.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  amped_binsparse found;
  char *text = malloc(count + 1);
  fuzz_require(text != NULL);
  memcpy(text, bytes, count);
  text[count] = '\0';
  amped_status status = amped_binsparse_parse("x.h5", text, &found);
  if (status == AMPED_OK) {
    fuzz_require(found.order >= AMPED_MIN_ORDER && found.order <= AMPED_MAX_ORDER);
    fuzz_require(found.index_base <= 1);
    for (int m = 0; m < found.order; m++)
      fuzz_require(found.dims[m] > 0 && found.dims[m] <= AMPED_MAX_DIM);
  } else {
    fuzz_require(status == AMPED_BAD_INPUT && strstr(amped_status_message(), "x.h5") != NULL);
    fuzz_require(strchr(amped_status_message(), '\n') == NULL);
    amped_status_clear();
  }
  fuzz_require(amped_mem_live() == 0);
  free(text);
  return 0;
}
