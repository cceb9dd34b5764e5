#include "cpu/row_fit_cpu.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "cpu/bundle_decode.h"
#include "cpu/huge_pages.h"
#include "cpu/row_equations_cpu.h"
#include "cpu/row_solve_cpu.h"

/* Nonzeros of a piece of a long row: a thread's work at a time, and little beside it. */
#define PIECE UINT64_C(16384)

/* Rows of summed equations that threads solve together. */
#define PUT_ROWS 64

/* A unit's part of whatever is summed over nonzeros. */
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
  while (k < copy->nnz) {
    const uint32_t word = copy->row_bits[k / 32] >> k % 32;
    if (word != 0) {
      k += (uint64_t)__builtin_ctz(word);
      break;
    }
    k = (k / 32 + 1) * 32;
  }
  return k < copy->nnz ? k : copy->nnz;
}

static uint64_t row_of(const amped_cpu_copy *copy, uint64_t entry) {
  return amped_cpu_copy_index(copy, copy->row_list, entry);
}

/* Nonzeros of a bundle's word that take part, of first .. end. */
static inline uint64_t taken(const uint64_t *held, uint64_t first, uint64_t end) {
  uint64_t bits = ~held[first / 64] & UINT64_MAX << first % 64;
  if (end - first / 64 * 64 < 64)
    bits &= (UINT64_C(1) << end % 64) - 1;
  return bits;
}

static uint64_t count_taken(const amped_row_fit_cpu *f, int mode, uint64_t first, uint64_t end) {
  uint64_t count = 0;
  if (!f->any_held)
    return end - first;
  for (uint64_t k = first; k < end; k = (k / 64 + 1) * 64)
    count += (uint64_t)__builtin_popcountll(taken(f->held[mode], k, end));
  return count;
}

/* --- memory ------------------------------------------------------------------------------------*/

/* A thread's workspace. */
typedef struct desk {
  amped_bundle *bundles;    /* two: an even and an odd one */
  uint64_t numbers[2];      /* of the bundles that are there */
  char *products, *targets; /* of nonzeros that are not yet added up */
  uint64_t filled;
  amped_row_equations equations;
  double *solve;
  double *row; /* with its bias */
} desk;

static uint64_t width_for(uint64_t components) {
  return amped_ceil_div(components, AMPED_ROW_PADDING) * AMPED_ROW_PADDING;
}

/* Nonzeros that are written down at a time: a chunk, or all of a row that has a dual. */
static uint64_t room_for(uint64_t components) {
  return components > AMPED_ROW_CHUNK ? components : AMPED_ROW_CHUNK;
}

/* Lay out a desk of arrays from `base` on. Returns its elements; with base = NULL does no more. */
static uint64_t lay_out(double *base, uint64_t components, desk *d) {
  const uint64_t width = width_for(components);
  const uint64_t room = room_for(components);
  const uint64_t sizes[] = {2 * sizeof(amped_bundle) / sizeof(double),
                            room * width,
                            room,
                            width * width,
                            width,
                            width,
                            components + 1,
                            amped_row_solve_elements(components)};
  double *arrays[sizeof sizes / sizeof sizes[0]] = {NULL};
  uint64_t total = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    arrays[i] = base == NULL ? NULL : base + total;
    total += amped_ceil_div(sizes[i], 8) * 8;
  }
  *d = (desk){
      .bundles = (amped_bundle *)(void *)arrays[0],
      .numbers = {UINT64_MAX, UINT64_MAX},
      .products = (char *)arrays[1],
      .targets = (char *)arrays[2],
      .equations = {.width = width, .products = arrays[3], .sum = arrays[4], .targets = arrays[5]},
      .row = arrays[6],
      .solve = arrays[7]};
  return total;
}

static uint64_t desk_elements(const amped_plan *plan) {
  desk d;
  return lay_out(NULL, (uint64_t)plan->ncomps, &d);
}

