#include "plan/plan.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* The most rows of a factor: a row takes 16 bytes at least, so sizes in bytes fit into 64 bits. */
#define MOST_ROWS (UINT64_C(1) << 41)

/* A nonzero takes less than 128 bytes, packed or not. */
#define MOST_NNZ (UINT64_C(1) << 56)

static uint64_t rows_of_idp(const amped_mode_plan *m, uint64_t idp) {
  uint64_t first = idp * m->width;
  return m->dim - first < m->width ? m->dim - first : m->width;
}

/* Rows and nonzeros of every rank, and the rows of the largest block. */
static void count_shards(amped_mode_plan *m, int nranks) {
  for (uint64_t i = 0; i < m->idp_count; i++) {
    m->rank_rows[m->owner[i]] += rows_of_idp(m, i);
    m->rank_nnz[m->owner[i]] += m->idp_nnz[i];
  }
  for (uint64_t s = 0; s < m->split_count; s++)
    m->rank_nnz[m->owner[m->splits[s].idp]] -= m->idp_nnz[m->splits[s].idp];
  for (int p = 0; p < nranks; p++) {
    m->rank_nnz[p] += m->cuts[p + 1] - m->cuts[p];
    if (m->rank_rows[p] > m->block_rows)
      m->block_rows = m->rank_rows[p];
  }
}

static amped_status set_splits(amped_mode_plan *m, const uint64_t *idps, uint64_t count) {
  amped_split at = {0, 0, 0};
  AMPED_TRY(amped_alloc(&m->splits, count + 1, sizeof *m->splits, "the plan"));
  for (uint64_t s = 0; s < count; s++) {
    at.idp = idps[s];
    m->splits[s] = at;
    at.first += m->idp_nnz[at.idp];
    at.row += rows_of_idp(m, at.idp);
  }
  at.idp = m->idp_count;
  m->splits[count] = at;
  m->split_count = count;
  return AMPED_OK;
}

