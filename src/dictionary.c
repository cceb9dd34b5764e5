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

amped_status amped_dictionary_search_begin(amped_dictionary_search *s) {
  memset(s, 0, sizeof *s);
  amped_status status = amped_alloc(&s->slots, SLOTS, sizeof *s->slots, "the dictionary of values");
  if (status == AMPED_OK)
    status = amped_calloc(&s->taken, SLOTS, sizeof *s->taken, "the dictionary of values");
  if (status != AMPED_OK)
    amped_dictionary_search_drop(s);
  return status;
}

void amped_dictionary_search_add(amped_dictionary_search *s, const void *values, amped_vtype type,
                                 uint64_t n) {
  for (uint64_t k = 0; k < n && !s->too_many; k++) {
    double value = amped_value_get(values, type, k) + 0.0; /* one zero, not two */
    uint64_t at = slot_of(s->slots, s->taken, value);
    if (s->taken[at])
      continue;
    if (s->count == AMPED_MAX_CODES) {
      s->too_many = true;
      return;
    }
    s->taken[at] = true;
    s->slots[at] = value;
    s->count++;
  }
}

amped_status amped_dictionary_search_end(amped_dictionary_search *s, amped_dictionary *d) {
  amped_status status = AMPED_OK;
  memset(d, 0, sizeof *d);
  if (!s->too_many)
    status = amped_alloc(&d->values, s->count, sizeof *d->values, "the dictionary of values");
  for (uint64_t at = 0; at < SLOTS && d->values != NULL; at++)
    if (s->taken[at])
      d->values[d->count++] = s->slots[at];
  if (d->count > 0)
    qsort(d->values, d->count, sizeof *d->values, ascending);
  amped_dictionary_search_drop(s);
  return status;
}

void amped_dictionary_search_drop(amped_dictionary_search *s) {
  amped_free(s->slots);
  amped_free(s->taken);
  memset(s, 0, sizeof *s);
}

amped_status amped_dictionary_find(amped_dictionary *d, const double *values, uint64_t n) {
  amped_dictionary_search s;
  memset(d, 0, sizeof *d);
  AMPED_TRY(amped_dictionary_search_begin(&s));
  amped_dictionary_search_add(&s, values, AMPED_F64, n);
  return amped_dictionary_search_end(&s, d);
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
