/* The copy for all modes on a GPU: sizes, packing, passes, and each mode's traversal of the
 * pieces. */
#include "cuda/boxes/box_form_cuda.h"

#include <cstring>

#include "cuda/boxes/box_mttkrp_cuda.h"
#include "cuda/boxes/box_pack_cuda.h"
#include "cuda/device/grid_cuda.cuh"

extern "C" {
#include "base/mem.h"
#include "base/sort.h"
}

static const char what[] = "the copy for all modes";

/* Bounds of a sorted bundle: nonzeros, and bytes of shared memory. Two thread blocks of this size
 * fit on a multiprocessor. */
static const uint64_t sorted_most = 4096;
static const uint64_t sorted_bytes = UINT64_C(100) << 10;

/* Bundles are sorted only if this makes the number of additions at least sorting_saves times
 * smaller: sorting takes time, too. */
static const uint64_t sorting_saves = 2;

/* A mode's traversal of the pieces. */
typedef struct box_way {
  bool sorts;
  uint64_t most; /* nonzeros of the largest bundle */
  uint64_t bundles;
  uint64_t spans;    /* number of spans in the layout */
  uint64_t *of_span; /* [spans + 1] first bundle of each span; host memory */
  void *d_turns;
  void *d_firsts;
  amped_box_frequent_cuda frequent;
  void *d_frequent;  /* memory block of the arrays in `frequent` */
  uint64_t most_nnz; /* nonzeros of the most frequent row; set for fixed sums only */
} box_way;

typedef struct box_state {
  bool fixed;
  void *d_linear;
  void *d_plain;  /* AMPED_PACK_NNZ plain nonzeros */
  void *d_packed; /* AMPED_PACK_NNZ packed nonzeros, on their way to a copy in host memory */
  void *d_starts;
  amped_box_found *d_found;
  amped_box_found found;
  amped_box_pieces_cuda pieces; /* host memory */
  void *d_firsts, *d_counts, *d_tiles;
  void *d_shared; /* positions of shared rows */
  void *d_ticket;
  box_way ways[AMPED_MAX_ORDER];
  void *d_parts; /* parts of frequent rows */
  void *d_fixed, *d_maxima, *d_scales;
  /* The current pass. */
  amped_box_mttkrp_args args;
  const box_way *way;
  uint64_t span; /* number of spans that the pass has launched */
} box_state;

static box_state *state_of(const amped_copies_cuda *c) {
  return (box_state *)c->own;
}

/* Copy between host and device, and wait for the end of the copy. */
static amped_status copy_now(const amped_copies_cuda *c, void *to, const void *from, uint64_t bytes,
                             cudaMemcpyKind kind) {
  AMPED_CUDA(cudaMemcpyAsync(to, from, bytes, kind, c->stream));
  AMPED_CUDA(cudaStreamSynchronize(c->stream));
  return AMPED_OK;
}

/* --- sizes ------------------------------------------------------------------------------------ */

static uint64_t own_nnz(const amped_plan *plan) {
  return plan->modes[plan->boxed].copy.rank_nnz[plan->rank];
}

static uint64_t most_rows(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    most = amped_box_rows_cuda(plan, m) > most ? amped_box_rows_cuda(plan, m) : most;
  return most;
}

/* Bounds for a mode: frequent rows, and their parts. Every addition has at least one nonzero. */
static uint64_t most_frequent(const amped_plan *plan) {
  const uint64_t rows = most_rows(plan);
  const uint64_t frequent = own_nnz(plan) / AMPED_BOX_TERMS;
  return frequent < rows ? frequent : rows;
}

static uint64_t most_parts(const amped_plan *plan) {
  return most_frequent(plan) > 0 ? own_nnz(plan) / AMPED_BOX_PART : 0;
}

static uint64_t parts_bytes(const amped_plan *plan, uint64_t parts, bool fixed) {
  return parts * plan->ld * (fixed ? sizeof(int64_t) : plan->value_type);
}

static uint64_t shared_rows(const amped_plan *plan) {
  const amped_mode_plan *m = &plan->modes[plan->boxed];
  return m->copy.output_rows - m->rows.block_rows;
}

static uint64_t frequent_words(const amped_plan *plan, int mode) {
  return amped_box_rows_cuda(plan, mode) / 32 + 1;
}

uint64_t amped_box_sums_cuda_bytes(const amped_plan *plan, bool fixed) {
  const uint64_t ld = plan->ld;
  const uint64_t sums = most_rows(plan) * ld * sizeof(int64_t) +
                        AMPED_MAX_ORDER * ld * sizeof(uint32_t) + ld * sizeof(double);
  return parts_bytes(plan, most_parts(plan), fixed) + (fixed ? sums : 0);
}

