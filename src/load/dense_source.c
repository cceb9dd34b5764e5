/* Dense source: boxes of cells from an HDF5 or npy file, checked and reordered. */
#include "load/dense_source.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "formats/dense_file.h"
#include "text/io_format.h"
#include "text/io_npy.h"

/* Cells that are searched at a time, so that a search begins anew after few cells. */
#define PIECE 4096

struct amped_dense_source {
  char *path;
  amped_dense_file *hdf5; /* NULL: npy is used */
  amped_npy *npy;
  amped_missing_cells missing;
  uint64_t zeroed;
  amped_cut_integers cut;
};

static bool is_npy(const char *path) {
  return amped_file_has_suffix(path, ".npy");
}

static amped_status refuse_dataset(const char *path, const char *dataset) {
  return amped_error(AMPED_USAGE, path,
                     "--dataset=%s needs an HDF5 file of dense tensors; leave it out", dataset);
}

amped_status amped_dense_source_is(const char *path, const char *dataset, bool *out) {
  *out = is_npy(path);
  if (*out)
    return dataset == NULL ? AMPED_OK : refuse_dataset(path, dataset);
  if (amped_io_is_hdf5(path))
    AMPED_TRY(amped_dense_file_is(path, dataset, out));
  return *out || dataset == NULL ? AMPED_OK : refuse_dataset(path, dataset);
}

/* MATLAB's files have their dimensions in the other order; equal dimensions do not show that. */
static void tell_of_matlab(const amped_dense_source *s) {
  static const char words[] = "%s: a file of MATLAB: its first dimension is the last mode here";
  const amped_dense_info *info = amped_dense_source_info(s);
  bool looks_equal = true;
  for (int m = 0; m < info->order; m++)
    looks_equal = looks_equal && info->dims[m] == info->dims[info->order - 1 - m];
  if (looks_equal)
    amped_warn(words, s->path);
  else
    amped_note(words, s->path);
}

amped_status amped_dense_source_open(const char *path, const char *dataset,
                                     amped_dense_source **out) {
  amped_dense_source *s = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  if (is_npy(path) && dataset != NULL)
    return refuse_dataset(path, dataset);
  AMPED_TRY(amped_calloc(&s, 1, sizeof *s, "a dense tensor's file"));
  AMPED_GO(fail, amped_strdup(&s->path, path));
  AMPED_GO(fail, is_npy(path) ? amped_npy_open(path, &s->npy)
                              : amped_dense_file_open(path, dataset, &s->hdf5));
  if (amped_dense_source_is_matlab(s))
    tell_of_matlab(s);
  *out = s;
  return AMPED_OK;
fail:
  amped_dense_source_close(s);
  return status;
}

void amped_dense_source_close(amped_dense_source *s) {
  if (s == NULL)
    return;
  amped_dense_file_close(s->hdf5);
  amped_npy_close(s->npy);
  amped_free(s->path);
  amped_free(s);
}

const amped_dense_info *amped_dense_source_info(const amped_dense_source *s) {
  return s->hdf5 != NULL ? amped_dense_file_info(s->hdf5) : amped_npy_info(s->npy);
}

const char *amped_dense_source_path(const amped_dense_source *s) {
  return s->path;
}

amped_status amped_dense_source_labels(amped_dense_source *s, const amped_axis_options *axes,
                                       amped_labels *labels) {
  const amped_dense_info *info = amped_dense_source_info(s);
  memset(labels, 0, (size_t)info->order * sizeof *labels);
  for (int m = 0; m < info->order && s->hdf5 != NULL; m++)
    AMPED_TRY(amped_dense_file_labels(s->hdf5, m, &labels[m]));
  AMPED_TRY(amped_axes_label(axes, s->path, info->order, info->dims, labels));
  for (int m = 0; m < info->order; m++)
    labels[m].of_array = true;
  return AMPED_OK;
}

const char *amped_dense_source_dataset(const amped_dense_source *s) {
  return s->hdf5 != NULL ? amped_dense_file_dataset(s->hdf5) : NULL;
}

bool amped_dense_source_is_matlab(const amped_dense_source *s) {
  return s->hdf5 != NULL && amped_dense_file_is_matlab(s->hdf5);
}

bool amped_dense_source_has_scales(const amped_dense_source *s) {
  return s->hdf5 != NULL && amped_dense_file_has_scales(s->hdf5);
}

void amped_dense_source_set_missing(amped_dense_source *s, amped_missing_cells missing) {
  s->missing = missing;
}

amped_missing_cells amped_dense_source_missing(const amped_dense_source *s) {
  return s->missing;
}

