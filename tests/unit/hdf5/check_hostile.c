/* Hostile and broken HDF5 files, systematically: flipped bytes, truncated files, every dataset
 * and every attribute replaced. Each file is refused as bad input, or gives the exact tensor or
 * model. */
#include "base/random.h"
#include "formats/completion_file.h"
#include "formats/result_file.h"
#include "formats/tensor_file.h"
#include "tests/lib/testing_hostile.h"

/* --- two files, and their right contents ------------------------------------------------------ */

typedef struct answer {
  uint64_t digest;      /* of the nonzeros, or of weights and factors, and of all extents */
  uint64_t rest_digest; /* of the labels; of norm and hash */
} answer;

static void digest(uint64_t *sum, const void *bytes, uint64_t count) {
  const unsigned char *p = bytes;
  for (uint64_t i = 0; i < count; i++)
    *sum = (*sum ^ p[i]) * UINT64_C(0x100000001B3);
}

static void digest_labels(uint64_t *sum, const amped_labels *l) {
  digest(sum, &l->count, sizeof l->count);
  if (l->count == 0)
    return;
  digest(sum, l->offsets, (l->count + 1) * sizeof *l->offsets);
  digest(sum, l->bytes, l->offsets[l->count]);
}

static void write_tensor(const char *path, uint64_t last_dim) {
  const uint64_t dims[] = {5, 12, last_dim};
  amped_sptensor t;
  check_ok(amped_sptensor_create(&t, 3, 30));
  for (uint64_t k = 0; k < 30; k++) {
    for (int m = 0; m < 3; m++)
      t.indices[m][k] = amped_random_u64(5, (uint64_t)m, k) % dims[m];
    t.values[k] = 1.0 + (double)(k % 7);
  }
  memcpy(t.dims, dims, sizeof dims);
  give_labels(&t.labels[0], 5);
  check_ok(amped_sptensor_sort(&t, 0));
  check_ok(amped_tensor_file_write(path, &t, true));
  amped_sptensor_free(&t);
}

static const uint64_t result_dims[] = {5, 12, 9};
static const double history[] = {0.25, 0.5};

/* completion NULL: a plain decomposition. */
static void write_model(const char *path, const amped_completion *completion) {
  const uint64_t *dims = result_dims;
  const amped_run_record record = {.input = "x.h5",
                                   .input_norm = 3.5,
                                   .input_hash = UINT64_C(0xFEDCBA9876543210),
                                   .options = "{\"rank\": 4}",
                                   .stop_reason = "tolerance",
                                   .metric = completion != NULL ? "rmse" : "fit",
                                   .history = history,
                                   .sweeps = 2,
                                   .completion = completion};
  amped_ktensor k;
  check_ok(amped_ktensor_create(&k, 3, dims, 4));
  for (int r = 0; r < 4; r++)
    k.weights[r] = 4.0 - r;
  for (int m = 0; m < 3; m++)
    for (uint64_t i = 0; i < dims[m] * 4; i++)
      k.factors[m][i] = amped_random_double(1, (uint64_t)m, i) - 0.5;
  give_labels(&k.labels[0], 5);
  check_ok(amped_result_file_write(path, &k, &record));
  amped_ktensor_free(&k);
}

static void write_result(const char *path) {
  write_model(path, NULL);
}

static void write_completion(const char *path) {
  amped_completion c;
  check_ok(amped_completion_create(&c, 3, result_dims, true));
  for (int m = 0; m < 3; m++)
    for (uint64_t i = 0; i < result_dims[m]; i++)
      c.bias[m][i] = amped_random_double(2, (uint64_t)m, i) - 0.5;
  c.context[2] = true;
  c.best_sweep = 2;
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    check_ok(amped_completion_set_errors(&c, s, history, 2));
  write_model(path, &c);
  amped_completion_free(&c);
}

