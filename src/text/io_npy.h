/* NumPy's .npy files (format versions 1 to 3), in either order of modes and either byte order:
 * integers of 1 to 8 bytes, floats of 2, 4 and 8 bytes. Object, structured, complex and other
 * arrays are refused. The file is untrusted: a file shorter or longer than its shape is
 * AMPED_BAD_INPUT. Not collective; any thread may read. */
#ifndef AMPED_IO_NPY_H
#define AMPED_IO_NPY_H

#include "base/status.h"
#include "tensor/dense_info.h"

typedef struct amped_npy amped_npy;

/* Open an array. AMPED_BAD_INPUT with the reason if it is not a valid file. *out is NULL on
 * failure. */
amped_status amped_npy_open(const char *path, amped_npy **out);
void amped_npy_close(amped_npy *file); /* NULL is allowed */
/* Shape and layout, without statistics. Borrowed from file. */
const amped_dense_info *amped_npy_info(const amped_npy *file);

/* Read the box of cells first[m] .. first[m] + count[m] of all modes m into the caller's memory, in
 * the info's layout and native byte order. */
amped_status amped_npy_read(amped_npy *file, const uint64_t *first, const uint64_t *count,
                            void *cells);

/* A file being written: version 1, cells in C order, a draft (base/draft.h) until publish. Cells
 * are appended in this order without gaps, in info->type. info is copied. */
typedef struct amped_npy_writer amped_npy_writer;
amped_status amped_npy_writer_create(const char *path, const amped_dense_info *info,
                                     amped_npy_writer **out);
amped_status amped_npy_writer_append(amped_npy_writer *writer, uint64_t count, const void *cells);
/* Publish or discard the file, and free the writer. Before publish, all cells must have been
 * appended. */
amped_status amped_npy_writer_publish(amped_npy_writer *writer);
void amped_npy_writer_discard(amped_npy_writer *writer); /* NULL is allowed */

#endif
