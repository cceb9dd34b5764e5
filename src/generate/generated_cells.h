/* Generated cells: a dense tensor of which any range of cells is computed when it is wanted, so
 * that nobody holds it. Cells are uniform numbers, or a planted model of low rank plus noise.
 *
 * A positive model's factor entries are u^p, u uniform in (0, 1]; a signed one's are normal numbers
 * of which all columns share a part. p and the part are such that two columns of a mode have the
 * cosine `collinear`, on average. Noise is Gaussian, of `noise` times the root mean square of the
 * model's cells, which its grams give. Uniform cells are those of random_tensor.h: multiples of
 * 2^-24 in (0, 1].
 *
 * Each cell is a function of the seed and its number alone. Host memory; all OpenMP threads; not
 * collective. */
#ifndef AMPED_GENERATED_CELLS_H
#define AMPED_GENERATED_CELLS_H

#include "tensor/dense_info.h"
#include "tensor/ktensor.h"

typedef struct amped_generated_spec {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  int ncomps; /* 0: uniform cells; the members below are for models */
  double noise;
  double collinear; /* 0: as it comes: 3/4 of uniform entries, 0 of signed ones; below 1 */
  bool is_signed;
  amped_cell_type type; /* float32 or float64 */
  uint64_t seed;
} amped_generated_spec;

typedef struct amped_generated_cells {
  amped_generated_spec spec;
  amped_dense_info info; /* without statistics; in C's order */
  amped_ktensor model;   /* with unit columns; order 0: none */
  double *last;          /* factor of the last mode, transposed */
  double noise_sd;
  double least_cosine, most_cosine; /* of two columns of a mode, over all; 0 of one component */
} amped_generated_cells;

/* AMPED_USAGE where the numbers do not fit together; AMPED_FAILED where this machine has too little
 * memory for the model. Free it, also after a failure. */
amped_status amped_generated_cells_create(const amped_generated_spec *spec,
                                          amped_generated_cells *out);
void amped_generated_cells_free(amped_generated_cells *g);

/* Cells first .. first+count, in C's order, of info.type. */
void amped_generated_cells_get(const amped_generated_cells *g, uint64_t first, uint64_t count,
                               void *cells);

#endif