static uint64_t most_units(const amped_plan *plan) {
  uint64_t units = 1;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t n = amped_row_fit_cpu_units(plan, m);
    units = n > units ? n : units;
  }
  return units;
}

static void fit_require(const amped_device *device, const amped_plan *plan, uint64_t *device_bytes,
                        uint64_t *host_bytes) {
  *device_bytes = 0;
  *host_bytes = most_units(plan) * sizeof(unit_sums) + amped_row_fit_cpu_hold_out_bytes(plan) +
                ((uint64_t)device->threads + 1) * desk_elements(plan) * sizeof(double);
  for (int m = 0; m < plan->order; m++) {
    const uint64_t nnz = plan->modes[m].copy.rank_nnz[plan->rank];
    *host_bytes +=
        amped_row_fit_cpu_held_words(nnz) * sizeof(uint64_t) + nnz / PIECE * sizeof(amped_long_row);
  }
}

void amped_row_fit_cpu_free(amped_row_fit_cpu *f) {
  if (f == NULL)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(f->held[m]);
    amped_free(f->long_rows[m]);
  }
  amped_free(f->unit_sums);
  amped_huge_pages_free(f->work);
  amped_free(f);
}

/* Rows that are longer than a piece. */
static amped_status find_long_rows(const amped_cpu_copy *copy, amped_long_row **out,
                                   uint64_t *count) {
  uint64_t entry = 0;
  AMPED_TRY(amped_alloc(out, copy->nnz / PIECE, sizeof **out, "the long rows of a copy"));
  for (uint64_t k = 0; k < copy->nnz; entry++) {
    const uint64_t end = amped_cpu_copy_next_row(copy, k + 1);
    if (end - k > PIECE)
      (*out)[(*count)++] = (amped_long_row){row_of(copy, entry), k, end};
    k = end;
  }
  return AMPED_OK;
}

static amped_status allocate(amped_tensor_part *part) {
  amped_row_fit_cpu *f = part->row_fit;
  static const char what[] = "row fits";
  for (int m = 0; m < part->plan->order; m++) {
    const amped_cpu_copy *copy = &part->copies[m];
    AMPED_TRY(amped_calloc(&f->held[m], amped_row_fit_cpu_held_words(copy->nnz), sizeof *f->held[m],
                           what));
    AMPED_TRY(find_long_rows(copy, &f->long_rows[m], &f->long_count[m]));
  }
  AMPED_TRY(amped_alloc(&f->unit_sums, most_units(part->plan), sizeof(unit_sums), what));
  f->desk_elements = desk_elements(part->plan);
  return amped_huge_pages_alloc(&f->work, (uint64_t)part->threads + 1,
                                f->desk_elements * sizeof *f->work, what);
}

static amped_status fit_prepare(amped_tensor_part *part) {
  AMPED_TRY(amped_calloc(&part->row_fit, 1, sizeof *part->row_fit, "row fits"));
  const amped_status status = allocate(part);
  if (status != AMPED_OK) {
    amped_row_fit_cpu_free(part->row_fit);
    part->row_fit = NULL;
  }
  return status;
}

/* --- equations ---------------------------------------------------------------------------------*/

/* A fit of mode's rows. Constant while it runs. */
typedef struct job {
  amped_tensor_part *part;
  const amped_row_fit *fit;
  int mode;
  amped_cpu_mttkrp m;
  bool fetches;
  amped_bundle_decoder *decode;
  amped_row_source source;
  amped_row_kernels narrow, wide;
  uint64_t first, end; /* rows of the MTTKRP result */
  double *out;         /* their equations go here; NULL: they are solved */
} job;

