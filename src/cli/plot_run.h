/* Plot of a run, from its JSON lines: the sweeps of cpd and complete (plot_sweeps.h), or the
 * batches of a stream (plot_batches.h). */
#ifndef AMPED_PLOT_RUN_H
#define AMPED_PLOT_RUN_H

#include "cli/plot_sweeps.h"

/* Reads path. AMPED_BAD_INPUT where a line is no JSON, or no line is about a sweep or a batch, or
 * lines are about both. A last line without end of line is left out, as in the file of a run that
 * goes on. The plot is open and empty; the caller draws it. */
amped_status amped_plot_run(amped_plot *f, const char *path);

/* Reads path, which is about sweeps, into a zeroed struct. The caller frees them, after a failure,
 * too. Errors as above. */
amped_status amped_plot_run_read_sweeps(const char *path, amped_plot_sweeps *sweeps);

#endif
