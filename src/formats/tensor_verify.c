/* Tensor file: loads it whole into memory, or reads it whole to verify it. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "hdf5/hdf5_labels.h"
#include "hdf5/hdf5_seal.h"
#include "formats/tensor_layout.h"

/* Fewer nonzeros are processed by one thread: waking other threads takes longer. */
#define WORTH_THREADS 4096

/* Nonzeros of one slab, as stored and widened. */
typedef struct slab {
  uint64_t count;
  void *narrow[AMPED_MAX_ORDER];
  void *narrow_values;
  uint64_t *indices[AMPED_MAX_ORDER];
  double *values;
} slab;

static void slab_free(slab *s) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(s->narrow[m]);
    amped_free(s->indices[m]);
  }
  amped_free(s->narrow_values);
  amped_free(s->values);
}

static amped_status slab_create(slab *s, const amped_tensor_info *info) {
  amped_status status = AMPED_OK;
  uint64_t n = info->nnz < AMPED_HDF5_CHUNK ? info->nnz : AMPED_HDF5_CHUNK;
  memset(s, 0, sizeof *s);
  for (int m = 0; m < info->order; m++) {
    AMPED_GO(fail, amped_alloc(&s->narrow[m], n, (size_t)info->index_types[m], "a slab"));
    AMPED_GO(fail, amped_alloc(&s->indices[m], n, sizeof(uint64_t), "a slab"));
  }
  AMPED_GO(fail, amped_alloc(&s->narrow_values, n, (size_t)info->value_type, "a slab"));
  AMPED_GO(fail, amped_alloc(&s->values, n, sizeof(double), "a slab"));
  return AMPED_OK;
fail:
  slab_free(s);
  return status;
}

/* Fill the slab with nonzeros from `first` on. */
static amped_status slab_read(slab *s, amped_tensor_file *file, int mode, uint64_t first) {
  const amped_tensor_info *info = amped_tensor_file_info(file);
  uint64_t left = info->nnz - first;
  s->count = left < AMPED_HDF5_CHUNK ? left : AMPED_HDF5_CHUNK;
  AMPED_TRY(amped_tensor_file_read(file, mode, first, s->count, s->narrow, s->narrow_values));
#pragma omp parallel for schedule(static) if (s->count >= WORTH_THREADS)
  for (uint64_t i = 0; i < s->count; i++) {
    for (int m = 0; m < info->order; m++)
      s->indices[m][i] = amped_index_get(s->narrow[m], info->index_types[m], i);
    s->values[i] = amped_value_get(s->narrow_values, info->value_type, i);
  }
  return AMPED_OK;
}

/* --- into memory ----------------------------------------------------------------------------- */

/* Append the slab's nonzeros to `out`; when `out` is full, pass it to the overflow. */
static amped_status take_slab(const slab *s, const amped_overflow *overflow, uint64_t capacity,
                              uint64_t first, uint64_t nnz, amped_sptensor *out) {
  for (uint64_t from = 0, n = 0; from < s->count; from += n) {
    if (out->nnz == capacity)
      AMPED_TRY(overflow->take(overflow->context, out, (double)(first + from) / (double)nnz));
    n = s->count - from < capacity - out->nnz ? s->count - from : capacity - out->nnz;
    for (int m = 0; m < out->order; m++)
      memcpy(out->indices[m] + out->nnz, s->indices[m] + from, n * sizeof(uint64_t));
    memcpy(out->values + out->nnz, s->values + from, n * sizeof(double));
    out->nnz += n;
  }
  return AMPED_OK;
}

static amped_status load_nonzeros(amped_tensor_file *file, const amped_overflow *overflow,
                                  uint64_t capacity, slab *s, amped_sptensor *out) {
  const uint64_t nnz = amped_tensor_file_info(file)->nnz;
  amped_progress_begin("reading", nnz, "nonzeros");
  for (uint64_t first = 0; first < nnz; first += s->count) {
    AMPED_TRY(slab_read(s, file, -1, first));
    AMPED_TRY(take_slab(s, overflow, capacity, first, nnz, out));
    amped_progress_update(first + s->count);
  }
  return AMPED_OK;
}

