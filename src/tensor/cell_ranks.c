/* Cell ranks: products of blocks, counts of higher and equal values, measures. */
#include "tensor/cell_ranks.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "base/system_memory.h"

/* Cells and candidates of a product, whose values stay in a core's cache. */
#define CELLS 64
#define WIDTH 1024

/* Rows have R + 1 entries: a cell's row is the product of its other rows and the weights, then 1; a
 * candidate's is its row, then its bias. Their product orders candidates as the model's value
 * does. */
typedef struct work {
  const amped_cell_ranks *r;
  uint64_t n;          /* entries of a row */
  uint64_t candidates; /* number */
  uint64_t *index;     /* [candidates] ascending indices of the mode */
  double *rows;        /* [candidates][n] */
  double *norms;       /* [candidates] lengths of rows without the bias */
  double *shifts;      /* [candidates] sizes of biases, times epsilon */
  double longest;      /* the largest length of a row, with its bias */
  double epsilon;      /* relative error of a sum of n products, or more */
  double *room;        /* [threads] of room_of */
} work;

static uint64_t room_of(const work *w) {
  return CELLS * w->n + CELLS * WIDTH;
}

static void free_work(work *w) {
  amped_free(w->index);
  amped_free(w->rows);
  amped_free(w->norms);
  amped_free(w->shifts);
  amped_free(w->room);
}

static double norm_of(const double *row, uint64_t n) {
  double squares = 0.0;
  for (uint64_t r = 0; r < n; r++)
    squares += row[r] * row[r];
  return sqrt(squares);
}

static amped_status find_candidates(work *w, const char *where) {
  const amped_cell_ranks *q = w->r;
  const amped_ktensor *k = q->p->k;
  const uint64_t dim = k->dims[q->of];
  const uint64_t threads = (uint64_t)omp_get_max_threads();
  static const char what[] = "the candidates of a ranking";
  w->n = (uint64_t)k->ncomps + 1;
  w->epsilon = (double)(w->n + 4) * DBL_EPSILON;
  AMPED_TRY(amped_mem_check(where, what, dim * (w->n + 3) * sizeof(double)));
  AMPED_TRY(amped_alloc(&w->index, dim, sizeof *w->index, what));
  for (uint64_t i = 0; i < dim; i++)
    if (amped_predictor_knows(q->p, q->of, i))
      w->index[w->candidates++] = i;
  AMPED_TRY(amped_alloc(&w->rows, w->candidates, w->n * sizeof *w->rows, what));
  AMPED_TRY(amped_alloc(&w->norms, w->candidates, sizeof *w->norms, what));
  AMPED_TRY(amped_alloc(&w->shifts, w->candidates, sizeof *w->shifts, what));
  AMPED_TRY(amped_alloc(&w->room, threads, room_of(w) * sizeof *w->room, what));
  for (uint64_t c = 0; c < w->candidates; c++) {
    double *row = w->rows + c * w->n;
    memcpy(row, amped_predictor_row(q->p, q->of, w->index[c]), (w->n - 1) * sizeof *row);
    row[w->n - 1] = amped_predictor_bias(q->p, q->of, w->index[c]);
    w->norms[c] = norm_of(row, w->n - 1);
    w->shifts[c] = w->epsilon * fabs(row[w->n - 1]);
    w->longest = fmax(w->longest, norm_of(row, w->n));
  }
  return AMPED_OK;
}

static void fill_row(const work *w, uint64_t i, double *row) {
  const amped_cell_ranks *q = w->r;
  const amped_ktensor *k = q->p->k;
  memcpy(row, k->weights, (w->n - 1) * sizeof *row);
  row[w->n - 1] = 1.0;
  for (int m = 0; m < k->order; m++) {
    if (m == q->of)
      continue;
    const double *other =
        amped_predictor_row(q->p, m, amped_predictor_known(q->p, m, q->indices[m][i]));
    for (uint64_t r = 0; r + 1 < w->n; r++)
      row[r] *= other[r];
  }
}

/* Counts of a cell while candidates pass by. */
typedef struct tally {
  uint64_t own;        /* candidate that is the cell's own */
  double value;        /* its value */
  double slope, level; /* a value closer than slope * norm + shift + level is equal */
  double higher, equal;
  uint64_t next, end; /* cells of the filter that are left */
  uint64_t removed;
} tally;

/* Size of what all candidates of a cell have in common: the mean and other biases, in units of the
 * model's scale. A difference below its rounding is in no value. */
