/* Dense files: those of this program, and arrays of other programs, of every type and layout. */
#include "formats/dense_file.h"
#include "hdf5/hdf5_probe.h"
#include "formats/tensor_file.h"
#include "tests/lib/testing_dense.h"
#include "tests/lib/testing_hdf5.h"

/* A type of HDF5 for cells in files, of either byte order; close it. */
static hid_t file_type(amped_cell_type type, bool big) {
  const hid_t little[] = {H5T_STD_I8LE,   H5T_STD_U8LE,   H5T_STD_I16LE, H5T_STD_U16LE,
                          H5T_STD_I32LE,  H5T_STD_U32LE,  H5T_STD_I64LE, H5T_STD_U64LE,
                          H5T_IEEE_F32LE, H5T_IEEE_F32LE, H5T_IEEE_F64LE};
  hid_t id = h5(H5Tcopy(little[type]));
  if (type == AMPED_CELL_F16) {
    h5(H5Tset_fields(id, 15, 10, 5, 0, 10));
    h5(H5Tset_size(id, 2));
    h5(H5Tset_ebias(id, 15));
  }
  if (big)
    h5(H5Tset_order(id, H5T_ORDER_BE));
  return id;
}

/* How an array is stored; chunks of 0: contiguous. */
typedef struct storage {
  hsize_t chunk;
  bool deflate, shuffle, checksum;
} storage;

static void put_array(hid_t file, const char *name, const amped_dense_info *info, bool big,
                      storage how, const void *cells) {
  hsize_t extent[AMPED_MAX_ORDER], chunk[AMPED_MAX_ORDER];
  for (int m = 0; m < info->order; m++) {
    extent[m] = info->dims[m];
    chunk[m] = how.chunk < extent[m] ? how.chunk : extent[m];
  }
  hid_t list = h5(H5Pcreate(H5P_DATASET_CREATE));
  if (how.chunk > 0)
    h5(H5Pset_chunk(list, info->order, chunk));
  if (how.shuffle)
    h5(H5Pset_shuffle(list));
  if (how.deflate)
    h5(H5Pset_deflate(list, 1));
  if (how.checksum)
    h5(H5Pset_fletcher32(list));
  hid_t stored = file_type(info->type, big);
  hid_t memory = file_type(info->type, false);
  hid_t space = h5(H5Screate_simple(info->order, extent, NULL));
  hid_t id = h5(H5Dcreate2(file, name, stored, space, H5P_DEFAULT, list, H5P_DEFAULT));
  h5(H5Dwrite(id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells));
  h5(H5Dclose(id));
  h5(H5Sclose(space));
  h5(H5Tclose(memory));
  h5(H5Tclose(stored));
  h5(H5Pclose(list));
}

/* A file of another program with these arrays. */
static void write_foreign(const char *path, const amped_dense_info *info, bool big, storage how,
                          int count, const char *const *names) {
  void *cells = testing_cells(info);
  hid_t file = testing_h5_create(path);
  for (int i = 0; i < count; i++)
    put_array(file, names[i], info, big, how, cells);
  h5(H5Fclose(file));
  free(cells);
}

static const char *const one_name[] = {"/x"};

static amped_status write_ours(const char *path, const amped_dense_info *info, uint64_t piece) {
  amped_dense_writer *w = NULL;
  void *cells = testing_cells(info);
  amped_status status = amped_dense_writer_create(path, info, &w);
  for (uint64_t at = 0; at < info->cells && status == AMPED_OK; at += piece)
    status = amped_dense_writer_append(w, info->cells - at < piece ? info->cells - at : piece,
                                       (char *)cells + at * amped_cell_bytes(info->type));
  free(cells);
  if (status == AMPED_OK)
    return amped_dense_writer_publish(w);
  amped_dense_writer_discard(w);
  return status;
}

