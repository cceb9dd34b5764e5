/* The R x R part of a mode's update: the inverse of the Hadamard product of the other modes' grams.
 *
 * All matrices are ncomps x ncomps doubles in host memory, symmetric, both triangles filled. The
 * same on every rank: each computes it from the same all-reduced grams. */
#ifndef AMPED_NORMAL_EQUATIONS_H
#define AMPED_NORMAL_EQUATIONS_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"

/* v = element-wise product of grams[m] over all modes but `mode` (mode -1: over all). */
void amped_hadamard(int order, int ncomps, const double *const *grams, int mode, double *v);

/* p = inverse of v by Cholesky (LAPACK dpotrf, dpotri). v is first scaled, rows and columns alike,
 * by powers of two that take its diagonal to about 1: the lengths of the other factors' columns,
 * which in a start may be any, make nothing singular. Where eigenvalues of that are below ncomps *
 * eps of the largest, with the eps of `precision`, in which what p is multiplied by was rounded:
 * the pseudo-inverse without these, scaled back, and *truncated becomes true. (An eigenvalue x of
 * the largest makes eps / sqrt(x) of the model, relative to the tensor, out of that rounding.) A v
 * that is not finite gives AMPED_FAILED. */
amped_status amped_inverse(int ncomps, amped_vtype precision, const double *v, double *p,
                           bool *truncated);

/* p = the Moore-Penrose pseudo-inverse of v, symmetric and positive semidefinite: the inverse as
 * above where there is one, else that of v as it is, unscaled, without eigenvalues below ncomps *
 * eps of its largest; then *truncated becomes true. */
amped_status amped_pseudo_inverse(int ncomps, amped_vtype precision, const double *v, double *p,
                                  bool *truncated);

#endif
