/* Label order: forms of numbers, dates and times, and natural order of texts. */
#include "tensor/label_order.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"

/* Bytes of a text buffer: longer than any number, date or time. */
#define FORM_BYTES 64

#define DAY_SEC 86400

/* ---- words of a label ------------------------------------------------------------------------ */

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads a whole number of least .. most digits that no digit follows. */
static bool take_digits(const char **at, int least, int most, int *out) {
  const char *p = *at;
  int n = 0;
  *out = 0;
  for (; amped_is_digit(*p) && n < most; p++, n++)
    *out = *out * 10 + (*p - '0');
  if (n < least || amped_is_digit(*p))
    return false;
  *at = p;
  return true;
}

/* Names that are cut after more than three letters. */
static bool is_cut(const char *word, size_t length) {
  static const char *const cut[] = {"Sept", "Tues", "Thur", "Thurs"};
  for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++)
    if (length == strlen(cut[i]) && strncasecmp(word, cut[i], length) == 0)
      return true;
  return false;
}

/* Reads a word that is one of `names`, or cut, with a point or without: Jan, Jan., Sept; *out = its
 * number, from 1. */
static bool take_name(const char **at, const char *const *names, int *out) {
  size_t length = 0;
  while (is_letter((*at)[length]))
    length++;
  const char *p = *at + length;
  for (int i = 0; names[i] != NULL; i++) {
    const bool whole = length == strlen(names[i]);
    if ((!whole && length != 3 && !is_cut(*at, length)) || strncasecmp(*at, names[i], length) != 0)
      continue;
    *at = p + (!whole && p[0] == '.' && (p[1] == '\0' || p[1] == ' '));
    *out = i + 1;
    return true;
  }
  return false;
}

static const char *const months[] = {"January",  "February", "March",  "April",     "May",
                                     "June",     "July",     "August", "September", "October",
                                     "November", "December", NULL};
