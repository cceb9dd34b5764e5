/* Tensor file: opening with all checks, and reading nonzeros. */
#include "formats/tensor_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/binsparse.h"
#include "hdf5/hdf5_labels.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "hdf5/hdf5_probe.h"
#include "formats/tensor_layout.h"

/* Value of `opened` if no copy's datasets are open. */
#define NONE (-2)

struct amped_tensor_file {
  amped_hdf5 hdf5;
  char *path;
  amped_tensor_info info;
  bool may_be_empty;
  uint64_t index_base;
  bool is_signed[AMPED_MAX_ORDER]; /* the root's indices are signed, in a file of another program */
  /* Copy whose datasets are open, or NONE. Only one at a time: each dataset holds a chunk in its
   * cache. */
  int opened;
  amped_hdf5_dataset indices[AMPED_MAX_ORDER];
  amped_hdf5_dataset values;
  uint64_t hashed; /* nonzeros of this copy read in order so far, from number 0 */
  uint64_t hash;   /* hash of these nonzeros */
  bool told_of_cut;
  amped_cut_integers cut; /* the first value of a list that a double does not hold */
};

amped_tensor_folder amped_tensor_folder_of(int mode) {
  amped_tensor_folder folder = {""};
  if (mode >= 0)
    (void)snprintf(folder.name, sizeof folder.name, "/amped/mode_%d", mode);
  return folder;
}

amped_tensor_name amped_tensor_name_of(int mode, const char *what, int i) {
  amped_tensor_folder folder = amped_tensor_folder_of(mode);
  amped_tensor_name name;
  if (i >= 0)
    (void)snprintf(name.name, sizeof name.name, "%s/%.20s_%d", folder.name, what, i);
  else
    (void)snprintf(name.name, sizeof name.name, "%s/%.20s", folder.name, what);
  return name;
}

static amped_hdf5_type index_type(const amped_tensor_file *f, int m) {
  return (amped_hdf5_type){f->is_signed[m] ? AMPED_SIGNED : AMPED_UNSIGNED,
                           (uint64_t)f->info.index_types[m]};
}

static amped_hdf5_type value_type(const amped_tensor_file *f) {
  return (amped_hdf5_type){AMPED_FLOAT, (uint64_t)f->info.value_type};
}

/* --- opening --------------------------------------------------------------------------------- */

static void close_nonzeros(amped_tensor_file *f) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_hdf5_dataset_close(&f->indices[m]);
  amped_hdf5_dataset_close(&f->values);
  f->hashed = f->hash = 0;
  f->opened = NONE;
}

/* Open the datasets of a copy, or of the root's list for mode -1. In a file with copies, that list
 * is copy 0. */
static amped_status open_nonzeros(amped_tensor_file *f, int mode) {
  if (mode == -1 && f->info.has_copies)
    mode = 0;
  if (f->opened == mode)
    return AMPED_OK;
  close_nonzeros(f);
  for (int m = 0; m < f->info.order; m++)
    AMPED_TRY(amped_hdf5_dataset_open(&f->hdf5, amped_tensor_name_of(mode, "indices", m).name, 1,
                                      &f->indices[m]));
  AMPED_TRY(amped_hdf5_dataset_open(&f->hdf5, amped_tensor_name_of(mode, "values", -1).name, 1,
                                    &f->values));
  f->opened = mode;
  return AMPED_OK;
}

static amped_status bad_copy(const amped_tensor_file *f, int mode, const char *what) {
  return amped_error(AMPED_BAD_INPUT, f->path, "the copy of mode %d %s; convert the tensor again",
                     mode + 1, what);
}

static amped_status open_idps(amped_tensor_file *f, int mode, amped_hdf5_dataset *d) {
  const amped_hdf5_type u64 = {AMPED_UNSIGNED, AMPED_U64};
  const uint64_t count = f->info.partitions[mode].idp_count;
  AMPED_TRY(
      amped_hdf5_dataset_open(&f->hdf5, amped_tensor_name_of(mode, "idp_nnz", -1).name, 1, d));
  AMPED_TRY(amped_hdf5_dataset_expect(d, u64, d->dims[0], 1));
  return d->dims[0] == count ? AMPED_OK
                             : bad_copy(f, mode, "has an idp_nnz of another length than idp_count");
}

