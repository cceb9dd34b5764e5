/* Completion baselines: zero factors, and sweeps of ALS that change biases alone. */
#include "solver/complete/complete_baselines.h"

#include <math.h>
#include <string.h>

#include "base/heartbeat.h"
#include "solver/complete/complete_als.h"

#define SWEEPS 20
#define TOLERANCE 1e-7

int amped_complete_baseline_columns(const amped_complete_problem *problem) {
  return 1 + (problem->fit.biased ? 1 : 0);
}

static void make_zeros(const void *self, int mode, uint64_t index, double *row) {
  const amped_context *context = self;
  (void)mode;
  (void)index;
  memset(row, 0, (size_t)context->plan->ncomps * sizeof *row);
}

/* Fit biases, mode by mode: each mode's biases are optimal while the others stay. */
static amped_status fit_biases(const amped_context *context, const amped_complete_options *options,
                               const amped_row_fit *fit) {
  const amped_complete_method *als = &amped_complete_als;
  double before = INFINITY;
  void *made = NULL;
  const amped_fixed_modes none = {.modes = 0};
  amped_complete_modes modes = {.count = context->plan->order, .fixed = &none};
  amped_status status = AMPED_OK;
  for (int m = 0; m < modes.count; m++)
    modes.order[m] = m;
  AMPED_TRY(als->create(context, options, fit, &made));
  for (int i = 0; i < SWEEPS && status == AMPED_OK; i++) {
    amped_complete_sums sums;
    amped_mode_times times = {0.0, 0.0, 0.0, 0.0, 0.0};
    status = als->sweep(made, fit, &modes, &sums, &times);
    amped_heartbeat_step();
    if (status != AMPED_OK || !(sums.objective < before * (1.0 - TOLERANCE)))
      break;
    before = sums.objective;
  }
  als->destroy(made);
  return status;
}

/* The mean of the training values, as they are in memory. */
static amped_status find_mean(const amped_context *context, double *mean) {
  amped_moments m;
  AMPED_TRY(amped_complete_moments_find(context, &m));
  *mean = m.sum / m.weight;
  return AMPED_OK;
}

amped_status amped_complete_baselines_find(const amped_context *context,
                                           const amped_complete_problem *problem,
                                           amped_complete_baselines *out) {
  amped_row_fit fit = problem->fit;
  amped_complete_problem alone = *problem; /* no factor is fixed */
  alone.fixed = (amped_fixed_modes){.modes = 0};
  memset(out, 0, sizeof *out);
  fit.reg = 1.0; /* any penalty above 0 keeps rows of zeros */
  fit.nonnegative = false;
  memset(fit.prior, 0, sizeof fit.prior);
  AMPED_TRY(find_mean(context, &fit.mean));
  AMPED_TRY(amped_factors_make(context, make_zeros, context));
  AMPED_TRY(amped_complete_errors_find(context, &alone, &fit, &out->mean));
  if (!fit.biased)
    return AMPED_OK;
  AMPED_TRY(fit_biases(context, problem->options, &fit));
  return amped_complete_errors_find(context, &alone, &fit, &out->biases);
}
