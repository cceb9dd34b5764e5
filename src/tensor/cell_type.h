/* Cell type: the types that cells of a dense tensor may have, in files and in memory.
 *
 * A tensor keeps its file's type, because the time of a pass is proportional to its bytes. Cells
 * are widened during computation. Native byte order. Pure functions on host memory. */
#ifndef AMPED_CELL_TYPE_H
#define AMPED_CELL_TYPE_H

#include "base/types.h"

typedef enum amped_cell_type {
  AMPED_CELL_I8,
  AMPED_CELL_U8,
  AMPED_CELL_I16,
  AMPED_CELL_U16,
  AMPED_CELL_I32,
  AMPED_CELL_U32,
  AMPED_CELL_I64,
  AMPED_CELL_U64,
  AMPED_CELL_F16, /* IEEE 754 binary16 */
  AMPED_CELL_F32,
  AMPED_CELL_F64,
  AMPED_CELL_TYPES
} amped_cell_type;

/* Bytes of a cell: 1, 2, 4 or 8. */
uint64_t amped_cell_bytes(amped_cell_type type);

/* The name in numpy: "int8" .. "float64". Static text. */
const char *amped_cell_name(amped_cell_type type);

/* Is it an integer type? Then every value is finite. */
bool amped_cell_is_integer(amped_cell_type type);

/* Cells first .. first + count - 1 as doubles; integers above 2^53 are rounded. */
void amped_cells_get(const void *cells, amped_cell_type type, uint64_t first, uint64_t count,
                     double *to);

/* Number of the first cell that is NaN or infinite; count if there is none. */
uint64_t amped_cells_not_finite(const void *cells, amped_cell_type type, uint64_t count);
/* Number of the first integer that no double equals: above 2^53, with more digits. count if there
 * is none. */
uint64_t amped_cells_cut(const void *cells, amped_cell_type type, uint64_t count);
/* Does no double equal the magnitude of an integer? */
static inline bool amped_integer_is_cut(uint64_t magnitude) {
  return magnitude >> 53 != 0 && magnitude >> __builtin_ctzll(magnitude) >> 53 != 0;
}
/* A closed range of cells. A long double holds every integer of 8 bytes, as x86-64 and 64-bit ARM
 * with Linux have it. Cells that are floats compare with the bounds rounded to their precision. */
typedef struct amped_cell_range {
  long double least, most;
} amped_cell_range;

/* Number of the first cell within the range, or of the first outside; count if there is none. */
uint64_t amped_cells_find(const void *cells, amped_cell_type type, uint64_t count,
                          amped_cell_range range, bool within);

/* Set values[i] to NaN where amped_cells_find finds cell i. */
void amped_cells_blank(const void *cells, amped_cell_type type, uint64_t count,
                       amped_cell_range range, bool within, double *values);

/* The double equal to the half float with these bits. */
double amped_half_to_double(uint16_t bits);

#endif
