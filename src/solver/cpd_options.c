/* CPD options: rows of the options. */
#include "solver/cpd_options.h"

static const amped_option sweep_rows[] = {
    {.name = "iters",
     .letter = 'i',
     .type = AMPED_OPTION_COUNT,
     .least = 1,
     .most = 10000000,
     .value = "N",
     .help = "sweeps at most",
     .initially = "50; complete: 200, of each run",
     AMPED_OPTION_FIELD(amped_cpd_options, iters)},
    {.name = "tol",
     .type = AMPED_OPTION_REAL,
     .least = 0.0,
     .most = 1.0,
     .unsaid = -1.0, /* the default depends on the tensor: cli/options_check.c */
     .value = "X",
     .help =
         "stop when the fit changes by less from one sweep to the next; complete: a fall of the "
         "error by less than this share of it is none; 0: never, any fall",
     .initially = "1e-5; with --shape 0; complete: 1e-4",
     AMPED_OPTION_FIELD(amped_cpd_options, tol)},
    {.name = "every",
     .type = AMPED_OPTION_COUNT,
     .least = 1,
     .most = 10000000,
     .value = "N",
     .help = "sweeps a line; --json tells each sweep in any case",
     .initially = "1; in a log 10 after sweep 20, 100 after sweep 200, ...",
     AMPED_OPTION_FIELD(amped_cpd_options, every)},
};

static bool parse_nonnegative(void *options, const char *text) {
  amped_cpd_options *o = options;
  o->nonnegative = text;
  o->rule.nonnegative = AMPED_ALL_MODES; /* until the tensor's modes are known */
  return text[0] != '\0';
}

static const amped_option rows[] = {
    {.name = "method",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("als", "lm", "rbs"),
     .help = "alternating least squares (als); steps of all factors at once (lm: "
             "Levenberg-Marquardt), which take more memory, and end where als hardly moves; or als "
             "of random samples of a dense tensor's cells (rbs: randomised block sampling)",
     .initial = "als",
     AMPED_OPTION_FIELD(amped_cpd_options, method)},
    {.name = "nonnegative",
     .type = AMPED_OPTION_CUSTOM,
     .words = AMPED_OPTION_WORDS("all"),
     .parse = parse_nonnegative,
     .bare = "all",
     .value = "MODE,...",
     .help =
         "factors of these modes, by name or by number from 1, have no negative entries; without "
         "modes: all factors",
     .initially = "factors of any sign",
     .expected_text = "all, or modes by name or by number from 1, such as 1,3"},
    {.name = "ridge",
     .type = AMPED_OPTION_REAL,
     .least = 0.0,
     .most = 1e100,
     .value = "X",
     .help = "penalty X / 2 on the sum of the factors' squares, beside half the squared residual",
     .initial = "0",
     AMPED_OPTION_FIELD(amped_cpd_options, rule.ridge)},
    {.name = "l1",
     .type = AMPED_OPTION_REAL,
     .least = 0.0,
     .most = 1e100,
     .value = "X",
     .help = "penalty X on the sum of the factors' sizes, which makes small entries zero",
     .initial = "0",
     AMPED_OPTION_FIELD(amped_cpd_options, rule.l1)},
    {.name = "accelerate",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("none", "linesearch", "momentum"),
     .help = "go on from a sweep in the direction of the last one, where the fit does not fall: by "
             "steps that grow (linesearch), or as long as sweeps still move the model (momentum)",
     .initial = "none",
     AMPED_OPTION_FIELD(amped_cpd_options, accelerate)},
    {.name = "corcondia",
     .type = AMPED_OPTION_FLAG,
     .help = "also compute the core consistency of the result: R^(order - 2) MTTKRPs, at most 1024",
     AMPED_OPTION_FIELD(amped_cpd_options, corcondia)},
};

const amped_option_group amped_sweep_option_rows = AMPED_OPTION_GROUP(sweep_rows);
const amped_option_group amped_cpd_option_rows = AMPED_OPTION_GROUP(rows);
