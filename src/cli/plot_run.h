/* Plot of a run, from its JSON lines: the sweeps of cpd and complete (plot_sweeps.h), or the
 * batches of a stream (plot_batches.h). */
#ifndef AMPED_PLOT_RUN_H
#define AMPED_PLOT_RUN_H

#include "cli/plot.h"

/* Reads path. AMPED_BAD_INPUT where a line is no JSON, or no line is about a sweep or a batch, or
 * lines are about both. A last line without end of line is left out, as in the file of a run that
 * goes on. The plot is open and empty; the caller draws it. */
amped_status amped_plot_run(amped_plot *f, const char *path);

#endif