/* Read a tensor file as info --verify and convert do. */
static amped_status read_tensor(const char *path, answer *out) {
  amped_tensor_file *file = NULL;
  amped_sptensor t;
  *out = (answer){0, 0};
  amped_status status = amped_tensor_file_open(path, &file);
  if (status == AMPED_OK)
    status = amped_tensor_file_verify(file);
  if (status == AMPED_OK && amped_tensor_file_info(file)->has_copies) {
    const amped_tensor_info *info = amped_tensor_file_info(file);
    digest(&out->rest_digest, &info->hash, sizeof info->hash);
    digest(&out->rest_digest, &info->norm_squared, sizeof info->norm_squared);
  }
  amped_tensor_file_close(file);
  AMPED_TRY(status);
  AMPED_TRY(amped_tensor_file_load(path, false, NULL, &t));
  digest(&out->digest, t.dims, sizeof t.dims);
  for (int m = 0; m < t.order; m++) {
    digest(&out->digest, t.indices[m], t.nnz * sizeof *t.indices[m]);
    digest_labels(&out->rest_digest, &t.labels[m]);
  }
  digest(&out->digest, t.values, t.nnz * sizeof *t.values);
  amped_sptensor_free(&t);
  return AMPED_OK;
}

/* Read a result as info, top and --init do. */
static amped_status read_result(const char *path, answer *out) {
  amped_ktensor k;
  char text[64];
  amped_result_metric metric;
  bool is_result = false;
  *out = (answer){0, 0};
  AMPED_TRY(amped_result_file_is(path, &is_result));
  AMPED_TRY(amped_result_file_metric(path, true, &metric));
  amped_result_metric_free(&metric);
  AMPED_TRY(amped_result_file_text(path, "options", text, sizeof text));
  AMPED_TRY(amped_result_file_text(path, "stop_reason", text, sizeof text));
  AMPED_TRY(amped_result_file_read(path, &k));
  digest(&out->digest, k.dims, sizeof k.dims);
  digest(&out->digest, k.weights, (uint64_t)k.ncomps * sizeof *k.weights);
  for (int m = 0; m < k.order; m++) {
    digest(&out->digest, k.factors[m], k.dims[m] * (uint64_t)k.ncomps * sizeof *k.factors[m]);
    digest_labels(&out->rest_digest, &k.labels[m]);
  }
  amped_ktensor_free(&k);
  return AMPED_OK;
}

/* Read a completion model as predict does. */
static amped_status read_completion(const char *path, answer *out) {
  amped_ktensor k;
  amped_completion c = {.order = 0};
  AMPED_TRY(read_result(path, out));
  AMPED_TRY(amped_result_file_read(path, &k));
  amped_status status = amped_completion_file_read(path, k.order, k.dims, true, &c);
  digest(&out->rest_digest, &c.order, sizeof c.order);
  digest(&out->rest_digest, &c.mean, sizeof c.mean);
  digest(&out->rest_digest, &c.scale, sizeof c.scale);
  digest(&out->rest_digest, c.context, sizeof c.context);
  digest(&out->rest_digest, &c.best_sweep, sizeof c.best_sweep);
  for (int m = 0; m < c.order && c.biased; m++)
    digest(&out->rest_digest, c.bias[m], c.dims[m] * sizeof(double));
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    digest(&out->rest_digest, c.errors[s].values, c.errors[s].count * sizeof(double));
  amped_completion_free(&c);
  amped_ktensor_free(&k);
  return status;
}

typedef struct subject {
  amped_status (*read)(const char *path, answer *out);
  answer right;
  unsigned char *bytes;
  size_t count;
  const char *name;
  bool any_model; /* with replaced parts, the file may be another valid model */
} subject;

static subject tensor_subject(uint64_t last_dim) {
  subject s = {.read = read_tensor, .name = "tensor"};
  const char *path = testing_path("tensor.h5");
  write_tensor(path, last_dim);
  check_ok(s.read(path, &s.right));
  s.bytes = testing_bytes(path, &s.count);
  (void)remove(path);
  return s;
}

