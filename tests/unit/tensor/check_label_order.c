/* Label order: what labels are, and how they stand. */
#include <string.h>

#include "tensor/label_order.h"
#include "base/mem.h"
#include "tests/lib/testing.h"

enum { most_labels = 16, most_bytes = 512 };

/* Labels of a text: one between any two bars. */
static amped_labels labels_of(const char *text) {
  static char bytes[most_bytes];
  static uint64_t offsets[most_labels + 1];
  amped_labels labels = {.bytes = bytes, .offsets = offsets};
  uint64_t used = 0;
  ck_assert_uint_lt(strlen(text), most_bytes);
  for (const char *p = text; *text != '\0'; p++)
    if (*p == '|' || *p == '\0') {
      ck_assert_uint_lt(labels.count, most_labels);
      offsets[++labels.count] = used;
      if (*p == '\0')
        break;
    } else {
      bytes[used++] = *p;
    }
  return labels;
}

/* The labels in natural order, a bar between two of them. */
static void check_order(amped_label_kind kind, const char *wanted, const char *text) {
  char found[most_bytes] = "";
  uint64_t order[most_labels];
  const amped_labels labels = labels_of(text);
  ck_assert_msg(amped_label_kind_of(&labels) == kind, "%s: kind %d", text,
                (int)amped_label_kind_of(&labels));
  check_ok(amped_label_order(&labels, order));
  for (uint64_t k = 0; k < labels.count; k++) {
    uint64_t length = 0;
    const char *label = amped_label(&labels, order[k], &length);
    strcat(found, k > 0 ? "|" : "");
    strncat(found, label, length);
  }
  ck_assert_str_eq(found, wanted);
  check_no_leak();
}

START_TEST(numbers_stand_by_value) {
  check_order(AMPED_LABELS_NUMBERS, "0|2|9|10|100", "10|9|100|2|0");
  check_order(AMPED_LABELS_NUMBERS, "-10|-1.5|-1|0.25|.5|1e3", "1e3|.5|-1|0.25|-10|-1.5");
  check_order(AMPED_LABELS_NUMBERS, "07|7|8", "7|8|07");
  /* Above 2^53, where several whole numbers are one double. */
  check_order(AMPED_LABELS_NUMBERS, "9007199254740992|9007199254740993",
              "9007199254740993|9007199254740992");
  check_order(AMPED_LABELS_NUMBERS, "2012|2013|20130105", "20130105|2013|2012");
}

START_TEST(dates_stand_by_day) {
  check_order(AMPED_LABELS_DATES, "2012-12-31|2013-01-05|2013-1-10",
              "2013-1-10|2013-01-05|2012-12-31");
  check_order(AMPED_LABELS_DATES, "5.1.2013|10.1.2013|1.2.2013", "1.2.2013|10.1.2013|5.1.2013");
  check_order(AMPED_LABELS_DATES, "10/30/2013|11/2/2013", "11/2/2013|10/30/2013");
  check_order(AMPED_LABELS_DATES, "2/11/2013|30/11/2013|1/12/2013",
              "1/12/2013|30/11/2013|2/11/2013");
  check_order(AMPED_LABELS_DATES, "2/1/2013|1/2/2014", "1/2/2014|2/1/2013");
  check_order(AMPED_LABELS_DATES, "12/31/99|1/1/00", "1/1/00|12/31/99");
  check_order(AMPED_LABELS_DATES, "5 Jan 2013|1 Feb 2013", "1 Feb 2013|5 Jan 2013");
  check_order(AMPED_LABELS_DATES, "05-JAN-2013|01-FEB-2013", "01-FEB-2013|05-JAN-2013");
  check_order(AMPED_LABELS_DATES, "Jan 5, 2013|February 1, 2013", "February 1, 2013|Jan 5, 2013");
  check_order(AMPED_LABELS_DATES,
              "2013-02-28T23:00:00Z|2013-03-01T01:00:00+01:00|2013-03-01T00:30:00Z",
              "2013-03-01T00:30:00Z|2013-03-01T01:00:00+01:00|2013-02-28T23:00:00Z");
  check_order(AMPED_LABELS_DATES, "2012-02-29 9:00|2012-02-29 10:00|2012-03-01",
              "2012-03-01|2012-02-29 10:00|2012-02-29 9:00");
  check_order(AMPED_LABELS_DATES, "2013-01|2013-02|2014-01", "2014-01|2013-02|2013-01");
  check_order(AMPED_LABELS_DATES, "Dec 2012|Jan 2013|Feb 2013", "Feb 2013|Jan 2013|Dec 2012");
  check_order(AMPED_LABELS_DATES, "11.2024|12.2024|01.2025", "01.2025|11.2024|12.2024");
  check_order(AMPED_LABELS_DATES, "2024.02|2024.09|2024.10|2025.01",
              "2024.10|2024.09|2025.01|2024.02");
  /* A number that was 2024.10. */
  check_order(AMPED_LABELS_NUMBERS, "2024.01|2024.02|2024.09|2024.1|2024.11",
              "2024.1|2024.11|2024.02|2024.09|2024.01");
  check_order(AMPED_LABELS_DATES, "2024.2|2024.9|2024.10|2025.1", "2024.10|2024.9|2025.1|2024.2");
  check_order(AMPED_LABELS_NUMBERS, "1.1850|2.2024", "2.2024|1.1850"); /* no such year */
  check_order(AMPED_LABELS_NUMBERS, "0.1950|13.1960", "13.1960|0.1950");
  check_order(AMPED_LABELS_NUMBERS, "2013.25|2013.5", "2013.5|2013.25");
  check_order(AMPED_LABELS_DATES, "2012-W52|2013-W2|2013-W10", "2013-W10|2013-W2|2012-W52");
  check_order(AMPED_LABELS_DATES, "2012Q4|2013Q1", "2013Q1|2012Q4");
  check_order(AMPED_LABELS_DATES, "January|March|April|May", "April|January|March|May");
  check_order(AMPED_LABELS_DATES, "Mon|Wed|Sun", "Sun|Mon|Wed");
  /* Days that are in no calendar. */
  check_order(AMPED_LABELS_TEXT, "2013-02-30|2013-03-01|2013-03-02",
              "2013-03-02|2013-02-30|2013-03-01");
  check_order(AMPED_LABELS_TEXT, "29/2/2023|30/3/2023", "30/3/2023|29/2/2023");
  check_order(AMPED_LABELS_DATES, "2024-02-29|2024-12-31", "2024-12-31|2024-02-29");
  check_order(AMPED_LABELS_DATES, "Feb.|May|Aug.|Sept.", "May|Sept.|Feb.|Aug.");
  check_order(AMPED_LABELS_DATES, "Tues|Thurs|Fri", "Fri|Thurs|Tues");
  check_order(AMPED_LABELS_DATES, "Oct 2012|Jan. 2013|Sept 2013", "Sept 2013|Jan. 2013|Oct 2012");
  check_order(AMPED_LABELS_TEXT, "Mars|Mon|Tue", "Tue|Mars|Mon"); /* a planet */
}

