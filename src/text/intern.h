/* Interned strings: each distinct string is stored once and numbered in order of its first
 * appearance.
 *
 * A hash table in host memory. Every process has a random seed, so that no input can force
 * collisions; the numbers do not depend on the seed. Several threads may look up strings while no
 * thread adds one. */
#ifndef AMPED_INTERN_H
#define AMPED_INTERN_H

#include "tensor/labels.h"
#include "base/types.h"

typedef struct amped_intern_slot {
  uint64_t hash;
  uint64_t id; /* string number + 1; 0: free */
} amped_intern_slot;

/* Table of strings. Start from {0}. */
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

/* Prefetch the memory that finding or adding a string with this hash reads first. In a large table
 * most of the time is spent waiting for memory, and several waits can overlap. */
void amped_intern_prefetch(const amped_intern *in, uint64_t hash);

/* Returns the number of a string, or AMPED_INTERN_NONE. */
uint64_t amped_intern_find(const amped_intern *in, uint64_t hash, const char *string,
                           uint64_t length);
/* Add a string if it is new; *id is its number. */
amped_status amped_intern_add(amped_intern *in, uint64_t hash, const char *string, uint64_t length,
                              uint64_t *id);

/* clear: remove all strings, keep the memory. free: free the memory. */
void amped_intern_clear(amped_intern *in);
void amped_intern_free(amped_intern *in);

/* Move the strings to `labels`, whose name stays. `in` is empty afterwards. */
amped_status amped_intern_take(amped_intern *in, amped_labels *labels);

#endif
