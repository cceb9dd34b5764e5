/* Input files: what a run reads, as its options name it. The list is here alone: outputs are
 * checked against it. Opens no file. */
#ifndef AMPED_INPUT_FILES_H
#define AMPED_INPUT_FILES_H

#include "cli/options.h"

/* AMPED_USAGE if one of the names leads to the file of this output. option: by which another output
 * is named, or NULL. */
amped_status amped_input_files_check_apart(const amped_options *options, const char *output,
                                           const char *option);

#endif
