/* Contractions of a block of cells, and MTTKRP rows from them. */
#include "cuda/dense/cell_block_cuda.h"

amped_contract_cuda_args amped_contraction_cuda_of(const amped_device *device,
                                                   const amped_plan *plan,
                                                   const amped_dense_plan *dense, uint64_t rows,
                                                   int from, int end) {
  amped_contract_cuda_args c = {};
  c.type = dense->type;
  c.value_type = plan->value_type;
  c.lead = c.mid = c.trail = 1;
  for (int k = 0; k < plan->order; k++)
    *(k < from  ? &c.lead
      : k < end ? &c.mid
                : &c.trail) *= k == 0 ? rows : dense->dims[dense->layout[k]];
  c.ncomps = plan->ncomps;
  c.tf32 = device->options.tf32;
  c.caches = device->gpu.caches;
  c.stream = device->stream;
  return c;
}

amped_factor_rows_cuda amped_contraction_cuda_operand(const amped_plan *plan,
                                                      const amped_dense_plan *dense,
                                                      const void *const *d_rows, int from,
                                                      int end) {
  amped_factor_rows_cuda f = {};
  f.value_type = plan->value_type;
  f.ncomps = plan->ncomps;
  f.ld = plan->ld;
  f.columns = amped_contract_cuda_columns(plan->value_type, plan->ncomps);
  for (int k = from; k < end; k++) {
    f.dims[f.count] = dense->dims[dense->layout[k]];
    f.factors[f.count++] = d_rows[dense->layout[k]];
  }
  return f;
}

uint64_t amped_contraction_cuda_operand_rows(uint64_t mid) {
  const uint64_t rows = mid < AMPED_CONTRACT_ROWS ? mid : AMPED_CONTRACT_ROWS;
  return amped_ceil_div(rows, (uint64_t)AMPED_CONTRACT_STEP) * AMPED_CONTRACT_STEP;
}

static amped_contract_cuda_args whole(const amped_device *device, const amped_plan *plan,
                                      const amped_dense_plan *dense, int from, int end) {
  return amped_contraction_cuda_of(device, plan, dense, dense->dims[dense->layout[0]], from, end);
}

static uint64_t sums_of(const amped_contract_cuda_args *c) {
  return amped_contract_cuda_needs_sums(c)
             ? amped_contract_cuda_parts(c) * c->lead * c->trail * (uint64_t)c->ncomps
             : 0;
}

static void keep_larger(uint64_t *most, uint64_t bytes) {
  *most = bytes > *most ? bytes : *most;
}

amped_cell_room_bytes_cuda amped_cell_block_cuda_room(const amped_device *device,
                                                      const amped_plan *plan,
                                                      const amped_dense_plan *dense) {
  const int half = plan->order / 2;
  const bool is_split = dense->tree == AMPED_TREE_SPLIT;
  const uint64_t columns = amped_contract_cuda_columns(plan->value_type, plan->ncomps);
  amped_cell_room_bytes_cuda r = {};
  for (int k = 0; k < plan->order; k++) {
    const int from = !is_split ? k : k < half ? 0 : half;
    const int end = !is_split ? k + 1 : k < half ? half : plan->order;
    const amped_contract_cuda_args c = whole(device, plan, dense, from, end);
    keep_larger(&r.sums, sums_of(&c) * sizeof(double));
    keep_larger(&r.sums, amped_rows_cuda_most_sums(dense->dims[k], plan->ncomps,
                                                   device->gpu.caches.multiprocessors) *
                             sizeof(double));
    keep_larger(&r.operand,
                amped_contraction_cuda_operand_rows(c.mid) * columns * plan->value_type);
    keep_larger(&r.split, amped_contract_cuda_split(&c));
  }
  return r;
}

amped_status amped_cell_block_cuda_contract(const amped_cell_block_cuda *b, int from, int end,
                                            const amped_cell_room_cuda *room) {
  const amped_factor_rows_cuda f =
      amped_contraction_cuda_operand(b->plan, b->dense, b->d_rows, from, end);
  amped_contract_cuda_args c = whole(b->device, b->plan, b->dense, from, end);
  c.cells = b->d_cells;
  c.factor = room->d_operand;
  c.split = room->d_split;
  c.parts = amped_contract_cuda_parts(&c);
  c.sums = amped_contract_cuda_needs_sums(&c) ? room->d_sums : nullptr;
  c.out = b->d_t;
  for (c.first = 0; c.first < c.mid; c.first = c.end) {
    const uint64_t left = c.mid - c.first;
    c.end = c.first + (left < AMPED_CONTRACT_ROWS ? left : AMPED_CONTRACT_ROWS);
    c.again = c.first > 0;
    c.more = c.end < c.mid;
    AMPED_TRY(amped_factor_rows_cuda_make(&f, c.first, c.end,
                                          amped_contraction_cuda_operand_rows(c.end - c.first),
                                          room->d_operand, c.stream));
    AMPED_TRY(amped_contract_cuda(&c));
  }
  return AMPED_OK;
}

amped_status amped_cell_block_cuda_rows(const amped_cell_block_cuda *b, int from, int end,
                                        int place, const amped_cell_room_cuda *room, void *d_out) {
  amped_rows_cuda_args a = {};
  a.value_type = b->plan->value_type;
  a.t = b->d_t;
  a.ncomps = b->plan->ncomps;
  a.ld = b->plan->ld;
  a.out = d_out;
  a.multiprocessors = b->device->gpu.caches.multiprocessors;
  a.stream = b->device->stream;
  for (int k = 0; k < b->plan->order; k++) {
    if (k >= from && k < end)
      continue;
    if (k == place)
      a.target = a.order;
    a.dims[a.order] = b->dense->dims[b->dense->layout[k]];
    a.factors[a.order++] = b->d_rows[b->dense->layout[k]];
  }
  a.sums = amped_rows_cuda_sums(&a) > 0 ? room->d_sums : nullptr;
  return amped_rows_cuda(&a);
}
