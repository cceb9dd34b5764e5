/* Axes: labels from names and values, their digits, what is refused, and failed allocations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/lib/testing.h"
#include "text/axes.h"

#define ORDER 3

static void free_all(amped_labels *labels) {
  for (int m = 0; m < ORDER; m++)
    amped_labels_free(&labels[m]);
}

static amped_axis_options options_of(const char *modes, const char *axis) {
  amped_axis_options o = {.modes = modes, .count = axis != NULL};
  o.axes[0] = axis;
  return o;
}

static double value_at(const amped_labels *labels, uint64_t i) {
  char text[64];
  (void)amped_label_text(labels, i, text, sizeof text);
  return strtod(text, NULL);
}

/* Values are within a thousandth of a step, whatever the dimension and the range. */
START_TEST(evenly_spaced_values_are_distinct_and_close) {
  static const struct {
    const char *axis;
    double first, last;
    uint64_t dim;
  } cases[] = {{"2:250:450", 250, 450, 201},
               {"2:0:1", 0, 1, 3},
               {"2:450:250", 450, 250, 64},
               {"2:-1e-9:1e-9", -1e-9, 1e-9, 1001},
               {"2:1000000:1000001", 1e6, 1e6 + 1, 50},
               {"2:0:1", 0, 1, 100000},
               {"2:7:7", 7, 7, 1},
               {"2:-1:2", -1, 2, 4},
               {"2:+1.5:1e3", 1.5, 1e3, 2}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    const uint64_t dims[ORDER] = {2, cases[c].dim, 2};
    const double step =
        cases[c].dim > 1 ? (cases[c].last - cases[c].first) / (double)(cases[c].dim - 1) : 1.0;
    const amped_axis_options o = options_of(NULL, cases[c].axis);
    amped_labels labels[ORDER] = {{.count = 0}};
    check_ok(amped_axes_label(&o, "x.npy", ORDER, dims, labels));
    ck_assert_uint_eq(labels[1].count, cases[c].dim);
    ck_assert_uint_eq(labels[0].count, 0);
    for (uint64_t i = 0; i < cases[c].dim; i++) {
      ck_assert_double_le(fabs(value_at(&labels[1], i) - cases[c].first - step * (double)i),
                          1.1e-3 * fabs(step));
      ck_assert(value_at(&labels[1], i) == 0.0 ||
                fabs(value_at(&labels[1], i)) > 1e-3 * fabs(step));
      ck_assert(i == 0 || value_at(&labels[1], i) != value_at(&labels[1], i - 1));
    }
    free_all(labels);
  }
  check_no_leak();
}

START_TEST(names_replace_those_of_the_file) {
  const uint64_t dims[ORDER] = {2, 3, 4};
  const amped_axis_options o = options_of("a:b,1,c", "a:b:5:6");
  amped_labels labels[ORDER] = {{.count = 0}};
  char text[64];
  check_ok(amped_strdup(&labels[1].name, "old"));
  check_ok(amped_axes_label(&o, "x.npy", ORDER, dims, labels));
  ck_assert_str_eq(labels[1].name, "1");
  ck_assert_str_eq(amped_label_text(&labels[0], 1, text, sizeof text), "6");
  ck_assert_str_eq(amped_label_text(&labels[2], 3, text, sizeof text), "4");
  ck_assert(amped_labels_number_indices(&labels[1]));
  free_all(labels);
  check_no_leak();
}

START_TEST(nothing_given_changes_nothing) {
  const uint64_t dims[ORDER] = {2, 3, 4};
  const amped_axis_options o = options_of(NULL, NULL);
  amped_labels labels[ORDER] = {{.count = 0}};
  check_ok(amped_axes_label(NULL, "x.npy", ORDER, dims, labels));
  check_ok(amped_axes_label(&o, "x.npy", ORDER, dims, labels));
  check_ok(amped_axes_refuse(&o, "x.npy"));
  check_ok(amped_axes_refuse(NULL, "x.npy"));
  ck_assert_uint_eq(labels[0].count, 0);
  ck_assert_ptr_null(labels[0].name);
}

START_TEST(an_axis_has_a_mode_and_values) {
  static const char *const wrong[] = {"wave", ":1:2", "wave:", ""};
  const amped_option *row = &amped_axis_option_rows.rows[1];
  amped_axis_options o = {.count = 0};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    ck_assert(!amped_option_set(row, &o, wrong[i]));
  for (int i = 0; i < AMPED_MAX_ORDER; i++)
    ck_assert(amped_option_set(row, &o, "1:2:3"));
  ck_assert(!amped_option_set(row, &o, "1:2:3")); /* more axes than modes */
}

/* Lines of a file: long, without an end, with blanks and a byte-order mark around values. */
START_TEST(lines_become_labels) {
  const uint64_t dims[ORDER] = {2, 3, 4};
  const char *path = testing_path("axis.txt");
  char long_line[5000];
  char axis[512];
  char text[64];
  (void)snprintf(axis, sizeof axis, "1:%s", path);
  const amped_axis_options o = options_of(NULL, axis);
  amped_labels labels[ORDER] = {{.count = 0}};
  static const char fine[] = "\xef\xbb\xbfone \r\n\t two";
  testing_write_file(path, fine, sizeof fine - 1);
  check_ok(amped_axes_label(&o, "x.npy", ORDER, dims, labels));
  ck_assert_str_eq(amped_label_text(&labels[0], 0, text, sizeof text), "one");
  ck_assert_str_eq(amped_label_text(&labels[0], 1, text, sizeof text), "two");
  free_all(labels);
  memset(long_line, 'x', sizeof long_line);
  testing_write_file(path, long_line, sizeof long_line);
  check_fails(AMPED_BAD_INPUT, "line 1 has more than 4096 bytes",
              amped_axes_label(&o, "x.npy", ORDER, dims, labels));
  testing_write_file(path, "", 0);
  check_fails(AMPED_BAD_INPUT, "is empty", amped_axes_label(&o, "x.npy", ORDER, dims, labels));
  free_all(labels);
  const uint64_t one[ORDER] = {1, 3, 4};
  const amped_axis_options range = options_of(NULL, "1:7:9");
  check_fails(AMPED_USAGE, "one index", amped_axes_label(&range, "x.npy", ORDER, one, labels));
  free_all(labels);
  (void)remove(path);
  check_no_leak();
}

START_TEST(every_failed_allocation_is_survived) {
  const uint64_t dims[ORDER] = {2, 30, 4};
  const amped_axis_options o = options_of("a,b,c", "b:0:1");
  amped_status status = AMPED_FAILED;
  for (int64_t k = 0; status != AMPED_OK; k++) {
    amped_labels labels[ORDER] = {{.count = 0}};
    ck_assert_int_lt(k, 100);
    amped_mem_fail_at(k);
    status = amped_axes_label(&o, "x.npy", ORDER, dims, labels);
    amped_mem_fail_at(-1);
    ck_assert(status == AMPED_OK || status == AMPED_FAILED);
    free_all(labels);
    amped_status_clear();
    check_no_leak();
  }
}

TESTING_MAIN("axes", evenly_spaced_values_are_distinct_and_close, names_replace_those_of_the_file,
             nothing_given_changes_nothing, an_axis_has_a_mode_and_values, lines_become_labels,
             every_failed_allocation_is_survived)
