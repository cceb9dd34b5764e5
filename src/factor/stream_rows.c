#include "factor/stream_rows.h"

#include <string.h>

#include "base/mem.h"
#include "plan/touched.h"

static const char what[] = "the rows of a stream";

/* Room for so many rows, where they outgrow it. */
static uint64_t room_for(uint64_t rows, uint64_t room) {
  return rows <= room ? room : rows + rows / 2;
}

/* An array of `old` rows gets room for `room`; the rows behind are zero. */
static amped_status extend(void *array, uint64_t old, uint64_t room, uint64_t bytes) {
  uint64_t all = 0;
  void *block = *(void **)array;
  if (!amped_mul(room, bytes, &all))
    return amped_error(AMPED_FAILED, NULL, "%" PRIu64 " rows are too many for any machine", room);
  AMPED_TRY(amped_realloc(&block, all, 1, what));
  *(void **)array = block;
  if (all > 0)
    memset((char *)block + old * bytes, 0, all - old * bytes);
  return AMPED_OK;
}

static amped_status make_room(amped_stream_rows *r, int m, uint64_t dim) {
  const uint64_t room = room_for(dim, r->room[m]);
  const uint64_t own = room_for(amped_stream_own_rows(dim, r->rank, r->nranks), r->own_room[m]);
  if (room > r->room[m])
    AMPED_TRY(extend(&r->factor[m], r->room[m], room, r->ncomps * r->type));
  r->room[m] = room;
  if (own == r->own_room[m])
    return AMPED_OK;
  AMPED_TRY(extend(&r->touched[m], r->own_room[m], own, sizeof *r->touched[m]));
  AMPED_TRY(extend(&r->history[m], r->own_room[m], own, r->length * r->type));
  r->own_room[m] = own;
  return AMPED_OK;
}

amped_status amped_stream_rows_grow(amped_stream_rows *r, const uint64_t *dims) {
  for (int m = 0; m < r->order; m++)
    AMPED_TRY(make_room(r, m, dims[m]));
  memcpy(r->dims, dims, sizeof r->dims);
  return AMPED_OK;
}

amped_status amped_stream_rows_create(amped_stream_rows *r, const amped_comm *comm,
                                      const amped_state_head *head) {
  *r = (amped_stream_rows){.rank = comm->rank,
                           .nranks = comm->nranks,
                           .order = head->order,
                           .ncomps = (uint64_t)head->ncomps,
                           .length = head->history_length,
                           .type = head->type};
  const amped_status status = amped_stream_rows_grow(r, head->dims);
  if (status != AMPED_OK)
    amped_stream_rows_free(r);
  return status;
}

void amped_stream_rows_free(amped_stream_rows *r) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(r->factor[m]);
    amped_free(r->history[m]);
    amped_free(r->touched[m]);
  }
  memset(r, 0, sizeof *r);
}

uint64_t amped_stream_rows_bytes(const amped_state_head *head, int rank, int nranks) {
  uint64_t bytes = 0;
  for (int m = 0; m < head->order; m++)
    bytes += room_for(head->dims[m], 0) * (uint64_t)head->ncomps * head->type +
             room_for(amped_stream_own_rows(head->dims[m], rank, nranks), 0) *
                 (head->history_length * head->type + sizeof(uint64_t));
  return bytes;
}

/* --- to and from the state's file --------------------------------------------------------------
 */

static void *history_of(const amped_stream_rows *r, int mode, uint64_t slot) {
  return (char *)r->history[mode] + slot * r->length * r->type;
}

amped_status amped_stream_rows_take(void *context, int mode, uint64_t first, uint64_t count,
                                    const void *factor, const void *history,
                                    const uint64_t *touched) {
  amped_stream_rows *r = context;
  const uint64_t bytes = r->length * r->type;
  memcpy(amped_stream_row(r, mode, first), factor, count * r->ncomps * r->type);
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t slot = amped_stream_slot(first + i, r->nranks);
    if (amped_stream_owner(first + i, r->nranks) != r->rank)
      continue;
    r->touched[mode][slot] = touched[i];
    if (bytes > 0)
      memcpy(history_of(r, mode, slot), (const char *)history + i * bytes, bytes);
  }
  return AMPED_OK;
}

static bool is_finite(const void *numbers, amped_vtype type, uint64_t count) {
  double sum = 0.0; /* of zeros, unless a number is none */
  for (uint64_t i = 0; i < count; i++)
    sum += 0.0 *
           (type == AMPED_F32 ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i]);
  return sum == 0.0;
}

amped_status amped_stream_change_get(void *change, int mode, uint64_t first, uint64_t count,
                                     void *factor, void *history, uint64_t *touched) {
  const amped_stream_change *c = change;
  const amped_stream_rows *r = c->rows;
  const uint64_t row_bytes = r->ncomps * r->type;
  const uint64_t bytes = r->length * r->type;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t index = c->indices[mode][first + i];
    const uint64_t slot = amped_stream_slot(index, r->nranks);
    memcpy((char *)factor + i * row_bytes, amped_stream_row(r, mode, index), row_bytes);
    touched[i] = r->touched[mode][slot];
    if (bytes > 0)
      memcpy((char *)history + i * bytes, history_of(r, mode, slot), bytes);
    if (!is_finite(history_of(r, mode, slot), r->type, r->length))
      return amped_error(AMPED_FAILED, NULL,
                         "the sums of index %" PRIu64 " of mode %d overflow in %s; look for values "
                         "that are far too large, or begin the stream with --precision=double",
                         index + 1, mode + 1, r->type == AMPED_F32 ? "float" : "double");
  }
  return AMPED_OK;
}

void amped_stream_change_free(amped_stream_change *c) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(c->indices[m]);
  memset(c, 0, sizeof *c);
}
