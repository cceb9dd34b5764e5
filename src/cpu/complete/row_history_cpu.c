/* History of a batch's rows on CPU cores: one count per row, the rest from the model
 * (backend/row_history.h). */
#include "cpu/complete/row_history_cpu.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/buffers.h"
#include "base/mem.h"

/* Maximum count of a row's numbers that are computed in double and then stored together. */
#define NUMBERS UINT64_C(256)

/* Rows that are summed by one matrix product. */
#define PIECE UINT64_C(256)

struct amped_row_history_cpu {
  int ncomps;                     /* components that there is memory for */
  double *count[AMPED_MAX_ORDER]; /* [own rows] n */
  void *before[AMPED_MAX_ORDER];  /* [own rows][ncomps] of the factors' type */
  double *buffer;                 /* workspace: [PIECE][width] d; [PIECE][2 width] n ~e, n d; ~a */
  void *history;                  /* result of recall: keep, at, equations */
};

static const char what[] = "the histories of a batch's rows";

static uint64_t own_rows(const amped_tensor_part *part, int mode) {
  return part->plan->modes[mode].rows.rank_rows[part->plan->rank];
}

/* Own row i of the factor, as it is now. */
static const char *row_now(const amped_tensor_part *part, int mode, uint64_t i) {
  const amped_plan *plan = part->plan;
  const uint64_t position = (uint64_t)plan->rank * plan->modes[mode].rows.block_rows + i;
  return (const char *)amped_factor_set_cpu_rows(part->factors, mode) +
         position * plan->ld * plan->value_type;
}

/* Copy rows to doubles, from row `first` on: current rows, or rows as they were before the
 * batch. */
static void get_now(const amped_tensor_part *part, int mode, uint64_t first, uint64_t count,
                    double *to) {
  const uint64_t n = (uint64_t)part->plan->ncomps;
  for (uint64_t i = 0; i < count; i++)
    amped_values_get(row_now(part, mode, first + i), part->plan->value_type, 0, n, to + i * n);
}

static void get_before(const amped_tensor_part *part, int mode, uint64_t first, uint64_t count,
                       double *to) {
  const uint64_t n = (uint64_t)part->plan->ncomps;
  amped_values_get(part->row_history->before[mode], part->plan->value_type, first * n, count * n,
                   to);
}

/* --- creation and destruction ----------------------------------------------------------------- */

static amped_buffers buffers(amped_row_history_cpu *history, const amped_plan *plan) {
  amped_buffers b = {.what = what};
  const uint64_t n = (uint64_t)plan->ncomps;
  AMPED_BUFFER(&b, HOST, history->buffer, 4 * PIECE * (n + 1));
  for (int m = 0; m < plan->order; m++) {
    const uint64_t rows = plan->modes[m].rows.rank_rows[plan->rank];
    AMPED_BUFFER(&b, HOST, history->count[m], rows);
    AMPED_BUFFER_OF(&b, HOST, history->before[m], rows, n * plan->value_type);
  }
  return b;
}

void amped_row_history_cpu_free(amped_row_history_cpu *history, const amped_plan *plan) {
  if (history == NULL)
    return;
  amped_buffers_free(buffers(history, plan));
  amped_free(history->history);
  amped_free(history);
}

static void history_require(const amped_plan *plan, uint64_t *device_bytes, uint64_t *host_bytes) {
  amped_buffers_require(buffers(&(amped_row_history_cpu){0}, plan), device_bytes, host_bytes);
}

/* Allocate the history of all modes, once for a number of components. */
static amped_status make_room(amped_tensor_part *part) {
  if (part->row_history != NULL && part->row_history->ncomps == part->plan->ncomps)
    return AMPED_OK;
  amped_row_history_cpu_free(part->row_history, part->plan);
  part->row_history = NULL;
  AMPED_TRY(amped_blas_check_room());
  AMPED_TRY(amped_calloc(&part->row_history, 1, sizeof *part->row_history, what));
  part->row_history->ncomps = part->plan->ncomps;
  const amped_status status = amped_buffers_allocate(buffers(part->row_history, part->plan));
  if (status != AMPED_OK) {
    amped_row_history_cpu_free(part->row_history, part->plan);
    part->row_history = NULL;
  }
  return status;
}

