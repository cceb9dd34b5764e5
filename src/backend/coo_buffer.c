/* COO buffer: layout of its sort key, and sizes. */
#include "backend/coo_buffer.h"

#include <string.h>

#define WORD_BITS 64

/* Assign the fields to words, in order, from the top bit of a word down; no field lies in two
 * words. */
static void make_key(amped_coo_buffer *buffer, const amped_plan *plan, int row_bits) {
  int bits[AMPED_MAX_ORDER];
  int word = 0;
  buffer->word_bits[0] = (uint8_t)row_bits;
  for (int m = 0; m < plan->order; m++) {
    bits[m] = m == buffer->mode ? 0 : amped_bits_for(plan->dims[m]);
    if (buffer->word_bits[word] + bits[m] > WORD_BITS)
      word++;
    buffer->word_bits[word] = (uint8_t)(buffer->word_bits[word] + bits[m]);
    buffer->modes[m].word = (uint8_t)word;
  }
  buffer->words = word + 1;
  int left[AMPED_MAX_ORDER];
  for (int w = 0; w < buffer->words; w++)
    left[w] = buffer->word_bits[w];
  left[0] -= row_bits;
  buffer->row_shift = (uint8_t)left[0];
  for (int m = 0; m < plan->order; m++) {
    left[buffer->modes[m].word] -= bits[m];
    buffer->modes[m].shift = (uint8_t)left[buffer->modes[m].word];
  }
}

void amped_coo_buffer_make(amped_coo_buffer *buffer, const amped_plan *plan, int mode) {
  int row_bits = amped_bits_for(plan->modes[mode].copy.output_rows);
  memset(buffer, 0, sizeof *buffer);
  buffer->order = plan->order;
  buffer->mode = mode;
  buffer->rows = plan->modes[mode].copy.row;
  buffer->value_bytes = (uint8_t)plan->value_type;
  for (int m = 0; m < plan->order; m++) {
    buffer->modes[m].position = plan->modes[m].rows.position;
    buffer->modes[m].width = plan->modes[m].rows.width;
    buffer->modes[m].index_bytes = (uint8_t)amped_itype_for(plan->dims[m]);
  }
  /* At least one bit, so that the row's shift is less than a word. */
  make_key(buffer, plan, row_bits > 0 ? row_bits : 1);
}

amped_status amped_coo_buffer_overflow(const amped_plan *plan, int mode) {
  return amped_error(AMPED_FAILED, NULL,
                     "rank %d got more nonzeros of mode %d than the %" PRIu64
                     " that were counted; this is a mistake of amped_mpi, please report it",
                     plan->rank, mode + 1, plan->modes[mode].copy.rank_nnz[plan->rank]);
}

uint64_t amped_coo_buffer_nonzero_bytes(const amped_plan *plan) {
  uint64_t bytes = plan->value_type;
  for (int m = 0; m < plan->order; m++)
    bytes += amped_itype_for(plan->dims[m]);
  return bytes;
}

int amped_coo_buffer_words(const amped_plan *plan) {
  int most = 1;
  for (int m = 0; m < plan->order; m++) {
    amped_coo_buffer buffer;
    amped_coo_buffer_make(&buffer, plan, m);
    most = buffer.words > most ? buffer.words : most;
  }
  return most;
}
