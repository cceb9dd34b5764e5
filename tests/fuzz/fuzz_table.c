/* Tables: .csv as quoted text, .tsv split at tabs; all columns are keys, or one is a value. */
#include "tests/fuzz/fuzz_file.h"
#include "text/io_table.h"

/* The reader decides by the suffix: make a link, with a suffix, to the file in memory. */
static const char *linked(const char *file, bool tabs) {
  static char paths[2][64];
  char *path = paths[tabs];
  if (path[0] == '\0') {
    (void)snprintf(path, sizeof paths[0], "testing.%ld.fuzz.%s", (long)getpid(),
                   tabs ? "tsv" : "csv");
    (void)unlink(path);
    fuzz_require(symlink(file, path) == 0);
  }
  return path;
}

static void forget(void) {
  (void)unlink(linked("", false));
  (void)unlink(linked("", true));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static bool registered;
  unsigned variant = fuzz_variant(bytes, count, 4);
  const char *path = linked(fuzz_file(bytes, count), variant % 2 == 1);
  const amped_read_options options = {.index_base = AMPED_BASE_AUTO,
                                      .value = variant / 2 == 1 ? "value" : NULL};
  amped_sptensor t;
  memset(&t, 0, sizeof t);
  fuzz_check(amped_table_read(path, &options, &t), path, &t);
  if (!registered)
    registered = atexit(forget) == 0;
  return 0;
}
