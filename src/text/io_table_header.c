/* Header row of a table: separator, names, the roles of columns, and warnings about likely
 * mistakes. */
#include "text/io_table_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "text/column_kinds.h"
#include "text/io_csv.h"
#include "text/io_number.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "tensor/format.h"

/* Bytes for the list of columns in a message. */
#define LIST_BYTES 800
/* Rows examined to find out whether a column holds numbers. */
#define LOOK_ROWS 100
/* Fewest rows for a warning. In fewer rows, the labels of a column may all differ by chance. */
#define ENOUGH_ROWS 10
/* Bytes for a column's number, used as its name. */
#define NUMBER_BYTES 21

void amped_table_header_free(amped_table_header *header) {
  amped_free(header->names);
  amped_free(header->text);
  amped_free(header->roles);
  amped_free(header->mode_names);
  *header = (amped_table_header){0};
}

/* Join names in one line, with a comma between them; the rest is cut off with dots. */
static const char *join(const char *const *names, uint64_t count, const char *comma, char *buffer) {
  size_t used = 0;
  buffer[0] = '\0';
  for (uint64_t c = 0; c < count; c++) {
    const char *before = c > 0 ? comma : "";
    const char *name = *names[c] != '\0' ? names[c] : "(no name)";
    if (strlen(name) + used + 8 > LIST_BYTES) {
      (void)snprintf(buffer + used, LIST_BYTES - used, "%s...", before);
      break;
    }
    used += (size_t)snprintf(buffer + used, LIST_BYTES - used, "%s%s", before, name);
  }
  return buffer;
}

static const char *list_of(const amped_table_header *h, char *buffer) {
  return join(h->names, h->count, ", ", buffer);
}

static const char *separator_name(char separator) {
  return separator == '\t' ? "tabs" : separator == ';' ? "semicolons" : "commas";
}

/* Count the cells of a row, and copy their names to h->text unless it is NULL. Returns the end of
 * the row; NULL on failure. */
static const char *take_names(amped_table_header *h, amped_piece *row) {
  const char *p = row->begin;
  char *text = h->text;
  amped_cell cell = {0};
  for (h->count = 0; !cell.last; h->count++) {
    const char *begin = p;
    p = amped_csv_cell(row, p, h->form, &cell);
    if (p == NULL)
      return NULL;
    if (h->text == NULL)
      continue;
    h->names[h->count] = text;
    uint64_t length = amped_csv_unquote(&cell, text);
    if (!amped_csv_is_utf8(text, text + length)) {
      amped_piece_fail(row, begin,
                       "column %" PRIu64 ": its name is not UTF-8 text; convert the file",
                       h->count + 1);
      return NULL;
    }
    if (memchr(text, '\r', length) != NULL) {
      amped_piece_fail(row, begin,
                       "column %" PRIu64
                       ": its name holds a carriage return, perhaps because lines end "
                       "with it alone; convert the line ends (tr '\\r' '\\n')",
                       h->count + 1);
      return NULL;
    }
    text[length] = '\0';
    text += length + 1;
  }
  return p;
}

/* Read the names in a row of text; *end is the byte after the row. */
static amped_status read_names(amped_table_header *h, amped_piece *row, const char **end) {
  *end = take_names(h, row);
  if (*end == NULL)
    return AMPED_OK; /* the piece has the error */
  uint64_t bytes = (uint64_t)(*end - row->begin) + h->count;
  AMPED_TRY(amped_alloc(&h->names, h->count, sizeof *h->names, "a table's header"));
  AMPED_TRY(amped_alloc(&h->text, bytes, 1, "a table's header"));
  *end = take_names(h, row);
  return AMPED_OK;
}

/* Find the column with this name. */
static amped_status find_column(const amped_table_header *h, const char *path, uint64_t line,
                                const char *option, const char *name, uint64_t *out) {
  char list[LIST_BYTES];
  uint64_t found = 0;
  for (uint64_t c = 0; c < h->count; c++) {
    if (strcmp(h->names[c], name) != 0)
      continue;
    found++;
    *out = c;
  }
  if (found == 1)
    return AMPED_OK;
  if (found > 1)
    return amped_text_error(path, line, "%" PRIu64 " columns are called \"%.200s\"; rename them",
                            found, name);
  return amped_text_error(path, line, "no column \"%.200s\"; %s takes some of: %s", name, option,
                          list_of(h, list));
}

