/* Chunks that carry a Fletcher-32 checksum and no other filter, read and written past HDF5's filter
 * pipeline, which checks them with one thread at about 1 GB/s: here all OpenMP threads do, while
 * they copy. What is read, refused and written is the same.
 *
 * For hdf5_dataset.c alone: the dataset is open, and chunk_rows is not 0. */
#ifndef AMPED_HDF5_CHUNKS_H
#define AMPED_HDF5_CHUNKS_H

#include "hdf5/hdf5_file.h"

/* The checksum that HDF5's filter appends to these bytes. `to` may be NULL; else the first `copied`
 * bytes are also copied there. */
uint32_t amped_hdf5_checksum(const void *data, uint64_t bytes, void *to, uint64_t copied);

/* Rows that the dataset holds in the chunk that begins at row `first`, a multiple of chunk_rows. */
uint64_t amped_hdf5_chunk_rows_at(const amped_hdf5_dataset *dataset, uint64_t first);

/* Read, or write, all these rows. */
amped_status amped_hdf5_chunk_read(amped_hdf5_dataset *dataset, uint64_t first, void *rows);
amped_status amped_hdf5_chunk_write(amped_hdf5_dataset *dataset, uint64_t first, const void *rows);

#endif