/* Check that the labels fit in memory. All of them are kept there, even if nonzeros overflow. */
static amped_status check_labels(amped_tensor_file *file, const amped_overflow *overflow) {
  uint64_t bytes = 0;
  char need[32];
  char have[32];
  AMPED_TRY(amped_tensor_file_label_bytes(file, &bytes));
  if (overflow == NULL || bytes <= overflow->memory)
    return amped_mem_check(amped_tensor_file_path(file), "its labels", bytes);
  return amped_error(
      AMPED_FAILED, amped_tensor_file_path(file),
      "needs %s of memory for its labels, and %s are allowed; allow more (--memory), or "
      "use a machine with more memory",
      amped_format_bytes(need, bytes), amped_format_bytes(have, overflow->memory));
}

static amped_status load(amped_tensor_file *file, const char *path, const amped_overflow *overflow,
                         amped_sptensor *out) {
  const amped_tensor_info *info = amped_tensor_file_info(file);
  uint64_t capacity = info->nnz;
  uint64_t bytes = 0;
  slab s;
  if (overflow != NULL && amped_overflow_most(overflow->memory, info->order) < capacity)
    capacity = amped_overflow_most(overflow->memory, info->order);
  AMPED_TRY(check_labels(file, overflow));
  if (!amped_mul(capacity, ((uint64_t)info->order + 1) * sizeof(uint64_t), &bytes))
    bytes = UINT64_MAX;
  AMPED_TRY(amped_mem_check(path, "its nonzeros", bytes));
  AMPED_TRY(amped_sptensor_create(out, info->order, capacity));
  out->nnz = 0;
  out->duplicates = info->duplicates;
  memcpy(out->dims, info->dims, sizeof out->dims);
  if (info->nnz == 0)
    return AMPED_OK;
  AMPED_TRY(slab_create(&s, info));
  amped_status status = load_nonzeros(file, overflow, capacity, &s, out);
  slab_free(&s);
  amped_progress_end();
  AMPED_TRY(status);
  for (int m = 0; m < out->order; m++)
    AMPED_TRY(amped_tensor_file_labels(file, m, &out->labels[m]));
  return amped_sptensor_validate(out, path);
}

amped_status amped_tensor_file_load(const char *path, bool may_be_empty,
                                    const amped_overflow *overflow, amped_sptensor *out) {
  amped_tensor_file *file = NULL;
  memset(out, 0, sizeof *out);
  AMPED_TRY(may_be_empty ? amped_tensor_file_open_any(path, &file)
                         : amped_tensor_file_open(path, &file));
  amped_status status = load(file, path, overflow, out);
  amped_tensor_file_close(file);
  if (status != AMPED_OK)
    amped_sptensor_free(out);
  return status;
}

/* --- verifying ------------------------------------------------------------------------------- */

/* State of a copy's check after some slabs. */
typedef struct scan {
  const amped_tensor_info *info;
  const char *path;
  bool list; /* check the list in the file's root group, not a copy; order of mode 0 */
  int mode;
  int modes[AMPED_MAX_ORDER]; /* modes in the order of comparison */
  uint64_t done;
  uint64_t last[AMPED_MAX_ORDER]; /* last nonzero of the previous slab */
  uint64_t *idp_nnz;
  /* Only for copy 0: the current coordinate, and the norm. */
  double group;           /* sum of values at this coordinate */
  double group_magnitude; /* sum of their absolute values */
  uint64_t group_count;
  long double norm_squared;
  long double slack; /* bound on the rounding error of the norm */
} scan;