static amped_status check_count(const amped_table_header *h, const char *path, uint64_t line,
                                uint64_t count, bool named) {
  char list[LIST_BYTES];
  if (count >= AMPED_MIN_ORDER && count <= AMPED_MAX_ORDER)
    return AMPED_OK;
  if (named)
    return amped_error(AMPED_USAGE, NULL, "--keys names %" PRIu64 " columns; name %d to %d", count,
                       AMPED_MIN_ORDER, AMPED_MAX_ORDER);
  return amped_text_error(path, line,
                          "%" PRIu64 " key columns; choose %d to %d with --keys (and --value) of: "
                          "%s%s%s",
                          count, AMPED_MIN_ORDER, AMPED_MAX_ORDER, list_of(h, list),
                          count > AMPED_MAX_ORDER
                              ? "; if columns hold values, make one row of each (melt in pandas)"
                              : "",
                          h->count == 1 ? "; does --separator=CHAR separate them?" : "");
}

/* Read the names in an option's value, which has the form of a CSV row; wanted->text holds them. */
static amped_status option_names(const char *option, const char *list, amped_table_header *wanted) {
  char *text = NULL;
  const char *end = NULL;
  const size_t length = strlen(list);
  *wanted = (amped_table_header){.form = {.separator = ',', .quoted = true}};
  AMPED_TRY(amped_alloc(&text, length + 2, 1, option));
  memcpy(text, list, length);
  memcpy(text + length, "\n", 2);
  amped_piece row = {.begin = text, .end = text + length + 1};
  amped_status status = read_names(wanted, &row, &end);
  if (status == AMPED_OK && end != row.end)
    status = amped_error(AMPED_USAGE, NULL, "%s: %s", option,
                         end == NULL ? row.error : "one line of column names is wanted");
  amped_free(text);
  return status;
}

/* Name of the option that selects the column of values. */
static const char *value_option(const amped_read_options *options) {
  return options->reads_weights ? "--weights" : "--value";
}

/* Find the columns given by --keys, in its order. */
static amped_status named_keys(amped_table_header *h, const char *path, uint64_t line,
                               const amped_read_options *options) {
  amped_table_header wanted;
  amped_status status = AMPED_OK;
  AMPED_GO(end, option_names("--keys", options->keys, &wanted));
  AMPED_GO(end, check_count(h, path, line, wanted.count, true));
  for (uint64_t m = 0; m < wanted.count; m++) {
    uint64_t c = 0;
    AMPED_GO(end, find_column(h, path, line, "--keys", wanted.names[m], &c));
    if (h->roles[c] != AMPED_ROLE_NONE) {
      const bool value = h->roles[c] == AMPED_ROLE_VALUE;
      status = amped_error(AMPED_USAGE, NULL, "--keys: column \"%.200s\" is %s%s; name it once",
                           h->names[c], value ? "also " : "named twice",
                           value ? value_option(options) : "");
      goto end;
    }
    h->roles[c] = (int)m;
    h->modes[m] = h->columns[m] = h->names[c];
  }
  h->order = (int)wanted.count;
end:
  amped_table_header_free(&wanted);
  return status;
}

/* Refuse two modes with the same name: nobody could distinguish them. */
static amped_status check_names(const amped_table_header *h, const char *path, uint64_t line) {
  for (int m = 0; m < h->order; m++)
    for (int other = 0; other < m; other++)
      if (strcmp(h->modes[m], h->modes[other]) == 0)
        return amped_text_error(path, line,
                                "2 columns are called \"%.200s\"; rename one, or choose columns "
                                "with --keys",
                                h->modes[m]);
  return AMPED_OK;
}

static bool is_number(const char *begin, const char *end) {
  double ignored = 0.0;
  return begin < end && amped_number_decimal(begin, &ignored) == end;
}

/* Do the first rows of the chunk have numbers in this column, except missing ones? *fractions: they
 * do, and some are not whole. Malformed rows are left to the parser. */
