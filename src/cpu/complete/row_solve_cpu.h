/* Row solve: one row of a row fit from its equations (backend/row_fit.h). Pure functions of one
 * thread, without BLAS.
 *
 * Primal: Cholesky of the equations. Dual, for rows of n < R nonzeros: Cholesky of the n x n matrix
 * P P^T + L I, in which a bias is a column of length sqrt(L / reg_bias); the row is prior + P^T
 * alpha. Least: for singular equations, the solution closest to the prior, or with L = 0 the
 * solution of least norm, by Cholesky with pivoting. Nonnegative: coordinate descent. */
#ifndef AMPED_ROW_SOLVE_CPU_H
#define AMPED_ROW_SOLVE_CPU_H

#include "cpu/complete/row_equations_cpu.h"

/* Penalty and other terms of a row's objective in addition to its nonzeros. */
typedef struct amped_row_penalty {
  uint64_t components;
  bool biased;
  double weight;      /* L */
  double prior;       /* c */
  double reg_bias;    /* penalty of the bias */
  const double *base; /* [components][components] matrix added to H; NULL: none */
} amped_row_penalty;

/* Doubles of workspace that any function here needs, for at most `components` components and a
 * bias. */
uint64_t amped_row_solve_elements(uint64_t components);

/* Solve for a row: `components` doubles, then its bias. primal and dual return false if their
 * matrix is not positive definite in double precision. */
bool amped_row_solve_primal(const amped_row_equations *e, const amped_row_penalty *p, double *work,
                            double *row);

/* products: [count][width], count < components. roots: square roots of the weights, by which
 * products and targets are already multiplied; NULL: all weights are 1. */
bool amped_row_solve_dual(const double *products, const double *targets, const double *roots,
                          uint64_t count, uint64_t width, const amped_row_penalty *p, double *work,
                          double *row);
/* True if the dual exists for `count` nonzeros and is as exact as the primal. */
bool amped_row_has_dual(const amped_row_penalty *p, double count);

void amped_row_solve_least(const amped_row_equations *e, const amped_row_penalty *p, double *work,
                           double *row);

/* Start from the values in row; negative components count as 0. */
void amped_row_solve_nonnegative(const amped_row_equations *e, const amped_row_penalty *p,
                                 double *work, double *row);

/* Sum of (t - model)^2 for this row, from its equations or from products. Infinite if the sum is
 * not a number. */
double amped_row_squares(const amped_row_equations *e, const amped_row_penalty *p,
                         const double *row);
double amped_row_squares_of(const double *products, const double *targets, const double *roots,
                            uint64_t count, uint64_t width, const amped_row_penalty *p,
                            const double *row);

#endif