START_TEST(foreign_arrays_of_every_type_and_storage_are_read) {
  static const storage kinds[] = {
      {.chunk = 0, .deflate = false, .shuffle = false, .checksum = false},
      {.chunk = 2, .deflate = false, .shuffle = false, .checksum = false},
      {.chunk = 3, .deflate = true, .shuffle = true, .checksum = false},
      {.chunk = 4, .deflate = true, .shuffle = true, .checksum = true},
      {.chunk = 100, .deflate = false, .shuffle = false, .checksum = true},
      {.chunk = 3, .deflate = false, .shuffle = false, .checksum = true}};
  const uint64_t dims[4] = {4, 3, 7, 5};
  const char *path = testing_path("foreign.h5");
  for (int type = 0; type < AMPED_CELL_TYPES; type++)
    for (int k = 0; k < 12; k++) {
      const amped_dense_info info = testing_dense_info((amped_cell_type)type, 4, dims);
      amped_dense_file *file = NULL;
      bool is = false;
      write_foreign(path, &info, k % 2 == 1, kinds[k / 2], 1, one_name);
      check_ok(amped_dense_file_is(path, NULL, &is));
      ck_assert(is);
      check_ok(amped_dense_file_open(path, NULL, &file));
      const amped_dense_info *found = amped_dense_file_info(file);
      ck_assert_int_eq(found->type, type);
      ck_assert_int_eq(found->order, 4);
      ck_assert_uint_eq(found->cells, info.cells);
      ck_assert(!found->has_stats && !amped_dense_file_is_matlab(file));
      TESTING_BOXES(12, &info, amped_dense_file_read, file)
      amped_dense_file_close(file);
      (void)remove(path);
    }
  check_no_leak();
}

/* The same cells as a coordinate list: the hash and the norm must be its. */
static void check_stats(const amped_dense_info *info, const amped_dense_info *found) {
  amped_sptensor t;
  uint64_t nnz = 0;
  for (uint64_t i = 0; i < info->cells; i++)
    nnz += testing_cell(info->type, i) != 0.0;
  check_ok(amped_sptensor_create(&t, info->order, nnz));
  for (uint64_t i = 0, k = 0; i < info->cells; i++) {
    uint64_t index[AMPED_MAX_ORDER];
    const double value = testing_cell(info->type, i);
    if (value == 0.0)
      continue;
    amped_dense_index(info->order, info->dims, info->layout, i, index);
    for (int m = 0; m < info->order; m++)
      t.indices[m][k] = index[m];
    t.values[k++] = value;
  }
  ck_assert(found->has_stats);
  ck_assert_uint_eq(found->nnz, nnz);
  ck_assert_uint_eq(found->hash, amped_sptensor_hash(&t));
  ck_assert(found->norm_squared == amped_sptensor_norm_squared(&t));
  amped_sptensor_free(&t);
}

static void check_ours(amped_cell_type type, int order, const uint64_t *dims, uint64_t piece) {
  const char *path = testing_path("ours.h5");
  const amped_dense_info info = testing_dense_info(type, order, dims);
  amped_dense_file *file = NULL;
  amped_tensor_file *sparse = NULL;
  bool is = false;
  check_ok(write_ours(path, &info, piece));
  check_ok(amped_dense_file_is(path, NULL, &is));
  ck_assert(is);
  check_ok(amped_dense_file_open(path, NULL, &file));
  check_stats(&info, amped_dense_file_info(file));
  TESTING_BOXES(12, &info, amped_dense_file_read, file)
  amped_dense_file_close(file);
  check_fails(AMPED_BAD_INPUT, "holds a dense tensor", amped_tensor_file_open(path, &sparse));
  (void)remove(path);
}

/* Chunks of several indices of mode 1, of one index, of mode 2 with a short one at the end of each
 * span, of mode 3. */
START_TEST(our_files_are_read_as_they_were_written) {
  static const uint64_t shapes[][4] = {
      {4, 3, 7, 5}, {3, 2, 1000, 600}, {1, 7, 1, 400000}, {2, 1, 2, (1 << 20) + 3}};
  for (int type = 0; type < AMPED_CELL_TYPES; type++)
    check_ours((amped_cell_type)type, 4, shapes[0], 1 + (uint64_t)type * 50);
  for (int s = 1; s < 4; s++)
    check_ours(s == 2 ? AMPED_CELL_F16 : AMPED_CELL_U8, 4, shapes[s], 1000003);
  const uint64_t ones[8] = {1, 2, 1, 3, 1, 1, 2, 2};
  check_ours(AMPED_CELL_F64, 8, ones, 5);
  check_no_leak();
}

