#include <cblas.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/blas.h"
#include "base/system_memory.h"
#include "cpu/bandwidth_cpu.h"
#include "cpu/huge_pages.h"
#include "cpu/mttkrp_cpu.h"
#include "cpu/coo_buffer_cpu.h"
#include "cpu/cpu_dispatch.h"
#include "cpu/synthetic_cpu.h"
#include "base/timer.h"
#include "base/trace.h"

/* Rows that a thread turns to double and multiplies at a time. */
#define DENSE_ROWS 256

struct amped_backend_context {
  const amped_plan *plan;
  int threads;
  char description[128];
  amped_cpu_copy copies[AMPED_MAX_ORDER];
  amped_coo_buffer_cpu coo_buffer; /* of the copy that is collected */
  double *dictionary;              /* plan->dictionary, rounded to plan->value_type */
  void *codebook;                  /* the same in plan->value_type */
  void *factors[AMPED_MAX_ORDER];
  void *output;
  double *fixup;
  double *dense; /* workspace of dense operations, dense_elements a thread */
  uint64_t dense_elements;
  double mttkrp_sec; /* of the last one */
};

static bool cpu_available(const char **reason) {
  (void)reason;
  return true;
}

static void cpu_before_mpi(int local_rank) {
  (void)local_rank;
}

static amped_status cpu_open(const amped_backend_options *options, amped_backend_context **out) {
  amped_backend_context *ctx = NULL;
  *out = NULL;
  if (options->kernel != AMPED_KERNEL_SORTED)
    return amped_error(AMPED_USAGE, NULL,
                       "--kernel=published runs on GPUs only; leave it out or use --backend=cuda");
  if (options->residency == AMPED_RESIDENCY_STREAM || options->device_memory != 0 ||
      options->tile_bytes != 0)
    return amped_error(
        AMPED_USAGE, NULL,
        "--residency=stream, --device-memory and --tiles are for GPUs; leave them out or use "
        "--backend=cuda");
  AMPED_TRY(amped_calloc(&ctx, 1, sizeof *ctx, "the CPU context"));
  ctx->threads = options->threads;
  amped_blas_one_thread();
  (void)snprintf(ctx->description, sizeof ctx->description, "CPU, %d thread%s", ctx->threads,
                 ctx->threads == 1 ? "" : "s");
  *out = ctx;
  return AMPED_OK;
}

static const char *cpu_describe(const amped_backend_context *ctx) {
  return ctx->description;
}

static const char *cpu_identity(const amped_backend_context *ctx) {
  (void)ctx;
  return "";
}

static uint64_t cpu_memory(const amped_backend_context *ctx) {
  (void)ctx;
  return amped_mem_available();
}

static uint64_t most_strips(const amped_plan *plan) {
  uint64_t strips = 1;
  for (int m = 0; m < plan->order; m++) {
    uint64_t n = amped_cpu_strips(&plan->modes[m].packing, plan->modes[m].rank_nnz[plan->rank]);
    strips = n > strips ? n : strips;
  }
  return strips;
}

/* Doubles of dense workspace a thread: rows in, rows out, a gram. */
static uint64_t dense_elements(const amped_plan *plan) {
  uint64_t n = (uint64_t)plan->ncomps;
  return 2 * DENSE_ROWS * n + n * n;
}

static amped_status cpu_require(const amped_backend_context *ctx, const amped_plan *plan,
                                amped_requirement *out) {
  memset(out, 0, sizeof *out);
  out->host_bytes = amped_plan_factor_bytes(plan) + most_strips(plan) * plan->ld * sizeof(double) +
                    (uint64_t)ctx->threads * dense_elements(plan) * sizeof(double) +
                    plan->dictionary->count * (sizeof(double) + plan->value_type);
  for (int m = 0; m < plan->order; m++) {
    out->copy_bytes[m] = amped_plan_copy_bytes(plan, m);
    out->host_bytes += out->copy_bytes[m];
  }
  return AMPED_OK;
}

static amped_status prepare_dictionary(amped_backend_context *ctx) {
  const amped_dictionary *d = ctx->plan->dictionary;
  amped_vtype type = ctx->plan->value_type;
  static const char what[] = "the dictionary of values";
  AMPED_TRY(amped_alloc(&ctx->dictionary, d->count, sizeof *ctx->dictionary, what));
  AMPED_TRY(amped_alloc(&ctx->codebook, d->count, type, what));
  for (uint64_t i = 0; i < d->count; i++) {
    amped_value_put(ctx->codebook, type, i, d->values[i]);
    ctx->dictionary[i] = amped_value_get(ctx->codebook, type, i);
  }
  return AMPED_OK;
}

