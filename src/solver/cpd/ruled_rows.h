/* Ruled rows: the row update of a mode's factor under a row rule (row_rule.h), in place of the
 * plain one.
 *
 * The current model has unit columns in free modes, and weights. A row b of the current mode
 * includes the weights. c_r is the product of the lengths of the other free modes' columns, as the
 * rule distributes them. The factor's own row is b_r / c_r, so its penalties become ridge / c_r^2
 * on V's diagonal, and the threshold l1 / c_r. Before the first update all weights are 0, and
 * nothing is penalised. Later a component is gone if its weight is 0, or less than the rounding of
 * the tensor's norm. */
#ifndef AMPED_RULED_ROWS_H
#define AMPED_RULED_ROWS_H

#include "base/facts.h"
#include "factor/context.h"
#include "solver/cpd/row_rule.h"
#include "solver/fixed_modes.h"

typedef struct amped_ruled_rows amped_ruled_rows;

/* The rule and `fixed` are borrowed; fixed modes are neither penalised nor measured. weights and
 * grams: the current model's, owned by the solver. Only begin, finish and measure are collective;
 * the statuses of the other functions are this rank's own. destroy accepts NULL. */
amped_status amped_ruled_rows_create(const amped_context *context, const amped_row_rule *rule,
                                     const amped_fixed_modes *fixed, double *weights,
                                     double *const *grams, amped_ruled_rows **out);
void amped_ruled_rows_destroy(amped_ruled_rows *ruled);
uint64_t amped_ruled_rows_bytes(const amped_plan *plan); /* host memory, on every rank */

/* Collective, before the first sweep, when the grams are known of the free modes from the first-th
 * on; the ones before are updated before they are read. is_start: scale columns to unit length,
 * because penalties and the ends of descents depend on lengths. The status is this rank's own. */
amped_status amped_ruled_rows_begin(amped_ruled_rows *ruled, bool is_start, int first);

/* Before mode's update: add the penalties to v, the Hadamard product of the other grams. */
void amped_ruled_rows_prepare(amped_ruled_rows *ruled, int mode, double *v);
/* Set the columns of components that are gone to 0 in the matrix from which new rows come. */
void amped_ruled_rows_drop(const amped_ruled_rows *ruled, double *matrix);
/* Make rows first .. end of this rank's block new, by row descent. v: as prepared. */
amped_status amped_ruled_rows_descend(amped_ruled_rows *ruled, int mode, uint64_t first,
                                      uint64_t end, const double *v, amped_row_sums *sums);
/* Collective, when own rows of mode have unit columns. status: this rank's own so far. Under an l1
 * penalty the returned status is agreed; otherwise it is this rank's own. */
amped_status amped_ruled_rows_finish(amped_ruled_rows *ruled, int mode, amped_status status);

/* Returns the penalties of the current model. */
double amped_ruled_rows_penalty(const amped_ruled_rows *ruled);

/* Collective, after the last sweep; the status is agreed. Measure `count` models side by side by
 * MTTKRPs of all free modes: the share of zeros in each factor, and its optimality. This is the
 * largest ratio, over modes, of the length of the objective's gradient in the mode's rows to the
 * length of MTTKRP's rows. Factors have the lengths that minimise the penalties. Parts of the
 * gradient that point out of the nonnegative range, or that a threshold holds, do not count. */
amped_status amped_ruled_rows_measure(amped_ruled_rows *const *ruled, int count);
/* Add these measures, and the objective, if there is one (otherwise NaN). */
void amped_ruled_rows_tell(const amped_ruled_rows *ruled, double objective, amped_facts *facts);

#endif
