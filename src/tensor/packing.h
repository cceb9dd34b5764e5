/* Packing: the layout of a packed copy, a rank's nonzeros of one mode in the fewest bytes that keep
 * kernels fast.
 *
 * All input positions of a nonzero are bit fields of one number of 32, 48, 64, 80, 96, 128, 192,
 * ... bits. If the tensor has few distinct values, the value is a bit field, too: its code, which
 * is its place in the dictionary. The bytes of the numbers lie in planes, one array each: {4}, {4,
 * 2}, {8}, {8, 2}, {8, 4}, {8, 8}, {8, 8, 8}... Values without a code are an array of their own.
 * Output rows are one bit per nonzero ("begins a row") and a list of the rows that occur, as in
 * F-COO and TB-COO (cuSTC). A row table has one entry for each `pack` nonzeros: the place in the
 * row list at which the pack begins.
 *
 * The packing depends only on the plan, so it is known before any nonzero is read. The CPU
 * (pack_cpu) and the GPU (../cuda) share the struct and the inline functions, so both have the same
 * decoder. */
#ifndef AMPED_PACKING_H
#define AMPED_PACKING_H

#include "base/types.h"

#define AMPED_MAX_PLANES 8

/* Most values of a dictionary. */
#define AMPED_MAX_CODES 65536

/* Nonzeros of a pack, a multiple of 32. Small copies have short packs, so that there are enough
 * packs to fill a GPU. */
#define AMPED_SHORT_PACK 32
#define AMPED_LONG_PACK 256
#define AMPED_LONG_PACK_NNZ (UINT64_C(1) << 24)

typedef struct amped_packing {
  int inputs; /* order - 1; for one copy for all modes: order */
  int planes;
  uint8_t plane_bytes[AMPED_MAX_PLANES];
  int words;                        /* 64-bit words that hold the number after decoding */
  uint8_t bits[AMPED_MAX_ORDER];    /* bits of each input position; 0: the position is always 0 */
  uint16_t shifts[AMPED_MAX_ORDER]; /* shift of its field in the number */
  bool coded;                       /* the value is a field: its place in the dictionary */
  uint8_t value_bits;               /* 0 if all values are the same */
  uint16_t value_shift;
  uint64_t pack;
} amped_packing;

/* Choose the packing; a pure function. positions[i] is one more than the largest position in input
 * i. codes: number of distinct values (0: unknown or too many). nnz: this rank's nonzeros. Values
 * get codes if this takes fewer bytes. */
void amped_packing_make(amped_packing *p, int inputs, const uint64_t *positions, uint64_t codes,
                        amped_vtype value_type, uint64_t nnz);

/* plane_bytes: bytes of one nonzero in the planes. nonzero_bytes: the same, plus the bytes of the
 * value if values have no code. */
uint64_t amped_packing_plane_bytes(const amped_packing *p);
uint64_t amped_packing_nonzero_bytes(const amped_packing *p, amped_vtype value_type);

/* Numbers of elements of the other arrays of a copy with nnz nonzeros in at most `rows` rows:
 * 32-bit words of row bits, entries of the row list, entries of the row table. */
static inline uint64_t amped_packing_bit_words(uint64_t nnz) {
  return (nnz + 31) / 32;
}
static inline uint64_t amped_packing_list_rows(uint64_t nnz, uint64_t rows) {
  return nnz < rows ? nnz : rows;
}
static inline uint64_t amped_packing_packs(const amped_packing *p, uint64_t nnz) {
  return (nnz + p->pack - 1) / p->pack;
}

/* The first of nnz nonzeros from k on that begins a row, by the row bits; nnz if there is none. */
static inline uint64_t amped_packing_next_row(const uint32_t *row_bits, uint64_t nnz, uint64_t k) {
  const uint64_t words = amped_packing_bit_words(nnz);
  uint64_t i = k / 32;
  if (k >= nnz)
    return nnz;
  uint32_t word = row_bits[i] & UINT32_MAX << k % 32;
  while (word == 0 && ++i < words)
    word = row_bits[i];
  k = word == 0 ? nnz : i * 32 + (uint64_t)__builtin_ctz(word);
  return k < nnz ? k : nnz;
}

/* Read the field of `bits` bits from bit `shift` on of the number in w. */
AMPED_BOTH static inline uint64_t amped_packed_field(const uint64_t *w, unsigned shift,
                                                     unsigned bits) {
  unsigned j = shift / 64;
  unsigned s = shift % 64;
  if (bits == 0)
    return 0;
  uint64_t v = w[j] >> s;
  if (s + bits > 64)
    v |= w[j + 1] << (64 - s);
  return bits == 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

/* Set a field of the number. The field must be zero before. */
AMPED_BOTH static inline void amped_packed_set(uint64_t *w, unsigned shift, unsigned bits,
                                               uint64_t v) {
  unsigned j = shift / 64;
  unsigned s = shift % 64;
  if (bits == 0)
    return;
  w[j] |= v << s;
  if (s + bits > 64)
    w[j + 1] |= v >> (64 - s);
}

/* Read nonzero k's number from its planes, or write it to them. w: [p->words], all of which are
 * written. */
AMPED_BOTH static inline void amped_packed_get(const amped_packing *p, const void *const *planes,
                                               uint64_t k, uint64_t *w) {
  if (p->plane_bytes[0] == 4) {
    w[0] = ((const uint32_t *)planes[0])[k];
    if (p->planes == 2)
      w[0] |= (uint64_t)((const uint16_t *)planes[1])[k] << 32;
    return;
  }
  for (int i = 0; i < p->planes; i++)
    w[i] = p->plane_bytes[i] == 8   ? ((const uint64_t *)planes[i])[k]
           : p->plane_bytes[i] == 4 ? ((const uint32_t *)planes[i])[k]
                                    : ((const uint16_t *)planes[i])[k];
}

AMPED_BOTH static inline void amped_packed_put(const amped_packing *p, void *const *planes,
                                               uint64_t k, const uint64_t *w) {
  if (p->plane_bytes[0] == 4) {
    ((uint32_t *)planes[0])[k] = (uint32_t)w[0];
    if (p->planes == 2)
      ((uint16_t *)planes[1])[k] = (uint16_t)(w[0] >> 32);
    return;
  }
  for (int i = 0; i < p->planes; i++) {
    if (p->plane_bytes[i] == 8)
      ((uint64_t *)planes[i])[k] = w[i];
    else if (p->plane_bytes[i] == 4)
      ((uint32_t *)planes[i])[k] = (uint32_t)w[i];
    else
      ((uint16_t *)planes[i])[k] = (uint16_t)w[i];
  }
}

/* Place of a value in an ascending dictionary of `codes` values; `codes` if it is not in the
 * dictionary. */
AMPED_BOTH static inline uint64_t amped_packed_code(const double *dictionary, uint64_t codes,
                                                    double value) {
  uint64_t low = 0;
  uint64_t high = codes;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    if (dictionary[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low < codes && dictionary[low] == value ? low : codes;
}

#endif