static const char *const weekdays[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday",    NULL};

/* ---- times and dates --------------------------------------------------------------------------
 * A form converts a whole label into a number that orders the labels of this form. */

static bool within(int n, int least, int most) {
  return n >= least && n <= most;
}

/* Reads hours, minutes, seconds, "am" or "pm": 9:30, 09:30:15.25, 9 pm. */
static bool take_time(const char **at, double *sec) {
  int h = 0;
  int m = 0;
  int s = 0;
  double rest = 0.0;
  if (!take_digits(at, 1, 2, &h) || h > 24)
    return false;
  const bool minutes = amped_take_char(at, ":");
  if (minutes && (!take_digits(at, 2, 2, &m) || m > 59))
    return false;
  if (minutes && amped_take_char(at, ":") && (!take_digits(at, 2, 2, &s) || s > 60))
    return false;
  if (minutes && amped_take_char(at, ".,"))
    for (double unit = 0.1; amped_is_digit(**at); (*at)++, unit /= 10)
      rest += (**at - '0') * unit;
  const char *p = *at + (**at == ' ');
  const bool am = strncasecmp(p, "am", 2) == 0;
  const bool pm = strncasecmp(p, "pm", 2) == 0;
  if (am || pm) {
    if (!within(h, 1, 12))
      return false;
    h = h % 12 + (pm ? 12 : 0);
    *at = p + 2;
  }
  *sec = h * 3600 + m * 60 + s + rest;
  return minutes || am || pm;
}

/* Reads "Z", "+01:00", "-0500" or nothing, and corrects the seconds. */
static bool take_zone(const char **at, double *sec) {
  int h = 0;
  int m = 0;
  const bool west = **at == '-';
  if (amped_take_char(at, "Zz") || !amped_take_char(at, "+-"))
    return true;
  const char *p = *at;
  if (!take_digits(&p, 2, 2, &h)) {
    if (!take_digits(at, 4, 4, &m))
      return false;
    h = m / 100;
    m %= 100;
  } else {
    *at = p;
    if (amped_take_char(at, ":") && !take_digits(at, 2, 2, &m))
      return false;
  }
  *sec += (west ? 1 : -1) * (h * 3600 + m * 60);
  return true;
}

static bool form_time(const char *p, double *key) {
  return take_time(&p, key) && *p == '\0';
}

/* Days from 1 March of year 0 in the Gregorian calendar: years from March end with the leap day. */
static double day_number(int y, int m, int d) {
  const int year = m > 2 ? y : y - 1;
  const int month = (m + 9) % 12;
  return 365.0 * year + floor(year / 4.0) - floor(year / 100.0) + floor(year / 400.0) +
         (153 * month + 2) / 5 + d - 1;
}

/* Reads an hour alone at the end of a label: T13. */
static bool take_hour(const char *p, double *sec) {
  int h = 0;
  if (!amped_take_char(&p, "T") || !take_digits(&p, 2, 2, &h) || *p != '\0' || h > 23)
    return false;
  *sec = h * 3600;
  return true;
}

/* Is there such a day? */
static bool is_day(int y, int m, int d) {
  return within(m, 1, 12) && d >= 1 &&
         d <= (int)(day_number(m < 12 ? y : y + 1, m % 12 + 1, 1) - day_number(y, m, 1));
}

/* Reads the time that may follow a day, and computes the key of both. */
static bool end_date(const char *p, int y, int m, int d, double *key) {
  double sec = 0.0;
  if (!is_day(y, m, d))
    return false;
  if (*p != '\0' && !take_hour(p, &sec)) {
    if (!amped_take_char(&p, "Tt "))
      return false;
    if (!take_time(&p, &sec) || !take_zone(&p, &sec) || *p != '\0')
      return false;
  }
  *key = day_number(y, m, d) * DAY_SEC + sec;
  return true;
}

/* Reads a month: its name, or one or two digits. */
static bool take_month(const char **at, bool *named, int *out) {
  *named = take_name(at, months, out);
  return *named || take_digits(at, 1, 2, out);
}

/* Reads the separator between parts of a date. */
static bool take_separator(const char **at, char *out) {
  *out = **at;
  return amped_take_char(at, "-/. ");
}

/* First of the years of two digits that belong to 1900 and so on, as in POSIX: 69 .. 99 are 1969 ..
 * 1999. */
#define OLD_YEARS 69

/* Years of two digits from `old` on are 19xx, the others 20xx. */
static int whole_year(int year, int old) {
  return year + (year >= old ? 1900 : 2000);
}

/* Reads a year of four digits; after a slash two suffice. */
static bool take_year(const char **at, char separator, int old, int *out) {
  if (take_digits(at, 4, 4, out))
    return true;
  if (separator != '/' || !take_digits(at, 2, 2, out))
    return false;
  *out = whole_year(*out, old);
  return true;
}

/* 2013-01-05, 2013/1/5 14:00, 2013-01-05T14:00:00Z, 2013 Jan 5, 2013-01. */
static bool form_year_first(const char *p, double *key) {
  int y = 0;
  int m = 0;
  int d = 1;
  bool named = false;
  char first = '\0';
  if (!take_digits(&p, 4, 4, &y) || !take_separator(&p, &first) || !take_month(&p, &named, &m))
    return false;
  if (*p == '\0')
    return end_date(p, y, m, d, key);
  return amped_take_char(&p, (char[]){first, '\0'}) && take_digits(&p, 1, 2, &d) &&
         end_date(p, y, m, d, key);
}

/* 2013-W05, 2013W5, 2013-Q1, 2013 Q1. */
static bool form_year_part(const char *p, double *key) {
  int y = 0;
  int n = 0;
  if (!take_digits(&p, 4, 4, &y))
    return false;
  (void)amped_take_char(&p, "- ");
  const bool week = amped_take_char(&p, "Ww");
  if ((!week && !amped_take_char(&p, "Qq")) || !take_digits(&p, 1, 2, &n) || *p != '\0')
    return false;
  if (!within(n, 1, week ? 53 : 4))
    return false;
  /* Week 1 has the 4th of January, and begins on a Monday; day 0 of day_number is a Wednesday. */
  const double fourth = day_number(y, 1, 4);
  const double monday = fourth - fmod(fourth + 2.0, 7.0);
  *key = DAY_SEC * (week ? monday + 7.0 * (n - 1) : day_number(y, 3 * n - 2, 1));
  return true;
}

/* 5.1.2013, 05/01/2013 14:00, 5 Jan 2013, 5/1/13. */
static bool day_first(const char *p, int old, double *key) {
  int y = 0;
  int m = 0;
  int d = 0;
  bool named = false;
  char first = '\0';
  return take_digits(&p, 1, 2, &d) && take_separator(&p, &first) && take_month(&p, &named, &m) &&
         amped_take_char(&p, (char[]){first, '\0'}) && take_year(&p, first, old, &y) &&
         end_date(p, y, m, d, key);
}

static bool form_day_first(const char *p, double *key) {
  return day_first(p, OLD_YEARS, key);
}

/* Years from 50 on are 19xx. */
static bool form_day_first_old(const char *p, double *key) {
  return day_first(p, 50, key);
}

/* 1/5/2013, Jan 5, 2013; numbers only with slashes between them. */
static bool month_first(const char *p, int old, double *key) {
  int y = 0;
  int m = 0;
  int d = 0;
  bool named = false;
  char first = '\0';
  if (!take_month(&p, &named, &m) || !take_separator(&p, &first) || !take_digits(&p, 1, 2, &d))
    return false;
  if (named ? !(amped_take_char(&p, ",") ? amped_take_char(&p, " ")
                                         : amped_take_char(&p, (char[]){first, '\0'}))
            : first != '/' || !amped_take_char(&p, "/"))
    return false;
  return take_year(&p, first, old, &y) && end_date(p, y, m, d, key);
}

static bool form_month_first(const char *p, double *key) {
  return month_first(p, OLD_YEARS, key);
}

static bool form_month_first_old(const char *p, double *key) {
  return month_first(p, 50, key);
}

/* 13/1/5, a year of two digits first. */
static bool form_short_year_first(const char *p, double *key) {
  int y = 0;
  int m = 0;
  int d = 0;
  return take_digits(&p, 2, 2, &y) && amped_take_char(&p, "/") && take_digits(&p, 1, 2, &m) &&
         amped_take_char(&p, "/") && take_digits(&p, 1, 2, &d) &&
         end_date(p, whole_year(y, OLD_YEARS), m, d, key);
}

/* 01-05-2013, read as American dates with dashes. */
static bool form_month_dash(const char *p, double *key) {
  int y = 0;
  int m = 0;
  int d = 0;
  return take_digits(&p, 1, 2, &m) && amped_take_char(&p, "-") && take_digits(&p, 1, 2, &d) &&
         amped_take_char(&p, "-") && take_year(&p, '-', OLD_YEARS, &y) && end_date(p, y, m, d, key);
}

/* Jan 2013, 1/2013. */
static bool form_month_year(const char *p, double *key) {
  int y = 0;
  int m = 0;
  bool named = false;
  char first = '\0';
  return take_month(&p, &named, &m) && take_separator(&p, &first) && (named || first != '.') &&
         take_digits(&p, 4, 4, &y) && *p == '\0' && end_date(p, y, m, 1, key);
}

/* 11.2024, 2024.11: a point, and a year from 1900 to 2099. Labels of these forms are decimal
 * numbers, too. 2024.1 beside 2024.02 is a number that was 2024.10, so that a table's months have
 * either two digits each, or no zero before them. */
static bool form_month_point_year(const char *p, double *key) {
  int y = 0;
  int m = 0;
  return take_digits(&p, 1, 2, &m) && amped_take_char(&p, ".") && take_digits(&p, 4, 4, &y) &&
         within(y, 1900, 2099) && end_date(p, y, m, 1, key);
}

/* The month has `digits` digits, or more without a zero before it. */
static bool year_point_month(const char *p, int digits, double *key) {
  int y = 0;
  int m = 0;
  return take_digits(&p, 4, 4, &y) && within(y, 1900, 2099) && amped_take_char(&p, ".") &&
         (digits == 2 || *p != '0') && take_digits(&p, digits, 2, &m) && *p == '\0' &&
         end_date(p, y, m, 1, key);
}

static bool form_year_point_two_digits(const char *p, double *key) {
  return year_point_month(p, 2, key);
}

static bool form_year_point_month(const char *p, double *key) {
  return year_point_month(p, 1, key);
}

static bool form_month(const char *p, double *key) {
  int m = 0;
  const bool found = take_name(&p, months, &m) && *p == '\0';
  *key = m;
  return found;
}

static bool form_weekday(const char *p, double *key) {
  int d = 0;
  const bool found = take_name(&p, weekdays, &d) && *p == '\0';
  *key = d;
  return found;
}

/* Decimal numbers: no hexadecimal ones, no infinity, no blanks. */
static bool form_number(const char *p, double *key) {
  char *end = NULL;
  if (strspn(p, "0123456789.+-eE") != strlen(p))
    return false;
  *key = strtod(p, &end);
  return end != p && *end == '\0' && isfinite(*key);
}

typedef bool take_form(const char *text, double *key);

/* Another form that the same labels may have in another order, and the end of a warning about it:
 * "the labels ...". */
typedef struct other_form {
  take_form *take;
  const char *guess;
} other_form;

#define MOST_OTHERS 3

/* Forms in order of precedence: the first form that fits all labels is used. */
static const struct {
  amped_label_kind kind;
  const char *name; /* for the user; NULL: the kind says all */
  take_form *take;
  other_form others[MOST_OTHERS]; /* ended by zeros, if fewer */
} forms[] = {
    {.kind = AMPED_LABELS_DATES,
     .name = "month.year",
     .take = form_month_point_year,
     .others = {{.take = form_number,
                 .guess = "are taken as month.year, not as numbers; if that is wrong, write them "
                          "with more or fewer decimals"}}},
    {.kind = AMPED_LABELS_DATES, .name = "year.month", .take = form_year_point_two_digits},
    {.kind = AMPED_LABELS_DATES,
     .name = "year.month",
     .take = form_year_point_month,
     .others = {{.take = form_number,
                 .guess = "are taken as year.month, not as numbers; if that is wrong, write them "
                          "with more decimals"}}},
    {.kind = AMPED_LABELS_NUMBERS, .take = form_number},
    {.kind = AMPED_LABELS_DATES, .name = "year-month-day", .take = form_year_first},
    {.kind = AMPED_LABELS_DATES, .name = "year-week or year-quarter", .take = form_year_part},
    {.kind = AMPED_LABELS_DATES,
     .name = "month/day/year",
     .take = form_month_first,
     .others = {{.take = form_day_first,
                 .guess = "do not show which number is the day, and are taken as month/day/year; "
                          "if that is wrong, write them as year-month-day"},
                {.take = form_short_year_first,
                 .guess = "do not show which number is the year, and are taken as month/day/year; "
                          "if that is wrong, write them as year-month-day"},
                {.take = form_month_first_old,
                 .guess = "have years of two digits, which are taken as 1969 to 2068; if that is "
                          "wrong, write years with four digits"}}},
    {.kind = AMPED_LABELS_DATES,
     .name = "day-month-year",
     .take = form_day_first,
     .others = {{.take = form_month_dash,
                 .guess = "do not show which number is the day, and are taken as day-month-year; "
                          "if that is wrong, write them as year-month-day"},
                {.take = form_short_year_first,
                 .guess = "do not show which number is the year, and are taken as day/month/year; "
                          "if that is wrong, write them as year-month-day"},
                {.take = form_day_first_old,
                 .guess = "have years of two digits, which are taken as 1969 to 2068; if that is "
                          "wrong, write years with four digits"}}},
    {.kind = AMPED_LABELS_DATES, .name = "month-year", .take = form_month_year},
    {.kind = AMPED_LABELS_DATES, .name = "names of months", .take = form_month},
    {.kind = AMPED_LABELS_DATES, .name = "days of the week", .take = form_weekday},
    {.kind = AMPED_LABELS_TIMES, .take = form_time},
};

#define FORMS (sizeof forms / sizeof forms[0])

/* ---- the labels of a mode -------------------------------------------------------------------- */

/* Copies label i as a null-terminated text; returns false if it is too long or contains a null. */
static bool text_of(const amped_labels *labels, uint64_t i, char text[FORM_BYTES]) {
  uint64_t length = 0;
  const char *bytes = amped_label(labels, i, &length);
  if (length == 0 || length >= FORM_BYTES || memchr(bytes, '\0', length) != NULL)
    return false;
  memcpy(text, bytes, length);
  text[length] = '\0';
  return true;
}

/* The number of the first form that fits all labels; FORMS if they are texts. */
static size_t form_of(const amped_labels *labels) {
  char text[FORM_BYTES];
  bool possible[FORMS];
  double key = 0.0;
  size_t first = labels->count > 0 ? 0 : FORMS;
  memset(possible, true, sizeof possible);
  for (uint64_t i = 0; i < labels->count && first < FORMS; i++) {
    const bool fits = text_of(labels, i, text);
    for (size_t f = first; f < FORMS; f++)
      possible[f] = possible[f] && fits && forms[f].take(text, &key);
    while (first < FORMS && !possible[first])
      first++;
  }
  return first;
}

amped_label_kind amped_label_kind_of(const amped_labels *labels) {
  const size_t form = form_of(labels);
  return form < FORMS ? forms[form].kind : AMPED_LABELS_TEXT;
}

const char *amped_label_form_of(const amped_labels *labels) {
  const size_t form = form_of(labels);
  return form < FORMS ? forms[form].name : NULL;
}

/* A label's keys in the form taken, and in the other form. */
typedef struct reading {
  double taken, other;
} reading;

static int compare_readings(const void *a, const void *b) {
  const reading *x = a;
  const reading *y = b;
  if (x->taken != y->taken)
    return x->taken < y->taken ? -1 : 1;
  return (x->other > y->other) - (x->other < y->other);
}

/* *differs: all labels have the other form too, and in another order. readings: [labels]. */
static void compare_forms(const amped_labels *labels, take_form *taken, take_form *other,
                          reading *readings, bool *differs) {
  char text[FORM_BYTES];
  bool both = true;
  *differs = false;
  for (uint64_t i = 0; i < labels->count && both; i++)
    both = text_of(labels, i, text) && taken(text, &readings[i].taken) &&
           other(text, &readings[i].other);
  if (!both)
    return;
  qsort(readings, labels->count, sizeof *readings, compare_readings);
  for (uint64_t i = 1; i < labels->count; i++)
    *differs = *differs || readings[i].other < readings[i - 1].other;
}

amped_status amped_label_order_guess(const amped_labels *labels, const char **guess) {
  reading *readings = NULL;
  const size_t form = form_of(labels);
  bool differs = false;
  *guess = NULL;
  if (form == FORMS || forms[form].others[0].take == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&readings, labels->count, sizeof *readings, "the order of labels"));
  for (int k = 0; k < MOST_OTHERS && forms[form].others[k].take != NULL && !differs; k++) {
    compare_forms(labels, forms[form].take, forms[form].others[k].take, readings, &differs);
    *guess = differs ? forms[form].others[k].guess : NULL;
  }
  amped_free(readings);
  return AMPED_OK;
}

