/* Held-out nonzeros of row fits, and sums over single nonzeros: moments and errors. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/cpu_dispatch.h"
#include "cpu/complete/row_fit_cpu.h"

static uint64_t unit_end(const amped_cpu_copy *copy, uint64_t unit) {
  const uint64_t end = (unit + 1) * AMPED_ROW_UNIT;
  return end < copy->nnz ? end : copy->nnz;
}

static uint64_t entry_at(const amped_cpu_copy *copy, uint64_t unit) {
  return amped_cpu_copy_index(copy, copy->row_table, unit * AMPED_ROW_UNIT / copy->packing->pack);
}

static double value_of(const amped_cpu_mttkrp *m, const uint64_t *words, uint64_t k) {
  const amped_packing *p = m->copy->packing;
  return p->coded ? amped_value_get(m->dictionary, m->value_type,
                                    amped_packed_field(words, p->value_shift, p->value_bits))
                  : amped_value_get(m->copy->values, m->value_type, k);
}

static bool is_held(const uint64_t *held, uint64_t k) {
  return held[k / 64] >> k % 64 & 1;
}

/* --- held-out nonzeros -------------------------------------------------------------------------*/

uint64_t amped_row_fit_cpu_hold_out_bytes(const amped_plan *plan) {
  uint64_t rows = 0;
  for (int m = 0; m < plan->order; m++)
    rows += amped_plan_factor_rows(plan, m);
  return rows * sizeof(uint64_t);
}

amped_status amped_row_fit_cpu_find_indices(amped_tensor_part *part, const uint32_t *const *keys) {
  const amped_plan *plan = part->plan;
  amped_row_fit_cpu *f = part->row_fit;
  if (f->indices != NULL && keys == NULL)
    return AMPED_OK;
  amped_free(f->indices);
  f->indices = NULL;
  AMPED_TRY(amped_calloc(&f->indices, amped_row_fit_cpu_hold_out_bytes(plan), 1,
                         "the indices of positions"));
  uint64_t *at = f->indices;
  for (int m = 0; m < plan->order; m++) {
    const amped_row_plan *rows = &plan->modes[m].rows;
    const uint32_t *key = keys != NULL ? keys[m] : NULL;
    for (uint64_t i = 0; i < rows->idp_count; i++)
      for (uint64_t index = i * rows->width; index < (i + 1) * rows->width && index < rows->dim;
           index++)
        at[rows->position[i] + index - i * rows->width] = key != NULL ? key[index] : index;
    f->indices_of[m] = at;
    at += amped_plan_factor_rows(plan, m);
  }
  return AMPED_OK;
}

typedef struct hold_out_job {
  const amped_plan *plan;
  int mode;
  const amped_cpu_copy *copy;
  const uint64_t *const *key_of; /* keys of the positions */
  const void *weights;           /* NULL: all are 1 */
  uint64_t seed, below;
  uint64_t *held;
} hold_out_job;

static uint64_t hold_out_unit(const hold_out_job *j, uint64_t unit) {
  const amped_cpu_copy *copy = j->copy;
  const amped_packing *p = copy->packing;
  const uint64_t first = unit * AMPED_ROW_UNIT;
  uint64_t entry = entry_at(copy, unit);
  uint64_t count = 0;
  uint64_t keys[AMPED_MAX_ORDER];
  for (uint64_t k = first; k < unit_end(copy, unit); k++) {
    uint64_t words[AMPED_MAX_PLANES];
    const bool begins = k > first && amped_cpu_copy_begins_row(copy, k);
    entry += begins;
    if (begins || k == first)
      keys[j->mode] = j->key_of[j->mode][amped_plan_row_position(
          j->plan, j->mode, amped_cpu_copy_index(copy, copy->row_list, entry))];
    amped_packed_get(p, (const void *const *)copy->planes, k, words);
    for (int m = 0, input = 0; m < j->plan->order; m++)
      if (m != j->mode) {
        keys[m] = j->key_of[m][amped_packed_field(words, p->shifts[input], p->bits[input])];
        input++;
      }
    if (amped_held_out(j->plan->order, keys, j->seed, j->below) &&
        (j->weights == NULL || amped_value_get(j->weights, j->plan->value_type, k) > 0.0)) {
      j->held[k / 64] |= UINT64_C(1) << k % 64;
      count++;
    }
  }
  return count;
}

