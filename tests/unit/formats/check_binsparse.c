/* Coordinate lists of other programs: accepted forms, and the error line of refused forms. */
#include <math.h>

#include "formats/binsparse.h"
#include "base/random.h"
#include "formats/tensor_file.h"
#include "tests/lib/testing_hdf5.h"

#define KEYS KEYS_OF("0.1")
#define KEYS_OF(version)                                                                           \
  "\"version\": \"" version "\", \"format\": \"custom\", \"shape\": [3, 4, 500], "                 \
  "\"number_of_stored_values\": 4, "                                                               \
  "\"custom\": {\"level\": {\"level_desc\": \"sparse\", \"rank\": 3, "                             \
  "\"level\": {\"level_desc\": \"element\"}}}, \"data_types\": {\"values\": \"float32\"}"

/* The tensor of every file here: 4 nonzeros of a 3 x 4 x 500 tensor. */
static const uint64_t coordinates[3][4] = {{0, 0, 1, 2}, {3, 1, 0, 2}, {4, 499, 0, 127}};
static const double numbers[4] = {1.0, -2.0, 3.0, 4.0};

typedef struct recipe {
  const char *json;
  hid_t index_type; /* of mode 2; the other modes have uint8 */
  hid_t value_type;
  uint64_t base;
  hid_t list;
} recipe;

static recipe plain(void) {
  return (recipe){"{" KEYS "}", H5T_STD_U32LE, H5T_IEEE_F32LE, 0, H5P_DEFAULT};
}

static void write_list(const char *path, recipe r) {
  hid_t file = testing_h5_create(path);
  for (int m = 0; m < 3; m++) {
    char name[32];
    uint64_t indices[4];
    for (int k = 0; k < 4; k++)
      indices[k] = coordinates[m][k] + r.base;
    (void)snprintf(name, sizeof name, "/indices_%d", m);
    testing_h5_array(file, name, m == 2 ? r.index_type : H5T_STD_U8LE, H5T_NATIVE_UINT64, 4,
                     indices, r.list);
  }
  testing_h5_array(file, "/values", r.value_type, H5T_NATIVE_DOUBLE, 4, numbers, r.list);
  if (r.json != NULL)
    testing_h5_text(file, "binsparse", r.json);
  h5(H5Fclose(file));
}

static amped_status load(const char *path) {
  amped_sptensor t;
  amped_status status = amped_tensor_file_load(path, false, NULL, &t);
  amped_sptensor_free(&t);
  return status;
}

static void check_list(const char *path) {
  amped_sptensor t;
  amped_tensor_file *file = NULL;
  check_ok(amped_tensor_file_open(path, &file));
  const amped_tensor_info *info = amped_tensor_file_info(file);
  ck_assert(!info->has_copies && info->nnz == 4 && info->hash == 0);
  check_ok(amped_tensor_file_verify(file));
  amped_tensor_file_close(file);
  check_ok(amped_tensor_file_load(path, false, NULL, &t));
  ck_assert(t.order == 3 && t.nnz == 4 && t.dims[0] == 3 && t.dims[1] == 4 && t.dims[2] == 500);
  for (int m = 0; m < 3; m++)
    ck_assert_mem_eq(t.indices[m], coordinates[m], sizeof coordinates[m]);
  ck_assert_mem_eq(t.values, numbers, sizeof numbers);
  amped_sptensor_free(&t);
}

START_TEST(all_nestings_are_read) {
  static const char *const texts[] = {"{" KEYS "}", "{\"binsparse\": {" KEYS "}}",
                                      "{" KEYS ", \"binsparse\": {" KEYS "}}",
                                      "{" KEYS_OF("0.1.0") "}"};
  const char *path = testing_path("nest.h5");
  for (int i = 0; i < 4; i++) {
    recipe r = plain();
    r.json = texts[i];
    write_list(path, r);
    check_list(path);
  }
  (void)remove(path);
  check_no_leak();
}

