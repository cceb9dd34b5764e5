/* Multistart: results and saved factors of the starts, their scores, and the best start. */
#include "solver/cpd/multistart.h"

#include <string.h>

#include "base/mem.h"

amped_status amped_multistart_create(int asked, bool saves, amped_multistart *out) {
  memset(out, 0, sizeof *out);
  out->asked = out->enough = asked;
  out->saves = saves || asked > 1;
  return amped_calloc(&out->all, (uint64_t)asked, sizeof *out->all, "the starts");
}

static void free_start(amped_start *start) {
  amped_solver_result_free(&start->result);
  amped_saved_factors_free(&start->saved);
  memset(start, 0, sizeof *start);
}

void amped_multistart_free(amped_multistart *s) {
  for (int i = 0; i < s->asked && s->all != NULL; i++)
    free_start(&s->all[i]);
  amped_free(s->all);
  amped_free(s->match);
  memset(s, 0, sizeof *s);
}

uint64_t amped_multistart_bytes(const amped_plan *plan, int saved, bool corcondia) {
  return amped_saved_factors_bytes(plan) * ((uint64_t)saved + (corcondia ? 1 : 0));
}

double amped_start_value(const amped_start *start) {
  return amped_solver_result_value(&start->result);
}

amped_status amped_multistart_add(const amped_context *context, amped_multistart *s, int number,
                                  uint64_t seed, bool normal, amped_solver_result *result) {
  amped_start *start = &s->all[number - 1];
  *start = (amped_start){
      .number = number, .is_done = true, .seed = seed, .normal = normal, .result = *result};
  s->count++;
  memset(result, 0, sizeof *result);
  if (!s->saves)
    return AMPED_OK;
  AMPED_TRY(amped_saved_factors_take(context, start->result.weights, &start->saved));
  return s->sums ? amped_saved_factors_divide_by_sums(context, &start->saved) : AMPED_OK;
}

void amped_multistart_keep(amped_multistart *s, int number) {
  for (int i = number; i < s->asked; i++) {
    s->count -= s->all[i].is_done ? 1 : 0;
    free_start(&s->all[i]);
  }
}

/* Move the starts that are done to the front, in their order. */
static void sort_starts(amped_multistart *s) {
  int done = 0;
  for (int i = 0; i < s->asked; i++)
    if (s->all[i].is_done && i != done++) {
      s->all[done - 1] = s->all[i];
      memset(&s->all[i], 0, sizeof s->all[i]);
    }
}

static amped_status match_pairs(const amped_context *context, amped_multistart *s) {
  const size_t n = (size_t)s->count;
  amped_status status = amped_alloc(&s->match, n * n, sizeof *s->match, "the starts' scores");
  AMPED_TRY(amped_comm_agree(context->comm, status));
  for (size_t i = 0; i < n; i++) {
    s->match[i * n + i] = 1.0;
    for (size_t j = 0; j < i; j++) {
      amped_match match;
      AMPED_TRY(amped_saved_factors_match(context, &s->all[i].saved, &s->all[j].saved, &match));
      s->match[i * n + j] = s->match[j * n + i] = match.score;
      amped_match_free(&match);
    }
  }
  return AMPED_OK;
}

amped_status amped_multistart_choose(const amped_context *context, amped_multistart *s) {
  sort_starts(s);
  for (int i = 1; i < s->count; i++)
    if (amped_solver_result_is_better(&s->all[i].result, &s->all[s->best].result))
      s->best = i;
  if (!s->saves)
    return AMPED_OK;
  if (s->asked > 1)
    AMPED_TRY(match_pairs(context, s));
  return amped_saved_factors_restore(context, &s->all[s->best].saved);
}
