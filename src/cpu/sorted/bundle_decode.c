/* Bundle decode: unpack fields, rows and values of nonzeros, in vectors. */
#include "cpu/sorted/bundle_decode.h"

#include <string.h>

#include "base/cpu_dispatch.h"

/* The packed nonzeros are prefetched this many ahead. */
#define STREAM_AHEAD 512

/* In the functions below, n is the number of nonzeros from k on. It is the constant AMPED_BUNDLE
 * except in the last bundle of a strip, so that the compiler vectorises the loops. */

/* Codes for values that are stored one by one. */
static const uint64_t one_by_one[AMPED_BUNDLE] = {
#define FOUR(i) i, i + 1, i + 2, i + 3
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
    SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)};

typedef uint64_t words[AMPED_MAX_PLANES][AMPED_BUNDLE];

AMPED_INLINE void widen_plane(const void *plane, int bytes, uint64_t k, int n,
                              uint64_t *restrict w) {
  if (bytes == 8)
    memcpy(w, (const uint64_t *)plane + k, (size_t)n * sizeof *w);
  else if (bytes == 4)
    for (int j = 0; j < n; j++)
      w[j] = ((const uint32_t *)plane)[k + (uint64_t)j];
  else
    for (int j = 0; j < n; j++)
      w[j] = ((const uint16_t *)plane)[k + (uint64_t)j];
}

/* w[i][j] = word i of nonzero k + j. */
AMPED_INLINE void load_words(const amped_cpu_copy *copy, uint64_t k, int n, words w) {
  const amped_packing *p = copy->packing;
  if (p->words == p->planes) {
    for (int i = 0; i < p->planes; i++)
      widen_plane(copy->planes[i], p->plane_bytes[i], k, n, w[i]);
    return;
  }
  /* Planes of 4 and 2 bytes form one word, joined in registers. */
  const uint32_t *low = (const uint32_t *)copy->planes[0] + k;
  const uint16_t *high = (const uint16_t *)copy->planes[1] + k;
  uint64_t *restrict to = w[0];
  for (int j = 0; j < n; j++)
    to[j] = low[j] | (uint64_t)high[j] << 32;
}

/* out[j] = one field of nonzero j: amped_packed_field for a bundle. */
AMPED_INLINE void field(words w, unsigned shift, unsigned bits, int n, uint64_t *restrict out) {
  const uint64_t *restrict low = w[shift / 64];
  unsigned s = shift % 64;
  uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  if (s + bits <= 64) {
    for (int j = 0; j < n; j++)
      out[j] = low[j] >> s & mask;
  } else {
    const uint64_t *restrict high = w[shift / 64 + 1];
    for (int j = 0; j < n; j++)
      out[j] = (low[j] >> s | high[j] << (64 - s)) & mask;
  }
}

/* out[j] = address of the row that one field of nonzero j selects. Rows have `bytes` bytes and
 * begin at base. */
AMPED_INLINE void name_rows(const amped_packing *p, int input, uintptr_t base, uint64_t bytes,
                            int n, words w, uintptr_t *restrict out) {
  const int scale = __builtin_ctzll(bytes);
  const unsigned shift = p->shifts[input] % 64;
  const unsigned bits = p->bits[input];
  const uint64_t *restrict from = w[p->shifts[input] / 64];
  const uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
  if (bytes >> scale == 1 && shift + bits < 64) { /* mask and shift in one step */
    for (int j = 0; j < n; j++)
      out[j] = base + ((from[j] >> shift & mask) << scale);
    return;
  }
  if (shift + bits < 64 && mask <= UINT32_MAX / bytes) { /* 32-bit products suffice, and are fast */
    for (int j = 0; j < n; j++)
      out[j] = base + (uint32_t)(from[j] >> shift & mask) * (uint32_t)bytes;
    return;
  }
  field(w, p->shifts[input], bits, n, out);
  for (int j = 0; j < n; j++)
    out[j] = base + out[j] * bytes;
}

/* out[j] = address of the row of `input` that nonzero j gathers. */
AMPED_INLINE void find_rows(const amped_cpu_mttkrp *m, int input, int n, words w,
                            uintptr_t *restrict out) {
  name_rows(m->copy->packing, input, (uintptr_t)m->factors[input], m->ld * m->value_type, n, w,
            out);
}

/* out[j] = base plus a scaled field of nonzero j, for packed numbers of 32 bits. */
AMPED_INLINE void short_field(const uint32_t *restrict from, unsigned shift, unsigned bits, int n,
                              uint64_t base, int scale, uint64_t *restrict out) {
  const uint32_t mask = bits == 0 ? 0 : UINT32_MAX >> (32 - bits);
  for (int j = 0; j < n; j++)
    out[j] = base + ((uint64_t)(from[j] >> shift % 32 & mask) << scale);
}

