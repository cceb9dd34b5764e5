/* Result files: round trips, files of other programs for --init, and damage. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/random.h"
#include "formats/result_file.h"
#include "tests/lib/testing_hdf5.h"

static const double fits[] = {0.25, 0.5, 0.625};
static double start_values[] = {0.625, 0.5};

static amped_run_record a_record(void) {
  return (amped_run_record){.input = "folder/x.h5",
                            .input_norm = 3.5,
                            .input_hash = UINT64_C(0xFEDCBA9876543210),
                            .options = "{\"rank\": 3}",
                            .seed = 42,
                            .stop_reason = "tolerance",
                            .metric = "fit",
                            .history = fits,
                            .sweeps = 3};
}

static void make_model(amped_ktensor *k, int order, const uint64_t *dims, int ncomps) {
  check_ok(amped_ktensor_create(k, order, dims, ncomps));
  for (int r = 0; r < ncomps; r++)
    k->weights[r] = floor(8.0 * amped_random_double(1, 50, (uint64_t)r));
  for (int m = 0; m < order; m++)
    for (uint64_t i = 0; i < dims[m] * (uint64_t)ncomps; i++)
      k->factors[m][i] = amped_random_double(1, (uint64_t)m, i) - 0.5;
}

/* Is column r of `to` column c of `from`, or its negative? 1, -1, or 0: neither. */
static int same_column(const amped_ktensor *from, int c, const amped_ktensor *to, int r, int mode) {
  const uint64_t n = (uint64_t)from->ncomps;
  bool same = true;
  bool negative = true;
  for (uint64_t i = 0; i < from->dims[mode]; i++) {
    double a = from->factors[mode][i * n + (uint64_t)c];
    double b = to->factors[mode][i * n + (uint64_t)r];
    same = same && a == b;
    negative = negative && a == -b;
  }
  return same ? 1 : negative ? -1 : 0;
}

/* Slow sort: repeatedly take the first of the largest weights that remain. */
static void check_ordered(const amped_ktensor *from, const amped_ktensor *to) {
  bool taken[AMPED_MAX_NCOMPS] = {false};
  ck_assert(to->order == from->order && to->ncomps == from->ncomps);
  for (int r = 0; r < from->ncomps; r++) {
    int best = -1;
    for (int c = 0; c < from->ncomps; c++)
      if (!taken[c] && (best < 0 || from->weights[c] > from->weights[best]))
        best = c;
    taken[best] = true;
    bool same = to->weights[r] == from->weights[best];
    int sign = 1;
    for (int m = 0; m < from->order; m++)
      sign *= same_column(from, best, to, r, m);
    ck_assert_msg(same && sign == 1, "component %d differs", r);
  }
}

START_TEST(results_survive_in_order_of_weight) {
  const uint64_t dims[] = {5, 3000, 1, 7, 2, 3, 4, 2};
  const int sizes[] = {1, 2, 33, 1024};
  const char *path = testing_path("result.h5");
  for (int order = 1; order <= AMPED_MAX_ORDER; order++) {
    amped_ktensor k, read;
    amped_signs signs;
    amped_run_record record = a_record();
    make_model(&k, order, dims, sizes[order % 4]);
    check_ok(amped_result_file_write(path, &k, &record));
    check_ok(amped_result_file_read(path, &read));
    for (int m = 0; m < order; m++)
      ck_assert_uint_eq(read.dims[m], dims[m]);
    check_ordered(&k, &read);
    amped_signs_find(&read, &signs); /* of a result there is nothing to negate */
    for (int m = 0; m < order; m++)
      for (int r = 0; r < k.ncomps; r++)
        ck_assert_msg(!signs.negated[m][r], "order %d: mode %d, component %d", order, m, r);
    amped_ktensor_free(&read);
    amped_ktensor_free(&k);
  }
  (void)remove(path);
  check_no_leak();
}

static void check_list(const char *path, const char *name, const double *want, uint64_t count) {
  double got[4];
  hid_t file = h5(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
  hid_t id = h5(H5Dopen2(file, name, H5P_DEFAULT));
  hid_t space = h5(H5Dget_space(id));
  ck_assert_int_eq(H5Sget_simple_extent_npoints(space), (hssize_t)count);
  h5(H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, got));
  ck_assert_mem_eq(got, want, count * sizeof *want);
  h5(H5Sclose(space));
  h5(H5Dclose(id));
  h5(H5Fclose(file));
}

