/* Linear order: order of the bits, and the cut into boxes. */
#include "plan/linear.h"

#include <string.h>

/* Most bits by which a prefix may be lengthened to make numbers narrower. */
#define MORE_BITS 3

/* by_length = the modes, shortest first; of equal modes, the lowest first. */
static void sort_modes(int order, const uint64_t *sizes, int *by_length) {
  for (int m = 0; m < order; m++) {
    int i = m;
    for (; i > 0 && sizes[by_length[i - 1]] > sizes[m]; i--)
      by_length[i] = by_length[i - 1];
    by_length[i] = m;
  }
}

bool amped_linear_make(amped_linear *l, int order, const uint64_t *sizes) {
  int by_length[AMPED_MAX_ORDER];
  int bits[AMPED_MAX_ORDER];
  int total = 0;
  memset(l, 0, sizeof *l);
  l->order = order;
  for (int m = 0; m < order; m++)
    total += bits[m] = amped_bits_for(sizes[m]);
  if (total > AMPED_LINEAR_BITS)
    return false;
  sort_modes(order, sizes, by_length);
  for (int place = 0; l->bits < total; place++)
    for (int i = 0; i < order; i++)
      if (place < bits[by_length[i]]) {
        l->mode_of[l->bits] = (uint8_t)by_length[i];
        l->place_of[l->bits++] = (uint8_t)place;
      }
  amped_linear_cut(l, 0, 0, AMPED_F32, 0);
  return true;
}

void amped_linear_cut(amped_linear *l, int prefix, uint64_t codes, amped_vtype value_type,
                      uint64_t nnz) {
  uint64_t widths[AMPED_MAX_ORDER];
  l->prefix = prefix;
  memset(l->low_bits, 0, sizeof l->low_bits);
  for (int b = 0; b < l->bits - prefix; b++)
    l->low_bits[l->mode_of[b]]++;
  for (int m = 0; m < l->order; m++)
    widths[m] = UINT64_C(1) << l->low_bits[m];
  amped_packing_make(&l->packing, l->order, widths, codes, value_type, nnz);
}

void amped_linear_cut_best(amped_linear *l, uint64_t codes, amped_vtype value_type, uint64_t nnz) {
  const int most = l->bits < AMPED_BOX_BITS ? l->bits : AMPED_BOX_BITS;
  int prefix = 0;
  while (prefix < most && nnz >> (prefix + 1) >= AMPED_BOX_NNZ)
    prefix++;
  amped_linear_cut(l, prefix, codes, value_type, nnz);
  const uint64_t bytes = amped_packing_nonzero_bytes(&l->packing, value_type);
  for (int more = prefix + 1; more <= prefix + MORE_BITS && more <= most; more++) {
    amped_linear_cut(l, more, codes, value_type, nnz);
    if (amped_packing_nonzero_bytes(&l->packing, value_type) < bytes)
      return;
  }
  amped_linear_cut(l, prefix, codes, value_type, nnz);
}
