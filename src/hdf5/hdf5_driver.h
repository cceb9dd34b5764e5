/* HDF5 driver: makes HDF5 read and write an open descriptor instead of opening a name.
 *
 * HDF5's own drivers open a file by name, and by then the name may lead to another file. This
 * driver uses the caller's descriptor and leaves it open. A watched file is compared with its stamp
 * after every read, so HDF5 never sees bytes that were written later.
 *
 * Large chunks are written asynchronously: HDF5 writes from a buffer of `behind` and continues.
 * Errors are reported by later writes or by amped_hdf5_io_wait. */
#ifndef AMPED_HDF5_DRIVER_H
#define AMPED_HDF5_DRIVER_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/write_behind.h"

/* An open file; must not move while HDF5 has it open. */
typedef struct amped_hdf5_io {
  H5FD_t base; /* must be first: HDF5's own part */
  int fd;      /* borrowed */
  bool watched;
  amped_file_stamp stamp; /* expected stamp; only if watched */
  bool changed;           /* the file no longer matches its stamp */
  int error;              /* errno of the first call that failed, or 0 */
  uint64_t used, bytes;   /* HDF5's counts: end of allocations, end of file */
  bool finds;             /* find mode: reads of elements are recorded, not executed */
  uint64_t found, found_bytes;
  amped_write_behind behind;
} amped_hdf5_io;

/* Set the driver in a file access list. H5Fopen and H5Fcreate then use io->fd; the name that they
 * get is only for messages. Returns false if HDF5 fails. */
bool amped_hdf5_driver_set(hid_t list, amped_hdf5_io *io);

/* Wait until all buffers of `behind` are in the file. Returns false, with io->error set, if a write
 * failed. amped_hdf5_io_end frees the buffers. */
bool amped_hdf5_io_wait(amped_hdf5_io *io);
void amped_hdf5_io_end(amped_hdf5_io *io);

/* Between find and found, HDF5's reads of elements are recorded, not executed. found returns offset
 * and bytes of the last read, or false if there was none. */
void amped_hdf5_io_find(amped_hdf5_io *io);
bool amped_hdf5_io_found(amped_hdf5_io *io, uint64_t *at, uint64_t *bytes);

/* Read bytes of the file, bypassing HDF5; any thread. Returns false also if the file ends earlier.
 * Call amped_hdf5_io_same afterwards: it returns false if a watched file has changed. */
bool amped_hdf5_io_read(const amped_hdf5_io *io, uint64_t at, uint64_t bytes, void *to);
bool amped_hdf5_io_same(amped_hdf5_io *io);

#endif
