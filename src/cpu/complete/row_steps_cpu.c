/* Row steps on CPU cores: SGD passes over the rows of a factor (contract: backend/row_steps.h). */
#include "cpu/complete/row_steps_cpu.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "cpu/sorted/bundle_decode.h"
#include "base/buffers.h"
#include "cpu/complete/row_fit_cpu.h"
#include "cpu/complete/row_traversal_cpu.h"
#include "cpu/device/subnormals.h"

/* UNIT: row-list entries per unit of work. LISTED: pieces that are listed at a time. GROUP: listed
 * pieces per parallel task. */
#define UNIT UINT64_C(128)
#define LISTED UINT64_C(1024)
#define GROUP UINT64_C(16)

static const char what[] = "row steps";

/* One piece of a row. A short row is a single piece. */
typedef struct piece {
  uint64_t entry; /* index into the copy's row list */
  uint64_t piece, pieces;
  double count; /* n of the whole row, all ranks */
} piece;

/* A piece in progress: the state of one walker. */
typedef struct lane {
  bool busy;
  piece piece;
  uint64_t number; /* index in its task list */
  uint64_t first;  /* first nonzero of its row */
  amped_step_visits visits;
  uint64_t visited, taken, in_tail;
  double curvatures; /* sum of |p|^2 */
  amped_step_rule rule;
  uint64_t filled, used; /* nonzeros prepared; of these, already stepped over */
  amped_bundle *bundle;
  char *products, *targets, *numbers;
  amped_walker walker;
  double *row, *sum, *bias;
} lane;

/* A thread's workspace. */
typedef struct workspace {
  lane lanes[AMPED_WALKERS];
  double *result; /* [ncomps] */
  char apart[128];
} workspace;

struct amped_row_steps_cpu {
  int ncomps;                        /* components that there is memory for */
  uint64_t *begins[AMPED_MAX_ORDER]; /* [rows + 1] per copy: first nonzero of each entry */
  uint64_t *whole[AMPED_MAX_ORDER];  /* [shared rows] n, summed over all ranks */
  void *kept[AMPED_MAX_ORDER];       /* own rows' values, saved by keep */
  workspace *workspaces;             /* [threads] */
  double *work;                      /* memory of the workspaces' arrays */
  piece *pieces;                     /* [LISTED] */
  double *results;                   /* [LISTED][ncomps] a piece's new row */
  uint64_t *counts;                  /* [LISTED] nonzeros that took part */
  amped_row_step_sums *unit_sums;
  double *squares; /* [units of nonzeros] sums of squares (row_fit_cpu.h) */

  amped_row_fit fit; /* parameters of the current pass */
  double step;
  amped_step_order order;
  double seconds;
  amped_row_step_sums own, shared; /* not yet reported */
};

/* One pass over one mode. Read-only while the pass runs. */
typedef struct job {
  amped_tensor_part *part;
  const amped_row_steps_cpu *s;
  const amped_row_fit *fit;
  int mode;
  amped_cpu_mttkrp m;
  amped_row_source source;
  amped_row_kernels rows;
  amped_row_traversal_kernels kernels;
  amped_bundle_picker *pick;
  const uint64_t *held;
  uint64_t block_rows;             /* own rows; shared rows follow them */
  uint64_t split_first, split_end; /* range of own rows that belong to split iDps */
} job;

/* --- memory ------------------------------------------------------------------------------------*/

static uint64_t width_for(const amped_plan *plan) {
  return amped_ceil_div((uint64_t)plan->ncomps, AMPED_ROW_PADDING) * AMPED_ROW_PADDING;
}

/* Lay out a workspace's arrays from `base` on. Returns their total size in doubles. base = NULL:
 * only computes the size. */
static uint64_t lay_out(double *base, const amped_plan *plan, workspace *d) {
  const uint64_t width = width_for(plan);
  const uint64_t sizes[] = {amped_ceil_div(sizeof(amped_bundle), sizeof(double)),
                            AMPED_STEPS * width,
                            AMPED_STEPS,
                            AMPED_STEPS * AMPED_STEP_NUMBERS,
                            width,
                            width,
                            8};
  double *arrays[sizeof sizes / sizeof sizes[0]] = {NULL};
  uint64_t total = 0;
  for (int i = 0; i < AMPED_WALKERS; i++) {
    lane *l = &d->lanes[i];
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
      arrays[k] = base == NULL ? NULL : base + total;
      total += amped_ceil_div(sizes[k], 8) * 8;
    }
    if (base == NULL)
      continue;
    *l = (lane){.bundle = (amped_bundle *)(void *)arrays[0],
                .products = (char *)arrays[1],
                .targets = (char *)arrays[2],
                .numbers = (char *)arrays[3],
                .row = arrays[4],
                .sum = arrays[5],
                .bias = arrays[6]};
  }
  if (base != NULL)
    d->result = base + total;
  return total + amped_ceil_div((uint64_t)plan->ncomps, 8) * 8;
}

