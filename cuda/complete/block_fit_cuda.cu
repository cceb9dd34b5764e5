/* Block fits on a GPU: the operations of amped_block_fit_ops, on top of row fits
 * (row_fit_cuda.h). */
#include "cuda/complete/block_fit_cuda.h"

#include "cuda/complete/block_kernels_cuda.h"
#include "cuda/factor/factor_set_cuda.h"

extern "C" {
#include "base/mem.h"
}

struct amped_block_fit {
  amped_tensor_part *part;
  amped_factor_set *set;
  const amped_plan *columns;
  int width;
  int first, count; /* current block's columns of the factors */
  bool biased;
  bool makes;                  /* first block: targets are made from the factors */
  void *kept[AMPED_MAX_ORDER]; /* device: targets of each copy's nonzeros */
  amped_row_fit plain;         /* `fit` as it applies to targets: mean 0, scale 1 */
  amped_row_fit fit;           /* current fit of values, from the caller */
};

namespace {

/* --- life ------------------------------------------------------------------------------------ */

uint64_t kept_bytes(const amped_plan *plan, int mode) {
  return plan->modes[mode].copy.rank_nnz[plan->rank] * (uint64_t)plan->value_type;
}

void block_require(const amped_device *, const amped_plan *plan, int, uint64_t *device_bytes,
                   uint64_t *host_bytes) {
  *device_bytes = 0;
  *host_bytes = sizeof(amped_block_fit);
  for (int m = 0; m < plan->order; m++)
    *device_bytes +=
        amped_ceil_div(kept_bytes(plan, m), AMPED_CUDA_ALIGNMENT) * AMPED_CUDA_ALIGNMENT;
}

void block_destroy(amped_block_fit *b) {
  if (b == nullptr)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_cuda_free(b->kept[m]);
  amped_free(b);
}

amped_status block_create(amped_tensor_part *part, amped_factor_set *set, const amped_plan *columns,
                          int width, amped_block_fit **out) {
  amped_block_fit *b = nullptr;
  amped_status status = AMPED_OK;
  *out = nullptr;
  AMPED_TRY(amped_calloc(&b, 1, sizeof *b, "block fits"));
  b->part = part;
  b->set = set;
  b->columns = columns;
  b->width = width;
  for (int m = 0; m < part->plan->order && status == AMPED_OK; m++)
    status = amped_cuda_malloc(&b->kept[m], kept_bytes(part->plan, m), "the targets of block fits");
  if (status == AMPED_OK)
    *out = b;
  else
    block_destroy(b);
  return status;
}

amped_status block_take(amped_block_fit *b, bool biased, int first, int count) {
  const amped_plan *plan = b->part->plan;
  const cudaStream_t stream = b->part->device->stream;
  for (int m = 0; m < plan->order; m++) {
    amped_block_take_cuda_args a = {};
    a.value_type = plan->value_type;
    a.factor = amped_factor_set_cuda_rows(b->part->factors, m);
    a.rows = amped_factor_set_cuda_rows(b->set, m);
    a.positions = amped_plan_factor_rows(plan, m);
    a.factor_ld = plan->ld;
    a.ld = b->columns->ld;
    a.width = b->width;
    a.bias = biased ? plan->ncomps - 1 : 0;
    a.old_first = b->first;
    a.old_count = b->count;
    a.first = first;
    a.count = count;
    a.stream = stream;
    AMPED_TRY(amped_block_take_cuda(&a));
  }
  b->makes = b->count == 0;
  b->biased = biased;
  b->first = first;
  b->count = count;
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Kernel arguments of a row fit whose factors are the block's columns. */
amped_row_kernel_cuda_args args_of(amped_block_fit *b, int mode) {
  const amped_plan *plan = b->part->plan;
  amped_row_kernel_cuda_args a = amped_row_fit_cuda_args(b->part, mode);
  a.fit = &b->plain;
  a.components = b->count;
  a.ld = b->columns->ld;
  for (int m = 0, input = 0; m < plan->order; m++)
    if (m != mode)
      a.factors[input++] = amped_factor_set_cuda_rows(b->set, m);
  a.own =
      static_cast<char *>(amped_factor_set_cuda_rows(b->set, mode)) +
      (uint64_t)plan->rank * plan->modes[mode].rows.block_rows * amped_plan_row_bytes(b->columns);
  a.scratch_bytes = amped_row_scratch_cuda_bytes(b->count);
  a.is_block = true;
  a.hides_biases = b->first + b->count < plan->ncomps - (b->biased ? 1 : 0);
  return a;
}

/* True if the kernel of one column fits the block. Thread blocks fit rows without a penalty, in
 * double, and nonnegative rows with weights, which converge there as on CPU cores. */
bool is_column(const amped_block_fit *b, int mode) {
  const bool weighted = b->part->row_fit->copies[mode].d_weights != nullptr;
  return b->width == 1 && b->fit.reg >= AMPED_ROW_FIT_LEAST_REG &&
         !(weighted && b->fit.nonnegative);
}

/* Upload the row for rows without nonzeros: the prior, and bias 0. */
amped_status upload_empty(amped_block_fit *b, int mode) {
  amped_row_fit_cuda *f = b->part->row_fit;
  double *row = nullptr;
  double prior = 0.0;
  amped_value_put(&prior, b->part->plan->value_type, 0, b->fit.prior[mode]);
  prior = amped_value_get(&prior, b->part->plan->value_type, 0);
  AMPED_TRY(amped_calloc(&row, (uint64_t)b->count + 1, sizeof *row, "block fits"));
  for (int c = 0; c < b->count; c++)
    row[c] = prior;
  amped_status status =
      amped_cuda_check(cudaMemcpyAsync(f->d_empty, row, ((uint64_t)b->count + 1) * sizeof *row,
                                       cudaMemcpyHostToDevice, b->part->device->stream),
                       "cudaMemcpyAsync");
  if (status == AMPED_OK)
    status =
        amped_cuda_check(cudaStreamSynchronize(b->part->device->stream), "cudaStreamSynchronize");
  amped_free(row);
  return status;
}

struct block_pass {
  amped_block_fit *b;
  int mode;
};

/* Hook before the kernels of a run (amped_run_hook_cuda): updates the run's targets to the block;
 * kernels then read targets in place of values. *done: the kernel of one column did all the
 * work. */
amped_status renew_run(void *self, amped_row_kernel_cuda_args *args, amped_packed_cuda *packed,
                       bool *done) {
  const block_pass *s = static_cast<const block_pass *>(self);
  const amped_block_fit *b = s->b;
  const amped_plan *plan = b->part->plan;
  amped_row_kernel_cuda_args fit = *args;
  amped_block_kernel_cuda_args a = {};
  a.fit = &fit;
  fit.fit = &b->fit;
  a.width = b->width;
  a.kept = b->kept[s->mode];
  a.rows = amped_factor_set_cuda_rows(b->set, s->mode);
  a.block_first = (uint64_t)plan->rank * plan->modes[s->mode].rows.block_rows;
  a.block_rows = plan->modes[s->mode].rows.block_rows;
  a.positions = b->part->row_fit->d_positions[s->mode];
  a.makes = b->makes;
  a.factor = amped_factor_set_cuda_rows(b->part->factors, s->mode);
  for (int m = 0, input = 0; m < plan->order; m++)
    if (m != s->mode)
      a.whole[input++] = amped_factor_set_cuda_rows(b->part->factors, m);
  a.whole_ld = plan->ld;
  a.first = b->first;
  a.components = plan->ncomps - (b->biased ? 1 : 0);
  *done = is_column(b, s->mode);
  if (!*done || b->makes)
    AMPED_TRY(amped_block_targets_cuda(&a));
  if (*done)
    return amped_block_column_cuda(&a);
  packed->packing.coded = false;
  packed->values =
      static_cast<const char *>(b->kept[s->mode]) + packed->first * (uint64_t)plan->value_type;
  return AMPED_OK;
}

amped_status block_begin(amped_block_fit *b, int mode, const amped_row_fit *fit) {
  b->fit = *fit;
  b->plain = *fit;
  b->plain.mean = 0.0;
  b->plain.scale = 1.0;
  b->part->row_fit->fit = b->plain;
  b->part->row_fit->of_empty = {};
  AMPED_TRY(upload_empty(b, mode));
  block_pass pass = {b, mode};
  const amped_row_kernel_cuda_args args = args_of(b, mode);
  const amped_run_hook_cuda hook = {
      .run = renew_run, .has_strip_sums = is_column(b, mode), .self = &pass};
  return amped_row_fit_cuda_begin(b->part, mode, &args, &hook);
}

amped_status block_wait(amped_block_fit *b, int mode, int block_part, amped_mttkrp_times *times,
                        amped_row_fit_sums *sums) {
  return amped_row_fit_cuda_wait(b->part, mode, block_part, times, sums);
}

amped_status block_get_equations(amped_block_fit *b, int mode, uint64_t row, uint64_t count,
                                 double *equations) {
  const amped_row_kernel_cuda_args args = args_of(b, mode);
  return amped_row_fit_cuda_get(b->part, mode, &args, row, count, equations);
}

amped_status block_put_equations(amped_block_fit *b, int mode, uint64_t row, uint64_t count,
                                 const double *equations) {
  const amped_row_kernel_cuda_args args = args_of(b, mode);
  return amped_row_fit_cuda_put(b->part, &args, row, count, equations);
}

amped_status block_solve_shared(amped_block_fit *b, int mode, amped_row_fit_sums *sums) {
  return amped_row_fit_cuda_solve_shared(b->part, mode, sums);
}

} // namespace

const amped_block_fit_ops amped_block_fit_cuda_ops = {
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
