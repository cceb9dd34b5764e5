/* Acceleration: a sweep of CP-ALS begins not at the current model x, but at
 *
 *     y = x + beta (x - x'),      x': the model before x,
 *
 * in all modes at once. The columns of modes 1, 2, ... have unit length, and mode 0 includes the
 * weights. Every rank makes y on all rows, so no row is sent. One set of factors is enough: during
 * a sweep from y, x is kept as the previous factors (factor_history.h). The next step uses x,
 * whether y is accepted or not.
 *
 *   line search  beta = (number of the sweep)^(1/3) - 1. y is accepted if it is no worse than x.
 * The sweep's first MTTKRP decides: it uses y's factors of modes 1, 2, ..., so its inner product
 * with y's factor 0 is <X, y>. momentum     beta = min(1, g / the last g), g = |x - x'| (Mitchell,
 * Ye, De Sterck 2020). The sweep from y is accepted if its model is no worse than x.
 *
 * A refusal restores x, and the next sweep is a plain one. Therefore models never get worse.
 *
 * A checkpoint's state is x', which is in the previous factors then, and the numbers. */
#ifndef AMPED_ACCELERATION_H
#define AMPED_ACCELERATION_H

#include "factor/saved_factors.h"
#include "solver/cpd/cpd_options.h"
#include "solver/iterate.h"
#include "solver/mode_order.h"

typedef struct amped_acceleration amped_acceleration;

/* Returns the name of a kind of acceleration; static text; NULL for none. */
const char *amped_accelerate_name(amped_accelerate how);

/* Adds the bytes that an acceleration takes on this rank. */
void amped_acceleration_require(const amped_worker *worker, const amped_plan *plan,
                                uint64_t *device_bytes, uint64_t *host_bytes);

/* The current model: weights, and grams of all modes. Both are the solver's. propose sets them, and
 * also test or judge if they refuse. */
typedef struct amped_acceleration_model {
  double *weights;
  double *const *grams;
  uint64_t nonnegative;  /* bit m: clip y's factor of mode m at 0, because x's is nonnegative */
  amped_mode_order free; /* modes with steps; the others are the same in x and y */
} amped_acceleration_model;

/* Collective; the status is agreed. start: state of a checkpoint, whose factors are the current
 * ones; before: its factors of x'. NULL: a new run. destroy accepts NULL. */
amped_status amped_acceleration_create(const amped_context *context, amped_accelerate how,
                                       const amped_acceleration_model *model,
                                       const amped_solver_state *start,
                                       const amped_saved_factors *before, amped_acceleration **out);
void amped_acceleration_destroy(amped_acceleration *a);

/* Collective, at the beginning of a sweep. If there is a step, y replaces the current model, and
 * the status is agreed; otherwise it is this rank's own. The status of test or judge is this rank's
 * own if they refuse. */
amped_status amped_acceleration_propose(amped_acceleration *a, uint64_t sweep);

/* Collective, after MTTKRP of the first free mode at y. Compute |X - y|^2 / |X|^2, and refuse y if
 * it is above `part`, the value at x. *is_refused: the factors have changed, so MTTKRP must be
 * repeated. Call it only if is_tested is true for the sweep. */
bool amped_acceleration_is_tested(const amped_acceleration *a);
amped_status amped_acceleration_test(amped_acceleration *a, double part, bool *is_refused);

/* Collective, after a sweep from y. *value: metric of the sweep's model; last: metric of x. A worse
 * model is refused; then *value becomes last. */
amped_status amped_acceleration_judge(amped_acceleration *a, double last, double *value);

/* True if judge refused the last sweep; the change of the metric then belongs to no sweep. */
bool amped_acceleration_is_undone(const amped_acceleration *a);

/* Add the step of the last sweep, or the counts of all sweeps. */
void amped_acceleration_tell_step(const amped_acceleration *a, amped_facts *facts);
void amped_acceleration_tell(const amped_acceleration *a, amped_facts *facts);

/* MTTKRPs that this run made again, because a step was refused. */
uint64_t amped_acceleration_repeated(const amped_acceleration *a);

/* Set the acceleration's part of a solver's state. */
void amped_acceleration_view(amped_acceleration *a, amped_solver_state *state);

#endif
