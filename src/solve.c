#include "solve.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "mem.h"

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

static amped_status pseudo_inverse(int ncomps, const double *v, double *p) {
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
  /* p = Q diag(1/w) Q^T over the eigenvalues that are kept; q holds eigenvectors as rows here. */
  memset(p, 0, n * n * sizeof *p);
  double cutoff = ncomps * DBL_EPSILON * w[n - 1];
  for (size_t k = 0; k < n; k++)
    if (w[k] > cutoff)
      cblas_dsyr(CblasColMajor, CblasLower, ncomps, 1.0 / w[k], q + k * n, 1, p, ncomps);
  mirror(ncomps, p);
done:
  amped_free(iwork);
  amped_free(work);
  amped_free(w);
  amped_free(q);
  return status;
}

amped_status amped_inverse(int ncomps, const double *v, double *p, bool *truncated) {
  size_t n = (size_t)ncomps * (size_t)ncomps;
  int info = 0;
  for (size_t i = 0; i < n; i++)
    if (!isfinite(v[i]))
      return amped_error(AMPED_FAILED, NULL,
                         "the factors overflowed (a gram matrix is not finite); scale the tensor's "
                         "values, or try --precision=double or another --seed");
  memcpy(p, v, n * sizeof *p);
  dpotrf_("L", &ncomps, p, &ncomps, &info);
  if (info == 0)
    dpotri_("L", &ncomps, p, &ncomps, &info);
  for (size_t i = 0; i < n && info == 0; i++)
    if (!isfinite(p[i]))
      info = 1;
  if (info != 0) {
    *truncated = true;
    return pseudo_inverse(ncomps, v, p);
  }
  mirror(ncomps, p);
  return AMPED_OK;
}
