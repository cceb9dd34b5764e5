/* List stats and redistribute: what is counted of a coordinate list, who gets its nonzeros, and
 * that a failure of one rank ends all. On one rank as it is; tests/cli/load_list.sh starts it on
 * three. */
#include <math.h>
#include <omp.h>

#include "base/mem.h"
#include "load/list_stats.h"
#include "load/redistribute.h"
#include "hdf5/hdf5_probe.h"
#include "tests/lib/testing.h"

/* Five slabs, the last one short: of a list that is held, two in a turn for each of two readers. */
#define THREADS 3
#define NNZ (4 * AMPED_SLAB_NNZ + 5)

static amped_comm comm;
static char path[256];
static const amped_backend *backend;

/* Nonzero k of the list has the value k % 4096 + 1; coordinates ascend with k, so that the file's
 * list has them in this order. */
static const uint64_t dims[] = {4300, 100, 10};

static void coordinate(uint64_t k, uint64_t *index) {
  index[0] = k / 1000;
  index[1] = k / 10 % 100;
  index[2] = k % 10;
}

static double value(uint64_t k) {
  return (double)(k % 4096 + 1);
}

static amped_status write_file(void) {
  amped_sptensor t;
  AMPED_TRY(amped_sptensor_create(&t, 3, NNZ));
  memcpy(t.dims, dims, sizeof dims);
  for (uint64_t k = 0; k < NNZ; k++) {
    uint64_t index[3];
    coordinate(k, index);
    for (int m = 0; m < 3; m++)
      t.indices[m][k] = index[m];
    t.values[k] = value(k);
  }
  amped_status status = amped_tensor_file_write(path, &t, true);
  amped_sptensor_free(&t);
  return status;
}

/* A rank's input, plan and backend, and what it received. */
typedef struct fixture {
  amped_input *input;
  bool in_parts;
  double *values; /* of this rank's part */
  amped_tensor_info info;
  amped_plan plan;
  amped_worker worker;
  amped_list_source *source;
  amped_redistribute *redistribute;
  /* of what was taken */
  int mode;
  uint64_t taken;
  uint64_t calls;
  uint64_t last; /* number of the nonzero taken last, plus one */
  uint64_t *numbers;
} fixture;

/* This rank's part of the list: rank 0's is the longest, and the last rank of several has none. */
static uint64_t part_begin(int rank) {
  const uint64_t n = (uint64_t)comm.nranks;
  return rank == 0 ? 0 : rank + 1 >= comm.nranks ? NNZ : NNZ - NNZ / (n + 1) / (uint64_t)rank;
}

static void open_parts(fixture *s) {
  const uint64_t first = part_begin(comm.rank);
  const uint64_t end = comm.rank + 1 == comm.nranks ? NNZ : part_begin(comm.rank + 1);
  amped_input_part part = {.count = end - first};
  check_ok(amped_alloc(&s->values, part.count, sizeof *s->values, "a test"));
  part.values = s->values;
  for (int m = 0; m < 3; m++)
    check_ok(amped_alloc(&part.indices[m], part.count, amped_itype_for(dims[m]), "a test"));
  for (uint64_t k = 0; k < part.count; k++) {
    uint64_t index[3];
    coordinate(first + k, index);
    for (int m = 0; m < 3; m++)
      amped_index_put(part.indices[m], amped_itype_for(dims[m]), k, index[m]);
    s->values[k] = value(first + k);
  }
  check_ok(amped_input_of_parts(&comm, "parts", 3, dims, &part, &s->input));
  ck_assert_ptr_null(part.indices[0]);
}

/* Of six ways to read the list, way 0 to 3: rank 0 or all ranks read it, and it is held or not.
 * 4: every rank has a part, which is held where the backend has memory of its own; 5: it is not. */
