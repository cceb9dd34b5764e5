/* Random tensors: random coordinates with uniform or skewed indices.
 *
 * Nonzero number c is a pure function of the seed and c. The tensor has the first nnz distinct
 * coordinates of this sequence, sorted by mode 0. It does not depend on the number of threads.
 * Values are multiples of 2^-24 in (0, 1], which are exact in float, or 1 .. codes with small
 * values frequent, as in synthetic.h.
 *
 * A bijection chosen by the seed scatters the frequent indices over the mode. Frequencies follow
 * one of two laws: a Zipf law, P(k-th) ~ 1 / k^skew; or floor(dim * u^power) with u uniform, as in
 * the measurements of the prototype. Host memory; all OpenMP threads; not collective. */
#ifndef AMPED_RANDOM_TENSOR_H
#define AMPED_RANDOM_TENSOR_H

#include "tensor/sptensor.h"

#define AMPED_RANDOM_TENSOR_MAX_SKEW 16.0

typedef struct amped_random_tensor_spec {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;                 /* exact; at most half of the cells */
  double skew[AMPED_MAX_ORDER]; /* Zipf exponent of each mode; 0: uniform */
  double power;                 /* 0: skew applies; otherwise all modes follow the power law */
  uint64_t codes;               /* 0: real values */
  uint64_t seed;
} amped_random_tensor_spec;

/* Make the tensor. AMPED_USAGE if the order, dimensions, skew or number of nonzeros is impossible,
 * such as a skew that leaves too few coordinates. AMPED_FAILED, before allocating, if this machine
 * has too little memory. Shows progress. Free with amped_sptensor_free. */
amped_status amped_random_tensor_create(const amped_random_tensor_spec *spec, amped_sptensor *out);

/* Argument checks shared by all generators. check: all arguments; check_dims: dimensions only;
 * check_memory: memory only. */
amped_status amped_random_tensor_check(int order, const uint64_t *dims, uint64_t nnz);
amped_status amped_random_tensor_check_dims(int order, const uint64_t *dims);
amped_status amped_random_tensor_check_memory(int order, uint64_t nnz);

/* Bijection of 0 .. dim-1, chosen by key. */
uint64_t amped_random_tensor_scatter(uint64_t dim, uint64_t key, uint64_t i);

#endif