START_TEST(all_number_types_are_read) {
  const hid_t index_types[] = {H5T_STD_U16LE, H5T_STD_U16BE, H5T_STD_I16LE,
                               H5T_STD_I32BE, H5T_STD_U64LE, H5T_STD_I64LE};
  const hid_t value_types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F64BE,    H5T_STD_I8LE,
                               H5T_STD_I64LE,  H5T_STD_I32BE,  H5T_NATIVE_LDOUBLE};
  const char *path = testing_path("types.h5");
  for (size_t i = 0; i < 6; i++)
    for (size_t v = 0; v < 7; v++)
      for (uint64_t base = 0; base < 2; base++) {
        recipe r = plain();
        r.index_type = index_types[i];
        r.value_type = value_types[v];
        r.base = base;
        if (base == 1)
          r.json = "{" KEYS ", \"index_base\": 1}";
        write_list(path, r);
        check_list(path);
      }
  (void)remove(path);
  check_no_leak();
}

START_TEST(half_precision_is_read) {
  const char *path = testing_path("half.h5");
  hid_t half = h5(H5Tcopy(H5T_IEEE_F32LE));
  h5(H5Tset_fields(half, 15, 10, 5, 0, 10));
  h5(H5Tset_size(half, 2));
  h5(H5Tset_ebias(half, 15));
  recipe r = plain();
  r.value_type = half;
  write_list(path, r);
  check_list(path);
  h5(H5Tclose(half));
  (void)remove(path);
  check_no_leak();
}

/* A list whose descriptor says fill, with this dataset fill_value. */
static void write_filled(const char *path, hid_t type, uint64_t count, const double *fill) {
  recipe r = plain();
  r.json = "{" KEYS ", \"fill\": true}";
  write_list(path, r);
  hid_t file = testing_h5_modify(path);
  testing_h5_array(file, "/fill_value", type, H5T_NATIVE_DOUBLE, count, fill, H5P_DEFAULT);
  h5(H5Fclose(file));
}

START_TEST(a_fill_value_of_zero_is_read) {
  const hid_t types[] = {H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_STD_I64LE, H5T_STD_U8LE};
  const struct {
    double fill[2];
    uint64_t count;
    const char *message;
  } refused[] = {
      {{2.5, 0.0}, 1, "/fill_value is 2.5; store a tensor whose absent elements are zero"},
      {{NAN, 0.0}, 1, "/fill_value is nan"},
      {{0.0, 0.0}, 2, "2 x 1"},
      {{0.0, 0.0}, 0, "0 x 1"}};
  const char *path = testing_path("fill.h5");
  const double zeros[2] = {0.0, -0.0};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    for (int sign = 0; sign < 2; sign++) {
      write_filled(path, types[i], 1, &zeros[sign]);
      check_list(path);
    }
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    write_filled(path, H5T_IEEE_F64LE, refused[i].count, refused[i].fill);
    check_fails(AMPED_BAD_INPUT, refused[i].message, load(path));
  }
  recipe r = plain();
  r.json = "{" KEYS ", \"fill\": false}";
  write_list(path, r);
  check_list(path);
  (void)remove(path);
  check_no_leak();
}

START_TEST(the_usual_filters_are_read) {
  const char *path = testing_path("filters.h5");
  const hsize_t chunk = 3;
  recipe r = plain();
  r.list = h5(H5Pcreate(H5P_DATASET_CREATE));
  h5(H5Pset_chunk(r.list, 1, &chunk));
  h5(H5Pset_shuffle(r.list));
  h5(H5Pset_deflate(r.list, 1));
  h5(H5Pset_fletcher32(r.list));
  write_list(path, r);
  check_list(path);
  h5(H5Pclose(r.list));
  (void)remove(path);
  check_no_leak();
}

