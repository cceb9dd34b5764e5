/* Tables: .csv as quoted text, .tsv split at tabs; all columns are keys, or one is a value, or
 * there is no header. */
#include "tests/fuzz/fuzz_file.h"
#include "text/io_table.h"
#include "base/log.h"

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
  unsigned variant = fuzz_variant(bytes, count, 8);
  const char *path = linked(fuzz_file(bytes, count), variant % 2 == 1);
  amped_log_verbosity(AMPED_QUIET);
  const bool valued = variant / 2 % 2 == 1;
  const bool bare = !valued && variant / 4 == 1; /* no header */
  const amped_read_options options = {.index_base = AMPED_BASE_AUTO,
                                      .value = valued ? "value" : NULL,
                                      .keys = bare ? "1,2,3" : NULL,
                                      .same_labels = bare ? "1,3" : NULL,
                                      .empty = variant / 4 == 1 ? "none" : NULL,
                                      .no_header = bare};
  amped_sptensor t;
  memset(&t, 0, sizeof t);
  fuzz_check(amped_table_read(path, &options, &t), path, &t);
  if (!registered)
    registered = atexit(forget) == 0;
  return 0;
}
