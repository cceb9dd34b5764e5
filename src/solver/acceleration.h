/* Acceleration: a sweep of CP-ALS begins not at the model x that stands, but at
 *
 *     y = x + beta (x - x'),      x' the model before x,
 *
 * all modes at once. Here the columns of modes 1, 2, .. have unit length, and mode 0 has the
 * weights in it. y is made on all rows of every rank, so that no row travels. One set of factors is
 * enough: while y and what follows from it are in hand, x lies in the past (factor_past.h), and is
 * what the next step begins from, whether y is accepted or not.
 *
 *   line search  beta = (number of the sweep)^(1/3) - 1. y is accepted where it is no worse than x.
 *                The first MTTKRP of the sweep tells: that of mode 0 uses y's other factors, and
 *                its product with y's factor 0 is <X, y>.
 *   momentum     beta = min(1, g / the g before), g = |x - x'| (Mitchell, Ye, De Sterck 2020). The
 *                sweep from y is accepted where its model is no worse than x.
 *
 * What is refused leaves x and no step: the next sweep is a plain one. So models never get worse.
 *
 * The state of a checkpoint is x', which is in the past then, and the numbers. */
#ifndef AMPED_ACCELERATION_H
#define AMPED_ACCELERATION_H

#include "factor/saved_factors.h"
#include "solver/cpd_options.h"
#include "solver/iterate.h"

typedef struct amped_acceleration amped_acceleration;

/* The name of a kind of acceleration; static text; NULL for none. */
const char *amped_accelerate_name(amped_accelerate how);

/* Adds the bytes that an acceleration takes. */
void amped_acceleration_require(const amped_worker *worker, const amped_plan *plan,
                                uint64_t *device_bytes, uint64_t *host_bytes);

/* The model in hand: its weights, and its grams of all modes, which the solver owns; both are set
 * by propose and refuse. */
typedef struct amped_acceleration_model {
  double *weights;
  double *const *grams;
  uint64_t nonnegative; /* bit m: y's factor of mode m is clipped at 0, as x's has no less */
} amped_acceleration_model;

/* Collective; the status is agreed. With `start`, whose factors are in hand, also `before`: the
 * factors of x'. destroy takes NULL, too. */
amped_status amped_acceleration_create(const amped_context *context, amped_accelerate how,
                                       const amped_acceleration_model *model,
                                       const amped_solver_state *start,
                                       const amped_saved_factors *before, amped_acceleration **out);
void amped_acceleration_destroy(amped_acceleration *a);

/* Collective, at the beginning of a sweep: y takes the place of the model in hand, where there is a
 * step. The status of a step is agreed; without one it is this rank's own. So it is of test and
 * judge where they refuse. */
amped_status amped_acceleration_propose(amped_acceleration *a, uint64_t sweep);

/* Collective, after MTTKRP of mode 0 at y: |X - y|^2 / |X|^2 is set, of which `part` is x's, and
 * y is refused where it has more. *is_refused: factors have changed, and MTTKRP is to be made
 * again. Only of a kind that is_tested before its sweep. */
bool amped_acceleration_is_tested(const amped_acceleration *a);
amped_status amped_acceleration_test(amped_acceleration *a, double part, bool *is_refused);

/* Collective, after a sweep from y whose model has the value `value`, and x had `last`: what is
 * worse is refused, and then *value becomes last. */
amped_status amped_acceleration_judge(amped_acceleration *a, double last, double *value);

/* Did judge refuse the last sweep, so that its change of the value is that of no sweep? */
bool amped_acceleration_is_undone(const amped_acceleration *a);

/* The step of the sweep in hand, or done; and of all sweeps. */
void amped_acceleration_tell(const amped_acceleration *a, amped_sweep_step *step,
                             amped_steps *steps);

/* Part of a solver's view. */
void amped_acceleration_view(amped_acceleration *a, amped_solver_state *state);

#endif
