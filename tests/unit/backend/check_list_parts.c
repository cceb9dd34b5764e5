/* List parts of a backend: what is counted of a list, and who gets its nonzeros, against the slow
 * obvious way. */
#include "tests/lib/testing_backend.h"

#include "plan/plan.h"

#define NNZ UINT64_C(5000)
#define WINDOW UINT64_C(1999) /* no window ends with the part */

/* A part with all nonzeros of a problem, and the plan of rank 0. */
typedef struct fixture {
  problem p;
  amped_plan plan;
  amped_worker w;
  amped_list_part *part;
  const amped_list_ops *ops;
} fixture;

static void *array_of(const amped_sptensor *t, int mode, amped_itype type, uint64_t first,
                      uint64_t count) {
  void *array = NULL;
  check_ok(amped_alloc(&array, count, type, "a test"));
  amped_indices_put(array, type, 0, count, t->indices[mode] + first);
  return array;
}

/* Append nonzeros first .. first + count as a file would have them. */
static void append(const fixture *f, const amped_list_shape *shape, uint64_t first,
                   uint64_t count) {
  void *indices[AMPED_MAX_ORDER] = {NULL};
  void *values = NULL;
  for (int m = 0; m < shape->order; m++)
    indices[m] = array_of(&f->p.t, m, shape->index_types[m], first, count);
  check_ok(amped_alloc(&values, count, shape->value_type, "a test"));
  amped_values_put(values, shape->value_type, 0, count, f->p.t.values + first);
  check_ok(f->ops->append(f->part, count, indices, values));
  for (int m = 0; m < shape->order; m++)
    amped_free(indices[m]);
  amped_free(values);
}

/* wide: the file's indices are of 64 bits. */
static void fixture_open(fixture *f, int order, const uint64_t *dims, amped_vtype type, bool wide,
                         int nranks) {
  const amped_backend_options options = {.threads = 3, .local_size = 1};
  amped_list_shape shape = {.order = order,
                            .value_type = type,
                            .capacity = NNZ,
                            .nranks = nranks,
                            .window = WINDOW,
                            .arriving = NNZ,
                            .device_mpi = nranks % 2 == 0};
  memset(f, 0, sizeof *f);
  problem_create(&f->p, order, dims, NNZ, 4, type);
  check_ok(amped_plan_create(
      &f->plan, &f->p.info,
      &(amped_plan_request){
          .ncomps = 4, .value_type = type, .placement = AMPED_PLACEMENT_EQUAL, .nranks = nranks}));
  check_ok(amped_worker_open(&f->w, backend(), &options));
  f->ops = f->w.backend->lists;
  for (int m = 0; m < order; m++) {
    shape.dims[m] = dims[m];
    shape.index_types[m] = wide ? AMPED_U64 : amped_itype_for(dims[m]);
  }
  check_ok(f->ops->create(f->w.device, &shape, &f->part));
  append(f, &shape, 0, 7); /* is forgotten */
  f->ops->clear(f->part);
  append(f, &shape, 0, 1);
  append(f, &shape, 1, 0);
  append(f, &shape, 1, NNZ / 2);
  append(f, &shape, 1 + NNZ / 2, NNZ - 1 - NNZ / 2);
}

static void fixture_close(fixture *f) {
  f->ops->destroy(f->part);
  amped_worker_close(&f->w);
  amped_plan_destroy(&f->plan);
  problem_free(&f->p);
}

/* --- counting -------------------------------------------------------------------------------- */

static void counts_open(const fixture *f, amped_list_counts *c) {
  memset(c, 0, sizeof *c);
  for (int m = 0; m < f->p.t.order; m++) {
    c->partitions[m] = f->p.info.partitions[m];
    check_ok(amped_calloc(&c->partitions[m].idp_nnz, c->partitions[m].idp_count, sizeof(uint64_t),
                          "a test"));
  }
  check_ok(amped_dictionary_search_begin(&c->distinct));
}

static void counts_close(const fixture *f, amped_list_counts *c) {
  for (int m = 0; m < f->p.t.order; m++)
    amped_free(c->partitions[m].idp_nnz);
  amped_dictionary_search_drop(&c->distinct);
}

