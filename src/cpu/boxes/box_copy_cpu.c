/* Box copy in host memory: encode nonzeros, sort them by box and cut pieces. */
#include "cpu/boxes/box_copy_cpu.h"

#include <string.h>

#include "backend/scatter.h"
#include "base/huge_pages.h"

static const char what[] = "the copy for all modes";

static uint64_t own_nnz(const amped_plan *plan) {
  return plan->modes[plan->boxed].copy.rank_nnz[plan->rank];
}

static uint64_t box_count(const amped_plan *plan) {
  return UINT64_C(1) << plan->linear.prefix;
}

/* True if this rank has shared rows of the copy's mode. */
static bool has_shared(const amped_plan *plan) {
  const amped_mode_plan *m = &plan->modes[plan->boxed];
  return m->copy.output_rows > m->rows.block_rows;
}

/* --- sizes ------------------------------------------------------------------------------------ */

uint64_t amped_box_copy_most_pieces(const amped_plan *plan) {
  const uint64_t nnz = own_nnz(plan);
  const uint64_t boxes = box_count(plan) < nnz ? box_count(plan) : nnz;
  const uint64_t cuts = has_shared(plan) ? 2 * boxes : boxes;
  return nnz / AMPED_PIECE_NNZ + (cuts < nnz ? cuts : nnz);
}

uint64_t amped_box_copy_bytes(const amped_plan *plan) {
  return own_nnz(plan) * amped_packing_nonzero_bytes(&plan->linear.packing, plan->value_type) +
         amped_box_copy_most_pieces(plan) * sizeof(amped_box_piece);
}

static uint64_t widest_plane(const amped_plan *plan) {
  const amped_packing *p = &plan->linear.packing;
  uint64_t most = p->coded ? 0 : (uint64_t)plan->value_type;
  for (int i = 0; i < p->planes; i++)
    most = p->plane_bytes[i] > most ? p->plane_bytes[i] : most;
  return most;
}

uint64_t amped_box_copy_making_bytes(const amped_plan *plan, int threads) {
  return own_nnz(plan) * (sizeof(uint64_t) + widest_plane(plan)) +
         (uint64_t)threads * box_count(plan) * sizeof(uint64_t);
}

amped_status amped_box_copy_create(amped_box_copy *c, const amped_plan *plan) {
  const amped_packing *p = &plan->linear.packing;
  c->plan = plan;
  c->nnz = own_nnz(plan);
  for (int i = 0; i < p->planes; i++)
    AMPED_TRY(amped_huge_pages_alloc(&c->planes[i], c->nnz, p->plane_bytes[i], what));
  return p->coded ? AMPED_OK : amped_huge_pages_alloc(&c->values, c->nnz, plan->value_type, what);
}

void amped_box_copy_free(amped_box_copy *c) {
  for (int i = 0; i < AMPED_MAX_PLANES; i++)
    amped_huge_pages_free(c->planes[i]);
  amped_huge_pages_free(c->values);
  amped_huge_pages_free(c->places);
  amped_free(c->pieces);
  memset(c, 0, sizeof *c);
}

/* --- nonzeros --------------------------------------------------------------------------------- */

