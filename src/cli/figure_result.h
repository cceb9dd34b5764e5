/* The figure of a result: fit over sweeps, weights, and the first components' factors. */
#ifndef AMPED_FIGURE_RESULT_H
#define AMPED_FIGURE_RESULT_H

#include "cli/figure.h"
#include "tensor/ktensor.h"

/* fit holds `sweeps` values (none: that panel is left out). Modes of more than
 * AMPED_FIGURE_POINTS indices are drawn by the entry of largest absolute value in each of so many
 * ranges. The figure is open and empty; the caller draws it. */
#define AMPED_FIGURE_POINTS 2000
#define AMPED_FIGURE_COMPONENTS 6

void amped_figure_result(amped_figure *f, const char *path, const amped_ktensor *k,
                         const double *fit, uint64_t sweeps);

#endif
