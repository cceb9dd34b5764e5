/* Fits of rows by all ranks of a plan, which one process plays: problems whose rows have given
 * lengths or split iDps, a team of ranks, what is held out, and sums of shared rows. Every problem
 * and team is closed by its test. */
#ifndef AMPED_TESTING_FITS_H
#define AMPED_TESTING_FITS_H

#include "tests/lib/testing_backend.h"

#define MOST_RANKS 4
#define TENTH (UINT64_MAX / 10)

static const uint64_t odd_dims[AMPED_MAX_ORDER] = {13, 7, 29, 1, 5, 3, 11, 19};

static inline void *long_doubles(uint64_t count) {
  long double *out = NULL;
  check_ok(amped_calloc(&out, count, sizeof *out, "a test"));
  return out;
}

/* Numbers in the backend's memory: indices and values of a list part, which the caller destroys. */
static inline amped_list_part *put_numbers(const bench *b, uint64_t count, uint64_t *indices,
                                           void *values, amped_vtype type, amped_nonzeros *out) {
  const amped_list_shape shape = {.order = 1,
                                  .dims = {UINT64_MAX},
                                  .index_types = {AMPED_U64},
                                  .value_type = type,
                                  .capacity = count,
                                  .nranks = 1,
                                  .window = count};
  void *const arrays[] = {indices};
  amped_list_part *list = NULL;
  check_ok(b->w.backend->lists->create(b->w.device, &shape, &list));
  check_ok(b->w.backend->lists->append(list, count, arrays, values));
  b->w.backend->lists->view(list, 0, count, out);
  return list;
}

/* --- problems ----------------------------------------------------------------------------------*/

static inline amped_row_fit fit_of(bool biased) {
  amped_row_fit fit = {
      .biased = biased, .mean = 0.75, .scale = 1.25, .reg = 0.3, .reg_power = 0.5, .reg_bias = 3.0};
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    fit.pull[m] = m == 2 ? 10.0 : 1.0;
    fit.prior[m] = m == 2 ? 1.0 : 0.0;
  }
  return fit;
}

/* New indices of mode m: nonzeros are sorted by it, and counted again. */
static inline void sort_again(problem *p, int m) {
  check_ok(amped_sptensor_sort(&p->t, m));
  amped_partition_free(&p->info.partitions[m]);
  check_ok(amped_partition_create(&p->info.partitions[m], p->t.dims[m], p->t.indices[m], p->t.nnz));
}

/* A problem of order 3 whose rows of mode 0 have these numbers of nonzeros. */
static inline void rows_problem(problem *p, const uint64_t *lengths, uint64_t count, int ncomps,
                                amped_vtype type) {
  const uint64_t dims[] = {count, 41, 31};
  uint64_t nnz = 0;
  uint64_t k = 0;
  for (uint64_t i = 0; i < count; i++)
    nnz += lengths[i];
  problem_create(p, 3, dims, nnz, ncomps, type);
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t j = 0; j < lengths[i]; j++)
      p->t.indices[0][k++] = i;
  sort_again(p, 0);
}

/* A problem of order 4 with split iDps: row 0 has three of five nonzeros. */
static inline void split_problem(problem *p, uint64_t nnz, int ncomps, amped_vtype type) {
  static const uint64_t dims[] = {7001, 3, 300, 41};
  problem_create(p, 4, dims, nnz, ncomps, type);
  for (uint64_t k = 0; k < p->t.nnz; k++)
    if (k % 5 < 3)
      p->t.indices[0][k] = 0;
  sort_again(p, 0);
}

/* How 2 to 4 ranks share it. */
static inline setup split_setup(int nranks) {
  setup how = alone();
  how.placement = nranks == 4 ? AMPED_PLACEMENT_EQUAL : AMPED_PLACEMENT_GREEDY;
  how.index_type = nranks == 3 ? AMPED_U64 : AMPED_U32;
  how.parts = nranks == 3 ? 4 : 0;
  return how;
}