static bool has_numbers(const amped_table_header *h, const amped_text_chunk *chunk, uint64_t column,
                        bool *fractions) {
  amped_piece piece = {.begin = chunk->begin, .end = chunk->end};
  const char *p = chunk->begin;
  int numbers = 0;
  *fractions = false;
  for (int row = 0; row < LOOK_ROWS && p < chunk->end; row++) {
    amped_cell cell = {0};
    bool found = false;
    bool broken = false;
    p = amped_text_skip_marks(p);
    for (uint64_t c = 0; c < h->count && !cell.last; c++) {
      p = amped_csv_cell(&piece, p, h->form, &cell);
      if (p == NULL) {
        *fractions = false;
        return false;
      }
      if (c != column)
        continue;
      const bool number = is_number(cell.begin, cell.end);
      found = number || amped_csv_is_missing(&cell);
      numbers += number;
      broken = amped_column_is_fraction(cell.begin, cell.end);
    }
    if (!cell.last || !found) {
      *fractions = false;
      return false;
    }
    *fractions = *fractions || broken;
  }
  return numbers > 0;
}

/* Is it a row index, as pandas writes it: a column without a name that holds whole numbers? rows:
 * the rows below the header. */
static bool is_row_index(const amped_table_header *h, const amped_text_chunk *rows, uint64_t c) {
  bool fractions = false;
  return amped_column_has_no_name(h->names[c]) && has_numbers(h, rows, c, &fractions) && !fractions;
}

/* Make all columns keys, except the values and row indices. `beside`: name of another column that
 * is no key, if it exists; or NULL. rows: the rows below the header. */
static amped_status all_keys(amped_table_header *h, const char *path, uint64_t line,
                             const char *beside, const amped_text_chunk *rows) {
  uint64_t keys = 0;
  h->trailing =
      h->count > 1 && *h->names[h->count - 1] == '\0' && h->roles[h->count - 1] != AMPED_ROLE_VALUE;
  for (uint64_t c = 0; c + h->trailing < h->count; c++) {
    const bool may = h->roles[c] != AMPED_ROLE_VALUE;
    const bool is_index = may && is_row_index(h, rows, c);
    const bool is_key = may && !is_index && (beside == NULL || strcmp(h->names[c], beside) != 0);
    h->indices += is_index;
    h->roles[c] = is_key ? 0 : h->roles[c];
    keys += is_key;
  }
  AMPED_TRY(check_count(h, path, line, keys, false));
  for (uint64_t c = 0; c < h->count; c++) {
    if (h->roles[c] != 0)
      continue;
    h->roles[c] = h->order;
    h->columns[h->order] = h->names[c];
    h->modes[h->order++] = h->names[c];
  }
  return AMPED_OK;
}

/* Warn if a column of the header was found by a name that could be its place. */
static void warn_of_place(const amped_table_header *h, const char *path, const char *option,
                          const char *name, const amped_read_options *options) {
  const size_t digits = strspn(name, "0123456789");
  if (!options->no_header && name[digits] == '\0' && digits > 0 && digits < 4 &&
      strtoul(name, NULL, 10) <= h->count)
    amped_warn("%s: %s=%s is a name in the first line, which holds no entry; to count columns, add "
               "--no-header",
               path, option, name);
}

/* Values and weights of a table are read one after the other. A row without one of the two is left
 * out of both. */
static void find_other(amped_table_header *h, const char *name) {
  for (uint64_t c = 0; c < h->count && h->other == NULL; c++)
    if (h->roles[c] == AMPED_ROLE_NONE && strcmp(h->names[c], name) == 0) {
      h->roles[c] = AMPED_ROLE_OTHER;
      h->other = h->names[c];
    }
}

/* chunk: the text from the header on; `end`: the end of the header. */
static amped_status assign_roles(amped_table_header *h, const char *path,
                                 const amped_text_chunk *chunk, const char *end,
                                 const amped_read_options *options) {
  const uint64_t line = chunk->line;
  amped_text_chunk rows = *chunk;
  rows.begin = end;
  AMPED_TRY(amped_alloc(&h->roles, h->count, sizeof *h->roles, "a table's header"));
  for (uint64_t c = 0; c < h->count; c++)
    h->roles[c] = AMPED_ROLE_NONE;
  const bool weights = options->reads_weights;
  const char *value = weights ? options->weights : options->value;
  if (value != NULL) {
    uint64_t c = 0;
    AMPED_TRY(find_column(h, path, line, value_option(options), value, &c));
    h->roles[c] = AMPED_ROLE_VALUE;
    h->value = h->names[c];
    warn_of_place(h, path, value_option(options), value, options);
  }
  const char *other = weights ? options->value : options->weights;
  AMPED_TRY(options->keys != NULL ? named_keys(h, path, line, options)
                                  : all_keys(h, path, line, other, &rows));
  if (options->skips_missing && other != NULL && (weights || !options->known_modes))
    find_other(h, other);
  return AMPED_OK;
}

