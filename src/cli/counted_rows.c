/* Counted rows: which tables have them, and what they stand beside. */
#include "cli/counted_rows.h"

#include <math.h>

#include "base/log.h"
#include "text/io.h"

bool amped_counted_rows_are(const char *path, const amped_read_options *read) {
  return read->value == NULL && !read->reads_weights &&
         amped_io_has_format(path, read, AMPED_FORMAT_TABLE);
}

static bool is_count(double value) {
  return value >= 1.0 && value == floor(value);
}

amped_status amped_counted_rows_check(const char *path, const char *known, const double *values,
                                      uint64_t count, bool are_distinct) {
  uint64_t ones = 0;
  for (uint64_t i = 0; i < count; i++) {
    ones += values[i] == 1.0;
    if (!is_count(values[i]))
      return amped_error(AMPED_BAD_INPUT, amped_io_name(path),
                         "every row counts 1, because no --value names a column, but %s has values "
                         "that are no counts, such as %g; name the column of values with --value",
                         known, values[i]);
  }
  if (are_distinct ? count != 1 || ones != 1 : 2 * ones <= count)
    amped_warn("%s: every row counts 1, because no --value names a column; if values of %s are no "
               "counts, name the column of values with --value",
               amped_io_name(path), known);
  return AMPED_OK;
}
