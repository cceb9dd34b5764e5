/* Decoding of a packed copy's nonzeros (tensor/packing.h) in kernels, and the argument of a kernel
 * that reads them. */
#ifndef AMPED_DECODE_CUDA_CUH
#define AMPED_DECODE_CUDA_CUH

#include "cuda/sorted/pack_cuda.h"

namespace {

typedef unsigned int index32;
typedef unsigned long long index64;

/* The planes of a nonzero's number (packing.h). */
typedef enum number_layout {
  NUMBER_32,  /* a plane of 4 bytes */
  NUMBER_48,  /* planes of 4 and 2 bytes */
  NUMBER_64,  /* a plane of 8 bytes */
  NUMBER_LONG /* a plane of 8 bytes, and more planes */
} number_layout;

/* Packed nonzeros. planes, values, bits and starts begin at nonzero `first`; the list of rows and
 * the dictionary are whole. */
template <typename T, typename I> struct packed_nonzeros {
  number_layout layout;
  amped_packing packing;
  unsigned shifts[AMPED_MAX_ORDER - 1]; /* the packing's, in the kernel's order of inputs */
  I masks[AMPED_MAX_ORDER - 1];         /* the low bits[m] bits are set */
  unsigned code_shift;
  unsigned code_mask;
  amped_ruler ruler; /* step 0: values are looked up */
  float step; /* the ruler's step, if values computed in float have the same bits as in double; else
                 0 */
  uint64_t first; /* the first nonzero's number in the copy */
  const void *planes[AMPED_MAX_PLANES];
  const T *values;
  const T *dictionary;
  const uint32_t *bits;
  const I *starts;
  const I *rows; /* the copy's row list */
};

/* Returns word j of nonzero k's long number. */
template <typename T, typename I>
__device__ inline uint64_t word_of(const packed_nonzeros<T, I> &p, unsigned j, unsigned k) {
  if (p.packing.plane_bytes[j] == 8)
    return __ldcs(static_cast<const unsigned long long *>(p.planes[j]) + k);
  if (p.packing.plane_bytes[j] == 4)
    return __ldcs(static_cast<const uint32_t *>(p.planes[j]) + k);
  return __ldcs(static_cast<const uint16_t *>(p.planes[j]) + k);
}

/* Returns a field of nonzero k's long number in the low bits of the result. w0 and w1 are the first
 * two words; later words are loaded. */
template <typename T, typename I>
__device__ inline uint64_t field_of(const packed_nonzeros<T, I> &p, unsigned k, uint64_t w0,
                                    uint64_t w1, unsigned shift, unsigned bits) {
  const unsigned j = shift / 64;
  const unsigned s = shift % 64;
  uint64_t v = (j == 0 ? w0 : j == 1 ? w1 : word_of(p, j, k)) >> s;
  if (s + bits > 64)
    v |= (j == 0 ? w1 : word_of(p, j + 1, k)) << (64 - s);
  return v;
}

/* A lane's nonzero as it lies in memory: the first word of its number in two halves. The second
 * word is included if tensors of this order often need it. load_nonzero does not wait for its
 * loads. */
template <typename T, int N> struct raw_nonzero {
  static constexpr bool has_second = N > 2;
  unsigned low, high;
  uint64_t second[has_second ? 1 : 0];
  T value;
};

template <typename T, typename I, int N>
__device__ inline raw_nonzero<T, N> load_nonzero(const packed_nonzeros<T, I> &p, unsigned k) {
  raw_nonzero<T, N> raw;
  raw.high = 0;
  if (p.layout <= NUMBER_48) {
    raw.low = __ldcs(static_cast<const unsigned *>(p.planes[0]) + k);
    if (p.layout == NUMBER_48)
      raw.high = __ldcs(static_cast<const unsigned short *>(p.planes[1]) + k);
  } else {
    const uint2 word = __ldcs(static_cast<const uint2 *>(p.planes[0]) + k);
    raw.low = word.x;
    raw.high = word.y;
    if constexpr (raw_nonzero<T, N>::has_second)
      raw.second[0] = p.layout == NUMBER_LONG ? word_of(p, 1, k) : 0;
  }
  if (!p.packing.coded)
    raw.value = __ldcs(p.values + k);
  return raw;
}

/* A lane's nonzero, decoded. */
template <typename T, typename I, int N> struct nonzero {
  I input[N];
  T value;
};

/* Returns the value of a field's code. */
template <typename T, typename I>
__device__ inline T value_of(const packed_nonzeros<T, I> &p, uint64_t field) {
  const unsigned code = (unsigned)field & p.code_mask;
  if (sizeof(T) == sizeof(float) && p.step != 0.0F)
    return (T)((float)(p.ruler.first + (int)code) * p.step);
  if (p.ruler.step != 0.0)
    return (T)((double)(p.ruler.first + (int)code) * p.ruler.step);
  return __ldg(p.dictionary + code);
}

/* Decode nonzero k. */
template <typename T, typename I, int N>
__device__ inline nonzero<T, I, N> decode(const packed_nonzeros<T, I> &p,
                                          const raw_nonzero<T, N> &raw, unsigned k) {
  nonzero<T, I, N> x;
  const uint64_t w0 = (uint64_t)raw.high << 32 | raw.low;
  if (p.layout != NUMBER_LONG) {
#pragma unroll
    for (int m = 0; m < N; m++)
      x.input[m] = (I)(w0 >> p.shifts[m]) & p.masks[m];
    x.value = p.packing.coded ? value_of(p, w0 >> p.code_shift) : raw.value;
    return x;
  }
  uint64_t w1 = 0;
  if constexpr (raw_nonzero<T, N>::has_second)
    w1 = raw.second[0];
  else
    w1 = word_of(p, 1, k);
#pragma unroll
  for (int m = 0; m < N; m++)
    x.input[m] = (I)field_of(p, k, w0, w1, p.shifts[m], p.packing.bits[m]) & p.masks[m];
  x.value = p.packing.coded
                ? value_of(p, field_of(p, k, w0, w1, p.code_shift, p.packing.value_bits))
                : raw.value;
  return x;
}

/* --- describing a copy to a kernel ------------------------------------------------------------ */

number_layout layout_of(const amped_packing *packing) {
  if (packing->words > 1)
    return NUMBER_LONG;
  if (packing->plane_bytes[0] == 8)
    return NUMBER_64;
  return packing->planes == 2 ? NUMBER_48 : NUMBER_32;
}

/* Returns a mask of the low `bits` bits, from none to all. */
template <typename U> U mask_of(unsigned bits) {
  return bits >= 8 * sizeof(U) ? ~U(0) : (U(1) << bits) - 1;
}

/* Returns the step as a float if codes and step are exact floats, else 0. The product of two floats
 * is exact in double, and double rounds it to the same float. */
inline float float_step_of(const amped_ruler *ruler, unsigned most_code) {
  constexpr double exact = 16777216.0; /* 2^24 */
  const double least = (double)ruler->first;
  const double most = least + (double)most_code;
  const bool is_exact = least > -exact && most < exact && (double)(float)ruler->step == ruler->step;
  return is_exact ? (float)ruler->step : 0.0F;
}

template <typename T, typename I>
void describe_copy(packed_nonzeros<T, I> *p, const amped_packed_cuda *copy) {
  p->packing = copy->packing;
  p->layout = layout_of(&copy->packing);
  p->code_shift = copy->packing.value_bits > 0 ? copy->packing.value_shift : 0;
  p->code_mask = mask_of<unsigned>(copy->packing.value_bits);
  p->ruler = copy->ruler;
  p->step = float_step_of(&copy->ruler, p->code_mask);
  p->first = copy->first;
  for (int i = 0; i < copy->packing.planes; i++)
    p->planes[i] = copy->planes[i];
  p->values = static_cast<const T *>(copy->values);
  p->dictionary = static_cast<const T *>(copy->dictionary);
  p->bits = copy->bits + copy->first / 32;
  p->starts = static_cast<const I *>(copy->starts) + copy->first / copy->packing.pack;
  p->rows = static_cast<const I *>(copy->rows);
}

/* Make the copy's input `input` field m of a nonzero. */
template <typename T, typename I>
void describe_input(packed_nonzeros<T, I> *p, const amped_packing *packing, int m, int input) {
  /* A field of no bits may lie behind the last word, and the kernel must not load a word for it. */
  p->shifts[m] = packing->bits[input] > 0 ? packing->shifts[input] : 0;
  p->packing.bits[m] = packing->bits[input];
  p->masks[m] = mask_of<I>(packing->bits[input]);
}

} // namespace

#endif
