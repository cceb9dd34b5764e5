/* Observed tensors: drawing distinct cells, and their values from a planted model. */
#include "generate/observed_tensor.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/system_memory.h"
#include "generate/planted_noise.h"
#include "generate/random_tensor.h"

enum { STREAM_CELL = 72, STREAM_ENTRY, STREAM_ENTRY_ANGLE, STREAM_LEADING };

static uint64_t stream_of(int purpose, int mode) {
  return (uint64_t)purpose << 56 | (uint64_t)mode << 48;
}

/* Group of the last modes, `from` .. order - 1: the largest group with at most 2^63 cells. */
typedef struct tail {
  int from;
  uint64_t cells;
} tail;

static tail tail_of(const amped_observed_spec *spec) {
  tail t = {spec->order, 1};
  uint64_t more = 0;
  while (t.from > 0 && amped_mul(t.cells, spec->dims[t.from - 1], &more) && more <= AMPED_MAX_DIM) {
    t.cells = more;
    t.from--;
  }
  return t;
}

static double count_cells(const amped_observed_spec *spec) {
  double cells = 1.0;
  for (int m = 0; m < spec->order; m++)
    cells *= (double)spec->dims[m];
  return cells;
}

static amped_status check_model(const amped_observed_spec *spec) {
  uint64_t rows = 0;
  uint64_t bytes = 0;
  if (spec->ncomps < 1 || spec->ncomps > AMPED_MAX_NCOMPS)
    return amped_error(AMPED_USAGE, NULL, "%d planted components; give --planted from 1 to %d",
                       spec->ncomps, AMPED_MAX_NCOMPS);
  for (int m = 0; m < spec->order; m++)
    if (!amped_add(rows, spec->dims[m], &rows))
      rows = UINT64_MAX;
  if (!amped_mul(rows, (uint64_t)spec->ncomps * sizeof(double), &bytes))
    bytes = UINT64_MAX;
  return amped_mem_check(NULL, "the planted model", bytes);
}

amped_status amped_observed_check(const amped_observed_spec *spec, uint64_t *nnz) {
  *nnz = 0;
  AMPED_TRY(amped_random_tensor_check_dims(spec->order, spec->dims));
  AMPED_TRY(amped_planted_noise_check(spec->noise));
  if (!(spec->share > 0.0 && spec->share <= 1.0))
    return amped_error(AMPED_USAGE, NULL,
                       "%g of the cells; give --observed a share above 0, at most 1", spec->share);
  const tail last = tail_of(spec);
  const double cells = last.from > 0 ? count_cells(spec) : (double)last.cells;
  const double wanted = round(spec->share * cells);
  if (wanted < 1.0)
    return amped_error(AMPED_USAGE, NULL,
                       "%g of %.0f cells is less than one; give a larger --observed", spec->share,
                       cells);
  if (wanted > (double)last.cells && last.from > 0)
    return amped_error(AMPED_USAGE, NULL,
                       "%.3g cells are too many to draw; lower --observed or --dims", wanted);
  *nnz = wanted < (double)last.cells ? (uint64_t)wanted : last.cells;
  AMPED_TRY(check_model(spec));
  return amped_random_tensor_check_memory(spec->order, *nnz);
}

static void fill_model(const amped_observed_spec *spec, amped_ktensor *model) {
  for (int r = 0; r < spec->ncomps; r++)
    model->weights[r] = 1.0;
  for (int m = 0; m < spec->order; m++) {
    const uint64_t entries = spec->dims[m] * (uint64_t)spec->ncomps;
    double *factor = model->factors[m];
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < entries; i++)
      factor[i] = spec->factor_mean + amped_planted_normal(spec->seed, stream_of(STREAM_ENTRY, m),
                                                           stream_of(STREAM_ENTRY_ANGLE, m), i);
  }
}

static void draw_cells(const amped_observed_spec *spec, amped_sptensor *t) {
  const tail last = tail_of(spec);
  const uint64_t key = amped_random_u64(spec->seed, stream_of(STREAM_CELL, 0), 0);
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < t->nnz; k++) {
    uint64_t rest = amped_random_tensor_scatter(last.cells, key, k);
    for (int m = t->order - 1; m >= last.from; m--) {
      t->indices[m][k] = rest % t->dims[m];
      rest /= t->dims[m];
    }
    for (int m = 0; m < last.from; m++)
      t->indices[m][k] = amped_random_u64(spec->seed, stream_of(STREAM_LEADING, m), k) % t->dims[m];
  }
}

static void fill_values(const amped_ktensor *model, amped_sptensor *t) {
  const uint64_t ncomps = (uint64_t)model->ncomps;
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < t->nnz; k++) {
    double sum = 0.0;
    for (uint64_t r = 0; r < ncomps; r++) {
      double term = model->weights[r];
      for (int m = 0; m < t->order; m++)
        term *= model->factors[m][t->indices[m][k] * ncomps + r];
      sum += term;
    }
    t->values[k] = sum;
  }
}

amped_status amped_observed_create(const amped_observed_spec *spec, amped_sptensor *out,
                                   amped_ktensor *model, double *noise_sd) {
  amped_status status = AMPED_OK;
  uint64_t nnz = 0;
  memset(out, 0, sizeof *out);
  memset(model, 0, sizeof *model);
  *noise_sd = 0.0;
  AMPED_TRY(amped_observed_check(spec, &nnz));
  AMPED_GO(fail, amped_ktensor_create(model, spec->order, spec->dims, spec->ncomps));
  AMPED_GO(fail, amped_sptensor_create(out, spec->order, nnz));
  out->duplicates = AMPED_DUPLICATES_NONE;
  memcpy(out->dims, spec->dims, sizeof out->dims);
  fill_model(spec, model);
  amped_ktensor_normalise(model, 0, NULL);
  draw_cells(spec, out);
  AMPED_GO(fail, amped_sptensor_sort(out, 0));
  fill_values(model, out);
  *noise_sd = amped_planted_noise_add(out, spec->noise, spec->seed);
  return AMPED_OK;
fail:
  amped_sptensor_free(out);
  amped_ktensor_free(model);
  return status;
}
