/* Shape options: the table of options, and parsing of skews. */
#include "generate/shape_options.h"

#include <stdlib.h>

static bool parse_skew(void *options, const char *text) {
  amped_shape_options *o = options;
  o->skew_count = 0;
  while (o->skew_count < AMPED_MAX_ORDER) {
    char *end = NULL;
    double skew = strtod(text, &end);
    if (end == text || !(skew >= 0.0 && skew <= 10.0))
      return false;
    o->skew[o->skew_count++] = skew;
    if (*end == '\0')
      return true;
    if (*end != ',')
      return false;
    text = end + 1;
  }
  return false;
}

static const amped_option shape_rows[] = {
    {.name = "shape",
     .type = AMPED_OPTION_TEXT, /* any text: amped_shape_get reports wrong names */
     .words = AMPED_OPTION_WORDS("amazon", "patents", "reddit", "twitch", "nell2", "netflix"),
     .help = "dimensions, nonzeros and skew of a published tensor",
     .expected_text = "a name",
     AMPED_OPTION_FIELD(amped_shape_options, name)},
    {.name = "nnz",
     .type = AMPED_OPTION_COUNT,
     .least = 1,
     .value = "N",
     .help = "nonzeros to draw",
     .initially = "the shape's",
     .expected_text = "a whole number such as 1000000 or 1M",
     AMPED_OPTION_FIELD(amped_shape_options, nnz)},
    {.name = "scale",
     .type = AMPED_OPTION_REAL,
     .least = 1e-12,
     .most = 1e6,
     .value = "X",
     .help = "multiply nonzeros and dimensions of a shape by X",
     .initial = "1",
     AMPED_OPTION_FIELD(amped_shape_options, scale)},
    {.name = "skew",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_skew,
     .value = "S,...",
     .help = "Zipf exponent of the indices, for all modes or one per mode; 0: uniform",
     .initially = "0",
     .expected_text = "numbers from 0 to 10 separated by commas"},
};

static const amped_option values_rows[] = {
    {.name = "values",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("real", "counts", "ratings"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_VALUES_REAL, AMPED_VALUES_COUNTS, AMPED_VALUES_RATINGS),
     .unsaid = AMPED_VALUES_AS_SHAPE,
     .help = "values: real, a few counts, or ratings from 1 to 5",
     .initially = "as in the published tensor",
     AMPED_OPTION_FIELD(amped_shape_options, values)},
};

const amped_option_group amped_shape_option_rows = AMPED_OPTION_GROUP(shape_rows);
const amped_option_group amped_values_option_rows = AMPED_OPTION_GROUP(values_rows);
