/* The option rows of predict and recommend. */
#include "cli/model_options.h"

#include <string.h>

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
     .value = "ARRAY",
     .help = "without COORDS: keep the cells of this dense tensor that are not missing",
     .initially = "predict every cell",
     .expected_text = "a file's name, such as image.npy",
     AMPED_OPTION_FIELD(amped_predict_options, observed)},
};

static bool parse_at(void *options, const char *text) {
  amped_recommend_options *o = options;
  if (o->at_count == AMPED_MAX_ORDER || strchr(text, ':') == NULL)
    return false;
  o->at[o->at_count++] = text;
  return true;
}

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
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_at,
     .value = "MODE:LABEL",
     .help = "fix another mode at this label; repeat for more modes",
     .initially = "the average row",
     .expected_text = "MODE:LABEL, once for each other mode"},
    {.name = "exclude",
     .type = AMPED_OPTION_TEXT,
     .value = "TENSOR",
     .help = "leave out what this tensor already has for the label",
     .initially = "nothing",
     .expected_text = "a file's name",
     AMPED_OPTION_FIELD(amped_recommend_options, exclude)},
};

const amped_option_group amped_predict_option_rows = AMPED_OPTION_GROUP(predict_rows);
const amped_option_group amped_of_option_rows = AMPED_OPTION_GROUP(of_rows);
const amped_option_group amped_recommend_option_rows = AMPED_OPTION_GROUP(recommend_rows);
