/* Clip option: the row of --clip and its parser. */
#include "base/clip_option.h"

#include <math.h>
#include <string.h>

static bool parse_bound(const char *text, size_t length, double *out) {
  char number[64];
  if (length == 0 || length >= sizeof number)
    return false;
  memcpy(number, text, length);
  number[length] = '\0';
  return amped_parse_real(number, -HUGE_VAL, HUGE_VAL, out) && isfinite(*out);
}

static bool parse_clip(void *options, const char *text) {
  amped_clip_option *clip = options;
  const char *colon = strchr(text, ':');
  *clip = (amped_clip_option){.given = true, .to_data = strcmp(text, "data") == 0};
  return clip->to_data ||
         (colon != NULL && parse_bound(text, (size_t)(colon - text), &clip->least) &&
          parse_bound(colon + 1, strlen(colon + 1), &clip->most) && clip->least <= clip->most);
}

static const amped_option rows[] = {
    {.name = "clip",
     .type = AMPED_OPTION_CUSTOM,
     .words = AMPED_OPTION_WORDS("data"),
     .parse = parse_clip,
     .value = "LO:HI|data",
     .help = "report errors of predictions cut to this range, or to that of the data, too",
     .initially = "no cut",
     .expected_text = "two numbers such as 0.5:5, the lesser first, or data"},
};

const amped_option_group amped_clip_option_rows = AMPED_OPTION_GROUP(rows);
