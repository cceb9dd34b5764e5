/* The figure of a result: fit over sweeps, weights, and the first components' factors. */
#ifndef AMPED_PLOT_RESULT_H
#define AMPED_PLOT_RESULT_H

#include "cli/plot.h"
#include "tensor/ktensor.h"

/* fit holds `sweeps` values (none: that panel is left out). Modes of more than
 * AMPED_PLOT_POINTS indices are drawn by the entry of largest absolute value in each of so many
 * ranges. The figure is open and empty; the caller draws it. */
#define AMPED_PLOT_POINTS 2000
#define AMPED_PLOT_COMPONENTS 6

void amped_plot_result(amped_plot *f, const char *path, const amped_ktensor *k, const double *fit,
                       uint64_t sweeps);

#endif
