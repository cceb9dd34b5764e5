/* State rows: rows that ranks own reach rank 0's file, and come back to all, piece by piece; a
 * failure of one rank ends all. As it is on one rank; tests/cli/stream_state.sh starts it on 1 to
 * 4. */
#include "factor/state_rows.h"

#include <math.h>
#include <omp.h>

#include "base/log.h"
#include "base/random.h"
#include "tests/lib/testing.h"

#define ORDER 3
#define LENGTH 40000 /* a piece has some rows */

static amped_comm comm;
static char path[128];

/* Rows of each mode after a batch; who owns them, and which of them it touches. */
static uint64_t dim_of(int mode, uint64_t b) {
  return 40 + 7 * (uint64_t)mode + 5 * b;
}
static int owner_of(int mode, uint64_t i) {
  return (int)(amped_mix64(i + 100 * (uint64_t)mode) % (uint64_t)comm.nranks);
}
static bool touches(int mode, uint64_t i, uint64_t b) {
  return i < dim_of(mode, b) &&
         (b == 1 || i >= dim_of(mode, b - 1) || amped_mix64(i * 31 + b) % 4 == 0);
}
static float number(int mode, uint64_t i, uint64_t b, uint64_t k) {
  return (float)(amped_mix64(i + 1000 * b + 7 * k + 3 * (uint64_t)mode) % 4096);
}

static amped_state_head head_of(uint64_t b) {
  amped_state_head h;
  memset(&h, 0, sizeof h);
  h.order = ORDER;
  h.ncomps = 200;
  h.type = AMPED_F32;
  h.history_length = LENGTH;
  h.scale = h.forget = 1.0;
  h.duplicates = AMPED_DUPLICATES_SUM;
  h.least = -INFINITY;
  h.most = INFINITY;
  h.growing = -1;
  for (int m = 0; m < ORDER; m++) {
    h.dims[m] = dim_of(m, b);
    h.pull[m] = 1.0;
  }
  return h;
}

/* This rank's rows that batch b touches. */
typedef struct own {
  uint64_t b;
  uint64_t *indices[ORDER];
  uint64_t count[ORDER];
  amped_status status; /* of get */
} own;

static amped_status get(void *context, int mode, uint64_t first, uint64_t count, void *factor,
                        void *history, uint64_t *touched) {
  const own *o = context;
  const uint64_t n = (uint64_t)head_of(1).ncomps;
  float *f = factor;
  float *h = history;
  ck_assert_uint_le(first + count, o->count[mode]);
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t row = o->indices[mode][first + i];
    for (uint64_t k = 0; k < n; k++)
      f[i * n + k] = number(mode, row, o->b, k);
    for (uint64_t k = 0; k < LENGTH; k++)
      h[i * LENGTH + k] = number(mode, row, o->b, k + n);
    touched[i] = o->b;
  }
  return o->status == AMPED_OK
             ? AMPED_OK
             : amped_error(o->status, NULL, "rank %d cannot give its rows", comm.rank);
}

static own find_own(uint64_t b) {
  own o = {.b = b};
  for (int m = 0; m < ORDER; m++) {
    check_ok(amped_alloc(&o.indices[m], dim_of(m, b), sizeof *o.indices[m], "rows"));
    for (uint64_t i = 0; i < dim_of(m, b); i++)
      if (touches(m, i, b) && owner_of(m, i) == comm.rank)
        o.indices[m][o.count[m]++] = i;
  }
  return o;
}

static void free_own(own *o) {
  for (int m = 0; m < ORDER; m++)
    amped_free(o->indices[m]);
}

static amped_state_rows rows_of(own *o) {
  amped_state_rows r = {.get = get, .context = o};
  for (int m = 0; m < ORDER; m++) {
    r.count[m] = o->count[m];
    r.indices[m] = o->indices[m];
  }
  return r;
}

static void learn(amped_state_file *file, uint64_t b) {
  const amped_state_head head = head_of(b);
  const amped_labels none[ORDER] = {{.count = 0}};
  const amped_state_change change = {.head = &head, .added = none, .batch = {"batch", b, 1}};
  own o = find_own(b);
  const amped_state_rows mine = rows_of(&o);
  check_ok(amped_state_rows_put(&comm, file, &head, b == 1, &mine));
  if (comm.rank == 0)
    check_ok(amped_state_file_commit(file, &change));
  free_own(&o);
}

/* All rows come, in order. */
typedef struct seen {
  uint64_t b;
  int mode;
  uint64_t row;
  uint64_t pieces;
  amped_status status;
} seen;

