/* Row steps on a GPU: memory, passes over a copy, rows of split iDps, and counts of nonzeros. */
#include "cuda/complete/row_steps_cuda.h"

#include <cmath>
#include <cstring>

#include "cuda/complete/held_out_cuda.h"
#include "cuda/complete/row_kernels_cuda.h"
#include "cuda/complete/row_state_cuda.h"
#include "cuda/complete/shared_rows_cuda.h"
#include "cuda/complete/step_kernels_cuda.h"
#include "cuda/device/buffers_cuda.h"
#include "cuda/factor/factor_set_cuda.h"

extern "C" {
#include "base/mem.h"
}

namespace {

const char what[] = "row steps";

/* Rows of summed results that are uploaded at a time. */
constexpr uint64_t put_at_a_time = 4096;

/* State of one copy. */
struct step_copy {
  uint64_t entries, own_entries;
  uint64_t pieces, rows, own_rows;
  uint64_t *shared_rows; /* [rows - own_rows] host: rows of the MTTKRP result */
  void *d_memory;        /* holds the arrays below */
  uint64_t *d_begins;
  uint64_t *d_counts;
  uint64_t *d_whole;
  amped_step_piece_cuda *d_pieces;
  amped_step_row_cuda *d_rows;
  void *d_kept;
};

} // namespace

struct amped_row_steps_cuda {
  int ncomps; /* components that there is memory for */
  step_copy copies[AMPED_MAX_ORDER];
  void *d_memory; /* holds the arrays below */
  double *d_results;
  double *d_shared;
  double *d_put;
  amped_row_step_sums *d_sums;
  amped_row_step_sums *sums; /* [3 AMPED_STEP_BLOCKS] host */

  amped_row_fit fit; /* current pass: fit, step, order, nonzeros */
  double step;
  amped_step_order order;
  amped_packed_cuda packed;
  amped_row_step_sums shared; /* sums of shared rows, not reported yet */
};

namespace {

/* --- memory ---------------------------------------------------------------------------------- */

uint64_t shared_rows_of(const amped_plan *plan, int mode) {
  return plan->modes[mode].copy.output_rows - plan->modes[mode].rows.block_rows;
}

uint64_t own_bytes(const amped_plan *plan, int mode) {
  return plan->modes[mode].rows.block_rows * amped_plan_row_bytes(plan);
}

amped_buffers copy_buffers(step_copy *c, const amped_plan *plan, int mode, uint64_t entries,
                           uint64_t pieces, uint64_t rows) {
  amped_buffers b = {};
  b.what = what;
  AMPED_BUFFER_OF(&b, ARENA, c->d_memory, 0, 1);
  AMPED_BUFFER(&b, PART, c->d_begins, entries + 1);
  AMPED_BUFFER(&b, PART, c->d_counts, entries);
  AMPED_BUFFER(&b, PART, c->d_whole, shared_rows_of(plan, mode));
  AMPED_BUFFER(&b, PART, c->d_pieces, pieces);
  AMPED_BUFFER(&b, PART, c->d_rows, rows);
  AMPED_BUFFER_OF(&b, PART, c->d_kept, own_bytes(plan, mode), 1);
  return b;
}

amped_buffers buffers(amped_row_steps_cuda *s, const amped_plan *plan, uint64_t pieces,
                      uint64_t shared) {
  amped_buffers b = {};
  const uint64_t row = amped_step_row_length(plan);
  b.what = what;
  AMPED_BUFFER_OF(&b, ARENA, s->d_memory, 0, 1);
  AMPED_BUFFER(&b, PART, s->d_results, pieces * row);
  AMPED_BUFFER(&b, PART, s->d_shared, shared * row);
  AMPED_BUFFER(&b, PART, s->d_put, plan->nranks > 1 ? put_at_a_time * row : 0);
  AMPED_BUFFER(&b, PART, s->d_sums, 3 * AMPED_STEP_BLOCKS);
  AMPED_BUFFER(&b, HOST, s->sums, 3 * AMPED_STEP_BLOCKS);
  return b;
}

/* Upper bound of the number of pieces. A long row has more nonzeros than one piece may have, so
 * each of its pieces has at least half of AMPED_STEP_PIECE. A shared row may have fewer. */
uint64_t most_pieces(const amped_plan *plan, int mode) {
  return plan->modes[mode].copy.rank_nnz[plan->rank] / (AMPED_STEP_PIECE / 2) +
         shared_rows_of(plan, mode);
}

void steps_require(const amped_device *, const amped_plan *plan, uint64_t *device_bytes,
                   uint64_t *host_bytes) {
  amped_row_steps_cuda none = {};
  step_copy copy = {};
  uint64_t pieces = 0;
  uint64_t shared = 0;
  uint64_t host = 0;
  *device_bytes = 0;
  *host_bytes = 0;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t entries = amped_plan_copy_rows(plan, m);
    const uint64_t most = most_pieces(plan, m);
    const uint64_t own = plan->modes[m].copy.rank_nnz[plan->rank] / 8 +
                         entries * (sizeof(uint64_t) + plan->index_type) +
                         most * (sizeof(amped_step_piece_cuda) + sizeof(amped_step_row_cuda));
    amped_buffers_require(copy_buffers(&copy, plan, m, entries, most, most), device_bytes,
                          host_bytes);
    pieces = most > pieces ? most : pieces;
    shared = shared_rows_of(plan, m) > shared ? shared_rows_of(plan, m) : shared;
    host = own > host ? own : host;
  }
  amped_buffers_require(buffers(&none, plan, pieces, shared), device_bytes, host_bytes);
  *host_bytes += host;
}

