/* Plot heat: a heat map of a component over two modes: the products of the entries of two columns.
 *
 * The first mode goes across, the second up, or down if it has names. A mode that is an order has
 * all places; if there are many more than pixels, a cell is the entry of largest absolute value in
 * a range of places, and the title says so. A mode of names has its names, or the largest. Colours
 * go from white at 0 to blue above and vermilion below, with a bar of them on the right. */
#ifndef AMPED_PLOT_HEAT_H
#define AMPED_PLOT_HEAT_H

#include "cli/plot/plot_axis.h"

typedef struct amped_plot_heat {
  const amped_ktensor *k;
  int modes[2];                   /* across, up */
  const amped_plot_axis *axes[2]; /* borrowed */
} amped_plot_heat;

/* Width and height of the panel in pixels, the same for all components. */
int amped_plot_heat_width(const amped_plot_heat *heat);
int amped_plot_heat_height(const amped_plot_heat *heat);

/* Draw component r. left, top: corner of the panel. block: name of its data. */
void amped_plot_heat_draw(amped_plot *f, const amped_plot_heat *heat, int r, int left, int top,
                          const char *block);

#endif
