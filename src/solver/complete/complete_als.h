/* Completion by alternating least squares (ALS): rows are fitted to the observed nonzeros only.
 *
 * A sweep makes the new rows of every mode (mode_update.h) with the tensor format's row fits
 * (row_fit.h), which define what a row minimises. The rows of a mode together lower the objective
 * (complete_method.h). It never rises while the penalty stays the same, except by rounding. */
#ifndef AMPED_COMPLETE_ALS_H
#define AMPED_COMPLETE_ALS_H

#include "solver/complete/complete_method.h"

extern const amped_complete_method amped_complete_als;

#endif
