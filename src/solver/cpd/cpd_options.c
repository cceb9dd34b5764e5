/* CPD options: rows of the options. */
#include "solver/cpd/cpd_options.h"

static const amped_option sweep_rows[] = {
    {.name = "iters",
     .letter = 'i',
     .type = AMPED_OPTION_COUNT,
     .least = 1,
     .most = 10000000,
     .value = "N",
     .help = "largest number of sweeps",
     .initial = "50",
     AMPED_OPTION_FIELD(amped_cpd_options, iters)},
    {.name = "tol",
     .type = AMPED_OPTION_REAL,
     .least = 0.0,
     .most = 1.0,
     .value = "X",
     .help = "stop when the fit changes by less than X in a sweep; 0: never",
     .initial = "1e-5",
     AMPED_OPTION_FIELD(amped_cpd_options, tol)},
    {.name = "every",
     .type = AMPED_OPTION_COUNT,
     .least = 1,
     .most = 10000000,
     .value = "N",
     .help = "print a line every N sweeps (--json: every sweep)",
     .initially = "1; in a log 10 from sweep 20, 100 from 200; several runs: one line per run",
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
     .help = "least squares: a mode at a time (als), all modes (lm), or random dense blocks (rbs)",
     .initial = "als",
     AMPED_OPTION_FIELD(amped_cpd_options, method)},
    {.name = "stop-fit",
     .type = AMPED_OPTION_REAL,
     .least = 1e-9,
     .most = 1.0,
     .value = "F",
     .help = "stop when the fit is at least F; with several starts, make no other start then",
     .initially = "none",
     AMPED_OPTION_FIELD(amped_cpd_options, stop_fit)},
    {.name = "nonnegative",
     .type = AMPED_OPTION_CUSTOM,
     .words = AMPED_OPTION_WORDS("all"),
     .parse = parse_nonnegative,
     .bare = "all",
     .value = "MODE,...",
     .help = "keep factors of these modes (names or numbers) nonnegative; without modes: all",
     .initially = "any sign",
     .expected_text = "all, or modes by name or by number from 1, such as 1,3"},
    {.name = "ridge",
     .type = AMPED_OPTION_REAL,
     .least = 0.0,
     .most = 1e100,
     .value = "X",
     .help = "add X/2 times the sum of squared factor entries to half the squared residual",
     .initial = "0",
     AMPED_OPTION_FIELD(amped_cpd_options, rule.ridge)},
    {.name = "l1",
     .type = AMPED_OPTION_REAL,
     .least = 0.0,
     .most = 1e100,
     .value = "X",
     .help = "add X times the sum of absolute factor entries; small entries become zero",
     .initial = "0",
     AMPED_OPTION_FIELD(amped_cpd_options, rule.l1)},
    {.name = "accelerate",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("none", "linesearch", "momentum"),
     .help = "extrapolate a sweep while the fit rises: by growing steps, or with momentum",
     .initial = "none",
     AMPED_OPTION_FIELD(amped_cpd_options, accelerate)},
    {.name = "corcondia",
     .type = AMPED_OPTION_FLAG,
     .help = "also compute the core consistency, in R^(order - 2) MTTKRPs, at most 1024",
     AMPED_OPTION_FIELD(amped_cpd_options, corcondia)},
};

const amped_option_group amped_sweep_option_rows = AMPED_OPTION_GROUP(sweep_rows);
const amped_option_group amped_cpd_option_rows = AMPED_OPTION_GROUP(rows);
