/* ALS state: what the next sweep of a decomposition begins from, besides the factors.
 *
 * A struct that amped_als_state_create or _copy filled owns its arrays; others borrow them. */
#ifndef AMPED_ALS_STATE_H
#define AMPED_ALS_STATE_H

#include "base/status.h"
#include "base/types.h"

typedef struct amped_als_state {
  int order;
  int ncomps;
  uint64_t sweeps;                /* done so far */
  double *fit;                    /* [sweeps] */
  double *weights;                /* [ncomps] */
  double *grams[AMPED_MAX_ORDER]; /* ncomps x ncomps each, as the last sweep left them */
} amped_als_state;

amped_status amped_als_state_create(amped_als_state *state, int order, int ncomps, uint64_t sweeps);
amped_status amped_als_state_copy(amped_als_state *out, const amped_als_state *from);
void amped_als_state_free(amped_als_state *state);

#endif
