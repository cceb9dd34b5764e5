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

static const amped_option dims_rows[] = {
    {.name = "dims",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_dims,
     .value = "AxBxC...",
     .help = "dimensions",
     .initially = "convert: the largest indices",
     .expected_text = "3 to 8 dimensions such as 10x20x30"},
};

static const amped_option read_rows[] = {
    {.name = "index-base",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "0", "1"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_BASE_AUTO, AMPED_BASE_0, AMPED_BASE_1),
     .help = "first index of text input",
     .initial = "auto",
     .initially = "auto: 1, unless a header says otherwise",
     AMPED_OPTION_FIELD(amped_read_options, index_base)},
    {.name = "keys",
     .type = AMPED_OPTION_TEXT,
     .value = "COL,...",
     .help = "columns of a table that become modes, in this order",
     .initially = "all but --value",
     .expected_text = "column names separated by commas",
     AMPED_OPTION_FIELD(amped_read_options, keys)},
    {.name = "value",
     .type = AMPED_OPTION_TEXT,
     .value = "COL",
     .help = "column of a table that holds the values",
     .initially = "each row is 1",
     .expected_text = "a column name",
     AMPED_OPTION_FIELD(amped_read_options, value)},
};

const amped_option_group amped_dims_option_rows = AMPED_OPTION_GROUP(dims_rows);
const amped_option_group amped_read_option_rows = AMPED_OPTION_GROUP(read_rows);
