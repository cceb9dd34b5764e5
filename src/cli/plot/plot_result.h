/* Plot of a result: its metric over sweeps, its weights, and the factors of some components, one
 * row per component. */
#ifndef AMPED_PLOT_RESULT_H
#define AMPED_PLOT_RESULT_H

#include "base/number_list.h"
#include "cli/plot/plot.h"
#include "formats/result_file.h"

/* Components that are drawn if the user names none: the first by weight. */
#define AMPED_PLOT_COMPONENTS 6

/* Write the plot of a result. Components are numbered by weight, as top does. asked: components
 * that exist; count 0: the first ones. The metric's panel is omitted if there are no sweeps. For a
 * completion model it has a curve for each set of entries; c of order 0: no such model. Components
 * that are not drawn are named in the picture and in a line. *f must be open and empty; the caller
 * draws it. heat: two modes with a comma, of which each component has a heat map; NULL: none.
 * AMPED_USAGE if the result has no such modes. */
amped_status amped_plot_result(amped_plot *f, const char *path, const amped_ktensor *k,
                               const amped_result_metric *metric, const amped_completion *c,
                               const amped_number_list *asked, const char *heat);

#endif