static job job_for(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  const amped_row_fit *fit = &part->row_fit->fit;
  const uint64_t components = (uint64_t)plan->ncomps - (fit->biased ? 1 : 0);
  job j = {.part = part,
           .fit = fit,
           .mode = mode,
           .m = amped_tensor_part_cpu_walk(part, mode, 0),
           .decode = amped_bundle_decoder_find(),
           .narrow = amped_row_kernels_find(plan->value_type, false),
           .wide = amped_row_kernels_find(plan->value_type, true)};
  j.source = (amped_row_source){.inputs = plan->order - 1,
                                .components = components,
                                .ld = plan->ld,
                                .width = width_for(components),
                                .biased = fit->biased,
                                .mean = fit->mean,
                                .per_scale = 1.0 / fit->scale};
  for (int i = 0; i < j.source.inputs; i++)
    j.fetches = j.fetches || j.m.fetch[i];
  return j;
}

static desk desk_at(const job *j, uint64_t number) {
  desk d;
  const amped_row_fit_cpu *f = j->part->row_fit;
  lay_out(f->work + number * f->desk_elements, j->source.components, &d);
  d.equations.biased = j->fit->biased;
  return d;
}

static amped_vtype type_of(const job *j, bool wide) {
  return wide ? AMPED_F64 : j->m.value_type;
}

static const amped_bundle *decode_at(const job *j, desk *d, uint64_t number) {
  amped_bundle *b = &d->bundles[number % 2];
  if (d->numbers[number % 2] != number)
    j->decode(&j->m, number * AMPED_BUNDLE, j->m.copy->nnz, b);
  d->numbers[number % 2] = number;
  return b;
}

/* Ask memory for the rows of a bundle to come. */
static void fetch_ahead(const job *j, desk *d, uint64_t number) {
  if (number * AMPED_BUNDLE >= j->m.copy->nnz || d->numbers[number % 2] == number)
    return;
  const amped_bundle *b = decode_at(j, d, number);
  for (int i = 0; i < j->source.inputs; i++)
    for (int k = 0; k < b->count && j->m.fetch[i]; k++)
      for (uint64_t byte = 0; byte < j->m.ld * j->m.value_type; byte += 64)
        __builtin_prefetch((const char *)b->rows[i][k] + byte);
}

static void flush(const job *j, desk *d, bool wide) {
  (wide ? j->wide : j->narrow).add(d->products, d->targets, d->filled, &d->equations);
  d->filled = 0;
}

/* Write down the nonzeros first .. end; with `add` a chunk at a time is added to the equations. */
static void collect(const job *j, desk *d, uint64_t first, uint64_t end, bool wide, bool add) {
  const uint64_t size = (uint64_t)type_of(j, wide);
  const uint64_t *held = j->part->row_fit->held[j->mode];
  for (uint64_t k = first; k < end; k = (k / AMPED_BUNDLE + 1) * AMPED_BUNDLE) {
    const amped_bundle *b = decode_at(j, d, k / AMPED_BUNDLE);
    const uint64_t take = taken(held, k, end);
    const uint64_t count = (uint64_t)__builtin_popcountll(take);
    if (j->fetches)
      fetch_ahead(j, d, k / AMPED_BUNDLE + 1);
    if (add && d->filled + count > AMPED_ROW_CHUNK)
      flush(j, d, wide);
    (wide ? j->wide : j->narrow)
        .products(&j->source, b, take, d->products + d->filled * j->source.width * size,
                  d->targets + d->filled * size);
    d->filled += count;
  }
}

static void clear(amped_row_equations *e) {
  memset(e->products, 0, e->width * e->width * sizeof *e->products);
  memset(e->sum, 0, e->width * sizeof *e->sum);
  memset(e->targets, 0, e->width * sizeof *e->targets);
  e->count = e->target = e->squares = 0.0;
}

/* The desk's equations are those of the nonzeros first .. end, all of one row. */
static void assemble(const job *j, desk *d, uint64_t first, uint64_t end, bool wide) {
  clear(&d->equations);
  collect(j, d, first, end, wide, true);
  flush(j, d, wide);
  d->equations.count = (double)count_taken(j->part->row_fit, j->mode, first, end);
}

