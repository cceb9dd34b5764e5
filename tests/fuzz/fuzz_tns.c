/* FROSTT text and its dialects, plain, gzip or zstd. */
#include "fuzz_file.h"
#include "io_tns.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  const char *path = fuzz_file(bytes, count);
  for (int base = AMPED_BASE_AUTO; base <= AMPED_BASE_1; base++) {
    const amped_read_options options = {.index_base = (amped_index_base)base};
    amped_sptensor t;
    memset(&t, 0, sizeof t);
    fuzz_check(amped_tns_read(path, &options, &t), path, &t);
  }
  return 0;
}
