/* Axis options: the table of options, and parsing of an axis. */
#include "text/axis_options.h"

#include <string.h>

static bool parse_axis(void *options, const char *text) {
  amped_axis_options *o = options;
  if (o->count == AMPED_MAX_ORDER || strchr(text, ':') == NULL || text[0] == ':' ||
      text[strlen(text) - 1] == ':')
    return false;
  o->axes[o->count++] = text;
  return true;
}

static const amped_option axis_rows[] = {
    {.name = "modes",
     .type = AMPED_OPTION_TEXT,
     .value = "NAME,...",
     .help = "names of the modes of a dense array, in the order of its dimensions",
     .initially = "those of the file, else numbers",
     .expected_text = "a name for each mode, separated by commas",
     AMPED_OPTION_FIELD(amped_axis_options, modes)},
    {.name = "axis",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_axis,
     .value = "MODE:FIRST:LAST|MODE:FILE",
     .help = "values of a mode of a dense array: evenly spaced, or a line of FILE for each index; "
             "again for other modes",
     .initially = "those of the file, else indices",
     .expected_text = "a mode with its values, such as wavelength:250:450 or sample:names.txt"},
};

const amped_option_group amped_axis_option_rows = AMPED_OPTION_GROUP(axis_rows);

bool amped_axes_given(const amped_axis_options *o) {
  return o != NULL && (o->modes != NULL || o->count > 0);
}
