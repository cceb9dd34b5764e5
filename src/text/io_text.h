/* Text in blocks of whole lines, and blocks in pieces, so that all threads can parse at once.
 *
 * Where a file is more than one block, a thread of its own reads and decompresses the next block
 * while the caller parses this one. In a quoted text (CSV) a line end inside quotes does not end a
 * line: "row" below means what a line end outside quotes ends. Memory: two blocks, each a few MiB
 * to 64 MiB; a row that is longer than AMPED_TEXT_ROW_BYTES is never gathered beyond that. */
#ifndef AMPED_IO_TEXT_H
#define AMPED_IO_TEXT_H

#include "tensor/overflow.h"

#define AMPED_TEXT_ROW_BYTES (UINT64_C(1) << 20)

typedef struct amped_text amped_text;

/* begin .. end: whole rows, each ended by '\n' (one is added where the file's last lacks it), then
 * a null. The text belongs to the amped_text until the next call. */
typedef struct amped_block {
  const char *begin, *end;
  uint64_t line; /* number of the first line, from 1 */
  bool cut;      /* the text is the beginning of one row that is too long; nothing follows */
  double part;   /* of the input is read up to here; 0: not known */
} amped_block;

/* Opens the file as a stream (io_stream.h), skips a UTF-8 byte-order mark and starts showing
 * progress, which close ends. Blocks are small beside the memory of an overflow (NULL: none). */
amped_status amped_text_open(const char *path, bool quoted, const amped_overflow *overflow,
                             amped_text **out);
/* The next block; begin == end behind the last. */
amped_status amped_text_next(amped_text *text, amped_block *block);
void amped_text_close(amped_text *text);

/* A piece of a block: consecutive whole rows, parsed by one thread into rows `row` .. `row`+`rows`
 * of a tensor. */
typedef struct amped_piece {
  const char *begin, *end;
  uint64_t lines;       /* line ends in it */
  uint64_t row;         /* where its first nonzero goes (amped_rows_reserve) */
  uint64_t rows;        /* set by the parser */
  amped_status status;  /* set by the parser: AMPED_BAD_INPUT with the two below, or what a call
                           that recorded its own line returned */
  const char *error_at; /* in the line at fault, or NULL */
  char error[512];      /* what is wrong; and the remedy */
} amped_piece;

#define AMPED_MAX_PIECES 512

/* Cut a block into at most AMPED_MAX_PIECES pieces of similar size; returns how many. */
int amped_text_split(const amped_block *block, bool quoted, amped_piece *pieces);

/* For the parser: note what is wrong at a place. Only the first counts. */
void amped_piece_fail(amped_piece *piece, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The error of the first piece that has one, its line number counted from the file's start. */
amped_status amped_text_check(const char *path, const amped_block *block, const amped_piece *pieces,
                              int count);

/* "PATH: line N: message". */
amped_status amped_text_error(const char *path, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Occurrences of c in begin .. end. */
uint64_t amped_text_count(const char *begin, const char *end, char c);

#endif
