/* The tensor part of the sorted copies: arguments of a traversal. */
#include "cpu/sorted/tensor_part_cpu.h"

#include "base/cpu_dispatch.h"

amped_cpu_mttkrp amped_tensor_part_cpu_traversal(amped_tensor_part *part, int mode, int tile) {
  const amped_plan *plan = part->plan;
  const amped_cpu_tiling *tiling = &part->tilings[mode];
  amped_cpu_mttkrp m = {.copy = part->tiles[mode] != NULL ? &part->tiles[mode][tile]
                                                          : &part->copies[mode],
                        .adds = tile > 0,
                        .value_type = plan->value_type};
  int input = 0;
  for (int a = 0; a < plan->order; a++)
    if (a != mode) {
      uint64_t rows = amped_plan_factor_rows(plan, a);
      if (tiling->count > 1 && tiling->input == input)
        rows = tiling->width;
      m.fetch[input] = rows * amped_plan_row_bytes(plan) > AMPED_CACHED_BYTES;
      m.factors[input++] = amped_factor_set_cpu_rows(part->factors, a);
    }
  m.dictionary = part->codebook.values;
  m.ruler = part->codebook.ruler;
  m.rows = plan->modes[mode].copy.output_rows;
  m.ld = plan->ld;
  m.fixup = part->fixup;
  m.out = amped_factor_set_cpu_output(part->factors);
  return m;
}

static uint64_t strips_of_mode(const amped_plan *plan, int mode, amped_cpu_tiling t) {
  const uint64_t nnz = plan->modes[mode].copy.rank_nnz[plan->rank];
  const uint64_t traversal = amped_cpu_most_strips(nnz);
  return t.apart ? (uint64_t)t.count * traversal : traversal;
}

uint64_t amped_tensor_part_cpu_most_strips(const amped_plan *plan,
                                           const amped_cpu_tiling *tilings) {
  uint64_t strips = 1;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t n =
        strips_of_mode(plan, m, tilings != NULL ? tilings[m] : amped_cpu_tiling_choose(plan, m));
    strips = n > strips ? n : strips;
  }
  return strips;
}

static uint64_t strips_of(const amped_cpu_mttkrp *m) {
  return amped_cpu_strips(m->copy->packing, m->copy->nnz);
}

/* Compute all tiles at once, each with its own output, then add the outputs up. */
static void traverse_apart(amped_tensor_part *part, int mode, const amped_ratio_cpu *ratio,
                           amped_ratio_sums *sums) {
  const int count = part->tilings[mode].count;
  const uint64_t bytes =
      part->plan->modes[mode].copy.output_rows * amped_plan_row_bytes(part->plan);
  amped_cpu_mttkrp traversals[AMPED_CPU_MOST_TILES] = {{.rows = 0}};
  amped_ratio_cpu ratios[AMPED_CPU_MOST_TILES];
  uint64_t strips = 0;
  for (int t = 0; t < count; t++) {
    amped_cpu_mttkrp *const m = &traversals[t];
    *m = amped_tensor_part_cpu_traversal(part, mode, t);
    m->adds = false;
    m->out = (char *)part->outputs + (uint64_t)t * bytes;
    m->fixup = part->fixup + strips * m->ld;
    if (ratio != NULL) {
      ratios[t] = *ratio;
      ratios[t].sums = ratio->sums != NULL ? ratio->sums + strips : NULL;
      m->ratio = &ratios[t];
    }
    strips += strips_of(m);
  }
  amped_mttkrp_cpu(traversals, count, part->threads);
  amped_mttkrp_cpu_join(traversals, count, amped_factor_set_cpu_output(part->factors),
                        part->threads);
  if (ratio != NULL && ratio->sums != NULL)
    amped_ratio_cpu_add(ratio->sums, strips, sums);
}

void amped_tensor_part_cpu_traverse(amped_tensor_part *part, int mode, const amped_ratio_cpu *ratio,
                                    amped_ratio_sums *sums) {
  const amped_cpu_tiling *tiling = &part->tilings[mode];
  if (tiling->apart)
    traverse_apart(part, mode, ratio, sums);
  for (int t = 0; t < tiling->count && !tiling->apart; t++) {
    amped_cpu_mttkrp m = amped_tensor_part_cpu_traversal(part, mode, t);
    m.ratio = ratio;
    amped_mttkrp_cpu(&m, 1, part->threads);
    if (ratio != NULL && ratio->sums != NULL)
      amped_ratio_cpu_add(ratio->sums, strips_of(&m), sums);
  }
}
