/* MTTKRP on CPU cores over a packed copy: strips of nonzeros, and their fix-up. */
#include "cpu/sorted/mttkrp_cpu.h"

#include <string.h>

#include "cpu/sorted/ratio_bundle.h"

/* Most strips of a copy, and fewest nonzeros of a strip. Strips are short enough to balance
 * threads, and long enough for the fix-up to cost little and its buffer to stay small. */
#define STRIPS 1024
#define LEAST_STRIP 512

/* A fibre is a run of nonzeros that share the output row and the first input's row. From this mean
 * length on, it pays to multiply by that row once per fibre. */
#define LONG_FIBRE 8

/* Output rows that are zeroed as one unit of work. */
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
  amped_ratio_kernel *ratio; /* NULL: values stay as they are */
} job;

/* Change a bundle's values to ratios, and add them up. The rows are in the caches then. */
static void sum_ratios(const job *j, amped_ratio_strip *ratio, amped_strip *strip, amped_bundle *b,
                       const amped_bundle *ahead) {
  const int fetches = strip->fetches;
  j->ratio(ratio, strip, b, ahead);
  strip->fetches = 0;
  j->kernel(strip, b, ahead);
  strip->fetches = fetches;
}

/* Add up strip number r. If it begins inside a row, its partial sum of that row goes to fixup. */
static void sum_strip(const job *j, uint64_t r, uint64_t first, uint64_t end, double *fixup) {
  const amped_cpu_mttkrp *m = j->m;
  const amped_cpu_copy *copy = m->copy;
  double sum[AMPED_MAX_NCOMPS];
  amped_bundle bundles[2];
  amped_ratio_strip ratio = {.ratio = m->ratio};
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
    if (j->ratio != NULL)
      sum_ratios(j, &ratio, &strip, &bundles[turn], &bundles[last ? turn : !turn]);
    else
      j->kernel(&strip, &bundles[turn], &bundles[last ? turn : !turn]);
  }
  if (m->ratio != NULL && m->ratio->sums != NULL)
    m->ratio->sums[r] = ratio.sums;
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

/* Add partial sums in the fix-up buffer, from strips that continue a row, to that row in the order
 * of strips. */
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

/* Zero the rows among first .. end that have no nonzeros. Strips store the others. */
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

/* This thread's part of a traversal. Every thread of the team calls it. There is no barrier at its
 * end. */
static void sum_own_strips(const amped_cpu_mttkrp *m, amped_bundle_decoder *decoder) {
  const amped_cpu_copy *copy = m->copy;
  const uint64_t nnz = copy->nnz;
  const job j = {.m = m,
                 .decode = decoder,
                 .kernel = amped_bundle_kernel_find(m->value_type, m->ld, copy->packing->inputs,
                                                    nnz / LONG_FIBRE >= copy->fibres),
                 .ratio = m->ratio != NULL
                              ? amped_ratio_kernel_find(m->value_type, m->ld, copy->packing->inputs)
                              : NULL};
  const uint64_t pieces = m->adds ? 0 : amped_ceil_div(m->rows, ZERO_ROWS);
  const uint64_t step = amped_cpu_strip_nnz(copy->packing, nnz);
  const uint64_t strips = amped_cpu_strips(copy->packing, nnz);
#pragma omp for schedule(static) nowait
  for (uint64_t i = 0; i < pieces; i++)
    zero_others(m, i * ZERO_ROWS, (i + 1) * ZERO_ROWS < m->rows ? (i + 1) * ZERO_ROWS : m->rows);
#pragma omp for schedule(dynamic) nowait
  for (uint64_t r = 0; r < strips; r++)
    sum_strip(&j, r, r * step, (r + 1) * step < nnz ? (r + 1) * step : nnz, m->fixup + r * m->ld);
}

void amped_mttkrp_cpu(const amped_cpu_mttkrp *m, int count, int threads) {
  amped_bundle_decoder *const decoder = amped_bundle_decoder_find();
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