/* Join the label sets of the modes that --same-labels names. */
static amped_status join_sets(amped_table_header *h, const char *same_labels) {
  amped_table_header wanted;
  char list[LIST_BYTES];
  int first = AMPED_MAX_ORDER;
  amped_status status = AMPED_OK;
  AMPED_GO(end, option_names("--same-labels", same_labels, &wanted));
  if (wanted.count < 2) {
    status = amped_error(AMPED_USAGE, NULL, "--same-labels names one column; name two or more");
    goto end;
  }
  for (uint64_t i = 0; i < wanted.count; i++) {
    int m = 0;
    while (m < h->order && strcmp(h->modes[m], wanted.names[i]) != 0)
      m++;
    if (m == h->order) {
      status = amped_error(AMPED_USAGE, NULL, "--same-labels: \"%.200s\" is not a key; keys are %s",
                           wanted.names[i], join(h->modes, (uint64_t)h->order, ", ", list));
      goto end;
    }
    if (h->sets[m] == AMPED_MAX_ORDER) {
      status = amped_error(AMPED_USAGE, NULL, "--same-labels: \"%.200s\" is named twice",
                           wanted.names[i]);
      goto end;
    }
    h->sets[m] = AMPED_MAX_ORDER; /* placeholder until the first mode of the set is known */
    first = m < first ? m : first;
  }
  for (int m = 0; m < h->order; m++)
    if (h->sets[m] == AMPED_MAX_ORDER)
      h->sets[m] = first;
end:
  amped_table_header_free(&wanted);
  return status;
}

/* Insert a mode after mode m, of the same column. */
static amped_status repeat_mode(amped_table_header *h, int m) {
  if (h->order == AMPED_MAX_ORDER)
    return amped_error(AMPED_USAGE, NULL,
                       "--date: one more period of %.200s makes more than %d modes; leave out some "
                       "columns with --keys",
                       h->columns[m], AMPED_MAX_ORDER);
  for (int k = h->order; k > m + 1; k--) {
    h->columns[k] = h->columns[k - 1];
    h->modes[k] = h->modes[k - 1];
    h->periods[k] = h->periods[k - 1];
    h->sets[k] = h->sets[k - 1];
    h->shares[k] = h->shares[k - 1];
  }
  for (int k = 0; k <= h->order; k++)
    h->sets[k] += h->sets[k] > m && k != m + 1;
  for (uint64_t c = 0; c < h->count; c++)
    h->roles[c] += h->roles[c] > m && h->roles[c] < h->order;
  h->columns[m + 1] = h->modes[m + 1] = h->columns[m];
  h->periods[m + 1] = AMPED_PERIOD_NONE;
  h->sets[m + 1] = m + 1;
  h->shares[m + 1] = true;
  h->order++;
  return AMPED_OK;
}

/* Find the mode for a period of a column: the one that has it, one without a period, or a new one
 * after the others of this column. *out = h->order: there is no such column. known: modes that
 * exist get no others. */
static amped_status find_period_mode(amped_table_header *h, const char *column, size_t length,
                                     amped_period period, bool known, int *out) {
  int last = h->order;
  *out = h->order;
  for (int m = 0; m < h->order; m++) {
    if (strlen(h->columns[m]) != length || memcmp(h->columns[m], column, length) != 0)
      continue;
    last = m;
    if (*out == h->order && (h->periods[m] == period || h->periods[m] == AMPED_PERIOD_NONE))
      *out = m;
  }
  if (*out < h->order || last == h->order)
    return AMPED_OK;
  if (known)
    return amped_error(AMPED_USAGE, NULL,
                       "--date: %.200s is given as %s, and has the period %s; leave out one of the "
                       "two (a copy of the column may have another period)",
                       h->modes[last], amped_period_word(period),
                       amped_period_word(h->periods[last]));
  AMPED_TRY(repeat_mode(h, last));
  *out = last + 1;
  return AMPED_OK;
}

