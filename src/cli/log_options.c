/* Log options: the rows of --progress, --verbose and --quiet. */
#include "cli/log_options.h"

static const amped_option rows[] = {
    {.name = "progress",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "never", "always"),
     .numbers =
         AMPED_OPTION_NUMBERS(AMPED_PROGRESS_AUTO, AMPED_PROGRESS_NEVER, AMPED_PROGRESS_ALWAYS),
     .help = "show the progress of long phases",
     .initial = "auto",
     .initially = "auto: on a terminal, and under mpirun",
     AMPED_OPTION_FIELD(amped_log_options, progress)},
    {.name = "verbose",
     .letter = 'v',
     .type = AMPED_OPTION_FLAG,
     .on = AMPED_VERBOSE,
     .unsaid = AMPED_NORMAL,
     .help = "print more details",
     AMPED_OPTION_FIELD(amped_log_options, verbosity)},
    {.name = "quiet",
     .letter = 'q',
     .type = AMPED_OPTION_FLAG,
     .on = AMPED_QUIET,
     .unsaid = AMPED_NORMAL,
     .help =
         "print only warnings, errors and answers: the final line and file of cpd and complete, "
         "lists and numbers that are asked for, --plan, and the times of bench",
     AMPED_OPTION_FIELD(amped_log_options, verbosity)},
};

const amped_option_group amped_log_option_rows = AMPED_OPTION_GROUP(rows);
