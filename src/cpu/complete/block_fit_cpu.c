/* Block fits on CPU cores: columns are exchanged with the factors, and rows are fitted to
 * targets. */
#include "cpu/complete/block_fit_cpu.h"

#include <string.h>

#include "base/mem.h"
#include "cpu/complete/block_targets_cpu.h"
#include "base/cpu_dispatch.h"
#include "base/buffers.h"
#include "cpu/complete/row_fit_cpu.h"

struct amped_block_fit {
  amped_tensor_part *part;
  amped_factor_set *set;
  const amped_plan *columns;
  uint64_t width;
  uint64_t first, count; /* current columns */
  bool biased;
  bool renewed;                /* the current block is a first block */
  void *kept[AMPED_MAX_ORDER]; /* targets per copy */
  void *table;                 /* table of products; NULL: none */
  amped_packing packing;       /* packing of the current copy, whose values are targets */
  amped_cpu_copy copy;         /* the current copy, likewise */
  amped_block_targets targets; /* targets of the current copy */
};

/* --- creation and destruction ------------------------------------------------------------------*/

static amped_buffers buffers(amped_block_fit *o, const amped_plan *plan, int width, int threads) {
  amped_buffers b = {.what = "the targets of block fits", .threads = threads};
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER_OF(&b, SPREAD, o->kept[m], plan->modes[m].copy.rank_nnz[plan->rank],
                    plan->value_type);
  b.what = "the products of a column";
  AMPED_BUFFER_OF(&b, LARGE, o->table, amped_block_targets_table_bytes(plan, width), 1);
  return b;
}

static void block_require(const amped_device *device, const amped_plan *plan, int width,
                          uint64_t *device_bytes, uint64_t *host_bytes) {
  *device_bytes = 0;
  *host_bytes = sizeof(amped_block_fit);
  amped_buffers_require(buffers(&(amped_block_fit){0}, plan, width, device->threads), device_bytes,
                        host_bytes);
}

static void block_destroy(amped_block_fit *b) {
  if (b == NULL)
    return;
  amped_buffers_free(buffers(b, b->part->plan, 0, 0));
  amped_free(b);
}

static amped_status block_create(amped_tensor_part *part, amped_factor_set *set,
                                 const amped_plan *columns, int width, amped_block_fit **out) {
  amped_block_fit *b = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&b, 1, sizeof *b, "block fits"));
  b->part = part;
  b->set = set;
  b->columns = columns;
  b->width = (uint64_t)width;
  const amped_status status = amped_buffers_allocate(buffers(b, part->plan, width, part->threads));
  if (status == AMPED_OK)
    *out = b;
  else
    block_destroy(b);
  return status;
}

/* --- columns -----------------------------------------------------------------------------------*/

/* Exchange between the factor and the columns of all positions of a mode; elements are VALUE. */
typedef struct exchange {
  void *factor, *rows;
  uint64_t positions, factor_ld, ld;
  uint64_t width, bias; /* bias: its column in the factor; 0: no bias */
  uint64_t old_first, old_count, first, count;
} exchange;

#define DEFINE(NAME, VALUE)                                                                        \
  AMPED_INLINE void turn_##NAME(const exchange *x, uint64_t i) {                                   \
    VALUE *factor = (VALUE *)x->factor + i * x->factor_ld;                                         \
    VALUE *row = (VALUE *)x->rows + i * x->ld;                                                     \
    VALUE *before = row + x->width + 1;                                                            \
    VALUE *start = before + x->width;                                                              \
    if (x->bias > 0 && x->old_count > 0)                                                           \
      factor[x->bias] = row[x->old_count];                                                         \
    for (uint64_t c = 0; c < x->old_count; c++)                                                    \
      factor[x->old_first + c] = before[c] = row[c];                                               \
    for (uint64_t c = x->old_count; c < x->width; c++)                                             \
      before[c] = 0;                                                                               \
    for (uint64_t c = 0; c < x->count; c++)                                                        \
      row[c] = start[c] = factor[x->first + c];                                                    \
    for (uint64_t c = x->count; c < x->width; c++)                                                 \
      row[c] = start[c] = 0;                                                                       \
    row[x->width] = 0;                                                                             \
    if (x->bias > 0 && x->count > 0)                                                               \
      row[x->count] = factor[x->bias];                                                             \
  }
DEFINE(f32, float)
DEFINE(f64, double)

