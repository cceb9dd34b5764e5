/* Completion options: rows of the options, their parsers, and the check for contradictions. */
#include "solver/complete/complete_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/types.h"

/* Default held-out share of the nonzeros. */
#define DEFAULT_HOLDOUT 0.05

/* Parse the first `length` characters as a number from least to most. */
static bool parse_number(const char *text, size_t length, double least, double most, double *out) {
  char number[64];
  if (length >= sizeof number)
    return false;
  memcpy(number, text, length);
  number[length] = '\0';
  return amped_parse_real(number, least, most, out);
}

/* Accepts "auto", or numbers separated by commas. */
static bool parse_reg(void *options, const char *text) {
  amped_complete_options *o = options;
  o->reg_count = 0;
  if (strcmp(text, "auto") == 0)
    return true;
  while (o->reg_count < AMPED_MAX_REGS) {
    const size_t n = strcspn(text, ",");
    if (!parse_number(text, n, 0.0, 1e12, &o->reg[o->reg_count++]))
      return false;
    if (text[n] == '\0')
      return true;
    text += n + 1;
  }
  return false;
}

static bool parse_context(void *options, const char *text) {
  ((amped_complete_options *)options)->context_modes = text;
  return *text != '\0';
}

static bool parse_nonnegative(void *options, const char *text) {
  ((amped_complete_options *)options)->nonnegative = text;
  return *text != '\0';
}

/* Accepts a percentage such as "5%", or a share such as "0.05". */
static bool parse_holdout(void *options, const char *text) {
  amped_complete_options *o = options;
  const size_t n = strlen(text);
  const bool percent = n > 0 && text[n - 1] == '%';
  if (!parse_number(text, percent ? n - 1 : n, 0.0, percent ? 100.0 : 1.0, &o->holdout))
    return false;
  if (percent)
    o->holdout /= 100.0;
  o->holdout_given = true;
  return o->holdout < 1.0;
}

static const amped_option model_rows[] = {
    {.name = "method",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("als", "ccd", "sgd"),
     .help = "update of rows: whole (als), by component (ccd: CCD++), or by entry (sgd)",
     .initial = "als",
     AMPED_OPTION_FIELD(amped_complete_options, method)},
    {.name = "block",
     .type = AMPED_OPTION_INT,
     .least = 1,
     .most = AMPED_MAX_NCOMPS,
     .value = "B",
     .help = "update B components of all rows at a time; R or more: as als",
     .initially = "R; with --method=ccd 1",
     AMPED_OPTION_FIELD(amped_complete_options, block)},
    {.name = "bias",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("full", "mean", "none"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_BIAS_FULL, AMPED_BIAS_MEAN, AMPED_BIAS_NONE),
     .help = "besides components: a mean and biases of indices, a mean, or nothing",
     .initially = "full; --implicit: none",
     AMPED_OPTION_FIELD(amped_complete_options, bias)},
    {.name = "nonnegative",
     .type = AMPED_OPTION_CUSTOM,
     .words = AMPED_OPTION_WORDS("all"),
     .parse = parse_nonnegative,
     .bare = "all",
     .value = "MODE,...",
     .help =
         "keep components of these modes nonnegative; without modes: all. Biases may be negative",
     .initially = "any sign",
     .expected_text = "all, or modes by name or by number from 1, such as 1,3"},
};

