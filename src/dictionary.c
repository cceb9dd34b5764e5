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

struct amped_distinct {
  uint64_t count;
  bool too_many;
  bool taken[SLOTS];
  double slots[SLOTS];
};

/* The slot that holds value, or the free one where it belongs. */
static uint64_t slot_of(const amped_distinct *s, double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  uint64_t at = amped_mix64(bits) % SLOTS;
  while (s->taken[at] && s->slots[at] != value)
    at = (at + 1) % SLOTS;
  return at;
}

amped_status amped_distinct_create(amped_distinct **out) {
  return amped_calloc(out, 1, sizeof **out, "the distinct values");
}

void amped_distinct_destroy(amped_distinct *s) {
  amped_free(s);
}

void amped_distinct_add(amped_distinct *s, const void *values, amped_vtype type, uint64_t n) {
  for (uint64_t k = 0; k < n && !s->too_many; k++) {
    double value = amped_value_get(values, type, k) + 0.0; /* one zero, not two */
    uint64_t at = slot_of(s, value);
    if (s->taken[at])
      continue;
    s->too_many = s->count == AMPED_MAX_CODES;
    if (s->too_many)
      return;
    s->taken[at] = true;
    s->slots[at] = value;
    s->count++;
  }
}

bool amped_distinct_too_many(const amped_distinct *s) {
  return s->too_many;
}

amped_status amped_distinct_take(const amped_distinct *s, amped_dictionary *d) {
  memset(d, 0, sizeof *d);
  if (s->too_many || s->count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&d->values, s->count, sizeof *d->values, "the distinct values"));
  for (uint64_t at = 0; at < SLOTS; at++)
    if (s->taken[at])
      d->values[d->count++] = s->slots[at];
  qsort(d->values, d->count, sizeof *d->values, ascending);
  return AMPED_OK;
}

amped_status amped_dictionary_find(amped_dictionary *d, const double *values, uint64_t n) {
  amped_distinct *distinct = NULL;
  memset(d, 0, sizeof *d);
  AMPED_TRY(amped_distinct_create(&distinct));
  amped_distinct_add(distinct, values, AMPED_F64, n);
  amped_status status = amped_distinct_take(distinct, d);
  amped_distinct_destroy(distinct);
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
