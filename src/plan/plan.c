/* Plan: owners, positions, splits and memory of every mode. */
#include "plan/plan.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Most rows of a factor: a row takes at least 16 bytes, so sizes in bytes fit in 64 bits. */
#define MOST_ROWS (UINT64_C(1) << 41)

/* Most nonzeros of a tensor. A nonzero takes less than 128 bytes, packed or not, so all of them
 * take less than 2^63 bytes. */
#define MOST_NNZ (UINT64_C(1) << 56)

static uint64_t rows_of_idp(const amped_mode_plan *m, uint64_t idp) {
  uint64_t first = idp * m->rows.width;
  return m->rows.dim - first < m->rows.width ? m->rows.dim - first : m->rows.width;
}

/* Counts rows and nonzeros of every rank, and the rows of the largest block. */
static void count_shards(amped_mode_plan *m, int nranks) {
  for (uint64_t i = 0; i < m->rows.idp_count; i++) {
    m->rows.rank_rows[m->rows.owner[i]] += rows_of_idp(m, i);
    m->copy.rank_nnz[m->rows.owner[i]] += m->copy.idp_nnz[i];
  }
  for (uint64_t s = 0; s < m->copy.split_count; s++)
    m->copy.rank_nnz[m->rows.owner[m->copy.splits[s].idp]] -=
        m->copy.idp_nnz[m->copy.splits[s].idp];
  for (int p = 0; p < nranks; p++) {
    m->copy.rank_nnz[p] += m->copy.cuts[p + 1] - m->copy.cuts[p];
    if (m->rows.rank_rows[p] > m->rows.block_rows)
      m->rows.block_rows = m->rows.rank_rows[p];
  }
}

static amped_status set_splits(amped_mode_plan *m, const uint64_t *idps, uint64_t count) {
  amped_split at = {0, 0, 0};
  AMPED_TRY(amped_alloc(&m->copy.splits, count + 1, sizeof *m->copy.splits, "the plan"));
  for (uint64_t s = 0; s < count; s++) {
    at.idp = idps[s];
    m->copy.splits[s] = at;
    at.first += m->copy.idp_nnz[at.idp];
    at.row += rows_of_idp(m, at.idp);
  }
  at.idp = m->rows.idp_count;
  m->copy.splits[count] = at;
  m->copy.split_count = count;
  return AMPED_OK;
}

/* Sets the rows of an MTTKRP result: rows of the block for own iDps, shared rows for split iDps. */
static void set_rows(amped_mode_plan *m, int rank, int nranks) {
  uint64_t first = 0;
  uint64_t end = 0;
  uint64_t shared = 0;
  for (uint64_t i = 0; i < m->rows.idp_count; i++)
    m->copy.row[i] = m->rows.owner[i] == rank
                         ? m->rows.position[i] - (uint64_t)rank * m->rows.block_rows
                         : AMPED_NO_ROW;
  for (uint64_t s = 0; s < m->copy.split_count; s++)
    m->copy.row[m->copy.splits[s].idp] = AMPED_NO_ROW;
  amped_plan_shared_idps(m, rank, &first, &end);
  for (uint64_t s = first; s < end; s++)
    m->copy.row[m->copy.splits[s].idp] =
        m->rows.block_rows + m->copy.splits[s].row - m->copy.splits[first].row;
  for (int p = 0; p < nranks; p++) {
    amped_plan_shared_idps(m, p, &first, &end);
    if (m->copy.splits[end].row - m->copy.splits[first].row > shared)
      shared = m->copy.splits[end].row - m->copy.splits[first].row;
  }
  m->copy.output_rows = m->rows.block_rows + shared;
}