/* --- a team ------------------------------------------------------------------------------------*/

/* A problem's fits by all ranks. */
typedef struct team {
  problem *p;
  int nranks;
  bench ranks[MOST_RANKS];
  amped_row_fit fit;
  uint64_t seed, below;        /* choice of held-out entries */
  const uint32_t *const *keys; /* by which they are chosen; NULL: indices */
  bool weighted;
  /* row fits */
  double *base;              /* sums of the current mode, if fit.implicit > 0 */
  struct history *histories; /* [nranks] of the current mode; NULL: none */
  /* row steps */
  double step;
  uint64_t epoch;
  /* block fits, whose factors are the problem's */
  amped_plan columns[MOST_RANKS];
  amped_factor_set *sets[MOST_RANKS];
  amped_block_fit *fits[MOST_RANKS];
  int width, first, count;
  double visits; /* passes over a copy since its targets were made */
} team;

static inline uint64_t components_of(const team *t) {
  return (uint64_t)t->p->ncomps - (t->fit.biased ? 1 : 0);
}

/* A nonzero's weight depends on its coordinate alone: 0, 0.5, 1, ... 2. */
static inline double weight_at(const team *t, uint64_t k) {
  uint64_t hash = 77;
  for (int m = 0; m < t->p->t.order; m++)
    hash = amped_hash_index(hash, t->p->t.indices[m][k]);
  return t->weighted ? 0.5 * (double)(hash % 5) : 1.0;
}

/* Entries of weight 0 are not held out. */
static inline bool is_held(const team *t, uint64_t k) {
  uint64_t index[AMPED_MAX_ORDER];
  for (int m = 0; m < t->p->t.order; m++) {
    index[m] = t->p->t.indices[m][k];
    if (t->keys != NULL && t->keys[m] != NULL)
      index[m] = t->keys[m][index[m]];
  }
  return amped_held_out(t->p->t.order, index, t->seed, t->below) && weight_at(t, k) > 0.0;
}

static inline uint64_t count_held(const team *t) {
  uint64_t count = 0;
  for (uint64_t k = 0; k < t->p->t.nnz; k++)
    count += is_held(t, k);
  return count;
}

/* All ranks have their copies, which serve row fits. The caller then prepares what else it fits,
 * and calls team_hold_out. */
static inline void team_load(team *t, problem *p, int nranks, setup how, const amped_row_fit *fit,
                             uint64_t below, bool weighted) {
  *t = (team){
      .p = p, .nranks = nranks, .fit = *fit, .seed = 5, .below = below, .weighted = weighted};
  how.nranks = nranks;
  how.needs.whole_rows = true;
  for (int r = 0; r < nranks; r++) {
    bench *s = &t->ranks[r];
    how.rank = r;
    bench_plan(s, p, &how);
    bench_load(s);
    ck_assert_ptr_nonnull(s->w.format->row_fit);
    check_ok(s->w.format->row_fit->prepare(s->w.tensor, weighted));
  }
}

static inline void team_hold_out(const team *t) {
  uint64_t held = 0;
  for (int r = 0; r < t->nranks; r++) {
    uint64_t own = 0;
    const bench *s = &t->ranks[r];
    check_ok(s->w.format->row_fit->hold_out(s->w.tensor, NULL, t->seed, t->below, &own));
    held += own;
  }
  ck_assert_uint_eq(held, count_held(t));
}

static inline void team_close(team *t) {
  amped_free(t->base);
  for (int r = 0; r < t->nranks; r++)
    bench_close(&t->ranks[r]);
}

/* --- rows of all ranks -------------------------------------------------------------------------*/

/* Numbers of consecutive rows from a rank, or to it: rows of its copy, or of its block. */
typedef amped_status (*rows_call)(const team *t, int rank, int mode, uint64_t row, uint64_t rows,
                                  double *numbers);

