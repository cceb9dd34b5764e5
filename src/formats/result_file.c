/* Result file: writing and reading weights, factors and the record of a run. */
#include "formats/result_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/draft.h"
#include "base/version.h"
#include "formats/completion_file.h"
#include "hdf5/hdf5_labels.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "base/heartbeat.h"
#include "hdf5/hdf5_probe.h"

#define RESULT_VERSION 1

static const amped_hdf5_type f64 = {AMPED_FLOAT, AMPED_F64};
static const amped_hdf5_type u64 = {AMPED_UNSIGNED, AMPED_U64};

/* Name of a factor, such as "/factors/2". */
typedef struct factor_name {
  char name[AMPED_HDF5_NAME];
} factor_name;

static factor_name factor_name_of(int mode) {
  factor_name name;
  (void)snprintf(name.name, sizeof name.name, "/factors/%d", mode);
  return name;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Bytes for the attributes and the lists of sweeps and starts. */
#define RECORD_BYTES (UINT64_C(8) << 10)

uint64_t amped_result_file_bytes(int order, const uint64_t *dims, int ncomps, amped_vtype type,
                                 const amped_labels *labels) {
  uint64_t bytes = RECORD_BYTES + amped_hdf5_labels_file_bytes(order, labels);
  for (int m = 0; m < order; m++)
    bytes += amped_hdf5_dataset_bytes(dims[m], (uint64_t)ncomps, (uint64_t)type);
  return bytes;
}

static amped_status write_weights(amped_hdf5 *file, const amped_ktensor *k, const int *order) {
  double weights[AMPED_MAX_NCOMPS];
  const uint64_t count = (uint64_t)k->ncomps;
  for (int r = 0; r < k->ncomps; r++)
    weights[r] = k->weights[order[r]];
  return amped_hdf5_dataset_write(file, "/weights", f64, 1, &count, weights);
}

/* 0 stays 0, because -0 would show in text. */
static double negate(double x) {
  return 0.0 - x;
}

static inline void put(void *array, amped_vtype type, uint64_t i, double x) {
  if (type == AMPED_F64)
    ((double *)array)[i] = x;
  else
    ((float *)array)[i] = (float)x;
}

/* Fewer elements are ordered by one thread: waking other threads takes longer. */
#define WORTH_THREADS 16384

/* Append a mode's factor, slab by slab. order NULL: columns stay in place. negated NULL: signs are
 * unchanged. */
static amped_status append_factor(amped_hdf5_dataset *d, const amped_ktensor *k, int mode,
                                  const int *order, const bool *negated, amped_vtype type,
                                  double *buffer) {
  const uint64_t columns = (uint64_t)k->ncomps;
  const uint64_t slab = amped_hdf5_slab_rows(columns);
  for (uint64_t first = 0; first < k->dims[mode]; first += slab) {
    uint64_t rows = k->dims[mode] - first < slab ? k->dims[mode] - first : slab;
    const double *from = k->factors[mode] + first * columns;
#pragma omp parallel for schedule(static) if (rows * columns > WORTH_THREADS)
    for (uint64_t i = 0; i < rows; i++)
      for (uint64_t r = 0; r < columns; r++) {
        const uint64_t c = order != NULL ? (uint64_t)order[r] : r;
        const double x = from[i * columns + c];
        put(buffer, type, i * columns + r, negated != NULL && negated[c] ? negate(x) : x);
      }
    AMPED_TRY(amped_hdf5_dataset_append(d, rows, buffer));
    amped_heartbeat_step();
  }
  return amped_hdf5_dataset_finish(d);
}

amped_status amped_result_put_factors(amped_hdf5 *file, const char *group, const amped_ktensor *k,
                                      const int *order, const amped_signs *signs,
                                      amped_vtype type) {
  const amped_hdf5_type stored = {AMPED_FLOAT, (uint64_t)type};
  double *buffer = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_hdf5_make_group(file, group));
  AMPED_TRY(amped_alloc(&buffer, AMPED_HDF5_CHUNK, sizeof *buffer, "a slab of a factor"));
  for (int m = 0; m < k->order && status == AMPED_OK; m++) {
    const uint64_t dims[2] = {k->dims[m], (uint64_t)k->ncomps};
    amped_hdf5_dataset d;
    char name[AMPED_HDF5_NAME];
    (void)snprintf(name, sizeof name, "%s/%d", group, m);
    status = amped_hdf5_dataset_create(file, name, stored, 2, dims, &d);
    amped_hdf5_dataset_seal(&d);
    if (status == AMPED_OK)
      status =
          append_factor(&d, k, m, order, signs != NULL ? signs->negated[m] : NULL, type, buffer);
    amped_hdf5_dataset_close(&d);
  }
  amped_free(buffer);
  return status;
}

