#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <cblas.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "mem.h"
#include "mttkrp_cpu.h"
#include "timer.h"

/* Rows that a thread turns to double and multiplies at a time. */
#define DENSE_ROWS 256

struct amped_context {
  const amped_plan *plan;
  int threads;
  char description[128];
  amped_cpu_copy copies[AMPED_MAX_ORDER];
  void *factors[AMPED_MAX_ORDER];
  void *output;
  double *fixup;
  double *dense; /* workspace of dense operations, dense_elements a thread */
  uint64_t dense_elements;
};

static bool cpu_available(const char **reason) {
  (void)reason;
  return true;
}

static void cpu_before_mpi(int local_rank) {
  (void)local_rank;
}

static amped_status cpu_open(const amped_backend_options *options, amped_context **out) {
  amped_context *ctx = NULL;
  *out = NULL;
  if (options->kernel != AMPED_KERNEL_SORTED)
    return amped_error(AMPED_USAGE, NULL,
                       "--kernel=published runs on GPUs only; leave it out or use --backend=cuda");
  if (options->residency == AMPED_RESIDENCY_STREAM || options->device_memory != 0)
    return amped_error(AMPED_USAGE, NULL,
                       "--residency=stream and --device-memory are for GPUs; leave them out or use "
                       "--backend=cuda");
  AMPED_TRY(amped_calloc(&ctx, 1, sizeof *ctx, "the CPU context"));
  ctx->threads = options->threads;
#ifdef HAVE_OPENBLAS_SET_NUM_THREADS
  extern void openblas_set_num_threads(int);
  openblas_set_num_threads(1); /* each of our threads calls BLAS for rows of its own */
#endif
  (void)snprintf(ctx->description, sizeof ctx->description, "CPU, %d thread%s", ctx->threads,
                 ctx->threads == 1 ? "" : "s");
  *out = ctx;
  return AMPED_OK;
}

static const char *cpu_describe(const amped_context *ctx) {
  return ctx->description;
}

static const char *cpu_identity(const amped_context *ctx) {
  (void)ctx;
  return "";
}

static uint64_t cpu_memory(const amped_context *ctx) {
  (void)ctx;
  return amped_mem_available();
}

static uint64_t most_runs(const amped_plan *plan) {
  uint64_t runs = 1;
  for (int m = 0; m < plan->order; m++) {
    uint64_t n = amped_cpu_runs(plan->modes[m].rank_nnz[plan->rank]);
    runs = n > runs ? n : runs;
  }
  return runs;
}

/* Doubles of dense workspace a thread: rows in, rows out, a gram. */
static uint64_t dense_elements(const amped_plan *plan) {
  uint64_t n = (uint64_t)plan->ncomps;
  return 2 * DENSE_ROWS * n + n * n;
}

static amped_status cpu_require(const amped_context *ctx, const amped_plan *plan,
                                uint64_t *device_bytes, uint64_t *host_bytes, bool *resident) {
  *device_bytes = 0;
  *host_bytes = amped_plan_factor_bytes(plan) + most_runs(plan) * plan->ld * sizeof(double) +
                (uint64_t)ctx->threads * dense_elements(plan) * sizeof(double);
  for (int m = 0; m < plan->order; m++) {
    *host_bytes += amped_plan_copy_bytes(plan, m, plan->rank);
    resident[m] = true;
  }
  return AMPED_OK;
}

/* Zeroed by the threads that will use it, so that pages lie near them. */
static amped_status alloc_zeroed(void *out, uint64_t count, size_t size, const char *what) {
  char *block = NULL;
  AMPED_TRY(amped_alloc(&block, count, size, what));
  int64_t pages = (int64_t)amped_ceil_div(count * size, 4096);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pages; p++) {
    uint64_t begin = (uint64_t)p * 4096;
    uint64_t left = count * size - begin;
    memset(block + begin, 0, left < 4096 ? left : 4096);
  }
  memcpy(out, &block, sizeof block);
  return AMPED_OK;
}