amped_status amped_box_cuda_check(const amped_plan *plan) {
  for (int m = 0; m < plan->order; m++)
    if (plan->linear.low_bits[m] > 31)
      return amped_error(AMPED_FAILED, nullptr,
                         "--copies=one on GPUs takes boxes of 2^31 indices a mode at most, and "
                         "mode %d has 2^%d; use --copies=all",
                         m + 1, plan->linear.low_bits[m]);
  if (most_parts(plan) >= UINT64_C(1) << 31)
    return amped_error(AMPED_FAILED, nullptr,
                       "--copies=one on GPUs takes 2^39 nonzeros a rank at most, and this one has "
                       "%" PRIu64 "; use more GPUs",
                       own_nnz(plan));
  return AMPED_OK;
}

static void list_arrays(amped_arrays_cuda *a, const amped_plan *plan, int) {
  const amped_packing *p = &plan->linear.packing;
  for (int i = 0; i < p->planes; i++)
    a->element_bytes[a->arrays++] = p->plane_bytes[i];
  if (!p->coded)
    a->element_bytes[a->arrays++] = plan->value_type;
}

/* Bytes of the pieces and of all traversals, and of row counters while traversals are made. */
static uint64_t index_bytes(const amped_plan *plan, int mode, const amped_layout_cuda *layout,
                            const amped_layout_wish_cuda *) {
  const uint64_t order = (uint64_t)plan->order;
  const uint64_t nnz = own_nnz(plan);
  const uint64_t spans = layout->piece > 0 ? 2 * amped_ceil_div(nnz, layout->piece) + 1 : 1;
  const uint64_t pieces = amped_box_most_pieces_cuda(plan, spans);
  uint64_t bytes = pieces * (sizeof(uint64_t) + sizeof(uint32_t) * (1 + order));
  if (mode != plan->boxed || nnz == 0)
    return 0;
  for (int m = 0; m < plan->order; m++) {
    bytes += (2 * pieces + 1) * sizeof(uint32_t) + frequent_words(plan, m) * 2 * sizeof(uint32_t) +
             most_frequent(plan) * (sizeof(uint64_t) + 2 * sizeof(uint32_t));
  }
  return bytes + amped_box_slots_cuda(plan) * sizeof(uint64_t) +
         most_rows(plan) * sizeof(uint32_t) + shared_rows(plan) * sizeof(uint64_t) +
         16 * AMPED_CUDA_ALIGNMENT;
}

static amped_status no_tiles(amped_layout_cuda *, const amped_plan *,
                             const amped_layout_wish_cuda *) {
  return AMPED_OK;
}

static const amped_storage_cuda box_storage = {.in_boxes = true,
                                               .list_arrays = list_arrays,
                                               .index_bytes = index_bytes,
                                               .choose_tiles = no_tiles};

static uint64_t read_bytes(const amped_plan *plan, int) {
  return own_nnz(plan) * amped_packing_nonzero_bytes(&plan->linear.packing, plan->value_type);
}

static amped_status form_bytes(const amped_plan *plan, uint64_t *bytes) {
  *bytes = AMPED_PACK_NNZ * (amped_plan_nonzero_bytes(plan) +
                             amped_packing_nonzero_bytes(&plan->linear.packing, plan->value_type)) +
           sizeof(amped_linear) + sizeof(amped_box_found) + (UINT64_C(4) << 10) +
           plan->dictionary->count * (sizeof(double) + plan->value_type);
  return AMPED_OK;
}

/* --- life ------------------------------------------------------------------------------------- */

static void free_way(box_way *w) {
  amped_free(w->of_span);
  amped_cuda_free(w->d_turns);
  amped_cuda_free(w->d_firsts);
  amped_cuda_free(w->d_frequent);
  memset(w, 0, sizeof *w);
}

static void destroy(amped_copies_cuda *c) {
  box_state *s = state_of(c);
  if (s == nullptr)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    free_way(&s->ways[m]);
  amped_box_pieces_cuda_free(&s->pieces);
  void *const blocks[] = {s->d_linear, s->d_plain,  s->d_packed, s->d_starts, s->d_found,
                          s->d_firsts, s->d_counts, s->d_tiles,  s->d_shared, s->d_ticket,
                          s->d_parts,  s->d_fixed,  s->d_maxima, s->d_scales};
  for (void *block : blocks)
    amped_cuda_free(block);
  amped_free(s);
  c->own = nullptr;
}

