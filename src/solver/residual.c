/* Residual: grams in double-double, the pass over nonzeros, and the choice of |X|^2. */
#include "solver/residual.h"

#include <math.h>
#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"

/* Elements of the row buffer, which takes 2 MiB. */
#define BUFFER (UINT64_C(1) << 18)

/* Relative error of terms that cancel. A term is off by about 2^-100, and sums of up to 2^20 terms
 * in a strip or thread by 2^20 times as much. */
#define UNIT 0x1p-80

/* The same, if a part of a gram is a double. */
#define OUTSIDE_UNIT 0x1p-48

typedef struct work {
  const amped_context *context;
  const amped_fixed_modes *fixed;
  const amped_residual_pass *pass;
  double *rows;
  double *weights; /* weights, scaled like X */
  amped_dd *gram;  /* gram of a mode: triangle of rows r and columns s >= r, row by row */
  amped_dd *grams; /* products of grams over modes */
} work;

static const char what[] = "the fit near 1";

static uint64_t triangle(const amped_plan *plan) {
  return (uint64_t)plan->ncomps * ((uint64_t)plan->ncomps + 1) / 2;
}

/* Rows per buffer; ncomps is at most 1024. */
static uint64_t buffer_rows(const amped_plan *plan) {
  return BUFFER / (uint64_t)plan->ncomps;
}

uint64_t amped_residual_host_bytes(const amped_plan *plan) {
  return BUFFER * sizeof(double) + 2 * triangle(plan) * sizeof(amped_dd) +
         (uint64_t)plan->ncomps * sizeof(double);
}

bool amped_residual_is_possible(const amped_context *context) {
  return context->worker->format->products != NULL;
}

static amped_buffers buffers(work *w) {
  amped_buffers b = {.what = what};
  const amped_plan *plan = w->context->plan;
  AMPED_BUFFER(&b, HOST, w->rows, BUFFER);
  AMPED_BUFFER(&b, HOST, w->weights, (uint64_t)plan->ncomps);
  AMPED_BUFFER(&b, HOST, w->gram, triangle(plan));
  AMPED_BUFFER(&b, HOST, w->grams, triangle(plan));
  return b;
}

/* --- |M|^2 ------------------------------------------------------------------------------------ */

/* Add `count` rows, in their order, to row r of the gram's triangle. */
static void add_gram_row(const double *rows, uint64_t count, uint64_t n, uint64_t r, amped_dd *to) {
  for (uint64_t i = 0; i < count; i++) {
    const double *row = rows + i * n;
    if (row[r] != 0.0)
      for (uint64_t s = r; s < n; s++)
        to[s - r] = amped_dd_add(to[s - r], amped_dd_product(row[r], row[s]));
  }
}

/* Place at which row r of the triangle begins. */
static uint64_t triangle_row(uint64_t n, uint64_t r) {
  return r * n - r * (r - 1) / 2;
}

static void add_gram(const work *w, uint64_t count) {
  const uint64_t n = (uint64_t)w->context->plan->ncomps;
#pragma omp parallel for schedule(dynamic)
  for (uint64_t r = 0; r < n; r++)
    add_gram_row(w->rows, count, n, r, w->gram + triangle_row(n, r));
}

/* Add own rows of mode's factor to its gram. Rows of mode 0 are also copied to the output. */
static amped_status visit_own_rows(work *w, int mode) {
  const amped_plan *plan = w->context->plan;
  const amped_worker *worker = w->context->worker;
  const amped_factor_ops *factors = worker->backend->factors;
  const uint64_t block = plan->modes[mode].rows.block_rows;
  for (uint64_t row = 0; row < block;) {
    uint64_t count = block - row < buffer_rows(plan) ? block - row : buffer_rows(plan);
    AMPED_TRY(factors->get_rows(worker->factors, mode, (uint64_t)plan->rank * block + row, count,
                                w->rows));
    add_gram(w, count);
    if (mode == 0)
      AMPED_TRY(factors->put_output(worker->factors, mode, row, count, w->rows));
    row += count;
  }
  return AMPED_OK;
}

/* Collective. Sum double-doubles over ranks, in the order of ranks. */
static void sum_over_ranks(const amped_context *context, amped_dd *values, uint64_t count) {
  if (context->comm->nranks > 1)
    amped_comm_sum_dd(context->comm, values, count);
}

static amped_dd model_norm_squared(const work *w) {
  const uint64_t n = (uint64_t)w->context->plan->ncomps;
  const amped_dd *product = w->grams;
  amped_dd sum = {0.0, 0.0};
  for (uint64_t r = 0; r < n; r++)
    for (uint64_t s = r; s < n; s++, product++) {
      amped_dd term = amped_dd_scale(amped_dd_scale(*product, w->weights[r]), w->weights[s]);
      sum = amped_dd_add(sum, amped_dd_scale(term, r == s ? 1.0 : 2.0));
    }
  return sum;
}

/* Add mode's rows outside the tensor to its gram. */
static void add_outside(const work *w, int mode) {
  const uint64_t n = (uint64_t)w->context->plan->ncomps;
  const double *outside = w->fixed != NULL ? w->fixed->outside[mode] : NULL;
  for (uint64_t r = 0; r < n && outside != NULL; r++)
    for (uint64_t s = r; s < n; s++) {
      amped_dd *to = &w->gram[triangle_row(n, r) + s - r];
      *to = amped_dd_add(*to, (amped_dd){outside[r * n + s], 0.0});
    }
}

