#include "pile_cpu.h"

#include <string.h>

#include "mem.h"
#include "order_cpu.h"

static amped_status create(amped_pile_cpu *p, const amped_plan *plan, int mode) {
  static const char what[] = "the nonzeros of a copy";
  uint64_t nnz = plan->modes[mode].rank_nnz[plan->rank];
  amped_pile_make(&p->pile, plan, mode);
  p->capacity = nnz;
  for (int m = 0; m < plan->order; m++) {
    AMPED_TRY(amped_alloc(&p->indices[m], nnz, p->pile.modes[m].index_bytes, what));
    p->pile.modes[m].indices = p->indices[m];
  }
  AMPED_TRY(amped_alloc(&p->values, nnz, plan->value_type, what));
  p->pile.values = p->values;
  return AMPED_OK;
}

/* An element array behind what is there. */
static void append(void *to, const void *from, uint64_t element_bytes, uint64_t before,
                   uint64_t count) {
  memcpy((char *)to + before * element_bytes, from, count * element_bytes);
}

amped_status amped_pile_cpu_add(amped_pile_cpu *p, const amped_plan *plan, int mode,
                                const amped_nonzeros *nonzeros) {
  if (nonzeros->count == 0)
    return AMPED_OK;
  if (p->capacity == 0)
    AMPED_TRY(create(p, plan, mode));
  if (nonzeros->count > p->capacity - p->pile.count)
    return amped_pile_overflow(plan, mode);
  for (int m = 0; m < plan->order; m++)
    append(p->indices[m], nonzeros->indices[m], p->pile.modes[m].index_bytes, p->pile.count,
           nonzeros->count);
  append(p->values, nonzeros->values, plan->value_type, p->pile.count, nonzeros->count);
  p->pile.count += nonzeros->count;
  return AMPED_OK;
}

typedef struct stored_pile {
  amped_pile pile;
  amped_itype index_type;
  amped_vtype value_type;
} stored_pile;

static bool row_of(const void *from, uint64_t k, uint64_t *row) {
  const stored_pile *p = from;
  return amped_pile_row(&p->pile, k, row);
}

static uint64_t word_of(const void *from, int word, uint64_t row, uint64_t k) {
  const stored_pile *p = from;
  return amped_pile_word(&p->pile, word, row, k);
}

static void store(const void *from, uint64_t k, uint64_t row, uint64_t at,
                  const amped_order_arrays *to) {
  const stored_pile *p = from;
  int input = 0;
  amped_index_put(to->rows, p->index_type, at, row);
  for (int m = 0; m < p->pile.order; m++)
    if (m != p->pile.mode)
      amped_index_put(to->inputs[input++], p->index_type, at, amped_pile_position(&p->pile, m, k));
  amped_value_put(to->values, p->value_type, at, amped_pile_value(&p->pile, k));
}

amped_status amped_pile_cpu_order(amped_pile_cpu *p, const amped_plan *plan, int mode,
                                  amped_status (*upload)(amped_context *ctx, int mode,
                                                         uint64_t offset, const amped_run *run),
                                  amped_context *ctx, uint64_t *repeats) {
  if (p->capacity == 0)
    amped_pile_make(&p->pile, plan, mode); /* nothing came: right where the share is empty */
  const stored_pile from = {p->pile, plan->index_type, plan->value_type};
  const amped_order order = {.plan = plan,
                             .mode = mode,
                             .total = p->pile.count,
                             .words = p->pile.words,
                             .word_bits = from.pile.word_bits,
                             .from = &from,
                             .row = row_of,
                             .word = word_of,
                             .store = store,
                             .upload = upload,
                             .ctx = ctx};
  amped_status status = amped_order_cpu(&order, repeats);
  amped_pile_cpu_free(p);
  return status;
}

void amped_pile_cpu_free(amped_pile_cpu *p) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(p->indices[m]);
  amped_free(p->values);
  memset(p, 0, sizeof *p);
}

uint64_t amped_pile_cpu_bytes(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++) {
    uint64_t nnz = plan->modes[m].rank_nnz[plan->rank];
    most = nnz > most ? nnz : most;
  }
  return most * amped_pile_nonzero_bytes(plan) +
         amped_order_cpu_bytes(plan, amped_pile_words(plan));
}