/* Split iDps: parts of shared rows, `length` numbers a row, are added up on their owners. */
static inline void reduce_shared(const team *t, int mode, uint64_t length, rows_call get,
                                 rows_call put) {
  const amped_mode_plan *m = &t->ranks[0].plan.modes[mode];
  for (uint64_t s = 0; s < m->copy.split_count; s++) {
    const uint64_t idp = m->copy.splits[s].idp;
    const uint64_t rows = m->copy.splits[s + 1].row - m->copy.splits[s].row;
    const int owner = m->rows.owner[idp];
    double *sum = doubles(rows * length);
    double *part = doubles(rows * length);
    for (int r = 0; r < t->nranks; r++) {
      const amped_mode_plan *own = &t->ranks[r].plan.modes[mode];
      uint64_t first = 0;
      uint64_t end = 0;
      amped_plan_shared_idps(own, r, &first, &end);
      if (s < first || s >= end)
        continue;
      check_ok(get(t, r, mode, own->copy.row[idp], rows, part));
      for (uint64_t i = 0; i < rows * length; i++)
        sum[i] += part[i];
    }
    check_ok(put(t, owner, mode, m->rows.position[idp] - (uint64_t)owner * m->rows.block_rows, rows,
                 sum));
    amped_free(part);
    amped_free(sum);
  }
}

/* Rows of mode by index, from their owners, whose padding rows are still zero. The caller frees
 * them. */
static inline double *gather_rows(const team *t, int mode) {
  const uint64_t n = (uint64_t)t->p->ncomps;
  double *out = doubles(t->p->t.dims[mode] * n);
  for (int r = 0; r < t->nranks; r++) {
    const bench *b = &t->ranks[r];
    const amped_mode_plan *m = &b->plan.modes[mode];
    double *block = doubles(m->rows.block_rows * n);
    check_ok(b->w.backend->factors->get_rows(b->w.factors, mode, block_first(&b->plan, mode),
                                             m->rows.block_rows, block));
    padding_is_zero(b, mode, block);
    for (uint64_t i = 0; i < m->rows.dim; i++)
      if (m->rows.owner[i / m->rows.width] == r)
        memcpy(out + i * n,
               block + (amped_plan_position(&b->plan, mode, i) - block_first(&b->plan, mode)) * n,
               n * sizeof *out);
    amped_free(block);
  }
  return out;
}

/* --- slow equations ----------------------------------------------------------------------------*/

/* One row's sums over nonzeros, in long double. */
typedef struct slow_row {
  uint64_t count;
  double n;       /* sum of weights; of implicit fits, count */
  long double *m; /* [n][n] sums of products; the bias is a component whose p is 1 */
  long double *right;
  long double squares;
  long double size; /* largest of the terms of one target */
} slow_row;

/* Equations of n unknowns for every row. */
typedef struct slow {
  uint64_t n, rows;
  slow_row *row; /* by index */
} slow;

static inline slow slow_alloc(uint64_t n, uint64_t rows) {
  slow s = {.n = n, .rows = rows};
  check_ok(amped_calloc(&s.row, rows, sizeof *s.row, "a test"));
  for (uint64_t i = 0; i < rows; i++) {
    s.row[i].m = long_doubles(n * n);
    s.row[i].right = long_doubles(n);
  }
  return s;
}

static inline void slow_free(slow *s) {
  for (uint64_t i = 0; i < s->rows; i++) {
    amped_free(s->row[i].m);
    amped_free(s->row[i].right);
  }
  amped_free(s->row);
}

/* x x^T * weight, and x * target, are added. */
static inline void slow_add(const slow *s, slow_row *row, const long double *x, long double weight,
                            long double target) {
  for (uint64_t i = 0; i < s->n; i++) {
    for (uint64_t c = 0; c < s->n; c++)
      row->m[i * s->n + c] += weight * x[i] * x[c];
    row->right[i] += target * x[i];
  }
}

#endif