START_TEST(equal_cells_give_equal_bytes) {
  const uint64_t dims[3] = {5, 6, 7};
  const amped_dense_info info = testing_dense_info(AMPED_CELL_F32, 3, dims);
  char bytes[2][65536];
  size_t count[2];
  for (int i = 0; i < 2; i++) {
    const char *path = testing_path("equal.h5");
    check_ok(write_ours(path, &info, i == 0 ? 210 : 11));
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    count[i] = fread(bytes[i], 1, sizeof bytes[i], file);
    (void)fclose(file);
    (void)remove(path);
  }
  ck_assert_uint_eq(count[0], count[1]);
  ck_assert_mem_eq(bytes[0], bytes[1], count[0]);
}

START_TEST(cells_that_are_not_finite_are_not_written) {
  const uint64_t dims[3] = {2, 3, 4};
  const char *path = testing_path("nan.h5");
  for (int type = AMPED_CELL_F16; type < AMPED_CELL_TYPES; type++) {
    const amped_dense_info info = testing_dense_info((amped_cell_type)type, 3, dims);
    unsigned char *cells = testing_cells(&info);
    amped_dense_writer *w = NULL;
    const uint64_t bytes = amped_cell_bytes(info.type);
    const double bad = type == AMPED_CELL_F32 ? -(double)INFINITY : (double)NAN;
    if (type == AMPED_CELL_F16)
      memcpy(cells + 18 * bytes, "\x01\x7e", 2);
    else
      testing_put_cell(cells, info.type, 18, bad);
    check_ok(amped_dense_writer_create(path, &info, &w));
    check_ok(amped_dense_writer_append(w, 5, cells));
    check_fails(AMPED_BAD_INPUT, "the cell at (2, 2, 3) is",
                amped_dense_writer_append(w, 19, cells + 5 * bytes));
    amped_dense_writer_discard(w);
    ck_assert_int_ne(access(path, F_OK), 0);
    free(cells);
  }
  check_no_leak();
}

START_TEST(cells_too_few_or_many_are_no_file) {
  const uint64_t dims[3] = {2, 3, 4};
  const char *path = testing_path("few.h5");
  const amped_dense_info info = testing_dense_info(AMPED_CELL_F64, 3, dims);
  amped_dense_writer *w = NULL;
  void *cells = testing_cells(&info);
  check_ok(amped_dense_writer_create(path, &info, &w));
  check_ok(amped_dense_writer_append(w, 23, cells));
  check_fails(AMPED_FAILED, "rows", amped_dense_writer_publish(w));
  check_ok(amped_dense_writer_create(path, &info, &w));
  check_ok(amped_dense_writer_append(w, 23, cells));
  check_fails(AMPED_FAILED, "24 cells, and more come", amped_dense_writer_append(w, 2, cells));
  amped_dense_writer_discard(w);
  ck_assert_int_ne(access(path, F_OK), 0);
  free(cells);
  check_no_leak();
}

