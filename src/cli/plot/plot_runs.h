/* Plot of several runs, from the JSON lines of each: the metric over sweeps and over time, and its
 * distance from the best value of all. Each run is a curve. */
#ifndef AMPED_PLOT_RUNS_H
#define AMPED_PLOT_RUNS_H

#include "cli/plot/plot.h"

/* Most runs of a picture: more curves cannot be distinguished. */
#define AMPED_PLOT_RUNS 14

/* Read the files and write the plot. *f must be open and empty; the caller draws it. AMPED_USAGE:
 * there are too many files. AMPED_BAD_INPUT: a file has no sweeps, or several decompositions, or
 * another metric. */
amped_status amped_plot_runs(amped_plot *f, const char *const *paths, int count);

#endif
