/* Plot of several runs, from the JSON lines of each: the metric over sweeps and over time, and how
 * far it is from the best of all, a curve a run. */
#ifndef AMPED_PLOT_RUNS_H
#define AMPED_PLOT_RUNS_H

#include "cli/plot.h"

/* More cannot be told apart. */
#define AMPED_PLOT_RUNS 14

/* Reads the files. AMPED_USAGE: they are more; AMPED_BAD_INPUT: one has no sweeps, those of several
 * decompositions, or of another metric. The plot is open and empty; the caller draws it. */
amped_status amped_plot_runs(amped_plot *f, const char *const *paths, int count);

#endif
