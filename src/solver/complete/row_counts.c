/* Row counts: sums of weights over slabs of nonzeros, then over ranks. */
#include "solver/complete/row_counts.h"

#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"

/* Nonzeros per slab. */
#define SLAB UINT64_C(65536)

/* Numbers per message; MPI counts them in an int. */
#define MESSAGE (UINT64_C(1) << 24)

/* A slab of nonzeros. */
typedef struct slab {
  uint64_t *positions[AMPED_MAX_ORDER];
  bool *held;
  double *weights;
} slab;

static amped_buffers buffers(const amped_plan *plan, slab *s) {
  amped_buffers b = {.what = "a slab of nonzeros"};
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER(&b, HOST, s->positions[m], SLAB);
  AMPED_BUFFER(&b, HOST, s->held, SLAB);
  AMPED_BUFFER(&b, HOST, s->weights, SLAB);
  return b;
}

uint64_t amped_row_counts_bytes(const amped_plan *plan) {
  uint64_t bytes = amped_buffers_bytes(buffers(plan, &(slab){0}));
  for (int m = 0; m < plan->order; m++)
    bytes += amped_plan_factor_rows(plan, m) * sizeof(double);
  return bytes;
}

/* A walk over this rank's nonzeros: `take` gets one slab after the other. */
typedef struct walk {
  const amped_context *context;
  void (*take)(const struct walk *w, const slab *s, uint64_t count);
  const amped_row_counts *counts;
  const amped_fixed_modes *fixed;
  uint64_t *entries, *of_mode;
} walk;

static amped_status visit_own(const walk *w, slab *s) {
  const amped_plan *plan = w->context->plan;
  const amped_worker *worker = w->context->worker;
  const uint64_t nnz = plan->modes[0].copy.rank_nnz[plan->rank];
  for (uint64_t first = 0; first < nnz; first += SLAB) {
    const uint64_t count = nnz - first < SLAB ? nnz - first : SLAB;
    AMPED_TRY(worker->format->row_fit->view(worker->tensor, first, count, s->positions, s->held,
                                            s->weights));
    w->take(w, s, count);
  }
  return AMPED_OK;
}

static amped_status visit(const walk *w) {
  slab s = {0};
  amped_status status = amped_buffers_allocate(buffers(w->context->plan, &s));
  if (status == AMPED_OK)
    status = visit_own(w, &s);
  amped_buffers_free(buffers(w->context->plan, &s));
  return status;
}

/* Add the weights of nonzeros to their rows. */
static void add_weights(const walk *w, const slab *s, uint64_t count) {
  for (int m = 0; m < w->context->plan->order; m++)
    for (uint64_t i = 0; i < count; i++)
      w->counts->all[m][s->positions[m][i]] += s->held[i] ? 0.0 : s->weights[i];
}

static amped_status find(const amped_context *context, amped_row_counts *out) {
  const amped_plan *plan = context->plan;
  amped_status status = AMPED_OK;
  for (int m = 0; m < plan->order && status == AMPED_OK; m++) {
    status = amped_calloc(&out->all[m], amped_plan_factor_rows(plan, m), sizeof *out->all[m],
                          "the nonzero counts of rows");
    out->own[m] = out->all[m] + (uint64_t)plan->rank * plan->modes[m].rows.block_rows;
  }
  if (status == AMPED_OK)
    status = visit(&(walk){.context = context, .take = add_weights, .counts = out});
  return status;
}

amped_status amped_row_counts_find(const amped_context *context, amped_row_counts *out) {
  memset(out, 0, sizeof *out);
  const amped_status status = amped_comm_agree(context->comm, find(context, out));
  if (status != AMPED_OK) {
    amped_row_counts_free(out);
    return status;
  }
  for (int m = 0; m < context->plan->order; m++) {
    const uint64_t rows = amped_plan_factor_rows(context->plan, m);
    for (uint64_t i = 0; i < rows; i += MESSAGE)
      amped_comm_sum(context->comm, out->all[m] + i,
                     (int)(rows - i < MESSAGE ? rows - i : MESSAGE));
  }
  return AMPED_OK;
}

static bool is_unlearnt(const walk *w, int mode, uint64_t position) {
  return !amped_fixed_modes_has(w->fixed, mode) && !(w->counts->all[mode][position] > 0.0);
}

/* Count held-out nonzeros with a row without training nonzeros, and such rows of each mode. */
static void count_unlearnt(const walk *w, const slab *s, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    bool any = false;
    for (int m = 0; m < w->context->plan->order && s->held[i]; m++) {
      const bool unlearnt = is_unlearnt(w, m, s->positions[m][i]);
      w->of_mode[m] += unlearnt;
      any = any || unlearnt;
    }
    *w->entries += any;
  }
}

/* Has a mode that is not fixed a row without training nonzeros? The same on every rank. */
static bool has_unlearnt(const walk *w) {
  const amped_plan *plan = w->context->plan;
  for (int m = 0; m < plan->order; m++)
    for (uint64_t i = 0; i < plan->dims[m]; i++)
      if (is_unlearnt(w, m, amped_plan_position(plan, m, i)))
        return true;
  return false;
}

amped_status amped_row_counts_unlearnt(const amped_context *context, const amped_row_counts *counts,
                                       const amped_fixed_modes *fixed, uint64_t *entries,
                                       uint64_t of_mode[AMPED_MAX_ORDER]) {
  const walk w = {.context = context,
                  .take = count_unlearnt,
                  .counts = counts,
                  .fixed = fixed,
                  .entries = entries,
                  .of_mode = of_mode};
  *entries = 0;
  memset(of_mode, 0, AMPED_MAX_ORDER * sizeof *of_mode);
  if (!has_unlearnt(&w))
    return AMPED_OK;
  AMPED_TRY(amped_comm_agree(context->comm, visit(&w)));
  amped_comm_sum_u64(context->comm, entries, 1);
  amped_comm_sum_u64(context->comm, of_mode, AMPED_MAX_ORDER);
  return AMPED_OK;
}

void amped_row_counts_free(amped_row_counts *counts) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(counts->all[m]);
  memset(counts, 0, sizeof *counts);
}