/* Read and check the iDp table in pieces: into `table`, or, if it is NULL, each piece into
 * `piece`. */
static amped_status scan_idps(amped_tensor_file *f, int mode, uint64_t *table, uint64_t *piece) {
  const amped_hdf5_type u64 = {AMPED_UNSIGNED, AMPED_U64};
  amped_hdf5_dataset d;
  uint64_t sum = 0;
  amped_status status = open_idps(f, mode, &d);
  for (uint64_t first = 0; status == AMPED_OK && first < d.dims[0]; first += AMPED_HDF5_CHUNK) {
    const uint64_t left = d.dims[0] - first;
    const uint64_t count = left < AMPED_HDF5_CHUNK ? left : AMPED_HDF5_CHUNK;
    uint64_t *here = table != NULL ? table + first : piece;
    status = amped_hdf5_dataset_read(&d, u64, first, count, here);
    for (uint64_t i = 0; i < count && status == AMPED_OK; i++)
      if (!amped_add(sum, here[i], &sum))
        status = bad_copy(f, mode, "has an idp_nnz that adds up to more than 64 bits hold");
  }
  amped_hdf5_dataset_close(&d);
  AMPED_TRY(status);
  return sum == f->info.nnz ? AMPED_OK
                            : bad_copy(f, mode, "has an idp_nnz that does not add up to nnz");
}

/* Check the iDp table without keeping it, for callers that only open the file. */
static amped_status check_idps(amped_tensor_file *f, int mode) {
  const uint64_t count = f->info.partitions[mode].idp_count;
  uint64_t *piece = NULL;
  AMPED_TRY(amped_alloc(&piece, count < AMPED_HDF5_CHUNK ? count : AMPED_HDF5_CHUNK, sizeof *piece,
                        "the iDp table"));
  amped_status status = scan_idps(f, mode, NULL, piece);
  amped_free(piece);
  return status;
}

amped_status amped_tensor_file_tables(amped_tensor_file *f) {
  uint64_t bytes = 0;
  for (int m = 0; m < f->info.order; m++)
    bytes += f->info.partitions[m].idp_count * sizeof(uint64_t);
  AMPED_TRY(amped_mem_check(f->path, "its iDp tables", bytes));
  for (int m = 0; m < f->info.order && f->info.has_copies; m++) {
    amped_partition *p = &f->info.partitions[m];
    if (p->idp_nnz != NULL)
      continue;
    AMPED_TRY(amped_alloc(&p->idp_nnz, p->idp_count, sizeof *p->idp_nnz, "the iDp table"));
    AMPED_TRY(scan_idps(f, m, p->idp_nnz, NULL));
  }
  return AMPED_OK;
}

static amped_status read_partition(amped_tensor_file *f, int mode) {
  amped_partition *p = &f->info.partitions[mode];
  amped_tensor_folder folder = amped_tensor_folder_of(mode);
  uint64_t stored_mode = 0;
  AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, folder.name, "mode", 1, &stored_mode));
  AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, folder.name, "width", 1, &p->width));
  AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, folder.name, "idp_count", 1, &p->idp_count));
  p->dim = f->info.dims[mode];
  if (stored_mode != (uint64_t)mode)
    return bad_copy(f, mode, "is ordered for another mode");
  if (p->width < 1 || p->idp_count != amped_ceil_div(p->dim, p->width))
    return bad_copy(f, mode, "has a width and idp_count that do not cover the mode");
  if (p->width > p->dim)
    p->width = p->dim; /* one iDp: width is at most the number of rows */
  return check_idps(f, mode);
}

/* Read a copy's hash. Every copy stores the hash of the tensor, so all must be equal. */
static amped_status check_hash(amped_tensor_file *f, int mode) {
  uint64_t hash = 0;
  AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, amped_tensor_folder_of(mode).name, "hash", 1, &hash));
  if (mode == 0)
    f->info.hash = hash;
  else if (hash != f->info.hash)
    return bad_copy(f, mode, "disagrees with the copy of mode 1");
  return AMPED_OK;
}