/* Upload the factor positions of this rank's shared rows. */
static amped_status upload_shared(amped_copies_cuda *c, box_state *s) {
  const amped_plan *plan = c->plan;
  const uint64_t count = shared_rows(plan);
  const uint64_t block = plan->modes[plan->boxed].rows.block_rows;
  uint64_t first = 0;
  uint64_t end = 0;
  uint64_t *positions = nullptr;
  const amped_split *splits = plan->modes[plan->boxed].copy.splits;
  amped_plan_shared_idps(&plan->modes[plan->boxed], plan->rank, &first, &end);
  if (count == 0 || first == end)
    return AMPED_OK;
  const uint64_t own = splits[end].row - splits[first].row;
  AMPED_TRY(amped_cuda_malloc(&s->d_shared, count * sizeof *positions, what));
  AMPED_TRY(amped_calloc(&positions, count, sizeof *positions, what));
  for (uint64_t i = 0; i < own && i < count; i++)
    positions[i] = amped_plan_row_position(plan, plan->boxed, block + i);
  amped_status status =
      copy_now(c, s->d_shared, positions, count * sizeof *positions, cudaMemcpyHostToDevice);
  amped_free(positions);
  return status;
}

static amped_status create_state(amped_copies_cuda *c, bool fixed) {
  const amped_plan *plan = c->plan;
  const uint64_t slots = amped_box_slots_cuda(plan);
  box_state *s = nullptr;
  AMPED_TRY(amped_calloc(&s, 1, sizeof *s, what));
  c->own = s;
  s->fixed = fixed;
  AMPED_TRY(amped_copies_cuda_create_dictionary(c));
  AMPED_TRY(amped_cuda_malloc(&s->d_linear, sizeof plan->linear, what));
  AMPED_CUDA(cudaMemcpyAsync(s->d_linear, &plan->linear, sizeof plan->linear,
                             cudaMemcpyHostToDevice, c->stream));
  AMPED_TRY(amped_cuda_malloc(&s->d_plain, AMPED_PACK_NNZ * amped_plan_nonzero_bytes(plan),
                              "a piece to pack"));
  AMPED_TRY(amped_cuda_malloc(
      &s->d_packed,
      AMPED_PACK_NNZ * amped_packing_nonzero_bytes(&plan->linear.packing, plan->value_type),
      "a piece to pack"));
  AMPED_TRY(amped_cuda_malloc(&s->d_starts, slots * sizeof(uint64_t), what));
  AMPED_CUDA(cudaMemsetAsync(s->d_starts, 0xff, slots * sizeof(uint64_t), c->stream));
  AMPED_TRY(amped_cuda_malloc((void **)&s->d_found, sizeof *s->d_found, what));
  AMPED_CUDA(cudaMemsetAsync(s->d_found, 0, sizeof *s->d_found, c->stream));
  AMPED_TRY(amped_cuda_malloc(&s->d_ticket, AMPED_CUDA_ALIGNMENT, what));
  if (fixed) {
    AMPED_TRY(amped_cuda_malloc(&s->d_fixed, most_rows(plan) * plan->ld * sizeof(int64_t), "sums"));
    AMPED_TRY(amped_cuda_malloc(&s->d_maxima, AMPED_MAX_ORDER * plan->ld * sizeof(uint32_t), what));
    AMPED_TRY(amped_cuda_malloc(&s->d_scales, plan->ld * sizeof(double), what));
  }
  AMPED_TRY(amped_cuda_malloc(&s->d_parts, parts_bytes(plan, most_parts(plan), fixed), "sums"));
  return upload_shared(c, s);
}

static amped_status create(amped_copies_cuda *c) {
  return create_state(c, false);
}

static amped_status create_fixed(amped_copies_cuda *c) {
  return create_state(c, true);
}

static amped_status no_index(amped_copies_cuda *, int, const amped_tiles_cuda *,
                             amped_copy_cuda *) {
  return AMPED_OK;
}

/* --- nonzeros --------------------------------------------------------------------------------- */

static amped_status upload(amped_copies_cuda *c, int mode, const amped_batch *batch) {
  return amped_copies_cuda_append(c, mode, batch);
}

/* Pack the first *count nonzeros of a device batch; the span's end may limit *count. A streamed
 * span's nonzeros are packed into a device buffer and copied from there to the host. */
