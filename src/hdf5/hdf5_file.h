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

/* Most elements in a chunk. A read that starts at a multiple of this number reads each chunk once,
 * and all threads verify its checksum. */
#define AMPED_HDF5_CHUNK (UINT64_C(1) << 20)

/* Bytes for the name of a dataset or group. */
#define AMPED_HDF5_NAME 256

/* Most attributes in a file that AMPED writes, including the attributes of datasets. */
#define AMPED_HDF5_SEALED 160

typedef struct amped_hdf5 {
  bool open;
  hid_t id;
  const char *path; /* name for messages */
  uint64_t bytes;   /* size of a file opened for reading */
  amped_hdf5_io io; /* its descriptor; watched for changes while the file is read */
  bool owns_fd;
  bool writing;
  bool library_failed;          /* the error came from an HDF5 call, not from our own checks */
  bool no_memory;               /* the call failed because memory ran out */
  bool tolerant;                /* content that disagrees with its seal is only noted in `broken` */
  char broken[AMPED_HDF5_NAME]; /* first dataset that disagrees with its seal, or "" */
  uint64_t cached_bytes;        /* bytes of chunks that the open datasets may cache */
  bool seal_loaded;             /* the seal of a file opened for reading is loaded */
  uint64_t sealed;              /* number of attribute hashes; 0: the file has no seal */
  uint64_t seal[AMPED_HDF5_SEALED];
  void *chunk; /* buffer of hdf5_chunks.c, freed on close; large chunks written use io.behind */
  uint64_t chunk_bytes;
} amped_hdf5;

typedef enum amped_number { AMPED_UNSIGNED, AMPED_SIGNED, AMPED_FLOAT } amped_number;

/* Element type: unsigned and signed integers of 1, 2, 4 and 8 bytes; floats of 2 (IEEE), 4 and 8
 * bytes. Files may also have floats of 16 bytes (x86 extended). */
typedef struct amped_hdf5_type {
  amped_number number;
  uint64_t bytes;
} amped_hdf5_type;

/* For hdf5_chunks.c: the last chunk read, the step to it from the previous chunk, and the last
 * chunk that the system was asked to prefetch. */
typedef struct amped_hdf5_ahead {
  bool started;
  uint64_t last, step, asked;
} amped_hdf5_ahead;

/* For hdf5_seal.h: the hash of rows 0 .. rows, and the hash stored in the file. */
typedef struct amped_hdf5_seal {
  bool on;
  uint64_t stored, hash, rows;
} amped_hdf5_seal;

/* An open dataset. Rows lie along `axis`: a row consists of all dimensions after it, and rows over
 * all dimensions up to it are numbered in C order. axis is 0, unless chunks of rows end with a
 * later dimension. Then no chunk has rows of two ranges of dims[axis]. */
typedef struct amped_hdf5_dataset {
  bool open;
  amped_hdf5 *file;
  hid_t id;
  char name[AMPED_HDF5_NAME];
  amped_hdf5_type type;
  int ndims;
  uint64_t dims[AMPED_MAX_ORDER]; /* 1 after the last dimension */
  int axis;
  uint64_t rows, columns; /* columns: elements per row */
  uint64_t stored_bytes;
  uint64_t cached_bytes; /* HDF5's cache: one chunk */
  uint64_t chunk_rows;   /* rows per chunk if hdf5_chunks.c can read or write it, otherwise 0 */
  uint64_t written;      /* rows written so far */
  amped_hdf5_ahead ahead;
  amped_hdf5_seal seal;
} amped_hdf5_dataset;

/* Has a regular file HDF5's signature? Nothing else of it is read. */
bool amped_hdf5_is(const char *path);

/* Open for reading without a probe. Only for a file that this process has just written, or for the
 * probe itself (hdf5_probe.h). fd: the open file, borrowed; path: its name in messages. stamp: the
 * file must not have changed since; NULL: the file is not watched. */
amped_status amped_hdf5_open_trusted(int fd, const char *path, const amped_file_stamp *stamp,
                                     amped_hdf5 *out);
void amped_hdf5_close(amped_hdf5 *file);

/* Create an HDF5 file in an empty file, whose descriptor is borrowed (base/draft.h). finish flushes
 * and closes it, with every return value checked. amped_hdf5_close discards an unfinished file. */
amped_status amped_hdf5_create(int fd, const char *path, amped_hdf5 *out);
amped_status amped_hdf5_finish(amped_hdf5 *file);

/* Convert the status of reopening a file that this process has just written. A full disk may have
 * lost metadata without an error, so any failure means that writing `path` failed. */
amped_status amped_hdf5_read_back(amped_status status, const char *path);

/* Does an object of this name exist? A soft or external link on its path is an error. */
amped_status amped_hdf5_exists(amped_hdf5 *file, const char *name, bool *out);
/* Do both names lead to the same object? Both must exist. */
amped_status amped_hdf5_same(amped_hdf5 *file, const char *a, const char *b, bool *out);
amped_status amped_hdf5_make_group(amped_hdf5 *file, const char *name);
amped_status amped_hdf5_link(amped_hdf5 *file, const char *target, const char *name);

