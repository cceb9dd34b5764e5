/* Chunks read and written without HDF5's filter pipeline, compared with the pipeline. */
#include <fcntl.h>
#include <omp.h>

#include "hdf5/hdf5_chunks.h"
#include "base/random.h"
#include "tests/lib/testing_hdf5.h"

static const amped_hdf5_type u8 = {AMPED_UNSIGNED, 1};
static const amped_hdf5_type u32 = {AMPED_UNSIGNED, 4};
static const amped_hdf5_type f64 = {AMPED_FLOAT, 8};

/* The checksum that HDF5's filter stores behind a chunk of these bytes. */
static uint32_t library_checksum(const char *path, const unsigned char *data, size_t bytes) {
  uint32_t skipped = 0;
  hsize_t origin = 0;
  hsize_t chunk = bytes;
  unsigned char *raw = malloc(bytes + 4);
  ck_assert_ptr_nonnull(raw);
  hid_t file = testing_h5_create(path);
  hid_t list = h5(H5Pcreate(H5P_DATASET_CREATE));
  h5(H5Pset_chunk(list, 1, &chunk));
  h5(H5Pset_fletcher32(list));
  testing_h5_array(file, "d", H5T_STD_U8LE, H5T_NATIVE_UINT8, bytes, data, list);
  hid_t id = h5(H5Dopen2(file, "d", H5P_DEFAULT));
  h5(H5Dread_chunk(id, H5P_DEFAULT, &origin, &skipped, raw));
  uint32_t sum = (uint32_t)raw[bytes] | (uint32_t)raw[bytes + 1] << 8 |
                 (uint32_t)raw[bytes + 2] << 16 | (uint32_t)raw[bytes + 3] << 24;
  h5(H5Dclose(id));
  h5(H5Pclose(list));
  h5(H5Fclose(file));
  (void)remove(path);
  free(raw);
  return sum;
}

/* Random bytes, and bytes whose sums modulo 65535 are easy to get wrong. */
static void fill(unsigned char *data, size_t bytes, int kind) {
  for (size_t i = 0; i < bytes; i++)
    data[i] = kind == 0   ? (unsigned char)amped_random_u64(7, 0, i)
              : kind == 1 ? 0
              : kind == 2 ? 0xff
                          : (unsigned char)(i == bytes / 2);
}

START_TEST(checksums_are_those_of_hdf5) {
  static const size_t sizes[] = {1, 2, 3, 63, 64, 65, 721, 16383, 16384, 16385, 49155, 800001};
  const char *path = testing_path("sum.h5");
  unsigned char *data = malloc(800001);
  unsigned char *copy = malloc(800001);
  ck_assert(data != NULL && copy != NULL);
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
    for (int kind = 0; kind < 4; kind++) {
      size_t n = sizes[s];
      fill(data, n, kind);
      uint32_t expected = library_checksum(path, data, n);
      for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        memset(copy, 1, n);
        ck_assert_uint_eq(amped_hdf5_checksum(data, n, NULL, 0), expected);
        ck_assert_uint_eq(amped_hdf5_checksum(data, n, copy, n / 2), expected);
        ck_assert_mem_eq(copy, data, n / 2);
        ck_assert(n < 3 || copy[n / 2] == 1);
      }
    }
  free(data);
  free(copy);
}

static void open_ours(const char *path, amped_hdf5 *file) {
  check_ok(amped_hdf5_open_trusted(open(path, O_RDONLY | O_CLOEXEC), path, NULL, file));
  file->owns_fd = true;
}

/* Write a dataset with our functions. */
static void write_ours(const char *path, amped_hdf5_type type, const uint64_t *dims,
                       const void *rows) {
  amped_hdf5 file;
  check_ok(
      amped_hdf5_create(open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), path, &file));
  file.owns_fd = true;
  check_ok(amped_hdf5_dataset_write(&file, "/d", type, dims[1] > 1 ? 2 : 1, dims, rows));
  check_ok(amped_hdf5_finish(&file));
  amped_hdf5_close(&file);
}

/* Read rows first .. first+count with our reader, which uses chunks where they are whole. */
static amped_status read_ours(const char *path, amped_hdf5_type type, int ndims, uint64_t first,
                              uint64_t count, void *out) {
  amped_hdf5 file;
  amped_hdf5_dataset d = {.open = false};
  open_ours(path, &file);
  amped_status status = amped_hdf5_dataset_open(&file, "/d", ndims, &d);
  if (status == AMPED_OK) {
    ck_assert_uint_ne(d.chunk_rows, 0);
    status = amped_hdf5_dataset_read(&d, type, first, count, out);
  }
  amped_hdf5_dataset_close(&d);
  amped_hdf5_close(&file);
  return status;
}

