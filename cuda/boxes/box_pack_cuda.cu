/* Kernels that pack plain nonzeros into boxes, and unpack them. */
#include "cuda/boxes/box_pack_cuda.h"

#include "cuda/boxes/box_traversal_cuda.h"
#include "cuda/device/grid_cuda.cuh"

namespace {

typedef unsigned long long word; /* uint64_t, as CUDA's atomics take it */

struct batch_arrays {
  const void *rows;
  const void *inputs[AMPED_MAX_ORDER - 1];
  const void *values;
};

struct pack_problem {
  const amped_linear *linear;
  batch_arrays batch;
  int order, mode;
  uint64_t count, first;
  uint64_t own_rows; /* rows >= own_rows are shared; UINT64_MAX: no shared rows */
  const double *dictionary;
  uint64_t codes;
  void *planes[AMPED_MAX_PLANES];
  void *values;
  uint64_t *starts;
  amped_box_found *found;
};

template <typename I>
__device__ inline void coordinates_of(const pack_problem &p, uint64_t k, uint64_t *at) {
  int input = 0;
  for (int m = 0; m < p.order; m++)
    at[m] = static_cast<const I *>(m == p.mode ? p.batch.rows : p.batch.inputs[input++])[k];
}

/* Index in `starts` of the nonzero's box, or of the box's shared rows. */
__device__ inline uint64_t slot_of(const pack_problem &p, const uint64_t *at) {
  const uint64_t box = amped_linear_box(p.linear, at);
  return p.own_rows == UINT64_MAX ? box : 2 * box + (at[p.mode] >= p.own_rows ? 1 : 0);
}

template <typename T, typename I>
__global__ void __launch_bounds__(block_threads) pack_boxes(const pack_problem p) {
  for (uint64_t k = thread_number(); k < p.count; k += grid_threads()) {
    uint64_t at[AMPED_MAX_ORDER];
    uint64_t number[AMPED_MAX_PLANES] = {};
    const amped_packing *packing = &p.linear->packing;
    const T value = static_cast<const T *>(p.batch.values)[k];
    coordinates_of<I>(p, k, at);
    amped_linear_encode(p.linear, at, number);
    if (packing->coded) {
      uint64_t code = amped_packed_code(p.dictionary, p.codes, (double)value);
      if (code == p.codes) {
        atomicAdd(reinterpret_cast<word *>(&p.found->strangers), 1ULL);
        code = 0;
      }
      amped_packed_set(number, packing->value_shift, packing->value_bits, code);
    } else {
      static_cast<T *>(p.values)[k] = value;
    }
    amped_packed_put(packing, p.planes, k, number);
    const word bits = (word)__double_as_longlong(fabs((double)value));
    if (bits > *(volatile word *)&p.found->largest)
      atomicMax(reinterpret_cast<word *>(&p.found->largest), bits);
    const uint64_t slot = slot_of(p, at);
    uint64_t before = AMPED_BOX_EMPTY;
    if (k > 0) {
      coordinates_of<I>(p, k - 1, at);
      before = slot_of(p, at);
    }
    if (slot != before && p.starts[slot] == AMPED_BOX_EMPTY)
      p.starts[slot] = p.first + k;
  }
}

template <typename T, typename I> amped_status pack(const amped_box_pack_args *a) {
  const amped_mode_plan *m = &a->plan->modes[a->plan->boxed];
  pack_problem p = {};
  p.linear = a->linear;
  p.batch.rows = a->batch.rows;
  for (int i = 0; i < a->plan->order - 1; i++)
    p.batch.inputs[i] = a->batch.inputs[i];
  p.batch.values = a->batch.values;
  p.order = a->plan->order;
  p.mode = a->plan->boxed;
  p.count = a->batch.count;
  p.first = a->first;
  p.own_rows = m->copy.output_rows > m->rows.block_rows ? m->rows.block_rows : UINT64_MAX;
  p.dictionary = a->dictionary;
  p.codes = a->plan->dictionary->count;
  for (int i = 0; i < AMPED_MAX_PLANES; i++)
    p.planes[i] = a->planes[i];
  p.values = a->values;
  p.starts = a->starts;
  p.found = a->found;
  pack_boxes<T, I><<<blocks_for(p.count), block_threads, 0, a->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the packing kernel of boxes");
  return AMPED_OK;
}

/* --- unpacking -------------------------------------------------------------------------------- */

struct unpack_problem {
  const amped_linear *linear;
  int order, mode;
  const void *planes[AMPED_MAX_PLANES];
  const void *values;
  const void *dictionary;
  uint64_t packed_first, first, piece;
  const uint64_t *firsts;
  const uint32_t *counts;
  const uint32_t *tiles;
  uint64_t own_first, own_rows;
  const uint64_t *shared_positions;
  void *rows;
  void *inputs[AMPED_MAX_ORDER - 1];
  void *out_values;
};

/* A thread block unpacks one piece. */
template <typename T, typename I>
__global__ void __launch_bounds__(block_threads) unpack_boxes(const unpack_problem p) {
  const uint64_t piece = p.piece + blockIdx.x;
  const uint32_t *tiles = p.tiles + piece * (uint64_t)p.order;
  const amped_packing *packing = &p.linear->packing;
  for (unsigned i = threadIdx.x; i < (p.counts[piece] & AMPED_BOX_COUNT); i += block_threads) {
    const uint64_t k = p.firsts[piece] + i;
    const uint64_t to = k - p.first;
    uint64_t w[AMPED_MAX_PLANES];
    int input = 0;
    amped_packed_get(packing, p.planes, k - p.packed_first, w);
    for (int m = 0; m < p.order; m++) {
      uint64_t at = ((uint64_t)tiles[m] << p.linear->low_bits[m]) +
                    amped_packed_field(w, packing->shifts[m], packing->bits[m]);
      if (m == p.mode)
        at = at < p.own_rows ? p.own_first + at : p.shared_positions[at - p.own_rows];
      static_cast<I *>(m == p.mode ? p.rows : p.inputs[input++])[to] = (I)at;
    }
    static_cast<T *>(p.out_values)[to] =
        packing->coded
            ? static_cast<const T *>(
                  p.dictionary)[amped_packed_field(w, packing->value_shift, packing->value_bits)]
            : static_cast<const T *>(p.values)[k - p.packed_first];
  }
}

template <typename T, typename I> amped_status unpack(const amped_box_unpack_args *a) {
  const amped_mode_plan *m = &a->plan->modes[a->plan->boxed];
  unpack_problem p = {};
  p.linear = a->linear;
  p.order = a->plan->order;
  p.mode = a->plan->boxed;
  for (int i = 0; i < AMPED_MAX_PLANES; i++)
    p.planes[i] = a->packed.planes[i];
  p.values = a->packed.values;
  p.dictionary = a->packed.dictionary;
  p.packed_first = a->packed.first;
  p.first = a->first;
  p.piece = a->piece;
  p.firsts = a->firsts;
  p.counts = a->counts;
  p.tiles = a->tiles;
  p.own_rows = m->rows.block_rows;
  p.own_first = (uint64_t)a->plan->rank * m->rows.block_rows;
  p.shared_positions = a->shared_positions;
  p.rows = const_cast<void *>(a->batch.rows);
  for (int i = 0; i < a->plan->order - 1; i++)
    p.inputs[i] = const_cast<void *>(a->batch.inputs[i]);
  p.out_values = const_cast<void *>(a->batch.values);
  unpack_boxes<T, I><<<(unsigned)a->pieces, block_threads, 0, a->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the kernel that unpacks boxes");
  return AMPED_OK;
}

} // namespace

amped_status amped_box_pack_cuda(const amped_box_pack_args *a) {
  if (a->plan->value_type == AMPED_F32)
    return a->plan->index_type == AMPED_U32 ? pack<float, uint32_t>(a) : pack<float, uint64_t>(a);
  return a->plan->index_type == AMPED_U32 ? pack<double, uint32_t>(a) : pack<double, uint64_t>(a);
}

amped_status amped_box_unpack_cuda(const amped_box_unpack_args *a) {
  if (a->plan->value_type == AMPED_F32)
    return a->plan->index_type == AMPED_U32 ? unpack<float, uint32_t>(a)
                                            : unpack<float, uint64_t>(a);
  return a->plan->index_type == AMPED_U32 ? unpack<double, uint32_t>(a)
                                          : unpack<double, uint64_t>(a);
}
