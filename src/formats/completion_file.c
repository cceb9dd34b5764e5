/* Completion file: writing and reading the additional parts of a completion model's result. */
#include "formats/completion_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/system_memory.h"
#include "hdf5/hdf5_fields.h"
#include "hdf5/hdf5_probe.h"

#define MODEL "completion"
#define LENGTHS "/lengths"

static const amped_hdf5_type f64 = {AMPED_FLOAT, AMPED_F64};

static const amped_hdf5_type u8 = {AMPED_UNSIGNED, AMPED_U8};

#define AT(kind, member) AMPED_FIELD_AT(kind, amped_completion, member)

/* Attributes of the model. */
static const amped_field fields[] = {
    {.name = "mean", .at = AT(REAL, mean), .least = -AMPED_FINITE, .most = AMPED_FINITE},
    {.name = "scale", .at = AT(REAL, scale), .least = AMPED_ABOVE_0, .most = AMPED_FINITE},
    {.name = "biased", .at = AT(BOOL, biased)},
    {.name = "context", .at = AT(BOOL, context), .is_list = true},
    {.name = "reg", .at = AT(REAL, reg), .most = AMPED_FINITE},
    {.name = "implicit", .at = AT(REAL, implicit), .is_optional = true, .most = AMPED_FINITE},
    {.name = "split_seed", .at = AT(COUNT, split_seed)},
    {.name = "holdout", .at = AT(REAL, holdout), .most = 1.0},
    {.name = "holdout_by", .at = AT(BOOL, fibres), .is_list = true, .is_optional = true},
    {.name = "best_sweep", .at = AT(COUNT, best_sweep)},
};
#define FIELDS (sizeof fields / sizeof fields[0])

/* Name of a mode's dataset, such as "/bias/2". */
typedef struct object_name {
  char name[AMPED_HDF5_NAME];
} object_name;

static object_name bias_name(int mode) {
  object_name name;
  (void)snprintf(name.name, sizeof name.name, "/bias/%d", mode);
  return name;
}

static object_name observed_name(int mode) {
  object_name name;
  (void)snprintf(name.name, sizeof name.name, "/observed/%d", mode);
  return name;
}

static object_name gap_name(int mode) {
  object_name name;
  (void)snprintf(name.name, sizeof name.name, "/gap_rmse/%d", mode);
  return name;
}

/* Name of a set's errors, such as "/rmse/train". */
static object_name errors_name(const amped_hdf5_metric *metric, amped_completion_set set) {
  object_name name;
  (void)snprintf(name.name, sizeof name.name, "/%s/%s", metric->name,
                 amped_completion_set_names[set]);
  return name;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Write the expected errors of gaps, of the modes for which they were measured. */
static amped_status put_gaps(amped_hdf5 *file, const amped_completion *c) {
  bool any = false;
  for (int m = 0; m < c->order; m++)
    any = any || c->gap_rmse[m] != NULL;
  if (any)
    AMPED_TRY(amped_hdf5_make_group(file, "/gap_rmse"));
  for (int m = 0; m < c->order; m++)
    if (c->gap_rmse[m] != NULL)
      AMPED_TRY(
          amped_hdf5_dataset_write(file, gap_name(m).name, f64, 1, &c->dims[m], c->gap_rmse[m]));
  return AMPED_OK;
}

static amped_status put_lengths(amped_hdf5 *file, const amped_completion *c, const int *order) {
  const uint64_t n = (uint64_t)c->ncomps;
  const uint64_t dims[2] = {(uint64_t)c->order, n};
  double lengths[AMPED_MAX_ORDER * AMPED_MAX_NCOMPS];
  for (uint64_t m = 0; m < dims[0]; m++)
    for (uint64_t r = 0; r < n; r++)
      lengths[m * n + r] = c->lengths[m * n + (uint64_t)order[r]];
  return amped_hdf5_dataset_write(file, LENGTHS, f64, 2, dims, lengths);
}

amped_status amped_completion_put(amped_hdf5 *file, const amped_hdf5_metric *metric,
                                  const amped_completion *c, const int *order) {
  AMPED_TRY(amped_hdf5_put_text(file, "/", "amped_model", MODEL));
  AMPED_TRY(amped_fields_put(file, fields, FIELDS, c->order, c));
  if (c->ncomps > 0)
    AMPED_TRY(put_lengths(file, c, order));
  if (c->biased)
    AMPED_TRY(amped_hdf5_make_group(file, "/bias"));
  for (int m = 0; m < c->order && c->biased; m++)
    AMPED_TRY(amped_hdf5_dataset_write(file, bias_name(m).name, f64, 1, &c->dims[m], c->bias[m]));
  if (c->observed[0] != NULL)
    AMPED_TRY(amped_hdf5_make_group(file, "/observed"));
  for (int m = 0; m < c->order && c->observed[0] != NULL; m++)
    AMPED_TRY(
        amped_hdf5_dataset_write(file, observed_name(m).name, u8, 1, &c->dims[m], c->observed[m]));
  AMPED_TRY(put_gaps(file, c));
  AMPED_TRY(amped_hdf5_make_group(file, metric->group));
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    if (c->errors[s].count > 0)
      AMPED_TRY(amped_hdf5_dataset_write(file, errors_name(metric, s).name, f64, 1,
                                         &c->errors[s].count, c->errors[s].values));
  return AMPED_OK;
}

uint64_t amped_completion_file_bytes(int order, const uint64_t *dims, int ncomps, uint64_t sweeps) {
  uint64_t bytes = AMPED_COMPLETION_SETS * amped_hdf5_dataset_bytes(sweeps, 1, sizeof(double)) +
                   amped_hdf5_dataset_bytes((uint64_t)order, (uint64_t)ncomps, sizeof(double));
  for (int m = 0; m < order; m++)
    bytes += 2 * amped_hdf5_dataset_bytes(dims[m], 1, sizeof(double)) +
             amped_hdf5_dataset_bytes(dims[m], 1, sizeof(uint8_t));
  return bytes;
}

/* --- reading --------------------------------------------------------------------------------- */

amped_status amped_completion_is(amped_hdf5 *file, bool *out) {
  char *model = NULL;
  *out = false;
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", "amped_model", out));
  if (!*out)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_text(file, "/", "amped_model", &model));
  const bool known = strcmp(model, MODEL) == 0;
  amped_free(model);
  return known ? AMPED_OK
               : amped_error(AMPED_BAD_INPUT, file->path,
                             "attribute amped_model is not " MODEL "; use the build that made it");
}

