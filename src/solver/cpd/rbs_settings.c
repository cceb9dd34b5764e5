/* RBS settings: defaults from the tensor's sizes, checks, and the weight of the proximal term. */
#include "solver/cpd/rbs_settings.h"

#include <math.h>
#include <string.h>

#include "solver/cpd/cell_sample.h"

/* Defaults: blocks per mode, and slices per group. A block has at least INDICES_OF_COMPONENT
 * indices per component. */
#define BLOCKS 8
#define SLICES 30
#define INDICES_OF_COMPONENT 2

/* Default of --polish: the sweeps that ALS has by default. They end when the fit no longer rises.
 */
#define POLISH 50

/* Factor of lambda per step: the search begins with short steps, which become long
 * (docs/decisions/064-short-steps-first.md). The first step of blocks is long
 * (074-a-whole-step-first.md). */
#define SEARCH_FALL 0.6

/* Epochs of the search. After 20 epochs of blocks lambda is near 0. Longer searches of real tensors
 * add noise, and components that cancel each other. */
#define SEARCH_BLOCKS UINT64_C(20)
#define SEARCH_SLICES UINT64_C(1)

/* The fit of an epoch takes a share of the cells that the epoch reads, so that it costs less than
 * the steps; at least LEAST_FIT_CELLS. */
#define FIT_SHARE (1.0 / 16.0)
#define LEAST_FIT_CELLS UINT64_C(4096)

/* The restricted phase (Vervliet and De Lathauwer 2016). */
#define FIRST_LAMBDA 0.01
#define GROWTH 1.12
#define MOST_LAMBDA 100.0

static int shortest_mode(const amped_plan *plan) {
  int shortest = 0;
  for (int m = 1; m < plan->order; m++)
    if (plan->dims[m] < plan->dims[shortest])
      shortest = m;
  return shortest;
}

/* Number of blocks per mode that --sample=auto asks for: BLOCKS, or one per rank if there are more
 * ranks. */
static uint64_t wanted_blocks(const amped_plan *plan) {
  const uint64_t ranks = (uint64_t)plan->nranks;
  return ranks > BLOCKS ? ranks : BLOCKS;
}

/* Default number of blocks per mode: the wanted number, fewer if blocks would have too few indices.
 * 0: fewer than two such blocks, or fewer than ranks. */
static uint64_t usual_blocks(const amped_plan *plan) {
  const uint64_t least = INDICES_OF_COMPONENT * (uint64_t)plan->ncomps;
  const uint64_t most = plan->dims[shortest_mode(plan)] / least;
  const uint64_t wanted = wanted_blocks(plan);
  const uint64_t count = most < wanted ? most : wanted;
  return count < 2 || count < (uint64_t)plan->nranks ? 0 : count;
}

static amped_status refuse_usual(const amped_plan *plan) {
  const int m = shortest_mode(plan);
  return amped_error(AMPED_USAGE, NULL,
                     "--sample=blocks needs two blocks of 2 R = %d indices in each mode, and a "
                     "block a rank (%d): mode %d has %" PRIu64
                     " indices; use --sample=slices, a smaller --block or --method=als",
                     INDICES_OF_COMPONENT * plan->ncomps, plan->nranks, m + 1, plan->dims[m]);
}

static amped_status find_blocks(const amped_plan *plan, amped_rbs_settings *s) {
  const int m = shortest_mode(plan);
  const uint64_t dim = plan->dims[m];
  if (s->block == 0) {
    s->shape.count = usual_blocks(plan);
    s->block = s->shape.count > 0 ? dim / s->shape.count : 0;
    return s->shape.count > 0 ? AMPED_OK : refuse_usual(plan);
  }
  s->shape.count = dim / s->block;
  if (s->shape.count >= 2 && s->shape.count >= (uint64_t)plan->nranks)
    return AMPED_OK;
  return amped_error(
      AMPED_USAGE, NULL,
      "--block=%" PRIu64 " cuts the %" PRIu64 " indices of mode %d into %" PRIu64
      " blocks; at least two are needed, and one for each of %d ranks; use --block=%" PRIu64,
      s->block, dim, m + 1, s->shape.count, plan->nranks,
      dim / (plan->nranks > 2 ? (uint64_t)plan->nranks : 2));
}

