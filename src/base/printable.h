/* Printable: a form of texts from files, names and users that is safe for a terminal, a log, a plot
 * or a line of JSON.
 *
 * The form is valid UTF-8. It has no character that moves the cursor, ends a line, changes the
 * direction of other text, or is invisible: controls (C0, DEL, C1), line and paragraph separators,
 * bidirectional marks, embeddings, overrides and isolates, characters of no width, tags,
 * noncharacters. Such a character is written as \uXXXX (above U+FFFF: as two of these, as in JSON).
 * A byte that belongs to no UTF-8 sequence is written as \xNN. All else stays, backslashes too. So
 * the form of a printable text is the text itself, and JSON text keeps its meaning.
 *
 * No memory is allocated; any thread. */
#ifndef AMPED_PRINTABLE_H
#define AMPED_PRINTABLE_H

#include <stdint.h>
#include <stdio.h>

/* Bytes of the longest form of one character, and a null. */
#define AMPED_PRINTABLE_UNIT 13

/* The form of the character, or lone byte, at the beginning of `text`, null-terminated. Returns its
 * bytes in the text. length > 0. */
uint64_t amped_printable_next(const char *text, uint64_t length, char unit[AMPED_PRINTABLE_UNIT]);

/* The form of `length` bytes, null-terminated, cut before the first character that does not fit.
 * Returns the buffer. The second takes a null-terminated text. */
const char *amped_printable(char *buffer, uint64_t size, const char *text, uint64_t length);
const char *amped_printable_text(char *buffer, uint64_t size, const char *text);

/* Write the form. Returns 0, or EOF if the stream fails. */
int amped_printable_put(FILE *stream, const char *text, uint64_t length);

/* The length of a text cut after `length` bytes, without a sequence that the cut splits. */
uint64_t amped_printable_whole(const char *text, uint64_t length);

#endif