static amped_status take(void *context, int mode, uint64_t first, uint64_t count,
                         const void *factor, const void *history, const uint64_t *touched) {
  const uint64_t n = (uint64_t)head_of(1).ncomps;
  seen *s = context;
  s->row = mode == s->mode ? s->row : 0;
  s->mode = mode;
  s->pieces++;
  ck_assert_uint_eq(first, s->row);
  s->row += count;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t b = s->b;
    while (!touches(mode, first + i, b))
      b--;
    ck_assert_uint_eq(touched[i], b);
    for (uint64_t k = 0; k < n + LENGTH; k += 97) {
      const float found =
          k < n ? ((const float *)factor)[i * n + k] : ((const float *)history)[i * LENGTH + k - n];
      ck_assert(found == number(mode, first + i, b, k));
    }
  }
  return s->status == AMPED_OK
             ? AMPED_OK
             : amped_error(s->status, NULL, "rank %d cannot take rows", comm.rank);
}

static void check_state(amped_state_file *file, uint64_t b) {
  amped_state_head head;
  seen s = {.b = b, .mode = -1};
  check_ok(amped_state_head_share(&comm, file, &head));
  ck_assert_uint_eq(head.batches, b);
  ck_assert_uint_eq(head.dims[2], dim_of(2, b));
  ck_assert_uint_lt(amped_state_piece_rows(&head), 40);
  check_ok(amped_state_rows_read(&comm, file, &head, take, &s));
  ck_assert_int_eq(s.mode, ORDER - 1);
  ck_assert_uint_eq(s.row, dim_of(ORDER - 1, b));
  ck_assert_uint_gt(s.pieces, 3);
}

static amped_state_file *create(void) {
  const amped_state_head head = head_of(1);
  amped_state_file *file = NULL;
  if (comm.rank == 0)
    check_ok(amped_state_file_create(path, &head, &file));
  return file;
}

static void end(amped_state_file *file) {
  char name[160];
  amped_state_file_close(file);
  amped_status_clear();
  (void)unlink(path);
  for (int i = 0; i < 3; i++) {
    (void)snprintf(name, sizeof name, "%s%s", path,
                   i == 0   ? ".journal"
                   : i == 1 ? ".prev"
                            : ".journal.prev");
    (void)unlink(name);
  }
  check_no_leak();
}

START_TEST(rows_of_all_ranks_come_back_to_all) {
  amped_state_file *file = create();
  for (uint64_t b = 1; b <= 6; b++) {
    learn(file, b);
    check_state(file, b);
  }
  end(file);
}
END_TEST

START_TEST(a_failure_of_one_rank_ends_all) {
  const amped_state_head head = head_of(1);
  for (int bad = 0; bad < comm.nranks; bad++) {
    amped_state_file *file = create();
    own o = find_own(1);
    o.status = comm.rank == bad ? AMPED_FAILED : AMPED_OK;
    const amped_state_rows mine = rows_of(&o);
    ck_assert_int_eq(amped_state_rows_put(&comm, file, &head, true, &mine), AMPED_FAILED);
    amped_state_file_close(file);
    amped_status_clear();
    file = create();
    learn(file, 1);
    const amped_state_head grown = head_of(2);
    own more = find_own(2);
    more.status = o.status;
    const amped_state_rows batch = rows_of(&more);
    ck_assert_int_eq(amped_state_rows_put(&comm, file, &grown, false, &batch), AMPED_FAILED);
    amped_status_clear();
    if (comm.rank == 0)
      check_ok(amped_state_file_drop(file));
    check_state(file, 1);
    seen s = {.b = 1, .mode = -1, .status = o.status};
    ck_assert_int_eq(amped_state_rows_read(&comm, file, &head, take, &s), AMPED_FAILED);
    free_own(&o);
    free_own(&more);
    end(file);
  }
}
END_TEST

/* Two ranks, or none, own a row of a new state. */
START_TEST(rows_that_are_missing_or_come_twice_are_refused) {
  const amped_state_head head = head_of(1);
  for (int twice = 0; twice < 2; twice++) {
    amped_state_file *file = create();
    own o = find_own(1);
    if (twice == 0 && comm.rank == 0)
      o.count[1]--;
    if (twice == 1 && comm.rank == 0)
      o.indices[1][o.count[1] - 1] = o.indices[1][o.count[1] - 2];
    const amped_state_rows mine = rows_of(&o);
    ck_assert_int_eq(amped_state_rows_put(&comm, file, &head, true, &mine), AMPED_FAILED);
    free_own(&o);
    end(file);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {rows_of_all_ranks_come_back_to_all, a_failure_of_one_rank_ends_all,
                                rows_that_are_missing_or_come_twice_are_refused};
  (void)setenv("CK_FORK", "no", 1);
  omp_set_num_threads(2);
  amped_log_verbosity(AMPED_QUIET);
  (void)snprintf(path, sizeof path, "%s", testing_path("rows.h5"));
  if (amped_comm_start(&comm) != AMPED_OK)
    amped_comm_abort(&comm, AMPED_FAILED);
  int result = testing_run("state_rows", tests, sizeof tests / sizeof tests[0]);
  amped_comm_stop(&comm);
  return result;
}
