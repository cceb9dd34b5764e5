/* A tensor format of a test: one coordinate list for all modes, with the slow obvious MTTKRP. It
 * comes in by a table of operations alone: the plan, the loader, the mode update and CP-ALS know
 * nothing of it. On one rank. */
#include "factor/factors.h"
#include "hdf5/hdf5_probe.h"
#include "formats/tensor_file.h"
#include "load/load_copies.h"
#include "load/load_list.h"
#include "solver/cpd/cpd_als.h"
#include "solver/mode_update.h"
#include "tests/lib/testing_backend.h"

#define SWEEPS 4
#define NCOMPS 5

static amped_comm comm;
static char path[256];
static const uint64_t dims[] = {61, 1, 17, 230};
static int copies_begun;

/* --- the format --------------------------------------------------------------------------------*/

struct amped_tensor_part {
  const amped_plan *plan;
  amped_factor_set *factors;
  uint64_t nnz;
  uint64_t *positions[AMPED_MAX_ORDER];
  double *values;
};

static amped_status require(const amped_device *device, const amped_plan *plan,
                            uint64_t factor_bytes, amped_requirement *out) {
  (void)device;
  (void)factor_bytes;
  const int mode = plan->boxed;
  out->copy_bytes[mode] = plan->nnz * 8 * (uint64_t)(plan->order + 1);
  out->read_bytes[mode] = out->host_bytes = out->copy_bytes[mode];
  return AMPED_OK;
}

static void destroy(amped_tensor_part *part) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(part->positions[m]);
  amped_free(part->values);
  amped_free(part);
}

static amped_status create(amped_device *device, amped_factor_set *factors, const amped_plan *plan,
                           uint64_t factor_bytes, amped_tensor_part **out) {
  amped_tensor_part *part = NULL;
  (void)device;
  (void)factor_bytes;
  check_ok(amped_calloc(&part, 1, sizeof *part, "a test"));
  part->plan = plan;
  part->factors = factors;
  for (int m = 0; m < plan->order; m++)
    check_ok(amped_calloc(&part->positions[m], plan->nnz, sizeof(uint64_t), "a test"));
  check_ok(amped_calloc(&part->values, plan->nnz, sizeof(double), "a test"));
  *out = part;
  return AMPED_OK;
}

static amped_status insert(amped_tensor_part *part, int mode, uint64_t offset,
                           const amped_batch *batch) {
  const amped_plan *plan = part->plan;
  ck_assert_int_eq(mode, 3); /* the longest */
  ck_assert_uint_eq(offset, part->nnz);
  copies_begun += offset == 0;
  for (uint64_t k = 0; k < batch->count; k++) {
    part->positions[3][offset + k] =
        amped_plan_row_position(plan, 3, amped_index_get(batch->rows, plan->index_type, k));
    for (int m = 0; m < 3; m++)
      part->positions[m][offset + k] = amped_index_get(batch->inputs[m], plan->index_type, k);
    part->values[offset + k] = amped_value_get(batch->values, plan->value_type, k);
  }
  part->nnz += batch->count;
  return AMPED_OK;
}

static amped_status finish(amped_tensor_part *part, int mode) {
  ck_assert_int_eq(mode, 3);
  ck_assert_uint_eq(part->nnz, part->plan->nnz);
  return AMPED_OK;
}

static amped_status resize(amped_tensor_part *part) {
  (void)part;
  return AMPED_OK;
}