static uint64_t own_bytes(const amped_plan *plan, int mode) {
  return plan->modes[mode].rows.block_rows * amped_plan_row_bytes(plan);
}

static uint64_t shared_rows(const amped_plan *plan, int mode) {
  return plan->modes[mode].copy.output_rows - plan->modes[mode].rows.block_rows;
}

static uint64_t most_units(const amped_plan *plan) {
  uint64_t rows = 1;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t n = amped_plan_copy_rows(plan, m);
    rows = n > rows ? n : rows;
  }
  return amped_ceil_div(rows, UNIT);
}

static uint64_t most_squares(const amped_plan *plan) {
  uint64_t units = 1;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t n = amped_row_fit_cpu_units(plan, m);
    units = n > units ? n : units;
  }
  return units;
}

static amped_buffers buffers(amped_row_steps_cpu *s, const amped_plan *plan, int threads) {
  amped_buffers b = {.what = what};
  workspace none;
  const uint64_t work = lay_out(NULL, plan, &none) * sizeof *s->work;
  for (int m = 0; m < plan->order; m++) {
    AMPED_BUFFER(&b, HOST, s->begins[m], amped_plan_copy_rows(plan, m) + 1);
    AMPED_BUFFER(&b, ZEROED, s->whole[m], shared_rows(plan, m));
    AMPED_BUFFER_OF(&b, LARGE, s->kept[m], own_bytes(plan, m), 1);
  }
  AMPED_BUFFER(&b, HOST, s->workspaces, (uint64_t)threads);
  AMPED_BUFFER_OF(&b, LARGE, s->work, (uint64_t)threads, work);
  AMPED_BUFFER(&b, HOST, s->pieces, LISTED);
  AMPED_BUFFER(&b, HOST, s->results, LISTED * (uint64_t)plan->ncomps);
  AMPED_BUFFER(&b, HOST, s->counts, LISTED);
  AMPED_BUFFER(&b, HOST, s->unit_sums, most_units(plan));
  AMPED_BUFFER(&b, HOST, s->squares, most_squares(plan));
  return b;
}

static void steps_require(const amped_device *device, const amped_plan *plan,
                          uint64_t *device_bytes, uint64_t *host_bytes) {
  *device_bytes = 0;
  *host_bytes = 0;
  amped_buffers_require(buffers(&(amped_row_steps_cpu){0}, plan, device->threads), device_bytes,
                        host_bytes);
}

void amped_row_steps_cpu_free(amped_row_steps_cpu *s, const amped_plan *plan) {
  if (s == NULL)
    return;
  amped_buffers_free(buffers(s, plan, 0));
  amped_free(s);
}

static void find_begins(const amped_cpu_copy *copy, uint64_t *begins) {
  uint64_t k = 0;
  for (uint64_t e = 0; e < copy->rows; e++) {
    begins[e] = k;
    k = amped_cpu_copy_next_row(copy, k + 1);
  }
  begins[copy->rows] = copy->nnz;
}

static amped_status allocate(amped_tensor_part *part) {
  amped_row_steps_cpu *s = part->row_steps;
  AMPED_TRY(amped_buffers_allocate(buffers(s, part->plan, part->threads)));
  for (int m = 0; m < part->plan->order; m++)
    find_begins(&part->copies[m], s->begins[m]);
  return AMPED_OK;
}

static amped_status steps_prepare(amped_tensor_part *part) {
  if (part->row_steps != NULL && part->row_steps->ncomps == part->plan->ncomps)
    return AMPED_OK;
  amped_row_steps_cpu_free(part->row_steps, part->plan);
  part->row_steps = NULL;
  AMPED_TRY(amped_calloc(&part->row_steps, 1, sizeof *part->row_steps, what));
  part->row_steps->ncomps = part->plan->ncomps;
  const amped_status status = allocate(part);
  if (status != AMPED_OK) {
    amped_row_steps_cpu_free(part->row_steps, part->plan);
    part->row_steps = NULL;
  }
  return status;
}

/* --- a pass ------------------------------------------------------------------------------------*/

/* Find the range of own rows that belong to split iDps; they are contiguous in the block
 * (plan.h). */
