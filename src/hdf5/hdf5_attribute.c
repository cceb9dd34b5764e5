/* Attributes of groups and datasets (hdf5/hdf5_file.h), and the seal over all attributes that AMPED
 * writes.
 *
 * The seal is the root's attribute amped_seal: one hash per attribute, over its object's name, its
 * own name and its value. Every attribute that is read is looked up in the seal. Before the first
 * lookup, every hash of the seal is searched for in the file. So no attribute changes unnoticed, no
 * dataset takes another one's name, and nothing is missing: a dataset's content hash is an
 * attribute as well. Attributes that other programs add are never read and do no harm. A file
 * without a seal comes from an earlier build or another program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hdf5/hdf5_file.h"
#include "tensor/sptensor.h"

/* Most links in a file with a seal, including links added by others. */
#define MAX_LINKS 65536

/* Most bytes of a text attribute. Real ones are short; a longer text is an attempt to fill
 * memory. */
#define MAX_TEXT_BYTES (UINT64_C(1) << 20)

#define SEAL "amped_seal"

/* Attribute being read. */
typedef struct attribute {
  hid_t id, type, space;
} attribute;

static void close_attribute(attribute *a) {
  if (a->space >= 0)
    (void)H5Sclose(a->space);
  if (a->type >= 0)
    (void)H5Tclose(a->type);
  if (a->id >= 0)
    (void)H5Aclose(a->id);
}

amped_status amped_hdf5_has_attribute(amped_hdf5 *file, const char *group, const char *name,
                                      bool *out) {
  *out = false;
  bool exists = false;
  AMPED_TRY(amped_hdf5_exists(file, group, &exists));
  if (!exists)
    return AMPED_OK;
  htri_t found = H5Aexists_by_name(file->id, group, name, H5P_DEFAULT);
  if (found < 0)
    return amped_hdf5_failed(file, "attribute", name);
  *out = found > 0;
  return AMPED_OK;
}

static amped_status wrong_attribute(amped_hdf5 *file, const char *group, const char *name,
                                    const char *expected) {
  return amped_error(AMPED_BAD_INPUT, file->path,
                     "attribute %s of %s is not %s; make the file again", name, group, expected);
}

static amped_status open_attribute(amped_hdf5 *file, const char *group, const char *name,
                                   attribute *out) {
  bool exists = false;
  *out = (attribute){H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID};
  AMPED_TRY(amped_hdf5_has_attribute(file, group, name, &exists));
  if (!exists)
    return amped_error(AMPED_BAD_INPUT, file->path,
                       "attribute %s of %s is missing; make the file again", name, group);
  out->id = H5Aopen_by_name(file->id, group, name, H5P_DEFAULT, H5P_DEFAULT);
  if (out->id < 0)
    return amped_hdf5_failed(file, "attribute", name);
  out->type = H5Aget_type(out->id);
  if (out->type < 0)
    return amped_hdf5_failed(file, "attribute", name);
  out->space = H5Aget_space(out->id);
  if (out->space < 0)
    return amped_hdf5_failed(file, "attribute", name);
  return AMPED_OK;
}

/* Number of elements of a scalar or an array of one dimension; otherwise 0. */
static uint64_t count_of(const attribute *a) {
  int ndims = H5Sget_simple_extent_ndims(a->space);
  hssize_t points = H5Sget_simple_extent_npoints(a->space);
  return ndims >= 0 && ndims <= 1 && points > 0 ? (uint64_t)points : 0;
}

/* --- seal ------------------------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text) {
  for (; *text != '\0'; text++)
    hash = amped_hash_index(hash, (unsigned char)*text);
  return hash;
}

static uint64_t hash_names(const char *object, const char *name) {
  return hash_text(hash_text(hash_text(0, object), "@"), name);
}

static uint64_t hash_double(uint64_t hash, double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return amped_hash_index(hash, bits);
}

static uint64_t hash_u64(uint64_t hash, uint64_t count, const uint64_t *values) {
  for (uint64_t i = 0; i < count; i++)
    hash = amped_hash_index(hash, values[i]);
  return hash;
}

static amped_status read_integers(amped_hdf5 *file, const char *group, const char *name,
                                  uint64_t least, uint64_t most, uint64_t *count, uint64_t *out);

static amped_status check_complete(amped_hdf5 *file);

static amped_status load_seal(amped_hdf5 *file) {
  bool exists = false;
  if (file->seal_loaded)
    return AMPED_OK;
  file->sealed = 0;
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", SEAL, &exists));
  if (exists)
    AMPED_TRY(read_integers(file, "/", SEAL, 1, AMPED_HDF5_SEALED, &file->sealed, file->seal));
  file->seal_loaded = true;
  return file->sealed > 0 ? check_complete(file) : AMPED_OK;
}

/* A tolerant reader continues; file->broken names the first object that was changed. */
static bool tolerates(amped_hdf5 *file, const char *object) {
  if (file->tolerant && file->broken[0] == '\0')
    (void)snprintf(file->broken, sizeof file->broken, "%s", object);
  return file->tolerant;
}

