/* Normal equations: the R x R part of a mode's update, which is the inverse of the Hadamard product
 * of the other modes' grams.
 *
 * All matrices are ncomps x ncomps doubles in host memory, symmetric, both triangles filled. Every
 * rank computes the same from the same all-reduced grams; no function is collective. */
#ifndef AMPED_NORMAL_EQUATIONS_H
#define AMPED_NORMAL_EQUATIONS_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"

/* v = element-wise product of grams[m] over all modes but `mode` (mode -1: over all). */
void amped_hadamard(int order, int ncomps, const double *const *grams, int mode, double *v);

/* p = inverse of v by Cholesky (LAPACK dpotrf, dpotri).
 *
 * First, powers of two scale rows and columns of v so that its diagonal is about 1. So columns of
 * any length in a start make nothing singular. Eigenvalues of the scaled matrix below ncomps * eps
 * of the largest count as zero: p is then the pseudo-inverse without them, scaled back, and
 * *truncated becomes true. eps is that of `precision`, to which MTTKRP's result was rounded. (An
 * eigenvalue of x times the largest turns this rounding into an error of eps / sqrt(x) of the
 * model, relative to the tensor.) AMPED_FAILED where v is not finite. */
amped_status amped_inverse(int ncomps, amped_vtype precision, const double *v, double *p,
                           bool *truncated);

/* p = the Moore-Penrose pseudo-inverse of v, which is symmetric and positive semidefinite. It is
 * the inverse as above where that exists. Else it is the pseudo-inverse of the unscaled v, without
 * eigenvalues below ncomps * eps of its largest; then *truncated becomes true. */
amped_status amped_pseudo_inverse(int ncomps, amped_vtype precision, const double *v, double *p,
                                  bool *truncated);

#endif
