/* The figure of a run, from the JSON lines that cpd --json wrote: fit over sweeps and over time,
 * what the time of a sweep went into, and how even MTTKRP was over ranks. */
#ifndef AMPED_PLOT_SWEEPS_H
#define AMPED_PLOT_SWEEPS_H

#include "cli/plot.h"

/* Reads path (AMPED_BAD_INPUT where a line is no JSON, or none tells of a sweep). A last line
 * without its end, as in the file of a run that goes on, is left out. The figure is open and empty;
 * the caller draws it. */
amped_status amped_plot_sweeps(amped_plot *f, const char *path);

#endif
