#include "tensor/completion.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

const char *const amped_completion_set_names[AMPED_COMPLETION_SETS] = {"train", "validate", "test"};

amped_status amped_completion_create(amped_completion *c, int order, const uint64_t *dims,
                                     bool biased) {
  amped_status status = AMPED_OK;
  memset(c, 0, sizeof *c);
  c->order = order;
  c->scale = 1.0;
  c->best_sweep = 1;
  c->biased = biased;
  memcpy(c->dims, dims, (size_t)order * sizeof *dims);
  for (int m = 0; m < order && biased; m++)
    AMPED_GO(fail, amped_calloc(&c->bias[m], dims[m], sizeof *c->bias[m], "biases"));
  return AMPED_OK;
fail:
  amped_completion_free(c);
  return status;
}

void amped_completion_free(amped_completion *c) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(c->bias[m]);
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    amped_free(c->errors[s].values);
  memset(c, 0, sizeof *c);
}

amped_status amped_completion_set_errors(amped_completion *c, amped_completion_set set,
                                         const double *values, uint64_t count) {
  double *copy = NULL;
  AMPED_TRY(amped_alloc(&copy, count, sizeof *copy, "the errors of all sweeps"));
  if (count > 0)
    memcpy(copy, values, count * sizeof *copy);
  amped_free(c->errors[set].values);
  c->errors[set] = (amped_completion_errors){count, copy};
  return AMPED_OK;
}

void amped_completion_unscale(amped_completion *c, amped_ktensor *k) {
  for (int r = 0; r < k->ncomps; r++)
    k->weights[r] *= c->scale;
  for (int m = 0; m < c->order && c->biased; m++)
    for (uint64_t i = 0; i < c->dims[m]; i++)
      c->bias[m][i] *= c->scale;
  c->scale = 1.0;
}

double amped_completion_error(const amped_completion *c, amped_completion_set set) {
  const amped_completion_errors *e = &c->errors[set];
  return e->count >= c->best_sweep && c->best_sweep > 0 ? e->values[c->best_sweep - 1]
                                                        : (double)NAN;
}