static void find_split_range(const amped_plan *plan, job *j) {
  const amped_mode_plan *m = &plan->modes[j->mode];
  const uint64_t block = (uint64_t)plan->rank * m->rows.block_rows;
  for (uint64_t k = 0; k < m->copy.split_count; k++) {
    const uint64_t idp = m->copy.splits[k].idp;
    if (m->rows.owner[idp] != plan->rank)
      continue;
    if (j->split_first == j->split_end)
      j->split_first = m->rows.position[idp] - block;
    j->split_end =
        m->rows.position[idp] - block + m->copy.splits[k + 1].row - m->copy.splits[k].row;
  }
}

static job job_make(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  amped_row_steps_cpu *s = part->row_steps;
  job j = {.part = part,
           .s = s,
           .fit = &s->fit,
           .mode = mode,
           .m = amped_tensor_part_cpu_traversal(part, mode, 0),
           .rows = amped_row_kernels_find(plan->value_type, false),
           .kernels = amped_row_traversal_kernels_find(plan->value_type),
           .pick = amped_bundle_picker_find(),
           .held = part->row_fit->held[mode],
           .block_rows = plan->modes[mode].rows.block_rows};
  const uint64_t components = (uint64_t)plan->ncomps - (s->fit.biased ? 1 : 0);
  j.source =
      (amped_row_source){.inputs = plan->order - 1,
                         .components = components,
                         .ld = plan->ld,
                         .width = amped_ceil_div(components, AMPED_ROW_PADDING) * AMPED_ROW_PADDING,
                         .biased = s->fit.biased,
                         .mean = s->fit.mean,
                         .per_scale = 1.0 / s->fit.scale};
  find_split_range(plan, &j);
  for (int t = 0; t < part->threads; t++)
    (void)lay_out(s->work + (uint64_t)t * lay_out(NULL, plan, &s->workspaces[t]), plan,
                  &s->workspaces[t]);
  return j;
}

static uint64_t row_of(const job *j, uint64_t entry) {
  return amped_cpu_copy_index(j->m.copy, j->m.copy->row_list, entry);
}

static uint64_t length_of(const job *j, uint64_t entry) {
  return j->s->begins[j->mode][entry + 1] - j->s->begins[j->mode][entry];
}

/* Nonzeros of an entry that are not held out. count_here: on this rank; count_of: of the entry's
 * row on all ranks. */
static uint64_t count_here(const job *j, uint64_t entry) {
  const uint64_t *begins = j->s->begins[j->mode];
  return amped_row_count(j->part->row_fit, j->mode, begins[entry], begins[entry + 1]);
}

static double count_of(const job *j, uint64_t entry) {
  const uint64_t row = row_of(j, entry);
  return (double)(row < j->block_rows ? count_here(j, entry)
                                      : j->s->whole[j->mode][row - j->block_rows]);
}

static double weight_of(const job *j, double count) {
  return j->fit->reg * j->fit->pull[j->mode] * pow(count, j->fit->reg_power);
}

/* --- rows --------------------------------------------------------------------------------------*/

/* Address of the factor's row that belongs to this row of the MTTKRP result. */
static char *place_of(const job *j, uint64_t row) {
  return (char *)amped_factor_set_cpu.rows(j->part->factors, j->mode) +
         amped_plan_row_position(j->part->plan, j->mode, row) * amped_plan_row_bytes(j->part->plan);
}

/* Store x as the values of an own row with n nonzeros, and add its penalties to *sums. x NULL:
 * store the row's prior; sums is not used. */
static void store_row(const job *j, uint64_t row, const double *x, double n,
                      amped_row_step_sums *sums) {
  char *place = place_of(j, row);
  const uint64_t components = j->source.components;
  const double prior = j->fit->prior[j->mode];
  double squares = 0.0;
  for (uint64_t c = 0; c < (uint64_t)j->part->plan->ncomps; c++)
    amped_value_put(place, j->m.value_type, c, x != NULL ? x[c] : c < components ? prior : 0.0);
  if (x == NULL)
    return;
  for (uint64_t c = 0; c < components; c++) {
    const double off = amped_value_get(place, j->m.value_type, c) - prior;
    squares += off * off;
  }
  sums->count += (uint64_t)n;
  sums->penalty += weight_of(j, n) * squares;
  if (j->fit->biased) {
    const double b = amped_value_get(place, j->m.value_type, components);
    sums->bias_penalty += j->fit->reg_bias * b * b;
  }
}

static void load_row(const job *j, uint64_t row, double *x) {
  const char *place = place_of(j, row);
  for (uint64_t c = 0; c < (uint64_t)j->part->plan->ncomps; c++)
    x[c] = amped_value_get(place, j->m.value_type, c);
}