static amped_status refuse(const scan *s, const char *what) {
  if (s->list)
    return amped_error(AMPED_BAD_INPUT, s->path, "its list %s; convert the tensor again", what);
  return amped_error(AMPED_BAD_INPUT, s->path, "the copy of mode %d %s; convert the tensor again",
                     s->mode + 1, what);
}

/* Compare nonzero i of the slab with its predecessor in the order of the copy: -1, 0 or 1. */
static int step(const scan *s, const slab *b, uint64_t i) {
  for (int k = 0; k < s->info->order; k++) {
    int m = s->modes[k];
    uint64_t before = i > 0 ? b->indices[m][i - 1] : s->last[m];
    if (b->indices[m][i] != before)
      return b->indices[m][i] > before ? 1 : -1;
  }
  return 0;
}

static amped_status scan_order(scan *s, const slab *b) {
  uint64_t bad = 0;
#pragma omp parallel for schedule(static) reduction(+ : bad) if (b->count >= WORTH_THREADS)
  for (uint64_t i = 0; i < b->count; i++)
    bad += (i > 0 || s->done > 0) && step(s, b, i) < 0;
  return bad > 0 ? refuse(s, "is not in order") : AMPED_OK;
}

static void count_idps(scan *s, const slab *b) {
  const uint64_t *rows = b->indices[s->mode];
  const uint64_t width = s->info->partitions[s->mode].width;
  for (uint64_t i = 0; i < b->count; i++)
    s->idp_nnz[rows[i] / width]++;
}

/* Add the square of the sum at one coordinate. The writer may have added the c values in another
 * order. This changes the sum s by d <= 2 c eps sum|x|, and its square by 2 |s| d + d^2. */
static void end_group(scan *s) {
  long double sum = s->group;
  long double d = s->group_count > 1
                      ? 2.0L * (long double)s->group_count * DBL_EPSILON * s->group_magnitude
                      : 0.0L;
  s->norm_squared += sum * sum;
  s->slack += 2.0L * fabsl(sum) * d + d * d;
  s->group = 0.0;
  s->group_magnitude = 0.0;
  s->group_count = 0;
}

static void scan_norm(scan *s, const slab *b) {
  for (uint64_t i = 0; i < b->count; i++) {
    if ((i > 0 || s->done > 0) && step(s, b, i) != 0)
      end_group(s);
    s->group += b->values[i];
    s->group_magnitude += fabs(b->values[i]);
    s->group_count++;
  }
}

static amped_status scan_slab(scan *s, const slab *b) {
  AMPED_TRY(scan_order(s, b));
  if (!s->list)
    count_idps(s, b);
  if (s->mode == 0)
    scan_norm(s, b);
  for (int m = 0; m < s->info->order; m++)
    s->last[m] = b->indices[m][b->count - 1];
  s->done += b->count;
  return AMPED_OK;
}

static amped_status check_idps(const scan *s) {
  const amped_partition *p = &s->info->partitions[s->mode];
  if (memcmp(s->idp_nnz, p->idp_nnz, p->idp_count * sizeof *p->idp_nnz) != 0)
    return refuse(s, "has an idp_nnz that disagrees with its nonzeros");
  return AMPED_OK;
}

static amped_status scan_end(scan *s) {
  if (!s->list)
    AMPED_TRY(check_idps(s));
  if (s->mode != 0)
    return AMPED_OK;
  end_group(s);
  /* The stored norm, if summed well, is rounded to double once. This sum is rounded to long double
   * once per nonzero. */
  long double rounding = s->norm_squared * (DBL_EPSILON + (long double)s->info->nnz * LDBL_EPSILON);
  if (fabsl(s->norm_squared - s->info->norm_squared) > s->slack + 2.0L * rounding)
    return amped_error(AMPED_BAD_INPUT, s->path,
                       "norm_squared is %.17g, that of the nonzeros is %.17g; convert the tensor "
                       "again",
                       s->info->norm_squared, (double)s->norm_squared);
  return AMPED_OK;
}

/* Verify the copy of a mode. If this program wrote the file without copies, verify its list, with
 * mode 0. */
