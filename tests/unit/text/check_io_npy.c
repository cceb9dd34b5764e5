/* Files of numpy: every type, both orders of modes and bytes; damaged headers and sizes. */
#include <math.h>

#include "text/io_npy.h"
#include "text/io_npy_header.h"
#include "tests/lib/testing_dense.h"

static const char *const codes[AMPED_CELL_TYPES] = {"i1", "u1", "i2", "u2", "i4", "u4",
                                                    "i8", "u8", "f2", "f4", "f8"};

/* A file of this version with this header and these bytes behind it. */
static void write_raw(const char *path, int version, const char *header, uint64_t length,
                      const void *cells, uint64_t bytes) {
  const uint64_t at = version == 1 ? 10 : 12;
  unsigned char *all = calloc(at + length + bytes, 1);
  ck_assert_ptr_nonnull(all);
  memcpy(all, "\x93NUMPY", 6);
  all[6] = (unsigned char)version;
  for (uint64_t i = 8; i < at; i++)
    all[i] = (unsigned char)(length >> 8 * (i - 8));
  memcpy(all + at, header, length);
  if (bytes > 0)
    memcpy(all + at + length, cells, bytes);
  testing_write_file(path, all, at + length + bytes);
  free(all);
}

static void swap_cells(unsigned char *cells, uint64_t bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t b = 0; b < bytes / 2; b++) {
      const unsigned char byte = cells[i * bytes + b];
      cells[i * bytes + b] = cells[i * bytes + bytes - 1 - b];
      cells[i * bytes + bytes - 1 - b] = byte;
    }
}

static void check_array(const char *path, amped_cell_type type, bool fortran, bool big,
                        int version) {
  const uint64_t dims[4] = {3, 5, 2, 7};
  char header[256];
  amped_npy *file = NULL;
  amped_dense_info info = testing_dense_info(type, 4, dims);
  for (int m = 0; m < 4 && fortran; m++)
    info.layout[m] = 3 - m;
  unsigned char *cells = testing_cells(&info);
  if (big)
    swap_cells(cells, amped_cell_bytes(type), info.cells);
  (void)snprintf(header, sizeof header,
                 "{'descr': '%c%s', 'fortran_order': %s, 'shape': (3, 5, 2, 7), }   \n",
                 amped_cell_bytes(type) == 1 ? '|'
                 : big                       ? '>'
                                             : '<',
                 codes[type], fortran ? "True" : "False");
  write_raw(path, version, header, strlen(header), cells, info.cells * amped_cell_bytes(type));
  free(cells);
  check_ok(amped_npy_open(path, &file));
  const amped_dense_info *found = amped_npy_info(file);
  ck_assert_int_eq(found->order, 4);
  ck_assert_int_eq(found->type, type);
  ck_assert_uint_eq(found->cells, info.cells);
  ck_assert(!found->has_stats);
  for (int m = 0; m < 4; m++) {
    ck_assert_uint_eq(found->dims[m], dims[m]);
    ck_assert_int_eq(found->layout[m], info.layout[m]);
  }
  TESTING_BOXES(40, &info, amped_npy_read, file)
  amped_npy_close(file);
}

START_TEST(every_type_order_and_version_is_read) {
  const char *path = testing_path("x.npy");
  for (int type = 0; type < AMPED_CELL_TYPES; type++)
    for (int kind = 0; kind < 4; kind++)
      check_array(path, (amped_cell_type)type, kind % 2 == 1, kind / 2 == 1, 1 + (type + kind) % 3);
  (void)remove(path);
  check_no_leak();
}

/* Runs of a box lie far apart, or side by side, in a file larger than a window. */
START_TEST(large_files_are_read_in_runs) {
  const uint64_t dims[3] = {70, 130, 350};
  const char *path = testing_path("large.npy");
  const char header[] = "{'descr': '<i4', 'fortran_order': False, 'shape': (70, 130, 350)}";
  const uint64_t boxes[][6] = {{0, 0, 0, 70, 130, 1},   {1, 2, 3, 69, 128, 340},
                               {0, 0, 60, 70, 130, 80}, {5, 0, 0, 60, 130, 350},
                               {69, 129, 349, 1, 1, 1}, {0, 3, 0, 70, 1, 350}};
  amped_npy *file = NULL;
  const amped_dense_info info = testing_dense_info(AMPED_CELL_I32, 3, dims);
  void *cells = testing_cells(&info);
  write_raw(path, 1, header, strlen(header), cells, 4 * info.cells);
  check_ok(amped_npy_open(path, &file));
  for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
    check_ok(amped_npy_read(file, boxes[i], boxes[i] + 3, cells));
    testing_check_box(&info, boxes[i], boxes[i] + 3, cells);
  }
  const uint64_t beyond[6] = {0, 0, 300, 1, 1, 51};
  check_fails(AMPED_FAILED, "mode 3 has no indices 300 + 51",
              amped_npy_read(file, beyond, beyond + 3, cells));
  amped_npy_close(file);
  free(cells);
  (void)remove(path);
  check_no_leak();
}

