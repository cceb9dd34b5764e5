/* Method: how a sweep of completion makes new factors; a row of a table each (complete_methods.h).
 *
 * All methods lower one objective,
 *
 *     F = sum over nonzeros that are not held out of w (y - model)^2
 *         + sum over rows of L |a - c 1|^2 + reg_bias b^2
 *
 * with the model, the weights and the penalties of row_fit.h; implicit fits have a sum over all
 * cells instead. */
#ifndef AMPED_COMPLETE_METHOD_H
#define AMPED_COMPLETE_METHOD_H

#include "solver/complete_options.h"
#include "solver/mode_update.h"

/* What a sweep leaves, over all ranks. */
typedef struct amped_complete_sums {
  double count;     /* sum of the n of the rows of a mode (row_fit.h) */
  uint64_t unsure;  /* rows without a unique solution */
  double squares;   /* of y - model, with the new factors */
  double objective; /* F */
  double step;      /* of SGD, that the sweep took; 0: another method */
  bool undone;      /* of SGD: F rose, so factors and sums are those before the sweep */
} amped_complete_sums;

typedef struct amped_complete_method {
  const char *name; /* a word of --method */
  /* Adds the bytes of device and host memory that create takes on this rank, for this number of
   * components or fewer. */
  void (*require)(const amped_comm *comm, const amped_worker *worker, const amped_plan *plan,
                  const amped_complete_options *options, bool biased, uint64_t *device_bytes,
                  uint64_t *host_bytes);
  /* Collective; the status is agreed. For the context's plan, with fit->biased. The options are
   * borrowed. *out is NULL after a failure; destroy takes NULL, too. */
  amped_status (*create)(const amped_context *context, const amped_complete_options *options,
                         const amped_row_fit *fit, void **out);
  void (*destroy)(void *self);
  /* Can this worker do it? AMPED_USAGE where it cannot. NULL: where there are row fits. */
  amped_status (*check)(const amped_worker *worker);
  /* Beside the factors, what a sweep begins with: number_count numbers of the object, the same on
   * all ranks. All are 0 where a run begins; a checkpoint brings them back before `begin`. */
  int number_count;
  double *(*numbers)(void *self);
  /* Collective; the status is agreed. The context has a start's factors, or those of a checkpoint.
   * NULL: nothing to do. */
  amped_status (*begin)(void *self, const amped_row_fit *fit);
  /* Collective; the status is agreed. New rows of all modes, in this order. Only fit->reg changes
   * between sweeps. */
  amped_status (*sweep)(void *self, const amped_row_fit *fit, const int *order,
                        amped_complete_sums *sums, amped_mode_times *times);
  /* Collective. New rows of one mode alone, as sweep makes them. *solve_sec: of times->compute,
   * what solving took on this rank; 0 unless fit->timed. Not implicit. The status is this rank's
   * own: a rank that has failed makes only the collective calls. NULL: a sweep does not go mode by
   * mode. */
  amped_status (*update)(void *self, const amped_row_fit *fit, int mode, amped_mode_times *times,
                         double *solve_sec);
} amped_complete_method;

#endif
