/* HDF5 driver: the callbacks that HDF5 needs, on an open descriptor. */
#include "hdf5/hdf5_driver.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Driver information stored in a file access list. */
typedef struct argument {
  amped_hdf5_io *io;
} argument;

static amped_hdf5_io *io_of(const H5FD_t *file) {
  return (amped_hdf5_io *)(uintptr_t)file;
}

static H5FD_t *open_file(const char *name, unsigned flags, hid_t list, haddr_t most) {
  const argument *a = H5Pget_driver_info(list);
  (void)name;
  (void)most;
  if (a == NULL)
    return NULL;
  amped_hdf5_io *io = a->io;
  off_t bytes = lseek(io->fd, 0, SEEK_END);
  if (bytes < 0 || ((flags & H5F_ACC_TRUNC) != 0 && ftruncate(io->fd, 0) != 0)) {
    io->error = errno;
    return NULL;
  }
  io->bytes = (flags & H5F_ACC_TRUNC) != 0 ? 0 : (uint64_t)bytes;
  io->used = 0;
  return &io->base;
}

static herr_t close_file(H5FD_t *file) {
  (void)file;
  return 0;
}

static int compare(const H5FD_t *a, const H5FD_t *b) {
  const amped_file_stamp x = amped_file_stamp_take(io_of(a)->fd);
  const amped_file_stamp y = amped_file_stamp_take(io_of(b)->fd);
  if (x.system != y.system)
    return x.system < y.system ? -1 : 1;
  return x.number == y.number ? 0 : x.number < y.number ? -1 : 1;
}

/* Same flags as HDF5's driver for plain files, so that files have the same bytes. */
static herr_t query(const H5FD_t *file, unsigned long *flags) {
  (void)file;
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

static haddr_t get_used(const H5FD_t *file, H5FD_mem_t type) {
  (void)type;
  return io_of(file)->used;
}

static herr_t set_used(H5FD_t *file, H5FD_mem_t type, haddr_t used) {
  (void)type;
  io_of(file)->used = used;
  return 0;
}

static haddr_t get_bytes(const H5FD_t *file, H5FD_mem_t type) {
  (void)type;
  return io_of(file)->bytes;
}

static herr_t get_descriptor(H5FD_t *file, hid_t list, void **out) {
  (void)list;
  *out = &io_of(file)->fd;
  return 0;
}

/* File offsets are signed. */
static bool is_beyond(haddr_t at, size_t bytes) {
  return at > INT64_MAX || bytes > (uint64_t)INT64_MAX - at;
}

static herr_t fail(amped_hdf5_io *io, int error) {
  if (io->error == 0)
    io->error = error;
  return -1;
}

bool amped_hdf5_io_read(const amped_hdf5_io *io, uint64_t at, uint64_t bytes, void *to) {
  char *p = to;
  if (is_beyond(at, bytes))
    return false;
  while (bytes > 0) {
    const ssize_t n = pread(io->fd, p, bytes, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    p += n;
    at += (uint64_t)n;
    bytes -= (uint64_t)n;
  }
  return true;
}

bool amped_hdf5_io_same(amped_hdf5_io *io) {
  if (!io->watched)
    return true;
  const amped_file_stamp now = amped_file_stamp_take(io->fd);
  io->changed = io->changed || !amped_file_stamp_same(&now, &io->stamp);
  return !io->changed;
}

bool amped_hdf5_io_wait(amped_hdf5_io *io) {
  const int error = amped_write_behind_wait(&io->behind);
  return error == 0 || fail(io, error) == 0;
}

void amped_hdf5_io_end(amped_hdf5_io *io) {
  amped_write_behind_end(&io->behind);
}

void amped_hdf5_io_find(amped_hdf5_io *io) {
  io->finds = true;
  io->found = io->found_bytes = 0;
}

bool amped_hdf5_io_found(amped_hdf5_io *io, uint64_t *at, uint64_t *bytes) {
  io->finds = false;
  *at = io->found;
  *bytes = io->found_bytes;
  return io->found_bytes > 0;
}

static herr_t read_file(H5FD_t *file, H5FD_mem_t type, hid_t list, haddr_t at, size_t bytes,
                        void *buffer) {
  amped_hdf5_io *io = io_of(file);
  char *p = buffer;
  (void)list;
  if (is_beyond(at, bytes))
    return -1; /* an address from a damaged file */
  if (io->finds && type == H5FD_MEM_DRAW) {
    io->found = at;
    io->found_bytes = bytes;
    return 0;
  }
  if (!amped_hdf5_io_wait(io))
    return -1;
  while (bytes > 0) {
    const ssize_t n = pread(io->fd, p, bytes, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail(io, errno);
    if (n == 0) { /* after the end of the file, read zeros */
      memset(p, 0, bytes);
      break;
    }
    p += n;
    at += (haddr_t)n;
    bytes -= (size_t)n;
  }
  return amped_hdf5_io_same(io) ? 0 : -1;
}

static herr_t write_file(H5FD_t *file, H5FD_mem_t type, hid_t list, haddr_t at, size_t bytes,
                         const void *buffer) {
  amped_hdf5_io *io = io_of(file);
  int error = 0;
  (void)type;
  (void)list;
  if (is_beyond(at, bytes))
    return fail(io, EFBIG);
  if (amped_write_behind_is_room(&io->behind, buffer))
    error = amped_write_behind_put(&io->behind, at, bytes);
  else
    error = amped_file_write_at(io->fd, buffer, bytes, at);
  if (error != 0)
    return fail(io, error);
  io->bytes = at + bytes > io->bytes ? at + bytes : io->bytes;
  return 0;
}

/* Set the file's end to the end of HDF5's allocations. */
static herr_t truncate_file(H5FD_t *file, hid_t list, hbool_t closing) {
  amped_hdf5_io *io = io_of(file);
  (void)list;
  (void)closing;
  if (!amped_hdf5_io_wait(io))
    return -1;
  if (io->bytes == io->used)
    return 0;
  if (ftruncate(io->fd, (off_t)io->used) != 0)
    return fail(io, errno);
  io->bytes = io->used;
  return 0;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)512, /* first value open to applications */
#endif
    .name = "amped",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(argument),
    .open = open_file,
    .close = close_file,
    .cmp = compare,
    .query = query,
    .get_eoa = get_used,
    .set_eoa = set_used,
    .get_eof = get_bytes,
    .get_handle = get_descriptor,
    .read = read_file,
    .write = write_file,
    .truncate = truncate_file,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

bool amped_hdf5_driver_set(hid_t list, amped_hdf5_io *io) {
  static hid_t id = H5I_INVALID_HID;
  const argument a = {io};
  if (id < 0)
    id = H5FDregister(&driver);
  return id >= 0 && H5Pset_driver(list, id, &a) >= 0;
}