static subject model_subject(bool completion) {
  subject s = {.read = completion ? read_completion : read_result,
               .name = completion ? "completion" : "result",
               .any_model = true};
  const char *path = testing_path("result.h5");
  (completion ? write_completion : write_result)(path);
  check_ok(s.read(path, &s.right));
  s.bytes = testing_bytes(path, &s.count);
  (void)remove(path);
  return s;
}

/* Read the file: it is refused with one line that names it, or gives the right answer. */
static hostile_end judge(const subject *s, const char *path, const char *what, bool damage) {
  answer found;
  amped_status status = s->read(path, &found);
  if (status == AMPED_OK) {
    bool right = (found.digest == s->right.digest || (!damage && s->any_model)) &&
                 (!damage || found.rest_digest == s->right.rest_digest);
    ck_assert_msg(right, "%s: %s changes the answer unseen", s->name, what);
    return HOSTILE_EXACT;
  }
  ck_assert_msg(status == AMPED_BAD_INPUT, "%s: %s: status %d (%s)", s->name, what, (int)status,
                amped_status_message());
  ck_assert_msg(strstr(amped_status_message(), path) != NULL, "%s: %s: %s", s->name, what,
                amped_status_message());
  amped_status_clear();
  return HOSTILE_REFUSED;
}

/* --- bytes ----------------------------------------------------------------------------------- */

static const unsigned char patterns[] = {0xFF, 0x01};
#define PATTERNS (sizeof patterns)

static hostile_end flip(void *context, const char *path, uint64_t number) {
  subject *s = context;
  char what[64];
  uint64_t at = number / PATTERNS;
  unsigned char pattern = patterns[number % PATTERNS];
  s->bytes[at] ^= pattern;
  testing_write_file(path, s->bytes, s->count);
  s->bytes[at] ^= pattern;
  (void)snprintf(what, sizeof what, "byte %" PRIu64 " xor %u", at, pattern);
  return judge(s, path, what, true);
}

static hostile_end cut(void *context, const char *path, uint64_t number) {
  subject *s = context;
  char what[64];
  testing_write_file(path, s->bytes, number);
  (void)snprintf(what, sizeof what, "cut to %" PRIu64 " bytes", number);
  return judge(s, path, what, true);
}

static void check_bytes(subject s) {
  /* Odd, so that both patterns and both workers damage every kind of place. */
  uint64_t stride = hostile_stride(s.count / 500 * 2 + 1);
  char what[64];
  (void)snprintf(what, sizeof what, "%s: bytes flipped", s.name);
  hostile_tally flips = hostile_run(what, flip, &s, PATTERNS * s.count, stride);
  /* Unused space in the file is small. */
  ck_assert_uint_gt(flips.counts[0][HOSTILE_REFUSED], flips.counts[0][HOSTILE_EXACT] / 4);
  (void)snprintf(what, sizeof what, "%s: cut", s.name);
  hostile_tally cuts = hostile_run(what, cut, &s, s.count, stride);
  ck_assert_uint_eq(cuts.counts[0][HOSTILE_EXACT], 0);
  free(s.bytes);
}

/* Short modes, so that one long table does not have most of the bytes. */
START_TEST(a_flipped_byte_or_cut_tensor_is_refused_or_harmless) {
  check_bytes(tensor_subject(9));
}

START_TEST(a_flipped_byte_or_cut_result_is_refused_or_harmless) {
  check_bytes(model_subject(false));
}

START_TEST(a_flipped_byte_or_cut_completion_is_refused_or_harmless) {
  check_bytes(model_subject(true));
}

/* --- datasets -------------------------------------------------------------------------------- */

#define MOST_NAMES 64
#define NAME_BYTES 64