static void *random_array(size_t bytes, uint64_t seed) {
  unsigned char *data = malloc(bytes);
  ck_assert_ptr_nonnull(data);
  for (size_t i = 0; i < bytes; i++)
    data[i] = (unsigned char)amped_random_u64(seed, 0, i);
  return data;
}

/* The library reads our file back, with its own check. */
static void check_library_reads(const char *path, hid_t memory, const void *expected,
                                size_t bytes) {
  void *back = malloc(bytes);
  hid_t file = h5(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
  hid_t id = h5(H5Dopen2(file, "d", H5P_DEFAULT));
  ck_assert_ptr_nonnull(back);
  h5(H5Dread(id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
  ck_assert_mem_eq(back, expected, bytes);
  h5(H5Dclose(id));
  h5(H5Fclose(file));
  free(back);
}

START_TEST(the_library_reads_what_we_write_and_we_read_any_rows) {
  const char *path = testing_path("rows.h5");
  const uint64_t n = AMPED_HDF5_CHUNK + 77777;
  const uint64_t dims[2] = {n, 1};
  uint32_t *data = random_array(n * 4, 1);
  uint32_t *back = malloc(n * 4);
  ck_assert_ptr_nonnull(back);
  write_ours(path, u32, dims, data);
  check_library_reads(path, H5T_NATIVE_UINT32, data, n * 4);
  const uint64_t ranges[][2] = {{0, n},
                                {0, AMPED_HDF5_CHUNK},
                                {AMPED_HDF5_CHUNK, n - AMPED_HDF5_CHUNK},
                                {AMPED_HDF5_CHUNK, 5},
                                {1, n - 2},
                                {AMPED_HDF5_CHUNK - 3, 7},
                                {n, 0}};
  for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
    memset(back, 0, n * 4);
    check_ok(read_ours(path, u32, 1, ranges[r][0], ranges[r][1], back));
    ck_assert_mem_eq(back, data + ranges[r][0], ranges[r][1] * 4);
  }
  free(data);
  free(back);
  (void)remove(path);
  check_no_leak();
}

START_TEST(matrices_and_bytes_are_read_back) {
  const char *path = testing_path("matrix.h5");
  const uint64_t dims[2] = {40000, 33};
  const uint64_t line[2] = {100001, 1};
  size_t bytes = dims[0] * dims[1] * 8;
  double *data = random_array(bytes, 2);
  double *back = malloc(bytes);
  ck_assert_ptr_nonnull(back);
  write_ours(path, f64, dims, data);
  check_library_reads(path, H5T_NATIVE_DOUBLE, data, bytes);
  check_ok(read_ours(path, f64, 2, 0, dims[0], back));
  ck_assert_mem_eq(back, data, bytes);
  write_ours(path, u8, line, data);
  check_library_reads(path, H5T_NATIVE_UINT8, data, line[0]);
  check_ok(read_ours(path, u8, 1, 0, line[0], back));
  ck_assert_mem_eq(back, data, line[0]);
  free(data);
  free(back);
  (void)remove(path);
  check_no_leak();
}

START_TEST(a_flipped_byte_is_refused_wherever_it_is) {
  const char *path = testing_path("flip.h5");
  const uint64_t n = 3000;
  const uint64_t dims[2] = {n, 1};
  size_t count = 0;
  uint32_t back[3000];
  uint32_t *data = random_array(n * 4, 3);
  write_ours(path, u32, dims, data);
  unsigned char *bytes = testing_bytes(path, &count);
  unsigned char *chunk = memmem(bytes, count, data, n * 4);
  ck_assert_ptr_nonnull(chunk);
  /* The last four bytes are the checksum. */
  for (size_t i = 0; i < n * 4 + 4; i += i < n * 4 - 40 ? 97 : 1) {
    chunk[i] ^= 0x10;
    testing_write_file(path, bytes, count);
    check_fails(AMPED_BAD_INPUT, "dataset /d cannot be read (the checksum",
                read_ours(path, u32, 1, 0, n, back));
    chunk[i] ^= 0x10;
  }
  testing_write_file(path, bytes, count);
  check_ok(read_ours(path, u32, 1, 0, n, back));
  free(bytes);
  free(data);
  (void)remove(path);
  check_no_leak();
}

/* Other layouts of the same numbers are read through the library. */
START_TEST(other_layouts_are_left_to_the_library) {
  const char *path = testing_path("layout.h5");
  const hsize_t chunk = 100;
  uint32_t back[1000];
  uint32_t *data = random_array(sizeof back, 4);
  for (int kind = 0; kind < 4; kind++) {
    amped_hdf5 file;
    amped_hdf5_dataset d;
    hid_t list = h5(H5Pcreate(H5P_DATASET_CREATE));
    if (kind > 0)
      h5(H5Pset_chunk(list, 1, &chunk));
    if (kind == 2)
      h5(H5Pset_shuffle(list));
    if (kind >= 2)
      h5(H5Pset_fletcher32(list));
    hid_t id = testing_h5_create(path);
    testing_h5_array(id, "d", kind == 3 ? H5T_STD_U32BE : H5T_STD_U32LE, H5T_NATIVE_UINT32, 1000,
                     data, list);
    h5(H5Pclose(list));
    h5(H5Fclose(id));
    open_ours(path, &file);
    check_ok(amped_hdf5_dataset_open(&file, "/d", 1, &d));
    ck_assert_uint_eq(d.chunk_rows, 0);
    check_ok(amped_hdf5_dataset_read(&d, u32, 0, 1000, back));
    ck_assert_mem_eq(back, data, sizeof back);
    amped_hdf5_dataset_close(&d);
    amped_hdf5_close(&file);
  }
  free(data);
  (void)remove(path);
  check_no_leak();
}

/* Places of chunks count from the end of a user block; chunks may lie in any order. */
START_TEST(files_with_a_user_block_or_disorder_are_read) {
  const uint64_t chunk = UINT64_C(1) << 19;
  const uint64_t count = 5 * chunk - 3;
  const char *path = testing_path("block.h5");
  unsigned char *data = malloc(count);
  unsigned char *out = malloc(count);
  ck_assert(data != NULL && out != NULL);
  fill(data, count, 0);
  for (int block = 0; block < 2; block++) {
    static const hsize_t order[] = {3, 0, 4, 2, 1};
    const hsize_t extent = count;
    const hsize_t width = chunk;
    amped_hdf5 file;
    amped_hdf5_dataset d;
    hid_t creation = h5(H5Pcreate(H5P_FILE_CREATE));
    h5(H5Pset_userblock(creation, block == 0 ? 0 : 1024));
    hid_t id = h5(H5Fcreate(path, H5F_ACC_TRUNC, creation, H5P_DEFAULT));
    hid_t list = h5(H5Pcreate(H5P_DATASET_CREATE));
    h5(H5Pset_chunk(list, 1, &width));
    h5(H5Pset_fletcher32(list));
    hid_t space = h5(H5Screate_simple(1, &extent, NULL));
    hid_t set = h5(H5Dcreate2(id, "d", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    for (int i = 0; i < 5; i++) {
      const hsize_t first = order[i] * chunk;
      const hsize_t n = count - first < chunk ? count - first : chunk;
      hid_t memory = h5(H5Screate_simple(1, &n, NULL));
      h5(H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &n, NULL));
      h5(H5Dwrite(set, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT, data + first));
      h5(H5Dflush(set));
      h5(H5Sclose(memory));
    }
    h5(H5Dclose(set));
    h5(H5Sclose(space));
    h5(H5Pclose(list));
    h5(H5Pclose(creation));
    h5(H5Fclose(id));
    memset(out, 0, count);
    open_ours(path, &file);
    check_ok(amped_hdf5_dataset_open(&file, "/d", 1, &d));
    check_ok(amped_hdf5_dataset_read(&d, u8, 0, count, out));
    ck_assert_mem_eq(out, data, count);
    amped_hdf5_dataset_close(&d);
    amped_hdf5_close(&file);
  }
  free(data);
  free(out);
  (void)remove(path);
  check_no_leak();
}

/* More chunks than are read at once, of an odd width, and a wrong one among them. */
START_TEST(many_small_chunks_are_read_at_once) {
  const hsize_t width = 97;
  const uint64_t count = 300 * width * 10 + 5;
  const char *path = testing_path("many.h5");
  size_t bytes = 0;
  unsigned char *data = random_array(count, 5);
  unsigned char *out = malloc(count);
  ck_assert_ptr_nonnull(out);
  hid_t list = h5(H5Pcreate(H5P_DATASET_CREATE));
  h5(H5Pset_chunk(list, 1, &width));
  h5(H5Pset_fletcher32(list));
  hid_t id = testing_h5_create(path);
  testing_h5_array(id, "d", H5T_STD_U8LE, H5T_NATIVE_UINT8, count, data, list);
  h5(H5Pclose(list));
  h5(H5Fclose(id));
  const uint64_t ranges[][2] = {{0, count}, {1, count - 1}, {width * 7, width * 2000 + 1}};
  for (int threads = 1; threads <= 4; threads += 3)
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
      omp_set_num_threads(threads);
      memset(out, 0, count);
      check_ok(read_ours(path, u8, 1, ranges[r][0], ranges[r][1], out));
      ck_assert_mem_eq(out, data + ranges[r][0], ranges[r][1]);
    }
  unsigned char *file = testing_bytes(path, &bytes);
  unsigned char *chunk = memmem(file, bytes, data + 1500 * width, width);
  ck_assert_ptr_nonnull(chunk);
  chunk[50] ^= 1;
  testing_write_file(path, file, bytes);
  check_fails(AMPED_BAD_INPUT, "checksum of the chunk at row 145500",
              read_ours(path, u8, 1, 0, count, out));
  free(file);
  free(data);
  free(out);
  (void)remove(path);
  check_no_leak();
}

/* In place of the system's: records requests to read ahead. */
static struct request { uint64_t first, end; } asked[1024];
static uint64_t asked_count;

int posix_fadvise(int fd, off_t first, off_t bytes, int advice) {
  (void)fd;
  ck_assert(advice == POSIX_FADV_WILLNEED && asked_count < 1024);
  asked[asked_count].first = (uint64_t)first;
  asked[asked_count++].end = (uint64_t)(first + bytes);
  return 0;
}

static uint64_t place_of(hid_t id, uint64_t chunk) {
  const hsize_t offset[2] = {chunk * AMPED_HDF5_CHUNK, 0};
  unsigned mask = 0;
  haddr_t at = 0;
  hsize_t bytes = 0;
  h5(H5Dget_chunk_info_by_coord(id, offset, &mask, &at, &bytes));
  return at;
}

/* Read every `step`-th chunk: all requested chunks are read later, except the chunks behind the
 * first one. */
START_TEST(chunks_are_asked_for_ahead_of_time) {
  static const uint64_t steps[] = {1, 3, 16};
  const uint64_t chunks = 60;
  const uint64_t dims[] = {chunks * AMPED_HDF5_CHUNK - 7, 1};
  const char *path = testing_path("ahead.h5");
  unsigned char *data = calloc(dims[0], 1);
  unsigned char *out = malloc(AMPED_HDF5_CHUNK);
  ck_assert(data != NULL && out != NULL);
  write_ours(path, u8, dims, data);
  for (int s = 0; s < 3; s++) {
    amped_hdf5 file;
    amped_hdf5_dataset d;
    open_ours(path, &file);
    check_ok(amped_hdf5_dataset_open(&file, "/d", 1, &d));
    asked_count = 0;
    for (uint64_t c = 0; c < chunks - 1; c += steps[s])
      check_ok(amped_hdf5_dataset_read(&d, u8, c * AMPED_HDF5_CHUNK, AMPED_HDF5_CHUNK, out));
    ck_assert_uint_gt(asked_count, 0);
    for (uint64_t c = 0; c < chunks; c++) {
      uint64_t at = place_of(d.id, c);
      uint64_t times = 0;
      for (uint64_t i = 0; i < asked_count; i++)
        times += at >= asked[i].first && at < asked[i].end;
      ck_assert(times <= 1 && (times == 0 || c % steps[s] == 0 || c <= 16));
      ck_assert(times == 1 || c % steps[s] != 0 || c == 0 || c + steps[s] > chunks ||
                (c > 16 && c <= 16 + 16 * steps[s]));
    }
    amped_hdf5_dataset_close(&d);
    amped_hdf5_close(&file);
  }
  free(data);
  free(out);
  (void)remove(path);
  check_no_leak();
}

TESTING_MAIN("hdf5_chunks", checksums_are_those_of_hdf5,
             the_library_reads_what_we_write_and_we_read_any_rows, matrices_and_bytes_are_read_back,
             a_flipped_byte_is_refused_wherever_it_is, other_layouts_are_left_to_the_library,
             files_with_a_user_block_or_disorder_are_read, many_small_chunks_are_read_at_once,
             chunks_are_asked_for_ahead_of_time)
