/* Stream options: rows of the options, their parsers, and the check for contradictions. */
#include "solver/stream/stream_options.h"

#include <string.h>

/* A state cannot be written to standard output. */
static bool parse_state(void *options, const char *text) {
  ((amped_stream_options *)options)->state = text;
  return *text != '\0' && strcmp(text, "-") != 0;
}

static bool parse_boxes(void *options, const char *text) {
  amped_stream_options *o = options;
  o->has_boxes = true;
  return amped_boxes_parse(text, &o->boxes);
}

static const amped_option state_rows[] = {
    {.name = "state",
     .type = AMPED_OPTION_CUSTOM,
     .once = true,
     .parse = parse_state,
     .value = "FILE",
     .help = "also write a state, which amped_mpi stream keeps up to date",
     .expected_text = "a file's name"},
    {.name = "keep-validation",
     .type = AMPED_OPTION_COUNT,
     .value = "N",
     .help = "most held-out entries that a state keeps, to measure later models",
     .initial = "1M",
     AMPED_OPTION_FIELD(amped_stream_options, keep)},
};

static const amped_option history_rows[] = {
    {.name = "history",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("equations", "model", "published"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_HISTORY_EQUATIONS, AMPED_HISTORY_MODEL,
                                     AMPED_HISTORY_PUBLISHED),
     .help = "what the state keeps of old entries, as explained below",
     .initial = "equations",
     AMPED_OPTION_FIELD(amped_stream_options, history)},
};

static const amped_option learn_rows[] = {
    {.name = "forget",
     .type = AMPED_OPTION_REAL,
     .least = 1e-6,
     .most = 1.0,
     .value = "X",
     .help = "each batch multiplies the weight of older entries by X; fixed by the first batch",
     .initially = "the state's, or 1",
     AMPED_OPTION_FIELD(amped_stream_options, forget)},
    {.name = "sweeps",
     .type = AMPED_OPTION_INT,
     .least = 1,
     .most = 1000,
     .value = "N",
     .help = "sweeps over each batch",
     .initial = "3",
     AMPED_OPTION_FIELD(amped_stream_options, sweeps)},
};

static const amped_option rows[] = {
    {.name = "by",
     .type = AMPED_OPTION_TEXT,
     .value = "MODE",
     .help = "cut INPUT along this mode (name or number): each index is a batch",
     .expected_text = "a mode",
     AMPED_OPTION_FIELD(amped_stream_options, by)},
    {.name = "batch",
     .type = AMPED_OPTION_COUNT,
     .least = 1,
     .most = 0x1p53,
     .value = "N",
     .help = "with --by: indices per batch",
     .initially = "1",
     AMPED_OPTION_FIELD(amped_stream_options, batch)},
    {.name = "boxes",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_boxes,
     .value = "D0xD1x...,+S0xS1x...",
     .help = "cut INPUT into growing boxes: the first size, then what each batch adds",
     .expected_text = "sizes such as 100x80x5,+10x8x0"},
    {.name = "follow",
     .type = AMPED_OPTION_TEXT,
     .once = true,
     .value = "DIR",
     .help = "learn files that appear in this folder, in order of name, until a signal",
     .expected_text = "a folder",
     AMPED_OPTION_FIELD(amped_stream_options, follow)},
    {.name = "order",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("cyclic", "random"),
     .help = "order of modes in a sweep: the growing mode first, or a new random order by the "
             "state's seed",
     .initial = "cyclic",
     AMPED_OPTION_FIELD(amped_stream_options, random_order)},
    {.name = "snapshots",
     .type = AMPED_OPTION_FLAG,
     .help =
         "each batch is a later version of the whole tensor: learn only what is new, and refuse "
         "it if its old part is not what was learnt",
     AMPED_OPTION_FIELD(amped_stream_options, snapshots)},
    {.name = "max-rows",
     .type = AMPED_OPTION_COUNT,
     .least = 1,
     .most = 0x1p63,
     .value = "N",
     .help = "largest size of a mode after a batch; a larger index is an error",
     .initially = "2 x (rows + entries)",
     AMPED_OPTION_FIELD(amped_stream_options, max_rows)},
};

const amped_option_group amped_state_option_rows = AMPED_OPTION_GROUP(state_rows);
const amped_option_group amped_history_option_rows = AMPED_OPTION_GROUP(history_rows);
const amped_option_group amped_learn_option_rows = AMPED_OPTION_GROUP(learn_rows);
const amped_option_group amped_stream_option_rows = AMPED_OPTION_GROUP(rows);