/* Every name of a file that leads to a dataset; every attribute and the group it belongs to. */
typedef struct names {
  char datasets[MOST_NAMES][NAME_BYTES];
  char groups[MOST_NAMES][NAME_BYTES];
  char attributes[MOST_NAMES][NAME_BYTES];
  uint64_t ndatasets, nattributes;
} names;

typedef struct replacement {
  subject s;
  names n;
} replacement;

static herr_t note_attribute(hid_t id, const char *attribute, const H5A_info_t *info, void *out) {
  names *n = out;
  (void)info;
  ck_assert_uint_lt(n->nattributes, MOST_NAMES);
  (void)H5Iget_name(id, n->groups[n->nattributes], NAME_BYTES);
  (void)snprintf(n->attributes[n->nattributes++], NAME_BYTES, "%s", attribute);
  return 0;
}

static herr_t note_link(hid_t file, const char *link, const H5L_info_t *info, void *out) {
  names *n = out;
  (void)info;
  hid_t id = h5(H5Oopen(file, link, H5P_DEFAULT));
  if (H5Iget_type(id) == H5I_DATASET) {
    ck_assert_uint_lt(n->ndatasets, MOST_NAMES);
    (void)snprintf(n->datasets[n->ndatasets++], NAME_BYTES, "/%s", link);
  }
  ck_assert_int_ge(H5Aiterate2(id, H5_INDEX_NAME, H5_ITER_INC, NULL, note_attribute, n), 0);
  h5(H5Oclose(id));
  return 0;
}

static void find_names(subject *s, names *n) {
  const char *path = testing_path("names.h5");
  testing_write_file(path, s->bytes, s->count);
  memset(n, 0, sizeof *n);
  hid_t file = testing_h5_modify(path);
  ck_assert_int_ge(H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, note_attribute, n), 0);
  ck_assert_int_ge(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, note_link, n), 0);
  h5(H5Fclose(file));
  (void)remove(path);
}

/* Description of a new dataset: it takes elements of the old dataset, as far as the new extent
 * goes. */
typedef struct recipe {
  hid_t type; /* as stored */
  int ndims;
  hsize_t dims[3];
  hid_t list;
  bool odd; /* no element is written: the type is not a number, or the extent is false */
} recipe;

#define MOST_ELEMENTS 65536

/* The old dataset, where every recipe starts. Its elements are copied to memory. */
typedef struct original {
  recipe r;
  hid_t memory;
  uint64_t count;
  double elements[MOST_ELEMENTS]; /* u64 for integers */
} original;

static void take_original(hid_t file, const char *name, original *o) {
  memset(o, 0, sizeof *o);
  hid_t id = h5(H5Dopen2(file, name, H5P_DEFAULT));
  hid_t space = h5(H5Dget_space(id));
  o->r.type = h5(H5Dget_type(id));
  o->r.ndims = H5Sget_simple_extent_dims(space, o->r.dims, NULL);
  o->r.list = h5(H5Pcreate(H5P_DATASET_CREATE));
  o->memory = H5Tget_class(o->r.type) == H5T_FLOAT ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT64;
  o->count = (uint64_t)H5Sget_simple_extent_npoints(space);
  ck_assert_uint_le(o->count, MOST_ELEMENTS);
  h5(H5Dread(id, o->memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, o->elements));
  h5(H5Sclose(space));
  h5(H5Dclose(id));
}

/* false: the library refuses to make it. */
static bool make_dataset(hid_t file, const char *name, const original *o, const recipe *r) {
  static double elements[4 * MOST_ELEMENTS];
  hid_t space = r->ndims > 0    ? h5(H5Screate_simple(r->ndims, r->dims, NULL))
                : r->ndims == 0 ? h5(H5Screate(H5S_SCALAR))
                                : h5(H5Screate(H5S_NULL));
  hid_t id = H5Dcreate2(file, name, r->type, space, H5P_DEFAULT, r->list, H5P_DEFAULT);
  bool made = id >= 0;
  if (made && !r->odd) {
    ck_assert_int_le(H5Sget_simple_extent_npoints(space), 4 * MOST_ELEMENTS);
    memcpy(elements, o->elements, sizeof o->elements);
    h5(H5Dwrite(id, o->memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements));
  }
  if (made)
    h5(H5Dclose(id));
  h5(H5Sclose(space));
  return made;
}

