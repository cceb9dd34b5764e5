/* Generated cells: the planted model, and cells computed on demand. */
#include "generate/generated_cells.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/system_memory.h"
#include "generate/planted_noise.h"
#include "generate/random_tensor.h"

/* Cells that a thread computes at a time. */
#define BLOCK UINT64_C(256)

enum { STREAM_UNIFORM = 80, STREAM_ENTRY, STREAM_NOISE };

static uint64_t stream_of(int purpose, int mode) {
  return (uint64_t)purpose << 56 | (uint64_t)mode << 48;
}

/* --- the model -------------------------------------------------------------------------------- */

static amped_status check_model(const amped_generated_spec *spec) {
  uint64_t rows = spec->dims[spec->order - 1]; /* the last mode's factor is stored twice */
  uint64_t bytes = 0;
  for (int m = 0; m < spec->order; m++)
    if (!amped_add(rows, spec->dims[m], &rows))
      rows = UINT64_MAX;
  if (!amped_mul(rows, ((uint64_t)spec->ncomps + 1) * sizeof(double), &bytes))
    bytes = UINT64_MAX;
  return amped_mem_check(NULL, "the planted model", bytes);
}

static amped_status check(const amped_generated_spec *spec, amped_dense_info *info) {
  AMPED_TRY(amped_random_tensor_check_dims(spec->order, spec->dims));
  info->order = spec->order;
  info->type = spec->type;
  for (int m = 0; m < spec->order; m++) {
    info->dims[m] = spec->dims[m];
    info->layout[m] = m;
  }
  if (!amped_dense_info_count(info))
    return amped_error(AMPED_USAGE, NULL, "a dense tensor of more than 2^63 bytes; lower --dims");
  AMPED_TRY(amped_planted_noise_check(spec->noise));
  return spec->ncomps > 0 ? check_model(spec) : AMPED_OK;
}

/* Exponent p for which entries u^p have this mean cosine. The mean of u^p is 1 / (p + 1), of its
 * square 1 / (2 p + 1): the cosine is (2 p + 1) / (p + 1)^2 = 1 - (p / (p + 1))^2. */
static double power_of(double cosine) {
  const double q = sqrt(1.0 - cosine);
  return q / (1.0 - q);
}

static void fill_factor(const amped_generated_spec *spec, int mode, double *factor) {
  const uint64_t ncomps = (uint64_t)spec->ncomps;
  const uint64_t stream = stream_of(STREAM_ENTRY, mode);
  const double power = spec->collinear > 0.0 ? power_of(spec->collinear) : 1.0;
  const double shared = sqrt(spec->collinear);
  const double own = sqrt(1.0 - spec->collinear);
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < spec->dims[mode]; i++)
    for (uint64_t r = 0; r < ncomps; r++) {
      const uint64_t at = i * (ncomps + 1);
      double entry = 0.0;
      if (spec->is_signed)
        entry = shared * amped_random_normal(spec->seed, stream, at + ncomps) +
                own * amped_random_normal(spec->seed, stream, at + r);
      else
        entry = pow(1.0 - amped_random_double(spec->seed, stream, at + r), power);
      factor[i * ncomps + r] = entry;
    }
}

/* Inner product of two columns of a factor. */
static double product(const amped_ktensor *model, int mode, int r, int s) {
  const double *factor = model->factors[mode];
  const uint64_t ncomps = (uint64_t)model->ncomps;
  double sum = 0.0;
  for (uint64_t i = 0; i < model->dims[mode]; i++)
    sum += factor[i * ncomps + (uint64_t)r] * factor[i * ncomps + (uint64_t)s];
  return sum;
}

/* Inner product of two components, whose columns have unit length. Updates the range of cosines. */
static double component_product(amped_generated_cells *g, int r, int s) {
  double term = g->model.weights[r] * g->model.weights[s];
  for (int m = 0; m < g->model.order; m++) {
    const double cosine = product(&g->model, m, r, s);
    g->least_cosine = fmin(g->least_cosine, cosine);
    g->most_cosine = fmax(g->most_cosine, cosine);
    term *= cosine;
  }
  return term;
}

/* Compute the noise and the range of cosines. |M|^2 is the sum of the inner products of all pairs
 * of components. */
static void measure(amped_generated_cells *g) {
  double norm_squared = 0.0;
  g->least_cosine = INFINITY;
  g->most_cosine = -INFINITY;
  for (int r = 0; r < g->model.ncomps; r++) {
    norm_squared += g->model.weights[r] * g->model.weights[r];
    for (int s = 0; s < r; s++)
      norm_squared += 2.0 * component_product(g, r, s);
  }
  if (g->model.ncomps == 1)
    g->least_cosine = g->most_cosine = 0.0;
  g->noise_sd = g->spec.noise * sqrt(fmax(norm_squared, 0.0) / (double)g->info.cells);
}

