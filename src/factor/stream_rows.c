/* Stream rows: a row store of the backend, with the sums of a model history. */
#include "factor/stream_rows.h"

#include <string.h>

#include "base/mem.h"

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
