/* Plot column: one panel of a result, with a column of a factor as bars from 0.
 *
 * On an ordered axis, bars stand side by side, and the largest are named below. Names stand one
 * below another, each with a bar. The title says what the panel leaves out. Bars above 0 are blue,
 * below 0 vermilion. */
#ifndef AMPED_PLOT_COLUMN_H
#define AMPED_PLOT_COLUMN_H

#include "cli/plot/plot_axis.h"

/* Most bars of an ordered axis. A longer axis is cut into ranges, and each range shows its entry of
 * largest absolute value. */
#define AMPED_PLOT_BARS 500

/* Draw column r of mode's factor. outer: the panel with its axes, ticks and title. block: name of
 * its data. */
void amped_plot_column(amped_plot *f, const amped_ktensor *k, int mode, int r,
                       const amped_plot_axis *axis, const amped_plot_box *outer, const char *block);

#endif
