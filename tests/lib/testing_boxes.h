/* A copy in boxes, all of a tensor or beside sorted copies: MTTKRP of every mode, and products,
 * against the slow oracle; on several ranks each one's parts of sums, and what the owners add up.
 */
#ifndef AMPED_TESTING_BOXES_H
#define AMPED_TESTING_BOXES_H

#include "tests/lib/testing_backend.h"

#define MOST_RANKS 4

static const uint64_t odd_dims[AMPED_MAX_ORDER] = {37, 1, 130, 12, 3, 5, 2, 9};
static const uint64_t long_dims[AMPED_MAX_ORDER] = {3000, 40, 1025, 2, 7, 1, 64, 65};
static const uint64_t flat_dims[AMPED_MAX_ORDER] = {5, 7000, 46, 33, 4, 4, 4, 4};

/* --- sums --------------------------------------------------------------------------------------*/

/* Bytes between a format's parts of sums, or room for those of others, and host memory. */
static inline void move(const bench *s, int mode, uint64_t offset, uint64_t bytes, void *host,
                        bool in) {
  const amped_partial_rows parts = s->w.format->partial_rows(s->w.tensor, mode);
  const amped_host_copy copy = {.offset = offset, .bytes = bytes, .host = host, .in = in};
  if (s->w.backend->device_pointers)
    check_ok(s->w.format->stage_partial(s->w.tensor, mode, &copy, 1));
  else if (in)
    memcpy((char *)parts.arriving + offset, host, bytes);
  else
    memcpy(host, (char *)parts.sums + offset, bytes);
}

/* Mode's sums on this rank by position, as the format holds them: of the caller. NULL where they
 * are the output. */
static inline void *parts_of(const bench *s, int mode) {
  const uint64_t bytes = amped_plan_factor_rows(&s->plan, mode) * amped_plan_row_bytes(&s->plan);
  void *out = NULL;
  if (s->w.format->partial_rows(s->w.tensor, mode).sums == NULL)
    return NULL;
  check_ok(amped_alloc(&out, bytes, 1, "a test"));
  move(s, mode, 0, bytes, out, false);
  return out;
}

/* The oracle's sums over the nonzeros of a rank, or of all (s NULL). */
typedef struct wanted {
  double *sums, *bound;
  uint64_t *count;
} wanted;

static inline wanted want_of(const problem *p, const bench *s, int copied, int mode) {
  const uint64_t elements = p->t.dims[mode] * (uint64_t)p->ncomps;
  wanted w = {doubles(elements), doubles(elements), NULL};
  amped_sptensor shard;
  check_ok(amped_calloc(&w.count, p->t.dims[mode], sizeof *w.count, "a test"));
  if (s != NULL)
    shard_of(s, copied, &shard);
  amped_mttkrp(s != NULL ? &shard : &p->t, mode, (const double *const *)p->factors, p->ncomps,
               w.sums, w.bound, w.count);
  if (s != NULL)
    amped_sptensor_free(&shard);
  return w;
}

static inline void wanted_free(wanted *w) {
  amped_free(w->sums);
  amped_free(w->bound);
  amped_free(w->count);
}

/* As of mttkrp_is_right; parts of several ranks are rounded once more each. */
static inline void row_is_right(const problem *p, const wanted *w, uint64_t i, int nranks,
                                const double *got) {
  const uint64_t n = (uint64_t)p->ncomps;
  const double eps = (double)(w->count[i] + (uint64_t)(p->t.order + nranks) + 2) * p->eps;
  for (uint64_t c = 0; c < n; c++)
    near(got[c], w->sums[i * n + c], eps * w->bound[i * n + c], "MTTKRP", i, c);
}

/* This rank's parts of the sums of mode; those of rows that no nonzero has are 0. */
static inline void parts_are_right(const bench *s, int mode, const void *parts) {
  const problem *p = s->p;
  const amped_plan *plan = &s->plan;
  const uint64_t rows = amped_plan_factor_rows(plan, mode);
  wanted w = want_of(p, s, plan->boxed, mode);
  double *row = doubles(plan->ld);
  bool *named = NULL;
  check_ok(amped_calloc(&named, rows, sizeof *named, "a test"));
  for (uint64_t i = 0; i < plan->dims[mode]; i++) {
    const uint64_t position = amped_plan_position(plan, mode, i);
    named[position] = true;
    amped_values_get(parts, plan->value_type, position * plan->ld, plan->ld, row);
    row_is_right(p, &w, i, 1, row);
  }
  for (uint64_t r = 0; r < rows; r++)
    for (uint64_t c = named[r] ? (uint64_t)p->ncomps : 0; c < plan->ld; c++)
      near(amped_value_get(parts, plan->value_type, r * plan->ld + c), 0.0, 0.0, "padding", r, c);
  amped_free(row);
  amped_free(named);
  wanted_free(&w);
}

