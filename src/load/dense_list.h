/* Dense list: the cells of a dense tensor that are not 0, as a coordinate list in host memory. Not
 * collective. */
#ifndef AMPED_DENSE_LIST_H
#define AMPED_DENSE_LIST_H

#include "load/dense_source.h"
#include "tensor/overflow.h"

/* Read the whole source, piece by piece, as its cells lie in the file. nnz is 0 where all cells
 * are. overflow NULL: memory has no limit. AMPED_BAD_INPUT where a cell is not finite, or the file
 * states other statistics. Free with amped_sptensor_free, also after a failure. */
amped_status amped_dense_list_read(amped_dense_source *source, const amped_overflow *overflow,
                                   amped_sptensor *out);

#endif