static void counts_are_right(const fixture *f) {
  amped_list_counts c;
  amped_dictionary found;
  amped_dictionary want;
  uint64_t hash = 0;
  counts_open(f, &c);
  for (uint64_t first = 0; first < NNZ; first += WINDOW) {
    const uint64_t count = NNZ - first < WINDOW ? NNZ - first : WINDOW;
    check_ok(f->ops->count(f->part, first, count, &c));
    check_ok(f->ops->hash(f->part, first, count, &hash));
  }
  for (int m = 0; m < f->p.t.order; m++)
    ck_assert_mem_eq(c.partitions[m].idp_nnz, f->p.info.partitions[m].idp_nnz,
                     c.partitions[m].idp_count * sizeof(uint64_t));
  ck_assert_uint_eq(hash, amped_sptensor_hash(&f->p.t));
  long double squares = 0.0L;
  for (uint64_t k = 0; k < NNZ; k++)
    squares += (long double)f->p.t.values[k] * (long double)f->p.t.values[k];
  /* long double is exact to 2^-64 an addition */
  ck_assert_double_eq_tol(amped_kahan_value(&c.squares), (double)squares,
                          2.0 * DBL_EPSILON * (double)squares);
  check_ok(amped_dictionary_find(&want, f->p.t.values, NNZ));
  check_ok(amped_dictionary_search_end(&c.distinct, &found));
  ck_assert_uint_eq(found.count, want.count);
  if (want.count > 0)
    ck_assert_mem_eq(found.values, want.values, want.count * sizeof(double));
  amped_dictionary_free(&want);
  amped_dictionary_free(&found);
  counts_close(f, &c);
}

/* --- dealing --------------------------------------------------------------------------------- */

static int receiver_of(const fixture *f, int mode, uint64_t k, uint64_t *numbers) {
  const amped_sptensor *t = &f->p.t;
  uint64_t index[AMPED_MAX_ORDER];
  for (int m = 0; m < t->order; m++)
    index[m] = t->indices[m][k];
  if (mode == AMPED_BY_COORDINATE)
    return (int)(amped_nonzero_hash(t->order, index, 0.0) % (uint64_t)f->plan.nranks);
  const amped_mode_plan *m = &f->plan.modes[mode];
  const uint64_t idp = index[mode] / m->rows.width;
  const uint64_t split = amped_plan_split_of(m, idp);
  return split == m->copy.split_count ? m->rows.owner[idp]
                                      : amped_plan_split_rank(m, f->plan.nranks, numbers[split]++);
}

/* order[i] = the window's nonzero at place i, counts[p] = how many rank p gets. */
static void distribute_slowly(const fixture *f, int mode, uint64_t first, uint64_t count,
                              uint64_t *numbers, uint64_t *order, uint64_t *counts) {
  int receivers[WINDOW];
  uint64_t place = 0;
  for (uint64_t i = 0; i < count; i++)
    receivers[i] = receiver_of(f, mode, first + i, numbers);
  for (int p = 0; p < f->plan.nranks; p++) {
    counts[p] = place;
    for (uint64_t i = 0; i < count; i++)
      if (receivers[i] == p)
        order[place++] = first + i;
    counts[p] = place - counts[p];
  }
}

/* The array of the distributed window, in host memory. */
static void *distributed(const fixture *f, int array, uint64_t count, uint64_t bytes) {
  void *sent = NULL;
  void *out = NULL;
  check_ok(f->ops->distributed(f->part, array, &sent));
  check_ok(amped_alloc(&out, count, bytes, "a test"));
  check_ok(f->ops->fetch(f->part, sent, count * bytes, out));
  return out;
}

static void distribution_is_right(const fixture *f, uint64_t count, const uint64_t *order) {
  const amped_sptensor *t = &f->p.t;
  for (int m = 0; m < t->order; m++) {
    const amped_itype type = amped_itype_for(t->dims[m]);
    void *indices = distributed(f, m, count, type);
    for (uint64_t i = 0; i < count; i++)
      ck_assert_uint_eq(amped_index_get(indices, type, i), t->indices[m][order[i]]);
    amped_free(indices);
    ck_assert_ptr_nonnull(f->ops->arriving(f->part, m));
  }
  void *values = distributed(f, AMPED_LIST_VALUES, count, f->p.value_type);
  for (uint64_t i = 0; i < count; i++)
    ck_assert(amped_value_get(values, f->p.value_type, i) == t->values[order[i]]);
  amped_free(values);
}

