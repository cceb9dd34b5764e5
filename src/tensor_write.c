/* Writing a tensor file: one ordered copy a mode. */
#include <math.h>
#include <string.h>

#include "binsparse.h"
#include "file.h"
#include "hdf5_labels.h"
#include "log.h"
#include "mem.h"
#include "tensor_layout.h"

/* Fewer nonzeros are done before other threads have woken. */
#define WORTH_THREADS 4096

typedef struct writer {
  amped_hdf5 hdf5;
  const char *path;
  amped_sptensor *tensor;
  amped_itype index_types[AMPED_MAX_ORDER];
  amped_vtype value_type;
  uint64_t hash;
  double norm_squared;
  void *buffer; /* one chunk in a narrow type */
} writer;

/* What all copies share; taken while the tensor is sorted by mode 0. */
static amped_status measure(writer *w) {
  const amped_sptensor *t = w->tensor;
  w->hash = amped_sptensor_hash(t);
  w->norm_squared = amped_sptensor_norm_squared(t);
  if (!isfinite(w->norm_squared))
    return amped_error(AMPED_BAD_INPUT, w->path,
                       "the squares of the values add up to more than a double holds; scale the "
                       "values down");
  w->value_type = amped_sptensor_fits_float(t) ? AMPED_F32 : AMPED_F64;
  for (int m = 0; m < t->order; m++)
    w->index_types[m] = amped_itype_for(t->dims[m]);
  return AMPED_OK;
}

static amped_status write_descriptor(writer *w) {
  const amped_sptensor *t = w->tensor;
  amped_binsparse b = {.order = t->order, .nnz = t->nnz};
  char *text = NULL;
  memcpy(b.dims, t->dims, sizeof b.dims);
  AMPED_TRY(amped_binsparse_text(&b, w->index_types, w->value_type, &text));
  amped_status status = amped_hdf5_put_text(&w->hdf5, "/", "binsparse", text);
  amped_free(text);
  return status;
}

static amped_status write_root(writer *w) {
  const amped_sptensor *t = w->tensor;
  const uint64_t version = AMPED_TENSOR_VERSION;
  const uint64_t order = (uint64_t)t->order;
  AMPED_TRY(write_descriptor(w));
  AMPED_TRY(amped_hdf5_put_text(&w->hdf5, "/", "amped_format", "tensor"));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, "/", "amped_version", 0, &version));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, "/", "order", 0, &order));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, "/", "dims", order, t->dims));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, "/", "nnz", 0, &t->nnz));
  return amped_hdf5_put_double(&w->hdf5, "/", "norm_squared", w->norm_squared);
}

static void narrow_indices(writer *w, int m, uint64_t first, uint64_t n) {
  const uint64_t *indices = w->tensor->indices[m] + first;
  void *buffer = w->buffer;
  amped_itype type = w->index_types[m];
#pragma omp parallel for schedule(static) if (n >= WORTH_THREADS)
  for (uint64_t i = 0; i < n; i++)
    amped_index_put(buffer, type, i, indices[i]);
}

static void narrow_values(writer *w, uint64_t first, uint64_t n) {
  const double *values = w->tensor->values + first;
  void *buffer = w->buffer;
  amped_vtype type = w->value_type;
#pragma omp parallel for schedule(static) if (n >= WORTH_THREADS)
  for (uint64_t i = 0; i < n; i++)
    amped_value_put(buffer, type, i, values[i]);
}

static amped_status append_array(writer *w, int m, amped_hdf5_dataset *d) {
  uint64_t nnz = w->tensor->nnz;
  for (uint64_t first = 0; first < nnz; first += AMPED_HDF5_CHUNK) {
    uint64_t n = nnz - first < AMPED_HDF5_CHUNK ? nnz - first : AMPED_HDF5_CHUNK;
    if (m >= 0)
      narrow_indices(w, m, first, n);
    else
      narrow_values(w, first, n);
    AMPED_TRY(amped_hdf5_dataset_append(d, n, w->buffer));
  }
  return amped_hdf5_dataset_finish(d);
}

/* The indices in mode m of a copy, or (m -1) its values. */
static amped_status write_array(writer *w, int copy, int m) {
  amped_hdf5_dataset d;
  amped_hdf5_type type = {AMPED_FLOAT, (uint64_t)w->value_type};
  if (m >= 0)
    type = (amped_hdf5_type){AMPED_UNSIGNED, (uint64_t)w->index_types[m]};
  amped_tensor_name name = amped_tensor_name_of(copy, m >= 0 ? "indices" : "values", m);
  AMPED_TRY(amped_hdf5_dataset_create(&w->hdf5, name.name, type, 1, &w->tensor->nnz, &d));
  amped_status status = append_array(w, m, &d);
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status write_tables(writer *w, int copy, const amped_partition *p) {
  const amped_hdf5_type u64 = {AMPED_UNSIGNED, AMPED_U64};
  const uint64_t heavy[2] = {p->heavy_count, 3};
  const uint64_t mode = (uint64_t)copy;
  amped_tensor_folder folder = amped_tensor_folder_of(copy);
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, folder.name, "mode", 0, &mode));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, folder.name, "width", 0, &p->width));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, folder.name, "idp_count", 0, &p->idp_count));
  AMPED_TRY(amped_hdf5_put_u64(&w->hdf5, folder.name, "hash", 0, &w->hash));
  AMPED_TRY(amped_hdf5_dataset_write(&w->hdf5, amped_tensor_name_of(copy, "idp_nnz", -1).name, u64,
                                     1, &p->idp_count, p->idp_nnz));
  return amped_hdf5_dataset_write(&w->hdf5, amped_tensor_name_of(copy, "heavy_rows", -1).name, u64,
                                  2, heavy, p->heavy);
}