amped_status amped_row_fit_cpu_hold_out(amped_tensor_part *part, const uint32_t *const *keys,
                                        uint64_t seed, uint64_t below, uint64_t *held) {
  const amped_plan *plan = part->plan;
  amped_row_fit_cpu *f = part->row_fit;
  f->any_held = below > 0;
  *held = 0;
  if (below > 0)
    AMPED_TRY(amped_row_fit_cpu_find_indices(part, keys));
  for (int m = 0; m < plan->order; m++) {
    const uint64_t units = amped_row_fit_cpu_units(plan, m);
    const hold_out_job j = {.plan = plan,
                            .mode = m,
                            .copy = &part->copies[m],
                            .key_of = f->indices_of,
                            .weights = f->weights[m],
                            .seed = seed,
                            .below = below,
                            .held = f->held[m]};
    uint64_t count = 0;
    if (part->copies[m].nnz > 0)
      memset(f->held[m], 0, amped_row_fit_cpu_held_words(part->copies[m].nnz) * sizeof *f->held[m]);
#pragma omp parallel for schedule(static) num_threads(part->threads) reduction(+ : count)
    for (uint64_t u = 0; u < (below > 0 ? units : 0); u++)
      count += hold_out_unit(&j, u);
    *held = m == 0 ? count : *held;
  }
  amped_free(f->indices);
  f->indices = NULL;
  return AMPED_OK;
}

/* --- moments -----------------------------------------------------------------------------------*/

static amped_moments moments_of_unit(const amped_cpu_mttkrp *m, const amped_row_fit_cpu *f,
                                     uint64_t unit) {
  amped_moments sums = {.least = INFINITY, .least_weight = INFINITY};
  for (uint64_t k = unit * AMPED_ROW_UNIT; k < unit_end(m->copy, unit); k++) {
    uint64_t words[AMPED_MAX_PLANES];
    amped_packed_get(m->copy->packing, (const void *const *)m->copy->planes, k, words);
    const double x = value_of(m, words, k);
    const double w = f->weights[0] != NULL ? amped_value_get(f->weights[0], m->value_type, k) : 1.0;
    sums.least = w > 0.0 ? fmin(sums.least, x) : sums.least;
    sums.least_weight = fmin(sums.least_weight, w);
    if (is_held(f->held[0], k))
      continue;
    sums.count += w > 0.0;
    sums.weight += w;
    sums.sum += w * x;
    sums.squares += w * x * x;
  }
  return sums;
}

amped_status amped_row_fit_cpu_moments(amped_tensor_part *part, amped_moments *out) {
  const amped_cpu_mttkrp m = amped_tensor_part_cpu_traversal(part, 0, 0);
  const uint64_t units = amped_row_fit_cpu_units(part->plan, 0);
  amped_moments *sums = part->row_fit->unit_sums;
#pragma omp parallel for schedule(static) num_threads(part->threads)
  for (uint64_t u = 0; u < units; u++)
    sums[u] = moments_of_unit(&m, part->row_fit, u);
  for (uint64_t u = 0; u < units; u++) {
    out->count += sums[u].count;
    out->weight += sums[u].weight;
    out->sum += sums[u].sum;
    out->squares += sums[u].squares;
    out->least = fmin(out->least, sums[u].least);
    out->least_weight = fmin(out->least_weight, sums[u].least_weight);
  }
  return AMPED_OK;
}

/* --- errors ------------------------------------------------------------------------------------*/

#define LANES 8

typedef struct error_job {
  amped_cpu_mttkrp m;
  const amped_plan *plan;
  int mode;
  const void *factor; /* factor of the mode */
  uint64_t components;
  const uint64_t *held;
  bool wanted; /* true: sum over held-out nonzeros; false: over the others */
  const amped_row_fit *fit;
  double least, most;
} error_job;

AMPED_INLINE double element(const void *row, amped_vtype type, uint64_t c) {
  return type == AMPED_F32 ? (double)((const float *)row)[c] : ((const double *)row)[c];
}

/* Model, before mean and scale, at a nonzero with these rows. type is a compile-time constant of
 * the caller. */