uint64_t amped_dense_source_zeroed(const amped_dense_source *s) {
  return s->zeroed;
}

const amped_cut_integers *amped_dense_source_cut(const amped_dense_source *s) {
  return &s->cut;
}

/* A box of cells, in the file's indices. */
typedef struct box {
  uint64_t first[AMPED_MAX_ORDER], count[AMPED_MAX_ORDER];
  uint64_t cells;
} box;

/* Finds the largest box with at most `most` cells that begins with cell `first` of the slab and is
 * consecutive in memory: indices of one mode, all indices of the modes after it in the layout, and
 * one index of each mode before it. */
static box next_box(const amped_dense_info *info, const uint64_t *dims, uint64_t first,
                    uint64_t most) {
  box b;
  uint64_t stride = 1;
  int i = info->order - 1;
  amped_dense_index(info->order, dims, info->layout, first, b.first);
  for (; i > 0; i--) {
    const int m = info->layout[i];
    if (b.first[m] != 0 || most / stride < dims[m])
      break;
    b.count[m] = dims[m];
    stride *= dims[m];
  }
  const int m = info->layout[i];
  const uint64_t left = dims[m] - b.first[m];
  b.count[m] = most / stride < left ? most / stride : left;
  b.cells = b.count[m] * stride;
  while (--i >= 0)
    b.count[info->layout[i]] = 1;
  return b;
}

static amped_status refuse_cell(const amped_dense_source *s, const box *b, const void *cells,
                                uint64_t bad) {
  const amped_dense_info *info = amped_dense_source_info(s);
  uint64_t index[AMPED_MAX_ORDER];
  double value = 0.0;
  amped_cells_get(cells, info->type, bad, 1, &value);
  amped_dense_index(info->order, b->count, info->layout, bad, index);
  for (int m = 0; m < info->order; m++)
    index[m] += b->first[m];
  if (isfinite(value))
    return amped_dense_missing(info->order, index, value, s->path);
  return amped_dense_not_finite(info->order, index, value, s->path);
}

static const amped_hdf5_convention *convention_of(const amped_dense_source *s) {
  return s->hdf5 != NULL ? amped_dense_file_convention(s->hdf5) : NULL;
}

static amped_cell_range missing_value(const amped_hdf5_convention *c, int i) {
  return (amped_cell_range){.least = c->values[i], .most = c->values[i]};
}

static amped_cell_range valid_range(const amped_hdf5_convention *c) {
  return (amped_cell_range){.least = c->least, .most = c->most};
}

/* Number of the first cell that is not finite, or that the file says is missing; count: none. */
static uint64_t first_bad(const amped_dense_source *s, const void *cells, amped_cell_type type,
                          uint64_t count) {
  uint64_t bad = amped_cells_not_finite(cells, type, count);
  const amped_hdf5_convention *c = convention_of(s);
  for (int i = 0; c != NULL && i < c->missing; i++)
    bad = amped_cells_find(cells, type, bad, missing_value(c, i), true);
  return c != NULL && c->has_range ? amped_cells_find(cells, type, bad, valid_range(c), false)
                                   : bad;
}

static amped_status check_cells(amped_dense_source *s, const box *b, void *cells) {
  const amped_dense_info *info = amped_dense_source_info(s);
  const uint64_t bytes = amped_cell_bytes(info->type);
  for (uint64_t at = 0; at < b->cells && s->missing != AMPED_MISSING_KEEP;) {
    char *const piece = (char *)cells + at * bytes;
    const uint64_t count = b->cells - at < PIECE ? b->cells - at : PIECE;
    const uint64_t bad = first_bad(s, piece, info->type, count);
    at += bad;
    if (bad == count)
      continue;
    if (s->missing == AMPED_MISSING_REFUSE)
      return refuse_cell(s, b, cells, at);
    memset(piece + bad * bytes, 0, bytes);
    s->zeroed++;
    at++;
  }
  return AMPED_OK;
}

/* Note a cell of a box that a double does not hold. */
static void note_cut(amped_dense_source *s, const box *b, uint64_t cell, uint64_t bits) {
  const amped_dense_info *info = amped_dense_source_info(s);
  uint64_t index[AMPED_MAX_ORDER];
  amped_dense_index(info->order, b->count, info->layout, cell, index);
  for (int m = 0; m < info->order; m++)
    index[m] += b->first[m];
  amped_cut_integers_add(&s->cut, info->type, bits, info->order, index);
}

