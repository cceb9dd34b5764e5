/* HDF5 files, checked: the only files that call the HDF5 library are hdf5_*.c.
 *
 * Reading distrusts the file. Objects are named by absolute paths ("/amped/mode_0/values") of which
 * every step must be a hard link. A dataset is opened only if its type is a standard integer or
 * float, its extent agrees with what is stored, all of it is stored inside the file (contiguous or
 * chunked), and its filters are deflate, shuffle and fletcher32 at most; so no caller allocates for
 * an extent that lies. What is wrong is AMPED_BAD_INPUT.
 *
 * Writing makes chunked datasets with fletcher32 in the 1.10 format, without time stamps: equal
 * contents give equal bytes. What fails is AMPED_FAILED.
 *
 * Messages name amped_hdf5.path, which is borrowed; so is an amped_hdf5 by its datasets. Closing
 * functions take what was zeroed or closed already. One thread at a time. */
#ifndef AMPED_HDF5_FILE_H
#define AMPED_HDF5_FILE_H

#include <hdf5.h>
#include <stdbool.h>

#include "base/file.h"
#include "base/status.h"
#include "base/types.h"

/* Elements of a chunk at most; reads that start at multiples of it take each chunk once, and check
 * its sum with all threads. */
#define AMPED_HDF5_CHUNK (UINT64_C(1) << 20)

typedef struct amped_hdf5 {
  bool open;
  hid_t id;
  const char *path; /* the name in messages */
  uint64_t bytes;   /* of a file that is read */
  int fd;           /* HDF5's own, -1 where there is none to ask for data ahead of time */
  bool stamped;     /* reading finds out where the file is changed meanwhile */
  amped_file_stamp stamp;
  bool writing;
  bool library_failed; /* the error seen came from a failing HDF5 call, not from a check of ours */
  void *chunk;         /* room of hdf5_chunks.c, until the file is closed */
  uint64_t chunk_bytes;
} amped_hdf5;

typedef enum amped_number { AMPED_UNSIGNED, AMPED_SIGNED, AMPED_FLOAT } amped_number;

/* An element type: unsigned and signed integers of 1, 2, 4, 8 bytes; floats of 4 and 8 bytes, and
 * in files also of 2 (IEEE) and 16 (x86 extended). */
typedef struct amped_hdf5_type {
  amped_number number;
  uint64_t bytes;
} amped_hdf5_type;

#define AMPED_HDF5_NAME 64

/* Where chunks of a dataset lie, of hdf5_chunks.c: chunk `known` at byte `at`, those behind it a
 * stride apart, as far as one can tell without asking for each. */
typedef struct amped_hdf5_places {
  bool found, hopeless;
  uint64_t known, at, stride;
  bool started;
  uint64_t last; /* the chunk that was read before */
} amped_hdf5_places;

typedef struct amped_hdf5_dataset {
  bool open;
  amped_hdf5 *file;
  hid_t id;
  char name[AMPED_HDF5_NAME];
  amped_hdf5_type type;
  int ndims; /* 1 or 2 */
  uint64_t dims[2];
  uint64_t stored_bytes;
  uint64_t chunk_rows; /* of chunks that hdf5_chunks.c can read or write, else 0 */
  uint64_t written;    /* rows, when writing */
  amped_hdf5_places places;
} amped_hdf5_dataset;

/* Open for reading at once: a file that this process has just written, or that the probe
 * (hdf5_probe.h) opens. */
amped_status amped_hdf5_open_trusted(const char *file_name, const char *path, amped_hdf5 *out);
void amped_hdf5_close(amped_hdf5 *file);

/* Create file_name (`path` is its later name, for messages); flush and close it, every return
 * checked. amped_hdf5_close drops a file that was not finished. */
amped_status amped_hdf5_create(const char *file_name, const char *path, amped_hdf5 *out);
amped_status amped_hdf5_finish(amped_hdf5 *file);

/* The status of reopening a file that this process has just written: a full disk may have lost
 * metadata without a word, so any failure is that of writing `path`. */
amped_status amped_hdf5_read_back(amped_status status, const char *path);

/* Is there an object of that name? A link on its path that is not hard is an error. */
amped_status amped_hdf5_exists(amped_hdf5 *file, const char *name, bool *out);
/* Do both names lead to the same object? Both exist. */
amped_status amped_hdf5_same(amped_hdf5 *file, const char *a, const char *b, bool *out);
amped_status amped_hdf5_make_group(amped_hdf5 *file, const char *name);
amped_status amped_hdf5_link(amped_hdf5 *file, const char *target, const char *name);

/* Attributes of a group ("/" is the root); reading one that is missing is an error. Text is
 * amped_alloc'd, of fixed or variable length in the file. u64 takes any integer type and `count`
 * elements (1: scalar or array of one). */
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
/* What the root says of a file of ours: amped_format and amped_version. */
amped_status amped_hdf5_put_format(amped_hdf5 *file, const char *format, uint64_t version);

/* Open and check; ndims is 1 or 2 and must be the dataset's. */
amped_status amped_hdf5_dataset_open(amped_hdf5 *file, const char *name, int ndims,
                                     amped_hdf5_dataset *out);
/* Rows first .. first+count (all columns) as elements of `type`, which is the dataset's own or one
 * of AMPED_F32, AMPED_F64. */
amped_status amped_hdf5_dataset_read(amped_hdf5_dataset *dataset, amped_hdf5_type type,
                                     uint64_t first, uint64_t count, void *buffer);
/* An error that says what is there, unless the dataset has this type and extent (columns is 1 for
 * one dimension). */
amped_status amped_hdf5_dataset_expect(const amped_hdf5_dataset *dataset, amped_hdf5_type type,
                                       uint64_t rows, uint64_t columns);
void amped_hdf5_dataset_close(amped_hdf5_dataset *dataset);

/* Create, append rows in order (whole chunks of amped_hdf5_slab_rows rows but for the last), and
 * finish when all are written. */
amped_status amped_hdf5_dataset_create(amped_hdf5 *file, const char *name, amped_hdf5_type type,
                                       int ndims, const uint64_t *dims, amped_hdf5_dataset *out);
amped_status amped_hdf5_dataset_append(amped_hdf5_dataset *dataset, uint64_t count,
                                       const void *rows);
amped_status amped_hdf5_dataset_finish(amped_hdf5_dataset *dataset);
/* All at once. */
amped_status amped_hdf5_dataset_write(amped_hdf5 *file, const char *name, amped_hdf5_type type,
                                      int ndims, const uint64_t *dims, const void *rows);
/* Rows of a chunk of a dataset with that many columns. */
uint64_t amped_hdf5_slab_rows(uint64_t columns);

/* For hdf5_*.c alone: the native memory type; record that an HDF5 call failed. */
hid_t amped_hdf5_native(amped_hdf5_type type);
amped_status amped_hdf5_failed(amped_hdf5 *file, const char *what, const char *name);

#endif