/* Attributes of a group ("/" is the root) or dataset. Errors are a missing attribute and a value
 * that differs from the file's seal (hdf5_attribute.c). A text may have fixed or variable length in
 * the file; the caller frees it with amped_free. get_u64 reads any integer type and `count`
 * elements (1: a scalar or an array of one). */
amped_status amped_hdf5_has_attribute(amped_hdf5 *file, const char *group, const char *name,
                                      bool *out);
amped_status amped_hdf5_get_u64(amped_hdf5 *file, const char *group, const char *name,
                                uint64_t count, uint64_t *out);
amped_status amped_hdf5_get_double(amped_hdf5 *file, const char *group, const char *name,
                                   double *out);
/* Read 0 to `most` numbers of any integer or floating-point type, or one number as text, as files
 * of others have them. *count = their number; 0 for any other attribute. AMPED_BAD_INPUT if there
 * are more. */
amped_status amped_hdf5_get_numbers(amped_hdf5 *file, const char *group, const char *name, int most,
                                    long double *out, int *count);
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
 * elements. AMPED_FAILED if its chunks do not fit in memory. */
amped_status amped_hdf5_dataset_open(amped_hdf5 *file, const char *name, int ndims,
                                     amped_hdf5_dataset *out);
/* Read rows first .. first+count (all columns) as elements of `type`: the dataset's own type,
 * AMPED_F32 or AMPED_F64. If all rows are read in order and the dataset has a content hash, reading
 * the last rows returns AMPED_BAD_INPUT unless the hash agrees. */
amped_status amped_hdf5_dataset_read(amped_hdf5_dataset *dataset, amped_hdf5_type type,
                                     uint64_t first, uint64_t count, void *buffer);
/* Open an array: like a dataset, but of 2 to 8 dimensions, with rows of any length and without a
 * content hash. */
amped_status amped_hdf5_array_open(amped_hdf5 *file, const char *name, amped_hdf5_dataset *out);
/* Read the box first[m] .. first[m] + count[m] of all dimensions m, in C order of the box. */
amped_status amped_hdf5_array_read(amped_hdf5_dataset *dataset, amped_hdf5_type type,
                                   const uint64_t *first, const uint64_t *count, void *buffer);
/* AMPED_BAD_INPUT, with the actual type and extent, unless they are the given ones. columns is 1
 * for one dimension. */
amped_status amped_hdf5_dataset_expect(const amped_hdf5_dataset *dataset, amped_hdf5_type type,
                                       uint64_t rows, uint64_t columns);
void amped_hdf5_dataset_close(amped_hdf5_dataset *dataset);
/* Open, expect, read and close in one call, for a small dataset. */
amped_status amped_hdf5_dataset_get(amped_hdf5 *file, const char *name, amped_hdf5_type type,
                                    int ndims, uint64_t rows, uint64_t columns, void *out);

/* Create a dataset; append rows in order; finish after the last row. Each append has whole chunks
 * of amped_hdf5_slab_rows rows, except the last. */
amped_status amped_hdf5_dataset_create(amped_hdf5 *file, const char *name, amped_hdf5_type type,
                                       int ndims, const uint64_t *dims, amped_hdf5_dataset *out);
/* Rows of the chunk to be appended next. */
uint64_t amped_hdf5_dataset_chunk(const amped_hdf5_dataset *dataset);
/* Ask for a content hash, stored at the end (hdf5_seal.h). Call before the first row is
 * appended. */
void amped_hdf5_dataset_seal(amped_hdf5_dataset *dataset);
amped_status amped_hdf5_dataset_append(amped_hdf5_dataset *dataset, uint64_t count,
                                       const void *rows);
amped_status amped_hdf5_dataset_finish(amped_hdf5_dataset *dataset);
/* Create, append and finish in one call, with a content hash. */
amped_status amped_hdf5_dataset_write(amped_hdf5 *file, const char *name, amped_hdf5_type type,
                                      int ndims, const uint64_t *dims, const void *rows);
/* Upper bound on the file bytes of such a dataset. */
uint64_t amped_hdf5_dataset_bytes(uint64_t rows, uint64_t columns, uint64_t element_bytes);
/* Rows per chunk of a dataset with this number of columns. */
uint64_t amped_hdf5_slab_rows(uint64_t columns);

/* Write the seal of all attributes. Called only by amped_hdf5_finish, before it closes the file. */
amped_status amped_hdf5_put_seal(amped_hdf5 *file);

/* For hdf5_*.c only. native: the native memory type. failed: record that an HDF5 call failed;
 * AMPED_FAILED if memory ran out. begin: call before the first HDF5 call of every function; it
 * silences HDF5's own messages in this thread, and clears errno, which shows whether memory ran
 * out. */
hid_t amped_hdf5_native(amped_hdf5_type type);
amped_status amped_hdf5_failed(amped_hdf5 *file, const char *what, const char *name);
void amped_hdf5_begin(void);

#endif
