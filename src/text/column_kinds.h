/* Kinds of a table's columns: what names and labels say about a column that may hold values, and
 * not keys. */
#ifndef AMPED_COLUMN_KINDS_H
#define AMPED_COLUMN_KINDS_H

#include <stdbool.h>

#include "tensor/labels.h"

/* Has the column no name? pandas writes its index without a name, and reads it as "Unnamed: 0". */
bool amped_column_has_no_name(const char *name);

/* Does the name, or its last word, say that a column of numbers holds values: counts, ratings,
 * amounts? */
bool amped_column_has_value_name(const char *name);

/* Is the name a date, a month, a day of the week, or a year from 1900 to 2100? A wide table has
 * such columns, each with the values of one time. */
bool amped_column_has_time_name(const char *name);

/* Is begin .. end a number that is not whole? The byte at `end` is no part of a number. */
bool amped_column_is_fraction(const char *begin, const char *end);

typedef enum amped_column_kind {
  AMPED_COLUMN_TEXT,
  AMPED_COLUMN_WHOLE,    /* whole numbers */
  AMPED_COLUMN_FRACTIONS /* numbers, some of which are not whole */
} amped_column_kind;

/* The kind of a column with these labels, among which words for a missing value do not count. */
amped_column_kind amped_column_kind_of(const amped_labels *labels);

#endif
