/* Probe: opens an untrusted HDF5 file in a child process first, because HDF5 itself can crash, hang
 * or allocate without bound on damaged or hostile metadata.
 *
 * The child has a limited address space and limited time; it opens every group, attribute and
 * dataset that this program may open later, and reads the small ones. Where it crashes, hangs or
 * meets a failing HDF5 call the file is AMPED_BAD_INPUT, with its line, and is never opened here.
 */
#ifndef AMPED_HDF5_PROBE_H
#define AMPED_HDF5_PROBE_H

#include "hdf5/hdf5_file.h"

/* AMPED_BAD_INPUT also where path is missing, unreadable or not HDF5. Forks: best called before MPI
 * and CUDA start. A file that has passed is remembered (until it changes), so that opening it
 * later forks no more. */
amped_status amped_hdf5_probe(const char *path);

/* Probe, then open for reading. */
amped_status amped_hdf5_open(const char *path, amped_hdf5 *out);

#endif