/* Set the block's rows first .. end, which have no nonzeros, to the prior. Rows of split iDps are
 * skipped. */
static void fill_rows(const job *j, uint64_t first, uint64_t end) {
  for (uint64_t row = first; row < end; row++)
    if (row < j->split_first || row >= j->split_end)
      store_row(j, row, NULL, 0.0, NULL);
}

/* --- one piece ---------------------------------------------------------------------------------*/

static void begin_piece(const job *j, lane *l, const piece *p, uint64_t number) {
  const amped_vtype type = j->m.value_type;
  const char *place = place_of(j, row_of(j, p->entry));
  const double prior = j->fit->prior[j->mode];
  const double n = p->count;
  l->busy = true;
  l->piece = *p;
  l->number = number;
  l->first = j->s->begins[j->mode][p->entry];
  l->visits = amped_step_visits_of(j->s->order, length_of(j, p->entry), p->pieces, p->piece);
  l->visited = l->taken = l->in_tail = l->filled = l->used = 0;
  l->curvatures = 0.0;
  l->rule = (amped_step_rule){.step = j->s->step,
                              .prior = prior,
                              .per_row = weight_of(j, n) / n,
                              .per_bias = j->fit->reg_bias / n,
                              .biased = j->fit->biased};
  memset(l->row, 0, j->source.width * type);
  memset(l->sum, 0, j->source.width * type);
  memset(l->bias, 0, 2 * sizeof *l->bias);
  for (uint64_t c = 0; c < j->source.components; c++)
    amped_value_put(l->row, type, c, amped_value_get(place, type, c) - prior);
  if (j->fit->biased)
    amped_value_put(l->bias, type, 0, amped_value_get(place, type, j->source.components));
  l->walker = (amped_walker){.row = l->row, .sum = l->sum, .bias = l->bias};
}

/* Append to `numbers`, after `count` others, the next nonzeros that are not held out, from visits
 * before `end`. A held-out number is overwritten by the next one: a branch would often be
 * mispredicted. Returns the new count. */
static int visit(const job *j, lane *l, uint64_t end, int count, uint64_t *numbers) {
  const uint64_t *const held = j->held;
  const uint64_t first = l->first + l->piece.piece;
  const uint64_t pieces = l->piece.pieces;
  amped_step_visits visits = l->visits;
  uint64_t visited = l->visited;
  for (; count < AMPED_STEPS && visited < end; visited++) {
    const uint64_t k = first + amped_step_number(&visits, pieces, 0);
    amped_step_next(&visits);
    numbers[count] = k;
    count += (held[k / 64] >> k % 64 & 1) == 0;
  }
  l->visits = visits;
  l->visited = visited;
  return count;
}

/* Numbers of the piece's next nonzeros. *tail = how many of them are visited before the piece's
 * second half, over which rows are averaged. */
static int next_numbers(const job *j, lane *l, uint64_t *numbers, uint64_t *tail) {
  const int before = visit(j, l, l->visits.length / 2, 0, numbers);
  *tail = (uint64_t)before;
  return visit(j, l, l->visits.length, before, numbers);
}

static void fetch_rows(const job *j, const amped_bundle *b) {
  for (int i = 0; i < j->source.inputs; i++)
    for (int k = 0; k < b->count && j->m.fetch[i]; k++)
      for (uint64_t byte = 0; byte < j->m.ld * j->m.value_type; byte += 64)
        __builtin_prefetch((const char *)b->rows[i][k] + byte);
}

/* Prepare the next nonzeros: decode them, and compute their products and step coefficients.
 * Prepares none at the end of the piece. */
static void fill(const job *j, lane *l) {
  uint64_t numbers[AMPED_STEPS];
  uint64_t tail = 0;
  const int count = next_numbers(j, l, numbers, &tail);
  l->filled = (uint64_t)count;
  l->used = 0;
  l->in_tail += l->filled - tail;
  if (count == 0)
    return;
  j->pick(&j->m, numbers, count, l->bundle);
  fetch_rows(j, l->bundle);
  j->rows.products(&j->source, l->bundle, (UINT64_C(2) << (count - 1)) - 1, l->products,
                   l->targets);
  j->kernels.numbers(&l->rule, l->products, l->targets, l->filled, j->source.width, tail, &l->taken,
                     &l->curvatures, l->numbers);
  l->walker.products = l->products;
  l->walker.numbers = l->numbers;
}

