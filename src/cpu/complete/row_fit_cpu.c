/* Row fits on CPU cores: assemble and solve the equations of rows (contract: backend/row_fit.h). */
#include "cpu/complete/row_fit_cpu.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "base/buffers.h"
#include "cpu/complete/row_equations_cpu.h"
#include "cpu/complete/row_solve_cpu.h"

/* Rows of summed equations that are solved in one parallel loop. */
#define PUT_ROWS 64

/* One unit's part of a sum over nonzeros or rows. */
typedef union unit_sums {
  amped_row_fit_sums rows;
  amped_moments moments;
  amped_errors errors;
} unit_sums;

/* --- rows of a copy ----------------------------------------------------------------------------*/

uint64_t amped_row_fit_cpu_units(const amped_plan *plan, int mode) {
  return amped_ceil_div(plan->modes[mode].copy.rank_nnz[plan->rank], AMPED_ROW_UNIT);
}

uint64_t amped_cpu_copy_next_row(const amped_cpu_copy *copy, uint64_t k) {
  return amped_packing_next_row(copy->row_bits, copy->nnz, k);
}

static uint64_t row_of(const amped_cpu_copy *copy, uint64_t entry) {
  return amped_cpu_copy_index(copy, copy->row_list, entry);
}

/* --- memory ------------------------------------------------------------------------------------*/

static uint64_t most_units(const amped_plan *plan) {
  uint64_t units = 1;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t n = amped_row_fit_cpu_units(plan, m);
    units = n > units ? n : units;
  }
  return units;
}

static amped_buffers buffers(amped_row_fit_cpu *f, const amped_plan *plan, bool weighted,
                             int threads) {
  amped_buffers b = {.what = "row fits"};
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t workspaces = (uint64_t)threads + 1;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t nnz = plan->modes[m].copy.rank_nnz[plan->rank];
    AMPED_BUFFER(&b, ZEROED, f->held[m], amped_row_fit_cpu_held_words(nnz));
    AMPED_BUFFER(&b, HOST, f->long_rows[m], nnz / AMPED_ROW_PIECE);
    AMPED_BUFFER_OF(&b, HOST, f->weights[m], weighted ? nnz : 0, plan->value_type);
  }
  AMPED_BUFFER_OF(&b, HOST, f->unit_sums, most_units(plan), sizeof(unit_sums));
  AMPED_BUFFER(&b, HOST, f->workspaces, workspaces);
  AMPED_BUFFER(&b, HOST, f->empty, n + 1);
  AMPED_BUFFER_OF(&b, LARGE, f->work, workspaces,
                  amped_row_workspace_elements(n) * sizeof *f->work);
  return b;
}

static void fit_require(const amped_device *device, const amped_plan *plan, bool weighted,
                        uint64_t *device_bytes, uint64_t *host_bytes) {
  *device_bytes = 0;
  *host_bytes = amped_row_fit_cpu_hold_out_bytes(plan);
  amped_buffers_require(buffers(&(amped_row_fit_cpu){0}, plan, weighted, device->threads),
                        device_bytes, host_bytes);
}

void amped_row_fit_cpu_free(amped_row_fit_cpu *f, const amped_plan *plan) {
  if (f == NULL)
    return;
  amped_buffers_free(buffers(f, plan, false, 0));
  amped_free(f->indices);
  amped_free(f);
}

/* List the rows that are longer than a piece. */
static void find_long_rows(const amped_cpu_copy *copy, amped_long_row *out, uint64_t *count) {
  uint64_t entry = 0;
  for (uint64_t k = 0; k < copy->nnz; entry++) {
    const uint64_t end = amped_cpu_copy_next_row(copy, k + 1);
    if (end - k > AMPED_ROW_PIECE)
      out[(*count)++] = (amped_long_row){row_of(copy, entry), k, end};
    k = end;
  }
}

/* Set each weight of a copy to -1, which means "not yet set". */
static void clear_weights(const amped_cpu_copy *copy, int threads, void *weights) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (uint64_t k = 0; k < copy->nnz; k++)
    amped_value_put(weights, copy->value_type, k, -1.0);
}

static amped_status allocate(amped_tensor_part *part, bool weighted) {
  amped_row_fit_cpu *f = part->row_fit;
  AMPED_TRY(amped_buffers_allocate(buffers(f, part->plan, weighted, part->threads)));
  for (int m = 0; m < part->plan->order; m++) {
    const amped_cpu_copy *copy = &part->copies[m];
    find_long_rows(copy, f->long_rows[m], &f->long_count[m]);
    if (weighted)
      clear_weights(copy, part->threads, f->weights[m]);
  }
  return AMPED_OK;
}

