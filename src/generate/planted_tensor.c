/* Planted tensors: sizes of blocks, the planted model, and the cells of all blocks. */
#include "generate/planted_tensor.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "generate/planted_noise.h"
#include "generate/random_tensor.h"

/* Smallest ratio between the sides of pool and block. With many blocks, which would fill the pool,
 * the ratio is (blocks / 2)^(1 / order). */
#define POOL_SIDE 2.5

/* Bits of the largest value of one component; the rest of float's 24 bits is for sums of
 * overlaps. */
#define VALUE_BITS 20

enum { STREAM_POOL = 64, STREAM_SUBSET, STREAM_ENTRY };

/* Sides of every block and of the pool. */
typedef struct layout {
  uint64_t side[AMPED_MAX_ORDER];
  uint64_t pool[AMPED_MAX_ORDER];
  uint64_t cells; /* cells of one block */
  double filled;  /* expected number of cells that all blocks cover together */
} layout;

static uint64_t stream_of(int purpose, int mode, int component) {
  return (uint64_t)purpose << 56 | (uint64_t)mode << 48 | (uint64_t)component;
}

static uint64_t clamp(double x, uint64_t low, uint64_t high) {
  if (!(x > (double)low))
    return low;
  return x < (double)high ? (uint64_t)x : high;
}

/* Choose sides whose product is about `cells`, as equal as the dimensions allow. Starts at the
 * shortest mode, so that longer modes take the cells that it cannot hold. */
static layout lay_out(const amped_planted_spec *spec, double cells) {
  layout l = {.cells = 1};
  int modes[AMPED_MAX_ORDER];
  double pool = 1.0;
  double factor = pow((double)spec->ncomps / 2.0, 1.0 / spec->order);
  for (int m = 0; m < spec->order; m++) {
    int i = m;
    for (; i > 0 && spec->dims[modes[i - 1]] > spec->dims[m]; i--)
      modes[i] = modes[i - 1];
    modes[i] = m;
  }
  factor = factor > POOL_SIDE ? factor : POOL_SIDE;
  for (int i = 0; i < spec->order; i++) {
    int m = modes[i];
    uint64_t least = spec->dims[m] < 2 ? 1 : 2;
    double side = pow(cells / (double)l.cells, 1.0 / (spec->order - i));
    l.side[m] = clamp(round(side), least, spec->dims[m]);
    l.pool[m] = clamp(round(factor * (double)l.side[m]), l.side[m], spec->dims[m]);
    l.cells *= l.side[m];
    pool *= (double)l.pool[m];
  }
  double share = (double)l.cells / pool;
  l.filled = share < 1.0 ? -pool * expm1(spec->ncomps * log1p(-share)) : pool;
  return l;
}

/* Choose the layout that fills about nnz cells. */
static layout choose_layout(const amped_planted_spec *spec) {
  double low = 1.0;
  double high = (double)spec->nnz;
  /* Find the least number of cells of a block that fills nnz cells, to 2^-60 of nnz. */
  for (int i = 0; i < 60; i++) {
    double middle = (low + high) / 2.0;
    if (lay_out(spec, middle).filled < (double)spec->nnz)
      low = middle;
    else
      high = middle;
  }
  layout below = lay_out(spec, low);
  layout above = lay_out(spec, high);
  double wanted = (double)spec->nnz;
  return fabs(below.filled - wanted) < fabs(above.filled - wanted) ? below : above;
}

/* Tensor index of number i in a component's subset of a mode. */
static uint64_t subset_index(const amped_planted_spec *spec, const layout *l, int m, int r,
                             uint64_t i) {
  uint64_t within = amped_random_u64(spec->seed, stream_of(STREAM_SUBSET, m, r), 0);
  uint64_t pool = amped_random_u64(spec->seed, stream_of(STREAM_POOL, m, 0), 0);
  return amped_random_tensor_scatter(spec->dims[m], pool,
                                     amped_random_tensor_scatter(l->pool[m], within, i));
}