static amped_status mttkrp_begin(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  const amped_factor_ops *ops = amped_backend_cpu.factors;
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t rows = plan->modes[mode].copy.output_rows;
  double *output = doubles(rows * n);
  double *factors[AMPED_MAX_ORDER] = {NULL};
  for (int m = 0; m < plan->order; m++) {
    factors[m] = doubles(amped_plan_factor_rows(plan, m) * n);
    check_ok(ops->get_rows(part->factors, m, 0, amped_plan_factor_rows(plan, m), factors[m]));
  }
  for (uint64_t k = 0; k < part->nnz; k++)
    for (uint64_t c = 0; c < n; c++) {
      double product = part->values[k];
      for (int m = 0; m < plan->order; m++)
        if (m != mode)
          product *= factors[m][part->positions[m][k] * n + c];
      output[part->positions[mode][k] * n + c] += product;
    }
  check_ok(ops->put_output(part->factors, mode, 0, rows, output));
  amped_free(output);
  for (int m = 0; m < plan->order; m++)
    amped_free(factors[m]);
  return AMPED_OK;
}

static amped_status mttkrp_wait(amped_tensor_part *part, int mode, int block_part,
                                amped_mttkrp_times *times) {
  (void)part;
  (void)mode;
  (void)block_part;
  *times = (amped_mttkrp_times){0.0, 0.0};
  return AMPED_OK;
}

static const amped_format_ops list_format = {.name = "list",
                                             .any_order = true,
                                             .needs = {.one_copy = true, .plain_values = true},
                                             .require = require,
                                             .create = create,
                                             .destroy = destroy,
                                             .insert = insert,
                                             .finish = finish,
                                             .resize = resize,
                                             .mttkrp_begin = mttkrp_begin,
                                             .mttkrp_wait = mttkrp_wait};

/* The CPU backend, with one format more. */
static const amped_backend *with_list(void) {
  static const amped_format_ops *formats[3];
  static amped_backend b;
  b = amped_backend_cpu;
  formats[0] = amped_backend_cpu.formats[0];
  formats[1] = &list_format;
  b.formats = formats;
  return &b;
}

/* --- tests -------------------------------------------------------------------------------------*/

static amped_status write_file(void) {
  amped_sptensor t;
  AMPED_TRY(amped_sptensor_create(&t, 4, 2000));
  memcpy(t.dims, dims, sizeof dims);
  for (uint64_t k = 0; k < t.nnz; k++) { /* coordinates ascend */
    t.indices[0][k] = k / 33;
    t.indices[1][k] = 0;
    t.indices[2][k] = k % 33 / 2;
    t.indices[3][k] = k % 33 * 6 + k % 33 / 2;
    t.values[k] = (double)(k % 3 + 1); /* few distinct values: they would be coded */
  }
  amped_status status = amped_tensor_file_write(path, &t, true);
  amped_sptensor_free(&t);
  return status;
}

typedef struct fixture {
  amped_input *input;
  amped_plan plan;
  amped_worker worker;
  amped_exchange *exchange;
} fixture;

static void fixture_open(fixture *f, const char *format) {
  const amped_read_options read = {.index_base = AMPED_BASE_AUTO};
  const amped_backend_options options = {.threads = 2, .local_size = 1, .format = format};
  double seconds = 0.0;
  memset(f, 0, sizeof *f);
  check_ok(amped_input_open(&comm, path, &read, false, &f->input));
  check_ok(amped_worker_open(&f->worker, with_list(), &options));
  const amped_plan_request request = {.ncomps = NCOMPS,
                                      .value_type = AMPED_F64,
                                      .placement = AMPED_PLACEMENT_GREEDY,
                                      .rank = 0,
                                      .nranks = 1,
                                      .needs = f->worker.format->needs};
  check_ok(amped_plan_create(&f->plan, amped_input_info(f->input), &request));
  check_ok(amped_worker_prepare(&f->worker, &f->plan));
  check_ok(amped_exchange_create(&comm, &f->worker, &f->plan, &f->exchange));
  check_ok(amped_load_copies(&comm, f->input, false, &f->plan, &f->worker, &seconds));
}

static void fixture_close(fixture *f) {
  amped_exchange_destroy(f->exchange);
  amped_worker_close(&f->worker);
  amped_plan_destroy(&f->plan);
  amped_input_close(f->input);
}

