/* State changes: what batches changed in a stream's state, as places in its journals
 * (state_journal.h): of one batch, or of all since STATE was written.
 *
 * Host memory, owned by the struct; start from {0}. */
#ifndef AMPED_STATE_CHANGES_H
#define AMPED_STATE_CHANGES_H

#include "hdf5/state_base.h"

/* Rows of a mode: row numbers, and places of their entries. Those up to `sorted` ascend, each once;
 * of equal ones behind it the last counts. */
typedef struct amped_state_places {
  uint64_t count, room, sorted;
  uint64_t *rows, *at;
} amped_state_places;

/* A part of a list: labels of a mode, or held-out entries. */
typedef struct amped_state_piece {
  int mode;
  uint64_t count, at;
} amped_state_piece;
typedef struct amped_state_pieces {
  uint64_t count, room;
  amped_state_piece *list;
} amped_state_pieces;

typedef struct amped_state_changes {
  amped_state_places rows[AMPED_MAX_ORDER];
  uint64_t sums[AMPED_MAX_ORDER]; /* the place of a mode's sums; 0: none */
  amped_state_pieces labels, held;
  amped_state_batches batches;
} amped_state_changes;

amped_status amped_state_places_add(amped_state_places *places, uint64_t row, uint64_t at);
amped_status amped_state_pieces_add(amped_state_pieces *pieces, int mode, uint64_t count,
                                    uint64_t at);

/* Bring places into the order of rows; of equal rows the last one stays. */
amped_status amped_state_places_sort(amped_state_places *places);

/* `from` becomes part of `to`, behind it. */
amped_status amped_state_changes_join(amped_state_changes *to, const amped_state_changes *from,
                                      int order);

void amped_state_changes_clear(amped_state_changes *changes); /* keeps the memory */
void amped_state_changes_free(amped_state_changes *changes);

#endif