static amped_status set_positions(amped_mode_plan *m, int mode, int nranks) {
  uint64_t *next = NULL;
  uint64_t rows = 0;
  if (!amped_mul(m->rows.block_rows, (uint64_t)nranks, &rows) || rows > MOST_ROWS)
    return amped_error(AMPED_FAILED, NULL,
                       "mode %d has too many rows (%" PRIu64
                       ") for any machine's factors; leave out indices without nonzeros (amped_mpi "
                       "convert --compact), or merge some",
                       mode + 1, m->rows.dim);
  AMPED_TRY(amped_alloc(&next, (uint64_t)nranks, sizeof *next, "the plan"));
  for (int p = 0; p < nranks; p++)
    next[p] = (uint64_t)p * m->rows.block_rows;
  for (int late = 0; late < 2; late++)
    for (uint64_t i = 0; i < m->rows.idp_count; i++) {
      if (amped_plan_is_late(m, i) != (late > 0))
        continue;
      m->rows.position[i] = next[m->rows.owner[i]];
      next[m->rows.owner[i]] += rows_of_idp(m, i);
    }
  for (int p = 0; p < nranks; p++)
    if (m->rows.rank_rows[p] > 0)
      m->rows.positions = next[p];
  amped_free(next);
  return AMPED_OK;
}

/* Most iDps of a rank: the balancer's limit. If possible it is lower, so that padding all blocks to
 * one size adds no bit to positions. */
static uint64_t idp_limit(const amped_mode_plan *m, int nranks) {
  uint64_t limit = amped_balance_limit(m->rows.idp_count, nranks);
  uint64_t even = amped_ceil_div(m->rows.idp_count, (uint64_t)nranks);
  uint64_t power = 1;
  while (power < m->rows.dim && power < UINT64_C(1) << 62)
    power *= 2;
  uint64_t spare = power / (uint64_t)nranks / m->rows.width;
  if (spare < even)
    spare = even;
  return limit < spare ? limit : spare;
}

static amped_status place_idps(const amped_plan *plan, amped_mode_plan *m, bool rows_alone,
                               const int *owners) {
  amped_balance b;
  if (rows_alone)
    AMPED_TRY(amped_balance_rows(&b, m->rows.idp_count, plan->nranks));
  else
    AMPED_TRY(amped_balance_create(&b, plan->placement, m->copy.idp_nnz, m->rows.idp_count,
                                   plan->nranks, idp_limit(m, plan->nranks), owners));
  m->rows.owner = b.owner; /* now the plan's */
  m->copy.cuts = b.cuts;
  m->copy.unsplit_spread = b.unsplit_spread;
  b.owner = NULL;
  b.cuts = NULL;
  amped_status status = set_splits(m, b.splits, b.split_count);
  amped_balance_free(&b);
  return status;
}

static amped_status plan_mode(amped_plan *plan, int mode, const amped_partition *p,
                              const int *owners) {
  amped_mode_plan *m = &plan->modes[mode];
  uint64_t nranks = (uint64_t)plan->nranks;
  m->rows.dim = p->dim;
  m->rows.width = p->width;
  m->rows.idp_count = p->idp_count;
  m->copy.idp_nnz = p->idp_nnz;
  const bool rows_alone = plan->boxed >= 0 && !amped_plan_has_copy(plan, mode);
  AMPED_TRY(place_idps(plan, m, rows_alone, owners));
  AMPED_TRY(amped_alloc(&m->copy.row, m->rows.idp_count, sizeof *m->copy.row, "the plan"));
  AMPED_TRY(
      amped_alloc(&m->rows.position, m->rows.idp_count, sizeof *m->rows.position, "the plan"));
  AMPED_TRY(amped_calloc(&m->rows.rank_rows, nranks, sizeof *m->rows.rank_rows, "the plan"));
  AMPED_TRY(amped_calloc(&m->copy.rank_nnz, nranks, sizeof *m->copy.rank_nnz, "the plan"));
  count_shards(m, plan->nranks);
  if (rows_alone)
    memcpy(m->copy.rank_nnz, plan->modes[plan->boxed].copy.rank_nnz,
           nranks * sizeof *m->copy.rank_nnz);
  AMPED_TRY(set_positions(m, mode, plan->nranks));
  set_rows(m, plan->rank, plan->nranks);
  m->rows.parts = 1;
  m->rows.part_rows[1] = m->rows.block_rows;
  return AMPED_OK;
}

/* Checks that the bytes of all nonzeros, and of all factors, fit in 63 bits. Then all later
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
                         m + 1, plan->dims[m], plan->ncomps);
  }
  return AMPED_OK;
}

/* The longest mode except `but`, the lowest of equal ones; -1: no mode is left. */
static int longest_mode(int order, const uint64_t *dims, int but) {
  int mode = -1;
  for (int m = 0; m < order; m++)
    if (m != but && (mode < 0 || dims[m] > dims[mode]))
      mode = m;
  return mode;
}