static amped_status open_copy(amped_tensor_file *f, int mode) {
  bool exists = false;
  AMPED_TRY(amped_hdf5_exists(&f->hdf5, amped_tensor_folder_of(mode).name, &exists));
  if (!exists)
    return bad_copy(f, mode, "is missing");
  AMPED_TRY(check_hash(f, mode));
  AMPED_TRY(open_nonzeros(f, mode));
  /* All copies have the value type of copy 0, which represents every value exactly. */
  if (mode == 0)
    f->info.value_type = f->values.type.bytes == AMPED_F32 ? AMPED_F32 : AMPED_F64;
  for (int m = 0; m < f->info.order; m++)
    AMPED_TRY(amped_hdf5_dataset_expect(&f->indices[m], index_type(f, m), f->info.nnz, 1));
  AMPED_TRY(amped_hdf5_dataset_expect(&f->values, value_type(f), f->info.nnz, 1));
  return read_partition(f, mode);
}

static amped_status check_root_link(amped_tensor_file *f, const char *what, int i) {
  amped_tensor_name root = amped_tensor_name_of(-1, what, i);
  bool same = false;
  AMPED_TRY(amped_hdf5_exists(&f->hdf5, root.name, &same));
  if (same)
    AMPED_TRY(amped_hdf5_same(&f->hdf5, root.name, amped_tensor_name_of(0, what, i).name, &same));
  if (!same)
    return amped_error(AMPED_BAD_INPUT, f->path,
                       "dataset %s is not the one of mode 1's copy; convert the tensor again",
                       root.name);
  return AMPED_OK;
}

amped_status amped_tensor_read_norm(amped_hdf5 *file, double *norm_squared) {
  AMPED_TRY(amped_hdf5_get_double(file, "/", "norm_squared", norm_squared));
  if (isfinite(*norm_squared) && *norm_squared >= 0.0)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, file->path, "norm_squared is %g; convert the tensor again",
                     *norm_squared);
}

static amped_status read_shape(amped_tensor_file *f) {
  amped_tensor_info *info = &f->info;
  uint64_t order = 0;
  AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, "/", "order", 1, &order));
  if (order < AMPED_MIN_ORDER || order > AMPED_MAX_ORDER)
    return amped_error(AMPED_BAD_INPUT, f->path,
                       "has %" PRIu64 " modes; tensors of %d to %d modes can be decomposed", order,
                       AMPED_MIN_ORDER, AMPED_MAX_ORDER);
  info->order = (int)order;
  AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, "/", "dims", order, info->dims));
  AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, "/", "nnz", 1, &info->nnz));
  AMPED_TRY(amped_tensor_read_norm(&f->hdf5, &info->norm_squared));
  if (info->nnz == 0)
    return amped_error(AMPED_BAD_INPUT, f->path, "has no nonzeros; give a tensor that has some");
  for (int m = 0; m < info->order; m++) {
    if (info->dims[m] < 1 || info->dims[m] > AMPED_MAX_DIM)
      return amped_error(AMPED_BAD_INPUT, f->path,
                         "mode %d has dimension %" PRIu64 "; dimensions are 1 to 2^63", m + 1,
                         info->dims[m]);
    info->index_types[m] = amped_itype_for(info->dims[m]);
  }
  return AMPED_OK;
}

/* Read the distinct values, if the file lists them (there are few). */
static amped_status read_dictionary(amped_tensor_file *f) {
  const amped_hdf5_type f64 = {AMPED_FLOAT, AMPED_F64};
  amped_dictionary *dictionary = &f->info.dictionary;
  amped_hdf5_dataset d;
  bool exists = false;
  AMPED_TRY(amped_hdf5_exists(&f->hdf5, AMPED_TENSOR_DICTIONARY, &exists));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_dataset_open(&f->hdf5, AMPED_TENSOR_DICTIONARY, 1, &d));
  amped_status status = amped_hdf5_dataset_expect(&d, f64, d.dims[0], 1);
  if (status == AMPED_OK && (d.dims[0] == 0 || d.dims[0] > AMPED_MAX_CODES))
    status = amped_error(AMPED_BAD_INPUT, f->path,
                         "dataset %s has %" PRIu64 " values; convert the tensor again", d.name,
                         d.dims[0]);
  if (status == AMPED_OK)
    status = amped_alloc(&dictionary->values, d.dims[0], sizeof *dictionary->values,
                         "the dictionary of values");
  if (status == AMPED_OK) {
    dictionary->count = d.dims[0];
    status = amped_hdf5_dataset_read(&d, f64, 0, d.dims[0], dictionary->values);
  }
  if (status == AMPED_OK && !amped_dictionary_valid(dictionary))
    status = amped_error(AMPED_BAD_INPUT, f->path,
                         "dataset %s does not ascend; convert the tensor again", d.name);
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status open_copies(amped_tensor_file *f) {
  f->info.has_copies = true;
  f->info.has_hash = true;
  AMPED_TRY(read_shape(f));
  for (int m = 0; m < f->info.order; m++)
    AMPED_TRY(open_copy(f, m));
  AMPED_TRY(read_dictionary(f));
  for (int m = 0; m < f->info.order; m++)
    AMPED_TRY(check_root_link(f, "indices", m));
  return check_root_link(f, "values", -1);
}

