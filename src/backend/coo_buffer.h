/* Pile: a rank's nonzeros of one mode as they came, before they are a copy.
 *
 * Nonzero k of a pile has file indices of amped_itype_for(dim) and a value of plan->value_type. The
 * order of the copy is by row of the rank's MTTKRP result (that of the indices in the output mode,
 * those of split iDps last), then in modes 0, 1, ... without it, then as nonzeros came. The
 * first two make a key of one or more words; no field lies in two.
 *
 * The struct and the inline functions are shared by the CPU (pile_cpu.c) and the GPU (../cuda);
 * pointers lead to host memory, or to what a device reads. */
#ifndef AMPED_PILE_H
#define AMPED_PILE_H

#include "plan/plan.h"

typedef struct amped_pile_mode {
  const void *indices;      /* [count] */
  const uint64_t *position; /* the plan's table */
  uint64_t width;
  uint8_t index_bytes;
  uint8_t word;  /* of the key, where this is an input mode; 0 is the most significant */
  uint8_t shift; /* of the field in it */
} amped_pile_mode;

typedef struct amped_pile {
  int order;
  int mode;
  uint64_t count;
  const uint64_t *rows; /* the plan's table of output rows */
  int words;
  uint8_t word_bits[AMPED_MAX_ORDER];
  uint8_t row_shift; /* of the row in word 0 */
  uint8_t value_bytes;
  amped_pile_mode modes[AMPED_MAX_ORDER];
  const void *values; /* [count] */
} amped_pile;

/* The pile of the plan's rank for mode, without nonzeros: indices and values are the caller's to
 * set. */
void amped_pile_make(amped_pile *pile, const amped_plan *plan, int mode);

/* The error that more nonzeros came for mode than the plan gives the rank. */
amped_status amped_pile_overflow(const amped_plan *plan, int mode);

/* Bytes of a nonzero in a pile. */
uint64_t amped_pile_nonzero_bytes(const amped_plan *plan);

/* The words of a key in whichever mode has most. */
int amped_pile_words(const amped_plan *plan);

AMPED_BOTH static inline uint64_t amped_pile_index(const amped_pile *pile, int mode, uint64_t k) {
  const void *indices = pile->modes[mode].indices;
  switch (pile->modes[mode].index_bytes) {
  case 1:
    return ((const uint8_t *)indices)[k];
  case 2:
    return ((const uint16_t *)indices)[k];
  case 4:
    return ((const uint32_t *)indices)[k];
  default:
    return ((const uint64_t *)indices)[k];
  }
}

/* GPUs divide 32-bit numbers several times as fast. */
AMPED_BOTH static inline uint64_t amped_pile_idp(const amped_pile_mode *m, uint64_t index) {
  return m->index_bytes <= 4 ? (uint32_t)index / (uint32_t)m->width : index / m->width;
}

AMPED_BOTH static inline uint64_t amped_pile_position(const amped_pile *pile, int mode,
                                                      uint64_t k) {
  const amped_pile_mode *m = &pile->modes[mode];
  uint64_t index = amped_pile_index(pile, mode, k);
  uint64_t idp = amped_pile_idp(m, index);
  return m->position[idp] + (index - idp * m->width);
}

/* The row of the rank's MTTKRP result; false where it has none for the nonzero. */
AMPED_BOTH static inline bool amped_pile_row(const amped_pile *pile, uint64_t k, uint64_t *row) {
  uint64_t index = amped_pile_index(pile, pile->mode, k);
  uint64_t idp = amped_pile_idp(&pile->modes[pile->mode], index);
  uint64_t first = pile->rows[idp];
  *row = first + (index - idp * pile->modes[pile->mode].width);
  return first != AMPED_NO_ROW;
}

AMPED_BOTH static inline double amped_pile_value(const amped_pile *pile, uint64_t k) {
  return pile->value_bytes == 4 ? (double)((const float *)pile->values)[k]
                                : ((const double *)pile->values)[k];
}

AMPED_BOTH static inline uint64_t amped_pile_word(const amped_pile *pile, int word, uint64_t row,
                                                  uint64_t k) {
  uint64_t key = word == 0 ? row << pile->row_shift : 0;
  for (int m = 0; m < pile->order; m++)
    if (m != pile->mode && pile->modes[m].word == word)
      key |= amped_pile_index(pile, m, k) << pile->modes[m].shift;
  return key;
}

#endif
