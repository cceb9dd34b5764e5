/* Form: does a tensor take less time and less memory as a list of nonzeros or as cells
 * (docs/dense.md)? Pure functions. */
#ifndef AMPED_FORM_H
#define AMPED_FORM_H

#include <stdbool.h>

#include "base/types.h"

/* Densities above which a dense tensor takes less time per sweep, and less memory, than a sparse
 * one. */
#define AMPED_FORM_FASTER 0.03
#define AMPED_FORM_SMALLER 0.20

/* Nonzeros divided by cells; above 1 if coordinates repeat. */
double amped_form_density(int order, const uint64_t *dims, uint64_t nnz);

bool amped_form_dense_is_faster(double density);
bool amped_form_dense_is_smaller(double density);

/* Both answers in one line. Static text. */
const char *amped_form_text(double density);

#endif
