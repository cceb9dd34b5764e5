#include "solver/cell_sample.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"

static const char what[] = "a sample of cells";

uint64_t amped_cell_sample_bytes(const amped_plan *plan) {
  return AMPED_SAMPLED_CELLS * ((uint64_t)plan->order * sizeof(uint64_t) + sizeof(double));
}

void amped_cell_sample_free(amped_cell_sample *s) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(s->indices[m]);
  amped_free(s->cells);
  memset(s, 0, sizeof *s);
}

/* Streams that no other random numbers of a run have. */
static uint64_t draw(uint64_t seed, int mode, uint64_t i, uint64_t dim) {
  return amped_random_u64(seed, UINT64_MAX - (uint64_t)mode, i) % dim;
}

/* The cells that lie in this rank's slab. */
static amped_status draw_own(const amped_plan *plan, uint64_t seed, amped_cell_sample *s) {
  const amped_dense_plan *d = &plan->dense;
  AMPED_TRY(amped_alloc(&s->cells, AMPED_SAMPLED_CELLS, sizeof *s->cells, what));
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(amped_alloc(&s->indices[m], AMPED_SAMPLED_CELLS, sizeof *s->indices[m], what));
  for (uint64_t i = 0; i < AMPED_SAMPLED_CELLS; i++) {
    const uint64_t place = draw(seed, d->slab_mode, i, plan->dims[d->slab_mode]);
    if (place < d->first || place - d->first >= d->count)
      continue;
    for (int m = 0; m < plan->order; m++)
      s->indices[m][s->count] = draw(seed, m, i, plan->dims[m]);
    s->count++;
  }
  return AMPED_OK;
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
                     AMPED_SAMPLED_CELLS);
}

amped_status amped_cell_sample_draw(const amped_context *context, amped_dense_blocks *blocks,
                                    uint64_t seed, amped_cell_sample *out) {
  const amped_dense_block_ops *ops = context->worker->format->dense_blocks;
  memset(out, 0, sizeof *out);
  amped_status status = draw_own(context->plan, seed, out);
  if (status == AMPED_OK)
    status = ops->get_cells(blocks, out->count, (const uint64_t *const *)out->indices, out->cells);
  AMPED_TRY(amped_comm_agree(context->comm, status));
  return amped_comm_agree(context->comm, find_squares(context, out));
}

amped_status amped_cell_sample_fit(const amped_context *context, amped_dense_blocks *blocks,
                                   const amped_cell_sample *s, const double *weights, double *fit,
                                   double *error) {
  const amped_dense_block_ops *ops = context->worker->format->dense_blocks;
  double squares = 0.0;
  AMPED_TRY(ops->misfit(blocks, s->count, (const uint64_t *const *)s->indices, s->cells, weights,
                        &squares));
  amped_comm_sum(context->comm, &squares, 1);
  *fit = 1.0 - sqrt(squares / s->squares);
  *error = (1.0 - *fit) / sqrt(2.0 * (double)AMPED_SAMPLED_CELLS);
  return AMPED_OK;
}
