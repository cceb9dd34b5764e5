/* Plot of a run, from its JSON lines: the sweeps of cpd and complete (plot_sweeps.h), or the
 * batches of a stream (plot_batches.h). */
#ifndef AMPED_PLOT_RUN_H
#define AMPED_PLOT_RUN_H

#include "cli/plot/plot_sweeps.h"

/* Read path and write its plot. *f must be open and empty; the caller draws it. A last line without
 * a line end is ignored: the run may still be writing it. AMPED_BAD_INPUT: a line is not JSON, or
 * the lines are about neither sweeps nor batches, or about both. */
amped_status amped_plot_run(amped_plot *f, const char *path);

/* Read path, which must be about sweeps, into a zeroed struct. The caller frees it even after a
 * failure. Errors as above. */
amped_status amped_plot_run_read_sweeps(const char *path, amped_plot_sweeps *sweeps);

#endif
