/* Prober: a child process that probes HDF5 files (hdf5_probe.h) which were not there when MPI
 * started: this process may not fork any more then.
 *
 * It is forked before MPI starts, waits for names, and ends with this process. It ignores signals
 * that ask a run to stop. Not collective; one thread. */
#ifndef AMPED_HDF5_PROBER_H
#define AMPED_HDF5_PROBER_H

#include <stdbool.h>

#include "base/file.h"

/* What it does with a name: a probe. *stamp: of the file that was looked at. */
typedef amped_status amped_hdf5_look(const char *path, amped_file_stamp *stamp);

/* Only amped_hdf5_probe_later starts it. Stop ends it; it need not run. */
amped_status amped_hdf5_prober_start(amped_hdf5_look *look);
void amped_hdf5_prober_stop(void);
bool amped_hdf5_prober_runs(void);

/* For hdf5_probe.c: the outcome of a probe of `path`, whose stamp must be this one. */
amped_status amped_hdf5_prober_ask(const char *path, const amped_file_stamp *stamp);

#endif