static amped_status cpu_prepare(amped_backend_context *ctx, const amped_plan *plan) {
  uint64_t row_bytes = plan->ld * plan->value_type;
  ctx->plan = plan;
  ctx->dense_elements = dense_elements(plan);
  AMPED_TRY(prepare_dictionary(ctx));
  for (int m = 0; m < plan->order; m++) {
    AMPED_TRY(amped_cpu_copy_create(&ctx->copies[m], plan, m));
    AMPED_TRY(amped_huge_pages_calloc(&ctx->factors[m], amped_plan_factor_rows(plan, m), row_bytes,
                                      ctx->threads, "a factor"));
  }
  AMPED_TRY(amped_huge_pages_calloc(&ctx->output, amped_plan_output_rows(plan), row_bytes,
                                    ctx->threads, "the MTTKRP result"));
  AMPED_TRY(
      amped_alloc(&ctx->fixup, most_strips(plan) * plan->ld, sizeof(double), "the fix-up buffer"));
  return amped_alloc(&ctx->dense, (uint64_t)ctx->threads * ctx->dense_elements, sizeof(double),
                     "a dense workspace");
}

static void cpu_close(amped_backend_context *ctx) {
  if (ctx == NULL)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_cpu_copy_free(&ctx->copies[m]);
    amped_huge_pages_free(ctx->factors[m]);
  }
  amped_coo_buffer_cpu_free(&ctx->coo_buffer);
  amped_free(ctx->dictionary);
  amped_free(ctx->codebook);
  amped_huge_pages_free(ctx->output);
  amped_free(ctx->fixup);
  amped_free(ctx->dense);
  amped_free(ctx);
}

/* A reader may have some of the threads (slab.h). */
static amped_status cpu_upload(amped_backend_context *ctx, int mode, uint64_t offset,
                               const amped_batch *strip) {
  int threads = omp_get_max_threads();
  return amped_cpu_copy_add(&ctx->copies[mode], ctx->plan, mode, ctx->dictionary, offset, strip,
                            threads < ctx->threads ? threads : ctx->threads);
}

static amped_status cpu_collect(amped_backend_context *ctx, int mode,
                                const amped_nonzeros *nonzeros) {
  return amped_coo_buffer_cpu_add(&ctx->coo_buffer, ctx->plan, mode, nonzeros);
}

static amped_status cpu_order(amped_backend_context *ctx, int mode, uint64_t *repeats) {
  return amped_coo_buffer_cpu_sort(&ctx->coo_buffer, ctx->plan, mode, cpu_upload, ctx, repeats);
}

static amped_status cpu_require_collect(const amped_backend_context *ctx, const amped_plan *plan,
                                        uint64_t *device_bytes, uint64_t *host_bytes) {
  (void)ctx;
  *device_bytes = 0;
  *host_bytes = amped_coo_buffer_cpu_bytes(plan);
  return AMPED_OK;
}

static amped_status cpu_loaded(amped_backend_context *ctx, int mode) {
  (void)ctx;
  (void)mode;
  return AMPED_OK;
}

/* Workspaces keep the size of more components. */
static amped_status cpu_resize(amped_backend_context *ctx) {
  const amped_plan *plan = ctx->plan;
  for (int m = 0; m < plan->order; m++)
    memset(ctx->factors[m], 0, amped_plan_factor_rows(plan, m) * plan->ld * plan->value_type);
  return AMPED_OK;
}

/* Rows of a padded matrix to and from count x ncomps doubles. */
static void rows_to_double(const amped_plan *plan, const void *from, uint64_t first, uint64_t count,
                           double *rows) {
  uint64_t n = (uint64_t)plan->ncomps;
  for (uint64_t i = 0; i < count; i++) {
    double *to = rows + i * n;
    uint64_t at = (first + i) * plan->ld;
    if (plan->value_type == AMPED_F64)
      memcpy(to, (const double *)from + at, n * sizeof *to);
    else
      for (uint64_t c = 0; c < n; c++)
        to[c] = (double)((const float *)from)[at + c];
  }
}

static void rows_from_double(const amped_plan *plan, void *to, uint64_t first, uint64_t count,
                             const double *rows) {
  uint64_t n = (uint64_t)plan->ncomps;
  for (uint64_t i = 0; i < count; i++) {
    const double *from = rows + i * n;
    uint64_t at = (first + i) * plan->ld;
    if (plan->value_type == AMPED_F64)
      memcpy((double *)to + at, from, n * sizeof *from);
    else
      for (uint64_t c = 0; c < n; c++)
        ((float *)to)[at + c] = (float)from[c];
  }
}

