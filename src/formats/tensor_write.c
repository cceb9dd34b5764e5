/* Tensor file writer: copies in chunks, iDp tables, and the links to copy 0. */
#include "formats/tensor_write.h"

#include <math.h>
#include <string.h>

#include "formats/binsparse.h"
#include "base/draft.h"
#include "tensor/copy_orders.h"
#include "base/file.h"
#include "hdf5/hdf5_labels.h"
#include "base/log.h"
#include "base/mem.h"
#include "formats/tensor_layout.h"

/* Fewer nonzeros are processed by one thread: waking other threads takes longer. */
#define WORTH_THREADS 4096

/* Bytes for the attributes. */
#define RECORD_BYTES 8192

struct amped_tensor_writer {
  amped_hdf5 hdf5;
  char *path;
  amped_draft draft;
  const amped_tensor_info *info;
  amped_itype index_types[AMPED_MAX_ORDER];
  uint64_t chunk; /* nonzeros per chunk */
  /* one chunk of each array in its stored type; buffers[order] has the values */
  void *buffers[AMPED_MAX_ORDER + 1];
  uint64_t buffered;
  /* the current copy */
  int mode;
  uint64_t appended;
  amped_hdf5_dataset arrays[AMPED_MAX_ORDER + 1];
  amped_partition partition;
  amped_partition_count count;
};

static amped_hdf5_type array_type(const amped_tensor_writer *w, int m) {
  if (m == w->info->order)
    return (amped_hdf5_type){AMPED_FLOAT, (uint64_t)w->info->value_type};
  return (amped_hdf5_type){AMPED_UNSIGNED, (uint64_t)w->index_types[m]};
}

/* Name of array m of a copy, or of the list if copy is -1. */
static amped_tensor_name array_name(int copy, int order, int m) {
  return amped_tensor_name_of(copy, m < order ? "indices" : "values", m < order ? m : -1);
}

uint64_t amped_tensor_file_bytes(const amped_tensor_info *info, const amped_labels *labels) {
  const uint64_t copies = info->has_copies ? (uint64_t)info->order : 1;
  uint64_t copy = amped_hdf5_dataset_bytes(info->nnz, 1, (uint64_t)info->value_type);
  uint64_t tables = 0;
  for (int m = 0; m < info->order; m++) {
    const uint64_t idps = amped_ceil_div(info->dims[m], amped_partition_width(info->dims[m]));
    copy += amped_hdf5_dataset_bytes(info->nnz, 1, amped_itype_for(info->dims[m]));
    tables += info->has_copies ? amped_hdf5_dataset_bytes(idps, 1, sizeof(uint64_t)) : 0;
  }
  return copies * copy + tables + amped_hdf5_dataset_bytes(info->dictionary.count, 1, 8) +
         amped_hdf5_labels_file_bytes(info->order, labels) + RECORD_BYTES;
}

/* --- the root --------------------------------------------------------------------------------- */

static amped_status write_descriptor(amped_tensor_writer *w) {
  amped_binsparse b = {.order = w->info->order, .nnz = w->info->nnz};
  char *text = NULL;
  memcpy(b.dims, w->info->dims, sizeof b.dims);
  AMPED_TRY(amped_binsparse_text(&b, w->index_types, w->info->value_type, &text));
  amped_status status = amped_hdf5_put_text(&w->hdf5, "/", "binsparse", text);
  amped_free(text);
  return status;
}

static amped_status write_root(amped_tensor_writer *w) {
  const amped_tensor_info *info = w->info;
  const uint64_t order = (uint64_t)info->order;
  AMPED_TRY(write_descriptor(w));
  AMPED_TRY(amped_hdf5_put_format(&w->hdf5, "tensor", AMPED_TENSOR_VERSION));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, "/", "order", 0, &order));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, "/", "dims", order, info->dims));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, "/", "nnz", 0, &info->nnz));
  AMPED_TRY(amped_hdf5_put_double(&w->hdf5, "/", "norm_squared", info->norm_squared));
  if (amped_duplicates_name(info->duplicates) != NULL)
    AMPED_TRY(
        amped_hdf5_put_text(&w->hdf5, "/", "duplicates", amped_duplicates_name(info->duplicates)));
  if (!info->has_copies)
    return amped_hdf5_put_u64(&w->hdf5, "/", "hash", 0, &info->hash);
  return amped_hdf5_make_group(&w->hdf5, "/amped");
}

