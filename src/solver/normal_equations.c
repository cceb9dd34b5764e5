/* Normal equations: Hadamard products, and inverses by Cholesky or eigenvalues. */
#include "solver/normal_equations.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

/* LAPACK, Fortran interface (column-major; our matrices are symmetric). */
extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
extern void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info);
extern void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda,
                    double *w, double *work, const int *lwork, int *iwork, const int *liwork,
                    int *info);

void amped_hadamard(int order, int ncomps, const double *const *grams, int mode, double *v) {
  size_t n = (size_t)ncomps * (size_t)ncomps;
  for (size_t i = 0; i < n; i++)
    v[i] = 1.0;
  for (int m = 0; m < order; m++)
    if (m != mode)
      for (size_t i = 0; i < n; i++)
        v[i] *= grams[m][i];
}

/* Copy the lower triangle (column-major) to the upper one. */
static void mirror(int ncomps, double *a) {
  size_t n = (size_t)ncomps;
  for (size_t j = 0; j < n; j++)
    for (size_t i = j + 1; i < n; i++)
      a[i * n + j] = a[j * n + i];
}

/* p = pseudo-inverse of v. Eigenvalues below `least` times the largest count as zero; *truncated
 * becomes true if there is one. keep, unless NULL, = projection on their eigenvectors; the caller
 * sets it to zeros before. */
static amped_status spectral_inverse(int ncomps, double least, const double *v, double *p,
                                     double *keep, bool *truncated) {
  amped_status status = AMPED_OK;
  size_t n = (size_t)ncomps;
  int info = 0;
  int lwork = 1 + 6 * ncomps + 2 * ncomps * ncomps;
  int liwork = 3 + 5 * ncomps;
  double *q = NULL;
  double *w = NULL;
  double *work = NULL;
  int *iwork = NULL;
  AMPED_GO(done, amped_alloc(&q, n * n, sizeof *q, "eigenvectors"));
  AMPED_GO(done, amped_alloc(&w, n, sizeof *w, "eigenvalues"));
  AMPED_GO(done, amped_alloc(&work, (uint64_t)lwork, sizeof *work, "an eigenvalue workspace"));
  AMPED_GO(done, amped_alloc(&iwork, (uint64_t)liwork, sizeof *iwork, "an eigenvalue workspace"));
  memcpy(q, v, n * n * sizeof *q);
  dsyevd_("V", "L", &ncomps, q, &ncomps, w, work, &lwork, iwork, &liwork, &info);
  if (info != 0) {
    status = amped_error(AMPED_FAILED, NULL,
                         "the eigenvalues of a %d x %d gram matrix did not converge (LAPACK dsyevd "
                         "info %d); try another --seed or fewer components",
                         ncomps, ncomps, info);
    goto done;
  }
  /* p = Q diag(1/w) Q^T over the resolved eigenvalues. Here the rows of q are the eigenvectors. */
  memset(p, 0, n * n * sizeof *p);
  for (size_t k = 0; k < n; k++) {
    const bool resolved = w[k] > least * w[n - 1];
    if (resolved)
      cblas_dsyr(CblasColMajor, CblasLower, ncomps, 1.0 / w[k], q + k * n, 1, p, ncomps);
    else if (keep != NULL)
      cblas_dsyr(CblasColMajor, CblasLower, ncomps, 1.0, q + k * n, 1, keep, ncomps);
    *truncated = *truncated || !resolved;
  }
  mirror(ncomps, p);
  if (keep != NULL)
    mirror(ncomps, keep);
done:
  amped_free(iwork);
  amped_free(work);
  amped_free(w);
  amped_free(q);
  return status;
}

/* The Frobenius norm: at least the largest eigenvalue, and at most sqrt(ncomps) times it. */
static double norm_of(int ncomps, const double *a) {
  return cblas_dnrm2(ncomps * ncomps, a, 1);
}

