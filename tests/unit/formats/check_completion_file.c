/* Completion files: round trips, values of the model that stay as they were, and damage. */
#include <math.h>

#include "base/mem.h"
#include "base/random.h"
#include "formats/completion_file.h"
#include "formats/result_file.h"
#include "tests/lib/testing_hdf5.h"

enum { ORDER = 4, NCOMPS = 5 };
static const uint64_t dims[ORDER] = {7, 5, 1, 6};
static const double train[] = {0.9, 0.5, 0.3}, validate[] = {0.95, 0.75, 0.8};

static void make_model(amped_ktensor *k) {
  check_ok(amped_ktensor_create(k, ORDER, dims, NCOMPS));
  for (int r = 0; r < NCOMPS; r++)
    k->weights[r] = floor(8.0 * amped_random_double(1, 50, (uint64_t)r));
  for (int m = 0; m < ORDER; m++)
    for (uint64_t i = 0; i < dims[m] * NCOMPS; i++)
      k->factors[m][i] = amped_random_double(1, (uint64_t)m, i) - 0.5;
}

static void make_completion(amped_completion *c, bool biased) {
  check_ok(amped_completion_create(c, ORDER, dims, biased));
  for (int m = 0; m < ORDER && biased; m++)
    for (uint64_t i = 0; i < dims[m]; i++)
      c->bias[m][i] = amped_random_double(2, (uint64_t)m, i) - 0.5;
  c->mean = 3.5;
  c->scale = 1.25;
  c->context[1] = c->context[3] = true;
  c->reg = 0.75;
  c->split_seed = UINT64_C(0xFEDCBA9876543210);
  c->holdout = 0.05;
  c->fibres[1] = c->fibres[2] = true;
  c->best_sweep = 2;
  check_ok(amped_completion_set_errors(c, AMPED_COMPLETION_TRAIN, train, 3));
  check_ok(amped_completion_set_errors(c, AMPED_COMPLETION_VALIDATE, validate, 3));
  c->ncomps = NCOMPS;
  check_ok(amped_alloc(&c->lengths, ORDER * NCOMPS, sizeof *c->lengths, "lengths"));
  for (uint64_t i = 0; i < ORDER * NCOMPS; i++)
    c->lengths[i] = (double)i;
  check_ok(amped_alloc(&c->gap_rmse[3], dims[3], sizeof *c->gap_rmse[3], "errors of gaps"));
  for (uint64_t i = 0; i < dims[3]; i++)
    c->gap_rmse[3][i] = 0.5 * (double)i;
}

static amped_run_record record_of(const amped_completion *c) {
  return (amped_run_record){.input = "x.h5",
                            .options = "{\"rank\": 5}",
                            .stop_reason = "patience",
                            .metric = "rmse",
                            .completion = c};
}

static void write_model(const char *path, bool biased) {
  amped_ktensor k;
  amped_completion c;
  make_model(&k);
  make_completion(&c, biased);
  const amped_run_record record = record_of(&c);
  check_ok(amped_result_file_write(path, &k, &record));
  amped_completion_free(&c);
  amped_ktensor_free(&k);
}

/* The value of a cell, slowly. */
static double value_of(const amped_ktensor *k, const amped_completion *c, const uint64_t *index) {
  double y = 0.0;
  for (int r = 0; r < k->ncomps; r++) {
    double product = k->weights[r];
    for (int m = 0; m < k->order; m++)
      product *= k->factors[m][index[m] * (uint64_t)k->ncomps + (uint64_t)r];
    y += product;
  }
  for (int m = 0; m < k->order && c->biased; m++)
    y += c->bias[m][index[m]];
  return c->mean + c->scale * y;
}