/* Compute values by the ruler, which equal the dictionary's values, instead of looking them up. */
AMPED_INLINE void compute_values(const amped_cpu_mttkrp *m, const uint64_t *codes, int n,
                                 void *restrict out) {
  const int32_t first = m->ruler.first;
  const double step = m->ruler.step;
  if (m->value_type == AMPED_F32)
    for (int j = 0; j < n; j++)
      ((float *)out)[j] = (float)((double)(first + (int32_t)codes[j]) * step);
  else
    for (int j = 0; j < n; j++)
      ((double *)out)[j] = (double)(first + (int32_t)codes[j]) * step;
}

/* Set b->values and b->codes: values from the copy, computed values, or codes for the
 * dictionary. */
AMPED_INLINE void decode_values(const amped_cpu_mttkrp *m, uint64_t k, int n, words w,
                                amped_bundle *b) {
  const amped_packing *p = m->copy->packing;
  b->codes = one_by_one;
  if (!p->coded) {
    b->values = (const char *)m->copy->values + k * m->value_type;
    return;
  }
  uint64_t *codes = b->coded;
  field(w, p->value_shift, p->value_bits, n, codes);
  if (m->ruler.step != 0.0) {
    compute_values(m, codes, n, b->computed);
    b->values = b->computed;
  } else {
    b->codes = codes;
    b->values = m->dictionary;
  }
}

/* Fast decoder for packed numbers of 32 bits, uncoded values and rows of a power of two bytes.
 * Returns false, without decoding, for any other copy. */
AMPED_INLINE bool decode_short(const amped_cpu_mttkrp *m, uint64_t k, int n, amped_bundle *b) {
  const amped_packing *p = m->copy->packing;
  const uint64_t bytes = m->ld * m->value_type;
  const uint32_t *from = (const uint32_t *)m->copy->planes[0] + k;
  if (p->planes != 1 || p->plane_bytes[0] != 4 || (bytes & (bytes - 1)) != 0 || p->coded)
    return false;
  for (int i = 0; i < p->inputs; i++)
    short_field(from, p->shifts[i], p->bits[i], n, (uintptr_t)m->factors[i], __builtin_ctzll(bytes),
                b->rows[i]);
  b->codes = one_by_one;
  b->values = (const char *)m->copy->values + k * m->value_type;
  return true;
}

AMPED_INLINE void decode_n(const amped_cpu_mttkrp *m, uint64_t k, int n, amped_bundle *b) {
  const amped_packing *p = m->copy->packing;
  words w;
  b->count = n;
  if (decode_short(m, k, n, b))
    return;
  load_words(m->copy, k, n, w);
  for (int i = 0; i < p->inputs; i++)
    find_rows(m, i, n, w, b->rows[i]);
  decode_values(m, k, n, w, b);
}

/* Prefetch packed nonzeros STREAM_AHEAD ahead, because the gathers hide these streams from the
 * hardware prefetcher. */
AMPED_INLINE void prefetch_nonzeros(const amped_cpu_mttkrp *m, uint64_t k) {
  const amped_packing *p = m->copy->packing;
  k += STREAM_AHEAD;
  if (k + AMPED_BUNDLE > m->copy->nnz)
    return;
  for (int i = 0; i < p->planes; i++)
    for (uint64_t at = 0; at < AMPED_BUNDLE * p->plane_bytes[i]; at += 64)
      __builtin_prefetch((const char *)m->copy->planes[i] + k * p->plane_bytes[i] + at);
  if (!p->coded)
    for (uint64_t at = 0; at < AMPED_BUNDLE * m->value_type; at += 64)
      __builtin_prefetch((const char *)m->copy->values + k * m->value_type + at);
}

/* One bit per nonzero of a bundle. */
AMPED_INLINE uint64_t bits_of(const uint32_t *bits, uint64_t k) {
  return bits[k / 32] | (uint64_t)bits[k / 32 + 1] << 32;
}

/* Decode the bundle at nonzero k of a strip that ends at `end`. */
AMPED_INLINE void decode(const amped_cpu_mttkrp *m, uint64_t k, uint64_t end, amped_bundle *b) {
  uint64_t left = end - k;
  uint64_t used = UINT64_MAX;
  prefetch_nonzeros(m, k);
  if (left >= AMPED_BUNDLE) {
    decode_n(m, k, AMPED_BUNDLE, b);
  } else {
    decode_n(m, k, (int)left, b);
    for (int i = 0; i < m->copy->packing->inputs; i++) /* the kernel may prefetch the rows of a
                                                          whole bundle */
      for (uint64_t j = left; j < AMPED_BUNDLE; j++)
        b->rows[i][j] = (uintptr_t)m->factors[i];
    used = (UINT64_C(1) << left) - 1;
  }
  b->begins = bits_of(m->copy->row_bits, k) & used;
  b->fibres = bits_of(m->copy->fibre_bits, k) & used;
  b->closes = left <= AMPED_BUNDLE || amped_cpu_copy_begins_row(m->copy, k + AMPED_BUNDLE);
}

