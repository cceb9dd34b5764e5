/* Period: the year, month, week, day or hour of a time stamp, or its place in a cycle (day of the
 * week, hour of the day). Periods are labels of a mode.
 *
 * A time stamp is a date of ISO 8601, with or without a time, or the seconds since 1970 (Unix
 * time):
 *
 *   2024-05-17, 2024-05-17T13:45:00+02:00, 2024-05-17 13:45, 20240517T134500Z, 1715946300.5
 *
 * Times are UTC: an offset is subtracted, and a time without an offset is taken as UTC. Years are 1
 * to 9999, in the Gregorian calendar. Unix time ends with the year 2999, so that milliseconds are
 * not taken for seconds. A number that could be a date without dashes (20240517, 202405, 2024) is
 * refused. Weeks are ISO 8601 weeks: they begin on Monday, and belong to the year of their
 * Thursday.
 *
 * A text that is spelt as a period is taken as such, so that periods of periods are the same. Pure
 * functions. */
#ifndef AMPED_PERIOD_H
#define AMPED_PERIOD_H

#include <stdint.h>

typedef enum amped_period {
  AMPED_PERIOD_NONE,
  AMPED_PERIOD_YEAR,       /* 2024 */
  AMPED_PERIOD_MONTH,      /* 2024-05 */
  AMPED_PERIOD_WEEK,       /* 2024-W20 */
  AMPED_PERIOD_DAY,        /* 2024-05-17 */
  AMPED_PERIOD_HOUR,       /* 2024-05-17T13 */
  AMPED_PERIOD_WEEKDAY,    /* Fri */
  AMPED_PERIOD_HOUR_OF_DAY /* 13:00 */
} amped_period;

/* The user's words: amped_period_words[i] is period i + 1. NULL-ended. */
extern const char *const amped_period_words[];

/* The word of a period other than NONE. */
const char *amped_period_word(amped_period period);

/* The period with this word; NONE: there is none. */
amped_period amped_period_of_word(const char *word);

/* Bytes of the longest label, with its null. */
#define AMPED_PERIOD_BYTES 16

/* Write the label of the period in which the time stamp lies. Returns NULL; or, if the text is no
 * time stamp, or has no such period, the end of a message: "TEXT ...". Static text. */
const char *amped_period_label(amped_period period, const char *text, uint64_t length,
                               char label[AMPED_PERIOD_BYTES]);

#endif