amped_status amped_label_order_warn(const amped_labels *labels, const char *where, const char *of) {
  const char *guess = NULL;
  AMPED_TRY(amped_label_order_guess(labels, &guess));
  if (guess != NULL)
    amped_warn("%s: the labels%s %s", where, of, guess);
  return AMPED_OK;
}

static bool is_of_time(const char *name) {
  static const char *const words[] = {
      "time",   "timestamp", "datetime", "date", "year",  "month", "week",   "day",
      "hour",   "minute",    "second",   "term", "round", "wave",  "season", "quarter",
      "period", "epoch",     "step",     "t",    "ts",    "visit", "at",     "semester",
      "zeit",   "session",   "jahr",     "tag",  "woche", "monat", "stunde", "datum"};
  const char *last = name;
  for (const char *p = name; *p != '\0'; p++)
    if (strchr("_-. :", *p) != NULL)
      last = p + 1;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    const size_t length = strlen(words[i]);
    const bool begins = strncasecmp(last, words[i], length) == 0;
    if (begins && (last[length] == '\0' || (length > 2 && strcasecmp(last + length, "s") == 0)))
      return true;
  }
  return false;
}

bool amped_label_numbers_are_of_time(const amped_labels *labels) {
  return labels->period != AMPED_PERIOD_NONE ||
         (amped_labels_are_named(labels) && is_of_time(labels->name));
}

