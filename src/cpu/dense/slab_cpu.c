/* A slab in host memory: contraction T, and MTTKRP from it. */
#include "cpu/dense/slab_cpu.h"

#include "cpu/dense/contract_cpu.h"
#include "cpu/dense/multi_ttv_cpu.h"

static amped_contraction contraction_of(const amped_plan *plan, const amped_dense_plan *d, int from,
                                        int end) {
  amped_contraction c = {.type = d->type,
                         .lead = 1,
                         .mid = 1,
                         .trail = 1,
                         .value_type = plan->value_type,
                         .ncomps = plan->ncomps,
                         .ld = plan->ld};
  for (int k = 0; k < plan->order; k++) {
    const uint64_t dim = d->dims[d->layout[k]];
    if (k >= from && k < end)
      c.dims[c.inputs++] = dim;
    *(k < from ? &c.lead : k < end ? &c.mid : &c.trail) *= dim;
  }
  return c;
}

uint64_t amped_slab_cpu_workspace(const amped_plan *plan, const amped_dense_plan *dense,
                                  int threads) {
  const int n = plan->order;
  uint64_t most = amped_multi_ttv_bytes(plan->ncomps, threads);
  for (int k = 0; k < n; k++) {
    amped_contraction c = contraction_of(plan, dense, k, k + 1);
    if (dense->tree == AMPED_TREE_SPLIT)
      c = k < n / 2 ? contraction_of(plan, dense, 0, n / 2) : contraction_of(plan, dense, n / 2, n);
    const uint64_t bytes = amped_contract_bytes(&c, threads);
    most = bytes > most ? bytes : most;
  }
  return most;
}

/* Compute T by contracting the modes kept->from .. kept->end of the layout. */
static void contract(amped_slab_cpu *slab) {
  const amped_dense_kept *kept = &slab->kept;
  amped_contraction c = contraction_of(slab->plan, slab->dense, kept->from, kept->end);
  c.cells = slab->cells;
  c.result = slab->t;
  for (int k = kept->from; k < kept->end; k++)
    c.factors[k - kept->from] = slab->rows[slab->dense->layout[k]];
  amped_contract_cpu(&c, slab->threads, slab->workspace);
}

void amped_slab_cpu_contract(amped_slab_cpu *slab, int mode, const uint64_t *versions) {
  if (!amped_dense_serves(&slab->kept, slab->dense, slab->plan->order, mode, versions))
    contract(slab);
}

void amped_slab_cpu_rows(const amped_slab_cpu *slab, int mode, uint64_t first, uint64_t count,
                         void *out) {
  const amped_plan *plan = slab->plan;
  amped_multi_ttv m = {
      .t = slab->t, .value_type = plan->value_type, .ncomps = plan->ncomps, .ld = plan->ld};
  for (int k = 0; k < plan->order; k++) {
    const int other = slab->dense->layout[k];
    if (k >= slab->kept.from && k < slab->kept.end)
      continue;
    if (other == mode)
      m.keep = m.modes;
    m.dims[m.modes] = slab->dense->dims[other];
    m.factors[m.modes++] = slab->rows[other];
  }
  amped_multi_ttv_cpu(&m, first, count, out, slab->threads, slab->workspace);
}