static void check_refused(const char *expected, int version, const char *header, uint64_t bytes) {
  static const char zeros[4096];
  const char *path = testing_path("bad.npy");
  amped_npy *file = NULL;
  write_raw(path, version, header, strlen(header), zeros, bytes);
  check_fails(AMPED_BAD_INPUT, expected, amped_npy_open(path, &file));
  ck_assert_ptr_null(file);
  (void)remove(path);
  check_no_leak();
}

#define HEADER(descr, order, shape)                                                                \
  "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"

START_TEST(bad_headers_are_refused) {
  check_refused("version", 4, HEADER("'<f4'", "False", "(2, 3, 4)"), 96);
  check_refused("cut off, save", 1, HEADER("'<f4'", "False", "(2, 3, 4)"), 95);
  check_refused("too long, save", 1, HEADER("'<f4'", "False", "(2, 3, 4)"), 97);
  check_refused("1 dimensions", 1, HEADER("'<f4'", "False", "(2,)"), 8);
  check_refused("0 dimensions", 1, HEADER("'<f4'", "False", "()"), 4);
  check_refused("9 dimensions", 1, HEADER("'|u1'", "False", "(1,1,1,1,1,1,1,1,1)"), 1);
  check_refused("no cells", 1, HEADER("'<f4'", "False", "(2, 0, 4)"), 0);
  check_refused("complex", 1, HEADER("'<c8'", "False", "(2, 3, 4)"), 192);
  check_refused("Python objects", 1, HEADER("'|O'", "False", "(2, 3, 4)"), 192);
  check_refused("booleans", 1, HEADER("'|b1'", "False", "(2, 3, 4)"), 24);
  check_refused("text", 1, HEADER("'<U3'", "False", "(2, 3, 4)"), 288);
  check_refused("structured", 1, HEADER("[('a', '<f4')]", "False", "(2, 3, 4)"), 96);
  check_refused("no integers or floats", 1, HEADER("'<f16'", "False", "(2, 3, 4)"), 384);
  check_refused("no integers or floats", 1, HEADER("'|f4'", "False", "(2, 3, 4)"), 96);
  check_refused("no integers or floats", 1, HEADER("'f4'", "False", "(2, 3, 4)"), 96);
  check_refused("neither True nor False", 1, HEADER("'<f4'", "Maybe", "(2, 3, 4)"), 96);
  check_refused("without a shape", 1, HEADER("'<f4'", "False", "[2, 3, 4]"), 96);
  check_refused("not a list of dimensions", 1, HEADER("'<f4'", "False", "(2, -3, 4)"), 96);
  check_refused("not a list of dimensions", 1,
                HEADER("'<f4'", "False", "(2, 18446744073709551616, 4)"), 96);
  check_refused("63 bits", 1, HEADER("'<f4'", "False", "(4294967296, 4294967296, 4294967296)"), 96);
  check_refused("63 bits", 1, HEADER("'<f4'", "False", "(4294967296, 536870912, 1)"), 96);
  check_refused("cut off", 1, HEADER("'<f4'", "False", "(4294967296, 134217728, 1)"), 96);
  check_refused("shape does not end", 1, HEADER("'<f4'", "False", "(2 3 4)"), 96);
  check_refused("lacks", 1, "{'descr': '<f4', 'shape': (2, 3, 4)}", 96);
  check_refused("not a dictionary", 1, "[1, 2]", 96);
  check_refused("not a dictionary", 1, "{'descr': '<f4', 'descr': '<f4'}", 96);
  check_refused("does not end", 1, "{'descr': '<f4' 'shape': (2, 3, 4)", 96);
  check_refused("not a dictionary of", 1, "{'descr': '<f4', ", 96);
  check_refused("after its dictionary", 1,
                "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4)} x", 96);
}

START_TEST(python_2_and_double_quotes_are_read) {
  const char header[] = "{\"shape\": (2L, 3L, 4L), \"fortran_order\":False,\"descr\":\"|u1\"}";
  amped_npy_header h;
  check_ok(amped_npy_header_read(header, strlen(header), "x", &h));
  ck_assert_uint_eq(h.info.cells, 24);
  ck_assert_int_eq(h.info.type, AMPED_CELL_U8);
}