static amped_status history_begin(amped_tensor_part *part, int mode,
                                  const amped_row_history *counts) {
  AMPED_TRY(make_room(part));
  const uint64_t row_bytes = (uint64_t)part->plan->ncomps * part->plan->value_type;
  double *n = part->row_history->count[mode];
  char *before = part->row_history->before[mode];
  for (uint64_t i = 0; i < own_rows(part, mode); i++) {
    n[i] = counts->keep[i] > 0.0
               ? counts->keep[i] *
                     amped_value_get(counts->equations, part->plan->value_type, counts->at[i])
               : 0.0;
    memcpy(before + i * row_bytes, row_now(part, mode, i), row_bytes);
  }
  return AMPED_OK;
}

/* --- equations -------------------------------------------------------------------------------- */

/* Store n * numbers[0 .. count) as numbers `at` .. of a row's equations. Returns at + count. */
static uint64_t put_times(void *equations, amped_vtype type, uint64_t at, double n, uint64_t count,
                          const double *numbers) {
  double products[NUMBERS];
  for (uint64_t first = 0; first < count; first += NUMBERS) {
    const uint64_t some = count - first < NUMBERS ? count - first : NUMBERS;
    for (uint64_t i = 0; i < some; i++)
      products[i] = n * numbers[first + i];
    amped_values_put(equations, type, at + first, some, products);
  }
  return at + count;
}

/* Store the equations of own row i, whose count is n, from number `at` on. If biased, the last row
 * of r->left gives h and n. */
static void put_row(const amped_tensor_part *part, int mode, const amped_row_recipe *r, double n,
                    uint64_t i, void *equations, uint64_t at) {
  const uint64_t ncomps = (uint64_t)part->plan->ncomps;
  const amped_vtype type = part->plan->value_type;
  double before[AMPED_MAX_NCOMPS + 1];
  const double one = 1.0;
  const double zero = 0.0;
  const uint64_t components = ncomps - (r->biased ? 1 : 0);
  const double pull = r->reg * pow(n, r->reg_power);
  get_before(part, mode, i, 1, before);
  at = put_times(equations, type, at, n, ncomps * (ncomps + 1) / 2, r->left);
  if (!r->biased)
    at = put_times(equations, type, at, n, 1, &one);
  for (uint64_t k = 0; k < ncomps; k++) {
    const double *right = r->right + k * (ncomps + 1);
    double sum = right[ncomps];
    for (uint64_t c = 0; c < ncomps; c++)
      sum += right[c] * before[c];
    sum = n * sum + (k < components ? pull * (before[k] - r->prior) : r->reg_bias * before[k]);
    amped_values_put(equations, type, at++, 1, &sum);
  }
  (void)put_times(equations, type, at, n, 1, &zero);
}

/* Allocate history for the largest mode, once: keep, at, equations. *most = its number of own
 * rows. */
static amped_status make_history(const amped_tensor_part *part, uint64_t length, uint64_t *most) {
  *most = 0;
  for (int m = 0; m < part->plan->order; m++)
    *most = own_rows(part, m) > *most ? own_rows(part, m) : *most;
  return part->row_history->history != NULL
             ? AMPED_OK
             : amped_alloc(&part->row_history->history, *most,
                           sizeof(double) + sizeof(uint64_t) + length * part->plan->value_type,
                           what);
}

static amped_status history_recall(amped_tensor_part *part, int mode,
                                   const amped_row_recipe *recipe, amped_row_history *out) {
  const amped_plan *plan = part->plan;
  const uint64_t length =
      amped_equation_length(plan->ncomps - (recipe->biased ? 1 : 0), recipe->biased);
  const double *n = part->row_history->count[mode];
  uint64_t most = 0;
  AMPED_TRY(make_history(part, length, &most));
  double *keep = part->row_history->history;
  uint64_t *at = (uint64_t *)(void *)(keep + most);
  *out = (amped_row_history){at + most, at, keep};
#pragma omp parallel for schedule(static) num_threads(part->threads)
  for (uint64_t i = 0; i < own_rows(part, mode); i++) {
    keep[i] = n[i] > 0.0 ? 1.0 : 0.0;
    at[i] = i;
    if (n[i] > 0.0)
      put_row(part, mode, recipe, n[i], i, out->equations, i * length);
  }
  return AMPED_OK;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* out += a^T b. Both matrices have `count` rows. */
static void add_products(uint64_t count, uint64_t a_width, const double *a, uint64_t b_width,
                         const double *b, double *out) {
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)a_width, (int)b_width, (int)count, 1.0,
              a, (int)a_width, b, (int)b_width, 1.0, out, (int)b_width);
}