static hid_t pick_number(uint64_t i) {
  const hid_t types[] = {H5T_STD_U8LE,   H5T_STD_U16LE,     H5T_STD_U32LE,  H5T_STD_U64LE,
                         H5T_STD_I8LE,   H5T_STD_I16LE,     H5T_STD_I32LE,  H5T_STD_I64LE,
                         H5T_STD_U32BE,  H5T_STD_I64BE,     H5T_IEEE_F32LE, H5T_IEEE_F64LE,
                         H5T_IEEE_F64BE, H5T_NATIVE_LDOUBLE};
  return i < sizeof types / sizeof types[0] ? types[i] : H5I_INVALID_HID;
}
#define NUMBER_TYPES 14

/* Types that are not plain numbers. */
#define ODD_TYPES 12
static hid_t make_odd_type(uint64_t i) {
  const hsize_t two = 2;
  hid_t type = H5I_INVALID_HID;
  switch (i) {
  case 0: /* a compound that contains a number */
    type = h5(H5Tcreate(H5T_COMPOUND, 8));
    h5(H5Tinsert(type, "a", 0, H5T_NATIVE_UINT64));
    return type;
  case 1:
    return h5(H5Tvlen_create(H5T_NATIVE_UINT64));
  case 2:
    type = h5(H5Tcopy(H5T_C_S1));
    h5(H5Tset_size(type, H5T_VARIABLE));
    return type;
  case 3:
    type = h5(H5Tcopy(H5T_C_S1));
    h5(H5Tset_size(type, 8));
    return type;
  case 4:
    type = h5(H5Tcreate(H5T_OPAQUE, 8));
    h5(H5Tset_tag(type, "t"));
    return type;
  case 5:
    return h5(H5Tcopy(H5T_STD_B64LE));
  case 6:
    return h5(H5Tenum_create(H5T_STD_U8LE));
  case 7:
    return h5(H5Tcopy(H5T_STD_REF_OBJ));
  case 8:
    return h5(H5Tcopy(H5T_STD_REF_DSETREG));
  case 9:
    return h5(H5Tarray_create2(H5T_NATIVE_UINT64, 1, &two));
  case 10: /* an integer of 5 bits */
    type = h5(H5Tcopy(H5T_STD_U64LE));
    h5(H5Tset_precision(type, 5));
    return type;
  default: /* a float with another exponent */
    type = h5(H5Tcopy(H5T_IEEE_F32LE));
    h5(H5Tset_ebias(type, 100));
    return type;
  }
}

#define EXTENTS 11
static void change_extent(recipe *r, uint64_t i) {
  const hsize_t small[3] = {1, 1, 1};
  hsize_t n = r->dims[0];
  switch (i) {
  case 0:
    r->dims[0] = 0;
    break;
  case 1:
    r->dims[0] = 1;
    break;
  case 2:
    r->dims[0] = n > 0 ? n - 1 : 0;
    break;
  case 3:
    r->dims[0] = n + 1;
    break;
  case 4:
    r->dims[0] = 2 * n;
    break;
  case 5: /* scalar */
    r->ndims = 0;
    break;
  case 6: /* no elements */
    r->ndims = -1;
    r->odd = true;
    break;
  case 7: /* one more dimension */
    r->dims[r->ndims++] = 1;
    break;
  case 8: /* another number of columns */
    r->dims[1] = 2;
    r->ndims = 2;
    r->odd = true;
    break;
  default: /* missing chunks, of 2^40 or 2^62 elements */
    r->dims[0] = (hsize_t)1 << (i == 9 ? 40 : 62);
    r->dims[1] = r->ndims > 1 ? 1 : r->dims[1];
    r->odd = true;
    h5(H5Pset_chunk(r->list, r->ndims, small));
  }
}

