/* The option rows of predict and recommend. */
#include "cli/model_options.h"

static const amped_option predict_rows[] = {
    {.name = "cold",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("refuse", "predict"),
     .help = "cells whose index or label the model does not know: stop, or predict with the "
             "average row",
     .initial = "refuse",
     AMPED_OPTION_FIELD(amped_predict_options, cold)},
    {.name = "observed",
     .type = AMPED_OPTION_TEXT,
     .once = true,
     .value = "ARRAY",
     .help = "without COORDS: keep the cells of this dense tensor that are not missing",
     .initially = "predict every cell",
     .expected_text = "a file's name, such as image.npy",
     AMPED_OPTION_FIELD(amped_predict_options, observed)},
};

static const amped_option of_rows[] = {
    {.name = "of",
     .type = AMPED_OPTION_TEXT,
     .value = "MODE",
     .help = "mode whose labels are recommended, by name or number",
     .initially = "must be given",
     .expected_text = "a mode's name or number",
     AMPED_OPTION_FIELD(amped_recommend_options, of)},
};

static const amped_option recommend_rows[] = {
    {.name = "for",
     .type = AMPED_OPTION_TEXT,
     .value = "MODE[:LABEL]",
     .help = "mode, or one of its labels, to recommend for; modes by name or number",
     .initially = "must be given",
     .expected_text = "a mode, or MODE:LABEL,",
     AMPED_OPTION_FIELD(amped_recommend_options, target)},
    {.name = "at",
     .type = AMPED_OPTION_TEXTS,
     .value = "MODE:LABEL",
     .help = "fix another mode at this label",
     .initially = "the average row",
     .expected_text = "MODE:LABEL",
     AMPED_OPTION_FIELD(amped_recommend_options, at)},
    {.name = "exclude",
     .type = AMPED_OPTION_TEXTS,
     .value = "TENSOR",
     .help = "leave out what this tensor has for the label, and for the labels of --at",
     .initially = "nothing",
     AMPED_OPTION_FIELD(amped_recommend_options, exclude)},
};

const amped_option_group amped_predict_option_rows = AMPED_OPTION_GROUP(predict_rows);
const amped_option_group amped_of_option_rows = AMPED_OPTION_GROUP(of_rows);
const amped_option_group amped_recommend_option_rows = AMPED_OPTION_GROUP(recommend_rows);