AMPED_INLINE void decode_box_n(const amped_cpu_mttkrp *m, const amped_box_sums *to, uint64_t k,
                               int n, amped_bundle *b, uint64_t *restrict fields,
                               uintptr_t *restrict sums) {
  const amped_packing *p = m->copy->packing;
  words w;
  load_words(m->copy, k, n, w);
  for (int i = 0; i < p->inputs; i++)
    if (i != to->mode)
      find_rows(m, i, n, w, b->rows[i]);
  field(w, p->shifts[to->mode], p->bits[to->mode], n, fields);
  name_rows(p, to->mode, to->base, to->bytes, n, w, sums);
  decode_values(m, k, n, w, b);
  b->count = n;
}

AMPED_INLINE void decode_box(const amped_cpu_mttkrp *m, const amped_box_sums *to, uint64_t k,
                             uint64_t end, amped_bundle *b, uint64_t *restrict fields,
                             uintptr_t *restrict sums) {
  prefetch_nonzeros(m, k);
  if (end - k >= AMPED_BUNDLE)
    decode_box_n(m, to, k, AMPED_BUNDLE, b, fields, sums);
  else
    decode_box_n(m, to, k, (int)(end - k), b, fields, sums);
}

/* w[i][j] = word i of nonzero numbers[j]. */
AMPED_INLINE void pick_words(const amped_cpu_copy *copy, const uint64_t *numbers, int n, words w) {
  const amped_packing *p = copy->packing;
  if (p->words == 1 && p->planes == 1 && p->plane_bytes[0] == 4) {
    for (int j = 0; j < n; j++)
      w[0][j] = ((const uint32_t *)copy->planes[0])[numbers[j]];
    return;
  }
  if (p->words == 1 && p->planes == 1) {
    for (int j = 0; j < n; j++)
      w[0][j] = ((const uint64_t *)copy->planes[0])[numbers[j]];
    return;
  }
  for (int j = 0; j < n; j++) {
    uint64_t all[AMPED_MAX_PLANES];
    amped_packed_get(p, (const void *const *)copy->planes, numbers[j], all);
    for (int i = 0; i < p->words; i++)
      w[i][j] = all[i];
  }
}

AMPED_INLINE void pick(const amped_cpu_mttkrp *m, const uint64_t *numbers, int n, amped_bundle *b) {
  const amped_packing *p = m->copy->packing;
  words w;
  pick_words(m->copy, numbers, n, w);
  for (int i = 0; i < p->inputs; i++)
    find_rows(m, i, n, w, b->rows[i]);
  if (p->coded) {
    decode_values(m, 0, n, w, b);
  } else {
    memcpy(b->coded, numbers, (size_t)n * sizeof *numbers);
    b->codes = b->coded;
    b->values = m->copy->values;
  }
  b->count = n;
  b->begins = b->fibres = 0;
  b->closes = false;
}

#define DEFINE(CPU)                                                                                \
  AMPED_TARGET_##CPU static void decode_##CPU(const amped_cpu_mttkrp *m, uint64_t k, uint64_t end, \
                                              amped_bundle *b) {                                   \
    decode(m, k, end, b);                                                                          \
  }                                                                                                \
  AMPED_TARGET_##CPU static void box_##CPU(const amped_cpu_mttkrp *m, const amped_box_sums *to,    \
                                           uint64_t k, uint64_t end, amped_bundle *b,              \
                                           uint64_t *fields, uintptr_t *sums) {                    \
    decode_box(m, to, k, end, b, fields, sums);                                                    \
  }                                                                                                \
  AMPED_TARGET_##CPU static void pick_##CPU(const amped_cpu_mttkrp *m, const uint64_t *numbers,    \
                                            int n, amped_bundle *b) {                              \
    if (n == AMPED_BUNDLE / 2) /* usual; constant for vectors */                                   \
      pick(m, numbers, AMPED_BUNDLE / 2, b);                                                       \
    else                                                                                           \
      pick(m, numbers, n, b);                                                                      \
  }
AMPED_CPU_DISPATCH(DEFINE)

#define FIND(TYPE, FUNCTION)                                                                       \
  const struct {                                                                                   \
    bool here;                                                                                     \
    TYPE *function;                                                                                \
  } rows[] = {AMPED_CPU_DISPATCH(FUNCTION)};                                                       \
  size_t i = 0;                                                                                    \
  while (!rows[i].here)                                                                            \
    i++;                                                                                           \
  return rows[i].function;
#define DECODE(CPU) {AMPED_HAS_##CPU, decode_##CPU},
#define BOX(CPU) {AMPED_HAS_##CPU, box_##CPU},
#define PICK(CPU) {AMPED_HAS_##CPU, pick_##CPU},

amped_bundle_decoder *amped_bundle_decoder_find(void){FIND(amped_bundle_decoder, DECODE)}

amped_bundle_box_decoder *amped_bundle_box_decoder_find(void){FIND(amped_bundle_box_decoder, BOX)}

amped_bundle_picker *amped_bundle_picker_find(void) {
  FIND(amped_bundle_picker, PICK)
}
