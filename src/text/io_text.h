/* Text in chunks of whole lines, and chunks in pieces, so that all threads can parse at once.
 *
 * If a file has more than one chunk, a second thread reads and decompresses the next chunk while
 * the caller parses the current one. In a quoted text (CSV), a line end inside quotes does not end
 * a row; "row" below means the text up to a line end outside quotes. Memory: two chunks, each a few
 * MiB to 64 MiB. At most AMPED_TEXT_ROW_BYTES of a longer row are read. */
#ifndef AMPED_IO_TEXT_H
#define AMPED_IO_TEXT_H

#include "tensor/overflow.h"

#define AMPED_TEXT_ROW_BYTES (UINT64_C(1) << 20)

typedef struct amped_text amped_text;

/* Chunk of text. begin .. end: whole rows, each ended by '\n' (added if the file's last row has
 * none), then a null. The text belongs to the amped_text until the next call. */
typedef struct amped_text_chunk {
  const char *begin, *end;
  uint64_t line;   /* number of the first line, from 1 */
  bool cut;        /* the text is the start of one row that is too long; last chunk */
  double fraction; /* fraction of the input read so far; 0: unknown */
} amped_text_chunk;

/* Open the file as a stream (io_stream.h), skip UTF-8 byte-order marks before the first row and
 * start the progress display, which close ends. Chunks are small compared with the memory of an
 * overflow (NULL: none). */
amped_status amped_text_open(const char *path, bool quoted, const amped_overflow *overflow,
                             amped_text **out);
/* Read the next chunk; begin == end after the last chunk. */
amped_status amped_text_next(amped_text *text, amped_text_chunk *chunk);
void amped_text_close(amped_text *text);

/* Numbers in a piece that a warning counts. */
typedef struct amped_noted {
  uint64_t count;
  const char *at, *end; /* the first of them */
} amped_noted;

/* Piece of a chunk: consecutive whole rows, parsed by one thread into rows `row` .. `row`+`rows` of
 * a tensor. */
typedef struct amped_piece {
  const char *begin, *end;
  uint64_t lines; /* number of line ends */
  uint64_t row;   /* row of its first nonzero (amped_rows_reserve) */
  uint64_t rows;  /* set by the parser */
  /* Set by the parser: values that lose digits, and those that become 0 (text/cut_values.h). */
  amped_noted cuts, gone;
  amped_status status;  /* set by the parser: AMPED_BAD_INPUT with the two members below, or the
                           status of a call that recorded its own line */
  const char *error_at; /* position in the wrong line, or NULL */
  char error[512];      /* error and remedy */
} amped_piece;

#define AMPED_MAX_PIECES 512

/* Split a chunk into at most AMPED_MAX_PIECES pieces of similar size; returns their number. */
int amped_text_split(const amped_text_chunk *chunk, bool quoted, amped_piece *pieces);

/* For the parser: record an error at a position. Only the first error counts. */
void amped_piece_fail(amped_piece *piece, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the error of the first piece that has one, with its line number in the file. */
amped_status amped_text_check(const char *path, const amped_text_chunk *chunk,
                              const amped_piece *pieces, int count);

/* Record the error "PATH: line N: message". */
amped_status amped_text_error(const char *path, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the position after the UTF-8 byte-order marks at p, the start of a row. A mark below the
 * first row is the start of another file that was appended (cat a.csv b.csv). p is in a chunk. */
static inline const char *amped_text_skip_marks(const char *p) {
  while (p[0] == '\xef' && p[1] == '\xbb' && p[2] == '\xbf')
    p += 3;
  return p;
}

/* Number of occurrences of c in begin .. end. */
uint64_t amped_text_count(const char *begin, const char *end, char c);

#endif
