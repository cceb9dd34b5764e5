/* Ranking: values of all pairs by tiles, and the best per target. */
#include "tensor/ranking.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/types.h"

/* TILE: indices of a tile, whose rows lie transposed in a core's cache. MOST_TARGETS: targets that
 * share a tile. BEST_BYTES: memory for the best of all threads. */
#define TILE 64
#define MOST_TARGETS 64
#define BEST_BYTES (UINT64_C(256) << 20)

uint64_t amped_ranking_block(const amped_ranking *k) {
  const uint64_t bytes = k->most * sizeof(amped_best_item) * (uint64_t)omp_get_max_threads();
  const uint64_t fit = BEST_BYTES / bytes;
  const uint64_t block = fit < 1 ? 1 : fit < MOST_TARGETS ? fit : MOST_TARGETS;
  return block < k->p->k->dims[k->target] ? block : k->p->k->dims[k->target];
}

/* Workspace, shared by all threads or with a part per thread. */
typedef struct work {
  const amped_ranking *ranking;
  uint64_t first, count;
  double *rows;           /* [count][ncomps] targets' rows, times weights and rows of other modes */
  double *bases;          /* [count] bias of each target, plus the biases of the fixed modes */
  double *tiles;          /* [threads][ncomps][TILE] */
  amped_best_item *heaps; /* [threads][count][most] */
  uint64_t *counts;       /* [threads][count] */
  bool *beyond;           /* [threads] the thread met a value that is not finite */
} work;

static void fill_rows(work *w) {
  const amped_ranking *k = w->ranking;
  const amped_ktensor *model = k->p->k;
  const uint64_t n = (uint64_t)model->ncomps;
  for (uint64_t i = 0; i < w->count; i++) {
    double *row = w->rows + i * n;
    memcpy(row, model->weights, n * sizeof *row);
    w->bases[i] = 0.0;
    for (int m = 0; m < model->order; m++) {
      if (m == k->of)
        continue;
      const uint64_t index =
          amped_predictor_known(k->p, m, m == k->target ? w->first + i : k->at[m]);
      const double *other = amped_predictor_row(k->p, m, index);
      for (uint64_t r = 0; r < n; r++)
        row[r] *= other[r];
      w->bases[i] += amped_predictor_bias(k->p, m, index);
    }
  }
}

static void fill_tile(const amped_ranking *k, uint64_t begin, uint64_t here, double *tile) {
  const uint64_t n = (uint64_t)k->p->k->ncomps;
  const double *rows = k->p->k->factors[k->of] + begin * n;
  if (here < TILE)
    memset(tile, 0, n * TILE * sizeof *tile);
  for (uint64_t t = 0; t < here; t++)
    for (uint64_t r = 0; r < n; r++)
      tile[r * TILE + t] = rows[t * n + r];
}

/* Multiplies a row with a tile. Every column is summed in the same order, whatever its place: equal
 * rows give equal sums. */
static void multiply(const double *row, const double *tile, uint64_t n, double *sums) {
  memset(sums, 0, TILE * sizeof *sums);
  for (uint64_t r = 0; r < n; r++)
    for (uint64_t t = 0; t < TILE; t++)
      sums[t] += row[r] * tile[r * TILE + t];
}

