/* Cell sample: random draws, cells of slabs or of slices read from a file, and the fit. */
#include "solver/cpd/cell_sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"
#include "base/random.h"

static const char what[] = "a sample of cells";

static amped_buffers buffers(const amped_plan *plan, amped_cell_sample *s) {
  amped_buffers b = {.what = what};
  const uint64_t outside = plan->dense.outside ? s->drawn : 0;
  AMPED_BUFFER(&b, HOST, s->cells, s->drawn);
  AMPED_BUFFER(&b, HOST, s->misses, s->drawn);
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER(&b, HOST, s->indices[m], s->drawn);
  AMPED_BUFFER(&b, HOST, s->draws, outside);
  AMPED_BUFFER(&b, HOST, s->kept, outside);
  AMPED_BUFFER(&b, HOST, s->slices, outside);
  return b;
}

uint64_t amped_cell_sample_bytes(const amped_plan *plan) {
  return amped_buffers_bytes(buffers(plan, &(amped_cell_sample){.drawn = AMPED_SAMPLED_CELLS}));
}

void amped_cell_sample_free(const amped_plan *plan, amped_cell_sample *s) {
  amped_buffers_free(buffers(plan, s));
}

/* Draw i of a mode's index. No other random numbers of a run use these streams. */
static uint64_t draw(uint64_t seed, int mode, uint64_t i, uint64_t dim) {
  return amped_random_u64(seed, UINT64_MAX - (uint64_t)mode, i) % dim;
}

/* Add the cell of draw i to this rank's cells. */
static void keep(const amped_plan *plan, amped_cell_sample *s, uint64_t i) {
  for (int m = 0; m < plan->order; m++)
    s->indices[m][s->count] = draw(s->seed, m, i, plan->dims[m]);
  if (s->kept != NULL)
    s->kept[s->count] = i;
  s->count++;
}

/* Keep the draws that lie in this rank's slab. */
static void keep_own(const amped_plan *plan, amped_cell_sample *s) {
  const amped_dense_plan *d = &plan->dense;
  for (uint64_t i = 0; i < s->drawn; i++) {
    const uint64_t place = draw(s->seed, d->slab_mode, i, plan->dims[d->slab_mode]);
    if (place >= d->first && place - d->first < d->count)
      keep(plan, s, i);
  }
}

typedef struct slice_draw {
  uint64_t slice, draw;
} slice_draw;

static int by_slice(const void *a, const void *b) {
  const slice_draw *x = a;
  const slice_draw *y = b;
  if (x->slice != y->slice)
    return x->slice < y->slice ? -1 : 1;
  return (x->draw > y->draw) - (x->draw < y->draw);
}

/* Order all draws by slice. */
static amped_status order_draws(const amped_plan *plan, amped_cell_sample *s) {
  const int mode = plan->dense.slab_mode;
  slice_draw *pairs = NULL;
  AMPED_TRY(amped_alloc(&pairs, s->drawn, sizeof *pairs, what));
  for (uint64_t i = 0; i < s->drawn; i++)
    pairs[i] = (slice_draw){draw(s->seed, mode, i, plan->dims[mode]), i};
  qsort(pairs, s->drawn, sizeof *pairs, by_slice);
  for (uint64_t i = 0; i < s->drawn; i++) {
    s->slices[i] = pairs[i].slice;
    s->draws[i] = pairs[i].draw;
  }
  amped_free(pairs);
  return AMPED_OK;
}

