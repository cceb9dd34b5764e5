/* Cut values: whole numbers in a text that a double cannot hold, so that they lose their last
 * digits. Pieces of a chunk are parsed at once; their numbers are joined in the order of the text.
 */
#ifndef AMPED_CUT_VALUES_H
#define AMPED_CUT_VALUES_H

#include "text/io_number.h"
#include "text/io_text.h"

typedef struct amped_cut_values {
  uint64_t count;
  uint64_t line; /* line of the first */
  char text[AMPED_EXCERPT_BYTES];
} amped_cut_values;

/* For the parser: note the value begin .. end of a piece, if it is such a number. Only numbers of
 * more than AMPED_EXACT_DIGITS characters are looked at. */
static inline void amped_cut_values_note(amped_piece *piece, const char *begin, const char *end) {
  if (end - begin > AMPED_EXACT_DIGITS && amped_number_is_cut(begin, end)) {
    piece->cut_at = piece->cuts++ == 0 ? begin : piece->cut_at;
    piece->cut_end = piece->cuts == 1 ? end : piece->cut_end;
  }
}

/* Add the values that the parsers noted in a chunk. */
void amped_cut_values_add(amped_cut_values *cut, const amped_text_chunk *chunk,
                          const amped_piece *pieces, int count);

/* Warn if there are some. */
void amped_cut_values_warn(const amped_cut_values *cut, const char *path);

#endif
