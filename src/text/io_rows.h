/* Rows: the growable end of a tensor that is read from text, with memory for the nonzeros of a
 * chunk's pieces.
 *
 * Every piece gets memory for the most rows that its text can hold, and fills the first of them.
 * Afterwards the rows are compacted. */
#ifndef AMPED_IO_ROWS_H
#define AMPED_IO_ROWS_H

#include "text/io_text.h"
#include "tensor/overflow.h"

typedef struct amped_rows {
  amped_sptensor *tensor;         /* order is set; nnz counts complete rows */
  uint64_t capacity;              /* rows that fit in the arrays */
  uint64_t least_bytes;           /* bytes of the shortest row, including its line end */
  const amped_overflow *overflow; /* NULL: none */
  uint64_t taken;                 /* rows passed to the overflow */
  double fraction;                /* share of the input up to the last of these rows; 0: unknown */
} amped_rows;

/* Reserve memory for the rows of these pieces. If memory may be too small, the earlier rows are
 * first passed to the overflow. Sets piece->row of every piece, after the tensor's nnz rows. */
amped_status amped_rows_reserve(amped_rows *rows, amped_piece *pieces, int count);
/* Close the gaps between the pieces' rows, and count the rows in nnz. fraction: share of the input
 * up to the last of these rows; 0: unknown. */
void amped_rows_close(amped_rows *rows, const amped_piece *pieces, int count, double fraction);
/* Free the memory reserved beyond nnz. */
amped_status amped_rows_finish(amped_rows *rows);

#endif