/* Invert v into p by Cholesky. *conditioned: v has an inverse, and the norms of both prove that the
 * smallest eigenvalue is above `least` times the largest. The norms may miss that by a factor of
 * ncomps; then the caller computes eigenvalues. */
static void cholesky_inverse(int ncomps, double least, const double *v, double *p,
                             bool *conditioned) {
  size_t n = (size_t)ncomps;
  int info = 0;
  memcpy(p, v, n * n * sizeof *p);
  dpotrf_("L", &ncomps, p, &ncomps, &info);
  if (info == 0)
    dpotri_("L", &ncomps, p, &ncomps, &info);
  mirror(ncomps, p);
  *conditioned = info == 0 && norm_of(ncomps, v) * norm_of(ncomps, p) * least < 1.0;
}

/* scale[i] = power of two that brings v[i][i] * scale[i]^2 between 1/2 and 2; 1 for a zero. */
static void unit_scale(int ncomps, const double *v, double *scale) {
  size_t n = (size_t)ncomps;
  for (size_t i = 0; i < n; i++) {
    int exponent = 0;
    (void)frexp(v[i * n + i], &exponent);
    scale[i] = ldexp(1.0, -(exponent - (exponent & 1)) / 2);
  }
}

static void scale_both(int ncomps, const double *scale, const double *a, double *out) {
  size_t n = (size_t)ncomps;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      out[i * n + j] = a[i * n + j] * scale[i] * scale[j];
}

amped_status amped_gram_check(int ncomps, const double *v) {
  size_t n = (size_t)ncomps;
  for (size_t i = 0; i < n * n; i++)
    if (!isfinite(v[i]))
      return amped_error(AMPED_FAILED, NULL,
                         "the factors overflowed (a gram matrix is not finite); scale the tensor's "
                         "values, or try --precision=double or another --seed");
  return AMPED_OK;
}

static double least_of(int ncomps, amped_vtype precision) {
  return ncomps * (precision == AMPED_F32 ? FLT_EPSILON : DBL_EPSILON);
}

/* Invert v into p by Cholesky of the scaled matrix. If it is not well conditioned, use eigenvalues:
 * of the scaled matrix if `keep` is given, else of v. The caller sets keep to zeros before. */
static amped_status invert(int ncomps, double least, const double *v, double *p, double *keep,
                           bool *truncated) {
  size_t n = (size_t)ncomps;
  bool conditioned = false;
  double *scale = NULL;
  double *unit = NULL;
  amped_status status = amped_gram_check(ncomps, v);
  AMPED_GO(done, status);
  AMPED_GO(done, amped_alloc(&scale, n, sizeof *scale, "a workspace"));
  AMPED_GO(done, amped_alloc(&unit, n * n, sizeof *unit, "a workspace"));
  unit_scale(ncomps, v, scale);
  scale_both(ncomps, scale, v, unit);
  cholesky_inverse(ncomps, least, unit, p, &conditioned);
  if (!conditioned)
    AMPED_GO(done, spectral_inverse(ncomps, least, keep != NULL ? unit : v, p, keep, truncated));
  if (conditioned || keep != NULL)
    scale_both(ncomps, scale, p, p);
  for (size_t i = 0; keep != NULL && i < n; i++)
    for (size_t j = 0; j < n; j++)
      keep[i * n + j] = keep[i * n + j] / scale[i] * scale[j];
done:
  amped_free(unit);
  amped_free(scale);
  return status;
}

amped_status amped_inverse(int ncomps, amped_vtype precision, const double *v, double *p,
                           double *keep, bool *singular) {
  *singular = false;
  memset(keep, 0, (size_t)ncomps * (size_t)ncomps * sizeof *keep);
  return invert(ncomps, least_of(ncomps, precision), v, p, keep, singular);
}

amped_status amped_pseudo_inverse(int ncomps, amped_vtype precision, const double *v, double *p,
                                  bool *truncated) {
  return invert(ncomps, least_of(ncomps, precision), v, p, NULL, truncated);
}
