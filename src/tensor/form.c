/* Form: density of a tensor, and the advice that follows from it. */
#include "tensor/form.h"

double amped_form_density(int order, const uint64_t *dims, uint64_t nnz) {
  double density = (double)nnz;
  for (int m = 0; m < order; m++)
    density /= (double)dims[m];
  return density;
}

bool amped_form_dense_is_faster(double density) {
  return density > AMPED_FORM_FASTER;
}

bool amped_form_dense_is_smaller(double density) {
  return density > AMPED_FORM_SMALLER;
}

const char *amped_form_text(double density) {
  if (amped_form_dense_is_smaller(density))
    return "dense is faster (above about 3 % of nonzeros) and smaller (above about 20 %)";
  if (amped_form_dense_is_faster(density))
    return "dense is faster (above about 3 % of nonzeros), sparse is smaller (below about 20 %)";
  return "sparse is faster (below about 3 % of nonzeros) and smaller (below about 20 %)";
}
