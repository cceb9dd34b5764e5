/* Overlap: number of parts per mode, and the rows at which blocks are cut. */
#include "plan/overlap.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Constants of AMPED_PARTS_AUTO. Blocks stay whole if parts cost more time than sending rows takes.
 * (Parts load tiles again, and transfers slow the kernels down.) Else blocks have LEAST_PARTS
 * parts, or more: sending the last part takes at most LAST_PART of the MTTKRP time. Small blocks do
 * not gain, because each part has its own latency. */
#define AUTO_BYTES (UINT64_C(4) << 20)
#define PARTS_COST 0.04
#define LAST_PART 0.025
#define LEAST_PARTS 4

/* Time of sending mode's rows, divided by the time of its MTTKRP. */
static double travel(const amped_plan *plan, int mode, const amped_rates *rates) {
  double row = (double)amped_plan_row_bytes(plan);
  double gathered = (double)plan->nnz / plan->nranks * row; /* bytes per input factor */
  double received = (double)(plan->nranks - 1) * (double)plan->modes[mode].rows.block_rows * row;
  double sec = 0.0;
  for (int k = 0; k < plan->order; k++)
    if (k != mode)
      sec +=
          gathered / ((double)plan->dims[k] * row > (double)rates->cache_bytes ? rates->memory_rate
                                                                               : rates->cache_rate);
  return sec > 0.0 ? (received / rates->link_rate + rates->link_sec) / sec : 0.0;
}

/* Share of all nonzeros in the first of this number of parts; the same for the last part. */
static double first_part(int parts) {
  return (1.0 - AMPED_PART_RATIO) / (1.0 - pow(AMPED_PART_RATIO, parts));
}

static double last_part(int parts) {
  return first_part(parts) * pow(AMPED_PART_RATIO, parts - 1);
}

static int parts_for(const amped_plan *plan, const amped_mode_plan *m) {
  int parts = LEAST_PARTS;
  if (plan->nranks == 1 || m->rows.block_rows < AUTO_BYTES / amped_plan_row_bytes(plan) ||
      m->copy.travel < PARTS_COST)
    return 1;
  while (parts < AMPED_MAX_PARTS && last_part(parts) * m->copy.travel > LAST_PART)
    parts++;
  return parts;
}

static uint64_t block_row(const amped_mode_plan *m, uint64_t idp) {
  return m->rows.position[idp] - (uint64_t)m->rows.owner[idp] * m->rows.block_rows;
}

/* Rows at the beginning of every rank's block that belong to no split iDp. */
static uint64_t unsplit_rows(const amped_mode_plan *m) {
  uint64_t rows = m->rows.block_rows;
  for (uint64_t s = 0; s < m->copy.split_count; s++) {
    const uint64_t row = block_row(m, m->copy.splits[s].idp);
    rows = row < rows ? row : rows;
  }
  return rows;
}

/* Cuts the block's first `count` iDps into parts with the wanted shares of the nonzeros. bins[j]
 * counts the nonzeros of the j-th iDp over all ranks. An iDp larger than several parts ends only
 * one part. */
static void cut_block(amped_mode_plan *m, int parts, const uint64_t *bins, uint64_t count) {
  double total = 0.0;
  double sum = 0.0;
  double wanted = first_part(parts);
  double target = wanted;
  for (uint64_t j = 0; j < count; j++)
    total += (double)bins[j];
  m->rows.parts = 1;
  for (uint64_t j = 0; j + 1 < count && m->rows.parts < parts; j++) {
    sum += (double)bins[j];
    if (sum < target * total)
      continue;
    m->rows.part_rows[m->rows.parts++] = (j + 1) * m->rows.width;
    do {
      wanted *= AMPED_PART_RATIO;
      target += wanted;
    } while (target * total <= sum);
  }
}

static void count_parts(amped_mode_plan *m, int rank) {
  for (int part = 0; part + 1 < m->rows.parts; part++) {
    m->copy.part_nnz[part] = 0;
    for (uint64_t i = 0; i < m->rows.idp_count; i++)
      if (m->rows.owner[i] == rank && block_row(m, i) < m->rows.part_rows[part + 1])
        m->copy.part_nnz[part] += m->copy.idp_nnz[i];
  }
}

/* Cuts a mode. Rows of split iDps, whose sums come last, are a part of their own, the last one. */
static amped_status cut_mode(amped_mode_plan *m, int parts, int rank) {
  uint64_t *bins = NULL;
  const uint64_t count = amped_ceil_div(m->rows.block_rows, m->rows.width);
  const bool split = m->copy.split_count > 0;
  const uint64_t early = split ? unsplit_rows(m) / m->rows.width : count;
  if (early == 0)
    return AMPED_OK;
  AMPED_TRY(amped_calloc(&bins, count, sizeof *bins, "the plan"));
  for (uint64_t i = 0; i < m->rows.idp_count; i++)
    bins[block_row(m, i) / m->rows.width] += m->copy.idp_nnz[i];
  cut_block(m, split ? parts - 1 : parts, bins, early);
  if (split)
    m->rows.part_rows[m->rows.parts++] = early * m->rows.width;
  m->rows.part_rows[m->rows.parts] = m->rows.block_rows;
  count_parts(m, rank);
  amped_free(bins);
  return AMPED_OK;
}

amped_status amped_plan_cut(amped_plan *plan, int parts, const amped_rates *rates) {
  for (int mode = 0; mode < plan->order; mode++) {
    amped_mode_plan *m = &plan->modes[mode];
    m->copy.travel = travel(plan, mode, rates);
    int wanted = parts == AMPED_PARTS_AUTO ? parts_for(plan, m) : parts;
    if (wanted > 1 && amped_plan_has_copy(plan, mode))
      AMPED_TRY(cut_mode(m, wanted, plan->rank));
  }
  return AMPED_OK;
}
