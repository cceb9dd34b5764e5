/* Normal equations: Hadamard products, and inverses by Cholesky or eigenvalues. */
#include "solver/normal_equations.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/buffers.h"
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

/* v = sum of w[k] q_k q_k^T, with w ascending; row k of q is the eigenvector q_k. */
static amped_status find_spectrum(int ncomps, const double *v, double *q, double *w) {
  amped_status status = AMPED_OK;
  size_t n = (size_t)ncomps;
  int info = 0;
  int lwork = 1 + 6 * ncomps + 2 * ncomps * ncomps;
  int liwork = 3 + 5 * ncomps;
  double *work = NULL;
  int *iwork = NULL;
  AMPED_GO(done, amped_alloc(&work, (uint64_t)lwork, sizeof *work, "an eigenvalue workspace"));
  AMPED_GO(done, amped_alloc(&iwork, (uint64_t)liwork, sizeof *iwork, "an eigenvalue workspace"));
  memcpy(q, v, n * n * sizeof *q);
  dsyevd_("V", "L", &ncomps, q, &ncomps, w, work, &lwork, iwork, &liwork, &info);
  if (info != 0)
    status = amped_error(AMPED_FAILED, NULL,
                         "the eigenvalues of a %d x %d gram matrix did not converge (LAPACK dsyevd "
                         "info %d); try another --seed or fewer components",
                         ncomps, ncomps, info);
done:
  amped_free(iwork);
  amped_free(work);
  return status;
}

static bool is_resolved(int ncomps, double least, const double *w, size_t k) {
  return w[k] > least * w[ncomps - 1];
}

/* p = pseudo-inverse of v without the eigenvalues that `least` does not resolve; *truncated becomes
 * true if there is one. keep, unless NULL, = projection on their eigenvectors; the caller sets it
 * to zeros before. */
