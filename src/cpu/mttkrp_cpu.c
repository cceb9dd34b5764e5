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
#define LONG_FIBRE 4

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

static inline uint64_t index_at(const void *array, amped_itype type, uint64_t i) {
  return type == AMPED_U32 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

static inline bool begins_row(const amped_cpu_copy *copy, uint64_t k) {
  return copy->row_bits[k / AMPED_BUNDLE] >> k % AMPED_BUNDLE & 1;
}

/* --- decoding ----------------------------------------------------------------------------------*/

/* Nonzeros k .. k+n become a bundle. n is the constant AMPED_BUNDLE in all bundles but the last of
 * a strip, so loops become vectors. */

typedef uint64_t words[AMPED_MAX_PLANES][AMPED_BUNDLE];

AMPED_INLINE void widen_plane(const void *plane, int bytes, uint64_t k, int n, uint64_t *w) {
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
  for (int i = 0; i < p->planes; i++)
    widen_plane(copy->planes[i], p->plane_bytes[i], k, n, w[i]);
  if (p->words < p->planes) /* {4, 2} is one word */
    for (int j = 0; j < n; j++)
      w[0][j] |= w[1][j] << 32;
}

/* out[j] = one field of nonzero j: amped_packed_field for a bundle. */
AMPED_INLINE void field(words w, unsigned shift, unsigned bits, int n, uint64_t *out) {
  unsigned i = shift / 64;
  unsigned s = shift % 64;
  uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  if (bits == 0)
    memset(out, 0, (size_t)n * sizeof *out);
  else if (s + bits <= 64)
    for (int j = 0; j < n; j++)
      out[j] = w[i][j] >> s & mask;
  else
    for (int j = 0; j < n; j++)
      out[j] = (w[i][j] >> s | w[i + 1][j] << (64 - s)) & mask;
}

/* b->values: in the copy, or looked up in the dictionary. */
AMPED_INLINE void decode_values(const amped_cpu_mttkrp *m, uint64_t k, int n, words w,
                                amped_bundle *b) {
  const amped_packing *p = m->copy->packing;
  uint64_t codes[AMPED_BUNDLE];
  if (!p->coded) {
    b->values = (const char *)m->copy->values + k * m->value_type;
    return;
  }
  b->values = b->coded;
  field(w, p->value_shift, p->value_bits, n, codes);
  if (m->value_type == AMPED_F32) {
    const float *from = m->dictionary;
    float *to = (float *)b->coded;
#pragma GCC unroll 8
    for (int j = 0; j < n; j++)
      to[j] = from[codes[j]];
  } else {
    const double *from = m->dictionary;
#pragma GCC unroll 8
    for (int j = 0; j < n; j++)
      b->coded[j] = from[codes[j]];
  }
}

/* b->fibres from b->positions and b->begins. */
AMPED_INLINE void decode_fibres(amped_bundle *b, int n) {
  const uint64_t *at = b->positions[0];
  uint32_t changes = 1;
  for (int j = 1; j < n; j++)
    changes |= (uint32_t)(at[j] != at[j - 1]) << j;
  b->fibres = b->begins | changes;
}

AMPED_INLINE void decode_n(const amped_cpu_mttkrp *m, uint64_t k, int n, bool reuse,
                           amped_bundle *b) {
  const amped_packing *p = m->copy->packing;
  words w;
  load_words(m->copy, k, n, w);
  for (int i = 0; i < p->inputs; i++)
    field(w, p->shifts[i], p->bits[i], n, b->positions[i]);
  decode_values(m, k, n, w, b);
  b->count = n;
  b->begins = m->copy->row_bits[k / AMPED_BUNDLE];
  if (reuse)
    decode_fibres(b, n);
}

/* The bundle at nonzero k of a strip that ends at `end`. */
AMPED_INLINE void decode(const amped_cpu_mttkrp *m, uint64_t k, uint64_t end, bool reuse,
                         amped_bundle *b) {
  uint64_t left = end - k;
  if (left >= AMPED_BUNDLE) {
    decode_n(m, k, AMPED_BUNDLE, reuse, b);
  } else {
    memset(b->positions, 0, sizeof b->positions); /* the kernel may prefetch rows of all of them */
    decode_n(m, k, (int)left, reuse, b);
  }
  b->closes = left <= AMPED_BUNDLE || begins_row(m->copy, k + AMPED_BUNDLE);
}

typedef void bundle_decoder(const amped_cpu_mttkrp *m, uint64_t k, uint64_t end, bool reuse,
                            amped_bundle *b);

#define DEFINE(CPU)                                                                                \
  AMPED_TARGET_##CPU static void decode_##CPU(const amped_cpu_mttkrp *m, uint64_t k, uint64_t end, \
                                              bool reuse, amped_bundle *b) {                       \
    decode(m, k, end, reuse, b);                                                                   \
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
  bool reuse;
} job;

/* Add up one strip. If it begins inside a row, its part of that row goes to fixup. */
static void sum_strip(const job *j, uint64_t first, uint64_t end, double *fixup) {
  const amped_cpu_mttkrp *m = j->m;
  const amped_cpu_copy *copy = m->copy;
  double sum[AMPED_MAX_NCOMPS];
  amped_bundle bundles[2];
  amped_strip strip = {.inputs = copy->packing->inputs, .ld = m->ld, .out = m->out, .sum = sum};
  strip.row_list = copy->row_list;
  strip.index_type = copy->index_type;
  strip.entry = index_at(copy->row_table, copy->index_type, first / copy->packing->pack);
  strip.fixup = begins_row(copy, first) ? NULL : fixup;
  for (int i = 0; i < strip.inputs; i++) {
    strip.factors[i] = m->factors[i];
    if (m->fetch[i])
      strip.fetch[strip.fetches++] = i;
  }
  j->decode(m, first, end, j->reuse, &bundles[0]);
  for (uint64_t k = first, turn = 0; k < end; k += AMPED_BUNDLE, turn = !turn) {
    bool last = end - k <= AMPED_BUNDLE;
    if (!last)
      j->decode(m, k + AMPED_BUNDLE, end, j->reuse, &bundles[!turn]);
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
    while (r < strips && !begins_row(copy, r * step) &&
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

void amped_mttkrp_cpu(const amped_cpu_mttkrp *m, int threads) {
  const amped_cpu_copy *copy = m->copy;
  uint64_t nnz = copy->nnz;
  job j = {.m = m, .decode = find_decoder(), .reuse = nnz / LONG_FIBRE >= copy->fibres};
  uint64_t pieces = amped_ceil_div(m->rows, ZERO_ROWS);
  uint64_t step = amped_cpu_strip_nnz(copy->packing, nnz);
  uint64_t strips = amped_cpu_strips(copy->packing, nnz);
  j.kernel = amped_bundle_kernel_find(m->value_type, m->ld, copy->packing->inputs, j.reuse);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static) nowait
    for (uint64_t i = 0; i < pieces; i++)
      zero_others(m, i * ZERO_ROWS, (i + 1) * ZERO_ROWS < m->rows ? (i + 1) * ZERO_ROWS : m->rows);
#pragma omp for schedule(dynamic)
    for (uint64_t r = 0; r < strips; r++)
      sum_strip(&j, r * step, (r + 1) * step < nnz ? (r + 1) * step : nnz, m->fixup + r * m->ld);
  }
  add_fixup(m);
}
