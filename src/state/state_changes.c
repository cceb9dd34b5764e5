/* State changes: lists of rows, labels, entries and batches in the journals. */
#include "state/state_changes.h"

#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

amped_status amped_state_places_add(amped_state_places *p, uint64_t row, uint64_t at) {
  if (p->count == p->room) {
    const uint64_t room = p->room > 0 ? 2 * p->room : 64;
    AMPED_TRY(amped_realloc(&p->rows, room, sizeof *p->rows, "rows of a state's journal"));
    AMPED_TRY(amped_realloc(&p->at, room, sizeof *p->at, "rows of a state's journal"));
    p->room = room;
  }
  p->rows[p->count] = row;
  p->at[p->count++] = at;
  return AMPED_OK;
}

amped_status amped_state_pieces_add(amped_state_pieces *p, int mode, uint64_t count, uint64_t at) {
  if (p->count == p->room) {
    const uint64_t room = p->room > 0 ? 2 * p->room : 8;
    AMPED_TRY(amped_realloc(&p->list, room, sizeof *p->list, "lists of a state's journal"));
    p->room = room;
  }
  p->list[p->count++] = (amped_state_piece){mode, count, at};
  return AMPED_OK;
}

void amped_state_changes_clear(amped_state_changes *c) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    c->rows[m].count = c->rows[m].sorted = c->sums[m] = 0;
  for (int l = 0; l < AMPED_STATE_LISTS; l++)
    c->entries[l].count = 0;
  c->labels.count = 0;
  c->batches.count = c->batches.names.count = 0;
}

void amped_state_changes_free(amped_state_changes *c) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(c->rows[m].rows);
    amped_free(c->rows[m].at);
  }
  amped_free(c->labels.list);
  for (int l = 0; l < AMPED_STATE_LISTS; l++)
    amped_free(c->entries[l].list);
  amped_state_batches_free(&c->batches);
  memset(c, 0, sizeof *c);
}

amped_status amped_state_changes_join(amped_state_changes *to, const amped_state_changes *from,
                                      int order) {
  for (int m = 0; m < order; m++)
    for (uint64_t i = 0; i < from->rows[m].count; i++)
      AMPED_TRY(amped_state_places_add(&to->rows[m], from->rows[m].rows[i], from->rows[m].at[i]));
  for (int m = 0; m < order; m++)
    to->sums[m] = from->sums[m] > 0 ? from->sums[m] : to->sums[m];
  for (uint64_t i = 0; i < from->labels.count; i++)
    AMPED_TRY(amped_state_pieces_add(&to->labels, from->labels.list[i].mode,
                                     from->labels.list[i].count, from->labels.list[i].at));
  for (int l = 0; l < AMPED_STATE_LISTS; l++)
    for (uint64_t i = 0; i < from->entries[l].count; i++)
      AMPED_TRY(amped_state_pieces_add(&to->entries[l], 0, from->entries[l].list[i].count,
                                       from->entries[l].list[i].at));
  for (uint64_t i = 0; i < from->batches.count; i++)
    AMPED_TRY(amped_state_batches_add(
        &to->batches, from->batches.hashes[i], from->batches.nnz[i],
        from->batches.names.bytes + from->batches.names.offsets[i],
        strlen(from->batches.names.bytes + from->batches.names.offsets[i])));
  return AMPED_OK;
}

amped_status amped_state_places_sort(amped_state_places *p) {
  if (p->sorted == p->count)
    return AMPED_OK;
  const amped_sort_field key = {p->rows, amped_sort_bits(p->rows, p->count)};
  void *const arrays[] = {p->rows, p->at};
  AMPED_TRY(amped_sort(p->count, &key, 1, 0, arrays, 2)); /* The sort is stable: the last of equal
                                                             rows is the newest. */
  uint64_t n = 0;
  for (uint64_t i = 0; i < p->count; i++) {
    n -= i > 0 && p->rows[i] == p->rows[n - 1];
    p->rows[n] = p->rows[i];
    p->at[n++] = p->at[i];
  }
  p->count = p->sorted = n;
  return AMPED_OK;
}
