/* RBS options: rows of the options. */
#include "solver/cpd/rbs_options.h"

static const amped_option rows[] = {
    {.name = "sample",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "blocks", "slices"),
     .help = "with rbs: sample blocks or slices at random",
     .initial = "auto",
     .initially = "auto: blocks if all modes are long enough",
     AMPED_OPTION_FIELD(amped_rbs_options, sampler)},
    {.name = "block",
     .type = AMPED_OPTION_COUNT,
     .least = 1,
     .most = 0x1p40,
     .value = "B",
     .help = "with rbs: block size in the shortest mode, or slices per group",
     .initially = "1/8 of it, >= 2 R; 30, >= R",
     AMPED_OPTION_FIELD(amped_rbs_options, block)},
    {.name = "epochs",
     .type = AMPED_OPTION_INT,
     .least = 1,
     .most = 10000000,
     .unsaid = -1.0,
     .value = "E",
     .help = "with rbs: most epochs, each a visit to every index (slices: every cell)",
     .initially = "200; slices: 6",
     AMPED_OPTION_FIELD(amped_rbs_options, epochs)},
    {.name = "search",
     .type = AMPED_OPTION_INT,
     .least = 0,
     .most = 10000000,
     .unsaid = -1.0,
     .value = "N",
     .help = "with rbs: epochs before steps are restricted",
     .initially = "1/4 of the epochs; slices: 1/2",
     AMPED_OPTION_FIELD(amped_rbs_options, search)},
    {.name = "polish",
     .type = AMPED_OPTION_INT,
     .least = 0,
     .most = 10000000,
     .unsaid = -1.0,
     .value = "N",
     .help = "with rbs: als sweeps over all cells at the end",
     .initially = "2; 0 if the tensor stays in its file",
     AMPED_OPTION_FIELD(amped_rbs_options, polish)},
    {.name = "memory",
     .type = AMPED_OPTION_BYTES,
     .least = 1,
     .value = "SIZE",
     .help =
         "with rbs: memory per rank for the tensor; a larger one is read from its file each epoch",
     .initially = "free",
     AMPED_OPTION_FIELD(amped_rbs_options, memory)},
};

const amped_option_group amped_rbs_option_rows = AMPED_OPTION_GROUP(rows);

bool amped_rbs_options_given(const amped_rbs_options *o) {
  return o->sampler != AMPED_SAMPLE_AUTO || o->block > 0 || o->epochs >= 0 || o->search >= 0 ||
         o->polish >= 0 || o->memory > 0;
}