/* Compute d, and n ~e next to n d, for `count` rows from row `first` on. `before` is a workspace
 * for these rows. */
static void find_change(const amped_tensor_part *part, int mode, uint64_t first, uint64_t count,
                        double *d, double *scaled, double *before) {
  const uint64_t n = (uint64_t)part->plan->ncomps;
  const uint64_t width = n + 1;
  get_now(part, mode, first, count, scaled);
  get_before(part, mode, first, count, before);
  for (uint64_t i = 0; i < count; i++) {
    for (uint64_t c = 0; c < n; c++)
      d[i * width + c] = scaled[i * n + c] - before[i * n + c];
    d[i * width + n] = 0.0;
  }
  for (uint64_t i = 0; i < count; i++) {
    const double weight = part->row_history->count[mode][first + i];
    for (uint64_t c = 0; c < width; c++) {
      scaled[i * 2 * width + c] = weight * (c < n ? before[i * n + c] : 1.0);
      scaled[i * 2 * width + width + c] = weight * d[i * width + c];
    }
  }
}

static amped_status history_change(amped_tensor_part *part, int mode, double *out) {
  const uint64_t width = (uint64_t)part->plan->ncomps + 1;
  const uint64_t rows = own_rows(part, mode);
  double *d = part->row_history->buffer;
  double *scaled = d + PIECE * width;
  memset(out, 0, 2 * width * width * sizeof *out);
  for (uint64_t first = 0; first < rows; first += PIECE) {
    const uint64_t count = rows - first < PIECE ? rows - first : PIECE;
    find_change(part, mode, first, count, d, scaled, scaled + PIECE * 2 * width);
    add_products(count, width, d, 2 * width, scaled, out);
  }
  return AMPED_OK;
}

/* Set the stored count of row i to n + more. Returns the increase after rounding. */
static double grow_row(const amped_tensor_part *part, int mode, const amped_row_history *counts,
                       uint64_t i, double more) {
  const double n = part->row_history->count[mode][i];
  const amped_vtype type = part->plan->value_type;
  if (!(more > 0.0))
    return 0.0;
  amped_value_put(counts->equations, type, counts->at[i], n + more);
  return amped_value_get(counts->equations, type, counts->at[i]) - n;
}

static amped_status history_grow(amped_tensor_part *part, int mode, const amped_row_history *counts,
                                 const double *more, double *out) {
  const uint64_t n = (uint64_t)part->plan->ncomps;
  const uint64_t width = n + 1;
  const uint64_t rows = own_rows(part, mode);
  double *e = part->row_history->buffer;
  double *scaled = e + PIECE * width;
  memset(out, 0, width * width * sizeof *out);
  for (uint64_t first = 0; first < rows; first += PIECE) {
    const uint64_t count = rows - first < PIECE ? rows - first : PIECE;
    get_now(part, mode, first, count, scaled);
    for (uint64_t i = 0; i < count; i++) {
      memcpy(e + i * width, scaled + i * n, n * sizeof *e);
      e[i * width + n] = 1.0;
    }
    for (uint64_t i = 0; i < count; i++) {
      const double weight = grow_row(part, mode, counts, first + i, more[first + i]);
      for (uint64_t c = 0; c < width; c++)
        scaled[i * width + c] = weight * e[i * width + c];
    }
    add_products(count, width, e, width, scaled, out);
  }
  return AMPED_OK;
}

const amped_row_history_ops amped_row_history_cpu_ops = {.require = history_require,
                                                         .begin = history_begin,
                                                         .recall = history_recall,
                                                         .change = history_change,
                                                         .grow = history_grow};
