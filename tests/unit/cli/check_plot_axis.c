/* Plot axis: in which order a mode stands, and where its ticks are. */
#include <string.h>

#include "cli/plot/plot_axis.h"
#include "base/mem.h"
#include "tests/lib/testing.h"

enum { most_labels = 4000, most_bytes = 100000, width = 320 };

/* A mode of labels that printf makes of 0, 1, ..., last number first. */
static char bytes[most_bytes];
static uint64_t offsets[most_labels + 1];
static amped_ktensor model;

static void begin(uint64_t dim) {
  memset(&model, 0, sizeof model);
  model.order = 1;
  model.dims[0] = dim;
}

static void add_label(const char *text) {
  amped_labels *labels = &model.labels[0];
  labels->bytes = bytes;
  labels->offsets = offsets;
  memcpy(bytes + offsets[labels->count], text, strlen(text));
  offsets[labels->count + 1] = offsets[labels->count] + strlen(text);
  labels->count++;
}

typedef struct tick {
  char text[AMPED_PLOT_TEXT_BYTES];
  unsigned place;
} tick;

/* The ticks that the script has, which do not touch each other. */
static int ticks_of(const amped_plot_axis *axis, tick *ticks) {
  char *script = NULL;
  size_t size = 0;
  int count = 0;
  double free_from = -1e9;
  amped_plot f = {.script = open_memstream(&script, &size)};
  amped_plot_axis_ticks(&f, axis, 'x', width);
  ck_assert_int_eq(fclose(f.script), 0);
  ck_assert_int_eq(strncmp(script, "set xtics (", 11), 0);
  for (const char *at = strchr(script, '\''); at != NULL; at = strchr(at, '\'')) {
    tick *t = &ticks[count++];
    ck_assert_int_eq(sscanf(at, "'%[^']' %u", t->text, &t->place), 2);
    double middle = (t->place - 0.5) * width / (double)axis->dim;
    double half = 0.5 * amped_plot_text_width(t->text);
    ck_assert_msg(middle - half >= free_from, "%s touches the tick before it", t->text);
    free_from = middle + half;
    at = strchr(strchr(at + 1, '\'') + 1, ' ');
  }
  free(script);
  return count;
}

/* The first ticks of the mode, a bar between two of them. */
static void check_ticks(const char *wanted) {
  char found[1024] = "";
  tick ticks[64];
  amped_plot_axis axis;
  check_ok(amped_plot_axis_create(&model, 0, &axis));
  ck_assert(axis.ordered);
  const int count = ticks_of(&axis, ticks);
  for (int i = 0; i < count; i++) {
    strcat(found, i > 0 ? "|" : "");
    strcat(found, ticks[i].text);
  }
  amped_plot_axis_free(&axis);
  check_no_leak();
  ck_assert_str_eq(found, wanted);
}

START_TEST(indices_without_labels_have_round_ticks) {
  begin(2);
  check_ticks("1|2");
  begin(40);
  check_ticks("5|10|15|20|25|30|35|40");
  begin(88496);
  check_ticks("20000|40000|60000|80000");
  begin(UINT64_C(1) << 62);
  tick ticks[64];
  amped_plot_axis axis;
  check_ok(amped_plot_axis_create(&model, 0, &axis));
  axis.dim = 9000000;
  ck_assert_int_ge(ticks_of(&axis, ticks), 2);
  amped_plot_axis_free(&axis);
}

START_TEST(years_stand_in_order_with_ticks_at_round_ones) {
  begin(131);
  for (int i = 0; i < 131; i++) {
    char text[16];
    (void)snprintf(text, sizeof text, "%d", 1880 + (i * 50) % 131);
    add_label(text);
  }
  check_ticks("1880|1900|1920|1940|1960|1980|2000");
  begin(5); /* not one round year */
  for (int i = 0; i < 5; i++) {
    char text[16];
    (void)snprintf(text, sizeof text, "%d", 100003 + 20 * i);
    add_label(text);
  }
  check_ticks("100003|100023|100043|100063|100083");
}

START_TEST(hours_stand_in_order) {
  begin(24);
  for (int i = 23; i >= 0; i--) {
    char text[16];
    (void)snprintf(text, sizeof text, "%d", i);
    add_label(text);
  }
  check_ticks("0|2|4|6|8|10|12|14|16|18|20|22");
  begin(24);
  for (int i = 23; i >= 0; i--) {
    char text[16];
    (void)snprintf(text, sizeof text, "%d:00", i);
    add_label(text);
  }
  check_ticks("0:00|4:00|8:00|12:00|16:00|20:00");
}

START_TEST(days_have_ticks_where_months_begin) {
  static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  begin(365);
  for (int m = 11; m >= 0; m--)
    for (int d = lengths[m]; d > 0; d--) {
      char text[32];
      (void)snprintf(text, sizeof text, "2013-%02d-%02d", m + 1, d);
      add_label(text);
    }
  check_ticks("2013-01-01|2013-04-01|2013-07-01|2013-10-01");
}

START_TEST(names_are_sorted_where_all_of_them_are_shown) {
  amped_plot_axis axis;
  char text[AMPED_PLOT_TEXT_BYTES];
  begin(3);
  add_label("sample 10");
  add_label("it's \"9\"");
  add_label("sample 2");
  check_ok(amped_plot_axis_create(&model, 0, &axis));
  ck_assert(!axis.ordered);
  ck_assert_uint_eq(amped_plot_axis_index(&axis, 1), 2);
  ck_assert_str_eq(amped_plot_axis_label(&axis, 1, text), "it\xe2\x80\x99s _9_");
  ck_assert_str_eq(axis.name, "mode 1");
  amped_plot_axis_free(&axis);
  check_no_leak();
}

START_TEST(labels_too_long_to_stand_side_by_side_are_thinned) {
  begin(40);
  for (int i = 0; i < 40; i++) {
    char text[40];
    (void)snprintf(text, sizeof text, "2013-01-01T%02d:%02d:00.000000000", i / 2, i % 2);
    add_label(text);
  }
  tick ticks[64];
  amped_plot_axis axis;
  check_ok(amped_plot_axis_create(&model, 0, &axis));
  ck_assert_int_ge(ticks_of(&axis, ticks), 1);
  amped_plot_axis_free(&axis);
  check_no_leak();
}

TESTING_MAIN("plot axis", indices_without_labels_have_round_ticks,
             years_stand_in_order_with_ticks_at_round_ones, hours_stand_in_order,
             days_have_ticks_where_months_begin, names_are_sorted_where_all_of_them_are_shown,
             labels_too_long_to_stand_side_by_side_are_thinned)