static double common_of(const work *w, uint64_t i) {
  const amped_cell_ranks *q = w->r;
  const amped_completion *c = q->p->c;
  double sum = 0.0;
  if (c == NULL || c->order == 0)
    return 0.0;
  for (int m = 0; m < q->p->k->order; m++)
    if (m != q->of)
      sum += fabs(amped_predictor_bias(q->p, m, amped_predictor_known(q->p, m, q->indices[m][i])));
  return sum + fabs(c->mean) / c->scale;
}

static void begin_tally(const work *w, uint64_t i, const double *row, tally *t) {
  const amped_cell_ranks *q = w->r;
  *t = (tally){.own = amped_sort_find(w->index, w->candidates, q->indices[q->of][i])};
  t->value = cblas_ddot((int)w->n, row, 1, w->rows + t->own * w->n, 1);
  t->slope = w->epsilon * norm_of(row, w->n - 1);
  t->level = t->slope * w->norms[t->own] + w->shifts[t->own] + w->epsilon * common_of(w, i);
  if (q->filter != NULL)
    t->end = amped_cell_filter_find(q->filter, q->indices, i, &t->next) + t->next;
}

/* Count candidates first .. first + count with these values. Sums are of whole numbers, and exact.
 */
static void count_values(const work *w, const double *values, uint64_t first, uint64_t count,
                         tally *t) {
  const double *norms = w->norms + first;
  const double *shifts = w->shifts + first;
  double higher = 0.0;
  double equal = 0.0;
#pragma omp simd reduction(+ : higher, equal)
  for (uint64_t c = 0; c < count; c++) {
    const double above = values[c] - t->value;
    const double bound = t->slope * norms[c] + shifts[c] + t->level;
    higher += above > bound ? 1.0 : 0.0;
    equal += fabs(above) <= bound ? 1.0 : 0.0;
  }
  t->higher += higher;
  t->equal += equal;
}

/* Take back the candidates of this range that the filter removes. */
static void remove_known(const work *w, const double *values, uint64_t first, uint64_t count,
                         tally *t) {
  const amped_cell_filter *f = w->r->filter;
  for (; t->next < t->end; t->next++) {
    const uint64_t index = f->of[t->next];
    const uint64_t c = amped_sort_find(w->index, w->candidates, index);
    if (c >= first + count)
      return;
    if (w->index[c] != index || c == t->own)
      continue;
    const double above = values[c - first] - t->value;
    const double bound = t->slope * w->norms[c] + w->shifts[c] + t->level;
    t->higher -= above > bound;
    t->equal -= fabs(above) <= bound;
    t->removed++;
  }
}

/* Rank `count` cells from `first` on. */
static void rank_block(const work *w, uint64_t first, uint64_t count, double *room, double *ranks,
                       amped_cell_ranks_found *found) {
  const int n = (int)w->n;
  double *const rows = room;
  double *const values = room + CELLS * w->n;
  tally tallies[CELLS];
  for (uint64_t i = 0; i < count; i++) {
    fill_row(w, first + i, rows + i * w->n);
    begin_tally(w, first + i, rows + i * w->n, &tallies[i]);
  }
  for (uint64_t begin = 0; begin < w->candidates; begin += WIDTH) {
    const uint64_t width = w->candidates - begin < WIDTH ? w->candidates - begin : WIDTH;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)width, n, 1.0, rows, n,
                w->rows + begin * w->n, n, 0.0, values, WIDTH);
    for (uint64_t i = 0; i < count; i++) {
      count_values(w, values + i * WIDTH, begin, width, &tallies[i]);
      remove_known(w, values + i * WIDTH, begin, width, &tallies[i]);
    }
  }
  for (uint64_t i = 0; i < count; i++) {
    const double others = tallies[i].equal - 1.0; /* without the cell itself */
    ranks[first + i] = 1.0 + tallies[i].higher + others / 2.0;
    found->tied += others > 0.0;
    found->removed += tallies[i].removed;
  }
}

/* Are all values finite? A value is no larger than the product of two lengths. */
static bool are_finite(const work *w) {
  const uint64_t count = w->r->count;
  bool finite = isfinite(w->longest);
#pragma omp parallel for schedule(static) reduction(&& : finite)
  for (uint64_t i = 0; i < count; i++) {
    double row[AMPED_MAX_NCOMPS + 1];
    fill_row(w, i, row);
    finite = finite && isfinite(4.0 * w->longest * norm_of(row, w->n));
  }
  return finite;
}

