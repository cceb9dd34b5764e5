/* Plot column: one panel of a result, with a column of a factor.
 *
 * An ordered axis is drawn as a line through all places, and the largest are named below. A long
 * line has the least and the largest entry of each column of pixels. Indices that have only numbers
 * are bars if each bar gets two pixels. Names stand one below another, each with a bar; the title
 * says what the panel leaves out. Bars are blue above 0, vermilion below. */
#ifndef AMPED_PLOT_COLUMN_H
#define AMPED_PLOT_COLUMN_H

#include "cli/plot/plot_axis.h"

/* Width in pixels of a panel, at least, and of the panel for this axis: a long order gets more, so
 * that its rhythm can be seen. */
#define AMPED_PLOT_PANEL_WIDTH 400
int amped_plot_column_width(const amped_plot_axis *axis);

/* Draw column r of mode's factor. outer: the panel with its axes, ticks and title. block: name of
 * its data. */
void amped_plot_column(amped_plot *f, const amped_ktensor *k, int mode, int r,
                       const amped_plot_axis *axis, const amped_plot_box *outer, const char *block);

#endif
