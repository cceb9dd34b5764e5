/* Kinds of columns: names of values, and numbers among labels. */
#include "text/column_kinds.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "text/io_csv.h"
#include "text/io_number.h"
#include "tensor/label_order.h"

/* Longest label that is read as a number. */
#define MOST 64

/* Names of values, singular or plural as tables have them. Only columns of numbers are asked, so
 * that "note" or "units" may be texts. */
static const char *const words[] = {
    "amount",       "amounts",   "bewertung",  "clicks",   "cnt",         "cost",    "costs",
    "count",        "counts",    "downloads",  "duration", "events",      "freq",    "frequency",
    "grade",        "grades",    "hits",       "hours",    "impressions", "income",  "interactions",
    "likes",        "listens",   "mark",       "marks",    "minutes",     "n",       "note",
    "orders",       "playcount", "playcounts", "plays",    "price",       "prices",  "profit",
    "purchases",    "qty",       "quantity",   "rating",   "ratings",     "revenue", "sales",
    "score",        "scores",    "spend",      "stars",    "streams",     "sum",     "total",
    "transactions", "trips",     "units",      "val",      "value",       "values",  "viewcount",
    "views",        "visits",    "volume",     "votes",    "weight",      "weights"};

static bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

static bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool amped_column_has_no_name(const char *name) {
  return *name == '\0' || strncmp(name, "Unnamed: ", 9) == 0;
}

bool amped_column_has_value_name(const char *name) {
  const char *last = name;
  for (const char *p = name; *p != '\0'; p++) {
    if (strchr("_-. ", *p) != NULL)
      last = p + 1;
    else if (is_lower(p[0]) && is_upper(p[1]) && is_lower(p[2]))
      last = p + 1; /* playCount */
  }
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strcasecmp(last, words[i]) == 0)
      return true;
  return false;
}

bool amped_column_has_time_name(const char *name) {
  char text[MOST + 1];
  const size_t length = strlen(name);
  uint64_t offsets[2] = {0, length};
  if (length == 0 || length > MOST)
    return false;
  memcpy(text, name, length + 1);
  if (length == 4 && strspn(name, "0123456789") == 4)
    return strcmp(name, "1900") >= 0 && strcmp(name, "2100") <= 0;
  return amped_label_kind_of(&(amped_labels){.count = 1, .bytes = text, .offsets = offsets}) ==
         AMPED_LABELS_DATES;
}

bool amped_column_is_fraction(const char *begin, const char *end) {
  double x = 0.0;
  return begin < end && amped_number_decimal(begin, &x) == end && x != floor(x);
}

amped_column_kind amped_column_kind_of(const amped_labels *labels) {
  amped_column_kind kind = AMPED_COLUMN_WHOLE;
  uint64_t numbers = 0;
  for (uint64_t i = 0; i < labels->count; i++) {
    char text[MOST + 1];
    double ignored = 0.0;
    uint64_t length = 0;
    const char *label = amped_label(labels, i, &length);
    if (length > MOST)
      return AMPED_COLUMN_TEXT;
    memcpy(text, label, length);
    text[length] = '\0';
    if (amped_csv_is_missing(&(amped_cell){.begin = text, .end = text + length}))
      continue;
    if (amped_number_decimal(text, &ignored) != text + length)
      return AMPED_COLUMN_TEXT;
    numbers++;
    if (amped_column_is_fraction(text, text + length))
      kind = AMPED_COLUMN_FRACTIONS;
  }
  return numbers > 0 ? kind : AMPED_COLUMN_TEXT;
}
