/* Counted rows: a second table without a column of values, whose rows count 1 each. Beside ratings
 * or measurements such a 1 is no value: the user forgot --value. */
#ifndef AMPED_COUNTED_ROWS_H
#define AMPED_COUNTED_ROWS_H

#include "base/status.h"
#include "text/read_options.h"

/* Is the file a table whose rows count 1 each? */
bool amped_counted_rows_are(const char *path, const amped_read_options *read);

/* Not collective. Compare counted rows of `path` with values[0 .. count) of the file `known`.
 * AMPED_BAD_INPUT if a value is no count: a whole number from 1. Otherwise warn, unless most of the
 * values are 1, as in a log of events. are_distinct: each value stands for all of its size, and
 * says nothing of how many there are. */
amped_status amped_counted_rows_check(const char *path, const char *known, const double *values,
                                      uint64_t count, bool are_distinct);

#endif
