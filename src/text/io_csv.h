/* Rows of CSV (RFC 4180) and TSV text, cell by cell. Pure functions. */
#ifndef AMPED_IO_CSV_H
#define AMPED_IO_CSV_H

#include "text/io_text.h"

/* Separator between cells; and whether cells may be quoted. */
typedef struct amped_csv_form {
  char separator;
  bool quoted;
} amped_csv_form;

/* A cell within the text, without its quotes and without blanks around the cell or its quotes;
 * blanks inside quotes stay. Names, keys and values of every table are cells. Doubled quotes inside
 * are still doubled. */
typedef struct amped_cell {
  const char *begin, *end;
  bool doubled; /* contains doubled quotes */
  bool last;    /* the row ends after this cell */
} amped_cell;

/* Read the cell that begins at p; returns the start of the next cell or row. NULL, with
 * piece->error, if quotes are wrong. Every row of the piece must end with a line end. */
const char *amped_csv_cell(amped_piece *piece, const char *p, amped_csv_form form,
                           amped_cell *cell);

/* Copy a cell, with its doubled quotes made single. `out` must be as long as the cell. Returns the
 * length. */
uint64_t amped_csv_unquote(const amped_cell *cell, char *out);

/* Is the cell empty, or a word by which programs write that a value is missing (NA, NaN, null,
 * ...)? Words are compared byte by byte: NAN and nan are missing, Nan is not. */
bool amped_csv_is_missing(const amped_cell *cell);

/* Is the text valid UTF-8 (no surrogates, no overlong forms) without zero bytes? */
bool amped_csv_is_utf8(const char *begin, const char *end);

#endif