/* Floats of 4 bytes represent half floats and integers of 2 bytes exactly. */
static amped_vtype narrowest_value(amped_hdf5_type type) {
  bool narrow = type.number == AMPED_FLOAT ? type.bytes <= 4 : type.bytes <= 2;
  return narrow ? AMPED_F32 : AMPED_F64;
}

static amped_status check_coo(amped_tensor_file *f) {
  amped_tensor_info *info = &f->info;
  for (int m = 0; m < info->order; m++) {
    amped_hdf5_dataset *d = &f->indices[m];
    if (d->type.number == AMPED_FLOAT)
      return amped_error(AMPED_BAD_INPUT, f->path, "dataset %s holds floats; indices are integers",
                         d->name);
    f->is_signed[m] = d->type.number == AMPED_SIGNED;
    info->index_types[m] = (amped_itype)d->type.bytes;
    AMPED_TRY(amped_hdf5_dataset_expect(d, d->type, info->nnz, 1));
  }
  info->value_type = narrowest_value(f->values.type);
  return amped_hdf5_dataset_expect(&f->values, f->values.type, info->nnz, 1);
}

/* Refuse a nonzero fill value: absent elements must be zero. */
static amped_status check_fill(amped_tensor_file *f) {
  const amped_hdf5_type f64 = {AMPED_FLOAT, AMPED_F64};
  amped_hdf5_dataset d;
  double fill = 0.0;
  AMPED_TRY(amped_hdf5_dataset_open(&f->hdf5, "/fill_value", 1, &d));
  amped_status status = amped_hdf5_dataset_expect(&d, d.type, 1, 1);
  if (status == AMPED_OK)
    status = amped_hdf5_dataset_read(&d, f64, 0, 1, &fill);
  if (status == AMPED_OK && fill != 0.0) /* true also for NaN */
    status = amped_error(AMPED_BAD_INPUT, f->path,
                         "dataset %s is %g; store a tensor whose absent elements are zero", d.name,
                         fill);
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status open_coo(amped_tensor_file *f) {
  amped_binsparse descriptor;
  char *text = NULL;
  AMPED_TRY(amped_hdf5_get_text(&f->hdf5, "/", "binsparse", &text));
  amped_status status = amped_binsparse_parse(f->path, text, &descriptor);
  amped_free(text);
  AMPED_TRY(status);
  if (descriptor.nnz == 0 && !f->may_be_empty)
    return amped_error(AMPED_BAD_INPUT, f->path, "has no nonzeros; give a tensor that has some");
  f->info.order = descriptor.order;
  memcpy(f->info.dims, descriptor.dims, sizeof f->info.dims);
  f->info.nnz = descriptor.nnz;
  f->index_base = descriptor.index_base;
  if (descriptor.has_fill)
    AMPED_TRY(check_fill(f));
  AMPED_TRY(open_nonzeros(f, -1));
  return check_coo(f);
}

/* Read the norm and the hash, if the file stores them. */
static amped_status read_sums(amped_tensor_file *f) {
  amped_tensor_info *info = &f->info;
  AMPED_TRY(amped_hdf5_has_attribute(&f->hdf5, "/", "hash", &info->has_hash));
  if (!info->has_hash)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_u64(&f->hdf5, "/", "hash", 1, &info->hash));
  return amped_tensor_read_norm(&f->hdf5, &info->norm_squared);
}

