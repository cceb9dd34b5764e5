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

/* Write a whole array in C's order (version 1), as a draft that is published. cells() gives cells
 * first .. first+count in C's order. */
typedef amped_status (*amped_npy_cells)(void *self, uint64_t first, uint64_t count, void *cells);
amped_status amped_npy_write(const char *path, const amped_dense_info *info, amped_npy_cells cells,
                             void *self);

#endif