int amped_plan_copies(const amped_plan *plan) {
  int copies = 0;
  for (int m = 0; m < plan->order; m++)
    copies += amped_plan_has_copy(plan, m) ? 1 : 0;
  return copies;
}

int amped_plan_longest_other(const amped_plan *plan, int mode) {
  return longest_mode(plan->order, plan->dims, mode);
}

/* Sets the linear order. A coordinate in the copy's mode is a row of this rank's result; in other
 * modes, a position. */
static amped_status set_linear(amped_plan *plan, bool plain_values) {
  uint64_t sizes[AMPED_MAX_ORDER];
  for (int m = 0; m < plan->order; m++)
    sizes[m] = m == plan->boxed ? plan->modes[m].copy.output_rows : plan->modes[m].rows.positions;
  if (!amped_linear_make(&plan->linear, plan->order, sizes))
    return amped_error(AMPED_FAILED, NULL,
                       "coordinates take more than the %d bits that one copy for all modes has "
                       "for them; use --copies=all",
                       AMPED_LINEAR_BITS);
  amped_linear_cut_best(&plan->linear, plain_values ? 0 : plan->dictionary->count, plan->value_type,
                        plan->modes[plan->boxed].copy.rank_nnz[plan->rank]);
  return AMPED_OK;
}

static void set_packing(amped_plan *plan, int mode, bool plain_values) {
  uint64_t positions[AMPED_MAX_ORDER];
  int inputs = 0;
  for (int m = 0; m < plan->order; m++)
    if (m != mode)
      positions[inputs++] = plan->modes[m].rows.positions;
  amped_packing_make(&plan->modes[mode].copy.packing, inputs, positions,
                     plain_values ? 0 : plan->dictionary->count, plan->value_type,
                     plan->modes[mode].copy.rank_nnz[plan->rank]);
}

uint64_t amped_plan_part_nnz(const amped_plan *plan, int mode, int part) {
  const amped_mode_plan *m = &plan->modes[mode];
  return part + 1 < m->rows.parts ? m->copy.part_nnz[part] : m->copy.rank_nnz[plan->rank];
}

/* Lengths of a row in bytes. Memory comes in sectors of 32 bytes, and caches request lines of 128:
 * a row takes half a sector, or whole ones. Three sectors of a line are made four, because every
 * second such row would lie in two lines (docs/decisions/042-requests-not-bytes.md). */
#define SECTOR UINT64_C(32)
#define LINE UINT64_C(128)

void amped_plan_set_ncomps(amped_plan *plan, int ncomps) {
  const uint64_t element = (uint64_t)plan->value_type;
  uint64_t bytes = (uint64_t)ncomps * element;
  bytes = bytes <= SECTOR / 2 ? SECTOR / 2 : amped_ceil_div(bytes, SECTOR) * SECTOR;
  if (bytes % LINE == LINE - SECTOR)
    bytes += SECTOR;
  plan->ncomps = ncomps;
  plan->ld = bytes / element;
}

/* Sets the slab. A rank's own rows of the slab mode are consecutive: its iDps are a BLOCK. */
static void set_slab(amped_plan *plan, const amped_dense_info *info) {
  const amped_row_plan *rows = &plan->modes[amped_dense_slab_mode(info, plan->nranks)].rows;
  uint64_t first = 0;
  for (int p = 0; p < plan->rank; p++)
    first += rows->rank_rows[p];
  amped_dense_plan_make(&plan->dense, info, plan->nranks, plan->ncomps, plan->value_type, first,
                        rows->rank_rows[plan->rank]);
}

/* Chooses the copies. One copy in boxes belongs to the longest mode. */
static void set_copies(amped_plan *plan, const amped_tensor_info *info,
                       const amped_copy_needs *needs) {
  plan->boxed = needs->one_copy ? longest_mode(info->order, info->dims, -1) : -1;
  plan->sorted = !needs->one_copy && !needs->cells;
}

