/* The sort starts at the least significant digit, on 12-byte entries: 64 bits of key and 32 of
 * position. A longer key is sorted word by word, from the least significant word, and the positions
 * go along. Where positions need more than 32 bits, the low bits of the key word hold their high
 * part. */
#include "base/sort.h"

#include <omp.h>
#include <string.h>

#include "base/mem.h"

#define DIGIT_BITS 8
#define DIGITS (1 << DIGIT_BITS)
#define POSITION_BITS 32

/* Elements below which one more thread does not pay. */
#define LEAST_PIECE 16384

typedef struct entry {
  uint32_t low;
  uint32_t high;
  uint32_t position;
} entry;

typedef struct sorter {
  uint64_t count;
  const amped_sort_field *fields;
  int nfields;
  int extra;     /* bits of the key word that hold a position's high part */
  int word_bits; /* key bits in a word, at most 64 - extra */
  int pieces;    /* contiguous, one a thread */
  uint64_t piece_size;
  entry *from;
  entry *to;
  uint64_t *counts; /* [pieces][DIGITS] */
} sorter;

static uint64_t entry_word(const entry *e) {
  return (uint64_t)e->high << 32 | e->low;
}

static uint64_t low_mask(int bits) {
  return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static uint64_t entry_position(const entry *e, int extra) {
  return (entry_word(e) & low_mask(extra)) << POSITION_BITS | e->position;
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
  int offset = 0; /* of the field within the key */
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

/* Fill s->from with the word of the key that starts at bit `first`, for the positions it holds (or
 * for 0, 1, ...). Returns which bits differ between elements. */
static uint64_t load_word(sorter *s, int first, int bits, bool initial) {
  uint64_t reference = key_bits(s, 0, first, bits);
  uint64_t varying = 0;
#pragma omp parallel for schedule(static) reduction(| : varying) num_threads(s->pieces)
  for (uint64_t i = 0; i < s->count; i++) {
    entry *e = &s->from[i];
    uint64_t position = initial ? i : entry_position(e, s->extra);
    uint64_t key = key_bits(s, position, first, bits);
    uint64_t word = key << s->extra | position >> POSITION_BITS;
    varying |= key ^ reference;
    e->low = (uint32_t)word;
    e->high = (uint32_t)(word >> 32);
    e->position = (uint32_t)position;
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
      counts[entry_word(&s->from[i]) >> shift & (DIGITS - 1)]++;
    memcpy(s->counts + (size_t)p * DIGITS, counts, sizeof counts);
  }
}

/* Turn counts into places: where each piece puts its first element of each digit. */
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
      s->to[places[entry_word(&s->from[i]) >> shift & (DIGITS - 1)]++] = s->from[i];
  }
}

/* Sort s->from by its key bits that vary. */
static void sort_word(sorter *s, uint64_t varying) {
  while (varying != 0) {
    int digit = __builtin_ctzll(varying);
    /* A digit may reach above the key word: those bits are shifted in as zeros. */
    count_digits(s, s->extra + digit);
    place_digits(s);
    move_entries(s, s->extra + digit);
    entry *swap = s->from;
    s->from = s->to;
    s->to = swap;
    varying &= digit + DIGIT_BITS >= 64 ? 0 : UINT64_MAX << (digit + DIGIT_BITS);
  }
}

static void permute(const sorter *s, char *array) {
  char *out = (char *)s->to;
#pragma omp parallel for schedule(static) num_threads(s->pieces)
  for (uint64_t i = 0; i < s->count; i++)
    memcpy(out + 8 * i, array + 8 * entry_position(&s->from[i], s->extra), 8);
#pragma omp parallel for schedule(static, 1) num_threads(s->pieces)
  for (int p = 0; p < s->pieces; p++) {
    uint64_t begin = piece_begin(s, p);
    memcpy(array + 8 * begin, out + 8 * begin, 8 * (piece_begin(s, p + 1) - begin));
  }
}

static void set_pieces(sorter *s) {
  uint64_t most = s->count / LEAST_PIECE + 1;
  uint64_t threads = (uint64_t)omp_get_max_threads();
  s->pieces = (int)(threads < most ? threads : most);
  s->piece_size = amped_ceil_div(s->count, (uint64_t)s->pieces);
}

amped_status amped_sort(uint64_t count, const amped_sort_field *fields, int nfields, int word_bits,
                        void *const *arrays, int narrays) {
  amped_status status = AMPED_OK;
  sorter s = {.count = count, .fields = fields, .nfields = nfields};
  entry *blocks[2] = {NULL, NULL};
  int bits = 0;

  for (int f = 0; f < nfields; f++)
    bits += fields[f].bits;
  if (count < 2 || bits == 0)
    return AMPED_OK;
  int position_bits = bit_length(count - 1);
  s.extra = position_bits > POSITION_BITS ? position_bits - POSITION_BITS : 0;
  s.word_bits = 64 - s.extra;
  if (word_bits > 0 && word_bits < s.word_bits)
    s.word_bits = word_bits;
  set_pieces(&s);

  AMPED_GO(out, amped_alloc(&blocks[0], count, sizeof(entry), "sorting nonzeros"));
  AMPED_GO(out, amped_alloc(&blocks[1], count, sizeof(entry), "sorting nonzeros"));
  AMPED_GO(out, amped_alloc(&s.counts, (uint64_t)s.pieces * DIGITS, sizeof(uint64_t),
                            "sorting nonzeros"));
  s.from = blocks[0];
  s.to = blocks[1];
  uint64_t moved = 0;
  for (int first = 0; first < bits; first += s.word_bits) {
    int n = bits - first < s.word_bits ? bits - first : s.word_bits;
    uint64_t varying = load_word(&s, first, n, first == 0);
    sort_word(&s, varying);
    moved |= varying;
  }
  for (int a = 0; a < narrays && moved != 0; a++)
    permute(&s, arrays[a]);
out:
  amped_free(s.counts);
  amped_free(blocks[1]);
  amped_free(blocks[0]);
  return status;
}