static amped_status get_attributes(amped_hdf5 *file, amped_completion *c) {
  bool hashed = false;
  AMPED_TRY(amped_fields_get(file, fields, FIELDS, c->order, c));
  const char *wrong = amped_fields_wrong(fields, FIELDS, c->order, c);
  if (wrong != NULL)
    return amped_error(AMPED_BAD_INPUT, file->path,
                       "attribute %s is not a number in its range; make the file again", wrong);
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", "input_hash", &hashed));
  return hashed ? amped_hdf5_get_u64(file, "/", "input_hash", 1, &c->input_hash) : AMPED_OK;
}

/* Read all values of an open dataset of one dimension; each must be finite. */
static amped_status read_values(amped_hdf5_dataset *d, double *out) {
  AMPED_TRY(amped_hdf5_dataset_read(d, f64, 0, d->dims[0], out));
  for (uint64_t i = 0; i < d->dims[0]; i++)
    if (!isfinite(out[i]))
      return amped_error(AMPED_BAD_INPUT, d->file->path,
                         "dataset %s has a value that is not finite (row %" PRIu64
                         "); make the file again",
                         d->name, i);
  return AMPED_OK;
}

static amped_status read_bias(amped_hdf5 *file, int mode, uint64_t dim, bool whole, double **out) {
  amped_hdf5_dataset d = {.open = false};
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_hdf5_dataset_open(file, bias_name(mode).name, 1, &d));
  if (d.dims[0] != dim) {
    status = amped_error(AMPED_BAD_INPUT, file->path,
                         "dataset %s has %" PRIu64 " values, but /factors/%d has %" PRIu64
                         " rows; make the file again",
                         d.name, d.dims[0], mode, dim);
    goto done;
  }
  if (!whole)
    goto done;
  AMPED_GO(done, amped_mem_check(file->path, "its biases", dim * sizeof(double)));
  AMPED_GO(done, amped_alloc(out, dim, sizeof **out, "biases"));
  status = read_values(&d, *out);
done:
  amped_hdf5_dataset_close(&d);
  return status;
}

/* Read which rows were observed. Results of earlier builds do not have this list. */
static amped_status read_observed(amped_hdf5 *file, int mode, uint64_t dim, uint8_t **out) {
  amped_hdf5_dataset d = {.open = false};
  amped_status status = AMPED_OK;
  bool exists = false;
  AMPED_TRY(amped_hdf5_exists(file, observed_name(mode).name, &exists));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_dataset_open(file, observed_name(mode).name, 1, &d));
  AMPED_GO(done, amped_hdf5_dataset_expect(&d, u8, dim, 1));
  AMPED_GO(done, amped_mem_check(file->path, "its observed rows", dim));
  AMPED_GO(done, amped_alloc(out, dim, sizeof **out, "observed rows"));
  status = amped_hdf5_dataset_read(&d, u8, 0, dim, *out);
done:
  amped_hdf5_dataset_close(&d);
  return status;
}

