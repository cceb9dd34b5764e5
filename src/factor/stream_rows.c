/* Stream rows: a row store of the backend, with the sums of a model history. */
#include "factor/stream_rows.h"

#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"
#include "plan/touched.h"

static amped_row_shape shape_of(const amped_state_head *head, int rank, int nranks) {
  return (amped_row_shape){.order = head->order,
                           .ncomps = (uint64_t)head->ncomps,
                           .length = head->history_length,
                           .type = head->type,
                           .rank = rank,
                           .nranks = nranks};
}

amped_status amped_stream_rows_create(amped_stream_rows *r, const amped_comm *comm,
                                      const amped_worker *worker, const amped_state_head *head) {
  const amped_row_shape shape = shape_of(head, comm->rank, comm->nranks);
  *r = (amped_stream_rows){.rank = shape.rank,
                           .nranks = shape.nranks,
                           .order = shape.order,
                           .ncomps = shape.ncomps,
                           .length = shape.length,
                           .type = shape.type,
                           .width = amped_state_sums_width(head),
                           .ops = worker->backend->row_stores};
  memcpy(r->dims, head->dims, sizeof r->dims);
  amped_mem_keep(); /* keep freed memory: each batch allocates again */
  amped_status status = r->ops->create(worker->device, &shape, head->dims, &r->store);
  for (int m = 0; m < r->order && status == AMPED_OK; m++)
    status = amped_calloc(&r->sums[m], r->width * r->width, sizeof *r->sums[m], "sums over rows");
  if (status != AMPED_OK)
    amped_stream_rows_free(r);
  return status;
}

void amped_stream_rows_free(amped_stream_rows *r) {
  if (r->ops != NULL)
    r->ops->destroy(r->store);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(r->sums[m]);
  memset(r, 0, sizeof *r);
}

/* Rows that are asked about together. */
#define PIECE (UINT64_C(1) << 16)

/* Own rows of a piece, their places in the list, and their batch numbers. */
typedef struct work {
  uint64_t *own, *places, *touched;
} work;

static amped_buffers buffers(work *w, uint64_t count) {
  amped_buffers b = {.what = "a stream's rows"};
  AMPED_BUFFER(&b, HOST, w->own, count);
  AMPED_BUFFER(&b, HOST, w->places, count);
  AMPED_BUFFER(&b, HOST, w->touched, count);
  return b;
}

/* Find the own rows among rows first .. end of the list, and return their number. */
static uint64_t find_own(const amped_stream_rows *rows, uint64_t first, uint64_t end,
                         const uint64_t *indices, const work *w) {
  uint64_t n = 0;
  for (uint64_t k = first; k < end; k++) {
    const uint64_t row = indices != NULL ? indices[k] : k;
    if (amped_stream_owner(row, rows->nranks) != rows->rank)
      continue;
    w->own[n] = row;
    w->places[n++] = k;
  }
  return n;
}

amped_status amped_stream_rows_touched(const amped_comm *comm, const amped_stream_rows *rows,
                                       int mode, uint64_t count, const uint64_t *indices,
                                       uint64_t *bits) {
  const uint64_t most = count < PIECE ? count : PIECE;
  work w = {NULL};
  memset(bits, 0, (count / 64 + 1) * sizeof *bits);
  amped_status status = amped_buffers_allocate(buffers(&w, most));
  for (uint64_t first = 0; first < count && status == AMPED_OK; first += most) {
    const uint64_t end = count - first < most ? count : first + most;
    const uint64_t own = find_own(rows, first, end, indices, &w);
    status = rows->ops->get_touched(rows->store, mode, own, w.own, w.touched);
    for (uint64_t i = 0; i < own && status == AMPED_OK; i++)
      bits[w.places[i] / 64] |= (uint64_t)(w.touched[i] > 0) << (w.places[i] % 64);
  }
  amped_buffers_free(buffers(&w, most));
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_or_u64(comm, bits, count / 64 + 1);
  return AMPED_OK;
}