/* --- all ranks of a run ------------------------------------------------------------------------*/

typedef struct team {
  problem *p;
  int nranks;
  bench ranks[MOST_RANKS];
  void *parts[MOST_RANKS];
} team;

static inline void team_open(team *t, problem *p, int nranks, setup how) {
  memset(t, 0, sizeof *t);
  t->p = p;
  t->nranks = nranks;
  how.nranks = nranks;
  for (how.rank = 0; how.rank < nranks; how.rank++) {
    bench_plan(&t->ranks[how.rank], p, &how);
    bench_load(&t->ranks[how.rank]);
  }
}

static inline void team_close(team *t) {
  for (int r = 0; r < t->nranks; r++)
    bench_close(&t->ranks[r]);
}

/* Every owner gets its block of all ranks' parts, and adds them up. */
static inline void owners_are_right(team *t, int mode) {
  wanted w = want_of(t->p, NULL, 0, mode);
  for (int r = 0; r < t->nranks; r++) {
    const bench *s = &t->ranks[r];
    const uint64_t block = s->plan.modes[mode].rows.block_rows * amped_plan_row_bytes(&s->plan);
    for (int q = 0; q < t->nranks; q++)
      move(s, mode, (uint64_t)q * block, block, (char *)t->parts[q] + (uint64_t)r * block, true);
    check_ok(s->w.format->add_incoming(s->w.tensor, mode,
                                       (amped_row_sum){.count = t->nranks, .to = AMPED_TO_OUTPUT}));
    double *got = get_output(s, mode);
    for (uint64_t i = 0; i < s->plan.dims[mode]; i++)
      if (output_row(&s->plan, mode, i) != AMPED_NO_ROW)
        row_is_right(t->p, &w, i, t->nranks,
                     got + output_row(&s->plan, mode, i) * (uint64_t)t->p->ncomps);
    padding_is_zero(s, mode, got);
    amped_free(got);
  }
  wanted_free(&w);
}

/* Sums of a mode that has a copy are whole, as those of any copy are. */
static inline void mode_is_right(team *t, int mode) {
  amped_mttkrp_times times;
  for (int r = 0; r < t->nranks; r++) {
    bench *s = &t->ranks[r];
    const bool whole = t->nranks == 1 || amped_plan_has_copy(&s->plan, mode);
    if (whole) {
      mttkrp_is_right(s, mode);
    } else {
      check_ok(mttkrp_whole(&s->w, mode, &times));
      t->parts[r] = parts_of(s, mode);
      ck_assert_ptr_nonnull(t->parts[r]);
      parts_are_right(s, mode, t->parts[r]);
    }
    if (amped_plan_has_copy(&s->plan, mode))
      products_are_right(s, mode);
    ck_assert_int_eq(s->w.format->partial_rows(s->w.tensor, mode).sums == NULL, whole);
  }
  if (t->parts[0] != NULL)
    owners_are_right(t, mode);
  for (int r = 0; r < t->nranks; r++) {
    amped_free(t->parts[r]);
    t->parts[r] = NULL;
  }
}

static inline void team_is_right(problem *p, int nranks, setup how) {
  team t;
  team_open(&t, p, nranks, how);
  for (int m = 0; m < p->t.order; m++)
    mode_is_right(&t, m);
  mode_is_right(&t, 0); /* the last result leaves no trace */
  team_close(&t);
}

static inline void fewer_components_are_right(const setup *how) {
  problem p;
  bench s;
  problem_create(&p, 3, long_dims, 40000, 48, AMPED_F32);
  bench_plan(&s, &p, how);
  bench_load(&s);
  for (int ncomps = 48; ncomps > 0; ncomps -= 13) {
    set_ncomps(&s, ncomps);
    for (int m = 0; m < 3; m++)
      mttkrp_is_right(&s, m);
  }
  bench_close(&s);
  problem_free(&p);
  check_no_leak();
}

/* One allocation after another fails, until none is left that could. */
static inline void no_allocation_is_trusted(const setup *how) {
  static const uint64_t dims[] = {70000, 300, 200};
  amped_status status = AMPED_FAILED;
  problem p;
  problem_create(&p, 3, dims, 60000, 2, AMPED_F32);
  bench s;
  bench_plan(&s, &p, how);
  for (int64_t k = 0; status != AMPED_OK; k++) {
    amped_mem_fail_at(k);
    status = amped_worker_prepare(&s.w, &s.plan);
    amped_mem_fail_at(-1);
    amped_status_clear();
    if (status != AMPED_OK)
      ck_assert_ptr_null(s.w.tensor);
    if (s.w.factors != NULL && status != AMPED_OK)
      s.w.backend->factors->destroy(s.w.factors);
  }
  bench_close(&s);
  problem_free(&p);
  check_no_leak();
}

#endif