static inline uint64_t index_at(const void *array, amped_itype type, uint64_t i) {
  return type == AMPED_U32 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

/* A batch that is being added. */
typedef struct add_job {
  amped_box_copy *c;
  const double *dictionary;
  uint64_t offset;
  const amped_batch *batch;
} add_job;

/* Put the code of the batch's value i into the words w. Returns false if the dictionary does not
 * have the value. */
static bool put_code(const add_job *j, uint64_t i, uint64_t *w) {
  const amped_plan *plan = j->c->plan;
  const amped_packing *p = &plan->linear.packing;
  const uint64_t codes = plan->dictionary->count;
  const double value = amped_value_get(j->batch->values, plan->value_type, i);
  const uint64_t code = amped_packed_code(j->dictionary, codes, value);
  amped_packed_set(w, p->value_shift, p->value_bits, code < codes ? code : 0);
  return code < codes;
}

/* Encode nonzero i of the batch. Returns false if its value has no code. */
static bool add_one(const add_job *j, uint64_t i) {
  const amped_box_copy *c = j->c;
  const amped_plan *plan = c->plan;
  const amped_linear *l = &plan->linear;
  uint64_t at[AMPED_MAX_ORDER];
  uint64_t w[AMPED_MAX_PLANES] = {0};
  bool known = true;
  int input = 0;
  for (int m = 0; m < plan->order; m++)
    at[m] = index_at(m == plan->boxed ? j->batch->rows : j->batch->inputs[input++],
                     plan->index_type, i);
  amped_linear_encode(l, at, w);
  if (l->packing.coded)
    known = put_code(j, i, w);
  amped_packed_put(&l->packing, c->planes, j->offset + i, w);
  c->places[j->offset + i] = amped_linear_box(l, at);
  return known;
}

static amped_status out_of_order(const amped_plan *plan) {
  return amped_error(AMPED_BAD_INPUT, NULL,
                     "the nonzeros of mode %d's copy are not in order; convert the tensor again",
                     plan->boxed + 1);
}

/* True if rows ascend, also from the batch before, and all rows exist. */
static bool rows_ascend(const amped_box_copy *c, uint64_t offset, const amped_batch *batch) {
  const amped_itype type = c->plan->index_type;
  const uint64_t limit = c->plan->modes[c->plan->boxed].copy.output_rows;
  bool descends = offset > 0 && index_at(batch->rows, type, 0) < c->last_row;
#pragma omp parallel for schedule(static) reduction(|| : descends)
  for (uint64_t i = 1; i < batch->count; i++)
    descends = descends || index_at(batch->rows, type, i) < index_at(batch->rows, type, i - 1);
  return !descends && index_at(batch->rows, type, batch->count - 1) < limit;
}

amped_status amped_box_copy_add(amped_box_copy *c, const double *dictionary, uint64_t offset,
                                const amped_batch *batch, int threads) {
  const amped_plan *plan = c->plan;
  const add_job j = {c, dictionary, offset, batch};
  uint64_t strangers = 0;
  if (batch->count == 0)
    return AMPED_OK;
  if (offset != c->filled || batch->count > c->nnz - offset || !rows_ascend(c, offset, batch))
    return out_of_order(plan);
  if (c->places == NULL)
    AMPED_TRY(amped_huge_pages_alloc(&c->places, c->nnz, sizeof *c->places, what));
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : strangers)
  for (uint64_t i = 0; i < batch->count; i++)
    strangers += !add_one(&j, i);
  if (strangers > 0)
    return amped_error(AMPED_BAD_INPUT, NULL,
                       "values of mode %d's copy disagree with the file's dictionary; convert the "
                       "tensor again",
                       plan->boxed + 1);
  if (c->values != NULL)
    memcpy((char *)c->values + offset * plan->value_type, batch->values,
           batch->count * plan->value_type);
  c->last_row = index_at(batch->rows, plan->index_type, batch->count - 1);
  c->filled += batch->count;
  return AMPED_OK;
}

/* --- boxes ------------------------------------------------------------------------------------ */

/* Replace each nonzero's box number by its place: boxes by number, nonzeros of a box in their
 * order. Each thread counts one stretch of nonzeros. counts: [threads][boxes] zeros; on return the
 * last thread's counts are the ends of boxes. */
static void find_places(const amped_box_copy *c, uint64_t *counts, uint64_t threads) {
  const uint64_t boxes = box_count(c->plan);
  const uint64_t stretch = amped_ceil_div(c->nnz, threads);
  uint64_t place = 0;
#pragma omp parallel for schedule(static) num_threads((int)threads)
  for (uint64_t t = 0; t < threads; t++)
    for (uint64_t k = t * stretch; k < (t + 1) * stretch && k < c->nnz; k++)
      counts[t * boxes + c->places[k]]++;
  for (uint64_t box = 0; box < boxes; box++)
    for (uint64_t t = 0; t < threads; t++) {
      const uint64_t n = counts[t * boxes + box];
      counts[t * boxes + box] = place;
      place += n;
    }
#pragma omp parallel for schedule(static) num_threads((int)threads)
  for (uint64_t t = 0; t < threads; t++)
    for (uint64_t k = t * stretch; k < (t + 1) * stretch && k < c->nnz; k++)
      c->places[k] = counts[t * boxes + c->places[k]]++;
}

AMPED_DEFINE_SCATTER(uint64_t)

