/* MTTKRP and fit sums over a box copy on CPU cores. */
#include "cpu/boxes/box_mttkrp_cpu.h"

#include <omp.h>
#include <string.h>

#include "cpu/boxes/box_bundle.h"
#include "cpu/sorted/bundle_decode.h"
#include "base/cpu_dispatch.h"

#define CACHE_LINE 64

uint64_t amped_box_mttkrp_own_bytes(const amped_plan *plan, int mode) {
  const uint64_t elements = amped_box_traversal_own_rows(plan, mode) * plan->ld;
  return amped_ceil_div(elements * (sizeof(double) + sizeof(float)), CACHE_LINE) * CACHE_LINE;
}

/* Address of mode's factor row at field 0 of a piece. */
static const void *factor_of(const amped_box_copy *c, const amped_box_factors *f, int mode,
                             const amped_box_piece *piece) {
  const amped_plan *plan = c->plan;
  const uintptr_t row_bytes = amped_plan_row_bytes(plan);
  if (mode != plan->boxed || !piece->shared)
    return (const void *)((uintptr_t)f->rows[mode] + piece->base[mode] * row_bytes);
  /* Field 0 may lie before the shared rows, but no nonzero does. */
  return (const void *)((uintptr_t)f->shared +
                        (piece->base[mode] - plan->modes[mode].rows.block_rows) * row_bytes);
}

/* --- bundles ---------------------------------------------------------------------------------- */

/* Data shared by all units, and a thread's workspace. */
typedef struct job {
  const amped_box_mttkrp *m;
  amped_box_shape shape;
  amped_cpu_copy view; /* the box copy as the decoder reads it */
  amped_bundle_box_decoder *decode;
  amped_box_kernel *kernel, *double_kernel;
  double *doubles;
  float *floats;
} job;

/* A unit in progress. */
typedef struct trip {
  const job *j;
  const amped_box_unit *u;
  amped_cpu_mttkrp view;
  const amped_box_piece *piece;
  uint64_t turn;   /* turn of the next piece */
  uint64_t k, end; /* remaining nonzeros of the current piece */
  uint64_t terms;  /* upper bound of terms per row among them */
  char *sums;      /* sums of the tile's first row */
  amped_box_sums to;
} trip;

static void begin_piece(trip *t) {
  const amped_box_mttkrp *m = t->j->m;
  t->piece = &m->copy->pieces[m->traversal->order[t->turn++]];
  t->k = t->piece->first;
  t->end = t->k + t->piece->count;
  t->terms = t->piece->most[m->mode];
  for (int i = 0; i < t->j->shape.inputs; i++) {
    const int a = t->j->shape.modes[i];
    t->view.factors[a] = factor_of(m->copy, &m->factors, a, t->piece);
  }
  t->to.base = (uintptr_t)t->sums + (t->piece->base[m->mode] - t->u->row) * t->to.bytes;
}

/* Direct the nonzeros of frequent rows to their sums in double, which lie one after another. */
static void find_frequent(const trip *t, amped_box_bundle *b) {
  const amped_box_traversal *w = t->j->m->traversal;
  const uint64_t base = t->piece->base[t->j->m->mode];
  const uint64_t before = amped_box_traversal_frequent(w, t->u->row);
  for (int i = 0; i < b->bundle.count; i++) {
    const uint64_t row = base + b->fields[i];
    if (w->frequent[row / 64] >> row % 64 & 1) {
      b->frequent |= UINT64_C(1) << i;
      b->sums[i] = (uintptr_t)(t->j->doubles +
                               (amped_box_traversal_frequent(w, row) - before) * t->j->shape.ld);
    }
  }
}

/* Decode the unit's next bundle. *terms = upper bound of its terms per row. Returns false at the
 * end of the unit. */
static bool next_bundle(trip *t, amped_box_bundle *b, uint64_t *terms) {
  if (t->k == t->end && t->turn == t->u->end)
    return false;
  if (t->k == t->end)
    begin_piece(t);
  t->j->decode(&t->view, &t->to, t->k, t->end, &b->bundle, b->fields, b->sums);
  b->frequent = 0;
  if (t->u->way == AMPED_BOX_FREQUENT)
    find_frequent(t, b);
  t->k += (uint64_t)b->bundle.count;
  *terms = t->terms < AMPED_BUNDLE ? t->terms : AMPED_BUNDLE;
  t->terms -= *terms;
  return true;
}

/* --- units ------------------------------------------------------------------------------------ */

static uint64_t row_bytes_of(const amped_box_mttkrp *m) {
  return amped_plan_row_bytes(m->copy->plan);
}

static char *out_row(const amped_box_mttkrp *m, uint64_t row) {
  return (char *)m->out + row * row_bytes_of(m);
}

static void clear_rows(const amped_box_mttkrp *m, uint64_t first, uint64_t end) {
  if (first < end)
    memset(out_row(m, first), 0, (end - first) * row_bytes_of(m));
}

