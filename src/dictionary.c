#include "dictionary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "random.h"

/* Slots of the hash table: twice the most values, a power of two. */
#define SLOTS (2 * AMPED_MAX_CODES)

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left;
  double b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* The slot that holds value, or the free one where it belongs. */
static uint64_t slot_of(const double *slots, const bool *taken, double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  uint64_t at = amped_mix64(bits) % SLOTS;
  while (taken[at] && slots[at] != value)
    at = (at + 1) % SLOTS;
  return at;
}

/* True where all values were entered. */
static bool enter_all(double *slots, bool *taken, const double *values, uint64_t n,
                      uint64_t *count) {
  for (uint64_t k = 0; k < n; k++) {
    double value = values[k] + 0.0; /* one zero, not two */
    uint64_t at = slot_of(slots, taken, value);
    if (taken[at])
      continue;
    if (*count == AMPED_MAX_CODES)
      return false;
    taken[at] = true;
    slots[at] = value;
    ++*count;
  }
  return true;
}

amped_status amped_dictionary_find(amped_dictionary *d, const double *values, uint64_t n) {
  amped_status status = AMPED_OK;
  double *slots = NULL;
  bool *taken = NULL;
  uint64_t count = 0;
  memset(d, 0, sizeof *d);
  AMPED_GO(done, amped_alloc(&slots, SLOTS, sizeof *slots, "the dictionary of values"));
  AMPED_GO(done, amped_calloc(&taken, SLOTS, sizeof *taken, "the dictionary of values"));
  if (!enter_all(slots, taken, values, n, &count))
    goto done;
  AMPED_GO(done, amped_alloc(&d->values, count, sizeof *d->values, "the dictionary of values"));
  for (uint64_t at = 0; at < SLOTS; at++)
    if (taken[at])
      d->values[d->count++] = slots[at];
  qsort(d->values, d->count, sizeof *d->values, ascending);
done:
  amped_free(slots);
  amped_free(taken);
  return status;
}

void amped_dictionary_free(amped_dictionary *d) {
  amped_free(d->values);
  memset(d, 0, sizeof *d);
}

bool amped_dictionary_valid(const amped_dictionary *d) {
  for (uint64_t i = 0; i < d->count; i++)
    if (!isfinite(d->values[i]) || (i > 0 && d->values[i] <= d->values[i - 1]))
      return false;
  return true;
}
