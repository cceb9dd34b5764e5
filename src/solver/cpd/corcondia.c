/* Core consistency: pseudo-inverses of factors, and MTTKRPs that give the core's fibres. */
#include "solver/cpd/corcondia.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/buffers.h"
#include "base/mem.h"
#include "solver/mode_update.h"
#include "solver/normal_equations.h"
#include "base/trace.h"

uint64_t amped_corcondia_passes(int order, int ncomps) {
  uint64_t passes = 1;
  for (int m = 2; m < order; m++) {
    passes *= (uint64_t)ncomps;
    if (passes > AMPED_CORCONDIA_PASSES)
      return UINT64_MAX;
  }
  return passes;
}

typedef struct core {
  const amped_context *context;
  amped_saved_factors saved;  /* the factors, restored at the end */
  int modes[AMPED_MAX_ORDER]; /* fewest rows first: the output, the modes that turn, the mode that
                                 stays */
  double *inverses[AMPED_MAX_ORDER]; /* factor times this = pseudo-inverse, transposed */
  double *turned;                    /* an inverse with its columns turned */
  double *product;
  double *fibres; /* [r][c]: element r of fibre c */
  double squares; /* sum of (G - T)^2 */
} core;

static void order_modes(core *c) {
  const amped_plan *plan = c->context->plan;
  for (int m = 0; m < plan->order; m++) {
    int at = m;
    for (; at > 0 && plan->dims[c->modes[at - 1]] > plan->dims[m]; at--)
      c->modes[at] = c->modes[at - 1];
    c->modes[at] = m;
  }
}

static amped_buffers buffers(core *c) {
  amped_buffers b = {.what = "the core consistency"};
  const uint64_t n = (uint64_t)c->context->plan->ncomps;
  for (int m = 0; m < c->context->plan->order; m++)
    AMPED_BUFFER(&b, HOST, c->inverses[m], n * n);
  AMPED_BUFFER(&b, HOST, c->turned, n * n);
  AMPED_BUFFER(&b, HOST, c->product, n * n);
  AMPED_BUFFER(&b, HOST, c->fibres, n * n);
  return b;
}

/* Invert A S, with S = diag(weights^(1/N)): weights are spread evenly over modes. The transposed
 * pseudo-inverse of A S is A times S (S A^T A S)+. A column of A S that is shorter than the
 * rounding of the longest one is zero, as in any pseudo-inverse: its component has vanished. */
static amped_status invert_mode(core *c, int mode, const double *weights, bool *dependent) {
  const amped_context *context = c->context;
  const int n = context->plan->ncomps;
  double *gram = c->product;
  double share[AMPED_MAX_NCOMPS];
  double most = 0.0;
  for (int r = 0; r < n; r++) {
    share[r] = weights[r] > 0.0 ? pow(weights[r], 1.0 / context->plan->order) : 0.0;
    most = fmax(most, share[r]);
  }
  for (int r = 0; r < n; r++)
    if (share[r] < n * DBL_EPSILON * most)
      share[r] = 0.0;
  amped_status status =
      context->worker->backend->factors->gram(context->worker->factors, mode, gram);
  AMPED_TRY(amped_comm_agree(context->comm, status));
  amped_comm_sum(context->comm, gram, n * n);
  for (int r = 0; r < n; r++)
    for (int s = 0; s < n; s++)
      gram[r * n + s] *= share[r] * share[s];
  status = amped_pseudo_inverse(n, context->plan->value_type, gram, c->inverses[mode], dependent);
  AMPED_TRY(amped_comm_agree(context->comm, status));
  for (int r = 0; r < n; r++)
    for (int s = 0; s < n; s++)
      c->inverses[mode][r * n + s] *= share[r];
  return AMPED_OK;
}

/* Mode's factor becomes its pseudo-inverse. Column c gets the pseudo-inverse's column (c + turn)
 * mod R. */