static amped_status fit_prepare(amped_tensor_part *part, bool weighted) {
  AMPED_TRY(amped_calloc(&part->row_fit, 1, sizeof *part->row_fit, "row fits"));
  const amped_status status = allocate(part, weighted);
  if (status != AMPED_OK) {
    amped_row_fit_cpu_free(part->row_fit, part->plan);
    part->row_fit = NULL;
  }
  return status;
}

/* --- rows --------------------------------------------------------------------------------------*/

static void *place_of(const amped_row_job *j, uint64_t row) {
  return j->own + row * j->source.ld * j->m.value_type;
}

static uint64_t columns_of(const amped_row_job *j) {
  return j->source.components + (j->fit->biased ? 1 : 0);
}

/* Store d->row as a row of the block, and round d->row to the stored type. */
static void store_row(const amped_row_job *j, amped_row_workspace *d, uint64_t row) {
  void *place = place_of(j, row);
  for (uint64_t c = 0; c < columns_of(j); c++) {
    amped_value_put(place, j->m.value_type, c, d->row[c]);
    d->row[c] = amped_value_get(place, j->m.value_type, c);
  }
}

static void load_row(const amped_row_job *j, amped_row_workspace *d, uint64_t row) {
  d->row[j->source.components] = 0.0;
  for (uint64_t c = 0; c < columns_of(j); c++)
    d->row[c] = amped_value_get(place_of(j, row), j->m.value_type, c);
}

static void set_prior(const amped_row_job *j, const amped_row_workspace *d) {
  for (uint64_t c = 0; c < j->source.components; c++)
    d->row[c] = j->fit->prior[j->mode];
  d->row[j->source.components] = 0.0;
}

static amped_row_penalty penalty_of(const amped_row_job *j, double count) {
  return (amped_row_penalty){.components = j->source.components,
                             .biased = j->fit->biased,
                             .weight = j->fit->reg * j->fit->pull[j->mode] *
                                       pow(count, j->fit->reg_power),
                             .prior = j->fit->prior[j->mode],
                             .reg_bias = j->fit->reg_bias,
                             .base = j->fit->implicit > 0.0 ? j->fit->base : NULL};
}

/* True if the factors' type can hold the row. Sums of very large numbers overflow. */
static bool is_finite(const amped_row_job *j, const amped_row_workspace *d) {
  const double most = j->m.value_type == AMPED_F32 ? (double)FLT_MAX : DBL_MAX;
  bool finite = true;
  for (uint64_t c = 0; c <= j->source.components; c++)
    finite = finite && fabs(d->row[c]) <= most;
  return finite;
}

/* Penalty of a row. */
static double penalty_on(const amped_row_penalty *p, const double *row) {
  double sum = 0.0;
  for (uint64_t c = 0; c < p->components; c++)
    sum += p->weight * (row[c] - p->prior) * (row[c] - p->prior);
  if (p->biased)
    sum += p->reg_bias * row[p->components] * row[p->components];
  return sum;
}

/* Overstep the solution in d->row (row_fit.h). */
static void overstep_row(const amped_row_job *j, amped_row_workspace *d, uint64_t row) {
  for (uint64_t c = 0; c < columns_of(j) && j->fit->overstep > 0.0; c++)
    d->row[c] +=
        j->fit->overstep * (d->row[c] - amped_value_get(place_of(j, row), j->m.value_type, c));
}

/* Store d->row and add its penalty and count to sums; the caller adds its squares. A row that is
 * not finite becomes its prior. */
static void finish_row(const amped_row_job *j, amped_row_workspace *d, const amped_row_penalty *p,
                       uint64_t row, double count, bool unsure, amped_row_fit_sums *sums) {
  if (!unsure)
    overstep_row(j, d, row);
  if (!is_finite(j, d)) {
    set_prior(j, d);
    unsure = true;
  }
  store_row(j, d, row);
  amped_row_penalty told = *p;
  told.reg_bias = j->tells_biases ? p->reg_bias : 0.0;
  sums->penalty += penalty_on(&told, d->row);
  sums->count += count;
  sums->unsure += unsure;
}

/* Current time if the fit is timed, else 0. add_solve_time: add the seconds since `began` to the
 * time spent on solving. */
static double now_of(const amped_row_job *j) {
  return j->fit->timed ? amped_time() : 0.0;
}

