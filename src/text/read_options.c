/* Read options: the table of options, and parsing of dimensions and separators. */
#include "text/read_options.h"

#include <string.h>

static bool parse_dims(void *options, const char *text) {
  amped_read_options *o = options;
  o->dims_order = 0;
  while (o->dims_order < AMPED_MAX_ORDER) {
    char number[32];
    size_t n = strcspn(text, ",x");
    uint64_t dim = 0;
    if (n == 0 || n >= sizeof number)
      return false;
    memcpy(number, text, n);
    number[n] = '\0';
    if (!amped_parse_count(number, &dim) || dim == 0)
      return false;
    o->dims[o->dims_order++] = dim;
    if (text[n] == '\0')
      return o->dims_order >= AMPED_MIN_ORDER;
    text += n + 1;
  }
  return false;
}

/* Can the character separate cells? Characters of numbers, names and quotes cannot. */
static bool is_separator(char c) {
  return c == '\t' ||
         (c >= ' ' && c < 0x7f && strchr("\"+-._", c) == NULL && !(c >= '0' && c <= '9') &&
          !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z'));
}

static const char *const separator_words[] = {"comma", "semicolon", "tab", "pipe", "space", NULL};

/* Parse a separator: its name, \t, or the character itself. */
static bool parse_separator(void *options, const char *text) {
  amped_read_options *o = options;
  const int word = amped_parse_word(strcmp(text, "\\t") == 0 ? "tab" : text, separator_words);
  o->separator = word >= 0 ? ",;\t| "[word] : text[0];
  return word >= 0 || (text[0] != '\0' && text[1] == '\0' && is_separator(text[0]));
}

bool amped_read_options_of_table(const amped_read_options *o) {
  return o->keys != NULL || o->value != NULL || o->weights != NULL || o->separator != '\0' ||
         o->no_header || o->empty != NULL || o->skips_missing || o->dates.count > 0 ||
         o->same_labels != NULL;
}

void amped_read_options_know(amped_read_options *o, int order, const amped_labels *labels) {
  o->known_modes = true;
  if (labels == NULL)
    return;
  o->from_zero = labels[0].from_zero;
  o->known_order = order;
  for (int m = 0; m < order; m++) {
    o->periods[m] = labels[m].period;
    o->known_names[m] = labels[m].name;
  }
}

amped_duplicates amped_read_duplicates(const amped_read_options *o) {
  return o->duplicates == AMPED_DUPLICATES_UNKNOWN ? AMPED_DUPLICATES_SUM : o->duplicates;
}

static const amped_option dims_rows[] = {
    {.name = "dims",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_dims,
     .value = "AxBxC...",
     .help = "dimensions of the tensor",
     .initially = "the largest indices of text input",
     .expected_text = "2 to 8 dimensions such as 10x20x30"},
};

static const amped_option duplicates_rows[] = {
    {.name = "duplicates",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("sum", "mean", "last", "keep", "error"),
     .numbers =
         AMPED_OPTION_NUMBERS(AMPED_DUPLICATES_SUM, AMPED_DUPLICATES_MEAN, AMPED_DUPLICATES_LAST,
                              AMPED_DUPLICATES_KEEP, AMPED_DUPLICATES_ERROR),
     .help = "values at repeated coordinates: sum suits counts; mean or last, ratings",
     .initially = "sum",
     AMPED_OPTION_FIELD(amped_read_options, duplicates)},
};

static const amped_option read_rows[] = {
    {.name = "format",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "tns", "csv", "tsv"),
     .numbers =
         AMPED_OPTION_NUMBERS(AMPED_READ_AUTO, AMPED_READ_TNS, AMPED_READ_CSV, AMPED_READ_TSV),
     .help = "format of the input",
     .initial = "auto",
     .initially = "auto: by suffix; a pipe is text, or a table with table options",
     AMPED_OPTION_FIELD(amped_read_options, format)},
    {.name = "index-base",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "0", "1"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_BASE_AUTO, AMPED_BASE_0, AMPED_BASE_1),
     .help = "first index of text input",
     .initial = "auto",
     .initially = "auto: 1, unless a header says otherwise",
     AMPED_OPTION_FIELD(amped_read_options, index_base)},
    {.name = "header",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "none", "dims", "dims-nnz"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_HEADER_AUTO, AMPED_HEADER_NONE, AMPED_HEADER_DIMS,
                                     AMPED_HEADER_DIMS_NNZ),
     .help = "first line of text: a nonzero (none), dimensions, or also number of nonzeros",
     .initial = "auto",
     AMPED_OPTION_FIELD(amped_read_options, header)},
    {.name = "keys",
     .type = AMPED_OPTION_TEXT,
     .value = "COL,...",
     .help = "table columns that become modes, in this order",
     .initially = "all except --value",
     .expected_text = "column names separated by commas",
     AMPED_OPTION_FIELD(amped_read_options, keys)},
    {.name = "value",
     .type = AMPED_OPTION_TEXT,
     .value = "COL",
     .help = "table column of the values",
     .initially = "each row counts 1",
     .expected_text = "a column name",
     AMPED_OPTION_FIELD(amped_read_options, value)},
    {.name = "separator",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_separator,
     .words = separator_words,
     .value = "CHAR",
     .help = "table separator: a character or comma, semicolon, tab, pipe, space",
     .initially = "tab in .tsv; else detected",
     .expected_text = "one character such as ';', or comma, semicolon, tab, pipe or space"},
    {.name = "no-header",
     .type = AMPED_OPTION_FLAG,
     .help = "the table has no row of column names; columns are named 1, 2, 3, ...",
     AMPED_OPTION_FIELD(amped_read_options, no_header)},
    {.name = "empty",
     .type = AMPED_OPTION_TEXT,
     .value = "LABEL",
     .help = "label for empty keys of a table",
     .initially = "an empty key is an error",
     .expected_text = "a label",
     AMPED_OPTION_FIELD(amped_read_options, empty)},
    {.name = "missing",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("error", "skip"),
     .help =
         "table rows with an empty key, or an empty or NA value: refuse them, or leave them out",
     .initial = "error",
     AMPED_OPTION_FIELD(amped_read_options, skips_missing)},
    {.name = "date",
     .type = AMPED_OPTION_TEXTS,
     .value = "COL:PERIOD,...",
     .help =
         "make periods of a table key of time stamps (ISO 8601 or Unix time): year, month, week, "
         "day, hour, weekday or hour-of-day; two periods of a column make two modes",
     .initially = "time stamps are labels as they are",
     .expected_text = "a column and a period, such as time:month",
     AMPED_OPTION_FIELD(amped_read_options, dates)},
    {.name = "same-labels",
     .type = AMPED_OPTION_TEXT,
     .value = "COL,COL",
     .help = "table keys that share one set of labels and indices, such as from,to",
     .initially = "none",
     .expected_text = "column names separated by commas",
     AMPED_OPTION_FIELD(amped_read_options, same_labels)},
};

const amped_option_group amped_dims_option_rows = AMPED_OPTION_GROUP(dims_rows);
const amped_option_group amped_duplicates_option_rows = AMPED_OPTION_GROUP(duplicates_rows);
const amped_option_group amped_read_option_rows = AMPED_OPTION_GROUP(read_rows);