static amped_status write_dictionary(amped_tensor_writer *w) {
  const amped_hdf5_type f64 = {AMPED_FLOAT, AMPED_F64};
  const amped_dictionary *d = &w->info->dictionary;
  if (d->count == 0 || !w->info->has_copies)
    return AMPED_OK;
  return amped_hdf5_dataset_write(&w->hdf5, AMPED_TENSOR_DICTIONARY, f64, 1, &d->count, d->values);
}

static amped_status write_links(amped_tensor_writer *w) {
  for (int m = 0; m <= w->info->order; m++)
    AMPED_TRY(amped_hdf5_link(&w->hdf5, array_name(0, w->info->order, m).name,
                              array_name(-1, w->info->order, m).name));
  return AMPED_OK;
}

/* --- one copy --------------------------------------------------------------------------------- */

amped_status amped_tensor_writer_begin(amped_tensor_writer *w, int mode) {
  const amped_tensor_info *info = w->info;
  w->mode = mode;
  w->appended = 0;
  w->buffered = 0;
  if (info->has_copies)
    AMPED_TRY(amped_hdf5_make_group(&w->hdf5, amped_tensor_folder_of(mode).name));
  for (int m = 0; m <= info->order; m++)
    AMPED_TRY(amped_hdf5_dataset_create(
        &w->hdf5, array_name(info->has_copies ? mode : -1, info->order, m).name, array_type(w, m),
        1, &info->nnz, &w->arrays[m]));
  return amped_partition_begin(&w->count, &w->partition, info->dims[mode]);
}

/* Nonzeros to append, from number `first` on: t's nonzeros in `order`; NULL: in the order of t. */
typedef struct source {
  const amped_sptensor *t;
  const amped_order *order;
  uint64_t first;
} source;

/* Nonzeros that a thread reorders at a time. */
#define TILE UINT64_C(512)

static const uint64_t *gather_indices(const source *s, int m, uint64_t n, uint64_t *tile) {
  const uint64_t *indices = s->t->indices[m];
  if (s->order == NULL)
    return indices + s->first;
  for (uint64_t i = 0; i < n; i++)
    tile[i] = indices[amped_order_at(s->order, s->first + i)];
  return tile;
}

/* Gather the indices of the copy's mode. If the order has keys, they are these indices. */
static const uint64_t *gather_rows(const source *s, int m, uint64_t n, uint64_t *tile) {
  if (s->order == NULL || !s->order->keyed)
    return gather_indices(s, m, n, tile);
  for (uint64_t i = 0; i < n; i++)
    tile[i] = amped_order_key(s->order, s->first + i);
  return tile;
}

static const double *gather_values(const source *s, uint64_t n, double *tile) {
  const double *values = s->t->values;
  if (s->order == NULL)
    return values + s->first;
  for (uint64_t i = 0; i < n; i++)
    tile[i] = values[amped_order_at(s->order, s->first + i)];
  return tile;
}

/* Convert n nonzeros, at most TILE, to their stored types at position `at` of the buffers. */
static void narrow_tile(const amped_tensor_writer *w, const source *s, uint64_t n, uint64_t at) {
  const int order = w->info->order;
  uint64_t indices[TILE];
  double values[TILE];
  for (int m = 0; m < order; m++)
    amped_indices_put(w->buffers[m], w->index_types[m], at, n,
                      m == w->mode ? gather_rows(s, m, n, indices)
                                   : gather_indices(s, m, n, indices));
  amped_values_put(w->buffers[order], w->info->value_type, at, n, gather_values(s, n, values));
}

static void narrow(const amped_tensor_writer *w, const source *s, uint64_t n) {
#pragma omp parallel for schedule(static) if (n >= WORTH_THREADS)
  for (uint64_t from = 0; from < n; from += TILE) {
    const source tile = {s->t, s->order, s->first + from};
    narrow_tile(w, &tile, n - from < TILE ? n - from : TILE, w->buffered + from);
  }
}

/* Write one chunk of each array in turn, so that the chunks of one slab are adjacent in the
 * file. */
static amped_status write_buffers(amped_tensor_writer *w) {
  for (int m = 0; m <= w->info->order; m++)
    AMPED_TRY(amped_hdf5_dataset_append(&w->arrays[m], w->buffered, w->buffers[m]));
  w->buffered = 0;
  amped_progress_update((uint64_t)w->mode * w->info->nnz + w->appended);
  return AMPED_OK;
}