/* Set the period of one item of --date, COLUMN:PERIOD. */
static amped_status set_date(amped_table_header *h, const char *item, bool known) {
  char list[LIST_BYTES];
  const char *colon = strrchr(item, ':');
  const size_t length = colon != NULL ? (size_t)(colon - item) : strlen(item);
  const amped_period period = colon != NULL ? amped_period_of_word(colon + 1) : AMPED_PERIOD_NONE;
  int m = 0;
  if (period == AMPED_PERIOD_NONE)
    return amped_error(
        AMPED_USAGE, NULL,
        "--date: \"%.200s\" has no period after a colon; write COLUMN:year, or month, "
        "week, day, hour, weekday or hour-of-day",
        item);
  AMPED_TRY(find_period_mode(h, item, length, period, known, &m));
  if (m == h->order)
    return amped_error(AMPED_USAGE, NULL, "--date: \"%.*s\" is not a key; keys are %s",
                       length < 200 ? (int)length : 200, item,
                       join(h->columns, (uint64_t)h->order, ", ", list));
  h->periods[m] = period;
  return AMPED_OK;
}

/* Set the periods of one --date: COLUMN:PERIOD,... */
static amped_status set_dates(amped_table_header *h, const char *list, bool known) {
  amped_table_header wanted;
  amped_status status = option_names("--date", list, &wanted);
  for (uint64_t i = 0; i < wanted.count; i++)
    AMPED_NEXT(status, set_date(h, wanted.names[i], known));
  amped_table_header_free(&wanted);
  return status;
}

/* Length of the column's name in COLUMN_PERIOD; 0: it is no such name. */
static size_t column_length(const char *name, amped_period period) {
  const size_t length = name != NULL ? strlen(name) : 0;
  const size_t end = period != AMPED_PERIOD_NONE ? strlen(amped_period_word(period)) + 1 : 0;
  if (end == 0 || length <= end || name[length - end] != '_' ||
      strcmp(name + length - end + 1, amped_period_word(period)) != 0)
    return 0;
  return length - end;
}

/* Are the known modes m and m + 1 periods of the column of this name? Without a header, of any. */
static bool are_of_column(const amped_read_options *o, int m, const char *column) {
  const size_t length = column_length(o->known_names[m], o->periods[m]);
  return length > 0 && length == column_length(o->known_names[m + 1], o->periods[m + 1]) &&
         strncmp(o->known_names[m], o->known_names[m + 1], length) == 0 &&
         (o->no_header ||
          (strlen(column) == length && strncmp(o->known_names[m], column, length) == 0));
}

/* Give a column several modes if the known modes are several periods of it: time for time_month and
 * time_hour-of-day. Nothing changes if the number of keys equals the number of modes. */
static amped_status repeat_known(amped_table_header *h, const amped_read_options *o) {
  if (h->order >= o->known_order)
    return AMPED_OK;
  for (int m = 0; m + 1 < o->known_order && m < h->order; m++)
    if (are_of_column(o, m, h->columns[m]))
      AMPED_TRY(repeat_mode(h, m));
  return AMPED_OK;
}

/* Name the modes of columns that have several: COLUMN_PERIOD. */
static amped_status name_periods(amped_table_header *h) {
  uint64_t bytes = 0;
  for (int m = 0; m < h->order; m++)
    bytes += strlen(h->columns[m]) + 1 + AMPED_PERIOD_BYTES;
  AMPED_TRY(amped_alloc(&h->mode_names, bytes, 1, "a table's header"));
  char *name = h->mode_names;
  for (int m = 0; m < h->order; m++) {
    if (!h->shares[m] && (m + 1 == h->order || !h->shares[m + 1]))
      continue;
    const size_t room = strlen(h->columns[m]) + 1 + AMPED_PERIOD_BYTES;
    (void)snprintf(name, room, "%s_%s", h->columns[m], amped_period_word(h->periods[m]));
    h->modes[m] = name;
    name += room;
  }
  return AMPED_OK;
}

/* Find the periods of keys that are time stamps: from the known modes, and from --date. */
static amped_status find_periods(amped_table_header *h, const amped_read_options *options) {
  AMPED_TRY(repeat_known(h, options));
  const bool known = h->order == options->known_order;
  for (int m = 0; m < h->order && known; m++)
    h->periods[m] = options->periods[m];
  for (int i = 0; i < options->dates.count; i++)
    AMPED_TRY(set_dates(h, options->dates.texts[i], known));
  AMPED_TRY(name_periods(h));
  for (int m = 0; m < h->order; m++)
    if (h->periods[m] != h->periods[h->sets[m]])
      return amped_error(AMPED_USAGE, NULL,
                         "--same-labels: %.200s and %.200s have different periods; give both the "
                         "same one with --date",
                         h->modes[h->sets[m]], h->modes[m]);
  return AMPED_OK;
}

