/* Dense output: the file that a dense tensor is written to, HDF5 (dense_file.h) or npy (io_npy.h);
 * the twin of the dense source. Cells come in C's order without gaps. Not collective. */
#ifndef AMPED_DENSE_OUTPUT_H
#define AMPED_DENSE_OUTPUT_H

#include "base/status.h"
#include "tensor/dense_info.h"

typedef struct amped_dense_output amped_dense_output;

/* By its suffix: .npy; .h5 and .hdf5. */
bool amped_dense_output_is_npy(const char *path);
bool amped_dense_output_is(const char *path);

/* info is copied; layout is C's. Nothing has the name before it is published. AMPED_FAILED where
 * the disk has no room for it. *out is NULL on failure. */
amped_status amped_dense_output_create(const char *path, const amped_dense_info *info,
                                       amped_dense_output **out);
/* Cells are finite; HDF5 refuses others. Sums do not depend on how cells are cut into calls of
 * whole multiples of AMPED_DENSE_OUTPUT_PIECE. */
#define AMPED_DENSE_OUTPUT_PIECE (UINT64_C(1) << 20)
amped_status amped_dense_output_append(amped_dense_output *output, uint64_t count,
                                       const void *cells);
/* Borrowed; with statistics of the cells that were appended. */
const amped_dense_info *amped_dense_output_info(amped_dense_output *output);
/* Frees the output. publish: all cells were appended. */
amped_status amped_dense_output_publish(amped_dense_output *output);
void amped_dense_output_discard(amped_dense_output *output); /* NULL is allowed */

#endif
