/* Stream model: expectations from sums over rows, and coefficients of the history. */
#include "solver/stream/stream_model.h"

#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"
#include "solver/complete/row_counts.h"

/* Sums over rows of one mode, [width][width]: NOW, n e e^T; CROSS, n e ~e^T. */
enum { NOW, CROSS, SUMS };

struct amped_stream_model {
  const amped_context *context;
  amped_row_fit fit;
  uint64_t ncomps, width;
  amped_row_history histories[AMPED_MAX_ORDER];
  double *kept[AMPED_MAX_ORDER]; /* S */
  double *sums[SUMS][AMPED_MAX_ORDER];
  double *change;       /* [width][2 width] X, then sum of n d d^T (stream_model.h) */
  double *left, *right; /* coefficients for recall */
};

static const char what[] = "the histories of a batch's rows";

static const amped_row_history_ops *ops_of(const amped_stream_model *s) {
  return s->context->worker->format->row_history;
}

static amped_tensor_part *part_of(const amped_stream_model *s) {
  return s->context->worker->tensor;
}

/* --- life ------------------------------------------------------------------------------------- */

static amped_buffers buffers(amped_stream_model *s, const amped_plan *plan) {
  amped_buffers b = {.what = what};
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t width = n + 1;
  for (int m = 0; m < plan->order; m++)
    for (int k = 0; k < SUMS; k++)
      AMPED_BUFFER(&b, HOST, s->sums[k][m], width * width);
  AMPED_BUFFER(&b, HOST, s->change, 2 * width * width);
  AMPED_BUFFER(&b, HOST, s->left, n * width / 2);
  AMPED_BUFFER(&b, HOST, s->right, n * width);
  return b;
}

void amped_stream_model_require(const amped_worker *worker, const amped_plan *plan,
                                uint64_t *device_bytes, uint64_t *host_bytes) {
  worker->format->row_history->require(plan, device_bytes, host_bytes);
  amped_buffers_require(buffers(&(amped_stream_model){0}, plan), device_bytes, host_bytes);
  *host_bytes += amped_row_counts_bytes(plan);
}

static amped_status make(amped_stream_model *s) {
  const amped_plan *plan = s->context->plan;
  AMPED_TRY(amped_buffers_allocate(buffers(s, plan)));
  for (int m = 0; m < plan->order; m++) {
    AMPED_TRY(ops_of(s)->begin(part_of(s), m, &s->histories[m]));
    for (int k = 0; k < SUMS; k++)
      memcpy(s->sums[k][m], s->kept[m], s->width * s->width * sizeof(double));
  }
  return AMPED_OK;
}

amped_status amped_stream_model_create(const amped_context *context, const amped_row_fit *fit,
                                       const amped_row_history *histories, double *const *sums,
                                       amped_stream_model **out) {
  amped_stream_model *s = NULL;
  amped_status status = amped_calloc(&s, 1, sizeof *s, what);
  *out = NULL;
  if (status == AMPED_OK) {
    const uint64_t n = (uint64_t)context->plan->ncomps;
    *s = (amped_stream_model){.context = context, .fit = *fit, .ncomps = n, .width = n + 1};
    for (int m = 0; m < context->plan->order; m++) {
      s->histories[m] = histories[m];
      s->kept[m] = sums[m];
    }
    status = make(s);
  }
  status = amped_comm_agree(context->comm, status);
  if (status == AMPED_OK)
    *out = s;
  else
    amped_stream_model_destroy(s);
  return status;
}

void amped_stream_model_destroy(amped_stream_model *s) {
  if (s == NULL)
    return;
  amped_buffers_free(buffers(s, s->context->plan));
  amped_free(s);
}

/* --- history of a mode's rows ----------------------------------------------------------------- */

/* Element (i, c) of E[e e^T] in a mode (NOW), or of E[e ~e^T] (CROSS). */
static double mean_of(const amped_stream_model *s, int kind, int mode, uint64_t i, uint64_t c) {
  const double *sums = s->sums[kind][mode];
  return sums[i * s->width + c] / sums[s->width * s->width - 1];
}

/* Product of mean_of over all modes except `mode` and `other`; other = -1: only `mode` is left
 * out. */
static double product_of(const amped_stream_model *s, int kind, int mode, int other, uint64_t i,
                         uint64_t c) {
  double product = 1.0;
  for (int l = 0; l < s->context->plan->order; l++)
    if (l != mode && l != other)
      product *= mean_of(s, kind, l, i, c);
  return product;
}