bool amped_labels_are_of_time(const amped_labels *labels) {
  const amped_label_kind kind =
      labels->count > 0 ? amped_label_kind_of(labels) : AMPED_LABELS_NUMBERS;
  return kind == AMPED_LABELS_NUMBERS
             ? amped_label_numbers_are_of_time(labels)
             : kind != AMPED_LABELS_TEXT || labels->period != AMPED_PERIOD_NONE;
}

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct entry {
  double key; /* 0 for texts */
  const char *text;
  uint64_t length;
  uint64_t number;
} entry;

static uint64_t digits_at(const entry *e, uint64_t at) {
  uint64_t end = at;
  while (end < e->length && amped_is_digit(e->text[end]))
    end++;
  return end - at;
}

static uint64_t zeros_at(const entry *e, uint64_t at) {
  uint64_t end = at;
  while (end < e->length && e->text[end] == '0')
    end++;
  return end - at;
}

static int compare_bytes(const char *a, uint64_t a_length, const char *b, uint64_t b_length) {
  const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
  return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/* Compares texts: numbers within them count as numbers, every other byte as itself. */
static int compare_texts(const entry *a, const entry *b) {
  uint64_t i = 0;
  uint64_t k = 0;
  while (i < a->length && k < b->length) {
    if (!amped_is_digit(a->text[i]) || !amped_is_digit(b->text[k])) {
      if (a->text[i] != b->text[k])
        return (unsigned char)a->text[i] < (unsigned char)b->text[k] ? -1 : 1;
      i++;
      k++;
      continue;
    }
    i += zeros_at(a, i);
    k += zeros_at(b, k);
    const uint64_t n = digits_at(a, i);
    if (n != digits_at(b, k))
      return n < digits_at(b, k) ? -1 : 1;
    const int order = memcmp(a->text + i, b->text + k, n);
    if (order != 0)
      return order;
    i += n;
    k += n;
  }
  if (i < a->length || k < b->length)
    return i < a->length ? 1 : -1;
  return compare_bytes(a->text, a->length, b->text, b->length); /* 7, 07 */
}

static int compare_entries(const void *left, const void *right) {
  const entry *a = left;
  const entry *b = right;
  if (a->key < b->key || a->key > b->key)
    return a->key < b->key ? -1 : 1;
  const int order = compare_texts(a, b);
  return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

/* Words that may stand beside the numbers and names of a date. */
static const char *const fillers[] = {"AM", "PM", "T", "Z", "st", "nd", "rd", "th", "of", NULL};
static const char *const parts[] = {"Q", "W", "KW", "CW", "Week", "Quarter", NULL};

static bool is_one_of(const char *word, size_t length, const char *const *words) {
  for (int i = 0; words[i] != NULL; i++)
    if (strlen(words[i]) == length && strncasecmp(word, words[i], length) == 0)
      return true;
  return false;
}

/* Words and numbers of a label that may be a date. */
typedef struct date_words {
  bool other;            /* a word that no date has */
  bool named;            /* a month or a day of the week */
  bool part;             /* a quarter or a week */
  size_t numbers;        /* number of numbers */
  size_t digits, before; /* digits of the last number, and of the first one */
  size_t pairs;          /* numbers of two digits */
} date_words;

static date_words find_words(const char *p) {
  date_words w = {.other = false};
  while (*p != '\0') {
    size_t length = 0;
    int number = 0;
    if (amped_is_digit(*p)) {
      length = strspn(p, "0123456789");
      w.before = w.numbers == 0 ? length : w.before;
      w.digits = length;
      w.numbers++;
      w.pairs += length == 2;
    } else if (!is_letter(*p)) {
      length = 1;
    } else if (take_name(&p, months, &number) || take_name(&p, weekdays, &number)) {
      w.named = true;
    } else {
      while (is_letter(p[length]))
        length++;
      const bool part = is_one_of(p, length, parts);
      w.part = w.part || part;
      w.other = w.other || (!part && !is_one_of(p, length, fillers));
    }
    p += length;
  }
  return w;
}

/* Does a label look like a date that its bytes do not order: Jan-24, Q1 2024, 1-Feb-24, 05.01.24;
 * or 30/3/2023, if others are in no calendar? */
static bool looks_like_date(const char *text) {
  const date_words w = find_words(text);
  const bool year_last = w.numbers == 2 && w.before <= 2 && w.digits == 4;
  const bool quarter = w.numbers == 2 && w.before == 1 && w.digits == 2 && strpbrk(text, "Qq");
  const bool plain = w.numbers == 3 && strspn(text, "0123456789./-") == strlen(text);
  const bool day_first = plain && (w.digits == 4 || (w.pairs == 3 && strlen(text) == 8));
  return !w.other && (w.named || day_first || (w.part && (year_last || quarter)));
}

bool amped_label_order_hides_dates(const amped_labels *labels) {
  char text[FORM_BYTES];
  uint64_t count = 0;
  if (form_of(labels) < FORMS)
    return false;
  for (uint64_t i = 0; i < labels->count; i++)
    count += text_of(labels, i, text) && looks_like_date(text);
  return count > labels->count / 2;
}

amped_status amped_label_order(const amped_labels *labels, uint64_t *order) {
  const size_t form = form_of(labels);
  char text[FORM_BYTES];
  entry *entries = NULL;
  if (labels->count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&entries, labels->count, sizeof *entries, "the order of labels"));
  for (uint64_t i = 0; i < labels->count; i++) {
    entry *e = &entries[i];
    *e = (entry){.number = i};
    e->text = amped_label(labels, i, &e->length);
    if (form < FORMS && text_of(labels, i, text))
      (void)forms[form].take(text, &e->key);
  }
  qsort(entries, labels->count, sizeof *entries, compare_entries);
  for (uint64_t k = 0; k < labels->count; k++)
    order[k] = entries[k].number;
  amped_free(entries);
  return AMPED_OK;
}

amped_status amped_label_order_text(const amped_labels *labels, char text[AMPED_LABEL_ORDER_TEXT]) {
  uint64_t *order = NULL;
  bool sorted = true;
  bool reverse = true;
  char first[3][64] = {"", "", ""};
  text[0] = '\0';
  if (labels->count == 0 || amped_label_kind_of(labels) == AMPED_LABELS_TEXT)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&order, labels->count, sizeof *order, "the order of labels"));
  const amped_status status = amped_label_order(labels, order);
  for (uint64_t k = 0; k < labels->count && status == AMPED_OK; k++) {
    sorted = sorted && order[k] == k;
    reverse = reverse && order[k] == labels->count - 1 - k;
  }
  amped_free(order);
  for (uint64_t i = 0; i < 3 && i < labels->count; i++)
    (void)amped_label_text(labels, i, first[i], sizeof first[i]);
  if (status == AMPED_OK && !sorted && !reverse)
    (void)snprintf(text, AMPED_LABEL_ORDER_TEXT,
                   ". The first of them are %s, %s, %s%s: labels of a table are numbered as they "
                   "first appear, unless convert has --label-order=sorted",
                   first[0], first[1], first[2], labels->count > 3 ? ", ..." : "");
  return status;
}

