/* Periods: reading time stamps, the calendar, and the labels of periods. */
#include "tensor/period.h"

#include <stdbool.h>
#include <string.h>

#include "base/scan.h"

const char *const amped_period_words[] = {"year", "month",   "week",        "day",
                                          "hour", "weekday", "hour-of-day", NULL};

static const char *const weekdays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

const char *amped_period_word(amped_period period) {
  return amped_period_words[period - 1];
}

amped_period amped_period_of_word(const char *word) {
  for (int i = 0; amped_period_words[i] != NULL; i++)
    if (strcmp(word, amped_period_words[i]) == 0)
      return (amped_period)(i + 1);
  return AMPED_PERIOD_NONE;
}

/* ---- the calendar ----------------------------------------------------------------------------
 * Days are counted from 1 March of year 0: years that begin in March end with the leap day. */

#define DAY_SEC 86400
#define LAST_YEAR 9999

static int64_t day_number(int y, int m, int d) {
  const int year = m > 2 ? y : y - 1;
  const int month = (m + 9) % 12;
  return INT64_C(365) * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + d - 1;
}

typedef struct date {
  int year, month, day;
} date;

/* The date of a day >= 0. A leap day ends 4, 400 years, but not 100. */
static date date_of(int64_t number) {
  const int64_t era = number / 146097; /* days of 400 years */
  const int64_t rest = number % 146097;
  const int64_t year = (rest - rest / 1460 + rest / 36524 - rest / 146096) / 365;
  const int64_t day = rest - (365 * year + year / 4 - year / 100);
  const int64_t month = (5 * day + 2) / 153; /* 0: March */
  return (date){.year = (int)(400 * era + year + (month > 9)),
                .month = (int)(month < 10 ? month + 3 : month - 9),
                .day = (int)(day - (153 * month + 2) / 5 + 1)};
}

static int days_of_month(int y, int m) {
  const int next = m < 12 ? m + 1 : 1;
  return (int)(day_number(m < 12 ? y : y + 1, next, 1) - day_number(y, m, 1));
}

/* 0: Monday. */
static int weekday_of(int64_t number) {
  return (int)((number + 2) % 7);
}

typedef struct week {
  int year, week;
} week;

static week week_of(int64_t number) {
  const int64_t thursday = number - weekday_of(number) + 3;
  const int year = date_of(thursday).year;
  return (week){.year = year, .week = (int)((thursday - day_number(year, 1, 1)) / 7) + 1};
}

/* Number of ISO weeks in a year: 28 December lies in the last. */
static int weeks_of_year(int year) {
  return week_of(day_number(year, 12, 28)).week;
}

/* ---- time stamps ----------------------------------------------------------------------------- */

/* Messages: ends of "TEXT ...". */
static const char no_stamp[] = "is no time stamp; write ISO 8601 (2024-05-17T13:45:00+02:00) or "
                               "seconds since 1970";
static const char no_day[] = "is not in the calendar; correct it";
static const char no_time[] = "has no time of day, which hours need";
static const char no_year[] = "is not in the years 1 to 9999 of UTC";
static const char too_many[] = "is not in the years 1 to 2999 as seconds since 1970; milliseconds "
                               "are to be divided by 1000";
static const char two_forms[] = "may be a date or seconds since 1970; write the date with dashes "
                                "(2024-05-17), or seconds with a point (20240517.0)";

/* A time stamp in UTC. */
typedef struct stamp {
  int64_t day; /* from 1 March of year 0 */
  int second;  /* second of the day */
  bool has_time;
} stamp;

/* Read exactly `digits` digits. */
static bool take_digits(const char **at, int digits, int *out) {
  *out = 0;
  for (int i = 0; i < digits; i++) {
    if (!amped_is_digit((*at)[i]))
      return false;
    *out = *out * 10 + ((*at)[i] - '0');
  }
  *at += digits;
  return true;
}

static bool is_date(int y, int m, int d) {
  return y >= 1 && m >= 1 && m <= 12 && d >= 1 && d <= days_of_month(y, m);
}

/* Could a whole number be a year, a year and a month, or a date, of 1900 to 2099? */
static bool is_like_date(const char *text) {
  const size_t length = strlen(text);
  int y = 0;
  int m = 1;
  int d = 1;
  if (length != 4 && length != 6 && length != 8)
    return false;
  return take_digits(&text, 4, &y) && (length < 6 || take_digits(&text, 2, &m)) &&
         (length < 8 || take_digits(&text, 2, &d)) && y >= 1900 && y <= 2099 && is_date(y, m, d);
}

