#include "cpu/mttkrp_cpu.h"

#include <string.h>

#include "cpu/mttkrp_bundle.h"
#include "cpu/cpu_dispatch.h"

/* Strips of a copy, and nonzeros of a strip, at least: short enough to balance threads and to keep
 * the fix-up buffer small, long enough for the fix-up to cost little. */
#define STRIPS 1024
#define LEAST_STRIP 512

/* A fibre is a stretch of nonzeros that share the output row and the first input's row. From this
 * mean length on it pays to multiply by that row once a fibre. */
#define LONG_FIBRE 8

/* The nonzeros themselves are prefetched so many ahead. */
#define STREAM_AHEAD 512

/* Output rows that are one unit of zeroing. */
#define ZERO_ROWS 4096

uint64_t amped_cpu_strip_nnz(const amped_packing *p, uint64_t nnz) {
  uint64_t even = amped_ceil_div(nnz, STRIPS);
  uint64_t least = even > LEAST_STRIP ? even : LEAST_STRIP;
  return amped_ceil_div(least, p->pack) * p->pack;
}

uint64_t amped_cpu_strips(const amped_packing *p, uint64_t nnz) {
  return amped_ceil_div(nnz, amped_cpu_strip_nnz(p, nnz));
}

uint64_t amped_cpu_most_strips(uint64_t nnz) {
  uint64_t most = amped_ceil_div(nnz, LEAST_STRIP);
  return most < STRIPS ? most : STRIPS;
}