static amped_status block_take(amped_block_fit *b, bool biased, int first, int count) {
  const amped_plan *plan = b->part->plan;
  for (int m = 0; m < plan->order; m++) {
    const exchange x = {.factor = amped_factor_set_cpu.rows(b->part->factors, m),
                        .rows = amped_factor_set_cpu.rows(b->set, m),
                        .positions = amped_plan_factor_rows(plan, m),
                        .factor_ld = plan->ld,
                        .ld = b->columns->ld,
                        .width = b->width,
                        .bias = biased ? (uint64_t)plan->ncomps - 1 : 0,
                        .old_first = b->first,
                        .old_count = b->count,
                        .first = (uint64_t)first,
                        .count = (uint64_t)count};
#pragma omp parallel for schedule(static) num_threads(b->part->threads)
    for (uint64_t i = 0; i < x.positions; i++)
      if (plan->value_type == AMPED_F32)
        turn_f32(&x, i);
      else
        turn_f64(&x, i);
  }
  b->renewed = b->count == 0;
  b->biased = biased;
  b->first = (uint64_t)first;
  b->count = (uint64_t)count;
  return AMPED_OK;
}

/* --- rows --------------------------------------------------------------------------------------*/

/* Job of a traversal over mode's copy, with targets for values and columns for rows. */
static amped_row_job job_of(amped_block_fit *b, int mode) {
  amped_tensor_part *part = b->part;
  const amped_plan *plan = part->plan;
  amped_cpu_mttkrp m = amped_tensor_part_cpu_traversal(part, mode, 0);
  const void *rows = amped_factor_set_cpu_rows(b->set, mode);
  b->targets = (amped_block_targets){.kept = b->kept[mode],
                                     .width = b->width,
                                     .rows = rows,
                                     .renewed = b->renewed,
                                     .first = b->first,
                                     .count = b->count,
                                     .components = (uint64_t)plan->ncomps - (b->biased ? 1 : 0),
                                     .whole = m,
                                     .factor = amped_factor_set_cpu_rows(part->factors, mode)};
  b->packing = *m.copy->packing;
  b->packing.coded = false;
  b->copy = *m.copy;
  b->copy.packing = &b->packing;
  b->copy.values = b->kept[mode];
  m.copy = &b->copy;
  m.ld = b->columns->ld;
  for (int a = 0, input = 0; a < plan->order; a++)
    if (a != mode) {
      m.fetch[input] =
          amped_plan_factor_rows(plan, a) * amped_plan_row_bytes(b->columns) > AMPED_CACHED_BYTES;
      m.factors[input++] = amped_factor_set_cpu_rows(b->set, a);
    }
  amped_block_targets_find(&b->targets, plan, mode, &m, b->table);
  amped_row_job j = amped_row_job_of_block(part, mode, &m, rows, b->count,
                                           amped_block_targets_renew, &b->targets);
  j.tells_biases = b->first + b->count == b->targets.components;
  return j;
}

static amped_status block_begin(amped_block_fit *b, int mode, const amped_row_fit *fit) {
  b->part->row_fit->fit = *fit;
  const amped_row_job j = job_of(b, mode);
  amped_block_targets_multiply(&j);
  amped_row_fit_cpu_begin(j);
  return AMPED_OK;
}

static amped_status block_wait(amped_block_fit *b, int mode, int block_part,
                               amped_mttkrp_times *times, amped_row_fit_sums *sums) {
  return amped_row_fit_cpu_wait(b->part, mode, block_part, times, sums);
}

static amped_status block_get_equations(amped_block_fit *b, int mode, uint64_t row, uint64_t count,
                                        double *equations) {
  amped_row_fit_cpu_get(job_of(b, mode), row, count, equations);
  return AMPED_OK;
}

static amped_status block_put_equations(amped_block_fit *b, int mode, uint64_t row, uint64_t count,
                                        const double *equations) {
  const amped_row_job j = job_of(b, mode);
  amped_row_fit_cpu_put(&j, row, count, equations);
  return AMPED_OK;
}

static amped_status block_solve_shared(amped_block_fit *b, int mode, amped_row_fit_sums *sums) {
  return amped_row_fit_cpu_solve_shared(b->part, mode, sums);
}

const amped_block_fit_ops amped_block_fit_cpu_ops = {
    .require = block_require,
    .create = block_create,
    .destroy = block_destroy,
    .take = block_take,
    .begin = block_begin,
    .wait = block_wait,
    .get_equations = block_get_equations,
    .put_equations = block_put_equations,
    .solve_shared = block_solve_shared,
};
