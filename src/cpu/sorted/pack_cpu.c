/* Packed copy: packs translated nonzeros in host memory, by all threads. */
#include "cpu/sorted/pack_cpu.h"

#include <string.h>

#include "base/buffers.h"

/* Nonzeros per word of row bits. Threads write whole words, so their ranges begin at multiples of
 * it. */
#define WORD 32

/* Words of row bits, plus one, because a bundle reads the word after the last. */
static uint64_t bit_words(uint64_t nnz) {
  return amped_packing_bit_words(nnz) + 1;
}

static amped_buffers buffers(amped_cpu_copy *copy, const amped_packing *p, amped_itype index_type,
                             amped_vtype value_type, uint64_t nnz, uint64_t rows) {
  amped_buffers b = {.what = "a tensor copy"};
  for (int i = 0; i < p->planes; i++)
    AMPED_BUFFER_OF(&b, LARGE, copy->planes[i], nnz, p->plane_bytes[i]);
  AMPED_BUFFER_OF(&b, LARGE, copy->values, p->coded ? 0 : nnz, value_type);
  AMPED_BUFFER(&b, LARGE, copy->row_bits, bit_words(nnz));
  AMPED_BUFFER(&b, LARGE, copy->fibre_bits, bit_words(nnz));
  AMPED_BUFFER_OF(&b, LARGE, copy->row_list, amped_packing_list_rows(nnz, rows), index_type);
  AMPED_BUFFER_OF(&b, LARGE, copy->row_table, amped_packing_packs(p, nnz), index_type);
  return b;
}

amped_status amped_cpu_copy_create(amped_cpu_copy *copy, const amped_plan *plan, int mode,
                                   uint64_t nnz, uint64_t rows) {
  copy->packing = &plan->modes[mode].copy.packing;
  copy->index_type = plan->index_type;
  copy->value_type = plan->value_type;
  copy->nnz = nnz;
  return amped_buffers_allocate(
      buffers(copy, copy->packing, copy->index_type, copy->value_type, nnz, rows));
}

uint64_t amped_cpu_copy_bytes(const amped_plan *plan, int mode, uint64_t nnz, uint64_t rows) {
  return amped_buffers_bytes(buffers(&(amped_cpu_copy){0}, &plan->modes[mode].copy.packing,
                                     plan->index_type, plan->value_type, nnz, rows));
}

void amped_cpu_copy_free(amped_cpu_copy *copy) {
  if (copy->packing != NULL)
    amped_buffers_free(buffers(copy, copy->packing, copy->index_type, copy->value_type, 0, 0));
  memset(copy, 0, sizeof *copy);
}

/* A batch that is being packed. k counts nonzeros of the copy, k - offset nonzeros of the batch. */
typedef struct pack_job {
  amped_cpu_copy *copy;
  const amped_batch *batch;
  const amped_plan *plan;
  const double *dictionary;
  uint64_t offset;
  uint64_t last_row;   /* row of the nonzero before the batch, if any */
  uint64_t last_input; /* first input position of that nonzero */
} pack_job;

/* One thread's piece of a batch, and the thread's counts there. */
typedef struct piece {
  uint64_t first, end;
  uint64_t rows;      /* number of rows that begin */
  uint64_t fibres;    /* number of fibres that begin */
  uint64_t strangers; /* number of values that are not in the dictionary */
  bool descends;
} piece;

