/* Header of a .npy file: a dictionary, as Python writes it, of descr, fortran_order and shape. The
 * text is untrusted. Pure functions; host memory. */
#ifndef AMPED_IO_NPY_HEADER_H
#define AMPED_IO_NPY_HEADER_H

#include "tensor/dense_info.h"

typedef struct amped_npy_header {
  amped_dense_info info; /* without statistics */
  bool swapped;          /* cells have the opposite byte order */
} amped_npy_header;

/* Read a header of `length` bytes, without a final null. AMPED_BAD_INPUT with the reason; `where`
 * names the file. */
amped_status amped_npy_header_read(const char *text, uint64_t length, const char *where,
                                   amped_npy_header *out);

/* Write the header of an array in C order; returns its length. text must have AMPED_NPY_HEADER
 * bytes. */
#define AMPED_NPY_HEADER 512
uint64_t amped_npy_header_text(const amped_dense_info *info, char *text);

#endif
