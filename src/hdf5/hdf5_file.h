/* HDF5 files, with all checks. Only hdf5_*.c call the HDF5 library.
 *
 * Reading distrusts the file; an error in it is AMPED_BAD_INPUT. Absolute paths
 * ("/amped/mode_0/values") name objects, and every step must be a hard link. A dataset is opened
 * only under these conditions. Its type is a standard integer or float. Its extent agrees with the
 * stored data, and all data are inside the file (contiguous or chunked). Its only filters are
 * deflate, shuffle and fletcher32. So no caller allocates memory for a false extent. Deflate may
 * expand what is stored a thousandfold: a caller that holds more than some rows asks
 * amped_mem_check (base/system_memory.h) first.
 *
 * Writing makes chunked datasets with fletcher32 in the 1.10 format, without time stamps: equal
 * contents give equal bytes. A failure is AMPED_FAILED.
 *
 * Host memory; not collective; one thread at a time. amped_hdf5.path is borrowed, for messages; a
 * dataset borrows its amped_hdf5. Functions that close accept an object that is zeroed or closed
 * already. */
#ifndef AMPED_HDF5_FILE_H
#define AMPED_HDF5_FILE_H

#include <hdf5.h>
#include <stdbool.h>

#include "base/file.h"
#include "base/status.h"
#include "base/types.h"
#include "hdf5/hdf5_driver.h"

/* The most elements of a chunk. A read that starts at a multiple of it reads each chunk once, and
 * all threads check its checksum. */
#define AMPED_HDF5_CHUNK (UINT64_C(1) << 20)

/* Room for the name of a dataset or group. */
#define AMPED_HDF5_NAME 256

/* The most attributes of a file that AMPED writes, those of datasets included. */
#define AMPED_HDF5_SEALED 160

typedef struct amped_hdf5 {
  bool open;
  hid_t id;
  const char *path; /* the name in messages */
  uint64_t bytes;   /* size of a file that is read */
  amped_hdf5_io io; /* its descriptor, checked for changes while it is read */
  bool owns_fd;
  bool writing;
  bool library_failed;          /* the error came from an HDF5 call, not from a check of ours */
  bool no_memory;               /* the call failed for want of memory */
  bool tolerant;                /* content that disagrees with its seal is no error, only noted: */
  char broken[AMPED_HDF5_NAME]; /* the first such dataset, or "" */
  uint64_t cached_bytes;        /* chunks that the open datasets may hold */
  bool seal_loaded;             /* of a file that is read */
  uint64_t sealed;              /* hashes of attributes; 0: the file has no seal */
  uint64_t seal[AMPED_HDF5_SEALED];
  void *chunk; /* buffer of hdf5_chunks.c, until the file is closed; large chunks have io.behind */
  uint64_t chunk_bytes;
} amped_hdf5;

typedef enum amped_number { AMPED_UNSIGNED, AMPED_SIGNED, AMPED_FLOAT } amped_number;

/* Element type: unsigned and signed integers of 1, 2, 4, 8 bytes; floats of 2 (IEEE), 4 and 8
 * bytes. Files may also have floats of 16 bytes (x86 extended). */
typedef struct amped_hdf5_type {
  amped_number number;
  uint64_t bytes;
} amped_hdf5_type;

/* For hdf5_chunks.c: the last chunk that was read, the step to it from the one before, and the last
 * chunk for which the system was asked. */
typedef struct amped_hdf5_ahead {
  bool started;
  uint64_t last, step, asked;
} amped_hdf5_ahead;

/* For hdf5_seal.h: the hash of rows 0 .. rows, and that which the file stores. */
typedef struct amped_hdf5_seal {
  bool on;
  uint64_t stored, hash, rows;
} amped_hdf5_seal;

/* Rows lie along `axis`, a row is all dimensions behind it; rows of all dimensions up to it are
 * counted in C's order. Axis 0, unless chunks of rows end with a later dimension: then no chunk has
 * rows of two spans of dims[axis]. */
typedef struct amped_hdf5_dataset {
  bool open;
  amped_hdf5 *file;
  hid_t id;
  char name[AMPED_HDF5_NAME];
  amped_hdf5_type type;
  int ndims;
  uint64_t dims[AMPED_MAX_ORDER]; /* 1 behind the last */
  int axis;
  uint64_t rows, columns; /* columns: elements of a row */
  uint64_t stored_bytes;
  uint64_t cached_bytes; /* of HDF5's cache: a chunk */
  uint64_t chunk_rows;   /* rows of a chunk that hdf5_chunks.c can read or write, else 0 */
  uint64_t written;      /* rows written so far */
  amped_hdf5_ahead ahead;
  amped_hdf5_seal seal;
} amped_hdf5_dataset;

/* Open for reading without a probe: a file that this process has just written, or a call of the
 * probe (hdf5_probe.h). fd, borrowed, is the open file; `path` its name in messages. stamp: the
 * file may not have changed since; NULL: it is not watched. */
amped_status amped_hdf5_open_trusted(int fd, const char *path, const amped_file_stamp *stamp,
                                     amped_hdf5 *out);
void amped_hdf5_close(amped_hdf5 *file);

/* Make an HDF5 file of an empty one, whose descriptor is borrowed (base/draft.h); flush and close
 * it, with every return checked. amped_hdf5_close drops an unfinished file. */
amped_status amped_hdf5_create(int fd, const char *path, amped_hdf5 *out);
amped_status amped_hdf5_finish(amped_hdf5 *file);

/* Convert the status of reopening a file that this process has just written. A full disk may have
 * lost metadata without an error, so any failure means that writing `path` failed. */
