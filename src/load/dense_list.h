/* Dense list: the nonzero cells of a dense tensor, as a coordinate list in host memory. Not
 * collective. */
#ifndef AMPED_DENSE_LIST_H
#define AMPED_DENSE_LIST_H

#include "load/dense_source.h"
#include "tensor/overflow.h"

/* Read the whole source, piece by piece, in file order. nnz is 0 if all cells are 0. overflow NULL:
 * memory has no limit. AMPED_BAD_INPUT if a cell is not finite, or if the file states other
 * statistics. Free with amped_sptensor_free, also after a failure. */
amped_status amped_dense_list_read(amped_dense_source *source, const amped_overflow *overflow,
                                   amped_sptensor *out);

#endif
