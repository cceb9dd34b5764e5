/* Periods: labels of time stamps, and what is no time stamp. tests/cli/dates.sh has every day of
 * two centuries beside Python's datetime. */
#include <string.h>

#include "tensor/period.h"
#include "tests/lib/testing.h"

/* Check the label of a time stamp; if it is NULL, check that the message contains `wrong`. */
static void check_label(amped_period period, const char *text, const char *label,
                        const char *wrong) {
  char out[AMPED_PERIOD_BYTES] = "";
  const char *message = amped_period_label(period, text, strlen(text), out);
  if (message == NULL && label != NULL)
    ck_assert_str_eq(out, label);
  else if (message == NULL)
    ck_abort_msg("%s became %s", text, out);
  else if (label != NULL || wrong == NULL || strstr(message, wrong) == NULL)
    ck_abort_msg("%s %s", text, message);
}

START_TEST(weeks_belong_to_the_year_of_their_thursday) {
  static const char *const cases[][2] = {
      {"2004-12-26", "2004-W52"}, {"2004-12-27", "2004-W53"}, {"2005-01-02", "2004-W53"},
      {"2005-01-03", "2005-W01"}, {"2008-12-28", "2008-W52"}, {"2008-12-29", "2009-W01"},
      {"2010-01-03", "2009-W53"}, {"2010-01-04", "2010-W01"}, {"2012-01-01", "2011-W52"},
      {"2020-12-31", "2020-W53"}, {"2021-01-01", "2020-W53"}, {"2024-12-30", "2025-W01"},
      {"1969-12-29", "1970-W01"}, {"1965-12-31", "1965-W52"}, {"0001-01-01", "0001-W01"},
      {"9999-12-31", "9999-W52"}, {"2020-W53", "2020-W53"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    check_label(AMPED_PERIOD_WEEK, cases[i][0], cases[i][1], NULL);
  check_label(AMPED_PERIOD_WEEK, "2021-W53", NULL, "no time stamp");
  check_label(AMPED_PERIOD_WEEK, "2021-W00", NULL, "no time stamp");
}

START_TEST(leap_days_are_in_the_calendar) {
  check_label(AMPED_PERIOD_DAY, "2024-02-29", "2024-02-29", NULL);
  check_label(AMPED_PERIOD_DAY, "2000-02-29", "2000-02-29", NULL);
  check_label(AMPED_PERIOD_DAY, "2024-02-29T23:00-02:00", "2024-03-01", NULL);
  check_label(AMPED_PERIOD_DAY, "2023-02-28T23:00-02:00", "2023-03-01", NULL);
  check_label(AMPED_PERIOD_DAY, "1582-10-10", "1582-10-10", NULL); /* Gregorian throughout */
  check_label(AMPED_PERIOD_DAY, "2023-02-29", NULL, "not in the calendar");
  check_label(AMPED_PERIOD_DAY, "2100-02-29", NULL, "not in the calendar");
}

START_TEST(times_are_utc) {
  check_label(AMPED_PERIOD_HOUR, "2024-05-17T13:45:00+02:00", "2024-05-17T11", NULL);
  check_label(AMPED_PERIOD_HOUR, "2024-05-17 00:15+0545", "2024-05-16T18", NULL);
  check_label(AMPED_PERIOD_HOUR, "2024-12-31T23:59:60.5Z", "2024-12-31T23", NULL);
  check_label(AMPED_PERIOD_HOUR, "2024-12-31T24:00", "2025-01-01T00", NULL);
  check_label(AMPED_PERIOD_HOUR, "2024-05-17T13", "2024-05-17T13", NULL);
  check_label(AMPED_PERIOD_HOUR, "20240517T134500-11", "2024-05-18T00", NULL);
  check_label(AMPED_PERIOD_HOUR_OF_DAY, "2024-05-17 13:45:00 UTC", "13:00", NULL);
  check_label(AMPED_PERIOD_HOUR_OF_DAY, "13:00", "13:00", NULL);
  check_label(AMPED_PERIOD_WEEKDAY, "2024-05-17T23:30-01:00", "Sat", NULL);
  check_label(AMPED_PERIOD_WEEKDAY, "Sat", "Sat", NULL);
  check_label(AMPED_PERIOD_WEEKDAY, "Saturday", NULL, "no time stamp");
  check_label(AMPED_PERIOD_HOUR, "2024-05-17", NULL, "no time of day");
  check_label(AMPED_PERIOD_YEAR, "9999-12-31T23:00-02:00", NULL, "years 1 to 9999");
}

START_TEST(unix_time_counts_both_ways) {
  check_label(AMPED_PERIOD_DAY, "0", "1970-01-01", NULL);
  check_label(AMPED_PERIOD_HOUR, "-1", "1969-12-31T23", NULL);
  check_label(AMPED_PERIOD_HOUR, "-0.5", "1969-12-31T23", NULL);
  check_label(AMPED_PERIOD_HOUR, "-0.0", "1970-01-01T00", NULL);
  check_label(AMPED_PERIOD_DAY, "32503679999.99", "2999-12-31", NULL);
  check_label(AMPED_PERIOD_DAY, "-62135596800", "0001-01-01", NULL);
  check_label(AMPED_PERIOD_DAY, "32503680000", NULL, "milliseconds");
  check_label(AMPED_PERIOD_DAY, "-62135596801", NULL, "years 1 to 2999");
  check_label(AMPED_PERIOD_DAY, "99999999999999999999999999", NULL, "milliseconds");
  check_label(AMPED_PERIOD_DAY, "20240517", NULL, "may be a date");
  check_label(AMPED_PERIOD_DAY, "20240532", "1970-08-23", NULL); /* no date */
  check_label(AMPED_PERIOD_YEAR, "2024", "2024", NULL);
  check_label(AMPED_PERIOD_MONTH, "2024", NULL, "may be a date");
}

START_TEST(other_texts_are_refused) {
  static const char *const texts[] = {
      "",          "-",       "+1",          "1.5.6",       ".5",  "1e9",       "nan",
      "20240517T", "2024-05", "2024-05-17T", " 2024-05-17", "T13", "2024-05-1", "2024-W20-1"};
  char long_text[200];
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    check_label(AMPED_PERIOD_DAY, texts[i], NULL, "no time stamp");
  memset(long_text, '1', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = '\0';
  check_label(AMPED_PERIOD_DAY, long_text, NULL, "no time stamp");
}

START_TEST(words_name_periods) {
  for (int i = 0; amped_period_words[i] != NULL; i++) {
    const amped_period period = amped_period_of_word(amped_period_words[i]);
    ck_assert_int_eq((int)period, i + 1);
    ck_assert_str_eq(amped_period_word(period), amped_period_words[i]);
  }
  ck_assert_int_eq((int)amped_period_of_word("fortnight"), AMPED_PERIOD_NONE);
}

TESTING_MAIN("period", weeks_belong_to_the_year_of_their_thursday, leap_days_are_in_the_calendar,
             times_are_utc, unix_time_counts_both_ways, other_texts_are_refused, words_name_periods)