/* Returns a name that is a number; NULL: none. A row with such a name may be data, not a header. */
static const char *numeric_name(const amped_table_header *h) {
  for (uint64_t c = 0; c < h->count; c++)
    if (is_number(h->names[c], h->names[c] + strlen(h->names[c])))
      return h->names[c];
  return NULL;
}

/* Refuse a wide table: `count` of its columns, of which names are the first ones, hold values. */
static amped_status refuse_wide(const char *path, uint64_t count, const char *const names[3]) {
  char list[LIST_BYTES];
  return amped_error(
      AMPED_USAGE, amped_io_name(path),
      "%" PRIu64 " columns (%s%s) hold numbers with fractions, which look like "
      "values, not like keys; a table has one column of values: make one row of each "
      "value (melt in pandas), or name the keys with --keys and the value with "
      "--value",
      count, join(names, count < 3 ? count : 3, ", ", list), count > 3 ? ", ..." : "");
}

amped_status amped_table_header_refuse(const amped_table_header *h, const char *path,
                                       const char *column) {
  char list[LIST_BYTES];
  return amped_error(AMPED_USAGE, amped_io_name(path),
                     "column \"%.200s\" looks like values, not like keys; say --value=%.200s, or "
                     "--keys=%s if it is a key",
                     column, column, join(h->names, h->count - h->trailing, ",", list));
}

/* Refuse keys that look like values: hardly anyone wants values as a mode. A column does if its
 * name says so, or if some of its numbers have fractions. Time stamps are exempt. named: the user
 * named the value; one more column with fractions may then be a key. */
static amped_status refuse_values(const amped_table_header *h, const char *path,
                                  const amped_text_chunk *chunk, bool named) {
  char list[LIST_BYTES];
  const uint64_t columns = h->count - h->trailing;
  const char *wide[3] = {NULL};
  uint64_t count = 0;
  const char *name = NULL;
  for (uint64_t c = 0; c < columns; c++) {
    bool fractions = false;
    const bool may = h->roles[c] < AMPED_MAX_ORDER && h->periods[h->roles[c]] == AMPED_PERIOD_NONE;
    const bool numbers = may && has_numbers(h, chunk, c, &fractions);
    if (fractions && count < 3)
      wide[count] = h->names[c];
    count += fractions;
    if (fractions || (numbers && amped_column_has_value_name(h->names[c])))
      name = h->names[c];
  }
  if (count > 1 && !named)
    return refuse_wide(path, count, wide);
  if (count > 1)
    amped_warn("%s: %" PRIu64
               " key columns (%s%s) hold numbers with fractions; if they are values, make "
               "one row of each value (melt in pandas), or name the keys with --keys",
               amped_io_name(path), count, join(wide, count < 3 ? count : 3, ", ", list),
               count > 3 ? ", ..." : "");
  if (name == NULL || named)
    return AMPED_OK;
  return amped_table_header_refuse(h, path, name);
}

/* Columns of numbers whose names are times, among the keys: a wide table has one for each time.
 * names: the first ones. */
static uint64_t count_times(const amped_table_header *h, const amped_text_chunk *rows,
                            const char *names[3]) {
  uint64_t count = 0;
  for (uint64_t c = 0; c < h->count - h->trailing; c++) {
    bool fractions = false;
    if (h->roles[c] >= AMPED_MAX_ORDER || !amped_column_has_time_name(h->names[c]) ||
        !has_numbers(h, rows, c, &fractions))
      continue;
    if (count < 3)
      names[count] = h->names[c];
    count++;
  }
  return count;
}

/* Warn of a wide table whose columns are times: melting is the remedy. */
static void warn_of_wide(const amped_table_header *h, const char *path,
                         const amped_text_chunk *rows) {
  char list[LIST_BYTES];
  char text[LIST_BYTES];
  const char *names[3] = {NULL};
  const uint64_t count = count_times(h, rows, names);
  if (count > 1)
    amped_warn(
        "%s: %" PRIu64 " key columns (%s%s) hold numbers and are called as times are; if "
        "these are values, make one row of each value (melt in pandas), or name the keys "
        "with --keys and the value with --value",
        amped_io_name(path), count,
        amped_printable_text(text, sizeof text, join(names, count < 3 ? count : 3, ", ", list)),
        count > 3 ? ", ..." : "");
}

/* Choose the separator: the user's; tab if quotes are data; otherwise the one that the first row
 * has, with comma before semicolon and tab. */
