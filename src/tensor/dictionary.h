/* Dictionary: the distinct values of a tensor, if there are few. Counts and ratings are then stored
 * as a place in the dictionary, in a byte or less instead of four or eight.
 *
 * Host memory. values is amped_alloc'd, ascending, and belongs to the struct. count 0: more than
 * AMPED_MAX_CODES values, or unknown. */
#ifndef AMPED_DICTIONARY_H
#define AMPED_DICTIONARY_H

#include "tensor/packing.h"
#include "base/status.h"

typedef struct amped_dictionary {
  uint64_t count;
  double *values;
} amped_dictionary;

/* Make the dictionary of values[0 .. n). Stops as soon as there are too many distinct values. */
amped_status amped_dictionary_find(amped_dictionary *d, const double *values, uint64_t n);

/* Make the dictionary of values in pieces: begin, add the pieces, end, which makes the dictionary.
 * drop frees a search without a result; it accepts a zeroed search. */
typedef struct amped_dictionary_search {
  double *slots;
  bool *taken;
  uint64_t count;
  bool too_many;
} amped_dictionary_search;
amped_status amped_dictionary_search_begin(amped_dictionary_search *s);
void amped_dictionary_search_add(amped_dictionary_search *s, const void *values, amped_vtype type,
                                 uint64_t n);
amped_status amped_dictionary_search_end(amped_dictionary_search *s, amped_dictionary *out);
void amped_dictionary_search_drop(amped_dictionary_search *s);
void amped_dictionary_free(amped_dictionary *d);

/* Ruler: dictionary values at equal distances. Value i is (double)(first + i) * step, rounded to a
 * type. Counts and decimals of few digits have a ruler, so they are computed instead of looked up.
 * step 0: there is no ruler. */
typedef struct amped_ruler {
  int32_t first;
  double step;
} amped_ruler;

/* The ruler of the dictionary's values rounded to type; it reproduces them to the bit. */
amped_ruler amped_dictionary_ruler(const amped_dictionary *d, amped_vtype type);

/* Are the values finite and strictly ascending? */
bool amped_dictionary_valid(const amped_dictionary *d);

#endif