/* Collective; the status is this rank's own. Multiply the grams of all modes. */
static amped_status multiply_grams(work *w) {
  const amped_plan *plan = w->context->plan;
  amped_status status = AMPED_OK;
  for (int m = 0; m < plan->order; m++) {
    for (uint64_t i = 0; i < triangle(plan); i++)
      w->gram[i] = (amped_dd){0.0, 0.0};
    AMPED_NEXT(status, visit_own_rows(w, m));
    sum_over_ranks(w->context, w->gram, triangle(plan));
    add_outside(w, m);
    for (uint64_t i = 0; i < triangle(plan); i++)
      w->grams[i] = m == 0 ? w->gram[i] : amped_dd_multiply(w->grams[i], w->gram[i]);
  }
  return status;
}

/* --- the pass --------------------------------------------------------------------------------- */

/* Copy rows that other ranks own, and for which this rank has nonzeros of mode 0, to the output. */
static amped_status put_shared_rows(work *w) {
  const amped_plan *plan = w->context->plan;
  const amped_worker *worker = w->context->worker;
  const amped_factor_ops *factors = worker->backend->factors;
  const amped_mode_plan *m = &plan->modes[0];
  uint64_t first = 0;
  uint64_t end = 0;
  amped_plan_shared_idps(m, plan->rank, &first, &end);
  const uint64_t begin = m->rows.block_rows;
  for (uint64_t s = first; s < end; s++) {
    const uint64_t row = begin + m->copy.splits[s].row - m->copy.splits[first].row;
    const uint64_t rows = m->copy.splits[s + 1].row - m->copy.splits[s].row;
    const uint64_t position = m->rows.position[m->copy.splits[s].idp];
    for (uint64_t done = 0; done < rows;) {
      uint64_t count = rows - done < buffer_rows(plan) ? rows - done : buffer_rows(plan);
      AMPED_TRY(factors->get_rows(worker->factors, 0, position + done, count, w->rows));
      AMPED_TRY(factors->put_output(worker->factors, 0, row + done, count, w->rows));
      done += count;
    }
  }
  return AMPED_OK;
}

static amped_status pass_over_nonzeros(work *w, double scale, amped_products *out) {
  if (w->pass != NULL)
    return w->pass->run(w->pass->self, scale, w->weights, out);
  AMPED_TRY(put_shared_rows(w));
  return amped_worker_products(w->context->worker, 0, scale, w->weights, w->context->plan->ncomps,
                               out);
}

/* Choose |X|^2, scaled, and return the unknown part of |X|^2 - 2 (X, M). seen: sum over nonzeros as
 * they are in memory. stated: the plan's |X|^2, from the file; it is rounded, does not include
 * rounding of values to float, and counts repeated coordinates once. Either may be right if float
 * rounding explains the difference. If coordinates repeat, `stated` is right; then rounding of sums
 * and of values of all sizes remains. Cells of a dense tensor do not repeat. */
static double choose_norm(const amped_context *context, double stated, amped_dd *seen) {
  const bool single = context->plan->value_type == AMPED_F32;
  const double unit = single ? 0x1p-22 : 0x1p-51;
  const double off = fabs((seen->hi - stated) + seen->lo);
  const double spread = seen->hi > stated ? sqrt(seen->hi / stated) : 1.0;
  if (off <= 0x1p-51 * stated)
    return 0.0;
  if (context->worker->format->needs.cells)
    return single ? off : 0.0;
  if (single && off <= unit * stated)
    return off;
  *seen = (amped_dd){stated, 0.0};
  return unit * spread * stated;
}

static double unit_of(const work *w) {
  bool outside = false;
  for (int m = 0; m < w->context->plan->order && w->fixed != NULL; m++)
    outside = outside || w->fixed->outside[m] != NULL;
  return outside ? OUTSIDE_UNIT : UNIT;
}

static amped_status measure(work *w, const double *weights, amped_residual *out) {
  const amped_context *context = w->context;
  const amped_plan *plan = context->plan;
  const int exponent = -ilogb(sqrt(plan->norm_squared)); /* |X| becomes 1 to 2 */
  amped_products products = {.xx = {0.0, 0.0}};
  double size = 0.0;
  for (int r = 0; r < plan->ncomps; r++) {
    w->weights[r] = ldexp(weights[r], exponent);
    size += w->weights[r];
  }
  amped_status status = multiply_grams(w);
  AMPED_NEXT(status, pass_over_nonzeros(w, ldexp(1.0, exponent), &products));
  amped_dd sums[2] = {products.xx, products.xm};
  if (status != AMPED_OK) /* the other ranks see it in the sum */
    sums[0].hi = (double)NAN;
  sum_over_ranks(context, sums, 2);
  if (isnan(sums[0].hi))
    AMPED_TRY(amped_comm_agree(context->comm, status));
  const double unknown = choose_norm(context, ldexp(plan->norm_squared, 2 * exponent), &sums[0]);
  const amped_dd norm = sums[0];
  amped_dd residual = amped_dd_add(norm, amped_dd_scale(sums[1], -2.0));
  residual = amped_dd_add(residual, model_norm_squared(w));
  out->part = residual.hi > 0.0 ? residual.hi / norm.hi : 0.0;
  if (isnan(residual.hi))
    out->part = residual.hi;
  size /= sqrt(norm.hi);
  out->error = unit_of(w) * (1.0 + size) * (1.0 + size) + unknown / norm.hi;
  return AMPED_OK;
}

amped_status amped_residual_measure(const amped_context *context, const amped_fixed_modes *fixed,
                                    const amped_residual_pass *pass, const double *weights,
                                    amped_residual *out) {
  work w = {.context = context, .fixed = fixed, .pass = pass};
  amped_status status = amped_comm_agree(context->comm, amped_buffers_allocate(buffers(&w)));
  if (status == AMPED_OK)
    status = measure(&w, weights, out);
  amped_buffers_free(buffers(&w));
  return status;
}