static amped_status cpu_put_rows(amped_backend_context *ctx, int mode, uint64_t position,
                                 uint64_t count, const double *rows) {
  rows_from_double(ctx->plan, ctx->factors[mode], position, count, rows);
  return AMPED_OK;
}

static amped_status cpu_get_rows(amped_backend_context *ctx, int mode, uint64_t position,
                                 uint64_t count, double *rows) {
  rows_to_double(ctx->plan, ctx->factors[mode], position, count, rows);
  return AMPED_OK;
}

static amped_status cpu_mttkrp_begin(amped_backend_context *ctx, int mode) {
  const amped_plan *plan = ctx->plan;
  amped_cpu_mttkrp m = {.copy = &ctx->copies[mode], .value_type = plan->value_type};
  double began = amped_time();
  int input = 0;
  for (int a = 0; a < plan->order; a++)
    if (a != mode) {
      uint64_t bytes = amped_plan_factor_rows(plan, a) * plan->ld * plan->value_type;
      m.fetch[input] = bytes > AMPED_CACHED_BYTES;
      m.factors[input++] = ctx->factors[a];
    }
  m.dictionary = ctx->codebook;
  m.rows = plan->modes[mode].output_rows;
  m.ld = plan->ld;
  m.fixup = ctx->fixup;
  m.out = ctx->output;
  amped_mttkrp_cpu(&m, ctx->threads);
  ctx->mttkrp_sec = amped_time() - began;
  amped_trace_span(AMPED_LANE_KERNELS, AMPED_PHASE_KERNEL, mode, began, began + ctx->mttkrp_sec);
  return AMPED_OK;
}

static amped_status cpu_mttkrp_wait(amped_backend_context *ctx, int mode, int part,
                                    amped_mttkrp_times *times) {
  (void)mode;
  (void)part;
  times->copy_sec = 0.0;
  times->compute_sec = ctx->mttkrp_sec;
  return AMPED_OK;
}

static amped_status cpu_get_output(amped_backend_context *ctx, int mode, uint64_t row,
                                   uint64_t count, double *rows) {
  (void)mode;
  rows_to_double(ctx->plan, ctx->output, row, count, rows);
  return AMPED_OK;
}

static amped_status cpu_put_output(amped_backend_context *ctx, int mode, uint64_t row,
                                   uint64_t count, const double *rows) {
  (void)mode;
  rows_from_double(ctx->plan, ctx->output, row, count, rows);
  return AMPED_OK;
}

/* Of so many rows those that thread t of the team works on: whole multiples of DENSE_ROWS. */
static void rows_of_thread(const amped_backend_context *ctx, uint64_t rows, int t, uint64_t *first,
                           uint64_t *end) {
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

static amped_status cpu_solve(amped_backend_context *ctx, int mode, uint64_t from, uint64_t to,
                              const double *p) {
  const amped_plan *plan = ctx->plan;
  int n = plan->ncomps;
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
  for (int t = 0; t < ctx->threads; t++) {
    double *in = ctx->dense + (uint64_t)t * ctx->dense_elements;
    double *out = in + (uint64_t)DENSE_ROWS * (uint64_t)n;
    uint64_t first = 0;
    uint64_t end = 0;
    rows_of_thread(ctx, to - from, t, &first, &end);
    for (uint64_t i = from + first; i < from + end; i += DENSE_ROWS) {
      uint64_t count = from + end - i < DENSE_ROWS ? from + end - i : DENSE_ROWS;
      rows_to_double(plan, ctx->output, i, count, in);
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, n, n, 1.0, in, n, p, n,
                  0.0, out, n);
      rows_from_double(plan, ctx->factors[mode], own_position(plan, mode) + i, count, out);
    }
  }
  return AMPED_OK;
}