static amped_status write_record(amped_hdf5 *file, const amped_ktensor *k,
                                 const amped_run_record *record) {
  AMPED_TRY(amped_hdf5_put_format(file, "ktensor", RESULT_VERSION));
  AMPED_TRY(amped_hdf5_put_text(file, "/", "version", amped_version()));
  AMPED_TRY(amped_hdf5_put_text(file, "/", "options", record->options));
  AMPED_TRY(amped_hdf5_put_u64(file, "/", "seed", 0, &record->seed));
  AMPED_TRY(amped_hdf5_put_text(file, "/", "input", record->input));
  AMPED_TRY(amped_hdf5_put_u64(file, "/", "input_dims", (uint64_t)k->order, k->dims));
  if (!isnan(record->input_norm))
    AMPED_TRY(amped_hdf5_put_double(file, "/", "input_norm", record->input_norm));
  AMPED_TRY(amped_hdf5_put_u64(file, "/", "input_hash", 0, &record->input_hash));
  if (amped_duplicates_merge(record->duplicates))
    AMPED_TRY(
        amped_hdf5_put_text(file, "/", "duplicates", amped_duplicates_name(record->duplicates)));
  if (record->loss != NULL) {
    AMPED_TRY(amped_hdf5_put_text(file, "/", "loss", record->loss));
    AMPED_TRY(amped_hdf5_put_text(file, "/", "normalisation", "sum"));
  }
  if (record->corcondia != NULL)
    AMPED_TRY(amped_hdf5_put_double(file, "/", "corcondia", *record->corcondia));
  return amped_hdf5_put_text(file, "/", "stop_reason", record->stop_reason);
}

static amped_status write_starts(amped_hdf5 *file, const amped_hdf5_metric *metric,
                                 const amped_run_starts *s) {
  const uint64_t square[2] = {s->count, s->count};
  if (s->count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_make_group(file, "/starts"));
  AMPED_TRY(amped_hdf5_dataset_write(file, "/starts/seed", u64, 1, square, s->seeds));
  AMPED_TRY(amped_hdf5_dataset_write(file, "/starts/normal", u64, 1, square, s->normal));
  AMPED_TRY(amped_hdf5_dataset_write(file, metric->starts, f64, 1, square, s->values));
  AMPED_TRY(amped_hdf5_dataset_write(file, "/starts/sweeps", u64, 1, square, s->sweeps));
  return amped_hdf5_dataset_write(file, "/starts/match", f64, 2, square, s->match);
}

static amped_status write_all(amped_hdf5 *file, const amped_ktensor *k,
                              const amped_run_record *record) {
  const amped_hdf5_metric metric = amped_hdf5_metric_of(record->metric);
  int order[AMPED_MAX_NCOMPS];
  bool kept[AMPED_MAX_ORDER] = {false};
  amped_signs signs;
  amped_ktensor_order(k, order);
  for (int r = 0; r < k->ncomps && record->fixed != 0; r++)
    order[r] = r;
  for (int m = 0; m < k->order; m++)
    kept[m] = record->fixed != 0 || (record->nonnegative >> m & 1) != 0 ||
              (record->completion != NULL && record->completion->context[m]);
  amped_signs_find_but(k, kept, &signs);
  AMPED_TRY(write_record(file, k, record));
  AMPED_TRY(amped_hdf5_metric_put(file, &metric));
  AMPED_TRY(write_weights(file, k, order));
  AMPED_TRY(amped_result_put_factors(file, "/factors", k, order, &signs, AMPED_F64));
  AMPED_TRY(record->completion != NULL
                ? amped_completion_put(file, &metric, record->completion, order)
                : amped_hdf5_dataset_write(file, metric.history, f64, 1, &record->sweeps,
                                           record->history));
  AMPED_TRY(write_starts(file, &metric, &record->starts));
  AMPED_TRY(amped_hdf5_labels_write(file, k->order, k->labels));
  return amped_hdf5_finish(file);
}

