#include "cli/model_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool parse_bound(const char *text, size_t length, double *out) {
  char number[64];
  if (length == 0 || length >= sizeof number)
    return false;
  memcpy(number, text, length);
  number[length] = '\0';
  return amped_parse_real(number, -HUGE_VAL, HUGE_VAL, out) && isfinite(*out);
}

/* LO:HI */
static bool parse_clip(void *options, const char *text) {
  amped_predict_options *o = options;
  const char *colon = strchr(text, ':');
  o->clipped = true;
  return colon != NULL && parse_bound(text, (size_t)(colon - text), &o->least) &&
         parse_bound(colon + 1, strlen(colon + 1), &o->most) && o->least <= o->most;
}

static const amped_option predict_rows[] = {
    {.name = "clip",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_clip,
     .value = "LO:HI",
     .help = "values below LO become LO, and those above HI become HI",
     .initially = "values are the model's",
     .expected_text = "two numbers such as 0.5:5, the lesser first"},
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

static const amped_option recommend_rows[] = {
    {.name = "for",
     .type = AMPED_OPTION_TEXT,
     .value = "MODE[:LABEL]",
     .help = "one label of a mode, or all of its labels; modes by name, or by "
             "number from 1; indices from 1 where the mode has no labels",
     .initially = "must be given",
     AMPED_OPTION_FIELD(amped_recommend_options, target)},
    {.name = "of",
     .type = AMPED_OPTION_TEXT,
     .value = "MODE",
     .help = "the mode whose labels are recommended",
     .initially = "must be given",
     AMPED_OPTION_FIELD(amped_recommend_options, of)},
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
const amped_option_group amped_recommend_option_rows = AMPED_OPTION_GROUP(recommend_rows);
