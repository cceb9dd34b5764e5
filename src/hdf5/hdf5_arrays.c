/* Arrays: traversal of an HDF5 file's hard links. */
#include "hdf5/hdf5_arrays.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* Most links in a file. */
#define MAX_LINKS 65536

typedef struct walk {
  amped_hdf5 *file;
  amped_hdf5_object_visit *visit;
  void *self;
  uint64_t links;
  amped_status status; /* result that ended the traversal */
} walk;

static amped_status failed(amped_hdf5 *file, const char *name) {
  return amped_hdf5_failed(file, "object", name);
}

/* *out is -1 if the object is not a dataset. */
static amped_status count_dimensions(amped_hdf5 *file, const char *name, int *out) {
  amped_status status = AMPED_OK;
  hid_t id = H5Oopen(file->id, name, H5P_DEFAULT);
  *out = -1;
  if (id < 0)
    return failed(file, name);
  if (H5Iget_type(id) == H5I_DATASET) {
    hid_t space = H5Dget_space(id);
    *out = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    if (*out < 0)
      status = failed(file, name);
    if (space >= 0)
      (void)H5Sclose(space);
  }
  (void)H5Oclose(id);
  return status;
}

amped_status amped_hdf5_is_dataset(amped_hdf5 *file, const char *name, bool *out) {
  int ndims = -1;
  AMPED_TRY(amped_hdf5_exists(file, name, out));
  if (*out)
    AMPED_TRY(count_dimensions(file, name, &ndims));
  *out = ndims >= 0;
  return AMPED_OK;
}

static herr_t look_at_link(hid_t id, const char *link, const H5L_info_t *info, void *self) {
  walk *w = self;
  char name[AMPED_HDF5_NAME];
  int ndims = -1;
  (void)id;
  if (++w->links > MAX_LINKS)
    w->status = amped_error(AMPED_BAD_INPUT, w->file->path,
                            "has more than %d groups and datasets; store the tensor in a file of "
                            "its own",
                            MAX_LINKS);
  const int length = snprintf(name, sizeof name, "/%s", link);
  if (w->status != AMPED_OK || info->type != H5L_TYPE_HARD || length < 0 ||
      (size_t)length >= sizeof name)
    return w->status != AMPED_OK;
  w->status = count_dimensions(w->file, name, &ndims);
  if (w->status == AMPED_OK)
    w->status = w->visit(w->self, w->file, name, ndims);
  return w->status != AMPED_OK;
}

amped_status amped_hdf5_objects(amped_hdf5 *file, amped_hdf5_object_visit *visit, void *self) {
  walk w = {.file = file, .visit = visit, .self = self};
  amped_hdf5_begin();
  const herr_t walked = H5Lvisit(file->id, H5_INDEX_NAME, H5_ITER_NATIVE, look_at_link, &w);
  if (w.status != AMPED_OK)
    return w.status;
  return walked < 0 ? amped_hdf5_failed(file, "the list of", "datasets") : AMPED_OK;
}

/* A visit of arrays alone. */
typedef struct array_visit {
  amped_hdf5_object_visit *visit;
  void *self;
} array_visit;

static amped_status visit_array(void *self, amped_hdf5 *file, const char *name, int ndims) {
  const array_visit *v = self;
  return ndims >= AMPED_MIN_ORDER && ndims <= AMPED_MAX_ORDER ? v->visit(v->self, file, name, ndims)
                                                              : AMPED_OK;
}

amped_status amped_hdf5_arrays(amped_hdf5 *file, amped_hdf5_object_visit *visit, void *self) {
  array_visit v = {.visit = visit, .self = self};
  return amped_hdf5_objects(file, visit_array, &v);
}

/* A number of the dataset's type, as its cells are read (out->other_sign). */
static long double as_read(const amped_hdf5_dataset *d, const amped_hdf5_convention *out,
                           long double value) {
  const long double numbers = ldexpl(1.0L, 8 * (int)d->type.bytes); /* count of the type's */
  if (out->other_sign && d->type.number == AMPED_SIGNED && value < 0.0L)
    return value + numbers;
  if (out->other_sign && d->type.number == AMPED_UNSIGNED && value >= numbers / 2.0L)
    return value - numbers;
  return value;
}

/* Read _Unsigned, the sign of integers of either type. A word that is neither true nor false may
 * mean anything. */
static amped_status look_at_sign(const amped_hdf5_dataset *d, amped_hdf5_convention *out) {
  static const char name[] = "_Unsigned";
  long double number = 0.0L;
  int count = 0;
  bool exists = false;
  char *word = NULL;
  AMPED_TRY(amped_hdf5_has_attribute(d->file, d->name, name, &exists));
  if (!exists || d->type.number == AMPED_FLOAT)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_numbers(d->file, d->name, name, 1, &number, &count));
  if (count == 0)
    AMPED_TRY(amped_hdf5_get_text(d->file, d->name, name, &word));
  const bool is_true = word != NULL && strcasecmp(word, "true") == 0;
  const bool is_false = word != NULL && strcasecmp(word, "false") == 0;
  amped_free(word);
  out->other_sign =
      (is_true && d->type.number == AMPED_SIGNED) || (is_false && d->type.number == AMPED_UNSIGNED);
  if (!is_true && !is_false && out->packed == NULL)
    out->packed = name;
  return AMPED_OK;
}