static void fixture_open(fixture *s, int way, amped_placement placement, int miscounted) {
  const bool in_parts = way >= 4;
  const bool parallel = way % 2 == 1 && !in_parts;
  const bool held = in_parts ? way == 4 && backend->device_pointers : way / 2 == 0;
  const amped_read_options read = {.index_base = AMPED_BASE_AUTO};
  const amped_backend_options options = {.threads = 2, .local_size = 1};
  memset(s, 0, sizeof *s);
  s->in_parts = in_parts;
  if (in_parts)
    open_parts(s);
  else
    check_ok(amped_input_open(&comm, path, &read, parallel, &s->input));
  check_ok(amped_worker_open(&s->worker, backend, &options));
  check_ok(amped_list_source_open(&comm, s->input, parallel, &s->worker, &s->source));
  check_ok(amped_list_stats_take(&comm, s->input, parallel, &s->worker, s->source, &s->info));
  ck_assert(amped_list_source_held(s->source) == (held || !in_parts || backend->device_pointers));
  if (!held)
    check_ok(amped_list_source_release(s->source));
  if (miscounted >= 0)
    s->info.partitions[miscounted].idp_nnz[s->info.partitions[miscounted].idp_count / 3]--;
  check_ok(amped_plan_create(&s->plan, &s->info,
                             &(amped_plan_request){.ncomps = 2,
                                                   .value_type = AMPED_F32,
                                                   .placement = placement,
                                                   .rank = comm.rank,
                                                   .nranks = comm.nranks}));
  check_ok(amped_redistribute_create(&comm, s->input, s->source, &s->plan, &s->worker,
                                     &s->redistribute));
}

/* Reading borrows threads, and gives them back however it ends. */
static void fixture_close(fixture *s) {
  ck_assert_int_eq(omp_get_max_threads(), THREADS);
  amped_redistribute_destroy(s->redistribute);
  amped_list_source_close(s->source);
  amped_worker_close(&s->worker);
  amped_plan_destroy(&s->plan);
  amped_tensor_info_free(&s->info);
  amped_input_close(s->input);
  amped_free(s->values);
}

START_TEST(list_stats_find_what_the_file_says) {
  for (int way = 0; way < 6; way++) {
    fixture s;
    amped_tensor_file *file = NULL;
    fixture_open(&s, way, AMPED_PLACEMENT_GREEDY, -1);
    check_ok(amped_tensor_file_open(path, &file));
    check_ok(amped_tensor_file_tables(file));
    const amped_tensor_info *want = amped_tensor_file_info(file);
    ck_assert_uint_eq(s.info.hash, want->hash);
    ck_assert(s.info.norm_squared == want->norm_squared);
    for (int m = 0; m < 3; m++) {
      const amped_partition *p = &want->partitions[m];
      ck_assert_uint_eq(s.info.partitions[m].width, p->width);
      ck_assert_uint_eq(s.info.partitions[m].idp_count, p->idp_count);
      ck_assert_mem_eq(s.info.partitions[m].idp_nnz, p->idp_nnz, p->idp_count * sizeof *p->idp_nnz);
    }
    ck_assert_uint_eq(s.info.dictionary.count, 4096);
    ck_assert_mem_eq(s.info.dictionary.values, want->dictionary.values, 4096 * sizeof(double));
    amped_tensor_file_close(file);
    fixture_close(&s);
  }
  check_no_leak();
}

/* Who gets nonzero k of the list; numbers[k] is its number where it is of a split iDp. */
static int receiver_of(const fixture *s, uint64_t k) {
  const amped_mode_plan *m = &s->plan.modes[s->mode];
  uint64_t index[3];
  coordinate(k, index);
  uint64_t idp = index[s->mode] / m->rows.width;
  return amped_plan_split_of(m, idp) == m->copy.split_count
             ? m->rows.owner[idp]
             : amped_plan_split_rank(m, comm.nranks, s->numbers[k]);
}

