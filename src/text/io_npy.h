/* NumPy's .npy files (format versions 1 to 3), either order of modes, either byte order: integers
 * of 1 to 8 bytes, floats of 2, 4 and 8 bytes. Object, structured, complex and other arrays are
 * refused. The file is untrusted; a file shorter or longer than its shape is bad input. Not
 * collective; any thread may read. */
#ifndef AMPED_IO_NPY_H
#define AMPED_IO_NPY_H

#include "base/status.h"
#include "tensor/dense_info.h"

typedef struct amped_npy amped_npy;

/* AMPED_BAD_INPUT with the reason. *out is NULL on failure. */
amped_status amped_npy_open(const char *path, amped_npy **out);
void amped_npy_close(amped_npy *file); /* NULL is allowed */
/* Borrowed; without statistics. */
const amped_dense_info *amped_npy_info(const amped_npy *file);

/* The box of cells first[m] .. first[m] + count[m] of all modes m, with the info's layout, into the
 * caller's memory, in native byte order. */
amped_status amped_npy_read(amped_npy *file, const uint64_t *first, const uint64_t *count,
                            void *cells);

/* A file that is being written: version 1, cells in C's order, a draft (base/draft.h) that publish
 * gives its name. Cells come in this order without gaps, of info->type. info is copied. */
typedef struct amped_npy_writer amped_npy_writer;
amped_status amped_npy_writer_create(const char *path, const amped_dense_info *info,
                                     amped_npy_writer **out);
amped_status amped_npy_writer_append(amped_npy_writer *writer, uint64_t count, const void *cells);
/* Frees the writer. publish: all cells were appended. */
amped_status amped_npy_writer_publish(amped_npy_writer *writer);
void amped_npy_writer_discard(amped_npy_writer *writer); /* NULL is allowed */

#endif