/* Element i of d (stream_model.h). Element width - 1 belongs to tau: it is the sum of E[~b - b]. */
static double bias_of(const amped_stream_model *s, int mode, uint64_t i) {
  const uint64_t one = s->width - 1;
  const uint64_t bias = s->ncomps - 1;
  double sum = 0.0;
  for (int l = 0; l < s->context->plan->order; l++)
    if (l != mode)
      sum += (mean_of(s, CROSS, l, i, bias) - mean_of(s, NOW, l, i, bias)) *
             product_of(s, NOW, mode, l, i, one);
  return sum;
}

/* Set the coefficients of recall: left, for a row's n; right, for n and the row before the
 * batch. */
static void make_matrices(const amped_stream_model *s, int mode) {
  const uint64_t n = s->ncomps;
  const uint64_t one = s->width - 1;
  double *left = s->left;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t row = s->fit.biased && i + 1 == n ? one : i; /* a bias has the factor 1 */
    double *right = s->right + i * s->width;
    for (uint64_t c = 0; c <= i; c++)
      *left++ = product_of(s, NOW, mode, -1, row, s->fit.biased && c + 1 == n ? one : c);
    for (uint64_t c = 0; c < n; c++)
      right[c] = s->fit.biased && c + 1 == n ? product_of(s, NOW, mode, -1, row, one)
                                             : product_of(s, CROSS, mode, -1, row, c);
    right[n] = s->fit.biased ? bias_of(s, mode, row) : 0.0;
  }
}

/* True if all modes have a history. A history that has decayed to zero does not count. */
static bool has_history(const amped_stream_model *s) {
  bool has = true;
  for (int m = 0; m < s->context->plan->order; m++)
    has = has && s->kept[m][s->width * s->width - 1] > 0.0;
  return has;
}

amped_status amped_stream_model_recall(amped_stream_model *s, int mode, amped_row_history *out) {
  const amped_row_recipe recipe = {.biased = s->fit.biased,
                                   .left = s->left,
                                   .right = s->right,
                                   .reg = s->fit.reg * s->fit.pull[mode],
                                   .reg_power = s->fit.reg_power,
                                   .prior = s->fit.prior[mode],
                                   .reg_bias = s->fit.reg_bias};
  memset(s->left, 0, s->ncomps * s->width / 2 * sizeof *s->left);
  memset(s->right, 0, s->ncomps * s->width * sizeof *s->right);
  if (has_history(s))
    make_matrices(s, mode);
  return ops_of(s)->recall(part_of(s), mode, &recipe, out);
}

/* --- new rows --------------------------------------------------------------------------------- */

amped_status amped_stream_model_renew(amped_stream_model *s, int mode, amped_status status) {
  const uint64_t w = s->width;
  AMPED_NEXT(status, ops_of(s)->change(part_of(s), mode, s->change));
  AMPED_TRY(amped_comm_sum_agreed(s->context->comm, status, s->change, (int)(2 * w * w)));
  for (uint64_t i = 0; i < w; i++)
    for (uint64_t c = 0; c < w; c++) {
      const double cross = s->change[i * 2 * w + c];
      const double kept = s->kept[mode][i * w + c];
      s->sums[CROSS][mode][i * w + c] = kept + cross;
      s->sums[NOW][mode][i * w + c] =
          kept + cross + s->change[c * 2 * w + i] + s->change[i * 2 * w + w + c];
    }
  return AMPED_OK;
}

/* --- after the batch -------------------------------------------------------------------------- */

amped_status amped_stream_model_absorb(amped_stream_model *s) {
  const uint64_t square = s->width * s->width;
  amped_row_counts counts;
  AMPED_TRY(amped_row_counts_find(s->context, &counts));
  amped_status status = AMPED_OK;
  for (int m = 0; m < s->context->plan->order && status == AMPED_OK; m++) {
    status = ops_of(s)->grow(part_of(s), m, &s->histories[m], counts.own[m], s->change);
    status = amped_comm_sum_agreed(s->context->comm, status, s->change, (int)square);
    for (uint64_t i = 0; i < square; i++)
      s->kept[m][i] = s->sums[NOW][m][i] + s->change[i];
  }
  amped_row_counts_free(&counts);
  return status;
}
