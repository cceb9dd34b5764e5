/* The option rows of predict and recommend. */
#include "cli/model_options.h"

#include <string.h>

static const amped_option predict_rows[] = {
    {.name = "cold",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("refuse", "predict"),
     .help = "cells with an index or label that the model lacks: an error, or predicted as for an "
             "average one of that mode",
     .initial = "refuse",
     AMPED_OPTION_FIELD(amped_predict_options, cold)},
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
     .help = "the mode, by name or number, whose labels are recommended; of complete --implicit, "
             "whose indices are ranked",
     .initially = "must be given; of complete the second longest mode",
     .expected_text = "a mode's name or number",
     AMPED_OPTION_FIELD(amped_recommend_options, of)},
};

static const amped_option recommend_rows[] = {
    {.name = "for",
     .type = AMPED_OPTION_TEXT,
     .value = "MODE[:LABEL]",
     .help = "one label of a mode, or all of its labels; modes by name, or by "
             "number from 1; its index, as your files count, where the mode has no labels",
     .initially = "must be given",
     .expected_text = "a mode, or MODE:LABEL,",
     AMPED_OPTION_FIELD(amped_recommend_options, target)},
    {.name = "at",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_at,
     .value = "MODE:LABEL",
     .help = "a label of another mode; may be given once for each",
     .initially = "an average one",
     .expected_text = "MODE:LABEL, once for each other mode"},
    {.name = "exclude",
     .type = AMPED_OPTION_TEXT,
     .value = "TENSOR",
     .help = "leave out what this tensor has already for the label, whatever its other indices; "
             "any input of convert",
     .initially = "nothing is left out",
     .expected_text = "a file's name",
     AMPED_OPTION_FIELD(amped_recommend_options, exclude)},
};

const amped_option_group amped_predict_option_rows = AMPED_OPTION_GROUP(predict_rows);
const amped_option_group amped_of_option_rows = AMPED_OPTION_GROUP(of_rows);
const amped_option_group amped_recommend_option_rows = AMPED_OPTION_GROUP(recommend_rows);