START_TEST(times_stand_by_hour) {
  check_order(AMPED_LABELS_TIMES, "0:00|9:30|10:00|23:59:59.5", "23:59:59.5|10:00|9:30|0:00");
  check_order(AMPED_LABELS_TIMES, "12 AM|1 am|11:30am|12pm|1 PM", "1 PM|12pm|1 am|12 AM|11:30am");
}

/* Differences of neighbouring labels' values, in units. */
static void check_steps(const char *text, double unit, int count, const double *wanted) {
  double values[most_labels];
  const amped_labels labels = labels_of(text);
  ck_assert_int_eq((int)labels.count, count + 1);
  check_ok(amped_label_values(&labels, values));
  for (int i = 0; i < count; i++)
    ck_assert_msg(values[i + 1] - values[i] == wanted[i] * unit, "%s: step %d is %g", text, i,
                  (values[i + 1] - values[i]) / unit);
  check_no_leak();
}

START_TEST(values_are_as_far_apart_as_what_they_mean) {
  check_steps("250|255|270.5", 1.0, 2, (double[]){5, 15.5});
  check_steps("9:00|9:30|13:30", 3600.0, 2, (double[]){0.5, 4});
  check_steps("2013-02-28 23:00|2013-03-01 01:00", 3600.0, 1, (double[]){2});
  check_steps("2019-12|2020-02|2020-03", 86400.0, 2, (double[]){62, 29});
  check_steps("Mon|Tue|Fri", 1.0, 2, (double[]){1, 3});
  /* 2020 has 53 weeks, 2019 and 2021 have 52; a quarter begins with its first day. */
  check_steps("2019-W52|2020-W01|2020-W53|2021-W01|2021-W52|2022-W01", 7.0 * 86400.0, 5,
              (double[]){1, 52, 1, 51, 1});
  check_steps("2019-Q4|2020-Q1|2020-Q2|2020-Q4", 86400.0, 3, (double[]){92, 91, 183});
  const amped_labels texts = labels_of("a|b");
  check_fails(AMPED_FAILED, "have no values", amped_label_values(&texts, NULL));
}

START_TEST(texts_count_numbers_within_them) {
  check_order(AMPED_LABELS_TEXT, "", "");
  check_order(AMPED_LABELS_TEXT, "a|b|c", "c|a|b");
  check_order(AMPED_LABELS_TEXT, "week 9|week 010|week 10|week 11",
              "week 11|week 10|week 9|week 010");
  check_order(AMPED_LABELS_TEXT, "|9x|12|12x", "12x|9x||12");
  check_order(AMPED_LABELS_TEXT, "A|B|a|\xc3\xa4", "\xc3\xa4|a|B|A");
  check_order(AMPED_LABELS_TEXT, "1.9.0|1.10.0", "1.10.0|1.9.0");
  check_order(AMPED_LABELS_TEXT, "5 o'clock|Mon", "Mon|5 o'clock");
}