/* Host arrays of a copy while they are made. */
struct copy_arrays {
  uint32_t *bits;
  char *rows;
  uint64_t *begins;
  amped_step_piece_cuda *pieces;
  amped_step_row_cuda *long_rows;
};

amped_status fetch(amped_tensor_part *part, int mode, copy_arrays *a) {
  const amped_copy_cuda *copy = &part->copies.copies[mode];
  const cudaStream_t stream = part->device->stream;
  const uint64_t words = amped_packing_bit_words(copy->nnz);
  const uint64_t most = most_pieces(part->plan, mode);
  AMPED_TRY(amped_alloc(&a->bits, words, sizeof *a->bits, what));
  AMPED_TRY(amped_alloc(&a->rows, copy->rows, part->plan->index_type, what));
  AMPED_TRY(amped_alloc(&a->begins, copy->rows + 1, sizeof *a->begins, what));
  AMPED_TRY(amped_alloc(&a->pieces, most, sizeof *a->pieces, what));
  AMPED_TRY(amped_alloc(&a->long_rows, most, sizeof *a->long_rows, what));
  if (copy->nnz == 0)
    return AMPED_OK;
  AMPED_CUDA(cudaMemcpyAsync(a->bits, copy->d_bits, words * sizeof *a->bits, cudaMemcpyDeviceToHost,
                             stream));
  AMPED_CUDA(cudaMemcpyAsync(a->rows, copy->d_rows, copy->rows * part->plan->index_type,
                             cudaMemcpyDeviceToHost, stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

/* Find where rows begin, and cut long and shared rows into pieces. */
void cut_rows(const amped_plan *plan, int mode, const amped_copy_cuda *from, copy_arrays *a,
              step_copy *copy) {
  const uint64_t block_rows = plan->modes[mode].rows.block_rows;
  uint64_t entry = 0;
  for (uint64_t word = 0; word < amped_packing_bit_words(from->nnz); word++)
    for (uint32_t bits = a->bits[word]; bits != 0; bits &= bits - 1)
      a->begins[entry++] = word * 32 + (uint64_t)__builtin_ctz(bits);
  a->begins[entry] = from->nnz;
  copy->entries = entry;
  for (uint64_t e = 0; e < entry; e++) {
    const bool shared = amped_index_get(a->rows, plan->index_type, e) >= block_rows;
    const uint64_t length = a->begins[e + 1] - a->begins[e];
    const uint64_t pieces = amped_step_pieces(length);
    copy->own_entries += !shared;
    if (!shared && pieces == 1)
      continue;
    copy->own_rows += !shared;
    a->long_rows[copy->rows++] = {e, copy->pieces, pieces};
    for (uint64_t q = 0; q < pieces; q++)
      a->pieces[copy->pieces++] = {e, (uint32_t)q, (uint32_t)pieces};
  }
}

amped_status upload(void *to, const void *from, uint64_t bytes, cudaStream_t stream) {
  if (bytes > 0)
    AMPED_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  return AMPED_OK;
}

amped_status upload_copy(amped_tensor_part *part, int mode, const copy_arrays *a, step_copy *copy) {
  const cudaStream_t stream = part->device->stream;
  AMPED_TRY(amped_buffers_cuda_allocate(
      copy_buffers(copy, part->plan, mode, copy->entries, copy->pieces, copy->rows)));
  AMPED_TRY(upload(copy->d_begins, a->begins, (copy->entries + 1) * sizeof *a->begins, stream));
  AMPED_TRY(upload(copy->d_pieces, a->pieces, copy->pieces * sizeof *a->pieces, stream));
  AMPED_TRY(upload(copy->d_rows, a->long_rows, copy->rows * sizeof *a->long_rows, stream));
  AMPED_CUDA(cudaMemsetAsync(copy->d_whole, 0,
                             shared_rows_of(part->plan, mode) * sizeof *copy->d_whole, stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

amped_status make_copy(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  step_copy *copy = &part->row_steps->copies[mode];
  copy_arrays a = {};
  amped_status status = fetch(part, mode, &a);
  if (status == AMPED_OK) {
    cut_rows(plan, mode, &part->copies.copies[mode], &a, copy);
    status = amped_alloc(&copy->shared_rows, copy->rows - copy->own_rows, sizeof(uint64_t), what);
  }
  for (uint64_t i = copy->own_rows; i < copy->rows && status == AMPED_OK; i++)
    copy->shared_rows[i - copy->own_rows] =
        amped_index_get(a.rows, plan->index_type, a.long_rows[i].entry);
  if (status == AMPED_OK)
    status = upload_copy(part, mode, &a, copy);
  amped_free(a.bits);
  amped_free(a.rows);
  amped_free(a.begins);
  amped_free(a.pieces);
  amped_free(a.long_rows);
  return status;
}

amped_status make_common(amped_tensor_part *part) {
  amped_row_steps_cuda *s = part->row_steps;
  uint64_t pieces = 0;
  uint64_t shared = 0;
  for (int m = 0; m < part->plan->order; m++) {
    const step_copy *copy = &s->copies[m];
    pieces = copy->pieces > pieces ? copy->pieces : pieces;
    shared = copy->rows - copy->own_rows > shared ? copy->rows - copy->own_rows : shared;
  }
  return amped_buffers_cuda_allocate(buffers(s, part->plan, pieces, shared));
}

amped_status make(amped_tensor_part *part) {
  for (int m = 0; m < part->plan->order; m++)
    AMPED_TRY(make_copy(part, m));
  return make_common(part);
}

amped_status steps_prepare(amped_tensor_part *part) {
  if (part->row_steps != nullptr && part->row_steps->ncomps == part->plan->ncomps)
    return AMPED_OK;
  amped_row_steps_cuda_free(part->row_steps);
  part->row_steps = nullptr;
  AMPED_TRY(amped_calloc(&part->row_steps, 1, sizeof *part->row_steps, what));
  part->row_steps->ncomps = part->plan->ncomps;
  const amped_status status = make(part);
  if (status != AMPED_OK) {
    amped_row_steps_cuda_free(part->row_steps);
    part->row_steps = nullptr;
  }
  return status;
}

/* --- a pass ---------------------------------------------------------------------------------- */

amped_step_kernel_cuda_args args_of(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  amped_row_steps_cuda *s = part->row_steps;
  const step_copy *copy = &s->copies[mode];
  amped_step_kernel_cuda_args a = {};
  a.fit = &s->fit;
  a.mode = mode;
  a.inputs = plan->order - 1;
  a.multiprocessors = part->device->gpu.caches.multiprocessors;
  a.ncomps = plan->ncomps;
  a.ld = plan->ld;
  a.packed = &s->packed;
  for (int m = 0, input = 0; m < plan->order; m++)
    if (m != mode)
      a.factors[input++] = amped_factor_set_cuda_rows(part->factors, m);
  a.factor = amped_factor_set_cuda_rows(part->factors, mode);
  a.block_rows = plan->modes[mode].rows.block_rows;
  a.block_first = (uint64_t)plan->rank * a.block_rows;
  a.shared_at = part->row_fit->d_positions[mode];
  a.held = part->row_fit->any_held ? part->row_fit->copies[mode].d_held : nullptr;
  a.begins = copy->d_begins;
  a.whole = copy->d_whole;
  a.counts = copy->d_counts;
  a.entries = copy->entries;
  a.own_entries = copy->own_entries;
  a.pieces = copy->d_pieces;
  a.piece_count = copy->pieces;
  a.rows = copy->d_rows;
  a.row_count = copy->rows;
  a.own_rows = copy->own_rows;
  a.results = s->d_results;
  a.shared = s->d_shared;
  a.sums = s->d_sums;
  a.step = s->step;
  a.order = s->order;
  a.stream = part->device->stream;
  return a;
}

/* Upload the row for rows without nonzeros (row_fit's d_empty): the prior, and bias 0. */
amped_status put_empty(amped_tensor_part *part, const amped_step_kernel_cuda_args *a) {
  const uint64_t n = (uint64_t)a->ncomps;
  double *row = nullptr;
  AMPED_TRY(amped_calloc(&row, n, sizeof *row, what));
  for (uint64_t c = 0; c < n - (a->fit->biased ? 1 : 0); c++)
    row[c] = a->fit->prior[a->mode];
  amped_status status = upload(part->row_fit->d_empty, row, n * sizeof *row, a->stream);
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaStreamSynchronize(a->stream), "cudaStreamSynchronize");
  amped_free(row);
  return status;
}

/* Set the block's rows without nonzeros to the prior. */
amped_status fill_empty_rows(amped_tensor_part *part, const amped_step_kernel_cuda_args *a) {
  amped_row_kernel_cuda_args g = {};
  AMPED_TRY(put_empty(part, a));
  g.fit = a->fit;
  g.components = a->ncomps - (a->fit->biased ? 1 : 0);
  g.value_type = part->plan->value_type;
  g.ld = a->ld;
  g.own = static_cast<char *>(a->factor) + a->block_first * amped_plan_row_bytes(part->plan);
  g.empty = part->row_fit->d_empty;
  g.stream = a->stream;
  return amped_empty_rows_cuda(&g, part->row_fit->copies[a->mode].d_empty_rows, a->block_rows);
}

/* A pass over a copy, as its callbacks get it. */
struct step_pass {
  amped_tensor_part *part;
  amped_step_kernel_cuda_args args;
};

amped_status begin_pass(void *self) {
  step_pass *s = static_cast<step_pass *>(self);
  AMPED_TRY(fill_empty_rows(s->part, &s->args));
  if (s->args.entries > 0)
    return AMPED_OK;
  AMPED_CUDA(cudaMemsetAsync(s->args.sums, 0, 3 * AMPED_STEP_BLOCKS * sizeof(amped_row_step_sums),
                             s->args.stream));
  return AMPED_OK;
}

amped_status pass_span(void *self, const amped_span_cuda *span, void *d_block) {
  step_pass *s = static_cast<step_pass *>(self);
  s->part->row_steps->packed =
      amped_copies_cuda_packed(&s->part->copies, s->args.mode, span, d_block, span->first);
  AMPED_TRY(amped_step_counts_cuda(&s->args, true));
  return s->part->plan->value_type == AMPED_F32 ? amped_step_traversal_f32(&s->args)
                                                : amped_step_traversal_f64(&s->args);
}

amped_status steps_begin(amped_tensor_part *part, int mode, const amped_row_fit *fit, double step,
                         uint64_t epoch) {
  amped_row_steps_cuda *s = part->row_steps;
  s->fit = *fit;
  s->step = step;
  s->order = amped_step_order_of(epoch);
  step_pass p = {part, args_of(part, mode)};
  const amped_pass_cuda pass = {.begin = begin_pass, .span = pass_span, .self = &p};
  return amped_copies_cuda_begin_pass(&part->copies, mode, &pass);
}

/* Add the thread blocks' sums, in order, to *out. Waits for the stream. */
amped_status read_sums(amped_tensor_part *part, amped_row_step_sums *out) {
  amped_row_steps_cuda *s = part->row_steps;
  AMPED_CUDA(cudaMemcpyAsync(s->sums, s->d_sums, 3 * AMPED_STEP_BLOCKS * sizeof *s->sums,
                             cudaMemcpyDeviceToHost, part->device->stream));
  AMPED_CUDA(cudaStreamSynchronize(part->device->stream));
  for (int i = 0; i < 3 * AMPED_STEP_BLOCKS; i++) {
    out->count += s->sums[i].count;
    out->penalty += s->sums[i].penalty;
    out->bias_penalty += s->sums[i].bias_penalty;
  }
  return AMPED_OK;
}

/* All rows of a pass become new at the same time, so each part waits for the whole pass. */
amped_status steps_wait(amped_tensor_part *part, int mode, int block_part,
                        amped_mttkrp_times *times, amped_row_step_sums *sums) {
  if (block_part + 1 < part->plan->modes[mode].rows.parts) {
    AMPED_CUDA(cudaStreamSynchronize(part->device->stream));
    return AMPED_OK;
  }
  AMPED_TRY(amped_copies_cuda_finish(&part->copies, mode, times));
  return read_sums(part, sums);
}

/* --- split iDps ------------------------------------------------------------------------------ */

/* Copy numbers of shared rows row .. row + count, `bytes` each, to host memory; zeros for rows
 * without nonzeros on this rank. */
amped_status get_shared(amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                        const void *d_from, uint64_t bytes, void *to) {
  const step_copy *copy = &part->row_steps->copies[mode];
  const amped_shared_rows_cuda rows = {copy->shared_rows, copy->rows - copy->own_rows, d_from,
                                       bytes};
  return amped_shared_rows_cuda_get(&rows, row, count, to, part->device->stream);
}

amped_status steps_get_counts(amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                              uint64_t *counts) {
  const step_copy *copy = &part->row_steps->copies[mode];
  const amped_step_kernel_cuda_args a = args_of(part, mode);
  AMPED_TRY(amped_step_counts_cuda(&a, false));
  return get_shared(part, mode, row, count, copy->d_counts + copy->own_entries, sizeof *counts,
                    counts);
}

amped_status steps_put_counts(amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                              const uint64_t *counts) {
  AMPED_TRY(
      upload(part->row_steps->copies[mode].d_whole + row - part->plan->modes[mode].rows.block_rows,
             counts, count * sizeof *counts, part->device->stream));
  AMPED_CUDA(cudaStreamSynchronize(part->device->stream));
  return AMPED_OK;
}

amped_status steps_get_rows(amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                            double *rows) {
  return get_shared(part, mode, row, count, part->row_steps->d_shared,
                    amped_step_row_length(part->plan) * sizeof *rows, rows);
}

amped_status steps_put_rows(amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                            const double *rows) {
  amped_row_steps_cuda *s = part->row_steps;
  const amped_step_kernel_cuda_args a = args_of(part, mode);
  const uint64_t length = amped_step_row_length(part->plan);
  for (uint64_t first = 0; first < count; first += put_at_a_time) {
    const uint64_t some = count - first < put_at_a_time ? count - first : put_at_a_time;
    AMPED_TRY(upload(s->d_put, rows + first * length, some * length * sizeof *rows, a.stream));
    AMPED_TRY(part->plan->value_type == AMPED_F32
                  ? amped_step_put_f32(&a, row + first, some, s->d_put)
                  : amped_step_put_f64(&a, row + first, some, s->d_put));
    AMPED_TRY(read_sums(part, &s->shared));
  }
  return AMPED_OK;
}

amped_status steps_finish(amped_tensor_part *part, int, amped_row_step_sums *sums) {
  amped_row_step_sums *shared = &part->row_steps->shared;
  sums->count += shared->count;
  sums->penalty += shared->penalty;
  sums->bias_penalty += shared->bias_penalty;
  *shared = {};
  return AMPED_OK;
}

/* --- squares, and rows that are kept --------------------------------------------------------- */

amped_status steps_squares(amped_tensor_part *part, int mode, const amped_row_fit *fit,
                           double *squares) {
  amped_errors errors = {};
  AMPED_TRY(amped_errors_cuda(part, mode, false, fit, -INFINITY, INFINITY, &errors));
  *squares += errors.squares / (fit->scale * fit->scale);
  return AMPED_OK;
}

amped_status copy_own(amped_tensor_part *part, bool back) {
  for (int m = 0; m < part->plan->order; m++) {
    const uint64_t bytes = own_bytes(part->plan, m);
    void *kept = part->row_steps->copies[m].d_kept;
    void *own = static_cast<char *>(amped_factor_set_cuda_rows(part->factors, m)) +
                (uint64_t)part->plan->rank * bytes;
    AMPED_CUDA(cudaMemcpyAsync(back ? own : kept, back ? kept : own, bytes,
                               cudaMemcpyDeviceToDevice, part->device->stream));
  }
  AMPED_CUDA(cudaStreamSynchronize(part->device->stream));
  return AMPED_OK;
}

amped_status steps_keep(amped_tensor_part *part) {
  return copy_own(part, false);
}

amped_status steps_restore(amped_tensor_part *part) {
  return copy_own(part, true);
}

/* --- counts ---------------------------------------------------------------------------------- */

/* Count the nonzeros of each entry that are not held out, one warp per entry. whole: counts of
 * shared rows over all ranks; NULL: this rank's are counted. */
__global__ void __launch_bounds__(256)
    count_rows(const uint64_t *begins, uint64_t entries, uint64_t own_entries, const uint32_t *held,
               const void *rows, bool long_rows, uint64_t block_rows, const uint64_t *whole,
               uint64_t *counts) {
  const unsigned lane = threadIdx.x % 32;
  const uint64_t step = (uint64_t)gridDim.x * 8;
  for (uint64_t e = (uint64_t)blockIdx.x * 8 + threadIdx.x / 32; e < entries; e += step) {
    const uint64_t first = begins[e];
    const uint64_t end = begins[e + 1];
    if (whole != nullptr && e >= own_entries) {
      const uint64_t row = long_rows ? static_cast<const uint64_t *>(rows)[e]
                                     : static_cast<const uint32_t *>(rows)[e];
      if (lane == 0)
        counts[e] = whole[row - block_rows];
      continue;
    }
    unsigned long long out = 0; /* held-out nonzeros */
    for (uint64_t word = first / 32 + lane; held != nullptr && word * 32 < end; word += 32) {
      uint32_t bits = held[word];
      if (word == first / 32)
        bits &= ~0U << first % 32;
      if (word == end / 32)
        bits &= (1U << end % 32) - 1U;
      out += (unsigned)__popc(bits);
    }
    for (int i = 16; i > 0; i /= 2)
      out += __shfl_xor_sync(0xffffffffU, out, i);
    if (lane == 0)
      counts[e] = end - first - out;
  }
}

} // namespace

amped_status amped_step_counts_cuda(const amped_step_kernel_cuda_args *a, bool all_ranks) {
  const uint64_t blocks = amped_ceil_div(a->entries, UINT64_C(8));
  if (blocks == 0)
    return AMPED_OK;
  count_rows<<<(unsigned)(blocks < 65536 ? blocks : 65536), 256, 0, a->stream>>>(
      a->begins, a->entries, a->own_entries, a->held, a->packed->rows,
      a->packed->index_type == AMPED_U64, a->block_rows, all_ranks ? a->whole : nullptr, a->counts);
  AMPED_CUDA_LAUNCHED("the kernel of rows' nonzeros");
  return AMPED_OK;
}

void amped_row_steps_cuda_free(amped_row_steps_cuda *s) {
  if (s == nullptr)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(s->copies[m].shared_rows);
    amped_cuda_free(s->copies[m].d_memory);
  }
  amped_cuda_free(s->d_memory);
  amped_free(s->sums);
  amped_free(s);
}

const amped_row_step_ops amped_row_steps_cuda_ops = {
    .require = steps_require,
    .prepare = steps_prepare,
    .get_counts = steps_get_counts,
    .put_counts = steps_put_counts,
    .begin = steps_begin,
    .wait = steps_wait,
    .get_rows = steps_get_rows,
    .put_rows = steps_put_rows,
    .finish = steps_finish,
    .squares = steps_squares,
    .keep = steps_keep,
    .restore = steps_restore,
};
