/* COO buffer: a rank's nonzeros of one mode as they came, before they are a copy.
 *
 * Nonzero k of a buffer has file indices of amped_itype_for(dim) and a value of plan->value_type.
 * The order of the copy is by row of the rank's MTTKRP result (that of the indices in the output
 * mode, those of split iDps last), then in modes 0, 1, ... without it, then as nonzeros came. The
 * first two make a key of one or more words; no field lies in two.
 *
 * The struct and the inline functions are shared by the CPU (pile_cpu.c) and the GPU (../cuda);
 * pointers lead to host memory, or to what a device reads. */
#ifndef AMPED_COO_BUFFER_H
#define AMPED_COO_BUFFER_H

#include "plan/plan.h"

typedef struct amped_coo_buffer_mode {
  const void *indices;      /* [count] */
  const uint64_t *position; /* the plan's table */
  uint64_t width;
  uint8_t index_bytes;
  uint8_t word;  /* of the key, where this is an input mode; 0 is the most significant */
  uint8_t shift; /* of the field in it */
} amped_coo_buffer_mode;

typedef struct amped_coo_buffer {
  int order;
  int mode;
  uint64_t count;
  const uint64_t *rows; /* the plan's table of output rows */
  int words;
  uint8_t word_bits[AMPED_MAX_ORDER];
  uint8_t row_shift; /* of the row in word 0 */
  uint8_t value_bytes;
  amped_coo_buffer_mode modes[AMPED_MAX_ORDER];
  const void *values; /* [count] */
} amped_coo_buffer;

/* The buffer of the plan's rank for mode, without nonzeros: indices and values are the caller's to
 * set. */
void amped_coo_buffer_make(amped_coo_buffer *buffer, const amped_plan *plan, int mode);

/* The error that more nonzeros came for mode than the plan gives the rank. */
amped_status amped_coo_buffer_overflow(const amped_plan *plan, int mode);

/* Bytes of a nonzero in a buffer. */
uint64_t amped_coo_buffer_nonzero_bytes(const amped_plan *plan);

/* The words of a key in whichever mode has most. */
int amped_coo_buffer_words(const amped_plan *plan);

AMPED_BOTH static inline uint64_t amped_coo_buffer_index(const amped_coo_buffer *buffer, int mode,
                                                         uint64_t k) {
  const void *indices = buffer->modes[mode].indices;
  switch (buffer->modes[mode].index_bytes) {
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
AMPED_BOTH static inline uint64_t amped_coo_buffer_idp(const amped_coo_buffer_mode *m,
                                                       uint64_t index) {
  return m->index_bytes <= 4 ? (uint32_t)index / (uint32_t)m->width : index / m->width;
}

AMPED_BOTH static inline uint64_t amped_coo_buffer_position(const amped_coo_buffer *buffer,
                                                            int mode, uint64_t k) {
  const amped_coo_buffer_mode *m = &buffer->modes[mode];
  uint64_t index = amped_coo_buffer_index(buffer, mode, k);
  uint64_t idp = amped_coo_buffer_idp(m, index);
  return m->position[idp] + (index - idp * m->width);
}

/* The row of the rank's MTTKRP result; false where it has none for the nonzero. */
AMPED_BOTH static inline bool amped_coo_buffer_row(const amped_coo_buffer *buffer, uint64_t k,
                                                   uint64_t *row) {
  uint64_t index = amped_coo_buffer_index(buffer, buffer->mode, k);
  uint64_t idp = amped_coo_buffer_idp(&buffer->modes[buffer->mode], index);
  uint64_t first = buffer->rows[idp];
  *row = first + (index - idp * buffer->modes[buffer->mode].width);
  return first != AMPED_NO_ROW;
}

AMPED_BOTH static inline double amped_coo_buffer_value(const amped_coo_buffer *buffer, uint64_t k) {
  return buffer->value_bytes == 4 ? (double)((const float *)buffer->values)[k]
                                  : ((const double *)buffer->values)[k];
}

AMPED_BOTH static inline uint64_t amped_coo_buffer_word(const amped_coo_buffer *buffer, int word,
                                                        uint64_t row, uint64_t k) {
  uint64_t key = word == 0 ? row << buffer->row_shift : 0;
  for (int m = 0; m < buffer->order; m++)
    if (m != buffer->mode && buffer->modes[m].word == word)
      key |= amped_coo_buffer_index(buffer, m, k) << buffer->modes[m].shift;
  return key;
}

#endif
