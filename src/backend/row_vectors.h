/* Row vectors: vectors of the length of own rows of all modes, in double, in the backend's memory,
 * for solvers that update all factors at once. A part of a backend, with its own table of
 * operations.
 *
 * A vector has own rows of every mode, with ncomps numbers per row. In addition to vectors 0, 1, ..
 * two others have numbers: the factor's own rows, and the own rows of the output of the last
 * MTTKRP.
 *
 * The CPU and GPU versions (src/cpu/factor/row_vectors_cpu.c, cuda/factor/row_vectors_cuda.cu)
 * share this contract and one test, tests/unit/backend/check_row_vectors.c. The order of additions
 * depends only on sizes and threads. Matrices are ncomps x ncomps doubles in host memory,
 * row-major. Not collective. */
#ifndef AMPED_ROW_VECTORS_H
#define AMPED_ROW_VECTORS_H

#include "plan/plan.h"

#define AMPED_ROWS_FACTOR (-1)
#define AMPED_ROWS_OUTPUT (-2)

typedef struct amped_row_vectors amped_row_vectors;

/* The term `by` * (rows of the vector) * matrix; matrix NULL: the identity. */
typedef struct amped_row_term {
  int vector;
  double by;
  const double *matrix;
} amped_row_term;

struct amped_device;
struct amped_factor_set;

typedef struct amped_row_vector_ops {
  /* Adds the bytes that create takes. */
  void (*require)(const struct amped_device *device, const amped_plan *plan, int count,
                  uint64_t *device_bytes, uint64_t *host_bytes);
  /* Make `count` vectors of zeros. Device, factors and plan outlive them; the number of components
   * stays. destroy accepts NULL. */
  amped_status (*create)(struct amped_device *device, struct amped_factor_set *factors,
                         const amped_plan *plan, int count, amped_row_vectors **out);
  void (*destroy)(amped_row_vectors *vectors);

  /* Mode's rows of `to` = the sum of the terms; zero if count = 0. `to` may be the factor. Only the
   * first term may have `to` as its vector, without a matrix. */
  amped_status (*combine)(amped_row_vectors *vectors, int mode, int to, const amped_row_term *terms,
                          int count);
  /* product = a^T b over mode's rows: entry (r, s) is the sum of (column r of a) * (column s of
   * b). */
  amped_status (*cross)(amped_row_vectors *vectors, int mode, int a, int b, double *product);
  /* *sum += the sum of a * b, entry by entry, over all modes. Vectors with numbers from 0 on. */
  amped_status (*dot)(amped_row_vectors *vectors, int a, int b, double *sum);
} amped_row_vector_ops;

#endif
