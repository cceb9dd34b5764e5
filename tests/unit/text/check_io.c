/* The format of a name, options that do not apply to a format, and reading by suffix. */
#include <sys/stat.h>

#include "text/io.h"
#include "text/io_stream.h"
#include "text/io_tns.h"
#include "tests/lib/testing.h"

static const amped_read_options no_options = {.index_base = AMPED_BASE_AUTO};

START_TEST(suffixes_tell_formats) {
  static const struct {
    const char *path;
    amped_format format;
  } known[] = {{"-", AMPED_FORMAT_TNS},          {"a.tns", AMPED_FORMAT_TNS},
               {"b/a.tns.gz", AMPED_FORMAT_TNS}, {"a.TNS.ZST", AMPED_FORMAT_TNS},
               {"a.coo", AMPED_FORMAT_TNS},      {"a.txt.gz", AMPED_FORMAT_TNS},
               {"a.csv", AMPED_FORMAT_TABLE},    {"a.tsv.gz", AMPED_FORMAT_TABLE},
               {"a.b.h5", AMPED_FORMAT_HDF5},    {"a.hdf5", AMPED_FORMAT_HDF5}};
  static const char *const unknown[] = {"",    "a",    "a.tns.xz", "tns",
                                        ".gz", "a.gz", "a.json",   "a.h5x"};
  amped_format format = AMPED_FORMAT_TNS;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    check_ok(amped_io_format(known[i].path, &format));
    ck_assert_int_eq(format, known[i].format);
  }
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
    check_fails(AMPED_USAGE, "unknown suffix", amped_io_format(unknown[i], &format));
  check_fails(AMPED_USAGE, "decompress", amped_io_format("a.h5.gz", &format));
}

START_TEST(options_tell_the_format_of_a_stream) {
  const amped_read_options none = {.index_base = AMPED_BASE_AUTO};
  const amped_read_options table = {.index_base = AMPED_BASE_AUTO, .no_header = true};
  const amped_read_options tsv = {.index_base = AMPED_BASE_AUTO, .format = AMPED_READ_TSV};
  const char *pipe = testing_path("pipe");
  amped_format format = AMPED_FORMAT_HDF5;
  ck_assert_int_eq(mkfifo(pipe, 0600), 0);
  const char *const names[] = {"-", "/dev/stdin", "/dev/fd/63", pipe};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    check_ok(amped_io_input_format(names[i], &none, &format));
    ck_assert_int_eq(format, AMPED_FORMAT_TNS);
    check_ok(amped_io_input_format(names[i], &table, &format));
    ck_assert_int_eq(format, AMPED_FORMAT_TABLE);
  }
  unlink(pipe);
  check_ok(amped_io_input_format("a.tns", &tsv, &format));
  ck_assert_int_eq(format, AMPED_FORMAT_TABLE);
  check_ok(amped_io_input_format("a.h5", &table, &format));
  ck_assert_int_eq(format, AMPED_FORMAT_HDF5);
  check_fails(AMPED_USAGE, "--format", amped_io_input_format("a.doc", &table, &format));
}

START_TEST(options_of_other_formats_are_refused) {
  amped_sptensor t = {0};
  amped_read_options base = {.index_base = AMPED_BASE_1};
  amped_read_options dims = {.index_base = AMPED_BASE_AUTO, .dims_order = 3, .dims = {1, 1, 1}};
  amped_read_options keys = {.index_base = AMPED_BASE_AUTO, .keys = "a,b,c"};
  amped_read_options value = {.index_base = AMPED_BASE_AUTO, .value = "a"};
  amped_read_options value_of_text = {
      .index_base = AMPED_BASE_AUTO, .value = "a", .format = AMPED_READ_TNS};
  check_fails(AMPED_USAGE, "--index-base", amped_io_read("a.csv", &base, &t));
  check_fails(AMPED_USAGE, "--index-base", amped_io_read("a.h5", &base, &t));
  check_fails(AMPED_USAGE, "--dims", amped_io_read("a.tsv", &dims, &t));
  check_fails(AMPED_USAGE, "--dims", amped_io_read("a.h5", &dims, &t));
  check_fails(AMPED_USAGE, "--keys", amped_io_read("a.tns", &keys, &t));
  check_fails(AMPED_USAGE, "--keys", amped_io_read("a.h5", &keys, &t));
  check_fails(AMPED_USAGE, "--value", amped_io_read("-", &value_of_text, &t));
  check_fails(AMPED_USAGE, "--value", amped_io_read("a.hdf5", &value, &t));
  dims.dims_order = 1;
  check_fails(AMPED_USAGE, "--dims", amped_io_read("a.tns", &dims, &t));
  check_fails(AMPED_USAGE, "unknown suffix", amped_io_read("a.doc", &keys, &t));
  check_no_leak();
}

START_TEST(files_are_read_by_their_suffix) {
  amped_read_options o = {.index_base = AMPED_BASE_AUTO};
  amped_sptensor t = {0};
  char path[256];
  (void)snprintf(path, sizeof path, "%s", testing_path("in.coo"));
  testing_write_file(path, "1 2 3 4\n1 2 3 5\n", 16);
  check_ok(amped_io_read(path, &o, &t));
  ck_assert_uint_eq(t.nnz, 2); /* duplicates stay */
  amped_sptensor_free(&t);
  unlink(path);
  (void)snprintf(path, sizeof path, "%s", testing_path("in.csv"));
  testing_write_file(path, "a,b,c\nx,y,z\n", 12);
  check_ok(amped_io_read(path, &o, &t));
  ck_assert_uint_eq(t.labels[0].count, 1);
  amped_sptensor_free(&t);
  unlink(path);
  check_fails(AMPED_BAD_INPUT, "No such file", amped_io_read("no-such.tns", &o, &t));
  check_fails(AMPED_BAD_INPUT, "no-such.h5", amped_io_read("no-such.h5", &o, &t));
  check_no_leak();
}