static void count_rows(amped_tensor_writer *w, uint64_t n) {
  const amped_itype type = w->index_types[w->mode];
  const char *rows = w->buffers[w->mode];
  amped_partition_append(&w->count, rows + w->buffered * (uint64_t)type, type, n);
}

static amped_status append(amped_tensor_writer *w, source s, uint64_t count) {
  for (uint64_t n = 0; count > 0; s.first += n, count -= n) {
    n = count < w->chunk - w->buffered ? count : w->chunk - w->buffered;
    narrow(w, &s, n);
    count_rows(w, n);
    w->buffered += n;
    w->appended += n;
    if (w->buffered == w->chunk)
      AMPED_TRY(write_buffers(w));
  }
  return AMPED_OK;
}

amped_status amped_tensor_writer_append(amped_tensor_writer *w, const amped_sptensor *t) {
  return append(w, (source){t, NULL, 0}, t->nnz);
}

static amped_status write_tables(amped_tensor_writer *w) {
  const amped_partition *p = &w->partition;
  const amped_hdf5_type u64 = {AMPED_UNSIGNED, AMPED_U64};
  const uint64_t mode = (uint64_t)w->mode;
  amped_tensor_folder folder = amped_tensor_folder_of(w->mode);
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, folder.name, "mode", 0, &mode));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, folder.name, "width", 0, &p->width));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, folder.name, "idp_count", 0, &p->idp_count));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, folder.name, "hash", 0, &w->info->hash));
  return amped_hdf5_dataset_write(&w->hdf5, amped_tensor_name_of(w->mode, "idp_nnz", -1).name, u64,
                                  1, &p->idp_count, p->idp_nnz);
}

amped_status amped_tensor_writer_end(amped_tensor_writer *w, uint64_t *used) {
  amped_status status = AMPED_OK;
  if (w->buffered > 0)
    AMPED_TRY(write_buffers(w));
  for (int m = 0; m <= w->info->order; m++)
    AMPED_TRY(amped_hdf5_dataset_finish(&w->arrays[m]));
  if (w->info->has_copies)
    status = write_tables(w);
  *used = w->count.rows;
  amped_partition_free(&w->partition);
  return status;
}

/* --- the file --------------------------------------------------------------------------------- */

static amped_status allocate(amped_tensor_writer *w) {
  w->chunk = w->info->nnz < AMPED_HDF5_CHUNK ? w->info->nnz : AMPED_HDF5_CHUNK;
  for (int m = 0; m <= w->info->order; m++)
    AMPED_TRY(amped_alloc(&w->buffers[m], w->chunk, array_type(w, m).bytes, "a slab"));
  return AMPED_OK;
}

static amped_status check_norm(const amped_tensor_writer *w) {
  if (isfinite(w->info->norm_squared))
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, w->path,
                     "is not written: the squares of the input's values add up to more than a "
                     "double holds; scale the values down");
}

/* Check the dimensions of a plain list. Its file has the shape only in the binsparse text, whose
 * readers expect integers below 2^63. */
static amped_status check_dims(const amped_tensor_writer *w) {
  for (int m = 0; m < w->info->order && !w->info->has_copies; m++)
    if (w->info->dims[m] > INT64_MAX)
      return amped_error(AMPED_BAD_INPUT, w->path,
                         "mode %d has dimension 2^63, which the description of a plain list cannot "
                         "name; leave out --copies=none",
                         m + 1);
  return AMPED_OK;
}

amped_status amped_tensor_writer_create(const char *path, const amped_tensor_info *info,
                                        const amped_labels *labels, amped_tensor_writer **out) {
  amped_tensor_writer *w = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&w, 1, sizeof *w, "a tensor file"));
  amped_progress_begin("writing", (info->has_copies ? (uint64_t)info->order : 1) * info->nnz,
                       "nonzeros");
  w->info = info;
  for (int m = 0; m < info->order; m++)
    w->index_types[m] = amped_itype_for(info->dims[m]);
  AMPED_GO(fail, amped_strdup(&w->path, path));
  AMPED_GO(fail, amped_draft_open(w->path, true, &w->draft));
  AMPED_GO(fail, check_norm(w));
  AMPED_GO(fail, check_dims(w));
  const amped_file_need need = {path, amped_tensor_file_bytes(info, labels), "name another file"};
  AMPED_GO(fail, amped_file_check_room(&need, 1));
  AMPED_GO(fail, allocate(w));
  AMPED_GO(fail, amped_hdf5_create(w->draft.fd, w->path, &w->hdf5));
  AMPED_GO(fail, write_root(w));
  AMPED_GO(fail, write_dictionary(w));
  *out = w;
  return AMPED_OK;