/* Set the rows of an MTTKRP result: rows of the block for own iDps, shared rows for split iDps. */
static void set_rows(amped_mode_plan *m, int rank, int nranks) {
  uint64_t first = 0;
  uint64_t end = 0;
  uint64_t shared = 0;
  for (uint64_t i = 0; i < m->idp_count; i++)
    m->row[i] =
        m->owner[i] == rank ? m->position[i] - (uint64_t)rank * m->block_rows : AMPED_NO_ROW;
  for (uint64_t s = 0; s < m->split_count; s++)
    m->row[m->splits[s].idp] = AMPED_NO_ROW;
  amped_plan_shared_idps(m, rank, &first, &end);
  for (uint64_t s = first; s < end; s++)
    m->row[m->splits[s].idp] = m->block_rows + m->splits[s].row - m->splits[first].row;
  for (int p = 0; p < nranks; p++) {
    amped_plan_shared_idps(m, p, &first, &end);
    if (m->splits[end].row - m->splits[first].row > shared)
      shared = m->splits[end].row - m->splits[first].row;
  }
  m->output_rows = m->block_rows + shared;
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

/* The most iDps of a rank: the balancer's limit. Where possible it is lower, so that padding all
 * blocks to one size adds no bit to positions. */
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

static amped_status place_idps(const amped_plan *plan, amped_mode_plan *m) {
  amped_balance b;
  AMPED_TRY(amped_balance_create(&b, plan->placement, m->idp_nnz, m->idp_count, plan->nranks,
                                 idp_limit(m, plan->nranks)));
  m->owner = b.owner; /* now the plan's */
  m->cuts = b.cuts;
  m->unsplit_spread = b.unsplit_spread;
  b.owner = NULL;
  b.cuts = NULL;
  amped_status status = set_splits(m, b.splits, b.split_count);
  amped_balance_free(&b);
  return status;
}

static amped_status plan_mode(amped_plan *plan, int mode, const amped_partition *p) {
  amped_mode_plan *m = &plan->modes[mode];
  uint64_t nranks = (uint64_t)plan->nranks;
  m->dim = p->dim;
  m->width = p->width;
  m->idp_count = p->idp_count;
  m->idp_nnz = p->idp_nnz;
  AMPED_TRY(place_idps(plan, m));
  AMPED_TRY(amped_alloc(&m->row, m->idp_count, sizeof *m->row, "the plan"));
  AMPED_TRY(amped_alloc(&m->position, m->idp_count, sizeof *m->position, "the plan"));
  AMPED_TRY(amped_calloc(&m->rank_rows, nranks, sizeof *m->rank_rows, "the plan"));
  AMPED_TRY(amped_calloc(&m->rank_nnz, nranks, sizeof *m->rank_nnz, "the plan"));
  count_shards(m, plan->nranks);
  AMPED_TRY(set_positions(m, mode, plan->nranks));
  set_rows(m, plan->rank, plan->nranks);
  m->parts = 1;
  m->part_rows[1] = m->block_rows;
  return AMPED_OK;
}

/* Check that the bytes of all nonzeros, and of all factors, fit into 63 bits. Then all later
 * products of sizes fit, too. */
static amped_status check_sizes(const amped_plan *plan) {
  uint64_t total = 0;
  if (plan->nnz > MOST_NNZ)
    return amped_error(AMPED_FAILED, NULL,
                       "%" PRIu64 " nonzeros are too many for any machine; use a part of them",
                       plan->nnz);
  for (int m = 0; m < plan->order; m++) {
    uint64_t bytes = 0;
    if (!amped_mul(amped_plan_factor_rows(plan, m), amped_plan_row_bytes(plan), &bytes) ||
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

uint64_t amped_plan_part_nnz(const amped_plan *plan, int mode, int part) {
  const amped_mode_plan *m = &plan->modes[mode];
  return part + 1 < m->parts ? m->part_nnz[part] : m->rank_nnz[plan->rank];
}

void amped_plan_set_ncomps(amped_plan *plan, int ncomps) {
  uint64_t per_16_bytes = 16U / (uint64_t)plan->value_type;
  plan->ncomps = ncomps;
  plan->ld = amped_ceil_div((uint64_t)ncomps, per_16_bytes) * per_16_bytes;
}

amped_status amped_plan_create(amped_plan *plan, const amped_tensor_info *info, int ncomps,
                               amped_vtype value_type, amped_placement placement, int rank,
                               int nranks) {
  amped_status status = AMPED_OK;
  memset(plan, 0, sizeof *plan);
  plan->order = info->order;
  plan->placement = placement;
  plan->nranks = nranks;
  plan->rank = rank;
  memcpy(plan->dims, info->dims, sizeof plan->dims);
  plan->nnz = info->nnz;
  plan->norm_squared = info->norm_squared;
  plan->dictionary = &info->dictionary;
  plan->value_type = value_type;
  amped_plan_set_ncomps(plan, ncomps);
  plan->index_type = AMPED_U32;
  for (int m = 0; m < plan->order; m++) {
    AMPED_GO(fail, plan_mode(plan, m, &info->partitions[m]));
    if (amped_plan_factor_rows(plan, m) > UINT64_C(1) << 32 ||
        plan->modes[m].output_rows > UINT64_C(1) << 32)
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
    amped_free(plan->modes[m].row);
    amped_free(plan->modes[m].splits);
    amped_free(plan->modes[m].cuts);
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
    if (plan->modes[m].output_rows > rows)
      rows = plan->modes[m].output_rows;
  return rows;
}

uint64_t amped_plan_copy_rows(const amped_plan *plan, int mode) {
  const amped_mode_plan *m = &plan->modes[mode];
  return m->rank_rows[plan->rank] + m->output_rows - m->block_rows;
}

uint64_t amped_plan_split_of(const amped_mode_plan *m, uint64_t idp) {
  uint64_t low = 0;
  uint64_t high = m->split_count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (m->splits[middle].idp < idp)
      low = middle + 1;
    else
      high = middle;
  }
  return m->splits[low].idp == idp ? low : m->split_count;
}

uint64_t amped_plan_idp_nnz(const amped_mode_plan *m, int rank, uint64_t idp) {
  uint64_t s = amped_plan_split_of(m, idp);
  if (s == m->split_count)
    return m->owner[idp] == rank ? m->idp_nnz[idp] : 0;
  uint64_t first = m->splits[s].first > m->cuts[rank] ? m->splits[s].first : m->cuts[rank];
  uint64_t end =
      m->splits[s + 1].first < m->cuts[rank + 1] ? m->splits[s + 1].first : m->cuts[rank + 1];
  return end > first ? end - first : 0;
}

int amped_plan_split_rank(const amped_mode_plan *m, int nranks, uint64_t number) {
  int low = 0; /* the rank is `low` or higher */
  int high = nranks;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (m->cuts[middle] <= number)
      low = middle;
    else
      high = middle;
  }
  return low;
}

void amped_plan_shared_idps(const amped_mode_plan *m, int rank, uint64_t *first, uint64_t *end) {
  uint64_t begin = m->cuts[rank];
  uint64_t s = 0;
  while (s < m->split_count && m->splits[s + 1].first <= begin)
    s++;
  *first = s;
  if (m->cuts[rank + 1] > begin)
    while (s < m->split_count && m->splits[s].first < m->cuts[rank + 1])
      s++;
  *end = s;
}

uint64_t amped_plan_nonzero_bytes(const amped_plan *plan) {
  return (uint64_t)plan->order * plan->index_type + plan->value_type;
}

uint64_t amped_plan_copy_bytes(const amped_plan *plan, int mode) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t nnz = m->rank_nnz[plan->rank];
  return nnz * amped_packing_nonzero_bytes(&m->packing, plan->value_type) +
         amped_packing_bit_words(nnz) * sizeof(uint32_t) +
         (amped_packing_list_rows(nnz, amped_plan_copy_rows(plan, mode)) +
          amped_packing_packs(&m->packing, nnz)) *
             plan->index_type;
}

uint64_t amped_plan_factor_bytes(const amped_plan *plan) {
  uint64_t rows = amped_plan_output_rows(plan);
  for (int m = 0; m < plan->order; m++)
    rows += amped_plan_factor_rows(plan, m);
  return rows * amped_plan_row_bytes(plan);
}

static double percent_of_mean(const amped_plan *plan, uint64_t spread) {
  double mean = (double)plan->nnz / plan->nranks;
  return mean > 0.0 ? 100.0 * (double)spread / mean : 0.0;
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
  return percent_of_mean(plan, most - least);
}

double amped_plan_unsplit_imbalance(const amped_plan *plan, int mode) {
  if (plan->placement != AMPED_PLACEMENT_GREEDY)
    return amped_plan_imbalance(plan, mode);
  return percent_of_mean(plan, plan->modes[mode].unsplit_spread);
}