START_TEST(a_model_survives_with_its_values) {
  const char *path = testing_path("model.h5");
  for (int biased = 0; biased < 2; biased++) {
    amped_ktensor k, read;
    amped_completion c, found;
    bool is_result = false, sealed = false;
    make_model(&k);
    make_completion(&c, biased != 0);
    const amped_run_record record = record_of(&c);
    check_ok(amped_result_file_write(path, &k, &record));
    check_ok(amped_result_file_is(path, &is_result));
    check_ok(amped_result_file_verify(path, &sealed));
    ck_assert(is_result && sealed);
    check_ok(amped_result_file_read(path, &read));
    check_ok(amped_completion_file_read(path, read.order, read.dims, true, &found));
    ck_assert_int_eq(found.order, ORDER);
    ck_assert(found.biased == (biased != 0));
    ck_assert_mem_eq(found.context, c.context, sizeof c.context);
    ck_assert_mem_eq(found.fibres, c.fibres, sizeof c.fibres);
    ck_assert_uint_eq(found.split_seed, c.split_seed);
    ck_assert_uint_eq(found.best_sweep, 2);
    ck_assert(found.reg == 0.75 && found.holdout == 0.05);
    ck_assert(amped_completion_error(&found, AMPED_COMPLETION_TRAIN) == 0.5);
    ck_assert(amped_completion_error(&found, AMPED_COMPLETION_VALIDATE) == 0.75);
    ck_assert(isnan(amped_completion_error(&found, AMPED_COMPLETION_TEST)));
    ck_assert_ptr_null(found.gap_rmse[0]);
    ck_assert_mem_eq(found.gap_rmse[3], c.gap_rmse[3], dims[3] * sizeof *c.gap_rmse[3]);
    /* Components are in another order, so sums are rounded otherwise. */
    for (uint64_t i = 0; i < 7 * 5 * 6; i++) {
      const uint64_t index[ORDER] = {i % 7, i / 7 % 5, 0, i / 35};
      ck_assert_double_eq_tol(value_of(&read, &found, index), value_of(&k, &c, index), 1e-13);
    }
    amped_completion_free(&found);
    amped_completion_free(&c);
    amped_ktensor_free(&read);
    amped_ktensor_free(&k);
  }
  (void)remove(path);
  check_no_leak();
}

