/* The tensor part of the sorted copies: arguments of a traversal. */
#include "cpu/sorted/tensor_part_cpu.h"

#include "cpu/device/cpu_dispatch.h"

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
