/* Row solve: one row of a row fit from its equations (backend/row_fit.h). Pure functions of one
 * thread, without BLAS.
 *
 * Primal: Cholesky of the equations. Dual, for rows of n < R nonzeros: Cholesky of the n x n matrix
 * P P^T + L I, where a bias is a column of length sqrt(L / reg_bias); the row is prior + P^T alpha.
 * Least: where the equations are singular, the solution next to the prior, or with L = 0 the one of
 * least norm, by Cholesky with pivoting. Nonnegative: coordinate descent. */
#ifndef AMPED_ROW_SOLVE_CPU_H
#define AMPED_ROW_SOLVE_CPU_H

#include "cpu/row_equations_cpu.h"

/* What a row is fitted to beside its nonzeros. */
typedef struct amped_row_penalty {
  uint64_t components;
  bool biased;
  double weight;      /* L */
  double prior;       /* c */
  double reg_bias;    /* of the bias */
  const double *base; /* [components][components] is added to H; NULL: nothing is */
} amped_row_penalty;

/* Doubles of workspace that all functions here take, for up to so many components and a bias. */
uint64_t amped_row_solve_elements(uint64_t components);

/* A row is `components` doubles, and its bias behind them. The first two return false where their
 * matrix is not positive definite in double precision. */
bool amped_row_solve_primal(const amped_row_equations *e, const amped_row_penalty *p, double *work,
                            double *row);

/* products: [count][width]. count is below components. roots: of weights, by which products and
 * targets are multiplied; NULL: all are 1. */
bool amped_row_solve_dual(const double *products, const double *targets, const double *roots,
                          uint64_t count, uint64_t width, const amped_row_penalty *p, double *work,
                          double *row);
/* Is the dual as exact as the primal? */
bool amped_row_has_dual(const amped_row_penalty *p, double count);

void amped_row_solve_least(const amped_row_equations *e, const amped_row_penalty *p, double *work,
                           double *row);

/* From the row that is there; negative components count as 0. */
void amped_row_solve_nonnegative(const amped_row_equations *e, const amped_row_penalty *p,
                                 double *work, double *row);

/* The sum of (t - model)^2 with that row: from its equations, or from products. Infinite where it
 * cannot be told. */
double amped_row_squares(const amped_row_equations *e, const amped_row_penalty *p,
                         const double *row);
double amped_row_squares_of(const double *products, const double *targets, const double *roots,
                            uint64_t count, uint64_t width, const amped_row_penalty *p,
                            const double *row);

#endif