/* Is row i of a piece equal to its prior, with bias 0? */
static bool is_prior(const amped_stream_rows *rows, const amped_state_head *head, int mode,
                     const void *piece, uint64_t i) {
  const uint64_t components = rows->ncomps - (head->biased ? 1 : 0);
  bool same = true;
  for (uint64_t c = 0; c < rows->ncomps && same; c++)
    same = amped_value_get(piece, rows->type, i * rows->ncomps + c) ==
           (c < components ? head->prior[mode] : 0.0);
  return same;
}

amped_status amped_stream_rows_learnt(const amped_comm *comm, const amped_stream_rows *rows,
                                      const amped_state_head *head, int mode, uint64_t count,
                                      uint64_t *bits) {
  const uint64_t most = count < PIECE ? count : PIECE;
  void *piece = NULL;
  if (head->history != AMPED_HISTORY_PUBLISHED)
    return amped_stream_rows_touched(comm, rows, mode, count, NULL, bits);
  memset(bits, 0, (count / 64 + 1) * sizeof *bits);
  amped_status status = amped_alloc(&piece, most * rows->ncomps, rows->type, "a stream's rows");
  for (uint64_t first = 0; first < count && status == AMPED_OK; first += most) {
    const uint64_t n = count - first < most ? count - first : most;
    status = rows->ops->get_factors(rows->store, mode, first, n, piece);
    for (uint64_t i = 0; i < n && status == AMPED_OK; i++)
      if (!is_prior(rows, head, mode, piece, i))
        bits[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
  }
  amped_free(piece);
  return amped_comm_agree(comm, status);
}

void amped_stream_rows_require(const amped_worker *worker, const amped_state_head *head, int rank,
                               int nranks, uint64_t *device_bytes, uint64_t *host_bytes) {
  const amped_row_shape shape = shape_of(head, rank, nranks);
  worker->backend->row_stores->require(&shape, head->dims, true, device_bytes, host_bytes);
  *host_bytes += (uint64_t)head->order * amped_state_sums_width(head) *
                 amped_state_sums_width(head) * sizeof(double);
}

amped_status amped_stream_rows_grow(amped_stream_rows *r, const uint64_t *dims) {
  AMPED_TRY(r->ops->grow(r->store, dims));
  memcpy(r->dims, dims, sizeof r->dims);
  return AMPED_OK;
}

/* --- to and from the state's file ------------------------------------------------------------- */

amped_status amped_stream_rows_take(void *context, int mode, uint64_t first, uint64_t count,
                                    const void *factor, const void *history,
                                    const uint64_t *touched) {
  const amped_stream_rows *r = context;
  return r->ops->put(r->store, mode, first, count, factor, history, touched);
}

static bool is_finite(const void *numbers, amped_vtype type, uint64_t count) {
  double sum = 0.0; /* stays 0 unless a number is infinite or NaN */
  for (uint64_t i = 0; i < count; i++)
    sum += 0.0 *
           (type == AMPED_F32 ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i]);
  return sum == 0.0;
}

amped_status amped_stream_change_get(void *change, int mode, uint64_t first, uint64_t count,
                                     void *factor, void *history, uint64_t *touched) {
  const amped_stream_change *c = change;
  const amped_stream_rows *r = c->rows;
  const uint64_t *indices = c->indices[mode] + first;
  AMPED_TRY(r->ops->get(r->store, mode, count, indices, factor, history, touched));
  for (uint64_t i = 0; i < count && r->length > 0; i++)
    if (!is_finite((const char *)history + i * r->length * r->type, r->type, r->length))
      return amped_error(AMPED_FAILED, NULL,
                         "the sums of index %" PRIu64 " of mode %d overflow in %s; look for values "
                         "that are far too large, or begin the stream with --precision=double",
                         indices[i] + 1, mode + 1, r->type == AMPED_F32 ? "float" : "double");
  return AMPED_OK;
}

void amped_stream_change_free(amped_stream_change *c) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(c->indices[m]);
  memset(c, 0, sizeof *c);
}
