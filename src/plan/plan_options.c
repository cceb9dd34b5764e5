/* Plan options: the rows of --placement and --overlap. */
#include "plan/plan_options.h"

#include "plan/overlap.h"

static const char *const overlap_words[] = {"auto", "off", NULL};

static bool parse_overlap(void *options, const char *text) {
  amped_plan_options *o = options;
  int word = amped_parse_word(text, overlap_words);
  if (word < 0)
    return amped_parse_int(text, 2, AMPED_MAX_PARTS, &o->parts);
  o->parts = word == 0 ? AMPED_PARTS_AUTO : 1;
  return true;
}

static const amped_option rows[] = {
    {.name = "placement",
     .type = AMPED_OPTION_WORD,
     .words = amped_placement_names,
     .help = "split work among ranks: balanced, equal nonzeros, or blocks of indices",
     .initial = "greedy",
     AMPED_OPTION_FIELD(amped_plan_options, placement)},
    {.name = "overlap",
     .type = AMPED_OPTION_CUSTOM,
     .words = overlap_words,
     .parse = parse_overlap,
     .value = "auto|off|N",
     .help = "send rows in N parts while the GPU computes later parts",
     .initial = "auto",
     .initially = "auto: 4 to 8 if many rows are sent",
     .expected_text = "auto, off, or a whole number from 2 to 8"},
};

const amped_option_group amped_plan_option_rows = AMPED_OPTION_GROUP(rows);
