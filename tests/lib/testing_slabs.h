/* Common parts of the tests of dense formats: tensors of random cells, the ranks of a plan with
 * their slabs, and shapes of all orders. */
#ifndef AMPED_TESTING_SLABS_H
#define AMPED_TESTING_SLABS_H

#include "tests/lib/testing_backend.h"

#define MOST_RANKS 4

/* A dense tensor, its cells in C's order of modes, and factors in file order. */
typedef struct dense {
  amped_dense_info dense;
  amped_tensor_info info;
  amped_sptensor t; /* the same cells, for the oracle */
  char *cells;
  double *factors[AMPED_MAX_ORDER];
  int ncomps;
  amped_vtype value_type;
  double eps;
} dense;

/* All ranks of a plan. */
typedef struct team {
  dense *x;
  int nranks;
  amped_plan plans[MOST_RANKS];
  amped_worker workers[MOST_RANKS];
} team;

/* How the ranks of a team are made. */
typedef struct ways {
  int nranks;
  int slab_mode; /* -1: the plan's */
  int tree;      /* -1: the plan's */
  int threads;   /* 0: 2 */
  int streams;   /* so many eighths of the cells, about; on a device that has its own memory */
} ways;

/* --- tensors ---------------------------------------------------------------------------------- */

/* A random cell of any size that is finite: integers up to 31 bits, all half floats. */
static inline void put_random(void *cells, amped_cell_type type, uint64_t i) {
  const uint64_t bits = amped_random_u64(5, (uint64_t)type, i);
  const double x = 4.0 * amped_random_double(6, 0, i) - 1.0;
  const uint64_t bytes = amped_cell_bytes(type);
  const uint16_t half = (uint16_t)((bits & 0x8000) | (bits % 0x7c00));
  const uint64_t number = bytes < 4 ? bits : bits % (UINT64_C(1) << 31);
  const float single = (float)x;
  const void *from = &number; /* the low bytes come first on the machines that we know */
  if (type == AMPED_CELL_F16)
    from = &half;
  else if (type == AMPED_CELL_F32)
    from = &single;
  else if (type == AMPED_CELL_F64)
    from = &x;
  memcpy((char *)cells + i * bytes, from, bytes);
}

static inline void dense_create(dense *x, int order, const uint64_t *dims, const int *layout,
                                amped_cell_type type, int ncomps, amped_vtype value_type) {
  memset(x, 0, sizeof *x);
  x->ncomps = ncomps;
  x->value_type = value_type;
  x->eps = value_type == AMPED_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
  x->dense.order = order;
  x->dense.type = type;
  x->dense.cells = 1;
  for (int m = 0; m < order; m++) {
    x->dense.dims[m] = dims[m];
    x->dense.layout[m] = layout[m];
    x->dense.cells *= dims[m];
    x->factors[m] = random_rows(dims[m], ncomps, value_type, (uint64_t)m);
  }
  check_ok(amped_tensor_info_of_cells(&x->dense, &x->info));
  check_ok(amped_alloc(&x->cells, x->dense.cells, amped_cell_bytes(type), "a test"));
  check_ok(amped_sptensor_create(&x->t, order, x->dense.cells));
  memcpy(x->t.dims, x->dense.dims, sizeof x->t.dims);
  for (uint64_t i = 0; i < x->dense.cells; i++) {
    uint64_t rest = i;
    put_random(x->cells, type, i);
    amped_cells_get(x->cells, type, i, 1, &x->t.values[i]);
    for (int m = order - 1; m >= 0; m--) {
      x->t.indices[m][i] = rest % dims[m];
      rest /= dims[m];
    }
  }
}

static inline void dense_free(dense *x) {
  for (int m = 0; m < x->dense.order; m++)
    amped_free(x->factors[m]);
  amped_free(x->cells);
  amped_sptensor_free(&x->t);
  amped_tensor_info_free(&x->info);
}

/* --- ranks ------------------------------------------------------------------------------------ */

/* Another slab mode than the plan's: own rows of it, as in set_slab of plan.c. */
static inline void force_slab(amped_plan *plan, const amped_dense_info *info, int mode) {
  amped_dense_plan *d = &plan->dense;
  d->slab_mode = mode;
  d->first = 0;
  for (int p = 0; p < plan->rank; p++)
    d->first += plan->modes[mode].rows.rank_rows[p];
  d->count = plan->modes[mode].rows.rank_rows[plan->rank];
  d->cells = 1;
  for (int m = 0; m < plan->order; m++) {
    d->dims[m] = m == mode ? d->count : info->dims[m];
    d->cells *= d->dims[m];
  }
}

/* The rank's slab, in its layout. */
static inline char *slab_of(const dense *x, const amped_plan *plan) {
  const amped_dense_plan *d = &plan->dense;
  const uint64_t bytes = amped_cell_bytes(d->type);
  char *slab = NULL;
  check_ok(amped_calloc(&slab, d->cells + 1, bytes, "a test"));
  for (uint64_t i = 0; i < d->cells; i++) {
    uint64_t rest = i;
    uint64_t index[AMPED_MAX_ORDER] = {0};
    uint64_t number = 0;
    for (int k = plan->order - 1; k >= 0; k--) {
      index[d->layout[k]] = rest % d->dims[d->layout[k]];
      rest /= d->dims[d->layout[k]];
    }
    index[d->slab_mode] += d->first;
    for (int m = 0; m < plan->order; m++)
      number = number * x->dense.dims[m] + index[m];
    memcpy(slab + i * bytes, x->cells + number * bytes, bytes);
  }
  return slab;
}