static amped_status cpu_gram(amped_backend_context *ctx, int mode, double *gram) {
  const amped_plan *plan = ctx->plan;
  uint64_t n = (uint64_t)plan->ncomps;
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
  for (int t = 0; t < ctx->threads; t++) {
    double *rows = ctx->dense + (uint64_t)t * ctx->dense_elements;
    double *sum = rows + 2 * DENSE_ROWS * n;
    uint64_t first = 0;
    uint64_t end = 0;
    memset(sum, 0, n * n * sizeof *sum);
    rows_of_thread(ctx, plan->modes[mode].block_rows, t, &first, &end);
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

static amped_status cpu_inner(amped_backend_context *ctx, int mode, double *inner) {
  const amped_plan *plan = ctx->plan;
  uint64_t n = (uint64_t)plan->ncomps;
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
  for (int t = 0; t < ctx->threads; t++) {
    double *a = ctx->dense + (uint64_t)t * ctx->dense_elements;
    double *b = a + DENSE_ROWS * n;
    double sum = 0.0;
    uint64_t first = 0;
    uint64_t end = 0;
    rows_of_thread(ctx, plan->modes[mode].block_rows, t, &first, &end);
    for (uint64_t i = first; i < end; i += DENSE_ROWS) {
      uint64_t count = end - i < DENSE_ROWS ? end - i : DENSE_ROWS;
      rows_to_double(plan, ctx->output, i, count, a);
      rows_to_double(plan, ctx->factors[mode], own_position(plan, mode) + i, count, b);
      sum += cblas_ddot((int)(count * n), a, 1, b, 1);
    }
    a[0] = sum;
  }
  *inner = 0.0;
  for (int t = 0; t < ctx->threads; t++)
    *inner += ctx->dense[(uint64_t)t * ctx->dense_elements];
  return AMPED_OK;
}

static amped_status cpu_scale(amped_backend_context *ctx, int mode, uint64_t position, uint64_t all,
                              const double *scale) {
  const amped_plan *plan = ctx->plan;
  uint64_t n = (uint64_t)plan->ncomps;
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
  for (int t = 0; t < ctx->threads; t++) {
    double *rows = ctx->dense + (uint64_t)t * ctx->dense_elements;
    uint64_t first = 0;
    uint64_t end = 0;
    rows_of_thread(ctx, all, t, &first, &end);
    for (uint64_t i = first; i < end; i += DENSE_ROWS) {
      uint64_t count = end - i < DENSE_ROWS ? end - i : DENSE_ROWS;
      rows_to_double(plan, ctx->factors[mode], position + i, count, rows);
      for (uint64_t k = 0; k < count; k++)
        for (uint64_t c = 0; c < n; c++)
          rows[k * n + c] *= scale[c];
      rows_from_double(plan, ctx->factors[mode], position + i, count, rows);
    }
  }
  return AMPED_OK;
}

static void *cpu_factor(amped_backend_context *ctx, int mode) {
  return ctx->factors[mode];
}

static amped_status cpu_host_alloc(amped_backend_context *ctx, uint64_t bytes, void **out) {
  (void)ctx;
  return amped_alloc(out, bytes, 1, "a transfer buffer");
}

static void cpu_host_free(amped_backend_context *ctx, void *block) {
  (void)ctx;
  amped_free(block);
}

static amped_status cpu_count_synthetic(amped_backend_context *ctx, const amped_synthetic *t,
                                        int mode, uint64_t width, uint64_t first, uint64_t count,
                                        uint64_t *idp_nnz, double *sum_of_squares) {
  (void)ctx;
  return amped_synthetic_cpu_count(t, mode, width, first, count, idp_nnz, sum_of_squares);
}

static amped_status cpu_load_synthetic(amped_backend_context *ctx, const amped_synthetic *t,
                                       int mode) {
  return amped_synthetic_cpu_load(t, ctx->plan, mode, cpu_upload, ctx);
}

static amped_status cpu_gather_rate(amped_backend_context *ctx, uint64_t rows,
                                    double *rows_per_sec) {
  return amped_bandwidth_cpu(ctx->plan, rows, ctx->threads, rows_per_sec);
}

static amped_status cpu_read_rate(amped_backend_context *ctx, double *bytes_per_sec) {
  return amped_read_cpu(ctx->threads, bytes_per_sec);
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
    .resize = cpu_resize,
    .collect = cpu_collect,
    .order = cpu_order,
    .require_collect = cpu_require_collect,
    .put_rows = cpu_put_rows,
    .get_rows = cpu_get_rows,
    .mttkrp_begin = cpu_mttkrp_begin,
    .mttkrp_wait = cpu_mttkrp_wait,
    .get_output = cpu_get_output,
    .put_output = cpu_put_output,
    .solve = cpu_solve,
    .gram = cpu_gram,
    .inner = cpu_inner,
    .scale = cpu_scale,
    .factor = cpu_factor,
    .count_synthetic = cpu_count_synthetic,
    .load_synthetic = cpu_load_synthetic,
    .gather_rate = cpu_gather_rate,
    .read_rate = cpu_read_rate,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
};
