/* Saved factors: saving own rows, restoring them, and products with other factors, slab by slab. */
#include "factor/saved_factors.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"

/* Doubles of a slab of rows, about: enough that a copy from a GPU is worth its start. */
#define SLAB (UINT64_C(1) << 19)

static uint64_t slab_rows(const amped_plan *plan) {
  return amped_ceil_div(SLAB, (uint64_t)plan->ncomps);
}

static uint64_t own_rows(const amped_plan *plan, int mode) {
  return plan->modes[mode].rows.rank_rows[plan->rank];
}

static uint64_t own_position(const amped_plan *plan, int mode) {
  return (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
}

uint64_t amped_saved_factors_bytes(const amped_plan *plan) {
  uint64_t rows = 0;
  for (int m = 0; m < plan->order; m++)
    rows += own_rows(plan, m);
  return rows * (uint64_t)plan->ncomps * plan->value_type;
}

/* --- slabs ----------------------------------------------------------------------------------- */

/* Traversal of own rows of a mode, a slab at a time, as doubles. */
typedef struct slabs {
  const amped_context *context;
  int mode;
  uint64_t first, count; /* current slab */
  double *a, *b;         /* one slab each */
} slabs;

static amped_status slabs_begin(slabs *s, const amped_context *context, int mode) {
  const uint64_t elements = slab_rows(context->plan) * (uint64_t)context->plan->ncomps;
  *s = (slabs){.context = context, .mode = mode};
  AMPED_TRY(amped_alloc(&s->a, elements, sizeof *s->a, "a slab of rows"));
  return amped_alloc(&s->b, elements, sizeof *s->b, "a slab of rows");
}

static void slabs_end(slabs *s) {
  amped_free(s->a);
  amped_free(s->b);
}

static bool next_slab(slabs *s) {
  const uint64_t rows = own_rows(s->context->plan, s->mode);
  s->first += s->count;
  s->count = slab_rows(s->context->plan);
  if (s->count > rows - s->first)
    s->count = rows - s->first;
  return s->count > 0;
}

static void widen(const slabs *s, const amped_saved_factors *saved, double *to) {
  const uint64_t n = (uint64_t)saved->ncomps;
  for (uint64_t i = 0; i < s->count * n; i++)
    to[i] = amped_value_get(saved->rows[s->mode], s->context->plan->value_type, s->first * n + i);
}

static amped_status put_slab(const slabs *s, const double *rows) {
  return s->context->worker->backend->factors->put_rows(
      s->context->worker->factors, s->mode, own_position(s->context->plan, s->mode) + s->first,
      s->count, rows);
}

/* Add A^T B of the slab to product. */
static void add_product(const slabs *s, const double *a, const double *b, double *product) {
  const int n = s->context->plan->ncomps;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, (int)s->count, 1.0, a, n, b, n, 1.0,
              product, n);
}

/* --- take ------------------------------------------------------------------------------------ */

/* Save own rows of mode. */
static amped_status take_mode(const amped_context *context, int mode, amped_saved_factors *out) {
  const amped_plan *plan = context->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
  slabs s;
  amped_status status = AMPED_OK;
  AMPED_GO(done, slabs_begin(&s, context, mode));
  if (out->rows[mode] == NULL)
    AMPED_GO(done, amped_alloc(&out->rows[mode], own_rows(plan, mode) * n, plan->value_type,
                               "the rows of the initial factors"));
  while (next_slab(&s)) {
    AMPED_GO(done, context->worker->backend->factors->get_rows(context->worker->factors, mode,
                                                               own_position(plan, mode) + s.first,
                                                               s.count, s.a));
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < s.count * n; i++)
      amped_value_put(out->rows[mode], plan->value_type, s.first * n + i, s.a[i]);
  }
done:
  slabs_end(&s);
  return status;
}

amped_status amped_saved_factors_take(const amped_context *context, const double *weights,
                                      amped_saved_factors *out) {
  const int n = context->plan->ncomps;
  amped_status status = AMPED_OK;
  if (out->ncomps != n)
    amped_saved_factors_free(out);
  out->order = context->plan->order;
  out->ncomps = n;
  if (out->weights == NULL)
    AMPED_GO(agree, amped_alloc(&out->weights, (uint64_t)n, sizeof *weights, "the weights"));
  memcpy(out->weights, weights, (size_t)n * sizeof *weights);
  for (int m = 0; m < out->order; m++)
    AMPED_GO(agree, take_mode(context, m, out));
agree:
  status = amped_comm_agree(context->comm, status);
  if (status != AMPED_OK)
    amped_saved_factors_free(out);
  return status;
}

amped_status amped_saved_factors_divide_by_sums(const amped_context *context,
                                                amped_saved_factors *saved) {
  const uint64_t n = (uint64_t)saved->ncomps;
  double *sums = NULL;
  AMPED_TRY(amped_comm_agree(context->comm, amped_alloc(&sums, n, sizeof *sums, "columns' sums")));
  for (int m = 0; m < saved->order; m++) {
    memset(sums, 0, n * sizeof *sums);
    for (uint64_t i = 0; i < own_rows(context->plan, m) * n; i++)
      sums[i % n] += amped_value_get(saved->rows[m], context->plan->value_type, i);
    amped_comm_sum(context->comm, sums, (int)n);
    for (uint64_t r = 0; r < n; r++)
      saved->weights[r] = sums[r] > 0.0 ? saved->weights[r] / sums[r] : 0.0;
  }
  amped_free(sums);
  return AMPED_OK;
}

void amped_saved_factors_free(amped_saved_factors *saved) {
  amped_free(saved->weights);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(saved->rows[m]);
  memset(saved, 0, sizeof *saved);
}

