/* Probe: opens an untrusted HDF5 file in a child process first. On damaged or hostile metadata HDF5
 * itself can crash, hang or allocate without bound.
 *
 * The child has limited address space and limited time. It opens every group, attribute and dataset
 * that this program may open later, and reads the small datasets. If it crashes, hangs or meets a
 * failing HDF5 call, the file is AMPED_BAD_INPUT with its line, and this process never opens it.
 * Where memory is what the child lacked, that is AMPED_FAILED. Not collective. */
#ifndef AMPED_HDF5_PROBE_H
#define AMPED_HDF5_PROBE_H

#include "hdf5/hdf5_file.h"

/* AMPED_BAD_INPUT also where path is missing, unreadable or not HDF5. Forks, so call it before MPI
 * and CUDA start. This name is remembered: where it leads to another file later, or to one that was
 * written since, amped_hdf5_open refuses that as changed, and does not fork. */
amped_status amped_hdf5_probe(const char *path);

/* The same for path and for path.prev (base/file.h), those of them that are there. Opening reports
 * the errors. */
void amped_hdf5_probe_with_previous(const char *path);

/* Before MPI starts: from now on files are probed by a child that is forked here, so that files
 * which come later can be opened (hdf5_prober.h, whose stop ends that). */
amped_status amped_hdf5_probe_later(void);

/* Open for reading what the probe has passed: the same open file, unless its name is remembered. It
 * may not be written as long as it is open. Forks where the name is not remembered. */
amped_status amped_hdf5_open(const char *path, amped_hdf5 *out);

#endif