static void add_equations(amped_row_equations *to, const amped_row_equations *from, uint64_t row) {
  const uint64_t width = to->width;
  for (uint64_t c = row; c < width; c++)
    to->products[row * width + c] += from->products[row * width + c];
  to->sum[row] += from->sum[row];
  to->targets[row] += from->targets[row];
  if (row > 0)
    return;
  to->count += from->count;
  to->target += from->target;
  to->squares += from->squares;
}

/* The same by all threads, for a long row. Pieces are added in their order. */
static void assemble_long(const job *j, const amped_long_row *row, bool wide, desk *d) {
  const uint64_t threads = (uint64_t)j->part->threads;
  clear(&d->equations);
  for (uint64_t first = row->first; first < row->end; first += threads * PIECE) {
    const uint64_t left = amped_ceil_div(row->end - first, PIECE);
    const uint64_t pieces = left < threads ? left : threads;
#pragma omp parallel num_threads(j->part->threads)
    {
#pragma omp for schedule(static, 1)
      for (uint64_t p = 0; p < pieces; p++) {
        desk own = desk_at(j, p);
        const uint64_t from = first + p * PIECE;
        assemble(j, &own, from, from + PIECE < row->end ? from + PIECE : row->end, wide);
        memcpy(own.solve, &own.equations, sizeof own.equations);
      }
#pragma omp for schedule(static)
      for (uint64_t r = 0; r < j->source.width; r++)
        for (uint64_t p = 0; p < pieces; p++) {
          const desk own = desk_at(j, p);
          amped_row_equations e;
          memcpy(&e, own.solve, sizeof e);
          add_equations(&d->equations, &e, r);
        }
    }
  }
}

/* --- rows --------------------------------------------------------------------------------------*/

static void *place_of(const job *j, uint64_t row) {
  const amped_plan *plan = j->part->plan;
  const uint64_t first = (uint64_t)plan->rank * plan->modes[j->mode].rows.block_rows;
  return (char *)amped_factor_set_cpu.rows(j->part->factors, j->mode) +
         (first + row) * amped_plan_row_bytes(plan);
}

/* d->row becomes the block's row, and what that rounds to. */
static void store_row(const job *j, desk *d, uint64_t row) {
  void *place = place_of(j, row);
  for (uint64_t c = 0; c < (uint64_t)j->part->plan->ncomps; c++) {
    amped_value_put(place, j->m.value_type, c, d->row[c]);
    d->row[c] = amped_value_get(place, j->m.value_type, c);
  }
}

static void load_row(const job *j, desk *d, uint64_t row) {
  d->row[j->source.components] = 0.0;
  for (uint64_t c = 0; c < (uint64_t)j->part->plan->ncomps; c++)
    d->row[c] = amped_value_get(place_of(j, row), j->m.value_type, c);
}

static void set_prior(const job *j, desk *d) {
  for (uint64_t c = 0; c < j->source.components; c++)
    d->row[c] = j->fit->prior[j->mode];
  d->row[j->source.components] = 0.0;
}

static amped_row_penalty penalty_of(const job *j, double count) {
  return (amped_row_penalty){.components = j->source.components,
                             .biased = j->fit->biased,
                             .weight = j->fit->reg * j->fit->pull[j->mode] *
                                       pow(count, j->fit->reg_power),
                             .prior = j->fit->prior[j->mode],
                             .reg_bias = j->fit->reg_bias};
}

/* Does the factors' type hold the row? Sums of very large numbers overflow. */
static bool is_finite(const job *j, const desk *d) {
  const double most = j->m.value_type == AMPED_F32 ? (double)FLT_MAX : DBL_MAX;
  bool finite = true;
  for (uint64_t c = 0; c <= j->source.components; c++)
    finite = finite && fabs(d->row[c]) <= most;
  return finite;
}

