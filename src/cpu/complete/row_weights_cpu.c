/* Weights of single nonzeros for row fits: set them, and read nonzeros with their weights. */
#include "base/mem.h"
#include "cpu/complete/row_fit_cpu.h"

/* Sort key of a nonzero in a copy: its row of the MTTKRP result, then its file indices in the other
 * modes. */
typedef struct place {
  uint64_t row;
  uint64_t index[AMPED_MAX_ORDER - 1];
} place;

/* A search in a copy. index_of: file index of each position, per input mode. */
typedef struct search {
  const amped_cpu_copy *copy;
  const uint64_t *index_of[AMPED_MAX_ORDER - 1];
} search;

/* The entry of nonzero k in the copy's row list. */
static uint64_t entry_of(const amped_cpu_copy *copy, uint64_t k) {
  const uint64_t pack = k / copy->packing->pack;
  uint64_t entry = amped_cpu_copy_index(copy, copy->row_table, pack);
  const uint64_t first = pack * copy->packing->pack + 1;
  for (uint64_t j = first; j <= k; j = (j / 32 + 1) * 32) {
    uint32_t bits = copy->row_bits[j / 32] & UINT32_MAX << j % 32;
    if (k / 32 == j / 32)
      bits &= UINT32_MAX >> (31 - k % 32);
    entry += (uint64_t)__builtin_popcount(bits);
  }
  return entry;
}

/* Compare nonzero k with a key: negative if k comes before, 0 if equal, positive if after. */
static int compare(const search *s, uint64_t k, const place *at) {
  const amped_packing *p = s->copy->packing;
  uint64_t words[AMPED_MAX_PLANES];
  const uint64_t row = amped_cpu_copy_index(s->copy, s->copy->row_list, entry_of(s->copy, k));
  if (row != at->row)
    return row < at->row ? -1 : 1;
  amped_packed_get(p, (const void *const *)s->copy->planes, k, words);
  for (int i = 0; i < p->inputs; i++) {
    const uint64_t index = s->index_of[i][amped_packed_field(words, p->shifts[i], p->bits[i])];
    if (index != at->index[i])
      return index < at->index[i] ? -1 : 1;
  }
  return 0;
}

/* The first nonzero that does not come before the key; nnz if there is none. */
static uint64_t find(const search *s, const place *at) {
  uint64_t low = 0;
  uint64_t high = s->copy->nnz;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (compare(s, middle, at) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Key of the caller's entry i in mode's copy. Returns false if this rank has no row for it. */
static bool place_of(const amped_plan *plan, int mode, const uint64_t *const *indices, uint64_t i,
                     place *at) {
  const amped_mode_plan *m = &plan->modes[mode];
  const uint64_t idp = indices[mode][i] / m->rows.width;
  if (m->copy.row[idp] == AMPED_NO_ROW)
    return false;
  at->row = m->copy.row[idp] + (indices[mode][i] - idp * m->rows.width);
  for (int k = 0, input = 0; k < plan->order; k++)
    if (k != mode)
      at->index[input++] = indices[k][i];
  return true;
}

static uint64_t weigh_mode(amped_tensor_part *part, int mode, uint64_t count,
                           const uint64_t *const *indices, const double *weights) {
  search s = {.copy = &part->copies[mode]};
  uint64_t placed = 0;
  for (int k = 0, input = 0; k < part->plan->order; k++)
    if (k != mode)
      s.index_of[input++] = part->row_fit->indices_of[k];
#pragma omp parallel for schedule(dynamic, 256) num_threads(part->threads) reduction(+ : placed)
  for (uint64_t i = 0; i < count; i++) {
    place at;
    if (!place_of(part->plan, mode, indices, i, &at))
      continue;
    for (uint64_t k = find(&s, &at); k < s.copy->nnz && compare(&s, k, &at) == 0; k++) {
      amped_value_put(part->row_fit->weights[mode], part->plan->value_type, k, weights[i]);
      placed++;
    }
  }
  return placed;
}

amped_status amped_row_fit_cpu_weigh(amped_tensor_part *part, uint64_t count,
                                     const uint64_t *const *indices, const double *weights,
                                     uint64_t *placed) {
  AMPED_TRY(amped_row_fit_cpu_find_indices(part, NULL));
  for (int m = 0; m < part->plan->order; m++) {
    const uint64_t n = weigh_mode(part, m, count, indices, weights);
    *placed += m == 0 ? n : 0;
  }
  return AMPED_OK;
}

amped_status amped_row_fit_cpu_view(amped_tensor_part *part, uint64_t first, uint64_t count,
                                    uint64_t *const *positions, bool *held, double *weights,
                                    double *values) {
  const amped_cpu_copy *copy = &part->copies[0];
  const amped_packing *p = copy->packing;
  const uint64_t *bits = part->row_fit->held[0];
  const void *of = part->row_fit->weights[0];
  uint64_t entry = count > 0 ? entry_of(copy, first) : 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t words[AMPED_MAX_PLANES];
    const uint64_t k = first + i;
    entry += i > 0 && amped_cpu_copy_begins_row(copy, k);
    positions[0][i] =
        amped_plan_row_position(part->plan, 0, amped_cpu_copy_index(copy, copy->row_list, entry));
    amped_packed_get(p, (const void *const *)copy->planes, k, words);
    for (int m = 1; m < part->plan->order; m++)
      positions[m][i] = amped_packed_field(words, p->shifts[m - 1], p->bits[m - 1]);
    held[i] = bits[k / 64] >> k % 64 & 1;
    if (weights != NULL)
      weights[i] = of == NULL ? 1.0 : amped_value_get(of, part->plan->value_type, k);
    if (values != NULL)
      values[i] = p->coded
                      ? amped_value_get(part->codebook.values, part->plan->value_type,
                                        amped_packed_field(words, p->value_shift, p->value_bits))
                      : amped_value_get(copy->values, part->plan->value_type, k);
  }
  return AMPED_OK;
}
