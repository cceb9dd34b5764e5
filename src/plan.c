#include "plan.h"

#include <string.h>

#include "balance.h"
#include "mem.h"

/* A factor of more rows fits nowhere: a row takes 16 bytes at least. Sizes in bytes fit 64 bits. */
#define MOST_ROWS (UINT64_C(1) << 41)

static uint64_t rows_of_idp(const amped_mode_plan *m, uint64_t idp) {
  uint64_t first = idp * m->width;
  return m->dim - first < m->width ? m->dim - first : m->width;
}

/* Rows and nonzeros of every rank, and the rows of the largest block. */
static void count_shares(amped_mode_plan *m, int nranks) {
  for (uint64_t i = 0; i < m->idp_count; i++) {
    m->rank_rows[m->owner[i]] += rows_of_idp(m, i);
    m->rank_nnz[m->owner[i]] += m->idp_nnz[i];
  }
  for (int p = 0; p < nranks; p++)
    if (m->rank_rows[p] > m->block_rows)
      m->block_rows = m->rank_rows[p];
}

static amped_status set_positions(amped_mode_plan *m, int mode, int nranks) {
  uint64_t *next = NULL;
  uint64_t rows = 0;
  if (!amped_mul(m->block_rows, (uint64_t)nranks, &rows) || rows > MOST_ROWS)
    return amped_error(AMPED_FAILED, NULL,
                       "mode %d has too many rows (%" PRIu64
                       ") for any machine's factors; merge some of its indices",
                       mode, m->dim);
  AMPED_TRY(amped_alloc(&next, (uint64_t)nranks, sizeof *next, "the plan"));
  for (int p = 0; p < nranks; p++)
    next[p] = (uint64_t)p * m->block_rows;
  for (uint64_t i = 0; i < m->idp_count; i++) {
    m->position[i] = next[m->owner[i]];
    next[m->owner[i]] += rows_of_idp(m, i);
  }
  for (int p = 0; p < nranks; p++)
    if (m->rank_rows[p] > 0)
      m->positions = next[p];
  amped_free(next);
  return AMPED_OK;
}

/* The most iDps of a rank: the balancer's own limit, and where possible so few that padding blocks
 * to one size does not add a bit to positions. */
static uint64_t idp_limit(const amped_mode_plan *m, int nranks) {
  uint64_t limit = amped_balance_limit(m->idp_count, nranks);
  uint64_t even = amped_ceil_div(m->idp_count, (uint64_t)nranks);
  uint64_t power = 1;
  while (power < m->dim && power < UINT64_C(1) << 62)
    power *= 2;
  uint64_t spare = power / (uint64_t)nranks / m->width;
  if (spare < even)
    spare = even;
  return limit < spare ? limit : spare;
}

static amped_status plan_mode(amped_plan *plan, int mode, const amped_partition *p) {
  amped_mode_plan *m = &plan->modes[mode];
  uint64_t nranks = (uint64_t)plan->nranks;
  m->dim = p->dim;
  m->width = p->width;
  m->idp_count = p->idp_count;
  m->idp_nnz = p->idp_nnz;
  AMPED_TRY(amped_alloc(&m->owner, m->idp_count, sizeof *m->owner, "the plan"));
  AMPED_TRY(amped_alloc(&m->position, m->idp_count, sizeof *m->position, "the plan"));
  AMPED_TRY(amped_calloc(&m->rank_rows, nranks, sizeof *m->rank_rows, "the plan"));
  AMPED_TRY(amped_calloc(&m->rank_nnz, nranks, sizeof *m->rank_nnz, "the plan"));
  AMPED_TRY(
      amped_balance(m->idp_nnz, m->idp_count, plan->nranks, idp_limit(m, plan->nranks), m->owner));
  count_shares(m, plan->nranks);
  return set_positions(m, mode, plan->nranks);
}

/* The bytes of all factors fit 63 bits: every product of sizes made later does too. */
static amped_status check_sizes(const amped_plan *plan) {
  uint64_t total = 0;
  for (int m = 0; m < plan->order; m++) {
    uint64_t bytes = 0;
    if (!amped_mul(amped_plan_factor_rows(plan, m), plan->ld * plan->value_type, &bytes) ||
        bytes > UINT64_C(1) << 58 || !amped_add(total, bytes, &total))
      return amped_error(AMPED_FAILED, NULL,
                         "the factor of mode %d (%" PRIu64 " x %d) is too large "
                         "for any machine; use fewer components or merge indices",
                         m, plan->dims[m], plan->ncomps);
  }
  return AMPED_OK;
}

