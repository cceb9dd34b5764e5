/* Binsparse descriptor: parsing with jansson, and writing. */
#include "formats/binsparse.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

static amped_status bad(const char *path, const char *what) {
  return amped_error(AMPED_BAD_INPUT, path, "the binsparse attribute %s", what);
}

static amped_status bad_dims(const char *path, uint64_t order) {
  return amped_error(AMPED_BAD_INPUT, path,
                     "has %" PRIu64 " mode%s; tensors of %d to %d modes can be decomposed", order,
                     order == 1 ? "" : "s", AMPED_MIN_ORDER, AMPED_MAX_ORDER);
}

/* Find the object that holds the keys: the top object, or its member "binsparse". */
static amped_status find_keys(const char *path, const json_t *top, const json_t **out) {
  *out = top;
  if (!json_is_object(top))
    return bad(path, "is not a JSON object; make the file again");
  if (json_object_get(top, "format") == NULL && json_is_object(json_object_get(top, "binsparse")))
    *out = json_object_get(top, "binsparse");
  return AMPED_OK;
}

static amped_status check_version(const char *path, const json_t *keys) {
  const char *version = json_string_value(json_object_get(keys, "version"));
  if (version == NULL)
    return bad(path, "has no version; make the file again");
  if (strncmp(version, "0.", 2) != 0)
    return amped_error(AMPED_BAD_INPUT, path,
                       "the binsparse version is %.20s; store it in version 0.1.0", version);
  return AMPED_OK;
}

static amped_status read_shape(const char *path, const json_t *keys, amped_binsparse *out) {
  const json_t *shape = json_object_get(keys, "shape");
  if (!json_is_array(shape))
    return bad(path, "has no shape; make the file again");
  size_t order = json_array_size(shape);
  if (order < AMPED_MIN_ORDER || order > AMPED_MAX_ORDER)
    return bad_dims(path, order);
  out->order = (int)order;
  for (size_t m = 0; m < order; m++) {
    const json_t *dim = json_array_get(shape, m);
    if (!json_is_integer(dim) || json_integer_value(dim) < 1)
      return bad(path, "has a shape that is not made of numbers above 0; make the file again");
    out->dims[m] = (uint64_t)json_integer_value(dim);
  }
  return AMPED_OK;
}

static bool is_custom(const json_t *keys) {
  const char *format = json_string_value(json_object_get(keys, "format"));
  return format != NULL && strcmp(format, "custom") == 0;
}

/* Binsparse's own name of a coordinate list of a matrix, ordered by rows. */
static bool is_coo(const char *format) {
  return strcmp(format, "COO") == 0 || strcmp(format, "COOR") == 0;
}

static amped_status check_format(const char *path, const json_t *keys) {
  const char *format = json_string_value(json_object_get(keys, "format"));
  if (format == NULL)
    return bad(path, "has no format; make the file again");
  if (!is_custom(keys) && !is_coo(format))
    return amped_error(AMPED_BAD_INPUT, path,
                       "the binsparse format is %.20s; store the tensor as a coordinate list (COO)",
                       format);
  return AMPED_OK;
}

/* Levels may permute the modes; only the identity is accepted. */
static bool is_identity(const json_t *transpose, int order) {
  if (transpose == NULL || json_is_null(transpose))
    return true;
  for (int m = 0; m < order; m++)
    if (json_integer_value(json_array_get(transpose, (size_t)m)) != m)
      return false;
  return json_array_size(transpose) == (size_t)order;
}

static bool level_is(const json_t *level, const char *name) {
  const char *found = json_string_value(json_object_get(level, "level_desc"));
  return found != NULL && strcmp(found, name) == 0;
}

static amped_status check_levels(const char *path, const json_t *keys, int order) {
  const json_t *custom = json_object_get(keys, "custom");
  const json_t *level = json_object_get(custom, "level");
  if (!is_custom(keys))
    return order == 2 ? AMPED_OK
                      : bad(path, "has the format of a matrix, and a shape that is "
                                  "none; make the file again");
  if (!level_is(level, "sparse") || !level_is(json_object_get(level, "level"), "element") ||
      json_integer_value(json_object_get(level, "rank")) != order)
    return bad(path, "describes another layout than one sparse level of all modes (COO); store "
                     "the tensor as COO");
  if (!is_identity(json_object_get(custom, "transpose"), order))
    return bad(path, "has a transpose; store the tensor without");
  return AMPED_OK;
}

