/* Signs: the columns of a Kruskal tensor that are negated when it is written, so that equal models
 * look equal and most leading entries are positive.
 *
 * The leading entry of a column is the first of its entries of largest magnitude. Columns of a
 * component are negated in pairs, which does not change the model, so that every leading entry is
 * positive. If the number of negative leading entries is odd, the longest mode keeps a negative one
 * (the first of several such modes). Weights do not change. */
#ifndef AMPED_SIGNS_H
#define AMPED_SIGNS_H

#include <stdbool.h>

#include "tensor/ktensor.h"

typedef struct amped_signs {
  bool negated[AMPED_MAX_ORDER][AMPED_MAX_NCOMPS]; /* [mode][component] */
} amped_signs;

void amped_signs_find(const amped_ktensor *k, amped_signs *out);

/* amped_signs_find without modes that have kept[mode]; their columns do not change. For nonnegative
 * modes, and for a completion model's context modes, in which an entry of 1 means "as on average".
 */
void amped_signs_find_but(const amped_ktensor *k, const bool *kept, amped_signs *out);

#endif