static void number_some(fixture *s, uint64_t *next, uint64_t first, uint64_t end) {
  const amped_mode_plan *m = &s->plan.modes[s->mode];
  for (uint64_t k = first; k < end; k++) {
    uint64_t index[3];
    coordinate(k, index);
    uint64_t split = amped_plan_split_of(m, index[s->mode] / m->rows.width);
    s->numbers[k] = m->copy.splits[split].first + next[split]++;
  }
}

/* In the order of the list; or of turns, where parts are not held. */
static void number_nonzeros(fixture *s) {
  const uint64_t turn = amped_list_source_turn_nnz(s->source);
  uint64_t *next = NULL;
  check_ok(
      amped_calloc(&next, s->plan.modes[s->mode].copy.split_count + 1, sizeof *next, "a test"));
  check_ok(amped_calloc(&s->numbers, NNZ, sizeof *s->numbers, "a test"));
  if (!s->in_parts)
    number_some(s, next, 0, NNZ);
  for (uint64_t t = 0; t < amped_list_source_turns(s->source) && s->in_parts; t++)
    for (int p = 0; p < comm.nranks; p++) {
      const uint64_t end = p + 1 == comm.nranks ? NNZ : part_begin(p + 1);
      const uint64_t first = part_begin(p) + t * turn < end ? part_begin(p) + t * turn : end;
      number_some(s, next, first, first + turn < end ? first + turn : end);
    }
  amped_free(next);
}

/* A copy in host memory of an array that was received; the caller frees it. */
static void *fetched(const fixture *s, const void *array, uint64_t count, uint64_t bytes) {
  void *to = NULL;
  check_ok(amped_alloc(&to, count, bytes, "a test"));
  check_ok(backend->lists->fetch(amped_list_source_part(s->source), array, count * bytes, to));
  return to;
}

/* Own nonzeros, in the order of the list unless it is in parts, as they are there. */
static amped_status take(void *context, const amped_nonzeros *received) {
  fixture *s = context;
  void *indices[3];
  for (int m = 0; m < 3; m++)
    indices[m] = fetched(s, received->indices[m], received->count, amped_itype_for(dims[m]));
  void *values = fetched(s, received->values, received->count, received->value_type);
  for (uint64_t i = 0; i < received->count; i++) {
    uint64_t index[3];
    uint64_t want[3];
    for (int m = 0; m < 3; m++)
      index[m] = amped_index_get(indices[m], amped_itype_for(dims[m]), i);
    uint64_t k = index[0] * 1000 + index[1] * 10 + index[2];
    coordinate(k, want);
    if (memcmp(index, want, sizeof want) != 0 || (k < s->last && !s->in_parts) || k >= NNZ ||
        amped_value_get(values, received->value_type, i) != value(k) ||
        receiver_of(s, k) != comm.rank)
      ck_abort_msg("mode %d: nonzero %" PRIu64 " after %" PRIu64, s->mode, k, s->last);
    s->last = k + 1;
  }
  for (int m = 0; m < 3; m++)
    amped_free(indices[m]);
  amped_free(values);
  s->taken += received->count;
  return AMPED_OK;
}

/* With `equal` on several ranks all modes have split iDps. */
START_TEST(nonzeros_reach_their_ranks_in_the_lists_order) {
  for (int way = 0; way < 6; way++) {
    fixture s;
    const bool split = way == 1 || way == 2 || way == 4;
    fixture_open(&s, way, split ? AMPED_PLACEMENT_EQUAL : AMPED_PLACEMENT_GREEDY, -1);
    for (s.mode = 0; s.mode < 3; s.mode++) {
      ck_assert(!split || comm.nranks == 1 || s.plan.modes[s.mode].copy.split_count > 0);
      number_nonzeros(&s);
      s.taken = 0;
      s.last = 0;
      check_ok(amped_redistribute_mode(s.redistribute, s.mode, s.info.hash, 0, take, &s));
      ck_assert_uint_eq(s.taken, s.plan.modes[s.mode].copy.rank_nnz[comm.rank]);
      amped_free(s.numbers);
    }
    fixture_close(&s);
  }
  check_no_leak();
}

