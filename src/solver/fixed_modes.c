/* Fixed modes: the list of the others, and Gram matrices of rows outside the tensor. */
#include "solver/fixed_modes.h"

bool amped_fixed_modes_has(const amped_fixed_modes *fixed, int mode) {
  return (fixed->modes >> mode & 1) != 0;
}

amped_mode_order amped_fixed_modes_free(const amped_fixed_modes *fixed, int order) {
  amped_mode_order out = {.count = 0, .random = false};
  for (int m = 0; m < order; m++)
    if (!amped_fixed_modes_has(fixed, m))
      out.modes[out.count++] = m;
  return out;
}

void amped_fixed_modes_add(const amped_fixed_modes *fixed, int mode, int ncomps, double *gram) {
  const double *outside = fixed != NULL ? fixed->outside[mode] : NULL;
  for (int i = 0; i < ncomps * ncomps && outside != NULL; i++)
    gram[i] += outside[i];
}
