/* Option: parsers of numbers and words, and the setting of fields. */
#include "base/option.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers and words --------------------------------------------------------------------- */

/* Parses a number with an optional suffix. The i-th of `suffixes` stands for base^(i+1). */
static bool parse_scaled(const char *text, double base, const char *tail, uint64_t *out) {
  static const char suffixes[] = "KMGTPE";
  char *end = NULL;
  if (text[0] < '0' || text[0] > '9')
    return false;
  errno = 0;
  uint64_t exact = strtoull(text, &end, 10);
  bool overflow = errno == ERANGE;
  bool plain = *end == '\0';
  if (plain && !overflow) {
    *out = exact;
    return true;
  }
  double value = strtod(text, &end);
  for (size_t i = 0; suffixes[i] != '\0'; i++)
    if (*end == suffixes[i] || *end == suffixes[i] + 'a' - 'A') {
      value *= pow(base, (double)i + 1.0);
      end++;
      if (*tail != '\0' && end[0] == 'i' && end[1] == tail[0])
        end += 2;
      else if (*tail != '\0' && end[0] == tail[0])
        end++;
      break;
    }
  if (*end != '\0' || !(value < 0x1p63) || value != floor(value))
    return false;
  *out = (uint64_t)value;
  return true;
}

bool amped_parse_bytes(const char *text, uint64_t *out) {
  return parse_scaled(text, 1024.0, "B", out);
}

bool amped_parse_count(const char *text, uint64_t *out) {
  return parse_scaled(text, 1000.0, "", out);
}

bool amped_parse_int(const char *text, int least, int most, int *out) {
  uint64_t n = 0;
  if (!amped_parse_count(text, &n) || n > INT_MAX || (int)n < least || (int)n > most)
    return false;
  *out = (int)n;
  return true;
}

bool amped_parse_real(const char *text, double least, double most, double *out) {
  char *end = NULL;
  double value = strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= least && value <= most))
    return false;
  *out = value;
  return true;
}

int amped_parse_word(const char *text, const char *const *words) {
  for (int i = 0; words[i] != NULL; i++)
    if (strcmp(text, words[i]) == 0)
      return i;
  return -1;
}

/* ---- fields -------------------------------------------------------------------------------- */

static void put(const amped_option *row, void *options, const void *from, size_t size) {
  assert(row->size == size);
  memcpy((char *)options + row->offset, from, size);
}

/* Puts a number into a bool, an int or an enum. Enums have the size of an int. */
static void put_int(const amped_option *row, void *options, int number) {
  bool flag = number != 0;
  if (row->size == sizeof flag)
    put(row, options, &flag, sizeof flag);
  else
    put(row, options, &number, sizeof number);
}

static bool set_unsigned(const amped_option *row, void *options, const char *text) {
  uint64_t number = 0;
  if (!(row->type == AMPED_OPTION_BYTES ? amped_parse_bytes : amped_parse_count)(text, &number) ||
      (double)number < row->least || (row->most > 0.0 && (double)number > row->most))
    return false;
  put(row, options, &number, sizeof number);
  return true;
}

static bool set_int(const amped_option *row, void *options, const char *text) {
  int number = 0;
  if (!amped_parse_int(text, (int)row->least, row->most > 0.0 ? (int)row->most : INT_MAX, &number))
    return false;
  put(row, options, &number, sizeof number);
  return true;
}

static bool set_real(const amped_option *row, void *options, const char *text) {
  double number = 0.0;
  if (!amped_parse_real(text, row->least, row->most > 0.0 ? row->most : HUGE_VAL, &number))
    return false;
  put(row, options, &number, sizeof number);
  return true;
}

static bool set_word(const amped_option *row, void *options, const char *text) {
  int i = amped_parse_word(text, row->words);
  if (i < 0)
    return false;
  if (row->type == AMPED_OPTION_NAME)
    put(row, options, &row->words[i], sizeof row->words[i]);
  else
    put_int(row, options, row->numbers != NULL ? row->numbers[i] : i);
  return true;
}

static bool set_text(const amped_option *row, void *options, const char *text) {
  if (*text == '\0')
    return false;
  put(row, options, &text, sizeof text);
  return true;
}

static bool add_text(const amped_option *row, void *options, const char *text) {
  assert(row->size == sizeof(amped_text_list));
  amped_text_list *list = (void *)((char *)options + row->offset);
  if (*text == '\0' || list->count == AMPED_MAX_TEXTS)
    return false;
  list->texts[list->count++] = text;
  return true;
}

static bool set_flag(const amped_option *row, void *options) {
  put_int(row, options, row->size == sizeof(bool) ? 1 : row->on);
  return true;
}