/* Read the expected errors of a mode's gaps, if they were measured. */
static amped_status read_gaps(amped_hdf5 *file, int mode, uint64_t dim, double **out) {
  amped_hdf5_dataset d = {.open = false};
  amped_status status = AMPED_OK;
  bool exists = false;
  AMPED_TRY(amped_hdf5_exists(file, gap_name(mode).name, &exists));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_dataset_open(file, gap_name(mode).name, 1, &d));
  AMPED_GO(done, amped_hdf5_dataset_expect(&d, f64, dim, 1));
  AMPED_GO(done, amped_mem_check(file->path, "its errors of gaps", dim * sizeof(double)));
  AMPED_GO(done, amped_alloc(out, dim, sizeof **out, "errors of gaps"));
  status = read_values(&d, *out);
done:
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status read_errors(amped_hdf5 *file, const char *name, uint64_t best_sweep,
                                amped_completion_errors *out) {
  amped_hdf5_dataset d = {.open = false};
  amped_status status = AMPED_OK;
  bool exists = false;
  AMPED_TRY(amped_hdf5_exists(file, name, &exists));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_dataset_open(file, name, 1, &d));
  if (best_sweep < 1 || best_sweep > d.dims[0]) {
    status = amped_error(AMPED_BAD_INPUT, file->path,
                         "attribute best_sweep is %" PRIu64 ", but dataset %s has %" PRIu64
                         " values; make the file again",
                         best_sweep, d.name, d.dims[0]);
    goto done;
  }
  AMPED_GO(done, amped_mem_check(file->path, "its lists", d.dims[0] * sizeof(double)));
  AMPED_GO(done, amped_alloc(&out->values, d.dims[0], sizeof *out->values, "a list of a result"));
  status = read_values(&d, out->values);
  out->count = d.dims[0];
done:
  amped_hdf5_dataset_close(&d);
  return status;
}

/* Number of components in the result. */
static amped_status count_components(amped_hdf5 *file, uint64_t *out) {
  amped_hdf5_dataset d = {.open = false};
  AMPED_TRY(amped_hdf5_dataset_open(file, "/weights", 1, &d));
  *out = d.dims[0];
  amped_hdf5_dataset_close(&d);
  return AMPED_OK;
}

/* Read the lengths of columns. Results of earlier builds have none. */
static amped_status read_lengths(amped_hdf5 *file, amped_completion *c) {
  amped_hdf5_dataset d = {.open = false};
  amped_status status = AMPED_OK;
  const uint64_t rows = (uint64_t)c->order;
  uint64_t n = 0;
  bool exists = false;
  AMPED_TRY(amped_hdf5_exists(file, LENGTHS, &exists));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(count_components(file, &n));
  AMPED_TRY(amped_hdf5_dataset_open(file, LENGTHS, 2, &d));
  AMPED_GO(done, amped_hdf5_dataset_expect(&d, f64, rows, n));
  if (n > AMPED_MAX_NCOMPS) {
    status = amped_error(AMPED_BAD_INPUT, file->path, "dataset %s has more than %d components",
                         d.name, AMPED_MAX_NCOMPS);
    goto done;
  }
  AMPED_GO(done, amped_alloc(&c->lengths, rows * n, sizeof *c->lengths, "the lengths of columns"));
  AMPED_GO(done, amped_hdf5_dataset_read(&d, f64, 0, rows, c->lengths));
  for (uint64_t i = 0; i < rows * n && status == AMPED_OK; i++)
    if (!isfinite(c->lengths[i]) || c->lengths[i] < 0.0)
      status = amped_error(AMPED_BAD_INPUT, file->path,
                           "dataset %s has a value that is no length (row %" PRIu64
                           "); make the file again",
                           d.name, i / n);
  c->ncomps = (int)n;
done:
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status read_all(amped_hdf5 *file, int order, const uint64_t *dims, bool whole,
                             amped_completion *out) {
  amped_hdf5_metric metric;
  bool is = false;
  AMPED_TRY(amped_completion_is(file, &is));
  if (!is)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_metric_get(file, &metric));
  out->order = order;
  memcpy(out->dims, dims, (size_t)order * sizeof *dims);
  AMPED_TRY(get_attributes(file, out));
  AMPED_TRY(read_lengths(file, out));
  for (int m = 0; m < order && out->biased; m++)
    AMPED_TRY(read_bias(file, m, dims[m], whole, &out->bias[m]));
  for (int m = 0; m < order && whole; m++)
    AMPED_TRY(read_observed(file, m, dims[m], &out->observed[m]));
  for (int m = 0; m < order && whole; m++)
    AMPED_TRY(read_gaps(file, m, dims[m], &out->gap_rmse[m]));
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    AMPED_TRY(read_errors(file, errors_name(&metric, s).name, out->best_sweep, &out->errors[s]));
  return AMPED_OK;
}

amped_status amped_completion_file_read(const char *path, int order, const uint64_t *dims,
                                        bool whole, amped_completion *out) {
  amped_hdf5 file;
  memset(out, 0, sizeof *out);
  amped_status status = amped_hdf5_open(path, &file);
  if (status == AMPED_OK)
    status = read_all(&file, order, dims, whole, out);
  amped_hdf5_close(&file);
  if (status != AMPED_OK)
    amped_completion_free(out);
  return status;
}