static void add_solve_time(const amped_row_job *j, double began, amped_row_fit_sums *sums) {
  sums->solve_sec += now_of(j) - began;
}

/* --- history -----------------------------------------------------------------------------------*/

static void *history_of(const amped_row_job *j, uint64_t row) {
  const amped_row_history *h = j->fit->history;
  const uint64_t length = amped_equation_length((int)j->source.components, j->fit->biased);
  return (char *)h->equations + h->at[row] * length * j->m.value_type;
}

static bool has_history(const amped_row_job *j, uint64_t row) {
  return j->fit->history != NULL && j->out == NULL && j->fit->history->keep[row] > 0.0;
}

/* Add the row's history to the workspace's equations, which then are the ones to solve. */
static void add_history(const amped_row_job *j, amped_row_workspace *d, uint64_t row) {
  if (has_history(j, row))
    amped_row_equations_recall(history_of(j, row), j->m.value_type, j->fit->history->keep[row],
                               j->source.components, &d->equations);
}

/* Store the equations as the row's new history. */
static void absorb(const amped_row_job *j, const amped_row_workspace *d, uint64_t row,
                   amped_row_fit_sums *sums) {
  amped_row_equations_keep(&d->equations, j->source.components, j->m.value_type,
                           history_of(j, row));
  sums->count += d->equations.count;
}

/* --- one row -----------------------------------------------------------------------------------*/

/* Solve the workspace's equations for a row, and store it. first .. end: its nonzeros, to assemble
 * again in double if sums of floats are too inexact; empty if the equations come from elsewhere. */
static void solve_equations(const amped_row_job *j, amped_row_workspace *d, uint64_t row, bool wide,
                            uint64_t first, uint64_t end, amped_row_fit_sums *sums) {
  const amped_row_equations *e = &d->equations;
  const amped_row_penalty p = penalty_of(j, e->count);
  const double began = now_of(j);
  bool unsure = false;
  if (j->fit->nonnegative) {
    load_row(j, d, row);
    amped_row_solve_nonnegative(e, &p, d->solve, d->row);
  } else if (!amped_row_solve_primal(e, &p, d->solve, d->row)) {
    if (!wide && first < end) {
      add_solve_time(j, began, sums);
      amped_row_assemble(j, d, first, end, true);
      add_history(j, d, row);
      solve_equations(j, d, row, true, first, end, sums);
      return;
    }
    amped_row_solve_least(e, &p, d->solve, d->row);
    unsure = true;
  }
  finish_row(j, d, &p, row, e->count, unsure, sums);
  sums->squares += amped_row_squares(e, &p, d->row);
  add_solve_time(j, began, sums);
}

/* Solve a row with fewer nonzeros than components by its dual system; n is its weight. Returns
 * false if the matrix is singular. */
static bool solve_dual(const amped_row_job *j, amped_row_workspace *d, uint64_t row, uint64_t first,
                       uint64_t end, double n, amped_row_fit_sums *sums) {
  const uint64_t count = amped_row_collect(j, d, first, end);
  const amped_row_penalty p = penalty_of(j, n);
  const double *products = (const double *)(const void *)d->products;
  const amped_row_terms *t = &d->terms;
  const double began = now_of(j);
  if (!amped_row_solve_dual(products, t->targets, t->weights, count, j->source.width, &p, d->solve,
                            d->row))
    return false;
  finish_row(j, d, &p, row, n, !(p.weight > 0.0), sums);
  sums->squares +=
      amped_row_squares_of(products, t->targets, t->weights, count, j->source.width, &p, d->row);
  add_solve_time(j, began, sums);
  return true;
}

/* Find the values of a row without nonzeros, rounded to the factors' type, and its part of the
 * sums. The row is the prior; for implicit fits it is fitted to zeros and the penalty. */
static void find_empty(const amped_row_job *j) {
  amped_row_fit_cpu *f = j->part->row_fit;
  amped_row_workspace *d = &f->workspaces[j->part->threads];
  const amped_row_penalty p = penalty_of(j, 0.0);
  f->of_empty = (amped_row_fit_sums){0};
  set_prior(j, d);
  if (p.base != NULL) {
    amped_row_assemble(j, d, 0, 0, true);
    if (!(p.weight * p.prior != 0.0))
      memset(d->row, 0, p.components * sizeof *d->row);
    else if (j->fit->nonnegative)
      amped_row_solve_nonnegative(&d->equations, &p, d->solve, d->row);
    else if (!amped_row_solve_primal(&d->equations, &p, d->solve, d->row))
      amped_row_solve_least(&d->equations, &p, d->solve, d->row);
    if (!is_finite(j, d))
      set_prior(j, d);
  }
  for (uint64_t c = 0; c <= p.components; c++) {
    double stored = 0.0;
    amped_value_put(&stored, j->m.value_type, 0, d->row[c]);
    f->empty[c] = amped_value_get(&stored, j->m.value_type, 0);
  }
  if (p.base != NULL) {
    f->of_empty.penalty = penalty_on(&p, f->empty);
    f->of_empty.squares = amped_row_squares(&d->equations, &p, f->empty);
  }
}