START_TEST(a_dataset_is_chosen_by_its_name) {
  static const char *const names[] = {"/a", "/b"};
  const uint64_t dims[3] = {2, 3, 4};
  const char *path = testing_path("two.h5");
  const amped_dense_info info = testing_dense_info(AMPED_CELL_U16, 3, dims);
  const storage plain = {.chunk = 0, .deflate = false, .shuffle = false, .checksum = false};
  const double vector[2] = {1, 2};
  amped_dense_file *file = NULL;
  bool is = false;
  write_foreign(path, &info, false, plain, 2, names);
  hid_t h = testing_h5_modify(path);
  hid_t group = h5(H5Gcreate2(h, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  testing_h5_array(h, "/g/v", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2, vector, H5P_DEFAULT);
  h5(H5Lcreate_soft("/a", h, "/s", H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Gclose(group));
  h5(H5Fclose(h));
  check_ok(amped_dense_file_is(path, NULL, &is));
  ck_assert(is);
  check_fails(AMPED_USAGE, "has 2 datasets of 3 to 8 dimensions: /a, /b; name one with --dataset",
              amped_dense_file_open(path, NULL, &file));
  check_fails(AMPED_USAGE,
              "--dataset=c: there is no such dataset; those of 3 to 8 dimensions are /a",
              amped_dense_file_open(path, "c", &file));
  check_fails(AMPED_USAGE, "no such dataset", amped_dense_file_open(path, "/g", &file));
  check_fails(AMPED_USAGE, "no such dataset", amped_dense_file_open(path, "/", &file));
  check_fails(AMPED_USAGE, "no such dataset", amped_dense_file_open(path, "", &file));
  check_fails(AMPED_USAGE, "no such dataset", amped_dense_file_open(path, "/a/", &file));
  check_fails(AMPED_BAD_INPUT, "1 dimensions, not 2 to 8",
              amped_dense_file_open(path, "g/v", &file));
  check_fails(AMPED_BAD_INPUT, "soft or external link", amped_dense_file_open(path, "/s", &file));
  check_ok(amped_dense_file_open(path, "b", &file));
  TESTING_BOXES(3, &info, amped_dense_file_read, file)
  amped_dense_file_close(file);
  (void)remove(path);
  check_no_leak();
}

START_TEST(matlab_files_are_known) {
  const uint64_t dims[3] = {2, 3, 4};
  const char *path = testing_path("m.mat");
  const amped_dense_info info = testing_dense_info(AMPED_CELL_F64, 3, dims);
  const storage how = {.chunk = 2, .deflate = true, .shuffle = false, .checksum = false};
  amped_dense_file *file = NULL;
  void *cells = testing_cells(&info);
  hid_t list = h5(H5Pcreate(H5P_FILE_CREATE));
  h5(H5Pset_userblock(list, 512));
  hid_t h = h5(H5Fcreate(path, H5F_ACC_TRUNC, list, H5P_DEFAULT));
  put_array(h, "/X", &info, false, how, cells);
  hid_t x = h5(H5Dopen2(h, "/X", H5P_DEFAULT));
  testing_h5_text(x, "MATLAB_class", "double");
  h5(H5Dclose(x));
  h5(H5Pclose(list));
  h5(H5Fclose(h));
  free(cells);
  check_ok(amped_dense_file_open(path, NULL, &file));
  ck_assert(amped_dense_file_is_matlab(file));
  TESTING_BOXES(6, &info, amped_dense_file_read, file)
  amped_dense_file_close(file);
  (void)remove(path);
  check_no_leak();
}

START_TEST(other_files_are_not_dense) {
  const char *path = testing_path("other.h5");
  const uint64_t dims[3] = {2, 3, 4};
  const double vector[2] = {1, 2};
  bool is = true;
  amped_dense_file *file = NULL;
  amped_sptensor t;
  check_ok(amped_sptensor_create(&t, 3, 2));
  memcpy(t.dims, dims, sizeof dims);
  for (int m = 0; m < 3; m++)
    t.indices[m][0] = 0, t.indices[m][1] = 1;
  t.values[0] = 1.0, t.values[1] = 2.0;
  for (int copies = 0; copies < 2; copies++) {
    check_ok(amped_tensor_file_write(path, &t, copies == 1));
    check_ok(amped_dense_file_is(path, NULL, &is));
    ck_assert(!is);
    check_ok(amped_dense_file_is(path, "/values", &is));
    ck_assert(!is);
    check_fails(AMPED_BAD_INPUT, "no dense tensor", amped_dense_file_open(path, NULL, &file));
    (void)remove(path);
  }
  amped_sptensor_free(&t);
  hid_t h = testing_h5_create(path);
  testing_h5_array(h, "/v", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2, vector, H5P_DEFAULT);
  h5(H5Fclose(h));
  check_ok(amped_dense_file_is(path, NULL, &is));
  ck_assert(!is);
  check_fails(AMPED_BAD_INPUT, "no dataset has 3 to 8", amped_dense_file_open(path, NULL, &file));
  check_fails(AMPED_USAGE, "none of 3 to 8", amped_dense_file_open(path, "/w", &file));
  (void)remove(path);
  check_no_leak();
}

static void check_bad_array(const char *expected, hid_t type, int order, const hsize_t *extent,
                            hsize_t chunk) {
  const char *path = testing_path("bad.h5");
  amped_dense_file *file = NULL;
  hid_t list = h5(H5Pcreate(H5P_DATASET_CREATE));
  hsize_t chunks[AMPED_MAX_ORDER];
  for (int m = 0; m < order; m++)
    chunks[m] = chunk;
  if (chunk > 0)
    h5(H5Pset_chunk(list, order, chunks));
  hid_t h = testing_h5_create(path);
  hid_t space = h5(H5Screate_simple(order, extent, NULL));
  h5(H5Dclose(h5(H5Dcreate2(h, "/x", type, space, H5P_DEFAULT, list, H5P_DEFAULT))));
  h5(H5Sclose(space));
  h5(H5Pclose(list));
  h5(H5Fclose(h));
  check_fails(AMPED_BAD_INPUT, expected, amped_dense_file_open(path, NULL, &file));
  ck_assert_ptr_null(file);
  (void)remove(path);
  check_no_leak();
}

START_TEST(false_extents_and_types_are_refused) {
  const hsize_t small[3] = {2, 3, 4};
  const hsize_t empty[3] = {2, 0, 4};
  const hsize_t huge[3] = {1 << 20, 1 << 20, 1 << 20};
  const hsize_t most[3] = {1 << 30, 1 << 30, 1 << 30};
  hid_t pair = h5(H5Tcreate(H5T_COMPOUND, 16));
  h5(H5Tinsert(pair, "r", 0, H5T_NATIVE_DOUBLE));
  h5(H5Tinsert(pair, "i", 8, H5T_NATIVE_DOUBLE));
  hid_t truth = h5(H5Tenum_create(H5T_NATIVE_INT8));
  h5(H5Tenum_insert(truth, "FALSE", &(int8_t){0}));
  check_bad_array("compounds or complex numbers", pair, 3, small, 0);
  check_bad_array("booleans", truth, 3, small, 0);
  check_bad_array("no cells", H5T_IEEE_F64LE, 3, empty, 0);
  check_bad_array("parts that were never written", H5T_IEEE_F64LE, 3, small, 0);
  check_bad_array("parts that were never written", H5T_IEEE_F64LE, 3, small, 2);
  check_bad_array("parts that were never written", H5T_IEEE_F64LE, 3, huge, 64);
  check_bad_array("larger than what the file stores", H5T_STD_I8LE, 3, most, 64);
  h5(H5Tclose(truth));
  h5(H5Tclose(pair));
}

/* Any byte of a file changed, or its end missing: it is read as it was, or refused. */
START_TEST(damaged_files_are_refused) {
  const uint64_t dims[3] = {6, 5, 4};
  const char *path = testing_path("damage.h5");
  static unsigned char bytes[65536], changed[65536];
  const amped_dense_info info = testing_dense_info(AMPED_CELL_F64, 3, dims);
  double cells[120];
  const uint64_t first[3] = {0, 0, 0};
  check_ok(write_ours(path, &info, 120));
  FILE *f = fopen(path, "r");
  ck_assert_ptr_nonnull(f);
  const size_t count = fread(bytes, 1, sizeof bytes, f);
  (void)fclose(f);
  const char *every = getenv("AMPED_EVERY_BYTE");
  const size_t step = every != NULL ? 1 : count / 150;
  for (size_t at = 0; at < 2 * count; at += step) {
    amped_dense_file *file = NULL;
    memcpy(changed, bytes, count);
    if (at < count)
      changed[at] ^= 0x5a;
    testing_write_file(path, changed, at < count ? count : at - count);
    amped_status status = amped_dense_file_open(path, NULL, &file);
    if (status == AMPED_OK)
      status = amped_dense_file_read(file, first, dims, cells);
    ck_assert(status == AMPED_OK || status == AMPED_BAD_INPUT);
    if (status == AMPED_OK && amped_dense_file_info(file)->has_stats)
      testing_check_box(&info, first, dims, cells);
    amped_dense_file_close(file);
    amped_status_clear();
    (void)remove(path);
  }
  check_no_leak();
}

TESTING_MAIN("dense_file", foreign_arrays_of_every_type_and_storage_are_read,
             our_files_are_read_as_they_were_written, equal_cells_give_equal_bytes,
             cells_that_are_not_finite_are_not_written, cells_too_few_or_many_are_no_file,
             a_dataset_is_chosen_by_its_name, matlab_files_are_known, other_files_are_not_dense,
             false_extents_and_types_are_refused, damaged_files_are_refused)