START_TEST(what_only_looks_like_a_number_is_text) {
  static const char *const texts[] = {
      "0x10", "inf",   "nan",  "1e999", "1 ",  "+",        "1,5",    "e",     "25:00", "2013-13-01",
      "9:5",  "13 pm", "Marc", "Monda", "1-2", "2013-W54", "2013Q5", "1/2/3", "24",    "12:00x"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    const amped_labels labels = labels_of(texts[i]);
    ck_assert_msg((amped_label_kind_of(&labels) == AMPED_LABELS_TEXT) ==
                      (strcmp(texts[i], "24") != 0),
                  "%s: kind %d", texts[i], (int)amped_label_kind_of(&labels));
  }
  /* One label that is none makes all of them texts. */
  check_order(AMPED_LABELS_TEXT, "9|10|none", "none|10|9");
}

/* Month first or day first: a guess only if both fit every label, and say something else of one. */
START_TEST(a_guess_of_dates_is_known) {
  static const struct {
    const char *labels;
    bool guess;
  } cases[] = {
      {.labels = "01/05/2024|02/04/2024|12/11/2024", .guess = true},
      {.labels = "1/5/2013|2/5/2013", .guess = false}, /* the same order */
      {.labels = "4/5/2013", .guess = false},
      {.labels = "1/5/2013|2/4/2013", .guess = true},
      {.labels = "01/02/2024|03/14/2024", .guess = false}, /* month first */
      {.labels = "01/02/2024|14/03/2024", .guess = false}, /* day first */
      {.labels = "01/01/2024|03/03/2024", .guess = false}, /* either way the same day */
      {.labels = "1.2.2024|3.4.2024", .guess = false},     /* dots: day first */
      {.labels = "2024-01-02|2024-03-04", .guess = false}, /* year first */
      {.labels = "5 Jan 2013|6 Feb 2013", .guess = false}, /* named months */
      {.labels = "Jan 5, 2013|Feb 6, 2013", .guess = false},
      {.labels = "11.2024|12.2024|01.2025", .guess = true}, /* or numbers */
      {.labels = "11.2024|12.2024", .guess = false},
      {.labels = "2024.9|2024.10", .guess = true},
      {.labels = "2024.09|2024.10", .guess = false},
      {.labels = "05-01-2019|04-02-2019", .guess = true},  /* dashes: day first */
      {.labels = "01-05-2019|02-05-2019", .guess = false}, /* the same order */
      {.labels = "13-01-2019|04-02-2019", .guess = false},
      {.labels = "24/11/30|24/12/31|25/01/02", .guess = true}, /* or the year first */
      {.labels = "13/01/05|13/02/05", .guess = false},         /* either way the same order */
      {.labels = "1/31/67|1/31/68|1/31/69", .guess = true},    /* of which century? */
      {.labels = "1/31/98|1/31/99|1/31/00", .guess = false},
      {.labels = "31/1/67|31/1/70", .guess = true},
      {.labels = "31/1/71|31/1/72", .guess = false},
      {.labels = "9|10", .guess = false},
      {.labels = "week 9|week 10", .guess = false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const amped_labels labels = labels_of(cases[i].labels);
    const char *guess = NULL;
    check_ok(amped_label_order_guess(&labels, &guess));
    ck_assert_msg((guess != NULL) == cases[i].guess, "%s", cases[i].labels);
  }
}

START_TEST(labels_are_sorted_with_their_numbers) {
  static const char *const sorted[] = {"9", "10", "11"};
  amped_labels labels = {.name = NULL};
  const amped_labels from = labels_of("11|9|10");
  uint64_t place[3];
  check_ok(amped_labels_copy(&from, &labels));
  check_ok(amped_strdup(&labels.name, "week"));
  check_ok(amped_label_sort(&labels, place));
  for (uint64_t k = 0; k < 3; k++) {
    char text[8];
    ck_assert_str_eq(amped_label_text(&labels, k, text, sizeof text), sorted[k]);
  }
  ck_assert(place[0] == 2 && place[1] == 0 && place[2] == 1);
  ck_assert_str_eq(labels.name, "week");
  amped_labels_free(&labels);
  check_no_leak();
}

TESTING_MAIN("label_order", numbers_stand_by_value, dates_stand_by_day, times_stand_by_hour,
             values_are_as_far_apart_as_what_they_mean, texts_count_numbers_within_them,
             what_only_looks_like_a_number_is_text, a_guess_of_dates_is_known,
             labels_are_sorted_with_their_numbers)