static inline uint64_t index_at(const void *array, amped_itype type, uint64_t i) {
  return type == AMPED_U32 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

static inline void put_index(void *array, amped_itype type, uint64_t i, uint64_t v) {
  if (type == AMPED_U32)
    ((uint32_t *)array)[i] = (uint32_t)v;
  else
    ((uint64_t *)array)[i] = v;
}

static inline uint64_t row_at(const pack_job *p, uint64_t k) {
  return k < p->offset ? p->last_row : index_at(p->batch->rows, p->copy->index_type, k - p->offset);
}

static inline uint64_t input_at(const pack_job *p, uint64_t k) {
  return k < p->offset ? p->last_input
                       : index_at(p->batch->inputs[0], p->copy->index_type, k - p->offset);
}

static inline void set_bit(uint32_t *words, uint64_t k, bool bit) {
  if (k % WORD == 0)
    words[k / WORD] = 0;
  words[k / WORD] |= (uint32_t)bit << k % WORD;
}

/* First pass: set row bits and fibre bits of a piece, and count. */
static void mark_rows(const pack_job *p, piece *t) {
  for (uint64_t k = t->first; k < t->end; k++) {
    bool row = k == 0 || row_at(p, k - 1) != row_at(p, k);
    bool fibre = row || input_at(p, k - 1) != input_at(p, k);
    set_bit(p->copy->row_bits, k, row);
    set_bit(p->copy->fibre_bits, k, fibre);
    t->descends |= k > 0 && row_at(p, k - 1) > row_at(p, k);
    t->fibres += fibre;
    t->rows += row;
  }
}

/* Second pass: write row list and row table of a piece. `rows` entries of the list come before
 * it. */
static void list_rows(const pack_job *p, const piece *t, uint64_t rows) {
  const amped_cpu_copy *copy = p->copy;
  uint64_t pack = copy->packing->pack;
  for (uint64_t k = t->first; k < t->end; k++) {
    if (copy->row_bits[k / WORD] >> k % WORD & 1)
      put_index(copy->row_list, copy->index_type, rows++, row_at(p, k));
    if (k % pack == 0)
      put_index(copy->row_table, copy->index_type, k / pack, rows - 1);
  }
}

static void pack_numbers(const pack_job *p, piece *t) {
  const amped_cpu_copy *copy = p->copy;
  const amped_packing *packing = copy->packing;
  uint64_t codes = p->plan->dictionary->count;
  for (uint64_t k = t->first; k < t->end; k++) {
    uint64_t from = k - p->offset;
    uint64_t w[AMPED_MAX_PLANES] = {0};
    for (int i = 0; i < packing->inputs; i++)
      amped_packed_set(w, packing->shifts[i], packing->bits[i],
                       index_at(p->batch->inputs[i], copy->index_type, from));
    if (packing->coded) {
      double value = p->plan->value_type == AMPED_F32
                         ? (double)((const float *)p->batch->values)[from]
                         : ((const double *)p->batch->values)[from];
      uint64_t code = amped_packed_code(p->dictionary, codes, value);
      t->strangers += code == codes;
      amped_packed_set(w, packing->value_shift, packing->value_bits, code < codes ? code : 0);
    }
    amped_packed_put(packing, copy->planes, k, w);
  }
  if (!packing->coded)
    memcpy((char *)copy->values + t->first * p->plan->value_type,
           (const char *)p->batch->values + (t->first - p->offset) * p->plan->value_type,
           (t->end - t->first) * p->plan->value_type);
}

/* Choose a thread's piece of a batch: whole words of row bits, except at the ends of the batch. */
static void piece_create(piece *t, const pack_job *p, int thread, int threads) {
  uint64_t end = p->offset + p->batch->count;
  uint64_t first_word = p->offset / WORD;
  uint64_t words = amped_ceil_div(end, WORD) - first_word;
  uint64_t before = words / (uint64_t)threads * (uint64_t)thread;
  memset(t, 0, sizeof *t);
  t->first = (first_word + before) * WORD;
  t->end = (first_word + before + words / (uint64_t)threads) * WORD;
  if (thread + 1 == threads || t->end > end)
    t->end = end;
  if (t->first < p->offset)
    t->first = p->offset;
  if (t->end < t->first)
    t->end = t->first;
}

static amped_status out_of_order(int mode) {
  return amped_error(AMPED_BAD_INPUT, NULL,
                     "the nonzeros of mode %d's copy are not in order; convert the tensor again",
                     mode + 1);
}

static amped_status pack_batch(const pack_job *p, int mode, piece *pieces, int threads) {
  amped_cpu_copy *copy = p->copy;
  uint64_t limit = p->plan->modes[mode].copy.output_rows;
  uint64_t rows = copy->rows;
  uint64_t strangers = 0;
  bool descends = false;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int t = 0; t < threads; t++) {
    piece_create(&pieces[t], p, t, threads);
    mark_rows(p, &pieces[t]);
    pack_numbers(p, &pieces[t]);
  }
  for (int t = 0; t < threads; t++) {
    uint64_t begin = pieces[t].rows;
    descends |= pieces[t].descends;
    strangers += pieces[t].strangers;
    copy->fibres += pieces[t].fibres;
    pieces[t].rows = rows;
    rows += begin;
  }
  /* Check that rows ascend, that they exist in the result, and that they fit in the list. */
  if (descends || row_at(p, p->offset + p->batch->count - 1) >= limit ||
      rows > amped_plan_copy_rows(p->plan, mode))
    return out_of_order(mode);
  if (strangers > 0)
    return amped_error(AMPED_BAD_INPUT, NULL,
                       "values of mode %d's copy disagree with the file's dictionary; convert the "
                       "tensor again",
                       mode + 1);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int t = 0; t < threads; t++)
    list_rows(p, &pieces[t], pieces[t].rows);
  copy->rows = rows;
  copy->filled = p->offset + p->batch->count;
  return AMPED_OK;
}