amped_status amped_label_values(const amped_labels *labels, double *values) {
  const size_t form = form_of(labels);
  char text[FORM_BYTES];
  if (form == FORMS)
    return amped_error(AMPED_FAILED, NULL, "labels that are texts have no values");
  for (uint64_t i = 0; i < labels->count; i++)
    if (text_of(labels, i, text))
      (void)forms[form].take(text, &values[i]);
  return AMPED_OK;
}

amped_status amped_label_sort(amped_labels *labels, uint64_t *place) {
  /* Not of_array: an index is the place in the array no longer. */
  amped_labels sorted = {.count = labels->count,
                         .from_zero = labels->from_zero,
                         .are_indices = labels->are_indices,
                         .period = labels->period};
  uint64_t *order = NULL;
  uint64_t at = 0;
  amped_status status = AMPED_OK;
  if (labels->count == 0)
    return AMPED_OK;
  const uint64_t bytes = labels->offsets[labels->count];
  AMPED_GO(done, amped_alloc(&order, labels->count, sizeof *order, "the order of labels"));
  AMPED_GO(done, amped_alloc(&sorted.bytes, bytes > 0 ? bytes : 1, 1, "labels"));
  AMPED_GO(done, amped_alloc(&sorted.offsets, labels->count + 1, sizeof *order, "labels"));
  AMPED_GO(done, amped_label_order(labels, order));
  for (uint64_t k = 0; k < labels->count; k++) {
    uint64_t length = 0;
    const char *label = amped_label(labels, order[k], &length);
    memcpy(sorted.bytes + at, label, length);
    sorted.offsets[k] = at;
    place[order[k]] = k;
    at += length;
  }
  sorted.offsets[labels->count] = at;
  sorted.name = labels->name;
  labels->name = NULL;
  amped_labels_free(labels);
  *labels = sorted;
  sorted = (amped_labels){0};
done:
  amped_free(order);
  amped_labels_free(&sorted);
  return status;
}