START_TEST(descriptors_that_are_not_coo_are_refused) {
#define LEVEL "\"custom\": {\"level\": {\"level_desc\": \"sparse\", \"rank\": 3, \"level\": "
#define ELEMENT "{\"level_desc\": \"element\"}"
#define HEAD "{\"version\": \"0.1\", \"format\": \"custom\", "
#define COUNT "\"number_of_stored_values\": 4"
  static const char *const cases[][2] = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"[1]", "not a JSON object"},
      {"{}", "no version"},
      {"{\"version\": \"1.0\", \"format\": \"custom\"}", "version is 1.0"},
      {"{\"version\": \"0.1\"}", "no format"},
      {"{\"version\": \"0.1\", \"format\": \"CSR\", \"shape\": [3, 4]}", "format is CSR"},
      {"{\"version\": \"0.1\", \"format\": \"COO\", \"shape\": [3, 4, 5]}", "of a matrix"},
      {"{\"version\": \"0.1\", \"format\": \"COO\", \"shape\": [3]}", "has 1 mode;"},
      {HEAD "\"shape\": [3]}", "has 1 mode;"},
      {HEAD "\"shape\": [1, 1, 1, 1, 1, 1, 1, 1, 1]}", "has 9 modes"},
      {HEAD "\"x\": 3}", "no shape"},
      {HEAD "\"shape\": [3, 0, 5]}", "shape"},
      {HEAD "\"shape\": [3, -4, 5]}", "shape"},
      {HEAD "\"shape\": [3, 4.5, 5]}", "shape"},
      {HEAD "\"shape\": [3, 99999999999999999999, 5]}", "a number above 2^63 - 1"},
      {HEAD "\"shape\": [3, 4, 5], " COUNT "}", "COO"},
      {HEAD "\"shape\": [3, 4, 5, 6], " LEVEL ELEMENT "}}, " COUNT "}", "COO"},
      {HEAD "\"shape\": [3, 4, 5], " LEVEL "{\"level_desc\": \"dense\"}}}, " COUNT "}", "COO"},
      {HEAD "\"shape\": [3, 4, 5], " LEVEL ELEMENT "}, \"transpose\": [1, 0, 2]}, " COUNT "}",
       "transpose"},
      {HEAD "\"shape\": [3, 4, 5], " LEVEL ELEMENT "}}}", "number_of_stored_values"},
      {HEAD "\"shape\": [3, 4, 5], " LEVEL ELEMENT "}}, \"number_of_stored_values\": 0}",
       "no nonzeros"},
      {HEAD "\"shape\": [3, 4, 500], " LEVEL ELEMENT "}}, \"number_of_stored_values\": 5}",
       "/indices_0"},
      {HEAD "\"shape\": [3, 4, 500], " LEVEL ELEMENT
            "}}, \"number_of_stored_values\": 4000000000000}",
       "/indices_0"},
      {"{" KEYS ", \"index_base\": 2}", "index_base"},
      {"{" KEYS ", \"index_base\": 1}", "index 0 (element 0), not one of 1 to 3"},
      {"{" KEYS ", \"fill\": true}", "/fill_value is missing"},
      {"{" KEYS ", \"structure\": \"symmetric_lower\"}", "symmetric_lower"},
      {HEAD "\"shape\": [3, 4, 500], " LEVEL ELEMENT "}}, " COUNT
            ", \"data_types\": {\"values\": \"iso[float32]\"}}",
       "iso[float32]"},
      {HEAD "\"shape\": [3, 4, 500], " LEVEL ELEMENT "}}, " COUNT
            ", \"data_types\": {\"values\": \"complex[float64]\"}}",
       "complex[float64]"},
      {HEAD "\"shape\": [3, 4, 500], " LEVEL ELEMENT "}}, " COUNT
            ", \"data_types\": {\"values\": \"bint8\"}}",
       "bint8"},
      {HEAD "\"shape\": [3, 4, 499], " LEVEL ELEMENT "}}, " COUNT "}",
       "indices_2 has the index 499 (element 1), not one of 0 to 498"},
  };
  const char *path = testing_path("json.h5");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    recipe r = plain();
    r.json = cases[i][0];
    write_list(path, r);
    check_fails(AMPED_BAD_INPUT, cases[i][1], load(path));
  }
  recipe r = plain();
  r.json = NULL;
  write_list(path, r);
  check_fails(AMPED_BAD_INPUT, "no attribute binsparse", load(path));
  (void)remove(path);
  check_no_leak();
}