amped_status amped_cell_ranks_find(const amped_cell_ranks *r, const char *where, double *ranks,
                                   amped_cell_ranks_found *found) {
  work w = {.r = r};
  amped_status status = AMPED_OK;
  uint64_t removed = 0;
  uint64_t tied = 0;
  *found = (amped_cell_ranks_found){.candidates = 0};
  AMPED_GO(done, find_candidates(&w, where));
  if (!are_finite(&w)) {
    status = amped_error(AMPED_FAILED, where,
                         "has values that are too large to compare: its factors or weights are; "
                         "scale the values of its input down");
    goto done;
  }
#pragma omp parallel for schedule(dynamic) reduction(+ : removed, tied)
  for (uint64_t first = 0; first < r->count; first += CELLS) {
    const uint64_t count = r->count - first < CELLS ? r->count - first : CELLS;
    amped_cell_ranks_found here = {.candidates = 0};
    rank_block(&w, first, count, w.room + (uint64_t)omp_get_thread_num() * room_of(&w), ranks,
               &here);
    removed += here.removed;
    tied += here.tied;
  }
  *found = (amped_cell_ranks_found){.candidates = w.candidates, .removed = removed, .tied = tied};
done:
  free_work(&w);
  return status;
}

/* ---- counts in place of values ----------------------------------------------------------------
 */

/* Ranks by counts: the counts of all candidates, ascending. */
typedef struct ladder {
  const amped_cell_ranks *r;
  const uint64_t *counts; /* [dims[of]] */
  uint64_t *sorted;       /* [candidates] */
  uint64_t candidates;
} ladder;

static amped_status sort_counts(ladder *l) {
  const amped_cell_ranks *q = l->r;
  const uint64_t dim = q->p->k->dims[q->of];
  AMPED_TRY(amped_alloc(&l->sorted, dim, sizeof *l->sorted, "the candidates of a ranking"));
  for (uint64_t i = 0; i < dim; i++)
    if (amped_predictor_knows(q->p, q->of, i))
      l->sorted[l->candidates++] = l->counts[i];
  amped_sort_field field = {l->sorted, amped_sort_bits(l->sorted, l->candidates)};
  void *arrays[] = {l->sorted};
  return l->candidates > 0 ? amped_sort(l->candidates, &field, 1, 0, arrays, 1) : AMPED_OK;
}

static double rank_by_count(const ladder *l, uint64_t i) {
  const amped_cell_ranks *q = l->r;
  const uint64_t own = q->indices[q->of][i];
  const uint64_t count = l->counts[own];
  const uint64_t below = amped_sort_find(l->sorted, l->candidates, count);
  const uint64_t up_to = amped_sort_find(l->sorted, l->candidates, count + 1);
  uint64_t higher = l->candidates - up_to;
  uint64_t equal = up_to - below - 1; /* without the cell itself */
  uint64_t first = 0;
  const uint64_t known =
      q->filter != NULL ? amped_cell_filter_find(q->filter, q->indices, i, &first) : 0;
  for (uint64_t k = first; k < first + known; k++) {
    const uint64_t index = q->filter->of[k];
    if (index == own || !amped_predictor_knows(q->p, q->of, index))
      continue;
    higher -= l->counts[index] > count;
    equal -= l->counts[index] == count;
  }
  return 1.0 + (double)higher + (double)equal / 2.0;
}

amped_status amped_cell_ranks_by_counts(const amped_cell_ranks *r, const uint64_t *counts,
                                        double *ranks) {
  ladder l = {.r = r, .counts = counts};
  const amped_status status = sort_counts(&l);
  if (status == AMPED_OK) {
#pragma omp parallel for schedule(dynamic, CELLS)
    for (uint64_t i = 0; i < r->count; i++)
      ranks[i] = rank_by_count(&l, i);
  }
  amped_free(l.sorted);
  return status;
}

/* ---- measures ------------------------------------------------------------------------------- */

double amped_ranks_hit_rate(const double *ranks, uint64_t count, int at) {
  uint64_t hits = 0;
  for (uint64_t i = 0; i < count; i++)
    hits += ranks[i] <= at;
  return (double)hits / (double)count;
}

double amped_ranks_ndcg(const double *ranks, uint64_t count, int at) {
  double sum = 0.0;
  for (uint64_t i = 0; i < count; i++)
    sum += ranks[i] <= at ? 1.0 / log2(1.0 + ranks[i]) : 0.0;
  return sum / (double)count;
}

double amped_ranks_reciprocal(const double *ranks, uint64_t count) {
  double sum = 0.0;
  for (uint64_t i = 0; i < count; i++)
    sum += 1.0 / ranks[i];
  return sum / (double)count;
}

double amped_ranks_mean(const double *ranks, uint64_t count) {
  double sum = 0.0;
  for (uint64_t i = 0; i < count; i++)
    sum += ranks[i];
  return sum / (double)count;
}