static const amped_option rows[] = {
    {.name = "reg",
     .type = AMPED_OPTION_CUSTOM,
     .words = AMPED_OPTION_WORDS("auto"),
     .parse = parse_reg,
     .value = "auto|L,...",
     .help = "penalty on components; validation chooses among several",
     .initial = "auto",
     .initially = "auto: 8, each lowered as it goes",
     .expected_text = "auto, or numbers from 0, separated by commas"},
    {.name = "race",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "off"),
     .help = "end runs early that are not expected to give the best sweep; off: all runs in full",
     .initial = "auto",
     .initially = "auto: if 256 held-out errors or more choose among runs",
     AMPED_OPTION_FIELD(amped_complete_options, full_runs)},
    {.name = "reg-power",
     .type = AMPED_OPTION_REAL,
     .least = 0.0,
     .most = 1.0,
     .value = "X",
     .help = "multiply the penalty of a row of n entries by n^X",
     .initial = "0.5",
     AMPED_OPTION_FIELD(amped_complete_options, reg_power)},
    {.name = "reg-bias",
     .type = AMPED_OPTION_REAL,
     .least = 0.0,
     .most = 1e12,
     .value = "X",
     .help = "penalty on biases",
     .initial = "3",
     AMPED_OPTION_FIELD(amped_complete_options, reg_bias)},
    {.name = "context",
     .type = AMPED_OPTION_CUSTOM,
     .words = AMPED_OPTION_WORDS("auto", "none"),
     .parse = parse_context,
     .value = "MODE,...|none|auto",
     .help = "pull rows of these modes to 1, not 0",
     .initial = "auto",
     .initially = "auto: with biases all but the two longest",
     .expected_text = "auto, none, or modes separated by commas"},
    {.name = "holdout",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_holdout,
     .value = "SHARE",
     .help = "share of the entries to validate on instead of learning them; 0: none",
     .initially = "5%; with --validate 0",
     .expected_text = "a share such as 5% or 0.05, below 1"},
    {.name = "split-seed",
     .type = AMPED_OPTION_COUNT,
     .value = "N",
     .help = "seed for the choice of the held-out entries",
     .initial = "1",
     AMPED_OPTION_FIELD(amped_complete_options, split_seed)},
    {.name = "holdout-by",
     .type = AMPED_OPTION_TEXT,
     .value = "MODE,...",
     .help =
         "hold out all entries that share the labels of these modes together, as whole gaps are",
     .initially = "each entry by itself",
     .expected_text = "modes separated by commas",
     AMPED_OPTION_FIELD(amped_complete_options, holdout_by)},
    {.name = "validate",
     .type = AMPED_OPTION_TEXT,
     .once = true,
     .value = "FILE",
     .help = "validate on these entries: any input of convert, matched by label, else by index",
     AMPED_OPTION_FIELD(amped_complete_options, validate)},
    {.name = "test",
     .type = AMPED_OPTION_TEXTS,
     .value = "FILE",
     .help = "also report the error on these entries, which choose nothing",
     AMPED_OPTION_FIELD(amped_complete_options, test)},
    {.name = "weights",
     .type = AMPED_OPTION_TEXT,
     .once = true,
     .value = "FILE|COLUMN",
     .help =
         "weights of entries, 0 or more: a file with the cells of INPUT, or a column of a table",
     .initially = "1",
     .expected_text = "a file or a column",
     AMPED_OPTION_FIELD(amped_complete_options, weights)},
    {.name = "implicit",
     .type = AMPED_OPTION_REAL,
     .least = 1e-12,
     .most = 1e12,
     .value = "A",
     .help = "values are counts: an entry is a 1 of weight 1 + A v, other cells are 0 of weight 1",
     .initially = "off",
     AMPED_OPTION_FIELD(amped_complete_options, implicit)},
    {.name = "order",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("cyclic", "random"),
     .help = "order of modes in a sweep",
     .initial = "cyclic",
     AMPED_OPTION_FIELD(amped_complete_options, random_order)},
    {.name = "patience",
     .type = AMPED_OPTION_INT,
     .least = 1,
     .most = 1000000,
     .value = "N",
     .help = "stop after N sweeps without progress (--tol) of the validation error, else training "
             "error",
     .initial = "10",
     AMPED_OPTION_FIELD(amped_complete_options, patience)},
    {.name = "time",
     .type = AMPED_OPTION_REAL,
     .least = 1e-3,
     .most = 1e9,
     .value = "SECONDS",
     .help = "stop after the sweep in which this time has passed",
     .initially = "no limit",
     AMPED_OPTION_FIELD(amped_complete_options, seconds)},
};

const amped_option_group amped_complete_model_option_rows = AMPED_OPTION_GROUP(model_rows);
const amped_option_group amped_complete_option_rows = AMPED_OPTION_GROUP(rows);

void amped_complete_options_block(amped_complete_options *o) {
  if (o->method == AMPED_COMPLETE_CCD && o->block == 0)
    o->block = 1;
}

amped_status amped_complete_options_check(amped_complete_options *o) {
  if (o->bias == AMPED_BIAS_AUTO)
    o->bias = o->implicit > 0.0 ? AMPED_BIAS_NONE : AMPED_BIAS_FULL;
  if (!o->holdout_given)
    o->holdout = o->validate != NULL ? 0.0 : DEFAULT_HOLDOUT;
  const bool validates = o->holdout > 0.0 || o->validate != NULL;
  if (!validates && o->reg_count != 1)
    return amped_error(AMPED_USAGE, NULL,
                       "--reg=%s is chosen by validation, and there are no entries to validate on; "
                       "give one --reg=L, or --holdout or --validate",
                       o->reg_count == 0 ? "auto" : "L,...");
  return AMPED_OK;
}