static amped_status append(amped_copies_cuda *c, int mode, const amped_batch *d_batch,
                           uint64_t *count) {
  const amped_packing *packing = &c->plan->linear.packing;
  box_state *s = state_of(c);
  amped_box_pack_args a = {};
  amped_span_cuda span;
  amped_arrays_cuda buffer;
  void *block = nullptr;
  uint64_t at = 0;
  uint64_t room = 0;
  AMPED_TRY(amped_copies_cuda_next(c, mode, &span, &block, &at, &room));
  room = !span.resident && room > AMPED_PACK_NNZ ? AMPED_PACK_NNZ : room;
  AMPED_TRY(amped_arrays_cuda_make(&buffer, c->plan, mode, &box_storage, AMPED_PACK_NNZ));
  const amped_arrays_cuda *to = span.resident ? &span.arrays : &buffer;
  void *d_to = span.resident ? block : s->d_packed;
  a.plan = c->plan;
  a.linear = static_cast<const amped_linear *>(s->d_linear);
  a.batch = *d_batch;
  a.batch.count = *count = d_batch->count < room ? d_batch->count : room;
  a.first = c->copies[mode].nnz;
  a.dictionary = c->d_dictionary;
  for (int i = 0; i < packing->planes; i++)
    a.planes[i] = amped_arrays_cuda_at(to, d_to, i, span.resident ? at : 0);
  if (!packing->coded)
    a.values = amped_arrays_cuda_at(to, d_to, packing->planes, span.resident ? at : 0);
  a.starts = static_cast<uint64_t *>(s->d_starts);
  a.found = s->d_found;
  a.stream = c->stream;
  AMPED_TRY(amped_box_pack_cuda(&a));
  for (int i = 0; i < buffer.arrays && !span.resident; i++)
    AMPED_CUDA(cudaMemcpyAsync(amped_arrays_cuda_at(&span.arrays, block, i, at),
                               amped_arrays_cuda_at(&buffer, s->d_packed, i, 0),
                               *count * buffer.element_bytes[i], cudaMemcpyDeviceToHost,
                               c->stream));
  AMPED_TRY(copy_now(c, &s->found, s->d_found, sizeof s->found, cudaMemcpyDeviceToHost));
  if (s->found.strangers > 0)
    return amped_error(AMPED_BAD_INPUT, nullptr,
                       "values of mode %d's copy disagree with the file's dictionary; convert the "
                       "tensor again",
                       mode + 1);
  c->copies[mode].nnz += *count;
  return AMPED_OK;
}

/* --- passes ----------------------------------------------------------------------------------- */

static amped_packed_cuda packed_of(const amped_copies_cuda *c, const amped_span_cuda *span,
                                   void *d_block) {
  const amped_packing *packing = &c->plan->linear.packing;
  amped_packed_cuda p = {};
  p.packing = *packing;
  p.first = span->first;
  for (int i = 0; i < packing->planes; i++)
    p.planes[i] = amped_arrays_cuda_at(&span->arrays, d_block, i, span->at);
  if (!packing->coded)
    p.values = amped_arrays_cuda_at(&span->arrays, d_block, packing->planes, span->at);
  p.dictionary = c->d_values;
  p.ruler = c->ruler;
  return p;
}

/* Set the arguments that all spans of a traversal share. */
static void set_args(amped_copies_cuda *c, box_state *s, int mode, const box_way *way,
                     amped_box_job job) {
  amped_box_mttkrp_args *a = &s->args;
  *a = {};
  a->plan = c->plan;
  a->mode = mode;
  a->job = job;
  a->shared_positions = static_cast<const uint64_t *>(s->d_shared);
  a->multiprocessors = c->device->caches.multiprocessors;
  a->stream = c->stream;
  a->firsts = static_cast<const uint64_t *>(s->d_firsts);
  a->counts = static_cast<const uint32_t *>(s->d_counts);
  a->tiles = static_cast<const uint32_t *>(s->d_tiles);
  a->turns = static_cast<const uint32_t *>(way->d_turns);
  a->bundle_firsts = static_cast<const uint32_t *>(way->d_firsts);
  a->most = way->most;
  a->sorts = way->sorts;
  a->ticket = static_cast<uint32_t *>(s->d_ticket);
  s->way = way;
  s->span = 0;
}

static amped_status launch_span(void *self, const amped_span_cuda *span, void *d_block) {
  amped_copies_cuda *c = (amped_copies_cuda *)self;
  box_state *s = state_of(c);
  amped_box_mttkrp_args *a = &s->args;
  const uint64_t number = c->backward ? s->way->spans - 1 - s->span : s->span;
  a->packed = packed_of(c, span, d_block);
  a->bundle = s->way->of_span[number];
  a->bundles = s->way->of_span[number + 1] - a->bundle;
  s->span++;
  AMPED_TRY(amped_box_mttkrp_cuda(a));
  return s->span == s->way->spans && a->job == AMPED_BOX_ADD ? amped_box_end_cuda(a) : AMPED_OK;
}

static amped_status begin_adding(void *self) {
  amped_copies_cuda *c = (amped_copies_cuda *)self;
  box_state *s = state_of(c);
  amped_box_mttkrp_args *a = &s->args;
  const uint64_t row_bytes = amped_plan_row_bytes(c->plan);
  const uint64_t rows = amped_box_rows_cuda(c->plan, a->mode);
  if (!s->fixed || own_nnz(c->plan) == 0)
    AMPED_CUDA(cudaMemsetAsync(a->output, 0, rows * row_bytes, c->stream));
  if (own_nnz(c->plan) == 0)
    return AMPED_OK;
  AMPED_CUDA(
      cudaMemsetAsync(s->d_parts, 0, parts_bytes(c->plan, a->frequent.parts, s->fixed), c->stream));
  if (s->fixed) {
    AMPED_CUDA(cudaMemsetAsync(s->d_fixed, 0, rows * c->plan->ld * sizeof(int64_t), c->stream));
    return amped_box_scales_cuda(a, &s->d_found->largest, s->way->most_nnz,
                                 static_cast<uint32_t *>(s->d_maxima),
                                 static_cast<double *>(s->d_scales));
  }
  return AMPED_OK;
}

