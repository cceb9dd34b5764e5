/* Dense file: finding and reading the dense tensor in an HDF5 file. */
#include "formats/dense_file.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "formats/dense_layout.h"
#include "hdf5/hdf5_probe.h"
#include "formats/tensor_layout.h"
#include "hdf5/hdf5_labels.h"

/* Attribute that MATLAB adds to each dataset. */
#define MATLAB "MATLAB_class"
/* Attribute of a dataset whose dimensions have coordinates: HDF5's dimension scales, of netCDF-4
 * and h5py. */
#define SCALES "DIMENSION_LIST"

/* Most arrays listed when the user has to choose one. */
#define LISTED 8

struct amped_dense_file {
  amped_hdf5 hdf5;
  char *path;
  amped_dense_info info;
  amped_hdf5_dataset cells;
  amped_hdf5_convention convention; /* zeros in this program's files */
  bool is_matlab;
  bool has_scales;
};

/* --- which kind of file ----------------------------------------------------------------------- */

typedef enum kind {
  OURS,    /* dense tensor of this program */
  FOREIGN, /* file of another program, which may hold arrays */
  OTHER    /* sparse tensor, or no tensor */
} kind;

static amped_status find_kind(amped_hdf5 *file, kind *out) {
  bool ours = false, described = false, dense = false, list = false, copies = false;
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", "amped_format", &ours));
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", "binsparse", &described));
  *out = described ? OTHER : FOREIGN;
  if (!ours)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_exists(file, AMPED_TENSOR_DENSE, &dense));
  AMPED_TRY(amped_hdf5_exists(file, "/indices_0", &list));
  AMPED_TRY(amped_hdf5_exists(file, "/amped", &copies));
  *out = dense && !list && !copies ? OURS : OTHER;
  return AMPED_OK;
}

/* --- which dataset ---------------------------------------------------------------------------- */

/* Fewest dimensions of a dataset that is chosen without a name. Files that hold no dense tensor are
 * full of matrices: indices, images, tables. */
#define LEAST_CHOSEN 3

typedef struct candidates {
  uint64_t count;
  char first[AMPED_HDF5_NAME];
  char names[512]; /* first few names, with commas */
} candidates;

static amped_status note_candidate(void *self, amped_hdf5 *file, const char *name, int ndims) {
  candidates *c = self;
  (void)file;
  const size_t used = strlen(c->names);
  if (ndims < LEAST_CHOSEN)
    return AMPED_OK;
  if (c->count++ == 0)
    (void)snprintf(c->first, sizeof c->first, "%s", name);
  if (c->count <= LISTED)
    (void)snprintf(c->names + used, sizeof c->names - used, "%s%s", used > 0 ? ", " : "", name);
  else if (c->count == LISTED + 1)
    (void)snprintf(c->names + used, sizeof c->names - used, " and more");
  return AMPED_OK;
}

static amped_status not_there(const amped_dense_file *f, const char *dataset, const candidates *c) {
  if (c->count == 0)
    return amped_error(AMPED_USAGE, f->path,
                       "--dataset=%s: there is no such dataset, and none of %d to %d dimensions; "
                       "give another file",
                       dataset, LEAST_CHOSEN, AMPED_MAX_ORDER);
  return amped_error(AMPED_USAGE, f->path,
                     "--dataset=%s: there is no such dataset; those of %d to %d dimensions are %s",
                     dataset, LEAST_CHOSEN, AMPED_MAX_ORDER, c->names);
}

/* Find the path given by the user, whose first slash may be missing. */
static amped_status use_named(amped_dense_file *f, const char *dataset, const candidates *c,
                              char *name, size_t room) {
  bool is_dataset = false;
  const int length = snprintf(name, room, "%s%s", dataset[0] == '/' ? "" : "/", dataset);
  if (length > 1 && (size_t)length < room && name[length - 1] != '/')
    AMPED_TRY(amped_hdf5_is_dataset(&f->hdf5, name, &is_dataset));
  return is_dataset ? AMPED_OK : not_there(f, dataset, c);
}

