/* RBS options: rows of the options. */
#include "solver/rbs_options.h"

static const amped_option rows[] = {
    {.name = "sample",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "blocks", "slices"),
     .help = "with --method=rbs: what is sampled of a dense tensor: blocks of random indices of "
             "all modes, or groups of random slices",
     .initial = "auto",
     .initially = "auto: blocks where all modes are long enough",
     AMPED_OPTION_FIELD(amped_rbs_options, sampler)},
    {.name = "block",
     .type = AMPED_OPTION_COUNT,
     .least = 1,
     .most = 0x1p40,
     .value = "B",
     .help = "with --method=rbs: indices of a block in the shortest mode, or slices of a group",
     .initially = "an eighth of that mode, at least 2 R; 30 slices, at least R",
     AMPED_OPTION_FIELD(amped_rbs_options, block)},
    {.name = "epochs",
     .type = AMPED_OPTION_INT,
     .least = 1,
     .most = 10000000,
     .unsaid = -1.0,
     .value = "E",
     .help = "with --method=rbs: epochs at most; one visits every index once, by blocks, which is "
             "1 / Q^(N - 1) of the cells in Q blocks, or all cells, by slices",
     .initially = "200 of blocks, 6 of slices",
     AMPED_OPTION_FIELD(amped_rbs_options, epochs)},
    {.name = "search",
     .type = AMPED_OPTION_INT,
     .least = 0,
     .most = 10000000,
     .unsaid = -1.0,
     .value = "N",
     .help = "with --method=rbs: epochs before steps are restricted more and more",
     .initially = "a quarter of the epochs of blocks, half of those of slices",
     AMPED_OPTION_FIELD(amped_rbs_options, search)},
    {.name = "polish",
     .type = AMPED_OPTION_INT,
     .least = 0,
     .most = 10000000,
     .unsaid = -1.0,
     .value = "N",
     .help = "with --method=rbs: sweeps of als over all cells at the end",
     .initially = "2; none where the tensor stays in its file",
     AMPED_OPTION_FIELD(amped_rbs_options, polish)},
    {.name = "memory",
     .type = AMPED_OPTION_BYTES,
     .least = 1,
     .value = "SIZE",
     .help = "with --method=rbs: memory of a rank for the tensor; a larger one stays in its file, "
             "and its slices are read in every epoch",
     .initially = "what is free",
     AMPED_OPTION_FIELD(amped_rbs_options, memory)},
};

const amped_option_group amped_rbs_option_rows = AMPED_OPTION_GROUP(rows);

bool amped_rbs_options_given(const amped_rbs_options *o) {
  return o->sampler != AMPED_SAMPLE_AUTO || o->block > 0 || o->epochs >= 0 || o->search >= 0 ||
         o->polish >= 0 || o->memory > 0;
}