START_TEST(a_truncated_compressed_file_is_told) {
  amped_read_options o = {.index_base = AMPED_BASE_AUTO};
  static const char *const names[] = {"cut.tns.gz", "cut.tns.zst"};
  amped_sptensor t = {0};
  check_ok(amped_sptensor_create(&t, 3, 100));
  for (int m = 0; m < 3; m++)
    t.dims[m] = 100;
  for (uint64_t k = 0; k < 100; k++) {
    t.indices[0][k] = t.indices[1][k] = t.indices[2][k] = k;
    t.values[k] = 1.0 / (double)(k + 1);
  }
  for (size_t i = 0; i < 2; i++) {
    amped_sptensor back = {0};
    const char *path = testing_path(names[i]);
    check_ok(amped_tns_write(path, &t, false));
    ck_assert_int_eq(truncate(path, 500), 0);
    check_fails(AMPED_BAD_INPUT, "truncated", amped_io_read(path, &o, &back));
    ck_assert_ptr_null(back.values);
    unlink(path);
  }
  amped_sptensor_free(&t);
  check_no_leak();
}

/* Whatever the name is, and compressed or not: it is never taken for text. */
START_TEST(what_is_no_text_is_called_by_its_kind) {
  static const struct {
    const char *bytes;
    size_t count;
    const char *message;
  } cases[] = {
      {"\xfd"
       "7zXZ\0\0\4",
       8, "compressed with xz; decompress it first: xz -dk FILE"},
      {"BZh91AY&SY..", 12, "bzip2"},
      {"BZh1\x17\x72\x45\x38\x50\x90\0\0\0\0", 14, "bzip2"},
      {"\x04\x22\x4d\x18\x64\x40", 6, "lz4"},
      {"\x02\x21\x4c\x18\x64\x40", 6, "lz4"},
      {"LZIP\1\x0c", 6, "lzip"},
      {"\x5d\0\0\x80\0", 5, "lzma"},
      {"\x1f\x9d\x90", 3, "compress (.Z)"},
      {"PK\3\4\x14\0\0\0", 8, "zip archive"},
      {"7z\xbc\xaf\x27\x1c\0\4", 8, "7z archive"},
      {"\x89HDF\r\n\x1a\n\0", 9,
       "an HDF5 file; a tensor needs the suffix .h5 (amped_mpi info FILE says what it is)"},
      {"\x93NUMPY\1\0", 8, "suffix .npy"},
      {"PAR1\x15\0", 6, "Parquet"},
      {"FEA1\0\0", 6, "Feather"},
      {"Obj\1\4\x16", 6, "Avro"},
      {"\x80\4\x95\0", 4, "a pickle of Python"},
      {"MATLAB 5.0 MAT-file, Platform", 29, "save it with -v7.3"},
      {"CDF\1\0\0", 6, "nccopy"},
      {"\xff\xfe"
       "1\0 \0",
       6, "UTF-16"},
      {"\xfe\xff\0"
       "1\0 ",
       6, "UTF-16"},
      {"1\0 \0"
       "1\0",
       6, "iconv -f UTF-16LE"},
      {"\0"
       "1\0 \0"
       "1",
       6, "iconv -f UTF-16BE"},
      {"\xff\xfe\0\0"
       "1\0\0\0",
       8, "UTF-32"},
  };
  static const char *const names[] = {"a.tns", "a.csv", "a.tsv.gz", "a.tns.zst", "a.tns.xz"};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (size_t n = 0; n < 5; n++)
      for (int packed = 0; packed < (n == 2 || n == 3 ? 2 : 1); packed++) {
        const char *path = testing_path(names[n]);
        amped_sptensor t;
        if (packed == 0)
          testing_write_file(path, cases[i].bytes, cases[i].count);
        else {
          amped_stream *stream = NULL;
          check_ok(amped_stream_create(path, &stream));
          check_ok(amped_stream_write(stream, cases[i].bytes, cases[i].count));
          check_ok(amped_stream_finish(stream));
        }
        check_fails(AMPED_BAD_INPUT, cases[i].message, amped_io_read(path, &no_options, &t));
        unlink(path);
      }
  check_no_leak();
}

START_TEST(stem_is_what_stands_before_format_and_compression) {
  ck_assert_uint_eq(amped_io_stem("a/b.tns.gz"), 3);
  ck_assert_uint_eq(amped_io_stem("b.CSV.Zst"), 1);
  ck_assert_uint_eq(amped_io_stem("b.H5"), 1);
  ck_assert_uint_eq(amped_io_stem("b.txt.tns"), 5);
  ck_assert_uint_eq(amped_io_stem(".tns"), 4);
  ck_assert_uint_eq(amped_io_stem("b"), 1);
}

TESTING_MAIN("io", suffixes_tell_formats, options_tell_the_format_of_a_stream,
             options_of_other_formats_are_refused, files_are_read_by_their_suffix,
             a_truncated_compressed_file_is_told, what_is_no_text_is_called_by_its_kind,
             stem_is_what_stands_before_format_and_compression)
