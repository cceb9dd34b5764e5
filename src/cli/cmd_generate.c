/* generate: makes random tensors, sparse or dense, with or without a planted model. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "tensor/format.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "text/io_tns.h"
#include "base/facts.h"
#include "base/json.h"
#include "session/output_guard.h"
#include "base/mem.h"
#include "formats/dense_file.h"
#include "formats/result_file.h"
#include "generate/generated_cells.h"
#include "generate/random_tensor.h"
#include "generate/observed_tensor.h"
#include "generate/planted_tensor.h"
#include "generate/paper_shapes.h"
#include "solver/cpd/cpd_als.h"
#include "formats/tensor_file.h"
#include "base/timer.h"

/* Cells that are computed together. */
#define PIECE (UINT64_C(1) << 23)

/* The tensor to make, and its files. */
typedef struct job {
  const amped_options *o;
  const char *path;
  amped_format format;
  char *model_path;   /* path of the planted model; NULL: none */
  amped_output found; /* files that path and model_path would replace */
  amped_output found_model;
  amped_file_lock lock;
  amped_random_tensor_spec spec;
  amped_generated_spec dense; /* for --dense; spec has the same dims and seed */
} job;

static bool is_standard(const char *path) {
  return strcmp(path, "-") == 0;
}

static amped_status check_names(const amped_options *o) {
  const char *wrong = NULL;
  if (o->session.cells.made)
    return AMPED_OK;
  if (o->generate.planted > 0 && is_standard(o->args[0]))
    wrong = "the planted model is written to the folder of the tensor; name a file instead of -";
  else if (is_standard(o->args[0]) && o->json != NULL && is_standard(o->json))
    wrong = "the tensor and --json=- would mix on standard output; name a file for one";
  return wrong != NULL ? amped_error(AMPED_USAGE, NULL, "%s", wrong) : AMPED_OK;
}

static amped_status set_skew(const amped_options *o, amped_random_tensor_spec *spec) {
  if (o->session.shape.skew_count > 1 && o->session.shape.skew_count != spec->order)
    return amped_error(AMPED_USAGE, NULL,
                       "%d exponents in --skew for %d modes; give one, or one for each mode",
                       o->session.shape.skew_count, spec->order);
  for (int m = 0; m < spec->order && o->session.shape.skew_count > 0; m++)
    spec->skew[m] = o->session.shape.skew[o->session.shape.skew_count > 1 ? m : 0];
  spec->power =
      o->session.shape.name != NULL && o->session.shape.skew_count == 0 ? AMPED_SHAPE_POWER : 0.0;
  return AMPED_OK;
}

static amped_observed_spec observed_spec(const amped_options *o) {
  amped_observed_spec spec = {.order = o->read.dims_order,
                              .share = o->generate.observed,
                              .ncomps = o->generate.planted,
                              .factor_mean = o->generate.factor_mean,
                              .noise = o->generate.noise,
                              .seed = o->seed};
  memcpy(spec.dims, o->read.dims, sizeof spec.dims);
  return spec;
}

static amped_generated_spec dense_spec(const amped_options *o) {
  amped_generated_spec spec = {.order = o->read.dims_order,
                               .ncomps = o->generate.planted,
                               .noise = o->generate.noise,
                               .collinear = o->generate.collinear,
                               .is_signed = o->generate.is_signed,
                               .type = o->session.cells.type == AMPED_F64 ? AMPED_CELL_F64
                                                                          : AMPED_CELL_F32,
                               .seed = o->seed};
  memcpy(spec.dims, o->read.dims, sizeof spec.dims);
  return spec;
}

static amped_status make_spec(const amped_options *o, amped_random_tensor_spec *spec) {
  amped_shape shape = {.order = o->read.dims_order, .nnz = o->session.shape.nnz};
  memcpy(shape.dims, o->read.dims, sizeof shape.dims);
  if (o->session.shape.name != NULL)
    AMPED_TRY(amped_shape_get(o->session.shape.name, o->session.shape.scale, o->session.shape.nnz,
                              &shape));
  *spec = (amped_random_tensor_spec){
      .order = shape.order, .nnz = shape.nnz, .codes = shape.codes, .seed = o->seed};
  memcpy(spec->dims, shape.dims, sizeof spec->dims);
  if (o->session.cells.made)
    return AMPED_OK;
  if (o->generate.observed > 0.0) {
    const amped_observed_spec observed = observed_spec(o);
    return amped_observed_check(&observed, &spec->nnz);
  }
  AMPED_TRY(set_skew(o, spec));
  return amped_random_tensor_check(spec->order, spec->dims, spec->nnz);
}

