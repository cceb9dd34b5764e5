/* Plot of a run, from the JSON lines of cpd --json: the metric over sweeps and over time, the parts
 * of the time of a sweep, and the balance of MTTKRP over ranks. */
#ifndef AMPED_PLOT_SWEEPS_H
#define AMPED_PLOT_SWEEPS_H

#include "cli/plot.h"

/* Reads path. AMPED_BAD_INPUT where a line is no JSON, or no line is about a sweep. A last line
 * without end of line is left out, as in the file of a run that goes on. The plot is open and
 * empty; the caller draws it. */
amped_status amped_plot_sweeps(amped_plot *f, const char *path);

#endif
