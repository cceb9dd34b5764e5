/* Seal: the content hash of a dataset, 64 bits, in its attribute amped_hash (docs/file-format.md).
 * Hashes find damage that chunk checksums miss: a zeroed chunk with a zeroed checksum, or words
 * 0x0000 that become 0xFFFF.
 *
 * Only hdf5_dataset.c hashes. The writer of a dataset asks for a seal; rows are hashed as they are
 * appended, and the attribute is written at the end. Rows that are read in order from row 0 are
 * hashed as well, and the hash is compared at the last row. A dataset without the attribute has no
 * seal: an earlier build or another program wrote it. Copies of nonzeros have no seal, because the
 * tensor's own hash covers them. */
#ifndef AMPED_HDF5_SEAL_H
#define AMPED_HDF5_SEAL_H

#include "hdf5/hdf5_file.h"

/* Sum of the hashes of `count` elements; the first is element `first` of the dataset. The sum
 * depends on values and places, not on the type. All OpenMP threads hash. */
uint64_t amped_hdf5_hash(amped_hdf5_type type, const void *elements, uint64_t first,
                         uint64_t count);

/* Read the seal, if any, of a dataset that is open for reading. */
amped_status amped_hdf5_seal_read(amped_hdf5_dataset *dataset);
/* Hash rows first .. first+count as elements of `type`. AMPED_BAD_INPUT if they include the last
 * row and the hash of all rows differs from the seal. */
amped_status amped_hdf5_seal_check(amped_hdf5_dataset *dataset, amped_hdf5_type type,
                                   uint64_t first, uint64_t count, const void *rows);
/* For writing: hash the rows that follow; write the seal. */
void amped_hdf5_seal_append(amped_hdf5_dataset *dataset, uint64_t count, const void *rows);
amped_status amped_hdf5_seal_write(amped_hdf5_dataset *dataset);

/* Set *out to true if the dataset of this name has a seal, or if there is no such dataset. */
amped_status amped_hdf5_is_sealed(amped_hdf5 *file, const char *name, bool *out);

#endif
