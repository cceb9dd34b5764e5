/* Row fits on a GPU: memory, passes over a copy, and rows of split iDps. */
#include "cuda/complete/row_fit_cuda.h"

#include <cfloat>
#include <cmath>
#include <cstring>

#include "cuda/complete/held_out_cuda.h"
#include "cuda/complete/shared_rows_cuda.h"
#include "cuda/device/buffers_cuda.h"
#include "cuda/device/staged_cuda.h"
#include "cuda/factor/factor_set_cuda.h"

extern "C" {
#include "base/mem.h"
#include "cpu/complete/row_solve_cpu.h"
}

namespace {

/* Bytes of summed equations that are uploaded at a time. */
constexpr uint64_t put_bytes = UINT64_C(64) << 20;

/* Doubles of a matrix row in the CPU's equations. */
uint64_t equations_width(uint64_t components) {
  return amped_ceil_div(components, (uint64_t)AMPED_ROW_PADDING) * AMPED_ROW_PADDING;
}

/* Bytes of a row's equations, at most: ncomps columns with or without a bias among them. */
uint64_t equation_bytes(const amped_plan *plan) {
  const uint64_t plain = amped_equation_length(plan->ncomps, false);
  const uint64_t biased = plan->ncomps > 1 ? amped_equation_length(plan->ncomps - 1, true) : 0;
  return (plain > biased ? plain : biased) * sizeof(double);
}

/* Bytes of scratch memory: the maximum over 1 .. ncomps columns. A fit with a bias or of a block
 * has fewer columns, and may need more memory: smaller workspaces are given to more thread blocks.
 */
uint64_t scratch_bytes(const amped_plan *plan) {
  uint64_t most = 0;
  for (int n = 1; n <= plan->ncomps; n++) {
    const uint64_t bytes = amped_row_scratch_cuda_bytes(n) * amped_row_scratch_cuda_blocks(n);
    most = bytes > most ? bytes : most;
  }
  return most;
}

uint64_t put_rows(const amped_plan *plan) {
  const uint64_t rows = put_bytes / equation_bytes(plan);
  return rows > 0 ? rows : 1;
}

/* --- memory ---------------------------------------------------------------------------------- */

amped_buffers copy_buffers(amped_row_copy_cuda *c, const amped_plan *plan, int mode, bool weighted,
                           uint64_t pieces, uint64_t strips, uint64_t long_rows) {
  const amped_mode_plan *m = &plan->modes[mode];
  const uint64_t nnz = m->copy.rank_nnz[plan->rank];
  amped_buffers b = {};
  b.what = "row fits";
  AMPED_BUFFER_OF(&b, ARENA, c->d_memory, 0, 1);
  AMPED_BUFFER(&b, PART, c->d_pieces, pieces);
  AMPED_BUFFER(&b, PART, c->d_strip_ends, strips);
  AMPED_BUFFER(&b, PART, c->d_long_rows, long_rows);
  AMPED_BUFFER(&b, PART, c->d_held, amped_packing_bit_words(nnz + 32));
  AMPED_BUFFER(&b, PART, c->d_empty_rows, amped_packing_bit_words(m->rows.block_rows));
  AMPED_BUFFER(&b, PART, c->d_failed, pieces);
  AMPED_BUFFER_OF(&b, PART, c->d_weights, weighted ? nnz : 0, plan->value_type);
  return b;
}

uint64_t shared_rows_of(const amped_plan *plan, int mode) {
  uint64_t first = 0;
  uint64_t end = 0;
  const amped_mode_plan *m = &plan->modes[mode];
  amped_plan_shared_idps(m, plan->rank, &first, &end);
  return m->copy.splits != nullptr ? m->copy.splits[end].row - m->copy.splits[first].row : 0;
}

amped_buffers buffers(amped_row_fit_cuda *f, const amped_plan *plan, uint64_t slots,
                      uint64_t strips) {
  const uint64_t equations = equation_bytes(plan);
  const uint64_t put =
      equations > put_bytes ? equations : put_bytes; /* for fewer components, too */
  const uint64_t n = (uint64_t)plan->ncomps;
  uint64_t shared = 0;
  amped_buffers b = {};
  b.what = "row fits";
  for (int m = 0; m < plan->order; m++)
    shared = shared_rows_of(plan, m) > shared ? shared_rows_of(plan, m) : shared;
  AMPED_BUFFER_OF(&b, ARENA, f->d_memory, 0, 1);
  AMPED_BUFFER_OF(&b, PART, f->d_slots, slots, equations);
  AMPED_BUFFER_OF(&b, PART, f->d_shared, shared, equations);
  AMPED_BUFFER_OF(&b, PART, f->d_put, shared > 0 || plan->nranks > 1 ? put : 0, 1);
  AMPED_BUFFER_OF(&b, PART, f->d_scratch, scratch_bytes(plan), 1);
  AMPED_BUFFER(&b, PART, f->d_result, strips + AMPED_FIT_BLOCKS + 2);
  AMPED_BUFFER_OF(&b, PART, f->d_errors, AMPED_ERROR_BLOCKS, sizeof(amped_moments));
  AMPED_BUFFER(&b, PART, f->d_base, n * n);
  AMPED_BUFFER(&b, PART, f->d_empty, n + 1);
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER(&b, PART, f->d_positions[m], shared_rows_of(plan, m));
  AMPED_BUFFER(&b, PINNED, f->result, 2);
  return b;
}

void fit_require(const amped_device *device, const amped_plan *plan, bool weighted,
                 uint64_t *device_bytes, uint64_t *host_bytes) {
  amped_layout_cuda layout = {};
  amped_row_fit_cuda none = {};
  amped_row_copy_cuda copy = {};
  uint64_t slots = 0;
  uint64_t strips = 0;
  uint64_t host = 0;
  (void)device;
  *host_bytes = 0;
  *device_bytes =
      amped_file_indices_cuda_bytes(plan) + (weighted ? amped_weigh_cuda_bytes(plan) : 0);
  for (int m = 0; m < plan->order; m++) {
    const amped_mode_plan *mode = &plan->modes[m];
    const amped_row_pieces_limits_cuda most =
        amped_row_pieces_cuda_limits(plan, &layout, m, equation_bytes(plan));
    const uint64_t own = most.pieces * (sizeof(amped_row_piece_cuda) + sizeof(uint64_t)) +
                         most.long_rows * sizeof(amped_long_row_cuda) +
                         mode->copy.rank_nnz[plan->rank] / 8 +
                         amped_plan_copy_rows(plan, m) * plan->index_type;
    amped_buffers_require(
        copy_buffers(&copy, plan, m, weighted, most.pieces, most.pieces, most.long_rows),
        device_bytes, host_bytes);
    slots = most.slots > slots ? most.slots : slots;
    strips = most.pieces > strips ? most.pieces : strips;
    host = own > host ? own : host;
  }
  amped_buffers_require(buffers(&none, plan, slots, strips), device_bytes, host_bytes);
  const uint64_t indices = amped_file_indices_cuda_bytes(plan);
  *host_bytes += host > indices ? host : indices;
}

/* Host arrays of a copy while it is cut. */
struct copy_arrays {
  uint32_t *bits;
  char *rows;
  uint32_t *empty_rows;
};

amped_status fetch_rows(amped_tensor_part *part, int mode, copy_arrays *a) {
  const amped_copy_cuda *copy = &part->copies.copies[mode];
  const cudaStream_t stream = part->device->stream;
  const uint64_t words = amped_packing_bit_words(copy->nnz);
  AMPED_TRY(amped_alloc(&a->bits, words, sizeof *a->bits, "the rows of a copy"));
  AMPED_TRY(amped_alloc(&a->rows, copy->rows, part->plan->index_type, "the rows of a copy"));
  AMPED_TRY(amped_calloc(&a->empty_rows,
                         amped_packing_bit_words(part->plan->modes[mode].rows.block_rows),
                         sizeof *a->empty_rows, "the rows of a copy"));
  if (copy->nnz == 0)
    return AMPED_OK;
  AMPED_TRY(amped_staged_cuda_get(a->bits, copy->d_bits, words * sizeof *a->bits, stream));
  AMPED_TRY(
      amped_staged_cuda_get(a->rows, copy->d_rows, copy->rows * part->plan->index_type, stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

amped_status upload(void *to, const void *from, uint64_t bytes, cudaStream_t stream) {
  return amped_staged_cuda_put(to, from, bytes, stream);
}

/* Set every weight to -1. */
amped_status make_weights(amped_tensor_part *part, int mode, void *d_weights) {
  const amped_plan *plan = part->plan;
  const uint64_t nnz = plan->modes[mode].copy.rank_nnz[plan->rank];
  char *some = nullptr;
  AMPED_TRY(amped_alloc(&some, AMPED_PACK_NNZ, plan->value_type, "the weights of nonzeros"));
  for (uint64_t k = 0; k < AMPED_PACK_NNZ; k++)
    amped_value_put(some, plan->value_type, k, -1.0);
  amped_status status = AMPED_OK;
  for (uint64_t k = 0; k < nnz && status == AMPED_OK; k += AMPED_PACK_NNZ) {
    const uint64_t count = nnz - k < AMPED_PACK_NNZ ? nnz - k : AMPED_PACK_NNZ;
    status = upload(static_cast<char *>(d_weights) + k * plan->value_type, some,
                    count * plan->value_type, part->device->stream);
  }
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaStreamSynchronize(part->device->stream), "cudaStreamSynchronize");
  amped_free(some);
  return status;
}

amped_status upload_copy(amped_tensor_part *part, int mode, bool weighted, const copy_arrays *a) {
  const amped_plan *plan = part->plan;
  const cudaStream_t stream = part->device->stream;
  amped_row_copy_cuda *copy = &part->row_fit->copies[mode];
  const amped_row_pieces_cuda *p = &copy->host;
  AMPED_TRY(amped_buffers_cuda_allocate(
      copy_buffers(copy, plan, mode, weighted, p->count, p->strips, p->long_count)));
  if (weighted)
    AMPED_TRY(make_weights(part, mode, copy->d_weights));
  AMPED_TRY(upload(copy->d_pieces, p->pieces, p->count * sizeof *p->pieces, stream));
  AMPED_TRY(upload(copy->d_strip_ends, p->strip_ends, p->strips * sizeof *p->strip_ends, stream));
  AMPED_TRY(upload(copy->d_long_rows, p->long_rows, p->long_count * sizeof *p->long_rows, stream));
  AMPED_TRY(upload(
      copy->d_empty_rows, a->empty_rows,
      amped_packing_bit_words(plan->modes[mode].rows.block_rows) * sizeof *a->empty_rows, stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

/* Keep on the host: pieces before each run, each run's first nonzero, and the shared rows. Then
 * free the host arrays that are on the device. */
amped_status keep_runs(amped_row_copy_cuda *copy) {
  amped_row_pieces_cuda *p = &copy->host;
  const uint64_t own = p->long_count - copy->shared_count;
  AMPED_TRY(
      amped_alloc(&copy->run_pieces, p->runs + 1, sizeof *copy->run_pieces, "the rows of a copy"));
  AMPED_TRY(amped_alloc(&copy->run_first, p->runs, sizeof *copy->run_first, "the rows of a copy"));
  for (uint64_t i = 0; i < p->runs; i++) {
    copy->run_pieces[i] = p->run[i].first_strip > 0 ? p->strip_ends[p->run[i].first_strip - 1] : 0;
    copy->run_first[i] = p->pieces[copy->run_pieces[i]].first;
  }
  copy->run_pieces[p->runs] = p->count;
  AMPED_TRY(amped_alloc(&copy->shared_rows, copy->shared_count, sizeof *copy->shared_rows,
                        "the rows of a copy"));
  for (uint64_t i = 0; i < copy->shared_count; i++)
    copy->shared_rows[i] = p->long_rows[own + i].row;
  amped_free(p->pieces);
  amped_free(p->strip_ends);
  amped_free(p->long_rows);
  p->pieces = nullptr;
  p->strip_ends = nullptr;
  p->long_rows = nullptr;
  return AMPED_OK;
}

amped_status make_copy(amped_tensor_part *part, int mode, bool weighted) {
  amped_row_copy_cuda *copy = &part->row_fit->copies[mode];
  const amped_plan *plan = part->plan;
  copy_arrays a = {};
  amped_status status = fetch_rows(part, mode, &a);
  if (status == AMPED_OK)
    status = amped_row_pieces_cuda_make(&copy->host, plan, &part->copies.layout, mode, a.bits,
                                        a.rows, equation_bytes(plan));
  if (status == AMPED_OK) {
    copy->empty_count = amped_row_pieces_cuda_empty_rows(
        plan, mode, a.rows, part->copies.copies[mode].rows, a.empty_rows);
    copy->shared_count = copy->host.long_count - copy->host.part_long[plan->modes[mode].rows.parts];
    status = upload_copy(part, mode, weighted, &a);
  }
  if (status == AMPED_OK)
    status = keep_runs(copy);
  amped_free(a.bits);
  amped_free(a.rows);
  amped_free(a.empty_rows);
  return status;
}

amped_status make_positions(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  const uint64_t rows = shared_rows_of(plan, mode);
  uint64_t *host = nullptr;
  AMPED_TRY(amped_alloc(&host, rows, sizeof *host, "shared rows"));
  for (uint64_t i = 0; i < rows; i++)
    host[i] = amped_plan_row_position(plan, mode, plan->modes[mode].rows.block_rows + i);
  amped_status status =
      upload(part->row_fit->d_positions[mode], host, rows * sizeof *host, part->device->stream);
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaStreamSynchronize(part->device->stream), "cudaStreamSynchronize");
  amped_free(host);
  return status;
}

amped_status make_common(amped_tensor_part *part) {
  amped_row_fit_cuda *f = part->row_fit;
  const amped_plan *plan = part->plan;
  uint64_t slots = 0;
  uint64_t strips = 0;
  for (int m = 0; m < plan->order; m++) {
    slots = f->copies[m].host.slots > slots ? f->copies[m].host.slots : slots;
    strips = f->copies[m].host.strips > strips ? f->copies[m].host.strips : strips;
  }
  AMPED_TRY(amped_buffers_cuda_allocate(buffers(f, plan, slots, strips)));
  f->d_sums = f->d_result + 2;
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(make_positions(part, m));
  for (int i = 0; i < AMPED_MAX_PARTS; i++)
    AMPED_CUDA(cudaEventCreateWithFlags(&f->parts[i], cudaEventDisableTiming));
  return AMPED_OK;
}

amped_status fit_prepare(amped_tensor_part *part, bool weighted) {
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_calloc(&part->row_fit, 1, sizeof *part->row_fit, "row fits"));
  for (int m = 0; m < part->plan->order && status == AMPED_OK; m++)
    status = make_copy(part, m, weighted);
  if (status == AMPED_OK)
    status = make_common(part);
  if (status != AMPED_OK) {
    amped_row_fit_cuda_free(part->row_fit);
    part->row_fit = nullptr;
  }
  return status;
}

/* --- passes over a copy ---------------------------------------------------------------------- */

struct fit_pass {
  amped_tensor_part *part;
  int mode;
  int part_done; /* parts whose rows are all enqueued */
  amped_row_kernel_cuda_args args;
  const amped_run_hook_cuda *hook; /* NULL: none */
  bool warps;                      /* each strip has sums of its own */
};

} // namespace

amped_row_kernel_cuda_args amped_row_fit_cuda_args(const amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  const amped_row_fit_cuda *f = part->row_fit;
  const amped_row_copy_cuda *copy = &f->copies[mode];
  amped_row_kernel_cuda_args a = {};
  a.fit = &f->fit;
  a.mode = mode;
  a.inputs = plan->order - 1;
  a.components = plan->ncomps - (f->fit.biased ? 1 : 0);
  a.value_type = plan->value_type;
  a.index_type = plan->index_type;
  a.ld = plan->ld;
  for (int m = 0, input = 0; m < plan->order; m++)
    if (m != mode)
      a.factors[input++] = amped_factor_set_cuda_rows(part->factors, m);
  a.own = static_cast<char *>(amped_factor_set_cuda_rows(part->factors, mode)) +
          (uint64_t)plan->rank * plan->modes[mode].rows.block_rows * amped_plan_row_bytes(plan);
  a.stream = part->device->stream;
  a.held = f->any_held ? copy->d_held : nullptr;
  a.weights = copy->d_weights;
  a.base = f->fit.implicit > 0.0 ? f->d_base : nullptr;
  a.empty = f->d_empty;
  a.of_empty = f->of_empty;
  a.pieces = copy->d_pieces;
  if (copy->host.count > 0)
    a.mean_nonzeros =
        (double)plan->modes[mode].copy.rank_nnz[plan->rank] / (double)copy->host.count;
  a.strip_ends = copy->d_strip_ends;
  a.failed = copy->d_failed;
  a.long_rows = copy->d_long_rows;
  a.slots = f->d_slots;
  a.scratch = f->d_scratch;
  a.scratch_bytes = amped_row_scratch_cuda_bytes(a.components);
  a.sums = f->d_sums;
  return a;
}

namespace {

amped_row_fit_sums *strip_sums(const amped_row_fit_cuda *f) {
  return f->d_sums + AMPED_FIT_BLOCKS;
}

/* Enqueue the long rows of the parts before `end`. All their pieces are enqueued. */
amped_status finish_parts(fit_pass *s, int end) {
  amped_row_fit_cuda *f = s->part->row_fit;
  const amped_row_pieces_cuda *p = &f->copies[s->mode].host;
  for (; s->part_done < end; s->part_done++) {
    amped_row_kernel_cuda_args a = s->args;
    a.first_row = p->part_long[s->part_done];
    a.end_row = p->part_long[s->part_done + 1];
    AMPED_TRY(amped_row_blocks_finish(&a));
    AMPED_CUDA(cudaEventRecord(f->parts[s->part_done], a.stream));
  }
  return AMPED_OK;
}

/* Enqueue what follows the last nonzero: long rows, the sums of shared rows, and the result. */
amped_status finish_pass(fit_pass *s) {
  amped_row_fit_cuda *f = s->part->row_fit;
  const amped_row_copy_cuda *copy = &f->copies[s->mode];
  amped_row_kernel_cuda_args a = s->args;
  AMPED_TRY(finish_parts(s, s->part->plan->modes[s->mode].rows.parts));
  a.first_row = copy->host.long_count - copy->shared_count;
  a.end_row = copy->host.long_count;
  a.equations = f->d_shared;
  AMPED_TRY(amped_row_blocks_sum(&a));
  AMPED_TRY(amped_row_sums_cuda(f->d_sums, AMPED_FIT_BLOCKS + (s->warps ? copy->host.strips : 0),
                                f->d_result, a.stream));
  AMPED_CUDA(
      cudaMemcpyAsync(f->result, f->d_result, sizeof *f->result, cudaMemcpyDeviceToHost, a.stream));
  return AMPED_OK;
}

amped_status begin_pass(void *self) {
  fit_pass *s = static_cast<fit_pass *>(self);
  amped_row_fit_cuda *f = s->part->row_fit;
  const amped_row_copy_cuda *copy = &f->copies[s->mode];
  const cudaStream_t stream = s->args.stream;
  AMPED_CUDA(cudaMemsetAsync(f->d_sums, 0, AMPED_FIT_BLOCKS * sizeof *f->d_sums, stream));
  if (copy->host.count > 0)
    AMPED_CUDA(cudaMemsetAsync(copy->d_failed, 0, copy->host.count, stream));
  if (s->args.fit->history == nullptr)
    AMPED_TRY(amped_empty_rows_cuda(&s->args, copy->d_empty_rows,
                                    s->part->plan->modes[s->mode].rows.block_rows));
  return s->part->copies.layout.nnz[s->mode] > 0 ? AMPED_OK : finish_pass(s);
}

amped_status fit_run(fit_pass *s, uint64_t i, const amped_span_cuda *span, void *d_block) {
  const amped_row_fit_cuda *f = s->part->row_fit;
  const amped_row_copy_cuda *copy = &f->copies[s->mode];
  const amped_row_run_cuda *run = &copy->host.run[i];
  const uint64_t first = run->nonzero > span->first ? run->nonzero : span->first;
  amped_packed_cuda packed =
      amped_copies_cuda_packed(&s->part->copies, s->mode, span, d_block, first);
  amped_row_kernel_cuda_args a = s->args;
  bool done = false;
  AMPED_TRY(finish_parts(s, run->part));
  a.packed = &packed;
  a.first_strip = run->first_strip;
  a.strips = run->strips;
  a.first_piece = copy->run_pieces[i];
  a.end_piece = copy->run_pieces[i + 1];
  if (s->hook != nullptr) {
    a.sums = strip_sums(f);
    AMPED_TRY(s->hook->run(s->hook->self, &a, &packed, &done));
    a.sums = f->d_sums;
  }
  if (done)
    return AMPED_OK;
  if (s->warps) {
    a.sums = strip_sums(f);
    AMPED_TRY(amped_row_warps_cuda(&a));
    a.sums = f->d_sums;
    a.only_failed = true;
  }
  return amped_row_blocks_cuda(&a);
}

amped_status fit_span(void *self, const amped_span_cuda *span, void *d_block) {
  fit_pass *s = static_cast<fit_pass *>(self);
  const amped_row_copy_cuda *copy = &s->part->row_fit->copies[s->mode];
  const uint64_t end = span->first + span->count;
  for (uint64_t i = 0; i < copy->host.runs; i++) {
    const uint64_t k = copy->run_first[i];
    if (k >= span->first && k < end)
      AMPED_TRY(fit_run(s, i, span, d_block));
  }
  return end < s->part->copies.layout.nnz[s->mode] ? AMPED_OK : finish_pass(s);
}

/* Compute the row for rows without nonzeros, rounded to the factors' type, and its contribution to
 * the sums (of_empty). The row is the prior; in implicit fits it is solved from the zeros and the
 * penalty. work: zeros, as upload_fit allocates them. */
void find_empty(amped_tensor_part *part, int mode, double *work, double *row) {
  amped_row_fit_cuda *f = part->row_fit;
  const amped_row_fit *fit = &f->fit;
  const uint64_t n = (uint64_t)part->plan->ncomps - (fit->biased ? 1 : 0);
  const double power = fit->reg_power;
  amped_row_penalty p = {};
  p.components = n;
  p.biased = fit->biased;
  p.weight = fit->reg * fit->pull[mode] * (power > 0.0 ? 0.0 : 1.0);
  p.prior = fit->prior[mode];
  p.reg_bias = fit->reg_bias;
  p.base = fit->implicit > 0.0 ? fit->base : nullptr;
  amped_row_equations e = {};
  e.width = equations_width(n);
  e.products = work;
  e.sum = e.products + e.width * e.width;
  e.targets = e.sum + e.width;
  double *const solve = e.targets + e.width;
  f->of_empty = {};
  for (uint64_t c = 0; c <= n; c++)
    row[c] = c < n ? p.prior : 0.0;
  if (p.base != nullptr) {
    if (p.weight * p.prior == 0.0)
      memset(row, 0, n * sizeof *row);
    else if (fit->nonnegative)
      amped_row_solve_nonnegative(&e, &p, solve, row);
    else if (!amped_row_solve_primal(&e, &p, solve, row))
      amped_row_solve_least(&e, &p, solve, row);
  }
  for (uint64_t c = 0; c <= n; c++) {
    double stored = 0.0;
    const double most = part->plan->value_type == AMPED_F32 ? (double)FLT_MAX : DBL_MAX;
    amped_value_put(&stored, part->plan->value_type, 0,
                    fabs(row[c]) <= most ? row[c]
                    : c < n              ? p.prior
                                         : 0.0);
    row[c] = amped_value_get(&stored, part->plan->value_type, 0);
    if (p.base != nullptr && c < n)
      f->of_empty.penalty += p.weight * (row[c] - p.prior) * (row[c] - p.prior);
  }
  if (p.base != nullptr)
    f->of_empty.squares = amped_row_squares(&e, &p, row);
}

/* Upload the arrays that kernels need of the fit: the row for rows without nonzeros, and the sums
 * over all cells. */
amped_status upload_fit(amped_tensor_part *part, int mode) {
  amped_row_fit_cuda *f = part->row_fit;
  const cudaStream_t stream = part->device->stream;
  const uint64_t n = (uint64_t)part->plan->ncomps;
  const uint64_t width = equations_width(n);
  double *work = nullptr;
  AMPED_TRY(amped_calloc(&work, width * width + 2 * width + amped_row_solve_elements(n) + n + 1,
                         sizeof *work, "row fits"));
  double *const row = work + width * width + 2 * width + amped_row_solve_elements(n);
  find_empty(part, mode, work, row);
  amped_status status = upload(f->d_empty, row, (n + 1) * sizeof *row, stream);
  if (status == AMPED_OK && f->fit.implicit > 0.0)
    status = upload(f->d_base, f->fit.base, n * n * sizeof(double), stream);
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  amped_free(work);
  return status;
}

amped_status fit_begin(amped_tensor_part *part, int mode, const amped_row_fit *fit) {
  part->row_fit->fit = *fit;
  AMPED_TRY(upload_fit(part, mode));
  const amped_row_kernel_cuda_args args = amped_row_fit_cuda_args(part, mode);
  return amped_row_fit_cuda_begin(part, mode, &args, nullptr);
}

void add_sums(amped_row_fit_sums *to, const amped_row_fit_sums *from) {
  to->count += from->count;
  to->squares += from->squares > 0.0 ? from->squares : 0.0;
  to->penalty += from->penalty;
  to->unsure += from->unsure;
}

} // namespace

amped_status amped_row_fit_cuda_begin(amped_tensor_part *part, int mode,
                                      const amped_row_kernel_cuda_args *args,
                                      const amped_run_hook_cuda *hook) {
  fit_pass s = {};
  s.part = part;
  s.mode = mode;
  s.args = *args;
  s.hook = hook;
  s.warps = (hook != nullptr && hook->has_strip_sums) || amped_row_warps_cuda_can(args);
  const amped_pass_cuda pass = {.begin = begin_pass, .span = fit_span, .self = &s};
  return amped_copies_cuda_begin_pass(&part->copies, mode, &pass);
}

amped_status amped_row_fit_cuda_wait(amped_tensor_part *part, int mode, int block_part,
                                     amped_mttkrp_times *times, amped_row_fit_sums *sums) {
  amped_row_fit_cuda *f = part->row_fit;
  if (block_part + 1 < part->plan->modes[mode].rows.parts) {
    AMPED_CUDA(cudaEventSynchronize(f->parts[block_part]));
    return AMPED_OK;
  }
  AMPED_TRY(amped_copies_cuda_finish(&part->copies, mode, times));
  AMPED_CUDA(cudaStreamSynchronize(part->device->stream));
  add_sums(sums, f->result);
  const uint64_t empty_rows = f->copies[mode].empty_count;
  sums->squares += (double)empty_rows * f->of_empty.squares;
  sums->penalty += (double)empty_rows * f->of_empty.penalty;
  return AMPED_OK;
}

/* --- split iDps ------------------------------------------------------------------------------ */

namespace {

amped_status fit_get_equations(amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                               double *equations) {
  const amped_row_kernel_cuda_args args = amped_row_fit_cuda_args(part, mode);
  return amped_row_fit_cuda_get(part, mode, &args, row, count, equations);
}

} // namespace

amped_status amped_row_fit_cuda_get(amped_tensor_part *part, int mode,
                                    const amped_row_kernel_cuda_args *args, uint64_t row,
                                    uint64_t count, double *equations) {
  const amped_row_fit_cuda *f = part->row_fit;
  const amped_row_copy_cuda *copy = &f->copies[mode];
  const amped_shared_rows_cuda rows = {copy->shared_rows, copy->shared_count, f->d_shared,
                                       amped_equation_length(args->components, args->fit->biased) *
                                           sizeof *equations};
  return amped_shared_rows_cuda_get(&rows, row, count, equations, part->device->stream);
}

amped_status amped_row_fit_cuda_put(amped_tensor_part *part, const amped_row_kernel_cuda_args *args,
                                    uint64_t row, uint64_t count, const double *equations) {
  amped_row_fit_cuda *f = part->row_fit;
  amped_row_kernel_cuda_args a = *args;
  const uint64_t length = amped_equation_length(a.components, a.fit->biased);
  const uint64_t most = put_rows(part->plan);
  a.equations = f->d_put;
  for (uint64_t first = 0; first < count; first += most) {
    const uint64_t rows = count - first < most ? count - first : most;
    AMPED_CUDA(cudaMemsetAsync(f->d_sums, 0, AMPED_FIT_BLOCKS * sizeof *f->d_sums, a.stream));
    AMPED_TRY(
        upload(f->d_put, equations + first * length, rows * length * sizeof(double), a.stream));
    a.first_row = row + first;
    a.end_row = row + first + rows;
    AMPED_TRY(amped_row_blocks_solve(&a));
    AMPED_TRY(amped_row_sums_cuda(f->d_sums, AMPED_FIT_BLOCKS, f->d_result + 1, a.stream));
    AMPED_CUDA(cudaMemcpyAsync(f->result + 1, f->d_result + 1, sizeof *f->result,
                               cudaMemcpyDeviceToHost, a.stream));
    AMPED_CUDA(cudaStreamSynchronize(a.stream));
    add_sums(&f->shared, f->result + 1);
  }
  return AMPED_OK;
}

amped_status amped_row_fit_cuda_solve_shared(amped_tensor_part *part, int,
                                             amped_row_fit_sums *sums) {
  add_sums(sums, &part->row_fit->shared);
  part->row_fit->shared = {};
  return AMPED_OK;
}

static amped_status fit_put_equations(amped_tensor_part *part, int mode, uint64_t row,
                                      uint64_t count, const double *equations) {
  const amped_row_kernel_cuda_args args = amped_row_fit_cuda_args(part, mode);
  return amped_row_fit_cuda_put(part, &args, row, count, equations);
}

void amped_row_fit_cuda_free(amped_row_fit_cuda *f) {
  if (f == nullptr)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_row_pieces_cuda_free(&f->copies[m].host);
    amped_free(f->copies[m].run_pieces);
    amped_free(f->copies[m].run_first);
    amped_free(f->copies[m].shared_rows);
    amped_cuda_free(f->copies[m].d_memory);
  }
  for (int i = 0; i < AMPED_MAX_PARTS; i++)
    if (f->parts[i] != nullptr)
      (void)cudaEventDestroy(f->parts[i]);
  amped_cuda_free(f->d_memory);
  amped_cuda_free(f->d_indices);
  amped_cuda_host_free(f->result);
  amped_free(f);
}

const amped_row_fit_ops amped_row_fit_cuda_ops = {
    .require = fit_require,
    .prepare = fit_prepare,
    .weigh = amped_weigh_cuda,
    .hold_out = amped_held_out_cuda,
    .moments = amped_moments_cuda,
    .view = amped_view_cuda,
    .begin = fit_begin,
    .wait = amped_row_fit_cuda_wait,
    .get_equations = fit_get_equations,
    .put_equations = fit_put_equations,
    .solve_shared = amped_row_fit_cuda_solve_shared,
    .errors = amped_errors_cuda,
};
