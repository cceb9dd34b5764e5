/* Fixed modes: modes whose factors a run takes from a model and never changes. The other modes are
 * free: sweeps update them in ascending order.
 *
 * A fixed factor of the model may have rows for indices outside the tensor. A sparse tensor is
 * zero there, so these rows belong to the model's norm and to the normal equations, but to no
 * MTTKRP. The context's factors do not have them; only their Gram matrices are kept. Zeros: no mode
 * is fixed. No function is collective. */
#ifndef AMPED_FIXED_MODES_H
#define AMPED_FIXED_MODES_H

#include "solver/mode_order.h"

typedef struct amped_fixed_modes {
  uint64_t modes;                         /* bit m: mode m is fixed */
  uint64_t rows_outside[AMPED_MAX_ORDER]; /* numbers of rows outside the tensor */
  /* [positions] complete: 1: a row of the tensor that has learnt nothing in the model. The mean of
   * the model's learnt rows stands for it (tensor/predictor.h). The same on every rank; borrowed.
   * NULL: all have. */
  const uint8_t *unlearnt[AMPED_MAX_ORDER];
  /* [ncomps][ncomps] Gram matrices of rows outside the tensor, the same on every rank; borrowed.
   * NULL: it has all rows. */
  const double *outside[AMPED_MAX_ORDER];
  /* [ncomps] length of the context's fixed column / length of the model's, multiplied over modes,
   * for penalties, which are about the model's columns. The weights take up the difference.
   * Borrowed. NULL: 1. */
  const double *scale;
} amped_fixed_modes;

bool amped_fixed_modes_has(const amped_fixed_modes *fixed, int mode);

/* The free modes, ascending. */
amped_mode_order amped_fixed_modes_free(const amped_fixed_modes *fixed, int order);

/* gram += the Gram matrix of mode's rows outside the tensor. fixed NULL: no mode is fixed. */
void amped_fixed_modes_add(const amped_fixed_modes *fixed, int mode, int ncomps, double *gram);

#endif
