#include "cli/command_options.h"

static const amped_option convert_rows[] = {
    {.name = "drop-zeros",
     .type = AMPED_OPTION_FLAG,
     .help = "leave out entries whose value is zero",
     .initially = "they are kept",
     AMPED_OPTION_FIELD(amped_convert_options, drop_zeros)},
    {.name = "copies",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("all", "none"),
     .help = "write one ordered copy a mode, or a single list that cpd orders whenever it starts",
     .initial = "all",
     AMPED_OPTION_FIELD(amped_convert_options, no_copies)},
    {.name = "compact",
     .type = AMPED_OPTION_FLAG,
     .help = "leave out indices without nonzeros; those that remain keep their numbers as labels",
     .initially = "they are kept",
     AMPED_OPTION_FIELD(amped_convert_options, compact)},
    {.name = "label-order",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("first", "sorted"),
     .help = "number labels as they first appear, or in natural order: numbers, dates and times by "
             "what they mean, texts by their letters",
     .initial = "first",
     AMPED_OPTION_FIELD(amped_convert_options, labels_sorted)},
    {.name = "memory",
     .type = AMPED_OPTION_BYTES,
     .least = AMPED_LEAST_MEMORY,
     .value = "SIZE",
     .help = "memory for nonzeros; what is above is sorted on disk",
     .initially = "3/4 of what is free",
     .expected_text = "a size such as 40G or 512M, at least 1M",
     AMPED_OPTION_FIELD(amped_convert_options, memory)},
    {.name = "temporary",
     .type = AMPED_OPTION_TEXT,
     .value = "DIR",
     .help = "folder of temporary files, where they are needed",
     .initially = "the output's",
     .expected_text = "a folder's name",
     AMPED_OPTION_FIELD(amped_convert_options, temporary)},
};

static const amped_option generate_rows[] = {
    {.name = "planted",
     .type = AMPED_OPTION_INT,
     .least = 1,
     .most = AMPED_MAX_NCOMPS,
     .value = "R",
     .help = "draw the tensor from a known model of R components, written beside it",
     AMPED_OPTION_FIELD(amped_generate_options, planted)},
    {.name = "observed",
     .type = AMPED_OPTION_REAL,
     .least = 1e-18,
     .most = 1.0,
     .value = "F",
     .help =
         "with --planted: draw this share of the cells of a dense model, at random; the others are "
         "missing, not zero, for completion",
     .initially = "a sparse model, whose other cells are zero",
     .expected_text = "a share of the cells above 0, such as 0.01, at most 1",
     AMPED_OPTION_FIELD(amped_generate_options, observed)},
    {.name = "factor-mean",
     .type = AMPED_OPTION_REAL,
     .least = -1e6,
     .most = 1e6,
     .value = "X",
     .help = "with --observed: mean of the model's factor entries, which have a standard deviation "
             "of 1",
     .initial = "0",
     AMPED_OPTION_FIELD(amped_generate_options, factor_mean)},
    {.name = "noise",
     .type = AMPED_OPTION_REAL,
     .least = 0.0,
     .most = 1e6,
     .value = "X",
     .help = "standard deviation of added noise over the values' root mean square",
     .initial = "0",
     .expected_text = "a number from 0",
     AMPED_OPTION_FIELD(amped_generate_options, noise)},
};

static const amped_option info_rows[] = {
    {.name = "verify",
     .type = AMPED_OPTION_FLAG,
     .help = "read and check all of the file",
     AMPED_OPTION_FIELD(amped_info_options, verify)},
    {.name = "system",
     .type = AMPED_OPTION_FLAG,
     .help = "tell what all ranks find where they run: MPI and whether it takes GPU memory, "
             "libraries, GPUs and their links, which GPU, cores and memory each rank has",
     AMPED_OPTION_FIELD(amped_info_options, system)},
};

const amped_option_group amped_convert_option_rows = AMPED_OPTION_GROUP(convert_rows);
const amped_option_group amped_generate_option_rows = AMPED_OPTION_GROUP(generate_rows);
const amped_option_group amped_info_option_rows = AMPED_OPTION_GROUP(info_rows);