/* Replace a dataset of a good list. */
static void spoil(const char *path, const char *name, hid_t stored, hid_t memory, uint64_t count,
                  const void *values, hid_t list) {
  write_list(path, plain());
  hid_t file = testing_h5_modify(path);
  testing_h5_remove(file, name);
  testing_h5_array(file, name, stored, memory, count, values, list);
  h5(H5Fclose(file));
}

/* A list without nonzeros is read where the caller says so, and nowhere else. */
START_TEST(an_empty_list_is_read_on_request) {
  const char *path = testing_path("empty.h5");
  amped_tensor_file *file = NULL;
  amped_sptensor t;
  for (int with_values = 0; with_values < 2; with_values++) {
    hid_t empty = testing_h5_create(path);
    testing_h5_text(empty, "binsparse",
                    HEAD "\"shape\": [3, 4, 500], " LEVEL ELEMENT
                         "}}, \"number_of_stored_values\": 0}");
    testing_h5_array(empty, "/indices_0", H5T_STD_U8LE, H5T_NATIVE_DOUBLE, 0, numbers, H5P_DEFAULT);
    testing_h5_array(empty, "/indices_1", H5T_STD_U8LE, H5T_NATIVE_DOUBLE, 0, numbers, H5P_DEFAULT);
    testing_h5_array(empty, "/indices_2", H5T_STD_U8LE, H5T_NATIVE_DOUBLE, 0, numbers, H5P_DEFAULT);
    if (with_values > 0)
      testing_h5_array(empty, "/values", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, 0, numbers,
                       H5P_DEFAULT);
    h5(H5Fclose(empty));
    check_fails(AMPED_BAD_INPUT, "no nonzeros", amped_tensor_file_open(path, &file));
    check_fails(AMPED_BAD_INPUT, "no nonzeros", load(path));
    if (with_values == 0) {
      check_fails(AMPED_BAD_INPUT, "values", amped_tensor_file_load(path, true, NULL, &t));
      continue;
    }
    check_ok(amped_tensor_file_load(path, true, NULL, &t));
    ck_assert(t.order == 3 && t.nnz == 0 && t.dims[0] == 3 && t.dims[2] == 500);
    amped_sptensor_free(&t);
  }
  (void)remove(path);
  check_no_leak();
}

START_TEST(lists_that_are_wrong_are_refused) {
  const char *path = testing_path("wrong.h5");
  const int64_t negative[4] = {0, -1, 1, 2};
  const double nan[4] = {1.0, NAN, 1.0, 1.0};
  const double infinite[4] = {1.0, 1.0, 1.0, -INFINITY};
  const double five[5] = {0.0};
  const signed char zeros[64] = {0};
  hid_t boolean = h5(H5Tenum_create(H5T_NATIVE_INT8));
  hid_t complex = h5(H5Tcreate(H5T_COMPOUND, 16));
  hid_t text = h5(H5Tcopy(H5T_C_S1));
  h5(H5Tenum_insert(boolean, "FALSE", &zeros[0]));
  h5(H5Tinsert(complex, "r", 0, H5T_NATIVE_DOUBLE));
  h5(H5Tinsert(complex, "i", 8, H5T_NATIVE_DOUBLE));
  h5(H5Tset_size(text, 8));
  const hsize_t chunk = 4;
  hid_t absent = h5(H5Pcreate(H5P_DATASET_CREATE));
  h5(H5Pset_chunk(absent, 1, &chunk));
  h5(H5Pset_deflate(absent, 1));
  const struct {
    const char *name, *message;
    hid_t stored, memory;
    uint64_t count;
    const void *values;
    hid_t list;
  } cases[] = {
      {"/indices_1", "negative index (element 1)", H5T_STD_I8LE, H5T_NATIVE_INT64, 4, negative,
       H5P_DEFAULT},
      {"/indices_1", "negative index (element 1)", H5T_STD_I64LE, H5T_NATIVE_INT64, 4, negative,
       H5P_DEFAULT},
      {"/indices_1", "holds floats", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, 4, numbers, H5P_DEFAULT},
      {"/indices_1", "3 x 1", H5T_STD_U8LE, H5T_NATIVE_INT64, 3, negative, H5P_DEFAULT},
      {"/values", "not finite", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 4, nan, H5P_DEFAULT},
      {"/values", "not finite", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, 4, infinite, H5P_DEFAULT},
      {"/values", "booleans", boolean, boolean, 4, zeros, H5P_DEFAULT},
      {"/values", "complex", complex, complex, 4, zeros, H5P_DEFAULT},
      {"/values", "text", text, text, 4, zeros, H5P_DEFAULT},
      {"/values", "5 x 1", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 5, five, H5P_DEFAULT},
      {"/values", "never written", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 4, NULL, absent},
      {"/values", "never written", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 4, NULL, H5P_DEFAULT},
      {"/values", "never written", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, UINT64_C(1) << 50, NULL,
       absent},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    spoil(path, cases[i].name, cases[i].stored, cases[i].memory, cases[i].count, cases[i].values,
          cases[i].list);
    check_fails(AMPED_BAD_INPUT, cases[i].message, load(path));
  }
  h5(H5Pclose(absent));
  h5(H5Tclose(text));
  h5(H5Tclose(complex));
  h5(H5Tclose(boolean));
  (void)remove(path);
  check_no_leak();
}