/* Note a packing attribute, unless it has the number that changes nothing. */
static amped_status look_at_packing(amped_hdf5 *file, const char *name, const char *attribute,
                                    long double nothing, amped_hdf5_convention *out) {
  long double values[AMPED_HDF5_MISSING];
  int count = 0;
  bool exists = false;
  AMPED_TRY(amped_hdf5_has_attribute(file, name, attribute, &exists));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_numbers(file, name, attribute, AMPED_HDF5_MISSING, values, &count));
  if (out->packed == NULL && (count != 1 || values[0] != nothing))
    out->packed = attribute;
  return AMPED_OK;
}

/* Is the attribute a text without digits, such as "none"? */
static bool is_word(const amped_hdf5_dataset *d, const char *attribute) {
  char *text = NULL;
  const bool is_text = amped_hdf5_get_text(d->file, d->name, attribute, &text) == AMPED_OK;
  const bool out = is_text && strpbrk(text, "0123456789") == NULL;
  amped_free(text);
  amped_status_clear();
  return out;
}

/* Read the numbers of an attribute that says which cells are missing, *count of them; 0: there is
 * no such attribute, or it is a word. Numbers that are not understood would leave missing cells
 * among the others. */
static amped_status get_numbers(const amped_hdf5_dataset *d, const char *attribute, int most,
                                long double *values, int *count) {
  bool exists = false;
  *count = 0;
  AMPED_TRY(amped_hdf5_has_attribute(d->file, d->name, attribute, &exists));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_numbers(d->file, d->name, attribute, most, values, count));
  if (*count > 0 || is_word(d, attribute))
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, d->file->path,
                     "attribute %s of dataset %s is not a number or a list of numbers, so which "
                     "cells are missing is not known; correct or remove it",
                     attribute, d->name);
}

static amped_status look_at_missing(const amped_hdf5_dataset *d, const char *attribute,
                                    amped_hdf5_convention *out) {
  long double values[AMPED_HDF5_MISSING];
  int count = 0;
  AMPED_TRY(get_numbers(d, attribute, AMPED_HDF5_MISSING - out->missing, values, &count));
  for (int i = 0; i < count; i++)
    if (!isnan(values[i]))
      out->values[out->missing++] = as_read(d, out, values[i]);
  return AMPED_OK;
}

/* Narrow the valid range to the numbers of an attribute: the least, the most, or both. */
static amped_status look_at_range(const amped_hdf5_dataset *d, const char *attribute, bool is_least,
                                  bool is_most, amped_hdf5_convention *out) {
  long double values[AMPED_HDF5_MISSING];
  int count = 0;
  AMPED_TRY(get_numbers(d, attribute, AMPED_HDF5_MISSING, values, &count));
  if (count == 0)
    return AMPED_OK;
  if (count != (int)is_least + (int)is_most)
    return amped_error(AMPED_BAD_INPUT, d->file->path,
                       "attribute %s of dataset %s has %d numbers, not %d; correct the file",
                       attribute, d->name, count, (int)is_least + (int)is_most);
  out->has_range = true;
  if (is_least)
    out->least = fmaxl(out->least, as_read(d, out, values[0]));
  if (is_most)
    out->most = fminl(out->most, as_read(d, out, values[count - 1]));
  return AMPED_OK;
}

/* netCDF's default fill value of a type; bytes have none: NaN. */
static long double default_fill(amped_hdf5_type type) {
  if (type.number == AMPED_FLOAT)
    return 0x1.ep+122L;
  if (type.bytes == 1)
    return NAN;
  const long double values = ldexpl(1.0L, 8 * (int)type.bytes); /* number of values */
  if (type.number == AMPED_UNSIGNED)
    return type.bytes == 8 ? values - 2.0L : values - 1.0L;
  return type.bytes == 8 ? 2.0L - values / 2.0L : 1.0L - values / 2.0L;
}

/* A file of netCDF has its default fill value as the dataset's own, and in cells that were never
 * written. */
static amped_status look_at_default(const amped_hdf5_dataset *d, amped_hdf5_convention *out) {
  const hid_t how = H5Dget_create_plist(d->id);
  H5D_fill_value_t is = H5D_FILL_VALUE_UNDEFINED;
  long double fill = NAN;
  const bool fails =
      how < 0 || H5Pfill_value_defined(how, &is) < 0 ||
      (is == H5D_FILL_VALUE_USER_DEFINED && H5Pget_fill_value(how, H5T_NATIVE_LDOUBLE, &fill) < 0);
  if (how >= 0)
    (void)H5Pclose(how);
  if (fails)
    return amped_hdf5_failed(d->file, "the fill value of dataset", d->name);
  if (fill == default_fill(d->type) && out->missing < AMPED_HDF5_MISSING)
    out->values[out->missing++] = as_read(d, out, fill);
  return AMPED_OK;
}

amped_status amped_hdf5_array_convention(const amped_hdf5_dataset *d, amped_hdf5_convention *out) {
  amped_hdf5 *const file = d->file;
  bool exists = false;
  *out = (amped_hdf5_convention){.packed = NULL, .least = -INFINITY, .most = INFINITY};
  AMPED_TRY(look_at_packing(file, d->name, "scale_factor", 1.0L, out));
  AMPED_TRY(look_at_packing(file, d->name, "add_offset", 0.0L, out));
  AMPED_TRY(look_at_sign(d, out));
  AMPED_TRY(look_at_range(d, "valid_range", true, true, out));
  AMPED_TRY(look_at_range(d, "valid_min", true, false, out));
  AMPED_TRY(look_at_range(d, "valid_max", false, true, out));
  AMPED_TRY(look_at_missing(d, "_FillValue", out));
  AMPED_TRY(look_at_missing(d, "missing_value", out));
  AMPED_TRY(amped_hdf5_has_attribute(file, d->name, "_FillValue", &exists));
  return exists ? AMPED_OK : look_at_default(d, out);
}
