/* Cut values: numbers in a text that a double cannot hold. Whole numbers lose their last digits;
 * numbers too near 0 become 0. Pieces of a chunk are parsed at once; their numbers are joined in
 * the order of the text.
 */
#ifndef AMPED_CUT_VALUES_H
#define AMPED_CUT_VALUES_H

#include "text/io_number.h"
#include "text/io_text.h"

/* Numbers of one kind. */
typedef struct amped_cut_kind {
  uint64_t count;
  uint64_t line; /* line of the first */
  char text[AMPED_EXCERPT_BYTES];
} amped_cut_kind;

typedef struct amped_cut_values {
  amped_cut_kind cuts, gone;
} amped_cut_values;

static inline void amped_noted_add(amped_noted *noted, const char *begin, const char *end) {
  if (noted->count++ == 0) {
    noted->at = begin;
    noted->end = end;
  }
}

/* For the parser: note the value begin .. end of a piece, read as `value`, if it is such a number.
 * Only zeros and numbers of more than AMPED_EXACT_DIGITS characters are looked at. */
static inline void amped_cut_values_note(amped_piece *piece, const char *begin, const char *end,
                                         double value) {
  if (end - begin > AMPED_EXACT_DIGITS && amped_number_is_cut(begin, end))
    amped_noted_add(&piece->cuts, begin, end);
  if (value == 0.0 && amped_number_is_gone(begin, end))
    amped_noted_add(&piece->gone, begin, end);
}

/* Add the values that the parsers noted in a chunk. */
void amped_cut_values_add(amped_cut_values *cut, const amped_text_chunk *chunk,
                          const amped_piece *pieces, int count);

/* Warn if there are some. */
void amped_cut_values_warn(const amped_cut_values *cut, const char *path);

#endif