static amped_status put_turned(core *c, int mode, uint64_t turn) {
  const uint64_t n = (uint64_t)c->context->plan->ncomps;
  for (uint64_t r = 0; r < n; r++)
    for (uint64_t s = 0; s < n; s++)
      c->turned[r * n + s] = c->inverses[mode][r * n + (s + turn) % n];
  return amped_saved_factors_put(c->context, &c->saved, mode, c->turned);
}

/* Compute the core's fibres for the present turns, and add their terms to the sum. On the first
 * pass, without any turn, they hold the diagonal. */
static amped_status add_pass(core *c, bool first) {
  const amped_context *context = c->context;
  const int n = context->plan->ncomps;
  const int out = c->modes[0];
  amped_mttkrp_times times;
  AMPED_TRY(amped_mode_mttkrp(context, out, &times));
  AMPED_TRY(amped_saved_factors_times_output(context, &c->saved, out, c->product));
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, n, 1.0, c->inverses[out], n,
              c->product, n, 0.0, c->fibres, n);
  for (int r = 0; r < n; r++)
    for (int s = 0; s < n; s++) {
      double distance = c->fibres[r * n + s] - (first && r == s ? 1.0 : 0.0);
      c->squares += distance * distance;
    }
  return AMPED_OK;
}

/* Run all passes. A pass has a turn (put_turned) for each mode except the first and the last of
 * c->modes: the digits of the pass's number to base R. Among these modes, the one with the fewest
 * rows changes in every pass. */
static amped_status add_passes(core *c) {
  const uint64_t n = (uint64_t)c->context->plan->ncomps;
  const int last = c->context->plan->order - 1;
  const uint64_t passes = amped_corcondia_passes(c->context->plan->order, c->context->plan->ncomps);
  amped_status status = put_turned(c, c->modes[last], 0);
  amped_progress_begin("core consistency", passes, "passes");
  for (uint64_t pass = 0; pass < passes && status == AMPED_OK; pass++) {
    uint64_t digits = pass;
    bool changes = true; /* while all earlier digits are 0 */
    for (int i = 1; i < last && changes && status == AMPED_OK; i++) {
      status = put_turned(c, c->modes[i], digits % n);
      changes = digits % n == 0;
      digits /= n;
    }
    if (status == AMPED_OK)
      status = add_pass(c, pass == 0);
    amped_progress_update(pass + 1);
  }
  amped_progress_end();
  return status;
}

amped_status amped_corcondia(const amped_context *context, const double *weights, double *percent,
                             int *dependent) {
  core c;
  amped_status status = AMPED_OK;
  memset(&c, 0, sizeof c);
  c.context = context;
  *dependent = -1;
  amped_trace_begin(AMPED_PHASE_REPORT, AMPED_NO_NUMBER);
  order_modes(&c);
  AMPED_GO(done, amped_comm_agree(context->comm, amped_buffers_allocate(buffers(&c))));
  AMPED_GO(done, amped_saved_factors_take(context, weights, &c.saved));
  for (int m = 0; m < context->plan->order; m++) {
    bool truncated = false;
    AMPED_GO(done, invert_mode(&c, m, weights, &truncated));
    if (truncated && *dependent < 0)
      *dependent = m;
  }
  AMPED_GO(done, add_passes(&c));
  *percent = 100.0 * (1.0 - c.squares / context->plan->ncomps);
  status = amped_saved_factors_restore(context, &c.saved);
done:
  amped_saved_factors_free(&c.saved);
  amped_buffers_free(buffers(&c));
  amped_trace_end();
  return status;
}

const char *amped_corcondia_text(char *buffer, double percent) {
  if (isnan(percent))
    (void)snprintf(buffer, AMPED_CORCONDIA_TEXT, "-");
  else if (percent < -100.0)
    (void)snprintf(buffer, AMPED_CORCONDIA_TEXT, "< -100 %%");
  else
    (void)snprintf(buffer, AMPED_CORCONDIA_TEXT, "%.5g %%", percent);
  return buffer;
}
