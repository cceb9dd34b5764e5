/* Gap errors: the error that a model is expected to have at the missing cells of each row, even if
 * the row is the best guess from its known cells. A held-out cell has neighbours like itself, and a
 * gap may have none: then held-out errors say nothing about it.
 *
 * Known cells of a row a give the normal equations H (backend/row_fit.h), and have independent
 * errors of variance s^2. Before they are seen, rows of the mode are taken to be spread as the
 * learnt rows are: with second moments C, half of it on the diagonal alone. If the other modes are
 * right, the best guess has the covariance P = (H / s^2 + C^-1)^-1. G is the sum of p p^T over the
 * row's missing cells. Then the expected squared error of these cells is trace(G P) / cells.
 *
 * It is about s^2 R / known cells if gaps resemble known cells, and far above s^2 if they need a
 * component that known cells do not see. No penalty takes part: one that makes such components 0
 * does not make them known.
 *
 * Held-out cells are known, but count as missing in G, which leaves out learnt cells. With weights
 * the known cells' own p p^T are not summed; then G is over all cells of the row. */
#ifndef AMPED_GAP_ERRORS_H
#define AMPED_GAP_ERRORS_H

#include "solver/complete/complete_problem.h"

typedef struct amped_gap_errors {
  double *rmse[AMPED_MAX_ORDER];  /* [dims] by index: expected rmse of its gaps, in the values'
                                     units; 0:  no gap, no known cell, or a fixed mode */
  double *known[AMPED_MAX_ORDER]; /* [dims] by index: total weight of its learnt cells */
  double *cells[AMPED_MAX_ORDER]; /* [dims] by index: number of its known cells: learnt, held out */
} amped_gap_errors;

/* Is the tensor one whose gaps are measured? More than a sixteenth of all cells is listed, some are
 * not or may have weight 0, and the fit is not implicit: a sparser tensor is seldom filled, and its
 * entries are nearly all alike. The equations of all rows may take 256 MiB or 16 bytes for each
 * known cell, whichever is more. components: the most of a run. The same on every rank. */
bool amped_gap_errors_apply(const amped_plan *plan, const amped_complete_options *options,
                            int components, bool biased);

/* Adds the bytes of device and host memory that find takes on this rank, for the plan's number of
 * components. */
void amped_gap_errors_require(const amped_worker *worker, const amped_plan *plan, bool biased,
                              uint64_t *device_bytes, uint64_t *host_bytes);

/* Collective; the status is agreed. The context's factors must belong to the best sweep.
 * error: its rmse at known cells, in the values' units, which is taken for s. The same on every
 * rank. Cells may not be repeated. *out is empty on failure. */
amped_status amped_gap_errors_find(const amped_context *context,
                                   const amped_complete_problem *problem, double error,
                                   amped_gap_errors *out);
void amped_gap_errors_free(amped_gap_errors *errors);

#endif