amped_status amped_plan_create(amped_plan *plan, const amped_tensor_info *info,
                               const amped_plan_request *request) {
  amped_status status = AMPED_OK;
  memset(plan, 0, sizeof *plan);
  plan->order = info->order;
  plan->placement = request->needs.cells ? AMPED_PLACEMENT_BLOCK : request->placement;
  plan->nranks = request->nranks;
  plan->rank = request->rank;
  plan->whole_rows = request->needs.whole_rows;
  set_copies(plan, info, &request->needs);
  memcpy(plan->dims, info->dims, sizeof plan->dims);
  plan->nnz = info->nnz;
  plan->norm_squared = info->norm_squared;
  plan->map = amped_value_map_none();
  plan->dictionary = &info->dictionary;
  plan->value_type = request->value_type;
  amped_plan_set_ncomps(plan, request->ncomps);
  plan->index_type = AMPED_U32;
  for (int i = 0; i < plan->order; i++) {
    const int first = plan->boxed > 0 ? plan->boxed : 0; /* modes without a copy use it */
    const int m = (first + i) % plan->order;
    AMPED_GO(fail, plan_mode(plan, m, &info->partitions[m], request->owners[m]));
    if (amped_plan_factor_rows(plan, m) > UINT64_C(1) << 32 ||
        plan->modes[m].copy.output_rows > UINT64_C(1) << 32)
      plan->index_type = AMPED_U64;
  }
  AMPED_GO(fail, check_sizes(plan));
  if (request->needs.cells)
    set_slab(plan, info->dense);
  if (request->outside)
    amped_dense_plan_leave(&plan->dense, info->dense);
  for (int m = 0; m < plan->order && !request->needs.cells; m++)
    set_packing(plan, m, request->needs.plain_values);
  if (request->needs.one_copy)
    AMPED_GO(fail, set_linear(plan, request->needs.plain_values));
  return AMPED_OK;
fail:
  amped_plan_destroy(plan);
  return status;
}

amped_status amped_plan_map_values(amped_plan *plan, amped_value_map map) {
  const amped_dictionary *own = plan->dictionary;
  if (amped_value_map_is_none(map))
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&plan->mapped.values, own->count, sizeof *plan->mapped.values,
                        "the dictionary of values"));
  plan->mapped.count = own->count;
  for (uint64_t i = 0; i < own->count; i++)
    plan->mapped.values[i] = amped_value_map_store(map, own->values[i]);
  plan->map = map;
  plan->dictionary = &plan->mapped;
  return AMPED_OK;
}

void amped_plan_destroy(amped_plan *plan) {
  amped_dictionary_free(&plan->mapped);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(plan->modes[m].rows.owner);
    amped_free(plan->modes[m].rows.position);
    amped_free(plan->modes[m].copy.row);
    amped_free(plan->modes[m].copy.splits);
    amped_free(plan->modes[m].copy.cuts);
    amped_free(plan->modes[m].rows.rank_rows);
    amped_free(plan->modes[m].copy.rank_nnz);
  }
  memset(plan, 0, sizeof *plan);
}

uint64_t amped_plan_row_position(const amped_plan *plan, int mode, uint64_t row) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t first = 0;
  uint64_t end = 0;
  if (row < m->rows.block_rows)
    return (uint64_t)plan->rank * m->rows.block_rows + row;
  amped_plan_shared_idps(m, plan->rank, &first, &end);
  uint64_t number = m->copy.splits[first].row + row - m->rows.block_rows;
  while (end - first > 1) { /* find the split whose rows contain the number */
    uint64_t middle = first + (end - first) / 2;
    if (m->copy.splits[middle].row <= number)
      first = middle;
    else
      end = middle;
  }
  return m->rows.position[m->copy.splits[first].idp] + number - m->copy.splits[first].row;
}

uint64_t amped_plan_factor_rows(const amped_plan *plan, int mode) {
  return (uint64_t)plan->nranks * plan->modes[mode].rows.block_rows;
}

uint64_t amped_plan_output_rows(const amped_plan *plan) {
  uint64_t rows = 0;
  for (int m = 0; m < plan->order; m++)
    if (plan->modes[m].copy.output_rows > rows)
      rows = plan->modes[m].copy.output_rows;
  return rows;
}