/* x = the piece's result. If it is not finite, x = the row as it was. */
static void find_result(const job *j, const lane *l, double *x) {
  const amped_vtype type = j->m.value_type;
  const double prior = j->fit->prior[j->mode];
  const double most = type == AMPED_F32 ? (double)FLT_MAX : DBL_MAX;
  const double per_row = l->in_tail > 0 ? 1.0 / (double)l->in_tail : 1.0;
  const double *from = l->in_tail > 0 ? l->sum : l->row;
  bool finite = true;
  for (uint64_t c = 0; c < j->source.components; c++)
    x[c] = amped_value_get(from, type, c) * per_row + prior;
  if (j->fit->biased)
    x[j->source.components] = amped_value_get(l->bias, type, l->in_tail > 0) * per_row;
  for (uint64_t c = 0; c < (uint64_t)j->part->plan->ncomps; c++)
    finite = finite && fabs(x[c]) <= most;
  if (!finite)
    load_row(j, row_of(j, l->piece.entry), x);
}

/* Pieces that one thread traverses, and the place of their results. */
typedef struct tasks {
  const piece *pieces;
  uint64_t count;
  uint64_t next;
  double *results; /* [count][ncomps]; NULL: store each result as a row */
  uint64_t *counts;
  amped_row_step_sums *sums;
} tasks;

static void end_piece(const job *j, workspace *d, lane *l, const tasks *t) {
  double *x =
      t->results != NULL ? t->results + l->number * (uint64_t)j->part->plan->ncomps : d->result;
  l->busy = false;
  if (l->taken > 0)
    find_result(j, l, x);
  if (t->results != NULL)
    t->counts[l->number] = l->taken;
  else
    store_row(j, row_of(j, l->piece.entry), x, l->piece.count, t->sums);
}

/* Make sure that the lane has a prepared nonzero, unless no pieces are left. */
static void refill(const job *j, workspace *d, lane *l, tasks *t) {
  for (;;) {
    if (l->busy && l->used < l->filled)
      return;
    if (l->busy) {
      fill(j, l);
      if (l->filled == 0)
        end_piece(j, d, l, t);
    } else if (t->next < t->count) {
      begin_piece(j, l, &t->pieces[t->next], t->next);
      t->next++;
    } else {
      return;
    }
  }
}

/* Traverse the pieces. Lanes advance side by side while each has a piece, then one after another.
 */
static void traverse_pieces(const job *j, workspace *d, tasks *t) {
  const double least = -j->fit->prior[j->mode];
  for (;;) {
    amped_walker walkers[AMPED_WALKERS];
    uint64_t steps = AMPED_STEPS;
    int busy = 0;
    for (int i = 0; i < AMPED_WALKERS; i++) {
      lane *l = &d->lanes[i];
      refill(j, d, l, t);
      walkers[i] = l->walker;
      busy += l->busy;
      if (l->busy && l->filled - l->used < steps)
        steps = l->filled - l->used;
    }
    if (busy == 0)
      return;
    if (busy == AMPED_WALKERS)
      j->kernels.traversal(walkers, AMPED_WALKERS, steps, j->source.width, j->fit->nonnegative,
                           least);
    for (int i = 0; i < AMPED_WALKERS; i++) {
      lane *l = &d->lanes[i];
      const uint64_t left = l->filled - l->used;
      if (!l->busy)
        continue;
      if (busy < AMPED_WALKERS)
        j->kernels.traversal(&walkers[i], 1, left, j->source.width, j->fit->nonnegative, least);
      l->walker = walkers[i];
      l->used += busy < AMPED_WALKERS ? left : steps;
    }
  }
}

/* --- all rows of a pass ------------------------------------------------------------------------*/

/* Update the unit's own rows that have one piece. Rows without nonzeros, also before them, become
 * the prior. */
static void work_unit(const job *j, workspace *d, uint64_t unit, uint64_t end,
                      amped_row_step_sums *sums) {
  piece pieces[UNIT];
  tasks t = {.pieces = pieces, .sums = sums};
  *sums = (amped_row_step_sums){0};
  for (uint64_t e = unit * UNIT; e < (unit + 1) * UNIT && e < end; e++) {
    const uint64_t row = row_of(j, e);
    const double n = (double)count_here(j, e);
    fill_rows(j, e > 0 ? row_of(j, e - 1) + 1 : 0, row);
    if (!(n > 0.0)) {
      store_row(j, row, NULL, 0.0, NULL);
    } else if (!(j->s->step > 0.0)) {
      load_row(j, row, d->result);
      store_row(j, row, d->result, n, sums);
    } else if (length_of(j, e) <= AMPED_STEP_PIECE) {
      pieces[t.count++] = (piece){.entry = e, .pieces = 1, .count = n};
    }
  }
  traverse_pieces(j, d, &t);
}