/* Read how duplicates were treated. Files of earlier builds do not say. */
static amped_status read_duplicates(amped_tensor_file *f) {
  amped_status status = AMPED_OK;
  char *text = NULL;
  bool told = false;
  AMPED_TRY(amped_hdf5_has_attribute(&f->hdf5, "/", "duplicates", &told));
  if (!told)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_text(&f->hdf5, "/", "duplicates", &text));
  f->info.duplicates = amped_duplicates_named(text);
  if (f->info.duplicates == AMPED_DUPLICATES_UNKNOWN)
    status = amped_error(AMPED_BAD_INPUT, f->path,
                         "duplicates is not none, sum, mean, last or keep; convert the tensor "
                         "again");
  amped_free(text);
  return status;
}

amped_status amped_tensor_check_version(amped_hdf5 *file) {
  static const struct {
    const char *format, *told;
  } others[] = {{.format = "ktensor", .told = "is a result, not a tensor"},
                {.format = "checkpoint", .told = "is a checkpoint, not a tensor"},
                {.format = "state", .told = "is the state of a stream, not a tensor"}};
  char *format = NULL;
  uint64_t version = 0;
  AMPED_TRY(amped_hdf5_get_text(file, "/", "amped_format", &format));
  const bool is_tensor = strcmp(format, "tensor") == 0;
  const char *told = "is of an unknown kind";
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(format, others[i].format) == 0)
      told = others[i].told;
  amped_free(format);
  if (!is_tensor)
    return amped_error(AMPED_BAD_INPUT, file->path, "%s; name a tensor file", told);
  AMPED_TRY(amped_hdf5_get_u64(file, "/", "amped_version", 1, &version));
  if (version != AMPED_TENSOR_VERSION)
    return amped_error(AMPED_BAD_INPUT, file->path,
                       "is of version %" PRIu64 " of the format, this program reads version %d; "
                       "convert the tensor again",
                       version, AMPED_TENSOR_VERSION);
  return AMPED_OK;
}

static amped_status open_any(amped_tensor_file *f) {
  bool ours = false, copies = false, dense = false, list = false, described = false;
  AMPED_TRY(amped_hdf5_has_attribute(&f->hdf5, "/", "amped_format", &ours));
  if (ours) {
    AMPED_TRY(amped_tensor_check_version(&f->hdf5));
    AMPED_TRY(read_duplicates(f));
    AMPED_TRY(amped_hdf5_exists(&f->hdf5, "/amped", &copies));
    AMPED_TRY(amped_hdf5_exists(&f->hdf5, AMPED_TENSOR_DENSE, &dense));
    AMPED_TRY(amped_hdf5_exists(&f->hdf5, "/indices_0", &list));
    if (copies)
      return open_copies(f);
    if (dense && !list)
      return amped_error(AMPED_BAD_INPUT, f->path,
                         "holds a dense tensor, and a list of cells is needed; make one with "
                         "amped_mpi convert --sparse --nan=missing");
  }
  AMPED_TRY(amped_hdf5_has_attribute(&f->hdf5, "/", "binsparse", &described));
  if (!described)
    return amped_error(AMPED_BAD_INPUT, f->path,
                       "holds no tensor: no dataset of 3 to 8 dimensions, and no attribute "
                       "binsparse; name a tensor file (.h5, .hdf5, .mat, .nc), name a matrix with "
                       "--dataset, or make a tensor with amped_mpi convert");
  AMPED_TRY(open_coo(f));
  if (ours)
    return read_sums(f);
  f->info.duplicates = AMPED_DUPLICATES_KEEP;
  return AMPED_OK;
}

/* fd: open file that needs no probe; -1: none. */
static amped_status open_file(int fd, const char *path, bool may_be_empty,
                              amped_tensor_file **out) {
  amped_tensor_file *f = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&f, 1, sizeof *f, "a tensor file"));
  f->opened = NONE;
  f->may_be_empty = may_be_empty;
  AMPED_GO(fail, amped_strdup(&f->path, path));
  AMPED_GO(fail, fd >= 0 ? amped_hdf5_open_trusted(fd, f->path, NULL, &f->hdf5)
                         : amped_hdf5_open(f->path, &f->hdf5));
  AMPED_GO(fail, open_any(f));
  *out = f;
  return AMPED_OK;