/* Refuse keys that change the meaning of the values and are not supported. */
static amped_status check_values(const char *path, const json_t *keys) {
  const char *type =
      json_string_value(json_object_get(json_object_get(keys, "data_types"), "values"));
  const char *structure = json_string_value(json_object_get(keys, "structure"));
  if (structure != NULL && strcmp(structure, "general") != 0)
    return amped_error(AMPED_BAD_INPUT, path,
                       "the tensor is stored as %.40s; store all of its nonzeros", structure);
  if (type != NULL && (strncmp(type, "iso", 3) == 0 || strncmp(type, "complex", 7) == 0 ||
                       strncmp(type, "bint", 4) == 0))
    return amped_error(AMPED_BAD_INPUT, path,
                       "values of the type %.40s cannot be used; store them as float32 or float64",
                       type);
  return AMPED_OK;
}

static amped_status read_counts(const char *path, const json_t *keys, amped_binsparse *out) {
  const json_t *nnz = json_object_get(keys, "number_of_stored_values");
  const json_t *base = json_object_get(keys, "index_base");
  if (!json_is_integer(nnz) || json_integer_value(nnz) < 0)
    return bad(path, "has no number_of_stored_values; make the file again");
  if (base != NULL &&
      (!json_is_integer(base) || json_integer_value(base) < 0 || json_integer_value(base) > 1))
    return bad(path, "has an index_base that is neither 0 nor 1; make the file again");
  out->nnz = (uint64_t)json_integer_value(nnz);
  out->index_base = (uint64_t)json_integer_value(base);
  out->has_fill = json_is_true(json_object_get(keys, "fill"));
  return AMPED_OK;
}

static amped_status parse_keys(const char *path, const json_t *top, amped_binsparse *out) {
  const json_t *keys = NULL;
  AMPED_TRY(find_keys(path, top, &keys));
  AMPED_TRY(check_version(path, keys));
  AMPED_TRY(check_format(path, keys));
  AMPED_TRY(read_shape(path, keys, out));
  AMPED_TRY(check_levels(path, keys, out->order));
  AMPED_TRY(check_values(path, keys));
  return read_counts(path, keys, out);
}

amped_status amped_binsparse_parse(const char *path, const char *text, amped_binsparse *out) {
  json_error_t error;
  memset(out, 0, sizeof *out);
  bool no_memory = false;
  json_t *top = amped_json_loads(text, &error, &no_memory);
  if (no_memory)
    return amped_error(AMPED_FAILED, path,
                       "out of memory for the binsparse attribute; use a machine with more memory");
  if (top == NULL && json_error_code(&error) == json_error_numeric_overflow)
    return amped_error(AMPED_BAD_INPUT, path,
                       "the binsparse attribute has a number above 2^63 - 1, which amped_mpi does "
                       "not read there; make the file again with smaller dimensions");
  if (top == NULL)
    return amped_error(AMPED_BAD_INPUT, path,
                       "the binsparse attribute is not JSON (%.100s); make the file again",
                       error.text);
  amped_status status = parse_keys(path, top, out);
  json_decref(top);
  return status;
}

/* Size of the buffer: enough for any order, since 8 modes need less than 800 bytes. */
#define KEYS_BYTES 2048

static void append_keys(char *text, const amped_binsparse *t, const amped_itype *index_types,
                        amped_vtype value_type) {
  size_t n = 0;
  n += (size_t)snprintf(text + n, KEYS_BYTES - n,
                        "\"version\": \"0.1.0\", \"format\": \"custom\", \"shape\": [");
  for (int m = 0; m < t->order; m++)
    n += (size_t)snprintf(text + n, KEYS_BYTES - n, "%s%" PRIu64, m > 0 ? ", " : "", t->dims[m]);
  n += (size_t)snprintf(text + n, KEYS_BYTES - n,
                        "], \"number_of_stored_values\": %" PRIu64
                        ", \"custom\": {\"level\": {\"level_desc\": \"sparse\", \"rank\": %d, "
                        "\"level\": {\"level_desc\": \"element\"}}}, \"data_types\": {",
                        t->nnz, t->order);
  for (int m = 0; m < t->order; m++)
    n += (size_t)snprintf(text + n, KEYS_BYTES - n, "\"indices_%d\": \"uint%d\", ", m,
                          8 * (int)index_types[m]);
  (void)snprintf(text + n, KEYS_BYTES - n, "\"values\": \"float%d\"}", 8 * (int)value_type);
}

/* Written without jansson: dimensions go up to 2^63, which jansson's signed integers cannot
 * hold. */
amped_status amped_binsparse_text(const amped_binsparse *tensor, const amped_itype *index_types,
                                  amped_vtype value_type, char **out) {
  char keys[KEYS_BYTES];
  append_keys(keys, tensor, index_types, value_type);
  uint64_t bytes = 2 * strlen(keys) + 64;
  AMPED_TRY(amped_alloc(out, bytes, 1, "the binsparse descriptor"));
  (void)snprintf(*out, bytes, "{%s, \"binsparse\": {%s}}", keys, keys);
  return AMPED_OK;
}