AMPED_INLINE double model_of_type(const error_job *j, const void *const *rows, int count,
                                  amped_vtype type) {
  double sums[LANES] = {0.0};
  uint64_t c = 0;
  for (; c + LANES <= j->components; c += LANES) {
    double product[LANES];
    for (uint64_t q = 0; q < LANES; q++)
      product[q] = element(rows[0], type, c + q) * element(rows[1], type, c + q);
    for (int i = 2; i < count; i++)
      for (uint64_t q = 0; q < LANES; q++)
        product[q] *= element(rows[i], type, c + q);
    for (uint64_t q = 0; q < LANES; q++)
      sums[q] += product[q];
  }
  double sum = 0.0;
  for (; c < j->components; c++) {
    double product = 1.0;
    for (int i = 0; i < count; i++)
      product *= element(rows[i], type, c);
    sum += product;
  }
  for (int i = 0; i < count && j->fit->biased; i++)
    sum += element(rows[i], type, j->components);
  for (uint64_t q = 0; q < LANES; q++)
    sum += sums[q];
  return sum;
}

typedef double model_function(const error_job *j, const void *const *rows, int count);

#define DEFINE(CPU)                                                                                \
  AMPED_TARGET_##CPU static double model_##CPU(const error_job *j, const void *const *rows,        \
                                               int count) {                                        \
    return j->m.value_type == AMPED_F32 ? model_of_type(j, rows, count, AMPED_F32)                 \
                                        : model_of_type(j, rows, count, AMPED_F64);                \
  }
AMPED_CPU_DISPATCH(DEFINE)

static model_function *find_model(void) {
#define ROW(CPU) {.here = AMPED_HAS_##CPU, .model = model_##CPU},
  const struct {
    bool here;
    model_function *model;
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here)
    i++;
  return rows[i].model;
}

static void add_error(const error_job *j, double x, double model, amped_errors *sums) {
  const double value = j->fit->mean + j->fit->scale * model;
  const double clipped = value < j->least ? j->least : value > j->most ? j->most : value;
  const double off = x - value;
  sums->count++;
  sums->squares += off * off;
  sums->absolute += fabs(off);
  sums->clipped += (x - clipped) * (x - clipped);
}

static amped_errors errors_of_unit(const error_job *j, model_function *model, uint64_t unit) {
  const amped_cpu_copy *copy = j->m.copy;
  const amped_packing *p = copy->packing;
  const uint64_t row_bytes = j->m.ld * j->m.value_type;
  const uint64_t first = unit * AMPED_ROW_UNIT;
  uint64_t entry = entry_at(copy, unit);
  uint64_t found = UINT64_MAX; /* entry of the row in rows[0] */
  const void *rows[AMPED_MAX_ORDER];
  amped_errors sums = {0, 0.0, 0.0, 0.0};
  for (uint64_t k = first; k < unit_end(copy, unit); k++) {
    uint64_t words[AMPED_MAX_PLANES];
    entry += k > first && amped_cpu_copy_begins_row(copy, k);
    if (is_held(j->held, k) != j->wanted)
      continue;
    if (found != entry)
      rows[0] = (const char *)j->factor +
                amped_plan_row_position(j->plan, j->mode,
                                        amped_cpu_copy_index(copy, copy->row_list, entry)) *
                    row_bytes;
    found = entry;
    amped_packed_get(p, (const void *const *)copy->planes, k, words);
    for (int i = 0; i < p->inputs; i++)
      rows[i + 1] = (const char *)j->m.factors[i] +
                    amped_packed_field(words, p->shifts[i], p->bits[i]) * row_bytes;
    add_error(j, value_of(&j->m, words, k), model(j, rows, p->inputs + 1), &sums);
  }
  return sums;
}

amped_status amped_row_fit_cpu_errors(amped_tensor_part *part, int mode, bool held,
                                      const amped_row_fit *fit, double least, double most,
                                      amped_errors *out) {
  const amped_plan *plan = part->plan;
  const error_job j = {.m = amped_tensor_part_cpu_traversal(part, mode, 0),
                       .plan = plan,
                       .mode = mode,
                       .factor = amped_factor_set_cpu_rows(part->factors, mode),
                       .components = (uint64_t)plan->ncomps - (fit->biased ? 1 : 0),
                       .held = part->row_fit->held[mode],
                       .wanted = held,
                       .fit = fit,
                       .least = least,
                       .most = most};
  const uint64_t units = amped_row_fit_cpu_units(plan, mode);
  model_function *const model = find_model();
  amped_errors *sums = part->row_fit->unit_sums;
#pragma omp parallel for schedule(dynamic) num_threads(part->threads)
  for (uint64_t u = 0; u < units; u++)
    sums[u] = errors_of_unit(&j, model, u);
  for (uint64_t u = 0; u < units; u++) {
    out->count += sums[u].count;
    out->squares += sums[u].squares;
    out->absolute += sums[u].absolute;
    out->clipped += sums[u].clipped;
  }
  return AMPED_OK;
}