static amped_status reopen(amped_hdf5 *file, int order) {
  for (int m = -1; m < order; m++) {
    amped_hdf5_dataset d;
    AMPED_TRY(amped_hdf5_dataset_open(file, m < 0 ? "/weights" : factor_name_of(m).name,
                                      m < 0 ? 1 : 2, &d));
    amped_hdf5_dataset_close(&d);
  }
  return AMPED_OK;
}

amped_status amped_result_check_written(int fd, const char *path, int order) {
  amped_hdf5 file;
  amped_status status = amped_hdf5_open_trusted(fd, path, NULL, &file);
  if (status == AMPED_OK)
    status = reopen(&file, order);
  amped_hdf5_close(&file);
  return amped_hdf5_read_back(status, path);
}

amped_status amped_result_file_write(const char *path, const amped_ktensor *k,
                                     const amped_run_record *record) {
  amped_hdf5 file = {.open = false};
  amped_draft draft = {.open = false};
  amped_status status = AMPED_OK;
  if (k->ncomps < 1 || k->ncomps > AMPED_MAX_NCOMPS)
    return amped_error(AMPED_FAILED, path, "%d components cannot be written; use 1 to %d",
                       k->ncomps, AMPED_MAX_NCOMPS);
  AMPED_TRY(amped_draft_open(path, true, &draft));
  AMPED_GO(done, amped_hdf5_create(draft.fd, path, &file));
  AMPED_GO(done, write_all(&file, k, record));
  AMPED_GO(done, amped_result_check_written(draft.fd, path, k->order));
  status = amped_draft_publish(&draft, false);
done:
  amped_hdf5_close(&file);
  amped_draft_close(&draft);
  return status;
}

/* --- reading --------------------------------------------------------------------------------- */

static amped_status read_finite(amped_hdf5_dataset *d, uint64_t first, uint64_t rows, double *out) {
  const uint64_t count = rows * d->dims[1];
  AMPED_TRY(amped_hdf5_dataset_read(d, f64, first, rows, out));
  for (uint64_t i = 0; i < count; i++)
    if (!isfinite(out[i]))
      return amped_error(AMPED_BAD_INPUT, d->file->path,
                         "dataset %s has a value that is not finite (row %" PRIu64
                         ", column %" PRIu64 "); make the file again",
                         d->name, first + i / d->dims[1], i % d->dims[1]);
  return AMPED_OK;
}

/* Count the factors: /factors/0 upwards, without a gap. */
static amped_status count_factors(amped_hdf5 *file, int *order) {
  bool exists = true;
  for (*order = 0; exists; *order += exists) {
    AMPED_TRY(amped_hdf5_exists(file, factor_name_of(*order).name, &exists));
    if (exists && *order == AMPED_MAX_ORDER)
      return amped_error(AMPED_BAD_INPUT, file->path,
                         "has more than %d factors; tensors of %d to %d modes are supported",
                         AMPED_MAX_ORDER, AMPED_MIN_ORDER, AMPED_MAX_ORDER);
  }
  if (*order == 0)
    return amped_error(AMPED_BAD_INPUT, file->path,
                       "dataset /factors/0 is missing; name a result of amped_mpi cpd");
  return AMPED_OK;
}