amped_status amped_box_cuda_begin(amped_copies_cuda *c, int mode, const void *const *factors,
                                  void *output) {
  box_state *s = state_of(c);
  const amped_pass_cuda pass = {.begin = begin_adding, .span = launch_span, .self = c};
  set_args(c, s, mode, &s->ways[mode], AMPED_BOX_ADD);
  for (int m = 0; m < c->plan->order; m++)
    s->args.factors[m] = factors[m];
  s->args.output = output;
  s->args.frequent = s->way->frequent;
  s->args.parts = s->d_parts;
  s->args.fixed = static_cast<int64_t *>(s->d_fixed);
  s->args.scales = static_cast<const double *>(s->d_scales);
  return amped_copies_cuda_begin_pass(c, c->plan->boxed, &pass);
}

const char *amped_box_cuda_way(const amped_copies_cuda *c, int mode) {
  return state_of(c)->ways[mode].sorts ? "combined" : "direct";
}

/* --- traversals ------------------------------------------------------------------------------- */

/* Totals of the row counters: their sum, the largest, the number above AMPED_BOX_TERMS. */
struct counted {
  unsigned long long sum, most, frequent;
};

static __global__ void sum_counters(const uint32_t *adds, uint64_t rows, counted *out) {
  unsigned long long sum = 0;
  unsigned long long most = 0;
  unsigned long long frequent = 0;
  for (uint64_t i = thread_number(); i < rows; i += grid_threads()) {
    sum += adds[i];
    most = adds[i] > most ? adds[i] : most;
    frequent += adds[i] > AMPED_BOX_TERMS ? 1U : 0U;
  }
  for (int by = 16; by > 0; by /= 2) {
    sum += __shfl_down_sync(0xffffffffU, sum, (unsigned)by);
    frequent += __shfl_down_sync(0xffffffffU, frequent, (unsigned)by);
    const unsigned long long other = __shfl_down_sync(0xffffffffU, most, (unsigned)by);
    most = other > most ? other : most;
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&out->sum, sum);
    atomicAdd(&out->frequent, frequent);
    atomicMax(&out->most, most);
  }
}

static __global__ void mark_frequent(const uint32_t *adds, uint64_t rows, uint64_t words,
                                     uint32_t *bits) {
  for (uint64_t w = thread_number(); w < words; w += grid_threads()) {
    uint32_t word = 0;
    for (uint64_t b = 0; b < 32 && 32 * w + b < rows; b++)
      word |= (adds[32 * w + b] > AMPED_BOX_TERMS ? 1U : 0U) << b;
    bits[w] = word;
  }
}

static __global__ void take_counters(const uint32_t *adds, const uint64_t *rows, uint64_t count,
                                     uint32_t *out) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads())
    out[i] = adds[rows[i]];
}

static amped_status no_begin(void *) {
  return AMPED_OK;
}

/* Count each row's additions, or its nonzeros, into d_adds. */
static amped_status count_rows(amped_copies_cuda *c, int mode, const box_way *way,
                               amped_box_job job, uint32_t *d_adds, void *d_counted, counted *out) {
  box_state *s = state_of(c);
  const amped_pass_cuda pass = {.begin = no_begin, .span = launch_span, .self = c};
  const uint64_t rows = amped_box_rows_cuda(c->plan, mode);
  amped_mttkrp_times times;
  set_args(c, s, mode, way, job);
  s->args.adds = d_adds;
  AMPED_CUDA(cudaMemsetAsync(d_adds, 0, rows * sizeof *d_adds, c->stream));
  AMPED_CUDA(cudaMemsetAsync(d_counted, 0, sizeof *out, c->stream));
  AMPED_TRY(amped_copies_cuda_begin_pass(c, c->plan->boxed, &pass));
  AMPED_TRY(amped_copies_cuda_finish(c, c->plan->boxed, &times));
  sum_counters<<<blocks_for(rows), block_threads, 0, c->stream>>>(
      d_adds, rows, static_cast<counted *>(d_counted));
  AMPED_CUDA_LAUNCHED("the kernel that adds counters up");
  return copy_now(c, out, d_counted, sizeof *out, cudaMemcpyDeviceToHost);
}