fail:
  amped_tensor_file_close(f);
  return status;
}

amped_status amped_tensor_file_open(const char *path, amped_tensor_file **out) {
  return open_file(-1, path, false, out);
}

amped_status amped_tensor_file_open_any(const char *path, amped_tensor_file **out) {
  return open_file(-1, path, true, out);
}

amped_status amped_tensor_file_open_trusted(int fd, const char *path, amped_tensor_file **out) {
  return open_file(fd, path, false, out);
}

void amped_tensor_file_close(amped_tensor_file *f) {
  if (f == NULL)
    return;
  if (!f->told_of_cut)
    amped_cut_integers_warn(&f->cut, 0, f->path);
  close_nonzeros(f);
  amped_hdf5_close(&f->hdf5);
  amped_tensor_info_free(&f->info);
  amped_free(f->path);
  amped_free(f);
}

const amped_tensor_info *amped_tensor_file_info(const amped_tensor_file *f) {
  return &f->info;
}

amped_hdf5 *amped_tensor_file_hdf5(amped_tensor_file *f) {
  return &f->hdf5;
}

const char *amped_tensor_file_path(const amped_tensor_file *f) {
  return f->path;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Elements that a thread scans at a time. */
#define SCAN_PIECE (UINT64_C(1) << 16)

/* Vectorised scans of a piece. largest: the largest index. ascends: no index is below its
 * predecessor. lower: subtract 1 from each index. */
#define DEFINE_SCANS(T)                                                                            \
  static uint64_t largest_##T(const T *a, uint64_t n) {                                            \
    T max = 0;                                                                                     \
    for (uint64_t i = 0; i < n; i++)                                                               \
      max = a[i] > max ? a[i] : max;                                                               \
    return max;                                                                                    \
  }                                                                                                \
  static bool ascends_##T(const T *a, uint64_t n) {                                                \
    int falls = 0;                                                                                 \
    for (uint64_t i = 1; i < n; i++)                                                               \
      falls |= a[i] < a[i - 1];                                                                    \
    return falls == 0;                                                                             \
  }                                                                                                \
  static void lower_##T(T *a, uint64_t n) {                                                        \
    for (uint64_t i = 0; i < n; i++)                                                               \
      a[i] = (T)(a[i] - 1);                                                                        \
  }
DEFINE_SCANS(uint8_t)
DEFINE_SCANS(uint16_t)
DEFINE_SCANS(uint32_t)
DEFINE_SCANS(uint64_t)