/* Add the float sums to the sums in double, and zero the floats. */
static void flush(const amped_box_unit *u, uint64_t ld, float *floats, double *doubles) {
  for (uint64_t e = 0; e < u->rows * ld; e++) {
    doubles[e] += (double)floats[e];
    floats[e] = 0.0F;
  }
}

/* Sums in double of a unit: a part's are in its slot, a tile's in the thread's workspace. */
static double *doubles_of(const job *j, const amped_box_unit *u) {
  return u->slot == AMPED_NO_ROW ? j->doubles : j->m->slots + u->slot * j->shape.ld;
}

/* Zero the unit's sums and set their address. */
static void begin_sums(trip *t) {
  const job *j = t->j;
  const amped_box_unit *u = t->u;
  const uint64_t rows = u->way == AMPED_BOX_FREQUENT ? u->frequent : u->rows;
  clear_rows(j->m, u->clear, u->until);
  t->sums = out_row(j->m, u->row);
  t->to.bytes = row_bytes_of(j->m);
  if (u->way != AMPED_BOX_DIRECT)
    memset(doubles_of(j, u), 0, rows * j->shape.ld * sizeof(double));
  if (u->way == AMPED_BOX_FLUSHED && u->slot != AMPED_NO_ROW) {
    t->sums = (char *)j->floats;
    memset(t->sums, 0, u->rows * t->to.bytes);
  }
  if (u->way == AMPED_BOX_DOUBLE) {
    t->sums = (char *)doubles_of(j, u);
    t->to.bytes = j->shape.ld * sizeof(double);
  }
}

/* Round sums in double to rows of the output, which are floats. */
static void put_doubles(const amped_box_mttkrp *m, uint64_t row, uint64_t rows,
                        const double *doubles) {
  float *const out = (float *)(void *)out_row(m, row);
  for (uint64_t e = 0; e < rows * m->copy->plan->ld; e++)
    out[e] = (float)doubles[e];
}

/* Finish a unit: write a tile's sums in double to the output. A part's sums stay in its slot. */
static void end_sums(trip *t) {
  const job *j = t->j;
  const amped_box_unit *u = t->u;
  const amped_box_traversal *w = j->m->traversal;
  if (u->way == AMPED_BOX_FLUSHED) {
    flush(u, j->shape.ld, (float *)t->sums, doubles_of(j, u));
    if (u->slot == AMPED_NO_ROW)
      put_doubles(j->m, u->row, u->rows, j->doubles);
  }
  uint64_t n = 0;
  for (uint64_t row = u->row; u->way == AMPED_BOX_FREQUENT && n < u->frequent; row++)
    if (w->frequent[row / 64] >> row % 64 & 1)
      put_doubles(j->m, row, 1, j->doubles + n++ * j->shape.ld);
}

static void sum_unit(const job *j, const amped_box_unit *u) {
  const amped_box_mttkrp *m = j->m;
  trip t = {.j = j, .u = u, .turn = u->first, .to = {.mode = m->mode}};
  amped_box_bundle bundles[2];
  uint64_t terms[2] = {0, 0};
  uint64_t sum = 0; /* float terms per row since the last flush */
  t.view = (amped_cpu_mttkrp){.copy = &j->view,
                              .value_type = m->copy->plan->value_type,
                              .dictionary = m->codebook->values,
                              .ruler = m->codebook->ruler,
                              .ld = j->shape.ld};
  begin_sums(&t);
  bool more = next_bundle(&t, &bundles[0], &terms[0]);
  for (int turn = 0; more; turn = !turn) {
    const amped_box_bundle *b = &bundles[turn];
    const uint64_t all = UINT64_MAX >> (AMPED_BUNDLE - b->bundle.count);
    more = next_bundle(&t, &bundles[!turn], &terms[!turn]);
    const amped_box_bundle *ahead = more ? &bundles[!turn] : b;
    if (u->way == AMPED_BOX_FLUSHED && sum + terms[turn] > AMPED_FLOAT_TERMS) {
      flush(u, j->shape.ld, (float *)t.sums, doubles_of(j, u));
      sum = 0;
    }
    sum += terms[turn];
    if (u->way != AMPED_BOX_DOUBLE)
      j->kernel(&j->shape, b, ahead, all & ~b->frequent);
    if (u->way == AMPED_BOX_DOUBLE || b->frequent != 0)
      j->double_kernel(&j->shape, b, ahead, u->way == AMPED_BOX_DOUBLE ? all : b->frequent);
  }
  end_sums(&t);
}

/* --- joins ------------------------------------------------------------------------------------ */

static void join(const amped_box_mttkrp *m, const amped_box_join *j) {
  const amped_plan *plan = m->copy->plan;
  const uint64_t elements = j->rows * plan->ld;
  clear_rows(m, j->clear, j->row);
  clear_rows(m, j->row + j->rows, j->until);
  for (uint64_t e = 0; e < elements; e++) {
    double sum = 0.0;
    for (uint64_t p = 0; p < j->parts; p++)
      sum += m->slots[j->slot * plan->ld + p * elements + e];
    amped_value_put(out_row(m, j->row), plan->value_type, e, sum);
  }
}

