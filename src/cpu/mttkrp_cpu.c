#include "cpu/mttkrp_cpu.h"

#include <string.h>

/* Strips of a copy, and nonzeros of a strip, at least: short enough to balance threads and to keep
 * the fix-up buffer small, long enough for the fix-up to cost little. */
#define STRIPS 1024
#define LEAST_STRIP 512

/* A fibre is a stretch of nonzeros that share the output row and the first input's row. From this
 * mean length on it pays to multiply by that row once a fibre. */
#define LONG_FIBRE 8

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

/* --- strips ------------------------------------------------------------------------------------*/

typedef struct job {
  const amped_cpu_mttkrp *m;
  amped_bundle_decoder *decode;
  amped_bundle_kernel *kernel;
  bool reuse;
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

void amped_mttkrp_cpu(const amped_cpu_mttkrp *m, int threads) {
  const amped_cpu_copy *copy = m->copy;
  uint64_t nnz = copy->nnz;
  job j = {
      .m = m, .decode = amped_bundle_decoder_find(), .reuse = nnz / LONG_FIBRE >= copy->fibres};
  uint64_t pieces = amped_ceil_div(m->rows, ZERO_ROWS);
  uint64_t step = amped_cpu_strip_nnz(copy->packing, nnz);
  uint64_t strips = amped_cpu_strips(copy->packing, nnz);
  j.kernel = amped_bundle_kernel_find(m->value_type, m->ld, copy->packing->inputs, j.reuse);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static) nowait
    for (uint64_t i = 0; i < (m->adds ? 0 : pieces); i++)
      zero_others(m, i * ZERO_ROWS, (i + 1) * ZERO_ROWS < m->rows ? (i + 1) * ZERO_ROWS : m->rows);
#pragma omp for schedule(dynamic)
    for (uint64_t r = 0; r < strips; r++)
      sum_strip(&j, r * step, (r + 1) * step < nnz ? (r + 1) * step : nnz, m->fixup + r * m->ld);
  }
  add_fixup(m);
}
