/* Source: where a run's nonzeros come from. An HDF5 file, with ordered copies or with one
 * coordinate list alone, is read slab by slab; any other input that io.h knows is loaded into the
 * memory of the rank that reads and ordered there, one mode at a time.
 *
 * Only ranks that read hold the file: rank 0, or all of them with `parallel`. Functions not marked
 * collective are called by those alone, by one thread at a time. */
#ifndef AMPED_SOURCE_H
#define AMPED_SOURCE_H

#include "mpi/comm.h"
#include "hdf5/tensor_file.h"

typedef struct amped_source amped_source;

/* Collective; the status is agreed. Reading other than HDF5 by every rank is AMPED_USAGE. */
amped_status amped_source_open(const amped_comm *comm, const char *path, bool parallel,
                               amped_source **out);
void amped_source_close(amped_source *source);

/* The error of a rank that reads another file than rank 0. */
amped_status amped_source_differs(const amped_comm *comm, const amped_source *source);

/* The file's name, on every rank. */
const char *amped_source_path(const amped_source *source);

/* On every rank. has_copies is false for an HDF5 file that holds one list: then it is to be counted
 * (census.h) and collected (collect.h). */
const amped_tensor_info *amped_source_info(const amped_source *source);

/* In place of a mode: the one list of a file without copies. */
#define AMPED_SOURCE_LIST (-1)

/* As amped_tensor_file_read. In-memory sources are fast when modes are read one after another. */
amped_status amped_source_read(amped_source *source, int mode, uint64_t first, uint64_t count,
                               void *const *indices, void *values);

/* Rank 0. As amped_tensor_file_labels. */
amped_status amped_source_labels(amped_source *source, int mode, amped_labels *out);

#endif