/* Make the bundles of mode, on the host and on the device. */
static amped_status make_bundles(amped_copies_cuda *c, int mode, bool sorts, uint64_t most,
                                 box_way *way) {
  box_state *s = state_of(c);
  amped_box_bundles_cuda b = {};
  amped_status status = AMPED_OK;
  way->sorts = sorts;
  way->most = most;
  AMPED_GO(done, amped_box_bundles_cuda_make(&b, c->plan, &s->pieces, mode, most));
  way->bundles = b.count;
  way->spans = s->pieces.spans;
  way->of_span = b.of_span;
  b.of_span = nullptr;
  AMPED_GO(done, amped_cuda_malloc(&way->d_turns, s->pieces.count * sizeof *b.turns, what));
  AMPED_GO(done, amped_cuda_malloc(&way->d_firsts, (b.count + 1) * sizeof *b.firsts, what));
  AMPED_GO(done, copy_now(c, way->d_turns, b.turns, s->pieces.count * sizeof *b.turns,
                          cudaMemcpyHostToDevice));
  status = copy_now(c, way->d_firsts, b.firsts, (b.count + 1) * sizeof *b.firsts,
                    cudaMemcpyHostToDevice);
done:
  amped_box_bundles_cuda_free(&b);
  return status;
}

/* List the frequent rows from their bits; all arrays are host memory. */
static void list_frequent(const uint32_t *bits, uint64_t words, uint32_t *before, uint64_t *rows) {
  uint64_t count = 0;
  for (uint64_t w = 0; w < words; w++) {
    before[w] = (uint32_t)count;
    for (uint32_t left = bits[w]; left != 0; left &= left - 1)
      rows[count++] = 32 * w + (uint64_t)__builtin_ctz(left);
  }
}

/* firsts: on entry each frequent row's additions; on return [count + 1] the parts before each
 * row. */
static void cut_frequent(uint32_t *firsts, uint32_t *longs, amped_box_frequent_cuda *frequent) {
  for (uint64_t i = 0; i < frequent->count; i++) {
    const uint32_t parts = firsts[i] / AMPED_BOX_PART;
    firsts[i] = (uint32_t)frequent->parts;
    frequent->parts += parts;
    if (parts > AMPED_BOX_LONG)
      longs[frequent->long_rows++] = (uint32_t)i;
  }
  firsts[frequent->count] = (uint32_t)frequent->parts;
}

/* Arrays of a mode's `count` frequent rows, in one block of memory. */
typedef struct frequent_arrays {
  uint32_t *bits, *before, *firsts, *longs;
  uint64_t *rows;
} frequent_arrays;

static frequent_arrays frequent_arrays_at(void *block, uint64_t words, uint64_t count) {
  frequent_arrays h;
  h.rows = static_cast<uint64_t *>(block);
  h.bits = reinterpret_cast<uint32_t *>(h.rows + count);
  h.before = h.bits + words;
  h.firsts = h.before + words;
  h.longs = h.firsts + count + 1;
  return h;
}

static uint64_t frequent_bytes(uint64_t words, uint64_t count) {
  return count * sizeof(uint64_t) + (2 * words + 2 * count + 1) * sizeof(uint32_t);
}

/* h, d: the same arrays on the host and on the device. */
static amped_status fill_frequent(const amped_copies_cuda *c, const uint32_t *d_adds, uint64_t rows,
                                  uint64_t words, const frequent_arrays *h,
                                  const frequent_arrays *d, amped_box_frequent_cuda *frequent) {
  mark_frequent<<<blocks_for(words), block_threads, 0, c->stream>>>(d_adds, rows, words, d->bits);
  AMPED_CUDA_LAUNCHED("the kernel that marks frequent rows");
  AMPED_TRY(copy_now(c, h->bits, d->bits, words * sizeof *h->bits, cudaMemcpyDeviceToHost));
  list_frequent(h->bits, words, h->before, h->rows);
  AMPED_TRY(
      copy_now(c, d->rows, h->rows, frequent->count * sizeof *h->rows, cudaMemcpyHostToDevice));
  take_counters<<<blocks_for(frequent->count), block_threads, 0, c->stream>>>(
      d_adds, d->rows, frequent->count, d->firsts);
  AMPED_CUDA_LAUNCHED("the kernel that takes counters");
  AMPED_TRY(copy_now(c, h->firsts, d->firsts, frequent->count * sizeof *h->firsts,
                     cudaMemcpyDeviceToHost));
  cut_frequent(h->firsts, h->longs, frequent);
  return copy_now(c, d->rows, h->rows, frequent_bytes(words, frequent->count),
                  cudaMemcpyHostToDevice);
}