/* --- use ------------------------------------------------------------------------------------- */

amped_status amped_saved_factors_put(const amped_context *context, const amped_saved_factors *saved,
                                     int mode, const double *q) {
  const int n = saved->ncomps;
  slabs s;
  amped_status status = AMPED_OK;
  AMPED_GO(agree, slabs_begin(&s, context, mode));
  while (next_slab(&s)) {
    widen(&s, saved, s.a);
    if (q != NULL)
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)s.count, n, n, 1.0, s.a, n, q, n,
                  0.0, s.b, n);
    AMPED_GO(agree, put_slab(&s, q != NULL ? s.b : s.a));
  }
agree:
  slabs_end(&s);
  AMPED_ALSO(status, amped_exchange_rows(context->exchange, mode));
  return amped_comm_agree(context->comm, status);
}

amped_status amped_saved_factors_restore(const amped_context *context,
                                         const amped_saved_factors *saved) {
  for (int m = 0; m < saved->order; m++)
    AMPED_TRY(amped_saved_factors_put(context, saved, m, NULL));
  return AMPED_OK;
}

amped_status amped_saved_factors_times_output(const amped_context *context,
                                              const amped_saved_factors *saved, int mode,
                                              double *product) {
  const uint64_t n = (uint64_t)saved->ncomps;
  slabs s;
  amped_status status = AMPED_OK;
  memset(product, 0, n * n * sizeof *product);
  AMPED_GO(agree, slabs_begin(&s, context, mode));
  while (next_slab(&s)) {
    widen(&s, saved, s.a);
    AMPED_GO(agree, context->worker->backend->factors->get_output(context->worker->factors, mode,
                                                                  s.first, s.count, s.b));
    add_product(&s, s.a, s.b, product);
  }
agree:
  slabs_end(&s);
  AMPED_TRY(amped_comm_agree(context->comm, status));
  amped_comm_sum(context->comm, product, (int)(n * n));
  return AMPED_OK;
}

/* Workspace of a match. All of it is summed over ranks. */
typedef struct matching {
  double *products[AMPED_MAX_ORDER];   /* [n][n] A^T B */
  double *lengths[2][AMPED_MAX_ORDER]; /* [n] columns of A and B: sums of squares, then roots */
} matching;

static amped_buffers matching_buffers(matching *w, int order, uint64_t n) {
  amped_buffers b = {.what = "the congruences"};
  for (int m = 0; m < order; m++) {
    AMPED_BUFFER(&b, ZEROED, w->products[m], n * n);
    AMPED_BUFFER(&b, ZEROED, w->lengths[0][m], n);
    AMPED_BUFFER(&b, ZEROED, w->lengths[1][m], n);
  }
  return b;
}

static void add_squares(const slabs *s, const double *rows, double *sums) {
  const uint64_t n = (uint64_t)s->context->plan->ncomps;
  for (uint64_t i = 0; i < s->count * n; i++)
    sums[i % n] += rows[i] * rows[i];
}

/* Sum over own rows of mode. */
static amped_status sum_mode(const amped_context *context, const amped_saved_factors *a,
                             const amped_saved_factors *b, int mode, const matching *w) {
  slabs s;
  amped_status status = AMPED_OK;
  AMPED_GO(done, slabs_begin(&s, context, mode));
  while (next_slab(&s)) {
    widen(&s, a, s.a);
    widen(&s, b, s.b);
    add_product(&s, s.a, s.b, w->products[mode]);
    add_squares(&s, s.a, w->lengths[0][mode]);
    add_squares(&s, s.b, w->lengths[1][mode]);
  }
done:
  slabs_end(&s);
  return status;
}

/* Collective. Sum over ranks; lengths are then whole columns'. */
static void sum_over_ranks(const amped_comm *comm, int order, int n, const matching *w) {
  for (int m = 0; m < order; m++) {
    amped_comm_sum(comm, w->products[m], n * n);
    for (int side = 0; side < 2; side++) {
      amped_comm_sum(comm, w->lengths[side][m], n);
      for (int r = 0; r < n; r++)
        w->lengths[side][m][r] = sqrt(w->lengths[side][m][r]);
    }
  }
}

static amped_match_side side_of(const amped_saved_factors *saved, double *const *lengths) {
  amped_match_side side = {.ncomps = saved->ncomps, .weights = saved->weights};
  for (int m = 0; m < saved->order; m++)
    side.lengths[m] = lengths[m];
  return side;
}

amped_status amped_saved_factors_match(const amped_context *context, const amped_saved_factors *a,
                                       const amped_saved_factors *b, amped_match *out) {
  const int order = a->order;
  const int n = a->ncomps;
  matching w = {.products = {NULL}};
  memset(out, 0, sizeof *out);
  amped_status status = amped_buffers_allocate(matching_buffers(&w, order, (uint64_t)n));
  for (int m = 0; m < order; m++)
    AMPED_NEXT(status, sum_mode(context, a, b, m, &w));
  status = amped_comm_agree(context->comm, status);
  if (status == AMPED_OK) {
    sum_over_ranks(context->comm, order, n, &w);
    const amped_match_side side_a = side_of(a, w.lengths[0]);
    const amped_match_side side_b = side_of(b, w.lengths[1]);
    status = amped_comm_agree(context->comm,
                              amped_match_of_products(order, &side_a, &side_b, w.products, out));
  }
  amped_buffers_free(matching_buffers(&w, order, (uint64_t)n));
  if (status != AMPED_OK) /* the failure may be another rank's */
    amped_match_free(out);
  return status;
}
