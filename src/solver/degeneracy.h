/* Degeneracy: two components that cancel each other. Their columns are alike in every mode, with
 * opposite signs in all, so that both grow without bound and their sum means what neither does
 * (Kruskal, Harshman, Lundy 1989; Mitchell and Burdick 1994). */
#ifndef AMPED_DEGENERACY_H
#define AMPED_DEGENERACY_H

#include "factor/context.h"
#include "solver/fixed_modes.h"

/* Two components cancel if their congruence is below this. */
#define AMPED_DEGENERATE (-0.85)

/* The pair of components of least congruence: the product over modes of the cosines between their
 * columns, from -1 to 1. */
typedef struct amped_degeneracy {
  double congruence; /* NaN: there are no two components that are not zero */
  int first, second; /* columns of the factors */
} amped_degeneracy;

/* Collective; the status is agreed. Find that pair in the factors of the context, and in
 * rows of fixed modes outside the tensor. */
amped_status amped_degeneracy_find(const amped_context *context, const amped_fixed_modes *fixed,
                                   amped_degeneracy *out);

#endif
