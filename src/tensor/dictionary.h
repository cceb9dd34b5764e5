/* Dictionary: the distinct values of a tensor, where they are few. Counts and ratings take a byte
 * or less as a place in it instead of four or eight.
 *
 * Host memory; values is amped_alloc'd, ascending, and belongs to the struct. count 0: more than
 * AMPED_MAX_CODES, or not known. */
#ifndef AMPED_DICTIONARY_H
#define AMPED_DICTIONARY_H

#include "tensor/packing.h"
#include "base/status.h"

typedef struct amped_dictionary {
  uint64_t count;
  double *values;
} amped_dictionary;

/* Of values[0 .. n). Stops looking as soon as they are too many. */
amped_status amped_dictionary_find(amped_dictionary *d, const double *values, uint64_t n);

/* The same of values that come in pieces. A search is ended, which makes the dictionary, or
 * dropped (also one that is zero). */
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

/* Values at equal distances: value i is (double)(first + i) * step, rounded to a type. Counts and
 * decimals of few digits are such: they can be computed instead of looked up. step 0: they are
 * not. */
typedef struct amped_ruler {
  int32_t first;
  double step;
} amped_ruler;

/* Of the dictionary's values rounded to type, to the bit. */
amped_ruler amped_dictionary_ruler(const amped_dictionary *d, amped_vtype type);

/* Finite and strictly ascending? */
bool amped_dictionary_valid(const amped_dictionary *d);

#endif