uint64_t amped_plan_copy_rows(const amped_plan *plan, int mode) {
  const amped_mode_plan *m = &plan->modes[mode];
  return m->rows.rank_rows[plan->rank] + m->copy.output_rows - m->rows.block_rows;
}

uint64_t amped_plan_split_of(const amped_mode_plan *m, uint64_t idp) {
  uint64_t low = 0;
  uint64_t high = m->copy.split_count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (m->copy.splits[middle].idp < idp)
      low = middle + 1;
    else
      high = middle;
  }
  return m->copy.splits[low].idp == idp ? low : m->copy.split_count;
}

bool amped_plan_is_late(const amped_mode_plan *m, uint64_t idp) {
  return rows_of_idp(m, idp) < m->rows.width || amped_plan_split_of(m, idp) < m->copy.split_count;
}

uint64_t amped_plan_idp_nnz(const amped_mode_plan *m, int rank, uint64_t idp) {
  uint64_t s = amped_plan_split_of(m, idp);
  if (s == m->copy.split_count)
    return m->rows.owner[idp] == rank ? m->copy.idp_nnz[idp] : 0;
  uint64_t first =
      m->copy.splits[s].first > m->copy.cuts[rank] ? m->copy.splits[s].first : m->copy.cuts[rank];
  uint64_t end = m->copy.splits[s + 1].first < m->copy.cuts[rank + 1] ? m->copy.splits[s + 1].first
                                                                      : m->copy.cuts[rank + 1];
  return end > first ? end - first : 0;
}

int amped_plan_split_rank(const amped_mode_plan *m, int nranks, uint64_t number) {
  int low = 0; /* the rank is `low` or higher */
  int high = nranks;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (m->copy.cuts[middle] <= number)
      low = middle;
    else
      high = middle;
  }
  return low;
}

void amped_plan_shared_idps(const amped_mode_plan *m, int rank, uint64_t *first, uint64_t *end) {
  uint64_t begin = m->copy.cuts[rank];
  uint64_t s = 0;
  while (s < m->copy.split_count && m->copy.splits[s + 1].first <= begin)
    s++;
  *first = s;
  if (m->copy.cuts[rank + 1] > begin)
    while (s < m->copy.split_count && m->copy.splits[s].first < m->copy.cuts[rank + 1])
      s++;
  *end = s;
}

uint64_t amped_plan_nonzero_bytes(const amped_plan *plan) {
  return (uint64_t)plan->order * plan->index_type + plan->value_type;
}

/* Bytes of nnz packed nonzeros of a mode's copy, in at most `rows` rows. */
static uint64_t packed_bytes(const amped_plan *plan, int mode, uint64_t nnz, uint64_t rows) {
  const amped_packing *packing = &plan->modes[mode].copy.packing;
  return nnz * amped_packing_nonzero_bytes(packing, plan->value_type) +
         amped_packing_bit_words(nnz) * sizeof(uint32_t) +
         (amped_packing_list_rows(nnz, rows) + amped_packing_packs(packing, nnz)) *
             plan->index_type;
}

uint64_t amped_plan_copy_bytes(const amped_plan *plan, int mode) {
  return packed_bytes(plan, mode, plan->modes[mode].copy.rank_nnz[plan->rank],
                      amped_plan_copy_rows(plan, mode));
}

double amped_plan_packed_bytes(const amped_plan *plan) {
  double bytes = 0.0;
  for (int m = 0; m < plan->order; m++)
    bytes += (double)packed_bytes(plan, m, plan->nnz, plan->dims[m]);
  return bytes;
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
    if (m->copy.rank_nnz[p] > most)
      most = m->copy.rank_nnz[p];
    if (m->copy.rank_nnz[p] < least)
      least = m->copy.rank_nnz[p];
  }
  return percent_of_mean(plan, most - least);
}

double amped_plan_unsplit_imbalance(const amped_plan *plan, int mode) {
  if (plan->placement != AMPED_PLACEMENT_GREEDY)
    return amped_plan_imbalance(plan, mode);
  return percent_of_mean(plan, plan->modes[mode].copy.unsplit_spread);
}
