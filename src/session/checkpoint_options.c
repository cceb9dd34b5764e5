/* The option rows --checkpoint, --checkpoint-every, --resume and --on-signal. */
#include "session/checkpoint_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parse a number of sweeps, or of seconds with the suffix s. */
static bool parse_every(void *options, const char *text) {
  amped_checkpoint_options *o = options;
  char *end = NULL;
  o->every_sweeps = 0;
  o->every_sec = strtod(text, &end);
  if (end != text && strcmp(end, "s") == 0)
    return o->every_sec > 0.0 && isfinite(o->every_sec);
  o->every_sec = 0.0; /* counts take no suffix here: 5m must not look like five minutes */
  return text[strspn(text, "0123456789")] == '\0' && amped_parse_count(text, &o->every_sweeps) &&
         o->every_sweeps > 0;
}

static const amped_option rows[] = {
    {.name = "checkpoint",
     .type = AMPED_OPTION_TEXT,
     .once = true,
     .value = "FILE",
     .help = "save the run to FILE as it goes; a signal then saves it, with exit status 85",
     AMPED_OPTION_FIELD(amped_checkpoint_options, file)},
    {.name = "checkpoint-every",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_every,
     .value = "N|SECONDSs",
     .help = "sweeps, or seconds (600s), between checkpoints",
     .initially = "10",
     .expected_text = "a number of sweeps such as 10, or of seconds: 600s"},
    {.name = "resume",
     .type = AMPED_OPTION_FLAG,
     .help = "continue from the file of --checkpoint if there is one",
     AMPED_OPTION_FIELD(amped_checkpoint_options, resume)},
};

static const amped_option signal_rows[] = {
    {.name = "on-signal",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("nothing", "result"),
     .help = "result: a signal writes STEM.partial.cpd.h5 (-o q.h5: q.partial.h5), with exit "
             "status 85",
     .initial = "nothing",
     AMPED_OPTION_FIELD(amped_checkpoint_options, result_on_signal)},
};

const amped_option_group amped_checkpoint_option_rows = AMPED_OPTION_GROUP(rows);
const amped_option_group amped_on_signal_option_rows = AMPED_OPTION_GROUP(signal_rows);
