/* Dense output: the file to which a dense tensor is written, HDF5 (dense_file.h) or npy (io_npy.h);
 * the counterpart of the dense source. Cells come in C's order without gaps. Not collective. */
#ifndef AMPED_DENSE_OUTPUT_H
#define AMPED_DENSE_OUTPUT_H

#include "base/status.h"
#include "tensor/dense_info.h"
#include "tensor/labels.h"

typedef struct amped_dense_output amped_dense_output;

/* is_npy: is the suffix .npy? is: is the suffix .npy, .h5 or .hdf5? */
bool amped_dense_output_is_npy(const char *path);
bool amped_dense_output_is(const char *path);

/* Create a draft, published later under `path`. info is copied; its layout must be C's.
 * AMPED_FAILED if the disk has no space for the tensor. *out is NULL on failure. */
amped_status amped_dense_output_create(const char *path, const amped_dense_info *info,
                                       amped_dense_output **out);
/* Append cells, which are finite; HDF5 refuses others. Sums do not depend on the division into
 * calls, if each call has a multiple of AMPED_DENSE_OUTPUT_PIECE. */
#define AMPED_DENSE_OUTPUT_PIECE (UINT64_C(1) << 20)
amped_status amped_dense_output_append(amped_dense_output *output, uint64_t count,
                                       const void *cells);
/* Cells to read from a file of this info and to append, in one piece: a multiple of
 * AMPED_DENSE_OUTPUT_PIECE, at most all cells. Layouts other than C's are read in strides, faster
 * in larger pieces, which may take `memory` at cell_bytes per cell. */
uint64_t amped_dense_output_piece(const amped_dense_info *read, uint64_t memory,
                                  uint64_t cell_bytes);
/* Info of the file, with statistics of the cells appended so far. Borrowed. */
const amped_dense_info *amped_dense_output_info(amped_dense_output *output);
/* Store these labels with the file when it is published: [order], borrowed until then. A .npy
 * cannot hold them: a warning names the modes whose labels are not just the numbers of their
 * indices, and their order. On failure the output stays the caller's. */
amped_status amped_dense_output_set_labels(amped_dense_output *output, const amped_labels *labels);
/* Both free the output. publish: all cells must be appended. */
amped_status amped_dense_output_publish(amped_dense_output *output);
void amped_dense_output_discard(amped_dense_output *output); /* NULL is allowed */

#endif