static amped_status find_slices(const amped_plan *plan, amped_rbs_settings *s) {
  const uint64_t dim = plan->dims[s->shape.mode];
  if (s->block > dim)
    return amped_error(AMPED_USAGE, NULL,
                       "--block=%" PRIu64 " slices are more than the %" PRIu64
                       " of mode %d; use fewer",
                       s->block, dim, s->shape.mode + 1);
  if (s->block == 0)
    s->block = plan->ncomps > SLICES ? (uint64_t)plan->ncomps : SLICES;
  s->block = s->block < dim ? s->block : dim;
  s->shape.count = amped_ceil_div(dim, s->block);
  return AMPED_OK;
}

/* Default of --search: at most half of the epochs. */
static uint64_t usual_search(const amped_rbs_settings *s) {
  const uint64_t wanted = s->shape.slices ? SEARCH_SLICES : SEARCH_BLOCKS;
  return wanted < s->epochs / 2 ? wanted : s->epochs / 2;
}

static uint64_t fit_cells_of(const amped_plan *plan, const amped_rbs_settings *s) {
  const double share = FIT_SHARE * amped_rbs_epoch_share(s) * (double)plan->nnz;
  if (s->shape.slices || share >= (double)AMPED_SAMPLED_CELLS)
    return AMPED_SAMPLED_CELLS;
  return share > (double)LEAST_FIT_CELLS ? (uint64_t)share : LEAST_FIT_CELLS;
}

amped_status amped_rbs_settings_make(const amped_rbs_options *o, const amped_plan *plan,
                                     amped_rbs_settings *out) {
  amped_rbs_settings s = {.block = o->block};
  s.shape = (amped_rbs_shape){
      .order = plan->order,
      .nranks = plan->nranks,
      .mode = plan->dense.slab_mode,
      .rank_rows = plan->dense.outside ? NULL : plan->modes[plan->dense.slab_mode].rows.rank_rows};
  memcpy(s.shape.dims, plan->dims, sizeof s.shape.dims);
  s.shape.slices = o->sampler == AMPED_SAMPLE_SLICES || plan->dense.outside ||
                   (o->sampler == AMPED_SAMPLE_AUTO && o->block == 0 &&
                    usual_blocks(plan) < wanted_blocks(plan));
  AMPED_TRY(s.shape.slices ? find_slices(plan, &s) : find_blocks(plan, &s));
  s.epochs = o->epochs >= 0 ? (uint64_t)o->epochs : s.shape.slices ? 6 : 200;
  s.search = o->search >= 0 ? (uint64_t)o->search : usual_search(&s);
  s.polish = o->polish >= 0 ? (uint64_t)o->polish : plan->dense.outside ? 0 : POLISH;
  s.fit_cells = fit_cells_of(plan, &s);
  *out = s;
  if (s.search <= s.epochs)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL,
                     "--search=%" PRIu64 " is more than the %" PRIu64
                     " epochs; give --epochs, or a smaller --search",
                     s.search, s.epochs);
}

double amped_rbs_epoch_share(const amped_rbs_settings *s) {
  return s->shape.slices ? 1.0 : pow((double)s->shape.count, 1.0 - s->shape.order);
}

double amped_rbs_lambda(const amped_rbs_settings *s, uint64_t epoch, uint64_t step) {
  const uint64_t steps = amped_rbs_sample_steps(&s->shape);
  if (epoch == 0 && !s->shape.slices)
    return AMPED_RBS_LEAST;
  if (epoch < s->search)
    return fmax(AMPED_RBS_LEAST, pow(SEARCH_FALL, (double)(epoch * steps + step)));
  const uint64_t restricted = (epoch - s->search) * steps + step;
  return fmin(MOST_LAMBDA, FIRST_LAMBDA * pow(GROWTH, (double)restricted));
}
