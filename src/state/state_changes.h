/* State changes: what batches changed in a stream's state, as offsets in its journals
 * (state_journal.h). Covers one batch, or all batches since STATE was written.
 *
 * Host memory, owned by the struct; start from {0}. */
#ifndef AMPED_STATE_CHANGES_H
#define AMPED_STATE_CHANGES_H

#include "state/state_base.h"

/* Changed rows of a mode: row numbers and offsets of their entries. The first `sorted` rows are
 * distinct and ascend. Later ones are in order of arrival: the last of equal rows counts. */
typedef struct amped_state_places {
  uint64_t count, room, sorted;
  uint64_t *rows, *at;
} amped_state_places;

/* Part of a list: `count` labels of a mode, or `count` entries of a list, at offset `at`. */
typedef struct amped_state_piece {
  int mode; /* mode of labels */
  uint64_t count, at;
} amped_state_piece;
typedef struct amped_state_pieces {
  uint64_t count, room;
  amped_state_piece *list;
} amped_state_pieces;

typedef struct amped_state_changes {
  amped_state_places rows[AMPED_MAX_ORDER];
  uint64_t sums[AMPED_MAX_ORDER]; /* offset of each mode's sums; 0: none */
  amped_state_pieces labels;
  amped_state_pieces entries[AMPED_STATE_LISTS];
  amped_state_batches batches;
} amped_state_changes;

amped_status amped_state_places_add(amped_state_places *places, uint64_t row, uint64_t at);
amped_status amped_state_pieces_add(amped_state_pieces *pieces, int mode, uint64_t count,
                                    uint64_t at);

/* Sort by row number. If a row occurs several times, its last entry stays. */
amped_status amped_state_places_sort(amped_state_places *places);

/* Append the changes of `from` to `to`. */
amped_status amped_state_changes_join(amped_state_changes *to, const amped_state_changes *from,
                                      int order);

void amped_state_changes_clear(amped_state_changes *changes); /* keeps the memory */
void amped_state_changes_free(amped_state_changes *changes);

#endif
