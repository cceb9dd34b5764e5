/* Seal: the content hash of a dataset, 64 bits, in its attribute amped_hash (docs/file-format.md).
 * Checksums of chunks miss damage that hashes find: a zeroed chunk whose checksum is zeroed, too,
 * or words 0x0000 that become 0xFFFF.
 *
 * Only hdf5_dataset.c hashes. Whoever writes a dataset asks for a seal; the dataset's rows are
 * hashed as they are appended, and the attribute is written at the end. Rows that are read in order
 * from the first on are hashed, too, and the last of them brings the comparison. A dataset without
 * the attribute has no seal: an earlier build or another program wrote it. Copies of nonzeros have
 * none, as their hash is the tensor's. */
#ifndef AMPED_HDF5_SEAL_H
#define AMPED_HDF5_SEAL_H

#include "hdf5/hdf5_file.h"

/* Sum of the hashes of `count` elements, of which the first is number `first` of the dataset. It
 * depends on values and places, not on the type. All OpenMP threads hash. */
uint64_t amped_hdf5_hash(amped_hdf5_type type, const void *elements, uint64_t first,
                         uint64_t count);

/* The dataset is open for reading: read its seal, where it has one. */
amped_status amped_hdf5_seal_read(amped_hdf5_dataset *dataset);
/* Hash rows first .. first+count as elements of `type`. AMPED_BAD_INPUT where they are the last
 * rows, and the hash of all rows is not that of the seal. */
amped_status amped_hdf5_seal_check(amped_hdf5_dataset *dataset, amped_hdf5_type type,
                                   uint64_t first, uint64_t count, const void *rows);
/* The same while writing: hash the rows that follow; write the seal. */
void amped_hdf5_seal_append(amped_hdf5_dataset *dataset, uint64_t count, const void *rows);
amped_status amped_hdf5_seal_write(amped_hdf5_dataset *dataset);

/* Has the dataset of that name a seal? true where there is no such dataset. */
amped_status amped_hdf5_is_sealed(amped_hdf5 *file, const char *name, bool *out);

#endif