static amped_status make_model(amped_generated_cells *g) {
  const amped_generated_spec *spec = &g->spec;
  const int end = spec->order - 1;
  const uint64_t ncomps = (uint64_t)spec->ncomps;
  AMPED_TRY(amped_ktensor_create(&g->model, spec->order, spec->dims, spec->ncomps));
  AMPED_TRY(amped_alloc(&g->last, ncomps * spec->dims[end], sizeof *g->last, "the planted model"));
  for (int r = 0; r < spec->ncomps; r++)
    g->model.weights[r] = 1.0;
  for (int m = 0; m < spec->order; m++)
    fill_factor(spec, m, g->model.factors[m]);
  amped_ktensor_normalise(&g->model, 0, NULL);
  for (uint64_t i = 0; i < spec->dims[end]; i++)
    for (uint64_t r = 0; r < ncomps; r++)
      g->last[r * spec->dims[end] + i] = g->model.factors[end][i * ncomps + r];
  measure(g);
  return AMPED_OK;
}

amped_status amped_generated_cells_create(const amped_generated_spec *spec,
                                          amped_generated_cells *out) {
  memset(out, 0, sizeof *out);
  out->spec = *spec;
  AMPED_TRY(check(spec, &out->info));
  return spec->ncomps > 0 ? make_model(out) : AMPED_OK;
}

void amped_generated_cells_free(amped_generated_cells *g) {
  amped_ktensor_free(&g->model);
  amped_free(g->last);
  g->last = NULL;
}

/* --- cells ------------------------------------------------------------------------------------ */

static void get_uniform(const amped_generated_cells *g, uint64_t first, uint64_t count,
                        double *values) {
  const uint64_t stream = stream_of(STREAM_UNIFORM, 0);
  for (uint64_t i = 0; i < count; i++)
    values[i] = (double)((amped_random_u64(g->spec.seed, stream, first + i) >> 40) + 1) * 0x1.0p-24;
}

/* Compute cells first .. first+count of the model, which must be in one row of the last mode. */
static void get_row(const amped_generated_cells *g, uint64_t first, uint64_t count,
                    double *values) {
  const amped_ktensor *model = &g->model;
  const uint64_t ncomps = (uint64_t)model->ncomps;
  const int end = model->order - 1;
  uint64_t index[AMPED_MAX_ORDER];
  amped_dense_index(g->info.order, g->info.dims, g->info.layout, first, index);
  memset(values, 0, count * sizeof *values);
  for (uint64_t r = 0; r < ncomps; r++) {
    const double *column = g->last + r * model->dims[end] + index[end];
    double weight = model->weights[r];
    for (int m = 0; m < end; m++)
      weight *= model->factors[m][index[m] * ncomps + r];
    for (uint64_t i = 0; i < count; i++)
      values[i] += weight * column[i];
  }
}

static void get_planted(const amped_generated_cells *g, uint64_t first, uint64_t count,
                        double *values) {
  const uint64_t row = g->info.dims[g->info.order - 1];
  for (uint64_t done = 0, n = 0; done < count; done += n) {
    const uint64_t left = row - (first + done) % row;
    n = count - done < left ? count - done : left;
    get_row(g, first + done, n, values + done);
  }
  for (uint64_t i = 0; i < count && g->noise_sd > 0.0; i++)
    values[i] +=
        g->noise_sd * amped_random_normal(g->spec.seed, stream_of(STREAM_NOISE, 0), first + i);
}

static void put(const amped_generated_cells *g, const double *values, uint64_t first,
                uint64_t count, void *cells) {
  const amped_vtype type = g->info.type == AMPED_CELL_F32 ? AMPED_F32 : AMPED_F64;
  for (uint64_t i = 0; i < count; i++)
    amped_value_put(cells, type, first + i, values[i]);
}

void amped_generated_cells_get(const amped_generated_cells *g, uint64_t first, uint64_t count,
                               void *cells) {
  const uint64_t blocks = amped_ceil_div(count, BLOCK);
#pragma omp parallel for schedule(static)
  for (uint64_t b = 0; b < blocks; b++) {
    double values[BLOCK];
    const uint64_t begin = b * BLOCK;
    const uint64_t n = count - begin < BLOCK ? count - begin : BLOCK;
    if (g->spec.ncomps > 0)
      get_planted(g, first + begin, n, values);
    else
      get_uniform(g, first + begin, n, values);
    put(g, values, begin, n, cells);
  }
}