/* d->row is stored, and told in the sums but for its squares. */
static void finish_row(const job *j, desk *d, const amped_row_penalty *p, uint64_t row,
                       double count, bool unsure, amped_row_fit_sums *sums) {
  if (!is_finite(j, d)) {
    set_prior(j, d);
    unsure = true;
  }
  store_row(j, d, row);
  for (uint64_t c = 0; c < p->components; c++) {
    const double off = d->row[c] - p->prior;
    sums->penalty += p->weight * off * off;
  }
  if (p->biased)
    sums->penalty += p->reg_bias * d->row[p->components] * d->row[p->components];
  sums->count += (uint64_t)count;
  sums->unsure += unsure;
}

/* The row of the desk's equations. first .. end: its nonzeros, for sums in double where those of
 * floats do not do; none where the equations come from elsewhere. */
static void solve_equations(const job *j, desk *d, uint64_t row, bool wide, uint64_t first,
                            uint64_t end, amped_row_fit_sums *sums) {
  const amped_row_equations *e = &d->equations;
  const amped_row_penalty p = penalty_of(j, e->count);
  bool unsure = false;
  if (j->fit->nonnegative) {
    load_row(j, d, row);
    amped_row_solve_nonnegative(e, &p, d->solve, d->row);
  } else if (!amped_row_solve_primal(e, &p, d->solve, d->row)) {
    if (!wide && first < end) {
      assemble(j, d, first, end, true);
      solve_equations(j, d, row, true, first, end, sums);
      return;
    }
    amped_row_solve_least(e, &p, d->solve, d->row);
    unsure = true;
  }
  finish_row(j, d, &p, row, e->count, unsure, sums);
  sums->squares += amped_row_squares(e, &p, d->row);
}

/* A row that has few nonzeros. Returns false where its matrix is singular. */
static bool solve_dual(const job *j, desk *d, uint64_t row, uint64_t first, uint64_t end,
                       amped_row_fit_sums *sums) {
  collect(j, d, first, end, true, false);
  const uint64_t count = d->filled;
  const amped_row_penalty p = penalty_of(j, (double)count);
  const double *products = (const double *)(const void *)d->products;
  const double *targets = (const double *)(const void *)d->targets;
  d->filled = 0;
  if (!amped_row_solve_dual(products, targets, count, j->source.width, &p, d->solve, d->row))
    return false;
  finish_row(j, d, &p, row, (double)count, !(p.weight > 0.0), sums);
  sums->squares += amped_row_squares_of(products, targets, count, j->source.width, &p, d->row);
  return true;
}

/* A row's equations as they travel (row_fit.h). */
static void pack(const job *j, const amped_row_equations *e, double *out) {
  const uint64_t n = j->source.components;
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t c = 0; c <= i; c++)
      *out++ = e->products[c * e->width + i];
  for (uint64_t i = 0; i < n && j->fit->biased; i++)
    *out++ = e->sum[i];
  *out++ = e->count;
  for (uint64_t i = 0; i < n; i++)
    *out++ = e->targets[i];
  if (j->fit->biased)
    *out++ = e->target;
  *out = e->squares;
}

static void unpack(const job *j, const double *in, amped_row_equations *e) {
  const uint64_t n = j->source.components;
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t c = 0; c <= i; c++)
      e->products[c * e->width + i] = *in++;
  for (uint64_t i = 0; i < n && j->fit->biased; i++)
    e->sum[i] = *in++;
  e->count = *in++;
  for (uint64_t i = 0; i < n; i++)
    e->targets[i] = *in++;
  e->target = j->fit->biased ? *in++ : 0.0;
  e->squares = *in;
}

static double *out_of(const job *j, uint64_t row) {
  return j->out +
         (row - j->first) * amped_equation_length((int)j->source.components, j->fit->biased);
}

/* Without a penalty the smallest pivots tell whether a row is unique: sums of floats hide them. */
static bool is_wide(const job *j) {
  return !(j->fit->reg > 0.0);
}