static amped_status verify_copy(amped_tensor_file *file, int mode, slab *b) {
  const amped_tensor_info *info = amped_tensor_file_info(file);
  scan s = {.info = info, .path = amped_tensor_file_path(file), .mode = mode};
  s.list = !info->has_copies;
  amped_status status = AMPED_OK;
  s.modes[0] = mode;
  for (int m = 0; m < info->order; m++)
    if (m != mode)
      s.modes[m < mode ? m + 1 : m] = m;
  AMPED_TRY(amped_mem_check(s.path, "counts of its iDps",
                            info->partitions[mode].idp_count * sizeof *s.idp_nnz));
  AMPED_TRY(amped_calloc(&s.idp_nnz, info->partitions[mode].idp_count, sizeof *s.idp_nnz,
                         "the iDp table"));
  while (s.done < info->nnz) {
    AMPED_GO(done, slab_read(b, file, s.list ? -1 : mode, s.done));
    AMPED_GO(done, scan_slab(&s, b));
    amped_progress_update((uint64_t)mode * info->nnz + s.done);
  }
  status = scan_end(&s);
done:
  amped_free(s.idp_nnz);
  return status;
}

/* Read a copy or list, which checks ranges, values and the hash. Nothing else can be checked in a
 * list of another program. */
static amped_status read_all(amped_tensor_file *file, int mode, slab *b) {
  const uint64_t nnz = amped_tensor_file_info(file)->nnz;
  for (uint64_t first = 0; first < nnz; first += b->count) {
    AMPED_TRY(slab_read(b, file, mode, first));
    amped_progress_update(first + b->count);
  }
  return AMPED_OK;
}

amped_status amped_tensor_file_check(amped_tensor_file *file, int mode) {
  const amped_tensor_info *info = amped_tensor_file_info(file);
  slab b;
  if (!info->has_hash)
    return AMPED_OK;
  AMPED_TRY(slab_create(&b, info));
  amped_progress_begin("verifying", info->nnz, "nonzeros");
  const amped_status status = read_all(file, mode, &b);
  amped_progress_end();
  slab_free(&b);
  return status;
}

static amped_status verify_labels(amped_tensor_file *file) {
  for (int m = 0; m < amped_tensor_file_info(file)->order; m++) {
    amped_labels labels;
    AMPED_TRY(amped_tensor_file_label_edges(file, m, &labels));
    amped_labels_free(&labels);
  }
  return AMPED_OK;
}

amped_status amped_tensor_file_sealed(amped_tensor_file *file, bool *out) {
  const amped_tensor_info *info = amped_tensor_file_info(file);
  amped_hdf5 *hdf5 = amped_tensor_file_hdf5(file);
  AMPED_TRY(amped_hdf5_is_sealed(hdf5, AMPED_TENSOR_DICTIONARY, out));
  for (int m = 0; m < info->order && *out; m++) {
    AMPED_TRY(amped_hdf5_is_sealed(hdf5, amped_tensor_name_of(m, "idp_nnz", -1).name, out));
    if (*out)
      AMPED_TRY(amped_hdf5_labels_sealed(hdf5, m, out));
  }
  return AMPED_OK;
}

amped_status amped_tensor_file_verify(amped_tensor_file *file) {
  const amped_tensor_info *info = amped_tensor_file_info(file);
  const int copies = info->has_copies ? info->order : 1;
  amped_status status = AMPED_OK;
  slab b;
  AMPED_TRY(amped_tensor_file_tables(file));
  AMPED_TRY(slab_create(&b, info));
  amped_progress_begin("verifying", (uint64_t)copies * info->nnz, "nonzeros");
  for (int m = 0; m < copies; m++)
    AMPED_GO(done, info->has_hash ? verify_copy(file, m, &b) : read_all(file, -1, &b));
  status = verify_labels(file);
done:
  amped_progress_end();
  slab_free(&b);
  return status;
}
