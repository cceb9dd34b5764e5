/* CSV and TSV text: splitting rows into cells, quotes, and a UTF-8 check. */
#include "text/io_csv.h"

#include <string.h>

/* Check the end of a cell: a separator, or a line end with or without carriage return. Returns the
 * byte after it; otherwise NULL. */
static const char *end_cell(const amped_piece *piece, const char *p, char separator,
                            amped_cell *cell) {
  if (p < piece->end && *p == separator)
    return p + 1;
  if (p + 1 < piece->end && p[0] == '\r' && p[1] == '\n')
    p++;
  if (p >= piece->end || *p != '\n')
    return NULL;
  cell->last = true;
  return p + 1;
}

/* Is it a blank around a cell, which is not part of the cell? Blanks that separate cells are
 * not. */
static bool is_blank(char c, char separator) {
  return (c == ' ' || c == '\t') && c != separator;
}

static const char *skip_blanks(const char *p, char separator) {
  while (is_blank(*p, separator))
    p++;
  return p;
}

static const char *quoted_cell(amped_piece *piece, const char *p, char separator,
                               amped_cell *cell) {
  const char *open = p;
  cell->begin = ++p;
  for (;;) {
    const char *quote = memchr(p, '"', (size_t)(piece->end - p));
    if (quote == NULL) {
      amped_piece_fail(piece, open, "the quote that opens here is never closed; close it");
      return NULL;
    }
    p = quote + 1;
    if (p < piece->end && *p == '"') {
      cell->doubled = true;
      p++;
      continue;
    }
    cell->end = quote;
    p = skip_blanks(p, separator);
    const char *next = end_cell(piece, p, separator, cell);
    if (next == NULL)
      amped_piece_fail(piece, quote,
                       "text after a closing quote; double the quotes inside a quoted cell");
    return next;
  }
}

const char *amped_csv_cell(amped_piece *piece, const char *p, amped_csv_form form,
                           amped_cell *cell) {
  p = skip_blanks(p, form.separator);
  *cell = (amped_cell){.begin = p, .end = p, .doubled = false, .last = false};
  if (form.quoted && *p == '"')
    return quoted_cell(piece, p, form.separator, cell);
  while (*p != form.separator && *p != '\n') {
    if (*p == '"' && form.quoted) {
      amped_piece_fail(piece, p,
                       "a quote inside a cell without quotes; quote the cell and double it");
      return NULL;
    }
    p++;
  }
  cell->end = p;
  cell->last = *p == '\n';
  if (cell->last && cell->end > cell->begin && cell->end[-1] == '\r')
    cell->end--;
  while (cell->end > cell->begin && is_blank(cell->end[-1], form.separator))
    cell->end--;
  return p + 1;
}

uint64_t amped_csv_unquote(const amped_cell *cell, char *out) {
  char *q = out;
  for (const char *p = cell->begin; p < cell->end; p++) {
    *q++ = *p;
    if (*p == '"' && cell->doubled)
      p++;
  }
  return (uint64_t)(q - out);
}

/* Words that pandas reads as missing, and \N of databases. */
static const char *const missing[] = {"",    "#N/A", "#N/A N/A", "#NA",  "-NaN", "-nan", "<NA>",
                                      "N/A", "NA",   "NAN",      "NULL", "NaN",  "NaT",  "None",
                                      "\\N", "n/a",  "nan",      "nat",  "null"};

bool amped_csv_is_missing(const amped_cell *cell) {
  const size_t length = (size_t)(cell->end - cell->begin);
  for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
    if (strlen(missing[i]) == length && memcmp(cell->begin, missing[i], length) == 0)
      return true;
  return false;
}

/* Number of bytes, 2 to 4, of the UTF-8 character beyond ASCII at p; 0: it is not valid. */
static int character(const unsigned char *p, const unsigned char *end) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  int n = *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
  if (n == 0 || end - p < n)
    return 0;
  uint32_t code = *p & (0x7fu >> n);
  for (int i = 1; i < n; i++) {
    if ((p[i] & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (p[i] & 0x3fu);
  }
  bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < least[n] || code > 0x10ffff || surrogate ? 0 : n;
}

bool amped_csv_is_utf8(const char *begin, const char *end) {
  const unsigned char *p = (const unsigned char *)begin;
  const unsigned char *stop = (const unsigned char *)end;
  while (p < stop) {
    int n = *p == 0 ? 0 : *p < 0x80 ? 1 : character(p, stop);
    if (n == 0)
      return false;
    p += n;
  }
  return true;
}