/* The model's path: path without its suffixes, then ".planted.h5". The caller frees *out. */
static amped_status model_path_of(const char *path, char **out) {
  uint64_t length = amped_io_stem(path);
  AMPED_TRY(amped_alloc(out, length + sizeof ".planted.h5", 1, "a path"));
  memcpy(*out, path, length);
  memcpy(*out + length, ".planted.h5", sizeof ".planted.h5");
  return AMPED_OK;
}

static amped_status check_output(job *j) {
  AMPED_TRY(amped_io_format(j->path, &j->format));
  if (j->format == AMPED_FORMAT_TABLE || j->format == AMPED_FORMAT_NPY)
    return amped_error(AMPED_USAGE, j->path,
                       "is a %s, which generate does not write; name OUT.h5 or OUT.tns",
                       j->format == AMPED_FORMAT_TABLE ? "table" : "file of numpy");
  if (j->o->session.cells.made && j->format != AMPED_FORMAT_HDF5)
    return amped_error(AMPED_USAGE, j->path,
                       "is not an HDF5 file, and --dense writes only HDF5; name OUT.h5");
  if (j->o->generate.planted > 0)
    AMPED_TRY(model_path_of(j->path, &j->model_path));
  if (is_standard(j->path)) {
    amped_log_to_stderr();
    return AMPED_OK;
  }
  AMPED_TRY(amped_file_check_writable(j->path));
  AMPED_TRY(amped_output_look(
      j->path, j->format == AMPED_FORMAT_HDF5 ? AMPED_OUTPUT_TENSOR : AMPED_OUTPUT_PLAIN,
      j->o->overwrite, &j->found));
  if (j->model_path != NULL)
    AMPED_TRY(
        amped_output_look(j->model_path, AMPED_OUTPUT_RESULT, j->o->overwrite, &j->found_model));
  return amped_file_lock_take(j->path, &j->lock);
}

static amped_status make(const job *j, amped_sptensor *t, amped_ktensor *model, double *noise_sd) {
  if (j->o->generate.planted == 0)
    return amped_random_tensor_create(&j->spec, t);
  if (j->o->generate.observed > 0.0) {
    const amped_observed_spec observed = observed_spec(j->o);
    return amped_observed_create(&observed, t, model, noise_sd);
  }
  amped_planted_spec spec = {.order = j->spec.order,
                             .nnz = j->spec.nnz,
                             .ncomps = j->o->generate.planted,
                             .noise = j->o->generate.noise,
                             .seed = j->spec.seed};
  memcpy(spec.dims, j->spec.dims, sizeof spec.dims);
  return amped_planted_create(&spec, t, model, noise_sd);
}

static void dense_options(const amped_generated_spec *d, amped_facts *f) {
  amped_fact_json(f, "dense", json_true());
  amped_fact_json(f, "dims", amped_json_counts(d->dims, d->order));
  amped_fact_json(f, "planted", json_integer(d->ncomps));
  amped_fact_json(f, "noise", amped_json_number(d->noise));
  amped_fact_json(f, "collinear", amped_json_number(d->collinear));
  amped_fact_json(f, "signed", json_boolean(d->is_signed));
  amped_fact_json(f, "type", json_string(amped_cell_name(d->type)));
  amped_fact_json(f, "seed", amped_json_count(d->seed));
}

static void sparse_options(const job *j, amped_facts *f) {
  const amped_generate_options *g = &j->o->generate;
  amped_fact_json(f, "dims", amped_json_counts(j->spec.dims, j->spec.order));
  amped_fact_json(f, "nnz", amped_json_count(j->spec.nnz));
  amped_fact_json(f, "skew", amped_json_numbers(j->spec.skew, j->spec.order));
  amped_fact_json(f, "power", amped_json_number(j->spec.power));
  amped_fact_json(f, "planted", json_integer(g->planted));
  amped_fact_json(f, "observed", amped_json_number(g->observed));
  amped_fact_json(f, "factor_mean", amped_json_number(g->factor_mean));
  amped_fact_json(f, "noise", amped_json_number(g->noise));
  amped_fact_json(f, "seed", amped_json_count(j->o->seed));
  amped_fact_json(f, "shape", amped_json_string(j->o->session.shape.name));
}

