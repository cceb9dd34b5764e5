/* Interned strings: each distinct one is kept once and numbered in order of its first appearance.
 *
 * A hash table with a random seed a process, so that no input can be made to collide; the numbers
 * do not depend on it. Looking up is safe from many threads while nobody adds. */
#ifndef AMPED_INTERN_H
#define AMPED_INTERN_H

#include "tensor/labels.h"
#include "base/types.h"

typedef struct amped_intern_slot {
  uint64_t hash;
  uint64_t id; /* number + 1, 0: free */
} amped_intern_slot;

/* Start from {0}. */
typedef struct amped_intern {
  uint64_t count;
  char *bytes;
  uint64_t *offsets; /* string i is bytes[offsets[i] .. offsets[i+1]) */
  uint64_t bytes_capacity, offsets_capacity;
  amped_intern_slot *slots;
  uint64_t slots_capacity; /* a power of two */
} amped_intern;

#define AMPED_INTERN_NONE UINT64_MAX

uint64_t amped_intern_hash(const char *string, uint64_t length);

/* Start fetching what finding or adding a string of this hash will touch first: in a large table
 * the wait for memory is most of the time, and several waits can overlap. */
void amped_intern_prefetch(const amped_intern *in, uint64_t hash);

/* The number of a string, or AMPED_INTERN_NONE. */
uint64_t amped_intern_find(const amped_intern *in, uint64_t hash, const char *string,
                           uint64_t length);
/* The number of a string, which is added where it is new. */
amped_status amped_intern_add(amped_intern *in, uint64_t hash, const char *string, uint64_t length,
                              uint64_t *id);

/* Forget all strings, keep the memory; free the memory. */
void amped_intern_clear(amped_intern *in);
void amped_intern_free(amped_intern *in);

/* Hand the strings over as labels (name is left alone); in is empty afterwards. */
amped_status amped_intern_take(amped_intern *in, amped_labels *labels);

#endif
