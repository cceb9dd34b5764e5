/* COO buffer: a rank's nonzeros of one mode, unsorted, in order of arrival.
 *
 * Nonzero k has file indices of amped_itype_for(dim) and a value of plan->value_type. A copy is
 * sorted by the row of the rank's MTTKRP result, then by the indices in modes 0, 1, ... without the
 * output mode, then by arrival. (Rows follow the indices in the output mode, except rows of split
 * iDps, which come last.) Row and indices make a key of one or more words; no field lies in two
 * words.
 *
 * The CPU (cpu/load/coo_buffer_cpu.c) and the GPU (cuda/load) share the struct and the inline
 * functions. Pointers are borrowed; they lead to host memory on the CPU and to device memory on the
 * GPU. */
#ifndef AMPED_COO_BUFFER_H
#define AMPED_COO_BUFFER_H

#include "plan/plan.h"

typedef struct amped_coo_buffer_mode {
  const void *indices;      /* [count] */
  const uint64_t *position; /* the plan's table */
  uint64_t width;
  uint8_t index_bytes;
  uint8_t word;  /* word of the key, for an input mode; 0 is the most significant */
  uint8_t shift; /* shift of the field within its word */
} amped_coo_buffer_mode;

typedef struct amped_coo_buffer {
  int order;
  int mode;
  uint64_t count;
  const uint64_t *rows; /* the plan's table of output rows */
  int words;
  uint8_t word_bits[AMPED_MAX_ORDER];
  uint8_t row_shift; /* shift of the row within word 0 */
  uint8_t value_bytes;
  amped_coo_buffer_mode modes[AMPED_MAX_ORDER];
  const void *values; /* [count] */
} amped_coo_buffer;

/* Make the buffer of the plan's rank for mode, without nonzeros: the caller sets indices and
 * values. */
void amped_coo_buffer_make(amped_coo_buffer *buffer, const amped_plan *plan, int mode);

/* The error for more nonzeros of mode than the plan counted for the rank. */
amped_status amped_coo_buffer_overflow(const amped_plan *plan, int mode);

/* Bytes of a nonzero in a buffer. */
uint64_t amped_coo_buffer_nonzero_bytes(const amped_plan *plan);

/* Words of a key: the maximum over modes. */
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

/* The iDp of an index. GPUs divide 32-bit numbers several times as fast as 64-bit numbers. */
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

/* Finds nonzero k's row of the rank's MTTKRP result. Returns false if the rank has no such row. */
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