static void spectral_inverse(int ncomps, double least, const double *q, const double *w, double *p,
                             double *keep, bool *truncated) {
  size_t n = (size_t)ncomps;
  memset(p, 0, n * n * sizeof *p);
  for (size_t k = 0; k < n; k++) {
    const bool resolved = is_resolved(ncomps, least, w, k);
    if (resolved)
      cblas_dsyr(CblasColMajor, CblasLower, ncomps, 1.0 / w[k], q + k * n, 1, p, ncomps);
    else if (keep != NULL)
      cblas_dsyr(CblasColMajor, CblasLower, ncomps, 1.0, q + k * n, 1, keep, ncomps);
    *truncated = *truncated || !resolved;
  }
  mirror(ncomps, p);
  if (keep != NULL)
    mirror(ncomps, keep);
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

bool amped_gram_is_finite(int ncomps, const double *v) {
  const size_t n = (size_t)ncomps;
  size_t i = 0;
  while (i < n * n && isfinite(v[i]))
    i++;
  return i == n * n;
}

amped_status amped_gram_check(int ncomps, const double *v) {
  return amped_gram_is_finite(ncomps, v)
             ? AMPED_OK
             : amped_error(AMPED_FAILED, NULL,
                           "the factors overflowed (a gram matrix is not finite); scale the "
                           "tensor's values, or try another --seed, or --precision=double in place "
                           "of float");
}

static double least_of(int ncomps, amped_vtype precision) {
  return ncomps * (precision == AMPED_F32 ? FLT_EPSILON : DBL_EPSILON);
}

/* A gram matrix scaled to a diagonal of about 1, its inverse by Cholesky, and, if that is not well
 * conditioned, eigenvalues. */
typedef struct inversion {
  double *scale, *unit; /* unit = v, scaled on both sides */
  double *q, *w;        /* eigenvectors and eigenvalues, of unit or of v */
  bool conditioned;     /* by Cholesky; then there are no eigenvalues */
} inversion;

static void release(inversion *i) {
  amped_free(i->scale);
  amped_free(i->unit);
  amped_free(i->q);
  amped_free(i->w);
}

/* p = inverse of v by Cholesky if the condition is below 1 / least; else find the eigenvalues, of
 * the scaled matrix if `scaled`, else of v. */
static amped_status begin(inversion *i, int ncomps, double least, bool scaled, const double *v,
                          double *p) {
  const uint64_t n = (uint64_t)ncomps;
  AMPED_TRY(amped_gram_check(ncomps, v));
  AMPED_TRY(amped_alloc(&i->scale, n, sizeof *i->scale, "a workspace"));
  AMPED_TRY(amped_alloc(&i->unit, n * n, sizeof *i->unit, "a workspace"));
  unit_scale(ncomps, v, i->scale);
  scale_both(ncomps, i->scale, v, i->unit);
  cholesky_inverse(ncomps, least, i->unit, p, &i->conditioned);
  if (i->conditioned) {
    scale_both(ncomps, i->scale, p, p);
    return AMPED_OK;
  }
  AMPED_TRY(amped_alloc(&i->q, n * n, sizeof *i->q, "eigenvectors"));
  AMPED_TRY(amped_alloc(&i->w, n, sizeof *i->w, "eigenvalues"));
  return find_spectrum(ncomps, scaled ? i->unit : v, i->q, i->w);
}

/* p and keep of the scaled matrix, scaled back. */
static void find_inverse(const inversion *i, int ncomps, double least, double *p, double *keep,
                         bool *singular) {
  const size_t n = (size_t)ncomps;
  spectral_inverse(ncomps, least, i->q, i->w, p, keep, singular);
  scale_both(ncomps, i->scale, p, p);
  for (size_t r = 0; r < n; r++)
    for (size_t s = 0; s < n; s++)
      keep[r * n + s] = keep[r * n + s] / i->scale[r] * i->scale[s];
}

amped_status amped_inverse(int ncomps, amped_vtype precision, const double *v, double *p,
                           double *keep, bool *singular) {
  const double least = least_of(ncomps, precision);
  inversion i = {.conditioned = false};
  *singular = false;
  memset(keep, 0, (size_t)ncomps * (size_t)ncomps * sizeof *keep);
  const amped_status status = begin(&i, ncomps, least, true, v, p);
  if (status == AMPED_OK && !i.conditioned)
    find_inverse(&i, ncomps, least, p, keep, singular);
  release(&i);
  return status;
}

amped_status amped_pseudo_inverse(int ncomps, amped_vtype precision, const double *v, double *p,
                                  bool *truncated) {
  const double least = least_of(ncomps, precision);
  inversion i = {.conditioned = false};
  const amped_status status = begin(&i, ncomps, least, false, v, p);
  if (status == AMPED_OK && !i.conditioned)
    spectral_inverse(ncomps, least, i.q, i.w, p, NULL, truncated);
  release(&i);
  return status;
}

/* --- row matrices ----------------------------------------------------------------------------- */

/* A product with p has errors of DBL_EPSILON divided by the smallest eigenvalue, relative to the
 * largest; rounding of MTTKRP's rows has DBL_EPSILON divided by its root. From this eigenvalue on,
 * the product's error is at most sqrt(DBL_EPSILON), the largest that MTTKRP's can be. */
static const double product_least = 1.5e-8; /* sqrt(DBL_EPSILON) */

static bool is_turned(const inversion *i, int ncomps, double least) {
  for (size_t k = 0; k < (size_t)ncomps; k++)
    if (is_resolved(ncomps, least, i->w, k))
      return !is_resolved(ncomps, product_least, i->w, k);
  return false;
}

/* p = S Q / w and keep = Q / S: coordinates of the new rows for the eigenvectors that v resolves,
 * of the old rows for the others. turn = Q^T S brings coordinates back. S scales; Q has the
 * eigenvectors as columns. */
static void find_turned(const inversion *i, double least, amped_row_matrices *a) {
  const size_t n = (size_t)a->ncomps;
  for (size_t k = 0; k < n; k++) {
    const bool resolved = is_resolved(a->ncomps, least, i->w, k);
    for (size_t r = 0; r < n; r++) {
      const double x = i->q[k * n + r];
      a->p[r * n + k] = resolved ? x * i->scale[r] / i->w[k] : 0.0;
      a->keep[r * n + k] = resolved ? 0.0 : x / i->scale[r];
      a->turn[k * n + r] = x * i->scale[r];
    }
    a->keeps = a->keeps || !resolved;
  }
}

amped_status amped_row_matrices_find(amped_row_matrices *a, amped_vtype precision,
                                     const double *v) {
  const double least = least_of(a->ncomps, precision);
  inversion i = {.conditioned = false};
  a->keeps = a->turns = false;
  memset(a->keep, 0, (size_t)a->ncomps * (size_t)a->ncomps * sizeof *a->keep);
  const amped_status status = begin(&i, a->ncomps, fmax(least, product_least), true, v, a->p);
  if (status == AMPED_OK && !i.conditioned) {
    a->turns = is_turned(&i, a->ncomps, least);
    if (a->turns)
      find_turned(&i, least, a);
    else
      find_inverse(&i, a->ncomps, least, a->p, a->keep, &a->keeps);
  }
  release(&i);
  return status;
}

static amped_buffers buffers(amped_row_matrices *a) {
  amped_buffers b = {.what = "a matrix of row updates"};
  const uint64_t area = (uint64_t)a->ncomps * (uint64_t)a->ncomps;
  AMPED_BUFFER(&b, HOST, a->p, area);
  AMPED_BUFFER(&b, HOST, a->keep, area);
  AMPED_BUFFER(&b, HOST, a->turn, area);
  AMPED_BUFFER(&b, ZEROED, a->zero, area);
  return b;
}

amped_status amped_row_matrices_create(int ncomps, amped_row_matrices *a) {
  *a = (amped_row_matrices){.ncomps = ncomps};
  return amped_buffers_allocate(buffers(a));
}

void amped_row_matrices_free(amped_row_matrices *a) {
  amped_buffers_free(buffers(a));
}