#define BY_TYPE(function, type, array, n)                                                          \
  ((type) == AMPED_U8    ? function##_uint8_t((array), (n))                                        \
   : (type) == AMPED_U16 ? function##_uint16_t((array), (n))                                       \
   : (type) == AMPED_U32 ? function##_uint32_t((array), (n))                                       \
                         : function##_uint64_t((array), (n)))

static int some_infinite_4(const float *values, uint64_t n) {
  int bad = 0;
  for (uint64_t i = 0; i < n; i++)
    bad |= !isfinite(values[i]);
  return bad;
}

static int some_infinite_8(const double *values, uint64_t n) {
  int bad = 0;
  for (uint64_t i = 0; i < n; i++)
    bad |= !isfinite(values[i]);
  return bad;
}

/* Number of elements in the piece at `first`, plus up to `more` of the next piece. */
static uint64_t piece_count(uint64_t first, uint64_t n, uint64_t more) {
  return n - first < SCAN_PIECE + more ? n - first : SCAN_PIECE + more;
}

/* Largest index of a slab, with all threads. */
static uint64_t largest(const void *array, amped_itype type, uint64_t n) {
  uint64_t max = 0;
#pragma omp parallel for schedule(static) reduction(max : max) if (n > SCAN_PIECE)
  for (uint64_t first = 0; first < n; first += SCAN_PIECE) {
    const void *at = (const char *)array + first * type;
    uint64_t here = BY_TYPE(largest, type, at, piece_count(first, n, 0));
    max = here > max ? here : max;
  }
  return max;
}

static bool ascends(const void *array, amped_itype type, uint64_t n) {
  bool fine = true;
#pragma omp parallel for schedule(static) reduction(&& : fine) if (n > SCAN_PIECE)
  for (uint64_t first = 0; first < n; first += SCAN_PIECE) {
    const void *at = (const char *)array + first * type;
    fine = fine && BY_TYPE(ascends, type, at, piece_count(first, n, 1));
  }
  return fine;
}

static bool all_finite(const void *values, amped_vtype type, uint64_t n) {
  int bad = 0;
#pragma omp parallel for schedule(static) reduction(| : bad) if (n > SCAN_PIECE)
  for (uint64_t first = 0; first < n; first += SCAN_PIECE) {
    const void *at = (const char *)values + first * type;
    uint64_t count = piece_count(first, n, 0);
    bad |= type == AMPED_F32 ? some_infinite_4(at, count) : some_infinite_8(at, count);
  }
  return bad == 0;
}

/* Check stored indices first .. first+n of mode m. The error names the first index outside lowest
 * .. lowest + dim - 1. */
static amped_status check_range(const amped_tensor_file *f, int m, const void *array, uint64_t n,
                                uint64_t first) {
  amped_itype type = f->info.index_types[m];
  uint64_t lowest = f->index_base;
  uint64_t limit = f->info.dims[m] - 1 + lowest;
  uint64_t sign = UINT64_C(1) << (8 * (unsigned)type - 1);
  uint64_t most = largest(array, type, n);
  if (lowest == 0 && most <= limit && (!f->is_signed[m] || most < sign))
    return AMPED_OK;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t index = amped_index_get(array, type, i);
    if (f->is_signed[m] && index >= sign)
      return amped_error(AMPED_BAD_INPUT, f->path,
                         "dataset %s has a negative index (element %" PRIu64
                         "); correct it where the file was made",
                         f->indices[m].name, first + i);
    if (index < lowest || index > limit)
      return amped_error(AMPED_BAD_INPUT, f->path,
                         "dataset %s has the index %" PRIu64 " (element %" PRIu64
                         "), not one of %" PRIu64 " to %" PRIu64
                         "; correct it where the file was made",
                         f->indices[m].name, index, first + i, lowest, limit);
  }
  return AMPED_OK;
}

static amped_status check_indices(const amped_tensor_file *f, int mode, int m, void *array,
                                  uint64_t n, uint64_t first) {
  amped_itype type = f->info.index_types[m];
  AMPED_TRY(check_range(f, m, array, n, first));
  if (f->index_base == 1)
    BY_TYPE(lower, type, array, n);
  if (m == mode && !ascends(array, type, n))
    return bad_copy(f, mode, "is not in order");
  return AMPED_OK;
}

/* Number of the first of n doubles of 2^53 or more; n: there is none. */
static uint64_t first_large(const double *values, uint64_t n) {
  uint64_t i = 0;
  while (i < n && fabs(values[i]) < 0x1p53)
    i++;
  return i;
}

/* Note the first integer that was read as a double, and that a double does not hold. */
static amped_status look_for_cut(amped_tensor_file *f, uint64_t first, uint64_t count,
                                 const double *values) {
  const amped_hdf5_type type = f->values.type;
  const bool is_signed = type.number == AMPED_SIGNED;
  uint64_t *bits = NULL;
  if (type.number == AMPED_FLOAT || type.bytes < 8 || f->cut.count > 0 ||
      first_large(values, count) == count)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&bits, count, sizeof *bits, "the values of a file"));
  const amped_status status = amped_hdf5_dataset_read(&f->values, type, first, count, bits);
  const amped_cell_type cells = is_signed ? AMPED_CELL_I64 : AMPED_CELL_U64;
  const uint64_t at = status == AMPED_OK ? amped_cells_cut(bits, cells, count) : count;
  if (at < count)
    amped_cut_integers_add(&f->cut, cells, bits[at], 1, &(uint64_t){first + at});
  amped_free(bits);
  return status;
}

