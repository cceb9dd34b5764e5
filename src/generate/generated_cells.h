/* Generated cells: a dense tensor whose cells are computed on demand, any range at a time, so that
 * it is never stored. Cells are uniform numbers, or a planted model of low rank plus noise.
 *
 * A positive model's factor entries are u^p, u uniform in (0, 1]. A signed model's entries are
 * normal numbers with a part common to all columns. p and this part are chosen such that two
 * columns of a mode have the cosine `collinear`, on average. Noise is Gaussian; its standard
 * deviation is `noise` times the root mean square of the model's cells, which its grams give.
 * Uniform cells are generated as in random_tensor.h: multiples of 2^-24 in (0, 1].
 *
 * Each cell is a function of the seed and its number only. Host memory; all OpenMP threads; not
 * collective. */
#ifndef AMPED_GENERATED_CELLS_H
#define AMPED_GENERATED_CELLS_H

#include "tensor/dense_info.h"
#include "tensor/ktensor.h"

typedef struct amped_generated_spec {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  int ncomps; /* 0: uniform cells; `noise`, `collinear` and `is_signed` are for models */
  double noise;
  double collinear; /* mean cosine of two columns of a factor, below 1; 0: not adjusted, which gives
                       3/4 for positive entries, 0 for signed */
  bool is_signed;
  amped_cell_type type; /* float32 or float64 */
  uint64_t seed;
} amped_generated_spec;

typedef struct amped_generated_cells {
  amped_generated_spec spec;
  amped_dense_info info; /* without statistics; in C order */
  amped_ktensor model;   /* with unit columns; order 0: no model */
  double *last;          /* factor of the last mode, transposed */
  double noise_sd;
  double least_cosine, most_cosine; /* range of cosines between two columns of a mode, over all
                                       modes; 0 for one component */
} amped_generated_cells;

/* Prepare the cells. AMPED_USAGE if the numbers do not fit together; AMPED_FAILED if this machine
 * has too little memory for the model. Call amped_generated_cells_free also after a failure. */
amped_status amped_generated_cells_create(const amped_generated_spec *spec,
                                          amped_generated_cells *out);
void amped_generated_cells_free(amped_generated_cells *g);

/* Compute cells first .. first+count, in C order, as info.type. */
void amped_generated_cells_get(const amped_generated_cells *g, uint64_t first, uint64_t count,
                               void *cells);

#endif