static amped_context context_of(fixture *f) {
  return (amped_context){&comm, &f->plan, &f->worker, f->exchange};
}

static void fits_of(const char *format, double *fits) {
  fixture f;
  bool told = false;
  const amped_iterate_options options = {.iters = SWEEPS, .noise_reported = &told};
  amped_solver_result result;
  fixture_open(&f, format);
  const amped_context context = context_of(&f);
  check_ok(amped_factors_random(&context, 1));
  check_ok(amped_cpd_als(&context, &options, &result));
  ck_assert_uint_eq(result.sweeps, SWEEPS);
  memcpy(fits, result.history, SWEEPS * sizeof *fits);
  amped_solver_result_free(&result);
  fixture_close(&f);
}

/* Sums of some hundred terms in double, in another order. */
START_TEST(a_format_of_one_copy_decomposes_as_sorted_copies_do) {
  double sorted[SWEEPS];
  double list[SWEEPS];
  fits_of(NULL, sorted);
  copies_begun = 0;
  fits_of("list", list);
  ck_assert_int_eq(copies_begun, 1);
  for (uint64_t i = 0; i < SWEEPS; i++)
    near(list[i], sorted[i], 1e-10, "fit", i, 0);
  ck_assert_double_gt(sorted[SWEEPS - 1], 0.1);
  check_no_leak();
}

START_TEST(values_that_may_change_get_no_code) {
  fixture f;
  fixture_open(&f, NULL);
  ck_assert_int_eq(amped_plan_copies(&f.plan), 4);
  for (int m = 0; m < 4; m++)
    ck_assert(f.plan.modes[m].copy.packing.coded);
  fixture_close(&f);
  fixture_open(&f, "list");
  ck_assert_int_eq(amped_plan_copies(&f.plan), 1);
  ck_assert_int_eq(f.plan.boxed, 3);
  for (int m = 0; m < 4; m++)
    ck_assert(!f.plan.modes[m].copy.packing.coded);
  fixture_close(&f);
  check_no_leak();
}

START_TEST(a_format_that_lacks_an_operation_is_refused_by_name) {
  fixture f;
  uint64_t device = 0;
  uint64_t host = 0;
  fixture_open(&f, "list");
  check_fails(AMPED_USAGE, "--kernel=list needs sorted copies",
              amped_load_list_bytes(&f.plan, &f.worker, NULL, &device, &host));
  fixture_close(&f);
  const amped_backend_options missing = {.threads = 1, .local_size = 1, .format = "nosuch"};
  check_fails(AMPED_USAGE, "--kernel=nosuch does not run with --backend=cpu",
              amped_worker_open(&f.worker, with_list(), &missing));
  const amped_backend_options both = {
      .threads = 1, .local_size = 1, .format = "list", .deterministic = true};
  check_fails(AMPED_USAGE, "--deterministic", amped_worker_open(&f.worker, with_list(), &both));
  check_no_leak();
}

/* --- another work than MTTKRP ------------------------------------------------------------------*/

typedef char call_list[64];

static void called(char *calls, char what) {
  size_t n = strlen(calls);
  ck_assert_uint_lt(n + 2, sizeof(call_list));
  calls[n] = what;
}

static amped_status begin_work(void *self, int mode) {
  ck_assert_int_eq(mode, 3);
  called(self, 'b');
  return AMPED_OK;
}

static amped_status wait_work(void *self, int mode, int part, amped_mttkrp_times *times) {
  (void)mode;
  *times = (amped_mttkrp_times){1.0, 2.0};
  called(self, (char)('0' + part));
  return AMPED_OK;
}

static amped_status reduce_work(void *self, int mode) {
  (void)mode;
  called(self, 'r');
  return AMPED_OK;
}

static amped_status new_rows(void *self, int mode, uint64_t first, uint64_t end) {
  (void)mode;
  ck_assert_uint_lt(first, end);
  called(self, 'n');
  return AMPED_OK;
}