/* A list of pieces of long rows, and the partial sum of the current row. */
typedef struct list {
  const job *j;
  uint64_t count;
  double *sum; /* [ncomps] sum over the current row's pieces so far */
  double taken;
  double *out; /* rows are written here, `first` at 0; NULL: they are stored in the factor */
  uint64_t first;
  amped_row_step_sums *sums;
} list;

static void end_row(list *a, const piece *p) {
  const uint64_t n = (uint64_t)a->j->part->plan->ncomps;
  const uint64_t row = row_of(a->j, p->entry);
  if (a->out != NULL) {
    double *out = a->out + (row - a->first) * (n + 1);
    memcpy(out, a->sum, n * sizeof *out);
    out[n] = a->taken;
  } else {
    for (uint64_t c = 0; c < n; c++)
      a->sum[c] /= a->taken;
    store_row(a->j, row, a->sum, p->count, a->sums);
  }
  memset(a->sum, 0, n * sizeof *a->sum);
  a->taken = 0.0;
}

/* Traverse all listed pieces in parallel, then add up their results in the order of the list. */
static void work_list(list *a) {
  const job *j = a->j;
  const uint64_t n = (uint64_t)j->part->plan->ncomps;
  const amped_row_steps_cpu *s = j->s;
  const uint64_t groups = amped_ceil_div(a->count, GROUP);
#pragma omp parallel for schedule(dynamic) num_threads(j->part->threads)
  for (uint64_t g = 0; g < groups; g++) {
    const uint64_t first = g * GROUP;
    tasks t = {.pieces = s->pieces + first,
               .count = a->count - first < GROUP ? a->count - first : GROUP,
               .results = s->results + first * n,
               .counts = s->counts + first};
    const bool before = amped_subnormals_flush(true);
    traverse_pieces(j, &s->workspaces[omp_get_thread_num()], &t);
    (void)amped_subnormals_flush(before);
  }
  for (uint64_t k = 0; k < a->count; k++) {
    const double taken = (double)s->counts[k];
    for (uint64_t c = 0; c < n && s->counts[k] > 0; c++)
      a->sum[c] += taken * s->results[k * n + c];
    a->taken += taken;
    if (s->pieces[k].piece + 1 == s->pieces[k].pieces)
      end_row(a, &s->pieces[k]);
  }
  a->count = 0;
}

/* List the pieces of an entry. n: nonzeros of its row on all ranks that are not held out. */
static void list_entry(list *a, uint64_t entry, double n) {
  const uint64_t pieces = amped_step_pieces(length_of(a->j, entry));
  for (uint64_t p = 0; p < pieces; p++) {
    a->j->s->pieces[a->count++] = (piece){.entry = entry, .piece = p, .pieces = pieces, .count = n};
    if (a->count == LISTED)
      work_list(a);
  }
}

