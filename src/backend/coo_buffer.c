#include "backend/coo_buffer.h"

#include <string.h>

#define WORD_BITS 64

/* Deal the fields out to words, in order, none to two; fields of a word lie from its top down. */
static void make_key(amped_pile *pile, const amped_plan *plan, int row_bits) {
  int bits[AMPED_MAX_ORDER];
  int word = 0;
  pile->word_bits[0] = (uint8_t)row_bits;
  for (int m = 0; m < plan->order; m++) {
    bits[m] = m == pile->mode ? 0 : amped_bits_for(plan->dims[m]);
    if (pile->word_bits[word] + bits[m] > WORD_BITS)
      word++;
    pile->word_bits[word] = (uint8_t)(pile->word_bits[word] + bits[m]);
    pile->modes[m].word = (uint8_t)word;
  }
  pile->words = word + 1;
  int left[AMPED_MAX_ORDER];
  for (int w = 0; w < pile->words; w++)
    left[w] = pile->word_bits[w];
  left[0] -= row_bits;
  pile->row_shift = (uint8_t)left[0];
  for (int m = 0; m < plan->order; m++) {
    left[pile->modes[m].word] -= bits[m];
    pile->modes[m].shift = (uint8_t)left[pile->modes[m].word];
  }
}

void amped_pile_make(amped_pile *pile, const amped_plan *plan, int mode) {
  int row_bits = amped_bits_for(plan->modes[mode].output_rows);
  memset(pile, 0, sizeof *pile);
  pile->order = plan->order;
  pile->mode = mode;
  pile->rows = plan->modes[mode].row;
  pile->value_bytes = (uint8_t)plan->value_type;
  for (int m = 0; m < plan->order; m++) {
    pile->modes[m].position = plan->modes[m].position;
    pile->modes[m].width = plan->modes[m].width;
    pile->modes[m].index_bytes = (uint8_t)amped_itype_for(plan->dims[m]);
  }
  /* One bit at least, so that what stands below the row is shifted by less than a word. */
  make_key(pile, plan, row_bits > 0 ? row_bits : 1);
}

amped_status amped_pile_overflow(const amped_plan *plan, int mode) {
  return amped_error(AMPED_FAILED, NULL,
                     "rank %d got more nonzeros of mode %d than the %" PRIu64
                     " that were counted; this is a mistake of amped_mpi, please report it",
                     plan->rank, mode, plan->modes[mode].rank_nnz[plan->rank]);
}

uint64_t amped_pile_nonzero_bytes(const amped_plan *plan) {
  uint64_t bytes = plan->value_type;
  for (int m = 0; m < plan->order; m++)
    bytes += amped_itype_for(plan->dims[m]);
  return bytes;
}

int amped_pile_words(const amped_plan *plan) {
  int most = 1;
  for (int m = 0; m < plan->order; m++) {
    amped_pile pile;
    amped_pile_make(&pile, plan, m);
    most = pile.words > most ? pile.words : most;
  }
  return most;
}