static void set_packing(amped_plan *plan, int mode) {
  uint64_t positions[AMPED_MAX_ORDER];
  int inputs = 0;
  for (int m = 0; m < plan->order; m++)
    if (m != mode)
      positions[inputs++] = plan->modes[m].positions;
  amped_packing_make(&plan->modes[mode].packing, inputs, positions, plan->dictionary->count,
                     plan->value_type, plan->modes[mode].rank_nnz[plan->rank]);
}

amped_status amped_plan_create(amped_plan *plan, const amped_tensor_info *info, int ncomps,
                               amped_vtype value_type, int rank, int nranks) {
  amped_status status = AMPED_OK;
  uint64_t per_16_bytes = 16U / (uint64_t)value_type;
  memset(plan, 0, sizeof *plan);
  plan->order = info->order;
  plan->ncomps = ncomps;
  plan->nranks = nranks;
  plan->rank = rank;
  memcpy(plan->dims, info->dims, sizeof plan->dims);
  plan->nnz = info->nnz;
  plan->norm_squared = info->norm_squared;
  plan->dictionary = &info->dictionary;
  plan->value_type = value_type;
  plan->ld = amped_ceil_div((uint64_t)ncomps, per_16_bytes) * per_16_bytes;
  plan->index_type = AMPED_U32;
  for (int m = 0; m < plan->order; m++) {
    AMPED_GO(fail, plan_mode(plan, m, &info->partitions[m]));
    if (amped_plan_factor_rows(plan, m) > UINT64_C(1) << 32)
      plan->index_type = AMPED_U64;
  }
  AMPED_GO(fail, check_sizes(plan));
  for (int m = 0; m < plan->order; m++)
    set_packing(plan, m);
  return AMPED_OK;
fail:
  amped_plan_destroy(plan);
  return status;
}

void amped_plan_destroy(amped_plan *plan) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(plan->modes[m].owner);
    amped_free(plan->modes[m].position);
    amped_free(plan->modes[m].rank_rows);
    amped_free(plan->modes[m].rank_nnz);
  }
  memset(plan, 0, sizeof *plan);
}

uint64_t amped_plan_factor_rows(const amped_plan *plan, int mode) {
  return (uint64_t)plan->nranks * plan->modes[mode].block_rows;
}

uint64_t amped_plan_output_rows(const amped_plan *plan) {
  uint64_t rows = 0;
  for (int m = 0; m < plan->order; m++)
    if (plan->modes[m].block_rows > rows)
      rows = plan->modes[m].block_rows;
  return rows;
}

uint64_t amped_plan_nonzero_bytes(const amped_plan *plan) {
  return (uint64_t)plan->order * plan->index_type + plan->value_type;
}

uint64_t amped_plan_copy_bytes(const amped_plan *plan, int mode) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t nnz = m->rank_nnz[plan->rank];
  return nnz * amped_packing_nonzero_bytes(&m->packing, plan->value_type) +
         amped_packing_bit_words(nnz) * sizeof(uint32_t) +
         (amped_packing_list_rows(nnz, m->rank_rows[plan->rank]) +
          amped_packing_runs(&m->packing, nnz)) *
             plan->index_type;
}

uint64_t amped_plan_factor_bytes(const amped_plan *plan) {
  uint64_t rows = amped_plan_output_rows(plan);
  for (int m = 0; m < plan->order; m++)
    rows += amped_plan_factor_rows(plan, m);
  return rows * plan->ld * plan->value_type;
}

double amped_plan_imbalance(const amped_plan *plan, int mode) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t most = 0;
  uint64_t least = UINT64_MAX;
  for (int p = 0; p < plan->nranks; p++) {
    if (m->rank_nnz[p] > most)
      most = m->rank_nnz[p];
    if (m->rank_nnz[p] < least)
      least = m->rank_nnz[p];
  }
  double mean = (double)plan->nnz / plan->nranks;
  return mean > 0.0 ? 100.0 * (double)(most - least) / mean : 0.0;
}
