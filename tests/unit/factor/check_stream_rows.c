/* Stream rows: they keep what they have while they grow, and owners hand over what was taken. The
 * test plays all ranks. */
#include "factor/stream_rows.h"
#include "plan/touched.h"
#include "tests/lib/testing_backend.h"

enum { NCOMPS = 5, LENGTH = 7, MOST = 1000 };

static amped_state_head head_of(amped_vtype type, uint64_t dim, uint64_t length) {
  return (amped_state_head){.order = 3,
                            .ncomps = NCOMPS,
                            .type = type,
                            .dims = {dim, 3, dim + 200},
                            .history_length = length};
}

/* Number c of a row, and of its history; exact in float. */
static double number(int mode, uint64_t row, uint64_t c) {
  return (double)(mode * 100000 + (int)row * 16 + (int)c);
}

static void take_rows(amped_stream_rows *r, int mode, uint64_t first, uint64_t count) {
  double factor[MOST * NCOMPS];
  double history[MOST * LENGTH];
  uint64_t touched[MOST];
  for (uint64_t i = 0; i < count; i++) {
    touched[i] = first + i + 1;
    for (uint64_t c = 0; c < NCOMPS; c++)
      amped_value_put(factor, r->type, i * NCOMPS + c, number(mode, first + i, c));
    for (uint64_t c = 0; c < r->length; c++)
      amped_value_put(history, r->type, i * r->length + c, -number(mode, first + i, c));
  }
  check_ok(amped_stream_rows_take(r, mode, first, count, factor, r->length > 0 ? history : NULL,
                                  touched));
}

/* A worker that has a device alone. */
static amped_worker open_worker(void) {
  const amped_backend_options options = {.threads = 2, .local_size = 1};
  amped_worker worker;
  check_ok(amped_worker_open(&worker, backend(), &options));
  return worker;
}

/* Rows below `dim` were taken; those behind are zeros. */
static void rows_are_right(const amped_stream_rows *r, int mode, uint64_t dim) {
  for (uint64_t i = 0; i < r->dims[mode]; i++) {
    uint64_t *indices = &i;
    const amped_stream_change change = {
        .rows = r, .count = {1, 1, 1}, .indices = {indices, indices, indices}};
    double factor[NCOMPS];
    double history[LENGTH];
    uint64_t touched = 99;
    check_ok(r->ops->get_factors(r->store, mode, i, 1, factor));
    for (uint64_t c = 0; c < NCOMPS; c++)
      ck_assert(amped_value_get(factor, r->type, c) == (i < dim ? number(mode, i, c) : 0.0));
    if (amped_stream_owner(i, r->nranks) != r->rank)
      continue;
    check_ok(
        amped_stream_change_get((void *)(uintptr_t)&change, mode, 0, 1, factor, history, &touched));
    ck_assert_uint_eq(touched, i < dim ? i + 1 : 0);
    for (uint64_t c = 0; c < NCOMPS; c++)
      ck_assert(amped_value_get(factor, r->type, c) == (i < dim ? number(mode, i, c) : 0.0));
    for (uint64_t c = 0; c < r->length; c++)
      ck_assert(amped_value_get(history, r->type, c) == (i < dim ? -number(mode, i, c) : 0.0));
  }
}

START_TEST(rows_stay_while_modes_grow) {
  amped_worker worker = open_worker();
  for (int nranks = 1; nranks <= 4; nranks++)
    for (int rank = 0; rank < nranks; rank++)
      for (int kind = 0; kind < 4; kind++) {
        const amped_comm comm = {.rank = rank, .nranks = nranks};
        const amped_state_head head =
            head_of(kind % 2 == 0 ? AMPED_F32 : AMPED_F64, 100, kind < 2 ? LENGTH : 0);
        uint64_t dims[AMPED_MAX_ORDER] = {101, 3, 300};
        amped_stream_rows r;
        check_ok(amped_stream_rows_create(&r, &comm, &worker, &head));
        for (int m = 0; m < 3; m++) {
          take_rows(&r, m, 0, 2);
          take_rows(&r, m, 2, head.dims[m] - 2);
        }
        for (int growth = 0; growth < 4; growth++) {
          check_ok(amped_stream_rows_grow(&r, dims));
          for (int m = 0; m < 3; m++)
            rows_are_right(&r, m, head.dims[m]);
          dims[0] += 1 + 200 * (uint64_t)growth;
          dims[2] += 77;
        }
        amped_stream_rows_free(&r);
      }
  amped_worker_close(&worker);
  check_no_leak();
}

/* On a CPU: a test has no say in a GPU's memory. */
START_TEST(short_memory_leaves_the_rows) {
  amped_worker worker = open_worker();
  for (int64_t k = 0; k < 10 && !worker.backend->device_pointers; k++) {
    const amped_comm comm = {.rank = 0, .nranks = 1};
    const amped_state_head head = head_of(AMPED_F32, 100, LENGTH);
    const uint64_t dims[AMPED_MAX_ORDER] = {1000, 1000, 1000};
    amped_stream_rows r;
    amped_mem_fail_at(k);
    check_fails(AMPED_FAILED, "memory", amped_stream_rows_create(&r, &comm, &worker, &head));
    amped_mem_fail_at(-1);
    check_ok(amped_stream_rows_create(&r, &comm, &worker, &head));
    for (int m = 0; m < 3; m++)
      take_rows(&r, m, 0, head.dims[m]);
    amped_mem_fail_at(k > 0 ? k - 1 : 0);
    check_fails(AMPED_FAILED, "memory", amped_stream_rows_grow(&r, dims));
    amped_mem_fail_at(-1);
    for (int m = 0; m < 3; m++) {
      ck_assert_uint_eq(r.dims[m], head.dims[m]);
      rows_are_right(&r, m, head.dims[m]);
    }
    check_ok(amped_stream_rows_grow(&r, dims)); /* what was half done is no harm */
    rows_are_right(&r, 0, head.dims[0]);
    amped_stream_rows_free(&r);
  }
  amped_worker_close(&worker);
  check_no_leak();
}

START_TEST(sizes_that_no_machine_holds_are_refused) {
  amped_worker worker = open_worker();
  const amped_comm comm = {.rank = 0, .nranks = 1};
  const amped_state_head head = head_of(AMPED_F64, UINT64_C(1) << 61, LENGTH);
  amped_stream_rows r;
  check_fails(AMPED_FAILED, "too many", amped_stream_rows_create(&r, &comm, &worker, &head));
  amped_worker_close(&worker);
  check_no_leak();
}

TESTING_MAIN("stream_rows", rows_stay_while_modes_grow, short_memory_leaves_the_rows,
             sizes_that_no_machine_holds_are_refused)