static amped_status check_factor(const amped_hdf5_dataset *d, uint64_t ncomps) {
  if (d->dims[0] >= 1 && d->dims[1] == ncomps)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, d->file->path,
                     "dataset %s is %" PRIu64 " x %" PRIu64 ", but /weights has %" PRIu64
                     " components; make the file again",
                     d->name, d->dims[0], d->dims[1], ncomps);
}

/* Shape of a model, from its datasets. */
typedef struct shape {
  int order;
  uint64_t ncomps;
  uint64_t dims[AMPED_MAX_ORDER];
} shape;

static amped_status open_weights(amped_hdf5 *file, amped_hdf5_dataset *d) {
  AMPED_TRY(amped_hdf5_dataset_open(file, "/weights", 1, d));
  if (d->dims[0] >= 1 && d->dims[0] <= AMPED_MAX_NCOMPS)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, file->path,
                     "dataset /weights has %" PRIu64 " components; 1 to %d are supported",
                     d->dims[0], AMPED_MAX_NCOMPS);
}

static amped_status open_factor(amped_hdf5 *file, int mode, uint64_t ncomps,
                                amped_hdf5_dataset *d) {
  AMPED_TRY(amped_hdf5_dataset_open(file, factor_name_of(mode).name, 2, d));
  return check_factor(d, ncomps);
}

/* Check the dimensions of the tensor, which a result stores. A start from another program may have
 * factors only. */
static amped_status check_input_dims(amped_hdf5 *file, int order, const uint64_t *dims) {
  uint64_t input[AMPED_MAX_ORDER] = {0};
  bool known = false;
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", "input_dims", &known));
  if (!known)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_u64(file, "/", "input_dims", (uint64_t)order, input));
  for (int m = 0; m < order; m++)
    if (input[m] != dims[m])
      return amped_error(AMPED_BAD_INPUT, file->path,
                         "dataset /factors/%d has %" PRIu64 " rows, but input_dims says %" PRIu64
                         "; make the file again",
                         m, dims[m], input[m]);
  return AMPED_OK;
}

/* Read the shape. Only one dataset is open at a time, because each may hold a chunk in memory. */
static amped_status read_shape(amped_hdf5 *file, shape *s) {
  amped_hdf5_dataset d = {.open = false};
  AMPED_TRY(count_factors(file, &s->order));
  amped_status status = open_weights(file, &d);
  s->ncomps = d.dims[0];
  for (int m = 0; m < s->order && status == AMPED_OK; m++) {
    amped_hdf5_dataset_close(&d);
    status = open_factor(file, m, s->ncomps, &d);
    s->dims[m] = d.dims[0];
  }
  amped_hdf5_dataset_close(&d);
  AMPED_TRY(status);
  return check_input_dims(file, s->order, s->dims);
}

static amped_status read_weights(amped_hdf5 *file, double *out) {
  amped_hdf5_dataset d = {.open = false};
  amped_status status = open_weights(file, &d);
  if (status == AMPED_OK)
    status = read_finite(&d, 0, d.dims[0], out);
  amped_hdf5_dataset_close(&d);
  return status;
}

/* Check that the factors fit in memory, as doubles. */
static amped_status check_memory(const shape *s, const char *path) {
  uint64_t bytes = 0;
  for (int m = 0; m < s->order; m++) {
    uint64_t factor = 0;
    if (!amped_mul(s->dims[m], s->ncomps * sizeof(double), &factor) ||
        !amped_add(bytes, factor, &bytes))
      bytes = UINT64_MAX;
  }
  return amped_mem_check(path, "its factors", bytes);
}

