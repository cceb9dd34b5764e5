#include "generate/observed_tensor.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/system_memory.h"
#include "generate/planted_noise.h"
#include "generate/random_tensor.h"

enum { STREAM_CELL = 72, STREAM_ENTRY, STREAM_ENTRY_ANGLE };

static uint64_t stream_of(int purpose, int mode) {
  return (uint64_t)purpose << 56 | (uint64_t)mode << 48;
}

static amped_status count_cells(const amped_observed_spec *spec, uint64_t *cells) {
  *cells = 1;
  for (int m = 0; m < spec->order; m++)
    if (!amped_mul(*cells, spec->dims[m], cells) || *cells > AMPED_MAX_DIM)
      return amped_error(AMPED_USAGE, NULL,
                         "the cells are more than 2^63, from which none can be drawn; lower "
                         "--dims");
  return AMPED_OK;
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
  uint64_t cells = 0;
  *nnz = 0;
  AMPED_TRY(amped_random_tensor_check_dims(spec->order, spec->dims));
  AMPED_TRY(amped_planted_noise_check(spec->noise));
  AMPED_TRY(count_cells(spec, &cells));
  if (!(spec->share > 0.0 && spec->share <= 1.0))
    return amped_error(AMPED_USAGE, NULL,
                       "%g of the cells; give --observed a share above 0, at most 1", spec->share);
  const double wanted = round(spec->share * (double)cells);
  if (wanted < 1.0)
    return amped_error(AMPED_USAGE, NULL,
                       "%g of %" PRIu64 " cells is less than one; give a larger --observed",
                       spec->share, cells);
  *nnz = wanted < (double)cells ? (uint64_t)wanted : cells;
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
      factor[i] = amped_planted_normal(spec->seed, stream_of(STREAM_ENTRY, m),
                                       stream_of(STREAM_ENTRY_ANGLE, m), i);
  }
}

static void draw_cells(const amped_observed_spec *spec, uint64_t cells, amped_sptensor *t) {
  const uint64_t key = amped_random_u64(spec->seed, stream_of(STREAM_CELL, 0), 0);
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < t->nnz; k++) {
    uint64_t rest = amped_random_tensor_scatter(cells, key, k);
    for (int m = t->order - 1; m >= 0; m--) {
      t->indices[m][k] = rest % t->dims[m];
      rest /= t->dims[m];
    }
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
  uint64_t cells = 0;
  uint64_t nnz = 0;
  memset(out, 0, sizeof *out);
  memset(model, 0, sizeof *model);
  *noise_sd = 0.0;
  AMPED_TRY(amped_observed_check(spec, &nnz));
  AMPED_TRY(count_cells(spec, &cells));
  AMPED_GO(fail, amped_ktensor_create(model, spec->order, spec->dims, spec->ncomps));
  AMPED_GO(fail, amped_sptensor_create(out, spec->order, nnz));
  out->duplicates = AMPED_DUPLICATES_NONE;
  memcpy(out->dims, spec->dims, sizeof out->dims);
  fill_model(spec, model);
  amped_ktensor_normalise(model);
  draw_cells(spec, cells, out);
  AMPED_GO(fail, amped_sptensor_sort(out, 0));
  fill_values(model, out);
  *noise_sd = amped_planted_noise_add(out, spec->noise, spec->seed);
  return AMPED_OK;
fail:
  amped_sptensor_free(out);
  amped_ktensor_free(model);
  return status;
}
