/* Match: cosines of columns by BLAS, and the greedy choice of pairs. */
#include "tensor/match.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/mem.h"

/* Most rows of a factor in one BLAS call: counts of BLAS are int. */
#define SLAB_ROWS (UINT64_C(1) << 20)

/* Rows of b that are copied into the order of a for one BLAS call: 8 MiB at most. */
#define GATHERED_ROWS (UINT64_C(1) << 10)

typedef struct candidate {
  double score;
  int a, b;
} candidate;

/* Workspace of the search. */
typedef struct search {
  uint64_t na, nb;
  double *weights_a, *weights_b;
  double *const *cosines; /* for each mode, [na][nb] */
  candidate *candidates;  /* [na * nb] */
  bool *taken_a, *taken_b;
} search;

/* norms[r] = length of column r */
static void column_norms(const double *factor, uint64_t rows, uint64_t columns, double *norms) {
  memset(norms, 0, columns * sizeof *norms);
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t r = 0; r < columns; r++)
      norms[r] += factor[i * columns + r] * factor[i * columns + r];
  for (uint64_t r = 0; r < columns; r++)
    norms[r] = sqrt(norms[r]);
}

/* slab = the rows of b's factor that correspond to these `count` rows of a. */
static void gather(const amped_ktensor *b, int mode, const uint64_t *rows, uint64_t count,
                   double *slab) {
  const uint64_t nb = (uint64_t)b->ncomps;
  for (uint64_t i = 0; i < count; i++)
    if (rows[i] == AMPED_MATCH_NO_ROW)
      memset(slab + i * nb, 0, nb * sizeof *slab);
    else
      memcpy(slab + i * nb, b->factors[mode] + rows[i] * nb, nb * sizeof *slab);
}

/* product = A^T B of the mode; also the lengths of the columns. With `rows`, `slab` holds
 * GATHERED_ROWS rows of b. */
static void multiply_mode(const amped_ktensor *a, const amped_ktensor *b, int mode,
                          const uint64_t *rows, double *slab, double *lengths_a, double *lengths_b,
                          double *product) {
  int na = a->ncomps;
  int nb = b->ncomps;
  const uint64_t step = rows != NULL ? GATHERED_ROWS : SLAB_ROWS;
  for (uint64_t first = 0; first < a->dims[mode]; first += step) {
    uint64_t count = a->dims[mode] - first < step ? a->dims[mode] - first : step;
    const double *rows_b = b->factors[mode] + first * (uint64_t)nb;
    if (rows != NULL) {
      gather(b, mode, rows + first, count, slab);
      rows_b = slab;
    }
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, na, nb, (int)count, 1.0,
                a->factors[mode] + first * (uint64_t)na, na, rows_b, nb, 1.0, product, nb);
  }
  column_norms(a->factors[mode], a->dims[mode], (uint64_t)na, lengths_a);
  column_norms(b->factors[mode], b->dims[mode], (uint64_t)nb, lengths_b);
}

/* Turns products into cosines, and multiplies the weights by the lengths. */
static void scale_mode(const amped_match_side *a, const amped_match_side *b, int mode, search *s) {
  double *c = s->cosines[mode];
  for (uint64_t i = 0; i < s->na; i++)
    for (uint64_t j = 0; j < s->nb; j++) {
      double lengths = a->lengths[mode][i] * b->lengths[mode][j];
      /* Rounding must not make a cosine more than one. */
      double cosine = lengths > 0.0 ? c[i * s->nb + j] / lengths : 0.0;
      c[i * s->nb + j] = fmax(-1.0, fmin(1.0, cosine));
    }
  for (uint64_t i = 0; i < s->na; i++)
    s->weights_a[i] *= a->lengths[mode][i];
  for (uint64_t j = 0; j < s->nb; j++)
    s->weights_b[j] *= b->lengths[mode][j];
}

static double penalty(double a, double b) {
  double larger = fmax(a, b);
  if (a == b) /* also if both are infinite */
    return 1.0;
  return isfinite(larger) ? 1.0 - fabs(a - b) / larger : 0.0;
}

/* Are both components zero? Then they are equal, whatever their columns. */
static bool are_zero(const search *s, uint64_t a, uint64_t b) {
  return s->weights_a[a] == 0.0 && s->weights_b[b] == 0.0;
}

static double congruence(const search *s, int order, uint64_t a, uint64_t b) {
  double product = 1.0;
  for (int m = 0; m < order; m++)
    product *= fabs(s->cosines[m][a * s->nb + b]);
  return are_zero(s, a, b) ? 1.0 : product;
}

static int compare_candidates(const void *x, const void *y) {
  const candidate *p = x;
  const candidate *q = y;
  if (p->score != q->score)
    return p->score > q->score ? -1 : 1;
  return p->b != q->b ? p->b - q->b : p->a - q->a;
}

static void rank_candidates(search *s, int order) {
  for (uint64_t a = 0; a < s->na; a++)
    for (uint64_t b = 0; b < s->nb; b++)
      s->candidates[a * s->nb + b] = (candidate){
          congruence(s, order, a, b) * penalty(s->weights_a[a], s->weights_b[b]), (int)a, (int)b};
  qsort(s->candidates, s->na * s->nb, sizeof *s->candidates, compare_candidates);
}