fail:
  amped_tensor_writer_discard(w);
  return status;
}

static void free_writer(amped_tensor_writer *w) {
  for (int m = 0; m <= AMPED_MAX_ORDER; m++) {
    amped_hdf5_dataset_close(&w->arrays[m]);
    amped_free(w->buffers[m]);
  }
  amped_hdf5_close(&w->hdf5);
  amped_partition_free(&w->partition);
  amped_draft_close(&w->draft);
  amped_free(w->path);
  amped_free(w);
  amped_progress_end();
}

static amped_status check_written(const amped_tensor_writer *w) {
  amped_tensor_file *file = NULL;
  amped_status status = amped_tensor_file_open_trusted(w->draft.fd, w->path, &file);
  amped_tensor_file_close(file);
  return amped_hdf5_read_back(status, w->path);
}

amped_status amped_tensor_writer_finish(amped_tensor_writer *w, const amped_labels *labels) {
  amped_status status = AMPED_OK;
  if (w->info->has_copies)
    AMPED_GO(fail, write_links(w));
  AMPED_GO(fail, amped_hdf5_labels_write(&w->hdf5, w->info->order, labels));
  AMPED_GO(fail, amped_hdf5_finish(&w->hdf5));
  AMPED_GO(fail, check_written(w));
  status = amped_draft_publish(&w->draft, false);
  free_writer(w);
  return status;
fail:
  amped_tensor_writer_discard(w);
  return status;
}

void amped_tensor_writer_discard(amped_tensor_writer *w) {
  if (w != NULL)
    free_writer(w);
}

/* --- a tensor in memory ----------------------------------------------------------------------- */

/* Fill the info common to all copies. The tensor must be sorted by mode 0. */
static amped_status describe(const amped_sptensor *t, bool copies, amped_tensor_info *info) {
  memset(info, 0, sizeof *info);
  info->order = t->order;
  memcpy(info->dims, t->dims, sizeof info->dims);
  info->nnz = t->nnz;
  info->has_copies = copies;
  info->duplicates = t->duplicates;
  const amped_sptensor_facts facts = amped_sptensor_facts_of(t);
  info->hash = facts.hash;
  info->norm_squared = facts.norm_squared;
  info->value_type = facts.fits_float ? AMPED_F32 : AMPED_F64;
  return amped_dictionary_find(&info->dictionary, t->values, t->nnz);
}

/* Write a copy chunk by chunk. More threads become available as soon as the next order is found. */
static amped_status write_copy(amped_tensor_writer *w, int mode, const amped_sptensor *t,
                               const amped_order *order, amped_copy_orders *orders) {
  uint64_t used = 0;
  AMPED_TRY(amped_tensor_writer_begin(w, mode));
  for (uint64_t first = 0; first < t->nnz; first += w->chunk) {
    const uint64_t left = t->nnz - first;
    if (orders != NULL)
      amped_copy_orders_share(orders);
    AMPED_TRY(append(w, (source){t, order, first}, left < w->chunk ? left : w->chunk));
  }
  return amped_tensor_writer_end(w, &used);
}

static amped_status write_copies(amped_tensor_writer *w, const amped_sptensor *t) {
  amped_copy_orders *orders = NULL;
  amped_order order;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_copy_orders_begin(t, &orders));
  AMPED_GO(done, write_copy(w, 0, t, NULL, orders));
  for (int mode = 1; mode < t->order; mode++) {
    AMPED_GO(done, amped_copy_orders_next(orders, &order));
    AMPED_GO(done, write_copy(w, mode, t, &order, orders));
  }
done:
  amped_copy_orders_end(orders);
  return status;
}

amped_status amped_tensor_file_write(const char *path, const amped_sptensor *t, bool copies) {
  amped_tensor_info info = {.order = 0};
  amped_tensor_writer *w = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_sptensor_validate(t, path));
  AMPED_GO(done, describe(t, copies, &info));
  AMPED_GO(done, amped_tensor_writer_create(path, &info, t->labels, &w));
  AMPED_GO(done, copies ? write_copies(w, t) : write_copy(w, 0, t, NULL, NULL));
  status = amped_tensor_writer_finish(w, t->labels);
  w = NULL;
done:
  amped_tensor_writer_discard(w);
  amped_dictionary_free(&info.dictionary);
  return status;
}