/* First place of a slice, or of the next one, in the ordered draws. */
static uint64_t first_of(const amped_cell_sample *s, uint64_t slice) {
  uint64_t begin = 0;
  uint64_t end = s->drawn;
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    if (s->slices[middle] < slice)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/* Offset of the last kept cell in its slice. */
static uint64_t cell_of(const amped_plan *plan, const amped_cell_sample *s) {
  uint64_t cell = 0;
  for (int k = 1; k < plan->order; k++) {
    const int m = plan->dense.layout[k];
    cell = cell * plan->dims[m] + s->indices[m][s->count - 1];
  }
  return cell;
}

void amped_cell_sample_see(const amped_context *context, amped_cell_sample *s,
                           const uint64_t *slices, uint64_t count, const void *cells) {
  const amped_plan *plan = context->plan;
  const uint64_t slice = plan->nnz / plan->dims[plan->dense.slab_mode];
  for (uint64_t g = 0; g < count; g++)
    for (uint64_t i = first_of(s, slices[g]); i < s->drawn && s->slices[i] == slices[g]; i++) {
      keep(plan, s, s->draws[i]);
      amped_cells_get(cells, plan->dense.type, g * slice + cell_of(plan, s), 1,
                      &s->cells[s->count - 1]);
    }
}

void amped_cell_sample_gather(const amped_context *context, const amped_cell_sample *s,
                              double *cells) {
  memset(cells, 0, s->drawn * sizeof *cells);
  for (uint64_t i = 0; i < s->count; i++)
    cells[s->kept[i]] = s->cells[i];
  amped_comm_sum(context->comm, cells, (int)s->drawn);
}

void amped_cell_sample_recall(const amped_context *context, amped_cell_sample *s,
                              const uint64_t *slices, uint64_t count, const double *cells) {
  for (uint64_t g = 0; g < count; g++)
    for (uint64_t i = first_of(s, slices[g]); i < s->drawn && s->slices[i] == slices[g]; i++) {
      keep(context->plan, s, s->draws[i]);
      s->cells[s->count - 1] = cells[s->draws[i]];
    }
}

static amped_status find_squares(const amped_context *context, amped_cell_sample *s) {
  for (uint64_t i = 0; i < s->count; i++)
    s->squares += s->cells[i] * s->cells[i];
  amped_comm_sum(context->comm, &s->squares, 1);
  if (s->squares > 0.0)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, NULL,
                     "all of %" PRIu64 " cells that were drawn at random are 0: such a tensor is "
                     "sparse; amped_mpi convert --sparse makes a list of it, or use --method=als",
                     s->drawn);
}

amped_status amped_cell_sample_draw(const amped_context *context, amped_dense_blocks *blocks,
                                    uint64_t seed, uint64_t drawn, amped_cell_sample *out) {
  const amped_dense_block_ops *ops = context->worker->format->dense_blocks;
  memset(out, 0, sizeof *out);
  out->seed = seed;
  out->drawn = drawn;
  amped_status status = amped_buffers_allocate(buffers(context->plan, out));
  if (context->plan->dense.outside)
    return amped_comm_agree(context->comm,
                            status == AMPED_OK ? order_draws(context->plan, out) : status);
  if (status == AMPED_OK)
    keep_own(context->plan, out);
  if (status == AMPED_OK)
    status = ops->get_cells(blocks, out->count, (const uint64_t *const *)out->indices, out->cells);
  AMPED_TRY(amped_comm_agree(context->comm, status));
  return amped_cell_sample_end(context, out);
}

amped_status amped_cell_sample_end(const amped_context *context, amped_cell_sample *s) {
  return amped_comm_agree(context->comm, find_squares(context, s));
}

/* The fit is 1 - sqrt(q), with q = sum of e^2 / sum of x^2, a ratio of two sums over the same
 * draws. Its variance is about the sum of (e^2 - q x^2)^2 / (sum of x^2)^2, the delta method's: it
 * holds for cells of any distribution with fourth moments, e.g. counts of which a few are large. */
amped_status amped_cell_sample_fit(const amped_context *context, amped_dense_blocks *blocks,
                                   const amped_cell_sample *s, const double *weights,
                                   amped_status status, double *fit, double *error) {
  const amped_dense_block_ops *ops = context->worker->format->dense_blocks;
  double squares = 0.0;
  double spread = 0.0;
  AMPED_NEXT(status, ops->misses(blocks, s->count, (const uint64_t *const *)s->indices, s->cells,
                                 weights, s->misses));
  for (uint64_t i = 0; i < s->count && status == AMPED_OK; i++)
    squares += s->misses[i] * s->misses[i];
  AMPED_TRY(amped_comm_sum_agreed(context->comm, status, &squares, 1));
  const double part = squares / s->squares;
  for (uint64_t i = 0; i < s->count; i++) {
    const double x = s->cells[i];
    const double off = (s->misses[i] * s->misses[i] - part * x * x) / s->squares;
    spread += off * off;
  }
  amped_comm_sum(context->comm, &spread, 1);
  *fit = 1.0 - sqrt(part);
  *error = part > 0.0 ? sqrt(spread / part) / 2.0 : 0.0;
  return AMPED_OK;
}