/* The first entry of the row list whose row is at least `row`, a row of the MTTKRP result. */
static uint64_t entry_from(const job *j, uint64_t row) {
  uint64_t low = 0;
  uint64_t high = j->m.copy->rows;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (row_of(j, middle) < row)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Number of entries of own rows. Entries of shared rows follow them. */
static uint64_t own_entries(const job *j) {
  return entry_from(j, j->block_rows);
}

static void add_sums(amped_row_step_sums *to, const amped_row_step_sums *from) {
  to->count += from->count;
  to->penalty += from->penalty;
  to->bias_penalty += from->bias_penalty;
}

static void work_own(const job *j, list *a) {
  const amped_plan *plan = j->part->plan;
  const uint64_t entries = own_entries(j);
  const uint64_t units = amped_ceil_div(entries, UNIT);
#pragma omp parallel for schedule(dynamic) num_threads(j->part->threads)
  for (uint64_t u = 0; u < units; u++) {
    const bool before = amped_subnormals_flush(true);
    work_unit(j, &j->s->workspaces[omp_get_thread_num()], u, entries, &j->s->unit_sums[u]);
    (void)amped_subnormals_flush(before);
  }
  for (uint64_t u = 0; u < units; u++)
    add_sums(a->sums, &j->s->unit_sums[u]);
  for (uint64_t e = 0; e < entries && j->s->step > 0.0; e++) {
    const double n = length_of(j, e) > AMPED_STEP_PIECE ? (double)count_here(j, e) : 0.0;
    if (n > 0.0)
      list_entry(a, e, n);
  }
  work_list(a);
  fill_rows(j, entries > 0 ? row_of(j, entries - 1) + 1 : 0,
            plan->modes[j->mode].rows.rank_rows[plan->rank]);
}

static amped_status steps_begin(amped_tensor_part *part, int mode, const amped_row_fit *fit,
                                double step, uint64_t epoch) {
  amped_row_steps_cpu *s = part->row_steps;
  const double began = amped_time();
  s->fit = *fit;
  s->step = step;
  s->order = amped_step_order_of(epoch);
  s->own = s->shared = (amped_row_step_sums){0};
  const job j = job_make(part, mode);
  list a = {.j = &j, .sums = &s->own};
  AMPED_TRY(amped_calloc(&a.sum, (uint64_t)part->plan->ncomps, sizeof *a.sum, what));
  work_own(&j, &a);
  amped_free(a.sum);
  s->seconds = amped_time() - began;
  amped_trace_span(AMPED_LANE_KERNELS, AMPED_PHASE_KERNEL, mode, began, began + s->seconds);
  return AMPED_OK;
}

static amped_status steps_wait(amped_tensor_part *part, int mode, int block_part,
                               amped_mttkrp_times *times, amped_row_step_sums *sums) {
  amped_row_steps_cpu *s = part->row_steps;
  if (block_part + 1 < part->plan->modes[mode].rows.parts)
    return AMPED_OK;
  times->copy_sec = 0.0;
  times->compute_sec = s->seconds;
  add_sums(sums, &s->own);
  s->own = (amped_row_step_sums){0};
  return AMPED_OK;
}

/* --- split iDps --------------------------------------------------------------------------------*/

static amped_status steps_get_counts(amped_tensor_part *part, int mode, uint64_t row,
                                     uint64_t count, uint64_t *counts) {
  const job j = job_make(part, mode);
  if (count == 0)
    return AMPED_OK;
  memset(counts, 0, count * sizeof *counts);
  for (uint64_t e = entry_from(&j, row); e < j.m.copy->rows && row_of(&j, e) < row + count; e++)
    counts[row_of(&j, e) - row] = count_here(&j, e);
  return AMPED_OK;
}

static amped_status steps_put_counts(amped_tensor_part *part, int mode, uint64_t row,
                                     uint64_t count, const uint64_t *counts) {
  if (count > 0)
    memcpy(part->row_steps->whole[mode] + row - part->plan->modes[mode].rows.block_rows, counts,
           count * sizeof *counts);
  return AMPED_OK;
}

/* Sums of shared rows are computed on request, so they take no memory here. */
static amped_status steps_get_rows(amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                                   double *rows) {
  const job j = job_make(part, mode);
  list a = {.j = &j, .out = rows, .first = row};
  if (count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_calloc(&a.sum, (uint64_t)part->plan->ncomps, sizeof *a.sum, what));
  memset(rows, 0, count * amped_step_row_length(part->plan) * sizeof *rows);
  for (uint64_t e = entry_from(&j, row); e < j.m.copy->rows && row_of(&j, e) < row + count; e++)
    if (j.s->step > 0.0)
      list_entry(&a, e, count_of(&j, e));
    else
      rows[(row_of(&j, e) - row + 1) * amped_step_row_length(part->plan) - 1] =
          (double)count_here(&j, e);
  work_list(&a);
  amped_free(a.sum);
  return AMPED_OK;
}

static amped_status steps_put_rows(amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                                   const double *rows) {
  const job j = job_make(part, mode);
  const uint64_t n = (uint64_t)part->plan->ncomps;
  double *x = part->row_steps->workspaces[0].result;
  for (uint64_t i = 0; i < count; i++) {
    const double *sum = rows + i * (n + 1);
    if (j.s->step > 0.0)
      for (uint64_t c = 0; c < n; c++)
        x[c] = sum[c] / sum[n];
    else
      load_row(&j, row + i, x);
    store_row(&j, row + i, sum[n] > 0.0 ? x : NULL, sum[n], &part->row_steps->shared);
  }
  return AMPED_OK;
}

static amped_status steps_finish(amped_tensor_part *part, int mode, amped_row_step_sums *sums) {
  (void)mode;
  add_sums(sums, &part->row_steps->shared);
  part->row_steps->shared = (amped_row_step_sums){0};
  return AMPED_OK;
}

/* --- squares -----------------------------------------------------------------------------------*/

/* Load the row of an entry into the lane, padded with zeros, and its bias. */
static void take_row(const job *j, lane *l, uint64_t entry) {
  const amped_vtype type = j->m.value_type;
  const char *place = place_of(j, row_of(j, entry));
  for (uint64_t c = 0; c < j->source.width; c++)
    amped_value_put(l->row, type, c,
                    c < j->source.components ? amped_value_get(place, type, c) : 0.0);
  l->bias[0] = j->fit->biased ? amped_value_get(place, type, j->source.components) : 0.0;
}

/* Sum of squared errors at nonzeros of one row: the bits `take` of a bundle. */
static double squares_of(const job *j, const lane *l, const amped_bundle *b, uint64_t take) {
  double squares = 0.0;
  for (int half = 0; half < AMPED_BUNDLE / AMPED_STEPS; half++) {
    const uint64_t some = take & ((UINT64_C(1) << AMPED_STEPS) - 1) << half * AMPED_STEPS;
    const uint64_t count = (uint64_t)__builtin_popcountll(some);
    if (count == 0)
      continue;
    j->rows.products(&j->source, b, some, l->products, l->targets);
    squares +=
        j->kernels.errors(l->products, l->targets, count, j->source.width, l->row, l->bias[0]);
  }
  return squares;
}

static double squares_of_unit(const job *j, amped_bundle_decoder *decode, workspace *d,
                              uint64_t unit) {
  const amped_cpu_copy *copy = j->m.copy;
  const uint64_t first = unit * AMPED_ROW_UNIT;
  const uint64_t end = first + AMPED_ROW_UNIT < copy->nnz ? first + AMPED_ROW_UNIT : copy->nnz;
  uint64_t entry = amped_cpu_copy_index(copy, copy->row_table, first / copy->packing->pack);
  lane *l = &d->lanes[0];
  amped_bundle *b = d->lanes[0].bundle;
  amped_bundle *ahead = d->lanes[1].bundle;
  double squares = 0.0;
  take_row(j, l, entry);
  decode(&j->m, first, end, ahead);
  for (uint64_t k = first; k < end; k += AMPED_BUNDLE) {
    amped_bundle *const swap = b;
    b = ahead;
    ahead = swap;
    if (k + AMPED_BUNDLE < end) {
      decode(&j->m, k + AMPED_BUNDLE, end, ahead);
      fetch_rows(j, ahead);
    }
    uint64_t left = ~j->held[k / 64] & (b->count < 64 ? (UINT64_C(1) << b->count) - 1 : UINT64_MAX);
    uint64_t begins = k > first ? b->begins : b->begins & ~UINT64_C(1);
    while (begins != 0) {
      const uint64_t before = (begins & -begins) - 1;
      squares += squares_of(j, l, b, left & before);
      left &= ~before;
      begins &= begins - 1;
      take_row(j, l, ++entry);
    }
    squares += squares_of(j, l, b, left);
  }
  return squares;
}

static amped_status steps_squares(amped_tensor_part *part, int mode, const amped_row_fit *fit,
                                  double *squares) {
  amped_row_steps_cpu *s = part->row_steps;
  s->fit = *fit;
  const job j = job_make(part, mode);
  amped_bundle_decoder *const decode = amped_bundle_decoder_find();
  const uint64_t units = amped_row_fit_cpu_units(part->plan, mode);
#pragma omp parallel for schedule(dynamic) num_threads(part->threads)
  for (uint64_t u = 0; u < units; u++) {
    const bool before = amped_subnormals_flush(true);
    s->squares[u] = squares_of_unit(&j, decode, &s->workspaces[omp_get_thread_num()], u);
    (void)amped_subnormals_flush(before);
  }
  for (uint64_t u = 0; u < units; u++)
    *squares += s->squares[u];
  return AMPED_OK;
}

/* --- saved rows --------------------------------------------------------------------------------*/

static void *own_rows(const amped_tensor_part *part, int mode) {
  return (char *)amped_factor_set_cpu.rows(part->factors, mode) +
         (uint64_t)part->plan->rank * own_bytes(part->plan, mode);
}

static amped_status steps_keep(amped_tensor_part *part) {
  for (int m = 0; m < part->plan->order; m++)
    memcpy(part->row_steps->kept[m], own_rows(part, m), own_bytes(part->plan, m));
  return AMPED_OK;
}

static amped_status steps_restore(amped_tensor_part *part) {
  for (int m = 0; m < part->plan->order; m++)
    memcpy(own_rows(part, m), part->row_steps->kept[m], own_bytes(part->plan, m));
  return AMPED_OK;
}

const amped_row_step_ops amped_row_steps_cpu_ops = {.require = steps_require,
                                                    .prepare = steps_prepare,
                                                    .get_counts = steps_get_counts,
                                                    .put_counts = steps_put_counts,
                                                    .begin = steps_begin,
                                                    .wait = steps_wait,
                                                    .get_rows = steps_get_rows,
                                                    .put_rows = steps_put_rows,
                                                    .finish = steps_finish,
                                                    .squares = steps_squares,
                                                    .keep = steps_keep,
                                                    .restore = steps_restore};