START_TEST(a_mode_update_takes_any_work) {
  call_list calls = "";
  const amped_mode_work work = {
      .begin = begin_work, .wait = wait_work, .reduce = reduce_work, .self = calls};
  const amped_row_update update = {.work = work, .rows = new_rows, .self = calls};
  static const amped_rates slow_link = {UINT64_C(32) << 20, 400e9, 100e9, 1.0, 0.0};
  amped_mode_times times = {0.0, 0.0, 0.0, 0.0, 0.0};
  fixture f;
  fixture_open(&f, NULL);
  check_ok(amped_plan_cut(&f.plan, 3, &slow_link));
  const int parts = f.plan.modes[3].rows.parts;
  char want[64] = "b";
  for (int i = 0; i < parts; i++)
    (void)snprintf(want + strlen(want), sizeof want - strlen(want), "%d%s", i,
                   i + 1 < parts ? "n" : "rn");
  const amped_context context = context_of(&f);
  check_ok(amped_mode_update(&context, 3, AMPED_OK, &update, &times));
  ck_assert_str_eq(calls, want);
  ck_assert_double_eq(times.copy, 1.0);
  ck_assert_double_eq(times.compute, 2.0);
  fixture_close(&f);
  check_no_leak();
}

static amped_status refuse_rows(void *self, int mode, uint64_t first, uint64_t end) {
  (void)mode;
  (void)first;
  (void)end;
  called(self, 'x');
  return AMPED_BAD_INPUT;
}

static amped_status finish_sum(void *self, int mode, bool arrived, amped_status status) {
  double sum = 1.0;
  (void)mode;
  (void)arrived;
  called(self, 'f');
  return amped_comm_sum_agreed(&comm, status, &sum, 1);
}

/* Other ranks wait for the reduction and for the sum: a rank that fails makes both calls. It waits
 * for the work that it began, and makes no more rows. */
START_TEST(a_failed_mode_update_makes_its_collective_calls) {
  call_list calls = "";
  const amped_mode_work work = {
      .begin = begin_work, .wait = wait_work, .reduce = reduce_work, .self = calls};
  const amped_row_update update = {
      .work = work, .rows = refuse_rows, .finish = finish_sum, .self = calls};
  amped_mode_times times = {0.0, 0.0, 0.0, 0.0, 0.0};
  fixture f;
  fixture_open(&f, NULL);
  const amped_context context = context_of(&f);
  ck_assert_int_eq(amped_mode_update(&context, 3, AMPED_OK, &update, &times), AMPED_BAD_INPUT);
  ck_assert_str_eq(calls, "b0rxf");
  memset(calls, 0, sizeof calls);
  ck_assert_int_eq(amped_mode_update(&context, 3, AMPED_FAILED, &update, &times), AMPED_FAILED);
  ck_assert_str_eq(calls, "rf");
  fixture_close(&f);
  check_no_leak();
}

/* MPI is up before and after all tests: they share this process. */
int main(void) {
  const TTest *const tests[] = {
      a_format_of_one_copy_decomposes_as_sorted_copies_do, values_that_may_change_get_no_code,
      a_format_that_lacks_an_operation_is_refused_by_name, a_mode_update_takes_any_work,
      a_failed_mode_update_makes_its_collective_calls};
  (void)setenv("CK_FORK", "no", 1);
  (void)snprintf(path, sizeof path, "%s", testing_path("formats.h5"));
  bool ready = write_file() == AMPED_OK && amped_hdf5_probe(path) == AMPED_OK;
  ready = amped_comm_start(&comm) == AMPED_OK && ready;
  if (!ready)
    amped_comm_abort(&comm, AMPED_FAILED);
  int result = testing_run("formats", tests, sizeof tests / sizeof tests[0]);
  (void)unlink(path);
  amped_comm_stop(&comm);
  return result;
}
