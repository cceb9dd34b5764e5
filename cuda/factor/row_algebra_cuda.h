/* Dense work on factor rows in device memory: conversion, solve with sums, gram, scaling.
 *
 * Rows are as in a factor: plan->ld elements of plan->value_type each; padding columns are zero.
 * Products and sums are computed in double. Short rows are read and written in one pass over memory
 * (row_pass_cuda.h). For long rows cuBLAS multiplies; float rows are widened for it chunk by chunk,
 * in a workspace of bounded size.
 *
 * Every function waits for its work. The order of additions depends only on the sizes. */
#ifndef AMPED_ROW_ALGEBRA_CUDA_H
#define AMPED_ROW_ALGEBRA_CUDA_H

#include "cuda/device/rank_device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_dense_cuda {
  struct cublasContext *blas; /* cublasHandle_t; borrowed */
  cudaStream_t stream;        /* borrowed */
  int ncomps;
  uint64_t ld;
  amped_vtype value_type;
  bool is_short;  /* rows are short enough for row_pass_cuda.h */
  uint64_t chunk; /* rows that are widened at once */
  uint64_t wide;  /* doubles of d_wide */
  int batch;      /* most partial gram matrices */
  int used;       /* partial gram matrices of the current pass */
  void *d_block;  /* memory of the next arrays */
  double *d_wide; /* chunk x ncomps, twice */
  double *d_product;
  double *d_square;   /* ncomps x ncomps, and one more double */
  double *d_keep;     /* square of the same size */
  double *d_instead;  /* order x ncomps */
  double *d_partials; /* `batch` matrices of d_square's size */
  double *h_pinned;   /* host buffer of both squares */
} amped_dense_cuda;

/* Rows of models_at. Elements of a row are of the factors' type. */
typedef struct amped_model_rows_cuda {
  int order;
  uint64_t ld; /* elements from row to row */
  bool biased;
  const void *factors[AMPED_MAX_ORDER]; /* first element of the first row, device memory */
  /* The next are set by amped_dense_cuda_models_at. */
  unsigned ncomps;
  const uint64_t *positions; /* [order][count] */
  const double *instead;     /* [order][ncomps] */
} amped_model_rows_cuda;

/* Use the device's stream for dense work, and its cuBLAS, which the first call starts. The struct
 * is zeroed on entry. */
amped_status amped_dense_cuda_create(amped_dense_cuda *dense, amped_device *device);
void amped_dense_cuda_destroy(amped_dense_cuda *dense);

/* bytes: device memory of the workspace. prepare allocates the workspace; a second call replaces
 * it. */
uint64_t amped_dense_cuda_bytes(const amped_plan *plan);
amped_status amped_dense_cuda_prepare(amped_dense_cuda *dense, const amped_plan *plan);
/* Use the workspace of another, which was prepared for a plan with at least as many components and
 * the same rows. The borrower is not destroyed. */
void amped_dense_cuda_borrow(amped_dense_cuda *dense, const amped_dense_cuda *of,
                             const amped_plan *plan);

/* Copy count rows from or to count x ncomps doubles in host memory. */
amped_status amped_dense_cuda_put(amped_dense_cuda *dense, void *d_rows, uint64_t count,
                                  const double *h_rows);
amped_status amped_dense_cuda_get(amped_dense_cuda *dense, const void *d_rows, uint64_t count,
                                  double *h_rows);
/* Copy count rows at these positions of a factor, whose rows have ld elements each; AMPED_NO_ROW:
 * zeros. */
amped_status amped_dense_cuda_get_at(amped_dense_cuda *dense, const void *d_factor, uint64_t ld,
                                     uint64_t count, const uint64_t *h_positions, double *h_rows);

/* models_at of amped_factor_ops. */
amped_status amped_dense_cuda_models_at(amped_dense_cuda *dense, amped_model_rows_cuda *rows,
                                        uint64_t count, const uint64_t *const *h_positions,
                                        const double *const *h_instead, double *h_models);

/* The functions of amped_factor_ops of these names, on count rows.
 *
 * solve and gram: if stride is not 0, rows are columns of rows of `stride` elements; only if
 * dense->is_short. */
amped_status amped_dense_cuda_solve(amped_dense_cuda *dense, uint64_t stride, const void *d_output,
                                    uint64_t count, const double *h_p, const double *h_keep,
                                    void *d_rows, amped_row_sums *sums);
amped_status amped_dense_cuda_descend(amped_dense_cuda *dense, const void *d_output, uint64_t count,
                                      const amped_row_descent *descent, void *d_rows,
                                      amped_row_sums *sums);
amped_status amped_dense_cuda_multiply(amped_dense_cuda *dense, const void *d_output,
                                       uint64_t count, const amped_row_product *product,
                                       void *d_rows, amped_row_product_sums *sums);
amped_status amped_dense_cuda_absolute(amped_dense_cuda *dense, const void *d_rows, uint64_t count,
                                       double *h_sums);
amped_status amped_dense_cuda_sum_chosen(amped_dense_cuda *dense, const void *d_rows,
                                         uint64_t count, const uint8_t *h_chosen, double *h_sums);
amped_status amped_dense_cuda_gram(amped_dense_cuda *dense, uint64_t stride, void *d_rows,
                                   uint64_t count, double *h_gram);
amped_status amped_dense_cuda_scale(amped_dense_cuda *dense, void *d_rows, uint64_t count,
                                    const double *h_scale);

#ifdef __cplusplus
}
#endif

#endif