static int compare_indices(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a;
  const uint64_t y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static bool is_seen(const amped_ranking *k, uint64_t target, uint64_t index) {
  if (k->seen_begin == NULL)
    return false;
  const uint64_t begin = k->seen_begin[target];
  const uint64_t count = k->seen_begin[target + 1] - begin;
  return count > 0 &&
         bsearch(&index, k->seen + begin, count, sizeof index, compare_indices) != NULL;
}

/* Keeps the best of one tile for one target. *beyond = true if a value is not finite. */
static void choose(const work *w, uint64_t i, uint64_t begin, uint64_t here, const double *sums,
                   amped_best_item *heap, uint64_t *count, bool *beyond) {
  const amped_ranking *k = w->ranking;
  const amped_completion *c = k->p->c;
  for (uint64_t t = 0; t < here; t++) {
    const double y = w->bases[i] + amped_predictor_bias(k->p, k->of, begin + t) + sums[t];
    const double value = c != NULL ? c->mean + c->scale * y : y;
    if (!isfinite(value))
      *beyond = *beyond || amped_predictor_knows(k->p, k->of, begin + t);
    else if (amped_best_takes(heap, k->most, *count, value, begin + t) &&
             amped_predictor_knows(k->p, k->of, begin + t) && !is_seen(k, w->first + i, begin + t))
      amped_best_offer(heap, k->most, count, (amped_best_item){begin + t, value, value});
  }
}

static void look_through(const work *w) {
  const amped_ranking *k = w->ranking;
  const uint64_t n = (uint64_t)k->p->k->ncomps;
  const uint64_t dim = k->p->k->dims[k->of];
#pragma omp parallel
  {
    const uint64_t me = (uint64_t)omp_get_thread_num();
    double *tile = w->tiles + me * n * TILE;
    double sums[TILE];
#pragma omp for schedule(static)
    for (uint64_t begin = 0; begin < dim; begin += TILE) {
      const uint64_t here = dim - begin < TILE ? dim - begin : TILE;
      fill_tile(k, begin, here, tile);
      for (uint64_t i = 0; i < w->count; i++) {
        multiply(w->rows + i * n, tile, n, sums);
        choose(w, i, begin, here, sums, w->heaps + (me * w->count + i) * k->most,
               w->counts + me * w->count + i, &w->beyond[me]);
      }
    }
  }
}

static amped_status check_values(const work *w, uint64_t threads) {
  for (uint64_t t = 0; t < threads; t++)
    if (w->beyond[t])
      return amped_error(AMPED_FAILED, w->ranking->path,
                         "a value of the model is not finite; its factors are too large");
  return AMPED_OK;
}

/* Joins the best of all threads. */
static void join(const work *w, uint64_t threads, amped_best_item *out, uint64_t *counts) {
  const uint64_t most = w->ranking->most;
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < w->count; i++) {
    counts[i] = 0;
    for (uint64_t t = 0; t < threads; t++)
      for (uint64_t x = 0; x < w->counts[t * w->count + i]; x++)
        amped_best_offer(out + i * most, most, &counts[i], w->heaps[(t * w->count + i) * most + x]);
    amped_best_sort(out + i * most, counts[i]);
  }
}

amped_status amped_ranking_find(const amped_ranking *k, uint64_t first, uint64_t count,
                                amped_best_item *out, uint64_t *counts) {
  const uint64_t n = (uint64_t)k->p->k->ncomps;
  const uint64_t threads = (uint64_t)omp_get_max_threads();
  uint64_t items = 0;
  work w = {.ranking = k, .first = first, .count = count};
  amped_status status = AMPED_OK;
  if (!amped_mul(threads * count, k->most, &items))
    items = UINT64_MAX; /* too large to allocate */
  AMPED_GO(done, amped_alloc(&w.rows, count * n, sizeof *w.rows, "rows to rank"));
  AMPED_GO(done, amped_alloc(&w.bases, count, sizeof *w.bases, "rows to rank"));
  AMPED_GO(done, amped_alloc(&w.tiles, threads * n * TILE, sizeof *w.tiles, "tiles of rows"));
  AMPED_GO(done, amped_alloc(&w.heaps, items, sizeof *w.heaps, "the best values"));
  AMPED_GO(done, amped_calloc(&w.counts, threads * count, sizeof *w.counts, "the best values"));
  AMPED_GO(done, amped_calloc(&w.beyond, threads, sizeof *w.beyond, "the best values"));
  fill_rows(&w);
  look_through(&w);
  AMPED_GO(done, check_values(&w, threads));
  join(&w, threads, out, counts);
done:
  amped_free(w.rows);
  amped_free(w.bases);
  amped_free(w.tiles);
  amped_free(w.heaps);
  amped_free(w.counts);
  amped_free(w.beyond);
  return status;
}
