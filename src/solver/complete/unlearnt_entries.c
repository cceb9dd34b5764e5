/* Unlearnt entries: counted in one walk over nonzeros, and copied in a second one. */
#include "solver/complete/unlearnt_entries.h"

#include <string.h>

typedef struct search {
  const amped_context *context;
  const amped_row_counts *counts;
  const amped_fixed_modes *fixed;
  amped_entry_set *set; /* NULL: only count */
  uint64_t found;
  uint64_t *of_mode;
} search;

static bool is_unlearnt(const search *w, int mode, uint64_t position) {
  return !amped_fixed_modes_has(w->fixed, mode) && !(w->counts->all[mode][position] > 0.0);
}

static bool any_unlearnt(const search *w, const amped_nonzero_slab *s, uint64_t i) {
  bool any = false;
  for (int m = 0; m < w->context->plan->order && s->held[i] && !any; m++)
    any = is_unlearnt(w, m, s->positions[m][i]);
  return any;
}

static void count_entries(void *self, const amped_nonzero_slab *s, uint64_t count) {
  search *w = self;
  for (uint64_t i = 0; i < count; i++)
    if (any_unlearnt(w, s, i)) {
      w->found++;
      for (int m = 0; m < w->context->plan->order; m++)
        w->of_mode[m] += is_unlearnt(w, m, s->positions[m][i]);
    }
}

static void copy_entries(void *self, const amped_nonzero_slab *s, uint64_t count) {
  search *w = self;
  for (uint64_t i = 0; i < count; i++)
    if (any_unlearnt(w, s, i)) {
      for (int m = 0; m < w->context->plan->order; m++)
        w->set->positions[m][w->found] = s->positions[m][i];
      w->set->values[w->found] = s->values[i];
      w->set->cells[w->found++] = 0; /* not used */
    }
}

/* Has a mode that is not fixed a row without training nonzeros? The same on every rank. */
static bool has_unlearnt(const search *w) {
  const amped_plan *plan = w->context->plan;
  for (int m = 0; m < plan->order; m++)
    for (uint64_t i = 0; i < plan->dims[m]; i++)
      if (is_unlearnt(w, m, amped_plan_position(plan, m, i)))
        return true;
  return false;
}

amped_status amped_unlearnt_entries_find(const amped_context *context,
                                         const amped_row_counts *counts,
                                         const amped_fixed_modes *fixed, amped_entry_set *out,
                                         uint64_t of_mode[AMPED_MAX_ORDER]) {
  search w = {.context = context, .counts = counts, .fixed = fixed, .of_mode = of_mode};
  memset(out, 0, sizeof *out);
  memset(of_mode, 0, AMPED_MAX_ORDER * sizeof *of_mode);
  if (!has_unlearnt(&w))
    return AMPED_OK;
  amped_status status = amped_nonzeros_walk(context, count_entries, &w);
  if (status == AMPED_OK)
    status = amped_entry_set_create(out, context->plan->order, w.found);
  w.set = out;
  w.found = 0;
  if (status == AMPED_OK)
    status = amped_nonzeros_walk(context, copy_entries, &w);
  status = amped_comm_agree(context->comm, status);
  if (status != AMPED_OK) {
    amped_entry_set_free(out);
    return status;
  }
  amped_entry_set_finish(context, out);
  amped_comm_sum_u64(context->comm, of_mode, AMPED_MAX_ORDER);
  amped_entry_set_train(context, out, counts);
  return AMPED_OK;
}
