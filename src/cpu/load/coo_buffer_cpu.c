/* COO buffer on CPU cores: collect nonzeros by iDp, then sort them into a copy. */
#include "cpu/load/coo_buffer_cpu.h"

#include <string.h>

#include "base/mem.h"
#include "cpu/load/sort_copy_cpu.h"
#include "backend/scatter.h"

/* Nonzeros that are placed together. */
#define BATCH 32768

/* Give an iDp the places first .. first + nnz. Returns their end. */
static uint64_t set_places(amped_coo_buffer_cpu *p, uint64_t idp, uint64_t first, uint64_t nnz) {
  p->next[idp] = first;
  p->ends[idp] = first + nnz;
  return first + nnz;
}

/* Allocate the buffer and give every iDp its places, in the order of output rows. Split iDps come
 * last. */
static amped_status create(amped_coo_buffer_cpu *p, const amped_plan *plan, int mode) {
  static const char what[] = "the nonzeros of a copy";
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t nnz = m->copy.rank_nnz[plan->rank];
  uint64_t place = 0;
  amped_coo_buffer_make(&p->buffer, plan, mode);
  AMPED_TRY(amped_calloc(&p->next, m->rows.idp_count, sizeof *p->next, what));
  AMPED_TRY(amped_calloc(&p->ends, m->rows.idp_count, sizeof *p->ends, what));
  AMPED_TRY(amped_alloc(&p->places, BATCH, sizeof *p->places, what));
  AMPED_TRY(
      amped_alloc(&p->groups, m->rows.idp_count + m->copy.split_count, sizeof *p->groups, what));
  for (uint64_t i = 0; i < m->rows.idp_count; i++)
    if (m->copy.row[i] < m->rows.block_rows)
      p->groups[i] = place = set_places(p, i, place, m->copy.idp_nnz[i]);
    else
      p->groups[i] = place;
  for (uint64_t s = 0; s < m->copy.split_count; s++)
    p->groups[m->rows.idp_count + s] = place = set_places(
        p, m->copy.splits[s].idp, place, amped_plan_idp_nnz(m, plan->rank, m->copy.splits[s].idp));
  for (int a = 0; a < plan->order; a++) {
    AMPED_TRY(amped_alloc(&p->indices[a], nnz, p->buffer.modes[a].index_bytes, what));
    p->buffer.modes[a].indices = p->indices[a];
  }
  AMPED_TRY(amped_alloc(&p->values, nnz, plan->value_type, what));
  p->buffer.values = p->values;
  return AMPED_OK;
}

AMPED_DEFINE_SCATTER(uint64_t)

/* Scatter values to their places. Values that the plan maps, or that have another type, are
 * converted in double and rounded. */
static void place_values(amped_coo_buffer_cpu *p, const amped_plan *plan,
                         const amped_nonzeros *nonzeros, uint64_t first, uint64_t count) {
  if (nonzeros->value_type == plan->value_type && amped_value_map_is_none(plan->map)) {
    scatter(p->values, (const char *)nonzeros->values + first * plan->value_type, plan->value_type,
            p->places, count);
    return;
  }
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++)
    amped_value_put(
        p->values, plan->value_type, p->places[i],
        amped_value_map_store(plan->map,
                              amped_value_get(nonzeros->values, nonzeros->value_type, first + i)));
}

/* Find places of nonzeros first .. first + count. Returns false if an iDp gets more nonzeros than
 * it has places. */
static bool find_places(amped_coo_buffer_cpu *p, const amped_plan *plan, int mode,
                        const amped_nonzeros *nonzeros, uint64_t first, uint64_t count) {
  const amped_itype type = amped_itype_for(plan->dims[mode]);
  const uint64_t width = plan->modes[mode].rows.width;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t idp = amped_index_get(nonzeros->indices[mode], type, first + i) / width;
    if (p->next[idp] == p->ends[idp])
      return false;
    p->places[i] = p->next[idp]++;
  }
  return true;
}