/* Count the cells of a box, except missing ones, that a double does not hold. */
static void count_cut(amped_dense_source *s, const box *b, const void *cells) {
  const amped_cell_type type = amped_dense_source_info(s)->type;
  const uint64_t *bits = cells;
  if (amped_cell_bytes(type) < 8)
    return;
  for (uint64_t at = 0; at < b->cells; at++) {
    at += amped_cells_cut(bits + at, type, b->cells - at);
    if (at < b->cells && first_bad(s, bits + at, type, 1) == 1)
      note_cut(s, b, at, bits[at]);
  }
}

static amped_status read_box(amped_dense_source *s, const box *b, void *cells) {
  AMPED_TRY(s->hdf5 != NULL ? amped_dense_file_read(s->hdf5, b->first, b->count, cells)
                            : amped_npy_read(s->npy, b->first, b->count, cells));
  AMPED_TRY(check_cells(s, b, cells));
  count_cut(s, b, cells);
  return AMPED_OK;
}

amped_status amped_dense_source_read(amped_dense_source *s, int slab_mode, uint64_t slab_first,
                                     uint64_t slab_count, uint64_t first, uint64_t count,
                                     void *cells) {
  const amped_dense_info *info = amped_dense_source_info(s);
  uint64_t dims[AMPED_MAX_ORDER];
  char *to = cells;
  memcpy(dims, info->dims, sizeof dims);
  dims[slab_mode] = slab_count;
  while (count > 0) {
    box b = next_box(info, dims, first, count);
    b.first[slab_mode] += slab_first;
    AMPED_TRY(read_box(s, &b, to));
    to += b.cells * amped_cell_bytes(info->type);
    first += b.cells;
    count -= b.cells;
  }
  return AMPED_OK;
}

/* Copies the cells of a box from the file's layout to C's order. */
static void reorder(const amped_dense_info *info, const box *b, const char *from, char *to) {
  const uint64_t bytes = amped_cell_bytes(info->type);
  uint64_t stride[AMPED_MAX_ORDER];
  uint64_t index[AMPED_MAX_ORDER] = {0};
  uint64_t at = 0;
  uint64_t next = 1;
  for (int i = info->order - 1; i >= 0; i--) {
    stride[info->layout[i]] = next;
    next *= b->count[info->layout[i]];
  }
  for (uint64_t c = 0; c < b->cells; c++) {
    memcpy(to + c * bytes, from + at * bytes, bytes);
    for (int m = info->order - 1; m >= 0; m--) {
      at += stride[m];
      if (++index[m] < b->count[m])
        break;
      at -= stride[m] * b->count[m];
      index[m] = 0;
    }
  }
}

static amped_status read_reordered(amped_dense_source *s, const box *b, char *to) {
  const amped_dense_info *info = amped_dense_source_info(s);
  char *cells = NULL;
  AMPED_TRY(amped_alloc(&cells, b->cells, amped_cell_bytes(info->type), "cells of a box"));
  amped_status status = read_box(s, b, cells);
  if (status == AMPED_OK)
    reorder(info, b, cells, to);
  amped_free(cells);
  return status;
}

amped_status amped_dense_source_read_c(amped_dense_source *s, uint64_t first, uint64_t count,
                                       void *cells) {
  amped_dense_info info = *amped_dense_source_info(s);
  char *to = cells;
  if (amped_dense_info_is_c(&info))
    return amped_dense_source_read(s, 0, 0, info.dims[0], first, count, cells);
  for (int m = 0; m < info.order; m++)
    info.layout[m] = m;
  while (count > 0) {
    const box b = next_box(&info, info.dims, first, count);
    AMPED_TRY(read_reordered(s, &b, to));
    to += b.cells * amped_cell_bytes(info.type);
    first += b.cells;
    count -= b.cells;
  }
  return AMPED_OK;
}

amped_status amped_dense_source_values(const amped_dense_source *s, const int *layout,
                                       uint64_t first, uint64_t count, const void *cells,
                                       double *values) {
  const amped_dense_info *info = amped_dense_source_info(s);
  const amped_hdf5_convention *c = convention_of(s);
  uint64_t index[AMPED_MAX_ORDER];
  amped_cells_get(cells, info->type, 0, count, values);
  for (int i = 0; c != NULL && i < c->missing; i++)
    amped_cells_blank(cells, info->type, count, missing_value(c, i), true, values);
  if (c != NULL && c->has_range)
    amped_cells_blank(cells, info->type, count, valid_range(c), false, values);
  for (uint64_t i = 0; i < count; i++)
    if (isinf(values[i])) {
      amped_dense_index(info->order, info->dims, layout, first + i, index);
      return amped_dense_not_finite(info->order, index, values[i], s->path);
    }
  return AMPED_OK;
}
