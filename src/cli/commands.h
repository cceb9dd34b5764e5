/* The commands: each parses nothing, calls the rooms below it and reports. One file each,
 * cmd_NAME.c. */
#ifndef AMPED_COMMANDS_H
#define AMPED_COMMANDS_H

#include "cli/options.h"

amped_status amped_cmd_cpd(const amped_options *o);
amped_status amped_cmd_bench(const amped_options *o);
amped_status amped_cmd_convert(const amped_options *o);
amped_status amped_cmd_info(const amped_options *o);
/* info --system, on all ranks. */
amped_status amped_cmd_system(const amped_options *o);
amped_status amped_cmd_compare(const amped_options *o);
amped_status amped_cmd_plot(const amped_options *o);
amped_status amped_cmd_top(const amped_options *o);
amped_status amped_cmd_generate(const amped_options *o);

#endif
