/* Sort: radix sort from the least significant digit, on entries of 8 bytes. An entry has a position
 * in its low bits and a word of the key, with all the bits that fit, above it. A longer key is
 * sorted word by word, from the least significant word; the positions move with the entries. */
#include "base/sort.h"

#include <omp.h>
#include <string.h>

#include "base/mem.h"

#define DIGIT_BITS 8
#define DIGITS (1 << DIGIT_BITS)

/* Least elements per thread: fewer do not pay. */
#define LEAST_PIECE 16384

typedef struct sorter {
  uint64_t count;
  const amped_sort_field *fields;
  int nfields;
  int position_bits;
  int pieces; /* contiguous, one per thread */
  uint64_t piece_size;
  uint64_t *from;
  uint64_t *to;
  uint64_t *counts; /* [pieces][DIGITS] */
} sorter;

static uint64_t low_mask(int bits) {
  return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static int bit_length(uint64_t v) {
  return v == 0 ? 0 : 64 - __builtin_clzll(v);
}

int amped_sort_bits(const uint64_t *values, uint64_t count) {
  uint64_t any = 0;
#pragma omp parallel for schedule(static) reduction(| : any) if (count > LEAST_PIECE)
  for (uint64_t i = 0; i < count; i++)
    any |= values[i];
  return bit_length(any);
}

/* Bits first .. first+bits-1 of the key of element i. */
static uint64_t key_bits(const sorter *s, uint64_t i, int first, int bits) {
  uint64_t word = 0;
  int offset = 0; /* first bit of the field within the key */
  for (int f = s->nfields - 1; f >= 0; f--) {
    int shift = offset - first;
    offset += s->fields[f].bits;
    if (offset <= first)
      continue;
    if (shift >= bits)
      break;
    uint64_t v = s->fields[f].values[i];
    word |= shift >= 0 ? v << shift : v >> -shift;
  }
  return word & low_mask(bits);
}

/* Fills s->from with the word of the key that starts at bit `first`, for the positions that it
 * holds (or for 0, 1, ...). Returns the bits that differ between elements. */
static uint64_t load_word(sorter *s, int first, int bits, bool initial) {
  const uint64_t mask = low_mask(s->position_bits);
  const uint64_t reference = key_bits(s, 0, first, bits);
  uint64_t varying = 0;
#pragma omp parallel for schedule(static) reduction(| : varying) num_threads(s->pieces)
  for (uint64_t i = 0; i < s->count; i++) {
    const uint64_t position = initial ? i : s->from[i] & mask;
    const uint64_t word = key_bits(s, position, first, bits);
    varying |= word ^ reference;
    s->from[i] = word << s->position_bits | position;
  }
  return varying;
}

static uint64_t piece_begin(const sorter *s, int piece) {
  uint64_t begin = s->piece_size * (uint64_t)piece;
  return begin < s->count ? begin : s->count;
}

static void count_digits(const sorter *s, int shift) {
#pragma omp parallel for schedule(static, 1) num_threads(s->pieces)
  for (int p = 0; p < s->pieces; p++) {
    uint64_t counts[DIGITS] = {0};
    uint64_t end = piece_begin(s, p + 1);
    for (uint64_t i = piece_begin(s, p); i < end; i++)
      counts[s->from[i] >> shift & (DIGITS - 1)]++;
    memcpy(s->counts + (size_t)p * DIGITS, counts, sizeof counts);
  }
}

/* Turns counts into places: the place of each piece's first element of each digit. */
static void place_digits(const sorter *s) {
  uint64_t place = 0;
  for (size_t d = 0; d < DIGITS; d++)
    for (size_t p = 0; p < (size_t)s->pieces; p++) {
      uint64_t n = s->counts[p * DIGITS + d];
      s->counts[p * DIGITS + d] = place;
      place += n;
    }
}

static void move_entries(const sorter *s, int shift) {
#pragma omp parallel for schedule(static, 1) num_threads(s->pieces)
  for (int p = 0; p < s->pieces; p++) {
    uint64_t places[DIGITS];
    uint64_t end = piece_begin(s, p + 1);
    memcpy(places, s->counts + (size_t)p * DIGITS, sizeof places);
    for (uint64_t i = piece_begin(s, p); i < end; i++)
      s->to[places[s->from[i] >> shift & (DIGITS - 1)]++] = s->from[i];
  }
}

/* Sorts s->from by its key bits that vary. */
static void sort_word(sorter *s, uint64_t varying) {
  while (varying != 0) {
    int digit = __builtin_ctzll(varying);
    /* A digit may reach above the word: those bits are shifted in as zeros. */
    count_digits(s, s->position_bits + digit);
    place_digits(s);
    move_entries(s, s->position_bits + digit);
    uint64_t *swap = s->from;
    s->from = s->to;
    s->to = swap;
    varying &= digit + DIGIT_BITS >= 64 ? 0 : UINT64_MAX << (digit + DIGIT_BITS);
  }
}

static void permute(const sorter *s, uint64_t *array) {
  const uint64_t mask = low_mask(s->position_bits);
#pragma omp parallel for schedule(static) num_threads(s->pieces)
  for (uint64_t i = 0; i < s->count; i++)
    memcpy(&s->to[i], &array[s->from[i] & mask], sizeof *array);
#pragma omp parallel for schedule(static, 1) num_threads(s->pieces)
  for (int p = 0; p < s->pieces; p++) {
    uint64_t begin = piece_begin(s, p);
    memcpy(array + begin, s->to + begin, sizeof *array * (piece_begin(s, p + 1) - begin));
  }
}

static void set_pieces(sorter *s) {
  uint64_t most = s->count / LEAST_PIECE + 1;
  uint64_t threads = (uint64_t)omp_get_max_threads();
  s->pieces = (int)(threads < most ? threads : most);
  s->piece_size = amped_ceil_div(s->count, (uint64_t)s->pieces);
}

static int key_length(const amped_sort_field *fields, int nfields) {
  int bits = 0;
  for (int f = 0; f < nfields; f++)
    bits += fields[f].bits;
  return bits;
}

/* Puts the positions, in s->from, into the order of the keys. *moved: false if
 * all keys are equal, so that no position changed. */
static amped_status sort_positions(sorter *s, int word_bits, bool *moved) {
  const int bits = key_length(s->fields, s->nfields);
  const int most = 64 - s->position_bits;
  const int word = word_bits > 0 && word_bits < most ? word_bits : most;
  uint64_t any = 0;
  AMPED_TRY(
      amped_alloc(&s->counts, (uint64_t)s->pieces * DIGITS, sizeof(uint64_t), "sorting nonzeros"));
  for (int first = 0; first == 0 || first < bits; first += word) {
    const uint64_t varying =
        load_word(s, first, bits - first < word ? bits - first : word, first == 0);
    sort_word(s, varying);
    any |= varying;
  }
  amped_free(s->counts);
  *moved = any != 0;
  return AMPED_OK;
}

static void begin(sorter *s, uint64_t count, const amped_sort_field *fields, int nfields) {
  *s = (sorter){.count = count, .fields = fields, .nfields = nfields};
  s->position_bits = bit_length(count - 1);
  set_pieces(s);
}

amped_status amped_sort(uint64_t count, const amped_sort_field *fields, int nfields, int word_bits,
                        void *const *arrays, int narrays) {
  amped_status status = AMPED_OK;
  sorter s;
  uint64_t *blocks[2] = {NULL, NULL};
  bool moved = false;
  if (count < 2 || key_length(fields, nfields) == 0)
    return AMPED_OK;
  begin(&s, count, fields, nfields);
  for (int i = 0; i < 2; i++)
    AMPED_GO(out, amped_alloc(&blocks[i], count, sizeof *blocks[i], "sorting nonzeros"));
  s.from = blocks[0];
  s.to = blocks[1];
  AMPED_GO(out, sort_positions(&s, word_bits, &moved));
  for (int a = 0; a < narrays && moved; a++)
    permute(&s, arrays[a]);
out:
  amped_free(blocks[1]);
  amped_free(blocks[0]);
  return status;
}

amped_status amped_sort_order(uint64_t count, const amped_sort_field *fields, int nfields,
                              uint64_t *a, uint64_t *b, amped_order *out) {
  sorter s;
  bool moved = false;
  begin(&s, count, fields, nfields);
  s.from = a;
  s.to = b;
  AMPED_TRY(sort_positions(&s, 0, &moved));
  *out = (amped_order){.count = count,
                       .entries = s.from,
                       .position_bits = s.position_bits,
                       .keyed = key_length(fields, nfields) <= 64 - s.position_bits};
  return AMPED_OK;
}

int amped_compare_doubles(const void *left, const void *right) {
  const double a = *(const double *)left;
  const double b = *(const double *)right;
  return (a > b) - (a < b);
}

int amped_compare_counts(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left;
  const uint64_t b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

uint64_t amped_sort_find(const uint64_t *values, uint64_t count, uint64_t value) {
  uint64_t low = 0;
  uint64_t high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (values[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
