/* The option rows of predict, recommend, evaluate and similar. */
#include "cli/model_options.h"

static const amped_option predict_rows[] = {
    {.name = "cold",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("refuse", "predict"),
     .help = "cells whose index or label the model does not know: stop, or predict with the "
             "average row",
     .initial = "refuse",
     AMPED_OPTION_FIELD(amped_predict_options, cold)},
    {.name = "by",
     .type = AMPED_OPTION_TEXT,
     .value = "MODE",
     .help = "report the errors for each label of this mode, the largest first; -o then writes "
             "them as a table",
     .initially = "errors of all cells",
     .expected_text = "a mode's name or number",
     AMPED_OPTION_FIELD(amped_predict_options, by)},
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
     .once = true,
     .value = "MODE",
     .help = "mode whose labels are recommended, by name or number",
     .initially = "must be given",
     .expected_text = "a mode's name or number",
     AMPED_OPTION_FIELD(amped_recommend_options, of)},
};

static const amped_option for_rows[] = {
    {.name = "for",
     .type = AMPED_OPTION_TEXT,
     .once = true,
     .value = "MODE[:LABEL]",
     .help = "mode, or one of its labels, to recommend for; modes by name or number",
     .initially = "must be given",
     .expected_text = "a mode, or MODE:LABEL,",
     AMPED_OPTION_FIELD(amped_recommend_options, target)},
};

static const amped_option recommend_rows[] = {
    {.name = "at",
     .type = AMPED_OPTION_TEXTS,
     .value = "MODE:LABEL",
     .help = "fix another mode at this label",
     .initially = "the average row",
     .expected_text = "MODE:LABEL",
     AMPED_OPTION_FIELD(amped_recommend_options, at)},
    {.name = "exclude-any",
     .type = AMPED_OPTION_TEXT,
     .value = "MODE,...",
     .help = "with --exclude: leave out what it has for the label, whatever its label in these "
             "modes of --at",
     .initially = "entries with the labels of --at",
     .expected_text = "modes by name or number, separated by commas",
     AMPED_OPTION_FIELD(amped_recommend_options, exclude_any)},
};

static const amped_option exclude_rows[] = {
    {.name = "exclude",
     .type = AMPED_OPTION_TEXTS,
     .value = "TENSOR",
     .help = "leave out what this tensor has for the label, and for the labels of --at",
     .initially = "nothing",
     AMPED_OPTION_FIELD(amped_recommend_options, exclude)},
};

static bool parse_at_ranks(void *options, const char *text) {
  return amped_number_list_parse(text, &((amped_evaluate_options *)options)->at_ranks);
}

static const amped_option evaluate_rows[] = {
    {.name = "at-ranks",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_at_ranks,
     .value = "LIST",
     .help = "ranks at which hits and ndcg are reported",
     .initial = "1,3,10",
     .expected_text = AMPED_NUMBER_LIST_EXPECTED},
    {.name = "for",
     .type = AMPED_OPTION_TEXT,
     .once = true,
     .value = "MODE",
     .help = "with --exclude: entries with the cell's label of this mode are excluded, whatever "
             "their other labels",
     .initially = "entries with all other labels of the cell",
     .expected_text = "a mode's name or number",
     AMPED_OPTION_FIELD(amped_evaluate_options, by)},
    {.name = "cold",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("skip", "predict"),
     .help = "cells with an unknown label in a mode that is not ranked: leave them out, or rank "
             "them with the average row",
     .initial = "skip",
     AMPED_OPTION_FIELD(amped_evaluate_options, cold)},
};

static const amped_option similar_rows[] = {
    {.name = "weighted",
     .type = AMPED_OPTION_FLAG,
     .help = "multiply the entries of rows by the weights of their components first",
     .initially = "all components count alike",
     AMPED_OPTION_FIELD(amped_similar_options, weighted)},
};

const amped_option_group amped_predict_option_rows = AMPED_OPTION_GROUP(predict_rows);
const amped_option_group amped_of_option_rows = AMPED_OPTION_GROUP(of_rows);
const amped_option_group amped_for_option_rows = AMPED_OPTION_GROUP(for_rows);
const amped_option_group amped_recommend_option_rows = AMPED_OPTION_GROUP(recommend_rows);
const amped_option_group amped_exclude_option_rows = AMPED_OPTION_GROUP(exclude_rows);
const amped_option_group amped_evaluate_option_rows = AMPED_OPTION_GROUP(evaluate_rows);
const amped_option_group amped_similar_option_rows = AMPED_OPTION_GROUP(similar_rows);