static amped_status prepare_copy(amped_context *ctx, int mode) {
  const amped_plan *plan = ctx->plan;
  amped_cpu_copy *copy = &ctx->copies[mode];
  uint64_t nnz = plan->modes[mode].rank_nnz[plan->rank];
  AMPED_TRY(amped_alloc(&copy->rows, nnz, plan->index_type, "a tensor copy"));
  for (int i = 0; i + 1 < plan->order; i++)
    AMPED_TRY(amped_alloc(&copy->inputs[i], nnz, plan->index_type, "a tensor copy"));
  AMPED_TRY(amped_alloc(&copy->values, nnz, plan->value_type, "a tensor copy"));
  copy->nnz = nnz;
  return AMPED_OK;
}

static amped_status cpu_prepare(amped_context *ctx, const amped_plan *plan) {
  uint64_t row_elements = plan->ld;
  ctx->plan = plan;
  ctx->dense_elements = dense_elements(plan);
  for (int m = 0; m < plan->order; m++) {
    AMPED_TRY(prepare_copy(ctx, m));
    AMPED_TRY(alloc_zeroed(&ctx->factors[m], amped_plan_factor_rows(plan, m) * row_elements,
                           plan->value_type, "a factor"));
  }
  AMPED_TRY(alloc_zeroed(&ctx->output, amped_plan_output_rows(plan) * row_elements,
                         plan->value_type, "the MTTKRP result"));
  AMPED_TRY(amped_alloc(&ctx->fixup, most_runs(plan) * row_elements, sizeof(double),
                        "the fix-up buffer"));
  return amped_alloc(&ctx->dense, (uint64_t)ctx->threads * ctx->dense_elements, sizeof(double),
                     "a dense workspace");
}

static void cpu_close(amped_context *ctx) {
  if (ctx == NULL)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(ctx->copies[m].rows);
    for (int i = 0; i < AMPED_MAX_ORDER - 1; i++)
      amped_free(ctx->copies[m].inputs[i]);
    amped_free(ctx->copies[m].values);
    amped_free(ctx->factors[m]);
  }
  amped_free(ctx->output);
  amped_free(ctx->fixup);
  amped_free(ctx->dense);
  amped_free(ctx);
}

static amped_status cpu_upload(amped_context *ctx, int mode, uint64_t offset,
                               const amped_run *run) {
  const amped_plan *plan = ctx->plan;
  amped_cpu_copy *copy = &ctx->copies[mode];
  uint64_t index = plan->index_type;
  if (run->count == 0)
    return AMPED_OK;
  memcpy((char *)copy->rows + offset * index, run->rows, run->count * index);
  for (int i = 0; i + 1 < plan->order; i++)
    memcpy((char *)copy->inputs[i] + offset * index, run->inputs[i], run->count * index);
  memcpy((char *)copy->values + offset * plan->value_type, run->values,
         run->count * plan->value_type);
  return AMPED_OK;
}

static amped_status cpu_loaded(amped_context *ctx, int mode) {
  (void)ctx;
  (void)mode;
  return AMPED_OK;
}

/* Rows of a padded matrix to and from count x ncomps doubles. */
static void rows_to_double(const amped_plan *plan, const void *from, uint64_t first, uint64_t count,
                           double *rows) {
  uint64_t n = (uint64_t)plan->ncomps;
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t c = 0; c < n; c++)
      rows[i * n + c] = amped_value_get(from, plan->value_type, (first + i) * plan->ld + c);
}

static void rows_from_double(const amped_plan *plan, void *to, uint64_t first, uint64_t count,
                             const double *rows) {
  uint64_t n = (uint64_t)plan->ncomps;
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t c = 0; c < n; c++)
      amped_value_put(to, plan->value_type, (first + i) * plan->ld + c, rows[i * n + c]);
}