/* Positive factor entry: one of 1 .. 2^b, divided by 2^b. */
static double entry(const amped_planted_spec *spec, int m, int r, uint64_t i) {
  int bits = VALUE_BITS / spec->order;
  uint64_t u = amped_random_u64(spec->seed, stream_of(STREAM_ENTRY, m, r), i);
  return ldexp((double)((u >> (64 - bits)) + 1), -bits);
}

static void fill_model(const amped_planted_spec *spec, const layout *l, amped_ktensor *model) {
  for (int r = 0; r < spec->ncomps; r++) {
    model->weights[r] = 1.0;
    for (int m = 0; m < spec->order; m++)
      for (uint64_t i = 0; i < l->side[m]; i++) {
        uint64_t row = subset_index(spec, l, m, r, i);
        model->factors[m][row * (uint64_t)spec->ncomps + (uint64_t)r] = entry(spec, m, r, i);
      }
  }
}

/* Fill all cells of all blocks, block by block. */
static void fill_cells(const amped_planted_spec *spec, const layout *l, const amped_ktensor *model,
                       amped_sptensor *t) {
  for (int r = 0; r < spec->ncomps; r++) {
    uint64_t first = (uint64_t)r * l->cells;
#pragma omp parallel for schedule(static)
    for (uint64_t c = 0; c < l->cells; c++) {
      uint64_t rest = c;
      double value = 1.0;
      for (int m = 0; m < spec->order; m++) {
        uint64_t row = subset_index(spec, l, m, r, rest % l->side[m]);
        rest /= l->side[m];
        t->indices[m][first + c] = row;
        value *= model->factors[m][row * (uint64_t)spec->ncomps + (uint64_t)r];
      }
      t->values[first + c] = value;
    }
  }
}

static amped_status check(const amped_planted_spec *spec) {
  uint64_t least = 1;
  AMPED_TRY(amped_random_tensor_check(spec->order, spec->dims, spec->nnz));
  if (spec->ncomps < 1 || spec->ncomps > AMPED_MAX_NCOMPS)
    return amped_error(AMPED_USAGE, NULL, "%d planted components; give --planted from 1 to %d",
                       spec->ncomps, AMPED_MAX_NCOMPS);
  AMPED_TRY(amped_planted_noise_check(spec->noise));
  for (int m = 0; m < spec->order; m++)
    least *= spec->dims[m] < 2 ? 1 : 2;
  least *= (uint64_t)spec->ncomps;
  if (spec->nnz < least)
    return amped_error(AMPED_USAGE, NULL,
                       "%" PRIu64 " nonzeros are too few for %d planted components; give --nnz of "
                       "%" PRIu64 " or more",
                       spec->nnz, spec->ncomps, least);
  return AMPED_OK;
}

amped_status amped_planted_create(const amped_planted_spec *spec, amped_sptensor *out,
                                  amped_ktensor *model, double *noise_sd) {
  amped_status status = AMPED_OK;
  uint64_t total = 0;
  uint64_t overlaps = 0;
  memset(out, 0, sizeof *out);
  memset(model, 0, sizeof *model);
  *noise_sd = 0.0;
  AMPED_TRY(check(spec));
  layout l = choose_layout(spec);
  if (!amped_mul(l.cells, (uint64_t)spec->ncomps, &total))
    return amped_error(AMPED_USAGE, NULL, "the planted blocks are too large; lower --nnz");
  AMPED_GO(fail, amped_ktensor_create(model, spec->order, spec->dims, spec->ncomps));
  AMPED_GO(fail, amped_sptensor_create(out, spec->order, total));
  out->duplicates = AMPED_DUPLICATES_NONE; /* the model's cells are distinct after merging */
  memcpy(out->dims, spec->dims, sizeof out->dims);
  fill_model(spec, &l, model);
  fill_cells(spec, &l, model, out);
  amped_ktensor_normalise(model, 0, NULL);
  AMPED_GO(fail, amped_sptensor_sort(out, 0));
  AMPED_GO(fail, amped_sptensor_merge(out, AMPED_DUPLICATES_SUM, NULL, &overlaps));
  *noise_sd = amped_planted_noise_add(out, spec->noise, spec->seed);
  return AMPED_OK;
fail:
  amped_sptensor_free(out);
  amped_ktensor_free(model);
  return status;
}
