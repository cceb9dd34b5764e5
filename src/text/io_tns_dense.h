/* Dense form of Tensor Toolbox and pyttb text, read as a list of its nonzeros. The text is
 * "tensor", order, dims, then all values, one per line, with the first index fastest. */
#ifndef AMPED_IO_TNS_DENSE_H
#define AMPED_IO_TNS_DENSE_H

#include "text/io_rows.h"

typedef struct amped_tns_dense {
  uint64_t elements; /* number of elements in the tensor */
  uint64_t seen;     /* values before the current chunk */
} amped_tns_dense;

/* Prepare. AMPED_BAD_INPUT if the number of elements exceeds 64 bits. */
amped_status amped_tns_dense_begin(amped_tns_dense *dense, const char *path, int order,
                                   const uint64_t *dims);

/* Parse all pieces of a chunk, with all threads. Sets the parser's members of every piece. */
amped_status amped_tns_dense_parse(amped_tns_dense *dense, amped_rows *rows, amped_piece *pieces,
                                   int count);

#endif
