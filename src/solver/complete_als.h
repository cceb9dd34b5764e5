/* Completion by alternating least squares: rows that fit the observed nonzeros alone.
 *
 * A sweep makes new rows of every mode (mode_update.h) with the tensor format's row fits
 * (row_fit.h), which say what a row minimises. Together, all rows lower the objective
 * (complete_method.h), so it never rises, but for rounding, as long as the penalty stays the same.
 */
#ifndef AMPED_COMPLETE_ALS_H
#define AMPED_COMPLETE_ALS_H

#include "solver/complete_method.h"

extern const amped_complete_method amped_complete_als;

#endif