static void store_empty(const amped_row_job *j, amped_row_workspace *d, uint64_t row,
                        amped_row_fit_sums *sums) {
  const amped_row_fit_cpu *f = j->part->row_fit;
  memcpy(d->row, f->empty, (j->source.components + 1) * sizeof *d->row);
  store_row(j, d, row);
  sums->penalty += f->of_empty.penalty;
  sums->squares += f->of_empty.squares;
}

static double *out_of(const amped_row_job *j, uint64_t row) {
  return j->out +
         (row - j->first) * amped_equation_length((int)j->source.components, j->fit->biased);
}

/* True if sums must be in double from the start. */
static bool is_wide(const amped_row_job *j) {
  return !(j->fit->reg >= AMPED_ROW_FIT_LEAST_REG);
}

/* Finish a row whose nonzeros all have weight 0. With a history it stays as it is. */
static void pass_row(const amped_row_job *j, amped_row_workspace *d, uint64_t row,
                     amped_row_fit_sums *sums) {
  if (j->fit->history == NULL)
    store_empty(j, d, row, sums);
}

/* Finish a row from its own equations in the workspace: add its history, then absorb or solve.
 * first .. end: see solve_equations. */
static void end_row(const amped_row_job *j, amped_row_workspace *d, uint64_t row, uint64_t first,
                    uint64_t end, amped_row_fit_sums *sums) {
  if (!(d->equations.count > 0.0)) {
    pass_row(j, d, row, sums);
    return;
  }
  add_history(j, d, row);
  if (j->fit->absorb)
    absorb(j, d, row, sums);
  else
    solve_equations(j, d, row, is_wide(j), first, end, sums);
}

/* Fit a row of the MTTKRP result to its nonzeros first .. end, or write its equations to j->out. */
static void work_row(const amped_row_job *j, amped_row_workspace *d, uint64_t row, uint64_t first,
                     uint64_t end, amped_row_fit_sums *sums) {
  const bool there = amped_row_renew(j, d, row, first, end, is_wide(j));
  if (j->out != NULL) {
    if (!there)
      amped_row_assemble(j, d, first, end, is_wide(j));
    amped_row_equations_pack(&d->equations, j->source.components, out_of(j, row));
    return;
  }
  if (there) {
    end_row(j, d, row, first, end, sums);
    return;
  }
  const uint64_t count = amped_row_count(j->part->row_fit, j->mode, first, end);
  const double n = amped_row_weight(j, first, end, count);
  const amped_row_penalty p = penalty_of(j, n);
  if (!(n > 0.0)) {
    pass_row(j, d, row, sums);
    return;
  }
  if (!j->fit->nonnegative && !j->fit->absorb && !has_history(j, row) &&
      amped_row_has_dual(&p, (double)count) && solve_dual(j, d, row, first, end, n, sums))
    return;
  amped_row_assemble(j, d, first, end, is_wide(j));
  end_row(j, d, row, first, end, sums);
}

static void work_long_row(const amped_row_job *j, const amped_long_row *row,
                          amped_row_fit_sums *sums) {
  amped_row_workspace *d = amped_row_assemble_long(j, row, is_wide(j));
  if (j->out != NULL) {
    amped_row_equations_pack(&d->equations, j->source.components, out_of(j, row->row));
  } else {
    end_row(j, d, row->row, row->first, row->end, sums);
  }
}

/* --- all rows ----------------------------------------------------------------------------------*/

/* Range of own rows that belong to split iDps; they are contiguous in the block (plan.h). */
static void split_range(const amped_plan *plan, int mode, uint64_t *first, uint64_t *end) {
  const amped_mode_plan *m = &plan->modes[mode];
  const uint64_t block = (uint64_t)plan->rank * m->rows.block_rows;
  *first = *end = 0;
  for (uint64_t s = 0; s < m->copy.split_count; s++) {
    const uint64_t idp = m->copy.splits[s].idp;
    if (m->rows.owner[idp] != plan->rank)
      continue;
    if (*first == *end)
      *first = m->rows.position[idp] - block;
    *end = m->rows.position[idp] - block + m->copy.splits[s + 1].row - m->copy.splits[s].row;
  }
}

