/* The dense form of Tensor Toolbox and pyttb text ("tensor", order, dims, then all values, one a
 * line, the first index fastest) as a list of its nonzeros: zeros are left out. */
#ifndef AMPED_IO_TNS_DENSE_H
#define AMPED_IO_TNS_DENSE_H

#include "text/io_rows.h"

typedef struct amped_tns_dense {
  uint64_t elements; /* of the tensor */
  uint64_t seen;     /* values before the block in hand */
} amped_tns_dense;

/* AMPED_BAD_INPUT where 64 bits do not number the elements. */
amped_status amped_tns_dense_begin(amped_tns_dense *dense, const char *path, int order,
                                   const uint64_t *dims);

/* All pieces of a block, by all threads: the parser's part of them is set. */
amped_status amped_tns_dense_parse(amped_tns_dense *dense, amped_rows *rows, amped_piece *pieces,
                                   int count);

#endif