static void take(const search *s, int order, const candidate *c, amped_match *out) {
  uint64_t a = (uint64_t)c->a;
  uint64_t b = (uint64_t)c->b;
  amped_match_pair *pair = &out->pairs[out->count++];
  *pair = (amped_match_pair){.a = c->a, .b = c->b};
  pair->weight_a = s->weights_a[a];
  pair->weight_b = s->weights_b[b];
  for (int m = 0; m < order; m++)
    pair->cosines[m] = are_zero(s, a, b) ? 1.0 : s->cosines[m][a * s->nb + b];
  pair->congruence = congruence(s, order, a, b);
  pair->penalty = penalty(pair->weight_a, pair->weight_b);
  pair->score = c->score;
  pair->is_zero = are_zero(s, a, b);
  out->zeros += pair->is_zero;
  s->taken_a[a] = true;
  s->taken_b[b] = true;
}

static void take_greedily(const search *s, int order, amped_match *out) {
  for (uint64_t i = 0; i < s->na * s->nb; i++)
    if (!s->taken_a[s->candidates[i].a] && !s->taken_b[s->candidates[i].b])
      take(s, order, &s->candidates[i], out);
  const int others = out->count - out->zeros;
  out->score = out->congruence = others > 0 ? 0.0 : (double)NAN;
  for (int i = 0; i < out->count; i++)
    if (!out->pairs[i].is_zero) {
      out->score += out->pairs[i].score / others;
      out->congruence += out->pairs[i].congruence / others;
    }
}

static amped_status check_shapes(const amped_ktensor *a, const amped_ktensor *b,
                                 const uint64_t *const *rows) {
  if (a->order != b->order)
    return amped_error(AMPED_BAD_INPUT, NULL,
                       "models of %d and of %d modes cannot be compared; name results of one "
                       "tensor",
                       a->order, b->order);
  for (int m = 0; m < a->order; m++)
    if (rows[m] == NULL && a->dims[m] != b->dims[m])
      return amped_error(AMPED_BAD_INPUT, NULL,
                         "mode %d has %" PRIu64 " indices in A and %" PRIu64
                         " in B, without labels to match them by; name results of one tensor",
                         m + 1, a->dims[m], b->dims[m]);
  return AMPED_OK;
}

static amped_status allocate(const amped_match_side *a, const amped_match_side *b, search *s,
                             amped_match *out) {
  const uint64_t fewer = s->na < s->nb ? s->na : s->nb;
  AMPED_TRY(amped_alloc(&s->weights_a, s->na, sizeof(double), "the weights"));
  AMPED_TRY(amped_alloc(&s->weights_b, s->nb, sizeof(double), "the weights"));
  AMPED_TRY(amped_calloc(&s->taken_a, s->na, sizeof(bool), "the matched components"));
  AMPED_TRY(amped_calloc(&s->taken_b, s->nb, sizeof(bool), "the matched components"));
  AMPED_TRY(amped_alloc(&s->candidates, s->na * s->nb, sizeof(candidate), "the congruences"));
  AMPED_TRY(amped_alloc(&out->pairs, fewer, sizeof *out->pairs, "the matched components"));
  for (uint64_t i = 0; i < s->na; i++)
    s->weights_a[i] = fabs(a->weights[i]);
  for (uint64_t j = 0; j < s->nb; j++)
    s->weights_b[j] = fabs(b->weights[j]);
  return AMPED_OK;
}

amped_status amped_match_of_products(int order, const amped_match_side *a,
                                     const amped_match_side *b, double *const *products,
                                     amped_match *out) {
  search s = {.na = (uint64_t)a->ncomps, .nb = (uint64_t)b->ncomps, .cosines = products};
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  AMPED_GO(done, allocate(a, b, &s, out));
  for (int m = 0; m < order; m++)
    scale_mode(a, b, m, &s);
  rank_candidates(&s, order);
  take_greedily(&s, order, out);
done:
  amped_free(s.weights_a);
  amped_free(s.weights_b);
  amped_free(s.taken_a);
  amped_free(s.taken_b);
  amped_free(s.candidates);
  if (status != AMPED_OK)
    amped_match_free(out);
  return status;
}

amped_status amped_match_find(const amped_ktensor *a, const amped_ktensor *b,
                              const uint64_t *const *rows, amped_match *out) {
  static const uint64_t *const no_rows[AMPED_MAX_ORDER] = {NULL};
  const uint64_t na = (uint64_t)a->ncomps;
  const uint64_t nb = (uint64_t)b->ncomps;
  amped_match_side side_a = {.ncomps = a->ncomps, .weights = a->weights};
  amped_match_side side_b = {.ncomps = b->ncomps, .weights = b->weights};
  double *products[AMPED_MAX_ORDER] = {NULL};
  double *slab = NULL;
  double *lengths = NULL; /* lengths of a's columns, mode by mode, then of b's */
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  if (rows == NULL)
    rows = no_rows;
  AMPED_TRY(check_shapes(a, b, rows));
  AMPED_TRY(amped_blas_check_room());
  AMPED_TRY(amped_alloc(&lengths, (uint64_t)a->order * (na + nb), sizeof *lengths, "the lengths"));
  AMPED_GO(done, amped_alloc(&slab, GATHERED_ROWS * nb, sizeof *slab, "rows of a factor"));
  for (int m = 0; m < a->order; m++) {
    double *mine = lengths + (uint64_t)m * (na + nb);
    AMPED_GO(done, amped_calloc(&products[m], na * nb, sizeof(double), "the congruences"));
    multiply_mode(a, b, m, rows[m], slab, mine, mine + na, products[m]);
    side_a.lengths[m] = mine;
    side_b.lengths[m] = mine + na;
  }
  status = amped_match_of_products(a->order, &side_a, &side_b, products, out);
done:
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(products[m]);
  amped_free(slab);
  amped_free(lengths);
  return status;
}

void amped_match_free(amped_match *match) {
  amped_free(match->pairs);
  memset(match, 0, sizeof *match);
}