/* Store the values of a row without nonzeros in rows first .. end of the block. Rows of split iDps
 * are skipped. With a history no row changes. */
static void fill_rows(const amped_row_job *j, amped_row_workspace *d, uint64_t first, uint64_t end,
                      amped_row_fit_sums *sums) {
  uint64_t from = 0;
  uint64_t to = 0;
  if (j->out != NULL || j->fit->history != NULL || first >= end)
    return;
  split_range(j->part->plan, j->mode, &from, &to);
  for (uint64_t row = first; row < end; row++) {
    if (row == from && from < to) {
      row = to - 1;
      continue;
    }
    store_empty(j, d, row, sums);
  }
}

/* Fit the rows whose first nonzero is in the unit, except long rows. Also store the rows without
 * nonzeros before them. */
static void work_unit(const amped_row_job *j, amped_row_workspace *d, uint64_t unit,
                      amped_row_fit_sums *sums) {
  const amped_cpu_copy *copy = j->m.copy;
  const uint64_t begin = unit * AMPED_ROW_UNIT;
  const uint64_t end = begin + AMPED_ROW_UNIT < copy->nnz ? begin + AMPED_ROW_UNIT : copy->nnz;
  uint64_t entry = amped_cpu_copy_index(copy, copy->row_table, begin / copy->packing->pack);
  uint64_t k = amped_packing_next_row(copy->row_bits, end, begin);
  *sums = (amped_row_fit_sums){0};
  entry += k > begin;
  while (k < end && row_of(copy, entry) < j->end) {
    const uint64_t row = row_of(copy, entry);
    const uint64_t next = amped_cpu_copy_next_row(copy, k + 1);
    fill_rows(j, d, entry > 0 ? row_of(copy, entry - 1) + 1 : 0, row, sums);
    if (row >= j->first && next - k <= AMPED_ROW_PIECE)
      work_row(j, d, row, k, next, sums);
    k = next;
    entry++;
  }
}

static void add_sums(amped_row_fit_sums *to, const amped_row_fit_sums *from) {
  to->count += from->count;
  to->squares += from->squares;
  to->penalty += from->penalty;
  to->unsure += from->unsure;
  to->solve_sec += from->solve_sec;
}

/* Fit all rows with nonzeros among rows j->first .. j->end of the MTTKRP result. */
static void work(const amped_row_job *j, amped_row_fit_sums *sums) {
  const amped_row_fit_cpu *f = j->part->row_fit;
  const uint64_t units = amped_row_fit_cpu_units(j->part->plan, j->mode);
  amped_row_fit_sums *of_units = f->unit_sums;
#pragma omp parallel num_threads(j->part->threads)
  {
    amped_row_workspace *d = &f->workspaces[omp_get_thread_num()];
#pragma omp for schedule(dynamic)
    for (uint64_t u = 0; u < units; u++)
      work_unit(j, d, u, &of_units[u]);
  }
  for (uint64_t u = 0; u < units; u++)
    add_sums(sums, &of_units[u]);
  sums->solve_sec /= j->part->threads; /* threads worked side by side */
  for (uint64_t i = 0; i < f->long_count[j->mode]; i++) {
    const amped_long_row *row = &f->long_rows[j->mode][i];
    if (row->row >= j->first && row->row < j->end)
      work_long_row(j, row, sums);
  }
}

/* Store the block's rows after the last row that has nonzeros. */
static void fill_end(const amped_row_job *j, amped_row_fit_sums *sums) {
  const amped_plan *plan = j->part->plan;
  const amped_cpu_copy *copy = j->m.copy;
  uint64_t low = 0; /* number of entries of own rows */
  uint64_t high = copy->rows;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (row_of(copy, middle) < j->end)
      low = middle + 1;
    else
      high = middle;
  }
  fill_rows(j, j->part->row_fit->workspaces, low > 0 ? row_of(copy, low - 1) + 1 : 0,
            plan->modes[j->mode].rows.rank_rows[plan->rank], sums);
}