static amped_status count(void *context, const amped_nonzeros *received) {
  fixture *s = context;
  s->taken += received->count;
  return AMPED_OK;
}

/* Hashes redistribute like a fair coin: ten standard deviations. */
START_TEST(nonzeros_sent_by_coordinate_are_about_even) {
  for (int way = 0; way < 6; way += 2) {
    fixture s;
    double even = (double)NNZ / comm.nranks;
    fixture_open(&s, way, AMPED_PLACEMENT_GREEDY, -1);
    check_ok(amped_redistribute_coordinates(s.redistribute, count, &s));
    ck_assert_double_le(fabs((double)s.taken - even), 10.0 * sqrt(even));
    amped_comm_sum_u64(&comm, &s.taken, 1);
    ck_assert_uint_eq(s.taken, NNZ);
    fixture_close(&s);
  }
  check_no_leak();
}

static amped_status fail_on_last_rank(void *context, const amped_nonzeros *received) {
  fixture *s = context;
  (void)received;
  s->calls++;
  return comm.rank == comm.nranks - 1 ? amped_error(AMPED_FAILED, NULL, "a test") : AMPED_OK;
}

START_TEST(a_receiver_that_fails_ends_all_ranks) {
  for (int way = 1; way < 6; way += 2) {
    fixture s;
    fixture_open(&s, way, AMPED_PLACEMENT_GREEDY, -1);
    ck_assert_int_eq(
        amped_redistribute_mode(s.redistribute, 1, s.info.hash, 0, fail_on_last_rank, &s),
        AMPED_FAILED);
    ck_assert_uint_le(s.calls, 1);
    amped_status_clear();
    fixture_close(&s);
  }
  check_no_leak();
}

/* An iDp has a nonzero more than was counted: one rank gets too many, or, where it is split, they
 * cannot be numbered. */
START_TEST(a_file_that_changed_is_refused_by_all_ranks) {
  for (int way = 0; way < 4; way++) {
    const int mode = way % 2 == 0 ? 0 : 2;
    fixture s;
    fixture_open(&s, way, mode == 0 ? AMPED_PLACEMENT_BLOCK : AMPED_PLACEMENT_EQUAL, mode);
    ck_assert(mode == 0 || comm.nranks != 3 ||
              amped_plan_split_of(&s.plan.modes[2], 3) < s.plan.modes[2].copy.split_count);
    ck_assert_int_eq(amped_redistribute_mode(s.redistribute, mode, s.info.hash, 0, count, &s),
                     AMPED_BAD_INPUT);
    amped_status_clear();
    fixture_close(&s);
  }
  check_no_leak();
}

/* MPI is up before and after all tests: they share this process. Every rank has a file of its own,
 * which is looked at before MPI starts. */
int main(void) {
  const TTest *const tests[] = {
      list_stats_find_what_the_file_says, nonzeros_reach_their_ranks_in_the_lists_order,
      nonzeros_sent_by_coordinate_are_about_even, a_receiver_that_fails_ends_all_ranks,
      a_file_that_changed_is_refused_by_all_ranks};
  (void)setenv("CK_FORK", "no", 1);
  omp_set_num_threads(THREADS);
  (void)snprintf(path, sizeof path, "%s", testing_path("list.h5"));
  const char *name = getenv("AMPED_TEST_BACKEND");
  backend = amped_backend_find(name != NULL ? name : "cpu");
  bool ready = backend != NULL && write_file() == AMPED_OK && amped_hdf5_probe(path) == AMPED_OK;
  ready = amped_comm_start(&comm) == AMPED_OK && ready;
  if (!ready)
    amped_comm_abort(&comm, AMPED_FAILED);
  int result = testing_run("redistribute", tests, sizeof tests / sizeof tests[0]);
  (void)unlink(path);
  amped_comm_stop(&comm);
  return result;
}
