/* Ruled rows: the row update of a mode's factor under a row rule (row_rule.h), in place of the
 * plain one.
 *
 * The model in hand has unit columns and weights. A row b of the mode in hand has the weights in
 * it; the other modes' lengths c_r, whose share the rule tells, turn the penalties of the factor's
 * own row b_r / c_r into ridge / c_r^2 on V's diagonal, and l1 / c_r as threshold. Where all
 * weights are 0, before the first update, nothing is penalised; later a component of weight 0 is
 * gone. */
#ifndef AMPED_RULED_ROWS_H
#define AMPED_RULED_ROWS_H

#include "factor/context.h"
#include "solver/row_rule.h"

typedef struct amped_ruled_rows amped_ruled_rows;

/* The rule is borrowed. weights and grams are the solver's: of the model in hand. No function but
 * begin, finish and measure is collective; statuses of the others are this rank's own. destroy
 * takes NULL, too.
 */
amped_status amped_ruled_rows_create(const amped_context *context, const amped_row_rule *rule,
                                     double *weights, double *const *grams, amped_ruled_rows **out);
void amped_ruled_rows_destroy(amped_ruled_rows *ruled);
uint64_t amped_ruled_rows_bytes(const amped_plan *plan); /* of host memory, on every rank */

/* Collective, before the first sweep, when the grams are known. Of a start the columns of modes 1,
 * 2, .. get unit length: penalties, and the ends of descents, depend on lengths. The status is this
 * rank's own. */
amped_status amped_ruled_rows_begin(amped_ruled_rows *ruled, bool is_start);

/* Before mode's update: v, the Hadamard product of the other grams, gets the penalties. */
void amped_ruled_rows_prepare(amped_ruled_rows *ruled, int mode, double *v);
/* v's inverse gets rid of components that are gone. */
void amped_ruled_rows_drop(const amped_ruled_rows *ruled, double *p);
/* By row descent: rows first .. end of this rank's block become new. v as prepared. */
amped_status amped_ruled_rows_descend(amped_ruled_rows *ruled, int mode, uint64_t first,
                                      uint64_t end, const double *v, amped_row_sums *sums);
/* Collective, when own rows of mode have unit columns. `status` is this rank's own so far; that of
 * the return is agreed under an l1 penalty, else this rank's own. */
amped_status amped_ruled_rows_finish(amped_ruled_rows *ruled, int mode, amped_status status);

/* The penalties of the model in hand. */
double amped_ruled_rows_penalty(const amped_ruled_rows *ruled);

/* What a model is at the end. */
typedef struct amped_rows_end {
  bool is_measured;
  /* Of the objective's gradient in a mode's rows, without what points out of the nonnegative ones
   * and what a threshold holds: its length over that of MTTKRP's rows; the largest of all modes. */
  double optimality;
  double zeros[AMPED_MAX_ORDER]; /* share of a factor's entries */
} amped_rows_end;

/* Collective, after the last sweep: MTTKRPs of all modes. The status is agreed. */
amped_status amped_ruled_rows_measure(amped_ruled_rows *ruled, amped_rows_end *out);

#endif