/* A file beside PATH, for elements outside of it. HDF5 may write into such files: no other will do.
 */
static const char *outside_of(const char *path) {
  static char outside[512];
  (void)snprintf(outside, sizeof outside, "%s.raw", path);
  return outside;
}

#define LAYOUTS 10
/* false: this release of the library cannot do it. */
static bool change_layout(recipe *r, uint64_t i, const char *path) {
  static const char zeros[4096];
  const hsize_t one[3] = {1, 1, 1};
  hid_t space = H5I_INVALID_HID;
  if (i >= 3 && i <= 8 && (r->dims[0] == 0 || r->dims[1] == 0) && r->ndims > 0)
    r->odd = true;
  switch (i) {
  case 0:
    h5(H5Pset_layout(r->list, H5D_COMPACT));
    return r->dims[0] < 4096;
  case 1:
    return true; /* contiguous, without a checksum */
  case 2:        /* elements in another file, which may be any file */
    testing_write_file(outside_of(path), zeros, sizeof zeros);
    h5(H5Pset_external(r->list, outside_of(path), 0, H5F_UNLIMITED));
    r->odd = true;
    return true;
  case 3: /* elements in other datasets of this file, by its own name */
    space = h5(H5Screate_simple(r->ndims, r->dims, NULL));
    h5(H5Pset_virtual(r->list, space, path, "/elsewhere", space));
    h5(H5Sclose(space));
    r->odd = true;
    return true;
  case 4:
    h5(H5Pset_chunk(r->list, r->ndims, one));
    return r->dims[0] < 4096;
  case 5:
    h5(H5Pset_chunk(r->list, r->ndims, one));
    h5(H5Pset_nbit(r->list));
    return r->dims[0] < 4096;
  case 6:
    h5(H5Pset_chunk(r->list, r->ndims, one));
    h5(H5Pset_scaleoffset(r->list, H5Z_SO_INT, 0));
    r->odd = true;
    return true;
  case 7: /* a filter that needs a plugin (32001: Blosc) */
    h5(H5Pset_chunk(r->list, r->ndims, one));
    return H5Pset_filter(r->list, 32001, H5Z_FLAG_OPTIONAL, 0, NULL) >= 0 && r->dims[0] < 4096;
  case 8: /* allowed filters, more often than useful */
    h5(H5Pset_chunk(r->list, r->ndims, one));
    for (int f = 0; f < 8; f++)
      h5(H5Pset_deflate(r->list, 9));
    return r->dims[0] < 4096;
  default: /* chunks that were never written, with a fill value */
    h5(H5Pset_chunk(r->list, r->ndims, one));
    h5(H5Pset_fill_value(r->list, H5T_NATIVE_INT, &(int){1}));
    r->odd = true;
    return true;
  }
}

