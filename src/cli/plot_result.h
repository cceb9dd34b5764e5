/* Plot of a result: its metric over sweeps, weights, and the factors of some components, a row
 * each. */
#ifndef AMPED_PLOT_RESULT_H
#define AMPED_PLOT_RESULT_H

#include "base/number_list.h"
#include "cli/plot.h"
#include "hdf5/result_file.h"

/* Components that are drawn where none are asked for: the first by weight. */
#define AMPED_PLOT_COMPONENTS 6

/* Components are numbered by weight, as top does; those of `asked` exist, and count 0 asks for the
 * first. Without sweeps the metric's panel is left out. A completion model (c of order 0: none) has
 * a curve for each set of entries there. The plot is open and empty; the caller draws it. What is
 * left out is said in the picture and, where something is, in a line. */
amped_status amped_plot_result(amped_plot *f, const char *path, const amped_ktensor *k,
                               const amped_result_metric *metric, const amped_completion *c,
                               const amped_number_list *asked);

#endif