/* --- MTTKRP ----------------------------------------------------------------------------------- */

/* True if a box's range of mode's rows is too large for a core's caches. */
static bool is_large(const amped_box_copy *c, int mode) {
  const uint64_t range = UINT64_C(1) << c->plan->linear.low_bits[mode];
  const uint64_t rows = amped_box_traversal_rows(c->plan, mode);
  return (range < rows ? range : rows) * amped_plan_row_bytes(c->plan) > AMPED_CACHED_BYTES;
}

static amped_box_shape shape_of(const amped_box_mttkrp *m) {
  const amped_plan *plan = m->copy->plan;
  amped_box_shape s = {.ld = plan->ld, .fetch_sums = is_large(m->copy, m->mode)};
  s.fetches = s.fetch_sums;
  for (int a = 0; a < plan->order; a++)
    if (a != m->mode) {
      s.fetch[s.inputs] = is_large(m->copy, a);
      s.fetches = s.fetches || s.fetch[s.inputs];
      s.modes[s.inputs++] = a;
    }
  return s;
}

static amped_cpu_copy view_of(const amped_box_copy *c) {
  amped_cpu_copy view = {.packing = &c->plan->linear.packing,
                         .index_type = c->plan->index_type,
                         .value_type = c->plan->value_type,
                         .nnz = c->nnz,
                         .values = c->values};
  memcpy(view.planes, c->planes, sizeof view.planes);
  return view;
}

void amped_box_mttkrp_cpu(const amped_box_mttkrp *m, int threads) {
  const amped_plan *plan = m->copy->plan;
  const amped_box_traversal *w = m->traversal;
  const amped_box_shape shape = shape_of(m);
  const job all = {.m = m,
                   .shape = shape,
                   .view = view_of(m->copy),
                   .decode = amped_bundle_box_decoder_find(),
                   .kernel = amped_box_kernel_find(plan->value_type, plan->value_type, plan->ld,
                                                   shape.inputs, w->runs),
                   .double_kernel = amped_box_kernel_find(plan->value_type, AMPED_F64, plan->ld,
                                                          shape.inputs, w->runs)};
  if (w->unit_count == 0)
    clear_rows(m, 0, w->rows);
#pragma omp parallel num_threads(threads)
  {
    job own = all;
    own.doubles = (double *)(m->own + (uint64_t)omp_get_thread_num() * m->own_bytes);
    own.floats = (float *)(own.doubles + amped_box_traversal_own_rows(plan, m->mode) * plan->ld);
#pragma omp for schedule(dynamic)
    for (uint64_t i = 0; i < w->unit_count; i++)
      sum_unit(&own, &w->units[i]);
#pragma omp for schedule(dynamic)
    for (uint64_t i = 0; i < w->join_count; i++)
      join(m, &w->joins[i]);
  }
}

/* --- products --------------------------------------------------------------------------------- */

static void sum_piece(const amped_box_products *p, amped_cpu_model_value *value,
                      const amped_box_piece *piece, amped_products *out) {
  const amped_plan *plan = p->copy->plan;
  const amped_packing *packing = &plan->linear.packing;
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  const amped_cpu_model model = {plan->value_type, plan->ncomps, p->weights};
  *out = (amped_products){{0.0, 0.0}, {0.0, 0.0}};
  for (uint64_t k = piece->first; k < piece->first + piece->count; k++) {
    uint64_t w[AMPED_MAX_PLANES];
    const void *rows[AMPED_MAX_ORDER];
    amped_packed_get(packing, (const void *const *)p->copy->planes, k, w);
    for (int m = 0; m < plan->order; m++)
      rows[m] = (const char *)factor_of(p->copy, &p->factors, m, piece) +
                amped_packed_field(w, packing->shifts[m], packing->bits[m]) * row_bytes;
    double x =
        packing->coded
            ? amped_value_get(p->codebook->values, plan->value_type,
                              amped_packed_field(w, packing->value_shift, packing->value_bits))
            : amped_value_get(p->copy->values, plan->value_type, k);
    x *= p->scale;
    out->xx = amped_dd_add(out->xx, amped_dd_product(x, x));
    out->xm = amped_dd_add(out->xm, amped_dd_scale(value(&model, rows, plan->order), x));
  }
}

void amped_box_products_cpu(const amped_box_products *p, int threads, amped_products *out) {
  amped_cpu_model_value *const value = amped_cpu_model_find();
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (uint64_t i = 0; i < p->copy->piece_count; i++)
    sum_piece(p, value, &p->copy->pieces[i], &p->pieces[i]);
  *out = (amped_products){{0.0, 0.0}, {0.0, 0.0}};
  for (uint64_t i = 0; i < p->copy->piece_count; i++) {
    out->xx = amped_dd_add(out->xx, p->pieces[i].xx);
    out->xm = amped_dd_add(out->xm, p->pieces[i].xm);
  }
}