static inline uint64_t index_at(const void *array, amped_itype type, uint64_t i) {
  return type == AMPED_U32 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

/* --- decoding ----------------------------------------------------------------------------------*/

/* Nonzeros k .. k+n become a bundle. n is the constant AMPED_BUNDLE in all bundles but the last of
 * a strip, so loops become vectors. */

/* Codes of values that are there one by one. */
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

/* w[i][j] = word i of nonzero k+j. */
AMPED_INLINE void load_words(const amped_cpu_copy *copy, uint64_t k, int n, words w) {
  const amped_packing *p = copy->packing;
  if (p->words == p->planes) {
    for (int i = 0; i < p->planes; i++)
      widen_plane(copy->planes[i], p->plane_bytes[i], k, n, w[i]);
    return;
  }
  /* {4, 2} is one word, put together in registers. */
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

/* out[j] = where the row of an input begins that nonzero j gathers. */
AMPED_INLINE void find_rows(const amped_cpu_mttkrp *m, int input, int n, words w,
                            uintptr_t *restrict out) {
  const amped_packing *p = m->copy->packing;
  const uintptr_t base = (uintptr_t)m->factors[input];
  const uint64_t bytes = m->ld * m->value_type;
  const int scale = __builtin_ctzll(bytes);
  const unsigned shift = p->shifts[input] % 64;
  const unsigned bits = p->bits[input];
  if (bytes >> scale == 1 && shift + bits < 64) { /* in one go */
    const uint64_t *restrict from = w[p->shifts[input] / 64];
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    for (int j = 0; j < n; j++)
      out[j] = base + ((from[j] >> shift & mask) << scale);
    return;
  }
  field(w, p->shifts[input], bits, n, out);
  for (int j = 0; j < n; j++)
    out[j] = base + out[j] * bytes;
}

/* Values of the ruler: all that the dictionary gives, without a look-up. */
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

/* b->values and b->codes: in the copy, computed, or to be looked up in the dictionary. */
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

AMPED_INLINE void decode_n(const amped_cpu_mttkrp *m, uint64_t k, int n, amped_bundle *b) {
  const amped_packing *p = m->copy->packing;
  words w;
  load_words(m->copy, k, n, w);
  for (int i = 0; i < p->inputs; i++)
    find_rows(m, i, n, w, b->rows[i]);
  decode_values(m, k, n, w, b);
  b->count = n;
}

/* Ask memory for nonzeros some bundles ahead: the gathered rows hide the streams from it. */
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

/* One bit of each nonzero of a bundle. */
AMPED_INLINE uint64_t bits_of(const uint32_t *bits, uint64_t k) {
  return bits[k / 32] | (uint64_t)bits[k / 32 + 1] << 32;
}

/* The bundle at nonzero k of a strip that ends at `end`. */
AMPED_INLINE void decode(const amped_cpu_mttkrp *m, uint64_t k, uint64_t end, amped_bundle *b) {
  uint64_t left = end - k;
  uint64_t used = UINT64_MAX;
  prefetch_nonzeros(m, k);
  if (left >= AMPED_BUNDLE) {
    decode_n(m, k, AMPED_BUNDLE, b);
  } else {
    decode_n(m, k, (int)left, b);
    for (int i = 0; i < m->copy->packing->inputs; i++) /* the kernel may prefetch rows of all */
      for (uint64_t j = left; j < AMPED_BUNDLE; j++)
        b->rows[i][j] = (uintptr_t)m->factors[i];
    used = (UINT64_C(1) << left) - 1;
  }
  b->begins = bits_of(m->copy->row_bits, k) & used;
  b->fibres = bits_of(m->copy->fibre_bits, k) & used;
  b->closes = left <= AMPED_BUNDLE || amped_cpu_copy_begins_row(m->copy, k + AMPED_BUNDLE);
}

typedef void bundle_decoder(const amped_cpu_mttkrp *m, uint64_t k, uint64_t end, amped_bundle *b);

#define DEFINE(CPU)                                                                                \
  AMPED_TARGET_##CPU static void decode_##CPU(const amped_cpu_mttkrp *m, uint64_t k, uint64_t end, \
                                              amped_bundle *b) {                                   \
    decode(m, k, end, b);                                                                          \
  }
AMPED_CPU_DISPATCH(DEFINE)

static bundle_decoder *find_decoder(void) {
#define ROW(CPU) {AMPED_HAS_##CPU, decode_##CPU},
  const struct {
    bool here;
    bundle_decoder *decode;
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here)
    i++;
  return rows[i].decode;
}

/* --- strips ------------------------------------------------------------------------------------*/

typedef struct job {
  const amped_cpu_mttkrp *m;
  bundle_decoder *decode;
  amped_bundle_kernel *kernel;
} job;

/* Add up one strip. If it begins inside a row, its part of that row goes to fixup. */
static void sum_strip(const job *j, uint64_t first, uint64_t end, double *fixup) {
  const amped_cpu_mttkrp *m = j->m;
  const amped_cpu_copy *copy = m->copy;
  double sum[AMPED_MAX_NCOMPS];
  amped_bundle bundles[2];
  amped_strip strip = {
      .inputs = copy->packing->inputs, .ld = m->ld, .out = m->out, .adds = m->adds, .sum = sum};
  strip.row_list = copy->row_list;
  strip.index_type = copy->index_type;
  strip.entry = index_at(copy->row_table, copy->index_type, first / copy->packing->pack);
  strip.fixup = amped_cpu_copy_begins_row(copy, first) ? NULL : fixup;
  for (int i = 0; i < strip.inputs; i++) {
    strip.fetch[i] = m->fetch[i];
    strip.fetches += m->fetch[i];
  }
  j->decode(m, first, end, &bundles[0]);
  for (uint64_t k = first, turn = 0; k < end; k += AMPED_BUNDLE, turn = !turn) {
    bool last = end - k <= AMPED_BUNDLE;
    if (!last)
      j->decode(m, k + AMPED_BUNDLE, end, &bundles[!turn]);
    j->kernel(&strip, &bundles[turn], &bundles[last ? turn : !turn]);
  }
}

static void add_to_row(const amped_cpu_mttkrp *m, uint64_t row, const double *parts,
                       uint64_t count) {
  for (uint64_t c = 0; c < m->ld; c++) {
    uint64_t at = row * m->ld + c;
    double sum = amped_value_get(m->out, m->value_type, at);
    for (uint64_t r = 0; r < count; r++)
      sum += parts[r * m->ld + c];
    amped_value_put(m->out, m->value_type, at, sum);
  }
}

/* Strips that continue a row have its partial sums in the fix-up buffer. Add them to the row, in
 * the order of strips. */
static void add_fixup(const amped_cpu_mttkrp *m) {
  const amped_cpu_copy *copy = m->copy;
  uint64_t step = amped_cpu_strip_nnz(copy->packing, copy->nnz);
  uint64_t strips = amped_cpu_strips(copy->packing, copy->nnz);
  for (uint64_t r = 1; r < strips;) {
    uint64_t first = r;
    uint64_t entry = index_at(copy->row_table, copy->index_type, r * step / copy->packing->pack);
    while (r < strips && !amped_cpu_copy_begins_row(copy, r * step) &&
           index_at(copy->row_table, copy->index_type, r * step / copy->packing->pack) == entry)
      r++;
    if (r > first)
      add_to_row(m, index_at(copy->row_list, copy->index_type, entry), m->fixup + first * m->ld,
                 r - first);
    else
      r++;
  }
}

/* --- output ------------------------------------------------------------------------------------*/

static void zero_rows(const amped_cpu_mttkrp *m, uint64_t first, uint64_t end) {
  uint64_t bytes = m->ld * m->value_type;
  if (first < end)
    memset((char *)m->out + first * bytes, 0, (end - first) * bytes);
}

/* Zero the rows among first .. end that have no nonzero. The others are stored by strips. */
static void zero_others(const amped_cpu_mttkrp *m, uint64_t first, uint64_t end) {
  const amped_cpu_copy *copy = m->copy;
  uint64_t low = 0;
  uint64_t high = copy->rows;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (index_at(copy->row_list, copy->index_type, middle) < first)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < copy->rows; low++) {
    uint64_t row = index_at(copy->row_list, copy->index_type, low);
    if (row >= end)
      break;
    zero_rows(m, first, row);
    first = row + 1;
  }
  zero_rows(m, first, end);
}

