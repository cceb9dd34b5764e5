/* Row assembly: decode nonzeros, and add them up to the equations of a row. */
#include "cpu/complete/row_assembly_cpu.h"

#include <math.h>
#include <string.h>

#include "cpu/sorted/bundle_decode.h"
#include "cpu/complete/row_solve_cpu.h"

/* --- workspaces --------------------------------------------------------------------------------*/

static uint64_t width_for(uint64_t components) {
  return amped_ceil_div(components, AMPED_ROW_PADDING) * AMPED_ROW_PADDING;
}

/* Nonzeros that the workspace holds: a chunk, or all nonzeros of a row with a dual system. */
static uint64_t room_for(uint64_t components) {
  return components > AMPED_ROW_CHUNK ? components : AMPED_ROW_CHUNK;
}

/* Lay out a workspace's arrays from `base` on. Returns their total size in doubles. base = NULL:
 * only computes the size. */
static uint64_t lay_out(double *base, uint64_t components, amped_row_workspace *d) {
  const uint64_t width = width_for(components);
  const uint64_t room = room_for(components);
  const uint64_t sizes[] = {2 * sizeof(amped_bundle) / sizeof(double),
                            room * width,
                            room,
                            room,
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
  *d = (amped_row_workspace){
      .bundles = (amped_bundle *)(void *)arrays[0],
      .numbers = {UINT64_MAX, UINT64_MAX},
      .products = (char *)arrays[1],
      .terms = {.targets = arrays[2], .weights = arrays[3], .squares = arrays[4]},
      .equations = {.width = width, .products = arrays[5], .sum = arrays[6], .targets = arrays[7]},
      .row = arrays[8],
      .solve = arrays[9]};
  return total;
}

uint64_t amped_row_workspace_elements(uint64_t components) {
  amped_row_workspace d;
  return lay_out(NULL, components, &d);
}

amped_row_job amped_row_job_make(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  const amped_cpu_mttkrp m = amped_tensor_part_cpu_traversal(part, mode, 0);
  return amped_row_job_of_block(part, mode, &m, amped_factor_set_cpu_rows(part->factors, mode),
                                (uint64_t)plan->ncomps - (part->row_fit->fit.biased ? 1 : 0), NULL,
                                NULL);
}

amped_row_job amped_row_job_of_block(amped_tensor_part *part, int mode, const amped_cpu_mttkrp *m,
                                     const void *rows, uint64_t components,
                                     amped_row_renewal *renew, const void *targets) {
  const amped_plan *plan = part->plan;
  const amped_row_fit *fit = &part->row_fit->fit;
  amped_row_job j = {.part = part,
                     .fit = fit,
                     .mode = mode,
                     .m = *m,
                     .own = (char *)(uintptr_t)rows + (uint64_t)plan->rank *
                                                          plan->modes[mode].rows.block_rows *
                                                          m->ld * m->value_type,
                     .weights = part->row_fit->weights[mode],
                     .renew = renew,
                     .targets = targets,
                     .tells_biases = true,
                     .decode = amped_bundle_decoder_find(),
                     .narrow = amped_row_kernels_find(plan->value_type, false),
                     .wide = amped_row_kernels_find(plan->value_type, true)};
  j.source = (amped_row_source){.inputs = plan->order - 1,
                                .components = components,
                                .ld = m->ld,
                                .width = width_for(components),
                                .biased = fit->biased,
                                .mean = renew == NULL ? fit->mean : 0.0,
                                .per_scale = renew == NULL ? 1.0 / fit->scale : 1.0};
  for (int i = 0; i < j.source.inputs; i++)
    j.fetches = j.fetches || j.m.fetch[i];
  for (int t = 0; t <= part->threads; t++) {
    amped_row_workspace *d = &part->row_fit->workspaces[t];
    lay_out(part->row_fit->work +
                (uint64_t)t * amped_row_workspace_elements((uint64_t)plan->ncomps),
            components, d);
    d->equations.biased = fit->biased;
    if (j.weights == NULL && !(fit->implicit > 0.0))
      d->terms.weights = d->terms.squares = NULL;
  }
  return j;
}

/* --- nonzeros ----------------------------------------------------------------------------------*/

uint64_t amped_row_count(const amped_row_fit_cpu *f, int mode, uint64_t first, uint64_t end) {
  uint64_t count = 0;
  if (!f->any_held)
    return end - first;
  for (uint64_t k = first; k < end; k = (k / 64 + 1) * 64)
    count += (uint64_t)__builtin_popcountll(amped_row_taken(f->held[mode], k, end));
  return count;
}

/* Inline access to one number: it happens once per nonzero. */
static inline double number_at(const void *array, amped_vtype type, uint64_t i) {
  return type == AMPED_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static inline void put_number(void *array, amped_vtype type, uint64_t i, double x) {
  if (type == AMPED_F32)
    ((float *)array)[i] = (float)x;
  else
    ((double *)array)[i] = x;
}

double amped_row_weight(const amped_row_job *j, uint64_t first, uint64_t end, uint64_t count) {
  const uint64_t *held = j->part->row_fit->held[j->mode];
  double sum = 0.0;
  if (j->weights == NULL)
    return (double)count;
  for (uint64_t k = first; k < end; k++)
    if (!(held[k / 64] >> k % 64 & 1))
      sum += number_at(j->weights, j->m.value_type, k);
  return sum;
}

static amped_vtype type_of(const amped_row_job *j, bool wide) {
  return wide ? AMPED_F64 : j->m.value_type;
}

static const amped_bundle *decode_at(const amped_row_job *j, amped_row_workspace *d,
                                     uint64_t number) {
  amped_bundle *b = &d->bundles[number % 2];
  if (d->numbers[number % 2] != number)
    j->decode(&j->m, number * AMPED_BUNDLE, j->m.copy->nnz, b);
  d->numbers[number % 2] = number;
  return b;
}

/* Decode bundle `number` and prefetch its rows. */
static void fetch_ahead(const amped_row_job *j, amped_row_workspace *d, uint64_t number) {
  if (number * AMPED_BUNDLE >= j->m.copy->nnz || d->numbers[number % 2] == number)
    return;
  const amped_bundle *b = decode_at(j, d, number);
  for (int i = 0; i < j->source.inputs; i++)
    for (int k = 0; k < b->count && j->m.fetch[i]; k++)
      for (uint64_t byte = 0; byte < j->m.ld * j->m.value_type; byte += 64)
        __builtin_prefetch((const char *)b->rows[i][k] + byte);
}

const amped_bundle *amped_row_bundle(const amped_row_job *j, amped_row_workspace *d,
                                     uint64_t number) {
  const amped_bundle *b = decode_at(j, d, number);
  if (j->fetches)
    fetch_ahead(j, d, number + 1);
  return b;
}

static void flush(const amped_row_job *j, amped_row_workspace *d, bool wide) {
  (wide ? j->wide : j->narrow).add(d->products, &d->terms, d->filled, &d->equations);
  d->filled = 0;
}

/* Replace targets by weights, weighted targets and squares, for the nonzeros `take` from `first`
 * on. Targets are y, or for implicit fits the values v. */
static void weigh(const amped_row_job *j, const amped_row_workspace *d, amped_vtype type,
                  uint64_t first, uint64_t take) {
  const amped_row_terms *t = &d->terms;
  for (uint64_t i = d->filled; take != 0; i++, take &= take - 1) {
    const double y = number_at(t->targets, type, i);
    double weight = j->fit->implicit * y;
    double target = 1.0 + weight;
    double square = target;
    if (j->weights != NULL) {
      weight = number_at(j->weights, j->m.value_type, first + (uint64_t)__builtin_ctzll(take));
      target = weight * y;
      square = target * y;
    }
    put_number(t->weights, type, i, weight);
    put_number(t->targets, type, i, target);
    put_number(t->squares, type, i, square);
  }
}

/* Write the nonzeros first .. end to the workspace. add: add them to the equations whenever a chunk
 * is full. */
static void collect(const amped_row_job *j, amped_row_workspace *d, uint64_t first, uint64_t end,
                    bool wide, bool add) {
  const uint64_t size = (uint64_t)type_of(j, wide);
  const uint64_t *held = j->part->row_fit->held[j->mode];
  for (uint64_t k = first; k < end; k = (k / AMPED_BUNDLE + 1) * AMPED_BUNDLE) {
    const amped_bundle *b = amped_row_bundle(j, d, k / AMPED_BUNDLE);
    const uint64_t take = amped_row_taken(held, k, end);
    const uint64_t count = (uint64_t)__builtin_popcountll(take);
    if (add && d->filled + count > AMPED_ROW_CHUNK)
      flush(j, d, wide);
    (wide ? j->wide : j->narrow)
        .products(&j->source, b, take, d->products + d->filled * j->source.width * size,
                  (char *)d->terms.targets + d->filled * size);
    if (d->terms.weights != NULL)
      weigh(j, d, type_of(j, wide), k / AMPED_BUNDLE * AMPED_BUNDLE, take);
    d->filled += count;
  }
}

/* Scale products and targets by the square roots of the weights, so that unit weights give the same
 * sums. */
static void take_roots(const amped_row_job *j, const amped_row_workspace *d, uint64_t count) {
  double *products = (double *)(void *)d->products;
  double *targets = d->terms.targets;
  double *weights = d->terms.weights;
  for (uint64_t i = 0; i < count; i++) {
    const double root = sqrt(weights[i]);
    for (uint64_t c = 0; c < j->source.components; c++)
      products[i * j->source.width + c] *= root;
    targets[i] = root > 0.0 ? targets[i] / root : 0.0;
    weights[i] = root;
  }
}

uint64_t amped_row_collect(const amped_row_job *j, amped_row_workspace *d, uint64_t first,
                           uint64_t end) {
  d->filled = 0;
  collect(j, d, first, end, true, false);
  const uint64_t count = d->filled;
  d->filled = 0;
  if (d->terms.weights != NULL)
    take_roots(j, d, count);
  return count;
}

/* --- equations ---------------------------------------------------------------------------------*/

static void clear(amped_row_equations *e) {
  memset(e->products, 0, e->width * e->width * sizeof *e->products);
  memset(e->sum, 0, e->width * sizeof *e->sum);
  memset(e->targets, 0, e->width * sizeof *e->targets);
  e->count = e->target = e->squares = 0.0;
}

void amped_row_assemble(const amped_row_job *j, amped_row_workspace *d, uint64_t first,
                        uint64_t end, bool wide) {
  clear(&d->equations);
  collect(j, d, first, end, wide, true);
  flush(j, d, wide);
  d->equations.count =
      amped_row_weight(j, first, end, amped_row_count(j->part->row_fit, j->mode, first, end));
}

bool amped_row_renew(const amped_row_job *j, amped_row_workspace *d, uint64_t row, uint64_t first,
                     uint64_t end, bool wide) {
  return j->renew != NULL && j->renew(j, d, row, first, end, wide);
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

/* Add the pieces in their order, so that the result does not depend on the number of threads. */
amped_row_workspace *amped_row_assemble_long(const amped_row_job *j, const amped_long_row *row,
                                             bool wide) {
  const uint64_t threads = (uint64_t)j->part->threads;
  amped_row_workspace *workspaces = j->part->row_fit->workspaces;
  amped_row_workspace *sum = &workspaces[threads];
  clear(&sum->equations);
  for (uint64_t first = row->first; first < row->end; first += threads * AMPED_ROW_PIECE) {
    const uint64_t left = amped_ceil_div(row->end - first, AMPED_ROW_PIECE);
    const uint64_t pieces = left < threads ? left : threads;
#pragma omp parallel num_threads(j->part->threads)
    {
#pragma omp for schedule(static, 1)
      for (uint64_t p = 0; p < pieces; p++) {
        const uint64_t from = first + p * AMPED_ROW_PIECE;
        const uint64_t to = from + AMPED_ROW_PIECE;
        const uint64_t last = to < row->end ? to : row->end;
        if (!amped_row_renew(j, &workspaces[p], row->row, from, last, wide))
          amped_row_assemble(j, &workspaces[p], from, last, wide);
      }
#pragma omp for schedule(static)
      for (uint64_t r = 0; r < j->source.width; r++)
        for (uint64_t p = 0; p < pieces; p++)
          add_equations(&sum->equations, &workspaces[p].equations, r);
    }
  }
  return sum;
}
