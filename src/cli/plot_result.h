/* Plot of a result: its metric over sweeps, weights, and the factors of the first components. */
#ifndef AMPED_PLOT_RESULT_H
#define AMPED_PLOT_RESULT_H

#include "cli/plot.h"
#include "hdf5/result_file.h"

/* Without sweeps the metric's panel is left out. A mode of more than AMPED_PLOT_POINTS indices is
 * cut into so many ranges, and each range shows its entry of largest absolute value. The plot is
 * open and empty; the caller draws it. */
#define AMPED_PLOT_POINTS 2000
#define AMPED_PLOT_COMPONENTS 6

void amped_plot_result(amped_plot *f, const char *path, const amped_ktensor *k,
                       const amped_result_metric *metric);

#endif
