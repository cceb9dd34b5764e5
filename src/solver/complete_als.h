/* Completion by alternating least squares: rows that fit the observed nonzeros alone.
 *
 * A sweep makes new rows of every mode (mode_update.h) with the tensor format's row fits
 * (row_fit.h), which say what a row minimises. Together, all rows lower the objective
 *
 *     F = sum over nonzeros that are not held out of (y - model)^2
 *         + sum over rows of L |a - c 1|^2 + reg_bias b^2
 *
 * so F never rises, but for rounding, as long as the penalty stays the same. */
#ifndef AMPED_COMPLETE_ALS_H
#define AMPED_COMPLETE_ALS_H

#include "factor/row_reduce.h"
#include "solver/mode_update.h"

typedef struct amped_complete_als {
  const amped_context *context;
  amped_row_fit fit;        /* the caller sets it, and changes its reg between sweeps */
  amped_row_reduce *reduce; /* of equations; NULL on one rank */
  amped_row_fit_sums sums;  /* of the mode in hand */
  double solve_sec;         /* of shared rows, in the sweep in hand */
} amped_complete_als;

/* What a sweep leaves, over all ranks. */
typedef struct amped_complete_sums {
  uint64_t count;   /* nonzeros that are learnt */
  uint64_t unsure;  /* rows without a unique solution */
  double squares;   /* of y - model, after the last mode */
  double objective; /* F */
} amped_complete_sums;

/* Bytes of host memory that create takes. */
uint64_t amped_complete_als_host_bytes(const amped_plan *plan, bool biased);

/* Collective; the status is agreed. For the context's plan, with fit->biased. destroy takes a
 * zeroed object, too. */
amped_status amped_complete_als_create(const amped_context *context, const amped_row_fit *fit,
                                       amped_complete_als *out);
void amped_complete_als_destroy(amped_complete_als *als);

/* Collective. New rows of all modes, in this order. A failure on this rank ends the job. */
void amped_complete_als_sweep(amped_complete_als *als, const int *order, amped_complete_sums *sums,
                              amped_mode_times *times);

#endif