static amped_status read_factor(amped_hdf5 *file, int mode, amped_ktensor *out) {
  amped_hdf5_dataset d = {.open = false};
  amped_status status = open_factor(file, mode, (uint64_t)out->ncomps, &d);
  if (status == AMPED_OK)
    status = read_finite(&d, 0, out->dims[mode], out->factors[mode]);
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status read_all(amped_hdf5 *file, amped_ktensor *out) {
  shape s = {.order = 0};
  AMPED_TRY(read_shape(file, &s));
  AMPED_TRY(check_memory(&s, file->path));
  AMPED_TRY(amped_ktensor_create(out, s.order, s.dims, (int)s.ncomps));
  AMPED_TRY(read_weights(file, out->weights));
  for (int m = 0; m < s.order; m++) {
    AMPED_TRY(read_factor(file, m, out));
    AMPED_TRY(amped_hdf5_labels_read(file, m, s.dims[m], &out->labels[m]));
  }
  return AMPED_OK;
}

/* Pass the rows of a factor to the visitor, a slab at a time. */
static amped_status scan_rows(amped_hdf5_dataset *d, int mode, const amped_result_visit *visit,
                              double *slab) {
  const uint64_t step = amped_hdf5_slab_rows(d->dims[1]);
  for (uint64_t first = 0; first < d->dims[0]; first += step) {
    const uint64_t rows = d->dims[0] - first < step ? d->dims[0] - first : step;
    AMPED_TRY(read_finite(d, first, rows, slab));
    AMPED_TRY(visit->rows(visit->context, mode, first, rows, slab));
  }
  return AMPED_OK;
}

static amped_status scan_factors(amped_hdf5 *file, const shape *s, const amped_result_visit *visit,
                                 double *slab) {
  amped_status status = AMPED_OK;
  for (int m = 0; m < s->order && status == AMPED_OK; m++) {
    amped_hdf5_dataset d = {.open = false};
    status = open_factor(file, m, s->ncomps, &d);
    if (status == AMPED_OK)
      status = scan_rows(&d, m, visit, slab);
    amped_hdf5_dataset_close(&d);
  }
  return status;
}

static amped_status scan(amped_hdf5 *file, const amped_result_visit *visit, amped_ktensor *out) {
  shape s = {.order = 0};
  double *slab = NULL;
  AMPED_TRY(read_shape(file, &s));
  out->order = s.order;
  out->ncomps = (int)s.ncomps;
  memcpy(out->dims, s.dims, sizeof out->dims);
  AMPED_TRY(amped_alloc(&out->weights, s.ncomps, sizeof *out->weights, "the weights"));
  AMPED_TRY(read_weights(file, out->weights));
  if (visit == NULL)
    return AMPED_OK;
  AMPED_TRY(visit->begin(visit->context, out));
  AMPED_TRY(amped_alloc(&slab, AMPED_HDF5_CHUNK, sizeof *slab, "a slab of a factor"));
  amped_status status = scan_factors(file, &s, visit, slab);
  amped_free(slab);
  return status;
}

amped_status amped_result_file_scan(const char *path, const amped_result_visit *visit,
                                    amped_ktensor *out) {
  amped_hdf5 file;
  memset(out, 0, sizeof *out);
  amped_status status = amped_hdf5_open(path, &file);
  if (status == AMPED_OK)
    status = scan(&file, visit, out);
  amped_hdf5_close(&file);
  if (status != AMPED_OK)
    amped_ktensor_free(out);
  return status;
}

amped_status amped_result_file_labels(const char *path, int mode, uint64_t dim,
                                      const uint64_t *places, uint64_t count, amped_labels *out) {
  amped_hdf5 file;
  memset(out, 0, sizeof *out);
  amped_status status = amped_hdf5_open(path, &file);
  if (status == AMPED_OK)
    status = amped_hdf5_labels_pick(&file, mode, dim, places, count, out);
  amped_hdf5_close(&file);
  return status;
}

/* `changed`: receives the name of a dataset that disagrees with its content hash; NULL: that is an
 * error. */
static amped_status read_file(const char *path, amped_ktensor *out, char *changed) {
  amped_hdf5 file;
  memset(out, 0, sizeof *out);
  amped_status status = amped_hdf5_open(path, &file);
  file.tolerant = changed != NULL;
  if (status == AMPED_OK)
    status = read_all(&file, out);
  if (changed != NULL)
    memcpy(changed, file.broken, sizeof file.broken);
  amped_hdf5_close(&file);
  if (status != AMPED_OK)
    amped_ktensor_free(out);
  return status;
}

amped_status amped_result_file_read(const char *path, amped_ktensor *out) {
  return read_file(path, out, NULL);
}

amped_status amped_result_file_read_start(const char *path, amped_ktensor *out,
                                          char changed[AMPED_HDF5_NAME]) {
  return read_file(path, out, changed);
}

amped_status amped_result_file_read_shape(const char *path, amped_ktensor *out) {
  amped_hdf5 file;
  shape s = {.order = 0};
  memset(out, 0, sizeof *out);
  amped_status status = amped_hdf5_open(path, &file);
  file.tolerant = true;
  if (status == AMPED_OK)
    status = read_shape(&file, &s);
  if (status == AMPED_OK) {
    out->order = s.order;
    out->ncomps = (int)s.ncomps;
    memcpy(out->dims, s.dims, sizeof out->dims);
  }
  amped_hdf5_close(&file);
  return status;
}

amped_status amped_result_file_read_ncomps(const char *path, int *out) {
  amped_ktensor k;
  const amped_status status = amped_result_file_read_shape(path, &k);
  *out = k.ncomps;
  return status;
}

/* Read the file's format. *known: the file has one. */
static amped_status has_format(amped_hdf5 *file, bool *is_result, bool *is_checkpoint,
                               bool *known) {
  char *format = NULL;
  *is_result = *is_checkpoint = false;
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", "amped_format", known));
  if (!*known)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_text(file, "/", "amped_format", &format));
  *is_checkpoint = strcmp(format, "checkpoint") == 0;
  *is_result = *is_checkpoint || strcmp(format, "ktensor") == 0;
  amped_free(format);
  return AMPED_OK;
}