/* Read seconds since 1970. */
static const char *take_seconds(const char *text, stamp *out) {
  const bool negative = *text == '-';
  const char *p = text + negative;
  const int64_t first = day_number(1, 1, 1);
  const int64_t end = day_number(3000, 1, 1);
  int64_t sec = 0;
  for (; amped_is_digit(*p); p++)
    if (sec < INT64_MAX / 100)
      sec = sec * 10 + (*p - '0');
  if (!amped_is_digit(p[-1]))
    return no_stamp;
  if (*p == '\0' && is_like_date(text))
    return two_forms;
  bool part = false;
  if (*p == '.')
    for (p++; amped_is_digit(*p); p++)
      part = part || *p != '0';
  if (*p != '\0')
    return no_stamp;
  sec = negative ? -sec - part : sec; /* rounded down */
  const int64_t epoch = day_number(1970, 1, 1);
  if (sec < (first - epoch) * DAY_SEC || sec >= (end - epoch) * DAY_SEC)
    return too_many;
  const int64_t all = sec + epoch * DAY_SEC;
  *out = (stamp){.day = all / DAY_SEC, .second = (int)(all % DAY_SEC), .has_time = true};
  return NULL;
}

/* Read a time: 13, 13:45, 13:45:00.5, or 1345, 134500.5. */
static bool take_time(const char **at, int *sec) {
  int h = 0;
  int m = 0;
  int s = 0;
  if (!take_digits(at, 2, &h))
    return false;
  const bool colon = **at == ':';
  const bool minutes = colon || amped_is_digit(**at);
  *at += colon;
  if (minutes && !take_digits(at, 2, &m))
    return false;
  const bool seconds = minutes && (colon ? **at == ':' : amped_is_digit(**at));
  *at += seconds && colon;
  if (seconds && !take_digits(at, 2, &s))
    return false;
  if (seconds && amped_take_char(at, ".,")) {
    if (!amped_is_digit(**at))
      return false;
    while (amped_is_digit(**at))
      (*at)++;
  }
  if (h > 24 || m > 59 || s > 60 || (h == 24 && (m > 0 || s > 0)))
    return false;
  *sec = h * 3600 + m * 60 + (s < 60 ? s : 59); /* a leap second belongs to its minute */
  return true;
}

/* Read Z, UTC, +02:00, -0530, +02 or nothing: seconds to subtract. */
static bool take_offset(const char **at, int *sec) {
  int h = 0;
  int m = 0;
  *sec = 0;
  if (amped_take_char(at, "Zz"))
    return true;
  if (strcmp(*at, " UTC") == 0 || strcmp(*at, "UTC") == 0) {
    *at += strlen(*at);
    return true;
  }
  const bool west = **at == '-';
  if (!amped_take_char(at, "+-"))
    return true;
  if (!take_digits(at, 2, &h))
    return false;
  const bool colon = amped_take_char(at, ":");
  if ((colon || amped_is_digit(**at)) && !take_digits(at, 2, &m))
    return false;
  *sec = (west ? -1 : 1) * (h * 3600 + m * 60);
  return h < 24 && m < 60;
}

/* Read a date of ISO 8601, perhaps with a time. Without dashes it needs one. */
static const char *take_date(const char *text, stamp *out) {
  const char *p = text;
  int y = 0;
  int m = 0;
  int d = 0;
  int sec = 0;
  int offset = 0;
  if (!take_digits(&p, 4, &y))
    return no_stamp;
  const bool dash = amped_take_char(&p, "-");
  if (!take_digits(&p, 2, &m) || (dash && !amped_take_char(&p, "-")) || !take_digits(&p, 2, &d))
    return no_stamp;
  const bool has_time = *p != '\0';
  if (has_time ? !amped_take_char(&p, "Tt ") || !take_time(&p, &sec) || !take_offset(&p, &offset)
               : !dash)
    return no_stamp;
  if (*p != '\0')
    return no_stamp;
  if (!is_date(y, m, d))
    return no_day;
  const int64_t all = day_number(y, m, d) * DAY_SEC + sec - offset;
  if (all < day_number(1, 1, 1) * DAY_SEC || all >= day_number(LAST_YEAR + 1, 1, 1) * DAY_SEC)
    return no_year;
  *out = (stamp){.day = all / DAY_SEC, .second = (int)(all % DAY_SEC), .has_time = has_time};
  return NULL;
}