static amped_status disagrees(const amped_hdf5 *file, const char *object, const char *name) {
  return amped_error(
      AMPED_BAD_INPUT, file->path,
      "attribute %s of %s disagrees with the file's seal; the file was changed, make "
      "it again",
      name, object);
}

/* Check an attribute that was read against the seal. */
static amped_status check_sealed(amped_hdf5 *file, const char *object, const char *name,
                                 uint64_t hash) {
  AMPED_TRY(load_seal(file));
  for (uint64_t i = 0; i < file->sealed; i++)
    if (file->seal[i] == hash)
      return AMPED_OK;
  if (file->sealed == 0 || tolerates(file, object))
    return AMPED_OK;
  return disagrees(file, object, name);
}

/* Add to the seal an attribute that was written. */
static amped_status add_sealed(amped_hdf5 *file, const char *name, uint64_t hash) {
  if (file->sealed == AMPED_HDF5_SEALED)
    return amped_error(AMPED_FAILED, file->path, "attribute %s is one too many for the seal", name);
  file->seal[file->sealed++] = hash;
  return AMPED_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Read `least` to `most` integers of any integer type. */
static amped_status read_integers(amped_hdf5 *file, const char *group, const char *name,
                                  uint64_t least, uint64_t most, uint64_t *count, uint64_t *out) {
  attribute a;
  amped_status status = AMPED_OK;
  AMPED_GO(done, open_attribute(file, group, name, &a));
  *count = count_of(&a);
  if (H5Tget_class(a.type) != H5T_INTEGER || H5Tget_size(a.type) > 8 || *count < least ||
      *count > most) {
    status = wrong_attribute(file, group, name, "integers of the right number");
    goto done;
  }
  bool is_signed = H5Tget_sign(a.type) == H5T_SGN_2;
  if (H5Aread(a.id, is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, out) < 0) {
    status = amped_hdf5_failed(file, "attribute", name);
    goto done;
  }
  for (uint64_t i = 0; is_signed && i < *count && status == AMPED_OK; i++)
    if (out[i] > INT64_MAX)
      status = wrong_attribute(file, group, name, "without negative numbers");
done:
  close_attribute(&a);
  return status;
}

amped_status amped_hdf5_get_u64(amped_hdf5 *file, const char *group, const char *name,
                                uint64_t count, uint64_t *out) {
  uint64_t found = 0;
  AMPED_TRY(read_integers(file, group, name, count, count, &found, out));
  return check_sealed(file, group, name, hash_u64(hash_names(group, name), count, out));
}

static amped_status read_double(amped_hdf5 *file, const attribute *a, const char *group,
                                const char *name, double *out) {
  if (H5Tget_class(a->type) != H5T_FLOAT || H5Tget_size(a->type) > 8 || count_of(a) != 1)
    return wrong_attribute(file, group, name, "a floating-point number");
  return H5Aread(a->id, H5T_NATIVE_DOUBLE, out) < 0 ? amped_hdf5_failed(file, "attribute", name)
                                                    : AMPED_OK;
}

amped_status amped_hdf5_get_double(amped_hdf5 *file, const char *group, const char *name,
                                   double *out) {
  attribute a;
  amped_status status = AMPED_OK;
  AMPED_GO(done, open_attribute(file, group, name, &a));
  AMPED_GO(done, read_double(file, &a, group, name, out));
  status = check_sealed(file, group, name, hash_double(hash_names(group, name), *out));
done:
  close_attribute(&a);
  return status;
}

static amped_status read_variable_text(amped_hdf5 *file, const attribute *a, hid_t memory,
                                       const char *name, char **out) {
  char *text = NULL;
  if (H5Tset_size(memory, H5T_VARIABLE) < 0 || H5Aread(a->id, memory, &text) < 0)
    return amped_hdf5_failed(file, "attribute", name);
  amped_status status = text != NULL && strlen(text) > MAX_TEXT_BYTES
                            ? amped_error(AMPED_BAD_INPUT, file->path,
                                          "attribute %s has %zu bytes of text; make the file again",
                                          name, strlen(text))
                            : amped_strdup(out, text != NULL ? text : "");
  if (H5Dvlen_reclaim(memory, a->space, H5P_DEFAULT, &text) < 0 && status == AMPED_OK) {
    status = amped_hdf5_failed(file, "attribute", name);
    amped_free(*out);
    *out = NULL;
  }
  return status;
}

static amped_status read_fixed_text(amped_hdf5 *file, const attribute *a, hid_t memory,
                                    const char *name, char **out) {
  size_t bytes = H5Tget_size(a->type);
  if (bytes == 0 || bytes > MAX_TEXT_BYTES)
    return amped_error(AMPED_BAD_INPUT, file->path,
                       "attribute %s has %zu bytes of text; make the file again", name, bytes);
  AMPED_TRY(amped_calloc(out, bytes + 1, 1, "a text attribute"));
  if (H5Tset_size(memory, bytes + 1) < 0 || H5Tset_strpad(memory, H5T_STR_NULLTERM) < 0 ||
      H5Aread(a->id, memory, *out) < 0) {
    amped_free(*out);
    *out = NULL;
    return amped_hdf5_failed(file, "attribute", name);
  }
  return AMPED_OK;
}

static amped_status read_text(amped_hdf5 *file, const char *group, const char *name, char **out) {
  attribute a;
  amped_status status = AMPED_OK;
  hid_t memory = H5I_INVALID_HID;
  *out = NULL;
  AMPED_GO(done, open_attribute(file, group, name, &a));
  if (H5Tget_class(a.type) != H5T_STRING || count_of(&a) != 1) {
    status = wrong_attribute(file, group, name, "text");
    goto done;
  }
  memory = H5Tcopy(H5T_C_S1);
  if (memory < 0 || H5Tset_cset(memory, H5Tget_cset(a.type)) < 0)
    status = amped_hdf5_failed(file, "attribute", name);
  else if (H5Tis_variable_str(a.type) > 0)
    status = read_variable_text(file, &a, memory, name, out);
  else
    status = read_fixed_text(file, &a, memory, name, out);
done:
  if (memory >= 0)
    (void)H5Tclose(memory);
  close_attribute(&a);
  return status;
}

/* A text that is a number is one number; any other is none. */
static amped_status number_of_text(amped_hdf5 *file, const char *group, const char *name,
                                   long double *out, int *count) {
  char *text = NULL;
  char *end = NULL;
  AMPED_TRY(read_text(file, group, name, &text));
  *out = strtold(text, &end);
  *count = end != text && *end == '\0' ? 1 : 0;
  amped_free(text);
  return AMPED_OK;
}

amped_status amped_hdf5_get_numbers(amped_hdf5 *file, const char *group, const char *name, int most,
                                    long double *out, int *count) {
  attribute a;
  amped_status status = AMPED_OK;
  *count = 0;
  AMPED_GO(done, open_attribute(file, group, name, &a));
  const H5T_class_t class = H5Tget_class(a.type);
  if (class == H5T_STRING && count_of(&a) == 1 && most > 0) {
    status = number_of_text(file, group, name, out, count);
    goto done;
  }
  if ((class != H5T_INTEGER && class != H5T_FLOAT) || H5Tget_size(a.type) > 8)
    goto done;
  if (count_of(&a) > (uint64_t)most) {
    status = wrong_attribute(file, group, name, "a few numbers");
    goto done;
  }
  *count = (int)count_of(&a);
  if (*count > 0 && H5Aread(a.id, H5T_NATIVE_LDOUBLE, out) < 0)
    status = amped_hdf5_failed(file, "attribute", name);
done:
  close_attribute(&a);
  return status;
}

amped_status amped_hdf5_get_text(amped_hdf5 *file, const char *group, const char *name,
                                 char **out) {
  AMPED_TRY(read_text(file, group, name, out));
  amped_status status = check_sealed(file, group, name, hash_text(hash_names(group, name), *out));
  if (status != AMPED_OK) {
    amped_free(*out);
    *out = NULL;
  }
  return status;
}

/* --- what is missing -------------------------------------------------------------------------- */

/* Traversal of all attributes of a file, to find which hashes of its seal are present. */
typedef struct search {
  amped_hdf5 *file;
  const char *object; /* current object */
  uint64_t links;
  amped_status status; /* result that ended the traversal */
  bool met[AMPED_HDF5_SEALED];
  /* First attribute that is not in the seal, and its object; or "". */
  char strange[AMPED_HDF5_NAME], strange_object[AMPED_HDF5_NAME];
} search;

/* Hash an attribute. *known is false if AMPED writes no such attribute: another program added it,
 * and errors from reading it are dropped. */
static amped_status hash_attribute(amped_hdf5 *file, const char *object, const char *name,
                                   bool *known, uint64_t *hash) {
  uint64_t integers[AMPED_HDF5_SEALED];
  uint64_t count = 0;
  double number = 0.0;
  char *text = NULL;
  attribute a;
  amped_status status = open_attribute(file, object, name, &a);
  const H5T_class_t kind = status == AMPED_OK ? H5Tget_class(a.type) : H5T_NO_CLASS;
  *hash = hash_names(object, name);
  if (kind == H5T_INTEGER) {
    status = read_integers(file, object, name, 1, AMPED_HDF5_SEALED, &count, integers);
    *hash = status == AMPED_OK ? hash_u64(*hash, count, integers) : 0;
  } else if (kind == H5T_FLOAT) {
    status = read_double(file, &a, object, name, &number);
    *hash = hash_double(*hash, number);
  } else if (kind == H5T_STRING) {
    status = read_text(file, object, name, &text);
    *hash = status == AMPED_OK ? hash_text(*hash, text) : 0;
    amped_free(text);
  }
  close_attribute(&a);
  *known = status == AMPED_OK && (kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_STRING);
  if (status != AMPED_BAD_INPUT)
    return status;
  amped_status_clear();
  return AMPED_OK;
}

static herr_t look_at_attribute(hid_t id, const char *name, const H5A_info_t *info, void *self) {
  search *s = self;
  uint64_t hash = 0;
  bool known = false;
  bool is_sealed = false;
  (void)id;
  (void)info;
  if (strcmp(name, SEAL) == 0)
    return 0;
  s->status = hash_attribute(s->file, s->object, name, &known, &hash);
  if (s->status != AMPED_OK)
    return 1;
  for (uint64_t i = 0; known && i < s->file->sealed; i++)
    if (s->file->seal[i] == hash)
      s->met[i] = is_sealed = true;
  if (!is_sealed && s->strange[0] == '\0') {
    (void)snprintf(s->strange, sizeof s->strange, "%s", name);
    (void)snprintf(s->strange_object, sizeof s->strange_object, "%s", s->object);
  }
  return 0;
}

static herr_t look_at_object(search *s, const char *object) {
  s->object = object;
  return H5Aiterate_by_name(s->file->id, object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL,
                            look_at_attribute, s, H5P_DEFAULT);
}

static herr_t look_at_link(hid_t id, const char *link, const H5L_info_t *info, void *self) {
  search *s = self;
  char object[AMPED_HDF5_NAME];
  (void)id;
  if (++s->links > MAX_LINKS)
    return 1;
  const int length = snprintf(object, sizeof object, "/%s", link);
  if (info->type != H5L_TYPE_HARD || length < 0 || (size_t)length >= sizeof object)
    return 0;
  return look_at_object(s, object);
}

/* Look at all attributes. Returns, like H5Lvisit, a negative number if HDF5 failed, and a positive
 * one if the traversal was ended early. */
static herr_t walk(search *s, amped_hdf5 *file) {
  memset(s, 0, sizeof *s);
  s->file = file;
  amped_hdf5_begin();
  herr_t walked = look_at_object(s, "/");
  if (walked == 0)
    walked = H5Lvisit(file->id, H5_INDEX_NAME, H5_ITER_NATIVE, look_at_link, s);
  return walked;
}

/* Is everything in the seal present in the file? Otherwise something was removed, renamed or
 * changed. HDF5 does not always report that a traversal ended because memory ran out. So a failed
 * traversal is repeated before the file counts as damaged. */
static amped_status check_complete(amped_hdf5 *file) {
  search s;
  herr_t walked = walk(&s, file);
  if (walked < 0)
    walked = walk(&s, file);
  if (s.status != AMPED_OK)
    return s.status;
  if (walked < 0)
    return amped_hdf5_failed(file, "the list of", "attributes");
  if (walked > 0)
    return amped_error(AMPED_BAD_INPUT, file->path,
                       "has more than %d groups and datasets; make the file again", MAX_LINKS);
  bool complete = true;
  for (uint64_t i = 0; i < file->sealed; i++)
    complete = complete && s.met[i];
  if (complete || tolerates(file, s.strange[0] != '\0' ? s.strange_object : "/"))
    return AMPED_OK;
  if (s.strange[0] != '\0')
    return disagrees(file, s.strange_object, s.strange);
  return amped_error(
      AMPED_BAD_INPUT, file->path,
      "lacks an attribute or dataset that its seal lists; the file was changed, make it again");
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Create, write and close an attribute, checking every return value. */
static amped_status put(amped_hdf5 *file, const char *group, const char *name, hid_t stored,
                        hid_t memory, hid_t space, const void *values) {
  hid_t id = H5Acreate_by_name(file->id, group, name, stored, space, H5P_DEFAULT, H5P_DEFAULT,
                               H5P_DEFAULT);
  if (id < 0)
    return amped_hdf5_failed(file, "attribute", name);
  amped_status status =
      H5Awrite(id, memory, values) < 0 ? amped_hdf5_failed(file, "attribute", name) : AMPED_OK;
  if (H5Aclose(id) < 0 && status == AMPED_OK)
    status = amped_hdf5_failed(file, "attribute", name);
  return status;
}

static amped_status put_integers(amped_hdf5 *file, const char *group, const char *name,
                                 uint64_t count, const uint64_t *values) {
  hsize_t extent = count;
  hid_t space = count == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &extent, NULL);
  if (space < 0)
    return amped_hdf5_failed(file, "attribute", name);
  amped_status status = put(file, group, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, space, values);
  (void)H5Sclose(space);
  return status;
}

amped_status amped_hdf5_put_u64(amped_hdf5 *file, const char *group, const char *name,
                                uint64_t count, const uint64_t *values) {
  AMPED_TRY(put_integers(file, group, name, count, values));
  return add_sealed(file, name, hash_u64(hash_names(group, name), count == 0 ? 1 : count, values));
}

amped_status amped_hdf5_put_seal(amped_hdf5 *file) {
  return file->sealed == 0 ? AMPED_OK : put_integers(file, "/", SEAL, file->sealed, file->seal);
}

amped_status amped_hdf5_put_double(amped_hdf5 *file, const char *group, const char *name,
                                   double value) {
  hid_t space = H5Screate(H5S_SCALAR);
  if (space < 0)
    return amped_hdf5_failed(file, "attribute", name);
  amped_status status = put(file, group, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, space, &value);
  (void)H5Sclose(space);
  AMPED_TRY(status);
  return add_sealed(file, name, hash_double(hash_names(group, name), value));
}

amped_status amped_hdf5_put_text(amped_hdf5 *file, const char *group, const char *name,
                                 const char *text) {
  amped_status status = AMPED_OK;
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t type = H5Tcopy(H5T_C_S1);
  if (space < 0 || type < 0 || H5Tset_size(type, strlen(text) + 1) < 0 ||
      H5Tset_cset(type, H5T_CSET_UTF8) < 0)
    status = amped_hdf5_failed(file, "attribute", name);
  else
    status = put(file, group, name, type, type, space, text);
  if (type >= 0)
    (void)H5Tclose(type);
  if (space >= 0)
    (void)H5Sclose(space);
  AMPED_TRY(status);
  return add_sealed(file, name, hash_text(hash_names(group, name), text));
}

amped_status amped_hdf5_put_format(amped_hdf5 *file, const char *format, uint64_t version) {
  AMPED_TRY(amped_hdf5_put_text(file, "/", "amped_format", format));
  return amped_hdf5_put_u64(file, "/", "amped_version", 0, &version);
}
