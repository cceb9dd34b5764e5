/* Synthetic tensors: random coordinates with uniform or skewed indices.
 *
 * Nonzero number c is a pure function of the seed and c. The tensor is made of the first nnz
 * distinct coordinates of that sequence, sorted by mode 0; it does not depend on the number of
 * threads. Values are multiples of 2^-24 in (0, 1], which float holds exactly.
 *
 * Which indices of a mode are popular is scattered over the mode by a seeded bijection. How popular
 * they are follows either a Zipf law, P(k-th) ~ 1 / k^skew, or, as in the prototype measurements,
 * floor(dim * u^power) with u uniform. Host memory; all OpenMP threads. */
#ifndef AMPED_RANDOM_TENSOR_H
#define AMPED_RANDOM_TENSOR_H

#include "tensor/sptensor.h"

#define AMPED_SYNTH_MAX_SKEW 16.0

typedef struct amped_random_tensor_spec {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;                 /* exact; at most half of the cells */
  double skew[AMPED_MAX_ORDER]; /* Zipf exponent of each mode, 0: uniform */
  double power;                 /* 0: by skew; else all modes follow the power law */
  uint64_t seed;
} amped_random_tensor_spec;

/* AMPED_USAGE where the order, dimensions, skew or number of nonzeros cannot be had: above all when
 * the skew leaves too few coordinates that are ever drawn. AMPED_FAILED where the memory of this
 * machine does not suffice, before it is taken. Shows progress. */
amped_status amped_random_tensor_create(const amped_random_tensor_spec *spec, amped_sptensor *out);

/* The part of these checks that needs no drawing: for other makers of tensors. */
amped_status amped_random_tensor_check(int order, const uint64_t *dims, uint64_t nnz);

/* A bijection of 0 .. dim-1 that key chooses. */
uint64_t amped_random_tensor_scatter(uint64_t dim, uint64_t key, uint64_t i);

#endif