static amped_status write_copy(writer *w, int copy) {
  amped_sptensor *t = w->tensor;
  const uint64_t total = (uint64_t)t->order * ((uint64_t)t->order + 1);
  const uint64_t before = (uint64_t)copy * ((uint64_t)t->order + 1);
  amped_partition p;
  if (copy > 0)
    AMPED_TRY(amped_sptensor_sort(t, copy));
  AMPED_TRY(amped_hdf5_make_group(&w->hdf5, amped_tensor_folder_of(copy).name));
  AMPED_TRY(amped_partition_create(&p, t->dims[copy], t->indices[copy], t->nnz));
  amped_status status = write_tables(w, copy, &p);
  amped_partition_free(&p);
  AMPED_TRY(status);
  for (int m = -1; m < t->order; m++) {
    AMPED_TRY(write_array(w, copy, m));
    /* In nonzeros, though arrays are what is written: one array is 1/(order+1) of a copy. */
    amped_progress_update((uint64_t)((double)(before + (uint64_t)(m + 2)) / (double)total *
                                     (double)t->order * (double)t->nnz));
  }
  return AMPED_OK;
}

static amped_status write_links(writer *w) {
  for (int m = -1; m < w->tensor->order; m++) {
    const char *what = m >= 0 ? "indices" : "values";
    AMPED_TRY(amped_hdf5_link(&w->hdf5, amped_tensor_name_of(0, what, m).name,
                              amped_tensor_name_of(-1, what, m).name));
  }
  return AMPED_OK;
}

static amped_status write_dictionary(writer *w) {
  const amped_hdf5_type f64 = {AMPED_FLOAT, AMPED_F64};
  amped_dictionary d;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_dictionary_find(&d, w->tensor->values, w->tensor->nnz));
  if (d.count > 0)
    status =
        amped_hdf5_dataset_write(&w->hdf5, AMPED_TENSOR_DICTIONARY, f64, 1, &d.count, d.values);
  amped_dictionary_free(&d);
  return status;
}

static amped_status write_all(writer *w) {
  AMPED_TRY(write_root(w));
  AMPED_TRY(amped_hdf5_make_group(&w->hdf5, "/amped"));
  AMPED_TRY(write_dictionary(w));
  for (int m = 0; m < w->tensor->order; m++)
    AMPED_TRY(write_copy(w, m));
  AMPED_TRY(write_links(w));
  AMPED_TRY(amped_hdf5_labels_write(&w->hdf5, w->tensor->order, w->tensor->labels));
  return amped_hdf5_finish(&w->hdf5);
}

static amped_status check_written(const char *temporary, const char *path) {
  amped_tensor_file *file = NULL;
  amped_status status = amped_tensor_file_open_trusted(temporary, path, &file);
  amped_tensor_file_close(file);
  return amped_hdf5_read_back(status, path);
}

static amped_status write_temporary(writer *w, const char *temporary) {
  amped_status status = AMPED_OK;
  amped_progress_begin("writing", (uint64_t)w->tensor->order * w->tensor->nnz, "nonzeros");
  AMPED_GO(done, amped_hdf5_create(temporary, w->path, &w->hdf5));
  AMPED_GO(done, write_all(w));
done:
  amped_hdf5_close(&w->hdf5);
  amped_progress_end();
  if (status == AMPED_OK)
    status = check_written(temporary, w->path);
  return status;
}

amped_status amped_tensor_file_write(const char *path, amped_sptensor *t) {
  writer w = {.path = path, .tensor = t};
  char *temporary = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_sptensor_validate(t, path));
  AMPED_GO(done, amped_file_temporary(path, &temporary));
  AMPED_GO(done, measure(&w));
  AMPED_GO(done, amped_alloc(&w.buffer, AMPED_HDF5_CHUNK, sizeof(uint64_t), "a slab"));
  AMPED_GO(done, write_temporary(&w, temporary));
  status = amped_file_commit(temporary, path);
done:
  if (status != AMPED_OK)
    amped_file_discard(temporary);
  amped_free(w.buffer);
  amped_free(temporary);
  return status;
}