static amped_status cpu_put_rows(amped_context *ctx, int mode, uint64_t position, uint64_t count,
                                 const double *rows) {
  rows_from_double(ctx->plan, ctx->factors[mode], position, count, rows);
  return AMPED_OK;
}

static amped_status cpu_get_rows(amped_context *ctx, int mode, uint64_t position, uint64_t count,
                                 double *rows) {
  rows_to_double(ctx->plan, ctx->factors[mode], position, count, rows);
  return AMPED_OK;
}

static amped_status cpu_mttkrp(amped_context *ctx, int mode, amped_mttkrp_times *times) {
  const amped_plan *plan = ctx->plan;
  const void *inputs[AMPED_MAX_ORDER];
  uint64_t rows = plan->modes[mode].block_rows;
  uint64_t bytes = plan->ld * plan->value_type;
  double began = amped_time();
  int ninputs = 0;
  for (int m = 0; m < plan->order; m++)
    if (m != mode)
      inputs[ninputs++] = ctx->factors[m];
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
  for (uint64_t i = 0; i < rows; i++)
    memset((char *)ctx->output + i * bytes, 0, bytes);
  if (ctx->copies[mode].nnz > 0)
    amped_mttkrp_cpu(&ctx->copies[mode], plan->index_type, plan->value_type, ninputs, inputs,
                     plan->ld, ctx->threads, ctx->fixup, ctx->output);
  times->copy_sec = 0.0;
  times->compute_sec = amped_time() - began;
  return AMPED_OK;
}

static amped_status cpu_get_output(amped_context *ctx, int mode, uint64_t row, uint64_t count,
                                   double *rows) {
  (void)mode;
  rows_to_double(ctx->plan, ctx->output, row, count, rows);
  return AMPED_OK;
}

/* The rows of this rank's block that thread t of the team works on: whole multiples of DENSE_ROWS. */
static void rows_of_thread(const amped_context *ctx, int mode, int t, uint64_t *first,
                           uint64_t *end) {
  uint64_t rows = ctx->plan->modes[mode].block_rows;
  uint64_t pieces = amped_ceil_div(rows, DENSE_ROWS);
  uint64_t team = (uint64_t)ctx->threads;
  *first = pieces * (uint64_t)t / team * DENSE_ROWS;
  *end = pieces * (uint64_t)(t + 1) / team * DENSE_ROWS;
  if (*end > rows)
    *end = rows;
}

static uint64_t own_position(const amped_plan *plan, int mode) {
  return (uint64_t)plan->rank * plan->modes[mode].block_rows;
}

static amped_status cpu_solve(amped_context *ctx, int mode, const double *p) {
  const amped_plan *plan = ctx->plan;
  int n = plan->ncomps;
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
  for (int t = 0; t < ctx->threads; t++) {
    double *in = ctx->dense + (uint64_t)t * ctx->dense_elements;
    double *out = in + (uint64_t)DENSE_ROWS * (uint64_t)n;
    uint64_t first = 0;
    uint64_t end = 0;
    rows_of_thread(ctx, mode, t, &first, &end);
    for (uint64_t i = first; i < end; i += DENSE_ROWS) {
      uint64_t count = end - i < DENSE_ROWS ? end - i : DENSE_ROWS;
      rows_to_double(plan, ctx->output, i, count, in);
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, n, n, 1.0, in, n, p, n,
                  0.0, out, n);
      rows_from_double(plan, ctx->factors[mode], own_position(plan, mode) + i, count, out);
    }
  }
  return AMPED_OK;
}

