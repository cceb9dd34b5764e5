/* Dense output: one interface to the HDF5 and the npy writer. */
#include "load/dense_output.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "formats/dense_file.h"
#include "tensor/dense_stats.h"
#include "tensor/format.h"
#include "tensor/label_order.h"
#include "text/io_npy.h"

struct amped_dense_output {
  amped_dense_writer *hdf5; /* NULL: npy is used */
  amped_npy_writer *npy;
  char *path;
  amped_dense_info info;   /* for npy: description of the tensor */
  amped_dense_stats stats; /* for npy: statistics of its cells */
  uint64_t appended;
};

bool amped_dense_output_is_npy(const char *path) {
  return amped_file_has_suffix(path, ".npy");
}

bool amped_dense_output_is(const char *path) {
  return amped_dense_output_is_npy(path) || amped_file_has_suffix(path, ".h5") ||
         amped_file_has_suffix(path, ".hdf5");
}

static void free_output(amped_dense_output *o) {
  amped_free(o->path);
  amped_free(o);
}

amped_status amped_dense_output_create(const char *path, const amped_dense_info *info,
                                       amped_dense_output **out) {
  amped_dense_output *o = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&o, 1, sizeof *o, "a dense tensor's file"));
  o->info = *info;
  amped_status status = amped_strdup(&o->path, path);
  if (status == AMPED_OK)
    status = amped_dense_output_is_npy(path) ? amped_npy_writer_create(path, info, &o->npy)
                                             : amped_dense_writer_create(path, info, &o->hdf5);
  if (status == AMPED_OK)
    *out = o;
  else
    free_output(o);
  return status;
}

static amped_status append_piece(amped_dense_output *o, uint64_t count, const void *cells) {
  const amped_dense_slab whole = {0, 0, o->info.dims[0]};
  if (o->hdf5 != NULL)
    return amped_dense_writer_append(o->hdf5, count, cells);
  AMPED_TRY(amped_npy_writer_append(o->npy, count, cells));
  amped_dense_stats_add(&o->stats, &o->info, &whole, o->appended, count, cells);
  return AMPED_OK;
}

amped_status amped_dense_output_append(amped_dense_output *o, uint64_t count, const void *cells) {
  const char *next = cells;
  while (count > 0) {
    const uint64_t n = count < AMPED_DENSE_OUTPUT_PIECE ? count : AMPED_DENSE_OUTPUT_PIECE;
    AMPED_TRY(append_piece(o, n, next));
    o->appended += n;
    next += n * amped_cell_bytes(o->info.type);
    count -= n;
  }
  return AMPED_OK;
}

uint64_t amped_dense_output_piece(const amped_dense_info *read, uint64_t memory,
                                  uint64_t cell_bytes) {
  const uint64_t most = memory / cell_bytes / AMPED_DENSE_OUTPUT_PIECE;
  const uint64_t pieces = most == 0 || amped_dense_info_is_c(read) ? 1 : most;
  const uint64_t piece = pieces * AMPED_DENSE_OUTPUT_PIECE;
  return piece < read->cells ? piece : read->cells;
}

const amped_dense_info *amped_dense_output_info(amped_dense_output *o) {
  if (o->hdf5 != NULL)
    return amped_dense_writer_info(o->hdf5);
  amped_dense_stats_tell(&o->stats, &o->info);
  return &o->info;
}

amped_status amped_dense_output_set_labels(amped_dense_output *o, const amped_labels *labels) {
  char name[128];
  char order[AMPED_LABEL_ORDER_TEXT];
  if (o->hdf5 != NULL)
    amped_dense_writer_set_labels(o->hdf5, labels);
  for (int m = 0; m < o->info.order && o->hdf5 == NULL; m++)
    if (labels[m].count > 0 && !amped_labels_number_indices(&labels[m])) {
      AMPED_TRY(amped_label_order_text(&labels[m], order));
      amped_warn("%s: the labels of %s are left out; OUT.h5 holds them%s", o->path,
                 amped_format_mode(name, sizeof name, m, &labels[m]), order);
    }
  return AMPED_OK;
}

amped_status amped_dense_output_publish(amped_dense_output *o) {
  amped_status status =
      o->hdf5 != NULL ? amped_dense_writer_publish(o->hdf5) : amped_npy_writer_publish(o->npy);
  free_output(o);
  return status;
}

void amped_dense_output_discard(amped_dense_output *o) {
  if (o == NULL)
    return;
  amped_dense_writer_discard(o->hdf5);
  amped_npy_writer_discard(o->npy);
  free_output(o);
}