/* Begin a list with the options that determine the tensor. */
static void begin_options(const job *j, amped_facts *f) {
  amped_facts_begin(f, NULL);
  if (j->o->session.cells.made)
    dense_options(&j->dense, f);
  else
    sparse_options(j, f);
}

static void noise_facts(double noise_sd, amped_facts *f) {
  amped_fact_json(f, "noise_sd", amped_json_number(noise_sd));
  if (noise_sd > 0.0)
    amped_fact_words(f, "  with noise of standard deviation %.6g\n", noise_sd);
}

static amped_status write_model(const job *j, const amped_ktensor *model, double norm,
                                uint64_t hash) {
  amped_facts options;
  begin_options(j, &options);
  char *text = amped_facts_text(&options);
  if (text == NULL)
    return amped_error(AMPED_FAILED, j->model_path, "out of memory for its record");
  amped_run_record record = {.input = j->path,
                             .input_norm = norm,
                             .input_hash = hash,
                             .options = text,
                             .seed = j->spec.seed,
                             .stop_reason = "planted",
                             .metric = amped_cpd_als_solver.metric};
  amped_status status = amped_result_file_write(j->model_path, model, &record);
  free(text);
  AMPED_TRY(status);
  amped_say("wrote %s: the planted model, %d components", j->model_path, model->ncomps);
  return AMPED_OK;
}

/* Refuse to replace another tensor, or another planted model. */
static amped_status compare_outputs(const job *j, uint64_t hash, int order, const uint64_t *dims) {
  const amped_output_shape shape = {.order = order, .dims = dims};
  AMPED_TRY(amped_output_compare_tensor(&j->found, hash, &shape));
  return amped_output_compare_result(&j->found_model, hash, order, dims, j->o->generate.planted);
}

static amped_status write_all(const job *j, amped_sptensor *t, const amped_ktensor *model,
                              double noise_sd, double make_sec, amped_facts *f) {
  char dims[AMPED_DIMS_TEXT];
  const double began = amped_time();
  const amped_sptensor_facts facts = amped_sptensor_facts_of(t);
  const double norm = sqrt(facts.norm_squared);
  amped_fact_json(f, "order", json_integer(t->order));
  amped_fact(f, "dims", amped_json_counts(t->dims, t->order), "made %s",
             amped_format_dims(dims, t->order, t->dims));
  amped_fact(f, "nnz", amped_json_count(t->nnz), ", %" PRIu64 " nonzeros", t->nnz);
  amped_fact(f, "norm", amped_json_number(norm), ", norm %.10g", norm);
  amped_fact(f, "seed", amped_json_count(j->spec.seed), ", seed %" PRIu64, j->spec.seed);
  amped_fact(f, "make_sec", amped_json_number(make_sec), ", in %.2f s\n", make_sec);
  noise_facts(noise_sd, f);
  AMPED_TRY(compare_outputs(j, facts.hash, t->order, t->dims));
  if (j->format == AMPED_FORMAT_HDF5)
    AMPED_TRY(amped_tensor_file_write(j->path, t, true));
  else
    AMPED_TRY(amped_tns_write(j->path, t, false));
  const double sec = amped_time() - began;
  amped_fact(f, "output", amped_json_string(j->path), "wrote %s",
             is_standard(j->path) ? "standard output" : j->path);
  amped_fact(f, "write_sec", amped_json_number(sec), " in %.2f s\n", sec);
  return j->o->generate.planted > 0 ? write_model(j, model, norm, facts.hash) : AMPED_OK;
}

/* --- a dense tensor --------------------------------------------------------------------------- */

/* Compute and write all cells, piece by piece. */
static amped_status put_cells(const amped_generated_cells *g, amped_dense_writer *w) {
  const uint64_t all = g->info.cells;
  const uint64_t piece = all < PIECE ? all : PIECE;
  amped_status status = AMPED_OK;
  void *cells = NULL;
  AMPED_TRY(amped_alloc(&cells, piece, amped_cell_bytes(g->info.type), "cells"));
  for (uint64_t first = 0; first < all && status == AMPED_OK; first += piece) {
    const uint64_t n = all - first < piece ? all - first : piece;
    amped_generated_cells_get(g, first, n, cells);
    status = amped_dense_writer_append(w, n, cells);
  }
  amped_free(cells);
  return status;
}

static amped_status write_dense(const job *j, const amped_generated_cells *g,
                                amped_dense_info *info) {
  amped_dense_writer *w = NULL;
  AMPED_TRY(amped_dense_writer_create(j->path, &g->info, &w));
  amped_status status = put_cells(g, w);
  *info = *amped_dense_writer_info(w);
  if (status == AMPED_OK)
    status = compare_outputs(j, info->hash, info->order, info->dims);
  if (status == AMPED_OK)
    return amped_dense_writer_publish(w);
  amped_dense_writer_discard(w);
  return status;
}

