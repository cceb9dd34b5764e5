/* Chunks with a Fletcher-32 checksum and no other filter, read and written without HDF5's filter
 * pipeline. The pipeline checks them with one thread, at about 1 GB/s; here all OpenMP threads
 * check while they copy. The bytes read, refused and written are the same.
 *
 * Only hdf5_dataset.c calls these functions: the dataset is open, and chunk_rows is not 0. Host
 * memory; not collective. */
#ifndef AMPED_HDF5_CHUNKS_H
#define AMPED_HDF5_CHUNKS_H

#include "hdf5/hdf5_file.h"

/* Checksum that HDF5's filter appends to these bytes. If `to` is not NULL, the first `copied` bytes
 * are also copied there. */
uint32_t amped_hdf5_checksum(const void *data, uint64_t bytes, void *to, uint64_t copied);

/* Rows of the dataset from row `first` to the end of its chunk. */
uint64_t amped_hdf5_chunk_rows_at(const amped_hdf5_dataset *dataset, uint64_t first);

/* Offset of a row's first element, in all dimensions. */
void amped_hdf5_chunk_offset(const amped_hdf5_dataset *dataset, uint64_t row, hsize_t *offset);

/* Read all rows of `count` chunks, starting with the chunk whose first row is `first`. All threads
 * read, bypassing the library. */
amped_status amped_hdf5_chunks_read(amped_hdf5_dataset *dataset, uint64_t first, uint64_t count,
                                    void *rows);
/* Write all rows of the chunk whose first row is `first`. */
amped_status amped_hdf5_chunk_write(amped_hdf5_dataset *dataset, uint64_t first, const void *rows);

#endif