/* In pieces of different sizes; the first has one cell, and one piece is empty. */
static inline void insert_slab(const dense *x, const amped_plan *plan, const amped_worker *w) {
  const uint64_t cells = plan->dense.cells;
  const uint64_t bytes = amped_cell_bytes(plan->dense.type);
  const uint64_t ends[] = {cells > 0 ? 1 : 0, cells / 3, cells / 3, cells};
  uint64_t first = 0;
  char *slab = slab_of(x, plan);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    if (ends[i] < first)
      continue;
    check_ok(w->format->insert_cells(w->tensor, first, ends[i] - first, slab + first * bytes));
    first = ends[i];
  }
  check_ok(w->format->finish(w->tensor, 0));
  amped_free(slab);
}

/* Rows of mode's factor, in file order, to this rank's factor. */
static inline void put_mode(const team *s, int p, int mode, const double *rows) {
  const amped_plan *plan = &s->plans[p];
  const amped_worker *w = &s->workers[p];
  for (uint64_t i = 0; i < plan->dims[mode]; i++)
    check_ok(w->backend->factors->put_rows(w->factors, mode, amped_plan_position(plan, mode, i), 1,
                                           rows + i * (uint64_t)plan->ncomps));
}

static inline amped_requirement requirement(const amped_plan *plan,
                                            const amped_backend_options *options) {
  amped_requirement r;
  amped_worker w;
  check_ok(amped_worker_open(&w, backend(), options));
  check_ok(amped_worker_require(&w, plan, &r));
  amped_worker_close(&w);
  return r;
}

/* Less of the device's memory than all cells take, but as much as streaming them takes. */
static inline void leave_less(const amped_plan *plan, int eighths, amped_backend_options *options) {
  options->residency = AMPED_RESIDENCY_RESIDENT;
  const amped_requirement all = requirement(plan, options);
  options->residency = AMPED_RESIDENCY_STREAM;
  const amped_requirement none = requirement(plan, options);
  ck_assert_uint_eq(all.streamed_bytes[0], 0);
  ck_assert_uint_eq(all.host_bytes, 0);
  ck_assert_uint_eq(none.streamed_bytes[0], none.copy_bytes[0]);
  ck_assert_uint_eq(none.host_bytes, none.copy_bytes[0]);
  if (eighths == 8)
    return;
  options->residency = AMPED_RESIDENCY_AUTO;
  options->device_memory = all.device_bytes - all.copy_bytes[0] / 8 * (uint64_t)eighths;
  if (options->device_memory < none.device_bytes)
    options->device_memory = none.device_bytes;
  ck_assert_uint_le(requirement(plan, options).device_bytes, options->device_memory);
}

static inline void team_open(team *s, dense *x, const ways *how) {
  memset(s, 0, sizeof *s);
  s->x = x;
  s->nranks = how->nranks;
  for (int p = 0; p < s->nranks; p++) {
    amped_plan *plan = &s->plans[p];
    amped_worker *w = &s->workers[p];
    amped_backend_options options = {
        .threads = how->threads > 0 ? how->threads : 2, .local_size = 1, .format = "dense"};
    const amped_plan_request request = {.ncomps = x->ncomps,
                                        .value_type = x->value_type,
                                        .rank = p,
                                        .nranks = s->nranks,
                                        .needs = {.cells = true}};
    check_ok(amped_plan_create(plan, &x->info, &request));
    if (how->slab_mode >= 0)
      force_slab(plan, &x->dense, how->slab_mode);
    if (how->tree >= 0)
      plan->dense.tree = (amped_dense_tree)how->tree;
    if (how->streams > 0 && backend()->device_pointers)
      leave_less(plan, how->streams, &options);
    check_ok(amped_worker_open(w, backend(), &options));
    check_ok(amped_worker_prepare(w, plan));
    insert_slab(x, plan, w);
    for (int m = 0; m < plan->order; m++)
      put_mode(s, p, m, x->factors[m]);
  }
}

static inline void team_close(team *s) {
  for (int p = 0; p < s->nranks; p++) {
    amped_worker_close(&s->workers[p]);
    amped_plan_destroy(&s->plans[p]);
  }
}

/* --- shapes ----------------------------------------------------------------------------------- */

typedef struct shape {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
} shape;

static const shape shapes[] = {
    {3, {1, 1, 1}},          {3, {2, 3, 5}},      {3, {7, 1, 5}},       {3, {13, 11, 17}},
    {3, {101, 3, 7}},        {3, {2, 149, 13}},   {3, {5, 6, 211}},     {4, {3, 5, 7, 2}},
    {4, {6, 1, 13, 4}},      {4, {7, 11, 5, 13}}, {5, {3, 2, 5, 4, 3}}, {6, {2, 3, 1, 4, 3, 2}},
    {6, {1, 2, 7, 2, 3, 5}},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

/* 0: C's, 1: Fortran's, 2: another. */
static inline void make_layout(int kind, int order, int *layout) {
  for (int k = 0; k < order; k++)
    layout[k] = kind == 0 ? k : kind == 1 ? order - 1 - k : (k * (order - 1) + 1) % order;
  if (kind == 2) { /* the last two change places */
    const int last = layout[order - 1];
    layout[order - 1] = layout[order - 2];
    layout[order - 2] = last;
  }
}

static inline void shape_create(dense *x, size_t s, int kind, amped_cell_type type, int ncomps,
                                amped_vtype value_type) {
  int layout[AMPED_MAX_ORDER];
  make_layout(kind, shapes[s].order, layout);
  dense_create(x, shapes[s].order, shapes[s].dims, layout, type, ncomps, value_type);
}

static const int ncomps_of[] = {1, 3, 16, 17, 32, 41};
#define NCOMPS(i) ncomps_of[(i) % (sizeof ncomps_of / sizeof *ncomps_of)]

#endif
