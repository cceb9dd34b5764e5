/* History of factors: earlier factors in host memory. Twin of cuda/factor/factor_history_cuda.cu.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cpu/device/device_cpu.h"
#include "base/buffers.h"

struct amped_factor_history {
  const amped_plan *plan;
  amped_factor_set *factors;
  int threads;
  void *rows[AMPED_MAX_ORDER];
  double *sums; /* [threads][ncomps] */
};

static amped_buffers buffers(amped_factor_history *history, const amped_plan *plan, int threads) {
  amped_buffers b = {.what = "the previous factors", .threads = threads};
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER_OF(&b, SPREAD, history->rows[m], amped_plan_factor_rows(plan, m),
                    amped_plan_row_bytes(plan));
  AMPED_BUFFER(&b, HOST, history->sums, (uint64_t)threads * (uint64_t)plan->ncomps);
  return b;
}

static void history_require(const amped_device *device, const amped_plan *plan,
                            uint64_t *device_bytes, uint64_t *host_bytes) {
  amped_buffers_require(buffers(&(amped_factor_history){0}, plan, device->threads), device_bytes,
                        host_bytes);
}

static void history_destroy(amped_factor_history *history) {
  if (history == NULL)
    return;
  amped_buffers_free(buffers(history, history->plan, 0));
  amped_free(history);
}

static amped_status history_create(amped_device *device, amped_factor_set *factors,
                                   const amped_plan *plan, amped_factor_history **out) {
  amped_factor_history *history = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&history, 1, sizeof *history, "the previous factors"));
  history->plan = plan;
  history->factors = factors;
  history->threads = device->threads;
  const amped_status status = amped_buffers_allocate(buffers(history, plan, device->threads));
  if (status == AMPED_OK)
    *out = history;
  else
    history_destroy(history);
  return status;
}

static double term(double by, double x) {
  return by != 0.0 ? by * x : 0.0;
}

static amped_status history_step(amped_factor_history *history, int mode, const double *now,
                                 const double *then, bool nonnegative) {
  const amped_plan *plan = history->plan;
  const amped_vtype type = plan->value_type;
  const uint64_t n = (uint64_t)plan->ncomps;
  void *const factor = amped_factor_set_cpu.rows(history->factors, mode);
  void *const before = history->rows[mode];
  const double least = nonnegative ? 0.0 : -INFINITY;
#pragma omp parallel for schedule(static) num_threads(history->threads)
  for (uint64_t i = 0; i < amped_plan_factor_rows(plan, mode); i++)
    for (uint64_t c = 0; c < n; c++) {
      const uint64_t at = amped_factor_set_cpu_at(history->factors, i) + c;
      const uint64_t kept = i * plan->ld + c;
      const double x = amped_value_get(factor, type, at);
      const double b = amped_value_get(before, type, kept);
      const double y = term(now[c], x) + term(then[c], b);
      amped_value_put(factor, type, at, y < least ? least : y);
      amped_value_put(before, type, kept, x);
    }
  return AMPED_OK;
}

static amped_status history_power(amped_factor_history *history, int mode, const double *ratio,
                                  double by) {
  const amped_plan *plan = history->plan;
  const amped_vtype type = plan->value_type;
  const uint64_t n = (uint64_t)plan->ncomps;
  void *const factor = amped_factor_set_cpu.rows(history->factors, mode);
  void *const before = history->rows[mode];
#pragma omp parallel for schedule(static) num_threads(history->threads)
  for (uint64_t i = 0; i < amped_plan_factor_rows(plan, mode); i++)
    for (uint64_t c = 0; c < n; c++) {
      const uint64_t at = amped_factor_set_cpu_at(history->factors, i) + c;
      const uint64_t kept = i * plan->ld + c;
      const double x = amped_value_get(factor, type, at);
      const double b = amped_value_get(before, type, kept);
      amped_value_put(factor, type, at, amped_powered(x, b, ratio[c], by));
      amped_value_put(before, type, kept, x);
    }
  return AMPED_OK;
}

static void add_squares(const amped_factor_history *history, int mode, uint64_t row,
                        const double *now, const double *then, double *sums) {
  const amped_plan *plan = history->plan;
  const void *const factor = amped_factor_set_cpu_rows(history->factors, mode);
  for (uint64_t c = 0; c < (uint64_t)plan->ncomps; c++) {
    const uint64_t at = amped_factor_set_cpu_at(history->factors, row) + c;
    const uint64_t kept = row * plan->ld + c;
    const double d = term(now[c], amped_value_get(factor, plan->value_type, at)) -
                     term(then[c], amped_value_get(history->rows[mode], plan->value_type, kept));
    sums[c] += d * d;
  }
}

static amped_status history_distance(amped_factor_history *history, int mode, const double *now,
                                     const double *then, double *squares) {
  const amped_plan *plan = history->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t rows = plan->modes[mode].rows.rank_rows[plan->rank];
  const uint64_t first = (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
  const uint64_t team = (uint64_t)history->threads;
#pragma omp parallel for schedule(static) num_threads(history->threads)
  for (uint64_t t = 0; t < team; t++) {
    double *const sums = history->sums + t * n;
    memset(sums, 0, n * sizeof *sums);
    for (uint64_t i = rows * t / team; i < rows * (t + 1) / team; i++)
      add_squares(history, mode, first + i, now, then, sums);
  }
  for (uint64_t t = 0; t < team; t++)
    for (uint64_t c = 0; c < n; c++)
      squares[c] += history->sums[t * n + c];
  return AMPED_OK;
}

const amped_factor_history_ops amped_factor_history_cpu = {
    .require = history_require,
    .create = history_create,
    .destroy = history_destroy,
    .step = history_step,
    .power = history_power,
    .distance = history_distance,
};