static amped_status write_all_dense(const job *j, const amped_generated_cells *g, amped_facts *f) {
  const double began = amped_time();
  const amped_dense_info *made = &g->info;
  amped_dense_info info;
  char dims[AMPED_DIMS_TEXT];
  char bytes[32];
  amped_fact_json(f, "order", json_integer(made->order));
  amped_fact(f, "dims", amped_json_counts(made->dims, made->order), "making %s",
             amped_format_dims(dims, made->order, made->dims));
  amped_fact(f, "cells", amped_json_count(made->cells), ", %" PRIu64 " cells", made->cells);
  amped_fact(f, "cell_type", json_string(amped_cell_name(made->type)), " of %s, %s",
             amped_cell_name(made->type),
             amped_format_bytes(bytes, made->cells * amped_cell_bytes(made->type)));
  amped_fact(f, "seed", amped_json_count(j->o->seed), ", seed %" PRIu64 "\n", j->o->seed);
  if (g->spec.ncomps > 1)
    amped_fact_words(f, "  cosines of a factor's columns: %.3f to %.3f\n", g->least_cosine,
                     g->most_cosine);
  noise_facts(g->noise_sd, f);
  AMPED_TRY(write_dense(j, g, &info));
  const double sec = amped_time() - began;
  const double norm = sqrt(info.norm_squared);
  amped_fact_json(f, "nnz", amped_json_count(info.nnz));
  amped_fact(f, "output", amped_json_string(j->path), "wrote %s", j->path);
  amped_fact(f, "norm", amped_json_number(norm), ", norm %.10g", norm);
  amped_fact(f, "write_sec", amped_json_number(sec), ", in %.2f s\n", sec);
  return g->spec.ncomps > 0 ? write_model(j, &g->model, norm, info.hash) : AMPED_OK;
}

static amped_status run_dense(const job *j, amped_facts *f) {
  amped_generated_cells g;
  amped_status status = amped_generated_cells_create(&j->dense, &g);
  if (status == AMPED_OK)
    status = write_all_dense(j, &g, f);
  amped_generated_cells_free(&g);
  return status;
}

/* --- the command ------------------------------------------------------------------------------ */

/* Refuse the JSON file if it is an output, too. Now it exists, so any name for it is recognised. */
static amped_status check_json(const job *j, const amped_json *json) {
  AMPED_TRY(amped_json_apart(json, j->path));
  return j->model_path != NULL ? amped_json_apart(json, j->model_path) : AMPED_OK;
}

static amped_status run_sparse(const job *j, amped_facts *f) {
  amped_sptensor t = {.order = 0};
  amped_ktensor model = {.order = 0};
  double noise_sd = 0.0;
  double began = amped_time();
  amped_status status = make(j, &t, &model, &noise_sd);
  if (status == AMPED_OK)
    status = write_all(j, &t, &model, noise_sd, amped_time() - began, f);
  amped_sptensor_free(&t);
  amped_ktensor_free(&model);
  return status;
}

static amped_status run(const job *j, amped_json *json) {
  amped_facts facts;
  amped_facts options;
  amped_facts_begin(&facts, "generate");
  amped_status status = j->o->session.cells.made ? run_dense(j, &facts) : run_sparse(j, &facts);
  begin_options(j, &options);
  amped_facts_take(&facts, "options", &options);
  return amped_facts_end(&facts, json, status);
}

amped_status amped_cmd_generate(const amped_options *o) {
  job j = {.o = o, .path = o->args[0]};
  amped_json *json = NULL;
  amped_status status = AMPED_OK;
  if (o->threads > 0)
    omp_set_num_threads(o->threads);
  AMPED_TRY(check_names(o));
  AMPED_TRY(make_spec(o, &j.spec));
  if (o->session.cells.made)
    j.dense = dense_spec(o);
  AMPED_GO(out, check_output(&j));
  AMPED_GO(out, amped_json_check_apart(o->json, j.model_path));
  AMPED_GO(out, amped_output_json(o->json, o->overwrite, &json));
  status = check_json(&j, json);
  status = amped_json_close(json, status == AMPED_OK ? run(&j, json) : status);
out:
  amped_file_lock_release(&j.lock);
  amped_free(j.model_path);
  return status;
}