static bool is_number(const char *text) {
  const char *p = text + (*text == '-');
  return amped_is_digit(*p) && p[strspn(p, "0123456789.")] == '\0';
}

/* ---- labels ---------------------------------------------------------------------------------- */

static bool is_weekday(const char *text) {
  for (int i = 0; i < 7; i++)
    if (strcmp(text, weekdays[i]) == 0)
      return true;
  return false;
}

/* Is the text spelt as a period of this kind? Days and hours are time stamps as well. */
static bool is_label(amped_period period, const char *text) {
  const char *p = text;
  int y = 0;
  int n = 0;
  switch (period) {
  case AMPED_PERIOD_YEAR:
    return take_digits(&p, 4, &y) && *p == '\0' && y >= 1;
  case AMPED_PERIOD_MONTH:
    return take_digits(&p, 4, &y) && amped_take_char(&p, "-") && take_digits(&p, 2, &n) &&
           *p == '\0' && is_date(y, n, 1);
  case AMPED_PERIOD_WEEK:
    return take_digits(&p, 4, &y) && amped_take_char(&p, "-") && amped_take_char(&p, "W") &&
           take_digits(&p, 2, &n) && *p == '\0' && y >= 1 && n >= 1 && n <= weeks_of_year(y);
  case AMPED_PERIOD_WEEKDAY:
    return is_weekday(text);
  case AMPED_PERIOD_HOUR_OF_DAY:
    return take_digits(&p, 2, &n) && strcmp(p, ":00") == 0 && n < 24;
  default:
    return false;
  }
}

/* Write n with this number of digits. Returns the end. */
static char *put(char *at, int digits, int n) {
  for (int i = digits - 1; i >= 0; i--, n /= 10)
    at[i] = (char)('0' + n % 10);
  return at + digits;
}

/* Write "-05" or "T13" behind a longer period. Returns the end. */
static char *put_part(char *at, char before, int n) {
  *at = before;
  return put(at + 1, 2, n);
}

static void write_label(amped_period period, const stamp *s, char label[AMPED_PERIOD_BYTES]) {
  const date d = date_of(s->day);
  const week w = week_of(s->day);
  char *end = label;
  switch (period) {
  case AMPED_PERIOD_WEEKDAY:
    end = stpcpy(label, weekdays[weekday_of(s->day)]);
    break;
  case AMPED_PERIOD_HOUR_OF_DAY:
    end = stpcpy(put(label, 2, s->second / 3600), ":00");
    break;
  case AMPED_PERIOD_WEEK:
    end = stpcpy(put(label, 4, w.year), "-");
    end = put_part(end, 'W', w.week);
    break;
  default:
    end = put(label, 4, d.year);
    if (period != AMPED_PERIOD_YEAR)
      end = put_part(end, '-', d.month);
    if (period == AMPED_PERIOD_DAY || period == AMPED_PERIOD_HOUR)
      end = put_part(end, '-', d.day);
    if (period == AMPED_PERIOD_HOUR)
      end = put_part(end, 'T', s->second / 3600);
  }
  *end = '\0';
}

/* Bytes of the longest time stamp, with its null. */
#define STAMP_BYTES 64

const char *amped_period_label(amped_period period, const char *text, uint64_t length,
                               char label[AMPED_PERIOD_BYTES]) {
  char stamp_text[STAMP_BYTES];
  stamp s = {.day = 0};
  if (length == 0 || length >= STAMP_BYTES || memchr(text, '\0', length) != NULL)
    return no_stamp;
  memcpy(stamp_text, text, length);
  stamp_text[length] = '\0';
  if (is_label(period, stamp_text)) {
    memcpy(label, stamp_text, length + 1); /* shorter than a label may be */
    return NULL;
  }
  const char *wrong =
      is_number(stamp_text) ? take_seconds(stamp_text, &s) : take_date(stamp_text, &s);
  if (wrong != NULL)
    return wrong;
  if (!s.has_time && (period == AMPED_PERIOD_HOUR || period == AMPED_PERIOD_HOUR_OF_DAY))
    return no_time;
  write_label(period, &s, label);
  return NULL;
}
