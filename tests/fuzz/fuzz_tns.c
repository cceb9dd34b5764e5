/* FROSTT text and its dialects, plain, gzip or zstd, with each index base in turn. */
#include "tests/fuzz/fuzz_file.h"
#include "text/io_tns.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static const amped_index_base bases[] = {AMPED_BASE_AUTO, AMPED_BASE_0, AMPED_BASE_1};
  const char *path = fuzz_file(bytes, count);
  const amped_read_options options = {.index_base = bases[fuzz_variant(bytes, count, 3)]};
  amped_sptensor t;
  memset(&t, 0, sizeof t);
  fuzz_check(amped_tns_read(path, &options, &t), path, &t);
  return 0;
}