static void find_separator(amped_table_header *h, bool quoted, const amped_read_options *options,
                           const amped_text_chunk *chunk) {
  uint64_t counts[3] = {0, 0, 0};
  static const char separators[] = {',', ';', '\t'};
  bool inside = false;
  for (const char *p = chunk->begin; p < chunk->end && (inside || *p != '\n'); p++) {
    inside = *p == '"' ? !inside : inside;
    for (int i = 0; i < 3; i++)
      counts[i] += !inside && *p == separators[i];
  }
  const int most = counts[0] > 0 ? 0 : counts[1] >= counts[2] ? 1 : 2;
  h->form = (amped_csv_form){.separator = options->separator, .quoted = quoted};
  if (h->form.separator != '\0')
    return;
  h->guessed = quoted && most != 0 && counts[most] > 0;
  h->form.separator = !quoted ? '\t' : h->guessed ? separators[most] : ',';
}

/* Name the columns 1, 2, 3, ... */
static amped_status number_columns(amped_table_header *h) {
  char *p = NULL;
  amped_free(h->text);
  h->text = NULL;
  AMPED_TRY(amped_alloc(&h->text, h->count, NUMBER_BYTES, "a table's header"));
  p = h->text;
  for (uint64_t c = 0; c < h->count; c++, p += NUMBER_BYTES) {
    h->names[c] = p;
    (void)snprintf(p, NUMBER_BYTES, "%" PRIu64, c + 1);
  }
  return AMPED_OK;
}

/* Skip blank lines at the start, except the last line. */
static void skip_blank_lines(amped_text_chunk *chunk) {
  for (;;) {
    chunk->begin = amped_text_skip_marks(chunk->begin);
    const char *end = chunk->begin + (*chunk->begin == '\r');
    if (*end != '\n' || end + 1 == chunk->end)
      return;
    chunk->begin = end + 1;
    chunk->line++;
  }
}

static amped_status refuse_number(const amped_table_header *h, const char *path,
                                  const amped_text_chunk *rows, const char *name) {
  const char *names[3] = {NULL};
  return amped_error(AMPED_USAGE, amped_io_name(path),
                     "line %" PRIu64 " should name the columns, and %.200s is a number; say "
                     "--no-header if it is a row of the table, or choose columns with --keys%s",
                     rows->line, name,
                     count_times(h, rows, names) > 1 ? "; if columns are years that hold values, "
                                                       "make one row of each value (melt in pandas)"
                                                     : "");
}

/* Refuse names that are all in quotes where quotes are part of them: hardly anyone wants them
 * there. */
static amped_status refuse_quotes(const amped_table_header *h, const char *path, uint64_t line) {
  for (uint64_t c = 0; c < h->count; c++) {
    const size_t length = strlen(h->names[c]);
    if (length < 2 || h->names[c][0] != '"' || h->names[c][length - 1] != '"')
      return AMPED_OK;
  }
  return amped_error(
      AMPED_USAGE, amped_io_name(path),
      "line %" PRIu64 ": all names of columns are in quotes, which are part of a cell in "
      "a .tsv; read it with --format=csv --separator=tab, or say --format=tsv if they "
      "are meant",
      line);
}

/* Refuse a first line such as "sep=;", which gives spreadsheets the separator: the names of columns
 * are in the next line. */
static amped_status refuse_separator_line(const amped_table_header *h, const char *path,
                                          uint64_t line) {
  const bool alone = h->count == 1 || (h->count == 2 && *h->names[1] == '\0');
  if (!alone || strncasecmp(h->names[0], "sep=", 4) != 0 || strlen(h->names[0]) > 5)
    return AMPED_OK;
  return amped_text_error(path, line,
                          "it names the separator for spreadsheets, not the columns; remove this "
                          "line (sed 1d)");
}

