/* HDF5 driver: HDF5 reads and writes an open file by its descriptor, not by its name.
 *
 * HDF5's own drivers open a name, behind which another file may lie by then. This one takes the
 * descriptor of who calls it, and leaves it open. A file that is watched is compared with its stamp
 * after every read: HDF5 never sees bytes that were written later.
 *
 * Large chunks are written behind: HDF5 gets a buffer of `behind` to write, and goes on. Errors
 * come with later writes, or from amped_hdf5_io_wait. */
#ifndef AMPED_HDF5_DRIVER_H
#define AMPED_HDF5_DRIVER_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/write_behind.h"

/* An open file; it stays in its place as long as HDF5 has it open. */
typedef struct amped_hdf5_io {
  H5FD_t base; /* HDF5's own part comes first */
  int fd;      /* borrowed */
  bool watched;
  amped_file_stamp stamp; /* where it is watched */
  bool changed;           /* it differed from its stamp */
  int error;              /* errno of the first call that failed, or 0 */
  uint64_t used, bytes;   /* as HDF5 counts: what is allocated, what is there */
  bool finds;             /* reads of elements are noted, not done */
  uint64_t found, found_bytes;
  amped_write_behind behind;
} amped_hdf5_io;

/* Set the driver in a file access list: H5Fopen or H5Fcreate then take io->fd, and their name is
 * for messages alone. False where HDF5 fails. */
bool amped_hdf5_driver_set(hid_t list, amped_hdf5_io *io);

/* Wait until all buffers of `behind` are in the file; false, with io->error, where one is not. end
 * frees them. */
bool amped_hdf5_io_wait(amped_hdf5_io *io);
void amped_hdf5_io_end(amped_hdf5_io *io);

/* From find to found HDF5's reads of elements are noted, and not done: found tells the place and
 * the bytes of the last one, or false where there was none. */
void amped_hdf5_io_find(amped_hdf5_io *io);
bool amped_hdf5_io_found(amped_hdf5_io *io, uint64_t *at, uint64_t *bytes);

/* Read bytes of the file, past HDF5. Any thread; false, where the file ends before them, too.
 * same: where the file is watched, does it have its stamp? After such reads. */
bool amped_hdf5_io_read(const amped_hdf5_io *io, uint64_t at, uint64_t bytes, void *to);
bool amped_hdf5_io_same(amped_hdf5_io *io);

#endif
