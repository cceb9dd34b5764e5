/* Rows: the growing end of a tensor that is read from text, with room for the nonzeros of a chunk's
 * pieces.
 *
 * Every piece gets room for the most rows that its text can hold, and fills the first of them.
 * Afterwards the rows are moved together. */
#ifndef AMPED_IO_ROWS_H
#define AMPED_IO_ROWS_H

#include "text/io_text.h"
#include "tensor/overflow.h"

typedef struct amped_rows {
  amped_sptensor *tensor;         /* order set; nnz counts the rows that are complete */
  uint64_t capacity;              /* rows that fit into the arrays */
  uint64_t least_bytes;           /* bytes of the shortest row, with its line end */
  const amped_overflow *overflow; /* NULL: none */
  uint64_t taken;                 /* rows that the overflow took */
  double fraction;                /* of the input that is read with these rows; 0: unknown */
} amped_rows;

/* Reserve room for the rows of these pieces. Where memory may not hold them, the rows before them
 * go to the overflow first. Sets piece->row of every piece, behind the tensor's nnz rows. */
amped_status amped_rows_reserve(amped_rows *rows, amped_piece *pieces, int count);
/* Move the pieces' rows together and add them to nnz. `fraction` of the input is read up to their
 * end. */
void amped_rows_close(amped_rows *rows, const amped_piece *pieces, int count, double fraction);
/* Free the memory reserved beyond nnz. */
amped_status amped_rows_finish(amped_rows *rows);

#endif