static amped_status choose(amped_dense_file *f, const char *dataset, char *name, size_t room) {
  candidates c = {.count = 0};
  AMPED_TRY(amped_hdf5_arrays(&f->hdf5, note_candidate, &c));
  if (dataset != NULL)
    return use_named(f, dataset, &c, name, room);
  if (c.count == 0)
    return amped_error(
        AMPED_BAD_INPUT, f->path,
        "holds no dense tensor: no dataset has %d to %d dimensions; name a matrix with --dataset",
        LEAST_CHOSEN, AMPED_MAX_ORDER);
  if (c.count > 1)
    return amped_error(AMPED_USAGE, f->path,
                       "has %" PRIu64 " datasets of %d to %d dimensions: %s; name one with "
                       "--dataset",
                       c.count, LEAST_CHOSEN, AMPED_MAX_ORDER, c.names);
  (void)snprintf(name, room, "%s", c.first);
  return AMPED_OK;
}

/* --- opening ---------------------------------------------------------------------------------- */

amped_hdf5_type amped_dense_element(amped_cell_type type) {
  const amped_number number = !amped_cell_is_integer(type) ? AMPED_FLOAT
                              : (type == AMPED_CELL_I8 || type == AMPED_CELL_I16 ||
                                 type == AMPED_CELL_I32 || type == AMPED_CELL_I64)
                                  ? AMPED_SIGNED
                                  : AMPED_UNSIGNED;
  return (amped_hdf5_type){number, amped_cell_bytes(type)};
}

/* The integer type with as many bytes and the other sign. */
static amped_hdf5_type of_other_sign(amped_hdf5_type type) {
  return (amped_hdf5_type){type.number == AMPED_SIGNED ? AMPED_UNSIGNED : AMPED_SIGNED, type.bytes};
}

/* Cell type of an element type; extended floats are rounded to doubles. */
static amped_cell_type cell_of(amped_hdf5_type element) {
  if (element.bytes > 8)
    return AMPED_CELL_F64;
  amped_cell_type type = AMPED_CELL_I8;
  for (int t = 0; t < AMPED_CELL_TYPES; t++) {
    const amped_hdf5_type e = amped_dense_element((amped_cell_type)t);
    if (e.number == element.number && e.bytes == element.bytes)
      type = (amped_cell_type)t;
  }
  return type;
}

static amped_status open_array(amped_dense_file *f, const char *name) {
  amped_dense_info *info = &f->info;
  AMPED_TRY(amped_hdf5_array_open(&f->hdf5, name, &f->cells));
  info->order = f->cells.ndims;
  info->type = cell_of(f->cells.type);
  for (int m = 0; m < info->order; m++) {
    info->dims[m] = f->cells.dims[m];
    info->layout[m] = m;
    if (info->dims[m] == 0)
      return amped_error(AMPED_BAD_INPUT, f->path,
                         "dataset %s has no cells; give a tensor that has some", name);
  }
  if (!amped_dense_info_count(info))
    return amped_error(AMPED_BAD_INPUT, f->path,
                       "dataset %s has more cells than 63 bits count; the file is damaged, make it "
                       "again",
                       name);
  return AMPED_OK;
}

/* Read the statistics that our own files store with the cells. */
static amped_status read_stats(amped_dense_file *f) {
  amped_dense_info *info = &f->info;
  uint64_t order = 0;
  uint64_t dims[AMPED_MAX_ORDER];
  AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, "/", "order", 1, &order));
  bool same = order == (uint64_t)info->order;
  if (same)
    AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, "/", "dims", order, dims));
  for (int m = 0; same && m < info->order; m++)
    same = dims[m] == info->dims[m];
  AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, "/", "nnz", 1, &info->nnz));
  AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, "/", "hash", 1, &info->hash));
  AMPED_TRY(amped_tensor_read_norm(&f->hdf5, &info->norm_squared));
  info->has_stats = true;
  return same && info->nnz <= info->cells
             ? AMPED_OK
             : amped_error(
                   AMPED_BAD_INPUT, f->path,
                   "dataset %s does not match order, dims and nnz; convert the tensor again",
                   f->cells.name);
}