amped_status amped_tensor_file_read_part(amped_tensor_file *f, int mode, uint64_t first,
                                         uint64_t count, void *const *indices, void *values) {
  AMPED_TRY(open_nonzeros(f, mode));
  for (int m = 0; m < f->info.order; m++) {
    AMPED_TRY(amped_hdf5_dataset_read(&f->indices[m], index_type(f, m), first, count, indices[m]));
    AMPED_TRY(check_indices(f, mode, m, indices[m], count, first));
  }
  AMPED_TRY(amped_hdf5_dataset_read(&f->values, value_type(f), first, count, values));
  if (!all_finite(values, f->info.value_type, count))
    return amped_error(AMPED_BAD_INPUT, f->path,
                       "dataset %s has a value that is not finite (among elements %" PRIu64
                       " to %" PRIu64 "); correct it where the file was made",
                       f->values.name, first, first + count - 1);
  return f->info.value_type == AMPED_F64 ? look_for_cut(f, first, count, values) : AMPED_OK;
}

/* Nonzeros that a thread widens and hashes at a time. */
#define HASH_PIECE 256

static uint64_t hash_piece(const amped_tensor_info *info, void *const *indices, const void *values,
                           uint64_t first, uint64_t count) {
  uint64_t hashes[HASH_PIECE];
  uint64_t index[HASH_PIECE];
  double wide[HASH_PIECE];
  uint64_t sum = 0;
  amped_values_get(values, info->value_type, first, count, wide);
  for (uint64_t i = 0; i < count; i++)
    hashes[i] = amped_hash_value(wide[i]);
  for (int m = 0; m < info->order; m++) {
    amped_indices_get(indices[m], info->index_types[m], first, count, index);
    for (uint64_t i = 0; i < count; i++)
      hashes[i] = amped_hash_index(hashes[i], index[i]);
  }
  for (uint64_t i = 0; i < count; i++)
    sum += hashes[i];
  return sum;
}

/* Hash `count` nonzeros with all threads. */
static uint64_t hash_of(const amped_tensor_info *info, void *const *indices, const void *values,
                        uint64_t count) {
  uint64_t hash = 0;
#pragma omp parallel for schedule(static) reduction(+ : hash) if (count > SCAN_PIECE)
  for (uint64_t first = 0; first < count; first += HASH_PIECE)
    hash += hash_piece(info, indices, values, first,
                       count - first < HASH_PIECE ? count - first : HASH_PIECE);
  return hash;
}

static amped_status check_nonzeros(const amped_tensor_file *f) {
  if (f->hash == f->info.hash)
    return AMPED_OK;
  if (!f->info.has_copies)
    return amped_error(AMPED_BAD_INPUT, f->path,
                       "its list holds other nonzeros than its hash says (damaged data); convert "
                       "the tensor again");
  return bad_copy(f, f->opened, "holds other nonzeros than its hash says (damaged data)");
}

amped_status amped_tensor_file_read(amped_tensor_file *f, int mode, uint64_t first, uint64_t count,
                                    void *const *indices, void *values) {
  AMPED_TRY(amped_tensor_file_read_part(f, mode, first, count, indices, values));
  if (first == 0)
    f->hashed = f->hash = 0;
  if (!f->info.has_hash || first != f->hashed)
    return AMPED_OK;
  f->hash += hash_of(&f->info, indices, values, count);
  f->hashed += count;
  return f->hashed < f->info.nnz ? AMPED_OK : check_nonzeros(f);
}

amped_cut_integers amped_tensor_file_take_cut(amped_tensor_file *f) {
  const amped_cut_integers cut = f->cut;
  f->told_of_cut = true;
  return cut;
}

amped_status amped_tensor_file_labels(amped_tensor_file *f, int mode, amped_labels *out) {
  return amped_hdf5_labels_read(&f->hdf5, mode, f->info.dims[mode], out);
}

amped_status amped_tensor_file_label_edges(amped_tensor_file *f, int mode, amped_labels *out) {
  return amped_hdf5_labels_edges(&f->hdf5, mode, f->info.dims[mode], out);
}

amped_status amped_tensor_file_label_bytes(amped_tensor_file *f, uint64_t *out) {
  *out = 0;
  for (int m = 0; m < f->info.order; m++) {
    uint64_t bytes = 0;
    AMPED_TRY(amped_hdf5_labels_bytes(&f->hdf5, m, f->info.dims[m], &bytes));
    if (!amped_add(*out, bytes, out))
      *out = UINT64_MAX;
  }
  return AMPED_OK;
}