amped_status amped_hdf5_read_back(amped_status status, const char *path);

/* Does an object of that name exist? A link on its path that is not hard is an error. */
amped_status amped_hdf5_exists(amped_hdf5 *file, const char *name, bool *out);
/* Do both names lead to the same object? Both must exist. */
amped_status amped_hdf5_same(amped_hdf5 *file, const char *a, const char *b, bool *out);
amped_status amped_hdf5_make_group(amped_hdf5 *file, const char *name);
amped_status amped_hdf5_link(amped_hdf5 *file, const char *target, const char *name);

/* Attributes of a group ("/" is the root) or dataset. Reading a missing attribute is an error, and
 * so is a value that is not the one that the file's seal has (hdf5_attribute.c). The caller frees a
 * text with amped_free; its length in the file is fixed or variable. u64 reads any integer type and
 * `count` elements (1: a scalar or an array of one). */
amped_status amped_hdf5_has_attribute(amped_hdf5 *file, const char *group, const char *name,
                                      bool *out);
amped_status amped_hdf5_get_u64(amped_hdf5 *file, const char *group, const char *name,
                                uint64_t count, uint64_t *out);
amped_status amped_hdf5_get_double(amped_hdf5 *file, const char *group, const char *name,
                                   double *out);
amped_status amped_hdf5_get_text(amped_hdf5 *file, const char *group, const char *name, char **out);
/* count 0: a scalar. */
amped_status amped_hdf5_put_u64(amped_hdf5 *file, const char *group, const char *name,
                                uint64_t count, const uint64_t *values);
amped_status amped_hdf5_put_double(amped_hdf5 *file, const char *group, const char *name,
                                   double value);
amped_status amped_hdf5_put_text(amped_hdf5 *file, const char *group, const char *name,
                                 const char *text);
/* Write the attributes amped_format and amped_version of the root. */
amped_status amped_hdf5_put_format(amped_hdf5 *file, const char *format, uint64_t version);

/* Open and check a dataset; its number of dimensions must be ndims, 1 or 2. A row has at most 2^20
 * elements. AMPED_FAILED where memory does not hold its chunks. */
amped_status amped_hdf5_dataset_open(amped_hdf5 *file, const char *name, int ndims,
                                     amped_hdf5_dataset *out);
/* Read rows first .. first+count (all columns) as elements of `type`: the dataset's own type,
 * AMPED_F32 or AMPED_F64. Where all rows are read in order and the dataset has a content hash, the
 * last rows bring AMPED_BAD_INPUT unless it agrees. */
amped_status amped_hdf5_dataset_read(amped_hdf5_dataset *dataset, amped_hdf5_type type,
                                     uint64_t first, uint64_t count, void *buffer);
/* The same for an array: 3 to 8 dimensions, rows of any length, no content hash. */
amped_status amped_hdf5_array_open(amped_hdf5 *file, const char *name, amped_hdf5_dataset *out);
/* Read the box first[m] .. first[m] + count[m] of all dimensions m, in C's order of the box. */
amped_status amped_hdf5_array_read(amped_hdf5_dataset *dataset, amped_hdf5_type type,
                                   const uint64_t *first, const uint64_t *count, void *buffer);
/* AMPED_BAD_INPUT, with the actual type and extent, unless the dataset has this type and extent.
 * columns is 1 for one dimension. */
amped_status amped_hdf5_dataset_expect(const amped_hdf5_dataset *dataset, amped_hdf5_type type,
                                       uint64_t rows, uint64_t columns);
void amped_hdf5_dataset_close(amped_hdf5_dataset *dataset);

/* Create a dataset; append rows in order; finish when all rows are written. Each append has whole
 * chunks of amped_hdf5_slab_rows rows, except the last. */
amped_status amped_hdf5_dataset_create(amped_hdf5 *file, const char *name, amped_hdf5_type type,
                                       int ndims, const uint64_t *dims, amped_hdf5_dataset *out);
/* Rows of the chunk that is to be appended next. */
uint64_t amped_hdf5_dataset_chunk(const amped_hdf5_dataset *dataset);
/* Before the first row: store the content hash at the end (hdf5_seal.h). */
void amped_hdf5_dataset_seal(amped_hdf5_dataset *dataset);
amped_status amped_hdf5_dataset_append(amped_hdf5_dataset *dataset, uint64_t count,
                                       const void *rows);
amped_status amped_hdf5_dataset_finish(amped_hdf5_dataset *dataset);
/* All steps in one call, with a content hash. */
amped_status amped_hdf5_dataset_write(amped_hdf5 *file, const char *name, amped_hdf5_type type,
                                      int ndims, const uint64_t *dims, const void *rows);
/* The most bytes of a file that such a dataset takes. */
uint64_t amped_hdf5_dataset_bytes(uint64_t rows, uint64_t columns, uint64_t element_bytes);
/* Rows of a chunk of a dataset with this number of columns. */
uint64_t amped_hdf5_slab_rows(uint64_t columns);

/* Before the file is finished: write the seal of all attributes. Only amped_hdf5_finish calls it.
 */
amped_status amped_hdf5_put_seal(amped_hdf5 *file);

/* Only hdf5_*.c call these: the native memory type; the record that an HDF5 call failed, which is
 * AMPED_FAILED where memory ran out; what every function does before its first HDF5 call: no more
 * of HDF5's own messages from this thread, and no old errno, which tells that memory ran out. */
hid_t amped_hdf5_native(amped_hdf5_type type);
amped_status amped_hdf5_failed(amped_hdf5 *file, const char *what, const char *name);
void amped_hdf5_begin(void);

#endif