static amped_status open_any(amped_dense_file *f, const char *dataset) {
  char name[AMPED_HDF5_NAME];
  kind is = OTHER;
  AMPED_TRY(find_kind(&f->hdf5, &is));
  if (is == OTHER)
    return amped_error(AMPED_BAD_INPUT, f->path, "holds no dense tensor; name a file that does");
  AMPED_TRY(choose(f, dataset != NULL || is == FOREIGN ? dataset : AMPED_TENSOR_DENSE, name,
                   sizeof name));
  if (is == OURS)
    AMPED_TRY(amped_tensor_check_version(&f->hdf5));
  AMPED_TRY(open_array(f, name));
  if (is == OURS)
    return read_stats(f);
  AMPED_TRY(amped_hdf5_array_convention(&f->cells, &f->convention));
  if (f->convention.packed != NULL)
    return amped_error(AMPED_BAD_INPUT, f->path,
                       "dataset %s has the attribute %s: its cells are packed numbers, not values; "
                       "write the values (xarray and netCDF4 unpack when they read), or remove the "
                       "attribute if it is wrong",
                       name, f->convention.packed);
  if (f->convention.other_sign)
    f->info.type = cell_of(of_other_sign(f->cells.type));
  AMPED_TRY(amped_hdf5_has_attribute(&f->hdf5, name, SCALES, &f->has_scales));
  return amped_hdf5_has_attribute(&f->hdf5, name, MATLAB, &f->is_matlab);
}

/* fd: open file that needs no probe; -1: none. */
static amped_status open_file(int fd, const char *path, const char *dataset,
                              amped_dense_file **out) {
  amped_dense_file *f = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&f, 1, sizeof *f, "a dense file"));
  AMPED_GO(fail, amped_strdup(&f->path, path));
  AMPED_GO(fail, fd >= 0 ? amped_hdf5_open_trusted(fd, f->path, NULL, &f->hdf5)
                         : amped_hdf5_open(f->path, &f->hdf5));
  AMPED_GO(fail, open_any(f, dataset));
  *out = f;
  return AMPED_OK;
fail:
  amped_dense_file_close(f);
  return status;
}

amped_status amped_dense_file_open(const char *path, const char *dataset, amped_dense_file **out) {
  return open_file(-1, path, dataset, out);
}

amped_status amped_dense_file_open_trusted(int fd, const char *path, amped_dense_file **out) {
  return open_file(fd, path, NULL, out);
}

void amped_dense_file_close(amped_dense_file *f) {
  if (f == NULL)
    return;
  amped_hdf5_dataset_close(&f->cells);
  amped_hdf5_close(&f->hdf5);
  amped_free(f->path);
  amped_free(f);
}

amped_status amped_dense_file_is(const char *path, const char *dataset, bool *out) {
  amped_hdf5 file;
  kind is = OTHER;
  candidates c = {.count = 0};
  *out = false;
  AMPED_TRY(amped_hdf5_open(path, &file));
  amped_status status = find_kind(&file, &is);
  if (status == AMPED_OK && is == FOREIGN && dataset == NULL)
    status = amped_hdf5_arrays(&file, note_candidate, &c);
  *out = status == AMPED_OK && (is == OURS || (is == FOREIGN && (dataset != NULL || c.count > 0)));
  amped_hdf5_close(&file);
  return status;
}

amped_status amped_dense_file_labels(amped_dense_file *f, int mode, amped_labels *out) {
  kind is = OTHER;
  memset(out, 0, sizeof *out);
  AMPED_TRY(find_kind(&f->hdf5, &is));
  return is == OURS ? amped_hdf5_labels_read(&f->hdf5, mode, f->info.dims[mode], out) : AMPED_OK;
}

const amped_dense_info *amped_dense_file_info(const amped_dense_file *f) {
  return &f->info;
}

const amped_hdf5_convention *amped_dense_file_convention(const amped_dense_file *f) {
  return &f->convention;
}

const char *amped_dense_file_dataset(const amped_dense_file *f) {
  return f->cells.name;
}

bool amped_dense_file_is_matlab(const amped_dense_file *f) {
  return f->is_matlab;
}

bool amped_dense_file_has_scales(const amped_dense_file *f) {
  return f->has_scales;
}

amped_status amped_dense_file_read(amped_dense_file *f, const uint64_t *first,
                                   const uint64_t *count, void *cells) {
  const amped_hdf5_type type = amped_dense_element(f->info.type);
  /* Integers of the other sign keep their bits: HDF5 would cut their values. */
  return amped_hdf5_array_read(&f->cells, f->convention.other_sign ? of_other_sign(type) : type,
                               first, count, cells);
}
