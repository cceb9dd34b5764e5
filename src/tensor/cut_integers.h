/* Cut integers: integers of a file that no double equals, so that they lose their last digits:
 * above 2^53, with more digits than a double holds. */
#ifndef AMPED_CUT_INTEGERS_H
#define AMPED_CUT_INTEGERS_H

#include "tensor/cell_type.h"

typedef struct amped_cut_integers {
  uint64_t count; /* 0: none */
  /* The first of them: its size and sign, and its indices. */
  uint64_t size;
  uint64_t place[AMPED_MAX_ORDER];
  bool negative;
} amped_cut_integers;

/* Count the integer of 8 bytes with these bits. place: [order] its indices, from 0. */
void amped_cut_integers_add(amped_cut_integers *cut, amped_cell_type type, uint64_t bits, int order,
                            const uint64_t *place);

/* Warn, if there are some. order 0: place[0] is the number of a list's element, and the count is
 * not known. */
void amped_cut_integers_warn(const amped_cut_integers *cut, int order, const char *path);

/* The warning itself. count 0: not known; first: the first number as text; where: its place. */
void amped_cut_warn(const char *path, uint64_t count, const char *first, const char *where);

#endif
