/* The growing end of a tensor that is read from text: room for what the pieces of a block bring.
 *
 * Every piece gets as many rows as its text can hold at most, fills the first of them, and the gaps
 * are closed afterwards. */
#ifndef AMPED_IO_ROWS_H
#define AMPED_IO_ROWS_H

#include "text/io_text.h"
#include "tensor/overflow.h"

typedef struct amped_rows {
  amped_sptensor *tensor;         /* order set; nnz counts the rows that are complete */
  uint64_t capacity;              /* rows that the arrays have room for */
  uint64_t least_bytes;           /* bytes of the shortest row, its line end included */
  const amped_overflow *overflow; /* NULL: none */
  uint64_t taken;                 /* rows that it took */
  double part;                    /* of the input is read with these rows; 0: not known */
} amped_rows;

/* Makes room: for the rows of these pieces, where they would go beyond what memory may hold by
 * letting those before overflow. Sets piece->row of every piece, behind the tensor's nnz rows. */
amped_status amped_rows_reserve(amped_rows *rows, amped_piece *pieces, int count);
/* Moves the pieces' rows, up to which `part` of the input is read, together and adds them to nnz.
 */
void amped_rows_close(amped_rows *rows, const amped_piece *pieces, int count, double part);
/* Gives back what was reserved beyond nnz. */
amped_status amped_rows_finish(amped_rows *rows);

#endif
