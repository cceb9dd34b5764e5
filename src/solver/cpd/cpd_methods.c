/* CPD methods: the table, and the check for options that exclude each other. */
#include "solver/cpd/cpd_methods.h"

#include "solver/cpd/cpd_lm.h"
#include "solver/cpd/cpd_poisson.h"
#include "solver/cpd/cpd_rbs.h"

static const amped_solver *als_solver(const amped_cpd_options *how) {
  return amped_cpd_solver_of(how->accelerate);
}

static const amped_solver *lm_solver(const amped_cpd_options *how) {
  (void)how;
  return &amped_cpd_lm_solver;
}

static void lm_require(const amped_worker *worker, const amped_plan *plan,
                       const amped_cpd_options *how, uint64_t *device_bytes, uint64_t *host_bytes) {
  (void)how;
  amped_cpd_lm_require(worker, plan, device_bytes, host_bytes);
}

static amped_status lm_run(const amped_context *context, const amped_cpd_options *how,
                           const amped_saved_factors *before, const amped_iterate_options *options,
                           amped_solver_result *result) {
  (void)how;
  (void)before;
  return amped_cpd_lm(context, options, result);
}

static const amped_solver *rbs_solver(const amped_cpd_options *how) {
  (void)how;
  return &amped_cpd_rbs_solver;
}

static amped_status rbs_run(const amped_context *context, const amped_cpd_options *how,
                            const amped_saved_factors *before, const amped_iterate_options *options,
                            amped_solver_result *result) {
  (void)before;
  return amped_cpd_rbs(context, how, options, result);
}

static const amped_cpd_method methods[] = {
    [AMPED_CPD_ALS] = {.name = "als",
                       .described = NULL,
                       .solver = als_solver,
                       .sweep_passes = 1.0,
                       .require = amped_cpd_require,
                       .run = amped_cpd_run,
                       .run_all = amped_cpd_run_all},
    [AMPED_CPD_LM] =
        {.name = "lm",
         .described = "Levenberg-Marquardt: a sweep is a damped Gauss-Newton step of all factors, "
                      "or its refusal",
         .solver = lm_solver,
         .require = lm_require,
         .run = lm_run},
    [AMPED_CPD_RBS] = {.name = "rbs",
                       .described = NULL,
                       .solver = rbs_solver,
                       .require = amped_cpd_require,
                       .run = rbs_run},
};

static const amped_cpd_method poisson = {
    .name = "em",
    .described = "counts: a sweep is a step of expectation maximisation in every mode",
    .solver = amped_cpd_poisson_solver,
    .sweep_passes = 1.4, /* measured on GPUs (docs/benchmarks.md) */
    .require = amped_cpd_poisson_require,
    .run = amped_cpd_poisson};

const amped_cpd_method *amped_cpd_method_of(const amped_cpd_options *how) {
  return how->loss == AMPED_LOSS_POISSON ? &poisson : &methods[how->method];
}

const char *amped_loss_name(const amped_cpd_options *how) {
  return how->loss == AMPED_LOSS_POISSON ? "poisson" : NULL;
}