/* This thread's part of a walk; every thread of the team calls it, and none waits here. */
static void sum_own_strips(const amped_cpu_mttkrp *m, bundle_decoder *decoder) {
  const amped_cpu_copy *copy = m->copy;
  const uint64_t nnz = copy->nnz;
  const job j = {.m = m,
                 .decode = decoder,
                 .kernel = amped_bundle_kernel_find(m->value_type, m->ld, copy->packing->inputs,
                                                    nnz / LONG_FIBRE >= copy->fibres)};
  const uint64_t pieces = m->adds ? 0 : amped_ceil_div(m->rows, ZERO_ROWS);
  const uint64_t step = amped_cpu_strip_nnz(copy->packing, nnz);
  const uint64_t strips = amped_cpu_strips(copy->packing, nnz);
#pragma omp for schedule(static) nowait
  for (uint64_t i = 0; i < pieces; i++)
    zero_others(m, i * ZERO_ROWS, (i + 1) * ZERO_ROWS < m->rows ? (i + 1) * ZERO_ROWS : m->rows);
#pragma omp for schedule(dynamic) nowait
  for (uint64_t r = 0; r < strips; r++)
    sum_strip(&j, r * step, (r + 1) * step < nnz ? (r + 1) * step : nnz, m->fixup + r * m->ld);
}

void amped_mttkrp_cpu(const amped_cpu_mttkrp *m, int count, int threads) {
  bundle_decoder *const decoder = find_decoder();
#pragma omp parallel num_threads(threads)
  {
    for (int i = 0; i < count; i++)
      sum_own_strips(&m[i], decoder);
#pragma omp barrier
#pragma omp for schedule(dynamic)
    for (int i = 0; i < count; i++)
      add_fixup(&m[i]);
  }
}

void amped_mttkrp_cpu_join(const amped_cpu_mttkrp *m, int count, void *out, int threads) {
  const uint64_t elements = m->rows * m->ld;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (uint64_t e = 0; e < elements; e++) {
    double sum = 0.0;
    for (int i = 0; i < count; i++)
      sum += amped_value_get(m[i].out, m->value_type, e);
    amped_value_put(out, m->value_type, e, sum);
  }
}