/* Make the list of a mode's frequent rows from the number of additions to each row. */
static amped_status keep_frequent(amped_copies_cuda *c, int mode, const uint32_t *d_adds,
                                  uint64_t count, box_way *way) {
  const uint64_t words = frequent_words(c->plan, mode);
  const uint64_t bytes = frequent_bytes(words, count);
  void *block = nullptr;
  amped_cuda_free(way->d_frequent);
  way->d_frequent = nullptr;
  way->frequent = {};
  if (count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_cuda_malloc(&way->d_frequent, bytes, what));
  AMPED_TRY(amped_calloc(&block, bytes, 1, what));
  const frequent_arrays h = frequent_arrays_at(block, words, count);
  const frequent_arrays d = frequent_arrays_at(way->d_frequent, words, count);
  amped_box_frequent_cuda frequent = {};
  frequent.count = count;
  amped_status status =
      fill_frequent(c, d_adds, amped_box_rows_cuda(c->plan, mode), words, &h, &d, &frequent);
  frequent.d_bits = d.bits;
  frequent.d_before = d.before;
  frequent.d_rows = d.rows;
  frequent.d_firsts = d.firsts;
  frequent.d_longs = d.longs;
  amped_free(block);
  if (status == AMPED_OK)
    way->frequent = frequent;
  return status;
}

/* Nonzeros of a sorted bundle, limited by shared memory; 0 if even a piece does not fit. */
static uint64_t most_sorted(const amped_copies_cuda *c, int mode) {
  const uint64_t limit =
      c->device->caches.shared_bytes < sorted_bytes ? c->device->caches.shared_bytes : sorted_bytes;
  for (uint64_t most = sorted_most; most >= AMPED_BOX_PIECE; most /= 2)
    if (amped_box_shared_bytes(c->plan, mode, most, true) <= limit)
      return most;
  return 0;
}

/* Choose the traversal of a mode: sorted bundles if they save enough additions. */
static amped_status choose_way(amped_copies_cuda *c, int mode, uint32_t *d_adds, void *d_counted) {
  box_state *s = state_of(c);
  box_way *way = &s->ways[mode];
  const uint64_t most = most_sorted(c, mode);
  counted direct = {};
  counted sorted = {};
  box_way other = {};
  amped_status status = AMPED_OK;
  AMPED_TRY(make_bundles(c, mode, false, AMPED_BOX_PIECE, way));
  AMPED_TRY(count_rows(c, mode, way, AMPED_BOX_COUNT_ADDS, d_adds, d_counted, &direct));
  if (most > 0) {
    AMPED_GO(done, make_bundles(c, mode, true, most, &other));
    AMPED_GO(done, count_rows(c, mode, &other, AMPED_BOX_COUNT_ADDS, d_adds, d_counted, &sorted));
    if (sorted.sum <= direct.sum / sorting_saves) {
      free_way(way);
      *way = other;
      memset(&other, 0, sizeof other);
    }
  }
done:
  free_way(&other);
  return status;
}

/* Count each row's additions and, for fixed sums, its nonzeros. A counter at UINT32_MAX is
 * saturated: the row may have all nonzeros of this rank. */
static amped_status count_way(amped_copies_cuda *c, int mode, uint32_t *d_adds, void *d_counted) {
  box_state *s = state_of(c);
  box_way *way = &s->ways[mode];
  counted n = {};
  if (s->fixed) {
    AMPED_TRY(count_rows(c, mode, way, AMPED_BOX_COUNT_NNZ, d_adds, d_counted, &n));
    way->most_nnz = n.most == UINT32_MAX ? own_nnz(c->plan) : n.most;
  }
  AMPED_TRY(count_rows(c, mode, way, AMPED_BOX_COUNT_ADDS, d_adds, d_counted, &n));
  return keep_frequent(c, mode, d_adds, n.frequent, way);
}

/* Make each mode's traversal if there is none yet. Frequent rows are listed anew in every call:
 * with another R, the groups of lanes get other stretches of nonzeros. */
static amped_status make_ways(amped_copies_cuda *c) {
  box_state *s = state_of(c);
  void *d_adds = nullptr;
  void *d_counted = nullptr;
  amped_status status = AMPED_OK;
  AMPED_GO(done, amped_cuda_malloc(&d_adds, most_rows(c->plan) * sizeof(uint32_t), what));
  AMPED_GO(done, amped_cuda_malloc(&d_counted, sizeof(counted), what));
  for (int m = 0; m < c->plan->order; m++) {
    if (s->ways[m].of_span == nullptr)
      AMPED_GO(done, choose_way(c, m, (uint32_t *)d_adds, d_counted));
    AMPED_GO(done, count_way(c, m, (uint32_t *)d_adds, d_counted));
  }
done:
  amped_cuda_free(d_adds);
  amped_cuda_free(d_counted);
  return status;
}

/* --- the end of loading ----------------------------------------------------------------------- */