/* A row of the MTTKRP result with its nonzeros. */
static void work_row(const job *j, desk *d, uint64_t row, uint64_t first, uint64_t end,
                     amped_row_fit_sums *sums) {
  const double count = (double)count_taken(j->part->row_fit, j->mode, first, end);
  const amped_row_penalty p = penalty_of(j, count);
  if (j->out != NULL) {
    assemble(j, d, first, end, is_wide(j));
    pack(j, &d->equations, out_of(j, row));
    return;
  }
  if (!(count > 0.0)) {
    set_prior(j, d);
    store_row(j, d, row);
    return;
  }
  if (!j->fit->nonnegative && amped_row_has_dual(&p, count) &&
      solve_dual(j, d, row, first, end, sums))
    return;
  assemble(j, d, first, end, is_wide(j));
  solve_equations(j, d, row, is_wide(j), first, end, sums);
}

static void work_long_row(const job *j, const amped_long_row *row, amped_row_fit_sums *sums) {
  desk d = desk_at(j, (uint64_t)j->part->threads);
  assemble_long(j, row, is_wide(j), &d);
  if (j->out != NULL) {
    pack(j, &d.equations, out_of(j, row->row));
  } else if (d.equations.count > 0.0) {
    solve_equations(j, &d, row->row, is_wide(j), row->first, row->end, sums);
  } else {
    set_prior(j, &d);
    store_row(j, &d, row->row);
  }
}

/* --- all rows ----------------------------------------------------------------------------------*/

/* Own rows of split iDps: one range of the block (plan.h). */
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

/* Rows without nonzeros among first .. end of the block. */
static void fill_rows(const job *j, desk *d, uint64_t first, uint64_t end) {
  uint64_t from = 0;
  uint64_t to = 0;
  if (j->out != NULL || first >= end)
    return;
  split_range(j->part->plan, j->mode, &from, &to);
  for (uint64_t row = first; row < end; row++) {
    if (row == from && from < to) {
      row = to - 1;
      continue;
    }
    set_prior(j, d);
    store_row(j, d, row);
  }
}

/* Rows whose first nonzero is in the unit, but for long ones; and rows without nonzeros before. */
static void work_unit(const job *j, desk *d, uint64_t unit, amped_row_fit_sums *sums) {
  const amped_cpu_copy *copy = j->m.copy;
  const uint64_t begin = unit * AMPED_ROW_UNIT;
  uint64_t entry = amped_cpu_copy_index(copy, copy->row_table, begin / copy->packing->pack);
  uint64_t k = amped_cpu_copy_next_row(copy, begin);
  *sums = (amped_row_fit_sums){0};
  entry += k > begin;
  while (k < copy->nnz && k < begin + AMPED_ROW_UNIT && row_of(copy, entry) < j->end) {
    const uint64_t row = row_of(copy, entry);
    const uint64_t next = amped_cpu_copy_next_row(copy, k + 1);
    fill_rows(j, d, entry > 0 ? row_of(copy, entry - 1) + 1 : 0, row);
    if (row >= j->first && next - k <= PIECE)
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
}

/* Rows j->first .. j->end of the MTTKRP result that have nonzeros. */
static void work(const job *j, amped_row_fit_sums *sums) {
  const amped_row_fit_cpu *f = j->part->row_fit;
  const uint64_t units = amped_row_fit_cpu_units(j->part->plan, j->mode);
  amped_row_fit_sums *of_units = f->unit_sums;
#pragma omp parallel num_threads(j->part->threads)
  {
    desk d = desk_at(j, (uint64_t)omp_get_thread_num());
#pragma omp for schedule(dynamic)
    for (uint64_t u = 0; u < units; u++)
      work_unit(j, &d, u, &of_units[u]);
  }
  for (uint64_t u = 0; u < units; u++)
    add_sums(sums, &of_units[u]);
  for (uint64_t i = 0; i < f->long_count[j->mode]; i++) {
    const amped_long_row *row = &f->long_rows[j->mode][i];
    if (row->row >= j->first && row->row < j->end)
      work_long_row(j, row, sums);
  }
}

/* The block's rows behind the last one that has nonzeros. */
static void fill_end(const job *j) {
  const amped_plan *plan = j->part->plan;
  const amped_cpu_copy *copy = j->m.copy;
  desk d = desk_at(j, 0);
  uint64_t low = 0; /* entries of own rows */
  uint64_t high = copy->rows;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (row_of(copy, middle) < j->end)
      low = middle + 1;
    else
      high = middle;
  }
  fill_rows(j, &d, low > 0 ? row_of(copy, low - 1) + 1 : 0,
            plan->modes[j->mode].rows.rank_rows[plan->rank]);
}