/* Modes 1 and 3 are context: what is negated lies in modes 0 and 2, in pairs. */
START_TEST(context_modes_keep_their_signs) {
  const char *path = testing_path("signs.h5");
  amped_ktensor k, read;
  int order[NCOMPS];
  int negated = 0;
  write_model(path, true);
  make_model(&k);
  amped_ktensor_order(&k, order);
  check_ok(amped_result_file_read(path, &read));
  for (int r = 0; r < NCOMPS; r++) {
    double sign[ORDER];
    for (int m = 0; m < ORDER; m++)
      sign[m] = read.factors[m][r] / k.factors[m][order[r]];
    ck_assert(sign[1] == 1.0 && sign[3] == 1.0);
    ck_assert(sign[0] == sign[2] && fabs(sign[0]) == 1.0);
    negated += sign[0] < 0.0;
  }
  ck_assert_int_gt(negated, 0);
  amped_ktensor_free(&read);
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

/* Where nothing is negative nothing becomes so; where all modes are context nothing is negated. */
START_TEST(nonnegative_and_context_columns_stay) {
  bool kept[AMPED_MAX_ORDER] = {true, true, true, true};
  amped_ktensor k;
  amped_signs signs;
  make_model(&k);
  amped_signs_find_but(&k, kept, &signs);
  for (int m = 0; m < ORDER; m++)
    for (int r = 0; r < NCOMPS; r++)
      ck_assert(!signs.negated[m][r]);
  kept[0] = kept[2] = false;
  for (int m = 0; m < ORDER; m++)
    for (uint64_t i = 0; i < dims[m] * NCOMPS; i++)
      k.factors[m][i] = fabs(k.factors[m][i]);
  amped_signs_find_but(&k, kept, &signs);
  for (int m = 0; m < ORDER; m++)
    for (int r = 0; r < NCOMPS; r++)
      ck_assert(!signs.negated[m][r]);
  amped_ktensor_free(&k);
  check_no_leak();
}

START_TEST(the_metric_is_that_of_validation_or_training) {
  const char *path = testing_path("metric.h5");
  amped_result_metric metric;
  write_model(path, true);
  check_ok(amped_result_file_metric(path, true, &metric));
  ck_assert_str_eq(metric.name, "rmse");
  ck_assert_uint_eq(metric.sweeps.count, 3);
  ck_assert_mem_eq(metric.sweeps.values, validate, sizeof validate);
  amped_result_metric_free(&metric);
  hid_t file = testing_h5_modify(path);
  testing_h5_remove(file, "/rmse/validate");
  h5(H5Fclose(file));
  check_ok(amped_result_file_metric(path, true, &metric));
  ck_assert_mem_eq(metric.sweeps.values, train, sizeof train);
  amped_result_metric_free(&metric);
  (void)remove(path);
  check_no_leak();
}

START_TEST(a_decomposition_is_no_completion) {
  const char *path = testing_path("plain.h5");
  const double fit = 0.5;
  amped_ktensor k;
  amped_completion c;
  const amped_run_record record = {.input = "x.h5",
                                   .options = "",
                                   .stop_reason = "tolerance",
                                   .metric = "fit",
                                   .history = &fit,
                                   .sweeps = 1};
  make_model(&k);
  check_ok(amped_result_file_write(path, &k, &record));
  check_ok(amped_completion_file_read(path, ORDER, dims, true, &c));
  ck_assert_int_eq(c.order, 0);
  amped_completion_free(&c);
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

START_TEST(columns_of_unit_length_give_the_same_values) {
  amped_ktensor k, unit;
  amped_completion c;
  make_model(&k);
  make_model(&unit);
  for (uint64_t i = 0; i < dims[0]; i++)
    unit.factors[0][i * NCOMPS + 1] = k.factors[0][i * NCOMPS + 1] = 0.0;
  for (uint64_t i = 0; i < dims[1]; i++)
    unit.factors[1][i * NCOMPS] = k.factors[1][i * NCOMPS] *= 1e-170;
  make_completion(&c, true);
  amped_ktensor_normalise(&unit, 0, NULL);
  for (int m = 0; m < ORDER; m++)
    for (uint64_t r = 0; r < NCOMPS; r++) {
      double square = 0.0;
      for (uint64_t i = 0; i < dims[m]; i++)
        square += unit.factors[m][i * NCOMPS + r] * unit.factors[m][i * NCOMPS + r];
      ck_assert_double_eq_tol(square, m == 0 && r == 1 ? 0.0 : 1.0, 1e-14);
    }
  ck_assert(unit.weights[1] == 0.0);
  for (uint64_t i = 0; i < 7 * 5 * 6; i++) {
    const uint64_t index[ORDER] = {i % 7, i / 7 % 5, 0, i / 35};
    ck_assert_double_eq_tol(value_of(&unit, &c, index), value_of(&k, &c, index), 1e-13);
  }
  amped_completion_free(&c);
  amped_ktensor_free(&unit);
  amped_ktensor_free(&k);
  check_no_leak();
}

/* Lengths come back in the file's order of components; with them, columns are what they were. */
START_TEST(lengths_of_columns_survive) {
  const char *path = testing_path("lengths.h5");
  const bool context[AMPED_MAX_ORDER] = {false};
  amped_ktensor k, was, read;
  amped_completion c, found;
  int order[NCOMPS];
  make_model(&k);
  make_model(&was);
  make_completion(&c, true);
  for (int m = 0; m < ORDER; m++)
    c.context[m] = true; /* no sign changes */
  for (int r = 0; r < NCOMPS; r++)
    k.weights[r] = 1.0;
  check_ok(amped_completion_normalise(&c, 0, &k));
  amped_ktensor_order(&k, order);
  const amped_run_record record = record_of(&c);
  check_ok(amped_result_file_write(path, &k, &record));
  check_ok(amped_result_file_read(path, &read));
  check_ok(amped_completion_file_read(path, read.order, read.dims, true, &found));
  ck_assert_int_eq(found.ncomps, NCOMPS);
  amped_completion_stretch(&found, context, &read, NULL);
  for (uint64_t r = 0; r < NCOMPS; r++) {
    ck_assert(read.weights[r] == 1.0);
    for (int m = 0; m < ORDER; m++)
      for (uint64_t i = 0; i < dims[m]; i++)
        ck_assert_double_eq_tol(read.factors[m][i * NCOMPS + r],
                                was.factors[m][i * NCOMPS + (uint64_t)order[r]], 1e-15);
  }
  amped_completion_free(&found);
  amped_completion_free(&c);
  amped_ktensor_free(&read);
  amped_ktensor_free(&was);
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

/* Without lengths weights are spread; the values stay. */
START_TEST(weights_are_spread_over_columns) {
  const bool context[AMPED_MAX_ORDER] = {false, true, false, false};
  const amped_completion none = {.order = 0};
  amped_ktensor k, spread;
  amped_completion c;
  make_model(&k);
  make_model(&spread);
  make_completion(&c, false);
  for (uint64_t i = 0; i < dims[1]; i++)
    for (uint64_t r = 0; r < NCOMPS; r++) {
      k.factors[1][i * NCOMPS + r] = (r == 2 ? -3.0 : 3.0) + 0.1 * (double)i;
      spread.factors[1][i * NCOMPS + r] = k.factors[1][i * NCOMPS + r];
    }
  spread.weights[3] = k.weights[3] = -2.0;
  amped_completion_stretch(&none, context, &spread, NULL);
  for (uint64_t i = 0; i < 7 * 5 * 6; i++) {
    const uint64_t index[ORDER] = {i % 7, i / 7 % 5, 0, i / 35};
    ck_assert_double_eq_tol(value_of(&spread, &c, index), value_of(&k, &c, index), 1e-12);
  }
  for (uint64_t r = 0; r < NCOMPS; r++) {
    double squares[ORDER] = {0.0};
    double sum = 0.0;
    for (int m = 0; m < ORDER; m++)
      for (uint64_t i = 0; i < dims[m]; i++)
        squares[m] += spread.factors[m][i * NCOMPS + r] * spread.factors[m][i * NCOMPS + r];
    for (uint64_t i = 0; i < dims[1]; i++)
      sum += spread.factors[1][i * NCOMPS + r];
    ck_assert_double_eq_tol(sum, (double)dims[1], 1e-12);
    ck_assert_double_eq_tol(squares[0], squares[2], 1e-12 * (1.0 + squares[0]));
    ck_assert_double_eq_tol(squares[0], squares[3], 1e-12 * (1.0 + squares[0]));
  }
  amped_completion_free(&c);
  amped_ktensor_free(&spread);
  amped_ktensor_free(&k);
  check_no_leak();
}

/* --- damage ----------------------------------------------------------------------------------- */

static amped_status read_it(const char *path) {
  amped_completion c;
  amped_status status = amped_completion_file_read(path, ORDER, dims, true, &c);
  amped_completion_free(&c);
  return status;
}

START_TEST(wrong_numbers_are_refused) {
  const double bad[] = {NAN, INFINITY, -1.0, 0.0};
  const uint64_t sweeps[] = {0, 4};
  const char *path = testing_path("numbers.h5");
  const struct {
    const char *name;
    int count; /* of bad values */
  } cases[] = {{"mean", 2}, {"scale", 4}, {"reg", 3}, {"holdout", 3}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int b = 0; b < cases[i].count; b++) {
      write_model(path, true);
      hid_t file = testing_h5_modify(path);
      testing_h5_scalar(file, "/", cases[i].name, H5T_NATIVE_DOUBLE, &bad[b]);
      h5(H5Fclose(file));
      check_fails(AMPED_BAD_INPUT, cases[i].name, read_it(path));
    }
  for (int b = 0; b < 2; b++) {
    write_model(path, true);
    hid_t file = testing_h5_modify(path);
    testing_h5_scalar(file, "/", "best_sweep", H5T_NATIVE_UINT64, &sweeps[b]);
    h5(H5Fclose(file));
    check_fails(AMPED_BAD_INPUT, "best_sweep", read_it(path));
  }
  static const char *const missing[] = {"mean", "scale",      "biased",  "context",
                                        "reg",  "split_seed", "holdout", "best_sweep"};
  for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
    write_model(path, true);
    hid_t file = testing_h5_modify(path);
    testing_h5_remove_attribute(file, "/", missing[i]);
    h5(H5Fclose(file));
    check_fails(AMPED_BAD_INPUT, missing[i], read_it(path));
  }
  (void)remove(path);
  check_no_leak();
}

START_TEST(wrong_lengths_are_refused) {
  static const char *const lines[] = {"/lengths", "/lengths", "is no length (row 0)",
                                      "is no length (row 0)"};
  const hsize_t columns[] = {NCOMPS - 1, NCOMPS, NCOMPS, NCOMPS};
  const hsize_t rows[] = {ORDER, ORDER + 1, ORDER, ORDER};
  const char *path = testing_path("lengths.h5");
  double values[(ORDER + 1) * NCOMPS] = {1.0};
  for (int what = 0; what < 4; what++) {
    const hsize_t size[2] = {rows[what], columns[what]};
    values[1] = what == 2 ? -1.0 : what == 3 ? INFINITY : 1.0;
    write_model(path, false);
    hid_t file = testing_h5_modify(path);
    testing_h5_remove(file, "/lengths");
    hid_t space = h5(H5Screate_simple(2, size, NULL));
    hid_t id = h5(
        H5Dcreate2(file, "/lengths", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    h5(H5Dwrite(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    h5(H5Dclose(id));
    h5(H5Sclose(space));
    h5(H5Fclose(file));
    check_fails(AMPED_BAD_INPUT, lines[what], read_it(path));
  }
  (void)remove(path);
  check_no_leak();
}

START_TEST(wrong_biases_and_models_are_refused) {
  const char *path = testing_path("biases.h5");
  double values[8] = {0.5, 0.5, 0.5, NAN};
  bool sealed = false;
  for (int what = 0; what < 5; what++) {
    static const char *const lines[] = {"/bias/1 has 6 values, but /factors/1 has 5",
                                        "/bias/1 has a value that is not finite (row 3)",
                                        "/bias/1 is missing", "amped_model is not completion",
                                        "/rmse/train has a value that is not finite (row 3)"};
    write_model(path, true);
    hid_t file = testing_h5_modify(path);
    if (what < 3)
      testing_h5_remove(file, "/bias/1");
    if (what < 2)
      testing_h5_array(file, "/bias/1", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, what == 0 ? 6 : 5,
                       values, H5P_DEFAULT);
    if (what == 3) {
      testing_h5_remove_attribute(file, "/", "amped_model");
      testing_h5_text(file, "amped_model", "magic");
    }
    if (what == 4) {
      testing_h5_remove(file, "/rmse/train");
      testing_h5_array(file, "/rmse/train", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 4, values,
                       H5P_DEFAULT);
    }
    h5(H5Fclose(file));
    check_fails(AMPED_BAD_INPUT, lines[what], read_it(path));
  }
  /* As left by a change in place. */
  write_model(path, true);
  hid_t file = testing_h5_modify(path);
  hid_t id = h5(H5Dopen2(file, "/bias/1", H5P_DEFAULT));
  values[3] = 0.5;
  h5(H5Dwrite(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  h5(H5Dclose(id));
  h5(H5Fclose(file));
  check_fails(AMPED_BAD_INPUT, "/bias/1 disagrees with its content hash", read_it(path));
  check_fails(AMPED_BAD_INPUT, "/bias/1 disagrees with its content hash",
              amped_result_file_verify(path, &sealed));
  (void)remove(path);
  check_no_leak();
}

START_TEST(want_of_memory_leaks_nothing) {
  const char *path = testing_path("memory.h5");
  write_model(path, true);
  amped_status status = AMPED_FAILED;
  for (int64_t at = 0; status != AMPED_OK; at++) {
    ck_assert_int_lt(at, 1000);
    amped_mem_fail_at(at);
    status = read_it(path);
    amped_mem_fail_at(-1);
    amped_status_clear();
    check_no_leak();
  }
  (void)remove(path);
}

TESTING_MAIN("completion_file", a_model_survives_with_its_values, context_modes_keep_their_signs,
             nonnegative_and_context_columns_stay, the_metric_is_that_of_validation_or_training,
             a_decomposition_is_no_completion, columns_of_unit_length_give_the_same_values,
             lengths_of_columns_survive, weights_are_spread_over_columns, wrong_numbers_are_refused,
             wrong_lengths_are_refused, wrong_biases_and_models_are_refused,
             want_of_memory_leaks_nothing)