bool amped_option_set(const amped_option *row, void *options, const char *text) {
  switch (row->type) {
  case AMPED_OPTION_FLAG:
    return set_flag(row, options);
  case AMPED_OPTION_INT:
    return set_int(row, options, text);
  case AMPED_OPTION_COUNT:
  case AMPED_OPTION_BYTES:
    return set_unsigned(row, options, text);
  case AMPED_OPTION_REAL:
    return set_real(row, options, text);
  case AMPED_OPTION_WORD:
  case AMPED_OPTION_NAME:
    return set_word(row, options, text);
  case AMPED_OPTION_TEXT:
    return set_text(row, options, text);
  case AMPED_OPTION_TEXTS:
    return add_text(row, options, text);
  case AMPED_OPTION_CUSTOM:
    return row->parse(options, text);
  }
  return false;
}

void amped_option_default(const amped_option *row, void *options) {
  const uint64_t number = row->unsaid > 0.0 ? (uint64_t)row->unsaid : 0;
  if (row->initial != NULL) {
    bool taken = amped_option_set(row, options, row->initial);
    assert(taken);
    (void)taken;
    return;
  }
  switch (row->type) {
  case AMPED_OPTION_FLAG:
  case AMPED_OPTION_INT:
  case AMPED_OPTION_WORD:
    put_int(row, options, (int)row->unsaid);
    break;
  case AMPED_OPTION_COUNT:
  case AMPED_OPTION_BYTES:
    put(row, options, &number, sizeof number);
    break;
  case AMPED_OPTION_REAL:
    put(row, options, &row->unsaid, sizeof row->unsaid);
    break;
  case AMPED_OPTION_NAME:
  case AMPED_OPTION_TEXT:
  case AMPED_OPTION_TEXTS:
  case AMPED_OPTION_CUSTOM:
    break;
  }
}

/* ---- texts for the user -------------------------------------------------------------------- */

/* Joins all words of a row, with `before_last` before the last word and `between` before the
 * others. */
static void join(const char *const *words, const char *between, const char *before_last,
                 char *buffer) {
  size_t used = 0;
  for (int i = 0; words[i] != NULL && used < AMPED_OPTION_CHARS; i++) {
    const char *gap = i == 0 ? "" : words[i + 1] == NULL ? before_last : between;
    used += (size_t)snprintf(buffer + used, AMPED_OPTION_CHARS - used, "%s%s", gap, words[i]);
  }
}

const char *amped_option_value(const amped_option *row, char *buffer) {
  buffer[0] = '\0';
  if (row->value != NULL)
    (void)snprintf(buffer, AMPED_OPTION_CHARS, "%s", row->value);
  else if (row->type != AMPED_OPTION_FLAG && row->words != NULL)
    join(row->words, "|", "|", buffer);
  return buffer;
}

const char *amped_option_help(const amped_option *row, char *buffer) {
  const char *initially = row->initially != NULL ? row->initially : row->initial;
  const char *more = row->type == AMPED_OPTION_TEXTS ? "; repeat the option for more" : "";
  if (initially != NULL)
    (void)snprintf(buffer, AMPED_OPTION_CHARS, "%s%s [%s]", row->help, more, initially);
  else
    (void)snprintf(buffer, AMPED_OPTION_CHARS, "%s%s", row->help, more);
  return buffer;
}

/* Writes a text such as "a whole number from 1 to 1000". */
static void say_range(const amped_option *row, const char *noun, char *buffer) {
  if (row->most > 0.0)
    (void)snprintf(buffer, AMPED_OPTION_CHARS, "%s from %.15g to %.15g", noun, row->least,
                   row->most);
  else if (row->least > 0.0)
    (void)snprintf(buffer, AMPED_OPTION_CHARS, "%s from %.15g", noun, row->least);
  else
    (void)snprintf(buffer, AMPED_OPTION_CHARS, "%s", noun);
}

const char *amped_option_expected(const amped_option *row, char *buffer) {
  buffer[0] = '\0';
  if (row->expected_text != NULL) {
    (void)snprintf(buffer, AMPED_OPTION_CHARS, "%s", row->expected_text);
    return buffer;
  }
  switch (row->type) {
  case AMPED_OPTION_INT:
  case AMPED_OPTION_COUNT:
    say_range(row, "a whole number", buffer);
    break;
  case AMPED_OPTION_REAL:
    say_range(row, "a number", buffer);
    break;
  case AMPED_OPTION_BYTES:
    (void)snprintf(buffer, AMPED_OPTION_CHARS, "a size such as 40G or 512M");
    break;
  case AMPED_OPTION_WORD:
  case AMPED_OPTION_NAME:
    join(row->words, ", ", " or ", buffer);
    break;
  case AMPED_OPTION_TEXT:
  case AMPED_OPTION_TEXTS:
    (void)snprintf(buffer, AMPED_OPTION_CHARS, "a file's name");
    break;
  case AMPED_OPTION_FLAG:
  case AMPED_OPTION_CUSTOM:
    break;
  }
  return buffer;
}