static amped_status copy_up(const amped_copies_cuda *c, void **to, const void *from,
                            uint64_t bytes) {
  AMPED_TRY(amped_cuda_malloc(to, bytes, what));
  return copy_now(c, *to, from, bytes, cudaMemcpyHostToDevice);
}

static amped_status make_pieces(amped_copies_cuda *c) {
  box_state *s = state_of(c);
  const uint64_t slots = amped_box_slots_cuda(c->plan);
  uint64_t *starts = nullptr;
  amped_box_pieces_cuda *p = &s->pieces;
  AMPED_TRY(amped_alloc(&starts, slots, sizeof *starts, what));
  amped_status status =
      copy_now(c, starts, s->d_starts, slots * sizeof *starts, cudaMemcpyDeviceToHost);
  if (status == AMPED_OK)
    status = amped_box_pieces_cuda_make(p, c->plan, &c->layout, starts, slots);
  amped_free(starts);
  AMPED_TRY(status);
  amped_cuda_free(s->d_starts);
  s->d_starts = nullptr;
  AMPED_TRY(copy_up(c, &s->d_firsts, p->firsts, p->count * sizeof *p->firsts));
  AMPED_TRY(copy_up(c, &s->d_counts, p->counts, p->count * sizeof *p->counts));
  return copy_up(c, &s->d_tiles, p->tiles, p->count * (uint64_t)c->plan->order * sizeof *p->tiles);
}

static amped_status finish(amped_copies_cuda *c, int mode) {
  if (mode != c->plan->boxed || own_nnz(c->plan) == 0)
    return AMPED_OK;
  if (state_of(c)->pieces.firsts == nullptr)
    AMPED_TRY(make_pieces(c));
  return make_ways(c);
}

/* --- visits ----------------------------------------------------------------------------------- */

/* Pass the pieces of a span to the visitor, in batches that fit in the buffer. */
static amped_status visit(amped_copies_cuda *c, int mode, const amped_visitor_cuda *visitor,
                          const amped_span_cuda *span, void *d_block) {
  const uint64_t room = AMPED_PACK_NNZ - AMPED_CUDA_ALIGNMENT;
  const uint64_t behind = span->first + span->count;
  box_state *s = state_of(c);
  const amped_box_pieces_cuda *p = &s->pieces;
  amped_arrays_cuda arrays;
  amped_box_unpack_args a = {};
  a.plan = c->plan;
  a.linear = static_cast<const amped_linear *>(s->d_linear);
  a.packed = packed_of(c, span, d_block);
  a.firsts = static_cast<const uint64_t *>(s->d_firsts);
  a.counts = static_cast<const uint32_t *>(s->d_counts);
  a.tiles = static_cast<const uint32_t *>(s->d_tiles);
  a.shared_positions = static_cast<const uint64_t *>(s->d_shared);
  a.stream = c->stream;
  for (uint64_t i = amped_sort_find(p->firsts, p->count, span->first);
       i < p->count && p->firsts[i] < behind; i += a.pieces) {
    uint64_t count = 0;
    a.piece = i;
    a.first = p->firsts[i];
    for (a.pieces = 0; i + a.pieces < p->count && p->firsts[i + a.pieces] < behind; a.pieces++) {
      const uint64_t next = p->counts[i + a.pieces] & AMPED_BOX_COUNT;
      if (count + next > room)
        break;
      count += next;
    }
    AMPED_TRY(amped_arrays_cuda_make(&arrays, c->plan, mode, &amped_storage_plain_cuda, count));
    a.batch.count = count;
    a.batch.rows = amped_arrays_cuda_at(&arrays, s->d_plain, 0, 0);
    for (int k = 1; k < c->plan->order; k++)
      a.batch.inputs[k - 1] = amped_arrays_cuda_at(&arrays, s->d_plain, k, 0);
    a.batch.values = amped_arrays_cuda_at(&arrays, s->d_plain, c->plan->order, 0);
    AMPED_TRY(amped_box_unpack_cuda(&a));
    AMPED_TRY(visitor->batch(visitor->self, a.first, &a.batch));
  }
  return AMPED_OK;
}

const amped_copy_form_cuda amped_box_cuda_form = {
    .storage = &box_storage,
    .turns_round = true,
    .read_bytes = read_bytes,
    .bytes = form_bytes,
    .create = create,
    .destroy = destroy,
    .create_index = no_index,
    .upload = upload,
    .append = append,
    .schedule = finish,
    .visit = visit,
};

const amped_copy_form_cuda amped_box_fixed_cuda_form = {
    .storage = &box_storage,
    .turns_round = true,
    .read_bytes = read_bytes,
    .bytes = form_bytes,
    .create = create_fixed,
    .destroy = destroy,
    .create_index = no_index,
    .upload = upload,
    .append = append,
    .schedule = finish,
    .visit = visit,
};