static void check_metric(const char *path, const char *name, uint64_t sweeps, uint64_t starts) {
  amped_result_metric metric;
  check_ok(amped_result_file_metric(path, true, &metric));
  ck_assert_str_eq(metric.name, name);
  ck_assert_uint_eq(metric.sweeps.count, sweeps);
  ck_assert_uint_eq(metric.starts.count, starts);
  if (sweeps > 0)
    ck_assert_mem_eq(metric.sweeps.values, fits, sweeps * sizeof *fits);
  if (starts > 0)
    ck_assert_mem_eq(metric.starts.values, start_values, starts * sizeof *start_values);
  amped_result_metric_free(&metric);
}

START_TEST(starts_and_core_consistency_survive) {
  const uint64_t dims[] = {2, 3, 4};
  uint64_t seeds[] = {7, UINT64_C(1) << 62};
  uint64_t sweeps[] = {3, 50};
  uint64_t normal[] = {0, 1};
  const double match[] = {1.0, 0.75, 0.75, 1.0};
  const double consistency = -1e27;
  const char *path = testing_path("starts.h5");
  amped_ktensor k;
  amped_run_record record = a_record();
  double number = 0.0;
  make_model(&k, 3, dims, 2);
  check_ok(amped_result_file_write(path, &k, &record));
  check_metric(path, "fit", 3, 0);
  check_ok(amped_result_file_number(path, "corcondia", &number));
  ck_assert(isnan(number));
  record.starts = (amped_run_starts){.count = 2,
                                     .seeds = seeds,
                                     .sweeps = sweeps,
                                     .normal = normal,
                                     .values = start_values,
                                     .match = match};
  record.corcondia = &consistency;
  check_ok(amped_result_file_write(path, &k, &record));
  check_metric(path, "fit", 3, 2);
  check_list(path, "/starts/fit", start_values, 2);
  check_list(path, "/starts/seed", (double[]){7.0, 0x1p62}, 2);
  check_list(path, "/starts/sweeps", (double[]){3.0, 50.0}, 2);
  check_list(path, "/starts/normal", (double[]){0.0, 1.0}, 2);
  check_ok(amped_result_file_number(path, "corcondia", &number));
  ck_assert_double_eq(number, consistency);
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

/* What a solver other than CP-ALS needs of a result file: a name, and datasets of that name. */
START_TEST(a_metric_of_another_name_survives) {
  const uint64_t dims[] = {2, 3, 4};
  uint64_t seeds[] = {7, 8};
  uint64_t sweeps[] = {3, 50};
  uint64_t normal[] = {0, 1};
  const double match[] = {1.0, 0.75, 0.75, 1.0};
  const char *path = testing_path("rmse.h5");
  amped_ktensor k;
  amped_run_record record = a_record();
  record.metric = "rmse";
  record.starts = (amped_run_starts){.count = 2,
                                     .seeds = seeds,
                                     .sweeps = sweeps,
                                     .normal = normal,
                                     .values = start_values,
                                     .match = match};
  make_model(&k, 3, dims, 2);
  check_ok(amped_result_file_write(path, &k, &record));
  check_metric(path, "rmse", 3, 2);
  check_list(path, "/rmse", fits, 3);
  check_list(path, "/starts/rmse", start_values, 2);
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

START_TEST(a_file_names_its_metric_or_means_the_fit) {
  static const char *const bad[] = {
      "", "Fit", "../fit", "a b", "it's", "4x", "a_name_that_has_one_letter_more_", "f\xc3\xa4t"};
  const uint64_t dims[] = {2, 3, 4};
  const char *path = testing_path("names.h5");
  amped_ktensor k;
  amped_result_metric metric;
  amped_run_record record = a_record();
  make_model(&k, 3, dims, 2);
  check_ok(amped_result_file_write(path, &k, &record));
  hid_t file = testing_h5_modify(path);
  testing_h5_remove_attribute(file, "/", "metric");
  h5(H5Fclose(file));
  check_metric(path, "fit", 3, 0);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    check_ok(amped_result_file_write(path, &k, &record));
    file = testing_h5_modify(path);
    testing_h5_remove_attribute(file, "/", "metric");
    testing_h5_text(file, "metric", bad[i]);
    h5(H5Fclose(file));
    check_fails(AMPED_BAD_INPUT, "attribute metric", amped_result_file_metric(path, true, &metric));
  }
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

START_TEST(the_record_and_labels_survive) {
  const uint64_t dims[] = {2, 3, 4};
  const char *path = testing_path("record.h5");
  amped_ktensor k, read;
  amped_run_record record = a_record();
  char text[64];
  bool is_result = false;
  make_model(&k, 3, dims, 2);
  k.labels[0].count = 2;
  check_ok(amped_strdup(&k.labels[0].bytes, "abcde"));
  check_ok(amped_alloc(&k.labels[0].offsets, 3, sizeof(uint64_t), "labels"));
  memcpy(k.labels[0].offsets, (uint64_t[]){0, 0, 5}, 3 * sizeof(uint64_t));
  check_ok(amped_result_file_write(path, &k, &record));
  check_ok(amped_result_file_read(path, &read));
  ck_assert_uint_eq(read.labels[0].count, 2);
  ck_assert_mem_eq(read.labels[0].bytes, "abcde", 5);
  ck_assert_ptr_null(read.labels[0].name);
  ck_assert_uint_eq(read.labels[1].count, 0);
  check_metric(path, "fit", 3, 0);
  check_list(path, "/fit", fits, 3);
  check_ok(amped_result_file_text(path, "stop_reason", text, sizeof text));
  ck_assert_str_eq(text, "tolerance");
  check_ok(amped_result_file_text(path, "input", text, 7));
  ck_assert_str_eq(text, "folder");
  check_ok(amped_result_file_text(path, "options", text, sizeof text));
  ck_assert_str_eq(text, "{\"rank\": 3}");
  check_ok(amped_result_file_text(path, "no_such", text, sizeof text));
  ck_assert_str_eq(text, "");
  check_ok(amped_result_file_is(path, &is_result));
  ck_assert(is_result);
  amped_ktensor_free(&read);
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

START_TEST(a_run_without_sweeps_is_written) {
  const uint64_t dims[] = {2, 3, 4};
  const char *path = testing_path("none.h5");
  amped_ktensor k;
  amped_run_record record = a_record();
  record.sweeps = 0;
  record.history = NULL;
  record.options = "";
  make_model(&k, 3, dims, 1);
  check_ok(amped_result_file_write(path, &k, &record));
  check_metric(path, "fit", 0, 0);
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

/* --- other people's files -------------------------------------------------------------------- */

/* 2 components; dims 2, 3, 2; only weights and factors. */
static void write_plain(const char *path, hid_t type) {
  const double values[] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
  const uint64_t rows[] = {2, 3, 2};
  hid_t file = testing_h5_create(path);
  testing_h5_array(file, "/weights", type, H5T_NATIVE_DOUBLE, 2, values, H5P_DEFAULT);
  h5(H5Gclose(h5(H5Gcreate2(file, "/factors", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
  for (int m = 0; m < 3; m++) {
    char name[32];
    (void)snprintf(name, sizeof name, "/factors/%d", m);
    testing_h5_matrix(file, name, type, H5T_NATIVE_DOUBLE, rows[m], 2, values);
  }
  h5(H5Fclose(file));
}

START_TEST(any_number_type_is_read) {
  const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_STD_I32LE, H5T_STD_U8LE};
  const char *path = testing_path("plain.h5");
  for (size_t i = 0; i < 4; i++) {
    amped_ktensor k;
    bool is_result = false;
    write_plain(path, types[i]);
    check_ok(amped_result_file_read(path, &k));
    ck_assert(k.order == 3 && k.ncomps == 2 && k.dims[0] == 2 && k.dims[1] == 3 && k.dims[2] == 2);
    ck_assert(k.weights[1] == 2.0 && k.factors[1][5] == 6.0);
    check_ok(amped_result_file_is(path, &is_result));
    ck_assert(is_result);
    check_metric(path, "fit", 0, 0);
    amped_ktensor_free(&k);
  }
  (void)remove(path);
  check_no_leak();
}

static amped_status load(const char *path) {
  amped_ktensor k;
  amped_status status = amped_result_file_read(path, &k);
  amped_ktensor_free(&k);
  return status;
}

START_TEST(wrong_shapes_and_values_are_refused) {
  const char *path = testing_path("shapes.h5");
  static double values[3 * 1025];
  const struct {
    const char *name, *message;
    uint64_t rows, columns; /* 0 columns: one dimension; 0 rows: no dataset */
    double first;
  } cases[] = {
      {"/weights", "weights is missing", 0, 0, 1.0},
      {"/weights", "components", 1025, 0, 1.0},
      {"/weights", "weights has a value that is not finite", 2, 0, NAN},
      {"/weights", "weights has 2 dimensions", 2, 1, 1.0},
      {"/factors/0", "factors/0 is missing", 0, 0, 1.0},
      {"/factors/1", "2 x 3, but /weights has 2", 2, 3, 1.0},
      {"/factors/1", "factors/1 has 1 dimensions", 6, 0, 1.0},
      {"/factors/2", "factors/2 has a value that is not finite (row 0, column 0)", 2, 2, INFINITY},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    write_plain(path, H5T_IEEE_F64LE);
    hid_t file = testing_h5_modify(path);
    testing_h5_remove(file, cases[i].name);
    values[0] = cases[i].first;
    if (cases[i].columns > 0)
      testing_h5_matrix(file, cases[i].name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, cases[i].rows,
                        cases[i].columns, values);
    else if (cases[i].rows > 0)
      testing_h5_array(file, cases[i].name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, cases[i].rows,
                       values, H5P_DEFAULT);
    h5(H5Fclose(file));
    check_fails(AMPED_BAD_INPUT, cases[i].message, load(path));
  }
  (void)remove(path);
  check_no_leak();
}

/* As another program may leave it: without the seal of attributes and the factors' hashes. */
START_TEST(factors_have_the_dimensions_of_the_tensor) {
  const uint64_t dims[] = {2, 3, 4};
  static const double values[10] = {0.5};
  const char *path = testing_path("other.h5");
  amped_ktensor k;
  amped_run_record record = a_record();
  make_model(&k, 3, dims, 2);
  check_ok(amped_result_file_write(path, &k, &record));
  hid_t file = testing_h5_modify(path);
  testing_h5_remove(file, "/factors/2");
  h5(H5Fclose(file));
  check_fails(AMPED_BAD_INPUT, "input_dims of / is not integers of the right number", load(path));
  file = testing_h5_modify(path);
  testing_h5_matrix(file, "/factors/2", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 5, 2, values);
  h5(H5Fclose(file));
  check_fails(AMPED_BAD_INPUT, "/factors/2 has 5 rows, but input_dims says 4", load(path));
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

START_TEST(what_is_no_result_is_told_apart) {
  const char *path = testing_path("other.h5");
  bool is_result = true;
  hid_t file = testing_h5_create(path);
  testing_h5_text(file, "binsparse", "{}");
  h5(H5Fclose(file));
  check_ok(amped_result_file_is(path, &is_result));
  ck_assert(!is_result);
  check_fails(AMPED_BAD_INPUT, "/factors/0 is missing", load(path));
  testing_write_file(path, "text", 4);
  check_fails(AMPED_BAD_INPUT, "not an HDF5 file", amped_result_file_is(path, &is_result));
  (void)remove(path);
  check_no_leak();
}

/* --- damage and failure ---------------------------------------------------------------------- */

START_TEST(flipped_bytes_are_refused_or_harmless) {
  const uint64_t dims[] = {4, 3, 5};
  const char *path = testing_path("flip.h5");
  amped_ktensor k;
  amped_run_record record = a_record();
  size_t count = 0;
  make_model(&k, 3, dims, 3);
  check_ok(amped_result_file_write(path, &k, &record));
  unsigned char *bytes = testing_bytes(path, &count);
  size_t stride = getenv("AMPED_EVERY_BYTE") != NULL ? 1 : count / 200 + 1;
  for (size_t i = 0; i < count; i += stride) {
    amped_ktensor read;
    unsigned char kept = bytes[i];
    bytes[i] = (unsigned char)(kept ^ (amped_random_u64(1, 2, i) % 255 + 1));
    testing_write_file(path, bytes, count);
    amped_status status = amped_result_file_read(path, &read);
    if (status == AMPED_OK)
      check_ordered(&k, &read);
    else
      ck_assert_msg(status == AMPED_BAD_INPUT, "byte %zu: status %d (%s)", i, (int)status,
                    amped_status_message());
    amped_status_clear();
    amped_ktensor_free(&read);
    bytes[i] = kept;
  }
  free(bytes);
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

START_TEST(nothing_is_left_where_writing_fails) {
  const uint64_t dims[] = {400, 30, 5};
  const char *path = testing_path("full.h5");
  struct rlimit old, fresh;
  amped_ktensor k;
  amped_run_record record = a_record();
  size_t whole = 0;
  make_model(&k, 3, dims, 3);
  check_ok(amped_result_file_write(path, &k, &record));
  free(testing_bytes(path, &whole));
  (void)remove(path);
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
  (void)signal(SIGXFSZ, SIG_IGN);
  for (rlim_t limit = 0; limit < whole; limit += 997) {
    fresh = old;
    fresh.rlim_cur = limit;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &fresh), 0);
    amped_status status = amped_result_file_write(path, &k, &record);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ck_assert_int_eq(status, AMPED_FAILED);
    ck_assert_ptr_nonnull(strstr(amped_status_message(), "cannot be written"));
    amped_status_clear();
    ck_assert_int_eq(testing_count_files(path), 0);
  }
  check_fails(AMPED_FAILED, "directory", amped_result_file_write("no/such/x.h5", &k, &record));
  amped_ktensor_free(&k);
  check_no_leak();
}

START_TEST(memory_that_runs_out_anywhere_leaks_nothing) {
  const uint64_t dims[] = {2, 3, 4};
  const char *path = testing_path("memory.h5");
  amped_ktensor k;
  amped_run_record record = a_record();
  make_model(&k, 3, dims, 2);
  int64_t kept = amped_mem_live();
  for (int i = 0, done = 0; !done; i++) {
    amped_ktensor read = {.order = 0};
    amped_mem_fail_at(i);
    amped_status status = amped_result_file_write(path, &k, &record);
    if (status == AMPED_OK)
      status = amped_result_file_read(path, &read);
    amped_mem_fail_at(-1);
    done = status == AMPED_OK;
    ck_assert(done || status == AMPED_FAILED);
    amped_status_clear();
    amped_ktensor_free(&read);
    ck_assert_int_eq(amped_mem_live(), kept);
    ck_assert_int_lt(i, 500);
  }
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

/* What a result is said to take, and takes: within 10 per cent, but for 16 KiB of attributes. */
static void check_room(const uint64_t *dims, int ncomps, uint64_t label_bytes) {
  static const double fit[] = {0.25, 0.5};
  const amped_run_record record = {.input = "x.h5",
                                   .options = "{\"rank\": 4}",
                                   .stop_reason = "tolerance",
                                   .metric = "fit",
                                   .history = fit,
                                   .sweeps = 2};
  const char *path = testing_path("room.h5");
  amped_ktensor k;
  struct stat st;
  check_ok(amped_ktensor_create(&k, 3, dims, ncomps));
  k.weights[0] = 1.0;
  if (label_bytes > 0) {
    amped_labels *l = &k.labels[0];
    l->count = dims[0];
    check_ok(amped_alloc(&l->bytes, dims[0] * label_bytes, 1, "labels"));
    check_ok(amped_alloc(&l->offsets, dims[0] + 1, sizeof *l->offsets, "labels"));
    memset(l->bytes, 'x', dims[0] * label_bytes);
    for (uint64_t i = 0; i <= dims[0]; i++)
      l->offsets[i] = i * label_bytes;
  }
  check_ok(amped_result_file_write(path, &k, &record));
  const uint64_t said = amped_result_file_bytes(3, dims, ncomps, AMPED_F64, k.labels);
  ck_assert_int_eq(stat(path, &st), 0);
  const uint64_t takes = (uint64_t)st.st_size;
  ck_assert_msg(said >= takes && said <= takes + takes / 10 + 16384,
                "said to take %" PRIu64 " bytes, takes %" PRIu64, said, takes);
  amped_ktensor_free(&k);
  (void)remove(path);
}

START_TEST(a_result_takes_the_room_that_it_is_said_to_take) {
  check_room((const uint64_t[]){2, 3, 4}, 1, 0);
  check_room((const uint64_t[]){5, 300, 40000}, 7, 9);
  check_room((const uint64_t[]){70000, 9, 9}, 33, 40);
  check_room((const uint64_t[]){1100000, 2, 2}, 2, 3);
}

TESTING_MAIN("result_file", a_result_takes_the_room_that_it_is_said_to_take,
             results_survive_in_order_of_weight, the_record_and_labels_survive,
             starts_and_core_consistency_survive, a_metric_of_another_name_survives,
             a_file_names_its_metric_or_means_the_fit, a_run_without_sweeps_is_written,
             any_number_type_is_read, wrong_shapes_and_values_are_refused,
             factors_have_the_dimensions_of_the_tensor, what_is_no_result_is_told_apart,
             flipped_bytes_are_refused_or_harmless, nothing_is_left_where_writing_fails,
             memory_that_runs_out_anywhere_leaks_nothing)
