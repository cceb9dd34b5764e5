/* Solver state: allocation, copies and release. */
#include "solver/solver_state.h"

#include <string.h>

#include "base/mem.h"

amped_status amped_solver_state_create(amped_solver_state *state, int order, int ncomps,
                                       uint64_t sweeps, bool has_grams) {
  const uint64_t n = (uint64_t)ncomps;
  amped_status status = AMPED_OK;
  memset(state, 0, sizeof *state);
  state->order = order;
  state->ncomps = ncomps;
  state->sweeps = sweeps;
  AMPED_GO(fail, amped_calloc(&state->history, sweeps, sizeof(double), "the sweeps' metric"));
  AMPED_GO(fail, amped_calloc(&state->weights, n, sizeof(double), "the weights"));
  for (int m = 0; has_grams && m < order; m++)
    AMPED_GO(fail, amped_calloc(&state->grams[m], n * n, sizeof(double), "a gram matrix"));
  return AMPED_OK;
fail:
  amped_solver_state_free(state);
  return status;
}

amped_status amped_solver_state_copy(amped_solver_state *out, const amped_solver_state *from) {
  const size_t n = (size_t)from->ncomps;
  const bool has_grams = from->grams[0] != NULL;
  AMPED_TRY(amped_solver_state_create(out, from->order, from->ncomps, from->sweeps, has_grams));
  out->metric = from->metric;
  memcpy(out->history, from->history, (size_t)from->sweeps * sizeof *out->history);
  memcpy(out->weights, from->weights, n * sizeof *out->weights);
  for (int m = 0; has_grams && m < from->order; m++)
    memcpy(out->grams[m], from->grams[m], n * n * sizeof *out->grams[m]);
  if (from->number_count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&out->numbers, from->number_count, sizeof(double), "the solver's state"));
  memcpy(out->numbers, from->numbers, (size_t)from->number_count * sizeof(double));
  out->number_count = from->number_count;
  return AMPED_OK;
}

void amped_solver_state_free(amped_solver_state *state) {
  amped_free(state->numbers);
  amped_ktensor_free(&state->kept);
  amped_free(state->history);
  amped_free(state->weights);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(state->grams[m]);
  memset(state, 0, sizeof *state);
}
