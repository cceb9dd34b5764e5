/* Dense file writer: cells become whole chunks of the dataset /dense. */
#include <math.h>
#include <string.h>

#include "base/draft.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "formats/dense_layout.h"
#include "formats/tensor_layout.h"
#include "hdf5/hdf5_labels.h"
#include "tensor/dense_stats.h"

/* Bytes for attributes and headers; bytes per chunk for its checksum and index entry. */
#define RECORD_BYTES 8192
#define CHUNK_EXTRA_BYTES 32

struct amped_dense_writer {
  amped_hdf5 hdf5;
  char *path;
  amped_draft draft;
  amped_dense_info info;
  amped_dense_stats stats;
  amped_hdf5_dataset cells;
  uint64_t appended;
  const amped_labels *labels; /* borrowed; NULL: none */
  char *chunk;                /* cells of an incomplete chunk */
  uint64_t waiting;
};

/* Check the free disk space. The last chunk along the chunked dimension is stored whole, so the
 * file has at most about twice the cells' bytes. */
static amped_status check_room(const amped_dense_writer *w) {
  const amped_hdf5_dataset *d = &w->cells;
  const uint64_t chunks =
      d->rows / d->dims[d->axis] * amped_ceil_div(d->dims[d->axis], d->chunk_rows);
  uint64_t bytes = d->chunk_rows * d->columns * d->type.bytes + CHUNK_EXTRA_BYTES;
  if (!amped_mul(bytes, chunks, &bytes) || !amped_add(bytes, RECORD_BYTES, &bytes))
    bytes = UINT64_MAX;
  const amped_file_need need = {w->path, bytes, "name another file"};
  return amped_file_check_room(&need, 1);
}

static amped_status begin(amped_dense_writer *w) {
  const amped_hdf5_type type = amped_dense_element(w->info.type);
  AMPED_TRY(amped_draft_open(w->path, true, &w->draft));
  AMPED_TRY(amped_hdf5_create(w->draft.fd, w->path, &w->hdf5));
  AMPED_TRY(amped_hdf5_dataset_create(&w->hdf5, AMPED_TENSOR_DENSE, type, w->info.order,
                                      w->info.dims, &w->cells));
  AMPED_TRY(check_room(w));
  return amped_alloc(&w->chunk, w->cells.chunk_rows * w->cells.columns, type.bytes, "a chunk");
}

amped_status amped_dense_writer_create(const char *path, const amped_dense_info *info,
                                       amped_dense_writer **out) {
  amped_dense_writer *w = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&w, 1, sizeof *w, "a dense file"));
  w->info = *info;
  for (int m = 0; m < info->order; m++)
    w->info.layout[m] = m;
  amped_progress_begin("writing", info->cells, "cells");
  AMPED_GO(fail, amped_strdup(&w->path, path));
  AMPED_GO(fail, begin(w));
  *out = w;
  return AMPED_OK;
fail:
  amped_dense_writer_discard(w);
  return status;
}

static amped_status check_cells(const amped_dense_writer *w, uint64_t count, const void *cells) {
  uint64_t index[AMPED_MAX_ORDER];
  double value = 0.0;
  if (count > w->info.cells - w->appended)
    return amped_error(AMPED_FAILED, w->path,
                       "has %" PRIu64 " cells, and more come; this is a mistake of amped_mpi, "
                       "please report it",
                       w->info.cells);
  const uint64_t bad = amped_cells_not_finite(cells, w->info.type, count);
  if (bad == count)
    return AMPED_OK;
  amped_cells_get(cells, w->info.type, bad, 1, &value);
  amped_dense_index(w->info.order, w->info.dims, w->info.layout, w->appended + bad, index);
  return amped_dense_not_finite(w->info.order, index, value, w->path);
}

amped_status amped_dense_writer_append(amped_dense_writer *w, uint64_t count, const void *cells) {
  const char *from = cells;
  const uint64_t bytes = amped_cell_bytes(w->info.type);
  const amped_dense_slab whole = {0, 0, w->info.dims[0]};
  AMPED_TRY(check_cells(w, count, cells));
  amped_dense_stats_add(&w->stats, &w->info, &whole, w->appended, count, cells);
  w->appended += count;
  while (count > 0) {
    const uint64_t rows = amped_hdf5_dataset_chunk(&w->cells);
    const uint64_t room = rows * w->cells.columns - w->waiting;
    const uint64_t n = count < room ? count : room;
    memcpy(w->chunk + w->waiting * bytes, from, n * bytes);
    w->waiting += n;
    from += n * bytes;
    count -= n;
    if (n < room)
      break;
    AMPED_TRY(amped_hdf5_dataset_append(&w->cells, rows, w->chunk));
    w->waiting = 0;
  }
  amped_progress_update(w->appended);
  return AMPED_OK;
}

const amped_dense_info *amped_dense_writer_info(amped_dense_writer *w) {
  amped_dense_stats_tell(&w->stats, &w->info);
  return &w->info;
}

void amped_dense_writer_set_labels(amped_dense_writer *w, const amped_labels *labels) {
  w->labels = labels;
}

static amped_status write_root(amped_dense_writer *w) {
  const amped_dense_info *info = amped_dense_writer_info(w);
  const uint64_t order = (uint64_t)info->order;
  if (!isfinite(info->norm_squared))
    return amped_error(AMPED_BAD_INPUT, w->path,
                       "is not written: the squares of the input's values add up to more than a "
                       "double holds; scale the values down");
  AMPED_TRY(amped_hdf5_put_format(&w->hdf5, "tensor", AMPED_TENSOR_VERSION));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, "/", "order", 0, &order));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, "/", "dims", order, info->dims));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, "/", "nnz", 0, &info->nnz));
  AMPED_TRY(amped_hdf5_put_double(&w->hdf5, "/", "norm_squared", info->norm_squared));
  return amped_hdf5_put_u64(&w->hdf5, "/", "hash", 0, &info->hash);
}

static amped_status check_written(const amped_dense_writer *w) {
  amped_dense_file *file = NULL;
  amped_status status = amped_dense_file_open_trusted(w->draft.fd, w->path, &file);
  amped_dense_file_close(file);
  return amped_hdf5_read_back(status, w->path);
}

static void free_writer(amped_dense_writer *w) {
  amped_hdf5_dataset_close(&w->cells);
  amped_hdf5_close(&w->hdf5);
  amped_draft_close(&w->draft);
  amped_free(w->chunk);
  amped_free(w->path);
  amped_free(w);
  amped_progress_end();
}

static amped_status finish(amped_dense_writer *w) {
  AMPED_TRY(amped_hdf5_dataset_finish(&w->cells));
  AMPED_TRY(write_root(w));
  if (w->labels != NULL)
    AMPED_TRY(amped_hdf5_labels_write(&w->hdf5, w->info.order, w->labels));
  AMPED_TRY(amped_hdf5_finish(&w->hdf5));
  AMPED_TRY(check_written(w));
  return amped_draft_publish(&w->draft, false);
}

amped_status amped_dense_writer_publish(amped_dense_writer *w) {
  amped_status status = finish(w);
  free_writer(w);
  return status;
}

void amped_dense_writer_discard(amped_dense_writer *w) {
  if (w != NULL)
    free_writer(w);
}