static amped_status cpu_gram(amped_context *ctx, int mode, double *gram) {
  const amped_plan *plan = ctx->plan;
  uint64_t n = (uint64_t)plan->ncomps;
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
  for (int t = 0; t < ctx->threads; t++) {
    double *rows = ctx->dense + (uint64_t)t * ctx->dense_elements;
    double *sum = rows + 2 * DENSE_ROWS * n;
    uint64_t first = 0;
    uint64_t end = 0;
    memset(sum, 0, n * n * sizeof *sum);
    rows_of_thread(ctx, mode, t, &first, &end);
    for (uint64_t i = first; i < end; i += DENSE_ROWS) {
      uint64_t count = end - i < DENSE_ROWS ? end - i : DENSE_ROWS;
      rows_to_double(plan, ctx->factors[mode], own_position(plan, mode) + i, count, rows);
      cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, plan->ncomps, (int)count, 1.0, rows,
                  plan->ncomps, 1.0, sum, plan->ncomps);
    }
  }
  memset(gram, 0, n * n * sizeof *gram);
  for (int t = 0; t < ctx->threads; t++) {
    const double *sum = ctx->dense + (uint64_t)t * ctx->dense_elements + 2 * DENSE_ROWS * n;
    for (uint64_t i = 0; i < n; i++)
      for (uint64_t k = 0; k <= i; k++)
        gram[i * n + k] += sum[i * n + k];
  }
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t k = 0; k < i; k++)
      gram[k * n + i] = gram[i * n + k];
  return AMPED_OK;
}

static amped_status cpu_inner(amped_context *ctx, int mode, double *inner) {
  const amped_plan *plan = ctx->plan;
  uint64_t n = (uint64_t)plan->ncomps;
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
  for (int t = 0; t < ctx->threads; t++) {
    double sum = 0.0;
    uint64_t first = 0;
    uint64_t end = 0;
    rows_of_thread(ctx, mode, t, &first, &end);
    for (uint64_t i = first; i < end; i++)
      for (uint64_t c = 0; c < n; c++)
        sum += amped_value_get(ctx->output, plan->value_type, i * plan->ld + c) *
               amped_value_get(ctx->factors[mode], plan->value_type,
                               (own_position(plan, mode) + i) * plan->ld + c);
    ctx->dense[(uint64_t)t * ctx->dense_elements] = sum;
  }
  *inner = 0.0;
  for (int t = 0; t < ctx->threads; t++)
    *inner += ctx->dense[(uint64_t)t * ctx->dense_elements];
  return AMPED_OK;
}

static amped_status cpu_scale(amped_context *ctx, int mode, const double *scale) {
  const amped_plan *plan = ctx->plan;
  uint64_t rows = plan->modes[mode].block_rows;
  uint64_t begin = own_position(plan, mode);
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t c = 0; c < (uint64_t)plan->ncomps; c++) {
      uint64_t at = (begin + i) * plan->ld + c;
      amped_value_put(ctx->factors[mode], plan->value_type, at,
                      amped_value_get(ctx->factors[mode], plan->value_type, at) * scale[c]);
    }
  return AMPED_OK;
}

static void *cpu_factor(amped_context *ctx, int mode) {
  return ctx->factors[mode];
}

static amped_status cpu_host_alloc(amped_context *ctx, uint64_t bytes, void **out) {
  (void)ctx;
  return amped_alloc(out, bytes, 1, "a transfer buffer");
}

static void cpu_host_free(amped_context *ctx, void *block) {
  (void)ctx;
  amped_free(block);
}

const amped_backend amped_backend_cpu = {
    .name = "cpu",
    .device_pointers = false,
    .available = cpu_available,
    .before_mpi = cpu_before_mpi,
    .open = cpu_open,
    .describe = cpu_describe,
    .identity = cpu_identity,
    .memory = cpu_memory,
    .require = cpu_require,
    .prepare = cpu_prepare,
    .close = cpu_close,
    .upload = cpu_upload,
    .loaded = cpu_loaded,
    .put_rows = cpu_put_rows,
    .get_rows = cpu_get_rows,
    .mttkrp = cpu_mttkrp,
    .get_output = cpu_get_output,
    .solve = cpu_solve,
    .gram = cpu_gram,
    .inner = cpu_inner,
    .scale = cpu_scale,
    .factor = cpu_factor,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
};
