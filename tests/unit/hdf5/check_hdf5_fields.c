/* Fields of a record: written, read, as words, and compared with their ranges. */
#include "hdf5/hdf5_fields.h"

#include <fcntl.h>
#include <math.h>

#include "base/mem.h"
#include "tests/lib/testing_hdf5.h"

#define ORDER 3

typedef struct record {
  uint64_t count, many[AMPED_MAX_ORDER];
  int level;
  bool on, each[AMPED_MAX_ORDER];
  double share, extra, pulls[AMPED_MAX_ORDER];
  const char *name, *note;
} record;

#define AT(kind, member) AMPED_FIELD_AT(kind, record, member)
static const amped_field fields[] = {
    {.name = "count", .at = AT(COUNT, count), .least = 1, .most = AMPED_MAX_DIM},
    {.name = "many", .at = AT(COUNT, many), .is_list = true},
    {.name = "level", .at = AT(INT, level), .least = -1, .most = 7},
    {.name = "on", .at = AT(BOOL, on)},
    {.name = "each", .at = AT(BOOL, each), .is_list = true},
    {.name = "share", .at = AT(REAL, share), .most = AMPED_BELOW_1},
    {.name = "extra",
     .at = AT(REAL, extra),
     .is_optional = true,
     .least = -AMPED_FINITE,
     .most = AMPED_FINITE},
    {.name = "pulls",
     .at = AT(REAL, pulls),
     .is_list = true,
     .least = AMPED_ABOVE_0,
     .most = AMPED_FINITE},
    {.name = "name", .at = AT(TEXT, name)},
    {.name = "note", .at = AT(TEXT, note), .is_optional = true},
};
#define FIELDS (sizeof fields / sizeof fields[0])

static const record good = {.count = 5,
                            .many = {UINT64_MAX, 0, 9},
                            .level = -1,
                            .on = true,
                            .each = {true, false, true},
                            .share = 0.25,
                            .extra = -2.5,
                            .pulls = {1.0, 0.5, 1e300},
                            .name = "a name",
                            .note = ""};

static void write_record(const char *path, const record *r) {
  amped_hdf5 file;
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  ck_assert_int_ge(fd, 0);
  check_ok(amped_hdf5_create(fd, path, &file));
  check_ok(amped_fields_put(&file, fields, FIELDS, ORDER, r));
  check_ok(amped_hdf5_finish(&file));
  amped_hdf5_close(&file);
  (void)close(fd);
}

static amped_status read_record(const char *path, record *r) {
  amped_hdf5 file;
  const int fd = open(path, O_RDONLY);
  *r = (record){.count = 0};
  check_ok(amped_hdf5_open_trusted(fd, path, NULL, &file));
  amped_status status = amped_fields_get(&file, fields, FIELDS, ORDER, r);
  amped_hdf5_close(&file);
  (void)close(fd);
  return status;
}

START_TEST(a_record_comes_back) {
  const char *path = testing_path("fields.h5");
  record r;
  write_record(path, &good);
  check_ok(read_record(path, &r));
  ck_assert_uint_eq(r.count, 5);
  ck_assert_int_eq(r.level, -1);
  ck_assert(r.on);
  ck_assert_double_eq(r.share, 0.25);
  ck_assert_double_eq(r.extra, -2.5);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    ck_assert_uint_eq(r.many[m], good.many[m]);
    ck_assert_int_eq(r.each[m], good.each[m]);
    ck_assert_double_eq(r.pulls[m], good.pulls[m]);
  }
  ck_assert_str_eq(r.name, "a name");
  ck_assert_str_eq(r.note, "");
  amped_fields_free(fields, FIELDS, &r);
  (void)remove(path);
  check_no_leak();
}
END_TEST

START_TEST(only_optional_fields_may_be_missing) {
  const char *path = testing_path("fields.h5");
  record r = good;
  r.extra = 0.0;
  r.note = NULL;
  write_record(path, &r);
  hid_t h = testing_h5_modify(path);
  ck_assert_int_eq(H5Aexists(h, "extra"), 0);
  ck_assert_int_eq(H5Aexists(h, "note"), 0);
  h5(H5Fclose(h));
  check_ok(read_record(path, &r));
  ck_assert_double_eq(r.extra, 0.0);
  ck_assert_ptr_null(r.note);
  amped_fields_free(fields, FIELDS, &r);
  h = testing_h5_modify(path);
  h5(H5Adelete(h, "share"));
  h5(H5Fclose(h));
  check_fails(AMPED_BAD_INPUT, "attribute share of / is missing", read_record(path, &r));
  amped_fields_free(fields, FIELDS, &r);
  (void)remove(path);
  check_no_leak();
}
END_TEST

START_TEST(words_are_numbers_and_back) {
  for (size_t i = 0; i < FIELDS && fields[i].at.type != AMPED_FIELD_TEXT; i++)
    for (int m = 0; m < (fields[i].is_list ? ORDER : 1); m++) {
      record r = {.count = 0};
      const uint64_t word = amped_field_word(&fields[i], &good, m);
      amped_field_set(&fields[i], m, word, &r);
      ck_assert_uint_eq(amped_field_word(&fields[i], &r, m), word);
    }
  record r = good;
  ck_assert_uint_eq(amped_field_word(&fields[2], &r, 0), 0); /* level -1 */
  amped_field_set(&fields[2], 0, UINT64_C(1) << 32, &r);
  ck_assert_int_eq(r.level, INT32_MAX);
}
END_TEST

/* The field that is named, in a record with one change. */
#define WRONG(change) (r = good, (void)(r.change), amped_fields_wrong(fields, FIELDS, ORDER, &r))

START_TEST(numbers_out_of_their_range_are_named) {
  record r;
  ck_assert_ptr_null(WRONG(count = AMPED_MAX_DIM));
  ck_assert_str_eq(WRONG(count = AMPED_MAX_DIM + 1), "count");
  ck_assert_str_eq(WRONG(count = 0), "count");
  ck_assert_str_eq(WRONG(level = -2), "level");
  ck_assert_str_eq(WRONG(level = 8), "level");
  ck_assert_ptr_null(WRONG(level = 7));
  ck_assert_ptr_null(WRONG(share = nextafter(1.0, 0.0)));
  ck_assert_str_eq(WRONG(share = 1.0), "share");
  ck_assert_str_eq(WRONG(share = -1e-300), "share");
  ck_assert_str_eq(WRONG(extra = (double)NAN), "extra");
  ck_assert_str_eq(WRONG(extra = -(double)INFINITY), "extra");
  ck_assert_ptr_null(WRONG(pulls[2] = nextafter(0.0, 1.0)));
  ck_assert_str_eq(WRONG(pulls[2] = 0.0), "pulls");
  ck_assert_ptr_null(WRONG(pulls[3] = 0.0)); /* no such mode */
}
END_TEST

TESTING_MAIN("hdf5_fields", a_record_comes_back, only_optional_fields_may_be_missing,
             words_are_numbers_and_back, numbers_out_of_their_range_are_named)