void amped_row_fit_cpu_begin(amped_row_job j) {
  amped_row_fit_cpu *f = j.part->row_fit;
  const double began = amped_time();
  f->own = f->shared = (amped_row_fit_sums){0};
  j.end = j.part->plan->modes[j.mode].rows.block_rows;
  find_empty(&j);
  work(&j, &f->own);
  fill_end(&j, &f->own);
  f->seconds = amped_time() - began;
  amped_trace_span(AMPED_LANE_KERNELS, AMPED_PHASE_KERNEL, j.mode, began, began + f->seconds);
}

static amped_status fit_begin(amped_tensor_part *part, int mode, const amped_row_fit *fit) {
  part->row_fit->fit = *fit;
  amped_row_fit_cpu_begin(amped_row_job_make(part, mode));
  return AMPED_OK;
}

amped_status amped_row_fit_cpu_wait(amped_tensor_part *part, int mode, int block_part,
                                    amped_mttkrp_times *times, amped_row_fit_sums *sums) {
  amped_row_fit_cpu *f = part->row_fit;
  if (block_part + 1 < part->plan->modes[mode].rows.parts)
    return AMPED_OK;
  times->copy_sec = 0.0;
  times->compute_sec = f->seconds;
  add_sums(sums, &f->own);
  f->own = (amped_row_fit_sums){0};
  return AMPED_OK;
}

/* --- split iDps --------------------------------------------------------------------------------*/

/* Equations of shared rows are assembled on request, so they take no memory here. */
void amped_row_fit_cpu_get(amped_row_job j, uint64_t row, uint64_t count, double *equations) {
  amped_row_fit_sums none = {0};
  const uint64_t length = amped_equation_length((int)j.source.components, j.fit->biased);
  if (count == 0)
    return;
  memset(equations, 0, count * length * sizeof *equations);
  j.first = row;
  j.end = row + count;
  j.out = equations;
  work(&j, &none);
}

static amped_status fit_get_equations(amped_tensor_part *part, int mode, uint64_t row,
                                      uint64_t count, double *equations) {
  amped_row_fit_cpu_get(amped_row_job_make(part, mode), row, count, equations);
  return AMPED_OK;
}

/* Summed equations take no memory either: their rows are solved at once. solve_shared only reports
 * the sums. */
void amped_row_fit_cpu_put(const amped_row_job *j, uint64_t row, uint64_t count,
                           const double *equations) {
  const uint64_t length = amped_equation_length((int)j->source.components, j->fit->biased);
  for (uint64_t first = 0; first < count; first += PUT_ROWS) {
    const uint64_t rows = count - first < PUT_ROWS ? count - first : PUT_ROWS;
    amped_row_fit_sums sums[PUT_ROWS] = {{0}};
#pragma omp parallel for schedule(dynamic) num_threads(j->part->threads)
    for (uint64_t i = 0; i < rows; i++) {
      amped_row_workspace *d = &j->part->row_fit->workspaces[omp_get_thread_num()];
      amped_row_equations_unpack(equations + (first + i) * length, j->source.components,
                                 &d->equations);
      end_row(j, d, row + first + i, 0, 0, &sums[i]);
    }
    for (uint64_t i = 0; i < rows; i++)
      add_sums(&j->part->row_fit->shared, &sums[i]);
  }
}

static amped_status fit_put_equations(amped_tensor_part *part, int mode, uint64_t row,
                                      uint64_t count, const double *equations) {
  const amped_row_job j = amped_row_job_make(part, mode);
  amped_row_fit_cpu_put(&j, row, count, equations);
  return AMPED_OK;
}

amped_status amped_row_fit_cpu_solve_shared(amped_tensor_part *part, int mode,
                                            amped_row_fit_sums *sums) {
  (void)mode;
  part->row_fit->shared.solve_sec = 0.0; /* solving is not part of wait's compute_sec */
  add_sums(sums, &part->row_fit->shared);
  part->row_fit->shared = (amped_row_fit_sums){0};
  return AMPED_OK;
}

const amped_row_fit_ops amped_row_fit_cpu_ops = {
    .require = fit_require,
    .prepare = fit_prepare,
    .weigh = amped_row_fit_cpu_weigh,
    .hold_out = amped_row_fit_cpu_hold_out,
    .moments = amped_row_fit_cpu_moments,
    .view = amped_row_fit_cpu_view,
    .begin = fit_begin,
    .wait = amped_row_fit_cpu_wait,
    .get_equations = fit_get_equations,
    .put_equations = fit_put_equations,
    .solve_shared = amped_row_fit_cpu_solve_shared,
    .errors = amped_row_fit_cpu_errors,
};
