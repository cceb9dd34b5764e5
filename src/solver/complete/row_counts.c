/* Row counts: sums of weights over slabs of nonzeros, then over ranks. */
#include "solver/complete/row_counts.h"

#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"

/* Nonzeros per slab. */
#define SLAB UINT64_C(65536)

/* Numbers per message; MPI counts them in an int. */
#define MESSAGE (UINT64_C(1) << 24)

static amped_buffers buffers(const amped_plan *plan, amped_nonzero_slab *s) {
  amped_buffers b = {.what = "a slab of nonzeros"};
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER(&b, HOST, s->positions[m], SLAB);
  AMPED_BUFFER(&b, HOST, s->held, SLAB);
  AMPED_BUFFER(&b, HOST, s->weights, SLAB);
  AMPED_BUFFER(&b, HOST, s->values, SLAB);
  return b;
}

uint64_t amped_row_counts_bytes(const amped_plan *plan) {
  uint64_t bytes = amped_buffers_bytes(buffers(plan, &(amped_nonzero_slab){0}));
  for (int m = 0; m < plan->order; m++)
    bytes += amped_plan_factor_rows(plan, m) * sizeof(double);
  return bytes;
}

static amped_status visit_own(const amped_context *context, amped_nonzero_slab *s,
                              amped_nonzero_take *take, void *self) {
  const amped_plan *plan = context->plan;
  const amped_worker *worker = context->worker;
  const uint64_t nnz = plan->modes[0].copy.rank_nnz[plan->rank];
  for (uint64_t first = 0; first < nnz; first += SLAB) {
    const uint64_t count = nnz - first < SLAB ? nnz - first : SLAB;
    AMPED_TRY(worker->format->row_fit->view(worker->tensor, first, count, s->positions, s->held,
                                            s->weights, s->values));
    take(self, s, count);
  }
  return AMPED_OK;
}

amped_status amped_nonzeros_walk(const amped_context *context, amped_nonzero_take *take,
                                 void *self) {
  amped_nonzero_slab s = {0};
  amped_status status = amped_buffers_allocate(buffers(context->plan, &s));
  if (status == AMPED_OK)
    status = visit_own(context, &s, take, self);
  amped_buffers_free(buffers(context->plan, &s));
  return status;
}

/* A count in progress. */
typedef struct counting {
  int order;
  amped_row_counts *counts;
} counting;

/* Add the weights of nonzeros to their rows. */
static void add_weights(void *self, const amped_nonzero_slab *s, uint64_t count) {
  const counting *c = self;
  for (int m = 0; m < c->order; m++)
    for (uint64_t i = 0; i < count; i++)
      c->counts->all[m][s->positions[m][i]] += s->held[i] ? 0.0 : s->weights[i];
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
    status =
        amped_nonzeros_walk(context, add_weights, &(counting){.order = plan->order, .counts = out});
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

void amped_row_counts_free(amped_row_counts *counts) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(counts->all[m]);
  memset(counts, 0, sizeof *counts);
}
