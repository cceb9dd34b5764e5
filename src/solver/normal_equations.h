/* Normal equations: the R x R part of a mode's update, computed from the Hadamard product of the
 * other modes' grams.
 *
 * All matrices are ncomps x ncomps doubles in host memory, symmetric, with both triangles filled.
 * Every rank computes the same from the same all-reduced grams. No function is collective. */
#ifndef AMPED_NORMAL_EQUATIONS_H
#define AMPED_NORMAL_EQUATIONS_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"

/* Is v (ncomps x ncomps) finite? If not, amped_gram_check fails: the factors overflowed. */
bool amped_gram_is_finite(int ncomps, const double *v);
amped_status amped_gram_check(int ncomps, const double *v);

/* v = element-wise product of grams[m] over all modes but `mode` (mode -1: over all). */
void amped_hadamard(int order, int ncomps, const double *const *grams, int mode, double *v);

/* Find the matrices of an update: new rows = MTTKRP's rows * p + old rows * keep.
 *
 * If v is well conditioned, p = its inverse by Cholesky (LAPACK dpotrf, dpotri) and keep = 0.
 * First, powers of two scale rows and columns of v so that its diagonal is about 1. So columns of
 * any length in a start make nothing singular.
 *
 * Eigenvalues of the scaled matrix below ncomps * eps times the largest are not resolved. eps
 * belongs to `precision`, to which MTTKRP's result was rounded. An eigenvalue of x times the
 * largest turns this rounding into a model error of eps / sqrt(x), relative to the tensor. Then p
 * is the pseudo-inverse without such eigenvalues, scaled back; keep = I - v p projects on their
 * eigenvectors; and *singular becomes true, else false. What v does not resolve stays unchanged.
 * The residual is a sum of squares, one per eigenvector, so it does not grow if some eigenvectors
 * are left alone; p alone would set them to zero. This is the limit of least squares with a penalty
 * on the change (Navasca, De Lathauwer, Kindermann 2008). The penalty is 0 where v resolves, and
 * infinite elsewhere.
 *
 * Returns AMPED_FAILED if v is not finite. */
amped_status amped_inverse(int ncomps, amped_vtype precision, const double *v, double *p,
                           double *keep, bool *singular);

/* p = the Moore-Penrose pseudo-inverse of v, which is symmetric and positive semidefinite. If v is
 * well conditioned, p is the inverse as above. Otherwise it is the pseudo-inverse of the unscaled
 * v, without eigenvalues below ncomps * eps times its largest, and *truncated becomes true. */
amped_status amped_pseudo_inverse(int ncomps, amped_vtype precision, const double *v, double *p,
                                  bool *truncated);

/* The matrices of an update, in one product or in two:
 *
 *   new rows = MTTKRP's rows * p + old rows * keep                      (turns is false)
 *   coordinates = MTTKRP's rows * p + old rows * keep, and
 *   new rows = coordinates * turn                                       (turns is true)
 *
 * Without turns, p and keep are as above. A product with p rounds by DBL_EPSILON times the
 * condition of v, relative to the tensor. If that is above sqrt(DBL_EPSILON), as for values with a
 * large offset in double, the coordinates in v's eigenvectors come first: then an eigenvalue of x
 * times the largest brings an error of DBL_EPSILON / sqrt(x) only. In float this never happens,
 * because v does not resolve such eigenvalues. */
typedef struct amped_row_matrices {
  int ncomps;
  double *p, *keep, *turn;
  double *zero; /* for the second product: MTTKRP's rows take no part in it */
  bool keeps;   /* keep is not zero: v is singular, or does not resolve an eigenvalue */
  bool turns;
} amped_row_matrices;

amped_status amped_row_matrices_create(int ncomps, amped_row_matrices *matrices);
void amped_row_matrices_free(amped_row_matrices *matrices);
/* Returns AMPED_FAILED if v is not finite. */
amped_status amped_row_matrices_find(amped_row_matrices *matrices, amped_vtype precision,
                                     const double *v);

#endif
