/* Prober: a child process that probes HDF5 files (hdf5_probe.h) that appear after MPI has started.
 * From then on this process may not fork.
 *
 * The child is forked before MPI starts, waits for names, and ends with this process. It ignores
 * signals that ask a run to stop. Not collective; one thread. */
#ifndef AMPED_HDF5_PROBER_H
#define AMPED_HDF5_PROBER_H

#include <stdbool.h>

#include "base/file.h"

/* Function that the child calls to probe a file. *stamp: stamp of the file that it examined. */
typedef amped_status amped_hdf5_look(const char *path, amped_file_stamp *stamp);

/* Start is called only by amped_hdf5_probe_later. Stop ends the prober, which need not be
 * running. */
amped_status amped_hdf5_prober_start(amped_hdf5_look *look);
void amped_hdf5_prober_stop(void);
bool amped_hdf5_prober_runs(void);

/* For hdf5_probe.c: returns the result of a probe of `path`, which must have this stamp. */
amped_status amped_hdf5_prober_ask(const char *path, const amped_file_stamp *stamp);

#endif
