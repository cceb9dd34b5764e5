/* Degeneracy: the least product of cosines, from the Gram matrices of the factors. */
#include "solver/degeneracy.h"

#include <math.h>

#include "base/mem.h"
#include "solver/unit_model.h"

/* Multiply the products by the cosines of a mode's columns. */
static void multiply(int n, const double *gram, double *products) {
  for (int a = 0; a < n; a++)
    for (int b = 0; b < a; b++)
      products[a * n + b] *= gram[a * n + b] / sqrt(gram[a * n + a] * gram[b * n + b]);
}

static void find_least(int n, const double *products, amped_degeneracy *out) {
  for (int a = 0; a < n; a++)
    for (int b = 0; b < a; b++)
      if (isfinite(products[a * n + b]) &&
          (isnan(out->congruence) || products[a * n + b] < out->congruence))
        *out = (amped_degeneracy){.congruence = products[a * n + b], .first = b, .second = a};
}

amped_status amped_degeneracy_find(const amped_context *context, const amped_fixed_modes *fixed,
                                   amped_degeneracy *out) {
  const amped_plan *plan = context->plan;
  const int n = plan->ncomps;
  const uint64_t count = (uint64_t)n * (uint64_t)n;
  double *gram = NULL;
  double *products = NULL;
  amped_status status = AMPED_OK;
  *out = (amped_degeneracy){.congruence = (double)NAN};
  status = amped_alloc(&gram, count, sizeof *gram, "a Gram matrix");
  if (status == AMPED_OK)
    status = amped_alloc(&products, count, sizeof *products, "products of cosines");
  AMPED_GO(done, amped_comm_agree(context->comm, status));
  for (uint64_t i = 0; i < count; i++)
    products[i] = 1.0;
  for (int m = 0; m < plan->order; m++) {
    AMPED_GO(done, amped_unit_gram(context, m, AMPED_OK, gram));
    amped_fixed_modes_add(fixed, m, n, gram);
    multiply(n, gram, products);
  }
  find_least(n, products, out);
done:
  amped_free(gram);
  amped_free(products);
  return status;
}