amped_status amped_coo_buffer_cpu_add(amped_coo_buffer_cpu *p, const amped_plan *plan, int mode,
                                      const amped_nonzeros *nonzeros) {
  uint64_t n = 0;
  if (nonzeros->count == 0)
    return AMPED_OK;
  if (p->ends == NULL)
    AMPED_TRY(create(p, plan, mode));
  for (uint64_t first = 0; first < nonzeros->count; first += n) {
    n = nonzeros->count - first < BATCH ? nonzeros->count - first : BATCH;
    if (!find_places(p, plan, mode, nonzeros, first, n))
      return amped_coo_buffer_overflow(plan, mode);
    for (int m = 0; m < plan->order; m++)
      scatter(p->indices[m],
              (const char *)nonzeros->indices[m] + first * p->buffer.modes[m].index_bytes,
              p->buffer.modes[m].index_bytes, p->places, n);
    place_values(p, plan, nonzeros, first, n);
    p->buffer.count += n;
  }
  return AMPED_OK;
}

typedef struct stored_buffer {
  amped_coo_buffer buffer;
  amped_itype index_type;
  amped_vtype value_type;
} stored_buffer;

static bool row_of(const void *from, uint64_t k, uint64_t *row) {
  const stored_buffer *p = from;
  return amped_coo_buffer_row(&p->buffer, k, row);
}

static uint64_t word_of(const void *from, int word, uint64_t row, uint64_t k) {
  const stored_buffer *p = from;
  return amped_coo_buffer_word(&p->buffer, word, row, k);
}

static void store(const void *from, uint64_t k, uint64_t row, uint64_t at,
                  const amped_sort_copy_arrays *to) {
  const stored_buffer *p = from;
  int input = 0;
  amped_index_put(to->rows, p->index_type, at, row);
  for (int m = 0; m < p->buffer.order; m++)
    if (m != p->buffer.mode)
      amped_index_put(to->inputs[input++], p->index_type, at,
                      amped_coo_buffer_position(&p->buffer, m, k));
  amped_value_put(to->values, p->value_type, at, amped_coo_buffer_value(&p->buffer, k));
}

amped_status amped_coo_buffer_cpu_sort(amped_coo_buffer_cpu *p, const amped_plan *plan, int mode,
                                       amped_status (*insert)(amped_tensor_part *part, int mode,
                                                              uint64_t offset,
                                                              const amped_batch *batch),
                                       amped_tensor_part *part, uint64_t *repeats) {
  amped_status status = AMPED_OK;
  *repeats = 0;
  if (p->ends == NULL) /* no nonzeros came, which is correct for an empty shard */
    status = create(p, plan, mode);
  const stored_buffer from = {p->buffer, plan->index_type, plan->value_type};
  const amped_sort_copy sort = {.plan = plan,
                                .mode = mode,
                                .total = p->buffer.count,
                                .ends = p->groups,
                                .groups = plan->modes[mode].rows.idp_count +
                                          plan->modes[mode].copy.split_count,
                                .words = p->buffer.words,
                                .word_bits = from.buffer.word_bits,
                                .from = &from,
                                .row = row_of,
                                .word = word_of,
                                .store = store,
                                .insert = insert,
                                .part = part};
  if (status == AMPED_OK)
    status = amped_sort_copy_cpu(&sort, repeats);
  amped_coo_buffer_cpu_free(p);
  return status;
}

void amped_coo_buffer_cpu_free(amped_coo_buffer_cpu *p) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(p->indices[m]);
  amped_free(p->values);
  amped_free(p->next);
  amped_free(p->ends);
  amped_free(p->groups);
  amped_free(p->places);
  memset(p, 0, sizeof *p);
}

uint64_t amped_coo_buffer_cpu_bytes(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++) {
    uint64_t bytes =
        plan->modes[m].copy.rank_nnz[plan->rank] * amped_coo_buffer_nonzero_bytes(plan) +
        (3 * plan->modes[m].rows.idp_count + plan->modes[m].copy.split_count) * sizeof(uint64_t);
    most = bytes > most ? bytes : most;
  }
  return most + BATCH * sizeof(uint64_t) +
         amped_sort_copy_cpu_bytes(plan, amped_coo_buffer_words(plan), true);
}