/* These files have no checksums: damage may be read as data, but never causes a crash, a hang or
 * another status. */
START_TEST(damage_never_crashes) {
  const char *path = testing_path("damage.h5");
  size_t count = 0;
  const hsize_t chunk = 2;
  recipe r = plain();
  r.list = h5(H5Pcreate(H5P_DATASET_CREATE));
  h5(H5Pset_chunk(r.list, 1, &chunk));
  for (int chunked = 0; chunked < 2; chunked++) {
    if (chunked == 0) {
      recipe contiguous = plain();
      write_list(path, contiguous);
    } else
      write_list(path, r);
    unsigned char *bytes = testing_bytes(path, &count);
    size_t stride = getenv("AMPED_EVERY_BYTE") != NULL ? 1 : count / 150 + 1;
    for (size_t i = 0; i < count; i += stride) {
      unsigned char kept = bytes[i];
      bytes[i] = (unsigned char)amped_random_u64(3, (uint64_t)chunked, i);
      testing_write_file(path, bytes, count);
      amped_status status = load(path);
      ck_assert_msg(status == AMPED_OK || status == AMPED_BAD_INPUT, "byte %zu: %s", i,
                    amped_status_message());
      amped_status_clear();
      bytes[i] = kept;
    }
    free(bytes);
  }
  h5(H5Pclose(r.list));
  (void)remove(path);
  check_no_leak();
}

START_TEST(the_text_that_is_written_can_be_parsed) {
  amped_binsparse in = {.order = 8, .nnz = UINT64_C(1) << 62}, out;
  amped_itype types[AMPED_MAX_ORDER];
  char *text = NULL;
  for (int m = 0; m < 8; m++) {
    in.dims[m] = (UINT64_C(1) << 63) - 1;
    types[m] = AMPED_U64;
  }
  check_ok(amped_binsparse_text(&in, types, AMPED_F64, &text));
  check_ok(amped_binsparse_parse("a test", text, &out));
  ck_assert(out.order == 8 && out.nnz == in.nnz && out.index_base == 0);
  ck_assert_mem_eq(out.dims, in.dims, sizeof in.dims);
  /* Readers parse the version as major.minor.patch. */
  ck_assert_ptr_nonnull(strstr(text, "\"version\": \"0.1.0\""));
  ck_assert_ptr_nonnull(strstr(text, "\"indices_7\": \"uint64\", \"values\": \"float64\"}"));
  amped_free(text);
  check_no_leak();
}

TESTING_MAIN("binsparse", an_empty_list_is_read_on_request, all_nestings_are_read,
             all_number_types_are_read, half_precision_is_read, a_fill_value_of_zero_is_read,
             the_usual_filters_are_read, descriptors_that_are_not_coo_are_refused,
             lists_that_are_wrong_are_refused, damage_never_crashes,
             the_text_that_is_written_can_be_parsed)
