/* Method: how a sweep of completion makes new factors. Each method is a row of a table
 * (complete_methods.h).
 *
 * All methods lower one objective,
 *
 *     F = sum over nonzeros that are not held out of w (y - model)^2
 *         + sum over rows of L |a - c 1|^2 + reg_bias b^2
 *
 * with the model, weights and penalties of row_fit.h. For implicit fits the first sum is over all
 * cells. */
#ifndef AMPED_COMPLETE_METHOD_H
#define AMPED_COMPLETE_METHOD_H

#include "solver/complete/complete_options.h"
#include "solver/fixed_modes.h"
#include "solver/mode_update.h"

/* Results of a sweep, summed over all ranks. */
typedef struct amped_complete_sums {
  double count;     /* sum of n over the rows of a mode (row_fit.h) */
  uint64_t unsure;  /* rows without a unique solution */
  double squares;   /* sum of w (y - model)^2, with the new factors */
  double objective; /* F */
  double step;      /* SGD: step length of the sweep; 0: another method */
  bool undone;      /* SGD: F rose, so factors and sums were reset to their values before the
                       sweep */
} amped_complete_sums;

/* Modes of a sweep: the free modes, in the order of their updates. */
typedef struct amped_complete_modes {
  int count;
  int order[AMPED_MAX_ORDER];
  const amped_fixed_modes *fixed; /* borrowed */
  uint64_t
      nonnegative; /* bit m: components of mode m are nonnegative. SGD takes fit->nonnegative */
} amped_complete_modes;

typedef struct amped_complete_method {
  const char *name; /* name of the method; static text */
  /* Adds the bytes of device and host memory that create takes on this rank, for the plan's number
   * of components or fewer. */
  void (*require)(const amped_comm *comm, const amped_worker *worker, const amped_plan *plan,
                  const amped_complete_options *options, bool biased, uint64_t *device_bytes,
                  uint64_t *host_bytes);
  /* Collective; the status is agreed. Make the method's object, for the context's plan and
   * fit->biased. The options are borrowed. *out is NULL on failure; destroy accepts NULL. */
  amped_status (*create)(const amped_context *context, const amped_complete_options *options,
                         const amped_row_fit *fit, void **out);
  void (*destroy)(void *self);
  /* Returns AMPED_USAGE if this worker cannot run the method. NULL: every worker with row fits
   * can. */
  amped_status (*check)(const amped_worker *worker);
  /* State from which a sweep begins, in addition to the factors: number_count numbers of the
   * object, the same on all ranks. All are 0 when a run begins. A checkpoint restores them before
   * `begin`. */
  int number_count;
  double *(*numbers)(void *self);
  /* Collective; the status is agreed. Called when the context has the factors of a start or of a
   * checkpoint. NULL: nothing to prepare. */
  amped_status (*begin)(void *self, const amped_row_fit *fit);
  /* Collective; the status is agreed. Make new rows of these modes, in this order. Only fit->reg
   * may change between sweeps. */
  amped_status (*sweep)(void *self, const amped_row_fit *fit, const amped_complete_modes *modes,
                        amped_complete_sums *sums, amped_mode_times *times);
  /* Collective. Make new rows of one mode only, as sweep does. *solve_sec: this rank's seconds of
   * solving, a part of times->compute; 0 unless fit->timed. Never with implicit fits. The status is
   * this rank's own: a rank that has failed makes only the collective calls. NULL: sweeps do not go
   * mode by mode. */
  amped_status (*update)(void *self, const amped_row_fit *fit, int mode, amped_mode_times *times,
                         double *solve_sec);
} amped_complete_method;

#endif
