/* The header row of a table: names of the columns, and the role of each column. A table without
 * such a row has columns 1, 2, 3, ... */
#ifndef AMPED_IO_TABLE_HEADER_H
#define AMPED_IO_TABLE_HEADER_H

#include "text/io_csv.h"
#include "text/io_format.h"
#include "text/io_text.h"

/* Role of a column: a mode 0 .. 7 whose labels are its strings, the value, or none. */
#define AMPED_ROLE_VALUE AMPED_MAX_ORDER
#define AMPED_ROLE_NONE (AMPED_MAX_ORDER + 1)

/* Start from {0}. */
typedef struct amped_table_header {
  amped_csv_form form;
  bool guessed;       /* the separator is no comma, and the user did not say so */
  uint64_t count;     /* columns */
  bool trailing;      /* the last one has no name, and its cells must be empty */
  const char **names; /* null-terminated UTF-8, within text */
  char *text;
  int *roles;
  int order;
  const char *modes[AMPED_MAX_ORDER]; /* the key columns' names */
  int sets[AMPED_MAX_ORDER];          /* the first mode of the same set of labels */
  const char *value;                  /* the value column's name, or NULL */
} amped_table_header;

/* Take the header row off the first chunk, and find the columns that the options name. `quoted`:
 * quotes may stand around cells. Free with amped_table_header_free. */
amped_status amped_table_header_read(amped_table_header *header, const char *path, bool quoted,
                                     const amped_read_options *options, amped_text_chunk *chunk);

/* Say what was guessed, and which columns are the keys and the values. */
void amped_table_header_tell(const amped_table_header *header, const char *path);
/* Warn of a key column that has a label of its own in each row; few rows with a name are let pass.
 */
void amped_table_header_warn(const amped_table_header *header, const char *path, int mode,
                             uint64_t rows);
void amped_table_header_free(amped_table_header *header);

#endif
