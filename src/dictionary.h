/* Dictionary: the distinct values of a tensor, where they are few. Counts and ratings take a byte
 * or less as a place in it instead of four or eight.
 *
 * Host memory; values is amped_alloc'd, ascending, and belongs to the struct. count 0: more than
 * AMPED_MAX_CODES, or not known. */
#ifndef AMPED_DICTIONARY_H
#define AMPED_DICTIONARY_H

#include "packed.h"
#include "status.h"
#include "types.h"

typedef struct amped_dictionary {
  uint64_t count;
  double *values;
} amped_dictionary;

/* Of values[0 .. n). Stops looking as soon as they are too many. */
amped_status amped_dictionary_find(amped_dictionary *d, const double *values, uint64_t n);

/* The same for values that come bit by bit: collect them, then take their dictionary. */
typedef struct amped_distinct amped_distinct;
amped_status amped_distinct_create(amped_distinct **out);
void amped_distinct_destroy(amped_distinct *distinct);
void amped_distinct_add(amped_distinct *distinct, const void *values, amped_vtype type, uint64_t n);
/* More than AMPED_MAX_CODES so far? Then what is added changes nothing. */
bool amped_distinct_too_many(const amped_distinct *distinct);
amped_status amped_distinct_take(const amped_distinct *distinct, amped_dictionary *d);
void amped_dictionary_free(amped_dictionary *d);

/* Finite and strictly ascending? */
bool amped_dictionary_valid(const amped_dictionary *d);

#endif