/* Decide by the format's name, or by the objects in the file if it has none. */
static amped_status is_result(amped_hdf5 *file, bool *out) {
  bool checkpoint = false, known = false, tensor = false, weights = false, factors = false;
  AMPED_TRY(has_format(file, out, &checkpoint, &known));
  if (known)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", "binsparse", &tensor));
  AMPED_TRY(amped_hdf5_exists(file, "/weights", &weights));
  AMPED_TRY(amped_hdf5_exists(file, "/factors", &factors));
  *out = !tensor && weights && factors;
  return AMPED_OK;
}

amped_status amped_result_file_is(const char *path, bool *out) {
  amped_hdf5 file;
  *out = false;
  amped_status status = amped_hdf5_open(path, &file);
  if (status == AMPED_OK)
    status = is_result(&file, out);
  amped_hdf5_close(&file);
  return status;
}

/* Is it a checkpoint of complete? Only complete has the metrics rmse and ndcg; cpd does not. */
static amped_status is_part(amped_hdf5 *file, bool *out) {
  amped_hdf5_metric metric;
  bool result = false, known = false;
  AMPED_TRY(has_format(file, &result, out, &known));
  if (!*out)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_metric_get(file, &metric));
  *out = strcmp(metric.name, "rmse") == 0 || strcmp(metric.name, "ndcg") == 0;
  return AMPED_OK;
}

/* The same of a file. */
static amped_status look_for_part(const char *path, bool *out) {
  amped_hdf5 file;
  *out = false;
  amped_status status = amped_hdf5_open(path, &file);
  if (status == AMPED_OK)
    status = is_part(&file, out);
  amped_hdf5_close(&file);
  return status;
}

bool amped_result_file_is_part(const char *path) {
  bool part = false;
  const bool looked = look_for_part(path, &part) == AMPED_OK;
  amped_status_clear();
  return looked && part;
}

amped_status amped_result_file_check_model(const char *path) {
  bool part = false;
  amped_status status = look_for_part(path, &part);
  if (status == AMPED_OK && part)
    return amped_error(AMPED_BAD_INPUT, path,
                       "is a checkpoint of complete, without the mean, scale and biases of its "
                       "model; end that run with --resume -o RESULT.h5, and name RESULT.h5");
  return status;
}

