/* Plot column: one panel of a result, the column of a factor as bars from 0.
 *
 * Along an ordered axis bars stand side by side, and the largest are named below. Names stand one
 * below another with a bar each. What a panel leaves out stands in its title. Blue is above 0,
 * vermilion below. */
#ifndef AMPED_PLOT_COLUMN_H
#define AMPED_PLOT_COLUMN_H

#include "cli/plot_axis.h"

/* Bars of an ordered axis; a longer one is cut into so many ranges, and each shows its entry of
 * largest absolute value. */
#define AMPED_PLOT_BARS 500

/* Draw column r of mode's factor into the panel that `outer` leaves for axes, ticks and title.
 * `block` is the name of its data. */
void amped_plot_column(amped_plot *f, const amped_ktensor *k, int mode, int r,
                       const amped_plot_axis *axis, const amped_plot_box *outer, const char *block);

#endif
