/* Sort by boxes: sort_copy_cuda.cuh, with the box of a nonzero (plan/linear.h) before its key. In a
 * box nonzeros are in the order of the copy. */
#ifndef AMPED_SORT_BOXED_CUDA_CUH
#define AMPED_SORT_BOXED_CUDA_CUH

#include "cuda/load/sort_copy_cuda.cuh"

/* Nonzeros of another source. The box takes the place of the row as the first part of the key. */
template <typename base> struct amped_boxed_source {
  base nonzeros;
  int order;
  int mode;
  const amped_linear *linear; /* device memory */
};

template <typename base>
static __device__ bool sort_copy_row(const amped_boxed_source<base> *s, uint64_t k, uint64_t *box) {
  uint64_t at[AMPED_MAX_ORDER];
  uint64_t row = 0;
  if (!sort_copy_row(&s->nonzeros, k, &row))
    return false;
  for (int m = 0; m < s->order; m++)
    at[m] = m == s->mode ? row : sort_copy_position(&s->nonzeros, m, k);
  *box = amped_linear_box(s->linear, at);
  return true;
}

template <typename base>
static __device__ uint64_t sort_copy_row_of(const amped_boxed_source<base> *s, uint64_t,
                                            uint64_t k) {
  uint64_t row = 0;
  (void)sort_copy_row(&s->nonzeros, k, &row);
  return row;
}

template <typename base>
static __device__ uint64_t sort_copy_word(const amped_boxed_source<base> *s, int word, uint64_t box,
                                          uint64_t k) {
  return word == 0 ? box : sort_copy_word(&s->nonzeros, word - 1, sort_copy_row_of(s, box, k), k);
}

template <typename base>
static __device__ uint64_t sort_copy_position(const amped_boxed_source<base> *s, int mode,
                                              uint64_t k) {
  return sort_copy_position(&s->nonzeros, mode, k);
}

template <typename base>
static __device__ double sort_copy_value(const amped_boxed_source<base> *s, uint64_t k) {
  return sort_copy_value(&s->nonzeros, k);
}

/* Sort as amped_sort_copy_on_gpu does; by boxes if the form of the copies requires it. */
template <typename source>
static amped_status amped_sort_on_gpu(const amped_sort_copy_cuda<source> *c, uint64_t scratch_bytes,
                                      amped_copies_cuda *copies, cudaStream_t stream,
                                      uint64_t *repeats) {
  const amped_linear *linear = &c->plan->linear;
  amped_sort_copy_cuda<amped_boxed_source<source>> boxed = {};
  uint8_t word_bits[AMPED_MAX_ORDER];
  void *d_linear = nullptr;
  if (!copies->form->storage->in_boxes)
    return amped_sort_copy_on_gpu(c, scratch_bytes, copies, stream, repeats);
  assert(c->words < AMPED_MAX_ORDER); /* because keys have no more bits than a number */
  AMPED_TRY(amped_cuda_malloc(&d_linear, sizeof *linear, "the order of boxes"));
  amped_status status = amped_cuda_check(
      cudaMemcpyAsync(d_linear, linear, sizeof *linear, cudaMemcpyHostToDevice, stream),
      "cudaMemcpyAsync");
  word_bits[0] = (uint8_t)linear->prefix;
  memcpy(word_bits + 1, c->word_bits, (size_t)c->words);
  boxed.plan = c->plan;
  boxed.mode = c->mode;
  boxed.total = c->total;
  boxed.words = c->words + 1;
  boxed.word_bits = word_bits;
  boxed.nonzeros.nonzeros = c->nonzeros;
  boxed.nonzeros.order = c->plan->order;
  boxed.nonzeros.mode = c->mode;
  boxed.nonzeros.linear = static_cast<const amped_linear *>(d_linear);
  if (status == AMPED_OK)
    status = amped_sort_copy_on_gpu(&boxed, scratch_bytes, copies, stream, repeats);
  amped_cuda_free(d_linear);
  return status;
}

#endif