static void windows_are_distributed(const fixture *f, int mode) {
  uint64_t *numbers[2] = {NULL, NULL};
  uint64_t order[WINDOW];
  uint64_t counts[2][8];
  const uint64_t splits = mode == AMPED_BY_COORDINATE ? 0 : f->plan.modes[mode].copy.split_count;
  check_ok(f->ops->distribute_by(f->part, &f->plan, mode));
  for (int i = 0; i < 2; i++) {
    check_ok(amped_calloc(&numbers[i], splits, sizeof(uint64_t), "a test"));
    for (uint64_t k = 0; k < splits; k++)
      numbers[i][k] = f->plan.modes[mode].copy.splits[k].first;
  }
  for (uint64_t first = 0; first < NNZ; first += WINDOW) {
    const uint64_t count = NNZ - first < WINDOW ? NNZ - first : WINDOW;
    uint64_t *before = NULL;
    check_ok(amped_calloc(&before, splits, sizeof *before, "a test"));
    check_ok(f->ops->count_splits(f->part, first, count, before));
    for (uint64_t k = 0; k < splits; k++)
      before[k] += numbers[0][k];
    distribute_slowly(f, mode, first, count, numbers[1], order, counts[1]);
    check_ok(f->ops->deal(f->part, first, count, numbers[0], counts[0]));
    if (splits > 0) {
      ck_assert_mem_eq(numbers[0], numbers[1], splits * sizeof(uint64_t));
      ck_assert_mem_eq(numbers[0], before, splits * sizeof(uint64_t));
    }
    ck_assert_mem_eq(counts[0], counts[1], (size_t)f->plan.nranks * sizeof(uint64_t));
    distribution_is_right(f, count, order);
    amped_free(before);
  }
  for (int i = 0; i < 2; i++)
    amped_free(numbers[i]);
}

static void part_is_viewed(const fixture *f) {
  const amped_sptensor *t = &f->p.t;
  amped_nonzeros view;
  f->ops->view(f->part, WINDOW, 3, &view);
  ck_assert_uint_eq(view.count, 3);
  ck_assert_int_eq(view.value_type, f->p.value_type);
  for (int m = 0; m < t->order; m++) {
    uint64_t room[3];
    const amped_itype type = amped_itype_for(t->dims[m]);
    check_ok(f->ops->fetch(f->part, view.indices[m], 3 * (uint64_t)type, room));
    for (uint64_t i = 0; i < 3; i++)
      ck_assert_uint_eq(amped_index_get(room, type, i), t->indices[m][WINDOW + i]);
  }
}

static const uint64_t all_dims[] = {300, 70000, 5, 260, 2, 11};

START_TEST(lists_of_all_orders_types_and_ranks) {
  for (int order = AMPED_MIN_ORDER; order <= 6; order++)
    for (int nranks = 1; nranks <= 4; nranks++) {
      fixture f;
      fixture_open(&f, order, all_dims, nranks % 2 == 0 ? AMPED_F32 : AMPED_F64, order % 2 == 0,
                   nranks);
      counts_are_right(&f);
      part_is_viewed(&f);
      uint64_t splits = 0;
      for (int mode = AMPED_BY_COORDINATE; nranks > 1 && mode < order; mode++) {
        splits += mode >= 0 ? f.plan.modes[mode].copy.split_count : 0;
        windows_are_distributed(&f, mode);
      }
      ck_assert(nranks == 1 || order == 2 || splits > 1); /* a matrix has no short mode */
      fixture_close(&f);
    }
  check_no_leak();
}

/* Few values with both zeros; one more value than codes. */
START_TEST(distinct_values_are_found_or_too_many) {
  fixture f;
  amped_list_counts c;
  fixture_open(&f, 3, all_dims, AMPED_F64, false, 1);
  for (int many = 0; many < 2; many++) {
    const uint64_t count = many ? AMPED_MAX_CODES + 1 : 9;
    const amped_list_shape shape = {.order = 1,
                                    .dims = {4},
                                    .index_types = {AMPED_U8},
                                    .value_type = AMPED_F64,
                                    .capacity = count,
                                    .nranks = 1};
    amped_list_part *part = NULL;
    void *indices[AMPED_MAX_ORDER] = {NULL};
    double *values = doubles(count);
    check_ok(amped_calloc(&indices[0], count, 1, "a test"));
    for (uint64_t k = 0; k < count; k++)
      values[k] = many ? (double)k : k % 3 == 0 ? -0.0 : k % 3 == 1 ? 0.0 : 1e-300;
    check_ok(f.ops->create(f.w.device, &shape, &part));
    check_ok(f.ops->append(part, count, indices, values));
    counts_open(&f, &c);
    c.partitions[0].width = 4;
    check_ok(f.ops->count(part, 0, count - 1, &c));
    ck_assert(!c.distinct.too_many);
    check_ok(f.ops->count(part, count - 1, 1, &c));
    ck_assert_int_eq(c.distinct.too_many, many);
    if (!many)
      ck_assert_uint_eq(c.distinct.count, 2);
    counts_close(&f, &c);
    f.ops->destroy(part);
    amped_free(indices[0]);
    amped_free(values);
  }
  fixture_close(&f);
  check_no_leak();
}

TESTING_MAIN("list parts", lists_of_all_orders_types_and_ranks,
             distinct_values_are_found_or_too_many)
