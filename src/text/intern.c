/* Interned strings: an open-addressing hash table over one buffer of strings. */
#include "text/intern.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/mem.h"
#include "base/random.h"

#define FIRST_SLOTS 64
#define FIRST_STRINGS 32

static uint64_t seed;
static pthread_once_t seeded = PTHREAD_ONCE_INIT;

static void choose_seed(void) {
  /* Without kernel entropy the seed is the time: only the speed under attack depends on it. */
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    seed = amped_mix64((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 32);
  }
}

uint64_t amped_intern_hash(const char *string, uint64_t length) {
  (void)pthread_once(&seeded, choose_seed);
  uint64_t h = amped_mix64(seed ^ length);
  uint64_t word = 0;
  for (; length >= sizeof word; length -= sizeof word, string += sizeof word) {
    memcpy(&word, string, sizeof word);
    h = amped_mix64(h ^ word);
  }
  word = 0;
  memcpy(&word, string, length);
  return amped_mix64(h ^ word);
}

static bool is(const amped_intern *in, uint64_t id, const char *string, uint64_t length) {
  uint64_t begin = in->offsets[id];
  return in->offsets[id + 1] - begin == length && memcmp(in->bytes + begin, string, length) == 0;
}

/* Returns the slot of the string, or the free slot for it. The table is never full. */
static amped_intern_slot *slot_of(const amped_intern *in, uint64_t hash, const char *string,
                                  uint64_t length) {
  uint64_t mask = in->slots_capacity - 1;
  for (uint64_t i = hash & mask;; i = (i + 1) & mask) {
    amped_intern_slot *slot = &in->slots[i];
    if (slot->id == 0 || (slot->hash == hash && is(in, slot->id - 1, string, length)))
      return slot;
  }
}

uint64_t amped_intern_find(const amped_intern *in, uint64_t hash, const char *string,
                           uint64_t length) {
  if (in->count == 0)
    return AMPED_INTERN_NONE;
  return slot_of(in, hash, string, length)->id - 1; /* 0 - 1 is AMPED_INTERN_NONE */
}

void amped_intern_prefetch(const amped_intern *in, uint64_t hash) {
  if (in->slots != NULL)
    __builtin_prefetch(&in->slots[hash & (in->slots_capacity - 1)]);
}

/* Double the number of slots; the strings do not move. */
static amped_status grow_slots(amped_intern *in) {
  uint64_t capacity = in->slots_capacity > 0 ? in->slots_capacity * 2 : FIRST_SLOTS;
  amped_intern_slot *slots = NULL;
  AMPED_TRY(amped_calloc(&slots, capacity, sizeof *slots, "labels"));
  for (uint64_t i = 0; i < in->slots_capacity; i++) {
    if (in->slots[i].id == 0)
      continue;
    uint64_t k = in->slots[i].hash & (capacity - 1);
    while (slots[k].id != 0)
      k = (k + 1) & (capacity - 1);
    slots[k] = in->slots[i];
  }
  amped_free(in->slots);
  in->slots = slots;
  in->slots_capacity = capacity;
  return AMPED_OK;
}

/* Keep the table at most half full, so that probes are short and a slot is always free. */
static amped_status reserve_slot(amped_intern *in) {
  return in->count >= in->slots_capacity / 2 ? grow_slots(in) : AMPED_OK;
}

static amped_status reserve_string(amped_intern *in, uint64_t length) {
  uint64_t used = in->count > 0 ? in->offsets[in->count] : 0;
  uint64_t need = 0;
  if (in->count + 2 > in->offsets_capacity) {
    uint64_t capacity = in->offsets_capacity + in->offsets_capacity / 2 + FIRST_STRINGS;
    AMPED_TRY(amped_realloc(&in->offsets, capacity, sizeof *in->offsets, "labels"));
    in->offsets_capacity = capacity;
    in->offsets[0] = 0;
  }
  if (!amped_add(used, length, &need))
    return amped_error(AMPED_FAILED, NULL, "labels of more than 2^64 bytes; split the input");
  if (need >= in->bytes_capacity) {
    uint64_t capacity = need + need / 2 + FIRST_STRINGS;
    AMPED_TRY(amped_realloc(&in->bytes, capacity, 1, "labels"));
    in->bytes_capacity = capacity;
  }
  return AMPED_OK;
}

amped_status amped_intern_add(amped_intern *in, uint64_t hash, const char *string, uint64_t length,
                              uint64_t *id) {
  AMPED_TRY(reserve_slot(in));
  amped_intern_slot *slot = slot_of(in, hash, string, length);
  if (slot->id == 0) {
    AMPED_TRY(reserve_string(in, length));
    memcpy(in->bytes + in->offsets[in->count], string, length);
    in->offsets[in->count + 1] = in->offsets[in->count] + length;
    in->count++;
    *slot = (amped_intern_slot){hash, in->count};
  }
  *id = slot->id - 1;
  return AMPED_OK;
}

void amped_intern_clear(amped_intern *in) {
  if (in->count > 0)
    memset(in->slots, 0, in->slots_capacity * sizeof *in->slots);
  in->count = 0;
}

void amped_intern_free(amped_intern *in) {
  amped_free(in->slots);
  amped_free(in->offsets);
  amped_free(in->bytes);
  *in = (amped_intern){0};
}

amped_status amped_intern_take(amped_intern *in, amped_labels *labels) {
  amped_free(in->slots);
  in->slots = NULL;
  in->slots_capacity = 0;
  if (in->count == 0) {
    amped_intern_free(in);
    return AMPED_OK;
  }
  /* Allocate at least one byte: the only label may be empty. */
  uint64_t bytes = in->offsets[in->count];
  AMPED_TRY(amped_realloc(&in->bytes, bytes > 0 ? bytes : 1, 1, "labels"));
  AMPED_TRY(amped_realloc(&in->offsets, in->count + 1, sizeof *in->offsets, "labels"));
  labels->count = in->count;
  labels->bytes = in->bytes;
  labels->offsets = in->offsets;
  *in = (amped_intern){0};
  return AMPED_OK;
}
