/* Objects of every backend: they take no more memory than their require says. Dense blocks are in
 * check_dense_block. */
#include "backend/block_fit.h"
#include "backend/factor_history.h"
#include "backend/row_fit.h"
#include "backend/row_history.h"
#include "backend/row_steps.h"
#include "backend/row_store.h"
#include "backend/row_vectors.h"
#include "tests/lib/testing_backend.h"

enum { NNZ = 9001, WIDTH = 3 };

static const uint64_t odd[] = {211, 53, 1, 307,
                               7}; /* no block of memory has 512 KiB, which large pages round */

static void vectors(const bench *s) {
  const amped_row_vector_ops *ops = s->w.backend->row_vectors;
  amped_row_vectors *made = NULL;
  uint64_t device = 0;
  uint64_t host = 0;
  const memory before = memory_now();
  ops->require(s->w.device, &s->plan, 2, &device, &host);
  check_ok(ops->create(s->w.device, s->w.factors, &s->plan, 2, &made));
  memory_within("row vectors", before, device, host);
  ops->destroy(made);
}

static void previous_factors(const bench *s) {
  const amped_factor_history_ops *ops = s->w.backend->factor_histories;
  amped_factor_history *made = NULL;
  uint64_t device = 0;
  uint64_t host = 0;
  const memory before = memory_now();
  ops->require(s->w.device, &s->plan, &device, &host);
  check_ok(ops->create(s->w.device, s->w.factors, &s->plan, &made));
  memory_within("the previous factors", before, device, host);
  ops->destroy(made);
}

static void block_fit(const bench *s) {
  const amped_block_fit_ops *ops = s->w.format->block_fit;
  amped_plan columns = s->plan;
  amped_factor_set *set = NULL;
  amped_block_fit *made = NULL;
  uint64_t device = 0;
  uint64_t host = 0;
  amped_plan_set_ncomps(&columns, amped_block_row_length(WIDTH));
  memory before = memory_now();
  s->w.backend->factors->require(s->w.device, &columns, &device, &host);
  check_ok(s->w.backend->factors->create(s->w.device, &columns, &set));
  memory_within("the columns of a block", before, device, host);
  before = memory_now();
  ops->require(s->w.device, &s->plan, WIDTH, &device, &host);
  check_ok(ops->create(s->w.tensor, set, &columns, WIDTH, &made));
  memory_within("block fits", before, device, host);
  ops->destroy(made);
  s->w.backend->factors->destroy(set);
}

static void fits_and_steps(const bench *s, bool weighted) {
  uint64_t device = 0;
  uint64_t host = 0;
  uint64_t held = 0;
  memory before = memory_now();
  s->w.format->row_fit->require(s->w.device, &s->plan, weighted, &device, &host);
  check_ok(s->w.format->row_fit->prepare(s->w.tensor, weighted));
  check_ok(s->w.format->row_fit->hold_out(s->w.tensor, NULL, 5, UINT64_C(1) << 60, &held));
  memory_within("row fits", before, device, host);
  before = memory_now();
  s->w.format->row_steps->require(s->w.device, &s->plan, &device, &host);
  check_ok(s->w.format->row_steps->prepare(s->w.tensor));
  memory_within("row steps", before, device, host);
}

static void lists(const bench *s) {
  const amped_list_ops *ops = s->w.backend->lists;
  amped_list_shape shape = {.order = s->plan.order,
                            .value_type = s->plan.value_type,
                            .capacity = NNZ,
                            .nranks = s->plan.nranks,
                            .window = 1023,
                            .arriving = NNZ};
  amped_list_part *made = NULL;
  uint64_t device = 0;
  uint64_t host = 0;
  for (int m = 0; m < shape.order; m++) {
    shape.dims[m] = odd[m];
    shape.index_types[m] = amped_itype_for(odd[m]);
  }
  const memory before = memory_now();
  ops->require(s->w.device, &shape, &device, &host);
  check_ok(ops->create(s->w.device, &shape, &made));
  memory_within("a list", before, device, host);
  ops->destroy(made);
}

static void row_stores(const bench *s) {
  const amped_row_store_ops *ops = s->w.backend->row_stores;
  const uint64_t n = (uint64_t)s->plan.ncomps;
  const amped_row_shape shape = {.order = s->plan.order,
                                 .ncomps = n,
                                 .length = n * (n + 1) / 2 + n,
                                 .type = s->plan.value_type,
                                 .rank = s->plan.rank,
                                 .nranks = s->plan.nranks};
  for (int grows = 0; grows < 2; grows++) {
    amped_row_store *made = NULL;
    uint64_t device = 0;
    uint64_t host = 0;
    const memory before = memory_now();
    ops->require(&shape, odd, grows != 0, &device, &host);
    check_ok(ops->create(s->w.device, &shape, odd, &made));
    memory_within("rows of a stream", before, device, host);
    ops->destroy(made);
  }
}

static void of_a_plan(problem *p, const setup *how, bool weighted) {
  bench s;
  amped_requirement r;
  bench_plan(&s, p, how);
  const memory before = memory_now();
  check_ok(amped_worker_require(&s.w, &s.plan, &r));
  bench_load(&s);
  /* A GPU's copies have tables of blocks and tiles on the host. */
  memory_within("factors and tensor", before, r.device_bytes, r.host_bytes + (UINT64_C(64) << 10));
  if (s.w.format->row_fit != NULL && how->needs.whole_rows) {
    fits_and_steps(&s, weighted);
    block_fit(&s);
  }
  vectors(&s);
  previous_factors(&s);
  lists(&s);
  row_stores(&s);
  bench_close(&s);
}

static void of_all_shapes(amped_vtype type) {
  static const int ncomps[] = {5, 33};
  for (int order = AMPED_MIN_ORDER; order <= 5; order++)
    for (int k = 0; k < 2; k++) {
      problem p;
      setup how = alone();
      problem_create(&p, order, odd, NNZ, ncomps[k], type);
      how.needs.whole_rows = true;
      of_a_plan(&p, &how, k == 0);
      how.nranks = 3;
      how.rank = 1;
      of_a_plan(&p, &how, k == 1);
      how.options.copies = AMPED_COPIES_ONE;
      how.needs = (amped_copy_needs){.one_copy = true};
      of_a_plan(&p, &how, false);
      problem_free(&p);
    }
  check_no_leak();
}

START_TEST(objects_in_float_take_what_is_said) {
  of_all_shapes(AMPED_F32);
}

START_TEST(objects_in_double_take_what_is_said) {
  of_all_shapes(AMPED_F64);
}

TESTING_MAIN("require", objects_in_float_take_what_is_said, objects_in_double_take_what_is_said)