/* Move an array of the copy to its places, through new memory. */
static amped_status move_array(const amped_box_copy *c, void **array, uint64_t bytes) {
  void *to = NULL;
  AMPED_TRY(amped_huge_pages_alloc(&to, c->nnz, bytes, what));
  scatter(to, *array, bytes, c->places, c->nnz);
  amped_huge_pages_free(*array);
  *array = to;
  return AMPED_OK;
}

static amped_status move_arrays(amped_box_copy *c) {
  const amped_packing *p = &c->plan->linear.packing;
  for (int i = 0; i < p->planes; i++)
    AMPED_TRY(move_array(c, &c->planes[i], p->plane_bytes[i]));
  return c->values == NULL ? AMPED_OK : move_array(c, &c->values, c->plan->value_type);
}

/* --- pieces ----------------------------------------------------------------------------------- */

uint64_t amped_box_copy_row(const amped_box_copy *c, int mode, uint64_t base, uint64_t k) {
  const amped_packing *p = &c->plan->linear.packing;
  uint64_t w[AMPED_MAX_PLANES];
  amped_packed_get(p, (const void *const *)c->planes, k, w);
  return base + amped_packed_field(w, p->shifts[mode], p->bits[mode]);
}

/* The first of a box's nonzeros first .. end, whose rows ascend, that lies in a shared row; else
 * end. */
static uint64_t first_shared(const amped_box_copy *c, uint64_t base, uint64_t first, uint64_t end) {
  const uint64_t rows = c->plan->modes[c->plan->boxed].rows.block_rows;
  while (has_shared(c->plan) && first < end) {
    const uint64_t middle = first + (end - first) / 2;
    if (amped_box_copy_row(c, c->plan->boxed, base, middle) < rows)
      first = middle + 1;
    else
      end = middle;
  }
  return end;
}

/* Cut nonzeros first .. end of a box into pieces of about equal length. */
static void cut_range(amped_box_copy *c, const uint64_t *base, uint64_t first, uint64_t end,
                      bool shared) {
  uint64_t left = amped_ceil_div(end - first, AMPED_PIECE_NNZ);
  for (; left > 0; left--) {
    amped_box_piece *piece = &c->pieces[c->piece_count++];
    piece->first = first;
    piece->count = (uint32_t)amped_ceil_div(end - first, left);
    piece->shared = shared;
    memcpy(piece->base, base, sizeof piece->base);
    first += piece->count;
  }
}

/* Cut all boxes into pieces. ends: [boxes] end of each box's nonzeros. */
static amped_status cut_boxes(amped_box_copy *c, const uint64_t *ends) {
  const amped_plan *plan = c->plan;
  uint64_t first = 0;
  AMPED_TRY(amped_alloc(&c->pieces, amped_box_copy_most_pieces(plan), sizeof *c->pieces, what));
  for (uint64_t box = 0; box < box_count(plan); box++) {
    uint64_t base[AMPED_MAX_ORDER] = {0};
    if (ends[box] == first)
      continue;
    amped_linear_base(&plan->linear, box, base);
    const uint64_t cut = first_shared(c, base[plan->boxed], first, ends[box]);
    cut_range(c, base, first, cut, false);
    cut_range(c, base, cut, ends[box], true);
    first = ends[box];
  }
  return AMPED_OK;
}

amped_status amped_box_copy_finish(amped_box_copy *c, int threads) {
  const uint64_t boxes = box_count(c->plan);
  uint64_t *counts = NULL;
  if (c->filled < c->nnz)
    return amped_error(AMPED_FAILED, NULL,
                       "rank %d got %" PRIu64 " of the %" PRIu64
                       " nonzeros that were counted; this is a mistake of amped_mpi, please report "
                       "it",
                       c->plan->rank, c->filled, c->nnz);
  AMPED_TRY(amped_calloc(&counts, (uint64_t)threads * boxes, sizeof *counts, what));
  find_places(c, counts, (uint64_t)threads);
  amped_status status = move_arrays(c);
  if (status == AMPED_OK)
    status = cut_boxes(c, counts + (uint64_t)(threads - 1) * boxes);
  amped_free(counts);
  amped_huge_pages_free(c->places);
  c->places = NULL;
  return status;
}