/* Other objects under the dataset's name. */
#define OTHERS 8
static void put_other(hid_t file, const char *name, const char *path, uint64_t i) {
  hid_t id = H5I_INVALID_HID;
  if (i > 0 && i < 5)
    h5(H5Lmove(file, name, file, "/elsewhere", H5P_DEFAULT, H5P_DEFAULT));
  switch (i) {
  case 0: /* nothing */
    testing_h5_remove(file, name);
    break;
  case 1:
    h5(H5Lcreate_soft("/elsewhere", file, name, H5P_DEFAULT, H5P_DEFAULT));
    break;
  case 2:
    h5(H5Lcreate_external(path, "/elsewhere", file, name, H5P_DEFAULT, H5P_DEFAULT));
    break;
  case 3: /* a link to itself */
    h5(H5Lcreate_soft(name, file, name, H5P_DEFAULT, H5P_DEFAULT));
    break;
  case 4: /* a group */
    id = h5(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    h5(H5Gclose(id));
    break;
  case 5: /* a type */
    testing_h5_remove(file, name);
    id = h5(H5Tcopy(H5T_NATIVE_UINT64));
    h5(H5Tcommit2(file, name, id, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    h5(H5Tclose(id));
    break;
  case 6: /* the root group: a loop */
    testing_h5_remove(file, name);
    h5(H5Lcreate_hard(file, "/", file, name, H5P_DEFAULT, H5P_DEFAULT));
    break;
  default: /* a link to a device */
    testing_h5_remove(file, name);
    h5(H5Lcreate_external("/dev/zero", "/", file, name, H5P_DEFAULT, H5P_DEFAULT));
  }
}

#define DATASET_VARIANTS (NUMBER_TYPES + ODD_TYPES + EXTENTS + LAYOUTS + OTHERS)

/* false: no such file can be made. */
static bool replace_dataset(hid_t file, const char *name, const char *path, uint64_t v) {
  static original o;
  bool made = true;
  if (v >= NUMBER_TYPES + ODD_TYPES + EXTENTS + LAYOUTS) {
    put_other(file, name, path, v - NUMBER_TYPES - ODD_TYPES - EXTENTS - LAYOUTS);
    return true;
  }
  take_original(file, name, &o);
  recipe r = o.r;
  hid_t odd = H5I_INVALID_HID;
  if (v < NUMBER_TYPES)
    r.type = pick_number(v);
  else if (v < NUMBER_TYPES + ODD_TYPES) {
    odd = make_odd_type(v - NUMBER_TYPES);
    r.type = odd;
    r.odd = true;
  } else if (v < NUMBER_TYPES + ODD_TYPES + EXTENTS)
    change_extent(&r, v - NUMBER_TYPES - ODD_TYPES);
  else
    made = change_layout(&r, v - NUMBER_TYPES - ODD_TYPES - EXTENTS, path);
  if (made) {
    h5(H5Lmove(file, name, file, "/elsewhere", H5P_DEFAULT, H5P_DEFAULT));
    made = make_dataset(file, name, &o, &r);
  }
  if (odd >= 0)
    h5(H5Tclose(odd));
  h5(H5Tclose(o.r.type));
  h5(H5Pclose(o.r.list));
  return made;
}

static hostile_end dataset_case(void *context, const char *path, uint64_t number) {
  replacement *r = context;
  char what[128];
  uint64_t v = number % DATASET_VARIANTS;
  const char *name = r->n.datasets[number / DATASET_VARIANTS];
  testing_write_file(path, r->s.bytes, r->s.count);
  hid_t file = testing_h5_modify(path);
  bool made = replace_dataset(file, name, path, v);
  h5(H5Fclose(file));
  if (!made)
    return HOSTILE_ABSENT;
  (void)snprintf(what, sizeof what, "variant %d of dataset %s", (int)v, name);
  hostile_end end = judge(&r->s, path, what, false);
  (void)remove(outside_of(path));
  return end;
}

/* --- attributes ------------------------------------------------------------------------------ */

#define ATTRIBUTE_VARIANTS 15
static const int64_t attribute_numbers[] = {0, 1, -1, 255, 256, INT64_MAX};
#define ATTRIBUTE_NUMBERS 6

static void put_array(hid_t group, const char *name, hid_t type, hsize_t count) {
  static const uint64_t zeros[4096];
  hid_t space = h5(H5Screate_simple(1, &count, NULL));
  hid_t id = h5(H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Awrite(id, type, zeros));
  h5(H5Aclose(id));
  h5(H5Sclose(space));
}

static void put_odd_attribute(hid_t group, const char *name, uint64_t i) {
  const double real = 0.5;
  hid_t type = make_odd_type(i == 3 ? 0 : 9);
  hid_t space = h5(H5Screate(i == 2 ? H5S_NULL : H5S_SCALAR));
  hid_t id = H5I_INVALID_HID;
  if (i == 0)
    id = h5(H5Acreate2(group, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT));
  else if (i == 1)
    id = h5(H5Acreate2(group, name, H5T_STD_REF_OBJ, space, H5P_DEFAULT, H5P_DEFAULT));
  else
    id = h5(H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
  if (i == 0)
    h5(H5Awrite(id, H5T_NATIVE_DOUBLE, &real));
  h5(H5Aclose(id));
  h5(H5Sclose(space));
  h5(H5Tclose(type));
}

static void replace_attribute(hid_t file, const char *group, const char *name, uint64_t v) {
  testing_h5_remove_attribute(file, group, name);
  hid_t id = h5(H5Oopen(file, group, H5P_DEFAULT));
  if (v < ATTRIBUTE_NUMBERS)
    testing_h5_scalar(file, group, name, H5T_STD_I64LE, &attribute_numbers[v]);
  else if (v == 6)
    testing_h5_text(id, name, "x");
  else if (v == 7)
    testing_h5_text(id, name, "");
  else if (v == 8)
    put_array(id, name, H5T_NATIVE_UINT64, 2);
  else if (v == 9)
    put_array(id, name, H5T_NATIVE_UINT64, 4096);
  else if (v < 14)
    put_odd_attribute(id, name, v - 10);
  h5(H5Oclose(id)); /* 14: nothing */
}

static hostile_end attribute_case(void *context, const char *path, uint64_t number) {
  replacement *r = context;
  char what[256];
  uint64_t v = number % ATTRIBUTE_VARIANTS;
  uint64_t which = number / ATTRIBUTE_VARIANTS;
  testing_write_file(path, r->s.bytes, r->s.count);
  bool seal = strcmp(r->n.attributes[which], "amped_seal") == 0;
  hid_t file = seal ? testing_h5_modify_sealed(path) : testing_h5_modify(path);
  replace_attribute(file, r->n.groups[which], r->n.attributes[which], v);
  h5(H5Fclose(file));
  (void)snprintf(what, sizeof what, "variant %d of attribute %s of %s", (int)v,
                 r->n.attributes[which], r->n.groups[which]);
  return judge(&r->s, path, what, false);
}

static void check_replacements(subject s) {
  replacement r = {.s = s};
  char what[64];
  find_names(&s, &r.n);
  (void)snprintf(what, sizeof what, "%s: datasets replaced", s.name);
  /* 7 and 2 have no common factor with the number of variants. */
  (void)hostile_run(what, dataset_case, &r, r.n.ndatasets * DATASET_VARIANTS, hostile_stride(7));
  (void)snprintf(what, sizeof what, "%s: attributes replaced", s.name);
  (void)hostile_run(what, attribute_case, &r, r.n.nattributes * ATTRIBUTE_VARIANTS,
                    hostile_stride(2));
  free(s.bytes);
}

/* The third mode is so long that its iDps have several indices. */
START_TEST(replaced_parts_of_a_tensor_are_refused_or_harmless) {
  check_replacements(tensor_subject(70001));
}

START_TEST(replaced_parts_of_a_result_are_refused_or_harmless) {
  check_replacements(model_subject(false));
}

START_TEST(replaced_parts_of_a_completion_are_refused_or_harmless) {
  check_replacements(model_subject(true));
}

int main(void) {
  const TTest *const tests[] = {a_flipped_byte_or_cut_tensor_is_refused_or_harmless,
                                a_flipped_byte_or_cut_result_is_refused_or_harmless,
                                a_flipped_byte_or_cut_completion_is_refused_or_harmless,
                                replaced_parts_of_a_tensor_are_refused_or_harmless,
                                replaced_parts_of_a_result_are_refused_or_harmless,
                                replaced_parts_of_a_completion_are_refused_or_harmless};
  return testing_run("hostile", tests, 6);
}
