/* Common parts of the tests of HDF5 files: files made and damaged with plain HDF5 calls. */
#ifndef AMPED_TESTING_HDF5_H
#define AMPED_TESTING_HDF5_H

#include <hdf5.h>

#include "tests/lib/testing.h"

/* For leak checkers: HDF5 never frees the objects of a file whose closing failed (full disk). */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libhdf5";
}

#define h5(call) testing_id((call), #call)
static inline hid_t testing_id(hid_t id, const char *call) {
  ck_assert_msg(id >= 0, "%s failed", call);
  return id;
}

static inline hid_t testing_h5_create(const char *path) {
  return h5(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
}

static inline hid_t testing_h5_modify_sealed(const char *path) {
  return h5(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT));
}

/* Without the seal of attributes, which would be the first to find what a test changes. */
static inline hid_t testing_h5_modify(const char *path) {
  hid_t file = testing_h5_modify_sealed(path);
  if (h5(H5Aexists(file, "amped_seal")) > 0)
    h5(H5Adelete(file, "amped_seal"));
  return file;
}

/* A dataset of one dimension; list is its creation property list or H5P_DEFAULT. */
static inline void testing_h5_array(hid_t file, const char *name, hid_t stored, hid_t memory,
                                    uint64_t count, const void *values, hid_t list) {
  hsize_t extent = count;
  hid_t space = h5(H5Screate_simple(1, &extent, NULL));
  hid_t id = h5(H5Dcreate2(file, name, stored, space, H5P_DEFAULT, list, H5P_DEFAULT));
  if (values != NULL)
    h5(H5Dwrite(id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  h5(H5Dclose(id));
  h5(H5Sclose(space));
}

static inline void testing_h5_matrix(hid_t file, const char *name, hid_t stored, hid_t memory,
                                     uint64_t rows, uint64_t columns, const void *values) {
  hsize_t extent[2] = {rows, columns};
  hid_t space = h5(H5Screate_simple(2, extent, NULL));
  hid_t id = h5(H5Dcreate2(file, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (values != NULL)
    h5(H5Dwrite(id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  h5(H5Dclose(id));
  h5(H5Sclose(space));
}

static inline void testing_h5_remove(hid_t file, const char *name) {
  h5(H5Ldelete(file, name, H5P_DEFAULT));
}

static inline void testing_h5_remove_attribute(hid_t file, const char *group, const char *name) {
  h5(H5Adelete_by_name(file, group, name, H5P_DEFAULT));
}

/* A text attribute in h5py's form: variable length, UTF-8. */
static inline void testing_h5_text(hid_t file, const char *name, const char *text) {
  hid_t space = h5(H5Screate(H5S_SCALAR));
  hid_t type = h5(H5Tcopy(H5T_C_S1));
  h5(H5Tset_size(type, H5T_VARIABLE));
  h5(H5Tset_cset(type, H5T_CSET_UTF8));
  hid_t id = h5(H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Awrite(id, type, &text));
  h5(H5Aclose(id));
  h5(H5Tclose(type));
  h5(H5Sclose(space));
}

/* Replace an attribute by a scalar of the given type. */
static inline void testing_h5_scalar(hid_t file, const char *group, const char *name, hid_t type,
                                     const void *value) {
  if (H5Aexists_by_name(file, group, name, H5P_DEFAULT) > 0)
    testing_h5_remove_attribute(file, group, name);
  hid_t space = h5(H5Screate(H5S_SCALAR));
  hid_t id =
      h5(H5Acreate_by_name(file, group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Awrite(id, type, value));
  h5(H5Aclose(id));
  h5(H5Sclose(space));
}

/* Add 1 to one u64 element of a dataset, or (swap) exchange it with its successor. The dataset has
 * one or two dimensions; elements are counted row by row. */
static inline void testing_h5_disturb(hid_t file, const char *name, uint64_t element, bool swap) {
  uint64_t values[4096];
  hid_t id = h5(H5Dopen2(file, name, H5P_DEFAULT));
  hid_t space = h5(H5Dget_space(id));
  ck_assert(H5Sget_simple_extent_npoints(space) <= 4096);
  h5(H5Dread(id, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  if (swap) {
    uint64_t kept = values[element];
    values[element] = values[element + 1];
    values[element + 1] = kept;
  } else
    values[element]++;
  h5(H5Dwrite(id, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  h5(H5Sclose(space));
  h5(H5Dclose(id));
}

/* A whole file in memory (malloc'd). */
static inline unsigned char *testing_bytes(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
  long size = ftell(file);
  ck_assert_int_gt(size, 0);
  rewind(file);
  *count = (size_t)size;
  unsigned char *bytes = malloc(*count);
  ck_assert_ptr_nonnull(bytes);
  ck_assert_uint_eq(fread(bytes, 1, *count, file), *count);
  ck_assert_int_eq(fclose(file), 0);
  return bytes;
}

/* The number of this test's files in the folder with `part` in their names. */
static inline int testing_count_files(const char *part) {
  char command[512];
  int count = 0;
  (void)snprintf(command, sizeof command, "ls -a | grep -c -F '%s'", part);
  FILE *pipe = popen(command, "r");
  ck_assert_ptr_nonnull(pipe);
  ck_assert_int_eq(fscanf(pipe, "%d", &count), 1);
  (void)pclose(pipe);
  return count;
}

#endif