amped_status amped_cpu_copy_add(amped_cpu_copy *copy, const amped_plan *plan, int mode,
                                const double *dictionary, uint64_t offset, const amped_batch *batch,
                                int threads) {
  piece *pieces = NULL;
  pack_job p = {
      .copy = copy, .batch = batch, .plan = plan, .dictionary = dictionary, .offset = offset};
  if (batch->count == 0)
    return AMPED_OK;
  if (offset == 0)
    copy->filled = copy->rows = copy->fibres = 0;
  if (offset != copy->filled || batch->count > copy->nnz - offset)
    return out_of_order(mode);
  if (offset > 0) {
    uint64_t w[AMPED_MAX_PLANES];
    amped_packed_get(copy->packing, (const void *const *)copy->planes, offset - 1, w);
    p.last_input = amped_packed_field(w, copy->packing->shifts[0], copy->packing->bits[0]);
    p.last_row = index_at(copy->row_list, copy->index_type, copy->rows - 1);
  }
  AMPED_TRY(amped_alloc(&pieces, (uint64_t)threads, sizeof *pieces, "the pieces of a batch"));
  amped_status status = pack_batch(&p, mode, pieces, threads);
  amped_free(pieces);
  return status;
}

amped_cpu_copy amped_cpu_copy_part(const amped_cpu_copy *copy, uint64_t first, uint64_t first_row,
                                   uint64_t nnz) {
  const amped_packing *p = copy->packing;
  amped_cpu_copy part = *copy;
  part.nnz = nnz;
  for (int i = 0; i < p->planes; i++)
    part.planes[i] = (char *)copy->planes[i] + first * p->plane_bytes[i];
  if (!p->coded)
    part.values = (char *)copy->values + first * copy->value_type;
  part.row_bits = copy->row_bits + first / WORD;
  part.fibre_bits = copy->fibre_bits + first / WORD;
  part.row_list = (char *)copy->row_list + first_row * copy->index_type;
  part.row_table = (char *)copy->row_table + first / p->pack * copy->index_type;
  return part;
}

void amped_cpu_copy_take(amped_cpu_copy *copy, const amped_cpu_copy *from, const uint64_t *numbers,
                         const uint64_t *rows, uint64_t count) {
  const amped_packing *p = copy->packing;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t k = copy->filled++;
    uint64_t w[AMPED_MAX_PLANES];
    amped_packed_get(p, (const void *const *)from->planes, numbers[i], w);
    amped_packed_put(p, copy->planes, k, w);
    if (!p->coded)
      memcpy((char *)copy->values + k * copy->value_type,
             (const char *)from->values + numbers[i] * copy->value_type, copy->value_type);
    uint64_t input = amped_packed_field(w, p->shifts[0], p->bits[0]);
    bool row = k == 0 || copy->last_row != rows[i];
    bool fibre = row || copy->last_input != input;
    set_bit(copy->row_bits, k, row);
    set_bit(copy->fibre_bits, k, fibre);
    copy->fibres += fibre;
    if (row)
      put_index(copy->row_list, copy->index_type, copy->rows++, rows[i]);
    if (k % p->pack == 0)
      put_index(copy->row_table, copy->index_type, k / p->pack, copy->rows - 1);
    copy->last_row = rows[i];
    copy->last_input = input;
  }
}
