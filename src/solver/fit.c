/* Fit: the quick formula, its rounding error, and the pass over nonzeros near a fit of 1. */
#include "solver/fit.h"

#include <inttypes.h>
#include <math.h>

#include "base/log.h"
#include "base/timer.h"
#include "solver/unit_model.h"

/* Rounding errors of the quick formula add up to at most ERRORS units (docs/numerics.md). A
 * residual below HIDDEN units is found by a pass over the nonzeros. */
#define ERRORS 8.0
#define HIDDEN 2048.0

/* Unit roundoff of stored numbers. */
static double unit_of(const amped_plan *plan) {
  return plan->value_type == AMPED_F32 ? 0x1p-24 : 0x1p-53;
}

/* Error of 1 - sqrt(part), if the error of part is at most `error`. */
static double noise_of(double part, double error) {
  return part > error ? error / (sqrt(part) + sqrt(part - error)) : sqrt(error);
}

/* Collective; the status is agreed. Find |X - M|^2 of the factors as stored, by a pass over all
 * nonzeros. spread: sizes / |X|^2. Rounding of stored numbers in X and M moves the fit by at most
 * their unit roundoff. */
static amped_status measure_residual(amped_fit *f, uint64_t sweep, double spread, double *part,
                                     double *noise) {
  const amped_context *context = f->context;
  amped_residual residual = {0.0, 0.0};
  double began = amped_time();
  AMPED_TRY(amped_residual_measure(context, f->fixed, f->pass, f->result->weights, &residual));
  f->result->residuals++;
  if (!f->shown_pass)
    amped_say_verbose("  sweep %" PRIu64
                      ": near a fit of 1 rounding hides the residual; while the fit is so high, a "
                      "pass over all nonzeros (%.3g s) computes it",
                      sweep, amped_time() - began);
  f->shown_pass = true;
  *part = residual.part;
  *noise = noise_of(residual.part, residual.error) + unit_of(context->plan) * (1.0 + sqrt(spread));
  return AMPED_OK;
}

/* Error of <X, M> by rounding of products' operands, relative to |X| |M|. With TF32 it is about
 * 2^-16 (docs/numerics.md). */
static double products_unit(const amped_context *context) {
  return context->worker->tf32 ? 0x1p-16 : unit_of(context->plan);
}

/* The sizes of the quick formula's terms, divided by |X|^2, add up to 1 + sizes / |X|^2. The terms
 * cancel; their rounding remains. */
amped_status amped_fit_find(amped_fit *f, uint64_t sweep, const double *const *grams, double inner,
                            amped_status status, double *part, double *noise) {
  const amped_plan *plan = f->context->plan;
  double sizes = 0.0;
  *part = (plan->norm_squared +
           amped_unit_norm_squared(plan, f->result->weights, grams, f->v, &sizes) - 2.0 * inner) /
          plan->norm_squared;
  const double spread = sizes / plan->norm_squared;
  const double error = unit_of(plan) * (1.0 + spread);
  *noise = noise_of(*part, ERRORS * products_unit(f->context) * (1.0 + spread)) + unit_of(plan);
  if (isfinite(*part) && *part < HIDDEN * error && amped_residual_is_possible(f->context))
    AMPED_ALSO(status, measure_residual(f, sweep, spread, part, noise));
  return status;
}

double amped_fit_of_part(double part) {
  return 1.0 - sqrt(part < 0.0 ? 0.0 : part);
}

amped_status amped_fit_check(const char *name, double number, const char *unit, uint64_t sweep) {
  if (isfinite(number))
    return AMPED_OK;
  return amped_error(
      AMPED_FAILED, NULL,
      "%s is not a number after %s %" PRIu64
      "; check the values' range, or try another --seed, or --precision=double in place "
      "of float",
      name, unit, sweep);
}

amped_status amped_fit_finish(amped_fit *f, double *value) {
  double part = 0.0;
  double noise = 0.0;
  if (!f->context->worker->tf32)
    return AMPED_OK;
  f->shown_pass = true;
  AMPED_TRY(measure_residual(f, f->result->sweeps, 0.0, &part, &noise));
  amped_say("fit by exact products: %.8f; by products in TF32: %.8f", 1.0 - sqrt(part), *value);
  *value = 1.0 - sqrt(part);
  return AMPED_OK;
}