/* Read a list with its last, least and largest value. whole: with all values. */
static amped_status read_values(amped_hdf5_dataset *d, bool whole, double *piece,
                                amped_result_list *out) {
  if (whole)
    AMPED_TRY(amped_alloc(&out->values, d->dims[0], sizeof *out->values, "a list of a result"));
  out->least = INFINITY;
  out->most = -INFINITY;
  for (uint64_t first = 0; first < d->dims[0]; first += AMPED_HDF5_CHUNK) {
    const uint64_t left = d->dims[0] - first;
    const uint64_t count = left < AMPED_HDF5_CHUNK ? left : AMPED_HDF5_CHUNK;
    double *here = whole ? out->values + first : piece;
    AMPED_TRY(read_finite(d, first, count, here));
    for (uint64_t i = 0; i < count; i++) {
      out->least = fmin(out->least, here[i]);
      out->most = fmax(out->most, here[i]);
    }
    out->last = here[count - 1];
  }
  out->count = d->dims[0];
  return AMPED_OK;
}

static amped_status read_list(amped_hdf5 *file, const char *name, bool whole,
                              amped_result_list *out) {
  amped_hdf5_dataset d;
  double *piece = NULL;
  bool exists = false;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_hdf5_exists(file, name, &exists));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_dataset_open(file, name, 1, &d));
  if (whole)
    AMPED_GO(done, amped_mem_check(file->path, "its lists", d.dims[0] * sizeof(double)));
  AMPED_GO(done, amped_alloc(&piece, d.dims[0] < AMPED_HDF5_CHUNK ? d.dims[0] : AMPED_HDF5_CHUNK,
                             sizeof *piece, "a list of a result"));
  status = read_values(&d, whole, piece, out);
done:
  amped_free(piece);
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status read_metric(amped_hdf5 *file, bool whole, amped_result_metric *out) {
  amped_hdf5_metric metric;
  AMPED_TRY(amped_hdf5_metric_get(file, &metric));
  memcpy(out->name, metric.name, sizeof out->name);
  AMPED_TRY(read_list(file, metric.history, whole, &out->sweeps));
  return read_list(file, metric.starts, whole, &out->starts);
}

amped_status amped_result_file_metric(const char *path, bool whole, amped_result_metric *out) {
  amped_hdf5 file;
  memset(out, 0, sizeof *out);
  amped_status status = amped_hdf5_open(path, &file);
  if (status == AMPED_OK)
    status = read_metric(&file, whole, out);
  amped_hdf5_close(&file);
  if (status != AMPED_OK)
    amped_result_metric_free(out);
  return status;
}

void amped_result_metric_free(amped_result_metric *metric) {
  amped_free(metric->sweeps.values);
  amped_free(metric->starts.values);
  memset(metric, 0, sizeof *metric);
}

amped_status amped_result_file_number(const char *path, const char *name, double *out) {
  amped_hdf5 file;
  bool exists = false;
  *out = (double)NAN;
  amped_status status = amped_hdf5_open(path, &file);
  if (status == AMPED_OK)
    status = amped_hdf5_has_attribute(&file, "/", name, &exists);
  if (status == AMPED_OK && exists)
    status = amped_hdf5_get_double(&file, "/", name, out);
  amped_hdf5_close(&file);
  return status;
}

static amped_status read_text(amped_hdf5 *file, const char *name, char **out) {
  bool exists = false;
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", name, &exists));
  return exists ? amped_hdf5_get_text(file, "/", name, out) : AMPED_OK;
}

amped_status amped_result_file_has_sums(const char *path, bool *out) {
  char normalisation[16];
  AMPED_TRY(amped_result_file_text(path, "normalisation", normalisation, sizeof normalisation));
  *out = strcmp(normalisation, "sum") == 0;
  return AMPED_OK;
}

amped_status amped_result_file_text(const char *path, const char *name, char *buffer,
                                    uint64_t size) {
  amped_hdf5 file;
  char *text = NULL;
  buffer[0] = '\0';
  amped_status status = amped_hdf5_open(path, &file);
  if (status == AMPED_OK)
    status = read_text(&file, name, &text);
  amped_hdf5_close(&file);
  if (text != NULL)
    (void)snprintf(buffer, size, "%s", text);
  amped_free(text);
  return status;
}