static amped_status fit_begin(amped_tensor_part *part, int mode, const amped_row_fit *fit) {
  amped_row_fit_cpu *f = part->row_fit;
  const double began = amped_time();
  f->fit = *fit;
  f->own = f->shared = (amped_row_fit_sums){0};
  job j = job_for(part, mode);
  j.end = part->plan->modes[mode].rows.block_rows;
  work(&j, &f->own);
  fill_end(&j);
  f->seconds = amped_time() - began;
  amped_trace_span(AMPED_LANE_KERNELS, AMPED_PHASE_KERNEL, mode, began, began + f->seconds);
  return AMPED_OK;
}

static amped_status fit_wait(amped_tensor_part *part, int mode, int block_part,
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

/* Equations of shared rows take no memory here: they are added up when they are asked for. */
static amped_status fit_get_equations(amped_tensor_part *part, int mode, uint64_t row,
                                      uint64_t count, double *equations) {
  job j = job_for(part, mode);
  amped_row_fit_sums none = {0};
  const uint64_t length = amped_equation_length((int)j.source.components, j.fit->biased);
  if (count == 0)
    return AMPED_OK;
  memset(equations, 0, count * length * sizeof *equations);
  j.first = row;
  j.end = row + count;
  j.out = equations;
  work(&j, &none);
  return AMPED_OK;
}

/* Nor do summed equations: a row is solved when they are put, and solve_shared tells its sums. */
static amped_status fit_put_equations(amped_tensor_part *part, int mode, uint64_t row,
                                      uint64_t count, const double *equations) {
  const job j = job_for(part, mode);
  const uint64_t length = amped_equation_length((int)j.source.components, j.fit->biased);
  for (uint64_t first = 0; first < count; first += PUT_ROWS) {
    const uint64_t rows = count - first < PUT_ROWS ? count - first : PUT_ROWS;
    amped_row_fit_sums sums[PUT_ROWS] = {{0}};
#pragma omp parallel for schedule(dynamic) num_threads(part->threads)
    for (uint64_t i = 0; i < rows; i++) {
      desk d = desk_at(&j, (uint64_t)omp_get_thread_num());
      unpack(&j, equations + (first + i) * length, &d.equations);
      if (d.equations.count > 0.0) {
        solve_equations(&j, &d, row + first + i, is_wide(&j), 0, 0, &sums[i]);
      } else {
        set_prior(&j, &d);
        store_row(&j, &d, row + first + i);
      }
    }
    for (uint64_t i = 0; i < rows; i++)
      add_sums(&part->row_fit->shared, &sums[i]);
  }
  return AMPED_OK;
}

static amped_status fit_solve_shared(amped_tensor_part *part, int mode, amped_row_fit_sums *sums) {
  (void)mode;
  add_sums(sums, &part->row_fit->shared);
  part->row_fit->shared = (amped_row_fit_sums){0};
  return AMPED_OK;
}

const amped_row_fit_ops amped_row_fit_cpu_ops = {
    .require = fit_require,
    .prepare = fit_prepare,
    .hold_out = amped_row_fit_cpu_hold_out,
    .moments = amped_row_fit_cpu_moments,
    .begin = fit_begin,
    .wait = fit_wait,
    .get_equations = fit_get_equations,
    .put_equations = fit_put_equations,
    .solve_shared = fit_solve_shared,
    .errors = amped_row_fit_cpu_errors,
};
