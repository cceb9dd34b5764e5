/* Source: where a run's nonzeros come from. An HDF5 file, with ordered copies or with one
 * coordinate list alone, is read slab by slab; any other input that io.h knows is loaded into the
 * memory of the rank that reads and ordered there, one mode at a time.
 *
 * Only ranks that read hold the file: rank 0, or all of them with `parallel`. Functions not marked
 * collective are called by those alone, by one thread at a time. */
#ifndef AMPED_INPUT_H
#define AMPED_INPUT_H

#include "mpi/comm.h"
#include "hdf5/tensor_file.h"

typedef struct amped_input amped_input;

/* Collective; the status is agreed. Reading other than HDF5 by every rank is AMPED_USAGE. */
amped_status amped_input_open(const amped_comm *comm, const char *path, bool parallel,
                              amped_input **out);
void amped_input_close(amped_input *source);

/* The error of a rank that reads another file than rank 0. */
amped_status amped_input_differs(const amped_comm *comm, const amped_input *source);

/* The file's name, on every rank. */
const char *amped_input_path(const amped_input *source);

/* On every rank. has_copies is false for an HDF5 file that holds one list: then it is to be counted
 * (census.h) and collected (collect.h). */
const amped_tensor_info *amped_input_info(const amped_input *source);

/* In place of a mode: the one list of a file without copies. */
#define AMPED_INPUT_LIST (-1)

/* As amped_tensor_file_read. In-memory sources are fast when modes are read one after another. */
amped_status amped_input_read(amped_input *source, int mode, uint64_t first, uint64_t count,
                              void *const *indices, void *values);

/* Rank 0. As amped_tensor_file_labels. */
amped_status amped_input_labels(amped_input *source, int mode, amped_labels *out);

#endif