START_TEST(cut_and_missing_files_are_refused) {
  const char *path = testing_path("cut.npy");
  const char whole[] = "\x93NUMPY\x01\x00\x46\x00{'descr': '<f4'";
  amped_npy *file = NULL;
  check_fails(AMPED_BAD_INPUT, "", amped_npy_open("testing.missing.npy", &file));
  check_fails(AMPED_BAD_INPUT, "not a regular file", amped_npy_open("/dev/null", &file));
  for (size_t bytes = 0; bytes < sizeof whole; bytes++) {
    testing_write_file(path, whole, bytes);
    check_fails(AMPED_BAD_INPUT, "", amped_npy_open(path, &file));
  }
  testing_write_file(path, "\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  check_fails(AMPED_BAD_INPUT, "cut off or too long", amped_npy_open(path, &file));
  (void)remove(path);
  check_no_leak();
}

/* Whatever a header says: it is read or refused, and what is read is within bounds. */
START_TEST(any_header_is_read_or_refused) {
  static const char sound[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }\n";
  static const char letters[] = "'\"{}()[],:<>|=0123456789LTF \n\\fiuO\0\xff";
  for (uint64_t lot = 0; lot < 40000; lot++) {
    char text[sizeof sound];
    amped_npy_header h;
    memcpy(text, sound, sizeof sound);
    const uint64_t changes = 1 + lot % 4;
    for (uint64_t i = 0; i < changes; i++) {
      const uint64_t bits = amped_random_u64(3, lot, i);
      text[bits % (sizeof sound - 1)] = letters[(bits >> 16) % (sizeof letters - 1)];
    }
    const uint64_t length = lot % 5 == 0 ? lot % sizeof sound : sizeof sound - 1;
    char *exact = malloc(length + 1); /* sanitizers see a read behind the end */
    ck_assert_ptr_nonnull(exact);
    exact = realloc(exact, length > 0 ? length : 1);
    memcpy(exact, text, length);
    const amped_status status = amped_npy_header_read(exact, length, "x", &h);
    ck_assert(status == AMPED_OK || status == AMPED_BAD_INPUT);
    if (status == AMPED_OK)
      ck_assert(h.info.order >= AMPED_MIN_ORDER && h.info.order <= 8 && h.info.cells > 0);
    amped_status_clear();
    free(exact);
  }
}

/* All cells, in pieces of some odd number. */
static void write_cells(const char *path, const amped_dense_info *info) {
  const uint64_t bytes = amped_cell_bytes(info->type);
  amped_npy_writer *w = NULL;
  char *cells = testing_cells(info);
  check_ok(amped_npy_writer_create(path, info, &w));
  for (uint64_t first = 0; first < info->cells; first += 99991)
    check_ok(amped_npy_writer_append(w, info->cells - first < 99991 ? info->cells - first : 99991,
                                     cells + first * bytes));
  check_fails(AMPED_FAILED, "and more come", amped_npy_writer_append(w, 1, cells));
  check_ok(amped_npy_writer_publish(w));
  free(cells);
}

START_TEST(what_is_written_is_read) {
  const uint64_t dims[3] = {9, 11, 13000};
  const char *path = testing_path("w.npy");
  amped_npy *file = NULL;
  for (int type = 0; type < AMPED_CELL_TYPES; type++) {
    amped_dense_info info = testing_dense_info((amped_cell_type)type, 3, dims);
    write_cells(path, &info);
    check_ok(amped_npy_open(path, &file));
    TESTING_BOXES(4, &info, amped_npy_read, file)
    amped_npy_close(file);
  }
  const uint64_t more[3] = {90, 110, 130};
  amped_dense_info info = testing_dense_info(AMPED_CELL_F64, 3, more);
  amped_npy_writer *w = NULL;
  const double one = 1.0;
  check_ok(amped_npy_writer_create(path, &info, &w));
  check_ok(amped_npy_writer_append(w, 1, &one));
  amped_npy_writer_discard(w);
  check_ok(amped_npy_open(path, &file)); /* the old one */
  amped_npy_close(file);
  (void)remove(path);
  check_no_leak();
}

TESTING_MAIN("io_npy", every_type_order_and_version_is_read, large_files_are_read_in_runs,
             bad_headers_are_refused, python_2_and_double_quotes_are_read,
             cut_and_missing_files_are_refused, any_header_is_read_or_refused,
             what_is_written_is_read)
