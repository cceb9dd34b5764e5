/* Probe: opens an untrusted HDF5 file in a child process first. On damaged or hostile metadata,
 * HDF5 itself can crash, hang or allocate without bound.
 *
 * The child has limited address space and limited time. It opens every group, attribute and dataset
 * that this program may open later, and reads the small datasets. If it crashes, hangs or meets a
 * failing HDF5 call, the file is AMPED_BAD_INPUT with the child's line, and this process never
 * opens it. If the child ran out of memory, the status is AMPED_FAILED. Not collective. */
#ifndef AMPED_HDF5_PROBE_H
#define AMPED_HDF5_PROBE_H

#include "hdf5/hdf5_file.h"

/* Probe a file and remember its name. AMPED_BAD_INPUT also if path is missing, unreadable or not
 * HDF5. Forks, so call it before MPI and CUDA start. If the name later leads to another file, or
 * the file is written again, amped_hdf5_open reports a changed file and does not fork. */
amped_status amped_hdf5_probe(const char *path);

/* Probe path and path.prev (base/file.h), if they exist. Errors are reported on opening. */
void amped_hdf5_probe_with_previous(const char *path);

/* Fork a child now, before MPI starts, that probes files which appear later. So such files can be
 * opened after MPI has started. amped_hdf5_prober_stop ends the child (hdf5_prober.h). */
amped_status amped_hdf5_probe_later(void);

/* Open a probed file for reading. If its name is remembered, this is the same open file that the
 * probe passed; otherwise forks to probe it. The file may not be written while it is open. */
amped_status amped_hdf5_open(const char *path, amped_hdf5 *out);

#endif
