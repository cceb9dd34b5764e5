/* Header row of a table: names of the columns, and the role of each column. A table without a
 * header has columns 1, 2, 3, ... */
#ifndef AMPED_IO_TABLE_HEADER_H
#define AMPED_IO_TABLE_HEADER_H

#include "text/io_csv.h"
#include "text/io_format.h"
#include "text/io_text.h"

/* Role of a column: a mode 0 .. 7 whose labels are its strings (the first one if the column has
 * several periods), the value, a value of another pass
 * whose rows must be the same ones, or none. */
#define AMPED_ROLE_VALUE AMPED_MAX_ORDER
#define AMPED_ROLE_OTHER (AMPED_MAX_ORDER + 1)
#define AMPED_ROLE_NONE (AMPED_MAX_ORDER + 2)
/* Number of roles that have a cell in each row. */
#define AMPED_ROLES AMPED_ROLE_NONE

/* Header of a table. Start from {0}. */
typedef struct amped_table_header {
  amped_csv_form form;
  bool guessed;       /* the separator is not a comma, and the user did not choose it */
  uint64_t count;     /* number of columns */
  bool trailing;      /* the last column has no name, and its cells must be empty */
  uint64_t indices;   /* columns without a name that hold row numbers, which are left out */
  const char **names; /* null-terminated UTF-8 strings within text */
  char *text;
  int *roles;
  int order;
  const char *columns[AMPED_MAX_ORDER];  /* names of the key columns */
  const char *modes[AMPED_MAX_ORDER];    /* names of their modes: of the column, or COLUMN_PERIOD */
  bool shares[AMPED_MAX_ORDER];          /* the mode is another period of the column before it */
  char *mode_names;                      /* texts of the names COLUMN_PERIOD */
  int sets[AMPED_MAX_ORDER];             /* first mode of the mode's set of labels */
  amped_period periods[AMPED_MAX_ORDER]; /* keys are time stamps, and labels these periods */
  const char *value;                     /* name of the value column, or NULL */
  const char *other;                     /* name of the other pass's value column, or NULL */
} amped_table_header;

/* Consume the header row of the first chunk, and find the columns that the options name. `quoted`:
 * cells may be quoted. Free with amped_table_header_free. */
amped_status amped_table_header_read(amped_table_header *header, const char *path, bool quoted,
                                     const amped_read_options *options, amped_text_chunk *chunk);

/* Do the keys have the names "1", "2", ... of their places? If not, columns without a header keep
 * their numbers as names of modes, so that an option's 3 means column 3. */
bool amped_table_header_in_place(const amped_table_header *header);

/* Print what was guessed, and which columns are the keys and the values. */
void amped_table_header_tell(const amped_table_header *header, const char *path);
/* Record the error that this key column looks like values, with the remedy. */
amped_status amped_table_header_refuse(const amped_table_header *header, const char *path,
                                       const char *column);

/* Warn of a key column with this number of labels if they differ in all rows, or have fewer than
 * two rows on average. No warning if there are few rows, except for a column without a name.
 * times: the labels may be times. wide: the other columns are whole numbers, which may be values.
 */
void amped_table_header_warn(const amped_table_header *header, const char *path, int mode,
                             uint64_t labels, uint64_t rows, bool times, bool wide);
void amped_table_header_free(amped_table_header *header);

#endif