amped_status amped_table_header_read(amped_table_header *header, const char *path, bool quoted,
                                     const amped_read_options *options, amped_text_chunk *chunk) {
  amped_piece row = {.begin = chunk->begin, .end = chunk->end};
  const char *end = NULL;
  skip_blank_lines(chunk);
  row.begin = chunk->begin;
  find_separator(header, quoted, options, chunk);
  AMPED_TRY(read_names(header, &row, &end));
  AMPED_TRY(amped_text_check(path, chunk, &row, 1));
  if (!quoted && options->format == AMPED_READ_AUTO)
    AMPED_TRY(refuse_quotes(header, path, chunk->line));
  AMPED_TRY(refuse_separator_line(header, path, chunk->line));
  if (options->no_header)
    AMPED_TRY(number_columns(header));
  AMPED_TRY(assign_roles(header, path, chunk, end, options));
  for (int m = 0; m < header->order; m++)
    header->sets[m] = m;
  if (options->same_labels != NULL)
    AMPED_TRY(join_sets(header, options->same_labels));
  AMPED_TRY(find_periods(header, options));
  const bool named = options->value != NULL || options->weights != NULL;
  const bool chosen = options->keys != NULL || named;
  if (options->no_header)
    return options->keys != NULL || options->known_modes
               ? AMPED_OK
               : refuse_values(header, path, chunk, named);
  if (!chosen && numeric_name(header) != NULL)
    return refuse_number(header, path, chunk, numeric_name(header));
  AMPED_TRY(check_names(header, path, chunk->line));
  chunk->line += amped_text_count(chunk->begin, end, '\n');
  chunk->begin = end;
  if (options->keys != NULL || options->known_modes)
    return AMPED_OK;
  warn_of_wide(header, path, chunk);
  return refuse_values(header, path, chunk, named);
}

bool amped_table_header_in_place(const amped_table_header *h) {
  char place[NUMBER_BYTES];
  for (int m = 0; m < h->order; m++) {
    (void)snprintf(place, sizeof place, "%d", m + 1);
    if (strcmp(h->modes[m], place) != 0)
      return false;
  }
  return true;
}

void amped_table_header_tell(const amped_table_header *h, const char *path) {
  char list[LIST_BYTES];
  char text[LIST_BYTES];
  char value[LIST_BYTES];
  (void)amped_printable_text(text, sizeof text, join(h->modes, (uint64_t)h->order, ", ", list));
  if (h->guessed)
    amped_note("%s: %s separate its cells (--separator says otherwise)", amped_io_name(path),
               separator_name(h->form.separator));
  if (h->indices > 0)
    amped_note("%s: %" PRIu64
               " column%s without a name hold%s whole numbers, as a row index does, and "
               "%s left out (--keys takes columns by name)",
               amped_io_name(path), h->indices, h->indices == 1 ? "" : "s",
               h->indices == 1 ? "s" : "", h->indices == 1 ? "is" : "are");
  if (h->value == NULL)
    amped_note("%s: every row counts 1, its keys are %s (--value=COL names a column of values)",
               amped_io_name(path), text);
  else
    amped_note("%s: its keys are %s, and its values are %s", amped_io_name(path), text,
               amped_printable_text(value, sizeof value, join(&h->value, 1, "", list)));
  for (int m = 0; m < h->order; m++)
    if (h->periods[m] != AMPED_PERIOD_NONE)
      amped_note("%s: time stamps of %s are read as periods: %s", amped_io_name(path),
                 amped_printable_text(text, sizeof text, join(&h->columns[m], 1, "", list)),
                 amped_period_word(h->periods[m]));
}

void amped_table_header_warn(const amped_table_header *h, const char *path, int mode,
                             uint64_t labels, uint64_t rows, bool times, bool wide) {
  const char *others[AMPED_MAX_ORDER];
  char list[LIST_BYTES];
  char text[LIST_BYTES];
  char name[LIST_BYTES];
  uint64_t count = 0;
  const bool all = labels == rows;
  const char *as = "as a row number has; ";
  if (times)
    as = all ? "as times and row numbers have; make periods of times (--date=COLUMN:day), or "
             : "as times have: make periods of them (--date=COLUMN:day); ";
  if (h->periods[mode] != AMPED_PERIOD_NONE || 2 * labels <= rows ||
      rows < (all && amped_column_has_no_name(h->modes[mode]) ? 2 : ENOUGH_ROWS))
    return;
  for (int m = 0; m < h->order; m++)
    if (m != mode)
      others[count++] = h->modes[m];
  const bool remedy = count >= AMPED_MIN_ORDER;
  amped_warn(
      "%s: column %s has %" PRIu64 " labels in %" PRIu64 " rows, %s, %s%s%s%s", amped_io_name(path),
      amped_printable_text(name, sizeof name, join(&h->modes[mode], 1, "", list)), labels, rows,
      all ? "one a row" : "fewer than two rows a label", as,
      remedy ? "leave it out with --keys=" : "choose other columns with --keys",
      remedy ? amped_printable_text(text, sizeof text, join(others, count, ",", list)) : "",
      wide ? "; if the other columns hold values, make one row of each value (melt in pandas)"
           : "");
}
