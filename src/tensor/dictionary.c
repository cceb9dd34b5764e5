/* Dictionary: a hash table of distinct values, and the search for a ruler (values at equal
 * distances). */
#include "tensor/dictionary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/sort.h"

/* Slots of the hash table: twice AMPED_MAX_CODES, a power of two. */
#define SLOTS (2 * AMPED_MAX_CODES)

/* BLOCK: values that one thread looks up at a time. BATCH: blocks looked up together. */
#define BLOCK UINT64_C(4096)
#define BATCH 256

/* The slot of value, or the free slot for it. */
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

static double value_at(const void *values, amped_vtype type, uint64_t k) {
  return amped_value_get(values, type, k) + 0.0; /* Minus zero becomes zero */
}

static bool knows(const amped_dictionary_search *s, const void *values, amped_vtype type,
                  uint64_t begin, uint64_t end) {
  for (uint64_t k = begin; k < end; k++)
    if (!s->taken[slot_of(s->slots, s->taken, value_at(values, type, k))])
      return false;
  return true;
}

static void add(amped_dictionary_search *s, const void *values, amped_vtype type, uint64_t begin,
                uint64_t end) {
  for (uint64_t k = begin; k < end && !s->too_many; k++) {
    double value = value_at(values, type, k);
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

static uint64_t block_end(uint64_t begin, uint64_t n) {
  return n - begin < BLOCK ? n : begin + BLOCK;
}

/* Adds values. If a dictionary exists, nearly all values are soon known. Therefore all threads look
 * for blocks with unknown values, and only these blocks are added, one after another. */
void amped_dictionary_search_add(amped_dictionary_search *s, const void *values, amped_vtype type,
                                 uint64_t n) {
  for (uint64_t first = 0; first < n && !s->too_many; first += BATCH * BLOCK) {
    const uint64_t left = amped_ceil_div(n - first, BLOCK);
    const uint64_t blocks = left < BATCH ? left : BATCH;
    bool known[BATCH];
#pragma omp parallel for schedule(static) if (blocks > 1)
    for (uint64_t b = 0; b < blocks; b++) {
      const uint64_t begin = first + b * BLOCK;
      known[b] = knows(s, values, type, begin, block_end(begin, n));
    }
    for (uint64_t b = 0; b < blocks; b++)
      if (!known[b])
        add(s, values, type, first + b * BLOCK, block_end(first + b * BLOCK, n));
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
    qsort(d->values, d->count, sizeof *d->values, amped_compare_doubles);
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

/* Does the ruler reproduce every value of the dictionary? */
static bool gives_values(const amped_ruler *r, const amped_dictionary *d, amped_vtype type) {
  for (uint64_t i = 0; i < d->count; i++) {
    double value = (double)(r->first + (int32_t)i) * r->step;
    bool same = type == AMPED_F32 ? (float)value == (float)d->values[i] : value == d->values[i];
    if (!same)
      return false;
  }
  return true;
}

/* Computes the ruler. A step near 1, 1/2, 1/4, ..., 1/10, 1/100, ... is set to that number exactly;
 * any other step is used as computed. */
amped_ruler amped_dictionary_ruler(const amped_dictionary *d, amped_vtype type) {
  static const double per_unit[] = {1, 2, 4, 8, 16, 10, 100, 1e3, 1e4, 1e5};
  const amped_ruler none = {0, 0.0};
  if (d->count < 2)
    return none;
  amped_ruler r = {0, (d->values[d->count - 1] - d->values[0]) / (double)(d->count - 1)};
  for (size_t i = 0; i < sizeof per_unit / sizeof per_unit[0]; i++)
    if (fabs(r.step * per_unit[i] - 1.0) < 1e-6)
      r.step = 1.0 / per_unit[i];
  double first = r.step > 0.0 ? nearbyint(d->values[0] / r.step) : INFINITY;
  if (!(fabs(first) < (double)(INT32_MAX - AMPED_MAX_CODES)))
    return none;
  r.first = (int32_t)first;
  return gives_values(&r, d, type) ? r : none;
}

bool amped_dictionary_valid(const amped_dictionary *d) {
  for (uint64_t i = 0; i < d->count; i++)
    if (!isfinite(d->values[i]) || (i > 0 && d->values[i] <= d->values[i - 1]))
      return false;
  return true;
}
